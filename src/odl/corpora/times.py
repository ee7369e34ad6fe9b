"""Parsing of times in many formats, to milliseconds since 1970 (UTC)."""

import contextlib
import re
import unicodedata
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from odl.errors import ConfigError
from odl.files.documents import NO_TIME

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SPREADSHEET_EPOCH = datetime(1899, 12, 30, tzinfo=UTC)  # day 0 of dates in spreadsheets
SPREADSHEET_DAYS = 20_000, 73_051  # smallest day and largest day + 1 since then: 1954 to 2099
# Limits of the absolute value of a number of seconds, milliseconds, microseconds and nanoseconds
# since 1970.
MAX_SECONDS, MAX_MILLISECONDS, MAX_MICROSECONDS, MAX_NANOSECONDS = 10**11, 10**14, 10**17, 10**20
MAX_TIME_LENGTH = 200  # characters of a time; the patterns below are slow on long texts
# Milliseconds since 1970 at the start of year 1 and at the end of year 9999, in UTC.
MIN_TIME, MAX_TIME = -62_135_596_800_000, 253_402_300_800_000
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,2})?")
DECIMAL_COMMA = re.compile(r"\d{5},\d+")  # day number in a spreadsheet, with a decimal comma

# A time written as digits only: 8 for a day, 12 with minutes, 14 with seconds, 17 with
# milliseconds.
COMPACT_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?(\d{3})?)?")
# Dates that databases and programming languages write for a missing time.
ZERO_DATE = re.compile(
    r"0000-00-00.*|0001-01-01(?:[ T]00:00(?::00(?:\.0+)?)?)?(?:Z|[ ]?\+00:?00(?: UTC)?)?"
)
ISO_WITH_ZONE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)")
DATES = ("day-first", "month-first")
YEAR_LAST = re.compile(r"(?P<first>\d{1,2})([./ -])(?P<second>\d{1,2})\2(?P<year>\d{4}|\d{2})")
YEAR_FIRST = re.compile(r"(\d{4}) ?[-/.:年년] ?(\d\d?) ?[-/.:月월] ?(\d\d?)(?: ?[日일.])?")
NET_TICKS = re.compile(r"\\?/Date\((-?\d+)(?:[+-]\d{4})?\)\\?/")
CLOCK_TIME = re.compile(
    r"(?<![\d:.,])(?:\b(?P<before>[AaPp])\.?[Mm]\.?\s+)?(?P<hour>\d{1,2})(?:"
    r"[:hH](?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,:](?P<part>\d{1,9}))?)?"
    r"(?:\s*(?P<half>[AaPp])\.?\s?[Mm]\b\.?)?"
    r"|\s*(?P<alone>[AaPp])\.?\s?[Mm]\b(?!\.?\s+\d{1,2}:)\.?)"
)
DOTTED_CLOCK = re.compile(
    r"(?<=[\s,])(?P<hour>\d{1,2})\.(?P<minute>\d\d)(?:\.(?P<second>\d\d))?"
    r"(?:\s*(?P<half>[AaPp])[Mm])?$"
)
ZONE_OFFSET = re.compile(r"(?:^|(?<=[A-Za-z\s]))([+-])(\d{1,2})(?::?(\d\d))?(?::?\d\d)?(?!\d)")
# A remark after the zone: a name in parentheses, or the monotonic clock of Go.
ZONE_REMARK = re.compile(r"\s*(?:\([^()]*\)|m=[+-][\d.]+)$")
# The name of a zone, such as Europe/Zurich, with or without brackets.
ZONE_NAME = re.compile(r"\s*(?:\[([A-Z]\w+(?:/[\w+-]+)*)\]|(?<=\s)([A-Z]\w+(?:/[\w+-]+)+))$")


def _colons(match):
    """Rewrite a matched Chinese, Japanese or Korean time of day as hours:minutes:seconds."""
    return f"{match[1]}:{match[2]:0>2}:{match[3] or '':0>2}"


