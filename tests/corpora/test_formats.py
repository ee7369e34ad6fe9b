"""Formats of user files other than tables: texts, encodings, dates and patterns."""

import json
import os

import numpy as np
import pytest

from odl import corpora
from odl.config.chains import sources_of
from odl.corpora import encodings, formats
from odl.errors import ConfigError, DataError
from odl.files import documents, listing
from odl.text import stopwords


def read(*sources, **options):
    return corpora.read("documents", sources, options)


def words(found, row):
    return [found.vocabulary[column] for column in found.counts[[row]].indices]


def day(text):
    return int(np.datetime64(text, "ms").astype(np.int64))


def put(path, content):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(said, *sources, error=DataError, **options):
    with pytest.raises(error, match=said) as caught:
        read(*sources, **options)
    assert "\n" not in str(caught.value)


def test_texts_have_their_times_from_where_one_says(tmp_path):
    put(
        tmp_path / "t" / "2026-03-04-post.md",
        "---\ntitle: My post\ndate: 2026-03-05\ntopics: [a, b]\n---\nHello world\n",
    )
    put(tmp_path / "t" / "x" / "2026" / "02" / "3.txt", "\n# First line\nsecond")
    found = read(str(tmp_path / "t" / "**"))
    assert found.ids == ["2026-03-04-post", "x/2026/02/3"] and found.titles == [
        "My post",
        "First line",
    ]
    assert found.times.tolist() == [day("2026-03-05"), day("2026-02-01")]
    assert found.topics == [("a", "b"), ()] and words(found, 0) == ["hello", "post", "world"]
    assert read(str(tmp_path / "t" / "*.md"), times="name").times.tolist() == [day("2026-03-04")]
    os.utime(tmp_path / "t" / "2026-03-04-post.md", (86400, 86400))
    assert read(str(tmp_path / "t" / "*.md"), times="modified").times.tolist() == [
        day("1970-01-02")
    ]
    refused("times is 'mtime'", str(tmp_path), error=ConfigError, times="mtime")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a-20260103.txt", "2026-01-03"),
        ("2026_01.txt", "2026-01"),
        ("2026/01/03/a.txt", "2026-01-03"),
        ("53366", None),
    ],
)
def test_days_in_names(name, said):
    assert formats.day_of(name) == said


def test_kinds_of_files():
    names = [
        "a.JSONL",
        "a.tsv.gz",
        "a.parquet",
        "a.parquet.gz",
        "app.log.1",
        "app.log-20260105.xz",
        "a.mbox",
        "a.xml",
        "a.md",
        "a.doc",
    ]
    kinds = ["jsonl", "csv", "parquet", None, "log", "log", "mail", "feed", "text", None]
    assert [listing.kind_of(name) for name in names] == kinds


def test_what_odl_wrote_into_a_folder_is_no_document(tmp_path):
    for name in (
        "a.txt",
        "forgotten.txt",
        "sub/results/b.txt",
        "results/logs/c.txt",
        "sub/forgotten.txt",
    ):
        put(tmp_path / name, "storm")
    every = [name for name, _ in listing.expand(f"{tmp_path}/**/*.txt")]
    assert len(every) == 5
    put(tmp_path / "odl.yaml", "study: a")
    assert [name for name, _ in listing.expand(f"{tmp_path}/**/*.txt")] == [
        "a.txt",
        "sub/forgotten.txt",
        "sub/results/b.txt",
    ]
    assert [name for name, _ in listing.expand(str(tmp_path), "text")] == ["a.txt"]


def test_a_folder_gives_tables_and_a_pattern_what_it_names(tmp_path):
    for name in ("b.jsonl", "a.csv", "c.txt", ".d.jsonl", "sub/b.jsonl"):
        put(tmp_path / name, "text\nstorm\n" if name.endswith("csv") else '{"text": "storm"}\n')

    def names(source, **options):
        settings = {
            "corpora": {"mine": {"reader": "documents", "sources": [source], "options": options}}
        }
        files = sources_of(settings, "mine", [], "data")
        found = read(source, **options)
        assert list(dict.fromkeys(found.files)) == [
            name for name, _ in listing.expand(source, options.get("kind"))
        ]
        assert len(set(found.files)) == len(files)
        return found.files

    assert names(str(tmp_path)) == ["a.csv", "b.jsonl"]
    assert names(str(tmp_path), kind="text") == ["a.csv", "b.jsonl", "c.txt"]
    assert names(f"{tmp_path}/*.jsonl") == ["b.jsonl"]
    assert names(f"{tmp_path}/**/*.jsonl") == ["b.jsonl", "sub/b.jsonl"]
    refused("the pattern .* has no files of documents", f"{tmp_path}/*.mbox")
    put(tmp_path / "e[1].jsonl", '{"text": "storm"}\n')
    assert names(f"{tmp_path}/e[1].jsonl") == ["e[1].jsonl"]  # a file of that name comes first


