"""Run Snakemake in a fork of the test process, which has imported it: half the time of a process of its own.

Its jobs are separate processes as always. `Study.started` starts a Snakemake that a test kills.
"""

import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path


def snakemake(words, folder, variables, timeout=600):
    """Run Snakemake in a folder, with the environment `variables` and the modules that its PYTHONPATH says.

    Returns
    -------
    int
        The exit status.
    str
        Everything it printed.
    """
    import snakemake.api
    import snakemake.cli  # noqa: F401  (before the fork)

    with tempfile.TemporaryFile() as printed:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            _run(words, folder, variables, printed.fileno())
        try:
            status = _end(pid, time.monotonic() + timeout)
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        printed.seek(0)
        return status, printed.read().decode(errors="replace")


def _end(pid, latest):
    """Wait for the end of a child; return its exit status."""
    while time.monotonic() < latest:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    raise TimeoutError("Snakemake did not end")


def _run(words, folder, variables, output):
    """Run Snakemake in this child process and exit. Only modules that it needs remain imported."""
    status = 70
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout, sys.stderr = (
            os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2)
        )
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(folder)
        sys.argv = ["snakemake", *words]
        own = [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path]
        sys.path[:] = [
            *own,
            *(path for path in sys.path if path and Path(path).resolve() != Path(__file__).parent),
        ]
        for name in [name for name in sys.modules if name.split(".")[0] == "odl"]:
            del sys.modules[name]
        try:
            sys.modules["snakemake.cli"].main(list(words))
            status = 0
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else int(left.code is not None)
            if isinstance(left.code, str):  # which Python says at its end
                print(left.code, file=sys.stderr)
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)
