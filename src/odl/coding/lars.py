"""Non-negative LARS: exact codes under the l2 norm, squared or not.

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
LARGEST_WEIGHT = 1e100  # accepted weight of a document or an atom
LARS_SETTINGS = (
    EPSILON,  # relative rounding error
    # An atom enters a code only if the squared sine of its angle to the span of the code's atoms is
    # at least this.
    1e-13,
    1e-4,  # share of ||p||^2 below which correlations with the residual are computed again
    100.0,  # the path may have this number of steps, plus four for each atom
)


class LarsCodes(NamedTuple):
    """Codes of documents, with their duality gaps.

    Attributes
    ----------
    X : csr_array, shape (n_documents, n_atoms)
        Codes; only positive entries are stored.
    objective : ndarray, shape (n_documents,)
        Value of the minimised objective; 0 for an empty document.
    residual : ndarray, shape (n_documents,)
        ``||p - A x||_2`` for both losses.
    gap : ndarray, shape (n_documents,)
        Duality gap: the objective minus the value of a dual point that is feasible up to rounding.
        The objective exceeds the optimum by at most the gap. The gap is large if rounding errors
        break the path, when lam is near 0 and atoms are nearly dependent or differ much in length.

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
        Documents, of any sign.
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary, of any sign.
    lam : float
        Weight of the penalty, at least 0.

    Raises
    ------
    ParameterError
        If one of them is not real and finite, if a weight exceeds 1e100, or if A does not match P.
    """
    P, A = real_matrix(P, "P"), real_matrix(A, "A", sparse.csc_array)
    check_terms(P, A)
    for name, matrix in (("P", P), ("A", A)):
        check_sizes(matrix.data, name, LARGEST_WEIGHT)
    return P, A, number(lam, "lam", 0.0, LARGEST_WEIGHT)


def codes(
    P: MatrixLike, A: MatrixLike, lam: float, *, loss: Literal["norm", "squared"] = "norm"
) -> LarsCodes:
    """Code every document exactly under the l2 norm.

    Solves, for every row p of P,

        loss "norm":     min_{x >= 0}  ||p - A x||_2 + lam sum(x)
        loss "squared":  min_{x >= 0}  1/2 ||p - A x||_2^2 + lam sum(x)

    Each document is coded alone. Its code therefore has the same bits in every batch that contains
    it. If the optimum is not unique, the same optimal code is returned each time.

    Equation `l2-path` of docs/method.md.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents; not modified.
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary, atoms in columns; not modified.
    lam : float
        Weight of the penalty, at least 0. With loss "norm" the code of a document is 0 if and only
        if its product with each atom is at most lam times its norm.
    loss : {"norm", "squared"}

    Returns
    -------
    LarsCodes

    Raises
    ------
    ParameterError
        As `check_arguments`, and for an unknown loss.

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
    # Dividing A by a power of two near its largest weight loses no bit and prevents overflow.
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
