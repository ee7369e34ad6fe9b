"""Forms in which what is new leaves: text for a terminal, JSON lines, CSV, Markdown, a message of Slack."""

import csv
import io
import json
import os
import re
import sys
import textwrap
import unicodedata
from bisect import bisect
from collections import Counter
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from urllib.parse import quote

from odl.alerts import breakdown, excerpts, spans
from odl.alerts.folding import FOLDED
from odl.alerts.model import NONE, VERSION
from odl.errors import ParameterError
from odl.files.documents import NO_TIME
from odl.files.escaping import guarded, isolated

WIDTH = 110
MOST = 40  # items of no topic that are shown as text where there are several periods
WORD = 30  # characters of a word that a title cuts, at most
BECAUSE = "      because: "
JOINER, EMOJI = "\u200d", "\ufe0f"  # joins pictures to one; asks for the picture of the sign before it
PRIVATE = 0x100000  # first sign of the last plane of private use
OPENING = "more than usual"  # of the words that opened the gate
UNSAID = {
    "empty": "without a word",
    "repeated": "nearly the same as one of an earlier period",
    "copies": "nearly the same as one another, unusual but within chance",
}
INNER = ("t", "line", "led", "phrases")  # of an alert, which its map has otherwise or not
BLOCKS, CHARACTERS = 50, 2000  # of a message of Slack, and of a text in it, which may have 3000
WHOLE = 9000  # characters of its sections; Slack refuses messages from about 13,000 on
APART = re.compile("\u2068[^\u2069]*\u2069")  # what is isolated stays in one line
MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~<>&]|(?<!\w)-|-(?!\w))")  # no hyphen within a word or a date
COLUMNS = (
    "period", "first", "last", "rank", "id", "members", "title", "time", "source", "line", "url", "score", "tail",
    "topic", "topic_name", "state", "folded", "reasons", "own", "context", "nearest", "feedback", "gate", "opening",
)  # fmt: skip


def name_of(parts):
    """Return the name of a topic from its parts."""
    return ", ".join(map(isolated, parts))


def date_of(time, exact=False):
    """Return a time as text, empty where it is unknown; a day, or to the second."""
    if time == NO_TIME:
        return ""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(time))
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if exact else moment.strftime("%Y-%m-%d")


def urn(watch, kind="", what=""):
    """Return the name of a stream, or of a topic or a document of it, that never changes."""
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


def as_map(alert, period, earlier=None):
    """Return an alert as a map of version 1; fields are only ever added."""
    told = {field.name: getattr(alert, field.name) for field in fields(alert) if field.name not in INNER}
    told |= {name: told[name] or None for name in ("url", "topic", "text", "feedback", "gate")}
    return _head(period) | told | {
        "time": date_of(alert.time, exact=True) or None,
        "source": {"file": alert.source or None, "line": alert.line or None},
        "topic_name": ", ".join(alert.topic_name) or None,
        "reasons": [[reason.word, reason.share] for reason in alert.reasons],
        "rest": vars(alert.rest) if alert.rest else None,
        "parts": [[part.kind, part.label, part.percent] for part in breakdown.parts(alert)],
        "nearest": [vars(near) | {"topic": near.topic or None, "id": near.id or None} for near in alert.nearest],
        "earlier": earlier,
    }  # fmt: skip


def period_map(period):
    """Return a period as a map of version 1."""
    alerts = [as_map(alert, period) for alert in period.alerts]
    return {**_head(period), "documents": period.documents, "warm_up": period.warm_up, "alerts": alerts}


def _head(period):
    first, last = (date_of(time, exact=True) or None for time in (period.first, period.last))
    return {"version": VERSION, "period": period.t, "first": first, "last": last}


def topic_map(watch, number):
    """Return a topic as a map of version 1."""
    topic = watch.topics[number]
    kept = {name: getattr(topic, name) for name in ("state", "birth", "history", "representative", "title")}
    sizes, alerts = ({str(t): n for t, n in sorted(counts.items())} for counts in (topic.sizes, topic.alerts))
    named = {"version": VERSION, "topic": number, "topic_name": ", ".join(topic.name)}
    return named | kept | {"sizes": sizes, "alerts": alerts, "feedback": topic.feedback or None}


def as_jsonl(watch, periods):
    """Return a line of JSON for each alert, folded ones included."""
    maps = [as_map(alert, period) for period in periods for alert in period.alerts]
    return "\n".join(json.dumps(entry, ensure_ascii=False) for entry in maps)


