"""Compiled kernels of the adaptive learner: documents join, open and merge atoms.

An atom j is the sum S_j of the documents that joined it, n_j of them. Neither sums nor documents move when atoms
merge: early sums, later ones and the documents of a block are pieces, of which each has an owner, and the inner product
of a document and an atom is the sum of those with its pieces (`odl.kernels.inverted_lists`). The cheapest pair to
merge is found by `odl.kernels.ward_merging`.
"""

import math

from odl.kernels import inverted_lists, ward_merging
from odl.kernels.compiled import called, kernel
from odl.kernels.ward_merging import ATOMS

MERGE, JOIN, RETIRE = 0, 1, 2


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
def _make_room(
    nearest, cosine, pieces, full, owner, gram, documents, squares, inverse, used, birth, inner,
    stamp, recent, partner, worth, price, least, cost, places, counters,
):  # fmt: skip
    """Free a slot for a document that is unlike every atom, or return -1 if it had better join the nearest one."""
    n_atoms = counters[ATOMS]
    if full == JOIN and nearest >= 0:
        return -1
    if full != MERGE or nearest < 0:
        gone = _least(n_atoms, documents, used)
        _reassign(owner, pieces, gone, -1)
        return gone
    gone = ward_merging.cheapest(
        n_atoms, gram, documents, inverse, stamp, recent, partner, worth, price, least, cost, counters
    )  # fmt: skip
    joining = (1.0 - cosine) * (1.0 - cosine) * (documents[nearest] / (documents[nearest] + 1.0))
    if not price[gone] < joining:
        return -1
    kept = partner[gone, 0]
    # The atom of more documents, then the older one, keeps its number.
    if documents[gone] > documents[kept] or (documents[gone] == documents[kept] and birth[gone] < birth[kept]):
        gone, kept = kept, gone
    ward_merging.merge(
        gone, kept, n_atoms, gram, documents, squares, inverse, inner, stamp, recent, partner, places, counters
    )
    used[kept] = max(used[kept], used[gone])
    _reassign(owner, pieces, gone, kept)
    return gone


@kernel
def _place(slot, joined, norm, gram, squares, inverse, inner, stamp, recent, partner, places, counters):
    """Bring squares and, where it is kept, `gram` up to date after a document has joined an atom or opened it."""
    squares[slot] = norm + (squares[slot] + 2.0 * inner[slot] if joined else 0.0)
    inverse[slot] = 1.0 / math.sqrt(squares[slot]) if squares[slot] > 0.0 else 0.0
    if len(gram):
        row = gram[slot]
        if joined:
            ward_merging.whole(slot, counters[ATOMS], gram, stamp, recent, places, counters)
            for i in range(counters[ATOMS]):
                row[i] += inner[i]
        else:
            for i in range(counters[ATOMS]):
                row[i] = inner[i]
        ward_merging.changed(slot, stamp, recent, partner, counters)


@kernel
def _products(
    d, starts, terms, weights, offsets, rows, values, late_offsets, late_rows, late_values,
    new_offsets, new_rows, new_values, late, before, total,
):  # fmt: skip
    """Fill `total` with the inner products of document d and the pieces; return the square of its norm."""
    total[: before + d] = 0.0
    inverted_lists.add(starts[d], starts[d + 1], terms, weights, offsets, rows, values, total)
    if before > late:
        inverted_lists.add(starts[d], starts[d + 1], terms, weights, late_offsets, late_rows, late_values, total[late:])
    norm = 0.0
    for entry in range(starts[d], starts[d + 1]):
        weight, term = weights[entry], terms[entry]
        norm += weight * weight
        for place in range(new_offsets[term], new_offsets[term + 1]):
            if new_rows[place] >= d:
                break
            total[before + new_rows[place]] += weight * new_values[place]
    return norm


@called("l l l l[] u[] d[] l[] u[] d[] l[] u[] d[] l[] u[] d[] l l d[,] d[]")
@kernel
def products(
    first, last, since, starts, terms, weights, offsets, rows, values, late_offsets, late_rows, late_values,
    new_offsets, new_rows, new_values, late, before, totals, norms,
):  # fmt: skip
    """Fill `totals` and `norms`, from row first - since on, for documents first..last-1 of a block; see `learn`."""
    for d in range(first, last):
        norms[d - since] = _products(
            d, starts, terms, weights, offsets, rows, values, late_offsets, late_rows, late_values,
            new_offsets, new_rows, new_values, late, before, totals[d - since],
        )  # fmt: skip


@kernel
def _gather(n_atoms, pieces, owner, total, inner):
    """Fill `inner` with the inner products of a document and the atoms, from those with their pieces."""
    inner[:n_atoms] = 0.0
    for piece in range(pieces):
        if owner[piece] >= 0:
            inner[owner[piece]] += total[piece]


@kernel
def _above(inner, inverse, size, most, cosines):
    """Find cosines; return how many are above `most`."""
    above = 0
    for i in range(size):
        value = inner[i] * inverse[i]
        cosines[i] = value
        above += 1 if value > most else 0
    return above


