"""Checkpoints are reproducible, complete, and refuse what is not theirs; a chain can resume anywhere."""

import h5py
import numpy as np
import pytest
from contract import EACH, quick
from scipy import sparse

from odl.config.sections import Batches, Order
from odl.errors import CheckpointError, DataError, OdlError, StorageError
from odl.files import checkpoints, digests, documents, storage
from odl.jobs import runs, update
from odl.stream import batchfile, batching, features

CHAIN = {"corpus": "toy", "seed": 0, "run": "pg", "atoms": 4}


def make(rng, t=3):
    return checkpoints.Checkpoint(
        t=t,
        chain=CHAIN,
        dictionary=sparse.csc_array(sparse.random_array((30, 4), density=0.3, rng=rng)),
        arrays={
            "dual": sparse.csr_array(
                sparse.random_array((9, 30), density=0.2, rng=rng, dtype=np.float32)
            ),
            "gradient_sum": sparse.csc_array(sparse.random_array((30, 4), density=0.2, rng=rng)),
            "weights": rng.random(4),
        },
        updates=7,
        codes=sparse.csr_array(sparse.random_array((9, 4), density=0.2, rng=rng)),
        uncoded=0.25,
        previous="ab" * 32,
    )


@pytest.fixture
def path(rng, tmp_path):
    checkpoints.write(tmp_path / "3.h5", make(rng))
    return tmp_path / "3.h5"


def test_round_trip_is_exact(path, rng, tmp_path):
    found = checkpoints.read_checkpoint(path, chain=CHAIN, t=3)
    assert (found.dictionary.format, found.codes.format) == ("csc", "csr")
    assert found.arrays["dual"].dtype == np.float32 and found.arrays["gradient_sum"].format == "csc"
    checkpoints.write(tmp_path / "again.h5", found)
    assert (tmp_path / "again.h5").read_bytes() == path.read_bytes()


def test_another_chain_or_timestep_is_refused(path):
    with pytest.raises(CheckpointError, match=r"run='pg' \(expected 'da'\).*delete"):
        checkpoints.read_checkpoint(path, chain={**CHAIN, "run": "da"})
    with pytest.raises(CheckpointError, match="is of timestep 3; expected timestep 2"):
        checkpoints.read_checkpoint(path, t=2)


def test_truncated_anywhere_is_refused(path):
    whole = path.read_bytes()
    for size in range(0, len(whole), 512):
        path.write_bytes(whole[:size])
        with pytest.raises(StorageError, match=r"3\.h5"):
            checkpoints.read_checkpoint(path)


def test_every_attribute_and_array_is_guarded(path):
    whole = path.read_bytes()
    with h5py.File(path) as file:
        names = list(file.attrs)
        arrays = []
        file.visititems(
            lambda name, item: arrays.append(name) if isinstance(item, h5py.Dataset) else None
        )
    assert len(arrays) > 10
    for name in names:
        path.write_bytes(whole)
        with h5py.File(path, "a") as file:
            del file.attrs[name]
        with pytest.raises(StorageError, match=r"3\.h5"):
            checkpoints.read_checkpoint(path, chain=CHAIN, t=3)
    for name in arrays:
        path.write_bytes(whole)
        with h5py.File(path, "a") as file:
            if file[name].size:
                file[name][0] = file[name][0] + 1
        with pytest.raises(StorageError, match=r"3\.h5"):
            checkpoints.read_checkpoint(path)


def test_files_of_others_are_refused(tmp_path):
    for content in (b"", b"not HDF5", bytes(5000)):
        (tmp_path / "x.h5").write_bytes(content)
        with pytest.raises(StorageError, match=r"x\.h5"):
            checkpoints.read_checkpoint(tmp_path / "x.h5")
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["data"] = [1]
    with pytest.raises(StorageError, match="is damaged"):
        checkpoints.read_checkpoint(tmp_path / "y.h5")
    with pytest.raises(StorageError, match="does not exist"):
        checkpoints.read_checkpoint(tmp_path / "absent.h5")
    with storage.writing(tmp_path / "z.h5", "features"):
        pass
    with pytest.raises(StorageError, match="kind 'features'"):
        checkpoints.read_checkpoint(tmp_path / "z.h5")