def as_csv(watch, periods):
    """Return the alerts as a table, its text `guarded`; lists are separated by spaces, ids by tabs."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    for period in periods:
        for alert in period.alerts:
            row = as_map(alert, period)
            row |= {"source": alert.source, "line": alert.line or "", "members": "\t".join(alert.members)}
            row["reasons"] = " ".join(f"{reason.word}:{reason.share:.4f}" for reason in alert.reasons)
            row["opening"] = " ".join(alert.opening)
            row["nearest"] = " ".join(alert.nearest[0].words) if alert.nearest else ""
            table.writerow({name: guarded(row[name]) for name in COLUMNS})
    return text.getvalue().rstrip("\n")


def as_text(watch, periods):
    """Return the alerts as a person reads them: of several periods one list, topics first."""
    if not periods:
        return ""
    lines, of_topics = [heading(watch, periods), ""], any(alert.topic for each in periods for alert in each.alerts)
    for number, alerts in by_topic(periods):
        shown = [alert for alert in alerts if not alert.folded]
        if number:
            lines.append(topic_line(watch.topics[number], periods))
            shown = sorted(shown, key=lambda alert: alert.rank)[:FOLDED]
            more = f"(odl explain FOLDER {number})"
        else:
            lines.append("Alone" if of_topics else "Items")
            shown, more = shown[:MOST] if len(periods) > 1 else shown, "(--format jsonl has all)"
        lines += [line for alert in shown for line in _item(alert)]
        rest = len(alerts) - len(shown)
        lines += [f"    and {rest} more {more}"] * (rest > 0) + [""]
    return "\n".join([*lines, *closing(watch, periods)]).rstrip("\n")


def days_of(periods):
    """Return the first and the last day of periods, empty where they are unknown."""
    dated = [each for each in periods if each.first != NO_TIME]
    ends = [date_of(min(each.first for each in dated)), date_of(max(each.last for each in dated))] if dated else []
    return " to ".join(dict.fromkeys(ends))


def heading(watch, periods):
    """Return what one or several periods are, in a line."""
    numbers = " to ".join(str(t) for t in dict.fromkeys([periods[0].t, periods[-1].t]))
    parts = [watch.corpus, f"period{'s' * (len(periods) > 1)} {numbers}", days_of(periods)]
    return f"{', '.join(filter(None, parts))}: {plural(sum(each.documents for each in periods), 'document')}"


def topic_line(topic, periods):
    """Return name, number, state and sizes of a topic in these periods."""
    first, last = periods[0].t, periods[-1].t
    state = topic.state_at(last)
    state = f"new, {state}" if first <= topic.birth and state != "new" else state
    now, past = topic.before(last + 1) - topic.before(first), topic.before(first)
    size = plural(now, "document") + (f", {past} before" if past else "")
    return f"Topic {topic.number} [{state}] {name_of(topic.name)} ({size})"


def plural(count, noun):
    """Return a count with its noun."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def closing(watch, periods):
    """Return what is to be known of one or several periods beside their alerts, a line each."""
    scored, last = [each for each in periods if not each.warm_up], periods[-1]
    if not scored:
        seen, need = watch.scored_before(last.t), watch.settings["warm_up"]
        short = "For a short stream write warm_up: 100 into alerts of odl.yaml." if 100 <= seen < need else ""
        todo = short or "More documents bring them, or shorter periods (batches in odl.yaml)."
        return [f"Warm-up: {plural(seen, 'document')} scored before this period; alerts need {need}. {todo}"]
    alerts, n = [alert for each in scored for alert in each.alerts], len(scored)
    if len(periods) > 1:
        speaking = sum(bool(each.alerts) for each in scored)
        lines = [f"{plural(len(alerts), 'alert')}, in {speaking} of {plural(n, 'period')}."]
        lines = lines if alerts else [f"Nothing new in {plural(n, 'period')}."]
    else:
        folded = sum(alert.folded for alert in alerts)
        under = f", {folded} of them folded under topics and items of their kind" * (folded > 0)
        items = f"{last.items} items" + " (near-duplicates counted once)" * (last.items < last.documents)
        lines = [f"{plural(len(alerts), 'alert')} of {items}{under}; room for {last.budget}."]
        lines = lines if alerts else ["Nothing new."]
    if n < len(periods):
        lines.append(f"Warm-up before them: {len(periods) - n} of the periods (alerts.warm_up).")
    return lines + [f"Held back: {said}." for said in held_back(scored)]


def held_back(periods):
    """Return what periods hold back, in words."""
    withheld = Counter()
    for entry in (entry for each in periods for entry in each.withheld):
        withheld[entry.what, entry.verdict] += entry.items
    return [
        f"{plural(count, 'document')} {UNSAID[verdict]}" + f": {what}" * bool(what)
        if verdict in UNSAID
        else f"{plural(count, 'item')} of {what} ({verdict} in feedback.csv)"
        for (what, verdict), count in withheld.items()
    ]


def next_in_line(watch, periods):
    """Return how to see what is next in line, "" where there are alerts or none could be."""
    silent = not any(each.alerts for each in periods) and any(not each.warm_up for each in periods)
    return "odl new FOLDER --budget 40 shows what is next in line." if silent and watch.settings["gates"] else ""


