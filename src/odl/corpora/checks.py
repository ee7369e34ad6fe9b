"""Checks of sources and content that readers share; packed files, documents of texts."""

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from odl.config import schema
from odl.errors import DataError
from odl.files.documents import Documents, one_line
from odl.text import encoder
from odl.text.tokens import count_words

FETCH = "download it again, or put the right file there"
LONGEST_LINE = 1 << 26  # characters
LARGEST_MEMBER = 1 << 28  # bytes


class Unreadable(str):
    """Reason why a document of a file cannot be read. Readers yield it in place of a row and go on with the next.

    Attributes
    ----------
    todo : str
        What to do about it; "" if the reason says it.
    """

    todo: str

    def __new__(cls, reason: object, todo: str = "") -> "Unreadable":
        """Return a reason; one that an error was raised with keeps what to do about it."""
        if isinstance(reason, Exception) and reason.args and isinstance(reason.args[0], cls):
            return reason.args[0]
        new = super().__new__(cls, reason)
        new.todo = todo
        return new


def check_options(reader: str, options: dict, allowed: dict) -> None:
    """Refuse options that are not such as a reader's `OPTIONS` allow.

    Raises
    ------
    ConfigError
        Naming the first that is wrong, and the nearest name for a typo.

    Examples
    --------
    >>> from odl.corpora.checks import check_options
    >>> check_options("mine", {"yaer": 2026}, {"year": {"type": "integer"}})
    Traceback (most recent call last):
        ...
    odl.errors.ConfigError: 'mine.yaer' is not a key of the configuration; expected one of year; did you mean 'year'?
    """
    schema.check_map(options, schema.closed(allowed), reader)


def check_sources(reader: str, sources: Sequence, files: Sequence[str]) -> Sequence:
    """Return the sources if there is one existing file for each of `files`.

    Raises
    ------
    DataError
        If there are more or fewer, or one does not exist.

    Examples
    --------
    >>> from odl.corpora.checks import check_sources
    >>> check_sources("mine", [], ["posts.tsv"])
    Traceback (most recent call last):
        ...
    odl.errors.DataError: 0 source files for mine; expected 1: posts.tsv; correct the list of sources.
    """
    if len(sources) != len(files):
        expected = (f"{len(files)}: " + ", ".join(files)) if files else "none"
        raise DataError(f"{len(sources)} source files for {reader}", expected, "correct the list of sources")
    for source in sources:
        if not os.path.isfile(source):
            raise DataError(f"{source} is not a file", f"a file of the corpus {reader}", "download it first")
    return sources


@contextmanager
def opening(path: str | os.PathLike, what: str) -> Iterator[None]:
    """Turn whatever decoding the file at `path` raises into one `DataError`.

    Examples
    --------
    >>> from odl.corpora.checks import opening
    >>> with opening("posts.tsv", "a table of posts"):  # doctest: +ELLIPSIS
    ...     int("many")
    Traceback (most recent call last):
        ...
    odl.errors.DataError: posts.tsv cannot be read (invalid literal ... 'many'); expected a table of posts; ...
    """
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # decoders raise many kinds: zlib.error, struct.error, Pillow's own
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{path} cannot be read ({reason})", what, FETCH) from error


def check_content(path, counted, known):
    """Compare what was read, quantity -> value, with what is known of the corpus.

    Raises
    ------
    DataError
        Naming the first quantity that differs.
    """
    for name, value in known.items():
        if counted[name] != value:
            raise DataError(f"{path} has {counted[name]} as its {name}", f"{value}", FETCH)


def documents_of(records: Iterable[tuple], options: Mapping[str, Any]) -> Documents:
    """Return documents of texts, which are counted as they come and not kept.

    Parameters
    ----------
    records : iterable of tuple
        Id, time in milliseconds, topics, title and text of each document.
    options : dict
        ``tokens`` (see `odl.text.tokens`), ``vectors`` (see `odl.text.encoder`, default null).

    Examples
    --------
    >>> from odl.corpora.checks import documents_of
    >>> documents_of([("a", 0, ("oil",), "Crude", "crude oil")], {}).vocabulary
    ['crude', 'oil']
    """
    fields: list[tuple] = []

    def texts():
        for *own, text in records:
            fields.append(tuple(own))
            yield text

    meaning = encoder.encoder_of(options.get("vectors"))
    counts, vocabulary = count_words(meaning.through(texts()) if meaning else texts(), options.get("tokens"))
    ids, times, topics, titles = map(list, zip(*fields, strict=True)) if fields else ([], [], [], [])
    return Documents(
        counts=counts,
        vocabulary=vocabulary,
        ids=ids,
        times=np.array(times, dtype=np.int64),
        topics=topics,
        titles=list(map(one_line, titles)),
        vectors=meaning.vectors() if meaning else None,
    )


def unpacked(path, form="gz"):
    """Open a file packed by gzip or xz for reading bytes."""
    import gzip
    import lzma

    return io.BufferedReader({"gz": gzip, "xz": lzma}[form].open(path), 1 << 17)


def unpacked_text(path, form="gz", newline=""):
    """Open a packed file for reading UTF-8 text."""
    return io.TextIOWrapper(unpacked(path, form), encoding="utf-8", newline=newline)


def lines(file, path):
    """Yield the lines of an open file (text or bytes).

    Raises
    ------
    DataError
        Naming a line that is too long.
    """
    for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), file.readline(0)), start=1):
        if len(line) == LONGEST_LINE:
            fault = f"{path} line {number} has {LONGEST_LINE} characters or more"
            raise DataError(fault, "shorter lines", "look for a missing line break")
        yield line


def table(file, path, columns):
    """Yield the fields of the lines of an open table, separated by tabs, whose first line has to name these columns."""
    others = (line.rstrip("\r\n").split("\t") for line in lines(file, path))
    header = next(others, [""])
    if header != list(columns):
        raise DataError(f"{path} has the columns {', '.join(header)}", ", ".join(columns), FETCH)
    for number, fields in enumerate(others, start=2):
        if len(fields) != len(columns):
            raise DataError(f"{path} line {number} has {len(fields)} fields", f"{len(columns)}", FETCH)
        yield fields


@contextmanager
def packing(output: str | os.PathLike) -> Iterator[Any]:
    """Yield a binary file that is packed by gzip into another one: without a name or a time, so the same each time."""
    import gzip

    with open(output, "wb") as file, gzip.GzipFile("", "wb", mtime=0, fileobj=file) as packed:
        yield packed


def tar_members(path, wanted=None):
    """Yield (name, bytes) of the regular files of a tar.gz archive, in its order; nothing is extracted.

    Parameters
    ----------
    path : path-like
        The archive.
    wanted : callable, optional
        Base name -> bool; other members are skipped.

    Raises
    ------
    DataError
        If the archive is damaged or truncated, or a member is sparse or too large.
    """
    import tarfile

    with opening(path, "a whole tar.gz archive"), unpacked(path) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if member.isfile() and (wanted is None or wanted(member.name.rpartition("/")[2])):
                    if member.issparse():
                        raise ValueError(f"{member.name} is stored without its zeros")
                    if member.size > LARGEST_MEMBER:
                        raise ValueError(f"{member.name} has more than {LARGEST_MEMBER} bytes")
                    yield member.name, archive.extractfile(member).read()
        while stream.read(1 << 20):  # tarfile takes a missing end for the end; the checksum is behind it
            pass
