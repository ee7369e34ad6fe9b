"""Compiled reduction of one document to the terms and atoms that its exact code can use: screen, compact rows, units.

Only atoms with 2 g_j > c_j + lam can be in the code (c_j the mass of atom j, g_j its mass on supp(p)). What is left is
scaled by powers of two to order one, which loses no bit.
"""

import math
from typing import NamedTuple

import numpy as np

from odl.kernels.compiled import allocating, kernel

EPSILON = float(np.finfo(np.float64).eps)
TINY = 2.0**-66  # weights dropped, relative to documents and atoms of order one
SMALLEST = 2.0**-1000  # unit


class Work(NamedTuple):
    """Arrays reused from document to document; compact rows i (terms) and atoms j of the current document."""

    start: np.ndarray  # entries of row i are start[i]:start[i + 1]
    atom: np.ndarray  # compact atom of an entry
    weight: np.ndarray  # its value, scaled
    column: np.ndarray  # the same by atoms: entries of atom j are column[j]:column[j + 1]
    position_of: np.ndarray  # position of an entry in the document, then its row
    atom_of: np.ndarray
    weight_by_atom: np.ndarray
    count: np.ndarray  # entries at a position, then the place of the next one
    row: np.ndarray  # position -> row
    target: np.ndarray  # p_i, scaled
    residual: np.ndarray  # r_i = p_i - a_i x
    side: np.ndarray  # sign of r_i; a free choice where r_i = 0
    saved: np.ndarray  # p_i while the targets are shaken
    tight: np.ndarray  # r_i is a form held at zero (0 or 1)
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
    edges: np.ndarray  # columns, one edge each; only what the document's own atoms need is ever touched
    scale: np.ndarray  # of all atoms: powers of two
    inside: np.ndarray  # of all atoms: mass on the document's terms
    place: np.ndarray  # of all terms: position in the document and 1 more; 0 elsewhere


@allocating
def allocate(batch, by_term, n_atoms):
    """Return the arrays for any document of a batch."""
    (starts, terms, _), row_start = batch, by_term[0]
    rows = entries = 0
    for d in range(len(starts) - 1):
        size = 0
        for entry in range(starts[d], starts[d + 1]):
            size += row_start[terms[entry] + 1] - row_start[terms[entry]]
        rows, entries = max(rows, starts[d + 1] - starts[d]), max(entries, size)
    whole, real, flag = np.int64, np.float64, np.uint8
    return Work(
        np.zeros(rows + 1, whole),
        np.zeros(entries, whole),
        np.zeros(entries, real),
        np.zeros(n_atoms + 1, whole),
        np.zeros(entries, whole),
        np.zeros(entries, whole),
        np.zeros(entries, real),
        np.zeros(rows, whole),
        np.zeros(rows, whole),
        np.zeros(rows, real),
        np.zeros(rows, real),
        np.zeros(rows, real),
        np.zeros(rows, real),
        np.zeros(rows, flag),
        np.zeros(rows, real),
        np.zeros(rows, real),
        np.zeros(rows, whole),
        np.zeros(rows, flag),
        np.zeros(rows, real),
        np.zeros(rows, real),
        np.zeros(rows, real),
        np.zeros(n_atoms, whole),
        np.zeros(n_atoms, real),
        np.zeros(n_atoms, real),
        np.zeros(n_atoms, real),
        np.zeros(n_atoms, real),
        np.zeros(n_atoms, real),
        np.zeros(n_atoms, real),
        np.zeros(n_atoms, real),
        np.zeros(n_atoms, real),
        np.zeros(n_atoms, flag),
        np.zeros(n_atoms, whole),
        np.zeros(n_atoms, whole),
        np.empty(n_atoms * n_atoms, real),
        np.empty(n_atoms, real),
        np.empty(n_atoms, real),
        np.zeros(len(row_start), np.int32),
    )


