"""Documents that cannot be read are set aside, and the run continues."""

import gzip
import json

import pytest

from odl import cli, corpora
from odl.corpora import collection, encodings, portions
from odl.corpora.checks import Unreadable
from odl.errors import ConfigError, DataError
from odl.files import documents

LAX = {"strict": False}


def row(number, **more):
    return {
        "id": f"d{number}",
        "time": f"2026-01-{number % 28 + 1:02d}",
        "text": f"storm{chr(97 + number % 26)} rain",
        **more,
    }


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows)
    )
    return path


def read(path, **options):
    return corpora.read("documents", [str(path)], {**LAX, **options})


def reasons(found):
    return [tuple(entry) for entry in found.aside]


class TestDocuments:
    @pytest.mark.parametrize(
        ("bad", "reason"),
        [
            (row(1, text=None), "it has neither text nor counts"),
            (row(1, text={"a": "hidden"}), "the text is an object, not a string"),
            (row(1, text=3), "the text is a number, not a string"),
            (row(1, id=None), "it has no id"),
            (row(1, id=""), "it has no id"),
            (row(1, id=["x"]), "the id ['x'] is neither a string nor an integer"),
            (
                row(1, time="2026-13-01"),
                "the time '2026-13-01' is not a date: month must be in 1..12",
            ),
            (row(1, topics={"a": 1}), "the topics are \"{'a': 1}\", neither a string nor a list"),
            (
                row(1, text=None, counts={"rain": -1}),
                "the count -1 of 'rain' is not an integer from 0 to 2147483647",
            ),
        ],
    )
    def test_one_is_set_aside_and_the_others_stay(self, tmp_path, bad, reason):
        path = write(tmp_path / "a.jsonl", [row(0), bad, row(2)])
        found = read(path)
        assert (found.ids, reasons(found)) == (["d0", "d2"], [("a.jsonl", "line 2", reason)])
        with pytest.raises(DataError, match="line 2"):
            read(path, strict=True)
        with pytest.raises(DataError, match="line 2"):
            corpora.read("documents", [str(path)], {})  # a study refuses

    def test_without_a_time(self, tmp_path):
        path = write(tmp_path / "a.jsonl", [row(0), row(1, time=None), row(2)])
        assert reasons(read(path, needs_time=True)) == [("a.jsonl", "line 2", "it has no time")]
        assert len(read(path)) == 3

    def test_what_a_reader_cannot_read(self, tmp_path, monkeypatch):
        path = write(tmp_path / "a.jsonl", [row(0)])
        every = [
            ("line 1", Unreadable("it is torn")),
            ("line 2", row(0)),
            ("line 3", Unreadable("it is gone")),
        ]
        monkeypatch.setattr(collection, "rows", lambda *_: iter(every))
        found = read(path)
        assert (found.ids, reasons(found)) == (
            ["d0"],
            [("a.jsonl", "line 1", "it is torn"), ("a.jsonl", "line 3", "it is gone")],
        )
        with pytest.raises(DataError, match="line 1: it is torn"):
            read(path, strict=True)

    def test_an_odd_first_row_decides_nothing(self, tmp_path):
        found = read(write(tmp_path / "a.jsonl", [{"event": "start"}, row(1), row(2)]))
        assert found.ids == ["d1", "d2"]
        assert reasons(found) == [
            ("a.jsonl", "line 1", "it has neither text nor counts, but the columns event")
        ]

    def test_a_pattern_that_finds_white_space(self, tmp_path):
        path, tokens = (
            write(tmp_path / "a.jsonl", [row(0), row(1, text="a  b"), row(2)]),
            {"pattern": r"\w+|\s\s"},
        )
        found = read(path, tokens=tokens)
        assert (
            len(found) == 2
            and "finds ' '; expected tokens without white space" in found.aside[0].reason
        )
        with pytest.raises(ConfigError):
            read(path, tokens=tokens, strict=True)

    def test_a_reason_has_no_text(self, tmp_path):
        found = read(
            write(
                tmp_path / "a.jsonl",
                [row(0), row(1, text=[["secret"]]), row(2, text={"secret": 1})],
            )
        )
        assert len(found.aside) == 2 and "secret" not in str(found.aside)


