"""Malformed files: mutations of small valid ones, and files made from the grammar of their form.

A maker takes a `random.Random` and returns bytes. In the tests hypothesis supplies it, and shrinks
what fails; in the long run (``tests/helpers/fuzz.py``) a number does, so that every example can be
made again.
"""

import contextlib
import gzip
import io
import json
import lzma
import struct
import tarfile

import h5py

from odl.files import blocks, digests, tables

NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    255,
    256,
    2**15,
    2**16 - 1,
    2**31 - 1,
    -(2**31),
    2**32 - 1,
    2**40,
    2**63 - 1,
    -(2**63),
]
WORDS = [
    "",
    " ",
    "a",
    "wheat",
    "nan",
    "inf",
    "-0",
    "1e999",
    "9" * 5000,
    "-1",
    "0",
    "3.5",
    "1_0",
    "٣",
    "²",
    "é",
    "\0",
]
WORDS += [
    "\ufeff",
    "\u2028",
    "\x1b[31m",
    "../../etc/passwd",
    "/etc/passwd",
    "null",
    "true",
    "{}",
    "[]",
    '"',
    "'",
    "\\",
]
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
    return "".join(
        chr(rnd.choice((rnd.randrange(32, 127), rnd.randrange(0xD7FF))))
        for _ in range(rnd.randrange(8))
    )


def value(rnd, depth=0):
    """A value of JSON, also of what Python's reader takes beyond it."""
    kind = rnd.randrange(10 if depth < 4 else 7)
    if kind < 2:
        return word(rnd)
    if kind == 2:
        return rnd.choice(NUMBERS)
    if kind == 3:
        return rnd.choice(
            (0.5, -0.0, 1e300, 1e30, 3.0, 123456789.25, float("inf"), float("nan"), 10**400)
        )
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
    return rnd.choice(
        (
            '{"a":' * depth,
            "[" * depth,
            "[" * depth + "]" * depth,
            '{"a":' * depth + "1" + "}" * depth,
        )
    )


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
        lines.append(
            separator.join(cells if rnd.random() < 0.9 else cells[: rnd.randint(0, len(cells))])
        )
    return rnd.choice(("\n", "\n", "\r\n")).join(lines) + "\n" * rnd.randrange(2)


def tokens(rnd, grammar, most=40):
    """Text of the tokens of a grammar in any order, some of them very often."""
    parts = []
    for _ in range(rnd.randrange(most)):
        parts += [rnd.choice(grammar)] * rnd.choice(
            (1, 1, 1, 1, 2, 3, 3000 if rnd.random() < 0.03 else 1)
        )
    return "".join(parts)


# --- archives ------------------------------------------------------------------------------------

KINDS = (
    tarfile.REGTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.DIRTYPE,
    tarfile.FIFOTYPE,
    tarfile.CHRTYPE,
)


def tar(rnd, members):
    """A tar file of (name, bytes), among members of other kinds, names that lead elsewhere and wrong sizes."""
    out = io.BytesIO()
    with tarfile.open(
        fileobj=out, mode="w", format=rnd.choice((tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT))
    ) as archive:
        for name, data in members:
            name = rnd.choice(("../../", "/", "a/../../")) + name if rnd.random() < 0.1 else name
            info = tarfile.TarInfo(name)
            info.type = rnd.choice(KINDS) if rnd.random() < 0.1 else tarfile.REGTYPE
            info.linkname = (
                rnd.choice((name, "../secret", "/etc/passwd")) if info.type in KINDS[1:3] else ""
            )
            info.size = len(data) if info.type == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(data))
    held = bytearray(out.getvalue())
    if rnd.random() < 0.1 and len(held) > 136:  # the size of the first member
        held[124:136] = rnd.choice((b"77777777777\0", b"\x80" + b"\xff" * 11, b"00000000001\0"))
    return bytes(held)


# --- HDF5 ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def edited(path):
    """Open a finished file for writing; its digests fit what it holds afterwards."""
    with h5py.File(path, "r+") as file:
        yield file
        file.attrs["digest"] = digests.digest_of(file)
    blocks.close(path)
