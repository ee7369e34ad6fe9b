"""Progress: the lines of a run on a terminal and elsewhere."""

import io
import logging
import time

import pytest

from odl.cli import progress
from odl.cli.progress import Progress, duration
from odl.files import joblog
from snakemake_logger_plugin_odl import LogHandler


class TestProgress:
    def script(self, tmp_path, live, end=True):
        """Show a run of three timesteps; return what was written."""
        stream, now = io.StringIO(), [0.0]

        def clock():
            now[0] += 1
            return now[0]

        index, logs = tmp_path / "index.tsv", tmp_path / "logs"
        index.write_text("t\n0\n1\n2\n")
        logs.mkdir()
        for t in range(3):
            (logs / f"batch{t}.log").write_text(f"odl batch: 5 documents, 2026-01-0{t + 1} to 2026-01-0{t + 2}\n")
        shown = Progress(stream, live, clock)
        shown.expect({"read": 1, "index": 1, "plan": 1, "all": 1, "total": 4})
        shown.started(1, "read", {}, log=[str(tmp_path / "read.log")])
        (tmp_path / "read.log").write_text("odl read: 15 documents, 9 terms\n")
        shown.finished(1)
        shown.started(2, "index", {"corpus": "c"}, [str(index)])
        shown.finished(2)
        for t in range(3):
            for job, rule in enumerate(("batch", "features", "update")):
                shown.started(10 * t + job + 3, rule, {"t": str(t), "corpus": "c"}, log=[str(logs / f"{rule}{t}.log")])
                shown.finished(10 * t + job + 3)
        if end:
            shown.close()
        return shown, stream.getvalue()

    def test_elsewhere_than_on_a_terminal_a_line_a_stage(self, tmp_path):
        lines = self.script(tmp_path, live=False)[1].splitlines()
        assert [line.split()[0] for line in lines] == ["reading", "batches", "learning"]
        assert "15 documents, 9 terms" in lines[0] and " 6/6 " in lines[1] and " 3/3 " in lines[2]
        assert "2026-01-03 to 2026-01-04" in lines[2] and "\x1b" not in "".join(lines)

    def test_on_a_terminal_lines_change(self, tmp_path):
        written = self.script(tmp_path, live=True)[1]
        assert "1/3  2026-01-01 to 2026-01-02" in written and "s left" in written and "\x1b[" in written
        assert written.rpartition("\x1b[J")[2].count("\n") == 3

    def test_what_is_wrong_is_said_at_the_end_unless_it_was_stopped(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for stopped in (False, True):
            stream = io.StringIO()
            shown = Progress(stream, False)
            (tmp_path / "u.log").write_text("noise\nodl update: no atoms; expected some; add.\nnoise\n")
            shown.started(1, "update", {"t": "1"}, log=["u.log"])
            shown.error(1)
            shown.stopped = stopped
            shown.close()
            said = "odl update: no atoms; expected some; add.\nlog: u.log\n"
            assert stream.getvalue().endswith(said) != stopped

    def test_a_long_job_says_what_it_is_at(self, tmp_path):
        stream, log = io.StringIO(), tmp_path / "read.log"
        shown = Progress(stream, True)
        shown.expect({"read": 1})
        shown.started(1, "read", {}, log=[str(log)])
        assert shown.line(shown.stages["reading"]).endswith("0 s so far")
        log.write_text("now: 1,000 documents, a.jsonl\nnow: 2,000 documents, a.jsonl\n")
        assert "0/1  2,000 documents, a.jsonl 0 s so far" in shown.line(shown.stages["reading"])
        log.write_text(log.read_text() + "odl read: 2001 documents, 9 terms\n")
        shown.finished(1)
        assert "1/1  2001 documents, 9 terms" in shown.line(shown.stages["reading"])

    def test_it_moves_while_nothing_happens(self, tmp_path, monkeypatch):
        monkeypatch.setattr(progress, "TICK", 0.01)
        stream = io.StringIO()
        shown = Progress(stream, True)
        shown.tick()
        while "planning" not in stream.getvalue():
            time.sleep(0.01)
        with shown.lock:
            shown.started(1, "read", {})
        held = stream.getvalue().count("reading")
        for _ in range(1000):
            if stream.getvalue().count("reading") > held + 3:
                break
            time.sleep(0.01)
        else:
            pytest.fail("it stands still")
        with shown.lock:
            shown.close()

    def test_what_is_wrong_is_said_once(self, tmp_path):
        stream = io.StringIO()
        shown = Progress(stream, False)
        shown.started(1, "read", {}, log=["absent.log"])
        shown.error(1)
        shown.close()
        shown.close()
        assert stream.getvalue().count("the step read failed") == 1

    def test_learning_over_ranks_is_learning(self):
        shown = Progress(io.StringIO(), False)
        shown.expect({"update_over_ranks": 1})
        shown.started(1, "update_over_ranks", {"t": "0"})
        shown.finished(1)
        assert shown.stream.getvalue().startswith("learning ") and " 1/1 " in shown.stream.getvalue()

    def test_what_has_not_begun_is_not_shown(self):
        shown = Progress(io.StringIO(), False)
        shown.expect({"kernels": 2, "plan": 1})
        shown.started(1, "plan", {})
        assert "compiling" not in shown.stream.getvalue()

    def test_of_what_snakemake_says_the_first_error_is_shown(self):
        handler = LogHandler(None, None)
        handler.progress = Progress(io.StringIO(), False)
        for text in ("LockException: it is locked", "MissingInputException: a.jsonl"):
            handler.emit(logging.makeLogRecord({"levelno": logging.ERROR, "msg": text}))
        assert handler.progress.stream.getvalue() == "LockException: it is locked\n"

    def test_a_reading_says_how_far_it_is_where_it_is_asked_to(self):
        heard, now = [], [0.0]

        def clock():
            now[0] += 0.5
            return now[0]

        assert list(joblog.counted(range(200), lambda n: f"{n} rows", clock)) == list(range(200)) and not heard
        try:
            joblog.aloud(heard.append)
            assert list(joblog.counted(range(200), lambda n: f"{n} rows", clock)) == list(range(200))
        finally:
            joblog._heard.clear()
        assert heard[0] == "now: 64 rows" and len(heard) > 1

    @pytest.mark.parametrize(("seconds", "said"), [(0.2, "0 s"), (75, "75 s"), (600, "10 min"), (7200, "2.0 h")])
    def test_durations(self, seconds, said):
        assert duration(seconds) == said
