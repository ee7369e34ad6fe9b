"""L2-BATCH: NIPS 2012 supplement, Algorithm 5. Non-negative sparse coding of all documents at every timestep."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from odl.coding import lars
from odl.dictionary import l2
from odl.learners.base import Learner, Scores, State
from odl.learners.sparse_atoms import draw_atoms, new_atoms, widen


@dataclass(frozen=True)
class BatchL2(Learner):
    """Score by min_{x >= 0} ||p - A x||_2 + lam ||x||_1; learn by non-negative sparse coding of all documents.

    At timestep t, with P_[t] the documents of all batches up to t, k grows by `growth`; then alternate, from the last
    dictionary, until the objective falls by less than `tolerance` of itself, or `alternations` times:

        X = argmin_{X >= 0}                      1/2 ||P_[t] - X A^T||_F^2 + lam ||X||_1
        A: block coordinate descent, A >= 0 and ||A_j||_2 <= 1, on the same objective

    Parameters
    ----------
    lam : float
        Weight of the l1 penalty, in the score and in the fit.
    growth : int
        Atoms added at every timestep after the first (eta in the paper). 0: the size stays.
    rounds, alternations : int
        Most alternations on the first batch and at a later timestep.
    sweeps : int
        Sweeps of block coordinate descent in one alternation.
    tolerance : float
        Relative decrease of the objective in one alternation below which a timestep ends.
    start_terms : int
        Heaviest terms of a document that a starting or a new atom is made of; 0 takes the whole document.
    unit : {"l2", "l1"}
        Norm of the documents in whose unit a score is measured. The objective is homogeneous, so that documents of
        unit l1 norm have the same codes, up to scale, and the score divided by ||p||_1.

    Notes
    -----
    Algorithm 5 prints the problem of the dictionary as ||P - A X||_2 + lam ||X||_1 and calls it the non-negative
    sparse coding problem, which is Hoyer's (2002) with the squared norm: that is what is solved here, with the same
    lam. Read as printed, with one norm over all documents, it would have X = 0 from a hundred unit documents on (no
    product of an atom and a residual exceeds 1, and lam times the norm of 100 unit residuals does).

    The state is the dictionary: codes of earlier documents follow from it, so they are not stored. New atoms start
    from the worst explained documents of the batch (`odl.learners.sparse_atoms`); the paper leaves their start open.
    Old atoms keep their columns.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.6, 0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]])
    >>> learner = learners.make("batch_l2")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes, [P])
    >>> found = learner.score(state, csr_array([[0.6, 0.8, 0.0, 0.0], [0.0, 0.0, 0.6, 0.8]]))
    >>> (found.residual + found.penalty).round(2)
    array([0.1, 1. ])
    """

    lam: float = 0.1
    growth: int = 10
    rounds: int = 30
    alternations: int = 10
    sweeps: int = 1
    tolerance: float = 1e-3
    start_terms: int = 10
    unit: str = "l2"

    algorithm: ClassVar[str] = "batch_l2"
    whole: ClassVar[bool] = True
    norm: ClassVar[str] = "l2"
    needs_history: ClassVar[bool] = True
    grows: ClassVar[bool] = True
    choices: ClassVar[dict] = {"unit": ("l2", "l1")}
    bounds: ClassVar[dict] = {
        "lam": {"minimum": 0},
        "growth": {"minimum": 0},
        "rounds": {"minimum": 0},
        "alternations": {"minimum": 0},
        "sweeps": {"minimum": 1},
        "tolerance": {"minimum": 0},
        "start_terms": {"minimum": 0},
    }

    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first dictionary: documents as atoms, then alternations on the first batch."""
        A = draw_atoms(P, n_atoms, rng, self.start_terms, "l2")
        return self.fresh(self.fit(P, A, self.rounds).A)

    def score(self, state: State, P: sparse.csr_array) -> Scores:
        """Code documents on the dictionary: min_{x >= 0} ||p - A x||_2 + lam ||x||_1.

        Equations `l2-score` and `l2-length` of docs/method.md.

        Returns
        -------
        Scores
        """
        coded = lars.codes(P, widen(state.dictionary, n_rows=P.shape[1]), self.lam)
        penalty = self.lam * np.asarray(coded.X.sum(axis=1)).ravel()
        gap = float(np.max(coded.gap / np.maximum(coded.objective, 1e-300), initial=0.0))
        sizes = np.ones(P.shape[0])
        if self.unit == "l1":
            sizes = np.asarray(P.sum(axis=1)).ravel()
            sizes[sizes == 0.0] = 1.0
        return Scores(coded.X, (coded.objective - penalty) / sizes, penalty / sizes, gap)

    def learn(
        self, state: State, P: sparse.csr_array, X: sparse.csr_array, history: Sequence[sparse.csr_array] = ()
    ) -> State:
        """Return the state after fitting the grown dictionary to the history and the batch P."""
        state = self.fit_terms(state, P.shape[1])
        coded = lars.codes(P, state.dictionary, self.lam)
        new = new_atoms(P, coded.objective, self.growth, self.enters, start_terms=self.start_terms, norm="l2")
        A = sparse.csc_array(sparse.hstack([state.dictionary, new], format="csc"))
        past = [widen(earlier, n_columns=P.shape[1]) for earlier in history]
        everything = sparse.csr_array(sparse.vstack([*past, P], format="csr"))
        return replace(state, dictionary=self.fit(everything, A, self.alternations).A, updates=state.updates + 1)

    def fit(self, P: sparse.csr_array, A: sparse.csc_array, most: int) -> l2.Fit:
        """Alternate codes and dictionary at most so many times; see `odl.dictionary.l2.fit`."""
        options: dict[str, Any] = {"sweeps": self.sweeps, "tolerance": self.tolerance}
        return l2.fit(P, A, self.lam, alternations=most, **options)

    def enters(self, P: sparse.csr_array, atom: sparse.csc_array) -> np.ndarray:
        """Mask the documents whose code an atom alone would enter: a^T p > lam ||p||_2."""
        norms = np.sqrt(np.asarray(P.multiply(P).sum(axis=1))).ravel()
        return (P @ atom).toarray().ravel() > self.lam * norms
