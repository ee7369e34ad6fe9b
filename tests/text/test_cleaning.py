"""Cleaners: what each removes and retains, in linear time, and the numbers of removed characters."""

import base64
import json
import random
import tarfile
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odl import corpora as readers
from odl.cli import main
from odl.errors import ConfigError, DataError
from odl.files import documents as docs
from odl.stream import batchfile
from odl.text import cleaning
from odl.text import mailparts as mail
from odl.text.cleaning import CLEANERS, cleaner_names, drop_encoded, drop_html
from odl.text.mailparts import drop_headers, drop_quotes, drop_signatures, drop_trailers

MAIL = "From: ann@x.org (Ann)\nSubject: Re: AW: Floods in Lima\nOrganization: Office\n\twith two lines\nLines: 2\n\n"
UU = "".join("M" + "AX>'AX>'\"[34;6UM$" * 4 + "\n" for _ in range(5))[:-1]
BASE64 = "\n".join(
    base64.b64encode(random.Random(row).randbytes(45 if row < 4 else 8)).decode()
    for row in range(5)
)
FRAGMENTS = [
    *(
        "<",
        "<a ",
        "<!--",
        "</",
        "<div>",
        "</p>",
        "&amp;",
        "&amp;lt;p&amp;gt;",
        "&#38;#38;#60;",
        "<![CDATA[",
        "<a b='",
    ),
    *(
        "<script>",
        "<p><b>x",
        "\n",
        "> q",
        "X wrote:",
        "On 5 May, X <a@b> wrote:",
        "In article <a@b> X writes:",
        "On 5 x",
    ),
    *(
        ": a",
        "|",
        "-- \n",
        "--",
        "Regards,",
        "====",
        "a@b.org",
        "From: a\n",
        "Subject: ",
        "A: b",
        "\n\n",
        " x",
        "\t",
    ),
    *(
        "M" + "A" * 60 + "\n",
        "M",
        "0x00, ",
        "00 ",
        "=ybegin x",
        "=yend",
        "-----BEGIN X-----",
        "-----END X-----",
        "`",
    ),
    *(
        "end\n",
        "begin 644 x\n",
        "aB3dE5fG7" * 6,
        "x=1;{}",
        "é",
        "\u4e00",
        "\r",
        "\0",
        "\ud800",
        "word",
        " ",
        "Re: ",
        "e3",
    ),
    *(
        "-----Original Message-----",
        "Sent from my phone",
        "From a@b Mon 1993\n",
        "aB3dE5fG7" * 6 + "=\n",
        "\u2028",
    ),
]
texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=30).map("".join)


def dropped(cleaner, text, *gone, keep=()):
    """Assert that a cleaner removes some parts of a text and no others."""
    found = cleaner(text)
    assert not [part for part in gone if part in found], found
    assert not [part for part in keep if part not in found], found


class TestHeaders:
    def test_of_a_mail_the_subject_stays_without_re(self):
        assert (
            drop_headers(MAIL + "The body\nFrom: here") == "Floods in Lima\n\nThe body\nFrom: here"
        )
        assert (
            drop_headers("From ann@x.org Mon Apr  5 10:00:00 1993\n" + MAIL) == "Floods in Lima\n\n"
        )

    def test_before_a_forwarded_part(self):
        text = "See below\n\nFrom: Ann\nDate: Monday\n\nIt rained"
        assert drop_headers(text) == "See below\n\n\nIt rained"

    @pytest.mark.parametrize(
        "block",
        [
            "发件人：安\n日期：2026年1月5日\n主题：{}",
            "差出人: 安\n件名: {}\n日付: 1月5日",
            "จาก: แอน\nวันที่: 5 ม.ค.\nเรื่อง: {}",
        ],
    )
    def test_of_other_scripts(self, block):
        assert (
            drop_headers(f"See\n\n{block.format('Lima')}\n\nIt rained")
            == "See\n\nLima\n\nIt rained"
        )

    @pytest.mark.parametrize(
        "text",
        [
            "Note: well\n\nText",
            "日期：周一\n下雨",
            "Two things:\nFrom: one\nTo: other\n",
            "From: a\nno header",
            "a\n\nFrom: b\n\nc",
            "",
            "\n",
        ],
    )
    def test_what_only_looks_like_headers_stays(self, text):
        assert drop_headers(text) == text


