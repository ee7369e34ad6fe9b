"""Convergence of inference over a network by diffusion and by consensus ADMM.

A second table has the bias of diffusion by its step size mu, which is O(mu^2). For each document,
neighbours exchange dual variables. Between two exchanges, an agent takes one gradient step
(diffusion) or several (ADMM). Distances are those to the optimum, which is computed for the
complete dictionary by coordinate descent. Source: Chen, Towfic and Sayed 2014, equations 31 and 37
to 39.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odl.corpora import tdt2
from odl.distributed import coding, models, networks
from odl.distributed.inference import AgentShare, Inference, diffuse, share_all
from odl.errors import ParameterError
from odl.evaluation.averages import grouped
from odl.learners.diffusion import Diffusion
from odl.papers.experiments import write
from odl.report.plots import legend_below, logarithmic, look_of, new_figure, style
from odl.stream import batching, features

TITLE = "Convergence over the network"
TAKES, ALGORITHMS = ("files",), ("diffusion",)
POSITIVE_INTEGER = {"type": "integer", "minimum": 1}
SETTINGS = {
    "agents": {**POSITIVE_INTEGER, "default": 12},
    "terms": {**POSITIVE_INTEGER, "default": 20},
    "documents": {**POSITIVE_INTEGER, "default": 1},
    "steps": {**POSITIVE_INTEGER, "default": 2000},
    "fixed_point_iterations": {**POSITIVE_INTEGER, "default": 3000},
}
TASK = {"task": "nmf", "gamma": 0.1, "delta": 1.0}
COMPARED_NETWORKS = ("fully_connected", "ring")
INNER_STEPS = (1, 5, 20)  # gradient steps of ADMM between two exchanges
STEP_SHARES = (1.0, 0.3, 0.1, 0.03, 0.01)  # step sizes of `bias` over the largest safe one
SEED = 0  # seed of the synthetic problem, and of the initial atoms on TDT2
PATH_COLUMNS = (
    "problem",
    "network",
    "method",
    "exchanges",
    "inner",
    "floats",
    "distance",
    "score_error",
)
STEP_COLUMNS = ("problem", "network", "mu", "distance", "iterations", "moved")
SMALL = "diffusion, mu/10"
CURVE_POINTS = 60  # number of points of a curve
DEGREE = 2  # neighbours of an agent on the ring


class InferenceProblem(NamedTuple):
    """Documents, a dictionary with one atom per agent, and optimal dual variables.

    Attributes
    ----------
    name : str
    documents : ndarray, shape (n, terms)
    atoms : ndarray, shape (terms, agents)
    optima : ndarray, shape (n, terms)
        Dual variables at the optimum.
    scores : ndarray
        Optimal objectives.
    """

    name: str
    documents: np.ndarray
    atoms: np.ndarray
    optima: np.ndarray
    scores: np.ndarray


def problem(name, X, atoms, model):
    """Return an `InferenceProblem`.

    The optimal dual variable is the gradient of f at the residual of the optimal code.
    """
    optimum = coding.centralised(
        sparse.csr_array(X), sparse.csc_array(atoms), model, tolerance=1e-13
    )
    residual = X - optimum.codes.toarray() @ atoms.T
    return InferenceProblem(name, X, atoms, model.residual.gradient(residual), optimum.score)


def synthetic(model, settings):
    """Return a synthetic problem: documents are sums of three random atoms and noise.

    Atoms and documents have unit l2 norm.
    """
    rng = np.random.default_rng(SEED)
    atoms = np.abs(rng.standard_normal((settings["terms"], settings["agents"])))
    atoms = model.project(atoms / np.linalg.norm(atoms, axis=0))
    codes = np.zeros((settings["documents"], settings["agents"]))
    n_used = min(3, settings["agents"])
    for row in codes:
        row[rng.choice(len(row), n_used, replace=False)] = rng.uniform(0.5, 1.5, n_used)
    X = np.abs(codes @ atoms.T + 0.1 * rng.standard_normal((len(codes), len(atoms))))
    return problem("made", X / np.linalg.norm(X, axis=1, keepdims=True), atoms, model)


def text(path, model, settings):
    """Return an inference problem from TDT2: documents of one batch, atoms from the batch before.

    The batches are the first and the second thousand documents in order of time. The atoms are the
    initial atoms that `Diffusion` learns from the first batch. The documents are those of the
    second batch with the largest sums of codes on these atoms. Terms that neither documents nor
    atoms contain are dropped.
    """
    documents = tdt2.read([path], {})
    order = batching.order(documents.ids, documents.times, SEED)
    first, second = order[:1000], order[1000:2000]
    start = features.follow(documents.select(first), None)
    batch = features.follow(documents.select(second), start)
    P0, P = (part.weighed(tf="log", norm="l2")[:] for part in (start, batch))
    learner = Diffusion(**TASK)
    state = learner.start(P0, settings["agents"], np.random.default_rng(SEED))
    A = learner.fit_terms(state, P.shape[1]).dictionary.toarray()
    codes = coding.centralised(P, sparse.csc_array(A), model).codes
    order = np.argsort(-np.asarray(codes.sum(axis=1)).ravel(), kind="stable")
    X = P[order[: settings["documents"]]].toarray()
    used_terms = (X != 0).any(axis=0) | (A != 0).any(axis=1)
    return problem("TDT2", X[:, used_terms], A[used_terms], model)


def consensus_admm(
    share: AgentShare,
    x: np.ndarray,
    *,
    penalty: float | None = None,
    iterations: int = 1000,
    inner: int = 20,
    record: Callable[[int, np.ndarray], Any] | None = None,
) -> Inference:
    """Maximise the dual by consensus ADMM with Jacobi updates, for comparison with diffusion.

    It minimises sum_k J_k(nu_k) subject to nu_k = nu_l for neighbours k and l (cf. equations 38 and
    39 of the paper):

        p_k  <- p_k + c sum_{l in N_k} (nu_k - nu_l)
        nu_k <- argmin_{nu in V_f} J_k(nu) + p_k^T nu + c sum_{l in N_k} ||nu - (nu_k + nu_l)/2||^2

    This is the edge-based recursion of Mateos, Bazerque and Giannakis (2010), since the recursion
    of the paper was not available. The argmin is approximated by `inner` projected gradient steps.

    Parameters
    ----------
    share, x, iterations, record
        As in `odl.distributed.inference.diffuse`, where `share` has all agents.
    penalty : float, optional
        c. By default c_f/N + 1/(delta N), the scale of the curvature of J_k.
    inner : int
        Number of gradient steps of each agent between two exchanges.

    Returns
    -------
    Inference
        Results converge to the optimum, without bias.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed import inference, models, networks
    >>> from odl.papers.experiments.convergence import consensus_admm
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> network = networks.network("ring", 3, degree=2)
    >>> share = inference.share_all(model, network, [np.eye(3)[:, [agent]] for agent in range(3)])
    >>> inferred = consensus_admm(share, np.array([0.6, 0.8, 0.0]))
    >>> score = -float(inferred.costs.sum())
    >>> np.concatenate(inferred.codes).round(2), round(score, 3)
    (array([0.5 , 0.68, 0.  ]), 0.107)
    """
    model, n_agents = share.model, share.network.n_agents
    if penalty is None:
        penalty = (model.residual.curvature + 1.0 / model.code.delta) / n_agents
    if not penalty > 0:
        raise ParameterError(
            f"penalty is {penalty!r}", "a penalty above 0", "raise it or omit it for the default"
        )
    links = share.network.weights.toarray() != 0
    np.fill_diagonal(links, False)
    pattern = sparse.csr_array(links.astype(float))
    degrees = np.asarray(pattern.sum(axis=1))[:, None]
    curvature = model.residual.curvature / n_agents + share.norms[:, None] / model.code.delta
    steps = 1.0 / (curvature + 2.0 * penalty * degrees)
    nu = share.start(x)
    price = np.zeros_like(nu)
    for used in range(1, iterations + 1):
        sums = pattern @ nu
        price = price + penalty * (degrees * nu - sums)
        middle = 0.5 * (degrees * nu + sums)
        for _ in range(inner):
            slope = share.gradients(nu, x) + price + 2.0 * penalty * (degrees * nu - middle)
            nu = model.residual.project(nu - steps * slope)
        if record:
            record(used, nu)
    return share.finish(nu, x, iterations)


def _distance(nu, optimum):
    """Return the mean squared distance of agents from the optimum, relative to the optimum."""
    return float(np.mean(np.sum((nu - optimum) ** 2, axis=1)) / np.sum(optimum**2))


def follow(problem, network, model, settings):
    """Return rows with the distance of every method after numbers of exchanges."""
    share = share_all(model, network, list(problem.atoms.T[:, :, None]))
    largest = 0.9 * model.largest_step(share.norms, network.n_agents)
    steps = {"diffusion": largest, SMALL: largest / 10}
    methods = {"diffusion": 1, SMALL: 1, **{f"ADMM, {inner} inner": inner for inner in INNER_STEPS}}
    rows = []
    for name, inner in methods.items():
        last = max(1, settings["steps"] // inner)
        if name in steps:
            infer = partial(diffuse, share, step=steps[name], iterations=last, tolerance=0.0)
        else:
            infer = partial(consensus_admm, share, iterations=last, inner=inner)
        marks = sorted({int(mark) for mark in np.geomspace(1, last, CURVE_POINTS)})
        documents = zip(problem.documents, problem.optima, problem.scores, strict=True)
        errors = sum(_errors_at(marks, infer, share, *document) for document in documents)
        for mark, (distance, score_error) in zip(
            marks, errors / len(problem.documents), strict=True
        ):
            row = {"method": name, "exchanges": mark, "inner": mark * inner, "distance": distance}
            floats = float(network.neighbours.mean() * mark * problem.documents.shape[1])
            rows.append(row | {"floats": floats, "score_error": score_error})
    return rows


def _errors_at(marks, infer, share, x, optimum, score):
    """Return the errors of an inference method for a document x.

    Returns
    -------
    ndarray, shape (len(marks), 2)
        Distance from the optimal dual variable and relative error of the score, after ``marks[i]``
        exchanges in row i.
    """
    errors = []

    def record(used, nu):
        if used in marks:
            costs = share.finish(nu, x, used).costs
            errors.append((_distance(nu, optimum), abs(-costs.sum() - score) / score))

    infer(x=x, record=record)
    return np.array(errors)


def fixed_point(share, x, optimum, mu, iterations):
    """Iterate diffusion from the optimum to its fixed point.

    Returns
    -------
    distance, moved : float
        Mean squared distance of agents from the optimum, and squared length of the last iteration
        relative to it.
    iterations : int
        Number of iterations.
    """
    moves = share.moves(np.repeat(optimum[None], len(share.agents), axis=0), x, mu)
    used, moved = 0, np.inf
    while used < iterations and moved > 1e-8:
        old, nu = next(moves)
        used += 1
        moved = np.sum((nu - old) ** 2) / max(np.sum((nu - optimum) ** 2), 1e-300)
    return _distance(nu, optimum), float(moved), used


def bias(problem, network, model, settings):
    """Return rows with the mean distance of the fixed point of diffusion from the optimum by mu."""
    share = share_all(model, network, list(problem.atoms.T[:, :, None]))
    largest, rows = 0.9 * model.largest_step(share.norms, network.n_agents), []
    for part in STEP_SHARES:
        fixed_points = [
            fixed_point(share, x, optimum, part * largest, settings["fixed_point_iterations"])
            for x, optimum in zip(problem.documents, problem.optima, strict=True)
        ]
        distance, moved, used = np.mean(fixed_points, axis=0)
        rows.append(
            {"mu": part * largest, "distance": distance, "moved": moved, "iterations": used}
        )
    return rows


def slope(rows):
    """Return the exponent p of distance ~ mu^p, fitted to the smaller half of the step sizes."""
    points = sorted((row["mu"], row["distance"]) for row in rows if row["distance"] > 0)
    points = np.log(points[: max(2, (len(points) + 1) // 2)])
    return float(np.polyfit(points[:, 0], points[:, 1], 1)[0]) if len(points) > 1 else float("nan")


def measure(settings, files):
    """Return the rows of the tables ``paths`` and ``steps``."""
    if len(files) > 1:
        raise ParameterError(
            f"the setting files has {len(files)} files",
            "no file, or only tdt2/TDT2_with_time.mat",
            "remove the other files",
        )
    model = models.task(TASK["task"], gamma=TASK["gamma"], delta=TASK["delta"])
    problems = [synthetic(model, settings), *(text(path, model, settings) for path in files)]
    paths, steps = [], []
    for problem in problems:
        for name in COMPARED_NETWORKS:
            network = networks.network(name, settings["agents"], degree=DEGREE)
            names = {"problem": problem.name, "network": name}
            paths += [{**names, **row} for row in follow(problem, network, model, settings)]
            if not network.exact:
                steps += [{**names, **row} for row in bias(problem, network, model, settings)]
    return paths, steps


def run(settings, folder, files):
    """Write ``paths.tsv`` and ``steps.tsv``, and draw the paths."""
    paths, steps = measure(settings, files)
    named = [{**row, "network": networks.shown(row["network"], degree=DEGREE)} for row in paths]
    write(
        folder,
        {"paths": (paths, PATH_COLUMNS), "steps": (steps, STEP_COLUMNS)},
        {"paths": draw_paths(named)},
    )


def shown(tables):
    """Return the values for the template.

    "curves" lists (name, first row with a distance of at most 1 %, last row) of each curve. "law"
    is a text with the exponent of the step size (`slope`) for each problem and network.
    """
    not_reached = dict.fromkeys(("exchanges", "inner", "floats"), float("nan"))
    curves = []
    for (name, network, method), rows in grouped(tables["paths"], ("problem", "network", "method")):
        reached = next((row for row in rows if row["distance"] <= 1e-2), not_reached)
        curves.append(
            (f"{name}, {networks.shown(network, degree=DEGREE)}, {method}", reached, rows[-1])
        )
    law = "; ".join(
        f"{name}, {networks.shown(network, degree=DEGREE)}: {slope(rows):.2f}"
        for (name, network), rows in grouped(tables["steps"], ("problem", "network"))
    )
    return {"curves": curves, "law": law}


DRAWN_FLOOR = 1e-12  # smallest distance that is not a rounding error
CLOCKS = (
    ("exchanges", "exchanges"),
    ("inner", "gradient steps of an agent"),
    ("floats", "floats sent by an agent"),
)


@style()
def draw_paths(rows):
    """Draw the squared distances of all methods as curves.

    Each problem and network has a row of panels, with one panel for each unit of `CLOCKS`.

    Parameters
    ----------
    rows : list of dict
        problem, network, method, exchanges, inner, floats, distance.
    """
    panels = grouped(rows, ("problem", "network"))
    figure, axes = new_figure(8.2, 2.1 * len(panels) + 0.9, len(panels), 3, sharey="row")
    for line, ((problem, network), of_panel) in zip(axes, panels, strict=True):
        curves = grouped(of_panel, ("method",))
        for axis, (key, label) in zip(line, CLOCKS, strict=True):
            for number, ((method,), part) in enumerate(curves):
                look = {**look_of(number), "markevery": 8, "markersize": 4, "linewidth": 1.4}
                values = [max(row["distance"], DRAWN_FLOOR) for row in part]
                axis.plot([row[key] for row in part], values, label=method, **look)
            logarithmic(axis, "x", "y")
            if line[0] is axes[-1, 0]:
                axis.set_xlabel(label)
        line[0].set_ylabel("squared distance")
        line[1].set_title(f"{problem}, {network}")
    return legend_below(figure, len(curves))
