"""Documents in the order of the stream, cut into batches.

Protocols: ``by-date`` takes the documents as they come; ``topic-entry`` holds a seeded set of topics
back, each until a seeded batch before which its documents are dropped, so that a corpus in which all
topics occur from the start has controlled novelty. Every choice is drawn from a hash of the seed
and a name, never from a position, so that appended documents change no earlier choice.
"""

import hashlib
import numbers
from dataclasses import dataclass

import numpy as np

from odl.errors import DataError, ParameterError
from odl.files.documents import NO_TIME

PERIODS = {"day": "D", "week": "W", "month": "M", "year": "Y"}


def draw(seed, *names):
    """Return a number in [0, 1) that depends on the seed and the names only."""
    text = "\0".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big") / 2.0**56


@dataclass(frozen=True)
class Entry:
    """Schedule of the topic-entry protocol.

    Parameters
    ----------
    held_back : float
        Share of the topics that is held back, each drawn on its own.
    first, last : int
        Range of the entry batches (uniform, both included).
    """

    held_back: float
    first: int
    last: int

    def __post_init__(self):
        numeric = all(isinstance(value, numbers.Real) for value in (self.held_back, self.first, self.last))
        if not (numeric and 0 <= self.held_back <= 1 and 1 <= self.first <= self.last):
            raise ParameterError(f"{self}", "0 <= held_back <= 1 and 1 <= first <= last", "correct topic_entry")

    def batch_of(self, seed, topic):
        """Return the batch from which the topic is let in; 0 for a topic that is not held back."""
        if draw(seed, "held back", topic) >= self.held_back:
            return 0
        return self.first + int(draw(seed, "entry", topic) * (self.last - self.first + 1))


def order(ids, times, seed, ties="seeded"):
    """Sort documents by time.

    Parameters
    ----------
    ids : list of str
    times : ndarray of int64
        Milliseconds; all `NO_TIME` for a corpus without dates.
    seed : int
    ties : {"seeded", "source"}
        Order among equal times: by sha256 of (seed, id), or as in the source.

    Returns
    -------
    ndarray of int64
        Rows in stream order.
    """
    missing = int(np.count_nonzero(times == NO_TIME))
    if 0 < missing < len(times):
        first = ids[int(np.flatnonzero(times == NO_TIME)[0])]
        raise DataError(
            f"{missing} of {len(times)} documents have no time (the first is {first!r})",
            "a time for every document, or for none",
            "add the times or leave the time column out",
        )
    if ties not in ("seeded", "source"):
        raise ParameterError(f"ties is {ties!r}", "'seeded' or 'source'", "choose one of these")
    if ties == "source":
        return np.argsort(times, kind="stable")
    keys = [hashlib.sha256(f"{seed}\0{name}".encode()).digest() for name in ids]
    return np.array(sorted(range(len(ids)), key=lambda row: (times[row], keys[row])), dtype=np.int64)


def split(rows, times, files, topics, *, by, documents, period, initial, flush, entry=None, seed=0):
    """Cut the ordered stream into batches; batch 0 initialises the dictionary.

    Parameters
    ----------
    rows : ndarray of int64
        Documents in stream order (`order`).
    times, files, topics
        Of all documents, as in `odl.files.documents.Documents`.
    by : {"documents", "period", "file"}
        A number of documents, a calendar period (UTC), or one source file a batch.
    documents : int
        Batch size for ``by="documents"``.
    period : {"day", "week", "month", "year"}
    initial : int
        Documents of batch 0; for periods and files, whole ones until there are at least so many.
    flush : bool
        Whether the last batch, which may still grow, is processed.
    entry : Entry, optional
        Topic-entry schedule; none for ``by-date``.
    seed : int

    Returns
    -------
    list of ndarray of int64
        Rows of each batch.
    """
    if by not in ("documents", "period", "file") or period not in PERIODS:
        expected = f"by documents, period or file, and a period among {', '.join(PERIODS)}"
        raise ParameterError(f"batches by {by!r} with period {period!r}", expected, "choose one of these")
    if documents < 1 or initial < 1:
        raise ParameterError(f"batches of {documents}, the first of {initial}", "at least 1 document", "correct it")
    if by == "file":
        names = np.array(files, dtype=object)[rows]
        rows = rows[np.argsort(names.astype(str), kind="stable")]
    keys = _keys(rows, times, files, by, period)
    entries = {}
    batches, current, last_key = [], [], None
    for position, row in enumerate(rows):
        limit = initial if not batches else documents
        full = (
            len(current) >= limit
            if by == "documents"
            else (bool(current) and keys[position] != last_key and (bool(batches) or len(current) >= initial))
        )
        if full:
            batches.append(np.array(current, dtype=np.int64))
            current = []
        last_key = keys[position]
        if entry is not None and _held_back(topics[row], entries, entry, seed, len(batches)):
            continue
        current.append(row)
    complete = by == "documents" and len(current) >= (documents if batches else initial)
    if current and (flush or complete):
        batches.append(np.array(current, dtype=np.int64))
    if len(batches) < 2:
        raise DataError(
            f"{len(rows)} documents make {len(batches)} batch",
            f"more than the {initial} that initialise the dictionary",
            "give more documents, or lower batches.initial" + (" or topic_entry.held_back" if entry else ""),
        )
    return batches


def _held_back(topics, entries, entry, seed, batch):
    for topic in topics:
        if topic not in entries:
            entries[topic] = entry.batch_of(seed, topic)
    return any(entries[topic] > batch for topic in topics)


def _keys(rows, times, files, by, period):
    if by == "file":
        return [files[row] for row in rows]
    if by == "period":
        if len(rows) and times[rows[0]] == NO_TIME:
            raise DataError("documents without times", "times", "use batches by documents or by file")
        # Weeks of numpy start on Thursday 1970-01-01: move them to Monday.
        stamps = times[rows] + (3 * 86_400_000 if period == "week" else 0)
        return stamps.astype("datetime64[ms]").astype(f"datetime64[{PERIODS[period]}]").tolist()
    return [0] * len(rows)


def fingerprint(digests):
    """Return the sha256 of a batch from the digests of its documents, in order."""
    return hashlib.sha256(np.ascontiguousarray(digests).tobytes()).hexdigest()