NORMAL_FORMS = (  # (pattern, replacement) for less usual forms of dates and clocks
    (re.compile(r"(\d{8})[ T_-]?(\d\d):?(\d\d):?(\d\d)(?!\d)"), r"\1 \2:\3:\4"),
    (re.compile(r"^(\d{4})(\d\d)(\d\d)(?=[ T])"), r"\1-\2-\3"),
    (re.compile(r"(\d{4}-\d\d-\d\d)-(\d\d)\.(\d\d)\.(\d\d)"), r"\1 \2:\3:\4"),
    (re.compile(r"(\d{4}):(?=\d\d:\d\d:\d\d)"), r"\1 "),  # logs of web servers
    (re.compile(r"(\d)T(?=\d)|(?<=\d) @ (?=\d)"), r"\1 "),  # 2026-01-05T10:00, 2026-01-05 @ 10:00
    (
        re.compile(
            r"\(?[月火水木金土日월화수목금토일](?:曜日?|요일)?\)(?=\s)|(?:星期|周)[一二三四五六日]"
        ),
        "",
    ),
    (re.compile(r"\s*(?:上午|午前|오전)\s*"), " AM "),
    (re.compile(r"\s*(?:下午|午後|오후)\s*"), " PM "),
    (re.compile(r"(\d)\s?[时時点點시]\s?(\d{1,2})\s?[分분](?:\s?(\d{1,2})\s?[秒초])?"), _colons),
)
LETTER_RUN = re.compile(r"[^\W\d_]+")
MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DATE_FILLERS = {"at", "of", "on", "the", "st", "nd", "rd", "th"}
ZONE_HOURS = {
    "Z": 0, "UT": 0, "UTC": 0, "GMT": 0, "WET": 0, "CET": 1, "CEST": 2,
    "MET": 1, "MEST": 2, "MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3, "MSK": 3,
    "JST": 9, "KST": 9, "HKT": 8, "AWST": 8, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip
DIRECTIVE_PATTERNS = {  # directive of strptime -> pattern
    **dict.fromkeys("dmHIMSUWV", r"\d{1,2}"), **dict.fromkeys("bBaAp", r"[^\W\d_]+\.?"),
    "Y": r"\d{4}", "G": r"\d{4}", "y": r"\d\d", "j": r"\d{1,3}", "f": r"\d{1,6}",
    "u": r"\d", "w": r"\d", "Z": r"[A-Za-z]+", "%": "%",
    "z": r"(?:Z|[+-]\d\d:?\d\d(?::?\d\d)?)",
}  # fmt: skip
MAIL_DATE = re.compile(  # date of RFC 2822 in its usual form, as in most mail and feeds
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?(\d{1,2}) "
    r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4}) "
    r"(\d\d):(\d\d):(\d\d) (?:([+-]\d\d)(\d\d)|GMT|UTC?)"
)
MONTH_NUMBERS = {name[:3].title(): number for number, name in enumerate(MONTH_NAMES, 1)}
FORMAT_SCHEMA = {
    "type": ["string", "array", "null"],
    "items": {"type": "string"},
    "minLength": 1,
    "minItems": 1,
}
TIME_FORMAT_ADVICE = (
    "the option time_format (--time-format) sets the format of times, such as '%d.%m.%Y %H:%M'"
)


def missing(value):
    """Return whether a value is None, an empty string or NaN."""
    return value is None or value == "" or value != value


def parse_time(value, dates=None, formats=()):
    """Return a time as milliseconds since 1970-01-01 UTC, rounded down; `NO_TIME` if missing.

    A string is ISO 8601, or a date with an optional clock (24 or 12 hours) and zone, as mail,
    databases, programming languages and spreadsheets write them. The month is a number or a name. A
    time without a zone is UTC. A zero date (0000-00-00, 0001-01-01T00:00:00Z) is missing.

    The meaning of a number, or of a string of digits, depends on its number of digits:

    - 4: a year
    - 5: a day in a spreadsheet
    - 8: a day (YYYYMMDD)
    - 12, 14 or 17, beginning with 19 or 20: a day with a clock
    - otherwise: seconds, milliseconds, microseconds or nanoseconds since 1970

    Parameters
    ----------
    value : str, number, date, datetime or None
    dates : {"day-first", "month-first"}, optional
        Order of day and month if the year comes last; required if both orders are possible.
    formats : sequence of str, optional
        Formats of `datetime.strptime`. If given, strings and numbers must fit one of them, or be
        ISO 8601 with a zone.
    """
    if missing(value):
        return NO_TIME
    if isinstance(value, str):
        value = value.strip()
        if len(value) > MAX_TIME_LENGTH:
            raise ValueError(
                f"the time {value[:40]!r}... has {len(value)} characters, too many for a date"
            )
        value = _in_ascii(value)
        if not value or (value.startswith("000") and ZERO_DATE.fullmatch(value)):
            return NO_TIME
    moment = _moment_of(value, dates, formats)
    if isinstance(moment, datetime):
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        moment = (moment - EPOCH) // timedelta(milliseconds=1)
    if not MIN_TIME <= moment < MAX_TIME:
        raise ValueError(f"the time {str(value)!r} is outside the years 1 to 9999 in UTC")
    return moment


