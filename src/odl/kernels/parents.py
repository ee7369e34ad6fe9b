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
def _search(i, gram, documents, inverse, partner, price):
    """Find the group that is cheapest to merge with i; among equals the first."""
    partner[i], price[i] = -1, np.inf
    for j in range(len(documents)):
        if j != i and documents[j] > 0.0:
            cost = _cost(i, j, gram, documents, inverse)
            if cost < price[i]:
                partner[i], price[i] = j, cost


@kernel
def group(gram, documents, target, owner, inverse, partner, price):
    """Merge groups, at first of one atom each, until `target` are left.

    Parameters
    ----------
    gram : ndarray of float64, shape (k, k), changed
        Inner products of the atoms' sums.
    documents : ndarray of float64, shape (k,), changed
        Documents of each atom, above 0; 0 afterwards for a group that became part of another.
    target : int
    owner : ndarray of int64, shape (k,), filled
        The atom whose group each atom is in at last: the one of most documents when groups were merged.
    inverse, partner, price : ndarray of float64, int64, float64, shape (k,)
        Work space.
    """
    k = len(documents)
    for i in range(k):
        owner[i] = i
        inverse[i] = 1.0 / math.sqrt(gram[i, i]) if gram[i, i] > 0.0 else 0.0
    for i in range(k):
        _search(i, gram, documents, inverse, partner, price)
    for _ in range(k - target):
        gone = -1
        for i in range(k):
            if documents[i] > 0.0 and (gone < 0 or price[i] < price[gone]):
                gone = i
        kept = partner[gone]
        if documents[gone] > documents[kept]:
            gone, kept = kept, gone
        size = gram[kept, kept] + gram[gone, gone] + 2.0 * gram[gone, kept]
        for i in range(k):
            gram[kept, i] += gram[gone, i]
            gram[i, kept] = gram[kept, i]
        gram[kept, kept] = size
        inverse[kept] = 1.0 / math.sqrt(size) if size > 0.0 else 0.0
        documents[kept] += documents[gone]
        documents[gone] = 0.0
        for i in range(k):
            if owner[i] == gone:
                owner[i] = kept
        _search(kept, gram, documents, inverse, partner, price)
        for i in range(k):
            if documents[i] > 0.0 and i != kept:
                if partner[i] == gone or partner[i] == kept:
                    _search(i, gram, documents, inverse, partner, price)
                elif _cost(i, kept, gram, documents, inverse) < price[i]:
                    partner[i], price[i] = kept, _cost(i, kept, gram, documents, inverse)
