"""Scores by nearest neighbours with weights by age, and by temporal idf."""

from types import SimpleNamespace

import numpy as np
from scipy import sparse

from odl.evaluation import baselines
from odl.evaluation.baselines import N_NEIGHBOURS
from odl.learners import clusters, likeness
from odl.stream.features import FeatureFile


class WholePast:
    """Mean cosine distance to the five nearest of all earlier documents, by words.

    The score is ``1 - (c_1 + ... + c_5)/5``, where c_1 to c_5 are the largest cosines (see
    `odl.evaluation.baselines.nearest`).

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.papers.rivals import WholePast
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = WholePast()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.91, 0.91, 0.87]), 4140)
    """

    NAME, NEEDS = "nearest5-logtf-past", "counts"
    WORDS = "5 nearest documents, whole past"
    LAST: int | None = None  # number of stored documents; None: all

    def __init__(self, seed: int = 0) -> None:
        self.past = []

    def score(self, batch: FeatureFile) -> np.ndarray:
        """Return the mean distance of each document, with document frequencies of the batch."""
        return baselines.nearest(batch, self.past, {"logtf": "log"})["nearest5-logtf"]

    def learn(self, batch: FeatureFile) -> None:
        """Store the counts of a batch, and remove all but the last `LAST` documents."""
        self.past.append(SimpleNamespace(t=batch.t, counts=batch.counts[:], terms=batch.terms))
        if self.LAST is not None:
            self.past = baselines.latest(reversed(self.past), self.LAST)

    @property
    def stored(self) -> int:
        """Number of stored word counts."""
        return sum(earlier.counts.nnz for earlier in self.past)


class LastThousand(WholePast):
    """`WholePast` restricted to the last 1000 documents.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.papers.rivals import LastThousand
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = LastThousand()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.91, 0.91, 0.87]), 4140)
    """

    NAME, LAST = "nearest5-logtf-window1000", 1000
    WORDS = "5 nearest of the last 1000 documents"


class LastTenThousand(WholePast):
    """`WholePast` restricted to the last 10,000 documents.

    Examples
    --------
    >>> from odl.papers.rivals import LastTenThousand
    >>> LastTenThousand.LAST
    10000
    """

    NAME, LAST = "nearest5-logtf-window10000", 10000
    WORDS = "5 nearest of the last 10,000 documents"


class InvertedPast:
    """Inverted index of the log term frequencies of earlier documents, for cosines by tf-idf.

    The idf is that of the current batch. The rows of the batch are multiplied by the square of the
    idf, so the index does not depend on the idf.
    """

    def __init__(self):
        self.rows = sparse.csr_array((0, 0))
        self.index = likeness.build_index(self.rows.T, 1.0)

    @property
    def ages(self):
        """Age of each stored document: the number of documents after it."""
        return np.arange(self.rows.shape[0])[::-1]

    def learn(self, batch):
        """Append the counts of a batch."""
        counts = batch.counts[:].astype(np.float64)
        counts.data = 1.0 + np.log(counts.data)
        before, n_terms = self.rows.shape[0], counts.shape[1]
        self.rows.resize((before, n_terms))
        self.rows = sparse.vstack([self.rows, counts], format="csr")
        new = np.arange(before, self.rows.shape[0])
        fresh = likeness.FlattenedRows(*likeness.as_rows(counts), counts.data)
        self.index.set_columns(new, fresh, self.rows.shape[0], n_terms)

    def nearest(self, batch, factors):
        """Find the five earlier documents with the largest cosine times factor.

        Parameters
        ----------
        batch : odl.stream.features.FeatureFile
        factors : dict of str to ndarray
            Name of a weighting -> factor of each stored document. Leading zeros make the search
            faster.

        Returns
        -------
        dict of str to (ndarray, ndarray)
            Indices and values by name of the weighting, each of shape (n_documents, 5), as
            `odl.learners.likeness.nearest` returns them.
        """
        rows, neighbours = baselines.weighed(batch, "log"), {}
        idf = np.log((1 + batch.n_before) / (1 + batch.frequencies)) + 1.0
        rows.data = rows.data * idf[rows.indices]
        self.rows.resize((self.rows.shape[0], len(idf)))
        inverse_norms = 1.0 / np.sqrt(np.maximum(self.rows.power(2) @ idf**2, 1e-300))
        for name, factor in factors.items():
            # Documents before `first` have the factor 0. If they are more than half of all
            # documents, an index without them is built.
            first, index = int(np.argmax(factor > 0)), self.index
            if 2 * first > len(inverse_norms):
                index = likeness.build_index(self.rows[first:].T, 1.0)
            else:
                first = 0
            scale = (factor * inverse_norms)[first + index.owner]
            indices, cosines = likeness.nearest(rows, index, N_NEIGHBOURS, scale)
            neighbours[name] = np.where(indices < 0, -1, indices + first), cosines
        return neighbours


