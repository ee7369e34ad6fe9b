"""Malformed files: mutations of small valid ones, and files made from the grammar of their form.

A maker takes a `random.Random` and returns bytes. In the tests hypothesis supplies it, and shrinks what fails; in
the long run (``tests/helpers/fuzz.py``) a number does, so that every example can be made again.
"""

import contextlib
import gzip
import io
import json
import lzma
import os
import struct
import tarfile

import h5py
import numpy as np

from odl.files import blocks, digests, tables

NUMBERS = [0, 1, -1, 2, 7, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**40, 2**63 - 1, -(2**63)]
WORDS = ["", " ", "a", "wheat", "nan", "inf", "-0", "1e999", "9" * 5000, "-1", "0", "3.5", "1_0", "٣", "²", "é", "\0"]
WORDS += ["\ufeff", "\u2028", "\x1b[31m", "../../etc/passwd", "/etc/passwd", "null", "true", "{}", "[]", '"', "'", "\\"]
WORDS += [
    "\t",
    "\r",
    "\n",
    ",",
    ";",
    "1998-04-06",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59",
    "x" * 70000,
]


def flips(whole, rnd, number=100):
    """Yield a file's bytes with one bit flipped, so many times."""
    for _ in range(number):
        flipped = bytearray(whole)
        flipped[rnd.randrange(len(whole))] ^= 1 << rnd.randrange(8)
        yield flipped


# --- bytes ---------------------------------------------------------------------------------------


def _flip(data, rnd):
    for _ in range(rnd.choice((1, 1, 2, 8, 32))):
        data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)


def _overwrite(data, rnd):
    place = rnd.randrange(len(data))
    data[place : place + rnd.choice((1, 2, 4, 16))] = rnd.randbytes(rnd.choice((1, 2, 4, 16)))


def _number(data, rnd):
    """Put a telling number where a length or an offset may be."""
    size, order = rnd.choice((1, 2, 4, 8)), rnd.choice("<>")
    value = rnd.choice(NUMBERS) % 2 ** (8 * size)
    place = rnd.randrange(len(data))
    data[place : place + size] = struct.pack(order + {1: "B", 2: "H", 4: "I", 8: "Q"}[size], value)


def _cut(data, rnd):
    del data[rnd.randrange(len(data)) :]


def _remove(data, rnd):
    place = rnd.randrange(len(data))
    del data[place : place + rnd.choice((1, 4, 64, 512))]


def _repeat(data, rnd):
    place = rnd.randrange(len(data))
    piece = bytes(data[place : place + rnd.choice((1, 3, 9, 60))])
    data[place:place] = piece * rnd.choice((1, 2, 50, 5000))


def _word(data, rnd):
    place = rnd.randrange(len(data))
    data[place : place + rnd.choice((0, 0, 1, 5))] = rnd.choice(WORDS).encode()


def mutated(rnd, seeds):
    """Return one of some byte strings with a few things changed."""
    data = bytearray(rnd.choice(seeds))
    for _ in range(rnd.choice((1, 1, 2, 4))):
        if not data:
            break
        if rnd.random() < 0.1:  # a splice of two files
            other = rnd.choice(seeds)
            data[rnd.randrange(len(data)) :] = other[rnd.randrange(len(other)) if other else 0 :]
        else:
            rnd.choice((_flip, _overwrite, _number, _cut, _remove, _repeat, _word))(data, rnd)
    return bytes(data)


def packed(make, pack, rnd, seeds):
    """Return what `make` made, packed; or a packed seed that was mutated itself."""
    if rnd.random() < 0.3:
        return mutated(rnd, [pack(seed) for seed in seeds])
    return pack(make(rnd))


def gzipped(data):
    return gzip.compress(data, 1, mtime=0)


def xzed(data):
    return lzma.compress(data, preset=0)


# --- text ----------------------------------------------------------------------------------------


def some(rnd, values, least=0, most=6):
    return [rnd.choice(values) for _ in range(rnd.randint(least, most))]


def word(rnd):
    if rnd.random() < 0.6:
        return rnd.choice(WORDS)
    return "".join(chr(rnd.choice((rnd.randrange(32, 127), rnd.randrange(0xD7FF)))) for _ in range(rnd.randrange(8)))


