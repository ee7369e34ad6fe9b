"""Tokens and shingles by remembered pieces: exactly those of the regular expressions, for any text."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from odl.corpora import counting, shingles, stopwords, text

# Letters and digits of several kinds, spaces and dashes that are not ASCII, case that changes lengths, half a pair.
SIGNS = "aBz19_ -.'\n\t\x1cé\u0130ΣςßÅ²٠中。\u0301\u2014\u2019\u00a0\u2028\u200d\U0001f600\ud800"
TEXTS = st.one_of(st.text(st.sampled_from(SIGNS), max_size=80), st.text(max_size=40))


@pytest.mark.parametrize("tokens", [{}, {"lowercase": False}, {"stop_words": None}, {"pattern": r"\w+|[^\w\s]"}])
@settings(max_examples=150, deadline=None)
@given(texts=st.lists(TEXTS, max_size=6))
def test_tokens_are_those_of_the_pattern(tokens, texts):
    checked = text.token_options(tokens)
    expected = CountVectorizer(
        lowercase=checked["lowercase"], token_pattern=checked["pattern"], stop_words=checked["stop_words"]
    ).build_analyzer()
    tally = text.tally(tokens)
    numbers = [tally.of(one) for one in texts + texts]
    words = list(tally.numbers)
    assert [[words[number] for number in found] for found in numbers] == [expected(one) for one in texts + texts]


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


def test_counts_are_those_of_scikit_learn(monkeypatch):
    monkeypatch.setattr(counting, "KEPT", 7)  # forgets on the way
    texts = [f"word{chr(97 + number % 26)} wind — “wind” storm_{number} sky’s the rain rain" for number in range(60)]
    counts, vocabulary = text.count_words(texts)
    model = CountVectorizer(token_pattern=counting.PATTERN, stop_words="english", dtype=np.int32)
    expected = model.fit_transform(texts)
    assert vocabulary == model.get_feature_names_out().tolist()
    assert counts.dtype == expected.dtype and (counts != expected).nnz == 0


def test_what_only_a_document_left_out_holds_is_no_word():
    tally = text.tally()
    tally.of("unseen words")
    tally.add(tally.of("wind"))
    counts, vocabulary = tally.matrix()
    assert vocabulary == ["wind"] and counts.toarray().tolist() == [[1]]


def test_english_stop_words_are_those_of_scikit_learn():
    assert frozenset(stopwords.ENGLISH.split()) == ENGLISH_STOP_WORDS
