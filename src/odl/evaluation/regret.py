"""Regret of an online run, measured: its loss against the best fixed dictionary in hindsight, and the theory's bounds.

At timestep t the run has the dictionary A_t of the past and reveals the codes X_t. With 𝒜 = {A >= 0, columns of mass
at most 1},

    R(T) = sum_{t <= T} ||P_t - X_t A_t^T||_1 - min_{A in 𝒜} sum_{t <= T} ||P_t - X_t A^T||_1

(ICASSP 2013, Definition 1; NIPS 2012 supplement, Theorem B.5). The minimum is a linear program of all documents so
far. `odl.dictionary.l1.fit_dictionary` bounds it from both sides: its dictionary from above, a feasible point of the
dual from below. So R(T) lies between ``regret`` and ``regret_high``.

For online ADMM with Gamma_{t+1} = soft(P_t - X_t A_t^T + D_t/beta, 1/beta) the sum of
||Gamma_{t+1} - (P_t - X_t A_{t+1}^T)||_F^2, the violation of its constraint, is measured too. What the
theory bounds both by is in `odl.evaluation.regretbounds`.
"""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl import learners
from odl.dictionary.l1 import fit_dictionary
from odl.errors import DataError, ParameterError
from odl.evaluation.regretbounds import bounds, why_no_bound
from odl.files import checkpoints
from odl.files.tables import write_table
from odl.learners.l1 import ROUNDING
from odl.learners.matrices import widen
from odl.learners.online_admm import largest_eigenvalue
from odl.stream import features

COLUMNS = ("run", "t", "documents", "loss", "online", "hindsight", "hindsight_low", "regret", "regret_high")
COLUMNS += ("iterations", "distance", "upsilon", "phi", "psi_max", "violation", "violation_sum")
COLUMNS += ("theorem_regret", "bound_regret", "theorem_violation", "bound_violation")


def algorithms() -> list[str]:
    """Return the algorithms whose regret can be measured.

    Examples
    --------
    >>> from odl.evaluation import regret
    >>> regret.algorithms()
    ['dual_averaging', 'online_admm', 'projected_gradient']
    """
    return [name for name in learners.LEARNERS if learners.learner_class(name).has_regret]


class Step(NamedTuple):
    """One timestep of a run: its batch and codes, the dictionary and the dual before it, the dictionary after it.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.evaluation.regret import Step
    >>> P, X = csr_array([[0.5, 0.5], [0.0, 1.0]]), csr_array([[1.0], [0.5]])
    >>> A = csc_array([[0.5], [0.5]])
    >>> Step(P, X, before=A, after=A).P.shape
    (2, 2)
    """

    P: sparse.csr_array
    X: sparse.csr_array
    before: sparse.csc_array
    after: sparse.csc_array
    dual: sparse.csr_array | None = None


def residual(P: sparse.csr_array, X: sparse.csr_array, A: sparse.csc_array) -> sparse.csr_array:
    """Return P - X A^T (CSR), the dictionary widened to the terms of the batch.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.evaluation.regret import residual
    >>> residual(csr_array([[0.5, 0.5]]), csr_array([[0.5]]), csc_array([[1.0]])).toarray()
    array([[0. , 0.5]])
    """
    return sparse.csr_array(P - X @ widen(A, n_rows=P.shape[1]).T)


def loss(P: sparse.csr_array, X: sparse.csr_array, A: sparse.csc_array) -> float:
    """Return ||P - X A^T||_1.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.evaluation.regret import loss
    >>> loss(csr_array([[0.5, 0.5]]), csr_array([[0.5]]), csc_array([[1.0]]))
    0.5
    """
    return float(np.abs(residual(P, X, A).data).sum())


def violation(step, beta):
    """Return ||Gamma_{t+1} - (P_t - X_t A_{t+1}^T)||_F^2 of one step of online ADMM.

    Positions of the dual that the batch does not reach see an empty document, as in the learner.
    """
    n_rows = max(step.P.shape[0], step.dual.shape[0])
    P, X = widen(step.P, n_rows=n_rows), widen(step.X, n_rows=n_rows)
    dual = widen(step.dual.astype(np.float64), n_rows, P.shape[1])
    gamma = sparse.csr_array(residual(P, X, step.before) + dual / beta)
    gamma.data = np.sign(gamma.data) * np.maximum(np.abs(gamma.data) - 1.0 / beta, 0.0)
    difference = sparse.csr_array(gamma - residual(P, X, step.after))
    return float((difference.data**2).sum())


def fitted_at(T, most):
    """Return the numbers of timesteps that the best dictionary is fitted for: `most` of 1 to T, evenly in their root.

    The last is always among them; 0 means all.
    """
    if most < 0:
        given, expected = f"timesteps is {most}", "a whole number of at least 0"
        raise ParameterError(given, expected, "correct regret.timesteps")
    if most == 0 or most >= T:
        return list(range(1, T + 1))
    return sorted({round(root**2) for root in np.linspace(1.0, np.sqrt(T), most)} | {T}) if most > 1 else [T]


