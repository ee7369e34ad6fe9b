"""Compiled lazy Ward merging: the two atoms that are cheapest to merge, and groups of atoms by it.

Atoms are numbered by the time of their last change. Row j of `gram` is right for all atoms that changed before j. When
j is searched, the `OFFERS` of these that are cheapest to merge with it are kept, `partner[j]` with their squared costs
`worth[j]`, rising. `price[j]` is the first of them. It is that still if this partner has not changed since, otherwise
a lower bound: then the next partner that has not changed is the cheapest, and the row is searched again only where
none is left. Every pair is looked at by the one that changed last, and only when its bound is the least of all.
"""

import math

import numpy as np

from odl.kernels.compiled import called, comparing, kernel

# In `counters`: slots in use, time, time at which all of `gram` was right, time of the last search of what changed.
ATOMS, TIME, START, SEARCHED = 0, 1, 2, 3
BLOCK = 64  # prices that have a least one of their own
PART = 32  # atoms that are compared before the cheapest are picked
OFFERS = 4  # partners that are kept
NOBODY = -1  # as partner: there is no other
UNKNOWN = -2  # as partner: to be searched for
GONE = -3  # as partner: one that has changed


@comparing
def least_of(values, count):
    """Return the least of values[:count]."""
    least = np.inf
    for j in range(count):
        least = values[j] if values[j] < least else least
    return least


@kernel
def set_price(j, value, price, least):
    """Set the price of an atom, and the least price of its block."""
    before, block = price[j], j // BLOCK
    price[j] = value
    if value <= least[block]:
        least[block] = value
    elif before == least[block]:
        first = block * BLOCK
        least[block] = least_of(price[first:], min(BLOCK, len(price) - first))


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
def _compare(row, own, scale, documents, inverse, size, most, cost):
    """Find the squared costs of merging an atom with the first ones of `row`; return how many are below `most`."""
    below = 0
    for i in range(size):
        distance = 1.0 - row[i] * (scale * inverse[i])
        distance = distance if distance > 0.0 else 0.0
        value = distance * distance * (own * documents[i] / (own + documents[i]))
        cost[i] = value
        below += 1 if value < most else 0
    return below


@kernel
def _offer(i, value, partner, worth):
    """Put atom i among the cheapest partners, behind those of the same cost."""
    rank = OFFERS - 1
    while rank > 0 and value < worth[rank - 1]:
        partner[rank], worth[rank] = partner[rank - 1], worth[rank - 1]
        rank -= 1
    partner[rank], worth[rank] = i, value


@kernel
def _search(j, n_atoms, gram, documents, inverse, stamp, partner, worth, price, least, cost, counters):
    """Find the atoms that are cheapest to merge with j among those that changed before it; among equals the first."""
    if stamp[j] <= counters[START]:  # atoms of the start are in the order of their numbers
        n_atoms = j
    partners, costs, own = partner[j], worth[j], documents[j]
    partners[:], costs[:] = NOBODY, np.inf
    for first in range(0, n_atoms if own > 0.0 else 0, PART):
        size, last = min(PART, n_atoms - first), costs[OFFERS - 1]
        # Parts of arrays: with a sum as the place of each number the loop is not made of vector instructions.
        others, times = documents[first:], stamp[first:]
        if _compare(gram[j, first:], own, inverse[j], others, inverse[first:], size, last, cost):
            for i in range(size):
                if cost[i] < last and times[i] < stamp[j] and others[i] > 0.0:
                    _offer(first + i, cost[i], partners, costs)
                    last = costs[OFFERS - 1]
    set_price(j, costs[0], price, least)


@called("l l d[,] d[] d[] l[] l[,] d[,] d[] d[] d[] l[]")
@kernel
def search(first, last, gram, documents, inverse, stamp, partner, worth, price, least, cost, counters):
    """Search rows first..last-1 when nothing has changed yet; `first` and, but for the end, `last` are whole blocks."""
    for j in range(first, last):
        _search(j, j, gram, documents, inverse, stamp, partner, worth, price, least, cost, counters)


