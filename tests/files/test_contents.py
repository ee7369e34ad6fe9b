"""Kinds that the first bytes of a file show."""

import pytest

from odl.files import contents

HEADERS = b"From: a@example.org\nSubject: Rain\nDate: Mon, 5 Jan 2026 10:00:00 +0000\n\nIt rains.\n"


@pytest.mark.parametrize(
    "begin",
    [
        b"", b"\n", b"\xef\xbb\xbf", b"From a@example.org Mon Jan  5 10:00:00 2026\n", b"From \r\n", b"From\n",
        b">From a@example.org 2026-01-05\n", b"From a at example.org  Mon Jan  5 10:00:00 2026\n", b"412       \n",
    ],
)  # fmt: skip
def test_mail(begin):
    assert contents.is_mail(begin + HEADERS) and contents.is_mbox(begin + HEADERS) == (
        b"From" in begin
    )
    assert contents.is_mail(begin + HEADERS.replace(b"\n", b"\r\n"))
    assert not contents.is_feed(begin + HEADERS)


@pytest.mark.parametrize(
    "head",
    [
        b"", b"From here on, it rains.\n\nAnd it pours.\n", b"From: the sky\nIt rains.\n", b"12\n13\n14\n",
        b"Name: odl\nVersion: 1\nLicense: BSD\n\nTo: do\n", b"time: 5\ntext: rain\n", b"---\ndate: 2026-01-05\n---\n",
        b"2026-01-05T10:00:00Z sshd: session opened\n" * 5, b'{"Subject": "x"}\n',
    ],
)  # fmt: skip
def test_what_is_no_mail(head):
    assert not contents.is_mail(head) and not contents.is_mbox(head)


@pytest.mark.parametrize(
    "text",
    [
        "<rss>", '<?xml version="1.0" encoding="utf-16"?>\n<!DOCTYPE rss [<!ENTITY a "b">]><rss version="2.0">',
        '\n\n<?xml version="1.0"?><?xml-stylesheet href="a>b"?>\n<!-- <html> --><feed xmlns="http://www.w3.org/2005/Atom">',
        '<rdf:RDF xmlns="http://purl.org/rss/1.0/">', '<atom:feed xmlns:atom="http://www.w3.org/2005/Atom">',
        '{"title": "News", "version": "https://jsonfeed.org/version/1.1", "items": []}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_feeds(text, encoding):
    assert contents.is_feed(text.encode(encoding))


@pytest.mark.parametrize(
    "text", ["", "<html>", "<?xml version='1.0'?><plist>", "<rssx>", '{"version": "1.1"}', "rss"]
)
def test_what_is_no_feed(text):
    assert not contents.is_feed(text.encode())


def test_json_over_several_lines_in_a_text_file():
    assert contents.kind_in(b'[\n{"text": "It rains"}', "text") == "jsonl"
    assert contents.kind_in(b'{\n"text": "It rains"}', "text") == "jsonl"
    assert contents.kind_in(b"[\nIt rains", "text") == "text"


@pytest.mark.parametrize("sign", ["\t", ";", ",", "|"])
def test_a_table_in_a_text_file(sign):
    rows = [["id", "time", "text"], ["1", "2026-01-05", "rain"], ["2", "2026-01-06", "sun"]]
    table = "\n".join(map(sign.join, rows)).encode()
    assert contents.kind_in(table, "text") == "csv"
    two_columns = "\n".join(sign.join(row[1:]) for row in rows).encode()
    assert contents.kind_in(two_columns, "text") == "csv"
    assert contents.kind_in(table + b"\n" + b"It rains.\n" * 20, "text") == "text"
