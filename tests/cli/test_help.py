"""What the command says of itself: help, its examples, names of before."""

import argparse
import shlex
import subprocess
import sys

import pytest

from odl import cli

COMMANDS, STEPS = cli.commands(), cli.steps()


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
    assert listed == [*COMMANDS] and list(parsers()) == [*COMMANDS, "step"]
    shown = [line.strip() for line in said if line.strip().startswith("$ ")]
    assert len(shown) == len(COMMANDS) and all(
        name in line for name, line in zip(COMMANDS, shown, strict=True)
    )
    assert max(map(len, said[:-1])) < 80


def test_the_steps_are_in_the_order_of_a_study_a_line_each(capsys):
    assert not STEPS.keys() & COMMANDS.keys()
    said = helped("step", capsys=capsys).splitlines()
    listed = [line.split()[0] for line in said if line.startswith("  ") and line[2].isalpha()]
    assert listed == [*STEPS]
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
    assert alone == action.choices[name].format_help() and alone.startswith(
        f"usage: odl step {name} [-h]"
    )


def test_without_a_command_it_is_the_help(capsys):
    assert cli.main([]) == 2
    said = capsys.readouterr().err
    assert all(f"odl {name}" in said for name in ("init", "run", "new"))


def test_what_is_missing_is_named_and_no_more(capsys):
    for words, missing in (
        (["init"], "folder"),
        (["explain"], "what"),
        (["judge"], "what, answer"),
    ):
        with pytest.raises(SystemExit):
            cli.main(words)
        assert capsys.readouterr().err.endswith(f"required: {missing}\n")


def test_the_folder_of_a_command_is_by_default_the_current_one():
    parser = cli._parser()
    for words in (["run"], ["new"], ["open"], ["watch"], ["verify"], ["backtest"], ["trust"]):
        assert parser.parse_args(words).folder == "."
    for words in (["explain", "3"], ["mute", "3"], ["judge", "3", "yes"], ["show", "3"]):
        args = parser.parse_args(words)
        assert (args.folder, vars(args).get("what", vars(args).get("id"))) == (".", "3")
        args = parser.parse_args([words[0], "news", *words[1:]])
        assert (args.folder, vars(args).get("what", vars(args).get("id"))) == ("news", "3")
    assert parser.parse_args(["mcp"]).folders == ["."]


def test_help_needs_the_standard_library_only():
    code = "import sys; from odl import cli; cli._parser(); print(sorted({n.split('.')[0] for n in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {name for name in ("numpy", "yaml", "h5py", "snakemake") if f"'{name}'" in loaded}


def test_no_command_has_the_place_of_another():
    """An argument of a command would hide the name of the command in messages."""
    for parser in (
        *parsers().values(),
        *parsers()["step"]._subparsers._group_actions[0].choices.values(),
    ):
        named = [
            action.dest
            for action in parser._actions
            if not isinstance(action, argparse._SubParsersAction)
        ]
        assert "command" not in named and "function" not in named
