"""Agents of one MPI rank: their atoms, and the documents that they code and learn from with the agents of other ranks.

What is computed is `odl.distributed.inference.diffuse`, whose exchange of psi and whose stopping rule go over
`odl.distributed.messages`. Sums do not depend on who owns an agent: results have the same bytes on any number of ranks.
Source: Chen, Towfic and Sayed 2014, equations 31, 37, 42 and 51 to 56.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.distributed.coding import safe_step
from odl.distributed.inference import Share, diffuse

STEP = 0.01  # of the averaging of the score, as in `odl.distributed.inference.average`


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
    """The agents of one rank with their atoms.

    Parameters
    ----------
    ranks : odl.distributed.messages.Ranks
    model : odl.distributed.models.Model
    owner : ndarray of int
        Agent of each atom of the whole dictionary, ascending.
    A : csc_array, shape (n_terms, own atoms)
        The own agents' atoms, in order.
    mu, iterations, tolerance
        As in `odl.distributed.coding.over_network`.
    """

    def __init__(self, ranks, model, owner, A, *, mu=0.0, iterations=10_000, tolerance=1e-3):
        self.ranks, self.own = ranks, owner[np.isin(owner, ranks.agents)]
        blocks = [A[:, np.flatnonzero(self.own == agent)].toarray() for agent in ranks.agents]
        self.share = Share(model, ranks.network, ranks.agents, blocks)
        step = mu or safe_step(model, owner, ranks.network)
        self.settings = {"step": step, "iterations": iterations, "tolerance": tolerance}

    def dictionary(self):
        """Return the own agents' atoms, csc, without zeros."""
        return sparse.csc_array(np.hstack(self.share.blocks))

    def _documents(self, P):
        """Yield what the own agents find of each document."""
        hooks = {"exchange": self.ranks.exchange, "gather": self.ranks.gather}
        for row in range(P.shape[0]):
            yield diffuse(self.share, P[[row]].toarray()[0], **self.settings, **hooks)

    def infer(self, P):
        """Code a batch (eqs 31, 37, 42).

        Parameters
        ----------
        P : csr_array, shape (n_documents, n_terms)

        Returns
        -------
        Inferred
        """
        n_own, n_documents = len(self.ranks.agents), P.shape[0]
        codes, iterations = np.zeros((n_documents, len(self.own))), np.zeros(n_documents, np.int64)
        costs, norms = np.zeros((n_own, n_documents)), np.zeros((n_own, n_documents))
        for row, found in enumerate(self._documents(P)):
            codes[row], costs[:, row] = np.concatenate(found.codes), found.costs
            norms[:, row], iterations[row] = np.sum(found.nu**2, axis=1), found.iterations
        return Inferred(sparse.csr_array(codes), costs, norms, iterations)

    def learn(self, P, step):
        """Go through a batch once, one document at a time: each agent learns from its own nu_k and y_k."""
        learned, blocks = self.share.model.learn, self.share.blocks
        for found in self._documents(P):
            blocks[:] = [learned(*each, step) for each in zip(blocks, found.nu, found.codes, strict=True)]

    def average(self, costs, iterations):
        """Let the own agents find the scores of documents, as `odl.distributed.inference.average` does.

        Parameters
        ----------
        costs : ndarray, shape (own agents, n_documents)
            J_k(nu_k).

        Returns
        -------
        ndarray, shape (own agents, n_documents)
        """
        weights, scores = self.ranks.network.weights[self.ranks.agents][:, self.ranks.heard], -costs
        for _ in range(iterations):
            scores = weights @ self.ranks.exchange(scores - STEP * (scores + costs))
        return self.ranks.network.n_agents * scores
