"""Read the alerts of a folder as records of `odl.alerts.model`; choose the headlines to show."""

import glob
import os
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from odl.alerts import feedback, periods
from odl.alerts.decision import STORED_NOVEL
from odl.alerts.model import NO_EVENT, Event, Near, Reason, Rest, StreamAlerts
from odl.config import project
from odl.config.sections import Alerts
from odl.errors import DataError
from odl.files.escaping import heading, readable, visible

# Patterns of folders of alerts below the folder that a user names, which may be a folder of alerts,
# of a study, or of several studies.
PATTERNS = ("", "*/seed*/*/k*/alerts", "*/*/seed*/*/k*/alerts")
RESULTS_PATTERN = "*/*/seed*/*/k*/alerts"  # folders of alerts below a folder of results
PAGE_PERIODS = 100  # periods of a page; its cost does not grow with the stream


class Place(NamedTuple):
    """Folders of the alerts of a stream.

    Attributes
    ----------
    home : str
        Folder that the user named; it has feedback.csv.
    alerts : str
        Folder of the periods, ``{t}.h5``.
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
        """Folder with the stream's features.

        If the features do not depend on the seed, all seeds use the folder of seed 0.
        """
        seed = os.path.dirname(os.path.dirname(self.run))
        path = os.path.join(seed, "features")
        return (
            path
            if os.path.isdir(path)
            else os.path.join(os.path.dirname(seed), "seed0", "features")
        )

    @property
    def documents(self) -> str:
        """File of the documents of the corpus."""
        return os.path.join(os.path.dirname(os.path.dirname(self.features)), "documents.h5")


def place_of(folder, stream=None):
    """Find the alerts below a folder.

    Parameters
    ----------
    folder : path-like
        Folder with odl.yaml, results of a study (``results/STUDY``), or a folder
        ``.../k{k}/alerts``.
    stream : str, optional
        Name of the stream, needed if the folder has several.

    Raises
    ------
    DataError
        If the folder has no alerts, or those of several streams and `stream` is not given.
    """
    folder = os.fspath(folder)
    if not os.path.isdir(folder):
        raise DataError(f"{folder} is no folder", "a folder with alerts", "name another folder")
    for pattern in (
        *PATTERNS,
        os.path.join(glob.escape(project.results_of(folder)), RESULTS_PATTERN),
    ):
        streams = _streams_below(folder, pattern)
        if stream is not None and streams:
            if stream not in streams:
                raise DataError(
                    f"{folder} has no alerts of {stream}",
                    f"one of {', '.join(sorted(streams))}",
                    "name one of these streams",
                )
            streams = {stream: streams[stream]}
        if len(streams) > 1:
            raise DataError(
                f"{folder} has alerts of the streams {', '.join(sorted(streams))}",
                "the name of one stream",
                f"add --stream {min(streams)}",
            )
        if streams:
            ((name, path),) = streams.items()
            return Place(folder, path, name)
    if os.path.exists(os.path.join(folder, project.FILE)):
        raise DataError(
            f"{folder} has no alerts yet", "a folder that was run", f"type odl run {folder}"
        )
    todo = "run it first, with alerts.run set"
    raise DataError(f"{folder} has no alerts", "a folder with odl.yaml, or results/STUDY", todo)


def _streams_below(folder, pattern):
    """Find the folders of alerts that match a pattern below a folder; return {stream: folder}.

    With the empty pattern, the folder itself is the only candidate.
    """
    # Escape the folder, since its name may contain signs of patterns, such as "[1]".
    escaped = os.path.join(glob.escape(folder), pattern)
    paths = sorted(glob.glob(escaped)) if pattern else [folder]
    streams = {}
    for path in reversed(paths):
        parts = os.path.abspath(path).split(os.sep)
        if parts[-1] == "alerts" and os.path.exists(os.path.join(path, "0.h5")):
            streams[parts[-5]] = path  # STREAM/seed0/LEARNER/k100/alerts
    return streams


def alerts_of(
    folder: str | os.PathLike,
    stream: str | None = None,
    budget: float | None = None,
    last: int | None = None,
    lone: bool = True,
) -> StreamAlerts:
    """Read the alerts of a stream.

    Parameters
    ----------
    folder : path-like
        Folder with odl.yaml, results of a study (``results/STUDY``), or a folder
        ``.../k{k}/alerts``.
    stream : str, optional
        Name of the stream, needed if the folder has several.
    budget : int or float, optional
        Largest number of headlines of a period; by default that of the settings.
    last : int, optional
        Number of newest periods to read; by default all. With a number, the cost does not grow with
        the length of the stream.
    lone : bool
        Whether documents that stand alone are headlines.

    Returns
    -------
    odl.alerts.model.StreamAlerts
        Periods with their headlines, and events. Headlines that a user muted in `feedback.csv` are
        left out and counted in `Period.withheld`.

    Raises
    ------
    DataError
        If the folder has no alerts, or those of several streams and `stream` is not given.
    StorageError
        If a file is damaged.
    ParameterError
        If the budget is invalid.
    """
    place = place_of(folder, stream)
    if budget is not None:
        Alerts(budget=budget)
    entries, first = feedback.read(place.home), first_of(place, last)
    return watch(records(place, first), entries, budget, place, StoredEvents(place, first), lone)


def first_of(place, last=None):
    """Return the number of the first period to read, if the `last` newest periods are wanted.

    It is 0 if `last` is None, or if there are fewer periods.
    """
    return 0 if last is None else max(len([*periods.paths(place.alerts)]) - last, 0)


def records(place, first=0, cached=False):
    """Yield the periods of a stream, oldest first, with texts that are safe to print.

    Parameters
    ----------
    place : Place
    first : int
        Number of the first period.
    cached : bool
        Whether to cache the periods in memory, for a process that writes many pages.

    Raises
    ------
    StorageError
        If a file is damaged.
    """
    for path in islice(periods.paths(place.alerts), first, None):
        if cached:
            facts = os.stat(path)
            file = os.path.abspath(path), facts.st_size, facts.st_mtime_ns, facts.st_ino
            yield _cached_record(*file)
        else:
            yield with_printable_texts(periods.read(path))


@lru_cache(maxsize=PAGE_PERIODS)
def _cached_record(path, *_):
    """Return a period with printable texts; other arguments are only part of the cache's key."""
    return with_printable_texts(periods.read(path))


