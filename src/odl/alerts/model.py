"""Plain values for a reader of a stream: alerts, topics, periods, and what was held back.

Nothing here knows files; `odl.alerts.read.alerts_of` makes these of a folder. Times are milliseconds since 1970
(UTC), `odl.files.documents.NO_TIME` where unknown. A period is a timestep of the stream.
"""

from dataclasses import dataclass, field

import numpy as np

from odl.files.documents import NO_TIME

VERSION = 1  # of an alert as JSON: fields are only ever added
STATES = ("new", "ongoing", "growing", "returning", "ended")
VERDICTS = ("known", "muted", "follow")
NONE = 0  # number of no topic
BETWEEN = "\t"  # the parts of a topic's name, where it is one text


@dataclass(frozen=True)
class Reason:
    """A word and its share of a score; shares and the alert's `context` add up to the score."""

    word: str
    share: float


@dataclass(frozen=True)
class Rest:
    """Words of other documents as well that are not among the `reasons` of an alert.

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
    topic : int
        Number of the topic that the atom holds, 0 for none.
    """

    atom: int
    words: tuple
    likeness: float
    id: str = ""
    topic: int = 0


@dataclass(frozen=True)
class Alert:
    """An item within the budget of its period: a document, or a group of near-duplicates.

    Attributes
    ----------
    t : int
        Period.
    rank : int
        1 is the most novel item of its period. Items that are held back keep theirs.
    id : str
        Of the first document by position in the stream.
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
        Calibrated probability of such a score under recent documents; small is novel.
    topic : int
        Number of its topic, 0 for none.
    topic_name : tuple of str
    state : str
        State of the topic in this period, one of `STATES`; "new" without a topic.
    folded : bool
        Whether three more novel items of its topic are shown already, or one of them that has its subject, or, without
        a topic, one that has its subject or shares its rare words: to be listed under them, not by itself.
    reasons : tuple of Reason
        Words that explain the score, the most important first: `led` of them that other documents have as well, then
        words that no other document had up to then.
    context : float
        Rest of the score: what the other documents of the batch gave it. Shares of *all* words of the document, this
        and `meaning` add up to the score; `reasons` holds the largest.
    nearest : tuple of Near
        Most alike first, at most two.
    feedback : str
        "follow", or empty.
    led : int
        Reasons that other documents have as well.
    own : float
        Share of the score of all words that no other document had up to then.
    rest : Rest or None
        What is not among the reasons; None where it was not kept (`alerts.rest`).
    text : str
        Excerpt of the first document around its reasons, in one line; empty where texts are not kept.
    gate : str
        The gate that let it speak, one of `odl.alerts.gates.GATES`; empty without gates, or of what is next in line.
    opening : tuple of str
        Its words that opened the gate of words, the rarest first; none of another gate.
    meaning : float
        Share of the score that vectors have beside words, which is none of `context`.
    phrases : tuple of (str, tuple of str)
        Words of its reasons and its opening as its text spells and joins them; none where they are not kept.
    """

    t: int
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
    topic: int
    topic_name: tuple
    state: str
    folded: bool
    reasons: tuple
    context: float
    nearest: tuple
    feedback: str = ""
    led: int = 0
    own: float = 0.0
    rest: Rest | None = None
    text: str = ""
    gate: str = ""
    opening: tuple = ()
    meaning: float = 0.0
    phrases: tuple = ()


@dataclass
class Topic:
    """Items of one or several periods that belong together.

    Attributes
    ----------
    number : int
        From 1 on, in the order of birth; never changes, never given twice.
    name : tuple of str
        Words that several of its documents share, the most telling first.
    birth : int
        Period in which it was found.
    first : int
        Time of the earliest document of that period, ms; `NO_TIME` where unknown.
    sizes : dict of int to int
        Period to its documents there (not only alerts); periods without any are left out.
    earlier : int
        Its documents in periods before those that were read, and those before its birth that it was made of.
    alerts : dict of int to int
        Period to its items within the budget there.
    representative, title : str, str
        Id and title of the document that is most like the topic, of those it was found with.
    history : list of (int, str)
        (period, state) of each change of state, oldest first; of periods that were not read, the first and the last.
    feedback : str
        One of `VERDICTS`, or empty: what holds in the last period.
    atom : int
        Atom of the dictionary that holds it now; -1: none yet, or no more.
    """

    number: int
    name: tuple
    birth: int
    sizes: dict
    alerts: dict
    representative: str
    title: str
    history: list
    feedback: str = ""
    atom: int = -1
    first: int = NO_TIME
    earlier: int = 0

    @property
    def state(self) -> str:
        """The state in the last period."""
        return self.history[-1][1]

    def state_at(self, t: int) -> str:
        """Return the state in a period."""
        return [state for at, state in self.history if at <= t][-1]

    @property
    def size(self) -> int:
        """Documents so far."""
        return self.earlier + sum(self.sizes.values())

    def before(self, t: int) -> int:
        """Return its documents before a period."""
        return self.earlier + sum(size for at, size in self.sizes.items() if at < t)


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
        "topic:12", the id of a document, "source:FILE"; empty where nobody said so.
    verdict : str
        "muted" or "known", which a person said. "empty": documents without a word, and "repeated": near-duplicates
        of a document of an earlier period, which are never alerts. "copies": an unusual text that came often.
    items : int
        How many.
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
    warm_up : bool
        Whether too little came before for an alert; such a period has none.
    budget : int
        Items at most.
    alerts : tuple of Alert
        Most novel first; may be empty: nothing new.
    withheld : tuple of Withheld
    topics : tuple of int
        Topics with documents in it.
    scores, tails : ndarray of float, shape (documents,)
        Of all documents, in the order of the stream; tails are 1 in a warm-up.
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
    warm_up: bool
    budget: int
    alerts: tuple
    withheld: tuple
    topics: tuple
    scores: np.ndarray
    tails: np.ndarray
    first_seen: float
    unseen: tuple = ()
    languages: dict = field(default_factory=dict)
    sources: tuple = ()


@dataclass(frozen=True)
class Watch:
    """A stream with its alerts.

    Attributes
    ----------
    corpus, run, atoms, seed
        Whose scores.
    settings : dict
        As `odl.config.sections.Alerts`.
    periods : tuple of Period
        Oldest first, warm-up included; the last ones, where no more were asked for.
    topics : dict of int to Topic
        By number, all of these periods.
    feedback : tuple of odl.alerts.feedback.Entry
        What a person has said.
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
    topics: dict
    feedback: tuple = ()
    labelled: bool = False
    place: object = None
    scored: int = 0

    def scored_before(self, t: int) -> int:
        """Return how many documents count for the calibration of a period: scored since the first, with a word."""
        empty = {each.t: sum(held.items for held in each.withheld if held.verdict == "empty") for each in self.periods}
        return self.scored + sum(each.documents - empty[each.t] for each in self.periods if 0 < each.t < t)
