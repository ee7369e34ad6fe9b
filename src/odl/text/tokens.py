"""Tokens of texts, counted: words of every script (`odl.text.words`), or what a regular expression finds.

What scikit-learn's `CountVectorizer` finds by a pattern is told here too. A token by the default one lies between
signs that are no part of words. Cut at those of them that are ASCII, a piece holds the tokens that the pattern finds in
the whole text there; pieces with other signs, such as dashes and typographic quotes, may hold several. A compiled loop
(`odl.kernels.known_pieces`) cuts the text, and looks up what each piece stands for; Python sees only pieces met first.
"""

import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from operator import methodcaller
from typing import Any
from unicodedata import normalize

import numpy as np
from scipy import sparse

from odl.config.schema import check_map, closed
from odl.errors import ConfigError
from odl.kernels import known_pieces
from odl.text import words
from odl.text.stopwords import LANGUAGES
from odl.text.words import PLAIN, SEGMENTERS, Words, fold_case

PATTERN = r"(?u)\b[^\W\d_][^\W\d_]+\b"
KEPT = 1 << 19  # pieces that are remembered
ROOM = 1 << 17  # bytes of a text that is counted at once
ENCODE = methodcaller("encode", "utf-8", "surrogatepass")
TOKENISERS, HANGUL = ("pattern", "words"), ("words", "pairs")
TOKENS: dict[str, Any] = {"lowercase": True, "pattern": PATTERN, "stop_words": "english"}
TOKENS |= {"tokeniser": "pattern", "hangul": "words", "segment": None}

TOKENS_SCHEMA = closed(
    {
        "lowercase": {"type": "boolean"},
        "pattern": {"type": "string", "minLength": 1},
        "stop_words": {"type": ["string", "array", "null"], "items": {"type": "string"}},
        "tokeniser": {"type": "string", "enum": [*TOKENISERS]},
        "hangul": {"type": "string", "enum": [*HANGUL]},
        "segment": {"type": ["string", "null"], "enum": [None, *SEGMENTERS]},
    }
)


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
        fault = f"tokens.pattern {merged['pattern']!r} does not compile ({error})"
        raise ConfigError(fault, "a regular expression", "correct it") from error
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
    """Return the function that splits a text into its list of tokens (of a pattern, check these by `check_words`).

    Examples
    --------
    >>> from odl.text.tokens import analyser
    >>> analyser({"stop_words": "english"})("The tanker left the harbour")
    ['tanker', 'left', 'harbour']
    """
    return Tally(tokens).words


class TokenError(ConfigError, ValueError):
    """A pattern of the user's finds a token that is empty or has white space; of one text, which may be set aside."""


def check_words(found, tokens):
    """Return the tokens that a pattern found in a text; raise `TokenError` for one that is empty or has white space.

    Other tokenisers find none of these.
    """
    bad = next((word for word in found if word.split() != [word]), None)
    if bad is not None:
        fault = f"tokens.pattern {tokens['pattern']!r} finds {bad!r}"
        raise TokenError(fault, "tokens without white space", "correct it")
    return found


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
        counted.add(*counted.count(text))
    counts, vocabulary = counted.matrix()
    counts.sort_indices()
    return counts, vocabulary


def pieces_of(text):
    """Cut a text at the ASCII signs that are no part of words; pieces are UTF-8."""
    return ENCODE(text).translate(PLAIN).split()


