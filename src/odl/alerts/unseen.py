"""Words never seen before a period, judged by how many of them, and how widespread, earlier periods had.

A word is unseen where no document before the period has it. Of n items x have it; its t is that of
`odl.alerts.surprise` against all documents before, with df = 0, and T is the largest t of a period. A word is beyond
chance where t reaches the limit (1) of `odl.alerts.gates`, at the level `UNSEEN` of a period and by the T of the last
`gates.HISTORY` periods, none of them taken as larger than its own limit. Nothing of it makes a period speak. Where the
vocabulary is bounded (`features.max_terms`) a word may have been forgotten; `FILTER` bits (Bloom 1970) remember that it
was seen. They err to one side: no word is told that a document had, and of w words before, a share of
(1 - exp(-`HASHES` w / `FILTER`))^`HASHES` is missed.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import gates, phrasing, surprise
from odl.alerts.model import Unseen
from odl.files.documents import NO_TIME

UNSEEN = 0.01  # level of a period
LARGEST = 20  # shares of a period that are remembered
MOST = 50  # words of a period that are told
DOCUMENTS = 20  # of a word that are kept, and whose texts its phrase is from
FILTER, HASHES = 1 << 20, 3  # bits, and those of a word
BESIDE, COMMON = 8, 0.1  # words that may stand in a phrase with it, and the share of documents in which none of them is


class SeenWords(NamedTuple):
    """What a period is compared with: two numbers, and the largest shares, of each of the last periods.

    Attributes
    ----------
    largest : ndarray of float64, shape (at most `gates.HISTORY`, 2)
        T and the number of items.
    shares : ndarray of float64, shape (at most `gates.HISTORY`, `LARGEST`)
        Share of the items of the period that have the word, largest first, 0 for none.
    met : ndarray of uint8, shape (`FILTER` / 8,) or (0,)
        Bits of all words so far, where the vocabulary is bounded.
    """

    largest: np.ndarray = np.zeros((0, 2))
    shares: np.ndarray = np.zeros((0, LARGEST))
    met: np.ndarray = np.zeros(0, dtype=np.uint8)

    def expected(self, share):
        """Return how many words an earlier period had in at least this share of its items, on average."""
        return float((self.shares >= share).sum() / max(len(self.shares), 1))

    def meeting(self, words):
        """Return which words were met before, and the same after them."""
        places = np.array([_bits(word) for word in words], dtype=np.int64).reshape(-1, HASHES)
        bits = np.unpackbits(self.met) if len(self.met) else np.zeros(FILTER, dtype=np.uint8)
        before = bits[places].all(axis=1)
        bits[places] = 1
        return before, self._replace(met=np.packbits(bits))


def _bits(word):
    """Return the bits of a word."""
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4 * HASHES).digest()
    return np.frombuffer(digest, dtype="<u4") % FILTER


class ItemWords(NamedTuple):
    """Items of a period, as far as their words are told of.

    Attributes
    ----------
    X : csr_array, shape (n_items, n_terms)
    frequencies : ndarray of int64, shape (n_terms,)
        Documents before the period that have the word.
    n_documents : int
        Documents before the period.
    vocabulary : list of str
    ids, titles : list of str
    times : ndarray of int64
        ms; `odl.files.documents.NO_TIME` where unknown.
    sources : list of str
        Files that they come from, empty where that is not known.
    texts : callable
        Of rows, their texts, or none where they are not kept.
    """

    X: sparse.csr_array
    frequencies: np.ndarray
    n_documents: int
    vocabulary: list
    ids: list
    titles: list
    times: np.ndarray
    sources: list
    texts: Callable


def judge(past, items, settings, unproven=False):
    """Return the unseen words of a period that enough of its items have, and what the next period is compared with.

    Parameters
    ----------
    past : SeenWords
    items : ItemWords
    settings : odl.config.sections.Alerts
    unproven : bool
        Too little came before: nothing is told, and the words are remembered only.

    Returns
    -------
    list of odl.alerts.model.Unseen, SeenWords
    """
    n, by_word = items.X.shape[0], sparse.csc_array(items.X)
    x = np.where(items.frequencies == 0, np.diff(by_word.indptr), 0)
    if len(past.met):
        unseen = np.flatnonzero(x)
        before, past = past.meeting([items.vocabulary[at] for at in unseen.tolist()])
        x[unseen[before]] = 0
    columns = np.flatnonzero(x >= settings.unseen)
    if settings.unseen_sources > 1:
        columns = np.array([at for at in columns if _sources(items, by_word, at) >= settings.unseen_sources], dtype=int)
    columns = columns[np.lexsort((columns, -x[columns]))]
    background, found = surprise.Background(items.frequencies, items.n_documents), np.flatnonzero(x >= 2)
    t = np.zeros(len(x))
    t[found] = surprise.tail(x[found], n, background, found)
    limit = gates.law_of_largest(np.insert(past.largest, 1, 0.0, axis=1), n).quantile(UNSEEN)
    shares = np.zeros(LARGEST)
    shares[: len(columns)] = x[columns[:LARGEST]] / max(n, 1)
    largest = [min(t.max(initial=0.0), limit), n]
    after = [np.vstack(rows)[-gates.HISTORY :] for rows in ([past.largest, largest], [past.shares, shares])]
    after = SeenWords(*after, past.met)
    if unproven or not len(columns):
        return [], after
    told: dict[str, Unseen] = {}
    period = phrasing.PeriodTexts.from_counts(items.texts(np.arange(n)), items.X, items.vocabulary)
    for column, excess in zip(columns[:MOST].tolist(), t[columns[:MOST]].tolist(), strict=True):
        one = _unseen_word(items, by_word, column, past, excess >= limit, period)
        first = next((first for first in told if _tells(first, one)), one.phrase)
        earlier = told.setdefault(first, one)
        if earlier is not one:  # the words of a phrase, the most widespread first
            told[first] = replace(earlier, words=earlier.words + one.words)
    return sorted(told.values(), key=lambda one: not one.beyond), after


def _tells(phrase, one):
    """Return whether a phrase tells of an unseen word: it is its phrase or, without spaces, has a character of it."""
    if phrase == one.phrase or not (phrasing.is_unspaced(phrase) and phrasing.is_unspaced(one.phrase)):
        return phrase == one.phrase
    start, at = one.phrase.find(one.words[0]), one.phrase.find(phrase)
    inside = at >= 0 and start >= 0 and at < start + len(one.words[0]) and start < at + len(phrase)
    return inside or one.phrase in phrase


def _rows(by_word, column):
    """Return the items that have a word, in their order."""
    return np.sort(by_word.indices[by_word.indptr[column] : by_word.indptr[column + 1]])


def _sources(items, by_word, column):
    return len({items.sources[row] for row in _rows(by_word, column)} - {""})


def _unseen_word(items, by_word, column, past, beyond, period):
    """Return an unseen word with what is told of it."""
    rows = _rows(by_word, column)
    times = np.sort(items.times[rows][items.times[rows] != NO_TIME])
    return Unseen(
        phrase=_phrase(items, column, rows[:DOCUMENTS], period),
        words=(items.vocabulary[column],),
        items=len(rows),
        sources=_sources(items, by_word, column),
        first=int(times[0]) if len(times) else int(NO_TIME),
        half=int(times[(len(times) - 1) // 2] - times[0]) if len(times) else 0,
        expected=past.expected(len(rows) / items.X.shape[0]),
        beyond=bool(beyond),
        documents=tuple((items.ids[row], items.titles[row]) for row in rows[:DOCUMENTS].tolist()),
    )


def _phrase(items, column, rows, period):
    """Return a word as its documents spell it, with the words that at least half of them have beside it."""
    beside, holders = np.unique(items.X[rows].indices, return_counts=True)
    near = (2 * holders >= len(rows)) & (items.frequencies[beside] <= COMMON * items.n_documents) & (beside != column)
    order = np.lexsort((beside[near], -holders[near]))[:BESIDE]
    words = [items.vocabulary[at] for at in (column, *beside[near][order])]
    texts = items.texts(rows)
    told = phrasing.phrases(texts, words, min(2, len(texts)), period)
    return next(phrase for phrase, inside in told if words[0] in inside)
