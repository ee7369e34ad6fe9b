"""``odl watch``: documents answered and stored when they arrive, periods learned by `odl run` when they have ended."""

import bisect
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

from odl.alerts import maps, periods, read
from odl.config import commands, places, project
from odl.config.steps import STEPS
from odl.corpora import fields
from odl.engine import folder as folders
from odl.engine import processes
from odl.errors import ConfigError, DataError, OdlError, StorageError
from odl.files.escaping import visible
from odl.live import inbox as inboxes
from odl.live.judge import Arrivals, Judge, Known, Row, clock, fault_of, iso
from odl.live.refused import Refused
from odl.stream import features
from odl.stream.batching import begin_of

PATIENCE = 3600.0  # seconds that a run of another process is waited for
NICE = 10  # of the process that learns: who waits for an answer comes first
GRACE = 3.0  # seconds after a signal for what is under way
STOPPED = {code for number in processes.SIGNALS for code in (-number, 128 + number)}  # status after `close`, Ctrl-C
GROUP = 512  # documents that are answered and stored at once, at most
SLOT = inboxes.SLOT
UNJUDGED = dict.fromkeys(("dictionary", "score", "tail", "reasons", "topic", "topic_name"))  # nothing is learned yet


class Watch:
    """A folder that is watched; the working folder.

    Parameters
    ----------
    tell : callable
        Takes pairs: the number of a line and its answer as JSON, or None and the record of a period.
    refuse : callable
        Takes pairs: the number of a line that cannot be read, and why.
    place_of : callable
        Takes the number of a line; returns its source and its place there.
    tolerance : float
        Seconds that a period stays open after a document of the next one came, or after its end by the clock.
    by_clock : bool
        Whether a period ends by the clock, too.

    Raises
    ------
    ConfigError
        If documents of the folder have no times, or batches are no calendar periods.
    """

    def __init__(self, tell, refuse, place_of, tolerance=0.0, by_clock=False):
        self.tell, self.refuse, self.place_of = tell, refuse, place_of
        self.tolerance, self.by_clock = int(1000 * tolerance), by_clock
        self.inbox, self.refusals = inboxes.Inbox(), Refused()
        self.aside, self.child = ThreadPoolExecutor(1), None
        self.due = self.behind = False  # another run is asked for; a period that has ended waits for it
        self.kept = False  # it was told that results of another version are kept
        self.unlearned = ""  # why the last run failed
        self.late = self.documents = self.bad = 0
        self.judge, self.shown, self.begin, self.answers = None, -1, None, {}
        self.configure()
        self.shown = self._last()
        stored = [label for label in self.inbox.periods() if label <= inboxes.today()]
        last = self.inbox.begun()[:1] or stored[-1:]  # a kill leaves the open one hidden, a signal does not
        begin = max([*map(_begin, last), *([] if self.begin is None else [self.begin])], default=None)
        before = [] if begin is None else [label for label in stored if label < _label(begin)]
        for label in before[-1:]:
            self.answers |= self._answers(label)  # `_open` sets them aside
        self.begin = begin
        self._load()
        if error := self.earlier():
            print(f"odl watch: {error}", file=sys.stderr, flush=True)
        self._open(begin)
        for label in self.inbox.labels():
            if _begin(label) < self.begin:
                self.inbox.publish(label)

    def configure(self):
        """Read odl.yaml, and what was learned: at the start and on SIGHUP."""
        if project.read(".").get(project.DRIVER) == "snakemake":
            given = f"the folder is driven by Snakemake (driver in {project.FILE})"
            raise ConfigError(given, "one of odl run", "write another by odl init, without --snakemake")
        commands.named(".")  # one that is wrong is said
        folder = folders.opened(os.path.basename(os.getcwd()))
        stream, arrivals = folder.stream, Arrivals(folder.stream["options"])
        by, kind = stream["batches"]["by"], stream["options"].get("kind")
        if by != "period" or not {"id", "time"} <= arrivals.columns.keys() or kind not in (None, "jsonl"):
            given = f"batches by {by} of files of kind {kind or 'any'} with the columns {', '.join(arrivals.columns)}"
            todo = "set batches: {by: period}, and columns of ids and times"
            raise ConfigError(given, "calendar periods, and ids and times that lines of JSON have too", todo)
        self.folder, self.arrivals, self.columns = folder, arrivals, arrivals.columns
        self.period = stream["batches"]["period"]
        self._load()

    def configure_again(self):
        """Read odl.yaml as it is now; where it has a mistake, say so and go on as before."""
        try:
            self.configure()
        except OdlError as error:
            print(f"odl watch: {error} Until then all goes on as before.", file=sys.stderr, flush=True)

    def _last(self):
        """Return the last timestep that has alerts, -1 for none."""
        return len([*periods.paths(self.folder.folder_of("alerts"))]) - 1

    def earlier(self):
        """Return the error that an earlier version wrote what is learned, None if it did not."""
        return folders.earlier_error(self.folder, os.path.basename(os.getcwd()))

    def _load(self):
        """Take up what was learned of the periods before the open one."""
        self.judge, self.begin = self._learned_before(self.begin)

    def _learned_before(self, begin):
        """Return what was learned of the periods before one, while no run changes it, and its begin; None: the last."""
        with processes.alone(self.folder.lock, PATIENCE):
            t = self._last()
            while t >= 0:
                first = begin_of(features.read(self._path("features", t)).times.max(), self.period)
                begin = first if begin is None else begin
                if first < begin and os.path.exists(self._path("update", t, "state")):
                    break
                t -= 1
            if periods.are_earlier(self.folder.folder_of("alerts")):
                return None, begin  # documents are stored, and nothing is known of them
            if self.judge and self.judge.t == t:
                return self.judge, begin
            return Judge(self.folder, t) if t >= 0 else None, begin

    def _path(self, step, t, role="output"):
        return self.folder.path(STEPS[step].writes[role], t)

    def _answers(self, label):
        """Return id to answer of the documents of a period."""
        answers = (columns[SLOT]["answer"] for columns in self.inbox.lines(label))
        return {answer["id"]: _text(answer) for answer in answers}

    def _open(self, begin):
        """Begin a period, or go on with one of which documents were accepted before."""
        self.before, self.answers = self.answers, {}
        self.known, self.candidates, self.items, self.begin = Known(), [], 0, begin
        if begin is None:
            return
        for label in self.inbox.periods():
            if label > _label(begin):  # its documents came while this period was open
                self.answers |= self._answers(label)
        lines = self.inbox.lines(_label(begin))
        while group := list(islice(lines, GROUP)):
            answers = [columns[SLOT]["answer"] for columns in group]
            rows = [Row(0, *pair, begin) for pair in zip(group, [one["id"] for one in answers], strict=True)]
            documents, _ = self.arrivals.read(rows)
            places = {name: at for at, name in enumerate(documents.ids)}
            for row, answer in zip(rows, answers, strict=True):
                self.answers[row.identity] = _text(answer)
                row.answer = answer
                self._among(row, documents, places.get(row.identity))

    def take(self, lines):
        """Answer and store some lines of input: (number, bytes) of each."""
        rows, faults = self._rows(lines)
        while rows:
            place = next((at for at, row in enumerate(rows) if self._ends(row)), len(rows))
            faults += self._accept(rows[:place])
            rows = rows[place:]
            if rows and (fault := self._faults_of(rows[0])):  # a line that is refused ends no period
                faults, rows = faults + fault, rows[1:]
            elif rows and self.begin is None:
                self._open(self._period_of(rows[0]))
            elif rows:
                self.end(self._period_of(rows[0]))
        self._set_aside(sorted(faults), dict(lines))

    def _set_aside(self, faults, lines):
        """Report and store which documents are refused, pairs of (number, fault)."""
        self.bad += len(faults)
        identity = self.arrivals.identity
        new = [(*self.place_of(one), fault, identity(lines[one]), lines[one]) for one, fault in faults]
        self.refuse(faults)
        self.refusals.add(new)

    def judged(self, lines):
        """Answer lines as `take` does, without their period; nothing is stored, counted or compared."""
        rows, faults = self._rows(lines)
        own = [row.identity or None for row in rows]
        for place, row in enumerate(rows):
            row.identity = row.columns[self.columns["id"]] = str(place)
        faults += self._judge(rows)
        answers = [(row, {**row.answer, "id": ident}) for row, ident in zip(rows, own, strict=True) if row.answer]
        self.tell([(row.number, _text(answer)) for row, answer in answers])
        self.refuse(sorted(faults))

    def _rows(self, lines):
        """Return lines as rows, and (number, fault) of those that cannot be read."""
        rows, faults = [], []
        for number, line in lines:
            try:
                rows.append(self.arrivals.row(number, line))
            except Exception as error:
                faults.append((number, fault_of(error)))
        return rows, faults

    def _period_of(self, row):
        """Return the period that is open when a document comes: its own, but none that the clock has not begun."""
        return begin_of(min(row.time, clock()) - self.tolerance, self.period)

    def _ends(self, row):
        """Return whether a document begins the first period, or comes when the open one has ended."""
        return self.begin is None or self._period_of(row) > self.begin

    def _accept(self, rows):
        """Answer documents and store them; return (number, fault) of those that cannot be read."""
        fresh = {}
        for row in rows:
            self._place(row)
            if row.identity not in self.answers and row.identity not in self.before:
                fresh.setdefault(row.identity, row)
        faults = self._judge([*fresh.values()], self._among)
        accepted, lines = [row for row in fresh.values() if row.answer is not None], {}
        for row in accepted:
            columns = {**row.columns, SLOT: {"answer": row.answer, "sent": row.sent}}
            lines.setdefault(row.label, []).append(json.dumps(columns).encode() + b"\n")
        self.inbox.append(lines)
        for row in accepted:
            self.answers[row.identity] = _text(row.answer)
        self.documents, self.late = self.documents + len(accepted), self.late + sum(row.late for row in accepted)
        answers = [(row.number, self.answers.get(row.identity, self.before.get(row.identity))) for row in rows]
        self.refusals.accept([row.identity for row, (_, answer) in zip(rows, answers, strict=True) if answer])
        self.tell([pair for pair in answers if pair[1]])
        return faults

    def _place(self, row):
        """Give a row the period that it is accepted into: a late one that which is open."""
        name = self.columns["time"]
        if begin_of(row.time, self.period) < self.begin:
            row.sent = str(row.columns[name])
            row.time, row.columns[name] = self.begin, iso(self.begin)
        row.label = _label(begin_of(row.time, self.period))
        if not row.identity:
            row.identity = row.columns[self.columns["id"]] = f"{row.label}-{os.urandom(8).hex()}"

    def _judge(self, rows, more=lambda row, documents, at: None):
        """Give rows their answers, and each to `more`; return (number, fault) of those without one.

        Where documents fail together, each is judged alone, so that a fault is that of one document. A fault of the
        disk or of a command is no document's, and is raised.
        """
        if self.judge:
            self.arrivals.collection.n_dimensions = self.judge.n_dimensions
        try:
            documents, faults = self.arrivals.read(rows)
            judged = self.judge(documents) if self.judge and len(documents) else [UNJUDGED] * len(documents)
        except (DataError, StorageError, OSError, sqlite3.Error):
            raise
        except Exception as error:
            if len(rows) == 1:
                return [(row.number, fault_of(error)) for row in rows]
            return [fault for row in rows for fault in self._judge([row], more)]
        places = {name: at for at, name in enumerate(documents.ids)}
        for row, fault in zip(rows, faults, strict=True):
            if not fault:
                at = places.get(row.identity)
                row.answer = {"id": row.identity, "provisional": True, "period": row.label or None, "late": row.late}
                row.answer |= UNJUDGED if at is None else judged[at]
                more(row, documents, at)
        return [(row.number, fault) for row, fault in zip(rows, faults, strict=True) if fault]

    def _faults_of(self, row):
        """Return (number, fault) of a row if it has no answer, by a copy of it."""
        return self._judge([replace(row, identity="-", columns={**row.columns, self.columns["id"]: "-"})])

    def _among(self, row, documents, at):
        """Compare a document with those of its period so far; None: one with too few words."""
        shingles, alike = documents.shingles, None
        if at is not None and shingles is not None:
            own = shingles.indices[shingles.indptr[at] : shingles.indptr[at + 1]]
            alike = self.known.find(own)
            if not alike:
                self.known.add(row.identity, own)
        told = self._within({**row.answer, "alike": alike})
        row.answer = {**row.answer, "alike": alike, "left_out": at is None, **told}

    def _within(self, answer):
        """Count an item of the open period; return its rank in it so far, and whether it is within the budget."""
        if not self.judge or answer["alike"] or answer["tail"] is None:
            return {"rank": None, "within_budget": False}
        self.items += 1
        if answer["tail"] > self.judge.settings.tail:
            return {"rank": None, "within_budget": False}
        rank = bisect.bisect_left(self.candidates, -answer["score"]) + 1
        bisect.insort(self.candidates, -answer["score"])
        return {"rank": rank, "within_budget": rank <= self.judge.settings.room(self.items)}

    def end(self, begin=None):
        """End the open period: its documents are learned while those of the next are answered; None: the last one."""
        if self.behind:
            self.finish()
        ended = [label for label in self.inbox.begun() if begin is None or _begin(label) < begin]
        for label in ended:  # at once: of two that are hidden, the next watch after a kill opens the first again
            self.inbox.publish(label)
        if begin is not None and not ended and not self.child:
            self.begin = begin
            self._load()
        self._open(begin)
        if ended:
            self.behind = self.child is not None
            self.learn()

    def learn(self):
        """Begin to learn what is new, and to write the pages, in another process; where one is at it, after that."""
        self.due = self.child is not None
        if self.due:
            return
        # -P, and no relative paths: nothing is imported from the folder.
        command = [sys.executable, "-P", "-m", "odl", "run", os.getcwd(), "--wait", str(PATIENCE)]
        self.said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - read when the process has ended
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, str(places.PACKAGE.parent)])}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": self.said, "stderr": self.said, "env": environment}
        self.child = subprocess.Popen(command, **pipes)
        os.setpriority(os.PRIO_PROCESS, self.child.pid, NICE)
        self.learned = self.aside.submit(self._learned, self.child)

    def _learned(self, child):
        """Wait for the other process; return what answers from now on, the last timestep, and the records to tell."""
        status = child.wait()
        with self.said as said:
            said.seek(0)
            lines = visible(said.read()).strip().split("\n")
        for line in lines:
            kept = line.startswith("computed by another version of odl")
            if (kept and not self.kept) or line.startswith((f"{project.NOTIFY}:", f"{project.NOTIFY} was")):
                print(f"odl watch: {line}", file=sys.stderr, flush=True)
            self.kept |= kept
        if status:
            if status not in STOPPED:
                self.unlearned = lines[-1]
                print(f"odl watch: the period is not learned yet: {lines[-1]}", file=sys.stderr, flush=True)
            return self.judge, self.shown, []
        self.unlearned, (judge, _) = "", self._learned_before(self.begin)
        last = self._last()
        learned = read.alerts_of(".", last=last - self.shown) if last > self.shown else None
        records = (
            [{"provisional": False, **maps.period_map(learned, each)} for each in learned.periods] if learned else []
        )
        return judge, max(last, self.shown), [(None, _text(record)) for record in records]

    def poll(self):
        """Take up what was learned, if it is loaded; end a period that the clock has ended."""
        if self.child and self.learned.done():
            self.finish()
        begin = begin_of(clock() - self.tolerance, self.period)
        if self.by_clock and not self.child and self.begin is not None and begin > self.begin:
            self.end(begin)

    def finish(self):
        """Wait until the period is learned, and say what it brought."""
        if self.child:
            self.judge, self.shown, records = self.learned.result()
            self.child, self.behind = None, False
            self.tell(records)
            if self.due:
                self.learn()

    def close(self, drained=False):
        """End: of the input, after which the last period is as `odl run` leaves it; `drained`: by a signal."""
        if not drained:
            if self.documents or self.inbox.begun():
                self.end()
            if self.bad and not self.child:
                self.learn()  # writes the table of what was set aside
            while self.child:
                self.finish()
        else:
            if self.child:
                self.child.terminate()
            for label in self.inbox.begun():
                self.inbox.publish(label)
        counts = [f"{self.documents} documents accepted", f"{self.late} late", f"{self.bad} set aside"]
        print(f"odl watch: {', '.join(counts)}", file=sys.stderr, flush=True)
        if self.unlearned and not drained:
            if error := self.earlier():
                raise error
            todo = "correct what is said above, then run odl run"
            raise DataError("the input ended, and a period is not learned", "a run that ends well", todo)
        self.due = False
        with contextlib.suppress(OdlError, OSError):  # a period may be learned by now
            self.finish()


