"""Remove entries from matrices of term counts."""

import numpy as np
from scipy import sparse


def filter_entries(counts, mask):
    """Return counts with the entries in a mask; documents without any such entry are unchanged."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    n_entries = np.bincount(rows, mask, minlength=counts.shape[0])
    return entries(counts, mask | (n_entries == 0)[rows])


def entries(matrix, mask):
    """Return a CSR matrix of the same shape with only the stored entries in a mask."""
    totals = np.concatenate([[0], np.cumsum(mask)])
    shape, indptr = matrix.shape, totals[matrix.indptr].astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[mask], matrix.indices[mask], indptr), shape=shape)
