"""`odl run`: what is refused before it begins, and where the results lie."""

import io
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import streams
import yaml
from ownfiles import ROWS, jsonl

from odl import cli
from odl.alerts import read as alerts_read
from odl.cli import run
from odl.config import project
from odl.engine import folder as folders
from odl.errors import ConfigError
from odl.files.documents import NO_TIME

SUBJECTS = "soil seed water plant leaf root bed prune compost sun pan salt bread oven butter dough bake flour"


def test_a_stream_of_sixty_documents_is_shown_as_unproven(tmp_path, capsys):
    """Five most novel documents and the strongest words; nothing is called new."""
    draw = random.Random(1)
    rows = [draw.sample(SUBJECTS.split(), 8) for _ in range(52)]
    rows += [["server", "outage", "router", *draw.sample(SUBJECTS.split(), 4)] for _ in range(8)]
    rows = [
        {"id": n, "time": f"2026-03-{n // 2 + 1:02d}", "text": " ".join(words)}
        for n, words in enumerate(rows)
    ]
    jsonl(tmp_path / "short" / "a.jsonl", rows)
    assert cli.main(["init", str(tmp_path / "short")]) == 0
    assert "by week, the shortest period that usually has 7 documents" in capsys.readouterr().out
    assert cli.main(["run", str(tmp_path / "short")]) == 0
    said = capsys.readouterr().out
    assert "Most novel documents" in said and said.count("      id: ") == 5 + 3
    assert re.search(r"server outage router +\d+ +<1 +unproven", said)
    assert "alerts begin when 50 documents were scored, and 42 were scored before this" in " ".join(
        said.split()
    )
    assert not any(period.headlines for period in alerts_read.alerts_of(tmp_path / "short").periods)


