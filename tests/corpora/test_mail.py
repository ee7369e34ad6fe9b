"""Messages of mail: their boundaries, parts, headers and dates."""

import base64
import io
import time
from collections import Counter

import numpy as np
import pytest

from odl import corpora
from odl.corpora import encodings, mail
from odl.corpora.checks import Unreadable
from odl.files import contents

MAIL = b"""From a@b Fri Jul  8 12:08:34 2011
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
Date: Fri, 8 Jul 2011 12:08:34 +0200
Message-ID: <1@x>
Content-Type: multipart/mixed; boundary=B

--B
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Wetter sch=F6n
>From hier
--B
Content-Type: text/html

<b>Wetter</b>
--B
Content-Type: text/plain
Content-Disposition: attachment; filename=a.txt

attached
--B--

From a@b Fri Jul  8 12:09:34 2011
Message-ID: <1@x>

once more

From a@b Sat Jul  9 12:09:34 2011
Subject: later
Date: nonsense

ohne
"""
MESSAGE = b"Message-ID: <%d@x>\nDate: Mon, 5 Jan 2026 10:00:00 +0000\nSubject: s%d\n\nrain %d\n"
MESSAGES = [MESSAGE % (n, n, n) for n in range(4)]


def rows(data, encoding=encodings.UTF8):
    return [row for _, row in mail.mail_rows(io.BytesIO(data), "a.mbox", encoding)]


def text(head, body=b"", encoding=encodings.UTF8):
    """Return the text of one message without the title."""
    head, body = (part if isinstance(part, bytes) else part.encode() for part in (head, body))
    (row,) = rows(head + b"\n\n" + body, encoding)
    return row["title"], row["text"][len(row["title"]) :].strip()


def parts(kind, *bodies):
    """Return the bytes of a message with several parts, each with its headers."""
    body = "".join(f"--B\n{one}\n" for one in bodies)
    return text(f"Content-Type: multipart/{kind}; boundary=B", f"{body}--B--\n")[1]


PLAIN, HTML = "Content-Type: text/plain\n\n", "Content-Type: text/html\n\n"


def test_mail_is_taken_apart(tmp_path):
    (tmp_path / "m.mbox").write_bytes(MAIL)
    found = corpora.read("documents", [tmp_path / "m.mbox"], {})
    assert found.ids == ["1@x", "m.mbox:3"] and found.titles == ["Grüße", "later"]
    days = [
        np.datetime64(day, "ms").astype(int)
        for day in ("2011-07-08T10:08:34", "2011-07-09T12:09:34")
    ]
    assert found.times.tolist() == days  # the second of its "From " line
    words = [{found.vocabulary[column] for column in found.counts[[row]].indices} for row in (0, 1)]
    assert words == [{"grüße", "hier", "schön", "wetter"}, {"later", "ohne"}]
    assert str(found.repeats) == "1 row left out whose id occurred before with other content"


