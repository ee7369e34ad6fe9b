"""Decision on a period: how rare its scores are, its items and their topics, and which of them open a gate.

`odl run` and `odl.TextNovelty` call it with the documents of a period and what the periods before carry.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import calibration, candidates, gates, memory

WIDER = 2  # times the level of an alert: items from which topics are made, shown or not


class Arrivals(NamedTuple):
    """Documents of a period, as alerts look at them.

    Attributes
    ----------
    t : int
    ids : list of str
    first : ndarray of int64, shape (n_documents,)
        Row of the first near-duplicate of each.
    repeats : ndarray of bool, shape (n_documents,)
        Those that repeat one of an earlier period.
    Q : csr_array, shape (n_documents, n_terms)
        Log tf, past idf, rows of unit l2 norm.
    counts : csr_array, shape (n_documents, n_terms)
        Without stop words, which open no gate.
    vocabulary : list of str
    frequencies : ndarray of int64, shape (n_terms,)
        Documents before the period that have the term.
    n_before : int
    texts : callable
        Of rows, their texts; of none where they are not kept.
    """

    t: int
    ids: list
    first: np.ndarray
    repeats: np.ndarray
    Q: sparse.csr_array
    counts: sparse.csr_array
    vocabulary: list
    frequencies: np.ndarray
    n_before: int
    texts: Callable = lambda rows: []


class Past(NamedTuple):
    """What is carried from period to period.

    Attributes
    ----------
    topics : odl.alerts.memory.Memory
    recent : ndarray of float64
        Scores that the next period is compared with.
    gates : odl.alerts.gates.Past, or None
        None without gates.
    """

    topics: memory.Memory
    recent: np.ndarray
    gates: "gates.Past | None" = None


class Decision(NamedTuple):
    """What is decided on a period.

    Attributes
    ----------
    tail : ndarray of float64, shape (n_documents,)
        Share of recent scores that are at least as large.
    warm_up : bool
        Whether too few scores came before.
    items : ndarray of int64
        Rows of the first documents of items, rising.
    pool : ndarray of int64
        Rows of the most novel items, the most novel first, then of those that open a gate and are not among them.
    topic : ndarray of int64, shape (n_documents,)
        Number of the topic, 0 for none.
    changes : odl.alerts.candidates.Changes
    opened : odl.alerts.gates.Opened
        Rows of documents.
    """

    tail: np.ndarray
    warm_up: bool
    items: np.ndarray
    pool: np.ndarray
    topic: np.ndarray
    changes: candidates.Changes
    opened: gates.Opened


def decide(documents, scored, past, settings):
    """Return what is decided on a period, and what the next one goes on from.

    Parameters
    ----------
    documents : Arrivals
    scored : odl.novelty.Novelty
    past : Past
    settings : odl.config.sections.Alerts

    Returns
    -------
    Decision, Past
        The recent scores of the latter are those given: who scores the stream knows which scores count.
    """
    tail, warm_up = calibration.tails(scored, past.recent, settings.warm_up)
    rows = np.flatnonzero(documents.first == np.arange(len(documents.first)))
    known = scored.empty | documents.repeats
    novel = (tail[rows] <= WIDER * settings.level) & ~known[rows] & (not warm_up)
    pool = calibration.most_novel(rows[novel], scored.score)[: max(settings.pool, 2 * settings.room(len(rows)))]
    gated = settings.gates and documents.t
    opened, compared = gates.Opened(), (past.gates or gates.Past()) if settings.gates else None
    looked, word_groups = rows[~known[rows]], []
    if gated:
        period = gates.Period(
            documents.counts[looked], documents.frequencies, documents.n_before, scored.score[looked],
            np.searchsorted(looked, pool), np.zeros(len(looked), dtype=np.int64),
        )  # fmt: skip
        opened, compared = gates.judge_words(compared, period, warm_up)
        groups = gates.together(period, opened)  # a broad word opens the gate to what it brings together alone
        opened = opened._replace(words=np.intersect1d(opened.words, np.concatenate([gates.NOBODY, *groups])))
        word_groups = [np.searchsorted(rows, looked[group]) for group in groups]
    items = candidates.Items(
        documents.Q[rows], [documents.ids[row] for row in rows], np.searchsorted(rows, pool), novel,
        documents.frequencies, documents.n_before, word_groups, lambda places: documents.texts(rows[places]),
    )  # fmt: skip
    topics, changes = candidates.advance(past.topics, documents.t, items, documents.vocabulary, settings)
    topic = changes.topic[np.searchsorted(rows, documents.first)]
    if gated:
        alike = [number for number, _ in changes.born if number not in changes.of_words]
        born = np.where(np.isin(topic, alike), topic, 0)
        more, compared = gates.judge(compared, period._replace(born=born[looked]), past.recent, warm_up)
        opened = opened._replace(topics=more.topics, lone=more.lone).among(looked)
    beyond = calibration.most_novel(np.setdiff1d(opened.rows, pool), scored.score)
    decision = Decision(tail, warm_up, rows, np.append(pool, beyond), topic, changes, opened)
    return decision, Past(topics, past.recent, compared)
