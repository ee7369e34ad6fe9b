"""Write the documents of one timestep to a batch file, from the files of the corpus."""

import contextlib
import os
import tempfile
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odl.errors import DataError, StorageError
from odl.files import documents as docs
from odl.files import passages, storage
from odl.files.documents import NO_TIME
from odl.stream import batching
from odl.stream.terms import Matrix

MATRIX_ROWS = 1 << 15  # number of matrix rows that are read in one block
CACHED_FILES = 8  # number of corpus files whose `FileData` is cached
BATCH_STRINGS = (
    "ids",
    "titles",
    "files",
    "topics",
    "urls",
    "authors",
    "sources",
    "facets",
    "texts",
)
# Fields that are stored only if a document of the batch has one.
OMITTED_IF_EMPTY = ("urls", "authors", "sources", "facets")


class FileData(NamedTuple):
    """Data of a corpus file that is read once and used for all batches.

    Attributes
    ----------
    vocabulary : list of str
    ends : dict of str to ndarray
        For each field of strings, the positions of the line breaks that end them.
    """

    vocabulary: list
    ends: dict


class Part(NamedTuple):
    """The documents in a batch that come from one corpus file.

    Attributes
    ----------
    file : h5py.File
    data : FileData
    rows : ndarray of int64
        Row of each document in the file.
    positions : ndarray of int64
        Position of each document in the batch, ascending.
    """

    file: Any
    data: FileData
    rows: np.ndarray
    positions: np.ndarray


_cache = {}  # digest of a file -> FileData


def cut(source, order, output, t):
    """Write the documents of batch t; return a text with their number and their dates.

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
                f"timestep {t} does not exist",
                f"one of 0 to {len(starts) - 2}",
                "choose an existing timestep",
            )
        members = ordered[int(starts[t]) : int(starts[t + 1])]
    return describe(write(source, members, output, t))


def write(source, order, output, t):
    """Write the documents of one batch. The file depends on these documents only.

    Parameters
    ----------
    source : path-like
        Documents of the corpus, or the list of a corpus whose documents are in shares
        (`odl.corpora.portions`).
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
        corpus = Part(file, _data_of(file), order, np.arange(len(order)))
        digests, times = (_read_rows([corpus], name) for name in ("digests", "times"))
        parts = list(_parts(stack, os.fspath(source), corpus))
        counts = _pieces(parts, "counts")
        columns, words = _columns(parts, counts)
        with storage.writing(output, "batch", t=t, sha256=batching.fingerprint(digests)) as batch:
            storage.write_csr(batch, "counts", _stack(counts, len(words), columns))
            storage.write_strings(batch, "vocabulary", words)
            for name in BATCH_STRINGS:
                _write_strings(batch, name, [corpus] if name in docs.LIST_FIELDS else parts)
            storage.write_array(batch, "times", times)
            if "removed" in file:
                names = list(file["removed"])
                docs.write_removed(
                    batch, {name: _read_rows([corpus], f"removed/{name}") for name in names}
                )
            if "shingles" in parts[0].file:
                storage.write_csr(
                    batch, "shingles", _stack(_pieces(parts, "shingles"), docs.N_SHINGLES)
                )
            if "passages" in parts[0].file:
                _write_passages(batch, parts, columns, len(words))
            if "vectors" in parts[0].file:
                storage.write_array(batch, "vectors", _read_rows(parts, "vectors"))
            storage.write_array(batch, "digests", digests)
    return times


def read(source):
    """Return all documents of a corpus, with their words."""
    with storage.reading(source, "documents") as file:
        n, in_shares = int(file["ids"].attrs["length"]), "shares" in file
    if not in_shares:
        return docs.read(source)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "documents.h5")
        write(source, np.arange(n), path, 0)
        return docs.read(path, "batch")


