"""Data frames of `TextNovelty`: documents (input), results and events (output)."""

import hashlib
from typing import NamedTuple

import numpy as np
import pandas as pd

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
SHOWN_EVENTS = 50  # maximum number of rows in the HTML table of events
STATE_COLOURS = {"new": "#b3470b", "growing": "#1a7f37", "returning": "#7a3fb8"}  # as on the page
BAR_COLOUR = "#9bb8d3"


class FrameDocuments(NamedTuple):
    """Texts, titles, authors and sources of the documents of a frame.

    Attributes
    ----------
    texts : list of str
    titles : list of str
        Title of each document, or its text if it has no title; empty if the frame has no titles.
    authors, sources : list of str
        Author and source of each document, "" if unknown; empty if the frame has no such column.
    """

    texts: list
    titles: list
    authors: list
    sources: list


def read_frame(frame, text, time=None, id=None, strict=False, title=None, author=None, source=None):
    """Parse the documents of a data frame, and list the rows that cannot be read.

    Parameters
    ----------
    frame : pandas.DataFrame, list of str, or object with a method ``to_pandas``
        A list contains the texts.
    text : str
        Column of the texts.
    time, id : str, optional
        Column names; by default "time" and "id", if the frame has them.
    strict : bool
        Whether to raise an error for a row that cannot be read, instead of listing it in `aside`.
    title : str, optional
        Column of titles; by default "title", if the frame has it.
    author, source : str, optional
        Columns of authors and sources.

    Returns
    -------
    aside : pandas.DataFrame
        Reason for each row that cannot be read, with the index of the frame.
    index : pandas.Index
        Index of the readable rows. `ids`, `times` and `documents` contain only the readable rows.
    ids : list or None
        None without a column of ids.
    times : ndarray of int64 or None
        Milliseconds since 1970; None without a column of times.
    documents : FrameDocuments

    Raises
    ------
    ParameterError
        If `frame` is not a data frame, a column is missing, no row can be read, or with `strict`
        any row cannot be read.
    """
    frame = _as_pandas(frame, text)
    columns = {"text": text, "time": time, "id": id, "title": title}
    columns = _choose_columns(frame, columns, {"author": author, "source": source})
    values = {name: [*map(_or_none, frame[column].tolist())] for name, column in columns.items()}
    read, aside = {name: [] for name in ("row", *values)}, {}
    for row, document in enumerate(zip(*values.values(), strict=True)):
        try:
            parsed = [*map(_parse_value, values, document)]
        except (ValueError, OverflowError) as error:
            aside[row] = str(error)
            # If the order of day and month is ambiguous, times of other rows may have been
            # misread, so the frame is refused.
            strict = strict or "begin with the day" in aside[row]
            if strict:
                break
        else:
            for name, value in zip(read, (row, *parsed), strict=True):
                read[name].append(value)
    if aside and (strict or not read["row"]):
        # The row that ended the loop, or the first row if no row can be read.
        row = list(aside)[-1 if strict else 0]
        name = values["id"][row] if "id" in values else None
        raise _unreadable(frame.index[row] if name is None else name, aside[row], "time" in values)
    if not read["row"]:
        raise ParameterError("a frame without documents", "at least one row", "pass documents")
    reasons = pd.Series([*aside.values()], index=frame.index[list(aside)], dtype=object)
    times = np.array(read["time"], dtype=np.int64) if "time" in read else None
    titles = zip(read.get("title", ()), read["text"], strict="title" in read)
    documents = FrameDocuments(
        read["text"],
        [one_line(title or text) for title, text in titles],
        read.get("author", []),
        read.get("source", []),
    )
    index = frame.index[read["row"]]
    return pd.DataFrame({"reason": reasons}), index, read.get("id"), times, documents


def _unreadable(name, reason, has_time):
    """Return the ParameterError for a document that cannot be read; `name` is its id or index."""
    expected = "a text and a time" if has_time else "a text"
    hint = " (e.g. pandas.to_datetime with dayfirst)" if "begin with the day" in reason else ""
    return ParameterError(
        f"document {name!r} of the frame: {reason}",
        f"{expected} for every document",
        f"correct or drop the row{hint}",
    )


