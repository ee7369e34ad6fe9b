"""Compiled lazy Ward merging: the two atoms that are cheapest to merge, and groups of atoms by it.

Atoms are numbered by the time of their last change. Row j of `gram` is right for all atoms that changed before j. When
j is searched, the `CANDIDATES` of these that are cheapest to merge with it are kept, `partner[j]` with their squared
costs `cost[j]`, rising. `price[j]` is the first of them. It is that still if this partner has not changed since,
otherwise a lower bound: then the next partner that has not changed is the cheapest, and the row is searched again only
where none is left. Every pair is looked at by the one that changed last, and only when its bound is the least of all.

A search goes over the atoms in the order of their changes, so that documents and 1 / ||S_j|| are kept in that order too
(`_in_order`). An atom that has changed again has no documents there.
"""

import math

import numpy as np

from odl.kernels.compiled import allocating, called, comparing, inlined, kernel

# In `counters`: slots in use, time, time at which all of `gram` was right, time of the last search of what changed.
ATOMS, TIME, START, SEARCHED = 0, 1, 2, 3
BLOCK = 64  # prices that have a least one of their own
LANES = 128  # atoms whose costs are compared with those of the next ones
CANDIDATES = 4  # partners that are kept
NOBODY = -1  # as partner: there is no other
UNKNOWN = -2  # as partner: to be searched for
NEVER = 1 << 62  # later than any time


@comparing
def least_of(values, count):
    """Return the least of values[:count]."""
    least = np.inf
    for j in range(count):
        least = values[j] if values[j] < least else least
    return least


@kernel
def set_price(j, value, atoms):
    """Set the price of an atom, and the least price of its block."""
    price, least = atoms.price, atoms.least
    before, block = price[j], j // BLOCK
    price[j] = value
    if value <= least[block]:
        least[block] = value
    elif before == least[block]:
        first = block * BLOCK
        least[block] = least_of(price[first:], min(BLOCK, len(price) - first))


