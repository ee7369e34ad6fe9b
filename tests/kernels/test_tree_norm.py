"""Prox, value and dual norm of the penalty of a tree against their definitions."""

import numpy as np
import pytest
from reference import dual_ascent, hierarchical_value

from odl import trees
from odl.kernels import tree_norm
from odl.prox import treeprox

TREE = trees.Tree((-1, 0, 1, 1, 0, -1, 5))  # in preorder
NORMS = pytest.mark.parametrize("norm", treeprox.GROUP_NORMS)


@NORMS
@pytest.mark.parametrize("positive", [False, True])
def test_prox_is_dual_ascent_children_first(norm, positive, rng):
    V, lam = rng.normal(size=(20, 7)), rng.random(20)
    start = np.maximum(V, 0.0) if positive else V
    last_first = range(6, -1, -1)
    expected = [
        dual_ascent(v, TREE.groups(), each, norm, last_first, 1)
        for v, each in zip(start, lam, strict=True)
    ]
    tree_norm.prox_rows(V, treeprox.layout(TREE)[1], lam, norm == "linf", positive)
    np.testing.assert_allclose(V, expected, atol=1e-12)


@NORMS
def test_value_is_the_sum_over_the_groups(norm, rng):
    V = rng.normal(size=(5, 7)) * (rng.random((5, 7)) < 0.7)
    found = tree_norm.value_rows(V, treeprox.layout(TREE)[1], norm == "linf")
    np.testing.assert_allclose(found, [hierarchical_value(v, TREE.groups(), norm) for v in V])


@NORMS
def test_dual_norm_is_the_least_penalty_whose_prox_is_zero(norm, rng):
    """By bisection; the bound may be 5 % of its distance from lam too large."""
    layout, infinity, lam = treeprox.layout(TREE)[1], norm == "linf", 0.2
    for z in rng.normal(size=(10, 7)):
        low, high = lam, 100.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            v = z[None].copy()
            tree_norm.prox_rows(v, layout, np.array([middle]), infinity, False)
            low, high = (middle, high) if v.any() else (low, middle)
        assert (
            high * (1 - 1e-9)
            <= tree_norm.dual_norm(z, layout, lam, infinity)
            <= (high + 0.05 * (high - lam)) + 1e-9
        )
