"""Plain values for a reader of a stream: headlines, events, documents, periods, and what was held back.

Nothing here reads files; `odl.alerts.read.alerts_of` makes these values from a folder. Times are milliseconds since
1970 (UTC), `odl.files.documents.NO_TIME` where unknown. A period is a timestep of the stream.
"""

from dataclasses import dataclass, field

import numpy as np

from odl.files.documents import NO_TIME

VERSION = 1  # of a document as JSON: fields are only ever added
STATES = ("new", "ongoing", "growing", "returning", "ended")
GATES = ("words", "certain", "two periods", "volume", "lone")  # in the order in which one of several is named
VERDICTS = ("known", "muted", "follow")
NONE = 0  # number of no event
RARELY = 1000  # periods: the rarest recurrence that is printed


@dataclass(frozen=True)
class Headline:
    """One thing that is more frequent in a period than before: its strongest word, and what comes with it.

    Attributes
    ----------
    name : tuple of str
        Its first three words or phrases as the texts spell them, at most 60 columns together. Of a volume headline
        ("volume",) or ("volume", source).
    words : tuple of str
        Its words as they are counted, the strongest first; empty for volume and lone documents.
    t : float
        Evidence: -log10 P(at least so many documents of the period have its strongest word), the smaller of `t_all`
        and `t_recent`; doubled for words of titles in small periods. Headlines are sorted by it.
    t_all, t_recent : float
        The same against all documents before, and against a background with a half-life of 30 periods; not doubled.
    rows : tuple of int
        Its documents, rows of the batch: those that have its strongest word.
    usual : float
        How many documents of a period usually are so: expected ones that have the strongest word; for volume the
        median count of the last periods. nan if it is not known (files of an earlier format).
    p : float
        Probability of such a headline in a period in which nothing enters, shares of the gates applied; 1 if it opened
        no gate. At most `alerts.level` for a headline that speaks, unless its gate is "certain".
    gate : str
        One of `GATES`: what made it speak. Empty: below the bar (not unusual for this stream).
    event : int
        Number of its event, 0 for none (below the bar, volume of all documents, lone documents).
    state : str
        State of the event in this period, one of `STATES`; "" without an event.
    repeated : bool
        A later day of an event or of a volume that has not grown: not told again.
    form : bool
        More than .8 of the documents of the period and only new words: the form of the documents has changed.
    examples : tuple of int
        Rows of central documents in the language of most of its documents, the most central first. Each is in
        `Period.documents`.
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
    event: int = NONE
    state: str = ""
    repeated: bool = False
    form: bool = False
    examples: tuple = ()

    @property
    def size(self) -> int:
        """Documents of the period that it is about."""
        return len(self.rows)

    @property
    def recurrence(self) -> int:
        """By chance it comes once in so many periods; at most `RARELY`."""
        return int(min(RARELY, max(1, round(1 / max(self.p, 1 / RARELY)))))


@dataclass(frozen=True)
class OwnWord:
    """A word of an event: share of its documents that have it, and share of the documents before its birth."""

    word: str
    inside: float
    before: float


@dataclass
class Event:
    """One thing that happened in the stream: an episode with its own words.

    Attributes
    ----------
    number : int
        From 1 on, in the order of birth; never changes, never given twice.
    name : tuple of str
        As of the headline that opened it.
    words : tuple of OwnWord
        Those that are more frequent in its documents than before its birth, the strongest first. They are estimated
        again for four periods after the birth, then stay.
    threshold : float
        Sum of log-likelihood ratios of its own words from which on a document belongs to it.
    birth : int
        Period in which it began.
    first : int
        Time of its first document, ms; `NO_TIME` where unknown.
    sizes : dict of int to int
        Period to its documents there; periods without any are left out.
    earlier : int
        Its documents in periods before those that were read.
    history : list of (int, str)
        (period, state) of each change of state, oldest first; of periods that were not read, the first and the last.
    examples : tuple of (str, str)
        Ids and titles of central documents of the period in which it began.
    feedback : str
        One of `VERDICTS`, or empty: what holds in the last period.
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
        """The state in the last period."""
        return self.history[-1][1]

    def state_at(self, t: int) -> str:
        """Return the state in a period; "" before its birth."""
        return ([""] + [state for at, state in self.history if at <= t])[-1]

    @property
    def size(self) -> int:
        """Documents so far."""
        return self.earlier + sum(self.sizes.values())

    def before(self, t: int) -> int:
        """Return its documents before a period."""
        return self.earlier + sum(size for at, size in self.sizes.items() if at < t)


