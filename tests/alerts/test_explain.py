"""An explanation as a person reads it, line by line, of alerts that are made for each."""

from dataclasses import replace
from types import SimpleNamespace

import newpages
import numpy as np
import pytest
from scipy import sparse

from odl.alerts import explain
from odl.alerts.feedback import Entry
from odl.alerts.model import Near, Reason
from odl.files.documents import NO_TIME
from odl.stream.features import Features

DAY = 86_400_000


@pytest.fixture
def alert():
    (first, *_) = newpages.watch().periods[-1].alerts
    reasons = [Reason(f"w{n}", share) for n, share in enumerate([0.3] + 21 * [0.02])]
    reasons += [Reason(f"low{n}", -share) for n, share in enumerate([0.001, 0.002, 0.003, 0.014])]
    return replace(
        first, id="a:7", title="A title", members=("a:7", *(f"b:{n}" for n in range(11))), score=0.8, tail=0.015,
        reasons=tuple(reasons), context=0.1, meaning=0.04, time=40 * DAY, source="a.csv", line=7, url="", rank=3, t=11,
        topic=5, state="growing", topic_name=("duct tape", "nasa"),
        nearest=(Near(3, ("market", "price"), 0.314, "c:1", 2), Near(4, (), 0.2)),
    )  # fmt: skip


def test_a_document_line_by_line(alert):
    before = explain.Earlier("d:1", "One before", 38 * DAY, 9, 0.5)
    meant = explain.Earlier("d:2", "By meaning", NO_TIME, 8, 0.25)
    text = explain.document_text(alert, before, meant, False)
    assert text.splitlines() == [
        "A title",
        "  id: a:7  (1970-02-10, a.csv:7)",
        "  score 0.8000, number 3 of period 11; as high or higher: 1.5 % of recent",
        f"  one of 12 near-duplicates: a:7, {', '.join(f'b:{n}' for n in range(9))}",
        "  topic 5 [growing] duct tape, nasa",
        "",
        "  share of the score   word",
        "    0.3000   37.5 %   w0",
        *(f"    0.0200    2.5 %   w{n}" for n in range(1, 20)),
        "    0.0400    5.0 %   (2 more, none above 2.5 %)",
        "   -0.0200   -2.5 %   (low3, low2, low1 and 1 more: what speaks for what is known)",
        "    0.1000   12.5 %   (context: what no word of it has)",
        "    0.0400    5.0 %   (meaning: how far its vector is from those before)",
        "  nearest of the dictionary: atom 3 (cosine 0.31, topic 2, e.g. c:1): market, price",
        "  nearest of the dictionary: atom 4 (cosine 0.20)",
        "  most similar before: d:1 (cosine 0.50, last seen 1970-02-08, 2 days before, period 9) One before",
        "  nearest by meaning: d:2 (cosine 0.25, period 8) By meaning",
    ]


def test_what_a_document_does_not_have_is_not_told(alert):
    few = [Reason("w0", 0.5), Reason("low", -0.1), Reason("none", -1e-7)]
    bare = replace(alert, members=("a:7",), topic=0, context=0.0, meaning=0.0, nearest=(), reasons=tuple(few), title="")
    bare = replace(bare, time=NO_TIME, source="", text="of w0 in it", score=0.0)
    assert explain.document_text(bare, None, None, True).splitlines() == [
        "a:7",
        "  id: a:7  (no date)",
        "  score 0.0000, number 3 of period 11; warm-up: not compared with anything",
        "  of w0 in it",
        "",
        "  share of the score   word",
        "    0.5000   50.0 %   w0",
        "   -0.1000  -10.0 %   (low: what speaks for what is known)",
    ]


