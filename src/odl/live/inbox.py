"""The inbox of a folder: accepted documents as files of JSON lines, the journal and the source of `odl run` at once.

A period has one file, hidden while it grows: it gets its name, at once, when the period has ended, so that a run
reads whole periods only.
"""

import contextlib
import glob
import gzip
import json
import mmap
import os
import re

from odl.config import project
from odl.engine import processes
from odl.errors import BusyError, ConfigError
from odl.files.atomic import replacing

FOLDER = "inbox"
SOURCE = f"{FOLDER}/*.jsonl*"  # packed ones too
NAME = re.compile(r"\.?(\d{4}-\d\d-\d\d)-(\d{4})\.jsonl(?:\.gz)?")
SLOT = "odl"  # key of a line under which what was answered stands


class Inbox:
    """The inbox of the working folder; one process at a time holds it (`alone`)."""

    def __init__(self):
        os.makedirs(FOLDER, exist_ok=True)
        self.open = {}
        for path in sorted(glob.glob(f"{FOLDER}/.*.jsonl")):
            if match := NAME.fullmatch(os.path.basename(path)):
                file = open(path, "r+b", buffering=0)  # noqa: SIM115 - it stays open
                if os.path.getsize(path):
                    with mmap.mmap(file.fileno(), 0) as text:
                        whole = text.rfind(b"\n") + 1
                    file.truncate(whole)  # a line that a kill has cut was never answered
                file.seek(0, os.SEEK_END)
                self.open[match[1]] = file

    def labels(self):
        """Return the periods of the files that still grow, oldest first."""
        return sorted(self.open)

    def last_before(self, label):
        """Return the last period before one of which there are documents, "" for none."""
        names = (NAME.fullmatch(name) for name in os.listdir(FOLDER))
        return max((match[1] for match in names if match and match[1] < label), default="")

    def lines(self, label):
        """Yield the documents of a period that were accepted, maps of column to value."""
        for path in sorted(_paths(f"{label}-*.jsonl")):
            with open(path, encoding="utf-8") as file:
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
                sizes.append((file, file.tell()))
                rest = memoryview(b"".join(new))
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
        except OSError as error:
            for file, size in sizes:
                with contextlib.suppress(OSError):
                    file.truncate(size)
                    file.seek(size)
            error.filename = error.filename or FOLDER
            raise

    def _file(self, label):
        if label not in self.open:
            numbers = [int(NAME.fullmatch(os.path.basename(path))[2]) for path in _paths(f"{label}-*")]
            path = f"{FOLDER}/.{label}-{max(numbers, default=0) + 1:04d}.jsonl"
            self.open[label] = open(path, "ab", buffering=0)  # noqa: SIM115 - it stays open
            _sync()
        return self.open[label]

    def publish(self, label):
        """Give the file of a period its name, by which `odl run` reads it."""
        with self.open.pop(label) as file:
            pass
        if os.path.getsize(file.name):
            os.rename(file.name, os.path.join(FOLDER, os.path.basename(file.name)[1:]))
        else:
            os.unlink(file.name)
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
        for path in _paths("*.jsonl*"):
            opened = gzip.open if path.endswith(".gz") else open
            with opened(path, "rb") as file:
                lines = file.readlines()
            whole = (line for line in lines if line.endswith(b"\n"))  # one that a kill has cut was never answered
            kept = [line for line in whole if json.loads(line)[SLOT]["answer"]["id"] != name]
            if len(kept) < len(lines):
                with replacing(path) as temporary, opened(temporary, "wb") as file:
                    file.writelines(kept)


def alone():
    """Hold the inbox of the working folder; `BusyError` where another watch has it."""
    return processes.alone(f"{FOLDER}/.lock", todo="end that watch, or take another folder")


def settle(dry=False):
    """Give files that a watch left behind their names, unless one is at work, and list the inbox as a source.

    `odl run` begins with this; where it is dry, all stays. Return whether there is something of it to do.
    """
    hidden = glob.glob(f"{FOLDER}/.*.jsonl")
    if hidden and not dry:
        with contextlib.suppress(BusyError), alone():
            inbox = Inbox()
            for label in inbox.labels():
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


def _paths(pattern):
    """Return files of the inbox, hidden ones too."""
    paths = (path for hidden in ("", ".") for path in glob.glob(f"{FOLDER}/{hidden}{pattern}"))
    return [path for path in paths if NAME.fullmatch(os.path.basename(path))]


def _sync():
    """Wait until the disk has the names of the files."""
    descriptor = os.open(FOLDER, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
