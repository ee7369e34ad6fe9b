"""Slow, obvious solvers that share no code with the package."""

import numpy as np
from scipy.optimize import linprog


def dense(matrix):
    """Return a plain array."""
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix, dtype=float)


def objective(P, A, lam, X):
    """Return ``||p - A x||_1 + lam sum(x)`` for every row of P and X, by definition."""
    P, A, X = dense(P), dense(A), dense(X)
    return np.abs(P - X @ A.T).sum(axis=1) + lam * X.sum(axis=1)


def optimum(p, A, lam):
    """Return the value of ``min_{x >= 0} ||p - A x||_1 + lam sum(x)`` as the linear program it is, on all terms.

    Variables x, u, v >= 0 with A x + u - v = p and cost lam sum(x) + sum(u) + sum(v).
    """
    A = dense(A)
    terms, atoms = A.shape
    cost = np.concatenate([np.full(atoms, lam), np.ones(2 * terms)])
    equal = np.hstack([A, np.eye(terms), -np.eye(terms)])
    result = linprog(cost, A_eq=equal, b_eq=p, bounds=(0, None), method="highs")
    assert result.status == 0, result.message
    return result.fun


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
