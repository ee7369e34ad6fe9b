"""Files of digests: one digest per line of a text file, to detect changed lines.

They protect text files that cannot be computed again. A file of digests has one line
`{digest} {check}` per line of the text file. A complete file is closed by the line
`end {number of lines} {check}`. The check is a CRC of the line number and the digest, by which a
damaged file of digests is distinguished from a changed text file.
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
END = "end"  # first word of the line that closes a file of digests


class Difference(NamedTuple):
    """Differences between the lines that were written to a file and the lines now in it.

    Line numbers begin at 0.

    Attributes
    ----------
    missing : list of int
        Numbers of lines that were written, but are no longer in the file.
    unknown : list of int
        Numbers of lines in the file that were not written.
    reordered : bool
        Whether the order of the lines that are neither missing nor unknown has changed.
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
    """Return the line in a file of digests that belongs to line `number` (from 0) of the text."""
    return f"{digest} {zlib.crc32(f'{number} {digest}'.encode()):08x}\n"


def text_of(digests: Sequence[str], closed: bool = True) -> str:
    """Return the content of a file of digests, with the last line ("end ...") if it is closed.

    Examples
    --------
    >>> from odl.files import linesums
    >>> print(linesums.text_of(["00ff"]), end="")
    00ff 374f9c77
    end 1 957b4bc7
    """
    lines = [record(number, digest) for number, digest in enumerate(digests)]
    if closed:
        lines.append(record(len(lines), f"{END} {len(lines)}"))
    return "".join(lines)


def parse(text: str, path: str | os.PathLike, todo: str) -> tuple[list[str], bool]:
    """Parse a file of digests; return (digests, whether the file is closed).

    In a file that is not closed, an incomplete last line is ignored: a killed process left it.

    Parameters
    ----------
    text : str
        Content of the file.
    path : path-like
        Path of the file, for error messages.
    todo : str
        Advice to the user in error messages.

    Raises
    ------
    StorageError
        If a line was changed or is missing.
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
    """Read a file of digests; return (digests, whether it is closed), or None without a file.

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
    """Compare the digests of the lines now in a file with those of the lines that were written.

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
    """Return the StorageError for a changed file of digests; `what` is the part that changed."""
    given = f"{os.fspath(path)} was changed after it was written ({what})"
    return StorageError(given, "an unchanged file", todo)
