"""Compiled kernels of the adaptive learner: documents join, open and merge atoms; codes on few atoms.

An atom j is the sum S_j of the documents that joined it, with n_j of them. `sums` holds the rows of S of the terms that
occur in the batch (terms x slots), `gram` the inner products of all atoms over all terms.
"""

import math

import numpy as np

from odl.kernels.compiled import kernel

MERGE, JOIN, RETIRE = 0, 1, 2


@kernel
def _cost(i, j, gram, documents):
    """Return the cost of merging two atoms, (1 - cosine) sqrt(n m / (n + m)): large atoms that differ stay apart."""
    product = gram[i, i] * gram[j, j]
    cosine = gram[i, j] / math.sqrt(product) if product > 0.0 else 0.0
    return (1.0 - cosine) * math.sqrt(documents[i] * documents[j] / (documents[i] + documents[j]))


@kernel
def _partner(j, n_atoms, gram, documents, partner, price):
    """Find the atom that is cheapest to merge with j; among equals the first."""
    partner[j], price[j] = -1, np.inf
    for i in range(n_atoms):
        if i != j and documents[i] > 0.0:
            cost = _cost(i, j, gram, documents)
            if cost < price[j]:
                partner[j], price[j] = i, cost


@kernel
def _moved(j, n_atoms, gram, documents, partner, price):
    """Bring the partners up to date after atom j has changed."""
    _partner(j, n_atoms, gram, documents, partner, price)
    for i in range(n_atoms):
        if i == j or documents[i] <= 0.0:
            continue
        if partner[i] == j:
            _partner(i, n_atoms, gram, documents, partner, price)
        else:
            cost = _cost(i, j, gram, documents)
            if cost < price[i]:
                partner[i], price[i] = j, cost


@kernel
def _empty(slot, n_atoms, sums, gram, documents, inner):
    """Clear a slot."""
    for row in range(sums.shape[0]):
        sums[row, slot] = 0.0
    for i in range(n_atoms):
        gram[slot, i] = 0.0
        gram[i, slot] = 0.0
    documents[slot] = 0.0
    inner[slot] = 0.0


@kernel
def _merge(gone, kept, n_atoms, sums, gram, documents, inner):
    """Add atom `gone` to atom `kept` and clear its slot."""
    for row in range(sums.shape[0]):
        if sums[row, gone] != 0.0:
            sums[row, kept] += sums[row, gone]
    size = gram[kept, kept] + gram[gone, gone] + 2.0 * gram[gone, kept]
    for i in range(n_atoms):
        gram[kept, i] += gram[gone, i]
        gram[i, kept] = gram[kept, i]
    gram[kept, kept] = size
    documents[kept] += documents[gone]
    inner[kept] += inner[gone]
    _empty(gone, n_atoms, sums, gram, documents, inner)


@kernel
def _least(n_atoms, documents, used):
    """Return the atom of the fewest documents; among equals the one not used for longest."""
    found = 0
    for j in range(1, n_atoms):
        if documents[j] < documents[found] or (documents[j] == documents[found] and used[j] < used[found]):
            found = j
    return found


@kernel
def _reassign(owner, old, new):
    """Note that what slot `old` held at the start of the batch is now part of slot `new` (-1: dropped)."""
    for start in range(len(owner)):
        if owner[start] == old:
            owner[start] = new


@kernel
def _make_room(nearest, cosine, n_atoms, full, sums, gram, documents, used, birth, owner, inner, partner, price):
    """Free a slot for a document that is unlike every atom, or return -1 if it had better join the nearest one."""
    if full == JOIN:
        return -1
    if full == RETIRE:
        gone = _least(n_atoms, documents, used)
        _empty(gone, n_atoms, sums, gram, documents, inner)
        _reassign(owner, gone, -1)
        return gone
    gone = 0
    for j in range(1, n_atoms):
        if price[j] < price[gone]:
            gone = j
    joining = (1.0 - cosine) * math.sqrt(documents[nearest] / (documents[nearest] + 1.0))
    if not price[gone] < joining:
        return -1
    kept = partner[gone]
    # The atom of more documents, then the older one, keeps its number.
    if documents[gone] > documents[kept] or (documents[gone] == documents[kept] and birth[gone] < birth[kept]):
        gone, kept = kept, gone
    _merge(gone, kept, n_atoms, sums, gram, documents, inner)
    used[kept] = max(used[kept], used[gone])
    _reassign(owner, gone, kept)
    partner[gone], price[gone] = -1, np.inf
    _partner(kept, n_atoms, gram, documents, partner, price)
    for i in range(n_atoms):
        if documents[i] > 0.0 and i != kept:
            if partner[i] == gone or partner[i] == kept:
                _partner(i, n_atoms, gram, documents, partner, price)
            elif _cost(i, kept, gram, documents) < price[i]:
                partner[i], price[i] = kept, _cost(i, kept, gram, documents)
    return gone


@kernel
def partners(n_atoms, gram, documents, partner, price):
    """Find the atom that is cheapest to merge with each atom, and the cost; -1 and infinity for unused slots."""
    partner[:] = -1
    price[:] = np.inf
    for j in range(n_atoms):
        _partner(j, n_atoms, gram, documents, partner, price)


