"""Nearest neighbours in the last documents, or in all: distance to the five nearest, logarithmic term frequency."""

from types import SimpleNamespace

import numpy as np

from odl.evaluation import baselines
from odl.stream.features import Features


class WholePast:
    """1 - (c_1 + ... + c_5)/5 with the largest cosines to earlier documents (`odl.evaluation.baselines.nearest`).

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

    NAME, SLOW, NEEDS = "nearest5-logtf-past", False, "counts"
    LAST: int | None = None  # documents that are held; None: all

    def __init__(self, seed: int = 0) -> None:
        self.past = []

    def score(self, batch: Features) -> np.ndarray:
        """Compare with what is held, weighted by today's document frequencies."""
        return baselines.nearest(batch, self.past, {"logtf": "log"})["nearest5-logtf"]

    def learn(self, batch: Features) -> None:
        """Hold the counts of a batch, and let go of documents that are too many."""
        self.past.append(SimpleNamespace(t=batch.t, counts=batch.counts[:], terms=batch.terms))
        if self.LAST is not None:
            self.past = baselines.latest(reversed(self.past), self.LAST)

    @property
    def stored(self) -> int:
        """Word counts of the documents that are held."""
        return sum(earlier.counts.nnz for earlier in self.past)


class LastThousand(WholePast):
    """As `WholePast`, of the last 1000 documents.

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
