"""The core without the room of the papers: a copy of the package that lacks it does all that a person needs."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from places import ROOT

POSTS = [
    {
        "id": f"d{n}",
        "text": f"{word} and {word}s about {word} number {n % 7}",
        "time": f"2024-01-{1 + n // 40:02}",
    }
    for n, word in enumerate(("engine", "garden", "market", "planet") * 90)
]
DETECTOR = """
import pandas
from odl import TextNovelty
old = pandas.DataFrame({"text": ["tanker carries crude oil", "oil refinery closes", "crude oil falls"] * 20})
new = pandas.DataFrame({"text": ["crude oil tanker", "rocket lifts satellite", "satellite reaches orbit"]})
stream = TextNovelty(folds=3, warm_up=60)
stream.update(old)
print(stream.update(new)["alert"].sum() >= 2)
"""
STUDY = """
import yaml
from odl.config import consistency
from odl.config.schema import load_schema
from odl.config.sections import fill
from odl import cli
from odl.cli import registry
schema = load_schema("workflow/schemas/config.schema.json")
with open("config/config.yaml", encoding="utf-8") as file:
    study = yaml.safe_load(file)
fill(study)
study |= {"emerging": {**study["emerging"], "enabled": False}, "regret": {**study["regret"], "enabled": False}}
consistency.check_config(study, schema)
made = registry.schema(cli.steps())
print(made["registry"]["experiments"], study["streams"] != [])
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """A folder with the package without its papers, and how a program is run with it."""
    folder = tmp_path_factory.mktemp("core")

    def left_out(place, names):
        """Compiled kernels stay: to make them again takes minutes."""
        return {"papers"} & {*names} | ({"__pycache__"} if not place.endswith("kernels") else set())

    shutil.copytree(ROOT / "src" / "odl", folder / "src" / "odl", ignore=left_out)
    for name in ("workflow", "config", "data"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))

    def run(*words, status=0):
        environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
        done = subprocess.run(
            [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    return run, folder


@pytest.mark.slow
def test_a_stream_of_ones_own(core):
    run, folder = core
    (folder / "posts.jsonl").write_text("".join(json.dumps(post) + "\n" for post in POSTS))
    run("-m", "odl", "init", "news", "posts.jsonl")
    run("-m", "odl", "run", "news")
    assert "period" in run("-m", "odl", "new", "news")
    assert (folder / "news" / "new.html").exists()


@pytest.mark.slow
def test_a_detector(core):
    assert core[0]("-c", DETECTOR).split() == ["True"]


@pytest.mark.slow
def test_the_schema_and_the_configuration_of_a_study(core):
    assert core[0]("-c", STUDY).split() == ["{}", "True"]


def test_what_the_room_has_is_missed_in_one_sentence(core):
    run, _ = core
    for step in ("experiment", "topics", "regret"):
        assert run("-m", "odl", "step", step, status=2) == (
            f"odl: `odl step {step}` is not in this copy of odl, which lacks odl.papers.\n"
        )
    listed = run("-m", "odl", "step", "--help")
    assert "  update  " in listed and "  regret  " not in listed
