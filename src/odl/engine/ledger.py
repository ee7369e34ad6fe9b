"""Ledger of a folder: what its files hold and were made from, remembered by size, time and inode."""

import contextlib
import hashlib
import json
import os
from typing import NamedTuple

from odl.errors import OdlError
from odl.files import provenance
from odl.files.atomic import replacing

FORMAT = 1  # of the ledger file


class Entry(NamedTuple):
    """What is known of a file.

    Attributes
    ----------
    digest : str
        Of its content.
    origin : str
        Digest of the record of what it was made from, without the stamp of the code; "" without a record.
    code : str
        That stamp.
    beside : list of str
        Digests of the files that its step finished before it.
    """

    digest: str
    origin: str = ""
    code: str = ""
    beside: tuple = ()


def entry_of(digest, record=None):
    """Return the entry of a file with this content and record."""
    if not record:
        return Entry(digest)
    return Entry(digest, origin_of(record), str(record.get("code", "")), tuple(record.get("beside", ())))


def origin_of(record):
    """Return the digest of what a record says of step, settings and inputs."""
    return provenance.joint([provenance.text_of({key: record.get(key) for key in ("step", "settings", "inputs")})])


class Ledger:
    """What is known of the files of a folder.

    Parameters
    ----------
    path : path-like
        Where it is kept; whatever is wrong with that file, all is read again.
    check : bool
        Whether every file is read and verified, whatever is remembered.
    """

    def __init__(self, path, check=False):
        self.path, self.known, self.told, self.check = os.fspath(path), {}, {}, check
        self.changed, self.unsynced = False, set()
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
            with open(self.path, encoding="utf-8") as file:
                stored = json.load(file)
            if stored["form"] == FORMAT:
                self.known, self.told = stored["files"], stored["told"]

    def entry(self, path):
        """Return the entry of a file; None where it is not there, or is damaged."""
        try:
            state = _state(path)
        except OSError:
            return None
        remembered = self.known.get(path)
        if remembered is not None and remembered[0] == state and not self.check:
            return Entry(*remembered[1])
        try:
            entry = entry_of(*read(path))
        except (OdlError, OSError):
            return None
        self._keep(path, state, entry)
        return entry

    def put(self, path, digest, record=None):
        """Take note of a file that was just written."""
        self._keep(path, _state(path), entry_of(digest, record))

    def _keep(self, path, state, entry):
        if self.known.get(path) != [state, list(entry)]:
            self.known[path], self.changed = [state, list(entry)], True
            self.unsynced.add(path)

    def tell(self, name, value):
        """Keep a text that follows from files; `told` gives it back."""
        if self.told.get(name) != value:
            self.told[name], self.changed = value, True

    def digest(self, path):
        """Return the digest of the content of a file; None where it is not there."""
        entry = self.entry(path)
        return entry and entry.digest

    def before(self, path):
        """Return the digest that a file had when it was read last, "" where nothing is known of it."""
        return self.known[path][1][0] if path in self.known else ""

    def forget(self, path):
        """Delete a file, and what is known of it."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.changed = self.known.pop(path, None) is not None or self.changed

    def save(self):
        """Write what is known, of files that are there; after a power loss none is trusted that the disk has not."""
        if not self.changed:
            return
        for path in self.unsynced:
            _sync(path)
        self.unsynced.clear()
        stored = {"form": FORMAT, "files": self.known, "told": self.told}
        with replacing(self.path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(json.dumps(stored, separators=(",", ":")))  # `dump` takes ten times as long
            file.flush()
            os.fsync(file.fileno())
        self.changed = False


def _state(path):
    facts = os.stat(path)
    return [facts.st_size, facts.st_mtime_ns, facts.st_ino]


def _sync(path):
    """Wait until a file is on the disk."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        os.fsync(file.fileno())


def read(path, whole=True):
    """Return the digest of the content of a file, and the record that it holds, None for none.

    Parameters
    ----------
    path : path-like
    whole : bool
        Whether an HDF5 file is verified as a whole.

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
