"""Lists of what is new as text of a terminal, Markdown or Slack, from one view of a headline and one of a document.

The page and the feeds (`odl.report`) use the same views. A list has a table of headlines, the
largest evidence first, then each headline with examples, then what else is to be known of the
periods (`closing`).
"""

import json
import math
import os
import re
import shutil
import sys
from bisect import bisect
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import quote

from odl.alerts import breakdown, excerpts, ranking, spans
from odl.alerts.model import RAREST, Document, Headline, Period
from odl.errors import ParameterError
from odl.files import templates, terminal
from odl.files.columns import padded, shortened, table_lines, width, widths, wrapped
from odl.files.documents import NO_TIME
from odl.files.escaping import isolated
from odl.files.terminal import styled, styled_state

TEXT_COLUMNS = 110  # largest width of a text
EXAMPLES_SHOWN = 3  # documents shown of a headline
HEADLINES_DETAILED = 10  # headlines shown with their documents
BELOW_SHOWN = 5  # headlines below the bar that are named
UNPROVEN_SHOWN = 5  # documents shown of unproven periods
NAME_COLUMNS = (20, 44)  # smallest and largest width of the names in a table that has examples
EXAMPLE_COLUMNS = 16  # smallest width of the examples in a table
# log10 of the words of a period: the largest of that many t is as rare as one t this much smaller
LOG10_WORDS = 4.0
CUT_WORD = 30  # characters of a word in which a title is cut and that the text below repeats
COLUMNS = ("date", "event", "headline", "documents", "usually", "by chance", "example")
COUNT_COLUMNS = {"event", "documents", "usually"}  # aligned to the right
DROP_ORDER = ("event", "by chance", "usually")  # left out on a narrow terminal, the first one first
OPENING_LABEL = "more than usual"  # stands before the words of its headline that a document has
UNREAD_PHRASES = {
    "empty": "without a word",
    "repeated": "nearly the same as one of an earlier period",
}
EXPLAIN = "odl explain FOLDER"
FORM_NOTE = "Nearly all documents have these new words: their form has changed."
SLACK_BLOCKS = 47  # blocks of a Slack message; Slack allows 50
SLACK_TEXT = 2000  # characters of a block; Slack allows 3000
SLACK_MESSAGE = 9000  # characters of all blocks; Slack refuses messages from about 13,000 on
ISOLATED = re.compile("\u2068[^\u2069]*\u2069")  # text of another direction; its line is not broken
# Signs to escape in Markdown; no hyphen within a word.
MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~<>&]|(?<!\w)-|-(?!\w))")
MERGED = re.compile(r"(?:\s*\(#\d+\))+$")  # numbers of merged requests at the end of a title
LINK = re.compile(r"https?://[^\s<>|]+")


