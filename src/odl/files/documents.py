"""Documents of a corpus: counts, vocabulary, ids, times and topics, and their HDF5 form."""

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy

from odl.errors import DataError
from odl.files import passages, setaside, storage
from odl.files.passages import Passages

NO_TIME = np.iinfo(np.int64).min
N_SHINGLES = 2**31 - 1  # number of possible shingles
TITLE_CHARACTERS = 200  # longer titles are cut to this number of characters
SHARE = "share"  # attribute `kind` of a share: a file with some of the documents of a corpus
OF_TEXTS = ("shingles", "passages", "vectors")  # fields that are computed from the texts
OPTIONAL_FIELDS = ("urls", "authors", "sources", "facets", "texts", *OF_TEXTS)
# Fields with one entry for each document
PER_DOCUMENT = ("ids", "times", "topics", "titles", "files", *OPTIONAL_FIELDS)
STRING_FIELDS = (
    "vocabulary", "ids", "titles", "files", "urls", "authors", "sources", "facets", "texts",
)  # fmt: skip
# Label in the digest of a document -> field. Digests depend on these labels and their order.
DIGEST_LABELS = {"author": "authors", "source": "sources", "facets": "facets", "text": "texts"}
LIST_FIELDS = ("ids", "files", "topics")  # fields in the list of a corpus that has shares


class Dropped(NamedTuple):
    """Documents that a reader omitted because they have too few words.

    Attributes
    ----------
    ids : list of str
    times : ndarray of int64
        Milliseconds since 1970-01-01 UTC.
    words : ndarray of int64
        Number of words of each document.
    """

    ids: list
    times: np.ndarray
    words: np.ndarray


class Repeats(NamedTuple):
    """Numbers of rows that were omitted because their id occurred before.

    Attributes
    ----------
    same : int
        Number of rows whose content is that of the earlier row.
    changed : int
        Number of rows with other content.
    """

    same: int = 0
    changed: int = 0

    def __str__(self):
        """Return the sentence that `odl run` prints about the rows, "" without rows."""
        same, changed = (f"row{'s' * (n != 1)} left out" for n in self)
        parts = []
        if self.same:
            parts.append(f"{self.same:,} repeated {same}")
        if self.changed:
            parts.append(f"{self.changed:,} {changed} whose id occurred before with other content")
        return "; ".join(parts)


NO_REPEATS = Repeats()


