"""What the command says of itself: help, its examples, names of before, completion."""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from odl import cli

COMMANDS, STEPS = cli.commands(), cli.steps()

ASK = """
eval "$(odl completion bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
_python_argcomplete odl
printf '%s\\n' "${COMPREPLY[@]}"
"""


def helped(*words, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([*words, "--help"])
    assert stop.value.code == 0
    return capsys.readouterr().out


def parsers():
    (action,) = cli._parser()._subparsers._group_actions
    return action.choices


def examples(parser):
    return [line.strip() for line in (parser.epilog or "").splitlines()[1:]]


def test_the_help_is_of_people_and_has_an_example_each(capsys):
    said = helped(capsys=capsys).splitlines()
    listed = [line.split()[0] for line in said if line.startswith("  ") and line[2].isalpha()]
    assert listed == [*COMMANDS] and list(parsers()) == [*COMMANDS, "step"] and listed[:3] == ["init", "run", "new"]
    shown = [line.strip() for line in said if line.strip().startswith("$ ")]
    assert len(shown) == len(COMMANDS) and all(name in line for name, line in zip(COMMANDS, shown, strict=True))
    assert max(map(len, said[:-1])) < 80 and len(said) < 40


def test_the_steps_are_in_the_order_of_a_study_a_line_each(capsys):
    assert not STEPS.keys() & COMMANDS.keys()
    said = helped("step", capsys=capsys).splitlines()
    listed = [line.split()[0] for line in said if line.startswith("  ") and line[2].isalpha()]
    assert listed == [*STEPS] and [*STEPS][:6] == ["download", "read", "index", "batch", "features", "update"]
    assert max(len(line) for line in said if line.startswith("  ")) < 80


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_understood(name):
    for line in examples(parsers()[name]) or pytest.fail("no example"):
        words = shlex.split(line.removeprefix('eval "$(').removesuffix(')"'))
        assert words[:2] == ["odl", name]
        assert cli._parser().parse_args(words[1:]).command == name


@pytest.mark.parametrize("name", STEPS)
def test_the_help_of_a_step_is_that_of_the_list_of_all(name, capsys):
    """Where one step is called, no other parser is made."""
    alone = helped("step", name, capsys=capsys)
    (action,) = parsers()["step"]._subparsers._group_actions
    assert alone == action.choices[name].format_help() and alone.startswith(f"usage: odl step {name} [-h]")


def test_without_a_command_it_is_the_help(capsys):
    assert cli.main([]) == 2
    said = capsys.readouterr().err
    assert all(f"odl {name}" in said for name in ("init", "run", "new"))


def test_what_is_missing_is_named_and_no_more(capsys):
    for name in ("init", "run"):
        with pytest.raises(SystemExit):
            cli.main([name])
        assert capsys.readouterr().err.endswith("required: folder\n")


def test_help_needs_the_standard_library_only():
    code = "import sys; from odl import cli; cli._parser(); print(sorted({n.split('.')[0] for n in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {name for name in ("numpy", "yaml", "h5py", "argcomplete", "snakemake") if f"'{name}'" in loaded}


class TestCompletion:
    @pytest.fixture
    def folder(self, tmp_path):
        for name in ("news", "results", "other"):
            (tmp_path / name).mkdir()
        return tmp_path

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("odl ", [*COMMANDS, "step"]),
            ("odl step ", list(STEPS)),
            ("odl step up", ["update"]),
            ("odl explain n", ["news/"]),
            ("odl run r", ["results/"]),
            ("odl mute o", ["other/"]),
            ("odl new news --format ", ["text", "jsonl", "csv", "md", "slack"]),
            ("odl step regret --c", ["--checkpoints", "--costs"]),
        ],
    )
    def test_bash_is_told_what_may_come(self, folder, line, expected):
        place = str(Path(sys.executable).parent)
        done = subprocess.run(
            ["bash", "-c", ASK, "bash", line],
            cwd=folder,
            env={"PATH": f"{place}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert [word.strip() for word in done.stdout.splitlines()] == expected, done.stderr

    @pytest.mark.parametrize("shell", ["zsh", "fish"])
    def test_other_shells_have_one_too(self, shell, capsys):
        assert cli.main(["completion", shell]) == 0
        assert "odl" in capsys.readouterr().out


def test_no_command_has_the_place_of_another():
    """An argument of a command would hide the name of the command in messages."""
    for parser in (*parsers().values(), *parsers()["step"]._subparsers._group_actions[0].choices.values()):
        named = [action.dest for action in parser._actions if not isinstance(action, argparse._SubParsersAction)]
        assert "command" not in named and "function" not in named
