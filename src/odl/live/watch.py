"""``odl watch``: documents answered and stored when they arrive, periods learned by `odl run` when they have ended."""

import bisect
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from odl.alerts import read, show
from odl.config import project
from odl.config.steps import STEPS
from odl.corpora import collection, fields, formats
from odl.engine import folder as folders
from odl.engine import lock
from odl.errors import ConfigError, DataError
from odl.files.documents import NO_TIME
from odl.live import inbox as inboxes
from odl.live.judge import Arrivals, Judge, Known
from odl.stream import features
from odl.stream.batching import begin_of

DAY = 86_400_000
AHEAD = DAY  # ms that the time of a document may be after the clock
PATIENCE = 3600.0  # seconds that a run of another process is waited for
GROUP = 512  # documents that are answered and stored at once, at most
SLOT = inboxes.SLOT


UNJUDGED = dict.fromkeys(("dictionary", "score", "tail", "reasons", "topic", "topic_name"))  # nothing is learned yet


@dataclass
class Row:
    """A document that arrived.

    Attributes
    ----------
    number : int
        Of its line in the input.
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

    number: int
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


class Watch:
    """A folder that is watched; the working folder.

    Parameters
    ----------
    out : file
        For answers, a line of JSON each.
    tolerance : float
        Seconds that a period stays open after a document of the next one came.
    strict : bool
        Whether a line that cannot be read ends it.

    Raises
    ------
    ConfigError
        If documents of the folder have no times, or batches are no calendar periods.
    """

    def __init__(self, out, tolerance=0.0, strict=False):
        self.out, self.tolerance, self.strict = out, int(1000 * tolerance), strict
        self.inbox, self.child = inboxes.Inbox(), None
        self.late = self.documents = self.bad = 0
        self.judge, self.shown, self.begin, self.answers = None, -1, None, {}
        self.configure()
        self.shown = self._last()
        labels = self.inbox.labels()
        begin = max([*map(_begin, labels[:1]), *([] if self.begin is None else [self.begin])], default=None)
        if begin is not None and (label := self.inbox.last_before(_label(begin))):
            for answer in self._answers(label):  # of the period before; `_open` sets them aside
                self.answers[answer["id"]] = _text(answer)
        self._open(begin)
        for label in labels:
            if _begin(label) < self.begin:
                self.inbox.publish(label)

    def configure(self):
        """Read odl.yaml, and what was learned: at the start, after a period, and on SIGHUP."""
        if project.read(".").get(project.DRIVER) == "snakemake":
            given = f"the folder is driven by Snakemake (driver in {project.FILE})"
            raise ConfigError(given, "one of odl run", "write another by odl init, without --snakemake")
        self.folder = folders.opened()
        stream, columns = self.folder.stream, collection.columns_of(self.folder.stream["options"])
        by, kind = stream["batches"]["by"], stream["options"].get("kind")
        if by != "period" or not {"id", "time"} <= columns.keys() or kind not in (None, "jsonl"):
            given = f"batches by {by} of files of kind {kind or 'any'} with the columns {', '.join(columns)}"
            todo = "set batches: {by: period}, and columns of ids and times"
            raise ConfigError(given, "calendar periods, and ids and times that lines of JSON have too", todo)
        self.columns, self.dates = columns, stream["options"].get("dates")
        self.period, self.arrivals = stream["batches"]["period"], Arrivals(stream["options"])
        self._load()

    def _last(self):
        """Return the last timestep that has alerts, -1 for none."""
        t = 0
        while os.path.exists(self._path("alerts", t)):
            t += 1
        return t - 1

    def _load(self):
        """Take up what was learned of the periods before the open one, while no run changes it."""
        with lock.alone(self.folder.lock, PATIENCE):
            t = self._last()
            while t >= 0:
                begin = begin_of(features.read(self._path("features", t)).times.max(), self.period)
                self.begin = begin if self.begin is None else self.begin
                if begin < self.begin and os.path.exists(self._path("update", t, "state")):
                    break
                t -= 1
            if self.judge is None or self.judge.t != t:
                self.judge = Judge(self.folder, t) if t >= 0 else None

    def _path(self, step, t, role="output"):
        return self.folder.path(STEPS[step].writes[role], t)

    def _open(self, begin):
        """Begin a period, or go on with one of which documents were accepted before."""
        self.before, self.answers = self.answers, {}
        self.known, self.candidates, self.items, self.begin = Known(), [], 0, begin
        if begin is None:
            return
        self._load()
        lines = self.inbox.lines(_label(begin))
        while group := list(islice(lines, GROUP)):
            answers = [columns[SLOT]["answer"] for columns in group]
            rows = [Row(0, *pair, begin) for pair in zip(group, [one["id"] for one in answers], strict=True)]
            documents, _ = self._read(rows)
            places = {name: at for at, name in enumerate(documents.ids)}
            for row, answer in zip(rows, answers, strict=True):
                self.answers[row.identity] = _text(answer)
                row.answer = answer
                self._among(row, documents, places.get(row.identity))

    def _answers(self, label):
        """Yield what was answered to the documents of a period."""
        return (columns[SLOT]["answer"] for columns in self.inbox.lines(label))

    def take(self, lines):
        """Answer and store some lines of input: (number, bytes) of each."""
        rows, faults = [], []
        for number, line in lines:
            try:
                rows.append(self._row(number, line))
            except (ValueError, OverflowError, RecursionError) as error:
                faults.append((number, str(error)))
        while rows:
            place = next((at for at, row in enumerate(rows) if self._ends(row)), len(rows))
            faults += self._accept(rows[:place])
            rows = rows[place:]
            if rows:
                self.end(begin_of(rows[0].time - self.tolerance, self.period))
        for number, fault in sorted(faults):
            self.bad += 1
            error = DataError(f"line {number} of the input: {fault}", "a readable document", "correct or remove it")
            if self.strict:
                raise error
            print(f"odl watch: {error}", file=sys.stderr, flush=True)

    def _row(self, number, line):
        """Return a line of input as a row that a file of the inbox can have."""
        columns = json.loads(line.decode(), parse_constant=_refuse)
        if not isinstance(columns, dict) or len(columns) > formats.COLUMNS // 2:
            raise ValueError("it is no JSON object, or has very many keys")
        identity, time_of = (columns.get(self.columns[role]) for role in ("id", "time"))
        identity = "" if fields.missing(identity) else fields.parse_id(identity)
        row = Row(number, columns, identity, fields.parse_time(time_of, self.dates))
        now = time.time_ns() // 1_000_000
        if row.time == NO_TIME:
            row.time, columns[self.columns["time"]] = now, _iso(now)
        if row.time > now + AHEAD:
            raise ValueError(f"its time {_iso(row.time)} is still to come")
        for name in (name for role in self.columns.values() for name in collection.names_of(role)):
            columns.setdefault(name, None)
        return row

    def _ends(self, row):
        """Return whether a document is so late that the open period has ended; the first one begins a period."""
        if self.begin is None:
            self._open(begin_of(row.time, self.period))
        return begin_of(row.time - self.tolerance, self.period) > self.begin

    def _accept(self, rows):
        """Answer documents and store them; return (number, fault) of those that cannot be read."""
        fresh = {}
        for row in rows:
            self._place(row)
            if row.identity not in self.answers and row.identity not in self.before:
                fresh.setdefault(row.identity, row)
        faults = self._judge(list(fresh.values()))
        accepted, lines = [row for row in fresh.values() if row.answer is not None], {}
        for row in accepted:
            columns = {**row.columns, SLOT: {"answer": row.answer, "sent": row.sent}}
            lines.setdefault(row.label, []).append(json.dumps(columns).encode() + b"\n")
        self.inbox.append(lines)
        for row in accepted:
            self.answers[row.identity] = _text(row.answer)
        self.documents, self.late = self.documents + len(accepted), self.late + sum(row.late for row in accepted)
        answers = [self.answers.get(row.identity, self.before.get(row.identity)) for row in rows]
        self._tell(*filter(None, answers))
        return faults

    def _place(self, row):
        """Give a row the period that it is accepted into: a late one that which is open."""
        name = self.columns["time"]
        if begin_of(row.time, self.period) < self.begin:
            row.sent = str(row.columns[name])
            row.time, row.columns[name] = self.begin, _iso(self.begin)
        row.label = _label(begin_of(row.time, self.period))
        if not row.identity:
            row.identity = row.columns[self.columns["id"]] = f"{row.label}-{os.urandom(8).hex()}"

    def _read(self, rows):
        """Return rows as documents, and what is wrong with each."""
        roles = [{role: collection.value_of(row.columns, name) for role, name in self.columns.items()} for row in rows]
        return self.arrivals.read(roles)

    def _judge(self, rows):
        """Give rows their answers; return (number, fault) of those without one."""
        documents, faults = self._read(rows)
        judged = self.judge(documents) if self.judge and len(documents) else [UNJUDGED] * len(documents)
        places = {name: at for at, name in enumerate(documents.ids)}
        for row, fault in zip(rows, faults, strict=True):
            if not fault:
                at = places.get(row.identity)
                row.answer = {"id": row.identity, "provisional": True, "period": row.label, "late": row.late}
                row.answer |= UNJUDGED if at is None else judged[at]
                self._among(row, documents, at)
        return [(row.number, fault) for row, fault in zip(rows, faults, strict=True) if fault]

    def _among(self, row, documents, at):
        """Compare a document with those of its period so far; None: one with too few words."""
        shingles, alike = documents.shingles, None
        if at is not None and shingles is not None:
            own = shingles.indices[shingles.indptr[at] : shingles.indptr[at + 1]]
            alike = self.known.find(own)
            self.known.add(row.identity, own)
        told = self._within({**row.answer, "alike": alike})
        row.answer = {**row.answer, "alike": alike, "left_out": at is None, **told}

    def _within(self, answer):
        """Count an item of the open period; return its rank in it so far, and whether it is within the budget."""
        if not self.judge or answer["alike"] or answer["tail"] is None:
            return {"rank": None, "within_budget": False}
        self.items += 1
        if answer["tail"] > self.judge.settings.level:
            return {"rank": None, "within_budget": False}
        rank = bisect.bisect_left(self.candidates, -answer["score"]) + 1
        bisect.insort(self.candidates, -answer["score"])
        return {"rank": rank, "within_budget": rank <= self.judge.settings.room(self.items)}

    def end(self, begin=None):
        """End the open period: its documents are learned while those of the next are answered; None: the last one."""
        self.finish()
        ended = [label for label in self.inbox.labels() if begin is None or _begin(label) < begin]
        for label in ended:
            self.inbox.publish(label)
        self._open(begin)
        if ended:
            inboxes.enlist()
            command = [sys.executable, "-m", "odl", "run", ".", "--wait", str(PATIENCE)]
            self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it is read when the process has ended
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": self.said}
            self.child = subprocess.Popen(command, **quiet)

    def poll(self):
        """Take up what was learned, if the other process is done."""
        if self.child and self.child.poll() is not None:
            self.finish()

    def finish(self):
        """Wait for the other process, and say what the period brought."""
        if not self.child:
            return
        status, self.child = self.child.wait(), None
        with self.said as said:
            said.seek(0)
            last = said.read().strip().rpartition("\n")[2]
        if status:
            print(f"odl watch: the period is not learned yet: {last}", file=sys.stderr, flush=True)
            return
        self.folder = folders.opened()
        self._load()
        last = self._last()
        if last > self.shown:
            watch = read.alerts_of(".", last=last - self.shown)
            for period in watch.periods:
                alerts = [show.as_map(alert, period) for alert in period.alerts]
                told = {"provisional": False, "period": period.t, "documents": period.documents, "alerts": alerts}
                told |= {"last": show.date_of(period.last, exact=True)}
                self._tell(_text(told))
            self.shown = last

    def _tell(self, *lines):
        self.out.write("".join(f"{line}\n" for line in lines))
        self.out.flush()

    def close(self, drained=False):
        """End: of the input, after which the last period is as `odl run` leaves it; `drained`: by a signal."""
        if not drained:
            if self.documents or self.inbox.labels():
                self.end()
            self.finish()
        else:
            if self.child:
                self.child.terminate()
                self.child.wait()
            for label in self.inbox.labels():
                self.inbox.publish(label)
        counts = [f"{self.documents} documents accepted", f"{self.late} late", f"{self.bad} lines left out"]
        print(f"odl watch: {', '.join(counts)}", file=sys.stderr, flush=True)


def _iso(time):
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time)).isoformat()


def _text(told):
    return json.dumps(told, ensure_ascii=False)


def _label(begin):
    return _iso(begin)[:10]


def _begin(label):
    return fields.parse_time(label)


def _refuse(constant):
    raise ValueError(f"{constant} is no number")
