"""Documents, events and periods as dicts for JSON lines, CSV and HTTP.

Versions of odl with the same `JSON_VERSION` only add fields.
"""

import csv
import io
import json
import math
from dataclasses import asdict, fields

from odl.alerts import breakdown, facets
from odl.alerts.model import JSON_VERSION
from odl.alerts.views import EXAMPLES_SHOWN, date_of
from odl.files.escaping import guarded

# Fields of a document that its dict renames or omits.
NOT_EXPORTED = ("t", "row", "led", "phrases", "event")
CSV_COLUMNS = (
    "period", "first", "last", "rank", "id", "members", "title", "time", "source", "line", "url",
    "score", "tail", "topic", "topic_name", "state", "folded", "reasons", "own", "context",
    "nearest", "feedback", "gate", "opening", "event", "p", "usual", "headline",
)  # fmt: skip
HEADLINE_FIELDS = (
    "name",
    "event",
    "state",
    "gate",
    "p",
    "usual",
    "t",
    "form",
    "documents",
    "recurrence",
)


def alerts_of(watch, period):
    """Yield (document, headline, folded) for each stored document of a period's headlines.

    Each document is yielded once. With `gates: false` the alerts are documents by rank, and their
    headline is None. `folded` is True for documents after the first `EXAMPLES_SHOWN` of a headline.
    """
    yielded = set()
    for headline in period.headlines:
        for position, row in enumerate(headline.examples):
            if row not in yielded:
                yielded.add(row)
                yield period.documents_of[row], headline, position >= EXAMPLES_SHOWN
    if not watch.settings["gates"] and not period.unproven:
        yield from (
            (period.documents_of[row], None, False) for row in period.novel if row not in yielded
        )


def document_map(watch, period, document, headline=None, folded=False, earlier=None):
    """Return a stored document as a dict; texts and numbers that are unknown are None.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    period : odl.alerts.model.Period
    document : odl.alerts.model.Document
    headline : odl.alerts.model.Headline, optional
        Headline that contains the document. Its event is used instead of the document's own event.
    folded : bool
        Whether lists fold the document, because they show other documents of its headline.
    earlier : str, optional
        Id of the most similar earlier document.
    """
    names = [field.name for field in fields(document) if field.name not in NOT_EXPORTED]
    values = {name: getattr(document, name) for name in names}
    values |= {name: values[name] or None for name in ("url", "text", "feedback")}
    number = headline.event if headline and headline.event else document.event
    event = watch.events.get(number)
    event_name = ", ".join(event.name) if event else ""
    state = event.state_at(period.t) if event else ""
    gate = headline.gate if headline else ""
    headline_name = ", ".join(headline.name) if headline else ""
    # "topic" is the earlier name of "event"; both are written, since fields are never removed.
    return _period_head(period) | values | {
        "time": date_of(document.time, exact=True) or None,
        "source": {"file": document.source or None, "line": document.line or None},
        "topic": number or None, "topic_name": event_name or None,
        "state": state or "new", "folded": folded, "gate": gate or None,
        "reasons": [[reason.word, reason.share] for reason in document.reasons],
        "rest": document.rest and document.rest._asdict(),
        "parts": [[part.kind, part.label, part.percent] for part in breakdown.parts(document)],
        "nearest": [
            atom._asdict() | {"topic": None, "id": atom.id or None} for atom in document.nearest
        ],
        "earlier": earlier, "event": number or None, "link": watch.link_of(number) or None,
        "headline": headline_name or None, "p": headline.p if headline else None,
        "usual": headline.usual if headline and not math.isnan(headline.usual) else None,
    }  # fmt: skip


def explained_map(watch, document, earlier=None):
    """Return a document of any period as a dict, with the headline whose documents include it."""
    period = watch.periods[document.t - watch.periods[0].t]
    headline = next(
        (headline for headline in period.headlines if document.row in headline.rows), None
    )
    return document_map(watch, period, document, headline, earlier=earlier)


def period_map(watch, period):
    """Return a period with its alerts and headlines as a dict."""
    return {
        **_period_head(period), "documents": period.documents, "usual": period.usual,
        "warm_up": period.unproven, "p": period.p, "alerts": alert_maps(watch, period),
        "headlines": [*map(headline_map, period.headlines)],
        "below": [*map(headline_map, period.below)],
    }  # fmt: skip


