"""Parsing of the fields of a document: valid forms, their meanings, and invalid values."""

import re
from datetime import UTC, date, datetime

import numpy as np
import pytest

from odl.corpora import fields, times
from odl.errors import ConfigError
from odl.files.documents import NO_TIME


def milliseconds(text):
    return int(np.datetime64(text, "ms").astype(np.int64))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1998-04-06", 891820800000),
        ("1998-04", "1998-04-01"),
        ("1998-04-06T12:30:15.123456", "1998-04-06T12:30:15.123"),
        ("1998-04-06 12:30:15+02:00", "1998-04-06T10:30:15"),
        ("19980406T123015Z", "1998-04-06T12:30:15"),
        ("1969-12-31T23:59:59.9995", -1),
        (datetime(1998, 4, 6, tzinfo=UTC), 891820800000),
        (date(1998, 4, 6), 891820800000),
        (1998, "1998-01-01"),
        ("1998", "1998-01-01"),
        (19980406, 891820800000),
        (" 19980406 ", 891820800000),
        (891820800, 891820800000),
        ("891820800.25", 891820800250),
        (-891820800.25, -891820800250),
        (891820800123, 891820800123),
        (100000000000, 100000000000),
        (99999999999, 99999999999000),
        ("0001-01-01T00:00:01Z", "0001-01-01T00:00:01"),
        ("0001-01-01T00:00:00Z", NO_TIME),
        ("0000-00-00 00:00:00", NO_TIME),
        ("20260105100000", "2026-01-05T10:00"),
        (202601051000, "2026-01-05T10:00"),
        ("20260105100000123", "2026-01-05T10:00:00.123"),
        (883612800000, "1998-01-01"),
        (1767607200123456, "2026-01-05T10:00:00.123"),
        ("1767607200123456789", "2026-01-05T10:00:00.123"),
        (1.767607200123e18, "2026-01-05T10:00:00.123"),
        ("1.7676072E9", "2026-01-05T10:00"),
        ("46027.5", "2026-01-05T12:00"),
        ("46027.416666666664", "2026-01-05T10:00"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999"),
        (None, NO_TIME),
        ("", NO_TIME),
        (float("nan"), NO_TIME),
    ],
)
def test_times(value, expected):
    assert fields.parse_time(value) == (
        milliseconds(expected) if isinstance(expected, str) else expected
    )


@pytest.mark.parametrize(
    "value",
    [
        *("2026/13/1", "2026年4月31日", "2026/4/3 25:00", "年月日", "2026. 4"),
        *(
            "yesterday",
            "1998-13",
            "06.04.1998",
            12,
            0,
            10**20,
            12345,
            "1e99",
            "99999999",
            True,
            [1998],
            "0000",
        ),
        *("0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", 1 - 10**14),
    ],
)
def test_wrong_times(value):
    with pytest.raises(ValueError, match="the time"):
        fields.parse_time(value)


