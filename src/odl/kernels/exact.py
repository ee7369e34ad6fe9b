"""Compiled kernels: exact L1 codes, projections, largest eigenvalue.

Functions that call each other share this file and constants are arguments: a cached kernel does not notice a
change in another file, and freezes module globals. Arrays come in checked (see `odl.coding.exact`). Those named in
`odl.kernels.native` allocate nothing, so that they can be compiled ahead of time into a library that needs no numba.

The coding kernel solves, for one document p with support S and the atoms that pass the screen,

    min_{x >= 0}  sum_{i in S} |p_i - a_i x| + sum_j d_j x_j,      d_j = c_j - g_j + lam,

with c_j the mass of atom j and g_j its mass on S. It is a simplex method in the manner of Barrodale and Roberts
(SIAM J. Numer. Anal. 1973): a vertex is given by as many *forms* held at zero as there are atoms, each form a
residual r_i = p_i - a_i x or a code x_j; an edge lets go of one form, and a piecewise linear line search follows
it through sign changes of residuals to the lowest point. The columns of `edges` are the directions along which
one form grows by one and the others stay.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

_compiled = njit(cache=True, nogil=True, error_model="numpy")  # what allocates
# Without numba's reference counts, which cost a third of the time: such a function must not allocate.
_plain = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
# Where a call would cost as much as its work: all of Work is passed by value.
_inlined = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)


class Work(NamedTuple):
    """Arrays reused from document to document; compact rows i (terms) and atoms j of the current document."""

    start: np.ndarray  # entries of row i are start[i]:start[i + 1]
    atom: np.ndarray  # compact atom of an entry
    weight: np.ndarray  # its value, scaled
    column: np.ndarray  # the same by atoms: entries of atom j are column[j]:column[j + 1]
    found_at: np.ndarray  # position of an entry in the document, then its row
    found_atom: np.ndarray
    found_weight: np.ndarray
    count: np.ndarray  # entries at a position, then the place of the next one
    row: np.ndarray  # position -> row
    target: np.ndarray  # p_i, scaled
    residual: np.ndarray  # r_i = p_i - a_i x
    side: np.ndarray  # sign of r_i; a free choice where r_i = 0
    saved: np.ndarray  # p_i while the targets are shaken
    held: np.ndarray  # r_i is a form held at zero (0 or 1)
    speed: np.ndarray  # growth of a_i x along the edge, in the touched rows
    size: np.ndarray  # the same with all terms positive, to tell rounding from speed
    touched: np.ndarray  # rows of the atoms that move
    seen: np.ndarray  # row is in the list
    hit: np.ndarray  # step at which r_i changes sign
    when: np.ndarray  # finite hits, in any order
    turn: np.ndarray  # change of slope at each
    names: np.ndarray  # compact atom -> atom
    cost: np.ndarray  # d_j
    bound: np.ndarray  # c_j + lam
    gradient: np.ndarray  # d_j - sum of side_i a_ij over rows not held
    code: np.ndarray  # x_j
    move: np.ndarray  # direction in x
    price: np.ndarray  # gradient along each edge
    length: np.ndarray  # squared length of each edge, or 1
    image: np.ndarray  # a row seen from each edge
    active: np.ndarray  # x_j is not a form held at zero
    form: np.ndarray  # row i of a held residual, or -1 - j of a held code
    slot: np.ndarray  # edge of a held code


@_plain
def _carve(rows, entries, atoms, real, whole, flags):
    """Cut the three buffers, of the sizes that `odl.coding.exact` knows, into the arrays of `Work`."""
    r, w = 2 * entries, 3 * entries
    q, v = r + 9 * rows, w + 4 * rows + 1
    u = v + atoms + 1
    return Work(
        whole[w : w + rows + 1],
        whole[:entries],
        real[:entries],
        whole[v:u],
        whole[entries : 2 * entries],
        whole[2 * entries : w],
        real[entries:r],
        whole[w + rows + 1 : w + 2 * rows + 1],
        whole[w + 2 * rows + 1 : w + 3 * rows + 1],
        real[r : r + rows],
        real[r + rows : r + 2 * rows],
        real[r + 2 * rows : r + 3 * rows],
        real[r + 3 * rows : r + 4 * rows],
        flags[:rows],
        real[r + 4 * rows : r + 5 * rows],
        real[r + 5 * rows : r + 6 * rows],
        whole[w + 3 * rows + 1 : v],
        flags[rows : 2 * rows],
        real[r + 6 * rows : r + 7 * rows],
        real[r + 7 * rows : r + 8 * rows],
        real[r + 8 * rows : q],
        whole[u : u + atoms],
        real[q : q + atoms],
        real[q + atoms : q + 2 * atoms],
        real[q + 2 * atoms : q + 3 * atoms],
        real[q + 3 * atoms : q + 4 * atoms],
        real[q + 4 * atoms : q + 5 * atoms],
        real[q + 5 * atoms : q + 6 * atoms],
        real[q + 6 * atoms : q + 7 * atoms],
        real[q + 7 * atoms : q + 8 * atoms],
        flags[2 * rows : 2 * rows + atoms],
        whole[u + atoms : u + 2 * atoms],
        whole[u + 2 * atoms : u + 3 * atoms],
    )


@_plain
def _power_of_two(value, lowest):
    """Return the power of two with value / power in [1, 2), at least `lowest`."""
    _, exponent = math.frexp(value)
    return max(math.ldexp(1.0, exponent - 1), lowest)


@_plain
def _screen(terms, values, a_start, a_atom, a_weight, mass, lam, inside, names):
    """Sum each atom's mass inside supp(p); list the atoms with 2 g_j > c_j + lam (no other needs to be in a code)."""
    inside[:] = 0.0
    for position in range(len(terms)):
        if values[position] > 0.0:
            term = terms[position]
            for entry in range(a_start[term], a_start[term + 1]):
                inside[a_atom[entry]] += a_weight[entry]
    kept = 0
    for j in range(len(mass)):
        if 2.0 * inside[j] > mass[j] + lam:
            names[kept] = j
            kept += 1
    return kept


