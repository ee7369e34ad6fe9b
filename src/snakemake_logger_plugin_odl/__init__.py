"""Snakemake's plugin ``--logger odl``: the lines of `odl.cli.progress` in the place of its own."""

import logging
import os
import sys

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from odl.cli.progress import Progress


class LogHandler(LogHandlerBase):
    """Writes to the file whose number ODL_PROGRESS has, or to the error stream."""

    def __post_init__(self):
        logging.Handler.__init__(self)  # the base class of interfaces before 2.0 does not
        number = os.environ.get("ODL_PROGRESS", "")
        stream = os.fdopen(int(number), "w", encoding="utf-8", closefd=False) if number.isdigit() else sys.stderr
        self.progress = Progress(stream, stream.isatty() and os.environ.get("TERM") != "dumb")
        self.progress.tick()

    def emit(self, record):
        """Take one event."""
        try:
            with self.progress.lock:
                self._take(record)
        except Exception:
            self.handleError(record)

    def _take(self, record):
        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO:
            self.progress.expect(record.stats)
        elif event == LogEvent.JOB_INFO:
            self.progress.started(
                record.jobid, record.rule_name, record.wildcards, record.output or (), record.log or ()
            )
        elif event == LogEvent.JOB_FINISHED:
            self.progress.finished(record.job_id)
        elif event == LogEvent.JOB_ERROR:
            self.progress.error(record.jobid)
        elif str(record.msg).startswith("Terminating processes on user request"):
            self.progress.stopped = True
        elif str(record.msg).startswith("Nothing to be done"):
            self.progress.say("nothing new: all results are up to date", failed=False)
        elif record.levelno >= logging.ERROR and not self.progress.failed:
            text = str(record.getMessage()).strip()
            if not text.startswith("RuleException"):  # of a job that failed, which is said by itself
                self.progress.say(text)

    def close(self):
        """Write the last lines."""
        with self.progress.lock:
            self.progress.close()
        super().close()

    @property
    def writes_to_stream(self):
        return True

    @property
    def writes_to_file(self):
        return False

    @property
    def has_filter(self):
        return True

    @property
    def has_formatter(self):
        return True

    @property
    def needs_rulegraph(self):
        return False
