"""Text of headlines and documents, shared by all output formats.

`HeadlineView` and `DocumentView` give the fields of a headline and of a document as text. A
`ListView` contains one row per headline, sorted by decreasing evidence, and closing lines.
`odl.alerts.show` writes lists for a terminal, as Markdown and for Slack. `odl.report` writes pages
and feeds.
"""

import math
import re
import sys
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from odl.alerts import breakdown, excerpts, ranking
from odl.alerts.model import RAREST, Document, Headline, Period
from odl.files.documents import NO_TIME
from odl.files.escaping import isolated
from odl.files.terminal import duration, shortened

EXAMPLES_SHOWN = 3  # documents shown for each headline
BELOW_SHOWN = 5  # headlines below the alert level named in a list
UNPROVEN_SHOWN = 5  # most novel documents shown in a list of unproven periods
MAX_PHRASES = 6  # phrases named for a group of unseen words that occur in the same documents
MIN_SPAN = 60_000  # shortest time span that is printed, ms
# log10 of the typical number of words in a period, about 10,000. Among that many words the largest
# t exceeds a value x with a probability of about 10^(LOG10_WORDS - x).
LOG10_WORDS = 4.0
SMALLEST_P = 1e-300  # lower bound of p, so that its logarithm is finite
COLUMNS = ("date", "event", "headline", "documents", "usually", "by chance", "example")
# Label of the words that a document has in common with its headline.
OPENING_LABEL = "more than usual"
# Reason why documents were not scored -> phrase that follows their number in a list.
UNREAD_PHRASES = {
    "empty": "without a word",
    "repeated": "nearly the same as one of an earlier period",
}
FORM_NOTE = "Nearly all documents have these new words: their form has changed."
MERGED = re.compile(r"(?:\s*\(#\d+\))+$")  # numbers of merged requests at the end of a title


class HeadlineView(NamedTuple):
    """A row of a list: a headline without an event, or the strongest headline of an event.

    Attributes
    ----------
    period : odl.alerts.model.Period
    headline : odl.alerts.model.Headline
    others : tuple of (Period, Headline)
        Other headlines of the same event, in the order of time.
    examples : tuple of DocumentView
        Stored documents of the headline, the most central first. Omitted are documents that an
        earlier row shows, and all but the first document about the same merged request.
    link : str
        Address of its event on the page, "" if it is unknown.
    places : int
        Number of rows by which verdicts moved it up; negative if they moved it down.
    """

    period: Period
    headline: Headline
    others: tuple = ()
    examples: tuple = ()
    link: str = ""
    places: int = 0

    @property
    def moved(self):
        """Phrase that says how verdicts moved the row, as in "moved up 3 places by 1 verdict: ...".

        It is empty if verdicts did not move the row in the direction of the verdicts on it.
        """
        move = self.period.moves.get(self.headline)
        if move is None:
            return ""
        # `move.places` is what the verdicts predict. The row can still shift the other way, or not
        # at all, when rows with stronger predictions pass it; then verdicts on it explain nothing.
        moved_as_predicted = self.places * move.places > 0
        if not moved_as_predicted:
            return ""
        judged = [verdict for verdict, _ in move.parts]
        where = f"moved {'up' if self.places > 0 else 'down'} {plural(abs(self.places), 'place')}"
        count = plural(sum(len(verdict.lines) for verdict in judged), "verdict")
        return f"{where} by {count}: {'; '.join(verdict.text for verdict in judged)}"

    @property
    def date(self):
        """Date of its period; first and last date if the period is longer than a day."""
        return date_of_period(self.period)

    @property
    def name(self):
        """Words or phrases of the headline, "volume", or the title of a lone document."""
        return name_of(self.headline, self.period)

    @property
    def event(self):
        """Number of the event and its state in the period, as text; empty without an event."""
        return f"event {self.headline.event}, {self.headline.state}" if self.headline.event else ""

    @property
    def usual(self):
        """Usual number of such documents in a period as text; empty for a lone document."""
        unknown = self.headline.gate == "lone" or math.isnan(self.headline.usual)
        return "" if unknown else usual_count(self.headline.usual)

    @property
    def documents(self):
        """Number of documents of the headline and the usual number, as text."""
        size = plural(self.headline.size, "document")
        return f"{size}, usually {self.usual}" if self.usual else size

    @property
    def chance(self):
        """How often chance alone gives such a headline: "1 in 100" means once in 100 periods.

        Other values are "certain" (opened by a fixed limit instead of a p-value), "usual" (in every
        period) and "unproven" (too few earlier documents).
        """
        if self.period.unproven:
            return "unproven"
        if self.headline.gate == "certain":
            return "certain"
        n = self.headline.recurrence
        return f"1 in {n:,}{'+' * (n >= RAREST)}" if n > 1 else "usual"

    @property
    def facts(self):
        """Number of documents, rarity and move in the list, for formats without columns."""
        chance = self.chance
        if chance.startswith("1 in"):
            chance = f"by chance once {chance[2:]} periods"
        return "; ".join(filter(None, [self.documents, chance, self.moved]))

    @property
    def cells(self):
        """Texts of the columns of a table, by the names in `COLUMNS`."""
        return {
            "date": day_of(self.period),
            "event": str(self.headline.event or ""),
            "headline": self.name if self.headline.name else "document",
            "documents": f"{self.headline.size:,}",
            "usually": self.usual,
            "by chance": self.chance,
            "example": "".join(isolated(view.title) for view in self.examples[:1]),
        }


