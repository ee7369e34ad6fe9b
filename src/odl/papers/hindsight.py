"""Regret of an online run, measured: its loss against the best fixed dictionary in hindsight, and the theory's bounds.

At timestep t the run has the dictionary A_t of the past and reveals the codes X_t. With 𝒜 = {A >= 0, columns of mass
at most 1},

    R(T) = sum_{t <= T} ||P_t - X_t A_t^T||_1 - min_{A in 𝒜} sum_{t <= T} ||P_t - X_t A^T||_1

(ICASSP 2013, Definition 1; NIPS 2012 supplement, Theorem B.5). The minimum is a linear program of all documents so
far. `odl.dictionary.l1.fit_dictionary` bounds it from both sides: its dictionary from above, a feasible point of the
dual from below. So R(T) lies between ``regret`` and ``regret_high``.

For online ADMM with Gamma_{t+1} = soft(P_t - X_t A_t^T + D_t/beta, 1/beta) the sum of
||Gamma_{t+1} - (P_t - X_t A_{t+1}^T)||_F^2, the violation of its constraint, is measured too. What the
theory bounds both by is in `odl.papers.regretbounds`; runs on disk are measured by `odl.papers.regretruns`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl import learners
from odl.dictionary.l1 import fit_dictionary
from odl.errors import ParameterError
from odl.learners.l1 import ROUNDING
from odl.learners.matrices import widen
from odl.learners.online_admm import largest_eigenvalue
from odl.papers.regretbounds import bounds, why_no_bound


def algorithms() -> list[str]:
    """Return the algorithms whose regret can be measured.

    Examples
    --------
    >>> from odl.papers import hindsight
    >>> hindsight.algorithms()
    ['dual_averaging', 'online_admm', 'projected_gradient']
    """
    return [name for name in learners.LEARNERS if learners.learner_class(name).has_regret]


class Step(NamedTuple):
    """One timestep of a run: its batch and codes, the dictionary and the dual before it, the dictionary after it.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.papers.hindsight import Step
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
    >>> from odl.papers.hindsight import Step, hindsight
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
        One a timestep, keys `odl.papers.regretruns.COLUMNS` without ``run``.
    constants : dict
        Phi, D, Psi_max, Upsilon; ``tau`` and ``beta`` of the run (nan for others than online ADMM), ``tau_most`` =
        1/(2 Psi_max), ``beta_wanted`` = (Phi/D) sqrt(tau T) for the run's tau, or the largest one where it has none;
        ``refused``: why the theorems say nothing about this run, or None.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.papers.hindsight import Step, measure
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
