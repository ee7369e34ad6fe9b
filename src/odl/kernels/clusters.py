"""Compiled kernels of the adaptive learner: documents join, open and merge atoms.

An atom j is the sum S_j of the documents that joined it, n_j of them. Neither sums nor documents move when atoms
merge: early sums, later ones and the documents of a block are pieces, of which each has an owner, and the inner product
of a document and an atom is the sum of those with its pieces (`odl.kernels.inverted`).

The cheapest pair to merge is found lazily. Atoms are numbered by the time of their last change. Row j of `gram` is
right for all atoms that changed before j, and `price[j]` is the least squared cost among these when j was searched; it
is that still if `partner[j]` has not changed since, otherwise a lower bound. So every pair is looked at by the one
that changed last, and a row is searched again only when its bound is the least of all.
"""

import math

import numpy as np

from odl.kernels import inverted
from odl.kernels.compiled import kernel

MERGE, JOIN, RETIRE = 0, 1, 2
ATOMS, TIME, START = 0, 1, 2  # in `counters`: slots in use, time, time at which all of `gram` was right
UNKNOWN = -2  # partner of an atom that has not been searched since it changed


@kernel
def _search(j, n_atoms, gram, documents, inverse, stamp, partner, price, cost, counters):
    """Find the atom that is cheapest to merge with j among those that changed before it; among equals the first."""
    if stamp[j] <= counters[START]:  # atoms of the start are in the order of their numbers
        n_atoms = j
    row, own, scale, time = gram[j], documents[j], inverse[j], stamp[j]
    for i in range(n_atoms):
        distance = 1.0 - row[i] * (scale * inverse[i])
        distance = distance if distance > 0.0 else 0.0
        value = distance * distance * (own * documents[i] / (own + documents[i]))
        cost[i] = value if stamp[i] < time and documents[i] > 0.0 else np.inf
    partner[j], price[j] = -1, np.inf
    if own > 0.0:
        for i in range(n_atoms):
            if cost[i] < price[j]:
                partner[j], price[j] = i, cost[i]


@kernel
def _is_right(j, stamp, partner):
    """Tell whether the price of an atom is that of its partner, or of nothing, rather than a bound."""
    return partner[j] == -1 or (partner[j] >= 0 and stamp[partner[j]] < stamp[j])


@kernel
def _cheapest(n_atoms, gram, documents, inverse, stamp, partner, price, cost, counters):
    """Return the atom whose price is the least; of equal pairs that of the first atom, then of the first other."""
    for j in range(n_atoms):
        if partner[j] == UNKNOWN:
            _search(j, n_atoms, gram, documents, inverse, stamp, partner, price, cost, counters)
    while True:
        found, equal = 0, 0
        for j in range(1, n_atoms):
            if price[j] < price[found]:
                found, equal = j, 0
            elif price[j] == price[found]:
                equal += 1
        if not _is_right(found, stamp, partner):
            _search(found, n_atoms, gram, documents, inverse, stamp, partner, price, cost, counters)
        elif equal == 0 or price[found] == np.inf:
            return found
        else:
            first = _first_of_equals(found, n_atoms, stamp, partner, price)
            if _is_right(first, stamp, partner):
                return first
            _search(first, n_atoms, gram, documents, inverse, stamp, partner, price, cost, counters)


@kernel
def _first_of_equals(found, n_atoms, stamp, partner, price):
    """Return an atom of the least price that must be searched again, or of the first pair that has it."""
    best, other = min(found, partner[found]), max(found, partner[found])
    for j in range(found + 1, n_atoms):
        if price[j] == price[found]:
            if not _is_right(j, stamp, partner):
                return j
            low, high = min(j, partner[j]), max(j, partner[j])
            if low < best or (low == best and high < other):
                found, best, other = j, low, high
    return found


@kernel
def _whole(j, n_atoms, gram, stamp, recent, counters):
    """Take into row j of `gram` what has changed after it."""
    since = max(stamp[j], counters[START])
    row = gram[j]
    if counters[TIME] - since < len(recent):
        place = since % len(recent)
        for _ in range(counters[TIME] - since):
            place = place + 1 if place + 1 < len(recent) else 0
            row[recent[place]] = gram[recent[place], j]
    else:
        for i in range(n_atoms):
            if stamp[i] > since:
                row[i] = gram[i, j]


