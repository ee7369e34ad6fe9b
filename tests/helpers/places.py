"""Paths of the tests: the repository, and folders that the workers of pytest-xdist share."""

import contextlib
import fcntl
import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def shared(base):
    """Return the folder that all workers share, given the temporary folder of one of them."""
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextlib.contextmanager
def locked(path):
    """Run the block in one worker at a time, by a lock file next to a path."""
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made_once(base, name, make):
    """Return a folder that all workers share. The first worker that asks for it fills it by `make(folder)`.

    Tests must not change the folder, only copies of it. `base` is the temporary folder of the
    worker.
    """
    folder = shared(base) / name
    complete = folder.with_suffix(".complete")
    with locked(folder):
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            complete.touch()
    return folder
