"""First-story detection by locality-sensitive hashing (Petrovic, Osborne and Lavrenko, NAACL 2010)."""

import numpy as np
from scipy import sparse

from odl.learners.sparse_atoms import widen
from odl.stream.features import Features

DRAWN = 4096  # words whose sides of the hyperplanes are drawn at once


class FirstStory:
    """Distance to the nearest of a bounded number of earlier documents: those that collide, and the last ones.

    Each of `TABLES` hash tables sorts documents by the sides of `BITS` random hyperplanes (of signs, one for each
    word). A bucket holds its last `BUCKET` documents. A document is compared with the 3 `TABLES` documents that share
    most buckets with it and, against the chance that none of them is the nearest, with the last `RECENT` documents.
    A document that is in no bucket any more and not among the last is forgotten. It keeps the tf-idf weights of its own
    time.

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

    def score(self, batch: Features) -> np.ndarray:
        """Compare each document with its candidates; 1 where there are none."""
        P = batch.weighed(norm="l2", tf="log")[:]
        vectors, nearest = widen(self.vectors, n_columns=P.shape[1]), np.zeros(P.shape[0])
        last = sparse.csr_array(vectors[max(0, vectors.shape[0] - self.RECENT) :].T)
        keys, tables = self._keys(P), np.arange(self.TABLES)
        if last.shape[1]:
            nearest = sparse.csr_array(P @ last).max(axis=1).toarray().ravel()
        word = np.zeros(P.shape[1])
        for row in range(P.shape[0]):
            candidates = self._most(self.buckets[tables, keys[row]])
            if len(candidates):
                own = slice(P.indptr[row], P.indptr[row + 1])
                word[P.indices[own]] = P.data[own]
                nearest[row] = max(nearest[row], (vectors[candidates] @ word).max())
                word[P.indices[own]] = 0.0
        return 1.0 - np.minimum(nearest, 1.0)

    def learn(self, batch: Features) -> None:
        """Sort the documents into their buckets, and forget those that nothing leads to."""
        P = batch.weighed(norm="l2", tf="log")[:]
        keys, tables, before = self._keys(P), np.arange(self.TABLES), self.vectors.shape[0]
        for row, key in enumerate(keys):
            self.buckets[tables, key, self.next[tables, key] % self.BUCKET] = before + row
            self.next[tables, key] += 1
        vectors = sparse.vstack([widen(self.vectors, n_columns=P.shape[1]), P], format="csr")
        reached = np.zeros(vectors.shape[0] + 1, dtype=bool)
        reached[self.buckets[self.buckets >= 0]] = True
        reached[max(0, vectors.shape[0] - self.RECENT) : -1] = True
        numbers = np.append(np.cumsum(reached[:-1]) - 1, -1).astype(np.int32)  # an empty place, -1, stays one
        self.buckets, self.vectors = numbers[self.buckets], vectors[np.flatnonzero(reached)]

    @property
    def stored(self) -> int:
        """Weights of documents and entries of buckets; the hyperplanes can be drawn again."""
        return self.vectors.nnz + int(np.count_nonzero(self.buckets >= 0))

    def _most(self, numbers_of):
        """Return the documents that occur most often, the later of equals."""
        numbers, times = np.unique(numbers_of[numbers_of >= 0], return_counts=True)
        return numbers[::-1][np.argsort(-times[::-1], kind="stable")[: 3 * self.TABLES]]

    def _keys(self, P):
        """Return the bucket of each document in each table, (n_documents, TABLES)."""
        while len(self.signs) < P.shape[1]:
            rng = np.random.default_rng([self.seed, len(self.signs)])
            drawn = rng.integers(0, 2, size=(DRAWN, self.signs.shape[1]), dtype=np.int8)
            self.signs = np.concatenate([self.signs, 2 * drawn - 1])
        used = np.unique(P.indices)
        sides = P[:, used] @ self.signs[used].astype(np.float64) > 0
        return sides.reshape(P.shape[0], self.TABLES, self.BITS) @ (1 << np.arange(self.BITS))
