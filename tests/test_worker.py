"""The worker of a run: the same bytes, its beginning and its end, and what becomes of killed jobs."""

import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
from conftest import ROOT

from odl.worker import client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the worker needs abstract sockets and pidfd")
PATIENCE = 60
SOURCES = ROOT / "src"
# Run by every Python at its start: jobs of these names sleep in the midst of their work, after a sign of life.
SLEEP = """
import os, sys, time

def hook(event, args):
    if event == "os.rename" and str(args[1]).endswith("slow.tsv"):
        open(os.environ["SIGN"], "w").write(str(os.getpid()))
        while True:
            time.sleep(0.1)

sys.addaudithook(hook)
"""
# A Python that was built for an older C library cannot begin a session with a process.
OLD = """
import os

spawn = os.posix_spawn

def old(*words, setsid=False, **options):
    if setsid:
        raise NotImplementedError("posix_spawn: setsid unavailable on this platform")
    return spawn(*words, **options)

os.posix_spawn = old
"""
# The worker cannot fork once there is a file of this name.
FULL = """
def full(event, args):
    if event == "os.fork" and "worker" in sys.argv and os.path.exists("full"):
        raise BlockingIOError(11, "no more processes")

sys.addaudithook(full)
"""
# Notes who imports what no job of a stream needs.
NOTE = """
import os, sys

def hook(event, args):
    if event == "exec" and getattr(args[0], "co_filename", "").endswith("alerts/topics.py"):
        open("noted", "a").write(f"{os.getpid()}\\n")

sys.addaudithook(hook)
"""


class Run:
    """What stands for Snakemake: a process whose jobs share a worker."""

    def __init__(self, folder, **variables):
        self.folder = folder
        self.process = subprocess.Popen(["sleep", "1000"])
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.environment = {**os.environ, **threads, "ODL_HOST": platform.node(), "ODL_PARENT": str(self.process.pid)}
        self.environment |= {"PYTHONPATH": f"{SOURCES}{os.pathsep}{folder}", "MARK": str(folder)} | variables
        self.environment.pop("ODL_WORKER", None)
        self.environment |= variables

    def begin(self, *words, mask=-1, **variables):
        command = [sys.executable, "-m", "odl", "step", *map(str, words)]
        return subprocess.Popen(
            command, cwd=self.folder, env={**self.environment, **variables}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, umask=mask,
        )  # fmt: skip

    def job(self, *words, **variables):
        process = self.begin(*words, **variables)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def workers(self):
        """Return the worker's processes: itself, and a child for each job."""
        found = []
        for process in psutil.process_iter():
            try:
                words = process.cmdline()
                if "worker" in words and process.environ().get("MARK") == str(self.folder):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def end(self):
        self.process.kill()
        self.process.wait()


def waited(reached):
    """Wait for something to be true."""
    end = time.monotonic() + PATIENCE
    while not (value := reached()) and time.monotonic() < end:
        time.sleep(0.02)
    return value


