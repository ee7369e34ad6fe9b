"""Commands on full, read-only and lockless disks, and with truncated or incomplete files."""

import fcntl
import json
import os
import platform
import signal
import subprocess
import sys

import disks
import h5py
import numpy as np
import pytest
from called import odl
from workflows import document, documents

from odl import cli
from odl.files import storage

BATCHES = {"by": "documents", "documents": 20, "period": "day", "initial": 40, "flush": True}
STREAM = {"batches": BATCHES, "protocol": "by-date", "topic_entry": {}, "ties": "source"}
LEARNER = {"algorithm": "dual_averaging", "rounds": 2, "gamma": 4.0}
WEIGHTING = {"tf": "raw", "idf": "past", "min_df": 0, "vocabulary": "growing"}
RUN = {
    "corpus": "mine",
    "seed": 0,
    "run": "da",
    "atoms": 4,
    "learner": LEARNER,
    "features": WEIGHTING,
}
OPTIONS = {
    "timesteps": [],
    "min_novel": 1,
    "min_known": 1,
    "topics": "all",
    "bootstrap": 10,
    "seed": 0,
}


def words_of(stage, source, target, t=1):
    """Return the arguments of a stage that reads one folder and writes another, and its outputs."""
    held = {name: str(source / name) for name in ("documents.h5", "order.h5")}
    batch, feature, before = (
        source / f"{name}.h5" for name in (f"batch{t}", f"feature{t}", f"before/{t - 1}")
    )
    state, score = f"state{t}.h5", f"score{t}.h5"
    outputs = {
        "read": ["documents.h5"],
        "index": ["index.tsv", "order.h5"],
        "batch": [f"batch{t}.h5"],
        "features": [f"feature{t}.h5"],
        "update": [state, score, f"time{t}.tsv"],
        "baselines": [f"base{t}.h5"],
        "evaluate": ["auc.tsv", "summary.tsv"],
    }[stage]
    made = [str(target / name) for name in outputs]
    words = {
        "read": ["documents", made[0], "--source", source / "mine.jsonl"],
        "index": [held["documents.h5"], *made, "--seed", 0, "--stream", json.dumps(STREAM)],
        "batch": [held["documents.h5"], held["order.h5"], *made, "--t", t],
        "features": [*made, batch, *(["--previous", before] if t else [])],
        "update": [
            feature,
            "--state",
            made[0],
            "--scores",
            made[1 % len(made)],
            "--timings",
            made[-1],
        ]
        + (["--previous", source / f"state{t - 1}.h5"] if t else [])
        + ["--run", json.dumps(RUN)],
        "baselines": [*made, feature, "--past", source / "past"],
        "evaluate": [
            *made,
            "--options",
            json.dumps(OPTIONS),
            "--scores",
            source / "score1.h5",
            source / "score2.h5",
        ],
    }[stage]
    return ["step", stage, *map(str, words)], [
        target / name for name in outputs if not name.startswith("time")
    ]


