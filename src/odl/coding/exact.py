"""Exact codes min_{x >= 0} ||p - A x||_1 + lam ||x||_1.

A, x and p are non-negative, so the loss is linear outside S = supp(p), and only the terms in S are
needed. Atom j can be in a code only if 2 g_j > c_j + lam, where c_j is the sum of its weights and
g_j the sum of its weights on S. Few atoms satisfy this condition. The reduced problem is solved by
a simplex method with a piecewise linear line search. A dual solution gives the certificate:

    max_y  p_S^T y - ||p||_1    subject to  A_S^T y <= c + lam,  0 <= y <= 2.
"""

import numpy as np
from scipy import sparse

from odl.errors import OdlError, ParameterError
from odl.kernels import edge_following
from odl.prox import projections
from odl.prox.projections import MatrixLike, check_signs, check_terms, number, parts, real_matrix

LARGEST_GAP = 1e-9  # largest duality gap of a code, relative to the l1 norm of its document
LARGEST_WEIGHT = 1e300  # largest accepted weight in P and A


def check_matrices(P, A):
    """Return (P as canonical CSR, A as canonical CSR, mass of each atom).

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Non-negative documents.
    A : sparse or dense, shape (n_terms, n_atoms)
        Non-negative dictionary.

    Raises
    ------
    ParameterError
        If a matrix is not real, finite and non-negative, if a weight exceeds 1e300, or if the
        numbers of terms differ.
    """
    P, A = real_matrix(P, "P"), real_matrix(A, "A")
    check_terms(P, A)
    for name, matrix in (("P", P), ("A", A)):
        check_signs(matrix, name)
        projections.check_sizes(matrix.data, name, LARGEST_WEIGHT)
    A = projections.without_zeros(A)
    # bincount returns integers for an empty array.
    mass = np.bincount(A.indices, weights=A.data, minlength=A.shape[1]).astype(float)
    if not mass.max(initial=0.0) <= LARGEST_WEIGHT:
        raise ParameterError("the mass of an atom exceeds 1e300", "smaller atoms", "rescale A")
    return P, A, mass


def codes(P: MatrixLike, A: MatrixLike, lam: float, *, return_gap: bool = False) -> tuple:
    """Compute the exact codes of documents.

    Solves ``min_{x >= 0} ||p - A x||_1 + lam sum(x)`` for every row p of P. Each document is coded
    separately, so its code has the same bits in every batch that contains it. If the optimum is not
    unique, the choice is deterministic.

    Equations `exact-codes` and `certificate` of docs/method.md.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Non-negative documents.
    A : sparse or dense, shape (n_terms, n_atoms)
        Non-negative dictionary.
    lam : float
        Weight of the penalty, at least 0.
    return_gap : bool
        Whether to return `gap` too.

    Returns
    -------
    X : csr_array of float64, shape (n_documents, n_atoms)
        Codes. Only positive entries are stored.
    objective : ndarray of float64, shape (n_documents,)
        ``||p - A x||_1 + lam sum(x)``, which is 0 for an empty document. For x = 0 it is exactly 1
        if ``||p||_1`` differs from 1 only by rounding.
    gap : ndarray of float64, shape (n_documents,), only with `return_gap`
        Objective minus a feasible dual value, an upper bound on the distance to the optimum.

    Raises
    ------
    ParameterError
        If an argument is outside its domain, or codes or objectives overflow.
    OdlError
        If neither the kernel nor HiGHS reaches a gap of 1e-9 times the document's norm.

    References
    ----------
    Barrodale and Roberts, SIAM J. Numer. Anal. 10 (1973), for the line search.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.coding import exact
    >>> P, A = np.array([[0.5, 0.3, 0.2]]), np.array([[0.5], [0.5], [0.0]])
    >>> X, objective, gap = exact.codes(P, A, lam=0.1, return_gap=True)
    >>> X.toarray().round(3), objective.round(3), bool(gap[0] < 1e-9)
    (array([[0.6]]), array([0.46]), True)
    """
    X, objective, gap = solve(P, A, number(lam, "lam", 0.0, LARGEST_WEIGHT))
    return (X, objective, gap) if return_gap else (X, objective)


