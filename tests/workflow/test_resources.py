"""What a job asks for on a cluster: the functions of the rules, executed as they stand there."""

import ast
import os
import re

import pytest
import yaml
from places import ROOT

RULES = sorted((ROOT / "workflow" / "rules").glob("*.smk"))
WANTED = {"BASE_MB", "BASE_MINUTES", "megabytes", "memory", "minutes"}


def name_of(node):
    return getattr(node, "name", None) or getattr(getattr(node, "targets", [None])[0], "id", None)


@pytest.fixture(scope="module")
def rules():
    """The names of resources.smk that need nothing of a workflow."""
    tree = ast.parse((ROOT / "workflow" / "rules" / "resources.smk").read_text())
    held = [node for node in tree.body if name_of(node) in WANTED]
    assert {name_of(node) for node in held} == WANTED
    found = {"os": os}
    exec(compile(ast.Module(held, []), "resources.smk", "exec"), found)
    return found


@pytest.fixture
def files(tmp_path):
    """Files of 3 and 5 MB."""
    for name, size in (("a", 3), ("b", 5)):
        (tmp_path / name).write_bytes(bytes(size * 1_000_000))
    return [str(tmp_path / name) for name in "ab"]


def test_memory_is_doubled_at_every_further_attempt(rules, files):
    asked = [rules["memory"](40)(None, files, attempt) for attempt in (1, 2, 3)]
    assert asked == [600 + 320, 2 * (600 + 320), 4 * (600 + 320)]
    assert rules["memory"](20, base=1500)(None, files, 2) == 2 * (1500 + 160)
    assert rules["memory"](10, times=lambda wildcards: wildcards)(3, files, 1) == 600 + 3 * 80


def test_minutes_grow_with_the_input(rules, files):
    assert [rules["minutes"](2, **more)(None, files) for more in ({}, {"base": 10})] == [
        5 + 16,
        10 + 16,
    ]


def test_a_file_that_is_not_there_counts_like_the_largest(rules, files):
    assert rules["megabytes"](files) == 8
    assert rules["megabytes"]([*files, "none", "nor this"]) == 18
    assert rules["megabytes"](["none"]) == 0


def test_every_rule_asks_by_these_functions():
    """So that no rule keeps its memory at a second attempt."""
    asked = [
        text for path in RULES for text in re.findall(r"^ +mem_mb=(.*)$", path.read_text(), re.M)
    ]
    assert len(asked) >= 15 and all(text.startswith("memory(") for text in asked)


@pytest.mark.parametrize("profile", ["cluster", "slurm"])
def test_what_reads_the_plan_is_submitted_with_it(profile):
    """Snakemake refuses a group that reads what a job outside makes of it, before any job runs."""
    whole = yaml.safe_load((ROOT / "profiles" / profile / "config.yaml").read_text())
    groups = dict(entry.split("=") for entry in whole["groups"])
    texts = dict(
        re.findall(
            r"^rule (\w+):\n((?: .*\n|\n)+)", "".join(path.read_text() for path in RULES), re.M
        )
    )
    reading = {name for name, text in texts.items() if '"/plan.json"' in text}
    assert {"plan", "tables", "emergings", "regrets", "figures", "page"} <= reading
    assert {groups.get(name) for name in reading} == {groups["plan"]}
