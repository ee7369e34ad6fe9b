"""The feeds about what is new, Atom and JSON Feed 1.1: an entry a topic, which changes its state, or a lone alert."""

import hashlib
import json
import re
from typing import NamedTuple

from odl.alerts import breakdown, show
from odl.alerts.model import NONE
from odl.files import provenance, storage
from odl.files.documents import NO_TIME
from odl.report import newtext, page

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
    told, forms = dict(show.by_topic(watch.periods)), _forms()
    stories = [_alone(watch, alert, forms) for alert in told.pop(NONE, []) if not alert.folded]
    stories += [_topic(watch, watch.topics[number], alerts, forms) for number, alerts in told.items()]
    stories += [_alarm(watch, alarm, forms) for alarm in sounded]
    by_name = sorted(stories, key=lambda entry: entry.id)
    return sorted(by_name, key=lambda entry: entry.updated, reverse=True)[:MOST]


def _forms():
    return page.macros("newfeeds.jinja", words=newtext, parts_of=breakdown.parts)


def _topic(watch, topic, alerts, forms):
    """Return the entry of a topic: where it stands, its items of late, and how it came there."""
    days = {period.t: show.date_of(period.first) or f"period {period.t}" for period in watch.periods}
    items = [alert for alert in alerts if not alert.folded][:LISTED]
    changes = [(days.get(t, f"period {t}"), state) for t, state in topic.history]
    title = f"{', '.join(topic.name) or f'topic {topic.number}'} [{topic.state}]"
    times = _moment(topic.first, topic.birth), _end(watch, max(alerts[0].t, topic.history[-1][0]))
    return Entry(show.urn(watch, "topic", topic.number), title, *times, "", str(forms.topic(topic, items, changes)))


def _alarm(watch, alarm, forms):
    ident = show.urn(watch, "watch", ":".join(filter(None, [alarm.kind, alarm.what])))
    when = _end(watch, watch.periods[-1].t)
    return Entry(ident, f"The watch itself: {alarm.text}", when, when, "", str(forms.alarm(alarm)))


def _alone(watch, alert, forms):
    ident, when = show.urn(watch, "document", alert.id), _end(watch, alert.t)
    return Entry(ident, alert.title or alert.id, when, when, newtext.address(alert.url), str(forms.item(alert)))


def _end(watch, t):
    """Return when a period ended."""
    return _moment(watch.periods[t - watch.periods[0].t].last, t)


def _moment(time, t):
    """Return a time of the stream; without times, a second a period from 1970 on: feeds need an order."""
    return show.date_of(1000 * t if time == NO_TIME else time, exact=True)


def atom(watch, entries):
    """Return the entries of a stream as Atom (RFC 4287)."""
    title, updated = f"What is new in {watch.corpus}", _end(watch, watch.periods[-1].t)
    return NO_XML.sub("\ufffd", _forms().atom(show.urn(watch), title, updated, entries))


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
