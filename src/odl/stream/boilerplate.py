"""Remove boilerplate from term counts.

Boilerplate is a passage (`odl.text.shingles`), such as a footer, that many otherwise different
documents share. A passage is boilerplate if it occurs in at least `MIN_PASSAGE_DOCUMENTS` documents
and in at least the share `MIN_WINDOW_SHARE` of the documents in the window, which is the timestep
and those before it. Copies of a text share all passages, although these are not boilerplate.
Therefore each document has a weight: the share of its characters that are in passages without an
earlier occurrence. An exact copy has weight 0.

The feature file of a timestep stores the weighted count of each passage. The sum over the window
takes 16 bytes of memory per passage. Later timesteps are not used, so that the files do not depend
on whether a stream is appended or run at once.
"""

import os
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from odl.errors import StorageError
from odl.files import documents as docs
from odl.files import passages as stored
from odl.files import storage

# Smallest number of documents, and smallest share of the documents in the window, with a passage.
MIN_PASSAGE_DOCUMENTS, MIN_WINDOW_SHARE = 10, 0.01
# A passage that no earlier timestep has, such as a new footer, is boilerplate if at least this
# share of the documents in the timestep contain it.
MIN_TIMESTEP_SHARE = 0.1
# Smallest numbers of timesteps and of documents in the window before the timestep.
WINDOW_TIMESTEPS, WINDOW_DOCUMENTS = 4, 1000
MAX_WINDOW_FILES = 64  # largest number of timesteps, even with fewer than WINDOW_DOCUMENTS
COUNT_UNIT = 1000  # amount that a document of weight 1 adds to the integer count of its passages


