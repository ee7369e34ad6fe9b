"""File kinds: patterns of sources, kinds that names do not tell, delimiters."""

import gzip
import lzma
import os

import pytest
from ownfiles import jsonl, table

from odl.alerts import feedback
from odl.cli import filekinds, init
from odl.config import project
from odl.errors import DataError
from odl.files import listing


class TestSources:
    def test_what_a_shell_made_of_a_pattern_becomes_it_again(self, tmp_path):
        paths = [jsonl(tmp_path / "p" / f"{n}.jsonl", [{"text": "x"}]) for n in range(3)]
        assert filekinds.find(paths) == ([str(tmp_path / "p" / "*.jsonl")], None)
        assert filekinds.find(paths, only=True) == (paths, None)
        assert filekinds.find(paths[:2]) == (paths[:2], None)
        assert filekinds.find([str(tmp_path / "p")]) == ([str(tmp_path / "p" / "*")], None)

    def test_one_file_that_is_all_of_its_ending_becomes_a_pattern(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in (
            "p/a.jsonl",
            "p/b.csv",
            "q/a.jsonl",
            "q/c.jsonl",
            "r/1.txt",
            "r/2.md",
            "r/3.txt",
        ):
            jsonl(tmp_path / name, [{"text": "x"}])
        with gzip.open("p/z.jsonl.gz", "wt") as file:
            file.write('{"text": "x"}')
        assert filekinds.find(["p/a.jsonl"])[0] == ["p/*.jsonl"]
        assert filekinds.find(["p/z.jsonl.gz", "p/b.csv"])[0] == ["p/*.jsonl.gz", "p/*.csv"]
        assert filekinds.find(["./q//c.jsonl", str(tmp_path / "q" / "a.jsonl")])[0] == [
            "./q/*.jsonl"
        ]  # all there are
        given = ["p/a.jsonl", "q/a.jsonl", "r/3.txt", "r/1.txt"]
        assert filekinds.find(given)[0] == ["p/*.jsonl", "q/a.jsonl", "r/*.txt"]
        monkeypatch.chdir("p")
        assert filekinds.find(["a.jsonl"])[0] == ["*.jsonl"]

    def test_files_without_an_ending_become_a_pattern_where_all_have_none(self, tmp_path):
        paths = [
            jsonl(tmp_path / "p" / name, [{"text": "x"}])
            for name in ("1", "mail.2", "of 2026-01-01")
        ]
        assert filekinds.find(paths)[0] == [str(tmp_path / "p" / "*")]
        (tmp_path / "p" / "readme.md").touch()
        assert filekinds.find(paths)[0] == paths
        assert filekinds.find([jsonl(tmp_path / "q" / "inbox", [{"text": "x"}])])[0] == [
            str(tmp_path / "q" / "inbox")
        ]
        assert filekinds.unread_siblings(paths) == []

    @pytest.mark.slow
    def test_signs_of_patterns_in_names_stand_for_themselves(self, tmp_path, monkeypatch):
        folder, names = tmp_path / "a[1]", ("b[2].jsonl", "c*.jsonl")
        paths = [
            jsonl(folder / name, [{"text": f"{name} {n}"} for n in range(3)]) for name in names
        ]
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
            init.write(mine, list(given), {})
            monkeypatch.chdir(mine)  # where the sources are read
            (source,) = project.read(mine)["sources"]
            assert [os.path.realpath(path) for _, path in listing.expand(source)] == wanted

    def test_files_beside_those_that_are_read(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in (
            "p/a.jsonl",
            "p/b.jsonl",
            "p/c.jsonl",
            "p/d.csv",
            "p/.e.jsonl",
            "q/a.txt",
            "q/b.txt",
        ):
            jsonl(tmp_path / name, [{"text": "x"}])
        others = filekinds.unread_siblings(["p/a.jsonl", "q/*.txt"])
        assert others == [str(tmp_path / "p" / name) for name in ("b.jsonl", "c.jsonl")]
        assert filekinds.unread(others) == "p/b.jsonl, p/c.jsonl, of the same kind as the sources"
        assert filekinds.unread([f"p/{n}" for n in range(1005)]).startswith(
            "p/0, p/1, p/2 and 1,002 more, of "
        )
        assert filekinds.unread_siblings(["p", "q/b.txt"]) == [str(tmp_path / "q" / "a.txt")]
        assert (
            filekinds.unread_siblings(["p/*.jsonl"]) == []
            and filekinds.unread_siblings(["nowhere/*.jsonl"]) == []
        )

    def test_feedback_beside_documents_is_none_of_them(self, tmp_path):
        rows = [{"text": f"post {n}"} for n in range(3)]
        table(tmp_path / "a.csv", rows)
        feedback.add(tmp_path, feedback.FeedbackLine("source:a.csv", "muted"))
        assert filekinds.find([str(tmp_path / "a.csv")])[0] == [str(tmp_path / "*.csv")]
        for source in (tmp_path, tmp_path / "*.csv"):
            assert [name for name, _ in listing.expand(str(source))] == ["a.csv"]
        table(tmp_path / "feedback.csv", rows)  # a person's own
        assert [name for name, _ in listing.expand(str(tmp_path))] == ["a.csv", "feedback.csv"]

    def test_a_folder_is_a_pattern(self, tmp_path):
        for name in ("a/1.txt", "a/2.txt", "b/x/3.txt", "readme.md"):
            (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
            (tmp_path / name).write_text("hello")
        assert filekinds.find([str(tmp_path)]) == ([f"{tmp_path}/**"], None)
        assert filekinds.find([str(tmp_path / "a")]) == ([f"{tmp_path}/a/*"], None)

    def test_a_folder_of_all_kinds_is_read_and_what_is_not_is_counted(self, tmp_path):
        log = "2026-01-05T10:00:00Z disk\n2026-01-05T10:00:01Z pump\n2026-01-05T10:00:02Z pipe\n"
        packed = gzip.compress(log.encode())
        contents = {
            "a.jsonl": '{"text": "x"}\n', "b.NDJSON": '{"text": "x"}\n', "c.tsv": "id\ttext\n1\tx\n",
            "d.txt": "some prose\n", "e.txt": "id\ttext\n1\tx\n2\ty\n".encode("utf-16"), "f.json": '[{"text": "x"}]',
            "g.log": '{"log": "x"}\n{"log": "y"}\n', "app.log": log, "app.log.1": log, "app.log.2.gz": packed,
            "app-20260104.log.xz": lzma.compress(log.encode()), "syslog": log, "h.md": "# 2026-01-05 10:00\n",
            "i.eml": "Subject: x\n\nx", "j.pdf": "%PDF", "k.png": "\x89PNG", "l.py": "x = 1", "core": b"\x7fELF\0",
            ".m.log": log,
        }  # fmt: skip
        for name, content in contents.items():
            (tmp_path / name).write_bytes(
                content if isinstance(content, bytes) else content.encode()
            )
        (pattern,), kind = filekinds.find([str(tmp_path)])
        assert (pattern, kind) == (f"{tmp_path}/*", None)
        found = {name: listing.kind_in(path) for name, path in listing.expand(pattern)}
        assert found == {
            "a.jsonl": "jsonl", "b.NDJSON": "jsonl", "c.tsv": "csv", "d.txt": "text", "e.txt": "csv", "f.json": "jsonl",
            "g.log": "jsonl", "app-20260104.log.xz": "log", "app.log.2.gz": "log", "app.log.1": "log", "app.log": "log",
            "syslog": "log", "h.md": "text", "i.eml": "mail",
        }  # fmt: skip
        assert [name for name in found if name.startswith("app.")] == [
            "app.log.2.gz",
            "app.log.1",
            "app.log",
        ]
        said = filekinds.left_out([pattern])
        assert (
            said.startswith("4 files of other kinds: ")
            and "1 in .pdf (pdftotext makes texts)" in said
        )
        assert filekinds.left_out([str(tmp_path / "a.jsonl")]) == ""

    def test_a_packed_copy_of_a_file_is_left_out_and_named(self, tmp_path):
        for name, packed in (("app.log.1", "one"), ("app.log.2", "another"), ("app.log.3", None)):
            (tmp_path / name).write_text(f"2026-01-05 10:00:00 {name} one")
            with gzip.open(tmp_path / f"{name}.gz", "wt") as file:
                file.write(f"2026-01-05 10:00:00 {name} {packed}")
        (tmp_path / "app.log.3.gz").write_bytes((tmp_path / "app.log.3.gz").read_bytes()[:-9])
        named, _ = filekinds.find([str(tmp_path)])
        names = ["app.log.3", "app.log.3.gz", "app.log.2", "app.log.2.gz", "app.log.1"]
        assert [name for name, _ in listing.find_files(named)] == names
        assert (
            filekinds.left_out(named) == "1 compressed copy: app.log.1.gz (the same as app.log.1)"
        )
        alone = [str(tmp_path / "app.log.1.gz")]
        assert len(listing.find_files(alone)) == 1 and filekinds.left_out(alone) == ""

    def test_hidden_folders_of_a_maildir_are_named_until_they_are_read(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for number, folder in enumerate(
            ("cur", "new", ".Sent/cur", ".Sent/new", ".Lists.odl/cur", ".git/x")
        ):
            path = tmp_path / "mail" / folder / f"{number}.host:2,S"
            path.parent.mkdir(parents=True)
            path.write_text(
                "From: a@example.org\nDate: Mon, 5 Jan 2026 10:00:00 +0000\nSubject: rain\n\nrain\n"
            )
        named, kind = filekinds.find(["mail"])
        assert len(listing.find_files(named, kind)) == 2
        said = "messages in hidden folders, which are read only if named: mail/"
        assert filekinds.left_out(named, kind) == f"3 {said}.Lists.odl, mail/.Sent"
        named, kind = filekinds.find(["mail", "mail/.Sent"])
        assert len(listing.find_files(named, kind)) == 4
        assert filekinds.left_out(named, kind) == f"1 {said}.Lists.odl"

    def test_rotated_logs_become_a_pattern(self, tmp_path):
        paths = [str(tmp_path / name) for name in ("app.log", "app.log.1", "app.log.2.gz")]
        for path in paths:
            open(path, "w").close()
        assert filekinds.find(paths) == ([f"{tmp_path}/*.log*"], None)
        assert filekinds.unread_siblings(paths[:1]) == paths[1:]

    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            (b'{"text": "x"}\n', "jsonl"),
            (b'[{"text": "x"}]', "jsonl"),
            (gzip.compress(b'{"text": "x"}\n', mtime=0), "jsonl"),
            (b"id,text\n1,x\n2,y\n", "csv"),
            (
                b"2026-01-05 10:00:00 a\n2026-01-05 10:00:01 b\n  at c\n2026-01-05 10:00:02 d\n",
                "log",
            ),
            (b"PAR1xx", "parquet"),
            (b'<?xml version="1.0"?><rss/>', "feed"),
            (b"From a@b Fri Jul  8 12:08:34 2011\nSubject: x\n\nhello\n", "mail"),
            (b"From: a\nSubject: b\nLines: 3\n\nhello\n", "mail"),
            (b"Hello: world\n\nhello\n", "text"),
        ],
    )
    def test_names_that_tell_nothing(self, tmp_path, content, kind):
        (tmp_path / "inbox").write_bytes(content)
        assert filekinds.find([str(tmp_path / "inbox")])[1] == kind

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"\x7fELF\0", "is not a text file"),
            (b"\x1f\x8b\x08", "is not a text file"),
            (b"\x28\xb5\x2f\xfd", "unpack it: unzstd"),
            (
                b"PK\3\4\0",
                "unpack it: unzip; of a spreadsheet or a document, save it as CSV or text",
            ),
        ],
    )
    def test_what_cannot_be_read(self, tmp_path, content, said):
        (tmp_path / "inbox").write_bytes(content)
        with pytest.raises(DataError, match=said):
            filekinds.find([str(tmp_path / "inbox")])

    @pytest.mark.parametrize(
        ("encoding", "text"),
        [
            ("cp1252", "Größe über die Straße für München"),
            ("cp1250", "że się są ból także został"), ("iso8859-2", "že při také není jsou článek"),
            ("cp1254", "çünkü için değil böyle şey"), ("cp1257", "tačiau būti tiek už ši taip jų iš"),
        ],
    )  # fmt: skip
    def test_encodings_of_latin_letters_are_detected(self, tmp_path, encoding, text):
        (tmp_path / "a.csv").write_bytes(f"id,text\n1,{text}\n".encode(encoding))
        name, said = filekinds.encoding_of([("a.csv", str(tmp_path / "a.csv"))])
        assert text.encode(encoding).decode(name) == text and text[:4] in said

    @pytest.mark.parametrize(
        ("text", "written", "name"),
        [
            ("Größe", "cp1252", "cp1252"), ("it’s", "cp1252", "cp1252"), ("naïve café", "cp1252", "cp1252"),
            ("Спутник на орбите", "koi8-r", "koi8-r"), ("朱镕基说北京", "gbk", "gb18030"),
            ("\x81", "latin-1", "cp1252"),
        ],
    )  # fmt: skip
    def test_a_few_letters_are_of_a_usual_encoding(self, text, written, name):
        assert filekinds.detect_encoding(text.encode(written)) == name

    @pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
    def test_delimiters(self, tmp_path, sign):
        rows = [{"id": n, "inhalt": f"eins, zwei; {n}", "wert": "3,5"} for n in range(5)]
        path = table(tmp_path / "d.csv", rows, sign)
        said = filekinds.delimiter_of([("d.csv", path)], None, None)
        assert said.startswith(repr(sign)) if sign != "," else said == ""


