"""Headlines: which words may name one, which belong together, what they are called."""

import numpy as np
import pytest
from scipy import sparse

from odl.alerts import headlines, surprise

WORDS = ["calendar", "load", "monday", "rare", "common", "other"]


def evidence_of(t):
    t = np.array(t, dtype=float)
    return surprise.Evidence(t, t, t, t, t)


def matrix(*rows):
    return sparse.csr_array(np.array(rows, dtype=float))


X = matrix(
    [1, 1, 0, 0, 1, 0],
    [1, 1, 1, 0, 1, 0],
    [1, 0, 1, 1, 0, 0],
    [0, 0, 1, 0, 1, 1],
    [0, 0, 0, 0, 1, 1],
)
T = [9.0, 8.0, 7.0, 1.5, 6.0, 5.0]


def candidates(t=T, frequencies=(0, 0, 0, 0, 90, 2), barred=frozenset()):
    counts = surprise.Counts.from_documents(X, sparse.csr_array(X.shape))
    return headlines.find_terms(evidence_of(t), counts, np.array(frequencies), 100, WORDS, barred)


@pytest.mark.parametrize(
    ("word", "may"),
    [("ebola", True), ("march", False), ("märz", False), ("понедельник", False), ("2019", False), ("v75", True),
     ("example.org", False), ("3fa9bc01", False), ("@odl", False), ("#oscars", True), ("2003disease", False),
     ("license", True), ("🚦", False), ("5g", True)],
)  # fmt: skip
def test_dates_hosts_hashes_and_accounts_name_nothing(word, may):
    assert headlines.may_name(word) == may


def test_months_are_those_of_many_languages():
    assert {"január", "styczeń", "août", "τετάρτη", "一月"} <= headlines.CALENDAR


def test_candidates_are_rare_words_that_may_name_the_strongest_first():
    assert [WORDS[term] for term in candidates()] == ["calendar", "load", "other", "rare"]
    assert [WORDS[term] for term in candidates(barred=frozenset({"load"}))] == [
        "calendar",
        "other",
        "rare",
    ]


def test_words_whose_documents_overlap_by_half_are_one_headline():
    first, second = headlines.group_terms(
        candidates(), evidence_of(T), X, np.zeros(6, dtype=bool), 5
    )
    assert [WORDS[term] for term in first.terms] == [
        "calendar",
        "load",
    ] and first.rows.tolist() == [0, 1, 2]
    assert [WORDS[term] for term in second.terms] == ["other"] and second.t == 5.0


def test_equal_words_are_ordered_by_documents_then_by_number():
    assert candidates([3.0] * 6)[:3].tolist() == [0, 1, 5]


def test_new_words_in_most_documents_are_a_change_of_form():
    many = sparse.csr_array(np.ones((12, 1)))
    for new in (True, False):
        (draft,) = headlines.group_terms(
            np.array([0]), evidence_of([9.0]), many, np.array([new]), 5
        )
        assert draft.form == new


def test_a_name_is_spelled_as_the_texts_and_fits():
    draft = headlines.group_terms(candidates(), evidence_of(T), X, np.zeros(6, dtype=bool), 1)[0]
    texts = ["Google Calendar does not load", "Calendar: load", "the Calendar"]
    assert headlines.name_headline(
        draft, evidence_of(T), WORDS, lambda rows: [texts[row] for row in rows]
    ) == (
        "Calendar",
        "load",
    )
    assert headlines.name_headline(draft, evidence_of(T), WORDS, lambda rows: []) == (
        "calendar",
        "load",
    )
    long = ["x" * 70, "y" * 20, "z"]
    draft = headlines.Draft(np.arange(3), np.arange(2), 3.0, 3.0, 3.0)
    assert headlines.name_headline(draft, evidence_of([3.0] * 3), long, lambda rows: []) == (
        "x" * 60,
    )


@pytest.mark.parametrize(
    ("part", "texts", "words", "whole"),
    [
        ("ons", ["my add-ons", "Add-ons fail", "add-ons and add ons"], set(), "add-ons"),
        ("multi", ["a multi-country outbreak", "multi-country"], set(), "multi-country"),
        ("fail", ["fail-safe", "it does fail", "fail again"], set(), "fail"),
        (
            "flighted",
            ["Cancelled Flighted!", "is Cancelled Flighted now"],
            {"cancelled", "now"},
            "Cancelled Flighted",
        ),
        ("load", ["does not load", "will not load"], {"does", "will"}, "load"),
        ("rare", ["one rare word"], {"word"}, "rare"),
    ],
)
def test_a_part_of_a_name_has_what_nearly_always_stands_with_it(part, texts, words, whole):
    period = headlines.phrasing.PeriodTexts(texts, len(texts), dict.fromkeys(words, 2))
    draft = headlines.Draft(np.array([0]), np.arange(len(texts)), 9.0, 9.0, 9.0)
    (found,) = headlines.name_headline(
        draft, evidence_of([9.0]), [part], lambda rows: [texts[row] for row in rows], period
    )
    assert found == whole


def test_no_part_of_a_name_begins_another_one():
    draft = headlines.Draft(np.arange(4), np.arange(2), 9.0, 9.0, 9.0)
    words = ["uganda", "ugandan", "gulu", "ebola"]
    assert headlines.name_headline(draft, evidence_of([9.0] * 4), words, lambda rows: []) == (
        "uganda",
        "gulu",
        "ebola",
    )


def test_headlines_of_many_documents_are_those_of_a_dense_product(rng):
    many = sparse.random_array((3000, 40), density=0.02, rng=rng, format="csr")
    t = 9 - np.arange(40) / 10
    for draft in headlines.group_terms(
        np.arange(40), evidence_of(t), many, np.zeros(40, dtype=bool), 40
    ):
        has = many.toarray() > 0
        rows = has[:, draft.terms[0]]
        assert draft.rows.tolist() == np.flatnonzero(rows).tolist()
        both = (has[rows][:, draft.terms[1:]]).sum(axis=0)
        assert (both >= 0.5 * np.minimum(rows.sum(), has[:, draft.terms[1:]].sum(axis=0))).all()


def test_examples_are_central_and_in_the_usual_language():
    Q = matrix([1, 0, 0], [0.8, 0.6, 0], [0.6, 0.8, 0], [0, 0, 1])
    assert headlines.find_central(Q, np.arange(4), None, 2).tolist() == [1, 2]
    told = ["hungarian", "hungarian", "english", "hungarian"]
    assert headlines.find_central(Q, np.arange(4), told, 4).tolist() == [0, 1, 3]
