"""Rows of a person's own files, one at a time: JSONL, CSV and Parquet."""

import csv
import io
import json
import os
import zlib
from datetime import timedelta

from odl.corpora import checks
from odl.corpora.checks import LONGEST_LINE, Left, lines, unpacked
from odl.corpora.fields import EPOCH, clean
from odl.errors import ConfigError, DataError

SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")
BATCH_ROWS = 1024
VALUE = 8  # bytes that a value counts at least, also one that is missing


def kind_of(path):
    """Return the suffix of `SUFFIXES` that a file has, or None."""
    return next((suffix for suffix in SUFFIXES if str(path).lower().endswith(suffix)), None)


def find_files(sources):
    """Return (name, path) of the files named by files and folders, a folder's sorted by name.

    What is not UTF-8 in a name is replaced by "?" there, not in the path.

    Raises
    ------
    DataError
        If a source does not exist, a file is of another kind, a folder holds none, or two files
        have the same name.
    """
    found = {}
    for source in sources:
        if os.path.isdir(source):
            paths = [os.path.join(source, name) for name in sorted(os.listdir(source)) if not name.startswith(".")]
            paths = [path for path in paths if kind_of(path) and os.path.isfile(path)]
            if not paths:
                raise DataError(f"the folder {source} holds no document files", _kinds(), "put files there")
        elif os.path.isfile(source):
            if not kind_of(source):
                raise DataError(f"{source} is of another kind", _kinds(), "convert or rename it")
            paths = [source]
        else:
            raise DataError(f"{source} does not exist", "a file or a folder", "correct the path")
        for path in paths:
            name = clean(os.path.basename(path))
            if name in found:
                raise DataError(
                    f"{path} has the same name as {found[name]}", "files of different names", "rename or remove one"
                )
            found[name] = path
    if not found:
        raise DataError("no source was given for documents", "files or folders", "name them")
    return list(found.items())


def _kinds():
    return "files ending in " + ", ".join(SUFFIXES)


def rows(path, delimiter=","):
    """Yield (place, row) of a file: "line 3" or "row 3", and a dict of column -> value.

    Memory is that of one row (JSONL, CSV) or `BATCH_ROWS` rows (Parquet).

    Raises
    ------
    DataError
        If the file is damaged, not UTF-8, not what its name says, or holds no row.
    """
    kind = kind_of(path)
    if kind == ".parquet":
        inner = _parquet_rows(path)
    elif kind.startswith(".csv"):
        inner = _csv_rows(path, delimiter)
    else:
        inner = _json_rows(path)
    empty = True
    try:
        for place_and_row in inner:
            empty = False
            yield place_and_row
    except (OSError, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path} cannot be read ({reason})", "a whole, readable file", "make it again") from error
    if empty:
        raise DataError(f"{path} holds no documents", "at least one", "fill or remove it")


def _open(path):
    return unpacked(path) if str(path).lower().endswith(".gz") else open(path, "rb")


def _not_utf8(path, place, error):
    byte = error.object[error.start]
    return DataError(f"{path} {place} is not UTF-8 (byte 0x{byte:02x})", "UTF-8 text", "convert the file to UTF-8")


def _refuse_constant(name):
    raise ValueError(f"{name} is not a number in JSON")


def _json_rows(path):
    with _open(path) as file:
        for number, line in enumerate(lines(file, path), start=1):
            place = f"line {number}"
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if not text.strip():
                    continue
                row = json.loads(text, parse_constant=_refuse_constant)
            except UnicodeDecodeError as error:
                raise _not_utf8(path, place, error) from error
            except (ValueError, RecursionError) as error:
                raise DataError(
                    f"{path} {place} is not JSON ({error})", "one JSON object on each line", "correct the line"
                ) from error
            if not isinstance(row, dict):
                raise DataError(
                    f"{path} {place} is a JSON {type(row).__name__}", "one JSON object on each line", "correct the line"
                )
            yield place, row