def headline_map(headline):
    """Return the fields `HEADLINE_FIELDS` of a headline as a dict."""
    values = {**vars(headline), "documents": headline.size, "recurrence": headline.recurrence}
    return {name: values[name] for name in HEADLINE_FIELDS} | {"event": headline.event or None}


def headlines_map(period, headline=None):
    """Return a period with its headlines as a dict, or with the fields of a single headline."""
    if headline:
        return {**_period_head(period), **headline_map(headline)}
    return {**_period_head(period), "headlines": [*map(headline_map, period.headlines)]}


def _period_head(period):
    """Return the version of the format, and number and times of a period, as a dict."""
    first, last = (date_of(time, exact=True) or None for time in (period.first, period.last))
    return {"version": JSON_VERSION, "period": period.t, "first": first, "last": last}


def event_facts(watch, event):
    """Return an event as a dict, without the fields for which files or documents are read."""
    ident, title = (*event.examples, ("", ""))[0]
    return {
        "version": JSON_VERSION, "topic": event.number, "topic_name": ", ".join(event.name),
        "state": event.state, "birth": event.birth, "history": event.history,
        "representative": ident, "title": title,
        "sizes": {str(t): n for t, n in sorted(event.sizes.items())}, "size": event.size,
        "feedback": event.feedback or None, "event": event.number,
        "words": [asdict(word) for word in event.words], "threshold": event.threshold,
        "examples": event.examples, "link": watch.link_of(event.number) or None,
    }  # fmt: skip


def event_map(watch, number):
    """Return an event as a dict: its facts, alerts of each period, and facets of its documents."""
    event, alerts = watch.events[number], {}
    for period in watch.periods:
        headlines = [headline for _, headline, _ in alerts_of(watch, period)]
        n = sum(headline is not None and headline.event == number for headline in headlines)
        if n:
            alerts[str(period.t)] = n
    counted = facets.count_facets(watch.place, {number: event.sizes}).get(number, ())
    return event_facts(watch, event) | {"alerts": alerts, "facets": facets.facets_map(counted)}


def alert_maps(watch, period):
    """Return the alerts of a period as dicts.

    "facets" describes the documents of the alert's event in this period.
    """
    rows = [document_map(watch, period, *alert) for alert in alerts_of(watch, period)]
    spans = {row["event"]: [period.t] for row in rows if row["event"]}
    counted = facets.count_facets(watch.place, spans)
    return [row | {"facets": facets.facets_map(counted.get(row["event"], ()))} for row in rows]


def as_jsonl(watch, periods):
    """Return the alerts of periods as JSON Lines: one JSON object per line and alert."""
    rows = [row for period in periods for row in alert_maps(watch, period)]
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def as_csv(watch, periods):
    """Return the alerts of periods as CSV that is safe to open in a spreadsheet.

    Words are joined by spaces, ids by tabs.
    """
    text = io.StringIO()
    table = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    table.writeheader()
    for period in periods:
        for document, *details in alerts_of(watch, period):
            row = document_map(watch, period, document, *details)
            row |= {
                "source": document.source,
                "line": document.line or "",
                "members": "\t".join(document.members),
            }
            row["reasons"] = " ".join(
                f"{reason.word}:{reason.share:.4f}" for reason in document.reasons
            )
            row["opening"] = " ".join(document.opening)
            row["nearest"] = " ".join(document.nearest[0].words) if document.nearest else ""
            table.writerow({name: guarded(row[name]) for name in CSV_COLUMNS})
    return text.getvalue().rstrip("\n")


def words_as_jsonl(watch, periods):
    """Return the unseen words of periods as JSON Lines: one JSON object per line and word."""
    lines = []
    for period in periods:
        for word in period.unseen:
            first = date_of(word.first, exact=True) or None
            values = {
                "version": JSON_VERSION,
                "period": period.t,
                **vars(word),
                "first": first,
                "half": first and word.half,
                "documents": [{"id": ident, "title": title} for ident, title in word.documents],
            }
            lines.append(json.dumps(values, ensure_ascii=False))
    return "\n".join(lines)
