"""The file of one timestep's documents, written from the file of the corpus a run of documents at a time."""

import os
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.errors import DataError
from odl.files import documents as docs
from odl.files import passages, rows, storage
from odl.files.documents import NO_TIME
from odl.stream import batching

SPAN = 4 * rows.PART  # rows of the corpus held at a time, of which a batch may need a few only
STRINGS = ("ids", "titles", "files", "topics", "urls", "texts")


class Whole(NamedTuple):
    """What a batch needs of all documents of a corpus: its words, and where the line of each document ends."""

    vocabulary: list
    ends: dict


_known = {}  # digest of a corpus -> Whole: read once for all batches that a process cuts, however many


def cut(source, order, output, t):
    """Write the documents of one batch (`write`), and return their number and the days they span, as text."""
    with storage.reading(order, "order") as file:
        starts = storage.read_array(file, "starts", "i")
        ordered = storage.dataset_of(file, "rows", "i")
        if np.any(np.diff(starts) < 1) or starts.min(initial=0) < 0 or starts.max(initial=0) > len(ordered):
            raise ValueError("the batches are no parts of the stream")
        if not 0 <= t < len(starts) - 1:
            raise DataError(f"timestep {t}", f"one of 0 to {len(starts) - 2}", "ask for an existing timestep")
        members = ordered[int(starts[t]) : int(starts[t + 1])]
    return said_of(write(source, members, output, t))


def write(source, order, output, t):
    """Write the documents of one batch, with nothing in the file that depends on other documents.

    Parameters
    ----------
    source : path-like
        Documents of the corpus.
    order : ndarray of int64
        Rows of the batch there, in the order of the stream.
    output : path-like
        Written: as `odl.files.documents.write` writes them, with the terms that occur in the batch.
    t : int

    Returns
    -------
    ndarray of int64
        The times of the documents.
    """
    folder = os.path.dirname(os.path.abspath(output))
    with storage.reading(source, "documents") as file:
        counts = rows.Matrix(file, "counts")
        if order.min() < 0 or order.max() >= counts.shape[0]:
            raise ValueError(f"it has {counts.shape[0]} documents, and row {order.max()} is asked for")
        whole = _whole(file)
        small = list(picked(counts, order)) if len(order) <= rows.PART else None  # else it is read twice
        columns, words = _columns(small or picked(counts, order), counts.shape[1], whole.vocabulary)
        digests, times = (_picked(storage.dataset_of(file, name, "iu"), order) for name in ("digests", "times"))
        with storage.writing(output, "batch", t=t, sha256=batching.fingerprint(digests)) as batch:
            shape = (len(order), len(words))
            parts = (
                sparse.csr_array((part.data, columns[part.indices], part.indptr), shape=(part.shape[0], len(words)))
                for part in small or picked(counts, order)
            )
            rows.write_csr(batch, "counts", parts, shape, np.int32, folder)
            storage.write_strings(batch, "vocabulary", words)
            for name, ends in whole.ends.items():
                _write_strings(storage.dataset_of(file, name, "u"), ends, order, batch, name)
            storage.write_array(batch, "times", times)
            if "removed" in file:
                group, names = file["removed"], storage.names_in(file, "removed")
                docs.write_removed(
                    batch, {name: _picked(storage.dataset_of(group, name, "i"), order) for name in names}
                )
            if "shingles" in file:
                shingles = rows.Matrix(file, "shingles")
                shape = (len(order), shingles.shape[1])
                parts = picked(shingles, order)
                rows.write_csr(batch, "shingles", parts, shape, np.uint8, folder)
            if "passages" in file:
                passages.cut(file, order, columns, len(words), batch, picked, folder)
            if "vectors" in file:
                storage.write_array(batch, "vectors", _picked(storage.dataset_of(file, "vectors", "f"), order))
            storage.write_array(batch, "digests", digests)
    return times


def said_of(times):
    """Return how many documents there are, and from which day to which."""
    said = f"{len(times)} documents"
    if times.min() == NO_TIME:
        return said
    first, last = (str(np.datetime64(int(end), "ms").astype("datetime64[D]")) for end in (times.min(), times.max()))
    return f"{said}, {first}" + (f" to {last}" if last != first else "")


def picked(matrix, order):
    """Yield the rows of a matrix in any order, `odl.files.rows.PART` at a time; neighbours are read together."""
    for first in range(0, len(order), rows.PART):
        wanted = order[first : first + rows.PART]
        parts, places = [], []
        for low in range(int(wanted.min()), int(wanted.max()) + 1, SPAN):
            inside = np.flatnonzero((wanted >= low) & (wanted < low + SPAN))
            if len(inside):
                high = int(wanted[inside].max()) + 1
                parts.append(matrix[low:high][wanted[inside] - low])
                places.append(inside)
        whole = sparse.csr_array(sparse.vstack(parts, format="csr"))
        yield whole if len(parts) == 1 else whole[np.argsort(np.concatenate(places))]


def _whole(file):
    """Return what every batch needs of the open file of a corpus."""
    digest = file.attrs["digest"]
    if digest not in _known:
        ends = {}
        for name in (name for name in STRINGS if name in file):
            block = storage.read_array(file, name, "u")
            ends[name] = np.append(np.flatnonzero(block == ord("\n")), len(block))
        _known.clear()
        _known[digest] = Whole(storage.read_strings(file, "vocabulary"), ends)
    return _known[digest]


def _columns(parts, n_terms, vocabulary):
    """Return the batch's column of each term of the corpus, and the batch's words by spelling."""
    occurs = np.zeros(n_terms, dtype=bool)
    for part in parts:
        occurs[part.indices] = True
    used = np.array(sorted(np.flatnonzero(occurs).tolist(), key=vocabulary.__getitem__), dtype=np.int64)
    columns = np.zeros(n_terms, dtype=np.int32)
    columns[used] = np.arange(len(used))
    return columns, [vocabulary[term] for term in used]


def _picked(dataset, order):
    """Return rows of an array of a file, reading the span that holds them."""
    low = int(order.min())
    return dataset[low : int(order.max()) + 1][order - low]


def _write_strings(source, ends, order, file, name):
    """Copy some of the strings of one file to another, as bytes; addresses that are all empty stay away."""
    starts, ends = np.where(order > 0, ends[order - 1] + 1, 0), ends[order]
    length = int((ends - starts).sum()) + len(order) - 1
    if name == "urls" and length == len(order) - 1:
        return
    first = int(starts.min())
    block = source[first : int(ends.max())]
    starts, ends = starts - first, ends - first

    def parts():
        for first in range(0, len(order), rows.PART):
            span = slice(first, first + rows.PART)
            pairs = zip(starts[span].tolist(), ends[span].tolist(), strict=True)
            joined = b"\n".join(block[start:end].tobytes() for start, end in pairs)
            last = first + rows.PART >= len(order)
            yield np.frombuffer(joined if last else joined + b"\n", dtype=np.uint8)

    rows.write_array(file, name, length, np.dtype(np.uint8), rows.reader(parts()))
    file[name].attrs["length"] = len(order)