@dataclass
class Documents:
    """Documents in the order of their source.

    Parameters
    ----------
    counts : csr_array of int, shape (n_documents, n_terms)
        Term counts.
    vocabulary : list of str
        Term of each column; terms contain no white space.
    ids : list of str
        Unique id of each document.
    times : ndarray of int64, shape (n_documents,)
        Milliseconds since 1970-01-01 UTC; `NO_TIME` if unknown.
    topics : list of tuple of str
        Topics of each document, the dominant one first; an empty tuple for an unlabelled document.
    titles : list of str
        Title of each document on one line, or "".
    files : list of str, optional
        Name of the source file of each document.
    removed : dict of str to ndarray of int32, optional
        For each cleaner (`odl.text.cleaning`), the number of characters that it removed from each
        document.
    dropped : Dropped, optional
        Documents with too few words, if the reader omits them.
    shingles : csr_array of uint8, shape (n_documents, N_SHINGLES), optional
        1 for each shingle of a document (`odl.text.shingles`), if the reader computes them.
    passages : odl.files.passages.Passages, optional
        Passages from which boilerplate is detected, if the reader computes them.
    urls : list of str, optional
        Web address of each document, or "". Empty list if no document has one.
    authors : list of str, optional
        Author of each document, or "". Empty list if no document has one.
    sources : list of str, optional
        Source of each document by the column `source`, or "". Empty list without the column.
    facets : list of str, optional
        Facet values of each document as a JSON object, or "". Empty list if no document has one.
    vectors : ndarray of float32, shape (n_documents, n_dimensions), optional
        Embedding of each document; zeros for a document without embedding.
    texts : list of str, optional
        Start of each text, if the reader stores it.
    repeats : Repeats, optional
        Numbers of rows of the user's files that were omitted because their id is repeated.
    aside : list of odl.files.setaside.Aside, optional
        Documents of the user's files that could not be read.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.files.documents import NO_TIME, Documents
    >>> counts, words = csr_array([[1, 1, 0], [0, 1, 2]]), ["crude", "oil", "orbit"]
    >>> times, topics, titles = np.full(2, NO_TIME), [("oil",), ()], ["", ""]
    >>> documents = Documents(counts, words, ["a", "b"], times, topics, titles)
    >>> len(documents), documents.select([1]).vocabulary
    (2, ['oil', 'orbit'])
    """

    counts: "scipy.sparse.csr_array"
    vocabulary: list
    ids: list
    times: np.ndarray
    topics: list
    titles: list
    files: list = field(default_factory=list)
    removed: dict = field(default_factory=dict)
    dropped: Dropped | None = None
    shingles: "scipy.sparse.csr_array | None" = None
    passages: Passages | None = None
    urls: list = field(default_factory=list)
    authors: list = field(default_factory=list)
    sources: list = field(default_factory=list)
    facets: list = field(default_factory=list)
    repeats: Repeats = NO_REPEATS
    vectors: np.ndarray | None = None
    texts: list = field(default_factory=list)
    aside: list = field(default_factory=list)

    def __post_init__(self):
        """Convert the arrays to their standard types; raise DataError if lengths do not match."""
        self.counts = scipy.sparse.csr_array(self.counts)
        self.counts.sum_duplicates()
        self.counts.eliminate_zeros()
        self.times = np.asarray(self.times, dtype=np.int64)
        self.files = self.files or [""] * len(self.ids)
        if self.vectors is not None:
            self.vectors = np.ascontiguousarray(self.vectors, dtype="<f4")
        n_documents, n_terms = self.counts.shape
        for name, length in self._lengths().items():
            if length != n_documents:
                raise DataError(
                    f"{length} {name} for {n_documents} documents",
                    "one entry for each document",
                    "correct the reader",
                )
        if len(self.vocabulary) != n_terms:
            raise DataError(
                f"{len(self.vocabulary)} words for {n_terms} terms",
                "one word for each term",
                "correct the reader",
            )
        if len(set(self.ids)) != n_documents:
            repeated = Counter(self.ids).most_common(1)[0][0]
            raise DataError(
                f"the document id {repeated!r} occurs twice",
                "unique ids",
                "rename or remove one of the documents",
            )

    def _lengths(self):
        """Return the number of entries of each present field with one entry per document."""
        present = [name for name in PER_DOCUMENT if name not in OPTIONAL_FIELDS or self.has(name)]
        lengths = {name: len(getattr(self, name)) for name in present if name != "shingles"}
        if self.shingles is not None:
            lengths["shingles"] = self.shingles.shape[0]
        for name, removed in self.removed.items():
            lengths[f"counts of the cleaner {name}"] = len(removed)
        return lengths

    def has(self, name: str) -> bool:
        """Return whether an optional field is present."""
        value = getattr(self, name)
        return bool(value) if isinstance(value, list) else value is not None

    def __len__(self):
        return len(self.ids)

    def select(self, rows: Sequence[int] | np.ndarray) -> "Documents":
        """Return the documents in the given rows, in this order.

        The vocabulary of the result contains only the terms of these documents, sorted.
        """
        counts = self.counts[rows]
        used = np.unique(counts.indices)
        words = [self.vocabulary[column] for column in used]
        order = np.array(sorted(range(len(used)), key=words.__getitem__), dtype=np.int64)
        names = (name for name in PER_DOCUMENT if name != "passages")
        selected = {name: _select_rows(getattr(self, name), rows) for name in names}
        return Documents(
            **selected,
            counts=scipy.sparse.csr_array(counts[:, used[order]] if len(used) else counts[:, :0]),
            vocabulary=[words[position] for position in order],
            removed={name: removed[rows] for name, removed in self.removed.items()},
            passages=None if self.passages is None else self.passages.select(rows, used[order]),
        )

    def digests(self) -> np.ndarray:
        """Return one sha256 per document, as uint8 of shape (n_documents, 32).

        The digest covers all fields that a batch stores. It does not depend on other documents or
        on the order of the columns. So a batch has to be written again only if the digest of a
        document in it changes.
        """
        names = [hashlib.blake2b(word.encode(), digest_size=8).digest() for word in self.vocabulary]
        keys = np.frombuffer(b"".join(names), dtype="<u8")
        contents = (b"".join(self._content_of(row, keys)) for row in range(len(self)))
        digests = b"".join(hashlib.sha256(content).digest() for content in contents)
        return np.frombuffer(digests, dtype=np.uint8).reshape(-1, 32).copy()

    def _content_of(self, row, keys):
        """Yield the bytes from which a document's digest is computed.

        `keys` is an array with a hash of each term.
        """
        head = [self.ids[row], str(self.times[row]), "\t".join(self.topics[row])]
        head += [self.titles[row], self.files[row]]
        if self.urls and self.urls[row]:
            head.append(self.urls[row])
        yield "\n".join(head).encode()
        first, last = self.counts.indptr[row : row + 2]
        terms = keys[self.counts.indices[first:last]]
        order = np.argsort(terms)
        yield terms[order].tobytes()
        yield self.counts.data[first:last][order].astype("<i8").tobytes()
        for name, removed in self.removed.items():
            yield f"{name}\0{removed[row]}\0".encode()
        if self.shingles is not None:
            first, last = self.shingles.indptr[row : row + 2]
            yield np.sort(self.shingles.indices[first:last]).astype("<i4").tobytes()
        if self.passages is not None:
            yield self.passages.digest(row)
        if self.vectors is not None:
            yield self.vectors[row].tobytes()
        for label, name in DIGEST_LABELS.items():
            if values := getattr(self, name):
                yield f"{label}\0{values[row]}\0".encode()


