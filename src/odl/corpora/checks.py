"""Helpers of readers: checks of sources, options and content; reading of compressed files."""

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from odl.config import schema
from odl.errors import DataError
from odl.files.documents import Documents, one_line
from odl.text import encoder
from odl.text.tokens import count_words

FETCH = "download it again, or replace it by the right file"  # advice for a damaged download
MAX_LINE = 1 << 26  # characters in a line; longer lines would fill the memory
MAX_MEMBER_BYTES = 1 << 28  # bytes of a file in an archive


class Unreadable(str):
    """Reason why a document cannot be read. Readers yield it instead of a row.

    Attributes
    ----------
    todo : str
        Advice; "" if the reason contains it.
    """

    todo: str

    def __new__(cls, reason: object, todo: str = "") -> "Unreadable":
        """Return a reason, or the `Unreadable` with which the error `reason` was raised."""
        if isinstance(reason, Exception) and reason.args and isinstance(reason.args[0], cls):
            return reason.args[0]
        new = super().__new__(cls, reason)
        new.todo = todo
        return new


def check_options(reader: str, options: dict, allowed: dict) -> None:
    """Refuse options that do not fit the schemas of a reader's `OPTIONS`.

    Raises
    ------
    ConfigError
        Names the first wrong option, and the nearest name for a typo.

    Examples
    --------
    >>> from odl.corpora.checks import check_options
    >>> check_options("mine", {"yaer": 2026}, {"year": {"type": "integer"}})
    ... # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    odl.errors.ConfigError: 'mine.yaer' is not a key ...; did you mean 'year'?
    """
    schema.check_map(options, schema.closed(allowed), reader)


def check_sources(reader: str, sources: Sequence, files: Sequence[str]) -> Sequence:
    """Return the sources if there is one existing file for each of `files`.

    Raises
    ------
    DataError
        If there are more or fewer, or a file does not exist.

    Examples
    --------
    >>> from odl.corpora.checks import check_sources
    >>> check_sources("mine", [], ["posts.tsv"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    odl.errors.DataError: 0 source files for mine; expected 1: posts.tsv; correct ...
    """
    if len(sources) != len(files):
        raise DataError(
            f"{len(sources)} source files for {reader}",
            (f"{len(files)}: " + ", ".join(files)) if files else "no source files",
            "correct the list of sources",
        )
    for source in sources:
        if not os.path.isfile(source):
            raise DataError(
                f"{source} is not a file", f"a file of the corpus {reader}", "download it first"
            )
    return sources


@contextmanager
def opening(path: str | os.PathLike, what: str) -> Iterator[None]:
    """Replace any error that occurs in the context by a `DataError` about the file `path`.

    Parameters
    ----------
    path : path-like
    what : str
        Expected content of the file.

    Examples
    --------
    >>> from odl.corpora.checks import opening
    >>> with opening("posts.tsv", "a table of posts"):  # doctest: +ELLIPSIS
    ...     int("many")
    Traceback (most recent call last):
        ...
    odl.errors.DataError: posts.tsv cannot be read (invalid literal ...); expected a table ...
    """
    try:
        yield
    except DataError:
        raise
    # zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile and SciPy's MatReadError have
    # no other common base class.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{path} cannot be read ({reason})", what, FETCH) from error


def check_content(path, counted, expected):
    """Refuse a corpus if a counted quantity differs from the known value.

    Parameters
    ----------
    path : path-like
        File of the corpus, for the error message.
    counted, expected : dict
        Name of a quantity -> counted and known value.

    Raises
    ------
    DataError
        Names the first quantity that differs.
    """
    for name, value in expected.items():
        if counted[name] != value:
            raise DataError(f"{path} has {counted[name]} as its {name}", f"{value}", FETCH)


