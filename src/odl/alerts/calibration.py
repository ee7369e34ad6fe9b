"""Tail probabilities p = (1 + #{recent >= s}) / (1 + #recent) of scores s (large: novel)."""

import numpy as np
from numpy.typing import ArrayLike

from odl.errors import ParameterError


def tail_probability(scores: ArrayLike, recent: ArrayLike) -> np.ndarray:
    """Return the tail probability of each score: the share of scores that are at least as large.

    The share is taken among the recent scores and the score itself.

    p = (1 + #{recent >= s}) / (1 + #recent) is a conformal p-value: if a known document is
    exchangeable with the recent ones, P(p <= b) <= b for every b and any scale of the scores. So
    alerts at p <= b flag at most a share b of the known documents in expectation.

    Equation `tail-probability` of docs/method.md.

    Parameters
    ----------
    scores : array-like of float, shape (n_documents,)
    recent : array-like of float, shape (n_recent,)
        Scores of earlier documents. If some of them are novel, p is larger and there are fewer
        alerts.

    Returns
    -------
    ndarray of float, shape (n_documents,)
        In (0, 1]; small means novel. All 1 if there are no recent scores.

    Raises
    ------
    ParameterError
        If a score is not a number.

    Examples
    --------
    >>> from odl.alerts.calibration import tail_probability
    >>> tail_probability([0.9, 0.5], [0.4, 0.5, 0.6])
    array([0.25, 0.75])
    """
    scores = np.asarray(scores, dtype=np.float64)
    recent = np.sort(np.asarray(recent, dtype=np.float64))
    if np.isnan(scores).any() or np.isnan(recent).any():
        raise ParameterError(
            "a score that is not a number",
            "a number for each document",
            "look for the document with this score",
        )
    return (1.0 + len(recent) - np.searchsorted(recent, scores, side="left")) / (1.0 + len(recent))


def tails(novelty, recent, warm_up=1):
    """Return the tail probability of each document, and whether there are too few recent scores.

    Parameters
    ----------
    novelty : odl.novelty.Novelty
    recent : ndarray of float64
        Scores before the period.
    warm_up : int
        Smallest number of recent scores; with fewer, all probabilities are 1.

    Returns
    -------
    tail : ndarray of float64
        Tail probabilities; 1 for a document without words.
    waits : bool
        Whether there are fewer than `warm_up` recent scores.
    """
    waits = len(recent) < warm_up
    tail = np.ones(len(novelty.score)) if waits else tail_probability(novelty.score, recent)
    return np.where(novelty.empty, 1.0, tail), waits


def recent_after(recent, novelty, window):
    """Return the last `window` scores of documents with words, for the next period."""
    return np.append(recent, novelty.score[~novelty.empty])[-window:]


def among(scores: ArrayLike) -> np.ndarray:
    """Return for each score of a batch the share of the batch's scores that are at least as large.

    Parameters
    ----------
    scores : array-like of float, shape (n_documents,)
        nan for a document that was not scored.

    Returns
    -------
    ndarray of float, shape (n_documents,)
        In (0, 1]; at most a share b of the documents has a value of b or less. 1 if the score is
        nan.

    Examples
    --------
    >>> from odl.alerts.calibration import among
    >>> among([0.9, 0.5, 0.5, 0.1])
    array([0.25, 0.75, 0.75, 1.  ])
    """
    scores = np.asarray(scores, dtype=np.float64)
    ordered = np.sort(scores[~np.isnan(scores)])
    larger = len(ordered) - np.searchsorted(ordered, scores, side="left")
    return np.where(np.isnan(scores), 1.0, larger / max(len(ordered), 1))
