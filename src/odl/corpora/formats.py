"""Reading of user files row by row: JSONL, CSV, Parquet, mail, feeds, logs and texts."""

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

from odl.corpora import jsonrows, logs
from odl.corpora.checks import MAX_LINE, Unreadable, lines
from odl.corpora.encodings import UTF8, Encoding, not_decoded, recoded
from odl.corpora.fields import EPOCH
from odl.errors import DataError
from odl.files import listing
from odl.files.listing import opened

DELIMITERS = ";\t|,"
# Column names that must not be repeated in a table. Other repeated names get a number.
UNIQUE_COLUMNS = ("id", "time", "text", "counts", "topics", "title")
TIME_SOURCES = ("name", "front-matter", "modified")
DAY_IN_NAME = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])(?:[-_.]?(0[1-9]|[12]\d|3[01]))?(?!\d)"
)
HEADER_LINES = 200  # number of first lines of a table from which its delimiter is detected
# What Python's error handler "surrogateescape" writes for a byte that does not fit the encoding.
ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
ESCAPED_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)\\"')
NULL_FIELD = r"\N"  # what database exports write for a missing value
ANY_DIGIT = re.compile(r"\d")
# Lines that may precede the header: blank lines, Excel's separator, PowerShell's type.
LEADING_LINE = re.compile(r"\s*|sep=.|#TYPE .*")
PARQUET_BATCH = 1024  # rows of a Parquet file in memory
QUOTING = {True: csv.QUOTE_MINIMAL, False: csv.QUOTE_NONE}  # option `quoted` -> constant of csv
# Smallest share of the rows with as many fields as the header, for a delimiter that fits a table.
MIN_FITTING_SHARE = 0.9
FRONT_MATTER = re.compile(r"\A---\s*\n(.*?\n)(?:---|\.\.\.)\s*(?:\n|\Z)", re.S)
FRONT_MATTER_PAIR = re.compile(r"^([\w-]+):[ \t]*(.*?)[ \t]*$", re.M)
recorded: dict = {}  # path -> seconds since 1970, used instead of the file's modification time


@dataclass(frozen=True)
class Form:
    """Options for reading the files of a corpus.

    Parameters
    ----------
    kind : str, optional
        One of `odl.files.listing.KINDS`, for all files; by default each file's kind follows from
        its name and content.
    delimiter : str, optional
        Delimiter of CSV files; by default detected from the first lines of a file.
    encoding : odl.corpora.encodings.Encoding
    times : str, optional
        Source of the time of a text file, one of `TIME_SOURCES`.
    quoted : bool
        Whether quotation marks may enclose fields of CSV files. Otherwise they are ordinary
        characters.
    time_formats : tuple of str
        Formats of `datetime.strptime` for the times of logs.
    """

    kind: str | None = None
    delimiter: str | None = None
    encoding: Encoding = UTF8
    times: str | None = None
    quoted: bool = True
    time_formats: tuple = ()

    def kind_of(self, path):
        """Return the kind of a file: the option, by default that of its name and content."""
        return self.kind or listing.kind_in(path)


def rows(path, form=Form(), name=None):
    """Yield (location, row) for each row of a file.

    The location is "line 3", "row 3", "message 3" or "item 3", for example. The row maps columns to
    values. A row that cannot be read is an `odl.corpora.checks.Unreadable`. One row is in memory at
    a time, or `PARQUET_BATCH` rows of a Parquet file.

    Parameters
    ----------
    path : path-like
    form : Form
    name : str, optional
        Name of the file in the corpus, which becomes the id of a text file. By default, the base
        name of the path.

    Raises
    ------
    DataError
        If the file is damaged, has another encoding or format, or contains no row.
    """
    empty = True
    try:
        for location, row in _rows(path, form, name or os.path.basename(path)):
            empty = False
            yield location, row
    except UnicodeDecodeError as error:
        raise _locate_error(path, form.encoding, error) from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"{path} cannot be read ({reason})", "a complete, readable file", "create it again"
        ) from error
    if empty:
        raise DataError(
            f"{path} contains no documents", "at least one document", "add documents, or remove it"
        )


def all_rows(path, form):
    """Yield (location, row) as `rows` does, but raise DataError for a row that cannot be read."""
    for location, row in rows(path, form):
        if isinstance(row, Unreadable):
            raise DataError(f"{path} {location}: {row}", "a readable row", "correct this row")
        yield location, row


