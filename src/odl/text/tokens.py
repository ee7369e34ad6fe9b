"""Tokens of texts, counted: words of every script (`odl.text.words`), or what a regular expression finds.

What scikit-learn's `CountVectorizer` finds by a pattern is told here too. A token by the default one lies between
signs that are no part of words. Cut at those of them that are ASCII, a piece holds the tokens that the pattern finds in
the whole text there; pieces with other signs, such as dashes and typographic quotes, may hold several. A compiled loop
(`odl.kernels.known_pieces`) cuts the text, and looks up what each piece stands for; Python sees only pieces met first.
"""

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

from odl.config.schema import check_map
from odl.errors import ConfigError
from odl.kernels import native
from odl.text import words
from odl.text.stopwords import LANGUAGES
from odl.text.words import PLAIN, SEGMENTERS, Words, fold_case

PATTERN = r"(?u)\b[^\W\d_][^\W\d_]+\b"
KEPT, FEW = 1 << 19, 1 << 14  # pieces that are remembered, and how many at first
STARTS, VALUES, LISTS, OUT, COUNTS, KINDS, ARENA, PARTS = 1, 2, 3, 4, 5, 6, 7, 15  # of `odl.kernels.known_pieces`
KERNELS = native.Kernels("known_pieces")
SIZE, CASE, N_PIECES, N_OUT, TEXT = 0, 1, 2, 3, 8
NO_WORD, NEW, UNFOLDED = -1, -2, -4
ENCODE = methodcaller("encode", "utf-8", "surrogatepass")
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
        counted.add(*counted.count(text))
    counts, vocabulary = counted.matrix()
    counts.sort_indices()
    return counts, check_words(vocabulary, counted.tokens)


def pieces_of(text):
    """Cut a text at the ASCII signs that are no part of words; pieces are UTF-8."""
    return ENCODE(text).translate(PLAIN).split()


