"""Folders of the tests: the repository, and what workers share."""

import contextlib
import fcntl
import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def shared(base):
    """Return the folder that all workers have in common, of the temporary folder of one."""
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextlib.contextmanager
def alone(path):
    """Be the only worker that makes something, or takes what another made."""
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made_once(base, name, make):
    """Return a folder that all workers share, filled by `make(folder)` in the first that asks; copy it to change it.

    `base` is the temporary folder of the worker.
    """
    folder = shared(base) / name
    complete = folder.with_suffix(".complete")
    with alone(folder):
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            complete.touch()
    return folder
