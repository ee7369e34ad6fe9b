"""A folder with three weeks that are learned, and a copy of it for each test."""

import pytest
import streams
from called import odl


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    folder = streams.begin(tmp_path_factory.mktemp("learned"), weeks=3)
    assert odl("run", folder).returncode == 0
    return folder


@pytest.fixture
def news(learned, tmp_path):
    return streams.copy(learned, tmp_path)
