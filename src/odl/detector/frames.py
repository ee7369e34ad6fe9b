"""Data frames of `TextNovelty`: read documents, cut batches by period, build the results."""

from typing import NamedTuple

import numpy as np

from odl.corpora import fields
from odl.errors import ParameterError
from odl.files.documents import NO_TIME, one_line
from odl.stream import batching

RESULT_COLUMNS = (
    "row",
    "batch",
    "item",
    "score",
    "tail",
    "event",
    "alert",
    "headline",
    "opening",
    "reasons",
)
NO_NAMES: list = []  # authors or sources of documents without these columns; never changed in place


class FrameDocuments(NamedTuple):
    """Texts, titles, authors and sources of the documents of a frame.

    Attributes
    ----------
    texts : list of str
    titles : list of str or None
        Without a title, a document has its text here. None without a column of titles.
    authors, sources : list of str
        "" for a document without author or source. The list is empty without such a column.
    """

    texts: list
    titles: list | None = None
    authors: list = NO_NAMES
    sources: list = NO_NAMES


def read_frame(frame, text, time=None, id=None, strict=False, title=None, author=None, source=None):
    """Return the documents of a data frame, and the rows that cannot be read.

    Parameters
    ----------
    frame : pandas.DataFrame, list of str, or object with a method ``to_pandas``
        A list contains the texts.
    text : str
        Column of the texts.
    time, id : str, optional
        Column names; by default "time" and "id", if the frame has them.
    strict : bool
        Raise an error for a row that cannot be read; otherwise it is listed in `aside`.
    title : str, optional
        Column of titles; by default "title", if the frame has it.
    author, source : str, optional
        Columns of authors and sources.

    Returns
    -------
    aside : pandas.DataFrame
        Index of each row that cannot be read, and the reason.
    index : pandas.Index
        Index of the readable rows; the following values are of these rows.
    ids : list or None
    times : ndarray of int64 or None
        Milliseconds since 1970.
    documents : FrameDocuments

    Raises
    ------
    ParameterError
        If `frame` is no data frame, a column is missing, no row can be read, or (`strict`) one row
        cannot.
    """
    frame, names = _as_pandas(frame, text), {}
    columns = {
        "text": text,
        "time": time,
        "id": id,
        "title": title,
        "author": author,
        "source": source,
    }
    for name, column in columns.items():
        if column is None and name in ("author", "source"):
            continue
        if column in frame.columns or (column is None and name in frame.columns):
            names[name] = name if column is None else column
        elif column is not None:
            existing = ", ".join(map(str, frame.columns[:20]))
            raise ParameterError(
                f"no column {column!r} for {name}", f"one of {existing}", f"pass {name}=..."
            )
        if name in names and list(frame.columns).count(names[name]) > 1:
            raise ParameterError(f"two columns {names[name]!r}", "different names", "rename one")
    values = {name: [*map(_or_none, frame[column].tolist())] for name, column in names.items()}
    read, aside = {name: [] for name in ("row", *names)}, {}
    for row, document in enumerate(zip(*values.values(), strict=True)):
        try:
            for name, value in zip(values, map(_parse_value, values, document), strict=True):
                read[name].append(value)
            read["row"].append(row)
        except (ValueError, OverflowError) as error:
            for name in values:
                del read[name][len(read["row"]) :]
            aside[row] = str(error)
            # If a time may begin with the day or with the month, times of other rows may have been
            # misread, so the frame is refused.
            if strict := strict or "begin with the day" in aside[row]:
                break
    if aside and (strict or not read["row"]):
        row, reason = list(aside.items())[-1 if strict else 0]
        name = (values.get("id") or [None] * (row + 1))[row]
        refusal = f"document {frame.index[row] if name is None else name!r} of the frame: {reason}"
        expected = (
            "a text and a time for every document"
            if "time" in values
            else "a text for every document"
        )
        hint = " (pandas.to_datetime has dayfirst)" if "begin with the day" in refusal else ""
        raise ParameterError(refusal, expected, f"correct or drop the row{hint}")
    if not read["row"]:
        raise ParameterError("a frame without documents", "at least one row", "pass documents")
    times = np.array(read["time"], dtype=np.int64) if "time" in values else None
    bad = _table_of_reasons(frame.index[list(aside)], aside.values())
    titles = None
    if "title" in names:
        titles = [
            one_line(title or text) for title, text in zip(read["title"], read["text"], strict=True)
        ]
    documents = FrameDocuments(
        read["text"], titles, read.get("author", NO_NAMES), read.get("source", NO_NAMES)
    )
    return bad, frame.index[read["row"]], read.get("id"), times, documents