class TestFiles:
    def mixed(self, tmp_path):
        """Return a folder of two valid tables and an invalid one, and the path of the latter."""
        write(tmp_path / "a.csv", ["id,time,text", "d0,2026-01-01,storm"])
        write(tmp_path / "c.csv", ["id,time,text", "d9,2026-01-02,rain"])
        return tmp_path / "b.csv"

    @pytest.mark.parametrize(
        ("lines", "reason"),
        [
            ([], "contains no documents; expected at least one document"),
            (["id,time,text"], "contains no documents; expected at least one document"),
            (
                ["id,time,words", "d1,2026-01-01,wind"],
                "has the columns id, time, words (nearest: 'time'); expected a column 'text' or a column 'counts'",
            ),
            (
                ["id,Time,text", "d1,2026-01-01,wind"],
                "has the columns Time, id, text (nearest: 'Time'); expected a column 'time'",
            ),
        ],
    )
    def test_a_whole_file(self, tmp_path, lines, reason):
        write(self.mixed(tmp_path), lines)
        found = read(tmp_path)
        assert (found.ids, reasons(found)) == (["d0", "d9"], [("b.csv", "", reason)])
        with pytest.raises(DataError, match=r"b\.csv"):
            read(tmp_path, strict=True)

    def test_a_file_that_cannot_be_opened_and_can_be_later(self, tmp_path):
        path = self.mixed(tmp_path)
        (tmp_path / "b.csv.gz").write_bytes(b"no gzip")
        assert [entry[:2] for entry in reasons(read(tmp_path))] == [("b.csv.gz", "")]
        (tmp_path / "b.csv.gz").unlink()
        write(path, ["id,time,text", "d5,2026-01-01,storm"])
        assert read(tmp_path).ids == ["d0", "d5", "d9"]

    def test_the_rest_of_a_packed_file_that_was_cut(self, tmp_path):
        lines = "".join(json.dumps(row(n, text=f"rain {n * 7919}")) + "\n" for n in range(9000))
        packed = gzip.compress(lines.encode())
        (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
        found = read(tmp_path / "a.jsonl.gz")
        ((file, place, reason),) = reasons(found)
        assert (file, place) == ("a.jsonl.gz", f"after line {len(found)}") and reason.startswith(
            "cannot be read"
        )
        assert len(found) > 1000

    def test_a_line_break_in_the_name_of_a_file(self, tmp_path):
        write(tmp_path / "b\nc.jsonl", [row(0), row(1, text=None)])
        found = read(tmp_path)
        documents.write(tmp_path / "documents.h5", found)
        assert found.files == ["b?c.jsonl"] and found.aside[0].file == "b?c.jsonl"

    def test_nothing_that_can_be_read(self, tmp_path):
        with pytest.raises(
            DataError,
            match=r"the first error is in a\.jsonl line 1: it has neither text nor counts",
        ):
            read(write(tmp_path / "a.jsonl", [{"id": "a"}, {"id": "b"}]))


class TestShares:
    def test_appended_as_at_once(self, tmp_path):
        folder, options = (
            tmp_path / "docs",
            {**LAX, "needs_time": True, "duplicates": True, "min_words": 1},
        )
        tables = {
            "a.jsonl": [row(0), row(1, time=None), row(2, text=None)],
            "b.jsonl": [row(3, text=None), {"id": 4}],
            "c.jsonl": [row(1), row(2), row(3), row(0), row(5, text="")],
            "d.jsonl": [],
        }
        paths, sources = [], [str(folder / "*.jsonl")]
        for name, rows in tables.items():
            path = write(folder / name, rows)
            paths.append(tmp_path / "shares" / f"{path.stem}.h5")
            portions.write(paths[-1], portions.members(sources, options, path, path), options)
            listed = portions.join(tmp_path / "list.h5", paths, sources, options)
        assert portions.join(tmp_path / "new.h5", paths, sources, options).aside == listed.aside
        assert (tmp_path / "new.h5").read_bytes() == (tmp_path / "list.h5").read_bytes()
        once = corpora.read("documents", sources, options)
        documents.write(tmp_path / "once.h5", once)
        assert once.aside == listed.aside == documents.read(tmp_path / "once.h5").aside
        assert once.ids == listed.ids == ["d0", "d1", "d2", "d3"] and once.dropped.ids == ["d5"]
        assert [entry[:2] for entry in once.aside] == [
            ("a.jsonl", "line 2"), ("a.jsonl", "line 3"), ("b.jsonl", "line 1"), ("b.jsonl", "line 2"), ("d.jsonl", "")
        ]  # fmt: skip


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """Return a folder after a run: 120 documents, 4 of them unreadable, and an empty file."""
    folder = tmp_path_factory.mktemp("aside") / "news"
    rows = [row(n, text=f"rain storm{chr(97 + n % 26)} wind") for n in range(120)]
    rows[50], rows[60], rows[70] = row(50, text=None), row(60, time="soon"), row(70, time=None)
    write(folder / "a.jsonl", rows)
    write(folder / "b.jsonl", [])
    options = "batches: {by: period, period: week, initial: 30}\nalerts: {warm_up: 30}\n"
    (folder / "odl.yaml").write_text(f"study: news\nsources: ['*.jsonl']\n{options}")
    return folder


class TestRun:
    @pytest.mark.slow
    def test_the_count_is_printed_and_the_table_follows_the_files(self, stream, capsys):
        table = stream / "results" / "set-aside.tsv"
        assert cli.main(["run", str(stream)]) == 0
        line = f"3 documents and 1 file were set aside: {table}"
        assert line in capsys.readouterr().out
        assert table.read_text().splitlines()[2].startswith("a.jsonl\tline 61\tthe time 'soon'")
        before = table.read_bytes()
        table.unlink()
        assert cli.main(["run", str(stream)]) == 0
        told = capsys.readouterr().out
        assert line in told and "nothing has changed" in told and table.read_bytes() == before
        # The documents come corrected: late ones, of periods that were learned.
        write(stream / "b.jsonl", [row(50), row(60)])
        assert cli.main(["run", str(stream)]) == 0
        told = capsys.readouterr()
        assert "2 documents more than in the last run; 119 in all" in told.out
        assert "were added, edited or removed" in told.err
        assert "3 documents were set aside" in told.out
        rows = [row(n, text=f"rain storm{chr(97 + n % 26)} wind") for n in range(120)]
        write(stream / "a.jsonl", rows)
        assert cli.main(["run", str(stream)]) == 0
        told = capsys.readouterr().out
        assert "120 in all" in told and "set aside" not in told and not table.exists()


class TestInit:
    def init(self, folder, *words):
        return cli.main(["init", str(folder / "news"), str(folder / "docs"), *words])

    @pytest.mark.slow
    def test_what_odl_init_counts_is_what_odl_run_sets_aside(self, tmp_path, capsys):
        rows = [row(n, text=f"rain storm{chr(97 + n % 26)} wind") for n in range(120)]
        rows[7], rows[9], rows[11] = row(7, text=None), row(9, time=None), row(11, time="32 Jan")
        write(tmp_path / "docs" / "a.jsonl", [*rows, rows[3]])
        write(tmp_path / "docs" / "empty.jsonl", [])
        assert self.init(tmp_path, "--strict") == 1
        assert "expected no unreadable document (--strict)" in capsys.readouterr().err
        assert self.init(tmp_path) == 0
        told = capsys.readouterr().out
        assert told.startswith("117 documents, ")
        assert (
            "  set aside 3 documents and 1 file are set aside by odl run, which lists them: "
            in told
        )
        assert "it has neither text nor counts (1, first a.jsonl line 8)" in told
        assert cli.main(["run", str(tmp_path / "news")]) == 0
        told = capsys.readouterr().out
        assert "117 documents; " in told and "1 repeated row left out" in told
        assert (
            f"3 documents and 1 file were set aside: {tmp_path}/news/results/set-aside.tsv" in told
        )

    @pytest.mark.parametrize(("n", "status"), [(20, 0), (26, 1)])
    def test_more_than_a_fifth_is_refused(self, tmp_path, capsys, n, status):
        write(
            tmp_path / "docs" / "a.jsonl",
            [row(number, **({"text": None} if number < n else {})) for number in range(100)],
        )
        assert self.init(tmp_path) == status
        said = capsys.readouterr().err
        assert (
            "at most 20% of 100 documents; correct them, or set another column (--text" in said
        ) == status

    def test_a_stream_without_times_stays_as_it_is_and_one_with_times_needs_them(
        self, tmp_path, capsys
    ):
        write(tmp_path / "docs" / "a.jsonl", [row(n, time=None) for n in range(60)])
        assert self.init(tmp_path) == 0
        lines = (tmp_path / "news" / "odl.yaml").read_text()
        assert "set aside" not in capsys.readouterr().out and "needs_time" not in lines
        write(
            tmp_path / "docs" / "a.jsonl",
            [row(n, time=None if n == 9 else "2026-01-01") for n in range(60)],
        )
        assert self.init(tmp_path, "--force") == 0
        assert "it has no time (1, first a.jsonl line 10)" in capsys.readouterr().out
        assert "needs_time: true" in (tmp_path / "news" / "odl.yaml").read_text()

    def test_one_odd_value_does_not_choose_the_column_of_texts(self, tmp_path, capsys):
        rows = [row(n, text=f"rain storm wind {n} gale hail fog sleet") for n in range(400)]
        write(tmp_path / "docs" / "a.jsonl", [row(999, id="x " * 9999), *rows])
        assert self.init(tmp_path) == 0
        assert "text      column 'text'" in capsys.readouterr().out

    def test_hints_before_there_is_an_odl_yaml_are_options_of_odl_init(self, tmp_path, capsys):
        write(
            tmp_path / "docs" / "a.csv",
            ["id,time,text", 'd1,2026-01-01,"open', "d2,2026-01-02,rain"],
        )
        assert self.init(tmp_path) == 1
        told = capsys.readouterr().err
        assert "add --unquoted" in told and "options.quoted" not in told
        assert self.init(tmp_path, "--unquoted") == 0
        assert "quoted: false" in (tmp_path / "news" / "odl.yaml").read_text()

    def test_a_file_that_is_no_text_and_a_packed_one_that_is_torn(self, tmp_path, capsys):
        write(tmp_path / "docs" / "a.jsonl", [row(n, text=f"rain {n}") for n in range(90)])
        (tmp_path / "docs" / "b.jsonl").write_bytes(
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))
        )
        (tmp_path / "docs" / "c.jsonl.gz").write_bytes(gzip.compress(b"{}" * 9999)[:40])
        assert self.init(tmp_path) == 0
        told = capsys.readouterr().out
        assert (
            "90 documents" in told
            and "2 files are set aside by odl run" in told
            and "begins like a PNG image" in told
        )


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"rain\0\0\0\0storm\n" * 40, ""),  # gaps that a crash left in a log
        (b"\0" * 3000 + b"2026-01-01 rain\n" * 30, ""),
        ("rain\nstorm".encode("utf-16-le"), "contains zeros, like UTF-16 without a byte"),
        ("rain\nstorm".encode("utf-32-le"), "contains zeros, like UTF-16 without a byte"),
        (bytes(range(256)) * 9, "contains NUL bytes and control characters"),
        (b"%PDF-1.7 no zero", "begins like a PDF"),
    ],
)
def test_what_is_no_text(head, said):
    if not said:
        assert encodings.wide_name(head, "a.log") is None
        return
    with pytest.raises(DataError, match=said):
        encodings.wide_name(head, "a.log")


def test_damaged_documents_that_are_read_are_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    items = [
        f"<item><guid>{n}</guid><pubDate>2026-01-{n + 1:02}</pubDate><title>rain</title>"
        f"<description>{'AT&T' if n == 3 else 'storm'} {n}</description></item>"
        for n in range(20)
    ]
    (tmp_path / "a.rss").write_text(f"<rss><channel>{''.join(items)}</channel></rss>")
    body = b"Content-Type: text/plain; charset=gbk\nDate: 5 Jan 2026 10:00 GMT\nMessage-ID: <m>\n\nrain \x81\xff\n"
    (tmp_path / "b.mbox").write_bytes(b"From a@b\n" + body)
    replaced = ("b.mbox", "read", "documents with bytes that fit no encoding, read as U+FFFD: 1")
    found = read(tmp_path / "a.rss")
    assert len(found.ids) == 20 and reasons(found) == [
        ("a.rss", "read", "items that are not XML, repaired: 1")
    ]
    assert reasons(read(tmp_path / "b.mbox")) == [replaced]
    assert cli.main(["init", "n", "a.rss", "b.mbox", "--only"]) == 0
    printed = capsys.readouterr().out
    assert "21 documents" in printed and "damaged   items that are not XML, repaired: 1" in printed
