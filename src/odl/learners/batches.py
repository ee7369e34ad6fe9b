"""A batch for a learner as blocks of its documents, which sums are taken over."""

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

from scipy import sparse

from odl.learners.base import Learner, State

BLOCK = 512  # documents summed at a time, in one order


class Block(NamedTuple):
    """A run of documents of a batch that starts at position `start` in it.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.batches import Block
    >>> Block(csr_array((488, 3)), 512).start
    512
    """

    P: sparse.csr_array
    start: int


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
        state, total = self.fit_terms(state, P.shape[1]), None
        for start in range(0, P.shape[0], BLOCK):
            block = Block(P[start : start + BLOCK], start)
            part = self.accumulate(state, block, X[start : start + BLOCK])
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