class TestQuotes:
    def test_quoted_lines_and_what_introduces_them(self):
        text = (
            "In article <1@x.org> ann@x.org (Ann Lee) writes:\n>one\n> >two\nYes.\n\nOn Mon, 5 Apr 1993, Bob Ray\n"
            "<bob@x.org> wrote:\nAB> three\n\nNo.\nBob wrote:\n\n: four\n: five\nEnd"
        )
        assert drop_quotes(text).split("\n") == ["Yes.", "", "", "No.", "", "End"]

    def test_below_an_original_message(self):
        assert drop_quotes("Fine.\n-----Original Message-----\nFrom: x\n\nold") == "Fine."

    @pytest.mark.parametrize("line", ["安写道：", "安さんは書きました：", "แอน เขียนว่า:"])
    def test_of_other_scripts(self, line):
        assert drop_quotes(f"Yes.\n{line}\n> It rains") == "Yes."
        assert drop_quotes(f"Yes.\n{line}\n\nIt rains") == f"Yes.\n{line}\n\nIt rains"
        assert drop_quotes("Yes.\n2026年1月5日(月) 10:00 安 <ann@x.org>:\n> It rains") == "Yes."
        assert drop_quotes("Yes.\n---- 原始邮件 ----\nIt rains") == "Yes."

    @pytest.mark.parametrize(
        "text",
        [
            "He said: go\n\nWe went",
            "As Ann wrote:\n\nBe brave",
            ":-)\n:-(",
            "| alone",
            "a > b",
            "On 5 May it rained\nHard",
            "Hard\nOn 5 May it rained",
        ],
    )
    def test_prose_stays(self, text):
        assert drop_quotes(text) == text


class TestSignatures:
    @pytest.mark.parametrize(
        "end",
        [
            "-- \nAnn Lee\n\nann@x.org\n",
            "--\nAnn Lee, Office\n",
            "Best regards,\nAnn\n\nAnn Lee",
            "Mit freundlichen Grüßen\nAnn",
            "Sent from my phone",
            "此致\n敬礼\n安",
            "よろしくお願いします。\n安",
            "ขอแสดงความนับถือ\nแอน",
            "发自我的 iPhone",
            "iPhoneから送信",
            "ส่งจาก iPhone ของฉัน",
            "_______________\nAnn Lee | ann@x.org\n_______________",
        ],
    )
    def test_of_common_forms(self, end):
        assert drop_signatures("It rains.\n\n" + end) == "It rains.\n"

    @pytest.mark.parametrize(
        "text",
        [
            "One\n--\nTwo\n\nThree\n\nFour",
            "Title\n=====\nText without an address",
            "-- \n" + "line\n" * 11,
            "-- \nAnn Lee",
            "Regards to all of you from here\nAnn",
            "教えてください。\nよろしくお願いします。\n\n【環境】\n再起動しても直りません。\nerror 8",
        ],
    )
    def test_what_is_none_stays(self, text):
        assert drop_signatures(text) == text


