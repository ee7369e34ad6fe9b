"""Formats of a person's own files, read a row at a time: JSONL, CSV, Parquet, mail, feeds and texts."""

import contextlib
import csv
import io
import lzma
import os
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, islice

from odl.corpora import containers, jsonrows, logs
from odl.corpora.checks import LONGEST_LINE, Unreadable, lines
from odl.corpora.encodings import UTF8, Encoding, not_decoded, recoded
from odl.corpora.fields import EPOCH
from odl.errors import DataError
from odl.files import listing
from odl.files.packing import opened

DELIMITERS = ";\t|,"
ONCE = ("id", "time", "text", "counts", "topics", "title")  # names of columns that a table may not have twice
TIMES = ("name", "front-matter", "modified")
DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])(?:[-_.]?(0[1-9]|[12]\d|3[01]))?(?!\d)")
HEADER_LINES = 200  # by which the delimiter of a table is told
ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that do not fit
ESCAPED_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)\\"')
NULL = r"\N"  # no value, as databases write it
DIGIT = re.compile(r"\d")
LEAD = re.compile(r"\s*|sep=.|#TYPE .*")  # before the names of columns: a blank line, those of spreadsheets, PowerShell
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
        Of CSV; by default the one that fits the first lines of a file, else a comma, in a .tsv file a tab.
    encoding : odl.corpora.encodings.Encoding
    times : str, optional
        Where the time of a text file is taken from, one of `TIMES`.
    quoted : bool
        Of CSV: whether a quotation mark may enclose a field, or is a character like any other.
    time_formats : tuple of str
        Of `datetime.strptime`, in which the times of logs are written.
    """

    kind: str | None = None
    delimiter: str | None = None
    encoding: Encoding = UTF8
    times: str | None = None
    quoted: bool = True
    time_formats: tuple = ()

    def kind_of(self, path):
        """Return the kind of a file: the one that is set, or that of its content, or of its name."""
        return self.kind or listing.kind_in(path)


def rows(path, form=Form(), name=None):
    """Yield (place, row) of a file: "line 3", "row 3", "message 3" or "item 3", and a dict of column -> value.

    A row that cannot be read is an `odl.corpora.checks.Unreadable`, and the next one follows.

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
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path} cannot be read ({reason})", "a whole, readable file", "make it again") from error
    if empty:
        raise DataError(f"{path} holds no documents", "at least one", "fill or remove it")


def all_rows(path, form):
    """Yield what `rows` does; raise `DataError` for a row that cannot be read."""
    for place, row in rows(path, form):
        if isinstance(row, Unreadable):
            raise DataError(f"{path} {place}: {row}", "a readable row", "correct it")
        yield place, row


def _rows(path, form, name):
    kind = form.kind_of(path)
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
            yield from _csv_rows(file, path, form.delimiter, encoding, form.quoted)
        elif kind == "text":
            yield "line 1", _text_row(file, path, name, encoding, form.times)
        elif kind == "log":
            yield from _log_rows(file, path, name, encoding, form)
        else:
            yield from _json_rows(file, encoding)


def _located(path, encoding, error):
    """Return the error of bytes that do not fit the encoding, with their line."""
    with opened(path) as file:
        for number, line in enumerate(lines(recoded(file, path, encoding)[0], path), start=1):
            try:
                encoding.text(line)
            except UnicodeDecodeError as wrong:
                return not_decoded(path, f"line {number}", encoding, wrong)
    return not_decoded(path, "near its end", encoding, error)


def _numbered(file, encoding):
    """Yield the number and text of each line, or `Unreadable` if its bytes do not fit or it is too long."""
    number, first = 0, True
    while data := file.readline(LONGEST_LINE):
        number += 1
        if len(data) == LONGEST_LINE and not data.endswith(b"\n"):
            while (more := file.readline(LONGEST_LINE)) and not more.endswith(b"\n"):
                pass
            yield number, Unreadable(f"the line has more than {LONGEST_LINE >> 20} MiB; look for a missing line break")
            continue
        try:
            yield number, encoding.text(data, first)
        except UnicodeDecodeError as error:
            yield number, _unfit(encoding, error.object[error.start])
        first = False


def _unfit(encoding, byte):
    """Return the reason why bytes are not read."""
    name = "UTF-8" if encoding == UTF8 else encoding.name
    return Unreadable(f"it is not {name} (byte 0x{byte:02x}); the option encoding names another")


def _log_rows(file, path, name, encoding, form):
    latest = logs.latest_of(day_of(name), _modified(path) if form.times == "modified" else None)
    lines = ((f"line {number}", line) for number, line in containers.whole_lines(_numbered(file, encoding)))
    return logs.rows(lines, latest, form.time_formats)