@pytest.mark.parametrize(
    ("value", "dates", "expected"),
    [
        ("25.12.2026 14:30", None, "2026-12-25T14:30"),
        ("03/04/26 1:05 pm", "month-first", "2026-03-04T13:05"),
        ("12/25/2026, 12:30 AM", None, "2026-12-25T00:30"),
        ("03/04/2026", "day-first", "2026-04-03"),
        ("3-3-69", None, "1969-03-03"),
        ("3-3-68", None, "2068-03-03"),
        ("12.12.1999", None, "1999-12-12"),
        ("13.12.1999 12:05 p.m.", None, "1999-12-13T12:05"),
        ("2026.04.03", None, "2026-04-03"),
        ("2026/4/3 9:05", None, "2026-04-03T09:05"),
        ("2026-4-3", None, "2026-04-03"),
        ("2026. 4. 3.", None, "2026-04-03"),
        ("2026年4月3日 10:11", None, "2026-04-03T10:11"),
        ("2026년 4월 3일", None, "2026-04-03"),
        ("２０２６／０４／０３", None, "2026-04-03"),
        ("\u200f٢٠٢٦-٠٤-٠٣ ١٠:١١", None, "2026-04-03T10:11"),
        ("۲۰۲۶/۰۴/۰۳", None, "2026-04-03"),
        ("०३.०४.२०२६", "day-first", "2026-04-03"),
        ("2026-04-03 10:11 GMT", None, "2026-04-03T10:11"),
        ("Jan 05, 2026, 10:00:00 PM", None, "2026-01-05T22:00"),
        ("Jan 5, 2026 12:00\u202fAM", None, "2026-01-05"),
        ("Mon, 05 Jan 2026 05:59:00 p.m.", None, "2026-01-05T17:59"),
        ("2026-01-05 12:00:00 AM", None, "2026-01-05"),
        ("2026/01/05 PM 10:00", None, "2026-01-05T22:00"),
        ("5th of January 2026 at 10 PM", None, "2026-01-05T22:00"),
        ("2026-01-05 10:00:00.123456789 +0200 CEST", None, "2026-01-05T08:00:00.123"),
        ("2026-01-05 10:00:00 +0000 UTC m=+0.01", None, "2026-01-05T10:00"),
        ("2026-01-05T10:00:00+01:00[Europe/Berlin]", None, "2026-01-05T09:00"),
        ("2026-07-05T10:00:00[Europe/Berlin]", None, "2026-07-05T08:00"),
        (
            "Mon Jan 05 2026 10:00:00 GMT+0200 (Central European Summer Time)",
            None,
            "2026-01-05T08:00",
        ),
        ("/Date(1767607200000+0200)/", None, "2026-01-05T10:00"),
        ("2026-01-05T23:59:60Z", None, "2026-01-05T23:59:59.999"),
        ("2026-01-05T24:00:00Z", None, "2026-01-06"),
        ("Mon Jan 05 10:00:00 +0200 2026", None, "2026-01-05T08:00"),
        ("Mon Jan  5 10:00:00 CET 2026", None, "2026-01-05T09:00"),
        ("Sunday, 06-Nov-94 08:49:37 JST", None, "1994-11-05T23:49:37"),
        ("05 Jan 2026", None, "2026-01-05"),
        ("January 2026", None, "2026-01-01"),
        ("24-02-2015 9.42", None, "2015-02-24T09:42"),
        ("05 01 2026 9h30", "day-first", "2026-01-05T09:30"),
        ("10:00:00 PM 1/5/2026", "month-first", "2026-01-05T22:00"),
        ("Mon 25/01/2026 10:00", None, "2026-01-25T10:00"),
        ("2026:01:05 10:00:00", None, "2026-01-05T10:00"),
        ("2026-01-05-10.00.00.123456", None, "2026-01-05T10:00:00.123"),
        ("20260105-100000", None, "2026-01-05T10:00"),
        ("05/Jan/2026:10:00:00 +0000", None, "2026-01-05T10:00"),
        ("2026/04/03 10:11", None, "2026-04-03T10:11"),
        ("2026-04-03 10:11:12 UTC", None, "2026-04-03T10:11:12"),
        ("Mon, 13 Apr 1987 10:00:01 +0200", None, "1987-04-13T08:00:01"),
        ("Fri Jul  8 12:08:34 2011", None, "2011-07-08T12:08:34"),
    ],
)
def test_dates(value, dates, expected):
    assert fields.parse_time(value, dates) == milliseconds(expected)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("2026-01-05 10:00:00 IST", "the zone IST, which has several meanings or none"),
        ("Jan  5 10:00:00", "has no year"),
        ("2026-01-05 25:00", "the clock '25:00', which does not exist"),
        ("2026-01-05T10:00[Europe/Atlantis]", "unknown zone"),
        ("am Montag", "--time-format"),
    ],
)
def test_a_time_that_cannot_be_read_is_refused_with_the_reason(value, reason):
    with pytest.raises(ValueError, match=reason):
        fields.parse_time(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1. März 2015", "2015-03-01"),
        ("Montag, 5. Jänner 2026 14:05 Uhr", "2026-01-05T14:05"),
        ("5 janv. 2026 à 10:00", "2026-01-05T10:00"),
        ("mar. 1er déc. 2026 14h30", "2026-12-01T14:30"),
        ("5 de enero de 2026", "2026-01-05"),
        ("5 de maio de 2026 às 14:30", "2026-05-05T14:30"),
        ("5 января 2026 г. 14:30:05", "2026-01-05T14:30:05"),
        ("ma 5. tammikuuta 2026 klo 14.05", "2026-01-05T14:05"),
        ("5 stycznia 2026", "2026-01-05"),
        ("2026年1月5日 14时05分", "2026-01-05T14:05"),
        ("2026年1月5日(月) 14:05", "2026-01-05T14:05"),
        ("2026年1月5日 下午2:05", "2026-01-05T14:05"),
        ("2026년 1월 5일 오전 2:05", "2026-01-05T02:05"),
        ("46027,25", "2026-01-05T06:00"),
    ],
)
def test_dates_of_other_languages(value, expected):
    assert fields.parse_time(value) == milliseconds(expected)


