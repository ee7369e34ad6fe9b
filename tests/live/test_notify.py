"""The command that is told of each alert: trusted by hand, without a shell, at least once, what failed is said."""

import email.header
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import streams
from called import odl
from places import ROOT

from odl.live import notify

TELL = "import sys; open('told.jsonl', 'a').write(sys.stdin.read() + chr(10))"
HANG = "import subprocess; it = subprocess.Popen(['sleep', '60']); open('child', 'w').write(str(it.pid)); it.wait()"


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A folder that was run, with alerts in its last week."""
    return streams.learned(tmp_path_factory.getbasetemp())


@pytest.fixture
def news(first, tmp_path, monkeypatch):
    """A copy of it, on a machine on which nothing is trusted, with retries that do not wait."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(notify, "RETRY_SECONDS", 0.0)
    return streams.copy(first, tmp_path)


def name(folder, code):
    """Write a script of Python that odl.yaml names as the command."""
    (folder / "tell it.py").write_text(code)
    lines = [
        line
        for line in (folder / "odl.yaml").read_text().splitlines()
        if not line.startswith("notify")
    ]
    command = f"notify: \"{sys.executable} 'tell it.py'\""
    (folder / "odl.yaml").write_text("\n".join([*lines, command, ""]))


def told(folder):
    path = folder / "told.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def alerts(folder, *words):
    return [
        json.loads(line)
        for line in odl("new", folder, "--format", "jsonl", *words).stdout.splitlines()
    ]


@pytest.mark.slow
def test_each_alert_once_and_only_after_trust(news):
    name(news, TELL)
    said = odl("run", news)
    assert (
        said.returncode == 0
        and f"not trusted here; read it, then type: odl trust {news}" in said.stdout
    )
    assert told(news) == []
    assert "odl run may start" in odl("trust", news).stdout
    expected = alerts(news)
    assert expected and f"notify: {len(expected)} alerts delivered" in odl("run", news).stdout
    given = told(news)
    assert [one.pop("alert") for one in given] == [
        f"urn:odl:news:document:{one['id']}" for one in expected
    ]
    assert given == expected
    assert "notify" not in odl("run", news).stdout and len(told(news)) == len(expected)
    streams.write(news.parent, 5, ("grain", "oil", "sea"))
    odl("run", news)
    assert len(told(news)) == len(alerts(news, "--since", "2026-02-02")) > len(expected)


def test_another_command_has_to_be_trusted_anew(news):
    name(news, TELL)
    odl("trust", news)
    text = (news / "odl.yaml").read_text()
    (news / "odl.yaml").write_text(text.replace("tell it.py'", "other.py'"))
    assert "not trusted" in odl("run", news).stdout and told(news) == []


def test_what_failed_is_said_and_tried_again(news):
    name(news, "import sys; open('tries', 'a').write('x'); sys.exit('no network')")
    odl("trust", news)
    n = len(alerts(news))
    said = odl("run", news)
    assert said.returncode == 0
    assert (
        f"{n} of {n} alerts could not be delivered" in said.stdout
        and "ended with 1: no network, tried 3 times" in said.stdout
    )
    assert (news / "tries").read_text() == "xxx"
    name(news, TELL)
    assert (
        "not trusted" in odl("run", news).stdout and told(news) == []
    )  # the same command, another script
    odl("trust", news)
    odl("run", news)
    assert len(told(news)) == n


