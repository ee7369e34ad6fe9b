"""`odl init`: what is understood of files, a folder of a few lines, whole or not there, and what is refused."""

import os
import signal
import sys

import pytest
import yaml
from ownfiles import ROWS, jsonl, own, table
from places import ROOT

from odl import cli, corpora, learners
from odl.cli import init, run
from odl.cli.init import survey
from odl.config import chains, consistency, places, project
from odl.config.schema import load_schema
from odl.config.setting import merge
from odl.corpora import collection, feeds
from odl.engine import folder as folders
from odl.errors import ConfigError, DataError

INIT = ("odl.yaml", init.SNAKEFILE, init.PROFILE)


def text(path):
    return path.read_text() if path.exists() else None


def killed_at(moment, call):
    """Call in a process that kills itself before the nth file that it writes; return whether it was killed."""
    child = os.fork()
    if not child:
        left = [moment]

        def heard(event, arguments):
            writes = (
                event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wxa")
            )
            if writes or event in (
                "os.mkdir",
                "os.rename",
                "os.remove",
                "os.rmdir",
                "shutil.copyfile",
            ):
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
    def test_at_most_ten_lines_that_are_a_configuration(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        source = jsonl(tmp_path / "posts" / "a.jsonl", ROWS)
        assert cli.main(["init", "My News", source]) == 0
        printed = capsys.readouterr().out
        assert "column 'body'" in printed and printed.endswith("now: odl run My News\n")
        assert sorted(os.listdir("My News")) == [".odl.schema.json", "odl.yaml"]
        assert cli.main(["init", "My News", source, "--force", "--snakemake"]) == 0
        assert capsys.readouterr().out.endswith("now: cd My News && snakemake --cores 2\n")
        text = (tmp_path / "My News" / "odl.yaml").read_text()
        assert len(text.splitlines()) <= 10
        lines = yaml.safe_load(text)
        assert lines["study"] == "my-news" and lines["sources"] == ["../posts/*.jsonl"]
        assert lines["learners"] == {
            "levels": {"recency": learners.make("levels").recency}
        }  # as in Python
        whole = merge(
            project.expand(lines), yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
        )
        consistency.check_config(whole, load_schema(places.SCHEMAS / "config.schema.json"))
        assert whole["streams"] == whole["corpora"].keys() & {"my-news"} or whole["streams"] == [
            "my-news"
        ]
        assert (
            whole["runs"] == ["levels"]
            and chains.atoms_of(whole, "levels") == [2000]
            and not whole["baselines"]["enabled"]
        )
        profile = tmp_path / "My News" / "profiles" / "default" / "config.yaml"
        assert profile.read_bytes() == (ROOT / "profiles" / "default" / "config.yaml").read_bytes()

    @pytest.mark.slow
    def test_it_says_whether_later_files_are_read(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        a, b = (jsonl(tmp_path / "posts" / f"{name}.jsonl", ROWS) for name in "ab")
        many, told = "later files are read too", "later files are not read"
        for words, written, said in (
            (
                [a, b],
                ["../posts/*.jsonl"],
                f"posts/*.jsonl: {many}; --only reads the named files only\n",
            ),
            (
                [a, b, "--only"],
                ["../posts/a.jsonl", "../posts/b.jsonl"],
                f"  the 2 named files; {told}\n",
            ),
            (
                ["--only", a, b],
                ["../posts/a.jsonl", "../posts/b.jsonl"],
                f"  the 2 named files; {told}\n",
            ),
            (["posts"], ["../posts/*"], f"  posts/*: {many}\n"),
            (
                ["posts/[a].jsonl"],
                ["../posts/[a].jsonl"],
                f"  posts/[a].jsonl: {many}\n  not read  posts/b.jsonl, of ",
            ),
            (
                [b],
                ["../posts/b.jsonl"],
                f"b.jsonl; {told}\n  not read  posts/a.jsonl, of the same",
            ),
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

    @pytest.mark.slow
    @pytest.mark.parametrize("force", [False, True])
    def test_a_kill_at_any_moment_leaves_a_whole_folder_or_none(self, tmp_path, force):
        source, outcomes = jsonl(tmp_path / "a.jsonl", ROWS), set()
        init.write(tmp_path / "0" / "n", [source], {}, snakemake=True)
        made = {name: text(tmp_path / "0" / "n" / name) for name in INIT}
        old = {
            "odl.yaml": "sources: [old.jsonl]\n",
            init.SNAKEFILE: "# old\n",
            init.PROFILE: "cores: 1\n",
        }
        for moment in range(1, 100):
            folder = tmp_path / str(moment) / "n"
            for name, content in old.items() if force else ():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(content)
            killed = killed_at(
                moment,
                lambda folder=folder: init.write(folder, [source], {}, force, snakemake=True),
            )
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
        assert (
            "exists" in capsys.readouterr().err
            and (tmp_path / "n" / "odl.yaml").read_text() == "mine"
        )
        assert cli.main(["init", str(tmp_path / "n"), source, "--force"]) == 0

    def test_files_may_lie_in_the_folder_itself(self, tmp_path):
        jsonl(tmp_path / "n" / "a.jsonl", ROWS)
        init.write(tmp_path / "n", [], {})
        assert project.read(tmp_path / "n")["sources"] == ["*"]

    def test_without_files_and_a_folder_the_files_are_asked_for(self, tmp_path, capsys):
        assert cli.main(["init", str(tmp_path / "n")]) == 1
        assert "no files are named" in capsys.readouterr().err and not (tmp_path / "n").exists()

    def test_a_name_with_a_wildcard_of_snakemake_is_refused_for_snakemake(self, tmp_path, capfd):
        jsonl(tmp_path / "posts" / "a{t}.jsonl", [{"text": "wheat grain harvest"}] * 2)
        words = ["init", str(tmp_path / "mine"), str(tmp_path / "posts")]
        assert cli.main([*words, "--snakemake"]) == 1
        assert "odl init: the name of ../posts/a{t}.jsonl contains {t}" in capfd.readouterr().err
        assert not (tmp_path / "mine").exists() and cli.main(words) == 0

    def test_a_file_whose_name_is_not_utf8_is_left_out_and_named(
        self, tmp_path, capfd, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        name = os.fsdecode(b"caf\xe9.jsonl")
        jsonl(tmp_path / "posts" / name, [{"text": "wheat grain harvest"}] * 2)
        for source in ("posts", f"posts/{name}"):
            assert cli.main(["init", "mine", source]) == 1
            assert (
                r"the name of posts/caf\xe9.jsonl is not UTF-8; expected names"
                in capfd.readouterr().err
            )
        jsonl(tmp_path / "posts" / "a.jsonl", [{"text": "wheat grain harvest"}] * 2)
        said = r"1 file whose name is not UTF-8 (rename): posts/caf\xe9.jsonl"
        for sources in (["posts"], ["posts/a.jsonl", f"posts/{name}"], ["posts/*.jsonl"]):
            assert cli.main(["init", "mine", *sources, "--force"]) == 0
            assert f"  left out  {said}\n" in capfd.readouterr().out
            assert project.read("mine")["sources"] == [
                "../posts/*" if sources == ["posts"] else "../posts/*.jsonl"
            ]
        monkeypatch.chdir("mine")
        place = folders.opened()
        assert [name for name, _ in folders.files_of(place)[0]] == ["a.jsonl"]
        assert len(corpora.read("documents", place.stream["sources"], place.stream["options"])) == 2
        assert (
            run.unread(".", place.stream)
            == r"not read: 1 file whose name is not UTF-8 (rename): ../posts/caf\xe9.jsonl"
        )


GERMAN = [
    "Das Wetter ist über der Stadt sehr schön und es wird auch morgen so bleiben",
    "Der Himmel ist nicht mehr zu sehen",
]


def refused(said, *arguments, error=(ConfigError, DataError), **given):
    with pytest.raises(error, match=said) as caught:
        survey(list(arguments), given)
    assert "\n" not in str(caught.value)


class TestLook:
    def test_a_german_table_as_spreadsheets_write_it(self, tmp_path):
        rows = [
            {"Nr": n, "Datum": f"{n % 28 + 1:02d}.01.2026", "Inhalt": GERMAN[n % 2]}
            for n in range(40)
        ]
        found = survey([table(tmp_path / "d.csv", rows, ";", "cp1252")], {})
        assert found.options["encoding"] == "cp1252" and dict(found.lines)["delimiter"].startswith(
            "';'"
        )
        assert found.options["columns"] == {"time": "Datum", "text": "Inhalt", "id": "Nr"}
        assert found.options["dates"] == "day-first" and dict(found.lines)["language"].startswith(
            "German ("
        )
        assert found.n_documents == 40 and found.span == "2026-01-01 to 2026-01-28"

    @pytest.mark.parametrize(
        ("encoding", "text"),
        [
            ("cp1251", "Спутник выведен на орбиту Земли"), ("koi8-r", "Спутник выведен на орбиту Земли"),
            ("cp1253", "Ο δορυφόρος τέθηκε σε τροχιά"), ("cp1255", "הלוויין שוגר למסלול סביב כדור הארץ"),
            ("cp1256", "تم إطلاق القمر الصناعي إلى مدار"), ("cp874", "ดาวเทียมถูกส่งขึ้นสู่วงโคจร"),
            ("cp932", "人工衛星が軌道に乗りました"), ("euc_jp", "人工衛星がロケットで軌道に乗りました"),
            ("cp949", "인공위성이 궤도에 올랐다"), ("gb18030", "人造卫星进入轨道，运行正常"),
        ],
    )  # fmt: skip
    def test_an_encoding_is_proposed_and_shown(self, tmp_path, encoding, text):
        path = tmp_path / "a.csv"
        path.write_bytes(
            "".join(["id,time,text\n", *(f"{n},2026-01-01,{text} {n}\n" for n in range(9))]).encode(
                encoding
            )
        )
        found = survey([str(path)], {})
        assert text.encode(found.options["encoding"]) == text.encode(encoding)
        said = dict(found.lines)["encoding"]
        assert (
            "9 lines are not UTF-8" in said
            and text[:2] in said
            and "--encoding sets another encoding" in said
        )
        assert survey([str(path)], {"encoding": encoding}).options["encoding"] == encoding

    def test_utf_8_with_characters_that_are_cut_is_no_other_encoding(self, tmp_path):
        """As of a database that cuts text by bytes; a foreign line among others in UTF-8 is."""
        path, text = tmp_path / "a.csv", "人造卫星进入轨道，运行正常".encode()
        lines = [
            b"id,time,text",
            *(f"{n},2026-01-01,".encode() + text[: 30 + n % 3] for n in range(9)),
        ]
        path.write_bytes(b"\n".join([*lines, b""]))
        assert survey([str(path)], {}).options["encoding"] == ["utf-8", "cp1252"]
        path.write_bytes(
            b"\n".join([*lines, "9,2026-01-01,Спутник на орбите".encode("cp1251"), b""])
        )
        assert survey([str(path)], {}).options["encoding"] == ["utf-8", "cp1251"]

    def test_mixed_encodings(self, tmp_path):
        path = tmp_path / "d.jsonl"
        path.write_bytes('{"text": "Müller"}\n'.encode() + '{"text": "Größe"}\n'.encode("latin-1"))
        found = survey([str(path)], {})
        assert found.options["encoding"] == ["utf-8", "cp1252"]
        assert "d.jsonl:2" in dict(found.lines)["encoding"]
        assert survey([str(path)], {"encoding": "latin-1"}).options["encoding"] == "latin-1"

    def test_every_role_under_its_own_name_needs_no_option(self, tmp_path):
        rows = [
            {"id": n, "time": f"2026-01-{n + 1:02d}", "text": "the day of this and that is over"}
            for n in range(20)
        ]
        found = survey([jsonl(tmp_path / "d.jsonl", rows)], {})
        assert not found.options.keys() & {"columns", "dates", "encoding", "delimiter", "kind"}
        assert found.options["tokens"] == {"tokeniser": "words", "stop_words": None}
        assert found.features == {"languages": True, "max_share": 0.5}
        found = survey(
            [jsonl(tmp_path / "d.jsonl", [{**row, "id": 1, "topics": row["id"]} for row in rows])],
            {},
        )
        assert found.options["columns"] == {
            "id": None,
            "topics": None,
        }  # repeated, and one for each document

    def test_items_that_were_fetched_twice_count_once(self, tmp_path):
        item = "<item><guid>g{0}</guid><pubDate>0{0} Jan 2026 10:00 GMT</pubDate><title>one two</title></item>"
        for name, numbers in (("a.xml", (1, 2)), ("b.xml", (2, 3))):
            items = "".join(item.format(number) for number in numbers)
            (tmp_path / name).write_text(f"<rss><channel>{items}</channel></rss>")
        found = survey([str(tmp_path)], {})
        assert (found.n_documents, found.repeats.same, found.span) == (
            3,
            1,
            "2026-01-01 to 2026-01-03",
        )

    def test_dates_to_come_are_told_and_the_line_of_spreadsheets_is_no_row(self, tmp_path):
        lines = [
            f"{n};{2999 if n == 9 else 2026}-01-{n + 1:02d};the post number {n}" for n in range(20)
        ]
        (tmp_path / "a.csv").write_text(
            "\n".join(["sep=;", "id;time;text", *lines]), encoding="utf-8"
        )
        found = survey([str(tmp_path / "a.csv")], {})
        assert dict(found.lines)["delimiter"].startswith("';'") and found.n_documents == 20
        assert dict(found.lines)["to come"].startswith("1 of the dates, the last 2999-01-10; ")

    def test_a_format_of_times_is_written_down_and_what_was_read_is_printed(
        self, tmp_path, monkeypatch, capsys
    ):
        monkeypatch.chdir(tmp_path)
        rows = [
            {"when": f"{day:02}.01.26 um 9", "text": f"water in cellar {day}"}
            for day in range(1, 21)
        ]
        jsonl(tmp_path / "a.jsonl", rows)
        assert (
            cli.main(["init", "n", "a.jsonl", "--time", "when", "--time-format", "%d.%m.%y um %H"])
            == 0
        )
        printed = capsys.readouterr().out
        assert "20 documents, 2026-01-01 to 2026-01-20" in printed
        assert (
            "'01.01.26 um 9' as 2026-01-01 09:00:00 UTC; '20.01.26 um 9' as 2026-01-20 09:00:00 UTC"
            in printed
        )
        options = yaml.safe_load((tmp_path / "n" / "odl.yaml").read_text())["options"]
        assert options["time_format"] == ["%d.%m.%y um %H"]
        assert corpora.read("documents", ["a.jsonl"], options).times[-1] == 1768899600000

    def test_texts_inside_of_objects_are_found(self, tmp_path):
        rows = [
            {"key": n, "fields": {"body": f"rain and floods in valley {n}", "n": n, "at": "x"}}
            for n in range(20)
        ]
        path = jsonl(tmp_path / "a.jsonl", rows)
        options = survey([path], {}).options
        assert options["columns"]["text"] == "fields.body"
        assert "valley" in corpora.read("documents", [path], options).vocabulary

    def test_years_that_can_hardly_be_meant_are_reported(self, tmp_path):
        rows = [{"time": f"19{year}-01-01", "text": "water in cellar"} for year in range(65, 75)]
        said = dict(survey([jsonl(tmp_path / "a.jsonl", rows)], {}).lines)
        assert said["long ago"] == "5 of the dates are before 1970, the first 1965-01-01"

    def test_bad_input_is_one_sentence(self, tmp_path):
        refused("does not exist", str(tmp_path / "absent"))
        refused("contains no files", str(tmp_path))
        refused("1 document; expected at least two", jsonl(tmp_path / "a.jsonl", [{"text": "x"}]))
        refused(
            "no column contains text; the columns are a, b",
            jsonl(tmp_path / "a.jsonl", [{"a": 1, "b": 2}] * 2),
        )
        refused(
            "type --dates", table(tmp_path / "a.csv", [{"text": "x y", "time": "03/04/2026"}] * 2)
        )
        refused(
            "--stop-words is 'klingon'",
            jsonl(tmp_path / "a.jsonl", [{"text": "x"}] * 2),
            stop_words="klingon",
        )

    def test_korean_is_cut_into_pairs(self, tmp_path):
        rows = [{"text": f"정부는 새로운 정책을 발표했다 {n}"} for n in range(30)]
        found = survey([jsonl(tmp_path / "a.jsonl", rows)], {})
        assert found.options["tokens"] == {
            "tokeniser": "words",
            "stop_words": None,
            "hangul": "pairs",
        }

    def test_equal_documents_and_long_lines(self, tmp_path):
        found = survey([jsonl(tmp_path / "a.jsonl", [{"text": "same words here"}] * 30)], {})
        assert found.n_documents == 30 and found.batches["by"] == "documents"
        found = survey(
            [jsonl(tmp_path / "a.jsonl", [{"text": "x"}, {"text": "word " * 200_000}])], {}
        )
        assert found.n_documents == 2


class TestTitles:
    def rows(self, text):
        return [
            {"id": f"p-{n}", "subject": f"headline{chr(97 + n % 20)}", "body": text(n)}
            for n in range(40)
        ]

    def test_titles_that_texts_do_not_hold_count_as_words(self, tmp_path):
        source = jsonl(tmp_path / "a.jsonl", self.rows(lambda n: own(n)))
        found = survey([source], {})
        assert found.options["columns"] == {"text": ["subject", "body"], "title": "subject"}
        assert "100% of the texts do not contain" in dict(found.lines)["text"]
        read = corpora.read("documents", [source], found.options)
        assert "headlineb" in read.vocabulary and read.titles[1] == "headlineb"

    def test_titles_that_texts_hold_or_a_column_that_is_named_change_nothing(self, tmp_path):
        source = jsonl(
            tmp_path / "a.jsonl", self.rows(lambda n: f"Headline{chr(97 + n % 20)} and {own(n)}")
        )
        assert survey([source], {}).options["columns"]["text"] == "body"
        source = jsonl(tmp_path / "a.jsonl", self.rows(lambda n: own(n)))
        assert survey([source], {"text": "body"}).options["columns"]["text"] == "body"

    def test_a_list_of_columns(self, tmp_path):
        source = jsonl(
            tmp_path / "a.jsonl", [{"a": "storm", "b": "harbour"}, {"a": "", "b": "harbour"}]
        )
        read = corpora.read("documents", [source], {"columns": {"text": ["a", "b"]}})
        assert read.vocabulary == ["harbour", "storm"] and read.counts.toarray().tolist() == [
            [1, 1],
            [1, 0],
        ]
        for wrong in ([], ["a", 3], {"a": 1}):
            with pytest.raises(ConfigError, match=r"columns\.text"):
                corpora.read("documents", [source], {"columns": {"text": wrong}})
        source = jsonl(tmp_path / "a.jsonl", [{"a": "storm"}])
        with pytest.raises(DataError, match="a column 'c'"):
            corpora.read("documents", [source], {"columns": {"text": ["a", "c"]}})
        with pytest.raises(ConfigError, match=r"columns\.title is"):
            corpora.read("documents", [source], {"columns": {"title": ["a"]}})
        source = jsonl(tmp_path / "a.jsonl", [{"a": "one two", "b": 5}])
        with pytest.raises(DataError, match="the text is a number, not a string"):
            corpora.read("documents", [source], {"columns": {"text": ["a", "b"]}})


class TestClocks:
    """A date and a clock in two columns."""

    @pytest.mark.parametrize(
        ("head", "first", "second"),
        [("Datum;Uhrzeit", "03.01.2026", "8:05"), ("date;time", "2026-01-03", "08:05:30")],
    )
    def test_both_are_read_together(self, tmp_path, head, first, second):
        rows = [f"{first};{second};the rain in town {number}" for number in range(8)]
        (tmp_path / "a.csv").write_text(
            "\n".join([f"{head};text", *rows, f"{first};;no clock here"])
        )
        report = init.write(tmp_path / "n", [str(tmp_path / "a.csv")], {})
        day, clock = head.split(";")
        assert report.options["columns"]["time"] == [day, clock]
        assert (
            "clock",
            f"column {clock!r}, added to the dates of {day!r}: {second!r}",
        ) in report.lines
        seconds = 5 * 60 + 30 * second.endswith(":30")
        midnight = 1767398400000
        found = collection.read([str(tmp_path / "a.csv")], report.options)
        assert found.times.tolist() == [midnight + 8 * 3600000 + 1000 * seconds] * 8 + [midnight]

    def test_other_columns_are_no_clocks(self, tmp_path):
        rows = "".join(
            f"2026-01-0{day},08:0{day},{day}:15,text {day} of many\n" for day in range(1, 9)
        )
        (tmp_path / "a.csv").write_text("date,length,score,text\n" + rows)
        (tmp_path / "b.csv").write_text("date,time,score,text\n" + rows.replace(",0", "T10:00,0"))
        for name in ("a.csv", "b.csv"):
            report = init.survey([str(tmp_path / name)], {})
            assert "clock" not in dict(report.lines) and report.options["columns"]["time"] == "date"
        named = init.survey([str(tmp_path / "a.csv")], {"time": "date"})
        assert "clock" not in dict(named.lines)


class TestTopics:
    def feed(self, path, category):
        items = [
            f"<item><title>storm {n}</title><guid>g{n}</guid>{category(n)}"
            f"<pubDate>0{1 + n // 10} Jan 2026 10:00 GMT</pubDate></item>"
            for n in range(60)
        ]
        path.write_text(
            f"<rss xmlns:dc='http://purl.org/dc/elements/1.1/'><channel>{''.join(items)}</channel></rss>"
        )
        return str(path)

    def test_categories_of_feeds(self, tmp_path):
        source = self.feed(
            tmp_path / "a.xml",
            lambda n: f"<category>Sea &amp; air</category><dc:subject>s{n % 3}</dc:subject>",
        )
        found = survey([source], {})
        assert (
            found.options["columns"] == {"topics": "category"}
            and "4 different" in dict(found.lines)["topics"]
        )
        assert corpora.read("documents", [source], found.options).topics[4] == ("Sea & air", "s1")
        assert corpora.read("documents", [source], {}).topics[4] == ()
        assert "columns" not in survey([source], {"topics": ""}).options

    def test_too_many_are_none_unless_asked_for(self, tmp_path):
        source = self.feed(tmp_path / "a.xml", lambda n: f"<category>tag {n}</category>")
        assert (
            "columns" not in (found := survey([source], {})).options
            and "too many" in dict(found.lines)["topics"]
        )
        assert survey([source], {"topics": "category"}).options["columns"] == {"topics": "category"}
        with pytest.raises(ConfigError, match="--topics is 'tag'; expected 'category' or ''"):
            survey([source], {"topics": "tag"})

    def test_categories_of_atom(self, tmp_path):
        (tmp_path / "a.atom").write_text(
            '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><category term="a b" label="A B"/>'
            '<category term="c"/><title>storm</title></entry><entry><id>2</id><title>calm</title></entry></feed>'
        )
        with open(tmp_path / "a.atom", "rb") as file:
            found = [row.get("category") for _, row in feeds.feed_rows(file, "a.atom")]
        assert found == [["A B", "c"], None]

    def test_other_columns_that_may_be_topics_are_named(self, tmp_path):
        rows = [
            {"text": own(n), "section": n % 3, "category": f"c{n % 4}", "key": n} for n in range(40)
        ]
        said = dict(survey([jsonl(tmp_path / "a.jsonl", rows)], {}).lines)["topics"]
        assert said.startswith("column 'category', 4 different, rather than 'section' (--topics)")


class TestLogs:
    def test_times_without_a_year_have_that_of_the_last_change(self, tmp_path, capsys):
        folder = tmp_path / "logs"
        folder.mkdir()
        for name, month, changed in (
            ("messages.1", "Dec", 1767571200),
            ("messages", "Jan", 1769299200),
        ):
            path = folder / name
            path.write_text(
                "".join(f"{month} {n + 1:2} 10:00:00 host disk {n} is full\n" for n in range(20))
            )
            os.utime(path, (changed, changed))
        assert not cli.main(["init", str(tmp_path / "n"), str(folder)])
        out = capsys.readouterr().out
        assert "40 documents, 2025-12-01 to 2026-01-20" in out
        assert "or else from its modification time" in out and "'Dec 1 10:00:00'" in out
        assert (
            yaml.safe_load((tmp_path / "n/odl.yaml").read_text())["options"]["times"] == "modified"
        )

    def test_days_and_months_are_told_from_all_lines(self, tmp_path, capsys):
        chat = tmp_path / "chat.txt"
        lines = [f"1/{n % 12 + 1}/26, 10:0{n % 10} PM - Ann: it rains {n}\n" for n in range(600)]
        chat.write_text("".join(lines))
        assert cli.main(["init", str(tmp_path / "n"), str(chat)])
        assert "type --dates day-first or --dates month-first" in capsys.readouterr().err
        chat.write_text("".join([*lines, "1/31/26, 10:00 PM - Ann: it rains\n"]))
        assert not cli.main(["init", str(tmp_path / "n"), str(chat)])
        assert "601 documents, 2026-01-01 to 2026-01-31" in capsys.readouterr().out


@pytest.mark.parametrize(("most", "read"), [(5, True), (60, False)])
def test_authors_count_once_unless_one_wrote_many_documents(tmp_path, most, read):
    rows = [{**row, "author": "boss" if n < most else f"a{n % 30}"} for n, row in enumerate(ROWS)]
    path = jsonl(tmp_path / "a.jsonl", rows)
    found = survey([path], {})
    assert (found.options.get("columns", {}).get("author") == "author") == read
    assert ("each counts once per period" in dict(found.lines)["author"]) == read
    assert survey([path], {"author": ""}).options.get("columns", {}).get("author") is None
    assert survey([path], {"author": "author"}).options["columns"]["author"] == "author"


def test_authors_of_mail(tmp_path):
    mail = [
        f"From x Mon Jan  5 10:0{n} 2026\nFrom: a{n % 12}@x.org\nSubject: s{n}\n\nrain {n}\n\n"
        for n in range(10)
    ]
    mail += [
        f"From x Mon Jan  6 10:0{n} 2026\nFrom: a{n}@x.org\nSubject: t{n}\n\nrain {n}\n\n"
        for n in range(10)
    ]
    (tmp_path / "a.mbox").write_text("".join(mail))
    assert survey([str(tmp_path / "a.mbox")], {}).options["columns"] == {"author": "author"}
