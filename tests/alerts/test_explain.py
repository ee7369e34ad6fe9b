"""An explanation as a person reads it, line by line, of alerts that are made for each."""

from dataclasses import replace
from types import SimpleNamespace

import newpages
import numpy as np
import pytest
from scipy import sparse

from odl.alerts import events, explain
from odl.alerts.feedback import FeedbackLine
from odl.alerts.model import Document, Near, Reason
from odl.alerts.periods import Names
from odl.files.documents import NO_TIME
from odl.stream.features import FeatureFile

DAY = 86_400_000


@pytest.fixture(autouse=True)
def columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")


@pytest.fixture
def watch():
    return newpages.watch()


@pytest.fixture
def found(watch):
    reasons = [Reason(f"w{n}", share) for n, share in enumerate([0.3] + 21 * [0.02])]
    reasons += [Reason("dod", 0.0), Reason("jpeg", 0.0)]
    reasons += [Reason(f"low{n}", -share) for n, share in enumerate([0.001, 0.002, 0.003, 0.014])]
    return replace(
        watch.periods[-1].documents_of[0], id="a:7", title="A title", members=("a:7", *(f"b:{n}" for n in range(11))),
        score=0.8, tail=0.015, reasons=tuple(reasons), context=0.1, meaning=0.04, time=40 * DAY, source="a.csv",
        nearest=(Near(3, ("market", "price"), 0.314, "c:1"), Near(4, (), 0.2)), rank=3, url="", opening=(),
    )  # fmt: skip


def test_a_document_line_by_line(watch, found):
    before = Document(t=9, row=0, id="d:1", title="One before", source="", time=38 * DAY)
    meant = Document(t=8, row=0, id="d:2", title="By meaning", source="", time=NO_TIME)
    text = explain.document_text(watch, found, (before, 0.5), (meant, 0.25))
    assert text.splitlines() == [
        "A title",
        "  id: a:7  (1970-02-10, a.csv)",
        "  score 0.8000, number 3 of 2024-01-29 to 2024-02-04; as high or higher: 2 % of recent ones",
        f"  one of 12 near-duplicates: a:7, {', '.join(f'b:{n}' for n in range(9))}",
        "  headline: dod, render, jpeg (12 documents, usually <1)",
        "  event 5 [new] dod, render, jpeg",
        "    log-likelihood ratio 7.2, a document joins above 3.0: dod +4.5, jpeg +3.9, "
        "own words that it does not have",
        "      -1.2",
        "",
        "  share of the score   word",
        "    0.3000   37.5 %   w0",
        *(f"    0.0200    2.5 %   w{n}" for n in range(1, 20)),
        "    0.0400    5.0 %   (2 smaller shares)",
        "   -0.0200   -2.5 %   (low3, low2, low1, 1 more: words that lower the score)",
        "    0.1000   12.5 %   (context: part of the score that no word explains)",
        "    0.0400    5.0 %   (meaning: distance of its vector from earlier vectors)",
        "  nearest of the dictionary: atom 3 (cosine 0.31, e.g. c:1): market, price",
        "  nearest of the dictionary: atom 4 (cosine 0.20)",
        "  most similar before: d:1 (cosine 0.50, last seen 1970-02-08, 2 days before) One before",
        "  nearest by meaning: d:2 (cosine 0.25, period 8) By meaning",
    ]


def test_the_sum_of_own_words_is_the_evidence_that_events_use(watch):
    """Equation (1) of `odl.alerts.events`, by the code that decides."""
    event = watch.events[5]
    vocabulary = [one.word for one in event.words]
    X = sparse.csr_array(np.array([[1.0, 0, 1], [0, 0, 0], [1, 1, 1]]))
    rates = [
        sparse.csr_array(np.array([[getattr(one, name) for one in event.words]]))
        for name in ("inside", "before")
    ]
    for row, expected in zip(X.toarray(), events.likelihood(X, *rates)[:, 0], strict=True):
        words = [Reason(word, 0.1) for word, has in zip(vocabulary, row, strict=True) if has]
        document = replace(watch.periods[-1].documents_of[0], reasons=tuple(words))
        ratios = explain.own_likelihood(event, document)
        assert sum(ratio for *_, ratio in ratios) == pytest.approx(expected)