@pytest.mark.parametrize(
    "line",
    [
        "From a@example.org Mon Jan  5 10:00:00 2026", "From a@example.org", "From a@example.org 2026-01-05", "From ",
        "From", "From - Mon Jan 05 10:00:00 2026", "From a@example.org 2026-01-05T10:00:00Z", "From - ",
        "From a at example.org  Mon Jan  5 10:00:00 2026", "From 1@xxx Mon Jan 05 10:00:00 +0000 2026",
        "From MAILER-DAEMON Mon Jan  5 10:00:00 CET 2026",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_that_begin_messages(line, end):
    data = b"".join(f"{line}\n".encode() + message + b"\n" for message in MESSAGES)
    found = rows(data.replace(b"\n", end.encode()))
    assert [row["id"] for row in found] == ["0@x", "1@x", "2@x", "3@x"]
    assert found[1]["text"].split() == ["s1", "rain", "1"]


@pytest.mark.parametrize(
    "body",
    [
        "From here on, it rains.\n\nFrom there on, too.\nIt pours.", "From 10:00 to 12:00 on 5 May 2026\nwe meet",
        "text\n\nFrom the FAQ\n\nAnswer: no", ">From a@b Mon Jan  5 10:00:00 2026\nSubject: quoted",
    ],
)  # fmt: skip
def test_lines_of_text_that_begin_with_from(body):
    data = b"From a@b\n" + MESSAGES[0] + f"{body}\n\n".encode() + b"From a@b\n" + MESSAGES[1]
    found = rows(data)
    assert [row["id"] for row in found] == ["0@x", "1@x"]
    assert found[0]["text"].split() == ["s0", "rain", "0", *body.replace(">From", "From").split()]


def test_a_message_that_holds_messages_has_a_length():
    inner = b"line\n\nFrom b@c Mon Jan  5 10:00:00 2026\nSubject: inner\n\nx\n"
    first = b"From a Mon Jan  5 10:00:00 2026\nSubject: one\nContent-Length: %d\n\n" + inner
    last = b"\nFrom a Mon Jan  5 10:00:00 2026\nSubject: two\n\ny\n"
    for length, titles in (
        (len(inner), ["one", "two"]),
        (9999, ["one", "inner", "two"]),
        (3, ["one", "inner", "two"]),
    ):
        assert [row["title"] for row in rows(first % length + last)] == titles
    assert [row["title"] for row in rows(first % len(inner))] == ["one"]


@pytest.mark.parametrize(
    ("begin", "time"),
    [
        (b"\xef\xbb\xbf", None), (b"\n\r\n", None), (b"\xef\xbb\xbf\n", None),
        (b">From a@b Mon Jan  5 10:00:00 2026\n", "2026-01-05T10:00:00+00:00"),
    ],
)  # fmt: skip
def test_what_stands_above_a_message(begin, time):
    (row,) = rows(
        begin + b"Subject: s\n\nrain\n\nFrom a sha Mon Sep 17 00:00:00 2001\nSubject: [PATCH]\n"
    )
    assert row["title"] == "s" and row["time"] == time and "PATCH" in row["text"]


def test_messages_of_apple_mail():
    data = b"Subject: s\n\nrain\n"
    tail = b'<?xml version="1.0"?>\n<plist version="1.0"><dict>%s</dict></plist>\n'
    received = b"<key>date-received</key>\n\t<integer>1767607200</integer>"
    for dates, moment in ((b"", None), (received, "2026-01-05T10:00:00+00:00")):
        assert rows(b"%d     \n" % len(data) + data + tail % dates) == [
            {"text": "s\nrain\n", "title": "s", "time": moment}
        ]


def test_mail_in_utf_16_and_files_of_nothing():
    assert rows("\nSubject: s\n\nräin".encode("utf-16"))[0]["text"] == "s\nräin\n"
    assert rows(b"") == rows(b"\n \n") == []
    (row,) = rows(b"\x00\xff")
    assert isinstance(row, Unreadable) and row == "the message cannot be read (it has no headers)"


@pytest.mark.parametrize(
    ("head", "time"),
    [
        ("Date: Mon, 5 Jan 2026 10:00:00 +0100 (CET)", "2026-01-05T09:00:00+00:00"),
        ("Date: Mon, (a comment) 5 Jan 26 10:00 GMT", "2026-01-05T10:00:00+00:00"),
        ("Date: 2026-01-05 10:00:00", "2026-01-05T10:00:00+00:00"),
        ("Date: Sat, 32 Jan 2026 10:00:00 GMT\nReceived: from a\n\tby b; Mon, 5 Jan 2026 10:00:00 -0500", "2026-01-05"),
        ("Received: from a; 32 Jan\nReceived: from a; Mon, 5 Jan 2026 10:00:00 GMT", "2026-01-05T10"),
        ("X: y", "2026-01-04T08:00:00+00:00"),
        ("Date: Sat, 32 Jan 2026 10:00:00 GMT", "2026-01-04T08:00:00+00:00"),
    ],
)  # fmt: skip
def test_dates_come_from_the_first_header_that_has_one(head, time):
    data = b"From a@b Sun Jan  4 08:00:00 2026\nSubject: s\n" + head.encode() + b"\n\nrain\n"
    assert rows(data)[0]["time"].startswith(time)


def test_a_message_without_a_date_has_what_its_date_says():
    assert rows(b"Subject: s\n\nrain")[0]["time"] is None
    assert rows(b"Subject: s\nDate: 32 Jan\n\nrain")[0]["time"] == "32 Jan"


def test_the_text_of_messages_in_parts():
    assert parts("alternative", PLAIN + "rain", HTML + "<p>snow</p>") == "rain"
    assert parts("alternative", PLAIN + "\xa0\n-- ", HTML + "<p>snow</p>") == "<p>snow</p>"
    notice = "Your program shows no HTML."
    assert (
        parts("alternative", PLAIN + notice, HTML + "<p>" + "snow " * 20)
        == ("<p>" + "snow " * 20).strip()
    )
    assert (
        parts("alternative", HTML + "<br>&nbsp;", "Content-Type: text/calendar\n\nBEGIN:VCALENDAR")
        == ""
    )
    assert (
        parts("mixed", HTML + "<p>snow falls</p>", PLAIN + "footer") == "<p>snow falls</p>\nfooter"
    )
    assert parts("mixed", PLAIN + "snow falls", HTML + "<p>snow falls</p>") == "snow falls"
    assert parts("related", HTML + "<img>snow", PLAIN + "aside") == "<img>snow"
    assert (
        parts("signed", PLAIN + "rain", "Content-Type: application/pgp-signature\n\nxyz") == "rain"
    )
    inner = "Content-Type: message/rfc822\n"
    assert (
        parts("mixed", PLAIN + "see", inner + "\nSubject: hail\n\nhail falls")
        == "see\nhail\nhail falls"
    )
    away = "Content-Disposition: attachment\n"
    assert parts("mixed", PLAIN + "see", inner + away + "\nSubject: hail\n\nhail falls") == "see"
    assert (
        parts("mixed", PLAIN, inner + away + "\nSubject: hail\n\nhail falls") == "hail\nhail falls"
    )
    assert (
        parts("report", PLAIN + "not sent", inner + "\nSubject: hail\n\nhail falls") == "not sent"
    )
    assert parts("digest", "\nSubject: a\n\nrain", "\nSubject: b\n\nsnow") == "a\nrain\nb\nsnow"
    packed = base64.b64encode(b"Subject: hail\n\nhail falls").decode()
    assert (
        parts("mixed", f"{inner}Content-Transfer-Encoding: base64\n\n{packed}")
        == "hail\nhail falls"
    )
    assert text("Content-Type: multipart/mixed", "rain")[1] == "rain"  # without a boundary


def test_files_are_text_where_there_is_no_other():
    named = 'Content-Type: text/plain; name="a.txt"\n'
    away = "Content-Disposition: attachment\n"
    assert parts("mixed", PLAIN + "rain", named + "\nlog", named + away + "\nlog") == "rain"
    assert parts("mixed", named + "\nrain", PLAIN + "footer") == "rain\nfooter"
    assert parts("mixed", PLAIN, named + away + "\nlog") == "log"
    assert text(f"{named}{away[:-1]}", "rain")[1] == "rain"


def test_lines_that_programs_break_are_joined():
    head = "Content-Type: text/plain; format=flowed; delsp=yes"
    assert text(head, "wor \nld here\n> a \n-- \nme")[1] == "world here\n> a \n-- \nme"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (base64.b64encode(b"rain and snow") + b"\n____\nThe list\nhelp", "rain and snow\n____\nThe list\nhelp"),
        (base64.b64encode(b"rain and snow!")[:-3], "rain and sno"),
        (base64.b64encode(b"rain ") + b"\n" + base64.b64encode(b"snow"), "rain snow"),
        (b"!" + base64.b64encode(b"rain and snow" * 9), "rain and snow" * 9),
        (b"It rains, it is no base64.", "It rains, it is no base64."),
    ],
)  # fmt: skip
def test_base64_with_other_characters(body, said):
    assert text("Content-Transfer-Encoding: base64", body)[1].rstrip("w") == said.rstrip("w")


