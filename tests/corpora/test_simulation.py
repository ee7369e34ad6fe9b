"""The simulated stream: presence of topics, their words, and novelty by construction."""

import numpy as np
import pytest

from odl import corpora
from odl.corpora import simulation
from odl.errors import ConfigError
from odl.stream import features

OPTIONS = {"documents": 3000, "words": 60, "own": 0.4, "seed": 3}


@pytest.fixture(scope="module")
def made():
    return corpora.read("simulation", [], OPTIONS)


def days_of(made):
    days = ((made.times - simulation.START_MS) // simulation.DAY_MS).astype(int)
    found = {}
    for day, names in zip(days, made.topics, strict=True):
        found.setdefault(names[0], set()).add(int(day))
    return days, found


def test_equal_options_give_equal_documents(made):
    again, other = (corpora.read("simulation", [], {**OPTIONS, "seed": seed}) for seed in (3, 4))
    assert np.array_equal(made.digests(), again.digests())
    assert not np.array_equal(made.digests(), other.digests())
    assert len(made) == 3000 and abs(made.counts.sum(axis=1).mean() - 60) < 1


def test_kinds_are_there_when_they_should(made):
    days, found = days_of(made)
    everywhere = set(range(10))
    assert np.array_equal(np.bincount(days), [300] * 10)
    assert sum(name.startswith("entering") for name in found) == 10
    for name, held in found.items():
        kind, gone = name.split("-")[0], sorted(everywhere - held)
        if kind in ("steady", "drifting"):
            assert not gone
        elif kind == "entering":
            assert gone == list(range(len(gone))) and gone
        elif kind == "returning":
            assert (
                0 in held
                and len(gone) == 3
                and gone == list(range(gone[0], gone[0] + 3))
                and max(held) > gone[-1]
            )
        elif name.endswith(("a", "b")):
            assert held == everywhere - found[name[:-2]] and 3 <= min(held) <= 5


@pytest.mark.slow
def test_labels_say_what_is_new(made):
    days, found = days_of(made)
    previous = None
    for day in range(10):
        rows = np.flatnonzero(days == day)
        previous = features.follow(made.select(rows), previous)
        first = np.array([min(found[made.topics[row][0]]) == day for row in rows])
        kinds = np.array([made.topics[row][0].split("-")[0] for row in rows])
        assert np.array_equal(previous.novel_dominant == 1, first)
        if day:
            assert set(kinds[first]) <= {"entering", "splitting"}
            assert not (previous.novel[kinds == "splitting"] == 1).any()


def test_words_drift_and_split(made):
    days, _ = days_of(made)
    words = np.arange(simulation.LANGUAGE_TERMS) >= 100

    def shares(name, day):
        rows = [row for row in np.flatnonzero(days == day) if made.topics[row][0] == name]
        total = np.asarray(made.counts[rows].sum(axis=0))[: simulation.LANGUAGE_TERMS] * words
        return total / np.linalg.norm(total)

    for name in ("drifting-01", "drifting-02"):
        likeness = [shares(name, 0) @ shares(name, day) for day in (1, 5, 9)]
        assert likeness[0] > likeness[1] > likeness[2] and likeness[2] < 0.3
    assert shares("steady-01", 0) @ shares("steady-01", 9) > 0.6
    first, second, parent = simulation._topics(np.random.default_rng(0), "splitting", 1, 10)
    kept = [part["words"][9] == parent["words"][0] for part in (first, second)]
    assert np.array_equal(kept[0], ~kept[1]) and kept[0].sum() == simulation.TOPIC_TERMS / 2


@pytest.mark.parametrize(
    "options", [{"days": 5}, {"own": 2}, {"documents": "many"}, {"words": True}, {"seed": -1}]
)
def test_what_cannot_be_made_is_refused(options):
    with pytest.raises(ConfigError):
        corpora.read("simulation", [], options)
