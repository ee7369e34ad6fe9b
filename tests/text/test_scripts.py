"""Character classes: letters and marks of a script are in one class, scripts are disjoint."""

import re
import unicodedata

from odl.text import scripts


def test_marks_are_in_words_and_vowel_points_are_not():
    letters, whole = (re.compile(f"[{part}]") for part in scripts.alphabets())
    assert all(letters.match(one) for one in "aßжαא가हა9٣")
    assert all(whole.match(one) and not letters.match(one) for one in "\u0301\u093f\u0bcd")
    assert not any(whole.match(one) for one in "-. \u064e\u05b8\u0640\ufe0f中かท")
    assert not re.match(f"[{scripts.alphabets(hangul=False)[0]}]", "가")


def test_format_characters_are_left_out_and_joiners_are_looked_at_apart():
    ignored = re.compile(f"[{scripts.ignored()}]")
    points = [
        point
        for point in range(0x110000)
        if unicodedata.category(chr(point)) == "Cf" and point != 0x200D
    ]
    assert (
        all(map(ignored.match, map(chr, points)))
        and not ignored.match("\u200d")
        and not ignored.match("\n")
    )


def test_script_of_a_letter():
    assert [scripts.script_of(one) for one in "aж1\u0301"] == ["LATIN", "CYRILLIC", "", ""]