@kernel
def _changed(j, stamp, recent, partner, counters):
    """Note that row j of `gram` is new."""
    counters[TIME] += 1
    stamp[j] = counters[TIME]
    recent[counters[TIME] % len(recent)] = j
    partner[j] = UNKNOWN


@kernel
def _least(n_atoms, documents, used):
    """Return the atom of the fewest documents; among equals the one not used for longest."""
    found = 0
    for j in range(1, n_atoms):
        if documents[j] < documents[found] or (documents[j] == documents[found] and used[j] < used[found]):
            found = j
    return found


@kernel
def _reassign(owner, pieces, old, new):
    """Note that the pieces of slot `old` are now part of slot `new` (-1: dropped)."""
    for piece in range(pieces):
        if owner[piece] == old:
            owner[piece] = new


@kernel
def _merge(gone, kept, n_atoms, gram, documents, squares, inverse, inner, stamp, recent, partner, counters):
    """Add atom `gone` to atom `kept`."""
    _whole(gone, n_atoms, gram, stamp, recent, counters)
    _whole(kept, n_atoms, gram, stamp, recent, counters)
    squares[kept] += squares[gone] + 2.0 * gram[kept, gone]
    inverse[kept] = 1.0 / math.sqrt(squares[kept]) if squares[kept] > 0.0 else 0.0
    row, other = gram[kept], gram[gone]
    for i in range(n_atoms):
        row[i] += other[i]
    documents[kept] += documents[gone]
    inner[kept] += inner[gone]
    _changed(kept, stamp, recent, partner, counters)


@kernel
def _make_room(
    nearest, cosine, pieces, full, owner, gram, documents, squares, inverse, used, birth, inner,
    stamp, recent, partner, price, cost, counters,
):  # fmt: skip
    """Free a slot for a document that is unlike every atom, or return -1 if it had better join the nearest one."""
    n_atoms = counters[ATOMS]
    if full == JOIN and nearest >= 0:
        return -1
    if full != MERGE or nearest < 0:
        gone = _least(n_atoms, documents, used)
        _reassign(owner, pieces, gone, -1)
        return gone
    gone = _cheapest(n_atoms, gram, documents, inverse, stamp, partner, price, cost, counters)
    joining = (1.0 - cosine) * (1.0 - cosine) * (documents[nearest] / (documents[nearest] + 1.0))
    if not price[gone] < joining:
        return -1
    kept = partner[gone]
    # The atom of more documents, then the older one, keeps its number.
    if documents[gone] > documents[kept] or (documents[gone] == documents[kept] and birth[gone] < birth[kept]):
        gone, kept = kept, gone
    _merge(gone, kept, n_atoms, gram, documents, squares, inverse, inner, stamp, recent, partner, counters)
    used[kept] = max(used[kept], used[gone])
    _reassign(owner, pieces, gone, kept)
    return gone


@kernel
def _place(slot, joined, norm, gram, squares, inverse, inner, stamp, recent, partner, counters):
    """Bring squares and, where it is kept, `gram` up to date after a document has joined an atom or opened it."""
    squares[slot] = norm + (squares[slot] + 2.0 * inner[slot] if joined else 0.0)
    inverse[slot] = 1.0 / math.sqrt(squares[slot]) if squares[slot] > 0.0 else 0.0
    if len(gram):
        row = gram[slot]
        if joined:
            _whole(slot, counters[ATOMS], gram, stamp, recent, counters)
            for i in range(counters[ATOMS]):
                row[i] += inner[i]
        else:
            for i in range(counters[ATOMS]):
                row[i] = inner[i]
        _changed(slot, stamp, recent, partner, counters)


@kernel
def _products(
    d, pieces, n_atoms, starts, terms, weights, offsets, rows, values, late_offsets, late_rows, late_values,
    new_offsets, new_rows, new_values, late, before, owner, total, inner,
):  # fmt: skip
    """Fill `inner` with the inner products of document d and the atoms; return the square of its norm."""
    total[:pieces] = 0.0
    inverted.add(starts[d], starts[d + 1], terms, weights, offsets, rows, values, total)
    if before > late:
        inverted.add(starts[d], starts[d + 1], terms, weights, late_offsets, late_rows, late_values, total[late:])
    norm = 0.0
    for entry in range(starts[d], starts[d + 1]):
        weight, term = weights[entry], terms[entry]
        norm += weight * weight
        for place in range(new_offsets[term], new_offsets[term + 1]):
            if new_rows[place] >= d:
                break
            total[before + new_rows[place]] += weight * new_values[place]
    inner[:n_atoms] = 0.0
    for piece in range(pieces):
        if owner[piece] >= 0:
            inner[owner[piece]] += total[piece]
    return norm


