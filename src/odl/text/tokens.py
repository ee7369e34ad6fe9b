"""Tokens of texts, counted: words of every script (`odl.text.words`), or what a regular expression finds.

What scikit-learn's `CountVectorizer` finds by a pattern is told here too. A token by the default one lies between
signs that are no part of words. Cut at those of them that are ASCII, a
piece is looked at by the pattern once, and holds the tokens that the pattern finds in the whole text there; pieces
with other signs, such as dashes and typographic quotes, may hold several. `re` alone takes twice as long.
"""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any
from unicodedata import normalize

import numpy as np
from scipy import sparse

from odl.config.schema import check_map
from odl.errors import ConfigError
from odl.text import words
from odl.text.stopwords import LANGUAGES
from odl.text.words import PLAIN, SEGMENTERS, Words, fold_case

PATTERN = r"(?u)\b[^\W\d_][^\W\d_]+\b"
KEPT, LONGEST = 1 << 19, 48  # pieces that are remembered, and the bytes of one: longer ones hardly come again
TOKENISERS, HANGUL = ("pattern", "words"), ("words", "pairs")
TOKENS: dict[str, Any] = {"lowercase": True, "pattern": PATTERN, "stop_words": "english"}
TOKENS |= {"tokeniser": "pattern", "hangul": "words", "segment": None}

TOKENS_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "lowercase": {"type": "boolean"},
        "pattern": {"type": "string", "minLength": 1},
        "stop_words": {"type": ["string", "array", "null"], "items": {"type": "string"}},
        "tokeniser": {"type": "string", "enum": [*TOKENISERS]},
        "hangul": {"type": "string", "enum": [*HANGUL]},
        "segment": {"type": ["string", "null"], "enum": [None, *SEGMENTERS]},
    },
}


