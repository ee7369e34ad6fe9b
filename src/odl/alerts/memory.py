"""Memory of topics from period to period: their sums and counts, and items that have none.

What grows with the stream is cut here: terms of a topic, items without a topic, topics that ended.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts.model import NONE, STATES
from odl.learners import sparse_atoms
from odl.learners.sparse_atoms import largest_per_row, widen

FULL = 50  # items from which on a new one counts as much as one of the last so many
KEPT = 100  # terms of a topic, and of an item that is remembered
LIFT = 2.0  # times the share of all documents that have a word that makes a topic: the least share of its items
OWN = 10  # heaviest of these words
SHARED = 0.25  # share of a topic's items that a word of its name is in, two items at least
LOOSE = 2500  # items without a topic, of a period and remembered: all are compared with each other, in .6 GB
OF_TERMS = ("sums", "occurrences", "loose")
OF_TOPICS = ("number", "birth", "last", "items", "state", "reach", "sums", "occurrences", "counts")  # and `names`
NEW, ONGOING, GROWING, RETURNING, ENDED = range(len(STATES))


@dataclass(frozen=True)
class Memory:
    """What is carried from period to period: m topics, r items that have no topic yet.

    Attributes
    ----------
    numbered : int
        Topics numbered so far.
    number, birth, last, items : ndarray of int64, shape (m,)
        Number, period of birth, last period with an item, items so far.
    state : ndarray of int8, shape (m,)
        Position in `odl.alerts.model.STATES`.
    reach : ndarray of float64, shape (m,)
        Least cosine of an item of the topic.
    names : list of str
        Parts of each name, separated by tabs.
    sums : csr_array of float32, shape (m, n_terms)
        Weighted sum of the items, its heaviest terms.
    occurrences : csr_array of float32, shape (m, n_terms)
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

    numbered: int
    number: np.ndarray
    birth: np.ndarray
    last: np.ndarray
    items: np.ndarray
    state: np.ndarray
    reach: np.ndarray
    names: list
    sums: sparse.csr_array
    occurrences: sparse.csr_array
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
    return replace(memory, **{name: widen(getattr(memory, name), n_columns=n_terms) for name in OF_TERMS})


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
    return replace(
        memory, **{name: sparse_atoms.moved(getattr(memory, name), shape, places, n_terms) for name in OF_TERMS}
    )


def with_topic(memory, members, t, n_now, reach):
    """Return the memory with one more topic, made of these items; those of this period are counted later."""
    sums, occurrences = _heaviest(*total(members))
    values = {"number": memory.numbered + 1, "birth": t, "last": t, "items": members.shape[0] - n_now}
    values |= {"state": NEW, "reach": reach}
    grown = {
        name: np.append(getattr(memory, name), value).astype(getattr(memory, name).dtype)
        for name, value in values.items()
    }
    return replace(
        memory,
        numbered=memory.numbered + 1,
        names=[*memory.names, ""],
        sums=stacked(memory.sums, sums),
        occurrences=stacked(memory.occurrences, occurrences),
        counts=np.vstack([memory.counts, np.zeros((1, memory.counts.shape[1]), dtype=np.int64)]),
        **grown,
    )


def learned(memory, Q, topic, founders):
    """Add the items of each topic to its sum, but for those that a new topic was made of: {number: rows of Q}."""
    place = {number: row for row, number in enumerate(memory.number.tolist())}
    sums, occurrences = {}, {}
    for number in np.unique(topic[topic != NONE]).tolist():
        rows = np.setdiff1d(np.flatnonzero(topic == number), founders.get(number, ()))
        if not len(rows):
            continue
        row = place[number]
        weights, count = memory.sums[[row]].astype(np.float64), memory.occurrences[[row]].astype(np.float64)
        # From so many items on it forgets as much as it learns.
        kept = FULL / (FULL + len(rows)) if memory.items[row] > FULL else 1.0
        more, occurs = total(Q[rows])
        both = sparse.csr_array(weights * kept + more), sparse.csr_array(count * kept + occurs).sorted_indices()
        sums[row], occurrences[row] = _heaviest(*both)
    return replace(memory, sums=_replaced(memory.sums, sums), occurrences=_replaced(memory.occurrences, occurrences))


def remembered(memory, t, Q, rows, ids, settings):
    """Remember the items of the pool that have no topic, `LOOSE` at most; forget those of long ago."""
    rows, kept = rows[:LOOSE], memory.loose_t > t - settings.silence
    kept &= np.cumsum(kept[::-1])[::-1] <= LOOSE - len(rows)  # the newest
    memory = without_loose(memory, ~kept)
    return replace(
        memory,
        loose=stacked(memory.loose, largest_per_row(Q[rows], KEPT)),
        loose_ids=[*memory.loose_ids, *(ids[row] for row in rows)],
        loose_t=np.append(memory.loose_t, np.full(len(rows), t)),
    )


