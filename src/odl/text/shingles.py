"""Shingles and passages of a text: what near-duplicates and boilerplate are told by.

Two texts are near-duplicates if the Jaccard index of their sets of shingles, runs of five words, |A ∩ B| / |A ∪ B|, is
large. The sets themselves are stored, four bytes a word: a signature of as many bytes would only estimate the index.

Passages are lines and the sentences in them. Which of them repeat is not known when a text is read, so its words are
kept passage by passage (`odl.files.passages`), and `odl.stream.boilerplate` takes out what the documents before show to
repeat.

Each character of Han and kana is a word here. Eight of them say as much as five words of English. In Thai, Lao, Khmer
and Burmese marks cut the letters into parts as long as words.
"""

import hashlib
import re
from array import array
from collections import Counter, defaultdict

import numpy as np
from scipy import sparse

from odl.files.documents import SHINGLES
from odl.files.passages import Passages
from odl.text import scripts
from odl.text.tokens import KEPT, pieces_of

LONGEST = 48  # bytes of a piece that is remembered: longer ones hardly come again
WORDS, CHARACTERS = 5, 8  # of a shingle, characters where most words are; a shorter text is one shingle
CHARACTER, SYLLABLE = re.compile(f"[{scripts.HAN}{scripts.KANA}]"), re.compile(f"[{scripts.KANA}]")
WORD = re.compile(f"[^\\W{scripts.HAN}{scripts.KANA}]+|{CHARACTER.pattern}")
DIGESTS = 1 << 21  # are no less, but for one of 2^43; numbers of characters are
FACTOR, MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
FEWEST, FEWEST_HAN = 3, 5  # less is no passage: "Thanks" says nothing, and a name on a line of its own may be the topic
# By whether a text is ASCII, which is quicker: letters, digits aside, as in page 3 of 12; ends of lines and sentences.
# Thai, Lao, Khmer and Burmese have blanks between phrases: a passage begins at a long one.
LETTERS = (re.compile(f"[^\\W\\d_{scripts.HAN}{scripts.KANA}]+|{CHARACTER.pattern}"), re.compile("[a-z]+"))
SPLIT = (
    re.compile(
        r"\n|(?<=[.!?\u0964\u061f\u06d4])\s+|(?<=[。！？｡\u17d4\u104b])(?![」』”’）])\s*"
        rf"|(?<=.{{24}})\s+(?=[{''.join(scripts.SPACELESS[1:])}]{{24}})"
    ),
    re.compile(r"\n|(?<=[.!?])\s+"),
)


class Remembered(dict):
    """Numbers of the words of each piece of text met last."""

    def __missing__(self, piece):
        known = _digests(piece)
        if len(piece) <= LONGEST:
            if len(self) >= KEPT:
                self.clear()
            self[piece] = known
        return known


class Shingler:
    """Shingles of one text after another.

    Attributes
    ----------
    numbers : dict
        Piece of a text (`odl.text.tokens.pieces_of`) -> numbers of its words, eight bytes each, of the pieces met last.
    """

    def __init__(self):
        self.numbers = Remembered()
        self.restart()

    def restart(self):
        """Forget the texts, not their words."""
        self.indices, self.indptr = array("i"), array("q", [0])

    def add(self, text):
        """Store the shingles of the next text, each once, ascending."""
        self.indices.frombytes(self.of(text).tobytes())
        self.indptr.append(len(self.indices))

    def of(self, text):
        """Return the shingles of a text as numbers from 0 to `SHINGLES` - 1, each once, ascending."""
        words = np.frombuffer(b"".join(map(self.numbers.__getitem__, pieces_of(text.lower()))), dtype="<u8")
        if not len(words):
            return np.empty(0, dtype=np.int32)
        whole = CHARACTERS if 2 * np.count_nonzero(words < DIGESTS) > len(words) else WORDS
        n_shingles, size = max(1, len(words) - whole + 1), min(whole, len(words))
        keys = np.zeros(n_shingles, dtype=np.uint64)
        for place in range(size):
            keys = keys * FACTOR + words[place : place + n_shingles]
        keys = (keys ^ (keys >> np.uint64(31))) * MIXER
        shingles = np.sort((keys >> np.uint64(32)) % np.uint64(SHINGLES))
        return shingles[np.append(True, shingles[1:] != shingles[:-1])].astype(np.int32)

    def matrix(self):
        """Return the sets as rows of a matrix of ones; its columns are all shingles there can be."""
        data = np.ones(len(self.indices), dtype=np.uint8)
        shape = (len(self.indptr) - 1, SHINGLES)
        return sparse.csr_array((data, np.array(self.indices), np.array(self.indptr)), shape=shape)


