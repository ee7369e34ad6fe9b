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
    """

    algorithm: ClassVar[str] = "flat"

    def penalty(self, n_atoms):
        """Return no tree: one group for each atom."""
        return None, "l2"
