"""What a person says, line by line: which of several lines an item falls under, and until when one holds."""

import contextlib
import errno
import fcntl
import multiprocessing
import threading
import time

import numpy as np
import pytest

from odl.alerts import feedback
from odl.alerts.feedback import FeedbackLine, Verdicts, renumber_events
from odl.errors import DataError
from odl.files import atomic, bundles, storage
from odl.files.documents import NO_TIME

DAY = 86_400_000


def entry_of(*entries, members=("a", "b"), source="wire", topic=3, state="ongoing", time=10 * DAY):
    return Verdicts(entries).of_item(members, source, topic, state, time)


def test_the_line_of_a_parent_goes_before_that_of_the_item():
    source, topic, first, second = (
        FeedbackLine(what, "known") for what in ("source:wire", "event:3", "a", "b")
    )
    assert (
        entry_of(second, first, topic, source) == source and entry_of(second, first, topic) == topic
    )
    assert entry_of(second, first) == first and entry_of(second) == second
    assert (
        entry_of(
            FeedbackLine("source:desk", "known"),
            FeedbackLine("event:4", "known"),
            FeedbackLine("c", "known"),
        )
        is None
    )


def test_what_is_followed_is_shown_whatever_else_is_said():
    source, followed = FeedbackLine("source:wire", "muted"), FeedbackLine("b", "follow")
    assert (
        entry_of(source, followed) == followed
        and entry_of(source, followed, members=("a",)) == source
    )
    assert entry_of(source, FeedbackLine("b", "follow", "1970-01-11")) == source  # its day has come


@pytest.mark.parametrize(
    ("time", "holds"), [(10 * DAY - 1, True), (10 * DAY, False), (NO_TIME, True)]
)
def test_a_line_holds_before_its_day(time, holds):
    assert FeedbackLine("a", "muted", "1970-01-11").holds("new", time) == holds
    assert (
        Verdicts([FeedbackLine("event:3", "muted", "1970-01-11")]).of_event(3, "new", time)
        == "muted" * holds
    )


def test_a_line_until_it_grows_holds_in_all_other_states():
    line = FeedbackLine("event:3", "known", "grows")
    assert [
        state
        for state in ("new", "ongoing", "growing", "returning", "ended")
        if not line.holds(state, 0)
    ] == ["growing"]
    assert (
        line.when == " in periods in which it is not growing"
        and FeedbackLine("a", "known", "2026-01-02").when
    )
    assert (
        FeedbackLine("a", "known").when == ""
        and FeedbackLine("a", "known").event == FeedbackLine("event:0", "known").event == 0
    )


def test_a_line_of_an_earlier_version_names_an_event():
    line = FeedbackLine("topic:3", "known")
    assert (
        line.event == 3
        and entry_of(line) == line
        and Verdicts([line]).of_event(3, "new", 0) == "known"
    )


def period(folder, t, events, ids):
    """A file of alerts, as far as feedback reads it."""
    with storage.writing(folder / f"{t}.h5", "alerts") as file:
        names = {"ids": ids, "titles": ids, "sources": [""]}
        zeros = np.zeros(len(ids), dtype=np.int64)
        arrays = {"event": np.array(events), "source": zeros, "times": zeros}
        bundles.write(file, "period", names | arrays)


def test_documents_of_events_are_those_of_all_periods(tmp_path):
    period(tmp_path, 0, [7, 0, 5], ["a", "b", "c"])
    period(tmp_path, 1, [7, 8], ["d", "e"])
    period(tmp_path, 3, [7], ["f"])  # behind a gap: of an earlier, longer run
    assert feedback.members(tmp_path, {7, 8}) == {"7": ["a", "d"], "8": ["e"]}
    (tmp_path / "0.h5").write_bytes(b"damaged")
    assert feedback.members(tmp_path, {7, 9}) == {"7": ["d"], "9": []}


def test_lines_follow_their_events_to_other_numbers(tmp_path):
    """By most of the documents; one without any is taken out, and of two that meet the later one stays."""
    period(tmp_path, 0, [7, 7, 5, 0], list("abcd"))
    period(tmp_path, 1, [8], ["e"])
    before = {"1": ["a", "b", "c"], "2": ["d"], "4": ["e"]}
    entries = [
        FeedbackLine("event:1", "muted"),
        FeedbackLine("event:2", "known"),
        FeedbackLine("event:4", "known"),
        FeedbackLine("x", "follow"),
    ]
    kept, said = renumber_events([*entries, FeedbackLine("event:8", "muted")], tmp_path, before)
    assert kept == [
        FeedbackLine("event:7", "muted"),
        FeedbackLine("event:8", "muted"),
        FeedbackLine("x", "follow"),
    ]
    assert said == [
        "feedback.csv: event:1 is event:7 now, by 2 of its 3 documents",
        "feedback.csv: event:2 is no event any more, its line (known) is gone",
        "feedback.csv: event:4 is event:8 now, by 1 of its 1 documents",
        "feedback.csv: event:8 was known and is muted now",
    ]
    same, nothing = renumber_events([FeedbackLine("event:7", "muted")], tmp_path, {"7": ["a", "b"]})
    assert same == [FeedbackLine("event:7", "muted")] and nothing == []