class TestHtml:
    def test_blocks_entities_scripts(self):
        text = (
            "<html><head><style>p {x: y}</style></head><p>Rain &amp; fl<b>oods</b></p>in<br>Lima"
            "<script>a < b</script>"
        )
        assert drop_html(text).split() == ["Rain", "&", "floods", "in", "Lima"]

    def test_markup_that_was_escaped_as_in_feeds(self):
        assert drop_html("&lt;p&gt;Rain &amp;amp; floods&lt;/p&gt;").split() == [
            "Rain",
            "&",
            "floods",
        ]

    @pytest.mark.parametrize(
        "text", ["a < b and c > d", "x = &ptr; y", "AT&T <ann@x.org>", "List<String> x", "a --> b"]
    )
    def test_other_texts_stay(self, text):
        assert drop_html(text) == text

    def test_what_stands_before_what_is_nested_without_end_is_read_as_ever(self):
        text = (
            "<script>track()</script><p>one</p><p>two</p>"
            + "<b>" * (2 * cleaning.MAX_TAG_DEPTH)
            + "three"
        )
        assert drop_html(text).split() == ["one", "two", "three"]
        whole = drop_html("<p>one</p><p>two</p>")
        assert whole.split("\n") == drop_html(text).split("\n")[: len(whole.split("\n"))]

    def test_what_is_nested_without_end_keeps_its_words(self):
        assert drop_html("<div>" * 5000 + "word" + "</div>" * 5000).split() == ["word"]


class TestEncoded:
    @pytest.mark.parametrize(("n", "stays"), [(29, True), (30, False)])
    def test_a_word_of_few_letters_stays_whatever_they_are(self, n, stays):
        word = ("aB1" * 10)[:n].ljust(cleaning.MIN_WORD, "-")
        assert drop_encoded(f"see {word} there") == (f"see {word} there" if stays else "see  there")

    @pytest.mark.parametrize(
        "block",
        [
            f"begin 644 a.bmp\n{UU}\n`\nend",
            UU,
            BASE64,
            "=ybegin line=128 size=9 name=x\nstorm\n=yend size=9",
            "-----BEGIN PGP SIGNATURE-----\nVersion: 2\n\nabc\n-----END PGP SIGNATURE-----",
            "00000000  7f 45 4c 46 02 01 01 00  |.ELF....|\n00000008  00 00 00 00 02 00 3e 00  |......>.|",
            "0x00, 0x1f, 0x3c, 0x7e, 0xff, 0xff, 0x00,\n0x00, 0x1f, 0x3c, 0x7e, 0xff, 0xff, 0x00,",
            "function(){" + "a=b(c,d);if(e){f=g[h]}" * 30 + "}",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "bcdfghjklmnpqrstvwxz" * 3,
        ],
    )
    def test_blocks_of_every_kind(self, block):
        assert drop_encoded(f"Before it rained.\n\n{block}\n\nAfter it.").split() == [
            "Before",
            "it",
            "rained.",
            "After",
            "it.",
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "see https://example.org/2024/05/a1b2c3d4e5f6a7b8c9d0/the-flood-in-lima.html now",
            "Donaudampfschifffahrtsgesellschaftskapitänsmütze",
            "昨日の大雨で川があふれ多くの家が水につかり住民は学校に避難して夜を明かしたと市長が今朝の会見で述べた。",
            "-" * 70 + "\n" + "=" * 70,
            "MOST PEOPLE SAID NOTHING\nMANY OF THEM WERE SILENT",
            "XtConfigureWidget/XtResizeWidget/XtMoveWidget",
            "begin 644 people came to the\nend",
            "face dead beef",
        ],
    )
    def test_words_links_and_other_scripts_stay(self, text):
        assert drop_encoded(text) == text


@pytest.mark.parametrize(
    "block",
    [
        "=ybegin line=128 size=3 name=x\nfew\n=yend size=3",
        "-----BEGIN PGP MESSAGE-----\nfew\n-----END PGP MESSAGE-----",
        "\n".join(["M" + 3 * (19 * "A" + " ")] * 2),
        "\n".join([12 * "xe12"] * 2),
        "\n".join([9 * "0a1b"] * 2),
        "\n".join([8 * "0a 1b "] * 2),
        14 * (3 * "f(x);y=z;" + "ab; "),
        3 * "QWxhZGRpbjpvcGVuIHNlc2FtZQ",
    ],
    ids=["yEnc", "armour", "uuencode", "dense", "hex word", "hex dump", "minified", "word"],
)
def test_one_sign_alone_is_enough(block):
    """The fast test of a text must accept every encoded block."""
    assert drop_encoded(f"Plain.\n{block}\nPlain.") == "Plain.\n\nPlain."


