"""Compiled codes of the squared loss with the penalty of a tree (`odl.coding.fista`): D^T D, FISTA, ADMM."""

import math
from typing import NamedTuple

import numpy as np

from odl.kernels.compiled import allocating, called, kernel
from odl.kernels.tree_norm import dual_norm, prox, tree_value

THRESHOLD = 0.1  # of ADMM: lam / rho, in units of the length of the signal over that of the longest atom
PATIENCE = 100  # steps of ADMM before FISTA goes on
STEEPEST = 1e-9  # of ADMM: the least rho over the largest eigenvalue of D^T D


@called("d[,] -> d[,]")
@allocating
def gram_matrix(D):
    """Return D^T D of a dense matrix in C order; zeros cost nothing, sums run down the rows."""
    G = np.zeros((D.shape[1], D.shape[1]))
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            value = D[i, j]
            if value != 0.0:
                for k in range(D.shape[1]):
                    G[j, k] += value * D[i, k]
    return G


@allocating
def steepness_of(columns):
    """Return an upper bound of the largest eigenvalue of C^T C (that of C C^T): the row sums of its fourth power."""
    K = gram_matrix(gram_matrix(gram_matrix(columns)))
    bound = 0.0
    for i in range(len(K)):
        bound = max(bound, np.abs(K[i]).sum())
    return math.sqrt(math.sqrt(bound))


@called("d[,] l -> d")
@allocating
def steepness(gram, rounds):
    """Return an upper bound of the largest eigenvalue of a Gram matrix G.

    For every positive vector v it is at most max_i (|G| v)_i / v_i (Collatz and Wielandt); v is improved by power
    steps. Tight for matrices without negative entries.
    """
    v, best = np.ones(len(gram)), np.inf
    for _ in range(rounds):
        image, bound = np.zeros(len(gram)), 0.0
        for i in range(len(gram)):
            for j in range(len(gram)):
                image[j] += v[i] * abs(gram[i, j])
        for i in range(len(gram)):
            bound = max(bound, image[i] / v[i])
        best = min(best, bound)
        v = image + 1e-6 * bound * v
        v /= v.max() if v.max() > 0.0 else 1.0
        v = np.maximum(v, 1e-12)
    return best


class Vectors(NamedTuple):
    """Of one document, over atoms, reused from document to document."""

    x: np.ndarray  # code
    gx: np.ndarray  # D^T D x
    last: np.ndarray  # code before
    glast: np.ndarray
    point: np.ndarray  # extrapolated code y
    dual: np.ndarray  # D^T (p - D x)
    work: np.ndarray
    factor: np.ndarray
    image: np.ndarray  # D x


@kernel
def _image(x, columns, image):
    """image <- D x; zeros of x cost nothing."""
    image[:] = 0.0
    for j in range(len(x)):
        if x[j] != 0.0:
            for i in range(len(image)):
                image[i] += x[j] * columns[j, i]


@kernel
def _back(rows, image, out):
    """out <- out + D^T image, four rows of D at once, since `out` is read and written again for each."""
    fours = len(image) - len(image) % 4
    for i in range(0, fours, 4):
        a, b, c, d = image[i], image[i + 1], image[i + 2], image[i + 3]
        for j in range(len(out)):
            out[j] += (a * rows[i, j] + b * rows[i + 1, j]) + (c * rows[i + 2, j] + d * rows[i + 3, j])
    for i in range(fours, len(image)):
        for j in range(len(out)):
            out[j] += image[i] * rows[i, j]


@kernel
def _apply(x, gram, rows, columns, masked, image, out):
    """out <- D^T D x, from the Gram matrix or from the rows of D that are kept; zeros of x cost nothing."""
    out[:] = 0.0
    if masked:
        _image(x, columns, image)
        _back(rows, image, out)
        return
    for j in range(len(x)):
        if x[j] != 0.0:
            for i in range(len(x)):
                out[i] += x[j] * gram[j, i]


