"""The reader of user files: files, fields, and the error message of each defect."""

import csv
import gzip
import json
import os
import re
import sys
from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odl import corpora
from odl.corpora import formats
from odl.errors import ConfigError, DataError
from odl.files import documents
from odl.files.documents import NO_TIME

ROWS = [
    {
        "id": "a",
        "time": "1998-04-06T12:00:00Z",
        "text": "Storm over Lima",
        "topics": "storm; peru",
        "title": "One",
    },
    {
        "id": "b",
        "time": "1998-04-07",
        "text": "Quiet day,\nno storm",
        "topics": "calm",
        "title": "",
    },
    {"id": "c", "time": "", "text": "", "topics": "", "title": ""},
]
EXPECTED = {
    "ids": ["a", "b", "c"],
    "times": [891864000000, 891907200000, NO_TIME],
    "topics": [("storm", "peru"), ("calm",), ()],
    "titles": ["One", "Quiet day, no storm", ""],
    "vocabulary": ["day", "lima", "quiet", "storm"],
    "counts": [[0, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 0]],
}


def write(path, rows):
    """Write rows in the format of the file's extension."""
    name = path.name
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path
    opener = gzip.open if name.endswith(".gz") else open
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        if ".csv" in name:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def lines(path, *texts):
    path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return path


def read(*sources, **options):
    return corpora.read("documents", sources, options)


def refused(said, *sources, error=DataError, **options):
    with pytest.raises(error, match=said) as caught:
        read(*sources, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["d.jsonl", "d.jsonl.gz", "d.csv", "d.csv.gz", "d.parquet", "D.JSONL"]
)
def test_every_form_gives_the_same_documents(tmp_path, name):
    documents = read(write(tmp_path / name, ROWS))
    found = {key: getattr(documents, key) for key in EXPECTED}
    found |= {"times": documents.times.tolist(), "counts": documents.counts.toarray().tolist()}
    assert found == EXPECTED
    assert documents.files == [name] * 3


def test_folder_is_read_by_name_and_the_rest_ignored(tmp_path):
    write(tmp_path / "b.jsonl", ROWS[:1])
    write(tmp_path / "a.csv", ROWS[1:2])
    write(tmp_path / ".hidden.jsonl", ROWS[2:])
    lines(tmp_path / "README.md", "not a document")
    (tmp_path / "sub.jsonl").mkdir()
    documents = read(tmp_path)
    assert documents.ids == ["b", "a"] and documents.files == ["a.csv", "b.jsonl"]
    assert read(tmp_path / "b.jsonl", tmp_path / "a.csv").ids == ["a", "b"]


def test_a_further_file_leaves_the_earlier_documents_as_they_are(tmp_path):
    write(tmp_path / "1.jsonl", ROWS[:2])
    before = read(tmp_path).digests()
    write(tmp_path / "2.jsonl", [{"id": "z", "text": "aardvark storm zebra"}])
    assert (read(tmp_path).digests()[:2] == before).all()


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.parquet"])
def test_counts_in_every_form(tmp_path, name):
    counts = [{"new york": 2, "Storm": 1, "zero": 0}, {"Storm": 3}]
    rows = [
        {"id": str(row), "counts": json.dumps(value) if ".csv" in name else value}
        for row, value in enumerate(counts)
    ]
    documents = read(write(tmp_path / name, rows))
    assert documents.vocabulary == ["Storm", "new_york"]
    assert documents.counts.toarray().tolist() == [[1, 2], [3, 0]]


def test_counts_in_a_parquet_map(tmp_path):
    kind = pa.map_(pa.string(), pa.int32())
    table = pa.table(
        {"counts": pa.array([[("x", 2), ("y", 1)], []], type=kind), "topics": [["t", "u"], []]}
    )
    pq.write_table(table, tmp_path / "d.parquet")
    documents = read(tmp_path)
    assert documents.counts.toarray().tolist() == [[2, 1], [0, 0]]
    assert documents.topics == [("t", "u"), ()]


