"""The text of the rules: every value of a command is quoted, every name stands in one file, the linter's notes."""

import re
import subprocess
import sys

import pytest
from places import ROOT

RULES = [
    ROOT / "Snakefile",
    ROOT / "workflow" / "Snakefile",
    *sorted((ROOT / "workflow" / "rules").glob("*.smk")),
]
# Of names that its constraints hold to letters, digits and signs without a meaning: quoting them
# would change the rule's text, and everybody's downloads would be fetched again.
PLAIN = {"wildcards.folder", "wildcards.file"}


def commands(text):
    """Return the texts of the `shell:` blocks of a rules file."""
    return re.findall(r'^ +shell:\n((?: +".*"\n)+)', text, re.M)


def unquoted(command):
    """Return the placeholders of a command that the shell reads as they are, and what it runs before."""
    places = re.findall(r"(?<!\{)\{([^{}]*)\}(?!\})", command)  # two braces are one of the shell
    found = [place for place in places if not place.endswith(":q") and place not in PLAIN]
    return found + re.findall(r"\$\(|`", command)


def defined(text):
    """Return the names that a rules file defines: rules, and functions and values beside them."""
    rules = re.findall(r"^ *(?:rule|checkpoint|use rule \w+ as) (\w+)", text, re.M)
    return rules, re.findall(r"^(?:def )?(\w+)(?:\(.*\):| *=(?!=).*)$", text, re.M)


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_every_value_of_a_command_is_quoted(path):
    text = path.read_text()
    assert len(commands(text)) == text.count("shell:")
    assert [found for command in commands(text) for found in unquoted(command)] == []


def test_names_of_the_commands_are_looked_at():
    assert unquoted("odl x {input.a} {output:q} --made $(dirname {output.b:q})") == [
        "input.a",
        "$(",
    ]


def test_plain_names_are_held_to_plain_signs():
    text = (ROOT / "workflow" / "rules" / "corpus.smk").read_text()
    held = dict(re.findall(r'^ +(folder|file)=r"(.*)",$', text, re.M))
    assert held.keys() == {"folder", "file"}
    for sign in " $`'\"\\;&|<>()*?[]{}!#~\n":
        assert not any(re.fullmatch(pattern, f"a{sign}b") for pattern in held.values()), sign


def test_a_name_is_defined_in_one_rules_file():
    texts = [path.read_text() for path in RULES]
    for kind, known in enumerate(
        ({"measure", "evaluate_baselines", "update_over_ranks"}, {"STREAM", "timing_files"})
    ):
        names = [name for text in texts for name in defined(text)[kind]]
        assert known <= set(names)
        assert sorted(set(names)) == sorted(names)


def test_no_name_of_snakemake_is_defined_anew():
    """Rules are executed among the names of Snakemake's own module: a function `chain` there ended it."""
    import snakemake.api  # before the module, which imports it in a circle
    import snakemake.workflow

    theirs = vars(snakemake.workflow)
    names = {name for path in RULES for name in defined(path.read_text())[1]}
    assert "chain" in theirs and snakemake.api
    assert not names & set(theirs)


@pytest.mark.slow
def test_snakemake_lint_has_only_the_notes_that_are_wrong():
    """Which they are, and why: docs/extending.md."""
    told = subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    notes = re.findall(r"^ +\* (.*):$", told.stdout + told.stderr, re.M)
    assert notes
    wrong = ("Absolute path", "Path composition", "Specify a conda environment")
    assert not [note for note in notes if not note.startswith(wrong)]
