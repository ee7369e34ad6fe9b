"""JSON as programs write it."""

import json

import pytest

from odl.corpora import jsonrows
from odl.corpora.checks import Unreadable

ROWS = [
    {"id": "a", "text": 'rain, {in} "cellar" [1]'},
    {"id": "b", "text": "pump"},
    {"id": "c", "score": None},
]
LINES = [json.dumps(row) for row in ROWS]


def read(text):
    return list(
        jsonrows.rows(
            enumerate(map(jsonrows.replace_surrogates, text.splitlines(keepends=True)), start=1)
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(LINES),
        "\ufeff" + "\r\n".join(LINES) + "\r\n\r\n",
        ",\n".join(LINES),
        "".join(f"\x1e{line}\n" for line in LINES),
        "\n".join(json.dumps(row, indent=1) for row in ROWS),
        "[" + ",\n".join(LINES) + "]\n",
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        "".join(LINES),
        LINES[0] + LINES[1] + "\n" + LINES[2],
        json.dumps({"next": 2, "items": ROWS}),
        json.dumps({"items": ROWS}, indent=2),
    ],
)
def test_objects_are_found_however_they_are_laid_out(text):
    found = read(text)
    assert [row for _, row in found] == ROWS
    assert len({place for place, _ in found}) == 3


def test_places_are_lines_and_of_several_in_a_line_also_numbers():
    assert [place for place, _ in read(LINES[0] + LINES[1] + "\n" + LINES[2])] == [
        "line 1",
        "line 1.2",
        "line 2",
    ]
    assert [place for place, _ in read("\n".join(json.dumps(row, indent=1) for row in ROWS))][
        :2
    ] == [
        "line 1",
        "line 5",
    ]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"id": "x", "text": "cut off', "it is not JSON (Unterminated string"),
        ('{"id": "x", "text": ', "it is not JSON (Expecting value"),
        ("{'id': 'x'}", "Python's repr()"),
        ("[1, 2]", "it is a JSON list"),
        ("rain", "it is not JSON"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_line_that_is_no_object_is_unreadable_and_the_others_are_read(bad, reason, place):
    lines = [*LINES[:place], bad, *LINES[place:]]
    found = [row for _, row in read("\n".join(lines))]
    wrong = [row for row in found if isinstance(row, Unreadable)]
    assert (
        len(wrong) == 1
        and reason in wrong[0]
        and [row for row in found if row not in wrong] == ROWS
    )


def test_values_that_programs_write():
    found = read('{"a": NaN, "b": 1, "b": 2}\n{"a": "x \\ud83d y \\ud83d\\ude00 \\\\ud83d"}')
    assert found[0][1]["a"] != found[0][1]["a"] and found[0][1]["b"] == 2
    assert found[1][1] == {"a": "x ? y \U0001f600 \\ud83d"}


def test_values_inside_of_objects_are_columns_too():
    row = {
        "message": {"text": "rain", "by": {"name": "ann"}},
        "counts": {"rain": 1},
        "message.by.name": "own",
    }
    assert read(json.dumps(row))[0][1] == {**row, "message.text": "rain"}


def test_many_lines_that_never_close_take_linear_time():
    found = read("{\n" * 3000)
    assert len(found) == 3000 and all(isinstance(row, Unreadable) for _, row in found)


def test_hits_of_a_search_are_rows_and_a_document_with_a_list_inside_is_one():
    hits = [{"_id": str(n), "_source": {"message": "disk full"}} for n in range(2)]
    found = list(
        jsonrows.rows([(1, json.dumps({"took": 5, "hits": {"total": {"value": 2}, "hits": hits}}))])
    )
    assert [row["_source.message"] for _, row in found] == ["disk full"] * 2
    post = {"text": "disk full", "entities": {"urls": [{"url": "a"}]}}
    assert [row["text"] for _, row in jsonrows.rows([(1, json.dumps(post))])] == ["disk full"]


def test_tables_of_pandas_and_objects_by_id_are_rows():
    rows = [{"id": f"a{n}", "text": f"rain {n}", "labels": {"x": n}} for n in range(3)]
    columns = {name: {str(n): row[name] for n, row in enumerate(rows)} for name in rows[0]}
    split = {
        "columns": list(rows[0]),
        "index": [0, 1, 2],
        "data": [list(row.values()) for row in rows],
    }
    by_id = {row["id"]: {name: row[name] for name in ("text", "labels")} for row in rows}
    for table in (columns, split, by_id):
        for indent in (None, 1):
            found = read(json.dumps(table, indent=indent))
            assert found == [(f"object {n}", row) for n, row in enumerate(rows, start=1)]
    pandas = pytest.importorskip("pandas")
    for orient in ("columns", "split", "records", "table"):
        found = read(
            pandas.DataFrame({"id": ["a", "b"], "text": ["rain", "pump"]}).to_json(orient=orient)
        )
        assert [(row["id"], row["text"]) for _, row in found] == [("a", "rain"), ("b", "pump")]
    [(_, values)] = read(json.dumps([["a", "rain"], ["b", "pump"]]))
    assert isinstance(values, Unreadable) and 'orient="records", lines=True' in values
    for one in (
        {"user": {"name": "a"}, "message": {"text": "rain"}},
        {"columns": ["a", "b"], "data": [["x"]]},
    ):
        [(place, row)] = read(json.dumps(one))
        assert place == "line 1" and row.items() >= one.items()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            {"id": {"0": "a", "1": "b"}, "text": {"0": "x", "1": "y"}},
            "2 documents",
        ),  # pandas, by default
        (
            {"columns": ["id", "text"], "index": [0, 1], "data": [["a", "x"], ["b", "y"]]},
            "2 documents",
        ),
        ({"a": {"text": "x y"}, "b": {"text": "y z"}, "c": {"text": "z x"}}, "3 documents"),
        ({"hits": {"total": 2, "hits": [{"text": "a b"}, {"text": "b c"}]}}, "2 documents"),
        ([{"text": "a b"}], "a JSON list"),
        (7, "a JSON int"),
    ],
)
def test_a_value_of_several_documents_is_not_one(value, said):
    with pytest.raises(ValueError, match=said):
        jsonrows.document_of(value, ["text", "counts"])


