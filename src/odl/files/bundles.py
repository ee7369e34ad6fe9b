"""Bundles: many arrays of an HDF5 file, stored as one array for each type.

Each array of a file costs time for its header, its digest and its compression. A bundle is a group
with the attribute ``layout``, a JSON map of the name of each array to its type, the type in which
it is stored, and its shape. Arrays of one stored type are one dataset, in the order of the layout.
Large arrays are stored in the smallest type that has exactly their values.
"""

import json
from math import prod

import numpy as np
from scipy import sparse

from odl.errors import StorageError
from odl.files import storage

MIN_NARROWED_BYTES = 4096  # smaller arrays are stored in their own type
STORED_TYPES = ("uint8", "uint16", "int32", "float32")  # in this order, the first exact one
TEXT, CSR = "str", "csr"  # types of lists of strings and of sparse matrices in a layout
CSR_ARRAYS = ("data", "indices", "indptr")


def write(file, name, arrays):
    """Store a map of names to arrays, CSR matrices and lists of strings as one group.

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
    group.attrs["layout"] = json.dumps(layout, separators=(",", ":"))
    for kind in sorted(parts):
        storage.write_array(group, kind, np.concatenate(parts[kind]))


def _flat(arrays):
    """Yield (name, stored type, array in this type, entry of the layout) of each array of a map.

    The shape of a sparse matrix is an entry without an array.
    """
    for name, value in arrays.items():
        if isinstance(value, list):
            data = np.frombuffer(storage.joined_strings(name, value), dtype=np.uint8)
            yield name, "uint8", data, [TEXT, "uint8", [len(data)], len(value)]
            continue
        if not sparse.issparse(value):
            yield name, *_entry(np.asarray(value))
            continue
        matrix = sparse.csr_array(value)
        matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
        yield name, None, None, [CSR, "", list(matrix.shape)]
        for part in CSR_ARRAYS:
            yield f"{name}/{part}", *_entry(getattr(matrix, part))


def _entry(values):
    """Return the stored type of an array, the array in this type, and its entry of the layout."""
    stored = _narrowed(values) if values.nbytes >= MIN_NARROWED_BYTES else values
    kind = stored.dtype.name
    return kind, stored, [values.dtype.name, kind, list(values.shape)]


def _narrowed(values):
    """Return an array in the first of `STORED_TYPES` that has exactly its bits, or unchanged."""
    values = np.ascontiguousarray(values)
    bits = f"u{values.itemsize}"
    for kind in STORED_TYPES:
        if np.dtype(kind).itemsize >= values.itemsize:
            continue
        with np.errstate(invalid="ignore", over="ignore"):  # a cast that is not exact is not used
            stored = values.astype(kind)
        if np.array_equal(stored.astype(values.dtype).view(bits), values.view(bits)):
            return stored
    return values


def read(group, names=None):
    """Return the arrays of a bundle, a map, as they were given to `write`.

    Parameters
    ----------
    group : h5py.Group
    names : collection of str, optional
        Names of the arrays to return; by default all.

    Raises
    ------
    StorageError
        If an unreleased version of odl wrote the file, with one dataset for each array.
    KeyError, ValueError
        If an array is missing or does not fit the layout; `odl.files.storage.reading` says which
        file is damaged.
    """
    if "layout" not in group.attrs:
        raise StorageError(
            f"{group.file.filename} was written by an unreleased version of odl",
            "a file of this version",
            "run odl run FOLDER --again",
        )
    layout = json.loads(storage.attribute(group, "layout"))
    wanted = layout.keys() if names is None else {*names}
    datasets, places, found = {}, {}, {}
    for key, (kind, stored, shape, *length) in layout.items():
        first = places.get(stored, 0)
        last = places[stored] = first + (prod(shape) if kind != CSR else 0)
        if key.partition("/")[0] not in wanted:
            continue
        if kind == CSR:
            found[key] = shape
            continue
        if stored not in datasets:
            datasets[stored] = storage.read_array(group, stored)
        values = datasets[stored][first:last]
        if len(values) < last - first:
            raise ValueError(f"{key} is shorter than its layout")
        if kind == TEXT:
            found[key] = values.tobytes().decode("utf-8").split("\n") if length[0] else []
        else:
            found[key] = values.astype(kind).reshape(shape)
    for key in [key for key in found if isinstance(layout[key][0], str) and layout[key][0] == CSR]:
        parts = (found.pop(f"{key}/{part}") for part in CSR_ARRAYS)
        found[key] = storage.csr_of(key, *parts, tuple(found[key]))
    return found
