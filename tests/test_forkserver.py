"""The fork server runs steps as processes of their own would: output, status, files, signals, and its end."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from odl import forkserver
from odl.files.tables import read_table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the workflow starts it on Linux")
# Starts a server and runs a command; prints the path of the socket.
DRIVER = """
import os, subprocess, sys
from odl import forkserver
os.environ[forkserver.SOCKET] = forkserver.start([])
print(os.environ[forkserver.SOCKET], flush=True)
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""
DELEGATE = (
    "import sys; from odl import forkserver; sys.exit(forkserver.delegate(sys.argv[1:]) or 'none')"
)
# Runs a step, then runs it again a second later; prints how many seconds the second took.
TWICE = """
import sys, time
from odl import forkserver
assert forkserver.delegate(sys.argv[1:]) == 0
time.sleep(1)
begin = time.monotonic()
assert forkserver.delegate(sys.argv[1:]) == 0
print(time.monotonic() - begin)
"""
READ = ("step", "read", "documents")


def started(*words, **options):
    """Return a process of Python whose output is piped."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *words], **pipes, **options)


def driven(*words, **options):
    """Return the process of a driver that runs Python with these words."""
    return started("-c", DRIVER, sys.executable, *words, **options)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text(
        "".join(json.dumps({"id": i, "text": f"word{i} of a text"}) + "\n" for i in range(3))
    )
    return path


def test_a_step_writes_and_prints_what_it_does_without_a_server(source, tmp_path):
    printed = {}
    for name, run in (("server", driven), ("alone", started)):
        words = [*READ, f"{name}.h5", "--source", source.name, "--costs", f"{name}.tsv"]
        process = run("-m", "odl", *words, cwd=tmp_path)
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        printed[name] = output.splitlines()[-1]
    assert printed["server"] == printed["alone"] == "odl read: 3 documents, 1 terms"
    assert (tmp_path / "server.h5").read_bytes() == (tmp_path / "alone.h5").read_bytes()
    assert (tmp_path / "server.tsv").read_text().startswith("s\tmax_rss\tcpu_time")


def test_the_seconds_of_a_step_begin_with_the_step_and_not_with_the_server(source, tmp_path):
    process = driven(
        "-c", TWICE, *READ, "out.h5", "--source", source.name, "--costs", "costs.tsv", cwd=tmp_path
    )
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    (costs,) = read_table(tmp_path / "costs.tsv")
    fork = 0.1  # upper bound of the CPU seconds of the fork, before the step begins
    assert costs["cpu_time"] - fork <= costs["s"] <= float(output.splitlines()[-1])


def test_the_status_and_the_message_of_an_error_arrive(tmp_path):
    process = driven("-c", DELEGATE, *READ, "out.h5", "--source", "missing", cwd=tmp_path)
    said = process.communicate()[1]
    assert process.returncode == 1
    assert said.startswith("odl read: ")
    process = driven("-c", DELEGATE, "step", "read")
    assert "the following arguments are required" in process.communicate()[1]
    assert process.returncode == 2


def processes_with(mark):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ") as file:
                found += [int(name)] * (mark in file.read())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_step_ends_with_its_client_and_the_server_with_its_parent(tmp_path, number):
    mark, fifo = f"ODL_TEST={tmp_path}", tmp_path / "plan.json"
    os.mkfifo(fifo)
    client = "import os; open('client', 'w').write(str(os.getpid())); from odl.__main__ import main; exit(main())"
    variables = {**os.environ, "ODL_TEST": str(tmp_path)}
    process = driven(
        "-c", client, "step", "summarise", fifo.name, "tables", cwd=tmp_path, env=variables
    )
    folder = os.path.dirname(process.stdout.readline())
    wait_until(lambda: is_read(fifo))
    time.sleep(0.5)  # Python defers a signal that arrives between opening and reading the pipe
    os.kill(int((tmp_path / "client").read_text()), number)
    process.communicate()
    assert process.returncode == (128 + number if number == signal.SIGTERM else -number % 256)
    wait_until(lambda: not os.path.exists(folder))
    wait_until(lambda: not processes_with(mark))


def is_read(fifo):
    """Return whether a process opens a named pipe to read it; what is opened here to write stays open."""
    try:
        os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    return True


def wait_until(reached, seconds=20):
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_without_a_server_a_step_runs_in_its_own_process(monkeypatch, tmp_path):
    monkeypatch.delenv(forkserver.SOCKET, raising=False)
    assert forkserver.delegate(["step", "read"]) is None
    monkeypatch.setenv(forkserver.SOCKET, str(tmp_path / "socket"))
    assert forkserver.delegate(["step", "read"]) is None
    assert forkserver.delegate(["run"]) is None
    assert forkserver.delegate(["step", "rank", "2"]) is None


def test_a_long_temporary_folder_means_no_server(tmp_path, monkeypatch):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert forkserver.start([]) == "" and not [*folder.iterdir()]
    monkeypatch.setenv(forkserver.SOCKET, "")
    assert forkserver.delegate([*READ, "out.h5"]) is None
