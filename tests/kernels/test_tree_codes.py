"""Codes with the penalty of a tree, against proximal gradient descent; Gram matrix; eigenvalue."""

import numpy as np
import pytest
from reference import hierarchical_value

from odl import trees
from odl.kernels import tree_codes, tree_norm
from odl.prox import treeprox

TREE, LAM = trees.Tree((-1, 0, 1, 1, 0, -1, 5)), 0.1
LAYOUT = treeprox.layout(TREE)[1]
RULE = (True, 1e-9, 5000, 5)


def slow_codes(P, D, norm, positive):
    """Return codes after 3000 steps of x <- prox(x - D^T (D x - p) / L)."""
    step, X = 1.0 / np.linalg.norm(D, 2) ** 2, np.zeros((len(P), D.shape[1]))
    lam = np.full(len(P), step * LAM)
    for _ in range(3000):
        X -= step * (X @ D.T - P) @ D
        tree_norm.prox_rows(X, LAYOUT, lam, norm == "linf", positive)
    return X


CASES = pytest.mark.parametrize(("norm", "positive"), [("l2", True), ("linf", False)])


@CASES
def test_codes_are_those_of_proximal_gradient_descent(norm, positive, rng):
    """From products, and from the rows of D for complete, partial and empty signals."""
    D, P = rng.normal(size=(5, 7)), rng.normal(size=(3, 5))
    mask = np.array([[True] * 5, [True, False, True, True, False], [False] * 5])
    gram, lipschitz = D.T @ D, np.linalg.norm(D, 2) ** 2 * 1.001
    last = LAYOUT, LAM, lipschitz, norm == "linf", positive
    X, Y = np.zeros((3, 7)), np.zeros((3, 7))
    ends = tree_codes.code_rows(X, (P**2).sum(axis=1), P @ D, gram, *last, RULE)
    np.testing.assert_allclose(X, slow_codes(P, D, norm, positive), atol=1e-4)
    np.testing.assert_allclose(ends[:, 0], 0.5 * ((P - X @ D.T) ** 2).sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(
        ends[:, 1], [LAM * hierarchical_value(x, TREE.groups(), norm) for x in X], rtol=1e-9
    )
    assert (ends[:, 2] <= 1e-9 * (ends[:, 0] + ends[:, 1])).all()
    ends = tree_codes.code_masked(Y, np.where(mask, P, 0.0), mask, D, *last, RULE)
    known = [
        slow_codes(p[None, m], D[m], norm, positive)[0]
        for p, m in zip(P[:2], mask[:2], strict=True)
    ]
    np.testing.assert_allclose(Y, [*known, np.zeros(7)], atol=1e-4)
    assert (ends[:, 2] <= 1e-9 * (ends[:, 0] + ends[:, 1])).all()


def test_steps_are_counted_once_and_are_at_most_those_allowed(rng):
    """ADMM, then FISTA, for a signal with fewer entries than atoms."""
    D, P, mask = rng.normal(size=(5, 7)), rng.normal(size=(1, 5)), np.ones((1, 5), dtype=bool)
    last = LAYOUT, LAM, np.linalg.norm(D, 2) ** 2, False, True
    for most in (0, 3, 100, 130):
        ends = tree_codes.code_masked(np.zeros((1, 7)), P, mask, D, *last, (True, -1.0, most, 5))
        assert ends[0, 3] == most


def test_gram_matrix_and_the_bound_of_its_largest_eigenvalue(rng):
    D = rng.random((9, 6)) * (rng.random((9, 6)) < 0.7)
    gram = tree_codes.gram_matrix(D)
    np.testing.assert_allclose(gram, D.T @ D, rtol=1e-12, atol=1e-15)
    exact = np.linalg.norm(D, 2) ** 2
    assert exact * (1 - 1e-12) <= tree_codes.steepness(gram, 30) <= 1.001 * exact