def test_a_dropped_block_does_not_join_what_stood_around_it():
    row = "00 1f 3c 7e ff ff 00 c3"
    once = drop_encoded(f"{row}\n{UU}\n{row}")
    assert once == f"{row}\n\n{row}" == drop_encoded(once)


@pytest.mark.parametrize("name", CLEANERS)
class TestAnyText:
    @pytest.mark.slow
    @settings(max_examples=300, deadline=None)
    @given(text=texts)
    def test_never_raises_never_adds_and_twice_is_once(self, name, text):
        once = CLEANERS[name](text)
        assert CLEANERS[name](once) == once
        assert once == text or len(once) < len(text)

    @pytest.mark.slow
    @pytest.mark.parametrize("fragment", FRAGMENTS)
    def test_in_linear_time(self, name, fragment):
        """A quadratic algorithm takes more than a minute for half a megabyte."""
        text = fragment * (500_000 // len(fragment))
        start = time.process_time()
        CLEANERS[name](text)
        assert time.process_time() - start < 5


class TestReader:
    @staticmethod
    def rows(path):
        rows = [
            {"id": "a", "text": MAIL + "It rains.\n> old\n"},
            {"id": "b", "text": "Nothing to clean, only words"},
            {"id": "c", "text": "Subject: x\n\n> all is quoted here"},
            {"id": "d", "counts": {"storm": 5}},
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def test_counts_what_it_takes_out(self, tmp_path):
        path = self.rows(tmp_path / "d.jsonl")
        found = readers.read(
            "documents", [path], {"clean": {"quotes": True, "headers": True, "html": False}}
        )
        assert found.titles[0] == "Floods in Lima It rains."
        assert found.removed["headers"].tolist()[0] == len(MAIL) - len("Floods in Lima\n\n")
        assert [list(found.removed), found.removed["quotes"].tolist()] == [
            ["headers", "quotes"],
            [6, 0, 21, 0],
        ]
        assert "old" not in found.vocabulary and "rains" in found.vocabulary

    def test_without_options_nothing_changes(self, tmp_path):
        path = self.rows(tmp_path / "d.jsonl")
        found = readers.read("documents", [path])
        assert found.removed == {} and found.dropped is None and "organization" in found.vocabulary
        docs.write(tmp_path / "d.h5", found)
        docs.write(
            tmp_path / "e.h5", readers.read("documents", [path], {"clean": [], "min_words": 0})
        )
        assert (tmp_path / "d.h5").read_bytes() == (tmp_path / "e.h5").read_bytes()

    def test_short_documents_are_listed(self, tmp_path):
        path = self.rows(tmp_path / "d.jsonl")
        found = readers.read("documents", [path], {"clean": list(CLEANERS), "min_words": 2})
        assert found.ids == ["a", "b", "d"] and found.counts.shape[0] == 3
        assert (found.dropped.ids, found.dropped.words.tolist()) == (["c"], [0])
        with pytest.raises(
            DataError, match=r"all 4 documents have fewer than 9 words; .*lower min_words"
        ):
            readers.read("documents", [path], {"min_words": 9, "clean": ["headers", "quotes"]})
        with path.open("a") as file:
            file.write('{"id": "c", "text": "of the same name"}\n')
        found = readers.read("documents", [path], {"clean": list(CLEANERS), "min_words": 2})
        assert found.dropped.ids == ["c"] and found.repeats == (0, 1)

    def test_counts_are_stored_in_both_files_and_in_the_digests(self, tmp_path, capsys):
        path, options = (
            self.rows(tmp_path / "d.jsonl"),
            {"clean": ["quotes", "headers"], "min_words": 1},
        )
        assert (
            main(
                [
                    "step",
                    "read",
                    "documents",
                    str(tmp_path / "d.h5"),
                    "--source",
                    str(path),
                    "--options",
                    json.dumps(options),
                ]
            )
            == 0
        )
        assert "3 documents" in capsys.readouterr().out
        found = docs.read(tmp_path / "d.h5")
        assert found.dropped.ids == ["c"] and found.removed["quotes"].tolist() == [6, 0, 0]
        order = np.array([2, 0])
        batchfile.write(tmp_path / "d.h5", order, tmp_path / "batch.h5", 0)
        assert docs.read(tmp_path / "batch.h5", "batch").removed["quotes"].tolist() == [0, 6]
        plain = readers.read("documents", [path])
        digests = found.digests()
        found.removed = {}
        assert (digests != found.digests()).any(axis=1).all()
        assert (found.digests()[1] == plain.digests()[1]).all()

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"clean": "quotes"}, "clean is 'quotes'; expected a list or a map"),
            ({"clean": ["qoutes"]}, "clean.0. is 'qoutes'; .* did you mean 'quotes'"),
            ({"clean": {"quotes": 1}}, "clean.quotes is 1; expected true or false"),
            ({"min_words": -1}, "min_words is -1; expected an integer at least 0"),
            ({"min_words": True}, "min_words is True"),
        ],
    )
    def test_wrong_options(self, tmp_path, options, said):
        with pytest.raises(ConfigError, match=said):
            readers.read("documents", [self.rows(tmp_path / "d.jsonl")], options)

    def test_the_order_is_that_of_the_cleaners(self):
        assert cleaner_names(["signatures", "headers"]) == ["headers", "signatures"]
        assert cleaner_names({"html": True, "quotes": False}) == ["html"]


