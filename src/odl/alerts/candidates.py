"""Candidate topics of a stream: found among the most novel items, numbered for ever, counted period by period.

Nothing here looks back further than what `odl.alerts.memory` carries, so that a period costs as much as its batch.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from odl.alerts import memory as memories
from odl.alerts import phrasing
from odl.alerts.memory import ENDED, GROWING, NEW, ONGOING, RETURNING, limited, remembered, unit, widened
from odl.alerts.model import BETWEEN, NONE, STATES
from odl.learners.sparse_atoms import BLOCK

ALIKE = 0.9  # cosine of near-duplicates
NEEDED = 2  # words that a topic has more often than others, which an item needs to join it
MANY = 5  # of the heaviest of these words, by which an item may be less alike
CLOSE = 0.85  # of the reach of a topic: the least cosine of an item that has many of the heaviest
NAMED = 10  # items up to which a topic's name is made again
TEXTS = 50  # items at most whose texts are read for it


class Changes(NamedTuple):
    """What a period changed.

    Attributes
    ----------
    topic : ndarray of int64
        Number of the topic of every item, 0 for none.
    sizes : dict of int to int
        Topic to its items in the period.
    changes : list of (int, str)
        Topic and its new state.
    born : list of (int, int)
        Topic and the item that is most like it.
    joined : list of (int, str)
        Topic and the id of an item of an earlier period that became part of it.
    of_words : list of int
        Those of the new topics that words brought together.
    """

    topic: np.ndarray
    sizes: dict
    changes: list
    born: list
    joined: list
    of_words: list


class Items(NamedTuple):
    """Items of a period that topics are made of and join.

    Attributes
    ----------
    Q : csr_array, shape (n_items, n_terms)
        Rows of unit l2 norm.
    ids : list of str
    pool : ndarray of int
        Rows that new topics are made of, most novel first; none while it warms up.
    novel : ndarray of bool, shape (n_items,)
        Items with scores that recent ones seldom had. A group is no new topic if more than half of the items of the
        period that belong to it are not: the stream knows it, and a few of its documents are unusual.
    frequencies : ndarray of int64, shape (n_terms,)
        Documents before the period that have the term.
    n_documents : int
        Documents before the period.
    word_groups : list of ndarray of int64
        Rows that words which open the gate of words bring together, however unlike the rest of them is.
    texts : callable, optional
        Of rows, their texts; of none where they are not kept.
    """

    Q: sparse.csr_array
    ids: list
    pool: np.ndarray
    novel: np.ndarray
    frequencies: np.ndarray
    n_documents: int
    word_groups: list
    texts: Callable = lambda rows: []


def advance(memory, t, items, vocabulary, settings):
    """Find the topics of one period.

    Parameters
    ----------
    memory : odl.alerts.memory.Memory
    t : int
    items : Items
    vocabulary : list of str
    settings : odl.config.sections.Alerts

    Returns
    -------
    Memory, Changes
    """
    memory, pool = widened(memory, items.Q.shape[1]), items.pool
    topic = nearest_topics(items.Q, memories.profiles(memory, items.frequencies, items.n_documents), settings)
    memory, births = _births(memory, t, items, pool[topic[pool] == NONE][: memories.LOOSE], settings)
    for birth in births:
        topic[birth.rows] = birth.number
    free = np.flatnonzero(topic == NONE)
    fresh = slice(len(memory.number) - len(births), None)
    newest = memories.profiles(memory, items.frequencies, items.n_documents, fresh)
    topic[free] = nearest_topics(items.Q[free], newest, settings)
    memory, births_of_words = _births_of_words(memory, t, items, topic, settings)
    births += births_of_words
    memory = memories.learned(memory, items.Q, topic, {birth.number: birth.rows for birth in births})
    memory, sizes, changes = _counted(memory, t, topic, settings)
    memory = _named(memory, topic, items, vocabulary, settings)
    memory = remembered(memory, t, items.Q, pool[topic[pool] == NONE], items.ids, settings)
    born = [(birth.number, birth.centre) for birth in births]
    joined_earlier = [(birth.number, ident) for birth in births for ident in birth.earlier]
    return limited(memory, settings), Changes(
        topic, sizes, changes, born, joined_earlier, [birth.number for birth in births_of_words]
    )  # fmt: skip


def growth_chance(count, total, before, total_before):
    """Return the probability of at least `count` items of `total`, given `before` of `total_before` in the past.

    If the rate had stayed the same, the new items would be a binomial part of all of them (the conditional test of
    two Poisson rates).
    """
    if not (count and before and total_before):
        return 1.0
    return float(special.bdtrc(count - 1, count + before, total / (total + total_before)))


class _Birth(NamedTuple):
    """A new topic: its number, its rows of Q, that most like it, and the ids of its items of earlier periods."""

    number: int
    rows: np.ndarray
    centre: int
    earlier: list


def _births(memory, t, items, free, settings):
    """Put free items of the pool, and loose ones of earlier periods, into new topics."""
    if not len(free):
        return memory, []
    Q = items.Q
    both = unit(sparse.csr_array(sparse.vstack([Q[free], memory.loose.astype(np.float64)], format="csr")))
    owner, births, gone = alike((both @ both.T).toarray(), settings.same), [], np.zeros(len(memory.loose_t), dtype=bool)
    for first in range(len(free)):  # by the most novel item
        members = np.flatnonzero(owner == owner[first])
        if members[0] != first or len(members) < settings.support:
            continue
        if not _is_new(both[members], items, settings):
            continue
        now, past = members[members < len(free)], members[members >= len(free)] - len(free)
        centre = free[now[np.argmax(both[now] @ np.asarray(both[members].sum(axis=0)).ravel())]]
        memory = memories.with_topic(memory, both[members], t, len(now), _reach(both[members], settings))
        births.append(_Birth(memory.numbered, free[now], int(centre), [memory.loose_ids[at] for at in past]))
        gone[past] = True
    return memories.without_loose(memory, gone), births


def _births_of_words(memory, t, items, topic, settings):
    """Put items that telling words bring together, and that no topic takes, into new topics; `topic` is filled in."""
    births = []
    for group in items.word_groups:
        rows = group[topic[group] == NONE]
        if len(rows) < settings.support or 2 * len(rows) <= len(group):
            continue
        members = items.Q[rows]
        memory = memories.with_topic(memory, members, t, len(rows), _reach(members, settings))
        centre = rows[np.argmax(members @ np.asarray(members.sum(axis=0)).ravel())]
        births.append(_Birth(memory.numbered, rows, int(centre), []))
        topic[rows] = memory.numbered
    return memory, births


def _reach(members, settings):
    """Return the least cosine of an item of a topic that is made of these items."""
    return max(settings.same, settings.reach * own_likeness(members))


def _is_new(members, items, settings):
    """Tell whether at least half of the items that a group reaches are odd ones."""
    centre = unit(memories.total(members)[0])
    reached = np.asarray((items.Q @ centre.T).todense()).ravel() >= _reach(members, settings)
    return 2 * int(items.novel[reached].sum()) >= int(reached.sum())


def _counted(memory, t, topic, settings):
    """Count the items of every topic and tell its state."""
    count = np.bincount(topic, minlength=memory.numbered + 1)[memory.number]
    state, last, changes = memory.state.copy(), memory.last.copy(), []
    total, totals = len(topic), memory.totals
    for row, number in enumerate(memory.number.tolist()):
        was = int(state[row])
        if memory.birth[row] == t:
            changes.append((number, STATES[NEW]))
        else:
            span = min(t - int(memory.birth[row]), settings.past)
            before, total_before = int(memory.counts[row, -span:].sum()), int(totals[-span:].sum())
            if count[row] and was == ENDED:
                state[row] = RETURNING
            elif count[row]:
                chance = growth_chance(int(count[row]), total, before, total_before)
                state[row] = GROWING if chance <= settings.growth else ONGOING
            elif t - last[row] >= settings.silence:
                state[row] = ENDED
            if state[row] != was:
                changes.append((number, STATES[state[row]]))
        last[row] = t if count[row] else last[row]
    counts = np.hstack([memory.counts[:, 1:], count[:, None]])
    sizes = {number: size for number, size in zip(memory.number.tolist(), count.tolist(), strict=True) if size}
    after = replace(memory, state=state, last=last, items=memory.items + count, counts=counts)
    return replace(after, totals=np.append(totals[1:], total)), sizes, changes


def _named(memory, topic, items, vocabulary, settings):
    """Name the topics that are new, and again those of few items, where several came."""
    names, own = list(memory.names), memories.own_words(memory, slice(None), items.frequencies, items.n_documents)
    period = None
    for row, (number, n_items) in enumerate(zip(memory.number.tolist(), memory.items.tolist(), strict=True)):
        members = np.flatnonzero(topic == number)
        if not names[row] or (n_items <= NAMED and len(members) >= 2):
            sums, occurrences = memory.sums[[row]], memory.occurrences[[row]].data
            words = memories.name_words(sums, occurrences, n_items, own[[row]].indices, vocabulary)
            period = period or phrasing.Period.of(items.texts(np.arange(len(topic))), items.Q, vocabulary)
            parts = phrasing.name_of(words, items.texts(members[:TEXTS]), settings.terms, period)
            names[row] = BETWEEN.join(parts) or names[row]
    return replace(memory, names=names)


def nearest_topics(Q, topics, settings):
    """Return the number of the topic that each item joins; 0 for none.

    An item joins the topic of the largest ratio of cosine to reach (`joined`) of those that it has words of.

    Parameters
    ----------
    Q : csr_array, shape (n_items, n_terms)
        Items, rows of unit l2 norm.
    topics : odl.alerts.memory.Profiles
    settings : odl.config.sections.Alerts
    """
    topic = np.zeros(Q.shape[0], dtype=np.int64)
    if not len(topics.numbers):
        return topic
    for first in range(0, len(topic), BLOCK):
        block = Q[first : first + BLOCK]
        cosines, has = (block @ topics.columns).toarray(), block.astype(bool)
        cosines[(has @ topics.own).toarray() < NEEDED] = 0.0
        many = (has @ topics.heaviest).toarray() >= MANY
        near = joined(cosines, topics.reach, np.maximum(np.where(many, CLOSE, 1.0) * topics.reach, settings.same))
        topic[first : first + BLOCK] = np.where(near >= 0, topics.numbers[near], NONE)
    return topic


def joined(cosines, reach, least):
    """Return the topic that each item joins: of the largest ratio of cosine to reach; -1 for none.

    Parameters
    ----------
    cosines : ndarray, shape (n_items, n_topics)
    reach : ndarray, shape (n_topics,)
    least : ndarray, shape (n_items, n_topics)
        Cosine that an item needs.
    """
    ratios = np.where(cosines >= least, cosines / reach, 0.0)
    best = np.argmax(ratios, axis=1)
    return np.where(ratios[np.arange(len(best)), best] > 0, best, -1)


def near_duplicates(P: sparse.csr_array) -> np.ndarray:
    """Put documents that are nearly the same into one group.

    A document joins the group of the first document before it in the batch whose cosine with it is at least `ALIKE`.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Rows of unit l2 norm.

    Returns
    -------
    ndarray of int64, shape (n_documents,)
        Row of the first document of each document's group.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.alerts.candidates import near_duplicates
    >>> near_duplicates(csr_array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.0]]))
    array([0, 1, 0])
    """
    first, columns = np.arange(P.shape[0]), sparse.csr_array(P.T)
    for start in range(0, P.shape[0], BLOCK):
        cosines = sparse.coo_array(P[start : start + BLOCK] @ columns)
        similar = (cosines.data >= ALIKE) & (cosines.col < cosines.row + start)
        rows, earlier = cosines.row[similar] + start, cosines.col[similar]
        order = np.lexsort((-earlier, rows))  # of several the first one is written last
        first[rows[order]] = earlier[order]
    for row in np.flatnonzero(first < np.arange(len(first))):
        first[row] = first[first[row]]  # rows rise, so that the group of the earlier one is settled
    return first


def alike(cosines: np.ndarray, least: float) -> np.ndarray:
    """Put items together, most alike groups first, as long as their mean cosine is at least `least`.

    Agglomerative clustering by average linkage (`scipy.cluster.hierarchy.linkage`).

    Parameters
    ----------
    cosines : ndarray, shape (n, n), symmetric
    least : float

    Returns
    -------
    ndarray of int64, shape (n,)
        First item of each item's group.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.alerts.candidates import alike
    >>> alike(np.array([[1.0, 0.1, 0.8], [0.1, 1.0, 0.2], [0.8, 0.2, 1.0]]), least=0.5)
    array([0, 1, 0])
    """
    from scipy.cluster import hierarchy  # takes 70 ms, which a run without anything to do would pay

    n = len(cosines)
    if n < 2:
        return np.arange(n)
    distances = np.maximum(1.0 - cosines[np.triu_indices(n, 1)], 0.0)  # a cosine of equal items may exceed 1 by a digit
    links = hierarchy.linkage(distances, "average")
    _, first, group = np.unique(
        hierarchy.fcluster(links, 1.0 - least, "distance"), return_index=True, return_inverse=True
    )
    return first[group]


def own_likeness(Q):
    """Return the mean cosine of items of unit norm with the sum of the others."""
    products = np.asarray((Q @ Q.T).toarray())
    np.fill_diagonal(products, 0.0)
    inner = products.sum(axis=1)  # of an item with the sum of the others
    total = products.sum() + Q.shape[0]  # ||S||^2
    sizes = np.sqrt(np.maximum(total - 2.0 * inner - 1.0, 1e-12))
    return float(np.mean(inner / sizes)) if Q.shape[0] > 1 else 0.0
