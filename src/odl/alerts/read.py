"""The alerts of a folder as plain values (`odl.alerts.model`), for commands and pages."""

import glob
import os
from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from odl.alerts import feedback, periods
from odl.alerts.folding import Kind, Room
from odl.alerts.gates import GATES
from odl.alerts.model import BETWEEN, NONE, Alert, Near, Period, Reason, Rest, Topic, Watch, Withheld
from odl.config import project
from odl.config.sections import Alerts
from odl.errors import DataError
from odl.files.escaping import heading, readable, visible

PATTERNS = ("", "*/seed*/*/k*/alerts", "*/*/seed*/*/k*/alerts")
BELOW = "*/*/seed*/*/k*/alerts"  # of a folder of results
COPIES = 10  # documents nearly the same as one another that are told of though they are no alert


class Place(NamedTuple):
    """Where the alerts of a stream lie.

    Attributes
    ----------
    home : str
        The folder that was named: feedback.csv lies here.
    alerts : str
        Folder of ``{t}.h5``.
    stream : str
        Name of the stream.
    """

    home: str
    alerts: str
    stream: str

    @property
    def run(self) -> str:
        """Folder of the run: checkpoints, and scores below it."""
        return os.path.dirname(self.alerts)

    @property
    def features(self) -> str:
        """Folder of the features of the stream: of its seed, or of seed 0 where nothing is drawn."""
        seed = os.path.dirname(os.path.dirname(self.run))
        path = os.path.join(seed, "features")
        return path if os.path.isdir(path) else os.path.join(os.path.dirname(seed), "seed0", "features")

    @property
    def documents(self) -> str:
        """The documents of the corpus."""
        return os.path.join(os.path.dirname(os.path.dirname(self.features)), "documents.h5")


def place_of(folder, stream=None):
    """Return where the alerts below a folder are.

    Parameters
    ----------
    folder : path-like
        A person's folder with odl.yaml, or a study's results, ``results/STUDY``; also a folder ``.../k{k}/alerts``.
    stream : str, optional
        Which stream, where the folder has several.

    Raises
    ------
    DataError
        If there are none, or those of several streams and none was named.
    """
    folder = os.fspath(folder)
    if not os.path.isdir(folder):
        raise DataError(f"{folder} is no folder", "one with alerts", "name another one, or run it first")
    for pattern in (*PATTERNS, os.path.join(glob.escape(project.results_of(folder)), BELOW)):
        # normpath, and below: a folder may be called anything, also "[1]".
        paths = sorted(glob.glob(os.path.join(glob.escape(folder), pattern)) if pattern else [folder])
        paths = [path for path in paths if os.path.exists(os.path.join(path, "0.h5"))]
        paths = [path for path in paths if os.path.basename(os.path.abspath(path)) == "alerts"]
        places = {os.path.abspath(path).split(os.sep)[-5]: path for path in reversed(paths)}
        if stream is not None and places:
            if stream not in places:
                raise DataError(
                    f"{folder} has no alerts of {stream}", f"one of {', '.join(sorted(places))}", "name one"
                )
            places = {stream: places[stream]}
        if len(places) > 1:
            several = f"{folder} has alerts of the streams {', '.join(sorted(places))}"
            raise DataError(several, "one of them", f"name it: --stream {min(places)}")
        if places:
            ((name, path),) = places.items()
            return Place(folder, path, name)
    if os.path.exists(os.path.join(folder, project.FILE)):
        raise DataError(f"{folder} has no alerts yet", "a folder that was run", f"odl run {folder}")
    todo = "run it first, with alerts.run set"
    raise DataError(f"{folder} has no alerts", "a folder with odl.yaml, or results/STUDY", todo)


def alerts_of(
    folder: str | os.PathLike,
    stream: str | None = None,
    budget: float | None = None,
    last: int | None = None,
    lone: bool = True,
) -> Watch:
    """Read the alerts of a stream.

    Parameters
    ----------
    folder : path-like
        A person's folder with odl.yaml, or a study's results, ``results/STUDY``; also a folder ``.../k{k}/alerts``.
    stream : str, optional
        Which stream, where the folder has several.
    budget : int or float, optional
        Items (or, below 1, share of the items) a period, instead of the one that was set. Then items alert that open
        no gate as well: what is next in line.
    last : int, optional
        Periods that are read, from the newest back; by default all. What this costs does not grow with the stream.

    lone : bool
        Whether documents that stand alone are alerts, where there are gates.

    Returns
    -------
    odl.alerts.model.Watch
        Periods, alerts with their reasons, topics; what `feedback.csv` in the folder says is respected: held back
        items are counted in `Period.withheld`.

    Raises
    ------
    DataError
        If the folder has no alerts, or several streams and none was named.
    StorageError
        If a file is damaged.
    ParameterError
        If the budget is none.
    """
    place = place_of(folder, stream)
    if budget is not None:
        Alerts(budget=budget)
    entries, first = feedback.read(place.home), first_of(place, last)
    opens = None if budget is not None else GATES if lone else GATES[:-1]
    return watch(records(place, first), entries, budget, place, Earlier(place, first), opens)


