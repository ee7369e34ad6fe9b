"""Exact codes: min_{x >= 0} ||p - A x||_1 + lam ||x||_1, solved on the terms of the document.

A, x and p are non-negative, so outside S = supp(p) the loss is linear and the problem has |S| rows.
Atom j can be in a code only if 2 g_j > c_j + lam, where c_j is the sum of its weights and g_j the
sum of its weights on S. Few atoms satisfy this. A simplex method with a piecewise linear line
search solves the reduced problem.
The dual certifies the solution:

    max_y  p_S^T y - ||p||_1    subject to  A_S^T y <= c + lam,  0 <= y <= 2.
"""

import numpy as np
from scipy import sparse

from odl.errors import OdlError, ParameterError
from odl.kernels import edge_following
from odl.prox import projections
from odl.prox.projections import MatrixLike, check_signs, check_terms, number, parts, real_matrix

LARGEST_GAP = 1e-9  # largest duality gap of a code, relative to the l1 norm of its document
LARGEST_WEIGHT = 1e300  # accepted weight of a document or an atom


def check_matrices(P, A):
    """Return (P as canonical CSR, A as canonical CSR, mass of each atom).

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents, non-negative.
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary, non-negative.

    Raises
    ------
    ParameterError
        If one of them is not real, finite and non-negative, if a weight exceeds 1e300, or if A does
        not match P.
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
    """Code every document exactly.

    Solves ``min_{x >= 0} ||p - A x||_1 + lam sum(x)`` for every row p of P. If the optimum is not
    unique, the same optimal code is returned each time. Each document is coded alone. Its code
    therefore has the same bits in every batch that contains it.

    Equations `exact-codes` and `certificate` of docs/method.md.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents, non-negative; not modified.
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary, non-negative; not modified.
    lam : float
        Weight of the penalty, at least 0.
    return_gap : bool
        Also return the certificate.

    Returns
    -------
    X : csr_array of float64, shape (n_documents, n_atoms)
        Codes; only positive entries are stored.
    objective : ndarray of float64, shape (n_documents,)
        ``||p - A x||_1 + lam sum(x)``, 0 for an empty document. If x = 0 it is ``||p||_1``, or
        exactly 1 if that differs from 1 only by the rounding of the sum. The penalty is ``lam *
        X.sum(axis=1)``, the residual the objective minus the penalty.
    gap : ndarray of float64, shape (n_documents,), only with `return_gap`
        Objective minus a feasible dual value: an upper bound on the distance to the optimum.

    Raises
    ------
    ParameterError
        As `check_matrices`, for a lam outside its domain, and if codes or objectives overflow.
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
    """Code every document as `codes` does; return the gaps too, and limit the number of pivots.

    Parameters
    ----------
    P, A
        As in `codes`.
    lam : float
        As in `codes`; not checked here.
    limit : int
        Maximum number of pivots per document, after which HiGHS solves it instead. With -1 the
        limit grows with the size of the document.

    Returns
    -------
    X, objective, gap
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
        fault, todo = "codes leave the range 1e-300 to 1e300", "rescale P or A"
        raise ParameterError(fault, "documents and atoms of similar size", todo)
    return X, objective, gap


def _repair(P, A, lam, mass, X, objective, gap, rows):
    """Solve the documents `rows`, whose codes the kernel did not certify, again with HiGHS.

    Of the two codes of a document, the one with the smaller gap is used. `objective` and `gap` are
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
            fault = f"row {row} of P is solved only to a gap of {gap[row]:.3g}"
            todo = "rescale or drop that document, or use the coder 'admm'"
            raise OdlError(fault, f"a gap of at most {LARGEST_GAP * norm:.3g}", todo)
    return sparse.csr_array(sparse.vstack([*pieces, X[n_done:]], format="csr"))


def _solve_by_highs(document, A, lam, mass):
    """Return (code, objective, gap) of one document; the gap is infinite if HiGHS fails."""
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
