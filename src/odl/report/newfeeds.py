"""Feeds of headlines in the formats Atom and JSON Feed 1.1, with one entry per event or headline.

An entry is a dict with the keys of JSON Feed 1.1: ``id``, ``title``, ``date_published``,
``date_modified``, ``url`` (of a lone document with a safe address) and ``content_html``.
"""

import json
import re
from pathlib import Path

from odl.alerts import views
from odl.files import provenance, storage
from odl.files.documents import NO_TIME
from odl.report import newparts, page

MAX_STORIES = 100  # entries of a feed
JSON_FEED = "https://jsonfeed.org/version/1.1"
# Characters that are not allowed in XML, except those that `visible` replaces.
NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


def feed_entries(watch, sounded=()):
    """Return the feed entries of a stream, at most `MAX_STORIES`.

    The most recently changed entry is first. Entries that changed at the same time are sorted by
    decreasing evidence.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    sounded : iterable of odl.alerts.alarms.Alarm
        Alarms about the stream itself, which get entries too.
    """
    forms = page.macros("newfeeds.jinja", facts=newparts, views=views)
    entries = [_headline_entry(watch, row, forms) for row in views.rows_of(watch.periods)]
    for alarm in sounded:
        name = ":".join(filter(None, [alarm.kind, alarm.what]))
        title, last = f"The watch itself: {alarm.text}", watch.periods[-1].t
        entries.append(_entry(watch, ("watch", name), title, forms.alarm(alarm), last))
    proven = [period for period in watch.periods if not period.unproven]
    if proven:
        novel = views.novel_documents(watch, proven)
        entries += [_document_entry(watch, view, forms) for view in novel]
    by_name = {story["id"]: story for story in entries}
    ordered = sorted(by_name.values(), key=lambda story: story["date_modified"], reverse=True)
    return ordered[:MAX_STORIES]


def _headline_entry(watch, row, forms):
    """Return the feed entry of a row (`HeadlineView`).

    The entry of a lone document is that of the document. The entry of an event has the id of the
    event, so that later headlines of the event replace the entry.
    """
    headline, event, last = row.headline, watch.events.get(row.headline.event), row.period.t
    if headline.gate == "lone":
        return _document_entry(watch, row.examples[0], forms)
    body = forms.headline(watch, row, event)
    if event is None:
        name = ":".join(map(str, [*headline.name[1:], last]))
        return _entry(watch, (headline.gate, name), f"{row.name}: {row.documents}", body, last)
    last = max(last, *(period.t for period, _ in row.others), event.history[-1][0])
    title, begin = f"{views.name_of(event)} [{event.state}]", _moment(event.first, event.birth)
    return _entry(watch, ("event", event.number), title, body, last, begin)


def _document_entry(watch, view, forms):
    """Return the feed entry for a document."""
    document, url = view.document, newparts.safe_address(view.document.url)
    name = "document", document.id
    return _entry(watch, name, view.title, forms.item(view), document.t, url=url)


def _entry(watch, name, title, body, t, begin="", url=""):
    """Return a feed entry as a dict.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    name : tuple of str
        Kind and identifier of the subject, for the URN that is the id of the entry.
    title : str
    body : Markup
        Content as HTML; may be empty.
    t : int
        Period in which the subject last changed; its end is the date of modification.
    begin : str
        Date of publication; by default the date of modification.
    url : str
        Address of the subject; if it is empty, the entry has no key ``url``.
    """
    modified = _end(watch, t)
    entry = {
        "id": views.urn_of(watch, *name),
        "title": title,
        "date_published": begin or modified,
        "date_modified": modified,
        "content_html": str(body),
    }
    return entry | {"url": url} if url else entry


def _end(watch, t):
    """Return the time of the last document in period t as text for a feed (`_moment`)."""
    return _moment(watch.periods[t - watch.periods[0].t].last, t)


def _moment(time, t):
    """Return a time (ms) as text for a feed.

    Feeds require dates. Period t of a stream without dates has the time of t seconds after the
    begin of 1970, so that readers sort entries by period.
    """
    return views.date_of(1000 * t if time == NO_TIME else time, exact=True)


def as_atom(watch, stories):
    """Return the entries of a stream as Atom (RFC 4287)."""
    title, updated = f"What is new in {watch.corpus}", _end(watch, watch.periods[-1].t)
    text = page.macros("newfeeds.jinja").atom(views.urn_of(watch), title, updated, stories)
    return NO_XML.sub("\ufffd", text)


def as_json(watch, stories):
    """Return the entries of a stream as JSON Feed 1.1."""
    feed = {"version": JSON_FEED, "title": f"What is new in {watch.corpus}", "items": stories}
    return json.dumps(feed, ensure_ascii=False, indent=1) + "\n"


def write_feed(path, text):
    """Write a feed to a file, and add its digest to the provenance of the current step."""
    with storage.replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8", errors="replace")
    provenance.note(storage.sha256_of(path))
