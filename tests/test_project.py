"""A person's folder: what is understood of files, what is written, and what a run shows."""

import csv
import gzip
import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml
from conftest import ROOT

from odl import cli, config, corpora
from odl.alerts import feedback
from odl.alerts import read as alerts_read
from odl.config import places, project
from odl.engine import folder as folders
from odl.errors import ConfigError, DataError
from odl.files import documents, listing, saying
from odl.files.documents import NO_TIME
from odl.project import cutting, init, news, progress, run, sources
from odl.project.columns import Column, choose, date_form
from odl.project.look import look
from odl.project.progress import Progress, duration
from snakemake_logger_plugin_odl import LogHandler

DAY = 86_400_000
GERMAN = [
    "Das Wetter ist über der Stadt sehr schön und es wird auch morgen so bleiben",
    "Der Himmel ist nicht mehr zu sehen",
]


def day(text):
    return int(np.datetime64(text, "ms").astype(np.int64))


def column(name, *values):
    found = Column(name)
    for value in values:
        found.add(value)
    return found


def roles(n_rows, *columns, **given):
    chosen = choose({one.name: one for one in columns}, n_rows, given)
    return {role: one.name for role, (one, _) in chosen.items() if one}


def jsonl(path, rows):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def table(path, rows, delimiter=",", encoding="utf-8"):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return str(path)


def refused(said, *arguments, error=(ConfigError, DataError), **given):
    with pytest.raises(error, match=said) as caught:
        look(list(arguments), given)
    assert "\n" not in str(caught.value)


class TestColumns:
    def test_by_name_and_content(self):
        texts = ["a long story of many words", "another story of many words"]
        found = roles(
            2,
            column("ticketId", 7, 8),
            column("created_at", "2026-01-03", "2026-01-04"),
            column("updated_at", "2026-02-03", "2026-02-04"),
            column("Message", *texts),
            column("Subject", "one", "two"),
            column("permalink", "https://x.org/1", "https://x.org/2"),
            column("score", 2025, 2026),
        )
        assert found == {
            "id": "ticketId",
            "time": "created_at",
            "text": "Message",
            "title": "Subject",
            "url": "permalink",
        }

    def test_a_column_is_not_what_its_name_alone_says(self):
        found = roles(
            3, column("id", "a", "a", "b"), column("link", "x y", "y z", "z x"), column("text", "p q", "r s", "t u")
        )
        assert found == {"text": "text"}  # ids repeat, links are none
        assert "time" not in roles(2, column("count", 2025, 2026), column("text", "p q", "r s"))
        assert roles(2, column("wann", "2026-01-03", "2026-01-04"), column("body", "p q", "r s"))["time"] == "wann"

    def test_a_column_with_a_word_of_its_own_in_each_row_is_the_id(self):
        columns = column("post", "p-1", "p-2"), column("size", "11", "12"), column("body", "p q r", "r s t")
        assert roles(2, *columns)["id"] == "post"
        assert "id" not in roles(2, *columns[1:])

    def test_what_a_person_says_comes_first(self):
        columns = column("a", "x y z w", "z x y w"), column("text", "p", "r"), column("time", "2026", "2027")
        assert roles(2, *columns, text="text", time="") == {"text": "text"}
        with pytest.raises(ConfigError, match="--text names 'b'; expected one of the columns a, text, time"):
            roles(2, *columns, text="b")

    @pytest.mark.parametrize("values", [("2026-01-03", "soon"), ("2026-01-03", "")])
    def test_times_of_some_rows_only_are_not_dropped_silently(self, values):
        with pytest.raises(ConfigError, match="expected dates in all rows"):
            roles(2, column("time", *values), column("text", "p q", "r s"))

    @pytest.mark.parametrize(
        ("values", "form"),
        [
            (["03/14/2026", "03/04/2026"], "month-first"),
            (["14/03/2026"], "day-first"),
            (["03.04.2026"], "day-first"),
            (["2026-03-04"], None),
            ([1767225600], None),
        ],
    )
    def test_form_of_dates(self, values, form):
        assert date_form(column("time", *values))[0] == form

    @pytest.mark.parametrize("values", [["03/04/2026"], ["14/03/2026", "03/14/2026"]])
    def test_dates_of_two_readings_are_asked_for(self, values):
        with pytest.raises(ConfigError, match="say --dates day-first or --dates month-first"):
            date_form(column("time", *values))
        assert date_form(column("time", *values), "day-first")[0] == "day-first"


