"""Communication between MPI ranks, and the agents of one rank.

Point-to-point messages contain the dual variables of agents with a neighbour on the receiving rank.
All ranks also gather, from every agent, the change of its dual variables (for the stopping rule)
and its costs J_k.
"""

import sys
import time
import traceback
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.distributed.coding import safe_step
from odl.distributed.inference import AgentShare, diffuse
from odl.errors import OdlError, ParameterError

INSTALL = "pip install 'online-dictionary-learning[mpi]'"
POLLS = 20  # number of polls for a message before the first pause
SHORTEST_PAUSE, LONGEST_PAUSE = 1e-5, 0.01  # seconds between further polls


class Agreed(Exception):
    """Exception that is raised on every rank when one rank fails.

    On the first failed rank, `__cause__` is its error. On other ranks it is None.
    """


def world(n_ranks=None):
    """Return the communicator of all MPI ranks.

    Parameters
    ----------
    n_ranks : int, optional
        Expected number of ranks.

    Raises
    ------
    ParameterError
        If mpi4py cannot be imported, or the launcher started a different number of ranks.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ParameterError(
            f"mpi4py cannot be used ({' '.join(str(error).split())[:100]})",
            "mpi4py and an MPI library",
            INSTALL,
        ) from error
    comm = MPI.COMM_WORLD
    if n_ranks is not None and comm.Get_size() != n_ranks:
        started = f"{comm.Get_size()} rank{'s' * (comm.Get_size() > 1)}"
        raise ParameterError(
            f"the launcher started {started}",
            f"{n_ranks} ranks",
            f"start them by 'mpiexec -n {n_ranks}', under Slurm by 'srun --mpi=pmi2 -n {n_ranks}'",
        )
    return comm


def wait(is_done):
    """Wait until `is_done()` is true.

    The wait of MPI would keep a core busy and block signals to Python.
    """
    tries = 0
    while not is_done():
        tries += 1
        if tries > POLLS:
            time.sleep(min(SHORTEST_PAUSE * 1.05 ** (tries - POLLS), LONGEST_PAUSE))


def together(comm, function):
    """Call a function on every rank and return its result.

    Raises
    ------
    Agreed
        On all ranks, if the function failed on any rank.
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


def take_part(n_ranks, work):
    """Run `work` on this rank of COMM_WORLD, and return the exit status of the rank.

    If `work` raises `Agreed`, every rank returns 1 and the failed rank prints its error. After any
    other exception, this rank aborts all ranks, so no rank waits for a failed one.

    Parameters
    ----------
    n_ranks : int or None
        Expected number of ranks.
    work : callable
        Called with the communicator.
    """
    comm = world(n_ranks)
    try:
        work(comm)
    except Agreed as agreed:
        if agreed.__cause__:
            print(f"odl rank: {agreed.__cause__}", file=sys.stderr, flush=True)
        return 1
    except BaseException as error:
        if not isinstance(error, SystemExit | KeyboardInterrupt):
            sys.stderr.write(traceback.format_exc())
        sys.stderr.flush()
        # Abort ends all processes at once. The launcher needs time to read the traceback before.
        time.sleep(0.5)
        comm.Abort(1)
    return 0


def first_agents(n_agents, n_ranks):
    """Return an array with the first agent of each rank, followed by the number of agents.

    Ranks have consecutive agents, divided as evenly as possible.

    Raises
    ------
    ParameterError
        If there are more ranks than agents.
    """
    if not 1 <= n_ranks <= n_agents:
        raise ParameterError(
            f"{n_ranks} ranks for {n_agents} agents",
            "at least one agent per rank",
            "lower the number of ranks",
        )
    return np.arange(n_ranks + 1) * n_agents // n_ranks


def pack(rows):
    """Return rows as one message: number, indices and values of the columns that are not zero."""
    columns = np.flatnonzero(rows.any(axis=0))
    return np.concatenate([[len(columns)], columns, rows[:, columns].ravel()])


