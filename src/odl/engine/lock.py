"""One run a folder: a lock that ends with its process, and says who has it."""

import contextlib
import errno
import fcntl
import json
import os
import platform
import time

from odl.errors import BusyError, StorageError

EVERY = 0.5  # seconds between two looks at a lock that another process has


@contextlib.contextmanager
def alone(path, wait=0.0, todo="wait for it, or say --wait SECONDS"):
    """Hold the lock of a folder.

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
            time.sleep(min(EVERY, max(0.01, until - time.monotonic())))
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
