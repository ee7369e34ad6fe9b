"""Words of every script: examples, and all of Unicode without an error."""

import random
import sys
import time
import unicodedata
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oddtexts import GUID, PARTS, odd_text
from places import ROOT

from odl import corpora
from odl.alerts import excerpts, phrasing
from odl.errors import ConfigError
from odl.text.scripts import segmenter
from odl.text.tokens import Tally, analyser, count_words, token_options
from odl.text.words import fold_case

SENTENCES = [
    ("हिन्दी में समाचार", "हिन्दी में समाचार"),
    ("বাংলা ভাষা; தமிழ் மொழி", "বাংলা ভাষা தமிழ் மொழி"),
    ("Ko\u0308ln, Köln und STRASSE, Straße", "köln köln und strasse strasse"),
    ("السَّلَامُ عَلَيْكُمْ السلام عليكم", "السلام عليكم السلام عليكم"),
    ("שָׁלוֹם שלום", "שלום שלום"),
    ("ΑΘΗΝΑ Αθήνα, Москва", "αθηνα αθηνα москва"),
    ("İzmir IZMIR ızmir", "izmir izmir izmir"),
    ("我爱北京，NASA公司", "我爱 爱北 北京 nasa 公司"),
    ("東京タワーの高さは333メートル", "東京 京タ タワ ワー ーの の高 高さ さは メー ート トル"),
    ("ประเทศ", "ประ ระเ ะเท เทศ"),
    ("감기약 값이", "감기약 값이"),
    ("ＮＡＳＡ　ｶﾞｽ Ｈ５Ｎ１", "nasa ガス h5n1"),
    ("soft\u00adhyphen می\u200cخواهم \u202bשלום\u202c bell\x07s", "softhyphen میخواهم שלום bells"),
    ("👩\u200d🚀 🔥🔥 🇩🇪 ❤\ufe0f👍🏽", "👩🚀 🔥 🔥 🇩🇪 ❤ 👍"),
    ("log4j, H5N1 K8s: GPT-4 (CVE-2021-44228) 0x80070057 v2.14.1. covid-19!",
     "log4j h5n1 k8s gpt-4 cve-2021-44228 0x80070057 v2.14.1 covid-19"),
    ("B.1.1.7, BA.5. XBB.1.5 (H.264) t-SNE K-means; U-Überfahrt 737-MAX 3-D F/A-18",
     "b.1.1.7 ba.5 xbb.1.5 h.264 t-sne k-means u-überfahrt 737-max 3-d a-18"),
    ("C++, C#: C/C++ AT&T R&D I/O A/B-test node.js .NET i.MX6 T-シャツ 中t-SNE中",
     "c++ c# c++ at&t r&d i/o a/b test node js net mx6 シャ ャツ 中 t-sne 中"),
    ("1.2.3 V.3 p.12 e.g. U.S. J.R. 12-inch 10-DAY 5-V 7-APR 747-400 a-b A/B/C R&D&E m-by-n i++ &amp; A+",
     "inch day apr by amp"),
    ("CO₂ МиГ-29 3D 5G SARS-CoV-2", "co2 миг-29 3d 5g sars cov-2"),
    ("12 3.14 2021-12-10T13:45:00Z 12:30 5pm 10km 12th 1990s 10/12/2021 Apr-93", "apr"),
    ("550e8400-e29b-41d4-a716-446655440000 e25ea8c d41d8cd98f00b204e9800998ecf8427e", ""),
    ("qwFkZG8wMTIzNDU2Nzg5YWJjRGVmR2hpSktMTU5PUA== getUserName2", "getusername2"),
    ("nginx-7d8b49557c-9xkqz up", "nginx up"),
    ("#covid19 @joe #北京 #1 &#39;", "#covid19 @joe #北京"),
    ("joe.b@Mail.example.com https://user@www.example.com:80/a/b?c=d#e WWW.x.org",
     "mail.example.com example.com x.org"),
    ("well-known and/or don't n_samples x86_64 _init_ x", "well known and or don x86_64 init"),
    ("ERR_RESET, MAX_VALUE=5 _HTTP_404_ user_12 Été_X ÉTÉ_X a_3f2a9c1 ID_12345 blk_-160899",
     "err_reset max_value http_404 user_12 été_x"),
    ("oʻzbek Hawaiʻi п'ять об’єкт пʼять 'слово' l'été d’été", "oʻzbek hawaiʻi пʼять обʼєкт пʼять слово été été"),
    ("צ'ילה ג׳ירפה צה\"ל צה״ל ארה”ב ב\"הארץ\" ד\"ר 'שלום'", "צ׳ילה ג׳ירפה צה״ל צה״ל ארה״ב הארץ ד״ר שלום"),
    ("col·lecció COL·LEGA a·b 约翰·史密斯", "coŀlecció coŀlega 约翰 史密 密斯"),
    ("GPT으로 Linux에서, GPT-4는 Covid-19에 LG전자 으로 AB가\u0301", "gpt linux gpt-4 covid-19 lg 전자 으로 ab"),
]  # fmt: skip