def _select_rows(values, rows):
    """Return some rows of a list or array; None and [], which mean no field, are unchanged."""
    if values is None or (isinstance(values, list) and not values):
        return values
    return [values[row] for row in rows] if isinstance(values, list) else values[rows]


def one_line(text, length=TITLE_CHARACTERS):
    """Return a text with white space collapsed, cut to `length` characters."""
    return " ".join(text.split())[:length]


def write_fields(file, documents):
    """Store documents in an open HDF5 file or group."""
    storage.write_csr(file, "counts", documents.counts.astype(np.int32))
    for name in STRING_FIELDS:
        if name not in OPTIONAL_FIELDS or documents.has(name):
            storage.write_strings(file, name, getattr(documents, name))
    write_topics(file, documents.topics)
    storage.write_array(file, "times", documents.times)
    if documents.removed:
        write_removed(file, documents.removed)
    if documents.shingles is not None:
        storage.write_csr(file, "shingles", documents.shingles)
    if documents.passages is not None:
        passages.write(file, documents.passages)
    if documents.vectors is not None:
        storage.write_array(file, "vectors", documents.vectors)
    if any(documents.repeats):
        storage.write_array(file, "repeats", np.array(documents.repeats))
    setaside.write(file, documents.aside)
    if documents.dropped is not None:
        group = file.create_group("dropped")
        storage.write_strings(group, "ids", documents.dropped.ids)
        for name in ("times", "words"):
            storage.write_array(
                group, name, np.asarray(getattr(documents.dropped, name), dtype=np.int64)
            )


def read_fields(file):
    """Read the documents that `write_fields` stored."""
    strings = [name for name in STRING_FIELDS if name in file and name not in LIST_FIELDS]
    return Documents(
        **_read_list_fields(file),
        counts=storage.read_csr(file, "counts"),
        repeats=read_repeats(file),
        aside=setaside.read(file),
        **{name: storage.read_strings(file, name) for name in strings},
        shingles=storage.read_csr(file, "shingles") if "shingles" in file else None,
        passages=passages.read(file),
        vectors=storage.read_array(file, "vectors", "f", ndim=2) if "vectors" in file else None,
    )


def read_list(file, n=None, n_dropped=None, n_aside=None):
    """Read documents without words and titles.

    Parameters
    ----------
    file : h5py.File
        The open list of a corpus.
    n, n_dropped, n_aside : int, optional
        Numbers of the first documents, omitted documents and entries set aside that are read; None:
        all.
    """
    n = int(file["ids"].attrs["length"]) if n is None else n
    return Documents(
        **_read_list_fields(file, n, n_dropped),
        counts=scipy.sparse.csr_array((n, 0), dtype=np.int32),
        aside=setaside.read(file)[:n_aside],
        vocabulary=[],
        titles=[""] * n,
    )


def _read_list_fields(file, n=None, n_dropped=None):
    """Read the fields that the list of a corpus stores too; for the parameters see `read_list`."""
    dropped = read_dropped(file)
    return {
        "topics": read_topics(file)[:n],
        **{name: storage.read_strings(file, name)[:n] for name in LIST_FIELDS if name != "topics"},
        "times": storage.read_array(file, "times", "i")[:n],
        "removed": {name: removed[:n] for name, removed in read_removed(file).items()},
        "dropped": dropped and Dropped(*(values[:n_dropped] for values in dropped)),
    }


