"""`odl new` since a date or since a reader's own mark, which lies beside odl.yaml and changes no result."""

import hashlib
import json
import subprocess
import sys

import pytest
import watched
from called import odl

from odl.alerts import read, views
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


def test_a_quiet_period_folds_what_is_not_unusual(home):
    assert odl("new", home).stdout == "made, 1998-02-05: 80 documents, usually 80\n\nNothing new.\n"
    day = ("--since", "1998-01-29", "--until", "1998-01-29")
    text = odl("new", home, *day).stdout
    assert "\n- rocket, payload, mission: 6 documents, usually " in text
    assert f"\nNot unusual here (all of them: odl new {home} --below):\n" in text
    below = odl("new", home, *day, "--below", "--fail")
    assert (
        below.returncode == 0
        and "\ndate " in below.stdout
        and "usual\n" not in below.stdout.split("\n\n")[0]
    )
    assert odl("new", home, *day, "--below", "--format", "csv").stdout.count("\n") > 1
    assert odl("new", home, *day, "--format", "csv").stdout.count("\n") == 1


def test_an_event_and_a_document_are_explained(home):
    told = json.loads(odl("explain", home, "event:1", "--format", "jsonl").stdout)
    assert told["event"] == told["topic"] == 1 and {"launch", "rocket", "pad"} & {
        one["word"] for one in told["words"]
    }
    text = odl("explain", home, "1").stdout
    assert (
        text.startswith("Event 1 [ongoing] ")
        and "\n  states: new 1998-01-22, ongoing 1998-01-29\n" in text
    )
    document = json.loads(
        odl("new", home, "--since", "1998-01-22", "--format", "jsonl").stdout.splitlines()[0]
    )
    text = odl("explain", home, document["id"]).stdout
    assert (
        "\n  headline: " in text
        and "\n  event 1 [new] " in text
        and "\n    log-likelihood ratio " in text
    )
    assert (
        json.loads(odl("explain", home, document["id"], "--format", "jsonl").stdout)["event"] == 1
    )


@pytest.mark.slow
def test_an_event_is_muted_by_its_number(home):
    day = ("--since", "1998-01-22", "--until", "1998-01-22")
    shown = odl("new", home, *day).stdout
    for name in ("1", "event:1", "topic:1"):
        assert (
            "event:1 is muted (feedback.csv); it holds back 1 headline so far"
            in odl("mute", home, name).stdout
        )
        held = odl("new", home, *day).stdout
        assert (
            "Held back: 1 headline of event:1 (muted in feedback.csv)." in held
            and "event 1, new" not in held
        )
        assert odl("unmute", home, name).returncode == 0 and odl("new", home, *day).stdout == shown


@pytest.mark.slow
def test_a_span_is_named_by_its_begin_and_end(unseen):
    first, *_, last = read.alerts_of(unseen).periods
    days = [views.date_of(period.first) for period in (first, last)]
    whole = odl("new", unseen, "--since", days[0]).stdout
    assert (
        " in 6 periods" in whole
        and odl("new", unseen, "--since", days[0], "--until", "today").stdout == whole
    )
    for since in (("--since", "last"), ()):
        assert odl("new", unseen, *since, "--until", days[0]).stdout.startswith(
            f"made, {days[0]}: 80 documents\n"
        )
    assert odl("new", unseen, "--since", "1d").stdout == "No period since 1d.\n"
    assert odl("new", unseen, "--until", "1990").stdout == "No period until 1990.\n"
    for words, said in (
        (("--since", "soon"), "today, yesterday"),
        (("--seen", "--until", "2026"), "leave --seen or --until out"),
    ):
        refused = odl("new", unseen, *words)
        assert refused.returncode == 1 and said in refused.stderr


@pytest.mark.slow
def test_the_mark_moves_by_seen_only(unseen):
    before = contents(unseen)
    whole = odl("new", unseen, "--since", "last").stdout
    assert whole == odl("new", unseen, "--since", "last").stdout and " in 6 periods" in whole
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
    assert done.returncode == 1 and "no mark is stored in results" in done.stderr


def test_a_gate_is_named(unseen):
    told = [
        json.loads(line)
        for line in odl("new", unseen, "--since", "last", "--format", "jsonl").stdout.splitlines()
    ]
    assert told and {line["gate"] for line in told} <= {
        "words",
        "certain",
        "two periods",
        "volume",
        "lone",
    }
    assert (
        odl("new", unseen, "--format", "csv")
        .stdout.splitlines()[0]
        .endswith(",gate,opening,event,p,usual,headline")
    )


@pytest.mark.slow
def test_the_page_is_opened_or_its_path_is_printed(home, tmp_path):
    """In a process of its own, since the browsers of a process are looked up once."""
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > "${0%browser}address"\n')
    browser.chmod(0o755)
    assert odl("open", home).stderr == (
        f"odl open: {home} has no new.html; expected a folder that was run; "
        f"type odl run {home}, or name another folder.\n"
    )
    page = home / "new.html"
    page.write_text("<title>new</title>")
    try:
        for path, said in (
            (str(browser), f"opened {page}\n"),
            ("", f"no browser was found; the page is {page}\n"),
        ):
            called = subprocess.run(
                [sys.executable, "-m", "odl", "open", home],
                capture_output=True,
                text=True,
                env={"BROWSER": path, "PATH": str(tmp_path)},
            )
            assert (called.returncode, called.stdout, called.stderr) == (0, said, "")
        assert (tmp_path / "address").read_text().strip() == page.as_uri()
    finally:
        page.unlink()


def test_an_address_gives_each_event_a_link(home):
    """In what is printed of an event, in Markdown, Slack and JSON; a wrong address gives none."""
    lines, day = (home / "odl.yaml").read_text(), ("--since", "1998-01-01")
    assert json.loads(odl("explain", home, "1", "--format", "jsonl").stdout)["link"] is None
    try:
        (home / "odl.yaml").write_text(lines + "address: https://a.example/n_1.html?a=1&b=2\n")
        link = "https://a.example/n_1.html?a=1&b=2#event-1"
        assert f"\n  {link}\n" in odl("explain", home, "1").stdout
        assert json.loads(odl("explain", home, "1", "--format", "jsonl").stdout)["link"] == link
        rows = map(json.loads, odl("new", home, *day, "--format", "jsonl").stdout.splitlines())
        assert link in {row["link"] for row in rows}
        assert f"([event 1, new](<{link}>))" in odl("new", home, *day, "--format", "md").stdout
        blocks = json.loads(odl("new", home, *day, "--format", "slack").stdout)["blocks"]
        shown = f"<{link.replace('&', '&amp;')}|event 1, new>; "
        assert any(shown in str(block) for block in blocks)
        (home / "odl.yaml").write_text(lines + "address: news.example\n")
        assert "#event-1" not in odl("explain", home, "1").stdout
        refused = odl("run", home).stderr
        assert "address is 'news.example'; expected text matching (https?|file)://" in refused
    finally:
        (home / "odl.yaml").write_text(lines)
