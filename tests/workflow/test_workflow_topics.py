"""Emerging topics on the real Snakefile: what runs, what runs again, and that files, tables and page agree."""

import json

import pytest
from called import odl
from workflows import Study, documents

from odl.evaluation.scorefiles import read_scores
from odl.files.tables import read_table
from odl.papers import emergingfiles

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
STEPS = {f"topics da {t}" for t in (1, 2, 3)}
TABLES = {"emerging da", "emergings", "page"}


def switch(study, **changes):
    """Set keys of the section and say what would run, or run it."""
    config = study.config
    config["emerging"] = {
        **config["emerging"],
        "enabled": True,
        "runs": ["da"],
        "share": 0.3,
        **changes,
    }
    study.configure(config)


@pytest.fixture(scope="module")
def grouped(fresh, tmp_path_factory):
    """The finished study with emerging topics switched on for one run, and the call that made them."""
    study = fresh[0].copy(tmp_path_factory.mktemp("topics") / "study")
    switch(study)
    return study, study.run()


def test_only_what_is_new_runs(grouped):
    study, result = grouped
    made = STEPS | TABLES
    assert result.names("run", "t", "algorithm") == made
    assert study.run("-n").jobs == []


def test_files_tables_and_page_agree(grouped):
    study, _ = grouped
    folder = study.stream / "da" / "k8"
    rows, gathered = (
        read_table(folder / "emerging.tsv"),
        read_table(study.results / "tables" / "emerging.tsv"),
    )
    assert [row["t"] for row in rows] == [row["t"] for row in gathered] == [1, 2, 3]
    page = (study.results / "report.html").read_text()
    assert "Emerging topics</h3>" in page
    for row, mean in zip(rows, gathered, strict=True):
        found, batch = (read(folder / part / f"{row['t']}.h5") for read, part in
                        ((emergingfiles.read_emerging, "emerging"), (read_scores, "scores")))  # fmt: skip
        assert row["selected"] == len(found.rows) == 24 and found.settings["share"] == 0.3
        assert (
            row["clusters"] == len(found.words) > 0 and row["purity"] == mean["purity_mean"] > 0.7
        )
        assert all(words.replace(" ", ", ") in page for words in found.words)
        chosen, others = batch.scores["da"][found.rows], batch.scores["da"].copy()
        others[found.rows] = 0
        assert chosen.min() >= others.max()
    # A topic of its own words enters at timestep 1.
    assert rows[0]["novel_topics"] == rows[0]["found"] == 1


def test_by_hand_gives_the_same_bytes(grouped, tmp_path):
    study, _ = grouped
    folder = study.stream / "da" / "k8"
    settings = emergingfiles.read_emerging(folder / "emerging" / "2.h5").settings
    files = [folder / "scores" / "2.h5", study.stream / "features" / "2.h5"]
    done = odl(
        "step", "topics", *files, "--output", tmp_path / "2.h5", "--settings", json.dumps(settings)
    )
    assert done.returncode == 0 and not done.stdout, done.stderr
    assert (tmp_path / "2.h5").read_bytes() == (folder / "emerging" / "2.h5").read_bytes()


def test_what_a_change_reruns(grouped, tmp_path):
    study = grouped[0].copy(tmp_path / "study")
    before, tables = study.config, TABLES
    switch(study, min_support=4)
    assert study.run("-n").names("run", "t") == STEPS | tables
    study.configure({**before, "evaluate": {**before["evaluate"], "topics": "dominant"}})
    jobs = study.run("-n").names("run", "t")
    assert "emerging da" in jobs and not [
        job for job in jobs if job.startswith(("topics", "update"))
    ]
    study.configure(before)
    study.edit("papers/emerging.py")
    assert study.run("-n").names("run", "t") == STEPS | tables


def test_a_run_that_is_not_made_is_named(grouped, tmp_path):
    study = grouped[0].copy(tmp_path / "study")
    switch(study, runs=["ad"])
    text = study.run(fails=True).text
    assert text.splitlines()[-1].startswith("odl: emerging.runs names 'ad'; expected one of da, pg")


def test_switched_off_again(grouped, tmp_path):
    study = grouped[0].copy(tmp_path / "study")
    switch(study, enabled=False)
    assert "topics" not in study.run().names()
    assert "Emerging topics</h3>" not in (study.results / "report.html").read_text()


@pytest.mark.long  # what seeds share: test_workflow_streams.py
def test_seeds_that_share_a_stream(tmp_path):
    """Two seeds on one order: features of seed 0, scores and topics of each; two runs, every size named."""
    study = Study.create(tmp_path / "study")
    study.write("a.jsonl", documents(0, 200))
    config = study.config | {"seeds": [0, 1], "atoms": [6, 8], "runs": ["pg"]}
    config["emerging"] |= {"sizes": [6], "share": 0.3, "enabled": True}
    config["baselines"] = {"enabled": False, "window": 0}
    study.configure(config)
    table = study.results / "tables" / "emerging.tsv"
    result = study.run(study.target(table))
    made = {
        job
        for job in result.names("seed", "run", "k", "t")
        if job.startswith(("topics", "emerging"))
    }
    assert made == {
        "topics 0 pg 6 1",
        "topics 1 pg 6 1",
        "emerging 0 pg 6",
        "emerging 1 pg 6",
        "emergings",
    }
    (row,) = read_table(table)
    assert (row["seeds"], row["k"], row["t"]) == (2, 6, 1)
