"""Learner `hierarchical`: sparse coding with a tree-structured penalty."""

from dataclasses import dataclass
from typing import ClassVar

from odl import trees
from odl.learners.base import setting
from odl.learners.flat import Flat


@dataclass(frozen=True)
class Hierarchical(Flat):
    """Learner `Flat` with the tree-structured penalty Omega(x) = sum_g ||x_g||.

    A group g consists of a node of the tree and its descendants.

    Parameters
    ----------
    tree : str
        Tree with one node per atom. "binary": node j has the children 2j + 1 and 2j + 2. "10,2":
        branching factors from the root down. "3 x 10,2": several such trees. "parents -1,0,0":
        parent of each node.
    group_norm : {"l2", "linf"}
        Norm of a group.

    Notes
    -----
    This is SpHDL of ICML 2010 (Jenatton, Mairal, Obozinski, Bach).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.6, 0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]])
    >>> learner = learners.make("hierarchical", tree="2")
    >>> state = learner.start(P, 3, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes)
    >>> scores = learner.score(state, csr_array([[0.6, 0.8, 0.0, 0.0], [0.0, 0.0, 0.6, 0.8]]))
    >>> (scores.residual + scores.penalty).round(2)
    array([0.01, 0.5 ])
    """

    tree: str = "binary"
    group_norm: str = setting("l2", enum=("l2", "linf"))

    algorithm: ClassVar[str] = "hierarchical"

    def penalty(self, n_atoms: int) -> tuple[trees.Tree, str]:
        """Return (tree of the atoms, norm of a group) of the penalty."""
        return trees.parse(self.tree, n_atoms), self.group_norm