def test_text_and_counts_may_be_mixed(tmp_path):
    path = lines(
        tmp_path / "d.jsonl",
        '{"text": "storm storm"}',
        "",
        '{"counts": {"storm": 5}, "text": "ignored"}',
    )
    documents = read(path)
    assert documents.counts.toarray().tolist() == [[2], [5]]
    assert documents.ids == ["d.jsonl:1", "d.jsonl:3"]


def test_ids_without_a_column_are_places(tmp_path):
    path = lines(tmp_path / "d.csv", "text", '"storm', 'over two lines"', "lima")
    assert read(path).ids == ["d.csv:2", "d.csv:4"]
    pq.write_table(pa.table({"text": ["storm", "lima"]}), tmp_path / "d.parquet")
    assert read(tmp_path / "d.parquet").ids == ["d.parquet:1", "d.parquet:2"]


def test_column_names_are_configurable(tmp_path):
    row = {
        "doc": 7,
        "when": 891864000,
        "body": "storm",
        "tags": "a b|c",
        "head": "Head",
        "text": "not this",
    }
    columns = {"id": "doc", "time": "when", "text": "body", "topics": "tags", "title": "head"}
    documents = read(write(tmp_path / "d.jsonl", [row]), columns=columns, separator="|")
    assert (
        documents.ids == ["7"]
        and documents.topics == [("a b", "c")]
        and documents.titles == ["Head"]
    )
    assert documents.vocabulary == ["storm"] and documents.times.tolist() == [891864000000]
    columns = {"text": "body", "title": None, "time": None}
    assert read(tmp_path / "d.jsonl", columns=columns).times.tolist() == [NO_TIME]


def test_authors_are_read_where_they_are_asked_for(tmp_path):
    table = write(
        tmp_path / "a.jsonl",
        [{"id": 1, "text": "x y", "user": {"login": "ada"}}, {"id": 2, "text": "z y"}],
    )
    mail = tmp_path / "b.eml"
    mail.write_text("From: Ada <a@x.org>\nSubject: rain\nMessage-ID: <m>\n\nfalls\n")
    assert not read(table, mail).authors
    found, plain = read(table, mail, columns={"author": "user"}), read(table, mail)
    assert found.authors == ["ada", "", "Ada <a@x.org>"]
    assert [
        a == b for a, b in zip(found.digests().tolist(), plain.digests().tolist(), strict=True)
    ] == [False] * 3
    documents.write(tmp_path / "d.h5", found)
    assert (
        documents.read(tmp_path / "d.h5").authors
        == found.authors
        == found.select([0, 1, 2]).authors
    )


def test_sources_are_read_where_they_are_named(tmp_path):
    table = write(
        tmp_path / "a.jsonl",
        [
            {"id": 1, "text": "rain falls", "forum": "news"},
            {"id": 2, "text": "sun shines", "forum": None},
        ],
    )
    assert not read(table).sources
    found = read(table, columns={"source": "forum"})
    assert found.sources == ["news", ""] and found.files == ["a.jsonl"] * 2
    documents.write(tmp_path / "d.h5", found)
    assert documents.read(tmp_path / "d.h5").sources == found.sources
    mail = tmp_path / "b.eml"
    mail.write_text("From: Ada <a@x.org>\nSubject: rain\nMessage-ID: <m>\n\nfalls\n")
    assert read(mail, columns={"source": "author"}).sources == ["Ada <a@x.org>"]
    feed = tmp_path / "c.xml"
    items = "<item><title>rain</title><category>weather</category></item><item><title>sun</title></item>"
    feed.write_text(f'<rss version="2.0"><channel>{items}</channel></rss>')
    assert read(feed, columns={"source": "category"}).sources == ["weather", ""]


def test_separator_and_delimiter(tmp_path):
    path = lines(tmp_path / "d.csv", "id;text;topics", "a;storm;x, y", "b;lima;z")
    assert read(path, delimiter=";", separator=",").topics == [("x", "y"), ("z",)]
    assert read(path, delimiter=";", separator=None).topics == [("x, y",), ("z",)]


