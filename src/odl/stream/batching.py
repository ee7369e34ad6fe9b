"""Order the documents of a stream and cut them into batches.

The protocol ``by-date`` uses all documents. With ``topic-entry``, each held-back topic enters at a
random batch; its earlier documents are dropped, so that the novel documents are known. Random
choices depend on the seed and on names, not on positions, so that appended documents do not change
them.
"""

import contextlib
import hashlib
import sys
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from odl.config.sections import Order, TopicEntry
from odl.errors import DataError, StorageError
from odl.files import documents as docs
from odl.files import provenance, storage
from odl.files.documents import NO_TIME
from odl.files.tables import read_cells, write_table

PERIODS = {"day": "D", "week": "W", "month": "M", "quarter": "3M", "year": "Y"}  # units of NumPy
WEEK_SHIFT_MS = 3 * 86_400_000  # NumPy's weeks begin on Thursday; with this shift, on Monday


def draw(seed: int, *names: str) -> float:
    """Return a pseudorandom number in [0, 1) that depends only on the seed and the names.

    Examples
    --------
    >>> from odl.stream.batching import draw
    >>> draw(0, "entry", "oil") == draw(0, "entry", "oil") != draw(1, "entry", "oil")
    True
    """
    text = "\0".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big") / 2.0**56


def entry_of(topic: str, entry: TopicEntry, seed: int) -> int:
    """Return the batch at which a topic enters the stream, 0 if it is not held back.

    Examples
    --------
    >>> from odl.config.sections import TopicEntry
    >>> from odl.stream.batching import entry_of
    >>> entry = TopicEntry(held_back=0.5, first=1, last=3)
    >>> {topic: entry_of(topic, entry, 0) for topic in ("oil", "space", "sport", "trade")}
    {'oil': 0, 'space': 3, 'sport': 1, 'trade': 0}
    """
    if draw(seed, "held back", topic) >= entry.held_back:
        return 0
    return entry.first + int(draw(seed, "entry", topic) * (entry.last - entry.first + 1))


def order(ids: Sequence[str], times: np.ndarray, seed: int, ties: str = "seeded") -> np.ndarray:
    """Return the rows of documents sorted by time.

    Parameters
    ----------
    ids : list of str
    times : ndarray of int64
        Milliseconds of Unix time; all `NO_TIME` for a corpus without dates.
    seed : int
    ties : {"seeded", "source"}
        Order of documents with equal times: by sha256 of (seed, id), or as in the source.

    Returns
    -------
    ndarray of int64
        Rows in stream order.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.stream.batching import order
    >>> order(["a", "b", "c"], np.array([20, 10, 10]), seed=0, ties="source")
    array([1, 2, 0])
    """
    missing = np.flatnonzero(times == NO_TIME)
    if 0 < len(missing) < len(times):
        first = ids[int(missing[0])]
        fault = f"{len(missing)} of {len(times)} documents have no time (the first is {first!r})"
        todo = "add the times, or omit the time column"
        raise DataError(fault, "a time for every document, or for none", todo)
    rows = np.argsort(times, kind="stable")
    if ties == "source":
        return rows
    starts = np.flatnonzero(np.append(True, np.diff(times[rows]) != 0))
    for first, last in pairwise([*starts.tolist(), len(rows)]):
        if last - first > 1:
            rows[first:last] = sorted(
                rows[first:last],
                key=lambda row: hashlib.sha256(f"{seed}\0{ids[row]}".encode()).digest(),
            )
    return rows


class Listed(NamedTuple):
    """The documents of a stream with the fields that `split` uses.

    The fields are those of `odl.files.documents.Documents`.
    """

    ids: Sequence[str]
    times: np.ndarray
    files: Sequence[str]
    topics: Sequence[tuple[str, ...]]


def split(documents: Any, stream: Order, seed: int = 0) -> list[np.ndarray]:
    """Order documents and cut them into batches; batch 0 initialises the dictionary.

    Parameters
    ----------
    documents : odl.files.documents.Documents or Listed
    stream : odl.config.sections.Order
        Protocol, order of documents with equal times, and definition of a batch.
    seed : int

    Returns
    -------
    list of ndarray of int64
        Rows of each batch.

    Raises
    ------
    DataError
        If only some documents have a time, or there are too few for two batches.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.config.sections import Batches, Order
    >>> from odl.stream.batching import Listed, split
    >>> documents = Listed(list("abcde"), np.arange(5), [""] * 5, [()] * 5)
    >>> split(documents, Order(batches=Batches(documents=2, initial=2)))
    [array([0, 1]), array([2, 3]), array([4])]
    """
    settings = stream.batches
    entry = stream.topic_entry if stream.protocol == "topic-entry" else None
    rows = order(documents.ids, documents.times, seed, stream.ties)
    if settings.by == "file":
        names = np.array(documents.files, dtype=object)[rows]
        rows = rows[np.argsort(names.astype(str), kind="stable")]
    size = settings.documents if settings.by == "documents" else None
    is_dropped = _held_back(documents.topics, entry, seed) if entry else None
    batches = cut(rows, _keys(rows, documents, settings), settings.initial, size, is_dropped)
    is_complete = False
    if size is not None:
        is_complete = len(batches[-1]) >= (size if len(batches) > 1 else settings.initial)
    if not (len(batches[-1]) and (settings.flush or is_complete)):
        batches.pop()
    if len(batches) < 2:
        expected = f"more documents than the {settings.initial} that initialise the dictionary"
        todo = "add documents, or lower batches.initial"
        todo += " or topic_entry.held_back" if entry else ""
        raise DataError(f"{len(rows)} documents make {len(batches)} batch", expected, todo)
    return batches