class HeadlineView(NamedTuple):
    """A row of a list: a headline, or the strongest one of all headlines of an event.

    Attributes
    ----------
    period : odl.alerts.model.Period
    headline : odl.alerts.model.Headline
    others : tuple of (Period, Headline)
        Other headlines of the same event, by time.
    examples : tuple of DocumentView
        Stored documents of the headline, the most central first. Documents that rows above show are
        left out; so are further ones with the title of the same merged request.
    link : str
        Address of its event on the page, "" if it is unknown.
    places : int
        Places by which it is higher than without verdicts; negative: lower.
    """

    period: Period
    headline: Headline
    others: tuple = ()
    examples: tuple = ()
    link: str = ""
    places: int = 0

    @property
    def moved(self):
        """How verdicts moved it, as text: "moved up 3 places by 1 verdict: ..."; empty if they did not."""
        move = self.period.moves.get(self.headline)
        if move is None or self.places * move.places <= 0:
            return ""
        judged = [one for one, _ in move.parts]
        where = f"moved {'up' if self.places > 0 else 'down'} {plural(abs(self.places), 'place')}"
        count = plural(sum(len(one.lines) for one in judged), "verdict")
        return f"{where} by {count}: {'; '.join(one.text for one in judged)}"

    @property
    def date(self):
        """Date of its period; first and last date if the period is longer than a day."""
        return date_of_period(self.period)

    @property
    def name(self):
        """Its words or phrases, "volume", or the title of a document that stands alone."""
        return name_of(self.headline, self.period)

    @property
    def event(self):
        """Number of the event and its state in the period, as text; empty without an event."""
        return f"event {self.headline.event}, {self.headline.state}" if self.headline.event else ""

    @property
    def usual(self):
        """Usual number of such documents in a period, as text; empty for a document that stands alone."""
        unknown = self.headline.gate == "lone" or math.isnan(self.headline.usual)
        return "" if unknown else _count_of(self.headline.usual)

    @property
    def documents(self):
        """Its number of documents and the usual number, as text."""
        return plural(self.headline.size, "document") + (
            f", usually {self.usual}" if self.usual else ""
        )

    @property
    def chance(self):
        """How rare it would be by chance, as text: "1 in 100" (periods), "certain", "usual" or "unproven"."""
        if self.period.unproven:
            return "unproven"
        if self.headline.gate == "certain":
            return "certain"
        recurrence = self.headline.recurrence
        return f"1 in {recurrence:,}" + "+" * (recurrence >= RAREST) if recurrence > 1 else "usual"

    @property
    def facts(self):
        """Event, documents and rarity in a line, for lists without columns."""
        chance = self.chance.replace(
            "1 in", "by chance once in"
        ) + " periods" * self.chance.startswith("1 in")
        return "; ".join(filter(None, [self.event, self.documents, chance, self.moved]))

    @property
    def cells(self):
        """Texts of the columns of a table, by the names in `COLUMNS`."""
        one = self.headline
        examples = [isolated(view.title) for view in self.examples[:1] if one.name]
        number = str(one.event or "")
        counts = f"{one.size:,}", self.usual
        values = (day_of(self.period), number, self.name, *counts, self.chance, "".join(examples))
        return dict(zip(COLUMNS, values, strict=True))


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
        """Its title without the numbers of merged requests that end it, such as "(#12)"; without any, its id."""
        title = MERGED.sub("", self.document.title)
        return title.casefold() if title != self.document.title else self.document.id

    @property
    def origin(self):
        """Its date and its file if they are known; no file if its id names file and line."""
        one = self.document
        return [part for part in (date_of(one.time), "" if one.line else one.source) if part]

    @property
    def place(self):
        """Its origin without the date of a one-day period and without the file of a period of one file."""
        only = self.period.sources if len(self.period.sources) == 1 else ()
        return [part for part in self.origin if part not in (date_of_period(self.period), *only)]

    @property
    def notes(self):
        """Notes behind its title: the number of near-duplicates, and whether a user follows it."""
        alike = len(self.document.members) - 1
        return [f"+ {alike} alike"] * (alike > 0) + ["followed"] * (
            self.document.feedback == "follow"
        )

    @property
    def tail(self):
        """Share of recent scores that are as high as its score, as text; "unproven" without enough of them."""
        if self.period.unproven:
            return "unproven"
        return f"as high or higher: {percent(self.document.tail)} of recent ones"

    @property
    def opening(self):
        """Words of its headline that it has, as text."""
        return ", ".join(map(isolated, breakdown.opening(self.document)))

    @property
    def because(self):
        """Largest parts of its score, as text."""
        return breakdown.line(self.document, "\u00a0", short=True)

    @property
    def words(self):
        """Words to mark in its title and excerpt: named reasons and words of its headline."""
        one = self.document
        own = [reason.word for reason in one.reasons[one.led :] if reason.share > 0][
            : breakdown.NAMED_OWN_WORDS
        ]
        return [*(reason.word for reason in breakdown.named_words(one)), *own, *one.opening]

    def marked(self, text, mark):
        """Return a text of the document with `words` marked by a function (`odl.alerts.excerpts.marked`)."""
        return excerpts.marked(text, self.words, mark)

    def texts(self, most=sys.maxsize):
        """Return the title in at most `most` columns, and the part of the excerpt that the title does not show."""
        title, text, known = shortened(self.title, most), self.document.text, self.document.title
        shorter, longer = sorted((known, text.strip("…")), key=len)
        if not (shorter and _end_of(shorter, longer)):
            return title, text
        longer, cut = max(known, text, key=len), title != known
        at = _end_of(title.removesuffix("…") if cut else title, longer)
        begin = longer.rfind(" ", 0, at) + 1
        if (
            longer[at : at + 1].strip() and at - begin <= CUT_WORD
        ):  # a title that begins a text may end inside a word
            at, cut = begin, True
        rest = longer[at:].strip()
        return title, "…" * (cut and bool(rest)) + rest


