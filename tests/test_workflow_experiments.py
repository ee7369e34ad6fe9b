"""The real Snakefile with experiments and no stream: jobs, page, and what runs again."""

import pytest
from test_experiments import SMALL
from workflows import Study, settings

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow-experiments")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of two experiments and no stream, and the call that ran it."""
    found = {name: {"experiment": name, **held} for name, held in SMALL.items()}
    study = Study.create(tmp_path_factory.mktemp("experiments") / "study", settings(streams=[], experiments=found))
    return study, study.run()


def test_experiments_run_and_are_shown(made):
    study, result = made
    assert result.names("experiment") == {"kernels", "experiment convergence", "experiment denoising", "page"}
    page = (study.results / "report.html").read_text()
    assert 'id="experiment-convergence"' in page and 'id="experiment-denoising"' in page
    assert (study.results / "experiments" / "convergence" / "paths.tsv").exists()
    assert study.run("-n").jobs == []


def test_a_changed_setting_runs_its_experiment_again(made):
    study = made[0]
    config = study.config
    changed = {**config["experiments"]["denoising"], "weight": 2.0}
    study.configure({**config, "experiments": {**config["experiments"], "denoising": changed}})
    assert study.run("-n").names("experiment") == {"experiment denoising", "page"}
    study.configure(config)
    study.edit("experiments/convergenceplots.py")
    assert study.run("-n").names("experiment") == {"experiment convergence", "page"}


def test_a_study_of_nothing_is_refused(made, tmp_path):
    study = made[0].copy(tmp_path / "study")
    study.configure(settings(streams=[], experiments={}))
    assert "streams is empty" in study.run("-n", fails=True).text
