"""Control of the processes of a run.

`alone` takes the lock with which only one process at a time may write to a folder. `heeding`
installs signal handlers that end a command in order. `fork` calls a function in a forked process,
and `each` runs tasks in several of them.
"""

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
RETRY_INTERVAL = 0.02  # seconds until a signal that came inside HDF5 is handled again


@contextlib.contextmanager
def alone(path, wait=0.0, todo="wait for it, or add --wait SECONDS"):
    """Hold the lock of a folder while the block runs (context manager).

    The file of the lock names the process that holds it.

    Parameters
    ----------
    path : path-like
        File of the lock. The file stays; the lock on it ends with the process.
    wait : float
        Seconds to wait for the lock.
    todo : str
        Advice in the error message.

    Raises
    ------
    BusyError
        If another process holds the lock.
    StorageError
        If the file system has no locks.
    """
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "a+", encoding="utf-8") as file:
        until = time.monotonic() + wait
        while not _take_lock(file, path):
            if time.monotonic() >= until:
                raise BusyError(_holder(file, path), "at most one run in a folder", todo)
            time.sleep(min(LOCK_INTERVAL, max(0.01, until - time.monotonic())))
        file.truncate(0)
        json.dump(
            {
                "process": os.getpid(),
                "host": platform.node(),
                "since": time.strftime("%Y-%m-%d %H:%M:%S"),
            },
            file,
        )
        file.flush()
        yield


def _take_lock(file, path):
    """Try to take the lock of an open file; return whether it was free."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        fault = f"{path} cannot be locked ({os.strerror(error.errno)})"
        raise StorageError(
            fault, "a disk that supports file locks", "put the folder 'results' on another disk"
        ) from error
    return True


def _holder(file, path):
    """Return in words which process holds the lock, from the content of its open file."""
    folder = os.path.dirname(path)
    try:
        file.seek(0)
        holder = json.load(file)
        where = "" if holder["host"] == platform.node() else f" on {holder['host']}"
        return f"{folder} is run by process {int(holder['process'])}{where} since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return f"{folder} is run by another process"


class Stopped(KeyboardInterrupt):
    """Raised when a signal ends a command.

    Parameters
    ----------
    number : int
        Number of the signal.
    """

    def __init__(self, number):
        super().__init__()
        self.status = 128 + number


class Heed:
    """Signal handler that raises `Stopped` and stores the number of the signal."""

    def __init__(self):
        self.number = 0

    def __call__(self, number, frame=None):
        """Store the number of a signal and raise `Stopped`.

        No exception may pass through a callback of HDF5. During one, an alarm is set instead, whose
        signal calls this handler again.
        """
        self.number = self.number if number == signal.SIGALRM else number
        while frame is not None:
            if frame.f_code.co_filename == blocks.__file__:
                signal.setitimer(signal.ITIMER_REAL, RETRY_INTERVAL)
                return
            frame = frame.f_back
        raise Stopped(self.number)

    def check(self):
        """Raise `Stopped` if a signal has come, also if Python dropped the exception then."""
        if self.number:
            raise Stopped(self.number)


@contextlib.contextmanager
def heeding():
    """Install a `Heed` in the main thread and yield it (context manager).

    A signal ends a command at once, or when a call of HDF5 in progress has returned.
    """
    numbers = (*SIGNALS, signal.SIGALRM)
    heed, hook = Heed(), sys.unraisablehook
    before = {number: signal.getsignal(number) for number in numbers}
    sys.unraisablehook = lambda event: None if isinstance(event.exc_value, Stopped) else hook(event)
    try:
        for number in numbers:
            signal.signal(number, heed)
        yield heed
    except Exception:
        # Libraries replace `Stopped` by exceptions of their own: a class body by a RuntimeError,
        # NumPy's import by an ImportError.
        heed.check()
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook


def each(function, tasks, cores):
    """Call a function with the arguments of each task, in at most `cores` forked processes.

    Exceptions in these processes are dropped. The caller checks the results, and repeats the tasks
    that failed.

    Parameters
    ----------
    function : callable
    tasks : list of tuple
    cores : int
    """
    children = []
    try:
        for first in range(min(cores, len(tasks))):
            children.append(fork(_call_each, function, tasks[first::cores]))
        while children:
            os.waitpid(children[0], 0)
            children.pop(0)
    finally:
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)


def _call_each(function, tasks):
    """Call a function with the arguments of each task, in a forked process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and terminates us
    for task in tasks:
        function(*task)


def fork(function, *arguments):
    """Call a function in a forked process; return the id of the process.

    Its exit status is what the function returns, 0 for None, and 1 after an exception, which is not
    reported.
    """
    child = os.fork()
    if child:
        return child
    status = 1
    # A forked process has a copy of the parent's stack. An exception would unwind it and run the
    # handlers of the parent a second time, so none may leave this function.
    with contextlib.suppress(BaseException):
        status = function(*arguments) or 0
    os._exit(status)  # without the exit handlers of the parent


def cores():
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
