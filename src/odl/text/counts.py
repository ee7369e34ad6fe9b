"""Matrices of term counts without some of their entries."""

import numpy as np
from scipy import sparse


def left(counts, kept):
    """Return some entries of counts, but all of a document that would have none."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return entries(counts, kept | (np.bincount(rows, kept, minlength=counts.shape[0]) == 0)[rows])


def entries(matrix, kept):
    """Return the CSR matrix with some of its entries."""
    totals = np.concatenate([[0], np.cumsum(kept)])
    shape, indptr = matrix.shape, totals[matrix.indptr].astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=shape)
