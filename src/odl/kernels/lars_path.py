"""Compiled kernels of the non-negative LARS path (see `odl.coding.lars`).

For one document p, with b = A^T p and G = A^T A, the codes of ``1/2 ||p - A x||_2^2 + mu sum(x)`` over x >= 0 are
piecewise linear in mu. On a piece with active atoms S and the Cholesky factor L of G_SS:

    x_S = u - mu w,   u = G_SS^-1 b_S,   w = G_SS^-1 1,
    ||p - A x||_2^2 = c + mu^2 d,   c = ||p||_2^2 - ||L^-1 b_S||_2^2,   d = ||L^-1 1||_2^2,
    a_j^T (p - A x) = alpha_j + mu beta_j,   beta = G_S^T w,   alpha = b - G_S^T u.

An atom enters where alpha_j + mu beta_j = mu and leaves where u_j = mu w_j. The norm objective stops at
mu = lam ||p - A x||_2, that is mu^2 (1 - lam^2 d) = lam^2 c; ||p - A x||_2 / mu falls along the path in mu, so there
is one such point.
"""

import math

import numpy as np

from odl.kernels.active_factor import allocate, append, backward, refine, remove, slopes
from odl.kernels.compiled import allocating, called, kernel


@kernel
def _event(count, current, level, work):
    """Return (mu, place, atom) of the next change: an active atom leaves from a place, or an atom enters."""
    mu, place, atom = 0.0, -1, -1
    for j in range(len(work.alpha)):
        margin = 1.0 - work.beta[j]
        if work.alpha[j] > mu * margin and margin > level and work.state[j] == 0:
            mu, atom = work.alpha[j] / margin, j
    mu = min(mu, current)
    for i in range(count):
        if work.turn[i] < 0.0 and work.fit[i] < 0.0:
            leaves = min(work.fit[i] / work.turn[i], current)
            if leaves > 0.0 and leaves >= mu:
                mu, place, atom = leaves, i, -1
    return mu, place, atom


@kernel
def _follow(terms, values, unit, columns, gram, square, lam, squared, work, settings):
    """Follow the path from mu = max b down to the stop; return (active atoms, mu, c, d)."""
    rounding, dependent, cancels, limit = settings
    count, current, largest = 0, np.inf, 0.0
    for j in range(len(work.product)):
        work.state[j] = 0
        largest = max(largest, work.product[j])
    for _ in range(int(limit) + 4 * len(work.product)):
        constant, growth = square, 0.0
        for i in range(count):
            constant -= work.image[i] * work.image[i]
            growth += work.ones[i] * work.ones[i]
        backward(count, work.factor, work.image, work.fit)
        backward(count, work.factor, work.ones, work.turn)
        slopes(count, gram, work)
        if constant < cancels * square:
            constant = refine(count, terms, values, unit, work, columns)
            if constant <= 100.0 * rounding * rounding * square:
                constant = 0.0
        stop = lam
        if not squared:
            left = 1.0 - lam * lam * growth
            stop = lam * math.sqrt(constant / left) if left > 0.0 else current
        mu, place, atom = _event(count, current, 10.0 * rounding, work)
        # A code that vanishes together with the residual leaves at mu = 0 up to the rounding of u.
        if mu <= stop or mu <= (1e4 if constant == 0.0 else 1.0) * rounding * largest:
            return count, min(stop, current), constant, growth
        current = mu
        if place >= 0:
            work.state[work.active[place]] = 0
            remove(place, count, gram, work)
            count -= 1
            for j in range(len(work.state)):
                work.state[j] &= 1  # dependence on atoms that may have left
        elif count + 1 < len(work.active) and append(atom, count, gram, work, dependent):
            work.state[atom] = 1
            count += 1
        else:
            work.state[atom] = 2
    return count, current, constant, growth


@kernel
def _gap(residual, mass, fitted, steepest, lam, squared):
    """Return the objective and its distance from the dual value of the residual, scaled into the feasible set.

    `fitted` is x^T A^T r, `steepest` the largest a_j^T r.
    """
    if squared:
        scale = lam / steepest if steepest > lam else 1.0
        value = 0.5 * residual * residual + lam * mass
        dual = scale * (residual * residual + fitted) - 0.5 * scale * scale * residual * residual
    else:
        scale = 1.0 / residual
        if steepest * scale > lam:
            scale = lam / steepest
        value = residual + lam * mass
        dual = scale * (residual * residual + fitted)
    return value, max(value - dual, 0.0)


