"""Lists of what is new: one view of a headline, a document and a period; as text of a terminal, Markdown and Slack."""

import json
import math
import os
import re
import shutil
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import quote

from odl.alerts import breakdown, excerpts, spans
from odl.alerts.model import RARELY, Headline, Period
from odl.errors import ParameterError
from odl.files.columns import padded, shortened, wrapped
from odl.files.documents import NO_TIME
from odl.files.escaping import isolated

WIDTH = 110  # columns of a text at most
LISTED, DETAILED = 3, 10  # documents of a headline, and headlines, that are shown in full
BELOW = 5  # headlines below the bar that are named
NOVEL = 5  # documents that are shown of unproven periods
NAME, EXAMPLE = (20, 44), 16  # columns of names in a table, at least and at most; of an example at least
WORDS = 4.0  # log10 of the words of a period: the largest of so many t is rarer by it than one t
WORD = 30  # characters of a word that a title cuts, at most
OPENING = "more than usual"  # words of a headline
UNSAID = {"empty": "without a word", "repeated": "nearly the same as one of an earlier period"}
FORM = "Nearly all documents have these new words: their form has changed."
BLOCKS, CHARACTERS = 50, 2000  # of a Slack message, and of a text in it, which may have 3000
MESSAGE = 9000  # characters of its sections; Slack refuses messages from about 13,000 on
APART = re.compile("\u2068[^\u2069]*\u2069")  # an isolated text stays in one line
MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~<>&]|(?<!\w)-|-(?!\w))")  # no hyphen within a word or a date


class Row(NamedTuple):
    """A headline in a list; all headlines of one event are one row, under the strongest.

    Attributes
    ----------
    period : odl.alerts.model.Period
    headline : odl.alerts.model.Headline
    others : tuple of (Period, Headline)
        Further headlines of the same event, by time.
    """

    period: Period
    headline: Headline
    others: tuple = ()

    @property
    def examples(self):
        """Its documents that are stored, the most central first."""
        return [self.period.documents_of[row] for row in self.headline.examples]

    @property
    def date(self):
        """Date of its period, or first and last date."""
        return date_of_period(self.period)

    @property
    def name(self):
        """Its name: its words, "volume", or the title of a document that stands alone."""
        return name_of(self.headline, self.period)

    @property
    def example(self):
        """Title of its most central document; empty if that is its name."""
        return isolated(self.examples[0].title or self.examples[0].id) if self.headline.name and self.examples else ""

    @property
    def usual(self):
        """How many such documents a period usually has, as text; empty for a document that stands alone."""
        unknown = self.headline.gate == "lone" or math.isnan(self.headline.usual)
        return "" if unknown else count_of(self.headline.usual)

    @property
    def documents(self):
        """How many documents it is about, and how many there usually are, in words."""
        return plural(self.headline.size, "document") + (f", usually {self.usual}" if self.usual else "")

    @property
    def chance(self):
        """How often chance brings such a headline, in short."""
        if self.period.unproven:
            return "unproven"
        if self.headline.gate == "certain":
            return "certain"
        recurrence = self.headline.recurrence
        return f"1 in {recurrence:,}" + "+" * (recurrence >= RARELY) if recurrence > 1 else "usual"

    @property
    def facts(self):
        """Event with its state in this period, documents, recurrence: a line below the name."""
        one, chance = self.headline, self.chance
        event = f"event {one.event}, {one.state}" if one.event else ""
        recurrence = chance.replace("1 in", "by chance once in") + " periods" * chance.startswith("1 in")
        return "; ".join(filter(None, [event, self.documents, recurrence]))


def rows_of(periods):
    """Return the headlines of periods as rows, the largest evidence first; documents that stand alone come last."""
    groups: dict[Any, list] = {}
    for period in periods:
        for place, headline in enumerate(period.headlines):
            groups.setdefault(headline.event or (period.t, place), []).append((period, headline))
    rows = []
    for group in groups.values():
        best = max(group, key=lambda pair: evidence(pair[1]))
        rows.append(Row(*best, tuple(pair for pair in group if pair is not best)))
    return sorted(rows, key=lambda row: (row.headline.gate == "lone", -evidence(row.headline), -row.period.t))


