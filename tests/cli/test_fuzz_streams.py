"""A stream of odd documents through every reader; `tests/helpers/fuzz_streams.py` makes many."""

import fuzz_streams
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3])
def test_every_document_is_read_or_counted(tmp_path, seed):
    fuzz_streams.check(tmp_path, seed)
