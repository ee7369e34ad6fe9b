"""HDF5 files with reproducible bytes, written under a temporary name and then renamed.

Layout shared by every file of the pipeline: attributes ``kind`` and ``format`` say what it is,
a CSR matrix is a group ``{data, indices, indptr}`` with attribute ``shape``, and a list of strings
is one compressed UTF-8 block with a newline between entries (h5py reads that many times faster
than an array of variable-length strings, and it compresses).
"""

import glob
import hashlib
import os
import platform
from contextlib import contextmanager

import h5py
import numpy as np
from scipy import sparse

from odl.errors import DataError, OdlError, StorageError

FORMAT = 1
COMPRESSION = {"compression": "gzip", "compression_opts": 4, "shuffle": True}


@contextmanager
def replacing(path):
    """Yield a temporary path beside `path`; rename it to `path` if the block ends well.

    The name carries host and process, so that two writers never share it; what a killed process of this
    host left behind for the same file is removed.
    """
    path = os.fspath(path)
    folder, name = os.path.split(path)
    os.makedirs(folder or ".", exist_ok=True)
    host = platform.node() or "host"
    for left in glob.glob(os.path.join(glob.escape(folder or "."), f".{glob.escape(name)}.{host}-*.part")):
        if not _alive(left.rsplit("-", 1)[1].removesuffix(".part")):
            os.unlink(left)
    temporary = os.path.join(folder, f".{name}.{host}-{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def _alive(process):
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def writing(path, kind, **attributes):
    """Open a new HDF5 file of the given kind for writing, atomically.

    Parameters
    ----------
    path : path-like
        Where the finished file will be.
    kind : str
        ``documents``, ``batch``, ``features``, ``checkpoint``, ``scores``, ...
    **attributes
        Attributes of the root group.
    """
    try:
        with replacing(path) as temporary, h5py.File(temporary, "w", locking=False) as file:
            file.attrs["kind"] = kind
            file.attrs["format"] = FORMAT
            for name, value in attributes.items():
                file.attrs[name] = value
            yield file
    except RuntimeError as error:  # how h5py reports that a disk is full when the file is closed
        if "flush" not in str(error):
            raise
        given = f"{os.fspath(path)} could not be written ({' '.join(str(error).split())[:100]})"
        raise StorageError(given, "space and permission to write", "free some space and run again") from error


@contextmanager
def reading(path, kind):
    """Open a file written by `writing`, or refuse it by name.

    Raises
    ------
    StorageError
        If the file is missing, truncated, not HDF5, of another kind or of another format, or if
        reading from it inside the block fails.
    """
    path = os.fspath(path)
    todo = f"delete {path} and run the same command again"
    if not os.path.exists(path):
        raise StorageError(f"{path} does not exist", f"a file of kind '{kind}'", "make it first")
    if os.path.isdir(path):
        raise StorageError(f"{path} is a folder", f"a file of kind '{kind}'", "name the file")
    try:
        with h5py.File(path, "r", locking=False) as file:
            found = (file.attrs.get("kind"), int(file.attrs.get("format", -1)))
            if found[1] == FORMAT and found[0] != kind:
                raise StorageError(f"{path} is of kind '{found[0]}'", f"kind '{kind}'", "name the right file")
            if found != (kind, FORMAT):
                raise StorageError(
                    f"{path} is of kind '{found[0]}' and format {found[1]}",
                    f"kind '{kind}' and format {FORMAT}",
                    todo,
                )
            yield file
    except OdlError:
        raise
    except PermissionError as error:
        raise StorageError(f"{path} may not be read", "a readable file", "correct its permissions") from error
    except (OSError, AttributeError, KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
        raise damaged(path, error, f"a whole file of kind '{kind}'") from error


def damaged(path, error, expected="a whole file"):
    """Return the error for a file that could not be read, with the reason."""
    reason = " ".join(str(error).split())
    return StorageError(f"{path} is damaged ({reason})", expected, f"delete {path} and run the same command again")


def write_array(group, name, values, **options):
    """Store an array, compressed where that is possible."""
    values = np.asarray(values)
    group.create_dataset(name, data=values, **(COMPRESSION if values.size else {}), **options)


def write_csr(group, name, matrix):
    """Store a sparse matrix by rows, indices sorted, so that equal matrices give equal bytes."""
    matrix = sparse.csr_array(matrix)
    if not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()
    inner = group.create_group(name)
    inner.attrs["shape"] = np.asarray(matrix.shape, dtype=np.int64)
    write_array(inner, "data", matrix.data)
    write_array(inner, "indices", matrix.indices.astype(np.int32))
    write_array(inner, "indptr", matrix.indptr.astype(np.int64))


def read_csr(group, name):
    """Load what `write_csr` stored, checked so that no kernel is ever given indices out of range."""
    inner = group[name]
    shape = tuple(int(size) for size in inner.attrs["shape"])
    data, indices, indptr = inner["data"][:], inner["indices"][:], inner["indptr"][:]
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or indptr[-1] != len(data) or len(indices) != len(data):
        raise ValueError(f"{name}: row pointers do not fit the data")
    if np.any(np.diff(indptr) < 0) or (len(indices) and (indices.min() < 0 or indices.max() >= shape[1])):
        raise ValueError(f"{name}: indices out of range")
    if indptr[-1] < np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return sparse.csr_array((data, indices, indptr), shape=shape)


def write_strings(group, name, strings):
    """Store a list of strings; newlines inside them are refused (readers collapse white space)."""
    block = "\n".join(strings)
    if block.count("\n") != max(len(strings) - 1, 0):
        bad = next(text for text in strings if "\n" in text)
        raise DataError(f"the {name} entry {bad!r} holds a line break", "text on one line", "remove the line break")
    write_array(group, name, np.frombuffer(block.encode("utf-8"), dtype=np.uint8))
    group[name].attrs["length"] = len(strings)


def read_strings(group, name):
    """Load what `write_strings` stored."""
    length = int(group[name].attrs["length"])
    if length == 0:
        return []
    strings = group[name][:].tobytes().decode("utf-8").split("\n")
    if len(strings) != length:
        raise ValueError(f"{name}: {len(strings)} entries instead of {length}")
    return strings


def sha256_of(path):
    """Return the hexadecimal sha256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