@pytest.mark.slow
@pytest.mark.corpora
def test_raw_20_newsgroups(corpora):
    """In every third post, encoded blocks and nearly all header lines are removed."""
    n_posts, n_changed, left = 0, dict.fromkeys(CLEANERS, 0), []
    with tarfile.open(corpora / "20news" / "20news-bydate.tar.gz") as archive:
        for member in archive:
            if not member.isfile() or "/20news-bydate-test/" in f"/{member.name}":
                continue
            n_posts += 1
            if n_posts % 3:
                continue
            text = archive.extractfile(member).read().decode("latin-1")
            for name, cleaner in CLEANERS.items():
                before, text = text, cleaner(text)
                n_changed[name] += text != before
                assert n_posts % 5 or cleaner(text) == text, (name, member.name)
            left += [
                line
                for line in text.split("\n")
                if line.startswith("M") and len(line) == 61 and " " not in line
            ]
    assert n_posts == 11314 and n_changed["headers"] == n_posts // 3
    assert 2200 < n_changed["quotes"] < 2700 and 1300 < n_changed["signatures"] < 2000
    assert 10 < n_changed["encoded"] < 34 and n_changed["html"] < 7
    assert not left


SPACES = "".join(filter(str.isspace, map(chr, range(0x3001)))).replace("\n", "")
PIECES = [
    *(
        "> ",
        "|",
        ":",
        "}",
        "On 5 May",
        "In article <a@b>",
        "Ann wrote",
        "a@b.c",
        "says",
        "schrieb",
        " -- ",
        "--",
        "x",
        "-",
    ),
    *(
        "_____",
        "Cheers,",
        "Sent from my x",
        "www.x.y",
        "555-123-4567",
        "tel 5",
        "Lima",
        "0a1b" * 9,
        "0a 1b " * 8,
        "\r",
    ),
    *(UU.split("\n")[0], BASE64.split("\n")[0], "-- Original Message --", "M", *SPACES),
]
lines = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


