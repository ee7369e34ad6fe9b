"""One run a folder: who waits, who is told, and what a process leaves that was killed."""

import errno
import fcntl
import json
import os
import platform
import re
import subprocess
import sys
import time

import pytest

from odl.engine import lock
from odl.errors import BusyError, StorageError

HELD = """
import sys, time
from odl.engine import lock
with lock.alone(sys.argv[1]):
    print("has it", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def locked(path, seconds):
    """Return a process that has a lock for so many seconds."""
    process = subprocess.Popen([sys.executable, "-c", HELD, str(path), str(seconds)], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def test_it_waits_as_long_as_it_is_told(tmp_path):
    other = locked(tmp_path / ".lock", 1.0)
    with pytest.raises(BusyError, match=f"process {other.pid}"), lock.alone(tmp_path / ".lock", wait=0.2):
        pass
    with lock.alone(tmp_path / ".lock", wait=30):
        assert other.wait() == 0


def test_a_killed_process_has_no_lock(tmp_path):
    other = locked(tmp_path / ".lock", 60)
    other.kill()
    other.wait()
    with lock.alone(tmp_path / ".lock"):
        pass


def test_who_has_it_is_told(tmp_path):
    path = tmp_path / "results" / ".lock"
    for _ in range(2):  # the file stays, and says who has it now
        with lock.alone(path):
            told = json.loads(path.read_text())
            assert told["process"] == os.getpid() and told["host"] == platform.node()
            assert abs(time.mktime(time.strptime(told["since"], "%Y-%m-%d %H:%M:%S")) - time.time()) < 60
    for text, said in (
        (json.dumps(told), f"process {os.getpid()} since {told['since']}"),
        (json.dumps({**told, "host": "far"}), f"process {os.getpid()} on far since {told['since']}"),
        ("{", "another process"),
        ("{}", "another process"),
        ("[]", "another process"),
    ):
        with lock.alone(path):
            path.write_text(text)
            expected = re.escape(f"{tmp_path / 'results'} is run by {said}; expected one run a folder")
            with pytest.raises(BusyError, match=expected), lock.alone(path):
                pass


@pytest.mark.parametrize(
    ("number", "error"), [(errno.EACCES, BusyError), (errno.EWOULDBLOCK, BusyError), (errno.ENOLCK, StorageError)]
)
def test_a_disk_without_locks_is_told_from_a_lock(number, error, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(number, "no")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(error), lock.alone(tmp_path / ".lock"):
        pass
