"""Candidate topics of a stream: found among the most novel items, numbered for ever, counted period by period.

Nothing here looks back further than what `odl.alerts.memory` carries, so that a period costs as much as its batch.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import linkage
from odl.alerts import memory as memories
from odl.alerts.memory import ENDED, GROWING, KEPT, NEW, ONGOING, RETURNING, limited, remembered, unit, widened
from odl.alerts.model import NONE, STATES
from odl.learners.batches import BLOCK
from odl.learners.sparse_atoms import largest_per_row

FULL = 50  # items from which on a new one counts as much as one of the last so many
NAMED = 10  # items up to which a topic's name is made again


class Found(NamedTuple):
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
    """

    topic: np.ndarray
    sizes: dict
    changes: list
    born: list
    joined: list


def advance(memory, t, Q, pool, novel, ids, vocabulary, settings):
    """Find the topics of one period.

    Parameters
    ----------
    memory : odl.alerts.memory.Memory
    t : int
    Q : csr_array, shape (n_items, n_terms)
        The items of the period, rows of unit l2 norm.
    pool : ndarray of int
        Rows of Q that new topics are made of, most novel first; none while it warms up.
    novel : ndarray of bool, shape (n_items,)
        Items with scores that recent ones seldom had. A group is no new topic if more than half of the items of the
        period that belong to it are not: the stream knows it, and a few of its documents are unusual.
    ids : list of str
        Of the items.
    vocabulary : list of str
    settings : odl.config.sections.Alerts

    Returns
    -------
    Memory, Found
    """
    memory = widened(memory, Q.shape[1])
    near = _nearest(Q, memory.sums, memory.reach)
    topic = np.where(near >= 0, np.append(memory.number, NONE)[near], NONE)
    memory, births = _births(memory, t, Q, pool[topic[pool] == NONE], novel, settings)
    place = {number: row for row, number in enumerate(memory.number.tolist())}
    for number, rows, _ in births.born:
        topic[rows] = number
    if births.born:
        fresh = np.array([place[number] for number, *_ in births.born])
        free = np.flatnonzero(topic == NONE)
        near = _nearest(Q[free], memory.sums[fresh], memory.reach[fresh])
        topic[free] = np.where(near >= 0, np.append(memory.number[fresh], NONE)[near], NONE)
    memory = _learned(memory, Q, topic, births.born)
    memory, sizes, changes = _counted(memory, t, topic, settings)
    memory = _named(memory, vocabulary, settings)
    memory = remembered(memory, t, Q, pool[topic[pool] == NONE], ids, settings)
    born = [(number, best) for number, _, best in births.born]
    return limited(memory, settings), Found(topic, sizes, changes, born, births.joined)


def growth_chance(count, total, before, total_before):
    """Return the probability of at least `count` items of `total`, given `before` of `total_before` in the past.

    If the rate had stayed the same, the new items would be a binomial part of all of them (the conditional test of
    two Poisson rates).
    """
    if not (count and before and total_before):
        return 1.0
    share, n = total / (total + total_before), count + before
    if count > n * share:
        return min(_upper_tail(count, n, share), 1.0)
    return 1.0 - _upper_tail(before + 1, n, total_before / (total + total_before))


def _upper_tail(count, n, share):
    """Return P(X >= count) of a binomial X whose mean is below `count`, so that no term exceeds the first."""
    part = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
    part = math.exp(part + count * math.log(share) + (n - count) * math.log1p(-share))
    chance = 0.0
    for number in range(count, n + 1):
        chance += part
        part *= (n - number) / (number + 1) * share / (1.0 - share)
    return chance


class _Births(NamedTuple):
    born: list  # number, rows of Q, the row most like it
    joined: list


def _births(memory, t, Q, free, novel, settings):
    """Put free items of the pool, and loose ones of earlier periods, into new topics."""
    if not len(free):
        return memory, _Births([], [])
    both = sparse.csr_array(sparse.vstack([Q[free], memory.loose.astype(np.float64)], format="csr"))
    both = unit(both)
    owner = linkage.alike((both @ both.T).toarray(), settings.same)
    born, joined, gone, parts = [], [], np.zeros(len(memory.loose_ids), dtype=bool), []
    for first in range(len(free)):  # by the most novel item
        members = np.flatnonzero(owner == owner[first])
        if members[0] != first or len(members) < settings.support:
            continue
        if not _is_new(both[members], Q, novel, settings):
            continue
        number = memory.given + len(born) + 1
        now, past = members[members < len(free)], members[members >= len(free)] - len(free)
        parts.append((both[members], t, len(now)))
        centre = np.asarray(both[members].sum(axis=0)).ravel()
        born.append((number, free[now], int(free[now[np.argmax(both[now] @ centre)]])))
        joined += [(number, memory.loose_ids[at]) for at in past]
        gone[past] = True
    memory = replace(
        memory,
        loose=memory.loose[~gone],
        loose_ids=[name for name, left in zip(memory.loose_ids, gone, strict=True) if not left],
        loose_t=memory.loose_t[~gone],
    )
    for part in parts:
        memory = _opened(memory, *part, settings)
    return memory, _Births(born, joined)