def describe(times):
    """Return a text with the number of documents and their first and last day."""
    text = f"{len(times)} documents"
    if times.min() == NO_TIME:
        return text
    first, last = (
        str(np.datetime64(int(end), "ms").astype("datetime64[D]"))
        for end in (times.min(), times.max())
    )
    return f"{text}, {first}" + (f" to {last}" if last != first else "")


def _parts(stack, source, corpus):
    """Yield a `Part` for each file that contains words of the batch.

    These files are shares, or the corpus file (`corpus`) if the corpus has no shares.
    """
    if "shares" not in corpus.file:
        yield corpus
        return
    shares, order = docs.read_shares(corpus.file), corpus.rows
    numbers = np.searchsorted(
        np.cumsum(shares.sizes), order, side="right"
    )  # share of each document
    share_rows = _read_rows([corpus], "shares/rows")
    for number in np.unique(numbers).tolist():
        path = docs.share_path(source, shares.names[number])
        positions = np.flatnonzero(numbers == number)
        if not os.path.exists(path):
            raise _share_error(source, f"{path} does not exist")
        file = stack.enter_context(storage.reading(path, docs.SHARE))
        if file.attrs["digest"] != shares.digests[number]:
            raise _share_error(source, f"{path} has changed")
        yield Part(file, _data_of(file), share_rows[positions], positions)


def _share_error(source, fault):
    """Return the StorageError for a missing or changed share."""
    return StorageError(
        fault, f"the share that {source} lists", f"delete {source} and run the same command again"
    )


def _data_of(file):
    """Return the `FileData` of an open file, from the cache if possible."""
    digest = file.attrs["digest"]
    if digest not in _cache:
        ends = {}
        for name in filter(file.__contains__, BATCH_STRINGS):
            block = storage.read_array(file, name, "u")
            ends[name] = np.append(np.flatnonzero(block == ord("\n")), len(block))
        words = storage.read_strings(file, "vocabulary") if "vocabulary" in file else []
        _cache[digest] = FileData(words, ends)
        if len(_cache) > CACHED_FILES:
            del _cache[next(iter(_cache))]
    return _cache[digest]


def _pieces(parts, name):
    """Read the rows of a batch from the matrix `name` in each part, in blocks.

    Returns
    -------
    list of (int, csr_array, ndarray)
        Number of the part, some of its rows, and their positions in the batch.
    """
    pieces = []
    for number, part in enumerate(parts):
        matrix, rows = Matrix(part.file, name), part.rows
        for low in range(int(rows.min(initial=0)), int(rows.max(initial=-1)) + 1, MATRIX_ROWS):
            inside = np.flatnonzero((rows >= low) & (rows < low + MATRIX_ROWS))
            if len(inside):
                high = int(rows[inside].max()) + 1
                block = matrix[low:high][rows[inside] - low]
                pieces.append((number, block, part.positions[inside]))
    return pieces


def _stack(pieces, n_columns, columns=None):
    """Return one matrix with the rows that `_pieces` returned, in the order of the batch.

    Parameters
    ----------
    pieces : list of (int, csr_array, ndarray)
    n_columns : int
        Number of columns of the result.
    columns : list of ndarray, optional
        For each part, the new column of each of its columns. By default, columns do not change.
    """
    moved = []
    for number, piece, _ in pieces:
        indices = columns[number][piece.indices] if columns else piece.indices
        shape = (piece.shape[0], n_columns)
        moved.append(sparse.csr_array((piece.data, indices, piece.indptr), shape=shape))
    if not moved:
        return sparse.csr_array((0, n_columns), dtype=np.int32)
    positions = np.concatenate([positions for _, _, positions in pieces])
    return sparse.csr_array(sparse.vstack(moved, format="csr"))[np.argsort(positions)]


