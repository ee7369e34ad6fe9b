"""Compiled exact L1 codes (see `odl.coding.exact`, where arrays are checked).

The kernel solves, for one document p with support S and the atoms that pass the screen,

    min_{x >= 0}  sum_{i in S} |p_i - a_i x| + sum_j d_j x_j,      d_j = c_j - g_j + lam,

with c_j the mass of atom j and g_j its mass on S. It is a simplex method in the manner of Barrodale and Roberts
(SIAM J. Numer. Anal. 1973): an edge of the vertex (`odl.kernels.edge_prices`) lets go of one form held at zero, and a
piecewise linear line search follows it through sign changes of residuals to the lowest point. Nothing is allocated, so
that `odl.jobs.compile` can make a library of it that needs no numba.
"""

import numpy as np

from odl.kernels.compiled import called, kernel
from odl.kernels.edge_prices import (
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
from odl.kernels.screening import carve, norm_of, power_of_two, prepare, write


@kernel
def _descend(rows, atoms, work, edges, limit, route, tolerance, rounding, noise):
    """Follow edges until none descends, or `limit` pivots.

    A long run of steps of length zero ends route 0; later routes go on by Bland's rule, which ends any cycle.
    """
    idle = 0
    for _ in range(limit):
        first_found = idle > 10 + atoms
        if first_found and route == 0:
            break
        set_prices(atoms, work, edges)
        edge, direction, slope = choose_edge(rows, atoms, work, tolerance, first_found)
        if edge < 0:
            return
        let_go(edge, direction, work)
        touched, hits = set_speed(atoms, edge, direction, work, edges, noise)
        step, form = blocking(rows, atoms, touched, hits, slope, work, rounding, first_found)
        if step == np.inf:
            break
        advance(atoms, touched, step, slope, form, work, rounding, first_found)
        hold(edge, form, atoms, work, edges)
        idle = idle + 1 if step <= 0.0 else 0
    set_prices(atoms, work, edges)


@kernel
def _shake(rows, work, size):
    """Move the targets by up to `size` in all, always in the same way, so that no two events coincide."""
    state = 1
    for i in range(rows):
        state = state * 48271 % 2147483647
        work.saved[i] = work.target[i]
        work.target[i] += size * (state / 2147483647) / rows


@kernel
def _refresh(rows, atoms, work, edges, rounding):
    """Recompute edges, codes, residuals and gradient of the current vertex from the data."""
    clear_edges(atoms, work, edges)
    for i in range(rows):
        if work.held[i]:
            see(i, atoms, work, edges)
            edge, size = -1, 0.0
            for k in range(atoms):
                if work.form[k] < 0 and work.active[-1 - work.form[k]] and abs(work.image[k]) > size:
                    edge, size = k, abs(work.image[k])
            if edge < 0:
                work.held[i], work.side[i] = False, 1.0
            else:
                exchange(edge, i, atoms, work, edges)
    for j in range(atoms):
        value = 0.0
        for k in range(atoms):
            if work.form[k] >= 0:
                value += edges[j * atoms + k] * work.target[work.form[k]]
        work.code[j] = max(value, 0.0)
    for k in range(atoms):
        if work.form[k] < 0:
            work.active[-1 - work.form[k]] = False
            work.code[-1 - work.form[k]] = 0.0
    for i in range(rows):
        value, size = _residual(i, work)
        work.residual[i] = value if abs(value) > rounding * size and not work.held[i] else 0.0
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
def _solve(rows, atoms, work, edges, limit, tolerance, rounding, noise, accepted):
    """Fill `code`; return (objective on the compact rows, gap).

    Three routes, each checked by its certificate: plain; on shaken targets, whose last vertex is then read with
    the true ones; plain again with Bland's rule. Each has a second try after recomputing its last vertex.
    """
    primal, gap = np.inf, np.inf
    steps = limit if limit >= 0 else 100 + 20 * (rows + atoms)
    for route in range(3):
        if route == 1:
            _shake(rows, work, 0.1 * accepted)
        set_origin(rows, atoms, work, edges)
        _descend(rows, atoms, work, edges, steps, route, tolerance, rounding, noise)
        if route == 1:
            for i in range(rows):
                work.target[i] = work.saved[i]
            _refresh(rows, atoms, work, edges, 1000.0 * rounding)
            set_prices(atoms, work, edges)
        primal, gap = _certify(rows, atoms, work)
        if gap > accepted:
            _refresh(rows, atoms, work, edges, rounding)
            _descend(rows, atoms, work, edges, steps, route, tolerance, rounding, noise)
            primal, gap = _certify(rows, atoms, work)
        if gap <= accepted:
            break
    return primal, gap


@called(
    "l l l[] u[] d[] l[] u[] d[] l[] u[] d[] d[] d l d[] l l d[] l[] b[] d[] d[] i[] d[] l[] i[] d[] d[] d[] b[] -> l"
)
@kernel
def code_documents(
    first,
    last,
    p_start,
    p_term,
    p_value,
    row_start,
    row_atom,
    row_weight,
    atom_start,
    atom_term,
    atom_weight,
    mass,
    lam,
    limit,
    settings,
    rows,
    entries,
    real,
    whole,
    flags,
    scale,
    inside,
    place,
    edges,
    lengths,
    out_atom,
    out_value,
    objective,
    gaps,
    failed,
):
    """Code documents first..last-1 on a dictionary (terms x atoms); return the number of entries of the codes.

    `p_*` are the arrays of a CSR batch, `row_*` and `atom_*` those of the dictionary as CSR and as CSC. `settings` is
    (tolerance, rounding, noise, accepted, tiny, smallest, epsilon); `limit` bounds pivots (-1: by size). `rows` and
    `entries` bound the terms and the dictionary entries of one document; `real` to `edges` are work space, zeros.
    Filled: row lengths, atoms and values of the codes, objective, gap, and whether the gap was too large.
    """
    tolerance, rounding, noise, accepted = settings[0], settings[1], settings[2], settings[3]
    tiny, smallest, epsilon = settings[4], settings[5], settings[6]
    by_term, by_atom = (row_start, row_atom, row_weight), (atom_start, atom_term, atom_weight)
    work, used = carve(rows, entries, len(mass), real, whole, flags), 0
    for j in range(len(mass)):
        scale[j] = power_of_two(mass[j], smallest)
    for d in range(last - first):
        terms = p_term[p_start[first + d] : p_start[first + d + 1]]
        values = p_value[p_start[first + d] : p_start[first + d + 1]]
        objective[d], largest = norm_of(values, epsilon)
        unit = power_of_two(largest, smallest)
        kept, atoms, rest = prepare(terms, values, by_term, by_atom, mass, scale, lam, unit, tiny, inside, place, work)
        if atoms == 0:
            continue
        enough = accepted * (objective[d] / unit)
        primal, gap = _solve(kept, atoms, work, edges, limit, tolerance, rounding, noise, enough)
        gaps[d], failed[d], value = gap * unit, not gap <= enough, rest + primal * unit
        if value >= objective[d]:
            continue
        objective[d] = value
        lengths[d] = write(atoms, unit, scale, work, out_atom[used:], out_value[used:])
        used += lengths[d]
    return used
