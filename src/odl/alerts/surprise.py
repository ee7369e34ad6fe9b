"""Evidence that words are more frequent in a period than before: tails of a negative binomial, two backgrounds.

Of n documents of a period x have the word w, of the N documents of a background d. With a = d + 1/2 + (N + 1) `FLOOR`,

    t_w = -log10 P(X >= x),   X negative binomial of mean n a / (N + 1) and shape r,   1 / r = 1 / a + `SPREAD`:

a Poisson number whose rate N documents tell, as a gamma distribution of shape a, and which varies from period to period
as subjects come and go. P(X >= x) is the regularised incomplete beta function I(x, r) at mean / (r + mean). The
backgrounds are all documents before, and documents before with a weight that halves in `HALF_LIFE` periods; the smaller
t_w counts, so a word is news only if it is frequent against both. Words of titles are a second vocabulary: one title
is enough, and t_w is doubled in periods of fewer than `FEW` documents.

Near-duplicates count once in each period, in x and n as in d and N: a document that repeats one of an earlier period
is one of the n, so that a stream of many repeats knows how rare a word is, but no word is news by repeats alone.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse, special

FLOOR = 1 / 2000  # share of documents that a word unseen so far is expected in; 1/4000 to 1/20000 change nothing
SPREAD = 0.04  # relative variance of a word's rate between periods: .01 to .1 of posts, Reuters, arXiv as they came
HALF_LIFE = 30  # periods
FEW = 25  # documents of a period below which titles count double
TITLES = 2.0  # their weight there
LEAST_TAIL = 1e-300
STORED = 1e-3  # smallest weighted count that is stored


class Background(NamedTuple):
    """Documents before a period, weighted, and how many of them have each term.

    Attributes
    ----------
    words : ndarray of float64, shape (n_terms,)
    n : float
    """

    words: np.ndarray
    n: float


class Counts(NamedTuple):
    """Documents of a set that have each term, in text or title; n is the number of documents.

    Attributes
    ----------
    words, titles : ndarray of int64, shape (n_terms,)
    n : int
    """

    words: np.ndarray
    titles: np.ndarray
    n: int

    @classmethod
    def from_documents(cls, X, titles):
        """Return the counts of documents, rows of two matrices of words."""
        n_terms = X.shape[1]
        return cls(
            np.bincount(X.indices, minlength=n_terms), np.bincount(titles.indices, minlength=n_terms), X.shape[0]
        )

    def where(self, words, titles):
        """Return the same with counts of 0 for terms outside two masks."""
        return self._replace(words=np.where(words, self.words, 0), titles=np.where(titles, self.titles, 0))

    def plus(self, other):
        """Return the counts of both sets."""
        return Counts(self.words + other.words, self.titles + other.titles, self.n + other.n)

    def padded(self, n_terms):
        """Return the same for more terms."""
        return Counts(*(np.pad(each, (0, n_terms - len(each))) for each in self[:2]), self.n)


class WordHistory(NamedTuple):
    """Backgrounds that are carried from period to period, and the counts of the last period.

    Attributes
    ----------
    words, titles, recent, recent_titles : ndarray of float64, shape (n_terms,)
        Documents and titles with each term; the same with weights that halve in `HALF_LIFE` periods.
    n, n_recent : float
        Documents; the sum of their weights.
    last, last_titles : ndarray of int64, shape (n_terms,)
        Documents and titles of the last period with each term, of documents that are of no event.
    n_last : int
    """

    words: np.ndarray = np.zeros(0)
    titles: np.ndarray = np.zeros(0)
    n: float = 0.0
    recent: np.ndarray = np.zeros(0)
    recent_titles: np.ndarray = np.zeros(0)
    n_recent: float = 0.0
    last: np.ndarray = np.zeros(0, dtype=np.int64)
    last_titles: np.ndarray = np.zeros(0, dtype=np.int64)
    n_last: int = 0

    def moved(self, places, n_terms):
        """Return the same under other numbers of terms; -1: the term has left. None: terms were only appended."""
        places = np.arange(len(self.recent)) if places is None else places
        stays, arrays = places >= 0, {}
        for name in ARRAYS:
            values = getattr(self, name)
            arrays[name] = np.zeros(n_terms, dtype=values.dtype)
            arrays[name][places[stays]] = values[stays]
        return self._replace(**arrays)

    def before(self):
        """Return the backgrounds of texts and those of titles before a period."""
        return (
            (Background(self.words, self.n), Background(self.recent, self.n_recent)),
            (Background(self.titles, self.n), Background(self.recent_titles, self.n_recent)),
        )

    def before_last(self):
        """Return the backgrounds of this period and the documents of no event in the last one: without the latter."""
        n, weight = self.n - self.n_last, 0.5 ** (-1 / HALF_LIFE)
        n_recent = (self.n_recent - self.n_last) * weight
        return (
            (Background(self.words - self.last, n), Background((self.recent - self.last) * weight, n_recent)),
            (
                Background(self.titles - self.last_titles, n),
                Background((self.recent_titles - self.last_titles) * weight, n_recent),
            ),
        )

    def after(self, counts, last=None):
        """Return the history after a period, with weights rounded as they are stored: small ones 0, single precision.

        Parameters
        ----------
        counts : Counts
            Of the documents of the period.
        last : Counts, optional
            Of those that are of no event; of all by default.
        """
        weight = 0.5 ** (1 / HALF_LIFE)
        recent, recent_titles = (
            _rounded(before * weight + now)
            for before, now in ((self.recent, counts.words), (self.recent_titles, counts.titles))
        )
        return WordHistory(
            self.words + counts.words, self.titles + counts.titles, self.n + counts.n,
            recent, recent_titles, self.n_recent * weight + counts.n, *(last or counts),
        )  # fmt: skip


ARRAYS = ("words", "titles", "recent", "recent_titles", "last", "last_titles")  # of `WordHistory`, one number a term


class Evidence(NamedTuple):
    """t_w of each term of a set of documents, 0 where it is not in enough of them.

    Attributes
    ----------
    t : ndarray of float64, shape (n_terms,)
        The larger one of text and title, titles weighted; the smaller one of the backgrounds.
    t_all, t_recent : ndarray of float64, shape (n_terms,)
        Against each background, not doubled.
    plain, doubled : ndarray of float64, shape (n_terms,)
        t if titles counted once, and double; t is one of these.
    """

    t: np.ndarray
    t_all: np.ndarray
    t_recent: np.ndarray
    plain: np.ndarray
    doubled: np.ndarray


def tail(x, n, background, terms):
    """Return t_w of some terms, of which x of n documents have each, against a background.

    Equation `word-evidence` of docs/method.md.
    """
    a = background.words[terms] + 0.5 + (background.n + 1) * FLOOR
    mean, shape = n * a / (background.n + 1), 1 / (1 / a + SPREAD)
    chance = special.betainc(x, shape, mean / (shape + mean))
    return -np.log10(np.maximum(chance, LEAST_TAIL))


def evidence(counts, texts, titles, least=2, least_titles=1):
    """Return t_w of the terms of a set of documents.

    Parameters
    ----------
    counts : Counts
    texts, titles : tuple of Background
        All documents before, and the recent ones.
    least, least_titles : int
        Documents and titles that have a term at least.

    Returns
    -------
    Evidence
    """
    n_terms = len(counts.words)
    both, plain, doubled = np.zeros((2, n_terms)), np.zeros(n_terms), np.zeros(n_terms)
    for x, backgrounds, enough, times in (
        (counts.words, texts, least, 1.0),
        (counts.titles, titles, least_titles, TITLES),
    ):
        terms = np.flatnonzero(x >= enough)
        t = np.array([tail(x[terms], counts.n, one, terms) for one in backgrounds])
        smaller = t.min(axis=0)
        larger = smaller > plain[terms]
        both[:, terms[larger]] = t[:, larger]
        plain[terms] = np.maximum(plain[terms], smaller)
        doubled[terms] = np.maximum(doubled[terms], times * smaller)
    return Evidence(doubled if counts.n < FEW else plain, *both, plain, doubled)


def presence(matrix):
    """Return a matrix with ones at its entries."""
    return sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def _rounded(values):
    return np.where(values < STORED, 0.0, values.astype(np.float32).astype(np.float64))
