"""HDF5 files with reproducible bytes, written under a temporary name and then renamed.

Layout of every HDF5 file:

- Each block of bytes is verified before HDF5 reads it (`odl.files.blocks`).
- The root group has the attributes ``kind``, ``format`` and ``digest``, a digest of the content
  (`odl.files.digests`).
- A CSR matrix is a group ``{data, indices, indptr}`` with the attribute ``shape``.
- A list of strings is one array of bytes in UTF-8 with newlines between the strings. h5py reads it
  many times faster than strings of variable length.
"""

import errno
import functools
import hashlib
import io
import os
import signal
import threading
import zlib
from contextlib import contextmanager

import h5py
import numpy as np
import scipy

from odl.errors import DataError, OdlError, StorageError
from odl.files import blocks, digests, provenance
from odl.files.atomic import replacing
from odl.files.provenance import FORMAT

EARLIER_FORMAT = 2  # earlier format that can be read; only files of kind "alerts" differ
GZIP_LEVEL = 1
CHUNK_BYTES = 1 << 15  # bytes in a compressed chunk of an array; smaller chunks take more time
SAMPLE_BYTES = 4096  # first bytes of an array that are compressed as a test
LAYOUT = {"libver": "v110", "userblock_size": blocks.HEAD_BYTES}
SIGNALS = signal.valid_signals()  # the call takes a tenth of the time of writing a small file
CACHE_BYTES = 1 << 20  # HDF5's chunk cache of an open array; the default is eight times as large


@contextmanager
def writing(path, kind, **attributes):
    """Open a new HDF5 file of the given kind for writing, atomically.

    Parameters
    ----------
    path : path-like
        Path of the finished file.
    kind : str
        ``documents``, ``batch``, ``features``, ``checkpoint``, ``scores``, ...
    **attributes
        Attributes of the root group.
    """
    with replacing(path) as temporary:
        with (
            _uninterrupted(),
            _Sink(temporary, "w+") as sink,
            h5py.File(sink, "w", rdcc_nbytes=CACHE_BYTES, **LAYOUT) as file,
        ):
            for name, value in {"kind": kind, "format": FORMAT, **attributes}.items():
                if type(value) in (int, str):
                    write_attribute(file.id, name, value)
                else:
                    file.attrs[name] = value
            try:
                yield file
                provenance.finish(file, file.attrs.get("digest") or digests.seal(file))
            finally:
                digests.forget(file)
        blocks.close(temporary)


