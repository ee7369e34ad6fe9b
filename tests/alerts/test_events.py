"""Events: own words, who joins, when they end and return."""

import numpy as np
import pytest
from scipy import sparse

from odl.alerts import events

N_TERMS = 40
WORDS = [f"w{term}" for term in range(N_TERMS)]


def documents(rng, n, own=0):
    """Documents of usual words; the first `own` of them have words 37 to 39 as well."""
    X = (rng.random((n, N_TERMS)) < 0.2).astype(float)
    X[:, 37:] = 0
    X[:own, 37:] = 1
    return sparse.csr_array(X)


def grown(rng, n_periods=60, n=50):
    """A memory after some quiet periods, and the documents that have each term."""
    memory, frequencies = (
        events.move_terms(events.empty_memory(), None, N_TERMS),
        np.zeros(N_TERMS, dtype=np.int64),
    )
    for t in range(n_periods):
        X = documents(rng, n)
        memory = events.remember_period(memory, t, X)
        frequencies = frequencies + np.bincount(X.indices, minlength=N_TERMS)
    return memory, frequencies


def begun(rng, own=8, n=50):
    """A memory with an event that began in period 60."""
    memory, frequencies = grown(rng)
    X = documents(rng, n, own)
    memory, number = events.open_event(memory, 60, ("Calendar",))
    memory = events.estimate_event(
        memory, 60, number, X, np.arange(own), frequencies, 3000, WORDS, np.array([37])
    )
    event = np.where(np.arange(n) < own, number, 0)
    return events.count_period(memory, 60, event, {number})[0], frequencies


def test_likelihood_is_the_sum_over_own_words():
    inside, before = (
        sparse.csr_array(np.array([[0.9, 0, 0.5], [0, 0.8, 0]]) * scale) for scale in (1, 0.1)
    )
    X = sparse.csr_array(np.array([[3.0, 0, 0], [0, 1, 1]]))
    expected = [[np.log(0.9 / 0.09) + np.log(0.5 / 0.95), np.log(0.2 / 0.92)],
                [np.log(0.1 / 0.91) + np.log(0.5 / 0.05), np.log(0.8 / 0.08)]]  # fmt: skip
    np.testing.assert_allclose(events.likelihood(X, inside, before), expected)


def test_own_words_are_those_that_are_certain_and_in_enough_documents(rng):
    memory, _ = begun(rng)
    assert memory.words == ["w37\tw38\tw39"] and memory.inside.indices.tolist() == [37, 38, 39]
    assert np.allclose(memory.inside.data, 8.5 / 9) and np.allclose(memory.before.data, 0.5 / 3001)


def test_a_word_of_many_documents_before_the_birth_is_no_own_word():
    has = sparse.csr_array(np.array([[30.0, 30.0]]))
    terms, *_ = events.find_own_words(has, 30, np.array([60, 40]), 1000, WORDS, np.array([0]))
    assert terms.tolist() == [1]


def test_documents_with_own_words_join_and_others_do_not(rng):
    memory, _ = begun(rng)
    X = documents(rng, 400, 5)
    joins = events.join_events(memory, X)
    assert joins[:5].tolist() == [1] * 5 and np.count_nonzero(joins[5:]) <= 2


def test_documents_are_compared_in_blocks(rng, monkeypatch):
    memory, _ = begun(rng)
    X = documents(rng, 400, 30)
    whole = events.join_events(memory, X)
    monkeypatch.setattr(events, "ROWS_AT_ONCE", 7)
    assert events.join_events(memory, X).tolist() == whole.tolist() and whole.any()


@pytest.mark.parametrize("n", [0, 10, 5000])
def test_a_threshold_is_never_below_the_least(rng, n):
    rates = (
        sparse.csr_array(([0.5], ([0], [39])), shape=(1, N_TERMS)),
        sparse.csr_array(([0.1], ([0], [39])), (1, N_TERMS)),
    )
    assert events.find_threshold(documents(rng, n), *rates, 0.002) == events.MIN_THRESHOLD


