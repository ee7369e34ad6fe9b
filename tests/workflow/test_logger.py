"""Snakemake's logger `odl`: one line in place of four a step, errors in full."""

import logging
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from forked import snakemake
from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_odl as plugin

RULES = """
rule all:
    input: expand("{name}.txt", name=["a", "b"])
rule write:
    output: "{name}.txt"
    log: "{name}.log"
    shell: "echo wrote {wildcards.name} | tee {log} > {output}; [ {wildcards.name} != BAD ]"
"""


@pytest.fixture
def handler(monkeypatch):
    """A handler that writes no line by itself."""
    monkeypatch.setattr(plugin, "REPEAT_SECONDS", 3600)
    made = plugin.LogHandler(SimpleNamespace(dryrun=False), None)
    yield made
    made.close()


def report(handler, event, level=logging.INFO, msg="", **facts):
    handler.handle(logging.makeLogRecord({"event": event, "levelno": level, "msg": msg, **facts}))


def start(handler, number, t):
    facts = {"jobid": number, "rule_name": "update", "wildcards": {"corpus": "news", "t": t}}
    report(handler, LogEvent.JOB_INFO, **facts)


def finish(handler, number, done):
    report(handler, LogEvent.JOB_FINISHED, job_id=number)
    report(handler, LogEvent.PROGRESS, done=done, total=100)


def test_the_line_has_steps_time_left_and_what_runs(handler, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(plugin.time, "monotonic", lambda: now[0])
    report(handler, LogEvent.RUN_INFO, stats={"update": 99, "total": 100})
    start(handler, 0, "0")
    assert handler.state() == "0 of 100 steps: update news/0"
    for done in range(1, 12):
        start(handler, done, str(done))
        now[0] += 2.0
        finish(handler, done - 1, done)
    assert handler.state() == "11 of 100 steps, 3 min left: update news/11"  # two seconds each
    start(handler, 12, "12")
    assert handler.state().endswith("update news/11 and 1 more")


def test_a_run_that_is_stopped_says_so(handler, capsys):
    report(handler, None, msg="Building DAG of jobs...")
    start(handler, 0, "0")
    report(handler, None, msg="Terminating processes on user request, this might take some time.")
    report(
        handler, LogEvent.ERROR, logging.ERROR, "At least one job did not complete successfully."
    )
    assert capsys.readouterr().err.splitlines() == [
        "Terminating processes on user request, this might take some time.",
        "At least one job did not complete successfully.",
    ]


def test_steps_print_nothing_of_their_own_and_errors_all(handler, capsys):
    start(handler, 0, "0")
    report(handler, LogEvent.SHELLCMD, msg="odl step update")
    report(handler, None, msg="Select jobs to execute...")
    finish(handler, 0, 1)
    assert capsys.readouterr().err == ""
    report(handler, LogEvent.JOB_ERROR, logging.ERROR, "Error in rule update", jobid=1)
    report(handler, None, msg="Complete log(s): /here.log")
    handler.close()
    assert capsys.readouterr().err.splitlines()[:2] == [
        "Error in rule update",
        "Complete log(s): /here.log",
    ]


@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.parametrize("bad", ["none", "b"])
def test_snakemake_finds_it_and_keeps_status_and_log(tmp_path, bad):
    (tmp_path / "Snakefile").write_text(RULES.replace("BAD", bad))
    words = ("--cores", "1", "--logger", "odl", "--show-failed-logs")
    status, printed = snakemake(
        words, tmp_path, {**os.environ, "PYTHONPATH": str(Path(plugin.__file__).parents[1])}
    )
    (log,) = (tmp_path / ".snakemake" / "log").iterdir()
    assert "rule write:" in log.read_text()
    if bad == "none":
        assert status == 0 and re.fullmatch(r"3 of 3 steps in \d+ s\n", printed)
    else:
        assert status == 1
        for part in ("Error in rule write", "wrote b", str(log)):
            assert part in printed
