"""What a person may hand to `odl init` by mistake: one sentence, a status that says so, and nothing written.

Where there is something to go on with (no ids, equal documents, a long line) nothing is lost and
init says what it did.
"""

import csv
import json
import re

import pytest
import yaml

from odl import cli, corpora
from odl.errors import DataError

POSTS = [
    {"id": n, "time": f"2026-01-{n % 28 + 1:02d}", "text": f"Wetter um Köln herum, Ausgabe {n}"}
    for n in range(60)
]
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 4


def jsonl(path, rows, encoding="utf-8"):
    path.write_bytes(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(encoding)
    )
    return path


def table(path, rows, delimiter=",", encoding="utf-8"):
    with open(path, "w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def without(name):
    return [{key: value for key, value in row.items() if key != name} for row in POSTS]


def written(path, content):
    path.write_bytes(content)
    return path


REFUSED = {
    "ambiguous dates": (
        lambda at: table(at / "a.csv", [{**row, "time": "03/04/2026"} for row in POSTS]),
        r"such as 03/04/2026, may begin with the day or the month; .*--dates day-first or --dates month-first",
    ),
    "one document": (
        lambda at: jsonl(at / "a.jsonl", POSTS[:1]),
        "1 document; expected at least two",
    ),
    "an empty table": (lambda at: written(at / "a.csv", b""), r"a\.csv contains no documents"),
    "an empty file": (lambda at: written(at / "a.jsonl", b""), r"a\.jsonl contains no documents"),
    "a picture": (
        lambda at: written(at / "a.png", PNG),
        r"a\.png is not a text file; expected files ending in \.jsonl",
    ),
    "a picture by another name": (
        lambda at: written(at / "a.jsonl", PNG),
        "begins like a PNG image",
    ),
    "a spreadsheet": (
        lambda at: written(at / "a.csv", b"PK\x03\x04\x14\0\6\0"),
        "contains NUL bytes and control characters",
    ),
    "zeros": (
        lambda at: written(at / "a.jsonl", b'{"text": "a\0\0\0\0 b"}\n'),
        r"it is not JSON \(Invalid control character",
    ),
    "times with holes": (
        lambda at: jsonl(
            at / "a.jsonl",
            [{**row, "time": row["time"] if row["id"] % 3 else None} for row in POSTS],
        ),
        "20 of 60 rows have no value in the column 'time'; .*--time ''",
    ),
    "times in one of two files": (
        lambda at: (
            [
                jsonl(at / "a.jsonl", POSTS),
                jsonl(
                    at / "b.jsonl",
                    [{"id": f"b{row['id']}", "text": row["text"], "when": 1} for row in POSTS[:20]],
                ),
            ][0].parent
        ),
        r"20 of 80 rows have no value in the column 'time' \(\S*b\.jsonl has only the columns .*\); .*--time ''",
    ),
    "a line of 64 MiB": (
        lambda at: jsonl(at / "a.jsonl", [POSTS[0], {**POSTS[1], "text": "w" * (64 << 20)}]),
        "the line has more than 64 MiB",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_one_sentence_and_nothing_written(tmp_path, capsys, case):
    make, said = REFUSED[case]
    source = make(tmp_path)
    assert cli.main(["init", str(tmp_path / "mine"), str(source)]) == 1
    printed, error = capsys.readouterr()
    assert printed == "" and error.startswith("odl init: ") and error.count("\n") == 1
    assert re.search(said, error), error
    assert not (tmp_path / "mine").exists()


def understood(tmp_path, capsys, source, *options):
    """Return what init prints, and the documents that are read with what it wrote."""
    assert cli.main(["init", str(tmp_path / "mine"), str(source), *options]) == 0, (
        capsys.readouterr().err
    )
    text = (tmp_path / "mine" / "odl.yaml").read_text()
    assert len(text.splitlines()) <= 10
    return capsys.readouterr().out, corpora.read(
        "documents", [str(source)], yaml.safe_load(text)["options"]
    )


def test_mixed_encodings_are_named_by_line_and_read(tmp_path, capsys):
    lines = [
        json.dumps(row, ensure_ascii=False).encode("latin-1" if n == 4 else "utf-8")
        for n, row in enumerate(POSTS)
    ]
    source = written(tmp_path / "a.jsonl", b"\n".join(lines))
    said, found = understood(tmp_path, capsys, source)
    told = r"1 lines are not UTF-8; the first, .*a\.jsonl:5, becomes '.*Köln.*'; 59 other lines are UTF-8"
    assert re.search(f"{told}; --encoding sets another encoding", said)
    assert len(found) == 60 and "köln" in found.vocabulary
    with pytest.raises(DataError, match=r"a\.jsonl line 5: it is not UTF-8 .*option encoding"):
        corpora.read("documents", [str(source)], {})


def test_a_table_with_semicolons_is_told_or_named(tmp_path, capsys):
    source = table(tmp_path / "a.csv", POSTS, ";")
    said, found = understood(tmp_path, capsys, source)
    assert "delimiter ';'" in said and len(found) == 60
    with pytest.raises(DataError, match="set the option delimiter, such as delimiter: ';'"):
        corpora.read("documents", [str(source)], {"delimiter": ","})


def test_without_ids_file_and_line_are_the_ids(tmp_path, capsys):
    said, found = understood(tmp_path, capsys, jsonl(tmp_path / "a.jsonl", without("id")))
    assert "file and line are the ids" in said and found.ids[7] == "a.jsonl:8" and len(found) == 60


def test_ids_that_occur_twice(tmp_path, capsys):
    source = jsonl(
        tmp_path / "a.jsonl", [*POSTS, {**POSTS[5], "text": "another one of the same author"}]
    )
    said, found = understood(tmp_path, capsys, source)
    assert "'id' has repeated values; file and line are the ids" in said and len(found) == 61


def test_exports_that_overlap(tmp_path, capsys):
    folder = tmp_path / "exports"
    folder.mkdir()
    jsonl(folder / "a.jsonl", POSTS[:40])
    jsonl(folder / "b.jsonl", [*POSTS[30:], {**POSTS[5], "text": "corrected since"}])
    said, found = understood(tmp_path, capsys, folder)
    assert "'id', all different within a file" in said and len(found) == 60
    assert (
        "10 repeated rows left out; 1 row left out whose id occurred before with other content"
        in said
    )
    assert (
        "if an id occurs twice, the first row is used; options.changed: new also uses changed rows"
        in said
    )


def test_equal_documents_are_all_there_and_no_boilerplate(tmp_path, capsys):
    rows = [
        {**row, "text": "Title\nthe same words are here. And here they are again"} for row in POSTS
    ]
    said, found = understood(tmp_path, capsys, jsonl(tmp_path / "a.jsonl", rows))
    assert len(found) == 60 and "boilerplate" not in said


def test_a_text_of_many_megabytes_is_read_and_does_not_decide_the_language(tmp_path, capsys):
    rows = [
        {**row, "text": f"Das ist nicht mehr so, wie es war und wie es sein soll {row['id']}"}
        for row in POSTS
    ]
    rows[3]["text"] = "wort " * 200_000
    said, found = understood(tmp_path, capsys, jsonl(tmp_path / "a.jsonl", rows))
    assert (
        len(found) == 60
        and found.counts.max() == 200_000
        and "German" in said
        and "14 words each" in said
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "txt"])
def test_utf_16_is_read_with_its_mark(tmp_path, capsys, kind, encoding):
    make = {"jsonl": jsonl, "csv": table}.get(kind)
    if make:
        source = make(tmp_path / f"a.{kind}", POSTS, encoding=encoding)
    else:
        for n in range(3):
            written(tmp_path / f"{n}.txt", f"Köln, {n}\nEin Text".encode(encoding))
        source = tmp_path / "*.txt"
    _, found = understood(tmp_path, capsys, source)
    assert len(found) == (60 if make else 3) and "köln" in found.vocabulary
    assert not any("\0" in word or "\ufeff" in word for word in [*found.vocabulary, *found.titles])


def test_utf_16_that_nothing_tells_takes_the_option_and_damage_is_named(tmp_path):
    text = "文" * 30 + "。\n" + "字" * 30
    source = written(tmp_path / "a.txt", text.encode("utf-16-be"))
    assert corpora.read("documents", [str(source)], {"encoding": "utf-16-be"}).vocabulary == [
        "字" * 30,
        "文" * 30,
    ]
    written(source, "abcdef".encode("utf-16")[:-1])
    with pytest.raises(DataError, match=r"a\.txt is not valid UTF-16 \(truncated data\)"):
        corpora.read("documents", [str(source)], {})
