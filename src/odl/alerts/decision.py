"""What is decided on a period once it has scores: headlines, events, documents that stand alone, one p."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import authors, calibration, events, gates, hashtags, headlines, phrasing, surprise
from odl.alerts.model import NONE, STATES, Headline
from odl.files.documents import NO_TIME

LEAST = 2  # documents that have a word of a headline, titles apart
LIKELY = np.log(3)  # log-odds from which on the documents of a headline are of an event that is new in the period
BELOW = 5  # headlines that are stored of a quiet period
MOST = 20  # headlines of a period that may speak
NOVEL = 5  # most novel documents that are stored of each period
UNPROVEN = 3  # documents that are stored of a headline that does not speak
DAY = 86_400_000  # ms


class PeriodDocuments(NamedTuple):
    """Documents of a period as they are decided on.

    Attributes
    ----------
    t : int
        Period; 0 is the first batch.
    first : ndarray of int64, shape (n_documents,)
        First near-duplicate of each document in the period: itself, or a row before it.
    repeats : ndarray of bool, shape (n_documents,)
        Whether a near-duplicate came in an earlier period.
    Q : csr_array, shape (n_documents, n_terms)
        Weights, rows of unit l2 norm.
    counts, titled : csr_array, shape (n_documents, n_terms)
        Words without stop words, of texts and of titles.
    vocabulary : list of str
    frequencies : ndarray of int64, shape (n_terms,)
        Documents before the period that have the term.
    n_before : int
        Documents before the period.
    times : ndarray of int64
        ms; `odl.files.documents.NO_TIME` where unknown.
    sources : list of str
        File of each document, empty where it is not known.
    texts : callable
        Of rows, their texts; of none where they are not stored.
    languages : list of str or None
        Language of each document; None where it is not told.
    authors : sequence of str
        Who wrote each document, empty where that is not known; no entries where no document has an author.
    places : ndarray of int64 or None
        Numbers of the terms of the period before in this one (-1: one that has left); None if they are the same.
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
    places: np.ndarray | None = None


class StreamHistory(NamedTuple):
    """What decisions carry from period to period.

    Attributes
    ----------
    events : odl.alerts.events.EventMemory
    words : odl.alerts.surprise.WordHistory
    gates : odl.alerts.gates.GateHistory
    told : ndarray of int64
        Events that spoke in the last period.
    recent : ndarray of float64
        Last scores.
    """

    events: events.EventMemory
    words: surprise.WordHistory
    gates: gates.GateHistory
    told: np.ndarray
    recent: np.ndarray

    @classmethod
    def nothing(cls):
        """Return the past before the first period."""
        return cls(
            events.nothing(), surprise.WordHistory(), gates.GateHistory(), np.zeros(0, dtype=np.int64), np.zeros(0)
        )


PARTS = {"events": events.EventMemory, "words": surprise.WordHistory, "gates": gates.GateHistory}


def fields_of(kind):
    """Return the names of the fields of a part of `StreamHistory`."""
    return [*kind.__annotations__]


def as_arrays(past):
    """Return a `StreamHistory` as a map of names to arrays, sparse matrices and lists of strings, as files store it."""
    found = {"told": past.told, "recent": past.recent}
    for part, kind in PARTS.items():
        for name in fields_of(kind):
            value = getattr(getattr(past, part), name)
            found[f"{part}_{name}"] = np.array([value]) if isinstance(value, (int, float)) else value
    return found


def from_arrays(arrays):
    """Return the `StreamHistory` that `as_arrays` returned as a map."""
    parts = {}
    for part, kind in PARTS.items():
        values = {name: arrays[f"{part}_{name}"] for name in fields_of(kind)}
        numbers = {name: type_ for name, type_ in kind.__annotations__.items() if type_ in (int, float)}
        parts[part] = kind(**values | {name: number(values[name][0]) for name, number in numbers.items()})
    return StreamHistory(**parts, told=arrays["told"], recent=arrays["recent"])


