"""Nearest neighbours in the last documents, or in all: distance to the five nearest, logarithmic term frequency."""

from types import SimpleNamespace

from odl.evaluation import baselines


class WholePast:
    """1 - (c_1 + ... + c_5)/5 with the largest cosines to earlier documents (`odl.evaluation.baselines.nearest`)."""

    NAME, SLOW, NEEDS = "nearest5-logtf-past", False, "counts"
    LAST = None  # documents that are held; None: all

    def __init__(self, seed=0):
        self.past = []

    def score(self, batch):
        """Compare with what is held, weighted by today's document frequencies."""
        return baselines.nearest(batch, self.past, {"logtf": "log"})["nearest5-logtf"]

    def learn(self, batch):
        """Hold the counts of a batch, and let go of documents that are too many."""
        self.past.append(SimpleNamespace(t=batch.t, counts=batch.counts[:]))
        if self.LAST is None:
            return
        room, kept = self.LAST, []
        for earlier in reversed(self.past):
            if room > 0:
                few = earlier.counts[max(0, earlier.counts.shape[0] - room) :]
                kept.append(SimpleNamespace(t=earlier.t, counts=few))
                room -= few.shape[0]
        self.past = kept[::-1]

    @property
    def stored(self):
        """Word counts of the documents that are held."""
        return sum(earlier.counts.nnz for earlier in self.past)


class LastThousand(WholePast):
    """As `WholePast`, of the last 1000 documents."""

    NAME, LAST = "nearest5-logtf-window1000", 1000
