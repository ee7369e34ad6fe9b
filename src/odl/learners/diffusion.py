"""Learner `diffusion`: dictionary learning over a network of agents (Chen, Towfic, Sayed 2014)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from scipy import sparse

from odl.distributed import coding, models, networks
from odl.learners.base import Learner, Scores, State, setting
from odl.learners.sparse_atoms import draw_atoms, widen


@dataclass(frozen=True)
class Diffusion(Learner):
    """Solve min_y f(x - W y) + h(y) over agents that exchange dual variables nu.

    After each document, agent k updates its atoms by W_k = Proj(prox(W_k + mu_w nu_k y_k^T)).

    Parameters
    ----------
    task : {"sparse_svd", "biclustering", "nmf", "nmf_huber"}
        Residual loss f, penalties and feasible set of atoms (`odl.distributed.models.task`).
    gamma, delta : float
        Weights of the penalty h(y) = gamma ||y||_1 + delta/2 ||y||^2 of the codes.
    eta : float
        Parameter of the Huber loss, which is u^2/(2 eta) near 0. For a comparison with the squared
        loss, divide gamma and delta by eta and multiply mu_w by eta.
    beta : float
        Weight of the l1 penalty on the dictionary (biclustering).
    mu_w : float
        Step size of the dictionary update.
    rounds : int
        Number of passes over the first batch.
    start_terms : int
        Number of terms in an initial atom, those of a document with the largest weights. 0 stands
        for all terms.
    relative : bool
        Whether to divide the score of a document by f(x), its objective without atoms. The score of
        a document that no atom explains is then 1. If false, Huber scores increase with the length
        of a document.
    solver : {"auto", "centralised", "diffusion", "fixed_point"}
        Method of sparse coding. "centralised" computes the optimum in one process, "diffusion"
        iterates over the network, and "fixed_point" computes the fixed point of the diffusion
        directly in one process and verifies it by one iteration. "auto" is "centralised" for a
        fully connected network with equal weights, for which diffusion converges to the optimum,
        and otherwise "diffusion".
    agents : int
        Number of agents, among which consecutive atoms are divided as evenly as possible. With 0,
        each atom is an agent.
    network : {"fully_connected", "ring", "grid", "erdos_renyi"}
        Graph of the agents (`odl.distributed.networks.graph`).
    degree, probability : int, float
        Degree of a ring, and probability of an edge in an Erdos-Renyi graph.
    network_seed : int
        Seed of the Erdos-Renyi graph.
    seen_by : float
        Share of the agents that see the documents, or their number if it is above 1. With 0, only
        agent 0 sees them.
    mu : float
        Step size of the diffusion. 0 stands for 0.9/(c_f/N + n/delta) with N agents of at most n
        atoms, which is stable on every network.
    iterations : int
        Maximum number of iterations of the diffusion.
    tolerance : float
        Relative tolerance of scores: the duality gap of the optimum, or the distance of the
        diffusion from its fixed point.

    Notes
    -----
    The score is the minimum of the objective, g(nu) for the optimal nu. Over a network it is
    -sum_k J_k(nu_k), which differs by O(mu). Documents have unit l2 norm. Source: sections III and
    IV-B of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.6, 0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]])
    >>> learner = learners.make("diffusion")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes)
    >>> scores = learner.score(state, csr_array([[0.6, 0.8, 0.0, 0.0], [0.0, 0.0, 0.6, 0.8]]))
    >>> (scores.residual + scores.penalty).round(2)
    array([0.18, 1.  ])
    """

    task: str = setting("nmf", enum=models.TASKS)
    gamma: float = setting(0.05, minimum=0)
    delta: float = setting(0.1, exclusiveMinimum=0)
    eta: float = setting(0.2, exclusiveMinimum=0)
    beta: float = setting(0.0, minimum=0)
    mu_w: float = setting(1.0, exclusiveMinimum=0)
    rounds: int = setting(2, minimum=0)
    start_terms: int = setting(0, minimum=0)
    relative: bool = True
    solver: str = setting("auto", enum=("auto", "centralised", "diffusion", "fixed_point"))
    agents: int = setting(0, minimum=0)
    network: str = setting("fully_connected", enum=networks.GRAPHS)
    degree: int = setting(4, minimum=2)
    probability: float = setting(0.1, minimum=0, maximum=1)
    network_seed: int = setting(0, minimum=0)
    seen_by: float = setting(1.0, minimum=0)
    mu: float = setting(0.0, minimum=0)
    iterations: int = setting(10000, minimum=1)
    tolerance: float = setting(0.001, exclusiveMinimum=0)

    algorithm: ClassVar[str] = "diffusion"
    over_ranks: ClassVar[bool] = True
    norm: ClassVar[str] = "l2"

    @cached_property
    def model(self) -> models.Model:
        """Loss and penalties of the task."""
        return models.task(
            self.task, gamma=self.gamma, delta=self.delta, eta=self.eta, beta=self.beta
        )

    def __post_init__(self):
        super().__post_init__()
        _ = self.model  # raises ParameterError for incompatible parameters

    def agents_of(self, n_atoms: int) -> tuple[np.ndarray, networks.Network]:
        """Return the agent of each atom and the network of the agents."""
        owner = coding.owners(n_atoms, self.agents or n_atoms)
        graph_arguments = (self.network, int(owner[-1]) + 1, self.seen_by, self.network_seed)
        return owner, _network(*graph_arguments, degree=self.degree, probability=self.probability)

    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first dictionary by `rounds` passes, from documents as initial atoms."""
        state = State(self.first_atoms(P, n_atoms, rng))
        for _ in range(self.rounds):
            state = self.learn(state, P, None)
        return State(state.dictionary)

    def first_atoms(
        self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator
    ) -> sparse.csc_array:
        """Return initial atoms, which are random documents of the first batch."""
        A = draw_atoms(P, n_atoms, rng, self.start_terms, self.norm)
        if self.model.code.non_negative:
            A.data = np.maximum(A.data, 0.0)
        return A

    def score(self, state: State, P: sparse.csr_array) -> Scores:
        """Score documents by the minimum of the objective, or by its value over the network.

        The score is min_y f(x - W y) + h(y), or its value -sum_k J_k(nu_k) over a network. With
        `relative`, the score is divided by f(x).
        """
        A = widen(state.dictionary, n_rows=P.shape[1])
        owner, network = self.agents_of(A.shape[1])
        optimum = coding.centralised(P, A, self.model, tolerance=self.tolerance)
        if not self._optimal(network):
            diffused = coding.over_network(
                P,
                A,
                self.model,
                owner,
                network,
                at_fixed_point=self.at_fixed_point,
                **self.diffusion,
            )
            return self.network_scores(P, diffused.codes, diffused.score, optimum)
        scale = self.scale(P)
        score, penalty = optimum.score * scale, optimum.penalty * scale
        if self.relative:
            without_code = (np.diff(optimum.codes.indptr) == 0) & (np.diff(P.indptr) > 0)
            score[without_code] = 1.0  # f(x) / f(x) without rounding errors, so that scores tie
        # Weak duality: the objective minus its gap is at most the minimum.
        lower_bound = np.maximum(optimum.score - optimum.gap, 1e-300)
        gap = float(np.max(optimum.gap / lower_bound, initial=0.0))
        return Scores(coding=optimum.codes, residual=score - penalty, penalty=penalty, gap=gap)

    def word_loss(self, residual: np.ndarray) -> np.ndarray:
        """Return the loss f of each entry of the residual."""
        return self.model.residual.value(residual[:, None])

    def scale(self, P: sparse.csr_array) -> np.ndarray:
        """Return the factor of each document's score: 1/f(x) if scores are relative, else 1."""
        if not self.relative:
            return np.ones(P.shape[0])
        empty = coding.empty_cost(P, self.model)
        return np.where(empty > 0, 1.0 / np.where(empty > 0, empty, 1.0), 1.0)

    def network_scores(
        self, P: sparse.csr_array, codes: sparse.csr_array, score: np.ndarray, best: coding.Coded
    ) -> Scores:
        """Return the `Scores` of documents that were coded over a network.

        The attribute `gap` is the largest distance of a score to the optimum, relative to the
        optimum.

        Parameters
        ----------
        P, codes : csr_array
            Documents and their codes.
        score : ndarray
            -sum_k J_k(nu_k) of each document.
        best : odl.distributed.coding.Coded
            Optimal codes.
        """
        scale = self.scale(P)
        gap = np.abs(score - best.score) / np.maximum(best.score, 1e-300)
        penalty = coding.penalty(self.model, codes) * scale
        return Scores(
            coding=codes,
            residual=score * scale - penalty,
            penalty=penalty,
            gap=float(np.max(gap, initial=0.0)),
        )

    def learn(
        self,
        state: State,
        P: sparse.csr_array,
        X: sparse.csr_array,
        history: Sequence[sparse.csr_array] = (),
    ) -> State:
        """Return the state after updating the atoms for one document after the other."""
        A = self.fit_terms(state, P.shape[1]).dictionary
        owner, network = self.agents_of(A.shape[1])
        if self._optimal(network):
            A = coding.learn_centralised(P, A, self.model, self.mu_w, tolerance=self.tolerance)
        else:
            settings = {"at_fixed_point": self.at_fixed_point, **self.diffusion}
            A = coding.learn_over_network(P, A, self.model, self.mu_w, owner, network, **settings)
        return replace(state, dictionary=A, updates=state.updates + 1)

    def central(self, network: networks.Network) -> bool:
        """Return whether the solver needs all atoms in one process."""
        return self.at_fixed_point or self._optimal(network)

    def _optimal(self, network):
        """Return whether documents are coded at the optimum."""
        return self.solver == "centralised" or (self.solver == "auto" and network.exact)

    @property
    def at_fixed_point(self) -> bool:
        """Whether documents are coded at the fixed point of the diffusion, without iterating."""
        return self.solver == "fixed_point"

    @property
    def diffusion(self) -> dict:
        """Settings of the diffusion: mu, iterations, tolerance."""
        return {"mu": self.mu, "iterations": self.iterations, "tolerance": self.tolerance}


@lru_cache(maxsize=8)
def _network(name, n_agents, seen_by, seed, **shape):
    """Return `networks.network` from a cache."""
    return networks.network(name, n_agents, seen_by=seen_by, seed=seed, **shape)
