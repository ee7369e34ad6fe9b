"""Phrases: words that the texts of a period have together; runs without spaces; names of topics."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from odl.alerts import excerpts, phrasing

WORDS = st.lists(st.sampled_from(["oil", "new_york", "Öl", "石油", "c++", "_", ""]), max_size=5)


def test_phrases_are_those_of_the_text():
    """Words stand as the text spells them; a phrase has three words at most, a run of pairs as many as it takes."""
    text = "The iPhone of NASA, Köln: low earth orbit satellite launch. 気象衛星を打ち上げ"
    assert phrasing.phrases([text], ["iphone", "nasa", "köln"]) == [
        ("iPhone", ["iphone"]),
        ("NASA", ["nasa"]),
        ("Köln", ["köln"]),
    ]
    assert phrasing.phrases([text], ["orbit", "low", "earth"]) == [
        ("low earth orbit", ["orbit", "low", "earth"])
    ]
    longer = ["orbit", "low", "earth", "satellite"]
    assert phrasing.phrases([text], longer) == [
        ("earth orbit satellite", ["orbit", "earth", "satellite"]),
        ("low", ["low"]),
    ]
    pairs = ["気象", "象衛", "衛星", "打ち", "上げ"]
    assert phrasing.phrases([text], pairs) == [("気象衛星", pairs[:3]), ("打ち上げ", pairs[3:])]
    assert phrasing.phrases([""], ["oil", "absent"]) == [("oil", ["oil"]), ("absent", ["absent"])]


@pytest.mark.slow
@given(st.text(max_size=300), WORDS)
def test_each_word_is_in_one_phrase(text, words):
    assert sorted(word for _, own in phrasing.phrases([text], words) for word in own) == sorted(
        words
    )


def test_points_and_signs_belong_to_their_letters():
    pointed = "السَّلَامُ عَلَيْكُمْ"
    assert phrasing.phrases([pointed], ["السلام", "عليكم"]) == [(pointed, ["السلام", "عليكم"])]
    assert phrasing.phrases(["हिन्दी में"], ["हिन्दी"]) == [("हिन्दी", ["हिन्दी"])]
    assert (
        excerpts.mark_words(pointed, ["عليكم"], "<{}>".format, "{}:".format) == "السَّلَامُ :<عَلَيْكُمْ>:"
    )
    assert phrasing.phrases(["감기약 값이"], ["감기", "기약"]) == [("감기약", ["감기", "기약"])]
    spelled = ["Straße", "İzmir", "#Flood", "Example.com"]
    text = f"({spelled[0]}) «{spelled[1]}» {spelled[2]}! http://www.{spelled[3]}/a"
    words = ["strasse", "izmir", "#flood", "example.com"]
    assert phrasing.phrases([text], words) == [
        (one, [word]) for one, word in zip(spelled, words, strict=True)
    ]


def test_emoji_are_spelled_whole_and_in_no_phrase():
    texts = ["#Stromausfall😱 🤷‍♀️", "kein Strom #Stromausfall😱 👩🏽‍🚀"]
    words = ["#stromausfall", "😱", "🤷♀", "👩🚀"]
    assert phrasing.phrases(texts, words) == [
        ("#Stromausfall", ["#stromausfall"]),
        ("😱", ["😱"]),
        ("🤷‍♀️", ["🤷♀"]),
        ("👩🏽‍🚀", ["👩🚀"]),
    ]


def test_a_part_of_a_run_begins_with_a_letter():
    """A triple of Thai may begin with a mark of the letter before it."""
    assert phrasing.phrases(["ชาวบราซิลผู้นี้ได้ลง"], ["ู้น", "ลง"]) == [("ผู้นี้", ["ู้น"]), ("ลง", ["ลง"])]
    assert excerpts.places("ผู้นี้ผู้นี้", ["ู้น"]) == [(0, 6, "ู้น"), (6, 12, "ู้น")]


def test_a_run_without_spaces_is_whole_to_both_sides():
    """With each character that stands beside it in four of five places, and no further than is told."""
    texts = ["の気象衛星を打", "新気象衛星の", "気象衛星"]
    assert phrasing.phrases(texts, ["象衛"]) == [("気象衛星", ["象衛"])]
    assert phrasing.phrases([*texts, "対象衛生"], ["象衛"]) == [
        ("象衛", ["象衛"])
    ]  # three of four places
    assert phrasing.phrases([*texts, *texts, "対象衛星"], ["象衛"]) == [
        ("気象衛星", ["象衛"])
    ]  # six of seven


def test_a_run_ends_where_the_text_begins():
    texts = ["象衛星は星", "象衛星の星"]
    assert phrasing.phrases(texts, ["衛星"]) == [("象衛星", ["衛星"])]


def test_each_text_is_composed_once(monkeypatch):
    read = []
    monkeypatch.setattr(phrasing, "_compose", lambda text: read.append(text) or text)
    texts = phrasing.Texts(["a", "", "b"])
    assert texts(np.arange(3)) == texts([0, 1, 2]) == ["a", "b"] and read == ["a", "b"]


def period(texts, n):
    """A period of n texts, these and others that have none of their words."""
    texts = [*texts, *["other"] * (n - len(texts))]
    vocabulary = sorted({word for text in texts for word in text.split()})
    X = sparse.csr_array(
        [[word in text.split() for word in vocabulary] for text in texts], dtype=int
    )
    return phrasing.PeriodTexts.from_counts(texts, X, vocabulary)


@pytest.mark.parametrize(
    ("together", "duct", "tape", "joined"),
    [
        (1, 0, 0, True),
        (1, 9, 0, False),
        (5, 0, 20, True),
        (2, 20, 20, False),
        (2, 1, 3, True),
        (1, 2, 3, False),
    ],
)
def test_a_phrase_is_of_words_that_the_period_has_together(together, duct, tape, joined):
    """Whatever one text says: a word that others have often without the other one is by itself."""
    texts = ["duct tape"] * together + ["duct holds"] * duct + ["tape holds"] * tape
    parts = [
        part
        for part, _ in phrasing.phrases(["duct tape"], ["duct", "tape"], period=period(texts, 200))
    ]
    assert parts == (["duct tape"] if joined else ["duct", "tape"])


def test_three_words_are_a_phrase_of_two_texts_and_need_a_link_at_each_place():
    words, text = ["low", "earth", "orbit"], "low earth orbit"
    told = [phrasing.phrases([text], words, period=period([text] * n, 100)) for n in (1, 2)]
    assert [part for part, _ in told[0]] == ["low", "earth orbit"]
    assert told[1] == [(text, words)]
    apart = period([text] * 2 + ["orbit of"] * 30, 100)
    assert [part for part, _ in phrasing.phrases([text], words, period=apart)] == [
        "low earth",
        "orbit",
    ]


def test_a_light_word_neither_begins_nor_ends_a_phrase():
    weights = {"to": 0.2, "low": 1.0, "orbit": 1.0}
    assert [part for part, _ in phrasing.phrases(["to low orbit"], weights)] == ["to", "low orbit"]
    assert [part for part, _ in phrasing.phrases(["to low orbit"], weights | {"to": 0.25})] == [
        "to low orbit"
    ]
    assert [part for part, _ in phrasing.phrases(["low to orbit"], weights)] == ["low to orbit"]


def test_a_run_is_cut_at_pieces_of_few_texts_which_go_to_what_is_beside_them():
    texts = ["卫星发射"] * 2 + ["卫星"] * 9 + ["发射"] * 9
    words = ["星发", "卫星", "发射"]
    assert phrasing.phrases(["卫星发射"], words) == [("卫星发射", words)]
    assert phrasing.phrases(texts, words) == [("卫星", ["星发", "卫星"]), ("发射", ["发射"])]


def test_no_part_of_a_name_repeats_another_one():
    texts = ["星ひま x", "のひま y", "がひま z", *["ひまから最初の画像"] * 2]
    words = [pair for at in range(8) if (pair := "ひまから最初の画像"[at : at + 2])]
    assert [part for part, _ in phrasing.phrases(texts, words, 2)] == ["ひまから最初の画像"]
    assert phrasing.phrases(["気象衛星と気象", "気象衛星"], ["気象", "象衛"]) == [
        ("気象衛星", ["気象", "象衛"])
    ]


def test_a_run_ends_after_24_characters_or_48_letters():
    letters = "天地人山水火木金土日月星雨雪风云花草树鸟鱼马牛羊门窗"
    ((whole, _),) = phrasing.phrases([f"a {letters} b"] * 3, ["火木"])
    assert len(whole) == 24 and whole in letters and "火木" in whole
    thai = "มหาวิทยาลัยเทคโนโลยีพระจอมเกล้า"
    assert phrasing.phrases([f"ที่ {thai} ใน"] * 3, ["หาว"]) == [(thai, ["หาว"])] and len(thai) > 24


def test_particles_are_no_part_of_a_japanese_phrase():
    told = phrasing.phrases(
        ["の旅行 な観光は お茶"], ["の旅", "旅行", "な観", "観光", "光は", "お茶"]
    )
    assert told == [
        ("旅行", ["の旅", "旅行"]),
        ("観光", ["な観", "観光", "光は"]),
        ("お茶", ["お茶"]),
    ]
    assert phrasing.phrases(["それは"], ["それ", "れは"]) == [("それは", ["それ", "れは"])]


def test_a_word_of_katakana_is_whole():
    """Other words that end or begin alike do not cut it, nor does a particle."""
    texts = ["カメラのシャッターに触る", "センターに行く", "ルールのシャツ", "スタジオのルール"]
    assert phrasing.phrases(texts[:1], ["ーに"], period=phrasing.PeriodTexts(texts, 4)) == [
        ("シャッター", ["ーに"])
    ]
    assert phrasing.phrases(texts[3:], ["のル"], period=phrasing.PeriodTexts(texts, 4)) == [
        ("ルール", ["のル"])
    ]
    assert phrasing.phrases(texts[:1], ["シャ"], period=phrasing.PeriodTexts(texts, 4)) == [
        ("シャッター", ["シャ"])
    ]
    assert len(phrasing.phrases(["ラ" * 999], ["ララ"])[0][0]) <= 3 * phrasing.RUN_CHARACTERS


def test_a_phrase_of_one_script_does_not_go_across_a_space():
    assert [part for part, _ in phrasing.phrases(["السكان 火山灰"], ["السكان", "火山"])] == [
        "السكان",
        "火山",
    ]


def test_no_phrase_has_half_of_a_word():
    told = phrasing.phrases(["The agency hasn't, it HASN’T"], ["agency", "hasn"])
    assert told == [("agency hasn't", ["agency", "hasn"])]
    assert phrasing.phrases(["aujourd'hui"], ["aujourd", "hui"]) == [
        ("aujourd'hui", ["aujourd", "hui"])
    ]
    assert excerpts.marks("Kennedy's", ["kennedy"]) == [(0, 7)]


def test_texts_of_a_period_go_with_it():
    period = phrasing.PeriodTexts(["気象衛星を打上", "新気象衛星の"], 2)
    assert phrasing.phrases(["気象衛星を打上"], ["象衛"], period=period) == [("気象衛星", ["象衛"])]
    left = weakref.ref(period)
    gc.disable()
    try:
        del period
        assert left() is None
    finally:
        gc.enable()
