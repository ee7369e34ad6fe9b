"""Quality experiments on the real Snakefile: one job a stream, what a change runs again, the part of the page."""

import json

import pytest
import yaml
from places import ROOT
from workflows import documents, settings

from odl.files.tables import read_table

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
SMALL = {
    "k": 8,
    "atoms": [4, 8],
    "memory": [400],
    "windows": [60, 120],
    "parts": ["table", "memory", "ablation"],
}


def configuration():
    """Return a study of experiments only: two streams of the same documents in two orders, and what shows them."""
    base = settings()
    learners = yaml.safe_load((ROOT / "config" / "quality.yaml").read_text())["learners"]
    learners = {
        run: learners[run] for run in ("levels", "levels-context", "adaptive", "adaptive-context")
    }
    mine = base["corpora"]["mine"]
    entry = {
        **mine,
        "protocol": "topic-entry",
        "topic_entry": {"held_back": 0.2, "first": 1, "last": 2},
    }
    shared = {"experiment": "quality", "learners": list(learners), **SMALL}
    return {
        **base,
        "streams": [],
        "seeds": [0, 1],
        "corpora": {"mine": mine, "entry": entry},
        "runs": ["adaptive"],
        "learners": learners,
        "experiments": {
            "overview": {
                "experiment": "quality_overview",
                "experiments": ["mine", "entry"],
                "shown": ["entry"],
            },
            "mine": {**shared, "streams": ["mine"]},
            "entry": {**shared, "streams": ["entry"]},
        },
    }


@pytest.fixture(scope="module")
def measured(fresh, tmp_path_factory):
    """A study of two small streams, and the call that measured them."""
    study = fresh[0].copy(tmp_path_factory.mktemp("quality") / "study")
    for path in (study.folder / "docs").iterdir():
        path.unlink()
    study.write("a.jsonl", documents(0, 360))
    study.configure({**configuration(), "study": "quality"})
    return study, study.run()


def test_one_job_a_stream(measured):
    study, result = measured
    made = {"experiment mine", "experiment entry", "experiment overview"}
    made |= {"read mine", "read entry", "page"}
    assert result.names("experiment", "corpus", "algorithm") == made
    assert study.run("-n").jobs == []


def test_tables_and_page(measured):
    study, _ = measured
    folder = study.folder / "results" / "quality" / "experiments"
    for name, seeds in (("mine", {0}), ("entry", {0, 1})):  # the order of mine is not drawn
        assert {row["seed"] for row in read_table(folder / name / "memory.tsv")} == seeds
    rows = read_table(folder / "overview" / "memory.tsv")
    assert {row["stream"] for row in rows} == {"mine", "entry"} and all(
        0 <= row["average"] <= 1 for row in rows
    )
    assert rows == [
        row for name in ("mine", "entry") for row in read_table(folder / name / "memory.tsv")
    ]
    for name in ("claim", "memory"):
        assert (folder / "overview" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    page = (study.folder / "results" / "quality" / "report.html").read_text()
    assert (
        page.count("<figure>") == 2 and page.count("<h2") == 2
    )  # the experiment, the configuration
    held = json.loads((folder / "entry" / "settings.json").read_text())
    assert held["study"]["streams"]["entry"]["protocol"] == "topic-entry"


def test_what_a_change_runs_again(measured, tmp_path):
    study = measured[0].copy(tmp_path / "study")
    before = study.config
    shown = {"experiment overview", "page"}
    corpora = before["corpora"]
    corpora = {
        **corpora,
        "entry": {**corpora["entry"], "topic_entry": {"held_back": 0.1, "first": 1, "last": 2}},
    }
    study.configure({**before, "corpora": corpora})
    assert study.run("-n").names("experiment", "corpus") == shown | {"experiment entry"}
    study.configure({**before, "seeds": [0]})
    assert study.run("-n").names("experiment", "corpus") == shown | {
        "experiment mine",
        "experiment entry",
    }
    study.configure(before)
    study.edit("papers/experiments/quality_overview.py")
    assert study.run("-n").names("experiment", "corpus") == shown
    study.edit("papers/qualitystudy.py")
    again = {"experiment mine", "experiment entry"}
    assert study.run("-n").names("experiment", "corpus") == shown | again
