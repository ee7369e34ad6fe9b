"""Feeds about what is new, as Atom and JSON Feed 1.1, with an entry for each event or headline."""

import hashlib
import json
import re
from typing import NamedTuple

from odl.alerts import show
from odl.files import provenance, storage
from odl.files.documents import NO_TIME
from odl.report import newparts, page

MAX_STORIES = 100  # entries of a feed
JSON_FEED = "https://jsonfeed.org/version/1.1"
# Characters that XML refuses, apart from those that `visible` replaces.
NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


class Story(NamedTuple):
    """An entry of a feed.

    Attributes
    ----------
    id : str
        Permanent name of the event, the headline or the document.
    title : str
    published, updated : str
        Times of its begin and of its last change.
    url : str
        Address of a lone document; empty for other entries.
    body : str
        Content as HTML.
    """

    id: str
    title: str
    published: str
    updated: str
    url: str
    body: str


def stories(watch, sounded=()):
    """Return the entries of a stream and of its alarms.

    The last change comes first; entries of the same time are sorted by evidence.
    """
    forms = page.macros("newfeeds.jinja", facts=newparts, show=show)
    entries = [_headline(watch, row, forms) for row in show.rows_of(watch.periods)]
    last = _end(watch, watch.periods[-1].t)
    for alarm in sounded:
        ident = show.urn(watch, "watch", ":".join(filter(None, [alarm.kind, alarm.what])))
        entries.append(
            Story(ident, f"The watch itself: {alarm.text}", last, last, "", str(forms.alarm(alarm)))
        )
    proven = [period for period in watch.periods if not period.unproven]
    if proven and not watch.settings["gates"]:
        entries += [_document(watch, view, forms) for view in show.list_of(watch, proven).novel]
    by_name = {story.id: story for story in entries}
    return sorted(by_name.values(), key=lambda story: story.updated, reverse=True)[:MAX_STORIES]


def _headline(watch, row, forms):
    """Return the entry of a row: an event, an unusual number of documents, or a lone document."""
    headline, event = row.headline, watch.events.get(row.headline.event)
    if headline.gate == "lone":
        return _document(watch, row.examples[0], forms)
    body, last = str(forms.headline(watch, row, event)), row.period.t
    if event is None:
        ident, when = (
            show.urn(watch, headline.gate, ":".join(map(str, [*headline.name[1:], last]))),
            _end(watch, last),
        )
        return Story(ident, f"{row.name}: {row.documents}", when, when, "", body)
    last = max(last, *(period.t for period, _ in row.others), event.history[-1][0])
    times = _moment(event.first, event.birth), _end(watch, last)
    return Story(
        show.urn(watch, "event", event.number),
        f"{show.name_of(event)} [{event.state}]",
        *times,
        "",
        body,
    )


def _document(watch, view, forms):
    """Return the entry of a document."""
    ident, when = show.urn(watch, "document", view.document.id), _end(watch, view.document.t)
    return Story(
        ident, view.title, when, when, newparts.address(view.document.url), str(forms.item(view))
    )


def _end(watch, t):
    """Return the end of a period as text."""
    return _moment(watch.periods[t - watch.periods[0].t].last, t)


def _moment(time, t):
    """Return a time as text; without times period t gets second t of 1970, to have an order."""
    return show.date_of(1000 * t if time == NO_TIME else time, exact=True)


def atom(watch, stories):
    """Return the entries of a stream as Atom (RFC 4287)."""
    title, updated = f"What is new in {watch.corpus}", _end(watch, watch.periods[-1].t)
    return NO_XML.sub(
        "\ufffd", page.macros("newfeeds.jinja").atom(show.urn(watch), title, updated, stories)
    )


def as_json(watch, stories):
    """Return the entries of a stream as JSON Feed 1.1."""
    names = {"body": "content_html", "published": "date_published", "updated": "date_modified"}
    items = [
        {names.get(key, key): text for key, text in story._asdict().items() if text}
        for story in stories
    ]
    feed = {"version": JSON_FEED, "title": f"What is new in {watch.corpus}", "items": items}
    return json.dumps(feed, ensure_ascii=False, indent=1) + "\n"


def write(path, text):
    """Write a feed, and note its digest for the record of the step."""
    content = text.encode("utf-8", "replace")
    with storage.replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(content)
    provenance.note(hashlib.sha256(content).hexdigest())