@kernel
def _inner(a, b):
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@kernel
def _uphill(point, x, last):
    """Return (y - x)^T (x - x_last): above zero the momentum leads uphill."""
    total = 0.0
    for j in range(len(x)):
        total += (point[j] - x[j]) * (x[j] - last[j])
    return total


@kernel
def _step(w, correlation, speed, step):
    """x <- y - step times the gradient at y, the extrapolated code; `last` and `glast` <- x and D^T D x."""
    for j in range(len(w.x)):  # short loops: one over all of these arrays is not vectorised
        w.point[j] = w.x[j] + speed * (w.x[j] - w.last[j])
    for j in range(len(w.x)):
        w.dual[j] = w.gx[j] + speed * (w.gx[j] - w.glast[j]) - correlation[j]
    for j in range(len(w.x)):
        w.last[j] = w.x[j]
        w.glast[j] = w.gx[j]
    for j in range(len(w.x)):
        w.x[j] = w.point[j] - step * w.dual[j]


@kernel
def _objective(square, correlation, w, layout, lam, infinity):
    """Return (1/2 ||p - D x||^2, lam Omega(x), p^T D x, ||D x||^2)."""
    fit, energy = _inner(w.x, correlation), _inner(w.x, w.gx)
    penalty = lam * tree_value(w.x, layout, infinity, w.work)
    return max(0.5 * square - fit + 0.5 * energy, 0.0), penalty, fit, energy


@kernel
def _gap(square, fit, energy, value, correlation, w, layout, lam, infinity, positive):
    """Return the objective less the value of a dual feasible point s (p - D x).

    The dual is max_k k^T p - 1/2 ||k||^2 subject to Omega*(D^T k) <= lam, with the positive part of D^T k for codes
    that are not negative.
    """
    for j in range(len(w.x)):
        w.dual[j] = correlation[j] - w.gx[j]
        if positive:
            w.dual[j] = max(w.dual[j], 0.0)
    bound = dual_norm(w.dual, layout, lam, infinity, w.work, w.factor)
    return _excess_of(value, square - fit, max(square - 2.0 * fit + energy, 0.0), lam, bound)


@kernel
def _excess_of(value, inner, length, lam, bound):
    """Return the objective less the dual at s k, s at best, for k^T p, ||k||^2 and a bound of Omega*(D^T k)."""
    most = lam / bound if bound > lam else 1.0  # larger multiples may be feasible too; near the optimum none helps
    scale = min(max(inner / length, 0.0), most) if length > 0.0 else 0.0
    return max(value - (scale * inner - 0.5 * scale * scale * length), 0.0)


@kernel
def _fista(square, correlation, system, layout, lam, lipschitz, infinity, positive, rule, w):
    """Code one document from the code in w.x; return (residual, penalty, gap, iterations).

    Beck and Teboulle 2009 with the restart of O'Donoghue and Candes 2015 (the gradient's). `rule` is (by gap,
    tolerance, most iterations, iterations from one test of the gap to the next).
    """
    gram, rows, columns, masked = system
    by_gap, tolerance, most, every = rule
    momentum, step = 1.0, 1.0 / lipschitz
    _apply(w.x, gram, rows, columns, masked, w.image, w.gx)
    for j in range(len(w.x)):
        w.last[j], w.glast[j] = w.x[j], w.gx[j]
    done, speed, before = 0, 0.0, np.inf
    while True:
        if done % every == 0 or done == most:
            residual, penalty, fit, energy = _objective(square, correlation, w, layout, lam, infinity)
            value = residual + penalty
            enough = done == most or (not by_gap and before - value <= tolerance * value)
            before = value
            if by_gap or enough:
                gap = _gap(square, fit, energy, value, correlation, w, layout, lam, infinity, positive)
                enough = enough or gap <= tolerance * value
            if enough:
                return residual, penalty, gap, done
        _step(w, correlation, speed, step)
        prox(w.x, layout, step * lam, infinity, positive, w.work, w.factor)
        _apply(w.x, gram, rows, columns, masked, w.image, w.gx)
        after = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        steady = _uphill(w.point, w.x, w.last) <= 0.0
        speed, momentum = ((momentum - 1.0) / after, after) if steady else (0.0, 1.0)
        done += 1