def _moment_of(value, dates, formats):
    """Convert a value to a datetime or to milliseconds since 1970; see `parse_time`."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"the time {value!r} is neither a date nor a number of seconds")
    text = str(value)
    if formats:
        return _by_formats(text, formats)
    if NUMBER.fullmatch(text):
        return _from_digits(text)
    if DECIMAL_COMMA.fullmatch(text):
        return _from_digits(text.replace(",", "."))
    return _from_text(text, dates)


def check_formats(option):
    """Return the formats of the option ``time_format`` (a string, a list or None) as a tuple.

    Raises
    ------
    ConfigError
        If a directive is unknown.
    """
    formats = tuple([option] if isinstance(option, str) else option or ())
    for time_format in formats:
        directives = re.findall(r"%(.?)", time_format)
        unknown = [sign for sign in directives if sign not in DIRECTIVE_PATTERNS]
        if unknown or not directives:
            raise ConfigError(
                f"time_format is {time_format!r}",
                "directives of Python's strptime, such as '%d.%m.%Y %H:%M:%S %z'",
                f"correct {'%' + ''.join(unknown[:1])!r}",
            )
    return formats


def pattern_of(formats):
    """Return a regular expression for the times that fit one of the formats."""
    patterns = []
    for time_format in formats:
        pattern = ""
        for literal, directive, space in re.findall(r"([^%\s]+)|%(.)|(\s+)", time_format):
            if literal:
                pattern += re.escape(literal)
            else:
                pattern += r"\s+" if space else DIRECTIVE_PATTERNS[directive]
        patterns.append(pattern)
    return "|".join(patterns)


def _by_formats(text, formats):
    """Parse a text by the first format that fits; accept ISO 8601 with a zone too."""
    for time_format in formats:
        with contextlib.suppress(ValueError):
            return datetime.strptime(text, time_format)
    if ISO_WITH_ZONE.fullmatch(text):
        return _from_text(text, None)
    raise ValueError(f"the time {text!r} does not fit time_format {', '.join(map(repr, formats))}")


def _in_ascii(text):
    """Return a date with ASCII digits and without direction marks."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text).translate({0x200E: None, 0x200F: None, 0x2212: "-"})
    return "".join(str(unicodedata.decimal(sign, sign)) for sign in text).strip()


def _from_digits(text):
    """Convert the digits of a number to a datetime, or to milliseconds since 1970."""
    digits = format(Decimal(text), "f") if "e" in text.lower() else text
    compact = COMPACT_TIME.fullmatch(digits) if len(digits) in (8, 12, 14, 17) else None
    try:
        if len(digits) == 4 and digits.isdigit():
            return datetime(int(digits), 1, 1)
        if compact and (len(digits) == 8 or digits[:2] in ("19", "20")):
            *parts, thousandths = (int(part or 0) for part in compact.groups())
            return datetime(*parts, thousandths * 1000)
    except ValueError as error:
        if len(digits) < 12:
            raise ValueError(f"the time {text!r} is neither a year nor a day YYYYMMDD") from error
    integer_part, _, fraction = digits.partition(".")
    number = int(integer_part)
    if SPREADSHEET_DAYS[0] <= number < SPREADSHEET_DAYS[1] and not digits.startswith("-"):
        milliseconds = (SPREADSHEET_EPOCH - EPOCH) // timedelta(milliseconds=1)
        return round(Decimal(digits) * 86_400_000) + milliseconds
    if 10**8 <= abs(number) < MAX_SECONDS:
        thousandths = int(f"{fraction:0<3}"[:3])
        return number * 1000 + (-thousandths if number < 0 else thousandths)
    if MAX_SECONDS <= abs(number) < MAX_MILLISECONDS:
        return number
    if MAX_MILLISECONDS <= abs(number) < MAX_MICROSECONDS:
        return number // 1000
    if MAX_MICROSECONDS <= abs(number) < MAX_NANOSECONDS:
        return number // 1_000_000
    raise ValueError(
        f"the time {text!r} is not a year, a day YYYYMMDD, or seconds since 1970; "
        f"{TIME_FORMAT_ADVICE}"
    )


