"""A run over MPI ranks in the real workflow: the same results for every number of ranks, resumed, another launcher."""

import shutil

import h5py
import numpy as np
import pytest
from test_mpi import needs_mpi
from workflows import SHOWN, documents

from odl.evaluation.scores import read_scores
from odl.files import agentfiles

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow-ranks"), needs_mpi]
LEARNER = {"algorithm": "diffusion", "network": "ring", "agents": 4, "degree": 2, "rounds": 1, "iterations": 20}


def test_a_run_over_ranks_in_a_study(study):
    config = study.config
    config["learners"] = {"da": config["learners"]["da"], "ring": LEARNER, "alone": LEARNER}
    config["runs"], config["report"] = ["ring", "alone"], {**config["report"], "run": "ring"}
    config["ranks"] = {"ring": 2}
    study.configure(config)
    jobs = study.run().names("algorithm", "run", "t")
    assert jobs == {"kernels diffusion", "kernels ranks", "evaluate ring", "evaluate alone", "plan"} | SHOWN | {
        f"{rule} {t}" for rule in ("update_over_ranks ring", "update alone") for t in range(4)
    }
    for t in range(4):
        state = study.checkpoint("ring", t)
        assert agentfiles.of_network(state) and not agentfiles.of_network(study.checkpoint("alone", t))
        one, other = (read_scores(study.checkpoint(run, t).parent / "scores" / f"{t}.h5") for run in ("ring", "alone"))
        np.testing.assert_allclose(one.scores["ring"], other.scores["alone"], atol=1e-10)
        with h5py.File(agentfiles.agent_path(state, 0)) as file:
            assert "ranks" not in str(dict(file.attrs))
    # Another number of ranks reruns nothing, and a lost checkpoint comes back byte for byte on it.
    before = study.bytes()
    config["ranks"] = {"ring": 3}
    study.configure(config)
    assert study.run("-n").jobs == []
    last = study.checkpoint("ring", 3)
    last.unlink()
    shutil.rmtree(agentfiles.folder(last))
    # A profile's launcher takes the place of mpiexec.
    launcher = ("--set-resources", "update_over_ranks:mpi='srun --mpi=pmi2'")
    shown = study.run(study.target(last), "-n", "-p", *launcher).text
    assert "odl step ranks 3 " in shown and "--launcher 'srun --mpi=pmi2'" in shown
    assert study.run(study.target(last)).names("run", "t") == {"update_over_ranks ring 3"}
    assert study.bytes() == before
    assert "3 ranks" in (study.results / "logs" / "mine" / "seed0" / "ring" / "k8" / "3.log").read_text()
    # New documents, on four ranks.
    config["ranks"] = {"ring": 4}
    study.configure(config)
    study.write("b.jsonl", documents(360, 400))
    jobs = study.run().names("run", "t")
    assert "update_over_ranks ring 4" in jobs and "update_over_ranks ring 3" not in jobs
    assert agentfiles.read_whole(study.checkpoint("ring", 4)).t == 4


def test_ranks_of_what_has_no_agents_are_refused(study):
    config = study.config
    for ranks, message in (({"da": 2}, "whose algorithm is dual_averaging"), ({"ring": 2}, "ranks names 'ring'")):
        config["ranks"] = ranks
        study.configure(config)
        assert message in study.run(fails=True).text