def _json_rows(file, encoding):
    lines = containers.whole_lines(_numbered(file, encoding))
    return jsonrows.rows((n, line if isinstance(line, Unreadable) else jsonrows.mended(line)) for n, line in lines)


def _csv_rows(binary, path, delimiter, encoding, quoted):
    """Yield the rows of a table. A record that is wrong is unreadable, and the next line begins another one."""
    limit = csv.field_size_limit(LONGEST_LINE)  # the default refuses texts of more than 131072 characters
    errors = encoding.errors if encoding.second else "surrogateescape"
    try:
        with io.TextIOWrapper(binary, encoding=encoding.start(), errors=errors, newline="") as file:
            every = lines(file, path)
            head = list(islice(every, HEADER_LINES))
            every = chain(head, every)
            sign = delimiter or usual_delimiter(path)
            for change in mending(head, sign) if quoted else ():
                head, every = [change(line) for line in head], map(change, every)
            delimiter, above = beginning_of(head, path, delimiter)
            before, after = unnamed(head, delimiter, above)
            yield from _records(_Lines(every), path, delimiter, quoted, encoding, above, before, after)
    finally:
        csv.field_size_limit(limit)


class _Lines:
    """Lines of a file, those of the record that is read at hand, to begin again behind the first of them."""

    def __init__(self, source):
        self.source, self.record, self.again, self.number = source, [], [], 0

    def __iter__(self):
        return self

    def __next__(self):
        line = self.again.pop() if self.again else next(self.source)
        self.record.append(line)
        self.number += 1
        return line

    def begin(self):
        """Forget the lines of the record before; return the number of the next line."""
        self.record = []
        return self.number + 1

    def go_back(self):
        """Begin again behind the first line of the record."""
        self.number -= len(self.record) - 1
        self.again += self.record[:0:-1]


def _records(source, path, delimiter, quoted, encoding, above, before, after):
    def reader():
        return csv.reader(source, delimiter=delimiter, strict=True, quoting=QUOTING[quoted])

    header, records = None, reader()
    while True:
        place = f"line {source.begin()}"
        try:
            fields = next(records, None)
        except csv.Error as error:
            todo = "correct it, or set options.quoted: false if quotation marks are part of the text"
            if any('\\"' in line for line in source.record):
                todo = "correct it: a quotation mark in a quoted field is written twice, not behind a backslash"
            if header is None:
                raise DataError(f"{path} {place} is not CSV ({error})", "quoted fields", todo) from error
            source.go_back()
            records = reader()
            yield place, Unreadable(f"it is not CSV ({error}); {todo}")
            continue
        if fields is None:
            return
        if header is None:
            if LEAD.fullmatch(delimiter.join(fields)):
                continue
            above -= 1
            if above < 0:
                header = _header(path, before + fields + after)
        elif fields and len(fields) != len(header):
            if todo := delimiter_of(header):
                raise DataError(
                    f"{path} {place} has {len(fields)} field{'s' * (len(fields) > 1)}",
                    f"{len(header)} as in the header",
                    todo,
                )
            if any(field.strip() for field in fields):
                yield (
                    place,
                    Unreadable(f"it has {len(fields)} field{'s' * (len(fields) > 1)}, the header {len(header)}"),
                )
        elif fields:
            if NULL in fields:
                fields = ["" if field == NULL else field for field in fields]
            wrong = next((text for text in fields if not text.isascii() and ESCAPED.search(text)), None)
            if wrong is not None:
                yield place, _unfit(encoding, ord(ESCAPED.search(wrong)[0]) - 0xDC00)
            else:
                yield place, dict(zip(header, fields, strict=True))


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


def usual_delimiter(path):
    """Return what separates the fields of a table where its content does not tell."""
    return "\t" if ".tsv" in str(path).lower() else ","


def beginning_of(head, path, delimiter=None):
    """Return the delimiter of a table by its first lines, if none is set, and how many records are above its header."""
    usual = usual_delimiter(path)
    best = delimiter or delimiter_in(head, usual)
    if fitting_fields(head, best):
        return best, 0
    signs = [delimiter] if delimiter else dict.fromkeys((usual, *DELIMITERS))
    return next(((sign, above) for sign in signs if (above := records_above(head, sign))), (best, 0))


def records_above(head, sign):
    """Return how many records, such as the title of a report, are above a clear header; 0 if none is clear.

    Above it, records have fewer fields; below it, nearly all have as many as it has; and in a column where nearly all
    of them have digits, it has none.
    """
    try:
        rows = [row for row in csv.reader(head, delimiter=sign) if not LEAD.fullmatch(sign.join(row))]
    except csv.Error:
        return 0
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    above = next((number for number, row in enumerate(rows) if len(row) >= width), 0)
    header, below = rows[above] if rows else [], [row for row in rows[above + 1 :] if len(row) == width]
    if width < 2 or len(header) != width or len(below) < max(2, 0.9 * (len(rows) - above - 1)):
        return 0
    plain = all(field.strip() and not DIGIT.search(field) for field in header) and len(set(header)) == width
    with_digits = (sum(DIGIT.search(row[n]) is not None for row in below) for n in range(width))
    return above if plain and max(with_digits) >= 0.9 * len(below) else 0


