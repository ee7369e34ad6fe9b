"""Formats of a person's own files, read a row at a time: JSONL, CSV, Parquet, mail, feeds and texts."""

import csv
import io
import json
import os
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from odl.corpora.checks import LONGEST_LINE, lines, unpacked
from odl.corpora.encodings import UTF8, Encoding, not_decoded, recoded
from odl.corpora.fields import EPOCH
from odl.errors import DataError
from odl.files import listing

DELIMITERS = ";\t|,"
TIMES = ("name", "front-matter", "modified")
DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])(?:[-_.]?(0[1-9]|[12]\d|3[01]))?(?!\d)")
STAMP = re.compile(
    r"(?:<\d+>\d* ?)?\[?(\d{4}([-/])\d\d\2\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)\]?[\s:,-]*"
)
VISIT = re.compile(r"\[(\d\d/[A-Z][a-z]{2}/\d{4}):(\d\d:\d\d:\d\d [+-]\d{4})\]\s*")  # in lines of web servers
LEAD = re.compile(r"\s*|sep=.")  # before the names of columns: a blank line, the line of spreadsheets
BATCH_ROWS = 1024  # of Parquet, in memory at a time
QUOTING = {True: csv.QUOTE_MINIMAL, False: csv.QUOTE_NONE}
FRONT = re.compile(r"\A---\s*\n(.*?\n)(?:---|\.\.\.)\s*(?:\n|\Z)", re.S)
recorded: dict = {}  # path -> seconds: when a file that is there had its content first, where somebody keeps that
PAIR = re.compile(r"^([\w-]+):[ \t]*(.*?)[ \t]*$", re.M)


@dataclass(frozen=True)
class Form:
    """How files are written.

    Parameters
    ----------
    kind : str, optional
        One of `odl.files.listing.KINDS`, whatever the files are called; by default that of each one's name.
    delimiter : str, optional
        Of CSV; by default a comma, in a .tsv file a tab.
    encoding : odl.corpora.encodings.Encoding
    times : str, optional
        Where the time of a text file is taken from, one of `TIMES`.
    quoted : bool
        Of CSV: whether a quotation mark may enclose a field, or is a character like any other.
    """

    kind: str | None = None
    delimiter: str | None = None
    encoding: Encoding = UTF8
    times: str | None = None
    quoted: bool = True

    def of(self, path):
        """Return the kind of a file."""
        return self.kind or listing.kind_of(path)


def rows(path, form=Form(), name=None):
    """Yield (place, row) of a file: "line 3", "row 3", "message 3" or "item 3", and a dict of column -> value.

    Memory is that of one row or, for Parquet, `BATCH_ROWS` rows.

    Parameters
    ----------
    path : path-like
    form : Form
    name : str, optional
        Of the file among others, where it is a row of its own; by default that without its folders.

    Raises
    ------
    DataError
        If the file is damaged, in another encoding, not what its name says, or holds no row.
    """
    empty = True
    try:
        for place, row in _rows(path, form, name or os.path.basename(path)):
            empty = False
            yield place, row
    except UnicodeDecodeError as error:
        raise _located(path, form.encoding, error) from error
    except (OSError, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path} cannot be read ({reason})", "a whole, readable file", "make it again") from error
    if empty:
        raise DataError(f"{path} holds no documents", "at least one", "fill or remove it")


def _rows(path, form, name):
    kind = form.of(path)
    if kind == "parquet":
        yield from _parquet_rows(path)
        return
    with opened(path) as file:
        if kind in ("mail", "feed"):
            from odl.corpora import feeds, mail

            yield from (
                mail.mail_rows(file, path, form.encoding)
                if kind == "mail"
                else feeds.feed_rows(file, path, form.encoding)
            )
            return
        file, encoding = recoded(file, path, form.encoding)
        if kind == "csv":
            tab = "\t" if str(path).lower().removesuffix(".gz").endswith(".tsv") else ","
            yield from _csv_rows(file, path, form.delimiter or tab, encoding, form.quoted)
        elif kind == "text":
            yield "line 1", _text_row(file, path, name, encoding, form.times)
        elif kind == "log":
            yield from _log_rows(file, path, encoding)
        else:
            yield from _json_rows(file, path, encoding)


def opened(path):
    """Open a file for reading bytes, unpacked if its name ends in .gz."""
    return unpacked(path) if str(path).lower().endswith(".gz") else open(path, "rb")


def _located(path, encoding, error):
    """Return the error of bytes that do not fit the encoding, with their line."""
    with opened(path) as file:
        for number, line in enumerate(lines(recoded(file, path, encoding)[0], path), start=1):
            try:
                encoding.text(line)
            except UnicodeDecodeError as wrong:
                return not_decoded(path, f"line {number}", encoding, wrong)
    return not_decoded(path, "near its end", encoding, error)


def _refuse_constant(name):
    raise ValueError(f"{name} is not a number in JSON")


def _json_rows(file, path, encoding):
    expected, todo = "one JSON object on each line", "correct the line"
    for number, line in enumerate(lines(file, path), start=1):
        text = encoding.text(line, first=number == 1)
        if not text.strip():
            continue
        try:
            row = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} line {number} is not JSON ({error})", expected, todo) from error
        if not isinstance(row, dict):
            raise DataError(f"{path} line {number} is a JSON {type(row).__name__}", expected, todo)
        yield f"line {number}", row


def _log_rows(file, path, encoding):
    """Yield a row for each line; one without a time has that of the line before, if the first line has one."""
    time, timed = None, None
    for number, line in enumerate(lines(file, path), start=1):
        text = encoding.text(line, first=number == 1).strip()
        if not text:
            continue
        stamp = STAMP.match(text) or VISIT.search(text)
        timed = bool(stamp) if timed is None else timed
        if stamp and timed:
            visit = stamp.re is VISIT
            time = f"{stamp[1].replace('/', ' ')} {stamp[2]}" if visit else stamp[1].replace(",", ".")
            text = text[: stamp.start()] + text[stamp.end() :] or text
        yield f"line {number}", {"id": None, "time": time, "text": text, "title": text}