@_plain
def _collect(terms, values, c_start, c_term, c_weight, scale, tiny, place, atoms, work):
    """List the entries of the kept atoms on supp(p), atom by atom; count them by position. Return their number."""
    for position in range(len(terms)):
        work.count[position] = 0
        place[terms[position]] = position + 1 if values[position] > 0.0 else 0
    found = 0
    for j in range(atoms):
        name = work.names[j]
        inverse = 1.0 / scale[name]
        for entry in range(c_start[name], c_start[name + 1]):
            position = place[c_term[entry]] - 1
            if position >= 0 and c_weight[entry] * inverse > tiny:
                work.found_at[found] = position
                work.found_atom[found] = j
                work.found_weight[found] = c_weight[entry] * inverse
                work.count[position] += 1
                found += 1
        work.column[j + 1] = found
    for position in range(len(terms)):
        place[terms[position]] = 0
    return found


@_plain
def _compact(values, unit, tiny, found, work):
    """Sort what was found by rows, in units where atoms and document are of order one.

    Returns the number of rows and the mass of p on the rows without entries, in the given units.
    """
    rows = total = 0
    rest = 0.0
    for position in range(len(values)):
        if work.count[position]:
            value = values[position] / unit
            work.target[rows] = value if value > tiny else 0.0
            work.start[rows] = total
            work.row[position] = rows
            rows += 1
            total, work.count[position] = total + work.count[position], total
        else:
            rest += values[position]
    work.start[rows] = total
    for entry in range(found):
        position = work.found_at[entry]
        target = work.count[position]
        work.atom[target] = work.found_atom[entry]
        work.weight[target] = work.found_weight[entry]
        work.count[position] = target + 1
        work.found_at[entry] = work.row[position]
    return rows, rest


@_plain
def _set_gradient(rows, atoms, work):
    for j in range(atoms):
        work.gradient[j] = work.cost[j]
    for i in range(rows):
        if not work.held[i]:
            for entry in range(work.start[i], work.start[i + 1]):
                work.gradient[work.atom[entry]] -= work.side[i] * work.weight[entry]


@_inlined
def _add_row(i, factor, work):
    for entry in range(work.start[i], work.start[i + 1]):
        work.gradient[work.atom[entry]] += factor * work.weight[entry]


@_plain
def _set_origin(rows, atoms, work, edges):
    """Start at x = 0, where every code is a held form."""
    for i in range(rows):
        work.residual[i] = work.target[i]
        work.side[i] = 1.0
        work.held[i] = False
    _clear_edges(atoms, work, edges)
    for j in range(atoms):
        work.code[j] = 0.0
        work.active[j] = False
    _set_gradient(rows, atoms, work)