def token_options(tokens: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the tokenising options with their defaults, checked.

    Parameters
    ----------
    tokens : dict, optional
        ``tokeniser`` (``"pattern"``, or ``"words"``: of every script, `odl.text.words`), ``lowercase`` (bool),
        ``pattern`` (regular expression of one token), ``hangul`` (of ``words``: Korean by its spaces, ``"words"``, or
        in ``"pairs"`` of syllables), ``segment`` (of ``words``: the package that cuts text without spaces, one of
        `odl.text.words.SEGMENTERS`; null: overlapping pairs or triples), ``stop_words`` (``"english"`` or
        another language of `odl.text.stopwords`, null or a list of words).

    Raises
    ------
    ConfigError
        If a key is unknown or a value cannot be used.

    Examples
    --------
    >>> from odl.text.tokens import token_options
    >>> token_options({"stop_words": ["the"]})["lowercase"]
    True
    """
    tokens = {} if tokens is None else tokens
    check_map(tokens, TOKENS_SCHEMA, "tokens")
    merged = {**TOKENS, **tokens}
    try:
        groups = re.compile(merged["pattern"]).groups
    except re.error as error:
        raise ConfigError(
            f"tokens.pattern {merged['pattern']!r} does not compile ({error})", "a regular expression", "correct it"
        ) from error
    for unused in ("pattern",) if merged["tokeniser"] == "words" else ("hangul", "segment"):
        if merged[unused] != TOKENS[unused]:
            fault = f"tokens.{unused} with the tokeniser {merged['tokeniser']!r}, which has no use for it"
            raise ConfigError(fault, "one of them", "leave one out")
    if groups > 1:
        raise ConfigError(f"tokens.pattern has {groups} groups", "at most one", "write (?:...) for the others")
    stop = merged["stop_words"]
    if isinstance(stop, str) and stop not in LANGUAGES:
        expected = f"{', '.join(map(repr, LANGUAGES))}, null or a list of words"
        raise ConfigError(f"tokens.stop_words is {stop!r}", expected, "correct it")
    return merged


def with_words(tokens: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return tokenising options with the tokeniser ``words``, unless they name a tokeniser or a pattern."""
    tokens = {} if tokens is None else dict(tokens)
    return tokens if tokens.keys() & {"tokeniser", "pattern"} else {"tokeniser": "words"} | tokens


def analyser(tokens: Mapping[str, Any] | None = None) -> Callable[[str], list[str]]:
    """Return the function that splits a text into its list of tokens (check these by `check_words`).

    Examples
    --------
    >>> from odl.text.tokens import analyser
    >>> analyser({"stop_words": "english"})("The tanker left the harbour")
    ['tanker', 'left', 'harbour']
    """
    return Tally(tokens).words


def check_words(vocabulary, tokens):
    """Return the vocabulary, refusing words that are empty or hold white space."""
    bad = next((word for word in vocabulary if word.split() != [word]), None)
    if bad is not None:
        raise ConfigError(
            f"tokens.pattern {tokens['pattern']!r} finds {bad!r}", "tokens without white space", "correct it"
        )
    return vocabulary


def count_words(texts: Iterable[str], tokens: Mapping[str, Any] | None = None) -> tuple[sparse.csr_array, list[str]]:
    """Count the terms of each text.

    Parameters
    ----------
    texts : iterable of str
        May be a generator: each text is read once and not kept.
    tokens : dict, optional
        See `token_options`.

    Returns
    -------
    counts : csr_array of int32, shape (n_texts, n_terms)
    vocabulary : list of str
        Sorted.

    Examples
    --------
    >>> from odl.text.tokens import count_words
    >>> counts, vocabulary = count_words(["crude oil", "oil and oil"])
    >>> vocabulary, counts.toarray()
    (['crude', 'oil'], array([[1, 1],
           [0, 2]], dtype=int32))
    """
    counted = Tally(tokens)
    for text in texts:
        counted.add(counted.of(text))
    counts, vocabulary = counted.matrix()
    counts.sort_indices()
    return counts, check_words(vocabulary, counted.tokens)


def pieces_of(text):
    """Cut a text at the ASCII signs that are no part of words; pieces are UTF-8."""
    return text.encode("utf-8", "surrogatepass").translate(PLAIN).split()


class Remembered(dict):
    """What is known of each piece of text met last.

    Parameters
    ----------
    find : callable
        Piece to what is to be known of it.
    """

    def __init__(self, find):
        super().__init__()
        self.find = find

    def __missing__(self, piece):
        known = self.find(piece)
        if len(piece) <= LONGEST:
            if len(self) >= KEPT:
                self.clear()
            self[piece] = known
        return known


class Numbers(dict):
    """Numbers of words; one that is met first gets the next."""

    def __missing__(self, word):
        return self.setdefault(word, len(self))


class Tally:
    """Counts of the tokens of texts.

    Parameters
    ----------
    tokens : dict, optional
        See `token_options`.
    """

    def __init__(self, tokens=None):
        self.tokens = token_options(tokens)
        stop, fold, pattern = (self.tokens[name] for name in ("stop_words", "lowercase", "pattern"))
        listed = LANGUAGES[stop] if isinstance(stop, str) else stop or ()
        self.lowercase, self.find = fold, re.compile(pattern).findall
        if self.tokens["tokeniser"] == "words":
            self.lowercase, self.cut = False, words.pieces_of  # each piece is folded by itself
            listed = (normalize("NFC", fold_case(word) if fold else word) for word in listed)
            self.split = Words(fold, self.tokens["hangul"], self.tokens["segment"]).of
        elif pattern == PATTERN:
            self.cut, self.split = pieces_of, self._by_pattern
        else:
            self.cut, self.split = self.find, lambda piece: [piece]
        self.stop_words, self.known, self.numbers = frozenset(listed), Remembered(self._numbers), Numbers()
        self.restart()

    def _by_pattern(self, piece):
        """Return the tokens of a piece of UTF-8 by the default pattern, most of which is one."""
        if piece.isascii():  # what the pattern says of these
            return [piece.decode()] if len(piece) > 1 and piece.isalpha() else []
        return self.find(piece.decode("utf-8", "surrogatepass"))

    def _words(self, piece):
        """Return the tokens of a piece, in order."""
        words = self.split(piece)
        return words if self.stop_words.isdisjoint(words) else [word for word in words if word not in self.stop_words]

    def _numbers(self, piece):
        words = self._words(piece)
        return (self.numbers[words[0]],) if len(words) == 1 else [*map(self.numbers.__getitem__, words)]

    def _pieces(self, text):
        return self.cut(text.lower() if self.lowercase else text)

    def words(self, text):
        """Return the tokens of a text, in order."""
        return list(chain.from_iterable(map(self._words, self._pieces(text))))

    def of(self, text):
        """Return the numbers of the tokens of a text, in order; a word met first gets the next number."""
        return [*chain.from_iterable(map(self.known.__getitem__, self._pieces(text)))]

    def add(self, numbers):
        """Append a document of the tokens of these numbers."""
        counts = Counter(numbers)
        self.add_counts(counts.keys(), counts.values())

    def add_counts(self, numbers, counts):
        """Append a document: the numbers of its tokens, each once, and how often each occurs."""
        self.indices.fromlist([*numbers])
        self.data.fromlist([*counts])
        self.indptr.append(len(self.indices))

    def restart(self):
        """Forget the documents, and the words where they are very many."""
        if len(self.numbers) > KEPT:
            self.known, self.numbers = Remembered(self._numbers), Numbers()
        self.indices, self.data, self.indptr = array("i"), array("i"), array("q", [0])

    def matrix(self):
        """Return the counts and the words that occur, by spelling."""
        indices, words = np.array(self.indices, dtype=np.int32), [*self.numbers]
        words = sorted(words[number] for number in np.unique(indices).tolist())
        shape = (len(self.indptr) - 1, len(words))
        parts = (np.array(self.data, dtype=np.int32), self.columns(words)[indices], np.array(self.indptr))
        return sparse.csr_array(parts, shape=shape), words

    def columns(self, words):
        """Return the column of the word of each number, where words make the columns; 0 for any other word."""
        columns = np.zeros(len(self.numbers), dtype=np.int32)
        columns[[self.numbers[word] for word in words]] = np.arange(len(words))
        return columns
