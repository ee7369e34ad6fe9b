"""Documents that could not be read: their form in files, a summary, and a table for the user."""

from pathlib import Path
from typing import NamedTuple

from odl.files import storage
from odl.files.atomic import replacing
from odl.files.escaping import clean, guarded, visible

REASON_CHARACTERS = 200  # longer reasons are cut to this number of characters
REST_PREFIX = "after "  # start of `place` if the end of a file was not read
DAMAGED_BUT_READ = "read"  # `place` if documents are damaged, but were read


class Aside(NamedTuple):
    """A document, a file, or the end of a file that a reader set aside instead of using it.

    Attributes
    ----------
    file : str
        Name of the file.
    place : str
        "line 3" for the document in this line, "after line 3" for the end of the file, "" for the
        entire file, "read" for damaged documents that were used nevertheless.
    reason : str
        Reason on one line.
    """

    file: str
    place: str
    reason: str


def aside(file, place, reason):
    """Return an `Aside` whose reason is on one line and cut to `REASON_CHARACTERS`."""
    return Aside(file, place, " ".join(clean(str(reason)).split())[:REASON_CHARACTERS])


def account(entries, unlisted=0):
    """Return a sentence with the numbers of entries: "3 documents and 1 file were set aside".

    Damaged files that were read are counted too: "1 damaged file was read". The sentence is "" if
    there are no entries.

    Parameters
    ----------
    entries : iterable of Aside
    unlisted : int
        Number of further documents that were set aside, but have no entry.
    """
    unread = [entry for entry in entries if entry.place != DAMAGED_BUT_READ]
    damaged_files = {entry.file for entry in entries if entry.place == DAMAGED_BUT_READ}
    n_all = len(unread) + unlisted
    n_files = sum(not entry.place for entry in unread)
    n_ends = sum(entry.place.startswith(REST_PREFIX) for entry in unread)
    counts = (
        (n_all - n_files - n_ends, "document", "documents"),
        (n_files, "file", "files"),
        (n_ends, "end of a file", "ends of files"),
    )
    parts = [f"{n:,} {singular if n == 1 else plural}" for n, singular, plural in counts if n]
    clauses = []
    if parts:
        clauses.append(f"{' and '.join(parts)} {'was' if n_all == 1 else 'were'} set aside")
    if n := len(damaged_files):
        clauses.append(f"{n:,} damaged file{'s' * (n > 1)} {'was' if n == 1 else 'were'} read")
    return "; ".join(clauses)


def write(file, entries):
    """Store the entries in an open HDF5 file or group, if there are any."""
    if entries:
        group = file.create_group("set_aside")
        for name, values in zip(Aside._fields, zip(*entries, strict=True), strict=True):
            storage.write_strings(group, name, list(values))


def read(file):
    """Read the entries that `write` stored."""
    if "set_aside" not in file:
        return []
    columns = (storage.read_strings(file["set_aside"], name) for name in Aside._fields)
    return [Aside(*entry) for entry in zip(*columns, strict=True)]


def write_table(path, entries):
    """Write the entries as a table for the user; without entries, remove the table."""
    path = Path(path)
    if not entries:
        path.unlink(missing_ok=True)
        return
    rows = [
        Aside._fields,
        *([guarded(visible(" ".join(cell.split()))) for cell in entry] for entry in entries),
    ]
    text = "".join("\t".join(row) + "\n" for row in rows)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        with replacing(path) as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
