"""feedback.csv: what users hold back or follow, and their verdicts; it changes what is shown and nothing else."""

import contextlib
import csv
import os
import re
import sys
from collections import Counter
from datetime import UTC, date, datetime
from typing import NamedTuple

from odl.alerts import periods
from odl.alerts.model import ANSWERS, NO_EVENT, VERDICTS
from odl.errors import DataError, StorageError
from odl.files import atomic, listing
from odl.files.documents import NO_TIME
from odl.files.escaping import guarded, unguarded, visible

FEEDBACK_FILE = listing.FEEDBACK_FILE
FEEDBACK_COLUMNS = ("what", "verdict", "until", "note")
JUDGED_COLUMNS = ("judged", "by", "time", "period")  # written if the file has a line of `odl judge`
NOBODY = "someone"  # who judged, in a line without a name
GROWS = "grows"
EVENT = re.compile(r"(?:event|topic):([1-9]\d{0,8})")  # topic: as an earlier version wrote it


class FeedbackLine(NamedTuple):
    """One line of feedback.csv, which holds back or follows (`verdict`) or judges (`judged`).

    Attributes
    ----------
    what : str
        "event:12", "source:FILE" or the id of a document; the latter includes its near-duplicates.
    verdict : str
        "known" and "muted" hold back, "follow" shows always; empty in a line that judges.
    until : str
        Date from which the line does not hold; "grows" if it does not hold while the event is
        growing; or empty.
    note : str
    judged : str
        Answer of a user, one of `odl.alerts.model.ANSWERS`; empty in a line that holds back or follows.
    by, time, period : str
        Name of this user, time of the verdict (ISO 8601), number of the period of the headline.
    """

    what: str
    verdict: str
    until: str = ""
    note: str = ""
    judged: str = ""
    by: str = ""
    time: str = ""
    period: str = ""

    @property
    def event(self):
        """Number of its event, 0 if it is about a document or a source."""
        match = EVENT.fullmatch(self.what)
        return int(match[1]) if match else NO_EVENT

    @property
    def when(self):
        """End of a sentence that says when the line holds; empty if it always does."""
        if self.until == GROWS:
            return " in periods in which it is not growing"
        return f" until {self.until}" if self.until else ""

    def holds(self, state, time):
        """Return whether the line holds in a period, by its time and the state of the event in it."""
        if self.until == GROWS:
            return state != "growing"
        return not self.until or time == NO_TIME or time < _day(self.until)


def check_entry(entry, where="feedback"):
    """Check a line: a name, a known verdict and a valid end.

    Raises
    ------
    DataError
    """
    if not entry.what.strip():
        raise DataError(
            f"{where} names nothing",
            "event:NUMBER, source:FILE or the id of a document",
            "correct it",
        )
    if entry.judged and entry.judged not in ANSWERS:
        fault = f"{where} has {entry.judged!r} under judged"
        raise DataError(fault, f"one of {', '.join(ANSWERS)}", "correct it")
    if entry.verdict not in VERDICTS and not entry.judged:
        raise DataError(
            f"{where} has the verdict {entry.verdict!r}",
            f"one of {', '.join(VERDICTS)}",
            "correct it",
        )
    if entry.until and entry.until != GROWS:
        _day(entry.until, where)
    if entry.until == GROWS and not entry.event:
        said = f"{where} says until {GROWS} of {entry.what!r}"
        raise DataError(
            said, "an event: documents and sources do not grow", "give a date or leave it empty"
        )
    return entry


def read(folder):
    """Return the lines of feedback.csv in a folder; an empty tuple if there is no such file.

    Raises
    ------
    DataError
        Naming the line that is wrong.
    """
    path = os.path.join(folder, FEEDBACK_FILE)
    if not os.path.exists(path):
        return ()
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            table = csv.DictReader(file)
            if not set(FEEDBACK_COLUMNS[:2]) <= set(table.fieldnames or ()):
                fault = f"{path} has the columns {', '.join(table.fieldnames or ['none'])}"
                raise DataError(fault, ", ".join(FEEDBACK_COLUMNS), "correct its first line")
            entries = []
            for row in table:
                values = {
                    name: unguarded(" ".join((row.get(name) or "").split()))
                    for name in FeedbackLine._fields
                }
                if any(values.values()):
                    line = check_entry(FeedbackLine(**values), f"{path} line {table.line_num}")
                    entries += _split(line)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"{path} cannot be read ({error})", "a CSV file in UTF-8", "save it as CSV in UTF-8"
        ) from error
    return tuple(entries)


def _split(line):
    """Return a line as one that holds back or follows, and one that judges; a line may say both."""
    muting = FeedbackLine(*line[: len(FEEDBACK_COLUMNS)])
    judging = line._replace(verdict="", until="", by=line.by or NOBODY)
    return [muting] * bool(line.verdict) + [judging] * bool(line.judged)


def add(folder, entry):
    """Add a line to feedback.csv of a folder; return the path of the file.

    It replaces lines on the same thing: if it judges, the verdict of the same user.

    Raises
    ------
    DataError
        If the line, or one that is there, is wrong.
    """
    _replace(folder, entry.what, entry.by, [check_entry(entry)])
    return os.path.join(folder, FEEDBACK_FILE)


