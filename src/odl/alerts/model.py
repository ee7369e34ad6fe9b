"""Records of headlines, events, documents and periods.

`odl.alerts.periods` stores them in files, and `odl.alerts.read` reads them for lists. Times are
milliseconds since 1970 (UTC), `odl.files.documents.NO_TIME` if unknown. A period is a timestep of
the stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from odl.files.documents import NO_TIME

# Version of the JSON format for documents and events. New fields do not change the version.
JSON_VERSION = 1
STATES = ("new", "ongoing", "growing", "returning", "ended")
# Names of the gates. A headline that opens several of them has the first one as its `gate`.
GATES = ("words", "certain", "two periods", "volume", "lone")
VERDICTS = ("known", "muted", "follow")
ANSWERS = ("yes", "no", "known")  # answers of users who judge a headline
NO_EVENT = 0  # event number of documents without an event
RAREST = 1000  # largest recurrence of a headline that is printed, in periods


@dataclass(frozen=True)
class Headline:
    """A statement that something in a period may be new.

    Most headlines are about a word that is more frequent than before, and related words. Other
    headlines are about an unusual number of documents (volume), or about a single unusual (lone)
    document.

    Attributes
    ----------
    name : tuple of str
        First three words or phrases as the texts spell them, at most 60 columns together.
        ("volume",) or ("volume", source) if the number of documents is unusual; empty for a lone
        document.
    words : tuple of str
        Words as they are counted, the strongest first; empty for volume and lone documents.
    t : float
        Evidence for the strongest word: -log10 P(X >= n), where n documents of the period contain
        the word and X is the number expected from earlier periods. t is the smaller of `t_all` and
        `t_recent`, doubled for title words in small periods. Headlines are sorted by t.
    t_all, t_recent : float
        Evidence against the background of all earlier documents, and against a background with a
        half-life of 30 periods; not doubled.
    rows : tuple of int
        Rows of its documents in the batch: those that have its strongest word.
    usual : float
        Expected number of documents of a period that have the strongest word; for volume, the
        median number of documents of the last periods. nan if unknown (files of an earlier format).
    p : float
        Probability of such a headline in a period in which nothing is new, divided by the share of
        its gate; 1 if it opened no gate. At most `alerts.level` for a headline that is shown,
        unless its gate is "certain".
    gate : str
        Gate that the headline opened, one of `GATES`; empty if it is not unusual for the stream.
    event : int
        Number of its event. 0 for a headline that opened no gate, for the volume of all documents,
        and for a lone document.
    state : str
        State of the event in this period, one of `STATES`; "" without an event.
    repeated : bool
        Whether the event or the volume had a headline before and has not grown. Such a headline is
        not shown.
    form : bool
        Whether the headline has more than 0.8 of the documents of the period and only new words,
        because the form of the documents has changed.
    examples : tuple of int
        Rows of central documents, the most central first, in the language of most documents of the
        headline. Each row is a key of `Period.documents_of`.
    """

    name: tuple
    words: tuple
    t: float
    t_all: float
    t_recent: float
    rows: tuple
    usual: float
    p: float
    gate: str = ""
    event: int = NO_EVENT
    state: str = ""
    repeated: bool = False
    form: bool = False
    examples: tuple = ()

    @property
    def size(self) -> int:
        """Number of documents of the headline."""
        return len(self.rows)

    @property
    def recurrence(self) -> int:
        """Mean number of periods (1 / p) until chance gives such a headline; at most `RAREST`."""
        return int(min(RAREST, max(1, round(1 / max(self.p, 1 / RAREST)))))


@dataclass(frozen=True)
class OwnWord:
    """A word of an event with its rates.

    `inside` is the share of the event's documents that have the word, `before` the share of the
    documents before the event's birth.
    """

    word: str
    inside: float
    before: float


@dataclass
class Event:
    """An episode of the stream whose documents share words that were rare before.

    Attributes
    ----------
    number : int
        Permanent number, from 1 on in the order of birth.
    name : tuple of str
        Name of the headline that opened it.
    words : tuple of OwnWord
        Words that are more frequent in its documents than before its birth, the strongest first.
        The words are estimated again in each of the four periods after the birth, then fixed.
    threshold : float
        Smallest evidence of a document that belongs to the event. The evidence is the sum of the
        log-likelihood ratios of `words`.
    birth : int
        Period in which it began.
    first : int
        Time of its first document, ms; `NO_TIME` if unknown.
    sizes : dict of int to int
        Period -> number of documents of the event; periods without documents are left out.
    earlier : int
        Number of its documents in periods that were not read.
    history : list of (int, str)
        (period, new state) for each change of state, oldest first. Of the changes in periods that
        were not read, only the first and the last are included.
    examples : tuple of (str, str)
        Ids and titles of central documents of the period in which it began.
    feedback : str
        Verdict of feedback.csv that holds in the last period, one of `VERDICTS`, or empty.
    """

    number: int
    name: tuple
    words: tuple
    threshold: float
    birth: int
    first: int = NO_TIME
    sizes: dict = field(default_factory=dict)
    earlier: int = 0
    history: list = field(default_factory=list)
    examples: tuple = ()
    feedback: str = ""

    @property
    def state(self) -> str:
        """State in the last period."""
        return self.history[-1][1]

    def state_at(self, t: int) -> str:
        """Return the state in a period; "" before its birth."""
        return ([""] + [state for changed, state in self.history if changed <= t])[-1]

    @property
    def size(self) -> int:
        """Number of documents so far."""
        return self.earlier + sum(self.sizes.values())

    @property
    def last(self) -> int:
        """Last period with documents of the event; its birth if no such period was read."""
        return max(self.sizes, default=self.birth)

    @property
    def peak(self) -> int:
        """First period with the largest number of documents."""
        return max(self.sizes, key=lambda t: (self.sizes[t], -t))

    def before(self, t: int) -> int:
        """Return the number of documents before a period."""
        return self.earlier + sum(size for period, size in self.sizes.items() if period < t)


def brief_history(birth, t, state):
    """Return `Event.history` if only the birth and the state in period t are known."""
    return [(birth, "new")] + ([(t, state)] if state != "new" else [])


class Reason(NamedTuple):
    """A word of a document, and the part (share) of the document's score that the word explains."""

    word: str
    share: float


