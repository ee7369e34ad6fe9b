"""Networks of agents: graphs by name, combination weights, which agents see the data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from odl.errors import ParameterError

GRAPHS = ("fully_connected", "ring", "grid", "erdos_renyi")


def graph(
    name: str, n_agents: int, *, degree: int = 4, probability: float = 0.1, seed: int = 0
) -> sparse.csr_array:
    """Return the adjacency matrix of a graph by name.

    Parameters
    ----------
    name : {"fully_connected", "ring", "grid", "erdos_renyi"}
        ring: each agent is connected with its `degree` (even) nearest agents. grid: the rectangle
        of n_agents agents that is nearest to a square. erdos_renyi: each link exists with
        `probability`.
    n_agents : int
    seed : int
        Seed of the random graph.

    Returns
    -------
    csr_array, shape (n_agents, n_agents)

    Raises
    ------
    ParameterError
        If no graph has this name, or its settings are out of range.

    Examples
    --------
    >>> from odl.distributed import networks
    >>> networks.graph("ring", 5, degree=2).toarray().astype(int)[0]
    array([0, 1, 0, 0, 1])
    """
    if name not in GRAPHS:
        raise ParameterError(
            f"the network {name!r} does not exist",
            f"one of {', '.join(GRAPHS)}",
            "correct the name of the network",
        )
    if n_agents < 1:
        raise ParameterError(
            f"{n_agents} agents", "at least one agent", "raise the number of agents"
        )
    if name == "ring" and (degree < 2 or degree % 2):
        raise ParameterError(
            f"a ring of degree {degree}", "an even degree of at least 2", "correct degree"
        )
    if not 0.0 <= probability <= 1.0:
        raise ParameterError(
            f"probability={probability!r}", "a number from 0 to 1", "correct probability"
        )
    if name == "fully_connected":
        return sparse.csr_array(np.ones((n_agents, n_agents)) - np.eye(n_agents))
    import networkx

    if name == "ring":
        # Without random links (probability 0), the graph is a ring lattice.
        links = networkx.watts_strogatz_graph(n_agents, min(degree, n_agents), 0.0)
    elif name == "grid":
        height = max(size for size in range(1, int(n_agents**0.5) + 1) if n_agents % size == 0)
        links = networkx.grid_2d_graph(height, n_agents // height)
    else:
        links = networkx.gnp_random_graph(n_agents, probability, seed=seed)
    return sparse.csr_array(
        networkx.to_scipy_sparse_array(links, nodelist=sorted(links), dtype=float, format="csr")
    )


def shown(name: str, *, degree: int = 4) -> str:
    """Return the name of a graph for reports and figures; for a ring with its degree."""
    return f"ring of degree {degree}" if name == "ring" else name.replace("_", " ")


WEIGHT_ROUNDING = 1e-12  # largest rounding error of a weight


@dataclass(frozen=True)
class Network:
    """A connected, undirected network of N agents with doubly stochastic weights (eqs 32 and 33).

    Parameters
    ----------
    weights : csr_array, shape (N, N)
        a_lk, the weight of agent l in the combination of agent k; zero unless l = k or l and k are
        neighbours. Symmetric, rows and columns sum to one.
    seen : ndarray of bool, shape (N,)
        Agents that see the documents (N_I).

    Raises
    ------
    ParameterError
        If the weights are not doubly stochastic, the network is not connected or no agent sees the
        data.

    Examples
    --------
    >>> from odl.distributed import networks
    >>> ring = networks.network("ring", 6, degree=2)
    >>> ring.n_agents, ring.neighbours, ring.weights.toarray()[0].round(2)
    (6, array([2, 2, 2, 2, 2, 2]), array([0.33, 0.33, 0.  , 0.  , 0.  , 0.33]))
    """

    weights: sparse.csr_array
    seen: np.ndarray

    def __post_init__(self):
        """Raise ParameterError unless the weights are those of a connected network of agents."""
        n_agents = self.weights.shape[0]
        todo = "choose other weights or another graph"
        if self.weights.shape != (n_agents, n_agents) or n_agents < 1:
            raise ParameterError(
                f"weights of shape {self.weights.shape}",
                "a square matrix with a row for each agent",
                todo,
            )
        sums = np.concatenate([np.asarray(self.weights.sum(axis=axis)).ravel() for axis in (0, 1)])
        if (
            np.abs(sums - 1.0).max() > WEIGHT_ROUNDING * n_agents
            or self.weights.data.min(initial=0.0) < -WEIGHT_ROUNDING
        ):
            defect = (
                "weights whose rows and columns sum to between "
                f"{sums.min():.6g} and {sums.max():.6g}"
            )
            if self.weights.data.min(initial=0.0) < 0:
                defect = f"a weight of {self.weights.data.min():.6g}"
            raise ParameterError(defect, "doubly stochastic weights of at least 0", todo)
        parts = connected_components(self.weights, directed=False)[0]
        if parts > 1:
            raise ParameterError(
                f"a network in {parts} parts",
                "a connected network",
                "add links: more degree or probability, or another seed",
            )
        if self.seen.shape != (n_agents,) or not self.seen.any():
            raise ParameterError(
                f"{int(np.sum(self.seen))} of {n_agents} agents see the data",
                "at least one agent",
                "raise seen_by",
            )

    @property
    def n_agents(self) -> int:
        """Number of agents."""
        return self.weights.shape[0]

    @property
    def shares(self) -> np.ndarray:
        """1/|N_I| for agents that see the data, 0 for the others."""
        return self.seen / self.seen.sum()

    @property
    def neighbours(self) -> np.ndarray:
        """Number of other agents that each agent sends to."""
        return np.diff(self.weights.indptr) - (self.weights.diagonal() != 0)

    @property
    def exact(self) -> bool:
        """Whether all agents are connected with equal weight, so have the same dual variable."""
        dense = self.weights.nnz == self.n_agents**2
        return bool(
            dense and np.abs(self.weights.data - 1.0 / self.n_agents).max() <= WEIGHT_ROUNDING
        )


def metropolis(adjacency: sparse.sparray) -> sparse.csr_array:
    """Return Metropolis weights of a graph.

    The weights are a_lk = 1/max(n_l, n_k) for neighbours l and k, and a_kk = 1 - sum_{l != k} a_lk,
    where n_k is the number of neighbours of agent k, including k.

    Parameters
    ----------
    adjacency : sparse array, shape (N, N)
        Symmetric pattern with an empty diagonal.

    Returns
    -------
    csr_array
        Symmetric and doubly stochastic for every undirected graph.

    Examples
    --------
    >>> from odl.distributed import networks
    >>> networks.metropolis(networks.graph("grid", 4)).toarray().round(2)
    array([[0.33, 0.33, 0.33, 0.  ],
           [0.33, 0.33, 0.  , 0.33],
           [0.33, 0.  , 0.33, 0.33],
           [0.  , 0.33, 0.33, 0.33]])
    """
    links = sparse.csr_array(adjacency, dtype=float, copy=True).sorted_indices()
    sizes = np.diff(links.indptr) + 1
    rows = np.repeat(np.arange(links.shape[0]), np.diff(links.indptr))
    links.data = 1.0 / np.maximum(sizes[rows], sizes[links.indices])
    diagonal = 1.0 - np.asarray(links.sum(axis=1)).ravel()
    diagonal[np.abs(diagonal) < WEIGHT_ROUNDING] = 0.0
    return sparse.csr_array(links + sparse.diags_array(diagonal, format="csr")).sorted_indices()


def network(
    name: str, n_agents: int, *, seen_by: float = 1.0, seed: int = 0, **settings: Any
) -> Network:
    """Return a network with the weights of `metropolis`, which are 1/N if it is fully connected.

    Parameters
    ----------
    name : str
        As in `graph`.
    seen_by : float
        Agents that see the documents: a share up to 1, or an integer above 1. They are spread
        evenly over all agents; with 0 only agent 0 sees the documents.
    seed, settings
        As in `graph`.

    Returns
    -------
    Network

    Raises
    ------
    ParameterError
        As in `graph` and `Network`.

    Examples
    --------
    >>> from odl.distributed import networks
    >>> networks.network("fully_connected", 4, seen_by=2).seen
    array([ True, False,  True, False])
    """
    return Network(
        metropolis(graph(name, n_agents, seed=seed, **settings)), observers(n_agents, seen_by)
    )


def observers(n_agents: int, seen_by: float) -> np.ndarray:
    """Return the mask of agents that see the documents.

    `network` documents the argument `seen_by`.

    Returns
    -------
    ndarray of bool, shape (n_agents,)

    Examples
    --------
    >>> from odl.distributed import networks
    >>> networks.observers(4, 0.5)
    array([ True, False,  True, False])
    """
    if not 0.0 <= seen_by <= n_agents or (seen_by > 1.0 and seen_by != int(seen_by)):
        raise ParameterError(
            f"seen_by={seen_by!r} for {n_agents} agents",
            f"a share from 0 to 1 or an integer up to {n_agents}",
            "correct seen_by",
        )
    count = max(1, int(seen_by) if seen_by > 1.0 else round(seen_by * n_agents))
    seen = np.zeros(n_agents, dtype=bool)
    seen[np.arange(count) * n_agents // count] = True
    return seen