@kernel
def power_of_two(value):
    """Return the power of two with value / power in [1, 2), at least `SMALLEST`."""
    _, exponent = math.frexp(value)
    return max(math.ldexp(1.0, exponent - 1), SMALLEST)


@kernel
def _screen(terms, values, by_term, mass, lam, work):
    """Sum each atom's mass inside supp(p); list the atoms with 2 g_j > c_j + lam (no other needs to be in a code)."""
    (start, atom, weight), inside = by_term, work.inside
    inside[:] = 0.0
    for position in range(len(terms)):
        if values[position] > 0.0:
            term = terms[position]
            for entry in range(start[term], start[term + 1]):
                inside[atom[entry]] += weight[entry]
    atoms = 0
    for j in range(len(mass)):
        if 2.0 * inside[j] > mass[j] + lam:
            work.names[atoms] = j
            atoms += 1
    return atoms


@kernel
def _collect(terms, values, by_atom, atoms, work):
    """List the entries of the kept atoms on supp(p), atom by atom; count them by position. Return their number."""
    start, term, weight = by_atom
    for position in range(len(terms)):
        work.count[position] = 0
        work.place[terms[position]] = position + 1 if values[position] > 0.0 else 0
    size = 0
    for j in range(atoms):
        name = work.names[j]
        inverse = 1.0 / work.scale[name]
        for entry in range(start[name], start[name + 1]):
            position = work.place[term[entry]] - 1
            if position >= 0 and weight[entry] * inverse > TINY:
                work.position_of[size] = position
                work.atom_of[size] = j
                work.weight_by_atom[size] = weight[entry] * inverse
                work.count[position] += 1
                size += 1
        work.column[j + 1] = size
    for position in range(len(terms)):
        work.place[terms[position]] = 0
    return size


@kernel
def _compact(values, unit, size, work):
    """Sort the entries listed by rows, in units where atoms and document are of order one.

    Returns the number of rows and the mass of p on the rows without entries, in the units of the document.
    """
    rows = total = 0
    rest = 0.0
    for position in range(len(values)):
        if work.count[position]:
            value = values[position] / unit
            work.target[rows] = value if value > TINY else 0.0
            work.start[rows] = total
            work.row[position] = rows
            rows += 1
            total, work.count[position] = total + work.count[position], total
        else:
            rest += values[position]
    work.start[rows] = total
    for entry in range(size):
        position = work.position_of[entry]
        target = work.count[position]
        work.atom[target] = work.atom_of[entry]
        work.weight[target] = work.weight_by_atom[entry]
        work.count[position] = target + 1
        work.position_of[entry] = work.row[position]
    return rows, rest


@kernel
def norm_of(values):
    """Return (l1 norm, largest value); a norm that differs from one by rounding only is one."""
    total = largest = 0.0
    for value in values:
        total += value
        largest = max(largest, value)
    if abs(total - 1.0) <= (4 + len(values)) * EPSILON:
        total = 1.0
    return total, largest


@kernel
def prepare(terms, values, by_term, by_atom, mass, lam, unit, work):
    """Screen and compact one document; return (rows, atoms, mass left out)."""
    atoms = _screen(terms, values, by_term, mass, lam, work)
    if atoms == 0:
        return 0, 0, 0.0
    for position in range(atoms):
        j = work.names[position]
        work.cost[position] = (max(mass[j] - work.inside[j], 0.0) + lam) / work.scale[j]
        work.bound[position] = (mass[j] + lam) / work.scale[j]
    rows, rest = _compact(values, unit, _collect(terms, values, by_atom, atoms, work), work)
    return rows, atoms, rest


@kernel
def write(atoms, unit, work, out_atom, out_value):
    """Write the positive codes in the given units, infinite if they leave the normal numbers; return how many."""
    used = 0
    for j in range(atoms):
        if work.code[j] > 0.0 and used < len(out_atom):
            out_atom[used] = work.names[j]
            value = work.code[j] * (unit / work.scale[work.names[j]])
            out_value[used] = value if value >= 2.0**-1022 else np.inf
            used += 1
    return used
