"""The benchmark of made people who judge headlines: what it counts on a made watch is what one counts by hand."""

from dataclasses import replace

import newpages
import numpy as np
import pytest
from places import ROOT

from odl.alerts import views


@pytest.fixture
def verdicts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import verdicts

    for name, value in {"VISIT": 12, "FIRST": 4, "NEXT": 2}.items():
        monkeypatch.setattr(verdicts, name, value)
    return verdicts


@pytest.fixture
def stream(verdicts):
    """48 headlines in four visits, every third from a source that a person wants, the weaker ones."""
    periods = [one for one in newpages.watch(n_periods=98, unproven=2).periods if one.headlines]
    labels, dated, shown = {}, {}, []
    for at, period in enumerate(periods):
        wanted = at % 3 == 0
        headline = replace(period.headlines[0], t=8.0 - wanted + at / 1000, p=1e-3)
        documents = {
            row: replace(one, source="wanted.csv" if wanted else f"{at % 3}.csv")
            for row, one in period.documents_of.items()
        }
        shown.append(replace(period, headlines=(headline,), documents_of=documents))
        labels[period.t, headline] = {"wanted"} if wanted else set()
        dated[period.t, headline] = at % 3 == 1
    return verdicts.Judged(shown, labels, dated)


def test_people_want_labels_that_are_neither_rare_nor_common(verdicts, stream):
    assert [len(visit) for visit in stream.visits] == [12] * 4
    assert [*stream.people()] == [(0, "wanted")]


def test_measured_precision_is_that_of_the_lists(verdicts, stream, monkeypatch):
    plain = np.mean(
        [stream.wanted(views.rows_of(visit)[:4], "wanted").mean() for visit in stream.visits[2:]]
    )
    assert plain == 0, "wanted headlines are the weaker ones"
    before, gain, hidden, beyond, dated = stream.measure(0, "wanted", 2)
    assert (before, hidden) == (0, 0) and 0 <= beyond <= dated <= 4
    monkeypatch.setattr(verdicts, "WRONG", 0.0)
    monkeypatch.setattr(stream, "wanted", lambda rows, label: np.zeros(len(rows), dtype=bool))
    assert stream.measure(0, "wanted", 1)[1] == 0 and gain >= 0


def test_figures_of_a_stream(verdicts, stream):
    figures = verdicts.row_of(stream, 2)
    assert tuple(figures) == verdicts.COLUMNS and figures["people"] == 1
    assert figures["hidden"] == 0 and figures["random"] >= figures["plain"] == 0


def test_labels_of_documents(verdicts):
    assert verdicts.labels_of("redis_commits", {"text": "Fix CI of the cluster"}) == [
        "cluster",
        "tests",
    ]
    assert verdicts.labels_of("outbreaks", {"label2": "['Yellow fever', 'Cholera']"}) == [
        "Yellow fever",
        "Cholera",
    ]
    assert verdicts.labels_of("outbreaks", {"label2": ["Plague"]}) == ["Plague"]
    assert verdicts.labels_of("airline_tweets", {"airline": "Delta"}) == ["Delta"]
