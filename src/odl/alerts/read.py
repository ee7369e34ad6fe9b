"""The alerts of a folder as plain values (`odl.alerts.model`), for commands and pages."""

import glob
import os
from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from odl.alerts import feedback, periods
from odl.alerts.decision import NOVEL
from odl.alerts.model import NONE, Document, Event, Near, Period, Reason, Rest, Watch, Withheld
from odl.config import project
from odl.config.sections import Alerts
from odl.errors import DataError
from odl.files.escaping import heading, readable, visible

PATTERNS = ("", "*/seed*/*/k*/alerts", "*/*/seed*/*/k*/alerts")
BELOW = "*/*/seed*/*/k*/alerts"  # of a folder of results


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
        Headlines a period at most, instead of the number that was set.
    last : int, optional
        Periods that are read, from the newest back; by default all. What this costs does not grow with the stream.
    lone : bool
        Whether documents that stand alone are headlines.

    Returns
    -------
    odl.alerts.model.Watch
        Periods with their headlines, events; what `feedback.csv` in the folder says is respected: what is held back
        is counted in `Period.withheld`.

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
    return watch(records(place, first), entries, budget, place, StoredEvents(place, first), lone)


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


class StoredEvents(dict):
    """Events by number. One that began before the periods that are read is looked up in their files when it is met.

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
        super().__init__()
        self.place, self.first, self.births = place, first, {}
        self.scored, self.known = periods.read_events(_path(place, first - 1)) if first else (0, {})

    def __missing__(self, number):
        known = self.known[number]
        if known.birth not in self.births:
            self.births[known.birth] = periods.read_births(_path(self.place, known.birth))
        time, born = self.births[known.birth]
        event = self[number] = _new_event(number, known.birth, time, dict(born)[number])
        event.history = [(known.birth, "new")] + [(self.first - 1, known.state)] * (known.state != "new")
        event.earlier = known.size
        return event


def watch(stream, entries=(), budget=None, place=None, events=None, lone=True):
    """Put the records of a stream together, and choose what is shown of each period.

    Parameters
    ----------
    stream : iterable of odl.alerts.periods.Record
        Oldest first.
    entries : sequence of odl.alerts.feedback.Entry
    budget : int or float, optional
    place : Place, optional
    events : StoredEvents, optional
        If there are periods before those that are read.
    lone : bool
        Whether documents that stand alone are headlines.

    Returns
    -------
    odl.alerts.model.Watch
    """
    events = StoredEvents() if events is None else events
    reader, shown, labelled = _Reader(entries, budget, events, lone), [], False
    for record in stream:
        shown.append(reader.period(record))
        labelled, last = labelled or bool(record.facts["labelled"]), record
    known = periods.read_events(_path(place, last.t))[1] if place else {}
    for number, event in reader.events.items():
        event.feedback = reader.verdicts.of_event(number, event.state, int(last.facts["first"]))
        if number in known:
            event.name, event.threshold = tuple(map(readable, known[number].name)), known[number].threshold
            event.words = tuple(replace(one, word=visible(one.word)) for one in known[number].words)
    run = {name: last.run[name] for name in ("corpus", "run", "atoms", "seed")}
    return Watch(**run, settings=last.settings, periods=tuple(shown), events=dict(reader.events),
                 feedback=tuple(entries), labelled=labelled, place=place, scored=events.scored)  # fmt: skip


class _Reader:
    """A stream read period by period: its events so far, and what a user said."""

    def __init__(self, entries, budget, events, lone):
        self.verdicts, self.budget, self.lone = feedback.Verdicts(entries), budget, lone
        self.events = events

    def period(self, record):
        """Return the next period with the headlines that are shown: as many as the budget, what is held back aside."""
        self._bring(record)
        facts, items, withheld = record.facts, len(np.unique(record.item)), Counter()
        withheld["", "empty"], withheld["", "repeated"] = int(facts["empty"]), int(facts["repeats"])
        budget = record.settings["budget"] if self.budget is None else self.budget
        most = Alerts(budget=budget).room(items)
        ranks = {row: rank for rank, row in enumerate(_by_score(record), start=1)}
        documents = {item.row: document_of(record, item, ranks.get(item.row, 0)) for item in record.items}
        headlines = self._headlines(record, documents, withheld, most)
        novel = self._novel(record, documents, withheld, most)
        held_back = tuple(
            Withheld(visible(what), verdict, count) for (what, verdict), count in sorted(withheld.items()) if count
        )
        return Period(
            t=record.t, first=int(facts["first"]), last=int(facts["last"]), documents=len(record.score), items=items,
            usual=float(facts["usual"]), unproven=bool(facts["unproven"]), p=float(facts["p"]), gates=record.gates,
            speaks=bool(headlines), budget=most, headlines=tuple(headlines), below=tuple(map(_spelled, record.below)),
            novel=novel, documents_of=documents, withheld=held_back,
            events=tuple(number for number, _ in record.sizes), scores=record.score, tails=record.tail,
            first_seen=float(facts["first_seen"]), unseen=tuple(map(_shown, record.unseen)), languages=record.languages,
            sources=tuple(record.sources),
        )  # fmt: skip

    def _bring(self, record):
        """Bring the events to a period."""
        names = {one.event: one.name for one in reversed(record.headlines)}
        for number, examples in record.born:
            event = self.events[number] = _new_event(number, record.t, int(record.facts["first"]), examples)
            event.name = tuple(map(readable, names.get(number, ())))
        for number, size in record.sizes:
            self.events[number].sizes[record.t] = size
        for number, state in record.changes:
            self.events[number].history.append((record.t, state))

    def _headlines(self, record, documents, withheld, most):
        """Return the headlines of a period; count in `withheld` those that a user holds back."""
        shown, time = [], int(record.facts["first"])
        for one in record.headlines:
            if one.gate == "lone" and not self.lone:
                continue
            first = documents[one.examples[0]] if one.examples else None
            members, source = (first.members, first.source) if first and one.gate == "lone" else ((), "")
            source = one.name[1] if one.gate == "volume" and len(one.name) > 1 else source
            entry = self.verdicts.of_item(members, source, one.event, one.state or "new", time)
            if entry is not None and entry.verdict == "follow":
                documents |= {row: replace(documents[row], feedback="follow") for row in one.examples}
                shown.append(_spelled(one))
            elif entry is not None:
                withheld[entry.what, entry.verdict] += not one.repeated
            elif not one.repeated and len(shown) < most:
                shown.append(_spelled(one))
        return shown

    def _novel(self, record, documents, withheld, most):
        """Return the rows of the most novel documents; of those that are alerts, without gates, those not held back."""
        if record.settings["gates"] or record.facts["unproven"]:
            return tuple(record.novel[:NOVEL].tolist())
        chosen, time = [], int(record.facts["first"])
        for row in record.novel.tolist():
            document = documents[row]
            entry = self.verdicts.of_item(document.members, document.source, NONE, "new", time)
            following = entry is not None and entry.verdict == "follow"
            alert = record.tail[row] <= record.settings["tail"] and len(chosen) < most
            if entry is not None and not following:
                withheld[entry.what, entry.verdict] += alert
            elif alert or following:
                documents[row] = replace(document, feedback="follow" if following else "")
                chosen.append(row)
        return tuple(chosen)


def _new_event(number, birth, time, examples):
    examples = tuple((visible(ident), heading(title)) for ident, title in examples)
    return Event(number, (), (), 0.0, birth, first=time, examples=examples)


def _by_score(record):
    """Return the rows of the items of a period, the most novel first."""
    items = np.flatnonzero(record.item == np.arange(len(record.item)))
    return items[np.argsort(-record.score[items], kind="stable")].tolist()


def _spelled(headline):
    """Return a headline as a reader sees it."""
    name, words = tuple(map(readable, headline.name)), tuple(map(visible, headline.words))
    return replace(headline, name=name, words=words)


def _shown(one):
    """Return an unseen word as a reader sees it."""
    documents = tuple((visible(ident), heading(title)) for ident, title in one.documents)
    return replace(one, phrase=readable(one.phrase), words=tuple(map(visible, one.words)), documents=documents)


def document_of(record, item, rank):
    """Return an item of a period as a document.

    Parameters
    ----------
    record : odl.alerts.periods.Record
    item : odl.alerts.periods.Item
    rank : int
    """
    row = item.row
    atoms = [(int(atom), float(like)) for atom, like in zip(record.near[row], record.likeness[row], strict=True)]
    nearest = [
        Near(atom, tuple(visible(words).split()), likeness, visible(ident))
        for (atom, likeness), (words, ident) in zip((pair for pair in atoms if pair[0] >= 0), item.near, strict=True)
    ]
    return Document(
        t=record.t, row=row, rank=rank, id=visible(item.id), members=tuple(map(visible, item.members)),
        title=heading(item.title), time=item.time, source=visible(item.source), line=_line_of(item.id, item.source),
        url=visible(item.url), score=float(record.score[row]), tail=float(record.tail[row]),
        event=int(record.event[row]), context=float(record.context[row]), nearest=tuple(nearest),
        reasons=tuple(Reason(visible(word), share) for word, share in item.words),
        led=item.led, own=item.own, rest=Rest(*item.rest) if item.rest else None, text=readable(item.text),
        opening=tuple(map(visible, item.opening)),
        meaning=0.0 if record.meaning is None else float(record.meaning[row]),
        phrases=tuple((visible(phrase), tuple(map(visible, words))) for phrase, words in item.phrases),
    )  # fmt: skip


def _line_of(ident, source):
    """Return the line that an id made by the reader names (``posts.csv:12``), 0 for another id."""
    name, _, line = ident.rpartition(":")
    return int(line) if name and name == source and line.isdecimal() else 0
