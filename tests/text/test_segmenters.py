"""Segmenters of other packages in the place of pairs: each in its script, and named where it is not installed."""

import sys

import pytest

from odl import corpora
from odl.alerts import excerpts
from odl.errors import ConfigError
from odl.text import segmenters
from odl.text.tokens import analyser, tally, token_options

# Of each package: a text, the words that it becomes, and a text of another script, which stays in pairs.
TEXTS = {
    "jieba": ("NASA公司在北京天安门。卫星!", "nasa 公司 在 北京 天安门 卫星", "タワー", "タワ ワー"),
    "janome": ("東京タワーと気象衛星、GPT-4", "東京 タワー と 気象 衛星 gpt-4", "ประเทศ", "ปร ระ ะเ เท ทศ"),
    "pythainlp": ("ประเทศไทย ดาวเทียม", "ประเทศ ไทย ดาวเทียม", "東京都", "東京 京都"),
}


def words(text, name):
    return analyser({"tokeniser": "words", "stop_words": None, "segment": name})(text)


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_text_becomes(name):
    pytest.importorskip(name)
    text, expected, other, pairs = TEXTS[name]
    assert words(text, name) == expected.split()
    assert words(other, name) == pairs.split()
    counted = tally({"tokeniser": "words", "stop_words": None, "segment": name})
    numbers = counted.of(text)
    assert [list(counted.numbers)[number] for number in numbers] == expected.split()


@pytest.mark.parametrize(("name", "first", "last"), [("jieba", 0x3400, 0xA000), ("janome", 0x3040, 0xA000),
                                                     ("pythainlp", 0xE00, 0xE80)])  # fmt: skip
def test_every_character_of_a_script(name, first, last):
    """Segments are the run again, none of them empty."""
    pytest.importorskip(name)
    for run in excerpts.RUN.findall("".join(map(chr, range(first, last)))):
        segments = list(segmenters.segmenter(name)(run))
        assert "".join(segments) == run and all(word.split() == [word] for word in segments)


@pytest.mark.parametrize(("name", "word"), [("jieba", "天安门"), ("janome", "タワー"), ("pythainlp", "ดาวเทียม")])
def test_segments_are_marked_in_their_texts(name, word):
    """Beside words that are pairs, too; names of topics have them as the texts spell them."""
    pytest.importorskip(name)
    text = {"jieba": "公司在天安门发射卫星", "janome": "東京タワーと気象衛星", "pythainlp": "ส่งดาวเทียมขึ้นสู่อวกาศ"}[name]
    segments = words(text, name)
    assert word in segments
    spans = {found: (first, last) for first, last, found in excerpts.places(text, [word, *segments])}
    assert spans.keys() >= {segment for segment in segments if len(segment) > 1}
    assert all(text[first:last] == found for found, (first, last) in spans.items())
    assert text[slice(*excerpts.marks(text, [word])[0])] == word
    assert excerpts.phrases([text, f"{word}。"], [word]) == [(word, [word])]


def test_words_between_spaces_are_still_whole():
    assert excerpts.marks("oilseed, нефтепровод", ["oil", "нефте"]) == []


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_not_installed_is_named(name, monkeypatch, tmp_path):
    for module in [name, *(module for module in sys.modules if module.startswith(f"{name}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    segmenters.segmenter.cache_clear()
    (tmp_path / "a.csv").write_text("id,text\nx,red brown\n")
    options = {"tokens": {"tokeniser": "words", "segment": name}}
    with pytest.raises(ConfigError, match=rf"tokens.segment is '{name}', .* expected the extra {name}; pip install"):
        corpora.read("documents", [tmp_path / "a.csv"], options)


def test_what_cannot_be_asked_for():
    with pytest.raises(ConfigError, match=r"tokens\.segment with the tokeniser 'pattern', which has no use for it"):
        token_options({"segment": "jieba"})
    with pytest.raises(ConfigError, match=r"tokens\.segment is 'mecab'; expected one of None, jieba, janome"):
        token_options({"tokeniser": "words", "segment": "mecab"})