def _csv_rows(binary, path, delimiter, encoding, quoted):
    limit = csv.field_size_limit(LONGEST_LINE)  # the default refuses texts of more than 131072 characters
    try:
        with io.TextIOWrapper(binary, encoding=encoding.start(), errors=encoding.errors, newline="") as file:
            reader = csv.reader(lines(file, path), delimiter=delimiter, strict=True, quoting=QUOTING[quoted])
            header = None
            while True:
                place = f"line {reader.line_num + 1}"
                try:
                    fields = next(reader, None)
                except csv.Error as error:
                    todo = "correct it, or set options.quoted: false where quotation marks are part of the text"
                    raise DataError(f"{path} {place} is not CSV ({error})", "quoted fields", todo) from error
                if fields is None:
                    return
                if header is None:
                    if not LEAD.fullmatch(delimiter.join(fields)):
                        header = _header(path, fields)
                elif fields and len(fields) != len(header):
                    todo = delimiter_of(header) or "correct it"
                    raise DataError(f"{path} {place} has {len(fields)} fields", f"{len(header)} as in the header", todo)
                elif fields:
                    yield place, dict(zip(header, fields, strict=True))
    finally:
        csv.field_size_limit(limit)


def _parquet_rows(path):
    """Yield the rows of a Parquet file. pyarrow, which is large, is an extra that only such files need."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        fault = f"{path} is a Parquet file, and pyarrow, which reads it, is not installed"
        raise DataError(fault, "pyarrow 18 or later", "install it: pip install pyarrow") from error
    try:
        with pq.ParquetFile(path, memory_map=False) as file:
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                raise ValueError("two columns have one name")
            batches = file.iter_batches(batch_size=BATCH_ROWS, use_threads=False)
            every = (values for batch in batches for values in zip(*map(_values, batch.columns), strict=True))
            for number, values in enumerate(every, start=1):
                yield f"row {number}", dict(zip(names, values, strict=True))
    except (pa.ArrowException, LookupError, OverflowError, TypeError, ValueError, MemoryError) as error:
        fault = f"{path} cannot be read as Parquet ({' '.join(str(error).split())})"
        raise DataError(fault, "a whole Parquet file", "write it again") from error


def _values(column):
    """Return a column as Python values; dates and timestamps as datetimes in UTC, to the millisecond."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        zone = getattr(column.type, "tz", None)
        numbers = column.cast(pa.timestamp("ms", tz=zone), safe=False).cast(pa.int64()).to_pylist()
        return [None if number is None else EPOCH + timedelta(milliseconds=number) for number in numbers]
    return column.to_pylist()


def delimiter_of(columns):
    """Return what to do about the one column of a table whose name holds several; "" if it seems right."""
    only = str(next(iter(columns), "")) if len(columns) == 1 else ""
    sign = max(DELIMITERS, key=only.count)
    return f"set the option delimiter, such as delimiter: {sign!r}" if sign in only else ""


def _header(path, fields):
    if len(set(fields)) < len(fields):
        double = Counter(fields).most_common(1)[0][0]
        raise DataError(f"{path} has two columns {double!r}", "different names in its first line", "rename one")
    return fields


def _text_row(file, path, name, encoding, times=None):
    """Return the one row of a file: id, time, text, title, and topics where its first lines have them.

    Parameters
    ----------
    file : binary file
    path : path-like
    name : str
        Tells the file from others; the id, without its ending.
    encoding : odl.corpora.encodings.Encoding
    times : str, optional
        Where the time is taken from: ``name`` (a day or month in the name or its folders: 2026-01-03, 20260103,
        2026/01), ``front-matter`` (``date:`` between lines of three dashes at the beginning), ``modified`` (when the
        file was last changed; a copy may lose it). By default the front matter, or else the name.

    Raises
    ------
    UnicodeDecodeError
        If bytes do not fit the encoding.
    DataError
        If the file is too long.
    """
    data = file.read(LONGEST_LINE + 1)
    if len(data) > LONGEST_LINE:
        raise DataError(f"{path} is longer than {LONGEST_LINE >> 20} MiB", "a text", "split it")
    text = encoding.text(data, first=True)
    front = FRONT.match(text)
    said = {key.lower(): value.strip("\"'") for key, value in PAIR.findall(front[1])} if front else {}
    text = text[front.end() :] if front else text
    title = said.get("title") or next((line.strip(" #\t") for line in text.splitlines() if line.strip()), "")
    if "title" in said:
        text = f"{title}\n{text}"
    row = {"id": os.path.splitext(name)[0], "text": text, "title": title, "url": said.get("url") or said.get("link")}
    if said.get("topics"):
        row["topics"] = said["topics"].strip("[]").replace(",", ";")
    return {**row, "time": _time(path, name, said, times)}


def _time(path, name, said, times):
    if times == "modified":
        return datetime.fromtimestamp(recorded.get(os.fspath(path)) or changed(path), UTC).isoformat()
    if times != "name" and said.get("date"):
        return said["date"]
    return day_of(name) if times != "front-matter" else None


def changed(path):
    """Return when a file was last changed, in seconds."""
    return int(os.stat(path).st_mtime)


def day_of(name):
    """Return the day, or month, that a name of a file holds, as ISO 8601; None if it holds none."""
    days = list(DAY.finditer(name.replace("/", "-")))
    match = next((match for match in reversed(days) if match[3]), days[-1] if days else None)
    return "-".join(part for part in match.groups() if part) if match else None
