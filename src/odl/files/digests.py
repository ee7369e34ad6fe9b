"""Digests of the content of HDF5 files.

The digest of a file is a sha256 of all names, types, shapes, attributes and values. It does not
depend on compression and provenance. The values are represented by one sha256 for each piece of an
array. The digests in `odl.files.blocks` detect changed bytes instead.
"""

import hashlib
import math
from types import SimpleNamespace

import h5py
import numpy as np

from odl.files import provenance

PIECE_ENTRIES = 1 << 16  # number of array entries in a piece
MAX_PIECES = 1000  # pieces of an array; the digests of more would exceed an HDF5 attribute (64 KiB)
DIGEST_BYTES = 32  # number of bytes of a sha256
NO_DIGEST = "0" * 64  # digest of the previous file, in the first file of a chain
# HDF5's number of an open file -> {address of a dataset: (type and shape, digests of its pieces)},
# for the datasets that this process wrote.
_written: dict = {}


def step_of(shape):
    """Return the number of rows in a piece, for an array with this shape."""
    row_entries = max(1, math.prod(shape[1:]))
    return max(1, PIECE_ENTRIES // row_entries, -(-shape[0] // MAX_PIECES)) if shape else 1


def _pieces_of(values):
    """Return one digest per piece of an array or dataset, of shape (n_pieces, DIGEST_BYTES)."""
    step = step_of(values.shape)
    parts = (values[first : first + step] for first in range(0, max(len(values), 1), step))
    digests = b"".join(hashlib.sha256(np.ascontiguousarray(part)).digest() for part in parts)
    return np.frombuffer(digests, dtype=np.uint8).reshape(-1, DIGEST_BYTES)


def mark(item, values):
    """Store the digests of the values in a dataset that was just written, for `seal`.

    So `seal` need not read the values. `item` is the `h5py.h5d.DatasetID`.
    """
    info = h5py.h5o.get_info(item)
    kind = f"{values.dtype.str}{values.shape}"
    _written.setdefault(info.fileno, {})[info.addr] = kind, _pieces_of(np.atleast_1d(values))


def forget(file):
    """Delete the digests that `mark` stored for an open file."""
    _written.pop(h5py.h5o.get_info(file.id).fileno, None)


def _content_of(item):
    """Return (type and shape, digests of the pieces) for a dataset, from `mark` if possible."""
    info = h5py.h5o.get_info(item)
    marked = _written.get(info.fileno, {}).get(info.addr)
    if marked is not None:
        return marked
    dataset = h5py.Dataset(item)
    values = dataset if dataset.shape else np.atleast_1d(dataset[()])
    return f"{item.dtype.str}{item.shape}", _pieces_of(values)


def digest_of(file):
    """Return the digest of the content of an open file.

    The attribute ``digest`` and the provenance record are excluded. The low-level interface of h5py
    is used because it is three times as fast.
    """
    sha = hashlib.sha256()
    _add_attributes(sha, "/", file.id, provenance.ATTRIBUTES)
    _add_group(sha, "", file.id)
    return sha.hexdigest()


def _add_group(sha, path, group):
    """Update a sha256 with the content of a group, sorted by name."""
    names: list = []
    group.links.iterate(lambda key: names.append(key.decode()))
    for name in sorted(names):
        item = h5py.h5o.open(group, name.encode())
        name, kind, pieces = f"{path}/{name}", "Group", None
        if isinstance(item, h5py.h5d.DatasetID):
            kind, pieces = _content_of(item)
        sha.update(f"\n{name}:{kind}\n".encode())
        _add_attributes(sha, name, item, pieces=pieces)
        if isinstance(item, h5py.h5g.GroupID):
            _add_group(sha, name, item)


def _add_attributes(sha, name, item, excluded=(), pieces=None):
    """Update a sha256 with the attributes of an HDF5 object, sorted by name.

    The digests of the pieces of a dataset, `pieces`, are treated as an attribute of this name.
    """
    names: list = []
    if h5py.h5a.get_num_attrs(item):
        h5py.h5a.iterate(item, names.append)
    values = {key.decode(): None for key in names if key.decode() not in excluded}
    if pieces is not None:
        values["pieces"] = pieces
    for key in sorted(values):
        value = value_of(item, key) if values[key] is None else values[key]
        sha.update(
            f"{name}@{key}:{value.dtype.str}{value.shape}=".encode(errors="backslashreplace")
        )
        sha.update(repr(value.tolist()).encode() if value.dtype.kind in "OU" else value.tobytes())


def value_of(item, key):
    """Return the value of an attribute as an array.

    Numbers and single texts are read directly. Other types are read by `h5py.AttributeManager`,
    which is slower.

    Parameters
    ----------
    item : h5py.h5d.DatasetID, h5py.h5g.GroupID or h5py.h5f.FileID
        Low-level object of h5py that has the attribute.
    key : str
        Name of the attribute.
    """
    attribute = h5py.h5a.open(item, key.encode())
    dtype, shape = attribute.dtype, attribute.shape
    # Data of dtype object are strings of variable length or references. References have no string
    # dtype.
    is_text = dtype.kind == "O" and shape == () and h5py.check_string_dtype(dtype)
    # Enumerations have metadata, array types a subdtype; an empty attribute has no shape.
    is_plain = not dtype.metadata and not dtype.subdtype and shape is not None
    is_number = dtype.kind in "iuf" and is_plain
    if not is_text and not is_number:
        # AttributeManager needs only the `id` of the object that has the attributes.
        return np.asarray(h5py.AttributeManager(SimpleNamespace(id=item))[key])
    value = np.empty(shape, dtype)
    attribute.read(value)
    return np.asarray(value[()].decode("utf-8", "surrogateescape")) if is_text else value


def seal(file):
    """Compute the digest of a file's content, store it as the attribute ``digest``, return it."""
    digest = file.attrs["digest"] = digest_of(file)
    return digest
