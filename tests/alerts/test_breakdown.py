"""Printed parts of a score: they add up, for any shares, and say what they leave out."""

import re
from dataclasses import replace

import newpages
import numpy as np
import pytest
import watched
from hypothesis import given
from hypothesis import strategies as st

from odl.alerts import breakdown, maps, read
from odl.alerts.model import Reason, Rest
from odl.files import terminal

SHARES = st.lists(st.floats(-1, 1, allow_nan=False), max_size=30)


def alert(shares, own=(), context=0.0, kept=12, rest=True):
    """An alert with these shares, in the order in which a period keeps them."""
    up, low = sorted((x for x in shares if x > 0), reverse=True), [x for x in shares if x <= 0]
    reasons = [Reason(f"w{i}", x) for i, x in enumerate(up[:kept])]
    reasons += [Reason(f"own{i}", x) for i, x in enumerate(own)][: max(kept - len(reasons), 0)]
    left = Rest(len(up[kept:]), max(up[kept:], default=0.0), len(low), sum(low))
    plain = newpages.watch().periods[-1].documents_of[0]
    score = sum(shares) + sum(own) + context
    return replace(plain, score=score, reasons=tuple(reasons), led=len(up[:kept]), own=sum(own), context=context,
                   rest=left if rest else None)  # fmt: skip


@pytest.mark.slow
@given(SHARES, SHARES, st.floats(-0.5, 0.5), st.booleans())
def test_printed_parts_add_up(shares, own, context, rest):
    each = alert(shares, own, context, rest=rest)
    if each.score <= 0.05:
        return
    printed = [int(number) for number in re.findall(r" (-?\d+) %(?!\))", breakdown.line(each))]
    assert sum(printed) == 100 and 0 not in printed


def test_words_of_its_own_are_spelled_and_joined_as_in_the_text():
    each = replace(alert([], own=[0.6, 0.4]), text="NASA sagt, die Kräfte in Köln")
    own = tuple(Reason(word, 0.5) for word in ("köln", "nasa"))
    assert breakdown.line(replace(each, reasons=own)) == "words of its own 100 % (Köln NASA)"
    each, pairs = (
        replace(each, text="新しい気象衛星が"),
        tuple(Reason(word, 1 / 3) for word in ("気象", "象衛", "衛星")),
    )
    assert breakdown.line(replace(each, reasons=pairs)) == "words of its own 100 % (気象衛星)"
    each = replace(each, text="في القمر", reasons=(Reason("القمر", 1.0),))
    assert breakdown.line(each) == "words of its own 100 % (\u2068القمر\u2069)"


def test_words_of_its_own_without_spaces_are_runs_and_no_parts_of_them():
    each = replace(alert([0.6], own=[0.4]), text="นักวิทยาศาสตร์ชื่นชมดาวเทียม")
    shares = [
        ("ดาว", 0.6),
        *((word, 0.1) for word in ("กวิ", "ชมด", "ชื่")),
    ]  # others of its own are not kept
    each = replace(each, reasons=tuple(Reason(*share) for share in shares))
    assert breakdown.line(each).endswith("words of its own 40 % (นักวิทยาศาสตร์ชื่นชม)")
    each = replace(
        each,
        text="卫星今天发射，进入轨道",
        reasons=tuple(
            Reason(*share)
            for share in [("发射", 0.6), ("入轨", 0.1), ("天发", 0.1), ("轨道", 0.1), ("进入", 0.1)]
        ),
    )
    assert breakdown.line(each).endswith("words of its own 40 % (进入轨道)")


def test_korean_pairs_are_shown_as_words():
    each = replace(alert([0.3, 0.2]), text="교통 연구에 다누리 우주선이 쓰인다")
    each = replace(each, reasons=(Reason("구에", 0.3), Reason("주선", 0.2)))
    assert breakdown.phrases(each, 2) == [("연구에", 0.3), ("우주선이", 0.2)]
    assert breakdown.opening(replace(each, opening=("누리", "주선"))) == ["다누리", "우주선이"]


def test_words_are_named_until_half_of_the_score_is():
    each = alert([0.3, 0.15, 0.1, 0.1, 0.1, 0.05], own=[0.15, 0.05])
    assert [part.label for part in breakdown.parts(each) if part.kind == "word"] == [
        "w0",
        "w1",
        "w2",
    ]
    line = "w0 30 %, w1 15 %, w2 10 %, and 3 more words 25 % (none above 10 %), words of its own 20 % (own0 own1)"
    assert breakdown.line(each) == line
    assert breakdown.named(alert([0.6, 0.4]))[-1].word == "w0"


def test_phrases_stand_by_their_sum():
    each = replace(alert([0.2, 0.15, 0.12, 0.1, 0.43]), text="the w1 and w2 w3 of w4")
    assert breakdown.phrases(each) == [("w0", 0.43), ("w1", 0.2)]
    each = replace(alert([0.16, 0.14, 0.13, 0.12, 0.1]), text="a w0 and a w1 w2")
    assert [(phrase, round(share, 2)) for phrase, share in breakdown.phrases(each)] == [
        ("w1 w2", 0.27),
        ("w0", 0.16),
    ]