@kernel
def _is_right(j, stamp, partner):
    """Tell whether the price of an atom is that of its partner, or of nothing, rather than a bound."""
    return partner[j, 0] == NOBODY or (partner[j, 0] >= 0 and stamp[partner[j, 0]] < stamp[j])


@kernel
def _renew(j, n_atoms, gram, documents, inverse, stamp, partner, worth, price, least, cost, counters):
    """Take the next partner of j that has not changed since, or search."""
    partners, costs = partner[j], worth[j]
    while partners[0] != UNKNOWN and not _is_right(j, stamp, partner):
        for rank in range(1, OFFERS):
            partners[rank - 1], costs[rank - 1] = partners[rank], costs[rank]
        if partners[OFFERS - 1] != NOBODY:
            partners[OFFERS - 1] = UNKNOWN
    if partners[0] == UNKNOWN:
        _search(j, n_atoms, gram, documents, inverse, stamp, partner, worth, price, least, cost, counters)
    else:
        set_price(j, costs[0], price, least)


@kernel
def cheapest(n_atoms, gram, documents, inverse, stamp, recent, partner, worth, price, least, cost, counters):
    """Return the atom whose price is the least; of equal pairs that of the first atom, then of the first other."""
    since = counters[SEARCHED]
    recently = counters[TIME] - since < len(recent)
    for place in range(counters[TIME] - since if recently else n_atoms):
        j = recent[(since + 1 + place) % len(recent)] if recently else place
        if partner[j, 0] == UNKNOWN:
            _search(j, n_atoms, gram, documents, inverse, stamp, partner, worth, price, least, cost, counters)
    counters[SEARCHED] = counters[TIME]
    while True:
        value = least_of(least, len(least))
        found = _next_at(value, 0, price, least)
        if _is_right(found, stamp, partner):
            if value == np.inf or _next_at(value, found + 1, price, least) < 0:
                return found
            found = _first_of_equals(found, stamp, partner, price, least)
            if _is_right(found, stamp, partner):
                return found
        _renew(found, n_atoms, gram, documents, inverse, stamp, partner, worth, price, least, cost, counters)


@kernel
def _first_of_equals(found, stamp, partner, price, least):
    """Return an atom of the least price that must be searched again, or of the first pair that has it."""
    other = partner[found, 0]
    best, other, value = min(found, other), max(found, other), price[found]
    j = _next_at(value, found + 1, price, least)
    while j >= 0:
        if not _is_right(j, stamp, partner):
            return j
        low, high = min(j, partner[j, 0]), max(j, partner[j, 0])
        if low < best or (low == best and high < other):
            found, best, other = j, low, high
        j = _next_at(value, j + 1, price, least)
    return found


@kernel
def whole(j, n_atoms, gram, stamp, recent, places, counters):
    """Take into row j of `gram` what has changed after it."""
    since, count = max(stamp[j], counters[START]), 0
    row = gram[j]
    if counters[TIME] - since < len(recent):
        place = since % len(recent)
        # First which, then what: numbers far from each other are fetched at once only with no choice in between.
        for time in range(since + 1, counters[TIME] + 1):
            place = place + 1 if place + 1 < len(recent) else 0
            places[count] = recent[place]
            count += 1 if stamp[recent[place]] == time else 0  # not changed again since
        for found in range(count):
            row[places[found]] = gram[places[found], j]
    else:
        for i in range(n_atoms):
            if stamp[i] > since:
                row[i] = gram[i, j]


@kernel
def changed(j, stamp, recent, partner, counters):
    """Note that row j of `gram` is new."""
    counters[TIME] += 1
    stamp[j] = counters[TIME]
    recent[counters[TIME] % len(recent)] = j
    partner[j, 0] = UNKNOWN


@kernel
def merge(gone, kept, n_atoms, gram, documents, squares, inverse, inner, stamp, recent, partner, places, counters):
    """Add atom `gone` to atom `kept`."""
    whole(gone, n_atoms, gram, stamp, recent, places, counters)
    whole(kept, n_atoms, gram, stamp, recent, places, counters)
    squares[kept] += squares[gone] + 2.0 * gram[kept, gone]
    inverse[kept] = 1.0 / math.sqrt(squares[kept]) if squares[kept] > 0.0 else 0.0
    row, other = gram[kept], gram[gone]
    for i in range(n_atoms):
        row[i] += other[i]
    documents[kept] += documents[gone]
    inner[kept] += inner[gone]
    changed(kept, stamp, recent, partner, counters)