class Rest(NamedTuple):
    """Summary of the words that a document shares with others and that are not in its `reasons`.

    Attributes
    ----------
    words : int
        Number of words that raise the score.
    largest : float
        Largest share of a word.
    low : int
        Number of words that lower the score.
    down : float
        Sum of the shares of words that lower the score, at most 0.
    """

    words: int
    largest: float
    low: int
    down: float


class Near(NamedTuple):
    """An atom of the dictionary that is close to a document.

    Attributes
    ----------
    atom : int
        Number of the atom in the dictionary that the period was scored with.
    words : tuple of str
        Words of largest weight.
    likeness : float
        Cosine between the document and the atom, in [0, 1].
    id : str
        Id of the document most similar to the atom in the last period in which a document used the
        atom; empty if no document ever used it.
    """

    atom: int
    words: tuple
    likeness: float
    id: str = ""


@dataclass(kw_only=True)
class Document:
    """A document of a period, or the first document of a group of near-duplicates.

    Files store the fields in `odl.alerts.periods.DOCUMENT_FIELDS` for each shown document. The
    other fields are read from arrays of the period or computed. Records of other documents
    (`odl.alerts.explain.read_documents`) have the default of each field that is not read.

    Attributes
    ----------
    t, row : int
        Period; row of the batch.
    rank : int
        Rank by score among the items of its period; 1 is the most novel.
    id : str
        Id of the first document of the group by time.
    members : tuple of str
        Ids of all documents of the group, the first one included.
    title : str
        Title; if it is empty, lists show the id.
    time : int
        Time of the first document, ms; `NO_TIME` if unknown.
    source, url : str
        File and address of the first document; empty if unknown.
    score : float
    tail : float
        Share of recent scores that are at least as large; small is novel.
    event : int
        Number of its event, 0 for none.
    reasons : tuple of Reason
        Words that explain the score, the most important first: `led` words that other documents
        have too, then words that no document had before.
    context : float
        Part of the score that comes from other documents of the batch. The shares of *all* words,
        `context` and `meaning` add up to the score; `reasons` has the largest shares.
    nearest : tuple of Near
        Nearest atoms, the nearest first, at most two.
    feedback : str
        "follow", or empty.
    led : int
        Number of `reasons` that other documents have too.
    own : float
        Sum of the shares of all words that no document had before.
    rest : Rest or None
        Words that are not among the reasons; None if it is not stored (`alerts.rest`).
    text : str
        Excerpt around its reasons, in one line; empty if texts are not stored.
    opening : tuple of str
        Words of its headline that it has, the strongest first.
    meaning : float
        Part of the score that comes from vectors of texts.
    phrases : tuple of (str, tuple of str)
        Phrases as its text spells them, each with the words of `reasons` and `opening` in it; empty
        if texts are not stored.
    """

    t: int
    row: int
    rank: int = 0
    id: str
    members: tuple = ()
    title: str
    time: int
    source: str
    url: str = ""
    score: float = 0.0
    tail: float = 1.0
    event: int = NO_EVENT
    reasons: tuple = ()
    context: float = 0.0
    nearest: tuple = ()
    feedback: str = ""
    led: int = 0
    own: float = 0.0
    rest: Rest | None = None
    text: str = ""
    opening: tuple = ()
    meaning: float = 0.0
    phrases: tuple = ()

    @property
    def line(self) -> int:
        """Line number of the document in its file, 0 if unknown.

        The number is known if the id has the form ``posts.csv:12``, which readers give to documents
        without an id.
        """
        name, _, line = self.id.rpartition(":")
        return int(line) if name and name == self.source and line.isdecimal() else 0