class Pieces:
    """Numbers of the words in pieces of texts; those of pieces met before are remembered.

    Threads may not share one.

    Parameters
    ----------
    cut : bytes
        Translation of bytes, signs between pieces to spaces.
    kinds : ndarray of uint8, shape (65536,)
        As of `odl.text.words.kinds`.
    fold : callable
        Word to that without case.
    split : callable
        Piece in UTF-8, which is no word by itself, to its words.
    stop_words : frozenset of str
    numbers : Numbers
        Of words.
    """

    def __init__(self, cut, kinds, fold, split, stop_words, numbers):
        self.cut, self.kinds, self.fold, self.split = cut, kinds, fold, split
        self.stop_words, self.numbers, self.usable = stop_words, numbers, False

    def __reduce__(self):
        return Pieces, (self.cut, self.kinds, self.fold, self.split, self.stop_words, self.numbers)

    def _begin(self):
        """Begin with an empty table: room for so many pieces, and on top for those of a text."""
        n_pieces = KEPT + ROOM
        sizes = (1 << n_pieces.bit_length(), n_pieces, n_pieces, KEPT + 2 * ROOM)  # a byte has less than 2 words
        self.table = (*(np.zeros(size, np.int32) for size in sizes), np.zeros(32 * KEPT + 4 * ROOM, np.uint8))
        _, self.starts, self.values, self.lists, self.arena = map(memoryview, self.table)
        self.text, self.sizes, self.n_pieces, self.n_lists = np.zeros(ROOM, np.uint8), np.zeros(4, np.int32), 0, 0
        self.sizes[known_pieces.CASE] = 32 if self.fold is fold_case else 0
        self.sizes[known_pieces.SEED] = int.from_bytes(
            os.urandom(3)
        )  # so that nobody can choose pieces that share a slot
        self._bind(2 * ROOM)

    def _bind(self, n_words):
        """Have room to count words of so many numbers."""
        self.n_words, out = n_words, (np.zeros(2 * ROOM, np.int32), np.zeros(2 * ROOM, np.int32))
        work = (self.text, self.kinds, np.zeros(ROOM + 3, np.int32), np.zeros(n_words, np.int32), *out)
        self._count = known_pieces.Counter(self.table, work, self.sizes).count
        self.views = [*map(memoryview, (self.text, self.sizes, *out))]

    def count(self, text):
        """Return the numbers of the words of a text in UTF-8, which is cut at its end, each once, and their counts."""
        if len(text) <= ROOM:
            return self._count_part(text)
        counts = Counter()
        for part in re.findall(rb"(?s:.{,%d}) |[^ ]+ " % (ROOM - 1), text.translate(self.cut)):
            short = len(part) <= ROOM
            counts.update(dict(zip(*self._count_part(part), strict=True)) if short else self._of_piece(part[:-1]))
        return array("i", counts.keys()), array("i", counts.values())

    def _count_part(self, text):
        if not self.usable:
            self._begin()
        into, sizes, numbers, counts = self.views
        into[: len(text)], sizes[known_pieces.SIZE] = text, len(text)
        n_words = self._count()
        if (n_pieces := sizes[known_pieces.N_PIECES]) > self.n_pieces:
            self._learn(n_pieces)
            n_words, (_, _, numbers, counts) = self._count(), self.views
        return array("i", numbers[:n_words].tobytes()), array("i", counts[:n_words].tobytes())

    def _of_piece(self, piece):
        return [self.numbers[word] for word in self.split(piece) if word not in self.stop_words]

    def _learn(self, n_pieces):
        """Find what the table has for pieces met first."""
        new, numbers, self.usable = slice(self.n_pieces, n_pieces), self.numbers, False  # after an error
        pieces, values = self.arena[self.starts[new.start] : self.starts[n_pieces]], self.values[new].tolist()
        for place, piece in enumerate(pieces.tobytes().decode("utf-8", "surrogatepass").split(" ")[:-1]):
            if values[place] == known_pieces.NEW_WORD:
                word = self.fold(piece)
                values[place] = known_pieces.NO_WORD if word in self.stop_words else numbers[word]
            else:
                values[place] = self._value(self._of_piece(piece.encode("utf-8", "surrogatepass")))
        if len(numbers) > self.n_words:  # before the table has these
            self._bind(2 * len(numbers))
        self.values[new], self.n_pieces = array("i", values), n_pieces
        self.usable = max(n_pieces, self.n_lists, self.starts[n_pieces] // 32) < KEPT

    def _value(self, numbers):
        """Return what the table has for a piece with words of these numbers."""
        if len(numbers) < 2:
            return numbers[0] if numbers else known_pieces.NO_WORD
        begin, self.n_lists = self.n_lists, self.n_lists + 1 + len(numbers)
        self.lists[begin : self.n_lists] = array("i", [len(numbers), *numbers])
        return known_pieces.LIST - begin


class Numbers(dict):
    """Numbers of words; one that is met first gets the next."""

    def __missing__(self, word):
        self[word] = number = len(self)
        return number


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
        self.prepare, self.find, self.cut = str.lower if fold else str, re.compile(pattern).findall, None
        if self.tokens["tokeniser"] == "words":
            options = self.tokens["hangul"], self.tokens["segment"]
            self.prepare, self.encode, self.cut, self.fold = str, words.encoded, words.CUT, fold_case if fold else str
            self.split, self.kinds = Words(fold, *options).of, words.kinds(words.CUT, *options)
            listed = (normalize("NFC", self.fold(word)) for word in listed)
        elif pattern == PATTERN:
            self.encode, self.cut, self.fold, self.kinds = ENCODE, PLAIN, str, words.kinds(PLAIN)
            self.split = self._by_pattern
        self.stop_words = frozenset(listed)
        self._begin()
        self.restart()

    def _begin(self):
        self.numbers = Numbers()
        if self.cut:
            parts = self.cut, self.kinds, self.fold, self.split, self.stop_words
            self.pieces = Pieces(*parts, self.numbers)

    def _by_pattern(self, piece):
        """Return the tokens of a piece of UTF-8 by the default pattern, most of which is one."""
        if piece.isascii():  # what the pattern says of these
            return [piece.decode()] if len(piece) > 1 and piece.isalpha() else []
        return self.find(piece.decode("utf-8", "surrogatepass"))

    def words(self, text):
        """Return the tokens of a text, in order."""
        text = self.prepare(text)
        pieces = self.encode(text).translate(self.cut).split() if self.cut else ()
        found = chain.from_iterable(map(self.split, pieces)) if self.cut else self.find(text)
        return [word for word in found if word not in self.stop_words]

    def count(self, text):
        """Return the numbers of the tokens of a text, each once, and their counts; a word met first gets the next."""
        if self.cut:
            return self.pieces.count(self.encode(self.prepare(text + " ")))
        words = check_words(self.words(text), self.tokens)
        counts = Counter(map(self.numbers.__getitem__, words))
        return array("i", counts.keys()), array("i", counts.values())

    def add(self, numbers, counts):
        """Append a document: the numbers of its tokens, each once, and how often each occurs."""
        self.indices.extend(numbers)
        self.data.extend(counts)
        self.indptr.append(len(self.indices))

    def restart(self):
        """Forget the documents, and the words where they are very many."""
        if len(self.numbers) > KEPT:
            self._begin()
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
