"""Jobs that Snakemake hands to the worker itself: which commands, their end, signals, and what goes to a shell."""

# ruff: noqa: F401, F811  (fixtures of test_worker)
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import psutil
import pytest
from test_worker import SLEEP, Run, documents, run, waited, words

from odl.worker import direct

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the worker needs abstract sockets and pidfd")
PREFIX = "set -euo pipefail;  "  # as Snakemake puts it


@pytest.mark.parametrize(
    ("command", "handed"),
    [
        ("odl step batch a.h5 'b c.h5'  --t 1 > l.log 2>&1", ["step", "batch", "a.h5", "b c.h5", "--t", "1"]),
        ("""odl step plan '{"a": "it'"'"'s"}' > 'l g.log' 2>&1""", ["step", "plan", '{"a": "it\'s"}']),
        ("odl step plan '' '> x' > l.log 2>&1", ["step", "plan", "", "> x"]),
        *(
            (f"odl step {words}", None)
            for words in (
                "plan a", "plan a > l.log", "plan `a` > l.log 2>&1", "plan $HOME > l.log 2>&1",
                "plan a; ls > l.log 2>&1", "plan * > l.log 2>&1",
                "index a 2> >(tee l.log >&2)", "plan a | cat > l.log 2>&1", 'plan "$A" > l.log 2>&1',
                "plan a > l.log 2>&1 && ls", "plan a\nls > l.log 2>&1",
            )
        ),
        ("cat step plan > l.log 2>&1", None),
    ],
)  # fmt: skip
def test_only_words_and_a_log_are_handed_over(monkeypatch, command, handed):
    given, shells = [], []
    monkeypatch.setattr(direct, "_handed", lambda words, log, variables: given.append((words, log)) or "handed")
    shell = SimpleNamespace(PIPE=subprocess.PIPE, Popen=lambda *words, **options: shells.append(words))
    monkeypatch.setattr(direct, "subprocess", shell)
    direct.begin(PREFIX + command, shell=True, env={})
    assert (given[0][0] if given else None) == handed and bool(shells) == (handed is None)
    if handed:
        told = f"odl() {{ printf '%s\\0' \"$@\"; }}; {command.rpartition(' > ')[0]}"
        assert subprocess.check_output(["bash", "-c", told], text=True).split("\0")[:-1] == handed


def shell(run, command, **variables):
    """Begin a command with the options that Snakemake gives."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    held = {**run.environment, "PATH": path, **variables}
    return direct.begin(command, shell=True, executable=shutil.which("bash"), stdout=None, env=held)


def command_of(words, log):
    return f"{PREFIX}odl step {shlex.join(map(str, words))} > {shlex.quote(str(log))} 2>&1"


@pytest.fixture
def begin(run, tmp_path, monkeypatch):
    """Begin a job from this process, as Snakemake does."""
    monkeypatch.chdir(tmp_path)

    def begin(*words, **variables):
        return shell(run, command_of(words, "said.log"), **variables)

    return begin


def test_a_job_ends_as_in_a_shell(begin, run, words, tmp_path):
    ends = []
    for switch in ("0", "1"):
        found = []
        for given in (words("a.tsv"), ["index", "absent.h5", *words("b.tsv")[2:]], ["plan"]):
            job = begin(*given, ODL_WORKER=switch)
            assert isinstance(job, direct.Handed) == (switch == "1")
            found.append((job.wait(), (tmp_path / "said.log").read_text(), job.returncode))
        found.append((tmp_path / "a.tsv").read_bytes())
        (tmp_path / "a.tsv").unlink()
        ends.append(found)
    assert ends[0] == ends[1] and [end[0] for end in ends[0][:3]] == [0, 1, 2]
    assert len(run.workers()) == 1 and not direct.RUNNING


def test_where_the_log_cannot_be_written_a_shell_says_why(run, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    job = shell(run, command_of(["plan"], "none/said.log"))
    assert job.wait() == 1 and isinstance(job, subprocess.Popen) and not run.workers()
    assert "none/said.log" in capfd.readouterr().err


def test_where_the_kernel_says_no_umask_a_shell_begins_the_job(begin, words, monkeypatch):
    monkeypatch.setattr(direct, "open", lambda *_, **__: io.StringIO("Name: python\nPid: 1\n"), raising=False)
    job = begin(*words("a.tsv"))
    assert isinstance(job, subprocess.Popen) and job.wait() == 0


def test_signals_end_a_job(begin, run, words, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(SLEEP)
    sign = tmp_path / "sign"
    run.environment["SIGN"] = str(sign)
    for act, status in (("terminate", 143), ("interrupt", 130), ("kill", 137)):
        sign.unlink(missing_ok=True)
        job = begin(*words("slow.tsv"))
        assert waited(lambda: sign.exists() and sign.read_text()) and psutil.Process(job.pid).name() == "odl index"
        job.send_signal(signal.SIGINT) if act == "interrupt" else getattr(job, act)()
        assert job.wait() == status and not psutil.pid_exists(job.pid)
        assert (act == "kill") == bool(list(tmp_path.glob(".slow.tsv*.part")))
    assert "ended by signal 9" in (tmp_path / "said.log").read_text()


def test_an_interrupt_reaches_the_jobs_and_then_snakemake(monkeypatch):
    class Module:
        sp = subprocess

    told = []
    job = type("Job", (), {"send_signal": lambda self, number: told.append(number)})()
    monkeypatch.setattr(direct.importlib, "import_module", lambda name: Module)
    before = signal.signal(signal.SIGINT, lambda *_: told.append("snakemake"))
    direct.RUNNING.add(job)
    try:
        direct.install()
        direct.install()
        signal.raise_signal(signal.SIGINT)
    finally:
        direct.RUNNING.discard(job)
        signal.signal(signal.SIGINT, before)
    assert told == [signal.SIGINT, "snakemake"]
    assert Module.sp.Popen is direct.begin and Module.sp.PIPE is subprocess.PIPE


def test_snakemake_may_run_in_another_thread(monkeypatch):
    module = SimpleNamespace(sp=subprocess)
    monkeypatch.setattr(direct.importlib, "import_module", lambda name: module)
    failed = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    thread = threading.Thread(target=direct.install)
    thread.start()
    thread.join()
    assert not failed and module.sp.Popen is direct.begin
