"""Fixtures shared by all tests."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from places import ROOT

# The same examples every time; HYPOTHESIS=explore draws others.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS", "repeatable"))


def pytest_collection_modifyitems(items):
    """Put tests of the workflow first, since their files take longest and a worker runs a whole file."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)


@pytest.fixture
def rng():
    """Return a generator with a fixed seed."""
    return np.random.default_rng(0)


@pytest.fixture
def chain(rng):
    """Return the features of three small batches."""
    from letters import three_batches

    return three_batches(rng)


@pytest.fixture(scope="session")
def corpora():
    """Return the folder of the real corpora, in the layout of a mirror."""
    folder = Path(os.environ.get("ODL_CORPORA", ROOT.parent / "shared" / "corpora"))
    if not (folder / "tdt2" / "TDT2_with_time.mat").exists():
        pytest.skip(f"no corpora in {folder}: set ODL_CORPORA to a mirror folder")
    return folder.resolve()


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """Return a finished small study of the real Snakefile and the `Result` of its run. Tests must not change it."""
    from workflows import finished

    return finished(tmp_path_factory.getbasetemp())


@pytest.fixture
def study(fresh, tmp_path):
    """Return a copy of the finished study."""
    return fresh[0].copy(tmp_path / "study")
