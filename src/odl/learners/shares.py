"""The score of a document as a sum over its words: what the code leaves of each, and what the code costs."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse


def of_codes(
    P: sparse.csr_array, A: sparse.csc_array, scores: Any, loss: Callable[[np.ndarray], np.ndarray]
) -> sparse.csr_array:
    """Part the objective of coded documents among their words.

    With r = p - A x, e = A x and S the words of the document, word i of S gets

        rho l(r_i) / sum_k l(r_k)  +  rest |e_i| / sum_{S} |e_i|

    rho is the residual; the rest of the score is the penalty and the residual on words that the document does not
    have: the price of the atoms, borne by the words that they explain (by p_i where they explain none). What a
    document has is its score, up to rounding.

    Equation `word-shares` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    A : csc_array, shape (n_terms, n_atoms)
    scores : odl.learners.base.Scores
    loss : callable
        Entries of the residual to their losses l, up to a factor of the document.

    Returns
    -------
    csr_array, shape (n_documents, n_terms)
        Entries where P has them.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.learners import Scores
    >>> from odl.learners.shares import of_codes
    >>> P, A, X = csr_array([[0.5, 0.3, 0.2]]), csc_array([[0.5], [0.5], [0.0]]), csr_array([[0.6]])
    >>> found = of_codes(P, A, Scores(X, np.array([0.4]), np.array([0.06]), 0.0), np.abs)
    >>> found.toarray().round(3), found.sum().round(3)
    (array([[0.23, 0.03, 0.2 ]]), np.float64(0.46))
    """
    explained = sparse.csr_array(scores.codes @ A.T)
    residual = sparse.csr_array(P - explained)
    residual.data = loss(residual.data)
    totals = np.asarray(residual.sum(axis=1)).ravel()
    scale = np.where(totals > 0, scores.residual / np.where(totals > 0, totals, 1.0), 0.0)
    own = entries(residual, P) * np.repeat(scale, np.diff(P.indptr))
    rest = scores.residual + scores.penalty - _sums(P, own)
    borne = np.abs(entries(explained, P))
    unborne = np.repeat(_sums(P, borne) <= 0, np.diff(P.indptr))
    borne[unborne] = np.abs(P.data[unborne])
    sums = _sums(P, borne)
    price = np.where(sums > 0, rest / np.where(sums > 0, sums, 1.0), 0.0)
    return with_data(P, own + borne * np.repeat(price, np.diff(P.indptr)))


def entries(matrix, P):
    """Return what a matrix has at the stored entries of P, in their order."""
    if not P.nnz:
        return np.zeros(0)
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    return sparse.csr_matrix(matrix)[rows, P.indices].A1  # of a csr_array that would be sparse itself


def with_data(P, data):
    """Return a matrix with the entries of P at other values."""
    return sparse.csr_array((data, P.indices, P.indptr), shape=P.shape)


def _sums(P, data):
    return np.asarray(with_data(P, data).sum(axis=1)).ravel()
