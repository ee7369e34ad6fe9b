"""Values of one document's fields, from JSON, CSV or Parquet; `ValueError` says what is wrong."""

import email.utils
import json
import math
import re
import unicodedata
from datetime import UTC, date, datetime, timedelta

import numpy as np

from odl.files.documents import NO_TIME
from odl.files.escaping import clean
from odl.text.scripts import SPACELESS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LARGEST_COUNT = np.iinfo(np.int32).max
LARGEST_SECONDS, LARGEST_MILLISECONDS = 10**11, 10**14
BEGIN, END = -62_135_596_800_000, 253_402_300_800_000  # milliseconds of the years 1 to 9999 in UTC
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
DATES = ("day-first", "month-first")
YEAR_LAST = re.compile(r"(?P<first>\d{1,2})([./-])(?P<second>\d{1,2})\2(?P<year>\d{4}|\d{2})(?P<clock>[ T,]+\d.*)?")
YEAR_FIRST = re.compile(r"(\d{4}) ?[-/.年년] ?(\d\d?) ?[-/.月월] ?(\d\d?)(?: ?[日일.])?(?:[ T,]*(\d.*))?")
UNSPACED = "".join(SPACELESS)
# Behind 25 characters, as short lines are no prose; a heading before a colon and a numbered item begin their own lines.
BROKEN = re.compile(
    rf"(?:\n(?<=[^\n]{{24}}[{UNSPACED}、，]\n)|\r\n(?<=[^\n]{{24}}[{UNSPACED}、，]\r\n))"
    rf"(?=[{UNSPACED}])(?![^\s:：]{{1,8}}[:：]|[一二三四五六七八九十]{{1,3}}、)"
)


def missing(value):
    """Say whether a value is null, an empty string or not a number."""
    return value is None or value == "" or value != value


def parse_id(value):
    """Return an id on one line."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"the id {value!r} is neither a string nor a whole number")
    identity = " ".join(clean(str(value)).split())
    if not identity:
        raise ValueError("the id is empty")
    return identity


def parse_text(value):
    """Return a text; lines that were broken within a run without spaces are joined."""
    if not isinstance(value, str):
        raise ValueError(f"the text is a {type(value).__name__}, not a string")
    return value if value.isascii() else BROKEN.sub("", clean(value))


def parse_url(value):
    """Return an address on one line, "" where there is none or what is there is none of the web."""
    text = "" if missing(value) else "".join(clean(str(value)).split())
    return text if text.lower().startswith(("http://", "https://")) else ""


def parse_vector(value, length=None):
    """Return the numbers of a vector, a list or one as a JSON string, in single precision.

    Parameters
    ----------
    value : list or str
    length : int, optional
        That of the vectors before.
    """
    value = _from_json(value, "the vector is")
    listed = isinstance(value, list | tuple) and len(value) > 0
    if not listed or not all(isinstance(one, int | float) and not isinstance(one, bool) for one in value):
        raise ValueError("the vector is no list of numbers")
    if length is not None and len(value) != length:
        raise ValueError(f"the vector has {len(value)} numbers, those before it {length}")
    with np.errstate(over="ignore"):
        numbers = np.array(value, dtype=np.float64).astype("<f4")
    if not np.isfinite(numbers).all():
        raise ValueError("the vector holds a number that is not finite")
    return numbers


def _from_json(value, what):
    """Return what a string holds as JSON; any other value as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} not JSON ({error})") from error


def parse_counts(value):
    """Return {token: count} of a mapping, a list of pairs, or either as a JSON string."""
    value = _from_json(value, "the counts are")
    try:
        pairs = list(value.items()) if isinstance(value, dict) else [(token, count) for token, count in value]
    except (TypeError, ValueError) as error:
        raise ValueError(f"the counts are {str(value)[:60]!r}, not {{token: count}}") from error
    counts = {}
    for token, count in pairs:
        if count is None:  # Parquet stores a mapping as columns, with nulls
            continue
        if not isinstance(token, str) or not token.strip():
            raise ValueError(f"the token {token!r} is not a word")
        if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count <= LARGEST_COUNT:
            raise ValueError(f"the count {count!r} of {token!r} is not a whole number from 0 to {LARGEST_COUNT}")
        if count != int(count):
            raise ValueError(f"the count {count!r} of {token!r} is not whole")
        word = "_".join(clean(token).split())
        counts[word] = counts.get(word, 0) + int(count)
        if counts[word] > LARGEST_COUNT:
            raise ValueError(f"the counts of {word!r} add up to more than {LARGEST_COUNT}")
    return {word: count for word, count in counts.items() if count}


