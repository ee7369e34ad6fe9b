"""Tail probabilities of scores among recent ones, which need no labels; scores are larger for what is more novel."""

import numpy as np
from numpy.typing import ArrayLike

from odl.errors import ParameterError


def tail_probability(scores: ArrayLike, recent: ArrayLike) -> np.ndarray:
    """Share of recent scores that are at least as large, with the document itself counted.

    p = (1 + #{recent >= s}) / (1 + #recent) is a conformal p-value: where a known document is exchangeable with the
    recent ones, P(p <= b) <= b for every b, whatever the scale of the scores and however it moved before. So an
    alert at p <= b keeps to a budget of b.

    Equation `tail-probability` of docs/method.md.

    Parameters
    ----------
    scores : array-like of float, shape (n_documents,)
    recent : array-like of float, shape (n_recent,)
        Scores of documents before them. Novel ones among them make p larger, that is, alerts fewer.

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
        raise ParameterError("a score that is not a number", "a number for each document", "look for the faulty score")
    return (1.0 + len(recent) - np.searchsorted(recent, scores, side="left")) / (1.0 + len(recent))


def tails(novelty, recent, warm_up=1):
    """Return the tail probability of each document, and whether there are too few recent scores to tell.

    Parameters
    ----------
    novelty : odl.novelty.Novelty
    recent : ndarray of float64
        Scores before the period.
    warm_up : int
        Fewer of them are too few: all probabilities are 1.

    Returns
    -------
    (ndarray of float64, bool)
        A document without a word has 1: it is unexplained, and says nothing.
    """
    waits = len(recent) < warm_up
    tail = np.ones(len(novelty.score)) if waits else tail_probability(novelty.score, recent)
    return np.where(novelty.empty, 1.0, tail), waits


def recent_after(recent, novelty, window):
    """Return the scores that the next period is compared with: the last of documents with words."""
    return np.append(recent, novelty.score[~novelty.empty])[-window:]


def most_novel(rows, score):
    """Return rows by their scores, the most novel first, equal ones in their order."""
    return rows[np.argsort(-score[rows], kind="stable")]


def among(scores: ArrayLike) -> np.ndarray:
    """Share of the scores of one batch that are at least as large, the document's own among them.

    Parameters
    ----------
    scores : array-like of float, shape (n_documents,)
        nan for a document that was not scored.

    Returns
    -------
    ndarray of float, shape (n_documents,)
        In (0, 1]; at most a share b of the documents has b or less. 1 where there is no score.

    Examples
    --------
    >>> from odl.alerts.calibration import among
    >>> among([0.9, 0.5, 0.5, 0.1])
    array([0.25, 0.75, 0.75, 1.  ])
    """
    scores = np.asarray(scores, dtype=np.float64)
    known = np.sort(scores[~np.isnan(scores)])
    larger = len(known) - np.searchsorted(known, scores, side="left")
    return np.where(np.isnan(scores), 1.0, larger / max(len(known), 1))
