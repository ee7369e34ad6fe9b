"""Processes of a run: who waits and is told, what one leaves that was killed; others that fail or are stopped."""

import errno
import fcntl
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time

import pytest

from odl.engine import processes
from odl.errors import BusyError, StorageError

HELD = """
import sys, time
from odl.engine import processes
with processes.alone(sys.argv[1]):
    print("has it", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def locked(path, seconds):
    """Return a process that has a lock for so many seconds."""
    process = subprocess.Popen(
        [sys.executable, "-c", HELD, str(path), str(seconds)], stdout=subprocess.PIPE
    )
    process.stdout.readline()
    return process


@pytest.mark.slow
def test_it_waits_as_long_as_it_is_told(tmp_path):
    other = locked(tmp_path / ".lock", 1.0)
    with (
        pytest.raises(BusyError, match=f"process {other.pid}"),
        processes.alone(tmp_path / ".lock", wait=0.2),
    ):
        pass
    with processes.alone(tmp_path / ".lock", wait=30):
        assert other.wait() == 0


def test_a_killed_process_has_no_lock(tmp_path):
    other = locked(tmp_path / ".lock", 60)
    other.kill()
    other.wait()
    with processes.alone(tmp_path / ".lock"):
        pass


def test_who_has_it_is_told(tmp_path):
    path = tmp_path / "results" / ".lock"
    for _ in range(2):  # the file stays, and says who has it now
        with processes.alone(path):
            told = json.loads(path.read_text())
            assert told["process"] == os.getpid() and told["host"] == platform.node()
            assert (
                abs(time.mktime(time.strptime(told["since"], "%Y-%m-%d %H:%M:%S")) - time.time())
                < 60
            )
    for text, said in (
        (json.dumps(told), f"process {os.getpid()} since {told['since']}"),
        (
            json.dumps({**told, "host": "far"}),
            f"process {os.getpid()} on far since {told['since']}",
        ),
        ("{", "another process"),
        ("{}", "another process"),
        ("[]", "another process"),
    ):
        with processes.alone(path):
            path.write_text(text)
            expected = re.escape(
                f"{tmp_path / 'results'} is run by {said}; expected at most one run in a folder"
            )
            with pytest.raises(BusyError, match=expected), processes.alone(path):
                pass


@pytest.mark.parametrize(
    ("number", "error"),
    [(errno.EACCES, BusyError), (errno.EWOULDBLOCK, BusyError), (errno.ENOLCK, StorageError)],
)
def test_a_disk_without_locks_is_told_from_a_lock(number, error, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(number, "no")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(error), processes.alone(tmp_path / ".lock"):
        pass


def test_all_is_done_and_what_fails_stays_in_its_process(tmp_path):
    def work(number):
        if number == 3:
            raise ValueError(number)
        (tmp_path / str(number)).touch()

    processes.each(work, [(number,) for number in range(6)], 2)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "2", "4"}


def test_there_are_no_more_processes_than_tasks_and_cores(tmp_path):
    for n_tasks, cores, n_processes in ((5, 2, 2), (2, 5, 2), (3, 1, 1)):
        folder = tmp_path / f"{n_tasks}-{cores}"
        folder.mkdir()

        def touch(n, folder=folder):
            (folder / f"{n}-{os.getpid()}").touch()

        processes.each(touch, [(n,) for n in range(n_tasks)], cores)
        names = [path.name.split("-") for path in folder.iterdir()]
        assert sorted(number for number, _ in names) == [str(n) for n in range(n_tasks)]
        assert len({process for _, process in names}) == n_processes and str(os.getpid()) not in {
            *dict(names).values()
        }


def test_an_interrupt_of_all_processes_is_for_the_first_one(tmp_path):
    def work():
        os.kill(os.getpid(), signal.SIGINT)
        (tmp_path / "done").touch()

    processes.each(work, [()], 1)
    assert (tmp_path / "done").exists()


@pytest.mark.slow
def test_processes_end_with_the_one_that_made_them(tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    def work(number):
        (tmp_path / str(os.getpid())).touch()
        time.sleep(60)

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(KeyboardInterrupt):
            processes.each(work, [(0,), (1,)], 2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for path in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name), 0)