def test_a_topic_line_by_line(monkeypatch):
    """With all its documents, once each; without a place nothing is looked up."""
    watch = newpages.watch()
    topic = replace(
        watch.topics[1], name=("duct tape", "nasa"), sizes={9: 2, 10: 11}, earlier=3, atom=0, title="T" * 120
    )
    topic = replace(topic, history=[(9, "new"), (10, "growing")], birth=9, representative="a:1")
    feedback = (Entry("topic:1", "muted", "grows"), Entry("topic:2", "known"))
    watch = replace(watch, topics={1: topic}, feedback=feedback, place=None)
    lines = [
        "Topic 1 [growing] duct tape, nasa",
        "  first in period 9; 16 documents so far; e.g. a:1",
        f"      {'T' * 100}",
        "  you said: muted in periods in which it is not growing",
        "  the dictionary holds it in atom 0",
        "  history: new in 9, growing in 10",
        "  documents by period: 9: 2, 10: 11",
    ]
    assert explain.topic_text(watch, 1).splitlines() == lines
    assert "atom" not in explain.topic_text(replace(watch, topics={1: replace(topic, atom=-1)}), 1)
    of = [explain.Member(9, "a:1", "x" * 90, "a", 0), explain.Member(10, "a:2", "", "a", 0)]
    monkeypatch.setattr(explain, "members", lambda place, topics, silence: {1: of})
    assert explain.topic_text(replace(watch, place="somewhere"), 1).splitlines() == [
        *lines,
        "  all 2 documents:",
        f"    period 9: {'x' * 80}  (id: a:1)",
        "    period 10: a:2  (id: a:2)",
    ]
    monkeypatch.setattr(explain, "members", lambda place, topics, silence: {1: of * 9})
    told = explain.topic_text(replace(watch, place="somewhere"), 1)
    assert "  all 18 documents, near-duplicates among them:\n" in told


def test_the_most_similar_is_looked_for_before_the_document(monkeypatch):
    """In its own batch only above its row; of equal ones the first."""

    class Batch:
        def __init__(self, t):
            self.t, self.ids, self.titles = t, [f"{t}-{row}" for row in range(4)], ["T"] * 4
            self.times = np.arange(4) + 10 * t

    batches = {t: Batch(t) for t in range(3)}
    monkeypatch.setattr(explain.features, "read", lambda path: batches[int(path.rpartition("/")[2][:-3])])
    place = type("Place", (), {"features": "f"})

    def likest(row, **cosines):
        return explain.earlier(place, batches[2], row, lambda batch: np.array(cosines[f"t{batch.t}"]))

    found = likest(2, t0=[0.1, 0.5, 0.5, 0], t1=[0.5, 0, 0, 0], t2=[0, 0.4, 1, 1])
    assert found == ("0-1", "T", 1, 0, 0.5)
    assert likest(2, t0=[0, 0, 0, 0], t1=[0, 0, 0, 0], t2=[0, 0.4, 1, 1]) == ("2-1", "T", 21, 2, 0.4)
    assert likest(0, t0=[0, 0, 0, 0], t1=[0, 0, 0, 0], t2=[1, 1, 1, 1]) is None


def test_likeness_by_words_is_a_cosine_of_log_counts_and_past_idf(rng):
    """Of nine words, and of two stop words that weigh nothing."""

    class Data:
        t, n_before, n_initial, terms = 2, 50, 0, None
        weighed = Features.weighed

    data, other = Data(), Data()
    data.vocabulary = other.vocabulary = ["the", "and", *(f"word{number}" for number in range(9))]
    data.counts, other.counts = (
        sparse.csr_array(np.hstack([[[8, 8]] * 4, rng.integers(0, 3, (4, 9))]) * 1.0) for _ in range(2)
    )
    data.frequencies = np.array([50, 50, *rng.integers(0, 50, 7), 0, 0])  # two words are new

    def weighed(X):
        X = np.where(X > 0, 1 + np.log(np.maximum(X, 1)), 0) * np.log((1 + 50) / (1 + data.frequencies))
        X[:, :2] = 0
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    cosines = explain.by_words(data, 1)(data)
    rows = weighed(data.counts.toarray())
    assert np.corrcoef(cosines, rows @ rows[1])[0, 1] > 0.95 and np.isclose(cosines[1], 1)


def test_a_document_is_found_in_the_newest_period_that_has_it(tmp_path, monkeypatch):
    ids = {0: ["a", "b"], 2: ["b", "c"], 10: ["d", "a"]}
    for name in ("0.h5", "2.h5", "10.h5", ".2.h5.host-1-2.part", "notes.txt"):
        (tmp_path / name).touch()
    read = {str(tmp_path / f"{t}.h5"): SimpleNamespace(ids=names) for t, names in ids.items()}
    monkeypatch.setattr(explain.features, "read", read.__getitem__)
    place = SimpleNamespace(alerts=str(tmp_path), features=str(tmp_path))
    found = {name: explain.find(place, name) for name in "abcdz"}
    assert found == {"a": (10, 1), "b": (2, 0), "c": (2, 1), "d": (10, 0), "z": None}
