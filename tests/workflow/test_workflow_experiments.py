"""The real Snakefile with experiments and no stream: jobs, page, and what runs again."""

import shutil

import pytest
from experimented import SMALL, TREES
from workflows import Study, settings

from odl.files.tables import read_table

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

PARTED = {**TREES, "seeds": [0]}
RUN = ("experiment convergence", "experiment inpainting", "measure inpainting 0")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of two experiments and no stream, and the call that ran it."""
    found = {
        name: {"experiment": name, **held} for name, held in {**SMALL, "inpainting": PARTED}.items()
    }
    study = Study.create(
        tmp_path_factory.mktemp("experiments") / "study", settings(streams=[], experiments=found)
    )
    return study, study.run()


def test_experiments_run_and_are_shown(made):
    study, result = made
    assert result.names("experiment", "part") == {*RUN, "page"}
    page = (study.results / "report.html").read_text()
    assert 'id="experiment-convergence"' in page and 'id="experiment-inpainting"' in page
    assert (study.results / "experiments" / "convergence" / "paths.tsv").exists()
    assert study.run("-n").jobs == []


def test_a_changed_setting_runs_its_experiment_again(made):
    study = made[0]
    config = study.config
    changed = {**config["experiments"]["convergence"], "steps": 61}
    study.configure({**config, "experiments": {**config["experiments"], "convergence": changed}})
    assert study.run("-n").names("experiment") == {"experiment convergence", "page"}
    study.configure(config)
    study.edit("papers/experiments/convergence.py")
    assert study.run("-n").names("experiment") == {"experiment convergence", "page"}


def test_what_is_deleted_is_made_again(made):
    study = made[0].copy(made[0].folder.parent / "deleted")
    shutil.rmtree(study.results / "experiments" / "inpainting")
    (study.results / "parts" / "inpainting" / "0.json").unlink()
    assert {"measure inpainting 0", "experiment inpainting", "page"} <= study.run("-n").names(
        "experiment", "part"
    )


def test_what_only_the_picture_needs_measures_nothing(made):
    study = made[0].copy(made[0].folder.parent / "drawn")
    config = study.config
    changed = {
        **config["experiments"]["inpainting"],
        "drawn_lam": -3,
        "refine": 0,
    }  # 0 is the default
    study.configure({**config, "experiments": {**config["experiments"], "inpainting": changed}})
    planned = study.run("-n").names("experiment", "part")
    assert "experiment inpainting" in planned and "measure inpainting 0" not in planned


def test_a_further_part_leaves_those_that_were_measured(made):
    study = made[0].copy(made[0].folder.parent / "parts")
    config = study.config
    further = {**config["experiments"]["inpainting"], "seeds": [0, 1]}
    study.configure({**config, "experiments": {**config["experiments"], "inpainting": further}})
    study.edit("papers/experiments/inpainting.py")  # pictures are not measured
    planned = study.run("-n").names("experiment", "part")
    assert {
        "measure inpainting 1",
        "experiment inpainting",
    } < planned and "measure inpainting 0" not in planned


@pytest.mark.long
def test_parts_that_were_measured_at_two_times_are_one_table(made, tmp_path):
    study = made[0].copy(tmp_path / "study")
    config = study.config
    further = {**config["experiments"]["inpainting"], "seeds": [0, 1]}
    study.configure({**config, "experiments": {**config["experiments"], "inpainting": further}})
    study.run()
    assert len(read_table(study.results / "experiments" / "inpainting" / "test.tsv")) == 8
    study.edit("papers/reconstruction.py")
    planned = study.run("-n").names("experiment", "part")
    assert planned == {
        "measure inpainting 0",
        "measure inpainting 1",
        "experiment inpainting",
        "page",
    }


def test_a_study_of_nothing_is_refused(made, tmp_path):
    study = made[0].copy(tmp_path / "study")
    study.configure(settings(streams=[], experiments={}))
    assert "streams is empty" in study.run("-n", fails=True).text
