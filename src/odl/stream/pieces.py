"""Pieces of words: the four letters in a row that inflected forms of a word share, in a fixed number of buckets."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

LETTERS, BUCKETS = 4, 1 << 18
FACTOR, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # of the hash: multiplied, then xored with itself
WORTH = 0.25  # weight below which pieces cost more than they bring
FEWEST, MOST, EACH = 500, 0.75, 3.0  # documents that a weight is told by; the weight at most; for a share of new words


def table(words: Sequence[str]) -> sparse.csr_array:
    """Count the pieces of words: runs of `LETTERS` letters inside them; a word that is not longer is its own piece.

    The column of a piece is a hash of its letters, the same in every stream. Pieces of one bucket are one.

    Parameters
    ----------
    words : sequence of str
        None of them empty.

    Returns
    -------
    csr_array of int32, shape (n_words, `BUCKETS`)

    Examples
    --------
    >>> from odl.stream.pieces import table
    >>> pieces = table(["talossa", "talosta", "talo"])
    >>> (pieces @ pieces.T).toarray()  # talo, alos, loss, ossa; talo, alos, lost, osta; talo
    array([[4, 2, 1],
           [2, 4, 1],
           [1, 1, 1]], dtype=int32)
    """
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    letters = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    letters = np.append(letters, np.zeros(LETTERS, dtype=np.uint64))
    counts = np.maximum(lengths - LETTERS + 1, 1)
    ends, starts = np.cumsum(counts), np.cumsum(lengths) - lengths
    rows = np.repeat(np.arange(len(words)), counts)
    places = starts[rows] + np.arange(len(rows)) - np.repeat(ends - counts, counts)
    sizes, hashes = np.minimum(lengths, LETTERS)[rows], np.zeros(len(rows), dtype=np.uint64)
    for at in range(LETTERS):
        hashes ^= np.where(at < sizes, letters[places + at] + np.uint64(1), np.uint64(0))
        hashes *= FACTOR
        hashes ^= hashes >> SHIFT
    columns = (hashes % np.uint64(BUCKETS)).astype(np.int32)
    entries = np.ones(len(rows), dtype=np.int32), columns, np.append(0, ends)
    pieces = sparse.csr_array(entries, shape=(len(words), BUCKETS))
    pieces.sum_duplicates()
    return pieces


def weight(counts: sparse.csr_array, words: Sequence[str], n_documents: int = 0) -> float:
    """Return the weight of pieces beside words that a stream asks for, told without labels from some of its documents.

    Of the running words, r is the share that are longer than a piece and in one document only: about how likely the
    next word is a long one that was never seen before (Good and Turing). It falls about with the root of the number of
    documents. The weight is 3 r, at most .75: large where words are inflected and the stream is short, 0 where it is
    long, and where words are pairs of characters.

    Equation `weight-of-pieces` of docs/method.md.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_words)
    words : sequence of str
    n_documents : int
        Of the stream, where there are more than have been counted.

    Returns
    -------
    float
        In steps of .05; 0 where it is below .25, and for fewer than 500 documents, which tell little.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.stream.pieces import weight
    >>> once = csr_array(np.hstack([np.eye(500), np.ones((500, 4))]))
    >>> names = [f"name{number}" for number in range(500)]
    >>> weight(once, [*names, "oil", "gas", "coal", "wind"]), weight(once[:400], [*names, "oil", "gas", "coal", "wind"])
    (0.6, 0.0)
    """
    total = counts.sum()
    if counts.shape[0] < FEWEST or not total:
        return 0.0
    long = np.fromiter((len(word) > LETTERS for word in words), dtype=bool, count=len(words))
    once = np.bincount(counts.indices, minlength=len(words)) == 1
    fallen = np.sqrt(counts.shape[0] / max(n_documents, counts.shape[0]))
    share = round(min(MOST, EACH * fallen * float(np.count_nonzero(long & once) / total)) * 20) / 20
    return share if share >= WORTH else 0.0
