"""A folder that is watched: answers at arrival, and the bytes of `odl run` however the documents came."""

import contextlib
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import earlier
import numpy as np
import oddtexts
import psutil
import pytest
import streams
from called import odl

from odl.alerts import periods
from odl.cli import runs
from odl.corpora import fields
from odl.engine import folder as folders
from odl.engine import processes
from odl.errors import ConfigError, DataError
from odl.files import escaping
from odl.live import inbox, judge
from odl.live import watch as live
from odl.live.runner import Runner
from odl.live.watch import LiveWatch
from odl.stream import features

WEEKS = (3, 4, 5)
SLOW = pytest.param(
    0, marks=pytest.mark.slow
)  # the first of many seeds, of which the others are long


def posts(week, n=streams.N, topics=("grain", "oil", "sea")):
    return [streams.post(week, number, topics[number % len(topics)]) for number in range(n)]


def lines(rows):
    return [(number, json.dumps(row).encode()) for number, row in enumerate(rows, start=1)]


@contextlib.contextmanager
def watched(folder, **options):
    """Watch a folder in this process; yield the watch, what it has answered, and what it has refused."""
    told, refused = [], []
    with contextlib.chdir(folder), contextlib.closing(Runner(runs.serve)) as runner, inbox.alone():
        place_of = lambda number: ("a test", f"line {number}")  # noqa: E731
        watch = LiveWatch(runner, told.extend, refused.extend, place_of, **options)
        watch.refused = refused
        yield watch, lambda: [json.loads(text) for _, text in told]


def kill_processes(watch):
    """Kill the processes that learn, and wait until they have ended."""
    process = psutil.Process(watch.runner.pid)
    for killed in [*process.children(), process]:
        killed.kill()
        killed.wait()


def results(folder):
    """Return name to bytes of what a run makes."""
    found = streams.contents(folder)
    return {
        name: held
        for name, held in found.items()
        if not name.startswith(("inbox", "odl.yaml", ".odl."))
    }


def assert_same_at_once(folder, place, often=False):
    """Run the posts, the configuration and the inbox of a folder elsewhere, in one run or file by file; compare."""
    shutil.copytree(folder.parent / "posts", place / "posts")
    other = place / "news"
    (other / "inbox").mkdir(parents=True)
    shutil.copy(folder / "odl.yaml", other)
    files = sorted(path for path in (folder / "inbox").iterdir() if not path.name.startswith("."))
    assert files
    if (refused := folder / "inbox" / ".refused").exists():
        shutil.copy(refused, other / "inbox")
    for group in [[path] for path in files] if often else [files]:
        for path in group:
            shutil.copy(path, other / "inbox")
        said = odl("run", other)
        assert said.returncode == 0, said.stderr
    assert results(other) == results(folder)


@pytest.mark.slow
def test_live_and_at_once_give_the_same_bytes(news, tmp_path):
    """Late, repeated and unreadable lines, and the end in the middle of a week."""
    draw, rows = random.Random(0), []
    for week in WEEKS:
        rows += posts(week, 25 if week == WEEKS[-1] else streams.N)
    late = streams.post(3, 900, "space") | {
        "time": "2026-01-27T00:00:00"
    }  # of week 3, when week 4 is open
    rows.insert(2 * streams.N - 5, late)
    rows.insert(40, rows[31])
    given = lines(rows)
    given.insert(50, (999, b'{"id": "half'))
    with watched(news) as (watch, told):
        while given:
            n = draw.randint(1, 30)
            watch.take(given[:n])
            watch.poll()
            given = given[n:]
        watch.close()
        answers = told()
    provisional = [one for one in answers if one["provisional"]]
    assert [one["id"] for one in provisional] == [row["id"] for row in rows]
    (of_late,) = [one for one in provisional if one["late"]]
    assert (
        (of_late["id"], of_late["period"]) == (late["id"], "2026-02-02")
        and watch.n_late == 1
        and watch.n_refused == 1
    )
    final = [one for one in answers if not one["provisional"]]
    assert [one["period"] for one in final] == [3, 4, 5] and [
        one["documents"] for one in final
    ] == [60, 61, 25]
    assert_same_at_once(news, tmp_path / "once")


