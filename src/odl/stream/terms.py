"""Terms of a stream: their ids, and a bound on the vocabulary beyond which terms are forgotten.

Ids are assigned in the order of first appearance. Without a bound, the column of a term is its id.
With a bound, the columns of a timestep are the terms that were not forgotten, ascending by id. A
term that was forgotten and occurs again gets a new id.
"""

import os
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.errors import DataError, StorageError
from odl.files import blocks, storage

NEVER = -1  # last timestep with a term that did not occur before
# Timesteps between two feature files with the entire vocabulary. The files between them store only
# the words that were added since the former.
FULL_INTERVAL = 32


class Base(NamedTuple):
    """Reference to the earlier feature file that stores the first words of the vocabulary.

    Attributes
    ----------
    file : str
        Name of the earlier file, which is in the same folder.
    words : int
        Number of words in the vocabulary of the earlier file.
    digest : str
        Digest of the earlier file.
    """

    file: str
    words: int
    digest: str

    @classmethod
    def from_file(cls, file):
        """Return the `Base` of an open feature file, or None if it stores all words itself."""
        if "base" not in file.attrs:
            return None
        attributes = file.attrs
        return cls(
            os.path.basename(str(attributes["base"])),
            int(attributes["base_words"]),
            str(attributes["base_digest"]),
        )

    def read(self, path):
        """Read the words that the earlier file stores.

        Parameters
        ----------
        path : path-like
            Feature file that refers to the earlier file.

        Raises
        ------
        StorageError
            If the earlier file is missing, damaged or of another chain.
        """
        path = os.path.join(os.path.dirname(path), self.file)
        with storage.reading(path, "features") as file:
            if str(file.attrs["digest"]) != self.digest:
                raise StorageError(
                    f"{path} is of another chain",
                    "the feature file of an earlier timestep of this chain",
                    f"delete {path} and run again",
                )
            return storage.read_strings(file, "vocabulary")


def base_of(before, output):
    """Return the `Base` for the next feature file, or None if that must store all words itself.

    `before` is the `FeatureFile` of the timestep before, or None. `output` is the path of the next
    feature file.
    """
    if before is None or before.max_terms or (before.t + 1) % FULL_INTERVAL == 0:
        return None
    path = blocks.path_of(before.file)
    if os.path.dirname(os.path.abspath(path)) != os.path.dirname(os.path.abspath(output)):
        return None
    return before.base or Base(
        os.path.basename(path), len(before.vocabulary), str(before.file.attrs["digest"])
    )


def staying(terms: np.ndarray, frequencies: np.ndarray, last: np.ndarray, most: int) -> np.ndarray:
    """Return the positions of the terms that remain in a vocabulary of at most `most` terms.

    Terms are forgotten in the order of their last timestep, then of their frequency, then of their
    id. If frequency alone decided, the words of new topics would be forgotten, and words that were
    frequent once would remain forever.

    Parameters
    ----------
    terms : ndarray of int64, shape (n_terms,)
        Ids, ascending.
    frequencies : ndarray of int64, shape (n_terms,)
        Number of documents with each term.
    last : ndarray of int64, shape (n_terms,)
        Last timestep with each term.
    most : int
        Largest number of terms; 0 for no bound.

    Returns
    -------
    ndarray of int64
        Ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.stream.terms import staying
    >>> staying(np.array([0, 1, 4, 5]), np.array([9, 1, 2, 1]), np.array([0, 2, 2, 2]), 2)
    array([2, 3])
    """
    n_forgotten = max(0, len(terms) - most) if most else 0
    return np.sort(np.lexsort((terms, frequencies, last))[n_forgotten:])


