"""Non-negative LARS: exact codes under the l2 norm, squared or not.

The codes of ``min_{x >= 0} 1/2 ||p - A x||_2^2 + mu sum(x)`` are piecewise linear in mu, and those of
``min_{x >= 0} ||p - A x||_2 + lam sum(x)`` are the point of that path where mu = lam ||p - A x||_2. The path is
followed atom by atom from x = 0 on G = A^T A (once a dictionary) and A^T p (sparse rows), and left in the middle of
the piece that holds the optimum.
"""

from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from odl.errors import ParameterError
from odl.kernels import lars_path
from odl.prox.projections import EPSILON, MatrixLike, check_sizes, check_terms, number, parts, real_matrix

LOSSES = ("norm", "squared")
LARGEST_WEIGHT = 1e100
# Noise; smallest squared sine of an entering atom; share of ||p||^2 that is left where c is computed anew; steps.
SETTINGS = (EPSILON, 1e-13, 1e-4, 100.0)


class Codes(NamedTuple):
    """What `codes` returns.

    Attributes
    ----------
    X : csr_array, shape (n_documents, n_atoms)
        Codes; only positive entries are stored.
    objective : ndarray, shape (n_documents,)
        The objective minimised, for each document; 0 for an empty one.
    residual : ndarray, shape (n_documents,)
        ``||p - A x||_2``, whichever the loss.
    gap : ndarray, shape (n_documents,)
        Objective less the value of a dual point that is feasible up to rounding: no code is better by more.
        Loose where rounding breaks the path: at lam of 0 or near it, with atoms that are nearly dependent or of very
        different length.

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
    """Return P as CSR, A as CSC and lam as float, or refuse them.

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
        If one of them is not real and finite, holds weights above 1e100, or if A does not match P.
    """
    P, A = real_matrix(P, "P"), real_matrix(A, "A", sparse.csc_array)
    check_terms(P, A)
    for name, matrix in (("P", P), ("A", A)):
        check_sizes(matrix.data, name, LARGEST_WEIGHT)
    return P, A, number(lam, "lam", 0.0, LARGEST_WEIGHT)


def codes(P: MatrixLike, A: MatrixLike, lam: float, *, loss: Literal["norm", "squared"] = "norm") -> Codes:
    """Code every document exactly under the l2 norm.

    Solves, for every row p of P,

        loss "norm":     min_{x >= 0}  ||p - A x||_2 + lam sum(x)
        loss "squared":  min_{x >= 0}  1/2 ||p - A x||_2^2 + lam sum(x)

    Documents are independent of each other: how a stream is cut into batches changes no bit. Where the optimum is
    not unique one optimal code is returned, always the same.

    Equation `l2-path` of docs/method.md.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents; not modified.
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary, atoms in columns; not modified.
    lam : float
        Weight of the penalty, at least 0. With loss "norm" a document has the code 0 if and only if no atom's
        product with it exceeds lam times its norm.
    loss : {"norm", "squared"}

    Returns
    -------
    Codes
        X, objective, residual, gap.

    Raises
    ------
    ParameterError
        As `check_arguments`, and for an unknown loss.

    References
    ----------
    Efron, Hastie, Johnstone, Tibshirani, Annals of Statistics 32 (2004), section 3 (the path, with the positive
    modification); Kasiviswanathan, Wang, Banerjee, Melville, NIPS 2012, supplement, Algorithm 5 (the objective).

    Examples
    --------
    >>> import numpy as np
    >>> coded = codes(np.array([[0.6, 0.8, 0.0]]), np.eye(3)[:, 1:2], lam=0.1)
    >>> coded.X.toarray().round(4), coded.objective.round(4)
    (array([[0.7397]]), array([0.677]))
    """
    P, A, lam = check_arguments(P, A, lam)
    if loss not in LOSSES:
        raise ParameterError(f"loss is {loss!r}", f"one of {', '.join(map(repr, LOSSES))}", "choose one of them")
    # In units of a power of two near the largest weight: atoms of any scale stay far from overflow.
    largest = np.abs(A.data).max(initial=0.0)
    unit = 2.0 ** np.frexp(largest)[1] if largest > 0.0 else 1.0
    A = A / unit
    gram = np.ascontiguousarray((A.T @ A).toarray())
    arrays = parts(P), parts(A.tocsr()), parts(A), gram
    lengths, atoms, values, residual, objective, gap = lars_path.code_documents(
        *arrays, lam / unit, loss == "squared", SETTINGS
    )
    X = (values / unit, atoms, np.concatenate(([0], np.cumsum(lengths))))
    return Codes(sparse.csr_array(X, shape=(P.shape[0], A.shape[1])), objective, residual, gap)