class TestRun:
    @pytest.mark.parametrize("half", ["", "Snakefile", "odl.yaml"])
    def test_a_folder_that_is_none(self, tmp_path, capsys, half):
        (tmp_path / half).touch()
        assert cli.main(["run", str(tmp_path)]) == 1
        assert re.search("run odl init (first|again)", capsys.readouterr().err)

    @pytest.mark.parametrize("text", ["a: [", "- a", "", "sources: []\n"])
    def test_a_damaged_file_is_one_sentence(self, tmp_path, capsys, text):
        (tmp_path / "Snakefile").write_text("")
        (tmp_path / "odl.yaml").write_text(text)
        assert cli.main(["run", str(tmp_path)]) == 1
        assert capsys.readouterr().err.count("\n") == 1

    def test_a_study_without_a_name_is_called_as_its_folder(self, tmp_path, monkeypatch):
        jsonl(tmp_path / "my news" / "a.jsonl", ROWS)
        (tmp_path / "my news" / "odl.yaml").write_text("sources: [a.jsonl]\n")
        monkeypatch.chdir(tmp_path / "my news")
        assert folders.opened().names["root"] == "results/my-news"

    @pytest.mark.parametrize(
        ("folder", "name"),
        [
            pytest.param("Новости дня", "новости-дня", marks=pytest.mark.slow),
            ("Ko\u0308ln, 2", "köln-2"),
            pytest.param("समाचार", "समाचार", marks=pytest.mark.slow),
            pytest.param("ニュース_1", "ニュース-1", marks=pytest.mark.slow),
            pytest.param("…", "mine", marks=pytest.mark.slow),
        ],
    )
    def test_a_folder_of_any_script_keeps_its_name(self, tmp_path, folder, name):
        assert project.name_of(folder) == name
        folder = streams.begin(tmp_path, weeks=3).rename(tmp_path / folder)
        lines = (folder / "odl.yaml").read_text().replace("study: news\n", "")
        (folder / "odl.yaml").write_text(lines)
        assert cli.main(["run", str(folder)]) == 0
        assert f"<title>What is new in {name}, " in (folder / "new.html").read_text(
            encoding="utf-8"
        )

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("seeds: [0, 1]", "odl.yaml sets seeds"),
            ("runs: [levels, adaptive]", "odl.yaml sets runs"),
            ("baselines: {enabled: true}", "odl.yaml sets baselines"),
        ],
    )
    def test_what_only_snakemake_does_is_one_sentence(self, tmp_path, capsys, line, said):
        jsonl(tmp_path / "a.jsonl", ROWS)
        (tmp_path / "odl.yaml").write_text(f"sources: [a.jsonl]\n{line}\n")
        assert cli.main(["run", str(tmp_path)]) == 1
        told = capsys.readouterr().err
        assert (
            said in told and "odl init FOLDER SOURCES --snakemake" in told and told.count("\n") == 1
        )

    @pytest.mark.slow
    def test_with_nothing_to_do_it_loads_no_libraries(self, tmp_path):
        folder = streams.begin(tmp_path, weeks=3)
        assert cli.main(["run", str(folder)]) == 0
        code = "import sys; from odl.cli import main; main(sys.argv[1:]); print(*{'numpy', 'jinja2'} & {*sys.modules})"
        told = subprocess.run(
            [sys.executable, "-c", code, "run", str(folder)], capture_output=True, text=True
        )
        assert "nothing has changed" in told.stdout and told.stdout.endswith("\n\n")

    @pytest.mark.slow
    def test_what_a_run_that_did_not_end_brought_is_told_by_the_next(self, tmp_path, capsys):
        """Of two weeks, after which the page found no place; a run that has nothing left to do tells the same."""
        folder = streams.begin(tmp_path, weeks=4)
        assert cli.main(["run", str(folder)]) == 0
        for week in (4, 5):
            streams.write(tmp_path, week, ("grain", "oil", "sea"))
        (folder / "new.html").unlink()
        (folder / "new.html").mkdir()
        assert cli.main(["run", str(folder)]) == 1
        capsys.readouterr()
        (folder / "new.html").rmdir()
        assert cli.main(["run", str(folder)]) == 0
        told = capsys.readouterr().out.partition("\n")[0]
        assert told == "news, 2026-02-02 to 2026-02-13: 120 documents in 2 periods"
        assert cli.main(["run", str(folder)]) == 0
        assert capsys.readouterr().out.partition("\n")[0] == told

    @pytest.mark.parametrize("results", ["results", "out", "out[1]/more 'é", "/elsewhere"])
    def test_alerts_are_found_where_the_results_lie(self, tmp_path, results):
        results = str(tmp_path) + results if results.startswith("/") else results
        home = tmp_path / "mine"
        home.mkdir()
        alerts = home / results / "study" / "posts" / "seed0" / "levels" / "k5" / "alerts"
        alerts.mkdir(parents=True)
        (alerts / "0.h5").touch()
        lines = {"sources": ["a.jsonl"], **({"results": results} if results != "results" else {})}
        (home / "odl.yaml").write_text(yaml.safe_dump(lines))
        assert alerts_read.place_of(home) == (str(home), str(alerts), "posts")

    def test_a_damaged_odl_yaml_hides_no_alerts(self, tmp_path):
        alerts = tmp_path / "results" / "study" / "posts" / "seed0" / "levels" / "k5" / "alerts"
        alerts.mkdir(parents=True)
        (alerts / "0.h5").touch()
        for text in ("results: [", "- a", "results: 5"):
            (tmp_path / "odl.yaml").write_text(text)
            assert alerts_read.place_of(tmp_path).alerts == str(alerts)

    @pytest.mark.parametrize("results", ["away", "file", "away/results", "file/results"])
    def test_results_that_can_be_no_folder_are_refused_before_it_begins(
        self, tmp_path, monkeypatch, results
    ):
        (tmp_path / "odl.yaml").write_text(f"study: mine\nsources: [a.jsonl]\nresults: {results}\n")
        (tmp_path / "away").symlink_to(tmp_path / "disk that is not there")
        (tmp_path / "file").touch()
        jsonl(tmp_path / "a.jsonl", ROWS)
        fault = (
            f"^in {tmp_path}: {results.split('/')[0]} cannot be written; expected a writable folder"
        )
        with pytest.raises(ConfigError, match=fault):
            run.run(tmp_path)

    @pytest.mark.parametrize(("command", "megabytes"), [("run", 200), ("run", 511), ("new", 300)])
    def test_too_small_an_address_space_is_refused_before_anything_is_written(
        self, tmp_path, command, megabytes
    ):
        jsonl(tmp_path / "a.jsonl", ROWS)
        (tmp_path / "odl.yaml").write_text("sources: [a.jsonl]\n")
        odl = [Path(sys.executable).with_name("odl"), command, "."]
        limited = ["bash", "-c", 'ulimit -v "$0" && exec "$@"', str(megabytes << 10), *odl]
        said = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert said.returncode == 1 and not (tmp_path / "results").exists()
        assert said.stderr == (
            f"odl {command}: the address space of a process is limited to {megabytes} MB (ulimit -v); "
            "expected at least 512 MB; type: ulimit -v 524288, or more for long streams.\n"
        )


