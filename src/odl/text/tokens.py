"""Count the tokens of texts: words of every script, or matches of a regular expression.

With a regular expression, the tokens are those of scikit-learn's `CountVectorizer`.

A piece is the text between two ASCII characters that are never part of a token. It may have several
tokens, if it contains dashes or typographic quotes. A compiled loop (`odl.kernels.known_pieces`)
cuts a text into pieces and looks up the tokens of each in a cache, so that Python code runs for new
pieces only.
"""

import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import copy
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
from odl.text.scripts import SEGMENTERS
from odl.text.stopwords import LANGUAGES
from odl.text.words import PLAIN, Words, fold_case

PATTERN = r"(?u)\b[^\W\d_][^\W\d_]+\b"  # words of at least two letters
MAX_CACHED = 1 << 19  # pieces or words in a cache, which is then emptied
BUFFER = 1 << 17  # bytes of text that one call of the kernel counts
ENCODE = methodcaller("encode", "utf-8", "surrogatepass")
TOKENISERS, HANGUL_SPLITS = ("pattern", "words"), ("words", "pairs")
TOKENS: dict[str, Any] = {"lowercase": True, "pattern": PATTERN, "stop_words": "english"}
TOKENS |= {"tokeniser": "pattern", "hangul": "words", "segment": None}

TOKENS_SCHEMA = closed(
    {
        "lowercase": {"type": "boolean"},
        "pattern": {"type": "string", "minLength": 1},
        "stop_words": {"type": ["string", "array", "null"], "items": {"type": "string"}},
        "tokeniser": {"type": "string", "enum": [*TOKENISERS]},
        "hangul": {"type": "string", "enum": [*HANGUL_SPLITS]},
        "segment": {"type": ["string", "null"], "enum": [None, *SEGMENTERS]},
    }
)


def token_options(tokens: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Check the options of the tokeniser, and return them with defaults.

    Parameters
    ----------
    tokens : dict, optional
        - ``tokeniser``: ``"pattern"``, or ``"words"`` for words of every script
          (`odl.text.words`).
        - ``lowercase``: whether to ignore case.
        - ``stop_words``: a language of `odl.text.stopwords` such as ``"english"``, a list of words,
          or null.
        - ``pattern``: regular expression of one token; only with ``"pattern"``.
        - ``hangul``: whether Korean is split at spaces (``"words"``) or into ``"pairs"`` of
          syllables; only with ``"words"``.
        - ``segment``: package that splits text without spaces, one of
          `odl.text.scripts.SEGMENTERS`; only with ``"words"``. Null: pairs or triples of
          characters.

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
            f"tokens.pattern {merged['pattern']!r} does not compile ({error})",
            "a regular expression",
            "correct the pattern at this position",
        ) from error
    for unused in ("pattern",) if merged["tokeniser"] == "words" else ("hangul", "segment"):
        if merged[unused] != TOKENS[unused]:
            raise ConfigError(
                f"tokens.{unused} is set, but the tokeniser {merged['tokeniser']!r} ignores it",
                "only one of the two settings",
                f"remove tokens.{unused} or tokens.tokeniser",
            )
    if groups > 1:
        raise ConfigError(
            f"tokens.pattern has {groups} groups",
            "at most one group",
            "write (?:...) for the other groups",
        )
    stop = merged["stop_words"]
    if isinstance(stop, str) and stop not in LANGUAGES:
        raise ConfigError(
            f"tokens.stop_words is {stop!r}",
            f"{', '.join(map(repr, LANGUAGES))}, null or a list of words",
            "use one of these languages, or a list",
        )
    return merged