def test_long_fields_and_byte_order_mark(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(b"\xef\xbb\xbfid,text\r\na," + b"storm " * 100_000 + b"\r\n")
    limit = csv.field_size_limit()
    assert read(path).counts.toarray().tolist() == [[100_000]]
    assert csv.field_size_limit() == limit
    (tmp_path / "d.jsonl").write_bytes(b'\xef\xbb\xbf{"id": "a", "text": "storm"}')
    assert read(tmp_path / "d.jsonl").ids == ["a"]


def test_half_a_surrogate_pair_can_be_stored(tmp_path):
    from odl.files import documents as store

    path = lines(
        tmp_path / "d.jsonl", r'{"id": "a\ud800", "text": "storm \ud800", "topics": ["t\ud800"]}'
    )
    store.write(tmp_path / "d.h5", read(path, tokens={"pattern": r"\S+"}))
    assert store.read(tmp_path / "d.h5").ids == ["a?"]


def test_parquet_asks_for_what_reads_it(tmp_path, monkeypatch):
    pq.write_table(pa.table({"text": ["storm"]}), tmp_path / "d.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match=r"d\.parquet is a Parquet file.*pip install pyarrow"):
        read(tmp_path)


def test_two_parquet_columns_of_one_name_are_refused(tmp_path):
    pq.write_table(pa.table([["storm"], ["lima"]], names=["text", "text"]), tmp_path / "d.parquet")
    refused(
        r"d\.parquet cannot be read as Parquet \(two columns have the same name\)",
        tmp_path / "d.parquet",
    )


def test_parquet_times(tmp_path):
    moment = datetime(1998, 4, 6, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    columns = {
        "date": pa.array([date(1998, 4, 6), None], pa.date32()),
        "zone": pa.array([moment, None], pa.timestamp("us", tz="Europe/Berlin")),
        "plain": pa.array([datetime(1998, 4, 6, 12), None], pa.timestamp("ns")),
        "number": pa.array([891864000, None], pa.int64()),
        "real": pa.array([891864000.5, float("nan")], pa.float64()),
    }
    pq.write_table(pa.table({**columns, "text": ["storm", "lima"]}), tmp_path / "d.parquet")
    found = {name: read(tmp_path, columns={"time": name}).times.tolist() for name in columns}
    assert found == {
        "date": [891820800000, NO_TIME],
        "zone": [891856800123, NO_TIME],
        "plain": [891864000000, NO_TIME],
        "number": [891864000000, NO_TIME],
        "real": [891864000500, NO_TIME],
    }


def test_many_parquet_rows_come_in_order(tmp_path):
    n_rows = 2500  # more than one batch of rows
    pq.write_table(
        pa.table({"id": range(n_rows), "text": ["storm"] * n_rows}), tmp_path / "d.parquet"
    )
    assert read(tmp_path).ids == [str(number) for number in range(n_rows)]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"id": "b"}', "line 2: it has neither text nor counts, but the columns id"),
        ('{"id": "b", "text": null}', "neither text nor counts"),
        ('{"id": "b", "text": 5}', "the text is a number"),
        ('{"id": "b", "counts": [1, 2]}', "not {token: count}"),
        ('{"id": "b", "counts": {"x": -1}}', "the count -1 of 'x' is not an integer"),
        ('{"id": "b", "counts": {"x": 0.5}}', "0.5 of 'x' is not an integer"),
        ('{"id": "b", "counts": {"x": true}}', "the count True"),
        ('{"id": "b", "counts": {"x": "1"}}', "the count '1'"),
        ('{"id": "b", "counts": {"x": 2147483648}}', "not an integer from 0 to 2147483647"),
        ('{"id": "b", "counts": {"x": 2147483647, " x": 1}}', "add up to more than"),
        ('{"id": "b", "counts": {" ": 1}}', "the token ' ' is not a word"),
        ('{"id": "b", "counts": "{"}', "the counts are not JSON"),
        ('{"id": "b", "text": "x", "time": "soon"}', "the time 'soon' is not in a known form"),
        ('{"id": "b", "text": "x", "topics": {"a": 1}}', "neither a string nor a list"),
        ('{"id": "b", "text": "x", "topics": [null]}', "the topic None is not a string"),
        (
            '{"id": "b", "text": "x", "topics": true}',
            "d.jsonl line 2: the topics are 'True', neither",
        ),
        (
            '{"id": "b", "text": "x", "topics": ["t", false]}',
            "d.jsonl line 2: the topic False is not a string",
        ),
        ('{"id": "b", "text": "x", "topics": [1e999]}', "the topic inf is not a string"),
        ('{"text": "x"}', "line 2: it has no id"),
        ('{"id": "", "text": "x"}', "it has no id"),
        ('{"id": "  ", "text": "x"}', "the id is empty"),
        ('{"id": 1.5, "text": "x"}', "the id 1.5 is neither"),
        ('{"id": "b", "text": "x"', "it is not JSON"),
        (
            "{'id': 'b', 'text': 'x'}",
            "it is Python's repr(), which json.dumps() would write as JSON",
        ),
        ('["b", "x"]', "it is a JSON list"),
        ("[" * 100_000, "it is not JSON (nested too deeply)"),
    ],
)
def test_bad_row_is_named_by_file_and_line(tmp_path, row, said):

    path = lines(tmp_path / "d.jsonl", '{"id": "a", "text": "storm"}', row)
    refused(r"d\.jsonl line 2", path)
    refused(re.escape(said), path)