def first_of(place, last=None):
    """Return the first of the last periods of a stream."""
    return 0 if last is None else max(len([*periods.paths(place.alerts)]) - last, 0)


def records(place, first=0):
    """Yield the records of a stream from a period on, oldest first.

    Raises
    ------
    StorageError
        If a file is damaged.
    """
    yield from map(periods.read, islice(periods.paths(place.alerts), first, None))


def _path(place, t):
    return os.path.join(place.alerts, f"{t}.h5")


class Earlier:
    """What is known of the periods before those that are read: the file before them, and those of births.

    Parameters
    ----------
    place : Place
    first : int
        First period that is read.

    Raises
    ------
    StorageError
        If a file is damaged.
    """

    def __init__(self, place=None, first=0):
        self.place, self.first, self.births = place, first, {}
        self.scored, self.known = periods.read_topics(_path(place, first - 1)) if first else (0, {})

    def topic(self, number):
        """Return a topic as it was before the first period that is read.

        Raises
        ------
        StorageError
            If the file of its birth is damaged.
        """
        known = self.known[number]
        if known.birth not in self.births:  # one file for all topics of a period, whatever the budget
            self.births[known.birth] = periods.read_births(_path(self.place, known.birth))
        time, born, _ = self.births[known.birth]
        ident, title = next((ident, title) for each, ident, title in born if each == number)
        topic = _new_topic(number, known.birth, time, ident, title)
        topic.name, topic.history = _parts(known.name), [(known.birth, "new")]
        topic.history += [(self.first - 1, known.state)] * (known.state != "new")
        topic.earlier = known.items
        return topic


def watch(stream, entries=(), budget=None, place=None, earlier=None, opens=GATES):
    """Put the records of a stream together, and choose what is shown of each period.

    Parameters
    ----------
    stream : iterable of odl.alerts.periods.Record
        Oldest first.
    entries : sequence of odl.alerts.feedback.Entry
    budget : int or float, optional
    place : Place, optional
    earlier : Earlier, optional
        Of periods before those that are held.
    opens : tuple of str, or None
        Gates by which items become alerts, where the records have gates; None: they need none.

    Returns
    -------
    odl.alerts.model.Watch
    """
    earlier = earlier or Earlier()
    reader, shown, labelled = _Reader(entries, budget, earlier, opens), [], False
    for record in stream:
        shown.append(reader.period(record))
        labelled, last = labelled or bool(record.facts["labelled"]), record
    atoms = dict(last.atoms)
    for number, topic in reader.topics.items():
        topic.feedback = reader.verdicts.of_topic(number, topic.state, int(last.facts["first"]))
        topic.atom = atoms.get(number, -1)
    run = {name: last.run[name] for name in ("corpus", "run", "atoms", "seed")}
    return Watch(**run, settings=last.settings, periods=tuple(shown), topics=dict(reader.topics),
                 feedback=tuple(entries), labelled=labelled, place=place, scored=earlier.scored)  # fmt: skip


