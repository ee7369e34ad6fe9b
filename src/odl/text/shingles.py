"""Shingles of texts, for near-duplicates, and passages of texts, for boilerplate.

A shingle is a run of five words. Two texts are near-duplicates if the Jaccard index |A ∩ B| / |A ∪
B| of their sets of shingles is large. The sets are stored, with four bytes per shingle, because
signatures of the same size would only estimate the index.

A passage is a sentence, or a line without the end of a sentence. The words of a text are counted
and stored for each passage (`odl.files.passages`), so that `odl.stream.boilerplate` can later
remove passages that repeat in other documents.

In Han and kana, each character counts as a word, and a shingle has eight characters, which carry
about as much information as five English words. In Thai, Lao, Khmer and Burmese, marks split the
letters into parts that are about as long as words.
"""

import hashlib
import re
from array import array
from collections import Counter, defaultdict

import numpy as np
from scipy import sparse

from odl.files.documents import N_SHINGLES
from odl.files.passages import Passages
from odl.text import scripts
from odl.text.tokens import MAX_CACHED, pieces_of

TEXTS_AT_ONCE = 256  # number of texts whose shingles are computed in one call
MAX_CACHED_PIECE = 48  # bytes; longer pieces rarely occur twice and are not cached
# Length of a shingle: words or, in Han and kana, characters. A shorter text is one shingle.
SHINGLE_WORDS, SHINGLE_CHARACTERS = 5, 8
CHARACTER, SYLLABLE = re.compile(f"[{scripts.HAN}{scripts.KANA}]"), re.compile(f"[{scripts.KANA}]")
WORD_OR_CHARACTER = re.compile(f"[^\\W{scripts.HAN}{scripts.KANA}]+|{CHARACTER.pattern}")
# Smaller values are code points. The digest of a word is smaller with probability 2^-43.
MIN_DIGEST = 1 << 21
# Constants of the hash of a shingle.
SHINGLE_FACTOR, SHINGLE_MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
# Smallest numbers of words, and of characters of Han and kana, in a passage. A name alone on a line
# is no passage, because it may be the topic of the document.
MIN_PASSAGE_WORDS, MIN_PASSAGE_CHARACTERS = 3, 5
# Patterns for words in a passage and for its end: for any text, and a faster one for ASCII. Digits
# are ignored, so that "page 3 of 12" repeats. In Thai, Lao, Khmer and Burmese, which separate
# phrases by spaces, a passage ends at a space between two long phrases.
PASSAGE_WORDS = (
    re.compile(f"[^\\W\\d_{scripts.HAN}{scripts.KANA}]+|{CHARACTER.pattern}"),
    re.compile("[a-z]+"),
)
PASSAGE_ENDS = (
    re.compile(
        r"\n|(?<=[.!?\u0964\u061f\u06d4])\s+|(?<=[。！？｡\u17d4\u104b])(?![」』”’）])\s*"
        rf"|(?<=.{{24}})\s+(?=[{''.join(scripts.SPACELESS[1:])}]{{24}})"
    ),
    re.compile(r"\n|(?<=[.!?])\s+"),
)


class WordDigests(dict):
    """Cache from a piece of text to the digests of its words, eight bytes each.

    Missing digests are computed. The cache is emptied when it has `MAX_CACHED` entries. Long pieces
    are not stored.
    """

    def __missing__(self, piece):
        """Compute the digests of a piece that is not in the cache."""
        digests = _digests(piece)
        if len(piece) <= MAX_CACHED_PIECE:
            if len(self) >= MAX_CACHED:
                self.clear()
            self[piece] = digests
        return digests


