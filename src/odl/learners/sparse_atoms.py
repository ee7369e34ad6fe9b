"""Functions for sparse matrices of documents and atoms, such as a change of the vocabulary."""

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from odl.errors import ParameterError

# Documents per partial sum. With a fixed size, sums have the same bytes on any number of cores.
SUM_BLOCK = 512


def blocks(n_documents):
    """Return slices of at most `SUM_BLOCK` rows that cover a batch, one for each partial sum."""
    return [slice(first, first + SUM_BLOCK) for first in range(0, max(n_documents, 1), SUM_BLOCK)]


def widen(matrix, n_rows=None, n_columns=None):
    """Return the sparse matrix with zero rows or columns appended, in the same format."""
    shape = (max(n_rows or 0, matrix.shape[0]), max(n_columns or 0, matrix.shape[1]))
    if shape == matrix.shape:
        return matrix
    matrix = matrix.copy()
    matrix.resize(shape)
    return matrix


def with_terms(value, shape, n_terms):
    """Return an array, with zeros appended for new terms if it has a dimension of terms.

    `shape` is as in `odl.learners.base.ArraySpec`.
    """
    if "terms" not in shape:
        return value
    return widen(value, **{("n_rows", "n_columns")[shape.index("terms")]: n_terms})


def renumber_terms(value, shape, places, n_terms):
    """Return an array with its terms renumbered, without the terms whose new number is -1.

    Parameters
    ----------
    value : csr_array, csc_array or ndarray
    shape : tuple of str or int
        As in `odl.learners.base.ArraySpec`.
    places : ndarray of int64
        New number of each term, ascending; -1 for a removed term.
    n_terms : int
        Number of terms afterwards.
    """
    if "terms" not in shape:
        return value
    axis, minor = shape.index("terms"), 1 if value.format == "csr" else 0
    if axis != minor:
        transposed = value.tocsc() if value.format == "csr" else value.tocsr()
        return renumber_terms(transposed, shape, places, n_terms).asformat(value.format)
    columns = places[value.indices]
    remaining = columns >= 0
    totals = np.concatenate([[0], np.cumsum(remaining)]).astype(value.indptr.dtype)
    arrays = (
        value.data[remaining],
        columns[remaining].astype(value.indices.dtype),
        totals[value.indptr],
    )
    size = (n_terms, value.shape[1]) if axis == 0 else (value.shape[0], n_terms)
    return type(value)(arrays, shape=size)


def largest_per_row(matrix, most):
    """Return a CSR matrix with only the `most` entries of largest absolute value in each row.

    For ties, entries in lower columns are retained. With `most` 0, all entries are retained. If no
    entry is dropped, the matrix is not copied.
    """
    sizes = np.diff(matrix.indptr)
    matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
    if most == 0 or not len(sizes) or sizes.max() <= most:
        return matrix
    retained = np.ones(matrix.nnz, dtype=bool)
    for row in np.flatnonzero(sizes > most):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        retained[span.start + np.argsort(-np.abs(matrix.data[span]), kind="stable")[most:]] = False
    totals = np.concatenate([[0], np.cumsum(retained)])
    return sparse.csr_array(
        (matrix.data[retained], matrix.indices[retained], totals[matrix.indptr]), shape=matrix.shape
    )


def top_entries(matrix, most):
    """Return a list for each row, with its `most` largest entries as pairs (column, value).

    Pairs are in descending order of value; for ties, the lower column is first. For a CSC matrix
    the lists are those of the columns, with pairs (row, value). Each pass over the matrix finds the
    next largest entry of every row. This takes a fifth of the time of sorting all entries.
    """
    ends = matrix.indptr
    rows, values = np.flatnonzero(np.diff(ends)), matrix.data[: ends[-1]].astype(np.float64)
    sizes, lists = np.diff(ends)[rows], [[] for _ in range(len(ends) - 1)]
    row_of_entry = np.repeat(np.arange(len(rows)), sizes)
    for _ in range(most if len(rows) else 0):
        best = np.maximum.reduceat(values, ends[rows])
        best_entries = np.flatnonzero((values == np.repeat(best, sizes)) & (values > -np.inf))
        best_entries = best_entries[
            np.lexsort((matrix.indices[best_entries], row_of_entry[best_entries]))
        ]
        # np.unique returns the first index of each row, which has the lowest column.
        best_entries = best_entries[np.unique(row_of_entry[best_entries], return_index=True)[1]]
        pairs = zip(
            matrix.indices[best_entries].tolist(), values[best_entries].tolist(), strict=True
        )
        for row, pair in zip(rows[row_of_entry[best_entries]].tolist(), pairs, strict=True):
            lists[row].append(pair)
        values[best_entries] = -np.inf  # already in the list
    return lists


