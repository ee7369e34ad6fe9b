"""Compiled exact L1 codes (see `odl.coding.exact`, where arrays are checked).

The kernel solves, for one document p with support S and the atoms that pass the screen,

    min_{x >= 0}  sum_{i in S} |p_i - a_i x| + sum_j d_j x_j,      d_j = c_j - g_j + lam,

with c_j the mass of atom j and g_j its mass on S. It is a simplex method in the manner of Barrodale and Roberts
(SIAM J. Numer. Anal. 1973): an edge of the vertex (`odl.kernels.edge_prices`) lets go of one form held at zero, and a
piecewise linear line search follows it through sign changes of residuals to the lowest point.
"""

import numpy as np

from odl.kernels.compiled import allocating, called, kernel
from odl.kernels.edge_prices import (
    ROUNDING,
    advance,
    blocking,
    choose_edge,
    clear_edges,
    exchange,
    hold,
    let_go,
    see,
    set_gradient,
    set_origin,
    set_prices,
    set_speed,
)
from odl.kernels.screening import allocate, norm_of, power_of_two, prepare, write

ACCEPTED = 1e-11  # gap, relative to the document


@kernel
def _descend(atoms, work, limit):
    """Follow edges until none descends, a long run of steps has length zero (it may be a cycle), or `limit` pivots."""
    idle = 0
    for _ in range(limit):
        if idle > 10 + atoms:
            break
        set_prices(atoms, work)
        edge, direction, slope = choose_edge(atoms, work)
        if edge < 0:
            return
        let_go(edge, direction, work)
        touched, hits = set_speed(atoms, edge, direction, work)
        step, form = blocking(atoms, touched, hits, slope, work)
        if step == np.inf:
            break
        advance(atoms, touched, step, slope, form, work)
        hold(edge, form, atoms, work)
        idle = idle + 1 if step <= 0.0 else 0
    set_prices(atoms, work)


@kernel
def _shake(rows, work, size):
    """Move the targets by up to `size` in all, always in the same way, so that no two events coincide."""
    state = 1
    for i in range(rows):
        state = state * 48271 % 2147483647
        work.saved[i] = work.target[i]
        work.target[i] += size * (state / 2147483647) / rows


@kernel
def _refresh(rows, atoms, work, rounding):
    """Recompute edges, codes, residuals and gradient of the current vertex from the data."""
    clear_edges(atoms, work)
    for i in range(rows):
        if work.tight[i]:
            see(i, atoms, work)
            edge, size = -1, 0.0
            for k in range(atoms):
                if work.form[k] < 0 and work.active[-1 - work.form[k]] and abs(work.image[k]) > size:
                    edge, size = k, abs(work.image[k])
            if edge < 0:
                work.tight[i], work.side[i] = False, 1.0
            else:
                exchange(edge, i, atoms, work)
    for j in range(atoms):
        value = 0.0
        for k in range(atoms):
            if work.form[k] >= 0:
                value += work.edges[j * atoms + k] * work.target[work.form[k]]
        work.code[j] = max(value, 0.0)
    for k in range(atoms):
        if work.form[k] < 0:
            work.active[-1 - work.form[k]] = False
            work.code[-1 - work.form[k]] = 0.0
    for i in range(rows):
        value, size = _residual(i, work)
        work.residual[i] = value if abs(value) > rounding * size and not work.tight[i] else 0.0
        if work.residual[i] != 0.0:
            work.side[i] = 1.0 if value > 0.0 else -1.0
    set_gradient(rows, atoms, work)


@kernel
def _residual(i, work):
    """Return (p_i - a_i x, p_i + a_i x)."""
    fitted = 0.0
    for entry in range(work.start[i], work.start[i + 1]):
        fitted += work.weight[entry] * work.code[work.atom[entry]]
    return work.target[i] - fitted, work.target[i] + fitted


