"""Compiled edges of the exact L1 codes: their prices, the one to follow, how far, and the exchange at its end.

A vertex is given by as many *forms* held at zero as there are atoms, each form a residual r_i = p_i - a_i x or a code
x_j. The columns of `edges` are the directions along which one form grows by one and the others stay.
"""

import numpy as np

from odl.kernels.compiled import inlined, kernel

# Relative to documents and atoms of order one.
TOLERANCE = 1e-12  # of slopes
ROUNDING = 1e-14  # of residuals
NOISE = 1e-10  # in directions


@kernel
def set_gradient(rows, atoms, work):
    for j in range(atoms):
        work.gradient[j] = work.cost[j]
    for i in range(rows):
        if not work.tight[i]:
            for entry in range(work.start[i], work.start[i + 1]):
                work.gradient[work.atom[entry]] -= work.side[i] * work.weight[entry]


@inlined
def _add_row(i, factor, work):
    for entry in range(work.start[i], work.start[i + 1]):
        work.gradient[work.atom[entry]] += factor * work.weight[entry]


@kernel
def set_origin(rows, atoms, work):
    """Start at x = 0, where every code is a held form."""
    for i in range(rows):
        work.residual[i] = work.target[i]
        work.side[i] = 1.0
        work.tight[i] = False
    clear_edges(atoms, work)
    for j in range(atoms):
        work.code[j] = 0.0
        work.active[j] = False
    set_gradient(rows, atoms, work)


@kernel
def clear_edges(atoms, work):
    for j in range(atoms):
        for k in range(atoms):
            work.edges[j * atoms + k] = 0.0
        work.edges[j * atoms + j] = 1.0
        work.form[j] = -1 - j
        work.slot[j] = j


@inlined
def set_prices(atoms, work):
    """Fill `price` and, where many atoms make it worth while (steepest edges need fewer pivots), `length`."""
    many = atoms > 16
    for k in range(atoms):
        tight_code = work.form[k] < 0
        work.price[k] = work.gradient[-1 - work.form[k]] if tight_code else 0.0
        work.length[k] = 0.0 if many and not tight_code else 1.0
    for j in range(atoms):
        if work.active[j]:
            factor = work.gradient[j]
            for k in range(atoms):
                work.price[k] += factor * work.edges[j * atoms + k]
            if many:
                for k in range(atoms):
                    work.length[k] += work.edges[j * atoms + k] * work.edges[j * atoms + k]


@inlined
def choose_edge(atoms, work):
    """Return the edge of steepest descent as (edge, direction, slope); -1 where none descends."""
    best, edge, direction, steepest = 0.0, -1, 1.0, 0.0
    for k in range(atoms):
        slope, sign = work.price[k], 1.0
        if work.form[k] >= 0:
            sign = 1.0 if slope < 0.0 else -1.0
            slope = 1.0 - abs(slope)
        if slope < -TOLERANCE and slope * slope > best * work.length[k]:
            best, steepest, edge, direction = slope * slope / work.length[k], slope, k, sign
    return edge, direction, steepest


@inlined
def set_speed(atoms, edge, direction, work):
    """Fill `move`, `speed` and `hit` for the edge; return the number of rows touched and that of finite hits.

    The hits are also listed in `when`, `turn`. Moves and speeds that are zero but for rounding become zero: as
    pivots they would ruin the edges.
    """
    largest = 0.0
    for j in range(atoms):
        largest = max(largest, abs(work.edges[j * atoms + edge]))
    touched = 0
    for j in range(atoms):
        if abs(work.edges[j * atoms + edge]) <= NOISE * largest:
            work.edges[j * atoms + edge] = 0.0
        move = direction * work.edges[j * atoms + edge]
        work.move[j] = move
        if move != 0.0:
            for entry in range(work.column[j], work.column[j + 1]):
                i = work.position_of[entry]
                if not work.tight[i]:
                    if not work.seen[i]:
                        work.seen[i], work.speed[i], work.size[i] = True, 0.0, 0.0
                        work.touched[touched] = i
                        touched += 1
                    part = work.weight_by_atom[entry] * move
                    work.speed[i] += part
                    work.size[i] += abs(part)
    hits = 0
    for position in range(touched):
        i = work.touched[position]
        work.seen[i], work.hit[i] = False, np.inf
        speed = work.speed[i]
        if abs(speed) <= NOISE * work.size[i]:
            work.speed[i] = 0.0
        elif speed * work.side[i] > 0.0:
            work.hit[i] = work.residual[i] / speed
            work.when[hits] = work.hit[i]
            work.turn[hits] = 2.0 * abs(speed)
            hits += 1
    return touched, hits