def documents_of(records: Iterable[tuple], options: Mapping[str, Any]) -> Documents:
    """Return `Documents` with the counts of the words in their texts.

    Texts are read one at a time and not stored.

    Parameters
    ----------
    records : iterable of tuple
        Id, time in milliseconds, topics, title and text of each document.
    options : dict
        ``tokens`` (see `odl.text.tokens`) and ``vectors`` (see `odl.text.encoder`, default null).

    Examples
    --------
    >>> from odl.corpora.checks import documents_of
    >>> documents_of([("a", 0, ("oil",), "Crude", "crude oil")], {}).vocabulary
    ['crude', 'oil']
    """
    fields: list[tuple] = []

    def texts():
        for *columns, text in records:
            fields.append(tuple(columns))
            yield text

    text_encoder = encoder.encoder_of(options.get("vectors"))
    counts, vocabulary = count_words(
        text_encoder.through(texts()) if text_encoder else texts(), options.get("tokens")
    )
    return Documents(
        counts=counts,
        vocabulary=vocabulary,
        ids=[identity for identity, _, _, _ in fields],
        times=np.array([time for _, time, _, _ in fields], dtype=np.int64),
        topics=[topics for _, _, topics, _ in fields],
        titles=[one_line(title) for _, _, _, title in fields],
        vectors=text_encoder.vectors() if text_encoder else None,
    )


def unpacked(path, form="gz"):
    """Open a file compressed by gzip (`form` "gz") or xz for reading bytes."""
    import gzip
    import lzma

    return io.BufferedReader({"gz": gzip, "xz": lzma}[form].open(path), 1 << 17)


def unpacked_text(path, form="gz", newline=""):
    """Open a compressed file for reading UTF-8 text."""
    return io.TextIOWrapper(unpacked(path, form), encoding="utf-8", newline=newline)


def lines(file, path):
    """Yield the lines of an open file (text or bytes).

    Raises
    ------
    DataError
        Names a line that is too long.
    """
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE:
            raise DataError(
                f"{path} line {number} has {MAX_LINE} characters or more",
                "shorter lines",
                "check for a missing line break",
            )
        yield line


def table(file, path, columns):
    """Yield the fields of each line of a tab-separated table with the given column names."""
    rows = (line.rstrip("\r\n").split("\t") for line in lines(file, path))
    header = next(rows, [""])
    if header != list(columns):
        raise DataError(f"{path} has the columns {', '.join(header)}", ", ".join(columns), FETCH)
    for number, fields in enumerate(rows, start=2):
        if len(fields) != len(columns):
            raise DataError(
                f"{path} line {number} has {len(fields)} fields", f"{len(columns)} fields", FETCH
            )
        yield fields


@contextmanager
def packing(output: str | os.PathLike) -> Iterator[Any]:
    """Open a file for writing bytes that are compressed by gzip.

    The header of gzip contains no name and no time, so that the bytes are reproducible.
    """
    import gzip

    with open(output, "wb") as file, gzip.GzipFile("", "wb", mtime=0, fileobj=file) as packed:
        yield packed


def tar_members(path, wanted=None):
    """Yield (name, bytes) of the regular files of a tar.gz archive, in order.

    Nothing is extracted to disk.

    Parameters
    ----------
    path : path-like
    wanted : callable, optional
        Base name -> bool; other files are skipped.

    Raises
    ------
    DataError
        If the archive is damaged or truncated, or a file in it is sparse or too large.
    """
    import tarfile

    with opening(path, "a complete tar.gz archive"), unpacked(path) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if member.isfile() and (wanted is None or wanted(member.name.rpartition("/")[2])):
                    if member.issparse():
                        raise ValueError(f"{member.name} is a sparse file")
                    if member.size > MAX_MEMBER_BYTES:
                        raise ValueError(f"{member.name} has more than {MAX_MEMBER_BYTES} bytes")
                    yield member.name, archive.extractfile(member).read()
        # tarfile ignores a missing end. At the end of the stream, gzip verifies its checksum.
        while stream.read(1 << 20):
            pass