def say_late(folder, entry, meet):
    """Say something, with the table read at a moment at which another process, if it can, has read it too."""
    read_now = feedback.read

    def read_slowly(folder):
        entries = read_now(folder)
        with contextlib.suppress(threading.BrokenBarrierError):  # nobody else can: it waits for us
            meet.wait(0.3)
        return entries

    feedback.read = read_slowly
    feedback.add(folder, entry)


def stay_locked(folder, meet):
    with atomic.locked(folder / feedback.FEEDBACK_FILE):
        meet.wait()
        time.sleep(60)


@pytest.mark.slow
def test_what_is_said_at_the_same_time_is_all_kept(tmp_path):
    """Twelve pairs of processes: without a lock, each of a pair reads the table before the other has written."""
    at_once = multiprocessing.get_context("fork")
    for pair in range(12):
        entries = [FeedbackLine(f"event:{2 * pair + one}", "muted") for one in (1, 2)]
        meet = at_once.Barrier(2)
        both = [at_once.Process(target=say_late, args=(tmp_path, entry, meet)) for entry in entries]
        for one in both:
            one.start()
        for one in both:
            one.join(60)
        assert [one.exitcode for one in both] == [0, 0]
    assert {entry.event for entry in feedback.read(tmp_path)} == set(range(1, 25))


def test_a_killed_process_locks_nobody_out(tmp_path):
    at_once = multiprocessing.get_context("fork")
    meet = at_once.Barrier(2)
    one = at_once.Process(target=stay_locked, args=(tmp_path, meet))
    one.start()
    meet.wait(60)
    one.kill()
    one.join(60)
    feedback.add(tmp_path, FeedbackLine("event:1", "muted"))
    assert len(feedback.read(tmp_path)) == 1


def test_a_file_system_without_locks_is_said(tmp_path, monkeypatch, capsys):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    feedback.add(tmp_path, FeedbackLine("event:1", "muted"))
    assert len(feedback.read(tmp_path)) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"odl: {tmp_path} has no locks") and said.count("\n") == 1


def test_a_spreadsheet_runs_nothing_of_what_is_said(tmp_path):
    said = [
        FeedbackLine(what, "muted", note=what)
        for what in ("=1+1", "'=1+1", "-a;@b", "it's -1", "'a'")
    ]
    for entry in said:
        feedback.add(tmp_path, entry)
    assert list(feedback.read(tmp_path)) == said
    cells = [
        line.split(",") for line in (tmp_path / feedback.FEEDBACK_FILE).read_text().splitlines()[1:]
    ]
    assert [what for what, *_ in cells] == ["'=1+1", "''=1+1", "'-a;'@b", "it's -1", "'a'"]
    (tmp_path / feedback.FEEDBACK_FILE).write_text("what,verdict\n=1+1,known\n")
    assert feedback.read(tmp_path) == (FeedbackLine("=1+1", "known"),)


def test_what_was_said_is_taken_back(tmp_path):
    """Of a thing that nobody spoke of nothing is written, not even an empty table."""
    assert (
        feedback.remove(tmp_path, "event:1") == []
        and not (tmp_path / feedback.FEEDBACK_FILE).exists()
    )
    said = [FeedbackLine("event:1", "muted", "grows"), FeedbackLine("d7", "follow", note="why")]
    for entry in said:
        feedback.add(tmp_path, entry)
    assert feedback.remove(tmp_path, "event:1") == said[:1]
    assert feedback.read(tmp_path) == tuple(said[1:])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "what,verdict\nevent:1,maybe\n",
            "line 2 has the verdict 'maybe'; expected one of known, muted, follow",
        ),
        ("what,verdict,until\nevent:1,muted,soon\n", "line 2 has until 'soon'"),
        ("what,verdict,until\na,muted,grows\n", "line 2 has until grows for 'a'"),
        ("who\nx\n", "has the columns who"),
        ("what,verdict\n,muted\n", "has no name"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, text, reason):
    (tmp_path / feedback.FEEDBACK_FILE).write_text(text)
    with pytest.raises(DataError, match=reason):
        feedback.read(tmp_path)