@contextmanager
def _uninterrupted():
    """Delay signals until the context ends.

    A signal handler may raise an exception, such as KeyboardInterrupt. Inside HDF5 this would cause
    a segmentation fault. All signals with a Python handler are delayed. If several arrive, only the
    first is raised.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # nothing to delay: Python runs signal handlers in the main thread only
        return
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    pending = []
    for number in handlers:
        signal.signal(number, lambda number, frame: pending.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if pending:
            signal.raise_signal(pending[0])


class _Sink(io.FileIO):
    """File to which HDF5 writes, which raises an error of writing only at the end of its context.

    If a write raises an error, as on a full disk, HDF5 prints long messages and causes a
    segmentation fault. Therefore the first error is stored, and this write and all later writes
    seem to succeed. At the end of the context, the stored error replaces any error that HDF5
    raised as a consequence.
    """

    failed: OSError | None = None

    def __exit__(self, *error_of_block):
        super().__exit__(*error_of_block)
        if self.failed is not None:
            raise self.failed

    def write(self, data):
        unwritten = memoryview(data).cast("B")
        while len(unwritten) and not self.failed:
            try:
                unwritten = unwritten[super().write(unwritten) :]
            except OSError as error:
                self.failed = error
        return len(data)

    def readinto(self, buffer):
        return len(buffer) if self.failed else super().readinto(buffer)

    def truncate(self, size=None):
        return size if self.failed else super().truncate(size)


# Errors of Python and HDF5 for a file with damaged or unexpected content.
CONTENT_ERRORS = (
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError,
)  # fmt: skip


@contextmanager
def reading(path, kind):
    """Open a file that was written by `writing`, and close it at the end of the context.

    Raises
    ------
    StorageError
        If the file is missing, is not HDF5, has another kind or format, or was truncated or changed
        after it was written. Also if an error occurs in the context while the file is read.
    """
    path = os.fspath(path)
    expected = f"a file of kind '{kind}'" if kind else "a file"
    if not os.path.exists(path):
        raise StorageError(f"{path} does not exist", expected, "run the step that writes it")
    if os.path.isdir(path):
        raise StorageError(f"{path} is a folder", expected, "name the file")
    try:
        with opened(path) as file:
            _check_kind(file, path, kind)
            yield file
    except OdlError:
        raise
    except OSError as error:
        if error.filename not in (None, path):
            raise  # an error of another file, which the caller writes in the context
        raise _read_error(path, kind, error) from error
    except CONTENT_ERRORS as error:
        raise blocks.damaged(path, error, f"an intact file of kind '{kind}'") from error


def _check_kind(file, path, kind):
    """Raise StorageError if an open file has another kind or an unknown format."""
    own_kind, own_format = file.attrs.get("kind"), int(file.attrs.get("format", -1))
    is_known = own_format in (EARLIER_FORMAT, FORMAT)
    if is_known and own_kind not in (kind, None):
        raise StorageError(
            f"{path} is of kind '{own_kind}'", f"kind '{kind}'", f"name a file of kind '{kind}'"
        )
    if not is_known or own_kind != kind:
        raise StorageError(
            f"{path} is of kind '{own_kind}' and format {own_format}",
            f"kind '{kind}' and format {FORMAT}",
            f"delete {path} and run the same command again",
        )


def _read_error(path, kind, error):
    """Return the StorageError for an OSError of reading a file."""
    if isinstance(error, PermissionError):
        return StorageError(f"{path} may not be read", "a readable file", "correct its permissions")
    if error.errno in (None, errno.EINVAL):  # an error of HDF5, or an invalid address in the file
        return blocks.damaged(path, error, f"an intact file of kind '{kind}'")
    return StorageError(
        f"{path} could not be read ({os.strerror(error.errno)})",
        f"a readable file of kind '{kind}'",
        "check the disk and run the same command again",
    )


def opened(path):
    """Open a file for reading; each block is verified when it is read.

    The file is closed when the last reference to it or to an object in it is deleted.
    """
    return h5py.File(blocks.Verified(path), "r", rdcc_nbytes=CACHE_BYTES)


def kind_of(path):
    """Return the attribute ``kind`` of a file, or None if the file cannot be read."""
    try:
        with opened(path) as file:
            return str(file.attrs.get("kind"))
    except (OdlError, OSError, *CONTENT_ERRORS):
        return None


def is_earlier(file):
    """Return whether an open file has an earlier format."""
    return int(file.attrs["format"]) < FORMAT


def digest_of(path, kind):
    """Return the digest of the content that a file of the given kind stores."""
    with reading(path, kind) as file:
        return str(file.attrs["digest"])


def write_array(group, name, values, packed=True):
    """Store an array in a group, and return its `DatasetID`.

    The array is compressed if `packed` is true and it compresses well (`_compresses_well`).
    """
    values = np.asarray(values, order="C")
    if not values.shape or not values.size:
        dataset = group.create_dataset(name, data=values).id
    else:  # `create_dataset` takes twice as long for a small array, because of its checks
        is_packed = packed and _compresses_well(values)
        layout = _compressed_layout(values) if is_packed else _plain_layout()
        space = h5py.h5s.create_simple(values.shape)
        dtype = h5py.h5t.py_create(values.dtype, logical=True)
        dataset = h5py.h5d.create(group.id, name.encode(), dtype, space, layout)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    digests.mark(dataset, values)
    return dataset


def copy_array(source, group, name):
    """Copy an array of one open file to another, with its attributes."""
    dataset = dataset_of(source, name)
    write_array(group, name, dataset[:])
    for key, value in dataset.attrs.items():
        group[name].attrs[key] = value


@functools.cache
def _plain_layout():
    """Return the HDF5 creation properties of an array that is not compressed."""
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_obj_track_times(False)
    return layout


def _compressed_layout(values):
    """Return the HDF5 creation properties of an array that is compressed in chunks of rows."""
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_obj_track_times(False)
    rows = max(1, min(len(values), CHUNK_BYTES * len(values) // values.nbytes))
    layout.set_chunk((rows, *values.shape[1:]))
    layout.set_shuffle()
    layout.set_deflate(GZIP_LEVEL)
    return layout


def _compresses_well(values):
    """Return whether compression saves at least a fifth of an array's first `SAMPLE_BYTES`."""
    if values.nbytes <= SAMPLE_BYTES:
        return False
    sample = values.ravel()[: SAMPLE_BYTES // values.itemsize]
    shuffled = np.ascontiguousarray(sample.view(np.uint8).reshape(len(sample), -1).T)
    return len(zlib.compress(shuffled, GZIP_LEVEL)) < 0.8 * shuffled.nbytes


def write_attribute(item, name, value):
    """Create an attribute with integers or a text, three times as fast as ``attrs[name] = value``.

    `item` is the h5py id of an object.
    """
    dtype = h5py.string_dtype() if isinstance(value, str) else np.int64
    value = np.asarray(value, dtype=dtype)
    space = h5py.h5s.create_simple(value.shape) if value.shape else h5py.h5s.create(h5py.h5s.SCALAR)
    dtype = h5py.h5t.py_create(value.dtype, logical=True)
    h5py.h5a.create(item, name.encode(), dtype, space).write(value)


def dataset_of(group, name, kinds="iufb"):
    """Return a dataset of an open file without reading its values.

    ValueError is raised if its ``dtype.kind`` is not in `kinds`.
    """
    return h5py.Dataset(_open_dataset(group, name, kinds)[0])


def _open_dataset(group, name, kinds):
    """Return (`DatasetID`, dtype) of a dataset in an open file.

    ValueError is raised if its ``dtype.kind`` is not in `kinds`. The low-level interface of h5py is
    used because it is three times as fast.
    """
    item = h5py.h5o.open(group.id, name.encode())
    dtype = item.dtype if isinstance(item, h5py.h5d.DatasetID) else None
    if dtype is None or dtype.kind not in kinds:
        raise ValueError(f"{name} is not an array of numbers")
    return item, dtype


def read_array(group, name, kinds="iufb", ndim=1):
    """Read an array that `write_array` stored.

    ValueError is raised if its ``dtype.kind`` is not in `kinds`, or if it does not have `ndim`
    dimensions (None: any number).
    """
    return _values_of(name, *_open_dataset(group, name, kinds), ndim)


def _values_of(name, item, dtype, ndim=1):
    """Read the values in the dataset `item`; see `read_array`."""
    values = np.empty(item.shape, dtype)
    if ndim is not None and values.ndim != ndim:
        raise ValueError(f"{name} has {values.ndim} dimensions instead of {ndim}")
    if values.size:
        item.read(h5py.h5s.ALL, h5py.h5s.ALL, values)
    return values[()]


def attribute(item, name):
    """Return an attribute of an open file, group or dataset as a Python number or str."""
    return digests.value_of(item.id, name).item()


def write_csr(group, name, matrix, packed=True):
    """Store a sparse matrix in CSR form with sorted indices; equal matrices have equal bytes."""
    matrix = scipy.sparse.csr_array(matrix)
    if not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()
    inner = group.create_group(name)
    write_attribute(inner.id, "shape", matrix.shape)
    write_array(inner, "data", matrix.data, packed)
    write_array(inner, "indices", matrix.indices.astype(np.int32), packed)
    write_array(inner, "indptr", matrix.indptr.astype(np.int64), packed)


def read_csr(group, name):
    """Read a CSR matrix that `write_csr` stored, and check its indices (`csr_of`)."""
    inner = group[name]
    data, indices = read_array(inner, "data"), read_array(inner, "indices", "i")
    return csr_of(name, data, indices, read_array(inner, "indptr", "i"), shape_of(inner))


def shape_of(inner):
    """Return the shape of a stored sparse matrix."""
    return tuple(int(size) for size in inner.attrs["shape"])


def csr_of(name, data, indices, indptr, shape):
    """Check the arrays of a CSR matrix, because kernels do not check them, and return the matrix.

    `name` is the name of the matrix in error messages.

    Raises
    ------
    ValueError
        If the row pointers do not fit the data, an index is out of range, or a value is not finite.
    """
    has_ends = len(indptr) == shape[0] + 1 and indptr[0] == 0 and indptr[-1] == len(data)
    if not has_ends or len(indices) != len(data):
        raise ValueError(f"{name}: row pointers do not fit the data")
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        raise ValueError(f"{name}: a value is not finite")
    first, last = indices.min(initial=0), indices.max(initial=-1)
    if np.any(np.diff(indptr) < 0) or first < 0 or last >= shape[1]:
        raise ValueError(f"{name}: indices out of range")
    if indptr[-1] < np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return scipy.sparse.csr_array((data, indices, indptr), shape=shape)


def write_strings(group, name, strings):
    """Store a list of strings; raise DataError if one contains a newline."""
    block = joined_strings(name, strings)
    dataset = write_array(group, name, np.frombuffer(block, dtype=np.uint8))
    write_attribute(dataset, "length", len(strings))


def joined_strings(name, strings):
    """Join strings by newlines and encode them in UTF-8; raise DataError for one with a newline."""
    block = "\n".join(strings)
    if block.count("\n") != max(len(strings) - 1, 0):
        bad = next(text for text in strings if "\n" in text)
        raise DataError(
            f"the {name} entry {bad!r} contains a line break",
            "text on one line",
            "remove the line break",
        )
    return block.encode("utf-8")


def read_strings(group, name):
    """Read the strings that `write_strings` stored."""
    item, dtype = _open_dataset(group, name, "u")
    length = int(digests.value_of(item, "length"))
    if length == 0:
        return []
    return _values_of(name, item, dtype).tobytes().decode("utf-8").split("\n")


def earlier(folder, t, window=0):
    """Return the paths ``{t}.h5`` of the last `window` timesteps before t (0: all) in a folder.

    Raises
    ------
    StorageError
        If a file is missing. Snakemake does not detect a missing file, because only the last file
        is an input of its rule.
    """
    first = max(0, t - window) if window else 0
    paths = [os.path.join(folder, f"{before}.h5") for before in range(first, t)]
    for path in paths:
        if not os.path.exists(path):
            raise StorageError(
                f"{path} is missing",
                f"a file of every timestep before {t}",
                f"type snakemake {path}",
            )
    return paths


def sha256_of(path):
    """Return the hexadecimal sha256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