@kernel
def learn(
    starts, terms, weights, offsets, rows, values, late_offsets, late_rows, late_values,
    new_offsets, new_rows, new_values, owner, total,
    gram, documents, squares, inverse, used, birth, inner, stamp, recent, partner, price, cost,
    counters, late, before, seen, same, full,
):  # fmt: skip
    """Let the documents of a block join, open and merge atoms, one after another.

    A document whose cosine with its nearest atom is at least `same` joins it. Any other opens an atom: in an unused
    slot, or, when all are used, in the slot that becomes free by merging the two atoms that are cheapest to merge,
    unless joining the nearest atom is cheaper still. Merging costs (1 - cosine) sqrt(n m / (n + m)): large atoms that
    differ stay apart; a document that joins is an atom of one.

    Parameters
    ----------
    starts, terms, weights : ndarray
        Documents in CSR form, of unit l2 norm, with numbers for terms (`inverted.number`).
    offsets, rows, values : ndarray
        Inverted lists of early sums of atoms.
    late_offsets, late_rows, late_values : ndarray
        Inverted lists of the sums of atoms since then, up to the start of the block.
    new_offsets, new_rows, new_values : ndarray
        Inverted lists of the documents.
    owner : ndarray of int64, shape (before + n_documents,), changed
        Slot that each piece is part of: early sums, late ones and documents, which get theirs here; -1: none.
    total : ndarray of float64, shape (before + n_documents,)
        Work space.
    gram : ndarray of float64, shape (n_slots, n_slots), changed
        Inner products of the atoms, from `inverted.grams` or as the block before left them; shape (0, 0) where nothing
        will be merged.
    documents, squares, inverse : ndarray of float64, shape (n_slots,), changed
        Documents of each atom, forgetting included; ||S_j||^2; 1 / ||S_j||.
    used, birth : ndarray of int64, shape (n_slots,), changed
        Number of the last document that joined, and of the first.
    inner, cost : ndarray of float64, shape (n_slots,)
        Work space.
    stamp, recent, partner, price : ndarray of int64, the last of float64, shape (n_slots,), changed
        Time of the last change of each atom; atoms by the time of their change; see above.
    counters : ndarray of int64, shape (3,), changed
        Slots in use, time, time at which all of `gram` was right.
    late, before : int
        Pieces before the late ones, and before the documents.
    seen : int
        Documents learned before the block.
    same : float
    full : int
        What to do when all slots are used: MERGE, JOIN (the nearest atom) or RETIRE (the smallest atom).
    """
    for d in range(len(starts) - 1):
        pieces = before + d
        owner[pieces] = -1
        if starts[d] == starts[d + 1]:
            continue
        norm = _products(
            d, pieces, counters[ATOMS], starts, terms, weights, offsets, rows, values, late_offsets, late_rows,
            late_values, new_offsets, new_rows, new_values, late, before, owner, total, inner,
        )  # fmt: skip
        nearest, cosine = -1, -1.0
        for j in range(counters[ATOMS]):
            if squares[j] > 0.0 and inner[j] * inverse[j] > cosine:
                nearest, cosine = j, inner[j] * inverse[j]
        slot = -1
        if nearest < 0 or cosine < same:
            if counters[ATOMS] < len(documents):
                slot = counters[ATOMS]
                counters[ATOMS] += 1
            else:
                slot = _make_room(
                    nearest, cosine, pieces, full, owner, gram, documents, squares, inverse, used, birth, inner,
                    stamp, recent, partner, price, cost, counters,
                )  # fmt: skip
        joined = slot < 0
        if joined:
            slot = nearest
        else:
            birth[slot], documents[slot], inner[slot] = seen + d, 0.0, 0.0
        owner[pieces] = slot
        _place(slot, joined, norm, gram, squares, inverse, inner, stamp, recent, partner, counters)
        documents[slot] += 1.0
        used[slot] = seen + d