@allocating
def _vectors(atoms, kept):
    real = np.float64
    return Vectors(
        np.zeros(atoms, real),
        np.zeros(atoms, real),
        np.zeros(atoms, real),
        np.zeros(atoms, real),
        np.zeros(atoms, real),
        np.zeros(atoms, real),
        np.zeros(atoms, real),
        np.zeros(atoms, real),
        np.zeros(kept, real),
    )


@called("d[,] d[] d[,] d[,] TREE_CODES -> d[,]")
@allocating
def code_rows(X, squares, correlations, gram, layout, lam, lipschitz, infinity, positive, rule):
    """Code documents, each alone, from the rows of X, in place; return one row a document of what `_fista` returns.

    `squares` are ||p||^2, `correlations` the rows p^T D; atoms are in the order of the layout.
    """
    ends = np.empty((X.shape[0], 4))
    nothing = np.empty((0, 0))
    w = _vectors(X.shape[1], 0)
    for row in range(X.shape[0]):
        w.x[:] = X[row]
        system = (gram, nothing, nothing, False)
        result = _fista(squares[row], correlations[row], system, layout, lam, lipschitz, infinity, positive, rule, w)
        ends[row, 0], ends[row, 1], ends[row, 2], ends[row, 3] = result
        X[row] = w.x
    return ends


@kernel
def _invert(K):
    """K <- its inverse, by Gauss and Jordan; K is symmetric and positive definite, so no pivot is small."""
    for k in range(len(K)):
        pivot = 1.0 / K[k, k]
        K[k, k] = 1.0
        for j in range(len(K)):
            K[k, j] *= pivot
        for i in range(len(K)):
            if i != k:
                factor = K[i, k]
                K[i, k] = 0.0
                for j in range(len(K)):
                    K[i, j] -= factor * K[k, j]


@kernel
def _admm(signal, columns, rows, inverse, rho, layout, lam, infinity, positive, rule, w, short):
    """Code one signal of fewer entries than there are atoms, from the code in w.x; return what `_fista` returns.

    ADMM with over-relaxation (Boyd et al. 2011, section 3.4.3) on x = z: both have to fit, x the signal p and z the
    penalty. The step in x, (D^T D + rho)^-1 (D^T p + rho (z - u)), is z - u + D^T q with q = (rho + D D^T)^-1
    (p - D (z - u)); `inverse` is that of rho + D D^T. Far fewer steps than of FISTA, which is slow where D^T D is
    singular. It ends by the gap between z and the dual point rho q = p - D x, scaled to be feasible.
    """
    _, tolerance, most, every = rule
    atoms, entries, relaxation = len(w.x), len(signal), 1.7
    u, moved, out, image = w.point, w.last, w.gx, w.image
    q, rest, u_image = short
    _image(w.x, columns, image)
    u[:] = 0.0
    u_image[:] = 0.0
    for i in range(entries):
        q[i] = (signal[i] - image[i]) / rho
    out[:] = 0.0
    _back(rows, q, out)
    done = 0
    while True:
        if done % every == 0 or done == most:
            residual = inner = length = 0.0
            for i in range(entries):
                residual += 0.5 * (signal[i] - image[i]) ** 2
                inner += rho * q[i] * signal[i]
                length += rho * q[i] * rho * q[i]
            for j in range(atoms):
                w.dual[j] = max(rho * out[j], 0.0) if positive else rho * out[j]
            penalty = lam * tree_value(w.x, layout, infinity, w.work)
            value = residual + penalty
            gap = _excess_of(value, inner, length, lam, dual_norm(w.dual, layout, lam, infinity, w.work, w.factor))
            if gap <= tolerance * value or done == most:
                return residual, penalty, gap, done
        for i in range(entries):
            rest[i] = signal[i] - image[i] + u_image[i]
        q[:] = 0.0
        _back(inverse, rest, q)
        out[:] = 0.0
        _back(rows, q, out)
        for j in range(atoms):
            moved[j] = w.x[j] + u[j] + relaxation * (out[j] - u[j])
        for j in range(atoms):
            w.x[j] = moved[j]
        prox(w.x, layout, lam / rho, infinity, positive, w.work, w.factor)
        for j in range(atoms):
            u[j] = moved[j] - w.x[j]
        for i in range(entries):  # D D^T q = rest - rho q
            u_image[i] += image[i] + relaxation * (rest[i] - rho * q[i] - u_image[i])
        _image(w.x, columns, image)
        for i in range(entries):
            u_image[i] -= image[i]
        done += 1


