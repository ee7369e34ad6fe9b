"""Folders of the tests: the repository, and what workers share."""

import contextlib
import fcntl
import os
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