@pytest.mark.slow
def test_a_command_that_hangs_is_ended_with_all_that_it_started(news, monkeypatch):
    monkeypatch.setattr(notify, "NOTIFY_SECONDS", 0.5)
    name(
        news,
        HANG,
    )
    odl("trust", news)
    assert "took more than 0 s, tried 3 times" in odl("run", news).stdout
    child = int((news / "child").read_text())
    end = time.monotonic() + 20
    while is_alive(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_alive(child)


def is_alive(number):
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_no_shell_reads_the_command(news):
    (news / "odl.yaml").write_text(
        (news / "odl.yaml").read_text() + 'notify: "echo told; touch hacked"\n'
    )
    odl("trust", news)
    odl("run", news)
    assert not (news / "hacked").exists()


@pytest.mark.parametrize("value", ["[a, b]", '""', '"\'"', "7"])
def test_what_is_no_command_is_refused_before_the_run(news, value):
    (news / "odl.yaml").write_text((news / "odl.yaml").read_text() + f"notify: {value}\n")
    said = odl("run", news)
    assert said.returncode == 1 and "expected a command on one line" in said.stderr
    assert odl("trust", news).returncode == 1


@pytest.mark.slow
def test_a_kill_loses_no_alert_and_repeats_one_at_most(news):
    """Killed while the command runs: the next run delivers what is not on record; a cut line is none."""
    name(
        news,
        TELL + "; import time; time.sleep(0.3)",
    )
    odl("trust", news)
    expected = [one["id"] for one in alerts(news)]
    process = subprocess.Popen([sys.executable, "-m", "odl", "run", str(news)])
    while len(told(news)) < 2:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with open(news / notify.DELIVERED_FILE, "a") as record:
        record.write("urn:odl:news:docu")
    assert odl("run", news).returncode == 0
    given = [one["id"] for one in told(news)]
    assert set(given) == set(expected) and len(given) <= len(expected) + 1


def test_nothing_of_it_is_in_results(news):
    before = streams.contents(news / "results")
    name(news, TELL)
    odl("trust", news)
    odl("run", news)
    assert streams.contents(news / "results") == before


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what is sent."""

    def do_POST(self):
        """Take what comes."""
        self.server.came.append(
            (
                self.path,
                self.headers,
                json.loads(self.rfile.read(int(self.headers["Content-Length"]))),
            )
        )
        self.send_response(200)
        self.end_headers()

    do_PUT = do_POST


@pytest.fixture
def receiver():
    with http.server.HTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.came = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


ALERT = {
    "alert": "urn:odl:news:document:7",
    "id": "7",
    "reasons": [["orbit", 0.2], ["pad", 0.1]],
    "url": None,
}


@pytest.mark.parametrize("title", ['<!channel> \u00e9 & "more"\nBcc: all@example.org', None])
def test_the_four_scripts_of_the_page_tell_an_alert(tmp_path, receiver, title):
    """Slack and Matrix by HTTP, a message, a ticket that is there once; hostile text stays text."""
    if not (shutil.which("jq") and shutil.which("curl")):
        pytest.skip("jq and curl are not installed")
    page = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    scripts = re.findall(r"(?ms)^```sh\n(#!/bin/sh\n.*?)^```", page)
    stubs = {
        "sendmail": 'echo "$@" > to; cat > message',
        "gh": f'exec {sys.executable} ../gh.py "$@"',
    }
    for stub, code in stubs.items():
        (tmp_path / stub).write_text(f"#!/bin/sh\n{code}\n")
        (tmp_path / stub).chmod(0o755)
    (tmp_path / "place").mkdir()
    (tmp_path / "gh.py").write_text(
        "import json, os, sys\n"
        "if sys.argv[2] == 'list':\n"
        "    print(int(os.path.exists('ticket')))\n"
        "else:\n"
        "    json.dump([sys.argv[1:], sys.stdin.read()], open('ticket', 'x'))\n"
    )
    own = f"http://127.0.0.1:{receiver.server_port}"
    names = {
        "SLACK_WEBHOOK": f"{own}/slack",
        "MATRIX_ROOM": f"{own}/room",
        "MATRIX_TOKEN": "t",
        "READER": "me@here",
    }
    text = json.dumps({**ALERT, "title": title, "text": ".\nwhole text"}).encode()
    surroundings = {**os.environ, **names, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    options = {
        "cwd": tmp_path / "place",
        "env": surroundings,
        "capture_output": True,
        "timeout": 60,
    }
    for script in [*scripts, scripts[-1]]:
        (tmp_path / "tell.sh").write_text(script)
        done = subprocess.run(["sh", tmp_path / "tell.sh"], input=text, **options)
        assert done.returncode == 0, done.stderr
    (_, _, slack), (path, headers, matrix) = receiver.came
    shown = "7" if title is None else title
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert slack == {"text": f"{escaped}\nbecause: orbit, pad"}
    assert (
        path == "/room/send/m.room.message/urn%3Aodl%3Anews%3Adocument%3A7"
        and headers["Authorization"] == "Bearer t"
    )
    assert matrix == {"msgtype": "m.text", "body": shown}
    sent = email.message_from_bytes((tmp_path / "place" / "message").read_bytes())
    assert sent.get_payload(decode=True).decode() == ".\nwhole text\n\n" and sent["Bcc"] is None
    assert str(email.header.make_header(email.header.decode_header(sent["Subject"]))) == shown
    assert (tmp_path / "place" / "to").read_text() == "-i me@here\n" and sent[
        "Message-ID"
    ].endswith("@odl.invalid>")
    words, body = json.loads((tmp_path / "place" / "ticket").read_text())
    assert words[words.index("--title") + 1] == shown and body.endswith(f"\n{ALERT['alert']}\n")