def test_what_a_document_does_not_have_is_not_told(watch, found):
    few = [Reason("w0", 0.5), Reason("low", -0.1), Reason("none", -1e-7)]
    bare = replace(
        found,
        members=("a:7",),
        event=0,
        context=0.0,
        meaning=0.0,
        nearest=(),
        reasons=tuple(few),
        title="",
    )
    bare = replace(bare, time=NO_TIME, source="", text="of w0 in it", score=0.0, t=1, row=30)
    assert explain.document_text(watch, bare, None, None).splitlines() == [
        "a:7",
        "  id: a:7  (no date)",
        "  score 0.0000, number 3 of 2023-11-20 to 2023-11-26; unproven",
        "  of w0 in it",
        "",
        "  share of the score   word",
        "    0.5000   50.0 %   w0",
        "   -0.1000  -10.0 %   (low: words that lower the score)",
    ]


def test_an_event_line_by_line(watch, monkeypatch):
    watch = replace(
        watch,
        feedback=(FeedbackLine("event:1", "muted", "grows"), FeedbackLine("event:2", "known")),
    )
    lines = [
        "Event 1 [ended] wheat, tonnes, yen",
        "  2023-12-04 to 2023-12-31; 36 documents",
        "  feedback.csv: muted in periods in which it is not growing",
        "  states: new 2023-12-04, ongoing 2023-12-11, ended 2024-01-08",
        "  documents: █▇▆▄  (a block is a period; most on 2023-12-04: 12)",
        "",
        "  own word                inside    before",
        "  wheat                     90 %       1 %",
        "  tonnes                    70 %       1 %",
        "  yen                       50 %       1 %",
        "  A document belongs if the sum of its log-likelihood ratios is above 3.0.",
    ]
    assert explain.event_text(watch, 1).splitlines() == lines
    of = [Document(t=3, row=n, id=f"a:{n}", title="x" * 90, source="a", time=0) for n in range(30)]
    of += [Document(t=4, row=0, id="posts.jsonl:3000", title="", source="a", time=0)]
    monkeypatch.setattr(explain, "read_members", lambda place, events: {1: of})
    monkeypatch.setattr(explain.facets, "count_facets", lambda place, spans: {})
    told = explain.event_text(replace(watch, place="somewhere"), 1).splitlines()[len(lines) :]
    assert told[1] == "  31 documents, central ones first:" and told[-1] == "    and 11 more"
    assert told[2] == "    1970-01-01  posts.jsonl:3000  (id: posts.jsonl:3000)" and len(told) == 23
    assert max(map(len, told)) <= 110


def test_a_thousand_periods_are_one_line_of_blocks(watch):
    event = watch.events[1]
    text, each = explain.draw_chart(replace(event, birth=0, sizes=dict.fromkeys(range(1000), 3)), 0)
    assert len(text) <= 60 and each == 17 and text[0] == "█"
    assert explain.draw_chart(replace(event, birth=5, sizes={5: 1}), 0) == ("█", 1)
    late = replace(event, birth=3, sizes={3: 1, 4: 8, 6: 2})
    assert explain.draw_chart(late, 0) == ("▁█·▂", 1) and explain.draw_chart(late, 4) == ("█·▂", 1)


def test_a_number_is_an_event_unless_a_document_has_it_as_id(watch, monkeypatch):
    monkeypatch.setattr(
        explain, "find_document", lambda place, what: (2, 7) if what in ("3", "d1") else None
    )
    named = {
        what: explain.find_named(watch, what)
        for what in ("3", "event:3", "topic:3", "#4", "5", "d1", "99", "²")
    }
    assert named == {
        "3": ((2, 7), 0), "event:3": (None, 3), "topic:3": (None, 3), "#4": (None, 4), "5": (None, 5),
        "d1": ((2, 7), 0), "99": (None, 0), "²": (None, 0),
    }  # fmt: skip
    assert explain.feedback_name(watch, "topic:4") == explain.feedback_name(watch, "4") == "event:4"