@pytest.mark.parametrize(
    ("says", "written", "title"),
    [
        ("us-ascii", "utf-8", "Größe"), ("iso-8859-1", "cp1252", "“Café” – it’s"), ("gb2312", "gbk", "朱镕基 说 陶喆"),
        ("shift_jis", "cp932", "髙橋さんは①番です"), ("ks_c_5601-1987", "cp949", "똠방각하"), ("gb2312", "gbk", "吕"),
        ("unknown-8bit", "cp1252", "Größe"), ("utf8mb4", "utf-8", "Größe"),
        ("x-gbk", "gbk", "陶喆"), ("cp-850", "cp850", "Größe"),
        ("iso-8859-9", "cp1254", "“ığdır”"), ("tis-620", "cp874", "“ฝน”"), ("big5", "cp950", "碁裏"),
        ("iso-2022-jp", "iso2022_jp", "日本"),
    ],
)  # fmt: skip
def test_headers_and_bodies_that_are_not_what_they_say(says, written, title):
    data = title.encode(written)
    coded = b"=?%s?B?%s?=" % (says.encode(), base64.b64encode(data))
    kind = b"Content-Type: text/plain; charset=%s\n" % says.encode()
    assert text(kind + b"Subject: " + coded, data) == (title, title)
    assert text(kind + b"Subject: " + data, data) == (title, title)