class TestPeriods:
    @pytest.mark.parametrize(("a_day", "period"), [(300, "day"), (40, "week"), (8, "month"), (1, "year")])
    def test_the_shortest_period_with_enough_documents(self, a_day, period):
        times = [day("2020-01-01") + DAY * number // a_day for number in range(a_day * 1500)]
        found, said = cutting.batches_of(times)
        assert (found["by"], found["period"], found["initial"]) == ("period", period, min(1000, len(times) // 5))
        assert said.startswith(f"by {period}, about")

    def test_without_times_or_in_one_moment_by_documents(self):
        assert cutting.batches_of([NO_TIME] * 3000)[0] == {"by": "documents", "documents": 480, "initial": 600}
        assert cutting.batches_of([5] * 3000)[0]["by"] == "documents"
        assert cutting.batches_of([NO_TIME] * 3000)[1].endswith("alerts begin with number 2")
        assert cutting.batches_of([NO_TIME] * 300)[1].endswith("need 300 documents scored before (alerts.warm_up)")
        assert cutting.alerts_begin([100, 199, 1, 1, 1]).endswith("number 4")
        assert cutting.batches_of([5, 5])[0] == {"by": "documents", "documents": 1, "initial": 1}

    def test_too_little(self):
        with pytest.raises(DataError, match="1 document; expected at least two"):
            cutting.batches_of([5])
        with pytest.raises(DataError, match="batches by week"):
            cutting.batches_of([NO_TIME] * 100, "week")

    def test_first_batch_is_as_the_stream_is_cut(self):
        assert cutting.start([100, 300, 200, 400], 350) == (400, [200, 400])
        assert cutting.start([100], 350) == (100, [])


class TestSources:
    def test_what_a_shell_made_of_a_pattern_becomes_it_again(self, tmp_path):
        paths = [jsonl(tmp_path / "p" / f"{n}.jsonl", [{"text": "x"}]) for n in range(3)]
        assert sources.find(paths) == ([str(tmp_path / "p" / "*.jsonl")], None)
        assert sources.find(paths, only=True) == (paths, None)
        assert sources.find(paths[:2]) == (paths[:2], None)
        assert sources.find([str(tmp_path / "p")]) == ([str(tmp_path / "p")], None)

    def test_one_file_that_is_all_of_its_ending_becomes_a_pattern(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ("p/a.jsonl", "p/b.csv", "q/a.jsonl", "q/c.jsonl", "r/1.txt", "r/2.md", "r/3.txt"):
            jsonl(tmp_path / name, [{"text": "x"}])
        with gzip.open("p/z.jsonl.gz", "wt") as file:
            file.write('{"text": "x"}')
        assert sources.find(["p/a.jsonl"])[0] == ["p/*.jsonl"]
        assert sources.find(["p/z.jsonl.gz", "p/b.csv"])[0] == ["p/*.jsonl.gz", "p/*.csv"]
        assert sources.find(["./q//c.jsonl", str(tmp_path / "q" / "a.jsonl")])[0] == ["./q/*.jsonl"]  # all there are
        given = ["p/a.jsonl", "q/a.jsonl", "r/3.txt", "r/1.txt"]
        assert sources.find(given)[0] == ["p/*.jsonl", "q/a.jsonl", "r/*.txt"]
        monkeypatch.chdir("p")
        assert sources.find(["a.jsonl"])[0] == ["*.jsonl"]

    def test_files_without_an_ending_become_a_pattern_where_all_have_none(self, tmp_path):
        paths = [jsonl(tmp_path / "p" / name, [{"text": "x"}]) for name in ("1", "mail.2", "of 2026-01-01")]
        assert sources.find(paths)[0] == [str(tmp_path / "p" / "*")]
        (tmp_path / "p" / "readme.md").touch()
        assert sources.find(paths)[0] == paths
        assert sources.find([jsonl(tmp_path / "q" / "inbox", [{"text": "x"}])])[0] == [str(tmp_path / "q" / "inbox")]
        assert sources.beside(paths) == []

    def test_signs_of_patterns_in_names_stand_for_themselves(self, tmp_path, monkeypatch):
        folder, names = tmp_path / "a[1]", ("b[2].jsonl", "c*.jsonl")
        paths = [jsonl(folder / name, [{"text": f"{name} {n}"} for n in range(3)]) for name in names]
        jsonl(tmp_path / "a1" / "b2.jsonl", [{"text": "another"}])
        for here, given, mine, wanted in (
            (tmp_path, paths, tmp_path / "mine", paths),
            (folder, names, tmp_path / "beside", paths),
            (folder, names, folder / "inside", paths),
            (folder, paths, folder / "too", paths),
            (folder, names[:1], folder / "one", paths[:1]),
            (tmp_path, paths[1:], tmp_path / "two", paths[1:]),
        ):
            monkeypatch.chdir(here)
            init.init(mine, list(given), {})
            monkeypatch.chdir(mine)  # where the sources are read
            (source,) = project.read(mine)["sources"]
            assert [os.path.realpath(path) for _, path in listing.expand(source)] == wanted

    def test_files_beside_those_that_are_read(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ("p/a.jsonl", "p/b.jsonl", "p/c.jsonl", "p/d.csv", "p/.e.jsonl", "q/a.txt", "q/b.txt"):
            jsonl(tmp_path / name, [{"text": "x"}])
        others = sources.beside(["p/a.jsonl", "q/*.txt"])
        assert others == [str(tmp_path / "p" / name) for name in ("b.jsonl", "c.jsonl")]
        assert sources.unread(others) == "p/b.jsonl, p/c.jsonl, of the same kind beside the sources"
        assert sources.unread([f"p/{n}" for n in range(1005)]).startswith("p/0, p/1, p/2 and 1,002 more, of ")
        assert sources.beside(["p", "q/b.txt"]) == [str(tmp_path / "q" / "a.txt")]
        assert sources.beside(["p/*.jsonl"]) == [] and sources.beside(["nowhere/*.jsonl"]) == []

    def test_feedback_beside_documents_is_none_of_them(self, tmp_path):
        rows = [{"text": f"post {n}"} for n in range(3)]
        table(tmp_path / "a.csv", rows)
        feedback.add(tmp_path, feedback.Entry("source:a.csv", "muted"))
        assert sources.find([str(tmp_path / "a.csv")])[0] == [str(tmp_path / "*.csv")]
        for source in (tmp_path, tmp_path / "*.csv"):
            assert [name for name, _ in listing.expand(str(source))] == ["a.csv"]
        table(tmp_path / "feedback.csv", rows)  # a person's own
        assert [name for name, _ in listing.expand(str(tmp_path))] == ["a.csv", "feedback.csv"]

    def test_a_folder_without_tables(self, tmp_path):
        for name in ("a/1.txt", "a/2.txt", "b/x/3.txt", "readme.md"):
            (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
            (tmp_path / name).write_text("hello")
        assert sources.find([str(tmp_path)]) == ([f"{tmp_path}/**/*.txt"], None)
        assert sources.find([str(tmp_path / "a")]) == ([f"{tmp_path}/a/*.txt"], None)

    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            (b'{"text": "x"}\n', "jsonl"),
            (b"PAR1xx", "parquet"),
            (b'<?xml version="1.0"?><rss/>', "feed"),
            (b"From a@b Fri Jul  8 12:08:34 2011\nSubject: x\n\nhello\n", "mail"),
            (b"From: a\nSubject: b\nLines: 3\n\nhello\n", "mail"),
            (b"Hello: world\n\nhello\n", "text"),
        ],
    )
    def test_names_that_tell_nothing(self, tmp_path, content, kind):
        (tmp_path / "inbox").write_bytes(content)
        assert sources.find([str(tmp_path / "inbox")])[1] == kind

    @pytest.mark.parametrize(("content", "said"), [(b'[{"text": "x"}]', "one JSON list"), (b"\x7fELF\0", "is no text")])
    def test_what_cannot_be_read(self, tmp_path, content, said):
        (tmp_path / "inbox").write_bytes(content)
        with pytest.raises(DataError, match=said):
            sources.find([str(tmp_path / "inbox")])

    @pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
    def test_delimiters(self, tmp_path, sign):
        rows = [{"id": n, "inhalt": f"eins, zwei; {n}", "wert": "3,5"} for n in range(5)]
        path = table(tmp_path / "d.csv", rows, sign)
        assert sources.delimiter_of([("d.csv", path)], None, None)[0] == (None if sign == "," else sign)


class TestLook:
    def test_a_german_table_as_spreadsheets_write_it(self, tmp_path):
        rows = [{"Nr": n, "Datum": f"{n % 28 + 1:02d}.01.2026", "Inhalt": GERMAN[n % 2]} for n in range(40)]
        found = look([table(tmp_path / "d.csv", rows, ";", "cp1252")], {})
        assert found.options["encoding"] == "cp1252" and found.options["delimiter"] == ";"
        assert found.options["columns"] == {"time": "Datum", "text": "Inhalt", "id": "Nr"}
        assert found.options["dates"] == "day-first" and found.options["tokens"] == {"stop_words": "german"}
        assert found.n_documents == 40 and found.span == "2026-01-01 to 2026-01-28"

    def test_mixed_encodings(self, tmp_path):
        path = tmp_path / "d.jsonl"
        path.write_bytes('{"text": "Müller"}\n'.encode() + '{"text": "Größe"}\n'.encode("latin-1"))
        found = look([str(path)], {})
        assert found.options["encoding"] == ["utf-8", "cp1252"]
        assert "d.jsonl:2" in dict(found.said)["encoding"]
        assert look([str(path)], {"encoding": "latin-1"}).options["encoding"] == "latin-1"

    def test_every_role_under_its_own_name_needs_no_option(self, tmp_path):
        rows = [
            {"id": n, "time": f"2026-01-{n + 1:02d}", "text": "the day of this and that is over"} for n in range(20)
        ]
        found = look([jsonl(tmp_path / "d.jsonl", rows)], {})
        assert not found.options.keys() & {"columns", "dates", "encoding", "delimiter", "kind", "tokens"}
        found = look([jsonl(tmp_path / "d.jsonl", [{**row, "id": 1, "topics": row["id"]} for row in rows])], {})
        assert found.options["columns"] == {"id": None, "topics": None}  # repeated, and one for each document

    def test_items_that_were_fetched_twice_count_once(self, tmp_path):
        item = "<item><guid>g{0}</guid><pubDate>0{0} Jan 2026 10:00 GMT</pubDate><title>one two</title></item>"
        for name, numbers in (("a.xml", (1, 2)), ("b.xml", (2, 3))):
            items = "".join(item.format(number) for number in numbers)
            (tmp_path / name).write_text(f"<rss><channel>{items}</channel></rss>")
        found = look([str(tmp_path)], {})
        assert (found.n_documents, found.repeated, found.span) == (3, 1, "2026-01-01 to 2026-01-03")

    def test_bad_input_is_one_sentence(self, tmp_path):
        refused("does not exist", str(tmp_path / "absent"))
        refused("holds no files", str(tmp_path))
        refused("1 document; expected at least two", jsonl(tmp_path / "a.jsonl", [{"text": "x"}]))
        refused("no column holds text; the columns are a, b", jsonl(tmp_path / "a.jsonl", [{"a": 1, "b": 2}] * 2))
        refused("say --dates", table(tmp_path / "a.csv", [{"text": "x y", "time": "03/04/2026"}] * 2))
        refused("--stop-words is 'klingon'", jsonl(tmp_path / "a.jsonl", [{"text": "x"}] * 2), stop_words="klingon")

    def test_equal_documents_and_long_lines(self, tmp_path):
        found = look([jsonl(tmp_path / "a.jsonl", [{"text": "same words here"}] * 30)], {})
        assert found.n_documents == 30 and found.batches["by"] == "documents"
        found = look([jsonl(tmp_path / "a.jsonl", [{"text": "x"}, {"text": "word " * 2_000_000}])], {})
        assert found.n_documents == 2


ROWS = [{"body": f"the post number {n}", "created": f"2026-01-{n % 28 + 1:02d}"} for n in range(100)]


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
    def test_at_most_eight_lines_that_are_a_configuration(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        source = jsonl(tmp_path / "posts" / "a.jsonl", ROWS)
        assert cli.main(["init", "My News", source]) == 0
        printed = capsys.readouterr().out
        assert "column 'body'" in printed and printed.endswith("now: odl run My News\n")
        assert os.listdir("My News") == ["odl.yaml"]
        assert cli.main(["init", "My News", source, "--force", "--snakemake"]) == 0
        assert capsys.readouterr().out.endswith("now: cd My News && snakemake --cores 2\n")
        text = (tmp_path / "My News" / "odl.yaml").read_text()
        assert len(text.splitlines()) <= 8
        lines = yaml.safe_load(text)
        assert lines["study"] == "my-news" and lines["sources"] == ["../posts/*.jsonl"]
        whole = config.merge(project.expand(lines), yaml.safe_load((ROOT / "config" / "config.yaml").read_text()))
        config.check_config(whole, config.load_schema(places.SCHEMAS / "config.schema.json"))
        assert whole["streams"] == whole["corpora"].keys() & {"my-news"} or whole["streams"] == ["my-news"]
        assert (
            whole["runs"] == ["levels"]
            and config.atoms_of(whole, "levels") == [2000]
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
        init.init(tmp_path / "0" / "n", [source], {}, snakemake=True)
        made = {name: text(tmp_path / "0" / "n" / name) for name in INIT}
        old = {"odl.yaml": "sources: [old.jsonl]\n", init.SNAKEFILE: "# old\n", init.PROFILE: "cores: 1\n"}
        for moment in range(1, 100):
            folder = tmp_path / str(moment) / "n"
            for name, content in old.items() if force else ():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(content)
            killed = killed_at(moment, lambda folder=folder: init.init(folder, [source], {}, force, snakemake=True))
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
            init.init(folder, [source], {}, force, snakemake=True)  # nothing is in the way
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
        init.init(tmp_path / "n", [], {})
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
            assert f"odl run: the name of ../posts/{said}" in printed and printed.count("\n") == 1
            assert not list((tmp_path / "good").rglob("*.h5"))


class TestExpand:
    def test_what_is_said_comes_first(self):
        found = project.expand({"study": "x", "sources": ["."], "seeds": [1], "report": {"seed": 1}, "atoms": 9})
        assert found["seeds"] == [1] and found["report"]["seed"] == 1 and found["report"]["atoms"] == 9
        assert found["atoms"] == [9]
        found = project.expand({"sources": ["."], "runs": ["adaptive", "admm"], "batches": {"initial": 300}})
        assert found["alerts"] == {"run": "adaptive", "atoms": None} and found["atoms"] == [300]
        assert found["report"]["runs"] == ["adaptive", "admm"]

    def test_what_is_wrong_is_named(self):
        with pytest.raises(ConfigError, match="has no sources"):
            project.expand({"study": "x"})
        with pytest.raises(ConfigError, match=r"has a key 'souces'.*did you mean 'sources'"):
            project.expand({"souces": ["."], "sources": ["."]})

    def test_a_snakefile_ends_in_one_sentence(self):
        with pytest.raises(SystemExit) as stop:
            project.checked({"study": "x"})
        assert str(stop.value).startswith("odl: odl.yaml has no sources; expected")

    def test_the_keys_are_those_of_the_schema(self):
        schema = config.load_schema(places.SCHEMAS / "config.schema.json")
        assert set(project.KEYS) == schema["properties"].keys()

    def test_it_needs_the_standard_library_only(self):
        code = "import sys, odl.config.project; print('yaml' in sys.modules or 'numpy' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


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
        with pytest.raises(ConfigError, match=f"{results.split('/')[0]} may not be written; expected a folder for res"):
            run.run(tmp_path)


class TestNews:
    """How many documents are new, whatever befell the files since the run before."""

    def run(self, folder, **files):
        """Read files of (id, text), as a run does; return what it says of them."""
        for name, rows in files.items():
            lines = [{"id": key, "text": text} for key, text in rows]
            jsonl(folder / "posts" / f"{name}.jsonl", lines) if rows else (folder / "posts" / f"{name}.jsonl").unlink()
        read = corpora.read("documents", [str(folder / "posts")], {"min_words": 2})
        documents.write(folder / "documents.h5", read, reader="documents")
        return news.sentence(folder, folder / "documents.h5")

    def ended(self, folder, **files):
        said = self.run(folder, **files)
        news.keep(folder, folder / "documents.h5")
        return said

    def test_what_came_changed_and_went(self, tmp_path):
        week = [(f"a{n}", f"green words {n}") for n in range(40)]
        assert self.ended(tmp_path, a=week[:30]) == "30 new documents: no run before this one is on record"
        noted = (tmp_path / news.FILE).read_bytes()
        assert self.ended(tmp_path) == "0 new documents since the run before; 30 in all"
        assert (tmp_path / news.FILE).read_bytes() == noted
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

    def test_without_a_note_nothing_is_claimed(self, tmp_path):
        assert news.sentence(tmp_path, tmp_path / "documents.h5") == ""
        news.keep(tmp_path, tmp_path / "documents.h5")
        assert not (tmp_path / news.FILE).exists()
        self.ended(tmp_path, a=[("a", "green words")])
        (tmp_path / news.FILE).write_bytes(b"damaged")
        assert self.ended(tmp_path) == "1 new document: no run before this one is on record"
        assert self.ended(tmp_path) == "0 new documents since the run before; 1 in all"

    @pytest.mark.parametrize("name", ["mine", "mine[1]"])
    def test_files_that_are_not_read_are_named(self, tmp_path, monkeypatch, name):
        for n in range(6):
            jsonl(tmp_path / "posts" / f"{n}.jsonl", ROWS)
        monkeypatch.chdir(tmp_path)
        corpus = {"sources": ["../posts/[0-1].jsonl"], "options": {}}
        (tmp_path / name).mkdir()
        said = news.unread(name, corpus)
        assert said.startswith("not read: posts/2.jsonl, posts/3.jsonl, posts/4.jsonl and 1 more, of the same kind")
        assert said.endswith(f"beside the sources of {name}/odl.yaml")
        assert news.unread(name, {**corpus, "sources": ["../posts"]}) == ""
        assert news.unread(name, {"sources": [str(tmp_path / "posts")], "options": {"kind": "jsonl"}}) == ""


class TestProgress:
    def script(self, tmp_path, live, end=True):
        """Show a run of three timesteps; return what was written."""
        stream, now = io.StringIO(), [0.0]

        def clock():
            now[0] += 1
            return now[0]

        index, logs = tmp_path / "index.tsv", tmp_path / "logs" / "c" / "seed0"
        index.write_text("t\n0\n1\n2\n")
        (logs / "batches").mkdir(parents=True)
        for t in range(3):
            (logs / "batches" / f"{t}.log").write_text(
                f"odl batch: 5 documents, 2026-01-0{t + 1} to 2026-01-0{t + 2}\n"
            )
        shown = Progress(stream, live, clock)
        shown.expect({"read": 1, "index": 1, "plan": 1, "all": 1, "total": 4})
        shown.started(1, "read", {}, log=[str(tmp_path / "read.log")])
        (tmp_path / "read.log").write_text("odl read: 15 documents, 9 terms\n")
        shown.finished(1)
        shown.started(2, "index", {"corpus": "c"}, [str(index)])
        shown.finished(2)
        for t in range(3):
            for job, rule in enumerate(("batch", "features", "update")):
                shown.started(10 * t + job + 3, rule, {"t": str(t), "corpus": "c"}, log=[str(logs / "x" / f"{t}.log")])
                shown.finished(10 * t + job + 3)
        if end:
            shown.close()
        return shown, stream.getvalue()

    def test_elsewhere_than_on_a_terminal_a_line_a_stage(self, tmp_path):
        lines = self.script(tmp_path, live=False)[1].splitlines()
        assert [line.split()[0] for line in lines] == ["reading", "batches", "learning"]
        assert "15 documents, 9 terms" in lines[0] and " 7/7 " in lines[1] and " 3/3 " in lines[2]
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

    def test_a_lock_is_one_sentence(self, tmp_path, monkeypatch):
        (tmp_path / "my news").mkdir()
        monkeypatch.chdir(tmp_path / "my news")
        monkeypatch.setenv("ODL_FROM", str(tmp_path))
        said = "LockException:\nError: Directory cannot be locked. Please make sure that no other\nprocess is"
        handler = LogHandler(None, None)
        handler.progress = Progress(io.StringIO(), False)
        for text in (said, "MissingInputException: a.jsonl"):
            handler.emit(logging.makeLogRecord({"levelno": logging.ERROR, "msg": text}))
        first, *others = handler.progress.stream.getvalue().splitlines()
        assert first.startswith("odl run: my news is locked: ") and first.endswith(": odl run 'my news' -- --unlock")
        assert not others  # of what follows from the first error

    def test_a_reading_says_how_far_it_is_where_it_is_asked_to(self):
        heard, now = [], [0.0]

        def clock():
            now[0] += 0.5
            return now[0]

        assert list(saying.counted(range(200), lambda n: f"{n} rows", clock)) == list(range(200)) and not heard
        try:
            saying.aloud(heard.append)
            assert list(saying.counted(range(200), lambda n: f"{n} rows", clock)) == list(range(200))
        finally:
            saying._heard.clear()
        assert heard[0] == "now: 64 rows" and len(heard) > 1

    @pytest.mark.parametrize(("seconds", "said"), [(0.2, "0 s"), (75, "75 s"), (600, "10 min"), (7200, "2.0 h")])
    def test_durations(self, seconds, said):
        assert duration(seconds) == said
