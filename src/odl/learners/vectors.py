"""Scores of documents by their vectors, and sums of scores by words and by vectors."""

from typing import Any, NamedTuple, Self

import numpy as np

from odl.errors import CheckpointError
from odl.learners.base import ArraySpec

NEAREST = 5  # number of nearest recent vectors with which a vector is compared
HALF_WEIGHT_WORDS = 16  # median number of distinct words at which words and vectors weigh equally
MAX_VECTOR_WEIGHT = 2 / 3  # largest weight of vectors
LENGTH_BINS = 256  # bins for numbers of distinct words: 0, 1, ..., 254, and 255 or more
RECENT = 2000  # maximum number of last scores from which a scale is computed
MIN_SCORES = 50  # number of recent scores below which a scale includes the scores of the batch
BEYOND = 1.0  # distance from the smallest and largest recent score at which a scale is 0 and 1
GRID = 1 << 16  # components are rounded to 1/GRID, so that sums are exact in any order
PRODUCT_BLOCK = 512  # number of documents per matrix product
MEMORY_ARRAYS = {
    "signs": ArraySpec("dense", ("positions", "bytes"), np.uint8),
    "words": ArraySpec("dense", ("positions",), between=(-np.inf, 1e300)),
    "vectors": ArraySpec("dense", ("positions",), between=(0, 2)),
    "lengths": ArraySpec("dense", (LENGTH_BINS,), np.int64, between=(0, np.inf)),
}