class _Reader:
    """A stream read period by period: its topics so far, the atoms that hold them, and what a person said."""

    def __init__(self, entries, budget, earlier, opens):
        self.verdicts, self.budget, self.opens = feedback.Verdicts(entries), budget, opens
        self.topics = _Topics(earlier)
        self.of_atom = _by_atom((number, known.atom) for number, known in earlier.known.items() if known.atom >= 0)

    def period(self, record):
        """Return the next period with the alerts that are shown: as many as the budget, what is folded aside."""
        self._bring(record)
        facts, items, withheld = record.facts, len(np.unique(record.item)), Counter()
        withheld["", "empty"], withheld["", "repeated"] = int(facts["empty"]), int(facts["repeats"])
        budget = record.settings["budget"] if self.budget is None else self.budget
        most = Alerts(budget=budget).room(items)
        alerts = self._alerts(record, most, withheld)
        for alert in alerts:
            if alert.topic:
                counts = self.topics[alert.topic].alerts
                counts[record.t] = counts.get(record.t, 0) + 1
        alerting = {alert.id for alert in alerts}
        copied = [item for item in record.pool if len(item.members) >= COPIES and visible(item.id) not in alerting]
        withheld.update({(item.id, "copies"): len(item.members) for item in copied if not facts["warm_up"]})
        self.of_atom = _by_atom(record.atoms)
        held_back = tuple(
            Withheld(visible(what), verdict, count) for (what, verdict), count in sorted(withheld.items()) if count
        )
        return Period(
            t=record.t, first=int(facts["first"]), last=int(facts["last"]), documents=len(record.score), items=items,
            warm_up=bool(facts["warm_up"]), budget=most, alerts=tuple(alerts), withheld=held_back,
            topics=tuple(number for number, _ in record.sizes), scores=record.score, tails=record.tail,
            first_seen=float(facts["first_seen"]), unseen=tuple(map(_shown, record.unseen)), languages=record.languages,
            sources=tuple(record.sources),
        )  # fmt: skip

    def _bring(self, record):
        """Bring the topics to a period."""
        for number, ident, title in record.born:
            self.topics[number] = _new_topic(number, record.t, int(record.facts["first"]), ident, title)
        for number, _ in record.joined:
            self.topics[number].earlier += 1
        for number, size in record.sizes:
            self.topics[number].sizes[record.t] = size
        for number, state in record.changes:
            self.topics[number].history.append((record.t, state))
        for number, name in record.names:
            self.topics[number].name = _parts(name)

    def _alerts(self, record, most, withheld):
        """Return the alerts of a period; count in `withheld` what would be one if nothing were held back."""
        alerts, time = [], int(record.facts["first"])
        shown, otherwise = Room(most), Room(most)  # otherwise: were nothing held back
        for rank, item in enumerate(record.pool, start=1):
            number = int(record.topic[item.row])
            topic = self.topics[number] if number else None
            entry = self.verdicts.of_item(item.members, item.source, number, topic.state if topic else "new", time)
            following = entry is not None and entry.verdict == "follow"
            novel = self._is_novel(record, item)
            if not (novel or following):
                continue
            alert = alert_of(record, item, topic, self.of_atom, rank)
            kind = Kind.of(alert)
            missed, _ = otherwise.take(number, kind, novel, following)
            if entry is not None and not following:
                withheld[entry.what, entry.verdict] += missed
                continue
            taken, folded = shown.take(number, kind, novel, following)
            if taken:
                alerts.append(replace(alert, folded=folded, feedback="follow" if following else ""))
        return alerts

    def _is_novel(self, record, item):
        """Return whether an item may be an alert: by its gate where there are gates, else by its tail probability."""
        if record.settings["gates"] and self.opens is not None:
            return item.gate in self.opens
        return bool(item.gate) or bool(record.tail[item.row] <= record.settings["level"])


class _Topics(dict):
    """Topics by number; one that was born earlier is looked up where it is met."""

    def __init__(self, earlier):
        self.earlier = earlier

    def __missing__(self, number):
        self[number] = self.earlier.topic(number)
        return self[number]


def _new_topic(number, birth, time, ident, title):
    return Topic(number, (), birth, {}, {}, visible(ident), heading(title), [], first=time)


def _parts(name):
    """Return the parts of a topic's name: words or phrases."""
    return tuple(map(readable, name.split(BETWEEN))) if name else ()


def _shown(one):
    """Return an unseen word as a reader sees it."""
    documents = tuple((visible(ident), heading(title)) for ident, title in one.documents)
    return replace(one, phrase=readable(one.phrase), words=tuple(map(visible, one.words)), documents=documents)


def _by_atom(pairs):
    """Return the topic that each atom holds: the first one."""
    return {atom: number for number, atom in reversed(list(pairs))}


def alert_of(record, item, topic, of_atom, rank):
    """Return an item of a period as an alert.

    Parameters
    ----------
    record : odl.alerts.periods.Record
    item : odl.alerts.periods.Item
    topic : odl.alerts.model.Topic or None
    of_atom : dict of int to int
        Topic of each atom that holds one.
    rank : int
    """
    row = item.row
    atoms = [(int(atom), float(like)) for atom, like in zip(record.near[row], record.likeness[row], strict=True)]
    nearest = [
        Near(atom, tuple(visible(words).split()), likeness, visible(ident), of_atom.get(atom, NONE))
        for (atom, likeness), (words, ident) in zip((pair for pair in atoms if pair[0] >= 0), item.near, strict=True)
    ]
    source = visible(item.source)
    return Alert(
        t=record.t, rank=rank, id=visible(item.id), members=tuple(map(visible, item.members)),
        title=heading(item.title), time=item.time, source=source, line=_line_of(item.id, item.source),
        url=visible(item.url), score=float(record.score[row]), tail=float(record.tail[row]),
        topic=topic.number if topic else NONE, topic_name=topic.name if topic else (),
        state=topic.state_at(record.t) if topic else "new",
        folded=False, context=float(record.context[row]), nearest=tuple(nearest),
        reasons=tuple(Reason(visible(word), share) for word, share in item.words),
        led=item.led, own=item.own, rest=Rest(*item.rest) if item.rest else None, text=readable(item.text),
        gate=item.gate, opening=tuple(map(visible, item.opening)),
        meaning=0.0 if record.meaning is None else float(record.meaning[row]),
        phrases=tuple((visible(phrase), tuple(map(visible, words))) for phrase, words in item.phrases),
    )  # fmt: skip


def _line_of(ident, source):
    """Return the line that an id made by the reader names (``posts.csv:12``), 0 for another id."""
    name, _, line = ident.rpartition(":")
    return int(line) if name and name == source and line.isdecimal() else 0
