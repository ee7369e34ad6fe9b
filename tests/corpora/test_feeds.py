"""Items of feeds: roles by namespace, encodings, and feeds that are not XML."""

import io
import json

import numpy as np
import pytest

from odl import corpora
from odl.corpora import feeds
from odl.corpora.checks import Unreadable
from odl.corpora.encodings import UTF8, Encoding
from odl.errors import DataError

RSS = """<?xml version="1.0"?><rss xmlns:c="http://purl.org/rss/1.0/modules/content/"><channel><title>all</title>
<item><title>Storm &eacute;t&nbsp;al</title><link>https://x.org/1</link><guid>g1</guid>
<pubDate>Fri, 08 Jul 2011 12:08:34 GMT</pubDate><description>short</description></item>
<item><title>Two</title><link>javascript:x</link><pubDate>Fri, 08 Jul 2011 13:08:34 GMT</pubDate>
<description>short</description><c:encoded><![CDATA[whole words]]></c:encoded></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><id>urn:1</id><title>One</title>
<author><name>nobody</name></author><link rel="self" href="https://x.org/self"/><link href="https://x.org/a1"/>
<updated>2011-07-09T12:00:00Z</updated><published>2011-07-08T12:00:00Z</published>
<content type="xhtml"><div>bold<b>words</b></div></content></entry></feed>"""
NAMESPACES = (
    'xmlns:media="http://search.yahoo.com/mrss/" xmlns:content="http://purl.org/rss/1.0/modules/content/"'
    ' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:a="http://www.w3.org/2005/Atom" xmlns:dcterms="http://purl.org/dc/terms/"'
)
DECLARED = '<?xml version="1.0" encoding="{}"?>'
ITEM = "<item><guid>g{0}</guid><title>rain</title><description>falls {0}</description></item>\n"


def rss(*items, head="", names=NAMESPACES):
    return f'{head}<rss version="2.0" {names}><channel><title>all</title>{"".join(items)}</channel></rss>'


def rows(data, encoding=UTF8):
    return [
        row
        for _, row in feeds.feed_rows(
            io.BytesIO(data if isinstance(data, bytes) else data.encode()), "f.xml", encoding
        )
    ]


def item(inner, **options):
    (row,) = rows(rss(f"<item>{inner}</item>", **options))
    return row


def texts(data):
    """Return the texts of items without their titles, or the reasons of unreadable items."""
    return [
        row if isinstance(row, Unreadable) else row["text"].removeprefix(row["title"]).strip()
        for row in rows(data)
    ]


def test_feeds_of_both_forms(tmp_path):
    for name, text in (("a.atom", ATOM), ("b.rss", RSS), ("c.xml", RSS.replace("Two", "Twice"))):
        (tmp_path / name).write_text(
            text
        )  # c.xml was fetched later: g1 again, and the other one by its link
    found = corpora.read(
        "documents", [tmp_path / "a.atom", tmp_path / "b.rss", tmp_path / "c.xml"], {}
    )
    assert found.ids == ["urn:1", "g1", "javascript:x"] and found.repeats == (1, 1)
    days = ("2011-07-08T12", "2011-07-08T12:08:34", "2011-07-08T13:08:34")
    assert found.times.tolist() == [np.datetime64(day, "ms").astype(int) for day in days]
    assert found.urls == ["https://x.org/a1", "https://x.org/1", ""]
    assert found.titles[:2] == ["One", "Storm ét al"]
    words = [{found.vocabulary[column] for column in found.counts[[row]].indices} for row in (0, 2)]
    assert words == [{"bold", "words"}, {"words"}]


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        ("<media:description>caption</media:description><description>text</description>", "text"),
        ("<description>short</description><content:encoded><![CDATA[<p>long</p>]]></content:encoded>", "<p>long</p>"),
        ("<itunes:summary>notes</itunes:summary><a:summary>text</a:summary>", "text"),
        ("<itunes:summary>notes</itunes:summary><content:encoded> </content:encoded>", "notes"),
        ("<media:description>video</media:description><itunes:subtitle>short</itunes:subtitle>", "video"),
        ("<dc:description>text</dc:description><media:text>lyrics</media:text>", "text"),
        ("<media:group><media:content><media:description>caption</media:description></media:content>"
         "<media:description>video</media:description></media:group>", "video"),
        ("<media:content><media:description>caption</media:description></media:content>", "caption"),
        ('<a:content type="image/png">iVBOR</a:content><a:summary>text</a:summary>', "text"),
        ("<x:description xmlns:x='urn:x'>other</x:description><source><description>no</description></source>", ""),
    ],
)  # fmt: skip
def test_captions_do_not_win_over_texts(inner, said):
    row = item(f"<media:title>video</media:title><title>t</title>{inner}")
    assert row["title"] == "t" and row["text"] == f"t\n{said}"


def test_titles_and_categories_of_namespaces():
    row = item(
        "<media:group><media:title>t</media:title></media:group><dc:subject>s</dc:subject><category>c</category>"
    )
    assert row["title"] == "t" and row["category"] == ["s", "c"]
    assert item("<itunes:title>i</itunes:title><dc:title>d</dc:title>")["title"] == "d"