@kernel
def _certify(rows, atoms, work):
    """Return the primal objective of the codes, and its distance from a feasible dual value.

    Dual: max p^T y - ||p||_1 over 0 <= y <= 2, A^T y <= c + lam; y = 1 + side, or 1 + price where held, is
    clipped and scaled until it is feasible.
    """
    for k in range(atoms):
        if work.form[k] >= 0:
            work.side[work.form[k]] = min(max(work.price[k], -1.0), 1.0)
    primal = total = value = 0.0
    for j in range(atoms):
        primal += work.cost[j] * work.code[j]
        work.image[j] = 0.0
    for i in range(rows):
        primal += abs(_residual(i, work)[0])
        y = 1.0 + work.side[i]
        total += work.target[i]
        value += work.target[i] * y
        if y > 0.0:
            for entry in range(work.start[i], work.start[i + 1]):
                work.image[work.atom[entry]] += y * work.weight[entry]
    shrink = 1.0
    for j in range(atoms):
        if shrink * work.image[j] > work.bound[j]:
            shrink = work.bound[j] / work.image[j]
    return primal, max(primal - (shrink * value - total), 0.0)


@kernel
def _solve(rows, atoms, work, limit, accepted):
    """Fill `code`; return (objective on the compact rows, gap).

    Two routes, each checked by its certificate: plain; on shaken targets, whose last vertex is then read with the true
    ones. Each has a second try after recomputing its last vertex.
    """
    primal, gap = np.inf, np.inf
    steps = limit if limit >= 0 else 100 + 20 * (rows + atoms)
    for shaken in (False, True):
        if shaken:
            _shake(rows, work, 0.1 * accepted)
        set_origin(rows, atoms, work)
        _descend(atoms, work, steps)
        if shaken:
            for i in range(rows):
                work.target[i] = work.saved[i]
            _refresh(rows, atoms, work, 1000.0 * ROUNDING)
            set_prices(atoms, work)
        primal, gap = _certify(rows, atoms, work)
        if gap > accepted:
            _refresh(rows, atoms, work, ROUNDING)
            _descend(atoms, work, steps)
            primal, gap = _certify(rows, atoms, work)
        if gap <= accepted:
            break
    return primal, gap


@called("(ROWS) (ROWS) (ROWS) d[] d l -> (l[] i[] d[] d[] d[] ?[])")
@allocating
def code_documents(batch, by_term, by_atom, mass, lam, limit):
    """Code documents on a dictionary (terms x atoms), which comes as CSR and as CSC, with the mass of each atom.

    Parameters
    ----------
    limit : int
        Bound of pivots; -1: by size.

    Returns
    -------
    lengths, atoms, values : of the codes
    objective, gaps : ndarray of float64
    failed : ndarray of bool
        Whether the gap is too large.
    """
    starts, terms, weights = batch
    count, used, most = len(starts) - 1, 0, 0
    for d in range(count):
        most += min(starts[d + 1] - starts[d], len(mass))  # a vertex has no more codes than terms
    lengths, atom, value = np.zeros(count, np.int64), np.empty(most, np.int32), np.empty(most)
    objective, gaps, failed = np.zeros(count), np.zeros(count), np.zeros(count, np.bool_)
    work = allocate(batch, by_term, len(mass))
    for j in range(len(mass)):
        work.scale[j] = power_of_two(mass[j])
    for d in range(count):
        own, values = terms[starts[d] : starts[d + 1]], weights[starts[d] : starts[d + 1]]
        objective[d], largest = norm_of(values)
        unit = power_of_two(largest)
        rows, atoms, rest = prepare(own, values, by_term, by_atom, mass, lam, unit, work)
        if atoms == 0:
            continue
        enough = ACCEPTED * (objective[d] / unit)
        primal, gap = _solve(rows, atoms, work, limit, enough)
        gaps[d], failed[d] = gap * unit, not gap <= enough
        if not rest + primal * unit >= objective[d]:  # or no number
            objective[d] = rest + primal * unit
            lengths[d] = write(atoms, unit, work, atom[used:], value[used:])
            used += lengths[d]
    return lengths, atom[:used], value[:used], objective, gaps, failed