def test_id_in_a_later_row_only(tmp_path):
    path = lines(tmp_path / "d.jsonl", '{"text": "storm"}', '{"id": "b", "text": "x"}')
    refused("it has an id, but the first row has none", path)


def test_a_row_that_repeats_is_read_once(tmp_path):
    path = lines(
        tmp_path / "d.jsonl",
        *['{"id": "a", "text": "storm"}', '{"id": " a ", "text": "storm"}'] * 2,
    )
    found = corpora.read("documents", [path])
    assert (
        found.ids == ["a"]
        and found.repeats == (3, 0)
        and str(found.repeats) == "3 repeated rows left out"
    )


@pytest.mark.parametrize(
    ("changed", "n_documents", "repeats"), [("keep", 1, (1, 2)), ("new", 2, (2, 0))]
)
def test_a_row_that_changed_follows_the_rule(tmp_path, changed, n_documents, repeats):
    one, other = '{"id": "a", "text": "storm"}', '{"id": "a", "text": "storm", "title": "T"}'
    found = corpora.read(
        "documents", [lines(tmp_path / "d.jsonl", one, other, one, other)], {"changed": changed}
    )
    assert found.ids[0] == "a" and len(found) == n_documents and found.repeats == repeats
    assert all(re.fullmatch("a~[0-9a-f]{8}", identity) for identity in found.ids[1:])


def test_the_rule_of_rows_that_changed_is_one_of_two(tmp_path):
    path = lines(tmp_path / "d.jsonl", '{"text": "x"}')
    refused("changed is 'last'; expected one of keep, new", path, changed="last", error=ConfigError)


def test_wrong_columns_name_what_is_there(tmp_path):
    path = lines(tmp_path / "d.csv", "id,Texts", "a,storm")
    refused(
        r"d\.csv has the columns Texts, id \(nearest: 'Texts'\); expected a column 'text' or a column 'counts'",
        path,
    )
    path = lines(tmp_path / "d.csv", "id,text", "a,storm")
    refused(
        r"columns id, text \(nearest: 'text'\); expected a column 'texts'",
        path,
        columns={"title": "texts"},
    )
    path = lines(tmp_path / "d.jsonl", '{"text": "storm", "Time": "1998"}')
    refused("expected a column 'time'; rename the column in the file, or set columns.time", path)
    assert len(read(path, columns={"time": "Time"})) == 1


