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
from odl.kernels.compiled import comparing, kernel

MERGE, JOIN, RETIRE = 0, 1, 2
# In `counters`: slots in use, time, time at which all of `gram` was right, time of the last search of what changed.
ATOMS, TIME, START, SEARCHED = 0, 1, 2, 3
BLOCK = 64  # prices that have a least one of their own
UNKNOWN = -2  # partner of an atom that has not been searched since it changed


@comparing
def _least_of(values, count):
    """Return the least of values[:count]."""
    least = np.inf
    for j in range(count):
        least = values[j] if values[j] < least else least
    return least


@comparing
def _most_of(values, count):
    """Return the largest of values[:count], or 0."""
    most = 0.0
    for j in range(count):
        most = values[j] if values[j] > most else most
    return most


@kernel
def _set(j, value, price, least):
    """Set the price of an atom, and the least price of its block."""
    before, block = price[j], j // BLOCK
    price[j] = value
    if value <= least[block]:
        least[block] = value
    elif before == least[block]:
        first = block * BLOCK
        least[block] = _least_of(price[first:], min(BLOCK, len(price) - first))


@kernel
def _next_at(value, first, price, least):
    """Return the first atom from `first` on that has this price, or -1."""
    for block in range(first // BLOCK, len(least)):
        if least[block] == value:
            for j in range(max(first, block * BLOCK), min((block + 1) * BLOCK, len(price))):
                if price[j] == value:
                    return j
    return -1


@kernel
def _search(j, n_atoms, gram, documents, inverse, stamp, partner, price, least, cost, counters):
    """Find the atom that is cheapest to merge with j among those that changed before it; among equals the first."""
    if stamp[j] <= counters[START]:  # atoms of the start are in the order of their numbers
        n_atoms = j
    row, own, scale, time = gram[j], documents[j], inverse[j], stamp[j]
    for i in range(n_atoms):
        distance = 1.0 - row[i] * (scale * inverse[i])
        distance = distance if distance > 0.0 else 0.0
        value = distance * distance * (own * documents[i] / (own + documents[i]))
        cost[i] = value if stamp[i] < time and documents[i] > 0.0 else np.inf
    found = _least_of(cost, n_atoms) if own > 0.0 else np.inf
    _set(j, found, price, least)
    partner[j] = -1
    if found < np.inf:
        i = 0
        while cost[i] != found:
            i += 1
        partner[j] = i


@kernel
def _is_right(j, stamp, partner):
    """Tell whether the price of an atom is that of its partner, or of nothing, rather than a bound."""
    return partner[j] == -1 or (partner[j] >= 0 and stamp[partner[j]] < stamp[j])


@kernel
def _cheapest(n_atoms, gram, documents, inverse, stamp, recent, partner, price, least, cost, counters):
    """Return the atom whose price is the least; of equal pairs that of the first atom, then of the first other."""
    since = counters[SEARCHED]
    recently = counters[TIME] - since < len(recent)
    for place in range(counters[TIME] - since if recently else n_atoms):
        j = recent[(since + 1 + place) % len(recent)] if recently else place
        if partner[j] == UNKNOWN:
            _search(j, n_atoms, gram, documents, inverse, stamp, partner, price, least, cost, counters)
    counters[SEARCHED] = counters[TIME]
    while True:
        value = _least_of(least, len(least))
        found = _next_at(value, 0, price, least)
        if not _is_right(found, stamp, partner):
            _search(found, n_atoms, gram, documents, inverse, stamp, partner, price, least, cost, counters)
        elif value == np.inf or _next_at(value, found + 1, price, least) < 0:
            return found
        else:
            first = _first_of_equals(found, stamp, partner, price, least)
            if _is_right(first, stamp, partner):
                return first
            _search(first, n_atoms, gram, documents, inverse, stamp, partner, price, least, cost, counters)


@kernel
def _first_of_equals(found, stamp, partner, price, least):
    """Return an atom of the least price that must be searched again, or of the first pair that has it."""
    best, other, value = min(found, partner[found]), max(found, partner[found]), price[found]
    j = _next_at(value, found + 1, price, least)
    while j >= 0:
        if not _is_right(j, stamp, partner):
            return j
        low, high = min(j, partner[j]), max(j, partner[j])
        if low < best or (low == best and high < other):
            found, best, other = j, low, high
        j = _next_at(value, j + 1, price, least)
    return found


@kernel
def _whole(j, n_atoms, gram, stamp, recent, counters):
    """Take into row j of `gram` what has changed after it."""
    since = max(stamp[j], counters[START])
    row = gram[j]
    if counters[TIME] - since < len(recent):
        place = since % len(recent)
        for time in range(since + 1, counters[TIME] + 1):
            place = place + 1 if place + 1 < len(recent) else 0
            i = recent[place]
            if stamp[i] == time:  # not changed again since
                row[i] = gram[i, j]
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
        owner[piece] = new if owner[piece] == old else owner[piece]


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
    stamp, recent, partner, price, least, cost, counters,
):  # fmt: skip
    """Free a slot for a document that is unlike every atom, or return -1 if it had better join the nearest one."""
    n_atoms = counters[ATOMS]
    if full == JOIN and nearest >= 0:
        return -1
    if full != MERGE or nearest < 0:
        gone = _least(n_atoms, documents, used)
        _reassign(owner, pieces, gone, -1)
        return gone
    gone = _cheapest(n_atoms, gram, documents, inverse, stamp, recent, partner, price, least, cost, counters)
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
def _nearest(n_atoms, inner, squares, inverse, cosines):
    """Return the atom of the largest cosine, among equals the first, and that cosine; -1 and -1 where there is none."""
    for j in range(n_atoms):
        cosines[j] = inner[j] * inverse[j]
    most = _most_of(cosines, n_atoms)
    for j in range(n_atoms):
        if cosines[j] == most and squares[j] > 0.0:
            return j, most
    return -1, -1.0


@kernel
def learn(
    starts, terms, weights, offsets, rows, values, late_offsets, late_rows, late_values,
    new_offsets, new_rows, new_values, owner, total,
    gram, documents, squares, inverse, used, birth, inner, stamp, recent, partner, price, least, cost,
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
        Time of the last change of each atom; atoms by the time of their change; see above. Prices: infinite at first.
    least : ndarray of float64, shape (n_slots // BLOCK + 1,), changed
        Least price of each `BLOCK` atoms; infinite at first.
    counters : ndarray of int64, shape (4,), changed
        Slots in use, time, time at which all of `gram` was right, time of the last search (below 0: none yet).
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
        nearest, cosine = _nearest(counters[ATOMS], inner, squares, inverse, cost)
        slot = -1
        if nearest < 0 or cosine < same:
            if counters[ATOMS] < len(documents):
                slot = counters[ATOMS]
                counters[ATOMS] += 1
            else:
                slot = _make_room(
                    nearest, cosine, pieces, full, owner, gram, documents, squares, inverse, used, birth, inner,
                    stamp, recent, partner, price, least, cost, counters,
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
