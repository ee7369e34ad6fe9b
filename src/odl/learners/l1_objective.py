"""Base classes of learners that minimise the L1 objective.

    min ||P - X A^T||_1 + lam ||X||_1  over X >= 0 and A >= 0 with columns of l1 norm at most 1

`L1Learner` draws the initial dictionary and scores documents. `SubgradientLearner` also computes
the subgradient of the loss with respect to A.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from odl.coding import admm, exact
from odl.learners.base import Learner, Scores, State, setting
from odl.learners.sparse_atoms import blocks, draw_atoms, widen

ROUNDING = 1e-12  # largest absolute residual that counts as 0, for documents of unit norm


@dataclass(frozen=True)
class L1Learner(Learner):
    """Base class of learners that minimise ||P - X A^T||_1 + lam ||X||_1, A and X non-negative.

    Parameters
    ----------
    lam : float
        Weight of the l1 penalty on the codes.
    rounds : int
        Number of alternations of sparse coding and dictionary updates on the first batch.
    start_terms : int
        Number of terms in an initial atom, those of a document with the largest weights. 0 stands
        for all terms. An atom enters the code of a document only if more than (1 + lam)/2 of the
        atom's mass is on words of the document, so an atom with many terms would enter few codes.
    carry : bool
        Whether to retain the number of updates and the arrays other than the dictionary after the
        first batch. If false, they are reset to zero.
    solver : {"exact", "admm"}
        Solver of sparse coding.
    iterations, phi, relaxation : int, float, float
        Number of iterations, penalty and dual step size (gamma in NIPS 2012) of the solver "admm".

    Notes
    -----
    Source: ICASSP 2013 sections 2.1 and 3.

    Examples
    --------
    >>> from odl import learners
    >>> from odl.learners.l1_objective import L1Learner
    >>> classes = map(learners.learner_class, learners.LEARNERS)
    >>> [one.algorithm for one in classes if issubclass(one, L1Learner)]
    ['batch', 'dual_averaging', 'online_admm', 'projected_gradient']
    """

    lam: float = setting(0.1, minimum=0)
    rounds: int = setting(30, minimum=0)
    start_terms: int = setting(10, minimum=0)
    carry: bool = False
    solver: str = setting("exact", enum=("exact", "admm"))
    iterations: int = setting(100, minimum=1)
    phi: float = setting(5.0, exclusiveMinimum=0)
    relaxation: float = setting(1.89, exclusiveMinimum=0)

    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first dictionary by `rounds` updates, from documents as initial atoms."""
        state = self.fresh(draw_atoms(P, n_atoms, rng, self.start_terms, self.norm))
        for _ in range(self.rounds):
            state = self.learn(state, P, self.score(state, P).codes)
        return state if self.carry else self.fresh(state.dictionary)

    def score(self, state: State, P: sparse.csr_array) -> Scores:
        """Score documents by min_{x >= 0} ||p - A x||_1 + lam ||x||_1.

        Equation `score` of docs/method.md.

        Returns
        -------
        Scores
        """
        A = widen(state.dictionary, n_rows=P.shape[1])
        gap = 0.0
        if self.solver == "exact":
            X, objective, _ = exact.solve(P, A, self.lam)
        else:
            options: dict[str, Any] = {
                "iterations": self.iterations,
                "phi": self.phi,
                "gamma": self.relaxation,
            }
            X, objective, gaps = admm.codes(P, A, self.lam, return_gap=True, **options)
            gap = float(np.max(gaps / np.maximum(objective - gaps, 1e-300), initial=0.0))
        penalty = self.lam * np.asarray(X.sum(axis=1)).ravel()
        return Scores(X, objective - penalty, penalty, gap)

    def word_loss(self, residual: np.ndarray) -> np.ndarray:
        """Return the absolute value of each residual."""
        return np.abs(residual)


@dataclass(frozen=True)
class SubgradientLearner(L1Learner):
    """Base class of learners that update the dictionary by a subgradient step.

    The subgradient of ||P - X A^T||_1 with respect to A is sign(X A^T - P)^T X, with sign(0) = 0.

    Parameters
    ----------
    per_document : bool
        Whether to divide the subgradient by the number of documents. In the papers it is the sum
        over the batch.

    Examples
    --------
    >>> from dataclasses import dataclass, replace
    >>> from odl.learners.l1_objective import SubgradientLearner
    >>> from odl.prox.projections import project_columns
    >>> @dataclass(frozen=True)
    ... class Small(SubgradientLearner):
    ...     def update(self, state, statistics):
    ...         A = project_columns(state.dictionary - 0.1 * statistics)
    ...         return replace(state, dictionary=A)
    >>> Small(lam=0.2).has_regret
    True
    """

    per_document: bool = False

    has_regret: ClassVar[bool] = True

    def accumulate(
        self, state: State, P: sparse.csr_array, X: sparse.csr_array
    ) -> sparse.csc_array:
        """Return the subgradient (terms x atoms), summed or with `per_document` averaged.

        Equation `subgradient` of docs/method.md.
        """
        residual = sparse.csr_array(X @ state.dictionary.T - P)
        # The sign of a rounding error would have the same effect as that of a large residual.
        residual.data = np.sign(np.where(np.abs(residual.data) > ROUNDING, residual.data, 0.0))
        first_sum, *other_sums = (
            sparse.csc_array(residual[rows].T @ X[rows]) for rows in blocks(P.shape[0])
        )
        total = sum(other_sums, first_sum)
        return total / P.shape[0] if self.per_document else total
