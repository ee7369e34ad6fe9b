"""Progress of a run on a screen: a line a stage, with a bar, the period at work and the time that is left."""

import os
import re
import shlex
import shutil
import threading
import time
from dataclasses import dataclass, field

from odl.files import joblog

LAST = "pages"  # also a rule that is none of the workflow's
STAGES = {  # title -> rules
    "reading": ("download", "share", "read"),
    "compiling": ("kernels",),
    "batches": ("index", "batch", "features"),
    "learning": ("score", "update", "update_over_ranks", "baselines"),
    "topics": ("topics",),
    "alerts": ("alerts",),
    "experiments": ("measure", "experiment"),
    LAST: (
        *("evaluate", "evaluate_baselines", "emerging", "regret", "regrets", "emergings", "plan"),
        *("tables", "figures", "page", "newpage"),
    ),
}
LOCKED = "Directory cannot be locked"
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
    first: dict = field(default_factory=dict)  # rule -> the smallest timestep of its jobs


class Progress:
    """The lines of a run, from what Snakemake says of its jobs.

    Parameters
    ----------
    stream : text file
    live : bool
        Whether it is a terminal, where lines change; elsewhere a line is written when its stage has ended.
    clock : callable
    """

    def __init__(self, stream, live, clock=time.monotonic):
        self.stream, self.live, self.clock = stream, live, clock
        self.stages, self.jobs, self.shown, self.drawn, self.printed = {}, {}, 0, 0.0, {}
        self.wrong, self.stopped = [], False
        self.failed, self.steps, self.waits, self.indexed = False, None, False, 0
        self.closed, self.ended, self.lock, self.born = False, threading.Event(), threading.RLock(), None

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
        self.waits = "index" in counts and self.steps is None
        for rule, count in counts.items():
            stage = self._stage(rule)
            if stage.done == 0 and rule not in ("all", "total"):
                stage.expected += count

    def started(self, job, rule, wildcards, output=(), log=()):
        """A job begins."""
        stage = self._stage(rule)
        if stage.title == LAST and not stage.began and not self.live:
            compiling = self.stages.get("compiling")
            if compiling and compiling.began:
                self._print(compiling)
        stage.began = stage.began or self.clock()
        self.jobs[job] = (rule, dict(wildcards or {}), list(output), list(log))
        t = self.jobs[job][1].get("t")
        if t is not None:
            key = (rule, *(value for name, value in wildcards.items() if name != "t"))
            stage.first[key] = min(int(t), stage.first.get(key, int(t)))
            self._count(stage)
        self.draw()

    def finished(self, job, note=""):
        """A job has ended well; `note` is what its log would say."""
        if job not in self.jobs:
            return
        rule, wildcards, output, log = self.jobs.pop(job)
        stage = self._stage(rule)
        stage.done, stage.ended = stage.done + 1, self.clock()
        if rule == "index":
            self.waits, self.indexed = False, self.indexed + 1
            self.steps = max(self.steps or 0, _rows_of(output))
            for one in self.stages.values():
                self._count(one)
        elif rule == "read":
            stage.note = note or _line(log, first=True).removeprefix("odl read: ")
        elif "t" in wildcards:
            stage.note = dates_in(note) or period_of(log, wildcards["t"]) or stage.note
        over = self._is_over(stage) and stage.title not in ("compiling", LAST, *self.printed)
        if over and not self.live:
            self._print(stage)
        self.draw()

    def error(self, job):
        """A job has failed: why, and where more is said, is written at the end, unless a person stopped it."""
        rule, _, _, log = self.jobs.get(job, ("", {}, [], []))
        self.failed = True
        said = _line(log)
        self.wrong.append(said if said and not said.startswith(joblog.MARK) else f"the step {rule} failed")
        self.wrong += [f"log: {os.path.relpath(path, os.environ.get('ODL_FROM') or os.curdir)}" for path in log]

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
                stage.expected, self.waits = stage.done, False
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
        over = self._is_over(stage)
        full = BAR if over else BAR * stage.done // max(total, 1)
        spent = (stage.ended if over else self.clock()) - stage.began
        count = f"{stage.done}/{total}" if total else ""
        so_far, rest = f"{duration(spent)} so far", total - stage.done
        left = f"{duration(spent / stage.done * rest)} left" if stage.done and rest else so_far
        ending = duration(spent) if over else left
        note = stage.note if over else self._now(stage) or stage.note
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

    def _count(self, stage):
        """Jobs of timesteps become known with the index."""
        if self.steps and stage.first:
            chains = dict(stage.first)
            if stage.title == "batches":  # of each stream a batch and its features
                chains = {(rule, *key[1:]): first for key, first in chains.items() for rule in ("batch", "features")}
            known = sum(self.steps - first for first in chains.values())
            stage.expected = max(stage.expected, known + (stage.title == "batches" and self.indexed))

    def _is_over(self, stage):
        if self.closed:
            return stage.done > 0
        waits = stage.title != "reading" and (self.waits or (stage.title == "batches" and not stage.first))
        return stage.done > 0 and stage.done >= stage.expected and not waits


def told(text):
    """Return what is said of an error of Snakemake's: one sentence of a folder that is locked, else its own words."""
    if LOCKED not in text:
        return text
    folder = os.path.relpath(os.curdir, os.environ.get("ODL_FROM") or os.curdir)
    again = shlex.join(["odl", "run", folder, "--", "--unlock"])
    return f"odl run: {folder} is locked: another run is under way; if not, one was killed: {again}"


def period_of(log, t):
    """Return the period of a timestep, which the log of its batch tells, from the log of any of its jobs."""
    for path in log:
        place = re.sub(r"(/seed\d+)/.*$", rf"\1/batches/{int(t)}.log", path)
        if dates := dates_in(_line([place])):
            return dates
    return f"timestep {t}"


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
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = [line.strip() for line in file if line.strip()]
        except OSError:
            continue
        if lines:
            ours = [line for line in lines if line.startswith("odl ")] or lines[-1:]
            return ours[0 if first else -1]
    return ""


def _rows_of(output):
    """Return the rows of a table with a header, of the first file that is there."""
    for path in output:
        try:
            with open(path, "rb") as file:
                return sum(1 for _ in file) - 1
        except OSError:
            continue
    return 0
