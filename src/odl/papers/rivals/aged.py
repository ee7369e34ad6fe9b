"""Nearest neighbours of the whole past by cosines that count less with age: by a half-life, and by recency."""

import numpy as np

from odl.evaluation import baselines
from odl.evaluation.baselines import NEIGHBOURS
from odl.learners import recency
from odl.papers.rivals.windows import WholePast
from odl.stream.features import Features


class Decaying(WholePast):
    """As `WholePast`, by cosines times 2^(-age / `HALF_LIFE`), the age being the documents between match and batch.

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

    def score(self, batch: Features) -> np.ndarray:
        """Compare with what is held, weighted by today's document frequencies and by age."""
        best = self._largest(batch, self.factors(_ages(self.past)))[0]
        return np.where(np.diff(batch.counts[:].indptr) > 0, 1.0 - best.mean(axis=1), 1.0)

    def factors(self, ages: np.ndarray) -> np.ndarray:
        """Return what cosines are multiplied by."""
        return 0.5 ** (ages / self.HALF_LIFE)

    def _largest(self, batch, factors):
        """Return the largest cosines times factors, and the places in the past of their documents."""
        today, first = baselines.weighed(batch, "log"), 0
        best, places = np.zeros((today.shape[0], NEIGHBOURS)), np.full((today.shape[0], NEIGHBOURS), -1)
        for earlier in self.past:
            for counts in baselines.blocks(earlier, batch):
                here = np.arange(first, first + counts.shape[0])
                cosines = (today @ baselines.weighed(batch, "log", counts).T).toarray() * factors[here]
                joined = np.concatenate([best, cosines], axis=1)
                owners = np.concatenate([places, np.broadcast_to(here, cosines.shape)], axis=1)
                kept = np.argpartition(joined, -NEIGHBOURS, axis=1)[:, -NEIGHBOURS:]
                best, places = (np.take_along_axis(values, kept, axis=1) for values in (joined, owners))
                first += counts.shape[0]
        return best, np.where(best > 0, places, -1)


class Recent(Decaying):
    """As `WholePast`, by cosines times the recency of their documents (`odl.learners.recency`).

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
        self.counters = {name: array.zeros({}) for name, array in recency.KEPT.items()}

    def factors(self, ages: np.ndarray) -> np.ndarray:
        """Return what cosines are multiplied by."""
        return recency.factors(self.counters, ages, self.POWER)

    def learn(self, batch: Features) -> None:
        """Count the ages of the five best matches, then hold the counts of the batch."""
        if self.past:
            ages = _ages(self.past)
            _, places = self._largest(batch, np.ones(len(ages)))
            self.counters = recency.counted(self.counters, ages, np.ones(len(ages)), places[places >= 0])
        super().learn(batch)

    @property
    def stored(self) -> int:
        """Word counts of the documents that are held, and counters."""
        return super().stored + sum(values.size for values in self.counters.values())


def _ages(past):
    """Return the ages of all documents of batches."""
    return np.arange(sum(earlier.counts.shape[0] for earlier in past))[::-1]
