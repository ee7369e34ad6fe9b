"""What a dictionary of the squared loss is learned from: sums over documents and their codes, also over a stream."""

from typing import NamedTuple

from scipy import sparse

from odl.prox.columns import MatrixLike, real_matrix

BLOCK = 512  # documents summed at a time


class Statistics(NamedTuple):
    """What atoms are learned from.

    Attributes
    ----------
    A : csr_array, shape (n_atoms, n_atoms)
        Sum of ``x x^T`` over documents.
    B : csc_array, shape (n_terms, n_atoms)
        Sum of ``p x^T``.
    documents : float
        Documents seen so far; forgotten ones count.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.sums import statistics
    >>> statistics(np.array([[0.6, 0.8]]), np.array([[0.5]])).documents
    1.0
    """

    A: sparse.csr_array
    B: sparse.csc_array
    documents: float


def statistics(P: MatrixLike, X: MatrixLike) -> Statistics:
    """Return the statistics of documents P (documents x terms) and their codes X (documents x atoms).

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.sums import statistics
    >>> found = statistics(np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([[0.5], [1.0]]))
    >>> found.A.toarray(), found.B.toarray().ravel()
    (array([[1.25]]), array([1.3, 0.4]))
    """
    P, X = real_matrix(P, "P"), real_matrix(X, "X")
    A, B = sparse.csr_array((X.shape[1], X.shape[1])), sparse.csc_array((P.shape[1], X.shape[1]))
    for first in range(0, P.shape[0], BLOCK):
        part = slice(first, first + BLOCK)
        A, B = A + X[part].T @ X[part], B + P[part].T @ X[part]
    return Statistics(sparse.csr_array(A), sparse.csc_array(B), float(P.shape[0]))


def accumulate(past: Statistics | None, new: Statistics, forgetting: float = 0.0) -> Statistics:
    """Add the statistics of a batch to those of the past.

    The past is scaled by ``(N / (N + n))^forgetting`` where N documents were seen before and the batch has n. So
    batches of unequal size count by their documents, and one seen when there were M counts ``(M / N)^forgetting``,
    however the stream was cut: the scheme (1 - 1/t)^rho of JMLR 2010, section 3.4.2, for batches of any size.

    Parameters
    ----------
    past : Statistics or None
        Of fewer terms, if the vocabulary grew since.
    new : Statistics
    forgetting : float
        rho; 0 forgets nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.dictionary.sums import accumulate, statistics
    >>> first = statistics(np.array([[0.6, 0.8]]), np.array([[1.0]]))
    >>> both = accumulate(first, first, forgetting=1.0)  # one document of two: the past counts a half
    >>> both.documents, both.A.toarray()
    (2.0, array([[1.5]]))
    """
    if past is None:
        return new
    total = past.documents + new.documents
    keep = (past.documents / total) ** forgetting if total > 0.0 else 1.0
    B = past.B
    if B.shape[0] < new.B.shape[0]:
        B = B.copy()
        B.resize(new.B.shape)
    return Statistics(sparse.csr_array(keep * past.A + new.A), sparse.csc_array(keep * B + new.B), total)
