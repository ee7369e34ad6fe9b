"""Read documents for a watch, a JSON line each, from standard input or the files of a directory."""

import errno
import json
import os
import select
import stat
import sys
import time
import zlib
from typing import NamedTuple

from odl.alerts import show
from odl.config import project
from odl.errors import DataError, ParameterError, StorageError
from odl.files import linesums, listing, terminal
from odl.files.atomic import replacing
from odl.files.escaping import visible
from odl.live import inbox
from odl.live.judge import DOCUMENT_SIZE
from odl.live.openperiod import GROUP_SIZE
from odl.live.watch import follow, json_record, print_line

# Bytes of a line with its line break. Bytes beyond are skipped.
MAX_LINE_SIZE = DOCUMENT_SIZE + 1
READ_SIZE = 1 << 20  # bytes per read
POLL_SECONDS = 0.2  # longest wait for input before the watch checks the process that learns
SCAN_SECONDS = 0.5  # pause between two scans of the directory
# Suffixes of the files that are read, in upper or lower case. If a file is renamed after its first
# lines were read (a rotated log), the remaining lines are read under any name.
FOLLOWED_SUFFIXES = (".jsonl", ".ndjson")
WRONG_SUFFIX = "the name ends in neither .jsonl nor .ndjson"
INPUT_NAME = "the input"  # name of standard input in messages
MAX_SHOWN_NAMES = 10  # file names per message about ignored files
# Bytes of a blank line. A program that writes to a truncated log leaves NUL bytes first.
BLANK_BYTES = b"\0 \t\r\n"
OFFSETS_PATH = f"{inbox.FOLDER}/.followed.json"  # how far each file was read


def run(runner, directory=None, tolerance=0.0, by_clock=False, strict=False, text=False):
    """Watch for the working folder: read standard input, or the files of a directory.

    Standard input is read to its end, a directory until a signal.

    Parameters
    ----------
    runner : odl.live.runner.Runner
    directory : str, optional
        Directory whose files in .jsonl and .ndjson are read; standard input by default.
    tolerance, by_clock
        See `odl.live.watch.LiveWatch`.
    strict : bool
        Whether to stop with an error at a line that cannot be read.
    text : bool
        Whether to print the headlines of learned periods as text, and no answers.

    Raises
    ------
    BusyError
        If another watch is running in the folder.
    DataError
        If a line cannot be read and `strict` is true.
    ParameterError
        If the directory does not exist, or `odl run` already reads its files as a source.
    """
    if directory is not None:
        _check_directory(directory)

    def refuse(pairs):
        for (name, number), fault in pairs:
            error = DataError(
                f"line {number} of {name}: {fault}", "a readable document", "correct or remove it"
            )
            if strict:
                raise error
            print_line(error)

    follow(
        _groups if directory is None else Files(directory),
        runner,
        tell_records if text else tell,
        refuse,
        place_of,
        tolerance,
        by_clock,
        text_record if text else json_record,
    )


def place_of(number):
    """Return (source, location) of a line.

    Lines of standard input are numbered per watch, so their location includes the current time.
    """
    name, line = number
    if name != INPUT_NAME:
        return name, f"line {line}"
    return name, time.strftime(f"line {line}, %Y-%m-%d %H:%M UTC", time.gmtime())


def tell(pairs):
    """Print answers and records of learned periods, one a line."""
    sys.stdout.write("".join(f"{text}\n" for _, text in pairs))
    sys.stdout.flush()


def tell_records(pairs):
    """Print records of learned periods, without answers."""
    tell([(None, text) for number, text in pairs if number is None])


def text_record(alerts, period):
    """Return the headlines of a learned period as lines of text."""
    return terminal.for_stream(show.lines_of(alerts, period))