def words(text, **options):
    return Tally({"tokeniser": "words", "stop_words": None, **options}).words(text)


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_what_a_sentence_becomes(text, expected):
    assert words(text) == words(unicodedata.normalize("NFD", text)) == expected.split()


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=8))
def test_without_case_a_word_is_nfc_still(text):
    assert unicodedata.is_normalized("NFC", fold_case(unicodedata.normalize("NFC", text)))


def test_options_of_words():
    assert words("감기약 물", hangul="pairs") == ["감기", "기약", "물"]
    assert words("NASA's iPhone15", lowercase=False) == ["NASA", "iPhone15"]
    assert words("Die Straße", stop_words=["die", "Straße"]) == []
    for fold in (True, False):  # two forms of one letter
        assert words("হ\u09df নদী", lowercase=fold, stop_words=["হ\u09df"]) == ["নদী"]


def test_a_host_has_a_letter_and_more_than_one_character():
    assert words("see http://x/ab http://xy/ab http://10.0.0.1/ab") == ["see", "xy"]


def all_of_unicode(seed):
    """Return every character once, in random order, some next to letters."""
    points = [
        point
        for point in range(sys.maxunicode + 1)
        if unicodedata.category(chr(point)) not in ("Cn", "Co")
    ]
    random.Random(seed).shuffle(points)
    return "".join(chr(point) + ("ab 1-"[point % 5] if point % 3 else "") for point in points)


def check(text):
    found, counted = words(text), Tally({"tokeniser": "words", "stop_words": None})
    assert found == words(unicodedata.normalize("NFC", text))
    assert all(word.split() == [word] and unicodedata.is_normalized("NFC", word) for word in found)
    assert not any(
        unicodedata.category(sign) in ("Cc", "Cf", "Cs") for word in found for sign in word
    )
    (numbers, counts), names = counted.count(text), list(counted.numbers)
    assert [*zip((names[number] for number in numbers), counts, strict=True)] == [
        *Counter(found).items()
    ]


@pytest.mark.slow
def test_every_character_of_unicode():
    text = all_of_unicode(0)
    for at in range(0, len(text), 4000):
        check(text[at : at + 4000])


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(max_size=60),
        st.text("aé\u0301ः\u064e中か가😀\u200d\ufe0f#@:/.-_w19\x00\xad BC&+", max_size=60),
    )
)
def test_any_text(text):
    check(text)


SHORT_WAY = (
    st.one_of(  # pieces that need not be looked at in full, as long as no sign in them is unusual
        st.text("中京カの3.-/:_。、（）～·aWwC’=&+#", min_size=1, max_size=12),
        st.text("ประเทศ9._ກຂកခ", min_size=1, max_size=12),
        *(
            st.text([*map(chr, range(first, first + 128)), "।", "."], min_size=1, max_size=6)
            for first in range(0x900, 0xE00, 128)
        ),
    )
)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(SHORT_WAY, st.data())
def test_a_soft_hyphen_changes_no_word(text, data):
    text = unicodedata.normalize("NFC", text)
    at = data.draw(st.integers(0, len(text)))
    assert words(text[:at] + "\xad" + text[at:]) == words(text)


