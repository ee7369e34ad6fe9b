"""`odl run`: what is refused before it begins, and where the results lie."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ownfiles import ROWS, jsonl

from odl import cli, corpora
from odl.alerts import read as alerts_read
from odl.cli import run
from odl.engine import folder as folders
from odl.errors import ConfigError
from odl.files import documents


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
        assert said in told and "odl init FOLDER SOURCES --snakemake" in told and told.count("\n") == 1

    def test_what_follows_after_a_double_dash_is_one_sentence(self, capsys):
        assert cli.main(["run", "news", "--wait", "3", "--", "--unlock", "-n"]) == 2
        told = capsys.readouterr().err
        assert "-- --unlock -n is no option" in told and "type odl run news --wait 3;" in told
        assert "odl init FOLDER SOURCES --snakemake" in told and told.count("\n") == 1

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
    def test_results_that_can_be_no_folder_are_refused_before_it_begins(self, tmp_path, monkeypatch, results):
        (tmp_path / "odl.yaml").write_text(f"study: mine\nsources: [a.jsonl]\nresults: {results}\n")
        (tmp_path / "away").symlink_to(tmp_path / "disk that is not there")
        (tmp_path / "file").touch()
        jsonl(tmp_path / "a.jsonl", ROWS)
        fault = f"^in {tmp_path}: {results.split('/')[0]} may not be written; expected a folder for res"
        with pytest.raises(ConfigError, match=fault):
            run.run(tmp_path)

    @pytest.mark.parametrize(("command", "megabytes"), [("run", 200), ("run", 511), ("new", 300)])
    def test_too_small_an_address_space_is_refused_before_anything_is_written(self, tmp_path, command, megabytes):
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


class TestAccount:
    """How many documents are new, whatever befell the files since the run before."""

    def run(self, folder, **files):
        """Read files of (id, text), as a run does; return what it says of them."""
        for name, rows in files.items():
            lines = [{"id": key, "text": text} for key, text in rows]
            jsonl(folder / "posts" / f"{name}.jsonl", lines) if rows else (folder / "posts" / f"{name}.jsonl").unlink()
        read = corpora.read("documents", [str(folder / "posts")], {"min_words": 2})
        documents.write(folder / "documents.h5", read, reader="documents")
        return run.account_of(folder, *run.read_account(folder / "documents.h5"))

    def ended(self, folder, **files):
        said = self.run(folder, **files)
        run.keep_account(folder, run.read_account(folder / "documents.h5")[0])
        return said

    def test_what_came_changed_and_went(self, tmp_path):
        week = [(f"a{n}", f"green words {n}") for n in range(40)]
        assert self.ended(tmp_path, a=week[:30]) == "30 new documents: no run before this one is on record"
        noted = (tmp_path / run.LAST_RUN).read_bytes()
        assert self.ended(tmp_path) == "0 new documents since the run before; 30 in all"
        assert (tmp_path / run.LAST_RUN).read_bytes() == noted
        said = "10 new documents since the run before; 40 in all"
        assert self.run(tmp_path, a=week) == said  # this one is stopped
        assert self.ended(tmp_path) == said
        assert self.ended(tmp_path, b=[("b", "blue words")]) == "1 new document since the run before; 41 in all"
        week[3:5] = [("a3", "grey words"), ("new", "fresh words")]
        said = "1 new document since the run before; 1 changed; 1 no longer in the files; 41 in all"
        assert self.ended(tmp_path, a=week) == said
        said = "0 new documents since the run before; 1 no longer in the files; 40 in all"
        assert self.ended(tmp_path, b=()) == said
        said = "2 new documents (1 of them too short, left out) since the run before; 42 in all"
        assert self.ended(tmp_path, b=[("b", "blue words"), ("short", "red")]) == said
        said = "0 new documents since the run before; 1 changed; 42 in all"
        assert self.ended(tmp_path, b=[("b", "blue words"), ("short", "red words")]) == said

    def test_rows_that_repeat_are_counted(self, tmp_path):
        week = [(f"a{n}", f"green words {n}") for n in range(40)]
        self.ended(tmp_path, a=week[:30])
        said = "10 new documents since the run before; 40 in all; 20 repeated rows left out"
        assert self.ended(tmp_path, b=week[10:]) == said

    def test_without_a_note_nothing_is_claimed(self, tmp_path):
        self.ended(tmp_path, a=[("a", "green words")])
        (tmp_path / run.LAST_RUN).write_bytes(b"damaged")
        assert self.ended(tmp_path) == "1 new document: no run before this one is on record"
        assert self.ended(tmp_path) == "0 new documents since the run before; 1 in all"

    @pytest.mark.parametrize("name", ["mine", "mine[1]"])
    def test_files_that_are_not_read_are_named(self, tmp_path, monkeypatch, name):
        for n in range(6):
            jsonl(tmp_path / "posts" / f"{n}.jsonl", ROWS)
        monkeypatch.chdir(tmp_path)
        corpus = {"sources": ["../posts/[0-1].jsonl"], "options": {}}
        (tmp_path / name).mkdir()
        said = run.unread(name, corpus)
        assert said.startswith("not read: posts/2.jsonl, posts/3.jsonl, posts/4.jsonl and 1 more, of the same kind")
        assert said.endswith(f"beside the sources of {name}/odl.yaml")
        assert run.unread(name, {**corpus, "sources": ["../posts"]}) == ""
        assert run.unread(name, {"sources": [str(tmp_path / "posts")], "options": {"kind": "jsonl"}}) == ""