@_plain
def _clear_edges(atoms, work, edges):
    for j in range(atoms):
        for k in range(atoms):
            edges[j * atoms + k] = 0.0
        edges[j * atoms + j] = 1.0
        work.form[j] = -1 - j
        work.slot[j] = j


@_inlined
def _set_prices(atoms, work, edges):
    """Fill `price` and, where many atoms make it worth while (steepest edges need fewer pivots), `length`."""
    many = atoms > 16
    for k in range(atoms):
        held_code = work.form[k] < 0
        work.price[k] = work.gradient[-1 - work.form[k]] if held_code else 0.0
        work.length[k] = 0.0 if many and not held_code else 1.0
    for j in range(atoms):
        if work.active[j]:
            factor = work.gradient[j]
            for k in range(atoms):
                work.price[k] += factor * edges[j * atoms + k]
            if many:
                for k in range(atoms):
                    work.length[k] += edges[j * atoms + k] * edges[j * atoms + k]


@_inlined
def _choose_edge(rows, atoms, work, tolerance, first_found):
    """Return the edge of steepest descent (or the first one, by Bland's order) as (edge, direction, slope)."""
    best, chosen, direction, order = 0.0, -1, 1.0, 2 * rows + atoms
    found = 0.0
    for k in range(atoms):
        form, price = work.form[k], work.price[k]
        slope, name, sign = price, -1 - form, 1.0
        if form >= 0:
            slope = 1.0 - abs(price)
            sign = 1.0 if price < 0.0 else -1.0
            name = atoms + 2 * form + (1 if sign > 0.0 else 0)
        if first_found:
            if slope < -tolerance and name < order:
                found, chosen, direction, order = slope, k, sign, name
        elif slope < -tolerance and slope * slope > best * work.length[k]:
            best, found, chosen, direction = slope * slope / work.length[k], slope, k, sign
    return chosen, direction, found


@_inlined
def _set_speed(atoms, edge, direction, work, edges, noise):
    """Fill `move`, `speed` and `hit` for the edge; return the number of rows touched and that of finite hits.

    The hits are also listed in `when`, `turn`. Moves and speeds that are zero but for rounding become zero: as
    pivots they would ruin the edges.
    """
    largest = 0.0
    for j in range(atoms):
        largest = max(largest, abs(edges[j * atoms + edge]))
    touched = 0
    for j in range(atoms):
        if abs(edges[j * atoms + edge]) <= noise * largest:
            edges[j * atoms + edge] = 0.0
        move = direction * edges[j * atoms + edge]
        work.move[j] = move
        if move != 0.0:
            for entry in range(work.column[j], work.column[j + 1]):
                i = work.found_at[entry]
                if not work.held[i]:
                    if not work.seen[i]:
                        work.seen[i], work.speed[i], work.size[i] = True, 0.0, 0.0
                        work.touched[touched] = i
                        touched += 1
                    part = work.found_weight[entry] * move
                    work.speed[i] += part
                    work.size[i] += abs(part)
    hits = 0
    for position in range(touched):
        i = work.touched[position]
        work.seen[i], work.hit[i] = False, np.inf
        speed = work.speed[i]
        if abs(speed) <= noise * work.size[i]:
            work.speed[i] = 0.0
        elif speed * work.side[i] > 0.0:
            work.hit[i] = work.residual[i] / speed
            work.when[hits] = work.hit[i]
            work.turn[hits] = 2.0 * abs(speed)
            hits += 1
    return touched, hits


