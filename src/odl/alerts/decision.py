"""Decision on a scored period: its p-value, headlines, events, and lone documents."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import authors, calibration, events, gates, hashtags, headlines, phrasing, surprise
from odl.alerts.model import NO_EVENT, STATES, Headline
from odl.files.documents import NO_TIME

# Smallest number of documents with a headline's word in the text; one title with the word suffices
# too.
MIN_HEADLINE_DOCUMENTS = 2
# Log-odds above which documents belong to an event that is new in the period.
MIN_LOG_ODDS = np.log(3)
# If a headline about words has this share of the documents above the usual number, it explains the
# volume of the period.
EXPLAINED_VOLUME = 0.5
STORED_BELOW = 5  # headlines below the level that are stored of a period
MAX_HEADLINES = 20  # largest number of possible headlines that are tested in a period
STORED_NOVEL = 5  # number of most novel documents that are stored for a period
HEADLINE_WORDS = 12  # words stored of each headline, the strongest first
UNPROVEN_EXAMPLES = 3  # example documents stored for each headline that is not reported
DAY_MS = 86_400_000  # milliseconds of a day


class PeriodDocuments(NamedTuple):
    """Documents of one period, as `decide` takes them.

    Attributes
    ----------
    t : int
        Number of the period; 0 is the first batch.
    first : ndarray of int64, shape (n_documents,)
        First near-duplicate of each document in the period: itself, or a row before it.
    repeats : ndarray of bool, shape (n_documents,)
        Whether a near-duplicate came in an earlier period.
    Q : csr_array, shape (n_documents, n_terms)
        Weights of terms; rows have unit l2 norm.
    counts, titled : csr_array, shape (n_documents, n_terms)
        Counts of words without stop words, in texts and in titles.
    vocabulary : list of str
    frequencies : ndarray of int64, shape (n_terms,)
        Documents before the period that have each term.
    n_before : int
        Documents before the period.
    times : ndarray of int64
        Milliseconds since 1970; `odl.files.documents.NO_TIME` where unknown.
    sources : list of str
        File of each document; empty if unknown.
    texts : callable
        Returns the texts of rows; an empty list if texts are not stored.
    languages : list of str or None
        Language of each document; None if languages are not detected.
    authors : sequence of str
        Author of each document, empty if unknown; no entries if no document has an author.
    new_numbers : ndarray of int64 or None
        New number of each term of the previous period (-1: removed); None if numbers did not
        change.
    numbers : dict of str to int, or None
        Term of each word; by default computed from `vocabulary`.
    """

    t: int
    first: np.ndarray
    repeats: np.ndarray
    Q: sparse.csr_array
    counts: sparse.csr_array
    titled: sparse.csr_array
    vocabulary: list
    frequencies: np.ndarray
    n_before: int
    times: np.ndarray
    sources: list
    texts: Callable = lambda rows: []
    languages: list | None = None
    authors: Sequence = ()
    new_numbers: np.ndarray | None = None
    numbers: dict | None = None


class StreamHistory(NamedTuple):
    """State that is carried from the decision on one period to the next.

    Attributes
    ----------
    events : odl.alerts.events.EventMemory
    words : odl.alerts.surprise.WordHistory
    gates : odl.alerts.gates.GateHistory
    told : ndarray of int64
        Numbers of the events that had headlines in the last period.
    recent : ndarray of float64
        Scores of the last documents.
    """

    events: events.EventMemory
    words: surprise.WordHistory
    gates: gates.GateHistory
    told: np.ndarray
    recent: np.ndarray

    @classmethod
    def nothing(cls):
        """Return the empty history before the first period."""
        return cls(
            events.empty_memory(),
            surprise.WordHistory(),
            gates.GateHistory(),
            np.zeros(0, dtype=np.int64),
            np.zeros(0),
        )


# Fields of `StreamHistory` that consist of fields themselves, and their types.
PARTS = {"events": events.EventMemory, "words": surprise.WordHistory, "gates": gates.GateHistory}


def as_arrays(past):
    """Return a `StreamHistory` as a dict for a file.

    Its values are arrays, sparse matrices and lists of strings. The keys are "told", "recent", and
    for example "words_titles" for the field `titles` of `StreamHistory.words`.
    """
    arrays = {"told": past.told, "recent": past.recent}
    for component, kind in PARTS.items():
        for name in kind.__annotations__:
            value = getattr(getattr(past, component), name)
            arrays[f"{component}_{name}"] = (
                np.array([value]) if isinstance(value, (int, float)) else value
            )
    return arrays


def from_arrays(arrays):
    """Return the `StreamHistory` from a dict that `as_arrays` returned."""
    parts = {}
    for component, kind in PARTS.items():
        values = {name: arrays[f"{component}_{name}"] for name in kind.__annotations__}
        numbers = {
            name: type_ for name, type_ in kind.__annotations__.items() if type_ in (int, float)
        }
        parts[component] = kind(
            **values | {name: number(values[name][0]) for name, number in numbers.items()}
        )
    return StreamHistory(**parts, told=arrays["told"], recent=arrays["recent"])


class Decision(NamedTuple):
    """What was decided about one period: its p-values, headlines, events and new documents.

    Attributes
    ----------
    tail : ndarray of float64, shape (n_documents,)
        Tail probability of the score of each document.
    unproven : bool
        Whether there are too few earlier scores for alerts.
    items : ndarray of int64
        Rows of the documents that are no near-duplicate of an earlier row.
    p : float
        Smallest p of the gates, each divided by its share of the level.
    gates : dict of str to float
        p of each gate that could be tested, not divided by its share.
    speaks : bool
        Whether the period has a headline that opened a gate.
    usual : float
        Usual number of documents of a period; 0 if unknown.
    headlines, below : list of odl.alerts.model.Headline
        Headlines that opened a gate, and the strongest headlines that opened none.
    novel : ndarray of int64
        Rows of the most novel items.
    event : ndarray of int64, shape (n_documents,)
        Number of the event of each document; 0 if it has none.
    sizes : dict of int to int
        Number of documents of each event.
    changes : list of (int, str)
        Events and their new states.
    born : list of int
        Numbers of new events.
    """

    tail: np.ndarray
    unproven: bool
    items: np.ndarray
    p: float
    gates: dict
    speaks: bool
    usual: float
    headlines: list
    below: list
    novel: np.ndarray
    event: np.ndarray
    sizes: dict
    changes: list
    born: list


def decide(documents, scored, past, settings):
    """Decide what is new in a period.

    Parameters
    ----------
    documents : PeriodDocuments
    scored : odl.novelty.Novelty
    past : StreamHistory
    settings : odl.config.sections.Alerts

    Returns
    -------
    decision : Decision
    history : StreamHistory
        History for the next period. Its `recent` is not updated: the caller appends the scores of
        the period.
    """
    return _PeriodDecision(documents, scored, past, settings).decide()


class _PeriodDecision:
    """Computes the decision on one period; `decide` is called once.

    Attributes
    ----------
    items : ndarray of int64
        Rows of the documents that are no near-duplicate of an earlier row.
    with_words : ndarray of int64
        Rows of the `items` that have words.
    rows : ndarray of int64
        Documents `with_words` that repeat no document of an earlier period; only they can be news.
        Rows of `X`, `both` and drafts are positions in `rows`.
    X, both : csr_array
        Word counts of the documents `rows`: in texts, and in texts and titles together.
    counts, new : odl.alerts.surprise.Counts
        Number of documents with each word among `with_words`, and among `rows`.
    memory : odl.alerts.events.EventMemory
    event : ndarray of int64
        Number of the event of each document; 0 while unknown.
    p_values : dict of str to float
        p of each gate.
    evidence : odl.alerts.surprise.Evidence
        Evidence of the words of the period, once the gate of words is tested.
    log_odds : dict of int to float
        Event that is new in this period -> log-odds that a document of the period belongs to it.
    """

    def __init__(self, documents, scored, past, settings):
        n_terms = documents.counts.shape[1]
        self.past = past._replace(
            words=past.words.moved(documents.new_numbers, n_terms),
            events=events.move_terms(past.events, documents.new_numbers, n_terms),
        )
        memory = self.past.events
        event_terms = np.concatenate([memory.inside.indices, memory.members.indices])
        self.documents = documents = hashtags.join_hashtags(documents, event_terms)
        self.scored, self.settings = scored, settings
        self.tail, self.unproven = calibration.tails(scored, past.recent, settings.warm_up)
        self.items = np.flatnonzero(documents.first == np.arange(len(documents.first)))
        with_words = self.with_words = self.items[~scored.empty[self.items]]
        self.rows = with_words[~documents.repeats[with_words]]
        self.X = surprise.take_rows(documents.counts, self.rows)
        titled = surprise.take_rows(documents.titled, self.rows)
        self.both = sparse.csr_array(self.X + titled)
        self.new = self.counts = self._count(self.rows)
        if len(with_words) > len(self.rows):
            self.counts = self._count(with_words)
        self.barred = authors.barred_words(documents, self.rows)
        self.memory, self.event = self.past.events, np.zeros(len(documents.first), dtype=np.int64)
        self.p_values, self.log_odds = {}, {}

    def decide(self):
        """Return the `Decision` and the `StreamHistory` for the next period.

        The order matters: gates are tested first, events are given to headlines next, and other
        documents join events last.
        """
        t = self.documents.t
        candidates, volume, lone, usual, history = self._test_gates()
        shown, born = [], []
        if not self.unproven:
            shown, born = self._select_headlines(candidates, volume, lone)
        headline_events = sorted({headline.event for headline in shown if headline.event})
        self._let_documents_join()
        self.memory, sizes, changes = events.count_period(
            self.memory, t, self.event, headline_events
        )
        shown = [self._with_state(headline) for headline in shown]
        quiet = [draft for draft in candidates if self.unproven or not draft.gate]
        below = [self._headline(draft._replace(gate="")) for draft in quiet[:STORED_BELOW]]
        content = self._without_frequent_words(self.X)
        self.memory = events.remember_period(self.memory, t, content)
        p = 1.0 if self.unproven else self._smallest_p()
        decision = Decision(
            tail=self.tail, unproven=self.unproven, items=self.items, p=p, gates=self.p_values,
            speaks=bool(shown), usual=usual, headlines=shown, below=below,
            novel=self._most_novel(), event=self.event, sizes=sizes, changes=changes, born=born,
        )  # fmt: skip
        words = self.past.words.after(self.counts, self._count_of_no_event())
        numbers = np.array(headline_events, dtype=np.int64)
        return decision, StreamHistory(self.memory, words, history, numbers, self.past.recent)

    def _test_gates(self):
        """Test the period by all gates; store their p in `p_values`.

        Returns
        -------
        candidates : list of odl.alerts.headlines.Draft
            Possible headlines about words, the strongest first, also those that open no gate.
        volume, lone : list of odl.alerts.model.Headline
            Headlines about numbers of documents and about lone documents.
        usual : float
            Usual number of documents of a period.
        history : odl.alerts.gates.GateHistory
            History for the next period.
        """
        history, candidates, lone = self.past.gates, [], []
        tested = self.documents.t > 0 and len(self.rows) > 0 and self.settings.gates
        if tested:
            candidates, history = self._judge_words(history)
            candidates, history = self._judge_two_periods(candidates, history)
        volume, usual, history = self._judge_volume(history)
        if tested:
            lone, history = self._judge_lone(history)
        return candidates, volume, lone, usual, history

    def _select_headlines(self, candidates, volume, lone):
        """Open or find the events of the headlines; return (headlines, numbers of new events).

        Headlines are sorted by decreasing evidence. A lone document that another headline contains
        is left out. So is a headline about volume that a headline about words explains.
        """
        shown, born = self._assign_events([draft for draft in candidates if draft.gate])
        volume = [
            headline
            for headline in volume
            if not any(_explains(other, headline) for other in shown)
        ]
        covered = {row for headline in shown for row in headline.rows}
        lone = [headline for headline in lone if headline.rows[0] not in covered]
        return sorted([*volume, *shown, *lone], key=lambda headline: -headline.t), born

    def _smallest_p(self):
        """Return min(1, smallest p / share over all gates), the p of the period."""
        shares = gates.LEVEL_SHARES
        return float(min([1.0, *(p / shares[gate] for gate, p in self.p_values.items())]))

    def _most_novel(self):
        """Return the rows of the documents to store as most novel, by decreasing score.

        If gates are disabled, each alert is a single document. Twice the number of documents that
        may be shown is then stored, so that a document can replace one that a user mutes.
        """
        n_stored = STORED_NOVEL
        if not self.settings.gates:
            n_stored = max(n_stored, 2 * self.settings.room(len(self.items)))
        order = np.argsort(-self.scored.score[self.rows], kind="stable")
        return self.rows[order[:n_stored]]

    def _count(self, rows):
        """Return the number of documents with each word, in text and in title.

        Documents of one author count once.
        """
        X = surprise.take_rows(self.documents.counts, rows)
        titled = surprise.take_rows(self.documents.titled, rows)
        if any(self.documents.authors):
            numbers = authors.author_numbers([self.documents.authors[row] for row in rows.tolist()])
            X, titled = authors.join_by_author(X, numbers), authors.join_by_author(titled, numbers)
        return surprise.Counts.from_documents(X, titled)

    def _count_of_no_event(self):
        """Return the word counts of the documents without an event.

        The gate "two periods" uses these counts in the next period; the documents of an event would
        make its words new again.
        """
        free = self.event[self.with_words] == NO_EVENT
        return self.counts if free.all() else self._count(self.with_words[free])

    # Gates. Each method returns (headlines, updated `GateHistory`) and stores p in `p_values`.

    def _judge_words(self, history):
        """Test the words of the period; return (candidates, strongest first; history)."""
        documents, n, level = self.documents, self.counts.n, self.settings.level
        counts = self.counts.where(self.new.words >= MIN_HEADLINE_DOCUMENTS, self.new.titles > 0)
        self.evidence = surprise.evidence(counts, *self.past.words.before(), MIN_HEADLINE_DOCUMENTS)
        terms = self._nameable_terms(self.evidence, self.counts)
        drafts = headlines.group_terms(
            terms, self.evidence, self.both, documents.frequencies == 0, MAX_HEADLINES
        )
        share, double = gates.LEVEL_SHARES["words"], n < surprise.FEW
        largest = _largest(self.evidence, terms)
        law, self.p_values["words"], after = gates.judge_words(
            history.words, largest, n, double, level * share
        )
        candidates = []
        for draft in drafts:
            p = law.p_value(draft.t) / share
            gate = "words" if p <= level else ""
            if not gate and 0 < self.settings.certain <= min(draft.t_all, draft.t_recent):
                gate = "certain"
            candidates.append(draft._replace(p=p, gate=gate))
        return candidates, history._replace(words=after)

    def _judge_two_periods(self, candidates, history):
        """Test the words of this and the last period together; return (candidates, history).

        The gate opens only if the strongest word is in a candidate with several words, because
        events change several words. Then the word is put first in this candidate, unless the
        candidate opens a gate itself.
        """
        if self.documents.t < 2 or not self.past.words.n_last:
            return candidates, history
        counts, evidence = self._evidence_of_two_periods()
        terms = self._nameable_terms(evidence, counts)
        share, double = gates.LEVEL_SHARES["two periods"], counts.n < surprise.FEW
        largest, level = _largest(evidence, terms), self.settings.level
        _, p, after = gates.judge_words(history.pairs, largest, counts.n, double, level * share)
        self.p_values["two periods"] = 1.0
        for index, draft in enumerate(candidates):
            if len(draft.terms) == 1 or not np.isin(terms[:1], draft.terms).any():
                continue
            self.p_values["two periods"] = p
            if p / share <= level and not draft.gate:
                words = np.append(terms[:1], draft.terms[draft.terms != terms[0]])
                rows = surprise.rows_with(self.both, terms[0])
                candidates[index] = draft._replace(
                    terms=words, rows=rows, p=p / share, gate="two periods"
                )
        return candidates, history._replace(pairs=after)

    def _evidence_of_two_periods(self):
        """Return word counts in this and the last period together, and their evidence.

        The counts of words that this period does not have are set to 0. The own words of events
        with headlines in the last period are not new, so their t is set to 0.
        """
        past = self.past.words
        present = (self.new.words > 0) | (self.new.titles > 0)
        last_counts = surprise.Counts(past.last, past.last_titles, past.n_last)
        counts = self.counts.plus(last_counts).where(present, present)
        evidence = surprise.evidence(
            counts, *past.before_last(), MIN_HEADLINE_DOCUMENTS, MIN_HEADLINE_DOCUMENTS
        )
        had_headline = np.flatnonzero(np.isin(self.memory.number, self.past.told))
        own_words = self.memory.weight[had_headline].indices
        for values in (evidence.t, evidence.plain, evidence.doubled):
            values[own_words] = 0.0
        return counts, evidence

    def _nameable_terms(self, evidence, counts):
        """Return the terms that may be in headlines, the largest evidence first."""
        documents = self.documents
        return headlines.find_terms(
            evidence,
            counts,
            documents.frequencies,
            documents.n_before,
            documents.vocabulary,
            self.barred,
        )

    def _judge_volume(self, history):
        """Test the number of documents of the period, and of each source.

        Returns
        -------
        headlines : list of odl.alerts.model.Headline
        usual : float
            Usual number of documents of a period.
        history : odl.alerts.gates.GateHistory
        """
        documents, n = self.documents, len(self.documents.first)
        weekday = _weekday(documents.times)
        if documents.t == 0:
            return [], 0.0, history
        counts = Counter(documents.sources)
        history = gates.track_sources(history, counts)
        p, usual = gates.judge_volume(n, history.volume, weekday)
        tests = gates.judge_sources(history, counts, n, weekday)  # source -> (p, usual count)
        if tests:  # half of the level is for all documents, half for the sources together
            p *= 2
            tests = {
                row: (2 * len(tests) * p_source, usual_count)
                for row, (p_source, usual_count) in tests.items()
            }
        if len(history.volume) >= gates.MIN_VOLUME_PERIODS and self.settings.gates:
            self.p_values["volume"] = min([p, *(p_source for p_source, _ in tests.values())])
        level = self.settings.level * gates.LEVEL_SHARES["volume"]
        volume_headlines, is_unusual = [], p <= level
        if is_unusual:
            volume_headlines.append(
                self._volume_headline((), np.arange(n), usual, p, history.told_volume)
            )
        names = np.array(documents.sources)
        unusual_sources = {row for row, (p_source, _) in tests.items() if p_source <= level}
        for row in sorted(unusual_sources):
            p_source, usual_count = tests[row]
            source, last_count = history.sources[row], history.told_sources[row : row + 1]
            rows = np.flatnonzero(names == source)
            volume_headlines.append(
                self._volume_headline((source,), rows, usual_count, p_source, last_count)
            )
        source_counts, told_sources = gates.remember_sources(
            history, counts, weekday, unusual_sources
        )
        return volume_headlines, usual, history._replace(
            volume=gates.remember_volume(history.volume, n, weekday, is_unusual),
            told_volume=np.array([float(n) if is_unusual else 0.0]),
            source_counts=source_counts, told_sources=told_sources,
        )  # fmt: skip

    def _volume_headline(self, source, rows, usual, p, last_count):
        """Return a headline about an unusual number of documents.

        `source` is () for all documents, or (name,) for one source. `last_count` is an array with
        the number of documents in the last period's headline about the same source, if there was
        one. The new headline is marked as repeated if its number of documents is not larger.
        """
        inside = np.flatnonzero(np.isin(self.rows, rows))
        return Headline(
            name=("volume", *source), words=(), t=0.0, t_all=0.0, t_recent=0.0,
            rows=tuple(rows.tolist()), usual=usual, p=p / gates.LEVEL_SHARES["volume"],
            gate="volume",
            repeated=bool(0 < len(rows) <= last_count.max(initial=0.0)),
            examples=tuple(self._examples(inside, headlines.STORED_EXAMPLES)),
        )  # fmt: skip

    def _judge_lone(self, history):
        """Test the highest scores; return (headlines of lone documents, history)."""
        rows = self.rows[np.diff(self.X.indptr) >= gates.MIN_LONE_WORDS]
        score, share = self.scored.score[rows], gates.LEVEL_SHARES["lone"]
        p_values = gates.judge_lone(score, self.past.recent, history, len(rows))
        if len(self.past.recent) > gates.MIN_EXCESSES:
            self.p_values["lone"] = float(p_values.min(initial=1.0))
        highest = np.append(history.highest, score.max(initial=-np.inf))[-gates.HISTORY :]
        lone = [
            Headline((), (), 0.0, 0.0, 0.0, (row,), 0.0, float(p / share), "lone", examples=(row,))
            for row, p in zip(rows.tolist(), p_values.tolist(), strict=True)
            if p / share <= self.settings.level
        ]
        return lone, history._replace(highest=highest)

    # Events

    def _assign_events(self, drafts):
        """Give each draft an event; return (headlines, numbers of new events).

        A draft gets the event whose own words have half the weight of the draft's words. If there
        is none, it gets the event of its documents (`_event_of`). If there is none either, a new
        event is opened. Of several drafts with the same event only the first becomes a headline.
        """
        shown, born, covered = [], [], set()
        for draft in drafts:
            weights = self.evidence.t[draft.terms] + headlines.MIN_T
            number = events.find_event(self.memory, draft.terms, weights)
            number = number or self._event_of(draft.rows)
            if number in covered:
                continue
            headline = self._headline(draft)
            if not number:
                self.memory, number = events.open_event(
                    self.memory, self.documents.t, headline.name
                )
                born.append(number)
                self._preview(number, draft)
            covered.add(number)
            rows = self.rows[draft.rows]
            self.event[rows[self.event[rows] == NO_EVENT]] = number
            shown.append(replace(headline, event=number))
        return shown, born

    def _preview(self, number, draft):
        """Estimate a new event from its headline's documents, and again from all probable members.

        Later candidates of the same period are compared with the estimate, which is not stored.
        """
        self._estimate(number, draft.rows, draft.terms[:1], False)
        share = min(0.5, len(draft.rows) / len(self.rows))
        self.log_odds[number] = np.log(share / (1 - share))
        members = np.flatnonzero(
            self._log_likelihood(number, self.both) + self.log_odds[number] > 0
        )
        self._estimate(number, np.union1d(draft.rows, members), draft.terms[:1], False)

    def _log_likelihood(self, number, X):
        """Return the log-likelihood ratio of each document for belonging to an event."""
        row = [self.memory.row(number)]
        return events.likelihood(X, self.memory.inside[row], self.memory.before[row])[:, 0]

    def _event_of(self, rows):
        """Return the number of the event that the documents in `rows` belong to, or 0.

        If at least half of the documents join an open event, this event is returned. Otherwise,
        the result is the most likely event that is new in this period, if its posterior odds are
        above 3. They are computed from the event's share of the period and the words of all
        documents.
        """
        X = self.both[rows]
        joins = events.join_events(self.memory, X)
        number = int(np.bincount(joins).argmax())
        if number and 2 * np.count_nonzero(joins == number) >= len(rows):
            return number
        sums = {
            number: self._log_likelihood(number, X).sum() + prior
            for number, prior in self.log_odds.items()
        }
        best = max(sums, key=sums.get, default=NO_EVENT)
        return best if best and sums[best] > MIN_LOG_ODDS else NO_EVENT

    def _let_documents_join(self):
        """Let documents join events, then estimate the own words of young events again."""
        free = self.event[self.rows] == NO_EVENT
        joins = events.join_events(self.memory, self.X)
        self.event[self.rows] = np.where(free, joins, self.event[self.rows])
        for row in np.flatnonzero(self.documents.t - self.memory.birth <= events.SETTLING).tolist():
            number = int(self.memory.number[row])
            rows = np.flatnonzero(self.event[self.rows] == number)
            if len(rows) and self.memory.state[row] != events.ENDED:
                first = self.memory.weight[[row]].indices
                self._estimate(number, rows, first, True)
        self.event = self.event[self.documents.first]  # near-duplicates belong to the same event

    def _estimate(self, number, rows, first, stored):
        """Estimate an event's own words from the documents `rows`; update `memory`.

        See `odl.alerts.events.estimate_event` for `first` and `stored`.
        """
        documents = self.documents
        self.memory = events.estimate_event(
            self.memory, documents.t, number, self.both, rows, documents.frequencies,
            documents.n_before, documents.vocabulary, first, stored,
        )  # fmt: skip

    def _with_state(self, headline):
        """Return a headline with the state of its event; repeated if the event is ongoing."""
        if not headline.event:
            return headline
        state = STATES[self.memory.state[self.memory.row(headline.event)]]
        return replace(headline, state=state, repeated=state == "ongoing")

    def _is_frequent(self, terms):
        """Return whether each term is in too many earlier documents to describe an event."""
        return (
            self.documents.frequencies[terms]
            > headlines.MAX_DOCUMENT_SHARE * self.documents.n_before
        )

    def _without_frequent_words(self, X):
        """Return a sparse matrix without the entries of too frequent terms (`_is_frequent`)."""
        rare = ~self._is_frequent(X.indices)
        totals = np.concatenate([[0], np.cumsum(rare)])
        return sparse.csr_array((X.data[rare], X.indices[rare], totals[X.indptr]), shape=X.shape)

    # Names and examples

    def _headline(self, draft):
        """Return a draft as a headline with its name and examples."""
        documents, term = self.documents, draft.terms[0]
        words = [documents.vocabulary[term] for term in draft.terms[:HEADLINE_WORDS].tolist()]
        name = headlines.name_headline(
            draft, self.evidence, documents.vocabulary,
            lambda rows: documents.texts(self.rows[rows]), self._period_texts,
        )  # fmt: skip
        usual = self.counts.n * (self.past.words.words[term] + 0.5) / (self.past.words.n + 1)
        n_examples = headlines.STORED_EXAMPLES if draft.gate else UNPROVEN_EXAMPLES
        return Headline(
            name=name, words=tuple(words), t=draft.t, t_all=draft.t_all, t_recent=draft.t_recent,
            rows=tuple(self.rows[draft.rows].tolist()), usual=float(usual), p=float(draft.p),
            gate=draft.gate, form=draft.form,
            examples=tuple(self._examples(draft.rows, n_examples)),
        )  # fmt: skip

    @cached_property
    def _period_texts(self):
        """Texts of the period, in which phrases are counted; read once."""
        documents = self.documents
        return phrasing.PeriodTexts.from_counts(
            documents.texts(self.rows), self.X, documents.vocabulary
        )

    @cached_property
    def _weights(self):
        """Term weights of the documents `rows`, and their languages or None."""
        languages = self.documents.languages
        return surprise.take_rows(self.documents.Q, self.rows), languages and [
            languages[row] for row in self.rows.tolist()
        ]

    def _examples(self, rows, max_examples):
        """Return the batch rows of the documents at positions `rows` closest to their centre."""
        weights, languages = self._weights
        return self.rows[headlines.find_central(weights, rows, languages, max_examples)].tolist()


def _explains(headline, volume):
    """Return whether a headline has most documents by which the volume exceeds the usual number."""
    shared = set(headline.rows) & set(volume.rows)
    return len(shared) >= EXPLAINED_VOLUME * (volume.size - volume.usual)


def _largest(evidence, terms):
    """Return the largest evidence of some terms, with titles counted once and counted double."""
    return [float(values[terms].max(initial=0.0)) for values in (evidence.plain, evidence.doubled)]


def _weekday(times):
    """Return the weekday of the day that contains all known times (Monday is 0).

    The result is -1 if the times are on several days, or if all are unknown.
    """
    days = times[times != NO_TIME] // DAY_MS
    # Day 0, 1970-01-01, was a Thursday (3).
    return int((days[0] + 3) % 7) if len(days) and (days == days[0]).all() else -1
