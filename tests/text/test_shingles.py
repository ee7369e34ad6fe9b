"""Shingles and passages: those of the words of a text, whatever their case and marks."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ownfiles import TEXTS

from odl import corpora
from odl.errors import ConfigError
from odl.text import shingles


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(TEXTS, max_size=4))
def test_shingles_are_those_of_words(texts):
    shingler = shingles.Shingler()
    for one in texts:
        one = one.encode("utf-8", "replace").decode()
        numbers = [
            int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
            for word in shingles.WORD.findall(one.lower())
        ]
        keys = set()
        for first in range(max(1, len(numbers) - shingles.WORDS + 1) if numbers else 0):
            key = 0
            for number in numbers[first : first + shingles.WORDS]:
                key = (key * int(shingles.FACTOR) + number) % 2**64
            key = ((key ^ (key >> 31)) * int(shingles.MIXER)) % 2**64
            keys.add((key >> 32) % shingles.SHINGLES)
        assert shingler.of(one).tolist() == sorted(keys)


def test_case_and_punctuation_do_not_count_and_a_short_text_is_one():
    of = shingles.Shingler().of
    assert np.array_equal(of("The storm, over Lima: it rained"), of("the STORM over lima it\nrained!"))
    assert not np.array_equal(of("the storm over lima it rained"), of("the storm over it lima rained"))
    assert len(of("one two")) == 1 and len(of("...")) == 0
    assert not np.array_equal(of("one two"), of("two one"))


def test_shingles_are_left_out_by_default(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "storm flood"}\n')
    assert corpora.read("documents", [tmp_path]).shingles is None
    with pytest.raises(ConfigError, match="duplicates is 1; expected true or false"):
        corpora.read("documents", [tmp_path], {"duplicates": 1})


def test_lines_and_sentences_but_not_the_title_and_what_is_short():
    left, found = shingles.split("Re: one two three\nThanks\nHe came home. It was very late!\nsee you, then")
    assert left == "Re: one two three\nThanks"
    assert list(found.values()) == ["He came home.", "It was very late!", "see you, then"]


def test_the_key_is_of_the_words_alone_and_the_same_in_every_process():
    (one,), (other,) = (shingles.split(f"t\n{text}")[1] for text in ("Page 3 of THE list", "page 12: of the -- list"))
    assert one == other == 10440166898563632097


def test_the_words_are_those_of_the_text():
    text = "Title\nso it is so. And so on and so on, so\n\nso it is so."
    counts, found, parts = shingles.count_words(
        text, lambda part: [*zip(*Counter(part.split()).items(), strict=True)] or ((), ())
    )
    assert counts == dict(Counter(text.split()))
    assert sum(map(len, parts.values())) and found.keys() == parts.keys()
