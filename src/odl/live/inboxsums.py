"""Digests of the lines of the inbox: report missing documents and remove lines not accepted."""

import contextlib
import glob
import gzip
import json
import os
import re
import zlib

from odl.errors import StorageError
from odl.files import linesums, listing
from odl.files.atomic import replacing

FOLDER = "inbox"
FILE_NAME = re.compile(r"\.?(\d{4}-\d\d-\d\d)-(\d{4})\.jsonl(?:\.gz)?")
DAMAGED_FOLDER = f"{FOLDER}/damaged"  # copies of files as they were before a repair
# File that maps a published file to [size, time, inode] at its last check without a fault.
CHECKED_PATH = f"{FOLDER}/.checked.json"
NEXT_SUFFIX = ".next"  # suffix of digests that become valid when the file of lines is replaced


def paths(pattern):
    """Return the paths of files of the inbox that match a pattern, hidden ones included."""
    candidates = (path for hidden in ("", ".") for path in glob.glob(f"{FOLDER}/{hidden}{pattern}"))
    return [path for path in candidates if FILE_NAME.fullmatch(os.path.basename(path))]


class Sums:
    """Digests of the lines in a growing file, stored in a second file next to it.

    A kill between the two writes leaves lines without a digest. The next start adds the digests.

    Parameters
    ----------
    path : str
        File of lines, which `check` has compared with its digests.

    Attributes
    ----------
    written : list of str
        Digests of all lines.
    """

    def __init__(self, path):
        self.path = sums_of(path)
        digests, self.file = _digests(path), None
        # `check` has reported damaged digests; they are not overwritten.
        with contextlib.suppress(StorageError):
            stored = read_sums(path) or ([], False)
            unknown = linesums.compare(stored[0], digests).unknown
            self.written = [*stored[0], *(digests[position] for position in unknown)]
            linesums.write(self.path, self.written, closed=False)
            self.file = open(self.path, "ab", buffering=0)  # noqa: SIM115 - it stays open
            return
        self.written = digests

    def append(self, lines):
        """Append the digests of lines that are on the disk; after an error, `close` writes all."""
        digests = [linesums.digest_of(line) for line in lines]
        text = "".join(
            linesums.record(len(self.written) + at, digest) for at, digest in enumerate(digests)
        )
        self.written += digests
        if self.file:
            try:
                if self.file.write(text.encode()) < len(text):
                    self._drop()
            except OSError:
                self._drop()

    def _drop(self):
        self.file.close()
        self.file = None

    def close(self):
        """Write all digests and their number, unless the stored ones are damaged."""
        if self.file:
            self._drop()
        with contextlib.suppress(StorageError):
            linesums.read(self.path, "")
            linesums.write(self.path, self.written)


def check(mend=True):
    """Compare the files of the inbox with their digests; return a sentence for each difference.

    If a file contains lines that were not accepted, or its lines are in another order, it is copied
    to `DAMAGED_FOLDER` and rewritten with the accepted lines. Files of earlier versions have no
    digests; the digests are then written. A kill may leave an incomplete last line, whose document
    was never answered. The line is removed.

    Parameters
    ----------
    mend : bool
        Whether to repair files. If false, nothing is written, and files that were checked before
        are read again too.
    """
    sentences, checked_before, checked = [], _read_checked() if mend else {}, {}
    for path in sorted(paths("*.jsonl*")):
        name = os.path.basename(path)
        grows = name.startswith(".")
        try:
            if mend:
                _finish_removal(path)
            if not grows and checked_before.get(name) == _state(path):
                checked[name] = checked_before[name]
                continue
            sentence = _check_file(path, grows, mend)
        except (StorageError, OSError) as error:
            sentence = str(error)
        if sentence:
            sentences.append(sentence)
        elif not grows:
            checked[name] = _state(path)
    sentences += _lost()
    if mend and checked != checked_before:
        with replacing(CHECKED_PATH) as temporary, open(temporary, "w", encoding="utf-8") as file:
            json.dump(checked, file)
    return sentences


def _check_file(path, grows, mend):
    """Compare a file with its digests; return a sentence about the differences, "" without any.

    Parameters
    ----------
    path : str
    grows : bool
        Whether it is the file of an open period.
    mend : bool
        Whether to repair the file.

    Raises
    ------
    StorageError
        If the digests are damaged or incomplete.
    """
    sums = read_sums(path)  # before the lines: a watch writes the digests after the lines
    lines, fault = lines_of(path)
    digests = [linesums.digest_of(line) for line in lines]
    if sums is None and not fault:  # written by an earlier version
        if mend and grows:
            _drop_incomplete_line(path, lines)
        elif mend:
            linesums.write(sums_of(path), digests)
        return ""
    written, closed = sums or ([], False)
    if sums and not closed and not grows:
        todo = f"check that {path} is complete, then delete {sums_of(path)}"
        raise StorageError(
            f"{sums_of(path)} is truncated", "a last line with the number of digests", todo
        )
    missing, unknown, reordered = linesums.compare(written, digests)
    if not (missing or unknown or reordered or fault):
        return ""
    lacks_last_digests = unknown == [*range(len(written), len(digests))]
    if grows and lacks_last_digests and not (missing or reordered or fault):
        if mend:  # the watch was killed before it wrote the last digests
            _drop_incomplete_line(path, lines)
        return ""
    faults = []
    if missing:
        faults.append(
            f"{len(missing)} of {len(written)} documents that were accepted are missing "
            f"({_line_numbers(missing)})"
        )
    if unknown:
        faults.append(f"{_line_numbers(unknown)} changed or repeated")
    if reordered:
        faults.append("lines in another order")
    if fault:
        faults.append(fault)
    copied = ""
    if mend and (unknown or reordered or fault):
        copied = f"; the file as it was is {copy_damaged(path)}"
        line_of = dict(zip(digests, lines, strict=True))
        rewrite(path, [line_of[digest] for digest in written if digest in line_of])
    todo = "nothing is lost"
    if missing:
        todo = f"restore it from a backup, or delete {sums_of(path)} to continue without them"
    return str(
        StorageError(f"{path}: {', '.join(faults)}{copied}", "the lines that were accepted", todo)
    )