def parse_topics(value, separator):
    """Return the topics of a string (split at the separator, unless null), a number or a list, each once."""
    if missing(value):
        return ()
    if isinstance(value, str):
        value = value.split(separator) if separator is not None else [value]
    elif _is_number(value):
        value = [value]
    if not isinstance(value, list):
        raise ValueError(f"the topics are {str(value)[:60]!r}, neither a string nor a list")
    topics = []
    for topic in value:
        if not isinstance(topic, str) and not _is_number(topic):
            raise ValueError(f"the topic {topic!r} is not a string")
        text = topic if isinstance(topic, str) else str(topic).removesuffix(".0")  # a table may hold 3 as 3.0
        topics.append(" ".join(clean(text).split()))
    return tuple(topic for topic in dict.fromkeys(topics) if topic)


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def parse_time(value, dates=None):
    """Return milliseconds since 1970-01-01 UTC, rounded down; `NO_TIME` for a missing value.

    Strings are ISO 8601 (also as 2026/4/3, 2026. 4. 3., 2026年4月3日, in digits of any script), as in mail (RFC 2822),
    or a day, month and year in numbers, such as 25.12.2026 14:30; without a zone they are taken as UTC. Numbers, also
    in strings: 4 digits are a year, 8 a day (YYYYMMDD), from 9 digits on they are seconds since 1970, from 12
    milliseconds. In UTC a time lies in the years 1 to 9999.

    Parameters
    ----------
    value
    dates : {"day-first", "month-first"}, optional
        What comes first where the year comes last; needed where both could.
    """
    if missing(value):
        return NO_TIME
    if isinstance(value, str):
        value = value.strip() if value.isascii() else _in_ascii(value)
    if not isinstance(value, bool) and isinstance(value, str | int | float) and NUMBER.fullmatch(str(value)):
        moment = _from_digits(str(value))
    elif isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day)
    elif isinstance(value, str):
        moment = _from_text(value, dates)
    else:
        raise ValueError(f"the time {value!r} is neither a date nor a number of seconds")
    if not isinstance(moment, int):
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        moment = (moment - EPOCH) // timedelta(milliseconds=1)
    if not BEGIN <= moment < END:
        raise ValueError(f"the time {str(value)!r} is outside the years 1 to 9999 in UTC")
    return moment


def _in_ascii(text):
    """Return a date with digits of ASCII, without marks of direction."""
    text = unicodedata.normalize("NFKC", text).translate({0x200E: None, 0x200F: None})
    return "".join(str(unicodedata.decimal(sign, sign)) for sign in text).strip()


def _from_text(text, dates):
    month = re.fullmatch(r"(\d{4})-(\d{2})", text)
    try:
        return datetime(int(month[1]), int(month[2]), 1) if month else datetime.fromisoformat(text)
    except ValueError as error:
        if year_last := YEAR_LAST.fullmatch(text):
            return _from_numbers(text, year_last, dates)
        if text.endswith((" UTC", " GMT")) and text[:4].isdigit():
            return _from_text(text[:-4] + "+00:00", dates)
        if found := YEAR_FIRST.fullmatch(text):
            year, month_of, day, clock = found.groups("")
            whole = f"{year}-{month_of:0>2}-{day:0>2} {_padded(clock)}".strip()
            if whole != text:
                return _from_text(whole, dates)
        try:
            return email.utils.parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            fault = f"the time {text!r} is not ISO 8601, such as 1998-04-06 or 1998-04-06T12:30:00Z"
            raise ValueError(f"{fault}, and not as in mail") from error


def _from_numbers(text, match, dates):
    """Return the moment of a date whose year is last: day or month first as its numbers or the option say."""
    first, second = int(match["first"]), int(match["second"])
    if dates not in DATES:
        if first <= 12 and second <= 12 and first != second:
            fault = f"the time {text!r} may begin with the day or the month"
            raise ValueError(f"{fault}: set the option dates to day-first or month-first")
        dates = "month-first" if second > 12 else "day-first"
    day, month = (first, second) if dates == "day-first" else (second, first)
    year, clock = int(match["year"]), (match["clock"] or "").strip(" T,")
    year += (1900 if year > 68 else 2000) if year < 100 else 0
    half = re.fullmatch(r"(.*?)\s*([AaPp])\.?[Mm]\.?", clock)
    try:
        clock = _padded(half[1] if half else clock)
        moment = datetime.fromisoformat(f"{year:04d}-{month:02d}-{day:02d} {clock}".strip())
        if half and 1 <= moment.hour <= 12:
            moment += timedelta(hours=moment.hour % 12 + 12 * (half[2] in "Pp") - moment.hour)
        return moment
    except ValueError as error:
        raise ValueError(f"the time {text!r} is no date that is {dates}: correct it, or the option dates") from error


def _padded(clock):
    """Return a clock with two digits of hours."""
    return f"0{clock}" if clock[1:2] == ":" else clock


def _from_digits(digits):
    try:
        if len(digits) == 4 and digits.isdigit():
            return datetime(int(digits), 1, 1)
        if len(digits) == 8 and digits.isdigit():
            return datetime.strptime(digits, "%Y%m%d")
    except ValueError as error:
        raise ValueError(f"the time {digits!r} is no year and no day YYYYMMDD") from error
    whole, _, fraction = digits.partition(".")
    size = abs(int(whole))
    if 10**8 <= size < LARGEST_SECONDS:
        thousandths = int(f"{fraction:0<3}"[:3])
        return int(whole) * 1000 + (-thousandths if whole.startswith("-") else thousandths)
    if LARGEST_SECONDS <= size < LARGEST_MILLISECONDS:
        return int(whole)
    raise ValueError(f"the time {digits!r} is not a year, a day YYYYMMDD, or seconds or milliseconds since 1970")
