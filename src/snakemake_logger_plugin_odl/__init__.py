"""Logger plugin of Snakemake that prints one line of progress.

The line has the number of finished steps, the time left and the running step. `snakemake --logger
odl` prints it instead of Snakemake's own messages, which are in the files of .snakemake/log. Errors
and warnings are printed in full. Snakemake finds the plugin by the name of this package.
"""

import contextlib
import logging
import sys
import threading
import time
from collections import deque

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from odl.files import terminal
from odl.files.terminal import duration

REDRAW_SECONDS = 0.5  # between two updates of the line on a terminal
REPEAT_SECONDS = 10  # between two lines in a file or pipe
RECENT_STEPS = 50  # number of finished steps from which the time left is estimated
MIN_RECENT_STEPS = 10  # number of finished steps before the time left is printed
# Events of every run and every step. They are not printed; Snakemake's log file has them.
ROUTINE_EVENTS = {
    LogEvent.RUN_INFO, LogEvent.WORKFLOW_STARTED, LogEvent.RESOURCES_INFO, LogEvent.RULEGRAPH,
    LogEvent.DEBUG_DAG, LogEvent.JOB_INFO, LogEvent.GROUP_INFO, LogEvent.SHELLCMD,
    LogEvent.JOB_STARTED, LogEvent.JOB_FINISHED, LogEvent.PROGRESS,
}  # fmt: skip


class LogHandler(LogHandlerBase):
    """Handler of Snakemake's log events that prints the line of progress to standard error.

    Attributes
    ----------
    done, total : int
        Numbers of finished and of all steps, as counted by Snakemake. `total` grows when a
        Snakemake checkpoint adds steps.
    running : dict of int to str
        Names of the running steps, by job id.
    """

    writes_to_stream, writes_to_file = True, False
    has_filter, has_formatter, needs_rulegraph = True, False, False

    def __post_init__(self):
        logging.Handler.__init__(self)  # Snakemake 9.8 does not call it
        self.done, self.total, self.running = 0, 0, {}
        self.began, self.recent = time.monotonic(), deque(maxlen=RECENT_STEPS)
        # Whether there was an error, and the messages since the last routine event
        self.failed, self.remarks = False, []
        self.live = terminal.is_live(sys.stderr)
        self.ended = threading.Event()
        threading.Thread(target=self._repeat, daemon=True).start()

    def emit(self, record):
        """Update the progress from a log record; print errors, warnings and messages near them."""
        try:
            self._handle(record)
        except Exception:  # a record of unexpected form must not end the calling thread
            self.handleError(record)

    def _handle(self, record):
        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO:
            self.total = record.stats["total"]
        elif event == LogEvent.JOB_INFO:
            self.running[record.jobid] = (
                f"{record.rule_name} {'/'.join(map(str, record.wildcards.values()))}".strip()
            )
        elif event == LogEvent.JOB_FINISHED:
            self.running.pop(record.job_id, None)
        elif event == LogEvent.PROGRESS:
            self.done, self.total = record.done, record.total
            self.recent.append(time.monotonic())
        elif event == LogEvent.JOB_ERROR:
            self.running.pop(record.jobid, None)
        if event in ROUTINE_EVENTS:
            self.remarks.clear()
        elif self.failed or record.levelno >= logging.WARNING or self.common_settings.dryrun:
            self.failed |= record.levelno >= logging.ERROR
            self._write("".join(f"{text}\n" for text in (*self.remarks, self.format(record))))
            self.remarks.clear()
        else:
            self.remarks.append(self.format(record))

    def state(self):
        """Return the line of progress.

        An example is "12 of 40 steps, 3 min left: learn wiki/5 and 1 more".
        """
        time_left = ""
        if len(self.recent) >= MIN_RECENT_STEPS and self.done < self.total:
            mean = (self.recent[-1] - self.recent[0]) / (len(self.recent) - 1)
            time_left = f", {duration(mean * (self.total - self.done))} left"
        names = [*self.running.values()]
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        running = f": {names[0]}{others}" if names else ""
        return f"{self.done} of {self.total} steps{time_left}{running}"

    def close(self):
        """Print the last line: the number of finished steps and the elapsed time."""
        if not self.ended.is_set():
            self.ended.set()
            if self.total and not self.common_settings.dryrun:
                elapsed = duration(time.monotonic() - self.began)
                self._write(f"{self.done} of {self.total} steps in {elapsed}\n")
        super().close()

    def _repeat(self):
        while not self.ended.wait(REDRAW_SECONDS if self.live else REPEAT_SECONDS):
            # The lock of `logging.Handler`, so that lines are not mixed with those of `emit`
            self.acquire()
            try:
                if self.running and not self.ended.is_set():
                    self._write(self.state() + "\n" * (not self.live))
            finally:
                self.release()

    def _write(self, text):
        with contextlib.suppress(OSError, ValueError):  # broken pipe or closed stream
            if self.live and not text.endswith("\n"):
                terminal.redraw(text, sys.stderr, self.done, self.total)
                return
            sys.stderr.write("\r\x1b[K" * self.live + text)
            sys.stderr.flush()