def test_encoded_words_that_split_characters_and_stand_without_spaces():
    euro = "=?utf-8?B?4oI=?= =?UTF-8?Q?=AC_ab?=x=?iso-8859-1*de?q?=FC?= =?gb2312?b?!?= y"
    assert text(f"Subject: {euro}")[0] == "€ abxü y"


def test_characters_in_no_encoding_are_counted():
    (row,) = rows(b"Subject: s\nContent-Type: text/plain; charset=gbk\n\nrain \x81\xff")
    assert row["replaced"] == row["text"].count("\ufffd") == 2
    assert text("Subject: s", "дождь".encode("koi8-r"), encodings.Encoding("koi8-r"))[1] == "дождь"


@pytest.mark.slow
def test_a_damaged_message_leaves_the_others(monkeypatch):
    deep = b"From a@b\nSubject: s\n" + b"".join(
        b"Content-Type: multipart/mixed; boundary=B%d\n\n--B%d\n" % (n, n) for n in range(2000)
    )
    found = rows(b"From a@b\n" + MESSAGES[0] + b"\n" + deep + b"\n\nFrom a@b\n" + MESSAGES[1])
    assert [isinstance(row, Unreadable) for row in found] == [False, True, False]


def test_a_long_mailbox_takes_linear_time():
    data = b"".join(
        b"From a@b\n" + MESSAGES[n % 4] + b"From here\n" * 99 + b"\n" for n in range(300)
    )
    begin = time.process_time()
    assert Counter(row["id"] for row in rows(data)) == {f"{n}@x": 75 for n in range(4)}
    assert time.process_time() - begin < 2


def test_messages_between_marks_of_mmdf():
    mark, message = (
        b"\1\1\1\1\n",
        b"From: a@b\nMessage-ID: <%d@x>\nSubject: pump\n\nFrom here on, it rains.\n",
    )
    data = b"".join(mark + message % n + mark for n in range(3))
    assert [row["id"] for row in rows(data)] == ["0@x", "1@x", "2@x"]
    assert {row["text"] for row in rows(data)} == {"pump\nFrom here on, it rains.\n"}
    assert contents.kind_in(data) == "mail"
