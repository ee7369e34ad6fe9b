"""What atoms need to be merged: their inner products, and for each the partners it is cheapest to merge with."""

from typing import NamedTuple

import numpy as np

from odl.kernels import native
from odl.learners import likeness

prices = native.Kernels("prices")
BLOCK, OFFERS, UNKNOWN = 64, 4, -2  # as in odl.kernels.prices


class Offers(NamedTuple):
    """Partners of each atom and what merging with them costs, the least cost of each, and of each block of atoms."""

    partner: np.ndarray
    worth: np.ndarray
    price: np.ndarray
    least: np.ndarray


def grams(rows, lists, gram, share=likeness.ALONE):
    """Fill the upper left of a matrix with the inner products of compressed rows, of which there are inverted lists."""
    count = len(rows.starts) - 1

    def some(first, last, _):
        likeness.kernels.grams(first, last, *rows, *lists, gram)

    share(some, count, rising(count, share.count))


def unknown(count):
    """Return offers of atoms that nothing has been searched for."""
    partner, least = np.full((count, OFFERS), UNKNOWN), np.full(count // BLOCK + 1, np.inf)
    return Offers(partner, np.empty((count, OFFERS)), np.full(count, np.inf), least)


def search(gram, documents, inverse, stamp, offers, counters, share=likeness.ALONE):
    """Search the rows of all atoms, in the order of whose numbers they changed."""
    count = len(documents)

    def some(first, last, _):
        prices.search(first, last, gram, documents, inverse, stamp, *offers, np.empty(BLOCK), counters)

    share(some, count, rising(count, share.count))


def rising(count, parts):
    """Return where to cut rows, each of which is compared with those before it, into parts of like work."""
    cuts = BLOCK * np.round(count * np.sqrt(np.linspace(0, 1, parts + 1)) / BLOCK).astype(int)
    return [*np.minimum(cuts[:-1], count).tolist(), count]