def _digest(word):
    """Return the eight bytes of the number of a word, which is UTF-8."""
    return hashlib.blake2b(word, digest_size=8).digest()


def _digests(piece):
    """Return those of the words in a piece; of a character its code point."""
    if piece.isascii():  # where texts are cut at all else
        return _digest(piece)
    words = WORD.findall(piece.decode("utf-8", "surrogatepass"))
    return b"".join(
        ord(word).to_bytes(8, "little") if CHARACTER.match(word) else _digest(word.encode()) for word in words
    )


class Splitter:
    """Passages of one text after another, and the words of each."""

    def __init__(self):
        self.restart()

    def restart(self):
        """Forget the passages."""
        self.keys, self.sizes, self.starts = array("Q"), array("i"), array("q", [0])
        self.indices, self.data, self.indptr = array("i"), array("i"), array("q", [0])

    def add(self, passages, counts):
        """Store the passages of the next document.

        Parameters
        ----------
        passages : dict
            As `split` returns them.
        counts : dict
            Key -> {number of a word: count}.
        """
        for key, part in passages.items():
            self.keys.append(key)
            self.sizes.append(len(part))
            self.indices.extend(counts[key])
            self.data.extend(counts[key].values())
            self.indptr.append(len(self.indices))
        self.starts.append(len(self.keys))

    def passages(self, columns, n_terms):
        """Return what was stored, with so many terms; `columns` are of the words in the order of their numbers."""
        indices = columns[np.asarray(self.indices)] if len(self.indices) else np.zeros(0, dtype=np.int32)
        parts = (np.array(self.data, dtype=np.int32), indices, np.array(self.indptr))
        words = sparse.csr_array(parts, shape=(len(self.keys), n_terms)).sorted_indices()
        return Passages(np.array(self.starts), np.array(self.keys, np.uint64), np.array(self.sizes, np.int32), words)


def split(text):
    """Return (what is no passage, key -> passage) of a text; a passage that occurs twice has both of its texts.

    The first line, which is or stands for the title, and what has fewer than `FEWEST` words are none. Of characters
    there are `FEWEST_HAN`, where two of kana are one. Two passages of the same words, whatever their case, digits and
    marks, have the same key, the same one in every process.
    """
    first, _, rest = text.lstrip().partition("\n")
    left, passages = [first], defaultdict(list)
    for part in SPLIT[text.isascii()].split(rest):
        words = LETTERS[part.isascii()].findall(part.lower())
        if len(words) < FEWEST or not (part.isascii() or _is_long(part, words)):
            left.append(part)
            continue
        key = int.from_bytes(_digest(" ".join(words).encode()), "little")
        passages[key].append(part)
    return "\n".join(left), {key: "\n".join(parts) for key, parts in passages.items()}


def _is_long(part, words):
    """Tell whether a part has enough characters, if any of Han and kana."""
    return not CHARACTER.search(part) or len(words) - len(SYLLABLE.findall(part)) // 2 >= FEWEST_HAN


def count_words(text, count):
    """Return the counts of the words of a text, by their numbers, its passages, and the counts of each.

    `count` returns the numbers of the words of a text, each once, and their counts.
    """
    left, passages = split(text)
    parts = {key: dict(zip(*count(part), strict=True)) for key, part in passages.items()}
    counts = Counter(dict(zip(*count(left), strict=True)))
    for part in parts.values():
        counts.update(part)
    return counts, passages, parts
