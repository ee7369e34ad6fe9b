"""Passages of documents, from which boilerplate is detected, and their form in files."""

from dataclasses import dataclass

import numpy as np
import scipy

from odl.files import storage


@dataclass
class Passages:
    """The passages (`odl.text.shingles`) of some documents: their keys, lengths and term counts.

    Parameters
    ----------
    starts : ndarray of int64, shape (n_documents + 1,)
        Passages of document i are ``starts[i]:starts[i + 1]``.
    keys : ndarray of uint64, shape (n_passages,)
        Hash of the words of each passage. The passages of a document have different keys.
    sizes : ndarray of int32, shape (n_passages,)
        Number of characters of each passage.
    words : csr_array of int32, shape (n_passages, n_terms)
        Term counts of each passage.
    """

    starts: np.ndarray
    keys: np.ndarray
    sizes: np.ndarray
    words: "scipy.sparse.csr_array"

    def __len__(self):
        return len(self.starts) - 1

    def select(self, documents, columns):
        """Return the passages of the given documents, with the given columns of terms."""
        rows, starts = spans(self.starts, np.asarray(documents, dtype=np.int64))
        return Passages(starts, self.keys[rows], self.sizes[rows], self.words[rows][:, columns])

    def digest(self, document):
        """Return the keys and sizes of a document's passages as bytes, for its digest."""
        span = slice(self.starts[document], self.starts[document + 1])
        return self.keys[span].astype("<u8").tobytes() + self.sizes[span].astype("<i4").tobytes()


def spans(starts, documents):
    """Return the rows of the passages of some documents.

    Parameters
    ----------
    starts : ndarray of int64, shape (n_documents + 1,)
        As in `Passages`.
    documents : ndarray of int64, shape (n_selected,)

    Returns
    -------
    rows : ndarray of int64
        Rows of the passages of the first document, then of the second, and so on.
    new_starts : ndarray of int64, shape (n_selected + 1,)
        Passages of ``documents[i]`` are ``rows[new_starts[i]:new_starts[i + 1]]``.
    """
    n_passages = starts[documents + 1] - starts[documents]
    new_starts = np.append(0, np.cumsum(n_passages))
    rows = np.arange(new_starts[-1]) + np.repeat(starts[documents] - new_starts[:-1], n_passages)
    return rows, new_starts


def write(file, passages):
    """Store passages in an open file."""
    group = file.create_group("passages")
    for name in ("starts", "keys", "sizes"):
        storage.write_array(group, name, getattr(passages, name))
    storage.write_csr(group, "words", passages.words)


def read(file):
    """Read the passages that `write` stored; return None if a file has none."""
    if "passages" not in file:
        return None
    group = file["passages"]
    return Passages(*arrays(group), storage.read_csr(group, "words"))


def arrays(group):
    """Read the arrays [starts, keys, sizes] from an open group."""
    return [
        storage.read_array(group, name, kind)
        for name, kind in (("starts", "i"), ("keys", "u"), ("sizes", "i"))
    ]