@pytest.mark.parametrize(
    "seed", [SLOW, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 21))]
)
def test_any_interleaving_gives_the_same_bytes(news, tmp_path, seed):
    """Watches, ended by a kill, a signal or the end of the input; late, repeated, unreadable lines; runs between.

    Each watch gets again some of the lines that the one before it had, of its period and the one
    before. Some end when a period has just begun to be learned.
    """
    draw, accepted = random.Random(seed), {}
    rows = [row for week in WEEKS for row in posts(week, streams.N if week < WEEKS[-1] else 25)]
    for number in range(5):
        late = streams.post(3, 900 + number, "space") | {"time": "2026-01-27T00:00:00"}
        rows.insert(draw.randrange(streams.N, len(rows)), late)
    given = lines(rows)
    given.insert(draw.randrange(len(given)), (999, b'{"id": "half'))
    for bad in (
        b'{"id": "z", "time": "2026-02-20"}',
        b'{"id": "z", "time": "2026-02-20", "text": 7}',
        b'{"id": "z"}',
    ):
        given.insert(draw.randrange(len(given)), (999, bad))  # they end no period
    firsts = [
        at
        for at, (_, line) in enumerate(given)
        if line.startswith((b'{"id": "w4-0"', b'{"id": "w5-0"'))
    ]
    cuts = {
        *draw.sample(range(1, len(given)), 8),
        *(first + draw.randint(1, 3) for first in firsts),
    }
    for begin, end in pairwise([0, *sorted(cuts), len(given)]):
        part, ending = (
            given[max(0, begin - draw.randint(0, 55)) : end],
            draw.choice(("kill", "signal", "end")),
        )
        with watched(news) as (watch, told):
            while part:
                n = draw.randint(1, 30)
                watch.take(part[:n])
                watch.poll()
                part = part[n:]
            if ending == "kill" and end < len(given):
                if watch.learned:
                    kill_processes(watch)
                    watch.learned.result()
                for path in (news / "inbox").glob(".*.jsonl"):
                    path.write_bytes(path.read_bytes() + b'{"id": "to')
            else:
                watch.close(interrupted=ending == "signal" and end < len(given))
            for one in told():
                assert not one["provisional"] or accepted.setdefault(one["id"], one) == one
        if draw.random() < 0.4:
            assert odl("run", news).returncode == 0
    assert sorted(ids_of(news)) == sorted(accepted) == sorted(row["id"] for row in rows)
    assert_same_at_once(news, tmp_path / "once")
    assert_same_at_once(news, tmp_path / "often", often=True)


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "pieces: 0.5, "])
def test_an_answer_is_what_the_period_will_say(news, more):
    """With the same dictionary, score and tail at arrival are those of the record of the period."""
    if more:
        text = (news / "odl.yaml").read_text()
        assert "features: {" in text
        (news / "odl.yaml").write_text(text.replace("features: {", f"features: {{{more}"))
        assert odl("run", news).returncode == 0
    with watched(news) as (watch, told):
        watch.take(lines(posts(3)[:25]))
        watch.take(lines(posts(3)[25:]))
        answers = {one["id"]: one for one in told()}
        watch.close()
        place = folders.opened()
        record = periods.read(place.path("{root}/{corpus}/seed{seed}/{run}/k{k}/alerts/{t}.h5", 3))
        ids = features.read(place.path("{root}/{corpus}/seed{seed}/features/{t}.h5", 3)).ids
    assert {one["dictionary"] for one in answers.values()} == {2}
    np.testing.assert_allclose([answers[name]["score"] for name in ids], record.score, rtol=1e-9)
    np.testing.assert_allclose([answers[name]["tail"] for name in ids], record.tail, rtol=1e-9)
    told_words = {name: [word for word, _ in answers[name]["reasons"]] for name in ids}
    assert any("whale" in words or "reef" in words for words in told_words.values())
    ranked = sorted((one["rank"] or 0, one["within_budget"]) for one in answers.values())
    assert all(within == (0 < rank <= 5) for rank, within in ranked)


def test_a_document_of_the_period_before_is_known_after_a_kill(news):
    with watched(news) as (watch, told):
        watch.take(lines(posts(3, 20)))
        watch.take(lines(posts(4, 5)))
        kill_processes(watch)
        first = told()
    assert len(first) == 25
    with watched(news) as (watch, told):
        watch.take(lines(posts(3, 20) + posts(4, 5)))
        assert told() == first and watch.n_accepted == 0
        watch.close(interrupted=True)
    stored = [
        json.loads(line)["id"] for path in (news / "inbox").glob("*.jsonl") for line in path.open()
    ]
    assert len(stored) == len({*stored}) == 25


@pytest.mark.slow
def test_a_signal_while_a_period_is_learned_reopens_no_older_period(news, tmp_path):
    """The next watch goes on in the last period that was open, and knows what came in it and in the one before."""
    late = streams.post(3, 900, "space") | {"time": "2026-01-27T00:00:00"}
    with watched(news) as (watch, told):
        watch.take(lines([*posts(3, 20), *posts(4, 5), late]))
        assert watch.learned
        watch.close(interrupted=True)
        first = told()
    assert first[-1]["late"] and first[-1]["period"] == "2026-02-02"
    subprocess.run(["gzip", *(news / "inbox").glob("2*.jsonl")], check=True)
    with watched(news) as (watch, told):
        watch.take(lines([late, *posts(4, 5)[::-1], *posts(3, 20)]))
        assert watch.n_accepted == 0 and {one["id"]: one for one in told()} == {
            one["id"]: one for one in first
        }
        subprocess.run(["gunzip", *(news / "inbox").glob("2*.jsonl.gz")], check=True)
        watch.take(lines(posts(4)))
        watch.close()
    assert len(ids_of(news)) == len({*ids_of(news)}) == 21 + streams.N
    assert_same_at_once(news, tmp_path / "once")


