"""Learner `projected_gradient` (PG) of ICASSP 2013, section 2.1 (2), after Zinkevich 2003."""

from dataclasses import dataclass, replace
from typing import ClassVar

from scipy import sparse

from odl.learners.base import State, setting
from odl.learners.l1_objective import SubgradientLearner
from odl.prox.projections import project_columns


@dataclass(frozen=True)
class ProjectedGradient(SubgradientLearner):
    """Update the dictionary by A_{t+1} = Proj(A_t - eta G_t), G_t = sign(X_t A_t^T - P_t)^T X_t.

    Parameters
    ----------
    eta : float
        Step size.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("projected_gradient")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes)
    >>> scores = learner.score(state, csr_array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]))
    >>> (scores.residual + scores.penalty).round(2)
    array([0.55, 1.  ])
    """

    eta: float = setting(11.0, exclusiveMinimum=0)

    algorithm: ClassVar[str] = "projected_gradient"

    def update(self, state: State, statistics: sparse.csc_array) -> State:
        """Return the state after a projected subgradient step.

        Equation `projected-gradient` of docs/method.md.
        """
        dictionary = project_columns(sparse.csc_array(state.dictionary - self.eta * statistics))
        return replace(state, dictionary=dictionary, updates=state.updates + 1)