def unpack(message, shape):
    """Return the rows, of the given shape, that `pack` wrote into a message."""
    rows, n = np.zeros(shape), int(message[0])
    rows[:, message[1 : 1 + n].astype(np.int64)] = message[1 + n :].reshape(shape[0], n)
    return rows


class Ranks:
    """Communication of one rank with other ranks.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    network : odl.distributed.networks.Network
        The network of all agents.

    Attributes
    ----------
    agents : ndarray of int
        Agents that this rank owns ("own agents"), consecutive and ascending.
    senders : ndarray of int
        Agents whose dual variables the own agents combine, ascending.
    sends, receives : dict of int to ndarray of int
        Other rank -> own agents whose dual variables the other rank needs, and its agents whose
        dual variables this rank needs.
    is_own : ndarray of bool
        Mask of the agents in `senders` that are own agents.
    rows : dict of int to ndarray of int
        Positions in `senders` of the agents in `receives`.
    sent : int
        Number of bytes sent so far.
    """

    def __init__(self, comm, network):
        self.comm, self.network, self.sent = comm, network, 0
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.starts = first_agents(network.n_agents, self.size)
        rank_of = np.searchsorted(self.starts, np.arange(network.n_agents), side="right") - 1
        links = sparse.csr_array(network.weights)
        # For each rank, the agents whose dual variables are combined by agents of this rank.
        senders = [
            np.unique(links[np.flatnonzero(rank_of == rank)].indices) for rank in range(self.size)
        ]
        self.agents, self.senders = np.flatnonzero(rank_of == self.rank), senders[self.rank]
        self.is_own = np.isin(self.senders, self.agents)
        self.sends, self.receives, self.rows = {}, {}, {}
        for rank in range(self.size):
            if rank == self.rank:
                continue
            wanted = np.intersect1d(senders[rank], self.agents)
            if len(wanted):
                self.sends[rank] = wanted
            agents = self.senders[rank_of[self.senders] == rank]
            if len(agents):
                self.receives[rank] = agents
                self.rows[rank] = np.searchsorted(self.senders, agents)

    def exchange(self, values):
        """Exchange rows with other ranks; return the rows of the agents `senders`.

        The number of bytes sent is added to `sent`.

        Parameters
        ----------
        values : ndarray, shape (len(agents), n)
            Rows of the agents of this rank.

        Returns
        -------
        ndarray, shape (len(senders), n)
            Rows of the agents `senders`, in their order.
        """
        first_agent = self.agents[0]  # the agents of a rank have consecutive numbers
        messages = {rank: pack(values[agents - first_agent]) for rank, agents in self.sends.items()}
        requests = [self.comm.Isend(message, dest=rank) for rank, message in messages.items()]
        self.sent += sum(message.nbytes for message in messages.values())
        received = np.empty((len(self.senders), values.shape[1]))
        received[self.is_own] = values[self.senders[self.is_own] - first_agent]
        for rank, rows in self.rows.items():
            received[rows] = unpack(self._receive(rank), (len(rows), values.shape[1]))
        for request in requests:
            wait(request.Test)
        return received

    def _receive(self, rank):
        """Return the next message of a rank, of any length."""
        from mpi4py import MPI

        status = MPI.Status()
        wait(lambda: self.comm.Iprobe(source=rank, status=status))
        message = np.empty(status.Get_count(MPI.DOUBLE))
        wait(self.comm.Irecv(message, source=rank).Test)
        return message

    def gather(self, numbers):
        """Return the rows of all agents of the network.

        Parameters
        ----------
        numbers : array-like, shape (len(agents), ...)
            Rows of the agents of this rank.

        Returns
        -------
        ndarray, shape (n_agents, ...)
        """
        return self._gather(np.ascontiguousarray(numbers, dtype=float), np.diff(self.starts))

    def _gather(self, rows, counts):
        """Return the rows of all ranks, where counts[r] is the number of rows of rank r."""
        gathered = np.empty((int(counts.sum()), *rows.shape[1:]), dtype=rows.dtype)
        self.sent += rows.nbytes * (self.size - 1)
        width = int(np.prod(rows.shape[1:], dtype=np.int64))
        wait(self.comm.Iallgatherv(rows, (gathered, counts * width)).Test)
        return gathered

    def add_up(self, counters):
        """Return the sums of counters over all ranks."""
        return self._gather(
            np.asarray(counters, dtype=float)[None], np.ones(self.size, dtype=np.int64)
        ).sum(axis=0)

    def gather_digests(self, digests):
        """Return the SHA-256 digests (hexadecimal) of the files of all agents.

        `digests` are those of the own agents.
        """
        own = np.frombuffer(bytes.fromhex("".join(digests)), dtype=np.uint8).reshape(-1, 32)
        return [row.tobytes().hex() for row in self._gather(own, np.diff(self.starts))]


