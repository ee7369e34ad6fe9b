"""AUC of scores that separate novel from known documents, with bootstrap intervals.

Labels are 1 (novel), 0 (known) and -1 (unlabelled, ignored). Functions return nan if no document is
novel or no document is known. The module imports numpy only, because every job imports it.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from odl.errors import ParameterError

RESAMPLED_BLOCK = 2_000_000  # maximum number of resampled documents in memory


def split(scores, labels):
    """Return (scores of novel documents, scores of known documents).

    Raises
    ------
    ParameterError
        If lengths differ, a label is invalid, or the score of a labelled document is nan.
    """
    scores, labels = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    if scores.ndim != 1 or scores.shape != labels.shape:
        raise ParameterError(
            f"scores have the shape {scores.shape} and labels the shape {labels.shape}",
            "one score and one label for each document",
            "pass two lists of equal length",
        )
    if not np.isin(labels, (-1, 0, 1)).all():
        raise ParameterError(
            f"labels have the values {sorted(set(labels.tolist()))[:5]}",
            "1 (novel), 0 (known) or -1 (unlabelled)",
            "convert the labels",
        )
    novel, known = scores[labels == 1], scores[labels == 0]
    if np.isnan(novel).any() or np.isnan(known).any():
        raise ParameterError(
            "a score is nan",
            "a number for each labelled document",
            "replace the score, or give the document the label -1",
        )
    return novel, known


def auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Return the area under the ROC curve, P(novel > known) + P(novel = known) / 2 over all pairs.

    Equation `auc` of docs/method.md.

    Parameters
    ----------
    scores : array-like of float, shape (n_documents,)
        Larger scores are more novel. Infinite scores are allowed.
    labels : array-like of int, shape (n_documents,)
        1 novel, 0 known, -1 ignored.

    Returns
    -------
    float
        AUC in [0, 1], or nan if no document is novel or no document is known. Pairs are counted as
        integers, so the value does not depend on the order of the documents.

    Raises
    ------
    ParameterError
        If lengths differ, a label is invalid, or the score of a labelled document is nan.

    Examples
    --------
    >>> from odl.evaluation.metrics import auc
    >>> auc([0.9, 0.4, 0.4, 0.1], [1, 1, 0, 0])  # three pairs in order and a tie
    0.875
    """
    novel, known = split(scores, labels)
    if not len(novel) or not len(known):
        return float("nan")
    known = np.sort(known)
    # twice the number of pairs in order, plus the number of ties
    twice = sum(int(np.searchsorted(known, novel, side).sum()) for side in ("left", "right"))
    return float(twice / (2 * len(novel) * len(known)))


Seed = int | Sequence[int] | np.random.SeedSequence


