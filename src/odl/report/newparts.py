"""Links, marked texts and pictures of the page about what is new (newparts.jinja) and the feeds."""

import re
from dataclasses import replace

import numpy as np

from odl.alerts import views
from odl.report.page import Markup, element, escape

# Addresses that are safe as the target of a link. A browser skips spaces and control characters in
# an address, so that ``java script:`` runs; a safe address has none.
SAFE_ADDRESS = re.compile(
    r"(?:https?://(?=[^/?#\[]|\[[0-9a-f:.]+\])|mailto:)[^\s\x00-\x1f\x7f-\x9f\\]+", re.IGNORECASE
)
TITLE_COLUMNS = 160  # longest title in columns of a terminal; wide characters count 2
EVENTS_SHOWN = 300  # largest number of rows of the table of events
ROWS_SHOWN = 500  # largest number of rows of the table of earlier headlines
TITLES_SHOWN = 5  # documents that are named under a word never seen before
WORDS_SHOWN = 10  # words never seen before, or own words of an event, shown without a click
DATE_LABELS = 6  # largest number of dates below the chart of periods
RISING_STATES = ("new", "growing", "returning")  # states of an event whose bars are coloured


def safe_address(url):
    """Return an address if it is safe as the target of a link, otherwise an empty text."""
    return url if SAFE_ADDRESS.fullmatch(url) else ""


def linked_title(view):
    """Return the title of a document with its words marked, linked to its address if it has one."""
    title = Markup(view.marked(view.texts(TITLE_COLUMNS)[0], _mark))
    url = safe_address(view.document.url)
    link = {"href": url, "rel": "noopener noreferrer"} if url else {}
    return element("a" if url else "span", title, **link, dir="auto")


def marked_excerpt(view):
    """Return the excerpt of a document with its words marked; empty if there is none."""
    text = view.texts(TITLE_COLUMNS)[1]
    return element("p", Markup(view.marked(text, _mark)), class_="text", dir="auto") if text else ""


def _mark(text, is_word):
    """Return a piece of a text as HTML, marked if it is a word."""
    return element("mark", text) if is_word else escape(text)


def isolate_html(text):
    """Return a text as HTML, with ``<bdi>`` for the signs that isolate text of other directions."""
    pieces = enumerate(re.split("[\u2066-\u2068](.*?)\u2069", text))
    return Markup("".join(element("bdi", piece) if i % 2 else escape(piece) for i, piece in pieces))


def below_rows(period):
    """Return the headlines of a period that are not unusual for the stream, as rows."""
    return views.rows_of([replace(period, headlines=period.below)])


def earlier_rows(watch):
    """Return (rows of the table of earlier headlines, the newest first; number of omitted rows)."""
    rows = [row for period in reversed(watch.periods[:-1]) for row in views.rows_of([period])]
    return rows[:ROWS_SHOWN], max(len(rows) - ROWS_SHOWN, 0)


def recent_events(watch):
    """Return (events of the table, the most recent first; number of omitted events)."""
    events = sorted(
        watch.events.values(),
        key=lambda event: (-max(event.sizes, default=event.birth), -event.size, event.number),
    )
    return events[:EVENTS_SHOWN], max(len(events) - EVENTS_SHOWN, 0)


def draw_bars(sizes, periods, label, marked):
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
    largest, first, paths = max(sizes.values()), periods[0].t, {"plain": "", "marked": ""}
    for t, size in sorted(sizes.items()):
        if t >= first:
            top = round(20 - 18 * size / largest, 1)
            paths["marked" if t in marked else "plain"] += f"M{t - first} {top}h.8V20h-.8z"
    drawn = "".join(f'<path class="{name}" d="{path}"/>' for name, path in paths.items())
    return Markup(
        f'<svg class="bars" viewBox="0 0 {len(periods)} 20" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{drawn}</svg>'
    )


def draw_event(watch, event):
    """Return the documents of an event by period as bars, coloured in `RISING_STATES`."""
    if not event.sizes:
        return ""
    most = views.plural(event.sizes[event.peak], "document")
    label = f"at most {most}, {views.day_in(watch, event.peak)}; {event.state}"
    marked = {t for t in event.sizes if event.state_at(t) in RISING_STATES}
    return draw_bars(event.sizes, watch.periods, label, marked)


def draw_stream(watch):
    """Return the documents of all periods as bars; those of periods with headlines are coloured."""
    sizes = {period.t: period.documents for period in watch.periods}
    marked = {period.t for period in watch.periods if period.headlines}
    counts = views.plural(sum(sizes.values()), "document"), views.plural(len(sizes), "period")
    label = f"{' in '.join(counts)}, {len(marked)} with headlines"
    return draw_bars(sizes, watch.periods, label, marked)


def date_labels(watch):
    """Return (date, horizontal position in per cent) of each label below the chart of periods."""
    n = len(watch.periods)
    indices = np.linspace(0, n - 1, min(DATE_LABELS, n)).round().astype(int).tolist()
    return [(views.day_of(watch.periods[i]), 100 * (i + 0.5) / n) for i in indices]