def with_printable_texts(period):
    """Return a period with the texts of its documents, headlines and words safe to print."""
    names = ("documents_of", "headlines", "below", "unseen")
    return replace(period, **{name: printable(getattr(period, name)) for name in names})


def _period_path(place, t):
    """Return the path of the file of a period."""
    return os.path.join(place.alerts, f"{t}.h5")


class StoredEvents(dict):
    """Events by number; an event born before the periods read is loaded when it is first used.

    Parameters
    ----------
    place : Place
    first : int
        Number of the first period that is read.

    Raises
    ------
    StorageError
        If a file is damaged.
    """

    def __init__(self, place=None, first=0):
        super().__init__()
        self.place, self.first, self.births = place, first, {}
        self.scored, self.known = (
            periods.read_events(_period_path(place, first - 1)) if first else (0, {})
        )

    def __missing__(self, number):
        event = self[number] = self.known[number]
        if event.birth not in self.births:
            self.births[event.birth] = periods.read_births(_period_path(self.place, event.birth))
        event.first, born = self.births[event.birth]
        event.examples = dict(born)[number]
        return event


def watch(stream, entries=(), budget=None, place=None, events=None, lone=True):
    """Combine the periods of a stream, and choose the headlines to show in each.

    Parameters
    ----------
    stream : iterable of odl.alerts.model.Period
        Results of `records` or `with_printable_texts`, oldest first. They are not changed.
    entries : sequence of odl.alerts.feedback.FeedbackLine
    budget : int or float, optional
        Largest number of headlines of a period; by default that of the settings.
    place : Place, optional
    events : StoredEvents, optional
        Events before these periods; by default there are none.
    lone : bool
        Whether documents that stand alone are headlines.

    Returns
    -------
    odl.alerts.model.StreamAlerts
    """
    events = StoredEvents() if events is None else events
    reader, shown = _Reader(entries, budget, events, lone), []
    for period in stream:
        shown.append(reader.show(period))
    last = shown[-1]
    stored = periods.read_events(_period_path(place, last.t))[1] if place else {}
    for number, event in events.items():
        event.feedback = reader.verdicts.of_event(number, event.state, last.first)
        if number in stored:
            for name in ("name", "words", "threshold"):
                setattr(event, name, getattr(stored[number], name))
    run = {name: last.run[name] for name in ("corpus", "run", "atoms", "seed")}
    labelled = any(period.labelled for period in shown)
    return StreamAlerts(
        **run,
        settings=last.settings,
        periods=tuple(shown),
        events=printable(dict(events)),
        feedback=tuple(entries),
        labelled=labelled,
        place=place,
        scored=events.scored,
        address=project.address_of(place.home) if place else "",
    )