def test_a_phrase_is_told_as_it_is_kept_with_all_its_words():
    """Those beyond half of the score as well; what is left is summed up without them."""
    kept = (("W0 w3", ("w0", "w3")), ("W1", ("w1",)))
    each = replace(alert([0.4, 0.3, 0.14, 0.12, 0.04]), phrases=kept, text="w0 w1 w2 w3")
    assert breakdown.line(each) == "W0 w3 52 %, W1 30 %, and 2 more words 18 % (none above 14 %)"
    assert [reason.word for reason in breakdown.named_words(each)] == ["w0", "w1", "w3"]
    assert breakdown.opening(replace(each, opening=("w3", "w2"))) == ["W0 w3", "w2"]


def test_an_atom_is_told_by_runs_and_as_the_text_spells_it():
    each = replace(alert([0.6]), text="NASA Köln")
    assert breakdown.near(each, ("衛星", "köln", "象衛", "気象", "oil")) == [
        "気象衛星",
        "Köln",
        "oil",
    ]


@pytest.mark.parametrize(
    ("largest", "bound"),
    [
        (0.021, "3"),
        (0.015, "2"),
        (0.0101, "2"),
        (0.01, "1"),
        (0.0092, "1"),
        (0.009, ".9"),
        (0.0041, ".5"),
    ],
)
def test_no_further_word_is_above_the_bound_that_is_printed(largest, bound):
    line = breakdown.line(alert([1.0 - 4 * largest, *[largest] * 4]))
    assert re.search(rf"and 4 more words \d+ % \(none above {re.escape(bound)} %\)$", line)


def test_words_that_lower_the_score_are_shown_as_such():
    line = breakdown.line(alert([0.9, 0.3, -0.1, -0.1]))
    assert line == "w0 90 %, w1 30 %, 2 words that lower the score -20 %"
    assert breakdown.line(alert([0.6, 0.6, -0.2])).endswith("1 word that lowers the score -20 %")
    assert breakdown.line(alert([0.9, 0.3, -0.2], rest=False)) == "w0 90 %, other words 10 %"


def test_a_short_line_names_what_is_large_unless_it_exceeds_the_score():
    assert breakdown.line(alert([0.4, 0.2, 0.2, 0.2, -0.2]), short=True) == "w0 50 %"
    assert breakdown.line(alert([0.6, 0.6, -0.2]), short=True).endswith(
        "1 word that lowers the score -20 %"
    )


def test_what_pulls_down_words_of_its_own_alone_is_taken_off_them():
    """No part of a document is more than all of its score where no other word raises it."""
    assert (
        breakdown.line(alert([], own=[0.6, 0.42], context=-0.02))
        == "words of its own 100 % (own0 own1)"
    )
    assert (
        breakdown.line(alert([-0.05], own=[0.6, 0.5], context=-0.05))
        == "words of its own 100 % (own0 own1)"
    )
    told = breakdown.line(alert([0.2], own=[0.9], context=-0.1))
    assert told == "w0 20 %, words of its own 90 % (own0), context -10 %"
    assert (
        breakdown.line(alert([], own=[0.8], context=0.2))
        == "words of its own 80 % (own0), context 20 %"
    )


def test_many_small_words_have_a_bound():
    line = breakdown.line(alert([0.001] * 540 + [0.46]))
    assert line == "w0 46 %, and 540 more words 54 % (none above .1 %)"


@pytest.mark.slow
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20))
def test_largest_remainders(values):
    whole = breakdown.apportion(values)
    assert sum(whole) == round(sum(values)) and all(
        abs(a - b) < 1 + 1e-9 for a, b in zip(whole, values, strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("rest", [False, True])
def test_a_stream_adds_up(tmp_path, rest):
    """In all forms; with context, which only a score of the batch has."""
    run = watched.run_of("adaptive", 20, context=0.4, contrast=0.3)
    watched.follow(tmp_path, run, watched.LAUNCHES[:7], {"rest": rest})
    watch, n = read.alerts_of(tmp_path), 0
    for each in [each for period in watch.periods for each in period.documents_of.values()]:
        n += 1
        held = maps.document_map(watch, watch.periods[each.t], each)
        assert (
            sum(percent for _, _, percent in held["parts"]) == 100
            and (held["rest"] is not None) == rest
        )
        if rest:
            low = (
                each.score
                - each.context
                - each.own
                - sum(reason.share for reason in each.reasons[: each.led])
            )
            assert each.rest.words * each.rest.largest + each.rest.down >= low - 1e-6
            assert np.isclose(low, each.rest.down, atol=1e-6) or each.rest.words
    assert n > 10


@pytest.mark.parametrize(("last", "told"), [(0.05, "w1 5 %"), (0.04, "and 1 more word 4 %")])
def test_the_last_word_is_named_where_it_has_a_share(last, told):
    assert breakdown.line(alert([1 - last, last])).endswith(f", {told}")
    assert "more words" in breakdown.line(alert([0.8, 0.1, 0.1]))


def test_lines_of_a_terminal_have_so_many_columns():
    assert terminal.wrapped("気象衛星と oil 新", 8) == ["気象衛星", "と oil", "新"]