def _columns(parts, pieces):
    """Number the words that occur in the batch.

    Returns
    -------
    columns : list of ndarray of int32
        For each part, the batch column of each term in the part's vocabulary; 0 for terms that do
        not occur in the batch.
    words : list of str
        Words of the batch, sorted; the column of a word is its position.
    """
    vocabularies = [part.data.vocabulary for part in parts]
    occurs = [np.zeros(len(vocabulary), dtype=bool) for vocabulary in vocabularies]
    for number, piece, _ in pieces:
        occurs[number][piece.indices] = True
    used_words = [list(words) for words in map(compress, vocabularies, occurs)]
    words = sorted(set().union(*used_words))
    column_of = {word: column for column, word in enumerate(words)}
    columns = []
    for is_used, names in zip(occurs, used_words, strict=True):
        columns.append(np.zeros(len(is_used), dtype=np.int32))
        columns[-1][is_used] = [column_of[word] for word in names]
    return columns, words


def _read_rows(parts, name):
    """Read the rows of the array `name` for the documents of the batch, in their order."""
    values = []
    for part in parts:
        dataset, low = storage.dataset_of(part.file, name, "iuf"), int(part.rows.min())
        values.append(dataset[low : int(part.rows.max()) + 1][part.rows - low])
    if len(values) == 1:
        return values[0]
    return np.concatenate(values)[np.argsort(np.concatenate([part.positions for part in parts]))]


def _write_strings(batch, name, parts):
    """Copy a field of strings of the batch's documents from the corpus files.

    The strings are copied as bytes. Nothing is written if no corpus file has the field, or if it is
    in `OMITTED_IF_EMPTY` and empty for all documents.
    """
    texts = [b""] * sum(len(part.rows) for part in parts)
    with_field = [part for part in parts if name in part.data.ends]
    for part in with_field:
        ends = part.data.ends[name]
        first, last = np.where(part.rows > 0, ends[part.rows - 1] + 1, 0), ends[part.rows]
        begin = int(first.min())
        block = storage.dataset_of(part.file, name, "u")[begin : int(last.max())].tobytes()
        for position, low, high in zip(
            part.positions.tolist(), (first - begin).tolist(), (last - begin).tolist(), strict=True
        ):
            texts[position] = block[low:high]
    if with_field and (name not in OMITTED_IF_EMPTY or any(texts)):
        storage.write_array(batch, name, np.frombuffer(b"\n".join(texts), dtype=np.uint8))
        batch[name].attrs["length"] = len(texts)


def _write_passages(batch, parts, columns, n_terms):
    """Copy the passages of the batch's documents from the corpus files to the batch file.

    Parameters
    ----------
    batch : h5py.File
        Open for writing; gets the group ``passages``.
    parts : list of Part
    columns : list of ndarray
        For each part, the batch column of each of its terms (`_columns`).
    n_terms : int
        Number of columns of the batch.
    """
    arrays = [passages.arrays(part.file["passages"]) for part in parts]
    n_passages = np.zeros(sum(len(part.rows) for part in parts), dtype=np.int64)
    for part, (part_starts, _, _) in zip(parts, arrays, strict=True):
        n_passages[part.positions] = np.diff(part_starts)[part.rows]
    starts = np.append(0, np.cumsum(n_passages))
    keys, sizes = np.empty(starts[-1], dtype=np.uint64), np.empty(starts[-1], dtype=np.int32)
    passage_parts = []  # like `parts`, with passages instead of documents as rows
    for part, (part_starts, part_keys, part_sizes) in zip(parts, arrays, strict=True):
        rows, _ = passages.spans(part_starts, part.rows)
        positions, _ = passages.spans(starts, part.positions)
        keys[positions], sizes[positions] = part_keys[rows], part_sizes[rows]
        passage_parts.append(Part(part.file["passages"], part.data, rows, positions))
    group = batch.create_group("passages")
    for name, values in (("starts", starts), ("keys", keys), ("sizes", sizes)):
        storage.write_array(group, name, values)
    storage.write_csr(group, "words", _stack(_pieces(passage_parts, "words"), n_terms, columns))