class DocumentView(NamedTuple):
    """A document in a list of a period: its title, excerpt, origin and reasons as text."""

    document: Document
    period: Period

    @property
    def title(self):
        """Its title, or its id."""
        return self.document.title or self.document.id

    @property
    def key(self):
        """Key that is equal for documents about the same merged pull request.

        If the title ends with numbers such as "(#12)", the key is the title without them, in lower
        case. The key of every other document is its id.
        """
        full_title = self.document.title
        title = MERGED.sub("", full_title)
        has_number = title != full_title
        return title.casefold() if has_number else self.document.id

    @property
    def origin(self):
        """Date and source file of the document, as a list of at most two texts.

        The date is omitted if all documents of the period have it. The file is omitted if it is the
        only one of the period, or if the document's id contains its name.
        """
        document, origin = self.document, []
        date = date_of(document.time)
        if date and date != date_of_period(self.period):
            origin.append(date)
        is_only_source = tuple(self.period.sources) == (document.source,)
        if document.source and not document.line and not is_only_source:
            origin.append(document.source)
        return origin

    @property
    def notes(self):
        """Notes after the title: number of near-duplicates, and "followed" if a user follows it."""
        notes, n_alike = [], len(self.document.members) - 1
        if n_alike > 0:
            notes.append(f"+ {n_alike} alike")
        if self.document.feedback == "follow":
            notes.append("followed")
        return notes

    @property
    def tail(self):
        """Share of recent scores that are at least as high, as text, or "unproven"."""
        if self.period.unproven:
            return "unproven"
        return f"as high or higher: {percent(self.document.tail)} of recent ones"

    @property
    def opening(self):
        """Words of the headline that the document contains, as text."""
        return ", ".join(map(isolated, breakdown.opening(self.document)))

    @property
    def because(self):
        """Largest parts of the document's score, as text."""
        return breakdown.line(self.document, "\u00a0", short=True)

    @property
    def parts(self):
        """All parts of the document's score, as text."""
        return breakdown.line(self.document, "\u00a0")

    def near(self, atom):
        """Return the words of an atom of the dictionary, spelled as in the document, as text."""
        return ", ".join(map(isolated, breakdown.near(self.document, atom.words)))

    def marked(self, text, mark):
        """Mark the named reasons and the words of the headline in a text.

        `mark` is a function that returns a piece of the text with its markup; see
        `odl.alerts.excerpts.mark_words`.
        """
        document = self.document
        unshared = [reason.word for reason in document.reasons[document.led :] if reason.share > 0]
        words = [reason.word for reason in breakdown.named_words(document)]
        words += [*unshared[: breakdown.NAMED_OWN_WORDS], *document.opening]
        return excerpts.mark_words(text, words, mark)

    def texts(self, columns=sys.maxsize):
        """Return the title, shortened to a number of columns, and the excerpt.

        If the excerpt repeats the title, it is returned without the words that the shortened title
        already shows.
        """
        full_title, text = self.document.title, self.document.text
        title = shortened(self.title, columns)
        shorter, longer = sorted((full_title, text), key=len)
        if not shorter.strip("…") or not _end_of(shorter.strip("…"), longer):
            return title, text
        if title == full_title:
            return title, longer[_end_of(title, longer) :].strip()
        remainder = longer[_end_of(title.removesuffix("…"), longer) :].strip()
        return title, f"…{remainder}" if remainder else ""


