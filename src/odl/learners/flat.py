"""Flat sparse coding: the squared loss with the l1 penalty, beside which the tree is compared."""

from dataclasses import dataclass
from typing import ClassVar

from odl.learners.squared import SquaredLearner


@dataclass(frozen=True)
class Flat(SquaredLearner):
    """Omega(x) = ||x||_1; everything else as `Hierarchical`.

    Notes
    -----
    Source: ICML 2010 section 2.1, there SpDL.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.6, 0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]])
    >>> learner = learners.make("flat")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes)
    >>> scores = learner.score(state, csr_array([[0.6, 0.8, 0.0, 0.0], [0.0, 0.0, 0.6, 0.8]]))
    >>> (scores.residual + scores.penalty).round(2)
    array([0.01, 0.5 ])
    """

    algorithm: ClassVar[str] = "flat"

    def penalty(self, n_atoms: int) -> tuple[None, str]:
        """Return no tree: one group for each atom."""
        return None, "l2"
