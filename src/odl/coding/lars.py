"""Exact codes for the l2 norm or the squared l2 norm, by non-negative LARS.

The codes of ``min_{x >= 0} 1/2 ||p - A x||_2^2 + mu sum(x)`` are piecewise linear in mu. The code
of ``min_{x >= 0} ||p - A x||_2 + lam sum(x)`` is the point of this path with mu = lam ||p - A
x||_2. The kernel follows the path from x = 0, one atom at a time, and stops inside the linear piece
that contains the optimum. It needs G = A^T A, which is computed once per dictionary, and the
product A^T p of each document.
"""

from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from odl.errors import ParameterError
from odl.kernels import lars_path
from odl.prox.projections import (
    EPSILON,
    MatrixLike,
    check_sizes,
    check_terms,
    number,
    parts,
    real_matrix,
)

LOSSES = ("norm", "squared")
LARGEST_WEIGHT = 1e100  # largest accepted absolute weight in P and A
LARS_SETTINGS = (
    EPSILON,  # relative rounding error
    # smallest squared sine of the angle between an atom and the span of the atoms in a code, for
    # the atom to enter the code
    1e-13,
    1e-4,  # if ||r||^2 falls below this share of ||p||^2, correlations are recomputed
    100.0,  # maximum number of steps of the path, to which four per atom are added
)


class LarsCodes(NamedTuple):
    """Codes of documents, with their duality gaps.

    Attributes
    ----------
    X : csr_array, shape (n_documents, n_atoms)
        Codes. Only positive entries are stored.
    objective : ndarray, shape (n_documents,)
        Objective, which is 0 for an empty document.
    residual : ndarray, shape (n_documents,)
        ``||p - A x||_2`` for both losses.
    gap : ndarray, shape (n_documents,)
        Duality gap, the objective minus the value of a dual point that is feasible up to rounding.
        It is an upper bound on the distance to the optimum. It is large if rounding errors break
        the path, which can occur if lam is near 0 and atoms are nearly dependent or of very
        different lengths.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.coding import lars
    >>> lars.codes(np.array([[0.6, 0.8]]), np.eye(2), lam=0.1)._fields
    ('X', 'objective', 'residual', 'gap')
    """

    X: sparse.csr_array
    objective: np.ndarray
    residual: np.ndarray
    gap: np.ndarray


def check_arguments(P, A, lam):
    """Return (P as CSR, A as CSC, lam as float).

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents, with weights of any sign.
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary, with weights of any sign.
    lam : float
        Weight of the penalty, at least 0.

    Raises
    ------
    ParameterError
        If an argument is not real and finite, if a weight exceeds 1e100, or if the numbers of terms
        differ.
    """
    P, A = real_matrix(P, "P"), real_matrix(A, "A", sparse.csc_array)
    check_terms(P, A)
    for name, matrix in (("P", P), ("A", A)):
        check_sizes(matrix.data, name, LARGEST_WEIGHT)
    return P, A, number(lam, "lam", 0.0, LARGEST_WEIGHT)


def codes(
    P: MatrixLike, A: MatrixLike, lam: float, *, loss: Literal["norm", "squared"] = "norm"
) -> LarsCodes:
    """Compute the exact codes of documents for the l2 norm.

    Solves, for every row p of P,

        loss "norm":     min_{x >= 0}  ||p - A x||_2 + lam sum(x)
        loss "squared":  min_{x >= 0}  1/2 ||p - A x||_2^2 + lam sum(x)

    Each document is coded separately, so its code has the same bits in every batch that contains
    it. If the optimum is not unique, the choice is deterministic.

    Equation `l2-path` of docs/method.md.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents.
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary, atoms in columns.
    lam : float
        Weight of the penalty, at least 0. With loss "norm", the code of a document is 0 if and only
        if its product with each atom is at most lam times its norm.
    loss : {"norm", "squared"}

    Returns
    -------
    LarsCodes

    Raises
    ------
    ParameterError
        If an argument is outside its domain.

    References
    ----------
    Efron, Hastie, Johnstone, Tibshirani, Annals of Statistics 32 (2004), section 3 (the path, with
    the positive modification); Kasiviswanathan, Wang, Banerjee, Melville, NIPS 2012, supplement,
    Algorithm 5 (the objective).

    Examples
    --------
    >>> import numpy as np
    >>> coded = codes(np.array([[0.6, 0.8, 0.0]]), np.eye(3)[:, 1:2], lam=0.1)
    >>> coded.X.toarray().round(4), coded.objective.round(4)
    (array([[0.7397]]), array([0.677]))
    """
    P, A, lam = check_arguments(P, A, lam)
    if loss not in LOSSES:
        raise ParameterError(
            f"loss is {loss!r}", f"one of {', '.join(map(repr, LOSSES))}", "correct loss"
        )
    # Division by a power of two near the largest weight is exact, and prevents overflow.
    largest = np.abs(A.data).max(initial=0.0)
    unit = 2.0 ** np.frexp(largest)[1] if largest > 0.0 else 1.0
    A = A / unit
    gram = np.ascontiguousarray((A.T @ A).toarray())
    arrays = parts(P), parts(A.tocsr()), parts(A), gram
    lengths, atoms, values, residual, objective, gap = lars_path.code_documents(
        *arrays, lam / unit, loss == "squared", LARS_SETTINGS
    )
    X = (values / unit, atoms, np.concatenate(([0], np.cumsum(lengths))))
    return LarsCodes(sparse.csr_array(X, shape=(P.shape[0], A.shape[1])), objective, residual, gap)
