"""The inbox of a folder: accepted documents as files of JSON lines, the journal and the source of `odl run` at once.

A period has one file, hidden while it grows: it gets its name, at once, when the period has ended, so that a run
reads whole periods only. Beside each file lie the digests of its lines (`.{file}.sums`), written when the disk has
the lines: what was accepted and is not there any more is named (`check`).
"""

import contextlib
import glob
import json
import os
import re
import sys
import time

from odl.config import project
from odl.engine import processes
from odl.errors import BusyError, ConfigError, StorageError
from odl.files import linesums, packing
from odl.files.atomic import replacing
from odl.live import refused
from odl.live.inboxsums import (
    DAMAGED,
    FOLDER,
    NAME,
    NEXT,
    Sums,
    check,
    lines_of,
    paths,
    read_sums,
    rewrite,
    sums_of,
)

SOURCE = f"{FOLDER}/*.jsonl*"  # packed ones too
SLOT = "odl"  # key of a line under which what was answered stands


class Inbox:
    """The inbox of the working folder; one process at a time holds it (`alone`)."""

    def __init__(self):
        os.makedirs(FOLDER, exist_ok=True)
        self.open, self.sums = {}, {}
        _report()
        for path in sorted(glob.glob(f"{FOLDER}/.*.jsonl")):
            if match := NAME.fullmatch(os.path.basename(path)):
                self.open[match[1]] = file = open(path, "ab", buffering=0)  # noqa: SIM115 - it stays open
                self.sums[match[1]] = Sums(file.name)

    def labels(self):
        """Return the periods of the files that still grow, oldest first."""
        return sorted(self.open)

    def begun(self):
        """Return the periods of these files that have begun by the clock, oldest first."""
        return [label for label in self.labels() if label <= today()]

    def periods(self):
        """Return the periods of which there are documents, oldest first."""
        names = (NAME.fullmatch(name) for name in os.listdir(FOLDER))
        return sorted({match[1] for match in names if match})

    def lines(self, label):
        """Yield the documents of a period that were accepted, maps of column to value."""
        for path in sorted(paths(f"{label}-*.jsonl*")):
            with packing.opened(path) as file:
                yield from map(json.loads, file)

    def append(self, lines):
        """Store documents, and wait until the disk has them.

        Parameters
        ----------
        lines : dict of str to list of bytes
            Label of the period to lines; nothing of them stays where the disk has no room.
        """
        sizes = []
        try:
            for label, new in lines.items():
                file = self._file(label)
                sizes.append((file, os.fstat(file.fileno()).st_size))
                rest = memoryview(b"".join(new))
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
        except OSError as error:
            for file, size in sizes:
                with contextlib.suppress(OSError):
                    file.truncate(size)
            error.filename = error.filename or FOLDER
            raise
        for label, new in lines.items():
            self.sums[label].append(new)

    def _file(self, label):
        if label not in self.open:
            numbers = [int(NAME.fullmatch(os.path.basename(path))[2]) for path in paths(f"{label}-*")]
            path = f"{FOLDER}/.{label}-{max(numbers, default=0) + 1:04d}.jsonl"
            self.open[label] = open(path, "ab", buffering=0)  # noqa: SIM115 - it stays open
            self.sums[label] = Sums(path)
            _sync()
        return self.open[label]

    def publish(self, label):
        """Give the file of a period its name, by which `odl run` reads it."""
        with self.open.pop(label) as file:
            pass
        sums = self.sums.pop(label)
        if os.path.getsize(file.name) or sums.written:
            sums.close()
            os.rename(file.name, os.path.join(FOLDER, os.path.basename(file.name)[1:]))
        else:
            os.unlink(file.name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(sums.path)
        _sync()


def remove(name):
    """Take a document out of the inbox of the working folder, whose files nobody else keeps.

    Raises
    ------
    BusyError
        If a watch has them.
    """
    if not os.path.isdir(FOLDER):
        return
    with alone():
        _report()
        for path in paths("*.jsonl*"):
            lines, _ = lines_of(path)
            kept = [line for line in lines if json.loads(line)[SLOT]["answer"]["id"] != name]
            if len(kept) < len(lines):
                with contextlib.suppress(StorageError):
                    gone = {*map(linesums.digest_of, lines)} - {*map(linesums.digest_of, kept)}
                    written, closed = read_sums(path) or ([], False)
                    left = [digest for digest in written if digest not in gone]
                    linesums.write(sums_of(path) + NEXT, left, closed)
                rewrite(path, kept)
                with contextlib.suppress(FileNotFoundError):
                    os.replace(sums_of(path) + NEXT, sums_of(path))
        for path in glob.glob(f"{DAMAGED}/*.jsonl*"):  # whole lines or not, all that names it
            lines, _ = lines_of(path)
            kept = [line for line in lines if json.dumps(name).encode() not in line]
            if len(kept) < len(lines):
                rewrite(path, kept)


def _report():
    """Print what the inbox lacks, or has and should not have."""
    for sentence in [*check(), *refused.check()]:
        print(f"odl: {sentence}", file=sys.stderr, flush=True)


def today():
    """Return the day of the clock, as periods are called."""
    return time.strftime("%Y-%m-%d", time.gmtime())


def alone():
    """Hold the inbox of the working folder; `BusyError` where another watch has it."""
    return processes.alone(f"{FOLDER}/.lock", todo="end that watch, or take another folder")


def settle(dry=False):
    """Give files that a watch left behind their names, unless one is at work, and list the inbox as a source.

    `odl run` begins with this; where it is dry, all stays. A period that has not begun by the clock stays hidden: once
    it is learned, what comes before it would be late. Return whether there is something of it to do.
    """
    names = (NAME.fullmatch(os.path.basename(path)) for path in glob.glob(f"{FOLDER}/.*.jsonl"))
    hidden = [match for match in names if match and match[1] <= today()]
    if not dry and (paths("*.jsonl*") or glob.glob(f"{FOLDER}/.*.sums") or os.path.exists(refused.PATH)):
        with contextlib.suppress(BusyError), alone():
            inbox = Inbox()
            for label in inbox.begun():
                inbox.publish(label)
    own = any(NAME.fullmatch(os.path.basename(path)) for path in glob.glob(SOURCE))  # not just a folder of that name
    return (own and enlist(dry)) or bool(hidden)


def enlist(dry=False):
    """Write the inbox into the sources of odl.yaml, unless it is `dry`; return whether it did not stand there.

    Raises
    ------
    ConfigError
        If they are no list in one line.
    """
    if SOURCE in (project.read(".").get("sources") or ()):
        return False
    with open(project.FILE, encoding="utf-8") as file:
        text = file.read()
    written, n = re.subn(r"(?m)^(sources: \[.*)\][ \t]*$", rf'\1, "{SOURCE}"]', text)
    if n != 1:
        todo = f"write '{SOURCE}' into sources"
        raise ConfigError(f"{project.FILE} does not read the inbox, and its sources are no line", "that list", todo)
    if not dry:
        with replacing(project.FILE) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(written)
    return True


def _sync():
    """Wait until the disk has the names of the files."""
    descriptor = os.open(FOLDER, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