@dataclass(frozen=True)
class Unseen:
    """A word that no document before its period contains, with the phrase around it.

    Attributes
    ----------
    phrase : str
        Spelling in most of its documents.
    words : tuple of str
        Its new words, as they are counted.
    items, sources : int
        Number of items of the period that contain the first new word, and number of their files.
    first : int
        Time of the first of these documents, ms; `NO_TIME` if unknown.
    half : int
        Time from the first to the median document, ms.
    expected : float
        Mean number of new words per earlier period that at least the same share of its items had.
    beyond : bool
        Whether the word is in more items than expected by chance (`odl.alerts.unseen`).
    documents : tuple of (str, str)
        Ids and titles of the first documents, twenty at most.
    """

    phrase: str
    words: tuple
    items: int
    sources: int
    first: int
    half: int
    expected: float
    beyond: bool
    documents: tuple


@dataclass
class Period:
    """A period with n documents: the content of its file, and which headlines are shown.

    `odl.alerts.periods.read` sets all fields except `budget` and `withheld`. Then
    `odl.alerts.read.watch` sets these two and reduces `headlines` to those that are shown.

    Attributes
    ----------
    t : int
        Number of the period; 0 is the first batch.
    run : dict
        corpus, seed, run, atoms and algorithm.
    settings : dict
        Fields of `odl.config.sections.Alerts`.
    first, last : int
        Times of its earliest and latest document, ms; `NO_TIME` if unknown.
    first_seen : float
        Share of the terms of its documents that no document had before.
    labelled : bool
        Whether any document has topics in its input.
    unproven : bool
        Whether there are too few earlier documents for alerts. If true, nothing was tested, `below`
        has the headlines of the strongest words, and `novel` the most novel documents.
    empty, repeats : int
        Documents without a word; items that repeat one of an earlier period.
    p : float
        min over the gates of p_gate / (share of the gate); 1 for an unproven period.
    usual : float
        Median number of documents of the periods before; 0 if there are none.
    score, tail, context : ndarray of float64, shape (n,)
        Score; its tail probability among recent scores, 1 in an unproven period; part of the score
        that belongs to no word.
    item, event : ndarray of int64, shape (n,)
        Row of the first near-duplicate; number of the event, 0 for none.
    near, likeness : ndarray of int64 and float32, shape (n, 2)
        Nearest atoms before learning (-1: none) and their cosines.
    novel : ndarray of int64, or tuple of int
        Rows of the most novel items, the most novel first; with `gates: false` the alerts of the
        period.
    shares : ndarray of float32, or None
        Shares of all words, in the order of the entries of the counts in the features; None if they
        were not read.
    documents_of : dict of int to Document
        Row -> stored document: examples of headlines, lone documents, `novel`.
    headlines : sequence of Headline
        Headlines that opened a gate, by evidence. In lists: at most `budget` headlines, without
        those that a user muted, and repeated ones only if a user follows them.
    below : sequence of Headline
        Strongest headlines that opened no gate, at most five.
    gates : dict of str to float
        Gate -> p, not divided by its share; gates that could not be tested are left out.
    sizes : list of (int, int)
        Events and their documents in the period.
    changes : list of (int, str)
        Events and their new states.
    born : list of (int, list of (str, str))
        New events; ids and titles of central documents.
    languages : dict of str to int
        Documents of each language, "" for other languages; empty if there is only one.
    unseen : sequence of Unseen
        Words that no document had before: those above the chance level first, then by items.
    sources : sequence of str
        Files of its documents by name; empty if unknown.
    meaning : ndarray of float64, or None
        Part of each score that comes from vectors; None if the run uses words alone.
    budget : int
        Largest number of headlines that are shown.
    withheld : dict of (str, str) to int
        Numbers of headlines or documents that are not shown, by a name and the reason. The reason
        "muted" or "known" is the verdict in feedback.csv on the name: "event:12", "source:FILE" or
        the id of a document. Reasons with an empty name are "empty" (documents without a word) and
        "repeated" (near-duplicates of documents of an earlier period).
    moves : dict of Headline to odl.alerts.ranking.Move
        Headlines that verdicts move in a list.
    """

    t: int
    run: dict
    settings: dict
    first: int
    last: int
    first_seen: float
    labelled: bool
    unproven: bool
    empty: int
    repeats: int
    p: float
    usual: float
    score: np.ndarray
    tail: np.ndarray
    context: np.ndarray
    item: np.ndarray
    event: np.ndarray
    near: np.ndarray
    likeness: np.ndarray
    novel: np.ndarray | tuple = ()
    shares: np.ndarray | None = None
    documents_of: dict = field(default_factory=dict)
    headlines: Sequence = ()
    below: Sequence = ()
    gates: dict = field(default_factory=dict)
    sizes: list = field(default_factory=list)
    changes: list = field(default_factory=list)
    born: list = field(default_factory=list)
    languages: dict = field(default_factory=dict)
    unseen: Sequence = ()
    sources: Sequence = ()
    meaning: np.ndarray | None = None
    budget: int = 0
    withheld: dict = field(default_factory=dict)
    moves: dict = field(default_factory=dict)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.score)

    def facts_of(self, row: int) -> dict:
        """Return the fields of a `Document` that are stored in arrays of the period."""
        names = ("score", "tail", "context", "meaning")
        values = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        numbers = {name: float(array[row]) for name, array in values.items()}
        return {"t": self.t, "row": row, "event": int(self.event[row]), **numbers}