@pytest.mark.parametrize(
    "line",
    [
        {"id": "x", "time": "2026-02-10T00:00:00"},
        {"id": "x", "time": "2026-02-10T00:00:00", "text": None},
        {"id": "x", "time": "2026-02-10T00:00:00", "text": 7},
        {"id": "x", "time": "2026-02-10T00:00:00", "counts": {"": 1}},
        {"id": ["x"], "time": "2026-02-10T00:00:00", "text": "wheat"},
        {"id": "x", "time": "2027-13-10", "text": "wheat"},
        {"id": "x", "time": "2999-01-01", "text": "wheat"},
        {"id": "x"},
    ],
)
def test_a_line_that_is_refused_ends_no_period_and_begins_none(news, line):
    with watched(news) as (watch, told):
        shutil.rmtree(news / "results")
        watch.current.begin, watch.judge = None, None  # as where nothing is learned
        watch.take(lines([line]))
        assert watch.current.begin is None
        watch.take(lines([posts(3)[0], line, posts(3)[1]]))
        assert [(one["id"], one["late"]) for one in told()] == [("w3-0", False), ("w3-1", False)]
        assert watch.n_refused == len(watch.refused) == 2 and not watch.learned


@pytest.mark.slow
def test_a_time_that_is_to_come_ends_no_period(news, tmp_path, monkeypatch):
    """It is accepted into its own period, which is known after a restart and stays hidden until it begins."""
    tomorrow = {**posts(4)[0], "id": "early"}
    for module in (live, judge):
        monkeypatch.setattr(module, "clock", lambda: fields.parse_time("2026-02-01T12:00:00"))
    monkeypatch.setattr(inbox, "today", lambda: "2026-02-01")
    with watched(news) as (watch, told):
        watch.take(lines([*posts(3, 9), tomorrow, posts(3)[9]]))
        assert [(one["period"], one["late"]) for one in told()[-2:]] == [
            ("2026-02-02", False),
            ("2026-01-26", False),
        ]
        first = told()[-2]
        watch.close(interrupted=True)
    assert (news / "inbox" / ".2026-02-02-0001.jsonl").exists() and "190 in all" in odl(
        "run", news
    ).stdout
    with watched(news) as (watch, told):
        watch.take(lines([tomorrow, posts(3)[10]]))
        assert told()[0] == first and not told()[1]["late"] and watch.n_accepted == 1
        watch.close()
        assert not watch.inbox.begun() and watch.inbox.labels() == ["2026-02-02"]


