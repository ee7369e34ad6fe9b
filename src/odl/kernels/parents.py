"""Compiled kernel of the learner with levels: atoms are grouped, the two that are cheapest to merge first."""

import numpy as np

from odl.kernels import clusters, prices
from odl.kernels.compiled import called, kernel

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
            for rank in range(prices.OFFERS):
                partner[left, rank], worth[left, rank] = partner[i, rank], worth[i, rank]
            left += 1
    for i in range(left):
        row, other = gram[i], gram[places[i]]
        for j in range(left):
            row[j] = other[places[j]]
    price[left:] = np.inf
    for block in range(len(least)):
        first = block * prices.BLOCK
        least[block] = prices.least_of(price[first:], min(prices.BLOCK, len(price) - first))
    for i in range(left):
        for rank in range(prices.OFFERS):
            other = partner[i, rank]
            if other >= 0:
                partner[i, rank] = moved[other] if moved[other] >= 0 else prices.GONE
    for time in range(counters[prices.START] + 1, counters[prices.TIME] + 1):
        place = time % len(recent)
        recent[place] = max(moved[recent[place]], 0)  # the time of what is at 0 is another one
    return left


@called("d[,] d[] d[] d[] l l[] l[] d[] l[] l[,] d[,] d[] d[] d[] l[] l[] l[] l[]")
@kernel
def group(
    gram, documents, squares, inverse, target, owner, names, inner, stamp, partner, worth, price, least,
    cost, recent, places, moved, counters,
):  # fmt: skip
    """Merge groups, at first of one atom each, until `target` are left, at the cost that `odl.kernels.clusters` has.

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
        After `prices.search` of all rows.
    cost : ndarray of float64, shape (prices.BLOCK,)
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
        found = prices.cheapest(
            count, gram, documents, inverse, stamp, recent, partner, worth, price, least, cost, counters
        )  # fmt: skip
        gone, kept = min(found, partner[found, 0]), max(found, partner[found, 0])
        if documents[gone] > documents[kept]:
            gone, kept = kept, gone
        clusters._merge(
            gone, kept, count, gram, documents, squares, inverse, inner, stamp, recent, partner, places, counters
        )  # fmt: skip
        owner[names[gone]] = names[kept]
        documents[gone], partner[gone, 0] = np.inf, prices.NOBODY  # costs with it are no number, never the least
        prices.set_price(gone, np.inf, price, least)
        stamp[gone] = NEVER  # so that a price with it as partner is a bound
    for i in range(k):
        last = i
        while owner[last] != last:
            last = owner[last]
        owner[i] = last
