"""Compiled kernels of the adaptive learner: documents join, open and merge atoms.

An atom j is the sum S_j of the documents that joined it, n_j of them. Neither atoms nor documents move when atoms
merge: the atoms before a block and its documents are pieces, of which each has an owner, and the inner product of a
document and an atom is the sum of those with its pieces (`odl.kernels.inverted_lists`). The cheapest pair to
merge is found by `odl.kernels.ward_merging`.
"""

import math

import numpy as np

from odl.kernels import inverted_lists, ward_merging
from odl.kernels.compiled import called, kernel
from odl.kernels.ward_merging import ATOMS

MERGE, JOIN, RETIRE = 0, 1, 2


@kernel
def _smallest(n_atoms, documents, used):
    """Return the atom of the fewest documents; among equals the one not used for longest."""
    smallest = 0
    for j in range(1, n_atoms):
        fewer, equal = documents[j] < documents[smallest], documents[j] == documents[smallest]
        if fewer or (equal and used[j] < used[smallest]):
            smallest = j
    return smallest


@kernel
def _reassign(owner, pieces, old, new):
    """Note that the pieces of slot `old` are now part of slot `new` (-1: dropped)."""
    for piece in range(pieces):
        owner[piece] = new if owner[piece] == old else owner[piece]


@kernel
def _make_room(nearest, cosine, worth, pieces, full, owner, atoms, used, birth):
    """Free a slot for a document that is unlike every atom, or return -1 if it had better join the nearest one."""
    documents = atoms.documents
    if full == JOIN and nearest >= 0:
        return -1
    if full != MERGE or nearest < 0:
        gone = _smallest(atoms.counters[ATOMS], documents, used)
        _reassign(owner, pieces, gone, -1)
        return gone
    gone = ward_merging.cheapest(atoms)
    joining = (1.0 - cosine) * (1.0 - cosine) * (documents[nearest] * worth / (documents[nearest] + worth))
    if not atoms.price[gone] < joining:
        return -1
    kept = atoms.partner[gone, 0]
    # The atom of more documents, then the older one, keeps its number.
    if documents[gone] > documents[kept] or (documents[gone] == documents[kept] and birth[gone] < birth[kept]):
        gone, kept = kept, gone
    ward_merging.complete(gone, atoms)
    ward_merging.complete(kept, atoms)
    ward_merging.merge(gone, kept, atoms)
    used[kept] = max(used[kept], used[gone])
    _reassign(owner, pieces, gone, kept)
    return gone


@kernel
def _place(slot, joined, worth, norm, atoms):
    """Bring squares and, where it is kept, `gram` up to date after a document has joined an atom or opened it."""
    squares, inner, n_atoms = atoms.squares, atoms.inner, atoms.counters[ATOMS]
    squares[slot] = worth * worth * norm + (squares[slot] + 2.0 * worth * inner[slot] if joined else 0.0)
    atoms.inverse[slot] = 1.0 / math.sqrt(squares[slot]) if squares[slot] > 0.0 else 0.0
    if len(atoms.gram):
        row = atoms.gram[slot]
        if joined:
            ward_merging.complete(slot, atoms)
            for i in range(n_atoms):
                row[i] += worth * inner[i]
        else:
            for i in range(n_atoms):
                row[i] = worth * inner[i]
        ward_merging.note_change(slot, atoms)


@kernel
def _products(d, pieces, before, total):
    """Fill `total` with the inner products of document d and the pieces; return the square of its norm."""
    (starts, terms, weights), lists, (offsets, rows, values) = pieces
    total[: before + d] = 0.0
    inverted_lists.add(starts[d], starts[d + 1], terms, weights, lists, total)
    norm, others = 0.0, total[before:]
    for entry in range(starts[d], starts[d + 1]):
        weight, term = weights[entry], terms[entry]
        norm += weight * weight
        for place in range(np.uint64(offsets[term]), np.uint64(offsets[term + 1])):
            if rows[place] >= d:
                break
            others[rows[place]] += weight * values[place]
    return norm


