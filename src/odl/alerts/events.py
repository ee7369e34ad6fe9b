"""Events: episodes of a stream that are recognised by their words.

Own words. An event has m documents, and x_w of them contain the word w. Let t_w be the evidence for
w (`odl.alerts.surprise`) against all documents before the event's birth. An own word of the event
has t_w >= `OWN_WORD_T` and x_w >= `OWN_WORD_SHARE` m, and may name a headline. At most a share
`MAX_SHARE_BEFORE` of the documents before the birth contain it. Own words are estimated again for
`SETTLING` periods after the birth, then they are fixed.

Joining. Let p_w = (x_w + 1/2) / (m + 1), and let q_w be the same rate for the documents before the
birth. The evidence that a document belongs to an event is

    L = sum over own words of  log(p_w / q_w) if it has w,
                               log((1 - p_w) / (1 - q_w)) if not.                                (1)

A document joins the event with the largest L - threshold, if it is above 0. Documents well before
the birth cannot belong to the event. A sample of at most `SAMPLE_SIZE` such documents, without the
`SAMPLE_GAP` periods before the birth, therefore gives the threshold: a share r / (number of open
events) of the sample has a larger L. The rate r at which documents join by chance is `JOIN_RATE`,
or `LARGE_JOIN_RATE` for an event with more than `LARGE_EVENT` documents.

Ending. Of N documents in the last `END_PERIODS` periods, c = r N / (number of open events) join by
chance. An event ends when at most c + 2 sqrt(c) documents joined. No document joins an ended event
until its own words open a gate again ("returning").
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse, special

from odl.alerts import headlines, surprise
from odl.alerts.model import STATES
from odl.learners import sparse_atoms

OWN_WORD_T = 5.0  # smallest t_w of an own word
# Largest share of the documents before a birth that have an own word.
MAX_SHARE_BEFORE = headlines.MAX_DOCUMENT_SHARE
OWN_WORD_SHARE = 0.15  # smallest share of an event's documents that have an own word
SETTLING = 4  # periods after the birth in which own words are estimated again
MAX_OWN_WORDS = 30  # own words of an event
STORED_WORDS = 200  # words counted in an event's documents until its own words are fixed
# A headline belongs to an old event if the event's own words have this share of the t_w of the
# headline's words.
OLD_EVENT_SHARE = 0.5
SAMPLE_SIZE = 2000  # documents of the sample for a threshold
SAMPLE_GAP = 28  # the sample omits this number of periods before the birth
SAMPLE_PER_PERIOD = -(-SAMPLE_SIZE // SAMPLE_GAP)  # documents of each period stored for samples
CHOSEN_RATE = 0.5  # p_w of a word that all documents have because they were chosen by it
MIN_THRESHOLD = 4.0  # log-odds of 55 to 1, for own words that are too rare in the sample
JOIN_RATE, LARGE_JOIN_RATE = 0.002, 0.005  # r for events, and for large events
LARGE_EVENT = 20  # an event with more documents is large
END_PERIODS = 4  # an event ends if too few documents joined it in this number of periods
GROWTH_PERIODS = 8  # stored document counts of an event: this period and 7 for comparison
GROWTH_LEVEL = 0.001  # largest `growth_chance` of a growing event
ROWS_AT_ONCE = 4096  # documents that are compared with all events at once
MAX_EVENTS = 1000  # largest number of stored events; the oldest ended events are removed first
NEW, ONGOING, GROWING, RETURNING, ENDED = range(len(STATES))


@dataclass(frozen=True)
class EventMemory:
    """State that one period passes to the next: e events, and a sample of past documents.

    Attributes
    ----------
    numbered : int
        Events numbered so far.
    number, birth, size : ndarray of int64, shape (e,)
        Number of the event, period of birth, number of documents so far.
    state : ndarray of int8, shape (e,)
        Index in `odl.alerts.model.STATES`.
    threshold : ndarray of float64, shape (e,)
    names, words : list of str
        Parts of the name, and own words in the order of the entries of `inside`, separated by tabs.
    counts : ndarray of int64, shape (e, GROWTH_PERIODS)
        Documents in each of the last periods, the newest last.
    totals : ndarray of int64, shape (GROWTH_PERIODS,)
        Documents of the stream in these periods.
    inside, before : csr_array, shape (e, n_terms)
        Rates p_w and q_w of (1) for the own words of each event.
    weight : csr_array, shape (e, n_terms)
        t_w of the own words.
    members : csr_array, shape (e, n_terms)
        Number of documents of the event with each word; empty once its own words are fixed.
    past : csr_array, shape (at most `SAMPLE_SIZE` + `SAMPLE_GAP` `SAMPLE_PER_PERIOD`, n_terms)
        Words of documents of earlier periods, oldest first, for thresholds.
    past_t : ndarray of int64
        Period of each row of `past`.
    """

    numbered: int
    number: np.ndarray
    birth: np.ndarray
    size: np.ndarray
    state: np.ndarray
    threshold: np.ndarray
    names: list
    words: list
    counts: np.ndarray
    totals: np.ndarray
    inside: sparse.csr_array
    before: sparse.csr_array
    weight: sparse.csr_array
    members: sparse.csr_array
    past: sparse.csr_array
    past_t: np.ndarray

    @property
    def open(self):
        """Rows of the events that have not ended."""
        return np.flatnonzero(self.state != ENDED)

    def row(self, number):
        """Return the row of an event."""
        return int(np.flatnonzero(self.number == number)[0])


# Fields of `EventMemory` with a column for each term, and with a row for each event.
OF_TERMS = ("inside", "before", "weight", "members", "past")
OF_EVENTS = (
    "number",
    "birth",
    "size",
    "state",
    "threshold",
    "counts",
    "inside",
    "before",
    "weight",
    "members",
)


def empty_memory():
    """Return the empty memory with which the first period starts."""
    empty, none = np.zeros(0, dtype=np.int64), sparse.csr_array((0, 0))
    return EventMemory(
        numbered=0, number=empty, birth=empty, size=empty, state=empty.astype(np.int8),
        threshold=np.zeros(0), names=[], words=[],
        counts=np.zeros((0, GROWTH_PERIODS), dtype=np.int64),
        totals=np.zeros(GROWTH_PERIODS, dtype=np.int64),
        inside=none, before=none, weight=none, members=none, past=none, past_t=empty,
    )  # fmt: skip


def move_terms(memory, new_numbers, n_terms):
    """Return the memory with renumbered terms.

    Parameters
    ----------
    memory : EventMemory
    new_numbers : ndarray of int64 or None
        New number of each term, -1 if it was removed; None if terms were only added.
    n_terms : int
        Number of terms afterwards.
    """
    if new_numbers is None:
        widened = {
            name: sparse_atoms.widen(getattr(memory, name), n_columns=n_terms) for name in OF_TERMS
        }
        return replace(memory, **widened)
    axes = ("events", "terms")
    renumbered = {
        name: sparse_atoms.renumber_terms(getattr(memory, name), axes, new_numbers, n_terms)
        for name in OF_TERMS
    }
    return replace(memory, words=_remaining_words(memory, new_numbers >= 0), **renumbered)


def _remaining_words(memory, remains):
    """Return the own words of each event whose terms remain, separated by tabs.

    `remains` is the mask of the terms that are not removed.
    """
    lines, indptr = [], memory.inside.indptr
    for row, line in enumerate(memory.words):
        terms = memory.inside.indices[indptr[row] : indptr[row + 1]].tolist()
        words = zip(line.split("\t"), terms, strict=False)  # "" has one part and no terms
        lines.append("\t".join(word for word, term in words if remains[term]))
    return lines


def likelihood(X, inside, before):
    """Compute L (1) for each document and event, an array of shape (n_documents, n_events).

    Equation `event-evidence` of docs/method.md.

    Parameters
    ----------
    X : csr_array, shape (n_documents, n_terms)
        Stored entries are the words of the documents; their values are not used.
    inside, before : csr_array, shape (n_events, n_terms)
        p and q of the own words of events.
    """
    p, q = inside.data, before.data
    absent = np.log1p(-p) - np.log1p(-q)
    rows = np.repeat(np.arange(inside.shape[0]), np.diff(inside.indptr))
    base = np.bincount(rows, absent, minlength=inside.shape[0])
    step = sparse.csr_array(
        (np.log(p) - np.log(q) - absent, inside.indices, inside.indptr), shape=inside.shape
    )
    terms = np.unique(step.indices)
    # The result is dense: each document has an L for each event. `join_events` limits its size to
    # `ROWS_AT_ONCE` x `MAX_EVENTS`.
    return (surprise.presence(X)[:, terms] @ step[:, terms].T).toarray() + base


def find_threshold(past, inside, before, rate):
    """Return the threshold of an event, at least `MIN_THRESHOLD`.

    At most a share `rate` of the past documents has a larger L.
    """
    scores = np.sort(likelihood(past, inside, before)[:, 0])
    n_above = int(np.floor(len(scores) * rate))
    return float(max(scores[-n_above - 1], MIN_THRESHOLD)) if len(scores) else MIN_THRESHOLD


def find_own_words(has, m, frequencies, n_documents, vocabulary, first, chosen_by=False):
    """Return (terms, p, q, t) of the own words of an event, the largest t first.

    Parameters
    ----------
    has : csr_array, shape (1, n_terms)
        Number of documents of the event that have each word (x).
    m : int
        Number of documents of the event.
    frequencies : ndarray, shape (n_terms,)
        Number of documents before the birth that have the term.
    n_documents : int
        Number of documents before the birth.
    vocabulary : list of str
    first : ndarray of int64
        Own words of the event if no word qualifies.
    chosen_by : bool
        Whether the documents were chosen because they have the words `first`; then p of these words
        is `CHOSEN_RATE`.
    """
    terms, x = has.indices.astype(np.int64), has.data
    back = surprise.Background(np.maximum(frequencies, 0), n_documents)
    t = surprise.tail(np.maximum(x, 1), m, back, terms)
    chosen = (
        (t >= OWN_WORD_T)
        & (x >= OWN_WORD_SHARE * m)
        & (frequencies[terms] <= MAX_SHARE_BEFORE * n_documents)
    )
    chosen[chosen] = [headlines.may_name(vocabulary[term]) for term in terms[chosen].tolist()]
    if not chosen.any():
        chosen = np.isin(terms, first)
    terms, x, t = terms[chosen], x[chosen], t[chosen]
    order = np.lexsort((terms, -t))[:MAX_OWN_WORDS]
    terms, x, t = terms[order], x[order], t[order]
    q = (np.maximum(frequencies[terms], 0) + 0.5) / (n_documents + 1)
    p = np.maximum((x + 0.5) / (m + 1), np.minimum(2 * q, 0.9))
    if chosen_by:
        p[np.isin(terms, first)] = CHOSEN_RATE
    return terms, p, q, t


def find_event(memory, terms, weights):
    """Return the number of the event that has a headline's words as its own words, or 0.

    The headline belongs to an event if the words that they share have at least `OLD_EVENT_SHARE` of
    the sum of `weights`.

    Parameters
    ----------
    memory : EventMemory
    terms : ndarray of int64
        Words of the headline.
    weights : ndarray of float64
        t_w of each word.
    """
    if not len(memory.number) or not len(terms):
        return 0
    share = (memory.weight[:, terms] > 0) @ weights / weights.sum()
    best = np.lexsort((-memory.birth, -share))[0]  # the newest of equal events
    return int(memory.number[best]) if share[best] >= OLD_EVENT_SHARE else 0


def open_event(memory, t, name):
    """Return the memory with a new event, which has no words yet, and the number of the event."""
    n, n_terms = memory.numbered + 1, memory.inside.shape[1]
    values = {"number": n, "birth": t, "size": 0, "state": NEW, "threshold": 0.0}
    grown = {
        key: np.append(getattr(memory, key), value).astype(getattr(memory, key).dtype)
        for key, value in values.items()
    }
    none = sparse.csr_array((1, n_terms))
    grown |= {
        key: _append_rows(getattr(memory, key), none)
        for key in ("inside", "before", "weight", "members")
    }
    counts = np.vstack([memory.counts, np.zeros((1, GROWTH_PERIODS), dtype=np.int64)])
    strings = {"names": [*memory.names, "\t".join(name)], "words": [*memory.words, ""]}
    return replace(memory, numbered=n, counts=counts, **strings, **grown), n


def estimate_event(
    memory, t, number, X, rows, frequencies, n_documents, vocabulary, first, stored=True
):
    """Estimate the own words and the threshold of an event; return the updated memory.

    The estimate uses the documents of the period in `rows`, and the word counts of the event's
    earlier documents that the memory stores.

    Parameters
    ----------
    memory : EventMemory
    t : int
        Number of the period.
    number : int
        Number of the event.
    X : csr_array
        Words of the documents of the period.
    rows : ndarray of int64
        Rows of the event's documents.
    frequencies : ndarray of int64, shape (n_terms,)
        Number of documents before the period that have each term, those of the event included.
    n_documents : int
        Number of documents before the period, those of the event included.
    vocabulary : list of str
    first : ndarray of int64
        Own words of the event if no word qualifies.
    stored : bool
        Whether to add the words of these documents to the stored counts, until own words are fixed.
        False for the preview of a new event, whose documents were chosen by the words `first`.
    """
    row, n_terms = memory.row(number), X.shape[1]
    size, members = int(memory.size[row]), memory.members[[row]]
    in_event = np.bincount(members.indices, members.data, minlength=n_terms)
    has = in_event + np.bincount(X[rows].indices, minlength=n_terms)
    has = sparse_atoms.largest_per_row(sparse.csr_array(has[None, :]), STORED_WORDS)
    has = has.sorted_indices()
    m, n_others = size + len(rows), n_documents - size
    terms, *values = find_own_words(
        has, m, frequencies - in_event, n_others, vocabulary, first, chosen_by=not stored
    )
    order = np.argsort(terms)
    shape, ends = (1, n_terms), np.array([0, len(terms)])
    inside, before, weight = (
        sparse.csr_array((value[order], terms[order], ends), shape=shape) for value in values
    )
    fixed = t - memory.birth[row] >= SETTLING
    members = sparse.csr_array(shape) if fixed or not stored else has
    new_rows = {"inside": inside, "before": before, "weight": weight, "members": members}
    matrices = {name: _replace_row(getattr(memory, name), row, new_rows[name]) for name in new_rows}
    words, threshold = list(memory.words), memory.threshold.copy()
    words[row] = "\t".join(vocabulary[term] for term in terms[order].tolist())
    rate = join_rate(m) / max(1, len(memory.open))
    threshold[row] = find_threshold(_sample_before(memory, row), inside, before, rate)
    return replace(memory, words=words, threshold=threshold, **matrices)


def _sample_before(memory, row):
    """Return the sample of earlier documents that gives an event's threshold.

    The sample consists of documents at least `SAMPLE_GAP` periods before the birth. If there are
    none, it consists of all stored documents before the birth.
    """
    birth = memory.birth[row]
    sample = memory.past[memory.past_t < birth - SAMPLE_GAP][-SAMPLE_SIZE:]
    return sample if sample.shape[0] else memory.past[memory.past_t < birth]


def join_rate(size):
    """Return r: the share of documents that join some event of this size by chance."""
    return LARGE_JOIN_RATE if size > LARGE_EVENT else JOIN_RATE


def join_events(memory, X):
    """Return the number of the event that each document joins, or 0."""
    rows = memory.open
    rows = rows[np.diff(memory.inside.indptr)[rows] > 0]
    if not len(rows) or not X.shape[0]:
        return np.zeros(X.shape[0], dtype=np.int64)
    inside, before, numbers = memory.inside[rows], memory.before[rows], []
    for first in range(0, X.shape[0], ROWS_AT_ONCE):
        beyond = (
            likelihood(X[first : first + ROWS_AT_ONCE], inside, before) - memory.threshold[rows]
        )
        best = np.argmax(beyond, axis=1)
        numbers.append(
            np.where(beyond[np.arange(len(best)), best] > 0, memory.number[rows][best], 0)
        )
    return np.concatenate(numbers)


def count_period(memory, t, event, with_headline):
    """Return the memory after a period: with new document counts and a new state of each event.

    Parameters
    ----------
    memory : EventMemory
    t : int
    event : ndarray of int64
        Number of the event that each document of the period belongs to; 0 for no event.
    with_headline : collection of int
        Numbers of the events that have a headline in this period.

    Returns
    -------
    memory : EventMemory
        Memory after the period.
    sizes : dict of int to int
        Event -> its number of documents in the period, without events that have none.
    changes : list of (int, str)
        New events, and events whose state changed, with their states.
    """
    size = np.bincount(event, minlength=memory.numbered + 1)[memory.number]
    counts = np.hstack([memory.counts[:, 1:], size[:, None]])
    totals = np.append(memory.totals[1:], len(event))
    # N / (number of open events): with the rate r it gives c of the module's docstring.
    recent_per_event = totals[-END_PERIODS:].sum() / max(1, len(memory.open))
    state, changes, sizes = memory.state.copy(), [], {}
    for row, number in enumerate(memory.number.tolist()):
        age = t - int(memory.birth[row])
        by_chance = join_rate(memory.size[row]) * recent_per_event
        state[row] = _next_state(
            memory.state[row], age, counts[row], totals, by_chance, number in with_headline
        )
        if age == 0 or state[row] != memory.state[row]:
            changes.append((number, STATES[state[row]]))
        if size[row]:
            sizes[number] = int(size[row])
    memory = replace(memory, size=memory.size + size, counts=counts, totals=totals, state=state)
    return memory, sizes, changes


def _next_state(state, age, counts, totals, by_chance, has_headline):
    """Return the state of an event after a period, an index in `odl.alerts.model.STATES`.

    A new event is new for one period. An ended event returns only with a headline. An event ends
    if it has no headline and all its documents of the last periods can have joined by chance.

    Parameters
    ----------
    state : int
        State before the period.
    age : int
        Periods since the birth.
    counts, totals : ndarray of int64, shape (GROWTH_PERIODS,)
        Documents of the event and of the stream in each of the last periods.
    by_chance : float
        Expected number of documents that joined by chance in the last `END_PERIODS` periods.
    has_headline : bool
        Whether the event has a headline in the period.
    """
    if age == 0:
        return NEW
    if state == ENDED:
        return RETURNING if has_headline else ENDED
    chance_limit = by_chance + 2 * np.sqrt(by_chance)  # mean + 2 sd of a Poisson number
    if age >= END_PERIODS and counts[-END_PERIODS:].sum() <= chance_limit and not has_headline:
        return ENDED
    n_earlier = min(age, GROWTH_PERIODS - 1)  # earlier periods with which this one is compared
    before = int(counts[-1 - n_earlier : -1].sum())
    total_before = int(totals[-1 - n_earlier : -1].sum())
    chance = growth_chance(int(counts[-1]), int(totals[-1]), before, total_before)
    return GROWING if chance <= GROWTH_LEVEL else ONGOING


def growth_chance(count, total, before, total_before):
    """Return the p-value of the hypothesis that an event does not grow.

    The event has `count` of the `total` documents of this period, and had `before` of the
    `total_before` documents of earlier periods. If the rates are equal, `count` is binomial given
    `count` + `before` (conditional test of two Poisson rates). The p-value is 1 if `count`,
    `before` or `total_before` is 0.
    """
    if not (count and before and total_before):
        return 1.0
    return float(special.bdtrc(count - 1, count + before, total / (total + total_before)))


def remember_period(memory, t, X):
    """Return the memory with a sample of this period's documents added.

    Removed are old documents that no sample needs, the ended events above `MAX_EVENTS`, and the
    word counts (`members`) of events whose own words are fixed.

    Parameters
    ----------
    memory : EventMemory
    t : int
    X : csr_array
        Words of the documents of the period, without words that are too frequent for own words. At
        most `SAMPLE_PER_PERIOD` evenly spaced rows are stored.
    """
    n_stored = min(SAMPLE_PER_PERIOD, X.shape[0])
    rows = np.linspace(0, X.shape[0] - 1, n_stored).round().astype(np.int64)
    past = _append_rows(memory.past, surprise.presence(X[rows]))
    past_t = np.append(memory.past_t, np.full(n_stored, t))
    n_old = np.count_nonzero(past_t <= t - SAMPLE_GAP)
    first = max(0, n_old - SAMPLE_SIZE)
    members = memory.members
    if len(memory.birth):  # a product with a diagonal matrix removes rows
        unsettled = (t - memory.birth < SETTLING).astype(np.float64)
        members = sparse.csr_array(sparse.diags_array(unsettled) @ members)
        members.eliminate_zeros()
    memory = replace(memory, past=past[first:], past_t=past_t[first:], members=members)
    n_surplus = len(memory.number) - MAX_EVENTS
    if n_surplus <= 0:
        return memory
    remaining = np.sort(np.lexsort((memory.number, memory.state != ENDED))[n_surplus:])
    fields = {name: getattr(memory, name)[remaining] for name in OF_EVENTS}
    for name in ("names", "words"):
        strings = getattr(memory, name)
        fields[name] = [strings[row] for row in remaining.tolist()]
    return replace(memory, **fields)


def _append_rows(matrix, rows):
    """Return a sparse matrix with further rows at its end."""
    return sparse.csr_array(sparse.vstack([matrix, rows], format="csr"))


def _replace_row(matrix, row, value):
    """Return a matrix with one row replaced."""
    blocks = [matrix[:row], value, matrix[row + 1 :]]
    return sparse.csr_array(
        sparse.vstack([block for block in blocks if block.shape[0]], format="csr")
    ).sorted_indices()
