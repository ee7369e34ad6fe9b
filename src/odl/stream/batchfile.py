"""Write the documents of one timestep to a batch file, from the files of the corpus."""

import contextlib
import os
import tempfile
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odl.errors import DataError, StorageError
from odl.files import documents as docs
from odl.files import passages, storage
from odl.files.documents import NO_TIME
from odl.stream import batching
from odl.stream.terms import Matrix

MATRIX_ROWS = 1 << 15  # rows of a matrix that are read together
CACHED_FILES = 8  # files whose vocabulary and row ends are cached
BATCH_STRINGS = ("ids", "titles", "files", "topics", "urls", "authors", "sources", "texts")
OMITTED_IF_EMPTY = ("urls", "authors", "sources")  # stored only if a document of the batch has one


class Whole(NamedTuple):
    """Data of a complete file that is read once for all batches.

    Attributes
    ----------
    vocabulary : list of str
    ends : dict
        Name of a string array -> positions of the line breaks after its strings.
    """

    vocabulary: list
    ends: dict


class Part(NamedTuple):
    """The documents of a batch that are stored in one file.

    Attributes
    ----------
    file : h5py.File
    whole : Whole
    rows : ndarray of int64
        Rows in the file.
    places : ndarray of int64
        Positions in the batch, ascending.
    """

    file: Any
    whole: Whole
    rows: np.ndarray
    places: np.ndarray


_known = {}  # digest of a file -> Whole; cache of this process


def cut(source, order, output, t):
    """Write the documents of batch t by `write`; return their number and dates as text.

    Parameters
    ----------
    source, order : path-like
        Documents of the corpus, and their order (`odl.stream.batching.index`).
    output : path-like
        Written: the batch.
    t : int
    """
    with storage.reading(order, "order") as file:
        starts = storage.read_array(file, "starts", "i")
        ordered = storage.dataset_of(file, "rows", "i")
        if not 0 <= t < len(starts) - 1:
            raise DataError(
                f"timestep {t}", f"one of 0 to {len(starts) - 2}", "ask for an existing timestep"
            )
        members = ordered[int(starts[t]) : int(starts[t + 1])]
    return said_of(write(source, members, output, t))


def write(source, order, output, t):
    """Write the documents of one batch. The file depends on these documents only.

    Parameters
    ----------
    source : path-like
        Documents of the corpus. If it lists shares (`odl.corpora.portions.join`), they are next to
        it.
    order : ndarray of int64
        Rows of the batch in `source`, in the order of the stream.
    output : path-like
        Written: the batch in the format of `odl.files.documents.write`, with the terms that occur
        in it.
    t : int

    Returns
    -------
    ndarray of int64
        Times of the documents.
    """
    with storage.reading(source, "documents") as file, contextlib.ExitStack() as stack:
        listed = Part(file, _whole(file), order, np.arange(len(order)))
        digests, times = (_picked([listed], name) for name in ("digests", "times"))
        parts = list(_parts(stack, os.fspath(source), listed))
        counts = _pieces(parts, "counts")
        columns, words = _columns(parts, counts)
        with storage.writing(output, "batch", t=t, sha256=batching.fingerprint(digests)) as batch:
            storage.write_csr(batch, "counts", _stacked(counts, len(words), columns))
            storage.write_strings(batch, "vocabulary", words)
            for name in BATCH_STRINGS:
                _write_strings(batch, name, [listed] if name in docs.LIST_FIELDS else parts)
            storage.write_array(batch, "times", times)
            if "removed" in file:
                names = storage.names_in(file, "removed")
                docs.write_removed(
                    batch, {name: _picked([listed], f"removed/{name}") for name in names}
                )
            if "shingles" in parts[0].file:
                storage.write_csr(
                    batch, "shingles", _stacked(_pieces(parts, "shingles"), docs.N_SHINGLES)
                )
            if "passages" in parts[0].file:
                _write_passages(batch, parts, columns, len(words))
            if "vectors" in parts[0].file:
                storage.write_array(batch, "vectors", _picked(parts, "vectors"))
            storage.write_array(batch, "digests", digests)
    return times


def read(source):
    """Return the documents of a corpus with their words, which may be stored in shares."""
    with storage.reading(source, "documents") as file:
        n, in_shares = int(file["ids"].attrs["length"]), "shares" in file
    if not in_shares:
        return docs.read(source)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "documents.h5")
        write(source, np.arange(n), path, 0)
        return docs.read(path, "batch")


def said_of(times):
    """Return a text with the number of documents and their first and last day."""
    said = f"{len(times)} documents"
    if times.min() == NO_TIME:
        return said
    first, last = (
        str(np.datetime64(int(end), "ms").astype("datetime64[D]"))
        for end in (times.min(), times.max())
    )
    return f"{said}, {first}" + (f" to {last}" if last != first else "")


def _parts(stack, source, listed):
    """Yield a `Part` for each file with words of the batch: each share, or the corpus itself."""
    if "shares" not in listed.file:
        yield listed
        return
    shares, order = docs.read_shares(listed.file), listed.rows
    numbers = np.searchsorted(np.cumsum(shares.sizes), order, side="right")
    inside = _picked([listed], "shares/rows")
    for number in np.unique(numbers).tolist():
        path, places = (
            docs.share_path(source, shares.names[number]),
            np.flatnonzero(numbers == number),
        )
        if not os.path.exists(path):
            raise _unlike(source, f"{path} does not exist")
        file = stack.enter_context(storage.reading(path, docs.SHARE))
        if file.attrs["digest"] != shares.digests[number]:
            raise _unlike(source, f"{path} is another one now")
        yield Part(file, _whole(file), inside[places], places)