def evidence(headline):
    """Return the evidence of a headline, by which it is sorted: t of words, and what is as rare among periods."""
    return headline.t or WORDS - math.log10(max(headline.p, 1e-300))


def with_below(periods):
    """Return periods whose headlines include those below the bar."""
    return tuple(replace(period, headlines=(*period.headlines, *period.below)) for period in periods)


def name_of(headline, period=None):
    """Return the name of a headline or an event."""
    if not headline.name:
        document = period.documents_of[headline.rows[0]] if period else None
        return isolated(document.title or document.id) if document else "documents"
    if headline.name[0] == "volume" and getattr(headline, "gate", "") == "volume":
        return " of ".join(map(isolated, headline.name))
    return ", ".join(map(isolated, headline.name))


def count_of(value):
    """Return a usual number of documents as text."""
    return f"{value:,.0f}" if value >= 1 or not value else "<1"


def plural(count, noun):
    """Return a count with its noun."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def date_of(time, exact=False):
    """Return a time as text, empty where it is unknown; a day, or to the second."""
    if time == NO_TIME:
        return ""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(time))
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if exact else moment.strftime("%Y-%m-%d")


def date_of_period(period):
    """Return the date of a period; first and last date in short; its number if the documents have no dates."""
    first, last = date_of(period.first), date_of(period.last)
    if not first:
        return f"period {period.t}"
    same = next((n for n in (10, 8, 5) if first[:n] == last[:n]), 0)
    return first if same == 10 else f"{first} to {last[same:]}"


def days_of(periods):
    """Return the first and the last day of periods, empty where they are unknown."""
    dated = [each for each in periods if each.first != NO_TIME]
    ends = [date_of(min(each.first for each in dated)), date_of(max(each.last for each in dated))] if dated else []
    return " to ".join(dict.fromkeys(ends))


def urn(watch, kind="", what=""):
    """Return the name of a stream, or of an event or a document of it, that never changes."""
    return ":".join(["urn:odl", quote(watch.corpus), *([kind, quote(str(what), safe="")] if kind else [])])


def since(watch, text=None, until=None):
    """Return the periods that have a time from the begin of one span on, up to the end of another (`spans.parse`).

    Without a begin the last one of them.

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
        raise ParameterError(f"{option} for documents without dates", "documents with dates", "leave it out")
    if start is not None and end is not None and end <= start:
        raise ParameterError(f"{option} --until {until}", "an end that is not before the begin", "correct one of them")
    dated = (period for period in watch.periods if period.last != NO_TIME)
    found = tuple(one for one in dated if (end is None or one.first < end) and (start is None or one.last >= start))
    return found[-1:] if text is None else found


def heading(watch, periods):
    """Return stream, dates and number of documents of one or several periods, in a line."""
    numbers = " to ".join(str(t) for t in dict.fromkeys([periods[0].t, periods[-1].t]))
    days = days_of(periods) or f"period{'s' * (len(periods) > 1)} {numbers}"
    size = plural(sum(each.documents for each in periods), "document")
    if len(periods) > 1:
        size += f" in {plural(len(periods), 'period')}"
    elif periods[0].usual:
        size += f", usually {count_of(periods[0].usual)}"
    return f"{watch.corpus}, {days}: {size}"


