"""Bounds of the regret of online ADMM and of its violated constraint (NIPS 2012 supplement, Theorems B.5 and B.6).

The symbols are those of `odl.papers.hindsight`. The theory holds for one constant step
tau <= 1/(2 Psi_max(X_t)), D_1 = 0 and a dual that is kept whole. With Phi_t^2 the entries of
P_t - X_t A_t^T that are not zero, Phi >= Phi_t, D >= ||A* - A_1||_F and Ups >= ||P_t - X_t A*^T||_1 its proofs give,
for every beta and every T,

    R(T)               <= Phi^2 T / (2 beta) + D^2 beta / (2 tau)         (B.5)
    sum of violations  <= 2 D^2 / tau + 4 Ups T / beta                    (B.6)

and beta = (Phi/D) sqrt(tau T) turns the first into Phi D sqrt(T/tau), the second into
2 D^2/tau + 4 Ups D sqrt(T/tau)/Phi. The printed B.5 has half of that, which its own proof does not give. The papers
take A_1 = 0, D >= ||A*||_F; a detector that starts from zero never gets a code. The codes of A* are those revealed,
so the term ||A* E_t||_1 of B.5 does not occur.
"""

from typing import NamedTuple

import numpy as np


class Bounds(NamedTuple):
    """Theorems B.5 and B.6 with their beta for the horizon T, and what their proofs give for the beta of the run.

    Examples
    --------
    >>> from odl.papers.regretbounds import bounds
    >>> [bounds(T, phi=1.0, distance=1.0, tau=1.0, beta=1.0, upsilon=1.0).theorem_regret.item() for T in (1, 4, 9)]
    [1.0, 2.0, 3.0]
    """

    theorem_regret: float
    bound_regret: float
    theorem_violation: float
    bound_violation: float


def bounds(T: int, *, phi: float, distance: float, tau: float, beta: float, upsilon: float) -> Bounds:
    """Return the right-hand sides of Theorems B.5 and B.6 (the module has the symbols).

    Equation `regret-bounds` of docs/method.md.

    Parameters
    ----------
    T : int
        Timesteps.
    phi, distance, upsilon : float
        Phi, D and Ups.
    tau, beta : float
        The constant step and the penalty.

    Returns
    -------
    Bounds
        ``theorem_``: with beta = (Phi/D) sqrt(tau T); ``bound_``: with the beta given.

    Examples
    --------
    >>> from odl.papers.regretbounds import bounds
    >>> found = bounds(100, phi=10.0, distance=2.0, tau=0.25, beta=9.0, upsilon=50.0)
    >>> [round(float(value), 1) for value in found]
    [400.0, 627.6, 832.0, 2254.2]
    """
    root = np.sqrt(T / tau)
    return Bounds(
        phi * distance * root,
        phi**2 * T / (2 * beta) + distance**2 * beta / (2 * tau),
        2 * distance**2 / tau + (4 * upsilon * distance * root / phi if phi else 0.0),
        2 * distance**2 / tau + 4 * upsilon * T / beta,
    )


def why_no_bound(learner, dual, psi_max):
    """Say which condition of Theorems B.5 and B.6 a run does not meet; None if it meets all.

    Parameters
    ----------
    learner : Learner
    dual : csr_array or None
        The dual before the first evaluated timestep.
    psi_max : float
        Largest eigenvalue of X_t^T X_t over the timesteps.
    """
    if learner.algorithm != "online_admm":
        return "the theorems are about online ADMM"
    if learner.tau == 0:
        return "tau is 0: the step changes from batch to batch"
    if learner.tau * 2 * psi_max > 1:
        return f"tau {learner.tau:g} is above 1/(2 Psi_max) = {1 / (2 * psi_max):.6g}"
    if learner.dual_terms:
        return f"the dual is cut to {learner.dual_terms} terms a document (dual_terms)"
    return "the dual is not zero at the start (carry)" if dual.count_nonzero() else None
