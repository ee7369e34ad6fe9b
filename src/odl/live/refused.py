"""List of the documents that a watch refused, in `inbox/.refused`, for the table of `odl run`.

The file contains one record per refused document, in the format of `odl.files.linesums`: source,
location and reason. A document that is sent again with equal bytes is not listed twice. The record
of a document is deleted when a document with the same id is accepted.
"""

import contextlib
import json
import os

from odl.corpora.collection import forgotten_as
from odl.errors import StorageError
from odl.files import linesums, setaside
from odl.files.atomic import replacing
from odl.live import inboxsums

PATH = f"{inboxsums.FOLDER}/.refused"
MAX_LISTED = 10_000  # entries that are stored; older ones are only counted
TODO = f"delete {PATH} to start a new list, which loses no document"


class RefusedList:
    """The refused documents of the working folder."""

    def __init__(self):
        self.older, stored = read()
        self.entries = {entry[-1]: entry for entry in stored}  # digest of the bytes -> entry
        # Number of records in the file, to number the next one; 0 if the file must be rewritten.
        self.written = 0

    def add(self, documents):
        """Add refused documents to the entries and to the file.

        Above `MAX_LISTED` entries, only the newest half is retained, and the number `older` of
        documents without an entry grows.

        Parameters
        ----------
        documents : list of tuple
            Source, location, reason, id ("" if it has none) and bytes of each.
        """
        new_entries = {}
        for source, location, reason, identity, line in documents:
            content = linesums.digest_of(line)
            if content not in self.entries:
                entry = setaside.aside(source, location, reason)
                new_entries[content] = [*entry, forgotten_as(identity) if identity else "", content]
        self.entries |= new_entries
        if len(self.entries) > MAX_LISTED:
            n_retained = MAX_LISTED // 2
            self.older += len(self.entries) - n_retained
            self.entries = dict(list(self.entries.items())[-n_retained:])
            self.written = 0
        if new_entries and self.written:
            text = "".join(
                linesums.record(self.written + number, json.dumps(new_entry))
                for number, new_entry in enumerate(new_entries.values())
            )
            with open(PATH, "a", encoding="ascii") as file:
                file.write(text)
            self.written += len(new_entries)
        elif new_entries:
            self._rewrite()

    def accept(self, ids):
        """Delete the entries of refused documents whose id is accepted now, also in the file.

        Parameters
        ----------
        ids : list of str
            Ids of the accepted documents.
        """
        if not self.entries:
            return  # skips the digests below; a watch calls this method for each document
        accepted = {forgotten_as(identity) for identity in ids}
        remaining = {
            content: entry
            for content, entry in self.entries.items()
            if entry[3] not in accepted  # field 3: digest of the id
        }
        if len(remaining) < len(self.entries):
            self.entries = remaining
            self._rewrite()

    def _rewrite(self):
        """Write all entries, after a record with the number of older ones."""
        records = [str(self.older), *map(json.dumps, self.entries.values())]
        with replacing(PATH) as temporary, open(temporary, "w", encoding="ascii") as file:
            file.write(linesums.text_of(records, closed=False))
        self.written = len(records)


def read():
    """Return the number of older documents that are not listed, and the entries.

    Raises
    ------
    StorageError
        If the file was changed after it was written.
    """
    records, _ = linesums.read(PATH, TODO) or ([], False)
    with contextlib.suppress(ValueError, RecursionError):
        older, *entries = map(json.loads, records or ["0"])
        if isinstance(older, int) and all(map(_is_entry, entries)):
            return older, entries
    raise StorageError(f"{PATH} was changed after it was written", "an unchanged list", TODO)


def _is_entry(entry):
    """Return whether a JSON value has the form of an entry: five texts."""
    return (
        isinstance(entry, list) and len(entry) == 5 and all(isinstance(part, str) for part in entry)
    )


def read_entries():
    """Return (entries as `odl.files.setaside.Aside`, number of older documents not listed)."""
    older, entries = read()
    return [setaside.Aside(*entry[:3]) for entry in entries], older


def check(mend=True):
    """Return [warning] if the stored records were changed after they were written, else [].

    With `mend`, the changed file is moved to the folder of damaged files, and a new list begins.
    """
    try:
        read()
    except StorageError as error:
        if not mend:
            return [str(error)]
        copy = inboxsums.copy_damaged(PATH)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(PATH)
        return [
            f"{error.given}; it was moved to {copy}, and a new list starts, which loses no document"
        ]
    return []
