"""Progress of `odl run` on a screen: a line a stage, with a bar, the period at work and the time that is left."""

import re
import shutil
import time
from dataclasses import dataclass, field

STAGES = {  # title -> steps
    "reading": ("share", "read"),
    "batches": ("batch", "features"),
    "learning": ("update",),
    "alerts": ("alerts",),
    "pages": ("newpage",),
}
BAR = 20
EVERY = 0.2  # seconds between two pictures on a terminal


@dataclass
class Stage:
    """Steps of one kind.

    Parameters
    ----------
    expected : int
        Steps as far as they are known.
    """

    title: str
    expected: int = 0
    done: int = 0
    began: float = 0.0
    ended: float = 0.0
    note: str = ""
    first: dict = field(default_factory=dict)  # step -> the smallest timestep that is done


class Progress:
    """The lines of a run.

    Parameters
    ----------
    stream : text file
    live : bool
        Whether it is a terminal, where lines change; elsewhere a line is written when its stage has ended.
    clock : callable

    Attributes
    ----------
    steps : int
        Timesteps that there are.
    """

    def __init__(self, stream, live, clock=time.monotonic):
        self.stream, self.live, self.clock = stream, live, clock
        self.stages, self.printed, self.steps, self.shown, self.drawn = {}, {}, 0, 0, 0.0

    def started(self, step, t=None):
        """A step begins."""
        if (stage := self._stage(step)) is None:
            return
        stage.began = stage.began or self.clock()
        if t is not None:
            for each in STAGES[stage.title]:  # of a timestep a batch, its features
                stage.first[each] = min(t, stage.first.get(each, t))
            stage.expected = max(stage.expected, sum(self.steps - first for first in stage.first.values()))
        self.draw()

    def finished(self, step, t=None, note=""):
        """A step has ended well; `note` says what was read, or names the days of the timestep."""
        if (stage := self._stage(step)) is None:
            return
        stage.done, stage.ended = stage.done + 1, self.clock()
        if step == "read":
            stage.note = note
        elif t is not None:
            stage.note = dates_in(note) or f"timestep {t}"
        if not self.live and (step == "read" or (t is not None and stage.done == stage.expected)):
            self._print(stage)
        self.draw()

    def close(self, whole=True):
        """Write what is left of the lines; of a run that ended before its time as far as they came."""
        self._clear()
        for stage in self._ordered():
            if whole:
                stage.expected = stage.done
            if self.printed.get(stage.title) != stage.done:
                self._print(stage)
        self.stages = {}

    def draw(self):
        """Show the stages as they are, on a terminal."""
        if not self.live or self.clock() - self.drawn <= EVERY:
            return
        self.drawn = self.clock()
        width = shutil.get_terminal_size((100, 24)).columns - 1
        self._clear()
        self.stream.write("".join(self.line(stage)[:width] + "\n" for stage in self._ordered()))
        self.stream.flush()
        self.shown = len(self.stages)

    def line(self, stage):
        """Return the line of a stage."""
        total = max(stage.expected, stage.done)
        over = 0 < stage.done == total
        full = BAR * stage.done // max(total, 1)
        spent = (stage.ended if over else self.clock()) - stage.began
        ending = duration(spent)
        if not over:
            ending = f"{duration(spent / stage.done * (total - stage.done))} left" if stage.done else f"{ending} so far"
        count = f"{stage.done}/{total}" if total else ""
        return f"{stage.title:<12}{'█' * full}{'░' * (BAR - full)} {count:>9}  {stage.note:<24} {ending}".rstrip()

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

    def _stage(self, step):
        """Return the stage of a step; None of one that is not shown."""
        title = next((title for title, steps in STAGES.items() if step in steps), None)
        return self.stages.setdefault(title, Stage(title)) if title else None


def dates_in(text):
    """Return the day, or the first and the last one, that a text names; "" where it names none."""
    match = re.search(r"\d{4}-\d\d-\d\d( to \d{4}-\d\d-\d\d)?", text)
    return match[0] if match else ""


def duration(seconds):
    """Return seconds as a person says them."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