def _text(told):
    return visible(json.dumps(told, ensure_ascii=False))


def _label(begin):
    return iso(begin)[:10]


_begin = fields.parse_time  # of a label


def follow(groups, *settings):
    """Watch the working folder until its source ends, or a signal does.

    Parameters
    ----------
    groups : callable
        Takes the watch, and what says whether a signal ends it; yields groups of lines, an empty one now and then.
    *settings
        Of `Watch`.

    Raises
    ------
    BusyError
        If another watch has the folder.
    """
    came, heed, watch = set(), processes.Heed(), None

    def note(number, frame):
        came.add(number)
        if number == signal.SIGALRM:
            heed(number, frame)
        elif number != signal.SIGHUP and not signal.getitimer(signal.ITIMER_REAL)[0]:  # no later for another one
            signal.setitimer(signal.ITIMER_REAL, GRACE)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, note)
    with inboxes.alone():
        try:
            watch = Watch(*settings)
            try:
                for group in groups(watch, lambda: bool(came - {signal.SIGHUP})):
                    if signal.SIGHUP in came:
                        came.remove(signal.SIGHUP)
                        while watch.child:
                            watch.finish()
                        watch.configure_again()
                    watch.poll()
                    if group:
                        watch.take(group)
            except Exception:
                watch.close(drained=True)
                raise
            watch.close(drained=bool(came))
        except processes.Stopped:  # as after a kill: a command, a lock or who reads the answers has not come to an end
            if watch and watch.child:
                watch.child.terminate()
            said = f"ended {GRACE:g} s after a signal; send again what has no answer"
            print(f"odl watch: {said}", file=sys.stderr, flush=True)
            os._exit(0)  # threads may wait, too
    signal.setitimer(signal.ITIMER_REAL, 0)
