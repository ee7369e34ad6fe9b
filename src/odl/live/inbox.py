"""The inbox of a folder: files of JSON lines with the documents that a watch has accepted.

The inbox is the journal of a watch and a source of `odl run`.

The file of a period is hidden (its name begins with a dot) while the period is open, and renamed
when the period ends. So `odl run` reads complete periods only. Next to each file, `.{file}.sums`
has the digests of its lines, written after the lines are on the disk. `check` compares them and
reports accepted documents that are missing.
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
from odl.files import linesums, listing
from odl.files.atomic import replacing
from odl.live import refused
from odl.live.inboxsums import (
    DAMAGED_FOLDER,
    FILE_NAME,
    FOLDER,
    NEXT_SUFFIX,
    Sums,
    check,
    lines_of,
    paths,
    read_sums,
    rewrite,
    sums_of,
)

SOURCE = f"{FOLDER}/*.jsonl*"  # pattern of the published files, packed ones included
ANSWER_KEY = "odl"  # key of a line with the answer that was given to the document


class Inbox:
    """Files of accepted documents in the working folder. The caller must hold the lock (`alone`).

    Each open period has a hidden file, to which documents are appended.

    Attributes
    ----------
    open : dict
        Label of an open period -> its open file.
    sums : dict
        Label of an open period -> `Sums`, the digests of the lines in its file.
    """

    def __init__(self):
        os.makedirs(FOLDER, exist_ok=True)
        self.open, self.sums = {}, {}
        _report()
        for path in sorted(glob.glob(f"{FOLDER}/.*.jsonl")):
            if match := FILE_NAME.fullmatch(os.path.basename(path)):
                self.open[match[1]] = file = open(path, "ab", buffering=0)  # noqa: SIM115 - it stays open
                self.sums[match[1]] = Sums(file.name)

    def labels(self):
        """Return the labels of the periods with a hidden file, oldest first."""
        return sorted(self.open)

    def begun(self):
        """Return the labels of periods with a hidden file that begin by today, oldest first."""
        return [label for label in self.labels() if label <= today()]

    def periods(self):
        """Return the labels of all periods with a file, oldest first."""
        matches = (FILE_NAME.fullmatch(name) for name in os.listdir(FOLDER))
        return sorted({match[1] for match in matches if match})

    def lines(self, label):
        """Yield the stored documents of a period, dicts of column -> value."""
        for path in sorted(paths(f"{label}-*.jsonl*")):
            with listing.opened(path) as file:
                yield from map(json.loads, file)

    def append(self, lines):
        """Append lines to the files of their periods and wait until they are on the disk.

        If a file cannot be written (the disk may be full), all files are truncated to the lengths
        that they had before the call.

        Parameters
        ----------
        lines : dict of str to list of bytes
            Label of a period -> lines.
        """
        sizes = []
        try:
            for label, new_lines in lines.items():
                file = self._file(label)
                sizes.append((file, os.fstat(file.fileno()).st_size))
                unwritten = memoryview(b"".join(new_lines))
                while unwritten:
                    unwritten = unwritten[file.write(unwritten) :]
                os.fsync(file.fileno())
        except OSError as error:
            for file, size in sizes:
                with contextlib.suppress(OSError):
                    file.truncate(size)
            error.filename = error.filename or FOLDER
            raise
        for label, new_lines in lines.items():
            self.sums[label].append(new_lines)

    def _file(self, label):
        """Return the open file of a period; create the file if the period has none."""
        if label not in self.open:
            numbers = [
                int(FILE_NAME.fullmatch(os.path.basename(path))[2]) for path in paths(f"{label}-*")
            ]
            path = f"{FOLDER}/.{label}-{max(numbers, default=0) + 1:04d}.jsonl"
            self.open[label] = open(path, "ab", buffering=0)  # noqa: SIM115 - it stays open
            self.sums[label] = Sums(path)
            _sync()
        return self.open[label]

    def publish(self, label):
        """Rename the hidden file of a period so that `odl run` reads it; delete an empty file.

        Returns
        -------
        path : str
            Path of the file after renaming, also if it was deleted.
        n_lines : int
            Number of documents in the file.
        """
        with self.open.pop(label) as file:
            pass
        sums, path = self.sums.pop(label), os.path.join(FOLDER, os.path.basename(file.name)[1:])
        if os.path.getsize(file.name) or sums.written:
            sums.close()
            os.rename(file.name, path)
        else:
            os.unlink(file.name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(sums.path)
        _sync()
        return path, len(sums.written)


def remove(name):
    """Remove a document from all files of the inbox, also from the copies of damaged files.

    A file is rewritten only if it contains the document. Lines of the copies may be incomplete
    JSON, so each of their lines in which the id occurs is removed.

    Parameters
    ----------
    name : str
        Id of the document.

    Raises
    ------
    BusyError
        If a watch is running, which appends to these files.
    """
    if not os.path.isdir(FOLDER):
        return
    with alone():
        _report()
        for path in paths("*.jsonl*"):
            lines, _ = lines_of(path)
            remaining = [
                line for line in lines if json.loads(line)[ANSWER_KEY]["answer"]["id"] != name
            ]
            if len(remaining) < len(lines):
                _replace_lines(path, lines, remaining)
        quoted_name = json.dumps(name).encode()
        for path in glob.glob(f"{DAMAGED_FOLDER}/*.jsonl*"):
            lines, _ = lines_of(path)
            remaining = [line for line in lines if quoted_name not in line]
            if len(remaining) < len(lines):
                rewrite(path, remaining)


def _replace_lines(path, lines, remaining):
    """Rewrite a file with the remaining lines, and its digests with those of these lines.

    The new digests are written first, under another name. After a kill, `check` completes the
    replacement.
    """
    removed = {*map(linesums.digest_of, lines)} - {*map(linesums.digest_of, remaining)}
    with contextlib.suppress(StorageError):  # `check` has reported damaged digests
        written, closed = read_sums(path) or ([], False)
        remaining_digests = [digest for digest in written if digest not in removed]
        linesums.write(sums_of(path) + NEXT_SUFFIX, remaining_digests, closed)
    rewrite(path, remaining)
    with contextlib.suppress(FileNotFoundError):
        os.replace(sums_of(path) + NEXT_SUFFIX, sums_of(path))


def _report():
    """Check the files of the inbox, repair them, and print what was wrong."""
    for sentence in [*check(), *refused.check()]:
        print(f"odl: {sentence}", file=sys.stderr, flush=True)


def today():
    """Return the present day in UTC in the form of the label of a period, YYYY-MM-DD."""
    return time.strftime("%Y-%m-%d", time.gmtime())


def alone():
    """Return a context manager that locks the inbox; raise `BusyError` if a watch is running."""
    return processes.alone(f"{FOLDER}/.lock", todo="end that watch, or take another folder")


def settle(dry=False):
    """Publish files that a killed watch left hidden, and list the inbox as a source.

    `odl run` begins with this call. If a watch is running, nothing is published. Files of periods
    after today remain hidden. If such a period were learned, documents of the days before it would
    all be late.

    Parameters
    ----------
    dry : bool
        Whether to change nothing.

    Returns
    -------
    bool
        Whether there was something to publish or to list.
    """
    matches = [FILE_NAME.fullmatch(os.path.basename(path)) for path in paths("*.jsonl")]
    has_hidden = any(match[0].startswith(".") and match[1] <= today() for match in matches)
    has_digests = glob.glob(f"{FOLDER}/.*.sums") or os.path.exists(refused.PATH)
    if not dry and (paths("*.jsonl*") or has_digests):
        with contextlib.suppress(BusyError), alone():
            inbox = Inbox()
            for label in inbox.begun():
                inbox.publish(label)
    # The user may have another folder named inbox.
    has_inbox = any(FILE_NAME.fullmatch(os.path.basename(path)) for path in glob.glob(SOURCE))
    return (has_inbox and enlist(dry)) or has_hidden


def enlist(dry=False):
    """Add the inbox to `sources` in odl.yaml; return whether it was missing.

    With `dry`, nothing is written.

    Raises
    ------
    ConfigError
        If `sources` is not a list in one line.
    """
    if SOURCE in (project.read(".").get("sources") or ()):
        return False
    with open(project.FILE, encoding="utf-8") as file:
        text = file.read()
    written, n = re.subn(r"(?m)^(sources: \[.*)\][ \t]*$", rf'\1, "{SOURCE}"]', text)
    if n != 1:
        raise ConfigError(
            f"{project.FILE} does not read the inbox, and its sources are not a list in one line",
            "a list in one line, such as sources: [a.jsonl]",
            f"write '{SOURCE}' into sources",
        )
    if not dry:
        with replacing(project.FILE) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(written)
    return True


def _sync():
    """Wait until new names of files in the inbox are on the disk."""
    descriptor = os.open(FOLDER, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
