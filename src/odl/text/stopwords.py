"""Stop words by language: articles, pronouns, prepositions, auxiliaries; and what language a document is in by them.

Where no list fits, the script of its words is told. English is scikit-learn's list, so that it need not be imported.
"""

from collections.abc import Sequence
from copy import copy
from importlib.resources import files

import numpy as np
from scipy import sparse

from odl.text import scripts
from odl.text.words import fold_case

TEXT = (files("odl.text") / "stopwords.txt").read_text(encoding="utf-8")  # paragraphs: a language, and its words
LANGUAGES = {name: frozenset(words) for name, *words in map(str.split, TEXT.split("\n\n"))}
LISTS = {name: listed.union(map(fold_case, listed)) for name, listed in LANGUAGES.items()}
NAMES = [*LISTS]
PLACES = {word: place for place, word in enumerate(sorted(frozenset().union(*LISTS.values())), start=1)}
TABLE = np.array([[False] * len(LISTS), *([word in listed for listed in LISTS.values()] for word in PLACES)])
KNOWN, DISTINCT = 0.12, 2  # share of a text's words that are stop words of its language, and different ones, at least
DISTINCT_ALL = 5  # of the usual language, in all texts so far; it has two thirds of the words there that any list has
SHORT = 20  # words of a text from which on it would have some of a list
LEAST = 0.05  # share of the documents from which on a language or a script is told of
CJK = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")


class StopWords:
    """Stop words of all lists, left out of each document by its own language.

    The language is that of the list that has most of a document's words. Where several have as many, or the document
    is too short to tell, it is the usual one of the stream so far, if there is one.

    Parameters
    ----------
    words : sequence of str
        Word of each term.
    frequencies : ndarray, shape (n_terms,)
        Earlier documents that hold each.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.text.stopwords import StopWords
    >>> counts = csr_array([[1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1]])
    >>> stop_words = StopWords(["das", "ist", "wetter", "the", "is", "weather", "die"], counts.sum(axis=0))
    >>> stop_words.told(counts)
    ['german', 'english']
    >>> stop_words.kept(counts)  # of each entry; to die is no article
    array([False, False,  True, False, False,  True,  True])
    """

    def __init__(self, words: Sequence[str], frequencies: np.ndarray) -> None:
        self.places = _places(words)
        past = np.bincount(self.places, frequencies, minlength=len(TABLE))
        times = past @ TABLE
        self.order = np.argsort(-times, kind="stable")
        most = times.max() >= KNOWN * max(np.sum(frequencies), 1) and 3 * times.max() > 2 * np.sum(past[1:])
        self.usual = 0 if most and np.sum(TABLE[past > 0, self.order[0]]) >= DISTINCT_ALL else -1

    def of(self, words: Sequence[str]) -> "StopWords":
        """Return the same of other words."""
        other = copy(self)
        other.places = _places(words)
        return other

    def _languages(self, counts):
        """Return the place of the list of each document, the usual one first; -1 where none fits."""
        parts, shape = (self.places[counts.indices], counts.indptr), (counts.shape[0], len(TABLE))
        table, total = TABLE[:, self.order], np.asarray(counts.sum(axis=1)).ravel()
        times = sparse.csr_array((counts.data, *parts), shape=shape) @ table
        different = sparse.csr_array((np.ones_like(counts.data), *parts), shape=shape) @ table
        best, most = np.argmax(times, axis=1), times.max(axis=1)
        known = (most >= KNOWN * np.maximum(total, 1)) & (different[np.arange(len(best)), best] >= DISTINCT)
        known &= ((times == most[:, None]).sum(axis=1) == 1) | (best == self.usual)
        return np.where(known, best, np.where(total < SHORT, self.usual, -1))

    def told(self, counts: sparse.csr_array) -> list[str]:
        """Return the language of each document, "" where no list fits."""
        names = [*(NAMES[at] for at in self.order), ""]
        return [names[at] for at in self._languages(counts).tolist()]

    def kept(self, counts: sparse.csr_array) -> np.ndarray:
        """Tell which entries of counts are no stop words of their document's language."""
        place = np.repeat(self._languages(counts), np.diff(counts.indptr))
        return (place < 0) | ~TABLE[self.places[counts.indices], self.order[place]]


def _places(words):
    """Return the row of `TABLE` of each word, 0 of one that no list has."""
    return np.fromiter((PLACES.get(word, 0) for word in words), dtype=np.int32, count=len(words))


def left(counts, kept):
    """Return some entries of counts, but all of a document that would have none."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return entries(counts, kept | (np.bincount(rows, kept, minlength=counts.shape[0]) == 0)[rows])


def entries(matrix, kept):
    """Return the CSR matrix with some of its entries."""
    totals = np.concatenate([[0], np.cumsum(kept)])
    shape, indptr = matrix.shape, totals[matrix.indptr].astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=shape)


def mix(counts: sparse.csr_array, words: Sequence[str], stop_words: StopWords, alone: bool = False) -> dict[str, int]:
    """Return how many documents are of each script other than Latin, or else of each language.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_terms)
        Without the stop words of a list that were left out when they were counted, whose language is then told of none.
    words : sequence of str
    stop_words : StopWords
        Of these words.
    alone : bool
        Whether one script, or no language, is told where it is alone.

    Returns
    -------
    dict of str to int
        Those of a twentieth of the documents or more; "" is any other.
    """
    pairs = zip(_scripts(counts, words), stop_words.told(counts), strict=True)
    found = [script or language for script, language in pairs]
    names, times = np.unique(found, return_counts=True)
    many = {name: int(n) for name, n in zip(names.tolist(), times.tolist(), strict=True) if n >= LEAST * len(found)}
    return many if alone or len(many) > 1 or many.keys() & LISTS.keys() else {}


def _scripts(counts, words):
    """Return the script of most words of each document, "" where it is Latin or none has more than half."""
    others = [term for term in np.unique(counts.indices).tolist() if not words[term].isascii()]
    names, script = np.unique(["", *(_script_of(words[term]) for term in others)], return_inverse=True)
    of_term, shape = np.zeros(len(words), dtype=np.int64), (counts.shape[0], len(names))
    of_term[others] = script[1:]
    rows = np.repeat(np.arange(shape[0]), np.diff(counts.indptr))
    cells = rows * len(names) + of_term[counts.indices]
    times = np.bincount(cells, counts.data, minlength=shape[0] * shape[1]).reshape(shape)
    best = np.argmax(times, axis=1)
    most = 2 * times.max(axis=1) > times.sum(axis=1)
    return [str(names[at]) if sure else "" for at, sure in zip(best.tolist(), most.tolist(), strict=True)]


def _script_of(word):
    """Return the script of a word's first letter, "" where it is Latin."""
    letter = next((sign for sign in word if sign.isalpha()), "")
    script = scripts.script_of(letter) if letter else ""
    return "" if script == "LATIN" else "Han or kana" if script in CJK else script.capitalize()
