"""Requests of a watch for ``odl run``, which runs in another process (`odl.cli.runs`)."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile

from odl.config import places
from odl.engine import processes
from odl.files.escaping import visible

# Requests: a run, and a run that writes no page.
RUN, LEARN = b"r", b"l"
RUN_WAIT_SECONDS = 3600.0  # longest wait for a run of another process
ENDED = "the process that learns was ended; start odl watch again"


class Runner:
    """Runs the working folder in another process, which ends with this one.

    On Linux the process is forked, so it need not import the modules that this one has. It must be
    started before this process has threads, locks or servers: a forked process would share them.

    Parameters
    ----------
    serve : callable
        `odl.cli.runs.serve`, which the other process calls.
    forks : bool
        Whether to fork. If false, a new interpreter starts: libraries of macOS cannot be used
        after a fork.

    Attributes
    ----------
    pid : int
        Id of the other process, which forks a third process for the runs.
    """

    def __init__(self, serve, forks=sys.platform == "linux"):
        self.connection, connection = socket.socketpair()
        self.output, self.stopped = tempfile.TemporaryFile(), False  # noqa: SIM115 - it stays open
        arguments = connection.fileno(), self.output.fileno(), RUN_WAIT_SECONDS
        if forks:
            self.pid = processes.fork(self._call, serve, connection, *arguments[1:])
        else:
            self.pid = _start_interpreter(arguments)
        connection.close()

    def _call(self, serve, *arguments):
        self.connection.close()  # otherwise the process would not notice that the watch has ended
        serve(*arguments)

    def start(self, page):
        """Request a run; return False after `stop`, else True.

        `wait` returns the result of the run.

        Parameters
        ----------
        page : bool
            Whether the run writes the page.
        """
        self.output.seek(0)
        self.output.truncate()
        with contextlib.suppress(OSError):  # `wait` reports that the process has ended
            self.connection.send(RUN if page else LEARN)
        return not self.stopped

    def wait(self):
        """Wait for the run; return its exit status and the lines that it printed."""
        reply = b""
        with contextlib.suppress(OSError):
            reply = self.connection.recv(1)
        self.output.seek(0)
        lines = visible(self.output.read().decode("utf-8", "replace")).strip().split("\n")
        if reply:
            return reply[0], lines
        return (128 + signal.SIGTERM, lines) if self.stopped else (1, [ENDED])

    def stop(self):
        """End the run under way and the process."""
        self.stopped = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def close(self):
        """End the process and wait for its end. No run may be under way."""
        self.stop()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _start_interpreter(arguments):
    """Start `odl.cli.runs` in a new interpreter; return the id of its process.

    The interpreter imports nothing from the working folder, because of the option -P and since
    relative paths are removed from PYTHONPATH.
    """
    connection, output, _ = arguments
    given_paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [path for path in given_paths if os.path.isabs(path)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, str(places.PACKAGE.parent)]),
    }
    command = [sys.executable, "-P", "-m", "odl.cli.runs", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, pass_fds=[connection, output]).pid