def closing(watch, periods):
    """Return what is to be known of periods beside their headlines, a line each."""
    proven, last = [each for each in periods if not each.unproven], periods[-1]
    if not proven:
        scored = watch.scored + sum(each.documents for each in watch.periods if 0 < each.t < last.t)
        need = f"alerts need {watch.settings['warm_up']}"
        return [f"Unproven: {plural(scored, 'document')} scored before, {need}. Nothing of this was tested."]
    rows, noun = rows_of(proven), "headline" if watch.settings["gates"] else "document"
    n = len(rows) if watch.settings["gates"] else sum(len(each.novel) for each in proven)
    speaking = sum(bool(each.headlines or (each.novel and noun == "document")) for each in proven)
    several = len(proven) > 1
    line = f"{plural(n, noun)} in {speaking} of {len(proven)} periods." if several else f"{plural(n, noun)}."
    lines = [line if n else "Nothing new" + f" in {plural(len(proven), 'period')}" * several + "."]
    if len(proven) < len(periods):
        lines.append(f"Unproven, so without alerts: the first {len(periods) - len(proven)} of the periods.")
    quiet = [replace(each, headlines=each.below) for each in proven if not each.headlines]
    below = [f"{row.name}, {row.documents}" + f" ({row.date})" * several for row in rows_of(quiet)[:BELOW]]
    lines += ["Not unusual here: " + "; ".join(below) + ". `odl new FOLDER --below` shows them."] if below else []
    return lines + [f"Held back: {said}." for said in held_back(proven)]


def held_back(periods):
    """Return what periods hold back, in words."""
    withheld: Counter = Counter()
    nouns = "document", "headline"
    for entry in (entry for each in periods for entry in each.withheld):
        withheld[entry.what, entry.verdict] += entry.items
    return [
        f"{plural(count, 'document')} {UNSAID[verdict]}" + f": {what}" * bool(what)
        if verdict in UNSAID
        else f"{plural(count, nouns[what.startswith('event:')])} of {what} ({verdict} in feedback.csv)"
        for (what, verdict), count in withheld.items()
    ]


def novel_of(watch, periods):
    """Return (title, documents) of the documents that are listed by novelty: unproven ones, alerts without gates."""
    if periods[-1].unproven:
        documents = [each.documents_of[row] for each in scored(periods) for row in each.novel]
        return "Most novel documents (unproven)", sorted(documents, key=lambda one: -one.score)[:NOVEL]
    chosen = [each for each in periods if not each.unproven and not watch.settings["gates"]]
    return "Most novel documents", [each.documents_of[row] for each in chosen for row in each.novel]


def scored(periods):
    """Return periods without the first batch, which had nothing before it, if there are others."""
    return [each for each in periods if each.t] or [*periods]


def listed(watch, periods):
    """Return the rows of a list; of unproven periods alone, their strongest words."""
    return rows_of(with_below(scored(periods)))[:BELOW] if periods[-1].unproven else rows_of(periods)


def as_text(watch, periods):
    """Return a table of the headlines of periods, the first of them in full, and what else is to be known."""
    if not periods:
        return ""
    columns = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    rows, (title, novel) = listed(watch, periods), novel_of(watch, periods)
    lines = [*wrapped(heading(watch, periods), columns), ""]
    lines += [*_table(rows, columns), ""] if rows else []
    for row in rows[:DETAILED]:
        lines += [*_details(row, columns), ""]
    if rows[DETAILED:]:
        lines += ["Shown in full: the first 10. `odl explain FOLDER NUMBER` shows an event.", ""]
    if novel:
        lines += [title, *(line for one in novel for line in _document(one, columns)), ""]
    for line in closing(watch, periods):  # a command stays in one line
        command = line.replace("odl new FOLDER", "odl\xa0new\xa0FOLDER")
        lines += [part.replace("\xa0", " ") for part in wrapped(command, columns)]
    return "\n".join(lines)


