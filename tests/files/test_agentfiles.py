"""Files of agents: each has its own atoms; a changed, missing or foreign one is refused."""

import os
import shutil
from functools import partial
from pathlib import Path

import h5py
import pytest
from ranks_program import Alone, chain, run_of
from studies import chain_of

from odl.config.steps import is_retained
from odl.errors import CheckpointError, StorageError
from odl.files import agentfiles, checkpoints

RING = {
    "algorithm": "diffusion",
    "network": "ring",
    "degree": 2,
    "agents": 6,
    "rounds": 1,
    "iterations": 10,
}


@pytest.fixture
def state(tmp_path):
    """Return the last of three checkpoints of six agents with nine atoms."""
    chain_of(1, 3, 14, folder=tmp_path)
    chain(Alone(), tmp_path, "", {"ranks": RING})
    return tmp_path / "ranks" / "2.h5"


def test_each_has_its_own_atoms(state):
    network = agentfiles.read_network(state, run_of(RING), 2)
    assert sorted(os.listdir(agentfiles.folder(state))) == [f"{agent}.h5" for agent in range(6)]
    sizes = [agentfiles.read_agent(state, agent, network)[0].shape[1] for agent in range(6)]
    assert sizes == [2, 1, 2, 1, 2, 1] and not list(state.parent.rglob("*.part"))
    with h5py.File(state) as file:
        assert set(file) == {"score", "dual", "digests"} and set(file["dual"]) == {
            "value",
            "iterations",
        }


def test_a_changed_or_lost_one_is_refused_by_name(state):
    path = Path(agentfiles.agent_path(state, 3))
    shutil.copy2(agentfiles.agent_path(state.with_name("1.h5"), 3), path)
    with pytest.raises(CheckpointError, match=r"3\.h5 was not written together with .*2\.h5"):
        agentfiles.read_whole(state)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(StorageError, match=r"3\.h5 was changed"):
        agentfiles.read_whole(state)
    path.unlink()
    with pytest.raises(StorageError, match=r"3\.h5 does not exist"):
        agentfiles.read_whole(state)


def test_another_chain_or_timestep_is_refused(state):
    with pytest.raises(CheckpointError, match="timestep 2; expected timestep 1"):
        agentfiles.read_whole(state, run_of(RING), 1)
    with pytest.raises(CheckpointError, match="mu_w"):
        agentfiles.read_whole(state, run_of({**RING, "mu_w": 0.25}), 2)
    with pytest.raises(StorageError, match="kind 'network'"):
        checkpoints.read_checkpoint(state)


def test_pruning_keeps_every_nth_and_the_last_two(tmp_path):
    for t in range(8):
        (tmp_path / f"{t}.h5").touch()
        (tmp_path / f"{t}.agents").mkdir()
        (tmp_path / f"{t}.agents" / "0.h5").touch()
    (tmp_path / "scores7.h5").touch()
    agentfiles.prune(tmp_path / "7.h5", partial(is_retained, keep=0))
    assert len(list(tmp_path.iterdir())) == 17
    agentfiles.prune(tmp_path / "7.h5", partial(is_retained, keep=4))
    left = {"scores7.h5"} | {f"{t}.{kind}" for t in (0, 4, 6, 7) for kind in ("h5", "agents")}
    assert {path.name for path in tmp_path.iterdir()} == left
    agentfiles.prune(tmp_path / "scores7.h5", partial(is_retained, keep=4))
    assert {path.name for path in tmp_path.iterdir()} == left