@kernel
def learn(
    starts,
    rows,
    weights,
    sums,
    gram,
    documents,
    used,
    birth,
    owner,
    partner,
    price,
    n_atoms,
    seen,
    same,
    full,
    inner,
):
    """Let the documents of a batch join, open and merge atoms, one after another.

    A document whose cosine with its nearest atom is at least `same` joins it. Any other opens an atom: in an unused
    slot, or, when all are used, in the slot that becomes free by merging the two atoms that are cheapest to merge,
    unless joining the nearest atom is cheaper still.

    Parameters
    ----------
    starts, rows, weights : ndarray
        Documents in CSR form; `rows` are rows of `sums`. Documents have unit l2 norm.
    sums : ndarray of float32, shape (n_rows, n_slots), changed
    gram : ndarray of float64, shape (n_slots, n_slots), changed
    documents : ndarray of float64, shape (n_slots,), changed
        Documents of each atom, forgetting included.
    used, birth : ndarray of int64, shape (n_slots,), changed
        Number of the last document that joined, and of the first.
    owner : ndarray of int64, shape (n_atoms,), changed
        Slot that now holds what each slot held at the start of the batch; -1 if it was dropped.
    partner, price : ndarray, shape (n_slots,), changed
        From `partners`, or as the documents before have left them: a batch may come in parts.
    n_atoms, seen : int
        Slots in use; documents learned before.
    same : float
    full : int
        What to do when all slots are used: MERGE, JOIN (the nearest atom) or RETIRE (the smallest atom).
    inner, partner, price : ndarray of float64, int64, float64, shape (n_slots,)
        Work space.

    Returns
    -------
    int
        Slots in use.
    """
    n_slots = sums.shape[1]
    inner[:] = 0.0
    for d in range(len(starts) - 1):
        if starts[d] == starts[d + 1]:
            continue
        inner[:] = 0.0
        norm = 0.0
        for entry in range(starts[d], starts[d + 1]):
            weight = weights[entry]
            norm += weight * weight
            row = sums[rows[entry]]
            for j in range(n_atoms):
                inner[j] += weight * row[j]
        nearest, cosine = -1, -1.0
        for j in range(n_atoms):
            if gram[j, j] > 0.0 and inner[j] > cosine * math.sqrt(gram[j, j]):
                nearest, cosine = j, inner[j] / math.sqrt(gram[j, j])
        slot = -1
        if nearest < 0 or cosine < same:
            if n_atoms < n_slots:
                slot = n_atoms
                n_atoms += 1
            else:
                slot = _make_room(
                    nearest,
                    cosine,
                    n_atoms,
                    full,
                    sums,
                    gram,
                    documents,
                    used,
                    birth,
                    owner,
                    inner,
                    partner,
                    price,
                )
        if slot >= 0:
            birth[slot] = seen + d
        else:
            slot = nearest
        for entry in range(starts[d], starts[d + 1]):
            sums[rows[entry], slot] += weights[entry]
        for j in range(n_atoms):
            gram[slot, j] += inner[j]
            gram[j, slot] = gram[slot, j]
        gram[slot, slot] += inner[slot] + norm
        documents[slot] += 1.0
        used[slot] = seen + d
        if full == MERGE:
            _moved(slot, n_atoms, gram, documents, partner, price)
    return n_atoms


@kernel
def _inner(first, first_end, second, second_end, rows, values, other_rows, other_values):
    """Return the inner product of two sparse vectors with sorted rows."""
    total = 0.0
    while first < first_end and second < second_end:
        if rows[first] < other_rows[second]:
            first += 1
        elif rows[first] > other_rows[second]:
            second += 1
        else:
            total += values[first] * other_values[second]
            first += 1
            second += 1
    return total


@kernel
def codes(starts, rows, weights, atom_starts, atom_rows, atom_weights, chosen, sweeps, found, target, gram):
    """Code documents on a few chosen atoms: min over x >= 0 of ||p - A x||_2^2 / 2, by coordinate descent.

    Parameters
    ----------
    starts, rows, weights : ndarray
        Documents in CSR form, terms sorted.
    atom_starts, atom_rows, atom_weights : ndarray
        Atoms in CSC form, terms sorted, columns of unit l2 norm.
    chosen : ndarray of int64, shape (n_documents, m)
        Atoms of each document, -1 for none.
    sweeps : int
    found : ndarray, shape (n_documents, m), filled
        Zeros.
    target, gram : ndarray, shape (m,) and (m, m)
        Work space, zeros.
    """
    n_documents, m = chosen.shape
    for d in range(n_documents):
        for i in range(m):
            atom = chosen[d, i]
            if atom < 0:
                continue
            begin, end = atom_starts[atom], atom_starts[atom + 1]
            target[i] = _inner(starts[d], starts[d + 1], begin, end, rows, weights, atom_rows, atom_weights)
            for j in range(i + 1):
                other = chosen[d, j]
                gram[i, j] = _inner(
                    begin,
                    end,
                    atom_starts[other],
                    atom_starts[other + 1],
                    atom_rows,
                    atom_weights,
                    atom_rows,
                    atom_weights,
                )
                gram[j, i] = gram[i, j]
        for _ in range(sweeps):
            for i in range(m):
                if chosen[d, i] >= 0 and gram[i, i] > 0.0:
                    slope = target[i]
                    for j in range(m):
                        if chosen[d, j] >= 0:
                            slope -= gram[i, j] * found[d, j]
                    found[d, i] = max(0.0, found[d, i] + slope / gram[i, i])
