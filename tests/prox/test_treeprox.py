"""The tree prox against dual ascent, its definition and limiting cases; the projection of atoms against a solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import dual_ascent, hierarchical_value, project_column
from test_trees import forests

from odl import trees
from odl.errors import ParameterError
from odl.kernels import tree_norm
from odl.prox import treeprox

NORMS = ("l2", "linf")


def children_first(tree):
    return list(reversed(tree.preorder))


def objective(v, u, tree, lam, norm):
    return 0.5 * np.sum((u - v) ** 2) + lam * hierarchical_value(v, tree.groups(), norm)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("norm", NORMS)
def test_tiny_rows_are_0_without_a_warning(norm):
    assert not treeprox.prox_tree([1e-310, 1e-305], trees.path(2), 1e10, norm=norm).any()


@st.composite
def problems(draw):
    tree = draw(forests(most=8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    u = rng.normal(size=tree.n_nodes) * draw(st.sampled_from([0.1, 1.0, 5.0]))
    return tree, u, draw(st.sampled_from([0.05, 0.4, 1.5]))


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
@given(problem=problems())
@settings(max_examples=20)
def test_equals_dual_ascent_run_to_convergence(norm, problem):
    """In an order that needs many passes: parents before children."""
    tree, u, lam = problem
    expected = dual_ascent(u, tree.groups(), lam, norm, tree.preorder, 150)
    found = treeprox.prox_tree(u, tree, lam, norm=norm)
    value = objective(found, u, tree, lam, norm)
    assert value <= objective(expected, u, tree, lam, norm) + 1e-12 * (1 + u @ u)
    np.testing.assert_allclose(
        found, expected, atol=2e-3
    )  # the oracle's own accuracy; the objective says more
    once = dual_ascent(u, tree.groups(), lam, norm, children_first(tree), 1)
    np.testing.assert_allclose(found, once, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("nonnegative", [False, True])
@given(problem=problems())
@settings(max_examples=30)
def test_definition(norm, nonnegative, problem):
    """No point near or far has a lower objective; the value is that of the definition."""
    tree, u, lam = problem
    v = treeprox.prox_tree(u, tree, lam, norm=norm, nonnegative=nonnegative)
    assert np.isclose(
        treeprox.value_tree(v, tree, norm=norm), hierarchical_value(v, tree.groups(), norm)
    )
    rng, best = np.random.default_rng(1), objective(v, u, tree, lam, norm)
    candidates = [u, np.zeros_like(u), *(0.5 * u + 0.5 * v + rng.normal(size=(5, len(u))))]
    candidates += [
        v + size * step for size in (1e-5, 1e-3, 0.1) for step in rng.normal(size=(20, len(u)))
    ]
    candidates += [v * np.where(rng.random(len(u)) < 0.2, 0.0, 1.0) for _ in range(5)]
    for z in candidates:
        z = np.maximum(z, 0.0) if nonnegative else z
        assert best <= objective(z, u, tree, lam, norm) + 1e-12 * (1 + u @ u)
    if nonnegative:
        assert (v >= 0).all()


@pytest.mark.parametrize("norm", NORMS)
def test_one_pass_in_the_wrong_order_is_wrong(norm):
    tree, lam = trees.balanced((2, 2)), 0.5
    u = np.array([1.0, -2.0, 0.7, 1.1, -0.4, 2.0, 0.3])
    found = treeprox.prox_tree(u, tree, lam, norm=norm)
    wrong = dual_ascent(u, tree.groups(), lam, norm, tree.preorder, 1)
    assert np.abs(found - wrong).max() > 0.01
    assert objective(found, u, tree, lam, norm) < objective(wrong, u, tree, lam, norm) - 1e-4


@pytest.mark.parametrize("norm", NORMS)
@given(problem=problems())
@settings(max_examples=40)
def test_dual_norm_is_where_the_prox_vanishes(norm, problem):
    """Omega*(z) <= tau exactly where the prox of tau Omega leaves nothing of z; the bound is within its margin."""
    tree, z, lam = problem
    order, layout = treeprox.layout(tree)
    bound = tree_norm.dual_norm(z[order], layout, lam, norm == "linf")
    assert np.isfinite(bound) and bound >= lam
    assert not treeprox.prox_tree(z, tree, bound * (1 + 1e-9), norm=norm).any()
    below = lam + 0.9 * (bound - lam)  # the margin is a twentieth of what lies above lam
    assert bound == lam or treeprox.prox_tree(z, tree, below, norm=norm).any()


@pytest.mark.parametrize("norm", NORMS)
def test_one_group_an_atom_is_soft_thresholding(rng, norm):
    u = rng.normal(size=(20, 9))
    expected = np.sign(u) * np.maximum(np.abs(u) - 0.6, 0.0)
    found = treeprox.prox_tree(u, trees.flat(9), 0.6, norm=norm)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    np.testing.assert_allclose(
        treeprox.value_tree(u, trees.flat(9), norm=norm), np.abs(u).sum(axis=1)
    )


def test_nested_groups_of_a_path_by_hand():
    """l2: 2 -> 1; ||(3, 1)|| -> -1; ||(4, .)|| -> -1. l-infinity: 2 -> 1; (3, 1) -> (2, 1); (4, 2, 1) -> (3, 2, 1)."""
    u, tree = np.array([4.0, 3.0, 2.0]), trees.path(3)
    inner = np.array([3.0, 1.0]) * (1 - 1 / np.sqrt(10))
    outer = np.array([4.0, *inner])
    np.testing.assert_allclose(
        treeprox.prox_tree(u, tree, 1.0), outer * (1 - 1 / np.linalg.norm(outer)), rtol=1e-14
    )
    np.testing.assert_allclose(
        treeprox.prox_tree(u, tree, 1.0, norm="linf"), [3.0, 2.0, 1.0], rtol=1e-14
    )


@pytest.mark.parametrize("norm", NORMS)
def test_limits(rng, norm):
    u, tree = rng.normal(size=(6, 31)), trees.binary(31)
    assert np.array_equal(treeprox.prox_tree(u, tree, 0.0, norm=norm), u)
    assert np.array_equal(
        treeprox.prox_tree(u, tree, 0.0, norm=norm, nonnegative=True), np.maximum(u, 0.0)
    )
    for lam in (1e3, 1e200, 1.7e308):
        assert not treeprox.prox_tree(u, tree, lam, norm=norm).any()
    assert treeprox.prox_tree([3.0], trees.path(1), 1.0, norm=norm) == pytest.approx([2.0])
    assert treeprox.prox_tree(
        [-3.0], trees.path(1), 1.0, norm=norm, nonnegative=True
    ) == pytest.approx([0.0])
    assert treeprox.prox_tree(np.zeros((0, 31)), tree, 1.0, norm=norm).shape == (0, 31)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scale", [1e-250, 1e-160, 1e160, 1e250])
def test_scale_goes_through(rng, norm, scale):
    u, tree = rng.normal(size=31), trees.binary(31)
    expected = treeprox.prox_tree(u, tree, 0.2, norm=norm)
    np.testing.assert_allclose(
        treeprox.prox_tree(scale * u, tree, 0.2 * scale, norm=norm) / scale, expected, rtol=1e-12
    )
    value = treeprox.value_tree(scale * u, tree, norm=norm) / scale
    assert np.isclose(value, treeprox.value_tree(u, tree, norm=norm), rtol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_what_is_zero_takes_its_subtree_along(rng, norm):
    tree = trees.balanced((4, 3, 2))
    v = treeprox.prox_tree(rng.normal(size=(200, tree.n_nodes)), tree, 0.9, norm=norm)
    for group in tree.groups():
        off = np.abs(v[:, group]).max(axis=1) == 0
        assert not v[off][:, group].any()
    # an atom inside a live group is switched off only with its own group, never alone
    zero_alone = [
        (v[:, j] == 0) & (np.abs(v[:, group]).sum(axis=1) > 0)
        for j, group in enumerate(tree.groups())
    ]
    assert not np.any(zero_alone) and 0.05 < (v == 0).mean() < 0.95


def test_rows_do_not_touch_each_other_and_nothing_is_modified(rng):
    u, tree = rng.normal(size=(7, 15)), trees.binary(15)
    before = u.copy()
    together = treeprox.prox_tree(u, tree, 0.3, norm="linf")
    assert np.array_equal(
        together, np.array([treeprox.prox_tree(row, tree, 0.3, norm="linf") for row in u])
    )
    assert np.array_equal(u, before)


def test_bad_arguments():
    u, tree = np.ones(3), trees.path(3)
    for bad in (
        {"lam": -1.0},
        {"lam": np.nan},
        {"lam": "1"},
        {"lam": True},
        {"lam": 1.0, "norm": "l3"},
    ):
        with pytest.raises(ParameterError):
            treeprox.prox_tree(u, tree, **bad)
    for wrong in (
        np.ones(4),
        np.ones((2, 2)),
        np.array([1j, 1, 1]),
        np.array([np.inf, 1, 1]),
        [[1, 2], [3]],
    ):
        with pytest.raises(ParameterError):
            treeprox.prox_tree(wrong, tree, 1.0)
    with pytest.raises(ParameterError, match=r"an odl\.trees\.Tree"):
        treeprox.prox_tree(u, (-1, 0, 1), 1.0)


def constraint(d, mu):
    return mu * np.abs(d).sum() + (1 - mu) * d @ d


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("mu", [0.0, 1e-6, 0.1, 0.5, 0.9, 0.999, 1.0])
def test_projection_of_atoms_against_bisection(rng, mu, nonnegative):
    """The multiplier by bisection on the constraint, for dense, sparse, large and small atoms."""
    for scale in (0.05, 1.0, 40.0, 1e6):
        u = rng.normal(size=60) * scale * (rng.random(60) < rng.choice([0.1, 1.0]))
        found = treeprox.project_atoms(u[:, None], mu, nonnegative=nonnegative).ravel()
        start = np.maximum(u, 0.0) if nonnegative else u

        def at(nu, start=start):
            return (
                np.sign(start) * np.maximum(np.abs(start) - nu * mu, 0.0) / (1 + 2 * nu * (1 - mu))
            )

        low, high = 0.0, 0.0
        if constraint(start, mu) > 1:
            high = 1.0
            while constraint(at(high), mu) > 1:
                high *= 2
            for _ in range(200):
                middle = (low + high) / 2
                low, high = (middle, high) if constraint(at(middle), mu) > 1 else (low, middle)
        np.testing.assert_allclose(found, at(high), atol=1e-9 * max(1.0, scale * 1e-3))


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("mu", [0.0, 0.3, 0.8, 1.0])
def test_projection_of_atoms_against_a_conic_solver(rng, mu, nonnegative):
    cvxpy = pytest.importorskip("cvxpy")
    u = rng.normal(size=8)
    d = cvxpy.Variable(8, nonneg=nonnegative)
    inside = mu * cvxpy.norm1(d) + (1 - mu) * cvxpy.sum_squares(d) <= 1
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(d - u)), [inside]).solve(solver="CLARABEL")
    found = treeprox.project_atoms(u[:, None], mu, nonnegative=nonnegative).ravel()
    np.testing.assert_allclose(found, d.value, atol=1e-5)


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.01, 0.5, 0.99, 1.0]), st.booleans())
@settings(max_examples=150)
def test_projected_and_feasible_atoms_stay_bit_for_bit(seed, mu, nonnegative):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(rng.integers(1, 200), 3)) * 10.0 ** rng.uniform(-3, 6)
    once = treeprox.project_atoms(D, mu, nonnegative=nonnegative)
    assert treeprox.value_atoms(once, mu, nonnegative=nonnegative) == 0.0
    assert np.array_equal(treeprox.project_atoms(once, mu, nonnegative=nonnegative), once)
    inside = 0.3 * once
    assert np.array_equal(treeprox.project_atoms(inside, mu, nonnegative=nonnegative), inside)


def test_projection_on_the_simplex_is_the_projects_own(rng):
    D = rng.normal(size=(40, 6))
    expected = np.column_stack([project_column(d) for d in D.T])
    np.testing.assert_allclose(
        treeprox.project_atoms(D, 1.0, nonnegative=True), expected, atol=1e-14
    )
    large = np.array([[1e12 + 0.25], [1e12], [-1e11]])
    np.testing.assert_allclose(
        treeprox.project_atoms(large, 1.0).ravel(), [0.625, 0.375, 0.0], atol=1e-15
    )


def test_bad_atoms_are_refused(rng):
    for mu in (-0.1, 1.1, np.nan, "x"):
        with pytest.raises(ParameterError, match="mu"):
            treeprox.project_atoms(np.ones((2, 2)), mu)
    for D in (np.ones(3), np.array([[np.nan]]), np.array([[1e101]])):
        with pytest.raises(ParameterError):
            treeprox.project_atoms(D, 0.5)
    assert treeprox.value_atoms(np.array([[2.0]]), 1.0) == np.inf
    assert treeprox.value_atoms([[-0.5]], 1.0) == treeprox.value_atoms([[1 + 9e-13]], 1.0) == 0.0
    assert treeprox.value_atoms([[1 + 2e-12]], 1.0) == np.inf
    assert treeprox.value_atoms(np.array([[-0.5]]), 1.0, nonnegative=True) == np.inf


@pytest.mark.parametrize("norm", treeprox.GROUP_NORMS)
def test_atoms_in_any_order_have_the_same_prox(rng, norm):
    """Nodes in preorder are worked on in place, others in a copy."""
    tree, U = trees.Tree((-1, 0, 1, 1, 0, 4)), rng.normal(size=(40, 6))
    mixed = [3, 5, 0, 4, 1, 2]  # node i of the tree is node mixed[i] of the other
    other = trees.Tree(
        tuple(
            mixed[tree.parents[mixed.index(node)]] if mixed.index(node) else -1 for node in range(6)
        )
    )
    V = np.empty_like(U)
    V[:, mixed] = U
    found, expected = (
        treeprox.prox_tree(V, other, 0.6, norm=norm),
        treeprox.prox_tree(U, tree, 0.6, norm=norm),
    )
    assert np.allclose(found[:, mixed], expected, atol=1e-15) and (expected == 0.0).any()
    assert np.allclose(
        treeprox.value_tree(V, other, norm=norm), treeprox.value_tree(U, tree, norm=norm)
    )


@pytest.mark.parametrize("norm", NORMS)
def test_a_group_of_norm_1_counts_as_every_other(norm):
    assert treeprox.value_tree([0.0, 1.0], trees.path(2), norm=norm) == 2.0
    assert treeprox.value_tree([1.0, 0.0], trees.path(2), norm=norm) == 1.0
