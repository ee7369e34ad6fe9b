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

import numpy as np
from scipy import sparse

from odl.config.schema import check_map
from odl.errors import ConfigError
from odl.text import words
from odl.text.stopwords import ENGLISH, LANGUAGES
from odl.text.words import SEGMENTERS, Words, fold_case

PATTERN = r"(?u)\b[^\W\d_][^\W\d_]+\b"
NONE, SEVERAL = -1, -2  # numbers of pieces without a token, or with more than one
EDGES = b"-./:?=&%+~"
KEPT, LONGEST = 1 << 19, 48  # pieces that are remembered, and the bytes of one: longer ones hardly come again
# Letters, digits and "_" stay, and all that is not ASCII; the rest is a space.
SPACED = bytes(sign if sign > 127 or chr(sign).isalnum() or sign == 95 else 32 for sign in range(256))
TOKENISERS, HANGUL = ("pattern", "words"), ("words", "pairs")
TOKENS: dict[str, Any] = {
    "lowercase": True,
    "pattern": PATTERN,
    "stop_words": "english",
    "tokeniser": "pattern",
    "hangul": "words",
    "segment": None,
}

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
        `odl.text.words.SEGMENTERS`; null: overlapping pairs of characters), ``stop_words`` (``"english"`` or
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
    if isinstance(stop, str) and stop not in ("english", *LANGUAGES):
        expected = f"'english', {', '.join(map(repr, LANGUAGES))}, null or a list of words"
        raise ConfigError(f"tokens.stop_words is {stop!r}", expected, "correct it")
    return merged


def with_words(tokens: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return tokenising options with the tokeniser ``words``, unless they name a tokeniser or a pattern."""
    tokens = {} if tokens is None else dict(tokens)
    return tokens if tokens.keys() & {"tokeniser", "pattern"} else {"tokeniser": "words"} | tokens


def tally(tokens=None):
    """Return the `odl.text.tokens.Tally` of tokenising options."""
    tokens = token_options(tokens)
    stop = tokens["stop_words"]
    listed = ENGLISH.split() if stop == "english" else LANGUAGES[stop] if isinstance(stop, str) else stop or ()
    counted = WordTally if tokens["tokeniser"] == "words" else Tally
    return counted({**tokens, "stop_words": frozenset(listed)})


def analyser(tokens: Mapping[str, Any] | None = None) -> Callable[[str], list[str]]:
    """Return the function that splits a text into its list of tokens (check these by `check_words`).

    Examples
    --------
    >>> from odl.text.tokens import analyser
    >>> analyser({"stop_words": "english"})("The tanker left the harbour")
    ['tanker', 'left', 'harbour']
    """
    return tally(tokens).words


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
    tokens = token_options(tokens)
    counted = tally(tokens)
    for text in texts:
        counted.add(counted.of(text))
    counts, vocabulary = counted.matrix()
    counts.sort_indices()
    return counts, check_words(vocabulary, tokens)


def pieces_of(text):
    """Cut a text at the ASCII signs that are no part of words; pieces are UTF-8."""
    return text.encode("utf-8", "surrogatepass").translate(SPACED).split()


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
    """Numbers of words; one that is met first gets the next.

    Attributes
    ----------
    words : list of str
        By their numbers.
    """

    def __init__(self):
        super().__init__()
        self.words = []

    def __missing__(self, word):
        self.words.append(word)
        return self.setdefault(word, len(self))


class Tally:
    """Counts of the tokens of texts.

    Parameters
    ----------
    tokens : dict
        Checked options (`odl.text.tokens.token_options`), with the stop words as a set.
    """

    def __init__(self, tokens):
        self.lowercase, self.stop_words = tokens["lowercase"], tokens["stop_words"]
        self.find = re.compile(tokens["pattern"]).findall
        self.cut = pieces_of if tokens["pattern"] == PATTERN else self.find
        self.known, self.numbers = Remembered(self._number_of), Numbers()
        self.restart()

    def words(self, text):
        """Return the tokens of a text, in order."""
        matches = self.find(text.lower() if self.lowercase else text)
        return [word for word in matches if word not in self.stop_words]

    def of(self, text):
        """Return the numbers of the tokens of a text, in order; a word met first gets the next number."""
        pieces = self.cut(text.lower() if self.lowercase else text)
        numbers = list(map(self.known.__getitem__, pieces))
        if SEVERAL in numbers:
            pairs = zip(pieces, numbers, strict=True)
            numbers = [token for piece, one in pairs for token in (self._all(piece) if one == SEVERAL else (one,))]
        return [token for token in numbers if token >= 0] if NONE in numbers else numbers

    def add(self, numbers):
        """Append a document of the tokens of these numbers."""
        counts = Counter(numbers)
        self.add_counts(counts.keys(), counts.values())

    def add_counts(self, numbers, counts):
        """Append a document: the numbers of its tokens, each once, and how often each occurs."""
        self.indices.extend(numbers)
        self.data.extend(counts)
        self.indptr.append(len(self.indices))

    def restart(self):
        """Forget the documents, not the words."""
        self.indices, self.data, self.indptr = array("i"), array("i"), array("q", [0])

    def number(self, word):
        """Return the number of a word."""
        return self.numbers[word]

    def _number_of(self, piece):
        """Return the number of the token in a piece, or `NONE` or `SEVERAL`."""
        if isinstance(piece, bytes) and piece.isascii():  # what the pattern says of these
            word = piece.decode() if len(piece) > 1 and piece.isalpha() else None
            return NONE if word is None or word in self.stop_words else self.number(word)
        numbers = self._all(piece)
        return SEVERAL if len(numbers) > 1 else numbers[0] if numbers else NONE

    def _all(self, piece):
        """Return the numbers of the tokens in a piece, in order."""
        matches = self.find(piece.decode("utf-8", "surrogatepass")) if isinstance(piece, bytes) else [piece]
        return [self.number(word) for word in matches if word not in self.stop_words]

    def matrix(self):
        """Return the counts and the words that occur, by spelling."""
        indices = np.array(self.indices, dtype=np.int32)
        words = sorted(self.numbers.words[number] for number in np.unique(indices).tolist())
        shape = (len(self.indptr) - 1, len(words))
        parts = (np.array(self.data, dtype=np.int32), self.columns(words)[indices], np.array(self.indptr))
        return sparse.csr_array(parts, shape=shape), words

    def columns(self, words):
        """Return the column of the word of each number, where words make the columns; 0 for any other word."""
        columns = np.zeros(len(self.numbers), dtype=np.int32)
        columns[[self.numbers[word] for word in words]] = np.arange(len(words))
        return columns


class WordTally(Tally):
    """Counts of the words of texts of every script.

    Parameters
    ----------
    tokens : dict
        As of `Tally`.
    """

    def __init__(self, tokens):
        super().__init__(tokens)
        self.split = Words(tokens["lowercase"], tokens["hangul"], tokens["segment"]).of
        self.stop_words = frozenset(map(fold_case, self.stop_words)) if self.lowercase else self.stop_words
        self.known = Remembered(self._all)

    def words(self, text):
        """Return the words of a text, in order."""
        matches = chain.from_iterable(map(self.split, words.pieces_of(text)))
        return [word for word in matches if word not in self.stop_words]

    def of(self, text):
        """Return the numbers of the words of a text, in order; a word met first gets the next number."""
        return list(chain.from_iterable(map(self.known.__getitem__, words.pieces_of(text))))

    def _all(self, piece):
        """Return the numbers of the words of a piece, in order."""
        word = piece.strip(EDGES)
        if not word.isalpha():  # of bytes: no word of ASCII letters
            several = self.split(piece)
            if not self.stop_words.isdisjoint(several):
                several = [word for word in several if word not in self.stop_words]
            return tuple(map(self.numbers.__getitem__, several))
        word = word.decode().lower() if self.lowercase else word.decode()
        return () if len(word) < 2 or word in self.stop_words else (self.numbers[word],)