class Inferred(NamedTuple):
    """Codes of a batch for the atoms of one rank.

    Attributes
    ----------
    codes : csr_array, shape (n_documents, own atoms)
    costs : ndarray, shape (own agents, n_documents)
        Costs J_k(nu_k) of the agents of the rank.
    iterations : ndarray, shape (n_documents,)
        Number of exchanges between agents.
    """

    codes: sparse.csr_array
    costs: np.ndarray
    iterations: np.ndarray


class Agents:
    """Agents of one rank with their atoms.

    Parameters
    ----------
    ranks : odl.distributed.messages.Ranks
    model : odl.distributed.models.Model
    owner : ndarray of int
        Agent of each atom of the complete dictionary, ascending.
    A : csc_array, shape (n_terms, own atoms)
        Atoms of the own agents, in order.
    mu, iterations, tolerance
        As in `odl.distributed.coding.over_network`.
    """

    def __init__(self, ranks, model, owner, A, *, mu=0.0, iterations=10_000, tolerance=1e-3):
        self.ranks, self.owner = ranks, owner[np.isin(owner, ranks.agents)]
        blocks = [A[:, np.flatnonzero(self.owner == agent)].toarray() for agent in ranks.agents]
        self.share = AgentShare(model, ranks.network, ranks.agents, blocks)
        step = mu or safe_step(model, owner, ranks.network)
        self.settings = {"step": step, "iterations": iterations, "tolerance": tolerance}

    def dictionary(self):
        """Return the atoms of the own agents as csc_array without explicit zeros."""
        return sparse.csc_array(np.hstack(self.share.blocks))

    def _documents(self, P):
        """Yield the `Inference` of each document: dual variables and codes of the own agents."""
        hooks = {"exchange": self.ranks.exchange, "gather": self.ranks.gather}
        for row in range(P.shape[0]):
            yield diffuse(self.share, P[[row]].toarray()[0], **self.settings, **hooks)

    def infer(self, P):
        """Compute the codes of a batch (eqs 31, 37, 42).

        Parameters
        ----------
        P : csr_array, shape (n_documents, n_terms)

        Returns
        -------
        Inferred
        """
        n_own, n_documents = len(self.ranks.agents), P.shape[0]
        codes = np.zeros((n_documents, len(self.owner)))
        iterations = np.zeros(n_documents, np.int64)
        costs = np.zeros((n_own, n_documents))
        for row, inference in enumerate(self._documents(P)):
            codes[row], costs[:, row] = np.concatenate(inference.codes), inference.costs
            iterations[row] = inference.iterations
        return Inferred(sparse.csr_array(codes), costs, iterations)

    def learn(self, P, step):
        """Update the atoms of each agent after each document, by its own nu_k and y_k."""
        update, blocks = self.share.model.learn, self.share.blocks
        for inference in self._documents(P):
            blocks[:] = [
                update(block, nu, codes, step)
                for block, nu, codes in zip(blocks, inference.nu, inference.codes, strict=True)
            ]
