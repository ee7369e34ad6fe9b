"""``odl watch``: answer and store documents on arrival; let `odl run` learn each ended period."""

import contextlib
import json
import math
import os
import signal
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from odl.alerts import maps, periods, read
from odl.config import commands, project
from odl.config.steps import STEPS
from odl.corpora.collection import names_of, value_of
from odl.engine import folder as folders
from odl.engine import processes
from odl.errors import ConfigError, DataError, OdlError, StorageError
from odl.files import storage
from odl.files.escaping import visible
from odl.live import inbox as inboxes
from odl.live.inbox import ANSWER_KEY
from odl.live.judge import Arrivals, DocumentJudge, clock, fault_of, iso
from odl.live.openperiod import OpenPeriod, answers_in, as_json, begin_of_label, label_of
from odl.live.readshares import ReadShares
from odl.live.refused import RefusedList
from odl.live.runner import RUN_WAIT_SECONDS
from odl.stream import features
from odl.stream.batching import begin_of

# Ended periods that are not learned yet. The watch reads no more input while there are more.
MAX_UNLEARNED = 2
# While the input is behind the clock, runs write the page only after this number of seconds.
PAGE_INTERVAL = 60.0
GRACE_SECONDS = 3.0  # time after a signal to finish the work
# Exit statuses of a run that was ended by a signal.
STOPPED_STATUSES = {code for number in processes.SIGNALS for code in (-number, 128 + number)}
# Fields of the answer to a document that cannot be judged, because nothing is learned yet or it has
# too few words.
NOT_JUDGED = dict.fromkeys(("dictionary", "score", "tail", "reasons", "topic", "topic_name"))
# Beginnings of the lines printed by a run that the watch prints too.
VERSION_PREFIX = "computed by another version of odl"
COMMAND_PREFIXES = f"{project.NOTIFY}:", f"{project.NOTIFY} was"


def json_record(alerts, period):
    """Return the record of a learned period as a line of JSON."""
    return as_json({"provisional": False, **maps.period_map(alerts, period)})


def print_line(text):
    """Print a line about the watch itself on standard error."""
    print(f"odl watch: {text}", file=sys.stderr, flush=True)


