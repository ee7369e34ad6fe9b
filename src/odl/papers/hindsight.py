"""Regret of an online run, and its theoretical bounds.

The regret is the loss of the run minus the loss of the best fixed dictionary in hindsight. At
timestep t, the run has the dictionary A_t and computes the codes X_t. With 𝒜 = {A >= 0, columns of
l1 norm at most 1},

    R(T) = sum_{t <= T} ||P_t - X_t A_t^T||_1 - min_{A in 𝒜} sum_{t <= T} ||P_t - X_t A^T||_1

(ICASSP 2013, Definition 1; NIPS 2012 supplement, Theorem B.5). The minimum is a linear program over
all documents so far. `odl.dictionary.l1.fit_dictionary` returns an upper bound (by its dictionary)
and a lower bound (by a feasible dual point), so R(T) is between ``regret`` and ``regret_high``.

Online ADMM also violates its constraint. With Gamma_{t+1} = soft(P_t - X_t A_t^T + D_t/beta,
1/beta), the violation at timestep t is ||Gamma_{t+1} - (P_t - X_t A_{t+1}^T)||_F^2.

The theory holds for a constant step size tau <= 1/(2 Psi_max(X_t)), D_1 = 0 and a dual variable
that is not truncated. Let Phi_t^2 be the number of non-zero entries of P_t - X_t A_t^T, Phi >=
Phi_t, D >= ||A* - A_1||_F and Ups >= ||P_t - X_t A*^T||_1. The proofs of Theorems B.5 and B.6 (NIPS
2012 supplement) then give, for every beta and every T,

    R(T)               <= Phi^2 T / (2 beta) + D^2 beta / (2 tau)         (B.5)
    sum of violations  <= 2 D^2 / tau + 4 Ups T / beta                    (B.6)

With beta = (Phi/D) sqrt(tau T), the first bound is Phi D sqrt(T/tau), and the second is
2 D^2/tau + 4 Ups D sqrt(T/tau)/Phi. Theorem B.5 as printed has half of the first bound, which its
proof does not give. The papers assume A_1 = 0 and D >= ||A*||_F, but with A_1 = 0 all codes remain
zero. Theorem B.5 also has a term ||A* E_t||_1 for errors E_t of the codes. It is zero here, because
A* is fitted to the codes of the run.
"""

import json
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas
from scipy import sparse

from odl import learners
from odl.coding.admm import largest_eigenvalue
from odl.dictionary.l1 import fit_dictionary
from odl.errors import ConfigError, DataError, ParameterError, StorageError
from odl.evaluation.study import (
    RUN_KEY,
    aggregate,
    collect,
    load_plan,
    means_of,
    over_seeds,
    spread_of,
)
from odl.files import checkpoints
from odl.files.tables import write_table
from odl.learners.l1_objective import ROUNDING
from odl.learners.sparse_atoms import widen
from odl.stream import features

BOUNDS = ("theorem_regret", "bound_regret", "theorem_violation", "bound_violation")
REGRET_COLUMNS = (
    "run",
    "t",
    "documents",
    "loss",
    "online",
    "hindsight",
    "hindsight_low",
    "regret",
    "regret_high",
    "iterations",
    "distance",
    "upsilon",
    "phi",
    "psi_max",
    "violation",
    "violation_sum",
    *BOUNDS,
)
CONSTANTS = ("phi", "distance", "upsilon", "psi_max")  # maxima over a run
REGRET_OVER_SEEDS = (
    *RUN_KEY,
    "t",
    "seeds",
    "online",
    "hindsight",
    "hindsight_low",
    *over_seeds("regret", "violation"),
    "regret_high",
    *CONSTANTS,
    "tau",
    "beta",
    *BOUNDS,
)


def algorithms() -> list[str]:
    """Return the algorithms whose regret can be measured.

    Examples
    --------
    >>> from odl.papers import hindsight
    >>> hindsight.algorithms()
    ['dual_averaging', 'online_admm', 'projected_gradient']
    """
    return [name for name in learners.LEARNERS if learners.learner_class(name).has_regret]


