"""Learner `batch`, which fits the dictionary to all documents so far.

The algorithm is BATCH-IMPL of the NIPS 2012 supplement, Algorithm 4.
"""

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

# Largest accepted increase of F, relative to the l1 norm of the documents. The largest accepted
# duality gap of codes has the same value.
OBJECTIVE_SLACK = 1e-9


class Alternation(NamedTuple):
    """Dictionary and codes after alternation, and in `trace` F before and after each half step."""

    dictionary: sparse.csc_array
    codes: sparse.csr_array
    trace: list


@dataclass(frozen=True)
class Batch(L1Learner):
    """Minimise F(A, X) = ||P_[t] - X A^T||_1 + lam ||X||_1 over all documents so far.

    P_[t] has the documents up to timestep t. Each timestep adds `growth` atoms to the last
    dictionary, then alternates the two half steps

        A = argmin_{A >= 0, ||A_j||_1 <= 1} ||P_[t] - X A^T||_1      (Algorithm 3 from the last A)
        X = argmin_{X >= 0} ||P_[t] - X A^T||_1 + lam ||X||_1        (sparse coding)

    at most `alternations` times, until the relative decrease of F is smaller than `tolerance`. At
    least two alternations are done, since the codes of new atoms are zero in the first.

    Parameters
    ----------
    growth : int
        Number of atoms that are added at each timestep after the first (eta in the paper). A batch
        adds at most one atom per document with known terms. With 0, none are added.
    alternations : int
        Maximum number of alternations at a timestep after the first. At the first timestep, the
        maximum is `rounds`.
    tolerance : float
        Relative decrease of F below which alternation stops.
    fit_iterations, fit_tolerance : int, float
        Maximum number of iterations and tolerance of a dictionary update
        (`odl.dictionary.l1.fit_dictionary`).

    Notes
    -----
    Each half step checks that F does not increase by more than 1e-9 ||P_[t]||_1. Codes of ADMM,
    which may not be optimal, replace the previous codes only if their objective is smaller.

    The state is only the dictionary A_t. Codes of earlier batches need not be stored, because the
    last half step of a timestep is sparse coding, which is deterministic and codes each document
    separately. Coding the history with A_t therefore gives the same bits again.

    The paper does not define the initial values of new atoms; zero atoms would never enter a code.
    Here they are initialised from the documents of the batch with the largest objectives, with
    `start_terms` words each, as in the first dictionary. A document is skipped if an atom chosen
    earlier would enter its code, so that one new topic does not use all atoms. Nothing is random.
    Existing atoms do not change columns. `carry` affects only the number of updates.

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
        """Learn the first dictionary by `rounds` alternations, from documents as initial atoms."""
        A = draw_atoms(P, n_atoms, rng, self.start_terms, self.norm)
        X = self.score(State(A), P).codes
        A, _, trace = self.alternate(P, A, X, self.rounds)
        return State(A, updates=len(trace) // 2 if self.carry else 0)

    def learn(
        self,
        state: State,
        P: sparse.csr_array,
        X: sparse.csr_array,
        history: Sequence[sparse.csr_array] = (),
    ) -> State:
        """Return the state after fitting the dictionary to the history and the batch P."""
        A = widen(state.dictionary, n_rows=P.shape[1])
        past = [widen(earlier, n_columns=P.shape[1]) for earlier in history]
        codes = [self.score(State(A), earlier).codes for earlier in past]
        new = new_atoms(P, objectives(P, A, self.lam, X), self.growth, self.start_terms, self.lam)
        A = sparse.csc_array(sparse.hstack([A, new], format="csc"))
        documents = sparse.csr_array(sparse.vstack([*past, P], format="csr"))
        X = widen(sparse.csr_array(sparse.vstack([*codes, X], format="csr")), n_columns=A.shape[1])
        A = self.alternate(documents, A, X, self.alternations).dictionary
        return replace(state, dictionary=A, updates=state.updates + 1)

    def alternate(
        self, P: sparse.csr_array, A: sparse.csc_array, X: sparse.csr_array, most: int
    ) -> Alternation:
        """Alternate dictionary updates and sparse coding at most `most` times, from A and X.

        Equation `batch` of docs/method.md.

        Returns
        -------
        Alternation

        Raises
        ------
        OdlError
            If F increases by more than 1e-9 ||P||_1.
        """
        trace = [float(objectives(P, A, self.lam, X).sum())]
        slack = OBJECTIVE_SLACK * float(P.data.sum())
        for number in range(most):
            before = trace[-1]
            fit = fit_dictionary(
                P, X, A, iterations=self.fit_iterations, tolerance=self.fit_tolerance
            )
            A = fit.dictionary
            _append(trace, fit.objective + self.lam * float(X.data.sum()), slack)
            X, objective = self._code(P, A, X)
            _append(trace, objective, slack)
            if number and before - trace[-1] <= self.tolerance * before:
                break
        return Alternation(A, X, trace)

    def _code(self, P, A, X):
        """Return (codes of P with A, sum of their objectives).

        With the solver "admm", the code of a document is that of X if its objective is smaller.
        """
        scores = self.score(State(A), P)
        values = scores.residual + scores.penalty
        if self.solver == "exact":
            return scores.codes, float(values.sum())
        before = objectives(P, A, self.lam, X)
        worse = (before < values).astype(np.float64)
        codes = sparse.diags_array(1.0 - worse) @ scores.codes + sparse.diags_array(worse) @ X
        return sparse.csr_array(codes), float(np.minimum(values, before).sum())


def _append(trace, value, slack):
    """Append a value of F to `trace`; raise OdlError if F increased by more than `slack`."""
    if not value <= trace[-1] + slack:  # negated so that nan is an error too
        expected = f"at most {trace[-1]!r} + {slack:.1g}"
        raise OdlError(
            f"the objective increases to {value!r}", expected, "report this with the documents"
        )
    trace.append(value)


def new_atoms(P, objective, count, start_terms, lam):
    """Return new atoms, initialised from the documents with the largest objectives.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Rows of unit l1 norm.
    objective : ndarray, shape (n_documents,)
        Objective of each document with the current dictionary.
    count : int
        Maximum number of atoms. There are fewer if fewer documents have known terms.
    start_terms : int
        Number of terms in an atom, those of its document with the largest weights. 0 stands for all
        terms.
    lam : float
        Documents are used last if an atom chosen earlier would enter their codes, which requires
        more than (1 + lam)/2 of the atom's mass on their terms.

    Returns
    -------
    csc_array, shape (n_terms, n_new_atoms)
    """
    contains = sparse.csr_array((np.ones(P.nnz), P.indices, P.indptr), shape=P.shape)

    def enters(_, atom):
        return contains @ atom.toarray().ravel() > (1.0 + lam) / 2.0

    return sparse_atoms.new_atoms(P, objective, count, enters, start_terms=start_terms)
