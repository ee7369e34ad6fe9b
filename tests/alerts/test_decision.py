"""Decisions on periods of made streams: what speaks, what is an event, what is carried."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from odl.alerts import decision, events, gates
from odl.alerts.decision import PeriodDocuments, StreamHistory, decide
from odl.config.sections import Alerts
from odl.corpora import read as read_corpus
from odl.files.documents import NO_TIME

N_TERMS, SIZE = 300, 60
VOCABULARY = [f"usual{term}" for term in range(N_TERMS - 6)] + [
    "calendar",
    "load",
    "blank",
    "queue",
    "timeout",
    "retry",
]
SETTINGS = Alerts(gates=True)
NONE = np.zeros(0, dtype=np.int64)


class Stream:
    """A made stream that is decided on period by period; some documents of a period have three words of an event."""

    def __init__(self, settings=SETTINGS, seed=0):
        self.rng, self.past, self.settings = (
            np.random.default_rng(seed),
            StreamHistory.nothing(),
            settings,
        )
        self.t, self.n, self.frequencies, self.scores = 0, 0, np.zeros(N_TERMS, dtype=np.int64), []
        self.rates = np.append(0.5 / np.arange(1, N_TERMS - 5), np.zeros(6))

    def period(
        self,
        events=(),
        size=SIZE,
        score=None,
        titles=False,
        authors=(),
        sources=None,
        repeats=0,
        also=(),
    ):
        """Decide on a period; events are pairs of the first of three words and the number of documents.

        The last `repeats` documents repeat earlier ones; `also` are words of further documents.
        """
        X = (self.rng.random((size, N_TERMS)) < self.rates).astype(float)
        titled = np.zeros_like(X)
        first = 0
        for term, members in events:
            X[first : first + members, term : term + 3] = 1
            titled[first : first + members, term : term + 3] = titles
            first += members
        for row, terms in enumerate(also, start=first):
            X[row, terms] = 1
        X, titled = sparse.csr_array(X), sparse.csr_array(titled)
        times = np.full(size, NO_TIME)
        arrivals = PeriodDocuments(self.t, np.arange(size), np.arange(size) >= size - repeats, X, X, titled, VOCABULARY,
                            self.frequencies, self.n, times, sources or [""] * size, authors=authors)  # fmt: skip
        scored = SimpleNamespace(
            score=self.rng.random(size) if score is None else score,
            empty=np.zeros(size, dtype=bool),
        )
        self.past = self.past._replace(recent=np.array(self.scores[-2000:]))
        decided, self.past = decide(arrivals, scored, self.past, self.settings)
        self.scores += scored.score.tolist() if self.t else []
        self.t, self.n = self.t + 1, self.n + size
        self.frequencies = self.frequencies + np.bincount(X.indices, minlength=N_TERMS)
        return decided

    def quiet(self, n=12):
        """Decide on periods without anything new."""
        return [self.period() for _ in range(n)]


def test_a_word_that_enters_is_a_headline_with_its_documents_and_an_event():
    stream = Stream()
    assert not any(decided.speaks for decided in stream.quiet())
    decided = stream.period([(294, 8)])
    (headline,) = decided.headlines
    assert decided.speaks and decided.p <= 0.01 and decided.born == [1]
    assert {*headline.words[:3]} == {"calendar", "load", "blank"} and headline.rows == tuple(
        range(8)
    )
    assert (
        headline.gate == "words"
        and headline.event == 1
        and headline.state == "new"
        and headline.usual < 0.1
    )
    assert decided.event[:8].tolist() == [1] * 8 and decided.sizes[1] >= 8
    assert {*headline.examples} <= {*range(8)}


def test_an_event_with_many_documents_keeps_its_own_words():
    stream = Stream()
    stream.quiet()
    for _ in range(3):
        stream.period([(294, 22)], also=[[294, 295, 296, 297]] * 8)
    # 60 of the 840 documents before the third period have the words 294 to 296, 7 %; 16 have 297.
    assert {*stream.past.events.words[0].split("\t")} >= {"calendar", "load", "blank"}


def test_day_two_is_the_same_event_and_is_told_if_it_grows():
    stream = Stream()
    stream.quiet()
    stream.period([(294, 8)])
    (same,) = stream.period([(294, 8)]).headlines
    assert same.event == 1 and same.state == "ongoing" and same.repeated
    (more,) = stream.period([(294, 30)]).headlines
    assert more.event == 1 and more.state == "growing" and not more.repeated


def test_two_events_of_one_period_are_two_headlines():
    stream = Stream()
    stream.quiet()
    decided = stream.period([(294, 8), (297, 7)])
    assert [one.event for one in decided.headlines] == [1, 2]
    assert stream.past.events.names == ["calendar\tload\tblank", "queue\ttimeout\tretry"]


def test_headlines_about_one_event_are_one():
    """Six documents have a word of their own, and one that half of the others have beside the word of the headline."""
    stream = Stream()
    stream.quiet()
    decided = stream.period(also=[[294, 24]] * 20 + [[294]] * 20 + [[24, 297]] * 6)
    assert [one.words[0] for one in decided.headlines] == ["calendar"] and decided.born == [1]


def test_a_headline_whose_documents_join_an_open_event_is_no_new_one():
    """Its words are new, its documents have the own words of the event before."""
    stream = Stream()
    stream.quiet()
    stream.period([(294, 12)])
    decided = stream.period(also=[[*range(294, 300)]] * 12)
    assert {one.event for one in decided.headlines} == {1} and decided.born == []


def test_a_stream_that_mostly_repeats_itself_is_not_deaf():
    stream = Stream()
    for _ in range(20):
        stream.period(repeats=SIZE - 1)
    (headline,) = stream.period([(294, 5)], repeats=SIZE - 5).headlines
    assert headline.words[0] == "calendar" and headline.size == 5 and headline.t > 5


def test_p_is_at_most_one():
    stream = Stream()
    assert all(decided.p <= 1 for decided in stream.quiet(20))


def test_a_quiet_period_has_headlines_below_the_bar_and_novel_documents():
    stream = Stream()
    decided = stream.quiet()[-1]
    assert not decided.headlines and 0 < len(decided.below) <= decision.STORED_BELOW
    assert all(one.gate == "" and one.p > 0.01 for one in decided.below)
    assert decided.novel.tolist() == np.argsort(-np.array(stream.scores[-SIZE:]))[:5].tolist()


def test_an_unproven_period_speaks_of_nothing_but_shows_words():
    stream = Stream()
    stream.period()
    decided = stream.period([(294, 20)])
    assert (
        decided.unproven
        and not decided.speaks
        and decided.below[0].words[0] == "calendar"
        and decided.p == 1
    )


def test_what_is_certain_speaks_where_something_enters_in_every_period():
    stream, told = Stream(), []
    stream.rates[:] = 0.002
    for t in range(20):
        stream.rates[6 * t : 6 * t + 6] = 0.25
        told.append(stream.period())
        stream.rates[6 * t : 6 * t + 6] = 0.0
    off = Stream(Alerts(gates=True, certain=0))
    assert off.settings.certain == 0 and any(
        one.gate == "certain" for decided in told for one in decided.headlines
    )


@pytest.mark.parametrize("several", [True, False])
def test_two_periods_together_speak_by_several_words_but_not_by_one(several):
    stream = Stream(seed=2)
    stream.quiet(20)
    documents = {"events": [(294, 2)]} if several else {"also": [[294], [294]]}
    assert not stream.period(**documents).speaks
    decided = stream.period(**documents)
    assert [one.gate for one in decided.headlines] == ["two periods"] * several
    assert (decided.gates["two periods"] < 0.0015) == several


def test_many_documents_are_a_headline_of_volume():
    stream = Stream()
    stream.quiet()
    decided = stream.period(size=400)
    (headline,) = [one for one in decided.headlines if one.gate == "volume"]
    assert (
        headline.size == 400
        and headline.usual == SIZE
        and decided.usual == SIZE
        and not headline.repeated
    )
    again = [one for one in stream.period(size=380).headlines if one.gate == "volume"]
    assert all(one.repeated for one in again)


@pytest.mark.parametrize(
    ("members", "gates_of_headlines"), [(250, {"words"}), (40, {"words", "volume"})]
)
def test_an_event_with_most_of_the_documents_is_no_volume_as_well(members, gates_of_headlines):
    stream = Stream()
    stream.quiet()
    decided = stream.period([(294, members)], size=400)
    assert {one.gate for one in decided.headlines} == gates_of_headlines


def test_many_documents_of_a_source_are_a_headline_of_its_volume():
    stream = Stream()
    usual = ["a.xml"] * 50 + ["b.xml"] * 10
    for _ in range(12):
        assert not stream.period(sources=usual).headlines
    decided = stream.period(size=110, sources=["a.xml"] * 50 + ["b.xml"] * 60)
    (one,) = [one for one in decided.headlines if one.name == ("volume", "b.xml")]
    assert (one.size, one.usual, one.repeated) == (60, 10, False)
    again = stream.period(size=110, sources=["a.xml"] * 50 + ["b.xml"] * 60)
    assert [one.repeated for one in again.headlines if one.name == ("volume", "b.xml")] == [True]


def test_one_author_counts_once():
    told = []
    for authors in (
        (),
        ["flooder"] * 12 + [""] * (SIZE - 12),
        [f"author{row}" for row in range(SIZE)],
    ):
        stream = Stream()
        stream.quiet()
        told.append(
            [one.words[0] for one in stream.period([(N_TERMS - 6, 12)], authors=authors).headlines]
        )
    assert told == [["calendar"], [], ["calendar"]]


@pytest.mark.parametrize("min_words", [gates.MIN_LONE_WORDS, N_TERMS])
def test_a_document_of_enough_words_speaks_alone(monkeypatch, min_words):
    monkeypatch.setattr(gates, "MIN_LONE_WORDS", min_words)
    stream = Stream()
    stream.quiet()
    score = stream.rng.random(SIZE)
    score[7] = 40.0
    headlines = stream.period(score=score).headlines
    expected = [("lone", (7,))] if min_words < N_TERMS else []
    assert [(one.gate, one.rows) for one in headlines] == expected


@pytest.mark.parametrize("titles", [False, True])
def test_a_title_counts_in_a_small_period(titles):
    stream = Stream()
    for _ in range(20):
        stream.period(size=12)
    decided = stream.period([(294, 1)], size=12, titles=titles)
    strongest = max([*decided.headlines, *decided.below], key=lambda one: one.t, default=None)
    assert (strongest is not None and strongest.words[0] == "calendar") == titles


def test_what_is_carried_is_the_same_from_arrays():
    one, other = Stream(), Stream()
    for stream in (one, other):
        stream.quiet(4)
        stream.period([(294, 8)])
    other.past = decision.from_arrays(decision.as_arrays(other.past))
    for _ in range(3):
        first, second = one.period([(294, 2)]), other.period([(294, 2)])
        assert first.p == second.p and first.headlines == second.headlines
        np.testing.assert_array_equal(first.event, second.event)
    for mine, yours in zip(
        decision.as_arrays(one.past).values(), decision.as_arrays(other.past).values(), strict=True
    ):
        same = (mine != yours).nnz == 0 if sparse.issparse(mine) else np.array_equal(mine, yours)
        assert same


def test_without_gates_only_documents_are_ranked():
    stream = Stream(Alerts(budget=3))
    stream.quiet(3)
    decided = stream.period([(294, 20)])
    assert not decided.headlines and not decided.below and len(decided.novel) == 6


@pytest.mark.long
def test_what_is_carried_of_a_real_stream_is_bounded(corpora):
    """Reuters by day: 58 days, the busiest of 1,128 documents."""
    stream = read_corpus("reuters21578", [corpora / "reuters21578" / "reuters21578.tar.gz"], {})
    days, past, n_terms = (
        stream.times // decision.DAY_MS,
        StreamHistory.nothing(),
        len(stream.vocabulary),
    )
    counts, most = (
        stream.counts.tocsr(),
        events.SAMPLE_SIZE + events.SAMPLE_GAP * events.SAMPLE_PER_PERIOD,
    )
    frequencies, n, sampled = np.zeros(n_terms, dtype=np.int64), 0, []
    for t, day in enumerate(np.unique(days).tolist()):
        rows = np.flatnonzero(days == day)
        X = sparse.csr_array(counts[rows])
        repeats, no_titles = np.zeros(len(rows), dtype=bool), sparse.csr_array(X.shape)
        arrivals = PeriodDocuments(t, np.arange(len(rows)), repeats, X, X, no_titles, stream.vocabulary, frequencies, n,
                                   stream.times[rows], [""] * len(rows))  # fmt: skip
        scored = SimpleNamespace(score=np.zeros(len(rows)), empty=np.zeros(len(rows), dtype=bool))
        _, past = decide(arrivals, scored, past._replace(recent=np.zeros(100)), SETTINGS)
        memory = past.events
        assert (
            memory.past.shape[0] == len(memory.past_t) <= most
            and np.bincount(memory.past_t).max() <= events.SAMPLE_PER_PERIOD
        )
        assert np.diff(memory.inside.indptr).max(initial=0) <= events.MAX_OWN_WORDS
        young = t - memory.birth < events.SETTLING
        assert np.diff(memory.members.indptr)[~young].sum() == 0
        assert np.diff(memory.members.indptr).max(initial=0) <= events.STORED_WORDS
        assert len(past.gates.words) <= gates.HISTORY and len(memory.number) <= events.MAX_EVENTS
        n, frequencies = n + len(rows), frequencies + np.bincount(X.indices, minlength=n_terms)
        sampled.append(memory.past.shape[0])
    assert (
        len(sampled) == 58
        and len(memory.number) > 10
        and sampled[-1] < events.SAMPLE_PER_PERIOD * 58
    )


def test_documents_of_an_event_are_not_counted_with_those_of_the_next_period():
    stream = Stream()
    stream.quiet()
    decided = stream.period([(294, 12)])
    of_event = np.count_nonzero(decided.event)
    assert decided.speaks and of_event >= 12
    assert stream.past.words.n_last == SIZE - of_event and stream.past.words.last[294] == 0
    assert stream.past.words.words[294] == 12