@pytest.mark.parametrize(
    "value",
    [
        {"text": "a", "tags": [{"name": "x"}]},
        {"text": {"en": "a", "de": "b"}},
        {"message": {"text": "a"}},
        {},
    ],
)
def test_an_object_with_lists_or_objects_in_it_is_one_document(value):
    row = jsonrows.document_of(value, ["text", "message.text"])
    assert row.items() >= value.items()


def test_an_export_of_opentelemetry_has_its_records():
    def record(n, **more):
        return {
            "timeUnixNano": "1767571200000000000",
            "severityText": "INFO",
            "body": {"stringValue": f"text {n}"},
        } | more

    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    attributes = [
        {"key": "http.status", "value": {"intValue": "500"}},
        {"key": "a", "value": {"arrayValue": {"values": []}}},
    ]
    logs = [
        {"logRecords": [record(0), record(1, attributes=attributes)]},
        {"logRecords": [record(2, timeUnixNano="0")]},
    ]
    value = {"resourceLogs": [{"resource": resource, "scopeLogs": logs}]}
    text = json.dumps(value)
    found = list(jsonrows.rows(enumerate([text, text], 1)))
    assert [place for place, _ in found] == [f"line {n}.{at}" for n in (1, 2) for at in (1, 2, 3)]
    first, second, third = (row for _, row in found[:3])
    assert first == {
        "service.name": "shop",
        "time": "1767571200000000000",
        "body": "text 0",
        "severity": "INFO",
    }
    assert (
        second["http.status"] == "500" and second["a"] == '{"values": []}' and third["time"] is None
    )
    with pytest.raises(ValueError, match="3 documents"):
        jsonrows.document_of(value, ["body"])
    odd = [
        {"resourceLogs": value}
        for value in ([], [3], [{"scopeLogs": 7}], [{"scopeLogs": [{"logRecords": ["x"]}]}])
    ]
    assert list(jsonrows.rows(enumerate(map(json.dumps, odd), 1))) == []


def test_an_assignment_before_a_list_is_no_part_of_it():
    for lines in (
        ["window.YTD.tweets.part0 = [ {", '"id": 1 }, {"id": 2} ]'],
        ['const x = [{"id": 1}, {"id": 2}]'],
    ):
        assert [row["id"] for _, row in jsonrows.rows(enumerate(lines, 1))] == [1, 2]


def test_of_several_lists_the_one_with_sentences_holds_the_documents():
    value = {"events": [{"message": "disk is full"}, {"message": "ok"}], "streams": [{"name": "s"}]}
    assert [row["message"] for _, row in jsonrows.rows([(1, json.dumps(value))])] == [
        "disk is full",
        "ok",
    ]


def test_each_of_many_objects_in_one_line_has_its_own_location():
    """A document without an id is named by its location, so equal locations would lose documents."""
    places = [place for place, _ in read(json.dumps([{"text": str(n)} for n in range(120)]))]
    assert places[:2] == ["line 1", "line 1.2"]
    assert len(set(places)) == 120