NEVER = 1 << 62  # later than any time
LEFT = 0.7  # share of the places that are groups still, below which they move together


@kernel
def _together(
    count, names, gram, documents, squares, inverse, price, least, stamp, recent, partner, worth, places, moved,
    counters,
):  # fmt: skip
    """Move the groups that are left to the first places, in their order, and return how many they are."""
    left = 0
    for i in range(count):
        moved[i] = -1
        if documents[i] < np.inf:
            moved[i], places[left], names[left] = left, i, names[i]
            documents[left], squares[left], inverse[left] = documents[i], squares[i], inverse[i]
            price[left], stamp[left] = price[i], stamp[i]
            for rank in range(OFFERS):
                partner[left, rank], worth[left, rank] = partner[i, rank], worth[i, rank]
            left += 1
    for i in range(left):
        row, other = gram[i], gram[places[i]]
        for j in range(left):
            row[j] = other[places[j]]
    price[left:] = np.inf
    for block in range(len(least)):
        first = block * BLOCK
        least[block] = least_of(price[first:], min(BLOCK, len(price) - first))
    for i in range(left):
        for rank in range(OFFERS):
            other = partner[i, rank]
            if other >= 0:
                partner[i, rank] = moved[other] if moved[other] >= 0 else GONE
    for time in range(counters[START] + 1, counters[TIME] + 1):
        place = time % len(recent)
        recent[place] = max(moved[recent[place]], 0)  # the time of what is at 0 is another one
    return left


@called("d[,] d[] d[] d[] l l[] l[] d[] l[] l[,] d[,] d[] d[] d[] l[] l[] l[] l[]")
@kernel
def group(
    gram, documents, squares, inverse, target, owner, names, inner, stamp, partner, worth, price, least,
    cost, recent, places, moved, counters,
):  # fmt: skip
    """Merge groups, at first of one atom each, until `target` are left, at the cost of `odl.kernels.atom_clusters`.

    Parameters
    ----------
    gram : ndarray of float64, shape (k, k), changed
        Inner products of the atoms' sums.
    documents, squares, inverse : ndarray of float64, shape (k,), changed
        Documents of each atom, above 0 and finite; ||S_j||^2; 1 / ||S_j||.
    target : int
        At least 1.
    owner, names : ndarray of int64, shape (k,), changed
        0 to k - 1; `owner` becomes the atom whose group each atom is in at last: the one of most documents when groups
        were merged.
    inner : ndarray of float64, shape (k,)
        Zeros.
    stamp : ndarray of int64, shape (k,), changed
        1 to k.
    partner, worth, price, least : ndarray, changed
        After `search` of all rows.
    cost : ndarray of float64, shape (BLOCK,)
        Work space.
    recent, places, moved : ndarray of int64, shape (k,)
        Work space.
    counters : ndarray of int64, shape (4,), changed
        All k.
    """
    k = len(documents)
    count = k
    for left in range(k, target, -1):
        if left < LEFT * count:
            count = _together(
                count, names, gram, documents, squares, inverse, price, least, stamp, recent, partner, worth,
                places, moved, counters,
            )  # fmt: skip
        found = cheapest(
            count, gram, documents, inverse, stamp, recent, partner, worth, price, least, cost, counters
        )  # fmt: skip
        gone, kept = min(found, partner[found, 0]), max(found, partner[found, 0])
        if documents[gone] > documents[kept]:
            gone, kept = kept, gone
        merge(
            gone, kept, count, gram, documents, squares, inverse, inner, stamp, recent, partner, places, counters
        )  # fmt: skip
        owner[names[gone]] = names[kept]
        documents[gone], partner[gone, 0] = np.inf, NOBODY  # costs with it are no number, never the least
        set_price(gone, np.inf, price, least)
        stamp[gone] = NEVER  # so that a price with it as partner is a bound
    for i in range(k):
        last = i
        while owner[last] != last:
            last = owner[last]
        owner[i] = last
