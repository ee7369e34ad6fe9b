"""Evidence that a word is more frequent in a period than before.

A period has n documents, and x of them contain the word w. A background has N documents, and d of
them contain w. The evidence for w is -log10 of a negative binomial tail probability: with
a = d + 1/2 + (N + 1) `FLOOR`,

    t_w = -log10 P(X >= x),   X negative binomial with mean n a / (N + 1) and shape r,
                              1 / r = 1 / a + `SPREAD`.

X is a Poisson number whose rate has a gamma distribution with shape a, estimated from the
background. `SPREAD` adds the variation of the rate between periods. P(X >= x) is the regularised
incomplete beta function I(x, r) at mean / (r + mean). There are two backgrounds: all earlier
documents, and earlier documents with a weight that halves every `HALF_LIFE` periods. The smaller
of the two t_w is used, so a word is news only if it is more frequent than in both backgrounds.

Words in titles are counted separately from words in texts. A single title with the word suffices
for a headline. In periods with fewer than `FEW` documents the t_w of title words is doubled.

Near-duplicates in the same period count once, in x and n as well as in d and N. Documents that
repeat a document of an earlier period also count in x and n. But repeats alone make no word news:
a headline needs two documents that are no repeats, or the title of one (`odl.alerts.decision`).
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse, special

# Expected share of documents with an unseen word; 1/4000 to 1/20000 give the same results.
FLOOR = 1 / 2000
# Relative variance of a word's rate between periods; measured .01 to .1 on posts, Reuters, arXiv.
SPREAD = 0.04
HALF_LIFE = 30  # periods in which the weight of earlier documents halves
FEW = 25  # titles count double in periods with fewer documents
TITLE_WEIGHT = 2.0  # factor of t_w for title words in periods with fewer than `FEW` documents
LEAST_TAIL = 1e-300  # lower bound of a tail probability, so that its logarithm is finite
MIN_STORED_COUNT = 1e-3  # smaller weighted counts are stored as 0


class Background(NamedTuple):
    """Weighted document counts before a period: in total, and for each term.

    Attributes
    ----------
    words : ndarray of float64, shape (n_terms,)
        Number of documents with each term.
    n : float
        Number of documents.
    """

    words: np.ndarray
    n: float


class Counts(NamedTuple):
    """Document counts in a period: in total, and for each term.

    Attributes
    ----------
    words, titles : ndarray of int64, shape (n_terms,)
        Number of documents with the term in the text, and in the title.
    n : int
        Number of documents.
    """

    words: np.ndarray
    titles: np.ndarray
    n: int

    @classmethod
    def from_documents(cls, X, titles):
        """Count documents, given the word counts of their texts (X) and of their titles."""
        n_terms = X.shape[1]
        return cls(
            np.bincount(X.indices, minlength=n_terms),
            np.bincount(titles.indices, minlength=n_terms),
            X.shape[0],
        )

    def where(self, words, titles):
        """Return a copy in which the counts of terms outside of two boolean masks are 0."""
        return self._replace(
            words=np.where(words, self.words, 0), titles=np.where(titles, self.titles, 0)
        )

    def plus(self, other):
        """Return the sum of these counts and the counts of other documents.

        No document may be in both.
        """
        return Counts(self.words + other.words, self.titles + other.titles, self.n + other.n)

    def padded(self, n_terms):
        """Return a copy for `n_terms` terms, with zeros for the additional terms."""
        padded = (np.pad(counts, (0, n_terms - len(counts))) for counts in self[:2])
        return Counts(*padded, self.n)


class WordHistory(NamedTuple):
    """Document counts for each term: in all periods so far, and in the last period alone.

    Attributes
    ----------
    words, titles, recent, recent_titles : ndarray of float64, shape (n_terms,)
        Documents and titles with each term, unweighted and with weights that halve every
        `HALF_LIFE` periods.
    n, n_recent : float
        Number of documents, and the sum of their weights.
    last, last_titles : ndarray of int64, shape (n_terms,)
        Documents and titles of the last period with each term, without the documents of events.
    n_last : int
        Number of these documents.
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

    def moved(self, new_numbers, n_terms):
        """Return a copy with renumbered terms.

        Parameters
        ----------
        new_numbers : ndarray of int64 or None
            New number of each term, -1 if it was removed; None if terms were only added.
        n_terms : int
            Number of terms afterwards.
        """
        arrays = {name: getattr(self, name) for name in ARRAYS}
        if new_numbers is None:
            n_added = n_terms - len(self.recent)
            for name, values in arrays.items():
                arrays[name] = np.concatenate([values, np.zeros(n_added, dtype=values.dtype)])
            return self._replace(**arrays)
        remains = new_numbers >= 0
        for name, values in arrays.items():
            arrays[name] = np.zeros(n_terms, dtype=values.dtype)
            arrays[name][new_numbers[remains]] = values[remains]
        return self._replace(**arrays)

    def before(self):
        """Return two pairs of backgrounds (all documents, recent ones): for texts, for titles."""
        return (
            (Background(self.words, self.n), Background(self.recent, self.n_recent)),
            (Background(self.titles, self.n), Background(self.recent_titles, self.n_recent)),
        )

    def before_last(self):
        """Return the backgrounds (`before`) without the last period.

        The gate "two periods" compares the documents of the last two periods with these.
        """
        n, weight = self.n - self.n_last, 0.5 ** (-1 / HALF_LIFE)
        n_recent = (self.n_recent - self.n_last) * weight
        return (
            (
                Background(self.words - self.last, n),
                Background((self.recent - self.last) * weight, n_recent),
            ),
            (
                Background(self.titles - self.last_titles, n),
                Background((self.recent_titles - self.last_titles) * weight, n_recent),
            ),
        )

    def after(self, counts, last=None):
        """Return the history after a period, with weighted counts rounded as files store them.

        Parameters
        ----------
        counts : Counts
            Counts of the documents of the period.
        last : Counts, optional
            Counts of the documents without an event; by default `counts`.
        """
        weight = 0.5 ** (1 / HALF_LIFE)
        recent, recent_titles = (
            _round(before * weight + now)
            for before, now in ((self.recent, counts.words), (self.recent_titles, counts.titles))
        )
        return WordHistory(
            self.words + counts.words, self.titles + counts.titles, self.n + counts.n,
            recent, recent_titles, self.n_recent * weight + counts.n, *(last or counts),
        )  # fmt: skip


