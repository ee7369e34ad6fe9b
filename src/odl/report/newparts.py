"""Texts, links and pictures of the page about what is new (newparts.jinja) and of the feeds."""

import re
from dataclasses import replace
from urllib.parse import urlsplit

from odl.alerts import breakdown, show
from odl.report.page import Markup, apart, element, escape

LINK_SCHEMES = ("http", "https", "mailto")
# Terms of the parts of a score -> kinds of `odl.alerts.breakdown.ScorePart`.
PART_TERMS = {
    "Words that others share": ("word", "more"),
    "Words of its own": ("own",),
    "Meaning": ("meaning",),
    "Pulls down": ("down",),
    "The other documents of its batch": ("context",),
}
TITLE_COLUMNS = 160  # longest title in columns of a terminal; wide characters count 2
EVENTS_SHOWN = 300  # events in their table
ROWS_SHOWN = 500  # headlines of earlier periods in their table
TITLES_SHOWN = 5  # documents that are named for a word never seen before
WORDS_SHOWN = 10  # words never seen before that are shown unfolded
DATE_LABELS = 6  # dates below the axis of the picture
FEEDBACK_MARKS = {"follow": "followed", "muted": "muted", "known": "known"}  # verdict to mark
plural, percent = show.plural, show.percent


def address(url):
    """Return an address if it is safe as the target of a link, otherwise an empty text.

    Addresses with spaces or control characters are unsafe: browsers skip these inside ``java
    script:``.
    """
    if not url or re.search(r"[\s\x00-\x20\x7f-\x9f\\]", url):
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    scheme = parts.scheme.lower()
    is_safe = scheme in LINK_SCHEMES and (parts.netloc or scheme == "mailto")
    return url if is_safe else ""


def title_of(view):
    """Return the title of a document with its words marked, linked to its address if it has one."""
    url, text = address(view.document.url), Markup(view.marked(view.texts(TITLE_COLUMNS)[0], _mark))
    return (
        element("a", text, href=url, rel="noopener noreferrer", dir="auto")
        if url
        else element("span", text, dir="auto")
    )


def passage(view):
    """Return the excerpt of a document with its words marked; empty if there is none."""
    text = view.texts(TITLE_COLUMNS)[1]
    return element("p", Markup(view.marked(text, _mark)), class_="text", dir="auto") if text else ""


def _mark(text, is_word):
    """Return a piece of a text as HTML, marked if it is a word."""
    return element("mark", text) if is_word else escape(text)


def isolating(text):
    """Return a text as HTML, with ``<bdi>`` for the signs that isolate text of other directions."""
    pieces = enumerate(re.split("[\u2066-\u2068](.*?)\u2069", text))
    return Markup("".join(element("bdi", piece) if i % 2 else escape(piece) for i, piece in pieces))


def reasons(view):
    """Return (term, text) pairs that explain the score of a document."""
    document, parts = view.document, breakdown.parts(view.document)
    lines = [(show.OPENING_LABEL.capitalize(), isolating(view.opening))] if view.opening else []
    for term, kinds in PART_TERMS.items():
        if shown := [isolating(part.text("\u00a0")) for part in parts if part.kind in kinds]:
            lines.append((term, Markup(", ".join(shown))))
    for atom in document.nearest[:1]:
        sample = f", as in {atom.id}" if atom.id else ""
        words = apart(", ".join(breakdown.near(document, atom.words)))
        cosine = escape(f" (alike {percent(atom.likeness)}){sample}")
        lines.append(("Nearest known", Markup(words + cosine)))
    lines.append(("Score", f"{document.score:.3f}, rank {document.rank}; {view.tail}"))
    if len(document.members) > 1:
        few = ", ".join(document.members[1:6]) + (" …" if len(document.members) > 6 else "")
        lines.append((f"Nearly the same ({len(document.members) - 1})", few))
    return [*lines, ("Id", document.id)]


def own_words(event):
    """Return the strongest own words of an event with their shares in its documents, as text."""
    words = event.words[:WORDS_SHOWN]
    return ", ".join(f"{show.isolated(own.word)} {show.percent(own.inside)}" for own in words)


def below(period):
    """Return the headlines of a period that are not unusual for the stream, as rows."""
    return show.rows_of([replace(period, headlines=period.below)])


def before(watch):
    """Return (rows of the table of earlier headlines, the newest first; number of omitted rows)."""
    rows = [row for period in reversed(watch.periods[:-1]) for row in show.rows_of([period])]
    return rows[:ROWS_SHOWN], max(len(rows) - ROWS_SHOWN, 0)


def events(watch):
    """Return (events of the table, the most recent first; number of omitted events)."""
    last = {event.number: max(event.sizes, default=event.birth) for event in watch.events.values()}
    order = sorted(
        watch.events.values(), key=lambda event: (-last[event.number], -event.size, event.number)
    )
    return order[:EVENTS_SHOWN], max(len(order) - EVENTS_SHOWN, 0)


def bars(sizes, periods, label, marked=()):
    """Return counts per period as a picture of bars.

    Parameters
    ----------
    sizes : dict of int to int
    periods : sequence of odl.alerts.model.Period
    label : str
        Text alternative of the picture.
    marked : collection of int
        Periods with coloured bars.
    """
    largest, first, drawn = (
        max(sizes.values(), default=1),
        periods[0].t,
        {"plain": "", "marked": ""},
    )
    for t, size in sorted(sizes.items()):
        if t >= first:
            drawn["marked" if t in marked else "plain"] += (
                f"M{t - first} {round(20 - 18 * size / largest, 1)}h.8V20h-.8z"
            )
    paths = "".join(f'<path class="{name}" d="{path}"/>' for name, path in drawn.items())
    return Markup(
        f'<svg class="bars" viewBox="0 0 {len(periods)} 20" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{paths}</svg>'
    )


def bars_of_event(watch, event):
    """Return the documents of an event by period as bars, coloured if it is new or growing."""
    if not event.sizes:
        return ""
    day = show.day_in(watch, event.peak)
    label = f"at most {plural(event.sizes[event.peak], 'document')}, {day}; {event.state}"
    marked = {t for t in event.sizes if event.state_at(t) in ("new", "growing", "returning")}
    return bars(event.sizes, watch.periods, label, marked)


def bars_of_stream(watch):
    """Return the documents of all periods as bars; those of periods with headlines are coloured."""
    sizes = {period.t: period.documents for period in watch.periods}
    marked = {period.t for period in watch.periods if period.headlines}
    spoken = (
        f"{plural(sum(sizes.values()), 'document')} in {plural(len(sizes), 'period')}, "
        f"{len(marked)} with headlines"
    )
    return bars(sizes, watch.periods, spoken, marked)


def labels(watch):
    """Return (date, horizontal position in per cent) of each label below the chart of periods."""
    n = len(watch.periods)
    n_labels = min(DATE_LABELS, n)
    indices = {round(i * (n - 1) / max(n_labels - 1, 1)) for i in range(n_labels)}
    return [
        (show.date_of(watch.periods[i].first) or str(watch.periods[i].t), 100 * (i + 0.5) / n)
        for i in sorted(indices)
    ]