def kind_by_all_patterns(line):
    """Return the kind of a line by testing all patterns."""
    if not line.strip():
        return "blank"
    short = len(line) <= mail.MAX_PART_LINE
    asked = {
        "quoted": mail.QUOTED.match(line),
        "marked": mail.MARKED.match(line),
        "addressed": short and (mail.ARTICLE.match(line) or mail.ADDRESSED.search(line)),
        "wrote": short and mail.WROTE.search(line),
        "dated": short and mail.DATED.match(line),
    }
    return next((kind for kind, found in asked.items() if found), "other")


def signature_by_all_patterns(text):
    """Return a text without its signature by testing all patterns on each line."""
    lines = text.split("\n")
    end, at, filled, gaps, blank, contact = len(lines), len(lines) - 1, 0, 0, 0, False
    while at >= 0 and filled <= mail.MAX_SIGNATURE:
        line = lines[at]
        if line.strip():
            if len(line) > mail.MAX_PART_LINE:
                break
            cut = mail.DASHES.match(line) or mail.CLOSING.match(line) or mail.DEVICE.match(line)
            if cut or (
                gaps == 0 and (mail.DASH_LINE.match(line) or (contact and mail.RULE.match(line)))
            ):
                end, filled, gaps, contact = at, 0, 0, False
            else:
                filled, gaps, contact = (
                    filled + 1,
                    gaps + blank,
                    contact or bool(mail.CONTACT.search(line)),
                )
            blank = 0
        else:
            blank = int(filled > 0)
        at -= 1
    return "\n".join(lines[:end]) if any(map(str.strip, lines[:end])) else text


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(line=lines)
def test_a_pattern_that_is_not_asked_would_not_have_fitted(line):
    assert mail._kind(line) == kind_by_all_patterns(line)
    assert cleaning.ENCODED_LINE.match(line) or not any(kind(line) for kind in cleaning.ENCODINGS)


@pytest.mark.parametrize(
    "end",
    [
        "Signed-off-by: Ada <a@x.org>",
        "Fixes: 1a2b3c (rain)\nChange-Id: I12\n",
        "Cc: b@x.org\r\nReviewed-by: Bo\r\n  of the institute\r\n",
        "(cherry picked from commit 1a2b3c)\nAcked-by: Bo",
    ],
)
def test_trailers_are_the_last_paragraph(end):
    assert drop_trailers("Fix the rain\n\nIt fell.\n\n" + end) == "Fix the rain\n\nIt fell."
    assert drop_trailers("Fix the rain\r\n \r\n" + end) == "Fix the rain"
    assert drop_trailers(end) == ""  # a commit whose title is in a column of its own


@pytest.mark.parametrize(
    "text",
    [
        "Fixes: the rain",
        "Fix\n\nPS: see you",
        "Fix\n\nFixes: the rain\nNote: it fell",
        "Fix\n\nSigned-off-by: Ada\nand a line of text",
        "Fix\n\nSigned-off-by: Ada\n\nfalls",
        "",
    ],
)
def test_other_last_paragraphs_stay(text):
    assert drop_trailers(text) == text


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(text=st.lists(lines, max_size=9).map("\n".join))
def test_signatures_are_those_of_asking_every_line_for_a_contact(text):
    assert drop_signatures(text) == signature_by_all_patterns(text)


@pytest.mark.parametrize("space", SPACES)
def test_any_white_space_may_follow_a_colon(space):
    assert (
        mail._kind(f"Ann wrote:{space}") == "wrote"
        and mail._kind(f"a@b.c writes:{space}{space}") == "addressed"
    )


def test_only_a_rule_with_a_contact_below_it_begins_a_signature():
    assert drop_signatures("Rain.\n_____\nAnn\na@b.c") == "Rain."
    for text in ("Rain.\n_____\nAnn", "Rain, a@b.c.\n_____\nAnn", "_____\nAnn\n--\na@b.c"):
        assert (
            drop_signatures(text)
            == signature_by_all_patterns(text)
            == text.removesuffix("\n--\na@b.c")
        )
