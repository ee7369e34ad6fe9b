"""The linear SVM on given inner products, for one C after another: the dual by sequential minimal optimisation.

    min_alpha  1/2 sum_ij alpha_i alpha_j y_i y_j K_ij - sum_i alpha_i,   0 <= alpha_i <= C,   sum_i y_i alpha_i = 0

Pairs by the second-order rule of libsvm (Fan, Chen, Lin, JMLR 2005), and its stopping rule. A cross-validation solves
thousands of small ones, each from the solution of the next smaller C.
"""

import numpy as np
from numba import njit

TOLERANCE = 1e-3  # of libsvm: how much the bias that two documents ask for may differ
MOST = 1_000_000  # pairs


@njit(cache=True, nogil=True, error_model="numpy")
def _solve(K, y, C, alpha, rest, tolerance, most):
    """Improve alpha and ``rest = y - K (y alpha)`` in place; return the bias."""
    n = len(y)
    for _ in range(most):
        first, second, top, low, best = -1, -1, -np.inf, np.inf, 0.0
        for t in range(n):
            if rest[t] > top and (alpha[t] < C if y[t] > 0.0 else alpha[t] > 0.0):
                first, top = t, rest[t]
        for t in range(n):
            if alpha[t] > 0.0 if y[t] > 0.0 else alpha[t] < C:
                low = min(low, rest[t])
                if rest[t] < top:
                    curve = max(K[first, first] + K[t, t] - 2.0 * K[first, t], 1e-12)
                    gain = (top - rest[t]) ** 2 / curve
                    if gain > best:
                        second, best = t, gain
        if second < 0 or top - low <= tolerance:
            break
        curve = max(K[first, first] + K[second, second] - 2.0 * K[first, second], 1e-12)
        room = min(
            C - alpha[first] if y[first] > 0.0 else alpha[first],
            alpha[second] if y[second] > 0.0 else C - alpha[second],
        )
        step = min((top - rest[second]) / curve, room)
        alpha[first] = min(max(alpha[first] + y[first] * step, 0.0), C)
        alpha[second] = min(max(alpha[second] - y[second] * step, 0.0), C)
        for t in range(n):
            rest[t] -= step * (K[first, t] - K[second, t])
    free = (alpha > 0.0) & (alpha < C)
    if free.any():
        return rest[free].mean()
    if top == -np.inf or low == np.inf:  # one class alone
        return y[0]
    return 0.5 * (top + low)


def decisions(inner, y, outer, sizes, tolerance=TOLERANCE):
    """Return the decision values of other documents, a row for each C.

    Parameters
    ----------
    inner : ndarray, shape (n_train, n_train)
        Inner products of the training documents.
    y : ndarray of bool, shape (n_train,)
    outer : ndarray, shape (n_test, n_train)
    sizes : sequence of float
        Values of C.
    tolerance : float

    Returns
    -------
    ndarray, shape (len(sizes), n_test)
        Positive where the SVM says True.
    """
    inner, signs = np.ascontiguousarray(inner, dtype=float), np.where(y, 1.0, -1.0)
    alpha, rest, before = np.zeros(len(signs)), signs.copy(), 1.0
    found = np.empty((len(sizes), outer.shape[0]))
    for number in np.argsort(sizes, kind="stable"):
        scale = sizes[number] / before  # documents at the old bound start at the new one
        alpha, rest, before = scale * alpha, signs - scale * (signs - rest), sizes[number]
        np.minimum(alpha, before, out=alpha)
        bias = _solve(inner, signs, float(before), alpha, rest, tolerance, MOST)
        found[number] = outer @ (signs * alpha) + bias
    return found
