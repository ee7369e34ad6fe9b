"""feedback.csv: events, sources and documents that users mute or follow, and their verdicts.

The file changes what is shown, but not what is computed.
"""

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
JUDGED_COLUMNS = ("judged", "by", "time", "period")  # columns written if there are verdicts
NOBODY = "someone"  # name of the user in a verdict without a name
GROWS = "grows"  # value of `until`: no effect while the event is growing
EVENT = re.compile(r"(?:event|topic):([1-9]\d{0,8})")  # an earlier version wrote "topic:"


class FeedbackLine(NamedTuple):
    """One line of feedback.csv, which mutes or follows (`verdict`) or judges (`judged`).

    Attributes
    ----------
    what : str
        "event:12", "source:FILE" or the id of a document; the latter includes its near-duplicates.
    verdict : str
        "known" and "muted" hide a headline, "follow" always shows it; empty in a line that judges.
    until : str
        Date from which the line has no effect; "grows" if it has no effect while the event is
        growing; or empty.
    note : str
    judged : str
        Answer of a user, one of `odl.alerts.model.ANSWERS`; empty in a line that mutes or follows.
    by, time, period : str
        Name of the user, time of the verdict (ISO 8601), number of the headline's period.
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
        """Number of the event that the line is about, 0 for a document or a source."""
        match = EVENT.fullmatch(self.what)
        return int(match[1]) if match else NO_EVENT

    @property
    def when(self):
        """Time in which the line has an effect, as the end of a sentence; empty for all time."""
        if self.until == GROWS:
            return " in periods in which it is not growing"
        return f" until {self.until}" if self.until else ""

    def holds(self, state, time):
        """Return whether the line has an effect, given the event's state and the period's time."""
        if self.until == GROWS:
            return state != "growing"
        return not self.until or time == NO_TIME or time < _day(self.until)


def check_entry(entry, where="feedback", part="column"):
    """Check a line: a name, a known verdict and a valid end.

    Parameters
    ----------
    entry : FeedbackLine
    where, part : str
        Words for messages: where the line is, and what has a value there ("column", "field").

    Raises
    ------
    DataError
    """
    if not entry.what.strip():
        raise DataError(
            f"{where} has no name",
            "event:NUMBER, source:FILE or the id of a document",
            f"fill in the {part} what",
        )
    if entry.judged and entry.judged not in ANSWERS:
        raise DataError(
            f"{where} has {entry.judged!r} under judged",
            f"one of {', '.join(ANSWERS)}",
            f"correct the {part} judged",
        )
    if entry.verdict not in VERDICTS and not entry.judged:
        raise DataError(
            f"{where} has the verdict {entry.verdict!r}",
            f"one of {', '.join(VERDICTS)}",
            f"correct the {part} verdict",
        )
    if entry.until and entry.until != GROWS:
        _day(entry.until, where)
    if entry.until == GROWS and not entry.event:
        raise DataError(
            f"{where} has until {GROWS} for {entry.what!r}",
            "a date, since documents and sources do not grow",
            "write a date or leave until empty",
        )
    return entry


def read(folder):
    """Return the lines of feedback.csv in a folder; an empty tuple if there is no such file.

    Raises
    ------
    DataError
        If a line is invalid; the message names it.
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
    """Return a line of the file as one or two lines, with either a verdict or a judgement.

    A line of the file may both mute or follow (`verdict`) and judge (`judged`).
    """
    muting = FeedbackLine(*line[: len(FEEDBACK_COLUMNS)])
    judging = line._replace(verdict="", until="", by=line.by or NOBODY)
    return ([muting] if line.verdict else []) + ([judging] if line.judged else [])


def add(folder, entry):
    """Add a line to feedback.csv in a folder.

    A line that mutes or follows replaces the earlier one about the same event, document or source.
    A line that judges replaces only the earlier verdict of the same user.

    Raises
    ------
    DataError
        If the new line or a line of the file is invalid.
    """
    _replace(folder, entry.what, entry.by, [check_entry(entry)])


def remove(folder, what, by=""):
    """Delete lines of feedback.csv about an event, a document or a source; return these lines.

    Parameters
    ----------
    folder : path-like
    what : str
        Name in the column `what`.
    by : str or None
        User whose verdict is deleted. None deletes all lines with this name, and "" (default) those
        that mute or follow.

    Raises
    ------
    DataError
        If a line of the file is invalid.
    """
    return _replace(folder, what, by, [])