def places(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the position of each id in the array `wanted`, or -1 if it is not in this array.

    Both arrays are ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.stream.terms import places
    >>> places(np.array([0, 3, 4]), np.array([0, 4, 6]))
    array([ 0, -1,  1])
    """
    positions = np.searchsorted(wanted, ids)
    present = positions < len(wanted)
    present[present] = wanted[positions[present]] == ids[present]
    return np.where(present, positions, -1)


def aligned(earlier, batch):
    """Return the term counts of an earlier timestep with the columns of a later batch.

    Terms that were forgotten since then get extra columns at the end, so that no count is lost.

    Parameters
    ----------
    earlier, batch : odl.stream.features.FeatureFile

    Returns
    -------
    csr_array, shape (n_documents, n_terms or more)

    Raises
    ------
    DataError
        If the earlier timestep does not belong to the chain of the batch.
    """
    counts, n_terms = earlier.counts[:], batch.counts.shape[1]
    is_bounded = batch.terms is not None
    has_other_terms = not is_bounded and counts.shape[1] > n_terms
    if (earlier.terms is not None) != is_bounded or has_other_terms:
        fault = f"an earlier batch has {counts.shape[1]} terms, and the current batch {n_terms}"
        todo = "pass only batches before t, of the same chain"
        raise DataError(fault, "terms that are only appended along a stream", todo)
    indices, n_columns = counts.indices, n_terms
    if is_bounded:
        columns = places(earlier.terms, batch.terms)
        forgotten = np.flatnonzero(columns < 0)
        columns[forgotten] = n_terms + np.arange(len(forgotten))
        indices, n_columns = columns[indices].astype(indices.dtype), n_terms + len(forgotten)
    parts = counts.data, indices, counts.indptr
    renumbered = sparse.csr_array(parts, shape=(counts.shape[0], n_columns))
    renumbered.sort_indices()
    return renumbered


class Matrix:
    """A CSR matrix in an open file; ``matrix[first:last]`` reads rows.

    Parameters
    ----------
    group : h5py.Group
    name : str
        Name of the matrix, which `odl.files.storage.write_csr` stored.
    """

    def __init__(self, group, name):
        self.name, inner = name, group[name]
        self.shape = storage.shape_of(inner)
        kinds = {"data": "iuf", "indices": "i", "indptr": "i"}
        self.arrays = {part: storage.dataset_of(inner, part, kind) for part, kind in kinds.items()}
        self.nnz, self.dtype = len(self.arrays["data"]), self.arrays["data"].dtype

    def __getitem__(self, span):
        first, last, _ = span.indices(self.shape[0])
        last = max(first, last)
        pointers = self.arrays["indptr"][first : last + 1]
        data, indices = (
            self.arrays[part][pointers[0] : pointers[-1]] for part in ("data", "indices")
        )
        shape = (last - first, self.shape[1])
        return storage.csr_of(
            self.name, data, indices, (pointers - pointers[0]).astype(np.int32), shape
        )


def under(counts, columns, n_terms):
    """Return counts with column j moved to ``columns[j]``; columns that meet are added."""
    entries = (counts.data.astype(np.int32), columns[counts.indices], counts.indptr)
    moved = sparse.csr_array(entries, shape=(counts.shape[0], n_terms))
    moved.sum_duplicates()
    return moved


def number_terms(words, vocabulary, ids=None):
    """Return the column of each word in a batch; add new words to `vocabulary` and `ids` in place.

    Parameters
    ----------
    words : sequence of str
        Words of the batch, sorted, so that new words get columns in alphabetical order.
    vocabulary : list of str
        Word of each column; changed.
    ids : dict of str to int, optional
        Column of each word; changed. By default computed from the vocabulary.
    """
    ids = {word: number for number, word in enumerate(vocabulary)} if ids is None else ids
    columns = np.empty(len(words), dtype=np.int32)
    for position, word in enumerate(words):
        if word not in ids:
            ids[word] = len(vocabulary)
            vocabulary.append(word)
        columns[position] = ids[word]
    return columns


class Known:
    """Terms of a stream before a batch; the method `columns` adds the new words of the batch.

    Parameters
    ----------
    before : FeatureFile or None
        Features of the timestep before.
    output : path-like
        Feature file of the batch.
    max_terms : int
        Largest number of terms before a batch; 0 for no bound. With a bound, each term has an id
        and the last timestep with it.

    Raises
    ------
    DataError
        If the timestep before has another `max_terms`.
    """

    def __init__(self, before, output, max_terms):
        if before and before.max_terms != max_terms:
            problem = (
                f"max_terms is {max_terms}, and {before.max_terms} in the earlier timestep "
                f"{blocks.path_of(before.file)}"
            )
            raise DataError(
                problem,
                "the same max_terms for the entire stream",
                "delete the feature files and run again",
            )
        self.base = base_of(before, output)
        self.max_terms, self.n_left, self.n_initial = max_terms, 0, None
        self.vocabulary, self.frequencies, self.numbers = [], np.zeros(0, dtype=np.int64), {}
        self.terms, self.last, self.n_numbered = self.frequencies, self.frequencies, 0
        if before:
            self.vocabulary, self.frequencies = list(before.vocabulary), before.frequencies_after()
            self.n_initial = before.n_initial
        if before and max_terms:
            self._drop(before)
        elif before:
            # A copy, because several batches may follow the same timestep.
            self.numbers = dict(before.numbers)

    def _drop(self, before):
        """Take the terms of the timestep before that `staying` selects, with new columns."""
        last = before.last_after()
        remaining = staying(before.terms, self.frequencies, last, self.max_terms)
        self.n_left, self.n_numbered = len(last) - len(remaining), before.n_numbered
        self.n_initial = int(np.searchsorted(remaining, before.n_initial))
        self.vocabulary = [self.vocabulary[column] for column in remaining.tolist()]
        self.numbers = {word: column for column, word in enumerate(self.vocabulary)}
        self.terms, self.last = before.terms[remaining], last[remaining]
        self.frequencies = self.frequencies[remaining]

    def columns(self, words):
        """Return the column of each word in a batch; new words get the next ids."""
        columns = number_terms(words, self.vocabulary, self.numbers)
        n_new = len(self.vocabulary) - len(self.frequencies)
        self.frequencies = np.append(self.frequencies, np.zeros(n_new, dtype=np.int64))
        if self.max_terms:
            self.terms = np.append(self.terms, np.arange(self.n_numbered, self.n_numbered + n_new))
            self.last = np.append(self.last, np.full(n_new, NEVER))
            self.n_numbered += n_new
        if self.n_initial is None:
            self.n_initial = len(self.vocabulary)
        return columns

    @property
    def attributes(self):
        """Attributes of the feature file, as a dict."""
        attributes = {"n_initial": self.n_initial}
        if self.base:
            attributes |= zip(("base", "base_words", "base_digest"), self.base, strict=True)
        if self.max_terms:
            names = "max_terms", "n_numbered", "n_left"
            attributes |= {name: getattr(self, name) for name in names}
        return attributes

    def write(self, file):
        """Store the words that the base lacks and, if bounded, ids and last timesteps of terms."""
        n_stored = self.base.words if self.base else 0  # words that an earlier file stores
        storage.write_strings(file, "vocabulary", self.vocabulary[n_stored:])
        if self.max_terms:
            storage.write_array(file, "terms", self.terms.astype(np.int64))
            storage.write_array(file, "last", self.last.astype(np.int64))
