"""Self-contained HTML page about what is new in a stream (new.html)."""

import base64
import importlib.util
import os
from typing import NamedTuple

import numpy as np

from odl.alerts import alarms, explain, facets, feedback, read, verdicts, views
from odl.alerts.model import NO_EVENT
from odl.errors import DataError
from odl.files import provenance, storage
from odl.report import newfeeds, newparts, page
from odl.report.page import Markup
from odl.stream import boilerplate
from odl.text.stopwords import shown

# Sections of the page: name of the macro, heading.
PAGE_PARTS = (
    ("before", "Headlines before"),
    ("events", "Events over time"),
    ("words", "Words never seen before"),
    ("volume", "Documents over time"),
    ("health", "How the watch itself is doing"),
)
RECENT_PERIODS = 4  # last periods in which documents without words are counted
LANGUAGE_PERIODS = 8  # earlier periods with which the languages of the last period are compared
LANGUAGE_CHANGE = 0.1  # smallest reported change of a language's share of the documents
EMPTY_SHARE = 0.02  # share of documents without words above which advice is given
LINES_LISTED = 12  # lines of feedback.csv that are listed
# Title of the finding for each `Alarm.kind`.
ALARM_TITLES = {
    "scores": "Scores have changed",
    "words": "The words have changed",
    "silence": "A source is silent",
    "pause": "Nothing came",
    "budget": "The budget is full",
}
# Path in the package itables of the DataTables script, which makes tables sortable and searchable.
DATATABLES = "html/dt_bundle.js"


def write_page(path, folder, stream=None, *, home=None, study=None, atom=None, feed=None):
    """Write the page of a stream, and its feeds.

    Parameters
    ----------
    path : path-like
    folder : path-like
        Folder with alerts (`odl.alerts.read.alerts_of`).
    stream : str, optional
        Name of the stream, needed if the folder has several.
    home : path-like, optional
        Folder of feedback.csv; by default `folder`.
    study : str, optional
        Path of the study page, which is linked if documents have topics.
    atom, feed : path-like, optional
        Paths of the Atom and the JSON feed; without a path, a feed is not written.

    Returns
    -------
    odl.alerts.model.StreamAlerts
        Periods and events of the page.

    Raises
    ------
    DataError
        If the folder has no alerts, or those of several streams, or if the script of the tables is
        not installed.
    StorageError
        If a file is damaged.
    """
    place = read.place_of(folder, stream)
    entries = feedback.read(place.home if home is None else home)
    first = read.first_of(place, read.PAGE_PERIODS)
    records = read.records(place, first, cached=True)
    watch = read.watch(records, entries, None, place, read.StoredEvents(place, first))
    removed = boilerplate.sentence(
        place.documents, os.path.join(place.features, f"{watch.periods[-1].t}.h5")
    )
    link = os.path.relpath(study, os.path.dirname(os.path.abspath(path))) if study else None
    latest_numbers = {headline.event for headline in watch.periods[-1].headlines} - {NO_EVENT}
    latest = [watch.events[number] for number in sorted(latest_numbers)]
    members = explain.read_members(place, latest)
    counted = facets.count_facets(place, {event.number: event.sizes for event in latest})
    sounded = alarms.find_alarms(watch)
    stories = newfeeds.feed_entries(watch, sounded)
    watch = verdicts.with_verdicts(watch, place.home if home is None else home)
    for feed_path, form in ((atom, newfeeds.as_atom), (feed, newfeeds.as_json)):
        if feed_path:
            newfeeds.write_feed(feed_path, form(watch, stories))
    with storage.replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(provenance.page(render_page(watch, link, removed, members, sounded, counted)))
    return watch


def render_page(watch, study=None, taken="", members=None, sounded=(), counted=None):
    """Return the page as HTML.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    study : str, optional
        Address of the study page, relative to this one.
    taken : str
        Phrase about passages that were removed from the texts before words were counted.
    members : dict, optional
        Number of an event with a latest headline -> all its documents
        (`odl.alerts.explain.read_members`).
    sounded : sequence of odl.alerts.alarms.Alarm
    counted : dict, optional
        Number of an event with a latest headline -> its facets
        (`odl.alerts.facets.count_facets`).
    """
    last = watch.periods[-1]
    macros, when = page_macros(), views.days_of([last])
    drawn = {
        "words": macros.unseen,
        "before": macros.before,
        "events": macros.events,
        "volume": macros.volume,
    }
    bodies = {name: macro(watch) for name, macro in drawn.items()}
    bodies["health"] = macros.health(health_findings(watch, taken, sounded))
    return page.render(
        "newpage.jinja",
        title=f"What is new in {watch.corpus}, {when}",
        heading=f"What is new in {watch.corpus}",
        when=when,
        parts=PAGE_PARTS,
        bodies=bodies,
        latest=macros.latest(watch, members or {}, counted or {}),
        mark=f"odl {watch.corpus} {watch.run} {watch.atoms}",
        last=last.t,
        watch=watch,
        plural=views.plural,
        study=study if watch.labelled else None,
        library=Markup(table_script()),
    )


