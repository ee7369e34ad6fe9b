"""Stop words of 65 languages, and detection of a document's language by its stop words.

The English list is a copy of scikit-learn's, which takes long to import.
"""

from collections import Counter
from collections.abc import Sequence
from copy import copy
from importlib.resources import files
from itertools import repeat
from operator import itemgetter

import numpy as np
from scipy import sparse

from odl.text import scripts
from odl.text.words import fold_case

# Each paragraph of the file is the name of a language, followed by its stop words.
LISTS_TEXT = (files("odl.text") / "stopwords.txt").read_text(encoding="utf-8")
LANGUAGES = {name: frozenset(words) for name, *words in map(str.split, LISTS_TEXT.split("\n\n"))}
LISTS = {name: words.union(map(fold_case, words)) for name, words in LANGUAGES.items()}
LANGUAGE_NAMES = [*LISTS]
# Stop word of any language -> row of TABLE. Row 0 stands for words that are in no list.
PLACES = {word: row for row, word in enumerate(sorted(frozenset().union(*LISTS.values())), start=1)}
# Whether each word (row) is in each list (column).
TABLE = np.zeros((len(PLACES) + 1, len(LISTS)), dtype=bool)
for column, words in enumerate(LISTS.values()):
    TABLE[[PLACES[word] for word in words], column] = True
# Smallest share of the words in a text, and smallest number of different words, that are stop words
# of a language if the language is detected.
MIN_STOP_WORD_SHARE, MIN_DISTINCT = 0.12, 2
MIN_DISTINCT_USUAL = 5  # like MIN_DISTINCT, for the usual language of a script in a stream
SHORT_TEXT = 20  # words of a text; shorter texts may lack stop words and get the usual language
MIN_DOCUMENT_SHARE = 0.05  # smallest share of the documents for which `mix` reports a language
CJK = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")


class StopWords:
    """Detector of the language of each document, and of its stop words.

    The language of a document is the one whose list contains most of the document's words. If two
    lists tie or the document is too short, it is the usual language of the document's script. The
    usual language of a script is the one whose list contains more than two thirds of all stop words
    in this script that occurred in the stream so far.

    Parameters
    ----------
    words : sequence of str
        Word of each term.
    frequencies : ndarray, shape (n_terms,)
        Number of earlier documents with each term.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.text.stopwords import StopWords
    >>> counts = csr_array([[1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1]])
    >>> words = ["das", "ist", "wetter", "the", "and", "weather", "die"]
    >>> stop_words = StopWords(words, counts.sum(axis=0))
    >>> stop_words.is_content(counts)
    array([False, False,  True, False, False,  True,  True])
    """

    def __init__(self, words: Sequence[str], frequencies: np.ndarray) -> None:
        self.places, self.latest = _places(words), None
        past = np.bincount(self.places, frequencies, minlength=len(TABLE))
        list_counts = past @ TABLE
        self.order = np.argsort(-list_counts, kind="stable")
        # List -> usual list of its script, or -1. Lists are numbered by their position in `order`.
        self.usual = np.full(len(LANGUAGE_NAMES), -1)
        self.scripts = names, script = _by_script(words)
        totals = np.bincount(script, frequencies, minlength=len(names))
        for name, total in zip(names.tolist(), totals.tolist(), strict=True):
            lists = SCRIPTS[self.order] == name
            first = np.argmax(lists)
            n_of_first = list_counts[self.order[first]]
            is_stop_word = TABLE[:, self.order[lists]].any(axis=1)
            is_frequent = n_of_first >= MIN_STOP_WORD_SHARE * max(total, 1)
            is_usual = is_frequent and 3 * n_of_first > 2 * np.sum(past[is_stop_word])
            n_distinct = np.sum(TABLE[past > 0, self.order[first]])
            if is_usual and n_distinct >= MIN_DISTINCT_USUAL:
                self.usual[lists] = first

    def for_words(self, words: Sequence[str]) -> "StopWords":
        """Return a copy for other terms, with the same usual languages."""
        other = copy(self)
        other.places, other.scripts, other.latest = _places(words), None, None
        return other

    def _languages(self, counts):
        """Return the result of `_find_languages`, which is cached for the latest counts."""
        if self.latest is None or self.latest[0] is not counts:
            self.latest = counts, self._find_languages(counts)
        return self.latest[1]

    def _find_languages(self, counts):
        """Detect the language of each document.

        Returns
        -------
        ndarray of int, shape (n_documents,)
            Position of the language's list in `order`; -1 if no language is detected.
        """
        total = np.asarray(counts.sum(axis=1)).ravel()
        counts = counts.copy()
        # Without the words that are in no list, the products below take less time.
        counts.data[self.places[counts.indices] == 0] = 0
        counts.eliminate_zeros()
        used, columns = np.unique(self.places[counts.indices], return_inverse=True)
        table = TABLE[used][:, self.order].astype(counts.dtype)
        indices, shape = (columns, counts.indptr), (counts.shape[0], len(used))
        list_counts = sparse.csr_array((counts.data, *indices), shape=shape) @ table
        n_distinct = sparse.csr_array((np.ones_like(counts.data), *indices), shape=shape) @ table
        best, best_counts = np.argmax(list_counts, axis=1), list_counts.max(axis=1)
        is_frequent = best_counts >= MIN_STOP_WORD_SHARE * np.maximum(total, 1)
        is_varied = n_distinct[np.arange(len(best)), best] >= MIN_DISTINCT
        n_best = (list_counts == best_counts[:, None]).sum(axis=1)
        is_detected = is_frequent & is_varied & ((n_best == 1) | (best == self.usual[best]))
        return np.where(is_detected, best, np.where(total < SHORT_TEXT, self.usual[best], -1))

    def languages(self, counts: sparse.csr_array) -> list[str]:
        """Return the language of each document, or "" if no list fits."""
        names = [*(LANGUAGE_NAMES[place] for place in self.order), ""]
        return [names[place] for place in self._languages(counts).tolist()]

    def is_content(self, counts: sparse.csr_array) -> np.ndarray:
        """Return a mask over the stored entries of counts: False for stop words.

        The stop words of a document are those in the list of its language.
        """
        language = np.repeat(self._languages(counts), np.diff(counts.indptr))
        return (language < 0) | ~TABLE[self.places[counts.indices], self.order[language]]