@_plain
def _lowest_point(when, turn, count, slope):
    """Return the smallest step at which slope + sum(turn up to there) >= 0, infinite if there is none.

    A weighted selection: three-way partitions around a middle value, O(count) on average.
    """
    low, high = 0, count
    while low < high:
        a, b, c = when[low], when[(low + high) // 2], when[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        below, position, above = low, low, high
        left = middle = 0.0
        while position < above:
            value, change = when[position], turn[position]
            if value < pivot:
                when[position], turn[position] = when[below], turn[below]
                when[below], turn[below] = value, change
                left += change
                below += 1
                position += 1
            elif value > pivot:
                above -= 1
                when[position], turn[position] = when[above], turn[above]
                when[above], turn[above] = value, change
            else:
                middle += change
                position += 1
        if slope + left >= 0.0 and below > low:
            high = below
        elif slope + left + middle >= 0.0:
            return pivot
        else:
            slope += left + middle
            low = above
    return np.inf


@_inlined
def _blocking(rows, atoms, touched, hits, slope, work, nearness, first_found):
    """Return (step, form): how far to go along the edge and the form that is held at zero from there on.

    Codes are hard bounds. Of forms that block together the fastest is taken (the stablest pivot), or the first in
    Bland's order. A step that is infinite means that rounding hides the bound.
    """
    limit = np.inf
    for j in range(atoms):
        if work.active[j] and work.move[j] < 0.0:
            limit = min(limit, work.code[j] / -work.move[j])
    if first_found:
        step = limit
        for position in range(hits):
            step = min(step, work.when[position])
    else:
        step = min(limit, _lowest_point(work.when, work.turn, hits, slope))
    if step == np.inf:
        return step, 0
    margin = step * nearness
    best, form, order = 0.0, 0, 2 * rows + atoms
    for j in range(atoms):
        if work.active[j] and work.move[j] < 0.0 and work.code[j] / -work.move[j] <= step + margin:
            if first_found and j < order:
                form, order = -1 - j, j
            elif not first_found and -work.move[j] > best:
                best, form = -work.move[j], -1 - j
    if form < 0 and (first_found or limit <= step):
        return step, form
    best, form = 0.0, 0
    for position in range(touched):
        i = work.touched[position]
        if abs(work.hit[i] - step) <= margin:
            name = atoms + 2 * i + (0 if work.side[i] > 0.0 else 1)
            if first_found and name < order:
                form, order = i, name
            elif not first_found and abs(work.speed[i]) > best:
                best, form = abs(work.speed[i]), i
    return step, form


@_inlined
def _advance(atoms, touched, step, slope, form, work, rounding, first_found):
    """Move codes and residuals by `step`; the sides of residuals that changed sign flip."""
    for j in range(atoms):
        if work.move[j] != 0.0:
            change = step * work.move[j]
            value = work.code[j] + change
            work.code[j] = value if value > rounding * abs(change) else 0.0
    zeros = 0
    for position in range(touched):
        i = work.touched[position]
        if work.speed[i] != 0.0:
            change, before = step * work.speed[i], work.residual[i]
            value = before - change
            if abs(value) <= rounding * (work.target[i] + abs(before) + abs(change)):
                value = 0.0
                zeros += 1
            work.residual[i] = value
            if value * work.side[i] < 0.0:
                slope += 2.0 * abs(work.speed[i])
                _add_row(i, 2.0 * work.side[i], work)
                work.side[i] = -work.side[i]
    if zeros > 1 and not first_found:
        for position in range(touched):
            i = work.touched[position]
            if work.residual[i] == 0.0 and i != form and work.side[i] * work.speed[i] > 0.0:
                turn = 2.0 * abs(work.speed[i])
                if slope + turn <= 0.0:
                    slope += turn
                    _add_row(i, 2.0 * work.side[i], work)
                    work.side[i] = -work.side[i]


@_inlined
def _see(form, atoms, work, edges):
    """Fill `image`: how much a form grows along each edge."""
    if form < 0:
        row = (-1 - form) * atoms
        for k in range(atoms):
            work.image[k] = edges[row + k]
        return
    for k in range(atoms):
        work.image[k] = 0.0
    for entry in range(work.start[form], work.start[form + 1]):
        j, factor = work.atom[entry], work.weight[entry]
        if work.active[j]:
            for k in range(atoms):
                work.image[k] += factor * edges[j * atoms + k]
        else:
            work.image[work.slot[j]] += factor


@_inlined
def _exchange(edge, form, atoms, work, edges):
    """Let go of the form at `edge` and hold `form`, whose `image` is set: one elimination step on `edges`."""
    pivot = work.image[edge]
    for j in range(atoms):
        factor = edges[j * atoms + edge]
        if factor != 0.0:
            factor /= pivot
            for k in range(atoms):
                edges[j * atoms + k] -= factor * work.image[k]
            edges[j * atoms + edge] = factor
    work.form[edge] = form


@_inlined
def _let_go(edge, direction, work):
    form = work.form[edge]
    if form < 0:
        work.active[-1 - form] = True
    else:
        work.held[form] = False
        work.residual[form] = 0.0
        work.side[form] = -direction
        _add_row(form, direction, work)


@_inlined
def _hold(edge, form, atoms, work, edges):
    _see(form, atoms, work, edges)
    _exchange(edge, form, atoms, work, edges)
    if form >= 0:
        work.held[form] = True
        work.residual[form] = 0.0
        _add_row(form, work.side[form], work)
        return
    j = -1 - form
    work.active[j] = False
    work.slot[j] = edge
    work.code[j] = 0.0
    for k in range(atoms):
        edges[j * atoms + k] = 0.0
    edges[j * atoms + edge] = 1.0


@_plain
def _descend(rows, atoms, work, edges, limit, route, tolerance, rounding, noise):
    """Follow edges until none descends, or `limit` pivots.

    A long run of steps of length zero ends route 0; later routes go on by Bland's rule, which ends any cycle.
    """
    idle = 0
    for _ in range(limit):
        first_found = idle > 10 + atoms
        if first_found and route == 0:
            break
        _set_prices(atoms, work, edges)
        edge, direction, slope = _choose_edge(rows, atoms, work, tolerance, first_found)
        if edge < 0:
            return
        _let_go(edge, direction, work)
        touched, hits = _set_speed(atoms, edge, direction, work, edges, noise)
        step, form = _blocking(rows, atoms, touched, hits, slope, work, rounding, first_found)
        if step == np.inf:
            break
        _advance(atoms, touched, step, slope, form, work, rounding, first_found)
        _hold(edge, form, atoms, work, edges)
        idle = idle + 1 if step <= 0.0 else 0
    _set_prices(atoms, work, edges)


@_plain
def _shake(rows, work, size):
    """Move the targets by up to `size` in all, always in the same way, so that no two events coincide."""
    state = 1
    for i in range(rows):
        state = state * 48271 % 2147483647
        work.saved[i] = work.target[i]
        work.target[i] += size * (state / 2147483647) / rows


@_plain
def _refresh(rows, atoms, work, edges, rounding):
    """Recompute edges, codes, residuals and gradient of the current vertex from the data."""
    _clear_edges(atoms, work, edges)
    for i in range(rows):
        if work.held[i]:
            _see(i, atoms, work, edges)
            edge, size = -1, 0.0
            for k in range(atoms):
                if work.form[k] < 0 and work.active[-1 - work.form[k]] and abs(work.image[k]) > size:
                    edge, size = k, abs(work.image[k])
            if edge < 0:
                work.held[i], work.side[i] = False, 1.0
            else:
                _exchange(edge, i, atoms, work, edges)
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
    _set_gradient(rows, atoms, work)


@_plain
def _residual(i, work):
    """Return (p_i - a_i x, p_i + a_i x)."""
    fitted = 0.0
    for entry in range(work.start[i], work.start[i + 1]):
        fitted += work.weight[entry] * work.code[work.atom[entry]]
    return work.target[i] - fitted, work.target[i] + fitted


@_plain
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


@_plain
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
        _set_origin(rows, atoms, work, edges)
        _descend(rows, atoms, work, edges, steps, route, tolerance, rounding, noise)
        if route == 1:
            for i in range(rows):
                work.target[i] = work.saved[i]
            _refresh(rows, atoms, work, edges, 1000.0 * rounding)
            _set_prices(atoms, work, edges)
        primal, gap = _certify(rows, atoms, work)
        if gap > accepted:
            _refresh(rows, atoms, work, edges, rounding)
            _descend(rows, atoms, work, edges, steps, route, tolerance, rounding, noise)
            primal, gap = _certify(rows, atoms, work)
        if gap <= accepted:
            break
    return primal, gap


@_plain
def _norm(values, epsilon):
    """Return (l1 norm, largest value); a norm that differs from one by rounding only is one."""
    total = largest = 0.0
    for value in values:
        total += value
        largest = max(largest, value)
    if abs(total - 1.0) <= (4 + len(values)) * epsilon:
        total = 1.0
    return total, largest


@_plain
def _prepare(terms, values, by_term, by_atom, mass, scale, lam, unit, tiny, inside, place, work):
    """Screen and compact one document; return (rows, atoms, mass left out)."""
    atoms = _screen(terms, values, by_term[0], by_term[1], by_term[2], mass, lam, inside, work.names)
    if atoms == 0:
        return 0, 0, 0.0
    for position in range(atoms):
        j = work.names[position]
        work.cost[position] = (max(mass[j] - inside[j], 0.0) + lam) / scale[j]
        work.bound[position] = (mass[j] + lam) / scale[j]
    found = _collect(terms, values, by_atom[0], by_atom[1], by_atom[2], scale, tiny, place, atoms, work)
    rows, rest = _compact(values, unit, tiny, found, work)
    return rows, atoms, rest


@_plain
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
    work, used = _carve(rows, entries, len(mass), real, whole, flags), 0
    for j in range(len(mass)):
        scale[j] = _power_of_two(mass[j], smallest)
    for d in range(last - first):
        terms = p_term[p_start[first + d] : p_start[first + d + 1]]
        values = p_value[p_start[first + d] : p_start[first + d + 1]]
        objective[d], largest = _norm(values, epsilon)
        unit = _power_of_two(largest, smallest)
        kept, atoms, rest = _prepare(terms, values, by_term, by_atom, mass, scale, lam, unit, tiny, inside, place, work)
        if atoms == 0:
            continue
        enough = accepted * (objective[d] / unit)
        primal, gap = _solve(kept, atoms, work, edges, limit, tolerance, rounding, noise, enough)
        gaps[d], failed[d], value = gap * unit, not gap <= enough, rest + primal * unit
        if value >= objective[d]:
            continue
        objective[d] = value
        lengths[d] = _write(atoms, unit, scale, work, out_atom[used:], out_value[used:])
        used += lengths[d]
    return used


@_plain
def _write(atoms, unit, scale, work, out_atom, out_value):
    """Write the positive codes in the given units, infinite if they leave the normal numbers; return how many."""
    used = 0
    for j in range(atoms):
        if work.code[j] > 0.0 and used < len(out_atom):
            out_atom[used] = work.names[j]
            value = work.code[j] * (unit / scale[work.names[j]])
            out_value[used] = value if value >= 2.0**-1022 else np.inf
            used += 1
    return used


@_plain
def project_columns(start, values, distance, epsilon):
    """Project each column values[start[j]:start[j + 1]] on {a >= 0, sum(a) <= 1}, in place (see `odl.prox.columns`).

    `distance` is work space as long as the longest column.
    """
    for j in range(len(start) - 1):
        column = values[start[j] : start[j + 1]]
        total, largest = 0.0, 0.0
        for i in range(len(column)):
            if not column[i] > 0.0:
                column[i] = 0.0
            total += column[i]
            largest = max(largest, column[i])
        count = 0
        for i in range(len(column)):
            count += column[i] > 0.0
        if total > 1.0 + count * epsilon:
            _project_on_simplex(column, distance, largest, epsilon)


@_plain
def _sink(heap, place, length):
    """Let the value at `place` sink to where it belongs in a heap with the smallest value on top."""
    value = heap[place]
    while 2 * place + 1 < length:
        child = 2 * place + 1
        if child + 1 < length and heap[child + 1] < heap[child]:
            child += 1
        if not heap[child] < value:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = value


@_plain
def _project_on_simplex(column, distance, largest, epsilon):
    """Subtract theta and clip, where theta makes the sum one; values are taken from the largest, against rounding."""
    length = 0
    for i in range(len(column)):
        if column[i] > largest - 1.0:
            distance[length] = largest - column[i]
            length += 1
    for place in range(length // 2 - 1, -1, -1):
        _sink(distance, place, length)
    total, theta, count = 0.0, 0.0, 0
    while length > 0:
        total += distance[0]
        count += 1
        candidate = (1.0 + total) / count
        length -= 1
        distance[0] = distance[length]
        _sink(distance, 0, length)
        if length == 0 or distance[0] >= candidate:
            theta = candidate
            break
    for i in range(len(column)):
        column[i] = max(theta - (largest - column[i]), 0.0)
    while True:
        total, count, top = 0.0, 0, 0
        for i in range(len(column)):
            total += column[i]
            count += column[i] > 0.0
            if column[i] > column[top]:
                top = i
        if total <= 1.0 + count * epsilon:
            return
        column[top] -= max(total - 1.0, epsilon)


@_compiled
def largest_eigenvalue(start, index, value, columns, limit, tolerance):
    """Return the largest eigenvalue of M^T M, M a non-negative CSR matrix, by power iteration from ones."""
    vector, before = np.ones(columns), 0.0
    for _ in range(limit):
        image = np.zeros(columns)
        for i in range(len(start) - 1):
            product = 0.0
            for entry in range(start[i], start[i + 1]):
                product += value[entry] * vector[index[entry]]
            for entry in range(start[i], start[i + 1]):
                image[index[entry]] += value[entry] * product
        length = np.sqrt(np.sum(image * image))
        if length == 0.0:
            return 0.0
        estimate = np.sum(image * vector) / np.sum(vector * vector)
        vector = image / length
        if abs(estimate - before) <= tolerance * estimate:
            return estimate
        before = estimate
    return before