class Decaying(WholePast):
    """`WholePast` with cosines multiplied by ``2^(-age / HALF_LIFE)``.

    The age of a document is the number of documents after it.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.papers.rivals import Decaying
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = Decaying()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.91, 0.91, 0.87]), 4140)
    """

    NAME, HALF_LIFE = "nearest5-logtf-half-life", 2000
    WORDS = "5 nearest documents, cosines halved every 2000"

    def __init__(self, seed: int = 0) -> None:
        self.memory = InvertedPast()

    def score(self, batch: FeatureFile) -> np.ndarray:
        """Return the distances to stored documents, with cosines weighted by age."""
        _, best = self.memory.nearest(batch, {"": self.factors(self.memory.ages)})[""]
        return 1.0 - best.sum(axis=1) / N_NEIGHBOURS

    def factors(self, ages: np.ndarray) -> np.ndarray:
        """Return the factor of the cosine with each stored document, given their ages."""
        return 0.5 ** (ages / self.HALF_LIFE)

    def learn(self, batch: FeatureFile) -> None:
        """Store the counts of a batch."""
        self.memory.learn(batch)

    @property
    def stored(self) -> int:
        """Number of stored word counts."""
        return self.memory.rows.nnz


class Recent(Decaying):
    """`WholePast` with cosines multiplied by the recency of documents (`odl.learners.clusters`).

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.papers.rivals import Recent
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = Recent()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.91, 0.91, 0.87]), 4184)
    """

    NAME, POWER = "nearest5-logtf-recency", 0.5
    WORDS = "5 nearest documents, whole past by recency"

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.counters = {name: array.zeros({}) for name, array in clusters.AGES.items()}

    def factors(self, ages: np.ndarray) -> np.ndarray:
        """Return the factor of the cosine with each stored document, given their ages."""
        return clusters.recency_of(self.counters, self.POWER)[clusters.age_bins(ages)]

    def learn(self, batch: FeatureFile) -> None:
        """Count the ages of the five best matches, then store the counts of the batch."""
        if len(ages := self.memory.ages):
            self.count(self.memory.nearest(batch, {"": np.ones(len(ages))})[""][0])
        super().learn(batch)

    def count(self, indices: np.ndarray) -> None:
        """Count the ages of the best matches of a batch, given their indices."""
        bins = clusters.age_bins(self.memory.ages)
        self.counters = clusters.with_matches(self.counters, bins, np.ones(len(bins)), indices)

    @property
    def stored(self) -> int:
        """Number of stored word counts and counters."""
        return super().stored + sum(values.size for values in self.counters.values())


class TemporalIdf:
    """Mean idf of the words of a document, with document frequencies that decay with time.

    Let N be the decayed number of documents, n_w that of documents with word w, and idf_w =
    log((1 + N) / (1 + n_w)). The score, between 0 and 1, is

        sum_w tf_w idf_w / (log(1 + N) sum_w tf_w),   tf_w = 1 + log(count).

    The memory is one number per word. Source: Karkali et al. 2014, arXiv 1401.1456.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.papers.rivals import TemporalIdf
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> rival = TemporalIdf()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.7 , 0.74, 0.66]), 2083)
    """

    NAME, NEEDS = "temporal-idf", "counts"
    WORDS = "temporal idf of the document"
    HALF_LIFE = 20000  # documents, as in `adaptive`

    def __init__(self, seed: int = 0) -> None:
        self.total, self.frequencies = 0.0, np.zeros(0)

    def score(self, batch: FeatureFile) -> np.ndarray:
        """Return the mean idf of each document; 1 for documents without words."""
        counts = batch.counts[:]
        frequencies = np.pad(self.frequencies, (0, counts.shape[1] - len(self.frequencies)))
        idf = np.log((1.0 + self.total) / (1.0 + frequencies))
        tf = counts.astype(np.float64)
        tf.data = 1.0 + np.log(tf.data)
        sizes = np.asarray(tf.sum(axis=1)) * max(np.log(1.0 + self.total), 1e-300)
        return np.where(sizes > 0, tf @ idf / np.where(sizes > 0, sizes, 1.0), 1.0)

    def learn(self, batch: FeatureFile) -> None:
        """Decay the frequencies, and count the documents of a batch."""
        counts = batch.counts[:]
        decay = 0.5 ** (counts.shape[0] / self.HALF_LIFE)
        fresh = np.bincount(counts.indices, minlength=counts.shape[1])
        self.total = decay * self.total + counts.shape[0]
        frequencies = np.pad(self.frequencies, (0, len(fresh) - len(self.frequencies)))
        self.frequencies = decay * frequencies + fresh

    @property
    def stored(self) -> int:
        """Number of stored document frequencies, plus 1 for the number of documents."""
        return len(self.frequencies) + 1
