"""Online ADMM: ICASSP 2013 section 2.1 (3); OIADMM of the NIPS 2012 paper, Algorithm 1."""

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
    """What documents give: the ADMM step before scaling, X^T X, and C and X for the dual update."""

    step: sparse.csc_array
    gram: sparse.csr_array
    clipped: sparse.csr_array
    X: sparse.csr_array


@dataclass(frozen=True)
class OnlineADMM(L1Learner):
    """Linearised ADMM on min ||Gamma||_1 such that Gamma = P_t - X_t A^T, one step a batch.

    With R = P_t - X_t A_t^T and C = clip(R + D_t/beta, -1/beta, 1/beta), which is
    R + D_t/beta - Gamma_{t+1} of the paper:

        A_{t+1} = Proj(A_t + tau_t C^T X_t),     tau_t = min(tau, 1/(2 Psi_max(X_t)))
        D_{t+1} = beta (C - X_t (A_{t+1} - A_t)^T)

    (the second line is D_t + beta (P_t - X_t A_{t+1}^T - Gamma_{t+1}) with Gamma_{t+1} put in).

    Parameters
    ----------
    beta : float
        Penalty of the augmented Lagrangian (alpha in ICASSP 2013).
    tau : float
        Largest step; 0 sets no limit. One that is at most every 1/(2 Psi_max(X_t)) is the constant step of
        Theorems B.5 and B.6 of the NIPS 2012 supplement.
    dual_terms : int
        Entries kept in each row of the dual, the largest in size; 0 keeps all, exactly. The dual pairs document i
        of one batch with document i of the next, so its support is the union of all past supports:
        without a bound it grows with the stream.

    Notes
    -----
    A dual that is cut is kept in single precision (also in memory, so that resuming is exact).

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
        """Type of the dual's entries."""
        return np.float32 if self.dual_terms else np.float64

    @property
    def array_specs(self) -> dict[str, ArraySpec]:
        """The dual."""
        return {"dual": ArraySpec("csr", ("positions", "terms"), self.precision)}

    def accumulate(self, state: State, P: sparse.csr_array, X: sparse.csr_array) -> StepStatistics:
        """Return the statistics of a batch; rows of the dual pair with positions in it."""
        scaled = widen(state.arrays["dual"][: P.shape[0]].astype(np.float64), n_rows=P.shape[0]) / self.beta
        clipped = sparse.csr_array(P - X @ state.dictionary.T + scaled)
        clipped.data = np.clip(clipped.data, -1.0 / self.beta, 1.0 / self.beta)
        parts = [(clipped[rows], X[rows]) for rows in blocks(P.shape[0])]
        first, *others = (sparse.csc_array(part.T @ codes) for part, codes in parts)
        gram, *grams = (sparse.csr_array(codes.T @ codes) for _, codes in parts)
        return StepStatistics(sum(others, first), sum(grams, gram), clipped, X)

    def update(self, state: State, statistics: StepStatistics) -> State:
        """Take one step of the dictionary, then one of the dual."""
        old, new = state.dictionary, self._stepped(state.dictionary, statistics)
        change = statistics.X @ (new - old).T
        dual = self._cut(sparse.csr_array(self.beta * (statistics.clipped - change)))
        rest = self._unreached(state.arrays["dual"][dual.shape[0] :])
        dual = sparse.csr_array(sparse.vstack([dual, rest], format="csr"))
        return State(new, {"dual": dual}, state.updates + 1)

    def _stepped(self, old, statistics):
        """Return the dictionary after one step."""
        psi_max = largest_eigenvalue(statistics.gram)
        if not psi_max > 0:
            return old
        inverse = max(2.0 * psi_max, 1.0 / self.tau if self.tau else 0.0)
        return project_columns(sparse.csc_array(old + statistics.step / inverse))

    def _unreached(self, rest):
        """Return rows that this batch is too short to reach: D <- clip(D, -1, 1), an empty document (footnote 6)."""
        rest = sparse.csr_array(rest).astype(np.float64)
        rest.data = np.clip(rest.data, -1.0, 1.0)
        return self._cut(rest)

    def _cut(self, rows):
        """Return the entries that are kept, as they are kept."""
        rows = rows.astype(self.precision)
        rows.eliminate_zeros()
        return largest_per_row(rows, self.dual_terms)


def oiadmm_step(
    P: sparse.csr_array, X: sparse.csr_array, A: sparse.csc_array, dual: sparse.csr_array, beta: float, tau: float = 0.0
) -> tuple[sparse.csc_array, sparse.csr_array]:
    """Take one step of OIADMM, with nothing cut off the dual.

    One linearised step on ``min_A ||Gamma||_1`` such that ``Gamma = P - X A^T``, ``A >= 0`` and ``sum(A_j) <= 1``, as
    in `OnlineADMM`, with which it shares its code.

    Equation `online-admm` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Documents of this timestep.
    X : csr_array, shape (n_documents, n_atoms)
        Their codes.
    A : csc_array, shape (n_terms, n_atoms)
        Dictionary, in the set; it stays where all codes are zero.
    dual : csr_array, shape (any number of documents, n_terms)
        Dual of the timestep before; no rows at the start. Of unequal batches the smaller gets zero rows.
    beta : float
        Penalty of the augmented Lagrangian, above 0.
    tau : float
        Largest step; 0 sets no limit.

    Returns
    -------
    A : csc_array, shape (n_terms, n_atoms)
    dual : csr_array

    References
    ----------
    Kasiviswanathan, Wang, Banerjee, Melville, NIPS 2012, Algorithm 1 (OIADMM) and supplement, section B.

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