# "listopada" is October in Croatian and November in Polish; the last text is too long
@pytest.mark.parametrize(
    "value",
    ["5 hello 2026", "46027,25,1", "lundi", "5 listopada 2026", f"{'Monday ' * 40}5 January 2026"],
)
def test_words_that_are_no_month_make_no_date(value):
    with pytest.raises(ValueError, match="the time"):
        fields.parse_time(value)


def test_a_format_of_strptime_reads_what_no_other_form_fits():
    formats = times.check_formats(["%d.%m.%y um %H", "%Y%d%m"])
    assert fields.parse_time("05.01.26 um 9", None, formats) == milliseconds("2026-01-05T09:00")
    assert fields.parse_time(20260501, None, formats) == milliseconds("2026-01-05")
    assert fields.parse_time("2026-01-05T09:00:00Z", None, formats) == milliseconds(
        "2026-01-05T09:00"
    )
    with pytest.raises(
        ValueError, match=r"'05\.01\.26' does not fit time_format '%d\.%m\.%y um %H', '%Y%d%m'"
    ):
        fields.parse_time("05.01.26", "day-first", formats)
    with pytest.raises(ConfigError, match=r"time_format is '%Q'.*correct '%Q'"):
        times.check_formats("%Q")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[31mdisk\x1b[0m \x1b[1;32mfull\x1b[m", "disk full"),
        ("a\x1b[2Kb\x1b[10Cc", "a b c"),
        ("\x1b]8;;https://example.org\x07here\x1b]8;;\x1b\\ now", "here now"),
        ("\x1b]0;title of a window\nnext", "0;title of a window\nnext"),
        ("\x9b31mdisk\x9b0m ü", "disk ü"),
        ("\x1b(Bdisk\x1b=\x1b", "disk"),
        ("^[[31mdisk^[[0m \\x1b[1mfull\\u001b[0m #033[32mup\\033[0m", "disk full up"),
        ("^[a-z]+ [31mdisk] #033 \\x1b", "^[a-z]+ [31mdisk] #033 \\x1b"),
    ],
)
def test_escape_sequences_of_terminals_are_no_text(text, plain):
    assert fields.parse_text(text) == plain


@pytest.mark.parametrize("value", ["01/02/2026", "12.1.26"])
def test_a_date_of_two_readings_needs_the_option(value):
    with pytest.raises(
        ValueError, match="may begin with the day or the month: set the option dates"
    ):
        fields.parse_time(value)
    assert fields.parse_time(value, "day-first") != fields.parse_time(value, "month-first")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "the vector is not JSON"),
        ([], "not a list of numbers"),
        ([1, None], "not a list of numbers"),
        ([True, 2], "not a list of numbers"),
        ([1, 2], "has 2 numbers, earlier vectors 3"),
        ([1, 2, 1e60], "not finite"),
    ],
)
def test_vectors_that_cannot_be_used(value, text):
    with pytest.raises(ValueError, match=text):
        fields.parse_vector(value, 3 if value else None)


def test_a_vector_may_be_a_list_or_its_text():
    for value in ([1, 2.5, -3], (1, 2.5, -3), "[1, 2.5, -3]"):
        found = fields.parse_vector(value, 3)
        assert found.dtype == np.float32 and found.tolist() == [1.0, 2.5, -3.0]


@pytest.mark.parametrize(
    ("value", "address"),
    [
        (" https://example.org/a\n b ", "https://example.org/ab"),
        ("HTTP://example.org", "HTTP://example.org"),
        *[
            (value, "")
            for value in (
                "ftp://example.org",
                "javascript:alert(1)",
                "example.org",
                "",
                None,
                float("nan"),
            )
        ],
    ],
)
def test_an_address_is_one_of_the_web(value, address):
    assert fields.parse_url(value) == address


@pytest.mark.parametrize(("value", "identity"), [(" a \n b\t", "a b"), (0, "0"), (-7, "-7")])
def test_an_id_is_one_line(value, identity):
    assert fields.parse_id(value) == identity