class OnlineStep(NamedTuple):
    """Timestep of a run.

    Attributes
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Documents of the batch.
    X : csr_array, shape (n_documents, n_atoms)
        Codes of the documents.
    before, after : csc_array, shape (n_terms, n_atoms)
        Dictionary before and after the batch was learned.
    dual : csr_array, shape (n_documents, n_terms), optional
        Dual variable of online ADMM before the batch was learned.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.papers.hindsight import OnlineStep
    >>> P, X = csr_array([[0.5, 0.5], [0.0, 1.0]]), csr_array([[1.0], [0.5]])
    >>> A = csc_array([[0.5], [0.5]])
    >>> OnlineStep(P, X, before=A, after=A).P.shape
    (2, 2)
    """

    P: sparse.csr_array
    X: sparse.csr_array
    before: sparse.csc_array
    after: sparse.csc_array
    dual: sparse.csr_array | None = None


def residual(P: sparse.csr_array, X: sparse.csr_array, A: sparse.csc_array) -> sparse.csr_array:
    """Return P - X A^T as CSR, where A may lack the last terms.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.papers.hindsight import residual
    >>> residual(csr_array([[0.5, 0.5]]), csr_array([[0.5]]), csc_array([[1.0]])).toarray()
    array([[0. , 0.5]])
    """
    return sparse.csr_array(P - X @ widen(A, n_rows=P.shape[1]).T)


def loss(P: sparse.csr_array, X: sparse.csr_array, A: sparse.csc_array) -> float:
    """Return ||P - X A^T||_1.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.papers.hindsight import loss
    >>> loss(csr_array([[0.5, 0.5]]), csr_array([[0.5]]), csc_array([[1.0]]))
    0.5
    """
    return float(np.abs(residual(P, X, A).data).sum())


def violation(step, beta):
    """Return the violation ||Gamma_{t+1} - (P_t - X_t A_{t+1}^T)||_F^2 of a step of online ADMM.

    If the dual variable has more rows than the batch, its last rows are those of empty documents.
    """
    n_rows = max(step.P.shape[0], step.dual.shape[0])
    P, X = widen(step.P, n_rows=n_rows), widen(step.X, n_rows=n_rows)
    dual = widen(step.dual.astype(np.float64), n_rows, P.shape[1])
    gamma = sparse.csr_array(residual(P, X, step.before) + dual / beta)
    gamma.data = np.sign(gamma.data) * np.maximum(np.abs(gamma.data) - 1.0 / beta, 0.0)
    difference = sparse.csr_array(gamma - residual(P, X, step.after))
    return float((difference.data**2).sum())


def choose_timesteps(T, count):
    """Return at most `count` horizons from 1 to T, evenly spaced in their square roots.

    T is always included. With 0, all horizons are returned.
    """
    if count < 0:
        raise ParameterError(
            f"timesteps is {count}",
            "an integer of at least 0",
            "set regret.timesteps to 0 for all timesteps",
        )
    if count == 0 or count >= T:
        return list(range(1, T + 1))
    if count == 1:
        return [T]
    return sorted({round(root**2) for root in np.linspace(1.0, np.sqrt(T), count)} | {T})