def test_the_word_that_chose_the_documents_of_an_event_may_be_absent_at_first(rng):
    has = sparse.csr_array(documents(rng, 8, 8)[:, [37, 38]].sum(axis=0)[None, :])
    terms, p, *_ = events.find_own_words(
        has, 8, np.zeros(2), 1000, WORDS, np.array([0]), chosen_by=True
    )
    assert terms.tolist() == [0, 1] and p[0] == events.CHOSEN_RATE and p[1] > 0.9


@pytest.mark.parametrize(("terms", "number"), [([37, 38, 1], 1), ([37, 1, 2], 0)])
def test_a_headline_is_an_old_event_by_half_of_its_weight(rng, terms, number):
    memory, _ = begun(rng)
    assert events.find_event(memory, np.array(terms), np.array([5.0, 3.0, 4.0])) == number


def test_an_event_ends_when_no_more_joins_than_by_chance_and_returns(rng):
    memory, _ = begun(rng)
    states = []
    for t in range(61, 70):
        event = np.zeros(50, dtype=np.int64)
        event[: 3 if t < 63 else 0] = 1
        memory, sizes, changes = events.count_period(memory, t, event, set())
        states.append((t, *(state for _, state in changes)))
        assert sizes == ({1: 3} if t < 63 else {})
    assert states[0] == (61, "ongoing") and (66, "ended") in states
    assert not events.join_events(
        memory, documents(rng, 50, 5)
    ).any()  # an ended event takes nothing
    memory, _, changes = events.count_period(memory, 70, np.ones(50, dtype=np.int64), {1})
    assert changes == [(1, "returning")] and events.join_events(memory, documents(rng, 50, 5)).any()


def test_an_event_grows_when_far_more_join_than_before(rng):
    memory, _ = begun(rng, own=3)
    memory, _, changes = events.count_period(memory, 61, np.repeat([1, 0], [40, 10]), set())
    assert changes == [(1, "growing")]


def test_own_words_stay_after_four_periods(rng):
    memory, frequencies = begun(rng)
    X = documents(rng, 50, 6)
    for t in range(61, 66):
        settled = memory.words[0]
        memory = events.estimate_event(
            memory, t, 1, X, np.arange(6), frequencies, 3000, WORDS, np.array([37])
        )
        memory, *_ = events.count_period(memory, t, np.repeat([1, 0], [6, 44]), set())
        assert memory.members.nnz == 0 or t - 60 < events.SETTLING
    assert memory.words[0] == settled


def test_counts_of_its_documents_go_once_own_words_stay(rng):
    """Also if no document joined in the last of its first periods."""
    memory, _ = begun(rng)
    for t in range(61, 66):
        memory = events.remember_period(memory, t, documents(rng, 5))
        assert (memory.members.nnz > 0) == (t - 60 < events.SETTLING)


def test_memory_is_bounded_and_numbers_stay(rng, monkeypatch):
    memory, _ = grown(rng, 120)
    assert (
        memory.past.shape[0] <= events.SAMPLE_SIZE + events.SAMPLE_GAP * events.SAMPLE_PER_PERIOD
        and len(memory.past_t) == memory.past.shape[0]
    )
    monkeypatch.setattr(events, "MAX_EVENTS", 2)
    for t in range(3):
        memory, number = events.open_event(memory, t, (f"event {t}",))
        assert number == t + 1
        memory = events.remember_period(memory, t, documents(rng, 5))
    assert memory.number.tolist() == [2, 3] and memory.names == ["event 1", "event 2"]


def test_words_that_leave_the_vocabulary_leave_events(rng):
    memory, _ = begun(rng)
    places = np.concatenate([np.arange(38), [-1, 38]])
    memory = events.move_terms(memory, places, 39)
    assert memory.words == ["w37\tw39"] and memory.inside.indices.tolist() == [37, 38]