def place(alert):
    """Return date, source and address of a document, as far as they are known."""
    return ", ".join(filter(None, [*where(alert), alert.url]))


def where(alert):
    """Return date, and file and line of a document, as far as they are known and not its id."""
    source = alert.source + (f":{alert.line}" if alert.source and alert.line else "")
    return [part for part in (date_of(alert.time), source) if part not in ("", alert.id)]


def by_topic(periods):
    """Return (number, alerts) of periods, the last first: topics by their most novel item, items without one last."""
    groups = {}
    for alert in (alert for each in reversed(periods) for alert in each.alerts):
        groups.setdefault(alert.topic, []).append(alert)
    return sorted(groups.items(), key=lambda group: (group[0] == NONE, min(alert.rank for alert in group[1])))


def _item(alert):
    marks = f" (+ {len(alert.members) - 1} alike)" if len(alert.members) > 1 else ""
    marks += " [followed]" if alert.feedback == "follow" else ""
    where, (title, text) = place(alert), titled(alert, WIDTH - 6 - len(marks))
    return [
        f"{alert.rank:4d}  {isolated(_marked(title, alert))}{marks}",
        *passage(alert, text, 6),
        *_because(alert),
        f"      id: {alert.id}" + (f"  ({where})" if where else ""),
    ]


def reason_words(alert):
    """Return the words that are marked in the text of an item: those that its reasons name or that opened the gate."""
    own = [reason.word for reason in alert.reasons[alert.led :] if reason.share > 0]
    return [*(reason.word for reason in breakdown.told(alert)), *own[: breakdown.OWN], *alert.opening]


def titled(alert, most=sys.maxsize):
    """Return the title of an item in at most so many columns, and its excerpt, from there on if it begins so."""
    title, text = shortened(alert.title or alert.id, most), alert.text
    if not (alert.title and text and (alert.title.startswith(text.strip("…")) or text.startswith(alert.title))):
        return title, text
    whole, cut = max(alert.title, text, key=len), title != alert.title
    at = len(title) - cut
    begin = whole.rfind(" ", 0, at) + 1
    if whole[at : at + 1].strip() and at - begin <= WORD:  # a title that is the beginning of a text may end in a word
        at, cut = begin, True
    rest = whole[at:].strip()
    return title, "…" * (cut and bool(rest)) + rest


def passage(alert, text, indent):
    """Return a text of an item as lines of a terminal."""
    return [" " * indent + isolated(_marked(line, alert), text) for line in wrapped(text, WIDTH - indent)]


def _marked(line, alert):
    """Return a line of an item's text, its reason words bold on a terminal."""
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return excerpts.marked(line, reason_words(alert), _bold) if bold else line


def _bold(text, is_word):
    return f"\x1b[1m{text}\x1b[22m" if is_word else text


def _strong(text, is_word):
    return f"**{escaped(text)}**" if is_word else escaped(text)


def _because(alert):
    """Return the reasons, and the words that made the period speak, as lines of a terminal."""
    text = APART.sub(lambda phrase: phrase[0].replace(" ", "\xa0"), breakdown.line(alert, space="\xa0"))
    lines = wrapped(text, WIDTH - len(BECAUSE), break_on_hyphens=False)
    lines = [(" " * len(BECAUSE) if at else BECAUSE) + line.replace("\xa0", " ") for at, line in enumerate(lines)]
    words = ", ".join(map(isolated, breakdown.opening(alert)))
    return lines + [shortened(f"      {OPENING}: {words}", WIDTH)] * bool(words)


def wrapped(text, width, **options):
    """Return a text in lines of at most so many columns of a terminal."""
    clusters: list[list] = []  # a sign with those that take no column of their own, and the columns of all
    lead = ""  # such signs at the beginning of a word
    for sign, columns in zip(text, _columns(text), strict=True):
        if columns and not (sign == EMOJI and clusters):
            clusters.append([lead + sign, columns])
            lead = ""
        elif clusters and not clusters[-1][0].isspace():
            clusters[-1] = [clusters[-1][0] + sign, clusters[-1][1] + columns]
        else:
            lead += sign
    clusters += [[lead, 1]] * bool(lead)
    # One sign of private use stands for a cluster of several, and zeros for its further columns.
    marks = {cluster: chr(PRIVATE + place) for place, cluster in enumerate(
        dict.fromkeys(cluster for cluster, _ in clusters if len(cluster) > 1 or cluster >= chr(PRIVATE))
    )}  # fmt: skip
    wide = "".join(marks.get(cluster, cluster) + "\0" * (columns - 1) for cluster, columns in clusters)
    back = str.maketrans({"\0": "", **{mark: cluster for cluster, mark in marks.items()}})
    return [line.translate(back) for line in textwrap.wrap(wide, width, **options)]