@dataclass
class PassageCounts:
    """Weighted number of documents with each passage, in one timestep or several.

    Parameters
    ----------
    keys : ndarray of uint64
        Keys of the passages, ascending.
    counts : ndarray of int64
        Count of each passage; a document of weight 1 counts `COUNT_UNIT`.
    n_documents : int
    """

    keys: np.ndarray
    counts: np.ndarray
    n_documents: int

    def counts_for(self, keys):
        """Return the count of each key in an array; 0 for unknown keys."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64)
        positions = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[positions] == keys, self.counts[positions], 0)


def add_counts(tallies):
    """Return the sum of several `PassageCounts`."""
    keys = np.concatenate([np.zeros(0, dtype=np.uint64), *(tally.keys for tally in tallies)])
    keys, key_of = np.unique(keys, return_inverse=True)
    counts = np.concatenate([np.zeros(0, dtype=np.int64), *(tally.counts for tally in tallies)])
    total = np.bincount(key_of, counts, minlength=len(keys)).astype(np.int64)
    return PassageCounts(keys, total, sum(tally.n_documents for tally in tallies))


def tally(starts, keys, sizes, before):
    """Return the `PassageCounts` of a timestep.

    Parameters
    ----------
    starts, keys, sizes : ndarray
        Passages of the documents in stream order (see `odl.files.passages.Passages`).
    before : PassageCounts
        Counts in the window before the timestep.
    """
    unique_keys, first_rows, key_of = np.unique(keys, return_index=True, return_inverse=True)
    is_new = np.zeros(len(keys), dtype=bool)  # the first occurrence of a passage
    is_new[first_rows[~np.isin(unique_keys, before.keys, assume_unique=True)]] = True
    n_documents, n_passages = len(starts) - 1, np.diff(starts)
    document = np.repeat(np.arange(n_documents), n_passages)
    n_characters = np.bincount(document, sizes, minlength=n_documents)
    n_new_characters = np.bincount(document, sizes * is_new, minlength=n_documents)
    weights = (COUNT_UNIT * n_new_characters // np.maximum(n_characters, 1)).astype(np.int64)
    counts = np.bincount(key_of, weights[document], minlength=len(unique_keys)).astype(np.int64)
    return PassageCounts(unique_keys, counts, n_documents)


def find_boilerplate(own, before):
    """Return a mask: whether each passage in a timestep is boilerplate.

    Parameters
    ----------
    own : PassageCounts
        Counts in the timestep.
    before : PassageCounts
        Counts in the window before the timestep, without documents for timestep 0.

    Returns
    -------
    ndarray of bool
        One value for each of ``own.keys``.
    """
    total = own.counts + before.counts_for(own.keys)
    n_documents = own.n_documents + before.n_documents
    is_frequent = total >= COUNT_UNIT * max(MIN_PASSAGE_DOCUMENTS, MIN_WINDOW_SHARE * n_documents)
    if not before.n_documents:
        return is_frequent
    is_frequent_here = own.counts >= COUNT_UNIT * MIN_TIMESTEP_SHARE * own.n_documents
    return is_frequent & (np.isin(own.keys, before.keys) | is_frequent_here)


@dataclass
class Cut:
    """The boilerplate in the documents of one timestep.

    Parameters
    ----------
    own : PassageCounts
        Counts of all passages of the timestep.
    taken : ndarray of int32, shape (n_documents,)
        Number of characters of each document's boilerplate.
    less : csr_array of int32, shape (n_documents, n_terms)
        Term counts of each document's boilerplate.
    """

    own: PassageCounts
    taken: np.ndarray
    less: sparse.csr_array

    def without(self, counts):
        """Return the term counts of the documents without those of their boilerplate."""
        remaining = sparse.csr_array(counts.astype(np.int32) - self.less)
        remaining.data = np.maximum(remaining.data, 0)
        remaining.eliminate_zeros()
        return remaining

    def sums(self):
        """Return (number of documents with boilerplate, number of characters in boilerplate)."""
        return int(np.count_nonzero(self.taken)), int(self.taken.sum(dtype=np.int64))


def decide(batch, folder):
    """Return the boilerplate in the documents of a batch.

    Parameters
    ----------
    batch : h5py.File
        An open batch.
    folder : path-like
        Folder with the feature files of the earlier timesteps.

    Returns
    -------
    Cut or None
        None if the corpus is read without the cleaner ``boilerplate``.
    """
    passages = stored.read(batch)
    if passages is None:
        return None
    before, n_documents = window(folder, int(batch.attrs["t"])), len(passages)
    own = tally(passages.starts, passages.keys, passages.sizes, before)
    is_boilerplate = find_boilerplate(own, before)[np.searchsorted(own.keys, passages.keys)]
    rows = np.flatnonzero(is_boilerplate)
    document = np.repeat(np.arange(n_documents), np.diff(passages.starts))[rows]
    taken = np.bincount(document, passages.sizes[rows], minlength=n_documents)
    # 1 for each document (row) and each boilerplate passage (column) in it.
    ones = np.ones(len(rows), dtype=np.int32)
    contains = sparse.csr_array((ones, (document, rows)), shape=(n_documents, len(is_boilerplate)))
    return Cut(own, taken.astype(np.int32), sparse.csr_array(contains @ passages.words))


def window(folder, t):
    """Read the `PassageCounts` of the window before timestep t from the feature files."""
    tallies, n_documents = [], 0
    while len(tallies) < min(t, MAX_WINDOW_FILES) and (
        len(tallies) < WINDOW_TIMESTEPS or n_documents < WINDOW_DOCUMENTS
    ):
        (path,) = storage.earlier(folder, t - len(tallies), 1)
        with storage.reading(path, "features") as file:
            tallies.append(read(file))
        n_documents += tallies[-1].n_documents
    return add_counts(tallies)


def write(file, cut, before):
    """Store the boilerplate and the passage counts of a timestep in its feature file.

    Parameters
    ----------
    file : h5py.File
        Feature file that is written.
    cut : Cut or None
        Nothing is stored if it is None.
    before : h5py.File or None
        Features of the timestep before, which store the boilerplate up to then (`sums`).
    """
    if cut is None:
        return
    group = file.create_group("boilerplate")
    storage.write_array(group, "keys", cut.own.keys)
    storage.write_array(group, "counts", cut.own.counts)
    storage.write_array(group, "taken", cut.taken)
    group.attrs["sums"] = np.array(sums(before)) + cut.sums()


def sums(file):
    """Return the boilerplate in a stream up to the timestep of an open feature file, inclusive.

    The result is (number of documents with boilerplate, number of characters in boilerplate). It is
    (0, 0) if the file is None or stores no boilerplate.
    """
    has_sums = file is not None and "boilerplate" in file
    return file["boilerplate"].attrs["sums"].tolist() if has_sums else (0, 0)


def read(file):
    """Return the `PassageCounts` of an open feature file, empty if it stores none."""
    n_documents = int(file["ids"].attrs["length"])
    if "boilerplate" not in file:
        return PassageCounts(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64), n_documents)
    keys = storage.read_array(file["boilerplate"], "keys", "u")
    counts = storage.read_array(file["boilerplate"], "counts", "i")
    return PassageCounts(keys, counts.astype(np.int64), n_documents)


def sentence(documents, features):
    """Return a sentence for the user about the parts of a stream that were removed.

    It counts the characters that each cleaner removed, the documents with too few words, and the
    words that were forgotten because of `max_terms`. It is "" if nothing was removed.

    Parameters
    ----------
    documents : path-like
        documents.h5 of the corpus.
    features : path-like
        Features of the last timestep.
    """
    try:
        with storage.reading(documents, "documents") as file:
            n_documents = int(file["ids"].attrs["length"])
            sums = {name: _sums(characters) for name, characters in docs.read_removed(file).items()}
            sums["boilerplate"], forgotten = _of_features(features)
            n_dropped = int(file["dropped"]["ids"].attrs["length"]) if "dropped" in file else 0
    except (StorageError, OSError, KeyError):
        return ""
    parts = [
        f"{name} of {touched:,} ({taken:,} characters)"
        for name, (touched, taken) in sums.items()
        if touched
    ]
    cleaned = f"cleaned {n_documents:,} documents: {', '.join(parts)}" if parts else ""
    dropped = (
        f"{n_dropped:,} document{'s' * (n_dropped != 1)} with too few words left out "
        "(options.min_words)"
        if n_dropped
        else ""
    )
    return "; ".join(filter(None, [cleaned, dropped, forgotten]))


def _of_features(path):
    """Read a feature file; return (`sums` of boilerplate, sentence about forgotten words)."""
    if not os.path.exists(path):
        return (0, 0), ""
    with storage.reading(path, "features") as file:
        max_terms, n_forgotten = int(file.attrs.get("max_terms", 0)), 0
        if max_terms:
            n_forgotten = int(file.attrs["n_numbered"]) - int(file["vocabulary"].attrs["length"])
        words = f"{n_forgotten:,} words, unseen for the longest time, were forgotten"
        return sums(file), f"{words} (max_terms {max_terms:,})" if n_forgotten else ""


def _sums(characters):
    """Return (number of documents with removed characters, number of removed characters)."""
    return int(np.count_nonzero(characters)), int(characters.sum(dtype=np.int64))
