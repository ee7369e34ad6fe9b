"""The process that runs a folder for `odl watch`.

Requests and replies go through a socket. A request is one byte (`odl.live.runner`); its reply is
one byte, the exit status of the run. A request stays in the socket until it is answered.

`serve` forks a process that does the runs, one after another, so that modules are imported and
results are read once. After `IDLE_SECONDS` without a request, this process ends, to free its
memory. The next request forks another process.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import threading
import traceback
from importlib import import_module

from odl import cli
from odl.engine import calls, processes
from odl.engine import folder as folders
from odl.errors import OdlError
from odl.live.runner import RUN

IDLE_SECONDS = 60.0  # time without a request after which the forked process ends
NICENESS = 10  # increase of the nice value, so that answers to documents come first
# Modules that each run needs
MODULES = (
    "odl.cli.run",
    "odl.corpora.portions",
    "odl.jobs.alerts",
    "odl.jobs.update",
    "odl.live.inbox",
    "odl.report.newpage",
    "odl.stream.batchfile",
)


def serve(connection, output, patience, loads=True):
    """Answer requests until the watch closes its end of the socket.

    Parameters
    ----------
    connection : socket.socket
    output : int
        Descriptor of the file to which the runs print.
    patience : float
        Seconds that a run waits for a run of another process.
    loads : bool
        Whether to import the modules of a run before the first fork (`_load`).
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the watch and the run handle Ctrl-C
    os.nice(NICENESS)
    with open(os.devnull) as null:
        os.dup2(null.fileno(), 0)
    for number in (1, 2):
        os.dup2(output, number)
    os.environ["NO_COLOR"] = "1"  # the watch parses the printed lines
    with (
        open(output, "w", buffering=1, encoding="utf-8", errors="replace") as stream,
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream),
    ):
        if loads:
            _load()
        while connection.recv(1, socket.MSG_PEEK):
            child = processes.fork(_answer, connection, patience)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status and _first_request(connection):
                _reply(connection, status if status > 0 else 128 - status)


def _load():
    """Import the modules of a run, and compute the stamps of their code.

    The forked processes then import no modules, so an upgrade of odl does not affect them.
    """
    for name in MODULES:
        import_module(name)
    with contextlib.suppress(OdlError, OSError):  # the run reports it
        folder = folders.opened()
        for step in calls.FUNCTIONS:
            folder.code(step)
    gc.freeze()  # forked processes do not scan the objects of these modules


def _answer(connection, patience):
    """Run the working folder for each request; return the exit status of this process.

    The status is 0 after `IDLE_SECONDS` without a request, 1 after a defect of odl, and the status
    of the last run if a signal ended it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_watch, args=(connection,), daemon=True).start()
    while select.select([connection], [], [], IDLE_SECONDS)[0]:
        if not (request := _first_request(connection)):
            return 0
        try:
            status = cli.call(lambda page=request == RUN: _run(patience, page), "odl run")
        except Exception:  # a defect of odl: log it; the watch reports a failed run
            traceback.print_exc()
            return 1
        if status >= 128:  # a signal
            return status
        _reply(connection, status)
    return 0


def _run(patience, page):
    """Run the working folder and print the report."""
    from odl.cli import run
    from odl.config import project

    project.check(".")
    print(run.run(os.getcwd(), wait=patience, page=page))


def _first_request(connection):
    """Return the first byte in the socket without removing it, b"" if there is none."""
    with contextlib.suppress(BlockingIOError):
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    return b""


def _reply(connection, status):
    """Remove the first request from the socket and send the exit status of its run."""
    connection.recv(1)
    with contextlib.suppress(BrokenPipeError):  # the watch was killed
        connection.send(bytes([status]))


def _end_with_watch(connection):
    """End this process by SIGTERM when the watch closes its end of the socket, or is killed."""
    closing = select.poll()
    closing.register(connection, 0)  # no events except the hang-up, which is always reported
    closing.poll()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    cli.prepare_process()
    with socket.socket(fileno=int(sys.argv[1])) as inherited:
        serve(inherited, int(sys.argv[2]), float(sys.argv[3]), loads=False)