def with_words(tokens: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return options of the tokeniser whose default is ``words``, unless they set a pattern."""
    tokens = {} if tokens is None else dict(tokens)
    return tokens if tokens.keys() & {"tokeniser", "pattern"} else {"tokeniser": "words"} | tokens


def analyser(tokens: Mapping[str, Any] | None = None) -> Callable[[str], list[str]]:
    """Return the function that splits a text into a list of tokens.

    Tokens that a user's pattern finds must be checked by `check_words`.

    Examples
    --------
    >>> from odl.text.tokens import analyser
    >>> analyser({"stop_words": "english"})("The tanker left the harbour")
    ['tanker', 'left', 'harbour']
    """
    return Tally(tokens).words


class TokenError(ConfigError, ValueError):
    """Raised if the user's pattern finds a token that is empty or contains white space."""


def check_words(tokens_found, tokens):
    """Return the tokens that a pattern found; raise `TokenError` for an invalid token.

    A token is invalid if it is empty or contains white space. `tokens` are the options.
    """
    invalid = next((word for word in tokens_found if word.split() != [word]), None)
    if invalid is not None:
        raise TokenError(
            f"tokens.pattern {tokens['pattern']!r} finds {invalid!r}",
            "tokens without white space",
            "correct the pattern",
        )
    return tokens_found


def count_words(
    texts: Iterable[str], tokens: Mapping[str, Any] | None = None
) -> tuple[sparse.csr_array, list[str]]:
    """Count the terms of each text.

    Parameters
    ----------
    texts : iterable of str
        May be a generator; each text is read once and not stored.
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
    """Return the pieces of a text, in UTF-8: the runs of letters, digits, "_" and non-ASCII."""
    return ENCODE(text).translate(PLAIN).split()


class PieceCache:
    """Counter of the words in texts, with a cache from each piece of text to its words.

    An instance must not be used by several threads.

    Parameters
    ----------
    cut : bytes
        Translation table for bytes, from separators of pieces to spaces.
    kinds : ndarray of uint8, shape (65536,)
        Kinds of code points; see `odl.text.words.kinds`.
    fold : callable
        Maps a word to its form without case.
    split : callable
        Maps a piece in UTF-8 to its words.
    stop_words : frozenset of str
    numbers : Numbers
        Numbers of the words.
    """

    def __init__(self, cut, kinds, fold, split, stop_words, numbers):
        self.cut, self.kinds, self.fold, self.split = cut, kinds, fold, split
        self.stop_words, self.numbers, self.usable = stop_words, numbers, False

    def __reduce__(self):
        """Return the state for pickling and copying, without the cached pieces."""
        arguments = self.cut, self.kinds, self.fold, self.split, self.stop_words, self.numbers
        return PieceCache, arguments

    def _begin(self):
        """Allocate an empty cache for `MAX_CACHED` pieces and those in one more buffer of text."""
        n_pieces = MAX_CACHED + BUFFER
        # A piece has less than two words per byte.
        sizes = (1 << n_pieces.bit_length(), n_pieces, n_pieces, MAX_CACHED + 2 * BUFFER)
        arena = np.zeros(32 * MAX_CACHED + 4 * BUFFER, np.uint8)  # bytes of the pieces
        self.table = (*(np.zeros(size, np.int32) for size in sizes), arena)
        _, self.starts, self.values, self.lists, self.arena = map(memoryview, self.table)
        self.text, self.sizes = np.zeros(BUFFER, np.uint8), np.zeros(4, np.int32)
        self.n_pieces = self.n_lists = 0
        self.sizes[known_pieces.CASE] = 32 if self.fold is fold_case else 0
        # The seed of the hash is random, so that nobody can write texts whose pieces all share one
        # slot. No result depends on the seed.
        self.sizes[known_pieces.SEED] = int.from_bytes(os.urandom(3))
        self._bind(2 * BUFFER)

    def _bind(self, n_words):
        """Allocate the kernel's output for word numbers below `n_words`, and create the kernel."""
        self.n_words = n_words
        numbers, counts = np.zeros(2 * BUFFER, np.int32), np.zeros(2 * BUFFER, np.int32)
        work = np.zeros(BUFFER + 3, np.int32), np.zeros(n_words, np.int32)
        arrays = self.text, self.kinds, *work, numbers, counts
        self._count = known_pieces.Counter(self.table, arrays, self.sizes).count
        self.views = [*map(memoryview, (self.text, self.sizes, numbers, counts))]

    def count(self, text):
        """Return (distinct word numbers, their counts) of a text in UTF-8.

        The text must end with a separator.
        """
        if len(text) <= BUFFER:
            return self._count_part(text)
        counts = Counter()
        # A part ends at a separator. A piece that is longer than the buffer is a part of its own.
        for part in re.findall(rb"(?s:.{,%d}) |[^ ]+ " % (BUFFER - 1), text.translate(self.cut)):
            if len(part) <= BUFFER:
                counts.update(dict(zip(*self._count_part(part), strict=True)))
            else:
                counts.update(self._of_piece(part[:-1]))
        return array("i", counts.keys()), array("i", counts.values())

    def _count_part(self, text):
        """Return the result of `count` for a text that fits into the buffer."""
        if not self.usable:
            self._begin()
        buffer, sizes, numbers, counts = self.views
        buffer[: len(text)], sizes[known_pieces.SIZE] = text, len(text)
        n_words = self._count()
        if (n_pieces := sizes[known_pieces.N_PIECES]) > self.n_pieces:
            self._learn(n_pieces)
            n_words, (_, _, numbers, counts) = self._count(), self.views
        return array("i", numbers[:n_words].tobytes()), array("i", counts[:n_words].tobytes())

    def _of_piece(self, piece):
        """Return the numbers of the words in a piece, without stop words."""
        return [self.numbers[word] for word in self.split(piece) if word not in self.stop_words]

    def _learn(self, n_pieces):
        """Find the words of the new pieces, up to piece number `n_pieces`, and cache them."""
        self.usable = False  # the cache is discarded after an error in this method
        numbers, first = self.numbers, self.n_pieces
        values = self.values[first:n_pieces].tolist()
        new_bytes = self.arena[self.starts[first] : self.starts[n_pieces]].tobytes()
        new_pieces = new_bytes.decode("utf-8", "surrogatepass").split(" ")[:-1]
        for position, piece in enumerate(new_pieces):
            if values[position] == known_pieces.NEW_WORD:  # the kernel found that it is one word
                word = self.fold(piece)
                is_stop_word = word in self.stop_words
                values[position] = known_pieces.NO_WORD if is_stop_word else numbers[word]
            else:
                words = self._of_piece(piece.encode("utf-8", "surrogatepass"))
                values[position] = self._value(words)
        # The kernel's output must have room for a word number before the number is in the cache.
        if len(numbers) > self.n_words:
            self._bind(2 * len(numbers))
        self.values[first:n_pieces], self.n_pieces = array("i", values), n_pieces
        self.usable = max(n_pieces, self.n_lists, self.starts[n_pieces] // 32) < MAX_CACHED

    def _value(self, numbers):
        """Return the value of a piece in the cache, given the numbers of its words.

        The value is NO_WORD for no word, and the number of the word for one word. For several
        words, their count and their numbers are appended to the array `lists`; the value is LIST
        minus the position of the count in this array.
        """
        if not numbers:
            return known_pieces.NO_WORD
        if len(numbers) == 1:
            return numbers[0]
        begin, self.n_lists = self.n_lists, self.n_lists + 1 + len(numbers)
        self.lists[begin : self.n_lists] = array("i", [len(numbers), *numbers])
        return known_pieces.LIST - begin


class Numbers(dict):
    """Dictionary from word to number. A new word gets the next number when it is looked up."""

    def __missing__(self, word):
        self[word] = number = len(self)
        return number


class Tally:
    """Counter of the tokens in texts.

    The tokeniser ``"words"`` and the default pattern cut a text into pieces, whose tokens are
    cached. Another pattern is searched in the text.

    Parameters
    ----------
    tokens : dict, optional
        See `token_options`.

    Attributes
    ----------
    prepare : callable
        Maps a text to the text that is cut or searched.
    find_tokens : callable
        Maps a text to the matches of the pattern.
    separators : bytes or None
        Translation table for bytes, from separators of pieces to spaces; None if the pattern is
        searched. Otherwise, the attributes below exist too.
    encode : callable
        Maps a text to bytes in UTF-8.
    split_piece : callable
        Maps a piece to its tokens.
    fold, kinds
        See `PieceCache`.
    """

    def __init__(self, tokens=None):
        self.tokens = token_options(tokens)
        stop, fold, pattern = (self.tokens[name] for name in ("stop_words", "lowercase", "pattern"))
        stop_words = LANGUAGES[stop] if isinstance(stop, str) else stop or ()
        self.prepare = str.lower if fold else str
        self.find_tokens, self.separators = re.compile(pattern).findall, None
        if self.tokens["tokeniser"] == "words":
            options = self.tokens["hangul"], self.tokens["segment"]
            self.prepare, self.encode, self.separators = str, words.encode, words.CUT
            self.fold = fold_case if fold else str
            self.split_piece = Words(fold, *options).split
            self.kinds = words.kinds(words.CUT, *options)
            stop_words = (normalize("NFC", self.fold(word)) for word in stop_words)
        elif pattern == PATTERN:
            self.encode, self.separators, self.fold = ENCODE, PLAIN, str
            self.split_piece, self.kinds = self._by_pattern, words.kinds(PLAIN)
        self.stop_words = frozenset(stop_words)
        self._begin()
        self.restart()

    def _begin(self):
        self.numbers = Numbers()
        if self.separators:
            parts = self.separators, self.kinds, self.fold, self.split_piece, self.stop_words
            self.pieces = PieceCache(*parts, self.numbers)

    def _by_pattern(self, piece):
        """Return the tokens that the default pattern finds in a piece (bytes in UTF-8)."""
        if piece.isascii():  # the same result as the pattern, without a search
            return [piece.decode()] if len(piece) > 1 and piece.isalpha() else []
        return self.find_tokens(piece.decode("utf-8", "surrogatepass"))

    def words(self, text):
        """Return the tokens of a text, in order."""
        text = self.prepare(text)
        if self.separators:
            pieces = self.encode(text).translate(self.separators).split()
            tokens = chain.from_iterable(map(self.split_piece, pieces))
        else:
            tokens = self.find_tokens(text)
        return [token for token in tokens if token not in self.stop_words]

    def count(self, text):
        """Count the tokens in a text; return (distinct token numbers, count of each)."""
        if self.separators:
            return self.pieces.count(self.encode(self.prepare(text + " ")))
        words = check_words(self.words(text), self.tokens)
        counts = Counter(map(self.numbers.__getitem__, words))
        return array("i", counts.keys()), array("i", counts.values())

    def add(self, numbers, counts):
        """Append a document: the distinct numbers of its tokens and their counts."""
        self.indices.extend(numbers)
        self.data.extend(counts)
        self.indptr.append(len(self.indices))

    def restart(self):
        """Remove all documents. If more than `MAX_CACHED` words have numbers, forget these too."""
        if len(self.numbers) > MAX_CACHED:
            self._begin()
        self._clear()

    def _clear(self):
        self.indices, self.data, self.indptr = array("i"), array("i"), array("q", [0])

    def sibling(self, numbers):
        """Return an empty tally for documents that were counted with other word numbers.

        `numbers` maps words to these numbers. The documents are added by `add`.
        """
        other = copy(self)
        other.numbers = numbers
        other._clear()
        return other

    def matrix(self):
        """Return the counts, shape (n_documents, n_words), and the sorted words that occur."""
        indices, words = np.array(self.indices, dtype=np.int32), [*self.numbers]
        words = sorted(words[number] for number in np.unique(indices).tolist())
        data, columns = np.array(self.data, dtype=np.int32), self.columns(words)[indices]
        shape = (len(self.indptr) - 1, len(words))
        return sparse.csr_array((data, columns, np.array(self.indptr)), shape=shape), words

    def columns(self, words):
        """Return an array from word number to the position of the word in `words`, else 0."""
        columns = np.zeros(len(self.numbers), dtype=np.int32)
        columns[[self.numbers[word] for word in words]] = np.arange(len(words))
        return columns