@kernel
def _next_at(value, first, atoms):
    """Return the first atom from `first` on that has this price, or -1."""
    price, least = atoms.price, atoms.least
    for block in range(first // BLOCK, len(least)):
        if least[block] == value:
            for j in range(max(first, block * BLOCK), min((block + 1) * BLOCK, len(price))):
                if price[j] == value:
                    return j
    return -1


@kernel
def _costs(row, own, inverse, documents, inverses, size, least):
    """Turn products of an atom and those of a block into squared costs of merging, infinite where nothing is."""
    one, zero = own / own, own - own  # of its precision
    for i in range(size):
        distance = one - row[i] * (inverse * inverses[i])
        distance = distance if distance > zero else zero
        value = distance * distance * (own * documents[i] / (own + documents[i]))
        row[i] = value if documents[i] > zero else own / zero
        least[i] = row[i] if row[i] < least[i] else least[i]


@kernel
def _insert(i, value, partner, cost):
    """Put i among the cheapest ones if it is of them, among those of the same cost by their numbers."""
    rank = CANDIDATES
    while rank > 0 and (value < cost[rank - 1] or (value == cost[rank - 1] and i < partner[rank - 1])):
        if rank < CANDIDATES:
            partner[rank], cost[rank] = partner[rank - 1], cost[rank - 1]
        rank -= 1
    if rank < CANDIDATES:
        partner[rank], cost[rank] = i, value


@inlined
def _in_order(atoms):
    """Return documents and 1 / ||S_j|| by the time of the change, room for products, and room for least costs."""
    least, rest, room = atoms.work[:LANES], atoms.work[LANES:], len(atoms.recent)
    return rest[:room], rest[room : 2 * room], rest[2 * room :], least


@kernel
def _search(j, atoms):
    """Find the atoms that are cheapest to merge with j among those that changed before it; among equals the first.

    Of every `LANES`-th of them, from each of the first ones on, the least cost is found. Only where that is one of the
    least so far these are looked at.
    """
    (documents, inverses, work, least), recent, row = _in_order(atoms), atoms.recent, atoms.gram[j]
    own, partners, costs = atoms.documents[j], atoms.partner[j], atoms.cost[j]
    size = atoms.stamp[j] if own > 0.0 else 0
    partners[:], costs[:], least[:] = NOBODY, np.inf, np.inf
    for time in range(size):
        work[time] = row[np.uint64(recent[time])]
    for first in range(0, size, LANES):
        # Parts of arrays: with a sum as the place of each number the loop is not made of vector instructions.
        others = documents[first:], inverses[first:], min(LANES, size - first)
        _costs(work[first:], own, atoms.inverse[j], *others, least)
    for lane in range(LANES):
        if least[lane] <= costs[CANDIDATES - 1]:
            for time in range(lane, size, LANES):
                if work[time] <= costs[CANDIDATES - 1]:
                    _insert(recent[time], work[time], partners, costs)
    set_price(j, costs[0], atoms)


@kernel
def _is_right(j, atoms):
    """Tell whether the price of an atom is that of its partner, or of nothing, rather than a bound."""
    partner = atoms.partner[j, 0]
    return partner == NOBODY or (partner >= 0 and atoms.stamp[partner] < atoms.stamp[j])


@kernel
def _renew(j, atoms):
    """Take the next partner of j that has not changed since, or search."""
    partners, costs = atoms.partner[j], atoms.cost[j]
    while partners[0] != UNKNOWN and not _is_right(j, atoms):
        for rank in range(1, CANDIDATES):
            partners[rank - 1], costs[rank - 1] = partners[rank], costs[rank]
        if partners[CANDIDATES - 1] != NOBODY:
            partners[CANDIDATES - 1] = UNKNOWN
    if partners[0] == UNKNOWN:
        _search(j, atoms)
    else:
        set_price(j, costs[0], atoms)


@called("Merging")
@kernel
def search_changed(atoms):
    """Search the rows of atoms that have changed since this was done."""
    counters = atoms.counters
    for time in range(counters[SEARCHED], counters[TIME]):
        j = atoms.recent[time]
        if atoms.stamp[j] == time and atoms.partner[j, 0] == UNKNOWN:
            _search(j, atoms)
    counters[SEARCHED] = counters[TIME]


@kernel
def cheapest(atoms):
    """Return the atom whose price is the least; of equal pairs that of the first atom, then of the first other."""
    search_changed(atoms)
    while True:
        value = least_of(atoms.least, len(atoms.least))
        j = _next_at(value, 0, atoms)
        if _is_right(j, atoms):
            if value == np.inf or _next_at(value, j + 1, atoms) < 0:
                return j
            j = _first_of_equals(j, atoms)
            if _is_right(j, atoms):
                return j
        _renew(j, atoms)


@kernel
def _first_of_equals(first, atoms):
    """Return an atom of the least price that must be searched again, or of the first pair that has it."""
    partner, value = atoms.partner, atoms.price[first]
    best, other = min(first, partner[first, 0]), max(first, partner[first, 0])
    j = _next_at(value, first + 1, atoms)
    while j >= 0:
        if not _is_right(j, atoms):
            return j
        low, high = min(j, partner[j, 0]), max(j, partner[j, 0])
        if low < best or (low == best and high < other):
            first, best, other = j, low, high
        j = _next_at(value, j + 1, atoms)
    return first


@kernel
def complete(j, atoms):
    """Take into row j of `gram` what has changed after it."""
    gram, stamp, recent, places, count = atoms.gram, atoms.stamp, atoms.recent, atoms.places, 0
    # First which, then what: numbers far from each other are fetched at once only with no choice in between.
    for time in range(max(stamp[j] + 1, atoms.counters[START]), atoms.counters[TIME]):
        places[count] = recent[time]
        count += 1 if stamp[recent[time]] == time else 0
    row = gram[j]
    for i in range(count):
        row[places[i]] = gram[places[i], j]


@kernel
def note_change(j, atoms):
    """Note that row j of `gram` is new."""
    (documents, inverses, _, _), counters = _in_order(atoms), atoms.counters
    leave(j, atoms)
    if counters[TIME] == len(atoms.recent):
        close_up(atoms)
    now = counters[TIME]
    atoms.stamp[j], atoms.recent[now], atoms.partner[j, 0] = now, j, UNKNOWN
    documents[now], inverses[now] = atoms.documents[j], atoms.inverse[j]
    counters[TIME] += 1


@kernel
def leave(j, atoms):
    """Take an atom out of the order, where it may be."""
    if atoms.stamp[j] != NEVER:
        _in_order(atoms)[0][atoms.stamp[j]], atoms.stamp[j] = 0.0, NEVER


@kernel
def close_up(atoms):
    """Count time anew, without the times of which the atom has changed again, and bring what is in order up to date."""
    (documents, inverses, _, _), counters, now, start, searched = _in_order(atoms), atoms.counters, 0, 0, 0
    for time in range(counters[TIME]):
        j = atoms.recent[time]
        if atoms.stamp[j] == time:
            atoms.stamp[j], atoms.recent[now] = now, j
            documents[now], inverses[now] = atoms.documents[j], atoms.inverse[j]
            now += 1
            start += 1 if time < counters[START] else 0
            searched += 1 if time < counters[SEARCHED] else 0
    counters[TIME], counters[START], counters[SEARCHED] = now, start, searched


@kernel
def merge(gone, kept, atoms):
    """Add an atom to another one; their rows of `gram` are right."""
    gram, squares = atoms.gram, atoms.squares
    squares[kept] += squares[gone] + 2.0 * gram[kept, gone]
    atoms.inverse[kept] = 1.0 / math.sqrt(squares[kept]) if squares[kept] > 0.0 else 0.0
    row, other = gram[kept], gram[gone]
    for i in range(atoms.counters[ATOMS]):
        row[i] += other[i]
    atoms.documents[kept] += atoms.documents[gone]
    atoms.inner[kept] += atoms.inner[gone]
    note_change(kept, atoms)


@called("Grouping l -> l[]")
@allocating
def group(atoms, target):
    """Merge groups, at first of one atom each, until `target` are left, at the cost of `odl.kernels.atom_clusters`.

    Parameters
    ----------
    atoms : odl.kernels.marshalling.Grouping
        Changed. All atoms have documents.
    target : int
        At least 1.

    Returns
    -------
    ndarray of int64, shape (k,)
        The atom whose group each atom is in at last: the one of most documents when groups were merged.
    """
    documents, owner, right = atoms.documents, np.arange(len(atoms.documents)), np.zeros_like(atoms.stamp)
    merged = np.empty((2, len(owner)), dtype=np.int64)
    for time in range(len(owner) - target):
        if time % LANES == 0:
            close_up(atoms)
        j = cheapest(atoms)
        gone, kept = min(j, atoms.partner[j, 0]), max(j, atoms.partner[j, 0])
        if documents[gone] > documents[kept]:
            gone, kept = kept, gone
        for i in (gone, kept):  # the merges since row i was right
            row, others, into = atoms.gram[i], merged[0, right[i] : time], merged[1, right[i] : time]
            for other in range(len(into)):
                row[np.uint64(into[other])] += row[np.uint64(others[other])]
        merged[0, time], merged[1, time], owner[gone], right[kept] = gone, kept, kept, time + 1
        leave(gone, atoms)  # so that a price with it as partner is a bound
        merge(gone, kept, atoms)
        atoms.partner[gone, 0] = NOBODY
        set_price(gone, np.inf, atoms)
    for i in range(len(owner)):
        last = i
        while owner[last] != last:
            last = owner[last]
        owner[i] = last
    return owner