def check_atoms(P, n_atoms, on_demand=False):
    """Check the number of atoms; return the numbers of the rows of P that are not empty.

    An empty row is a document without a term of the vocabulary.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    n_atoms : int
    on_demand : bool
        Whether documents open atoms; `n_atoms` may then exceed the number of documents.

    Raises
    ------
    ParameterError
        If `n_atoms` is not an integer of at least 1, or no document has a known term. Unless
        `on_demand`, also if `n_atoms` exceeds the number of documents with a known term.
    """
    if not isinstance(n_atoms, numbers.Integral) or isinstance(n_atoms, bool):
        raise ParameterError(
            f"{n_atoms!r} atoms", "an integer", "give the number of atoms as an integer"
        )
    nonempty = np.flatnonzero(np.diff(P.indptr))
    n_initial = min(n_atoms, len(nonempty)) if on_demand else n_atoms
    if not 1 <= n_initial <= len(nonempty):
        raise ParameterError(
            f"{n_atoms} atoms for {len(nonempty)} documents with known terms in the first batch",
            "at least 1 atom and 1 document"
            if on_demand
            else "from 1 atom to one for each document",
            "correct atoms or raise batches.initial"
            if on_demand
            else "lower atoms or raise batches.initial",
        )
    return nonempty


def draw_atoms(P, n_atoms, rng, start_terms=0, norm="l1"):
    """Draw documents of the first batch at random as atoms.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    n_atoms : int
    rng : numpy.random.Generator
    start_terms : int
        Number of heaviest terms of a document in its atom; 0 stands for all terms.
    norm : {"l1", "l2"}
        Norm to which the atoms are scaled.

    Returns
    -------
    csc_array, shape (n_terms, n_atoms)

    Raises
    ------
    ParameterError
        If there are fewer non-empty documents than atoms.
    """
    nonempty = check_atoms(P, n_atoms)
    rows = np.sort(rng.choice(nonempty, size=n_atoms, replace=False))
    return make_atoms(P[rows], start_terms, norm)


def make_atoms(P, start_terms=0, norm="l1"):
    """Return one atom for each document: its heaviest terms, scaled to unit norm.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Documents with non-negative weights; none is empty.
    start_terms : int
        Maximum number of terms of an atom; 0 stands for all terms.
    norm : {"l1", "l2"}

    Returns
    -------
    csc_array, shape (n_terms, n_documents)
    """
    atoms = largest_per_row(P, start_terms)
    if norm == "l1":
        norms = np.asarray(atoms.sum(axis=1))
    else:
        norms = np.sqrt(np.asarray(atoms.multiply(atoms).sum(axis=1)))
    values = atoms.data / np.repeat(np.ravel(norms), np.diff(atoms.indptr))
    return sparse.csc_array(
        sparse.csr_array((values, atoms.indices, atoms.indptr), shape=atoms.shape).T
    )


