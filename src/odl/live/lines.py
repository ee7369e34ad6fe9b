"""Lines of documents for a watch, in groups of what has come: of standard input, or of files that appear and grow."""

import errno
import json
import os
import select
import stat
import sys
import time
import zlib

from odl.config import project
from odl.errors import DataError, ParameterError, StorageError
from odl.files import linesums, listing
from odl.files.atomic import replacing
from odl.files.escaping import visible
from odl.live import inbox
from odl.live.judge import DOCUMENT_SIZE
from odl.live.openperiod import GROUP_SIZE
from odl.live.watch import follow

LONGEST = DOCUMENT_SIZE + 1  # bytes of a line, with its end, that are read
PIECE = 1 << 20  # bytes that are read at once
WAIT, LOOK = 0.2, 0.5  # seconds between two looks at the other process, and at the files
ENDS = (".jsonl", ".ndjson")  # of the name of a file, in any case, until it is rotated
OTHER = "the name ends in neither .jsonl nor .ndjson"
INPUT = "the input"  # standard input, in messages
SHOWN = 10  # names of a sentence about entries that are not read
BLANK = b"\0 \t\r\n"  # NUL bytes: what truncating a log leaves before what its writer goes on with
READ = f"{inbox.FOLDER}/.followed.json"  # up to where files are read


def run(directory=None, tolerance=0.0, by_clock=False, strict=False):
    """Watch standard input for the working folder until it ends, or files, or a signal ends it.

    Parameters
    ----------
    directory : str, optional
        Of the files, ending in .jsonl or .ndjson; of standard input by default.
    tolerance, by_clock
        As of `odl.live.watch.LiveWatch`.
    strict : bool
        Whether a line that cannot be read ends it.

    Raises
    ------
    BusyError
        If another watch has the folder.
    DataError
        If a line cannot be read, and `strict`.
    ParameterError
        If there is no such directory, or the folder reads its files already.
    """
    if directory is not None:
        _check(directory)

    def refuse(pairs):
        for (name, number), fault in pairs:
            error = DataError(f"line {number} of {name}: {fault}", "a readable document", "correct or remove it")
            if strict:
                raise error
            print(f"odl watch: {error}", file=sys.stderr, flush=True)

    follow(_groups if directory is None else Files(directory), tell, refuse, place_of, tolerance, by_clock)


def place_of(number):
    """Return the source of a line and its place there; that of standard input, which begins again, has a time."""
    name, line = number
    return name, f"line {line}" + time.strftime(", %Y-%m-%d %H:%M UTC", time.gmtime()) * (name == INPUT)


def tell(pairs):
    """Print answers and records of periods."""
    sys.stdout.write("".join(f"{text}\n" for _, text in pairs))
    sys.stdout.flush()


def _groups(watch, ended):
    """Yield groups of standard input; nothing now and then, while nothing comes."""
    rest, number, whole = b"", 0, False
    while not whole and not ended():
        if not select.select([sys.stdin], [], [], WAIT)[0]:
            yield []
            continue
        piece = os.read(sys.stdin.fileno(), PIECE)
        whole = not piece
        *lines, rest = (rest + piece + b"\n" * (whole and bool(rest))).split(b"\n")
        if len(rest) > LONGEST:
            rest = rest[:LONGEST]  # no line of JSON any more
        for first in range(0, len(lines), GROUP_SIZE):
            yield _numbered(INPUT, lines[first : first + GROUP_SIZE], number + first)
        number += len(lines)


