"""What rivals share: arrays that grow with the vocabulary."""

import numpy as np
from scipy import sparse


def widened(values, width, fill=0.0):
    """Return an array with its last axis as wide as the vocabulary: words are only ever appended."""
    missing = width - values.shape[-1]
    return np.concatenate([values, np.full((*values.shape[:-1], missing), fill)], axis=-1) if missing else values


def widened_rows(matrix, width):
    """Return a CSR matrix with more columns, all empty."""
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
