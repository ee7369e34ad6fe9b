"""Remove entries from matrices of term counts."""

import numpy as np
from scipy import sparse


def filter_entries(counts, kept):
    """Return counts with the entries in the mask `kept`; documents without any keep all entries."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return entries(counts, kept | (np.bincount(rows, kept, minlength=counts.shape[0]) == 0)[rows])


def entries(matrix, kept):
    """Return a CSR matrix with only the stored entries in the mask `kept`; same shape."""
    totals = np.concatenate([[0], np.cumsum(kept)])
    shape, indptr = matrix.shape, totals[matrix.indptr].astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=shape)
