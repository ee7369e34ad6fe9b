"""Text of headlines and documents, shared by all output formats.

`HeadlineView` and `DocumentView` give the fields of a headline and of a document as text.
`listed_rows`, `novel_documents` and `closing_lines` give the content of a list. `odl.alerts.show`
writes lists for a terminal, as Markdown and for Slack. `odl.report` writes pages and feeds.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
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
# log10 of the typical number of words in a period, about 10,000. The largest t of 10,000 words
# exceeds a value x with a probability of about 10^(LOG10_WORDS - x).
LOG10_WORDS = 4.0
SMALLEST_P = 1e-300  # lower bound of p, so that its logarithm is finite
COLUMNS = ("date", "event", "headline", "documents", "usually", "by chance", "example")
COUNT_COLUMNS = {"event", "documents", "usually"}  # columns that are aligned to the right
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
    others : sequence of (Period, Headline)
        Other headlines of the same event, in the order of time.
    examples : sequence of DocumentView
        Stored documents of the headline, the most central first. Omitted are documents that an
        earlier row shows, and all but the first document about the same merged request.
    places : int
        Number of rows by which verdicts moved this row up; negative if they moved it down.
    """

    period: Period
    headline: Headline
    others: Sequence = ()
    examples: Sequence = ()
    places: int = 0

    @property
    def moved(self):
        """Phrase about the move of the row, such as "moved up 3 places by 1 verdict: ...".

        The phrase is empty if the row did not move, or not in the direction that verdicts predict.
        """
        move = self.period.moves.get(self.headline)
        # Verdicts predict `move.places`. If rows with stronger predictions pass this row, the row
        # stays or moves the other way, and the verdicts do not explain its place.
        if not move or self.places * move.places <= 0:
            return ""
        judged = [verdict for verdict, _ in move.parts]
        where = f"moved {'up' if self.places > 0 else 'down'} {plural(abs(self.places), 'place')}"
        count = plural(sum(len(verdict.lines) for verdict in judged), "verdict")
        return f"{where} by {count}: {'; '.join(verdict.text for verdict in judged)}"

    @property
    def date(self):
        """Date of its period; first and last date if the period is longer than a day."""
        return days_of([self.period])

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
        """Event, number of documents, rarity and move in the list, for formats without columns."""
        chance = self.chance.replace("1 in", "by chance 1 in")
        return "; ".join(filter(None, [self.event, self.documents, chance, self.moved]))

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
    """A document in a list, with its title, excerpt, origin and reasons as text."""

    document: Document
    period: Period

    @property
    def title(self):
        """Title of the document, or its id if it has no title."""
        return self.document.title or self.document.id

    @property
    def key(self):
        """Key that is equal for documents about the same merged pull request.

        If the title ends with numbers such as "(#12)", the key is the title without them, in lower
        case. The key of every other document is its id.
        """
        title, n_numbers = MERGED.subn("", self.document.title)
        return title.casefold() if n_numbers else self.document.id

    @property
    def origin(self):
        """Date and source file of the document, as a list of at most two texts.

        The date is omitted if all documents of the period have it. The file is omitted if it is the
        only one of the period, or if the document's id contains its name.
        """
        date, source = date_of(self.document.time), self.document.source
        if date == days_of([self.period]):
            date = ""
        if self.document.line or tuple(self.period.sources) == (source,):
            source = ""
        return [*filter(None, [date, source])]

    @property
    def notes(self):
        """Notes after the title: number of near-duplicates, and "followed" if a user follows it."""
        n_alike = len(self.document.members) - 1
        alike = [f"+ {n_alike} alike"] if n_alike > 0 else []
        return [*alike, "followed"] if self.document.feedback == "follow" else alike

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

    def parts(self, short=False):
        """Return all parts of the document's score as text, or with `short` the largest ones."""
        return breakdown.line(self.document, "\u00a0", short)

    def near(self, atom):
        """Return the words of an atom of the dictionary, spelled as in the document, as text."""
        return ", ".join(map(isolated, breakdown.near(self.document, atom.words)))

    def marked(self, text, mark, other=str):
        """Return a text in which the named reasons and the words of the headline are marked.

        The function `mark` returns the markup of a word, and `other` the markup of the text between
        two words.
        """
        document = self.document
        unshared = [reason.word for reason in document.reasons[document.led :] if reason.share > 0]
        words = [reason.word for reason in breakdown.named_words(document)]
        words += [*unshared[: breakdown.NAMED_OWN_WORDS], *document.opening]
        return excerpts.mark_words(text, words, mark, other)

    def texts(self, columns=sys.maxsize):
        """Return the title, shortened to a number of columns, and the excerpt.

        If the excerpt begins with the title, the words of the shortened title are removed from it.
        """
        full_title, text = self.document.title, self.document.text
        title = shortened(self.title, columns)
        shorter, longer = sorted((full_title, text), key=len)
        if not _end_of(shorter.strip("…"), longer):
            return title, text
        is_cut = title != full_title
        end = _end_of(title.removesuffix("…") if is_cut else title, longer)
        return title, "…" * is_cut + longer[end:].strip()


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
    return match.end() if letters and match else 0