@pytest.fixture
def run(tmp_path):
    found = Run(tmp_path)
    try:
        yield found
    finally:
        found.end()
        waited(lambda: not found.workers())
        left = found.workers()
        for process in left:
            process.kill()
        assert not left


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """The documents of a small corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    lines = [json.dumps({"id": f"d{n}", "time": 1990 + n, "text": f"word{chr(97 + n)} same words"}) for n in range(6)]
    (folder / "mine.jsonl").write_text("\n".join(lines))
    command = [sys.executable, "-m", "odl", "step", "read", "documents", folder / "documents.h5", "--source"]
    subprocess.run([*command, folder / "mine.jsonl"], check=True, capture_output=True)
    return folder / "documents.h5"


@pytest.fixture
def words(documents):
    """The words of a short job, by the name of its table."""
    stream = {"batches": {"by": "documents", "documents": 2, "period": "day", "initial": 2, "flush": True}}
    stream |= {"protocol": "by-date", "topic_entry": {}, "ties": "seeded"}
    rest = ["--seed", "0", "--stream", json.dumps(stream)]
    return lambda table: ["index", documents, table, f"{table}.h5", *rest]


@pytest.fixture
def sleeper(tmp_path, run, words):
    """Begins a job that sleeps while it writes: its client, and the process that does it."""
    (tmp_path / "sitecustomize.py").write_text(SLEEP)
    sign = tmp_path / "sign"
    run.environment["SIGN"] = str(sign)
    clients = []

    def begin(**variables):
        sign.unlink(missing_ok=True)
        clients.append(run.begin(*words("slow.tsv"), **variables))
        assert waited(lambda: sign.exists() and sign.read_text()), clients[-1].communicate()
        return clients[-1], psutil.Process(int(sign.read_text()))

    yield begin
    for started in clients:
        started.kill()
        started.wait()


@pytest.fixture
def slow(sleeper):
    return sleeper()


def written(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".tsv", ".h5", ".part")}


def test_a_job_ends_as_in_a_process_of_its_own(run, words, tmp_path):
    ends = []
    for switch, expected in (("0", 0), ("1", 1)):
        found = [run.job(*words("a.tsv"), "--costs", "costs.tsv", ODL_WORKER=switch)]
        assert (tmp_path / "costs.tsv").read_text().startswith("s\th:m:s\tmax_rss\t")
        (tmp_path / "costs.tsv").unlink()
        for wrong in (["index", "absent.h5", "b.tsv", "b.h5", *words("b.tsv")[4:]], ["index"], ["plan", "--help"]):
            found.append(run.job(*wrong, ODL_WORKER=switch))
        found.append(run.job(*words("c.tsv"), mask=0o027, ODL_WORKER=switch))
        assert (tmp_path / "c.tsv").stat().st_mode & 0o777 == 0o640
        (tmp_path / "c.tsv").unlink()
        ends.append((found, written(tmp_path)))
        assert len(run.workers()) == expected
    assert ends[0] == ends[1]
    assert [status for status, _, _ in ends[0][0]] == [0, 1, 2, 0, 0] and "a.tsv.h5" in ends[0][1]


def test_the_first_jobs_begin_one_worker_and_it_ends_with_the_run(run, words, tmp_path):
    jobs = [run.begin(*words(f"{number}.tsv")) for number in range(6)]
    assert [job.communicate(timeout=PATIENCE) and job.returncode for job in jobs] == [0] * 6
    (worker,) = run.workers()
    assert worker.name() == "odl worker" and worker.num_threads() == 1
    assert len({written(tmp_path)[f"{number}.tsv"] for number in range(6)}) == 1
    run.end()
    assert waited(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


def test_what_a_job_imported_the_next_one_finds(run, words, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(NOTE)
    run.job(*words("a.tsv"))
    (worker,) = run.workers()
    noted = tmp_path / "noted"
    assert not noted.exists()
    topics = ["topics", "absent.h5", "absent.h5", "--output", "x.h5", "--settings", "{}"]
    assert run.job(*topics)[0] == 1
    assert waited(lambda: noted.read_text().count("\n") == 2)
    child, after = map(int, noted.read_text().split())
    assert child != worker.pid == after
    assert run.job(*topics)[0] == 1 and noted.read_text().count("\n") == 2


def test_a_job_of_another_environment_has_a_process_of_its_own(run, words, sleeper):
    assert run.job(*words("a.tsv"))[0] == 0 and len(run.workers()) == 1
    for variables, alone in (({"ANOTHER": "1"}, True), ({"OMP_NUM_THREADS": "2"}, True), ({"ODL_KEEP": "3"}, False)):
        client, job = sleeper(**variables)
        assert (client.pid == job.pid) == alone, variables
        client.kill()
        client.communicate()
        assert waited(lambda job=job: not job.is_running())


def test_a_worker_of_other_code_does_not_serve(run, words, tmp_path):
    package = tmp_path / "package"
    shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    run.environment["PYTHONPATH"] = str(package)
    assert run.job(*words("a.tsv"))[0] == 0
    (first,) = run.workers()
    with open(package / "odl" / "stream" / "batching.py", "a") as file:
        file.write("print('edited')\n")
    told = [run.job(*words(f"{name}.tsv"))[1] for name in "de"]
    assert told == ["edited\n"] * 2
    assert waited(lambda: not first.is_running() or first.status() == psutil.STATUS_ZOMBIE)
    (second,) = run.workers()
    assert second.pid != first.pid and len({written(tmp_path)[f"{name}.tsv"] for name in "ade"}) == 1


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_the_client_reaches_its_job(slow, tmp_path, number, status):
    client, job = slow
    assert list(tmp_path.glob(".slow.tsv*.part"))
    client.send_signal(number)
    client.communicate(timeout=PATIENCE)
    assert client.returncode == status and not job.is_running()
    assert not list(tmp_path.glob(".slow.tsv*.part")) and not (tmp_path / "slow.tsv").exists()


def test_a_killed_client_ends_its_job_and_no_other(slow, run, words):
    client, job = slow
    client.kill()
    assert waited(lambda: not job.is_running())
    assert run.job(*words("after.tsv"))[0] == 0 and len(run.workers()) == 1


def test_a_crashed_job_fails_alone(slow, run, words):
    client, job = slow
    job.send_signal(signal.SIGSEGV)
    _, err = client.communicate(timeout=PATIENCE)
    assert (client.returncode, err) == (128 + signal.SIGSEGV, "odl: the job was ended by signal 11\n")
    assert run.job(*words("after.tsv"))[0] == 0 and len(run.workers()) == 1


def test_jobs_end_with_the_worker_and_with_the_run(sleeper, run, tmp_path):
    client, job = sleeper()
    (worker,) = [process for process in run.workers() if process.pid != job.pid]
    worker.kill()
    assert waited(lambda: not job.is_running())
    _, err = client.communicate(timeout=PATIENCE)
    assert client.returncode == 1 and "the worker of this run was ended" in err
    again, _ = sleeper()
    run.end()
    again.communicate(timeout=PATIENCE)
    assert again.returncode == 143 and waited(lambda: not run.workers())
    assert not list(tmp_path.glob(".slow.tsv*.part"))


@pytest.mark.parametrize("lack", ["processes", "descriptors"])
def test_where_no_child_can_be_forked_a_job_runs_by_itself_and_others_go_on(sleeper, run, words, tmp_path, lack):
    with open(tmp_path / "sitecustomize.py", "a") as file:
        file.write(FULL)
    _, job = sleeper()
    (worker,) = [process for process in run.workers() if process.pid != job.pid]
    if lack == "processes":
        (tmp_path / "full").touch()
    else:
        used = {int(number) for number in os.listdir(f"/proc/{worker.pid}/fd")}
        least = min(set(range(len(used) + 1)) - used)
        worker.rlimit(psutil.RLIMIT_NOFILE, (least, least))
    assert run.job(*words("b.tsv"))[0] == 0
    assert job.is_running() and worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE


def test_a_worker_begins_without_a_session_where_the_c_library_is_old(run, words, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(OLD)
    assert run.job(*words("a.tsv"))[::2] == (0, "")
    (worker,) = run.workers()
    assert os.getpgid(worker.pid) == worker.pid


def test_a_python_without_pidfd_begins_no_worker(run, monkeypatch):
    asked = (["step", "plan"], run.environment)
    assert client.name_for(*asked)
    monkeypatch.delattr(os, "pidfd_open")
    assert client.name_for(*asked) is None


def test_a_signal_that_comes_after_the_end_of_a_job_does_not_run_it_again(monkeypatch):
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name, found in (("name_for", b"name"), ("connected", object()), ("send", None), ("begun", gone.pid)):
        monkeypatch.setattr(client, name, lambda *_, found=found: found)
    monkeypatch.setattr(client, "ended", lambda *_: signal.raise_signal(signal.SIGTERM) or 7)
    assert client.ask(["step", "plan"]) == 7


def test_a_socket_of_somebody_else_is_not_spoken_to(run, words, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    monkeypatch.setenv("ODL_PARENT", str(run.process.pid))
    name = client.name_of(str(run.process.pid))
    assert b"-12345-" in name
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(name)
    listening.listen()
    assert client.connected(name, {}) is None
    listening.close()


def test_a_share_is_read_by_the_worker_and_all_files_at_once_are_not():
    assert client._served(["read", "documents", "x.h5", "--files", "a", "b"]) and client._served(["page"])
    assert client._served(["read", "documents", "x.h5", "--shares", "a.h5"])
    assert not client._served(["read", "documents", "x.h5"]) and not client._served([])
