"""Novelty scores that need no dictionary: nearest neighbours, unseen words, length.

They use the same batches and document frequencies as the learners. Nearest neighbours need the word
counts of all earlier documents, so time and disk space grow with the stream. A window limits the
search to the last documents. Its size is then part of the name of the score
(`odl.evaluation.scorefiles.with_window`).
"""

from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace

import numpy as np
from scipy import sparse

from odl.config.sections import Weighting
from odl.errors import DataError
from odl.stream import terms, weighting
from odl.stream.features import FeatureFile

N_NEIGHBOURS = 5
COSINE_BLOCK = 1000  # rows and columns of a dense block of cosines, which takes 8 MB
LONGEST_PAST = 50_000  # up to this number of earlier documents, all are searched
PAST_WINDOW = 10_000  # with more earlier documents, only this number of last documents is searched
WEIGHTINGS = {"tfidf": "raw", "logtf": "log"}
BASELINE_NAMES = (
    "nearest-tfidf",
    "nearest5-tfidf",
    "nearest-logtf",
    "nearest5-logtf",
    "out-of-vocabulary",
    "length",
)


def _blocks(n_rows):
    """Yield slices of at most `COSINE_BLOCK` rows."""
    for first in range(0, n_rows, COSINE_BLOCK):
        yield slice(first, min(first + COSINE_BLOCK, n_rows))


def _update_largest(best, present, earlier):
    """Update `best`, the `N_NEIGHBOURS` largest cosines of each row of `present`, in place.

    `earlier` is a block of earlier documents.
    """
    transposed = sparse.csr_array(earlier.T)
    for rows in _blocks(present.shape[0]):
        cosines = np.concatenate([best[rows], (present[rows] @ transposed).toarray()], axis=1)
        best[rows] = np.partition(cosines, -N_NEIGHBOURS, axis=1)[:, -N_NEIGHBOURS:]


def latest(earlier: Iterable, documents: int) -> list:
    """Return the last `documents` documents of batches.

    The oldest batch may be cut to its last rows.

    Parameters
    ----------
    earlier : iterable of odl.stream.features.FeatureFile
        Newest batch first; read only as far as needed.
    documents : int

    Returns
    -------
    list
        Batches with `t`, `counts` and `terms` for `nearest`, in the order of time.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.evaluation import baselines
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(40)))
    >>> later = features.follow(corpus.select(range(40, 80)), past)
    >>> [(batch.t, batch.counts.shape[0]) for batch in baselines.latest([later, past], 50)]
    [(0, 10), (1, 40)]
    """
    last = []
    for batch in earlier:
        counts = batch.counts[max(0, batch.counts.shape[0] - documents) :]
        last.append(SimpleNamespace(t=batch.t, counts=counts, terms=batch.terms))
        documents -= counts.shape[0]
        if documents <= 0:
            break
    return last[::-1]


def blocks(earlier: FeatureFile, batch: FeatureFile) -> Iterator[sparse.csr_array]:
    """Yield the word counts of an earlier batch in blocks of rows.

    The columns are the terms of the later batch `batch`, in its order.

    Parameters
    ----------
    earlier, batch : odl.stream.features.FeatureFile

    Raises
    ------
    DataError
        If `earlier` is not the earlier batch, or has terms that `batch` does not have.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.evaluation import baselines
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> [counts.shape[0] for counts in baselines.blocks(past, batch)]
    [120]
    """
    if earlier.t >= batch.t:
        raise DataError(
            f"a batch of timestep {earlier.t} as the past of timestep {batch.t}",
            f"timesteps before {batch.t}",
            "pass only batches before t, of the same chain",
        )
    counts = terms.aligned(earlier, batch)
    for rows in _blocks(counts.shape[0]):
        yield counts[rows]


def weighed(
    batch: FeatureFile, form: str, counts: sparse.csr_array | None = None
) -> sparse.csr_array:
    """Return counts weighted by the document frequencies of a batch, as rows of unit l2 norm.

    Parameters
    ----------
    batch : odl.stream.features.FeatureFile
    form : {"raw", "log"}
        Form of the term frequency.
    counts : csr_array, optional
        Counts of earlier documents, from `blocks`; by default those of the batch.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.evaluation import baselines
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> batch = features.follow(corpus.select(range(120)))
    >>> (baselines.weighed(batch, "log").power(2).sum(axis=1)[:3]).round(6)
    array([1., 1., 1.])
    """
    n_terms = batch.counts.shape[1]
    counts = batch.counts[:] if counts is None else counts
    frequencies = np.pad(batch.frequencies, (0, counts.shape[1] - n_terms))
    rows = weighting.weigh(counts, frequencies, batch.n_before, Weighting(tf=form), "l2")
    return sparse.csr_array(rows[:, :n_terms])