def rows_of(periods):
    """Return the headlines of periods as rows (`HeadlineView`), the largest evidence first.

    The headlines of one event share a row. Lone documents come last. Verdicts then move rows up or
    down (`Period.moves`).
    """
    pairs = [(period, headline) for period in periods for headline in period.headlines]
    pairs.sort(key=lambda pair: (pair[1].gate == "lone", -evidence(pair[1]), -pair[0].t))
    groups: dict[Any, list] = {}
    for period, headline in pairs:
        key = headline.event or (period.t, headline)
        groups.setdefault(key, []).append((period, headline))
    rows = []
    for (period, headline), *others in groups.values():
        rows.append(HeadlineView(period, headline, sorted(others, key=lambda pair: pair[0].t)))
    return _with_examples(_moved_rows(rows))


def _with_examples(rows):
    """Return copies of rows with example documents, without those that an earlier row shows.

    A row shows its first `EXAMPLES_SHOWN` examples. If earlier rows show all its documents, the row
    shows these documents again. If several documents are about the same merged request
    (`DocumentView.key`), only the first is an example.
    """
    shown: set[str] = set()
    completed = []
    for row in rows:
        views: dict[str, DocumentView] = {}
        for number in row.headline.examples:
            view = DocumentView(row.period.documents_of[number], row.period)
            views.setdefault(view.key, view)
        keys = [key for key in views if key not in shown] or [*views]
        shown.update(keys[:EXAMPLES_SHOWN])
        completed.append(row._replace(examples=[views[key] for key in keys]))
    return completed


def _moved_rows(rows):
    """Return the rows in the order that the verdicts of users give (`Period.moves`).

    `HeadlineView.places` of each row is set to the number of places that it moved up.
    """
    moves = [row.period.moves.get(row.headline) for row in rows]
    if not any(moves):
        return rows
    protected = []
    for row in rows:
        headlines = [row.headline, *(other for _, other in row.others)]
        protected.append(any(map(ranking.is_protected, headlines)))
    order = ranking.reorder([move.places if move else 0 for move in moves], protected)
    return [rows[old]._replace(places=old - new) for new, old in enumerate(order)]


def evidence(headline):
    """Return the evidence by which headlines are sorted.

    For headlines about words, the evidence is t. Headlines about volume and lone documents have
    t = 0. Their evidence is LOG10_WORDS - log10 p: the t that the strongest word of a period
    reaches with probability p by chance.
    """
    if headline.t:
        return headline.t
    return LOG10_WORDS - math.log10(max(headline.p, SMALLEST_P))


def with_below(periods):
    """Return copies of periods whose headlines include those below the alert level."""
    return [replace(period, headlines=(*period.headlines, *period.below)) for period in periods]


def rows_below(periods):
    """Return the headlines below the alert level as rows (`rows_of`)."""
    return rows_of([replace(period, headlines=period.below) for period in periods])


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


def day_of(period):
    """Return the first day of a period, or its number if its documents have no dates."""
    return date_of(period.first) or f"period {period.t}"


