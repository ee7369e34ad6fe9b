"""Feeds about what is new, Atom and JSON Feed 1.1: an entry for each event, which changes its state, or headline."""

import hashlib
import json
import re
from typing import NamedTuple

from odl.alerts import breakdown, show
from odl.files import provenance, storage
from odl.files.documents import NO_TIME
from odl.report import newparts, page

MOST = 100  # entries of a feed
VERSION = "https://jsonfeed.org/version/1.1"
NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")  # beside what `visible` spells out


class Entry(NamedTuple):
    """What a reader of feeds shows as one story.

    Attributes
    ----------
    id : str
        Permanent name of the event, the headline or the document.
    title : str
    published, updated : str
        When it began, and when it changed last.
    url : str
        Address of a lone document; empty for none.
    body : str
        HTML.
    """

    id: str
    title: str
    published: str
    updated: str
    url: str
    body: str


def entries(watch, sounded=()):
    """Return the entries of a stream, what changed last first; alarms about the watch are entries of their own."""
    forms = page.macros("newfeeds.jinja", facts=newparts, show=show, breakdown=breakdown)
    stories = [_headline(watch, row, forms) for row in show.rows_of(watch.periods)]
    stories += [_alarm(watch, alarm, forms) for alarm in sounded]
    if not watch.settings["gates"]:
        stories += [
            _document(watch, period.documents_of[row], forms)
            for period in watch.periods
            if not period.unproven
            for row in period.novel
        ]
    by_name = sorted({story.id: story for story in stories}.values(), key=lambda entry: entry.id)
    return sorted(by_name, key=lambda entry: entry.updated, reverse=True)[:MOST]


def _headline(watch, row, forms):
    """Return the entry of an event with its present state, of an unusual number of documents, or a lone document."""
    one, period = row.headline, row.period
    if one.gate == "lone":
        return _document(watch, period.documents_of[one.rows[0]], forms)
    event = watch.events.get(one.event)
    name, when = show.name_of(one, period), _end(watch, period.t)
    if not event:
        ident = show.urn(watch, one.gate, ":".join(map(str, [*one.name[1:], period.t])))
        return Entry(ident, f"{name}: {row.documents}", when, when, "", str(forms.headline(row, None, ())))
    changes = [(newparts.day_of(watch, t), state) for t, state in event.history]
    last = max(*(t.t for t, _ in [(period, one), *row.others]), event.history[-1][0])
    times = _moment(event.first, event.birth), _end(watch, last)
    body = str(forms.headline(row, event, changes))
    return Entry(show.urn(watch, "event", event.number), f"{show.name_of(event)} [{event.state}]", *times, "", body)


def _alarm(watch, alarm, forms):
    ident = show.urn(watch, "watch", ":".join(filter(None, [alarm.kind, alarm.what])))
    when = _end(watch, watch.periods[-1].t)
    return Entry(ident, f"The watch itself: {alarm.text}", when, when, "", str(forms.alarm(alarm)))


def _document(watch, document, forms):
    ident, when = show.urn(watch, "document", document.id), _end(watch, document.t)
    url = newparts.address(document.url)
    return Entry(ident, document.title or document.id, when, when, url, str(forms.item(document)))


def _end(watch, t):
    """Return when a period ended."""
    return _moment(watch.periods[t - watch.periods[0].t].last, t)


def _moment(time, t):
    """Return a time of the stream; without times, a second a period from 1970 on: feeds need an order."""
    return show.date_of(1000 * t if time == NO_TIME else time, exact=True)


def atom(watch, entries):
    """Return the entries of a stream as Atom (RFC 4287)."""
    title, updated = f"What is new in {watch.corpus}", _end(watch, watch.periods[-1].t)
    return NO_XML.sub("\ufffd", page.macros("newfeeds.jinja").atom(show.urn(watch), title, updated, entries))


def as_json(watch, entries):
    """Return the entries of a stream as JSON Feed 1.1."""
    items = []
    for entry in entries:
        address_of = {"url": entry.url} if entry.url else {}
        times = {"date_published": entry.published, "date_modified": entry.updated}
        items.append({"id": entry.id, **address_of, "title": entry.title, "content_html": entry.body, **times})
    feed = {"version": VERSION, "title": f"What is new in {watch.corpus}", "items": items}
    return json.dumps(feed, ensure_ascii=False, indent=1) + "\n"


def write(path, text):
    """Write a feed; the step that wrote it knows its digest."""
    content = text.encode("utf-8", "replace")
    with storage.replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(content)
    provenance.note(hashlib.sha256(content).hexdigest())
