"""Links, marked texts and rows of the tables of the page about what is new, and of the feeds."""

import re

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
WORDS_SHOWN = 10  # words listed without a click: unseen words, and own words of an event
DATE_LABELS = 6  # largest number of dates below the chart of periods
RISING_STATES = ("new", "growing", "returning")  # states of an event whose bars are coloured


def safe_address(url):
    """Return an address if it is safe as the target of a link, otherwise an empty text."""
    return url if SAFE_ADDRESS.fullmatch(url) else ""


def linked_title(view):
    """Return the title of a document as HTML, with its reasons and headline words marked.

    The title is a link if the document has a safe address.
    """
    title, url = _marked(view, view.texts(TITLE_COLUMNS)[0]), safe_address(view.document.url)
    link = {"href": url, "rel": "noopener noreferrer"} if url else {}
    return element("a" if url else "span", title, **link, dir="auto")


def marked_excerpt(view):
    """Return the excerpt of a document as HTML, with its reasons and headline words marked.

    The result is empty if the document has no excerpt.
    """
    text = view.texts(TITLE_COLUMNS)[1]
    return element("p", _marked(view, text), class_="text", dir="auto") if text else ""


def _marked(view, text):
    """Return a text of a document as HTML, with its reasons and headline words marked."""
    return Markup(view.marked(text, lambda word: element("mark", word), escape))


def isolate_html(text):
    """Return a text as HTML, with ``<bdi>`` for the signs that isolate text of other directions."""
    pieces = enumerate(re.split("[\u2066-\u2068](.*?)\u2069", text))
    return Markup("".join(element("bdi", piece) if i % 2 else escape(piece) for i, piece in pieces))


def earlier_rows(watch):
    """Return the headlines before the last period as rows (`HeadlineView`), the newest first."""
    return [row for period in reversed(watch.periods[:-1]) for row in views.rows_of([period])]


def recent_events(watch):
    """Return the events, sorted by the last period with documents, the newest first."""
    return sorted(watch.events.values(), key=lambda event: (-event.last, -event.size, event.number))


def rising_periods(event):
    """Return the periods in which an event had one of the `RISING_STATES`."""
    return {t for t in event.sizes if event.state_at(t) in RISING_STATES}


def document_counts(watch):
    """Return a dict from the number of each period to its number of documents."""
    return {period.t: period.documents for period in watch.periods}


def date_labels(watch):
    """Return (date, horizontal position in per cent) of each label below the chart of periods."""
    n = len(watch.periods)
    indices = np.linspace(0, n - 1, min(DATE_LABELS, n)).round().astype(int).tolist()
    return [(views.day_of(watch.periods[i]), 100 * (i + 0.5) / n) for i in indices]