@pytest.mark.parametrize("name", ["l.jsonl", "l.csv"])
def test_encodings(tmp_path, name):
    rows = (
        ["ok", "Müller", "Größe"]
        if name == "l.csv"
        else ['{"text": "ok"}', '{"text": "Müller"}', '{"text": "Größe"}']
    )
    lines = ["text"] * (name == "l.csv") + rows
    path = put(
        tmp_path / name,
        "\n".join(lines[:-1]).encode() + b"\n" + lines[-1].encode("latin-1") + b"\n",
    )
    refused(
        rf"line {len(lines)}: it is not UTF-8 \(byte 0xf6\); the option encoding sets another encoding",
        path,
    )
    assert read(path, encoding=["utf-8", "cp1252"]).vocabulary == ["größe", "müller", "ok"]
    assert "größe" in read(path, encoding="latin-1").vocabulary
    for wrong in ("base64", "nothing", 3, [], ["utf-8", "cp1252", "latin-1"], ["utf-8", "utf-16"]):
        refused("encoding is", path, error=ConfigError, encoding=wrong)
    path = put(tmp_path / name, "\n".join(lines[:-1]).encode() + b"\n" + b"\x81\n")
    refused(rf"line {len(lines)}: it is not cp1252 \(byte 0x81\)", path, encoding="cp1252")
    assert encodings.check_encoding("UTF8").text(b"\xef\xbb\xbfa", first=True) == "a"


@pytest.mark.parametrize(("head", "kind"), [("%PDF-1.4", "a PDF"), ("GIF89a", "a GIF image")])
def test_what_is_no_text_by_its_first_bytes_is_refused(tmp_path, head, kind):
    refused(rf"a\.txt begins like {kind}", put(tmp_path / "a.txt", f"{head}\nwords in it\n"))


def test_a_date_of_two_readings_names_the_option(tmp_path):
    path = put(tmp_path / "d.csv", "text,time\nstorm,03/04/2026\n")
    refused(
        "line 2: the time '03/04/2026' may begin with the day or the month: set the option dates",
        path,
    )
    assert read(path, dates="month-first").times.tolist() == [day("2026-03-04")]
    refused(
        "not a date that is day-first",
        put(tmp_path / "d.csv", "text,time\nstorm,03/14/2026\n"),
        dates="day-first",
    )
    refused("dates is 'american'", path, error=ConfigError, dates="american")


def test_each_table_has_the_delimiter_that_fits_it(tmp_path):
    put(tmp_path / "a.csv", "id;text;time\n1;hello, world;2026\n")
    put(tmp_path / "b.csv", "id\ttext\ttime\n2\thello, world\t2026\n")
    put(tmp_path / "c.tsv", "id,text,time\n3,hello world,2026\n")
    put(tmp_path / "d.csv", 'id,text,time\n4,"hello; world",2026\n')
    assert read(*sorted(tmp_path.iterdir())).ids == ["1", "2", "3", "4"]
    refused("set the option delimiter, such as delimiter: ';'", tmp_path / "a.csv", delimiter="\t")
    assert read(put(tmp_path / "a.tsv", "id\ttext\n1\thello, world\n")).ids == ["1"]
    assert read(
        put(tmp_path / "b.csv", "sep=;\r\nid;text;time\r\n1;hello;2026\r\n"), delimiter=";"
    ).ids == ["1"]


def test_an_address_is_kept_only_where_there_is_one(tmp_path):
    path = put(
        tmp_path / "d.jsonl",
        '{"text": "storm", "url": "https://x.org/ 1"}\n{"text": "lima", "url": "no"}\n',
    )
    plain, with_urls = read(path), read(path, columns={"url": "url"})
    assert plain.urls == [] and with_urls.urls == ["https://x.org/1", ""]
    assert (plain.digests() == with_urls.digests()).all(axis=1).tolist() == [False, True]
    documents.write(tmp_path / "a.h5", with_urls)
    assert documents.read(tmp_path / "a.h5").urls == with_urls.urls
    documents.write(tmp_path / "b.h5", plain)
    assert documents.read(tmp_path / "b.h5").urls == [] and with_urls.select([1]).urls == [""]


def test_stop_words_of_languages(tmp_path):
    path = put(tmp_path / "d.jsonl", '{"text": "Das Wetter ist über Lima sehr schön"}\n')
    assert read(path, tokens={"stop_words": "german"}).vocabulary == ["lima", "schön", "wetter"]
    refused("stop_words is 'klingon'", path, error=ConfigError, tokens={"stop_words": "klingon"})
    lists = stopwords.LANGUAGES.values()
    assert len(lists) == 65 and all(
        len(found) > 30 and found == set(map(str.lower, found)) for found in lists
    )