def _reach(members, settings):
    """Return the least cosine of an item of a topic that is made of these items."""
    return max(settings.same, settings.reach * linkage.own_likeness(members))


def _is_new(members, Q, novel, settings):
    """Tell whether at least half of the items that a group reaches are odd ones."""
    centre = unit(memories.total(members)[0])
    reached = np.asarray((Q @ centre.T).todense()).ravel() >= _reach(members, settings)
    return 2 * int(novel[reached].sum()) >= int(reached.sum())


def _opened(memory, members, t, n_now, settings):
    """Return the memory with one more topic, made of these items; those of this period are counted later."""
    total, occurrences = memories.total(members)
    sums = largest_per_row(total, KEPT)
    occurrences = occurrences.data[np.searchsorted(occurrences.indices, sums.indices)]
    earlier = members.shape[0] - n_now
    values = {"number": memory.given + 1, "birth": t, "last": t, "items": earlier, "state": NEW}
    values["reach"] = _reach(members, settings)
    grown = {
        name: np.append(getattr(memory, name), value).astype(getattr(memory, name).dtype)
        for name, value in values.items()
    }
    counts = np.vstack([memory.counts, np.zeros((1, memory.counts.shape[1]), dtype=np.int64)])
    occurrences = sparse.csr_array((occurrences.astype(np.float32), sums.indices, sums.indptr), shape=sums.shape)
    return replace(
        memory,
        given=memory.given + 1,
        names=[*memory.names, ""],
        sums=memories.stacked(memory.sums, sums.astype(np.float32)),
        held=memories.stacked(memory.held, occurrences),
        counts=counts,
        **grown,
    )


def _learned(memory, Q, topic, born):
    """Add the items of each topic to its sum; those that a new topic was made of are in it."""
    founders = {number: set(rows.tolist()) for number, rows, _ in born}
    place = {number: row for row, number in enumerate(memory.number.tolist())}
    sums, occurrences = {}, {}
    for number in np.unique(topic[topic != NONE]).tolist():
        rows = [item for item in np.flatnonzero(topic == number).tolist() if item not in founders.get(number, ())]
        if not rows:
            continue
        row = place[number]
        total, count = memory.sums[[row]].astype(np.float64), memory.held[[row]].astype(np.float64)
        # From so many items on it forgets as much as it learns.
        kept = FULL / (FULL + len(rows)) if memory.items[row] > FULL else 1.0
        more, occurs = memories.total(Q[rows])
        count = sparse.csr_array(count * kept + occurs).sorted_indices()
        sums[row] = largest_per_row(sparse.csr_array(total * kept + more), KEPT).astype(np.float32)
        counted = count.data[np.searchsorted(count.indices, sums[row].indices)].astype(np.float32)
        occurrences[row] = sparse.csr_array((counted, sums[row].indices, sums[row].indptr), shape=sums[row].shape)
    return replace(memory, sums=memories.replaced(memory.sums, sums), held=memories.replaced(memory.held, occurrences))


def _counted(memory, t, topic, settings):
    """Count the items of every topic and tell its state."""
    count = np.array([int((topic == number).sum()) for number in memory.number.tolist()], dtype=np.int64)
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


def _named(memory, vocabulary, settings):
    """Name the topics that are new, and again those of few items."""
    names = list(memory.names)
    for row, items in enumerate(memory.items.tolist()):
        gone = memory.sums.indptr[row] == memory.sums.indptr[row + 1]  # all its words have left the vocabulary
        if not (names[row] and gone) and (not names[row] or items <= NAMED):
            occurrences = memory.held[[row]].data
            names[row] = " ".join(linkage.name(memory.sums[[row]], occurrences, items, vocabulary, settings.terms))
    return replace(memory, names=names)


def _nearest(Q, sums, reach):
    """Return the topic that each item joins (`joined`)."""
    near = np.full(Q.shape[0], -1)
    if not sums.shape[0]:
        return near
    columns = sparse.csc_array(unit(sums.astype(np.float64)).T)
    for first in range(0, Q.shape[0], BLOCK):
        near[first : first + BLOCK] = joined(sparse.csr_array(Q[first : first + BLOCK] @ columns).toarray(), reach)
    return near


def joined(cosines, reach):
    """Return the topic of the largest ratio of cosine to reach for each item (row); -1 where the ratio is below 1."""
    best = np.argmax(cosines / reach, axis=1)
    return np.where(cosines[np.arange(len(best)), best] >= reach[best], best, -1)
