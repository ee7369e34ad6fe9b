"""How well scores separate novel from known documents: AUC with ties and ROC curves.

Labels are 1 (novel), 0 (known) and -1 (unlabelled, ignored). Where no document is novel, or none is
known, nothing can be measured: the functions return nan rather than a number. numpy only, because
the job of every timestep imports this module.
"""

import numpy as np
from numpy.typing import ArrayLike

from odl.errors import ParameterError

_PART = 1 << 17  # known documents looked up at once


def check_labelled(scores, labels):
    """Return scores and labels as arrays, one of each for every document, or refuse them."""
    scores, labels = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    if scores.ndim != 1 or scores.shape != labels.shape:
        raise ParameterError(
            f"scores of shape {scores.shape} and labels of shape {labels.shape}",
            "one score and one label for each document",
            "pass two lists of one length",
        )
    return scores, labels


def split(scores, labels):
    """Return the scores of the novel and of the known documents, checked."""
    scores, labels = check_labelled(scores, labels)
    if not np.isin(labels, (-1, 0, 1)).all():
        raise ParameterError(
            f"labels {sorted(set(labels.tolist()))[:5]}",
            "1 (novel), 0 (known) or -1 (unlabelled)",
            "convert the labels",
        )
    novel, known = scores[labels == 1], scores[labels == 0]
    if np.isnan(novel).any() or np.isnan(known).any():
        raise ParameterError("a score that is not a number", "a number for each document", "look for the faulty score")
    return novel, known


def _slots(values, known):
    """Place known scores between the distinct novel scores, `values`.

    Slot 2i + 1 holds the known scores equal to the i-th smallest novel score, slot 2i those between
    its neighbours: all that AUC asks of a known score, in 2m + 1 slots for m distinct novel scores.
    """
    return np.searchsorted(values, known, side="left") + np.searchsorted(values, known, side="right")


def place(novel, known):
    """Return the rank of each novel score, the slot of each known one, and how many distinct novel scores there are."""
    values, ranks = np.unique(novel, return_inverse=True)
    return ranks, _slots(values, known), len(values)


def auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve: P(novel > known) + P(novel = known) / 2 over all pairs.

    Equation `auc` of docs/method.md.

    Parameters
    ----------
    scores : array-like of float, shape (n_documents,)
        Larger means more novel; infinities are allowed.
    labels : array-like of int, shape (n_documents,)
        1 novel, 0 known, -1 ignored.

    Returns
    -------
    float
        Between 0 and 1, or nan where no document is novel or none is known. Pairs are counted in
        integers, O(n log n), so that the value does not depend on the order of the documents.

    Raises
    ------
    ParameterError
        If lengths differ, a label is unknown, or the score of a labelled document is nan.

    Examples
    --------
    >>> from odl.evaluation.metrics import auc
    >>> auc([0.9, 0.4, 0.4, 0.1], [1, 1, 0, 0])  # three pairs in order and a tie
    0.875
    """
    novel, known = split(scores, labels)
    if not len(novel) or not len(known):
        return float("nan")
    values, times = np.unique(novel, return_counts=True)
    found = np.zeros(2 * len(values) + 1, dtype=np.int64)
    for first in range(0, len(known), _PART):
        found += np.bincount(_slots(values, known[first : first + _PART]), minlength=len(found))
    at_most = np.cumsum(found, out=found)
    twice = times @ at_most[0:-1:2] + times @ at_most[1::2]  # 2 * below + equal
    return float(int(twice) / (2 * len(novel) * len(known)))


def roc_curve(scores: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of the ROC curve, from (0, 0) to (1, 1), one per distinct score.

    Returns
    -------
    false_positives, true_positives : ndarray of float, shape (n_points,)
        Shares of the known and of the novel documents with a score of at least the threshold. Tied
        scores are one step, so the trapezoids under the points have the area `auc` returns.
    thresholds : ndarray of float, shape (n_points,)
        From inf downwards.

    Raises
    ------
    ParameterError
        As `auc`. Without novel or without known documents all three arrays are empty.

    Examples
    --------
    >>> from odl.evaluation.metrics import roc_curve
    >>> false_positives, true_positives, thresholds = roc_curve([0.9, 0.4, 0.4, 0.1], [1, 1, 0, 0])
    >>> false_positives, true_positives
    (array([0. , 0. , 0.5, 1. ]), array([0. , 0.5, 1. , 1. ]))
    >>> thresholds
    array([inf, 0.9, 0.4, 0.1])
    """
    novel, known = split(scores, labels)
    if not len(novel) or not len(known):
        return np.empty(0), np.empty(0), np.empty(0)
    values, inverse = np.unique(np.concatenate([novel, known]), return_inverse=True)
    hits = np.bincount(inverse[: len(novel)], minlength=len(values))[::-1].cumsum()
    alarms = np.bincount(inverse[len(novel) :], minlength=len(values))[::-1].cumsum()
    start = np.zeros(1)
    return (
        np.concatenate([start, alarms / len(known)]),
        np.concatenate([start, hits / len(novel)]),
        np.concatenate([[np.inf], values[::-1]]),
    )
