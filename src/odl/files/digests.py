"""What holds a file to what was written: digests of every array by pieces, and one of the whole.

An array carries the attribute ``pieces``: the sha256 of each run of its rows, so that who reads a few rows verifies
only these. The root carries ``digest``: the sha256 of all names, types, shapes and attributes, the pieces included,
and so of everything in the file. It is verified when a file is opened, the pieces when they are read.
"""

import hashlib
from types import SimpleNamespace

import h5py
import numpy as np

from odl.errors import changed
from odl.files import made

PIECE = 1 << 16  # entries of a piece
MOST = 1000  # pieces of an array: an attribute holds 64 KiB
SIZE = 32  # bytes of a digest
FIRST = "0" * 64  # in place of the digest of a file before the first of a chain


def step_of(shape):
    """Return how many rows a piece has."""
    wide = max(1, int(np.prod(shape[1:], dtype=np.int64)))
    return max(1, PIECE // wide, -(-shape[0] // MOST)) if shape else 1


class Pieces:
    """Digests of the pieces of an array of a known shape, whose rows come in runs of any length."""

    def __init__(self, shape):
        self.step, self.digests, self.sha = step_of(shape), [], hashlib.sha256()
        self.left = self.step

    def add(self, values):
        """Go on by some rows."""
        values = np.ascontiguousarray(values)
        while len(values):
            part, values = values[: self.left], values[self.left :]
            self.sha.update(part)
            self.left -= len(part)
            if not self.left:
                self._end()

    def _end(self):
        self.digests.append(self.sha.digest())
        self.left, self.sha = self.step, hashlib.sha256()

    def store(self, dataset):
        """Write them into the array's attribute."""
        if self.left < self.step or not self.digests:
            self._end()
        dataset.attrs["pieces"] = np.frombuffer(b"".join(self.digests), dtype=np.uint8).reshape(-1, SIZE)


def mark(dataset, values=None):
    """Write the digests of an array's pieces, of the values that were stored in it if they are at hand."""
    found = Pieces(dataset.shape)
    if values is not None or not dataset.shape:
        found.add(np.atleast_1d(dataset[()] if values is None else values))
    else:
        for first in range(0, len(dataset), found.step):
            found.add(dataset[first : first + found.step])
    found.store(dataset)


def items(group, name=""):
    """Yield (name, object, or None where a link leads away) of everything in a group, by name."""
    for key in sorted(group):
        link, path = group.get(key, getlink=True), f"{name}/{key}"
        item = group[key] if isinstance(link, h5py.HardLink) else None
        yield path, item
        if isinstance(item, h5py.Group):
            yield from items(item, path)


def digest_of(file):
    """Return the digest of an open file: of all it holds but the attribute ``digest`` itself and the record beside it.

    Every file is opened and written with it, so it asks HDF5 itself: h5py's own objects take three times as long.
    """
    sha = hashlib.sha256()
    _add_attributes(sha, "/", file.id, made.ATTRIBUTES)
    _add_group(sha, "", file.id)
    return sha.hexdigest()


def _add_group(sha, path, group):
    """Add all that a group holds, by name."""
    found = []
    group.links.iterate(lambda *link: found.append(link), info=True)
    for key, link in sorted((name.decode(), link) for name, link in found):
        name, kind, item = f"{path}/{key}", "NoneType", None
        if link.type == h5py.h5l.TYPE_HARD:  # others lead away
            item = h5py.h5o.open(group, key.encode())
            kind = "Group" if isinstance(item, h5py.h5g.GroupID) else "Datatype"
            if isinstance(item, h5py.h5d.DatasetID):
                kind = f"{item.dtype.str}{_shape_of(item)}"
        sha.update(f"\n{name}:{kind}\n".encode(errors="backslashreplace"))
        if item is not None:
            _add_attributes(sha, name, item)
        if isinstance(item, h5py.h5g.GroupID):
            _add_group(sha, name, item)


def _shape_of(item):
    """Return the shape of an array, None of one that can hold no entry."""
    return None if item.get_space().get_simple_extent_type() == h5py.h5s.NULL else item.shape


def _add_attributes(sha, name, item, but=()):
    """Add the attributes of a thing, by name."""
    found = []
    h5py.h5a.iterate(item, found.append)
    for key in sorted(key.decode() for key in found):
        if key not in but:
            value = _value_of(item, key)
            sha.update(f"{name}@{key}:{value.dtype.str}{value.shape}=".encode(errors="backslashreplace"))
            sha.update(repr(value.tolist()).encode() if value.dtype.kind in "OU" else value.tobytes())


def _value_of(item, key):
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
    """Write the digests of a finished file; return that of the whole."""
    for _, item in items(file):
        if isinstance(item, h5py.Dataset) and "pieces" not in item.attrs:
            mark(item)
    file.attrs["digest"] = digest_of(file)
    return file.attrs["digest"]


def check_file(path, file):
    """Refuse an open file whose names, types, shapes or attributes are not those that were written."""
    made.verified(path, lambda: _check(path, file))


def _check(path, file):
    whole = not {"made", "made_digest"} & set(file.attrs) or made.of_attributes(file.attrs) is not None
    if file.attrs.get("digest") != digest_of(file) or not whole:
        raise changed(path)


class Checked:
    """An array of an open file, of which no value is given out that was not verified.

    Parameters
    ----------
    dataset : h5py.Dataset
    """

    def __init__(self, dataset):
        self.dataset, self.shape, self.dtype = dataset, dataset.shape, dataset.dtype
        self.ndim, self.step = len(self.shape), step_of(self.shape)
        self.seen = np.zeros(max(1, -(-self.shape[0] // self.step)) if self.shape else 1, dtype=bool)
        held = h5py.h5a.exists(dataset.id, b"pieces")
        self.digests = _value_of(dataset.id, "pieces") if held else np.empty(0)
        if self.digests.shape != (len(self.seen), SIZE):
            raise changed(self.path, f"{self.name} has no digests")

    @property
    def path(self):
        """Of the file."""
        return self.dataset.file.filename

    @property
    def name(self):
        """In the file."""
        return self.dataset.name

    @property
    def attrs(self):
        """What is said of it."""
        return self.dataset.attrs

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, span):
        """Return the array (`()`), or consecutive rows of it, verified."""
        try:
            return self._read(span)
        except OSError as error:
            if error.errno is not None:
                raise  # of the disk; else of what HDF5 found in the file
            raise changed(self.path, f"{self.name}: {' '.join(str(error).split())}") from error

    def _read(self, span):
        if not self.shape:
            value = self.dataset[()]
            self._check(0, np.atleast_1d(value))
            return value
        span = slice(None) if span == () else span
        if not isinstance(span, slice) or span.step not in (None, 1):
            raise TypeError(f"{self.name}: {span} are no consecutive rows")
        first, last, _ = span.indices(len(self))
        last = max(first, last)
        low, high = first // self.step, -(-last // self.step)
        if self.seen[low:high].all():
            return self.dataset[first:last]
        values = self.dataset[low * self.step : high * self.step]
        for number in range(low, high):
            begin = (number - low) * self.step
            self._check(number, values[begin : begin + self.step])
        return values[first - low * self.step : last - low * self.step]

    def _check(self, number, values):
        found = hashlib.sha256(np.ascontiguousarray(values)).digest()
        if found != self.digests[number].tobytes():
            raise changed(self.path, self.name)
        self.seen[number] = True

    def verify(self):
        """Read and verify all of it, a few pieces at a time."""
        if not self.shape:
            self[()]
        for first in range(0, len(self) if self.shape else 0, 16 * self.step):
            self[first : first + 16 * self.step]
