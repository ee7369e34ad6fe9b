"""A bound on the vocabulary of a stream: which terms leave, and where those that stay stand in the next timestep.

Ids are assigned in order of first appearance and never again: a term that comes back after it has left gets a new one.
Where there is a bound, the columns of a timestep are the terms that it knows, ascending by id, so that nothing has the
size of all terms that ever were.
"""

import os
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.errors import DataError, StorageError
from odl.files import blocks, storage

NEVER = -1  # timestep at which a new term was last seen
FULL_INTERVAL = 32  # timesteps between files with the complete vocabulary; files between have the words added since


class Base(NamedTuple):
    """The file beside that of a timestep that holds the words before its own: its name, words, digest."""

    file: str
    words: int
    digest: str

    @classmethod
    def from_file(cls, file):
        """Return that of an open file, None where it holds all words itself."""
        if "base" not in file.attrs:
            return None
        said = file.attrs
        return cls(os.path.basename(str(said["base"])), int(said["base_words"]), str(said["base_digest"]))

    def read(self, path):
        """Return the words of the file beside another one.

        Raises
        ------
        StorageError
            If it is missing, damaged or of another chain.
        """
        path = os.path.join(os.path.dirname(path), self.file)
        with storage.reading(path, "features") as file:
            if str(file.attrs["digest"]) != self.digest:
                raise StorageError(f"{path} is of another chain", "the words so far", f"delete {path} and run again")
            return storage.read_strings(file, "vocabulary")


def base_of(before, output):
    """Return the `Base` of the timestep after another one, None where it has to hold all words itself."""
    if before is None or before.max_terms or (before.t + 1) % FULL_INTERVAL == 0:
        return None
    path = blocks.path_of(before.file)
    if os.path.dirname(os.path.abspath(path)) != os.path.dirname(os.path.abspath(output)):
        return None
    return before.base or Base(os.path.basename(path), len(before.vocabulary), str(before.file.attrs["digest"]))


def staying(terms: np.ndarray, frequencies: np.ndarray, last: np.ndarray, most: int) -> np.ndarray:
    """Return the positions of the terms that stay: those unseen for longest leave, of these the rarest, the oldest.

    By rarity alone the words of what is new would leave first, and what was frequent once would stay for ever.

    Parameters
    ----------
    terms : ndarray of int64, shape (n_terms,)
        Ids, ascending.
    frequencies : ndarray of int64, shape (n_terms,)
        Documents with the term.
    last : ndarray of int64, shape (n_terms,)
        Timestep of the last of them.
    most : int
        Terms that stay; 0: all.

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
    gone = max(0, len(terms) - most) if most else 0
    return np.sort(np.lexsort((terms, frequencies, last))[gone:])


def places(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the position of each id among others, both ascending; -1 for one that is not there.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.stream.terms import places
    >>> places(np.array([0, 3, 4]), np.array([0, 4, 6]))
    array([ 0, -1,  1])
    """
    positions = np.searchsorted(wanted, ids)
    there = positions < len(wanted)
    there[there] = wanted[positions[there]] == ids[there]
    return np.where(there, positions, -1)


def aligned(earlier, batch):
    """Return the counts of an earlier timestep under the columns of a later one.

    Terms that have left since then are columns behind those of the batch, so that documents keep their length.

    Parameters
    ----------
    earlier, batch : odl.stream.features.FeatureFile

    Returns
    -------
    csr_array, shape (n_documents, n_terms or more)

    Raises
    ------
    DataError
        If the batch does not go on from the earlier one.
    """
    counts, n_terms = earlier.counts[:], batch.counts.shape[1]
    if (earlier.terms is None) != (batch.terms is None) or (batch.terms is None and counts.shape[1] > n_terms):
        fault = f"an earlier batch with {counts.shape[1]} terms where the present one has {n_terms}"
        todo = "give the batches before t only, of the same chain"
        raise DataError(fault, "terms that are only ever appended", todo)
    if batch.terms is None:
        return sparse.csr_array((counts.data, counts.indices, counts.indptr), shape=(counts.shape[0], n_terms))
    columns = places(earlier.terms, batch.terms)
    gone = columns < 0
    columns[gone] = n_terms + np.arange(np.count_nonzero(gone))
    moved = (counts.data, columns[counts.indices].astype(counts.indices.dtype), counts.indptr)
    return sparse.csr_array(moved, shape=(counts.shape[0], n_terms + np.count_nonzero(gone))).sorted_indices()


