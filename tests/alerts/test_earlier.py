"""A folder that an earlier version learned: what is read of it, what resumes from it, and feedback afterwards."""

import shutil

import earlier as made
import numpy as np
import pytest

from odl import cli
from odl.alerts import feedback, periods, read
from odl.engine import calls
from odl.errors import EarlierError


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    return made.unpack(tmp_path_factory.mktemp("earlier"))


@pytest.fixture
def stream(unpacked, tmp_path):
    return shutil.copytree(unpacked, tmp_path / "stream")


@pytest.mark.parametrize("last", [None, 2])
def test_topics_are_read_as_events_and_alerts_as_headlines(stream, last):
    feedback.remove(stream, "topic:2")
    watch = read.alerts_of(stream, last=last)
    speaking = [period for period in watch.periods if period.headlines]
    assert [period.t for period in speaking] == [4, 7][2 - len(speaking) :]
    (headline,) = speaking[-1].headlines
    assert headline.name == ("pipe leak", "cellar", "flood") and headline.recurrence == 20
    assert (headline.event, headline.state, headline.size) == (2, "new", 3)
    documents = [speaking[-1].documents_of[row] for row in headline.examples]
    assert {document.id for document in documents} == {"made-196", "made-197", "made-198"}
    assert all(document.event == 2 and "flood" in document.opening for document in documents)
    event = watch.events[2]
    assert (
        event.name == headline.name
        and event.size == 3
        and event.state == "new"
        and event.words == ()
    )
    ranks = [watch.periods[-1].documents_of[row].rank for row in watch.periods[-1].novel]
    assert ranks == sorted(ranks) and watch.settings["tail"] == 0.1


def test_what_a_user_said_holds(stream):
    watch = read.alerts_of(stream)
    assert not watch.periods[7].headlines and ("topic:2", "muted") in watch.periods[7].withheld
    assert [watch.events[number].feedback for number in (1, 2)] == ["follow", "muted"]


def test_nothing_resumes_from_it(stream):
    path = periods.paths(read.place_of(stream).alerts)
    with pytest.raises(EarlierError, match=r"earlier version of odl wrote .*0.h5; .* --again"):
        periods.read_carried(next(path))


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_run_says_what_to_type_and_leaves_all_as_it_is(stream, capsys, more):
    before = {path: path.read_bytes() for path in stream.rglob("*.h5")}
    assert cli.main(["run", str(stream), *more]) == 2
    said = capsys.readouterr().err
    assert f"odl run {stream} --again: it learns 200 documents in 8 periods, about 1 min" in said
    assert said.count("\n") == 1 and before == {
        path: path.read_bytes() for path in stream.rglob("*.h5")
    }


def test_keys_of_the_earlier_version_are_named_with_what_to_type(stream, capsys):
    """They are refused, and a user who removes them must know what the next command costs."""
    config = stream / "odl.yaml"
    config.write_text(
        config.read_text().replace("warm_up: 60", "warm_up: 60, pool: 100, same: 0.12")
    )
    assert cli.main(["run", str(stream)]) == 2
    said = capsys.readouterr().err
    assert (
        "an earlier version of odl wrote the results" in said
        and "remove alerts.pool, alerts.same from odl.yaml" in said
    )
    assert f"odl run {stream} --again: it learns 200 documents in 8 periods" in said
    assert cli.main(["new", str(stream)]) == 0 and "headline of topic:2" in capsys.readouterr().out
    shutil.rmtree(stream / "results")
    assert (
        cli.main(["run", str(stream)]) == 1
        and "'alerts.pool' is no longer a setting" in capsys.readouterr().err
    )


@pytest.mark.slow
def test_learned_again_feedback_follows_events_by_their_documents(stream, capsys):
    feedback.add(stream, feedback.FeedbackLine("topic:3", "muted"))
    place = read.place_of(stream)
    before = feedback.members(place.alerts, {1, 2, 3})
    assert {number: len(ids) for number, ids in before.items()} == {"1": 9, "2": 3, "3": 0}
    assert cli.main(["run", str(stream), "--again"]) == 0
    said = capsys.readouterr().out
    assert "feedback.csv: topic:3 is no event any more, its line (muted) is gone" in said
    watch, entries = read.alerts_of(stream), feedback.read(stream)
    assert [(entry.event, entry.verdict) for entry in entries] == [
        (event_of(watch, set(before["1"])), "follow"),
        (event_of(watch, set(before["2"])), "muted"),
    ]
    assert cli.main(["run", str(stream)]) == 0  # as any folder


@pytest.mark.slow
def test_a_run_that_is_stopped_half_way_leaves_a_folder_that_is_read_and_ends_the_same(
    stream, monkeypatch, capsys
):
    follow = calls.FUNCTIONS["alerts"]

    def stopped(arguments, **more):
        if arguments["t"] == 5:
            raise KeyboardInterrupt
        return follow(arguments, **more)

    monkeypatch.setitem(calls.FUNCTIONS, "alerts", stopped)
    assert cli.main(["run", str(stream), "--again"]) == 130
    watch = read.alerts_of(stream)
    assert [period.t for period in watch.periods] == [0, 1, 2, 3, 4] and watch.periods[4].headlines[
        0
    ].p < 0.01
    monkeypatch.undo()
    assert cli.main(["run", str(stream)]) == 0
    entries = {(entry.event, entry.verdict) for entry in feedback.read(stream)}
    assert len(read.alerts_of(stream).periods) == 8 and entries == {(1, "follow"), (2, "muted")}


def event_of(watch, ids):
    """Return the event of most documents with these ids."""
    found = []
    for path in periods.paths(watch.place.alerts):
        names = periods.read_names(path).ids
        found += [
            event
            for event, name in zip(periods.read_event_numbers(path), names, strict=True)
            if name in ids
        ]
    return int(np.bincount(found).argmax())
