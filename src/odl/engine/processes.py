"""Processes of a run: one at a time in a folder, stopped by signals, helped by others that are forked for it."""

import contextlib
import errno
import fcntl
import json
import os
import platform
import signal
import sys
import time

from odl.errors import BusyError, StorageError
from odl.files import blocks

LOCK_INTERVAL = 0.5  # seconds between two attempts to take a lock
SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN = 0.02  # seconds from a signal that HDF5 holds up to the next look


@contextlib.contextmanager
def alone(path, wait=0.0, todo="wait for it, or say --wait SECONDS"):
    """Hold the lock of a folder, which ends with its process and says who has it.

    Parameters
    ----------
    path : path-like
        The file of the lock. It stays; the lock on it ends with the process, however that ends.
    wait : float
        Seconds to wait for another run.
    todo : str
        What is said where another run has it.

    Raises
    ------
    BusyError
        If another run has it.
    StorageError
        If the disk knows no locks.
    """
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "a+", encoding="utf-8") as file:
        until = time.monotonic() + wait
        while not _taken(file, path):
            if time.monotonic() >= until:
                raise BusyError(_holder(file, path), "one run a folder", todo)
            time.sleep(min(LOCK_INTERVAL, max(0.01, until - time.monotonic())))
        file.truncate(0)
        json.dump({"process": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}, file)
        file.flush()
        yield


def _taken(file, path):
    """Try to take the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        fault = f"{path} cannot be locked ({os.strerror(error.errno)})"
        raise StorageError(fault, "a disk that knows locks", "put 'results' on another one") from error
    return True


def _holder(file, path):
    """Return who has the lock, in words."""
    folder = os.path.dirname(path)
    try:
        file.seek(0)
        holder = json.load(file)
        where = "" if holder["host"] == platform.node() else f" on {holder['host']}"
        return f"{folder} is run by process {int(holder['process'])}{where} since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return f"{folder} is run by another process"


class Stopped(KeyboardInterrupt):
    """A signal came.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number):
        super().__init__()
        self.status = 128 + number


class Heed:
    """What came while a run was under way."""

    def __init__(self):
        self.number = 0

    def __call__(self, number, frame=None):
        """Take note of a signal and stop; a moment later where HDF5 has called us, which no exception may pass."""
        self.number = self.number if number == signal.SIGALRM else number
        while frame is not None:
            if frame.f_code.co_filename == blocks.__file__:
                signal.setitimer(signal.ITIMER_REAL, AGAIN)
                return
            frame = frame.f_back
        raise Stopped(self.number)

    def check(self):
        """Stop if a signal came where Python drops exceptions."""
        if self.number:
            raise Stopped(self.number)


@contextlib.contextmanager
def heeding():
    """Yield what heeds signals, in the main thread: they end a command at once, or as soon as HDF5 has returned."""
    caught = (*SIGNALS, signal.SIGALRM)
    heed, before, hook = Heed(), {number: signal.getsignal(number) for number in caught}, sys.unraisablehook
    sys.unraisablehook = lambda said: None if isinstance(said.exc_value, Stopped) else hook(said)
    try:
        for number in caught:
            signal.signal(number, heed)
        yield heed
    except Exception:
        heed.check()  # what comes within a class is a RuntimeError, within NumPy's import an ImportError
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook


def each(function, tasks, cores):
    """Call a function with each of some tasks, in at most `cores` processes, which end with us.

    What a process raises stays in it: who calls looks at what was done, and does the rest.

    Parameters
    ----------
    function : callable
    tasks : list of tuple
    cores : int
    """
    children = []
    try:
        for first in range(min(cores, len(tasks))):
            child = os.fork()
            if child == 0:
                _work(function, tasks[first::cores])
            children.append(child)
        while children:
            os.waitpid(children[0], 0)
            children.pop(0)
    finally:
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)


def _work(function, tasks):
    """Do tasks in a process that was forked, and end it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who forked us hears it, and ends us
    status = 1
    with contextlib.suppress(BaseException):
        for task in tasks:
            function(*task)
        status = 0
    os._exit(status)


def cores():
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
