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
    """What runs the workflow comes first, for it takes longest; a worker takes whole files (`--dist loadfile`)."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)


@pytest.fixture
def rng():
    """A generator with a fixed seed."""
    return np.random.default_rng(0)


@pytest.fixture
def chain(rng):
    """The features of three small batches."""
    from letters import three_batches

    return three_batches(rng)


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
