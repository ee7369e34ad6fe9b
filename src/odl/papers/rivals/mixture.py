"""Perplexity under online latent Dirichlet allocation (Hoffman, Blei and Bach 2010), of scikit-learn."""

import warnings

import numpy as np
from scipy.special import digamma, gammaln, logsumexp

from odl.stream.features import Features


class TopicMixture:
    """Log perplexity of a document, from its variational bound, relative to words drawn evenly.

    With the counts c_w of a document, its Dirichlet parameters g after the E-step, the prior alpha, and the topics'
    parameters lambda, the bound is

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