def hindsight(
    steps: Sequence[OnlineStep],
    grid: Sequence[int],
    start: sparse.csc_array,
    *,
    tolerance: float = 1e-4,
    iterations: int = 2000,
) -> Iterator[tuple]:
    """Fit the best fixed dictionary for the first T timesteps, for every T of a grid.

    Parameters
    ----------
    steps : list of OnlineStep
    grid : list of int
        Increasing numbers of timesteps, from 1.
    start : csc_array
        Initial dictionary of the first fit. Later fits start from the previously fitted dictionary.
    tolerance : float
        Relative duality gap at which a fit stops.
    iterations : int
        Maximum number of iterations of a fit.

    Yields
    ------
    tuple of (T, dictionary, value, low, iterations)
        ``low`` <= minimum <= ``value`` = sum_{t <= T} ||P_t - X_t dictionary^T||_1.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.papers.hindsight import OnlineStep, hindsight
    >>> P, X = csr_array([[0.5, 0.5], [0.0, 1.0]]), csr_array([[1.0], [0.5]])
    >>> A = csc_array([[0.5], [0.5]])
    >>> steps = [OnlineStep(P, X, before=A, after=A)]
    >>> [(T, round(value, 3), round(low, 3)) for T, _, value, low, _ in hindsight(steps, [1], A)]
    [(1, 1.0, 1.0)]
    """
    dictionary = start
    for T in grid:
        n_terms = steps[T - 1].P.shape[1]
        P = sparse.vstack([widen(step.P, n_columns=n_terms) for step in steps[:T]], format="csr")
        X = sparse.vstack([step.X for step in steps[:T]], format="csr")
        fit = fit_dictionary(
            P, X, widen(dictionary, n_rows=n_terms), tolerance=tolerance, iterations=iterations
        )
        dictionary = fit.dictionary
        value = loss(P, X, dictionary)
        yield T, dictionary, value, min(fit.bound, value), fit.iterations


def measure(
    steps: Sequence[OnlineStep],
    learner: learners.Learner,
    *,
    timesteps: int = 0,
    tolerance: float = 1e-4,
    iterations: int = 2000,
) -> tuple[list[dict], dict]:
    """Compute the regret of a run after 1, 2, ... timesteps.

    Equation `regret` of docs/method.md.

    Parameters
    ----------
    steps : list of OnlineStep
        Evaluated timesteps, in order.
    learner : Learner
        Learner with `odl.learners.Learner.has_regret`.
    timesteps : int
        Number of horizons T for which the best fixed dictionary is fitted; 0: all T. Rows of other
        timesteps lack the values that are computed from this dictionary.
    tolerance, iterations
        As in `hindsight`.

    Returns
    -------
    rows : list of dict
        A row for each timestep, with the columns `REGRET_COLUMNS` except "run".
    constants : dict
        phi, distance, psi_max, upsilon, tau, beta, tau_most, tau_wanted, beta_wanted and refused:
        constants of the bounds, which `describe` prints.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.papers.hindsight import OnlineStep, measure
    >>> P, X = csr_array([[0.5, 0.5], [0.0, 1.0]]), csr_array([[1.0], [0.5]])
    >>> A = csc_array([[0.5], [0.5]])
    >>> from odl import learners
    >>> steps = [OnlineStep(P, X, before=A, after=A)] * 2
    >>> rows, constants = measure(steps, learners.make("dual_averaging"))
    >>> [round(row["regret"], 3) for row in rows], constants["refused"]
    ([0.0, 0.0], 'the theorems are about online ADMM')
    """
    admm = learner.algorithm == "online_admm"
    rows = [
        _row(t, step, getattr(learner, "beta", None) if admm else None)
        for t, step in enumerate(steps, start=1)
    ]
    for name, total in (("loss", "online"), ("violation", "violation_sum")):
        for row, value in zip(rows, np.cumsum([row[name] for row in rows]), strict=True):
            row[total] = float(value)
    grid = choose_timesteps(len(steps), timesteps)
    fits = hindsight(steps, grid, steps[0].before, tolerance=tolerance, iterations=iterations)
    for T, dictionary, value, low, done in fits:
        first = widen(steps[0].before, n_rows=dictionary.shape[0])
        online = rows[T - 1]["online"]
        rows[T - 1] |= {
            "hindsight": value,
            "hindsight_low": low,
            "regret": online - value,
            "regret_high": online - low,
            "iterations": done,
            "distance": float(np.sqrt(((dictionary - first) ** 2).sum())),
            "upsilon": max(
                loss(step.P, step.X, dictionary[: step.P.shape[1]]) for step in steps[:T]
            ),
        }
    constants = _constants(rows, grid, learner, steps)
    if constants["refused"] is None:
        symbols = {name: constants[name] for name in ("phi", "distance", "tau", "beta", "upsilon")}
        for T in grid:
            rows[T - 1] |= bounds(T, **symbols)._asdict()
    return rows, constants


