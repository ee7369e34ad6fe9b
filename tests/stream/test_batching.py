"""Order, batches and topic entry: deterministic, and independent of later documents."""

import numpy as np
import pytest

from odl import corpora
from odl.config.sections import Batches, Order, TopicEntry
from odl.errors import DataError, ParameterError
from odl.files import documents
from odl.files.documents import NO_TIME
from odl.stream import batchfile, batching

DAY = 86_400_000
RULE = {"documents": 10, "initial": 20}


def make(n, days=5):
    ids = [f"d{number}" for number in range(n)]
    times = np.array([number * days // n * DAY for number in range(n)], dtype=np.int64)
    topics = [(f"topic{number % 7}",) for number in range(n)]
    return batching.Listed(ids, times, [f"f{int(time // DAY)}" for time in times], topics)


def stream(entry=None, ties="seeded", **changes):
    protocol = {"protocol": "topic-entry", "topic_entry": entry} if entry else {}
    return Order(**protocol, ties=ties, batches=Batches(**{**RULE, **changes}))


def cut(n, **changes):
    return batching.split(make(n), stream(**changes))


def test_order_is_by_time_then_by_seed():
    ids, times, *_ = make(50)
    first, second = batching.order(ids, times, 0), batching.order(ids, times, 1)
    assert np.all(np.diff(times[first]) >= 0)
    assert np.any(first != second)
    assert np.array_equal(first, batching.order(ids, times, 0))
    assert np.array_equal(batching.order(ids, times, 1, "source"), np.arange(50))


def test_a_day_can_grow_without_moving_its_documents():
    ids, times, *_ = make(50)
    whole, part = batching.order(ids, times, 3), batching.order(ids[:45], times[:45], 3)
    assert [row for row in whole if row < 45] == list(part)


def test_sizes_and_flush():
    assert [len(part) for part in cut(55)] == [20, 10, 10, 10, 5]
    assert [len(part) for part in cut(55, flush=False)] == [20, 10, 10, 10]
    assert [len(part) for part in cut(50, flush=False)] == [20, 10, 10, 10]


def test_appending_changes_no_complete_batch():
    how = stream(TopicEntry(0.5, 1, 4), "source")
    short = batching.split(batching.Listed(*(part[:55] for part in make(83))), how, seed=1)
    long = batching.split(make(83), how, seed=1)
    for one, other in zip(short[:-1], long, strict=False):
        assert np.array_equal(one, other)
    assert len(short) < len(long)


def test_periods_are_whole():
    listed = make(60, days=60)
    parts = batching.split(listed, stream(by="period", period="week"))
    weeks = [{int((listed.times[row] // DAY + 3) // 7) for row in part} for part in parts]
    assert len(weeks[0]) == 4  # 4 + 7 + 7 + 7 >= 20 documents; 1970-01-01 was a Thursday
    assert all(len(week) == 1 for week in weeks[1:])
    months = batching.split(listed, stream(by="period", period="month"))
    assert [len(part) for part in months] == [31, 28, 1]
    quarters = batching.split(make(100, days=100), stream(by="period", period="quarter"))
    assert [len(part) for part in quarters] == [90, 10]


@pytest.mark.parametrize(
    ("time", "begin"),
    [
        ("2026-03-31T23:59", "2026-01-01"),
        ("2026-04-01", "2026-04-01"),
        ("1969-12-31T12:00", "1969-10-01"),
    ],
)
def test_quarters_begin_in_january_april_july_and_october(time, begin):
    time, begin = (int(np.datetime64(text, "ms").astype(np.int64)) for text in (time, begin))
    assert batching.begin_of(time, "quarter") == begin


def test_one_file_a_batch():
    parts = cut(50, by="file", initial=15)
    assert [len(part) for part in parts] == [20, 10, 10, 10]


def test_topics_enter_at_their_batch():
    listed, entry = make(400), TopicEntry(held_back=0.6, first=1, last=4)
    parts, topics = batching.split(listed, stream(entry), seed=5), listed.topics
    entries = {name: batching.entry_of(name, entry, 5) for names in topics for name in names}
    assert 0 in entries.values() and max(entries.values()) > 0
    for t, part in enumerate(parts):
        assert all(entries[name] <= t for row in part for name in topics[row])
    first = {
        name: min(t for t, part in enumerate(parts) for row in part if name in topics[row])
        for name in entries
    }
    assert all(first[name] >= entries[name] for name in entries)
    assert sum(first[name] == entries[name] for name in entries) >= 5


def test_what_cannot_be_ordered_is_refused():
    with pytest.raises(DataError, match="1 of 3 documents have no time"):
        batching.order(["a", "b", "c"], np.array([1, NO_TIME, 3]), 0)
    with pytest.raises(DataError, match="make 1 batch"):
        cut(20)
    with pytest.raises(DataError, match="documents have no times"):
        batching.split(make(30)._replace(times=np.full(30, NO_TIME)), stream(by="period"))
    for wrong, match in (
        ({"held_back": 1.5}, "held_back"),
        ({"first": 3, "last": 2}, "a first batch that is not after the last"),
    ):
        with pytest.raises(ParameterError, match=match):
            TopicEntry(**wrong)


def test_draws_are_uniform_and_named():
    values = [batching.draw(0, "entry", name) for name in range(2000)]
    assert abs(np.mean(values) - 0.5) < 0.03
    assert min(values) >= 0 and max(values) < 1
    assert batching.draw(0, "a", "b") != batching.draw(0, "ab") != batching.draw(1, "ab")


def test_topics_enter_at_every_batch_of_their_range():
    entry, names = (
        TopicEntry(held_back=1.0, first=2, last=4),
        [f"t{number}" for number in range(60)],
    )
    assert {batching.entry_of(name, entry, 0) for name in names} == {2, 3, 4}


def test_the_index_before_says_which_batches_changed(tmp_path, capsys):
    held = corpora.read("simulation", options={"documents": 240, "days": 6})
    how = {"stream": stream(ties="source"), "made": tmp_path / "batches"}
    names = tmp_path / "documents.h5", tmp_path / "index.tsv", tmp_path / "order.h5"
    (tmp_path / "batches").mkdir()
    for t in range(3):
        (tmp_path / "batches" / f"{t}.h5").touch()  # not looked into
    for rows, said in (
        (range(90), ""),
        (range(100), ""),
        ([*range(30), *range(31, 100)], "batch 2 were"),
    ):
        documents.write(names[0], held.select(np.array(rows)))
        batching.index(*names, seed=0, **how)
        told = capsys.readouterr().err
        assert said in told and bool(told) == bool(said)
        (tmp_path / "batches" / f"{len(batching.read_cells(names[1])[1]) - 1}.h5").touch()


def test_the_batches_say_so_where_the_index_before_is_gone(tmp_path, capsys):
    """Snakemake deletes the outputs of a job before it runs."""
    held = corpora.read("simulation", options={"documents": 240, "days": 6})
    how = {"stream": stream(ties="source"), "made": tmp_path / "batches"}
    names = tmp_path / "documents.h5", tmp_path / "index.tsv", tmp_path / "order.h5"
    documents.write(names[0], held.select(np.arange(90)))
    batching.index(*names, seed=0, **how)
    (tmp_path / "batches").mkdir()
    for t in range(len(batching.read_cells(names[1])[1])):
        batchfile.cut(names[0], names[2], tmp_path / "batches" / f"{t}.h5", t=t)
    for rows, said in ((range(90), ""), ([*range(30), *range(31, 90)], "batch 2 were")):
        documents.write(names[0], held.select(np.array(rows)))
        names[1].unlink()
        batching.index(*names, seed=0, **how)
        told = capsys.readouterr().err
        assert said in told and bool(told) == bool(said)
