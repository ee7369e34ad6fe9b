"""Words that no document before a period has, compared with the unseen words of earlier periods.

Let x of the n items of a period contain an unseen word. Its t is the evidence of
`odl.alerts.surprise` against all earlier documents, with d = 0, and T is the largest t of a period.
A word is beyond chance if t reaches the limit (1) of `odl.alerts.gates` at the level
`UNSEEN_LEVEL`. This limit is computed from the T of the last `gates.HISTORY` periods, each at most
the limit of its own period. Unseen words open no gate.

If the vocabulary is bounded (`features.max_terms`), a word may have been removed from it after it
was seen. A Bloom filter (Bloom 1970) of `FILTER_BITS` bits therefore stores all words so far. No
word that was seen is reported as unseen. After w words, a share (1 - exp(-`WORD_BITS` w /
`FILTER_BITS`))^`WORD_BITS` of the unseen words is missed.
"""

import hashlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import gates, phrasing, surprise
from odl.alerts.model import Unseen
from odl.files.documents import NO_TIME

UNSEEN_LEVEL = 0.01  # probability that a period in which nothing is new has a word beyond chance
STORED_SHARES = 20  # number of largest shares that are stored of a period
MAX_WORDS = 50  # largest number of words of a period that are reported
WORD_DOCUMENTS = 20  # documents stored for a word; their texts determine the word's phrase
FILTER_BITS, WORD_BITS = 1 << 20, 3  # bits of the Bloom filter; bits that each word sets
MAX_NEIGHBOURS = 8  # other words that may be in the phrase of a word
MAX_NEIGHBOUR_SHARE = 0.1  # largest share of earlier documents with one of these other words


class SeenWords(NamedTuple):
    """History of unseen words: statistics of the last periods, and a Bloom filter of seen words.

    Attributes
    ----------
    largest : ndarray of float64, shape (at most `gates.HISTORY`, 2)
        T and the number of items of each period.
    shares : ndarray of float64, shape (at most `gates.HISTORY`, `STORED_SHARES`)
        A row has the largest shares of the items of a period that contain one of its unseen words,
        in decreasing order, padded with 0.
    met : ndarray of uint8, shape (`FILTER_BITS` / 8,) or (0,)
        Packed bits of the filter; empty if the vocabulary is not bounded.
    """

    largest: np.ndarray = np.zeros((0, 2))
    shares: np.ndarray = np.zeros((0, STORED_SHARES))
    met: np.ndarray = np.zeros(0, dtype=np.uint8)

    def expected(self, share):
        """Return the mean number of unseen words per period that this share of its items has."""
        return float((self.shares >= share).sum() / max(len(self.shares), 1))

    def meeting(self, words):
        """Look words up in the Bloom filter, add them; return (seen before, updated history)."""
        positions = np.array([_bits(word) for word in words], dtype=np.int64).reshape(-1, WORD_BITS)
        bits = np.unpackbits(self.met) if len(self.met) else np.zeros(FILTER_BITS, dtype=np.uint8)
        before = bits[positions].all(axis=1)
        bits[positions] = 1
        return before, self._replace(met=np.packbits(bits))


def _bits(word):
    """Return the positions of the bits that a word sets in the filter."""
    digest = hashlib.blake2b(
        word.encode("utf-8", "surrogatepass"), digest_size=4 * WORD_BITS
    ).digest()
    return np.frombuffer(digest, dtype="<u4") % FILTER_BITS


