"""A run over MPI ranks in the real workflow: the same results for every number of ranks, resumed, another launcher."""

import shutil

import h5py
import numpy as np
import pytest
from networked import needs_mpi

from odl.evaluation.scorefiles import read_scores
from odl.files import agentfiles

pytestmark = [pytest.mark.workflow, pytest.mark.slow, needs_mpi]
LEARNER = {
    "algorithm": "diffusion",
    "network": "ring",
    "agents": 4,
    "degree": 2,
    "rounds": 1,
    "iterations": 20,
}


def test_a_run_over_ranks_in_a_study(study):
    config = study.config
    config["learners"] = {"da": config["learners"]["da"], "ring": LEARNER, "alone": LEARNER}
    config["runs"], config["report"] = ["ring", "alone"], {**config["report"], "run": "ring"}
    study.configure({**config, "ranks": {"ring": 2}})
    targets = [study.target(study.checkpoint(run, 1)) for run in config["runs"]]
    assert study.run(*targets).names("algorithm", "run", "t") == {
        f"{rule} {t}" for rule in ("update_over_ranks ring", "update alone") for t in range(2)
    }
    for t in range(2):
        state = study.checkpoint("ring", t)
        assert agentfiles.of_network(state) and not agentfiles.of_network(
            study.checkpoint("alone", t)
        )
        one, other = (
            read_scores(study.checkpoint(run, t).parent / "scores" / f"{t}.h5")
            for run in ("ring", "alone")
        )
        np.testing.assert_allclose(one.scores["ring"], other.scores["alone"], atol=1e-10)
        with h5py.File(agentfiles.agent_path(state, 0)) as file:
            assert "ranks" not in str(dict(file.attrs))
    # Another number of ranks reruns nothing, and a lost checkpoint comes back byte for byte on it.
    before = study.bytes()
    study.configure({**config, "ranks": {"ring": 3}})
    assert study.run("-n", *targets).jobs == []
    last = study.checkpoint("ring", 1)
    last.unlink()
    shutil.rmtree(agentfiles.folder(last))
    # A profile's launcher takes the place of mpiexec.
    launcher = ("--set-resources", "update_over_ranks:mpi='srun --mpi=pmi2'")
    shown = study.run(study.target(last), "-n", "-p", *launcher).text
    assert "launcher='srun --mpi=pmi2'; " in shown and " -n 3 odl step rank 3 " in shown
    assert study.run(study.target(last)).names("run", "t") == {"update_over_ranks ring 1"}
    assert study.bytes() == before
    assert (
        "odl rank: 3 ranks"
        in (study.results / "logs" / "mine" / "seed0" / "ring" / "k8" / "1.log").read_text()
    )


def test_ranks_of_what_has_no_agents_are_refused(study):
    for ranks, message in (
        ({"da": 2}, "whose algorithm is dual_averaging"),
        ({"ring": 2}, "ranks names 'ring'"),
    ):
        study.configure({**study.config, "ranks": ranks})
        assert message in study.run(fails=True).text