def _or_none(value):
    """Return a value, or None if it is a missing value of pandas (NA, NaT, NaN)."""
    import pandas as pd

    return (
        None
        if value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)
        else value
    )


def _parse_value(name, value):
    """Parse a value of a column; raise ValueError if a text, time or id is missing or wrong."""
    if name == "title":
        return "" if value is None else str(value)
    if name == "source":
        return fields.parse_source(value)
    if name == "author":
        return fields.parse_author(value)
    if value is None:
        raise ValueError(f"the {name} is missing")
    if name == "id":
        return value
    parsed = fields.parse_text(value) if name == "text" else fields.parse_time(value)
    if name == "time" and parsed == NO_TIME:
        raise ValueError("the time is missing")
    return parsed


def _table_of_reasons(index, reasons):
    import pandas as pd

    return pd.DataFrame({"reason": pd.Series(list(reasons), index=index, dtype=object)})


def _as_pandas(frame, text):
    """Convert a frame of another library, or a list of texts, to a pandas data frame."""
    import pandas as pd

    try:
        frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    except ImportError as error:  # polars needs pyarrow for the conversion
        raise ParameterError(
            f"a frame of {type(frame).__module__.partition('.')[0]} ({error})",
            "a frame that converts to pandas",
            "install the missing package, or pass a pandas.DataFrame",
        ) from error
    if isinstance(frame, list | tuple) or getattr(frame, "ndim", None) == 1:
        frame = pd.DataFrame({text: frame})
    if not isinstance(frame, pd.DataFrame):
        raise ParameterError(
            f"a {type(frame).__name__} as the frame",
            "a data frame of pandas or polars, or a list of texts",
            f"pass e.g. pandas.DataFrame({{{text!r}: texts}})",
        )
    return frame


def batches(times, n_documents, period=None, initial=1):
    """Return the row numbers of each batch, sorted by time.

    Batches are cut as in `odl.stream.batching`.

    Parameters
    ----------
    times : ndarray of int64 or None
        Milliseconds since 1970.
    n_documents : int
    period : {"day", "week", "month", "quarter", "year"}, optional
        Calendar period of a batch; None puts all documents into one batch.
    initial : int
        Minimum number of documents in the first batch. It takes complete periods until then.
    """
    if times is None:
        if period is not None:
            raise ParameterError(
                f"period={period!r} for a frame without times",
                "a column of times",
                "pass time=..., or period=None",
            )
        return [np.arange(n_documents)]
    rows = batching.order([], times, 0, "source")
    if period is None:
        return [rows]
    return batching.cut(rows, batching.periods_of(times[rows], period), initial)


def table(index, ids, times, parts):
    """Return the results of all batches as a data frame.

    Index and order are those of the input frame.

    Parameters
    ----------
    index : pandas.Index
    ids : list
    times : ndarray or None
    parts : list of dict
        Columns of each batch. "row" is the position in the input frame, "item" the position of the
        first near-duplicate. Documents of no batch are omitted.
    """
    import pandas as pd

    empty = {name: [] for name in RESULT_COLUMNS}
    frame = pd.concat([pd.DataFrame(part) for part in parts or [empty]]).sort_values("row")
    rows = frame.pop("row").to_numpy(dtype=np.int64)
    frame["item"] = [ids[row] for row in frame["item"]]
    frame.index = index[rows]
    frame.insert(0, "id", [ids[row] for row in rows])
    if times is not None:
        frame.insert(1, "time", pd.to_datetime(times[rows], unit="ms", utc=True))
    return frame
