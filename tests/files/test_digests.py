"""A file whose bytes changed is refused, or every value read of it is what was written."""

import os
import random
import re
import shutil

import fuzz_world
import h5py
import numpy as np
import pytest
from fuzzing import edited, flips

from odl import cli
from odl.errors import OdlError, StorageError
from odl.files import agentfiles, blocks, checkpoints, digests, storage
from odl.files.verify import verify

KINDS = {
    "documents": "documents.h5", "order": "order.h5", "batch": "b1.h5", "features": "f1.h5", "agent": "net.agents/0.h5",
    "checkpoint": "dual_averaging/1.h5", "scores": "dual_averaging/scores/1.h5", "network": "net.h5",
    "baselines": "baselines.h5", "emerging": "emerging.h5",
}  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = fuzz_world.build(tmp_path_factory.mktemp("world"))
    return root


def items(group, name=""):
    """Yield (name, object) for everything in a group."""
    for key, item in group.items():
        yield f"{name}/{key}", item
        if isinstance(item, h5py.Group):
            yield from items(item, f"{name}/{key}")


def content(path, kind):
    """Return everything that a reader can read from a file."""
    with storage.reading(path, kind) as file:
        found = {}
        for name, item in items(file):
            if isinstance(item, h5py.Dataset):
                values = storage.read_array(file, name, ndim=None)
                found[name] = values.dtype.str, values.shape, values.tobytes()
            else:
                found[name] = "group"
            found |= {(name, key): repr(value) for key, value in item.attrs.items()}
        return found | {("/", key): repr(value) for key, value in file.attrs.items()}


def test_every_kind_is_here(world):
    assert {storage.kind_of(world / name) for name in KINDS.values()} == KINDS.keys()
    assert {storage.kind_of(path) for path in world.rglob("*.h5")} == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_refused_or_changes_nothing(world, tmp_path, kind):
    whole, path, rnd = (world / KINDS[kind]).read_bytes(), tmp_path / "0.h5", random.Random(kind)
    path.write_bytes(whole)
    wanted, refused = content(path, kind), 0
    for flipped in flips(whole, rnd):
        path.write_bytes(flipped)
        try:
            assert content(path, kind) == wanted
        except OdlError as error:
            assert str(path) in str(error)
            refused += 1
    assert refused > 2  # much of a small file is empty


@pytest.mark.parametrize("kind", KINDS)
def test_every_array_and_attribute_is_guarded(world, tmp_path, kind):
    """Values are changed without a change of the file's structure."""
    path = tmp_path / "0.h5"
    with h5py.File(world / KINDS[kind]) as file:
        parts = [("/", None), *items(file)]
        places = [
            (name, None) for name, item in parts if isinstance(item, h5py.Dataset) and item.size
        ]
        places += [
            (name, key)
            for name, _ in parts
            for key in file[name].attrs
            if key not in ("kind", "format")
        ]
    for name, key in places:
        shutil.copy(world / KINDS[kind], path)
        with h5py.File(path, "a") as file:
            item = file[name]
            if key is None:
                item[-1:] = np.logical_not(item[-1:])
            else:
                value = np.asarray(item.attrs[key])
                text = value.dtype.kind in "OU"
                item.attrs[key] = f"{value}x" if text else (value + 1).astype(value.dtype)
        with pytest.raises(
            StorageError, match=r"0\.h5 was changed after it was written.*delete .*0\.h5"
        ):
            content(path, kind)


