"""The command: one sentence for every mistake, no traceback, nothing half-written, no orphan."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from called import odl
from places import ROOT

from odl import cli
from odl.alerts import explain
from odl.report import studypage

STREAM = json.dumps(
    {
        "batches": {
            "by": "documents",
            "documents": 2,
            "period": "day",
            "initial": 2,
            "flush": True,
        },
        "protocol": "by-date",
        "topic_entry": {},
        "ties": "seeded",
    }
)

BY = json.loads(STREAM)
RUN = {
    "corpus": "c",
    "seed": 0,
    "run": "r",
    "atoms": 2,
    "learner": {"algorithm": "dual_averaging"},
    "features": {},
}


def process(*arguments):
    """Run a subcommand in a process of its own."""
    command = [sys.executable, "-m", "odl", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)


@pytest.fixture
def corpus(tmp_path):
    lines = [
        json.dumps({"id": f"d{n}", "time": 1990 + n, "text": f"word{chr(97 + n)} same words"})
        for n in range(6)
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    found = odl(
        "step", "read", "documents", tmp_path / "documents.h5", "--source", tmp_path / "mine.jsonl"
    )
    assert found.returncode == 0, found.stderr
    return tmp_path


def cut(corpus, run=odl, steps=1):
    """Make the features of the first timesteps by the commands."""
    names = corpus / "documents.h5", corpus / "o.h5"
    calls = [
        ("step", "index", names[0], corpus / "i.tsv", names[1], "--seed", 0, "--stream", STREAM)
    ]
    for t in range(steps):
        calls.append(("step", "batch", *names, corpus / f"b{t}.h5", "--t", t))
        previous = ["--previous", corpus / f"f{t - 1}.h5"] if t else []
        calls.append(("step", "features", corpus / f"f{t}.h5", corpus / f"b{t}.h5", *previous))
    for words in calls:
        done = run(*words)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_stages_by_hand(corpus):
    cut(corpus, process, 2)
    names = [
        "--state",
        corpus / "s0.h5",
        "--scores",
        corpus / "sc0.h5",
        "--timings",
        corpus / "t0.tsv",
    ]
    found = process("step", "update", corpus / "f0.h5", *names, "--run", json.dumps(RUN))
    assert found.returncode == 0, found.stderr
    assert (corpus / "s0.h5").exists() and (corpus / "t0.tsv").read_text().startswith(
        "phase\tcpu_s"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["step", "read", "documens", "x.h5"], "documents"),
        (["step", "read", "documents", "x.h5", "--source", "absent.jsonl"], "absent.jsonl"),
        (
            ["step", "index", "absent.h5", "i.tsv", "o.h5", "--seed", "0", "--stream", STREAM],
            "absent.h5 does not exist",
        ),
        (["step", "features", "x.h5", "README.md"], "README.md"),
        (["step", "download", "tdt2/absent.mat", "x.mat"], "absent.mat"),
        (["step", "summarise", "README.md", "x"], "README.md"),
        (["table", "absent"], "absent contains no tables"),
    ],
)
def test_mistakes_are_one_sentence(arguments, message, monkeypatch):
    monkeypatch.setenv("ODL_MIRROR", "")
    one_sentence(odl(*arguments, cwd=ROOT), message)


def test_a_mistake_in_a_process_of_its_own():
    one_sentence(
        process("step", "read", "documents", "x.h5", "--source", "absent.jsonl"), "absent.jsonl"
    )


def one_sentence(found, message):
    assert found.returncode != 0
    assert message in found.stderr and "expected" in found.stderr
    assert "Traceback" not in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


def test_arguments_that_are_no_json_are_refused():
    found = odl("step", "read", "documents", "x.h5", "--options", "{")
    assert found.returncode == 2 and "not JSON" in found.stderr and "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("command", "flag", "value", "message"),
    [
        ("index", "--stream", {**BY, "more": 1}, "'--stream.more' is not a key"),
        ("index", "--stream", {**BY, "batches": []}, "batches is []"),
        (
            "index",
            "--stream",
            {**BY, "batches": {**BY["batches"], "initial": 0}},
            "batches.initial is 0",
        ),
        (
            "index",
            "--stream",
            {**BY, "batches": {**BY["batches"], "period": "hour"}},
            "one of day, week, month",
        ),
        ("index", "--stream", {**BY, "protocol": "x"}, "protocol is 'x'"),
        ("index", "--stream", {**BY, "ties": "x"}, "ties is 'x'"),
        ("update", "--run", {}, "has no 'corpus'"),
        ("update", "--run", {**RUN, "seed": None}, "seed is None"),
        ("update", "--run", {**RUN, "atoms": True}, "atoms is True"),
        ("update", "--run", {**RUN, "learner": {}}, "has no 'algorithm'"),
        (
            "update",
            "--run",
            {**RUN, "learner": {"algorithm": "dual_averaging", "lam": "x"}},
            "lam is 'x'",
        ),
        ("update", "--run", {**RUN, "features": {"foo": 1}}, "'--run.features.foo' is not a key"),
        ("update", "--run", {**RUN, "features": {"tf": "x"}}, "tf is 'x'"),
        ("evaluate", "--options", {"x": 1}, "'--options.x' is not a key"),
        ("evaluate", "--options", {"timesteps": 3}, "timesteps is 3"),
        ("plan", "--config", {}, "has no 'study'"),
    ],
)
def test_maps_of_another_shape_are_refused(corpus, command, flag, value, message):
    made = corpus / "made"
    made.mkdir()
    outputs = {
        "index": [corpus / "documents.h5", made / "i.tsv", made / "o.h5", "--seed", 0],
        "update": [
            "--state",
            made / "s.h5",
            "--scores",
            made / "c.h5",
            "--timings",
            made / "t.tsv",
        ],
        "evaluate": [made / "auc.tsv", made / "summary.tsv"],
        "plan": [made / "plan.json"],
    }[command]
    if command == "update":
        cut(corpus)
        outputs = [corpus / "f0.h5", *outputs]
    found = odl("step", command, *outputs, flag, json.dumps(value))
    assert found.returncode == 1 and message in found.stderr, found.stderr
    assert "Traceback" not in found.stderr and len(found.stderr.strip().splitlines()) == 1
    assert list(made.iterdir()) == []


@pytest.mark.parametrize("value", ["[]", "3", "null", '"x"', '{"a": NaN}'])
def test_what_is_no_map_is_refused(value):
    found = odl("step", "read", "documents", "x.h5", "--options", value)
    assert found.returncode == 2 and "Traceback" not in found.stderr


def test_unknown_learner_names_the_nearest(corpus):
    cut(corpus)
    run = {**RUN, "learner": {"algorithm": "dual_average"}}
    names = [
        "--state",
        corpus / "s.h5",
        "--scores",
        corpus / "sc.h5",
        "--timings",
        corpus / "t.tsv",
    ]
    found = odl("step", "update", corpus / "f0.h5", *names, "--run", json.dumps(run))
    assert found.returncode == 1 and "did you mean 'dual_averaging'?" in found.stderr
    assert not (corpus / "s.h5").exists()


def test_a_folder_that_cannot_be_written(corpus):
    (corpus / "file").write_text("")
    found = odl(
        "step", "read", "documents", corpus / "file" / "x.h5", "--source", corpus / "mine.jsonl"
    )
    assert (
        found.returncode == 1
        and "Traceback" not in found.stderr
        and "check space and permissions" in found.stderr
    )


CODE = """
import sys, time
from odl import cli
from odl.files import storage
def work(words):
    with storage.replacing(words[0]) as temporary:
        open(temporary, "w").close()
        print("ready", flush=True)
        time.sleep(60)