@kernel
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


@inlined
def blocking(atoms, touched, hits, slope, work):
    """Return (step, form): how far to go along the edge and the form that is held at zero from there on.

    Codes are hard bounds. Of forms that block together the fastest is taken, the stablest pivot. A step that is
    infinite means that rounding hides the bound.
    """
    limit = np.inf
    for j in range(atoms):
        if work.active[j] and work.move[j] < 0.0:
            limit = min(limit, work.code[j] / -work.move[j])
    step = min(limit, _lowest_point(work.when, work.turn, hits, slope))
    if step == np.inf:
        return step, 0
    margin = step * ROUNDING
    fastest, form = 0.0, 0
    for j in range(atoms):
        if work.active[j] and work.code[j] / -work.move[j] <= step + margin and -work.move[j] > fastest:
            fastest, form = -work.move[j], -1 - j
    if form < 0 and limit <= step:
        return step, form
    fastest, form = 0.0, 0
    for position in range(touched):
        i = work.touched[position]
        if abs(work.hit[i] - step) <= margin and abs(work.speed[i]) > fastest:
            fastest, form = abs(work.speed[i]), i
    return step, form


@inlined
def advance(atoms, touched, step, slope, form, work):
    """Move codes and residuals by `step`; the sides of residuals that changed sign flip."""
    for j in range(atoms):
        if work.move[j] != 0.0:
            change = step * work.move[j]
            value = work.code[j] + change
            work.code[j] = value if value > ROUNDING * abs(change) else 0.0
    zeros = 0
    for position in range(touched):
        i = work.touched[position]
        if work.speed[i] != 0.0:
            change, before = step * work.speed[i], work.residual[i]
            value = before - change
            if abs(value) <= ROUNDING * (work.target[i] + abs(before) + abs(change)):
                value = 0.0
                zeros += 1
            work.residual[i] = value
            if value * work.side[i] < 0.0:
                slope += 2.0 * abs(work.speed[i])
                _add_row(i, 2.0 * work.side[i], work)
                work.side[i] = -work.side[i]
    if zeros > 1:
        for position in range(touched):
            i = work.touched[position]
            if work.residual[i] == 0.0 and i != form and work.side[i] * work.speed[i] > 0.0:
                turn = 2.0 * abs(work.speed[i])
                if slope + turn <= 0.0:
                    slope += turn
                    _add_row(i, 2.0 * work.side[i], work)
                    work.side[i] = -work.side[i]


@inlined
def see(form, atoms, work):
    """Fill `image`: how much a form grows along each edge."""
    if form < 0:
        row = (-1 - form) * atoms
        for k in range(atoms):
            work.image[k] = work.edges[row + k]
        return
    for k in range(atoms):
        work.image[k] = 0.0
    for entry in range(work.start[form], work.start[form + 1]):
        j, factor = work.atom[entry], work.weight[entry]
        if work.active[j]:
            for k in range(atoms):
                work.image[k] += factor * work.edges[j * atoms + k]
        else:
            work.image[work.slot[j]] += factor


@inlined
def exchange(edge, form, atoms, work):
    """Let go of the form at `edge` and hold `form`, whose `image` is set: one elimination step on `edges`."""
    pivot = work.image[edge]
    for j in range(atoms):
        factor = work.edges[j * atoms + edge]
        if factor != 0.0:
            factor /= pivot
            for k in range(atoms):
                work.edges[j * atoms + k] -= factor * work.image[k]
            work.edges[j * atoms + edge] = factor
    work.form[edge] = form


@inlined
def let_go(edge, direction, work):
    form = work.form[edge]
    if form < 0:
        work.active[-1 - form] = True
    else:
        work.tight[form] = False
        work.residual[form] = 0.0
        work.side[form] = -direction
        _add_row(form, direction, work)


@inlined
def hold(edge, form, atoms, work):
    see(form, atoms, work)
    exchange(edge, form, atoms, work)
    if form >= 0:
        work.tight[form] = True
        work.residual[form] = 0.0
        _add_row(form, work.side[form], work)
        return
    j = -1 - form
    work.active[j] = False
    work.slot[j] = edge
    work.code[j] = 0.0
    for k in range(atoms):
        work.edges[j * atoms + k] = 0.0
    work.edges[j * atoms + edge] = 1.0
