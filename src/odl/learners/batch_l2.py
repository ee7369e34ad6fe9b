"""Learner `batch_l2`: non-negative sparse coding of all documents so far, with the squared l2 loss.

The algorithm is L2-BATCH of the NIPS 2012 supplement, Algorithm 5. Each timestep alternates exact
codes and block coordinate descent over the atoms.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from odl.coding import lars
from odl.errors import ParameterError
from odl.learners.base import Learner, Scores, State, setting
from odl.learners.sparse_atoms import draw_atoms, new_atoms, widen
from odl.prox.projections import MatrixLike, as_integer, check_signs, real_matrix


@dataclass(frozen=True)
class BatchL2(Learner):
    """Score by min_{x >= 0} ||p - A x||_2 + lam ||x||_1; learn by sparse coding of all documents.

    P_[t] has the documents of all batches up to timestep t. Each timestep adds `growth` atoms to
    the last dictionary. Two steps then alternate, at most `alternations` times, until the relative
    decrease of the objective is smaller than `tolerance`:

        X = argmin_{X >= 0}                      1/2 ||P_[t] - X A^T||_F^2 + lam ||X||_1
        A: block coordinate descent, A >= 0 and ||A_j||_2 <= 1, on the same objective

    Parameters
    ----------
    lam : float
        Weight of the l1 penalty, in the score and in the fit.
    growth : int
        Number of atoms that are added at each timestep after the first (eta in the paper).
    rounds, alternations : int
        Maximum number of alternations on the first batch and at later timesteps.
    sweeps : int
        Number of sweeps of block coordinate descent in one alternation.
    tolerance : float
        Relative decrease of the objective below which alternation stops.
    start_terms : int
        Number of terms in an initial atom, those of a document with the largest weights. 0 stands
        for all terms.
    unit : {"l2", "l1"}
        Norm by which scores are divided. Documents have unit l2 norm, so "l2" has no effect.

    Notes
    -----
    In Algorithm 5, the problem of the dictionary is printed as ||P - A X||_2 + lam ||X||_1 and
    called the non-negative sparse coding problem. That problem (Hoyer 2002) has the squared norm,
    and is solved here with the same lam. With one norm over all documents, as printed, the solution
    would be X = 0 for 100 unit documents or more, because no product of an atom and a residual
    exceeds 1, but lam times the norm of 100 unit residuals does.

    The state is the dictionary, from which the codes of earlier documents are computed. The paper
    does not define the initial values of new atoms. Here they are initialised from the documents of
    the batch with the largest objectives (`odl.learners.sparse_atoms`). Existing atoms do not
    change columns.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.6, 0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]])
    >>> learner = learners.make("batch_l2")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes, [P])
    >>> scores = learner.score(state, csr_array([[0.6, 0.8, 0.0, 0.0], [0.0, 0.0, 0.6, 0.8]]))
    >>> (scores.residual + scores.penalty).round(2)
    array([0.1, 1. ])
    """

    lam: float = setting(0.1, minimum=0)
    growth: int = setting(10, minimum=0)
    rounds: int = setting(30, minimum=0)
    alternations: int = setting(10, minimum=0)
    sweeps: int = setting(1, minimum=1)
    tolerance: float = setting(0.001, minimum=0)
    start_terms: int = setting(10, minimum=0)
    unit: str = setting("l2", enum=("l2", "l1"))

    algorithm: ClassVar[str] = "batch_l2"
    norm: ClassVar[str] = "l2"
    needs_history: ClassVar[bool] = True
    grows: ClassVar[bool] = True

    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first dictionary by `rounds` alternations, from documents as initial atoms."""
        A = draw_atoms(P, n_atoms, rng, self.start_terms, "l2")
        return self.fresh(self.fit(P, A, self.rounds).A)

    def score(self, state: State, P: sparse.csr_array) -> Scores:
        """Score documents by min_{x >= 0} ||p - A x||_2 + lam ||x||_1.

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
        self,
        state: State,
        P: sparse.csr_array,
        X: sparse.csr_array,
        history: Sequence[sparse.csr_array] = (),
    ) -> State:
        """Return the state after fitting the grown dictionary to the history and the batch P."""
        state = self.fit_terms(state, P.shape[1])
        coded = lars.codes(P, state.dictionary, self.lam)
        new = new_atoms(
            P, coded.objective, self.growth, self.enters, start_terms=self.start_terms, norm="l2"
        )
        A = sparse.csc_array(sparse.hstack([state.dictionary, new], format="csc"))
        past = [widen(earlier, n_columns=P.shape[1]) for earlier in history]
        everything = sparse.csr_array(sparse.vstack([*past, P], format="csr"))
        return replace(
            state,
            dictionary=self.fit(everything, A, self.alternations).A,
            updates=state.updates + 1,
        )

    def fit(self, P: sparse.csr_array, A: sparse.csc_array, most: int) -> "Fit":
        """Alternate codes and dictionary at most `most` times; see `odl.learners.batch_l2.fit`."""
        return fit(P, A, self.lam, alternations=most, sweeps=self.sweeps, tolerance=self.tolerance)

    def enters(self, P: sparse.csr_array, atom: sparse.csc_array) -> np.ndarray:
        """Return the mask of documents p whose code with this atom only would be positive.

        The condition is a^T p > lam ||p||_2.
        """
        norms = np.sqrt(np.asarray(P.multiply(P).sum(axis=1))).ravel()
        return (P @ atom).toarray().ravel() > self.lam * norms


class Fit(NamedTuple):
    """Dictionary A, codes X of the last coding step, and in `trace` the objective after each one.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import batch_l2
    >>> batch_l2.fit(np.eye(2), np.eye(2), lam=0.1).X.toarray().round(6)
    array([[0.9, 0. ],
           [0. , 0.9]])
    """

    A: sparse.csc_array
    X: sparse.csr_array
    trace: list


def check_atoms(A):
    """Return the dictionary as CSC; raise ParameterError unless A >= 0 and ||a_j||_2 <= 1."""
    A = real_matrix(A, "A", sparse.csc_array)
    check_signs(A, "A")
    max_norm = np.sqrt(np.asarray(A.multiply(A).sum(axis=0)).max(initial=0.0))
    if max_norm > 1.0 + 1e-9:
        raise ParameterError(
            f"an atom has the l2 norm {max_norm:.6g}", "a norm of at most 1", "scale the atoms of A"
        )
    return A


def update_dictionary(
    P: MatrixLike, X: MatrixLike, A: MatrixLike, *, sweeps: int = 1
) -> sparse.csc_array:
    """Return the dictionary after block coordinate descent on the squared loss for fixed codes.

    The objective is ``1/2 ||P - X A^T||_F^2`` over A >= 0, ``||a_j||_2 <= 1``. With B = P^T X and
    C = X^T X, the exact minimiser for atom j is

        a_j = u / max(1, ||u||_2),   u = max(B_j - sum_{i != j} C_ij a_i, 0) / C_jj,

    so no step increases the objective. An atom has only terms of documents whose codes use the
    atom. Atoms that no document uses (C_jj = 0) do not change.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents.
    X : sparse or dense, shape (n_documents, n_atoms)
        Non-negative codes.
    A : sparse or dense, shape (n_terms, n_atoms)
        Feasible initial dictionary.
    sweeps : int
        Number of sweeps over the atoms.

    Returns
    -------
    csc_array of float64, shape (n_terms, n_atoms)

    Raises
    ------
    ParameterError
        If the shapes do not match, a code is negative, or an atom is not feasible.

    References
    ----------
    Mairal, Bach, Ponce, Sapiro, JMLR 11 (2010), Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners.batch_l2 import update_dictionary
    >>> P, X, A = np.array([[0.6, 0.8]]), np.array([[0.5]]), np.array([[1.0], [0.0]])
    >>> update_dictionary(P, X, A).toarray().round(3)  # the atom becomes the document
    array([[0.6],
           [0.8]])
    """
    P, X, A = real_matrix(P, "P"), real_matrix(X, "X"), check_atoms(A)
    if P.shape[0] != X.shape[0] or P.shape[1] != A.shape[0] or X.shape[1] != A.shape[1]:
        given = f"P, X and A have the shapes {P.shape}, {X.shape} and {A.shape}"
        raise ParameterError(
            given,
            "the shapes (documents, terms), (documents, atoms) and (terms, atoms)",
            "pass codes and dictionary of the same documents",
        )
    check_signs(X, "X")
    by_atom = sparse.csr_array(X.T)
    B, C = sparse.csr_array(by_atom @ P).sorted_indices(), (by_atom @ X).toarray()
    terms, weights = (np.split(values, A.indptr[1:-1]) for values in (A.indices, A.data))
    for _ in range(as_integer(sweeps, "sweeps", 1)):
        for j in np.flatnonzero(C.diagonal() > 0.0):
            other_atoms = np.zeros(A.shape[0])  # sum_{i != j} C_ij a_i
            for i in np.flatnonzero(C[j]):
                if i != j:
                    other_atoms[terms[i]] += C[j, i] * weights[i]
            entries = slice(B.indptr[j], B.indptr[j + 1])
            rows = B.indices[entries]
            u = np.maximum(B.data[entries] - other_atoms[rows], 0.0) / C[j, j]
            terms[j] = rows[u > 0.0]
            weights[j] = u[u > 0.0] / max(1.0, np.sqrt(np.sum(u * u)))
    starts = np.cumsum([0, *map(len, terms)])
    return sparse.csc_array((np.concatenate(weights), np.concatenate(terms), starts), shape=A.shape)


def fit(
    P: MatrixLike,
    A: MatrixLike,
    lam: float,
    *,
    alternations: int = 10,
    sweeps: int = 1,
    tolerance: float = 1e-3,
) -> Fit:
    """Fit a dictionary by non-negative sparse coding.

    Exact codes and block coordinate descent over the atoms alternate to solve

        min_{A, X >= 0}  1/2 ||P - X A^T||_F^2 + lam sum(X)    subject to  ||a_j||_2 <= 1

    Equation `l2-batch` of docs/method.md.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents.
    A : sparse or dense, shape (n_terms, n_atoms)
        Feasible initial dictionary.
    lam : float
        Weight of the penalty.
    alternations : int
        Maximum number of dictionary updates.
    sweeps : int
        Number of sweeps over the atoms in an update.
    tolerance : float
        Relative decrease of the objective below which alternation stops.

    Returns
    -------
    Fit
        Dictionary, codes, and the objective after each coding step, which never increases.

    Raises
    ------
    ParameterError
        If a matrix or parameter is outside its domain, or shapes do not match.

    References
    ----------
    Hoyer, Non-negative sparse coding, NNSP 2002; Kasiviswanathan, Wang, Banerjee, Melville, NIPS
    2012, supplement, Algorithm 5.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import batch_l2
    >>> P, A = np.array([[0.6, 0.8], [0.8, 0.6]]), np.array([[1.0], [0.0]])
    >>> scores = batch_l2.fit(P, A, lam=0.1, alternations=3)
    >>> scores.A.toarray().ravel().round(2), np.round(scores.trace, 3)
    (array([0.71, 0.71]), array([0.63 , 0.208, 0.208]))
    """
    A, X, trace = check_atoms(A), None, []
    for _ in range(alternations):
        coded = lars.codes(P, A, lam, loss="squared")
        X = coded.X
        trace.append(float(coded.objective.sum()))
        if len(trace) > 1 and trace[-2] - trace[-1] <= tolerance * trace[-2]:
            break
        A = update_dictionary(P, X, A, sweeps=sweeps)
    return Fit(A, X, trace)
