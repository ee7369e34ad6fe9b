"""Sparse rows of items and topics: unit norm, sums, stacks."""

import numpy as np
from scipy import sparse


def unit(matrix):
    """Return the rows scaled to unit l2 norm."""
    sizes = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    scaled = sparse.csr_array(matrix, copy=True)
    scaled.data = scaled.data / np.repeat(np.where(sizes > 0, sizes, 1.0), np.diff(scaled.indptr))
    return scaled


def total(items):
    """Return the sum of the items and, for the same terms, the number of items that have them, as matrices of a row."""
    terms, places, occurs = np.unique(items.indices, return_inverse=True, return_counts=True)
    shape, ends = (1, items.shape[1]), np.array([0, len(terms)])
    weights = np.bincount(places, items.data, minlength=len(terms))
    return [sparse.csr_array((values, terms, ends), shape=shape) for values in (weights, occurs.astype(np.float64))]


def stacked_all(rows):
    """Return sparse rows below each other, their terms in order."""
    stacked = sparse.csr_array(sparse.vstack(rows, format="csr"))
    return stacked.sorted_indices()


def stacked(matrix, more):
    """Return a matrix with more rows, in single precision."""
    return stacked_all([matrix, more]).astype(np.float32)


def replaced(matrix, rows):
    """Return a matrix with other rows in some places: {row: csr_array of a row}."""
    if not rows:
        return matrix
    lengths, data, indices, end = np.diff(matrix.indptr), [], [], 0
    for row in sorted(rows):
        low, high = matrix.indptr[row : row + 2]
        data += [matrix.data[end:low], rows[row].data]
        indices += [matrix.indices[end:low], rows[row].indices]
        lengths[row], end = rows[row].nnz, high
    parts = [np.concatenate([*pieces, rest[end:]]) for pieces, rest in ((data, matrix.data), (indices, matrix.indices))]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((*parts, indptr), shape=matrix.shape).sorted_indices()
