"""odl.files.bundles: arrays come back as they were, in fewer and smaller datasets; damage is found."""

import json

import h5py
import numpy as np
import pytest
from scipy import sparse

from odl.errors import StorageError
from odl.files import bundles, storage

RNG = np.random.default_rng(0)
ARRAYS = {
    "small": np.arange(6).reshape(2, 3),
    "counts": RNG.integers(0, 200, 3000).astype(np.float64),
    "halves": RNG.integers(0, 200, 3000) / 2,
    "exact": RNG.random(3000),
    "signed": np.append(np.zeros(2999), -0.0),
    "unknown": np.append(np.zeros(2999), np.nan),
    "large": np.arange(3000) * 10**9,
    "few": np.where(np.arange(3000).reshape(30, 100) % 50 == 7, 0.1, -2.0),
    "equal": np.full(3000, 7),
    "presence": sparse.csr_array((np.ones(3000), (np.arange(3000) % 9, np.arange(3000)))),
    "none": np.zeros((0, 4)),
    "words": ["Ebola", "", "犬"],
    "no words": [],
    "documents": sparse.random_array((90, 4000), density=0.02, format="csr", rng=0),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "one.h5"
    with storage.writing(path, "example") as file:
        bundles.write(file, "memory", ARRAYS)
    return path


def read(path, *names):
    with storage.reading(path, "example") as file:
        return bundles.read(file, "memory", *names)


def test_arrays_have_the_same_type_shape_and_bits_as_before(path):
    found = read(path)
    assert {*found} == {*ARRAYS}
    assert found.pop("words") == ARRAYS["words"] and found.pop("no words") == []
    documents = found.pop("documents")
    assert documents.shape == (90, 4000) and (documents != ARRAYS["documents"]).nnz == 0
    assert (found.pop("presence") != ARRAYS["presence"]).nnz == 0
    for name, values in found.items():
        assert values.dtype == ARRAYS[name].dtype and values.shape == ARRAYS[name].shape, name
        assert values.tobytes() == ARRAYS[name].tobytes(), name


def test_one_dataset_for_each_type_and_the_smallest_type_for_large_arrays(path):
    with h5py.File(path) as file:
        group = file["memory"]
        layout = json.loads(group.attrs["layout"])
        assert {*group} == {stored for _, stored, *_ in layout.values()} - {""}
    stored = {name: layout[name][1] for name in ("small", "counts", "halves", "exact", "large")}
    assert stored == {
        "small": "int64", "counts": "uint8", "halves": "float32", "exact": "float64", "large": "int64"
    }  # fmt: skip
    filled = {name: entry for name, entry in layout.items() if entry[0] == "filled"}
    assert filled == {
        "few": ["filled", "", [30, 100], "float64", -2.0],
        "equal": ["filled", "", [3000], "int64", 7],
        "presence/data": ["filled", "", [3000], "float64", 1.0],
    }
    assert layout["few/positions"][2] == [60] and layout["equal/values"][2] == [0]
    assert layout["signed"][1] == layout["unknown"][1] == "float32"


def test_some_arrays_are_read_alone(path):
    found = read(path, ["words", "documents"])
    assert {*found} == {"words", "documents"} and found["words"] == ARRAYS["words"]
    assert (found["documents"] != ARRAYS["documents"]).nnz == 0


def test_a_layout_that_does_not_fit_its_arrays_is_an_error(tmp_path):
    path = tmp_path / "short.h5"
    with storage.writing(path, "example") as file:
        bundles.write(file, "memory", {"counts": np.arange(5)})
        file["memory"].attrs["layout"] = json.dumps({"counts": ["int64", "int64", [6]]})
    with pytest.raises(StorageError, match="counts is shorter than its layout"):
        read(path)


def test_a_file_of_an_unreleased_version_names_the_command_that_renews_it(tmp_path):
    path = tmp_path / "1.h5"
    with storage.writing(path, "example") as file:
        storage.write_array(file.create_group("memory"), "counts", np.arange(5))
    with pytest.raises(
        StorageError, match=r"1\.h5 was written by an unrel.*odl run FOLDER --again"
    ):
        read(path)