class _Reader:
    """Chooses the headlines to show in the periods of a stream, one period after another.

    Attributes
    ----------
    events : StoredEvents
        Events so far.
    """

    def __init__(self, entries, budget, events, lone):
        self.verdicts, self.budget, self.lone = feedback.Verdicts(entries), budget, lone
        self.events = events

    def show(self, period):
        """Return the next period with the headlines to show, and the counts of withheld ones."""
        self._update_events(period)
        withheld = Counter({("", "empty"): period.empty, ("", "repeated"): period.repeats})
        budget = period.settings["budget"] if self.budget is None else self.budget
        period = replace(
            period,
            documents_of=dict(period.documents_of),
            budget=Alerts(budget=budget).room(len(np.unique(period.item))),
        )
        period.headlines = self._headlines(period, withheld)
        period.novel = self._novel(period, withheld)
        period.withheld = {
            (visible(name), reason): n for (name, reason), n in sorted(withheld.items()) if n
        }
        return period

    def _update_events(self, period):
        """Update the events with the sizes, states and new events of a period."""
        names = {headline.event: headline.name for headline in reversed(period.headlines)}
        for number, examples in period.born:
            self.events[number] = Event(
                number, names.get(number, ()), (), 0.0, period.t, period.first
            )
            self.events[number].examples = examples
        for number, size in period.sizes:
            self.events[number].sizes[period.t] = size
        for number, state in period.changes:
            self.events[number].history.append((period.t, state))

    def _headlines(self, period, withheld):
        """Return the headlines of a period to show; count in `withheld` those that users muted."""
        shown, documents = [], period.documents_of
        for headline in period.headlines:
            members, source = (), ""
            if headline.gate == "lone":
                if not self.lone:
                    continue
                if headline.examples:
                    document = documents[headline.examples[0]]
                    members, source = document.members, document.source
            elif headline.gate == "volume":
                source = "".join(headline.name[1:])  # the name is ("volume", source) or ("volume",)
            state = headline.state or "new"
            line = self.verdicts.of_item(members, source, headline.event, state, period.first)
            if line is not None and line.verdict == "follow":
                for row in headline.examples:
                    documents[row] = replace(documents[row], feedback="follow")
                shown.append(headline)
            elif line is not None:
                if not headline.repeated:
                    withheld[line.what, line.verdict] += 1
            elif not headline.repeated and len(shown) < period.budget:
                shown.append(headline)
        return tuple(shown)

    def _novel(self, period, withheld):
        """Return the rows of the most novel documents to list, the most novel first.

        With `gates: false` these documents are the alerts. Then the verdicts of users and the
        budget apply, and `withheld` counts the alerts that are not shown.
        """
        if period.settings["gates"] or period.unproven:
            return tuple(period.novel[:STORED_NOVEL].tolist())
        chosen, documents = [], period.documents_of
        for row in period.novel.tolist():
            document = documents[row]
            entry = self.verdicts.of_item(
                document.members, document.source, NO_EVENT, "new", period.first
            )
            following = entry is not None and entry.verdict == "follow"
            alert = period.tail[row] <= period.settings["tail"] and len(chosen) < period.budget
            if entry is not None and not following:
                if alert:
                    withheld[entry.what, entry.verdict] += 1
            elif alert or following:
                documents[row] = replace(document, feedback="follow" if following else "")
                chosen.append(row)
        return tuple(chosen)


def printable(value):
    """Return a value of `odl.alerts.model` with printable texts; lists become tuples."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items()}
    if isinstance(value, NAMED_TUPLES):
        return value._replace(**{name: printable(item) for name, item in value._asdict().items()})
    if is_dataclass(value):
        texts = {item.name: getattr(value, item.name) for item in fields(value)}
        return replace(
            value,
            **{name: PRINTABLE_FIELDS.get(name, printable)(text) for name, text in texts.items()},
        )
    return tuple(map(printable, value)) if isinstance(value, (list, tuple)) else value


def _printable_examples(examples):
    """Return examples as a tuple of rows, or of printable pairs (id, title)."""
    pairs = [example for example in examples if not isinstance(example, int)]
    return (
        tuple((visible(ident), heading(title)) for ident, title in pairs)
        if pairs
        else tuple(examples)
    )


NAMED_TUPLES = (Near, Reason, Rest)
# Functions of the fields that need another form than `visible` returns.
PRINTABLE_FIELDS = {
    "title": heading,
    "text": readable,
    "phrase": readable,
    "name": lambda name: tuple(map(readable, name)),
    "examples": _printable_examples,
    "documents": _printable_examples,
    "history": list,
}