@pytest.mark.parametrize("value", [True, 1.5, None, ["a"], " \n"])
def test_what_is_no_id(value):
    with pytest.raises(ValueError, match="the id"):
        fields.parse_id(value)


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        ({"new york": 2, "new  york": 1, "rain": 0}, {"new_york": 3}),
        ([["rain", 2], ["snow", None], ["rain", 1.0]], {"rain": 3}),
        ('{"rain": 2147483647}', {"rain": 2147483647}),
        ({}, {}),
    ],
)
def test_counts_of_one_word_add_up(value, counts):
    assert fields.parse_counts(value) == counts


@pytest.mark.parametrize(
    ("value", "topics"),
    [
        ("a; b ;a;;", ("a", "b")),
        (["b", "a;b", " b"], ("b", "a;b")),
        (3, ("3",)),
        ([3.0, 2.5], ("3", "2.5")),
        ([{"name": "bug", "color": "red"}, "ui"], ("bug", "ui")),
        *[(value, ()) for value in (None, "", float("nan"), [], [" "])],
    ],
)
def test_topics_come_once_in_their_order(value, topics):
    assert fields.parse_topics(value, ";") == topics


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["It ", {"type": "bold", "text": "rains"}, "."], "It rains."),  # of chats
        (list("\x1b[31mRegen\x1b[0m fällt".encode()), "Regen fällt"),  # of journalctl -o json
    ],
)
def test_a_text_in_pieces_is_one(value, text):
    assert fields.parse_text(value) == text


@pytest.mark.parametrize("value", [[], [3, "a"], [{"name": "a"}], [300]])
def test_other_lists_are_no_text(value):
    with pytest.raises(ValueError, match="the text is a list, not a string"):
        fields.parse_text(value)


def test_without_a_separator_a_text_is_one_topic():
    assert fields.parse_topics("a; b", None) == ("a; b",)


def test_lines_broken_within_a_run_without_spaces_are_joined():
    long = "このパッケージには静的ライブラリと開発用ヘッダが含まれてい"
    assert fields.parse_text(f"{long}\nます。\n次の行") == f"{long}ます。\n次の行"
    assert fields.parse_text(f"{long}\r\nます。\r\n次の行") == f"{long}ます。\r\n次の行"
    for kept in (
        "東京\n大阪",
        f"件名：{long}\n差出人：田中",
        f"เรื่อง: {'ก' * 25}\nวันที่: 5",
        f"一、{long}\n二、{long}",
        f"{long}\n\nます",
        f"{long}\nLinux",
        f"{long}\n　ます",
        "a line of English\nand another",
    ):
        assert fields.parse_text(kept) == kept


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["rain falls", "sun shines"], "rain falls\nsun shines"),
        (["see ", {"type": "link", "text": "the river"}, " rising"], "see the river rising"),
    ],
)
def test_a_text_in_pieces(value, text):
    assert fields.parse_text(value) == text


def test_what_is_no_text_is_named_in_words():
    with pytest.raises(ValueError, match="the text is a list, not a string"):
        fields.parse_text(["rain", 7])


def test_dates_of_mail_are_read_at_once_as_in_the_long_way(monkeypatch):
    zones = (
        "+0000",
        "-0000",
        "+0530",
        "-0800",
        "+1400",
        "-0330",
        "+0075",
        "+9900",
        "GMT",
        "UT",
        "UTC",
        "EST",
        "",
    )
    clocks = (
        "00:00:00",
        "23:59:59",
        "24:00:00",
        "25:00:00",
        "12:30:60",
        "09:61:00",
        "9:05:00",
        "09:05",
    )
    days = (
        "Mon, 5 Jan 2026",
        "5 Jan 2026",
        "05 Feb 1997",
        "Tue, 31 Sep 2026",
        "29 Feb 2024",
        "Sun, 1 May 0001",
        "1 Jan 98",
    )
    texts = [f"{day} {clock} {zone}".strip() for day in days for clock in clocks for zone in zones]

    def read(text):
        try:
            return times.parse_time(text)
        except ValueError as error:
            return str(error)

    quick = [read(text) for text in texts]
    assert sum(times.MAIL_DATE.fullmatch(text) is not None for text in texts) > len(texts) // 2
    monkeypatch.setattr(times, "MAIL_DATE", re.compile("(?!)"))
    assert quick == [read(text) for text in texts]
