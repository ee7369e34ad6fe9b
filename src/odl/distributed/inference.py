"""Inference over a network: diffusion of dual variables, and codes from dual variables.

An `AgentShare` contains the agents that one process owns, with their atoms. An iteration consists
of the steps *adapt* (of each agent), *exchange* (of dual variables between neighbours) and
*combine*. If one process owns all agents, the exchange is the identity. Otherwise it sends messages
between processes (`odl.distributed.messages`).

Dual variables are dense here, with one row per agent. `odl.distributed.coding` has faster versions
for sparse documents, which are tested against this module. Source: Chen, Towfic and Sayed 2014,
equations 31, 37 and 42.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odl.distributed.models import Model
from odl.distributed.networks import Network
from odl.errors import ParameterError

CHECK_INTERVAL = 10  # number of iterations between two checks of the stopping rule


class Inference(NamedTuple):
    """Dual variables and codes of one document.

    Attributes
    ----------
    nu : ndarray, shape (own agents, terms)
        Dual variables of the own agents, those that this process owns.
    codes : list of ndarray
        Codes y_k of the own agents.
    costs : ndarray
        Costs J_k(nu_k) of the own agents. The novelty score of the document is minus the sum of the
        costs of all agents.
    iterations : int
        Number of exchanges between neighbours.
    floats : ndarray
        Number of floats that each own agent sent.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed import inference, models, networks
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> network = networks.network("ring", 3, degree=2)
    >>> share = inference.share_all(model, network, [np.eye(3)[:, [agent]] for agent in range(3)])
    >>> inferred = inference.diffuse(share, np.array([0.6, 0.8, 0.0]))
    >>> inferred.nu.shape, len(inferred.codes)
    ((3, 3), 3)
    """

    nu: np.ndarray
    codes: list
    costs: np.ndarray
    iterations: int
    floats: np.ndarray


@dataclass(frozen=True)
class AgentShare:
    """The agents of a network that one process owns.

    Parameters
    ----------
    model : Model
    network : Network
        The network of all agents.
    agents : ndarray of int
        Agents that this process owns ("own agents"), ascending.
    blocks : list of ndarray, shape (terms, atoms of the agent)
        W_k of the own agents. Their numbers of atoms may differ.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed import inference, models, networks
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> network = networks.network("ring", 3, degree=2)
    >>> share = inference.share_all(model, network, [np.eye(3)[:, [agent]] for agent in range(3)])
    >>> share.senders, share.shares.round(2)
    (array([0, 1, 2]), array([0.33, 0.33, 0.33]))
    """

    model: Model
    network: Network
    agents: np.ndarray
    blocks: list

    def __post_init__(self):
        """Raise ParameterError unless the agents are in the network and each has a block."""
        n_agents = self.network.n_agents
        if len(self.agents) != len(self.blocks) or np.any(np.diff(self.agents) <= 0):
            raise ParameterError(
                f"agents are {self.agents} with {len(self.blocks)} blocks of atoms",
                "ascending agents with one block each",
                "pass a block for each agent",
            )
        if len(self.agents) and not 0 <= self.agents[0] <= self.agents[-1] < n_agents:
            raise ParameterError(
                f"agents up to {self.agents[-1]}",
                f"agents from 0 to {n_agents - 1}",
                "pass agents of the network",
            )

    @cached_property
    def senders(self) -> np.ndarray:
        """Agents whose dual variables the own agents combine, with the own agents, ascending."""
        return np.unique(self._network_weights.indices)

    @cached_property
    def _network_weights(self):
        """Combination weights a_lk as csr_array, with own agents k in rows and all agents l."""
        return sparse.csr_array(self.network.weights[self.agents])

    @cached_property
    def _sender_weights(self):
        """Combination weights a_lk as csr_array, with own agents k in rows and `senders` l.

        Column i is that of agent ``senders[i]``.
        """
        weights = self._network_weights
        columns = np.searchsorted(self.senders, weights.indices)
        return sparse.csr_array(
            (weights.data, columns, weights.indptr), shape=(len(self.agents), len(self.senders))
        )

    @cached_property
    def shares(self) -> np.ndarray:
        """Weight of the data term of each own agent: 1/|N_I| if it sees the data, else 0."""
        return self.network.shares[self.agents]

    @cached_property
    def norms(self) -> np.ndarray:
        """||W_k||_2^2 of the own agents."""
        return np.array(
            [np.linalg.norm(block, 2) ** 2 if block.size else 0.0 for block in self.blocks]
        )

    def start(self, x: np.ndarray) -> np.ndarray:
        """Return the initial dual variables, shape (own agents, terms).

        For agents that see x, the initial value is argmin_nu f*(nu) - nu^T x, the optimum if all
        codes are zero. For other agents it is 0. No communication is needed.
        """
        residual = self.model.residual
        optimum = residual.project(np.asarray(x) / residual.curvature)
        return np.where((self.shares > 0)[:, None], optimum, 0.0)

    def gradients(self, nu: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the gradient of J_k at nu_k for each own agent k."""
        n_agents = self.network.n_agents
        rows = [
            self.model.gradient(x, block, row, n_agents, share)
            for block, row, share in zip(self.blocks, nu, self.shares, strict=True)
        ]
        return np.array(rows).reshape(nu.shape)

    def adapt(self, nu: np.ndarray, x: np.ndarray, step: float) -> np.ndarray:
        """Return psi_k = nu_k - step grad J_k(nu_k) for each own agent k (eq. 31a).

        Equation `adapt-then-combine` of docs/method.md.
        """
        return nu - step * self.gradients(nu, x)

    def moves(
        self, nu: np.ndarray, x: np.ndarray, step: float, exchange: Callable = np.asarray
    ) -> Iterator:
        """Yield (nu before, nu after) of infinitely many adapt-then-combine iterations."""
        while True:
            before, nu = nu, self.combine(exchange(self.adapt(nu, x, step)))
            yield before, nu

    def combine(self, psi: np.ndarray) -> np.ndarray:
        """Return nu_k = Proj(sum_l a_lk psi_l) (eqs 31b, 37b).

        Equation `adapt-then-combine` of docs/method.md.

        Parameters
        ----------
        psi : ndarray, shape (len(senders), terms)
            Values of the agents `senders`, in their order. The order of summation therefore does
            not depend on the division of agents among processes.
        """
        return self.model.residual.project(self._sender_weights @ psi)

    def finish(self, nu: np.ndarray, x: np.ndarray, iterations: int) -> Inference:
        """Return the `Inference` after the last iteration, with codes y_k = T(W_k^T nu_k)."""
        codes = [self.model.codes(block, row) for block, row in zip(self.blocks, nu, strict=True)]
        costs = [
            self.model.cost(x, block, row, self.network.n_agents, share)
            for block, row, share in zip(self.blocks, nu, self.shares, strict=True)
        ]
        floats = self.network.neighbours[self.agents].astype(np.int64) * iterations * len(x)
        return Inference(nu, codes, np.array(costs), iterations, floats)


