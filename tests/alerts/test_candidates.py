"""Rules of topics on items that are made for each: growth since birth, forgetting, reach, silence."""

from dataclasses import replace
from types import SimpleNamespace

import newpages
import numpy as np
import pytest
import watched
from scipy import sparse, stats

from odl.alerts import calibration, candidates, memory, periods
from odl.alerts.model import Reason
from odl.config.sections import Alerts
from odl.report import newparts

N_TERMS = 400
SETTINGS = Alerts(silence=3, past=8)
UNKNOWN = np.zeros(N_TERMS, dtype=np.int64)  # no document before has any word
WORDS = [f"w{i}" for i in range(N_TERMS)]


def items(counts, total, rng):
    """Items of unit norm: so many of each topic, which has five words of its own, and others with no word in common."""
    Q = np.zeros((total, N_TERMS))
    row = 0
    for topic, count in enumerate(counts):
        for _ in range(count):
            Q[row, 5 * topic : 5 * topic + 5] = rng.uniform(0.8, 1.2, 5)
            row += 1
    for place in range(row, total):
        Q[place, 50 + place] = 1.0
    return sparse.csr_array(Q / np.linalg.norm(Q, axis=1, keepdims=True))


def follow(stream, settings=SETTINGS, total=100):
    """Return the memory and what changed after each period of (counts of topics)."""
    rng, held, found, batches = np.random.default_rng(0), memory.nothing(settings), [], []
    for t, counts in enumerate(stream):
        Q = items(counts, total, rng)
        pool = np.arange(sum(counts)) if t else np.zeros(0, dtype=np.int64)
        ids = [f"{t}-{row}" for row in range(total)]
        entering = candidates.Items(Q, ids, pool, np.ones(total, dtype=bool), UNKNOWN, total * t, [])
        held, changed = candidates.advance(held, t, entering, WORDS, settings)
        found.append(changed)
        batches.append(Q)
    return held, found, batches


def test_growth_is_measured_since_birth():
    """Four documents, then twelve: as a part of one period each that is no growth, of six it would be."""
    _, found, _ = follow([(0,)] * 5 + [(4,), (12,)])
    assert found[5].changes == [(1, "new")] and found[6].sizes == {1: 12}
    assert stats.binom.sf(11, 16, 1 / 2) > SETTINGS.growth > stats.binom.sf(11, 16, 1 / 7)
    assert found[6].changes == [(1, "ongoing")]
    _, found, _ = follow([(0,)] * 5 + [(4,), (40,)])
    assert stats.binom.sf(39, 44, 1 / 2) < SETTINGS.growth and found[6].changes == [(1, "growing")]


def test_growth_is_measured_over_the_past_only():
    """Of a topic that is older than `past` the periods before count no more."""
    settings = Alerts(silence=3, past=2)
    _, found, _ = follow([(0,), (30,), (3,), (3,), (20,)], settings)
    assert stats.binom.sf(19, 26, 1 / 3) < settings.growth < stats.binom.sf(19, 56, 1 / 4)
    assert found[4].changes == [(1, "growing")]


@pytest.mark.parametrize("silence", [1, 2, 3])
def test_a_topic_ends_after_its_silence(silence):
    _, found, _ = follow([(0,), (4,), (1,), (0,), (0,), (0,), (0,)], Alerts(silence=silence))
    assert [t for t, each in enumerate(found) if (1, "ended") in each.changes] == [2 + silence]


def test_items_without_a_topic_are_bounded(monkeypatch):
    """Of a period the most novel are compared, of those before the newest are remembered."""
    monkeypatch.setattr(memory, "LOOSE", 4)
    stream, settings = [(0,), (1, 1), (1, 1, 1), (0, 0, 0, 2, 3)], Alerts(silence=9, support=4)
    held, _, _ = follow(stream[:3], settings)
    assert held.loose_ids == ["1-1", "2-0", "2-1", "2-2"] and held.loose_t.tolist() == [1, 2, 2, 2]
    held, _, _ = follow(stream, settings)
    assert held.loose_ids == ["3-0", "3-1", "3-2", "3-3"] and held.loose.shape[0] == len(held.loose_t) == 4
    _, found, _ = follow([(0,), (6,)], settings)
    assert found[1].joined == [] and found[1].sizes == {1: 6}  # made of four; the others join it
    _, found, _ = follow([(0,), (6,)], replace(settings, support=5))
    assert found[1].sizes == {}


@pytest.mark.parametrize("first", [49, 50, 51])
def test_above_fifty_items_a_topic_forgets_as_much_as_it_learns(first):
    held, _, batches = follow([(0,), (first,), (10,)])
    before, after = (np.asarray(batches[t].toarray()[:count, :5].sum(axis=0)) for t, count in ((1, first), (2, 10)))
    kept = 50 / 60 if first > 50 else 1.0
    assert np.allclose(held.sums.toarray()[0, :5], before * kept + after, rtol=1e-5)
    assert np.allclose(held.occurrences.toarray()[0, :5], first * kept + 10, rtol=1e-5) and held.items[0] == first + 10


