"""Messages between MPI ranks: the one place that anything passes through on its way from rank to rank.

Point-to-point messages are dual variables, and one number a document and agent where agents average the score, of
agents that have a neighbour on the rank that is told. Beside them all ranks gather numbers of each agent: how far its
dual variables moved, for the common stopping rule, and its costs J_k.
"""

import sys
import time
import traceback

import numpy as np
from scipy import sparse

from odl.errors import OdlError, ParameterError

INSTALL = "pip install 'online-dictionary-learning[mpi]'"
POLLS, PAUSE, LONGEST = 20, 1e-5, 0.01  # looks before a rank sleeps between them; seconds that it sleeps


class Agreed(Exception):
    """All ranks stop here, in order; one of them says why."""


def world(asked=None):
    """Return MPI's communicator of all ranks.

    Parameters
    ----------
    asked : int, optional
        How many ranks there have to be.

    Raises
    ------
    ParameterError
        If mpi4py is missing or the launcher started another number of ranks.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        given = f"mpi4py cannot be used ({' '.join(str(error).split())[:100]})"
        raise ParameterError(given, "mpi4py and an MPI library", INSTALL) from error
    comm = MPI.COMM_WORLD
    if asked is not None and comm.Get_size() != asked:
        given = f"{comm.Get_size()} rank{'s' * (comm.Get_size() > 1)} where {asked} were asked for"
        todo = f"start them by 'mpiexec -n {asked}', under Slurm by 'srun --mpi=pmi2 -n {asked}'"
        raise ParameterError(given, f"a launcher that starts {asked}", todo)
    return comm


def wait(done):
    """Return when `done()`. MPI's own waiting keeps a core busy, and no signal reaches Python meanwhile."""
    tries = 0
    while not done():
        tries += 1
        if tries > POLLS:
            time.sleep(min(PAUSE * 1.05 ** (tries - POLLS), LONGEST))


def together(comm, function):
    """Call a function on every rank; if it refuses on any, all stop, and only the first such rank has the reason.

    Raises
    ------
    Agreed
    """
    result, failed = None, None
    try:
        result = function()
    except (OdlError, OSError) as error:
        failed = error
    flags = bytearray(comm.Get_size())
    wait(comm.Iallgather(bytes([failed is not None]), flags).Test)
    if any(flags):
        raise Agreed() from (failed if flags.index(1) == comm.Get_rank() else None)
    return result


def take_part(asked, work):
    """Be one of the ranks of COMM_WORLD; return the exit status. No rank waits for one that has failed.

    Parameters
    ----------
    asked : int or None
        How many there have to be.
    work : callable
        Called with the communicator. All stop in order by `Agreed`.
    """
    comm = world(asked)
    try:
        work(comm)
    except Agreed as agreed:
        if agreed.__cause__:
            print(f"odl rank: {agreed.__cause__}", file=sys.stderr, flush=True)
        return 1
    except BaseException as error:
        if not isinstance(error, SystemExit | KeyboardInterrupt):
            traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)
    return 0


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


def pack(rows):
    """Return rows as one message: how many columns are not zero in all of them, which, and their values by rows."""
    columns = np.flatnonzero(rows.any(axis=0))
    return np.concatenate([[len(columns)], columns, rows[:, columns].ravel()])


def unpack(message, shape):
    """Return the rows of a message."""
    rows, n = np.zeros(shape), int(message[0])
    rows[:, message[1 : 1 + n].astype(np.int64)] = message[1 + n :].reshape(shape[0], n)
    return rows


class Ranks:
    """What one rank says to the others and hears from them.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    network : odl.distributed.networks.Network
        Of all agents.

    Attributes
    ----------
    agents : ndarray of int
        Own agents, ascending.
    heard : ndarray of int
        Agents whose dual variables the own ones combine, ascending.
    tells, hears : dict of int to ndarray of int
        Other rank -> own agents it is told of; its agents that this rank is told of.
    sent, exchanges : int
        Bytes sent, and rounds of messages with the neighbours, so far.
    """

    def __init__(self, comm, network):
        self.comm, self.network = comm, network
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.starts = first_agents(network.n_agents, self.size)
        homes = np.searchsorted(self.starts, np.arange(network.n_agents), side="right") - 1
        links = sparse.csr_array(network.weights)
        heard = [np.unique(links[np.flatnonzero(homes == rank)].indices) for rank in range(self.size)]
        self.agents, self.heard = np.flatnonzero(homes == self.rank), heard[self.rank]
        others = [rank for rank in range(self.size) if rank != self.rank]
        self.hears = {rank: self.heard[homes[self.heard] == rank] for rank in others}
        self.hears = {rank: agents for rank, agents in self.hears.items() if len(agents)}
        self.tells = {rank: np.intersect1d(heard[rank], self.agents) for rank in others}
        self.tells = {rank: agents for rank, agents in self.tells.items() if len(agents)}
        self.mine = np.isin(self.heard, self.agents)
        self.rows = {rank: np.searchsorted(self.heard, agents) for rank, agents in self.hears.items()}
        self.sent, self.exchanges = 0, 0

    def exchange(self, values):
        """Return a row of each agent heard, from those of the own agents: a message to each neighbouring rank.

        Parameters
        ----------
        values : ndarray, shape (own agents, n)

        Returns
        -------
        ndarray, shape (len(heard), n)
        """
        messages = {rank: pack(values[agents - self.agents[0]]) for rank, agents in self.tells.items()}
        requests = [self.comm.Isend(message, dest=rank) for rank, message in messages.items()]
        self.sent += sum(message.nbytes for message in messages.values())
        self.exchanges += bool(messages)
        heard = np.empty((len(self.heard), values.shape[1]))
        heard[self.mine] = values[self.heard[self.mine] - self.agents[0]]
        for rank, rows in self.rows.items():
            heard[rows] = unpack(self._receive(rank), (len(rows), values.shape[1]))
        for request in requests:
            wait(request.Test)
        return heard

    def _receive(self, rank):
        from mpi4py import MPI

        status = MPI.Status()
        wait(lambda: self.comm.Iprobe(source=rank, status=status))
        message = np.empty(status.Get_count(MPI.DOUBLE))
        wait(self.comm.Irecv(message, source=rank).Test)
        return message

    def gather(self, numbers):
        """Return the numbers of all agents, shape (N, ...), from those of the own agents, shape (own, ...)."""
        return self._gather(np.ascontiguousarray(numbers, dtype=float), np.diff(self.starts))

    def _gather(self, mine, counts):
        everyone = np.empty((int(counts.sum()), *mine.shape[1:]), dtype=mine.dtype)
        self.sent += mine.nbytes * (self.size - 1)
        width = int(np.prod(mine.shape[1:], dtype=np.int64))
        wait(self.comm.Iallgatherv(mine, (everyone, counts * width)).Test)
        return everyone

    def add_up(self, counters):
        """Return the sums over the ranks of some counters."""
        return self._gather(np.asarray(counters, dtype=float)[None], np.ones(self.size, dtype=np.int64)).sum(axis=0)

    def gather_digests(self, digests):
        """Return the sha256 (hexadecimal) of all agents' files, from those of the own agents."""
        mine = np.frombuffer(bytes.fromhex("".join(digests)), dtype=np.uint8).reshape(-1, 32)
        return [row.tobytes().hex() for row in self._gather(mine, np.diff(self.starts))]
