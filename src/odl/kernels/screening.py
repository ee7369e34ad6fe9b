"""Compiled reduction of one document to the terms and atoms that its exact code can use: screen, compact rows, units.

Only atoms with 2 g_j > c_j + lam can be in the code (c_j the mass of atom j, g_j its mass on supp(p)). What is left is
scaled by powers of two to order one, which loses no bit.
"""

import math
from typing import NamedTuple

import numpy as np

from odl.kernels.compiled import kernel


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


@kernel
def carve(rows, entries, atoms, real, whole, flags):
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


@kernel
def power_of_two(value, lowest):
    """Return the power of two with value / power in [1, 2), at least `lowest`."""
    _, exponent = math.frexp(value)
    return max(math.ldexp(1.0, exponent - 1), lowest)


@kernel
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


@kernel
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


@kernel
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


@kernel
def norm_of(values, epsilon):
    """Return (l1 norm, largest value); a norm that differs from one by rounding only is one."""
    total = largest = 0.0
    for value in values:
        total += value
        largest = max(largest, value)
    if abs(total - 1.0) <= (4 + len(values)) * epsilon:
        total = 1.0
    return total, largest


@kernel
def prepare(terms, values, by_term, by_atom, mass, scale, lam, unit, tiny, inside, place, work):
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


@kernel
def write(atoms, unit, scale, work, out_atom, out_value):
    """Write the positive codes in the given units, infinite if they leave the normal numbers; return how many."""
    used = 0
    for j in range(atoms):
        if work.code[j] > 0.0 and used < len(out_atom):
            out_atom[used] = work.names[j]
            value = work.code[j] * (unit / scale[work.names[j]])
            out_value[used] = value if value >= 2.0**-1022 else np.inf
            used += 1
    return used