def cut(rows, keys, initial, documents=None, held_back=None):
    """Cut ordered documents into batches of a given size, or where their keys change.

    Parameters
    ----------
    rows : sequence of int
    keys : sequence
        Period or file of each document.
    initial : int
        Smallest size of the first batch.
    documents : int, optional
        Size of every other batch. If given, keys are not used.
    held_back : callable, optional
        ``held_back(row, batch)`` returns whether the document is dropped from this batch.

    Returns
    -------
    list of ndarray of int64
        Rows of each batch. The last batch may be incomplete, or empty if its documents are dropped.
    """
    batches, current, last_key = [], [], None
    for row, key in zip(rows, keys, strict=True):
        if documents is None:
            may_end = bool(batches) or len(current) >= initial
            is_full = bool(current) and key != last_key and may_end
        else:
            is_full = len(current) >= (documents if batches else initial)
        if is_full:
            batches.append(np.array(current, dtype=np.int64))
            current = []
        last_key = key
        if held_back is None or not held_back(row, len(batches)):
            current.append(row)
    return [*batches, np.array(current, dtype=np.int64)]


def _held_back(topics, entry, seed):
    """Return the argument `held_back` of `cut` for the topic-entry protocol."""
    first_batch = cache(lambda topic: entry_of(topic, entry, seed))
    return lambda row, batch: any(first_batch(topic) > batch for topic in topics[row])


def periods_of(times, period):
    """Return the calendar period (UTC) of each time in milliseconds, as a date or a number.

    Equal values mean equal periods. `period` is a key of `PERIODS`. Weeks begin on Monday.
    """
    shifted = times + (WEEK_SHIFT_MS if period == "week" else 0)
    return shifted.astype("datetime64[ms]").astype(f"datetime64[{PERIODS[period]}]").tolist()


def begin_of(time, period):
    """Return the start of the calendar period (UTC) that contains a time.

    Both times are in milliseconds since 1970; `period` is a key of `PERIODS`. Weeks begin on
    Monday.
    """
    shift = WEEK_SHIFT_MS if period == "week" else 0
    start = np.datetime64(int(time) + shift, "ms").astype(f"datetime64[{PERIODS[period]}]")
    return int(start.astype("datetime64[ms]").astype(np.int64)) - shift


def _keys(rows, documents, settings):
    """Return the key of each document, which changes where a batch ends (see `cut`).

    The key depends on ``settings.by``: the file of a document, the calendar period of its time, or
    0. DataError is raised if batches are periods and the documents have no times.
    """
    if settings.by == "file":
        return [documents.files[row] for row in rows]
    if settings.by == "period":
        if len(rows) and documents.times[rows[0]] == NO_TIME:
            raise DataError(
                "the documents have no times",
                "a time for every document, since batches are periods",
                "use batches by documents or by file",
            )
        return periods_of(documents.times[rows], settings.period)
    return [0] * len(rows)


def fingerprint(digests):
    """Return the sha256 of the digests of a batch's documents, in their order."""
    return hashlib.sha256(np.ascontiguousarray(digests).tobytes()).hexdigest()


def index(source, table, output, *, seed, stream, made=None):
    """Cut the stream into batches and write their index.

    Parameters
    ----------
    source : path-like
        Documents of the corpus.
    table : path-like
        Written: index.tsv with one row per batch (t, documents, first, last, sha256).
    output : path-like
        Written: the rows of each batch.
    seed : int
    stream : odl.config.sections.Order
    made : path-like, optional
        Folder of the existing batches. A warning is printed if a complete batch changes.
    """
    with storage.reading(source, "documents") as file:
        ids, files = storage.read_strings(file, "ids"), storage.read_strings(file, "files")
        listed = Listed(ids, storage.read_array(file, "times", "i"), files, docs.read_topics(file))
        digests = storage.read_array(file, "digests", "u", ndim=2)
    parts = split(listed, stream, seed)
    sums = [fingerprint(digests[part]) for part in parts]
    _warn_of_late_documents(made, table, sums)
    lines = [
        {
            "t": t,
            "documents": len(part),
            "first": ids[part[0]],
            "last": ids[part[-1]],
            "sha256": digest,
        }
        for t, (part, digest) in enumerate(zip(parts, sums, strict=True))
    ]
    write_table(table, lines)
    provenance.note(storage.sha256_of(table))
    with storage.writing(output, "order") as file:
        storage.write_array(file, "rows", np.concatenate(parts))
        storage.write_array(file, "starts", np.cumsum([0] + [len(part) for part in parts]))


def _warn_of_late_documents(made, table, sums):
    """Warn if the documents of a batch before the last have changed.

    No warning is needed for the last batch, which may grow.
    """
    stored = _digests_of(made, table)
    changed = [t for t, digest in sorted(stored.items()) if t >= len(sums) or digest != sums[t]]
    if changed and changed[0] != max(stored):
        print(
            f"odl index: documents of batch {changed[0]} were added, edited or removed; "
            f"timestep {changed[0]} and every later timestep are computed again",
            file=sys.stderr,
        )


def _digests_of(made, table):
    """Return {timestep: sha256} for the batch files in the folder `made`.

    The digests are read from the earlier index (`table`) or, if it does not exist, from the batch
    files. Damaged batch files are omitted.
    """
    paths = {path.stem: path for path in Path(made).glob("*.h5")} if made else {}
    with contextlib.suppress(StorageError):
        columns, rows = read_cells(table)
        cells = [dict(zip(columns, row, strict=True)) for row in rows]
        return {int(cell["t"]): cell["sha256"] for cell in cells if cell["t"] in paths}
    stored = {}  # Snakemake deletes the index before it runs the job
    for stem, path in paths.items():
        with contextlib.suppress(StorageError, ValueError), storage.reading(path, "batch") as file:
            stored[int(stem)] = str(file.attrs["sha256"])
    return stored