@dataclass(frozen=True)
class StreamAlerts:
    """Periods and events of a stream.

    Attributes
    ----------
    corpus, run, atoms, seed
        Run that gave the scores.
    settings : dict
        Fields of `odl.config.sections.Alerts`.
    periods : tuple of Period
        Periods that were read, oldest first, unproven ones included.
    events : dict of int to Event
        All events of these periods by number.
    feedback : tuple of odl.alerts.feedback.FeedbackLine
        Lines of feedback.csv.
    labelled : bool
        Whether any document has topics in its input; then pages link the study page.
    place : odl.alerts.read.Place
        Folders of the stream.
    scored : int
        Number of documents scored before these periods, at most the window of the settings.
    address : str
        Address of the page, "" if it is unknown.
    judged : tuple of odl.alerts.verdicts.JudgedHeadline
        Headlines with verdicts of users; empty if the list has the plain order.
    verdict_lines : tuple of str
        Lines that lists print about these verdicts.
    """

    corpus: str
    run: str
    atoms: int
    seed: int
    settings: dict
    periods: tuple
    events: dict
    feedback: tuple = ()
    labelled: bool = False
    place: object = None
    scored: int = 0
    judged: tuple = ()
    verdict_lines: tuple = ()
    address: str = ""

    def link_of(self, number: int) -> str:
        """Return the address of an event on the page; "" if number or address is missing."""
        return f"{self.address}#event-{number}" if self.address and number else ""