# Fields of `WordHistory` that contain a count for each term.
ARRAYS = ("words", "titles", "recent", "recent_titles", "last", "last_titles")


class Evidence(NamedTuple):
    """Evidence t_w of each term in a set of documents; 0 if too few documents have the term.

    Attributes
    ----------
    t : ndarray of float64, shape (n_terms,)
        Maximum over text and title of the minimum of t_w over the two backgrounds. For titles, the
        minimum is multiplied by `TITLE_WEIGHT` in small periods.
    t_all, t_recent : ndarray of float64, shape (n_terms,)
        t_w for each background, with titles counted once.
    plain, doubled : ndarray of float64, shape (n_terms,)
        t with titles counted once, and counted double; `t` is one of these.
    """

    t: np.ndarray
    t_all: np.ndarray
    t_recent: np.ndarray
    plain: np.ndarray
    doubled: np.ndarray


def tail(x, n, background, terms):
    """Return t_w of terms that are in x of n documents, compared with a background.

    Equation `word-evidence` of docs/method.md.
    """
    a = background.words[terms] + 0.5 + (background.n + 1) * FLOOR
    mean, shape = n * a / (background.n + 1), 1 / (1 / a + SPREAD)
    chance = special.betainc(x, shape, mean / (shape + mean))
    return -np.log10(np.maximum(chance, LEAST_TAIL))


def evidence(counts, texts, titles, min_documents=2, min_titles=1):
    """Return t_w of all terms in a set of documents.

    Parameters
    ----------
    counts : Counts
    texts, titles : tuple of Background
        Background of all earlier documents, and of recent ones.
    min_documents, min_titles : int
        Smallest number of documents and of titles with a term; terms with fewer have t_w = 0.

    Returns
    -------
    Evidence
    """
    n_terms = len(counts.words)
    by_background, plain, doubled = np.zeros((2, n_terms)), np.zeros(n_terms), np.zeros(n_terms)
    for x, backgrounds, min_count, weight in (
        (counts.words, texts, min_documents, 1.0),
        (counts.titles, titles, min_titles, TITLE_WEIGHT),
    ):
        terms = np.flatnonzero(x >= min_count)
        t = np.array([tail(x[terms], counts.n, background, terms) for background in backgrounds])
        smaller = t.min(axis=0)
        larger = smaller > plain[terms]
        by_background[:, terms[larger]] = t[:, larger]
        plain[terms] = np.maximum(plain[terms], smaller)
        doubled[terms] = np.maximum(doubled[terms], weight * smaller)
    return Evidence(doubled if counts.n < FEW else plain, *by_background, plain, doubled)


def presence(matrix):
    """Return a copy of a sparse matrix with all stored entries set to 1."""
    return sparse.csr_array(
        (np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape
    )


def take_rows(X, rows):
    """Return rows of a CSR matrix, given in ascending order; X itself if these are all rows."""
    return X if len(rows) == X.shape[0] else X[rows]


def rows_with(X, term):
    """Return the rows of a CSR matrix that have an entry in a column, sorted."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.sort(rows[X.indices == term])


def _round(values):
    """Return counts in single precision, small counts as 0."""
    return np.where(values < MIN_STORED_COUNT, 0.0, values.astype(np.float32).astype(np.float64))