def _groups(watch, ended):
    """Yield groups of numbered lines of standard input.

    Every `POLL_SECONDS` without input, an empty group is yielded.
    """
    incomplete, n_lines, at_end = b"", 0, False
    while not at_end and not ended():
        if not select.select([sys.stdin], [], [], POLL_SECONDS)[0]:
            yield []
            continue
        piece = os.read(sys.stdin.fileno(), READ_SIZE)
        at_end = not piece
        if at_end and incomplete:
            piece = b"\n"
        *lines, incomplete = (incomplete + piece).split(b"\n")
        incomplete = incomplete[:MAX_LINE_SIZE]  # a longer line is refused, also after the cut
        for first in range(0, len(lines), GROUP_SIZE):
            yield _numbered(INPUT_NAME, lines[first : first + GROUP_SIZE], n_lines + first)
        n_lines += len(lines)


class SeenFile(NamedTuple):
    """State of a file when it was last scanned.

    Attributes
    ----------
    state : tuple or None
        Inode, size and modification time.
    key : str or None
        Inode and checksum of the first line.
    unchanged : bool
        Whether two scans in a row found this state. Then the file has been read to its end.
    """

    state: tuple | None = None
    key: str | None = None
    unchanged: bool = False


class Files:
    """Reader of the growing files of a directory.

    Offsets are stored, so that the next watch continues where this one ended. Each file is
    identified by a key: its inode and the checksum of its first line. A renamed file therefore
    continues at its offset, and a file that was emptied and written again starts from its
    beginning.

    Attributes
    ----------
    read : dict
        Key of a file -> [bytes, lines] read so far.
    seen : dict
        Path -> `SeenFile` of the last scan.
    ignored : dict
        Path -> reason why the file is not read.
    """

    def __init__(self, directory):
        self.directory, self.read, self.seen, self.ignored = directory, {}, {}, {}

    def __call__(self, watch, ended):
        """Yield groups of new numbered lines; an empty group after each scan that finds none.

        The watch stores the lines of a group in the inbox before it asks for the next group. Then
        this generator stores the offsets after the lines. If the watch is killed between the two
        writes, the next watch reads some lines twice, but skips none.

        Parameters
        ----------
        watch : odl.live.watch.LiveWatch
            Not used: standard input and other sources have the same arguments.
        ended : callable
            Returns whether the watch is to end.
        """
        self.read = read_offsets()
        while not ended():
            group, offsets, has_full_group = [], {}, False
            for lines, key, offset in self._grown():
                if len(group) + len(lines) > GROUP_SIZE:
                    yield group
                    self._store(offsets)
                    group, offsets, has_full_group = [], {}, True
                group += lines
                offsets[key] = offset
                if ended():
                    break
            yield group
            if offsets:
                self._store(offsets)
            if not has_full_group:  # otherwise more lines have probably come: scan at once
                time.sleep(SCAN_SECONDS)

    def _grown(self):
        """Read new lines of the directory; yield (numbered lines, file key, offset after them)."""
        before, self.seen = self.seen, {}
        ignored_before, self.ignored = self.ignored, {}
        # Inodes of files without a complete line at the last scan. New lines of these files, and of
        # files that were read in part, are read under any name.
        started = {
            _inode_of(file.key)
            for path, file in before.items()
            if file.key and file.key not in self.read and _is_source(path)
        }
        followed = started.union(map(_inode_of, self.read))
        try:
            with os.scandir(self.directory) as entries:
                inodes = {
                    entry.path: str(entry.inode()) for entry in entries if entry.name[0] != "."
                }
        except OSError as error:
            # The directory may return with its files, so their offsets are retained.
            inodes, self.seen, self.ignored = {}, before, {self.directory: error.strerror}
        paths = []
        for path, inode in sorted(inodes.items()):
            if _is_source(path) or inode in followed:
                paths.append(path)
            else:
                self.ignored[path] = WRONG_SUFFIX
        for path in sorted(paths, key=_is_source):  # rotated files first: their lines are older
            try:
                yield from self._new_lines(path, before.get(path, SeenFile()), started)
            except OSError as error:
                if os.path.lexists(path):  # otherwise it was deleted during the scan
                    self.ignored[path] = error.strerror
                if error.strerror != WRONG_SUFFIX:
                    self.seen.pop(path, None)  # the next scan tries it again
        _print_ignored(dict(self.ignored.items() - ignored_before.items()))
        self._forget_deleted({file.key for file in before.values()}, inodes)

    def _forget_deleted(self, keys_before, inodes):
        """Forget the offsets of files that are neither seen nor ignored.

        A file that is renamed during a scan is seen by the next one, so the keys of the last scan
        are retained too.
        """
        known_keys = keys_before.union(file.key for file in self.seen.values())
        ignored_inodes = {inodes.get(path) for path in self.ignored}
        self.read = {
            key: offset
            for key, offset in self.read.items()
            if key in known_keys or _inode_of(key) in ignored_inodes
        }

    def _new_lines(self, path, before, started):
        """Yield from `_lines` if a file has changed since the scan before the last one.

        Parameters
        ----------
        path : str
        before : SeenFile
            Result of the last scan.
        started : set of str
            Inodes of files that had no complete line at the last scan.

        Raises
        ------
        OSError
            If the file is not to be read; the message gives the reason.
        """
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        state = facts.st_ino, facts.st_size, facts.st_mtime_ns
        self.seen[path], unchanged = before, before.state == state
        if unchanged and before.unchanged:
            return
        # O_NONBLOCK: opening does not wait if the path has become a pipe since `os.stat`.
        with open(
            path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)
        ) as file:
            first = file.readline(MAX_LINE_SIZE)
            # The first line has the same checksum before and after its line break is written.
            complete = first if _is_complete(first) else first + b"\n"
            key = f"{os.fstat(file.fileno()).st_ino} {zlib.crc32(complete)}"
            self.seen[path] = SeenFile(state, key, unchanged)
            if not (_is_source(path) or key in self.read or _inode_of(key) in started):
                raise OSError(errno.EINVAL, WRONG_SUFFIX)
            if _is_complete(first) or unchanged:
                yield from self._lines(file, key, unchanged)

    def _lines(self, file, key, last):
        """Yield (numbered lines, key, [bytes, lines] read so far) for each group of new lines.

        Parameters
        ----------
        file : binary file
        key : str
        last : bool
            Whether the file has not grown since the last scan. Then a complete document without a
            line break is a line too.
        """
        offset, number = self.read.get(key, (0, 0))
        if offset > os.fstat(file.fileno()).st_size:  # the file was truncated
            offset, number = 0, 0
        file.seek(max(offset - 1, 0))
        last_byte = file.read(1) if offset else b"\n"
        if last_byte == b"}":  # a document was read before its line break was written: skip that
            line_end = file.readline(MAX_LINE_SIZE)
            if not line_end.strip():
                offset += len(line_end)
            file.seek(offset)
        # Whether the offset is inside a line that is too long, whose beginning was refused.
        in_long_line = last_byte not in (b"\n", b"}")
        while True:
            lines, size = [], 0
            while len(lines) < GROUP_SIZE and size < READ_SIZE:
                line = file.readline(MAX_LINE_SIZE)
                if not (_is_complete(line) or (last and _is_document(line))):
                    break
                is_nul = not line.strip(b"\0")
                if not in_long_line and not is_nul:
                    lines.append(line)
                in_long_line = not (is_nul or line.endswith(b"\n"))
                size += len(line)
            if not size:
                break
            numbered_lines = _numbered(os.path.basename(file.name), lines, number)
            offset, number = offset + size, number + len(lines)
            yield numbered_lines, key, [offset, number]

    def _store(self, offsets):
        """Store the offsets after groups of lines that the inbox has stored."""
        self.read |= offsets
        files = {key: [*offset, _digest_of(key, offset)] for key, offset in self.read.items()}
        with replacing(OFFSETS_PATH) as temporary, open(temporary, "w", encoding="utf-8") as file:
            json.dump({"count": len(files), "files": files}, file)


