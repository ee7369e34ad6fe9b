"""Learner `dual_averaging` (DA) of ICASSP 2013, section 2.1 (1), after Nesterov 2009."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from odl.learners.base import ArraySpec, State, setting
from odl.learners.l1_objective import SubgradientLearner
from odl.learners.sparse_atoms import largest_per_row
from odl.prox.projections import project_columns


@dataclass(frozen=True)
class DualAveraging(SubgradientLearner):
    """Update A_{t+1} = Proj(-c_t G_{t+1}) by the sum of subgradients G.

    Each batch adds a subgradient to the sum: G_{t+1} = G_t + sign(X_t A_t^T - P_t)^T X_t.

    Parameters
    ----------
    gamma : float
        Parameter of the step size.
    step : {"gamma_over_sqrt_t", "one_over_gamma_sqrt_t"}
        Step size c_t = gamma / sqrt(t) or 1 / (gamma sqrt(t)), where t counts updates from 1. The
        fraction is illegible in the scan of the paper, and these are its two possible readings.
    gradient_terms : int
        Number of entries with the largest absolute values that are stored of each column of G. With
        0, all are stored. A column has an entry for each word of a document that used the atom, so
        without a limit it grows with the stream.

    Notes
    -----
    G has single precision in memory and in checkpoints, so that a resumed run gives the same bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes)
    >>> scores = learner.score(state, csr_array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]))
    >>> (scores.residual + scores.penalty).round(2)
    array([0.1, 1. ])
    """

    gamma: float = setting(4.0, exclusiveMinimum=0)
    step: str = setting("gamma_over_sqrt_t", enum=("gamma_over_sqrt_t", "one_over_gamma_sqrt_t"))
    gradient_terms: int = setting(20000, minimum=0)

    algorithm: ClassVar[str] = "dual_averaging"

    @property
    def array_specs(self) -> dict[str, ArraySpec]:
        """Specification of the sum of subgradients."""
        return {"gradient_sum": ArraySpec("csc", ("terms", "atoms"), np.float32)}

    def update(self, state: State, statistics: sparse.csc_array) -> State:
        """Return the state after adding a subgradient to the sum.

        Equation `dual-averaging` of docs/method.md.
        """
        updates = state.updates + 1
        total = sparse.csc_array(state.arrays["gradient_sum"] + statistics).astype(np.float32)
        total.eliminate_zeros()
        total = sparse.csc_array(largest_per_row(sparse.csr_array(total.T), self.gradient_terms).T)
        scale = self.gamma if self.step == "gamma_over_sqrt_t" else 1.0 / self.gamma
        data = total.data.astype(np.float64) * (-scale / np.sqrt(updates))
        dictionary = project_columns(
            sparse.csc_array((data, total.indices, total.indptr), shape=total.shape)
        )
        return State(dictionary, {"gradient_sum": total}, updates)