class Files:
    """Files of a directory that appear and grow, each read from where it was left, also by a watch before this one.

    A file is known by its number in the file system and its first line, so that it may be renamed or begun anew.
    """

    def __init__(self, directory):
        self.directory, self.read, self.looked, self.ignored = directory, {}, {}, {}

    def __call__(self, watch, ended):
        """Yield groups of what has come; nothing now and then, while nothing comes."""
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
                self._store(places)  # they are stored by now
            if not more:
                time.sleep(LOOK)

    def _grown(self):
        """Yield the whole lines that were not read before, numbered, with the key of their file and where they end."""
        before, self.looked, ignored, self.ignored = self.looked, {}, self.ignored, {}
        unread = (key for path, (_, key, _) in before.items() if key and key not in self.read and _is_source(path))
        begun = {key.split()[0] for key in unread}  # numbers of files that had no whole line yet
        known = begun.union(key.split()[0] for key in self.read)
        try:
            with os.scandir(self.directory) as entries:
                found = {one.path: str(one.inode()) for one in entries if one.name[0] != "."}
        except OSError as error:  # it may come back, with its files
            found, self.looked, self.ignored = {}, before, {self.directory: error.strerror}
        paths = sorted(path for path, number in found.items() if _is_source(path) or number in known)
        self.ignored |= dict.fromkeys((path for path in found.keys() - {*paths}), OTHER)
        for path in sorted(paths, key=_is_source):  # what was rotated is older
            try:
                yield from self._look(path, before.get(path, (None, None, False)), begun)
            except OSError as error:
                if os.path.lexists(path):  # else it is gone since the directory was read
                    self.ignored[path] = error.strerror
                if error.strerror != OTHER:
                    self.looked.pop(path, None)  # it is tried again
        _name({path: why for path, why in self.ignored.items() if ignored.get(path) != why})
        # A file that moves while others are read is not seen under its new name before the next look.
        there = {key for _, key, _ in (*before.values(), *self.looked.values())}
        held = {found.get(path) for path in self.ignored}
        self.read = {key: place for key, place in self.read.items() if key in there or key.split()[0] in held}

    def _look(self, path, before, begun):
        """Yield what has come of a file since a look before this one; raise OSError if it is not to be read."""
        state = os.stat(path)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        signs = state.st_ino, state.st_size, state.st_mtime_ns
        self.looked[path], same = before, before[0] == signs
        if same and before[2]:
            return
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            first = file.readline(LONGEST)
            ended = first if _is_whole(first) else first + b"\n"  # of its last line the end may come
            key = f"{os.fstat(file.fileno()).st_ino} {zlib.crc32(ended)}"
            self.looked[path] = signs, key, same
            if not (_is_source(path) or key in self.read or key.split()[0] in begun):
                raise OSError(errno.EINVAL, OTHER)
            if _is_whole(first) or same:
                yield from self._lines(file, key, same)

    def _lines(self, file, key, last):
        """Yield groups of the lines of a file that were not read before, with its key and where they end.

        `last`: also of a document that no line break follows, since nothing came after it for a while.
        """
        place, number = self.read.get(key, (0, 0))
        place, number = (place, number) if place <= os.fstat(file.fileno()).st_size else (0, 0)
        file.seek(max(place - 1, 0))
        end = file.read(1) if place else b"\n"
        if end == b"}":  # of a document that no line break followed
            rest = file.readline(LONGEST)
            place += len(rest) * (not rest.strip())
            file.seek(place)
        inside = end not in (b"\n", b"}")  # of a line that is too long, of which the beginning was refused
        while True:
            lines, size = [], 0
            while len(lines) < GROUP_SIZE and size < PIECE:
                line = file.readline(LONGEST)
                if not (_is_whole(line) or (last and _is_document(line))):
                    break
                hole = not line.strip(b"\0")
                lines += [line] * (not inside and not hole)
                inside = not (hole or line.endswith(b"\n"))
                size += len(line)
            if not size:
                break
            place += size
            yield _numbered(os.path.basename(file.name), lines, number), key, [place, number := number + len(lines)]

    def _store(self, places):
        """Take note of where groups end that the inbox has."""
        self.read |= places
        files = {key: [*place, _check_of(key, place)] for key, place in self.read.items()}
        with replacing(READ) as temporary, open(temporary, "w", encoding="utf-8") as file:
            json.dump({"count": len(files), "files": files}, file)


def read_places():
    """Return up to where files are read: key to [bytes, lines]. A file of an earlier version has no digests.

    Raises
    ------
    StorageError
        If the record was changed after it was written: documents would be left out, or stored twice.
    """
    try:
        with open(READ, encoding="utf-8") as file:
            stored = json.load(file)
        if "count" not in stored:
            return {str(key): [int(place), int(number)] for key, (place, number) in stored.items()}
        files = {key: [place, number] for key, (place, number, _) in stored["files"].items()}
        wrong = [key for key, place in files.items() if stored["files"][key][2] != _check_of(key, place)]
        if len(files) == stored["count"] and not wrong:
            return files
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        pass
    todo = f"restore it, or delete {READ} to read all files again (documents without ids are then stored twice)"
    raise StorageError(f"{READ} was changed after it was written", "up to where files were read", todo)


def _check_of(key, place):
    return linesums.digest_of(f"{key} {place[0]} {place[1]}".encode())


def _is_whole(line):
    """Whether a line ends, or is longer than any that is read."""
    return line.endswith(b"\n") or len(line) == LONGEST


def _is_document(line):
    """Whether a line that has not ended is a document all the same."""
    try:
        return line.rstrip().endswith(b"}") and isinstance(json.loads(line.strip(BLANK)), dict)
    except (ValueError, RecursionError):
        return False


def _is_source(path):
    """Whether a file is read by its name."""
    return path.lower().endswith(ENDS)


def _name(ignored):
    """Print which entries of a directory are not read, path to reason."""
    for why in dict.fromkeys(ignored.values()):
        names = sorted(os.path.basename(path) for path, reason in ignored.items() if reason == why)
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        said = visible(f"{', '.join(names[:SHOWN])}{more} not read: {why}")
        print(f"odl watch: {said}", file=sys.stderr, flush=True)


def _numbered(name, lines, before):
    """Return ((name, number), line) of lines that are not empty."""
    return [((name, number), line) for number, line in enumerate(lines, before + 1) if line.strip(BLANK)]


def _check(directory):
    """Refuse a directory that is none, or whose files `odl run` reads by itself."""
    if not os.path.isdir(directory):
        raise ParameterError(f"--follow {directory}", "a directory", "correct it")
    own = [source for source in project.read(".")["sources"] if source != inbox.SOURCE]
    for _, path in (pair for source in own for pair in listing.expand(source, "jsonl") or ()):
        if os.path.samefile(os.path.dirname(path) or ".", directory):
            given = f"--follow {directory}, of which {project.FILE} reads {os.path.basename(path)}"
            raise ParameterError(given, "a directory of other files", "leave it out of sources, or follow another one")
