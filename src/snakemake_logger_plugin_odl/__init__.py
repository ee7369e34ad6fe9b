"""Snakemake's logger `odl`: one line with the steps that are done, what runs and the time left.

`snakemake --logger odl` writes it in place of Snakemake's own lines, which go to the files in .snakemake/log. It prints
errors and warnings in full. Snakemake finds the package by its name.
"""

import contextlib
import logging
import os
import shutil
import sys
import threading
import time
from collections import deque

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from odl.files.columns import duration, shortened

REDRAW, REPEAT = 0.5, 10  # seconds between two states of the line on a terminal, and between two lines elsewhere
RECENT = 50  # finished steps whose mean distance in time gives the time left
FEWEST = 10  # of them, before which no time is printed
# Events of every run and of every step, which Snakemake's log has in full.
USUAL = {
    LogEvent.RUN_INFO, LogEvent.WORKFLOW_STARTED, LogEvent.RESOURCES_INFO, LogEvent.RULEGRAPH, LogEvent.DEBUG_DAG,
    LogEvent.JOB_INFO, LogEvent.GROUP_INFO, LogEvent.SHELLCMD, LogEvent.JOB_STARTED, LogEvent.JOB_FINISHED,
    LogEvent.PROGRESS,
}  # fmt: skip


class LogHandler(LogHandlerBase):
    """Writer of the line.

    Attributes
    ----------
    done, total : int
        Steps, as Snakemake counts them: `total` grows when a checkpoint shows what there is to do.
    running : dict of int to str
        Steps that were started and have not ended, by the number of their job.
    """

    writes_to_stream, writes_to_file = True, False
    has_filter, has_formatter, needs_rulegraph = True, False, False

    def __post_init__(self):
        logging.Handler.__init__(self)  # which Snakemake 9.8 leaves out
        self.done, self.total, self.running = 0, 0, {}
        self.began, self.recent = time.monotonic(), deque(maxlen=RECENT)
        self.failed, self.remarks = False, []  # whether there was an error; what Snakemake said since the last event
        self.live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.ended = threading.Event()
        threading.Thread(target=self._repeat, daemon=True).start()

    def emit(self, record):
        """Take in what Snakemake reports. Print errors, and the remarks of Snakemake just before and after them."""
        try:
            self._take_in(record)
        except Exception:  # of a record in another form; the thread that calls this has to go on
            self.handleError(record)

    def _take_in(self, record):
        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO:
            self.total = record.stats["total"]
        elif event == LogEvent.JOB_INFO:
            self.running[record.jobid] = f"{record.rule_name} {'/'.join(map(str, record.wildcards.values()))}".strip()
        elif event == LogEvent.JOB_FINISHED:
            self.running.pop(record.job_id, None)
        elif event == LogEvent.PROGRESS:
            self.done, self.total = record.done, record.total
            self.recent.append(time.monotonic())
        elif event == LogEvent.JOB_ERROR:
            self.running.pop(record.jobid, None)
        if event in USUAL:
            self.remarks.clear()
        elif self.failed or record.levelno >= logging.WARNING or self.common_settings.dryrun:
            self.failed |= record.levelno >= logging.ERROR
            self._write("".join(f"{text}\n" for text in (*self.remarks, self.format(record))))
            self.remarks.clear()
        else:
            self.remarks.append(self.format(record))

    def state(self):
        """Return the line."""
        left = ""
        if len(self.recent) >= FEWEST and self.done < self.total:
            mean = (self.recent[-1] - self.recent[0]) / (len(self.recent) - 1)
            left = f", {duration(mean * (self.total - self.done))} left"
        running = [*self.running.values()]
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        return f"{self.done} of {self.total} steps{left}{f': {running[0]}{more}' if running else ''}"

    def close(self):
        """Write the last line: how many steps ran, and how long that took."""
        if not self.ended.is_set():
            self.ended.set()
            if self.total and not self.common_settings.dryrun:
                self._write(f"{self.done} of {self.total} steps in {duration(time.monotonic() - self.began)}\n")
        super().close()

    def _repeat(self):
        while not self.ended.wait(REDRAW if self.live else REPEAT):
            self.acquire()  # so that no error is printed meanwhile
            try:
                if self.running and not self.ended.is_set():
                    self._write(self.state() + "\n" * (not self.live))
            finally:
                self.release()

    def _write(self, text):
        if self.live:
            line = shortened(text, shutil.get_terminal_size().columns - 1) if not text.endswith("\n") else text
            text = f"\r\x1b[K{line}"
        with contextlib.suppress(OSError, ValueError):  # a stream that nobody reads any more
            sys.stderr.write(text)
            sys.stderr.flush()