def _from_text(text, dates):
    """Parse a time in one of the built-in forms; return a datetime, or milliseconds since 1970."""
    mail_date = MAIL_DATE.fullmatch(text)
    if mail_date and (moment := _from_mail(*mail_date.groups())):
        return moment
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(text)
    if month := re.fullmatch(r"(\d{4})-(0[1-9]|1[0-2])", text):
        return datetime(int(month[1]), int(month[2]), 1)
    if ticks := NET_TICKS.fullmatch(text):
        return int(ticks[1])
    day, clock, zone = _split(text)
    try:
        year, month, day = _day_of(text, day, dates)
        return datetime(year, month, day, tzinfo=zone) + clock
    except (ValueError, OverflowError) as error:
        if str(error).startswith("the time"):
            raise
        order = f" that is {dates}: correct it, or the option dates" if dates else f": {error}"
        raise ValueError(f"the time {text!r} is not a date{order}") from error


def _from_mail(day, month, year, hour, minute, second, hours, minutes):
    """Convert the groups of `MAIL_DATE` to a datetime, or to None if it does not exist.

    Python has no datetime for a leap second (second 60).
    """
    year, month, day = int(year), MONTH_NUMBERS[month], int(day)
    zone = UTC
    with contextlib.suppress(ValueError):
        if hours:
            zone = timezone(timedelta(minutes=60 * int(hours) + int(hours[0] + minutes)))
        return datetime(year, month, day, int(hour), int(minute), int(second), tzinfo=zone)
    return None


def _split(text):
    """Split a text into date, time of day and time zone.

    Returns
    -------
    day : str
        The text without clock, zone, weekdays and fillers such as "of".
    clock : timedelta
        Time since midnight; 0 if the text has no clock.
    zone : tzinfo or None
        None if the text has no zone.

    Raises
    ------
    ValueError
        If the clock or the zone does not exist, or the abbreviation of the zone is ambiguous.
    """
    remaining, zone = ZONE_REMARK.sub("", text), None
    if region := ZONE_NAME.search(remaining):
        remaining = remaining[: region.start()]
        zone = _region(text, region[1] or region[2])
    for form, replacement in NORMAL_FORMS:
        remaining = form.sub(replacement, remaining)
    clock, match = timedelta(), CLOCK_TIME.search(remaining) or DOTTED_CLOCK.search(remaining)
    if match:
        after_clock = remaining[match.end() :]
        if offset := ZONE_OFFSET.search(after_clock):
            sign, hours, minutes = offset.groups("0")
            zone = _zone(text, int(f"{sign}1") * (60 * int(hours) + int(minutes)))
            after_clock = after_clock[: offset.start()] + " " + after_clock[offset.end() :]
        clock, remaining = _clock(text, match), remaining[: match.start()] + " " + after_clock
    for word in LETTER_RUN.findall(remaining):
        if word in ZONE_HOURS:
            zone = _zone(text, 60 * ZONE_HOURS[word]) if zone is None else zone
        elif not _is_filler(word):
            if not (match and _may_be_zone(word)):
                continue  # the name of a month, or an unknown word, which `_day_of` refuses
            if zone is None:
                raise ValueError(
                    f"the time {text!r} has the zone {word}, which has several meanings or none"
                )
        remaining = re.sub(rf"(?<![^\W\d_]){word}(?![^\W\d_])\.?", " ", remaining, count=1)
    return remaining.strip(" ,.\t\n"), clock, zone


def _is_filler(word):
    """Return whether a word in a date is a weekday or a filler such as "of"."""
    lower = word.lower()
    _, weekdays, fillers = _names()
    if len(word) > 1 and any(name.startswith(lower) for name in WEEKDAY_NAMES):
        return True
    return lower in weekdays or lower in DATE_FILLERS or lower in fillers


def _may_be_zone(word):
    """Return whether a word looks like the abbreviation of a time zone."""
    is_abbreviation = 2 < len(word) < 6 and word.isupper() and word.isascii()
    return is_abbreviation and _month(word) is None