def _row(t, step, beta):
    """Return the columns of a row of `measure` that do not need the best fixed dictionary."""
    entries = np.abs(residual(step.P, step.X, step.before).data)
    return {
        "t": t,
        "documents": step.P.shape[0],
        "loss": float(entries.sum()),
        "phi": float(np.sqrt(np.count_nonzero(entries > ROUNDING))),
        "psi_max": largest_eigenvalue(sparse.csr_array(step.X.T @ step.X)),
        "violation": float("nan") if beta is None else violation(step, beta),
    }


def _constants(rows, grid, learner, steps):
    """Return the constants of the bounds in the docstring of this module, over all timesteps.

    Returns
    -------
    dict
        "phi", "distance" (D), "psi_max" and "upsilon"; "tau" and "beta" of the run, which are nan
        for other algorithms than online ADMM; "tau_most" = 1/(2 Psi_max), the largest tau that the
        theory allows; "tau_wanted", the tau of the run if it is allowed, else "tau_most";
        "beta_wanted" = (Phi/D) sqrt(tau T) with this tau, which minimises the bound on the regret;
        "refused", why the bounds do not apply to the run, or None.
    """
    phi = max(row["phi"] for row in rows)
    psi_max = max(row["psi_max"] for row in rows)
    # The best fixed dictionary is known only at the timesteps of `grid`.
    distance = max(rows[T - 1]["distance"] for T in grid)
    upsilon = max(rows[T - 1]["upsilon"] for T in grid)
    tau, beta = getattr(learner, "tau", float("nan")), getattr(learner, "beta", float("nan"))
    max_tau = 1 / (2 * psi_max) if psi_max else float("inf")
    allowed_tau = tau if 0 < tau <= max_tau else max_tau
    best_beta = phi / distance * np.sqrt(allowed_tau * len(rows)) if distance else float("inf")
    return {
        "phi": phi,
        "distance": distance,
        "psi_max": psi_max,
        "upsilon": upsilon,
        "tau": tau,
        "beta": beta,
        "tau_most": max_tau,
        "tau_wanted": allowed_tau,
        "beta_wanted": best_beta,
        "refused": why_no_bound(learner, steps[0].dual, psi_max),
    }


class Bounds(NamedTuple):
    """Bounds of Theorems B.5 (regret) and B.6 (sum of violations).

    Fields ``theorem_*`` are for the beta that is optimal for T timesteps, fields ``bound_*`` for
    the beta of the run.

    Examples
    --------
    >>> from odl.papers.hindsight import bounds
    >>> units = dict(phi=1.0, distance=1.0, tau=1.0, beta=1.0, upsilon=1.0)
    >>> [bounds(T, **units).theorem_regret.item() for T in (1, 4, 9)]
    [1.0, 2.0, 3.0]
    """

    theorem_regret: float
    bound_regret: float
    theorem_violation: float
    bound_violation: float


def bounds(
    T: int, *, phi: float, distance: float, tau: float, beta: float, upsilon: float
) -> Bounds:
    """Return the bounds of Theorems B.5 and B.6, as in the docstring of this module.

    Equation `regret-bounds` of docs/method.md.

    Parameters
    ----------
    T : int
        Number of timesteps.
    phi, distance, upsilon : float
        Phi, D and Ups.
    tau, beta : float
        Constant step size and penalty of the run.

    Returns
    -------
    Bounds

    Examples
    --------
    >>> from odl.papers.hindsight import bounds
    >>> limits = bounds(100, phi=10.0, distance=2.0, tau=0.25, beta=9.0, upsilon=50.0)
    >>> [round(float(value), 1) for value in limits]
    [400.0, 627.6, 832.0, 2254.2]
    """
    root = np.sqrt(T / tau)
    violation_at_best = 4 * upsilon * distance * root / phi if phi else 0.0
    return Bounds(
        theorem_regret=phi * distance * root,
        bound_regret=phi**2 * T / (2 * beta) + distance**2 * beta / (2 * tau),
        theorem_violation=2 * distance**2 / tau + violation_at_best,
        bound_violation=2 * distance**2 / tau + 4 * upsilon * T / beta,
    )


