"""The pipes of the guide that can run here: each gives `odl watch` lines that it answers."""

import json
import mailbox
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from email.message import EmailMessage

import pytest
import streams
from places import ROOT
from test_watch import watched

GUIDE = (ROOT / "docs" / "guides" / "live.md").read_text(encoding="utf-8")

SOURCES = {
    "journal": "journalctl -f -o json",
    "often": "while sleep 600",
    "address": "https://example.org/rss.xml",
}


def pipe(name):
    """Return the lines of the guide under a comment."""
    return re.search(rf"(?m)^# {name}[^\n]*\n(.*?)(?=\n\n#|\n```)", GUIDE, re.S)[1]


def answers(folder, name, called, **others):
    """Run a pipe of the guide beside a folder, its source another one; return what a watch answers to its lines."""
    assert pipe(name).endswith(f"odl watch {called}")
    line = pipe(name).replace(f"odl watch {called}", "cat")
    for source, other in others.items():
        line = line.replace(SOURCES[source], other)
    done = subprocess.run(["bash", "-c", line], cwd=folder.parent, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    with watched(folder) as (watch, told):
        watch.take(list(enumerate(done.stdout.splitlines())))
        assert watch.refused == []
        return told()


@pytest.mark.slow
def test_ten_minutes_in_an_empty_directory(tmp_path):
    """A log, a feed and a table, word for word: each tells of the water."""
    if not all(map(shutil.which, ("bash", "curl", "jq", "sqlite3"))):
        pytest.skip("bash, curl, jq or sqlite3 is not installed")
    part = GUIDE[GUIDE.index("## Ten minutes") : GUIDE.index("## What an answer says")]
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", part)
    called, place = tmp_path / "bin" / "odl", tmp_path / "empty"
    called.parent.mkdir()
    called.write_text(f'#!/bin/sh\nexec {sys.executable} -m odl "$@"\n')
    called.chmod(0o755)
    place.mkdir()
    surroundings = {**os.environ, "PATH": f"{called.parent}:{os.environ['PATH']}"}
    options = {
        "cwd": place,
        "env": surroundings,
        "capture_output": True,
        "text": True,
        "timeout": 300,
    }
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", "".join(blocks)], **options)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    for name in ("log", "feed", "table"):
        told = [
            json.loads(line) for line in (place / f"{name}-answers.jsonl").read_text().splitlines()
        ]
        answers = [one for one in told if one["provisional"]]
        assert len(answers) == 60
        words = {word for one in answers if one["within_budget"] for word, _ in one["reasons"]}
        assert words & {"water", "cellar", "pump", "valve"}
    assert done.stdout.count("(event 1, new)") == 2


def test_sqlite(news, tmp_path):
    if not (shutil.which("sqlite3") and shutil.which("jq")):
        pytest.skip("sqlite3 and jq are not installed")
    rows = [
        (1195 + number, *list(streams.post(3, number, "sea").values())[1:]) for number in range(20)
    ]
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.execute("CREATE TABLE review (id INTEGER, made TEXT, body TEXT)")
        base.executemany("INSERT INTO review VALUES (?, ?, ?)", rows)
    told = answers(news, "SQLite", "reviews")
    assert [one["id"] for one in told] == [str(number) for number in range(1201, 1215)]
    assert all(one["score"] > 0 for one in told)


def test_a_mailbox(news, tmp_path):
    box = mailbox.mbox(tmp_path / "list.mbox")
    for number in range(5):
        message = EmailMessage()
        message["Message-ID"], message["Subject"] = f"<{number}@example.org>", f"About {number}"
        message["Date"] = f"Tue, 27 Jan 2026 0{number}:00:00 +0000"
        message.set_content(streams.post(3, number, "sea")["text"])
        box.add(message)
    box.close()
    told = answers(news, "a mailbox", "list")
    assert [one["id"] for one in told] == [f"<{number}@example.org>" for number in range(5)]
    assert {one["period"] for one in told} == {"2026-01-26"}


def test_rss(news, tmp_path):
    """What came before gets its old answer."""
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    posts = [streams.post(3, number, "sea") for number in range(5)]
    items = (
        f"<item><guid>{row['id']}</guid><pubDate>Tue, 27 Jan 2026 00:0{number}:00 GMT</pubDate>"
        f"<title>A &amp; B</title><description><![CDATA[<p>{row['text']}</p>]]></description></item>"
        for number, row in enumerate(posts)
    )
    (tmp_path / "rss.xml").write_text(
        f'<rss version="2.0"><channel>{"".join(items)}</channel></rss>'
    )
    told = answers(
        news, "RSS", "blog", often="for time in 1 2", address=f"file://{tmp_path}/rss.xml"
    )
    assert [one["id"] for one in told] == 2 * [row["id"] for row in posts] and told[:5] == told[5:]
    assert {one["period"] for one in told} == {"2026-01-26"}


def test_the_journal(news, tmp_path):
    """Entries as journalctl writes them, times in microseconds; one has colours, one no message."""
    if not shutil.which("jq"):
        pytest.skip("jq is not installed")
    lines = []
    for number in range(5):
        entry = {
            "__CURSOR": f"s=a;i={number}",
            "__REALTIME_TIMESTAMP": str(1_769_472_000_000_000 + number),
        }
        message = streams.post(3, number, "sea")["text"]
        entry["MESSAGE"] = [*f"\x1b[31m{message}".encode()] if number == 1 else message
        lines += [json.dumps(entry), json.dumps(entry | {"__CURSOR": "none", "MESSAGE": None})]
    (tmp_path / "journal.jsonl").write_text("\n".join(lines) + "\n")
    told = answers(news, "the journal", "journal", journal="cat journal.jsonl")
    assert [one["id"] for one in told] == [f"s=a;i={number}" for number in range(5)]
    assert {one["period"] for one in told} == {"2026-01-26"}
