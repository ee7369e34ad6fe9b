"""Nearest neighbours by vectors (embeddings), and by vectors and words.

The weight of vectors decreases with the lengths of documents (`weight_of`), since vectors help if
texts are short and share few words.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from odl.evaluation.baselines import N_NEIGHBOURS
from odl.learners.vectors import weight_of
from odl.papers.rivals.windows import WholePast
from odl.stream import dense
from odl.stream.features import FeatureFile


class NearestMeaning:
    """Mean cosine distance to the five nearest earlier documents, by centred vectors.

    The score is ``1 - (c_1 + ... + c_5)/5``, where c_1 to c_5 are the largest cosines. The mean of
    all earlier vectors is subtracted first.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from odl import corpora
    >>> from odl.papers.rivals import NearestMeaning
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> vectors = np.random.default_rng(0).normal(size=(240, 4)).astype(np.float32)
    >>> corpus = replace(corpus, vectors=vectors)
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = NearestMeaning()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.14, 0.07, 0.15]), 480)
    """

    NAME, NEEDS = "nearest5-vectors", "vectors"
    WORDS = "5 nearest documents by vectors, whole past"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.vectors: Any = None  # vectors of all documents so far

    def score(self, batch: FeatureFile) -> np.ndarray:
        """Return the mean distance of each document to the five nearest earlier vectors."""
        cosines = batch.vectors @ dense.centred(self.vectors, batch.vector_mean).T
        count = min(N_NEIGHBOURS, cosines.shape[1])
        largest = np.partition(cosines, -count, axis=1)[:, -count:]
        return 1.0 - largest.mean(axis=1)

    def learn(self, batch: FeatureFile) -> None:
        """Store the vectors of a batch."""
        rows = batch.raw_vectors
        self.vectors = rows if self.vectors is None else np.concatenate([self.vectors, rows])

    def rows(self, batch: FeatureFile) -> sparse.csr_array:
        """Return the vectors of a batch, by which its documents are compared."""
        return sparse.csr_array(batch.vectors)

    @property
    def stored(self) -> int:
        """Number of stored vector entries."""
        return 0 if self.vectors is None else self.vectors.size


class FusedRanks(NearestMeaning):
    """Score ``(1 - a) r + a q``, the weighted mean of two ranks within the batch.

    r is the rank of the distance by words, q the rank of the distance by vectors, and a the weight
    of vectors.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from odl import corpora
    >>> from odl.papers.rivals import FusedRanks
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> vectors = np.random.default_rng(0).normal(size=(240, 4)).astype(np.float32)
    >>> corpus = replace(corpus, vectors=vectors)
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = FusedRanks()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.77, 0.51, 0.35]), 4620)
    """

    NAME = "nearest5-ranks"
    WORDS = "5 nearest by words and 5 by vectors, ranks weighed by length"

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.words = WholePast(seed)

    def learn(self, batch: FeatureFile) -> None:
        super().learn(batch)
        self.words.learn(batch)

    def score(self, batch: FeatureFile) -> np.ndarray:
        """Return the weighted mean of both ranks, from 0 to 1.

        The rank of a distance is the share of documents in the batch with smaller distances, plus
        half of the share with equal distances.
        """
        by_words, by_vectors = (
            (rankdata(distances) - 0.5) / len(distances)
            for distances in (self.words.score(batch), super().score(batch))
        )
        return (1.0 - self.weight) * by_words + self.weight * by_vectors

    @property
    def stored(self) -> int:
        """Number of vector entries and word counts."""
        return super().stored + self.words.stored

    @property
    def weight(self) -> float:
        """Weight a of the vectors, from the lengths of earlier documents."""
        return weight_of(
            np.concatenate([np.diff(earlier.counts.indptr) for earlier in self.words.past])
        )

    def rows(self, batch: FeatureFile) -> sparse.csr_array:
        """Return weighted rows of words and vectors, see `join_views`."""
        P = batch.weighed(norm="l2", tf="log")[:]
        return join_views(P, batch.vectors, self.weight)  # type: ignore[arg-type]


def join_views(P: sparse.csr_array, E: np.ndarray, weight: float) -> sparse.csr_array:
    """Return [sqrt(1 - a) P, sqrt(a) E] as CSR rows, for words P (CSR) and vectors E (dense).

    Equation `joined-views` of docs/method.md.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.papers.rivals.meaning import join_views
    >>> join_views(csr_array([[1.0, 0.0]]), np.array([[0.6, 0.8]]), weight=0.25).toarray().round(3)
    array([[0.866, 0.   , 0.3  , 0.4  ]])
    """
    return sparse.csr_array(
        sparse.hstack([np.sqrt(1.0 - weight) * P, np.sqrt(weight) * sparse.csr_array(E)])
    )
