"""Stop words by language: articles, pronouns, prepositions, auxiliaries; and what language a document is in by them.

Where no list fits, the script of its words is told. English is scikit-learn's list, so that it need not be imported.
"""

from collections.abc import Sequence
from importlib.resources import files

import numpy as np
from scipy import sparse

from odl.text import scripts
from odl.text.words import fold_case

TEXT = (files("odl.text") / "stopwords.txt").read_text(encoding="utf-8")  # paragraphs: a language, and its words
LANGUAGES = {name: frozenset(words) for name, *words in map(str.split, TEXT.split("\n\n"))}
LISTS = {name: listed.union(map(fold_case, listed)) for name, listed in LANGUAGES.items()}
LISTED = frozenset().union(*LISTS.values())
KNOWN, DISTINCT = 0.12, 2  # share of a text's words that are stop words of its language, and different ones, at least
LEAST = 0.05  # share of the documents from which on a language or a script is told of
CJK = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")


class StopWords:
    """Stop words of all lists, left out of each document by its own language.

    Parameters
    ----------
    words : sequence of str
        Word of each term.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.text.stopwords import StopWords
    >>> stop_words = StopWords(["das", "ist", "wetter", "the", "is", "weather", "die"])
    >>> counts = csr_array([[1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1]])
    >>> stop_words.told(counts)
    ['german', 'english']
    >>> stop_words.without(counts).toarray()  # to die is no article
    array([[0, 0, 1, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 1, 1]])
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.lists = np.zeros((len(words), len(LISTS)), dtype=bool)
        for column, word in enumerate(words):
            if word in LISTED:
                self.lists[column] = [word in listed for listed in LISTS.values()]

    def _languages(self, counts):
        """Return the number of the list of each document, -1 where none fits."""
        lists = sparse.csr_array(self.lists.astype(np.int32))
        times, different = ((matrix @ lists).toarray() for matrix in (counts, counts.astype(bool).astype(np.int32)))
        best = np.argmax(times, axis=1)
        rows = np.arange(counts.shape[0])
        known = times[rows, best] >= KNOWN * np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)
        return np.where(known & (different[rows, best] >= DISTINCT), best, -1)

    def told(self, counts: sparse.csr_array) -> list[str]:
        """Return the language of each document, "" where no list fits."""
        names = [*LISTS, ""]
        return [names[at] for at in self._languages(counts).tolist()]

    def without(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Return counts without the stop words of each document's language, but of documents that have no others."""
        language = np.repeat(self._languages(counts), np.diff(counts.indptr))
        return left(counts, (language < 0) | ~self.lists[counts.indices, language])


def left(counts, kept):
    """Return some entries of counts, but all of a document that would have none."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return entries(counts, kept | (np.bincount(rows, kept, minlength=counts.shape[0]) == 0)[rows])


def entries(matrix, kept):
    """Return the CSR matrix with some of its entries."""
    totals = np.concatenate([[0], np.cumsum(kept)])
    shape, indptr = matrix.shape, totals[matrix.indptr].astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=shape)


def mix(counts: sparse.csr_array, words: Sequence[str]) -> dict[str, int]:
    """Return how many documents are of each language, told by a list, or else of each script other than Latin.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_terms)
        Without the stop words of a list that were left out when they were counted, whose language is then told of none.
    words : sequence of str

    Returns
    -------
    dict of str to int
        Those of a twentieth of the documents or more; "" is any other. Empty where it is that alone, or one script.
    """
    terms, places = np.unique(counts.indices, return_inverse=True)
    words = [words[term] for term in terms.tolist()]
    counts = sparse.csr_array((counts.data, places, counts.indptr), shape=(counts.shape[0], len(words)))
    pairs = zip(StopWords(words).told(counts), _scripts(counts, words), strict=True)
    found = [language or script for language, script in pairs]
    names, times = np.unique(found, return_counts=True)
    many = {name: int(n) for name, n in zip(names.tolist(), times.tolist(), strict=True) if n >= LEAST * len(found)}
    return many if len(many) > 1 or many.keys() & LISTS.keys() else {}


def _scripts(counts, words):
    """Return the script of most words of each document, "" where it is Latin or none has more than half."""
    names, script = np.unique([*map(_script_of, words), ""], return_inverse=True)
    one_hot = sparse.csr_array(
        (np.ones(len(words), dtype=np.int64), script[:-1], np.arange(len(words) + 1)), shape=(len(words), len(names))
    )
    times = (counts @ one_hot).toarray()
    best = np.argmax(times, axis=1)
    most = 2 * times.max(axis=1) > times.sum(axis=1)
    return [str(names[at]) if sure else "" for at, sure in zip(best.tolist(), most.tolist(), strict=True)]


def _script_of(word):
    """Return the script of a word's first letter, "" where it is Latin."""
    letter = "" if word.isascii() else next((sign for sign in word if sign.isalpha()), "")
    script = scripts.script_of(letter) if letter else ""
    return "" if script == "LATIN" else "Han or kana" if script in CJK else script.capitalize()
