"""Times of log lines, and lines without a time."""

from datetime import UTC, datetime

import numpy as np
import pytest

from odl.corpora import fields, logs

LATEST = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("2026-01-05T10:00:00Z ERROR disk", "ERROR disk"),
        ("2026-01-05 10:00:00,000 INFO disk", "INFO disk"),
        ("\x1b[2m2026-01-05T10:00:00Z\x1b[0m \x1b[31mERROR\x1b[0m disk", "ERROR disk"),
        ("[2026-01-05 10:00:00 +0000] [12] [INFO] disk", "[12] [INFO] disk"),
        ("I, [2026-01-05T10:00:00.000000 #123]  INFO -- : disk", "I, #123]  INFO -- : disk"),
        ("ERROR 2026-01-05T10:00:00Z disk", "ERROR disk"),
        ("[ERROR] 2026-01-05 10:00:00 disk", "[ERROR] disk"),
        ("<34>1 2026-01-05T10:00:00Z host disk", "host disk"),
        ("<34>Jan  5 10:00:00 host disk", "host disk"),
        ("I0105 10:00:00.000000  12 f.go:1] disk", "12 f.go:1] disk"),
        ("I20260105 10:00:00.000000 12 f.cc:1] disk", "12 f.cc:1] disk"),
        ("01-05 10:00:00.000  1 2 E disk", "1 2 E disk"),
        ("2026/01/05 10:00:00 [error] 1#1: disk", "[error] 1#1: disk"),
        ("[Mon Jan 05 10:00:00.000000 2026] [core:error] disk", "[core:error] disk"),
        ("05-Jan-2026 10:00:00.000 SEVERE disk", "SEVERE disk"),
        ("Jan 05, 2026 10:00:00 AM com.example disk", "com.example disk"),
        ("05.01.2026 10:00:00 disk", "disk"),
        ("1767607200.000 345 disk", "345 disk"),
        ("[1767607200] disk", "disk"),
        ("2026-01-05 11:00:00 CET [1] LOG: disk", "[1] LOG: disk"),
        ('level=info time="2026-01-05T10:00:00Z" msg=disk', "level=info msg=disk"),
        ("2026-01-05T10:00:00Z stderr F disk", "disk"),
        ('2026-01-05T10:00:00Z {"msg": "disk", "n": 1}', "disk"),
        ('{"ts": 1767607200.0, "msg": "disk"}', "disk"),
        ("web_1  | 2026-01-05T10:00:00Z disk", "disk"),
        ('1.2.3.4 - - [05/Jan/2026:10:00:00 +0000] "GET /"', '1.2.3.4 - - "GET /"'),
        ("Jan 05 2026 10:00:00 host CEF:0|disk", "host CEF:0|disk"),
        ("Date:   Mon Jan 5 10:00:00 2026 +0000", "Date:   Mon Jan 5 10:00:00 2026 +0000"),
        ("# Time: 2026-01-05T10:00:00.123Z", "# Time: 2026-01-05T10:00:00.123Z"),
        ("SET timestamp=1767607200;", "SET ;"),
        ("\u200e[05.01.26, 10:00:00] Ann: disk", "Ann: disk"),
        ("5/1/26, 10:00\u202fAM - Ann: disk", "Ann: disk"),
    ],
)
def test_times_of_usual_loggers(line, text):
    ((_, row),) = logs.rows([("line 1", line)], LATEST)
    assert row["text"] == text
    time = fields.parse_time(row["time"], "day-first")
    assert time // 1000 == int(np.datetime64("2026-01-05T10:00", "s").astype(np.int64))


@pytest.mark.parametrize(
    "line", ["at com.Pump(Pump.java:42)", "17:00 disk", "2026-01-05 disk", "12345678901 a"]
)
def test_what_is_no_time(line):
    assert logs.split(line, LATEST) == (None, line)