@dataclass(frozen=True)
class Reason:
    """A word and its share of a score; shares and the document's `context` add up to the score."""

    word: str
    share: float


@dataclass(frozen=True)
class Rest:
    """Words that other documents have as well and that are not among the `reasons` of a document.

    Attributes
    ----------
    words : int
        Those that raise the score.
    largest : float
        Largest share of one of them.
    low : int
        Those that lower it.
    down : float
        Their shares together, at most 0.
    """

    words: int
    largest: float
    low: int
    down: float


@dataclass(frozen=True)
class Near:
    """What was known and most like a document.

    Attributes
    ----------
    atom : int
        Number of the atom in the dictionary that the period was scored with.
    words : tuple of str
        Its heaviest words.
    likeness : float
        Cosine of document and atom, in [0, 1].
    id : str
        A document of it, the one most like it of the last period that had any; empty where there was none yet.
    """

    atom: int
    words: tuple
    likeness: float
    id: str = ""


@dataclass(frozen=True)
class Document:
    """A document of a period, or a group of near-duplicates, with everything that is shown of it.

    Attributes
    ----------
    t, row : int
        Period; row of the batch.
    rank : int
        1 is the most novel item of its period.
    id : str
        Of the first document by time.
    members : tuple of str
        Ids of all documents of the item, the first one included.
    title : str
        Text to show; may be empty, then show the id. Holds no control character.
    time : int
        Of the first document, ms; `NO_TIME` where unknown.
    source, line, url : str, int, str
        File, line (0: not known) and address of the first document; empty where not known.
    score : float
    tail : float
        Share of recent scores that are at least as large; small is novel.
    event : int
        Number of its event, 0 for none.
    reasons : tuple of Reason
        Words that explain the score, the most important first: `led` of them that other documents have as well, then
        words that no other document had up to then.
    context : float
        Part of the score that other documents of the batch gave it. Shares of *all* words of the document, this and
        `meaning` add up to the score; `reasons` has the largest.
    nearest : tuple of Near
        Most alike first, at most two.
    feedback : str
        "follow", or empty.
    led : int
        Reasons that other documents have as well.
    own : float
        Share of the score of all words that no other document had up to then.
    rest : Rest or None
        What is not among the reasons; None where it is not stored (`alerts.rest`).
    text : str
        Excerpt around its reasons, in one line; empty where texts are not stored.
    opening : tuple of str
        Its words that are more frequent in the period than usual: those of its headline, the strongest first.
    meaning : float
        Share of the score that vectors have beside words, which is none of `context`.
    phrases : tuple of (str, tuple of str)
        Words of its reasons and its opening as its text spells and joins them; empty where texts are not stored.
    """

    t: int
    row: int
    rank: int
    id: str
    members: tuple
    title: str
    time: int
    source: str
    line: int
    url: str
    score: float
    tail: float
    event: int
    reasons: tuple
    context: float
    nearest: tuple
    feedback: str = ""
    led: int = 0
    own: float = 0.0
    rest: Rest | None = None
    text: str = ""
    opening: tuple = ()
    meaning: float = 0.0
    phrases: tuple = ()


