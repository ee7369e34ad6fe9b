"""The papers' ADMM coder: its recursion, its convergence, its options."""

import numpy as np
import pytest
from reference import algorithm_2
from scipy import sparse

from odl.coding import admm, sparse_code
from odl.coding.admm import largest_eigenvalue, psi_max, soft
from odl.errors import ParameterError


def problem(rng):
    """Return nine documents of unit norm on 40 terms, one of them empty, and twelve atoms, one of them zero."""
    P = rng.random((9, 40)) * (rng.random((9, 40)) < 0.4)
    A = rng.random((40, 12)) * (rng.random((40, 12)) < 0.15)
    P[3], A[:, 5] = 0.0, 0.0
    return sparse.csr_array(P / np.maximum(P.sum(axis=1, keepdims=True), 1e-9)), sparse.csc_array(
        A / np.maximum(A.sum(axis=0), 1e-9)
    )


def test_follows_the_papers_recursion(rng, monkeypatch):
    """Of S2, Algorithm 2; with any block."""
    documents, A = problem(rng)
    for block, options in ((1, {}), (4, {}), (64, {}), (64, {"phi": 0.5, "gamma": 0.9})):
        monkeypatch.setattr(admm, "ADMM_BLOCK", block)
        codes = sparse_code(documents, A, 0.05, "admm", iterations=30, **options)[0]
        expected = algorithm_2(documents, A.toarray(), 0.05, *(options.values() or (5.0, 1.89)), 30)
        np.testing.assert_allclose(codes.toarray(), expected, atol=1e-12)


def test_approaches_the_optimum(rng):
    P, A = problem(rng)
    gaps = [sparse_code(P, A, 0.05, "admm", True, iterations=n)[2].max() for n in (10, 100, 3000)]
    assert gaps[0] > gaps[1] > gaps[2] and gaps[2] < 1e-4


@pytest.mark.parametrize(
    "option", [{"iterations": 0}, {"iterations": 2.5}, {"phi": 0}, {"phi": "5"}, {"gamma": -1}]
)
def test_options_refused(option):
    with pytest.raises(ParameterError, match=next(iter(option))):
        sparse_code(np.eye(2), np.eye(2), 0.1, "admm", **option)


def test_largest_eigenvalue(rng):
    A = problem(rng)[1]
    expected = np.linalg.eigvalsh((A.T @ A).toarray())[-1]
    assert (
        psi_max(A)
        == pytest.approx(expected, rel=1e-12)
        == largest_eigenvalue(sparse.csr_array(A.T @ A))
    )
    assert largest_eigenvalue(sparse.csr_array((8, 8))) == 0.0
    assert (
        psi_max(np.eye(5)) == 1.0
        and psi_max(np.zeros((3, 2))) == 0.0
        and psi_max(np.zeros((3, 0))) == 0.0
    )


def test_soft_threshold():
    assert np.array_equal(
        soft(np.array([-3.0, -0.5, 0.0, 0.5, 3.0]), 1.0), [-2.0, 0.0, 0.0, 0.0, 2.0]
    )