@kernel
def _nearest(n_atoms, inner, squares, inverse, cosines):
    """Return the atom of the largest cosine, among equals the first, and that cosine; -1 and -1 where there is none."""
    found, most = -1, 0.0
    for first in range(0, n_atoms, ward_merging.BLOCK):
        size = min(ward_merging.BLOCK, n_atoms - first)
        if _above(inner[first:], inverse[first:], size, most, cosines):
            for i in range(size):
                if cosines[i] > most:
                    found, most = first + i, cosines[i]
    j = 0
    while found < 0 and j < n_atoms:
        found = j if squares[j] > 0.0 else -1
        j += 1
    return found, most if found >= 0 else -1.0


@called(
    "l l l l[] u[] d[] l[] u[] d[] l[] u[] d[] l[] u[] d[] l[] d[,] d[] d[,] d[] d[] d[] l[] l[] d[] l[] l[] "
    "l[,] d[,] d[] d[] d[] l[] l[] l l l d l"
)
@kernel
def learn(
    first, last, ahead, starts, terms, weights, offsets, rows, values, late_offsets, late_rows, late_values,
    new_offsets, new_rows, new_values, owner, totals, norms,
    gram, documents, squares, inverse, used, birth, inner, stamp, recent, partner, worth, price, least, cost,
    places, counters, late, before, seen, same, full,
):  # fmt: skip
    """Let documents first..last-1 of a block join, open and merge atoms, one after another.

    A document whose cosine with its nearest atom is at least `same` joins it. Any other opens an atom: in an unused
    slot, or, when all are used, in the slot that becomes free by merging the two atoms that are cheapest to merge,
    unless joining the nearest atom is cheaper still. Merging costs (1 - cosine) sqrt(n m / (n + m)): large atoms that
    differ stay apart; a document that joins is an atom of one.

    Parameters
    ----------
    first, last : int
    ahead : int
        1: `totals` and `norms` are there, from `products`; 0: they are work space of one row.
    starts, terms, weights : ndarray
        Documents in CSR form, of unit l2 norm, with numbers for terms (`inverted_lists.number`).
    offsets, rows, values : ndarray
        Inverted lists of early sums of atoms.
    late_offsets, late_rows, late_values : ndarray
        Inverted lists of the sums of atoms since then, up to the start of the block.
    new_offsets, new_rows, new_values : ndarray
        Inverted lists of the documents.
    owner : ndarray of int64, shape (before + n_documents,), changed
        Slot that each piece is part of: early sums, late ones and documents, which get theirs here; -1: none.
    totals : ndarray of float64, shape (n, before + n_documents)
        Inner products of documents from `first` on with the pieces.
    norms : ndarray of float64, shape (n,)
        Squares of their norms.
    gram : ndarray of float64, shape (n_slots, n_slots), changed
        Inner products of the atoms, from `inverted_lists.grams` or as the block before left them; shape (0, 0)
        where nothing will be merged.
    documents, squares, inverse : ndarray of float64, shape (n_slots,), changed
        Documents of each atom, forgetting included; ||S_j||^2; 1 / ||S_j||.
    used, birth : ndarray of int64, shape (n_slots,), changed
        Number of the last document that joined, and of the first.
    inner : ndarray of float64, shape (n_slots,)
        Work space.
    stamp, recent : ndarray of int64, shape (n_slots,), changed
        Time of the last change of each atom; atoms by the time of their change.
    partner, worth : ndarray of int64 and float64, shape (n_slots, ward_merging.OFFERS), changed
        Of `odl.kernels.ward_merging`; partners unknown at first.
    price : ndarray of float64, shape (n_slots,), changed
        Infinite at first.
    least : ndarray of float64, shape (n_slots // ward_merging.BLOCK + 1,), changed
        Least price of each `BLOCK` atoms; infinite at first.
    cost : ndarray of float64, shape (ward_merging.BLOCK,)
        Work space.
    places : ndarray of int64, shape (n_slots,)
        Work space.
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
    for d in range(first, last):
        pieces, row = before + d, (d - first) * ahead
        owner[pieces] = -1
        if starts[d] == starts[d + 1]:
            continue
        if not ahead:
            norms[0] = _products(
                d, starts, terms, weights, offsets, rows, values, late_offsets, late_rows, late_values,
                new_offsets, new_rows, new_values, late, before, totals[0],
            )  # fmt: skip
        _gather(counters[ATOMS], pieces, owner, totals[row], inner)
        nearest, cosine = _nearest(counters[ATOMS], inner, squares, inverse, cost)
        slot = -1
        if nearest < 0 or cosine < same:
            if counters[ATOMS] < len(documents):
                slot = counters[ATOMS]
                counters[ATOMS] += 1
            else:
                slot = _make_room(
                    nearest, cosine, pieces, full, owner, gram, documents, squares, inverse, used, birth, inner,
                    stamp, recent, partner, worth, price, least, cost, places, counters,
                )  # fmt: skip
        joined = slot < 0
        if joined:
            slot = nearest
        else:
            birth[slot], documents[slot], inner[slot] = seen + d, 0.0, 0.0
        owner[pieces] = slot
        _place(slot, joined, norms[row], gram, squares, inverse, inner, stamp, recent, partner, places, counters)
        documents[slot] += 1.0
        used[slot] = seen + d