def test_rows_are_verified_that_are_read_and_no_others(tmp_path, rng):
    path, values = tmp_path / "a.h5", rng.integers(0, 9, 5 * digests.PIECE_ENTRIES + 7)
    with storage.writing(path, "test") as file:
        storage.write_array(file, "x", values)
        storage.write_array(file, "y", values)
    with h5py.File(path) as file:
        chunk = file["x"].id.get_chunk_info(len(values) // file["x"].chunks[0] // 2)
    damaged = bytearray(path.read_bytes())
    damaged[chunk.byte_offset + chunk.size // 2] ^= 1
    path.write_bytes(damaged)
    with storage.reading(path, "test") as file:
        first = chunk.chunk_offset[0]
        assert (file["x"][: first // 2] == values[: first // 2]).all()
        assert (file["y"][:] == values).all()
        with pytest.raises(StorageError, match="was changed"):
            file["x"][first : first + 1]
    with pytest.raises(StorageError, match="was changed"), storage.reading(path, "test") as file:
        storage.read_array(file, "x")


def test_every_byte_that_is_read_belongs_to_a_verified_block(tmp_path):
    path, size = tmp_path / "a", 2 * blocks.BLOCK_BYTES + 5
    path.write_bytes(bytes(blocks.HEAD_BYTES) + os.urandom(size))
    blocks.close(path)
    whole = path.read_bytes()
    for block in range(3):
        begin = blocks.HEAD_BYTES + block * blocks.BLOCK_BYTES
        end = min(begin + blocks.BLOCK_BYTES, blocks.HEAD_BYTES + size)
        damaged = bytearray(whole)
        damaged[(begin + end) // 2] ^= 1
        path.write_bytes(damaged)
        for position in (begin, end - 1):
            with blocks.Verified(path) as file:
                file.seek(position)
                with pytest.raises(StorageError, match="was changed"):
                    file.read(1)


@pytest.mark.parametrize("size", [0, 1, blocks.BLOCK_BYTES, 3 * blocks.BLOCK_BYTES + 5])
def test_a_file_of_another_length_is_refused(tmp_path, size):
    path = tmp_path / "a"
    path.write_bytes(bytes(blocks.HEAD_BYTES) + os.urandom(size))
    blocks.close(path)
    whole = path.read_bytes()
    with blocks.Verified(path) as file:
        file.verify()
        assert file.read() == whole[: blocks.HEAD_BYTES + size]
    for other in (whole[:-1], whole + b"x", whole[:100], b""):
        path.write_bytes(other)
        with pytest.raises(StorageError, match=r"was changed|is damaged"):
            blocks.Verified(path)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (7, 3), (70_000,), (200_000, 2)])
def test_arrays_of_any_shape(tmp_path, rng, shape, monkeypatch):
    monkeypatch.setattr(digests, "PIECE_ENTRIES", 100)  # as if they were long
    values = rng.random(shape)
    with storage.writing(tmp_path / "a.h5", "test") as file:
        if shape:
            storage.write_array(file, "x", values)
        else:
            file["x"] = values
    with storage.reading(tmp_path / "a.h5", "test") as file:
        held = storage.dataset_of(file, "x")
        assert np.array_equal(held[()], values)
        for first, last in ((0, 0), (3, 3), (1, 5), (6, None)) if shape else ():
            assert np.array_equal(held[first:last], values[first:last])


def test_older_files_are_refused_by_name(world, tmp_path):
    shutil.copy(world / "f1.h5", tmp_path / "f1.h5")
    with edited(tmp_path / "f1.h5") as file:
        file.attrs["format"] = 1
    with pytest.raises(
        StorageError,
        match=r"f1\.h5 is of kind 'features' and format 1; expected .* format 3; delete",
    ):
        storage.digest_of(tmp_path / "f1.h5", "features")


class TestVerify:
    @pytest.fixture
    def study(self, world, tmp_path):
        """Return the generated files at the paths of a study."""
        base = tmp_path / "study/c/seed0"
        for t in fuzz_world.STEPS:
            for source, target in (
                (f"f{t}.h5", f"features/{t}.h5"),
                (f"dual_averaging/{t}.h5", f"da/k3/{t}.h5"),
            ):
                (base / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(world / source, base / target)
        shutil.copytree(world / "net.agents", base / "net/k3/0.agents")
        shutil.copy(world / "net.h5", base / "net/k3/0.h5")
        with edited(base / "net/k3/0.h5") as file:
            file.attrs["features"] = storage.digest_of(base / "features/0.h5", "features")
        return tmp_path / "study"

    def test_a_whole_study(self, study, capsys):
        assert cli.main(["verify", str(study)]) in (0, None)
        said = capsys.readouterr().out
        assert re.fullmatch(r"odl verify: 9 files, none damaged\n", said)

    def test_a_changed_file_is_named(self, study, capsys):
        path = study / "c/seed0/features/1.h5"
        damaged = bytearray(path.read_bytes())
        damaged[2000] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(SystemExit) as stop:
            cli.main(["verify", str(study)])
        said = capsys.readouterr().out.splitlines()
        assert stop.value.code == 1 and len(said) == 2
        assert said[0].startswith(f"{path} was changed after it was written (bytes 512 to ")
        assert re.fullmatch(r"odl verify: 9 files, 1 damaged", said[1])

    def test_another_agent_is_named(self, study):
        path = study / "c/seed0/net/k3/0.agents/1.h5"
        with edited(path) as file:
            file.attrs["updates"] = 5
        (sentence,) = verify(study)[1]
        assert sentence.startswith(f"{path} was not written together with")


def test_a_checkpoint_names_its_features(world):
    for t in fuzz_world.STEPS:
        held = checkpoints.read_checkpoint(world / f"dual_averaging/{t}.h5")
        assert held.features == storage.digest_of(world / f"f{t}.h5", "features")
    assert agentfiles.read_network(world / "net.h5").features == checkpoints.NO_DIGEST


@pytest.mark.parametrize(
    "value",
    [
        3,
        0.5,
        "größe",
        "",
        ["a", "ü"],
        True,
        [True, False],
        np.arange(3.0),
        np.bytes_(b"x"),
        h5py.Empty("f8"),
    ],
    ids=repr,
)
def test_attributes_are_read_as_h5py_reads_them(tmp_path, value):
    """Numbers and texts are read by the low-level interface."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs["one"] = value
        own, expected = digests.value_of(file.id, "one"), np.asarray(file.attrs["one"])
        assert (own.dtype, own.shape) == (expected.dtype, expected.shape) and repr(
            own.tolist()
        ) == repr(expected.tolist())


def test_the_digest_covers_arrays_and_names_and_types_of_attributes(tmp_path):
    attributes = [{"a": 1}, {"b": 1}, {"a": np.int32(1)}, {"a": np.uint64(1)}, {"a": [1]}]
    found = []
    for number, values in enumerate(attributes):
        with h5py.File(tmp_path / f"{number}.h5", "w") as file:
            file.attrs.update(values)
            found.append(digests.digest_of(file))
    for number, values in enumerate(([1, 2], [1, 3])):
        with h5py.File(tmp_path / f"array-{number}.h5", "w") as file:
            file["group/x"] = values
            found.append(digests.digest_of(file))
    assert len(set(found)) == len(attributes) + 2


def test_a_file_that_cannot_be_opened_has_nothing_to_close(tmp_path):
    file = blocks.Verified.__new__(blocks.Verified)
    with pytest.raises(FileNotFoundError):
        file.__init__(tmp_path / "nowhere.h5")
    file.close()  # Python does it when the object ends, and since 3.13 prints what that raises
    assert file.closed and repr(file).endswith("nowhere.h5")
