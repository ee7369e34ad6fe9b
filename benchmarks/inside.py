"""Parts that run in this process: the coder, one timestep, the checkpoint."""

import tempfile
from pathlib import Path
from statistics import median

import coding as peers
import numpy as np
from material import step
from measure import Row, cpu, say, within
from scipy import sparse

from odl.coding import exact
from odl.files import checkpoints

LAM = 0.1
LEARNERS = ("DA", "PG", "ADMM", "adaptive", "levels")
CODER, STEP = within(10e-6), within(0.15)


def coder(material):
    """Time the exact coder on every batch with the dictionary that scores it.

    It is timed in turn with two other solvers.
    """
    rows = []
    for name in ("PG", "DA"):
        for atoms in material.size.atoms:
            rows += _coder(material, name, atoms)
    return rows


def _coder(material, name, atoms):
    chain, size = material.chain(name, atoms), material.size
    say(f"coder: {name}, k = {atoms}")
    pairs = [
        (P, chain.learner.fit_terms(state, P.shape[1]).dictionary)
        for P, state in zip(chain.P, chain.states[:-1], strict=True)
    ]
    documents = sum(P.shape[0] for P, _ in pairs)
    some = [(spread(P, size.highs), A) for P, A in pairs]
    few, last = spread(pairs[-2][0], size.admm), pairs[-2][1]
    later = documents - pairs[0][0].shape[0]
    solver, problems = highs(), []
    calls = {
        "exact": (lambda: [exact.codes(P, A, LAM) for P, A in pairs], documents, size.repeats),
        "later": (lambda: [exact.codes(P, A, LAM) for P, A in pairs[1:]], later, size.repeats),
    }
    if solver:
        problems = [problem for P, A in some for problem in restricted(P, A)]
        calls["some"] = (
            lambda: [exact.codes(P, A, LAM) for P, A in some],
            len(problems),
            size.repeats,
        )
        calls["highspy"] = (
            lambda: [peers.by_highspy(P, A, LAM) for P, A in some],
            len(problems),
            size.repeats,
        )
        whole = (
            lambda: [peers.by_highspy(P, A, LAM) for P, A in pairs],
            documents,
            min(3, size.repeats),
        )
        calls["highspy, whole batches"] = whole
        calls["alone"] = (lambda: by_highs(solver, problems), len(problems), size.repeats)
    calls["ADMM"] = (
        lambda: peers.by_dense_admm(few, last, LAM),
        few.shape[0],
        min(3, size.repeats),
    )
    ms = in_turn(calls)
    gap = max(float((exact.codes(P, A, LAM, return_gap=True)[2]).max()) for P, A in pairs)
    what = f"{material.name}, {name}, k = {atoms}"
    faster = {
        peer: value / ms["some" if peer in ("highspy", "alone") else "exact"]
        for peer, value in ms.items()
    }
    rows = [
        ("a document", ms["exact"], "CPU ms", CODER),
        (
            "a document, without the batch that the dictionary started from",
            ms["later"],
            "CPU ms",
            "",
        ),
    ]
    if solver:
        ours = np.concatenate([exact.codes(P, A, LAM)[1] for P, A in some])
        apart = float(np.abs(ours - by_highs(solver, problems)).max())
        rows += [
            (
                "faster than highspy on the restricted dual",
                faster["highspy, whole batches"],
                "times",
                ">= 30",
            ),
            (f"a document, {size.highs} a call", ms["some"], "CPU ms", ""),
            (f"faster than highspy, {size.highs} a call", faster["highspy"], "times", ""),
            (
                f"faster than HiGHS alone, models screened and built, {size.highs} a call",
                faster["alone"],
                "times",
                "",
            ),
            ("differs from HiGHS by at most", apart, "objective", ""),
        ]
    else:
        rows.append(("faster than highspy: highspy is not installed", None, "times", ">= 30"))
    rows += [
        ("faster than 100 iterations of the dense ADMM", faster["ADMM"], "times", ">= 5000"),
        (f"worst gap of {documents} documents", gap, "objective", "<= 1e-9"),
    ]
    return [Row("coder", f"{what}: {text}", *rest) for text, *rest in rows]


