"""What the tests start by mpiexec: a chain of timesteps, or one batch with every message recorded.

mpiexec -n R python ranks_program.py chain FOLDER NAME SETTINGS
mpiexec -n R python ranks_program.py record FOLDER SETTINGS
"""

import json
import sys
from pathlib import Path

import numpy as np
from scipy import sparse


class Recorder:
    """Passes on the few calls that the ranks make, and keeps what they send. Any other call fails."""

    def __init__(self, comm):
        self._comm, self.told, self.gathered = comm, [], []
        for name in ("Get_rank", "Get_size", "Iprobe", "Irecv"):
            setattr(self, name, getattr(comm, name))

    def Isend(self, message, dest):
        self.told.append((dest, message.copy()))
        return self._comm.Isend(message, dest=dest)

    def Iallgather(self, mine, everyone):
        self.gathered.append(mine.copy())
        return self._comm.Iallgather(mine, everyone)

    def Iallgatherv(self, mine, everyone):
        self.gathered.append(mine.copy())
        return self._comm.Iallgatherv(mine, everyone)


class Alone:
    """Stands for the communicator of a single rank: no MPI is needed."""

    class _Done:
        Test = staticmethod(lambda: True)

    def Get_rank(self):
        return 0

    def Get_size(self):
        return 1

    def Iallgather(self, mine, everyone):
        everyone[:] = mine
        return self._Done

    def Iallgatherv(self, mine, everyone):
        np.copyto(everyone[0], mine)
        return self._Done


def run_of(learner):
    return {"corpus": "toy", "seed": 0, "run": "toy", "atoms": 9, "features": {"tf": "log"}, "learner": learner}


def chain(comm, folder, name, learners):
    """Run the timesteps whose features f0.h5, f1.h5, ... lie in the folder, of learners by the name of their folder."""
    from odl.jobs import mpi, runs

    for place, learner in learners.items():
        previous, run = None, runs.parse(run_of(learner))
        for t in range(len(list(folder.glob("f*.h5")))):
            state = folder / name / place / f"{t}.h5"
            if not state.exists():
                mpi.work(comm, folder / f"f{t}.h5", state, state.with_suffix(".tsv"), run=run, previous=previous)
            previous = state


def record(comm, folder, learner):
    """Infer one batch and learn from it with every message kept."""
    from odl.distributed import messages
    from odl.learners import make

    learner, comm = make(**learner), Recorder(comm)
    P, A = sparse.csr_array(np.load(folder / "P.npy")), sparse.csc_array(np.load(folder / "A.npy"))
    owner, network = learner.agents_of(A.shape[1])
    among = messages.Ranks(comm, network)
    own = np.isin(owner, among.agents)
    agents = messages.Agents(among, learner.model, owner, A[:, own], **learner.diffusion)
    found = agents.infer(P)

    agents.learn(P, learner.mu_w)
    np.savez(
        folder / f"rank{among.rank}.npz",
        meta=json.dumps([dest for dest, _ in comm.told]),
        gathered=np.array([part.size for part in comm.gathered]),
        sent=among.sent,
        bytes=sum(part.nbytes for _, part in comm.told),
        codes=found.codes.toarray(),
        agents=among.agents,
        learned=agents.dictionary().toarray(),
        **{f"told{number}": part for number, (_, part) in enumerate(comm.told)},
        **{f"gathered{number}": part for number, part in enumerate(comm.gathered)},
    )


if __name__ == "__main__":
    from odl.distributed.messages import world

    what, place = sys.argv[1], Path(sys.argv[2])
    if what == "chain":
        chain(world(), place, sys.argv[3], json.loads(sys.argv[4]))
    else:
        record(world(), place, json.loads(sys.argv[3]))