@pytest.mark.parametrize(
    "seed", [SLOW, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 11))]
)
def test_every_line_is_answered_or_refused_with_a_reason(news, seed):
    """Odd texts and values in every field, cut lines and bytes: nothing ends the watch or the open period."""
    draw, given = random.Random(seed), []
    values = (
        None,
        0,
        -1,
        7.5,
        1e300,
        True,
        [],
        {},
        "",
        "soon",
        [["a"]],
        {"a": {"b": 1}},
        "1" * 400,
        10**30,
    )
    for number in range(300):
        row = {**posts(3, 1)[0], "id": f"x{number}", "text": f"wheat {oddtexts.odd_text(draw)}"}
        if number % 3 == 1:
            name = draw.choice(("id", "time", "text", "counts", "topics", "title", "url", "more"))
            row[name] = draw.choice((*values, oddtexts.odd_text(draw)))
        line = json.dumps(row, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
        if number % 7 == 1:
            line = line[: draw.randrange(1, len(line))] + draw.choice(
                (b"", b"\xff", b"\0", b"[" * 3000)
            )
        given.append((number, line))
    with watched(news) as (watch, told):
        watch.judge_only(given)
        n_judged, n_refused = len(told()), len(watch.refused)
        watch.take(given)
        answers, watch_begin = told()[n_judged:], watch.current.begin
        assert n_judged + n_refused == len(given) and all(fault for _, fault in watch.refused)
        assert (
            len(answers) + watch.n_refused == len(given)
            and watch.n_refused == len(watch.refused) - n_refused
        )
        assert watch_begin in {fields.parse_time(one["period"]) for one in answers}
        assert 150 < watch.n_accepted <= len(answers)
        watch.close()
        assert not watch.fault and watch.last_learned > 2


def test_a_document_that_cannot_be_judged_is_refused_alone(news, monkeypatch):
    def judged(self, documents, before=judge.DocumentJudge.__call__):
        if "badword" in documents.vocabulary:
            raise ZeroDivisionError("no weight")
        return before(self, documents)

    monkeypatch.setattr(judge.DocumentJudge, "__call__", judged)
    rows = posts(3, 3) + posts(4, 3)
    for at in (1, 3):
        rows[at]["text"] += " badword"
    with watched(news) as (watch, told):
        watch.judge_only(lines(rows[:3]))
        assert [one["id"] for one in told()] == ["w3-0", "w3-2"]
        watch.take(lines(rows))
        assert [one["id"] for one in told()[2:]] == ["w3-0", "w3-2", "w4-1", "w4-2"]
        assert [number for number, _ in watch.refused] == [2, 2, 4]
        assert watch.refused[0][1] == "it cannot be judged (ZeroDivisionError: no weight)"
        watch.close(interrupted=True)


def test_a_repeated_document_gets_the_same_answer_also_after_a_restart(news):
    given = lines(posts(3)[:20])
    with watched(news) as (watch, told):
        watch.take(given)
        before = told()
        watch.close(interrupted=True)
    with watched(news) as (watch, told):
        watch.take(given[::-1])
        assert told() == before[::-1] and (watch.n_accepted, watch.n_repeated) == (0, 20)
        twin = {**posts(3)[4], "id": "another"}
        watch.take(lines([twin]))
        assert told()[-1]["alike"] == posts(3)[4]["id"] and not told()[-1]["within_budget"]


def test_kills_lose_nothing_that_was_answered(news, tmp_path):
    """Killed while documents come, a person runs the folder, the watch goes on and the client sends all again."""
    rows, accepted = posts(3) + posts(4, 30), {}
    for moment in (15, 50, None):
        command = [sys.executable, "-m", "odl", "watch", str(news)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        process.stdin.writelines(json.dumps(row) + "\n" for row in rows)
        process.stdin.flush()
        if moment is None:
            process.stdin.close()
        for line in process.stdout:
            answer = json.loads(line)
            if answer["provisional"]:
                assert accepted.setdefault(answer["id"], answer) == answer
            if len(accepted) == moment:
                break
        if moment is not None:
            process.send_signal(signal.SIGKILL)
        process.wait(timeout=120)
        assert odl("run", news, "--wait", 60).returncode == 0
    assert process.returncode == 0 and accepted.keys() == {row["id"] for row in rows}
    stored = [json.loads(line) for path in (news / "inbox").glob("*.jsonl") for line in path.open()]
    assert sorted(row["id"] for row in stored) == sorted(accepted)
    assert_same_at_once(news, tmp_path / "once")


@pytest.mark.long  # 200 strikes; three are in the test above
def test_many_kills_change_no_byte(news, tmp_path):
    """Struck at random moments, most of them while something is written, judged or learned.

    The client begins again with the period before the one in which it was answered last.
    """
    draw, accepted = random.Random(1), set()
    weeks = {week: posts(week, n) for week, n in {3: 400, 4: 400, 5: 200}.items()}
    rows = [row for week in weeks.values() for row in week]
    for strike in range(201):
        last = max(
            (week for week, some in weeks.items() if any(row["id"] in accepted for row in some)),
            default=3,
        )
        again = [row for week, some in weeks.items() if week >= last - 1 for row in some]
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in again))
        with open(tmp_path / "rows.jsonl") as source:
            command = [sys.executable, "-m", "odl", "watch", str(news)]
            process = subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE, text=True)
        if strike < 200:
            time.sleep(draw.uniform(0.5, 6.0))
            process.send_signal(signal.SIGKILL)
        said, _ = process.communicate(timeout=600)
        whole = said[: said.rfind("\n") + 1].splitlines()
        accepted |= {one["id"] for one in map(json.loads, whole) if one["provisional"]}
        stored = [
            json.loads(line)["id"]
            for path in (news / "inbox").glob("*.jsonl")
            for line in path.open()
        ]
        assert len(stored) == len({*stored})
    assert process.returncode == 0 and {*stored} == accepted == {row["id"] for row in rows}
    assert_same_at_once(news, tmp_path / "once")


@pytest.mark.long  # 200 strikes
def test_many_kills_of_a_watch_that_follows_files_change_no_byte(news, tmp_path):
    """Struck while files grow: the next watch goes on where it was, and nothing is stored twice."""
    draw, incoming, accepted = random.Random(2), tmp_path / "incoming", {}
    incoming.mkdir()
    rows = [row for week in range(3, 13) for row in posts(week, 80)]
    command = [sys.executable, "-m", "odl", "watch", str(news), "--follow", str(incoming)]
    for strike in range(200):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        with open(incoming / f"{strike // 50}.jsonl", "a") as file:
            for row in rows[4 * strike : 4 * (strike + 1)]:
                text = json.dumps(row) + "\n"
                for half in (text[:20], text[20:]):
                    file.write(half)
                    file.flush()
                    time.sleep(draw.uniform(0.0, 0.3))
        time.sleep(draw.uniform(0.0, 4.0))
        process.send_signal(signal.SIGKILL)
        said, _ = process.communicate(timeout=600)
        for one in map(json.loads, said[: said.rfind("\n") + 1].splitlines()):
            assert not one["provisional"] or accepted.setdefault(one["id"], one) == one
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while len(stored := ids_of(news)) < len(rows) and process.poll() is None:
        time.sleep(1.0)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=600)
    assert process.returncode in (
        0,
        -signal.SIGTERM,
    )  # where all was stored before, it may end before it has begun
    assert sorted(stored) == sorted(row["id"] for row in rows)
    assert {*stored} >= accepted.keys()
    assert odl("run", news, "--wait", 60).returncode == 0
    assert_same_at_once(news, tmp_path / "once")


