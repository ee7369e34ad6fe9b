"""The part `agents`: dictionary learning over agents, fully connected and on a sparse graph."""

from functools import partial
from statistics import median

import numpy as np
from measure import Row, cpu, say, within

from odl import learners, novelty
from odl.distributed import coding, networks

SEED = 0
RUNS = {
    "squared": {"task": "nmf"},
    "Huber": {"task": "nmf_huber", "gamma": 0.25, "delta": 0.5, "eta": 0.2, "mu_w": 0.2},
}


def agents(material):
    """Time scoring and learning of the batch after the first, with as many agents as atoms."""
    rows = []
    for name, settings in RUNS.items():
        rows += _agents(material, name, settings)
    return rows


def _agents(material, name, settings):
    size = material.size
    k = size.atoms[0]
    learner = learners.make("diffusion", **settings)
    say(f"agents: {name}, k = {k}")
    first, P = (batch.weighed(tf="log", norm="l2")[:] for batch in material.batches[:2])
    state = learner.fit_terms(learner.start(first, k, novelty.generator(SEED, "start")), P.shape[1])
    A, model = state.dictionary, learner.model
    code = partial(coding.centralised, tolerance=1e-3)
    code(P[:2], A, model)
    took, best = zip(*[cpu(code, P, A, model) for _ in range(size.repeats)], strict=True)
    excess = float((best[0].gap / best[0].score).max())  # relative gap at which the coder stops
    learned = median(cpu(learner.learn, state, P, None)[0] for _ in range(size.repeats))
    what = f"{material.name}, {name} residual, {k} agents"
    rows = [
        Row(
            "agents",
            f"{what}, fully connected: scores of {P.shape[0]} documents",
            median(took),
            "CPU s",
            within(60),
        ),
        Row(
            "agents",
            f"{what}, fully connected: largest gap over the objective",
            excess,
            "",
            "<= 0.001",
        ),
        Row(
            "agents",
            f"{what}, fully connected: learning {P.shape[0]} documents one by one",
            learned,
            "CPU s",
        ),
    ]
    few = P[: size.highs]
    exact = coding.centralised(few, A, model, tolerance=1e-9).score
    owner = np.arange(k)
    for graph in ("fully_connected", "erdos_renyi"):
        made = networks.network(graph, k, probability=max(0.1, 4.0 / k), seed=SEED)
        coding.over_network(few[:1], A, model, owner, made, iterations=20)  # not counted
        seconds, found = cpu(coding.over_network, few, A, model, owner, made)
        rounds, where = found.iterations.sum(), f"{what}, diffusion, {graph}"
        off = np.abs(found.score - exact) / exact
        rows += [
            Row("agents", f"{where}: a document", 1e3 * seconds / few.shape[0], "CPU ms"),
            Row("agents", f"{where}: iterations a document", rounds / few.shape[0]),
            Row(
                "agents",
                f"{where}: an iteration of one agent",
                1e6 * seconds / rounds / k,
                "CPU us",
            ),
            Row("agents", f"{where}: floats that an agent sends a document", found.floats.mean()),
            Row("agents", f"{where}: median relative error of a score", float(np.median(off))),
            Row("agents", f"{where}: largest relative error of a score", float(off.max())),
        ]
    return rows + _at_once(f"{what}, {graph}", few, A, model, owner, made, exact, seconds)


def _at_once(where, P, A, model, owner, network, exact, seconds):
    """Time the direct solver of the fixed point, and compare it with `seconds` of iterations."""
    at_fixed_point = partial(coding.over_network, at_fixed_point=True)
    at_fixed_point(P[:1], A, model, owner, network)  # not counted
    took, _ = cpu(at_fixed_point, P, A, model, owner, network)
    small = at_fixed_point(P, A, model, owner, network, mu=0.001)
    off = np.abs(small.score - exact) / exact
    return [
        Row(
            "agents",
            f"{where}, where it ends, found at once: a document",
            1e3 * took / P.shape[0],
            "CPU ms",
        ),
        Row(
            "agents",
            f"{where}, where it ends, found at once: cheaper than iterations",
            seconds / took,
            "times",
            ">= 20",
        ),
        Row(
            "agents",
            f"{where}, mu 0.001: largest relative error of a score",
            float(off.max()),
            "",
            "<= 0.001",
        ),
        Row(
            "agents",
            f"{where}, mu 0.001: most iterations until nothing moves",
            int(small.iterations.max()),
        ),
    ]