def why_no_bound(learner, dual, psi_max):
    """Return the condition of Theorems B.5 and B.6 that a run violates, or None.

    Parameters
    ----------
    learner : Learner
    dual : csr_array or None
        Dual variable before the first evaluated timestep.
    psi_max : float
        Largest eigenvalue of X_t^T X_t over the timesteps.
    """
    if learner.algorithm != "online_admm":
        return "the theorems are about online ADMM"
    if learner.tau == 0:
        return "tau is 0: the step size differs between batches"
    if learner.tau * 2 * psi_max > 1:
        return f"tau {learner.tau:g} is above 1/(2 Psi_max) = {1 / (2 * psi_max):.6g}"
    if learner.dual_terms:
        return f"the dual is truncated to {learner.dual_terms} terms a document (dual_terms)"
    return "the initial dual is not zero (carry)" if dual.count_nonzero() else None


def read_steps(checkpoint_paths, feature_paths):
    """Read the files of a run.

    Parameters
    ----------
    checkpoint_paths, feature_paths : list of path-like
        Files of all timesteps from 0, in order.

    Returns
    -------
    steps : list of OnlineStep
    learner : Learner
    chain : dict
        Attributes of the checkpoints: corpus, seed, run, atoms, learner, features.

    Raises
    ------
    DataError
        If the files are not those of timesteps 0, 1, ..., there are fewer than two timesteps, or
        the regret of the learner is not defined.
    CheckpointError, StorageError
        If a file is damaged, or a checkpoint was not computed from the previous one.
    """
    if len(checkpoint_paths) != len(feature_paths) or len(checkpoint_paths) < 2:
        raise DataError(
            f"{len(checkpoint_paths)} checkpoints and {len(feature_paths)} feature files are given",
            "one of each for the timesteps 0, 1, ..., at least two",
            "pass all files of a run",
        )
    before = checkpoints.read_checkpoint(checkpoint_paths[0], t=0)
    chain = before.chain
    algorithm = chain["learner"].get("algorithm")
    if algorithm not in (measurable := algorithms()):
        raise DataError(
            f"the regret of {algorithm} is not defined",
            f"a run of {', '.join(measurable)}",
            "name such a run in regret.runs",
        )
    learner, steps = learners.make(**chain["learner"]), []
    last_features = (
        features.read(feature_paths[-1]) if chain["features"].get("idf") == "corpus" else None
    )
    for t in range(1, len(checkpoint_paths)):
        batch = features.read(feature_paths[t])
        after = checkpoints.read_checkpoint(checkpoint_paths[t], chain=chain, t=t)
        follows = after.previous == before.digest
        if batch.terms is not None:
            raise DataError(
                f"{feature_paths[t]} has a bounded vocabulary",
                "an unbounded vocabulary, since dictionaries of all timesteps are compared",
                "set features.max_terms to 0",
            )
        if not follows or batch.t != t or batch.counts.shape[0] != after.codes.shape[0]:
            raise DataError(
                f"{feature_paths[t]}, {checkpoint_paths[t]} and {checkpoint_paths[t - 1]} "
                "are not consecutive files of a run",
                "the files of one run, in order of timesteps",
                "sort --checkpoints and --features by timestep",
            )
        P = batch.weighed(**chain["features"], norm=learner.norm, corpus=last_features)[:]
        steps.append(
            OnlineStep(
                P, after.codes, before.dictionary, after.dictionary, before.arrays.get("dual")
            )
        )
        before = after
    return steps, learner, chain


def write(path, checkpoint_paths, feature_paths, **options):
    """Compute the regret of a run from its files, write the table and print the constants.

    Parameters
    ----------
    path : path-like
        Table to write, columns `REGRET_COLUMNS`.
    checkpoint_paths, feature_paths
        As for `read_steps`.
    **options
        Arguments timesteps, tolerance, iterations of `measure`.
    """
    begin = time.process_time()
    steps, learner, chain = read_steps(checkpoint_paths, feature_paths)
    rows, constants = measure(steps, learner, **options)
    write_table(path, [{"run": chain["run"], **row} for row in rows], REGRET_COLUMNS)
    print(describe(rows, constants, f"{chain['run']}, k {chain['atoms']}, seed {chain['seed']}"))
    print(f"odl regret: {time.process_time() - begin:.1f} CPU s, {len(steps)} timesteps")


