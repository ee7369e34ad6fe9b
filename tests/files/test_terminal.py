"""Colours and the progress bar: in a pseudo-terminal, never in a file or a pipe."""

import os
import pty
import re
import subprocess
import sys

import pytest
import watched
from called import odl

from odl.files import terminal
from odl.files.terminal import padded, shortened, width, wrapped

LAUNCHES = (0, 0, 0, 6, 8, 0)
LINE_CODE = "\r\x1b[K"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    root = tmp_path_factory.mktemp("home")
    watched.follow(root / "results" / "mine", watched.run_of(atoms=20), LAUNCHES, {"gates": True})
    (root / "odl.yaml").write_text("sources: [a.jsonl]\n")
    return root


def in_terminal(*words, **environment):
    """Return the output of a command in a pseudo-terminal of 100 columns."""
    ours, theirs = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    variables |= {"TERM": "xterm", "COLUMNS": "100", **environment}
    command = [sys.executable, "-m", "odl", *map(str, words)]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=variables) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")


def plain(text):
    return re.sub(r"\x1b\[\d+m", "", text)


@pytest.mark.slow
def test_a_terminal_gets_colours_and_a_pipe_the_same_text(home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    words = ("new", home, "--since", "1998-01-01")
    shown, piped = in_terminal(*words), odl(*words).stdout
    assert "\x1b" not in piped and plain(shown) == piped
    assert "\x1b[33mnew\x1b[39m)" in shown  # the state of the event
    assert "\x1b[35m" not in shown
    for off in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}):
        assert in_terminal(*words, **off) == piped


def test_force_color_reaches_pipes_and_errors_begin_in_red(home, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1m" in odl("explain", home, "event:1").stdout
    assert odl("explain", home, "event:99").stderr.startswith("\x1b[31modl explain:\x1b[39m ")
    assert "\x1b" not in odl("new", home, "--format", "jsonl", "--since", "1998-01-29").stdout
    assert "\x1b" not in odl("new", home, "--format", "md", "--since", "1998-01-29").stdout


@pytest.mark.slow
def test_the_bar_of_a_run_moves_in_a_terminal_only(tmp_path):
    rows = "".join(
        f'{{"id": "d{n}", "time": "2026-03-{1 + n // 8:02}", "text": "oil tanker {n % 7} price"}}\n'
        for n in range(160)
    )
    (tmp_path / "posts.jsonl").write_text(rows)
    assert odl("init", tmp_path / "a", tmp_path / "posts.jsonl", "--period", "day").returncode == 0
    shown = in_terminal("run", tmp_path / "a", PYTHONIOENCODING="utf-8")
    drawn = [line for line in shown.split(LINE_CODE) if "timestep" in line]
    done = [plain(line).count("━") for line in drawn if "─" in line or "━" in line]
    assert len(done) >= 2 and done == sorted(done) and done[0] < done[-1]
    assert all(width(line.split("\n")[0]) < 100 for line in drawn)
    again = odl("run", tmp_path / "a")  # its text was stored in colours
    assert "\x1b" not in again.stdout + again.stderr
    assert "\x1b[32mnothing has changed since the last run\x1b[39m; open" in in_terminal(
        "run", tmp_path / "a"
    )


def test_codes_have_no_width():
    text = f"an {terminal.styled('event', 'bold')} of {terminal.styled_state('growing')} size"
    assert width(text) == width(plain(text)) == 24
    assert [plain(line) for line in wrapped(text, 10)] == wrapped(plain(text), 10)
    assert plain(padded(text, 30)) == plain(text) + 6 * " "
    cut = shortened(text, 7)
    assert plain(cut.removesuffix("\x1b[0m")) == shortened(plain(text), 7) and cut.endswith(
        "\x1b[0m"
    )
    assert terminal.styled_state("ongoing") == "ongoing"
