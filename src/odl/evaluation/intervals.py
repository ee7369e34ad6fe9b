"""How certain an AUC is: bootstrap replicates, percentile intervals, differences of two scores on the same documents.

Labels are those of `odl.evaluation.metrics`; where nothing can be measured the functions return nan.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from odl.evaluation.metrics import auc, place, split

_BLOCK = 2_000_000  # resampled documents held at once


def _resampled(placed, n_novel, n_known, replicates, seed):
    """Exact AUC of every replicate for each of several scores on the same resampled documents."""
    rng = np.random.default_rng(seed)
    values = np.empty((len(placed), replicates))
    step = max(1, _BLOCK // (n_novel + n_known))
    for first in range(0, replicates, step):
        rows = min(step, replicates - first)
        novel = rng.integers(0, n_novel, size=(rows, n_novel))
        known = rng.integers(0, n_known, size=(rows, n_known))
        for position, (ranks, slots, n_values) in enumerate(placed):
            width = 2 * n_values + 1
            keys = slots[known] + (np.arange(rows) * width)[:, None]
            at_most = np.bincount(keys.ravel(), minlength=rows * width).reshape(rows, width).cumsum(axis=1)
            pairs = at_most[:, 0:-1:2] + at_most[:, 1::2]
            twice = np.take_along_axis(pairs, ranks[novel], axis=1).sum(axis=1)
            values[position, first : first + rows] = twice / (2 * n_novel * n_known)
    return values


def bootstrap(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    replicates: int = 1000,
    seed: int | Sequence[int] | np.random.SeedSequence = 0,
) -> np.ndarray:
    """AUC of documents drawn again with replacement, novel and known separately (stratified).

    Parameters
    ----------
    scores, labels : array-like, shape (n_documents,)
        As for `auc`.
    replicates : int
        Number of resamples.
    seed : int or SeedSequence
        Seed of the draws.

    Returns
    -------
    ndarray of float, shape (replicates,)
        Exact AUC (ties half) of every resample; nan where `auc` is nan.

    Examples
    --------
    >>> from odl.evaluation.intervals import bootstrap
    >>> bootstrap([0.9, 0.4, 0.6, 0.1], [1, 1, 0, 0], replicates=4)
    array([0.5, 1. , 1. , 1. ])
    """
    novel, known = split(scores, labels)
    if not len(novel) or not len(known) or replicates < 1:
        return np.full(max(replicates, 0), np.nan)
    return _resampled([place(novel, known)], len(novel), len(known), replicates, seed)[0]


def interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval of bootstrap replicates: (low, high), nan where there are none.

    Examples
    --------
    >>> from odl.evaluation.intervals import interval
    >>> interval([1, 2, 3, 4, 5], level=0.5)
    (2.0, 4.0)
    """
    values = np.asarray(values, dtype=np.float64)
    if not values.size or np.isnan(values).any():
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def auc_interval(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    replicates: int = 1000,
    seed: int | Sequence[int] | np.random.SeedSequence = 0,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """AUC with its stratified percentile bootstrap interval: (auc, low, high).

    Examples
    --------
    >>> import numpy as np
    >>> from odl.evaluation.intervals import auc_interval
    >>> labels = np.arange(200) % 2
    >>> scores = labels + np.random.default_rng(0).normal(size=200)
    >>> [round(value, 2) for value in auc_interval(scores, labels)]
    [0.8, 0.74, 0.86]
    """
    low, high = interval(bootstrap(scores, labels, replicates=replicates, seed=seed), level)
    return auc(scores, labels), low, high


def auc_difference(
    scores: ArrayLike,
    others: ArrayLike,
    labels: ArrayLike,
    *,
    replicates: int = 1000,
    seed: int | Sequence[int] | np.random.SeedSequence = 0,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """Difference of two AUCs on the same documents, with a paired bootstrap interval.

    Both scores see the same resampled documents, so what makes a document easy or hard for both
    cancels.

    Parameters
    ----------
    scores, others : array-like of float, shape (n_documents,)
        Two scores of each document.
    labels : array-like of int, shape (n_documents,)
        As for `auc`.

    Returns
    -------
    difference, low, high : float
        AUC of `scores` minus AUC of `others` and its interval; nan where undefined.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.evaluation.intervals import auc_difference
    >>> labels, rng = np.arange(200) % 2, np.random.default_rng(0)
    >>> good = labels + rng.normal(size=200)
    >>> [round(value, 2) for value in auc_difference(good, good + rng.normal(size=200), labels)]
    [0.06, 0.01, 0.11]
    """
    novel, known = split(scores, labels)
    other_novel, other_known = split(others, labels)
    if not len(novel) or not len(known):
        return float("nan"), float("nan"), float("nan")
    placed = [place(novel, known), place(other_novel, other_known)]
    first, second = _resampled(placed, len(novel), len(known), replicates, seed)
    low, high = interval(first - second, level)
    return auc(scores, labels) - auc(others, labels), low, high


def mean_difference(
    batches: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]],
    *,
    replicates: int = 1000,
    seed: int | Sequence[int] | np.random.SeedSequence = 0,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """Difference of the mean AUCs of two scores over several batches, with a paired bootstrap interval.

    Parameters
    ----------
    batches : sequence of (scores, others, labels)
        One triple for each timestep, as for `auc_difference`; those without an AUC are left out.

    Returns
    -------
    difference, low, high : float
        Documents are drawn again within each batch; nan where no batch has an AUC.

    Examples
    --------
    >>> from odl.evaluation.intervals import mean_difference
    >>> batches = [([3, 2, 1], [1, 2, 3], [1, 0, 0]), ([3, 2, 1], [3, 1, 2], [1, 0, 0])]
    >>> mean_difference(batches)  # 1 against 0, and 1 against 1
    (0.5, 0.5, 0.5)
    """
    differences, total, used = [], np.zeros(replicates), 0
    for number, (scores, others, labels) in enumerate(batches):
        (novel, known), (other_novel, other_known) = split(scores, labels), split(others, labels)
        if not len(novel) or not len(known):
            continue
        placed = [place(novel, known), place(other_novel, other_known)]
        first, second = _resampled(placed, len(novel), len(known), replicates, (seed, number))
        total += first - second
        differences.append(auc(scores, labels) - auc(others, labels))
        used += 1
    if not used:
        return float("nan"), float("nan"), float("nan")
    return float(np.mean(differences)), *interval(total / used, level)


def mean_bootstrap(
    batches: Sequence[tuple[Sequence[ArrayLike], ArrayLike]],
    *,
    replicates: int = 1000,
    seed: int | tuple[int, ...] = 0,
) -> np.ndarray:
    """Mean AUC over several batches of documents drawn again within each batch, the same ones for several scores.

    Parameters
    ----------
    batches : sequence of (list of scores, labels)
        For each timestep, scores as many as in every other; those without an AUC are left out.
    replicates : int
    seed : int or tuple of int

    Returns
    -------
    ndarray of float, shape (number of scores, replicates)
        nan where no batch has an AUC.

    Examples
    --------
    >>> from odl.evaluation.intervals import mean_bootstrap
    >>> batches = [([[3, 2, 1], [1, 2, 3]], [1, 0, 0]), ([[3, 2, 1], [3, 1, 2]], [1, 0, 0])]
    >>> mean_bootstrap(batches, replicates=2)
    array([[1. , 1. ],
           [0.5, 0.5]])
    """
    several = len(batches[0][0]) if batches else 0
    total, used, seeds = np.zeros((several, replicates)), 0, seed if isinstance(seed, tuple) else (seed,)
    for number, (scores, labels) in enumerate(batches):
        parts = [split(each, labels) for each in scores]
        novel, known = parts[0]
        if len(novel) and len(known):
            placed = [place(*part) for part in parts]
            total += _resampled(placed, len(novel), len(known), replicates, (*seeds, number))
            used += 1
    return total / used if used else np.full((several, replicates), np.nan)


def pooled_auc(
    batches: Iterable[tuple[ArrayLike, ArrayLike]],
    *,
    replicates: int = 1000,
    seed: int | Sequence[int] | np.random.SeedSequence = 0,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """AUC over the documents of all batches together, with its interval.

    A pair of documents from different timesteps counts too, so one threshold has to serve them all.

    Parameters
    ----------
    batches : sequence of (scores, labels)
        One pair per timestep.

    Returns
    -------
    value, low, high : float

    Examples
    --------
    >>> from odl.evaluation.intervals import pooled_auc
    >>> value, low, high = pooled_auc([([3, 2], [1, 0]), ([5, 4], [1, 0])])
    >>> value  # 1 in each, but the 4 that is known lies above the 3 that is novel
    0.75
    """
    batches = list(batches)
    if not batches:
        return float("nan"), float("nan"), float("nan")
    scores = np.concatenate([np.asarray(scores, dtype=np.float64) for scores, _ in batches])
    labels = np.concatenate([np.asarray(labels) for _, labels in batches])
    return auc_interval(scores, labels, replicates=replicates, seed=seed, level=level)
