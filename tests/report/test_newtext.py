"""What the page says of a period, a topic and an item, sentence by sentence."""

from dataclasses import replace

import newpages
import pytest

from odl.alerts import breakdown
from odl.alerts.model import Near, Reason
from odl.files.documents import NO_TIME
from odl.report import newparts, newtext, page


@pytest.fixture
def watch():
    return newpages.watch()


def test_what_has_no_date_has_a_number(watch):
    period, topic = watch.periods[-1], replace(watch.topics[1], birth=3, first=newpages.START)
    days = newtext.dates(period)
    assert newtext.name_of(period) == f"period 11, {days}" and days.startswith(newtext.day_of(period))
    assert newtext.since(topic) == "2023-11-14" and newtext.since(replace(topic, first=NO_TIME)) == "period 3"
    unknown = replace(period, first=NO_TIME, last=NO_TIME)
    assert (newtext.name_of(unknown), newtext.day_of(unknown)) == ("period 11", "11")


def test_what_is_told_of_an_item_beside_its_title(watch):
    alert = replace(watch.periods[-1].alerts[0], members=tuple("abcdef"), nearest=(Near(3, ("oil", "gas"), 0.31),))
    told = dict(newtext.reasons(alert, 0))
    assert told["Nearly the same (5)"] == "b, c, d, e, f" and told["Nearest known"] == "oil, gas (alike 31\u00a0%)"
    assert told["Id"] == alert.id and "More than usual" not in told
    seven = dict(newtext.reasons(replace(alert, members=tuple("abcdefg"), nearest=()), 0))
    assert seven["Nearly the same (6)"] == "b, c, d, e, f …" and "Nearest known" not in seven
    assert not any(term.startswith("Nearly") for term, _ in newtext.reasons(replace(alert, members=("a",)), 0))


def test_words_from_right_to_left_stand_by_themselves_on_the_page_and_in_feeds(watch):
    part = breakdown.Part("own", "words of <their> own", 40, "القمر")
    expected = "words of &lt;their&gt; own 40\u00a0% (<bdi>القمر</bdi>)"
    assert newtext.share_of(part) == expected
    told = page.macros("newfeeds.jinja", words=newtext, parts_of=lambda alert: [part]).item(watch.periods[-1].alerts[0])
    assert expected in told
    own = {"reasons": (Reason("القمر", 0.9),), "led": 0, "own": 0.9, "score": 0.9, "context": 0.0}
    assert newtext.leading(replace(watch.periods[-1].alerts[0], **own)) == "words of its own 100 % (<bdi>القمر</bdi>)"


@pytest.mark.parametrize(("n", "more"), [(3, ""), (4, "; …")])
def test_a_period_in_a_line_names_three_topics(watch, n, more):
    period, topics = watch.periods[-1], {}
    for number in range(1, n + 1):
        topics[number] = replace(watch.topics[1], number=number, name=(f"t{number}",), history=[(period.t, "new")])
    alerts = tuple(replace(period.alerts[0], topic=number, rank=number, state="new") for number in topics)
    told = newparts.summary(replace(watch, topics=topics), replace(period, alerts=alerts))
    assert told == f"{n} new topics (t1; t2; t3{more}), {n} alerts of 200 documents"


def test_a_topic_has_the_days_of_its_members_or_its_periods(watch):
    topic = replace(watch.topics[1], birth=3, sizes={3: 2, 5: 1})
    first, last = (replace(watch.periods[-1].alerts[0], time=newpages.START + n * newpages.DAY) for n in (0, 9))
    nowhere = replace(first, time=NO_TIME)
    assert newparts.seen(topic, [last, nowhere, first]) == ("2023-11-14", "2023-11-23")
    assert newparts.seen(topic, [nowhere]) == ("period 3", "period 5")
    assert newparts.seen(replace(topic, sizes={}), []) == ("period 3", "period 3")


def test_what_moved_without_an_alert(watch):
    """Of a kind eight topics at most, those that the period shows left out."""
    t, one = watch.periods[-1].t, watch.topics[1]
    topics = {n: replace(one, number=n, history=[(t, "ended" if n > 9 else "growing")]) for n in range(1, 20)}
    topics[20] = replace(one, number=20, history=[(t - 1, "new")])
    moved = list(newparts.moving(replace(watch, topics=topics), watch.periods[-1], [(topics[9], []), (None, [])]))
    assert [(title, [topic.number for topic in some], more) for title, some, more in moved] == [
        ("Growing", [*range(1, 9)], 0), ("Ended", [*range(10, 18)], 2)
    ]  # fmt: skip


def test_a_title_is_marked_and_linked_only_where_it_is_to_be(watch):
    word = watch.periods[-1].alerts[0].reasons[0].word
    alert = replace(watch.periods[-1].alerts[0], title=f"On {word}", url="")
    assert newtext.title_of(alert) == f'<span dir="auto">On {word}</span>'
    assert newtext.title_of(alert, marked=True) == f'<span dir="auto">On <mark>{word}</mark></span>'
    linked = newtext.title_of(replace(alert, url="https://a.org/1"))
    assert linked.startswith('<a href="https://a.org/1"') and linked.endswith(f">On {word}</a>")


def test_a_text_is_told_where_there_is_one(watch):
    alert = replace(watch.periods[-1].alerts[0], title="Another", text="the text", reasons=())
    assert (
        newtext.passage(alert) == '<p class="text" dir="auto">the text</p>'
        and newtext.passage(replace(alert, text="")) == ""
    )


def test_the_last_six_changes_of_a_topic_are_spoken(watch):
    history = [(t, "growing" if t % 2 else "ongoing") for t in range(2, 10)]
    told = newparts.course(replace(watch.topics[1], history=history, sizes={3: 1}), watch.periods)
    assert "1 document; ongoing in period 4; growing in period 5; " in told and told.count(" in period ") == 7