def _rows(path, form, name):
    """Yield (location, row) for each row of a file, by the reader for its kind; see `rows`."""
    kind = form.kind_of(path)
    if kind == "parquet":
        yield from _parquet_rows(path)
        return
    with opened(path) as file:
        if kind in ("mail", "feed"):
            from odl.corpora import feeds, mail

            read_rows = mail.mail_rows if kind == "mail" else feeds.feed_rows
            yield from read_rows(file, path, form.encoding)
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


def _locate_error(path, encoding, error):
    """Find the line with bytes that do not fit the encoding, and return a DataError with it."""
    with opened(path) as file:
        for number, line in enumerate(lines(recoded(file, path, encoding)[0], path), start=1):
            try:
                encoding.text(line)
            except UnicodeDecodeError as wrong:
                return not_decoded(path, f"line {number}", encoding, wrong)
    return not_decoded(path, "near its end", encoding, error)


def _number_lines(file, encoding):
    """Yield (number, text) of each line; the text of a line that cannot be read is `Unreadable`."""
    number, first = 0, True
    while data := file.readline(MAX_LINE):
        number += 1
        if len(data) == MAX_LINE and not data.endswith(b"\n"):
            while (more := file.readline(MAX_LINE)) and not more.endswith(b"\n"):
                pass  # skip the remaining parts of this line
            reason = f"the line has more than {MAX_LINE >> 20} MiB; check for a missing line break"
            yield number, Unreadable(reason)
            continue
        try:
            yield number, encoding.text(data, first)
        except UnicodeDecodeError as error:
            yield number, _unfit(encoding, error.object[error.start])
        first = False


def _unfit(encoding, byte):
    """Return an `Unreadable` for a line with a byte that does not fit the encoding."""
    name = "UTF-8" if encoding == UTF8 else encoding.name
    return Unreadable(
        f"it is not {name} (byte 0x{byte:02x}); the option encoding sets another encoding"
    )


def _log_rows(file, path, name, encoding, form):
    """Yield (location, row) for each line of a log.

    A time without a year gets the last year that `odl.corpora.logs.latest_of` allows for the day in
    the file's name or, with ``times: modified``, for its modification time.
    """
    modified = _modified_time(path) if form.times == "modified" else None
    lines = logs.join_split_lines(_number_lines(file, encoding))
    located_lines = ((f"line {number}", line) for number, line in lines)
    return logs.rows(located_lines, logs.latest_of(day_of(name), modified), form.time_formats)


def _json_rows(file, encoding):
    """Yield (location, row) for each JSON object in a file."""
    lines = logs.join_split_lines(_number_lines(file, encoding))
    return jsonrows.rows(
        (number, line if isinstance(line, Unreadable) else jsonrows.replace_surrogates(line))
        for number, line in lines
    )


def _csv_rows(binary, path, delimiter, encoding, quoted):
    """Yield (location, row) for each record of a table below its header.

    A damaged record gives an `Unreadable`, and reading resumes at the next line.

    Parameters
    ----------
    binary : binary file
    path : path-like
        Path of the file, for messages; its extension decides the usual delimiter.
    delimiter : str or None
        None if the delimiter is detected from the first lines.
    encoding : odl.corpora.encodings.Encoding
    quoted : bool
        As in `Form`.

    Raises
    ------
    DataError
        If the header cannot be read.
    """
    # The default limit of the csv module is 131072 characters in a field.
    limit = csv.field_size_limit(MAX_LINE)
    errors = encoding.errors if encoding.second else "surrogateescape"
    try:
        with io.TextIOWrapper(binary, encoding=encoding.start(), errors=errors, newline="") as file:
            all_lines = lines(file, path)
            head = list(islice(all_lines, HEADER_LINES))
            all_lines = chain(head, all_lines)
            for change in find_repairs(head, delimiter or usual_delimiter(path)) if quoted else ():
                head, all_lines = [change(line) for line in head], map(change, all_lines)
            delimiter, above = beginning_of(head, path, delimiter)
            before, after = missing_names(head, delimiter, above)
            header = None
            for location, record in _records(all_lines, delimiter, quoted):
                if header is not None:
                    row = _row_of(record, header, encoding, f"{path} {location}")
                    if row is not None:
                        yield location, row
                elif isinstance(record, Unreadable):
                    reason, _, advice = record.partition("; ")
                    raise DataError(f"{path} {location}: {reason}", "a header", advice)
                elif LEADING_LINE.fullmatch(delimiter.join(record)):
                    continue
                elif above > 0:
                    above -= 1
                else:
                    header = _header(path, before + record + after)
    finally:
        csv.field_size_limit(limit)