@called("d[,] d[,] ?[,] d[,] TREE_CODES -> d[,]")
@allocating
def code_masked(X, P, mask, D, layout, lam, lipschitz, infinity, positive, rule):
    """Code dense signals of which only the entries in the mask are known (P is zero elsewhere), as `code_rows`.

    With fewer entries than atoms by ADMM, and by FISTA where that has not ended after `PATIENCE` steps.
    """
    ends = np.empty((X.shape[0], 4))
    nothing, atoms = np.empty((0, 0)), X.shape[1]
    correlation = np.empty(atoms)
    by_gap, tolerance, most, every = rule
    outer, inverse, weight, inverted = nothing, nothing, 0.0, 0.0
    if by_gap and P.shape[1] < atoms:
        outer, weight = gram_matrix(D.T.copy()), lam / THRESHOLD * math.sqrt((D * D).sum(axis=0).max())
    for row in range(X.shape[0]):
        kept = np.flatnonzero(mask[row])
        rows = np.empty((len(kept), atoms))
        columns = np.empty((atoms, len(kept)))
        signal = np.empty(len(kept))
        correlation[:] = 0.0
        square = 0.0
        for i in range(len(kept)):
            signal[i] = P[row, kept[i]]
            square += signal[i] * signal[i]
            for j in range(atoms):
                rows[i, j] = D[kept[i], j]
                columns[j, i] = D[kept[i], j]
                correlation[j] += signal[i] * rows[i, j]
        w = _vectors(atoms, len(kept))
        w.x[:] = X[row]
        system = (nothing, rows, columns, True)
        spent, gap, limit, rho = 0, np.inf, 0.0, 0.0
        if 0.0 < square < 1e200:  # a power of two times weight, so that whole signals of about one length share it
            rho = weight * 2.0 ** -round(0.5 * math.log2(square))
        if rho > STEEPEST * lipschitz:
            if len(kept) < P.shape[1] or inverted != rho:
                inverse = outer[kept][:, kept]
                for i in range(len(kept)):
                    inverse[i, i] += rho
                _invert(inverse)
            inverted = rho if len(kept) == P.shape[1] else 0.0
            short = (np.empty(len(kept)), np.empty(len(kept)), np.empty(len(kept)))
            first = (by_gap, tolerance, min(most, PATIENCE), every)
            result = _admm(signal, columns, rows, inverse, rho, layout, lam, infinity, positive, first, w, short)
            spent, gap, limit = result[3], result[2], tolerance * (result[0] + result[1])
        if spent < most and not gap <= limit:
            steep = lipschitz if len(kept) == P.shape[1] else min(steepness_of(columns), lipschitz)
            rest = (by_gap, tolerance, most - spent, every)
            result = _fista(square, correlation, system, layout, lam, max(steep, 1e-300), infinity, positive, rest, w)
        ends[row, 0], ends[row, 1], ends[row, 2], ends[row, 3] = result[0], result[1], result[2], spent + result[3]
        X[row] = w.x
    return ends
