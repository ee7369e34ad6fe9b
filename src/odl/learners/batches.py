"""A batch for a learner: in memory, or gone through in runs of its documents; sums are taken over blocks of it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

BLOCK = 512  # documents summed at a time: fixed, so that sums do not depend on sharding


class Block(NamedTuple):
    """A run of documents of a batch that starts at position `start` in it."""

    P: sparse.csr_array
    start: int


class RowParts(NamedTuple):
    """A sparse array that is too large to hold: ``parts()`` yields consecutive runs of its rows (CSR)."""

    shape: tuple
    dtype: np.dtype
    parts: Callable


class InMemory(NamedTuple):
    """A batch in memory: documents and their codes (None where a learner needs none)."""

    P: sparse.csr_array
    codes: sparse.csr_array | None = None
    in_memory: bool = True  # a batch on disk has False, and the same methods

    @property
    def shape(self):
        """Documents and terms."""
        return self.P.shape

    def parts(self):
        """Yield (documents, codes) of consecutive runs of documents that start at multiples of `BLOCK`."""
        yield self.P, self.codes

    def take(self, rows):
        """Return documents and codes of a few rows."""
        return self.P[rows], self.codes[rows]

    def together(self):
        """Return all documents and codes."""
        return self.P, self.codes


def blocks(batch):
    """Yield (block, codes) of a batch, `BLOCK` documents at a time."""
    first = 0
    for P, X in batch.parts():
        for start in range(0, P.shape[0], BLOCK):
            yield Block(P[start : start + BLOCK], first + start), X[start : start + BLOCK]
        first += P.shape[0]