def _records(lines, delimiter, quoted):
    """Yield (location, list of fields) for each record of a table, or (location, `Unreadable`).

    After a damaged record, reading resumes at its second line, because a quotation mark that is not
    closed makes one record of many lines.
    """
    waiting: list = []  # lines that are read again, the last one first
    used: list = []  # lines of the current record
    lines, number = iter(lines), 1
    options = {"delimiter": delimiter, "strict": True, "quoting": QUOTING[quoted]}
    records = csv.reader(_take_lines(lines, waiting, used), **options)
    while True:
        used.clear()
        try:
            record = next(records, None)
        except csv.Error as error:
            advice = (
                "correct it, or set options.quoted: false if quotation marks are part of the text"
            )
            if any('\\"' in line for line in used):
                advice = (
                    "correct it: write a quotation mark in a quoted field twice, "
                    "not after a backslash"
                )
            record = Unreadable(f"it is not CSV ({error}); {advice}")
            waiting += used[:0:-1]
            del used[1:]
            records = csv.reader(_take_lines(lines, waiting, used), **options)
        if record is None:
            return
        yield f"line {number}", record
        number += len(used)


def _take_lines(lines, waiting, used):
    """Yield lines from the stack `waiting` or, while it is empty, from the iterator `lines`.

    A yielded line is removed from the stack and appended to the list `used`.
    """
    while (line := waiting.pop() if waiting else next(lines, None)) is not None:
        used.append(line)
        yield line


def _row_of(record, header, encoding, place):
    """Convert a record to a dict from column to field, to an `Unreadable`, or to None if blank.

    DataError is raised if the table seems to have another delimiter. `place`, the path and line of
    the record, is for its message.
    """
    if isinstance(record, Unreadable) or not record:
        return record or None
    if len(record) != len(header):
        n_fields = f"{len(record)} field{'s' * (len(record) > 1)}"
        if todo := delimiter_of(header):
            raise DataError(f"{place} has {n_fields}", f"{len(header)}, as in the header", todo)
        is_blank = not any(field.strip() for field in record)
        return None if is_blank else Unreadable(f"it has {n_fields}, the header {len(header)}")
    for field in record:
        if not field.isascii() and (escaped_byte := ESCAPED_BYTE.search(field)):
            return _unfit(encoding, ord(escaped_byte[0]) - 0xDC00)
    fields = ("" if field == NULL_FIELD else field for field in record)
    return dict(zip(header, fields, strict=True))


