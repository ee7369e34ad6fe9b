"""Errors of reading a file become one sentence with the file and the cause."""

import errno
import os

import numpy as np
import pytest

from odl.errors import StorageError
from odl.files import storage


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.h5"
    with storage.writing(path, "scores") as file:
        file["score"] = [0.5]
    return path


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("Can't synchronously read data"), "is damaged"),  # HDF5's own, without a number
        (OSError(errno.EINVAL, "invalid"), "is damaged"),
        (OSError(errno.EIO, "wrong"), rf"could not be read \({os.strerror(errno.EIO)}\)"),
        (PermissionError(errno.EACCES, "no"), "may not be read"),
        (KeyError("score"), "is damaged"),
        (ValueError("size"), "is damaged"),
    ],
)
def test_what_fails_is_named(path, error, said):
    with pytest.raises(StorageError, match=f"{path} {said}"), storage.reading(path, "scores"):
        raise error


def test_what_fails_in_another_file_is_its_own(path, tmp_path):
    with pytest.raises(OSError, match="No space") as failed, storage.reading(path, "scores"):
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "b.h5"))
    assert not isinstance(failed.value, StorageError)


def test_a_file_of_another_kind_or_none_is_refused(path, tmp_path):
    for place, kind, said in (
        (path, "alerts", "is of kind 'scores'"), (tmp_path / "b.h5", "scores", "does not exist"),
        (tmp_path, "scores", "is a folder"),
    ):  # fmt: skip
        with pytest.raises(StorageError, match=said), storage.reading(place, kind):
            pass


def test_large_arrays_are_compressed_in_chunks_of_rows_and_small_ones_are_not(tmp_path):
    arrays = {
        "small": np.zeros(500),
        "large": np.zeros((20_000, 2)),
        "random": np.random.default_rng(0).random(9_000),
    }
    with storage.writing(path := tmp_path / "b.h5", "scores") as file:
        for name, values in arrays.items():
            storage.write_array(file, name, values)
    with storage.reading(path, "scores") as file:
        assert [file[name].compression for name in arrays] == [None, "gzip", None]
        assert file["large"].chunks == (storage.CHUNK_BYTES // 16, 2)
        assert all(np.array_equal(file[name][()], values) for name, values in arrays.items())