class Shingler:
    """Collector of the shingles of texts, which are added one after the other.

    Attributes
    ----------
    numbers : WordDigests
        Digests of the words in a piece of text (`odl.text.tokens.pieces_of`).
    """

    def __init__(self):
        self.numbers = WordDigests()
        self.restart()

    def restart(self):
        """Remove all texts; the cache of digests remains."""
        self.indices, self.indptr = array("i"), array("q", [0])
        self.waiting = []

    def add(self, text):
        """Add the shingles of the next text."""
        self.add_words(self.words(text))

    def add_words(self, words):
        """Add the next text, given the result of the method `words` for it."""
        self.waiting.append(words)
        if len(self.waiting) == TEXTS_AT_ONCE:
            self._flush()

    def shingle(self, text):
        """Return the shingles of a text as an ascending array, without adding the text."""
        words = np.frombuffer(self.words(text), dtype="<u8")
        return shingle(words, np.array([len(words)]))[0]

    def words(self, text):
        """Return the digests of the words of a text, eight bytes each."""
        return b"".join(map(self.numbers.__getitem__, pieces_of(text.lower())))

    def _flush(self):
        """Compute the shingles of the texts added since the last call."""
        sizes = np.array([len(words) // 8 for words in self.waiting], dtype=np.int64)
        shingles, sizes = shingle(np.frombuffer(b"".join(self.waiting), dtype="<u8"), sizes)
        self.indices.frombytes(shingles.tobytes())
        self.indptr.extend((self.indptr[-1] + np.cumsum(sizes)).tolist())
        self.waiting = []

    def matrix(self):
        """Return the sets of shingles as a sparse 0/1 matrix, shape (n_texts, N_SHINGLES)."""
        self._flush()
        data = np.ones(len(self.indices), dtype=np.uint8)
        shape = (len(self.indptr) - 1, N_SHINGLES)
        return sparse.csr_array((data, np.array(self.indices), np.array(self.indptr)), shape=shape)


def shingle(words, sizes):
    """Return the shingle sets of several texts.

    A shingle is a hash of `SHINGLE_WORDS` consecutive words or, if more than half of a text is Han
    or kana, of `SHINGLE_CHARACTERS` consecutive characters. A shorter text is one shingle.

    Parameters
    ----------
    words : ndarray of uint64
        Digests of the words in all texts, one text after the other.
    sizes : ndarray of int64
        Number of words in each text.

    Returns
    -------
    shingles : ndarray of int32
        Distinct shingles, from 0 to `N_SHINGLES` - 1: those of the first text in ascending order,
        then those of the second text, and so on.
    n_distinct : ndarray of int64
        Number of distinct shingles in each text.
    """
    n_texts = len(sizes)
    text_of_word = np.repeat(np.arange(n_texts), sizes)
    n_characters = np.bincount(text_of_word, words < MIN_DIGEST, minlength=n_texts)
    lengths = np.where(2 * n_characters > sizes, SHINGLE_CHARACTERS, SHINGLE_WORDS)
    lengths = np.minimum(lengths, sizes)

    # For each shingle, its text, and the positions of its first word in the text and in `words`.
    n_shingles = np.where(sizes > 0, sizes - lengths + 1, 0)
    text_of = np.repeat(np.arange(n_texts), n_shingles)
    in_text = np.arange(len(text_of)) - np.repeat(np.cumsum(n_shingles) - n_shingles, n_shingles)
    first_words = (np.cumsum(sizes) - sizes)[text_of] + in_text

    keys = np.zeros(len(text_of), dtype=np.uint64)
    for offset in range(lengths.max(initial=0)):
        inside = lengths[text_of] > offset
        keys[inside] = keys[inside] * SHINGLE_FACTOR + words[first_words[inside] + offset]
    keys = (keys ^ (keys >> np.uint64(31))) * SHINGLE_MIXER
    shingles = (keys >> np.uint64(32)) % np.uint64(N_SHINGLES)

    # The upper 32 bits of each number are the text, the lower 32 bits the shingle.
    distinct = np.unique((text_of.astype(np.uint64) << np.uint64(32)) | shingles)
    n_distinct = np.bincount((distinct >> np.uint64(32)).astype(np.int64), minlength=n_texts)
    return (distinct & np.uint64(0xFFFFFFFF)).astype(np.int32), n_distinct


def _digest(word):
    """Return the digest of a word in UTF-8, eight bytes."""
    return hashlib.blake2b(word, digest_size=8).digest()


def _digests(piece):
    """Return eight bytes for each word in a piece: its digest, or a code point of Han or kana."""
    if piece.isascii():  # then the piece is one word
        return _digest(piece)
    words = WORD_OR_CHARACTER.findall(piece.decode("utf-8", "surrogatepass"))
    return b"".join(
        ord(word).to_bytes(8, "little") if CHARACTER.match(word) else _digest(word.encode())
        for word in words
    )


class Splitter:
    """Collector of the passages in texts, and of their word counts; texts are added one by one."""

    def __init__(self):
        self.restart()

    def restart(self):
        """Remove all passages."""
        self.keys, self.sizes, self.starts = array("Q"), array("i"), array("q", [0])
        self.indices, self.data, self.indptr = array("i"), array("i"), array("q", [0])

    def add(self, passages, counts):
        """Add the passages of the next document.

        Parameters
        ----------
        passages : dict
            Result of `split`.
        counts : dict
            Maps the key of a passage to {number of a word: count}.
        """
        for key, part in passages.items():
            self.keys.append(key)
            self.sizes.append(len(part))
            self.indices.extend(counts[key])
            self.data.extend(counts[key].values())
            self.indptr.append(len(self.indices))
        self.starts.append(len(self.keys))

    def passages(self, columns, n_terms):
        """Return all passages added so far as `odl.files.passages.Passages`.

        `columns` is an array from word number to column, `n_terms` the number of columns.
        """
        indices = (
            columns[np.asarray(self.indices)] if len(self.indices) else np.zeros(0, dtype=np.int32)
        )
        parts = (np.array(self.data, dtype=np.int32), indices, np.array(self.indptr))
        words = sparse.csr_array(parts, shape=(len(self.keys), n_terms)).sorted_indices()
        return Passages(
            np.array(self.starts),
            np.array(self.keys, np.uint64),
            np.array(self.sizes, np.int32),
            words,
        )


def split(text):
    """Split a text into passages; return (text outside passages, dict from key to passage).

    The first line is never a passage, because it may be the title. A passage has at least
    `MIN_PASSAGE_WORDS` words or, in Han and kana, `MIN_PASSAGE_CHARACTERS` characters, where two
    kana count as one. The key is a hash of the words, so that passages that differ only in case,
    digits and punctuation have equal keys. Several passages with one key are joined.
    """
    first_line, _, following = text.lstrip().partition("\n")
    outside, passages = [first_line], defaultdict(list)
    for part in PASSAGE_ENDS[text.isascii()].split(following):
        words = PASSAGE_WORDS[part.isascii()].findall(part.lower())
        if len(words) < MIN_PASSAGE_WORDS or not (part.isascii() or _is_long(part, words)):
            outside.append(part)
            continue
        key = int.from_bytes(_digest(" ".join(words).encode()), "little")
        passages[key].append(part)
    return "\n".join(outside), {key: "\n".join(parts) for key, parts in passages.items()}


def _is_long(part, words):
    """Return whether a part of a text has enough characters of Han and kana for a passage.

    It needs `MIN_PASSAGE_CHARACTERS`, where two kana count as one, or none at all. `words` contains
    its words and characters.
    """
    return (
        not CHARACTER.search(part)
        or len(words) - len(SYLLABLE.findall(part)) // 2 >= MIN_PASSAGE_CHARACTERS
    )


def count_words(text, count):
    """Split a text into passages, and count words in the text and in each passage.

    Parameters
    ----------
    text : str
    count : callable
        Maps a text to (distinct word numbers, their counts).

    Returns
    -------
    counts : Counter
        Word number -> count in the entire text.
    passages : dict
        Key -> passage, as in `split`.
    parts : dict
        Key -> {word number: count} for each passage.
    """
    outside, passages = split(text)
    parts = {key: dict(zip(*count(part), strict=True)) for key, part in passages.items()}
    counts = Counter(dict(zip(*count(outside), strict=True)))
    for part in parts.values():
        counts.update(part)
    return counts, passages, parts
