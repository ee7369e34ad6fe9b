"""Compiled kernel of the learner with levels: atoms are grouped, the two that are cheapest to merge first."""

import math

import numpy as np

from odl.kernels import clusters
from odl.kernels.compiled import kernel

NEVER = 1 << 62  # later than any time
BOUND = -3  # partner of a group whose partner is gone: its price is a bound
LEFT = 0.7  # share of the places that are groups still, below which they move together


@kernel
def _together(count, names, gram, documents, squares, inverse, price, least, stamp, recent, partner, moved, counters):
    """Move the groups that are left to the first places, in their order, and return how many they are."""
    left = 0
    for i in range(count):
        moved[i] = -1
        if documents[i] > 0.0:
            moved[i], names[left] = left, names[i]
            documents[left], squares[left], inverse[left] = documents[i], squares[i], inverse[i]
            price[left], stamp[left], partner[left] = price[i], stamp[i], partner[i]
            left += 1
    for i in range(count):
        if moved[i] >= 0:
            row, other = gram[moved[i]], gram[i]
            for j in range(count):
                if moved[j] >= 0:
                    row[moved[j]] = other[j]
    price[left:] = np.inf
    for block in range(len(least)):
        first = block * clusters.BLOCK
        least[block] = clusters._least_of(price[first:], min(clusters.BLOCK, len(price) - first))
    for i in range(left):
        if partner[i] >= 0:
            partner[i] = moved[partner[i]] if moved[partner[i]] >= 0 else BOUND
    for time in range(counters[clusters.START] + 1, counters[clusters.TIME] + 1):
        place = time % len(recent)
        recent[place] = max(moved[recent[place]], 0)  # the time of what is at 0 is another one
    return left


@kernel
def group(
    gram,
    documents,
    target,
    owner,
    squares,
    inverse,
    inner,
    price,
    cost,
    stamp,
    recent,
    partner,
    names,
    moved,
    least,
    counters,
):
    """Merge groups, at first of one atom each, until `target` are left, at the cost that `odl.kernels.clusters` has.

    Parameters
    ----------
    gram : ndarray of float64, shape (k, k), changed
        Inner products of the atoms' sums.
    documents : ndarray of float64, shape (k,), changed
        Documents of each atom, above 0.
    target : int
        At least 1.
    owner : ndarray of int64, shape (k,), filled
        The atom whose group each atom is in at last: the one of most documents when groups were merged.
    squares, inverse, inner, price, cost : ndarray of float64, shape (k,)
        Work space.
    stamp, recent, partner, names, moved : ndarray of int64, shape (k,)
        Work space.
    least : ndarray of float64, shape (k // clusters.BLOCK + 1,)
        Work space.
    counters : ndarray of int64, shape (4,)
        Work space.
    """
    k = len(documents)
    counters[:] = k
    counters[clusters.SEARCHED] = -1
    price[:], least[:] = np.inf, np.inf
    for i in range(k):
        owner[i], names[i], stamp[i], partner[i], inner[i] = i, i, i + 1, clusters.UNKNOWN, 0.0
        squares[i] = gram[i, i]
        inverse[i] = 1.0 / math.sqrt(squares[i]) if squares[i] > 0.0 else 0.0
    count = k
    for left in range(k, target, -1):
        if left < LEFT * count:
            count = _together(
                count, names, gram, documents, squares, inverse, price, least, stamp, recent, partner, moved, counters
            )  # fmt: skip
        found = clusters._cheapest(
            count, gram, documents, inverse, stamp, recent, partner, price, least, cost, counters
        )  # fmt: skip
        gone, kept = min(found, partner[found]), max(found, partner[found])
        if documents[gone] > documents[kept]:
            gone, kept = kept, gone
        clusters._merge(
            gone, kept, count, gram, documents, squares, inverse, inner, stamp, recent, partner, counters
        )  # fmt: skip
        owner[names[gone]] = names[kept]
        documents[gone], partner[gone] = 0.0, -1
        clusters._set(gone, np.inf, price, least)
        stamp[gone] = NEVER  # so that a price with it as partner is a bound
    for i in range(k):
        last = i
        while owner[last] != last:
            last = owner[last]
        owner[i] = last