class ListView(NamedTuple):
    """What a list of periods shows, whatever its form.

    Attributes
    ----------
    heading : str
        Stream, dates and number of documents.
    rows : list of HeadlineView
        Headlines, the largest evidence first; the strongest words if the last period is unproven.
    novel_title : str
    novel : list of DocumentView
        Documents listed by novelty: in unproven periods, and with `gates: false`.
    closing : list of str
        Last lines (`closing`).
    """

    heading: str
    rows: list
    novel_title: str
    novel: list
    closing: list


def _end_of(beginning, text):
    """Return where a beginning ends in a text, compared by letters and digits alone; 0 if the text begins otherwise.

    Examples
    --------
    >>> from odl.alerts.show import _end_of
    >>> _end_of("Rockets: a test", "* rockets - a test of engines"), _end_of("Why?", "Why? Then"), _end_of("Oil", "A")
    (18, 4, 0)
    """
    letters, signs = re.sub(r"\W", "", beginning), re.findall(r"\W*$", beginning)[0]
    match = re.match(
        r"\W*".join(["", *map(re.escape, letters)]) + f"(?:{re.escape(signs)})?",
        text,
        re.IGNORECASE,
    )
    return match.end() if match else 0


def rows_of(periods):
    """Return the headlines of periods as rows (`HeadlineView`), the largest evidence first.

    All headlines of an event are one row. Documents that stand alone come last. Then verdicts move
    rows (`Period.moves`).
    """
    groups: dict[Any, list] = {}
    for period in periods:
        for place, headline in enumerate(period.headlines):
            groups.setdefault(headline.event or (period.t, place), []).append((period, headline))
    rows = []
    for group in groups.values():
        best = max(group, key=lambda pair: evidence(pair[1]))
        rows.append(HeadlineView(*best, tuple(pair for pair in group if pair is not best)))
    rows.sort(key=lambda row: (row.headline.gate == "lone", -evidence(row.headline), -row.period.t))
    rows = _moved_rows(rows)
    shown: set[str] = set()
    for place, row in enumerate(rows):
        views: dict[str, DocumentView] = {}
        for number in row.headline.examples:
            view = DocumentView(row.period.documents_of[number], row.period)
            views.setdefault(view.key, view)
        keys = [key for key in views if key not in shown] or [*views]
        shown |= {*keys[:EXAMPLES_SHOWN]}
        rows[place] = row._replace(examples=tuple(views[key] for key in keys))
    return rows


def _moved_rows(rows):
    """Return rows in the order that verdicts give them."""
    moves = [row.period.moves.get(row.headline) for row in rows]
    if not any(moves):
        return rows
    headlines = [[row.headline, *(other for _, other in row.others)] for row in rows]
    protected = [any(map(ranking.is_protected, each)) for each in headlines]
    order = ranking.reorder([move.places if move else 0 for move in moves], protected)
    return [rows[old]._replace(places=old - new) for new, old in enumerate(order)]


def evidence(headline):
    """Return the evidence by which headlines are sorted: t of words; for others, the t that is as rare as their p."""
    return headline.t or LOG10_WORDS - math.log10(max(headline.p, 1e-300))


def with_below(periods):
    """Return copies of periods whose headlines include those that are not unusual for the stream."""
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


def _count_of(value):
    """Return a usual number of documents as text."""
    return f"{value:,.0f}" if value >= 1 or not value else "<1"


def percent(share):
    """Return a share in per cent as text, with one decimal if it is below 1 %."""
    value = 100 * share
    return f"{value:.1f}\u00a0%" if 0 < abs(value) < 1 else f"{value:.0f}\u00a0%"


