"""Words of the page about what is new: dates, counts, reasons, and links, which only some addresses become."""

import re
from urllib.parse import urlsplit

from odl.alerts import breakdown, excerpts, show
from odl.report.page import Markup, apart, element, escape

SCHEMES = ("http", "https", "mailto")
LEADING = 4  # words of a reason that stand in a line
KINDS = {
    "Words that others share": ("word", "more"),
    "Words of its own": ("own",),
    "Meaning beside words": ("meaning",),
    "Pulls down": ("down",),
    "The other documents of its batch": ("context",),
}  # of the parts of a score
LONG = 160  # characters of a title that are shown
plural = show.plural


def percent(share):
    """Return a share as text: whole per cent, or one digit where it is small."""
    value = 100 * share
    return f"{value:.1f}\u00a0%" if 0 < abs(value) < 1 else f"{value:.0f}\u00a0%"


def dates(period):
    """Return the days of a period, empty where they are unknown."""
    return show.days_of([period])


def name_of(period):
    """Return what a period is called: its number, and its days where it has them."""
    days = dates(period)
    return f"period {period.t}" + (f", {days}" if days else "")


def day_of(period):
    """Return the first day of a period, or its number where there are no dates."""
    return show.date_of(period.first) or str(period.t)


def since(topic):
    """Return the first day of the period in which a topic was found, or its number where there are no dates."""
    return show.date_of(topic.first) or f"period {topic.birth}"


def address(url):
    """Return an address that a link may have, else an empty text.

    Browsers skip blanks and control characters inside ``java script:``, so that an address with any is none.
    """
    if not url or re.search(r"[\s\x00-\x20\x7f-\x9f\\]", url):
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    known = parts.scheme.lower() in SCHEMES and (parts.netloc or parts.scheme.lower() == "mailto")
    return url if known else ""


def title_of(alert, marked=False):
    """Return the title of an item, linked to its source where that has an address; its reason words may be marked."""
    (text, _), url = show.titled(alert, LONG), address(alert.url)
    link = {"href": url, "rel": "noopener noreferrer"} if url else {}
    text = Markup(excerpts.marked(text, show.reason_words(alert), _mark)) if marked else text
    return element("a" if url else "span", text, **link, dir="auto")


def chance(tail, of):
    """Return how rare a score is, in words: among so many scores before it."""
    if not of:
        return "not compared with any"
    higher = max(round(tail * (1 + of)) - 1, 0)
    if higher > of / 2:
        return f"higher than {percent(1 - higher / of)} of the last {of:,}"
    return f"higher than all{f' but {higher:,}' * (higher > 0)} of the last {of:,}"


def where(alert):
    """Return date, and file and line of an item, as far as they are known."""
    return " · ".join(show.where(alert))


def leading(alert, most=LEADING):
    """Return the words that lead the reasons of an item; all reasons summed up where none is worth a name."""
    shown = [apart(phrase) for phrase, _ in breakdown.phrases(alert, most)]
    return Markup(", ".join(shown)) if shown else _isolating(breakdown.line(alert))


def reasons(alert, of):
    """Return (term, text) of everything about an item that is known beside its title."""
    lines, parts = [], breakdown.parts(alert)
    for term, kinds in KINDS.items():
        if shown := [share_of(part) for part in parts if part.kind in kinds]:
            lines.append((term, Markup(", ".join(shown))))
    if alert.opening:
        lines.append((show.OPENING.capitalize(), Markup(", ".join(map(apart, breakdown.opening(alert))))))
    for near in alert.nearest[:1]:
        sample = f", as in {near.id}" if near.id else ""
        words = apart(", ".join(breakdown.near(alert, near.words)))
        lines.append(("Nearest known", Markup(words + escape(f" (alike {percent(near.likeness)}){sample}"))))
    lines.append(("Score", f"{alert.score:.3f}, rank {alert.rank}; {chance(alert.tail, of)}"))
    if len(alert.members) > 1:
        few = ", ".join(alert.members[1:6]) + (" …" if len(alert.members) > 6 else "")
        lines.append((f"Nearly the same ({len(alert.members) - 1})", few))
    return [*lines, ("Id", alert.id)]


def share_of(part):
    """Return a part of a score."""
    return _isolating(part.text("\u00a0"))


def _isolating(text):
    """Return a text of a terminal; what is isolated there is so on the page."""
    pieces = enumerate(re.split("\u2068(.*?)\u2069", text))
    return Markup("".join(element("bdi", piece) if at % 2 else escape(piece) for at, piece in pieces))


def passage(alert):
    """Return the excerpt of an item with its reason words marked; empty where there is none."""
    _, text = show.titled(alert, LONG)
    if not text:
        return ""
    marked = excerpts.marked(text, show.reason_words(alert), _mark)
    return element("p", Markup(marked), class_="text", dir="auto")


def _mark(text, is_word):
    return element("mark", text) if is_word else escape(text)