def _csv_rows(path, delimiter):
    limit = csv.field_size_limit(LONGEST_LINE)  # the default refuses texts of more than 131072 characters
    try:
        with _open(path) as binary, io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(lines(file, path), delimiter=delimiter, strict=True)
            header = None
            while True:
                place = f"line {reader.line_num + 1}"
                try:
                    fields = next(reader, None)
                except UnicodeDecodeError as error:
                    raise _not_utf8(path, f"near {place}", error) from error
                except csv.Error as error:
                    raise DataError(f"{path} {place} is not CSV ({error})", "quoted fields", "correct it") from error
                if fields is None:
                    return
                if header is None:
                    if "".join(fields).strip() or len(fields) > 1:  # not a blank line
                        header = _header(path, fields)
                elif fields and len(fields) != len(header):
                    raise DataError(
                        f"{path} {place} has {len(fields)} fields", f"{len(header)} as in the header", "correct it"
                    )
                elif fields:
                    yield place, dict(zip(header, fields, strict=True))
    finally:
        csv.field_size_limit(limit)


def _header(path, fields):
    double = next((name for name in fields if fields.count(name) > 1), None)
    if double is not None:
        raise DataError(f"{path} has two columns {double!r}", "different names in its first line", "rename one")
    return fields


def _parquet_rows(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, memory_map=False) as file:
            texts, left = _claims(path, file.metadata), Left(path)
        # Texts stay in their dictionaries, where one that many rows share is held once.
        with pq.ParquetFile(path, memory_map=False, read_dictionary=texts) as file:
            number = 0
            for batch in file.iter_batches(batch_size=BATCH_ROWS, use_threads=False):
                for part in _parts(path, batch, number, left):
                    columns = {name: _values(part.column(name)) for name in part.schema.names}
                    for position in range(part.num_rows):
                        number += 1
                        yield f"row {number}", {name: values[position] for name, values in columns.items()}
    except (pa.ArrowException, LookupError, OverflowError, TypeError, ValueError, MemoryError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"{path} cannot be read as Parquet ({reason})", "a whole Parquet file", "write it again"
        ) from error


def _claims(path, metadata):
    """Return the columns of texts; refuse a file that says itself that it makes too much."""
    claimed = Left(path)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            claimed.take(max(chunk.total_uncompressed_size, VALUE * chunk.num_values))
    columns = map(metadata.schema.column, range(metadata.num_columns))
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _size(array):
    """Return the bytes of the values of a column, each text as often as it occurs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return VALUE * len(array) + (pc.sum(lengths).as_py() or 0)
    if pa.types.is_struct(kind):
        return VALUE * len(array) + sum(map(_size, array.flatten()))
    if pa.types.is_map(kind):
        inner = slice(array.offsets[0].as_py(), array.offsets[-1].as_py())
        return VALUE * len(array) + _size(array.keys[inner]) + _size(array.items[inner])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return VALUE * len(array) + _size(array.flatten())
    return max(VALUE * len(array), array.nbytes)


def _parts(path, batch, before, left):
    """Yield a batch of rows in parts of at most `LONGEST_LINE` bytes; a row that is longer is refused."""
    size = sum(map(_size, batch.columns))
    if size >= checks.LONGEST_LINE and batch.num_rows > 1:
        half = batch.num_rows // 2
        yield from _parts(path, batch.slice(0, half), before, left)
        yield from _parts(path, batch.slice(half), before + half, left)
        return
    if size >= checks.LONGEST_LINE:
        given = f"{path} row {before + 1} has {size} bytes"
        raise DataError(given, f"fewer than {checks.LONGEST_LINE}", "remove it")
    left.take(size)
    yield batch


def _values(column):
    """Return a column as Python values; dates and timestamps as datetimes in UTC, to the millisecond."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        zone = getattr(column.type, "tz", None)
        numbers = column.cast(pa.timestamp("ms", tz=zone), safe=False).cast(pa.int64()).to_pylist()
        return [None if number is None else EPOCH + timedelta(milliseconds=number) for number in numbers]
    return column.to_pylist()


def check_delimiter(delimiter):
    """Refuse a delimiter that is not one character."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise ConfigError(f"delimiter is {delimiter!r}", "one character", "correct it")
    return delimiter