def in_turn(calls):
    """Return the median CPU milliseconds per document of each call.

    Every repetition runs all calls in turn.

    Parameters
    ----------
    calls : dict of str to (function, documents, repetitions)
    """
    times = {name: [] for name in calls}
    for repeat in range(max(repeats for _, _, repeats in calls.values())):
        for name, (function, documents, repeats) in calls.items():
            if repeat < repeats:
                times[name].append(1000 * cpu(function)[0] / documents)
    return {name: median(values) for name, values in times.items()}


def spread(P, count):
    """Return `count` evenly spaced documents."""
    return sparse.csr_array(P[np.linspace(0, P.shape[0] - 1, min(count, P.shape[0])).astype(int)])


def highs():
    """Return a HiGHS object with options for the restricted duals; None without highspy."""
    try:
        import highspy
    except ImportError:
        return None
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off")):
        solver.setOptionValue(option, value)
    return solver


def restricted(P, A):
    """Return (model, norm, norm on the terms of atoms) of each document; no model if x = 0."""
    found = []
    norms = np.asarray(P.sum(axis=1)).ravel()
    for norm, (p, weights, _, bound, atoms) in zip(norms, peers.reduced(P, A, LAM), strict=True):
        if not len(atoms):
            found.append((None, norm, 0.0))
            continue
        found.append((peers.dual_model(p, weights, bound), norm, p.sum()))
    return found


def by_highs(solver, problems):
    """Solve the restricted dual of each document; return the optimal objectives."""
    values = []
    for model, norm, touched in problems:
        value = norm
        if model is not None:
            solver.passModel(model)
            solver.run()
            # The other terms of the document are at their bound, y = 2.
            value = norm - 2.0 * touched - solver.getObjectiveValue()
        values.append(value)
    return np.array(values)


def timestep(material):
    """Time scoring and learning of the first, middle and last full batch, for both sizes."""
    size, rows = material.size, []
    chosen = material.full()
    chosen = sorted({chosen[0], chosen[len(chosen) // 2], chosen[-1]})
    for name in LEARNERS:
        (small, large), promised = material.atoms(name), material.promised(name)
        chains = {atoms: material.chain(name, atoms) for atoms in (small, large)}
        say(f"step: {name}")
        for chain in chains.values():
            step(chain.learner, chain.states[chosen[0]], chain.P[chosen[0]])
        medians = {atoms: [] for atoms in chains}
        for t in chosen:
            times = {atoms: [] for atoms in chains}
            for _ in range(size.repeats):
                for atoms, chain in chains.items():
                    times[atoms].append(cpu(step, chain.learner, chain.states[t], chain.P[t])[0])
            for atoms in chains:
                medians[atoms].append(median(times[atoms]))
        chain = chains[promised]
        scoring = median(cpu(chain.learner.score, chain.states[t], chain.P[t])[0] for t in chosen)
        what = f"{material.name}, {name}, score and learn {size.batch} documents"
        rows.append(
            Row(
                "step",
                f"{what}, k = {promised}, slowest batch",
                max(medians[promised]),
                "CPU s",
                STEP,
            )
        )
        rows.append(
            Row("step", f"{what}, k = {promised}, median batch", median(medians[promised]), "CPU s")
        )
        rows.append(Row("step", f"{what}, k = {promised}, of it scoring", scoring, "CPU s"))
        ratio = median(medians[large]) / median(medians[small])
        rows.append(Row("step", f"{what}, k = {large} over k = {small}", ratio, "times", "<= 2.5"))
    return rows


def checkpoint(material):
    """Measure the checkpoint after the last timestep."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for name in LEARNERS:
            atoms = material.promised(name)
            chain, path = material.chain(name, atoms), Path(place) / f"{name}.h5"
            write_checkpoint(path, chain, len(chain.P) - 1)
            what = f"{material.name}, {name}, k = {atoms}, after timestep {len(chain.P) - 1}"
            rows.append(Row("checkpoint", what, path.stat().st_size / 1e6, "MB", "<= 8"))
    return rows


def write_checkpoint(path, chain, t):
    """Write the checkpoint of a chain after timestep t, as `odl step update` does."""
    P, before, after = chain.P[t], chain.states[t], chain.states[t + 1]
    codes = chain.learner.score(chain.learner.fit_terms(before, P.shape[1]), P).codes
    uncoded = float(np.mean(np.diff(codes.indptr) == 0))
    content = checkpoints.Checkpoint(
        t, chain.run, after.dictionary, after.arrays, after.updates, codes, uncoded
    )
    checkpoints.write(path, content)