def unnamed(head, sign, above):
    """Return names for the one column that a header lacks, before its first name and after its last one.

    R and pandas write row names without a name in front; spreadsheets, Event Viewer and trailing delimiters have a
    column more behind. Both lists are empty if the rows are not all one field longer than the header.
    """
    rows, records = [], csv.reader(head, delimiter=sign)
    with contextlib.suppress(csv.Error):
        rows.extend(row for row in records if not LEAD.fullmatch(sign.join(row)))
    header, *below = rows[above:] or [[]]
    below = below[:-1] if len(head) == HEADER_LINES else below  # the last one may be cut
    if len(header) < 2 or len(below) < 2 or any(len(row) != len(header) + 1 for row in below):
        return [], []
    numbered = all(row[0].isdecimal() for row in below) and len({row[0] for row in below}) == len(below)
    return (["row"], []) if numbered else ([], [f"column {len(header) + 1}"])


def mending(head, sign):
    """Return functions of a line by which the rows of a table fit, and without which they do not; else none."""
    spaced = re.compile(rf'(?:^|(?<={re.escape(sign)})) +"')
    if any(map(spaced.search, head)) and not _fits(head, sign):
        without = partial(spaced.sub, '"')
        if _fits([without(line) for line in head], sign):
            return [without]
    return [doubled] if has_backslashes(head, sign) else []


def has_backslashes(head, sign):
    """Return whether quotation marks in fields are behind a backslash, as in exports of MySQL: only so the rows fit."""
    return any('\\"' in line for line in head) and not _fits(head, sign) and _fits(list(map(doubled, head)), sign)


def doubled(line):
    """Return a line with quotation marks written twice in the place of those behind a backslash."""
    return ESCAPED_QUOTE.sub(r'\1""', line)


def _fits(head, sign):
    """Return whether all records of the first lines of a table are right, but for the last one, which may be cut."""
    rows, records = [], csv.reader(head, delimiter=sign, strict=True)
    try:
        rows.extend(row for row in records if row)
    except csv.Error:
        if records.line_num < len(head) or len(head) < HEADER_LINES:
            return False
    return len({len(row) for row in rows}) == 1


def delimiter_in(head, usual):
    """Return the sign that separates the fields of a table by its first lines: the usual one unless another fits."""
    head = [line for line in head if not LEAD.fullmatch(line.rstrip("\r\n"))]
    return max((usual, *(sign for sign in ",;\t|" if sign != usual)), key=lambda sign: fitting_fields(head, sign))


def fitting_fields(head, sign):
    """Return the number of fields in the header if most rows have as many, else 0."""
    try:
        rows = [row for row in csv.reader(head, delimiter=sign) if row]
    except csv.Error:
        return 0
    same = sum(len(row) == len(rows[0]) for row in rows) if rows else 0
    return len(rows[0]) if rows and same >= 0.9 * len(rows) and len(rows[0]) > 1 else 0


def delimiter_of(columns):
    """Return what to do about the one column of a table whose name holds several; "" if it seems right."""
    only = str(next(iter(columns), "")) if len(columns) == 1 else ""
    sign = max(DELIMITERS, key=only.count)
    return f"set the option delimiter, such as delimiter: {sign!r}" if sign in only else ""


def _header(path, fields):
    """Return different names of columns: of two "Labels", as issue trackers write them, the second is "Labels.2"."""
    double = next((name for name, n in Counter(fields).most_common() if n > 1 and name in ONCE), None)
    if double:
        raise DataError(f"{path} has two columns {double!r}", "different names in its first line", "rename one")
    names: dict = {}
    for name in fields:
        other, n = name, 1
        while other in names:
            n += 1
            other = f"{name}.{n}"
        names[other] = None
    return list(names)


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
        return datetime.fromtimestamp(_modified(path), UTC).isoformat()
    if times != "name" and said.get("date"):
        return said["date"]
    return day_of(name) if times != "front-matter" else None


def _modified(path):
    return recorded.get(os.fspath(path)) or changed(path)


def changed(path):
    """Return when a file was last changed, in seconds."""
    return int(os.stat(path).st_mtime)


def day_of(name):
    """Return the day, or month, that a name of a file holds, as ISO 8601; None if it holds none."""
    days = list(DAY.finditer(name.replace("/", "-")))
    match = next((match for match in reversed(days) if match[3]), days[-1] if days else None)
    return "-".join(part for part in match.groups() if part) if match else None
