"""The guide about levels, word for word: its commands print what it shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

GUIDE = (ROOT / "docs/guides/level.md").read_text(encoding="utf-8")
STREAM = "firefox_questions.jsonl.gz"


def commands():
    """Yield (command, lines that it prints) of the guide; the line ``...`` stands for lines that are left out."""
    for block in re.findall(r"^```console\n(.*?)^```$", GUIDE, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *printed = part.splitlines()
            yield command, printed


def pattern_of(printed):
    """Return a regular expression of the whole output."""
    lines = ["(?:.*\n)*" if line == "..." else re.escape(line) + "\n+" for line in printed]
    return re.compile("".join(lines))


def test_the_guide_has_commands_with_output():
    assert sum(bool(printed) for _, printed in commands()) >= 3
    assert pattern_of(["a", "...", "b"]).fullmatch("a\n\nx\ny\nb\n")
    assert not pattern_of(["a", "b"]).fullmatch("a\nx\nb\n")


@pytest.mark.long
@pytest.mark.corpora
def test_commands_print_what_the_guide_shows(corpora, tmp_path):
    """Many minutes: the stream is learned twice."""
    shutil.copy(corpora / "events" / STREAM, tmp_path)
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, printed in commands():
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env={**os.environ, "PATH": binaries},
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert done.returncode == 0, command
        assert pattern_of(printed).fullmatch(done.stdout), (command, done.stdout)
