"""Shingles and passages depend on the words of a text, not on case and punctuation."""

import hashlib
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ownfiles import TEXTS

from odl import corpora
from odl.errors import ConfigError
from odl.stream.duplicates import MIN_JACCARD, jaccard
from odl.text import shingles


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(TEXTS, max_size=4))
def test_shingles_are_those_of_words(texts):
    shingler = shingles.Shingler()
    for one in texts:
        one = one.encode("utf-8", "replace").decode()
        numbers = [
            ord(word)
            if shingles.CHARACTER.match(word)
            else int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
            for word in shingles.WORD_OR_CHARACTER.findall(one.lower())
        ]
        keys, size = (
            set(),
            8 if sum(number < 1 << 21 for number in numbers) > len(numbers) / 2 else 5,
        )
        for first in range(max(1, len(numbers) - size + 1) if numbers else 0):
            key = 0
            for number in numbers[first : first + size]:
                key = (key * int(shingles.SHINGLE_FACTOR) + number) % 2**64
            key = ((key ^ (key >> 31)) * int(shingles.SHINGLE_MIXER)) % 2**64
            keys.add((key >> 32) % shingles.N_SHINGLES)
        assert shingler.shingle(one).tolist() == sorted(keys)


def test_case_and_punctuation_do_not_count_and_a_short_text_is_one():
    of = shingles.Shingler().shingle
    assert np.array_equal(
        of("The storm, over Lima: it rained"), of("the STORM over lima it\nrained!")
    )
    assert not np.array_equal(
        of("the storm over lima it rained"), of("the storm over it lima rained")
    )
    assert len(of("one two")) == 1 and len(of("...")) == 0
    assert not np.array_equal(of("one two"), of("two one"))


STORY = {
    "en": [
        f"On day {n} number {n}{n} of the teams {'abcdefghijklmnopqr'[n]}{n}x left the harbour. "
        for n in range(16)
    ],
    "zh": [
        f"{chr(0x4E10 + n)}日{chr(0x5E00 + n)}队人员一早离开{chr(0x6E00 + n)}港，{chr(0x6F00 + n)}城下雨。"
        for n in range(16)
    ],
    "ja": [
        f"{chr(0x4E10 + n)}日の朝に{chr(0x5E00 + n)}隊は{chr(0x6E00 + n)}港を出て{chr(0x6F00 + n)}町へ向かった。"
        for n in range(16)
    ],
    "th": [
        f"วันที่ {chr(0xE01 + n)}มคณะทำงาน{chr(0xE02 + n)}ีเดินทางออกจากท่าเรือ{chr(0xE03 + n)}่าว "
        for n in range(16)
    ],
}


@pytest.mark.parametrize("language", STORY)
def test_a_story_with_a_changed_sentence_is_the_same_in_every_script(language):
    """Near-duplicates if one of sixteen sentences differs, but not if four differ."""
    of, story = shingles.Shingler().shingle, STORY[language]
    whole = of("".join(story[:15]))
    for changed, alike in ((1, True), (4, False)):
        other = of("".join([*story[: 15 - changed], *story[15:] * changed]))
        assert (jaccard(whole, other) >= MIN_JACCARD) == alike


def test_a_shingle_is_eight_characters_where_most_words_are():
    of = shingles.Shingler().shingle
    assert (
        np.array_equal(of("气象，卫星进入"), of("气象卫星进入。"))
        and len(of("气象卫星进入轨道")) == 1
    )
    assert len(of("气象卫星进入轨道了")) == 2 and len(of("one two three four five 轨道")) == 3


def test_shingles_are_left_out_by_default(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "storm flood"}\n')
    assert corpora.read("documents", [tmp_path]).shingles is None
    with pytest.raises(ConfigError, match="duplicates is 1; expected true or false"):
        corpora.read("documents", [tmp_path], {"duplicates": 1})


def test_lines_and_sentences_but_not_the_title_and_what_is_short():
    left, found = shingles.split(
        "Re: one two three\nThanks\nHe came home. It was very late!\nsee you, then"
    )
    assert left == "Re: one two three\nThanks"
    assert list(found.values()) == ["He came home.", "It was very late!", "see you, then"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("今天下雨了吗？版权所有，不得转载。谢谢大家。", ["今天下雨了吗？", "版权所有，不得转载。"]),
        ("彼は「来た。」と言った。雨が降っていた。ありがとう。", ["彼は「来た。」と言った。", "雨が降っていた。"]),
        ("वह घर आया। बहुत देर हो गई।", ["वह घर आया।", "बहुत देर हो गई।"]),
        ("هل جاء إلى البيت؟ كان الوقت متأخرا", ["هل جاء إلى البيت؟", "كان الوقت متأخرا"]),
        ("ကျွန်ုပ်တို့သွားသည်။မိုးရွာနေသည်။", ["ကျွန်ုပ်တို့သွားသည်။", "မိုးရွာနေသည်။"]),
        ("ខ្ញុំទៅផ្ទះរបស់ខ្ញុំ។មេឃភ្លៀងខ្លាំង។", ["ខ្ញុំទៅផ្ទះរបស់ខ្ញុំ។", "មេឃភ្លៀងខ្លាំង។"]),
        ("คณะทำงานเดินทางออกจากท่าเรือ ในเช้าวันนี้ สมัครรับจดหมายข่าวของเราเพื่อรับข่าวสารเพิ่มเติม ฟรี",
         ["คณะทำงานเดินทางออกจากท่าเรือ ในเช้าวันนี้", "สมัครรับจดหมายข่าวของเราเพื่อรับข่าวสารเพิ่มเติม ฟรี"]),
        ("โดนัลด์ ทรัมป์ เดินทางออกจากท่าเรือในเช้าวันนี้", ["โดนัลด์ ทรัมป์ เดินทางออกจากท่าเรือในเช้าวันนี้"]),
    ],
)  # fmt: skip
def test_sentences_of_other_scripts(text, parts):
    """Sentences end at the signs of their script; in Thai, passages begin at a long phrase."""
    assert list(shingles.split(f"t\n{text}")[1].values()) == parts


def test_the_key_is_of_the_words_alone_and_the_same_in_every_process():
    (one,), (other,) = (
        shingles.split(f"t\n{text}")[1]
        for text in ("Page 3 of THE list", "page 12: of the -- list")
    )
    assert one == other == 10440166898563632097


def test_a_line_that_comes_a_hundred_thousand_times_takes_no_minutes():
    start = time.process_time()
    (passage,) = shingles.split("t\n" + "\n".join(["one two three four five"] * 100_000))[
        1
    ].values()
    assert passage.count("\n") == 99_999
    assert time.process_time() - start < 10


def test_the_words_are_those_of_the_text():
    text = "Title\nso it is so. And so on and so on, so\n\nso it is so."
    counts, found, parts = shingles.count_words(
        text, lambda part: [*zip(*Counter(part.split()).items(), strict=True)] or ((), ())
    )
    assert counts == dict(Counter(text.split()))
    assert sum(map(len, parts.values())) and found.keys() == parts.keys()