def hindsight(
    steps: Sequence[Step],
    grid: Sequence[int],
    start: sparse.csc_array,
    *,
    tolerance: float = 1e-4,
    iterations: int = 2000,
) -> Iterator[tuple]:
    """Fit the best fixed dictionary for the first T timesteps, for every T of a grid, each from the one before.

    Parameters
    ----------
    steps : list of Step
    grid : list of int
        Rising numbers of timesteps, from 1.
    start : csc_array
        Where the first fit starts.
    tolerance : float
        Relative distance of the two bounds of the minimum at which a fit ends.
    iterations : int
        Most iterations of a fit.

    Yields
    ------
    tuple of (T, dictionary, value, low, iterations)
        ``low`` <= minimum <= ``value`` = sum_{t <= T} ||P_t - X_t dictionary^T||_1.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.evaluation.regret import Step, hindsight
    >>> P, X = csr_array([[0.5, 0.5], [0.0, 1.0]]), csr_array([[1.0], [0.5]])
    >>> A = csc_array([[0.5], [0.5]])
    >>> steps = [Step(P, X, before=A, after=A)]
    >>> [(T, round(value, 3), round(low, 3)) for T, _, value, low, _ in hindsight(steps, [1], A)]
    [(1, 1.0, 1.0)]
    """
    dictionary = start
    for T in grid:
        n_terms = steps[T - 1].P.shape[1]
        P = sparse.vstack([widen(step.P, n_columns=n_terms) for step in steps[:T]], format="csr")
        X = sparse.vstack([step.X for step in steps[:T]], format="csr")
        fit = fit_dictionary(P, X, widen(dictionary, n_rows=n_terms), tolerance=tolerance, iterations=iterations)
        dictionary = fit.dictionary
        value = loss(P, X, dictionary)
        yield T, dictionary, value, min(fit.bound, value), fit.iterations


def measure(
    steps: Sequence[Step],
    learner: learners.Learner,
    *,
    timesteps: int = 0,
    tolerance: float = 1e-4,
    iterations: int = 2000,
) -> tuple[list[dict], dict]:
    """Measure the regret of a run for 1, 2, ... timesteps.

    Equation `regret` of docs/method.md.

    Parameters
    ----------
    steps : list of Step
        The evaluated timesteps, in order.
    learner : Learner
        One that has a regret (`odl.learners.Learner.has_regret`).
    timesteps : int
        How many numbers of timesteps T the best fixed dictionary is fitted for; 0: all. Elsewhere the cells that
        need it are nan.
    tolerance, iterations
        As for `hindsight`.

    Returns
    -------
    rows : list of dict
        One a timestep, keys `COLUMNS` without ``run``.
    constants : dict
        Phi, D, Psi_max, Upsilon; ``tau`` and ``beta`` of the run (nan for others than online ADMM), ``tau_most`` =
        1/(2 Psi_max), ``beta_wanted`` = (Phi/D) sqrt(tau T) for the run's tau, or the largest one where it has none;
        ``refused``: why the theorems say nothing about this run, or None.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.evaluation.regret import Step, measure
    >>> P, X = csr_array([[0.5, 0.5], [0.0, 1.0]]), csr_array([[1.0], [0.5]])
    >>> A = csc_array([[0.5], [0.5]])
    >>> from odl import learners
    >>> rows, constants = measure([Step(P, X, before=A, after=A)] * 2, learners.make("dual_averaging"))
    >>> [round(row["regret"], 3) for row in rows], constants["refused"]
    ([0.0, 0.0], 'the theorems are about online ADMM')
    """
    admm = learner.algorithm == "online_admm"
    rows = [_row(t, step, getattr(learner, "beta", None) if admm else None) for t, step in enumerate(steps, start=1)]
    for name, total in (("loss", "online"), ("violation", "violation_sum")):
        for row, value in zip(rows, np.cumsum([row[name] for row in rows]), strict=True):
            row[total] = float(value)
    grid = fitted_at(len(steps), timesteps)
    fits = hindsight(steps, grid, steps[0].before, tolerance=tolerance, iterations=iterations)
    for T, dictionary, value, low, done in fits:
        first = widen(steps[0].before, n_rows=dictionary.shape[0])
        rows[T - 1] |= {
            "hindsight": value,
            "hindsight_low": low,
            "regret": rows[T - 1]["online"] - value,
            "regret_high": rows[T - 1]["online"] - low,
            "iterations": done,
            "distance": float(np.sqrt(((dictionary - first) ** 2).sum())),
            "upsilon": max(loss(step.P, step.X, dictionary[: step.P.shape[1]]) for step in steps[:T]),
        }
    constants = _constants(rows, grid, learner, steps)
    if constants["refused"] is None:
        held = {name: constants[name] for name in ("phi", "distance", "tau", "beta", "upsilon")}
        for T in grid:
            rows[T - 1] |= bounds(T, **held)._asdict()
    return rows, constants


