"""Novelty scores without a dictionary: nearest neighbours, unseen words, length.

The batches and document frequencies are those of the learners. Nearest neighbours need the word
counts of all earlier documents, so time and disk space grow with the stream. A window limits the
search to the last documents. The name of the score then includes the size of the window
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

N_NEIGHBOURS = 5  # number of nearest documents whose mean distance is the score ``nearest5``
COSINE_BLOCK = 1000  # rows and columns of a dense block of cosines, which takes 8 MB
# By default all earlier documents are searched up to this number, above it only the last
# PAST_WINDOW.
LONGEST_PAST = 50_000
PAST_WINDOW = 10_000
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
    """Update in place the largest cosines of current documents with earlier documents.

    Parameters
    ----------
    best : ndarray, shape (n_documents, N_NEIGHBOURS)
        Largest cosines of each document so far.
    present, earlier : csr_array
        Rows of unit norm: the current documents, and a block of earlier documents.
    """
    transposed = sparse.csr_array(earlier.T)
    for rows in _blocks(present.shape[0]):
        cosines = np.concatenate([best[rows], (present[rows] @ transposed).toarray()], axis=1)
        best[rows] = np.partition(cosines, -N_NEIGHBOURS, axis=1)[:, -N_NEIGHBOURS:]


def latest(earlier: Iterable, documents: int) -> list:
    """Return the last `documents` documents of a stream, as batches.

    Parameters
    ----------
    earlier : iterable of odl.stream.features.FeatureFile
        Batches, newest first. Only the needed batches are read.
    documents : int
        Number of documents.

    Returns
    -------
    list
        Batches in order of time, with the attributes `t`, `counts` and `terms` that `nearest`
        needs. The first batch may lack its first rows.

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

    The columns are the terms of `batch`, in its order.

    Parameters
    ----------
    earlier, batch : odl.stream.features.FeatureFile

    Raises
    ------
    DataError
        If `earlier` is not earlier than `batch`, or has terms that `batch` lacks.

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
            f"the batch of timestep {earlier.t} is not earlier than timestep {batch.t}",
            f"timesteps before {batch.t}",
            "pass earlier batches of the same stream",
        )
    counts = terms.aligned(earlier, batch)
    for rows in _blocks(counts.shape[0]):
        yield counts[rows]


def weighed(
    batch: FeatureFile, form: str, counts: sparse.csr_array | None = None
) -> sparse.csr_array:
    """Return TF-IDF weights as rows of unit l2 norm, with the document frequencies of a batch.

    Parameters
    ----------
    batch : odl.stream.features.FeatureFile
    form : {"raw", "log"}
        Term frequency: the count, or 1 + log(count).
    counts : csr_array, optional
        Counts of earlier documents from `blocks`. By default the counts of the batch.

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

    If c_1 >= c_2 >= ... are the cosines of a document with all earlier documents, the scores are
    1 - c_1 and 1 - (c_1 + ... + c_5)/5. All documents are weighted by the inverse document
    frequencies of the current batch and scaled to unit l2 norm. Terms that were removed from a
    bounded vocabulary have weight 0.

    Parameters
    ----------
    batch : odl.stream.features.FeatureFile
        The current batch of n documents.
    past : iterable of odl.stream.features.FeatureFile
        Earlier batches of the same stream, all or the last ones. They are iterated once, so a
        generator saves memory.
    weightings : dict of str
        Name in the result -> term frequency, "raw" or "log".

    Returns
    -------
    dict of str -> ndarray of float, shape (n,)
        ``nearest-{name}`` and ``nearest5-{name}`` in [0, 1]. With fewer than five earlier
        documents, the mean is over all of them. The score is 1 for empty documents, and for all
        documents if there are no earlier documents.

    Raises
    ------
    DataError
        If a batch of `past` is not earlier, or has terms that `batch` lacks.

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
    """Return the share of the tokens of each document that are new; 1 for empty documents.

    A token is new if its word occurs in no earlier document.

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
    """Return the number of tokens of every document, which ranks long documents first.

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
        The current batch of n documents (t >= 1).
    past : iterable of odl.stream.features.FeatureFile
        Earlier batches, as for `nearest`.
    weightings : dict of str, optional
        As for `nearest`. ``{}`` omits nearest neighbours.

    Returns
    -------
    dict of str -> ndarray of float, shape (n,)
        Scores with the names `BASELINE_NAMES`. Larger scores are more novel.

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
