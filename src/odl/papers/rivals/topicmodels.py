"""Topic models that learn online: latent Dirichlet allocation, and a nonnegative matrix factorisation."""

import warnings

import numpy as np
from scipy import sparse
from scipy.special import digamma, gammaln, logsumexp

from odl.papers.rivals.windows import widened
from odl.stream.features import Features


class TopicMixture:
    """Log perplexity under online LDA (Hoffman, Blei and Bach 2010), relative to words drawn evenly.

    Of the variational bound of a document: with its counts c_w, its Dirichlet parameters g after the E-step, the prior
    alpha, and the topics' parameters lambda, the bound is

        L = sum_w c_w log sum_k exp(E[log theta_k] + E[log beta_kw]) + sum_k (alpha - g_k) E[log theta_k]
            + log B(g) - log B(alpha),

    the score -L / (sum_w c_w log n_terms). A word that is new gets the parameters that it would have started with.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.papers.rivals import TopicMixture
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(10)))
    >>> batch = features.follow(corpus.select(range(10, 14)), past)
    >>> rival = TopicMixture()
    >>> rival.learn(past)
    >>> rival.score(batch)[:3].round(2), rival.stored
    (array([1.05, 1.02, 1.01]), 19450)
    """

    NAME, SLOW, NEEDS = "lda-perplexity", True, "counts"
    WORDS = "perplexity under online LDA"
    TOPICS, FIRST, ITERATIONS = 50, 10, 50

    def __init__(self, seed: int = 0) -> None:
        from sklearn.decomposition import LatentDirichletAllocation

        self.rng = np.random.default_rng(seed)
        self.model = LatentDirichletAllocation(
            self.TOPICS, learning_method="online", max_doc_update_iter=self.ITERATIONS, random_state=seed
        )

    def score(self, batch: Features) -> np.ndarray:
        """Return the bound of every document under the topics so far; 1 for a document without words."""
        counts, model = batch.counts[:].astype(np.float64), self.model
        self._widen(counts.shape[1])
        alpha, logs = model.doc_topic_prior_, np.log(model.exp_dirichlet_component_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            shares = model.transform(counts, normalize=False)
        expected = digamma(shares) - digamma(shares.sum(axis=1, keepdims=True))
        bound = ((alpha - shares) * expected + gammaln(shares)).sum(axis=1) - gammaln(shares.sum(axis=1))
        bound += gammaln(alpha * self.TOPICS) - self.TOPICS * gammaln(alpha)
        for row in range(counts.shape[0]):
            own = slice(counts.indptr[row], counts.indptr[row + 1])
            words = logsumexp(expected[row][:, None] + logs[:, counts.indices[own]], axis=0)
            bound[row] += counts.data[own] @ words
        tokens = np.asarray(counts.sum(axis=1))
        return np.where(tokens > 0, -bound / (np.maximum(tokens, 1.0) * np.log(max(counts.shape[1], 2))), 1.0)

    def learn(self, batch: Features) -> None:
        """Go through a batch, `FIRST` times through the first."""
        counts = batch.counts[:].astype(np.float64)
        self.model.set_params(total_samples=batch.n_before + counts.shape[0])
        started = hasattr(self.model, "components_")
        if started:
            self._widen(counts.shape[1])
        for _ in range(1 if started else self.FIRST):
            self.model.partial_fit(counts)

    @property
    def stored(self) -> int:
        """Parameters of the topics."""
        return self.model.components_.size

    def _widen(self, width):
        """Give new words the parameters that scikit-learn draws for all at the start."""
        model = self.model
        missing = width - model.components_.shape[1]
        if missing:
            drawn = self.rng.gamma(100.0, 0.01, (self.TOPICS, missing))
            model.components_ = np.concatenate([model.components_, drawn], axis=1)
            totals = digamma(model.components_.sum(axis=1, keepdims=True))
            model.exp_dirichlet_component_ = np.exp(digamma(model.components_) - totals)
            model.n_features_in_ = width


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
    FORGET, CODING, SCORING, TOLERANCE = 0.7, 30, 200, 1e-4  # as scikit-learn's MiniBatchNMF has them

    def __init__(self, seed: int = 0) -> None:
        self.first, self.rng = np.random.RandomState(seed), np.random.default_rng(seed)
        self.components = self.numerator = self.denominator = np.empty((self.FACTORS, 0))

    def score(self, batch: Features) -> np.ndarray:
        """Return the residual of every document; 1 for a document without words."""
        P = batch.weighed(norm="l2", tf="log")[:]
        self._widen(P)
        H, W = self.components, self.weights(P, self.SCORING)
        explained = 2.0 * (W * (P @ H.T)).sum(axis=1) - ((W @ (H @ H.T)) * W).sum(axis=1)
        return np.sqrt(np.clip(1.0 - explained, 0.0, 1.0))

    def learn(self, batch: Features) -> None:
        """Go through a batch in pieces."""
        P = batch.weighed(norm="l2", tf="log")[:]
        started = self.components.size
        if started:
            self._widen(P)
        P = P[np.diff(P.indptr) > 0]
        if not started:
            self._widen(P[: self.PIECE])
        for _ in range(self.LATER if started else self.FIRST):
            for first in range(0, P.shape[0], self.PIECE):
                self._update(P[first : first + self.PIECE])

    def weights(self, P: sparse.csr_array, iterations: int) -> np.ndarray:
        """Return the factors' weights in documents, by multiplicative updates W <- W * (P H^T) / (W H H^T)."""
        H = self.components
        explained, overlap = P @ H.T, H @ H.T
        W = np.full((P.shape[0], self.FACTORS), np.sqrt(P.mean() / self.FACTORS))
        for _ in range(iterations):
            before = W
            W = before * _ratio(explained, before @ overlap)
            if np.linalg.norm(W - before) <= self.TOLERANCE * np.linalg.norm(W):
                break
        return W

    def _update(self, P):
        """Do the multiplicative update of the factors, its two sums discounted as documents go by."""
        W = self.weights(P, self.CODING)
        self.numerator = self.FORGET * self.numerator + self.components * (P.T @ W).T
        self.denominator = self.FORGET * self.denominator + W.T @ W @ self.components
        self.components = _ratio(self.numerator, self.denominator)

    @property
    def stored(self) -> int:
        """Entries of the factors."""
        return self.components.size

    def _widen(self, P):
        """Draw weights for words that are new; the sums of an update begin with them and with 1."""
        known, width = self.components.shape[1], P.shape[1]
        if width > known:
            shape, rng = (self.FACTORS, width - known), self.rng if known else self.first
            drawn = np.sqrt(P.mean() / self.FACTORS) * np.abs(rng.standard_normal(shape))
            self.components = np.concatenate([self.components, drawn], axis=1)
            self.numerator = np.concatenate([self.numerator, drawn], axis=1)
            self.denominator = widened(self.denominator, width, 1.0)


def _ratio(above, below):
    return above / np.where(below == 0, np.finfo(np.float32).eps, below)
