"""What MPI ranks say to each other: the one place that messages pass through.

Point-to-point messages are dual variables (and, if agents average the score, one number a document and agent) of
agents that have a neighbour on the rank that is told. Beside them all ranks gather numbers of each agent: how far its
dual variables moved, for the common stopping rule, and its costs J_k.
"""

import numpy as np
from scipy import sparse

from odl.distributed.crew import wait
from odl.distributed.windows import Window
from odl.errors import ParameterError
from odl.kernels import native

window_kernels = native.Kernels("windows")
DUAL, SCORE = 1, 2  # tags of the messages
STEP = 0.01  # of the averaging of the score, as in `odl.distributed.inference.average`


def first_agents(n_agents, n_ranks):
    """Return the first agent of each rank and the number of agents: consecutive agents, as evenly as possible.

    Raises
    ------
    ParameterError
        If there are more ranks than agents.
    """
    if not 1 <= n_ranks <= n_agents:
        raise ParameterError(f"{n_ranks} ranks for {n_agents} agents", "an agent or more for each", "lower the ranks")
    return np.arange(n_ranks + 1) * n_agents // n_ranks


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


class Ranks:
    """What one rank says to the others and hears from them.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        Or anything with Get_rank, Get_size, Isend, Iprobe, Irecv and Iallgatherv of mpi4py.
    network : odl.distributed.networks.Network
        Of all agents.

    Attributes
    ----------
    agents : ndarray of int
        Own agents, ascending.
    heard : ndarray of int
        Agents whose dual variables the own ones combine, ascending (themselves among them).
    tells, hears : dict of int to ndarray of int
        Other rank -> own agents it is told of; its agents that this rank is told of.
    sent : int
        Bytes sent so far.
    exchanges : int
        Rounds of messages with the neighbours so far.
    """

    def __init__(self, comm, network):
        self.comm, self.network = comm, network
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.starts = first_agents(network.n_agents, self.size)
        self.agents = np.arange(self.starts[self.rank], self.starts[self.rank + 1])
        links = sparse.csr_array(network.weights)
        self.heard = np.unique(np.concatenate([links[self.agents].indices, self.agents]))
        homes = np.searchsorted(self.starts, self.heard, side="right") - 1
        self.window = Window(comm)
        self.hears = {home: self.heard[homes == home] for home in sorted(set(homes.tolist()) - {self.rank})}
        self.tells = {}
        for home in self.hears:  # the graph is undirected
            other = np.arange(self.starts[home], self.starts[home + 1])
            self.tells[home] = np.intersect1d(links[other].indices, self.agents)
        self.sent, self.exchanges = 0, 0

    def exchange(self, messages, tag, receive):
        """Send a message to each neighbouring rank and hand theirs to `receive`, in the order of the ranks.

        Parameters
        ----------
        messages : dict of int to ndarray of float
        tag : int
        receive : callable
            Called with the rank and its message.
        """
        requests = []
        for rank, message in messages.items():
            if rank not in self.window.ranks or not self.window.put(rank, message):
                requests.append(self.comm.Isend(message, dest=rank, tag=tag))
            self.sent += message.nbytes
        self.exchanges += 1
        for rank in self.hears:
            told = self.window.get(rank) if rank in self.window.ranks else None
            receive(rank, self._receive(rank, tag) if told is None else told)
        for request in requests:
            wait(request.Test)

    def shared(self, floats):
        """Return what kernels need for messages of that length to the neighbours, or None if they cannot have it."""
        return self._shared(self.hears, floats)

    def _shared(self, ranks, floats):
        return None if set(ranks) - {self.rank} and floats > self.window.longest else self.shared_with(ranks)

    def shared_with(self, ranks):
        """Return the memory shared with these ranks as kernels take it, or None if there is none with some of them."""
        window = self.window
        if not window.ranks >= set(ranks) - {self.rank}:
            return None
        ends = [np.array([at[rank] for rank in ranks], dtype=np.int64) for at in (window.out, window.into)]
        return window.memory, window.longest, window.moment, *ends

    def count(self, exchanges, floats):
        """Count what was exchanged with neighbours by other means than `exchange`."""
        self.exchanges += exchanges if self.hears else 0
        self.sent += 8 * floats

    def _receive(self, rank, tag):
        from mpi4py import MPI

        status = MPI.Status()
        wait(lambda: self.comm.Iprobe(source=rank, tag=tag, status=status))
        message = np.empty(status.Get_count(MPI.DOUBLE))
        wait(self.comm.Irecv(message, source=rank, tag=tag).Test)
        return message

    def gather(self, numbers):
        """Return the numbers of all agents, shape (N, ...), from those of the own agents, shape (own, ...)."""
        numbers = np.ascontiguousarray(numbers, dtype=float)
        return self._gather(numbers, np.diff(self.starts))

    def _gather(self, mine, counts):
        width = int(np.prod(mine.shape[1:], dtype=np.int64))
        everyone = np.empty((int(counts.sum()), *mine.shape[1:]), dtype=mine.dtype)
        self.sent += mine.nbytes * (self.size - 1)
        window = None if mine.dtype != float else self._shared(range(self.size), int(counts.max()) * width)
        if window:
            state, starts = np.array([-1]), np.concatenate([[0], np.cumsum(counts * width)])
            while not window_kernels.gather(state, window, starts, mine.ravel(), everyone.reshape(-1)):
                pass  # Python handles a signal
        else:
            wait(self.comm.Iallgatherv(mine, (everyone, counts * width)).Test)
        return everyone

    def add_up(self, counters):
        """Return the sums over the ranks of some counters."""
        mine = np.asarray(counters, dtype=float)[None]
        return self._gather(mine, np.ones(self.size, dtype=np.int64)).sum(axis=0)

    def gather_digests(self, digests):
        """Return the sha256 (hexadecimal) of all agents' files, from those of the own agents."""
        mine = np.frombuffer(bytes.fromhex("".join(digests)), dtype=np.uint8).reshape(-1, 32)
        return [row.tobytes().hex() for row in self._gather(mine, np.diff(self.starts))]

    def average(self, costs, iterations):
        """Let the own agents find the scores of documents, as `odl.distributed.inference.average` does.

        Parameters
        ----------
        costs : ndarray, shape (own, n_documents)
            J_k(nu_k).

        Returns
        -------
        ndarray, shape (own, n_documents)
        """
        weights = sparse.csr_array(self.network.weights[self.agents][:, self.heard])
        rows = {rank: np.searchsorted(self.heard, agents) for rank, agents in self.hears.items()}
        mine = np.searchsorted(self.heard, self.agents)
        scores, everyone = -costs, np.zeros((len(self.heard), costs.shape[1]))

        def receive(rank, message):
            everyone[rows[rank]] = message.reshape(-1, costs.shape[1])

        for _ in range(iterations):
            told = scores - STEP * (scores + costs)
            everyone[mine] = told
            messages = {rank: told[agents - self.agents[0]].ravel() for rank, agents in self.tells.items()}
            self.exchange(messages, SCORE, receive)
            scores = weights @ everyone
        return self.network.n_agents * scores
