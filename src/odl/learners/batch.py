"""BATCH-IMPL: NIPS 2012 supplement, Algorithm 4. Every timestep fits the dictionary to all documents so far."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from odl.coding.admm import objectives
from odl.dictionary.l1 import fit_dictionary
from odl.errors import OdlError
from odl.learners import sparse_atoms
from odl.learners.base import State, setting
from odl.learners.l1_objective import L1Learner
from odl.learners.sparse_atoms import draw_atoms, widen

SLACK = 1e-9  # of the norm of the documents: the gap that the coder certifies


class Alternation(NamedTuple):
    """Dictionary and codes after an alternation, and F at its start and after every half step."""

    dictionary: sparse.csc_array
    codes: sparse.csr_array
    trace: list


@dataclass(frozen=True)
class Batch(L1Learner):
    """Alternation of codes and dictionary on all documents so far, from the last dictionary and a few new atoms.

    At timestep t, with P_[t] the documents of all the batches up to t, `growth` atoms are added. Then, until

        F = ||P_[t] - X A^T||_1 + lam ||X||_1

    falls by less than `tolerance` of itself from one alternation to the next (but at least twice, as new atoms have no
    codes in the first), or `alternations` times:

        A = argmin_{A >= 0, ||A_j||_1 <= 1} ||P_[t] - X A^T||_1      (Algorithm 3, from the last A)
        X = argmin_{X >= 0} ||P_[t] - X A^T||_1 + lam ||X||_1        (the coder)

    Parameters
    ----------
    growth : int
        Atoms added at every timestep after the first (eta in the paper), at most one for each document with known
        terms in the batch; 0 keeps the number.
    alternations : int
        Most alternations of a timestep; on the first batch `rounds`.
    tolerance : float
        Relative decrease of F below which a timestep ends.
    fit_iterations, fit_tolerance : int, float
        Most iterations of a dictionary step, and its accepted excess over the optimum
        (`odl.dictionary.l1.fit_dictionary`).

    Notes
    -----
    F never rises: every half step is checked, to 1e-9 of ||P_[t]||_1. Codes of the ADMM coder, which need not be
    optimal, are taken where they are better than the codes before.

    The state is the dictionary alone. Codes of earlier batches are not kept: the coder had the last word of the
    timestep before, it is deterministic and codes each document by itself, so coding the history on A_t gives X_[t-1]
    again, bit for bit. (With the ADMM coder it gives the codes of that coder on A_t.)

    The paper leaves open where new atoms start; at zero no code would ever use them. They start from the documents of
    the batch with the largest objective, `start_terms` words of each, as the first dictionary does. A document is
    passed over if an atom chosen before alone would enter its code, so that one new topic does not take all atoms.
    Equal documents are taken in order: nothing is drawn. Old atoms keep their columns. There is no memory for `carry`
    to carry but the count of updates.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("batch")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes, [P])
    >>> scores = learner.score(state, csr_array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]))
    >>> (scores.residual + scores.penalty).round(2)
    array([0.1, 1. ])
    """

    growth: int = setting(10, minimum=0)
    alternations: int = setting(30, minimum=0)
    tolerance: float = setting(1e-4, minimum=0)
    fit_iterations: int = setting(200, minimum=0)
    fit_tolerance: float = setting(1e-4, minimum=0)

    algorithm: ClassVar[str] = "batch"
    needs_history: ClassVar[bool] = True
    grows: ClassVar[bool] = True

    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first dictionary: documents as atoms, then alternations on the first batch."""
        A = draw_atoms(P, n_atoms, rng, self.start_terms, self.norm)
        X = self.score(State(A), P).codes
        A, _, trace = self.alternate(P, A, X, self.rounds)
        return State(A, updates=len(trace) // 2 if self.carry else 0)

    def learn(
        self, state: State, P: sparse.csr_array, X: sparse.csr_array, history: Sequence[sparse.csr_array] = ()
    ) -> State:
        """Return the state after fitting the dictionary to the history and the batch P with its codes X."""
        A = widen(state.dictionary, n_rows=P.shape[1])
        past = [widen(earlier, n_columns=P.shape[1]) for earlier in history]
        codes = [self.score(State(A), earlier).codes for earlier in past]
        new = new_atoms(P, objectives(P, A, self.lam, X), self.growth, self.start_terms, self.lam)
        A = sparse.csc_array(sparse.hstack([A, new], format="csc"))
        documents = sparse.csr_array(sparse.vstack([*past, P], format="csr"))
        X = widen(sparse.csr_array(sparse.vstack([*codes, X], format="csr")), n_columns=A.shape[1])
        A = self.alternate(documents, A, X, self.alternations).dictionary
        return replace(state, dictionary=A, updates=state.updates + 1)

    def alternate(self, P: sparse.csr_array, A: sparse.csc_array, X: sparse.csr_array, most: int) -> Alternation:
        """Alternate dictionary and codes, from A and its codes X, until F settles, `most` times at most.

        Equation `batch` of docs/method.md.

        Returns
        -------
        Alternation

        Raises
        ------
        OdlError
            If F rises by more than 1e-9 of the norm of the documents.
        """
        trace = [float(objectives(P, A, self.lam, X).sum())]
        slack = SLACK * float(P.data.sum())
        for number in range(most):
            before = trace[-1]
            fit = fit_dictionary(P, X, A, iterations=self.fit_iterations, tolerance=self.fit_tolerance)
            A = fit.dictionary
            _append(trace, fit.objective + self.lam * float(X.data.sum()), slack)
            X, objective = self._code(P, A, X)
            _append(trace, objective, slack)
            if number and before - trace[-1] <= self.tolerance * before:
                break
        return Alternation(A, X, trace)

    def _code(self, P, A, X):
        """Return codes of P on A, none worse than X, and the sum of their objectives."""
        scores = self.score(State(A), P)
        values = scores.residual + scores.penalty
        if self.solver == "exact":
            return scores.codes, float(values.sum())
        before = objectives(P, A, self.lam, X)
        kept = (before < values).astype(np.float64)
        codes = sparse.diags_array(1.0 - kept) @ scores.codes + sparse.diags_array(kept) @ X
        return sparse.csr_array(codes), float(np.minimum(values, before).sum())


def _append(trace, value, slack):
    """Add a value of F to the trace, or refuse it if it is larger than the last by more than the slack."""
    if not value <= trace[-1] + slack:
        expected = f"at most {trace[-1]!r}, up to {slack:.1g}"
        raise OdlError(f"the objective rises to {value!r}", expected, "report this with the documents")
    trace.append(value)


def new_atoms(P, objective, count, start_terms, lam):
    """Make atoms of the documents that are explained worst.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Rows of unit l1 norm.
    objective : ndarray, shape (n_documents,)
        What is left of each document by the dictionary so far; of equal ones the first is taken first.
    count : int
        Atoms wanted; fewer if there are not as many documents with known terms.
    start_terms : int
        Heaviest terms of a document that its atom is made of; 0 takes the whole document.
    lam : float
        A document is passed over while there are others, if an atom chosen before has more than (1 + lam)/2 of its
        mass on the document's terms: that atom would enter its code.

    Returns
    -------
    csc_array, shape (n_terms, n_new_atoms)
    """
    holds = sparse.csr_array((np.ones(P.nnz), P.indices, P.indptr), shape=P.shape)

    def enters(_, atom):
        return holds @ atom.toarray().ravel() > (1.0 + lam) / 2.0

    return sparse_atoms.new_atoms(P, objective, count, enters, start_terms=start_terms)
