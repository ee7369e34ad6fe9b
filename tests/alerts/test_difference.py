"""Headlines that one of two lists has alone, and those that come in another period."""

from dataclasses import replace

import numpy as np
import pytest

from odl.alerts import difference
from odl.alerts.model import Headline, Period

DAY = 86_400_000


def headline(*rows, word="rocket", gate="words"):
    return Headline((word,), (word,), 6.0, 6.0, 6.0, rows, 0.5, 0.001, gate=gate)


def period(t, *headlines):
    n = 10
    zeros = np.zeros(n)
    return Period(
        t, {}, {}, t * DAY, t * DAY, 0.0, False, False, 0, 0, 0.001, float(n), zeros, zeros, zeros, np.arange(n),
        np.zeros(n, dtype=int), np.zeros((n, 0)), np.zeros((n, 0)), headlines=headlines,
    )  # fmt: skip


def kinds(before, after):
    return [
        (one.kind, one.period.t, one.headline.words[0]) for one in difference.compare(before, after)
    ]


def test_headlines_that_share_half_of_their_documents_are_the_same():
    before = [period(0, headline(0, 1, 2, 3))]
    assert kinds(before, [period(0, headline(0, 1, word="launch"))]) == []
    assert kinds(before, [period(0, headline(0, word="launch"))]) == [
        ("gained", 0, "launch"),
        ("lost", 0, "rocket"),
    ]


def test_each_headline_is_used_once():
    before = [period(0, headline(0, 1), headline(0, 1, word="launch"))]
    assert kinds(before, [period(0, headline(0, 1))]) == [("lost", 0, "launch")]


@pytest.mark.parametrize(("t", "kind"), [(2, "earlier"), (8, "later")])
def test_the_same_word_in_a_period_nearby_is_earlier_or_later(t, kind):
    before = [period(each, *[headline(0, 1)] * (each == 5)) for each in range(10)]
    after = [period(each, *[headline(3, 4)] * (each == t)) for each in range(10)]
    (one,) = difference.compare(before, after)
    assert (one.kind, one.period.t, one.other.t) == (kind, t, 5)
    assert one.date == f"1970-01-{t + 1:02} (was 1970-01-06)"


def test_the_same_word_long_after_is_another_headline():
    before = [period(each, *[headline(0, 1)] * (each == 0)) for each in range(10)]
    after = [period(each, *[headline(0, 1)] * (each == 9)) for each in range(10)]
    assert kinds(before, after) == [("lost", 0, "rocket"), ("gained", 9, "rocket")]


def test_a_volume_is_compared_by_its_name():
    volume = headline(*range(10), word="volume", gate="volume")
    volume = replace(volume, words=())
    other = replace(volume, name=("volume", "a.log"))
    changes = difference.compare([period(0, volume)], [period(0, other, headline(*range(10)))])
    assert [(one.kind, one.headline.name) for one in changes] == [
        ("gained", ("volume", "a.log")), ("gained", ("rocket",)), ("lost", ("volume",)),
    ]  # fmt: skip