def _places(words):
    """Return the row of each word in `TABLE`, or 0 for words that are in no list."""
    return np.fromiter(map(PLACES.get, words, repeat(0)), dtype=np.int32, count=len(words))


def mix(counts: sparse.csr_array, stop_words: StopWords, alone: bool = False) -> dict[str, int]:
    """Count the documents in each language.

    A document whose language is not detected is counted under its script, unless that is Latin.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_terms)
        If stop words were removed before, the language of their list cannot be detected.
    stop_words : StopWords
    alone : bool
        Whether to return the result too if it is a single script, or only documents in no detected
        language.

    Returns
    -------
    dict of str to int
        Languages and scripts of at least the share `MIN_DOCUMENT_SHARE` of the documents; "" for
        documents in no detected language.
    """
    script_of_name = {"": None} | dict(zip(LANGUAGE_NAMES, SCRIPTS.tolist(), strict=True))
    pairs = zip(stop_words.languages(counts), _scripts(counts, *stop_words.scripts), strict=True)
    detected = [name if script in ("", script_of_name[name]) else script for name, script in pairs]
    min_documents = MIN_DOCUMENT_SHARE * len(detected)
    n_documents = sorted(Counter(detected).items())
    frequent = {name: n for name, n in n_documents if n >= min_documents}
    return frequent if alone or len(frequent) > 1 or frequent.keys() & LISTS.keys() else {}


def shown(name: str, unknown_name: str) -> str:
    """Return the name of a language or script as it is printed; `unknown_name` if `name` is ""."""
    if name in LISTS:
        return name.capitalize()
    return f"script {name}" if name else unknown_name


def _scripts(counts, names, script):
    """Return the script of more than half of the words in each document.

    The script is "" for Latin, and if no script has more than half of the words.
    """
    rows, n_scripts = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr)), len(names)
    cells = rows * n_scripts + script[counts.indices]
    script_counts = np.bincount(cells, counts.data, minlength=counts.shape[0] * n_scripts)
    script_counts = script_counts.reshape(-1, n_scripts)
    is_majority = 2 * script_counts.max(axis=1) > script_counts.sum(axis=1)
    return np.where(is_majority, names[np.argmax(script_counts, axis=1)], "").tolist()


def _by_script(words):
    """Return (names of scripts, index of each word's script), by the first letter of each word.

    The name is "" for Latin, and for words that do not begin with a letter.
    """
    first_letters = "".join([*map(itemgetter(0), words), " "]).encode("utf-32-le", "surrogatepass")
    first_letters = np.frombuffer(first_letters, dtype=np.int32)
    distinct_letters = np.flatnonzero(np.bincount(first_letters))
    names, script_numbers = np.unique(
        [_script_of(chr(sign)) for sign in distinct_letters.tolist()], return_inverse=True
    )
    table = np.zeros(first_letters.max() + 1, dtype=np.intp)
    table[distinct_letters] = script_numbers
    return names, table[first_letters[:-1]]


def _script_of(sign):
    """Return the script of a letter; "" for Latin and for other characters."""
    script = scripts.script_of(sign)
    if script == "LATIN":
        return ""
    return "Han or kana" if script in CJK else script.capitalize()


SCRIPTS = np.array([_script_of(min(words)[0]) for words in LISTS.values()])  # script of each list
