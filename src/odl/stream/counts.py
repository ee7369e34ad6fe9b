"""Counts of a timestep: read by rows from its file, and written there under other columns than the batch has."""

import numpy as np
from scipy import sparse

from odl.files import rows


class Counts(rows.Matrix):
    """Term counts of an open file, read by rows."""

    def _rows(self, first, last):
        part = super()._rows(first, last)
        if part.data.min(initial=1) <= 0:
            raise ValueError("a count is not positive")
        return part


def write(file, counts, columns, n_terms, cut=None):
    """Store the counts of a batch under other columns, terms ascending; gone through once for each array.

    Parameters
    ----------
    file : h5py.File
        Features that are written.
    counts : odl.files.rows.Matrix
        Of the batch.
    columns : ndarray of int32
        New column of each of its own, no two the same.
    n_terms : int
    cut : odl.stream.boilerplate.Cut, optional
        What is left out.
    """
    if cut is not None:
        left = (moved(part, columns, n_terms) for part in parts(counts, cut))
        rows.write_csr(file, "counts", left, (counts.shape[0], n_terms), np.int32)
        return
    group = file.create_group("counts")
    group.attrs["shape"] = np.array([counts.shape[0], n_terms], dtype=np.int64)
    for name in ("data", "indices"):
        entries = (getattr(moved(part, columns, n_terms), name) for part in parts(counts))
        rows.write_array(group, name, counts.nnz, np.dtype(np.int32), rows.reader(entries))
    rows.copy_array(counts.inner, group, "indptr")


def parts(counts, cut=None):
    """Yield consecutive runs of rows of the counts of a batch, without what boilerplate takes out."""
    for _, part in counts.parts() if cut is None else cut.without(counts):
        yield part


def moved(part, columns, n_terms):
    """Return counts under other columns, ascending."""
    entries = (part.data.astype(np.int32), columns[part.indices], part.indptr)
    return sparse.csr_array(entries, shape=(part.shape[0], n_terms)).sorted_indices()


def merged(part, columns, n_terms):
    """Return counts under other columns, ascending, those of one column added up."""
    counts = moved(part, columns, n_terms)
    counts.sum_duplicates()
    return counts


def columns_of(part, columns):
    """Return the counts of some columns."""
    return sparse.csr_array(part[:, columns]).astype(np.int32)
