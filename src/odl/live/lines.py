"""Read documents for a watch, one JSON line each, from standard input or from the growing files of a directory."""

import errno
import json
import os
import select
import stat
import sys
import time
import zlib

from odl.alerts import show
from odl.config import project
from odl.errors import DataError, ParameterError, StorageError
from odl.files import linesums, listing, terminal
from odl.files.atomic import replacing
from odl.files.escaping import visible
from odl.live import inbox
from odl.live.judge import DOCUMENT_SIZE
from odl.live.openperiod import GROUP_SIZE
from odl.live.watch import follow, json_record

MAX_LINE_SIZE = (
    DOCUMENT_SIZE + 1
)  # bytes of a line with its line break; the rest of a longer line is skipped
READ_SIZE = 1 << 20  # bytes per read
POLL_SECONDS = 0.2  # longest wait for input before the watch checks the process that learns
SCAN_SECONDS = 0.5  # pause between two scans of the directory
FOLLOWED_SUFFIXES = (
    ".jsonl",
    ".ndjson",
)  # in any case; a file that was renamed since (rotated) is still read
WRONG_SUFFIX = "the name ends in neither .jsonl nor .ndjson"
INPUT_NAME = "the input"  # standard input, in messages
MAX_SHOWN_NAMES = 10  # file names per message about ignored files
# NUL too: a program that writes to a log after it was truncated leaves NUL bytes first
BLANK_BYTES = b"\0 \t\r\n"
OFFSETS_PATH = f"{inbox.FOLDER}/.followed.json"  # how far each file was read


def run(directory=None, tolerance=0.0, by_clock=False, strict=False, text=False):
    """Watch for the working folder: read standard input to its end, or the files of a directory until a signal.

    Parameters
    ----------
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
        If another watch has the folder.
    DataError
        If a line cannot be read and `strict` is true.
    ParameterError
        If the directory does not exist, or `odl run` already reads its files as a source.
    """
    if directory is not None:
        _check(directory)

    def refuse(pairs):
        for (name, number), fault in pairs:
            error = DataError(
                f"line {number} of {name}: {fault}", "a readable document", "correct or remove it"
            )
            if strict:
                raise error
            print(f"odl watch: {error}", file=sys.stderr, flush=True)

    follow(
        _groups if directory is None else Files(directory),
        tell_records if text else tell,
        refuse,
        place_of,
        tolerance,
        by_clock,
        text_record if text else json_record,
    )


def place_of(number):
    """Return (source, place) of a line. Lines of standard input are numbered per watch, so their place has a time."""
    name, line = number
    return name, f"line {line}" + time.strftime(", %Y-%m-%d %H:%M UTC", time.gmtime()) * (
        name == INPUT_NAME
    )


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
    """Yield groups of numbered lines of standard input, and an empty group every `POLL_SECONDS` without input."""
    rest, number, whole = b"", 0, False
    while not whole and not ended():
        if not select.select([sys.stdin], [], [], POLL_SECONDS)[0]:
            yield []
            continue
        piece = os.read(sys.stdin.fileno(), READ_SIZE)
        whole = not piece
        *lines, rest = (rest + piece + b"\n" * (whole and bool(rest))).split(b"\n")
        if len(rest) > MAX_LINE_SIZE:
            rest = rest[:MAX_LINE_SIZE]  # still too long for a document, so it is refused
        for first in range(0, len(lines), GROUP_SIZE):
            yield _numbered(INPUT_NAME, lines[first : first + GROUP_SIZE], number + first)
        number += len(lines)