def _columns(text):
    """Return how many columns of a terminal each sign takes.

    An East Asian one has two; a mark that is put on the sign before it, and what only joins or selects forms, has none.
    An emoji with a skin colour, or joined to another, has the columns of the first; so has a pair of flag letters.
    """
    if text.isascii():
        return [1] * len(text)
    columns, joined, flag = [], False, False
    for sign in text:
        width = _width(sign)
        is_flag = "\U0001f1e6" <= sign <= "\U0001f1ff"
        if (joined and unicodedata.category(sign) == "So") or "\U0001f3fb" <= sign <= "\U0001f3ff":
            width = 0
        elif is_flag:
            width = 0 if flag else 2
        if sign == EMOJI and columns and sum(columns[-1:]) == 1:  # the sign before it is shown as a picture
            width = 1
        joined, flag = sign == JOINER, is_flag and not flag
        columns.append(width)
    return columns


def _width(sign):
    """Return how many columns of a terminal a sign takes by itself."""
    category = unicodedata.category(sign)
    if category in ("Mn", "Me", "Cf") or "\u1160" <= sign <= "\u11ff":  # also vowels and ends of a syllable of Hangul
        return sign == "\xad"  # a soft hyphen is printed
    return 1 + (unicodedata.east_asian_width(sign) in "WF")


def shortened(text, width):
    """Return a text in at most so many columns of a terminal, cut between words where more than half of it is left."""
    ends = [*accumulate(_columns(text), initial=0)]
    if ends[-1] <= width:
        return text
    room = bisect(ends, width - 1)  # one more than the letters that leave a column for the sign of the cut
    last = text.rfind(" ", 0, room)
    cut = text[: last if 2 * last > room else room - 1].rstrip()
    return cut + "…" + "\u2069" * (cut.count("\u2068") - cut.count("\u2069"))


def as_markdown(watch, periods):
    """Return the alerts as Markdown, for a comment or a mail; text of the documents is escaped."""
    lines = []
    for period in periods:
        lines += [f"### {escaped(heading(watch, [period]))}", ""]
        for number, alerts in by_topic([period]):
            if number:
                lines += [f"**{escaped(topic_line(watch.topics[number], [period]))}**", ""]
            for alert in [alert for alert in alerts if not alert.folded]:
                more = f" (+ {len(alert.members) - 1} alike)" if len(alert.members) > 1 else ""
                where = place(alert)
                lines.append(f"{alert.rank}. {_linked(alert)}{more}  ")
                if text := titled(alert)[1]:
                    told = excerpts.marked(text, reason_words(alert), _strong)
                    lines.append(f"   {told}  ")
                lines.append(f"   because: {escaped(breakdown.line(alert))}  ")
                if words := ", ".join(breakdown.opening(alert)):
                    lines.append(f"   {OPENING}: {escaped(words)}  ")
                lines.append(f"   {escaped(alert.id)}" + (f" ({escaped(where)})" if where else ""))
            folded = sum(alert.folded for alert in alerts)
            lines += [f"   and {folded} more"] * (folded > 0) + [""]
        lines += [escaped(line) + "  " for line in closing(watch, [period])] + [""]
    return "\n".join(lines).rstrip("\n")


def escaped(text):
    """Return text in which Markdown finds no markup and no one is mentioned."""
    return MARKUP.sub(r"\\\1", text).replace("@", "@&#8203;")


def _linked(alert):
    title = excerpts.marked(alert.title or alert.id, reason_words(alert), _strong)
    if not re.fullmatch(r"https?://[^\s<>]+", alert.url):
        return title
    return f"[{title}](<{alert.url}>)"


def as_slack(watch, periods):
    """Return the alerts as JSON for an incoming webhook: a heading, a block a topic or lone alert, and what else is."""
    if not periods:
        return ""
    sections = []
    for number, alerts in by_topic(periods):
        shown = [alert for alert in alerts if not alert.folded]
        if number:
            lines = [f"*{_plain(topic_line(watch.topics[number], periods))}*", *map(_told, shown[:FOLDED])]
            sections.append("\n".join(lines))
        else:
            sections += map(_told, shown)
    room = sum(size <= WHOLE for size in accumulate(min(len(text), CHARACTERS) for text in sections))
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


def _told(alert):
    title = _plain(alert.title or alert.id)
    if re.fullmatch(r"https?://[^\s<>|]+", alert.url):
        title = f"<{alert.url}|{title}>"
    return f"• {title}\n   because: {_plain(breakdown.line(alert))}\n   {_plain(alert.id)}"


def _block(text):
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:CHARACTERS]}}


SHOWN = {"text": as_text, "jsonl": as_jsonl, "csv": as_csv, "md": as_markdown, "slack": as_slack}
