"""What the tests start by mpiexec: a chain of timesteps, or one batch with every message recorded.

mpiexec -n R python ranks_program.py chain FOLDER NAME SETTINGS
mpiexec -n R python ranks_program.py record FOLDER SETTINGS
"""

import json
import pickle
import sys
from pathlib import Path

import numpy as np

from odl.distributed import messages
from odl.jobs import mpi, runs
from odl.learners import make


class Recorder:
    """Passes on the few calls that the ranks make, and keeps what they send. Any other call fails."""

    def __init__(self, comm):
        self.comm, self.told, self.gathered = comm, [], []
        for name in ("Get_rank", "Get_size", "Iprobe", "Irecv"):
            setattr(self, name, getattr(comm, name))

    def Isend(self, message, dest):
        self.told.append((dest, message.copy()))
        return self.comm.Isend(message, dest=dest)

    def Iallgatherv(self, mine, everyone):
        self.gathered.append(mine.copy())
        return self.comm.Iallgatherv(mine, everyone)


class Alone:
    """Stands for the communicator of a single rank, and for a request that is done: no MPI is needed."""

    def __init__(self, size=1):
        self.Get_rank, self.Get_size, self.Test = (lambda: 0), (lambda: size), (lambda: True)

    def Iallgather(self, mine, everyone):
        everyone[:] = mine
        return self

    def Iallgatherv(self, mine, everyone):
        return self.Iallgather(mine, everyone[0])


def run_of(learner):
    return {
        "corpus": "toy",
        "seed": 0,
        "run": "toy",
        "atoms": 9,
        "features": {"tf": "log"},
        "learner": learner,
    }


def chain(comm, folder, name, learners):
    """Run the timesteps whose features f0.h5, f1.h5, ... lie in the folder, of learners by the name of their folder."""
    for place, learner in learners.items():
        previous, run = None, runs.parse(run_of(learner))
        for t in range(len(list(folder.glob("f*.h5")))):
            state = folder / name / place / f"{t}.h5"
            if not state.exists():
                mpi.work(
                    comm,
                    folder / f"f{t}.h5",
                    state,
                    state.with_suffix(".tsv"),
                    run=run,
                    previous=previous,
                )
            previous = state


def record(comm, folder, settings):
    """Infer one batch and learn from it with every message kept."""
    learner, comm, (P, A) = (
        make(**settings),
        Recorder(comm),
        pickle.loads((folder / "batch").read_bytes()),
    )
    owner, network = learner.agents_of(A.shape[1])
    among = messages.Ranks(comm, network)
    agents = messages.Agents(
        among, learner.model, owner, A[:, np.isin(owner, among.agents)], **learner.diffusion
    )
    codes = agents.infer(P).codes.toarray()
    agents.learn(P, learner.mu_w)
    facts = {
        "told": comm.told,
        "gathered": comm.gathered,
        "sent": among.sent,
        "agents": among.agents,
    }
    facts |= {"codes": codes, "learned": agents.dictionary().toarray()}
    (folder / f"rank{among.rank}").write_bytes(pickle.dumps(facts))


if __name__ == "__main__":
    what, folder, *more = sys.argv[1:]
    {"chain": chain, "record": record}[what](
        messages.world(), Path(folder), *more[:-1], json.loads(more[-1])
    )