class Decision(NamedTuple):
    """What is decided on a period.

    Attributes
    ----------
    tail : ndarray of float64, shape (n_documents,)
    unproven : bool
        Too little came before for an alert.
    items : ndarray of int64
        Rows of the documents that are no near-duplicate of one before them.
    p : float
    gates : dict of str to float
        p of each gate that could be tested, without its share.
    speaks : bool
    usual : float
        Usual number of documents of a period; 0 if unknown.
    headlines, below : list of odl.alerts.model.Headline
        Those that speak, and the strongest others.
    novel : ndarray of int64
        Rows of the most novel items.
    event : ndarray of int64, shape (n_documents,)
        Number of the event of each document, 0 for none.
    sizes : dict of int to int
        Documents of each event.
    changes : list of (int, str)
        Events and their new states.
    born : list of int
        New events.
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
    """Return what is decided on a period, and what the next one goes on from.

    Parameters
    ----------
    documents : PeriodDocuments
    scored : odl.novelty.Novelty
    past : StreamHistory
    settings : odl.config.sections.Alerts

    Returns
    -------
    Decision, StreamHistory
        The recent scores of the latter are those given: who scores the stream knows which scores count.
    """
    return _PeriodDecision(hashtags.joined(documents), scored, past, settings).decide()


class _PeriodDecision:
    """One period while it is decided on."""

    def __init__(self, documents, scored, past, settings):
        self.documents, self.scored, self.settings = documents, scored, settings
        n_terms = documents.counts.shape[1]
        self.past = past._replace(
            words=past.words.moved(documents.places, n_terms),
            events=events.moved(past.events, documents.places, n_terms),
        )
        self.tail, self.unproven = calibration.tails(scored, past.recent, settings.warm_up)
        self.items = np.flatnonzero(documents.first == np.arange(len(documents.first)))
        distinct = self.items[~scored.empty[self.items]]
        self.rows = distinct[~documents.repeats[distinct]]
        self.X, titled = documents.counts[self.rows], documents.titled[self.rows]
        self.both = sparse.csr_array(self.X + titled)
        self.new = self._counts(self.rows)  # of documents that repeat none of an earlier period
        self.counts = self._counts(distinct)
        self.barred = authors.barred_words(documents, self.rows)
        self.memory, self.told, self.event = self.past.events, [], np.zeros(len(documents.first), dtype=np.int64)
        self.chances, self.prior = {}, {}  # p of gates; log-odds that a document of the period is of a new event

    def decide(self):
        """Return `Decision` and `StreamHistory`."""
        documents, settings = self.documents, self.settings
        tested = documents.t > 0 and len(self.rows) > 0 and settings.gates
        compared = self.past.gates
        drafts, usual = [], 0.0
        if tested:
            drafts, compared = self._words(compared)
        volume, usual, compared = self._volume(compared)
        lone, compared = self._lone(compared) if tested else ([], compared)
        p = min([1.0, *(chance / gates.SHARES[gate] for gate, chance in self.chances.items())])
        speaking = [] if self.unproven else [draft for draft in drafts if draft[1] <= settings.level or draft[2]]
        shown, born = self._open([*speaking], lone if not self.unproven else [], volume if not self.unproven else [])
        telling = {one.event for one in shown if one.event}
        self._join(born)
        self.memory, sizes, changes = events.counted(self.memory, documents.t, self.event, telling)
        shown = [self._with_state(one) for one in shown]
        quiet = {id(draft) for draft in speaking}
        below = [draft for draft in drafts if id(draft) not in quiet][:BELOW]
        below = [self._headline(draft, chance, "") for draft, chance, *_ in below]
        self.memory = events.remembered(self.memory, documents.t, self._named(self.X), np.arange(len(self.rows)))
        novel = calibration.most_novel(self.rows, self.scored.score)
        novel = novel[: NOVEL if settings.gates else max(NOVEL, 2 * settings.room(len(self.items)))]
        speaks = bool(shown) and not self.unproven
        decision = Decision(
            self.tail, self.unproven, self.items, 1.0 if self.unproven else float(p), self.chances, speaks, usual,
            shown, below, novel, self.event, sizes, changes, born,
        )  # fmt: skip
        told = np.array(sorted(telling), dtype=np.int64)
        return decision, StreamHistory(
            self.memory, self.past.words.after(self.counts), compared, told, self.past.recent
        )

    def _counts(self, rows):
        """Return how many documents have each word, in text or title; those of one author count once."""
        documents = self.documents
        X, titled = documents.counts[rows], documents.titled[rows]
        if any(documents.authors):
            numbers = authors.author_numbers([documents.authors[row] for row in rows.tolist()])
            X, titled = authors.joined(X, numbers), authors.joined(titled, numbers)
        return surprise.Counts.from_documents(X, titled)

    def _words(self, compared):
        """Return the headlines of the period as (draft, p, certain, gate), strongest first; note the p of words."""
        documents, n, level = self.documents, self.counts.n, self.settings.level
        counts = self.counts.where(self.new.words >= LEAST, self.new.titles > 0)
        self.found = surprise.evidence(counts, *self.past.words.before(), LEAST)
        terms = self._candidates(self.found, self.counts)
        drafts = headlines.drafts(terms, self.found, self.both, documents.frequencies == 0, MOST)
        share, double = gates.SHARES["words"], n < surprise.FEW
        largest = self._largest(self.found, terms)
        self.chances["words"], after = gates.judge_words(compared.words, largest, n, double, level * share)
        told = []
        for draft in drafts:
            chance = gates.chance_of(draft.t, n, compared.words, double) / share
            certain = 0 < self.settings.certain <= min(draft.t_all, draft.t_recent)
            told.append((draft, chance, certain, "words" if chance <= level else "certain" if certain else ""))
        compared = compared._replace(words=after)
        return self._pairs(told, compared)

    def _pairs(self, told, compared):
        """Add the headline that is unusual in this period and the last one together, if it is none by itself."""
        documents, past, level = self.documents, self.past.words, self.settings.level
        if documents.t < 2 or not past.n_last:
            return told, compared
        here = (self.new.words > 0) | (self.new.titles > 0)
        counts = self.counts.plus(surprise.Counts(past.last, past.last_titles, past.n_last)).where(here, here)
        found = surprise.evidence(counts, *past.before_last(), LEAST, LEAST)
        own = self.memory.weight[[row for row, n in enumerate(self.memory.number.tolist()) if n in self.past.told]]
        for each in (found.t, found.plain, found.doubled):
            each[own.indices] = 0.0
        terms = self._candidates(found, counts)
        share, double = gates.SHARES["two periods"], counts.n < surprise.FEW
        largest = self._largest(found, terms)
        chance, after = gates.judge_words(compared.pairs, largest, counts.n, double, level * share)
        self.chances["two periods"] = chance
        if chance / share <= level:
            rows = np.flatnonzero((self.both[:, [terms[0]]] > 0).toarray().ravel())
            holder = next((at for at, one in enumerate(told) if terms[0] in one[0].terms), None)
            if holder is None:
                told = [
                    (headlines.draft_of(terms[0], rows, largest[double]), chance / share, False, "two periods"),
                    *told,
                ]
            elif not told[holder][3]:
                draft = told[holder][0]
                words = np.append(terms[:1], draft.terms[draft.terms != terms[0]])
                told[holder] = (draft._replace(terms=words, rows=rows), chance / share, False, "two periods")
        return told, compared._replace(pairs=after)

    @staticmethod
    def _largest(found, terms):
        """Return the largest evidence of some terms if titles count once, and double."""
        return [float(each[terms].max(initial=0.0)) for each in (found.plain, found.doubled)]

    def _candidates(self, found, counts):
        documents = self.documents
        return headlines.candidates(
            found, counts, documents.frequencies, documents.n_before, documents.vocabulary, self.barred
        )

    def _volume(self, compared):
        """Return headlines of unusual numbers of documents, of all and of sources, the usual number, and the past."""
        documents, n, weekday = self.documents, len(self.documents.first), _weekday(self.documents.times)
        if documents.t == 0:
            return [], 0.0, compared
        counts = Counter(documents.sources)
        compared = gates.with_sources(compared, counts)
        chance, usual = gates.chance_of_volume(n, compared.volume, weekday)
        of_sources = gates.chances_of_sources(compared, counts, n, weekday)
        chance *= 2 if of_sources else 1
        of_sources = {row: (2 * len(of_sources) * p, usually) for row, (p, usually) in of_sources.items()}
        if len(compared.volume) >= gates.LEAST_DAYS and self.settings.gates:
            self.chances["volume"] = min([chance, *(p for p, _ in of_sources.values())])
        bar = self.settings.level * gates.SHARES["volume"]
        found = [self._volume_headline((), np.arange(n), usual, chance, compared.told_volume)] if chance <= bar else []
        names, speaking = np.array(documents.sources), {row for row, (p, _) in of_sources.items() if p <= bar}
        for row in sorted(speaking):
            p, usually = of_sources[row]
            name, told = compared.sources[row], compared.told_sources[row : row + 1]
            found.append(self._volume_headline((name,), np.flatnonzero(names == name), usually, p, told))
        spoke = chance <= bar
        source_counts, told_sources = gates.sources_after(compared, counts, weekday, speaking)
        return found, usual, compared._replace(
            volume=gates.volume_after(compared.volume, n, weekday, spoke), told_volume=np.array([float(n * spoke)]),
            source_counts=source_counts, told_sources=told_sources,
        )  # fmt: skip

    def _volume_headline(self, source, rows, usual, chance, told):
        """Return the headline of a number of documents, of all or one source; repeated if it has not grown."""
        inside = np.flatnonzero(np.isin(self.rows, rows))
        return Headline(
            ("volume", *source), (), 0.0, 0.0, 0.0, tuple(rows.tolist()), usual, chance / gates.SHARES["volume"],
            "volume", repeated=bool(0 < len(rows) <= told.max(initial=0.0)),
            examples=tuple(self._examples(inside, headlines.EXAMPLES)),
        )  # fmt: skip

    def _lone(self, compared):
        """Return the headlines of documents that stand alone, and the gates' past."""
        score, share = self.scored.score[self.rows], gates.SHARES["lone"]
        chance = gates.chance_of_lone(score, self.past.recent, compared, len(self.rows))
        if len(self.past.recent) > gates.EXCESSES:
            self.chances["lone"] = float(chance.min(initial=1.0))
        highest = np.append(compared.highest, score.max(initial=-np.inf))[-gates.HISTORY :]
        found = [
            Headline((), (), 0.0, 0.0, 0.0, (row,), 0.0, float(one / share), "lone", examples=(row,))
            for row, one in zip(self.rows.tolist(), chance.tolist(), strict=True)
            if one / share <= self.settings.level
        ]
        return found, compared._replace(highest=highest)

    def _open(self, speaking, lone, volume):
        """Return the headlines that speak, each with its event, and the new events."""
        shown, born, t = [*volume], [], self.documents.t
        covered = set()
        for draft, chance, _, gate in speaking:
            number = events.matching(self.memory, draft.terms, self.found.t[draft.terms] + headlines.WEAK)
            if not number:
                number = self._told_of(draft.rows)
            if number in covered:
                continue
            headline = self._headline(draft, chance, gate)
            if not number:
                self.memory, number = events.opened(self.memory, t, headline.name)
                born.append(number)
                self._preview(number, draft)
            covered.add(number)
            rows = self.rows[draft.rows]
            self.event[rows[self.event[rows] == NONE]] = number
            shown.append(replace(headline, event=number))
        inside = {row for one in shown[len(volume) :] for row in one.rows}
        shown += [one for one in lone if one.rows[0] not in inside]
        return sorted(shown, key=lambda one: -one.t), born

    def _preview(self, number, draft):
        """Estimate a new event with its headline's documents, then with those of the period that are rather of it."""
        self._estimate(number, draft.rows, draft.terms[:1], False)
        share = min(0.5, len(draft.rows) / len(self.rows))
        self.prior[number] = np.log(share / (1 - share))
        more = np.flatnonzero(self._evidence(number, self.both) + self.prior[number] > 0)
        self._estimate(number, np.union1d(draft.rows, more), draft.terms[:1], False)

    def _evidence(self, number, X):
        """Return the evidence that documents belong to an event."""
        row = [self.memory.row(number)]
        return events.likelihood(X, self.memory.inside[row], self.memory.before[row])[:, 0]

    def _told_of(self, rows):
        """Return the event that some documents are of, 0 for none.

        It is an open event that at least half of them join; or one that is new in this period, if it is three times as
        likely as not by the evidence of all of them and the share of the period that is of it.
        """
        X = self.both[rows]
        joins = events.joined(self.memory, X)
        number = int(np.bincount(joins).argmax())
        if number and 2 * np.count_nonzero(joins == number) >= len(rows):
            return number
        sums = {number: self._evidence(number, X).sum() + prior for number, prior in self.prior.items()}
        best = max(sums, key=sums.get, default=NONE)
        return best if best and sums[best] > LIKELY else NONE

    def _join(self, born):
        """Let documents join events; estimate the own words of those that are young."""
        free = self.event[self.rows] == NONE
        joins = events.joined(self.memory, self.X)
        self.event[self.rows] = np.where(free, joins, self.event[self.rows])
        for row in np.flatnonzero(self.documents.t - self.memory.birth <= events.SETTLING).tolist():
            number = int(self.memory.number[row])
            rows = np.flatnonzero(self.event[self.rows] == number)
            if len(rows) and self.memory.state[row] != events.ENDED:
                first = self.memory.weight[[row]].indices
                self._estimate(number, rows, first, True)
        self.event = self.event[self.documents.first]  # near-duplicates are of one event

    def _estimate(self, number, rows, first, stored):
        """Estimate the own words of an event with some documents of the period."""
        documents = self.documents

        def allowed(terms):
            frequent = documents.frequencies[terms] > headlines.BROAD * documents.n_before
            names = [headlines.may_name(documents.vocabulary[term]) for term in terms.tolist()]
            return ~frequent & np.array(names, dtype=bool)

        self.memory = events.estimated(
            self.memory, documents.t, number, self.both, rows, documents.frequencies, documents.n_before,
            documents.vocabulary, allowed, first, stored,
        )  # fmt: skip

    def _headline(self, draft, chance, gate):
        """Return a draft as a headline with its name and examples."""
        documents, rows, term = self.documents, self.rows[draft.rows], draft.terms[0]
        name = headlines.name(
            draft, self.found, documents.vocabulary, lambda places: documents.texts(self.rows[places]),
            self._phrases,
        )  # fmt: skip
        usual = self.counts.n * (self.past.words.words[term] + 0.5) / (self.past.words.n + 1)
        return Headline(
            name, tuple(documents.vocabulary[each] for each in draft.terms[:12].tolist()), draft.t, draft.t_all,
            draft.t_recent, tuple(rows.tolist()), float(usual), float(chance), gate, form=draft.form,
            examples=tuple(self._examples(draft.rows, headlines.EXAMPLES if gate else UNPROVEN)),
        )  # fmt: skip

    @cached_property
    def _phrases(self):
        """The texts of the period, by which phrases are judged; read once."""
        documents = self.documents
        return phrasing.PeriodTexts.from_counts(documents.texts(self.rows), self.X, documents.vocabulary)

    def _examples(self, rows, most):
        """Return rows of the batch of central documents."""
        languages = self.documents.languages
        languages = languages and [languages[row] for row in self.rows.tolist()]
        return self.rows[headlines.central(self.documents.Q[self.rows], rows, languages, most)].tolist()

    def _with_state(self, headline):
        """Return a headline with the state of its event; one that has not grown is repeated."""
        if not headline.event:
            return headline
        state = STATES[self.memory.state[self.memory.row(headline.event)]]
        return replace(headline, state=state, repeated=state == "ongoing")

    def _named(self, X):
        """Return words of documents without those that are too frequent to be own words."""
        documents = self.documents
        frequent = documents.frequencies > headlines.BROAD * documents.n_before
        kept = ~frequent[X.indices]
        totals = np.concatenate([[0], np.cumsum(kept)])
        return sparse.csr_array((X.data[kept], X.indices[kept], totals[X.indptr]), shape=X.shape)


def _weekday(times):
    """Return the weekday of the times of a day, Monday 0; -1 if they are of several days or unknown."""
    known = times[times != NO_TIME]
    days = known // DAY
    return int((days[0] + 3) % 7) if len(known) and (days == days[0]).all() else -1
