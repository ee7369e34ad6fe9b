"""Pictures and sentences of the page about what is new, point by point."""

import re
from dataclasses import replace

import newpages
import numpy as np
import pytest

from odl.alerts.model import Reason
from odl.report import newparts, newtext

DAY = 86_400_000


@pytest.fixture
def watch():
    return newpages.watch()


def scored(watch, *scores, alerts=()):
    """A watch of periods with these scores, a day each from the third day on; the last has alerts of these scores."""
    template = watch.periods[-1]
    (one, *_), periods = template.alerts, []
    for t, values in enumerate(scores):
        last = alerts if t == len(scores) - 1 else ()
        periods.append(
            replace(template, t=t + 3, first=(t + 2) * DAY, last=(t + 2) * DAY, scores=np.asarray(values, float),
                    documents=len(values), alerts=tuple(replace(one, score=score) for score in last))
        )  # fmt: skip
    return replace(watch, periods=tuple(periods))


def test_the_picture_of_scores_point_by_point(watch):
    """Its axis ends at the highest score, and above what few scores are below."""
    chart = newparts.Scores.of(scored(watch, np.linspace(0.2, 1, 81), np.linspace(0, 0.8, 81), alerts=(0.6, 0.6, 0.02)))
    assert (chart.low, chart.high) == pytest.approx((0.04, 1.0))

    def place(score):
        return f"{round(100 * (1 - max(score, 0.04)) / 0.96, 2)}"

    assert dict(chart.lines()) == {
        "band": f"M0.5 {place(0.92)} 1.5 {place(0.72)} 1.5 {place(0.08)} 0.5 {place(0.28)}z",
        "most": f"M0.5 {place(1)} 1.5 {place(0.8)}",
        "median": f"M0.5 {place(0.6)} 1.5 {place(0.4)}",
        "dots": f"M1.5 {place(0.02)}h0M1.5 {place(0.6)}h0",
    }
    assert chart.spoken() == (
        "Scores of 162 documents in 2 periods: median 0.60 in the first, 0.40 in the last; 3 alerts. "
        "The table below has each."
    )
    assert chart.days() == [("1970-01-03", 25.0), ("1970-01-04", 75.0)]


def test_the_axis_of_scores(watch):
    """Equal scores are in its middle; one low score of five is not below it; a period without scores is left out."""
    chart = newparts.Scores.of(scored(watch, [0.7, 0.7], []))
    assert (chart.low, chart.high, len(chart.periods)) == pytest.approx((0.2, 1.2, 1))
    assert dict(chart.lines())["median"] == "M0.5 50.0" and newparts.Scores.of(scored(watch, [])) is None
    low = newparts.Scores.of(scored(watch, [0.0, 1, 1, 1, 1])).low
    assert low == pytest.approx(np.quantile([0, 1, 1, 1, 1], 0.05)) and low > 0
    many = newparts.Scores.of(scored(watch, *[[0.1, 0.2]] * 21))
    assert [day for day, _ in many.days()] == [f"1970-01-{day:02d}" for day in (3, 7, 11, 15, 19, 23)]
    assert [left for _, left in many.days()] == pytest.approx([100 * (at + 0.5) / 21 for at in (0, 4, 8, 12, 16, 20)])


def test_the_course_of_a_topic_bar_by_bar(watch):
    history = [(2, "new"), (3, "growing"), (5, "ended"), (6, "returning"), (7, "ongoing")]
    topic = replace(watch.topics[1], birth=2, sizes={2: 4, 3: 8, 6: 2, 7: 1}, history=history)
    periods = [replace(watch.periods[0], t=t) for t in range(1, 9)]
    assert newparts.course(topic, periods) == (
        '<svg class="course" viewBox="0 0 8 20" preserveAspectRatio="none" role="img" aria-label="most in period 3: '
        "8 documents; new in period 2; growing in period 3; ended in period 5; returning in period 6; ongoing in "
        'period 7"><path class="plain" d="M1 11.0h.8V20h-.8zM6 17.8h.8V20h-.8z"/><path class="growing" '
        'd="M2 2.0h.8V20h-.8z"/><path class="returning" d="M5 15.5h.8V20h-.8z"/><path class="birth" d="M1.4 20V0"/>'
        '<path class="end" d="M4.4 12V20"/></svg>'
    )
    later = newparts.course(topic, periods[5:])
    assert 'class="birth"' not in later and 'class="end"' not in later and 'viewBox="0 0 3 20"' in later
    assert 'class="birth" d="M0.4 20V0"' in newparts.course(topic, periods[1:])
    none = newparts.course(replace(topic, sizes={}), periods)
    assert 'aria-label="found in period 2"' in none and '<path class="plain"' not in none


