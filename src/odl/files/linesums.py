"""Digests of the lines of a file that is the only copy of something: one digest a line, and their number.

A file of digests has lines `{digest} {check}` and, once it is complete, a last line `end {number} {check}`. The check
is a CRC of the place and the digest, so damage of this file is told from damage of the lines that it speaks of.
"""

import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from odl.errors import StorageError
from odl.files.atomic import replacing

DIGEST_BYTES = 8  # per line
END = "end"


class Difference(NamedTuple):
    """How lines differ from those that were written: places, from 0, and whether the order of the others changed."""

    missing: list[int]  # of the lines as they were written
    unknown: list[int]  # of the lines as they are
    reordered: bool


def digest_of(line: bytes) -> str:
    """Return the digest of a line.

    Examples
    --------
    >>> from odl.files import linesums
    >>> len(linesums.digest_of(b"first"))
    16
    """
    return hashlib.blake2b(line, digest_size=DIGEST_BYTES).hexdigest()


def record(number: int, digest: str) -> str:
    """Return the line of a file of digests for the line of this number, from 0."""
    return f"{digest} {zlib.crc32(f'{number} {digest}'.encode()):08x}\n"


def text_of(digests: Sequence[str], closed: bool = True) -> str:
    """Return the content of a file of digests; a closed one says how many they are.

    Examples
    --------
    >>> from odl.files import linesums
    >>> print(linesums.text_of(["00ff"]), end="")
    00ff 374f9c77
    end 1 957b4bc7
    """
    lines = [record(number, digest) for number, digest in enumerate(digests)]
    return "".join([*lines, *([record(len(lines), f"{END} {len(lines)}")] if closed else [])])


def parse(text: str, path: str | os.PathLike, todo: str) -> tuple[list[str], bool]:
    """Return the digests of a file of digests, and whether it is closed. A last line that a kill has cut is left out.

    Raises
    ------
    StorageError
        If a line was changed, or one is missing.
    """
    *lines, rest = text.split("\n")
    digests = [line.rpartition(" ")[0] for line in lines]
    for number, (line, digest) in enumerate(zip(lines, digests, strict=True)):
        if record(number, digest) != f"{line}\n" or (digest.startswith(END) and number < len(lines) - 1):
            raise _damaged(path, f"line {number + 1}", todo)
    if not digests or not digests[-1].startswith(END):
        return digests, False
    if digests[-1] != f"{END} {len(digests) - 1}" or rest:
        raise _damaged(path, "its last line", todo)
    return digests[:-1], True


def read(path: str | os.PathLike, todo: str) -> tuple[list[str], bool] | None:
    """Return what `parse` does of a file, None where it is not there.

    Raises
    ------
    StorageError
        If it was changed after it was written.
    """
    try:
        with open(path, encoding="ascii", errors="replace", newline="\n") as file:
            return parse(file.read(), path, todo)
    except FileNotFoundError:
        return None


def write(path: str | os.PathLike, digests: Sequence[str], closed: bool = True) -> None:
    """Write a file of digests, and wait until the disk has it."""
    with replacing(path) as temporary, open(temporary, "w", encoding="ascii") as file:
        file.write(text_of(digests, closed))
        file.flush()
        os.fsync(file.fileno())


def compare(written: Sequence[str], found: Iterable[str]) -> Difference:
    """Return how the lines that are found differ from those that were written, by their digests.

    Examples
    --------
    >>> from odl.files import linesums
    >>> linesums.compare(["a", "b", "c"], ["a", "x", "c", "a"])
    Difference(missing=[1], unknown=[1, 3], reordered=False)
    >>> linesums.compare(["a", "b"], ["b", "a"])
    Difference(missing=[], unknown=[], reordered=True)
    """
    found = list(found)
    left, unknown = Counter(written), []
    for place, digest in enumerate(found):
        if left[digest]:
            left[digest] -= 1
        else:
            unknown.append(place)
    missing = []
    for place in range(len(written) - 1, -1, -1):
        if left[written[place]]:
            left[written[place]] -= 1
            missing.append(place)
    missing.reverse()
    gone, other = set(missing), set(unknown)
    before = [digest for place, digest in enumerate(written) if place not in gone]
    now = [digest for place, digest in enumerate(found) if place not in other]
    return Difference(missing, unknown, before != now)


def _damaged(path, what, todo):
    given = f"{os.fspath(path)} was changed after it was written ({what})"
    return StorageError(given, "the lines that were written", todo)