class ListView(NamedTuple):
    """Content of a list of headlines, independent of the output format.

    Attributes
    ----------
    heading : str
        Stream, dates and number of documents.
    rows : list of HeadlineView
        Headlines, the largest evidence first; the strongest words if the last period is unproven.
    novel_title : str
    novel : list of DocumentView
        Documents, the most novel first; used for unproven periods and with `gates: false`.
    closing : list of str
        Last lines of the list (`closing_lines`).
    """

    heading: str
    rows: list
    novel_title: str
    novel: list
    closing: list


def _end_of(beginning, text):
    """Return the offset in a text where `beginning` ends, 0 if the text does not begin with it.

    Only letters and digits are compared, without case.

    Examples
    --------
    >>> from odl.alerts.views import _end_of
    >>> _end_of("Rockets: a test", "* rockets - a test of engines")
    18
    >>> _end_of("Why?", "Why? Then"), _end_of("Oil", "A")
    (4, 0)
    """
    letters, signs = re.sub(r"\W", "", beginning), re.findall(r"\W*$", beginning)[0]
    pattern = r"\W*".join(["", *map(re.escape, letters)]) + f"(?:{re.escape(signs)})?"
    match = re.match(pattern, text, re.IGNORECASE)
    return match.end() if match else 0


def rows_of(periods):
    """Return the headlines of periods as rows (`HeadlineView`), the largest evidence first.

    The headlines of one event share a row. Lone documents come last. Verdicts then move rows up or
    down (`Period.moves`).
    """
    groups: dict[Any, list] = {}
    for period in periods:
        for index, headline in enumerate(period.headlines):
            groups.setdefault(headline.event or (period.t, index), []).append((period, headline))
    rows = []
    for group in groups.values():
        best = max(group, key=lambda pair: evidence(pair[1]))
        rows.append(HeadlineView(*best, tuple(pair for pair in group if pair is not best)))
    rows.sort(key=lambda row: (row.headline.gate == "lone", -evidence(row.headline), -row.period.t))
    return _with_examples(_moved_rows(rows))


def _with_examples(rows):
    """Return copies of rows with example documents, without those that an earlier row shows.

    A row shows its first `EXAMPLES_SHOWN` examples. If earlier rows show all its documents, it
    shows them again. If several documents are about the same merged request (`DocumentView.key`),
    only the first is an example.
    """
    shown: set[str] = set()
    completed = []
    for row in rows:
        views: dict[str, DocumentView] = {}
        for number in row.headline.examples:
            view = DocumentView(row.period.documents_of[number], row.period)
            views.setdefault(view.key, view)
        unshown = [key for key in views if key not in shown]
        keys = unshown or [*views]
        shown.update(keys[:EXAMPLES_SHOWN])
        completed.append(row._replace(examples=tuple(views[key] for key in keys)))
    return completed


def _moved_rows(rows):
    """Return the rows in the order that the verdicts of users give (`Period.moves`).

    `HeadlineView.places` of each row is set to the number of places that it moved up.
    """
    moves = [row.period.moves.get(row.headline) for row in rows]
    if not any(moves):
        return rows
    headlines = [[row.headline, *(other for _, other in row.others)] for row in rows]
    protected = [any(map(ranking.is_protected, of_row)) for of_row in headlines]
    order = ranking.reorder([move.places if move else 0 for move in moves], protected)
    return [rows[old]._replace(places=old - new) for new, old in enumerate(order)]


def evidence(headline):
    """Return the evidence by which headlines are sorted.

    It is t for headlines about words. Headlines about volume and lone documents have no t (it is
    0). Their evidence is LOG10_WORDS - log10 p: the t that the strongest word of a period reaches
    with probability p by chance.
    """
    if headline.t:
        return headline.t
    return LOG10_WORDS - math.log10(max(headline.p, SMALLEST_P))