def _row(t, step, beta):
    """Return what one timestep has by itself."""
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
    phi, psi_max = (max(row[name] for row in rows) for name in ("phi", "psi_max"))
    distance, upsilon = (max(rows[T - 1][name] for T in grid) for name in ("distance", "upsilon"))
    own_tau, beta = getattr(learner, "tau", float("nan")), getattr(learner, "beta", float("nan"))
    most = 1 / (2 * psi_max) if psi_max else float("inf")
    used = own_tau if 0 < own_tau <= most else most
    return {
        "phi": phi,
        "distance": distance,
        "psi_max": psi_max,
        "upsilon": upsilon,
        "tau": own_tau,
        "beta": beta,
        "tau_most": most,
        "tau_wanted": used,
        "beta_wanted": phi / distance * np.sqrt(used * len(rows)) if distance else float("inf"),
        "refused": why_no_bound(learner, steps[0].dual, psi_max),
    }


def read_steps(checkpoint_paths, feature_paths):
    """Read the chain of a run as steps.

    Parameters
    ----------
    checkpoint_paths, feature_paths : list of path-like
        Of all timesteps from 0, in order.

    Returns
    -------
    steps : list of Step
    learner : Learner
    chain : dict
        What the checkpoints say of themselves: corpus, seed, run, atoms, learner, features.

    Raises
    ------
    DataError
        If the files are not of timesteps 0, 1, ..., if there are fewer than two, or if the learner has no regret.
    CheckpointError, StorageError
        If a file is damaged, or a checkpoint is not the one that follows.
    """
    if len(checkpoint_paths) != len(feature_paths) or len(checkpoint_paths) < 2:
        given = f"{len(checkpoint_paths)} checkpoints and {len(feature_paths)} features"
        raise DataError(given, "one of each for timesteps 0, 1, ..., at least two", "pass the files of a whole run")
    held = checkpoints.read_checkpoint(checkpoint_paths[0], t=0)
    chain = held.chain
    algorithm = chain["learner"].get("algorithm")
    if algorithm not in (measurable := algorithms()):
        raise DataError(f"regret of {algorithm}", f"a run of {', '.join(measurable)}", "choose another run")
    learner, steps = learners.make(**chain["learner"]), []
    whole = features.read(feature_paths[-1]) if chain["features"].get("idf") == "corpus" else None
    for t in range(1, len(checkpoint_paths)):
        batch, after = (
            features.read(feature_paths[t]),
            checkpoints.read_checkpoint(checkpoint_paths[t], chain=chain, t=t),
        )
        if batch.terms is not None:
            given = f"{feature_paths[t]}, of a bounded vocabulary"
            raise DataError(given, "terms that never leave, where dictionaries are compared", "set max_terms to 0")
        if batch.t != t or batch.counts.shape[0] != after.codes.shape[0] or after.previous != held.digest:
            given = f"{feature_paths[t]}, {checkpoint_paths[t]} and {checkpoint_paths[t - 1]}"
            raise DataError(f"{given} do not follow each other", "the files of one run in order", "pass them so")
        P = batch.weighed(**chain["features"], norm=learner.norm, corpus=whole)[:]
        steps.append(Step(P, after.codes, held.dictionary, after.dictionary, held.arrays.get("dual")))
        held = after
    return steps, learner, chain


def write(path, checkpoint_paths, feature_paths, **options):
    """Measure the regret of the run that the files belong to, write its table and print its constants.

    Parameters
    ----------
    path : path-like
        Table to write, columns `COLUMNS`.
    checkpoint_paths, feature_paths
        As for `read_steps`.
    **options
        timesteps, tolerance, iterations of `measure`.
    """
    begin = time.process_time()
    steps, learner, chain = read_steps(checkpoint_paths, feature_paths)
    rows, found = measure(steps, learner, **options)
    write_table(path, [{"run": chain["run"], **row} for row in rows], COLUMNS)
    print(describe(rows, found, f"{chain['run']}, k {chain['atoms']}, seed {chain['seed']}"))
    print(f"odl regret: {time.process_time() - begin:.1f} CPU s, {len(steps)} timesteps")


def describe(rows, found, name):
    """Say what was measured, and the tau and beta that the theorems want."""
    last = rows[-1]
    lines = [
        f"{name}: loss {last['online']:.6g} after {last['t']} timesteps, best fixed dictionary "
        f"{last['hindsight_low']:.6g} to {last['hindsight']:.6g}, regret {last['regret']:.6g} to "
        f"{last['regret_high']:.6g}",
        f"Phi {found['phi']:.6g}, D {found['distance']:.6g}, Psi_max {found['psi_max']:.6g}, Upsilon "
        f"{found['upsilon']:.6g}; tau at most {found['tau_most']:.6g}; at tau {found['tau_wanted']:.6g} Theorem B.5 "
        f"wants beta {found['beta_wanted']:.6g}",
    ]
    if found["refused"]:
        lines.append(f"no bound is claimed for this run: {found['refused']}")
    else:
        lines.append(
            f"tau {found['tau']:.6g} and beta {found['beta']:.6g}: regret at most {last['bound_regret']:.6g} "
            f"(B.5: {last['theorem_regret']:.6g}), violations {last['violation_sum']:.6g} of at most "
            f"{last['bound_violation']:.6g} (B.6: {last['theorem_violation']:.6g})"
        )
    return "\n".join(f"odl regret: {line}" for line in lines)