def page_macros():
    """Return the macros of newparts.jinja as a module of functions that return HTML."""
    return page.macros("newparts.jinja", facts=newparts, views=views)


class Finding(NamedTuple):
    """An observation about a stream, shown as a line in the section "health" of the page.

    Attributes
    ----------
    what : str
        Title of the line.
    text, todo : str
        Observation, and advice (may be empty).
    """

    what: str
    text: str
    todo: str = ""


def health_findings(watch, taken="", sounded=()):
    """Return the findings (`Finding`) about a stream; findings with advice come first.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    taken : str
        Phrase about passages that were removed from the texts before words were counted.
    sounded : sequence of odl.alerts.alarms.Alarm
    """
    findings = [_languages(watch), _empty(watch), _mutes(watch)]
    if taken:
        findings.append(Finding("Taken out of the texts", f"{taken[:1].upper()}{taken[1:]}."))
    findings += [Finding(ALARM_TITLES[alarm.kind], alarm.text, alarm.todo) for alarm in sounded]
    return sorted((entry for entry in findings if entry), key=lambda entry: not entry.todo)


def _languages(watch):
    """Return a finding about the languages of the latest period, or None.

    The finding has advice if the share of a language differs by more than `LANGUAGE_CHANGE` from
    its median in the periods before. The result is None if languages are not detected, or if the
    latest documents have one language and no share has changed.
    """
    periods = watch.periods[-1 - LANGUAGE_PERIODS :]
    if len(periods) < 2 or not any(period.languages for period in periods):
        return None
    # Documents of a period without detected languages count as "", shown as "others".
    counts = [period.languages or {"": period.documents} for period in periods]
    shares = [{name: n / sum(count.values()) for name, n in count.items()} for count in counts]
    *earlier, latest = shares
    usual = {
        name: float(np.median([share.get(name, 0.0) for share in earlier]))
        for name in {name for share in shares for name in share}
    }
    parts = (
        f"{shown(name, 'others')} {views.percent(latest[name])}"
        for name in sorted(latest, key=latest.get, reverse=True)
    )
    text = f"Languages of the documents of the latest period: {', '.join(parts)}."
    changed = sorted(
        name
        for name, share in usual.items()
        if abs(latest.get(name, 0.0) - share) > LANGUAGE_CHANGE
    )
    if not changed:
        return Finding("Languages", text) if len(latest) > 1 else None
    before = ", ".join(f"{shown(name, 'others')} {views.percent(usual[name])}" for name in changed)
    todo = (
        "If the languages remain so, write tokens: {stop_words: null} and features: {languages: "
        "true} into odl.yaml. Then the stop words of each document's own language are ignored."
    )
    return Finding(
        "Languages",
        f"{text} The {views.plural(len(periods) - 1, 'period')} before: {before}.",
        todo,
    )


def _empty(watch):
    """Return a finding about documents without words in the last periods, or None.

    The finding has advice if the share of these documents is above `EMPTY_SHARE`.
    """
    recent = watch.periods[-RECENT_PERIODS:]
    empty = sum(period.empty for period in recent)
    total = sum(period.documents for period in recent)
    if not empty or not total:
        return None
    text = (
        f"{views.plural(empty, 'document')} of the last {views.plural(len(recent), 'period')} "
        "have no words, so they have no score."
    )
    todo = ""
    if empty > EMPTY_SHARE * total:
        todo = (
            "Check that the column of the texts is right, and that clean does not remove too much."
        )
    return Finding("Documents without a word", text, todo)


def _mutes(watch):
    """Return a finding about the lines of feedback.csv that hide headlines, or None."""
    verdicts = [entry for entry in watch.feedback if entry.verdict in ("muted", "known")]
    if not verdicts:
        return None
    names = ", ".join(entry.what + entry.when for entry in verdicts[:LINES_LISTED])
    text = f"feedback.csv holds back {names}"
    if len(verdicts) > LINES_LISTED:
        text += " …"
    endless = [entry.what for entry in verdicts if not entry.until]
    if endless:
        listed = ", ".join(endless[:LINES_LISTED])
        text += f"; without an end, until the line is deleted: {listed}"
    return Finding("Held back by users", f"{text}.")


def table_script():
    """Return the JavaScript module of DataTables as a data URL.

    Raises
    ------
    DataError
        If itables is not installed.
    """
    package = importlib.util.find_spec("itables")  # not imported: it would load pandas' own extras
    path = os.path.join(package.submodule_search_locations[0], DATATABLES) if package else ""
    if not os.path.exists(path):
        fault = "the package itables, which has the script of the tables, is not installed"
        raise DataError(fault, "itables 2.9 or later", "install it (pip install itables)")
    with open(path, "rb") as file:
        return "data:text/javascript;base64," + base64.b64encode(file.read()).decode("ascii")
