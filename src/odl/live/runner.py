"""The process in which a watch runs ``odl run``, one run after another (`odl.cli.runs`)."""

import os
import subprocess
import sys
import tempfile
import threading

from odl.config import places
from odl.files.escaping import visible

NICENESS = 10  # increase of the process's nice value, so that answers to documents come first


class Runner:
    """Runs the working folder in another process.

    The process starts at the first request and ends when it is idle.

    Parameters
    ----------
    patience : float
        Seconds that a run waits for a run of another process.

    Attributes
    ----------
    process : subprocess.Popen or None
    """

    def __init__(self, patience):
        self.patience, self.process, self.output = patience, None, None
        self.stopped, self.lock = False, threading.Lock()

    def start(self):
        """Request a run, and return whether it was requested; after `stop` it is not.

        `wait` returns the result of the run. If no process is running, one is started.
        """
        with self.lock:  # a process that is started after `stop` would not end
            if self.stopped:
                return False
            if self.process is None or self.process.poll() is not None:
                self._start_process()
        self.output.seek(0)
        self.output.truncate()
        try:
            self.process.stdin.write(b"\n")  # a request (`odl.cli.runs`)
        except BrokenPipeError:  # the idle process ended after the check above
            return self.start()
        return True

    def wait(self):
        """Wait for the run; return its exit status and the lines that it printed.

        An idle process ends by itself. If it ended before it read the request, a new process runs
        the folder.
        """
        reply = self.process.stdout.readline()
        if not reply and self.process.wait() == 0 and not self.stopped:
            self.start()
            return self.wait()
        self.output.seek(0)
        lines = visible(self.output.read().decode("utf-8", "replace")).strip().split("\n")
        return int(reply or self.process.returncode), lines

    def stop(self):
        """End the process and the run in it."""
        with self.lock:
            self.stopped = True
            if self.process:
                self.process.terminate()

    def close(self):
        """End the process after its run."""
        if self.process:
            self.process.stdin.close()
            self.process.wait()

    def _start_process(self):
        """Start the process. It imports nothing from the folder: -P, and no relative paths."""
        command = [sys.executable, "-P", "-m", "odl.cli.runs", os.getcwd(), str(self.patience)]
        given_paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        paths = [path for path in given_paths if os.path.isabs(path)]
        environment = {
            **os.environ,
            "NO_COLOR": "1",  # the watch parses the output of this process
            "PYTHONPATH": os.pathsep.join([*paths, str(places.PACKAGE.parent)]),
        }
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 - both processes use it until they end
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.output}
        self.process = subprocess.Popen(command, bufsize=0, env=environment, **pipes)
        os.setpriority(os.PRIO_PROCESS, self.process.pid, NICENESS)
