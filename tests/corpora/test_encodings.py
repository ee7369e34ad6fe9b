"""Decoding of bytes whose stated encoding may be wrong."""

import pytest

from odl.corpora import encodings
from odl.corpora.encodings import Encoding, codecs_of, decode


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("ISO_8859-1:1987", ["cp1252"]), ("latin1", ["cp1252"]), ("ansi_x3.4-1968", []), ("x-sjis", ["cp932"]),
        ("win-1251", ["cp1251"]), ("windows-874", ["cp874"]), ("unknown-8bit", []), ("zlib", []), ("idna", []),
        ("unicode_escape", []), ("a\0b", []), ("hz-gb-2312", ["hz"]), ("", []), (' "UTF8" ', ["utf-8"]),
    ],
)  # fmt: skip
def test_names_of_encodings(label, names):
    assert codecs_of(label) == names


@pytest.mark.parametrize(
    "label", ["us-ascii", "iso-8859-1", "windows-1252", "utf-16", "gb2312", "x-no", "", "utf-8"]
)
def test_utf_8_comes_first(label):
    for text in ("Der Pförtner meldet Überflutung", "洪水 in 北京", "plain"):
        assert decode(text.encode(), label) == decode(text.encode("utf-8-sig"), label) == (text, 0)


def test_other_bytes():
    assert (
        decode("日本".encode("utf-16"), "utf-8")
        == decode("日本".encode("utf-16"), "")
        == ("日本", 0)
    )
    assert decode("日本 a".encode("utf-16-be"), "utf-16be") == ("日本 a", 0)
    assert decode("日本".encode("iso2022_jp")) == ("日本", 0)
    assert decode(b"\x1b$B-!F|\x1b(B abc", "iso-2022-jp") == ("①日 abc", 0)
    assert decode("привет".encode("koi8-r"), "us-ascii", Encoding("koi8-r")) == ("привет", 0)
    assert decode(b"gr\xfc\xdfe") == ("grüße", 0)


def test_utf_8_with_a_few_other_bytes_is_not_read_as_another_encoding():
    assert decode("ä ö ü ".encode() + b"\xfc", "iso-8859-1") == ("ä ö ü ü", 0)
    assert decode("ä ö ü – ".encode() + b"it\x92s", "utf-8") == ("ä ö ü – it’s", 0)
    assert decode("ä ö ü".encode()[:-1], "utf-8") == ("ä ö \ufffd", 1)  # cut within a character
    assert decode("\ufffd ö ü".encode() + b"\x81", "utf-8")[1] == 1  # one was there before


def test_the_encoding_that_a_page_states():
    assert (
        encodings.meta_charset(b'<html><meta http-equiv=x content="text/html; charset=koi8-r">')
        == "koi8-r"
    )
    assert (
        encodings.meta_charset(b"<META CHARSET='gbk'>") == "gbk"
        and encodings.meta_charset(b"<p>charset=a") == ""
    )
