"""Memory that ranks of one host share, so that a rank that waits for a message is woken by it.

MPI tells nobody that a message has come: who waits looks, keeps a core busy or sleeps too long, and where ranks share
cores that costs more than the work between two messages. Messages are the same here; those that are too long, or for
another host, go by MPI.
"""

import ctypes
import platform
import struct
import sys

import numpy as np

from odl.distributed.crew import cores
from odl.kernels import native, shared

kernels = native.Kernels("windows")
LONGEST, TOTAL = 1_000_000, 64_000_000  # bytes of a message; of a host, of which what is written takes memory
TURN = 100_000  # nanoseconds, the least that the kernel takes; 3 ms or so otherwise
SYSCALLS = {"x86_64": 314, "aarch64": 274}  # sched_setattr, which the C library lacks


def take_short_turns():
    """Ask Linux (from 6.12) for short turns on the core: a rank that is woken then need not wait for a long one to end.

    It changes no share of the core. Where it cannot be had nothing happens.
    """
    number = SYSCALLS.get(platform.machine())
    if number:
        attributes = struct.pack("=IIQiIQQQ", 48, 0, 0, 0, 0, TURN, 0, 0)
        ctypes.CDLL(None).syscall(number, 0, attributes, 0)


def crowded(here):
    """Tell whether the ranks of a host are more than the cores that they may use.

    Parameters
    ----------
    here : mpi4py.MPI.Comm
        The ranks of this host.
    """
    return len(set().union(*here.allgather(cores()))) < here.Get_size()


class Window:
    """What a rank shares with the others on its host.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        All its ranks make their windows at once.

    Attributes
    ----------
    ranks : frozenset of int
        Other ranks of `comm` that can be told something here; none where the system has no semaphores to share.
    memory, longest
        As in `odl.kernels.windows`.
    out, into : dict of int to int
        Where the parts begin that this rank writes for another, and reads from it; -1 for itself.
    """

    def __init__(self, comm):
        self.ranks, self.longest = frozenset(), 0
        self.out, self.into = {comm.Get_rank(): -1}, {comm.Get_rank(): -1}
        self.memory, self.moment = np.zeros(0), np.zeros(4, np.int64)
        if comm.Get_size() > 1 and sys.platform == "linux":
            self._open(comm)
            take_short_turns()

    def _open(self, comm):
        from mpi4py import MPI

        here = comm.Split_type(MPI.COMM_TYPE_SHARED)
        size, me = here.Get_size(), here.Get_rank()
        everyone = np.zeros(size, dtype=np.int64)
        here.Allgather(np.array([comm.Get_rank()], dtype=np.int64), everyone)
        self.longest = min(LONGEST, TOTAL // (2 * size * size)) // 64 * 8
        part = shared.SLOTS + 2 * self.longest + 4
        self._owned = MPI.Win.Allocate_shared(8 * part * size * size if me == 0 else 0, 8, comm=here)
        self.memory = np.frombuffer(self._owned.Shared_query(0)[0], float)
        places = [part * (me * size + other) for other in range(size)]
        self.moment[3] = crowded(here)
        made, works = np.array([all(kernels.start(self.memory, at) for at in places)]), np.zeros(size, bool)
        here.Allgather(made, works)  # nobody posts before all are made
        if works.all():
            ranks = everyone.tolist()
            self.ranks = frozenset(ranks) - {comm.Get_rank()}
            self.out |= {ranks[other]: part * (me * size + other) for other in range(size) if other != me}
            self.into |= {ranks[other]: part * (other * size + me) for other in range(size) if other != me}

    def put(self, rank, message):
        """Tell a rank an array of floats; return whether it had room. If not the rank learns so much."""
        return kernels.put(self.memory, self.out[rank], self.longest, message)

    def get(self, rank):
        """Wait for what a rank tells; return it, to be read before the next is put, or None if it had no room."""
        at = self.into[rank]
        while not kernels.await_message(self.memory, at, self.moment):
            pass
        first, length = kernels.span(self.memory, at, self.longest)
        return self.memory[first : first + length] if length >= 0 else None


def warm_up():
    """Compile what `Window` calls; the semaphore is one of this process."""
    memory, moment = np.zeros(shared.SLOTS + 2), np.zeros(4, np.int64)
    if sys.platform == "linux" and kernels.start(memory, 0):
        kernels.put(memory, 0, 1, np.zeros(1))
        kernels.await_message(memory, 0, moment)
        kernels.span(memory, 0, 1)