@pytest.mark.parametrize(
    ("inner", "time"),
    [
        ("<a:updated>2026-02</a:updated><pubDate>Mon, 05 Jan 2026 10:00 CET</pubDate>", "Mon, 05 Jan 2026 10:00 CET"),
        ("<pubDate>32 Jan</pubDate><dc:date>2026-01-05</dc:date>", "2026-01-05"), ("<pubDate>no</pubDate>", "no"),
        ("<dcterms:modified>2026-02-01</dcterms:modified><dcterms:issued>2026-01-05</dcterms:issued>", "2026-01-05"),
        ("<a:source><a:updated>2026-01-05</a:updated></a:source>", None), ("", None),
    ],
)  # fmt: skip
def test_dates(inner, time):
    assert item(inner)["time"] == time


def test_addresses():
    assert item("<guid>https://x.org/1</guid>")["url"] == "https://x.org/1"
    assert item("<guid isPermaLink='false'>https://x.org/1</guid>")["url"] == ""
    assert (
        item("<guid>https://x.org/1</guid><link>https://x.org/2</link>")["url"] == "https://x.org/2"
    )
    links = '<link rel="self" href="s"/><link rel="alternate" type="application/json" href="j"/><link href="c"/>'
    entry = f'<entry xml:base="b/"><id>1</id>{links}</entry><entry><link>/d</link></entry>'
    found = rows(
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://x.org/a/">{entry}</feed>'
    )
    assert [row["url"] for row in found] == ["https://x.org/a/b/c", "https://x.org/d"]


def test_rdf():
    names = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    for uri in ("http://purl.org/rss/1.0/", "http://my.netscape.com/rdf/simple/0.9/"):
        inner = "<title>t</title><description>rain</description><dc:date>2026-01-05</dc:date>"
        (row,) = rows(
            f'<rdf:RDF xmlns="{uri}" {names}><channel/><item rdf:about="https://x.org/1">{inner}</item></rdf:RDF>'
        )
        wanted = {
            "title": "t",
            "text": "t\nrain",
            "time": "2026-01-05",
            "url": "https://x.org/1",
            "id": "https://x.org/1",
        }
        assert row == wanted


def test_content_that_is_xml():
    inner = '<div xmlns="http://www.w3.org/1999/xhtml">rain<br/>and <script>x</script>snow</div>'
    (row,) = rows(
        f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><content type="xhtml">{inner}</content></entry></feed>'
    )
    assert row["text"].split() == ["rain", "and", "snow"]


@pytest.mark.parametrize(
    ("name", "written", "title"),
    [
        ("GB2312", "gb18030", "人工卫星進入軌道"), ("Shift_JIS", "cp932", "人工衛星①が軌道に"),
        ("EUC-KR", "cp949", "인공위성 똠방각하"), ("big5", "big5", "人造衛星進入軌道"),
        ("windows-1251", "cp1251", "Спутник на орбите"), ("UTF-16", "utf-16", "Спутник"),
        ("ISO-8859-1", "cp1252", "“Café” – it’s"), ("ISO-8859-1", "utf-8", "“Café” – it’s"),
        ("utf-16", "utf-8", "Café"), ("utf-8", "utf-16", "Café"), ("utf-8", "utf-16-be", "Café"),
        ("us-ascii", "utf-8", "Café"),
        ("utf-8", "utf-8-sig", "Café"), ("utf-8", "cp1252", "“Café” – it’s"), ("x-no", "utf-8", "Café"),
    ],
)  # fmt: skip
def test_encodings_that_are_not_what_they_say(name, written, title):
    (row,) = rows(
        rss(f"<item><title>{title}</title></item>", head=DECLARED.format(name)).encode(written)
    )
    assert row["title"] == title and "replaced" not in row


def test_authors_of_items():
    assert rows(ATOM)[0]["author"] == "nobody"
    person = ATOM.replace("</name>", " one</name><email>n@x.org</email><uri>https://x.org</uri>")
    assert rows(person)[0]["author"] == "nobody one"
    items = (
        "<item><title>a</title><dc:creator>Ada</dc:creator></item>",
        "<item><author>b@x.org (Bo)</author></item>",
    )
    assert [row.get("author") for row in rows(rss(*items, ITEM.format(0)))] == [
        "Ada",
        "b@x.org (Bo)",
        None,
    ]
    feed = {
        "items": [
            {"title": "a", "authors": [{"name": "Cy"}]},
            {"title": "b", "author": {"name": "Di"}},
        ]
    }
    assert [row["author"] for row in rows(json.dumps(feed))] == ["Cy", "Di"]


def test_an_encoding_that_nobody_states():
    data = rss("<item><title>Спутник</title></item>", head="").encode("koi8-r")
    assert rows(data, Encoding("koi8-r"))[0]["title"] == "Спутник"


