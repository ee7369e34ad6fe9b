"""What a person says, line by line: which of several lines an item falls under, and until when one holds."""

import pytest

from odl.alerts.feedback import Entry, Verdicts, renumbered
from odl.files.documents import NO_TIME

DAY = 86_400_000


def entry_of(*entries, members=("a", "b"), source="wire", topic=3, state="ongoing", time=10 * DAY):
    return Verdicts(entries).of_item(members, source, topic, state, time)


def test_the_line_of_a_parent_goes_before_that_of_the_item():
    source, topic, first, second = (Entry(what, "known") for what in ("source:wire", "topic:3", "a", "b"))
    assert entry_of(second, first, topic, source) == source and entry_of(second, first, topic) == topic
    assert entry_of(second, first) == first and entry_of(second) == second
    assert entry_of(Entry("source:desk", "known"), Entry("topic:4", "known"), Entry("c", "known")) is None


def test_what_is_followed_is_shown_whatever_else_is_said():
    source, followed = Entry("source:wire", "muted"), Entry("b", "follow")
    assert entry_of(source, followed) == followed and entry_of(source, followed, members=("a",)) == source
    assert entry_of(source, Entry("b", "follow", "1970-01-11")) == source  # its day has come


@pytest.mark.parametrize(("time", "holds"), [(10 * DAY - 1, True), (10 * DAY, False), (NO_TIME, True)])
def test_a_line_holds_before_its_day(time, holds):
    assert Entry("a", "muted", "1970-01-11").holds("new", time) == holds
    assert Verdicts([Entry("topic:3", "muted", "1970-01-11")]).of_topic(3, "new", time) == "muted" * holds


def test_a_line_until_it_grows_holds_in_all_other_states():
    line = Entry("topic:3", "known", "grows")
    assert [state for state in ("new", "ongoing", "growing", "returning", "ended") if not line.holds(state, 0)] == [
        "growing"
    ]
    assert line.when == " in periods in which it is not growing" and Entry("a", "known", "2026-01-02").when
    assert Entry("a", "known").when == "" and Entry("a", "known").topic == Entry("topic:0", "known").topic == 0


def test_lines_follow_their_topics_to_other_numbers(monkeypatch):
    """By most of the documents; one without any is taken out, and of two that meet the later one stays."""
    monkeypatch.setattr("odl.alerts.feedback._periods", lambda alerts: [([7, 7, 5, 0], list("abcd")), ([8], ["e"])])
    before = {"1": ["a", "b", "c"], "2": ["d"], "4": ["e"]}
    entries = [Entry("topic:1", "muted"), Entry("topic:2", "known"), Entry("topic:4", "known"), Entry("x", "follow")]
    kept, said = renumbered([*entries, Entry("topic:8", "muted")], "", before)
    assert kept == [Entry("topic:7", "muted"), Entry("topic:8", "muted"), Entry("x", "follow")]
    assert said == [
        "feedback.csv: topic:1 is topic:7 now, by 2 of its 3 documents",
        "feedback.csv: topic:2 is no topic any more, its line (known) is gone",
        "feedback.csv: topic:4 is topic:8 now, by 1 of its 1 documents",
        "feedback.csv: topic:8 was said to be known and is muted now",
    ]
    same, nothing = renumbered([Entry("topic:7", "muted")], "", {"7": ["a", "b"]})
    assert same == [Entry("topic:7", "muted")] and nothing == []