def describe(rows, bounds, name):
    """Return lines that summarise the loss, the regret and the bounds of a run."""
    last = rows[-1]
    lines = [
        f"{name}: loss {last['online']:.6g} after {last['t']} timesteps, best fixed dictionary "
        f"{last['hindsight_low']:.6g} to {last['hindsight']:.6g}, regret {last['regret']:.6g} to "
        f"{last['regret_high']:.6g}",
        f"Phi {bounds['phi']:.6g}, D {bounds['distance']:.6g}, Psi_max {bounds['psi_max']:.6g}, "
        f"Upsilon {bounds['upsilon']:.6g}; tau at most {bounds['tau_most']:.6g}; "
        f"with tau {bounds['tau_wanted']:.6g}, the best beta for Theorem B.5 is "
        f"{bounds['beta_wanted']:.6g}",
    ]
    if bounds["refused"]:
        lines.append(f"the bounds do not apply to this run: {bounds['refused']}")
    else:
        lines.append(
            f"tau {bounds['tau']:.6g} and beta {bounds['beta']:.6g}: "
            f"regret at most {last['bound_regret']:.6g} (B.5: {last['theorem_regret']:.6g}), "
            f"violations {last['violation_sum']:.6g} of at most {last['bound_violation']:.6g} "
            f"(B.6: {last['theorem_violation']:.6g})"
        )
    return "\n".join(f"odl regret: {line}" for line in lines)


def gather_regret(plan, path, *, runs, sizes=()):
    """Write a table of regret: means over the seeds of the given runs.

    Parameters
    ----------
    plan : list of dict or path-like
        Plan of the study. The folder of each of `runs` contains its ``regret.tsv`` (`write`).
    path : path-like
        Table to write, with the columns `REGRET_OVER_SEEDS` and a row for each corpus, run, k and
        timestep for which the best fixed dictionary was fitted. Values are means over seeds, except
        `CONSTANTS`, which are maxima over all timesteps and seeds. Bounds are nan unless they apply
        to every seed.
    runs : list of str
    sizes : list of int, optional
        Numbers of atoms. By default all.

    Raises
    ------
    ConfigError
        If the plan is invalid, or has none of the runs.
    StorageError
        If the plan or a table is missing or was changed.
    """
    entries = [
        entry
        for entry in load_plan(plan)
        if entry["run"] in runs and (not sizes or entry["k"] in sizes)
    ]
    if not entries:
        raise ConfigError(
            f"the plan has no run for regret.runs [{', '.join(runs)}] and regret.sizes {sizes}",
            "runs and sizes of the plan",
            "correct regret.runs and regret.sizes",
        )
    rows = pandas.DataFrame(collect(entries, "regret.tsv", REGRET_COLUMNS))
    if rows.empty:
        raise StorageError(
            f"the regret of {', '.join(runs)} has no row in {entries[0]['folder']}/regret.tsv",
            "a row for each timestep",
            "delete the file and run the same command again",
        )
    largest = rows.groupby(list(RUN_KEY))[list(CONSTANTS)].transform("max")
    parameters = rows["parameters"].map(json.loads)
    rows = rows.assign(
        **largest,
        **{name: [values.get(name, np.nan) for values in parameters] for name in ("tau", "beta")},
    )
    measured = {
        "seeds": ("seed", "size"),
        **spread_of("regret"),
        **spread_of("violation_sum", "violation"),
    }
    measured |= means_of(
        "online", "hindsight", "hindsight_low", "regret_high", *CONSTANTS, "tau", "beta"
    )
    measured |= {name: (name, lambda bounds: bounds.mean(skipna=False)) for name in BOUNDS}
    write_table(
        path,
        aggregate(rows[rows["regret"].notna()], (*RUN_KEY, "t"), **measured),
        REGRET_OVER_SEEDS,
    )
