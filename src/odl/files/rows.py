"""Sparse matrices of HDF5 files by ranges of rows."""

import numpy as np

from odl.files import blocks, storage


class Matrix:
    """A CSR matrix of an open file, as `odl.files.storage.write_csr` stores it; ``matrix[first:last]`` reads rows.

    Parameters
    ----------
    group : h5py.Group
    name : str
    """

    def __init__(self, group, name):
        self.group, self.name, self.inner = group, name, group[name]
        self.shape = storage.shape_of(self.inner)
        kinds = {"data": "iuf", "indices": "i", "indptr": "i"}
        self.arrays = {part: storage.dataset_of(self.inner, part, kind) for part, kind in kinds.items()}
        self.nnz, self.dtype = len(self.arrays["data"]), self.arrays["data"].dtype
        if len(self.arrays["indptr"]) != self.shape[0] + 1 or len(self.arrays["indices"]) != self.nnz:
            raise ValueError(f"{name}: row pointers do not fit the data")

    def __getitem__(self, span):
        first, last, _ = span.indices(self.shape[0])
        try:
            return self._rows(first, max(first, last))
        except (OSError, ValueError) as error:
            raise storage.damaged(blocks.path_of(self.group), error) from error

    def _rows(self, first, last):
        pointers = self.arrays["indptr"][first : last + 1]
        if np.any(np.diff(pointers) < 0) or pointers[0] < 0 or pointers[-1] > self.nnz:
            raise ValueError(f"{self.name}: row pointers do not fit the data")
        data, indices = (self.arrays[part][pointers[0] : pointers[-1]] for part in ("data", "indices"))
        shape = (last - first, self.shape[1])
        return storage.csr_of(self.name, data, indices, (pointers - pointers[0]).astype(np.int32), shape)