class Files:
    """Reads the growing files of a directory. Offsets are stored, so the next watch continues where this one ended.

    The key of a file is its inode and the checksum of its first line. So a renamed file continues
    at its offset, and a file that was emptied and written again is read from its beginning.

    Attributes
    ----------
    read : dict
        Key of a file -> [bytes, lines] read so far.
    looked : dict
        Path -> ((inode, size, time), key, whether the file had not changed) at the last scan.
    ignored : dict
        Path -> reason for not reading it.
    """

    def __init__(self, directory):
        self.directory, self.read, self.looked, self.ignored = directory, {}, {}, {}

    def __call__(self, watch, ended):
        """Yield groups of new numbered lines; an empty group after each scan that finds none."""
        self.read = read_places()
        while not ended():
            group, places, more = [], {}, False
            for lines, key, place in self._grown():
                if len(group) + len(lines) > GROUP_SIZE:
                    yield group
                    self._store(places)
                    group, places, more = [], {}, True
                group += lines
                places[key] = place
                if ended():
                    break
            yield group
            if places:
                self._store(places)  # the watch has stored the group when it asks for the next one
            if not more:
                time.sleep(SCAN_SECONDS)

    def _grown(self):
        """Scan the directory; yield (numbered lines, key of their file, offset after them) of new complete lines."""
        before, self.looked, ignored, self.ignored = self.looked, {}, self.ignored, {}
        unread = (
            key
            for path, (_, key, _) in before.items()
            if key and key not in self.read and _is_source(path)
        )
        begun = {key.split()[0] for key in unread}  # inodes of files without a complete line so far
        known = begun.union(key.split()[0] for key in self.read)
        try:
            with os.scandir(self.directory) as entries:
                found = {one.path: str(one.inode()) for one in entries if one.name[0] != "."}
        except (
            OSError
        ) as error:  # the directory may return with its files, so their offsets are retained
            found, self.looked, self.ignored = {}, before, {self.directory: error.strerror}
        paths = sorted(
            path for path, number in found.items() if _is_source(path) or number in known
        )
        self.ignored |= dict.fromkeys((path for path in found.keys() - {*paths}), WRONG_SUFFIX)
        for path in sorted(paths, key=_is_source):  # rotated files first: their lines are older
            try:
                yield from self._look(path, before.get(path, (None, None, False)), begun)
            except OSError as error:
                if os.path.lexists(path):  # otherwise it was deleted during the scan
                    self.ignored[path] = error.strerror
                if error.strerror != WRONG_SUFFIX:
                    self.looked.pop(path, None)  # the next scan tries it again
        _name({path: why for path, why in self.ignored.items() if ignored.get(path) != why})
        # A file that is renamed during a scan is found by the next one, so the keys of the last
        # scan are retained too.
        there = {key for _, key, _ in (*before.values(), *self.looked.values())}
        held = {found.get(path) for path in self.ignored}
        self.read = {
            key: place for key, place in self.read.items() if key in there or key.split()[0] in held
        }

    def _look(self, path, before, begun):
        """Yield from `_lines` for a file that grew since the last scan; raise OSError if it is not to be read."""
        state = os.stat(path)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        signs = state.st_ino, state.st_size, state.st_mtime_ns
        self.looked[path], same = before, before[0] == signs
        if same and before[2]:
            return
        with open(
            path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)
        ) as file:
            first = file.readline(MAX_LINE_SIZE)
            ended = (
                first if _is_whole(first) else first + b"\n"
            )  # the same key before and after the line break comes
            key = f"{os.fstat(file.fileno()).st_ino} {zlib.crc32(ended)}"
            self.looked[path] = signs, key, same
            if not (_is_source(path) or key in self.read or key.split()[0] in begun):
                raise OSError(errno.EINVAL, WRONG_SUFFIX)
            if _is_whole(first) or same:
                yield from self._lines(file, key, same)

    def _lines(self, file, key, last):
        """Yield (numbered lines, key, [bytes, lines] after them) for each group of new lines of a file.

        With `last` (the file has not grown since the last scan), also a complete document without a
        line break.
        """
        place, number = self.read.get(key, (0, 0))
        place, number = (place, number) if place <= os.fstat(file.fileno()).st_size else (0, 0)
        file.seek(max(place - 1, 0))
        end = file.read(1) if place else b"\n"
        if end == b"}":  # a document was read before its line break was written: skip that
            rest = file.readline(MAX_LINE_SIZE)
            place += len(rest) * (not rest.strip())
            file.seek(place)
        inside = end not in (
            b"\n",
            b"}",
        )  # in the rest of a line that is too long; its beginning was refused
        while True:
            lines, size = [], 0
            while len(lines) < GROUP_SIZE and size < READ_SIZE:
                line = file.readline(MAX_LINE_SIZE)
                if not (_is_whole(line) or (last and _is_document(line))):
                    break
                hole = not line.strip(b"\0")
                lines += [line] * (not inside and not hole)
                inside = not (hole or line.endswith(b"\n"))
                size += len(line)
            if not size:
                break
            place += size
            yield (
                _numbered(os.path.basename(file.name), lines, number),
                key,
                [place, number := number + len(lines)],
            )

    def _store(self, places):
        """Store the offsets after groups of lines that the inbox has stored."""
        self.read |= places
        files = {key: [*place, _check_of(key, place)] for key, place in self.read.items()}
        with replacing(OFFSETS_PATH) as temporary, open(temporary, "w", encoding="utf-8") as file:
            json.dump({"count": len(files), "files": files}, file)


