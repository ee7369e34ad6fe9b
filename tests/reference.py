"""Slow, obvious solvers that share no code with the package."""

from fractions import Fraction
from itertools import combinations

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
                value = lam * sum(x) + sum(abs(t - r[0] * x[0] - r[1] * x[1]) for r, t in zip(A, p, strict=True))
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


def hierarchical_value(v, groups, weights, norm):
    """Return the sum of ``w_g ||v_g||`` over the groups, by definition."""
    order = {"l2": 2, "linf": np.inf}[norm]
    return sum(w * np.linalg.norm(np.asarray(v)[g], order) for g, w in zip(groups, weights, strict=True) if len(g))


def project_ball(a, radius, norm):
    """Return the projection of a on the ball of the norm's dual: l2 for l2, l1 for l-infinity (by bisection)."""
    if norm == "l2":
        return a * min(1.0, radius / max(np.linalg.norm(a), 1e-300))
    if radius == 0.0:
        return np.zeros_like(a)
    return np.sign(a) * radius * project_column(np.abs(a) / radius)


def dual_ascent(u, groups, weights, lam, norm, order, passes):
    """Return ``u - sum_g xi_g`` after passes of block coordinate ascent in the dual (ICML 2010, algorithm 1)."""
    xi = np.zeros((len(groups), len(u)))
    for _ in range(passes):
        for g in order:
            inside = groups[g]
            rest = u - xi.sum(axis=0) + xi[g]
            xi[g, inside] = project_ball(rest[inside], lam * weights[g], norm)
    return u - xi.sum(axis=0)
