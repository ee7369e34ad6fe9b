"""Residual of an online nonnegative matrix factorisation, MiniBatchNMF of scikit-learn."""

import numpy as np

from odl.papers.rivals.windows import widened
from odl.stream.features import Features


class FactorResidual:
    """Share of a document that nonnegative factors do not explain: ||p - H^T w|| / ||p||, p its tf-idf weights.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.papers.rivals import FactorResidual
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(10)))
    >>> batch = features.follow(corpus.select(range(10, 14)), past)
    >>> rival = FactorResidual()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([0.92, 0.94, 0.93]), 19450)
    """

    NAME, SLOW, NEEDS = "nmf-residual", True, "counts"
    WORDS = "residual of an online NMF"
    FACTORS, PIECE, FIRST, LATER = 50, 250, 10, 1  # documents of an update; passes over the first batch and the others

    def __init__(self, seed: int = 0) -> None:
        from sklearn.decomposition import MiniBatchNMF

        self.rng = np.random.default_rng(seed)
        self.model = MiniBatchNMF(self.FACTORS, init="random", batch_size=self.PIECE, random_state=seed)

    def score(self, batch: Features) -> np.ndarray:
        """Return the residual of every document; 1 for a document without words."""
        P = batch.weighed(norm="l2", tf="log")[:]
        self._widen(P.shape[1], P)
        H, W = self.model.components_, self.model.transform(P)
        explained = 2.0 * (W * (P @ H.T)).sum(axis=1) - ((W @ (H @ H.T)) * W).sum(axis=1)
        return np.sqrt(np.clip(1.0 - explained, 0.0, 1.0))

    def learn(self, batch: Features) -> None:
        """Go through a batch in pieces."""
        P = batch.weighed(norm="l2", tf="log")[:]
        started = hasattr(self.model, "components_")
        if started:
            self._widen(P.shape[1], P)
        P = P[np.diff(P.indptr) > 0]
        for _ in range(self.LATER if started else self.FIRST):
            for first in range(0, P.shape[0], self.PIECE):
                self.model.partial_fit(P[first : first + self.PIECE])

    @property
    def stored(self) -> int:
        """Entries of the factors."""
        return self.model.components_.size

    def _widen(self, width, P):
        """Give new words the weights that scikit-learn draws for all at the start."""
        model = self.model
        missing = width - model.components_.shape[1]
        if missing:
            size = np.sqrt(P.mean() / self.FACTORS)
            drawn = size * np.abs(self.rng.standard_normal((self.FACTORS, missing)))
            model.components_ = np.concatenate([model.components_, drawn], axis=1)
            # Sums that an update goes on from: those of new words begin as scikit-learn begins all.
            model._components_numerator = np.concatenate([model._components_numerator, drawn], axis=1)
            model._components_denominator = widened(model._components_denominator, width, 1.0)
            model.n_features_in_ = width
