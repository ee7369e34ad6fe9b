"""The real Snakefile under faults: killed at random moments, a full or read-only disk, clocks, two runs, no locks."""

import os
import platform
import random
import signal
import subprocess
import time

import disks
import faults
import h5py
import pytest
from workflows import documents, environment

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A small study of two timesteps up to its features, and that undisturbed run."""
    study = faults.small_study(tmp_path_factory.mktemp("faults") / "study", 160)
    return study, faults.undisturbed(study, features(study))


@pytest.fixture(scope="module")
def complete(base, tmp_path_factory):
    """The same study up to its page."""
    study = base[0].copy(tmp_path_factory.mktemp("whole") / "study")
    return study, faults.undisturbed(study)


@pytest.fixture
def study(base, tmp_path):
    """A copy of the study up to its features."""
    return base[0].copy(tmp_path / "study")


@pytest.fixture
def finished(complete, tmp_path):
    """A copy of the finished study."""
    return complete[0].copy(tmp_path / "finished")


def features(study):
    return study.target(study.stream / "features" / "1.h5")


def same(study, reference, target):
    """Check that the target is there, and all that is there is as in the undisturbed run, with nothing else."""
    found = study.bytes()
    assert (study.folder / target).exists() and len(found) > 5
    assert {name: reference.digests.get(name) for name in found} == found
    assert set(faults.present(study)) <= reference.names
    assert not faults.parts(study) and not faults.locks(study)


@pytest.mark.long  # one strike: test_workflow_growth.py; on `odl run`: engine/test_loop.py
def test_strikes_at_random_moments(complete, tmp_path, number=10):
    """`make faults` strikes 200 times."""
    study, reference = complete[0].copy(tmp_path / "struck"), complete[1]
    chosen = faults.moments(number, seed=1)
    assert len({moment.kind for moment in chosen}) == min(number, len(faults.KINDS))
    struck, late = faults.strike_study(study, chosen, reference.up_to_the_tables(study))
    assert (
        len(struck) >= 0.4 * number and len(struck) + len(late) == number
    )  # a run that is faster than the first is done sooner
    assert [strike.outcome for strike in struck] == [faults.SURVIVED] * len(struck), struck
    assert any(strike.status for strike in struck)


@pytest.mark.long
def test_the_harness_sees_what_is_wrong(complete, finished):
    """A half-written result, a file too many, an orphan: none of them would go unnoticed."""
    reference = complete[1]
    assert faults.damaged(finished, reference) == [] and faults.parts(finished) == []
    broken = finished.checkpoint("da", 1).parent.parent / "k4" / "1.h5"
    broken.write_bytes(broken.read_bytes()[:-1])
    assert faults.damaged(finished, reference) == ["/mine/seed0/da/k4/1.h5"]
    (broken.parent / ".1.h5.host-1.part").touch()
    assert [path.name for path in faults.parts(finished)] == [".1.h5.host-1.part"]
    mark = f"orphan-{os.getpid()}"
    process = subprocess.Popen(["sleep", "60"], env={**os.environ, faults.MARK: mark})
    try:
        end = (
            time.monotonic() + 60
        )  # the kernel shows a new program's variables a moment after it has begun
        while not (found := faults.marked(mark)) and time.monotonic() < end:
            time.sleep(0.05)
        assert [orphan.pid for orphan in found] == [process.pid]
    finally:
        process.kill()
        process.wait()
    strike = faults.Strike(faults.moments(1, 0)[0])
    faults.end_study(finished, [strike], reference, 2)
    assert "differs: /mine/seed0/da/k4/1.h5" in strike.outcome


def test_an_edited_index_is_refused_before_any_job(base, study):
    """The rules read the index themselves; made again, the same bytes."""
    path = study.stream / "index.tsv"
    text = path.read_text()
    path.write_text(text.replace("0", "1", 1))
    last = study.run("-n", features(study), fails=True).text.splitlines()[-1]
    name = path.relative_to(study.folder)
    assert last.startswith(f"odl: {name} was changed after it was written (row 1); expected ")
    assert last.endswith(f"; delete {name} and run the same command again.")
    path.unlink()
    study.run(features(study))
    assert path.read_text() == text
    same(study, base[1], features(study))


class TestDisks:
    def test_full(self, base, study):
        """Space for the corpus and not for the batches: one sentence; with more space the same bytes."""
        faults.clear(study)
        with disks.small_disk(study.folder / "results", 60 * 1024) as disk:
            # One job at a time: what another one takes might leave no room for the log.
            text = study.run(features(study), cores=1, fails=True).text
            sentence = "No space left on device (results/small/mine/seed0/batches/"
            assert sentence in text and "Traceback" not in text
            assert not faults.parts(study) and not faults.damaged(study, base[1])
            disks.resize(disk, 4 << 20)
            study.run(features(study))
            same(study, base[1], features(study))

    @pytest.mark.long  # of every command alone: test_faults_files.py
    def test_read_only(self, base, study):
        faults.clear(study)
        with disks.small_disk(study.folder / "results", 4 << 20) as disk:
            study.run(study.target(study.stream / "batches" / "1.h5"))
            disks.make_read_only(disk)
            text = study.run(features(study), fails=True).text
            assert text.splitlines()[-1].startswith(
                "odl: results/small cannot be written; expected "
            )
            assert "Traceback" not in text and not faults.locks(study)
            assert "cannot be written" not in study.run("-n", features(study)).text
            disks.resize(disk, 4 << 20)
            study.run(features(study))
            same(study, base[1], features(study))

    @pytest.mark.long  # of every command alone: test_faults_files.py
    @pytest.mark.skipif(
        platform.machine() not in disks.NUMBERS, reason="system calls of this machine are not known"
    )
    def test_without_locks(self, complete, study):
        faults.clear(study)
        target = study.target(study.stream / "da" / "k4" / "1.h5")
        done = subprocess.run(
            study.command(target),
            cwd=study.folder,
            env=environment(study.folder, HDF5_USE_FILE_LOCKING="FALSE"),
            preexec_fn=disks.without_locks,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        same(study, complete[1], target)


# one of them in a study: test_workflow_growth; every cut and attribute of a file: test_faults_files
@pytest.mark.long
class TestDamagedCheckpoints:
    """The message names the one file to delete; deleting it and running again gives the same bytes."""

    def damage(self, study, reference, broken):
        last = study.stream / "da" / "k4" / "1.h5"
        last.unlink()
        name = study.target(broken)
        text = study.run(study.target(last), fails=True).text
        assert (
            text.count(f"delete {name} and run the same command again") == 1
            and "odl update: " in text
        )
        broken.unlink()
        study.run(study.target(last))
        assert study.bytes() == reference.digests and not faults.parts(study)

    def test_cut_short(self, complete, finished):
        broken = finished.stream / "da" / "k4" / "0.h5"
        whole = broken.read_bytes()
        broken.write_bytes(whole[: 1024 * random.Random(0).randrange(1, len(whole) // 1024)])
        self.damage(finished, complete[1], broken)

    def test_without_an_attribute(self, complete, finished):
        broken = finished.stream / "da" / "k4" / "0.h5"
        with h5py.File(broken, "a") as file:
            del file["dictionary"].attrs["layout"]
        self.damage(finished, complete[1], broken)


def shift(paths, seconds):
    for path in paths:
        held = path.stat()
        os.utime(path, (held.st_atime + seconds, held.st_mtime + seconds))


class TestClocks:
    """A clock that was set back, or was wrong: what runs again may be too much, but is never too little."""

    @pytest.mark.long  # of other times: test_workflow.py
    def test_results_from_the_future(self, complete, finished):
        shift([path for path in finished.results.rglob("*") if path.is_file()], 86_400)
        assert finished.run().jobs == []
        assert finished.bytes() == complete[1].digests

    @pytest.mark.long
    def test_set_back_in_the_middle_of_a_run(self, base, study):
        """Half of the results are a day newer than what is made from them."""
        faults.clear(study)
        study.run(study.target(study.stream / "batches" / "1.h5"))
        newer = [path for path in study.results.rglob("*") if path.is_file()]
        shift(newer, 86_400)
        # Snakemake refuses to make a file that would be older than what it is made from.
        assert "clock skew" in study.run(features(study), fails=True).text
        shift(newer, -86_400)  # the clock is right again
        study.run(features(study))
        same(study, base[1], features(study))
        assert study.run("-n", features(study)).jobs == []

    @pytest.mark.long
    def test_at_random(self, base, study):
        draw = random.Random(0)
        for path in [*study.results.rglob("*"), *(study.folder / "src").rglob("*.py")]:
            if path.is_file():
                shift([path], draw.randrange(-1_000_000, 1_000_000))
        study.run(features(study))
        same(study, base[1], features(study))

    def test_documents_edited_while_the_clock_was_wrong(self, base, study):
        """The source is older than what was made from it, but is not what it was made from."""
        path, made = study.folder / "docs" / "a.jsonl", study.results / "mine" / "documents.h5"
        study.write("a.jsonl", documents(0, 150))
        shift([path], -86_400)
        study.run(study.target(made))
        assert study.bytes()["/mine/documents.h5"] != base[1].digests["/mine/documents.h5"]
        study.write("a.jsonl", documents(0, 160))
        shift([path], -2 * 86_400)
        study.run(study.target(made))
        same(study, base[1], study.target(made))


class TestTwoRuns:
    def test_the_second_is_refused_and_the_first_unharmed(self, base, study):
        faults.clear(study)
        first = faults.Run(study, features(study))
        assert first.wait(first.jobs)
        first.process.send_signal(
            signal.SIGSTOP
        )  # it does not end while the second one looks at its locks
        text = study.run(features(study), fails=True).text
        first.process.send_signal(signal.SIGCONT)
        assert "cannot be locked" in text and "Traceback" not in text
        assert first.settle() == [] and first.process.returncode == 0, first.text()
        same(study, base[1], features(study))

    @pytest.mark.long
    def test_at_the_same_moment(self, base, study):
        """Whoever gets the lock, and should both get it: the next run ends with the same bytes."""
        faults.clear(study)
        held = environment(study.folder)
        both = []
        for number in range(2):
            with open(study.folder / f"both{number}.log", "w") as log:
                words = study.command(features(study))
                both.append(
                    subprocess.Popen(words, cwd=study.folder, env=held, stdout=log, stderr=log)
                )
        status = [process.wait(timeout=600) for process in both]
        assert set(status) <= {0, 1}, [
            (study.folder / f"both{number}.log").read_text() for number in range(2)
        ]
        time.sleep(1)
        if faults.locked(study):
            study.run("--unlock")
        study.run(features(study))
        same(study, base[1], features(study))