def ids_of(folder):
    """Return the ids in the inbox, of files that still grow too."""
    while True:
        with contextlib.suppress(FileNotFoundError):  # it has got its name meanwhile
            texts = [path.read_text() for path in (folder / "inbox").glob("*.jsonl")]
            return [json.loads(line)["id"] for text in texts for line in text.splitlines()]


def memory(folder, weeks, n):
    """Return the bytes of this process after each of some weeks of n documents, each with a word of its own."""
    text = (folder / "odl.yaml").read_text()
    (folder / "odl.yaml").write_text(text.replace("features: {", "features: {max_terms: 5000, "))
    assert odl("run", folder).returncode == 0
    sizes = []
    with watched(folder) as (watch, _):
        watch.tell = lambda pairs: None
        for week in range(3, 3 + weeks):
            for first in range(0, n, 500):
                rows = [
                    streams.post(week, number, "sea")
                    for number in range(first, min(first + 500, n))
                ]
                for number, row in enumerate(rows, start=first):
                    row["time"] = (
                        datetime(2026, 1, 5) + timedelta(days=7 * week + 6 * number / n)
                    ).isoformat()
                    row["text"] += f" ref{week}x{number}"
                watch.take(lines(rows))
            sizes.append(psutil.Process().memory_info().rss)
        watch.close(interrupted=True)
    return sizes


@pytest.mark.long
def test_a_million_documents_leave_memory_as_it_was(news):
    sizes = memory(news, 20, 50_000)
    assert max(sizes[10:]) < 1.05 * max(sizes[3:10]), sizes


@pytest.mark.slow
def test_sigterm_drains_and_a_second_watch_says_who_has_the_folder(news):
    command = [sys.executable, "-m", "odl", "watch", str(news)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdin.write(json.dumps(posts(3)[0]) + "\nno json\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == "w3-0"
    second = subprocess.run(command, input="", capture_output=True, text=True, timeout=60)
    assert second.returncode == 75 and f"is run by process {process.pid}" in second.stderr
    assert "end that watch" in second.stderr
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0 and "1 documents accepted" in said and "Traceback" not in said
    assert "line 2 of the input: Expecting value" in said
    assert [path.name for path in (news / "inbox").glob("*.jsonl")] == ["2026-01-26-0001.jsonl"]
    before = streams.contents(news)
    assert inbox.SOURCE not in (news / "odl.yaml").read_text()
    assert (
        "would be done first: add closed files of the inbox" in odl("run", news, "--dry-run").stdout
    )
    assert streams.contents(news) == before
    assert (
        "181 in all" in odl("run", news).stdout and inbox.SOURCE in (news / "odl.yaml").read_text()
    )


def test_json_that_a_run_reads_is_read():
    arrivals = judge.Arrivals({"columns": {"text": "message.text"}})
    row = arrivals.row(
        1, b'{"id": "a", "time": "2026-01-27", "load": NaN, "message": {"text": "rain falls"}}'
    )
    documents, faults = arrivals.read([row])
    assert faults == [""] and documents.vocabulary == ["falls", "rain"]
    assert row.columns["message.text"] == "rain falls"  # as `odl run` finds it in the inbox


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"[]", "it is a JSON list, not an object"),
        (
            b'{"id": "x", "time": "soon", "text": "a b c"}',
            "the time 'soon' is not in a known form",
        ),
        (b'{"id": "x", "time": "2999-01-01", "text": "a b c"}', "is in the future"),
        (b'{"id": "x", "time": "2026-01-27", "text": 7}', "the text is a number, not a string"),
        (b'{"id": "x", "time": "2026-01-27", "text": null}', "it has neither text nor counts"),
        (b'{"id": "x", "time": "2026-01-27", "text": NaN}', "it has neither text nor counts"),
        (b"\xff{}", "invalid start byte"),
    ],
)
def test_a_line_that_cannot_be_read(news, line, fault):
    with watched(news) as (watch, told):
        watch.take([(7, line), (8, json.dumps(posts(3)[0]).encode())])
        assert [one["id"] for one in told()] == ["w3-0"]
        ((number, said),) = watch.refused
        assert number == 7 and fault in said


def encode_by(news, code):
    """Let a script give the vectors, and run the folder."""
    text = (
        (news / "odl.yaml")
        .read_text()
        .replace("options: {", "options: {vectors: {command: sh code.sh}, ")
    )
    (news / "odl.yaml").write_text(text.replace("features: {", "features: {meaning: null, "))
    (news / "code.sh").write_text(code)
    assert odl("trust", news).returncode == 0 and odl("run", news).returncode == 0


