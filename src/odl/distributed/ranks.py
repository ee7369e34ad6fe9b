"""Diffusion over MPI ranks: each owns consecutive agents with their atoms and codes and sends dual variables only.

`Ranks` is the one place that messages pass through. Its point-to-point messages are dual variables (and, if agents
average the score, one number a document and agent) of agents that have a neighbour on the rank that is told.
Beside them all ranks gather numbers of each agent: how far its dual variables moved, for the common stopping rule,
and its costs J_k. `Agents` does the work of one rank. Results do not depend on the number of ranks, byte for byte.
Source: Chen, Towfic and Sayed 2014, equations 31, 37, 42 and 51 to 56.
"""

import time
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.distributed import coding
from odl.distributed.inference import CHECK
from odl.errors import ParameterError
from odl.kernels import ranks as rank_kernels

INSTALL = "pip install 'online-dictionary-learning[mpi]'"
DUAL, SCORE = 1, 2  # tags of the messages
POLLS, PAUSE = 20, 1e-5  # looks at a message before a rank sleeps between them, seconds that it sleeps
STEP = 0.01  # of the averaging of the score, as in `odl.distributed.inference.average`


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


def wait(done):
    """Return when `done()`; other processes may have the core meanwhile.

    MPI's own waiting keeps the core busy: with more ranks than free cores that is 25 times slower.
    """
    tries = 0
    while not done():
        tries += 1
        if tries > POLLS:
            time.sleep(PAUSE)


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
    """

    def __init__(self, comm, network):
        self.comm, self.network = comm, network
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.starts = first_agents(network.n_agents, self.size)
        self.agents = np.arange(self.starts[self.rank], self.starts[self.rank + 1])
        links = sparse.csr_array(network.weights)
        self.heard = np.unique(np.concatenate([links[self.agents].indices, self.agents]))
        homes = np.searchsorted(self.starts, self.heard, side="right") - 1
        self.hears = {int(home): self.heard[homes == home] for home in np.unique(homes) if home != self.rank}
        self.tells = {}
        for home in self.hears:  # the graph is undirected
            other = np.arange(self.starts[home], self.starts[home + 1])
            self.tells[home] = np.intersect1d(links[other].indices, self.agents)
        self.sent = 0

    def exchange(self, messages, tag, receive):
        """Send a message to each neighbouring rank and hand theirs to `receive`, in the order of the ranks.

        Parameters
        ----------
        messages : dict of int to ndarray of float
        tag : int
        receive : callable
            Called with the rank and its message.
        """
        requests = [self.comm.Isend(message, dest=rank, tag=tag) for rank, message in messages.items()]
        self.sent += sum(message.nbytes for message in messages.values())
        for rank in self.hears:
            receive(rank, self._receive(rank, tag))
        for request in requests:
            wait(request.Test)

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
        wait(self.comm.Iallgatherv(mine, (everyone, counts * width)).Test)
        self.sent += mine.nbytes * (self.size - 1)
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


class Inferred(NamedTuple):
    """What a rank knows of a batch.

    Attributes
    ----------
    codes : csr_array, shape (n_documents, own atoms)
    costs : ndarray, shape (own agents, n_documents)
        J_k(nu_k).
    norms : ndarray, shape (own agents, n_documents)
        ||nu_k||^2.
    iterations : ndarray, shape (n_documents,)
    """

    codes: sparse.csr_array
    costs: np.ndarray
    norms: np.ndarray
    iterations: np.ndarray


class Agents:
    """The agents of one rank with their atoms: inference and learning document by document.

    Parameters
    ----------
    ranks : Ranks
    model : odl.distributed.models.Model
    owner : ndarray of int
        Agent of each atom of the whole dictionary, ascending.
    A : csc_array, shape (n_terms, own atoms)
        The own agents' atoms, in order.
    mu, iterations, tolerance
        As in `odl.distributed.coding.over_network`.
    """

    def __init__(self, ranks, model, owner, A, *, mu=0.0, iterations=10_000, tolerance=1e-3):
        A = A.sorted_indices()
        self.ranks, self.model, self.n_terms = ranks, model, A.shape[0]
        self.atoms = coding.pack(A)
        self.own = owner[np.isin(owner, ranks.agents)] - ranks.agents[0]
        if len(self.own) != A.shape[1]:
            raise ParameterError(f"{A.shape[1]} atoms", f"the {len(self.own)} of the own agents", "correct the share")
        self.mu = float(mu or coding.safe_step(model, owner, ranks.network))
        if not self.mu > 0:
            raise ParameterError(f"mu={mu!r}", "a step above 0, or 0 for the safe one", "correct mu")
        self.iterations, self.tolerance = iterations, tolerance
        self.settings = coding.settings(model)
        self._prepare()

    def _prepare(self):
        ranks, n_own = self.ranks, len(self.ranks.agents)
        self.shares = ranks.network.shares[ranks.agents]
        self.scale = ranks.network.n_agents / int(ranks.network.seen.sum())
        weights = sparse.csr_array(ranks.network.weights[ranks.agents])
        self.mixing = (
            weights.indptr.astype(np.int64),
            np.searchsorted(ranks.heard, weights.indices).astype(np.int64),
            weights.data,
        )
        self.rows = np.searchsorted(ranks.heard, ranks.agents)
        self.their_rows = {rank: np.searchsorted(ranks.heard, agents) for rank, agents in ranks.hears.items()}
        self.own_rows = {rank: np.searchsorted(ranks.heard, agents) for rank, agents in ranks.tells.items()}
        self.nu = np.zeros((n_own, self.n_terms))
        self.psi = np.zeros((len(ranks.heard), self.n_terms))
        self.terms, self.where = np.zeros(self.n_terms, np.int32), np.full(self.n_terms, -1, np.int32)
        self.mark = np.full(self.n_terms, -1, np.int32)
        self.places = {rank: np.zeros(self.n_terms, np.int32) for rank in ranks.hears}
        self.listed = 0

    def dictionary(self):
        """Return the own atoms, CSC."""
        return coding.unpack(self.atoms, self.n_terms)

    def infer(self, P):
        """Code a batch (eqs 31, 37, 42).

        Parameters
        ----------
        P : csr_array, shape (n_documents, n_terms)

        Returns
        -------
        Inferred
        """
        n_documents, n_own = P.shape[0], len(self.ranks.agents)
        codes = np.zeros((n_documents, len(self.own)))
        costs, norms = np.zeros((n_own, n_documents)), np.zeros((n_own, n_documents))
        iterations = np.zeros(n_documents, dtype=np.int64)
        for row in range(n_documents):
            iterations[row], values, kept = self._diffuse(P, row)
            codes[row], costs[:, row], norms[:, row] = self._read(values, kept)
            self._close()
        return Inferred(sparse.csr_array(codes), costs, norms, iterations)

    def learn(self, P, step):
        """Go through a batch once, one document at a time: each agent learns from its own nu_k and y_k."""
        beta, signed = float(self.model.dictionary.beta), self.settings[3]
        for row in range(P.shape[0]):
            _, values, kept = self._diffuse(P, row)
            codes, _, _ = self._read(values, kept)
            self.atoms = rank_kernels.learn(
                *[self.atoms, self.own, codes, float(step), beta, signed],
                *[self.listed, self.terms, self.nu, self.mark],
            )
            self._close()

    def _diffuse(self, P, row):
        """Run the diffusion of one document; return iterations, the values this rank sees, and the kept atoms."""
        span = slice(P.indptr[row], P.indptr[row + 1])
        indices, values = P.indices[span], P.data[span]
        if not self.shares.any():  # none of the own agents sees the document
            indices, values = indices[:0], values[:0]
        eta, n_agents = self.settings[2], self.ranks.network.n_agents
        held = (self.terms, self.where, self.nu)
        self.listed = rank_kernels.open_document(indices, values, self.shares, eta, *held)
        kept = np.empty(len(self.own), np.int64)
        seen = (values, self.atoms, self.own, self.shares, self.settings, self.scale, self.where, kept)
        kept = kept[: rank_kernels.screen(*seen)]
        told, known = dict.fromkeys(self.own_rows, 0), dict.fromkeys(self.their_rows, 0)
        fixed = (values, self.atoms, self.own, self.rows, self.shares, self.settings, self.mu, n_agents, kept)
        used = 0
        while used < self.iterations:
            self.listed = rank_kernels.adapt(*fixed, self.listed, *held, self.psi)
            self._tell(told, known)
            used += 1
            check = used % CHECK == 0 and self.tolerance > 0
            old = self.nu[:, : self.listed].copy() if check else None
            limit = float(self.model.residual.limit)
            rank_kernels.combine(self.psi, *self.mixing, limit, self.listed, self.nu)
            if check and self._moved_little(old):
                break
        return used, values, kept

    def _tell(self, told, known):
        """Exchange psi of the agents with neighbours elsewhere; names of terms travel once."""
        messages = {}
        for rank, rows in self.own_rows.items():
            new = self.terms[told[rank] : self.listed]
            messages[rank] = np.concatenate([[len(new)], new, self.psi[rows, : self.listed].ravel()])
            told[rank] = self.listed

        def receive(rank, message):
            known[rank], self.listed = rank_kernels.unpack(
                *[message, self.their_rows[rank], self.places[rank], known[rank]],
                *[self.listed, self.terms, self.where, self.psi],
            )

        self.ranks.exchange(messages, DUAL, receive)

    def _sizes(self, old):
        found = np.empty((len(self.nu), 2))
        rank_kernels.sizes(self.nu, old, np.argsort(self.terms[: self.listed]), found)
        return found

    def _moved_little(self, old):
        """Tell whether all agents together moved by at most the tolerance, as in `inference.diffuse`."""
        sizes = self.ranks.gather(self._sizes(old))
        limit = self.tolerance * self.mu * self.model.residual.curvature / self.ranks.network.n_agents
        return sum(sizes[:, 1].tolist()) <= limit**2 * sum(sizes[:, 0].tolist())

    def _read(self, values, kept):
        norms, codes, costs = self._sizes(self.nu), np.zeros(len(self.own)), np.zeros(len(self.nu))
        rank_kernels.read(
            *[values, self.atoms, self.own, self.shares, self.settings, self.ranks.network.n_agents, kept],
            *[self.where, self.nu, norms, codes, costs],
        )
        return codes, costs, norms[:, 0]

    def _close(self):
        self.where[self.terms[: self.listed]] = -1
        self.nu[:, : self.listed] = 0.0
        self.psi[:, : self.listed] = 0.0
        self.listed = 0