def test_damaged_files(tmp_path, rng):
    refused("absent does not exist", tmp_path / "absent")
    refused(
        "is not a file of documents; expected files ending in .jsonl",
        lines(tmp_path / "d.doc", "x"),
    )
    refused("has no files of documents", tmp_path)
    refused("no source was given")
    for name in ("e.jsonl", "e.csv", "e.parquet", "e.csv.gz"):
        (tmp_path / name).write_bytes(b"")
        refused(rf"e\.{name[2:]} (contains no documents|cannot be read)", tmp_path / name)
    refused(r"h\.csv contains no documents", lines(tmp_path / "h.csv", "id,text"))
    (tmp_path / "l.csv").write_bytes("id,text\na,caf\xe9\n".encode("latin-1"))
    refused("is not UTF-8 \\(byte 0xe9\\)", tmp_path / "l.csv")
    (tmp_path / "l.jsonl").write_bytes(b'{"text": "ok"}\n{"text": "caf\xe9"}\n')
    refused(r"l\.jsonl line 2: it is not UTF-8 \(byte 0xe9\)", tmp_path / "l.jsonl")
    refused(r"two columns 'id'", lines(tmp_path / "c.csv", "id,id,text", "a,b,c"))
    path = lines(tmp_path / "d.csv", "Labels,Labels.2,Labels,text,Labels", "a,b,c,d,e")
    assert [*next(formats.rows(path))[1]] == ["Labels", "Labels.2", "Labels.3", "text", "Labels.4"]
    refused(
        r"line 3: it has 3 fields, the header 2",
        lines(tmp_path / "c.csv", "id,text", "a,b", "a,b,c"),
    )
    refused(r"line 3: it is not CSV", lines(tmp_path / "c.csv", "id,text", "a,b", 'c,"d" e'))
    noise = [{"id": str(row), "text": "storm " + rng.bytes(50).hex()} for row in range(300)]
    for name in ("t.jsonl.gz", "t.csv.gz", "t.parquet"):
        whole = write(tmp_path / name, noise).read_bytes()
        for length in (10, len(whole) // 2, len(whole) - 4):
            (tmp_path / name).write_bytes(whole[:length])
            refused(rf"t\.{name[2:]} cannot be read", tmp_path / name)


def test_two_files_of_one_name(tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "d.jsonl", [{"text": folder}])
    refused("has the same name as", tmp_path / "x", tmp_path / "y")


def test_letters_of_every_script_are_words(tmp_path):
    path = lines(
        tmp_path / "d.jsonl", '{"text": "\\u043f\\u0440\\u0438\\u0432\\u0435\\u0442 na\\u00efve"}'
    )
    assert len(read(path).vocabulary) == 2


def test_text_without_a_token_needs_another_pattern(tmp_path):
    path = lines(tmp_path / "d.jsonl", '{"text": "12 345"}')
    refused("none of the 1 documents contains a token", path)
    assert len(read(path, tokens={"pattern": r"\w\w+"}).vocabulary) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": {"topic": "x"}}, "did you mean 'topics'"),
        ({"columns": {"topics": 3}}, "columns.topics is 3"),
        ({"columns": ["id"]}, "a map"),
        ({"separator": ""}, "separator is ''"),
        ({"delimiter": "||"}, "delimiter is '||'"),
        ({"delimiter": '"'}, "delimiter is"),
        ({"tokens": {"pattern": r".+"}}, "tokens without white space"),
    ],
)
def test_wrong_options(tmp_path, options, said):
    refused(said, lines(tmp_path / "d.jsonl", '{"text": "a storm"}'), error=ConfigError, **options)


def test_numbers_as_topics_are_kept_as_text(tmp_path):
    topics = ["7", "1.5", "[3.0, 3, 2.5]", '["x", 0]']
    path = lines(
        tmp_path / "d.jsonl", *(f'{{"text": "storm", "topics": {value}}}' for value in topics)
    )
    assert read(path, separator=".").topics == [("7",), ("1.5",), ("3", "2.5"), ("x", "0")]


def test_file_name_that_is_not_utf8(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    try:
        with open(os.path.join(os.fsencode(folder), b"caf\xe9.jsonl"), "wb") as file:
            file.write(b'{"text": "storm"}\n')
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    found = read(folder)
    assert found.files == ["caf?.jsonl"] and found.ids == ["caf?.jsonl:1"]
    documents.write(tmp_path / "out.h5", found)
    assert documents.read(tmp_path / "out.h5").ids == found.ids


@pytest.mark.parametrize("blank", ["\n", "\r\n\r\n", "  \n\n", "\ufeff\n"])
def test_blank_lines_before_the_header(tmp_path, blank):
    path = tmp_path / "d.csv"
    path.write_bytes((blank + "id,text\n\na,storm\n").encode())
    assert read(path).ids == ["a"]
    path.write_bytes((blank + "id,text\na\n").encode())
    refused("it has 1 field, the header 2", path)
