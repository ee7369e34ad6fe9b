"""Projection on mu ||d||_1 + (1 - mu) ||d||_2^2 <= 1 and sweeps, against a root finder."""

import numpy as np
import pytest
from scipy.optimize import brentq

from odl.kernels import block_descent

EPSILON = 2.0**-52


def project(d, mu, nonnegative):
    """Return soft(d, nu mu) / (1 + 2 nu (1 - mu)), with nu by a root finder."""
    d = np.maximum(d, 0.0) if nonnegative else d

    def shrunk(nu):
        return np.sign(d) * np.maximum(np.abs(d) - nu * mu, 0.0) / (1 + 2 * nu * (1 - mu))

    def excess(nu):
        u = shrunk(nu)
        return mu * np.abs(u).sum() + (1 - mu) * u @ u - 1.0

    return d if excess(0.0) <= 0.0 else shrunk(brentq(excess, 0.0, 1e4, xtol=1e-14, maxiter=1000))


CASES = pytest.mark.parametrize(
    ("mu", "nonnegative"), [(0.0, False), (0.4, True), (0.4, False), (1.0, True)]
)


@CASES
def test_rows_are_projected(mu, nonnegative, rng):
    D = rng.normal(size=(8, 20)) * np.array([0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 0.0])[:, None]
    expected = [project(d, mu, nonnegative) for d in D]
    block_descent.project_rows(D, mu, nonnegative, EPSILON)
    np.testing.assert_allclose(D, expected, atol=1e-12)


@CASES
def test_atoms_are_updated_in_turn(mu, nonnegative, rng):
    P, X = rng.normal(size=(30, 12)), rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.6)
    X[:, 2] = 0.0
    A, B, D = X.T @ X, P.T @ X, rng.random((4, 12)) / 12
    expected, R, unused = D.copy(), B.copy(), D[2].copy()
    for _ in range(3):
        for j in (0, 1, 3):
            target = expected[j] + (B[:, j] - expected.T @ A[:, j]) / A[j, j]
            expected[j] = project(target, mu, nonnegative)
    block_descent.descend(D, R, A, mu, nonnegative, EPSILON, 3, 1e-12)
    np.testing.assert_allclose(D, expected, atol=1e-10)
    np.testing.assert_allclose(R, B - D.T @ A, atol=1e-10)
    np.testing.assert_array_equal(D[2], unused)
