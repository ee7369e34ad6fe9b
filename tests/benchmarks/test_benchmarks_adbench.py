"""Texts of the benchmark that others made, cleaned as theirs, and its splits."""

import pytest
from places import ROOT


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


def test_what_is_like_the_past_scores_lower(adbench):
    past = [(True, False, f"engine wheel brake motor{row % 7}") for row in range(60)]
    judged = [(False, False, f"brake engine wheel motor{row}") for row in range(7)]
    others = [(True, True, "sale offer price"), (False, True, "offer cheap price"), (True, True, "of")]
    n_past, n_judged, n_anomalous, found = adbench.measured(past + judged + others)
    assert (n_past, n_judged, n_anomalous) == (60, 9, 2)
    assert found == {"levels": 100.0, "adaptive": 100.0, "five nearest": 100.0}
