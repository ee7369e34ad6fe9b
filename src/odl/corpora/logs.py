"""Parsing of logs: joining of lines that a container runtime split, and times of lines."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from odl.corpora import times
from odl.corpora.checks import MAX_LINE, Unreadable
from odl.files.escaping import without_ansi

# Direction marks and a byte order mark, which chat exports write before a time.
DIRECTION_MARKS = "\u200e\u200f\u202a\u202b\u202c\ufeff"
MAX_LEADING_LINES = 10_000  # lines above the first time in a log that get this time
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
# A time without a year: "Jan  6 10:00:00" in syslog, "01-06 10:00:00.5", or "0106 10:00:00.5" in
# glog, where a letter for the log level precedes the time.
YEARLESS_PATTERN = (
    rf"(?:[IWEFD](?=\d{{4}} ))?(?P<yearless>{MONTH_PATTERN} +\d{{1,2}} \d\d:\d\d:\d\d(?:\.\d+)?"
    r"|\d{4} \d\d:\d\d:\d\d\.\d+|\d\d-\d\d \d\d:\d\d:\d\d\.\d+)"
)
YEARLESS_DAYS = ("%Y %b %d", "%Y %m%d", "%Y %m-%d")  # formats of strptime for a year and such a day
GLOG_PATTERN = r"[IWEFD]?(?P<glog>\d{8} \d\d:\d\d:\d\d(?:\.\d+)?)"
AFTER_TIME = r"[\])]?[\s:,|-]*"
TIME_STAMP = re.compile(
    rf"{BEFORE_TIME}(?:(?P<whole>{'|'.join(TIME_PATTERNS)})|{GLOG_PATTERN}|{YEARLESS_PATTERN})"
    rf"{AFTER_TIME}"
)
# The time in logs of web servers.
WEB_SERVER_TIME = re.compile(
    rf"\[(?P<whole>\d\d/{MONTH_PATTERN}/\d{{4}}:\d\d:\d\d:\d\d [+-]\d{{4}})\]\s*"
)
LOGFMT_TIME = re.compile(
    r"(?:^|(?<=\s))(?:time|ts|t|timestamp|datetime|date|at|asctime)="
    r"(?:\"(?P<quoted>\d[^\"]{7,})\"|(?P<whole>\d[^\s;,]{7,}))\s*"
)
# A time after one or two words at the start of a line, as in logs of load balancers and Redis.
TIME_AFTER_WORDS = re.compile(
    r"\S{1,40} (?:\S{1,40} )?"
    rf"[\[(]?(?P<whole>{TIME_PATTERNS[0]}|{TIME_PATTERNS[2]}){AFTER_TIME}"
)
LTSV_TIME = re.compile(r"(?:^|\t)time:\[?(?P<whole>[^\t\]]{8,})\]?(?:\t|$)")
CONTAINER_STREAM = re.compile(r"(?:stdout|stderr) [FP] ")
MESSAGE_KEYS = ("message", "msg", "log", "text", "event", "body", "short_message")
TIME_KEYS = ("time", "timestamp", "@timestamp", "ts", "t", "datetime", "date", "asctime")
# Prefix of each log line of containerd and CRI-O. The tag is P if the line continues, else F.
CRI_LINE = re.compile(r"(?P<prefix>\S+ (?P<stream>stdout|stderr) )(?P<tag>[FP])(?::\S*)? ")
# The beginning of a log line of Docker, and a substring that only a complete line has.
DOCKER_START, DOCKER_END = '{"log":"', r'\n","stream":"'
DOCKER_BYTES = 1 << 14  # number of bytes after which Docker splits a line


def join_split_lines(lines: Iterable[tuple]) -> Iterator[tuple]:
    """Yield (number, line) after joining the lines that a container runtime has split.

    A joined line has the number of its first part. containerd and CRI-O mark the parts. Docker does
    not mark them, but ends the text of a complete line with a line break. A text of Docker without
    a line break is a part if it has the length at which Docker splits, or if an earlier text had a
    line break. If no text has a line break, another program may have written the file.

    Parameters
    ----------
    lines : iterable of (int, str or Unreadable)

    Examples
    --------
    >>> from odl.corpora.logs import join_split_lines
    >>> time = "2026-01-05T00:00:00Z"
    >>> lines = [(1, f"{time} stdout P disk "), (2, f"{time} stdout F full")]
    >>> list(join_split_lines(lines))
    [(1, '2026-01-05T00:00:00Z stdout F disk full')]
    """
    unfinished: dict = {}  # stream -> (number of the first part, prefix, texts)
    docker_writes_breaks = is_part = False
    for number, line in lines:
        cri = CRI_LINE.match(line)
        if cri:
            is_part = cri["tag"] == "P"
        elif line.startswith(DOCKER_START):
            has_break = DOCKER_END in line
            docker_writes_breaks |= has_break
            is_part = not has_break and (docker_writes_breaks or len(line) > DOCKER_BYTES)
        else:
            is_part = False
        stream = None
        if (is_part or unfinished) and not isinstance(line, Unreadable):
            stream, prefix, text = _split_container_line(line, cri)
        if stream is None or not (is_part or stream in unfinished):
            yield number, line
            continue
        first, prefix, texts = unfinished.pop(stream, (number, prefix, []))
        texts.append(text)
        if is_part and sum(map(len, texts)) < MAX_LINE:
            unfinished[stream] = first, prefix, texts
        else:
            yield first, _join_texts(prefix, texts)
    for first, prefix, texts in unfinished.values():
        yield first, _join_texts(prefix, texts)


def _split_container_line(line, cri):
    """Split a container's log line into (stream, prefix, text); all are None for other lines.

    In a line of CRI-O and containerd, the prefix precedes the text; its tag is replaced by F. In a
    line of Docker, the prefix is the parsed object, whose key "log" contains the text. `cri` is the
    match of `CRI_LINE`, or None.
    """
    if cri:
        return cri["stream"], f"{cri['prefix']}F ", line[cri.end() :].rstrip("\r\n")
    try:
        row = json.loads(line)
        is_text = isinstance(row["log"] + row["stream"], str)
    except (ValueError, TypeError, KeyError, RecursionError):
        is_text = False
    return (row["stream"], row, row["log"]) if is_text else (None, None, None)


def _join_texts(prefix, texts):
    """Return one log line with the joined texts, and with a prefix of `_split_container_line`."""
    text = "".join(texts)
    return prefix + text if isinstance(prefix, str) else json.dumps({**prefix, "log": text})


def rows(
    lines: Iterable[tuple[str, str]], latest: datetime | None, formats: tuple = ()
) -> Iterator[tuple]:
    """Yield (location, row) for each line that is not blank.

    A line without a time gets the time of the line before it. Up to `MAX_LEADING_LINES` lines above
    the first line with a time get that time. Each line of a stack trace is a document too: a watch
    scores a line before the next one arrives.

    Parameters
    ----------
    lines : iterable of (str, str or Unreadable)
        Location and text of each line.
    latest : datetime, optional
        Latest possible moment of times without a year. Without it, such times are ignored.
    formats : sequence of str
        Formats of `datetime.strptime` that are tried first at the beginning of each line.
    """
    own_pattern = None
    if formats:
        own_pattern = re.compile(
            rf"{BEFORE_TIME}(?P<whole>{times.pattern_of(formats)}){AFTER_TIME}"
        )
    # Rows above the first line with a time; None after they were yielded.
    waiting: list | None = []
    time, is_time_after_words = None, None
    for location, line in lines:
        if isinstance(line, Unreadable):
            yield location, line
            continue
        text = without_ansi(line).strip().lstrip(DIRECTION_MARKS)
        if not text:
            continue
        if is_time_after_words is None:  # the first line decides for all lines
            is_time_after_words = TIME_AFTER_WORDS.match(text) is not None
        line_time, text = split(text, latest, own_pattern, formats, is_time_after_words)
        time = line_time or time
        row = {"id": None, "time": time, "text": text, "title": text}
        if waiting is None:
            yield location, row
            continue
        waiting.append((location, row))
        if time is not None or len(waiting) > MAX_LEADING_LINES:
            yield from ((location, {**row, "time": time}) for location, row in waiting)
            waiting = None
    yield from waiting or ()


def split(text, latest=None, own_pattern=None, formats=(), is_time_after_words=False):
    """Split a log line; return (time or None, text without the time).

    Parameters
    ----------
    text : str
        A line without outer white space.
    latest, formats
        As in `rows`.
    own_pattern : re.Pattern, optional
        Matches the start of a line with a time in one of `formats`.
    is_time_after_words : bool
        Whether the time may follow one or two words.
    """
    stamp = (
        (own_pattern and own_pattern.match(text))
        or TIME_STAMP.match(text)
        or ("time:" in text and LTSV_TIME.search(text))
        or WEB_SERVER_TIME.search(text)
        or LOGFMT_TIME.search(text)
        or (is_time_after_words and TIME_AFTER_WORDS.match(text))
    )
    time = None
    if stamp:
        time = _time_of(stamp, latest, formats if stamp.re is own_pattern else ())
    if time is not None:
        begin = stamp.start("whole") if stamp.re is TIME_AFTER_WORDS else stamp.start()
        level = stamp.groupdict().get("level") or ""
        text = text[:begin] + level + text[stamp.end() :] or text
    if text.startswith("std"):
        text = CONTAINER_STREAM.sub("", text, count=1)
    if text.startswith("{") and text.endswith("}"):
        return _from_json(text, time)
    return time, text


def _time_of(stamp, latest, formats):
    """Return the time in a match of a time pattern as a text, or None if it is not valid."""
    groups = stamp.groupdict()
    if formats:
        return _time_in_formats(groups["whole"], latest, formats)
    if complete_time := groups.get("quoted") or groups.get("glog") or groups["whole"]:
        return complete_time
    day, _, clock = groups["yearless"].rpartition(" ")
    for day_format in YEARLESS_DAYS:
        moment = _parse(f"2000 {day}", day_format)
        if moment is not None and latest is not None:
            return f"{_with_year(moment, latest):%Y-%m-%d} {clock}"
    return None


def _time_in_formats(text, latest, formats):
    """Parse a time by the first strptime format that fits; return it in ISO 8601, or None."""
    for time_format in formats:
        has_year = any(directive in time_format for directive in ("%Y", "%y", "%G"))
        if has_year and (moment := _parse(text, time_format)):
            return moment.isoformat()
        # Without a year, strptime would use 1900, which has no 29 February.
        if not has_year and latest and (moment := _parse(f"2000 {text}", f"%Y {time_format}")):
            return _with_year(moment, latest).isoformat()
    return None


def _parse(text, time_format):
    """Parse a text by a strptime format; return a datetime, or None if the format does not fit."""
    try:
        return datetime.strptime(text, time_format)
    except ValueError:
        return None


def _with_year(moment, latest):
    """Replace the year of a moment by the last year in which the moment is not after `latest`."""
    for year in range(latest.year, latest.year - 9, -1):
        try:
            dated = moment.replace(year=year)
        except ValueError:  # 29 February does not exist in this year
            continue
        if dated.replace(tzinfo=UTC) <= latest:
            return dated
    return moment


def _from_json(text, time):
    """Return (time, message) for a log line that is a JSON object.

    `time` is used if it is not None, else the time in the object. The message of an object without
    a message is the entire line.
    """
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return time, text
    if time is None:
        times_of_row = (
            row[name] for name in TIME_KEYS if isinstance(row.get(name), str | int | float)
        )
        time = next(times_of_row, None)
    for name in MESSAGE_KEYS:
        if isinstance(row.get(name), str) and row[name].strip():
            return time, row[name].strip()
    return time, text


def latest_of(day=None, modified=None):
    """Return the latest possible moment of times without a year in a log, or None.

    The day in a file's name may be the first or the last day of the log, so the latest moment is 32
    days later. Without such a day, it is one day after the modification time.

    Parameters
    ----------
    day : str, optional
        Day or month in the name of the file, in ISO 8601.
    modified : float, optional
        Modification time, in seconds since 1970.
    """
    if day is not None:
        begin = datetime.fromisoformat(day if len(day) > 7 else f"{day}-01").replace(tzinfo=UTC)
        return begin + timedelta(days=32)
    return None if modified is None else datetime.fromtimestamp(modified, UTC) + timedelta(days=1)


def lacks_year(lines: Iterable[str]) -> str | None:
    """Return the first time without a year if most times in the lines lack the year, else None."""
    stamps = []
    for line in lines:
        if stamp := TIME_STAMP.match(without_ansi(line).strip().lstrip(DIRECTION_MARKS)):
            stamps.append(stamp)
    yearless = [stamp["yearless"] for stamp in stamps if stamp["yearless"]]
    return " ".join(yearless[0].split()) if 2 * len(yearless) > len(stamps) else None