class LiveWatch:
    """The watch of the working folder.

    `take` reads documents, assigns them to periods, judges them with the dictionary learned so far,
    stores them in the inbox and answers them. When a period has ended, `end` renames its hidden
    file in the inbox, so that `odl run` reads it. `learn` then starts a run in another process,
    and `poll` and `finish` load the dictionary that the run has learned.

    Parameters
    ----------
    runner : odl.live.runner.Runner
    tell : callable
        Called with a list of pairs, each either (number of a line, answer as JSON) or (None, record
        of a learned period).
    refuse : callable
        Called with a list of pairs: (number of a line that cannot be read, reason).
    place_of : callable
        Maps the number of a line to its source and its location in the source.
    tolerance : float
        Seconds that a period stays open after a document of the next one has come, or after its end
        by the clock.
    by_clock : bool
        Whether a period also ends by the clock.
    record_of : callable
        Maps a watch (`odl.alerts.model.StreamAlerts`) and one of its periods to the record of the
        period as text.

    Attributes
    ----------
    current : odl.live.openperiod.OpenPeriod
    judge : odl.live.judge.DocumentJudge or None
        Judge by the dictionary learned before the open period; None if there is none.
    last_learned : int
        Timestep of the last learned period; -1 if there is none.
    last_digest : str
        Digest of the alerts of the last learned period; "" if there is none.
    learned : concurrent.futures.Future or None
        Result of the run that is under way.
    page_due : bool
        Whether a period may have been learned after the page was written.
    page_time : float
        Time by the monotonic clock when a run with the page was last requested.
    n_accepted, n_repeated, n_late, n_refused : int
        Documents since the start. Repeated ones were accepted before and got the same answer.

    Raises
    ------
    ConfigError
        If the documents of the folder have no times, or its batches are not calendar periods.
    """

    def __init__(
        self, runner, tell, refuse, place_of, tolerance=0.0, by_clock=False, record_of=json_record
    ):
        self.runner, self.tell, self.refuse = runner, tell, refuse
        self.place_of, self.record_of = place_of, record_of
        self.tolerance, self.by_clock = int(1000 * tolerance), by_clock
        self.inbox, self.refusals = inboxes.Inbox(), RefusedList()
        self.thread, self.learned = ThreadPoolExecutor(1), None
        self.page_time = time.monotonic()
        self.run_again = False  # another run was requested while one is under way
        # Numbers of ended periods that the run under way learns, and that wait for the next run.
        self.n_learning = self.n_waiting = 0
        self.printed = set()  # subjects of lines that are printed once
        self.fault = ""  # why the last run failed
        self.n_accepted = self.n_repeated = self.n_late = self.n_refused = 0
        self.judge, self.current = None, OpenPeriod(None, {})
        self.configure()
        self.last_learned = self._last_timestep()
        self.last_digest = self._digest_of_alerts(self.last_learned)
        self.page_due = self._is_page_stale()
        self._resume()

    def _resume(self):
        """Open the period that an earlier watch left open, or the last learned period if later."""
        stored = [label for label in self.inbox.periods() if label <= inboxes.today()]
        # The file of the open period is hidden after a kill, but not after a signal.
        last_stored = self.inbox.begun()[:1] or stored[-1:]
        last_learned = [] if self.current.begin is None else [self.current.begin]
        begin = max([*map(begin_of_label, last_stored), *last_learned], default=None)
        answers = {}
        if begin is not None and (before := [label for label in stored if label < label_of(begin)]):
            answers = answers_in(self.inbox, before[-1])
        self.current = OpenPeriod(begin, answers)
        self._load()
        if error := self.earlier_error():
            print_line(error)
        if begin is not None:
            self.current.resume(self.inbox, self.arrivals, self.judge)
            for label in self.inbox.labels():
                if begin_of_label(label) < begin:
                    self.inbox.publish(label)

    def configure(self):
        """Read odl.yaml and load the learned dictionary."""
        if project.read(".").get(project.DRIVER) == "snakemake":
            raise ConfigError(
                f"the folder is driven by Snakemake (driver in {project.FILE})",
                "driver: odl run",
                "create another folder by odl init, without --snakemake",
            )
        commands.read_commands(".")  # raises an error for a command that cannot be used
        folder = folders.opened(os.path.basename(os.getcwd()))
        stream, arrivals = folder.stream, Arrivals(folder.stream["options"])
        by, kind = stream["batches"]["by"], stream["options"].get("kind")
        has_columns = {"id", "time"} <= arrivals.columns.keys()
        if by != "period" or not has_columns or kind not in (None, "jsonl"):
            given = (
                f"batches by {by} of files of kind {kind or 'any'} with the columns "
                f"{', '.join(arrivals.columns)}"
            )
            raise ConfigError(
                given,
                "batches by period of JSON lines, with columns of ids and times",
                f"set batches: {{by: period}}, and columns id and time, in {project.FILE}",
            )
        self.folder, self.arrivals, self.columns = folder, arrivals, arrivals.columns
        self.calendar = stream["batches"]["period"]
        self.shares = ReadShares(folder, arrivals.collection)
        self._load()

    def configure_again(self):
        """Read odl.yaml again; if it has an error, print the error and retain the old settings."""
        try:
            self.configure()
        except OdlError as error:
            print_line(f"{error} Until then the earlier settings apply.")

    def earlier_error(self):
        """Return the error for results that an earlier version wrote; None for current results."""
        return folders.earlier_error(self.folder, os.path.basename(os.getcwd()))

    # Learned state

    def _last_timestep(self):
        """Return the last timestep that has alerts, -1 if there is none."""
        return len([*periods.paths(self.folder.folder_of("alerts"))]) - 1

    def _digest_of_alerts(self, t):
        """Return the digest of the file of alerts of timestep t; "" if t is -1."""
        return storage.digest_of(self._path("alerts", t), periods.PERIOD_FILE) if t >= 0 else ""

    def _load(self):
        """Load the judge by the dictionary learned before the open period."""
        self.judge, self.current.begin = self._read_learned(self.current.begin)

    def _read_learned(self, begin):
        """Return the judge for a period, and the begin of this period.

        Parameters
        ----------
        begin : int or None
            Begin of the open period. With None, the last learned period is used.

        Returns
        -------
        judge : DocumentJudge or None
            Judge by the dictionary learned before the period. None if no earlier period is learned,
            or an earlier version of odl wrote the results.
        begin : int or None
            None if no period is learned or open.
        """
        with processes.alone(self.folder.lock, RUN_WAIT_SECONDS):  # no run changes the results
            last = self._last_timestep()
            if begin is None and last >= 0:
                begin = self._begin_of(last)
            if periods.are_earlier(self.folder.folder_of("alerts")):
                return None, begin
            for t in range(last, -1, -1):
                has_state = os.path.exists(self._path("update", t, "state"))
                if has_state and self._begin_of(t) < begin:
                    is_loaded = self.judge and self.judge.t == t
                    return self.judge if is_loaded else DocumentJudge(self.folder, t), begin
        return None, begin

    def _begin_of(self, t):
        """Return the begin of the period that was learned as timestep t."""
        times = features.read(self._path("features", t)).times
        return begin_of(times.max(), self.calendar)

    def _path(self, step, t, role="output"):
        return self.folder.path(STEPS[step].writes[role], t)

    # Documents

    def take(self, lines):
        """Answer and store lines of input, a list of (number, bytes)."""
        rows, faults = self._rows(lines)
        while rows:
            n_in_period = next(
                (position for position, row in enumerate(rows) if self._ends_period(row)), len(rows)
            )
            faults += self._accept(rows[:n_in_period])
            rows = rows[n_in_period:]
            # A refused document does not end a period.
            if rows and (fault := self._faults_of(rows[0])):
                faults, rows = faults + fault, rows[1:]
            elif rows and self.current.begin is None:
                self._open(self._period_of(rows[0]))
            elif rows:
                self.end(self._period_of(rows[0]))
        self._refuse(sorted(faults), dict(lines))

    def _refuse(self, faults, lines):
        """Report and list refused documents, pairs of (number, fault)."""
        self.n_refused += len(faults)
        identity = self.arrivals.identity
        refused = [
            (*self.place_of(number), fault, identity(lines[number]), lines[number])
            for number, fault in faults
        ]
        self.refuse(faults)
        self.refusals.add(refused)

    def judge_only(self, lines):
        """Answer lines as `take` does, without storing or counting them or opening a period."""
        rows, faults = self._rows(lines)
        identities = [row.identity or None for row in rows]
        for position, row in enumerate(rows):
            row.identity = row.columns[self.columns["id"]] = str(position)
        faults += self._judge(rows)
        answers = [
            (row, {**row.answer, "id": identity})
            for row, identity in zip(rows, identities, strict=True)
            if row.answer
        ]
        self.tell([(row.number, as_json(answer)) for row, answer in answers])
        self.refuse(sorted(faults))

    def _rows(self, lines):
        """Return lines as arrivals, and (number, fault) of those that cannot be read."""
        rows, faults = [], []
        for number, line in lines:
            try:
                rows.append(self.arrivals.row(number, line))
            except Exception as error:  # no line ends the watch, whatever is in it
                faults.append((number, fault_of(error)))
        return rows, faults

    def _period_of(self, row):
        """Return the begin of a document's period; a time in the future counts as now."""
        return begin_of(min(row.time, clock()) - self.tolerance, self.calendar)

    def _ends_period(self, row):
        """Return whether no period is open, or a document belongs to a later one than is open."""
        return self.current.begin is None or self._period_of(row) > self.current.begin

    def _accept(self, rows):
        """Judge new documents, store them in the inbox, and answer all documents.

        A document that was accepted before gets its earlier answer.

        Returns
        -------
        list of (number, str)
            Number of the line, and reason, of each document that cannot be judged.
        """
        new_rows = {}
        for row in rows:
            self._assign(row)
            if self.current.find(row.identity) is None:
                new_rows.setdefault(row.identity, row)
        faults = self._judge([*new_rows.values()], self.current)
        accepted = [row for row in new_rows.values() if row.answer is not None]
        lines, lines_of_period = [], {}
        for row in accepted:
            columns = {**row.columns, ANSWER_KEY: {"answer": row.answer, "sent": row.sent}}
            lines.append(json.dumps(columns).encode() + b"\n")
            lines_of_period.setdefault(row.label, []).append(lines[-1])
        self.inbox.append(lines_of_period)
        for row, line in zip(accepted, lines, strict=True):
            self.current.answers[row.identity] = as_json(row.answer)
            self.shares.add(row, line)
        answers = [(row, self.current.find(row.identity)) for row in rows]
        answered = [(row, answer) for row, answer in answers if answer]
        self.n_accepted += len(accepted)
        self.n_repeated += len(answered) - len(accepted)
        self.n_late += sum(row.late for row in accepted)
        self.refusals.accept([row.identity for row, _ in answered])
        self.tell([(row.number, answer) for row, answer in answered])
        return faults

    def _assign(self, row):
        """Set the period of a document, and a random id if it has none.

        A late document is assigned to the open period, and the begin of this period becomes its
        time. A line is printed for the first late document, and for the first one without a time.
        """
        begin, time_columns = self.current.begin, names_of(self.columns["time"])
        if begin_of(row.time, self.calendar) < begin:
            row.sent = str(value_of(row.columns, self.columns["time"], " "))
            row.time = begin
            row.columns.update(dict.fromkeys(time_columns) | {time_columns[0]: iso(begin)})
        row.label = label_of(begin_of(row.time, self.calendar))
        if not row.identity:
            row.identity = row.columns[self.columns["id"]] = f"{row.label}-{os.urandom(8).hex()}"
        if not row.dated:
            self._print_once(
                "time",
                f"document {visible(row.identity)} has no time and gets the time of its arrival, "
                f"{iso(row.time)}, like all documents without a time",
            )
        if row.late:
            self._print_once(
                "late",
                f"document {visible(row.identity)} came after its period had ended; like all late "
                f"documents, it is added to the open period, {row.label}",
            )

    def _print_once(self, subject, text):
        """Print a line, unless one about the same subject was printed before."""
        if subject not in self.printed:
            self.printed.add(subject)
            print_line(text)

    def _judge(self, rows, period=None):
        """Judge documents and store the answers in them.

        Parameters
        ----------
        rows : list of Arrival
            The attribute `answer` is set, except for documents with a fault.
        period : OpenPeriod, optional
            Period with whose documents they are compared, and to which they are then added.

        Returns
        -------
        list of (hashable, str)
            Number of the line, and fault, of each document that cannot be judged.

        Raises
        ------
        DataError, StorageError, OSError, sqlite3.Error
            For an error of the disk or of a command, which no document has caused.
        """
        if self.judge:  # the vectors of new documents must have the length of the learned ones
            self.arrivals.collection.n_dimensions = self.judge.n_dimensions
        try:
            documents, faults = self.arrivals.read(rows)
            answers = [NOT_JUDGED] * len(documents)
            if self.judge and answers:
                answers = self.judge(documents)
        except (DataError, StorageError, OSError, sqlite3.Error):
            raise
        except Exception as error:
            # No document may end the watch, even if it triggers a defect of odl. Each document is
            # judged alone to find the one that caused the error.
            if len(rows) == 1:
                return [(rows[0].number, fault_of(error))]
            return [fault for row in rows for fault in self._judge([row], period)]
        positions = {name: position for position, name in enumerate(documents.ids)}
        for row, fault in zip(rows, faults, strict=True):
            if fault:
                continue
            position = positions.get(row.identity)
            row.answer = {
                "id": row.identity,
                "provisional": True,
                "period": row.label or None,
                "late": row.late,
                **(NOT_JUDGED if position is None else answers[position]),
            }
            if period is not None:
                period.complete(row, documents, position, self.judge)
        return [(row.number, fault) for row, fault in zip(rows, faults, strict=True) if fault]

    def _faults_of(self, row):
        """Return [(number, fault)] if a document cannot be judged, else []; judge only a copy."""
        columns = {**row.columns, self.columns["id"]: "-"}
        return self._judge([replace(row, identity="-", columns=columns)])

    # Periods

    def _open(self, begin):
        """Open a period and add its documents that arrived early."""
        self.current = OpenPeriod(begin, self.current.answers)
        if begin is not None:
            self.current.resume(self.inbox, self.arrivals, self.judge)

    def end(self, begin=None):
        """End the open period, start a run that learns it, and open the period from `begin` on.

        Without `begin`, no period is opened.
        """
        if self.n_learning + self.n_waiting == MAX_UNLEARNED:
            # The next run starts below. It then also learns the period that ends now.
            self._load_result()
        ended = [
            label for label in self.inbox.begun() if begin is None or begin_of_label(label) < begin
        ]
        # Publish before the next period opens: after a kill, a watch opens the first hidden one.
        for label in ended:
            self.shares.close(label, *self.inbox.publish(label))
        if self._is_behind(begin):
            # A run that starts before the shares are written would parse the files again.
            self.shares.wait()
        if begin is not None and not ended and not self.learned:
            self.current.begin = begin
            self._load()
        self._open(begin)
        if ended:
            self.n_waiting += 1
        if ended or self.run_again:
            self.learn()

    def learn(self):
        """Start a run that learns ended periods, or request one after the run under way.

        While the input is behind the clock, so that further periods will end soon, most runs write
        no page; `pause` requests one that does.
        """
        self.run_again = self.learned is not None
        if self.run_again:
            return
        self.n_learning, self.n_waiting = self.n_waiting, 0
        now = time.monotonic()
        is_recent = now - self.page_time < PAGE_INTERVAL
        self.page_due = is_recent and self._is_behind(self.current.begin)
        if not self.page_due:
            self.page_time = now
        self.learned = self.thread.submit(self._run, not self.page_due)

    def pause(self):
        """Request a run that writes the page, if it is due; called while no input arrives."""
        if self.page_due and not self.learned:
            self.page_time = -math.inf
            self.learn()

    def _is_page_stale(self):
        """Return whether the last period was learned after the page was written."""
        if self.last_learned < 0:
            return False
        page, alerts = self._path("newpage", 0), self._path("alerts", self.last_learned)
        return not os.path.exists(page) or os.path.getmtime(page) < os.path.getmtime(alerts)

    def _is_behind(self, begin):
        """Return whether the period from `begin` on has ended by the clock; False for None."""
        return begin is not None and begin < self._begin_by_clock()

    def _begin_by_clock(self):
        """Return the begin of the period that is open by the clock."""
        return begin_of(clock() - self.tolerance, self.calendar)

    def _run(self, page):
        """Run `odl run` in the other process and read its results, in a thread of the watch.

        A failed or interrupted run returns the present judge and no records.

        Parameters
        ----------
        page : bool
            Whether the run writes the page.

        Returns
        -------
        judge : DocumentJudge or None
            Judge with the dictionary that the run learned.
        last : int
            Last learned timestep.
        records : list of (None, str)
            Records of the periods that were not reported before.
        """
        unchanged = self.judge, self.last_learned, []
        self.shares.wait()
        if not self.runner.start(page):  # a signal came
            return unchanged
        status, lines = self.runner.wait()
        self._print_warnings(lines)
        if status == 0:
            self.fault = ""
            return self._read_run()
        # A failed run prints its error last. The same error may end the run of every period, and is
        # printed once.
        if status not in STOPPED_STATUSES and lines[-1] != self.fault:
            self.fault = lines[-1]
            print_line(f"the period is not learned yet: {self.fault}")
        return unchanged

    def _read_run(self):
        """Read the results of a successful run; return them as `_run` does."""
        judge, _ = self._read_learned(self.current.begin)
        last, last_reported = self._last_timestep(), self.last_learned
        n_unreported = last - last_reported
        is_stored = 0 <= last_reported <= last
        # The last reported period is reported again if its alerts changed, because the watch
        # accepted further documents of this period after the report.
        if is_stored and self._digest_of_alerts(last_reported) != self.last_digest:
            n_unreported += 1
        if n_unreported <= 0:
            return judge, last_reported, []
        self.last_digest = self._digest_of_alerts(last)
        alerts = read.alerts_of(".", last=n_unreported)
        return judge, last, [(None, self.record_of(alerts, period)) for period in alerts.periods]

    def _print_warnings(self, lines):
        """Print the warnings in the output of a run.

        Warnings are all lines about the command of the key ``notify``, and the line about results
        of another version of odl. The latter is printed once.
        """
        for line in lines:
            if line.startswith(COMMAND_PREFIXES):
                print_line(line)
            elif line.startswith(VERSION_PREFIX):
                self._print_once(VERSION_PREFIX, line)

    def poll(self):
        """Report the periods of a run that has ended; end the open period if its time is over.

        Without `by_clock`, or while a run is under way, no period ends here. With `by_clock`, a
        period ends `tolerance` seconds after its end by the clock.
        """
        if self.learned and self.learned.done():
            self.finish()
        begin = self._begin_by_clock()
        if (
            self.by_clock
            and not self.learned
            and self.current.begin is not None
            and begin > self.current.begin
        ):
            self.end(begin)

    def finish(self):
        """Wait for the run under way and report its periods; start a run requested meanwhile."""
        self._load_result()
        if self.run_again:
            self.learn()

    def _load_result(self):
        """Wait for the run under way, load the new judge, and report the learned periods."""
        if self.learned:
            self.judge, self.last_learned, records = self.learned.result()
            self.learned, self.n_learning = None, 0
            self.tell(records)

    def close(self, interrupted=False):
        """End the watch, and print the numbers of accepted, late and refused documents.

        Parameters
        ----------
        interrupted : bool
            Whether a signal ends the watch: the open period continues in the next watch. Otherwise
            the input has ended, and the last period is learned.

        Raises
        ------
        DataError, EarlierError
            If the input has ended and the last period could not be learned.
        """
        if interrupted:
            self._stop()
        else:
            self._learn_last_period()

    def _stop(self):
        """Stop the run under way, and publish the documents of the open periods."""
        self.runner.stop()
        for label in self.inbox.begun():
            self.inbox.publish(label)
        self._print_counts(names_table=False)
        self.run_again = False
        # The run may have ended before the signal reached it.
        with contextlib.suppress(OdlError, OSError):
            self.finish()

    def _learn_last_period(self):
        """Learn the last period after the end of the input; raise an error if that fails."""
        if self.n_accepted or self.inbox.begun():
            self.end()
        # A run also writes the table of refused documents.
        if self.page_due or (self.n_refused and not self.learned):
            self.learn()
        while self.learned:
            self.finish()
        self.runner.close()
        self._print_counts(names_table=True)
        if self.fault:
            if error := self.earlier_error():
                raise error
            raise DataError(
                "the input ended before the last period could be learned",
                "odl run to succeed",
                "correct what is printed above, then type odl run",
            )

    def _print_counts(self, names_table):
        """Print the numbers of documents, with the path of the table of refused documents or not.

        A run writes this table, so that a watch that was ended by a signal does not name it.
        """
        counts = [f"{self.n_accepted} documents accepted"]
        if self.n_repeated:
            counts.append(f"{self.n_repeated} sent again")
        counts += [f"{self.n_late} late", f"{self.n_refused} set aside"]
        if self.n_refused and names_table:
            counts[-1] += f" ({self.folder.config['results']}/set-aside.tsv)"
        print_line(", ".join(counts))