def test_what_items_have_in_common(watch):
    one, two = (replace(each, score=0.5, text="") for each in watch.periods[-1].alerts[:2])
    words = tuple(Reason(word, share) for word, share in (("b", 0.05), ("a", 0.05), ("c", 0.2), ("own", 0.3)))
    one, two = replace(one, reasons=words, led=3), replace(two, reasons=words[:3], led=3)
    assert newparts.shared([one, two]) == "c, a, b (60\u00a0% of the scores)"
    assert newparts.shared([one]) == "c, a, b (60\u00a0% of the score)"
    assert newparts.shared([one, replace(two, led=1)]) == "b (10\u00a0% of the scores)"
    small = replace(one, reasons=(Reason("a", 0.0049),), led=1)
    assert newparts.shared([small]) == "a (less than 1\u00a0% of the score)" and newparts.shared([]) == ""
    least = replace(one, reasons=(Reason("a", 0.005),), led=1)
    assert newparts.shared([least]) == "a (1\u00a0% of the score)"
    many = replace(one, reasons=tuple(Reason(f"w{n}", 0.05) for n in range(8)), led=8)
    assert newparts.shared([many]) == "w0, w1, w2, w3, w4, w5 (60\u00a0% of the score)"
    assert newparts.shared([replace(one, score=0.0)]).startswith("c, a, b (30\u00a0%")


def test_topics_of_the_table_are_those_seen_last(watch, monkeypatch):
    template = watch.topics[1]
    sizes = {1: {3: 2}, 2: {5: 1}, 3: {5: 4}, 4: {}, 5: {3: 2}}
    topics = {
        number: replace(template, number=number, birth=4, sizes=each, earlier=0) for number, each in sizes.items()
    }
    watch = replace(watch, topics=topics)
    assert [topic.number for topic in newparts.by_last(watch)[0]] == [3, 2, 4, 1, 5] and newparts.by_last(watch)[1] == 0
    monkeypatch.setattr(newparts, "DRAWN", 2)
    assert ([topic.number for topic in newparts.by_last(watch)[0]], newparts.by_last(watch)[1]) == ([3, 2], 3)


def test_the_headline_of_one_kind_and_of_several(watch):
    last = watch.periods[-1]
    alert = replace(last.alerts[0], topic=0)

    def said(*pairs, room=0):
        alerts = tuple(alert for _, each in pairs for alert in each)
        period = replace(last, alerts=alerts, budget=len(alerts) + room, documents=1000)
        return newparts.headline(watch, period, list(pairs))

    def topic(state, t=last.t):
        return replace(watch.topics[1], history=[(t, state)]), [alert]

    alone, two = (None, [alert]), (None, [alert, alert])
    assert said(alone) == "1 surprising document that stands alone, in 1 alert out of 1,000 documents."
    assert said(two) == "2 surprising documents that stand alone, in 2 alerts out of 1,000 documents."
    assert said(topic("new"), topic("new")) == "2 new topics, in 2 alerts out of 1,000 documents."
    assert said(topic("new"), topic("returning"), topic("growing"), topic("ongoing"), alone, room=2) == (
        "1 new topic, 1 returning topic, 1 growing topic, 1 known topic with surprising documents and 1 surprising "
        "document that stands alone, in 5 alerts out of 1,000 documents; there was room for 7, nothing else was "
        "surprising enough."
    )


def test_a_share_in_words():
    shares = (0.0, 0.004, 0.0099, 0.01, 0.126, -0.005, 1.0)
    told = [re.sub("\u00a0", " ", newtext.percent(share)) for share in shares]
    assert told == ["0 %", "0.4 %", "1.0 %", "1 %", "13 %", "-0.5 %", "100 %"]
