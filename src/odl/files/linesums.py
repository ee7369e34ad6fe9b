"""Digests of the lines of a text file, to detect lines that were changed.

The text file cannot be computed again. A file of digests has lines `{digest} {check}` and, once it
is complete, a last line `end {number} {check}`. The check is a CRC of the line number and the
digest. It distinguishes damage of the digests from damage of the text file.
"""

import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from odl.errors import StorageError
from odl.files.atomic import replacing

LINE_DIGEST_BYTES = 8
END = "end"  # first word of the last line of a file of digests


class Difference(NamedTuple):
    """Differences between the lines that were written and the present lines of a file.

    Attributes
    ----------
    missing : list of int
        Numbers of written lines that are not present, from 0.
    unknown : list of int
        Numbers of present lines that were not written, from 0.
    reordered : bool
        Whether the other lines are in another order.
    """

    missing: list[int]
    unknown: list[int]
    reordered: bool


def digest_of(line: bytes) -> str:
    """Return the digest of a line.

    Examples
    --------
    >>> from odl.files import linesums
    >>> len(linesums.digest_of(b"first"))
    16
    """
    return hashlib.blake2b(line, digest_size=LINE_DIGEST_BYTES).hexdigest()


def record(number: int, digest: str) -> str:
    """Return the line of a file of digests for line `number` (from 0) of the text file."""
    return f"{digest} {zlib.crc32(f'{number} {digest}'.encode()):08x}\n"


def text_of(digests: Sequence[str], closed: bool = True) -> str:
    """Return the content of a file of digests; with `closed` it ends with their number.

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
    """Return (digests, whether it is closed) of the content of a file of digests.

    An incomplete last line, left by a process that was killed, is ignored.

    Raises
    ------
    StorageError
        If a line was changed, or one is missing.
    """
    *lines, incomplete = text.split("\n")
    digests = [line.rpartition(" ")[0] for line in lines]
    for number, (line, digest) in enumerate(zip(lines, digests, strict=True)):
        if record(number, digest) != f"{line}\n" or (
            digest.startswith(END) and number < len(lines) - 1
        ):
            raise _damaged(path, f"line {number + 1}", todo)
    if not digests or not digests[-1].startswith(END):
        return digests, False
    if digests[-1] != f"{END} {len(digests) - 1}" or incomplete:
        raise _damaged(path, "its last line", todo)
    return digests[:-1], True


def read(path: str | os.PathLike, todo: str) -> tuple[list[str], bool] | None:
    """Return (digests, whether it is closed) of a file of digests, None if the file does not exist.

    Raises
    ------
    StorageError
        If the file was changed after it was written.
    """
    try:
        with open(path, encoding="ascii", errors="replace", newline="\n") as file:
            return parse(file.read(), path, todo)
    except FileNotFoundError:
        return None


def write(path: str | os.PathLike, digests: Sequence[str], closed: bool = True) -> None:
    """Write a file of digests atomically and flush it to disk."""
    with replacing(path) as temporary, open(temporary, "w", encoding="ascii") as file:
        file.write(text_of(digests, closed))
        file.flush()
        os.fsync(file.fileno())


def compare(written: Sequence[str], present: Iterable[str]) -> Difference:
    """Compare the digests of the present lines with those of the lines that were written.

    Examples
    --------
    >>> from odl.files import linesums
    >>> linesums.compare(["a", "b", "c"], ["a", "x", "c", "a"])
    Difference(missing=[1], unknown=[1, 3], reordered=False)
    >>> linesums.compare(["a", "b"], ["b", "a"])
    Difference(missing=[], unknown=[], reordered=True)
    """
    present = list(present)
    unmatched, unknown = Counter(written), []
    for number, digest in enumerate(present):
        if unmatched[digest]:
            unmatched[digest] -= 1
        else:
            unknown.append(number)
    missing = []
    for number in range(len(written) - 1, -1, -1):
        if unmatched[written[number]]:
            unmatched[written[number]] -= 1
            missing.append(number)
    missing.reverse()
    not_present, not_written = set(missing), set(unknown)
    before = [digest for number, digest in enumerate(written) if number not in not_present]
    after = [digest for number, digest in enumerate(present) if number not in not_written]
    return Difference(missing, unknown, before != after)


def _damaged(path, what, todo):
    given = f"{os.fspath(path)} was changed after it was written ({what})"
    return StorageError(given, "the lines that were written", todo)