def _drop_incomplete_line(path, lines):
    """Rewrite a file without its last line if this line has no line break."""
    if lines and not lines[-1].endswith(b"\n"):
        rewrite(path, lines[:-1])


def _line_numbers(positions):
    """Return the text for positions of lines, such as "lines 1, 3"; positions begin at 0."""
    shown = ", ".join(str(position + 1) for position in positions[:8])
    return f"line{'s' * (len(positions) > 1)} {shown}{', ...' * (len(positions) > 8)}"


def _lost():
    """Yield a sentence for each file of digests whose file of documents is missing."""
    digest_paths = {sums_of(path) for path in paths("*.jsonl*")}
    for path in sorted(glob.glob(f"{FOLDER}/.*.sums")):
        with contextlib.suppress(StorageError):
            digests, _ = linesums.read(path, "") or ([], False)
            if path not in digest_paths and digests:
                file = f"{FOLDER}/{os.path.basename(path)[1:].removesuffix('.sums')}.jsonl"
                todo = f"restore it from a backup, or delete {path} to continue without them"
                given = f"{file} with {len(digests)} documents is missing"
                yield str(StorageError(given, "the file", todo))


def lines_of(path):
    """Read a file of the inbox, packed or not; return (lines, fault).

    If the file cannot be unpacked to its end, `fault` is a phrase about the error, and `lines` are
    the lines before it. Otherwise `fault` is "".
    """
    lines = []
    try:
        with _open(path, "rb", packed=listing.is_packed(path)) as file:
            lines.extend(file)
    except (EOFError, OSError, zlib.error) as error:
        if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
            raise
        return lines, f"it cannot be unpacked ({error})"
    return lines, ""


def _open(path, mode, packed):
    """Open a file of lines; if it is packed, by gzip."""
    return gzip.open(path, mode) if packed else open(path, mode)


def _digests(path):
    """Return the digests of the lines of a file, [] if it does not exist."""
    return [linesums.digest_of(line) for line in lines_of(path)[0]] if os.path.exists(path) else []


def sums_of(path):
    """Return the path of the digests of a file, which is the same for a hidden or packed file."""
    return f"{FOLDER}/.{os.path.basename(path).lstrip('.').partition('.')[0]}.sums"


def read_sums(path):
    """Read the digests of a file's lines; return (digests, whether they are complete) or None."""
    sums = sums_of(path)
    todo = f"check that {path} is complete, then delete {sums}, which is then written again"
    return linesums.read(sums, todo)


def rewrite(path, lines):
    """Replace the lines of a file atomically and wait until they are on the disk."""
    with replacing(path) as temporary:
        with _open(temporary, "wb", packed=listing.is_packed(path)) as file:
            file.writelines(lines)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())


def copy_damaged(path):
    """Copy a file to `DAMAGED_FOLDER`; return the path of the copy."""
    os.makedirs(DAMAGED_FOLDER, exist_ok=True)
    number, name = 1, os.path.basename(path).lstrip(".")
    while os.path.exists(copy := f"{DAMAGED_FOLDER}/{number}-{name}"):
        number += 1
    with open(path, "rb") as file, replacing(copy) as temporary, open(temporary, "wb") as into:
        into.write(file.read())
    return copy


def _state(path):
    """Return [size, time, inode] of a file; a change of the file changes at least one of them."""
    facts = os.stat(path)
    return [facts.st_size, facts.st_mtime_ns, facts.st_ino]


def _read_checked():
    """Return {name of a file: its `_state` at the last check}, {} without a valid record."""
    with contextlib.suppress(OSError, ValueError):
        with open(CHECKED_PATH, encoding="utf-8") as file:
            checked = json.load(file)
        return checked if isinstance(checked, dict) else {}
    return {}


def _finish_removal(path):
    """Complete or undo a removal of lines that was interrupted by a kill.

    If the file no longer contains the removed lines, the new digests become valid. Otherwise the
    new digests are deleted.
    """
    sums = sums_of(path)
    with contextlib.suppress(FileNotFoundError, StorageError):
        if following := linesums.read(sums + NEXT_SUFFIX, ""):
            written, _ = linesums.read(sums, "") or ([], False)
            if {*written}.difference(following[0]).isdisjoint(_digests(path)):
                os.replace(sums + NEXT_SUFFIX, sums)
            else:
                os.unlink(sums + NEXT_SUFFIX)
