"""What a submitted job leaves, and whether more memory would help it."""

import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from odl import cli
from odl.commands import COMMANDS
from odl.jobs import attempts


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ODL_ATTEMPTS", str(tmp_path / "left"))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    return tmp_path / "left"


@pytest.fixture
def slurm_says(tmp_path, monkeypatch):
    """Put a squeue into the path that knows every job under one state."""

    def say(state):
        script = tmp_path / "bin" / "squeue"
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!/bin/sh\necho {state}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("SLURM_JOB_ID", "7")

    return say


def left(folder):
    return [json.loads(path.read_text()) for path in folder.glob("*.json")]


def fail_with(error):
    with pytest.raises(type(error)), attempts.remembered("update"):
        raise error


def vanish():
    """Kill a command without a warning."""
    code = (
        "import os, signal\nfrom odl.jobs import attempts\nwith attempts.remembered('update'): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL


def test_success_leaves_nothing(folder):
    with attempts.remembered("update") as ended:
        assert left(folder) == [{"command": "update", "job": ""}]
        ended(0, "finished")
    assert left(folder) == []
    with pytest.raises(attempts.NotOfMemory, match="no command of it was running"):
        attempts.check(folder)


def test_outside_a_submitted_job_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.delenv("ODL_ATTEMPTS", raising=False)
    monkeypatch.chdir(tmp_path)
    with attempts.remembered("update") as ended:
        ended(1, "refused")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "end", "status"),
    [(SystemExit(143), "terminated", 143), (SystemExit(1), "refused", 1), (ValueError("x"), "error", 1)],
)
def test_an_end_by_itself_is_not_of_memory(folder, error, end, status):
    fail_with(error)
    assert left(folder) == [{"command": "update", "job": "", "status": status, "end": end}]
    for _ in range(2):  # and it stays so for every further attempt
        with pytest.raises(attempts.NotOfMemory, match=f"odl update ended by itself with status {status}"):
            attempts.check(folder)


def test_a_refusal_of_the_command_is_remembered(folder, tmp_path, capsys):
    assert cli.main(["plan", str(tmp_path / "plan.json"), "--config", "{}"]) == 1
    assert [(entry["command"], entry["end"]) for entry in left(folder)] == [("plan", "refused")]
    assert cli.main(["attempt", str(folder)]) == 1
    assert "odl plan ended by itself with status 1" in capsys.readouterr().err


def test_no_memory_left_is_one_sentence_and_may_be_tried_again(folder, tmp_path, capsys, monkeypatch):
    _, *said = COMMANDS["table"]
    monkeypatch.setitem(COMMANDS, "table", (lambda args: bytearray(1 << 62), *said))
    assert cli.main(["table", str(tmp_path)]) == 1
    assert (
        "odl table: out of memory (no more could be had); give it more, or fewer documents" in capsys.readouterr().err
    )
    assert cli.main(["attempt", str(folder)]) == 0
    assert left(folder) == []


def test_a_command_that_vanished_may_be_tried_again(folder):
    vanish()
    with attempts.remembered("ranks") as ended:  # the launcher that saw its rank die
        ended(1, "refused")
    assert attempts.check(folder) == "a kill without a warning"
    assert not folder.exists()


@pytest.mark.parametrize("state", ["TIMEOUT", "CANCELLED", "NODE_FAIL"])
def test_slurm_knows_that_it_was_not_memory(folder, slurm_says, state):
    slurm_says(state)
    vanish()
    with pytest.raises(attempts.NotOfMemory, match=f"Slurm ended it as {state}"):
        attempts.check(folder)


def test_slurm_knows_that_it_was_memory(folder, slurm_says):
    slurm_says("OUT_OF_MEMORY")
    fail_with(SystemExit(143))
    assert attempts.check(folder) == "OUT_OF_MEMORY"


def test_slurm_that_knows_a_failure_only(folder, slurm_says):
    slurm_says("FAILED")
    vanish()
    assert attempts.check(folder) == "a kill without a warning"