def read_offsets():
    """Return how far files were read: key -> [bytes, lines].

    The record is ``{"count": 1, "files": {key: [bytes, lines, digest]}}``, where count is the
    number of files. Earlier versions wrote ``{key: [bytes, lines]}``, which cannot be checked.

    Raises
    ------
    StorageError
        If the record was changed after it was written. Documents would otherwise be skipped or
        stored twice.
    """
    try:
        with open(OFFSETS_PATH, encoding="utf-8") as file:
            stored = json.load(file)
        if "count" not in stored:  # written by an earlier version
            return {key: [int(size), int(n_lines)] for key, (size, n_lines) in stored.items()}
        offsets, is_changed = {}, len(stored["files"]) != stored["count"]
        for key, (size, n_lines, digest) in stored["files"].items():
            offsets[key] = [size, n_lines]
            is_changed |= digest != _digest_of(key, offsets[key])
        if not is_changed:
            return offsets
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        pass
    todo = (
        f"restore it, or delete {OFFSETS_PATH} to read all files again "
        "(documents without ids are then stored twice)"
    )
    raise StorageError(
        f"{OFFSETS_PATH} was changed after it was written", "the record of what was read", todo
    )


def _digest_of(key, offset):
    """Return the digest of the key of a file and its [bytes, lines] in the record."""
    return linesums.digest_of(f"{key} {offset[0]} {offset[1]}".encode())


