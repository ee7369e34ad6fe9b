"""The process in which a watch runs `odl run`."""

import contextlib
import os
import signal
import time

import psutil
import pytest
from test_watch import kill_processes, lines, posts, watched

from odl.cli import runs
from odl.live import runner, watch
from odl.live.runner import Runner


@pytest.mark.parametrize("forks", [True, False])
def test_requests_are_answered_one_after_another(news, forks):
    with contextlib.chdir(news), contextlib.closing(Runner(runs.serve, forks)) as process:
        for _ in range(2):
            assert process.start(page=True)
            status, printed = process.wait()
            assert status == 0 and "nothing has changed" in printed[-1]
        (news / "odl.yaml").write_text("sources: 7\n")
        assert process.start(page=True)
        status, printed = process.wait()
        assert status == 1 and printed[-1].startswith("odl run:")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_has_a_status_and_the_next_one_runs(news, monkeypatch, number):
    marker = news / "second"

    def run(folder, **options):
        if not marker.exists():
            marker.touch()
            time.sleep(60)
        return "done"

    monkeypatch.setattr("odl.cli.run.run", run)
    with contextlib.chdir(news), contextlib.closing(Runner(runs.serve)) as process:
        process.start(page=True)
        while not marker.exists():
            time.sleep(0.01)
        (child,) = psutil.Process(process.pid).children()
        child.send_signal(number)
        assert process.wait()[0] == 128 + number
        process.start(page=True)
        assert process.wait() == (0, ["done"])


def test_a_defect_is_reported_and_the_next_run_is_in_another_process(news, monkeypatch):
    monkeypatch.setattr("odl.cli.run.run", lambda folder, **options: f"{os.getpid()}"[options])
    with contextlib.chdir(news), contextlib.closing(Runner(runs.serve)) as process:
        for _ in range(2):
            process.start(page=True)
            status, printed = process.wait()
            assert status == 1 and printed[-1].startswith("TypeError")


def test_no_process_is_left_when_the_watch_is_killed(news, monkeypatch):
    monkeypatch.setattr("odl.cli.run.run", lambda folder, **options: time.sleep(60))
    with contextlib.chdir(news):
        process = Runner(runs.serve)
        process.start(page=True)
        parent = psutil.Process(process.pid)
        while not parent.children():
            time.sleep(0.01)
        processes = [*parent.children(), parent]
        process.connection.close()  # as the system does for a process that is killed
        assert not psutil.wait_procs(processes, timeout=30)[1]


def test_an_idle_process_ends_and_another_one_runs(news, monkeypatch):
    monkeypatch.setattr("odl.cli.runs.IDLE_SECONDS", 0.1)
    monkeypatch.setattr("odl.cli.run.run", lambda folder, **options: str(os.getpid()))
    with contextlib.chdir(news), contextlib.closing(Runner(runs.serve)) as process:
        pids = set()
        for _ in range(2):
            process.start(page=True)
            pids.add(process.wait()[1][0])
            while psutil.Process(process.pid).children():
                time.sleep(0.01)
        assert len(pids) == 2


def test_a_watch_whose_process_was_killed_stores_documents_and_reports_it(news, capsys):
    with watched(news) as (live, told):
        kill_processes(live)
        live.take(lines(posts(3, 5) + posts(4, 5)))
        live.finish()
        assert len(told()) == 10
    assert runner.ENDED in capsys.readouterr().err


def test_the_page_is_written_when_the_input_pauses(news, monkeypatch):
    """Weeks of the past end one after another; then nothing comes."""
    requested = []
    start = Runner.start
    monkeypatch.setattr(
        Runner, "start", lambda self, page: requested.append(page) or start(self, page)
    )
    before = (news / "new.html").read_bytes()
    with watched(news) as (live, told):
        live.take(lines(posts(3) + posts(4, 5)))
        live.finish()
        assert requested == [False] and (news / "new.html").read_bytes() == before
        assert [one["period"] for one in told() if not one["provisional"]] == [3]
        live.pause()
        live.finish()
        assert requested == [False, True] and (news / "new.html").read_bytes() != before
        live.pause()
        assert not live.learned
        live.take(lines(posts(5, 5)))
        live.close()
        assert requested == [False, True, False, True]


def test_a_page_that_a_killed_watch_did_not_write_is_written_at_the_next_pause(news):
    with watched(news) as (live, _):
        live.take(lines(posts(3) + posts(4, 5)))
        live.finish()
        kill_processes(live)
    before = (news / "new.html").read_bytes()
    with watched(news) as (live, _):
        live.pause()
        live.finish()
        assert (news / "new.html").read_bytes() != before
    with watched(news) as (live, _):
        live.pause()
        assert not live.learned


def test_a_page_is_due_after_a_minute_without_a_pause(news, monkeypatch):
    monkeypatch.setattr(watch, "PAGE_INTERVAL", 0.0)
    before = (news / "new.html").read_bytes()
    with watched(news) as (live, _):
        live.take(lines(posts(3) + posts(4, 5)))
        live.finish()
        assert not live.page_due and (news / "new.html").read_bytes() != before
