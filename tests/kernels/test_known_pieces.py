"""Words counted by the compiled loop equal those of each piece, in any script, also after a reset."""

import sys
import unicodedata
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ownfiles import TEXTS

from odl.kernels import known_pieces
from odl.text import tokens, words
from odl.text.tokens import Tally

OPTIONS = [
    {},
    {"lowercase": False, "stop_words": None},
    {"tokeniser": "words"},
    {"tokeniser": "words", "lowercase": False, "stop_words": ["The", "我爱"], "hangul": "pairs"},
    {"tokeniser": "words", "stop_words": None},
]
SIGNS = (
    *"abIWXY -./:?=&%+~_@#09\t\n\x00\x1e\x7f\xad«»。、（）～·—’”…।،",
    *"éÉßİıſςΣёЁשא\u05b0عة\u064e감약hिक\u200d\ud800\U00020000😀\ufdfa",
    *(
        "我爱",
        "カー々タ",
        "ประเทศ",
        "ກຂ",
        "កខ",
        "မြန်",
        "ＡＩ",
        "ｶﾞ",
        "http://",
        "WWW.",
        "ww",
        " the ",
        "我爱",
    ),
    *("'", '"', "ʼ", "׳", "״", "п'є", "л’", 'ב"א', "l·l", "L·", "T으로", "A_B", "감을"),
)
PIECES = st.lists(st.sampled_from(SIGNS), max_size=30).map("".join)


def check(counted, text):
    """Assert that words are counted and numbered in the order of the text."""
    met, (numbers, counts) = len(counted.numbers), counted.count(text)
    expected = Counter(counted.words(text))
    assert numbers.tolist() == [counted.numbers.get(word) for word in expected]
    assert counts.tolist() == [*expected.values()]
    assert [number for number in numbers if number >= met] == [*range(met, len(counted.numbers))]


@pytest.mark.parametrize(
    "options", [OPTIONS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in OPTIONS[1:])]
)
@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(PIECES, TEXTS), max_size=5))
def test_words_are_those_of_each_piece(options, texts):
    counted = Tally(options)
    for text in texts + texts:
        check(counted, text)


@pytest.mark.slow
@pytest.mark.parametrize("tokeniser", ["words", "pattern"])
@pytest.mark.parametrize("kept", [1 << 14, 1 << 19])
def test_what_is_full_begins_anew(tokeniser, kept, monkeypatch):
    monkeypatch.setattr(tokens, "MAX_CACHED", kept)
    counted = Tally({"tokeniser": tokeniser})
    for first in range(0, 40000, 1000):
        check(
            counted,
            " ".join(
                f"q{at:x}z-{at % 7}é, é{at}. 我{chr(0x4E00 + at % 20000)}"
                for at in range(first, first + 1000)
            ),
        )
    assert (counted.pieces.n_pieces > 40000) == (kept > 1 << 14)


@pytest.mark.parametrize(
    "sign", ["a", "é", "我", "é-1", "/", "http://", "a ", "我\n", "log4j\t", "ab,", "x.de/é;"]
)
@pytest.mark.parametrize("tokeniser", ["words", "pattern"])
def test_a_text_of_any_length(sign, tokeniser, monkeypatch):
    monkeypatch.setattr(tokens, "BUFFER", 1 << 12)
    counted = Tally({"tokeniser": tokeniser})
    for text in ("the end", sign * 20000, sign * 2000 + "!", "http://x.de/a," + sign * 20000):
        check(counted, text)


def test_an_error_leaves_no_piece_without_its_words():
    counted = Tally({"tokeniser": "words"})
    split = counted.pieces.split
    for stop in range(20):  # more than there is room for

        def fail(piece, stop=stop):
            raise ValueError(stop)

        counted.pieces.split = fail
        with pytest.raises(ValueError, match=str(stop)):
            counted.count(" ".join(f"log{at}j-{stop}{'k' * 90}" for at in range(1000)))
    counted.pieces.split = split
    check(counted, "log7j-3 log4j, the tanker")


def test_nobody_knows_which_pieces_share_a_slot():
    places = [Tally({"tokeniser": "words"}) for _ in range(2)]
    for counted in places:
        counted.count("the tanker left harbour with crude oil and more")
    assert (places[0].pieces.table[0] != places[1].pieces.table[0]).any()


def test_a_name_in_quotes_that_edges_would_hide():
    check(Tally({"tokeniser": "words"}), "“C++” C++’s é’")
    assert Tally({"tokeniser": "words"}).words("“C++”") == ["c++"]


@pytest.mark.parametrize("hangul", ["words", "pairs"])
def test_no_character_has_more_words_than_there_is_room_for(hangul):
    counted = Tally({"tokeniser": "words", "stop_words": None, "hangul": hangul})
    long = [
        sign
        for sign in map(chr, range(sys.maxunicode + 1))
        if len(unicodedata.normalize("NFKC", sign)) > 2
    ]
    most = max(len(counted.words(sign * 4)) / len(sign.encode() * 4) for sign in long)
    assert 1 < most <= 4 / 3


def test_who_calls_the_kernel_has_its_numbers():
    """Kinds of signs have the same numbers in Python and C++."""
    kinds = words.kinds(words.CUT)
    named = {
        " ": "CUT",
        "-": "EDGE",
        "7": "SIGN",
        "z": "LATIN",
        "\u0e4f": "OTHER",
        "\u3002": "APART",
        "\u6771": "PAIRS",
    }
    assert {sign: kinds[ord(sign)] for sign in named} == {
        sign: getattr(known_pieces, name) for sign, name in named.items()
    }
    assert kinds[ord("\u0e01")] > known_pieces.PAIRS
