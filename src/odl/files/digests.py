"""Digests of the content of HDF5 files: equal for equal content, whatever its layout, compression or record.

The digest of a file is the sha256 of all names, types, shapes and attributes, and of the digests of the pieces of each
array. It says what a file holds (`odl.files.blocks`: that its bytes are those that were written).
"""

import hashlib
import math
from types import SimpleNamespace

import h5py
import numpy as np

from odl.files import provenance

PIECE_ENTRIES = 1 << 16  # entries of an array per digest
MAX_PIECES = 1000  # digests of an array; an HDF5 attribute has at most 64 KiB
DIGEST_BYTES = 32  # of sha256
NO_DIGEST = "0" * 64  # digest of the previous file for the first file of a chain
_written: dict = {}  # HDF5's number of an open file -> {address of an array: type and shape, digests of its pieces}


def step_of(shape):
    """Return how many rows a piece has."""
    wide = max(1, math.prod(shape[1:]))
    return max(1, PIECE_ENTRIES // wide, -(-shape[0] // MAX_PIECES)) if shape else 1


def _pieces_of(values):
    """Return the digests of the pieces of an array, in memory or of a file."""
    step = step_of(values.shape)
    parts = (values[first : first + step] for first in range(0, max(len(values), 1), step))
    joined = b"".join(hashlib.sha256(np.ascontiguousarray(part)).digest() for part in parts)
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, DIGEST_BYTES)


def mark(item, values):
    """Remember of an array (`h5py.h5d.DatasetID`) the digests of the values that were stored in it, until sealed."""
    facts = h5py.h5o.get_info(item)
    kind = f"{values.dtype.str}{values.shape}"
    _written.setdefault(facts.fileno, {})[facts.addr] = kind, _pieces_of(np.atleast_1d(values))


def forget(file):
    """Drop what is remembered of an open file."""
    _written.pop(h5py.h5o.get_info(file.id).fileno, None)


def _content_of(item):
    """Return type and shape of an array, and the digests of its pieces: remembered, or of what it holds."""
    facts = h5py.h5o.get_info(item)
    kept = _written.get(facts.fileno, {}).get(facts.addr)
    if kept is not None:
        return kept
    dataset = h5py.Dataset(item)
    return f"{item.dtype.str}{item.shape}", _pieces_of(dataset if dataset.shape else np.atleast_1d(dataset[()]))


def digest_of(file):
    """Return the digest of an open file: of all it holds but the attribute ``digest`` itself and the record beside it.

    Every file is written with it, so it asks HDF5 itself: h5py's own objects take three times as long.
    """
    sha = hashlib.sha256()
    _add_attributes(sha, "/", file.id, provenance.ATTRIBUTES)
    _add_group(sha, "", file.id)
    return sha.hexdigest()


def _add_group(sha, path, group):
    """Add all that a group holds, by name."""
    names: list = []
    group.links.iterate(lambda key: names.append(key.decode()))
    for name in sorted(names):
        item, name, kind, pieces = h5py.h5o.open(group, name.encode()), f"{path}/{name}", "Group", None
        if isinstance(item, h5py.h5d.DatasetID):
            kind, pieces = _content_of(item)
        sha.update(f"\n{name}:{kind}\n".encode())
        _add_attributes(sha, name, item, pieces=pieces)
        if isinstance(item, h5py.h5g.GroupID):
            _add_group(sha, name, item)


def _add_attributes(sha, name, item, but=(), pieces=None):
    """Add the attributes of a thing, by name; the digests of an array's pieces count as one of them."""
    names: list = []
    if h5py.h5a.get_num_attrs(item):
        h5py.h5a.iterate(item, names.append)
    values = {key.decode(): None for key in names if key.decode() not in but}
    if pieces is not None:
        values["pieces"] = pieces
    for key in sorted(values):
        value = value_of(item, key) if values[key] is None else values[key]
        sha.update(f"{name}@{key}:{value.dtype.str}{value.shape}=".encode(errors="backslashreplace"))
        sha.update(repr(value.tolist()).encode() if value.dtype.kind in "OU" else value.tobytes())


def value_of(item, key):
    """Return the value of an attribute as an array; of anything but numbers and a text h5py knows what to make."""
    attribute = h5py.h5a.open(item, key.encode())
    dtype, shape = attribute.dtype, attribute.shape
    text = dtype.kind == "O" and shape == () and h5py.check_string_dtype(dtype)
    if not text and (dtype.kind not in "iuf" or dtype.metadata or dtype.subdtype or shape is None):
        return np.asarray(h5py.AttributeManager(SimpleNamespace(id=item))[key])
    value = np.empty(shape, dtype)
    attribute.read(value)
    return np.asarray(value[()].decode("utf-8", "surrogateescape")) if text else value


def seal(file):
    """Write the digest of a finished file; return it."""
    digest = file.attrs["digest"] = digest_of(file)
    return digest
