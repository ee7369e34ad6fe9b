"""What the topics of a stream are carried by from period to period: their sums and counts, and items that have none.

What grows with the stream is cut here: terms of a topic, items without a topic, topics that ended.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from odl.alerts.model import STATES
from odl.learners import sparse_atoms
from odl.learners.sparse_atoms import largest_per_row, widen

KEPT = 100  # terms of a topic, and of an item that is remembered
NEW, ONGOING, GROWING, RETURNING, ENDED = range(len(STATES))


@dataclass(frozen=True)
class Memory:
    """What is carried from period to period: m topics, r items that have no topic yet.

    Attributes
    ----------
    given : int
        Topics numbered so far.
    number, birth, last, items : ndarray of int64, shape (m,)
        Number, period of birth, last period with an item, items so far.
    state : ndarray of int8, shape (m,)
        Position in `odl.alerts.model.STATES`.
    reach : ndarray of float64, shape (m,)
        Least cosine of an item of the topic.
    names : list of str
        Words of each name, separated by spaces.
    sums : csr_array of float32, shape (m, n_terms)
        Weighted sum of the items, its heaviest terms.
    held : csr_array of float32, shape (m, n_terms)
        Items that have the term, where `sums` has an entry.
    counts : ndarray of int64, shape (m, past)
        Items in each of the last periods, the newest last.
    totals : ndarray of int64, shape (past,)
        Items of the stream in these periods.
    loose : csr_array of float32, shape (r, n_terms)
        Items without a topic of the last periods.
    loose_ids : list of str
    loose_t : ndarray of int64, shape (r,)
    """

    given: int
    number: np.ndarray
    birth: np.ndarray
    last: np.ndarray
    items: np.ndarray
    state: np.ndarray
    reach: np.ndarray
    names: list
    sums: sparse.csr_array
    held: sparse.csr_array
    counts: np.ndarray
    totals: np.ndarray
    loose: sparse.csr_array
    loose_ids: list
    loose_t: np.ndarray


def nothing(settings):
    """Return the memory before the first period."""
    whole, none = np.zeros(0, dtype=np.int64), sparse.csr_array((0, 0), dtype=np.float32)
    return Memory(
        0, whole, whole, whole, whole, whole.astype(np.int8), np.zeros(0), [], none, none,
        np.zeros((0, settings.past), dtype=np.int64), np.zeros(settings.past, dtype=np.int64), none, [], whole,
    )  # fmt: skip


def widened(memory, n_terms):
    """Return the memory with nothing for the terms that are new."""
    wide = {name: widen(getattr(memory, name), n_columns=n_terms) for name in ("sums", "held", "loose")}
    return replace(memory, **wide)


def moved(memory, places, n_terms):
    """Return the memory under other numbers of terms (-1: one that has left), as a bounded vocabulary asks for.

    Parameters
    ----------
    memory : Memory
    places : ndarray of int64
        New number of each term, rising.
    n_terms : int
    """
    shape = ("topics", "terms")
    found = {
        name: sparse_atoms.moved(getattr(memory, name), shape, places, n_terms) for name in ("sums", "held", "loose")
    }
    return replace(memory, **found)


def remembered(memory, t, Q, rows, ids, settings):
    """Remember the items of the pool that have no topic; forget those of long ago."""
    kept = memory.loose_t > t - settings.silence
    more = largest_per_row(Q[rows], KEPT).astype(np.float32)
    return replace(
        memory,
        loose=stacked(memory.loose[kept], more),
        loose_ids=[name for name, left in zip(memory.loose_ids, kept, strict=True) if left]
        + [ids[row] for row in rows],
        loose_t=np.append(memory.loose_t[kept], np.full(len(rows), t)),
    )


def limited(memory, settings):
    """Forget the topics that ended longest ago where there are too many."""
    over = len(memory.number) - settings.topics
    if over <= 0:
        return memory
    order = np.lexsort((memory.number, memory.last, memory.state != ENDED))
    kept = np.sort(order[over:])
    rows = {name: getattr(memory, name)[kept] for name in ("number", "birth", "last", "items", "state", "reach")}
    rows |= {name: getattr(memory, name)[kept] for name in ("sums", "held", "counts")}
    return replace(memory, names=[memory.names[row] for row in kept], **rows)


def unit(matrix):
    """Return the rows scaled to unit l2 norm."""
    sizes = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    scaled = sparse.csr_array(matrix, copy=True)
    scaled.data = scaled.data / np.repeat(np.where(sizes > 0, sizes, 1.0), np.diff(scaled.indptr))
    return scaled


def total(items):
    """Return the sum of the items and, for the same terms, the number of items that have them, as matrices of a row."""
    terms, places, occurs = np.unique(items.indices, return_inverse=True, return_counts=True)
    shape, ends = (1, items.shape[1]), np.array([0, len(terms)])
    weights = np.bincount(places, items.data, minlength=len(terms))
    return [sparse.csr_array((values, terms, ends), shape=shape) for values in (weights, occurs.astype(np.float64))]


def stacked_all(rows):
    """Return sparse rows below each other, their terms in order."""
    stacked = sparse.csr_array(sparse.vstack(rows, format="csr"))
    return stacked.sorted_indices()


def stacked(matrix, more):
    """Return a matrix with more rows, in single precision."""
    return stacked_all([matrix, more]).astype(np.float32)


def replaced(matrix, rows):
    """Return a matrix with other rows in some places: {row: csr_array of a row}."""
    if not rows:
        return matrix
    lengths, data, indices, end = np.diff(matrix.indptr), [], [], 0
    for row in sorted(rows):
        low, high = matrix.indptr[row : row + 2]
        data += [matrix.data[end:low], rows[row].data]
        indices += [matrix.indices[end:low], rows[row].indices]
        lengths[row], end = rows[row].nnz, high
    parts = [np.concatenate([*pieces, rest[end:]]) for pieces, rest in ((data, matrix.data), (indices, matrix.indices))]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((*parts, indptr), shape=matrix.shape).sorted_indices()