def test_the_most_similar_is_looked_for_before_the_document(monkeypatch):
    """In its own batch only above its row; of equal ones the first."""

    class Batch:
        def __init__(self, t):
            self.t = t

    def read_names(path):
        t = int(path.rpartition("/")[2][:-3])
        return Names([f"{t}-{row}" for row in range(4)], ["T"] * 4, [""] * 4, np.arange(4) + 10 * t)

    monkeypatch.setattr(explain.periods, "read_names", read_names)
    batches = {t: Batch(t) for t in range(3)}
    monkeypatch.setattr(
        explain.features, "read", lambda path: batches[int(path.rpartition("/")[2][:-3])]
    )
    place = SimpleNamespace(features="f", alerts="a")

    def likest(row, **cosines):
        return explain.most_similar(
            place, batches[2], row, lambda batch: np.array(cosines[f"t{batch.t}"])
        )

    found = likest(2, t0=[0.1, 0.5, 0.5, 0], t1=[0.5, 0, 0, 0], t2=[0, 0.4, 1, 1])
    assert found == (Document(t=0, row=1, id="0-1", title="T", time=1, source=""), 0.5)
    found = likest(2, t0=[0, 0, 0, 0], t1=[0, 0, 0, 0], t2=[0, 0.4, 1, 1])
    assert found == (Document(t=2, row=1, id="2-1", title="T", time=21, source=""), 0.4)
    assert likest(0, t0=[0, 0, 0, 0], t1=[0, 0, 0, 0], t2=[1, 1, 1, 1]) is None


def test_likeness_by_words_is_a_cosine_of_log_counts_and_past_idf(rng):
    """Of nine words, and of two stop words that weigh nothing."""

    class Data:
        t, n_before, n_initial, terms = 2, 50, 0, None
        weighed = FeatureFile.weighed

    data, other = Data(), Data()
    data.vocabulary = other.vocabulary = ["the", "and", *(f"word{number}" for number in range(9))]
    data.counts, other.counts = (
        sparse.csr_array(np.hstack([[[8, 8]] * 4, rng.integers(0, 3, (4, 9))]) * 1.0)
        for _ in range(2)
    )
    data.frequencies = np.array([50, 50, *rng.integers(0, 50, 7), 0, 0])  # two words are new

    def weighed(X):
        X = np.where(X > 0, 1 + np.log(np.maximum(X, 1)), 0) * np.log(
            (1 + 50) / (1 + data.frequencies)
        )
        X[:, :2] = 0
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    cosines = explain.compare_words(data, 1)(data)
    rows = weighed(data.counts.toarray())
    assert np.corrcoef(cosines, rows @ rows[1])[0, 1] > 0.95 and np.isclose(cosines[1], 1)


def test_a_document_is_found_in_the_newest_period_that_has_it(tmp_path, monkeypatch):
    """A period after a gap belongs to an earlier, longer run."""
    ids = {0: ["a", "b"], 1: ["b", "c"], 2: ["d", "a"], 4: ["z"]}
    for name in ("0.h5", "1.h5", "2.h5", "4.h5", ".2.h5.host-1-2.part", "notes.txt"):
        (tmp_path / name).touch()
    read = {str(tmp_path / f"{t}.h5"): SimpleNamespace(ids=names) for t, names in ids.items()}
    monkeypatch.setattr(explain.features, "read", read.__getitem__)
    place = SimpleNamespace(alerts=str(tmp_path), features=str(tmp_path))
    found = {name: explain.find_document(place, name) for name in "abcdz"}
    assert found == {"a": (2, 1), "b": (1, 0), "c": (1, 1), "d": (2, 0), "z": None}