class Matrix:
    """A CSR matrix of an open file, as `odl.files.storage.write_csr` stores it; ``matrix[first:last]`` reads rows.

    Parameters
    ----------
    group : h5py.Group
    name : str
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
        data, indices = (self.arrays[part][pointers[0] : pointers[-1]] for part in ("data", "indices"))
        shape = (last - first, self.shape[1])
        return storage.csr_of(self.name, data, indices, (pointers - pointers[0]).astype(np.int32), shape)


def under(counts, columns, n_terms):
    """Return counts under other columns, ascending, those of one column added up."""
    entries = (counts.data.astype(np.int32), columns[counts.indices], counts.indptr)
    moved = sparse.csr_array(entries, shape=(counts.shape[0], n_terms))
    moved.sum_duplicates()
    return moved


def number_terms(words, vocabulary, ids=None):
    """Return the global ids of a batch's words; new ones are appended to the vocabulary, in their order."""
    ids = {word: number for number, word in enumerate(vocabulary)} if ids is None else ids
    columns = np.empty(len(words), dtype=np.int32)
    # Order of first appearance: by batch, and by spelling inside a batch (the batch's own order).
    for column, word in enumerate(words):
        number = ids.get(word)
        if number is None:
            number = ids[word] = len(vocabulary)
            vocabulary.append(word)
        columns[column] = number
    return columns


class Known:
    """The terms known before a batch: words, frequencies and, where there is a bound, ids and last timesteps.

    Parameters
    ----------
    before : FeatureFile or None
        The timestep before.
    output : path-like
        Where they are written.
    max_terms : int
    """

    def __init__(self, before, output, max_terms):
        if before and before.max_terms != max_terms:
            problem = f"max_terms {max_terms} after {blocks.path_of(before.file)}, of max_terms {before.max_terms}"
            raise DataError(problem, "one bound along a stream", "delete the features and run again")
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
            self.numbers = dict(before.numbers)  # one past may be followed more than once

    def _drop(self, before):
        """Let the terms leave that are too many."""
        last = before.last_after()
        stay = staying(before.terms, self.frequencies, last, self.max_terms)
        self.n_left, self.n_numbered = len(last) - len(stay), before.n_numbered
        self.n_initial = int(np.searchsorted(stay, before.n_initial))
        self.vocabulary = [self.vocabulary[place] for place in stay.tolist()]
        self.numbers = {word: column for column, word in enumerate(self.vocabulary)}
        self.terms, self.frequencies, self.last = before.terms[stay], self.frequencies[stay], last[stay]

    def columns(self, words):
        """Return the columns of a batch's words; those that are new get the next ids, in their order."""
        columns = number_terms(words, self.vocabulary, self.numbers)
        more = len(self.vocabulary) - len(self.frequencies)
        self.frequencies = np.append(self.frequencies, np.zeros(more, dtype=np.int64))
        if self.max_terms:
            self.terms = np.append(self.terms, np.arange(self.n_numbered, self.n_numbered + more))
            self.last = np.append(self.last, np.full(more, NEVER))
            self.n_numbered += more
        if self.n_initial is None:
            self.n_initial = len(self.vocabulary)
        return columns

    @property
    def attributes(self):
        """What the file says of them."""
        if self.base:
            names = zip(("base", "base_words", "base_digest"), self.base, strict=True)
            return {"n_initial": self.n_initial, **dict(names)}
        if not self.max_terms:
            return {"n_initial": self.n_initial}
        return {name: getattr(self, name) for name in ("n_initial", "max_terms", "n_numbered", "n_left")}

    def write(self, file):
        """Store them."""
        storage.write_strings(file, "vocabulary", self.vocabulary[self.base.words if self.base else 0 :])
        if self.max_terms:
            storage.write_array(file, "terms", self.terms.astype(np.int64))
            storage.write_array(file, "last", self.last.astype(np.int64))
