"""Codes min_{x >= 0} ||p - A x||_1 + lam ||x||_1 by ADMM with a fixed number of iterations.

This is the method of the papers, for reproducing their results. `odl.coding.exact` is faster and
exact. Terms that no atom uses do not affect the codes and are omitted.
"""

import numpy as np
from scipy import sparse

from odl.coding import exact
from odl.errors import ParameterError
from odl.prox.projections import EPSILON, MIN_POSITIVE, MatrixLike, as_integer, number, real_matrix

ADMM_BLOCK = 64  # number of documents per dense block, which limits the memory


def psi_max(M: MatrixLike) -> float:
    """Return the largest eigenvalue of ``M^T M``; 0 for an empty matrix.

    Parameters
    ----------
    M : sparse or dense
        Any shape.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.coding.admm import psi_max
    >>> psi_max(np.diag([1.0, 3.0]))
    9.0
    """
    M = real_matrix(M, "M")
    return largest_eigenvalue(sparse.csr_array(M.T @ M))


def largest_eigenvalue(gram: sparse.csr_array) -> float:
    """Return the largest eigenvalue of a sparse positive semi-definite matrix.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.coding.admm import largest_eigenvalue
    >>> round(largest_eigenvalue(csr_array([[2.0, 1.0], [1.0, 2.0]])), 6)
    3.0
    """
    used = np.flatnonzero(gram.diagonal())
    if not len(used):
        return 0.0
    return float(np.linalg.eigvalsh(gram[used][:, used].toarray())[-1])


def soft(Z, threshold):
    """Return the prox of ``threshold ||.||_1``, ``sign(z) max(|z| - threshold, 0)`` per entry."""
    return Z - np.clip(Z, -threshold, threshold)


def codes(
    P: MatrixLike,
    A: MatrixLike,
    lam: float,
    *,
    return_gap: bool = False,
    iterations: int = 100,
    phi: float = 5.0,
    gamma: float = 1.89,
) -> tuple:
    """Compute the codes of documents by ADMM.

    The iterations start from X = 0, E = P and rho = 0, with kappa = 1/Psi_max(A). Documents are
    columns here, as in the papers:

        E   = soft(P - A X + rho/phi, 1/phi)
        G   = A^T (A X + E - P - rho/phi)
        X   = max(X - kappa G - lam kappa/phi, 0)
        rho = rho + gamma phi (P - A X - E)

    Convergence can be slow: after 100 iterations, the objective exceeded the optimum by 1.7 % on
    average.

    Equation `admm-codes` of docs/method.md.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Non-negative documents.
    A : sparse or dense, shape (n_terms, n_atoms)
        Non-negative dictionary. An atom that is zero has the code zero.
    lam : float
        Weight of the penalty, at least 0.
    return_gap : bool
        Whether to return `gap` too, for which the exact codes are computed.
    iterations : int
        Number of iterations.
    phi : float
        Positive penalty of the augmented Lagrangian.
    gamma : float
        Positive relaxation of the dual step.

    Returns
    -------
    X : csr_array of float64, shape (n_documents, n_atoms)
        Codes.
    objective : ndarray of float64, shape (n_documents,)
        ``||p - A x||_1 + lam sum(x)`` of these codes.
    gap : ndarray of float64, shape (n_documents,), only with `return_gap`
        Objective minus the optimum.

    Raises
    ------
    ParameterError
        If an argument is outside its domain, or objectives overflow.

    References
    ----------
    Kasiviswanathan, Wang, Banerjee, Melville, NIPS 2012, supplement, Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.coding import admm
    >>> P, A = np.array([[0.5, 0.3, 0.2]]), np.array([[0.5], [0.5], [0.0]])
    >>> X, objective, gap = admm.codes(P, A, lam=0.1, return_gap=True, iterations=300)
    >>> X.toarray().round(3), objective.round(3), gap.round(3)
    (array([[0.6]]), array([0.46]), array([0.]))
    """
    P, A, _ = exact.check_matrices(P, A)
    lam = number(lam, "lam", 0.0, exact.LARGEST_WEIGHT)
    as_integer(iterations, "iterations", 1)
    for name, value in (("phi", phi), ("gamma", gamma)):
        number(value, name, MIN_POSITIVE)
    psi, X = psi_max(A), sparse.csr_array((P.shape[0], A.shape[1]))
    if psi > 0.0 and P.shape[0]:
        used = np.flatnonzero(np.diff(A.indptr))
        D, Q = A[used], P[:, used]
        settings = (lam, 1.0 / psi, iterations, phi, gamma)
        blocks = []
        for first in range(0, P.shape[0], ADMM_BLOCK):
            block = Q[first : first + ADMM_BLOCK].toarray().T.copy()
            blocks.append(_iterate(block, D, *settings))
        X = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    objective = objectives(P, A, lam, X)
    if not np.isfinite(objective).all():
        raise ParameterError(
            "the objective of ADMM is not finite", "entries of P and A near 1", "rescale P and A"
        )
    if not return_gap:
        return X, objective
    return X, objective, np.maximum(objective - exact.codes(P, A, lam)[1], 0.0)


def objectives(
    P: sparse.csr_array, A: sparse.csc_array, lam: float, X: sparse.csr_array
) -> np.ndarray:
    """Return ``||p - A x||_1 + lam sum(x)`` for each pair of rows (p, x) of P and X.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.coding.admm import objectives
    >>> P, A = csr_array([[0.5, 0.5, 0.0]]), csc_array([[1.0], [0.0], [0.0]])
    >>> objectives(P, A, 0.1, csr_array([[0.5]]))
    array([0.55])
    """
    residual = abs(P - X @ A.T)
    total = np.asarray(residual.sum(axis=1))
    total = np.where(np.abs(total - 1.0) <= (4 + np.diff(P.indptr)) * EPSILON, 1.0, total)
    return total + lam * np.asarray(X.sum(axis=1))


def _iterate(P, A, lam, kappa, iterations, phi, gamma):
    """Return the codes (documents in rows) of a dense block of documents (in columns)."""
    X, fitted, rho = np.zeros((A.shape[1], P.shape[1])), np.zeros_like(P), np.zeros_like(P)
    transposed = A.T.tocsr()
    for _ in range(iterations):
        target = P + rho / phi
        E = soft(target - fitted, 1.0 / phi)
        X = np.maximum(X - kappa * (transposed @ (fitted + E - target)) - lam * kappa / phi, 0.0)
        fitted = A @ X
        rho += gamma * phi * (P - fitted - E)
    return sparse.csr_array(X.T)
