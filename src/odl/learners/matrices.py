"""Sparse matrices that grow with the vocabulary, and rows that are cut to their largest entries, or asked for them."""

import numpy as np
from scipy import sparse


def widen(matrix, n_rows=None, n_columns=None):
    """Return the sparse matrix with zero rows or columns appended; entries and format unchanged."""
    shape = (max(n_rows or 0, matrix.shape[0]), max(n_columns or 0, matrix.shape[1]))
    if shape == matrix.shape:
        return matrix
    matrix = matrix.copy()
    matrix.resize(shape)
    return matrix


def with_terms(value, shape, n_terms):
    """Return an array with nothing for the terms that are new, in the dimension that has a size for each term."""
    if "terms" not in shape:
        return value
    if hasattr(value, "widened"):  # read by rows
        return value.widened(n_terms)
    return widen(value, **{("n_rows", "n_columns")[shape.index("terms")]: n_terms})


def moved(value, shape, places, n_terms):
    """Return an array whose terms have other numbers, without those that have none any more.

    Parameters
    ----------
    value : csr_array, csc_array, ndarray, or an array that is read by rows
    shape : tuple of str or int
        As of `odl.learners.kept.Kept`.
    places : ndarray of int64
        New number of each term, rising; -1 for one that has left.
    n_terms : int
        Terms there are now.
    """
    if "terms" not in shape:
        return value
    if hasattr(value, "moved"):  # read by rows
        return value.moved(places, n_terms)
    axis, minor = shape.index("terms"), 1 if value.format == "csr" else 0
    if axis != minor:
        other = value.tocsc() if value.format == "csr" else value.tocsr()
        return moved(other, shape, places, n_terms).asformat(value.format)
    columns = places[value.indices]
    kept = columns >= 0
    totals = np.concatenate([[0], np.cumsum(kept)]).astype(value.indptr.dtype)
    parts = value.data[kept], columns[kept].astype(value.indices.dtype), totals[value.indptr]
    size = (n_terms, value.shape[1]) if axis == 0 else (value.shape[0], n_terms)
    return type(value)(parts, shape=size)


def largest_per_row(matrix, most):
    """Keep the `most` largest entries in size of every row (0: all); equal sizes by lower column.

    A matrix of which all is kept comes back as it is, not copied.
    """
    sizes = np.diff(matrix.indptr)
    matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
    if most == 0 or not len(sizes) or sizes.max() <= most:
        return matrix
    keep = np.ones(matrix.nnz, dtype=bool)
    for row in np.flatnonzero(sizes > most):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        keep[span.start + np.argsort(-np.abs(matrix.data[span]), kind="stable")[most:]] = False
    totals = np.concatenate([[0], np.cumsum(keep)])
    return sparse.csr_array((matrix.data[keep], matrix.indices[keep], totals[matrix.indptr]), shape=matrix.shape)


def leading(matrix, most):
    """Return up to `most` pairs of column and value of each row, largest first, equal ones by lower column.

    Rows are gone over once for each of the pairs, which takes a fifth of sorting them. Of a matrix by columns they are
    the columns.
    """
    ends = matrix.indptr
    rows, values = np.flatnonzero(np.diff(ends)), matrix.data[: ends[-1]].astype(np.float64)
    sizes, lists = np.diff(ends)[rows], [[] for _ in range(len(ends) - 1)]
    of_row = np.repeat(np.arange(len(rows)), sizes)
    for _ in range(most if len(rows) else 0):
        best = np.maximum.reduceat(values, ends[rows])
        at = np.flatnonzero((values == np.repeat(best, sizes)) & (values > -np.inf))
        at = at[np.lexsort((matrix.indices[at], of_row[at]))]
        at = at[np.unique(of_row[at], return_index=True)[1]]
        pairs = zip(matrix.indices[at].tolist(), values[at].tolist(), strict=True)
        for row, pair in zip(rows[of_row[at]].tolist(), pairs, strict=True):
            lists[row].append(pair)
        values[at] = -np.inf  # told
    return lists