def _table(rows, columns):
    """Return the table of some headlines as lines; in a narrow terminal it has fewer columns."""
    titles, right = (
        ["date", "event", "headline", "documents", "usually", "by chance"],
        {"event", "documents", "usually"},
    )
    table = [
        [row.date, str(row.headline.event or ""), row.name, f"{row.headline.size:,}", row.usual, row.chance]
        for row in rows
    ]
    names = [len(row.name) for row in rows if row.headline.name]
    sizes = [max(map(len, cells)) for cells in zip(titles, *table, strict=True)]
    shown, (least, most) = [*range(len(titles))], NAME
    sizes[2] = max(least, min([most, max([least, *names]), columns - sum(sizes) + sizes[2] - 2 * (len(sizes) - 1)]))
    for spare in (1, 5, 4):
        if sum(sizes[at] + 2 for at in shown) - 2 > columns:
            shown.remove(spare)
    room = columns - sum(sizes[at] + 2 for at in shown)
    lines = []
    for cells, row in zip([titles, *table], [None, *rows], strict=True):
        line = "  ".join(padded(cells[at], sizes[at], titles[at] in right) for at in shown)
        example = "example" if row is None else row.example
        lines.append((f"{line}  {shortened(example, room)}" if room >= EXAMPLE else shortened(line, columns)).rstrip())
    return lines


def _details(row, columns):
    """Return a headline with its first documents as lines."""
    one, shown = row.headline, row.examples[:LISTED]
    lines = [shortened(f"{row.date}  {row.name}", columns), *wrapped(row.facts, columns - 2)]
    lines += [FORM] if one.form else []
    also = [f"also {date_of_period(t)}, {name_of(other, t)}: {other.size:,}, {other.state}" for t, other in row.others]
    lines += [shortened(line, columns - 2) for line in also]
    lines[1:] = [f"  {line}" for line in lines[1:]]
    if one.gate == "volume":  # no document stands for a day's number of documents
        return lines
    lines += [line for document in shown for line in _document(document, columns)]
    more, hint = one.size - len(shown), f" (odl explain FOLDER {one.event})" if one.event else ""
    return lines + [f"    and {more:,} more{hint}"] * (more > 0)


def place(document):
    """Return date, source and address of a document, as far as they are known."""
    return ", ".join(filter(None, [*where(document), document.url]))


def where(document):
    """Return date, and file and line of a document, as far as they are known and not its id."""
    source = document.source + (f":{document.line}" if document.source and document.line else "")
    return [part for part in (date_of(document.time), source) if part not in ("", document.id)]


def _document(document, columns):
    marks = f" (+ {len(document.members) - 1} alike)" if len(document.members) > 1 else ""
    marks += " [followed]" if document.feedback == "follow" else ""
    title, text = titled(document, columns - 4 - len(marks))
    because = breakdown.line(document, space="\xa0", short=True)
    because = APART.sub(lambda phrase: phrase[0].replace(" ", "\xa0"), because)
    told = [f"because: {because}"] + [f"{OPENING}: {words}" for words in [opening(document)] if words]
    lines = [line.replace("\xa0", " ") for text in told for line in wrapped(text, columns - 6, subsequent_indent="  ")]
    where = place(document)
    return [
        f"    {isolated(_marked(title, document))}{marks}",
        *passage(document, text, 6, columns),
        *(f"      {line}" for line in lines),
        shortened(f"      id: {document.id}" + (f"  ({where})" if where else ""), max(columns, len(document.id) + 12)),
    ]


def opening(document):
    """Return the words of its headline that a document has."""
    return ", ".join(map(isolated, breakdown.opening(document)))


def reason_words(document):
    """Return the words that are marked in the text of a document: named reasons and words of its headline."""
    own = [reason.word for reason in document.reasons[document.led :] if reason.share > 0]
    return [*(reason.word for reason in breakdown.told(document)), *own[: breakdown.OWN], *document.opening]


def titled(document, most=sys.maxsize):
    """Return the title of a document in at most so many columns, and its excerpt without what the title shows."""
    title, text = shortened(document.title or document.id, most), document.text
    known = document.title
    if not (known and text and (known.startswith(text.strip("…")) or text.startswith(known))):
        return title, text
    longer, cut = max(known, text, key=len), title != known
    at = len(title) - cut
    begin = longer.rfind(" ", 0, at) + 1
    if longer[at : at + 1].strip() and at - begin <= WORD:  # a title that is the beginning of a text may end in a word
        at, cut = begin, True
    rest = longer[at:].strip()
    return title, "…" * (cut and bool(rest)) + rest


