"""Bundles: many arrays in an HDF5 file, stored as one dataset per type.

This saves time, since each dataset has a header, a digest and its own compression. A bundle is a
group with the attribute ``layout``: a JSON map from the name of each array to its type, its stored
type and its shape. Arrays with one stored type are joined to one dataset, in the order of the
layout. A large array is stored in the smallest type that represents its values exactly. If most of
its entries equal its smallest value, it is stored as a filled array: the positions and values of
the other entries.
"""

import json
from functools import cache, partial
from math import prod

import numpy as np
from scipy import sparse

from odl.errors import StorageError
from odl.files import blocks, storage

MIN_NARROWED_BYTES = 4096  # arrays with fewer bytes are stored in their own type
MIN_PACKED_BYTES = 1 << 14  # smaller data sets stay uncompressed: compression takes more time
STORED_TYPES = ("uint8", "uint16", "int32", "float32")  # the first exact type is used
FIRST_VALUES = 64  # rows of an array that are cast to a type before the complete array is
# Types in a layout: list of strings, sparse matrix, filled array.
TEXT, CSR, FILLED = "str", "csr", "filled"
CSR_ARRAYS = ("data", "indices", "indptr")
FILLED_ARRAYS = ("positions", "values")
POSITION_BYTES = 4  # bytes of a stored position
FILLED_SHARE = 0.8  # largest size of a filled array, as a share of the bytes of the array


def write(file, name, arrays):
    """Store a dict of arrays, CSR matrices and lists of strings as one group.

    Parameters
    ----------
    file : h5py.Group
        Open for writing.
    name : str
        Name of the group.
    arrays : dict of str to ndarray, csr_array or list of str
        Strings must have no line break.
    """
    layout, parts = {}, {}
    for key, kind, values, entry in _flat(arrays):
        layout[key] = entry
        if kind is not None:
            parts.setdefault(kind, []).append(values.ravel())
    group = file.create_group(name)
    storage.write_attribute(group.id, "layout", json.dumps(layout, separators=(",", ":")))
    for kind in sorted(parts):
        values = np.concatenate(parts[kind])
        storage.write_array(group, kind, values, packed=values.nbytes >= MIN_PACKED_BYTES)


def _flat(arrays):
    """Yield (name, stored type, array in this type, layout entry) for each array in a dict.

    For a sparse matrix or a filled array, a tuple without type and array (None) is followed by the
    tuples of its component arrays.
    """
    for name, value in arrays.items():
        if isinstance(value, list):
            data = np.frombuffer(storage.joined_strings(name, value), dtype=np.uint8)
            yield name, "uint8", data, [TEXT, "uint8", [len(data)], len(value)]
        elif sparse.issparse(value):
            matrix = sparse.csr_array(value)
            matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
            yield name, None, None, [CSR, "", list(matrix.shape)]
            for part in CSR_ARRAYS:
                yield from _flat_array(f"{name}/{part}", getattr(matrix, part))
        else:
            yield from _flat_array(name, np.asarray(value))


def _flat_array(name, values):
    """Yield the tuples of `_flat` for one array: one tuple, or three if it is stored as filled."""
    stored = _narrowed(values) if values.nbytes >= MIN_NARROWED_BYTES else values
    kind, dtype, shape = _name_of(stored.dtype), _name_of(values.dtype), list(values.shape)
    positions = _positions_of_others(stored) if values.nbytes >= MIN_NARROWED_BYTES else None
    if positions is None:
        yield name, kind, stored, [dtype, kind, shape]
        return
    yield name, None, None, [FILLED, "", shape, dtype, stored.min().item()]
    for part, others in zip(FILLED_ARRAYS, (positions, values.ravel()[positions]), strict=True):
        yield from _flat_array(f"{name}/{part}", others)


@cache
def _name_of(dtype):
    """Return the name of a NumPy type, which NumPy computes at each access."""
    return dtype.name


def _positions_of_others(values):
    """Return the positions in a flat array of all entries that differ from its smallest value.

    The result is None if the positions and values of these entries need more than `FILLED_SHARE` of
    the array's bytes, or if the array contains NaN.
    """
    smallest, bits = values.min(), f"u{values.itemsize}"
    if smallest != smallest:  # NaN
        return None
    positions = np.flatnonzero(values.ravel().view(bits) != smallest.view(bits))
    n_bytes = len(positions) * (POSITION_BYTES + values.itemsize)
    return positions if n_bytes <= FILLED_SHARE * values.nbytes else None


def _narrowed(values):
    """Return an array in the first of `STORED_TYPES` that restores its exact bits, or unchanged."""
    values = np.ascontiguousarray(values)
    for kind in STORED_TYPES:
        if np.dtype(kind).itemsize >= values.itemsize:
            continue
        # Most types that are not exact already fail for the first values.
        if _cast(values[:FIRST_VALUES], kind) is not None:
            stored = _cast(values, kind)
            if stored is not None:
                return stored
    return values


def _cast(values, kind):
    """Return an array in another type, or None if this type does not have exactly its bits."""
    bits = f"u{values.itemsize}"
    with np.errstate(invalid="ignore", over="ignore"):
        stored = values.astype(kind)
    is_exact = np.array_equal(stored.astype(values.dtype).view(bits), values.view(bits))
    return stored if is_exact else None


def read(file, name, names=None):
    """Read the dict of arrays that `write` stored.

    Parameters
    ----------
    file : h5py.File
    name : str
        Name of the group.
    names : collection of str, optional
        Names of the arrays to return; by default all.

    Raises
    ------
    StorageError
        If an unreleased version of odl wrote the file, with one dataset for each array.
    KeyError, ValueError
        If an array is missing or does not fit the layout.
    """
    group = file.get(name)
    if group is None or "layout" not in group.attrs:
        raise StorageError(
            f"{blocks.path_of(file)} was written by an unreleased version of odl",
            "a file that this version wrote",
            "type odl run FOLDER --again",
        )
    layout = json.loads(storage.attribute(group, "layout"))
    wanted = layout.keys() if names is None else {*names}
    arrays, composed, ends = {}, [], {}
    dataset = cache(partial(storage.read_array, group))  # reads each type once
    for key, (kind, stored, shape, *length) in layout.items():
        if kind in (CSR, FILLED):
            composed.append(key)
            continue
        first = ends.get(stored, 0)  # end of the previous array with this stored type
        last = ends[stored] = first + prod(shape)
        if key.partition("/")[0] not in wanted:
            continue
        values = dataset(stored)[first:last]
        if len(values) < last - first:
            raise ValueError(f"{key} is shorter than its layout")
        if kind == TEXT:
            arrays[key] = values.tobytes().decode("utf-8").split("\n") if length[0] else []
        else:
            arrays[key] = values.astype(kind).reshape(shape)
    # A sparse matrix precedes its arrays in the layout, which may be filled arrays.
    for key in reversed(composed):
        if key.partition("/")[0] in wanted:
            arrays[key] = _compose(key, layout[key], arrays)
    return arrays


def _compose(key, entry, arrays):
    """Return a sparse matrix or a filled array, whose component arrays are removed from `arrays`.

    `key` is its name, and `entry` its entry in the layout.
    """
    kind, _, shape, *filled = entry
    if kind == CSR:
        parts = (arrays.pop(f"{key}/{part}") for part in CSR_ARRAYS)
        return storage.csr_of(key, *parts, tuple(shape))
    dtype, smallest = filled
    positions, values = (arrays.pop(f"{key}/{part}") for part in FILLED_ARRAYS)
    flat = np.full(prod(shape), smallest, dtype)
    flat[positions] = values
    return flat.reshape(shape)
