"""A large batch in shards: each scored by a job of its own, then read together without holding the batch."""

import json
import os
import time

import numpy as np
from scipy import sparse

from odl import novelty
from odl.errors import DataError, StorageError
from odl.files import rows, storage
from odl.jobs.runs import open_timestep
from odl.learners.batches import BLOCK, RowParts


def score(source, previous, output, *, rows, run, corpus_features=None):
    """Score a shard of a batch.

    Parameters
    ----------
    source : path-like
        Features of the timestep.
    previous : path-like
        Checkpoint of the timestep before.
    output : path-like
        Written: scores and codes (`write`).
    rows : (int, int)
        First document and the one after the last; past the end of the batch, its end.
    run, corpus_features
        As in `odl.jobs.update.update`.

    Raises
    ------
    DataError
        If the shard is empty, does not start between two blocks of sums, or the learner needs the whole batch.
    """
    step = open_timestep(source, run, previous, corpus_features)
    first, last = rows[0], min(rows[1], step.P.shape[0])
    if not 0 <= first < last or first % BLOCK:
        defect = f"documents {rows[0]} to {rows[1]} of the {step.P.shape[0]} of timestep {step.data.t}"
        raise DataError(defect, f"a range within the batch that starts at a multiple of {BLOCK}", "correct --rows")
    if run.learner.in_batch:
        defect = f"a shard of {run.run!r}, whose scores depend on the whole batch"
        raise DataError(defect, "contrast and context 0", "score the batch in one job")
    start = time.process_time()
    scores = novelty.score(run.learner, step.state, step.P[first:last])
    seconds = time.process_time() - start
    write(output, scores, first=first, t=step.data.t, chain=run.chain, previous=step.previous, seconds=seconds)


def write(path, scores, *, first, t, chain, previous, seconds):
    """Write the scores and codes of one shard.

    Parameters
    ----------
    path : path-like
    scores : odl.novelty.Novelty
        Of its documents; codes are stored in the order that the coder gave them, which sums depend on.
    first : int
        Position of its first document in the batch.
    t : int
    chain : dict
        Of its run.
    previous : str
        Digest of the checkpoint that they were scored with.
    seconds : float
        CPU time of scoring.
    """
    attributes = {"t": t, "first": first, "previous": previous, "chain": json.dumps(chain, sort_keys=True)}
    with storage.writing(path, "shard", **attributes, gap=scores.gap, seconds=seconds) as file:
        for name in ("score", "residual", "penalty"):
            storage.write_array(file, name, getattr(scores, name))
        storage.write_array(file, "empty", scores.empty.astype(np.uint8))
        group = file.create_group("codes")
        group.attrs["shape"] = np.asarray(scores.codes.shape, dtype=np.int64)
        for name in ("data", "indices", "indptr"):
            storage.write_array(group, name, getattr(scores.codes, name))


class Shards:
    """A batch whose documents and codes are read by rows, with the methods of `odl.learners.batches.InMemory`.

    Parameters
    ----------
    P : odl.stream.weighting.Weighed
    paths : list of path-like
        Shards, in order; one is open at a time.
    shapes : list of (int, int)
        Of their codes.
    """

    in_memory = False

    def __init__(self, P, paths, shapes):
        self.P, self.paths, self.shape, self.n_atoms = P, paths, P.shape, shapes[0][1]
        self.starts = np.cumsum([0] + [shape[0] for shape in shapes])

    def matrices(self):
        """Yield the codes of each shard, as `odl.files.rows.Matrix`."""
        for path in self.paths:
            yield rows.Matrix(storage.opened(path), "codes")

    def parts(self):
        """Yield (documents, codes) of consecutive runs of documents that start at multiples of `BLOCK`."""
        for start, matrix in zip(self.starts[:-1].tolist(), self.matrices(), strict=True):
            for first, X in matrix.parts():
                yield self.P[start + first : start + first + X.shape[0]], X

    def take(self, few):
        """Return documents and codes of a few rows."""
        shard = np.searchsorted(self.starts, few, side="right") - 1
        picked = [
            rows.Matrix(storage.opened(self.paths[i]), "codes").take([row - self.starts[i]])
            for i, row in zip(shard, few, strict=True)
        ]
        return self.P.take(few), sparse.csr_array(sparse.vstack(picked, format="csr"))

    def together(self):
        """Return all documents and codes, for a learner that needs the whole batch."""
        return self.P[:], sparse.csr_array(sparse.vstack([matrix[:] for matrix in self.matrices()], format="csr"))

    def codes(self):
        """Return the codes as they are written."""
        shape = (self.shape[0], self.n_atoms)
        return RowParts(
            shape, np.dtype(np.float64), lambda: (X for matrix in self.matrices() for _, X in matrix.parts())
        )


def gather(paths, P, chain, t, previous):
    """Put the shards of a batch together.

    Parameters
    ----------
    paths : sequence of path-like
        Shards, in order.
    P : odl.stream.weighting.Weighed
        Documents of the batch.
    chain, t, previous
        As in `write`: what they have to have been scored with.

    Returns
    -------
    odl.novelty.Novelty
        Its codes are a `RowParts`.
    Shards
    float
        CPU seconds that they were scored in.

    Raises
    ------
    DataError
        If they are not the shards of this batch, each once, cut at multiples of `BLOCK`.
    """
    shapes, first, gap, seconds, coded = [], 0, 0.0, 0.0, 0
    scores = {name: np.empty(P.shape[0]) for name in ("score", "residual", "penalty")}
    scores["empty"] = np.empty(P.shape[0], dtype=bool)
    wanted = {"t": t, "previous": previous, "chain": json.dumps(chain, sort_keys=True)}
    for path in paths:
        with storage.reading(path, "shard") as file:
            own = {name: file.attrs[name] for name in wanted}
            if own != wanted or int(file.attrs["first"]) != first or first % BLOCK:
                raise _refused(path, f"documents from {first} on of timestep {t}")
            shapes.append(rows.Matrix(file, "codes").shape)
            last = first + shapes[-1][0]
            columns = {name: storage.read_array(file, name) for name in scores}
            if {len(column) for column in columns.values()} != {last - first}:
                defect = f"{os.fspath(path)} does not fit together"
                raise StorageError(defect, "scores of all its documents", "delete it")
            if last > P.shape[0]:
                raise _refused(path, f"documents of the {P.shape[0]} of timestep {t}")
            for name, column in columns.items():
                scores[name][first:last] = column
            gap, seconds = max(gap, float(file.attrs["gap"])), seconds + float(file.attrs["seconds"])
            coded += int(np.count_nonzero(np.diff(storage.read_array(file["codes"], "indptr", "i"))))
        first = last
    if first != P.shape[0]:
        raise _refused(paths[-1], f"the last of {P.shape[0]} documents, not of {first}")
    batch = Shards(P, paths, shapes)
    return novelty.Novelty(**scores, codes=batch.codes(), uncoded=(first - coded) / first, gap=gap), batch, seconds


def _refused(path, expected):
    defect = f"{os.fspath(path)} is of other documents or another dictionary"
    return DataError(defect, expected, f"delete {os.fspath(path)} and run the same command again")
