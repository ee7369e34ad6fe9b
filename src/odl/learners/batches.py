"""A batch for a learner: in memory, or gone through in runs of its documents; sums are taken over blocks of it."""

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odl.learners.base import Learner, State

BLOCK = 512  # documents summed at a time: fixed, so that sums do not depend on sharding


class Block(NamedTuple):
    """A run of documents of a batch that starts at position `start` in it.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.batches import InMemory, blocks
    >>> [block.start for block, codes in blocks(InMemory(csr_array((1000, 3)), csr_array((1000, 2))))]
    [0, 512]
    """

    P: sparse.csr_array
    start: int


class RowParts(NamedTuple):
    """A sparse array that is too large to hold: ``parts()`` yields consecutive runs of its rows (CSR).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.batches import RowParts
    >>> dual = RowParts((4, 3), np.dtype(float), lambda: iter([csr_array((2, 3)), csr_array((2, 3))]))
    >>> sum(part.shape[0] for part in dual.parts())
    4
    """

    shape: tuple
    dtype: np.dtype
    parts: Callable


class InMemory(NamedTuple):
    """A batch in memory: documents and their codes (None where a learner needs none).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.batches import InMemory
    >>> InMemory(csr_array((5, 3)), csr_array((5, 2))).shape
    (5, 3)
    """

    P: sparse.csr_array
    codes: sparse.csr_array | None = None
    in_memory: bool = True  # a batch on disk has False, and the same methods

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and terms."""
        return self.P.shape

    def parts(self) -> Iterator[tuple]:
        """Yield (documents, codes) of consecutive runs of documents that start at multiples of `BLOCK`."""
        yield self.P, self.codes

    def take(self, rows: np.ndarray) -> tuple:
        """Return documents and codes of a few rows."""
        return self.P[rows], self.codes[rows]  # type: ignore[index]  # asked of batches with codes

    def together(self) -> tuple:
        """Return all documents and codes."""
        return self.P, self.codes


def blocks(batch: Any) -> Iterator[tuple[Block, Any]]:
    """Yield (block, codes) of a batch, `BLOCK` documents at a time.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.batches import InMemory, blocks
    >>> [block.P.shape for block, codes in blocks(InMemory(csr_array((1000, 3)), csr_array((1000, 2))))]
    [(512, 3), (488, 3)]
    """
    first = 0
    for P, X in batch.parts():
        for start in range(0, P.shape[0], BLOCK):
            yield Block(P[start : start + BLOCK], first + start), X[start : start + BLOCK]
        first += P.shape[0]


class BlockLearner(Learner):
    """Common part of the learners that see a batch as sums over blocks of its documents.

    Examples
    --------
    >>> from odl import learners
    >>> from odl.learners.batches import BlockLearner
    >>> [name for name in learners.LEARNERS if issubclass(learners.learner_class(name), BlockLearner)]
    ['dual_averaging', 'flat', 'hierarchical', 'online_admm', 'projected_gradient']
    """

    def learn(
        self, state: State, P: sparse.csr_array, X: sparse.csr_array, history: Sequence[sparse.csr_array] = ()
    ) -> State:
        """As `Learner.learn`: from the statistics of all blocks."""
        return self.learn_parts(self.fit_terms(state, P.shape[1]), InMemory(P, X), history)

    def learn_parts(self, state: State, batch: Any, history: Sequence[sparse.csr_array] = ()) -> State:
        """As `Learner.learn_parts`, a block at a time."""
        total = None
        for block, X in blocks(batch):
            part = self.accumulate(state, block, X)
            total = part if total is None else self.add(total, part)
        return self.update(state, self.finish(total))

    @abc.abstractmethod
    def accumulate(self, state: State, block: Block, X: sparse.csr_array) -> Any:
        """Return the statistics of one block of documents at the current dictionary."""

    @abc.abstractmethod
    def add(self, total: Any, part: Any) -> Any:
        """Return the statistics of the blocks so far and the next one."""

    def finish(self, total: Any) -> Any:
        """Return what `update` takes from the statistics of all blocks."""
        return total

    @abc.abstractmethod
    def update(self, state: State, statistics: Any) -> State:
        """Return the next state."""
