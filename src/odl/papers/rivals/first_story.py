"""First-story detection by locality-sensitive hashing (LSH).

Source: Petrovic, Osborne and Lavrenko, NAACL 2010.
"""

import numpy as np
from scipy import sparse

from odl.learners.sparse_atoms import widen
from odl.stream.features import FeatureFile

WORD_BLOCK = 4096  # number of words whose random signs are drawn at a time


class FirstStory:
    """Cosine distance to the nearest document among candidates of hashing and the last documents.

    Each of `TABLES` hash tables assigns documents to buckets by the signs of `BITS` random
    projections, whose vectors have entries 1 and -1. A bucket stores its last `BUCKET` documents. A
    document is compared with the 3 `TABLES` documents that share most buckets with it. Hash tables
    can miss the nearest document, so it is also compared with the last `RECENT` documents.
    Documents that are in no bucket and not among the last `RECENT` are removed. Documents have the
    tf-idf weights of their batch.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.papers.rivals import FirstStory
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = FirstStory()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.88, 0.89, 0.83]), 12540)
    """

    NAME, NEEDS = "first-story-lsh", "counts"
    WORDS = "first-story detection by hashing"
    TABLES, BITS, BUCKET, RECENT = 70, 13, 20, 1000

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.signs = seed, np.zeros((0, self.TABLES * self.BITS), dtype=np.int8)
        self.buckets = np.full((self.TABLES, 2**self.BITS, self.BUCKET), -1, dtype=np.int32)
        self.next = np.zeros(self.buckets.shape[:2], dtype=np.int32)
        self.vectors = sparse.csr_array((0, 0))

    def score(self, batch: FeatureFile) -> np.ndarray:
        """Return the distance of each document to its nearest candidate; 1 without candidates."""
        P = batch.weighed(norm="l2", tf="log")[:]
        vectors, nearest = widen(self.vectors, n_columns=P.shape[1]), np.zeros(P.shape[0])
        last = sparse.csr_array(vectors[max(0, vectors.shape[0] - self.RECENT) :].T)
        keys, tables = self._keys(P), np.arange(self.TABLES)
        if last.shape[1]:
            nearest = sparse.csr_array(P @ last).max(axis=1).toarray().ravel()
        dense = np.zeros(P.shape[1])  # one document as a dense vector
        for row in range(P.shape[0]):
            candidates = self._most_frequent(self.buckets[tables, keys[row]])
            if len(candidates):
                entries = slice(P.indptr[row], P.indptr[row + 1])
                dense[P.indices[entries]] = P.data[entries]
                nearest[row] = max(nearest[row], (vectors[candidates] @ dense).max())
                dense[P.indices[entries]] = 0.0
        return 1.0 - np.minimum(nearest, 1.0)

    def learn(self, batch: FeatureFile) -> None:
        """Add documents to their buckets, and remove documents that are not candidates any more."""
        P = batch.weighed(norm="l2", tf="log")[:]
        keys, tables, before = self._keys(P), np.arange(self.TABLES), self.vectors.shape[0]
        for row, key in enumerate(keys):
            self.buckets[tables, key, self.next[tables, key] % self.BUCKET] = before + row
            self.next[tables, key] += 1
        vectors = sparse.vstack([widen(self.vectors, n_columns=P.shape[1]), P], format="csr")
        # The last entry is for empty slots of buckets, which contain -1.
        retained = np.zeros(vectors.shape[0] + 1, dtype=bool)
        retained[self.buckets[self.buckets >= 0]] = True
        retained[max(0, vectors.shape[0] - self.RECENT) : -1] = True
        numbers = np.append(np.cumsum(retained[:-1]) - 1, -1).astype(np.int32)
        self.buckets, self.vectors = numbers[self.buckets], vectors[np.flatnonzero(retained)]

    @property
    def stored(self) -> int:
        """Number of weights and bucket entries.

        Projections are not counted, since they can be drawn again from the seed.
        """
        return self.vectors.nnz + int(np.count_nonzero(self.buckets >= 0))

    def _most_frequent(self, bucket_entries):
        """Return the 3 `TABLES` documents that occur most often, among equals the latest ones."""
        numbers, frequencies = np.unique(bucket_entries[bucket_entries >= 0], return_counts=True)
        return numbers[::-1][np.argsort(-frequencies[::-1], kind="stable")[: 3 * self.TABLES]]

    def _keys(self, P):
        """Return the bucket of each document in each table, shape (n_documents, TABLES)."""
        while len(self.signs) < P.shape[1]:
            rng = np.random.default_rng([self.seed, len(self.signs)])
            drawn = rng.integers(0, 2, size=(WORD_BLOCK, self.signs.shape[1]), dtype=np.int8)
            self.signs = np.concatenate([self.signs, 2 * drawn - 1])
        used = np.unique(P.indices)
        sides = P[:, used] @ self.signs[used].astype(np.float64) > 0
        return sides.reshape(P.shape[0], self.TABLES, self.BITS) @ (1 << np.arange(self.BITS))
