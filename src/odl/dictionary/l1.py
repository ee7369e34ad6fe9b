"""Dictionary update for given codes with the L1 loss.

    min_{A in 𝒜} ||P - X A^T||_1,    𝒜 = {A >= 0, ||A_j||_1 <= 1}

The solver is Algorithm 3 of the NIPS 2012 supplement (linearised ADMM). Before it, two exact
reductions make the problem smaller. They hold because P, A and X are non-negative:

- If P_di = 0, the residual of this entry is (X A^T)_di. The sum of these residuals is linear in A
  and needs neither the residual variable E nor the dual variable rho.
- Let c_j be the sum of the codes of atom j over all documents (its code mass), and g_ij the sum
  over the documents with term i. Lowering A_ij by epsilon lowers the loss by at least
  epsilon (c_j - g_ij) and raises it by at most epsilon g_ij. An optimal dictionary therefore exists
  with A_ij = 0 whenever 2 g_ij <= c_j: an atom contains a term only if more than half of its code
  mass is on documents with the term.

Example: TDT2 has 9394 documents, 36,000 terms and 1.2 million non-zero entries of P. With 200 atoms
the reduced problem has 5,700 entries of A and 117,000 entries of P.
"""

from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from odl.coding.admm import psi_max
from odl.errors import ParameterError
from odl.kernels import dictionary_step
from odl.prox import projections
from odl.prox.projections import (
    MIN_POSITIVE,
    MatrixLike,
    as_integer,
    check_signs,
    number,
    parts,
    project_columns,
    real_matrix,
)


class L1Fit(NamedTuple):
    """A dictionary fitted to documents and codes.

    Attributes
    ----------
    dictionary : csc_array, shape (n_terms, n_atoms)
        Feasible iterate with the smallest objective.
    objective : float
        ``||P - X A^T||_1`` of `dictionary`.
    bound : float
        Largest dual value, a lower bound on the objective of every feasible dictionary.
    iterations : int
        Number of iterations.
    trace : ndarray, shape (iterations + 1, 2)
        Objective and lower bound of the initial dictionary (row 0) and after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.l1 import fit_dictionary
    >>> fit = fit_dictionary(np.array([[0.5, 0.5], [0.4, 0.6]]), np.ones((2, 1)), tolerance=1e-9)
    >>> round(fit.objective, 6), bool(abs(fit.objective - fit.bound) < 1e-9)  # proof of optimality
    (0.2, True)
    """

    dictionary: sparse.csc_array
    objective: float
    bound: float
    iterations: int
    trace: np.ndarray


class ReducedProblem(NamedTuple):
    """Dictionary problem after the two reductions in the docstring of this module.

    A pair (term, atom) is an entry of A that can be positive. A cell (document, term) is a positive
    entry of P. A link connects a cell and a pair with the same term if the document uses the atom.

    Attributes
    ----------
    term, atom : ndarray, shape (n_pairs,)
        Term and atom of each pair.
    slope : ndarray, shape (n_pairs,)
        Derivative of the loss on the zeros of P with respect to each pair.
    target : ndarray, shape (n_cells,)
        Value of P at each cell.
    start : ndarray, shape (n_cells + 1,)
        The links of cell c are ``start[c]:start[c + 1]``.
    link, weight : ndarray, shape (n_links,)
        Pair and code of each link.
    """

    term: np.ndarray
    atom: np.ndarray
    slope: np.ndarray
    target: np.ndarray
    start: np.ndarray
    link: np.ndarray
    weight: np.ndarray


