"""Pieces of words: runs of four characters, hashed into buckets.

Inflected forms of a word share most pieces.
"""

import re
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from odl.text import scripts

PIECE_LENGTH, BUCKETS = 4, 1 << 18  # characters of a piece, and number of hashes
# Steps of the hash for each character: h <- h * factor, then h <- h xor (h >> shift).
HASH_FACTOR, HASH_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
_is_pair = re.compile(f"[{scripts.HAN}{scripts.KANA}]{{2}}").fullmatch
# Matches a word that was cut from text in a script without spaces (`odl.text.scripts.pairs`).
_is_part = re.compile(f"[{''.join(scripts.SPACELESS)}]{{,3}}").fullmatch
MIN_WEIGHT = 0.25  # smaller weights are set to 0, because pieces take time
MIN_SAMPLE = 500  # smallest number of documents from which a weight is estimated
# Largest weight of pieces: in general, and if most new words are pairs of Han or kana characters.
MAX_WEIGHT, MAX_PAIR_WEIGHT = 0.85, 0.4
USUAL_NEW_SHARE = 0.05  # share of new words in long English streams, which need no pieces
WEIGHT_PER_SHARE = 10.0  # weight per share of new words above USUAL_NEW_SHARE


def table(words: Sequence[str]) -> sparse.csr_array:
    """Count the pieces of each word: the runs of `PIECE_LENGTH` characters in " word ".

    The spaces mark the start and the end of the word. A word of one or two letters is one piece. A
    pair of Han or kana characters has two pieces, its characters. The column of a piece is a hash
    of its characters. Pieces with equal hashes share a column.

    Parameters
    ----------
    words : sequence of str
        Words that are not empty.

    Returns
    -------
    csr_array of int32, shape (n_words, `BUCKETS`)

    Examples
    --------
    >>> from odl.stream.pieces import table
    >>> pieces = table(["talossa", "talosta", "talo"])  # _tal, talo, alos, loss, ossa, ssa_; ...
    >>> (pieces @ pieces.T).toarray()
    array([[6, 3, 2],
           [3, 6, 2],
           [2, 2, 3]], dtype=int32)
    """
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    is_pair = lengths == 2
    rows_of_two = np.flatnonzero(is_pair).tolist()
    is_pair[is_pair] = [_is_pair(words[row]) is not None for row in rows_of_two]

    # Code points + 1 of the words with one space between them; 0 means no character. The padding at
    # the end is read, but not used.
    text = f" {' '.join(words)} ".encode("utf-32-le", "surrogatepass")
    letters = np.frombuffer(text, dtype="<u4").astype(np.uint64)
    letters = np.append(letters, np.zeros(PIECE_LENGTH, dtype=np.uint64)) + np.uint64(1)
    word_starts = np.cumsum(lengths + 1) - lengths - 1  # the space before each word
    word_starts += is_pair  # the pieces of a pair have no space

    # For each piece, its word, its first position in `letters`, and its length.
    n_pieces = np.where(is_pair, 2, np.maximum(lengths + 2 - PIECE_LENGTH + 1, 1))
    ends = np.cumsum(n_pieces)
    rows = np.repeat(np.arange(len(words)), n_pieces)
    number_in_word = np.arange(len(rows)) - np.repeat(ends - n_pieces, n_pieces)
    positions = word_starts[rows] + number_in_word
    piece_lengths = np.where(is_pair, 1, np.minimum(lengths + 2, PIECE_LENGTH))[rows]

    hashes = np.zeros(len(rows), dtype=np.uint64)
    for offset in range(PIECE_LENGTH):
        hashes ^= np.where(offset < piece_lengths, letters[positions + offset], np.uint64(0))
        hashes *= HASH_FACTOR
        hashes ^= hashes >> HASH_SHIFT
    columns = (hashes & np.uint64(BUCKETS - 1)).astype(np.int32)
    entries = np.ones(len(rows), dtype=np.int32), columns, np.append(0, ends)
    pieces = sparse.csr_array(entries, shape=(len(words), BUCKETS))
    pieces.sum_duplicates()
    return pieces


def weight(counts: sparse.csr_array, words: Sequence[str], n_documents: int = 0) -> float:
    """Return the weight of pieces relative to words that suits a stream.

    The weight is 10 (r - .05), at most .85, or at most .4 if most new words are pairs of Han or
    kana characters. A word counts as new if it occurs in one document only, and either has more
    than two letters or is a pair of Han or kana characters. The share r of new words among all
    tokens is the Good-Turing estimate of the probability that the next token is a new word. It is
    proportional to 1 / sqrt(number of documents), so the weight is large for short streams with
    inflected words, and 0 for long streams.

    Equation `weight-of-pieces` of docs/method.md.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_words)
    words : sequence of str
    n_documents : int
        Number of documents of the stream, if `counts` has only some of them.

    Returns
    -------
    float
        A multiple of .05. Values below .25 are replaced by 0. It is 0 for fewer than 500 documents.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.stream.pieces import weight
    >>> once = csr_array(np.hstack([np.eye(500), np.ones((500, 9))]))
    >>> names = [f"name{number}" for number in range(500)]
    >>> names += [f"often{number}" for number in range(9)]
    >>> weight(once, names), weight(once, names, 750), weight(once[:400], names)
    (0.5, 0.3, 0.0)
    """
    total = counts.sum()
    if counts.shape[0] < MIN_SAMPLE or not total:
        return 0.0
    once = np.bincount(counts.indices, minlength=len(words)) == 1
    new = [word for word, single in zip(words, once.tolist(), strict=True) if single]
    long = sum(len(word) > 2 and not _is_part(word) for word in new)
    pairs = sum(_is_pair(word) is not None for word in new)
    # The share of new words decreases with the square root of the number of documents.
    decrease = np.sqrt(counts.shape[0] / max(n_documents, counts.shape[0]))
    new_share = decrease * float(long + pairs) / float(total)
    limit = MAX_PAIR_WEIGHT if pairs > long else MAX_WEIGHT
    share = round(min(limit, WEIGHT_PER_SHARE * (new_share - USUAL_NEW_SHARE)) * 20) / 20
    return share if share >= MIN_WEIGHT else 0.0
