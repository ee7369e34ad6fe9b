"""The real Snakefile where names and places are unusual: a folder of results, another directory, a module."""

import json
import re

import forked
import pytest
from places import ROOT
from workflows import Study, documents, environment, jobs_of, settings

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
FOLDER = "r $(touch ran) `touch ran` ü 'q\" & \\ *"
CHANGED = {
    "study": "small",
    "streams": ["mine"],
    "seeds": [0],
    "atoms": [8],
    "runs": ["da"],
    "learners": {"da": {"algorithm": "dual_averaging", "rounds": 3, "gamma": 4.0}},
    "baselines": {"enabled": False},
    "emerging": {"enabled": False},
    "alerts": {"run": None},
    "report": {"runs": ["da"], "run": "da", "atoms": 8},
}


def snakemake(folder, *arguments):
    """Run Snakemake in a folder and return what it prints."""
    status, text = forked.snakemake(
        ["--cores", "2", *map(str, arguments)], folder, environment(ROOT)
    )
    assert status == 0, text[-6000:]
    return text


@pytest.mark.long  # every value in a shell is quoted: test_rules.py
def test_a_folder_of_results_never_runs_a_command(tmp_path):
    """Each option that some jobs only are given: features of the end, of the past, topics, regret."""
    learners = {
        "da": {"algorithm": "dual_averaging", "rounds": 3, "gamma": 4.0},
        "batch": {"algorithm": "batch", "rounds": 2},
    }
    config = settings(
        results=FOLDER,
        learners=learners,
        runs=list(learners),
        features={"tf": "raw", "idf": "corpus", "min_df": 0, "vocabulary": "growing"},
        emerging={"enabled": True, "runs": ["da"], "sizes": []},
        regret={"enabled": True, "runs": ["da"], "sizes": [], "iterations": 5},
    )
    study = Study.create(tmp_path / "study", config)
    study.write("a.jsonl", documents(0, 200))
    study.run()
    results = study.folder / FOLDER / "small"
    assert (results / "report.html").exists() and (
        results / "mine" / "seed0" / "batch" / "k8" / "1.h5"
    ).exists()
    assert (results / "tables" / "regret.tsv").exists()
    assert not list(study.folder.rglob("ran"))
    beside = {path.name for path in study.folder.iterdir() if not path.name.startswith(".")}
    assert beside == {
        "Snakefile",
        "workflow",
        "profiles",
        "config",
        "src",
        "data",
        "docs",
        "study.json",
        FOLDER,
    }


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with documents and a configuration that names only what differs."""
    corpus = settings()["corpora"]["mine"]
    Study(tmp_path).write("a.jsonl", documents(0, 200))
    (tmp_path / "study.json").write_text(json.dumps({**CHANGED, "corpora": {"mine": corpus}}))
    return tmp_path


def test_it_runs_from_another_directory(elsewhere):
    last = "results/small/mine/seed0/da/k8/1.h5"
    printed = snakemake(
        elsewhere, last, "-s", ROOT / "workflow" / "Snakefile", "--configfile", "study.json"
    )
    assert (elsewhere / last).exists()
    assert re.search(r"specific profile \S*workflow/profiles/default", printed)
    assert "update" in {rule for rule, _ in jobs_of(printed)}


def test_it_is_a_module(elsewhere):
    """The same jobs as from a configuration on the command line."""
    (elsewhere / "Snakefile").write_text(
        f'configfile: "study.json"\n\n\nmodule odl:\n    snakefile: "{ROOT / "workflow" / "Snakefile"}"\n'
        "    config: config\n\n\nuse rule * from odl\n"
    )
    table = "results/small/mine/seed0/index.tsv"
    snakemake(elsewhere, table)
    planned = [
        sorted(
            (rule, sorted(held.items()))
            for rule, held in jobs_of(snakemake(elsewhere, "-n", *arguments))
        )
        for arguments in ([], ["-s", ROOT / "workflow" / "Snakefile", "--configfile", "study.json"])
    ]
    assert planned[0] == planned[1]
    assert {"update", "figures", "page", "all"} <= {rule for rule, _ in planned[0]}


def test_the_registry_is_beside_the_workflow(tmp_path):
    """Downloads go to the folder where Snakemake runs."""
    (tmp_path / "study.json").write_text(json.dumps({"mirror": ""}))
    printed = snakemake(
        tmp_path,
        "-n",
        "-s",
        ROOT / "workflow" / "Snakefile",
        "--configfile",
        ROOT / "config" / "tdt2.yaml",
    )
    assert "output: data/tdt2/TDT2_with_time.mat" in printed