def follow(groups, runner, *settings):
    """Watch the working folder until its source ends or a signal arrives.

    After SIGHUP, the watch reads odl.yaml again. After SIGTERM or SIGINT, it answers the documents
    that it has read and ends, at the latest after `GRACE_SECONDS`.

    Parameters
    ----------
    groups : callable
        Called with the watch and a function that returns whether a signal ends the watch. Yields
        groups of lines, and from time to time an empty group while no input arrives.
    runner : odl.live.runner.Runner
    *settings
        Arguments of `LiveWatch` after `runner`.

    Raises
    ------
    BusyError
        If another watch is running in the folder.
    """
    arrived, heed, watch = set(), processes.Heed(), None

    def note(number, frame):
        """Store the number of a signal, and start the timer after which the watch ends anyway."""
        arrived.add(number)
        if number == signal.SIGALRM:
            heed(number, frame)
        # A second signal does not extend the time.
        elif number != signal.SIGHUP and not signal.getitimer(signal.ITIMER_REAL)[0]:
            signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, note)
    with inboxes.alone():
        try:
            watch = LiveWatch(runner, *settings)
            try:
                for group in groups(watch, lambda: bool(arrived - {signal.SIGHUP})):
                    if signal.SIGHUP in arrived:
                        arrived.remove(signal.SIGHUP)
                        while watch.learned:
                            watch.finish()
                        watch.configure_again()
                    watch.poll()
                    if group:
                        watch.take(group)
                    else:
                        watch.pause()
            except Exception:  # any fault is raised after the accepted documents are published
                watch.close(interrupted=True)
                raise
            watch.close(interrupted=bool(arrived))
        except processes.Stopped:
            # A command, a lock or the reader of the answers blocks the watch: end as after a kill.
            runner.stop()
            print_line(
                f"ended {GRACE_SECONDS:g} s after a signal; send documents without an answer again"
            )
            os._exit(0)  # an ordinary exit would wait for the threads
    signal.setitimer(signal.ITIMER_REAL, 0)
