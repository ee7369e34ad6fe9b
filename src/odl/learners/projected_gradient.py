"""Projected (sub)gradient, PG: ICASSP 2013 section 2.1 (2), after Zinkevich 2003."""

from dataclasses import dataclass, replace
from typing import ClassVar

from scipy import sparse

from odl.learners.l1 import SubgradientLearner
from odl.prox.columns import project_columns


@dataclass(frozen=True)
class ProjectedGradient(SubgradientLearner):
    """A_{t+1} = Proj(A_t - eta G_t), G_t = sign(X_t A_t^T - P_t)^T X_t.

    Parameters
    ----------
    eta : float
        Step size.
    """

    eta: float = 11.0

    algorithm: ClassVar[str] = "projected_gradient"
    bounds: ClassVar[dict] = {**SubgradientLearner.bounds, "eta": {"exclusiveMinimum": 0}}

    def update(self, state, statistics):
        """Step against the subgradient and project every atom on {a >= 0, sum(a) <= 1}.

        Equation `projected-gradient` of docs/method.md.
        """
        dictionary = project_columns(sparse.csc_array(state.dictionary - self.eta * statistics))
        return replace(state, dictionary=dictionary, updates=state.updates + 1)