def bootstrap(
    scores: ArrayLike, labels: ArrayLike, *, replicates: int = 1000, seed: Seed = 0
) -> np.ndarray:
    """Return the AUCs of bootstrap samples, in which novel and known documents are stratified.

    Parameters
    ----------
    scores : array-like, shape (n_documents,) or (n_scores, n_documents)
        As for `auc`. Several scores are evaluated on the same resampled documents.
    labels : array-like, shape (n_documents,)
        As for `auc`.
    replicates : int
        Number of bootstrap samples.
    seed : int, sequence of int or SeedSequence

    Returns
    -------
    ndarray of float, shape (replicates,) or (n_scores, replicates)
        AUC of each sample, or nan if `auc` is nan.

    Examples
    --------
    >>> from odl.evaluation.metrics import bootstrap
    >>> bootstrap([0.9, 0.4, 0.6, 0.1], [1, 1, 0, 0], replicates=4)
    array([0.5, 1. , 1. , 1. ])
    """
    scores = np.asarray(scores, dtype=np.float64)
    parts = [split(values, labels) for values in np.atleast_2d(scores)]
    n_novel, n_known = map(len, parts[0])
    aucs = np.full((len(parts), max(replicates, 0)), np.nan)
    rng, step = np.random.default_rng(seed), max(1, RESAMPLED_BLOCK // (n_novel + n_known + 1))
    for first in range(0, replicates if n_novel and n_known else 0, step):
        n_samples = min(step, replicates - first)
        drawn_novel = rng.integers(0, n_novel, size=(n_samples, n_novel))
        drawn_known = rng.integers(0, n_known, size=(n_samples, n_known))
        for position, (novel, known) in enumerate(parts):
            sample_aucs = _resampled_aucs(novel, known, drawn_novel, drawn_known)
            aucs[position, first : first + n_samples] = sample_aucs
    return aucs.reshape(*scores.shape[:-1], -1)


def _resampled_aucs(novel, known, drawn_novel, drawn_known):
    """Return the AUC of each bootstrap sample.

    Parameters
    ----------
    novel, known : ndarray of float
        Scores of the novel and of the known documents.
    drawn_novel, drawn_known : ndarray of int, shape (n_samples, number of documents)
        Indices of the documents in each sample.
    """
    n_samples, n_known = drawn_known.shape
    order, width = np.argsort(known), n_known + 1
    ranks = np.empty(n_known, dtype=np.int64)
    ranks[order] = np.arange(1, width)
    # n_below[s, r]: number of known documents in sample s whose rank is at most r
    keys = ranks[drawn_known] + (np.arange(n_samples) * width)[:, None]
    n_below = np.bincount(keys.ravel(), minlength=n_samples * width)
    n_below = n_below.reshape(n_samples, width).cumsum(axis=1)
    # twice the number of pairs in order, plus the number of ties, as in `auc`
    twice = np.zeros(n_samples, dtype=np.int64)
    for side in ("left", "right"):
        rank_below = np.searchsorted(known[order], novel, side)
        twice += np.take_along_axis(n_below, rank_below[drawn_novel], axis=1).sum(axis=1)
    return twice / (2 * len(novel) * n_known)


def interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval (low, high) of bootstrap replicates.

    Both bounds are nan if there are no replicates or one of them is nan.

    Examples
    --------
    >>> from odl.evaluation.metrics import interval
    >>> interval([1, 2, 3, 4, 5], level=0.5)
    (2.0, 4.0)
    """
    values = np.asarray(values, dtype=np.float64)
    if not values.size or np.isnan(values).any():
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def auc_difference(
    scores: ArrayLike,
    others: ArrayLike,
    labels: ArrayLike,
    *,
    replicates: int = 1000,
    seed: Seed = 0,
) -> tuple[float, float, float]:
    """Return (difference of two AUCs, low, high) with a paired bootstrap interval.

    In each replicate both AUCs are computed from the same resampled documents, so that the
    difficulty of a document cancels.

    Parameters
    ----------
    scores, others : array-like of float, shape (n_documents,)
        Two scores of each document.
    labels : array-like of int, shape (n_documents,)
        As for `auc`.
    replicates, seed
        As for `bootstrap`.

    Returns
    -------
    difference, low, high : float
        AUC of `scores` minus AUC of `others`, and its 95 % interval; nan if undefined.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.evaluation.metrics import auc_difference
    >>> labels, rng = np.arange(200) % 2, np.random.default_rng(0)
    >>> good = labels + rng.normal(size=200)
    >>> [round(value, 2) for value in auc_difference(good, good + rng.normal(size=200), labels)]
    [0.06, 0.01, 0.11]
    """
    first, second = bootstrap([scores, others], labels, replicates=replicates, seed=seed)  # type: ignore[arg-type]
    return auc(scores, labels) - auc(others, labels), *interval(first - second)


def mean_bootstrap(
    batches: Sequence[tuple[Sequence[ArrayLike], ArrayLike]],
    *,
    replicates: int = 1000,
    seed: int | tuple[int, ...] = 0,
) -> np.ndarray:
    """Return bootstrap replicates of the mean AUC over batches, for several scores.

    In a replicate, all scores of a batch are evaluated on the same resampled documents, so that
    differences between scores can be computed from the replicates.

    Parameters
    ----------
    batches : sequence of (list of scores, labels)
        The same number of scores for each batch. Batches without novel or without known documents
        are ignored.
    replicates : int
    seed : int or tuple of int

    Returns
    -------
    ndarray of float, shape (number of scores, replicates)
        nan if no batch has an AUC.

    Examples
    --------
    >>> from odl.evaluation.metrics import mean_bootstrap
    >>> batches = [([[3, 2, 1], [1, 2, 3]], [1, 0, 0]), ([[3, 2, 1], [3, 1, 2]], [1, 0, 0])]
    >>> mean_bootstrap(batches, replicates=2)
    array([[1. , 1. ],
           [0.5, 0.5]])
    """
    seeds = seed if isinstance(seed, tuple) else (seed,)
    drawn = [
        bootstrap(scores, labels, replicates=replicates, seed=(*seeds, number))  # type: ignore[arg-type]
        for number, (scores, labels) in enumerate(batches)
    ]
    defined = [aucs for aucs in drawn if not np.isnan(aucs).any()]
    undefined = np.full((len(batches[0][0]) if batches else 0, replicates), np.nan)
    return sum(defined[1:], start=defined[0]) / len(defined) if defined else undefined


def pooled_auc(
    batches: Iterable[tuple[ArrayLike, ArrayLike]], *, replicates: int = 1000, seed: Seed = 0
) -> tuple[float, float, float]:
    """Return the AUC over the documents of all batches, with its 95 % interval.

    Pairs of documents from different batches count too, as for one threshold on all scores.

    Parameters
    ----------
    batches : iterable of (scores, labels)
        One pair per batch.
    replicates, seed
        As for `bootstrap`.

    Returns
    -------
    value, low, high : float

    Examples
    --------
    >>> from odl.evaluation.metrics import pooled_auc
    >>> value, low, high = pooled_auc([([3, 2], [1, 0]), ([5, 4], [1, 0])])
    >>> value  # 1 in each batch, but the known document with 4 is above the novel one with 3
    0.75
    """
    batches = list(batches)
    scores = np.concatenate(
        [np.empty(0), *(np.asarray(scores, dtype=np.float64) for scores, _ in batches)]
    )
    labels = np.concatenate(
        [np.empty(0, dtype=np.int64), *(np.asarray(labels) for _, labels in batches)]
    )
    return auc(scores, labels), *interval(
        bootstrap(scores, labels, replicates=replicates, seed=seed)
    )
