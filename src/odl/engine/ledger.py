"""Ledger of a folder: digests and provenance of its files, stored in one JSON file.

With the ledger, a run need not read unchanged files. An entry is valid while the size, modification
time and inode of its file do not change.
"""

import contextlib
import hashlib
import json
import os
from typing import NamedTuple

from odl.errors import OdlError
from odl.files import provenance
from odl.files.atomic import replacing

FORMAT = 1  # version of the ledger file


class Entry(NamedTuple):
    """Entry of the ledger for one file.

    Attributes
    ----------
    digest : str
        Digest of the content.
    origin : str
        Digest of the step, settings and inputs in the provenance record; "" without a record.
    code : str
        Digest of the code that wrote the file.
    earlier_outputs : tuple of str
        Digests of the files that the same call of the step wrote before this file.
    """

    digest: str
    origin: str = ""
    code: str = ""
    earlier_outputs: tuple = ()


def entry_of(digest, record=None):
    """Return the entry of a file with the given digest and provenance record (or None)."""
    if not record:
        return Entry(digest)
    return Entry(
        digest, origin_of(record), str(record.get("code", "")), tuple(record.get("beside", ()))
    )


def origin_of(record):
    """Return a digest of the step, the settings and the inputs in a provenance record."""
    return provenance.joint(
        [provenance.text_of({key: record.get(key) for key in ("step", "settings", "inputs")})]
    )


class Ledger:
    """Digests of a folder's files (`Entry`), and facts that were computed from the files.

    Parameters
    ----------
    path : path-like
        File of the ledger. If it cannot be read, the ledger is empty at first.
    check : bool
        Whether to read and verify every file, even if the ledger has an entry for it.

    Attributes
    ----------
    facts : dict
        Values that follow from files, by name (`set_fact`).
    """

    def __init__(self, path, check=False):
        self.path, self.entries, self.facts, self.check = os.fspath(path), {}, {}, check
        self.changed, self.unsynced = False, set()
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
            with open(self.path, encoding="utf-8") as file:
                stored = json.load(file)
            if stored["form"] == FORMAT:
                self.entries, self.facts = stored["files"], stored["told"]

    def entry(self, path):
        """Return the entry of a file, or None if it is missing or damaged."""
        try:
            state = _state(path)
        except OSError:
            return None
        stored = self.entries.get(path)
        if stored is not None and stored[0] == state and not self.check:
            return Entry(*stored[1])
        try:
            entry = entry_of(*read(path))
        except (OdlError, OSError):
            return None
        self._store(path, state, entry)
        return entry

    def put(self, path, digest, record=None):
        """Store the entry of a file that was just written."""
        self._store(path, _state(path), entry_of(digest, record))

    def _store(self, path, state, entry):
        """Store the entry of a file whose size, time and inode are `state`."""
        if self.entries.get(path) != [state, list(entry)]:
            self.entries[path], self.changed = [state, list(entry)], True
            self.unsynced.add(path)

    def set_fact(self, name, value):
        """Store a JSON value that follows from files, in `facts`."""
        if self.facts.get(name) != value:
            self.facts[name], self.changed = value, True

    def digest(self, path):
        """Return the digest of a file's content, or None if the file is missing or damaged."""
        entry = self.entry(path)
        return entry and entry.digest

    def before(self, path):
        """Return the digest that a file had when it was last read, or "" if it was never read."""
        return self.entries[path][1][0] if path in self.entries else ""

    def forget(self, path):
        """Delete a file and its entry."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.changed = self.entries.pop(path, None) is not None or self.changed

    def save(self):
        """Write the ledger if it changed.

        The described files are flushed to disk first, so that the ledger is true after a power
        loss.
        """
        if not self.changed:
            return
        for path in self.unsynced:
            _sync(path)
        self.unsynced.clear()
        stored = {"form": FORMAT, "files": self.entries, "told": self.facts}
        with replacing(self.path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(json.dumps(stored, separators=(",", ":")))  # `dump` takes ten times as long
            file.flush()
            os.fsync(file.fileno())
        self.changed = False


def _state(path):
    """Return [size, modification time in ns, inode] of a file."""
    stat = os.stat(path)
    return [stat.st_size, stat.st_mtime_ns, stat.st_ino]


def _sync(path):
    """Flush a file to disk."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        os.fsync(file.fileno())


def read(path, whole=True):
    """Read a file; return (digest of its content, its provenance record or None).

    Parameters
    ----------
    path : str
    whole : bool
        Whether to verify the digests of all arrays of an HDF5 file. Otherwise only its attributes
        are verified.

    Raises
    ------
    StorageError
        If an HDF5 file is damaged.
    OSError
        If a file cannot be read.
    """
    if path.endswith(".h5"):
        from odl.files import verify

        attributes = verify.content(path, arrays=whole)
        return str(attributes["digest"]), provenance.of_attributes(attributes)
    if path.endswith(".html"):
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return provenance.of_page(file.read())
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), None
