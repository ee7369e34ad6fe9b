"""Tab-separated tables and JSON maps between steps, with digests that detect changes.

The last column of a table, ``digest``, detects edited, moved, added and missing rows. It contains
the first 16 hexadecimal digits of a sha256 of the column names, the number of rows, the position of
the row and its cells. In a table without rows, the name of this column contains a digest, which
detects that all rows were deleted.

The last key of a JSON map, ``digest``, has a sha256 of the JSON text of the other keys and values,
in the order of the file and without white space, which may be changed.

Only the standard library is used, since the rules of the workflow import this module.
"""

import hashlib
import json
import math
import numbers
import os
from collections.abc import Mapping, Sequence
from typing import Any

from odl.errors import StorageError, changed
from odl.files.atomic import replacing
from odl.files.escaping import visible

DIGEST = "digest"  # column of a table, and key of a JSON map, that contains the digest
DIGEST_DIGITS = 16  # hexadecimal digits of a digest in a table
# Columns of text. Cells of other columns become numbers if possible, and nan if they are empty.
TEXT_COLUMNS = {
    "run", "corpus", "protocol", "algorithm", "first_time", "last_time", "parameters", "source",
    "phase",
}  # fmt: skip


def _cell(value):
    """Return the text of a cell; "" for None and nan."""
    if value is None or value != value:
        return ""
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return f"{value:.6g}" if 0 < abs(value) < 1e-3 else f"{value:.6f}"
    return " ".join(visible(str(value)).split())


def write_table(
    path: str | os.PathLike, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None
) -> None:
    """Write rows as tab-separated text with digests, atomically and with reproducible bytes.

    Parameters
    ----------
    path : path-like
    rows : list of dict
        Missing keys and nan become empty cells. Floats get six decimals.
    columns : list of str, optional
        Names of the columns, by default the keys of the first row. Required if there are no rows.

    Examples
    --------
    >>> import os, tempfile
    >>> from odl.files.tables import read_table, write_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "auc.tsv")
    >>> write_table(path, [{"t": 1, "auc": 0.5}, {"t": 2, "auc": float("nan")}])
    >>> len(read_table(path))
    2
    """
    columns = list(columns or rows[0])
    text = sealed(columns, [[_cell(row.get(name)) for name in columns] for row in rows])
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def sealed(columns, lines):
    """Return the text of a table with a column of digests; `lines` has the cells of each row."""
    digests = _digests(columns, lines)
    last = DIGEST if lines else f"{DIGEST}-{digests[0]}"
    rows = [[*columns, last]]
    rows += [[*line, digest] for line, digest in zip(lines, digests, strict=False)]
    return "\n".join(map("\t".join, rows)) + "\n"


def _digests(columns, lines):
    """Return one digest per row or, for a table without rows, a digest of the header."""
    head = hashlib.sha256(("\t".join(columns) + f"\n{len(lines)}\n").encode())
    digests = []
    for position, line in enumerate(lines or [()]):
        sha = head.copy()
        sha.update((f"{position}\n" + "\t".join(line)).encode())
        digests.append(sha.hexdigest()[:DIGEST_DIGITS])
    return digests


