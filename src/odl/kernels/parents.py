"""Compiled kernel of the learner with levels: atoms are grouped, the two that are cheapest to merge first."""

import math

import numpy as np

from odl.kernels.compiled import inlined, kernel


@inlined
def _cost(i, j, gram, documents, inverse):
    """Return the cost of merging two groups, (1 - cosine) sqrt(n m / (n + m)), as in `odl.kernels.clusters`."""
    n, m = documents[i], documents[j]
    return (1.0 - gram[i, j] * inverse[i] * inverse[j]) * math.sqrt(n * m / (n + m))


@kernel
def _search(i, left, places, gram, documents, inverse, partner, price):
    """Find the group that is cheapest to merge with i; among equals the first."""
    partner[i], price[i] = -1, np.inf
    for place in range(left):
        j = places[place]
        if j != i:
            cost = _cost(i, j, gram, documents, inverse)
            if cost < price[i]:
                partner[i], price[i] = j, cost


@kernel
def _cheapest(left, places, gram, documents, inverse, partner, price):
    """Return the group that is cheapest to merge with its partner. A price without a partner is a bound from below."""
    while True:
        found = places[0]
        for place in range(1, left):
            if price[places[place]] < price[found]:
                found = places[place]
        if partner[found] >= 0:
            return found
        _search(found, left, places, gram, documents, inverse, partner, price)


@kernel
def _join(gone, kept, left, places, gram, documents, inverse):
    """Add group `gone` to group `kept`."""
    size = gram[kept, kept] + gram[gone, gone] + 2.0 * gram[gone, kept]
    for place in range(left):
        i = places[place]
        gram[kept, i] += gram[gone, i]
        gram[i, kept] = gram[kept, i]
    gram[kept, kept] = size
    inverse[kept] = 1.0 / math.sqrt(size) if size > 0.0 else 0.0
    documents[kept] += documents[gone]


@kernel
def group(gram, documents, target, owner, inverse, partner, price, places):
    """Merge groups, at first of one atom each, until `target` are left.

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
    inverse, partner, price, places : ndarray of float64, int64, float64, int64, shape (k,)
        Work space.
    """
    k = len(documents)
    for i in range(k):
        owner[i], places[i] = i, i
        inverse[i] = 1.0 / math.sqrt(gram[i, i]) if gram[i, i] > 0.0 else 0.0
        partner[i], price[i] = -1, np.inf
        for j in range(i):
            cost = _cost(i, j, gram, documents, inverse)
            if cost < price[i]:
                partner[i], price[i] = j, cost
            if cost < price[j]:
                partner[j], price[j] = i, cost
    for left in range(k, target, -1):
        gone = _cheapest(left, places, gram, documents, inverse, partner, price)
        kept = partner[gone]
        if documents[gone] > documents[kept]:
            gone, kept = kept, gone
        owner[gone] = kept
        count = 0
        for place in range(left):
            if places[place] != gone:
                places[count] = places[place]
                count += 1
        _join(gone, kept, count, places, gram, documents, inverse)
        partner[kept], price[kept] = -1, np.inf
        for place in range(count):
            i = places[place]
            if i == kept:
                continue
            cost = _cost(i, kept, gram, documents, inverse)
            if cost < price[kept]:
                partner[kept], price[kept] = i, cost
            if cost < price[i]:
                partner[i], price[i] = kept, cost
            elif partner[i] == gone or partner[i] == kept:
                partner[i] = -1  # all others cost at least what these did: a bound, looked at when it is the least
    for i in range(k):
        last = i
        while owner[last] != last:
            last = owner[last]
        owner[i] = last