def _region(text, name):
    """Return the time zone with a name such as Europe/Zurich; `text` is for the error message."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        raise ValueError(f"the time {text!r} has the unknown zone {name}") from error


def _zone(text, minutes):
    """Return the time zone with an offset from UTC; `text` is for the error message."""
    if abs(minutes) >= 24 * 60:
        raise ValueError(f"the time {text!r} has a zone of more than 24 hours")
    return timezone(timedelta(minutes=minutes))


def _clock(text, match):
    """Return the time since midnight of a matched clock.

    A leap second (second 60) becomes the last microsecond of second 59. 24:00 is 24 hours. `text`
    is for the error message.
    """
    groups = match.groupdict("")
    am_or_pm = (groups.get("half") or groups.get("before") or groups.get("alone") or "").lower()
    hour, minute, second = (int(groups.get(name) or 0) for name in ("hour", "minute", "second"))
    part = int(f"{groups.get('part') or '':0<6}"[:6])
    if am_or_pm and 1 <= hour <= 12:
        hour = hour % 12 + 12 * (am_or_pm == "p")
    is_midnight = hour == 24 and not minute and not second and not part
    if not (hour < 24 or is_midnight) or minute > 59 or second > 60:
        raise ValueError(
            f"the time {text!r} has the clock {match[0].strip()!r}, which does not exist"
        )
    second, part = (59, 999_999) if second == 60 else (second, part)
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=part)


def _month(word):
    """Return the number (1 to 12) of the month with a name, or None.

    English names may be shortened to three letters. Names in other languages are in `months.txt`.
    """
    lower = word.lower()
    for number, name in enumerate(MONTH_NAMES, start=1):
        if len(lower) > 2 and name.startswith(lower):
            return number
    return _names()[0].get(lower)


@lru_cache(maxsize=1)
def _names():
    """Return (month name -> number, weekday names, filler words) of 42 languages."""
    lines = (files("odl.corpora") / "months.txt").read_text(encoding="utf-8").splitlines()
    *months, weekdays, fillers = (line for line in lines if not line.startswith("#"))
    numbers = {name: number for number, names in enumerate(months, 1) for name in names.split()}
    return numbers, set(weekdays.split()), set(fillers.split())


def _day_of(text, day, dates):
    """Return (year, month, day) of a date.

    `day` is the date in the time `text`, which error messages contain. `dates` is the option of
    `parse_time`.
    """
    if match := YEAR_LAST.fullmatch(day):
        return _in_order(text, match, dates)
    if match := YEAR_FIRST.fullmatch(day):
        return tuple(map(int, match.groups()))
    words, numbers = LETTER_RUN.findall(day), re.findall(r"\d+", day)
    # Tuesday in Romance languages begins like March: mardi, martes, marți.
    if len(words) == 2 and day.lower().startswith("mar"):
        del words[0]
    month = _month(words[0]) if len(words) == 1 else None
    if month is None or not re.fullmatch(r"[\w\s,./'-]*", day) or not 1 <= len(numbers) <= 2:
        raise ValueError(
            f"the time {text!r} is not in a known form, such as 1998-04-06T12:30:00Z; "
            f"{TIME_FORMAT_ADVICE}"
        )
    if len(numbers[0]) == 4:
        return int(numbers[0]), month, int(numbers[1]) if len(numbers) == 2 else 1
    if len(numbers[-1]) not in (2, 4) or (len(numbers) == 1 and len(numbers[0]) < 4):
        raise ValueError(f"the time {text!r} has no year")
    return _full_year(numbers[-1]), month, int(numbers[0])


def _full_year(digits):
    """Return a year as a number. Two digits mean 1969 to 2068."""
    year = int(digits)
    return year if len(digits) == 4 else year + (1900 if year > 68 else 2000)


def year_last(value):
    """Match a date whose year comes last by `YEAR_LAST`; return None for other values.

    Clock, weekday and zone are ignored.
    """
    try:
        return YEAR_LAST.fullmatch(_split(_in_ascii(str(value).strip()))[0])
    except ValueError:
        return None


def _in_order(text, match, dates):
    """Return (year, month, day) of a date such as 3/14/2026, whose year is the last number.

    The option `dates` gives the order of day and month. By default, a number above 12 is the day.
    """
    first, second = int(match["first"]), int(match["second"])
    if dates not in DATES:
        if first <= 12 and second <= 12 and first != second:
            fault = f"the time {text!r} may begin with the day or the month"
            raise ValueError(f"{fault}: set the option dates to day-first or month-first")
        dates = "month-first" if second > 12 else "day-first"
    day, month = (first, second) if dates == "day-first" else (second, first)
    return _full_year(match["year"]), month, day