LOG = """2026-01-03 10:00:01,250 ERROR disk seven fails
    at array.c:12

[2026-01-03T10:00:02Z] INFO disk seven is back
"""


def test_each_line_of_a_log_is_a_document(tmp_path):
    found = read(put(tmp_path / "app.log", LOG))
    assert found.ids == ["app.log:1", "app.log:2", "app.log:4"]
    assert found.titles == ["ERROR disk seven fails", "at array.c:12", "INFO disk seven is back"]
    times = [found.times[0], found.times[0], day("2026-01-03T10:00:02")]
    assert found.times.tolist() == times and times[0] == day("2026-01-03T10:00:01") + 250
    visit = '10.0.0.1 - - [03/Jan/2026:12:00:01 +0200] "GET /a HTTP/1.1" 200\n'
    for name, line in {
        "c": visit,
        "d": "<34>1 2026-01-03T10:00:01Z host\n",
        "e": "2026/01/03 10:00:01 [error]\n",
    }.items():
        assert read(put(tmp_path / f"{name}.log", line)).times.tolist() == [
            day("2026-01-03T10:00:01")
        ]
    begun = read(put(tmp_path / "b.log", "at array.c:12\n\n2026-01-03 10:00:01 disk fails\n"))
    assert begun.times.tolist() == [day("2026-01-03T10:00:01")] * 2 and begun.titles == [
        "at array.c:12",
        "disk fails",
    ]
    untimed = read(put(tmp_path / "c.log", "starting up\ndisk fails\n"))
    assert (untimed.times == documents.NO_TIME).all()


TSV = 'id\ttext\na\tthe 12" disk\nb\t"disk seven" fails\nc\tback\n'


def test_quotation_marks_that_enclose_nothing_have_a_way_out(tmp_path):
    path = put(tmp_path / "a.tsv", TSV)
    with pytest.raises(
        DataError, match=r"set options\.quoted: false if quotation marks are part of the text"
    ):
        read(path)
    found = read(path, quoted=False)
    assert found.ids == ["a", "b", "c"] and found.titles[:2] == [
        'the 12" disk',
        '"disk seven" fails',
    ]


def test_a_record_of_a_table_that_is_wrong_is_unreadable_and_the_next_one_is_read(tmp_path):
    lines = [
        "id,text",
        "a,one",
        "b,two,too many",
        'c,"open',
        "d,four",
        'e,"two\nlines"',
        "f,\xe9",
        ",,",
        "g,seven",
    ]
    rows = list(formats.rows(put(tmp_path / "a.csv", "\n".join(lines).encode("latin-1"))))
    assert [row["id"] for _, row in rows if isinstance(row, dict)] == ["a", "d", "e", "g"]
    reasons = {place: str(row) for place, row in rows if not isinstance(row, dict)}
    assert list(reasons) == ["line 3", "line 4", "line 8"]
    assert reasons["line 3"] == "it has 3 fields, the header 2" and reasons["line 4"].startswith(
        "it is not CSV"
    )
    assert reasons["line 8"].startswith("it is not UTF-8 (byte 0xe9)")


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_lines_above_a_clear_header_are_skipped(tmp_path, sign):
    rows = [
        ["id", "time", "text"],
        *([f"a{n}", f"2026-01-0{n}", "the disk fails"] for n in range(1, 6)),
    ]
    table = "\n".join(sign.join(row) for row in rows)
    for above in ("Report of January\n\nby the desk\n", f"Report{sign}2026\n"):
        found = list(formats.rows(put(tmp_path / "a.csv", above + table)))
        assert len(found) == 5 and found[0][1] == dict(zip(rows[0], rows[1], strict=True))
    headless = "\n".join(sign.join(row) for row in rows[1:])
    wrong = [
        row
        for _, row in formats.rows(
            put(tmp_path / "b.csv", f"title\n{headless}"), formats.Form(delimiter=sign)
        )
    ]
    assert len(wrong) == 5 and set(map(str, wrong)) == {"it has 3 fields, the header 1"}
    one = "id,text\n" + "a\n"
    assert [str(row) for _, row in formats.rows(put(tmp_path / "c.csv", one))] == [
        "it has 1 field, the header 2"
    ]