class VectorMemory(NamedTuple):
    """Signs of the recent vectors of a stream, and recent scores by words and by vectors.

    Attributes
    ----------
    signs : ndarray of uint8, shape (n_documents, n_bytes)
        One bit per component of each centred vector, which is 1 for positive components.
    words, vectors : ndarray of float64
        Scores of recent documents by words and by vectors.
    lengths : ndarray of int64, shape (256,)
        Entry i is the number of documents with i distinct words; the last entry counts documents
        with 255 or more.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners.vectors import VectorMemory
    >>> vectors = np.array([[0.6, 0.8], [-0.8, 0.6], [0.8, 0.6]])
    >>> lengths = np.array([8, 16, 90])
    >>> memory = VectorMemory.empty(2).after(np.zeros(3), np.zeros(3), vectors, lengths, room=1000)
    >>> memory.signs.ravel(), memory.weight()
    (array([192,  64, 192], dtype=uint8), 0.5)
    >>> memory.distances(np.array([[0.6, 0.8]])).round(2)
    array([0.29])
    """

    signs: np.ndarray
    words: np.ndarray
    vectors: np.ndarray
    lengths: np.ndarray

    @classmethod
    def empty(cls, n_dimensions: int) -> Self:
        """Return the memory before the first batch."""
        signs = np.zeros((0, -(-n_dimensions // 8)), dtype=np.uint8)
        return cls(signs, np.zeros(0), np.zeros(0), np.zeros(LENGTH_BINS, dtype=np.int64))

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], n_dimensions: int, path: Any) -> Self:
        """Return the memory with the arrays of the checkpoint `path`.

        Raises
        ------
        CheckpointError
            If names, shapes or values of the arrays are invalid.
        """
        sizes = {"bytes": -(-n_dimensions // 8)}
        is_valid = arrays.keys() == MEMORY_ARRAYS.keys() and all(
            spec.fits(arrays[name], sizes) for name, spec in MEMORY_ARRAYS.items()
        )
        if not is_valid or len(arrays["words"]) != len(arrays["vectors"]):
            expected = (
                f"signs of vectors with {n_dimensions} components, "
                "and scores by words and by vectors"
            )
            todo = f"delete {path} and run the same command again"
            raise CheckpointError(f"{path} has invalid arrays of vectors", expected, todo)
        return cls(**arrays)

    def weight(self, fixed: float | None = None) -> float:
        """Return the weight of vectors: `fixed`, or by default `weight_of` all documents so far."""
        if fixed is not None:
            return fixed
        total = int(self.lengths.sum())
        ranks = [(total - 1) // 2, total // 2]  # of the one or two documents at the median
        medians = np.searchsorted(np.cumsum(self.lengths), ranks, side="right")
        return weight_of(medians if total else [])

    def distances(self, vectors: np.ndarray) -> np.ndarray:
        """Return the mean cosine distance of centred vectors to their five nearest recent vectors.

        Equation `score-by-vectors` of docs/method.md.
        """
        n_dimensions, distances = vectors.shape[1], np.ones(len(vectors))
        if not len(self.signs):
            return distances
        signs = np.unpackbits(self.signs, axis=1, count=n_dimensions).astype(np.float32).T * 2 - 1
        n_nearest = min(NEAREST, signs.shape[1])
        for first in range(0, len(vectors), PRODUCT_BLOCK):
            block = slice(first, first + PRODUCT_BLOCK)
            products = np.rint(vectors[block] * GRID).astype(np.float32) @ signs
            nearest = np.partition(products, -n_nearest, axis=1)[:, -n_nearest:]
            sums = nearest.astype(np.float64).sum(axis=1)
            distances[block] -= sums / (n_nearest * GRID * np.sqrt(n_dimensions))
        return distances

    def combine_scores(
        self, words: np.ndarray, vectors: np.ndarray, weight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts of the score by words and by vectors; their sum is in [0, 1].

        Each part is a weight times the position of a score among recent scores (`on_scale`).

        Equation `joined-scores` of docs/method.md.

        Parameters
        ----------
        words, vectors : ndarray, shape (n_documents,)
            Scores by words and by vectors.
        weight : float
            Weight of the scores by vectors.
        """
        recent_words, recent_vectors = self.words, self.vectors
        if len(recent_words) < MIN_SCORES:
            recent_words = np.append(recent_words, words)
            recent_vectors = np.append(recent_vectors, vectors)
        word_part = (1.0 - weight) * on_scale(words, recent_words)
        return word_part, weight * on_scale(vectors, recent_vectors)

    def after(
        self,
        words: np.ndarray,
        apart: np.ndarray,
        vectors: np.ndarray,
        lengths: np.ndarray,
        room: int,
    ) -> "VectorMemory":
        """Return the memory after a batch.

        Parameters
        ----------
        words, apart : ndarray, shape (n_documents,)
            Scores by words and by vectors. The score by words is nan for a document without words.
            Scores of the first batch are not stored.
        vectors : ndarray, shape (n_documents, n_dimensions)
            Centred vectors. Zero vectors are not stored.
        lengths : ndarray of int, shape (n_documents,)
            Number of distinct words of each document.
        room : int
            Maximum size of the signs in bytes.
        """
        signs = np.packbits(vectors[vectors.any(axis=1)] > 0, axis=1)
        signs = np.concatenate([self.signs, signs])[-max(1, room // signs.shape[1]) :]
        has_score = ~np.isnan(words) if len(self.signs) else np.zeros(len(words), dtype=bool)
        length_counts = np.bincount(np.minimum(lengths, LENGTH_BINS - 1), minlength=LENGTH_BINS)
        recent = (
            np.append(self.words, words[has_score])[-RECENT:],
            np.append(self.vectors, apart[has_score])[-RECENT:],
        )
        return VectorMemory(signs, *recent, self.lengths + length_counts)


def on_scale(scores: np.ndarray, recent: np.ndarray) -> np.ndarray:
    """Return the share of recent scores below each score, interpolated linearly.

    The scale from 0 to 1 extends beyond the smallest and largest recent score by `BEYOND`, so that
    different scores have different positions.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners.vectors import on_scale
    >>> on_scale(np.array([0.0, 0.3, 0.5, 0.9, 2.0]), np.array([0.2, 0.4, 0.6])).round(2)
    array([0.13, 0.33, 0.67, 0.88, 1.  ])
    """
    if not len(recent):
        return np.zeros(len(scores))
    values, counts = np.unique(recent, return_counts=True)
    shares = (np.cumsum(counts) - counts / 2) / len(recent)
    ends = values[0] - BEYOND, values[-1] + BEYOND
    return np.interp(scores, np.r_[ends[0], values, ends[1]], np.r_[0.0, shares, 1.0])


def weight_of(lengths: Any) -> float:
    """Return the weight of vectors, min(2/3, 16/(16 + n)).

    n is the median of `lengths`, the numbers of distinct words of documents. Without documents, n
    is 0.

    Equation `length-weight` of docs/method.md.

    Examples
    --------
    >>> from odl.learners.vectors import weight_of
    >>> weight_of([8, 16, 90]), weight_of([48]), weight_of([])
    (0.5, 0.25, 0.6666666666666666)
    """
    n = float(np.median(lengths)) if len(lengths) else 0.0
    return min(MAX_VECTOR_WEIGHT, HALF_WEIGHT_WORDS / (HALF_WEIGHT_WORDS + n))