def read_cells(path, delete=None):
    """Read and verify the texts of the cells in a table that `write_table` wrote.

    Parameters
    ----------
    path : path-like
    delete : path-like, optional
        Path that an error message says to delete; by default `path`.

    Returns
    -------
    columns : list of str
    rows : list of list of str

    Raises
    ------
    StorageError
        If the file is missing, is not a table with digests, or was changed after it was written.
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise StorageError(f"{path} does not exist", "a table", "run the step that writes it")
    todo = f"delete {os.fspath(delete or path)} and run the same command again"
    try:
        with open(path, encoding="utf-8", newline="") as file:
            lines = [line.split("\t") for line in file.read().removesuffix("\n").split("\n")]
    except (UnicodeDecodeError, IsADirectoryError) as error:
        raise StorageError(
            f"{path} is not a table ({error})", "tab-separated UTF-8 text", todo
        ) from error
    (*columns, last), rows = lines[0], lines[1:]
    if any(len(line) != len(lines[0]) for line in rows):
        raise StorageError(f"{path} is not a complete table", "rows of equal length", todo)
    if last != DIGEST and not last.startswith(f"{DIGEST}-"):
        raise StorageError(
            f"{path} has no digests", f"a table with the last column '{DIGEST}'", todo
        )
    cells = [line[:-1] for line in rows]
    stored = [line[-1] for line in rows] if rows else [last.removeprefix(f"{DIGEST}-")]
    digests = zip(_digests(columns, cells), stored, strict=True)
    for position, (digest, stored_digest) in enumerate(digests):
        if digest != stored_digest:
            raise changed(path, f"row {position + 1}" if rows else "its header", delete)
    if rows and last != DIGEST:
        raise changed(path, "its header", delete)
    return columns, cells


def _value(text):
    """Convert the text of a cell to an int or a float if possible."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def read_table(
    path: str | os.PathLike, columns: Sequence[str] = (), delete: str | os.PathLike | None = None
) -> list[dict[str, Any]]:
    """Read and verify a table that `write_table` wrote.

    Empty cells become nan, except in `TEXT_COLUMNS`.

    Parameters
    ----------
    path : path-like
    columns : sequence of str, optional
        Required columns. They must contain numbers only, except for `TEXT_COLUMNS`.
    delete : path-like, optional
        As for `read_cells`.

    Returns
    -------
    list of dict
        Rows, without the digests.

    Raises
    ------
    StorageError
        As for `read_cells`, and if a required column is missing or contains text.

    Examples
    --------
    >>> import os, tempfile
    >>> from odl.files.tables import read_table, write_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "auc.tsv")
    >>> write_table(path, [{"t": 1, "auc": 0.5}, {"t": 2, "auc": float("nan")}])
    >>> read_table(path)
    [{'t': 1, 'auc': 0.5}, {'t': 2, 'auc': nan}]
    """
    names, lines = read_cells(path, delete)
    path = os.fspath(path)
    todo = f"delete {os.fspath(delete or path)} and run the same command again"
    if missing := [name for name in columns if name not in names]:
        raise StorageError(
            f"{path} has no column {', '.join(missing)}", f"the columns {', '.join(columns)}", todo
        )
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    for name in names:
        for row in rows if name not in TEXT_COLUMNS else ():
            row[name] = _value(row[name]) if row[name] else math.nan
            if name in columns and isinstance(row[name], str):
                raise StorageError(
                    f"{path} has {row[name]!r} in the column {name}", "a number", todo
                )
    return rows


def digest_of(content):
    """Return the digest of a JSON map: the sha256 of its JSON text without white space."""
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def write_json(path, content):
    """Write a map with its digest as JSON, atomically and with reproducible bytes.

    The map must not have a key ``digest``.
    """
    if DIGEST in content:
        raise ValueError(f"{DIGEST} is the key of the digest")
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps({**content, DIGEST: digest_of(content)}, indent=1) + "\n")


def read_json(path, delete=None):
    """Read and verify a map that `write_json` wrote; return it without the digest.

    Parameters
    ----------
    path : path-like
    delete : path-like, optional
        Path that an error message says to delete; by default `path`.

    Raises
    ------
    StorageError
        If the file is missing, is not a JSON map with a digest, or was changed after it was
        written.
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise StorageError(f"{path} does not exist", "a JSON file", "run the step that writes it")
    todo = f"delete {os.fspath(delete or path)} and run the same command again"
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        stored = content.pop(DIGEST)
        digest = digest_of(content)
    except (ValueError, RecursionError, IsADirectoryError) as error:
        raise StorageError(
            f"{path} cannot be read ({error})", "an unchanged file that odl wrote", todo
        ) from error
    except (AttributeError, KeyError, IndexError, TypeError) as error:
        raise StorageError(
            f"{path} has no digest", f"a JSON map with the key '{DIGEST}'", todo
        ) from error
    if digest != stored:
        raise changed(path, "", delete)
    return content