def fit_dictionary(
    P: MatrixLike,
    X: MatrixLike,
    start: MatrixLike | None = None,
    *,
    iterations: int = 1000,
    tolerance: float = 1e-5,
    phi: float = 50.0,
    gamma: float = 1.89,
    steps: Literal["pairs", "uniform"] = "pairs",
) -> L1Fit:
    """Fit a dictionary to documents and codes.

    Solves ``min_A ||P - X A^T||_1`` over ``A >= 0, sum(A_j) <= 1`` for every atom j, by these
    iterations, in which documents are columns as in the papers:

        E   = soft(P - A X + rho/phi, 1/phi)
        G   = (A X + E - P - rho/phi) X^T
        A   = Proj_𝒜(A - kappa G)
        rho = rho + gamma phi (P - A X - E)

    The iterations start from A = `start` and rho = 0, after the reductions in the docstring of this
    module.
    ``rho`` clipped to [-1, 1] is feasible for the dual problem and gives a lower bound in each
    iteration. The iterations stop when the relative difference between the best objective and the
    best bound is at most `tolerance`.

    Equation `batch` of docs/method.md.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Non-negative documents.
    X : sparse or dense, shape (n_documents, n_atoms)
        Non-negative codes.
    start : sparse or dense, shape (n_terms, n_atoms), optional
        Initial dictionary, by default zero, which is projected on the feasible set first. The
        objective of the result is never larger than that of the initial dictionary. Atoms that no
        document uses are returned unchanged.
    iterations : int
        Maximum number of iterations. With 0, only the reductions are applied.
    tolerance : float
        Relative duality gap at which the iterations stop.
    phi : float
        Penalty of the augmented Lagrangian, which affects only the speed. The default is for
        documents of unit norm; the paper uses 5.
    gamma : float
        Relaxation of the dual step.
    steps : {"pairs", "uniform"}
        Step sizes kappa. With "pairs", each entry of A has its own step, the reciprocal of its row
        sum in ``X^T X`` over the documents with the term, and the projection uses the metric of
        these steps. With "uniform", all steps are ``1/Psi_max(X)``, as in the paper.

    Returns
    -------
    L1Fit

    Raises
    ------
    ParameterError
        If a matrix is not real, finite and non-negative, if shapes do not match, or an option is
        out of range.

    References
    ----------
    Kasiviswanathan, Wang, Banerjee, Melville, NIPS 2012, supplement, Algorithm 3. Steps for each
    entry: Pock and Chambolle, ICCV 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.l1 import fit_dictionary
    >>> P = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> fit = fit_dictionary(P, np.eye(2), tolerance=1e-9)
    >>> fit.dictionary.toarray().round(3).T, round(fit.objective, 6)
    (array([[0.5, 0.5, 0. ],
           [0. , 0. , 1. ]]), 0.0)
    """
    P, X, A = _check(P, X, start)
    as_integer(iterations, "iterations", 0)
    number(tolerance, "tolerance")
    for name, value in (("phi", phi), ("gamma", gamma)):
        number(value, name, MIN_POSITIVE)
    if steps not in ("pairs", "uniform"):
        raise ParameterError(f"steps is {steps!r}", "'pairs' or 'uniform'", "correct steps")
    # bincount returns integers for an empty array
    total = np.bincount(X.indices, weights=X.data, minlength=X.shape[1]).astype(float)
    problem = reduce_problem(P, X, total)
    n_pairs = len(problem.term)
    order = np.argsort(problem.atom, kind="stable")
    begin = np.concatenate(([0], np.cumsum(np.bincount(problem.atom, minlength=X.shape[1]))))
    if steps == "pairs":
        kappa = pair_steps(problem)
    else:
        kappa = np.full(n_pairs, 1.0 / max(psi_max(X), 1e-300))
    values = sparse.csc_matrix(A)[problem.term, problem.atom].A1 if n_pairs else np.zeros(0)
    constant = P.data.sum() - problem.target.sum()
    trace = np.empty((iterations + 1, 2))
    settings = np.array([phi, gamma, tolerance, iterations], dtype=np.float64)
    dual, fit, clipped = np.zeros((3, len(problem.target)))
    best, bounds = values.copy(), np.empty(2)
    n_done = dictionary_step.iterate(
        problem.target, problem.start, problem.link, problem.weight, problem.slope,
        begin, order, kappa, values, dual, constant, settings,
        fit, clipped, np.empty(n_pairs), trace, best, bounds,
    )  # fmt: skip
    objective, bound = bounds
    return L1Fit(
        dictionary=_assemble(best, problem, A, total),
        objective=float(objective + constant),
        bound=float(bound + constant),
        iterations=n_done,
        trace=trace[: n_done + 1],
    )


def reduce_problem(P, X, total):
    """Return the `ReducedProblem` of documents P and codes X; `total` is the code mass of atoms."""
    by_term, by_document, atoms = parts(P.tocsc()), parts(X), X.shape[1]
    work = np.zeros(atoms), np.zeros(atoms, np.int64), np.zeros(atoms, np.int64)
    # upper bound on the number of links; the system allocates only memory that is written
    size = int(np.diff(by_document[0])[by_term[1]].sum())
    problem = ReducedProblem(
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size),
        np.empty(P.nnz), np.zeros(P.nnz + 1, np.int64), np.empty(size, np.int32), np.empty(size),
    )  # fmt: skip
    pairs, cells, links = dictionary_step.reduce(*by_term, *by_document, total, *work, *problem)
    sizes = (pairs, pairs, pairs, cells, cells + 1, links, links)
    return ReducedProblem(*(array[:n] for array, n in zip(problem, sizes, strict=True)))


def pair_steps(problem):
    """Return the step kappa_e = 1 / sum_c (w_ce sum_f w_cf) of each pair e, over its cells c.

    With these steps, the eigenvalues of kappa^(1/2) X^T X kappa^(1/2) are at most 1.
    """
    counts = np.diff(problem.start)
    mass = np.bincount(
        np.repeat(np.arange(len(counts)), counts), weights=problem.weight, minlength=len(counts)
    )
    rows = np.bincount(
        problem.link, problem.weight * np.repeat(mass, counts), minlength=len(problem.slope)
    )
    return 1.0 / np.maximum(rows, 1e-300)


def _assemble(values, problem, start, total):
    """Return the dictionary with the values of the pairs, and with the unused atoms of `start`."""
    unused = np.repeat(total == 0.0, np.diff(start.indptr))
    atoms = np.repeat(np.arange(len(total)), np.diff(start.indptr))
    rows = np.concatenate((problem.term, start.indices[unused]))
    columns = np.concatenate((problem.atom, atoms[unused]))
    entries = np.concatenate((values, start.data[unused]))
    return project_columns(sparse.coo_array((entries, (rows, columns)), shape=start.shape).tocsc())


def _check(P, X, start):
    """Return P and X as canonical CSR without explicit zeros, and a feasible initial dictionary.

    Raises
    ------
    ParameterError
        If shapes do not match or an entry is negative.
    """
    P, X = real_matrix(P, "P"), real_matrix(X, "X")
    if P.shape[0] != X.shape[0]:
        defect = f"P has {P.shape[0]} documents and X has {X.shape[0]}"
        raise ParameterError(defect, "one code for each document", "pass the codes of P")
    shape = (P.shape[1], X.shape[1])
    start = sparse.csc_array(shape) if start is None else project_columns(start)
    if start.shape != shape:
        expected = f"the shape (terms, atoms) of P and X, {shape}"
        raise ParameterError(
            f"start has the shape {start.shape}", expected, "pass another start, or omit it"
        )
    for name, matrix in (("P", P), ("X", X)):
        check_signs(matrix, name)
    return projections.without_zeros(P), projections.without_zeros(X), start