def value(rnd, depth=0):
    """A value of JSON, also of what Python's reader takes beyond it."""
    kind = rnd.randrange(10 if depth < 4 else 7)
    if kind < 2:
        return word(rnd)
    if kind == 2:
        return rnd.choice(NUMBERS)
    if kind == 3:
        return rnd.choice((0.5, -0.0, 1e300, 1e30, 3.0, 123456789.25, float("inf"), float("nan"), 10**400))
    if kind < 6:
        return rnd.choice((None, True, False))
    if kind == 6:
        return rnd.randrange(10**14)
    if kind < 9:
        return [value(rnd, depth + 1) for _ in range(rnd.randrange(4))]
    return {word(rnd): value(rnd, depth + 1) for _ in range(rnd.randrange(4))}


def nested(rnd):
    """Text that is deeply nested."""
    depth = rnd.choice((100, 900, 980, 5000, 100_000))
    return rnd.choice(('{"a":' * depth, "[" * depth, "[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth))


def json_text(rnd, made=None):
    text = json.dumps(value(rnd) if made is None else made, ensure_ascii=rnd.random() < 0.5)
    return nested(rnd) if rnd.random() < 0.02 else text


def sealed_map(content):
    """Give a map of JSON the digest that fits it."""
    return {**content, tables.DIGEST: tables.digest_of(content)}


def sealed_table(data):
    """Give a table without digests those that fit what it holds; as it is where it is no text."""
    try:
        lines = [line.split("\t") for line in data.decode().removesuffix("\n").split("\n")]
    except UnicodeDecodeError:
        return data
    return tables.sealed(lines[0], lines[1:]).encode()


def encoded(text):
    return text.encode("utf-8", "surrogatepass")


def table(rnd, columns, separator, good):
    """A table whose header and rows are mostly what they should be."""
    header = list(columns)
    for _ in range(rnd.choice((0, 0, 1, 2))):
        change = rnd.randrange(3)
        if change == 0 and header:
            del header[rnd.randrange(len(header))]
        elif change == 1:
            header.insert(rnd.randint(0, len(header)), rnd.choice((word(rnd), *columns)))
        else:
            rnd.shuffle(header)
    lines = [separator.join(header)]
    for _ in range(rnd.randrange(6)):
        cells = [good(rnd, name) if rnd.random() < 0.8 else word(rnd) for name in header]
        lines.append(separator.join(cells if rnd.random() < 0.9 else cells[: rnd.randint(0, len(cells))]))
    return rnd.choice(("\n", "\n", "\r\n")).join(lines) + "\n" * rnd.randrange(2)


def tokens(rnd, grammar, most=40):
    """Text of the tokens of a grammar in any order, some of them very often."""
    parts = []
    for _ in range(rnd.randrange(most)):
        parts += [rnd.choice(grammar)] * rnd.choice((1, 1, 1, 1, 2, 3, 3000 if rnd.random() < 0.03 else 1))
    return "".join(parts)


# --- archives ------------------------------------------------------------------------------------

KINDS = (tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)


def tar(rnd, members):
    """A tar file of (name, bytes), among members of other kinds, names that lead elsewhere and wrong sizes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=rnd.choice((tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT))) as archive:
        for name, data in members:
            name = rnd.choice(("../../", "/", "a/../../")) + name if rnd.random() < 0.1 else name
            info = tarfile.TarInfo(name)
            info.type = rnd.choice(KINDS) if rnd.random() < 0.1 else tarfile.REGTYPE
            info.linkname = rnd.choice((name, "../secret", "/etc/passwd")) if info.type in KINDS[1:3] else ""
            info.size = len(data) if info.type == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(data))
    held = bytearray(out.getvalue())
    if rnd.random() < 0.1 and len(held) > 136:  # the size of the first member
        held[124:136] = rnd.choice((b"77777777777\0", b"\x80" + b"\xff" * 11, b"00000000001\0"))
    return bytes(held)


# --- HDF5 ----------------------------------------------------------------------------------------

SHAPES = [(0,), (1,), (3,), (2, 2), (2**20,), (2**40,), (2**52,), (2**30, 2**30)]
TYPES = ["f8", "f4", "f2", "i8", "i4", "i1", "u8", "u1", "?", "c16", "S5", "V3", [("a", "i4"), ("b", "f8")]]
ATTRIBUTES = [2**62, -1, -(2**63), 0, 3, 1.5, float("nan"), float("inf"), "", "x", "[" * 5000, "{}", "[1]", b"\xff"]
ATTRIBUTES += ["null", '{"learner": 1}', "nan", "9" * 5000, np.zeros(0), np.arange(3), np.array(["a", "b"], dtype="S1")]


def _items(file):
    found = []
    file.visit(found.append)
    return sorted(found)


def _attributes(file):
    return [(name, key) for name in ["/", *_items(file)] for key in sorted(file[name].attrs)]


def _change_attribute(file, rnd):
    name, key = rnd.choice(_attributes(file))
    if rnd.random() < 0.15:
        del file[name].attrs[key]
    elif key == "shape" and rnd.random() < 0.7:
        file[name].attrs[key] = [rnd.choice(NUMBERS), rnd.choice(NUMBERS)][: rnd.choice((1, 2, 2, 2))]
    else:
        file[name].attrs[key] = rnd.choice(ATTRIBUTES)


def _change_values(file, rnd):
    """Another value inside an array."""
    names = [name for name in _items(file) if isinstance(file[name], h5py.Dataset) and 0 < file[name].size < 10**6]
    names = [name for name in names if not file[name].external]  # of another file: a value would be written into that
    if names:
        dataset = file[rnd.choice(names)]
        values = dataset[...]
        if values.dtype.kind not in "iuf":
            return
        limits = np.iinfo(values.dtype) if values.dtype.kind in "iu" else np.finfo(values.dtype)
        telling = [limits.min, limits.max, 0, 1, *([np.nan, np.inf, -1.0] if values.dtype.kind == "f" else [])]
        values.reshape(-1)[rnd.randrange(values.size)] = rnd.choice(telling)
        if rnd.random() < 0.2:
            values = values[::-1]
        dataset[...] = values


def _change_array(file, rnd):
    """Another array in the place of one: other lengths, types, sizes that are only claimed, links that lead away."""
    name = rnd.choice(_items(file))
    held = file[name]
    values = held[...] if isinstance(held, h5py.Dataset) and held.size < 10**6 else np.zeros(3)
    attributes = dict(held.attrs)
    del file[name]
    how = rnd.randrange(10)
    if how == 0:
        return
    if how < 3 and values.ndim:
        more = rnd.choice((-1, 1, len(values)))
        file[name] = values[:more] if more < 0 else np.concatenate([values, values[:more]])
    elif how == 3:
        file.create_dataset(name, shape=rnd.choice(SHAPES), dtype=rnd.choice(TYPES), chunks=True)  # nothing is stored
    elif how == 4:
        file[name] = np.array(["a", b"\xff", "9" * 50], dtype=object).astype(h5py.string_dtype())
    elif how == 5:
        dtype = rnd.choice(TYPES)
        file[name] = np.zeros(values.shape, dtype=dtype)
    elif how == 6:
        file[name] = h5py.SoftLink(rnd.choice(("/" + name, "/", "/nothing")))
    elif how == 7:
        file[name] = h5py.ExternalLink(rnd.choice(("secret.h5", "/etc/passwd", os.path.basename(file.filename))), "/")
    elif how == 8:
        # A file of its own: a later change of values is written there.
        outside = os.path.join(os.path.dirname(os.path.abspath(file.filename)), "outside")
        with open(outside, "ab") as stored:
            stored.truncate(64)
        file.create_dataset(name, (16,), "u1", external=[(outside, 0, 16)])
    else:
        file.create_group(name)
    if name in file and how not in (6, 7):
        for key, held in attributes.items():
            file[name].attrs[key] = held


@contextlib.contextmanager
def edited(path):
    """Open a finished file for writing; its digests fit what it holds afterwards."""
    with h5py.File(path, "r+") as file:
        yield file
        file.attrs["digest"] = digests.digest_of(file)
    blocks.close(path)


def hdf5(rnd, seeds, folder):
    """Return an HDF5 file with a few things changed, its digests made to fit most of the time."""
    if rnd.random() < 0.3:
        return mutated(rnd, seeds)
    path = folder / f"made-{os.getpid()}.h5"
    path.write_bytes(rnd.choice(seeds))
    with h5py.File(path, "r+") as file:
        for _ in range(rnd.choice((1, 1, 1, 2, 3))):
            try:
                rnd.choice((_change_attribute, _change_values, _change_array))(file, rnd)
            except (KeyError, IndexError, OSError, ValueError, TypeError, RuntimeError):
                continue  # not every change can be made
        if rnd.random() < 0.8:
            with contextlib.suppress(Exception):
                file.attrs["digest"] = digests.digest_of(file)
    if rnd.random() < 0.9:
        blocks.close(path)
    return mutated(rnd, [path.read_bytes()]) if rnd.random() < 0.1 else path.read_bytes()
