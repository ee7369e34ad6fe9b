"""Shingles of a text: the runs of five words by which near-duplicates are told, as numbers.

Two texts are near-duplicates if the Jaccard index of their sets of shingles, |A ∩ B| / |A ∪ B|, is large. The sets
themselves are stored, four bytes a word: a signature of as many bytes would only estimate the index.
"""

import hashlib
import re
from array import array
from itertools import chain

import numpy as np
from scipy import sparse

from odl.files.documents import SHINGLES
from odl.text.tokens import Remembered, pieces_of

WORDS = 5  # of a shingle; a shorter text is one shingle
WORD = re.compile(r"\w+")
FACTOR, MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
NOT_ONE = 2**64 - 1  # in place of the number of a piece that is no word


class Shingler:
    """Shingles of one text after another.

    Attributes
    ----------
    numbers : dict
        Piece of a text (`odl.text.tokens.pieces_of`) -> number of 64 bits of its word, of the pieces met last.
    """

    def __init__(self):
        self.numbers = Remembered(_number_of)
        self.indices, self.indptr = array("i"), array("q", [0])

    def add(self, text):
        """Store the shingles of the next text, each once, ascending."""
        self.indices.frombytes(self.of(text).tobytes())
        self.indptr.append(len(self.indices))

    def of(self, text):
        """Return the shingles of a text as numbers from 0 to `SHINGLES` - 1, each once, ascending."""
        pieces = pieces_of(text.lower())
        words = np.fromiter(map(self.numbers.__getitem__, pieces), dtype=np.uint64, count=len(pieces))
        if (words == NOT_ONE).any():
            pairs = zip(pieces, words.tolist(), strict=True)
            each = [[one] if one != NOT_ONE else map(_number, _words(piece)) for piece, one in pairs]
            words = np.array(list(chain.from_iterable(each)), dtype=np.uint64)
        if not len(words):
            return np.empty(0, dtype=np.int32)
        n_shingles, size = max(1, len(words) - WORDS + 1), min(WORDS, len(words))
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


def _words(piece):
    """Return the words of a piece that is not ASCII, as UTF-8."""
    return [word.encode() for word in WORD.findall(piece.decode("utf-8", "surrogatepass"))]


def _number(word):
    """Return the number of a word, which is UTF-8."""
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def _number_of(piece):
    """Return the number of the word in a piece, `NOT_ONE` where there is none or more than one."""
    if piece.isascii():  # where texts are cut at all else
        return _number(piece)
    words = _words(piece)
    return _number(words[0]) if len(words) == 1 else NOT_ONE
