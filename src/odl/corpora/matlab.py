"""Count matrices in MATLAB 5 files."""

import numpy as np
from scipy import sparse

from odl.corpora.checks import FETCH, FLOOR, RATIO, opening
from odl.errors import DataError

LARGEST = 1_000_000  # rows and columns
COMPRESSED = 15  # type of an element that zlib packed


def load_variable(path, name):
    """Load one variable of a MATLAB 5 file.

    Raises
    ------
    DataError
        If the file is damaged or does not hold it.
    """
    from scipy.io import loadmat

    with opening(path, "a MATLAB 5 file"):
        _check_packed(path)
        variables = loadmat(path, variable_names=[name])
        found = variables.get(name)
        if isinstance(found, np.ndarray) or sparse.issparse(found):
            if found.ndim != 2 or max(found.shape) > LARGEST:
                raise ValueError(f"{name} has the shape {found.shape}")
        if sparse.issparse(found):
            found.check_format(full_check=True)  # the file's own indices; compiled code trusts them
    if name not in variables:
        raise DataError(f"{path} holds no variable {name!r}", f"a matrix {name!r}", FETCH)
    return variables[name]


def _check_packed(path):
    """Refuse a file whose packed variables make more than they honestly can; loadmat would unpack them all the same.

    Elements follow a header of 128 bytes, each with its type and size in 4 bytes.
    """
    import os
    import struct
    import zlib

    left = max(FLOOR, RATIO * os.path.getsize(path))
    with open(path, "rb") as file:
        order = "<" if file.read(128)[126:] == b"IM" else ">"
        while len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(f"{order}2I", tag)
            if kind != COMPRESSED:
                file.seek(size, 1)
                continue
            stream, data = zlib.decompressobj(), file.read(size)
            while data and not stream.eof:
                left -= len(stream.decompress(data, 1 << 20))
                data = stream.unconsumed_tail
                if left < 0:
                    raise ValueError(f"it unpacks to more than {RATIO} times its size")


def whole_counts(path, matrix):
    """Return a matrix as integer counts.

    Raises
    ------
    DataError
        If a value is negative, not whole, or not finite.
    """
    with opening(path, "a matrix of numbers"):
        matrix = sparse.csr_array(matrix).astype(float)
    data = matrix.data
    if not np.all((data >= 0) & (data == np.rint(data)) & (data <= np.iinfo(np.int32).max)):
        raise DataError(f"{path} holds values that are not counts", "whole numbers from 0", FETCH)
    return matrix.astype(np.int32)