def day_in(watch, t):
    """Return the first day of period t (`day_of`); "period t" if the watch has not read it."""
    first = watch.periods[0].t
    return day_of(watch.periods[t - first]) if t >= first else f"period {t}"


def days_of(periods):
    """Return the first and the last day of periods as text, or their numbers without dates."""
    dated = [period for period in periods if period.first != NO_TIME] or periods
    first, last = day_of(dated[0]), date_of(dated[-1].last) or day_of(dated[-1])
    return first if first == last else f"{first} to {last}"


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
    """Return a sentence with the number of headlines, or the reason why there are none."""
    proven = [period for period in periods if not period.unproven]
    if not proven:
        earlier = (period for period in watch.periods if 0 < period.t < periods[-1].t)
        scored = watch.scored + sum(period.documents for period in earlier)
        need = f"alerts begin when {watch.settings['warm_up']} documents were scored"
        return f"Unproven: {need}, and {scored:,} were scored before this. Nothing here was tested."
    # Without gates, the most novel documents are the alerts.
    noun, field = ("headline", "headlines") if watch.settings["gates"] else ("document", "novel")
    counts, span = [len(getattr(period, field)) for period in proven], plural(len(proven), "period")
    if not any(counts):
        return f"Nothing new in {span}." if len(periods) > 1 else "Nothing new."
    if len(periods) == 1:
        return f"{plural(counts[0], noun)}."
    return f"{noun.capitalize()}s in {sum(map(bool, counts))} of {span}."


def closing_lines(watch, periods):
    """Return the last lines of a list.

    The lines contain the number of headlines, the strongest headlines below the alert level, and
    the reasons why documents or headlines are not shown.
    """
    proven = [period for period in periods if not period.unproven]
    lines = [summary_sentence(watch, periods)]
    n_unproven = len(periods) - len(proven)
    if proven and n_unproven:
        lines.append(f"Unproven and without alerts: the first {plural(n_unproven, 'period')}.")
    below = rows_below([period for period in proven if not period.headlines])[:BELOW_SHOWN]
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
    for period in periods:
        withheld.update(period.withheld)
    phrases = []
    for (name, reason), count in withheld.items():
        if not name:
            phrases.append(f"{plural(count, 'document')} {UNREAD_PHRASES[reason]}")
        elif name.startswith(("event:", "topic:", "source:")):
            phrases.append(f"{plural(count, 'headline')} of {name} ({reason} in feedback.csv)")
        else:
            phrases.append(f"document {name} ({reason} in feedback.csv)")
    return phrases


def listed_rows(periods):
    """Return the rows of a list of periods; the strongest words if the last one is unproven."""
    if periods[-1].unproven:
        return rows_of(with_below(_scored(periods)))[:BELOW_SHOWN]
    return rows_of(periods)


def novel_documents(watch, periods):
    """Return the most novel documents in a list of periods, as `DocumentView`.

    With `gates: false` these documents are the alerts. With gates, documents are returned only if
    the last period is unproven.
    """
    unproven = periods[-1].unproven
    if watch.settings["gates"] and not unproven:
        return []
    chosen = [period for period in _scored(periods) if period.unproven == unproven]
    novel = [
        DocumentView(period.documents_of[row], period) for period in chosen for row in period.novel
    ]
    if unproven:
        return sorted(novel, key=lambda view: -view.document.score)[:UNPROVEN_SHOWN]
    return novel


def _scored(periods):
    """Return the periods without batch 0, which has no scores; all if there is no other period."""
    return [period for period in periods if period.t] or periods


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
    return [(_longest_phrases(group), group[0]) for group in groups.values()]


def _longest_phrases(words):
    """Return the phrases of words that are in no other phrase, at most `MAX_PHRASES` and "…"."""
    phrases = [f" {word.phrase} " for word in words]
    longest = [phrase for phrase in phrases if sum(phrase in other for other in phrases) == 1]
    shown = longest[:MAX_PHRASES] + ["…"] * (len(longest) > MAX_PHRASES)
    return [phrase.strip() for phrase in shown]
