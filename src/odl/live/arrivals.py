"""Documents that arrive: lines of JSON as rows that a file of the inbox can have, read as `odl run` will read them."""

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from odl.config import project
from odl.corpora import collection, fields, formats
from odl.files.documents import NO_TIME

AHEAD = 86_400_000  # ms that the time of a document may be after the clock


@dataclass
class Row:
    """A document that arrived.

    Attributes
    ----------
    number : hashable
        What the source of the line knows it by.
    columns : dict
    identity : str
        Its id; empty as long as it has none.
    time : int
        ms; of a late one the beginning of the open period.
    label : str
        Of the period that it is accepted into.
    sent : str or None
        Time with which a late one came.
    answer : dict or None
    """

    number: object
    columns: dict
    identity: str
    time: int
    label: str = ""
    sent: str | None = None
    answer: dict | None = None

    @property
    def late(self):
        """Whether its period had ended when it came."""
        return self.sent is not None


class Arrivals:
    """Documents of a folder as they come, the words of those before remembered.

    Parameters
    ----------
    options : dict
        Of the reader.
    """

    def __init__(self, options):
        self.columns, self.dates = collection.columns_of(options), options.get("dates")
        self.options, self.last = options, collection.Collection(options)
        self.forgotten = {*options.get("forgotten", ())}

    def row(self, number, line):
        """Return a line of input as a row.

        Raises
        ------
        ValueError, OverflowError, RecursionError
            Saying what is wrong with it.
        """
        columns = json.loads(line.decode(), parse_constant=_refuse)
        if not isinstance(columns, dict) or len(columns) > formats.COLUMNS // 2:
            raise ValueError("it is no JSON object, or has very many keys")
        identity, time_of = (columns.get(self.columns[role]) for role in ("id", "time"))
        identity = "" if fields.missing(identity) else fields.parse_id(identity)
        if self.forgotten and collection.forgotten_as(identity) in self.forgotten:
            raise ValueError(f"{project.FORGOTTEN} says that it is not to be read")
        row = Row(number, columns, identity, fields.parse_time(time_of, self.dates))
        now = clock()
        if row.time == NO_TIME:
            row.time, columns[self.columns["time"]] = now, iso(now)
        if row.time > now + AHEAD:
            raise ValueError(f"its time {iso(row.time)} is still to come")
        for name in (name for role in self.columns.values() for name in collection.names_of(role)):
            columns.setdefault(name, None)
        return row

    def read(self, rows):
        """Read rows, each with an id of its own.

        Returns
        -------
        Documents, list of str
            Those that can be read and have words enough; of each row what is wrong with it, "" for nothing.
        """
        read, faults = collection.Collection(self.options).knowing(self.last), []
        for number, row in enumerate(rows):
            roles = {role: collection.value_of(row.columns, name) for role, name in self.columns.items()}
            try:
                read.add_row("inbox", f"line {number + 1}", roles, True)
                faults.append("")
            except (ValueError, OverflowError, RecursionError) as error:
                faults.append(str(error))
        self.last = read
        return read.documents(), faults


def clock():
    """Return the time of now, ms."""
    return time.time_ns() // 1_000_000


def iso(moment):
    """Return a time in ms as text."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment)).isoformat()


def _refuse(constant):
    raise ValueError(f"{constant} is no number")
