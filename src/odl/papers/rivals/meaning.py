"""Nearest neighbours by vectors of meaning: alone, fused with words by rank, and joined with a weight from the past.

Words P and vectors E of unit length are joined to [sqrt(1 - a) P, sqrt(a) E], whose cosines are
(1 - a) cos_words + a cos_vectors. Short texts share few words though they mean the same, long ones share words that
vectors forget: the best weight a is 0 on some streams and above 1/2 on others. It is chosen without labels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from odl.evaluation import metrics
from odl.evaluation.baselines import BLOCK
from odl.papers.rivals.windows import widened_rows
from odl.stream import dense, weighting
from odl.stream.features import Features

NEAREST = 5
WEIGHTS = np.round(np.arange(0.0, 1.01, 0.1), 1)
SAMPLE, TOPICS, MEMBERS, OTHERS = 1000, 25, 20, 100
AGREEMENT = 0.55  # 0.5 is chance


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
    WORDS = "5 nearest documents by vectors, whole past"

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
    WORDS = "5 nearest by words and 5 by vectors, fused by rank"

    def score(self, batch: Features) -> np.ndarray:
        """Rank the batch by both, 0 to 1; equal distances share a rank."""
        today, past = self._words(batch)
        apart = 1.0 - _five_of(today, past, batch.vectors, self.vectors, 0.0)
        return (_ranked(apart) + _ranked(super().score(batch))) / 2

    def rows(self, batch: Features) -> sparse.csr_array:
        """Return words and vectors of the same weight."""
        return joined(batch.weighed(norm="l2", tf="log")[:], batch.vectors, 0.5)  # type: ignore[arg-type]  # see NEEDS


class Joined(_WithWords):
    """Words and vectors joined, with the weight of `weight_of`, chosen from earlier batches.

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
    WORDS = "5 nearest by words and vectors, weight from the past"

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
        rows = np.sort(rng.choice(n, min(SAMPLE, n), replace=False))
        width = batch.counts.shape[1]
        counts = sparse.vstack([widened_rows(counts, width) for counts in self.counts], format="csr")[rows]
        after = {"frequencies": batch.frequencies_after(), "n_documents": n, "norm": "l2", "tf": "log"}
        P, mean = weighting.weigh(sparse.csr_array(counts), **after), dense.total(self.vectors) / n
        self.found.append(separation(P, dense.centred(self.vectors[rows], mean), rng))

    @property
    def weight(self) -> float:
        """The weight of the vectors."""
        return weight_of(self.found)

    def rows(self, batch: Features) -> sparse.csr_array:
        """Return what the documents of a batch are compared by, for their context."""
        return joined(batch.weighed(norm="l2", tf="log")[:], batch.vectors, self.weight)  # type: ignore[arg-type]


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
    return (rankdata(values) - 0.5) / len(values)


def joined(P: sparse.csr_array, E: np.ndarray, weight: float) -> sparse.csr_array:
    """Return [sqrt(1 - a) P, sqrt(a) E] as CSR rows, for words P (CSR) and vectors E (dense).

    Equation `joined-views` of docs/method.md.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.papers.rivals.meaning import joined
    >>> joined(csr_array([[1.0, 0.0]]), np.array([[0.6, 0.8]]), weight=0.25).toarray().round(3)
    array([[0.866, 0.   , 0.3  , 0.4  ]])
    """
    return sparse.csr_array(sparse.hstack([np.sqrt(1.0 - weight) * P, np.sqrt(weight) * sparse.csr_array(E)]))


def separation(P: sparse.csr_array, E: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Tell how well each weight finds documents of a pseudo-topic new when the past holds none of it.

    A pseudo-topic is a document drawn from the past and those most like it: in words, in vectors, or by the sum of both
    ranks, which counts twice, so that neither view judges alone. Its `MEMBERS` are compared with the past without
    them, and so are `OTHERS` documents drawn from the rest: the AUC of the mean cosine to the five nearest says how
    well the weight separates the two.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Words of past documents, rows of unit l2 norm; all are compared with all, so give at most `SAMPLE`.
    E : ndarray, shape (n_documents, n_dimensions)
        Their centred vectors, rows of unit l2 norm.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n_weights,)
        Mean AUC for each of `WEIGHTS`; zeros, no opinion, where there are too few documents for a pseudo-topic, or
        where the nearest documents in words are hardly nearer than others in vectors (their mean share of farther
        documents is below `AGREEMENT`): pseudo-topics cannot tell which of two views that contradict each other is
        noise, so that words stay alone.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.papers.rivals.meaning import separation
    >>> separation(csr_array(np.eye(5)), np.eye(5), np.random.default_rng(0)).any()  # five documents tell nothing
    np.False_
    """
    n = P.shape[0]
    if n < MEMBERS + 2 * NEAREST:
        return np.zeros(len(WEIGHTS))
    words, meaning = (P @ P.T).toarray(), E @ E.T
    areas = np.zeros(len(WEIGHTS))
    if _agreement(words, meaning) < AGREEMENT:
        return areas
    for share, by in ((0.25, "words"), (0.25, "vectors"), (0.5, "both")):
        for _ in range(TOPICS):
            first = rng.integers(n)
            ranks = {"words": rankdata(-words[first], "ordinal"), "vectors": rankdata(-meaning[first], "ordinal")}
            ranks["both"] = ranks["words"] + ranks["vectors"]
            members = np.argsort(ranks[by], kind="stable")[:MEMBERS]
            rest = np.setdiff1d(np.arange(n), members)
            rows = np.concatenate([members, rng.choice(rest, min(OTHERS, len(rest)), replace=False)])
            areas += share / TOPICS * _separated(words[rows], meaning[rows], rows, members)
    return areas


def weight_of(separations: Sequence[np.ndarray]) -> float:
    """Return the weight that separates best on the mean over timesteps; 0, words alone, where nothing is known.

    Examples
    --------
    >>> from odl.papers.rivals.meaning import WEIGHTS, weight_of
    >>> import numpy as np
    >>> weight_of([]), weight_of([np.arange(len(WEIGHTS)) / 10]) == WEIGHTS[-1]
    (0.0, np.True_)
    """
    return float(WEIGHTS[int(np.argmax(np.mean(separations, axis=0)))]) if len(separations) else 0.0


def _agreement(words, meaning):
    """Return the mean share of documents that are farther in vectors than the nearest in words are."""
    shares = []
    for row in range(len(words)):
        near = np.argsort(-np.delete(words[row], row), kind="stable")[:NEAREST]
        shares.append(_ranked(np.delete(meaning[row], row))[near].mean())
    return float(np.mean(shares))


def _separated(words, meaning, rows, members):
    """Return the AUC of members against others for each weight, neither compared with members nor with themselves."""
    own = np.zeros(words.shape, dtype=bool)
    own[:, members] = True
    own[np.arange(len(rows)), rows] = True
    areas = []
    for weight in WEIGHTS:
        cosines = np.where(own, -np.inf, (1.0 - weight) * words + weight * meaning)
        near = np.partition(cosines, -NEAREST, axis=1)[:, -NEAREST:].mean(axis=1)
        areas.append(metrics.auc(-near, np.arange(len(rows)) < len(members)))
    return np.array(areas)