class Pieces:
    """Numbers of the words in pieces of texts; those of pieces met before are remembered.

    Parameters
    ----------
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

    def __init__(self, kinds, fold, split, stop_words, numbers):
        self.kinds, self.fold, self.split, self.stop_words, self.numbers = kinds, fold, split, stop_words, numbers
        self.table, self.kept = None, 0

    def __reduce__(self):
        return Pieces, (self.kinds, self.fold, self.split, self.stop_words, self.numbers)

    def _make_room(self, kept):
        """Have room for so many pieces and for those of one text; what is known is forgotten if that is not more."""
        old, room, before = self.table, 2 * kept, 2 * self.kept
        self.table = np.zeros(PARTS * room, dtype=np.int32)
        self.table[KINDS * room :].view(np.uint8)[: len(self.kinds)] = self.kinds
        self.table[COUNTS * room + CASE] = 32 if self.fold is fold_case else 0
        if kept > self.kept > 0:
            for part, n_parts in ((STARTS, 1), (VALUES, 1), (LISTS, 1), (ARENA, PARTS - ARENA)):
                self.table[part * room :][: n_parts * before] = old[part * before :][: n_parts * before]
            self.table[COUNTS * room + N_PIECES] = self.known
        else:
            self.known = self.n_lists = 0
        parts, self.kept = [memoryview(self.table)[part * room :] for part in range(PARTS)], kept
        self.starts, self.values, self.lists, self.out, self.counts = parts[STARTS : COUNTS + 1]
        self.text, self.arena = self.counts[TEXT:].cast("B"), parts[ARENA].cast("B")
        self._bind(np.zeros(max(2 * len(self.numbers), room), dtype=np.int32))

    def _bind(self, places):
        self.places, self._count = places, native.repeated(KERNELS, "count", self.table, places)

    def count(self, text):
        """Return the numbers of the words of a text in UTF-8, which is cut at its end, each once, and their counts."""
        if self.table is None:
            self._make_room(FEW)
        elif max(self.known, self.starts[self.known] // 32, self.n_lists) >= self.kept:
            self._make_room(min(2 * self.kept, KEPT))
        if len(text) > self.kept // 2:
            return self._count_long(text)
        self.text[: len(text)], self.counts[SIZE] = text, len(text)
        self._count()
        if self.counts[N_PIECES] > self.known:
            self._learn(self.counts[N_PIECES])
            self._count()
        n, half = self.counts[N_OUT], self.kept
        return array("i", self.out[:n].tobytes()), array("i", self.out[half : half + n].tobytes())

    def _count_long(self, text):
        """Count the words of a text for which there is no room, in parts."""
        text, half, counts = text.replace(b"\n", b" "), len(text) // 2, Counter()
        middle = text.rfind(b" ", 0, half) + 1 or text.find(b" ", half, -1) + 1
        if not middle and self.kept < KEPT:
            self._make_room(2 * self.kept)
            return self.count(text)
        for part in (text[:middle], text[middle:]) if middle else ():
            counts.update(dict(zip(*self.count(part), strict=True)))
        counts = counts if middle else Counter(self._of_piece(text.rstrip()))
        return array("i", counts.keys()), array("i", counts.values())

    def _of_piece(self, piece):
        return [self.numbers[word] for word in self.split(piece) if word not in self.stop_words]

    def _learn(self, n_pieces):
        """Find what the table has for pieces met first."""
        known = self.known
        pieces = self.arena[self.starts[known] : self.starts[n_pieces]].tobytes().decode("utf-8", "surrogatepass")
        stop_words, numbers, values = self.stop_words, self.numbers, self.values[known:n_pieces].tolist()
        for place, piece in enumerate(pieces.split(" ")[:-1]):
            if values[place] == NEW:
                values[place] = self._value(self._of_piece(piece.encode("utf-8", "surrogatepass")))
            else:
                word = self.fold(piece) if values[place] == UNFOLDED else piece
                values[place] = NO_WORD if word in stop_words else numbers[word]
        if len(numbers) > len(self.places):  # before the table has these
            self._bind(np.zeros(2 * len(numbers), dtype=np.int32))
        self.values[known:n_pieces], self.known = array("i", values), n_pieces

    def _value(self, numbers):
        """Return what the table has for a piece with words of these numbers."""
        if len(numbers) < 2:
            return numbers[0] if numbers else NO_WORD
        begin, self.n_lists = self.n_lists, self.n_lists + 1 + len(numbers)
        self.lists[begin : self.n_lists] = array("i", [len(numbers), *numbers])
        return UNFOLDED - 1 - begin


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
        self.lowercase, self.find = fold, re.compile(pattern).findall
        self.kinds = None
        if self.tokens["tokeniser"] == "words":
            self.lowercase, self.cut = False, words.pieces_of  # each piece is folded by itself
            listed = (normalize("NFC", fold_case(word) if fold else word) for word in listed)
            self.split = Words(fold, self.tokens["hangul"], self.tokens["segment"]).of
            self.prepare, self.encode = str, words.encoded
            self.kinds, self.fold = (
                words.kinds(words.CUT, self.tokens["hangul"], self.tokens["segment"]),
                fold_case if fold else str,
            )
        elif pattern == PATTERN:
            self.cut, self.split, self.prepare = pieces_of, self._by_pattern, str.lower if fold else str
            self.kinds, self.fold, self.encode = words.kinds(PLAIN), str, ENCODE
        else:
            self.cut, self.split = self.find, lambda piece: [piece]
        self.stop_words = frozenset(listed)
        self._begin()
        self.restart()

    def _begin(self):
        self.numbers = Numbers()
        if self.kinds is not None:
            self.pieces = Pieces(self.kinds, self.fold, self.split, self.stop_words, self.numbers)

    def _by_pattern(self, piece):
        """Return the tokens of a piece of UTF-8 by the default pattern, most of which is one."""
        if piece.isascii():  # what the pattern says of these
            return [piece.decode()] if len(piece) > 1 and piece.isalpha() else []
        return self.find(piece.decode("utf-8", "surrogatepass"))

    def _words(self, piece):
        """Return the tokens of a piece, in order."""
        words = self.split(piece)
        return words if self.stop_words.isdisjoint(words) else [word for word in words if word not in self.stop_words]

    def _pieces(self, text):
        return self.cut(text.lower() if self.lowercase else text)

    def words(self, text):
        """Return the tokens of a text, in order."""
        return list(chain.from_iterable(map(self._words, self._pieces(text))))

    def count(self, text):
        """Return the numbers of the tokens of a text, each once, and their counts; a word met first gets the next."""
        if self.kinds is None:
            counts = Counter(map(self.numbers.__getitem__, self.words(text)))
            return array("i", counts.keys()), array("i", counts.values())
        return self.pieces.count(self.encode(self.prepare(text + " ")))

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
