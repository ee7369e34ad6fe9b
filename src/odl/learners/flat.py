"""Learner `flat`: sparse coding with the squared loss and an l1 penalty."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from odl import trees
from odl.dictionary import structured
from odl.dictionary.treestart import cluster_atoms
from odl.learners.base import ArraySpec, Learner, Scores, State, setting
from odl.learners.sparse_atoms import draw_atoms, widen


@dataclass(frozen=True)
class Flat(Learner):
    """Minimise 1/2 ||p - A x||_2^2 + lam Omega(x) over A, x >= 0, with Omega(x) = ||x||_1.

    Parameters
    ----------
    lam : float
        Weight of the penalty Omega. Documents have unit l2 norm, so the objective is at most 1/2.
    mu : float
        Parameter of the constraint mu ||a||_1 + (1 - mu) ||a||_2^2 <= 1 on atoms. With 0, this is
        the unit l2 ball, with 1 the unit l1 ball.
    rounds : int
        Number of alternations of sparse coding and dictionary updates on the first batch.
    sweeps : int
        Number of sweeps over the atoms in one update.
    forgetting : float
        Exponent of the weight (M/N)^forgetting of document M in the statistics of N documents. With
        0, all documents have the same weight.
    first : {"clusters", "documents"}
        Initial atoms: means of nested clusters of the first batch, or documents drawn at random.
    start_terms : int
        With first="documents", number of terms in an initial atom, those of its document with the
        largest weights. 0 stands for all terms.
    tolerance : float
        Relative duality gap at which sparse coding stops.
    iterations : int
        Maximum number of FISTA iterations for a document.

    Notes
    -----
    The statistics include the first batch, so the dictionary is fitted to all documents so far.
    This is SpDL of ICML 2010 (Jenatton, Mairal, Obozinski, Bach), equation (1), sections 2.1 and
    3.3 to 3.5, made online as in JMLR 2010 (Mairal, Bach, Ponce, Sapiro).

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

    lam: float = setting(0.01, minimum=0)
    mu: float = setting(0.0, minimum=0, maximum=1)
    rounds: int = setting(10, minimum=0)
    sweeps: int = setting(5, minimum=1)
    forgetting: float = setting(0.0, minimum=0)
    first: str = setting("clusters", enum=("clusters", "documents"))
    start_terms: int = setting(0, minimum=0)
    tolerance: float = setting(1e-6, exclusiveMinimum=0)
    iterations: int = setting(2000, minimum=1)

    algorithm: ClassVar[str] = "flat"
    norm: ClassVar[str] = "l2"

    def penalty(self, n_atoms: int) -> tuple[trees.Tree | None, str]:
        """Return (tree of the atoms or None, norm of a group) of the penalty."""
        return None, "l2"

    def problem(self, n_atoms: int) -> structured.Problem:
        """Return the optimisation problem for a dictionary with `n_atoms` atoms."""
        tree, norm = self.penalty(n_atoms)
        return structured.Problem(
            self.lam,
            tree,
            norm,
            mu=self.mu,
            tolerance=self.tolerance,
            iterations=self.iterations,
            sweeps=self.sweeps,
        )

    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first dictionary by `rounds` alternations, from clusters or documents."""
        atoms = draw_atoms(P, n_atoms, rng, self.start_terms, self.norm)
        problem = self.problem(n_atoms)
        if self.first == "clusters":
            atoms = cluster_atoms(P, problem.tree or trees.flat(n_atoms), rng)
        state = self.fresh(sparse.csc_array(problem.project(atoms)))
        codes = None
        for _ in range(self.rounds):
            codes = problem.codes(P, state.dictionary, start=codes).X
            state = self.learn(self.fresh(state.dictionary), P, codes)
        return replace(state, updates=0)

    @property
    def array_specs(self) -> dict[str, ArraySpec]:
        """Specifications of the statistics over all documents.

        "gram" is the sum of x x^T, "cross" the sum of p x^T, "documents" the number of documents.
        """
        return {
            "gram": ArraySpec("csr", ("atoms", "atoms")),
            "cross": ArraySpec("csc", ("terms", "atoms")),
            "documents": ArraySpec("dense", (1,), between=(0, np.inf)),
        }

    def score(self, state: State, P: sparse.csr_array) -> Scores:
        """Score documents by min_{x >= 0} 1/2 ||p - A x||_2^2 + lam Omega(x).

        Returns
        -------
        Scores
        """
        A = widen(state.dictionary, n_rows=P.shape[1])
        coded = self.problem(A.shape[1]).codes(P, A)
        # Weak duality: the objective minus its gap is at most the minimum.
        lower_bound = np.maximum(coded.residual + coded.penalty - coded.gap, 1e-300)
        gap = float(np.max(coded.gap / lower_bound, initial=0.0))
        return Scores(coded.X, coded.residual, coded.penalty, gap)

    def accumulate(
        self, state: State, P: sparse.csr_array, X: sparse.csr_array
    ) -> structured.Statistics:
        """Return the statistics of a batch: sums of x x^T and p x^T, and number of documents."""
        return structured.statistics(P, X)

    def update(self, state: State, statistics: structured.Statistics) -> State:
        """Return the state after adding a batch to the statistics and updating the atoms."""
        past = structured.Statistics(
            state.arrays["gram"], state.arrays["cross"], float(state.arrays["documents"][0])
        )
        total = structured.accumulate(past, statistics, self.forgetting)
        dictionary = self.problem(state.dictionary.shape[1]).update(state.dictionary, total)
        arrays = {"gram": total.A, "cross": total.B, "documents": np.array([total.documents])}
        return State(dictionary, arrays, state.updates + 1)
