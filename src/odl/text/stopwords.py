"""Stop words by language: articles, pronouns, prepositions, auxiliaries; and what language a document is in by them.

Where no list fits, the script of its words is told. English is scikit-learn's list, so that it need not be imported.
"""

from collections.abc import Sequence
from copy import copy
from importlib.resources import files
from operator import itemgetter

import numpy as np
from scipy import sparse

from odl.text import scripts
from odl.text.counts import entries
from odl.text.words import fold_case

TEXT = (files("odl.text") / "stopwords.txt").read_text(encoding="utf-8")  # paragraphs: a language, and its words
LANGUAGES = {name: frozenset(words) for name, *words in map(str.split, TEXT.split("\n\n"))}
LISTS = {name: listed.union(map(fold_case, listed)) for name, listed in LANGUAGES.items()}
NAMES = [*LISTS]
PLACES = {word: place for place, word in enumerate(sorted(frozenset().union(*LISTS.values())), start=1)}
TABLE = np.zeros((len(PLACES) + 1, len(LISTS)), dtype=bool)
OF_LISTS = np.repeat(np.arange(len(LISTS)), [*map(len, LISTS.values())])
TABLE[[PLACES[word] for listed in LISTS.values() for word in listed], OF_LISTS] = True
KNOWN, DISTINCT = 0.12, 2  # share of a text's words that are stop words of its language, and different ones, at least
DISTINCT_ALL = 5  # of the usual language, in all texts so far; it has two thirds of the words there that any list has
SHORT = 20  # words of a text from which on it would have some of a list
LEAST = 0.05  # share of the documents from which on a language or a script is told of
CJK = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")


class StopWords:
    """Stop words of all lists, left out of each document by its own language.

    The language is that of the list that has most of a document's words. Where several have as many, or the document
    is too short to tell, it is the usual one of their script in the stream so far, if there is one.

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
    >>> stop_words = StopWords(["das", "ist", "wetter", "the", "and", "weather", "die"], counts.sum(axis=0))
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
        self.usual = np.full(len(NAMES), -1)  # of the script of each list
        self.scripts = names, script = _by_script(words)
        totals = np.bincount(script, frequencies, minlength=len(names))
        for name, total in zip(names.tolist(), totals.tolist(), strict=True):
            lists = SCRIPTS[self.order] == name
            first = np.argmax(lists)
            most, of_any = times[self.order[first]], TABLE[:, self.order[lists]].any(axis=1)
            usual = most >= KNOWN * max(total, 1) and 3 * most > 2 * np.sum(past[of_any])
            if usual and np.sum(TABLE[past > 0, self.order[first]]) >= DISTINCT_ALL:
                self.usual[lists] = first

    def of(self, words: Sequence[str]) -> "StopWords":
        """Return the same of other words."""
        other = copy(self)
        other.places, other.scripts = _places(words), None
        return other

    def _languages(self, counts):
        """Return the place of the list of each document, the most frequent one first; -1 where none fits."""
        table, total = TABLE[:, self.order], np.asarray(counts.sum(axis=1)).ravel()
        counts = entries(counts, self.places[counts.indices] > 0)
        parts, shape = (self.places[counts.indices], counts.indptr), (counts.shape[0], len(TABLE))
        times = sparse.csr_array((counts.data, *parts), shape=shape) @ table
        different = sparse.csr_array((np.ones_like(counts.data), *parts), shape=shape) @ table
        best, most = np.argmax(times, axis=1), times.max(axis=1)
        known = (most >= KNOWN * np.maximum(total, 1)) & (different[np.arange(len(best)), best] >= DISTINCT)
        known &= ((times == most[:, None]).sum(axis=1) == 1) | (best == self.usual[best])
        return np.where(known, best, np.where(total < SHORT, self.usual[best], -1))

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


def mix(counts: sparse.csr_array, stop_words: StopWords, alone: bool = False) -> dict[str, int]:
    """Return how many documents are of each language, or else of each script other than Latin.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_terms)
        Without the stop words of a list that were left out when they were counted, whose language is then told of none.
    stop_words : StopWords
    alone : bool
        Whether one script, or no language, is told where it is alone.

    Returns
    -------
    dict of str to int
        Those of a twentieth of the documents or more; "" is any other.
    """
    own = {"": None} | dict(zip(NAMES, SCRIPTS.tolist(), strict=True))
    pairs = zip(stop_words.told(counts), _scripts(counts, *stop_words.scripts), strict=True)
    found = [name if script in ("", own[name]) else script for name, script in pairs]
    names, times = np.unique(found, return_counts=True)
    many = {name: int(n) for name, n in zip(names.tolist(), times.tolist(), strict=True) if n >= LEAST * len(found)}
    return many if alone or len(many) > 1 or many.keys() & LISTS.keys() else {}


def shown(name: str, other: str) -> str:
    """Return a language or a script of `mix` as it is printed, or what any other is called."""
    return name.capitalize() if name in LISTS else f"script {name}" if name else other


def _scripts(counts, names, script):
    """Return the script of most words of each document, "" where it is Latin or none has more than half."""
    times = counts @ (np.arange(len(names)) == script[:, None])
    sure = 2 * times.max(axis=1) > times.sum(axis=1)
    return np.where(sure, names[np.argmax(times, axis=1)], "").tolist()


def _by_script(words):
    """Return the names of scripts, and the place among them of that of each word; "" is Latin, or of no letter."""
    signs = "".join([*map(itemgetter(0), words), " "]).encode("utf-32-le", "surrogatepass")
    signs = np.frombuffer(signs, dtype=np.int32)
    found = np.flatnonzero(np.bincount(signs))
    names, places = np.unique([_script_of(chr(sign)) for sign in found.tolist()], return_inverse=True)
    table = np.zeros(signs.max() + 1, dtype=np.intp)
    table[found] = places
    return names, table[signs[:-1]]


def _script_of(sign):
    """Return the script of a letter, "" where it is Latin or none."""
    script = scripts.script_of(sign)
    return "" if script == "LATIN" else "Han or kana" if script in CJK else script.capitalize()


SCRIPTS = np.array([_script_of(min(listed)[0]) for listed in LISTS.values()])  # of each list
