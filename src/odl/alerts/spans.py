"""Parser of spans of time such as yesterday, 7d, 2019, 2019-01 and 2019-01-31."""

import math
import re
import time
from datetime import UTC, date, datetime, timedelta

from odl.errors import ParameterError
from odl.files.documents import NO_TIME

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SPAN_FORMS = (
    "today, yesterday, 12h, 7d, 2w, 3mo, 1y, 2026, 2026-03, 2026-W10, 2026-03-01 "
    "or 2026-03-01T12:00"
)
AGO = re.compile(
    r"(\d{1,6}) ?(h|hours?|d|days?|w|weeks?|mo|months?|y|years?)( ago)?", re.IGNORECASE
)
UNIT_DAYS = {"w": 7, "d": 1}  # length of a week and a day in days


def parse(text: str, option: str, now: float | None = None) -> tuple[int, int]:
    """Return the begin and the end (exclusive) of a span of time, in milliseconds since 1970.

    Days, weeks, months and years begin in UTC. "7d" is the day 7 days ago, "2w" the day 2 weeks
    ago, and "12h" the hour that begins 12 hours ago. A time without seconds, such as
    2026-03-01T12:00, means one minute; a time with seconds means one second.

    Parameters
    ----------
    text : str
    option : str
        Name of the command-line option, for the error message.
    now : float, optional
        Current time, seconds since 1970; read from the clock by default.

    Raises
    ------
    ParameterError
        If the text is no span, or one outside of the years 1 to 9999.

    Examples
    --------
    >>> from odl.alerts import spans
    >>> spans.parse("1970-01", "--since")
    (0, 2678400000)
    >>> spans.parse("yesterday", "--since", now=100_000)
    (0, 86400000)
    """
    moment = datetime.fromtimestamp(time.time() if now is None else now, UTC)
    try:
        first, end = _span(" ".join(text.split()), moment)
    except (ValueError, OverflowError) as error:
        raise ParameterError(
            f"{option} {text}", f"a date or time: {SPAN_FORMS}", "correct the date"
        ) from error
    return (first - EPOCH) // timedelta(milliseconds=1), (end - EPOCH) // timedelta(milliseconds=1)


def periods_between(periods, since=None, until=None):
    """Return the periods between two times.

    Parameters
    ----------
    periods : sequence of odl.alerts.model.Period
        In the order of time.
    since, until : str, optional
        Values of ``--since`` and ``--until`` (`parse`). With `until` alone, the result is the last
        period before its end; with neither, the last period.

    Raises
    ------
    ParameterError
        If a text names no span, the documents have no dates, or the end is before the begin.
    """
    if since is None and until is None:
        return periods[-1:]
    begin = -math.inf if since is None else parse(since, "--since")[0]
    end = math.inf if until is None else parse(until, "--until")[1]
    given = [("--since", since), ("--until", until)]
    options = " ".join(f"{option} {text}" for option, text in given if text is not None)
    dated = [period for period in periods if period.last != NO_TIME]
    if not dated:
        raise ParameterError(
            f"{options} for documents without dates", "documents with dates", "leave the option out"
        )
    if end <= begin:
        raise ParameterError(
            options,
            "an end that is not before the begin",
            "give a later --until or an earlier --since",
        )
    chosen = tuple(period for period in dated if period.last >= begin and period.first < end)
    return chosen[-1:] if since is None else chosen


def _span(text, now):
    """Return (begin, end) of the span of time that a text names."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    day, lowered = timedelta(days=1), text.lower()
    if lowered == "today":
        return today, today + day
    if lowered == "yesterday":
        return today - day, today
    if ago := AGO.fullmatch(text):
        return _ago(int(ago[1]), ago[2].lower(), now, today)
    if re.fullmatch(r"\d{4}", text):
        return _month(int(text), 1), _month(int(text) + 1, 1)
    if month := re.fullmatch(r"(\d{4})-(\d\d)", text):
        year, number = int(month[1]), int(month[2])
        return _month(year, number), _month(year + number // 12, number % 12 + 1)
    if week := re.fullmatch(r"(\d{4})-?W(\d\d)", text, re.IGNORECASE):
        first = datetime.combine(
            date.fromisocalendar(int(week[1]), int(week[2]), 1), datetime.min.time(), UTC
        )
        return first, first + 7 * day
    first = datetime.fromisoformat(text)
    first = first if first.tzinfo else first.replace(tzinfo=UTC)
    if re.fullmatch(r"\d{4}-?\d\d-?\d\d|\d{4}-?W\d\d-?\d", text, re.IGNORECASE):
        return first, first + day
    clock = re.split(r"[T ]", text, maxsplit=1, flags=re.IGNORECASE)[1]
    digits = len(re.sub(r"\D", "", re.split(r"[Z+-]", clock, flags=re.IGNORECASE)[0]))
    unit = {2: timedelta(hours=1), 4: timedelta(minutes=1), 6: timedelta(seconds=1)}
    return first, first + unit.get(digits, timedelta(milliseconds=1))


def _ago(number, unit, now, today):
    """Return the begin and end of the day that was a number of weeks, months, ... ago.

    If the unit is h, they are the begin and end of the hour that began that number of hours ago.
    """
    if unit.startswith("h"):
        first = now - timedelta(hours=number)
        return first, first + timedelta(hours=1)
    if unit[0] in UNIT_DAYS:
        first = today - timedelta(days=number * UNIT_DAYS[unit[0]])
    else:
        months = today.year * 12 + today.month - 1 - number * (12 if unit[0] == "y" else 1)
        begin = _month(months // 12, months % 12 + 1)
        length = (_month((months + 1) // 12, (months + 1) % 12 + 1) - begin).days
        first = begin + timedelta(days=min(today.day, length) - 1)
    return first, first + timedelta(days=1)


def _month(year, number):
    """Return the begin of a month."""
    return datetime(year, number, 1, tzinfo=UTC)
