"""Count matrices in MATLAB 5 files, and the corpora that Deng Cai published in them.

The format is that of "MAT-File Format" (The MathWorks): a header of 128 bytes, then elements, each with its type and
size in 8 bytes. Only matrices of numbers are read, dense or sparse, packed or not. scipy's reader knows more, but
its compiled code ends the process on some damaged files and believes every size that a file claims.
"""

import struct
import zlib

import numpy as np
from scipy import sparse

from odl.corpora.checks import FETCH, FLOOR, RATIO, check_content, check_sources, opening
from odl.errors import DataError, check_options
from odl.files.documents import Documents

LARGEST = 1_000_000  # rows and columns
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}  # by type
MATRIX, PACKED = 14, 15  # types of elements
SPARSE, DENSE = 5, range(6, 16)  # classes of matrices
COMPLEX = 0x0800  # flag
HEAD = 512  # bytes of a packed matrix that are enough for its name


def load_variable(path, name):
    """Load one variable of a MATLAB 5 file: an ndarray or a csc_array.

    Raises
    ------
    DataError
        If the file is damaged or does not hold it.
    """
    with opening(path, "a MATLAB 5 file with matrices of numbers"):
        with open(path, "rb") as file:
            data = memoryview(file.read())
        order = {b"IM": "<", b"MI": ">"}.get(bytes(data[126:128]))
        if order is None:
            raise ValueError("its header is another one")
        most = max(FLOOR, RATIO * len(data))
        for element in _elements(data[128:], order):
            found = _named(*element, name, order, most)
            if found is not None:
                return _matrix(found, order)
    raise DataError(f"{path} holds no variable {name!r}", f"a matrix {name!r}", FETCH)


def _elements(data, order):
    """Yield type and content of the elements that follow each other; those of 4 bytes or less have short heads."""
    place = 0
    while place < len(data):
        kind, size = struct.unpack_from(f"{order}2I", data, place)
        if kind >> 16:
            kind, size, start, after = kind & 0xFFFF, kind >> 16, place + 4, place + 8
        else:
            start = place + 8
            after = start + size if kind == PACKED else start + (size + 7) // 8 * 8
        if start + size > len(data) or (start == place + 4 and size > 4):
            raise ValueError("an element is longer than what holds it")
        yield kind, data[start : start + size]
        place = after


def _named(kind, content, name, order, most):
    """Return the parts of an element, unpacked, if it is the matrix of that name."""
    stream, rest = None, b""
    if kind == PACKED:
        stream = zlib.decompressobj()
        content = stream.decompress(content, HEAD)
        kind, size = struct.unpack_from(f"{order}2I", content)
        content, rest = memoryview(content)[8 : 8 + size], size - HEAD + 8
    if kind != MATRIX or _name(content, order) != name:
        return None
    if stream and rest > 0:
        if rest > most:
            raise ValueError(f"{name} unpacks to more than {most >> 20} MiB, {RATIO} times the size of the file")
        content = memoryview(bytes(content) + stream.decompress(stream.unconsumed_tail, rest))
        if len(content) != size:
            raise ValueError(f"{name} has {len(content)} of {size} bytes")
    return content


def _name(content, order):
    """Return the name of a matrix, the third of its parts, from the start of its content."""
    parts = _elements(content, order)
    next(parts, None), next(parts, None)
    return bytes(next(parts, (0, b""))[1]).decode("latin-1")


def _matrix(content, order):
    """Return the matrix with these parts: flags, sizes, name, and its numbers."""
    parts = list(_elements(content, order))
    flags, sizes = _numbers(parts[0], order), _numbers(parts[1], order).tolist()
    kind = int(flags[0]) & 0xFF
    if len(sizes) != 2 or not all(0 <= size <= LARGEST for size in sizes):
        raise ValueError(f"it has the sizes {sizes}")
    if int(flags[0]) & COMPLEX or kind not in (SPARSE, *DENSE):
        raise ValueError("it is no matrix of real numbers")
    if kind in DENSE:
        values = _numbers(parts[3], order)
        if len(values) != sizes[0] * sizes[1]:
            raise ValueError(f"{len(values)} values for {sizes[0]} x {sizes[1]}")
        return values.reshape(sizes, order="F")
    rows, pointers, values = (_numbers(part, order) for part in parts[3:6])
    filled = int(pointers[-1])
    matrix = sparse.csc_array((values[:filled], rows[:filled], pointers), shape=tuple(sizes))
    matrix.check_format(full_check=True)  # compiled code trusts the indices
    return matrix


def _numbers(part, order):
    """Return the numbers of an element, in this machine's order."""
    kind, content = part
    if kind not in NUMBERS:
        raise ValueError(f"an element of type {kind} holds no numbers")
    values = np.frombuffer(content, dtype=order + NUMBERS[kind])
    return values.astype(values.dtype.newbyteorder("="))


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


def read_corpus(name, sources, options, file, variables, from_matrices, expected):
    """Read the one file of a corpus of term counts and hold it to what is known of the corpus.

    Parameters
    ----------
    name : str
        Of the reader.
    sources, options
        What the reader was given; it knows no option.
    file : str
        Name of the file.
    variables : list of str
        Matrices in it.
    from_matrices : callable
        From path and matrices to Documents.
    expected : dict
        Number of documents, of terms, of counts and of topics.

    Returns
    -------
    Documents

    Raises
    ------
    DataError
        If the file is not that corpus.
    """
    check_options(name, options, ())
    (path,) = check_sources(name, sources, [file])
    documents = from_matrices(path, *(load_variable(path, variable) for variable in variables))
    found = {
        "number of documents": len(documents),
        "number of terms": len(documents.vocabulary),
        "sum of counts": int(documents.counts.sum()),
        "number of topics": len(set(documents.topics)),
    }
    check_content(path, found, expected)
    return documents


def documents_of(counts, classes, times, ids):
    """Return documents of counts (n x terms) and classes (n) without words or titles; `ids` formats a row from 1."""
    return Documents(
        counts=counts,
        vocabulary=[f"t{column + 1:05d}" for column in range(counts.shape[1])],
        ids=[ids.format(row + 1) for row in range(counts.shape[0])],
        times=times,
        topics=[(f"topic{label:02d}",) for label in classes],
        titles=[""] * counts.shape[0],
    )
