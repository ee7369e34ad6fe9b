"""One job of a learner: read the features and the last checkpoint, score, learn, write."""

import json
import time

import numpy as np
from scipy import sparse

from odl import learners, novelty
from odl.errors import DataError, ParameterError
from odl.evaluation import scores
from odl.files import agentfiles, checkpoints, storage
from odl.files.tables import write_table
from odl.jobs import gather
from odl.learners.base import Held
from odl.stream import features

SHOWN = 20  # most novel documents of a timestep that are kept with their unexplained words


def update(source, state, score_file, timings, *, run, previous=None, history=None, corpus_features=None, shards=()):
    """Score one timestep and learn from it; timestep 0 initialises the dictionary.

    Parameters
    ----------
    source : path-like
        Features of the timestep.
    state, score_file, timings : path-like
        Written: checkpoint, scores and CPU seconds.
    run : dict
        corpus, seed, run, atoms, learner (algorithm and hyper-parameters), features (weighting).
    previous : path-like, optional
        Checkpoint of the timestep before; none for timestep 0.
    history : path-like, optional
        Folder of the features ``{t}.h5`` of all the timesteps before, for learners that need them.
    corpus_features : path-like, optional
        Last features of the stream, for ``idf: corpus``.
    shards : sequence of path-like
        What `odl.jobs.shards.score` wrote of the batch, in order; the timestep is then learned without holding it.
    """
    begin = time.process_time()
    learner, data, P, digest, current, whole = opened(source, run, previous, corpus_features)
    past = _past(learner, data.t, history, run["features"], whole)
    if previous:
        _load_kernels(learner, run["atoms"])
    start = time.process_time()
    if previous is None:
        P = P[:]
        current = learner.start(P, run["atoms"], novelty.generator(run["seed"], "start"))
        current = learner.fit_terms(current, P.shape[1])
    started = time.process_time()
    spent = 0.0
    if shards:
        found, batch, spent = gather.gather(shards, P, run, data.t, digest)
    else:
        P = P[:]
        found = novelty.score(learner, current, P)
        batch = Held(P, found.codes)
    scored = time.process_time()
    after = learner.learn_parts(current, batch, past) if previous else current
    learned = time.process_time()
    checkpoint = checkpoints.Checkpoint(
        data.t, run, after.dictionary, after.arrays, after.updates, found.codes, found.uncoded, digest,
        features=str(data.file.attrs["digest"]),
    )  # fmt: skip
    checkpoints.write(state, checkpoint)
    solver = getattr(learner, "solver", "own")
    write_scores(score_file, data, batch, found, current.dictionary, after.dictionary, run, solver)
    phases = {"start": started - start, "score": spent + scored - started, "learn": learned - scored}
    phases["job"] = spent + time.process_time() - begin
    write_timings(timings, phases, P.shape[0])


def opened(source, run, previous=None, corpus_features=None):
    """Open what a timestep is scored with.

    Returns
    -------
    learner : odl.learners.Learner
    data : odl.stream.features.Features
    P : odl.stream.weighting.Weighed
    digest : str
        Of the checkpoint before.
    state : odl.learners.State, or None for timestep 0
        With the terms of the batch.
    whole : odl.stream.features.Features, or None
        Last features of the stream.
    """
    learner, data = learners.make(**run["learner"]), features.read(source)
    whole = features.read(corpus_features) if corpus_features else None
    P = data.weighed(**run["features"], norm=learner.norm, corpus=whole)
    check_previous(data.t, previous)
    if previous is None:
        return learner, data, P, checkpoints.FIRST, None, whole
    options = {"by_document": learner.by_document, "codes": False}
    before = agentfiles.read(previous, run, data.t - 1, **options)
    state = learners.resume(learner, before, P.shape[1], run["atoms"], previous)
    return learner, data, P, before.digest, learner.fit_terms(state, P.shape[1]), whole


def check_previous(t, previous):
    """Refuse a timestep with a checkpoint too many or too few."""
    if (previous is None) != (t == 0):
        raise DataError(
            f"timestep {t} {'without' if previous is None else 'with'} a checkpoint before it",
            "a checkpoint before every timestep but 0",
            "pass --previous accordingly",
        )


def write_scores(path, data, batch, found, before, after, run, solver):
    """Write the score file of a timestep.

    Parameters
    ----------
    path : path-like
    data : odl.stream.features.Features
    batch : odl.learners.base.Held, or an object with its methods
        Its documents, weighed, and their codes.
    found : odl.novelty.Novelty
    before, after : csc_array
        Dictionary that the documents were scored with, and the learned one.
    run : dict
    solver : str
    """
    top = np.argsort(-found.score, kind="stable")[:SHOWN]
    documents, codes = batch.take(top)
    scores.write_scores(
        path,
        data,
        found,
        top=top,
        missing=novelty.unexplained(documents, before, codes, range(len(top))),
        top_atoms=novelty.top_terms(after),
        atom_use=_use(batch, after.shape[1]),
        vocabulary=data.vocabulary,
        algorithm=run["learner"]["algorithm"],
        solver=solver,
        weighting=json.dumps(run["features"], sort_keys=True),
        atoms=run["atoms"],
        **{name: run[name] for name in ("corpus", "seed", "run")},
    )


def write_timings(path, phases, n_documents):
    """Write the CPU seconds of the phases of a job."""
    rows = [{"phase": phase, "cpu_s": f"{cpu:.6f}", "documents": n_documents} for phase, cpu in phases.items()]
    write_table(path, rows)


def _use(batch, n_atoms):
    """Sum the codes of each atom, one document after another; atoms added after scoring have none."""
    use = np.zeros(n_atoms)
    for _, X in batch.parts():
        # The sums so far come first, so that where a batch is cut changes no bit.
        entries, values = np.append(np.arange(n_atoms), X.indices), np.append(use, X.data)
        use = np.bincount(entries, values, minlength=n_atoms)
    return use


def _load_kernels(learner, n_atoms):
    """Score and learn a few made documents, so that the clocks do not time the loading of compiled code."""
    learner, rng = learner.toy(), np.random.default_rng(0)
    P = sparse.csr_array(rng.random((4, 6)))
    P.data /= np.repeat(np.asarray(P.sum(axis=1)), np.diff(P.indptr))
    state = learner.fresh(sparse.csc_array(P[np.arange(n_atoms) % 4].T))
    learner.learn(state, P, learner.score(state, P).codes)


def _past(learner, t, history, weighting, corpus):
    """Read and weigh the batches before, each as it was weighed when it came."""
    if not learner.needs_history:
        return []
    if t and history is None:
        raise ParameterError("no --history", "the folder of the features of the timesteps before", "give it")
    batches = [features.read(path) for path in storage.earlier(history, t)]
    if [batch.t for batch in batches] != list(range(t)):
        given = f"{history} with features of the timesteps {', '.join(str(batch.t) for batch in batches)}"
        raise DataError(
            given, f"those of 0 to {t - 1}, each in the file of its number", "give the folder of the stream"
        )
    return [batch.weighed(**weighting, norm=learner.norm, corpus=corpus)[:] for batch in batches]


def warm_up(algorithm):
    """Run the kernels of a learner once, so that their code lies in the cache before jobs start in parallel."""
    learner = learners.learner_class(algorithm)
    for solver in learner.choices.get("solver", (None,)):
        _load_kernels(learner(solver=solver, iterations=1) if solver else learner(), 2)
