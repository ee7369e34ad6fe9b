"""The algorithms of the papers, slow and obvious, sharing no code with the package: what it is held to.

Equations and algorithms as numbered in the papers; `docs/papers.md` names the test of each.

==== =============================================================== ==============================================
S0   ICASSP 2013 (1), (2), (3), projected gradient, (4)              objective, optimum, best_dictionary, subgradient,
                                                                     project, oiadmm
S2   NIPS 2012, supplement: algorithms 2 to 4, (2) to (4)            algorithm_2, algorithm_3, algorithm_4, oiadmm
S1   distributed models: (29), (31), (37), (42), (51) to (56)        atc, learned
S3   ICML 2010: (2), algorithm 1                                     hierarchical_value, dual_ascent
==== =============================================================== ==============================================
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def dense(matrix):
    """Return a plain array."""
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix, dtype=float)


def objective(P, A, lam, X):
    """Return ``||p - A x||_1 + lam sum(x)`` for every row of P and X, by definition."""
    P, A, X = dense(P), dense(A), dense(X)
    return np.abs(P - X @ A.T).sum(axis=1) + lam * X.sum(axis=1)


def optimum(p, A, lam):
    """Return the value of ``min_{x >= 0} ||p - A x||_1 + lam sum(x)`` as the linear program it is, on all terms."""
    return _coded(p, A, lam).fun


def best_codes(P, A, lam):
    """Return argmin_{X >= 0} ||P - X A^T||_1 + lam ||X||_1, row by row, by the same linear program."""
    return np.array([_coded(p, A, lam).x[: A.shape[1]] for p in dense(P)])


def _coded(p, A, lam):
    """Solve for variables x, u, v >= 0 with A x + u - v = p and cost lam sum(x) + sum(u) + sum(v)."""
    A = dense(A)
    terms, atoms = A.shape
    cost = np.concatenate([np.full(atoms, lam), np.ones(2 * terms)])
    equal = np.hstack([A, np.eye(terms), -np.eye(terms)])
    result = linprog(cost, A_eq=equal, b_eq=p, bounds=(0, None), method="highs")
    assert result.status == 0, result.message
    return result


def optimum_by_enumeration(p, A, lam):
    """Return the optimum as an exact fraction: the best of all vertices, for two atoms and any range of weights.

    A vertex is where two of the lines ``(A x)_i = p_i`` and ``x_j = 0`` meet.
    """
    p, lam = [Fraction(value) for value in p], Fraction(lam)
    A = [[Fraction(value) for value in row] for row in dense(A)]
    lines = [(*row, target) for row, target in zip(A, p, strict=True)] + [(1, 0, 0), (0, 1, 0)]
    best = None
    for (a, b, e), (c, d, f) in combinations(lines, 2):
        determinant = a * d - b * c
        if determinant:
            x = Fraction(e * d - b * f) / determinant, Fraction(a * f - e * c) / determinant
            if min(x) >= 0:
                value = lam * sum(x) + sum(
                    abs(t - r[0] * x[0] - r[1] * x[1]) for r, t in zip(A, p, strict=True)
                )
                best = value if best is None else min(best, value)
    return best


def project_column(a):
    """Return the projection of a on {u >= 0, sum(u) <= 1}: ``max(a - theta, 0)``, theta >= 0 by bisection."""
    a = np.asarray(a, dtype=float)
    if np.maximum(a, 0).sum() <= 1:
        return np.maximum(a, 0)
    low, high = 0.0, a.max()
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(a - middle, 0).sum() > 1:
            low = middle
        else:
            high = middle
    return np.maximum(a - high, 0)


def project(A):
    """Return the projection of every column on {a >= 0, sum(a) <= 1}: the set of dictionaries of S0 and S2."""
    return np.apply_along_axis(project_column, 0, np.asarray(A, dtype=float))


def best_dictionary(P, X):
    """Return min ||P - X A^T||_1 over A >= 0 with column sums of at most 1, and A, as the linear program it is.

    S2, the problem of algorithm 3; with all batches so far and their codes the second term of the
    regret (S0, definition 1). Variables: A by terms, then u, v >= 0 with X a_i + u - v = p_i for
    every term i.
    """
    P, X = dense(P), dense(X)
    (n, m), k = P.shape, X.shape[1]
    equal = sparse.hstack(
        [sparse.kron(sparse.eye_array(m), X), sparse.eye_array(m * n), -sparse.eye_array(m * n)]
    )
    sums = sparse.hstack(
        [sparse.kron(np.ones((1, m)), sparse.eye_array(k)), sparse.csr_array((k, 2 * m * n))]
    )
    cost = np.concatenate([np.zeros(m * k), np.ones(2 * m * n)])
    found = linprog(
        cost,
        A_ub=sums,
        b_ub=np.ones(k),
        A_eq=equal,
        b_eq=P.T.ravel(),
        bounds=(0, None),
        method="highs",
    )
    assert found.status == 0, found.message
    return found.fun, found.x[: m * k].reshape(m, k)


def subgradient(P, A, X):
    """Return sign(X A^T - P)^T X, a subgradient of ||P - X A^T||_1 in A (S0, below (3)); rounding counts as zero."""
    residual = dense(X) @ dense(A).T - dense(P)
    return np.where(np.abs(residual) > 1e-12, np.sign(residual), 0.0).T @ dense(X)


def soft(values, threshold):
    """Return sign(v) max(|v| - threshold, 0)."""
    return np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0)


def oiadmm(P, X, A, dual, beta, tau=np.inf):
    """Return A_{t+1}, Gamma_{t+1} and Delta_{t+1} (S2, (2) to (4); S0, (4)), the step being at most tau.

    All are dense and of one size: documents that a batch does not have are zero rows (S0, footnote
    6).
    """
    psi = np.linalg.eigvalsh(X.T @ X)[-1]
    gap = P - X @ A.T
    gamma = soft(gap + dual / beta, 1.0 / beta)
    if psi > 1e-14:
        A = project(A + min(tau, 1.0 / (2.0 * psi)) * (dual / beta + gap - gamma).T @ X)
    return A, gamma, dual + beta * (P - X @ A.T - gamma)


def algorithm_2(P, A, lam, phi, gamma, iterations):
    """Algorithm 2 of S2 as printed (documents in columns), on all terms; return the codes, documents in rows."""
    P = dense(P).T
    kappa = 1.0 / np.linalg.eigvalsh(A.T @ A).max()
    X, rho = np.zeros((A.shape[1], P.shape[1])), np.zeros_like(P)
    for _ in range(iterations):
        E = soft(P - A @ X + rho / phi, 1.0 / phi)
        G = A.T @ (A @ X + E - P - rho / phi)
        X = np.maximum(X - kappa * G - lam * kappa / phi, 0.0)
        rho = rho + gamma * phi * (P - A @ X - E)
    return X.T


def algorithm_3(P, X, A, phi, gamma, iterations):
    """Algorithm 3 of S2 as printed (documents in columns), on everything; yield every A, the first one too."""
    P, X = P.T, X.T
    kappa = 1.0 / np.linalg.norm(X, 2) ** 2
    rho = np.zeros_like(P)
    yield A
    for _ in range(iterations):
        E = soft(P - A @ X + rho / phi, 1.0 / phi)
        G = (A @ X + E - P - rho / phi) @ X.T
        A = project(np.maximum(A - kappa * G, 0.0))
        rho = rho + gamma * phi * (P - A @ X - E)
        yield A


def algorithm_4(history, codes, P, A, new, lam, alternations):
    """Algorithm 4 of S2, one timestep, both problems as linear programs.

    Parameters
    ----------
    history, codes : P_[t-1] and X_[t-1], dense, documents in rows
    P, A : the batch and A_t
    new : the eta atoms to start from, which the paper does not say
    alternations : how often the loop runs

    Returns
    -------
    scores : the objectives of the batch on A_t
    values : F after each half of each alternation
    A, X : A_{t+1} and X_[t]
    """
    found = best_codes(P, A, lam)
    scores = objective(P, A, lam, found)
    X = np.vstack([codes, found])
    X = np.hstack([X, np.zeros((len(X), new.shape[1]))])
    P, A, values = np.vstack([history, P]), np.hstack([A, new]), []
    for _ in range(alternations):
        value, best = best_dictionary(P, X)
        A = np.where(X.any(axis=0), best, A)  # warm starts: what no code uses stays
        values.append(value + lam * X.sum())
        X = best_codes(P, A, lam)
        values.append(objective(P, A, lam, X).sum())
    return scores, values, A, X


def threshold(a, gamma, delta, signed):
    """Return T(a), the code of an atom whose product with the dual variable is a (S1, table II)."""
    return soft(a, gamma) / delta if signed else np.maximum(a - gamma, 0.0) / delta


def atc(x, blocks, weights, shares, mu, iterations, *, gamma, delta, eta=None, signed=False):
    """Adapt, then combine (S1, (31), with (37) for the Huber loss), agent by agent; return nu_k, y_k (42), J_k (29).

    Parameters
    ----------
    blocks : W_k of each agent, terms x its atoms
    weights : a_lk, dense; shares: 1/|N_I| where agent k sees x, else 0
    eta : of the Huber loss; None: the squared one
    """
    N, c = len(blocks), 1.0 if eta is None else eta
    nu = [(x / c if share else 0.0 * x) for share in shares]
    if eta is not None:
        nu = [np.clip(v, -1.0, 1.0) for v in nu]
    for _ in range(iterations):
        psi = []
        for k in range(N):
            y = threshold(blocks[k].T @ nu[k], gamma, delta, signed)
            psi.append(nu[k] - mu * (c * nu[k] / N - shares[k] * x + blocks[k] @ y))
        nu = [sum(weights[other, k] * psi[other] for other in range(N)) for k in range(N)]
        if eta is not None:
            nu = [np.clip(v, -1.0, 1.0) for v in nu]
    codes = [threshold(W.T @ v, gamma, delta, signed) for W, v in zip(blocks, nu, strict=True)]
    costs = [
        c * v @ v / (2 * N) - share * (v @ x) + delta / 2 * y @ y
        for v, share, y in zip(nu, shares, codes, strict=True)
    ]
    return np.array(nu), codes, np.array(costs)


def learned(W, nu, y, step, beta, signed):
    """Return an agent's atoms after a document (S1, (51) to (56)): a gradient step, the prox, the unit ball."""
    W = soft(W + step * np.outer(nu, y), step * beta)
    W = W if signed else np.maximum(W, 0.0)
    return W / np.maximum(1.0, np.linalg.norm(W, axis=0))


def hierarchical_value(v, groups, norm):
    """Return the sum of ``||v_g||`` over the groups, by definition."""
    order = {"l2": 2, "linf": np.inf}[norm]
    return sum(np.linalg.norm(np.asarray(v)[g], order) for g in groups if len(g))


def project_ball(a, radius, norm):
    """Return the projection of a on the ball of the norm's dual: l2 for l2, l1 for l-infinity (by bisection)."""
    if norm == "l2":
        return a * min(1.0, radius / max(np.linalg.norm(a), 1e-300))
    if radius == 0.0:
        return np.zeros_like(a)
    return np.sign(a) * radius * project_column(np.abs(a) / radius)


def dual_ascent(u, groups, lam, norm, order, passes):
    """Return ``u - sum_g xi_g`` after passes of block coordinate ascent in the dual (ICML 2010, algorithm 1)."""
    xi = np.zeros((len(groups), len(u)))
    for _ in range(passes):
        for g in order:
            inside = groups[g]
            rest = u - xi.sum(axis=0) + xi[g]
            xi[g, inside] = project_ball(rest[inside], lam, norm)
    return u - xi.sum(axis=0)