def plural(count, noun):
    """Return a count with its noun."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def date_of(time, exact=False):
    """Return a time as text: its day, or with `exact` its second; empty if it is unknown."""
    if time == NO_TIME:
        return ""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(time))
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if exact else moment.strftime("%Y-%m-%d")


def date_of_period(period):
    """Return the date of a period, "2024-01-29 to 02-04" if it is longer, or its number if documents have no dates."""
    first, last = date_of(period.first), date_of(period.last)
    if not first:
        return f"period {period.t}"
    same = next((n for n in (10, 8, 5) if first[:n] == last[:n]), 0)
    return first if same == 10 else f"{first} to {last[same:]}"


def day_of(period):
    """Return the first day of a period, or its number if its documents have no dates."""
    return date_of(period.first) or f"period {period.t}"


def day_in(watch, t):
    """Return the first day of period t of a watch (`day_of`), or its number if it was not read."""
    first = watch.periods[0].t
    return day_of(watch.periods[t - first]) if t >= first else f"period {t}"


def days_of(periods):
    """Return the first and the last day of periods as text; empty if they are unknown."""
    dated = [each for each in periods if each.first != NO_TIME]
    times = [min(one.first for one in dated), max(one.last for one in dated)] if dated else []
    return " to ".join(dict.fromkeys(map(date_of, times)))


def urn(watch, kind="", what=""):
    """Return the permanent name (URN) of a stream, or of an event or a document of it."""
    return ":".join(
        ["urn:odl", quote(watch.corpus), *([kind, quote(str(what), safe="")] if kind else [])]
    )


def since(watch, text=None, until=None):
    """Return the periods between two times, given as text (`odl.alerts.spans.parse`).

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    text, until : str, optional
        Values of `--since` and `--until`. With `until` alone, the result is the last period before
        its end; with neither, the last period.

    Raises
    ------
    ParameterError
        If a text names no span, the documents have no dates, or the end is before the begin.
    """
    start = None if text is None else spans.parse(text, "--since")[0]
    end = None if until is None else spans.parse(until, "--until")[1]
    if start is None and end is None:
        return watch.periods[-1:]
    option = f"--until {until}" if text is None else f"--since {text}"
    if all(period.last == NO_TIME for period in watch.periods):
        fault = f"{option} for documents without dates"
        raise ParameterError(fault, "documents with dates", "leave it out")
    if start is not None and end is not None and end <= start:
        expected = "an end that is not before the begin"
        raise ParameterError(f"{option} --until {until}", expected, "correct one of them")
    after, before = (-math.inf if start is None else start), (math.inf if end is None else end)
    dated = (period for period in watch.periods if period.last != NO_TIME)
    chosen = tuple(one for one in dated if one.last >= after and one.first < before)
    return chosen[-1:] if text is None else chosen


def heading(watch, periods):
    """Return the first line of a list: stream, dates and number of documents of the periods."""
    numbers = " to ".join(str(t) for t in dict.fromkeys([periods[0].t, periods[-1].t]))
    days = days_of(periods) or f"period{'s' * (len(periods) > 1)} {numbers}"
    size = plural(sum(each.documents for each in periods), "document")
    if len(periods) > 1:
        size += f" in {plural(len(periods), 'period')}"
    elif periods[0].usual:
        size += f", usually {_count_of(periods[0].usual)}"
    return f"{watch.corpus}, {days}: {size}"


def lead(watch, periods):
    """Return a sentence with the number of headlines, or why there are none."""
    proven, gates = [one for one in periods if not one.unproven], watch.settings["gates"]
    if not proven:
        before = (one.documents for one in watch.periods if 0 < one.t < periods[-1].t)
        scored = watch.scored + sum(before)
        need = f"alerts begin when {watch.settings['warm_up']} documents were scored"
        return f"Unproven: {need}, and {scored:,} were scored before this. Nothing here was tested."
    counts = [len(one.headlines if gates else one.novel) for one in proven]
    noun, span = "headline" if gates else "document", plural(len(proven), "period")
    if len(periods) == 1:
        return f"{plural(counts[0], noun)}." if counts[0] else "Nothing new."
    n_speaking = sum(map(bool, counts))
    return (
        f"{noun.capitalize()}s in {n_speaking} of {span}."
        if n_speaking
        else f"Nothing new in {span}."
    )


def closing(watch, periods):
    """Return the last lines of a list: number of headlines, strongest ones below the bar, and what is held back."""
    proven = [each for each in periods if not each.unproven]
    quiet = [replace(each, headlines=each.below) for each in proven if not each.headlines]
    below, several = rows_of(quiet)[:BELOW_SHOWN], len(periods) > 1
    lines = [lead(watch, periods)]
    if 0 < len(proven) < len(periods):
        n = len(periods) - len(proven)
        lines.append(
            f"The first {plural(n, 'period')} {'are' if n > 1 else 'is'} unproven and without alerts."
        )
    lines += ["Not unusual here (all of them: odl new FOLDER --below):"] if below else []
    lines += [f"- {row.name}: {row.documents}" + f" ({row.date})" * several for row in below]
    lines += [f"Held back: {what}." for what in held_back(proven)]
    return [*lines, *watch.verdict_lines]


def held_back(periods):
    """Return a phrase for each reason why documents or headlines of periods are not shown."""
    withheld: Counter = Counter()
    for entry in (entry for each in periods for entry in each.withheld):
        withheld[entry.what, entry.verdict] += entry.items
    return [
        f"{plural(count, 'document')} {UNREAD_PHRASES[verdict]}"
        if verdict in UNREAD_PHRASES
        else f"{plural(count, 'headline')} of {what} ({verdict} in feedback.csv)"
        if what.startswith(("event:", "topic:", "source:"))
        else f"document {what} ({verdict} in feedback.csv)"
        for (what, verdict), count in withheld.items()
    ]


def list_of(watch, periods):
    """Return the view of a list of periods (`ListView`)."""
    unproven, gates = periods[-1].unproven, watch.settings["gates"]
    scored = [each for each in periods if each.t] or periods  # no score is of the first batch
    rows = rows_of(with_below(scored))[:BELOW_SHOWN] if unproven else rows_of(periods)
    chosen = scored if unproven else [each for each in periods if not (gates or each.unproven)]
    novel = [DocumentView(each.documents_of[row], each) for each in chosen for row in each.novel]
    if unproven:
        novel = sorted(novel, key=lambda view: -view.document.score)[:UNPROVEN_SHOWN]
    rows = [row._replace(link=watch.link_of(row.headline.event)) for row in rows]
    title = "Most novel documents" + " (unproven)" * unproven
    return ListView(heading(watch, periods), rows, title, novel, closing(watch, periods))


def as_text(watch, periods):
    """Return a list as text for standard output (`styled_text`), in colours if that is a terminal."""
    return terminal.for_stream(styled_text(watch, periods))


def styled_text(watch, periods):
    """Return a list as text with codes of colours: a table of headlines, the first ones in detail, closing lines."""
    if not periods:
        return ""
    view, columns = list_of(watch, periods), terminal_width()
    novel = [line for one in view.novel for line in _document_lines(one, columns)]
    parts = [wrapped(view.heading, columns), _table(view.rows, columns)]
    parts += [_details(row, columns) for row in view.rows[:HEADLINES_DETAILED]]
    if view.rows[HEADLINES_DETAILED:]:
        parts += [[f"Details of the first {HEADLINES_DETAILED}. Of any event: {EXPLAIN} NUMBER"]]
        moved = [f"{row.name}: {row.moved}" for row in view.rows[HEADLINES_DETAILED:] if row.moved]
        parts += [[line for text in moved for line in fitted(text, columns)]]
    parts += [[view.novel_title, *novel]] if novel else []
    parts += [[line for text in view.closing for line in fitted(text, columns)]]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def lines_of(watch, period):
    """Return a line for each headline of a period, with its first example, or one that says that nothing is new."""
    view, day = list_of(watch, [period]), date_of_period(period)
    if period.unproven or not (view.rows or view.novel):
        return f"{day}  {lead(watch, [period])} {plural(period.documents, 'document')}."
    lines = []
    for row in view.rows:
        example = [f"“{isolated(one.title)}”" for one in row.examples[:1] if row.headline.name]
        name, facts = (
            styled(row.name, "bold"),
            row.facts.replace(row.headline.state, styled_state(row.headline.state), 1),
        )
        lines.append("  ".join([day, f"{name} ({facts})", *example]))
    return "\n".join([*lines, *(f"{day}  {isolated(one.title)}" for one in view.novel)])


def terminal_width():
    """Return the width of a text: that of the terminal, at most `TEXT_COLUMNS`."""
    return min(TEXT_COLUMNS, shutil.get_terminal_size((TEXT_COLUMNS, 24)).columns)


def printed(template, names, macro, *values):
    """Return a macro of a template filled in, its lines wrapped for the terminal.

    Parameters
    ----------
    template : str
        File in this folder.
    names : dict of str to object
        Functions and constants that the template uses, next to this module as ``show``.
    macro : str
    *values
        Arguments of the macro.
    """
    columns = terminal_width()
    module = _TEMPLATES.get_template(template).make_module(names | {"columns": columns})
    lines = getattr(module, macro)(*values).rstrip("\n").split("\n")
    return terminal.for_stream("\n".join(part for line in lines for part in fitted(line, columns)))


def fitted(line, columns):
    """Return a line wrapped with a hanging indent; a line with a command stays whole, its FOLDER is filled in later."""
    indent = " " * (2 + len(line) - len(line.lstrip()))
    options = {"subsequent_indent": indent, "break_long_words": False, "break_on_hyphens": False}
    return [line] if not line or "FOLDER" in line else wrapped(line, columns, **options)


def _table(rows, columns):
    """Return the table of rows as lines; a narrow terminal gets fewer columns (`DROP_ORDER`)."""
    if not rows:
        return []
    table = [dict(zip(COLUMNS, COLUMNS, strict=True)), *(row.cells for row in rows)]
    sizes = dict(zip(COLUMNS, widths([row.values() for row in table]), strict=True))
    shown, (least, most) = [*COLUMNS[:-1]], NAME_COLUMNS
    longest = max([least, *(width(row.name) for row in rows if row.headline.name)])

    def room():
        return columns - sum(sizes[name] + 2 for name in shown)

    sizes["headline"] = max(least, min(most, longest, sizes["headline"] + room() + 2))
    for name in DROP_ORDER:
        if room() + 2 < 0:
            shown.remove(name)
    if room() < EXAMPLE_COLUMNS:  # too few columns for an example: names get them
        sizes["headline"] = max(sizes["headline"], min(longest, sizes["headline"] + room() + 2))
    else:
        sizes["example"] = room()
        shown.append("example")
    right = {at for at, name in enumerate(shown) if name in COUNT_COLUMNS}
    cells = [[row[name] for name in shown] for row in table]
    lines = table_lines(cells, [sizes[name] for name in shown], right)
    head, *body = [shortened(line, columns) for line in lines]
    return [styled(head, "faint"), *body]


def _details(row, columns):
    """Return a headline with its first examples as lines; no lines for a volume, which has no examples."""
    one, shown = row.headline, row.examples[:EXAMPLES_SHOWN]
    if one.gate == "volume":
        return []
    name = row.name if one.name else "a document that stands alone"
    about = f" (event {one.event}, {styled_state(one.state)})" * bool(one.event)
    lines = [shortened(f"{row.date}  {styled(name, 'bold')}{about}", columns)]
    lines += [f"  {FORM_NOTE}"] if one.form else []
    lines += fitted(f"  {row.moved}", columns) if row.moved else []
    also = [
        f"also {date_of_period(t)}, {name_of(other, t)}: {other.size:,}, {other.state}"
        for t, other in row.others
    ]
    lines += [f"  {shortened(line, columns - 2)}" for line in also]
    lines += [line for view in shown for line in _document_lines(view, columns)]
    more, hint = one.size - len(shown), f": {EXPLAIN} {one.event}" if one.event else ""
    return lines + [f"    {more:,} more{hint}"] * (more > 0)


def _document_lines(view, columns):
    """Return a document as lines of a terminal: title, excerpt, words of its headline, reasons, id and origin."""
    one, notes = view.document, "".join(f" ({note})" for note in view.notes)
    title, text = view.texts(columns - 4 - len(notes))
    facts = [f"{OPENING_LABEL}: {view.opening}"] * bool(view.opening) + [f"because: {view.because}"]
    facts = [
        "      " + ISOLATED.sub(lambda phrase: phrase[0].replace(" ", "\xa0"), fact)
        for fact in facts
    ]
    place = ", ".join(filter(None, [*view.place, one.url]))
    known = f"id: {one.id}" + f"  ({place})" * bool(place)
    return [
        f"    {isolated(_bold(title, view))}{notes}",
        *passage(view, text, 6, columns),
        *(line.replace("\xa0", " ") for fact in facts for line in fitted(fact, columns)),
        styled(shortened(f"      {known}", max(columns, len(one.id) + 12)), "faint"),
    ]


def passage(view, text, indent, columns):
    """Return a text of a document as indented lines of a terminal."""
    return [
        " " * indent + isolated(_bold(line, view), text) for line in wrapped(text, columns - indent)
    ]


def _bold(line, view):
    """Return a line of a document's text with its words in bold."""
    return view.marked(line, lambda text, is_word: styled(text, "bold") if is_word else text)