def _choose_columns(frame, columns, optional):
    """Return {role: column of the frame}, for the roles that the frame has.

    Parameters
    ----------
    frame : pandas.DataFrame
    columns, optional : dict
        Role -> name of the column that the user gave, or None. None stands for the column with the
        name of the role if the role is in `columns`, and for no column if it is in `optional`.
    """
    chosen = {}
    for role, column in {**columns, **optional}.items():
        if column is None:
            if role in optional or role not in frame.columns:
                continue
            column = role
        if column not in frame.columns:
            existing = ", ".join(map(str, frame.columns[:20]))
            raise ParameterError(
                f"no column {column!r} for {role}", f"one of {existing}", f"pass {role}=..."
            )
        if list(frame.columns).count(column) > 1:
            raise ParameterError(
                f"the frame has two columns {column!r}", "different names", "rename one"
            )
        chosen[role] = column
    return chosen


def _or_none(value):
    """Return a value, or None if it is a missing value of pandas (NA, NaT, NaN)."""
    return None if pd.api.types.is_scalar(value) and pd.isna(value) else value


def _parse_value(name, value):
    """Parse a value of a column; raise ValueError if a text, time or id is missing or invalid."""
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


def _as_pandas(frame, text):
    """Convert a frame of another library, or a list of texts, to a pandas data frame."""
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

    The batches are those of `odl.stream.batching`.

    Parameters
    ----------
    times : ndarray of int64 or None
        Milliseconds since 1970.
    n_documents : int
    period : {"day", "week", "month", "quarter", "year"}, optional
        Calendar period of a batch. By default all documents are one batch.
    initial : int
        Minimum number of documents in the first batch, which consists of complete periods.

    Returns
    -------
    list of ndarray of int

    Raises
    ------
    ParameterError
        If `period` is set and the frame has no times.
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
    """Return the results of all batches as a data frame, with the index and order of the input.

    Parameters
    ----------
    index : pandas.Index
        Index of the input frame.
    ids : list
    times : ndarray or None
    parts : list of dict
        Columns of each batch. "row" is the position in the input frame, "item" that of the first
        near-duplicate.

    Returns
    -------
    pandas.DataFrame
        Rows that are not in a batch are omitted.
    """
    empty = {name: [] for name in RESULT_COLUMNS}
    frame = pd.concat([pd.DataFrame(part) for part in parts or [empty]]).sort_values("row")
    rows = frame.pop("row").to_numpy(dtype=np.int64)
    frame["item"] = [ids[row] for row in frame["item"]]
    frame.index = index[rows]
    frame.insert(0, "id", [ids[row] for row in rows])
    if times is not None:
        frame.insert(1, "time", pd.to_datetime(times[rows], unit="ms", utc=True))
    return frame


class EventTable(pd.DataFrame):
    """Data frame with one row per event, indexed by event number.

    The columns are the name, words, state, first batch and number of documents of an event. A
    selection of rows is an `EventTable` too.

    Examples
    --------
    >>> from odl.detector.frames import EventTable
    >>> row = {"name": "orbit", "words": "orbit", "state": "new", "birth": 3, "documents": 7}
    >>> "1 event" in EventTable([row])._repr_html_()
    True
    """

    @property
    def _constructor(self):
        return EventTable

    def _repr_html_(self) -> str:
        """Return the newest events as an HTML table with at most `SHOWN_EVENTS` rows.

        Without the columns "state" and "documents", the result is the HTML table of pandas.
        """
        if not {"state", "documents"} <= {*self.columns} or self.empty:
            return super()._repr_html_()  # type: ignore[operator]
        table = pd.DataFrame(self.sort_index(ascending=False).iloc[:SHOWN_EVENTS])
        digest = hashlib.sha256(table.to_csv().encode()).hexdigest()[:8]  # equal tables, equal HTML
        count = f"{len(self):,} event{'s' * (len(self) != 1)}"
        caption = f"{count}, the newest {len(table)}" if len(table) < len(self) else count
        style = table.style.set_uuid(digest).set_caption(caption).format(escape="html")
        style = style.format("{:,}", subset=["documents"])
        style = style.map(lambda state: f"color: {STATE_COLOURS.get(state, 'inherit')}", ["state"])
        texts = [name for name in ("name", "words") if name in table]
        style = style.set_properties(texts, **{"text-align": "left", "max-width": "28em"})
        return style.bar(["documents"], color=BAR_COLOUR, vmin=0).to_html()