def test_quotation_marks_behind_backslashes_are_read_where_only_so_all_rows_fit(tmp_path):
    lines = [
        "id,text",
        r'1,"the \"old\" disk"',
        r'2,"ends with \""',
        r'3,"in C:\\new\\"',
        '4,"plain"',
    ]
    found = [row["text"] for _, row in formats.rows(put(tmp_path / "a.csv", "\n".join(lines)))]
    assert found == ['the "old" disk', 'ends with "', r"in C:\\new\\", "plain"]
    kept = ["id,text", r'1,"a ""path"" of C:\new\"', "2,b"]
    rows = list(formats.rows(put(tmp_path / "b.csv", "\n".join(kept))))
    assert rows[0][1]["text"] == 'a "path" of C:\\new\\'
    mixed = [*lines, '5,"one "two" three"']
    reasons = [
        str(row)
        for _, row in formats.rows(put(tmp_path / "c.csv", "\n".join(mixed)))
        if not isinstance(row, dict)
    ]
    assert any("in a quoted field twice, not after a backslash" in reason for reason in reasons)


def test_a_line_that_is_too_long_is_unreadable(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "MAX_LINE", 50)
    path = put(
        tmp_path / "a.jsonl", '{"text": "a"}\n{"text": "' + 200 * "x" + '"}\n{"text": "b"}\n'
    )
    rows = list(formats.rows(path))
    assert [place for place, _ in rows] == ["line 1", "line 2", "line 3"] and "MiB" in rows[1][1]


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (["1,a,x", "2,b,y", "3,c,z"], ["row", "id", "text"]),  # row names of R and pandas
        (["a,x,", "b,y,", "c,z,"], ["id", "text", "column 3"]),  # a delimiter at each end
        (["a,x,more", "b,y,words", "c,z,here"], ["id", "text", "column 3"]),
    ],
)
def test_a_column_without_a_name_gets_one(tmp_path, rows, names):
    found = list(formats.rows(put(tmp_path / "a.csv", "\n".join(["id,text", *rows]))))
    assert [list(row) for _, row in found] == [names] * 3 and next(
        row["text"] for _, row in found
    ) == "x"


def test_spaces_before_quotation_marks_are_skipped_where_only_so_the_rows_fit(tmp_path):
    lines = ["id, text", 'a, "one, two"', 'b, "three"', "c, four"]
    found = [row for _, row in formats.rows(put(tmp_path / "a.csv", "\n".join(lines)))]
    assert [row[" text"] for row in found] == ["one, two", "three", " four"]


def test_a_null_of_a_database_is_no_text(tmp_path):
    path = put(tmp_path / "a.tsv", "id\ttext\n1\t\\N\n2\train \\N\n")
    assert [row["text"] for _, row in formats.rows(path)] == ["", "rain \\N"]


def test_parts_of_a_line_that_a_container_runtime_cut_are_one_document(tmp_path):
    times = [f"2026-01-05T10:00:0{n}.123456789Z" for n in range(4)]
    cri = [f"{times[0]} stdout P disk ", f"{times[1]} stderr F other", f"{times[1]} stdout P:x is ",
           f"{times[2]} stdout F full", f"{times[3]} stdout P the end"]  # fmt: skip
    rows = [row for _, row in formats.rows(put(tmp_path / "a.log", "\n".join(cri)))]
    assert [row["text"] for row in rows] == ["other", "disk is full", "the end"]
    assert [row["time"] for row in rows] == [times[1], times[0], times[3]]


def test_parts_of_a_line_of_docker_are_one_document(tmp_path):
    def line(log, stream="stdout"):
        return json.dumps(
            {"log": log, "stream": stream, "time": "2026-01-05T10:00:00Z"}, separators=(",", ":")
        )

    given = [
        line("first\n"),
        line("disk "),
        line("other\n", "stderr"),
        "no json",
        line("full\n"),
        line("last\n"),
    ]
    path = put(tmp_path / "a.jsonl", "\n".join(given))
    found = [(place, row["log"]) for place, row in formats.rows(path) if isinstance(row, dict)]
    assert found == [
        ("line 1", "first\n"),
        ("line 3", "other\n"),
        ("line 2", "disk full\n"),
        ("line 6", "last\n"),
    ]
    bare = [line(f"message {n}") for n in range(3)]  # as other programs write them
    assert len(list(formats.rows(put(tmp_path / "b.jsonl", "\n".join(bare))))) == 3
    assert (
        len(
            list(
                formats.rows(
                    put(tmp_path / "c.jsonl", "\n".join([line("x" * (1 << 14)), line("end\n")]))
                )
            )
        )
        == 1
    )


def test_rows_after_an_open_quotation_mark_are_read(tmp_path):
    """The open quotation mark includes all following lines in its record."""
    path = tmp_path / "a.csv"
    path.write_text('id,text\na,rain\nb,"sun\nc,wind\nd,snow\n')
    (_, first), (place, fault), *others = formats.rows(path)
    assert first == {"id": "a", "text": "rain"}
    assert place == "line 3" and "not CSV" in fault
    assert [(place, row["id"]) for place, row in others] == [("line 4", "c"), ("line 5", "d")]