def _parquet_rows(path):
    """Yield (location, row) for each row of a Parquet file; pyarrow must be installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DataError(
            f"{path} is a Parquet file, and pyarrow, which reads it, is not installed",
            "pyarrow 18 or later",
            "install it: pip install pyarrow",
        ) from error
    errors = LookupError, OverflowError, TypeError, ValueError, MemoryError
    try:
        with pq.ParquetFile(path, memory_map=False) as file:
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                raise ValueError("two columns have the same name")
            batches = file.iter_batches(batch_size=PARQUET_BATCH, use_threads=False)
            rows = (zip(*map(_values, batch.columns), strict=True) for batch in batches)
            for number, values in enumerate(chain.from_iterable(rows), start=1):
                yield f"row {number}", dict(zip(names, values, strict=True))
    except (pa.ArrowException, *errors) as error:
        raise DataError(
            f"{path} cannot be read as Parquet ({' '.join(str(error).split())})",
            "a complete Parquet file",
            "create it again",
        ) from error


def _values(column):
    """Return a column as a list of Python values.

    Dates and timestamps become datetimes in UTC, rounded down to milliseconds.
    """
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        zone = getattr(column.type, "tz", None)
        numbers = column.cast(pa.timestamp("ms", tz=zone), safe=False).cast(pa.int64()).to_pylist()
        return [
            None if number is None else EPOCH + timedelta(milliseconds=number) for number in numbers
        ]
    return column.to_pylist()


def usual_delimiter(path):
    """Return a tab for a table with the extension .tsv, else a comma."""
    return "\t" if ".tsv" in str(path).lower() else ","


def beginning_of(head, path, delimiter=None):
    """Return (delimiter, number of records above the header) of a table with the lines `head`."""
    default = usual_delimiter(path)
    best = delimiter or delimiter_in(head, default)
    if fitting_fields(head, best):
        return best, 0
    for candidate in [delimiter] if delimiter else dict.fromkeys((default, *DELIMITERS)):
        if above := records_above(head, candidate):
            return candidate, above
    return best, 0


def records_above(head, sign):
    """Return the number of records above the header of a table, such as the title of a report.

    Such records have fewer fields than the header. The header has as many fields as most records
    below it, and no digits. One column must have digits in at least the share `MIN_FITTING_SHARE`
    of the records below the header. If the table has no such header, the result is 0.

    Parameters
    ----------
    head : list of str
        First lines of the file.
    sign : str
        Delimiter.
    """
    try:
        rows = list(csv.reader(head, delimiter=sign))
    except csv.Error:
        return 0
    rows = [row for row in rows if not LEADING_LINE.fullmatch(sign.join(row))]
    if not rows:
        return 0
    width = Counter(map(len, rows)).most_common(1)[0][0]
    above = next(number for number, row in enumerate(rows) if len(row) >= width)
    header, below = rows[above], rows[above + 1 :]
    full_rows = [row for row in below if len(row) == width]
    if width < 2 or len(header) != width or len(full_rows) < max(2, MIN_FITTING_SHARE * len(below)):
        return 0
    has_names = all(field.strip() and not ANY_DIGIT.search(field) for field in header)
    if not has_names or len(set(header)) < width:
        return 0
    columns = zip(*full_rows, strict=True)
    n_with_digits = max(sum(map(bool, map(ANY_DIGIT.search, column))) for column in columns)
    return above if n_with_digits >= MIN_FITTING_SHARE * len(full_rows) else 0


def missing_names(head, delimiter, above):
    """Return names to add before and after a header that lacks the name of one column.

    R and pandas write row names in a first column that has no name. Spreadsheets, Windows Event
    Viewer and delimiters at line ends make such a column at the end. Both lists are empty unless
    all rows have one field more than the header.

    Parameters
    ----------
    head : list of str
        The first `HEADER_LINES` lines of the table, or all if it has fewer.
    delimiter : str
    above : int
        Number of records above the header, such as a title.

    Returns
    -------
    before, after : list of str
        ``["row"], []`` if the first fields of the rows are different numbers.
    """
    rows, records = [], csv.reader(head, delimiter=delimiter)
    with contextlib.suppress(csv.Error):
        rows.extend(row for row in records if not LEADING_LINE.fullmatch(delimiter.join(row)))
    header, *below = rows[above:] or [[]]
    if len(head) == HEADER_LINES:
        below = below[:-1]  # the last record may be incomplete
    if len(header) < 2 or len(below) < 2 or any(len(row) != len(header) + 1 for row in below):
        return [], []
    first_fields = {row[0] for row in below}
    if len(first_fields) == len(below) and all(map(str.isdecimal, first_fields)):
        return ["row"], []
    return [], [f"column {len(header) + 1}"]


def find_repairs(head, sign):
    """Return a list with the function that repairs the quotation marks in a line, or [].

    The function removes spaces before quotation marks, or doubles marks after a backslash. It is
    used only if it gives all rows in the first lines of the table (`head`) the same length.
    """
    spaced = re.compile(rf'(?:^|(?<={re.escape(sign)})) +"')
    if any(map(spaced.search, head)) and not _fits(head, sign):
        without = partial(spaced.sub, '"')
        if _fits([without(line) for line in head], sign):
            return [without]
    return [double_quotes] if has_backslashes(head, sign) else []


def has_backslashes(head, sign):
    """Return whether backslashes escape quotation marks, as in MySQL exports.

    They do if the rows have equal length only after the escaped marks were replaced by doubled
    marks.
    """
    return (
        any('\\"' in line for line in head)
        and not _fits(head, sign)
        and _fits(list(map(double_quotes, head)), sign)
    )


def double_quotes(line):
    """Replace each quotation mark after a backslash in a line by a doubled quotation mark."""
    return ESCAPED_QUOTE.sub(r'\1""', line)


def _fits(head, sign):
    """Return whether all records in the first lines of a table have the same number of fields.

    A last record that may continue below these lines is ignored.
    """
    rows, records = [], csv.reader(head, delimiter=sign, strict=True)
    try:
        rows.extend(row for row in records if row)
    except csv.Error:
        if records.line_num < len(head) or len(head) < HEADER_LINES:
            return False
    return len({len(row) for row in rows}) == 1


def delimiter_in(head, usual):
    """Return the delimiter with the most fields in the header, the usual one in case of a tie."""
    head = [line for line in head if not LEADING_LINE.fullmatch(line.rstrip("\r\n"))]
    best, most_fields = usual, fitting_fields(head, usual)
    for sign in ",;\t|":
        if (n_fields := fitting_fields(head, sign)) > most_fields:
            best, most_fields = sign, n_fields
    return best


def fitting_fields(head, sign):
    """Return the number of fields in the header if a delimiter fits a table, else 0.

    The delimiter `sign` fits if the header has several fields, and at least the share
    `MIN_FITTING_SHARE` of the rows has the same number.
    """
    try:
        rows = [row for row in csv.reader(head, delimiter=sign) if row]
    except csv.Error:
        return 0
    n_fields = len(rows[0]) if rows else 0
    n_fitting = sum(len(row) == n_fields for row in rows)
    return n_fields if n_fields > 1 and n_fitting >= MIN_FITTING_SHARE * len(rows) else 0


def delimiter_of(columns):
    """Return advice to set the delimiter if a table has one column with a delimiter in its name.

    Otherwise, the result is "".
    """
    only_name = str(next(iter(columns), "")) if len(columns) == 1 else ""
    sign = max(DELIMITERS, key=only_name.count)
    return f"set the option delimiter, such as delimiter: {sign!r}" if sign in only_name else ""


def _header(path, fields):
    """Return the fields of a header as distinct column names: a second "Labels" becomes "Labels.2".

    DataError is raised if a column in `UNIQUE_COLUMNS` is repeated. `path` is for the message.
    """
    for name in fields:
        if name in UNIQUE_COLUMNS and fields.count(name) > 1:
            raise DataError(
                f"{path} has two columns {name!r}",
                "different names in its first line",
                "rename one of the two columns",
            )
    names: dict = {}
    for name in fields:
        unique_name, n = name, 1
        while unique_name in names:
            n += 1
            unique_name = f"{name}.{n}"
        names[unique_name] = None
    return list(names)


def _text_row(file, path, name, encoding, times=None):
    """Return the row of a text file, with the title, url and topics in its front matter.

    Parameters
    ----------
    file : binary file
    path : path-like
    name : str
        Name of the file in the corpus. The id of the row is this name without its extension.
    encoding : odl.corpora.encodings.Encoding
    times : str, optional
        Source of the time, by default the front matter or else the name:

        - ``name``: a day or month in the name or its folders, such as 2026-01-03 or 2026/01
        - ``front-matter``: the line ``date:`` between two lines of three dashes at the start
        - ``modified``: the modification time, which a copy of the file may lose

    Raises
    ------
    UnicodeDecodeError
        If bytes do not fit the encoding.
    DataError
        If the file is too long.
    """
    data = file.read(MAX_LINE + 1)
    if len(data) > MAX_LINE:
        raise DataError(
            f"{path} is larger than {MAX_LINE >> 20} MiB", "a smaller text file", "split it"
        )
    text = encoding.text(data, first=True)
    front_matter = {}
    if match := FRONT_MATTER.match(text):
        text = text[match.end() :]
        for key, value in FRONT_MATTER_PAIR.findall(match[1]):
            front_matter[key.lower()] = value.strip("\"'")
    first_lines = (line.strip(" #\t") for line in text.splitlines() if line.strip())
    title = front_matter.get("title") or next(first_lines, "")
    row = {
        "id": os.path.splitext(name)[0],
        "text": f"{title}\n{text}" if "title" in front_matter else text,
        "title": title,
        "url": front_matter.get("url") or front_matter.get("link"),
    }
    if front_matter.get("topics"):
        row["topics"] = front_matter["topics"].strip("[]").replace(",", ";")
    return {**row, "time": _time(path, name, front_matter, times)}


def _time(path, name, front_matter, times):
    """Return the time of a text file, or None; for the parameters see `_text_row`."""
    if times == "modified":
        return datetime.fromtimestamp(_modified_time(path), UTC).isoformat()
    if times in (None, "front-matter") and front_matter.get("date"):
        return front_matter["date"]
    return day_of(name) if times in (None, "name") else None


def _modified_time(path):
    """Return the modification time of a file in seconds, from `recorded` or else from the disk."""
    return recorded.get(os.fspath(path)) or changed(path)


def changed(path):
    """Return the modification time of a file, in seconds."""
    return int(os.stat(path).st_mtime)


def day_of(name):
    """Return the last day in a file name or, if there is none, the last month, in ISO 8601.

    The result is None if the name has neither.
    """
    match = None
    for date in DAY_IN_NAME.finditer(name.replace("/", "-")):
        if date[3] or match is None or not match[3]:  # group 3 is the day of the month
            match = date
    return "-".join(part for part in match.groups() if part) if match else None