@pytest.mark.slow
def test_a_command_for_vectors_that_fails_or_hangs_stores_nothing(news, monkeypatch):
    """The watch ends with a sentence, as on a full disk, and whoever sends the documents again gets their answers."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(news / "config"))
    monkeypatch.setattr(judge, "COMMAND_SECONDS", 3.0)
    encode_by(news, works := "sed 's/.*/[1, 2, 3]/'")
    with watched(news) as (watch, told):
        watch.take(lines(posts(3)[:5]))
        faults = {
            "echo no model >&2; exit 1": "ended with 1: no model",
            "sleep 60": "took more than 3",
        }
        for code, said in faults.items():
            (news / "code.sh").write_text(code)
            with pytest.raises(DataError, match="changed since it was trusted"):
                watch.take(lines(posts(3)[5:10]))
            assert odl("trust", news).returncode == 0
            with pytest.raises(DataError, match=rf"vectors\.command: sh {said}"):
                watch.take(lines(posts(3)[5:10]))
            assert len(told()) == watch.n_accepted == 5
        (news / "code.sh").write_text(works)
        assert odl("trust", news).returncode == 0
        watch.take(lines(posts(3)[5:10]))
        assert len(told()) == watch.n_accepted == len(ids_of(news)) == 10


@pytest.mark.slow
@pytest.mark.parametrize("hangs", ["command", "lock", "reader"])
def test_a_signal_ends_soon_what_hangs(news, monkeypatch, hangs):
    """What it started ends with it, and what was answered stays."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(news / "config"))
    if hangs == "command":
        encode_by(news, "sed 's/.*/[1, 2, 3]/'")
        (news / "code.sh").write_text("echo $$ > started; exec sleep 600")
        assert odl("trust", news).returncode == 0
        assert odl("trust", news).returncode == 0
    rows = [row | {"time": "2026-01-27"} for row in posts(3, 600)]
    (news / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sign = (
        news
        / {"command": "started", "lock": "inbox/.lock", "reader": "inbox/.2026-01-26-0001.jsonl"}[
            hangs
        ]
    )
    busy = (
        processes.alone(news / "results" / "news" / ".lock")
        if hangs == "lock"
        else contextlib.nullcontext()
    )
    with busy, open(news / "rows.jsonl") as source:
        command = [sys.executable, "-m", "odl", "watch", str(news)]
        process = subprocess.Popen(
            command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        while not (sign.exists() and sign.stat().st_size) and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.5)
        for _ in range(40):  # another signal puts the end off no further
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
                break
        else:
            raise AssertionError("it goes on while signals come")
    assert (
        process.communicate()[1]
        == "odl watch: ended 3 s after a signal; send documents without an answer again\n"
    )
    assert process.returncode == 0 and bool(ids_of(news)) == (hangs == "reader")
    assert hangs != "command" or not psutil.pid_exists(int(sign.read_text()))


@pytest.mark.slow
def test_what_the_run_says_of_the_command_for_alerts_is_told(news, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(news / "config"))
    (news / "odl.yaml").write_text((news / "odl.yaml").read_text() + "notify: ./tell.sh\n")
    with watched(news) as (watch, told):
        watch.take(lines(posts(3)))
        watch.close()
        assert not told()[-1]["provisional"]
    assert (
        f"odl watch: notify was not run: its command is not trusted here; read it, then type: odl trust {news}"
        in (capsys.readouterr().err)
    )


def test_of_what_a_run_says_that_of_the_command_and_of_versions_is_told_whatever_its_encoding(
    news, monkeypatch, capsys
):
    kept = "computed by another version of odl, and still used: batch of 3"
    said = f"notify: 1 alert delivered\nnotify was not run in \xe9\nnotify-x: 7 documents\n{kept}\n"

    def run(folder, **options):
        os.write(2, said.encode("latin-1"))  # not UTF-8

    monkeypatch.setattr("odl.cli.run.run", run)
    with watched(news) as (watch, _):
        for _ in range(2):
            watch.learn()
            watch.finish()
    told = capsys.readouterr().err
    of_command = ["notify: 1 alert delivered", "notify was not run in \ufffd"]
    assert told == "".join(f"odl watch: {line}\n" for line in [*of_command, kept, *of_command])


@pytest.mark.slow
def test_strict_ends_at_the_first_line_that_cannot_be_read(news):
    given = json.dumps(posts(3)[0]) + "\nno json\n" + json.dumps(posts(3)[1]) + "\n"
    done = odl("watch", news, "--strict", given=given)
    assert done.returncode == 1 and "line 2 of the input: Expecting value" in done.stderr


@pytest.mark.slow
def test_a_mistake_in_the_configuration_is_said_and_the_watch_goes_on(news, tmp_path):
    """At SIGHUP, and where a period ends; what was answered is learned when it is mended."""
    command, good = (
        [sys.executable, "-m", "odl", "watch", str(news)],
        (news / "odl.yaml").read_text(),
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **pipes)

    def answered(rows):
        process.stdin.write("".join(json.dumps(row) + "\n" for row in rows))
        process.stdin.flush()
        return [json.loads(process.stdout.readline())["id"] for _ in rows]

    assert answered(posts(3)[:10])[9] == "w3-9"
    wrong = "period: fortnight", "alrets:", "notify: [tell]\nalerts:"
    for bad in ("sources: [\n", *map(good.replace, ("period: week", "alerts:", "alerts:"), wrong)):
        assert bad != good
        (news / "odl.yaml").write_text(bad)
        process.send_signal(signal.SIGHUP)
        assert process.stderr.readline().endswith("Until then the earlier settings apply.\n")
    assert answered([posts(4)[0]]) == ["w4-0"]
    assert "odl watch: the period is not learned yet: " in process.stderr.readline()
    (news / "odl.yaml").write_text(good)
    answers, said = process.communicate(
        "".join(json.dumps(row) + "\n" for row in posts(4)[:10]), timeout=300
    )
    assert process.returncode == 0 and "Traceback" not in said and "20 documents accepted" in said
    final = [one for one in map(json.loads, answers.splitlines()) if not one["provisional"]]
    assert [one["period"] for one in final] == [3, 4]
    assert_same_at_once(news, tmp_path / "once")


@pytest.mark.slow
def test_input_that_ends_with_a_period_that_is_not_learned_is_a_failure(news):
    """What was answered stays, for the run after the mistake is mended."""
    good, rows = (
        (news / "odl.yaml").read_text(),
        "".join(json.dumps(row) + "\n" for row in posts(3)[:5]),
    )
    command, pipes = (
        [sys.executable, "-m", "odl", "watch", str(news)],
        ("stdin", "stdout", "stderr"),
    )
    process = subprocess.Popen(command, text=True, **dict.fromkeys(pipes, subprocess.PIPE))
    process.stdin.write(rows)
    process.stdin.flush()
    assert len([process.stdout.readline() for _ in range(5)]) == 5
    (news / "odl.yaml").write_text(good.replace("alerts:", "alrets:"))
    process.stdin.write(json.dumps(posts(4)[0]) + "\n")  # two periods, one fault
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1 and "Traceback" not in said
    assert said.count("the period is not learned yet") == 1 and "6 documents accepted" in said
    assert said.endswith(
        "expected odl run to succeed; correct what is printed above, then type odl run.\n"
    )
    (news / "odl.yaml").write_text(good)
    assert "186 in all" in odl("run", news).stdout


@pytest.mark.slow
def test_a_folder_of_an_earlier_version_goes_on_storing_and_learns_nothing(tmp_path):
    """It says at the start and at the end what to type, and ends with status 2."""
    stream = earlier.unpack(tmp_path)
    before = {path: path.read_bytes() for path in Path(stream).rglob("*.h5")}
    rows = [
        {"id": f"late-{n}", "time": f"2026-05-{n + 1:02d}", "text": "soil water lamp brake"}
        for n in range(9)
    ]
    given = "".join(json.dumps(row) + "\n" for row in rows)
    done = odl("watch", stream, given=given)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 2 and [one["id"] for one in answers] == [row["id"] for row in rows]
    assert {one["score"] for one in answers} == {None} and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[0].startswith(
        "odl watch: an earlier version of odl wrote the results"
    )
    assert done.stderr.splitlines()[-1].startswith(
        "odl watch: an earlier version of odl wrote the results"
    )
    assert "--again: it learns 200 documents in 8 periods" in done.stderr
    stored = [
        json.loads(line) for path in Path(stream, "inbox").glob("*.jsonl") for line in path.open()
    ]
    assert sorted(one["id"] for one in stored) == [row["id"] for row in rows]
    assert before == {path: path.read_bytes() for path in Path(stream).rglob("*.h5")}


@pytest.mark.slow
def test_a_period_ends_by_the_clock(news, tmp_path, monkeypatch):
    """Its documents are learned though none of the next one came."""
    now = middle = fields.parse_time("2026-01-28")
    monkeypatch.setattr(live, "clock", lambda: now)
    with watched(news, by_clock=True, tolerance=3600) as (watch, told):
        watch.take(lines(posts(3)))
        watch.poll()
        assert not watch.learned
        now = middle + 5 * 86_400_000  # the end of the week, which stays open for an hour
        watch.poll()
        assert not watch.learned
        now += 3_600_000
        watch.poll()
        assert watch.learned and not watch.inbox.labels()
        watch.finish()
        assert [one["period"] for one in told() if not one["provisional"]] == [3]
        watch.take(lines(posts(4)[:5]))
        assert {one["dictionary"] for one in told()[-5:]} == {3}
        watch.close()
    assert_same_at_once(news, tmp_path / "once")


@pytest.mark.slow
def test_a_period_that_ends_while_another_is_learned_has_its_turn_after_it(news, tmp_path):
    with watched(news) as (watch, told):
        watch.take(lines(posts(3, 20) + posts(4, 20)))
        first = watch.learned
        watch.learn()  # a button of the page; no period waits yet
        watch.take(lines(posts(5, 20)))
        assert watch.learned is first and watch.n_waiting == 1 and len(told()) == 60
        watch.take(lines(posts(6, 20)))  # one run learns the second and the third one
        assert watch.learned is not first and (watch.n_learning, watch.n_waiting) == (2, 0)
        watch.close()
        assert [one["period"] for one in told() if not one["provisional"]] == [3, 4, 5, 6]
    assert_same_at_once(news, tmp_path / "once")


def test_documents_without_a_time_and_late_ones_are_named_once(news, capsys):
    undated = [{"id": name, "text": "grain and oil"} for name in ("first", "second")]
    with watched(news) as (watch, told):
        watch.take(lines([*posts(3)[:2], *undated, *posts(3)[2:5]]))
        assert [one["late"] for one in told()] == [False] * 4 + [True] * 3
        watch.close(interrupted=True)
    printed = capsys.readouterr().err
    assert printed.count("document first has no time and gets the time of its arrival") == 1
    assert printed.count("document w3-2 came after its period had ended") == 1
    assert printed.count("odl watch: document") == 2


@pytest.mark.slow
def test_a_period_that_a_run_learned_in_part_is_told_when_it_ends(news):
    with watched(news) as (watch, told):
        watch.take(lines(posts(3)[:20]))
        watch.close(interrupted=True)
    assert odl("run", news).returncode == 0
    with watched(news) as (watch, told):
        watch.take(lines(posts(3)[20:] + posts(4, 20)))
        watch.learn()  # learns nothing new, so it tells nothing
        watch.close()
        records = [one for one in told() if not one["provisional"]]
    assert [(one["period"], one["documents"]) for one in records] == [(3, streams.N), (4, 20)]


@pytest.mark.slow
def test_a_document_keeps_its_period_where_a_kill_comes_while_a_period_waits(news, tmp_path):
    late = streams.post(4, 900, "space") | {"time": "2026-02-03T00:00:00"}
    with watched(news) as (watch, told):
        watch.take(lines(posts(3, 20) + posts(4, 20) + posts(5, 20) + [late]))
        assert watch.n_waiting
        kill_processes(watch)
        first = told()[-1]
    assert (first["period"], first["late"]) == ("2026-02-09", True)
    with watched(news) as (watch, told):
        watch.take(lines([late]))
        assert told() == [first]
        watch.close()
    assert len(ids_of(news)) == len({*ids_of(news)}) == 61
    assert_same_at_once(news, tmp_path / "once")


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_forgotten_leaves_the_inbox_too(news, packed):
    with watched(news) as (watch, _):
        watch.take(lines(posts(3)))
        busy = odl("forget", news, "w0-1")
        assert busy.returncode == 75
        watch.close()
    (path,) = (news / "inbox").glob("*.jsonl")
    if packed:
        subprocess.run(["gzip", path], check=True)
        path = path.with_suffix(".jsonl.gz")
    done = odl("forget", news, "w3-7")
    assert (
        done.returncode == 0
        and "w3-7 is forgotten" in done.stdout
        and "yours to delete" not in done.stdout
    )
    text = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
    assert text.count(b"\n") == streams.N - 1 and b'"w3-7"' not in text
    with watched(news) as (watch, told):
        watch.take(lines([posts(3)[7]]))
        assert told() == [] and "was forgotten" in watch.refused[0][1]


@pytest.mark.slow
def test_what_comes_thousands_of_times_is_like_the_first(news):
    """What a comparison costs does not grow with the number of repetitions."""
    first = posts(3)[0]
    with watched(news) as (watch, told):
        watch.take(lines([{**first, "id": f"x{number}"} for number in range(3000)]))
        assert [one["alike"] for one in told()] == [None] + 2999 * ["x0"]
        assert sum(map(len, watch.current.earlier.positions.values())) <= len(
            watch.current.earlier.positions
        )


@pytest.mark.slow
def test_no_control_character_of_a_document_reaches_a_terminal(news):
    """C1 controls and marks that turn the writing, in ids, words and what is wrong with a line."""
    bad = "\x9b31m\u202e\u2066\x1b[31m\x7f"
    row = {**posts(3)[0], "id": f"{bad}one", "text": f"wheat{bad}grain harvest"}
    given = [row, {**row, "id": f"{bad}two", "time": f"{bad}"}]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in given) + bad + "\n"
    watched = odl("watch", news, given=text)
    said = watched.stdout + watched.stderr
    answer = json.loads(watched.stdout.splitlines()[0])
    assert watched.returncode == 0 and answer["id"] == row["id"] and "2 set aside" in said
    for words in (
        ("mute", news, row["id"]),
        ("unmute", news, row["id"]),
        ("forget", news, row["id"], "--dry-run"),
    ):
        done = odl(*words)
        assert done.returncode == 0, done.stderr
        said += done.stdout + done.stderr
    assert "\\u009b31m" in said and not escaping.CONTROLS.search(said)


def test_documents_without_id_or_time_get_one(news):
    with watched(news) as (watch, told):
        watch.take(lines([{"text": "wheat harvest"}, {"text": "wheat harvest", "id": ""}]))
        ids = [one["id"] for one in told()]
        stored = list(watch.inbox.lines(watch.inbox.labels()[0]))
    assert (
        len({*ids}) == 2
        and [row["id"] for row in stored] == ids
        and all(row["time"] for row in stored)
    )


def test_what_cannot_be_watched_is_said(news):
    text = (news / "odl.yaml").read_text()
    (news / "odl.yaml").write_text(text.replace("by: period", "by: documents"))
    with pytest.raises(ConfigError, match="expected batches by period"), watched(news):
        pass
    (news / "odl.yaml").write_text(text + "driver: snakemake\n")
    with pytest.raises(ConfigError, match="driven by Snakemake"), watched(news):
        pass
    assert odl("watch", news.parent / "posts").returncode == 1
