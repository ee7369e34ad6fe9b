"""One job of a batch that is scored by several: documents of a range of rows against the dictionary before."""

import time

from odl import novelty
from odl.errors import DataError
from odl.jobs import gather, timestep
from odl.learners.base import BLOCK


def score(source, previous, output, *, rows, run, corpus_features=None):
    """Score a shard of a batch.

    Parameters
    ----------
    source : path-like
        Features of the timestep.
    previous : path-like
        Checkpoint of the timestep before.
    output : path-like
        Written: scores and codes (`odl.jobs.gather.write`).
    rows : (int, int)
        First document and the one after the last; past the end of the batch, its end.
    run, corpus_features
        As in `odl.jobs.timestep.update`.

    Raises
    ------
    DataError
        If the shard is empty, does not start between two blocks of sums, or the learner needs the whole batch.
    """
    learner, data, P, digest, state, _ = timestep.opened(source, run, previous, corpus_features)
    first, last = rows[0], min(rows[1], P.shape[0])
    if not 0 <= first < last or first % BLOCK:
        given = f"documents {rows[0]} to {rows[1]} of the {P.shape[0]} of timestep {data.t}"
        raise DataError(given, f"a range within the batch that starts at a multiple of {BLOCK}", "correct --rows")
    if learner.in_batch:
        given = f"a shard of {run['run']!r}, whose scores depend on the whole batch"
        raise DataError(given, "contrast and context 0", "score the batch in one job")
    start = time.process_time()
    found = novelty.score(learner, state, P[first:last])
    seconds = time.process_time() - start
    gather.write(output, found, first=first, t=data.t, run=run, previous=digest, seconds=seconds)