class TestProgress:
    def script(self, live, n=3):
        """Show a run of three timesteps, `n` of them done; return what was written."""
        stream, now = io.StringIO(), [0.0]

        def clock():
            now[0] += 1
            return now[0]

        shown = run.Progress(stream, live, clock)
        for step, note in (("share", ""), ("read", "15 documents, 9 terms"), ("index", "")):
            shown.started(step)
            shown.finished(step, None, note)
        shown.steps = 3
        for t in range(n):
            for step in ("batch", "features", "update"):
                shown.started(step, t)
                shown.finished(step, t, f"5 documents, 2026-01-0{t + 1} to 2026-01-0{t + 2}")
        shown.close()
        return stream.getvalue()

    def test_elsewhere_than_on_a_terminal_lines_say_all(self):
        read, steps = self.script(live=False).splitlines()
        assert read.startswith("reading      15 documents, 9 terms  ") and read.endswith(" s")
        assert steps.startswith(
            "timestep     2 of 2  2026-01-03 to 2026-01-04  "
        ) and not steps.endswith("left")

    def test_on_a_terminal_the_line_at_work_changes(self):
        written = self.script(live=True)
        assert (
            "1 of 2  2026-01-02 to 2026-01-03  " in written
            and "s left" in written
            and written.count("\n") == 2
        )
        assert "timestep     2 of 2  2026-01-03 to 2026-01-04" in written.rpartition("\x1b[K")[2]

    def test_a_run_that_was_stopped_says_how_far_it_came(self):
        assert "timestep     1 of 2" in self.script(live=False, n=2).splitlines()[-1]


class TestAccount:
    """How many documents there are, and what lies beside those that are read."""

    @pytest.mark.parametrize(
        ("n", "before", "said"),
        [
            (160, None, "160 documents; no earlier run is recorded"),
            (1200, 1199, "1 document more than in the last run; 1,200 in all"),
            (40, 42, "2 documents fewer than in the last run; 40 in all"),
            (40, 40, "documents or files changed, their number did not; 40 in all"),
        ],
    )
    def test_documents_are_counted(self, n, before, said):
        assert run.account_of(n, before) == said

    @pytest.mark.parametrize("name", ["mine", "mine[1]"])
    def test_files_that_are_not_read_are_named(self, tmp_path, monkeypatch, name):
        for n in range(6):
            jsonl(tmp_path / "posts" / f"{n}.jsonl", ROWS)
        monkeypatch.chdir(tmp_path)
        corpus = {"sources": ["../posts/[0-1].jsonl"], "options": {}}
        (tmp_path / name).mkdir()
        said = run.unread(name, corpus)
        assert said.startswith(
            "not read: posts/2.jsonl, posts/3.jsonl, posts/4.jsonl and 1 more, of the same kind"
        )
        assert said.endswith(f"of the same kind as the sources of {name}/odl.yaml")
        assert run.unread(name, {**corpus, "sources": ["../posts"]}) == ""
        assert (
            run.unread(name, {"sources": [str(tmp_path / "posts")], "options": {"kind": "jsonl"}})
            == ""
        )


def test_times_that_cannot_be_meant_are_counted():
    now = 1_767_571_200
    times = np.array([NO_TIME, 1000 * now, 1000 * (now + run.DAY_SECONDS) + 1, -1, 0])
    assert run._implausible(times, now) == (2, 2)
    assert run._implausible(times[:2], now) == (0, None)
