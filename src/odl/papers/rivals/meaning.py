"""Nearest neighbours by vectors of meaning: alone, fused with words by rank, and joined with a weight from the past."""

from typing import Any

import numpy as np
from scipy import sparse

from odl.evaluation.baselines import BLOCK
from odl.learners import meaning_weight
from odl.papers.rivals.widening import widened_rows
from odl.stream import dense, weighting
from odl.stream.features import Features

NEAREST = 5


class NearestMeaning:
    """1 - (c_1 + ... + c_5)/5 with the largest cosines of centred vectors to all earlier documents.

    All documents are centred by today's mean of the past.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from odl import corpora
    >>> from odl.papers.rivals import NearestMeaning
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> corpus = replace(corpus, vectors=np.random.default_rng(0).normal(size=(240, 4)).astype(np.float32))
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = NearestMeaning()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.14, 0.07, 0.15]), 480)
    """

    NAME, SLOW, NEEDS = "nearest5-vectors", False, "vectors"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.vectors: Any = None  # of all documents so far

    def score(self, batch: Features) -> np.ndarray:
        """Compare with all vectors that are held."""
        past = dense.centred(self.vectors, batch.vector_mean)
        return 1.0 - _five(batch.vectors @ past.T)

    def learn(self, batch: Features) -> None:
        """Hold the vectors of a batch."""
        rows = batch.raw_vectors
        self.vectors = rows if self.vectors is None else np.concatenate([self.vectors, rows])

    def rows(self, batch: Features) -> sparse.csr_array:
        """Return what the documents of a batch are compared by, for their context."""
        return sparse.csr_array(batch.vectors)

    @property
    def stored(self) -> int:
        """Numbers of all vectors."""
        return 0 if self.vectors is None else self.vectors.size


class _WithWords(NearestMeaning):
    """Vectors and counts of all earlier documents."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.counts = []

    def learn(self, batch: Features) -> None:
        super().learn(batch)
        self.counts.append(batch.counts[:])

    @property
    def stored(self) -> int:
        """Numbers of all vectors, and word counts."""
        return super().stored + sum(counts.nnz for counts in self.counts)

    def _words(self, batch):
        """Return words of today and of the past, weighted by today's document frequencies."""
        width = batch.counts.shape[1]
        past = sparse.csr_array(sparse.vstack([widened_rows(counts, width) for counts in self.counts], format="csr"))
        known = {"frequencies": batch.frequencies, "n_documents": batch.n_before, "norm": "l2", "tf": "log"}
        return (weighting.weigh(counts, **known) for counts in (batch.counts[:], past))


class FusedRanks(_WithWords):
    """Mean of two ranks within the batch: of the distance by words, and of that by vectors.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from odl import corpora
    >>> from odl.papers.rivals import FusedRanks
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> corpus = replace(corpus, vectors=np.random.default_rng(0).normal(size=(240, 4)).astype(np.float32))
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = FusedRanks()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.77, 0.41, 0.49]), 4620)
    """

    NAME = "nearest5-ranks"

    def score(self, batch: Features) -> np.ndarray:
        """Rank the batch by both, 0 to 1; equal distances share a rank."""
        today, past = self._words(batch)
        apart = 1.0 - _five_of(today, past, batch.vectors, self.vectors, 0.0)
        return (_ranked(apart) + _ranked(super().score(batch))) / 2

    def rows(self, batch: Features) -> sparse.csr_array:
        """Return words and vectors of the same weight."""
        return meaning_weight.joined(batch.weighed(norm="l2", tf="log")[:], batch.vectors, 0.5)  # type: ignore[arg-type]  # see NEEDS


class Joined(_WithWords):
    """Words and vectors joined, with the weight of `odl.learners.meaning_weight`, chosen from earlier batches.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from odl import corpora
    >>> from odl.papers.rivals import Joined
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> corpus = replace(corpus, vectors=np.random.default_rng(0).normal(size=(240, 4)).astype(np.float32))
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = Joined()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.91, 0.91, 0.87]), 4620)
    """

    NAME = "nearest5-joined"

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.found = []

    def score(self, batch: Features) -> np.ndarray:
        """Compare by the joint cosine."""
        weight, (today, past) = self.weight, self._words(batch)
        vectors = dense.centred(self.vectors, batch.vector_mean)
        return 1.0 - _five_of(today, past, batch.vectors, vectors, weight)

    def learn(self, batch: Features) -> None:
        """Hold the batch, and let a sample of all documents so far say how well each weight separates."""
        super().learn(batch)
        rng = np.random.default_rng([self.seed, batch.t])
        n = sum(counts.shape[0] for counts in self.counts)
        rows = np.sort(rng.choice(n, min(meaning_weight.SAMPLE, n), replace=False))
        width = batch.counts.shape[1]
        counts = sparse.vstack([widened_rows(counts, width) for counts in self.counts], format="csr")[rows]
        after = {"frequencies": batch.frequencies_after(), "n_documents": n, "norm": "l2", "tf": "log"}
        P, mean = weighting.weigh(sparse.csr_array(counts), **after), dense.total(self.vectors) / n
        self.found.append(meaning_weight.separation(P, dense.centred(self.vectors[rows], mean), rng))

    @property
    def weight(self) -> float:
        """The weight of the vectors."""
        return meaning_weight.weight_of(self.found)

    def rows(self, batch: Features) -> sparse.csr_array:
        """Return what the documents of a batch are compared by, for their context."""
        return meaning_weight.joined(batch.weighed(norm="l2", tf="log")[:], batch.vectors, self.weight)  # type: ignore[arg-type]


def _five(cosines):
    """Return the mean of the five largest of each row."""
    most = min(NEAREST, cosines.shape[1])
    return np.partition(cosines, -most, axis=1)[:, -most:].mean(axis=1)


def _five_of(words, past_words, vectors, past_vectors, weight):
    """Return the mean of the five largest joint cosines, a block of today's rows at a time."""
    across, found = sparse.csr_array(past_words.T), []
    for first in range(0, words.shape[0], BLOCK):
        cosines = (1.0 - weight) * (words[first : first + BLOCK] @ across).toarray()
        if weight:
            cosines += weight * (vectors[first : first + BLOCK] @ past_vectors.T)
        found.append(_five(cosines))
    return np.concatenate(found)


def _ranked(values):
    """Return the share of the batch below each value, and half of those equal."""
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / (2 * len(values))