@pytest.mark.parametrize(
    "sign", ["a", "1", "@", "#", "a@", "a.", "://", "www.", "-1", "中", "a1", "é-1", "\u200d", "😀"]
)
def test_time_grows_with_the_length(sign):
    began = time.process_time()
    words(sign * 50000 + "!")
    assert time.process_time() - began < 10


def test_counts_and_analyser_agree():
    text = "Tanker #oil 北京 log4j, tanker"
    counts, vocabulary = count_words([text], {"tokeniser": "words"})
    assert dict(zip(vocabulary, counts.toarray()[0].tolist(), strict=True)) == {
        "#oil": 1, "log4j": 1, "tanker": 2, "北京": 1
    }  # fmt: skip


def table_of_the_guide():
    """Return (script, text, words, words by the pattern) of each row of the guide's table of scripts."""
    guide = (ROOT / "docs/guides/documents.md").read_text(encoding="utf-8")
    table = guide.partition(
        "| script | text | words | by the older pattern |\n| --- | --- | --- | --- |\n"
    )[2]
    return [line.strip("| ").split(" | ") for line in table.partition("\n\n")[0].splitlines()]


@pytest.mark.parametrize(("script", "text", "by_words", "by_pattern"), table_of_the_guide())
def test_the_guide_says_what_a_sentence_becomes(script, text, by_words, by_pattern):
    def words_of(**options):
        return ", ".join(analyser({"stop_words": None, **options})(text)) or "nothing"

    found = words_of(tokeniser="words")
    if script == "Hangul":
        found += f"; with `hangul: pairs` {words_of(tokeniser='words', hangul='pairs')}"
    assert (found, words_of(tokeniser="pattern")) == (by_words, by_pattern)


# Of each package: a text, the words that it becomes, and a text of another script, which stays in
# pairs.
SEGMENTED = {
    "jieba": (
        "NASA公司在北京天安门。卫星!",
        "nasa 公司 在 北京 天安门 卫星",
        "タワー",
        "タワ ワー",
    ),
    "janome": (
        "東京タワーと気象衛星、GPT-4",
        "東京 タワー と 気象 衛星 gpt-4",
        "ประเทศ",
        "ประ ระเ ะเท เทศ",
    ),
    "pythainlp": ("ประเทศไทย ดาวเทียม", "ประเทศ ไทย ดาวเทียม", "東京都", "東京 京都"),
}


def segmented(text, name):
    return analyser({"tokeniser": "words", "stop_words": None, "segment": name})(text)


@pytest.mark.parametrize("name", SEGMENTED)
def test_what_a_text_becomes(name):
    pytest.importorskip(name)
    text, expected, other, pairs = SEGMENTED[name]
    assert segmented(text, name) == expected.split()
    assert segmented(other, name) == pairs.split()
    counted = Tally({"tokeniser": "words", "stop_words": None, "segment": name})
    numbers, _ = counted.count(text)
    assert [list(counted.numbers)[number] for number in numbers] == expected.split()


@pytest.mark.parametrize(("name", "first", "last"), [("jieba", 0x3400, 0xA000), ("janome", 0x3040, 0xA000),
                                                     ("pythainlp", 0xE00, 0xE80)])  # fmt: skip
def test_every_character_of_a_script(name, first, last):
    """The segments of a run are not empty, and their concatenation is the run."""
    pytest.importorskip(name)
    for run in excerpts.SPACELESS_RUN.findall("".join(map(chr, range(first, last)))):
        segments = list(segmenter(name)(run))
        assert "".join(segments) == run and all(word.split() == [word] for word in segments)


