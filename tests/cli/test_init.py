"""`odl init`: a folder of a few lines, whole or not there, and what it refuses."""

import os
import signal
import sys

import pytest
import yaml
from ownfiles import ROWS, jsonl
from places import ROOT

from odl import cli, learners
from odl.cli import init
from odl.config import chains, consistency, places, project
from odl.config.schema import load_schema
from odl.config.setting import merge

INIT = ("odl.yaml", init.SNAKEFILE, init.PROFILE)


def text(path):
    return path.read_text() if path.exists() else None


def killed_at(moment, call):
    """Call in a process that kills itself before the nth file that it writes, makes or renames; was it killed?"""
    child = os.fork()
    if not child:
        left = [moment]

        def heard(event, arguments):
            writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wxa")
            if writes or event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.copyfile"):
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(heard)
            call()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


class TestInit:
    def test_at_most_nine_lines_that_are_a_configuration(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        source = jsonl(tmp_path / "posts" / "a.jsonl", ROWS)
        assert cli.main(["init", "My News", source]) == 0
        printed = capsys.readouterr().out
        assert "column 'body'" in printed and printed.endswith("now: odl run My News\n")
        assert os.listdir("My News") == ["odl.yaml"]
        assert cli.main(["init", "My News", source, "--force", "--snakemake"]) == 0
        assert capsys.readouterr().out.endswith("now: cd My News && snakemake --cores 2\n")
        text = (tmp_path / "My News" / "odl.yaml").read_text()
        assert len(text.splitlines()) <= 9
        lines = yaml.safe_load(text)
        assert lines["study"] == "my-news" and lines["sources"] == ["../posts/*.jsonl"]
        assert lines["learners"] == {"levels": {"recency": learners.make("levels").recency}}  # as in Python
        whole = merge(project.expand(lines), yaml.safe_load((ROOT / "config" / "config.yaml").read_text()))
        consistency.check_config(whole, load_schema(places.SCHEMAS / "config.schema.json"))
        assert whole["streams"] == whole["corpora"].keys() & {"my-news"} or whole["streams"] == ["my-news"]
        assert (
            whole["runs"] == ["levels"]
            and chains.atoms_of(whole, "levels") == [2000]
            and not whole["baselines"]["enabled"]
        )
        profile = tmp_path / "My News" / "profiles" / "default" / "config.yaml"
        assert profile.read_bytes() == (ROOT / "profiles" / "default" / "config.yaml").read_bytes()

    def test_it_says_whether_later_files_are_read(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        a, b = (jsonl(tmp_path / "posts" / f"{name}.jsonl", ROWS) for name in "ab")
        many, told = "files that come later are read too", "files that come later are not read"
        for words, written, said in (
            ([a, b], ["../posts/*.jsonl"], f"posts/*.jsonl: {many}; --only keeps to those that are there\n"),
            ([a, b, "--only"], ["../posts/a.jsonl", "../posts/b.jsonl"], f"  the 2 files that are named; {told}\n"),
            (["--only", a, b], ["../posts/a.jsonl", "../posts/b.jsonl"], f"  the 2 files that are named; {told}\n"),
            (["posts"], ["../posts"], f"  posts: {many}\n"),
            (["posts/[a].jsonl"], ["../posts/[a].jsonl"], f"  posts/[a].jsonl: {many}\n  not read  posts/b.jsonl, of "),
            ([b], ["../posts/b.jsonl"], f"b.jsonl, which is named; {told}\n  not read  posts/a.jsonl, of the same"),
        ):
            assert cli.main(["init", "--force", "n", *words]) == 0
            printed = capsys.readouterr().out
            assert yaml.safe_load((tmp_path / "n" / "odl.yaml").read_text())["sources"] == written
            assert said in printed and ("not read  " in printed) == ("not read  " in said), printed

    def test_options_may_stand_before_the_files(self, tmp_path, capsys):
        source = jsonl(tmp_path / "a.jsonl", ROWS)
        assert cli.main(["init", str(tmp_path / "n"), "--only", source]) == 0
        with pytest.raises(SystemExit):
            cli.main(["init", str(tmp_path / "n"), "--onyl", source])
        assert "unrecognized arguments: --onyl" in capsys.readouterr().err

    @pytest.mark.parametrize("force", [False, True])
    def test_a_kill_at_any_moment_leaves_a_whole_folder_or_none(self, tmp_path, force):
        source, outcomes = jsonl(tmp_path / "a.jsonl", ROWS), set()
        init.write(tmp_path / "0" / "n", [source], {}, snakemake=True)
        made = {name: text(tmp_path / "0" / "n" / name) for name in INIT}
        old = {"odl.yaml": "sources: [old.jsonl]\n", init.SNAKEFILE: "# old\n", init.PROFILE: "cores: 1\n"}
        for moment in range(1, 100):
            folder = tmp_path / str(moment) / "n"
            for name, content in old.items() if force else ():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(content)
            killed = killed_at(moment, lambda folder=folder: init.write(folder, [source], {}, force, snakemake=True))
            left = {name: text(folder / name) for name in INIT}
            outcomes.add(left["odl.yaml"])
            if left["odl.yaml"] == made["odl.yaml"]:
                assert left == made
            elif force:  # what was there, which any Snakefile of ours runs
                assert left["odl.yaml"] == old["odl.yaml"]
                assert all(left[name] in (old[name], made[name]) for name in INIT)
            else:
                assert left["odl.yaml"] is None and cli.main(["run", str(folder)]) == 1
            if not killed:
                break
            init.write(folder, [source], {}, force, snakemake=True)  # nothing is in the way
            assert {name: text(folder / name) for name in INIT} == made
            assert not [path for path in folder.rglob(".*") if path.suffix == ".part"]
        assert moment > 8 and outcomes == {old["odl.yaml"] if force else None, made["odl.yaml"]}

    def test_nothing_is_overwritten_unless_asked_for(self, tmp_path, capsys):
        source = jsonl(tmp_path / "a.jsonl", ROWS)
        assert cli.main(["init", str(tmp_path / "n"), source]) == 0
        (tmp_path / "n" / "odl.yaml").write_text("mine")
        assert cli.main(["init", str(tmp_path / "n"), source]) == 1
        assert "exists" in capsys.readouterr().err and (tmp_path / "n" / "odl.yaml").read_text() == "mine"
        assert cli.main(["init", str(tmp_path / "n"), source, "--force"]) == 0

    def test_files_may_lie_in_the_folder_itself(self, tmp_path):
        jsonl(tmp_path / "n" / "a.jsonl", ROWS)
        init.write(tmp_path / "n", [], {})
        assert project.read(tmp_path / "n")["sources"] == ["."]

    def test_without_files_and_a_folder_the_files_are_asked_for(self, tmp_path, capsys):
        assert cli.main(["init", str(tmp_path / "n")]) == 1
        assert "no files are named" in capsys.readouterr().err and not (tmp_path / "n").exists()

    @pytest.mark.parametrize(
        ("name", "said"), [(b"caf\xe9.jsonl", r"caf\xe9.jsonl is not UTF-8"), (b"a{t}.jsonl", "a{t}.jsonl holds {t}")]
    )
    def test_names_that_a_run_could_not_take_are_refused(self, tmp_path, capfd, name, said):
        row = {"text": "wheat grain harvest"}
        jsonl(tmp_path / "posts" / "a.jsonl", [row] * 2)
        assert cli.main(["init", str(tmp_path / "good"), str(tmp_path / "posts" / "*.jsonl")]) == 0
        (tmp_path / "posts" / "a.jsonl").rename(tmp_path / "posts" / os.fsdecode(name))
        wildcard = "{" in said
        words = ["init", str(tmp_path / "mine"), str(tmp_path / "posts")]
        assert cli.main([*words, "--snakemake"]) == 1
        assert f"odl init: the name of ../posts/{said}" in capfd.readouterr().err
        assert not (tmp_path / "mine").exists()
        assert cli.main(words) == (0 if wildcard else 1)  # such a name is a pattern to Snakemake alone
        if not wildcard:
            capfd.readouterr()
            assert cli.main(["run", str(tmp_path / "good")]) == 1
            printed = capfd.readouterr().err
            fault = f"odl run: in {tmp_path / 'good'}: the name of ../posts/{said}"
            assert fault in printed and printed.count("\n") == 1
            assert not list((tmp_path / "good").rglob("*.h5"))