def judge(past, documents, rows, names, settings, unproven=False):
    """Find the unseen words of a period, and update the history.

    A word is reported if at least `alerts.unseen` items from at least `alerts.unseen_sources` files
    contain the word; at most `MAX_WORDS` words are reported. Words with the same phrase are
    reported together.

    Parameters
    ----------
    past : SeenWords
    documents : odl.alerts.decision.PeriodDocuments
    rows : ndarray of int64
        Documents that are the items of the period.
    names : odl.alerts.periods.Names
        Ids and titles of the documents.
    settings : odl.config.sections.Alerts
    unproven : bool
        Whether the history is too short: no words are returned, and only the history is updated.

    Returns
    -------
    words : list of odl.alerts.model.Unseen
        Words beyond chance first, then by decreasing number of items.
    history : SeenWords
        History after the period.
    """
    n, X = len(rows), surprise.take_rows(documents.counts, rows)
    by_word = sparse.csc_array(X)
    # number of items with each unseen word; 0 for other words
    x = np.where(documents.frequencies == 0, np.diff(by_word.indptr), 0)
    if len(past.met):  # the vocabulary is bounded, so it may have lost words that were seen
        unseen = np.flatnonzero(x)
        before, past = past.meeting([documents.vocabulary[term] for term in unseen.tolist()])
        x[unseen[before]] = 0
    columns = np.flatnonzero(x >= settings.unseen)
    if settings.unseen_sources > 1:
        n_sources = [_sources(documents, _rows(by_word, column, rows)) for column in columns]
        columns = columns[np.array(n_sources, dtype=int) >= settings.unseen_sources]
    columns = columns[np.lexsort((columns, -x[columns]))]
    background = surprise.Background(documents.frequencies, documents.n_before)
    terms, t = np.flatnonzero(x >= 2), np.zeros(len(x))
    t[terms] = surprise.tail(x[terms], n, background, terms)
    limit = gates.law_of_largest(np.insert(past.largest, 1, 0.0, axis=1), n).quantile(UNSEEN_LEVEL)
    shares = np.zeros(STORED_SHARES)
    shares[: len(columns)] = x[columns[:STORED_SHARES]] / max(n, 1)
    largest = [min(t.max(initial=0.0), limit), n]
    after = SeenWords(
        np.vstack([past.largest, largest])[-gates.HISTORY :],
        np.vstack([past.shares, shares])[-gates.HISTORY :],
        past.met,
    )
    if unproven or not len(columns):
        return [], after
    reports: dict[str, Unseen] = {}  # phrase -> report
    period = phrasing.PeriodTexts.from_counts(documents.texts(rows), X, documents.vocabulary)
    for column, excess in zip(
        columns[:MAX_WORDS].tolist(), t[columns[:MAX_WORDS]].tolist(), strict=True
    ):
        holders = _rows(by_word, column, rows)
        phrase = _phrase(documents, column, holders, period)
        expected = past.expected(len(holders) / n)
        word = _unseen_word(documents, column, holders, names, phrase, expected, excess >= limit)
        covering = next((reported for reported in reports if _covers(reported, word)), phrase)
        earlier = reports.setdefault(covering, word)
        if earlier is not word:  # words of one phrase are joined, the most frequent first
            reports[covering] = replace(earlier, words=earlier.words + word.words)
    return sorted(reports.values(), key=lambda word: not word.beyond), after


def _covers(phrase, word):
    """Return whether a phrase that is already reported covers an unseen word.

    The phrase covers the word if both have the same phrase. In scripts without spaces it also
    covers the word if it contains the word's phrase, or overlaps the word inside this phrase.
    """
    if phrase == word.phrase:
        return True
    if not (phrasing.is_unspaced(phrase) and phrasing.is_unspaced(word.phrase)):
        return False
    word_start, phrase_start = word.phrase.find(word.words[0]), word.phrase.find(phrase)
    word_end, phrase_end = word_start + len(word.words[0]), phrase_start + len(phrase)
    overlap = min(word_start, phrase_start) >= 0 and max(word_start, phrase_start) < min(
        word_end, phrase_end
    )
    return overlap or word.phrase in phrase


def _rows(by_word, column, rows):
    """Return the documents among `rows` that contain a word, sorted."""
    return rows[np.sort(by_word.indices[by_word.indptr[column] : by_word.indptr[column + 1]])]


def _sources(documents, rows):
    """Return the number of different sources of the documents `rows`."""
    return len({documents.sources[row] for row in rows} - {""})


def _unseen_word(documents, column, rows, names, phrase, expected, beyond):
    """Return the `Unseen` record of a word that the documents `rows` contain."""
    times = np.sort(documents.times[rows][documents.times[rows] != NO_TIME])
    return Unseen(
        phrase=phrase,
        words=(documents.vocabulary[column],),
        items=len(rows),
        sources=_sources(documents, rows),
        first=int(times[0]) if len(times) else int(NO_TIME),
        half=int(times[(len(times) - 1) // 2] - times[0]) if len(times) else 0,
        expected=expected,
        beyond=bool(beyond),
        documents=tuple(
            (names.ids[row], names.titles[row]) for row in rows[:WORD_DOCUMENTS].tolist()
        ),
    )


def _phrase(documents, column, rows, period):
    """Return the phrase with a word in the texts of its documents, such as "crude oil" for "oil".

    `rows` are the documents with the word. The phrase contains only rare words that at least half
    of the first documents contain.
    """
    rows = rows[:WORD_DOCUMENTS]
    terms, holders = np.unique(documents.counts[rows].indices, return_counts=True)
    rare = documents.frequencies[terms] <= MAX_NEIGHBOUR_SHARE * documents.n_before
    allowed = (2 * holders >= len(rows)) & rare & (terms != column)
    order = np.lexsort((terms[allowed], -holders[allowed]))[:MAX_NEIGHBOURS]
    words = [documents.vocabulary[term] for term in (column, *terms[allowed][order])]
    texts = documents.texts(rows)
    candidates = phrasing.phrases(texts, words, min(2, len(texts)), period)
    return next(phrase for phrase, inside in candidates if words[0] in inside)
