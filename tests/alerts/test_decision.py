"""Decisions on periods made for each rule: which items are novel, how many are looked at, what opens a gate."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from odl.alerts import decision, gates, memory
from odl.config.sections import Alerts

N, N_TERMS = 100, 120
SETTINGS = Alerts(warm_up=100, pool=10, budget=3)
RECENT = np.arange(1000) / 1000


@pytest.fixture
def documents():
    """A hundred documents without a word in common."""
    Q, no = sparse.csr_array(np.eye(N, N_TERMS)), np.zeros(N, dtype=bool)
    ids, words = [f"d{row}" for row in range(N)], [f"w{term}" for term in range(N_TERMS)]
    return decision.Arrivals(3, ids, np.arange(N), no, Q, Q, words, np.full(N_TERMS, 50), 1000)


def decided(documents, score, settings=SETTINGS, recent=RECENT, empty=(), compared=None):
    """What is decided where nothing came before but scores."""
    none = np.isin(np.arange(N), empty)
    past = decision.Past(memory.nothing(settings), recent, compared)
    return decision.decide(documents, SimpleNamespace(score=score, empty=none), past, settings)


@pytest.fixture
def score():
    """Row 0 is the most novel; the tail probability of row r is (r + 1) / 1001, but for ties."""
    return 1 - (np.arange(N) + 0.5) / 1000


def test_looked_at_are_items_up_to_twice_the_level(documents, score):
    settings = Alerts(warm_up=100, pool=1000, level=0.02)
    told, _ = decided(documents, score, settings)
    assert told.tail.tolist() == [(row + 1) / 1001 for row in range(N)]
    assert told.pool.tolist() == list(range(40)) and told.tail[39] <= 0.04 < told.tail[40]
    told, _ = decided(documents, score, Alerts(warm_up=100, pool=1000, level=20 / 1001))
    assert told.pool.tolist() == list(range(40))  # one with just this tail is among them


@pytest.mark.parametrize(("budget", "n"), [(3, 10), (5, 10), (6, 12), (0.07, 14)])
def test_the_pool_has_twice_the_budget_and_some_items_at_least(documents, score, budget, n):
    told, _ = decided(documents, score[::-1], Alerts(warm_up=100, pool=10, budget=budget))
    assert told.pool.tolist() == list(range(N - 1, N - 1 - n, -1))


def test_what_repeats_or_has_no_word_is_not_looked_at(documents, score):
    first, repeats = np.arange(N), np.arange(N) == 2
    first[5] = 4
    told, _ = decided(documents._replace(first=first, repeats=repeats), score, empty=[7])
    assert told.pool.tolist() == [0, 1, 3, 4, 6, 8, 9, 10, 11, 12] and 5 not in told.items
    assert told.tail[7] == 1


@pytest.mark.parametrize(("n", "warm_up"), [(99, True), (100, False)])
def test_a_warm_up_looks_at_nothing(documents, score, n, warm_up):
    told, past = decided(documents, score, recent=RECENT[-n:])
    assert (told.warm_up, len(told.pool)) == (warm_up, 0 if warm_up else 10)
    assert past.recent is not None and past.gates is None


def test_documents_share_the_topic_of_their_item(documents, score):
    Q = np.eye(N, N_TERMS)
    Q[:4] = 0
    Q[:4, :2] = np.sqrt(0.5)
    first = np.arange(N)
    first[3] = 2
    told, past = decided(documents._replace(Q=sparse.csr_array(Q), first=first), score)
    assert told.topic[:5].tolist() == [1, 1, 1, 1, 0] and told.changes.sizes == {1: 3}
    assert past.topics.number.tolist() == [1]


class TestGates:
    settings = Alerts(warm_up=100, pool=10, budget=3, gates=True)

    def test_items_that_open_a_gate_are_kept_beyond_the_pool(self, documents, score):
        """A word of ten items that was in no document; but two of them are not among the most novel."""
        counts = np.eye(N, N_TERMS)
        counts[[*range(8), 60, 30], 110] = 1
        frequencies = np.where(np.arange(N_TERMS) == 110, 0, 50)
        told, past = decided(
            documents._replace(counts=sparse.csr_array(counts), frequencies=frequencies), score, self.settings
        )
        assert told.pool.tolist() == [*range(10), 30, 60]
        assert told.opened.words.tolist() == [*range(8), 30, 60] and told.opened.of(60) == "words"
        assert told.opened.terms_of(60, sparse.csr_array(counts)) == [110]
        assert told.opened.terms_of(9, sparse.csr_array(counts)) == []
        assert len(past.gates.items) == len(past.gates.births) == 1

    def test_a_broad_word_opens_the_gate_only_to_what_it_brings_together(self, documents, score):
        """Of sixty items with it, five have another unusual word with it; the others tell nothing new."""
        counts = np.eye(N, N_TERMS)
        counts[:60, 110], counts[:5, 111] = 1, 1
        frequencies = np.where(np.arange(N_TERMS) == 111, 0, 50)
        changed = documents._replace(counts=sparse.csr_array(counts), frequencies=frequencies)
        told, _ = decided(changed, score, self.settings)
        assert told.opened.terms.tolist() == [110, 111] or told.opened.terms.tolist() == [111, 110]
        assert told.opened.words.tolist() == [0, 1, 2, 3, 4]

    def test_what_repeats_counts_no_word(self, documents, score):
        counts = np.eye(N, N_TERMS)
        counts[:10, 110] = 1
        frequencies = np.where(np.arange(N_TERMS) == 110, 0, 50)
        changed = documents._replace(counts=sparse.csr_array(counts), frequencies=frequencies)
        told, _ = decided(changed._replace(repeats=np.arange(N) < 8), score, self.settings)
        assert not len(told.opened.words)
        told, _ = decided(changed, score, self.settings, empty=range(8))
        assert not len(told.opened.words)

    def test_rows_are_those_of_documents(self, documents, score):
        """Where rows before are no items: the lone one is row 50."""
        first = np.arange(N)
        first[1:20] = 0
        high = np.where(np.arange(N) == 50, 9.0, score)
        told, _ = decided(documents._replace(first=first), high, self.settings)
        assert told.opened.lone.tolist() == [50] and told.pool[0] == 50

    def test_a_new_topic_opens_the_gate(self, documents, score):
        Q = np.eye(N, N_TERMS)
        Q[:4] = 0
        Q[:4, :2] = np.sqrt(0.5)
        compared = gates.Past(births=np.full(10, 2))
        told, past = decided(documents._replace(Q=sparse.csr_array(Q)), score, self.settings, compared=compared)
        assert told.opened.topics.tolist() == [0, 1, 2, 3] and past.gates.births[-1] == 4
        told, _ = decided(documents._replace(Q=sparse.csr_array(Q)), score, self.settings, compared=past.gates)
        assert not len(told.opened.topics)

    def test_the_first_period_opens_none(self, documents, score):
        told, past = decided(documents._replace(t=0), score, self.settings)
        assert not len(told.opened.rows) and past.gates is not None and not len(past.gates.items)