def _inode_of(key):
    """Return the inode in the key of a file, as text."""
    return key.split()[0]


def _is_complete(line):
    """Return whether a line ends with a line break, or was cut at `MAX_LINE_SIZE`."""
    return line.endswith(b"\n") or len(line) == MAX_LINE_SIZE


def _is_document(line):
    """Return whether a line without a line break is a complete JSON object."""
    try:
        return line.rstrip().endswith(b"}") and isinstance(
            json.loads(line.strip(BLANK_BYTES)), dict
        )
    except (ValueError, RecursionError):
        return False


def _is_source(path):
    """Return whether the name of a file has a suffix that is read."""
    return path.lower().endswith(FOLLOWED_SUFFIXES)


def _print_ignored(ignored):
    """Print one line for each reason, with the names of the files that are not read for it.

    Parameters
    ----------
    ignored : dict
        Path of a file -> reason for not reading it.
    """
    names_of = {}
    for path, reason in sorted(ignored.items()):
        names_of.setdefault(reason, []).append(os.path.basename(path))
    for reason, names in names_of.items():
        shown = ", ".join(names[:MAX_SHOWN_NAMES])
        if len(names) > MAX_SHOWN_NAMES:
            shown += f" and {len(names) - MAX_SHOWN_NAMES} more"
        print_line(visible(f"{shown} not read: {reason}"))


def _numbered(name, lines, before):
    """Return ((name, number), line) of each line that is not blank.

    `before` is the number of lines of the file that precede `lines`.
    """
    return [
        ((name, number), line)
        for number, line in enumerate(lines, before + 1)
        if line.strip(BLANK_BYTES)
    ]


def _check_directory(directory):
    """Raise `ParameterError` if a path is not a directory, or `odl run` reads a file in it."""
    if not os.path.isdir(directory):
        raise ParameterError(f"--follow {directory}", "a directory", "name an existing directory")
    for source in project.read(".")["sources"]:
        files = () if source == inbox.SOURCE else listing.expand(source, "jsonl") or ()
        for _, path in files:
            if os.path.samefile(os.path.dirname(path) or ".", directory):
                raise ParameterError(
                    f"--follow {directory}, but odl run reads {os.path.basename(path)} in it",
                    "a directory without sources of odl run",
                    f"remove the file from sources in {project.FILE}, or follow another directory",
                )