@pytest.mark.parametrize(("name", "row", "options", "bare"), [
    ("a.tsv", 'a\t"disk seven" fails', {}, True),
    ("b.tsv", 'a\t"two\tfields"', {}, False),
    ("c.csv", 'a\t"disk seven" fails', {}, False),
    ("c.csv", 'a\t"disk seven" fails', {"delimiter": "\t"}, True),
])  # fmt: skip
def test_quotation_marks_in_a_table_with_tabs_are_told(tmp_path, name, row, options, bare):
    path = tmp_path / name
    path.write_text(f"id\ttext\n{row}\n")
    assert filekinds.find_unquoted([(name, str(path))], options) == (str(path) if bare else None)


def test_a_pdf_is_one_sentence(tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7 binary")
    with pytest.raises(
        DataError,
        match=r"a\.pdf is a PDF; expected text files; convert it with pdftotext",
    ):
        filekinds.find([str(tmp_path / "a.pdf")])


def test_what_servers_of_mail_keep_beside_it_is_hidden(tmp_path):
    (tmp_path / "cur").mkdir()
    for name in (
        "dovecot.index.cache",
        "dovecot-uidlist",
        "maildirfolder",
        "~$a.csv",
        "cur/17.M1.host,S=9:2,S",
    ):
        (tmp_path / name).write_bytes(
            b"From: a@example.org\nTo: b@example.org\nSubject: Rain\n\nIt rains.\n"
        )
    assert [name for name, _ in listing.expand(f"{tmp_path}/**", "text")] == [
        "cur/17.M1.host,S=9:2,S"
    ]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"a.log".ljust(257, b"\0") + b"ustar\0", "a tar archive.*tar xf"),
        (b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\nMESSAGE=x\n", "journalctl -o json"),
        (b"- time: 2026-01-05\n  text: rain\n", "YAML"),
        (b"BABYL OPTIONS: -*- rmail -*-\n", "unrmail"),
        (b'<?xml version="1.0"?>\n<!-- mine -->\n<opml version="2.0">', "a list of feeds"),
    ],
)
def test_files_of_other_programs_are_named_with_what_to_do(tmp_path, head, said):
    for data in (head, gzip.compress(head)):
        (tmp_path / "a.data").write_bytes(data)
        with pytest.raises(DataError, match=said):
            filekinds.sniff(str(tmp_path / "a.data"))
