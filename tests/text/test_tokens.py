"""Tokens from cached pieces equal those of the regular expression; invalid options are refused."""

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ownfiles import TEXTS
from sklearn.base import clone
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from odl.errors import ConfigError
from odl.text import stopwords
from odl.text import tokens as words


@pytest.mark.slow
@pytest.mark.parametrize(
    "tokens", [{}, {"lowercase": False}, {"stop_words": None}, {"pattern": r"\w+|[^\w\s]"}]
)
@settings(max_examples=150, deadline=None)
@given(texts=st.lists(TEXTS, max_size=6))
def test_tokens_are_those_of_the_pattern(tokens, texts):
    checked = words.token_options(tokens)
    expected = CountVectorizer(
        lowercase=checked["lowercase"],
        token_pattern=checked["pattern"],
        stop_words=checked["stop_words"],
    ).build_analyzer()
    tally = words.Tally(tokens)
    for one in texts + texts:
        numbers, counts = tally.count(one)
        names = list(tally.numbers)
        found = zip((names[number] for number in numbers), counts, strict=True)
        assert tally.words(one) == expected(one) and [*found] == [*Counter(expected(one)).items()]


def test_counts_are_those_of_scikit_learn(monkeypatch):
    monkeypatch.setattr(words, "MAX_CACHED", 1 << 14)  # the cache is emptied on the way
    texts = [
        f"word{chr(97 + number % 26)} wind — “wind” storm_{number} sky’s the rain rain"
        for number in range(20000)
    ]
    counts, vocabulary = words.count_words(texts)
    model = CountVectorizer(token_pattern=words.PATTERN, stop_words="english", dtype=np.int32)
    expected = model.fit_transform(texts)
    assert vocabulary == model.get_feature_names_out().tolist()
    assert counts.dtype == expected.dtype and (counts != expected).nnz == 0


def test_what_only_a_document_left_out_holds_is_no_word():
    tally = words.Tally()
    tally.count("unseen words")
    tally.add(*tally.count("wind"))
    counts, vocabulary = tally.matrix()
    assert vocabulary == ["wind"] and counts.toarray().tolist() == [[1]]


def test_an_analyser_is_copied_with_its_estimator():
    texts = ["crude oil", "oil and wheat"]
    model = CountVectorizer(analyzer=words.analyser({"tokeniser": "words"})).fit(texts)
    for other in (clone(model), pickle.loads(pickle.dumps(model))):
        assert other.fit(texts).vocabulary_ == model.vocabulary_


def test_english_stop_words_are_those_of_scikit_learn():
    assert stopwords.LANGUAGES["english"] == ENGLISH_STOP_WORDS


def test_tokens_are_counted():
    counts, vocabulary = words.count_words(
        ["The Cats and the cats, a cat's x 12th", "dog2 dog"], None
    )
    assert vocabulary == ["cat", "cats", "dog"]
    assert counts.toarray().tolist() == [[1, 2, 0], [0, 0, 1]]
    counts, vocabulary = words.count_words(
        ["The Cats 12"], {"lowercase": False, "stop_words": ["Cats"], "pattern": r"\w+"}
    )
    assert vocabulary == ["12", "The"]


def test_texts_without_tokens_keep_their_rows():
    counts, vocabulary = words.count_words(["", "the", "12"], None)
    assert counts.shape == (3, 0) and vocabulary == []


def test_analyser_equals_the_counter():
    text = "Some Words, some more: words!"
    counts, vocabulary = words.count_words([text])
    assert sorted(set(words.analyser()(text))) == vocabulary
    assert counts.sum() == len(words.analyser()(text))


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ({"lower_case": True}, r"did you mean 'lowercase'"),
        ({"lowercase": "yes"}, "true or false"),
        ({"pattern": "("}, "does not compile"),
        ({"pattern": None}, "tokens.pattern is None"),
        ({"pattern": "(a)(b)"}, "2 groups"),
        ({"stop_words": "klingon"}, "'english', 'german'.* null or a list"),
        ({"stop_words": [1]}, "stop_words.0. is 1"),
        ({"pattern": r"\w+ \w+", "stop_words": None}, "tokens without white space"),
        ("english", "a map"),
    ],
)
def test_wrong_tokens_are_refused(tokens, said):
    with pytest.raises(ConfigError, match=said):
        words.count_words(["some words here"], tokens)
