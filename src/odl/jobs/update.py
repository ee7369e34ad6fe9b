"""The step `update`: score the documents of a timestep, learn from them, write the checkpoint."""

import json
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl import learners, novelty
from odl.errors import DataError, ParameterError
from odl.evaluation import scorefiles
from odl.files import checkpoints, storage
from odl.files.tables import write_table
from odl.jobs import runs
from odl.learners.sparse_atoms import renumber_terms
from odl.stream import features, terms
from odl.stream.weighting import Weighed

TOP_DOCUMENTS = 20  # number of most novel documents whose unexplained words are stored
# Dictionary size above which top words are stored only for atoms that the timestep used.
ALL_ATOMS = 500


class Learned(NamedTuple):
    """Result of `update` in memory. The next step in this process then reads no files.

    Attributes
    ----------
    step : odl.jobs.runs.Timestep
        Documents of the timestep.
    counts, P : csr_array
        Term counts of the documents, and the weighted counts.
    state : odl.learners.State
        State before learning, which scored the documents.
    novelty : odl.novelty.Novelty
        Scores of the documents.
    after : odl.files.checkpoints.Checkpoint
        Checkpoint after learning.
    """

    step: runs.Timestep
    counts: sparse.csr_array
    P: sparse.csr_array | None
    state: learners.State
    novelty: novelty.Novelty
    after: checkpoints.Checkpoint


def update(source, state, score_file, timings=None, *, run, before=runs.FIRST_TIMESTEP):
    """Score the documents of a timestep, learn from them, and write checkpoint and scores.

    Timestep 0 initialises the dictionary.

    Parameters
    ----------
    source : path-like or odl.stream.features.FeatureFile
        Features of the timestep.
    state, score_file : path-like
        Checkpoint and score file to write.
    timings : path-like, optional
        Table of CPU seconds to write.
    run : odl.jobs.runs.Run
    before : odl.jobs.runs.Before, optional

    Returns
    -------
    Learned
    """
    job_begins = time.process_time()
    previous, learner = before.previous, run.learner
    is_first = previous is None
    step = runs.open_timestep(source, run, previous, before.corpus_features, before.in_memory)
    data, current = step.data, step.state
    past = _past(step, before.history, run)
    start_begins = time.process_time()
    counts = data.counts[:]
    P = step.P.weigh(counts)
    if is_first:
        current = learner.start(P, run.atoms, novelty.generator(run.seed, "start"))
        current = learner.fit_terms(current, P.shape[1])
    score_begins = time.process_time()
    scores = novelty.score(learner, current, P)
    scores, meaning = runs.add_vector_scores(step, run, P, scores)
    learn_begins = time.process_time()
    # `start` has already learned the first batch.
    after = current if is_first else learner.learn(current, P, scores.codes, past)
    learn_ends = time.process_time()
    checkpoint = checkpoints.Checkpoint(
        t=data.t,
        chain=run.chain,
        dictionary=after.dictionary,
        arrays=after.arrays,
        updates=after.updates,
        codes=scores.codes,
        uncoded=scores.uncoded,
        previous=step.previous,
        features=str(data.file.attrs["digest"]),
        terms=step.P.terms,
        meaning=meaning,
    )
    checkpoint = replace(checkpoint, digest=checkpoints.write(state, checkpoint))
    write_scores(score_file, data, P, scores, current.dictionary, after.dictionary, run)
    phases = {
        "start": score_begins - start_begins,
        "score": learn_begins - score_begins,
        "learn": learn_ends - learn_begins,
        "job": time.process_time() - job_begins,
    }
    if timings:
        write_timings(timings, phases, P.shape[0])
    return Learned(step, counts, P, current, scores, checkpoint)


def write_scores(path, data, P, scores, before, after, run):
    """Write the score file of a timestep.

    Parameters
    ----------
    path : path-like
    data : odl.stream.features.FeatureFile
    P : csr_array
        Weighted documents.
    scores : odl.novelty.Novelty
    before, after : csc_array
        Dictionary that scored the documents, and the one learned from them.
    run : odl.jobs.runs.Run
    """
    top = np.argsort(-scores.score, kind="stable")[:TOP_DOCUMENTS]
    documents, codes = P[top], scores.codes[top]
    documents = run.words_of(documents, axis=1)
    before, after = run.words_of(before), run.words_of(after)
    missing = novelty.unexplained(documents, before, codes, range(len(top)))
    # Sums of codes, in the order of the documents. Atoms that were added after scoring have 0.
    use = np.bincount(scores.codes.indices, scores.codes.data, minlength=after.shape[1]).astype(
        np.float64
    )
    scorefiles.write_scores(
        path,
        data,
        scores,
        top=top,
        missing=missing,
        top_atoms=_top_atoms(after, use),
        atom_use=use,
        algorithm=run.learner.algorithm,
        solver=getattr(run.learner, "solver", "own"),
        weighting=json.dumps(run.chain["features"], sort_keys=True),
        **{name: getattr(run, name) for name in ("atoms", "corpus", "seed", "run")},
    )


def write_timings(path, phases, n_documents):
    """Write the CPU seconds of the phases of a job."""
    rows = [
        {"phase": phase, "cpu_s": f"{cpu:.6f}", "documents": n_documents}
        for phase, cpu in phases.items()
    ]
    write_table(path, rows)


def _top_atoms(A, use):
    """Return a list with the top terms of each atom.

    Above `ALL_ATOMS` atoms, it is empty for atoms that no document of the timestep used.
    """
    used = np.flatnonzero(use) if A.shape[1] > ALL_ATOMS else np.arange(A.shape[1])
    lists = [[] for _ in range(A.shape[1])]
    for atom, pairs in zip(
        used.tolist(), novelty.top_terms(sparse.csc_array(A[:, used])), strict=True
    ):
        lists[atom] = pairs
    return lists


def _past(step, history, run):
    """Return the weighted documents of each earlier batch, without removed terms.

    The result is empty if the learner does not need earlier documents.
    """
    t = step.data.t
    if not run.learner.needs_history:
        return []
    if t and history is None:
        raise ParameterError(
            "no --history",
            "the folder with the features of earlier timesteps",
            "pass this folder by --history",
        )
    batches = [features.read(path) for path in storage.earlier(history, t)]
    if [batch.t for batch in batches] != list(range(t)):
        timesteps = ", ".join(str(batch.t) for batch in batches)
        raise DataError(
            f"{history} with features of the timesteps {timesteps}",
            f"the features of timesteps 0 to {t - 1}",
            "pass the folder with the features of the stream",
        )
    weighed = [Weighed(batch, run.weighting, run.learner.norm, step.corpus)[:] for batch in batches]
    if step.data.terms is None:
        return weighed
    wanted, n_terms = step.data.terms, len(step.data.terms)
    return [
        renumber_terms(P, ("positions", "terms"), terms.places(batch.terms, wanted), n_terms)
        for P, batch in zip(weighed, batches, strict=True)
    ]