def with_below(periods):
    """Return copies of periods whose headlines include those below the alert level."""
    return tuple(
        replace(period, headlines=(*period.headlines, *period.below)) for period in periods
    )


def name_of(headline, period=None):
    """Return the name of a headline or an event as text."""
    if headline.name:
        is_volume = getattr(headline, "gate", "") == "volume"  # an event has no gate
        return (" of " if is_volume else ", ").join(map(isolated, headline.name))
    if period is None:
        return "documents"
    return isolated(DocumentView(period.documents_of[headline.rows[0]], period).title)


def usual_count(value):
    """Return a usual number of documents as text."""
    return f"{value:,.0f}" if value >= 1 or not value else "<1"


def percent(share):
    """Return a share in per cent as text, with one decimal if it is below 1 %."""
    value = 100 * share
    if 0 < value < 0.05:
        return "<0.1\u00a0%"
    return f"{value:.1f}\u00a0%" if 0 < abs(value) < 1 else f"{value:.0f}\u00a0%"


def plural(count, noun):
    """Return a count with its noun."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def date_of(time, exact=False):
    """Return a time (ms) as text: "2024-01-29", or with `exact` "2024-01-29T12:00:00Z".

    The text is empty if the time is unknown.
    """
    if time == NO_TIME:
        return ""
    text = str(np.datetime64(int(time), "ms"))
    return f"{text[:19]}Z" if exact else text[:10]


def date_of_period(period):
    """Return the dates of a period, such as "2024-01-29" or "2024-01-29 to 02-04".

    If the documents have no dates, it is "period" with its number.
    """
    first, last = day_of(period), date_of(period.last)
    if last in ("", first):
        return first
    for n_common in (len("2024-01-"), len("2024-")):
        if first[:n_common] == last[:n_common]:
            return f"{first} to {last[n_common:]}"
    return f"{first} to {last}"


def day_of(period):
    """Return the first day of a period, or its number if its documents have no dates."""
    return date_of(period.first) or f"period {period.t}"


def day_in(watch, t):
    """Return the first day of period t (`day_of`); "period t" if the watch has not read it."""
    first = watch.periods[0].t
    return day_of(watch.periods[t - first]) if t >= first else f"period {t}"


def days_of(periods):
    """Return the first and the last day of periods as text, or their numbers without dates."""
    dated = [period for period in periods if period.first != NO_TIME]
    if dated:
        begin = date_of(min(period.first for period in dated))
        end = date_of(max(period.last for period in dated))
    else:
        begin, end = day_of(periods[0]), day_of(periods[-1])
    return begin if begin == end else f"{begin} to {end}"


def urn_of(watch, kind="", ident=""):
    """Return the permanent name (URN) of a stream.

    With `kind` ("event", "document", ...) and `ident` it is the name of this object of the stream.
    """
    parts = [kind, quote(str(ident), safe="")] if kind else []
    return ":".join(["urn:odl", quote(watch.corpus), *parts])


def list_heading(watch, periods):
    """Return the first line of a list: stream, dates, and number of documents."""
    size = plural(sum(period.documents for period in periods), "document")
    if len(periods) > 1:
        size += f" in {plural(len(periods), 'period')}"
    elif periods[0].usual:
        size += f", usually {usual_count(periods[0].usual)}"
    return f"{watch.corpus}, {days_of(periods)}: {size}"


def summary_sentence(watch, periods):
    """Return a sentence with the number of headlines, or why there are none."""
    proven = [period for period in periods if not period.unproven]
    gates = watch.settings["gates"]
    if not proven:
        earlier = (period for period in watch.periods if 0 < period.t < periods[-1].t)
        scored = watch.scored + sum(period.documents for period in earlier)
        need = f"alerts begin when {watch.settings['warm_up']} documents were scored"
        return f"Unproven: {need}, and {scored:,} were scored before this. Nothing here was tested."
    # Without gates, the most novel documents are the alerts.
    counts = [len(period.headlines if gates else period.novel) for period in proven]
    noun, span = "headline" if gates else "document", plural(len(proven), "period")
    if not any(counts):
        return f"Nothing new in {span}." if len(periods) > 1 else "Nothing new."
    if len(periods) == 1:
        return f"{plural(counts[0], noun)}."
    return f"{noun.capitalize()}s in {sum(map(bool, counts))} of {span}."


def closing_lines(watch, periods):
    """Return the last lines of a list.

    They give the number of headlines, the strongest headlines below the alert level, and the
    reasons why documents or headlines are not shown.
    """
    proven = [period for period in periods if not period.unproven]
    lines = [summary_sentence(watch, periods)]
    n_unproven = len(periods) - len(proven)
    if proven and n_unproven:
        verb = "are" if n_unproven > 1 else "is"
        lines.append(
            f"The first {plural(n_unproven, 'period')} {verb} unproven and without alerts."
        )
    quiet = [replace(period, headlines=period.below) for period in proven if not period.headlines]
    below = rows_of(quiet)[:BELOW_SHOWN]
    if below:
        lines.append("Not unusual here (all of them: odl new FOLDER --below):")
    for row in below:
        date = f" ({row.date})" if len(periods) > 1 else ""
        lines.append(f"- {row.name}: {row.documents}{date}")
    lines += [f"Held back: {reason}." for reason in withheld_phrases(proven)]
    return [*lines, *watch.verdict_lines]


def withheld_phrases(periods):
    """Return a phrase for each reason why documents or headlines of periods are not shown."""
    withheld: Counter = Counter()
    for entry in (entry for period in periods for entry in period.withheld):
        withheld[entry.what, entry.verdict] += entry.items
    phrases = []
    for (name, verdict), count in withheld.items():
        if verdict in UNREAD_PHRASES:
            phrases.append(f"{plural(count, 'document')} {UNREAD_PHRASES[verdict]}")
        elif name.startswith(("event:", "topic:", "source:")):
            phrases.append(f"{plural(count, 'headline')} of {name} ({verdict} in feedback.csv)")
        else:
            phrases.append(f"document {name} ({verdict} in feedback.csv)")
    return phrases


def list_view(watch, periods):
    """Return the view of a list of periods (`ListView`)."""
    unproven = periods[-1].unproven
    chosen = []  # periods whose most novel documents are listed
    if unproven:
        chosen = [period for period in periods if period.t] or periods  # batch 0 has no scores
        rows = rows_of(with_below(chosen))[:BELOW_SHOWN]
    else:
        rows = rows_of(periods)
        if not watch.settings["gates"]:
            chosen = [period for period in periods if not period.unproven]
    novel = [
        DocumentView(period.documents_of[row], period) for period in chosen for row in period.novel
    ]
    title = "Most novel documents"
    if unproven:
        title += " (unproven)"
        novel = sorted(novel, key=lambda view: -view.document.score)[:UNPROVEN_SHOWN]
    rows = [row._replace(link=watch.link_of(row.headline.event)) for row in rows]
    return ListView(list_heading(watch, periods), rows, title, novel, closing_lines(watch, periods))


def describe_word(word):
    """Return a text about an unseen word: number of documents, time span, expected number."""
    text = f"{word.items:,} documents"
    if word.sources > 1:
        text += f" of {word.sources:,} files"
    if word.first != NO_TIME:
        half = duration(max(word.half, MIN_SPAN) / 1000)
        text += f" since {date_of(word.first)}, half of them within {half}"
    expected = f"{word.expected:.1f}" if word.expected >= 0.05 else "less than 0.1"
    return f"{text}; an earlier period had {expected} such words"


def group_phrases(words):
    """Group unseen words that occur in the same documents; return (phrases, first word) pairs.

    Only the longest phrases of a group are returned, at most `MAX_PHRASES` and "…".
    """
    groups: dict = {}
    for word in words:
        groups.setdefault((word.items, word.documents), []).append(word)
    named = []
    for group in groups.values():
        phrases = [f" {word.phrase} " for word in group]
        longest = [
            phrase.strip() for phrase in phrases if sum(phrase in other for other in phrases) == 1
        ]
        if len(longest) > MAX_PHRASES:
            longest[MAX_PHRASES:] = ["…"]
        named.append((longest, group[0]))
    return named