def test_each_topic_learns_its_own_items():
    held, _, batches = follow([(0, 0, 0, 0), (6, 5, 4, 3), (2, 0, 3, 4)])
    first, second = batches[1].toarray(), batches[2].toarray()
    for topic, then, now in ((0, (0, 6), (0, 2)), (1, (6, 11), (2, 2)), (2, (11, 15), (2, 5)), (3, (15, 18), (5, 9))):
        (row,) = np.flatnonzero(held.sums.toarray()[:, 5 * topic])
        whole = first[slice(*then)].sum(axis=0) + second[slice(*now)].sum(axis=0)
        assert np.allclose(held.sums.toarray()[row], whole, rtol=1e-5)


def test_reach_has_a_minimum():
    """Three items with a cosine of .13 are a topic; what is below `same` does not join it."""
    Q = np.zeros((5, N_TERMS))
    Q[:3, 0] = Q[3, 0] = np.sqrt(0.13)
    Q[3, 0] = 0.11 / np.sqrt(0.13) / 2
    for row in range(5):
        Q[row, 10 + row] = np.sqrt(1 - Q[row, 0] ** 2)
    Q, settings = sparse.csr_array(Q), Alerts()
    own = 0.26 / np.sqrt(2 + 0.26)
    assert settings.reach * own < settings.same < 0.13
    entering = candidates.Items(Q, list("abcde"), np.arange(3), np.ones(5, dtype=bool), UNKNOWN, 100, [])
    held, found = candidates.advance(memory.nothing(settings), 0, entering, WORDS, settings)
    assert held.reach.tolist() == [settings.same] and found.topic.tolist()[:3] == [1, 1, 1]


@pytest.mark.parametrize(("more", "name"), [(6, "6"), (7, "4"), (1, "4")])
def test_a_name_is_made_again_up_to_ten_items_where_several_came(monkeypatch, more, name):
    monkeypatch.setattr(candidates.phrasing, "name_of", lambda words, texts, most, period: (str(len(texts)),))
    held = memory.nothing(SETTINGS)
    for t, count in enumerate((0, 4, more)):
        Q, pool = items((count,), 20, np.random.default_rng(t)), np.arange(count if t else 0)
        ids, novel = [f"{t}-{row}" for row in range(20)], np.ones(20, dtype=bool)
        entering = candidates.Items(Q, ids, pool, novel, UNKNOWN, 20 * t, [], lambda rows: [""] * len(rows))
        held, _ = candidates.advance(held, t, entering, WORDS, SETTINGS)
    assert held.items.tolist() == [4 + more] and held.names == [name]


class TestMembers:
    """What a topic of five words takes up: `row` has weights of these and of words that are its own."""

    @pytest.fixture
    def known(self):
        held, found, _ = follow([(0,), (10,)], replace(SETTINGS, reach=0.4))
        assert found[1].changes == [(1, "new")]
        return held

    def joins(self, held, weights, frequencies=UNKNOWN):
        Q = np.zeros((1, N_TERMS))
        Q[0, :5] = weights
        Q[0, 200] = np.sqrt(1 - (Q**2).sum())
        entering = candidates.Items(
            sparse.csr_array(Q), ["x"], np.zeros(0, dtype=int), np.zeros(1, bool), frequencies, 200, []
        )
        return candidates.advance(held, 2, entering, WORDS, SETTINGS)[1].topic.tolist() == [1]

    def test_two_of_its_words_are_needed(self, known):
        """However much one weighs: boilerplate and names that stand in one topic by chance are one word."""
        cosine = known.sums[[0]].toarray()[0, 0] / np.sqrt((known.sums.data**2).sum())
        assert known.reach[0] < cosine
        assert not self.joins(known, [1.0, 0, 0, 0, 0]) and self.joins(known, [0.9, 0.1, 0, 0, 0])

    @pytest.mark.parametrize(("n", "share"), [(5, candidates.CLOSE), (4, 1.0), (2, 1.0)])
    def test_with_five_of_them_it_may_be_a_little_less_alike_than_the_reach(self, known, n, share):
        centre = known.sums[[0]].toarray()[0, :5]
        centre /= np.linalg.norm(centre)
        some = np.where(np.arange(5) < n, centre, 0.0)
        some /= some @ centre  # of cosine 1 with the topic
        assert self.joins(known, some * known.reach[0] * (share + 0.01))
        assert not self.joins(known, some * known.reach[0] * (share - 0.01))

    def test_never_by_less_than_what_makes_topics(self, known):
        centre = known.sums[[0]].toarray()[0, :5]
        centre, held = centre / np.linalg.norm(centre), replace(known, reach=np.array([1.05 * SETTINGS.same]))
        assert self.joins(held, centre * SETTINGS.same * 1.01)
        assert not self.joins(held, centre * SETTINGS.same * 0.99)

    def test_many_are_of_the_heaviest_alone(self, known, monkeypatch):
        centre = known.sums[[0]].toarray()[0, :5]
        centre /= np.linalg.norm(centre)
        weights = np.where(centre == centre.min(), 0.0, centre)
        weights *= known.reach[0] * (candidates.CLOSE + 0.01) / (weights @ centre)
        monkeypatch.setattr(candidates, "MANY", 4)
        for most, enters in ((5, True), (4, True), (3, False)):
            monkeypatch.setattr(memory, "OWN", most)
            assert self.joins(known, weights) == enters

    def test_a_word_that_spreads_is_none_of_its_words_any_more(self, known):
        """All ten items have it: of 200 documents before half may, 99 with one more each."""
        weights, frequencies = [0.9, 0.1, 0, 0, 0], UNKNOWN.copy()
        frequencies[0] = 99
        assert self.joins(known, weights, frequencies)
        frequencies[0] = 100
        assert not self.joins(known, weights, frequencies)

    def test_among_topics_the_ratio_decides(self):
        """Also of one that is less alike than its reach, with many words, and one that is not."""
        cosines, reach = np.array([[0.30, 0.27], [0.30, 0.27], [0.30, 0.25]]), np.array([0.32, 0.26])
        least = np.array([[0.28, 0.26], [0.32, 0.27], [0.32, 0.26]])
        assert candidates.joined(cosines, reach, least).tolist() == [1, 1, -1]


