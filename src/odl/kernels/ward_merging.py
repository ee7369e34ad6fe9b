"""Compiled lazy Ward merging: the two atoms that are cheapest to merge, and groups of atoms by it.

Atoms are numbered by the time of their last change. Row j of `gram` is right for all atoms that changed before j. When
j is searched, the `CANDIDATES` of these that are cheapest to merge with it are kept, `partner[j]` with their squared
costs `cost[j]`, rising. `price[j]` is the first of them. It is that still if this partner has not changed since,
otherwise a lower bound: then the next partner that has not changed is the cheapest, and the row is searched again only
where none is left. Every pair is looked at by the one that changed last, and only when its bound is the least of all.
"""

import math

import numpy as np

from odl.kernels.compiled import allocating, called, comparing, kernel

# In `counters`: slots in use, time, time at which all of `gram` was right, time of the last search of what changed.
ATOMS, TIME, START, SEARCHED = 0, 1, 2, 3
BLOCK = 64  # prices that have a least one of their own
PART = 32  # atoms that are compared before the cheapest are picked
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
def _compare(row, own, scale, documents, inverse, size, most, work):
    """Find the squared costs of merging an atom with the first ones of `row`; return how many are below `most`."""
    below, one, zero = 0, own / own, own - own  # of its precision
    for i in range(size):
        distance = one - row[i] * (scale * inverse[i])
        distance = distance if distance > zero else zero
        value = distance * distance * (own * documents[i] / (own + documents[i]))
        work[i] = value
        below += 1 if value < most else 0
    return below


@kernel
def _insert(i, value, partner, cost):
    """Put atom i among the cheapest partners, behind those of the same cost."""
    rank = CANDIDATES - 1
    while rank > 0 and value < cost[rank - 1]:
        partner[rank], cost[rank] = partner[rank - 1], cost[rank - 1]
        rank -= 1
    partner[rank], cost[rank] = i, value


@kernel
def _search(j, atoms):
    """Find the atoms that are cheapest to merge with j among those that changed before it; among equals the first."""
    documents, inverse, stamp, counters = atoms.documents, atoms.inverse, atoms.stamp, atoms.counters
    n_atoms = j if stamp[j] == j + 1 else counters[ATOMS]  # at first atoms change in their order
    partners, costs, own, work = atoms.partner[j], atoms.cost[j], documents[j], atoms.work
    partners[:], costs[:] = NOBODY, np.inf
    for first in range(0, n_atoms if own > 0.0 else 0, PART):
        size, last = min(PART, n_atoms - first), costs[CANDIDATES - 1]
        # Parts of arrays: with a sum as the place of each number the loop is not made of vector instructions.
        others, times = documents[first:], stamp[first:]
        if _compare(atoms.gram[j, first:], own, inverse[j], others, inverse[first:], size, last, work):
            for i in range(size):
                if work[i] < last and times[i] < stamp[j] and others[i] > 0.0:
                    _insert(first + i, work[i], partners, costs)
                    last = costs[CANDIDATES - 1]
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
    counters, recent = atoms.counters, atoms.recent
    since = counters[SEARCHED]
    recently = counters[TIME] - since < len(recent)
    for place in range(counters[TIME] - since if recently else counters[ATOMS]):
        j = recent[(since + 1 + place) % len(recent)] if recently else place
        if atoms.partner[j, 0] == UNKNOWN:
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
    gram, stamp, recent, places, counters = atoms.gram, atoms.stamp, atoms.recent, atoms.places, atoms.counters
    since, count = max(stamp[j], counters[START]), 0
    row = gram[j]
    if counters[TIME] - since < len(recent):
        place = since % len(recent)
        # First which, then what: numbers far from each other are fetched at once only with no choice in between.
        for time in range(since + 1, counters[TIME] + 1):
            place = place + 1 if place + 1 < len(recent) else 0
            places[count] = recent[place]
            count += 1 if stamp[recent[place]] == time else 0  # not changed again since
        for k in range(count):
            row[places[k]] = gram[places[k], j]
    else:
        for i in range(counters[ATOMS]):
            if stamp[i] > since:
                row[i] = gram[i, j]


@kernel
def note_change(j, atoms):
    """Note that row j of `gram` is new."""
    counters = atoms.counters
    counters[TIME] += 1
    atoms.stamp[j] = counters[TIME]
    atoms.recent[counters[TIME] % len(atoms.recent)] = j
    atoms.partner[j, 0] = UNKNOWN


@kernel
def merge(gone, kept, atoms):
    """Add atom `gone` to atom `kept`."""
    gram, squares = atoms.gram, atoms.squares
    complete(gone, atoms)
    complete(kept, atoms)
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
    documents = atoms.documents
    owner = np.arange(len(documents))
    for _ in range(len(documents) - target):
        j = cheapest(atoms)
        gone, kept = min(j, atoms.partner[j, 0]), max(j, atoms.partner[j, 0])
        if documents[gone] > documents[kept]:
            gone, kept = kept, gone
        merge(gone, kept, atoms)
        owner[gone] = kept
        documents[gone], atoms.partner[gone, 0] = np.inf, NOBODY  # costs with it are no number, never the least
        set_price(gone, np.inf, atoms)
        atoms.stamp[gone] = NEVER  # so that a price with it as partner is a bound
    for i in range(len(owner)):
        last = i
        while owner[last] != last:
            last = owner[last]
        owner[i] = last
    return owner