def nearest(
    batch: FeatureFile, past: Iterable, weightings: Mapping[str, str] = WEIGHTINGS
) -> dict[str, np.ndarray]:
    """Return the cosine distances of every document to its nearest earlier documents.

    With the cosines c_1 >= c_2 >= ... of a document and all earlier ones, the scores are 1 - c_1
    and 1 - (c_1 + ... + c_5)/5. All documents are weighted by the inverse document frequencies of
    the present batch (0 for a term that has left a bounded vocabulary), and scaled to unit l2 norm.

    Parameters
    ----------
    batch : odl.stream.features.FeatureFile
        The present batch, n documents.
    past : iterable of odl.stream.features.FeatureFile
        Earlier batches of the same stream, or the last of them; iterated once, so a generator saves
        memory.
    weightings : dict of str
        Maps names in the result to forms of the term frequency, "raw" or "log".

    Returns
    -------
    dict of str -> ndarray of float, shape (n,)
        ``nearest-{name}`` and ``nearest5-{name}`` in [0, 1]. With fewer than five earlier documents
        the mean is over all of them. The score is 1 for empty documents, and if there are no
        earlier documents.

    Raises
    ------
    DataError
        If a batch of `past` is not earlier, or has terms that `batch` does not have.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.evaluation import baselines
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> scores = baselines.nearest(batch, [past], {"tfidf": "raw"})
    >>> {name: values.round(2)[:3] for name, values in scores.items()}
    {'nearest-tfidf': array([0.86, 0.87, 0.81]), 'nearest5-tfidf': array([0.9 , 0.9 , 0.84])}
    """
    n_documents = batch.counts.shape[0]
    present = {name: weighed(batch, form) for name, form in weightings.items()}
    best = {name: np.zeros((n_documents, N_NEIGHBOURS)) for name in weightings}
    n_past = 0
    for earlier in past:
        n_past += earlier.counts.shape[0]
        for rows in blocks(earlier, batch):
            for name, form in weightings.items():
                _update_largest(best[name], present[name], weighed(batch, form, rows))
    scores = {}
    for name in weightings:
        cosines = np.minimum(np.sort(best[name], axis=1), 1.0)
        scores[f"nearest-{name}"] = 1.0 - cosines[:, -1]
        scores[f"nearest5-{name}"] = np.maximum(
            1.0 - cosines.sum(axis=1) / max(1, min(N_NEIGHBOURS, n_past)), 0.0
        )
    return scores


def out_of_vocabulary(batch: FeatureFile) -> np.ndarray:
    """Return the share of tokens that occur in no earlier document; 1 for empty documents.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.evaluation import baselines
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> baselines.out_of_vocabulary(batch)[:3].round(2)
    array([0.36, 0.39, 0.26])
    """
    counts = batch.counts[:].astype(np.float64)
    tokens = counts.sum(axis=1)
    unseen = counts @ (np.asarray(batch.frequencies) == 0).astype(np.float64)
    return np.where(tokens > 0, unseen / np.maximum(tokens, 1.0), 1.0)


def length(batch: FeatureFile) -> np.ndarray:
    """Return the number of tokens of every document: a score that ranks long documents first.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.evaluation import baselines
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> baselines.length(batch)[:3]
    array([45., 46., 27.])
    """
    return np.asarray(batch.counts[:].astype(np.float64).sum(axis=1))


def score(
    batch: FeatureFile, past: Iterable, weightings: Mapping[str, str] = WEIGHTINGS
) -> dict[str, np.ndarray]:
    """Score a batch with every baseline.

    Parameters
    ----------
    batch : odl.stream.features.FeatureFile
        The present batch (t >= 1), n documents.
    past : iterable of odl.stream.features.FeatureFile
        Earlier batches, as for `nearest`.
    weightings : dict of str, optional
        As for `nearest`; ``{}`` omits the neighbours.

    Returns
    -------
    dict of str -> ndarray of float, shape (n,)
        Larger is more novel. The names are `BASELINE_NAMES`: nearest neighbours by raw and by
        logarithmic term frequency, share of unseen tokens, length.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.evaluation import baselines
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(120)))
    >>> batch = features.follow(corpus.select(range(120, 160)), past)
    >>> sorted(baselines.score(batch, [past]))
    ['length', 'nearest-logtf', 'nearest-tfidf', 'nearest5-logtf', 'nearest5-tfidf', \
'out-of-vocabulary']
    """
    scores = nearest(batch, past, weightings) if weightings else {}
    return {**scores, "out-of-vocabulary": out_of_vocabulary(batch), "length": length(batch)}
