"""From the scores of a period to its items: how rare each is, which are odd, and what says why."""

import numpy as np

from odl import novelty
from odl.alerts.calibration import tail_probability
from odl.learners import shares


def tails(found, recent, warm_up=1):
    """Return the tail probability of each document, and whether there are too few recent scores to tell.

    Parameters
    ----------
    found : odl.novelty.Novelty
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
    tail = np.ones(len(found.score)) if waits else tail_probability(found.score, recent)
    return np.where(found.empty, 1.0, tail), waits


def recent_after(recent, found, window):
    """Return the scores that the next period is compared with: the last of documents with words."""
    return np.append(recent, found.score[~found.empty])[-window:]


def most_novel(rows, score):
    """Return rows by their scores, the most novel first, equal ones in their order."""
    return rows[np.argsort(-score[rows], kind="stable")]


def word_shares(learner, state, P, found, counts):
    """Return the words' shares of the scores (`odl.novelty.shares`) in single precision, entries as of the counts."""
    held = novelty.shares(learner, state, P, found)[0]
    return shares.with_data(counts, shares.entries(held, counts)).astype(np.float32)


def shared_terms(frequencies, Q, firsts):
    """Return which terms at least two items have so far: those of the documents before, and of these rows of Q."""
    return frequencies + np.bincount(Q[firsts].indices, minlength=Q.shape[1]) >= 2