@kernel
def _gather(n_atoms, pieces, owner, weight, total, inner):
    """Fill `inner` with the inner products of a document and the atoms, from those with their pieces."""
    inner[:n_atoms] = 0.0
    for piece in range(pieces):
        if owner[piece] >= 0:
            inner[owner[piece]] += weight[piece] * total[piece]


@kernel
def _nearest(n_atoms, atoms):
    """Return the atom of the largest cosine, among equals the first, and that cosine; -1 and -1 where there is none."""
    nearest, most, cosines = -1, 0.0, atoms.work
    for first in range(0, n_atoms, ward_merging.BLOCK):
        size = min(ward_merging.BLOCK, n_atoms - first)
        least = max(most, inverted_lists.TINY)
        if inverted_lists.scaled(atoms.inner[first:], atoms.inverse[first:], size, least, cosines):
            for i in range(size):
                if cosines[i] > most:
                    nearest, most = first + i, cosines[i]
    j = 0
    while nearest < 0 and j < n_atoms:
        nearest = j if atoms.squares[j] > 0.0 else -1
        j += 1
    return nearest, most if nearest >= 0 else -1.0


@called("((ROWS) (ROWS) (ROWS)) l[] d[] d[] Merging l[] l[] l d l")
@kernel
def learn(pieces, owner, weight, total, atoms, used, birth, seen, same, full):
    """Let the documents of a block join, open and merge atoms, one after another.

    A document whose cosine with its nearest atom is at least `same` joins it. Any other opens an atom: in an unused
    slot, or, when all are used, in the slot that becomes free by merging the two atoms that are cheapest to merge,
    unless joining the nearest atom is cheaper still. Merging costs (1 - cosine) sqrt(n m / (n + m)): large atoms that
    differ stay apart; a document that joins is an atom of one.

    Parameters
    ----------
    pieces : tuple
        Documents in CSR form, of unit l2 norm, with numbers for terms; inverted lists of atoms, and of the documents.
    owner : ndarray of int64, shape (n_atoms + n_documents,), changed
        Slot that each piece is part of: atoms and documents, which get theirs here; -1: none.
    weight : ndarray of float64, shape (n_atoms + n_documents,)
        Sizes of the atoms, and what a document is worth.
    total : ndarray of float64, shape (n_atoms + n_documents,)
        Work space.
    atoms : odl.kernels.marshalling.Merging, changed
    used, birth : ndarray of int64, shape (n_slots,), changed
        Number of the last document that joined, and of the first.
    seen : int
        Documents learned before the block.
    same : float
    full : int
        What to do when all slots are used: MERGE, JOIN (the nearest atom) or RETIRE (the smallest atom).
    """
    starts, documents, inner, counters = pieces[0][0], atoms.documents, atoms.inner, atoms.counters
    before = len(owner) - (len(starts) - 1)
    for d in range(len(starts) - 1):
        piece = before + d
        owner[piece] = -1
        if starts[d] == starts[d + 1]:
            continue
        norm = _products(d, pieces, before, total)
        _gather(counters[ATOMS], piece, owner, weight, total, inner)
        nearest, cosine = _nearest(counters[ATOMS], atoms)
        slot = -1
        if nearest < 0 or cosine < same:
            if counters[ATOMS] < len(documents):
                slot = counters[ATOMS]
                counters[ATOMS] += 1
            else:
                slot = _make_room(nearest, cosine, weight[piece], piece, full, owner, atoms, used, birth)
        joined = slot < 0
        if joined:
            slot = nearest
        else:
            birth[slot], documents[slot], inner[slot] = seen + d, 0.0, 0.0
        owner[piece] = slot
        documents[slot] += weight[piece]
        _place(slot, joined, weight[piece], norm, atoms)
        used[slot] = seen + d


@called("l[] Merging")
@kernel
def settle(changed, atoms):
    """Note that atoms have changed, and that all of `gram` is right."""
    for place in range(len(changed)):
        ward_merging.note_change(changed[place], atoms)
    ward_merging.close_up(atoms)
    atoms.counters[ward_merging.START] = atoms.counters[ward_merging.TIME]