def without_loose(memory, gone):
    """Return the memory without some of the items that have no topic: ndarray of bool."""
    names = [name for name, left in zip(memory.loose_ids, ~gone, strict=True) if left]
    return replace(memory, loose=memory.loose[~gone], loose_ids=names, loose_t=memory.loose_t[~gone])


def limited(memory, settings):
    """Forget the topics that ended longest ago where there are too many."""
    over = len(memory.number) - settings.topics
    if over <= 0:
        return memory
    order = np.lexsort((memory.number, memory.last, memory.state != ENDED))
    kept = np.sort(order[over:])
    rows = {name: getattr(memory, name)[kept] for name in OF_TOPICS}
    return replace(memory, names=[memory.names[row] for row in kept], **rows)


class Profiles(NamedTuple):
    """What items are compared with topics by.

    Attributes
    ----------
    numbers, reach : ndarray
        Of the topics, as in `Memory`.
    columns : csr_array, shape (n_terms, n_topics)
        Sums of the topics, of unit l2 norm.
    own, heaviest : csr_array of int64, shape (n_terms, n_topics)
        1 where a word makes a topic, and where it is one of the heaviest of these.
    """

    numbers: np.ndarray
    reach: np.ndarray
    columns: sparse.csr_array
    own: sparse.csr_array
    heaviest: sparse.csr_array


def profiles(memory, frequencies, n_documents, rows=slice(None)):
    """Return the profiles of some rows of the memory; arguments as of `own_words`."""
    words = own_words(memory, rows, frequencies, n_documents)
    parts = [each.T.astype(bool).astype(np.int64) for each in (words, largest_per_row(words, OWN))]
    columns = unit(memory.sums[rows].astype(np.float64)).T
    return Profiles(memory.number[rows], memory.reach[rows], *(sparse.csr_array(each) for each in (columns, *parts)))


def own_words(memory, rows, frequencies, n_documents):
    """Return the words that make topics: those that they have `LIFT` times as often as all documents.

    Parameters
    ----------
    memory : Memory
    rows : slice
        Topics of the memory.
    frequencies : ndarray of int64, shape (n_terms,)
        Documents that have the term; a word that spreads ceases to be one of a topic.
    n_documents : int

    Returns
    -------
    csr_array of float32, shape (n_topics, n_terms)
        Their weights in the topics.
    """
    sums, occurrences = memory.sums[rows], memory.occurrences[rows]
    most = np.repeat(occurrences.max(axis=1).toarray(), np.diff(occurrences.indptr))
    lift = occurrences.data / most * (n_documents + 1) / (frequencies[occurrences.indices] + 1)
    weights = np.where(lift >= LIFT, sums.data, 0.0)
    words = sparse.csr_array((weights, sums.indices, sums.indptr), shape=sums.shape, copy=True)
    words.eliminate_zeros()  # in place: of a copy
    return words


def name_words(sums, occurrences, items, own, vocabulary):
    """Return the words that a topic's name may have, with their weights, the most telling first.

    Parameters
    ----------
    sums : csr_array, shape (1, n_terms)
        Sum of its items.
    occurrences : ndarray
        For each stored term of `sums` the number of items that have it.
    items : int
    own : ndarray of int
        Terms that make it (`own_words`); where it has none, its name may have any.
    vocabulary : list of str

    Returns
    -------
    dict of str to float
        Products of weight and items. A word of one item only never stands in it.
    """
    weight = np.where(occurrences >= max(2.0, SHARED * items), sums.data * occurrences, 0.0)
    telling = np.where(np.isin(sums.indices, own), weight, 0.0)
    weight = telling if telling.any() else weight
    order = np.lexsort((sums.indices, -weight))
    return {vocabulary[sums.indices[at]]: float(weight[at]) for at in order if weight[at] > 0}


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


def stacked(matrix, more):
    """Return a matrix with more rows, their terms in order, in single precision."""
    rows = sparse.csr_array(sparse.vstack([matrix, more], format="csr"))
    return rows.sorted_indices().astype(np.float32)


def _heaviest(weights, occurrences):
    """Return the heaviest terms of a topic, and the number of items that have them."""
    sums = largest_per_row(weights, KEPT).astype(np.float32)
    counts = occurrences.data[np.searchsorted(occurrences.indices, sums.indices)].astype(np.float32)
    return sums, sparse.csr_array((counts, sums.indices, sums.indptr), shape=sums.shape)


def _replaced(matrix, rows):
    """Return a matrix with other rows in some places: {row: csr_array of a row}."""
    places = np.arange(matrix.shape[0])
    places[list(rows)] = len(places) + np.arange(len(rows))
    return stacked(matrix, sparse.vstack([*rows.values()], format="csr"))[places] if rows else matrix
