"""Links, marked texts and pictures of the page about what is new (newparts.jinja) and the feeds."""

import re
from dataclasses import replace

import numpy as np

from odl.alerts import views
from odl.report.page import Markup, element, escape

# Addresses that are safe as the target of a link. Browsers ignore spaces and control characters, so
# they would run ``java script:``. A safe address therefore contains no such characters.
SAFE_ADDRESS = re.compile(
    r"(?:https?://(?=[^/?#\[]|\[[0-9a-f:.]+\])|mailto:)[^\s\x00-\x1f\x7f-\x9f\\]+", re.IGNORECASE
)
TITLE_COLUMNS = 160  # longest title in columns of a terminal; wide characters count 2
EVENTS_SHOWN = 300  # largest number of rows in the table of events
ROWS_SHOWN = 500  # largest number of rows in the table of earlier headlines
TITLES_SHOWN = 5  # document titles listed for each unseen word
WORDS_SHOWN = 10  # words never seen before, or own words of an event, shown without a click
DATE_LABELS = 6  # largest number of dates below the chart of periods
RISING_STATES = ("new", "growing", "returning")  # states of an event whose bars are coloured


def safe_address(url):
    """Return an address if it is safe as the target of a link, otherwise an empty text."""
    return url if SAFE_ADDRESS.fullmatch(url) else ""


def linked_title(view):
    """Return the title of a document as HTML, with its reasons and headline words marked.

    The title is a link if the document has a safe address.
    """
    title = Markup(view.marked(view.texts(TITLE_COLUMNS)[0], _mark))
    url = safe_address(view.document.url)
    link = {"href": url, "rel": "noopener noreferrer"} if url else {}
    return element("a" if url else "span", title, **link, dir="auto")


def marked_excerpt(view):
    """Return the excerpt of a document as HTML, with its reasons and headline words marked.

    The result is empty if the document has no excerpt.
    """
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
    """Return the headlines before the last period, and how many of them are omitted.

    The newest headlines come first; at most `ROWS_SHOWN` rows (`HeadlineView`) are returned.
    """
    rows = [row for period in reversed(watch.periods[:-1]) for row in views.rows_of([period])]
    return rows[:ROWS_SHOWN], max(len(rows) - ROWS_SHOWN, 0)


def recent_events(watch):
    """Return the events for the table of events, and how many events are omitted.

    Events with documents in later periods come first; at most `EVENTS_SHOWN` are returned.
    """
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
    """Draw the number of an event's documents in each period as bars.

    Bars of periods in which the event had one of the `RISING_STATES` are coloured.
    """
    if not event.sizes:
        return ""
    most = views.plural(event.sizes[event.peak], "document")
    label = f"at most {most}, {views.day_in(watch, event.peak)}; {event.state}"
    marked = {t for t in event.sizes if event.state_at(t) in RISING_STATES}
    return draw_bars(event.sizes, watch.periods, label, marked)


def draw_stream(watch):
    """Draw the number of documents in each period; bars of periods with headlines are coloured."""
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
