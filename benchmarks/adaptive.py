"""The part `adaptive`: CPU time per document of `levels`, `adaptive` and a window of neighbours."""

from statistics import median

import numpy as np
from measure import Row, cpu, within
from scipy import sparse

from odl import learners
from odl.evaluation import baselines

SIZES = ((200, 300), (500, 300), (1000, 150), (2000, 40))
DOCUMENT_LIMIT = within(100e-6)  # CPU time per document
# (atoms, words) of `adaptive` -> limit per document
LIMITS = dict.fromkeys(SIZES, DOCUMENT_LIMIT) | {(200, 300): within(40e-6)}
# Stored numbers of `levels` -> limit per document
MEMORY = {150000: DOCUMENT_LIMIT, 60000: within(40e-6)}
WINDOW, NEIGHBOURS = 1000, 5
SMALL, ALONE = 50, 200  # documents of a small batch; number of documents learned one by one


def adaptive(material):
    """Measure all sizes of both learners, a window of neighbours, and a large vocabulary."""
    P = [batch.weighed(tf="log", norm="l2")[:] for batch in material.batches]
    # A synthetic stream is for tests, with other sizes.
    sizes = SIZES if material.real else tuple((atoms, 30) for atoms in material.size.atoms)
    found = in_turn(
        {size: lambda size=size: stream(P, *size) for size in sizes}
        | {memory: lambda memory=memory: levels(P, memory) for memory in MEMORY}
        | {"window": lambda: window(P), "wide": lambda: stream(widened(P), *sizes[0])}
        | {"levels, wide": lambda: levels(widened(P))}
        | {"small": lambda: levels(cut(P, SMALL)), "small window": lambda: window(cut(P, SMALL))}
        | {"alone": lambda: levels([*P[:-1], *cut([P[0], P[-1][:ALONE]], 1)[1:]], last=ALONE)},
        material.size.repeats,
    )
    small, alone = found.pop("small"), found.pop("alone")
    small_near = found.pop("small window")[0]
    rows, near = [], found.pop("window")[0]
    wide, wider = sum(found.pop("wide")[:2]), sum(found.pop("levels, wide")[:2])
    for memory, limit in MEMORY.items():
        score, learn, stored = found[memory]
        what = f"{material.name}, levels, {stored:.0f} stored"
        rows += [(f"{what}: score", score, "CPU us", ""), (f"{what}: learn", learn, "CPU us", "")]
        rows.append((f"{what}: both", score + learn, "CPU us", limit))
        rows.append((f"{what}: faster than the window", near / (score + learn), "times", ">= 1"))
    own = sum(found[max(MEMORY)][:2])
    rows.append(
        (
            f"{material.name}, levels: in a vocabulary of 1,000,000 over its own",
            wider / own,
            "times",
            "<= 1.1",
        )
    )
    what = f"{material.name}, levels"
    rows += [
        (f"{what}: over the window", own / near, "times", "<= 1.5"),
        (f"{what}, batches of {SMALL}: both", sum(small[:2]), "CPU us", ""),
        (
            f"{what}, batches of {SMALL}: over the window",
            sum(small[:2]) / small_near,
            "times",
            "<= 2",
        ),
        (f"{what}: score one document", alone[0] / 1000, "CPU ms", ""),
        (f"{what}: learn one document", alone[1] / 1000, "CPU ms", within(0.3e-3)),
    ]
    found = {size: found[size] for size in sizes}
    for size, (score, learn, stored) in found.items():
        what = f"{material.name}, {size[0]} atoms of {size[1]} words, {stored:.0f} stored"
        rows += [(f"{what}: score", score, "CPU us", ""), (f"{what}: learn", learn, "CPU us", "")]
        rows.append((f"{what}: both", score + learn, "CPU us", LIMITS.get(size, "")))
        rows.append((f"{what}: faster than the window", near / (score + learn), "times", ">= 1"))
    first, name = (
        sum(found[sizes[0]][:2]),
        f"{material.name}, {sizes[0][0]} atoms of {sizes[0][1]} words",
    )
    rows.append(
        (f"{name}: in a vocabulary of 1,000,000 over its own", wide / first, "times", "<= 1.1")
    )
    rows.append(
        (
            f"{material.name}, {NEIGHBOURS} nearest of the last {WINDOW} documents",
            near,
            "CPU us",
            "",
        )
    )
    return [Row("adaptive", *row) for row in rows]


def in_turn(calls, repeats):
    """Return the element-wise medians of the results of each call.

    Every repetition runs all calls in turn.
    """
    results = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            results[name].append(call())
    return {
        name: tuple(median(values) for values in zip(*tuples, strict=True))
        for name, tuples in results.items()
    }


def start(P, atoms, terms):
    """Return a learner and its state after the first batch."""
    learner = learners.make("adaptive", terms=terms)
    filled = int((np.diff(P.indptr) > 0).sum())
    return learner, learner.with_room(learner.start(P, min(atoms, filled), None), atoms)


def stream(P, atoms, terms):
    """Return `follow` of the learner `adaptive`."""
    return follow(P, *start(P[0], atoms, terms))


def cut(P, size):
    """Return the first batch, and the documents of all others in batches of this size."""
    return P[:1] + [
        batch[first : first + size] for batch in P[1:] for first in range(0, batch.shape[0], size)
    ]


def levels(P, memory=150000, last=None):
    """Return `follow` of the learner `levels`."""
    learner = learners.make("levels", memory=memory)
    return follow(P, learner, learner.start(P[0], 1, None), last)


def follow(P, learner, state, last=None):
    """Return (CPU us per document to score, to learn, number of stored numbers at the end).

    The first batch is not timed; with `last`, only that number of last batches is.
    """
    spent = [0.0, 0.0]
    for number, batch in enumerate(P[1:], start=1):
        if last and number == len(P) - last:
            spent = [0.0, 0.0]
        state = learner.fit_terms(state, batch.shape[1])
        spent[0] += cpu(lambda state=state, batch=batch: learner.score(state, batch))[0]
        seconds, state = cpu(lambda state=state, batch=batch: learner.learn(state, batch, None))
        spent[1] += seconds
    count = sum(batch.shape[0] for batch in P[-last if last else 1 :])
    stored = state.dictionary.nnz + sum(value.size for value in state.arrays.values())
    return *(1e6 * seconds / count for seconds in spent), stored


def window(P):
    """Return a tuple with the CPU us per document of neighbours among the last documents.

    The code is that of the baselines.
    """
    seconds, past = 0.0, P[0]
    for batch in P[1:]:
        past = sparse.csr_array(
            (past.data, past.indices, past.indptr), shape=(past.shape[0], batch.shape[1])
        )
        best = np.zeros((batch.shape[0], NEIGHBOURS))
        seconds += cpu(
            lambda best=best, batch=batch, past=past: baselines._update_largest(best, batch, past)
        )[0]
        past = sparse.csr_array(sparse.vstack([past, batch], format="csr")[-WINDOW:])
    return (1e6 * seconds / sum(batch.shape[0] for batch in P[1:]),)


def widened(P, n_terms=1_000_000):
    """Return batches with empty columns added."""
    return [
        sparse.csr_array((batch.data, batch.indices, batch.indptr), (batch.shape[0], n_terms))
        for batch in P
    ]