def read_places():
    """Return how far files were read: key -> [bytes, lines]. Records of earlier versions have no digests.

    Raises
    ------
    StorageError
        If the record was changed after it was written. With it, documents would be skipped or
        stored twice.
    """
    try:
        with open(OFFSETS_PATH, encoding="utf-8") as file:
            stored = json.load(file)
        if "count" not in stored:
            return {str(key): [int(place), int(number)] for key, (place, number) in stored.items()}
        files = {key: [place, number] for key, (place, number, _) in stored["files"].items()}
        wrong = [
            key for key, place in files.items() if stored["files"][key][2] != _check_of(key, place)
        ]
        if len(files) == stored["count"] and not wrong:
            return files
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        pass
    todo = f"restore it, or delete {OFFSETS_PATH} to read all files again (documents without ids are then stored twice)"
    raise StorageError(
        f"{OFFSETS_PATH} was changed after it was written", "up to where files were read", todo
    )


def _check_of(key, place):
    return linesums.digest_of(f"{key} {place[0]} {place[1]}".encode())


def _is_whole(line):
    """Return whether a line has its line break, or was cut at `MAX_LINE_SIZE`."""
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


def _name(ignored):
    """Print the names of ignored files, a dict of path -> reason."""
    for why in dict.fromkeys(ignored.values()):
        names = sorted(os.path.basename(path) for path, reason in ignored.items() if reason == why)
        more = f" and {len(names) - MAX_SHOWN_NAMES} more" if len(names) > MAX_SHOWN_NAMES else ""
        said = visible(f"{', '.join(names[:MAX_SHOWN_NAMES])}{more} not read: {why}")
        print(f"odl watch: {said}", file=sys.stderr, flush=True)


def _numbered(name, lines, before):
    """Return ((name, number), line) for each line that is not blank; the first has the number `before` + 1."""
    return [
        ((name, number), line)
        for number, line in enumerate(lines, before + 1)
        if line.strip(BLANK_BYTES)
    ]


def _check(directory):
    """Raise `ParameterError` if a path is no directory, or `odl run` reads files of it as a source."""
    if not os.path.isdir(directory):
        raise ParameterError(f"--follow {directory}", "a directory", "correct it")
    own = [source for source in project.read(".")["sources"] if source != inbox.SOURCE]
    for _, path in (pair for source in own for pair in listing.expand(source, "jsonl") or ()):
        if os.path.samefile(os.path.dirname(path) or ".", directory):
            given = f"--follow {directory}, of which {project.FILE} reads {os.path.basename(path)}"
            raise ParameterError(
                given,
                "a directory of other files",
                "leave it out of sources, or follow another one",
            )