STAGES = ["read", "index", "batch", "features", "update", "baselines", "evaluate"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Compute every file of three timesteps by the commands."""
    folder = tmp_path_factory.mktemp("made")
    lines = [
        json.dumps(entry) + "\n"
        for entry in [*documents(0, 76), *(document(n, 5) for n in range(76, 80))]
    ]
    (folder / "mine.jsonl").write_text("".join(lines))
    for stage in STAGES:
        for t in {"batch": (0, 1, 2), "features": (0, 1, 2), "update": (0, 1, 2)}.get(stage, (1,)):
            assert cli.main(words_of(stage, folder, folder, t)[0]) == 0
            if (
                stage == "features"
            ):  # in a folder of their own, so that the next ones hold all words wherever they lie
                (folder / "before").mkdir(exist_ok=True)
                os.link(folder / f"feature{t}.h5", folder / "before" / f"{t}.h5")
        if stage == "features":  # where the nearest neighbours are looked for
            (folder / "past").mkdir()
            os.link(folder / "feature0.h5", folder / "past" / "0.h5")
    return folder


def call(words, before=None, **variables):
    """Run the command in a process of its own."""
    environment = {**os.environ, "ODL_PARENT": "", **variables}
    command = [sys.executable, "-m", "odl", *words]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, preexec_fn=before, timeout=300
    )


def refused(done, stage, reason):
    """Assert that a command ended with one sentence."""
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 1 and len(lines) == 1, (done.returncode, done.stderr[-2000:])
    assert lines[0].startswith(f"odl {stage}: {reason}") and "; expected " in lines[0]


class TestFullDisk:
    @pytest.mark.parametrize("stage", STAGES)
    def test_one_sentence_and_nothing_half_written(self, made, tmp_path, stage):
        with disks.small_disk(tmp_path / "disk", 1 << 20) as disk:
            words, outputs = words_of(stage, made, disk)
            disks.fill(disk, 0)
            done = call(words) if stage == "update" else odl(*words)
            refused(done, stage, f"No space left on device ({outputs[0].parent}")
            assert [path.name for path in disk.iterdir()] == ["filler"]
            (disk / "filler").unlink()
            assert odl(*words).returncode == 0
            assert [path.read_bytes() for path in outputs] == [
                (made / path.name).read_bytes() for path in outputs
            ]

    @pytest.mark.parametrize("free", [4, 8, 16, 20, 24])
    def test_wherever_the_space_ends(self, made, tmp_path, free):
        """Each existing file of a checkpoint is complete, in whichever order they were written."""
        with disks.small_disk(tmp_path / "disk", 1 << 20) as disk:
            words, outputs = words_of("update", made, disk)
            disks.fill(disk, free * 1024)
            refused(odl(*words), "update", "No space left on device")
            there = {path.name for path in disk.iterdir()} - {"filler"}
            assert there < {"state1.h5", "score1.h5", "time1.tsv"}
            assert all((disk / name).read_bytes() == (made / name).read_bytes() for name in there)
            (disk / "filler").unlink()
            assert odl(*words).returncode == 0
            assert [path.read_bytes() for path in outputs] == [
                (made / path.name).read_bytes() for path in outputs
            ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_wait_until_a_file_is_closed(tmp_path, number):
    """Raised from below HDF5, which calls Python to write, the exception would end in a segmentation fault."""

    def interrupt(*_):
        raise InterruptedError("by a signal")

    before, written = signal.signal(number, interrupt), []
    try:
        with (
            pytest.raises(InterruptedError),
            storage.writing(tmp_path / "file.h5", "batch") as file,
        ):
            signal.raise_signal(number)
            storage.write_array(file, "values", np.arange(1000))
            written += file["values"][-1:].tolist()
    finally:
        assert signal.signal(number, before) is interrupt
    assert written == [999] and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stage", STAGES)
def test_a_read_only_disk(made, tmp_path, stage):
    with disks.small_disk(tmp_path / "disk", 1 << 20) as disk:
        words, _ = words_of(stage, made, disk)
        disks.make_read_only(disk)
        refused(odl(*words), stage, "Read-only file system")
        assert list(disk.iterdir()) == []


# Which command reads a file, so that it has to notice.
READ_BY = {
    "documents.h5": ("batch", 1),
    "order.h5": ("batch", 1),
    "batch1.h5": ("features", 1),
    "before/0.h5": ("features", 1),
    "feature1.h5": ("update", 1),
    "state0.h5": ("update", 1),
    "score1.h5": ("evaluate", 1),
}


def copies(made, folder):
    """Link all computed files into a folder, so that one of them can be replaced."""
    (folder / "before").mkdir()
    for path in (*made.glob("*.*"), *made.glob("before/*")):
        os.link(path, folder / path.relative_to(made))


def replaced(path, content):
    path.unlink()
    path.write_bytes(content)


def named(status, printed, broken, target):
    """Assert that a command refused a file by its name, said to delete it, and wrote nothing."""
    lines = printed.strip().splitlines()
    assert status == 1 and len(lines) == 1 and str(broken) in lines[0], (status, printed[-2000:])
    assert f"delete {broken} and run the same command again" in lines[0], lines[0]
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("name", READ_BY)
def test_a_file_cut_short_at_every_kibibyte_is_named(made, tmp_path, capsys, name):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    copies(made, source)
    words, _ = words_of(READ_BY[name][0], source, target, READ_BY[name][1])
    whole = (made / name).read_bytes()
    sizes = range(0, len(whole), 1024)
    assert len(sizes) > 4
    for size in sizes:
        replaced(source / name, whole[:size])
        named(cli.main(words), capsys.readouterr().err, source / name, target)


def attributes(path):
    """Return (object, attribute) for everything in a file, the root included."""
    found = []
    with h5py.File(path) as file:
        found += [("/", key) for key in file.attrs]
        file.visititems(lambda name, item: found.extend((name, key) for key in item.attrs))
    return found


@pytest.mark.parametrize("t", [0, 1])
def test_a_checkpoint_without_any_one_of_its_attributes_is_named(made, tmp_path, capsys, t):
    """After deletion as the message says, a new run writes the same bytes."""
    source, target, name = tmp_path / "source", tmp_path / "target", f"state{t}.h5"
    source.mkdir()
    target.mkdir()
    copies(made, source)
    words, outputs = words_of("update", source, target, t + 1)
    whole, found = (made / name).read_bytes(), attributes(made / name)
    assert {"kind", "format", "t", "chain", "digest", "previous"} <= {
        key for item, key in found if item == "/"
    }
    assert {("dictionary", "layout"), ("dictionary", "shape"), ("codes", "shape")} <= set(found)
    for item, key in found:
        replaced(source / name, whole)
        with h5py.File(source / name, "a") as file:
            del file[item].attrs[key]
        named(cli.main(words), capsys.readouterr().err, source / name, target)
    (source / name).unlink()
    again = words_of("update", source, source, t)[0]
    assert cli.main(again) == 0 and (source / name).read_bytes() == whole
    assert cli.main(words) == 0
    assert [path.read_bytes() for path in outputs] == [
        (made / path.name).read_bytes() for path in outputs
    ]


def test_two_updates_on_the_same_outputs(made, tmp_path):
    words, outputs = words_of("update", made, tmp_path)
    environment = {**os.environ, "ODL_PARENT": ""}
    both = [
        subprocess.Popen([sys.executable, "-m", "odl", *words], env=environment) for _ in range(2)
    ]
    assert [process.wait(timeout=300) for process in both] == [0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "score1.h5",
        "state1.h5",
        "time1.tsv",
    ]
    assert [path.read_bytes() for path in outputs] == [
        (made / path.name).read_bytes() for path in outputs
    ]


class TestLocks:
    """Network disks: HDF5 without locks, and a disk on which locks fail."""

    @pytest.mark.slow
    def test_hdf5_without_locks(self, made, tmp_path):
        for value, stage in (("FALSE", "batch"), ("FALSE", "update"), ("TRUE", "update")):
            words, outputs = words_of(stage, made, tmp_path)
            assert call(words, HDF5_USE_FILE_LOCKING=value).returncode == 0
            assert [path.read_bytes() for path in outputs] == [
                (made / path.name).read_bytes() for path in outputs
            ]

    @pytest.mark.slow
    @pytest.mark.skipif(
        platform.machine() not in disks.NUMBERS, reason="system calls of this machine are not known"
    )
    def test_where_locks_fail(self, made, tmp_path):
        code = "import fcntl; fcntl.flock(open('/dev/null'), fcntl.LOCK_SH)"
        try:
            done = subprocess.run(
                [sys.executable, "-c", code],
                preexec_fn=disks.without_locks,
                capture_output=True,
                text=True,
            )
        except subprocess.SubprocessError:
            pytest.skip("the kernel has no filter of system calls")
        assert "OSError: [Errno 37]" in done.stderr  # the filter works
        for stage in ("update", "baselines"):
            words, outputs = words_of(stage, made, tmp_path)
            assert call(words, before=disks.without_locks).returncode == 0
            assert [path.read_bytes() for path in outputs] == [
                (made / path.name).read_bytes() for path in outputs
            ]

    def test_while_another_program_holds_a_lock(self, made, tmp_path):
        words, outputs = words_of("update", made, tmp_path)
        with open(made / "state0.h5", "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert odl(*words).returncode == 0
        assert outputs[0].read_bytes() == (made / outputs[0].name).read_bytes()
