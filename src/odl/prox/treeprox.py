"""Proximal operator of hierarchical penalties, and projection of atoms."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from odl.errors import ParameterError
from odl.kernels import block_descent, tree_norm
from odl.kernels.records import Layout
from odl.prox.projections import EPSILON, check_sizes, dense, number
from odl.trees import ROOT, Tree

GROUP_NORMS = ("l2", "linf")
LARGEST_ENTRY = 1e100  # largest entry of an atom whose square is finite


def layout(tree):
    """Return the order of the atoms in the kernels, and the tree in this order.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    order : ndarray of int64, shape (n_atoms,)
        Preorder of the tree: order[i] is the atom at position i.
    layout : odl.kernels.records.Layout

    Raises
    ------
    ParameterError
        If `tree` is not a `Tree`.
    """
    if not isinstance(tree, Tree):
        raise ParameterError(
            f"tree is {tree!r:.60}", "an odl.trees.Tree", "build it with odl.trees"
        )
    position_of = {node: position for position, node in enumerate(tree.preorder)}
    parent = np.array(
        [position_of.get(tree.parents[node], ROOT) for node in tree.preorder], dtype=np.int64
    )
    end = np.arange(1, tree.n_nodes + 1)
    for position in range(tree.n_nodes - 1, -1, -1):
        if parent[position] != ROOT:
            end[parent[position]] = max(end[parent[position]], end[position])
    return np.array(tree.preorder), Layout(end, parent)


def is_infinity(norm):
    """Return whether `norm` is "linf"; raise ParameterError if it is not in `GROUP_NORMS`."""
    if norm not in GROUP_NORMS:
        raise ParameterError(
            f"norm is {norm!r:.60}", f"one of {', '.join(GROUP_NORMS)}", "correct norm"
        )
    return norm == "linf"


def _rows(U, tree):
    """Return (U as a two-dimensional array, whether U is a vector)."""
    U = dense(U, "U", 1, 2)
    is_vector = U.ndim == 1
    U = U[None] if is_vector else U
    if U.shape[1] != tree.n_nodes:
        defect = f"U has {U.shape[1]} atoms and the tree {tree.n_nodes}"
        raise ParameterError(
            defect, "the same number of atoms", "pass the tree of the dictionary of U"
        )
    return U, is_vector


def _in_units(V):
    """Scale the rows of V so that squares neither overflow nor underflow.

    Returns
    -------
    scaled : ndarray
        Rows divided by their units.
    units : ndarray
        1 for a row whose largest absolute entry is 0 or between 1e-100 and 1e100. Otherwise a power
        of two near this entry, so that the division is exact.
    """
    largest = np.abs(V).max(axis=1, initial=0.0)
    safe = (largest == 0.0) | ((largest > 1e-100) & (largest < 1e100))
    units = np.where(safe, 1.0, np.ldexp(1.0, np.clip(np.frexp(largest)[1], -1000, 1000)))
    return np.ascontiguousarray(V / units[:, None]), units


def prox_tree(
    U: ArrayLike,
    tree: Tree,
    lam: float,
    *,
    norm: Literal["l2", "linf"] = "l2",
    nonnegative: bool = False,
) -> np.ndarray:
    """Return the exact proximal operator of a hierarchical penalty for every row of U.

    Solves ``min_v 1/2 ||u - v||_2^2 + lam Omega(v)`` over all v or over v >= 0. Omega(v) is the sum
    of ``||v_g||`` over all nodes g, where v_g has the entries of g and its descendants. One pass
    over the groups, children before parents, gives the solution. It takes O(n_atoms) time per row
    for "l2" and O(n_atoms depth) for "linf". If a group is zero, its entire subtree is zero.

    Equations `tree-prox` and `tree-prox-pass` of docs/method.md.

    Parameters
    ----------
    U : array-like, shape (n_rows, n_atoms) or (n_atoms,)
    tree : odl.trees.Tree
    lam : float
        Weight of the penalty, at least 0.
    norm : {"l2", "linf"}
        Norm of a group. For other l_q norms, one pass would not be exact.
    nonnegative : bool
        Whether to minimise over v >= 0. The result is then that of max(u, 0).

    Returns
    -------
    ndarray of float64, shape of U

    Raises
    ------
    ParameterError
        If an argument is outside its domain.

    References
    ----------
    Jenatton, Mairal, Obozinski, Bach, ICML 2010: equation (2), propositions 1 and 2.

    Examples
    --------
    >>> from odl import trees
    >>> from odl.prox import treeprox
    >>> treeprox.prox_tree([3.0, 0.5], trees.path(2), 1.0)
    array([2., 0.])
    """
    order, plan = layout(tree)
    lam, infinity = number(lam, "lam"), is_infinity(norm)
    U, is_vector = _rows(U, tree)
    ordered, units = _in_units(U[:, order])
    with np.errstate(over="ignore"):  # lam / units of tiny rows
        penalties = np.minimum(lam / units, 1e300)
    tree_norm.prox_rows(ordered, plan, penalties, infinity, bool(nonnegative))
    V = np.empty_like(U)
    V[:, order] = ordered * units[:, None]
    return V[0] if is_vector else V


def value_tree(
    V: ArrayLike, tree: Tree, *, norm: Literal["l2", "linf"] = "l2"
) -> np.ndarray | float:
    """Return the penalty Omega(v) of `prox_tree` for every row v of V.

    Equation `tree-penalty` of docs/method.md.

    Parameters
    ----------
    V : array-like, shape (n_rows, n_atoms) or (n_atoms,)
    tree, norm
        As in `prox_tree`.

    Returns
    -------
    float or ndarray of float64, shape (n_rows,)
        A float if V is a vector.

    Examples
    --------
    >>> from odl import trees
    >>> from odl.prox.treeprox import value_tree
    >>> value_tree([3.0, 4.0], trees.path(2))  # the groups are both atoms, and the second atom
    9.0
    """
    order, plan = layout(tree)
    V, is_vector = _rows(V, tree)
    ordered, units = _in_units(V[:, order])
    values = tree_norm.value_rows(ordered, plan, is_infinity(norm)) * units
    return float(values[0]) if is_vector else values


def project_atoms(D: ArrayLike, mu: float, *, nonnegative: bool = False) -> np.ndarray:
    """Project every atom on ``{d : mu ||d||_1 + (1 - mu) ||d||_2^2 <= 1}``.

    The projection is ``soft(d, nu mu) / (1 + 2 nu (1 - mu))``, where Newton's method on a convex
    function gives the multiplier nu. An atom that is feasible up to rounding errors is returned
    unchanged, so a second projection has no effect.

    Equation `atom-projection` of docs/method.md.

    Parameters
    ----------
    D : array-like, shape (n_terms, n_atoms)
        Atoms in columns, with absolute entries of at most 1e100.
    mu : float
        From 0 (unit l2 ball) to 1 (unit l1 ball).
    nonnegative : bool
        Whether to project on the vectors d >= 0 of the set.

    Returns
    -------
    ndarray of float64, shape (n_terms, n_atoms)

    Raises
    ------
    ParameterError
        If an argument is outside its domain.

    References
    ----------
    Jenatton, Mairal, Obozinski, Bach, ICML 2010, equation (4); Mairal, Bach, Ponce, Sapiro, JMLR
    2010, section 3.

    Examples
    --------
    >>> from odl.prox.treeprox import project_atoms
    >>> project_atoms([[3.0, 0.2], [4.0, -0.1]], mu=0.0)  # on the unit l2 ball
    array([[ 0.6,  0.2],
           [ 0.8, -0.1]])
    >>> project_atoms([[3.0], [4.0]], mu=1.0, nonnegative=True).ravel()  # on the simplex
    array([0., 1.])
    """
    D = dense(D, "D", 2)
    check_sizes(D, "D", LARGEST_ENTRY)
    atoms = np.ascontiguousarray(D.T).copy()
    block_descent.project_rows(atoms, number(mu, "mu", 0.0, 1.0), bool(nonnegative), EPSILON)
    return np.ascontiguousarray(atoms.T)


def value_atoms(
    D: ArrayLike, mu: float, *, nonnegative: bool = False, tolerance: float = 1e-12
) -> float:
    """Return 0 if every atom is feasible, else infinity.

    `project_atoms` is the proximal operator of this function.

    Parameters
    ----------
    D, mu, nonnegative
        As in `project_atoms`.
    tolerance : float
        Largest accepted violation of a constraint.

    Examples
    --------
    >>> from odl.prox.treeprox import value_atoms
    >>> value_atoms([[0.6], [0.8]], mu=0.0), value_atoms([[0.6], [0.8]], mu=0.5)
    (0.0, inf)
    """
    D, mu = dense(D, "D", 2), number(mu, "mu", 0.0, 1.0)
    sizes = mu * np.abs(D).sum(axis=0) + (1.0 - mu) * (D**2).sum(axis=0)
    is_negative = nonnegative and D.min(initial=0.0) < -tolerance
    return 0.0 if (sizes <= 1.0 + tolerance).all() and not is_negative else np.inf
