"""The real Snakefile with regret measured: its jobs and table, and what runs again."""

import pytest
from configurations import DEFAULT
from workflows import Study, documents, settings

from odl.files import tables

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

THEOREM = {"algorithm": "online_admm", "rounds": 2, "beta": 50.0, "tau": 0.001, "dual_terms": 0}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A small study of two runs and two seeds that measures regret, and the call that ran it."""
    config = settings(
        runs=["pg", "theorem"], seeds=[0, 1], baselines={"enabled": False, "window": 0}
    )
    config["learners"] = {"pg": config["learners"]["pg"], "theorem": THEOREM}
    config["regret"] = {
        **DEFAULT["regret"],
        "enabled": True,
        "runs": ["pg", "theorem"],
        "timesteps": 2,
    }
    study = Study.create(tmp_path_factory.mktemp("regret") / "study", config)
    study.write("a.jsonl", documents(0, 280))
    return study, study.run()


def test_regret_is_measured_for_every_seed(measured):
    study, result = measured
    assert {"regret pg 0", "regret pg 1", "regret theorem 0", "regret theorem 1"} <= result.names(
        "run", "seed"
    )
    single = {"read", "index", "plan", "regrets"}
    assert single <= result.names("algorithm", "run", "t")
    rows = tables.read_table(study.results / "tables" / "regret.tsv")
    assert [(row["run"], row["t"], row["seeds"]) for row in rows] == [
        ("pg", 1, 2), ("pg", 2, 2), ("theorem", 1, 2), ("theorem", 2, 2)]  # fmt: skip
    for row in rows[2:]:
        assert (
            row["regret_max"] <= row["bound_regret"]
            and 0 < row["violation_max"] <= row["bound_violation"]
        )
    assert (
        "the best beta for Theorem B.5 is"
        in (study.results / "logs/mine/seed1/theorem/k8/regret.log").read_text()
    )
    assert study.run("-n").jobs == []


def test_what_runs_again(measured, tmp_path):
    study = measured[0].copy(tmp_path / "study")
    config = study.config
    measured_again = {"regret pg", "regret theorem", "regrets"}
    study.configure({**config, "regret": {**config["regret"], "tolerance": 0.01}})
    assert study.run("-n").names("run") == {*measured_again, "page"}  # which names every setting
    study.configure({**config, "regret": {**config["regret"], "enabled": False}})
    assert study.run("-n").names("run") == {"page"}
    study.configure(config)
    study.edit("dictionary/l1.py")
    assert study.run("-n").names("run") == measured_again