def solve(P, A, lam, limit=-1):
    """Return (X, objective, gap) as `codes` does, with a limit on the number of pivots.

    Parameters
    ----------
    P, A
        As in `codes`.
    lam : float
        As in `codes`, but not checked.
    limit : int
        Maximum number of pivots per document. Documents that need more are solved by HiGHS. With
        -1, the limit depends on the size of the document.
    """
    P, A, mass = check_matrices(P, A)
    lengths, atoms, values, objective, gap, failed = edge_following.code_documents(
        parts(P), parts(A), parts(A.tocsc()), mass, float(lam), limit
    )
    X = sparse.csr_array(
        (values, atoms, np.concatenate(([0], np.cumsum(lengths)))), shape=(P.shape[0], A.shape[1])
    )
    if failed.any():
        X = _repair(P, A, lam, mass, X, objective, gap, np.flatnonzero(failed))
    if not (np.isfinite(objective).all() and np.isfinite(X.data).all()):
        fault, todo = "codes or objectives overflow", "rescale P or A"
        raise ParameterError(fault, "documents and atoms of similar size", todo)
    return X, objective, gap


def _repair(P, A, lam, mass, X, objective, gap, rows):
    """Solve documents again with HiGHS if the kernel did not certify their codes.

    For each document in `rows`, the code with the smaller gap is used. `objective` and `gap` are
    changed in place.

    Returns
    -------
    csr_array
        X with the new codes in their rows.

    Raises
    ------
    OdlError
        If the smaller gap of a document exceeds `LARGEST_GAP` times its l1 norm.
    """
    pieces, n_done = [], 0  # `pieces` contain the first `n_done` rows of the result
    for row in rows:
        document = P[[row]]
        code, value, highs_gap = _solve_by_highs(document, A, lam, mass)
        if highs_gap < gap[row]:
            pieces += [X[n_done:row], code]
            n_done, objective[row], gap[row] = row + 1, value, highs_gap
        norm = document.sum()
        if not gap[row] <= LARGEST_GAP * norm:
            fault = f"the code of row {row} of P has a duality gap of {gap[row]:.3g}"
            todo = "rescale or drop this document, or use the solver 'admm'"
            raise OdlError(fault, f"a gap of at most {LARGEST_GAP * norm:.3g}", todo)
    return sparse.csr_array(sparse.vstack([*pieces, X[n_done:]], format="csr"))


def _solve_by_highs(document, A, lam, mass):
    """Return (code, objective, gap) of one document; (None, inf, inf) if HiGHS fails."""
    from scipy.optimize import linprog

    rows = document.indices[document.data > 0.0]
    p = document.data[document.data > 0.0]
    norm, A_S = p.sum(), A[rows]
    inside = np.asarray(A_S.sum(axis=0))  # g_j: mass of each atom on the terms of the document
    atoms = np.flatnonzero(2.0 * inside > mass + lam)
    weights = A_S[:, atoms].multiply(1.0 / mass[atoms]).tocsr()
    bound = 1.0 + lam / mass[atoms]
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    result = linprog(
        -p / norm, A_ub=weights.T, b_ub=bound, bounds=(0.0, 2.0), method="highs-ds", options=options
    )
    if result.x is None or result.ineqlin.marginals is None:
        return None, np.inf, np.inf
    x = np.maximum(-result.ineqlin.marginals, 0.0)
    y = np.clip(result.x, 0.0, 2.0)
    y *= min(1.0, (bound / np.maximum(weights.T @ y, 1e-300)).min(initial=1.0))
    outside = (np.maximum(mass - inside, 0.0)[atoms] + lam) / mass[atoms]
    value = np.abs(p / norm - weights @ x).sum() + outside @ x
    gap = max(value - (p @ y / norm - 1.0), 0.0)
    x *= norm / mass[atoms]
    code = sparse.csr_array((x, atoms, [0, len(atoms)]), shape=(1, A.shape[1]))
    code.eliminate_zeros()
    return code, value * norm, gap * norm
