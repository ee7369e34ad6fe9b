"""A folder with three weeks that are learned, and a copy of it for each test."""

import pytest
import streams


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    return streams.learned(tmp_path_factory.getbasetemp(), weeks=3)


@pytest.fixture
def news(learned, tmp_path):
    return streams.copy(learned, tmp_path)
