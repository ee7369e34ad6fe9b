"""The rules of the workflow say of a step what its description says (`odl.config.steps`): files, settings, outputs."""

import argparse
import builtins
import re
from unittest.mock import MagicMock

import pytest
from places import ROOT
from test_documented_names import python

from odl import cli
from odl.config.steps import CORPUS_FOLDER, RUN_FOLDER, STEPS, STREAM_FOLDER, record_of

STAGES = ("corpus", "features", "learn", "alerts")
RULE = re.compile(r"^(?:rule|checkpoint) (\w+):$", re.M)
PLACE = re.compile(r"\{((?:input|output|params|wildcards)(?:\.\w+)?):q\}")
OWN = {
    ("share", "sources"),
    ("read", "sources"),
    ("newpage", "feedback"),
    ("newpage", "order"),
}  # named by a person
# Inputs that say only when a job may run, or hold what another input holds: the table beside the
# order, alerts that have to be there before a checkpoint is dropped.
ORDER = {"table", "alerts"}
# Of as many as there are, or of a stream that the page is called after: a function of the rule
# names them.
MANY = {
    ("read", "shares"),
    ("newpage", "alerts"),
    ("newpage", "documents"),
    ("newpage", "features"),
}
# Arguments that change no content, or in which `sources` or `alerts` are given.
PLACES = {
    "code",
    "costs",
    "timings",
    "history",
    "made",
    "folder",
    "home",
    "study",
    "stream",
    "source",
    "files",
    "rows",
}
PLACES |= {"alerts", "shares"}


class Names(dict):
    """Names of a rules file: those that say where files lie, and a stand-in for any other."""

    def __missing__(self, name):
        return vars(builtins).get(name) or MagicMock()


class Wildcards:
    """Wildcards as they stand in a pattern."""

    def __getattr__(self, name):
        return f"{{{name}}}"


def named(values, names):
    return {**({"": values[0]} if values else {}), **names}


def rules_of(stage):
    """Return the rules of a file: name to directive to what stands in it."""
    found = {}

    def rule(name):
        found[name] = {}
        return True

    def directive(kind):
        return lambda *values, **names: (
            found[list(found)[-1]].__setitem__(kind, named(values, names)) if found else None
        )

    known = {kind: directive(kind) for kind in ("input", "output", "params", "shell")}
    known |= {
        "ROOT": "{root}", "STREAM": STREAM_FOLDER, "RUN": RUN_FOLDER, "PAGE_PREFIX": "new", "ANY_BY_ALL": True, "rule": rule,
        "file_before": lambda pattern: pattern.replace("{t}", "{before}"),
        "where": lambda needed, found: found,
        "ancient": lambda path: path,
        "report": lambda path, **options: path,
        "stream_of": lambda wildcards: STREAM_FOLDER,
        "last_features": STREAM_FOLDER + "/features/{last}.h5",
        "options": lambda **flags: " ".join(f"{flag} input.{name}" for name, flag in flags.items()),
    }  # fmt: skip
    text = RULE.sub(r'if rule("\1"):', (ROOT / "workflow" / "rules" / f"{stage}.smk").read_text())
    exec(compile(python(text), stage, "exec"), Names(known))
    return found


def path_of(value):
    """Return the pattern of a file that a rule names, None where a function says it."""
    if callable(value) and not isinstance(value, MagicMock):
        try:
            value = value(Wildcards())
        except KeyError:  # of the stand-in for a study without streams
            return None
    return value if isinstance(value, str) else None


def arguments(rule):
    """Return the arguments of the step that a rule runs: name to what the rule gives it."""
    params = {f"params.{name}": value for name, value in rule["params"].items()}
    fill = lambda place: params["params.optional"] if place[1] == "params.optional" else place[1]  # noqa: E731
    words = PLACE.sub(fill, rule["shell"][""]).split(" > ")[0].split(" 2> ")[0].split()
    parser = argparse.ArgumentParser(exit_on_error=False)
    for flags, options in cli.steps()[words[2]].arguments:
        kept = {
            name: value
            for name, value in options.items()
            if name not in ("type", "choices", "nargs", "metavar", "required")
        }
        parser.add_argument(
            *flags, **kept, **({"nargs": "?"} if not flags[0].startswith("-") else {})
        )
    parser.add_argument("--costs")
    given, left = parser.parse_known_args(words[3:])
    assert left in ([], ["params.shares"], ["params.history"], ["params.study"])
    return {name: value for name, value in vars(given).items() if value}


RULES = {name: rule for stage in STAGES for name, rule in rules_of(stage).items() if name in STEPS}


def test_every_step_has_a_rule():
    assert RULES.keys() == STEPS.keys()


@pytest.mark.parametrize("name", STEPS)
class TestRules:
    def test_files_that_are_read(self, name):
        given = arguments(RULES[name])
        inputs = {
            f"input.{key}".strip("."): path_of(value) for key, value in RULES[name]["input"].items()
        }
        left = inputs.keys() - {f"input.{role}" for role in ORDER}
        for role, pattern in STEPS[name].reads.items():
            place = given.get(role, f"input.{role}")
            if (name, role) not in OWN and place in inputs and inputs[place] is not None:
                assert inputs[place] == pattern, role
            elif (name, role) not in OWN:
                assert (name, role) in MANY
            left -= {place}
        assert left <= (
            {"input"} if name == "share" else set()
        )  # without a name, the person's files

    def test_files_that_are_written(self, name):
        step, given = STEPS[name], arguments(RULES[name])
        outputs = {
            f"output.{key}".strip("."): path_of(value)
            for key, value in RULES[name]["output"].items()
        }
        for role, pattern in step.writes.items():
            assert outputs.pop(given[role]).replace("{suffix}", "") == pattern, role
        assert outputs.keys() <= {"output.costs", "output.timings"}

    def test_settings(self, name):
        step, given = STEPS[name], arguments(RULES[name])
        for role in step.settings:
            assert given[role].split(".")[0] in ("params", "wildcards"), role
        described = {*step.reads, *step.writes, *step.settings}
        assert {role for role, value in given.items() if "." in value} - described <= PLACES


def test_the_table_of_the_docs():
    def cell(files):
        return ", ".join(
            f"{role} `{pattern}`" if pattern else role for role, pattern in files.items()
        )

    rows = (
        f"| `{name}` | {cell(step.reads)} | {', '.join(step.settings) or 'none'} | {cell(step.writes)} |"
        for name, step in STEPS.items()
    )
    assert "\n".join(rows).replace("`{root}/", "`") in (ROOT / "docs" / "extending.md").read_text()


def test_a_rule_that_says_something_else_is_seen(monkeypatch):
    monkeypatch.setitem(STEPS, "features", STEPS["features"]._replace(settings=()))
    with pytest.raises(AssertionError):
        TestRules().test_settings("features")
    reads = {**STEPS["features"].reads, "previous": CORPUS_FOLDER + "/features/{before}.h5"}
    monkeypatch.setitem(STEPS, "features", STEPS["features"]._replace(reads=reads))
    with pytest.raises(AssertionError):
        TestRules().test_files_that_are_read("features")


def test_a_setting_that_an_earlier_version_lacked_makes_nothing_anew():
    """Records of that version do not have it; with its other value alerts are made anew."""

    def settings(**more):
        return record_of(
            "alerts", {"run": {"carry": False}, "settings": {"level": 0.2, **more}}, str
        )["settings"]

    assert (
        settings(gates=False) == settings() == {"run": {"carry": False}, "settings": {"level": 0.2}}
    )
    assert settings(gates=True) != settings()