def test_nothing_half_written_remains(path, rng, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr(digests, "seal", lambda file: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        checkpoints.write(path, make(rng, t=4))
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["3.h5"]


class TestChain:
    """A run of the real stages over a small stream."""

    @pytest.fixture
    def stream(self, rng, tmp_path):
        n, words = 260, [f"w{number}" for number in range(50)]
        counts = np.zeros((n, 50), dtype=int)
        for row in range(n):
            topic = row % 4 if row < 140 else row % 6
            np.add.at(counts[row], (rng.integers(0, 9, 15) + 8 * topic) % 50, 1)
        counts[200] = 0
        found = documents.Documents(
            sparse.csr_array(counts),
            words,
            [f"d{row:03d}" for row in range(n)],
            np.arange(n) * 1000,
            [(f"t{row % 4 if row < 140 else row % 6}",) for row in range(n)],
            [""] * n,
        )
        documents.write(tmp_path / "documents.h5", found)
        stream = Order(ties="source", batches=Batches(documents=60, initial=80))
        batching.index(
            tmp_path / "documents.h5",
            tmp_path / "index.tsv",
            tmp_path / "order.h5",
            seed=0,
            stream=stream,
        )
        for t in range(4):
            batchfile.cut(
                tmp_path / "documents.h5", tmp_path / "order.h5", tmp_path / f"batch{t}.h5", t
            )
            previous = tmp_path / "features" / f"{t - 1}.h5" if t else None
            features.advance(tmp_path / "features" / f"{t}.h5", tmp_path / f"batch{t}.h5", previous)
        return tmp_path

    def update(self, stream, algorithm, t, folder, previous=None):
        run = {
            "corpus": "toy",
            "seed": 1,
            "run": "x",
            "atoms": 6,
            "learner": {"algorithm": algorithm, **quick(algorithm)},
            "features": {"tf": "raw", "idf": "past", "min_df": 0, "vocabulary": "growing"},
        }
        folder.mkdir(exist_ok=True)
        previous = previous or (folder / f"{t - 1}.h5" if t else None)
        outputs = folder / f"{t}.h5", folder / f"scores{t}.h5", folder / f"timings{t}.tsv"
        update.update(
            stream / "features" / f"{t}.h5",
            *outputs,
            run=runs.parse(run),
            before=runs.Before(previous, stream / "features"),
        )
        return [output.read_bytes() for output in outputs[:2]]

    @pytest.mark.parametrize("algorithm", EACH)
    def test_resuming_gives_the_same_bytes(self, stream, algorithm):
        whole = [self.update(stream, algorithm, t, stream / "whole") for t in range(4)]
        for t in range(1, 4):
            again = self.update(
                stream, algorithm, t, stream / "part", stream / "whole" / f"{t - 1}.h5"
            )
            assert again == whole[t]

    def test_checkpoints_name_the_one_before(self, stream):
        for t in range(3):
            self.update(stream, "projected_gradient", t, stream / "run")
        points = [checkpoints.read_checkpoint(stream / "run" / f"{t}.h5") for t in range(3)]
        assert points[0].previous == checkpoints.NO_DIGEST
        assert [point.previous for point in points[1:]] == [point.digest for point in points[:2]]

    def test_an_empty_document_scores_one_and_is_counted(self, stream):
        for t in range(4):
            self.update(stream, "dual_averaging", t, stream / "run")
        with storage.reading(stream / "run" / "scores3.h5", "scores") as file:
            ids = storage.read_strings(file, "ids")
            assert file["empty"][ids.index("d200")] == 1 and file["empty"][:].sum() == 1
            assert file["score"][ids.index("d200")] == 1.0
            assert np.allclose(file["score"][:], file["residual"][:] + file["penalty"][:])
            assert file["score"][:].max() <= 1.0
            assert np.array_equal(
                file["novel"][:], features.read(stream / "features" / "3.h5").novel
            )

    def test_a_wrong_previous_is_refused(self, stream):
        for t in range(3):
            self.update(stream, "projected_gradient", t, stream / "run")
        with pytest.raises(CheckpointError, match="is of timestep 0"):
            self.update(stream, "projected_gradient", 3, stream / "other", stream / "run" / "0.h5")
        with pytest.raises(CheckpointError, match="another chain"):
            self.update(stream, "dual_averaging", 3, stream / "other", stream / "run" / "2.h5")
        with pytest.raises(DataError, match="timestep 0 with a checkpoint"):
            self.update(stream, "projected_gradient", 0, stream / "other", stream / "run" / "2.h5")
        assert list((stream / "other").iterdir()) == []

    def test_more_atoms_than_documents(self, stream):
        with pytest.raises(OdlError, match="99 atoms for 80 documents"):
            run = {"corpus": "toy", "seed": 1, "run": "x", "atoms": 99, "features": {}}
            run["learner"] = {"algorithm": "dual_averaging"}
            outputs = [stream / name for name in ("0.h5", "s.h5", "t.tsv")]
            update.update(stream / "features" / "0.h5", *outputs, run=runs.parse(run))
