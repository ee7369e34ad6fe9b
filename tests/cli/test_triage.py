"""`odl new` since a date or since a reader's own mark, which lies beside odl.yaml and changes no result."""

import hashlib
import json

import pytest
import watched
from called import odl

from odl.alerts import read, show
from odl.cli import triage
from odl.files import tables

LAUNCHES = (0, 0, 0, 6, 8, 0)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with odl.yaml and a made stream of six periods, three of them warm-up."""
    root = tmp_path_factory.mktemp("home")
    watched.follow(root / "results" / "mine", watched.run_of(atoms=20), LAUNCHES, {"gates": True})
    (root / "odl.yaml").write_text("sources: [a.jsonl]\n")
    return root


@pytest.fixture
def unseen(home):
    yield home
    (home / ".seen.json").unlink(missing_ok=True)


def contents(root):
    paths = sorted(path for path in root.rglob("*") if path.is_file() and path.name != ".seen.json")
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_several_periods_are_one_list_by_topic(home):
    watch = read.alerts_of(home)
    first, *_, last = watch.periods
    text = show.as_text(watch, watch.periods)
    assert text.startswith(f"made, periods 0 to 5, {show.date_of(first.first)} to {show.date_of(last.last)}: ")
    listed = [line for line in text.splitlines() if line.startswith("Topic ")]
    numbers = {alert.topic for period in watch.periods for alert in period.alerts if alert.topic}
    assert len(listed) == len(numbers) > 0
    (launch,) = [topic for topic in watch.topics.values() if {"rocket", "launch", "mission"} & set(topic.name)]
    assert f"Topic {launch.number} [new, {launch.state}]" in text and f"({launch.size} documents)" in text
    speaking, scored = sum(bool(period.alerts) for period in watch.periods), watch.periods[3:]
    assert f", in {speaking} of {len(scored)} periods.\nWarm-up before them: 3 of the periods" in text
    assert show.as_text(watch, [last]) in odl("new", home).stdout


def test_a_span_is_named_by_its_begin_and_end(unseen):
    first, *_, last = read.alerts_of(unseen).periods
    days = [show.date_of(period.first) for period in (first, last)]
    whole = odl("new", unseen, "--since", days[0]).stdout
    assert "periods 0 to 5" in whole and odl("new", unseen, "--since", days[0], "--until", "today").stdout == whole
    assert "period 0," in odl("new", unseen, "--since", "last", "--until", days[0]).stdout
    assert "period 0," in odl("new", unseen, "--until", days[0]).stdout
    assert odl("new", unseen, "--since", "1d").stdout == "No period since 1d.\n"
    assert odl("new", unseen, "--until", "1990").stdout == "No period until 1990.\n"
    for words, said in ((("--since", "soon"), "today, yesterday"), (("--seen", "--until", "2026"), "leave one out")):
        refused = odl("new", unseen, *words)
        assert refused.returncode == 1 and said in refused.stderr


def test_the_mark_moves_by_seen_only(unseen):
    before = contents(unseen)
    whole = odl("new", unseen, "--since", "last").stdout
    assert whole == odl("new", unseen, "--since", "last").stdout and "periods 0 to 5" in whole
    assert odl("new", unseen, "--since", "last", "--fail").returncode == triage.NEWS
    assert odl("new", unseen, "--seen").stdout == whole
    assert odl("new", unseen, "--since", "last").stdout == "Nothing since the last time.\n"
    assert odl("new", unseen, "--since", "last", "--format", "jsonl", "--fail").returncode == 0
    mark = unseen / ".seen.json"
    n = read.alerts_of(unseen).periods[5].documents
    assert tables.read_json(mark) == {"made": [5, n]}
    tables.write_json(mark, {"made": [4, n]})
    assert odl("new", unseen, "--since", "last").stdout == odl("new", unseen).stdout
    tables.write_json(mark, {"made": [5, n - 1]})  # its last period has filled since
    assert odl("new", unseen, "--since", "last").stdout == odl("new", unseen).stdout
    tables.write_json(mark, {"made": [9, n]})  # of a stream that was longer
    assert odl("new", unseen, "--since", "last").stdout == whole
    assert contents(unseen) == before


def test_a_mark_that_is_none(unseen):
    for text in ("{", "[]", '{"made": 5}', '{"made": [5, 40], "digest": ""}'):
        (unseen / ".seen.json").write_text(text)
        done = odl("new", unseen, "--seen")
        assert done.returncode == 1 and "; delete " in done.stderr and not done.stdout
    study = unseen / "results" / "mine"
    done = odl("new", study, "--seen")
    assert done.returncode == 1 and "no mark is kept in results" in done.stderr


def test_a_gate_is_named_and_what_is_next_in_line(unseen):
    told = [json.loads(line) for line in odl("new", unseen, "--since", "last", "--format", "jsonl").stdout.splitlines()]
    assert told and {line["gate"] for line in told} <= {"words", "topic", "lone"}
    assert odl("new", unseen, "--format", "csv").stdout.splitlines()[0].endswith(",gate,opening")
    watch = read.alerts_of(unseen)
    silent = [period for period in watch.periods if not period.alerts and not period.warm_up]
    spoken = [period for period in watch.periods if period.alerts]
    assert show.next_in_line(watch, spoken) == show.next_in_line(watch, watch.periods[:3]) == ""
    assert silent and "--budget 40" in show.next_in_line(watch, silent)


def test_a_date_stays_a_date_in_markdown():
    assert show.escaped("2012-03-02, a-b - c") == r"2012-03-02, a-b \- c" and show.escaped("- x") == r"\- x"
