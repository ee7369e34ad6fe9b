"""Dictionary learning with the squared loss and a hierarchical or an l1 penalty.

    min_{D, x_i}  (1/n) sum_i  1/2 ||p_i - D x_i||_2^2 + lam Omega(x_i)

over atoms with mu ||d_j||_1 + (1 - mu) ||d_j||_2^2 <= 1 (ICML 2010, equations (1) and (4)). It is
solved in batch (`learn_batch`) or online (`learn_online`). Codes are computed by FISTA, and atoms
by block coordinate descent on the statistics A = sum x x^T and B = sum p x^T (Mairal, Bach, Ponce,
Sapiro, JMLR 2010).
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from odl.coding import fista
from odl.errors import ParameterError
from odl.kernels import block_descent
from odl.prox.projections import EPSILON, MatrixLike, as_integer, number, real_matrix
from odl.prox.treeprox import LARGEST_ENTRY, project_atoms
from odl.trees import Tree

STATISTICS_BLOCK = 512  # documents per partial sum


class Statistics(NamedTuple):
    """Sufficient statistics of the dictionary update.

    Attributes
    ----------
    A : csr_array, shape (n_atoms, n_atoms)
        Sum of ``x x^T`` over documents.
    B : csc_array, shape (n_terms, n_atoms)
        Sum of ``p x^T``.
    documents : float
        Number of documents so far. Forgetting does not reduce it.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.structured import statistics
    >>> statistics(np.array([[0.6, 0.8]]), np.array([[0.5]])).documents
    1.0
    """

    A: sparse.csr_array
    B: sparse.csc_array
    documents: float


def statistics(P: MatrixLike, X: MatrixLike) -> Statistics:
    """Return the statistics of documents P (n, n_terms) and their codes X (n, n_atoms).

    The statistics are summed over blocks of `STATISTICS_BLOCK` documents, so the result does not
    depend on the number of cores.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.structured import statistics
    >>> sums = statistics(np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([[0.5], [1.0]]))
    >>> sums.A.toarray(), sums.B.toarray().ravel()
    (array([[1.25]]), array([1.3, 0.4]))
    """
    P, X = real_matrix(P, "P"), real_matrix(X, "X")
    A, B = sparse.csr_array((X.shape[1], X.shape[1])), sparse.csc_array((P.shape[1], X.shape[1]))
    for first in range(0, P.shape[0], STATISTICS_BLOCK):
        part = slice(first, first + STATISTICS_BLOCK)
        A, B = A + X[part].T @ X[part], B + P[part].T @ X[part]
    return Statistics(sparse.csr_array(A), sparse.csc_array(B), float(P.shape[0]))


def accumulate(past: Statistics | None, new: Statistics, forgetting: float = 0.0) -> Statistics:
    """Return the sum of the statistics of a batch and the scaled statistics of the past.

    The past is scaled by ``(N / (N + n))^forgetting``, where N is the number of earlier documents
    and n the number of documents in the batch. This generalises (1 - 1/t)^rho of JMLR 2010, section
    3.4.2, to batches of any size. After N documents, document M has the weight
    ``(M / N)^forgetting``, which does not depend on the sizes of the batches.

    Parameters
    ----------
    past : Statistics or None
        Statistics of earlier batches, with fewer terms if the vocabulary has grown.
    new : Statistics
        Statistics of the batch.
    forgetting : float
        Exponent rho. With 0, the past is not scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.structured import accumulate, statistics
    >>> first = statistics(np.array([[0.6, 0.8]]), np.array([[1.0]]))
    >>> both = accumulate(first, first, forgetting=1.0)  # the past has the weight 1/2
    >>> both.documents, both.A.toarray()
    (2.0, array([[1.5]]))
    """
    if past is None:
        return new
    total = past.documents + new.documents
    decay = (past.documents / total) ** forgetting if total > 0.0 else 1.0
    B = past.B
    if B.shape[0] < new.B.shape[0]:
        B = B.copy()
        B.resize(new.B.shape)
    return Statistics(
        sparse.csr_array(decay * past.A + new.A), sparse.csc_array(decay * B + new.B), total
    )


Dictionary: TypeAlias = np.ndarray | sparse.csc_array
UNUSED = 1e-12  # largest A_jj of an unused atom, relative to the largest diagonal entry of A


@dataclass(frozen=True)
class Problem:
    """Optimisation problem in the docstring of this module, and settings of its solver.

    Equation `squared-loss` of docs/method.md.

    Parameters
    ----------
    lam : float
        Weight of the penalty, at least 0.
    tree : odl.trees.Tree, optional
        Tree of the atoms. By default the penalty is the l1 norm.
    norm : {"l2", "linf"}
        Norm of a group.
    mu : float
        Constraint of the atoms, from 0 (unit l2 ball, for images) to 1 (unit l1 ball, for text).
    nonnegative_codes, nonnegative_atoms : bool
        Whether codes and atoms are non-negative, as for text.
    tolerance, iterations, stop
        Stopping rule of the codes (`odl.coding.fista.codes`).
    sweeps : int
        Number of sweeps of block coordinate descent over the atoms in one update.

    Examples
    --------
    >>> import numpy as np
    >>> from odl import trees
    >>> from odl.dictionary.structured import Problem
    >>> problem = Problem(0.1, tree=trees.path(2), mu=0.0)
    >>> problem.codes(np.array([[0.6, 0.8]]), np.eye(2)).X.toarray().round(3)
    array([[0.535, 0.624]])
    """

    lam: float
    tree: Tree | None = None
    norm: str = "l2"
    mu: float = 1.0
    nonnegative_codes: bool = True
    nonnegative_atoms: bool = True
    tolerance: float = 1e-4
    iterations: int = 1000
    stop: str = "gap"
    sweeps: int = 5

    def codes(
        self,
        P: MatrixLike,
        D: MatrixLike,
        start: MatrixLike | None = None,
        mask: ArrayLike | None = None,
    ) -> fista.Codes:
        """Return the codes of documents P with dictionary D; see `odl.coding.fista.codes`."""
        return fista.codes(
            P,
            D,
            self.lam,
            self.tree,
            mask=mask,
            start=start,
            norm=self.norm,
            nonnegative=self.nonnegative_codes,
            stop=self.stop,
            tolerance=self.tolerance,
            iterations=self.iterations,
        )

    def project(self, D: ArrayLike) -> np.ndarray:
        """Return D as a dense array, with every atom projected on its constraint set."""
        D = D.toarray() if sparse.issparse(D) else D
        return project_atoms(D, self.mu, nonnegative=self.nonnegative_atoms)

    def update(self, D: Dictionary, statistics: Statistics) -> Dictionary:
        """Return the dictionary after sweeps of block coordinate descent.

        A sweep sets ``d_j = Proj(d_j + (b_j - D a_j) / A_jj)`` for each atom j in turn. Each step
        minimises ``1/2 tr(D^T D A) - tr(D^T B)`` exactly over one atom, so the objective for fixed
        codes never increases. Atoms that no code uses do not change.

        Equation `atom-update` of docs/method.md.

        Parameters
        ----------
        D : csc_array or ndarray, shape (n_terms, n_atoms)
            Feasible dictionary.
        statistics : Statistics

        Returns
        -------
        csc_array or ndarray, shape (n_terms, n_atoms)
            Updated dictionary, sparse if D is sparse.

        Raises
        ------
        ParameterError
            If shapes do not match, or an entry of the atoms overflows.
        """
        A = np.ascontiguousarray(_dense_copy(statistics.A))
        R = np.ascontiguousarray(_dense_copy(statistics.B))
        atoms = np.ascontiguousarray(_dense_copy(D).T)  # the kernel changes R and the atoms
        if A.shape != (len(atoms), len(atoms)) or R.shape != atoms.shape[::-1]:
            defect = (
                f"A has the shape {A.shape} and B the shape {R.shape} "
                f"for {atoms.shape[1]} terms and {len(atoms)} atoms"
            )
            raise ParameterError(
                defect,
                "statistics of the same terms and atoms",
                "compute the statistics for this dictionary",
            )
        mu, positive = number(self.mu, "mu", 0.0, 1.0), bool(self.nonnegative_atoms)
        smallest = UNUSED * A.diagonal().max(initial=0.0)
        block_descent.descend(atoms, R, A, mu, positive, EPSILON, int(self.sweeps), smallest)
        if not np.abs(atoms).max(initial=0.0) <= LARGEST_ENTRY:
            raise ParameterError(
                f"an entry of an atom exceeds {LARGEST_ENTRY:g}", "smaller weights", "rescale P"
            )
        if sparse.issparse(D):
            columns = sparse.csc_array(sparse.csr_array(atoms).T)
            columns.sort_indices()
            return columns
        return np.ascontiguousarray(atoms.T)


def _dense_copy(matrix):
    """Return a copy of a sparse or dense matrix as a dense float array."""
    return matrix.toarray() if sparse.issparse(matrix) else np.array(matrix, dtype=float)


class StructuredFit(NamedTuple):
    """Result of `learn_batch`.

    Attributes
    ----------
    D : csc_array or ndarray, shape (n_terms, n_atoms)
        Learned dictionary, sparse if the initial dictionary was sparse.
    codes : odl.coding.fista.Codes
        Codes of the documents with D.
    objective : list of float
        Mean objective per document before the first update, and after each round. It never
        increases by more than the tolerance of the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.structured import Problem, learn_batch
    >>> fit = learn_batch(Problem(0.1, mu=0.0), np.eye(2), np.eye(2), rounds=2)
    >>> len(fit.objective), round(fit.objective[-1], 3)
    (2, 0.095)
    """

    D: object
    codes: fista.Codes
    objective: list


def learn_batch(
    problem: Problem, P: MatrixLike, D: Dictionary, *, rounds: int = 30, decrease: float = 0.0
) -> StructuredFit:
    """Learn a dictionary from all documents by alternating between codes and atoms.

    Parameters
    ----------
    problem : Problem
    P : sparse or dense, shape (n_documents, n_terms)
    D : csc_array or ndarray, shape (n_terms, n_atoms)
        Initial dictionary, which is projected on the feasible set first.
    rounds : int
        Maximum number of rounds. A round updates the atoms, then the codes.
    decrease : float
        Relative decrease of the mean objective in a round at which learning stops.

    Returns
    -------
    StructuredFit

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.structured import Problem, learn_batch
    >>> P = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    >>> fit = learn_batch(Problem(0.01, mu=0.0), P, np.eye(3)[:, [0, 2]], rounds=20)
    >>> fit.D.round(2)
    array([[0.6, 0. ],
           [0.8, 0. ],
           [0. , 1. ]])
    """
    D = _like(D, problem.project(D))
    codes = problem.codes(P, D)
    objective = [_mean(codes)]
    for _ in range(rounds):
        D = problem.update(D, statistics(P, codes.X))
        codes = problem.codes(P, D, start=codes.X)
        objective.append(_mean(codes))
        if objective[-2] - objective[-1] <= decrease * objective[-2]:
            break
    return StructuredFit(D, codes, objective)


def learn_online(
    problem: Problem,
    P: MatrixLike,
    D: Dictionary,
    rng: np.random.Generator,
    *,
    batch: int = 256,
    epochs: int = 1,
    forgetting: float = 0.0,
) -> tuple[Dictionary, Statistics | None, list[float]]:
    """Learn a dictionary from mini-batches in random order (JMLR 2010, algorithm 1).

    Parameters
    ----------
    problem, P, D
        As in `learn_batch`.
    rng : numpy.random.Generator
        Generator of the order of documents in every epoch.
    batch : int
        Number of documents per mini-batch. The last mini-batch of an epoch may be smaller.
    epochs : int
        Number of passes over the documents.
    forgetting : float
        As in `accumulate`.

    Returns
    -------
    D : csc_array or ndarray
        Learned dictionary, sparse if the initial dictionary was sparse.
    past : Statistics or None
        Statistics of all mini-batches; None without any.
    objective : list of float
        Mean objective of every mini-batch before it was learned.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.structured import Problem, learn_online
    >>> P, start = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]] * 20), np.eye(3)[:, [0, 2]]
    >>> problem, rng = Problem(0.01, mu=0.0), np.random.default_rng(0)
    >>> D, past, objective = learn_online(problem, P, start, rng)
    >>> D.round(2), past.documents, len(objective)
    (array([[0.6, 0. ],
           [0.8, 0. ],
           [0. , 1. ]]), 40.0, 1)
    """
    as_integer(batch, "batch", 1)
    D, past, objective = _like(D, problem.project(D)), None, []
    P = sparse.csr_array(P) if sparse.issparse(P) else np.asarray(P)
    for _ in range(epochs):
        order = rng.permutation(P.shape[0])
        for first in range(0, len(order), batch):
            part = P[np.sort(order[first : first + batch])]
            codes = problem.codes(part, D)
            objective.append(_mean(codes))
            past = accumulate(past, statistics(part, codes.X), forgetting)
            D = problem.update(D, past)
    return D, past, objective


def _like(D, dense):
    """Return a dense dictionary, converted to CSC if D is sparse."""
    return sparse.csc_array(dense) if sparse.issparse(D) else dense


def _mean(codes):
    """Return the mean objective of codes; 0 without documents."""
    return float(np.mean(codes.residual + codes.penalty)) if len(codes.residual) else 0.0