class Shares(NamedTuple):
    """The shares of a corpus: files that contain its documents with their words.

    Attributes
    ----------
    names : list of str
        Name of each file.
    digests : list of str
        Digest of each file's content.
    sizes : list of int
        Number of documents in each file.
    """

    names: list
    digests: list
    sizes: list


class Account(NamedTuple):
    """Numbers that the reader reports for one share.

    Attributes
    ----------
    dropped : int
        Number of documents that were omitted because they have too few words.
    same, changed : int
        Numbers of rows whose id occurred before, as in `Repeats`.
    terms : int
        Size of the vocabulary.
    dimensions : int
        Length of the documents' vectors.
    aside : int
        Number of documents that were set aside; 0 in lists that earlier versions wrote.
    """

    dropped: int
    same: int
    changed: int
    terms: int
    dimensions: int
    aside: int = 0


def write_shares(file, shares, accounts, rows):
    """Store the shares and accounts of a corpus, and for each document its row in its share."""
    group = file.create_group("shares")
    for name in ("names", "digests"):
        storage.write_strings(group, name, getattr(shares, name))
    storage.write_array(group, "sizes", np.array(shares.sizes, dtype=np.int64))
    storage.write_array(group, "accounts", np.array(accounts, dtype=np.int64))
    storage.write_array(group, "rows", rows)


def read_shares(file):
    """Read the `Shares` that `write_shares` stored."""
    group = file["shares"]
    return Shares(
        *(storage.read_strings(group, name) for name in ("names", "digests")),
        storage.read_array(group, "sizes", "i"),
    )


def read_accounts(file):
    """Read the `Account` of each share."""
    return [
        Account(*row) for row in storage.read_array(file["shares"], "accounts", "i", 2).tolist()
    ]


def share_path(path, name):
    """Return the path of a share, given the path of the list of the corpus."""
    return os.path.join(os.path.dirname(path), "shares", f"{name}.h5")


def write_removed(file, removed):
    """Store the number of characters that each cleaner removed from each document."""
    group = file.create_group("removed")
    for name, characters in removed.items():
        storage.write_array(group, name, characters.astype(np.int32))


def read_removed(file):
    """Read the dict that `write_removed` stored; it is empty if no cleaner ran."""
    if "removed" not in file:
        return {}
    return {name: storage.read_array(file["removed"], name, "i") for name in file["removed"]}


def read_dropped(file):
    """Read the `Dropped` documents; None if the reader never omits documents."""
    if "dropped" not in file:
        return None
    group = file["dropped"]
    return Dropped(
        storage.read_strings(group, "ids"),
        *(storage.read_array(group, n, "i") for n in ("times", "words")),
    )


def read_repeats(file):
    """Read the `Repeats` of the documents in an open file."""
    if "repeats" not in file:
        return NO_REPEATS
    return Repeats(*storage.read_array(file, "repeats", "i").tolist())


def write_topics(file, topics):
    """Store the topics of each document, dominant first, separated by tabs."""
    storage.write_strings(file, "topics", ["\t".join(names) for names in topics])


def read_topics(file):
    """Read the topics of each document that `write_topics` stored."""
    return [
        tuple(line.split("\t")) if line else () for line in storage.read_strings(file, "topics")
    ]


def write(
    path: str | os.PathLike,
    documents: Documents,
    kind: str = "documents",
    digests: Any = None,
    **attributes: Any,
) -> None:
    """Write documents to an HDF5 file, with `digests` (default: `Documents.digests`).

    Examples
    --------
    >>> import os, tempfile
    >>> from odl import corpora
    >>> from odl.files import documents
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "documents.h5")
    >>> documents.write(path, corpora.read("simulation", options={"documents": 240, "days": 6}))
    >>> os.listdir(folder.name)
    ['documents.h5']
    """
    with storage.writing(path, kind, **attributes) as file:
        write_fields(file, documents)
        storage.write_array(file, "digests", documents.digests() if digests is None else digests)


def read(path: str | os.PathLike, kind: str = "documents") -> Documents:
    """Read documents from an HDF5 file written by `write`.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.

    Examples
    --------
    >>> import os, tempfile
    >>> from odl import corpora
    >>> from odl.files import documents
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "documents.h5")
    >>> documents.write(path, corpora.read("simulation", options={"documents": 240, "days": 6}))
    >>> len(documents.read(path))
    240
    """
    with storage.reading(path, kind) as file:
        return read_fields(file)
