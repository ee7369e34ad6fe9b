"""Codes for the squared loss with a hierarchical or an l1 penalty, by FISTA with restarts."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from odl import trees
from odl.errors import ParameterError
from odl.kernels import tree_codes
from odl.prox.projections import MatrixLike, as_integer, dense, number, real_matrix
from odl.prox.treeprox import is_infinity, layout

STOPS = ("gap", "decrease")
FISTA_BLOCK = 4096  # number of documents per block, whose codes are dense
CHECK_INTERVAL = 5  # iterations between two checks of the stopping criterion


class Codes(NamedTuple):
    """Codes of a set of documents.

    Attributes
    ----------
    X : csr_array, shape (n_documents, n_atoms)
    residual : ndarray, shape (n_documents,)
        ``1/2 ||p - D x||_2^2``.
    penalty : ndarray, shape (n_documents,)
        ``lam Omega(x)``.
    gap : ndarray, shape (n_documents,)
        Upper bound on the objective minus the optimum. It is at most ``1/2 ||p||^2``.
    iterations : ndarray of int64, shape (n_documents,)
        Number of iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.coding import fista
    >>> coded = fista.codes(np.array([[3.0, 0.5]]), np.eye(2), 1.0)
    >>> coded.residual, coded.penalty, coded.gap.round(6)
    (array([0.625]), array([2.]), array([0.]))
    """

    X: sparse.csr_array
    residual: np.ndarray
    penalty: np.ndarray
    gap: np.ndarray
    iterations: np.ndarray


def codes(
    P: MatrixLike,
    D: MatrixLike,
    lam: float,
    tree: trees.Tree | None = None,
    *,
    mask: ArrayLike | None = None,
    start: MatrixLike | None = None,
    **options: Any,
) -> Codes:
    """Compute the codes ``min_x 1/2 ||p - D x||_2^2 + lam Omega(x)`` of every row p of P.

    FISTA (Beck and Teboulle 2009) with adaptive restart (O'Donoghue and Candes 2015) uses only D^T
    D and D^T p, so a sparse P is never converted to a dense matrix. If P is dense with fewer terms
    than atoms, as for image patches, ADMM is used instead, which needs less than half as many
    iterations. If it has not stopped after 100 iterations, FISTA continues.

    Each document has its own momentum, restarts and stopping time, so its code has the same bits in
    every batch that contains it. The recursion of the prox also computes the dual norm for the
    duality gap.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents.
    D : sparse or dense, shape (n_terms, n_atoms)
        Dictionary, atoms in columns.
    lam : float
        Weight of the penalty, at least 0.
    tree : odl.trees.Tree, optional
        Omega(x) is the sum of ``||x_g||`` over the groups g of its nodes. By default Omega(x) =
        ||x||_1.
    mask : array-like of bool, shape of P, optional
        True for known entries of P. The loss omits the other entries. P is converted to a dense
        matrix.
    start : sparse or dense, shape (n_documents, n_atoms), optional
        Initial codes, by default 0.
    norm : {"l2", "linf"}, default="l2"
        Norm of a group.
    nonnegative : bool, default=True
        Whether to minimise over x >= 0.
    stop : {"gap", "decrease"}, default="gap"
        Quantity that is compared with `tolerance` times the objective: the duality gap, or the
        decrease of the objective in the last five iterations. The gap bounds the error, but does
        not converge to 0 if lam = 0.
    tolerance : float, default=1e-6
    iterations : int, default=1000
        Maximum number of iterations per document.

    Returns
    -------
    Codes

    Raises
    ------
    ParameterError
        If an argument is outside its domain or shapes do not match.

    References
    ----------
    Jenatton, Mairal, Obozinski, Bach, ICML 2010, sections 3.1 and 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> from odl import trees
    >>> from odl.coding import fista
    >>> coded = fista.codes(np.array([[3.0, 0.5]]), np.eye(2), 1.0, trees.path(2))
    >>> coded.X.toarray(), coded.residual + coded.penalty
    (array([[2., 0.]]), array([2.625]))
    """
    D = real_matrix(D, "D").toarray() if sparse.issparse(D) else dense(D, "D", 2)
    tree = trees.flat(D.shape[1]) if tree is None else tree
    lam = number(lam, "lam")
    rule, infinity, positive = _options(**options)
    order, plan = layout(tree)
    _check_shapes(P, D, tree, mask, start)
    D = np.ascontiguousarray(D[:, order])
    gram = tree_codes.gram_matrix(D)
    lipschitz = max(_lipschitz(gram), 1e-300)
    if mask is None and not sparse.issparse(P) and np.shape(P)[1] < D.shape[1]:
        mask = np.ones(np.shape(P), dtype=bool)  # D is smaller than its Gram matrix
    if mask is not None:
        P = real_matrix(P, "P").toarray() if sparse.issparse(P) else dense(P, "P", 2)
        mask = np.asarray(mask) != 0
        P = np.where(mask, P, 0.0)
    else:
        # A dense P is converted too: the order of sums in sparse products is independent of threads
        P = real_matrix(P, "P")
    start = None if start is None else real_matrix(start, "start")
    settings = (plan, lam, lipschitz, infinity, positive, rule)
    pieces, values = [], []
    for first in range(0, P.shape[0], FISTA_BLOCK):
        rows = slice(first, first + FISTA_BLOCK)
        block = P[rows]
        if start is None:
            X = np.zeros((block.shape[0], D.shape[1]))
        else:
            X = np.ascontiguousarray(start[rows].toarray()[:, order])
        # The kernels change X from initial codes to codes.
        if mask is not None:
            values.append(tree_codes.code_masked(X, block, mask[rows], D, *settings))
        else:
            values.append(tree_codes.code_rows(X, _squares(block), block @ D, gram, *settings))
        reordered = np.empty_like(X)
        reordered[:, order] = X
        pieces.append(sparse.csr_array(reordered))
    if not pieces:
        empty = np.empty(0)
        return Codes(sparse.csr_array((0, D.shape[1])), empty, empty, empty, np.empty(0, np.int64))
    residual, penalty, gap, n_done = np.concatenate(values).T.copy()
    X = sparse.csr_array(sparse.vstack(pieces, format="csr"))
    return Codes(X, residual, penalty, gap, n_done.astype(np.int64))


def _options(norm="l2", nonnegative=True, stop="gap", tolerance=1e-6, iterations=1000):
    """Check the options of `codes`; return (stopping rule, whether norm is "linf", nonnegative).

    The stopping rule is a tuple for the kernel: (whether stop is "gap", tolerance, iterations,
    number of iterations between checks).
    """
    if stop not in STOPS:
        raise ParameterError(f"stop is {stop!r:.60}", f"one of {', '.join(STOPS)}", "correct stop")
    rule = (
        stop == "gap",
        number(tolerance, "tolerance"),
        as_integer(iterations, "iterations", 0),
        CHECK_INTERVAL,
    )
    return rule, is_infinity(norm), bool(nonnegative)


def _check_shapes(P, D, tree, mask, start):
    """Raise ParameterError unless the shapes of P, tree, mask and initial codes match D."""
    wrong = None
    if np.ndim(P) != 2 and not sparse.issparse(P):
        wrong = f"P has {np.ndim(P)} dimensions", "two dimensions"
    elif np.shape(P)[1] != D.shape[0]:
        wrong = f"P has {np.shape(P)[1]} terms and D {D.shape[0]}", "equal numbers of terms"
    elif tree.n_nodes != D.shape[1]:
        wrong = f"the tree has {tree.n_nodes} atoms and D {D.shape[1]}", "equal numbers of atoms"
    elif mask is not None and np.shape(mask) != np.shape(P):
        wrong = f"the mask is of shape {np.shape(mask)}", f"the shape {np.shape(P)} of P"
    elif start is not None and start.shape != (P.shape[0], D.shape[1]):
        wrong = f"start is of shape {start.shape}", f"the shape {(P.shape[0], D.shape[1])}"
    if wrong:
        raise ParameterError(*wrong, "correct the shapes")


def _lipschitz(gram):
    """Return an upper bound on the largest eigenvalue of G = D^T D.

    If G has negative entries, the bound is computed for G^4 and raised to the power 1/4.
    """
    if (gram >= 0.0).all():
        return tree_codes.steepness(gram, 30)
    size = np.abs(gram).max()
    power = tree_codes.gram_matrix(tree_codes.gram_matrix(gram / size))
    return size * tree_codes.steepness(power, 30) ** 0.25


def _squares(P):
    """Return ||p||_2^2 for every row p."""
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    # bincount returns integers for an empty array.
    return np.bincount(rows, P.data * P.data, minlength=P.shape[0]).astype(np.float64)
