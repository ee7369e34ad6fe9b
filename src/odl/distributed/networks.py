"""Networks of agents: graphs, combination weights, and the agents that see the data."""

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
        In a ring, each agent is connected with its `degree` nearest agents. A grid is the rectangle
        of n_agents agents that is nearest to a square. In an Erdos-Renyi graph, each pair of agents
        is connected with `probability`.
    n_agents : int
    degree : int
        Even number of neighbours in a ring.
    probability : float
    seed : int
        Seed of the Erdos-Renyi graph.

    Returns
    -------
    csr_array, shape (n_agents, n_agents)

    Raises
    ------
    ParameterError
        If the graph does not exist, or a parameter is out of range.

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
            f"the number of agents is {n_agents}", "at least one agent", "raise agents"
        )
    if name == "ring" and (degree < 2 or degree % 2):
        raise ParameterError(
            f"the degree of the ring is {degree}", "an even degree of at least 2", "correct degree"
        )
    if not 0.0 <= probability <= 1.0:
        raise ParameterError(
            f"probability is {probability!r}", "a number from 0 to 1", "correct probability"
        )
    if name == "fully_connected":
        return sparse.csr_array(np.ones((n_agents, n_agents)) - np.eye(n_agents))
    import networkx

    if name == "ring":
        # With rewiring probability 0, this is a ring lattice.
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
    """Return the name of a graph for reports and figures, with the degree of a ring."""
    return f"ring of degree {degree}" if name == "ring" else name.replace("_", " ")


WEIGHT_ROUNDING = 1e-12  # largest rounding error of a weight


@dataclass(frozen=True)
class Network:
    """Connected, undirected network of N agents with doubly stochastic weights (eqs 32 and 33).

    Parameters
    ----------
    weights : csr_array, shape (N, N)
        Weight a_lk of agent l in the combination of agent k, which is zero unless l = k or l and k
        are neighbours. The matrix is symmetric and doubly stochastic.
    seen : ndarray of bool, shape (N,)
        Mask of the agents that see the documents (N_I).

    Raises
    ------
    ParameterError
        If the weights are not doubly stochastic, the network is not connected, or no agent sees the
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
                f"weights have the shape {self.weights.shape}",
                "a square matrix with a row for each agent",
                todo,
            )
        sums = np.concatenate([np.asarray(self.weights.sum(axis=axis)).ravel() for axis in (0, 1)])
        smallest = self.weights.data.min(initial=0.0)
        if np.abs(sums - 1.0).max() > WEIGHT_ROUNDING * n_agents or smallest < -WEIGHT_ROUNDING:
            defect = f"sums of rows and columns are between {sums.min():.6g} and {sums.max():.6g}"
            if smallest < 0:
                defect = f"the smallest weight is {smallest:.6g}"
            raise ParameterError(defect, "doubly stochastic weights of at least 0", todo)
        parts = connected_components(self.weights, directed=False)[0]
        if parts > 1:
            raise ParameterError(
                f"the network has {parts} components",
                "a connected network",
                "raise degree or probability, or change the seed",
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
        """Weight of the data term of each agent: 1/|N_I| if it sees the data, else 0."""
        return self.seen / self.seen.sum()

    @property
    def neighbours(self) -> np.ndarray:
        """Number of neighbours of each agent."""
        return np.diff(self.weights.indptr) - (self.weights.diagonal() != 0)

    @property
    def exact(self) -> bool:
        """Whether all pairs of agents have equal weights, so that dual variables are equal."""
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
        Symmetric adjacency matrix with an empty diagonal.

    Returns
    -------
    csr_array
        Symmetric, doubly stochastic matrix.

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
    """Return a network with Metropolis weights (`metropolis`).

    Parameters
    ----------
    name, n_agents
        As in `graph`.
    seen_by : float
        Share of the agents that see the documents, or their number if it is above 1. They are
        spread evenly over all agents. With 0, only agent 0 sees the documents.
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
    """Return the mask of agents that see the documents, with `seen_by` as in `network`.

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
            f"seen_by is {seen_by!r} with {n_agents} agents",
            f"a share from 0 to 1 or an integer up to {n_agents}",
            "correct seen_by",
        )
    count = max(1, int(seen_by) if seen_by > 1.0 else round(seen_by * n_agents))
    seen = np.zeros(n_agents, dtype=bool)
    seen[np.arange(count) * n_agents // count] = True
    return seen
