"""Other methods against slow versions of them, and what a study writes of them."""

from collections import Counter, deque

import numpy as np
import pytest
from cosines import dense_cosines, make_chain
from places import ROOT

from odl.papers import qualitystudy, rivals
from odl.papers.experiments import quality_overview
from odl.papers.rivals import first_story, windows


@pytest.fixture
def chain(rng):
    return make_chain(rng, [40, 25, 30, 90])


def taught(rival, batches):
    for batch in batches:
        rival.learn(batch)
    return rival


@pytest.mark.parametrize("name", rivals.names())
def test_a_score_is_repeatable_and_changes_nothing(chain, name):
    one, other = (taught(rivals.RIVALS[name](0), chain[:2]) for _ in range(2))
    first = one.score(chain[2])
    assert first.shape == (30,) and np.isfinite(first).all() and first.min() >= 0
    assert np.array_equal(first, one.score(chain[2])) and np.array_equal(
        first, other.score(chain[2])
    )
    alone = taught(rivals.RIVALS[name](0), chain[:3]).score(chain[3])  # batch 2 was not scored
    later = taught(one, chain[2:3]).score(chain[3])
    assert np.array_equal(later, alone) and not np.array_equal(later, other.score(chain[3]))
    empty = np.diff(chain[3].counts[:].indptr) == 0
    assert empty.any() and np.all(later[empty] == 1)
    assert one.stored > 0 and name == one.NAME


def test_a_window_ends_inside_a_batch(chain, monkeypatch):
    monkeypatch.setattr(windows.LastThousand, "LAST", 70)
    rival = taught(windows.LastThousand(), chain[:3])
    cosines = np.sort(dense_cosines(chain[3], chain[:3], "log")[:, -70:], axis=1)
    assert np.allclose(rival.score(chain[3]), 1 - cosines[:, -5:].mean(axis=1))
    counts = [batch.counts[:].toarray() for batch in chain[:3]]
    assert rival.stored == sum(
        np.count_nonzero(part) for part in (counts[0][-15:], counts[1], counts[2])
    )
    whole = taught(windows.WholePast(), chain[:3])
    cosines = np.sort(dense_cosines(chain[3], chain[:3], "log"), axis=1)
    assert np.allclose(whole.score(chain[3]), 1 - cosines[:, -5:].mean(axis=1))


def test_temporal_idf_by_words(chain, monkeypatch):
    monkeypatch.setattr(windows.TemporalIdf, "HALF_LIFE", 50)
    rival, total, held = taught(windows.TemporalIdf(), chain[:3]), 0.0, Counter()
    for batch in chain[:3]:
        dense = batch.counts[:].toarray()
        kept = 0.5 ** (len(dense) / 50)
        held = Counter({word: kept * times for word, times in held.items()})
        for row in dense:
            held.update(np.flatnonzero(row).tolist())
        total = kept * total + len(dense)
    scores = rival.score(chain[3])
    for row, score in zip(chain[3].counts[:].toarray(), scores, strict=True):
        tf = {word: 1 + np.log(row[word]) for word in np.flatnonzero(row)}
        rare = [weight * np.log((1 + total) / (1 + held[word])) for word, weight in tf.items()]
        assert np.isclose(score, sum(rare) / sum(tf.values()) / np.log(1 + total) if tf else 1)


def test_first_stories_by_buckets_as_lists(chain, monkeypatch):
    for name, value in {"TABLES": 4, "BITS": 3, "BUCKET": 5, "RECENT": 10}.items():
        monkeypatch.setattr(first_story.FirstStory, name, value)
    rival = taught(first_story.FirstStory(5), chain[:3])
    signs = rival.signs.reshape(-1, 4, 3).astype(float)

    def dense(batch):
        found = np.zeros((batch.counts.shape[0], len(signs)))
        found[:, : batch.counts.shape[1]] = batch.weighed(norm="l2", tf="log")[:].toarray()
        return found

    def places(vector):
        return [(table, tuple(vector @ signs[:, table] > 0)) for table in range(4)]

    past, buckets = np.concatenate([dense(batch) for batch in chain[:3]]), {}
    for number, vector in enumerate(past):
        for place in places(vector):
            buckets.setdefault(place, deque(maxlen=5)).append(number)
    recent, expected = set(range(len(past) - 10, len(past))), []
    for vector in dense(chain[3]):
        times = Counter(number for place in places(vector) for number in buckets.get(place, ()))
        most = sorted(times, key=lambda number: (-times[number], -number))[:12]
        expected.append(1 - max(past[number] @ vector for number in {*most, *recent}))
    assert np.allclose(rival.score(chain[3]), expected)
    held = {number for bucket in buckets.values() for number in bucket} | recent
    entries = sum(len(bucket) for bucket in buckets.values())
    assert len(held) < len(past) and rival.stored == np.count_nonzero(past[sorted(held)]) + entries


def test_rows_of_a_study(chain, monkeypatch):
    class Held:
        seed, batches, listed = 0, chain, [1, 3]

        @staticmethod
        def average(scores):
            assert sorted(scores) == [1, 3]
            return float(np.mean([scores[t].mean() for t in scores]))

        @staticmethod
        def judge(kind, scores):
            seen[kind] = seen.get(kind, []) + list(scores)

    def add_peers(stream, around, name, scores, alike):
        return {f"{name}-levels-context": {t: 2 * s for t, s in scores.items()}}

    seen = {}
    monkeypatch.setattr(qualitystudy, "add_peers", add_peers)
    rows = qualitystudy.rival(Held, {}, {"runs": []})["rivals"]
    assert seen["plain"] == rivals.names() and len(seen["context"]) == len(seen["plain"])
    assert [row["run"] for row in rows[::2]] == rivals.names()
    for plain, context in zip(rows[::2], rows[1::2], strict=True):
        assert context["run"] == f"{plain['run']}-levels-context"
        assert np.isclose(context["average"], 2 * plain["average"])
        assert plain["ms"] > 0 and plain["entries"] == context["entries"] > 0
    told = quality_overview.shown({"rivals": [{"stream": "s", "seed": 0, **row} for row in rows]})[
        "competing"
    ]
    assert [cells[0] for cells in told] == [rivals.RIVALS[name].WORDS for name in rivals.names()]


def test_every_file_is_a_rival():
    files = {path.stem for path in (ROOT / "src" / "odl" / "papers" / "rivals").glob("*.py")}
    assert files - {"__init__"} == {
        one.__module__.rpartition(".")[2] for one in rivals.RIVALS.values()
    }
