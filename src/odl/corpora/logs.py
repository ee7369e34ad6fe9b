"""Lines of logs: the time at the beginning of each line, and the remaining text."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from odl.corpora import times
from odl.corpora.checks import Unreadable
from odl.files.escaping import without_ansi

# Direction marks, which chat exports write before a time.
DIRECTION_MARKS = "\u200e\u200f\u202a\u202b\u202c\ufeff"
MAX_LEADING_LINES = 10_000  # leading lines without a time that get the first time below them
MONTH_PATTERN = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
ZONE_NAMES = "|".join(
    sorted(times.ZONE_HOURS.keys() - {"Z", "UT", "WET", "MET"}, key=len, reverse=True)
)
CLOCK_PATTERN = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:[ \u00a0\u202f]?[AaPp]\.?[Mm]\b\.?)?"
ZONE_PATTERN = rf"(?: ?(?:Z\b|[+-]\d\d:?\d\d\b)| (?:{ZONE_NAMES})\b)?"
LEVEL_PATTERN = (
    r"trace|debug|info(?:rmation)?|notice|warn(?:ing)?|err(?:or)?|crit(?:ical)?|"
    r"fatal|severe|alert|emerg(?:ency)?|panic"
)
BEFORE_TIME = (
    r"(?:# Time: |Date: +|[\w.-]+ +\| )?(?:<\d{1,3}>\d{0,2} ?)?"
    rf"(?P<level>\[?\b(?i:{LEVEL_PATTERN}|[DIWEF](?=,))\b\]?[\s:,|-]*)?[\[(]?"
)
TIME_PATTERNS = (
    rf"\d{{4}}(?P<sep>[-/.])\d\d(?P=sep)\d\d(?:[T ,_]+{CLOCK_PATTERN}{ZONE_PATTERN})"
    r"(?:\[\w+/\w+\])?",
    r"(?:19|20)\d{6}[T _-]?\d\d:?\d\d:?\d\d(?:[.,]\d+)?Z?(?!\d)",
    rf"(?:[A-Z][a-z]{{2,8}},? )?\d{{1,2}}[ -]{MONTH_PATTERN}[a-z]*[ .,-]+\d{{2,4}}[ ,:T]+"
    rf"{CLOCK_PATTERN}{ZONE_PATTERN}",
    rf"[A-Z][a-z]{{2}},? {MONTH_PATTERN} +\d{{1,2}} {CLOCK_PATTERN}{ZONE_PATTERN} \d{{4}}"
    r"(?: [+-]\d{4}\b)?",
    rf"{MONTH_PATTERN}[a-z]* \d{{1,2}},? \d{{4}},? {CLOCK_PATTERN}{ZONE_PATTERN}",
    rf"\d{{1,2}}(?P<mark>[-/.])\d{{1,2}}(?P=mark)\d{{2,4}}[ ,T]+{CLOCK_PATTERN}{ZONE_PATTERN}",
    r"1\d{9}(?:[.,]\d{1,9}|\d{3}|\d{6}|\d{9})?(?=[\s\]:,|])",
)
YEARLESS_PATTERNS = (
    rf"(?P<name>{MONTH_PATTERN}) +(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?)",
    r"[IWEFD]?(?P<mmdd>\d{4}) (?P<clock2>\d\d:\d\d:\d\d\.\d+)",
    r"(?P<dashed>\d\d-\d\d) (?P<clock3>\d\d:\d\d:\d\d\.\d+)",
)
# Groups of `YEARLESS_PATTERNS` that make up a time, pattern by pattern
YEARLESS_GROUPS = (("name", "day", "clock"), ("mmdd", "clock2"), ("dashed", "clock3"))
GLOG_PATTERN = r"[IWEFD]?(?P<glog>\d{8} \d\d:\d\d:\d\d(?:\.\d+)?)"
AFTER_TIME = r"[\])]?[\s:,|-]*"
TIME_STAMP = re.compile(
    rf"{BEFORE_TIME}(?:(?P<whole>{'|'.join(TIME_PATTERNS)})|{GLOG_PATTERN}"
    rf"|(?:{'|'.join(YEARLESS_PATTERNS)})){AFTER_TIME}"
)
# The time in logs of web servers.
WEB_SERVER_TIME = re.compile(
    rf"\[(?P<whole>\d\d/{MONTH_PATTERN}/\d{{4}}:\d\d:\d\d:\d\d [+-]\d{{4}})\]\s*"
)
LOGFMT_TIME = re.compile(
    r"(?:^|(?<=\s))(?:time|ts|t|timestamp|datetime|date|at|asctime)="
    r"(?:\"(?P<quoted>\d[^\"]{7,})\"|(?P<whole>\d[^\s;,]{7,}))\s*"
)
# The time after one or two words, as in logs of load balancers and Redis.
TIME_AFTER_WORDS = re.compile(
    r"\S{1,40} (?:\S{1,40} )?"
    rf"[\[(]?(?P<whole>{TIME_PATTERNS[0]}|{TIME_PATTERNS[2]}){AFTER_TIME}"
)
LTSV_TIME = re.compile(r"(?:^|\t)time:\[?(?P<whole>[^\t\]]{8,})\]?(?:\t|$)")
CONTAINER_STREAM = re.compile(r"(?:stdout|stderr) [FP] ")
MESSAGE_KEYS = ("message", "msg", "log", "text", "event", "body", "short_message")
TIME_KEYS = ("time", "timestamp", "@timestamp", "ts", "t", "datetime", "date", "asctime")


def rows(
    lines: Iterable[tuple[str, str]], latest: datetime | None, formats: tuple = ()
) -> Iterator[tuple]:
    """Yield (location, row) of each line that is not blank.

    A line without a time gets the time of the line before, or else the first time below it. Each
    line is a document, also in a stack trace, since a watched line must be answered before the next
    one arrives.

    Parameters
    ----------
    lines : iterable of (str, str or Unreadable)
        Location and text of each line.
    latest : datetime, optional
        Latest possible moment of times without a year. Without it, such times are ignored.
    formats : sequence of str
        Formats of `datetime.strptime` that are tried first at the beginning of each line.
    """
    own_pattern = (
        re.compile(rf"{BEFORE_TIME}(?P<whole>{times.pattern_of(formats)}){AFTER_TIME}")
        if formats
        else None
    )
    waiting: list | None = []
    time, after_words = None, None
    for location, line in lines:
        if isinstance(line, Unreadable):
            yield location, line
            continue
        text = without_ansi(line).strip().lstrip(DIRECTION_MARKS)
        if not text:
            continue
        after_words = (
            TIME_AFTER_WORDS.match(text) is not None if after_words is None else after_words
        )
        line_time, text = split(text, latest, own_pattern, formats, after_words)
        time = line_time or time
        row = {"id": None, "time": time, "text": text, "title": text}
        if waiting is None:
            yield location, row
            continue
        waiting.append((location, row))
        if time is not None or len(waiting) > MAX_LEADING_LINES:
            for location_, waiting_row in waiting:
                yield location_, {**waiting_row, "time": time}
            waiting = None
    yield from waiting or ()


def split(text, latest=None, own=None, formats=(), behind=False):
    """Return (time of a line or None, line without it).

    With `behind`, the time may follow one or two words.
    """
    stamp = (
        (own and own.match(text))
        or TIME_STAMP.match(text)
        or ("time:" in text and LTSV_TIME.search(text))
        or WEB_SERVER_TIME.search(text)
        or LOGFMT_TIME.search(text)
    )
    stamp = stamp or (TIME_AFTER_WORDS.match(text) if behind else None)
    time = None
    if stamp:
        time = _time_of(stamp, latest, formats if own and stamp.re is own else ())
        if time is not None:
            begin = stamp.start("whole") if stamp.re is TIME_AFTER_WORDS else stamp.start()
            text = (
                text[:begin] + (stamp.groupdict().get("level") or "") + text[stamp.end() :] or text
            )
    text = CONTAINER_STREAM.sub("", text, count=1) if text.startswith("std") else text
    if text.startswith("{") and text.endswith("}"):
        return _from_json(text, time)
    return time, text


def _time_of(stamp, latest, formats):
    """Return the time that a match of a pattern of times has, as text, or None."""
    groups = stamp.groupdict()
    if formats:
        return _parse_in_formats(groups["whole"], latest, formats)
    if groups.get("glog"):
        return f"{groups['glog'][:8]} {groups['glog'][9:]}"
    if complete_time := groups.get("quoted") or groups["whole"]:
        return complete_time
    month = groups["name"] or (groups["mmdd"] or groups["dashed"])[:2]
    day = groups["day"] or (groups["mmdd"] or groups["dashed"])[-2:]
    moment = _parse(f"2000 {month} {day}", f"%Y {'%b' if groups['name'] else '%m'} %d")
    if latest is None or moment is None:
        return None
    clock = groups["clock"] or groups["clock2"] or groups["clock3"]
    return f"{_with_year(moment, latest):%Y-%m-%d} {clock}"


def _parse_in_formats(text, latest, formats):
    """Return a time in one of the formats of strptime, as ISO 8601."""
    for time_format in formats:
        has_year = any(sign in time_format for sign in ("%Y", "%y", "%G"))
        moment = (
            _parse(text, time_format) if has_year else _parse(f"2000 {text}", f"%Y {time_format}")
        )
        if moment and (has_year or latest):
            return (moment if has_year else _with_year(moment, latest)).isoformat()
    return None


def _parse(text, form):
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None


def _with_year(moment, latest):
    """Return a moment of the year 2000 in the last year in which it is not after `latest`."""
    for year in range(latest.year, latest.year - 9, -1):
        try:
            if (dated := moment.replace(year=year)).replace(tzinfo=UTC) <= latest:
                return dated
        except ValueError:  # 29 February
            continue
    return moment


def _from_json(text, time):
    """Return (time, message) of a line of JSON; without a message, the line itself."""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return time, text
    message = next(
        (
            row[name]
            for name in MESSAGE_KEYS
            if isinstance(row.get(name), str) and row[name].strip()
        ),
        None,
    )
    own_time = next(
        (row[name] for name in TIME_KEYS if isinstance(row.get(name), str | int | float)), None
    )
    return own_time if time is None else time, text if message is None else message.strip()


def latest_of(day=None, modified=None):
    """Return the latest possible moment of times without a year.

    This is 32 days after the day or month in the name of the file, which may be the first or the
    last day of a log; else a day after the last change of the file; else None.
    """
    if day is not None:
        begin = datetime.fromisoformat(day if len(day) > 7 else f"{day}-01").replace(tzinfo=UTC)
        return begin + timedelta(days=32)
    return None if modified is None else datetime.fromtimestamp(modified, UTC) + timedelta(days=1)


def lacks_year(lines: Iterable[str]) -> str | None:
    """Return the first time without a year, if most times in the lines have none; else None."""
    plain_lines = (without_ansi(line).strip().lstrip(DIRECTION_MARKS) for line in lines)
    stamps = [stamp for line in plain_lines if (stamp := TIME_STAMP.match(line))]
    yearless = [stamp for stamp in stamps if not (stamp["whole"] or stamp["glog"])]
    if 2 * len(yearless) <= len(stamps):
        return None
    first = yearless[0]
    groups = next(groups for groups in YEARLESS_GROUPS if first[groups[0]])
    return " ".join(first[group] for group in groups)