def _replace(folder, what, by, entries):
    """Replace a user's lines about `what` in feedback.csv; return the lines that were replaced.

    A lock ensures that only one process writes at a time. If the file system has no locks, a
    warning is printed.
    """
    with atomic.locked(os.path.join(folder, FEEDBACK_FILE)) as alone:
        if not alone:
            print(
                f"odl: {folder} has no locks (its file system); run one command at a time",
                file=sys.stderr,
            )
        lines = read(folder)
        replaced = [line for line in lines if line.what == what and by in (line.by, None)]
        if replaced or entries:
            write(folder, [line for line in lines if line not in replaced] + entries)
    return replaced


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
    """Lines of feedback.csv that mute or follow, for lookup by headline, document or event.

    Parameters
    ----------
    entries : sequence of FeedbackLine
    """

    def __init__(self, entries):
        self.lines = {
            f"event:{entry.event}" if entry.event else entry.what: entry
            for entry in entries
            if entry.verdict
        }

    def of_item(self, members, source, event, state, time):
        """Return the line that applies to a headline or a document, or None; "follow" comes first.

        Parameters
        ----------
        members : sequence of str
            Ids of the documents.
        source : str
        event : int
        state : str
            State of the event in the period.
        time : int
            Time of the period in ms.
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
        """Return the verdict on an event that has an effect in a period, or an empty string.

        `state` is the state of the event in this period, and `time` the time of the period.
        """
        entry = self.lines.get(f"event:{number}")
        return entry.verdict if entry and entry.holds(state, time) else ""


def parse_until(text):
    """Return the value of `--until` in the form of feedback.csv.

    Raises
    ------
    DataError
        If the text is no date and not "grows".
    """
    return text if text in ("", GROWS) else _date(text, "--until").isoformat()


def _day(text, where="feedback"):
    """Return the first millisecond of a day since 1970, UTC."""
    day = _date(text, f"{where} has until")
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def _date(text, where):
    """Return the date in a text; `where` begins the error message."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise DataError(
            f"{where} {visible(text)!r}",
            f"a date such as 2026-12-31, or {GROWS}",
            "correct the date",
        ) from error


def members(alerts, numbers):
    """Return the ids of the documents of each given event.

    Parameters
    ----------
    alerts : path-like
        Folder with the files of periods, ``{t}.h5``; damaged files are left out.
    numbers : set of int

    Returns
    -------
    dict of str to list of str
        Number of an event as text -> ids of its documents.
    """
    ids_of = {str(number): [] for number in sorted(numbers)}
    for event_of, ids in _periods(alerts):
        for row, number in enumerate(event_of):
            if number in numbers:
                ids_of[str(number)].append(ids[row])
    return ids_of


def _periods(alerts):
    """Yield (events, ids) of the documents of each period that can be read."""
    for path in periods.paths(alerts):
        with contextlib.suppress(StorageError):  # the other periods suffice
            yield periods.read_event_numbers(path).tolist(), periods.read_names(path).ids


def renumber_events(entries, alerts, before):
    """Adapt lines of feedback.csv after alerts were computed again, which renumbers events.

    An old event becomes the new event that has most of its documents. A line is left out if no new
    event has a document of the old event. If two lines of a user then name the same event, the
    later line replaces the earlier one.

    Parameters
    ----------
    entries : iterable of FeedbackLine
    alerts : path-like
        Folder of the new periods.
    before : dict of str to list of str
        Result of `members` before alerts were computed again.

    Returns
    -------
    lines : list of FeedbackLine
    sentences : list of str
        One sentence for each line that was changed, left out or replaced.
    """
    old_event_of = {ident: number for number, ids in before.items() for ident in ids}
    new_events = {number: Counter() for number in before}
    for event_of, ids in _periods(alerts):
        for number, ident in zip(event_of, ids, strict=True):
            if number and ident in old_event_of:
                new_events[old_event_of[ident]][number] += 1
    lines, sentences = {}, []
    for entry in entries:
        answer = entry.verdict or entry.judged
        if str(entry.event) in before:
            successors = new_events[str(entry.event)].most_common(1)
            if not successors:
                gone = f"is no event any more, its line ({answer}) is gone"
                sentences.append(f"{FEEDBACK_FILE}: {entry.what} {gone}")
                continue
            number, n_shared = successors[0]
            name = f"event:{number}"
            if name != entry.what:
                overlap = f"{n_shared} of its {len(before[str(entry.event)])} documents"
                sentences.append(f"{FEEDBACK_FILE}: {entry.what} is {name} now, by {overlap}")
                # Without a period, that of the new event's birth is used.
                entry = entry._replace(what=name, period="")
        key = entry.what, entry.by
        if key in lines:
            replaced = lines[key].verdict or lines[key].judged
            if replaced != answer:
                sentences.append(
                    f"{FEEDBACK_FILE}: {entry.what} was {replaced} and is {answer} now"
                )
        lines[key] = entry
    return list(lines.values()), sentences