def _unlike(source, fault):
    return StorageError(
        fault, f"the share that {source} lists", f"delete {source} and run the same command again"
    )


def _whole(file):
    """Return the `Whole` of an open file, from the cache if possible."""
    digest = file.attrs["digest"]
    if digest not in _known:
        ends = {}
        for name in (name for name in BATCH_STRINGS if name in file):
            block = storage.read_array(file, name, "u")
            ends[name] = np.append(np.flatnonzero(block == ord("\n")), len(block))
        words = storage.read_strings(file, "vocabulary") if "vocabulary" in file else []
        _known[digest] = Whole(words, ends)
        if len(_known) > CACHED_FILES:
            del _known[next(iter(_known))]
    return _known[digest]


def _pieces(parts, name):
    """Return rows of a matrix as a list of (number of the part, matrix of rows, positions in the batch)."""
    pieces = []
    for number, part in enumerate(parts):
        matrix, wanted = Matrix(part.file, name), part.rows
        for low in range(int(wanted.min(initial=0)), int(wanted.max(initial=-1)) + 1, MATRIX_ROWS):
            near = np.flatnonzero((wanted >= low) & (wanted < low + MATRIX_ROWS))
            if len(near):
                high = int(wanted[near].max()) + 1
                pieces.append((number, matrix[low:high][wanted[near] - low], part.places[near]))
    return pieces


def _stacked(pieces, n_columns, columns=None):
    """Return the rows of `_pieces` as one matrix in the order of the batch.

    `columns` has for each part the new column of each of its columns; by default columns are
    unchanged.
    """
    moved = [
        sparse.csr_array(
            (
                piece.data,
                columns[number][piece.indices] if columns else piece.indices,
                piece.indptr,
            ),
            shape=(piece.shape[0], n_columns),
        )
        for number, piece, _ in pieces
    ]
    if not moved:
        return sparse.csr_array((0, n_columns), dtype=np.int32)
    places = np.concatenate([places for _, _, places in pieces])
    return sparse.csr_array(sparse.vstack(moved, format="csr"))[np.argsort(places)]


def _columns(parts, pieces):
    """Return (for each part, the column in the batch of each of its terms; sorted words of the batch)."""
    occurs = [np.zeros(len(part.whole.vocabulary), dtype=bool) for part in parts]
    for number, piece, _ in pieces:
        occurs[number][piece.indices] = True
    used = [np.flatnonzero(terms).tolist() for terms in occurs]
    spelt = [
        [part.whole.vocabulary[term] for term in terms]
        for part, terms in zip(parts, used, strict=True)
    ]
    words = sorted(set().union(*spelt))
    place = {word: column for column, word in enumerate(words)}
    columns = [np.zeros(len(part.whole.vocabulary), dtype=np.int32) for part in parts]
    for column, terms, names in zip(columns, used, spelt, strict=True):
        column[terms] = [place[word] for word in names]
    return columns, words


def _picked(parts, name):
    """Return the rows of an array in the order of the batch."""
    taken = []
    for part in parts:
        dataset, low = storage.dataset_of(part.file, name, "iuf"), int(part.rows.min())
        taken.append(dataset[low : int(part.rows.max()) + 1][part.rows - low])
    if len(taken) == 1:
        return taken[0]
    return np.concatenate(taken)[np.argsort(np.concatenate([part.places for part in parts]))]


def _write_strings(batch, name, parts):
    """Copy the strings of documents as bytes, if a file has them and they are not optional and all empty."""
    texts, holding = (
        [b""] * sum(len(part.rows) for part in parts),
        [part for part in parts if name in part.whole.ends],
    )
    for part in holding:
        ends = part.whole.ends[name]
        first, last = np.where(part.rows > 0, ends[part.rows - 1] + 1, 0), ends[part.rows]
        begin = int(first.min())
        block = storage.dataset_of(part.file, name, "u")[begin : int(last.max())].tobytes()
        for place, low, high in zip(
            part.places.tolist(), (first - begin).tolist(), (last - begin).tolist(), strict=True
        ):
            texts[place] = block[low:high]
    if holding and (name not in OMITTED_IF_EMPTY or any(texts)):
        storage.write_array(batch, name, np.frombuffer(b"\n".join(texts), dtype=np.uint8))
        batch[name].attrs["length"] = len(texts)


def _write_passages(batch, parts, columns, n_terms):
    """Copy the passages of documents, with their words under the columns of the batch."""
    arrays = [passages.arrays(part.file["passages"]) for part in parts]
    lengths = np.zeros(sum(len(part.rows) for part in parts), dtype=np.int64)
    for part, (starts, _, _) in zip(parts, arrays, strict=True):
        lengths[part.places] = np.diff(starts)[part.rows]
    begins = np.append(0, np.cumsum(lengths))
    group, inner = batch.create_group("passages"), []
    keys, sizes = np.empty(begins[-1], dtype=np.uint64), np.empty(begins[-1], dtype=np.int32)
    for part, (starts, own_keys, own_sizes) in zip(parts, arrays, strict=True):
        taken, _ = passages.spans(starts, part.rows)
        places, _ = passages.spans(begins, part.places)
        keys[places], sizes[places] = own_keys[taken], own_sizes[taken]
        inner.append(Part(part.file["passages"], part.whole, taken, places))
    for name, values in (("starts", begins), ("keys", keys), ("sizes", sizes)):
        storage.write_array(group, name, values)
    storage.write_csr(group, "words", _stacked(_pieces(inner, "words"), n_terms, columns))
