"""Dictionaries under the squared l2 loss: block coordinate descent over atoms, alternated with exact codes."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.coding import lars
from odl.errors import ParameterError
from odl.kernels import native
from odl.prox.projections import MatrixLike, parts, real_matrix

kernels = native.Kernels("block_descent")


class Fit(NamedTuple):
    """A dictionary, the codes it was fitted to last, and the objective after every coding step.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary import l2
    >>> l2.fit(np.eye(2), np.eye(2), lam=0.1).X.toarray().round(6)
    array([[0.9, 0. ],
           [0. , 0.9]])
    """

    A: sparse.csc_array
    X: sparse.csr_array
    trace: list


def check_atoms(A):
    """Return the dictionary as CSC, or refuse one with a negative weight or an atom outside the unit l2 ball."""
    A = real_matrix(A, "A", sparse.csc_array)
    if A.data.min(initial=0.0) < 0.0:
        raise ParameterError("A holds negative weights", "weights of at least 0", "check A")
    longest = np.sqrt(np.asarray(A.multiply(A).sum(axis=0)).max(initial=0.0))
    if longest > 1.0 + 1e-9:
        raise ParameterError(f"an atom of length {longest:.6g}", "a length of at most 1", "scale the atoms of A")
    return A


def update_dictionary(P: MatrixLike, X: MatrixLike, A: MatrixLike, *, sweeps: int = 1) -> sparse.csc_array:
    """Lower the squared error of a dictionary with the codes fixed.

    Descends on ``min_A 1/2 ||P - X A^T||_F^2`` over dictionaries with A >= 0 and ``||a_j||_2 <= 1`` by block
    coordinate descent on the statistics B = P^T X and C = X^T X. The block of atom j has the exact minimiser

        a_j = u / max(1, ||u||_2),   u = max(B_j - sum_{i != j} C_ij a_i, 0) / C_jj,

    so no step goes uphill, and the terms of an atom are among those of the documents that use it. An atom without
    a document (C_jj = 0) stays as it is.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents; not modified.
    X : sparse or dense, shape (n_documents, n_atoms)
        Codes, non-negative; not modified.
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary to start from, with atoms in the set; not modified.
    sweeps : int
        Times that every atom is renewed, in order.

    Returns
    -------
    csc_array of float64, shape (n_terms, n_atoms)

    Raises
    ------
    ParameterError
        If the shapes do not match, a code is negative, or an atom lies outside the set.

    References
    ----------
    Mairal, Bach, Ponce, Sapiro, JMLR 11 (2010), Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.l2 import update_dictionary
    >>> P, X, A = np.array([[0.6, 0.8]]), np.array([[0.5]]), np.array([[1.0], [0.0]])
    >>> update_dictionary(P, X, A).toarray().round(3)  # the atom turns to the document
    array([[0.6],
           [0.8]])
    """
    P, X, A = real_matrix(P, "P"), real_matrix(X, "X"), check_atoms(A)
    if P.shape[0] != X.shape[0] or P.shape[1] != A.shape[0] or X.shape[1] != A.shape[1]:
        defect = f"P, X and A of shapes {P.shape}, {X.shape} and {A.shape}"
        raise ParameterError(defect, "documents x terms, documents x atoms, terms x atoms", "build them on one stream")
    if X.data.min(initial=0.0) < 0.0:
        raise ParameterError("X holds negative codes", "codes of at least 0", "check X")
    if sweeps < 1:
        raise ParameterError(f"{sweeps} sweeps", "at least 1", "raise sweeps")
    by_atom = sparse.csr_array(X.T)
    B = sparse.csr_array(by_atom @ P).sorted_indices()
    C = np.ascontiguousarray((by_atom @ X).toarray())
    lengths, terms, values = kernels.descend_in_ball(parts(B), C, parts(A), A.shape[0], int(sweeps))
    return sparse.csc_array((values, terms, np.concatenate(([0], np.cumsum(lengths)))), shape=A.shape)


def fit(
    P: MatrixLike, A: MatrixLike, lam: float, *, alternations: int = 10, sweeps: int = 1, tolerance: float = 1e-3
) -> Fit:
    """Non-negative sparse coding: alternate exact codes and block coordinate descent.

        min_{A, X >= 0}  1/2 ||P - X A^T||_F^2 + lam sum(X)    subject to  ||a_j||_2 <= 1

    Equation `l2-batch` of docs/method.md.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Documents.
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary to start from, with atoms in the set.
    lam : float
        Weight of the penalty.
    alternations : int
        Most updates of the dictionary.
    sweeps : int
        Times that every atom is renewed in an update.
    tolerance : float
        Stop when the objective falls by less than this share of itself.

    Returns
    -------
    Fit
        The dictionary, the codes that the last update was made with, and the objective at each coding step: it
        never rises.

    Raises
    ------
    ParameterError
        As `update_dictionary` and `odl.coding.lars.codes`.

    References
    ----------
    Hoyer, Non-negative sparse coding, NNSP 2002; Kasiviswanathan, Wang, Banerjee, Melville, NIPS 2012, supplement,
    Algorithm 5.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary import l2
    >>> found = l2.fit(np.array([[0.6, 0.8], [0.8, 0.6]]), np.array([[1.0], [0.0]]), lam=0.1, alternations=3)
    >>> found.A.toarray().ravel().round(2), np.round(found.trace, 3)
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
