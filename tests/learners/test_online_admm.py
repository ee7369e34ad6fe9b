"""Lemmas B.1 to B.4 of the NIPS 2012 supplement, each by name, on what `oiadmm_step` makes of drawn documents.

Documents in rows, so a product with codes stands on the other side than in the paper. Theorems B.5
and B.6, and runs of the learner, are in test_hindsight.py.
"""

import functools
from typing import NamedTuple

import numpy as np
import pytest
from reference import oiadmm, project
from scipy import sparse

from odl.learners.online_admm import oiadmm_step

SEEDS = range(40)


class Step(NamedTuple):
    """One step of OIADMM and everything that the lemmas speak of; `star` is any dictionary of the set."""

    beta: float
    tau: float
    psi: float
    A: np.ndarray
    after: np.ndarray
    star: np.ndarray
    dual: np.ndarray
    dual_after: np.ndarray
    tilde: np.ndarray  # P - X A_t^T
    hat: np.ndarray  # P - X A_{t+1}^T
    gamma: np.ndarray  # Gamma_{t+1}, from (4)
    gamma_star: np.ndarray  # P - X star^T


def size(M):
    return float(np.sum(M**2))


def norm1(M):
    return float(np.abs(M).sum())


@functools.cache
def stepped(seed, fraction=1.0):
    """Return the steps of `_stepped`, taken once for all bounds."""
    return list(_stepped(seed, fraction))


def _stepped(seed, fraction, steps=4):
    """Yield steps with tau = fraction / (2 Psi_max) from a drawn dictionary in the set, whose dual starts at zero."""
    rng = np.random.default_rng(seed)
    n, m, k = (int(value) for value in rng.integers((3, 4, 2), (9, 12, 6)))
    beta, star = 10 ** rng.uniform(-1, 2), project(rng.random((m, k)))
    A, dual = project(rng.random((m, k)) * (rng.random((m, k)) < 0.6)), np.zeros((n, m))
    for _ in range(steps):
        P, X = (
            rng.random((n, m)) * (rng.random((n, m)) < 0.5),
            rng.random((n, k)) * (rng.random((n, k)) < 0.6),
        )
        psi = np.linalg.eigvalsh(X.T @ X)[-1]
        if psi < 1e-9:
            continue
        tau = fraction / (2 * psi)
        new, next_dual = (
            found.toarray()
            for found in oiadmm_step(
                *map(sparse.csr_array, (P, X)),
                sparse.csc_array(A),
                sparse.csr_array(dual),
                beta,
                tau,
            )
        )
        hat = P - X @ new.T
        gamma = hat - (next_dual - dual) / beta
        for other in (star, A, new):
            yield Step(
                beta,
                tau,
                psi,
                A,
                new,
                other,
                dual,
                next_dual,
                P - X @ A.T,
                hat,
                gamma,
                P - X @ other.T,
            )
        for found, expected in zip((new, gamma), oiadmm(P, X, A, dual, beta, tau), strict=False):
            np.testing.assert_allclose(found, expected, atol=1e-11)
        A, dual = new, next_dual


def closer(step):
    """beta/(2 tau) (||A* - A_t||^2 - ||A* - A_{t+1}||^2), a term of all three bounds."""
    return step.beta / (2 * step.tau) * (size(step.star - step.A) - size(step.star - step.after))


def moved(step):
    """beta/2 (1/tau - Psi_max) ||A_{t+1} - A_t||^2, which B.2 and B.3 take off."""
    return step.beta / 2 * (1 / step.tau - step.psi) * size(step.after - step.A)


def bound_2(step):
    return (
        closer(step)
        + step.beta / 2 * (size(step.gamma_star - step.gamma) - size(step.gamma - step.hat))
        - step.beta / 2 * size(step.gamma_star - step.tilde)
        - moved(step)
    )


def bound_3(step):
    memory = (size(step.dual) - size(step.dual_after)) / (2 * step.beta)
    return memory + closer(step) - moved(step) - step.beta / 2 * size(step.gamma - step.tilde)


def bound_4(step):
    memory = (size(step.dual) - size(step.dual_after)) / (2 * step.beta)
    return size(np.sign(step.tilde)) / (2 * step.beta) + memory + closer(step)


def slack(left, right):
    """right - left, as a share of their size."""
    return (right - left) / max(abs(left), abs(right), 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_b1(seed):
    M1, M2, M3, M4 = np.random.default_rng(seed).normal(size=(4, 5, 7))
    right = size(M1 - M4) + size(M2 - M3) - size(M1 - M3) - size(M2 - M4)
    assert 2 * np.sum((M1 - M2) * (M3 - M4)) == pytest.approx(right, abs=1e-10)


def holds_nearly(left, bound, fraction):
    """Check an inequality on every step; one that leaves something out would show, since it is nearly met."""
    slacks = [slack(left(step), bound(step)) for seed in SEEDS for step in stepped(seed, fraction)]
    assert len(slacks) > 100 and min(slacks) >= -1e-9
    assert min(slacks) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [1.0, 0.3])
def test_lemma_b2(fraction):
    holds_nearly(lambda step: np.sum(step.dual * (step.hat - step.gamma_star)), bound_2, fraction)


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [1.0, 0.3])
def test_lemma_b3(fraction):
    holds_nearly(lambda step: norm1(step.gamma) - norm1(step.gamma_star), bound_3, fraction)


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [1.0, 0.3])
def test_lemma_b4(fraction):
    holds_nearly(lambda step: norm1(step.tilde) - norm1(step.gamma_star), bound_4, fraction)


@pytest.mark.slow
def test_the_bounds_need_their_terms():
    """Without the term that all three share, or B.4 without its subgradient, some step breaks the bound."""
    steps = [step for seed in SEEDS for step in stepped(seed)]
    for bound, left in (
        (bound_2, lambda s: np.sum(s.dual * (s.hat - s.gamma_star))),
        (bound_3, lambda s: norm1(s.gamma) - norm1(s.gamma_star)),
        (bound_4, lambda s: norm1(s.tilde) - norm1(s.gamma_star)),
    ):
        assert min(slack(left(step), bound(step) - closer(step)) for step in steps) < -0.1
    left = [
        slack(norm1(s.tilde) - norm1(s.gamma_star), bound_4(s) - size(np.sign(s.tilde)) / s.beta)
        for s in steps
    ]
    assert min(left) < -0.1
