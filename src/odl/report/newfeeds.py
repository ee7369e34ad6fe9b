"""The feeds about what is new, Atom and JSON Feed 1.1: an entry a topic, which changes its state, or a lone alert."""

import hashlib
import json
import re
from typing import NamedTuple

from odl.alerts import breakdown, show
from odl.alerts.model import NONE
from odl.files import provenance, storage
from odl.files.documents import NO_TIME
from odl.report.newtext import address, passage, plural, share_of, title_of, where
from odl.report.page import Markup, element

MOST = 100  # entries of a feed
LISTED = 5  # items of a topic in its entry
VERSION = "https://jsonfeed.org/version/1.1"
NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")  # beside what `visible` spells out


class Entry(NamedTuple):
    """What a reader of feeds shows as one story.

    Attributes
    ----------
    id : str
        The same for as long as the topic or the document is.
    title : str
    published, updated : str
        When it began, and when it changed last.
    url : str
        Address of a lone document; empty for none.
    body : odl.report.page.Markup
    """

    id: str
    title: str
    published: str
    updated: str
    url: str
    body: Markup


def entries(watch, sounded=()):
    """Return the entries of a stream, what changed last first; alarms about the watch are entries of their own."""
    told = {}
    for period in watch.periods:
        for alert in period.alerts:
            told.setdefault(alert.topic, []).append(alert)
    alone = [_alone(watch, alert) for alert in told.pop(NONE, []) if not alert.folded]
    topics = [_topic(watch, watch.topics[number], alerts) for number, alerts in told.items()]
    about = [_alarm(watch, alarm) for alarm in sounded]
    by_name = sorted([*topics, *alone, *about], key=lambda entry: entry.id)
    return sorted(by_name, key=lambda entry: entry.updated, reverse=True)[:MOST]


def _topic(watch, topic, alerts):
    """Return the entry of a topic: where it stands, its items of late, and how it came there."""
    days = {period.t: show.date_of(period.first) or f"period {period.t}" for period in watch.periods}
    items = [alert for alert in reversed(alerts) if not alert.folded][:LISTED]
    changes = [element("li", f"{days.get(t, f'period {t}')}: {state}") for t, state in topic.history]
    body = [
        element("p", f"Topic {topic.number} is {topic.state}; {plural(topic.size, 'document')} so far."),
        element("ul", *[element("li", *_item(alert)) for alert in items]),
        element("p", "Its states:"),
        element("ul", *changes),
    ]
    last = max(alerts[-1].t, topic.history[-1][0])
    title = f"{', '.join(topic.name) or f'topic {topic.number}'} [{topic.state}]"
    published, updated = _moment(topic.first, topic.birth), _end(watch, last)
    return Entry(show.urn(watch, "topic", topic.number), title, published, updated, "", Markup("".join(body)))


def _alarm(watch, alarm):
    body = Markup("".join(element("p", part) for part in (alarm.text, alarm.todo)))
    ident, when = (
        show.urn(watch, "watch", ":".join(filter(None, [alarm.kind, alarm.what]))),
        _end(watch, watch.periods[-1].t),
    )
    return Entry(ident, f"The watch itself: {alarm.text}", when, when, "", body)


def _alone(watch, alert):
    body = Markup("".join(element("p", part) for part in _item(alert)))
    ident, when = show.urn(watch, "document", alert.id), _end(watch, alert.t)
    return Entry(ident, alert.title or alert.id, when, when, address(alert.url), body)


def _item(alert):
    """Return an item: its title, its text, and why it is new."""
    parts = [
        title_of(alert),
        passage(alert),
        Markup(f"because: {', '.join(map(share_of, breakdown.parts(alert)))}"),
        f"{alert.id} {where(alert)}",
    ]
    return [part if isinstance(part, Markup) else element("p", part) for part in parts if part]


def _end(watch, t):
    """Return when a period ended."""
    return _moment(watch.periods[t - watch.periods[0].t].last, t)


def _moment(time, t):
    """Return a time of the stream; without times, a second a period from 1970 on: feeds need an order."""
    return show.date_of(1000 * t if time == NO_TIME else time, exact=True)


def atom(watch, entries):
    """Return the entries of a stream as Atom (RFC 4287)."""
    head = [
        element("id", show.urn(watch)),
        element("title", f"What is new in {watch.corpus}"),
        element("updated", _end(watch, watch.periods[-1].t)),
        element("author", element("name", "odl")),
    ]
    lines = [*head, *map(_atom_entry, entries)]
    body = Markup("".join(f"\n{line}" for line in lines) + "\n")
    text = element("feed", body, xmlns="http://www.w3.org/2005/Atom")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + NO_XML.sub("\ufffd", text) + "\n"


def _atom_entry(entry):
    link = [element("link", rel="alternate", href=entry.url)] if entry.url else []
    parts = [element(part, getattr(entry, part)) for part in ("id", "title", "published", "updated")]
    return element("entry", *parts, *link, element("content", str(entry.body), type="html"))


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