def passage(document, text, indent, columns=WIDTH):
    """Return a text of a document as lines of a terminal."""
    return [" " * indent + isolated(_marked(line, document), text) for line in wrapped(text, columns - indent)]


def _marked(line, document):
    """Return a line of a document's text, its reason words bold on a terminal."""
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return excerpts.marked(line, reason_words(document), _bold) if bold else line


def _bold(text, is_word):
    return f"\x1b[1m{text}\x1b[22m" if is_word else text


def _strong(text, is_word):
    return f"**{escaped(text)}**" if is_word else escaped(text)


def as_markdown(watch, periods):
    """Return the headlines as a table in Markdown, for a comment or a mail; text of the documents is escaped."""
    if not periods:
        return ""
    lines, rows, (title, novel) = (
        [f"### {escaped(heading(watch, periods))}", ""],
        listed(watch, periods),
        novel_of(watch, periods),
    )
    if rows:
        lines += ["| date | headline | documents | usually | by chance | example |", "|---|---|--:|--:|---|---|"]
    for row in rows:
        one = row.headline
        event = f" (event {one.event}, {one.state})" if one.event else ""
        example = _linked(row.examples[0]) if row.examples else ""
        name = "document" if not one.name else f"**{escaped(row.name)}**{event}" + " (new form)" * one.form
        lines.append(f"| {row.date} | {name} | {one.size:,} | {escaped(row.usual)} | {row.chance} | {example} |")
    lines += [""] * bool(rows) + ([f"{title}:", ""] if novel else [])
    lines += [f"1. {_linked(one)}" for one in novel] + [""] * bool(novel)
    return "\n".join([*lines, *(escaped(line) + "  " for line in closing(watch, periods))]).rstrip()


def escaped(text):
    """Return text in which Markdown finds no markup and no one is mentioned."""
    return MARKUP.sub(r"\\\1", text).replace("@", "@&#8203;")


def _linked(document):
    title = excerpts.marked(document.title or document.id, reason_words(document), _strong)
    return f"[{title}](<{document.url}>)" if re.fullmatch(r"https?://[^\s<>|]+", document.url) else title


def as_slack(watch, periods):
    """Return the headlines as JSON for an incoming webhook: a heading, a block for each, and what else is known."""
    if not periods:
        return ""
    title, novel = novel_of(watch, periods)
    sections = [
        "\n".join([f"*{row.date} {_plain(row.name)}*", _plain(row.facts), *map(_bullet, row.examples[:LISTED])])
        for row in listed(watch, periods)
    ]
    sections += ["\n".join([f"*{title}*", *map(_bullet, novel)])] if novel else []
    room = sum(size <= MESSAGE for size in accumulate(min(len(text), CHARACTERS) for text in sections))
    room = min(room, BLOCKS - 3)
    more, sections = len(sections) - room, sections[:room]
    blocks = [_block(f"*{_plain(heading(watch, periods))}*"), *map(_block, sections)]
    blocks += [_block(f"and {more} more: odl new")] if more > 0 else []
    last = _plain("\n".join(closing(watch, periods)))
    blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": last[:CHARACTERS]}]})
    return json.dumps({"text": heading(watch, periods), "blocks": blocks}, ensure_ascii=False)


def _plain(text):
    """Return text in which Slack finds no link and no mention, nor stars, underlines and quotes that would mark it."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([*_~`])", "\\1\u200b", text)


def _bullet(document):
    title, url = _plain(document.title or document.id), document.url
    return "• " + (f"<{url}|{title}>" if re.fullmatch(r"https?://[^\s<>|]+", url) else title)


def _block(text):
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:CHARACTERS]}}