def test_a_year_is_that_of_the_name_or_of_the_last_change():
    for latest, year in (
        (logs.latest_of("2026-01-05"), 2026),
        (logs.latest_of("2026-01"), 2026),
        (None, None),
    ):
        time, text = logs.split("Jan  6 10:00:00 disk", latest)
        assert (time, text) == (
            (f"{year}-01-06 10:00:00", "disk") if year else (None, "Jan  6 10:00:00 disk")
        )
    assert (
        logs.split("Dec 31 10:00:00 disk", logs.latest_of("2026-01-05"))[0] == "2025-12-31 10:00:00"
    )
    assert (
        logs.split("Feb 29 10:00:00 disk", logs.latest_of("2026-01-05"))[0] == "2024-02-29 10:00:00"
    )
    assert logs.latest_of(None, 86400) == datetime(1970, 1, 3, tzinfo=UTC)
    assert logs.latest_of("2026-01-05", 86400) == datetime(2026, 2, 6, tzinfo=UTC)
    assert (
        logs.split("Jan  3 10:00:00 disk", logs.latest_of("2025-12-29"))[0] == "2026-01-03 10:00:00"
    )


@pytest.mark.parametrize(
    ("lines", "first"),
    [
        (["# begin", "Jan  5 10:00:00 host disk", "  at a"], "Jan 5 10:00:00"),
        (["I0105 10:00:00.000000  12 f.go:1] disk"], "0105 10:00:00.000000"),
        (["01-05 10:00:00.000  1 2 E disk"], "01-05 10:00:00.000"),
        (["2026-01-05 10:00:00 disk", "Jan  5 10:00:00 host disk"], None),
        (["disk"], None),
    ],
)
def test_logs_whose_times_have_no_year(lines, first):
    assert logs.lacks_year(lines) == first


def test_lines_without_a_time_have_one_of_their_neighbours():
    lines = ["# a heading", "2026-01-05T10:00:00Z a", "  at b", "2026-01-05T11:00:00Z c"]
    found = [row["time"] for _, row in logs.rows(zip("1234", lines, strict=True), None)]
    assert found == ["2026-01-05T10:00:00Z"] * 3 + ["2026-01-05T11:00:00Z"]


def test_a_format_comes_first():
    lines = [("line 1", "5. Feb um 10:00 | disk"), ("line 2", "2026-01-05T10:00:00Z disk")]
    found = [
        (row["time"], row["text"]) for _, row in logs.rows(lines, LATEST, ("%d. %b um %H:%M",))
    ]
    assert found == [("2026-02-05T10:00:00", "disk"), ("2026-01-05T10:00:00Z", "disk")]


def test_times_behind_words_are_read_if_the_first_line_has_one():
    lines = [
        "http 2026-01-05T10:00:00Z lb disk",
        "12:M 05 Jan 2026 11:00:00 * pump",
        "due on 2027-01-05 10:00:00 a",
    ]
    found = [
        (row["time"], row["text"]) for _, row in logs.rows(zip("123", lines, strict=True), None)
    ]
    assert found[:2] == [
        ("2026-01-05T10:00:00Z", "http lb disk"),
        ("05 Jan 2026 11:00:00", "12:M * pump"),
    ]
    found = [
        row["time"]
        for _, row in logs.rows(zip("12", ["2026-01-05T10:00:00Z a", lines[2]], strict=True), None)
    ]
    assert found == ["2026-01-05T10:00:00Z"] * 2


def test_labelled_values_have_their_time():
    lines = [
        "time:[05/Jan/2026:10:00:00 +0000]\thost:a\treq:GET",
        "host:b\ttime:2026-01-05T10:00:01Z\treq:PUT",
        "no time:out",
    ]
    found = [
        row for _, row in logs.rows(((f"line {n}", line) for n, line in enumerate(lines)), None)
    ]
    assert [row["time"] for row in found] == [
        "05/Jan/2026:10:00:00 +0000",
        "2026-01-05T10:00:01Z",
        "2026-01-05T10:00:01Z",
    ]
    assert found[0]["text"].startswith("host:a") and found[2]["text"] == "no time:out"