def test_scores_are_compared_with_the_last():
    found = SimpleNamespace(score=np.array([0.6, 0.7, 0.8]), empty=np.array([False, True, False]))
    after = calibration.recent_after(np.array([0.1, 0.2, 0.3, 0.4]), found, 4)
    assert after.tolist() == [0.3, 0.4, 0.6, 0.8]
    tail, waits = calibration.tails(SimpleNamespace(score=np.array([0.35]), empty=np.zeros(1, dtype=bool)), after)
    assert tail.tolist() == [(1 + 3) / (1 + 4)] and not waits


def test_topics_are_made_of_items_up_to_twice_the_level(tmp_path):
    folder = watched.follow(tmp_path, watched.run_of(atoms=20), watched.LAUNCHES[:6])
    level, tails = watched.SETTINGS.level, []
    for t in range(3, 6):
        record = periods.read(folder / f"{t}.h5")
        tails += [record.tail[item.row] for item in record.pool]
    assert level < max(tails) <= 2 * level and sum(level < tail for tail in tails) > 3


def test_a_word_of_one_item_is_no_why_of_a_topic():
    one, other = newpages.watch().periods[-1].alerts[:2]

    first = replace(one, reasons=(Reason("alone", 0.5), Reason("both", 0.1)), led=2)
    second = replace(other, reasons=(Reason("both", 0.1), Reason("single", 0.3)), led=2)
    assert newparts.shared([first, second]).startswith("both (")
    assert newparts.shared([first]).startswith("alone, both (")


def test_items_that_words_bring_together_are_a_topic_however_unlike_they_are():
    """Unless a topic has most of them, or they are fewer than the support."""
    Q = np.zeros((6, N_TERMS))
    Q[np.arange(6), 10 + np.arange(6)] = 0.9
    Q[:, 0] = np.sqrt(1 - 0.9**2)
    none = np.zeros(0, dtype=int)

    def told(carried, t, groups):
        known = np.zeros(N_TERMS, dtype=np.int64)
        entering = candidates.Items(
            sparse.csr_array(Q),
            list("abcdef"),
            none,
            np.ones(6, bool),
            known,
            6 * t,
            [np.array(rows) for rows in groups],
        )
        return candidates.advance(carried, t, entering, WORDS, SETTINGS)

    held, changes = told(memory.nothing(SETTINGS), 1, [[0, 2, 3, 5], [1, 4]])
    assert changes.topic.tolist() == [1, 0, 1, 1, 0, 1] and changes.of_words == [1]
    assert changes.changes == [(1, "new")] and held.items.tolist() == [4]
    _, again = told(memory.nothing(SETTINGS), 1, [[0, 1, 2, 3], [1, 2, 3, 4, 5]])
    assert again.topic.tolist() == [1, 1, 1, 1, 0, 0] and again.of_words == [1]
    _, half = told(memory.nothing(SETTINGS), 1, [[0, 1, 2], [0, 1, 2, 3, 4, 5]])
    assert half.topic.tolist() == [1, 1, 1, 0, 0, 0]  # three of six are not most


def test_equal_items_whose_cosine_exceeds_one_by_a_digit_are_alike():
    assert candidates.alike(np.full((3, 3), np.nextafter(1.0, 2.0)), least=0.5).tolist() == [0, 0, 0]
