"""The commands of README and CONTRIBUTING run as they are printed."""

import glob
import json
import re
import shlex
import shutil
import subprocess

import pytest
import streams
from called import odl
from places import ROOT

PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")
}
BLOCKS = {
    name: re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S) for name, text in PAGES.items()
}
LINES = [
    line
    for blocks in BLOCKS.values()
    for block in blocks
    for line in block.splitlines()
    if line.strip()
]
SPANS = sorted(
    {span for text in PAGES.values() for span in re.findall(r"`((?:make|python) [^`\n]+)`", text)}
)


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_one_command_that_is_there(line):
    """Nothing is run here; the targets, files and tests that a line names exist."""
    first, *words = shlex.split(line, comments=True)
    others = "make|odl|pip|snakemake|pytest|git|python3?"
    assert not [word for word in words if re.fullmatch(others, word)] or first.endswith("python"), (
        "two commands"
    )
    if first == "make":
        check_target(words)
    elif first == ".venv/bin/python":
        module, path, option, name = words[1:]
        assert (module, option) == ("pytest", "-k") and re.search(
            rf"def test_\w*{name}", (ROOT / path).read_text()
        )
    elif first == "snakemake":
        assert (ROOT / words[words.index("--configfile") + 1]).is_file() and (
            ROOT / "Snakefile"
        ).is_file()
    else:
        assert first == "odl" or (first, *words) == ("pip", "install", "-e", ".")


@pytest.mark.parametrize("span", SPANS)
def test_commands_within_sentences_are_there(span):
    first, *words = shlex.split(span)
    if first == "make":
        check_target(words)
    else:
        assert (ROOT / words[0]).is_file(), span


def check_target(words):
    """Refuse targets of make that are none, or whose commands cannot be told."""
    words = [re.sub(r"=.*", "=1.2.3", word) for word in words]
    said = subprocess.run(
        [shutil.which("make"), "-n", *words], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 0, said.stderr


@pytest.mark.slow
def test_the_commands_of_a_first_day(tmp_path):
    """Those of odl, in the order of the README, on files of one's own; comments name more of them."""
    for week in range(5):
        streams.write(
            tmp_path, week, ("grain", "oil", "space") if week == 4 else ("grain", "oil"), n=120
        )
    run, ident, topic = 0, "", ""
    for line in (
        line for line in "".join(BLOCKS["README.md"]).splitlines() if line.startswith("odl ")
    ):
        command, _, comment = line.partition("#")
        for printed in (command, *re.findall(r"odl (?:explain|unmute) news 12", comment)):
            words = shlex.split(printed.replace(" ID", f" {ident}").replace(" 12", f" {topic}"))[1:]
            named = [
                path
                for word in words
                for path in sorted(glob.glob(word, root_dir=tmp_path)) or [word]
            ]
            said = odl(*named, cwd=tmp_path)
            assert said.returncode == 0, (printed, said.stderr)
            run += 1
        if line.startswith("odl init"):
            lines = (tmp_path / "news" / "odl.yaml").read_text()
            (tmp_path / "news" / "odl.yaml").write_text(
                lines.replace("rest: true,", "rest: true, warm_up: 50,")
            )
        if line.startswith("odl run"):
            alerts = odl(
                "new", "news", "--since", "2026", "--format", "jsonl", cwd=tmp_path
            ).stdout.splitlines()
            ident = json.loads(alerts[0])["id"]
            topic = next(alert["topic"] for alert in map(json.loads, alerts) if alert["topic"])
    assert run >= 8 and (tmp_path / "news" / "new.html").exists()


def test_the_systems_are_named():
    assert "Linux (tested), macOS, WSL" in PAGES["README.md"]
