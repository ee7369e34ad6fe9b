"""Texts of the benchmark that others made, cleaned as theirs, and its splits."""

import numpy as np
import pytest
from places import ROOT
from scipy.stats import rankdata


@pytest.fixture
def adbench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import adbench

    return adbench


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("Bob wrote:\n> old\nnew\n\nmore\n--\nAnn", "new\n\nmore"),
        ("In article 5\n| old\none line", "one line"),
        ("\nAnn\n", "Ann"),
        ("--\nAnn", "--\nAnn"),
    ],
)
def test_quotes_and_footers_are_left_out(adbench, body, own):
    assert adbench.own_words(body) == own


def test_words_that_are_left(adbench):
    assert adbench.cleaned("The U.S. price: 1000 dollars, of-late!") == "price 1000 dollars late"


@pytest.fixture
def posts(adbench):
    def made(rows):
        return adbench.Posts.of(rows)

    return made


def judged_as_known(topic):
    return topic != "sale"


def test_what_is_like_the_past_scores_lower(adbench, posts):
    past = [(True, "cars", f"engine wheel brake motor{row % 7}") for row in range(60)]
    judged = [(False, "cars", f"brake engine wheel motor{row}") for row in range(7)]
    others = [(True, "sale", "sale offer price"), (False, "sale", "offer cheap price"), (True, "sale", "of")]
    n_past, n_judged, n_anomalous, found = adbench.measured(posts(past + judged + others), judged_as_known)
    assert (n_past, n_judged, n_anomalous) == (60, 9, 2)
    assert found == {"levels": 100.0, "adaptive": 100.0, "5 nearest by words": 100.0}


def test_vectors_beside_words_are_ranks_by_length(adbench, posts, rng):
    kept = posts([(row < 60, "cars", f"engine brake motor{row % 9} wheel{row % 4}") for row in range(70)])
    vectors = rng.normal(size=(70, 6))
    found = adbench.scores(kept._replace(vectors={"given": vectors}), np.arange(60), np.arange(60, 70))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = unit - unit[:60].mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    alone = 1.0 - np.sort(unit[60:] @ unit[:60].T, axis=1)[:, -5:].mean(axis=1)
    assert np.allclose(found["5 nearest by given"], alone)
    mixed = (rankdata(found["levels"]) + 2.0 * rankdata(alone)) / 3.0  # four words a post: a = 2/3
    assert np.allclose(found["levels and given, ranks by length"], mixed)


def test_a_normal_topic_left_out_of_the_past_is_what_is_new(adbench, posts):
    topics = {"cars": "engine wheel brake", "space": "rocket orbit moon", "sale": "offer price cheap"}
    rows = [(True, topic, f"{words} {topic}{row % 7}") for topic, words in topics.items() for row in range(50)]
    found = adbench.validated(posts(rows), judged_as_known)
    assert found["levels"] == found["5 nearest by words"] == found["1 nearest by words"] == 100.0