def as_markdown(watch, periods):
    """Return a list as Markdown for a comment or a mail; texts of the documents are escaped."""
    if not periods:
        return ""
    macros = _TEMPLATES.get_template("show.jinja").module
    return macros.markdown(list_of(watch, periods)).rstrip()


def escaped(text):
    """Return a text with Markdown's signs escaped and without mentions of users."""
    return MARKDOWN.sub(r"\\\1", text).replace("@", "@&#8203;")


def _linked(view):
    """Return the title of a document in Markdown: words in bold, linked to its address."""
    title = view.marked(
        view.title, lambda text, is_word: f"**{escaped(text)}**" if is_word else escaped(text)
    )
    return f"[{title}](<{view.document.url}>)" if LINK.fullmatch(view.document.url) else title


def as_slack(watch, periods):
    """Return a list as JSON for an incoming webhook of Slack: a heading, a block per headline, and closing lines."""
    if not periods:
        return ""
    view = list_of(watch, periods)
    texts = [
        _section(f"{row.date} {row.name}", row.examples[:EXAMPLES_SHOWN], _slack_facts(row))
        for row in view.rows
    ]
    texts += [_section(view.novel_title, view.novel)] if view.novel else []
    room = min(bisect([*accumulate(map(len, texts))], SLACK_MESSAGE), SLACK_BLOCKS)
    more = [f"{len(texts) - room} more: odl new"] * (len(texts) > room)
    blocks = [
        {"type": "section", "text": {"type": "mrkdwn", "text": text}}
        for text in [_section(view.heading), *texts[:room], *more]
    ]
    last = {"type": "mrkdwn", "text": _plain("\n".join(view.closing))[:SLACK_TEXT]}
    blocks += [{"type": "context", "elements": [last]}]
    return json.dumps({"text": view.heading, "blocks": blocks}, ensure_ascii=False)


def _section(title, views=(), *facts):
    """Return the text of a block of Slack: a title, facts, and titles of documents."""
    return "\n".join([f"*{_plain(title)}*", *facts, *map(_bullet, views)])[:SLACK_TEXT]


def _slack_facts(row):
    """Return the facts of a headline for Slack, its event linked if the address of the page is known."""
    facts, event = _plain(row.facts), f"event {row.headline.event}"
    return (
        facts.replace(event, f"<{row.link.replace('&', '&amp;')}|{event}>", 1)
        if row.link
        else facts
    )


def _plain(text):
    """Return a text without signs that Slack would take for a link, a mention or markup."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([*_~`])", "\\1\u200b", text)


def _bullet(view):
    title, url = _plain(view.title), view.document.url
    return "• " + (f"<{url}|{title}>" if LINK.fullmatch(url) else title)


_TEMPLATES = templates.environment(os.path.dirname(__file__))
_TEMPLATES.filters |= {"isolated": isolated, "escaped": escaped, "linked": _linked}
_TEMPLATES.filters |= {"styled": styled, "styled_state": styled_state}
_TEMPLATES.globals |= {"show": sys.modules[__name__], "padded": padded, "shortened": shortened}