def test_characters_in_no_encoding_are_counted():
    data = (
        rss("<item><title>rain</title></item>", head=DECLARED.format("gbk"))
        .encode()
        .replace(b"rain", b"r\x81\xff")
    )
    assert rows(data)[0]["replaced"] == 2


@pytest.mark.parametrize(
    "begin", ["\n\n ", "\ufeff\n", "<br />\n<b>Warning</b>: no file in <b>a.php</b>\n"]
)
def test_what_stands_before_and_below_a_feed(begin):
    assert texts(begin + rss(ITEM.format(0)) + "\n<!-- in 2 ms -->\n<script>x</script>") == [
        "falls 0"
    ]
    assert texts(begin + rss(ITEM.format(0)) + rss(ITEM.format(1))) == ["falls 0", "falls 1"]


@pytest.mark.parametrize(
    ("inner", "said", "repaired"),
    [
        ("<title>a & </title><link>https://x.org/?a=1&b=2</link><description>AT&T &lt;</description>", "AT&T <", True),
        ("<description>ra\x0bin\x00 f</description><media:description>no</media:description>", "ra in  f", True),
        ("<description><![CDATA[a & b]]></description><title>&</title>", "a & b", True),
        ("<description>a<b>b</i>c</description><media:description>no</media:description>", "a<b>b</i>c", True),
        ('<description a="1" a="2">rain</description><pubDate>5 Jan 2026 10:00 JST</pubDate>', "rain", True),
        ("<media:description a='1' a='2'>video</media:description>", "video", True),
        ("<title>t</title><no:such>x</no:such><description>rain</description>", "rain", False),
        ("<title>t</title><content:encoded>rain</content:encoded><x:y a:b='c'/>", "rain", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("names", [NAMESPACES, ""])
def test_feeds_that_are_no_xml(inner, said, repaired, names):
    found = rows(rss(ITEM.format(0), f"<item>{inner}</item>", ITEM.format(2), names=names))
    assert [row["text"].removeprefix(row["title"]).strip() for row in found] == [
        "falls 0",
        said,
        "falls 2",
    ]
    assert [row.get("repaired", False) for row in found] == [False, repaired, False]
    if "JST" in inner:
        assert found[1]["time"] == "5 Jan 2026 10:00 JST"


def test_what_a_damaged_feed_lost_is_said():
    data, lost = rss(*map(ITEM.format, range(4))), "the file ends within the item"
    assert texts(data[: data.index("falls 2")]) == ["falls 0", "falls 1", lost]
    assert texts(data.replace("falls 1</description></item>", "falls 1</description>")) == [
        f"falls {n}" for n in range(4)
    ]
    lost = "it is not XML (mismatched tag), and cannot be repaired"
    assert texts(data.replace("falls 1</description></item>", "falls 1")) == [
        "falls 0",
        lost,
        "falls 2",
        "falls 3",
    ]
    assert texts(rss("<item><title>a<description>b</description></item>", ITEM.format(1))) == [
        lost,
        "falls 1",
    ]


def test_memory_of_a_damaged_feed_is_that_of_an_item(monkeypatch):
    monkeypatch.setattr(feeds, "MAX_ITEM_BYTES", 300_000)
    long = f"<item><title>a & b</title><description>{'x ' * 200_000}</description></item>"
    assert texts(rss(ITEM.format(0), long, ITEM.format(2))) == [
        "falls 0",
        "it is longer than 0 MiB",
        "falls 2",
    ]
    monkeypatch.setattr(feeds, "MAX_LINE", 100)
    with pytest.raises(DataError, match=r"f\.xml is a JSON feed of more than 0 MiB"):
        rows(
            '{"version": "https://jsonfeed.org/version/1.1", "items": [%s]}'
            % ("{}, " * feeds.FEED_BYTES)
        )


def test_a_json_feed():
    inner = {
        "id": 7,
        "title": "t",
        "content_text": "rain",
        "date_published": "2026-01-05",
        "tags": ["a"],
        "url": "x://y",
    }
    found = rows(json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [inner]}))
    assert found == [
        {
            "title": "t",
            "text": "t\nrain",
            "time": "2026-01-05",
            "url": "x://y",
            "category": ["a"],
            "id": "7",
        }
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<html/>", "the root 'html'"), ("<rss><channel>\n<title>x", "f.xml line 2 is not XML"),
        ("", "f.xml line 1 is not XML"), ("rain", "f.xml line 1 is not XML"), ('{"a": 1}', "f.xml is not a JSON feed"),
    ],
)  # fmt: skip
def test_what_is_no_feed_is_refused(content, said):
    with pytest.raises(DataError, match=said):
        rows(content)
    assert rows("<rss><channel/></rss>") == []


def test_entities_that_grow_are_not_expanded():
    grow = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    found = rows(
        f'<!DOCTYPE rss [<!ENTITY a "{"a" * 20}">{grow}]>'
        + rss("<item><title>&j;</title></item>", head="")
    )
    assert [row["title"] for row in found] == [""]
