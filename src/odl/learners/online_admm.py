"""Learner `online_admm`: ICASSP 2013, section 2.1 (3), and OIADMM of NIPS 2012, Algorithm 1."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from odl.coding.admm import largest_eigenvalue
from odl.learners.base import ArraySpec, State, setting
from odl.learners.l1_objective import L1Learner
from odl.learners.sparse_atoms import blocks, largest_per_row, widen
from odl.prox.projections import project_columns


class StepStatistics(NamedTuple):
    """Statistics of a batch for the update (C as in `OnlineADMM`).

    Attributes
    ----------
    step : csc_array
        C^T X, the step of the dictionary before scaling.
    gram : csr_array
        X^T X.
    clipped : csr_array
        C.
    X : csr_array
        Codes.
    """

    step: sparse.csc_array
    gram: sparse.csr_array
    clipped: sparse.csr_array
    X: sparse.csr_array


@dataclass(frozen=True)
class OnlineADMM(L1Learner):
    """Minimise ||Gamma||_1 subject to Gamma = P_t - X_t A^T by linearised ADMM, one step per batch.

    With R = P_t - X_t A_t^T, the dual variable D_t and C = clip(R + D_t/beta, -1/beta, 1/beta), the
    step is

        A_{t+1} = Proj(A_t + tau_t C^T X_t),     tau_t = min(tau, 1/(2 Psi_max(X_t)))
        D_{t+1} = beta (C - X_t (A_{t+1} - A_t)^T)

    where Psi_max(X_t) is the largest eigenvalue of X_t^T X_t. In the paper, C is
    R + D_t/beta - Gamma_{t+1}, and D_{t+1} is D_t + beta (P_t - X_t A_{t+1}^T - Gamma_{t+1}).

    Parameters
    ----------
    beta : float
        Penalty of the augmented Lagrangian (alpha in ICASSP 2013).
    tau : float
        Largest step size. 0 stands for no limit. If tau is at most 1/(2 Psi_max(X_t)) for all t, it
        is the constant step size of Theorems B.5 and B.6 of the NIPS 2012 supplement.
    dual_terms : int
        Number of entries with the largest absolute values that are stored of each row of D. With 0,
        all are stored, in double precision. Row i has the words of document i of all batches, so
        without a limit a row grows with the stream.

    Notes
    -----
    Limited rows of D have single precision in memory and in checkpoints, so that a resumed run
    gives the same bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("online_admm")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes)
    >>> scores = learner.score(state, csr_array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]))
    >>> (scores.residual + scores.penalty).round(2)
    array([0.2, 1. ])
    """

    beta: float = setting(9.0, exclusiveMinimum=0)
    tau: float = setting(0.0, minimum=0)
    dual_terms: int = setting(500, minimum=0)

    algorithm: ClassVar[str] = "online_admm"
    has_regret: ClassVar[bool] = True

    @property
    def precision(self) -> type:
        """Type of the entries of the dual variable."""
        return np.float32 if self.dual_terms else np.float64

    @property
    def array_specs(self) -> dict[str, ArraySpec]:
        """Specification of the dual variable."""
        return {"dual": ArraySpec("csr", ("positions", "terms"), self.precision)}

    def accumulate(self, state: State, P: sparse.csr_array, X: sparse.csr_array) -> StepStatistics:
        """Return the statistics of a batch; document i has row i of the dual variable."""
        dual = widen(state.arrays["dual"][: P.shape[0]].astype(np.float64), n_rows=P.shape[0])
        clipped = sparse.csr_array(P - X @ state.dictionary.T + dual / self.beta)
        clipped.data = np.clip(clipped.data, -1.0 / self.beta, 1.0 / self.beta)
        parts = [(clipped[rows], X[rows]) for rows in blocks(P.shape[0])]
        first_step, *other_steps = (
            sparse.csc_array(clipped_rows.T @ codes) for clipped_rows, codes in parts
        )
        gram, *grams = (sparse.csr_array(codes.T @ codes) for _, codes in parts)
        return StepStatistics(sum(other_steps, first_step), sum(grams, gram), clipped, X)

    def update(self, state: State, statistics: StepStatistics) -> State:
        """Return the state after one step for the dictionary, then one for the dual variable."""
        old, new = state.dictionary, self._step(state.dictionary, statistics)
        change = statistics.X @ (new - old).T
        dual = self._truncate(sparse.csr_array(self.beta * (statistics.clipped - change)))
        unused_rows = self._update_unused(state.arrays["dual"][dual.shape[0] :])
        dual = sparse.csr_array(sparse.vstack([dual, unused_rows], format="csr"))
        return State(new, {"dual": dual}, state.updates + 1)

    def _step(self, old, statistics):
        """Return the dictionary after one projected step."""
        psi_max = largest_eigenvalue(statistics.gram)
        if not psi_max > 0:
            return old
        inverse = max(2.0 * psi_max, 1.0 / self.tau if self.tau else 0.0)
        return project_columns(sparse.csc_array(old + statistics.step / inverse))

    def _update_unused(self, rows):
        """Return clip(D, -1, 1) for the rows of D beyond the last document of a short batch.

        This is the update for empty documents (footnote 6 of NIPS 2012).
        """
        rows = sparse.csr_array(rows).astype(np.float64)
        rows.data = np.clip(rows.data, -1.0, 1.0)
        return self._truncate(rows)

    def _truncate(self, rows):
        """Return rows of the dual variable with the number of terms and precision to store."""
        rows = rows.astype(self.precision)
        rows.eliminate_zeros()
        return largest_per_row(rows, self.dual_terms)


def oiadmm_step(
    P: sparse.csr_array,
    X: sparse.csr_array,
    A: sparse.csc_array,
    dual: sparse.csr_array,
    beta: float,
    tau: float = 0.0,
) -> tuple[sparse.csc_array, sparse.csr_array]:
    """Return the dictionary and the dual variable after one step of OIADMM.

    This is a linearised step of `OnlineADMM` on ``min_A ||Gamma||_1`` subject to ``Gamma = P -
    X A^T``, ``A >= 0`` and ``sum(A_j) <= 1``, with all entries of the dual variable.

    Equation `online-admm` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Documents of this timestep.
    X : csr_array, shape (n_documents, n_atoms)
        Codes of the documents.
    A : csc_array, shape (n_terms, n_atoms)
        Feasible dictionary. It does not change if all codes are zero.
    dual : csr_array, shape (n_previous_documents, n_terms)
        Dual variable after the previous timestep, without rows at first. The shorter of P and
        `dual` is padded with zero rows.
    beta : float
        Positive penalty of the augmented Lagrangian.
    tau : float
        Largest step size. 0 stands for no limit.

    Returns
    -------
    A : csc_array, shape (n_terms, n_atoms)
    dual : csr_array

    References
    ----------
    Kasiviswanathan, Wang, Banerjee, Melville, NIPS 2012, Algorithm 1 (OIADMM) and supplement,
    section B.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.learners.online_admm import oiadmm_step
    >>> P, X, A = csr_array([[0.5, 0.5]]), csr_array([[1.0]]), csc_array([[1.0], [0.0]])
    >>> A, dual = oiadmm_step(P, X, A, csr_array((0, 2)), beta=2.0)
    >>> A.toarray().ravel(), dual.toarray()
    (array([0.75, 0.25]), array([[-0.5,  0.5]]))
    """
    after = OnlineADMM(beta=beta, tau=tau, dual_terms=0).learn(State(A, {"dual": dual}), P, X)
    return after.dictionary, after.arrays["dual"]