@pytest.mark.parametrize(
    ("name", "word"), [("jieba", "天安门"), ("janome", "タワー"), ("pythainlp", "ดาวเทียม")]
)
def test_segments_are_marked_in_their_texts(name, word):
    """Names of topics have segments in the spelling of the texts."""
    pytest.importorskip(name)
    text = {
        "jieba": "公司在天安门发射卫星",
        "janome": "東京タワーと気象衛星",
        "pythainlp": "ส่งดาวเทียมขึ้นสู่อวกาศ",
    }[name]
    segments = segmented(text, name)
    assert word in segments
    spans = {
        found: (first, last) for first, last, found in excerpts.places(text, [word, *segments])
    }
    assert spans.keys() >= {segment for segment in segments if len(segment) > 1}
    assert all(text[first:last] == found for found, (first, last) in spans.items())
    assert text[slice(*excerpts.marks(text, [word])[0])] == word
    assert phrasing.phrases([text, f"{word}。"], [word]) == [(word, [word])]


def test_signs_within_words_are_spelled_as_in_the_text():
    text = "п'ять, пʼять! צה\"ל COL·LEGA"
    found = {
        text[first:last] for first, last, _ in excerpts.places(text, ["пʼять", "צה״ל", "coŀlega"])
    }
    assert found == {"п'ять", "пʼять", 'צה"ל', "COL·LEGA"}


def test_words_between_spaces_are_still_whole():
    assert excerpts.marks("oilseed, нефтепровод", ["oil", "нефте"]) == []


@pytest.mark.parametrize("name", SEGMENTED)
def test_what_is_not_installed_is_named(name, monkeypatch, tmp_path):
    for module in [name, *(module for module in sys.modules if module.startswith(f"{name}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    segmenter.cache_clear()
    (tmp_path / "a.csv").write_text("id,text\nx,red brown\n")
    options = {"tokens": {"tokeniser": "words", "segment": name}}
    with pytest.raises(
        ConfigError, match=rf"tokens.segment is '{name}', .* expected the extra {name}; pip install"
    ):
        corpora.read("documents", [tmp_path / "a.csv"], options)


def test_what_cannot_be_asked_for():
    with pytest.raises(ConfigError, match=r"tokens\.segment is set, but the tokeniser 'pattern'"):
        token_options({"segment": "jieba"})
    with pytest.raises(
        ConfigError, match=r"tokens\.segment is 'mecab'; expected one of None, jieba, janome"
    ):
        token_options({"tokeniser": "words", "segment": "mecab"})


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (f"see moz-extension://{GUID}/page.html now", ["see", "now"]),
        (f"x://{GUID.upper()}/", []),
        (f"https://{GUID}.example.org/a", ["example.org"]),
        (f"https://cdn.{GUID}.example.org:8080/", ["cdn.example.org"]),
        (f"me@{GUID}.example.org", [f"{GUID}.example.org"]),
        (f"www.{GUID}", []),
        (f"x://{GUID}.bücher.example/", ["bücher.example"]),
    ],
)
def test_a_guid_in_an_address(text, tokens):
    tally = Tally({"tokeniser": "words", "stop_words": None})
    assert tally.words(text) == tokens
    assert sum(tally.count(text)[1]) == len(tokens)


@pytest.mark.slow
@pytest.mark.parametrize(
    "tokens",
    [{"tokeniser": "words"}, {"tokeniser": "words", "hangul": "pairs", "lowercase": False}, {}],
)
def test_no_token_is_empty_or_has_white_space_or_control_characters(tokens):
    draw, tally = random.Random(4), Tally({**tokens, "stop_words": None})
    for text in [
        *PARTS,
        *(chr(point) for point in range(0x3000)),
        *(odd_text(draw) for _ in range(4000)),
    ]:
        words = tally.words(text)
        assert not [
            word
            for word in words
            if word.split() != [word] or {*map(unicodedata.category, word)} & {"Cc"}
        ]
        numbers, counts = tally.count(text)
        assert sum(counts) == len(words) and len(numbers) == len({*words})


def test_a_pattern_that_finds_white_space_is_told_by_the_text():
    with pytest.raises(ConfigError, match="finds ' '; expected tokens without white space"):
        count_words(["a b"], {"pattern": " "})
