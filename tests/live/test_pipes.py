"""The pipes of the guide that can run here: each gives `odl watch` lines that it answers."""

import json
import mailbox
import re
import shutil
import sqlite3
import subprocess
import sys
from email.message import EmailMessage

import pytest
import streams
from called import odl
from places import ROOT

GUIDE = (ROOT / "docs" / "guides" / "live.md").read_text(encoding="utf-8")


def pipe(name):
    """Return the lines of the guide under a comment."""
    return re.search(rf"(?m)^# {name}[^\n]*\n(.*?)(?=\n\n#|\n```)", GUIDE, re.S)[1]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = streams.begin(tmp_path_factory.mktemp("first"), weeks=3)
    assert odl("run", folder).returncode == 0
    return folder


def answers(folder, name, called):
    """Run a pipe of the guide beside a folder; return what was answered on arrival."""
    line = pipe(name).replace(f"odl watch {called}", f"{sys.executable} -m odl watch news")
    done = subprocess.run(["bash", "-c", line], cwd=folder.parent, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return [one for one in map(json.loads, done.stdout.splitlines()) if one["provisional"]]


def test_sqlite(first, tmp_path):
    if not (shutil.which("sqlite3") and shutil.which("jq")):
        pytest.skip("sqlite3 and jq are not installed")
    news = streams.copy(first, tmp_path)
    rows = [(1195 + number, *list(streams.post(3, number, "sea").values())[1:]) for number in range(20)]
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.execute("CREATE TABLE review (id INTEGER, made TEXT, body TEXT)")
        base.executemany("INSERT INTO review VALUES (?, ?, ?)", rows)
    told = answers(news, "SQLite", "reviews")
    assert [one["id"] for one in told] == [str(number) for number in range(1201, 1215)]
    assert all(one["score"] > 0 for one in told)


def test_a_mailbox(first, tmp_path):
    news = streams.copy(first, tmp_path)
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
