"""Diffusion over MPI ranks: each owns consecutive agents with their atoms and codes and sends dual variables only.

`Agents` does the work of one rank; what it says to others passes through `odl.distributed.messages`. Documents that
need nothing from each other advance side by side in blocks, so that ranks wait for each other once an iteration of a
block. Results do not depend on the number of ranks or on blocks, byte for byte.
Source: Chen, Towfic and Sayed 2014, equations 31, 37, 42 and 51 to 56.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.distributed import packing
from odl.distributed.coding import safe_step
from odl.distributed.inference import CHECK
from odl.distributed.messages import DUAL
from odl.errors import ParameterError
from odl.kernels import native

rank_kernels = native.Kernels("ranks")
BLOCK, ROOM = 64, 64_000_000  # most documents side by side, bytes that a rank has for them


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


def _rows(heard, agents):
    """Return where the rows of each rank begin, and the places of its agents among those heard."""
    found = [np.searchsorted(heard, of) for of in agents.values()]
    return np.cumsum([0, *map(len, found)]), np.concatenate([np.zeros(0, np.int64), *found])


class Agents:
    """The agents of one rank with their atoms: inference in blocks of documents, learning document by document.

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
        self.atoms = packing.pack(A)
        self.own = owner[np.isin(owner, ranks.agents)] - ranks.agents[0]
        if len(self.own) != A.shape[1]:
            raise ParameterError(f"{A.shape[1]} atoms", f"the {len(self.own)} of the own agents", "correct the share")
        self.mu = float(mu or safe_step(model, owner, ranks.network))
        if not self.mu > 0:
            raise ParameterError(f"mu={mu!r}", "a step above 0, or 0 for the safe one", "correct mu")
        self.iterations, self.tolerance = iterations, tolerance
        self.settings = packing.settings(model)
        self._prepare()

    def _prepare(self):
        ranks = self.ranks
        self.shares = ranks.network.shares[ranks.agents]
        self.scale = ranks.network.n_agents / int(ranks.network.seen.sum())
        weights = sparse.csr_array(ranks.network.weights[ranks.agents])
        self.mixing = (
            weights.indptr.astype(np.int64),
            np.searchsorted(ranks.heard, weights.indices).astype(np.int64),
            weights.data,
        )
        self.rows = np.searchsorted(ranks.heard, ranks.agents)
        self.told_starts, self.told_rows = _rows(ranks.heard, ranks.tells)
        self.their_starts, self.their_rows = _rows(ranks.heard, ranks.hears)
        self.mark = np.full(self.n_terms, -1, np.int32)
        most = -(-ranks.network.n_agents // ranks.size)  # all ranks have to find the same
        self.block = int(np.clip(ROOM // (24 * most * self.n_terms), 1, BLOCK))
        self._allocate(1)

    def _allocate(self, n):
        """Make room for n documents side by side."""
        n_own, n_heard = len(self.ranks.agents), len(self.ranks.heard)
        self.nu, self.old = np.zeros((n, n_own, self.n_terms)), np.zeros((n, n_own, self.n_terms))
        self.psi = np.zeros((n, n_heard, self.n_terms))
        self.terms, self.where = np.zeros((n, self.n_terms), np.int32), np.full((n, self.n_terms), -1, np.int32)
        self.places = np.zeros((len(self.ranks.hears), n, self.n_terms), np.int32)
        self.kept, self.n_kept = np.zeros((n, len(self.own)), np.int64), np.zeros(n, np.int64)
        self.listed = np.zeros(n, np.int64)

    def dictionary(self):
        """Return the own atoms, CSC."""
        return packing.unpack(self.atoms, self.n_terms)

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
        self._allocate(max(1, min(self.block, n_documents)))
        for first in range(0, n_documents, self.block):
            documents = self._documents(P, first, min(first + self.block, n_documents))
            used = self._diffuse(documents)
            for place in range(len(used)):
                row = first + place
                iterations[row] = used[place]
                codes[row], costs[:, row], norms[:, row] = self._read(documents, place)
                self._close(place)
        self._allocate(1)
        return Inferred(sparse.csr_array(codes), costs, norms, iterations)

    def learn(self, P, step):
        """Go through a batch once, one document at a time: each agent learns from its own nu_k and y_k."""
        beta, signed = float(self.model.dictionary.beta), self.settings[3]
        for row in range(P.shape[0]):
            documents = self._documents(P, row, row + 1)
            self._diffuse(documents)
            codes, _, _ = self._read(documents, 0)
            self.atoms = rank_kernels.learn(
                *[self.atoms, self.own, codes, float(step), beta, signed],
                *[self.listed[0], self.terms[0], self.nu[0], self.mark],
            )
            self._close(0)

    def _documents(self, P, first, last):
        """Return some documents as the kernels take them: empty if none of the own agents sees them."""
        starts = P.indptr[first : last + 1].astype(np.int64)
        return starts if self.shares.any() else np.zeros_like(starts), P.indices.astype(np.int32, copy=False), P.data

    def _diffuse(self, documents):
        """Run the diffusion of documents side by side; one that has ended stays as it is. Return their iterations."""
        active = np.arange(len(documents[0]) - 1)
        used, told = np.zeros((2, len(active)), np.int64)
        known = np.zeros((len(self.places), len(active)), np.int64)
        rank_kernels.open_block(
            *[documents, self.atoms, self.own, self.shares, self.settings, self.scale, self.terms, self.where, self.nu],
            *[self.listed, self.kept, self.n_kept],
        )
        while used.max(initial=0) < self.iterations and len(active):
            done = int(used.max(initial=0))
            n = min(CHECK, self.iterations - done)
            self._advance(n, active, documents, told, known)
            used[active] = done + n
            if n == CHECK and self.tolerance > 0:
                active = active[~self._moved_little(active)]
        return used

    def _advance(self, n, active, documents, told, known):
        """Take n iterations; the dual variables before the last are left in `old`."""
        n_agents, limit = self.ranks.network.n_agents, float(self.model.residual.limit)
        fixed = (documents, self.atoms, self.own, self.rows, self.shares, self.settings, self.mu, n_agents)
        held = (self.kept, self.n_kept, self.listed, self.terms, self.where, self.nu, self.psi)
        window = self.ranks.shared(self._longest() * len(active))
        if window:
            names = (self.told_starts, self.told_rows, self.their_starts, self.their_rows, self.places)
            state, rest = np.array([n, -1, 0]), (self.mixing, limit, self.old, told, known, names, window)
            while not rank_kernels.advance(state, active, fixed, held, *rest):
                pass  # Python handles a signal
            self.ranks.count(n, int(state[2]))
            return
        for left in range(n, 0, -1):
            rank_kernels.adapt(active, *fixed, *held)
            self._tell(active, told, known)
            rank_kernels.combine(active, left == 1, self.psi, *self.mixing, limit, self.listed, self.nu, self.old)

    def _longest(self):
        """Return the most floats of a message about one document."""
        told = max(np.diff(self.told_starts).max(initial=0), np.diff(self.their_starts).max(initial=0))
        return 1 + (1 + int(told)) * self.n_terms

    def _tell(self, active, told, known):
        """Exchange psi of the agents with neighbours elsewhere; names of terms travel once."""
        if not len(self.places):
            return
        packed, ends = rank_kernels.pack(
            active, self.told_starts, self.told_rows, told, self.listed, self.terms, self.psi
        )
        messages = {rank: packed[ends[place] : ends[place + 1]] for place, rank in enumerate(self.ranks.tells)}
        order = {rank: place for place, rank in enumerate(self.ranks.hears)}

        def receive(rank, message):
            place = order[rank]
            theirs = self.their_rows[self.their_starts[place] : self.their_starts[place + 1]]
            rank_kernels.unpack(
                *[message, active, theirs, self.places[place], known[place]],
                *[self.listed, self.terms, self.where, self.psi],
            )

        self.ranks.exchange(messages, DUAL, receive)

    def _sizes(self, active, old):
        return rank_kernels.sizes(active, self.nu, old, self.terms, self.listed)

    def _moved_little(self, active):
        """Tell of which documents all agents together moved by at most the tolerance, as in `inference.diffuse`."""
        sizes = self.ranks.gather(self._sizes(active, self.old))
        limit = self.tolerance * self.mu * self.model.residual.curvature / self.ranks.network.n_agents
        size, moved = (np.array([sum(of.tolist()) for of in sizes[:, :, which].T]) for which in (0, 1))
        return moved <= limit**2 * size

    def _read(self, documents, place):
        """Return codes, costs and squared norms of a document that has ended."""
        starts, _, values = documents
        norms = self._sizes(np.array([place]), self.nu)[:, 0]
        codes, costs = np.zeros(len(self.own)), np.zeros(self.nu.shape[1])
        rank_kernels.read(
            *[values[starts[place] : starts[place + 1]], self.atoms, self.own, self.shares, self.settings],
            *[self.ranks.network.n_agents, self.kept[place, : self.n_kept[place]]],
            *[self.where[place], self.nu[place], norms, codes, costs],
        )
        return codes, costs, norms[:, 0]

    def _close(self, place):
        listed = self.listed[place]
        self.where[place, self.terms[place, :listed]] = -1
        self.nu[place, :, :listed] = 0.0
        self.psi[place, :, :listed] = 0.0
        self.listed[place] = 0

    def warm_up(self):
        """Compile what is called where neighbours are on other hosts."""
        active, none = np.zeros(0, np.int64), np.zeros(0, np.int64)
        held = (self.kept, self.n_kept, self.listed, self.terms, self.where, self.nu, self.psi)
        documents = (np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        fixed = (documents, self.atoms, self.own, self.rows, self.shares, self.settings, self.mu, 1)
        rank_kernels.adapt(active, *fixed, *held)
        rank_kernels.combine(active, True, self.psi, *self.mixing, 1.0, self.listed, self.nu, self.old)
        rank_kernels.pack(active, np.zeros(1, np.int64), none, none, self.listed, self.terms, self.psi)
        held = (self.listed, self.terms, self.where, self.psi)
        rank_kernels.unpack(np.zeros(0), active, none, self.terms, none, *held)
