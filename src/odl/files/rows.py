"""Sparse matrices and vectors of HDF5 files by ranges of rows, so that a large batch is never held as a whole.

What is written here in pieces has the same bytes as what `odl.files.storage` writes in one.
"""

import tempfile

import numpy as np
import scipy

from odl.files import blocks, digests, storage

PART = 8192  # rows held at a time
ENTRIES = 1 << 20  # entries held at a time where there are no rows


class Matrix:
    """A CSR matrix of an open file, as `odl.files.storage.write_csr` stores it; ``matrix[first:last]`` reads rows.

    Parameters
    ----------
    group : h5py.Group
    name : str
    n_columns : int, optional
        Columns, if others than are stored.
    places : ndarray of int64, optional
        Column of each stored one, rising; -1: none. By default the same, and those that are more are empty.
    """

    def __init__(self, group, name, n_columns=None, places=None):
        self.group, self.name, self.inner, self.places = group, name, group[name], places
        n_rows, stored = storage.shape_of(self.inner)
        self.ndim, self.format = 2, "csr"
        self.shape, self.stored = (n_rows, n_columns or stored), stored
        kinds = {"data": "iuf", "indices": "i", "indptr": "i"}
        self.arrays = {part: storage.dataset_of(self.inner, part, kind) for part, kind in kinds.items()}
        self.nnz, self.dtype = len(self.arrays["data"]), self.arrays["data"].dtype
        if len(self.arrays["indptr"]) != n_rows + 1 or len(self.arrays["indices"]) != self.nnz:
            raise ValueError(f"{name}: row pointers do not fit the data")

    def widened(self, n_columns):
        """Return the matrix with empty columns appended."""
        return Matrix(self.group, self.name, max(n_columns, self.shape[1]), self.places)

    def moved(self, places, n_columns):
        """Return the matrix under other columns, without those whose place is -1."""
        return Matrix(self.group, self.name, n_columns, places)

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
        shape = (last - first, self.stored)
        part = storage.csr_of(self.name, data, indices, (pointers - pointers[0]).astype(np.int32), shape)
        parts = part.data, part.indices, part.indptr
        if self.places is not None:
            columns = self.places[part.indices]
            kept = columns >= 0
            ends = np.concatenate([[0], np.cumsum(kept)]).astype(np.int32)[part.indptr]
            parts = part.data[kept], columns[kept].astype(np.int32), ends
        return scipy.sparse.csr_array(parts, shape=(last - first, self.shape[1]))

    def parts(self, size=PART):
        """Yield (first row, CSR matrix) of consecutive runs of rows."""
        for first in range(0, self.shape[0], size):
            yield first, self[first : first + size]

    def take(self, rows):
        """Return a few rows, in the order given."""
        picked = [self[row : row + 1] for row in map(int, rows)]
        return scipy.sparse.csr_array(scipy.sparse.vstack(picked, format="csr")) if picked else self[0:0]


def pieces(dataset):
    """Yield a vector of a file in pieces of at most `ENTRIES` entries."""
    for first in range(0, len(dataset), ENTRIES):
        yield dataset[first : first + ENTRIES]


def write_array(group, name, length, dtype, read):
    """Store a vector in pieces; the bytes of the file are those of `odl.files.storage.write_array`.

    Parameters
    ----------
    group : h5py.Group
    name : str
    length : int
    dtype : dtype
    read : callable
        (first, last) to that part of the vector; called once each, in order.
    """
    done = min(length, storage.SAMPLE // np.dtype(dtype).itemsize)
    begin = np.asarray(read(0, done) if done else (), dtype=dtype)
    packed = storage.compression(begin, length * begin.itemsize)
    dataset = group.create_dataset(name, shape=(length,), dtype=dtype, **packed)
    # Whole chunks only, one after another: they lie in the file as if they had been written at once.
    chunk = dataset.chunks[0] if packed else ENTRIES
    step, pieces = chunk * max(1, ENTRIES // chunk), digests.Pieces(dataset.shape)
    for first in range(0, length, step):
        last = min(first + step, length)
        values = np.asarray(read(max(first, done), last) if last > done else (), dtype=dtype)
        values = values if first else np.concatenate([begin, values])
        dataset[first:last] = values
        pieces.add(values)
    digests.keep(dataset.id, f"{dataset.dtype.str}{dataset.shape}", pieces.end())


def reader(arrays):
    """Return the function that `write_array` reads consecutive arrays by, however they are cut."""
    left = [np.zeros(0)]

    def read(first, last):
        parts, size = [left[0]] if len(left[0]) else [], len(left[0])
        while size < last - first:
            parts.append(next(arrays))
            size += len(parts[-1])
        whole = np.concatenate(parts)
        left[0] = whole[last - first :]
        return whole[: last - first]

    return read


def copy_array(source, group, name):
    """Copy an array of one open file to another, in pieces, with its attributes."""
    dataset = storage.dataset_of(source, name)
    write_array(group, name, len(dataset), dataset.dtype, lambda first, last: dataset[first:last])
    for key, value in dataset.attrs.items():
        if key != "pieces":  # of a file of before
            group[name].attrs[key] = value


def write_csr(group, name, parts, shape, dtype, folder=None):
    """Store a matrix that comes in runs of rows; the bytes of the file are those of `odl.files.storage.write_csr`.

    The entries wait in unnamed files, since an HDF5 file is written array by array.

    Parameters
    ----------
    group : h5py.Group
    name : str
    parts : iterable of csr_array
        Consecutive runs of rows.
    shape : (int, int)
    dtype : dtype
    folder : path-like, optional
        Of the unnamed files; the folder for temporary files by default.
    """
    inner = group.create_group(name)
    inner.attrs["shape"] = np.asarray(shape, dtype=np.int64)
    pointers, total = [np.zeros(1, dtype=np.int64)], 0
    with tempfile.TemporaryFile(dir=folder) as data, tempfile.TemporaryFile(dir=folder) as indices:
        for part in parts:
            part = part if part.has_sorted_indices else part.sorted_indices()
            data.write(memoryview(part.data.astype(dtype, copy=False)))
            indices.write(memoryview(part.indices.astype(np.int32, copy=False)))
            pointers.append(total + part.indptr[1:].astype(np.int64))
            total += part.nnz
        for key, file, kind in (("data", data, np.dtype(dtype)), ("indices", indices, np.dtype(np.int32))):
            file.seek(0)
            write_array(inner, key, total, kind, _reader(file, kind))
    storage.write_array(inner, "indptr", np.concatenate(pointers))


def _reader(file, dtype):
    return lambda first, last: np.frombuffer(file.read((last - first) * dtype.itemsize), dtype=dtype)
