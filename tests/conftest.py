"""Fixtures shared by all tests."""

import contextlib
import fcntl
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
# The same examples every time; HYPOTHESIS=explore draws others.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS", "repeatable"))


def shared(base):
    """Return the folder that all workers have in common, of the temporary folder of one."""
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextlib.contextmanager
def alone(path):
    """Be the only worker that makes something, or finds it made."""
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def pytest_collection_modifyitems(items):
    """What runs the workflow comes first, for it takes longest; a worker takes whole files (`--dist loadfile`)."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)


@pytest.fixture
def rng():
    """A generator with a fixed seed."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def corpora():
    """The folder of the real corpora, in the layout of a mirror."""
    folder = Path(os.environ.get("ODL_CORPORA", ROOT.parent / "shared" / "corpora"))
    if not (folder / "tdt2" / "TDT2_with_time.mat").exists():
        pytest.skip(f"no corpora in {folder}: set ODL_CORPORA to a mirror folder")
    return folder.resolve()


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A finished small study on the real Snakefile, and what its run printed; made once for all modules."""
    from workflows import finished

    return finished(tmp_path_factory.getbasetemp())


@pytest.fixture
def study(fresh, tmp_path):
    """A copy of the finished study."""
    return fresh[0].copy(tmp_path / "study")
