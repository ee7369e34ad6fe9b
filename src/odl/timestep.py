"""One job of a learner: read the features and the last checkpoint, score, learn, write."""

import time

import numpy as np
from scipy import sparse

from odl import checkpoints, features, learners, novelty, scores, storage
from odl.errors import DataError

SHOWN = 20  # most novel documents of a timestep that are kept with their unexplained words


def update(source, state, score_file, timings, *, run, previous=None, history=(), corpus_features=None):
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
    history : sequence of path-like
        Features of all the timesteps before, in order, for learners that need them.
    corpus_features : path-like, optional
        Last features of the stream, for ``idf: corpus``.
    """
    begin = time.process_time()
    learner = learners.make(**run["learner"])
    data = features.read(source)
    whole = features.read(corpus_features) if corpus_features else None
    P = data.weigh(**run["features"], norm=learner.norm, corpus=whole)
    digest = checkpoints.FIRST
    past = _past(learner, data.t, history, run["features"], whole)
    if (previous is None) != (data.t == 0):
        raise DataError(
            f"timestep {data.t} {'without' if previous is None else 'with'} a checkpoint before it",
            "a checkpoint before every timestep but 0",
            "pass --previous accordingly",
        )
    start = time.process_time()
    if previous is None:
        current = learner.start(P, run["atoms"], novelty.generator(run["seed"], "start"))
    else:
        before = checkpoints.read(previous, chain=run, t=data.t - 1)
        digest = before.digest
        current = learners.State(before.dictionary, before.arrays, before.updates)
    current = learner.fit_terms(current, P.shape[1])
    if previous:
        _load_kernels(learner, run["atoms"])
    started = time.process_time()
    found = novelty.score(learner, current, P)
    scored = time.process_time()
    after = learner.learn(current, P, found.codes, past) if previous else current
    learned = time.process_time()
    top = np.argsort(-found.score, kind="stable")[:SHOWN]
    missing = novelty.unexplained(P, current.dictionary, found.codes, top)
    checkpoint = checkpoints.Checkpoint(
        data.t, run, after.dictionary, after.arrays, after.updates, found.codes, found.uncoded, digest
    )
    checkpoints.write(state, checkpoint)
    settings = run["learner"]
    scores.write(
        score_file,
        data,
        found,
        top=top,
        missing=missing,
        top_atoms=novelty.top_terms(after.dictionary),
        atom_use=_use(found.codes, after.dictionary.shape[1]),
        vocabulary=data.vocabulary,
        algorithm=settings["algorithm"],
        solver=getattr(learner, "solver", "own"),
        atoms=run["atoms"],
        **{name: run[name] for name in ("corpus", "seed", "run")},
    )
    phases = {"start": started - start, "score": scored - started, "learn": learned - scored}
    phases["job"] = time.process_time() - begin
    with storage.replacing(timings) as temporary, open(temporary, "w") as file:
        file.write("phase\tcpu_s\tdocuments\n")
        file.writelines(f"{phase}\t{seconds:.6f}\t{P.shape[0]}\n" for phase, seconds in phases.items())


def _use(codes, n_atoms):
    """Sum the codes of each atom; atoms added after scoring have none."""
    use = np.zeros(n_atoms)
    use[: codes.shape[1]] = np.asarray(codes.sum(axis=0)).ravel()
    return use


def _load_kernels(learner, n_atoms):
    """Score and learn a few made documents, so that the clocks do not time the loading of compiled code."""
    rng = np.random.default_rng(0)
    P = sparse.csr_array(rng.random((4, 6)))
    P.data /= np.repeat(np.asarray(P.sum(axis=1)), np.diff(P.indptr))
    state = learner.fresh(sparse.csc_array(P[np.arange(n_atoms) % 4].T))
    learner.learn(state, P, learner.score(state, P).codes)


def _past(learner, t, history, weighting, corpus):
    """Read and weigh the batches before, each as it was weighed when it came."""
    if not learner.needs_history:
        return []
    batches = [features.read(path) for path in history]
    if [batch.t for batch in batches] != list(range(t)):
        given = ", ".join(str(batch.t) for batch in batches) or "none"
        raise DataError(f"features of the timesteps {given} as history", f"those of 0 to {t - 1}", "pass --history so")
    return [batch.weigh(**weighting, norm=learner.norm, corpus=corpus) for batch in batches]


def warm_up(algorithm):
    """Run the kernels of a learner once, so that their code lies in the cache before jobs start in parallel."""
    learner = learners.learner_class(algorithm)
    for solver in learner.choices.get("solver", (None,)):
        _load_kernels(learner(solver=solver, iterations=1) if solver else learner(), 2)