def share_all(model: Model, network: Network, blocks: Sequence[np.ndarray]) -> AgentShare:
    """Return the share of a process that owns every agent.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed import inference, models, networks
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> network = networks.network("ring", 3, degree=2)
    >>> share = inference.share_all(model, network, [np.eye(3)[:, [agent]] for agent in range(3)])
    >>> share.agents, share.norms
    (array([0, 1, 2]), array([1., 1., 1.]))
    """
    return AgentShare(model, network, np.arange(network.n_agents), list(blocks))


def diffuse(
    share: AgentShare,
    x: np.ndarray,
    *,
    step: float | None = None,
    iterations: int = 10_000,
    tolerance: float = 1e-6,
    exchange: Callable[[np.ndarray], np.ndarray] = np.asarray,
    gather: Callable[[np.ndarray], np.ndarray] = np.asarray,
    record: Callable[[int, np.ndarray], Any] | None = None,
) -> Inference:
    """Maximise the dual by adapt-then-combine diffusion (eqs 31 and 37).

    Equation `adapt-then-combine` of docs/method.md.

    Parameters
    ----------
    share : AgentShare
    x : ndarray, shape (terms,)
        Document, which only the agents that see it use.
    step : float, optional
        Step size mu. By default 0.9 of `Model.largest_step`, which is stable for every network.
    iterations : int
        Maximum number of iterations.
    tolerance : float
        The iterations stop when the dual variables of all agents change by at most ``tolerance *
        (mu c_f/N) * ||nu||``. An iteration contracts distances by 1 - mu c_f/N or more, so the
        distance to the fixed point, relative to the norm of the dual variables, is then about
        `tolerance` or less. With 0, the iterations do not stop early.
    exchange : callable
        Maps the values psi of the own agents to those of the agents `share.senders`.
    gather : callable
        Maps one number per own agent to the numbers of all agents, in order. It is used for the
        default step size and for the stopping rule.
    record : callable, optional
        Called with (iteration, nu) after each iteration.

    Returns
    -------
    Inference
        The fixed point is within O(mu) of the optimum. It is the optimum if all agents are
        connected with equal weight.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed import inference, models, networks
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> network = networks.network("ring", 3, degree=2)
    >>> share = inference.share_all(model, network, [np.eye(3)[:, [agent]] for agent in range(3)])
    >>> inferred = inference.diffuse(share, np.array([0.6, 0.8, 0.0]))
    >>> score = -float(inferred.costs.sum())
    >>> np.concatenate(inferred.codes).round(2), round(score, 3)
    (array([0.5 , 0.68, 0.  ]), 0.107)
    """
    network, curvature = share.network, share.model.residual.curvature
    if step is None:
        step = 0.9 * share.model.largest_step(gather(share.norms), network.n_agents)
    if not step > 0:
        raise ParameterError(
            f"step is {step!r}", "a step size above 0", "raise step or omit it for the default"
        )
    limit = tolerance * step * curvature / network.n_agents
    start, used = share.start(x), 0
    nu, moves = start, share.moves(start, x, step, exchange)
    for used, (old, nu) in enumerate(islice(moves, iterations), 1):
        if record:
            record(used, nu)
        if used % CHECK_INTERVAL == 0 and tolerance > 0:
            moved = gather(np.sum((nu - old) ** 2, axis=1)).sum()
            if moved <= limit**2 * gather(np.sum(nu**2, axis=1)).sum():
                break
    return share.finish(nu, x, used)