@dataclass(frozen=True)
class Unseen:
    """A word, or a phrase with it, that no document before its period has.

    Attributes
    ----------
    phrase : str
        As most of its documents spell it.
    words : tuple of str
        The words of it that are new, as they are counted.
    items, sources : int
        Items of the period that have the first of them, and files that these come from.
    first : int
        Time of the first of these documents, ms; `NO_TIME` where unknown.
    half : int
        Time from then until half of them had it, ms.
    expected : float
        How many new words an earlier period had in at least the same share of its items, on average.
    beyond : bool
        Whether it is in more items than chance brings to a word of a period (`odl.alerts.unseen`).
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


@dataclass(frozen=True)
class Withheld:
    """What is not shown of a period although it would be if nothing were held back, and why.

    Attributes
    ----------
    what : str
        "event:12", the id of a document, "source:FILE"; empty where nobody said so.
    verdict : str
        "muted" or "known", which a user said. "empty": documents without a word, "repeated": near-duplicates of a
        document of an earlier period.
    items : int
        Number of headlines (of an event or a source), of documents otherwise.
    """

    what: str
    verdict: str
    items: int


@dataclass(frozen=True)
class Period:
    """A timestep, as a reader sees it.

    Attributes
    ----------
    t : int
    first, last : int
        Times of its earliest and latest document, ms; `NO_TIME` where unknown.
    documents : int
    items : int
        Documents with each group of near-duplicates counted once.
    usual : float
        Median number of documents of the periods before; 0 where there are none.
    unproven : bool
        Too little came before for an alert: headlines are the strongest words, and `novel` the most novel documents,
        none of them tested.
    p : float
        Of the period: min over the gates of p_gate / share of the gate. 1 for an unproven period.
    gates : dict of str to float
        Gate to its p before the share is applied; gates that could not be tested are left out.
    speaks : bool
        p is at most `alerts.level`, or a headline is certain.
    budget : int
        Headlines shown at most.
    headlines : tuple of Headline
        What speaks, by evidence, the budget and what is held back applied; repeated ones only if they are followed.
    below : tuple of Headline
        Strongest headlines that do not speak, at most five: shown folded.
    novel : tuple of int
        Rows of the most novel documents, the most novel first: five; with `gates: false` the alerts of the period.
    documents_of : dict of int to Document
        Row to the stored documents: examples of headlines, lone documents, `novel`.
    withheld : tuple of Withheld
    events : tuple of int
        Events with documents in it.
    scores, tails : ndarray of float, shape (documents,)
        Of all documents, in the order of the stream; tails are 1 in an unproven period.
    first_seen : float
        Share of the terms of its documents that were never seen before.
    unseen : tuple of Unseen
        What is beyond chance first, then by items; empty where it is not told.
    languages : dict of str to int
        Documents of each language or script that is told, "" for others; empty where there is no more than one.
    sources : tuple of str
        Files that its documents are of, by name; empty where that is not known.
    """

    t: int
    first: int
    last: int
    documents: int
    items: int
    usual: float
    unproven: bool
    p: float
    gates: dict
    speaks: bool
    budget: int
    headlines: tuple
    below: tuple
    novel: tuple
    documents_of: dict
    withheld: tuple
    events: tuple
    scores: np.ndarray
    tails: np.ndarray
    first_seen: float
    unseen: tuple = ()
    languages: dict = field(default_factory=dict)
    sources: tuple = ()


@dataclass(frozen=True)
class Watch:
    """A stream with its events.

    Attributes
    ----------
    corpus, run, atoms, seed
        Whose scores.
    settings : dict
        As `odl.config.sections.Alerts`.
    periods : tuple of Period
        Oldest first, unproven ones included; the last ones, where no more were asked for.
    events : dict of int to Event
        By number, all of these periods.
    feedback : tuple of odl.alerts.feedback.Entry
        What a user said.
    labelled : bool
        Whether some document has topics given: then a study page is worth a link.
    place : odl.alerts.read.Place
        Where it lies.
    scored : int
        Documents that were scored before these periods, no more of them than the window of the settings.
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
