"""Progress of a run on a screen: a line a stage, with a bar, the period at work and the time that is left."""

import contextlib
import re
import shutil
import threading
import time
from dataclasses import dataclass, field

from odl.files import joblog

LAST = "pages"  # also a rule that is none of the workflow's
STAGES = {  # title -> rules
    "reading": ("download", "share", "read"),
    "compiling": ("kernels",),
    "batches": ("batch", "features"),
    "learning": ("score", "update", "update_over_ranks", "baselines"),
    "topics": ("topics",),
    "alerts": ("alerts",),
    "experiments": ("measure", "experiment"),
    LAST: (),
}
UNCOUNTED = ("all", "total", "index")  # no job, or one by which others become known
BAR = 20
EVERY = 0.2  # seconds between two pictures on a terminal
TICK = 1.0  # seconds after which there is one though nothing has happened


@dataclass
class Stage:
    """Jobs of one kind.

    Parameters
    ----------
    expected : int
        Jobs as far as they are known.
    """

    title: str
    expected: int = 0
    done: int = 0
    began: float = 0.0
    ended: float = 0.0
    note: str = ""
    first: dict = field(default_factory=dict)  # rule and chain -> the smallest timestep of its jobs


class Progress:
    """The lines of a run, from what `odl run` or Snakemake says of its jobs.

    Parameters
    ----------
    stream : text file
    live : bool
        Whether it is a terminal, where lines change; elsewhere a line is written when its stage has ended.
    clock : callable
    """

    def __init__(self, stream, live, clock=time.monotonic):
        self.stream, self.live, self.clock = stream, live, clock
        self.stages, self.jobs, self.periods, self.printed = {}, {}, {}, {}
        self.wrong, self.failed, self.stopped, self.closed = [], False, False, False
        self.steps, self.shown, self.drawn, self.born = 0, 0, 0.0, None
        self.ended, self.lock = threading.Event(), threading.RLock()

    def tick(self):
        """From now on, show how long jobs have been at work even while none begins or ends."""
        self.born = self.clock()
        if self.live:
            threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self):
        while not self.ended.wait(TICK):
            with self.lock:
                self.draw(now=True)

    def expect(self, counts):
        """Take the number of jobs of each rule."""
        for rule, count in counts.items():
            if rule not in UNCOUNTED and self._stage(rule).done == 0:
                self._stage(rule).expected += count

    def started(self, job, rule, wildcards, output=(), log=()):
        """A job begins."""
        wildcards = dict(wildcards or {})
        self.jobs[job] = (rule, wildcards, list(output), list(log))
        if rule in UNCOUNTED:
            return
        stage = self._stage(rule)
        stage.began = stage.began or self.clock()
        t = wildcards.get("t")
        if t is not None:
            for each in STAGES["batches"] if stage.title == "batches" else (rule,):  # of a stream a batch, its features
                key = (each, *(value for name, value in wildcards.items() if name != "t"))
                stage.first[key] = min(int(t), stage.first.get(key, int(t)))
            stage.expected = max(stage.expected, sum(self.steps - first for first in stage.first.values()))
        self.draw()

    def finished(self, job, note=""):
        """A job has ended well; `note` is what its log would say."""
        if job not in self.jobs:
            return
        rule, wildcards, output, log = self.jobs.pop(job)
        if rule in UNCOUNTED:
            self.steps = max(self.steps, _rows_of(output))
            return
        stage, t = self._stage(rule), wildcards.get("t")
        stage.done, stage.ended = stage.done + 1, self.clock()
        if rule == "read":
            stage.note = note or _line(log, first=True).removeprefix("odl read: ")
        elif t is not None:
            if rule == "batch":
                self.periods[t] = dates_in(note or _line(log))
            stage.note = self.periods.get(t) or f"timestep {t}"
        later = ("compiling", LAST, *self.printed)  # more of these may come
        if not self.live and stage.done >= stage.expected and stage.title not in later:
            self._print(stage)
        self.draw()

    def error(self, job):
        """A job has failed: why, and where more is said, is written at the end, unless a person stopped it."""
        rule, _, _, log = self.jobs.get(job, ("", {}, [], []))
        self.failed = True
        said = _line(log)
        self.wrong.append(said if said and not said.startswith(joblog.MARK) else f"the step {rule} failed")
        self.wrong += [f"log: {path}" for path in log]

    def say(self, text, failed=True):
        """Write a line for good."""
        self._clear()
        self.stream.write(text + "\n")
        self.stream.flush()
        self.failed = self.failed or failed
        self.draw(now=True)

    def close(self):
        """Write what is left of the lines."""
        self.ended.set()
        self._clear()
        self.closed = not (self.failed or self.stopped)
        for stage in self._ordered():
            if self.closed:  # streams of other lengths have fewer jobs than was reckoned
                stage.expected = stage.done
            if stage.began and self.printed.get(stage.title) != stage.done:
                self._print(stage)
        self.stages = {}
        wrong, self.wrong = self.wrong, []
        for text in () if self.stopped else dict.fromkeys(wrong):
            self.say(text)

    def draw(self, now=False):
        """Show the stages as they are, on a terminal."""
        if not self.live or not (now or self.clock() - self.drawn > EVERY):
            return
        self.drawn = self.clock()
        width = shutil.get_terminal_size((100, 24)).columns - 1
        lines = [self.line(stage)[:width] for stage in self._ordered() if stage.began]
        if not lines and self.born is not None:
            lines = [f"planning    {duration(self.clock() - self.born)} so far"]
        self._clear()
        self.stream.write("".join(line + "\n" for line in lines))
        self.stream.flush()
        self.shown = len(lines)

    def line(self, stage):
        """Return the line of a stage."""
        total = max(stage.expected, stage.done)
        over = 0 < stage.done == total
        full = BAR * stage.done // max(total, 1)
        spent = (stage.ended if over else self.clock()) - stage.began
        ending = duration(spent)
        if not over:
            ending = f"{duration(spent / stage.done * (total - stage.done))} left" if stage.done else f"{ending} so far"
        count, note = f"{stage.done}/{total}" if total else "", stage.note if over else self._now(stage) or stage.note
        return f"{stage.title:<12}{'█' * full}{'░' * (BAR - full)} {count:>9}  {note:<24} {ending}".rstrip()

    def _now(self, stage):
        """Return what a job of a stage says that it is at."""
        for rule, _, _, log in self.jobs.values():
            if self._stage(rule) is stage and (said := _line(log)).startswith(joblog.MARK):
                return said.removeprefix(joblog.MARK)
        return ""

    def _print(self, stage):
        self.printed[stage.title] = stage.done
        self.stream.write(self.line(stage) + "\n")
        self.stream.flush()

    def _clear(self):
        if self.shown:
            self.stream.write(f"\x1b[{self.shown}A\x1b[J")
            self.shown = 0

    def _ordered(self):
        return [self.stages[title] for title in STAGES if title in self.stages]

    def _stage(self, rule):
        title = next((title for title, rules in STAGES.items() if rule in rules), LAST)
        return self.stages.setdefault(title, Stage(title))


def dates_in(text):
    """Return the day, or the first and the last one, that a text names; "" where it names none."""
    match = re.search(r"\d{4}-\d\d-\d\d( to \d{4}-\d\d-\d\d)?", text)
    return match[0] if match else ""


def duration(seconds):
    """Return seconds as a person says them."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _line(paths, first=False):
    """Return the last line (or first) of the first of some files that a step of odl wrote, or its last line at all."""
    for path in paths:
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
            if lines:
                ours = [line for line in lines if line.startswith("odl ")] or lines[-1:]
                return ours[0 if first else -1]
    return ""


def _rows_of(output):
    """Return the rows of a table with a header, of the first file that is there."""
    for path in output:
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return sum(1 for _ in file) - 1
    return 0