@kernel
def _read(count, mu, constant, growth, gram, noise, lam, squared, work):
    """Write the code of a point of the path; return (residual norm, objective, gap).

    Without a penalty no scale moves a product a_j^T r above zero back, so one up to the length of the atom times
    `noise` counts as zero then.
    """
    work.code[:] = 0.0
    mass, fitted, steepest, spread = 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        j = work.active[i]
        value = max(work.fit[i] - mu * work.turn[i], 0.0)
        work.code[j] = value
        mass += value
        fitted += value * (work.alpha[j] + mu * work.beta[j])
    for j in range(len(work.code)):
        slope = work.alpha[j] + mu * work.beta[j]
        if lam > 0.0 or slope > noise * math.sqrt(gram[j, j]):
            steepest = max(steepest, slope)
        spread = max(spread, work.beta[j])
    residual = math.sqrt(constant + mu * mu * growth)
    if residual > 0.0 or squared:
        value, gap = _gap(residual, mass, fitted, steepest, lam, squared)
        return residual, value, gap
    # The document is in the span: the dual point is the direction in which the residual vanishes.
    dual = 0.0
    for i in range(count):
        dual += lam * work.turn[i] * work.product[work.active[i]]
    return residual, lam * mass, max(lam * mass - dual / max(1.0, spread), 0.0)


@kernel
def _document(terms, values, unit, rows, columns, gram, lam, squared, work, settings):
    """Code one document in units of `unit`; return (residual norm, objective, gap, squared norm)."""
    start, atom, weight = rows
    work.product[:] = 0.0
    square = 0.0
    for position in range(len(terms)):
        value = values[position] / unit
        square += value * value
        for entry in range(start[terms[position]], start[terms[position] + 1]):
            work.product[atom[entry]] += value * weight[entry]
    noise = 32.0 * settings[0] * math.sqrt(square)
    path = _follow(terms, values, unit, columns, gram, square, lam, squared, work, settings)
    residual, value, gap = _read(*path, gram, noise, lam, squared, work)
    return residual, value, gap, square


@called("(ROWS) (ROWS) (ROWS) d[,] d ? (d d d d) -> (l[] i[] d[] d[] d[] d[])")
@allocating
def code_documents(documents, by_term, by_atom, gram, lam, squared, settings):
    """Code the rows of a CSR batch (indptr, indices, data); the dictionary comes as CSR and as CSC.

    `settings` is (rounding, dependent, cancels, limit): relative noise, smallest squared sine of an atom to the
    active ones, share of ||p||^2 below which c is computed anew, and steps beyond four an atom.
    Returns row lengths, atoms and values of the codes, residual norm, objective and gap.
    """
    start, term, value = documents
    count, atoms = len(start) - 1, gram.shape[0]
    work, used = allocate(len(by_term[0]) - 1, atoms), 0
    lengths, residual, objective, gaps = np.zeros(count, np.int64), np.zeros(count), np.zeros(count), np.zeros(count)
    out_atom, out_value = np.empty(atoms + 32 * count, np.int32), np.empty(atoms + 32 * count)
    for d in range(count):
        terms, values = term[start[d] : start[d + 1]], value[start[d] : start[d + 1]]
        largest = np.abs(values).max() if len(values) else 0.0
        if largest == 0.0:
            continue
        unit = math.ldexp(1.0, math.frexp(largest)[1])
        weight = lam / unit if squared else lam
        coded = _document(terms, values, unit, by_term, by_atom, gram, weight, squared, work, settings)
        scale = unit * unit if squared else unit
        residual[d], objective[d], gaps[d] = coded[0] * unit, coded[1] * scale, coded[2] * scale
        if used + atoms > len(out_atom):
            out_atom = np.concatenate((out_atom, np.empty(len(out_atom) + atoms, np.int32)))
            out_value = np.concatenate((out_value, np.empty(len(out_value) + atoms)))
        first = used
        for j in range(atoms):
            if work.code[j] > 0.0:
                out_atom[used], out_value[used] = j, work.code[j] * unit
                used += 1
        lengths[d] = used - first
        norm = math.sqrt(coded[3]) * unit
        if used == first and abs(norm - 1.0) <= (4 + len(terms)) * settings[0]:
            residual[d], objective[d] = 1.0, 0.5 if squared else 1.0  # so that ties tie
    return lengths, out_atom[:used], out_value[:used], residual, objective, gaps