cli._main = work
sys.exit(cli.main())
"""


def start(path, **environment):
    command = [sys.executable, "-c", CODE, str(path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_stopped_job_removes_its_temporary_file(tmp_path):
    process = start(tmp_path / "x.h5", ODL_PARENT="")
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 143
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_job_ends_when_its_workflow_has_ended(tmp_path):
    """Even while nobody has asked for the exit status of the workflow."""
    workflow = subprocess.Popen(["sleep", "600"])
    process = start(tmp_path / "x.h5", ODL_PARENT=str(workflow.pid))
    workflow.kill()
    assert process.wait(timeout=120) == 143
    assert list(tmp_path.iterdir()) == []
    workflow.wait()


def test_no_memory_left_is_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(studypage, "main_table", lambda folder: bytearray(1 << 62))
    (tmp_path / "tables").mkdir()
    assert cli.main(["table", str(tmp_path)]) == 1
    said = (
        "odl table: out of memory (allocation failed); provide more memory, or use fewer documents"
    )
    assert said in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_log_on_the_full_disk_is_no_further_fault(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        log = open("/dev/full", "w", buffering=1)  # noqa: SIM115 - closed below
        patched.setattr(sys, "stderr", log)
        assert cli.main(["step", "batch", "a.h5", "b.h5", str(tmp_path / "c.h5"), "--t", "0"]) == 1
    log.close()  # what could not be written was dropped


def test_what_a_killed_job_left_is_removed_by_the_next(tmp_path):
    process = start(tmp_path / "x.h5", ODL_PARENT="")
    process.kill()
    process.wait()
    assert len(list(tmp_path.iterdir())) == 1
    other = start(tmp_path / "x.h5", ODL_PARENT="")
    time.sleep(0.1)
    assert len(list(tmp_path.iterdir())) == 1
    other.terminate()
    other.wait(timeout=120)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("results", ["results", "out"])
def test_the_table_of_a_person_s_folder_is_that_of_the_study_below(results, tmp_path, capsys):
    (tmp_path / "odl.yaml").write_text(f"sources: [a.jsonl]\nresults: {results}\n")
    (tmp_path / results / "mine" / "tables").mkdir(parents=True)
    assert cli.main(["table", str(tmp_path)]) == 1
    assert f"name {tmp_path / results / 'mine'}." in capsys.readouterr().err


def test_digits_without_end_are_no_event(monkeypatch):
    monkeypatch.setattr(explain, "find_document", lambda *_: None)
    watch = SimpleNamespace(place=None, events={12: None})
    for what, number in (
        ("topic:12", 12),
        ("#12", 12),
        ("9" * 5000, 0),
        ("topic:" + "9" * 5000, 0),
    ):
        assert explain.find_named(watch, what) == (None, number)


SIGNS = "café \ud83d 東京 😀\n"


@pytest.mark.parametrize(
    ("encoding", "known"), [("ascii", ""), ("latin-1", "é"), ("utf-8", "é東京😀")]
)
def test_signs_that_a_stream_lacks_are_printed_as_json_has_them(encoding, known, monkeypatch):
    """Half a surrogate pair, and every other one of an ASCII terminal."""
    written = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", written)
    cli.open_streams()
    print(json.dumps({"a": SIGNS}, ensure_ascii=False), flush=True)
    text = written.buffer.getvalue().decode(encoding)
    assert json.loads(text) == {"a": SIGNS}
    assert set(text) - set(SIGNS) <= set(r'{"a": ' + r"\nu0123456789abcdef}" + "\n") and set(
        known
    ) <= set(text)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("{odl} new nowhere >&-", 1),
        ("{odl} new nowhere 2>&-", 1),
        ("{odl} >&- 2>&- <&-", 2),
        ("{odl} --help >&-", 0),
        ("{odl} new nowhere 2>/dev/full", 1),
    ],
)
def test_closed_and_full_streams_are_no_traceback(line, status):
    """A closed stream takes nothing; the number that it had is given to no file."""
    line = line.format(odl=f"{sys.executable} -m odl")
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert (
        done.returncode == status
        and "Traceback" not in done.stderr
        and "Exception" not in done.stderr
    )


@pytest.mark.slow
def test_steps_import_no_more_than_they_use():
    """A study starts hundreds of them: what an import takes counts as often."""
    lines = (
        "import contextlib, sys",
        "from odl import cli",
        "with contextlib.suppress(SystemExit):",
        "    cli.main(['step', 'update', '--help'])",
        "import odl.jobs.update, odl.papers.emerging",
        "assert 'odl.text.words' not in sys.modules",
        "import odl.jobs.alerts",
        "print(*sys.modules, file=sys.stderr)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("usage: odl step update")
    unused = {
        "odl.cli.triage",
        "odl.files.listing",
        "pandas",
        "matplotlib",
        "jinja2",
        "scipy.stats",
        "scipy.optimize",
    }
    assert not unused.intersection(done.stderr.split())