def new_atoms(P, novelty, count, enters, *, start_terms=0, norm="l1"):
    """Return new atoms, initialised from the most novel documents of a batch.

    Documents are considered in descending order of novelty, and for ties in the order of the batch.
    A document is skipped if an atom chosen earlier would enter its code, so that one new topic does
    not use all new atoms. If too few documents remain, skipped documents are used too.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        The batch.
    novelty : ndarray, shape (n_documents,)
        Score of each document.
    count : int
        Number of atoms to return.
    enters : callable
        Takes P and an atom of shape (n_terms, 1); returns a mask of the documents whose code would
        use the atom if it were the only one.
    start_terms : int
        Number of heaviest terms of a document in its atom; 0 stands for all terms.
    norm : {"l1", "l2"}
        Norm to which the atoms are scaled.

    Returns
    -------
    csc_array, shape (n_terms, count)
        Fewer columns if the batch has fewer documents with known terms.
    """
    order = np.argsort(-np.asarray(novelty), kind="stable")
    order = order[np.diff(P.indptr)[order] > 0]
    atoms = [sparse.csc_array((P.shape[1], 0))]
    explained, used = np.zeros(P.shape[0], dtype=bool), np.zeros(P.shape[0], dtype=bool)
    for use_explained in (False, True):
        for row in order:
            if len(atoms) > count:
                break
            if used[row] or (explained[row] and not use_explained):
                continue
            atoms.append(make_atoms(P[[row]], start_terms, norm))
            explained |= enters(P, atoms[-1])
            used[row] = True
    return sparse.csc_array(sparse.hstack(atoms, format="csc"))


def split_scores(
    P: sparse.csr_array, A: sparse.csc_array, scores: Any, loss: Callable[[np.ndarray], np.ndarray]
) -> sparse.csr_array:
    """Divide the objective of coded documents among their words.

    With r = p - A x, e = A x and S the words of the document, word i of S gets

        rho l(r_i) / sum_k l(r_k)  +  c |e_i| / sum_{k in S} |e_k|

    where rho is the residual of the document. c is the score minus the first terms of all words in
    S, that is the penalty plus the residual on words outside the document. The second term divides
    c among the words that the atoms explain. If the atoms explain no word of S, c is divided in
    proportion to p_i. A row sums to the score of the document, up to rounding.

    Equation `word-shares` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    A : csc_array, shape (n_terms, n_atoms)
    scores : odl.learners.base.Scores
    loss : callable
        Maps residuals to losses l, elementwise. A constant factor of l does not matter.

    Returns
    -------
    csr_array, shape (n_documents, n_terms)
        In the sparsity pattern of P.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.learners import Scores
    >>> from odl.learners.sparse_atoms import split_scores
    >>> P, A, X = csr_array([[0.5, 0.3, 0.2]]), csc_array([[0.5], [0.5], [0.0]]), csr_array([[0.6]])
    >>> scores = split_scores(P, A, Scores(X, np.array([0.4]), np.array([0.06]), 0.0), np.abs)
    >>> scores.toarray().round(3), scores.sum().round(3)
    (array([[0.23, 0.03, 0.2 ]]), np.float64(0.46))
    """
    explained = sparse.csr_array(scores.codes @ A.T)
    residual = sparse.csr_array(P - explained)
    residual.data = loss(residual.data)
    totals = np.asarray(residual.sum(axis=1)).ravel()
    scale = np.where(totals > 0, scores.residual / np.where(totals > 0, totals, 1.0), 0.0)
    residual_shares = entries(residual, P) * np.repeat(scale, np.diff(P.indptr))
    remaining = scores.residual + scores.penalty - _sums(P, residual_shares)
    explained_values = np.abs(entries(explained, P))
    unexplained = np.repeat(_sums(P, explained_values) <= 0, np.diff(P.indptr))
    explained_values[unexplained] = np.abs(P.data[unexplained])
    sums = _sums(P, explained_values)
    price = np.where(sums > 0, remaining / np.where(sums > 0, sums, 1.0), 0.0)
    return with_data(P, residual_shares + explained_values * np.repeat(price, np.diff(P.indptr)))


def entries(matrix, P):
    """Return the values of a matrix at the positions of the stored entries of P, in their order."""
    return values_at(matrix, np.repeat(np.arange(P.shape[0]), np.diff(P.indptr)), P.indices)


def values_at(matrix, rows, columns):
    """Return the values of a sparse matrix at pairs of rows and columns."""
    if not len(rows):
        return np.zeros(0)
    return sparse.csr_matrix(matrix)[rows, columns].A1  # a csr_array would return a sparse array


def with_data(P, data):
    """Return a matrix with the sparsity pattern of P and other values."""
    return sparse.csr_array((data, P.indices, P.indptr), shape=P.shape)


def _sums(P, data):
    """Return the row sums of a matrix with the sparsity pattern of P and the values `data`."""
    return np.asarray(with_data(P, data).sum(axis=1)).ravel()
