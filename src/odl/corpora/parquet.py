"""Rows of a Parquet file, within bounds of memory. pyarrow, which is large, is an extra that only such files need."""

import importlib.util
from datetime import timedelta

from odl.corpora import checks
from odl.corpora.checks import Left
from odl.corpora.fields import EPOCH
from odl.errors import DataError

BATCH_ROWS = 1024
VALUE = 8  # bytes that a value counts at least, also one that is missing


def rows(path):
    """Yield (place, row) of a Parquet file; `BATCH_ROWS` rows are in memory at a time.

    Raises
    ------
    DataError
        If the file is none, has too much in it, or pyarrow is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        fault = f"{path} is a Parquet file, and pyarrow, which reads it, is not installed"
        raise DataError(fault, "pyarrow 18 or later", "install it: pip install pyarrow")
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
        fault = f"{path} row {before + 1} has {size} bytes"
        raise DataError(fault, f"fewer than {checks.LONGEST_LINE}", "remove it")
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