def remove(folder, what, by=""):
    """Delete lines of feedback.csv on an event, a document or a source; return them.

    Parameters
    ----------
    folder : path-like
    what : str
    by : str, optional
        User whose verdict is deleted; None for all lines. By default the lines that hold back or
        follow.

    Raises
    ------
    DataError
        If a line that is there is wrong.
    """
    return _replace(folder, what, by, [])


def _replace(folder, what, by, entries):
    """Replace the lines of a user on something by others, one process at a time; return the old ones."""
    with atomic.locked(os.path.join(folder, FEEDBACK_FILE)) as alone:
        if not alone:
            print(
                f"odl: {folder} has no locks (its file system); let one command at a time write",
                file=sys.stderr,
            )
        known = read(folder)
        gone = [line for line in known if line.what == what and by in (line.by, None)]
        if gone or entries:
            write(folder, [line for line in known if line not in gone] + entries)
    return gone


def write(folder, entries):
    """Write the lines of feedback.csv."""
    path = os.path.join(folder, FEEDBACK_FILE)
    names = FEEDBACK_COLUMNS + JUDGED_COLUMNS * any(entry.judged for entry in entries)
    with (
        atomic.replacing(path) as temporary,
        open(temporary, "w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(map(guarded, entry[: len(names)]) for entry in entries)


class Verdicts:
    """Lines of feedback.csv, to look up those on a headline, a document or an event.

    Parameters
    ----------
    entries : sequence of Entry
    """

    def __init__(self, entries):
        self.lines = {
            f"event:{entry.event}" if entry.event else entry.what: entry
            for entry in entries
            if entry.verdict
        }

    def of_item(self, members, source, event, state, time):
        """Return the line that holds for a headline or a document, or None; "follow" comes first.

        Parameters
        ----------
        members : sequence of str
            Ids of its documents.
        source : str
        event : int
        state : str
            State of the event in the period.
        time : int
            Time of the period, ms.
        """
        names = [f"source:{source}", f"event:{event}", *members]
        entries = [
            self.lines[name]
            for name in names
            if name in self.lines and self.lines[name].holds(state, time)
        ]
        followed = [entry for entry in entries if entry.verdict == "follow"]
        return (followed or entries or [None])[0]

    def of_event(self, number, state, time):
        """Return the verdict that holds for an event with a state in a period, or an empty text."""
        entry = self.lines.get(f"event:{number}")
        return entry.verdict if entry and entry.holds(state, time) else ""


def parse_until(text):
    """Return the value of `--until` as feedback.csv has it.

    Raises
    ------
    DataError
    """
    return text if text in ("", GROWS) else _date(text, "--until").isoformat()


def _day(text, where="feedback"):
    """Return the first millisecond of a day since 1970, UTC."""
    day = _date(text, f"{where} says until")
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def _date(text, where):
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        fault = f"{where} {visible(text)!r}"
        raise DataError(fault, f"a date such as 2026-12-31, or {GROWS}", "correct it") from error


def members(alerts, numbers):
    """Return the ids of the documents of some events.

    Parameters
    ----------
    alerts : path-like
        Folder with ``{t}.h5``; damaged files are left out.
    numbers : set of int

    Returns
    -------
    dict
        Number of an event (as text) to a list of ids.
    """
    ids_of = {str(number): [] for number in sorted(numbers)}
    for event_of, ids in _periods(alerts):
        for row, number in enumerate(event_of):
            if number in numbers:
                ids_of[str(number)].append(ids[row])
    return ids_of


def _periods(alerts):
    """Yield the event and the id of each document of a period."""
    for path in periods.paths(alerts):
        with contextlib.suppress(StorageError):  # the others tell enough
            yield periods.read_event_numbers(path).tolist(), periods.read_names(path).ids


def renumbered(entries, alerts, before):
    """Return lines of feedback.csv with the new numbers of their events, and sentences on what changed.

    The new event is the one with most of the documents of the old one. A line without a new event
    is left out.

    Parameters
    ----------
    entries : iterable of Entry
    alerts : path-like
    before : dict
        Result of `members` before alerts were computed again.
    """
    where = {ident: number for number, each in before.items() for ident in each}
    now = {number: Counter() for number in before}
    for event_of, ids in _periods(alerts):
        for number, ident in zip(event_of, ids, strict=True):
            if number and ident in where:
                now[where[ident]][number] += 1
    kept, said = {}, []
    for entry in entries:
        what, answer = entry.what, entry.verdict or entry.judged
        if str(entry.event) in before:
            ((number, shared),) = now[str(entry.event)].most_common(1) or [(0, 0)]
            what = f"event:{number}"
            if not number:
                said.append(
                    f"{FEEDBACK_FILE}: {entry.what} is no event any more, its line ({answer}) is gone"
                )
                continue
            if what != entry.what:
                of = f"{shared} of its {len(before[str(entry.event)])} documents"
                said.append(f"{FEEDBACK_FILE}: {entry.what} is {what} now, by {of}")
                entry = entry._replace(period="")  # that of the birth of the new event is used
        before_it = kept.get((what, entry.by), entry)
        if (known := before_it.verdict or before_it.judged) != answer:
            said.append(f"{FEEDBACK_FILE}: {what} was said to be {known} and is {answer} now")
        kept[what, entry.by] = entry._replace(what=what)
    return list(kept.values()), said
