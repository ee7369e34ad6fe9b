"""Memory of topics: what is learned, what is forgotten and when, and the words that make a topic."""

import numpy as np
import pytest
from scipy import sparse

from odl.alerts import memory
from odl.config.sections import Alerts

SETTINGS = Alerts(silence=3, past=4, topics=2)


def rows(*values):
    return sparse.csr_array(np.array(values, dtype=float))


def grown(*topics, n_terms=4):
    """Return a memory of topics, each made of items at a period of its own."""
    held = memory.widened(memory.nothing(SETTINGS), n_terms)
    for t, items in enumerate(topics):
        held = memory.with_topic(held, rows(*items), t, n_now=1, reach=0.5)
    return held


def test_a_topic_begins_with_the_sum_of_its_items():
    held = grown([[1, 0, 2, 0], [1, 0, 0, 0]], [[0, 3, 0, 0]])
    assert held.sums.toarray().tolist() == [[2, 0, 2, 0], [0, 3, 0, 0]]
    assert held.occurrences.toarray().tolist() == [[2, 0, 1, 0], [0, 1, 0, 0]]
    assert (held.numbered, held.number.tolist(), held.birth.tolist()) == (2, [1, 2], [0, 1])
    assert held.items.tolist() == [1, 0]  # those of this period are counted later
    assert held.counts.shape == (2, 4) and held.sums.dtype == np.float32 and held.number.dtype == np.int64


def test_items_are_added_to_their_topics_but_for_its_founders():
    held = grown([[1, 0, 0, 0]], [[0, 3, 0, 0]])
    Q = rows([0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 9])
    after = memory.learned(held, Q, np.array([1, 1, 2, memory.NONE]), founders={2: [2]})
    assert after.sums.toarray().tolist() == [[2, 0, 1, 0], [0, 3, 0, 0]]
    assert after.occurrences.toarray().tolist() == [[2, 0, 1, 0], [0, 1, 0, 0]]
    assert held.sums.toarray().tolist() == [[1, 0, 0, 0], [0, 3, 0, 0]]  # that of before is as it was


@pytest.mark.parametrize(("items", "kept"), [(memory.FULL, 1.0), (memory.FULL + 1, 50 / 52)])
def test_a_topic_of_many_items_forgets_as_much_as_it_learns(items, kept):
    held = grown([[10, 0, 0, 0]])
    held.items[0] = items
    after = memory.learned(held, rows([1, 0, 0, 0], [1, 0, 0, 0]), np.array([1, 1]), {})
    assert np.allclose(after.sums.toarray()[0, 0], 10 * kept + 2)
    assert np.allclose(after.occurrences.toarray()[0, 0], kept + 2)


def test_only_the_heaviest_words_of_a_topic_are_kept():
    weights = np.arange(1.0, memory.KEPT + 4)
    held = grown([weights], n_terms=len(weights))
    assert held.sums.indices.tolist() == list(range(3, len(weights))) == held.occurrences.indices.tolist()
    assert held.sums.data.tolist() == weights[3:].tolist()


def test_items_without_a_topic_are_remembered_for_a_while():
    held, Q = grown([[1, 0, 0, 0]]), rows([0, 1, 0, 0], [0, 0, 1, 0])
    for t in range(4):
        held = memory.remembered(held, t, Q, np.array([t % 2]), ["a", "b"], SETTINGS)
    assert held.loose_ids == ["b", "a", "b"] and held.loose_t.tolist() == [1, 2, 3]
    assert held.loose.toarray().tolist() == [[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    less = memory.without_loose(held, np.array([False, True, False]))
    assert less.loose_ids == ["b", "b"] and less.loose_t.tolist() == [1, 3] and less.loose.shape == (2, 4)


def test_of_too_many_items_without_a_topic_the_newest_stay(monkeypatch):
    monkeypatch.setattr(memory, "LOOSE", 3)
    held, Q = grown([[1, 0, 0, 0]]), rows(*np.eye(4))
    held = memory.remembered(held, 0, Q, np.array([0, 1]), list("abcd"), SETTINGS)
    held = memory.remembered(held, 1, Q, np.array([2, 3]), list("abcd"), SETTINGS)
    assert held.loose_ids == ["b", "c", "d"]
    assert memory.remembered(held, 2, Q, np.arange(4), list("efgh"), SETTINGS).loose_ids == ["e", "f", "g"]


def test_topics_that_ended_longest_ago_are_forgotten_first():
    held = grown(*[[[1, 0, 0, 0]]] * 4)
    held.state[[0, 2, 3]] = memory.ENDED
    assert memory.limited(held, SETTINGS).number.tolist() == [2, 4]
    held.last[3] = 1
    after = memory.limited(held, SETTINGS)
    assert after.number.tolist() == [2, 3] and after.sums.shape == (2, 4) and len(after.names) == 2
    assert memory.limited(after, SETTINGS) is after


def test_words_make_a_topic_that_it_has_twice_as_often_as_all():
    """Of 99 documents; a word is in as many as its frequency, and one more so that a new one counts."""
    held = grown([[1, 1, 1, 1]] * 4)
    own = memory.own_words(held, slice(None), np.array([0, 49, 50, 99]), 99)
    assert own.indices.tolist() == [0, 1] and own.data.tolist() == [4.0, 4.0]
    rare = grown([[1, 1, 0, 0], [1, 0, 0, 0]])  # the second word is in half of its items
    assert memory.own_words(rare, slice(None), np.array([0, 24, 0, 0]), 99).indices.tolist() == [0, 1]
    assert memory.own_words(rare, slice(None), np.array([0, 25, 0, 0]), 99).indices.tolist() == [0]


def test_profiles_are_of_unit_length_and_know_their_heaviest_words():
    n_terms = memory.OWN + 2
    held = grown([np.arange(1.0, n_terms + 1)], [[2.0] + [0.0] * (n_terms - 1)], n_terms=n_terms)
    found = memory.profiles(held, np.zeros(n_terms, dtype=int), 99)
    assert np.allclose(np.linalg.norm(found.columns.toarray(), axis=0), 1.0) and found.numbers.tolist() == [1, 2]
    assert found.own.toarray().sum(axis=0).tolist() == [n_terms, 1]
    assert np.flatnonzero(found.heaviest.toarray()[:, 0]).tolist() == list(range(2, n_terms))


def test_terms_that_leave_take_their_weights_along():
    held = memory.remembered(grown([[1, 2, 3, 4]]), 1, rows([0, 5, 0, 6]), np.array([0]), ["a"], SETTINGS)
    after = memory.moved(held, np.array([0, -1, 1, 2]), 5)
    assert after.sums.toarray().tolist() == [[1, 3, 4, 0, 0]] and after.loose.toarray().tolist() == [[0, 0, 6, 0, 0]]
