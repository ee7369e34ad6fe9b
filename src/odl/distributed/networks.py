"""Networks of agents: graphs by name or from a list of links, combination weights, which agents see the data."""

import csv
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from odl.errors import DataError, ParameterError

GRAPHS = ("fully_connected", "ring", "grid", "erdos_renyi", "geometric")


def graph(
    name: str, n_agents: int, *, degree: int = 4, probability: float = 0.1, radius: float = 0.2, seed: int = 0
) -> sparse.csr_array:
    """Return the adjacency of a graph by name.

    Parameters
    ----------
    name : {"fully_connected", "ring", "grid", "erdos_renyi", "geometric"}
        ring: each agent and its `degree` nearest (even); grid: the rectangle nearest to a square with that many
        agents; erdos_renyi: each link with `probability`; geometric: agents at random points of the unit square,
        linked when nearer than `radius`.
    n_agents : int
    seed : int
        Of the two random graphs.

    Returns
    -------
    csr_array, shape (n_agents, n_agents)

    Raises
    ------
    ParameterError
        If the graph is not known or its settings are out of range.

    Examples
    --------
    >>> from odl.distributed import networks
    >>> networks.graph("ring", 5, degree=2).toarray().astype(int)[0]
    array([0, 1, 0, 0, 1])
    """
    if name not in GRAPHS:
        raise ParameterError(f"the network {name!r}", f"one of {', '.join(GRAPHS)}", "choose one of these")
    if n_agents < 1:
        raise ParameterError(f"{n_agents} agents", "at least one", "raise the number of agents")
    if name == "ring" and (degree < 2 or degree % 2):
        raise ParameterError(f"a ring of degree {degree}", "an even degree of at least 2", "correct degree")
    if not 0.0 <= probability <= 1.0 or not radius >= 0.0:
        defect = f"probability={probability!r}, radius={radius!r}"
        raise ParameterError(defect, "a probability from 0 to 1 and a radius of at least 0", "correct them")
    if name == "fully_connected":
        return sparse.csr_array(np.ones((n_agents, n_agents)) - np.eye(n_agents))
    import networkx

    if name == "ring":
        made = networkx.watts_strogatz_graph(n_agents, min(degree, n_agents), 0.0)  # a lattice: nothing is drawn
    elif name == "grid":
        height = max(size for size in range(1, int(n_agents**0.5) + 1) if n_agents % size == 0)
        made = networkx.grid_2d_graph(height, n_agents // height)
    elif name == "erdos_renyi":
        made = networkx.gnp_random_graph(n_agents, probability, seed=seed)
    else:
        made = networkx.random_geometric_graph(n_agents, radius, seed=seed)
    return sparse.csr_array(networkx.to_scipy_sparse_array(made, nodelist=sorted(made), dtype=float, format="csr"))


def read_edges(path: str | os.PathLike, n_agents: int | None = None) -> sparse.csr_array:
    """Read an edge list: two columns of agent numbers from 0, separated by tabs or commas, one link a line.

    Parameters
    ----------
    path : path-like
        Empty lines and lines that begin with # are skipped.
    n_agents : int, optional
        Number of agents; default: the largest number in the file plus one.

    Returns
    -------
    csr_array
        Adjacency.

    Raises
    ------
    DataError
        If the file cannot be read, or a line is not a link between two agents, naming the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from odl.distributed import networks
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "edges.csv")
    >>> _ = path.write_text("0,1")
    >>> networks.read_edges(path).toarray().astype(int)
    array([[0, 1],
           [0, 0]])
    """
    links = []
    todo = "write lines such as 0<tab>1"
    try:
        with open(path, newline="", encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip() or line.lstrip().startswith("#"):
                    continue
                cells = next(csv.reader([line.strip()], delimiter="\t" if "\t" in line else ","))
                if len(cells) != 2 or not all(cell.strip().isdecimal() and len(cell) < 19 for cell in cells):
                    raise DataError(f"{path}, line {number}: {line.strip()!r}", "two agent numbers from 0", todo)
                links.append([int(cell) for cell in cells])
                if n_agents is not None and max(links[-1]) >= n_agents:
                    defect = f"{path}, line {number}: agent {max(links[-1])}"
                    raise DataError(defect, f"numbers from 0 to {n_agents - 1}", "correct the line or the agents")
    except (OSError, UnicodeDecodeError, csv.Error, StopIteration) as error:
        raise DataError(f"{path} cannot be read ({error})", "a text file of links", todo) from error
    if not links:
        raise DataError(f"{path} holds no link", "at least one", todo)
    ends = np.array(links)
    size = int(ends.max()) + 1 if n_agents is None else n_agents
    if size > 100_000:
        raise DataError(f"{path} names agent {int(ends.max())}", "fewer than 100000 agents", "number them from 0 up")
    pattern = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size))
    return sparse.csr_array(pattern)


def shown(name: str, *, degree: int = 4) -> str:
    """Return what a page or picture calls a graph; a ring says how many neighbours an agent has."""
    return f"ring of degree {degree}" if name == "ring" else name.replace("_", " ")


WEIGHTS = ("metropolis", "uniform")
ROUNDING = 1e-12


@dataclass(frozen=True)
class Network:
    """A connected, undirected network of N agents with doubly stochastic weights (eqs 32 and 33).

    Parameters
    ----------
    weights : csr_array, shape (N, N)
        a_lk, the weight agent k gives to what agent l sends; zero unless l = k or l and k are neighbours.
        Symmetric, rows and columns sum to one.
    seen : ndarray of bool, shape (N,)
        Agents that see the documents (N_I).

    Raises
    ------
    ParameterError
        If the weights are not doubly stochastic, the network not connected or nobody sees the data.

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
        n_agents = self.weights.shape[0]
        todo = "choose other weights or another graph"
        if self.weights.shape != (n_agents, n_agents) or n_agents < 1:
            raise ParameterError(f"weights of shape {self.weights.shape}", "one row and column for an agent", todo)
        sums = np.concatenate([np.asarray(self.weights.sum(axis=axis)).ravel() for axis in (0, 1)])
        if np.abs(sums - 1.0).max() > ROUNDING * n_agents or self.weights.data.min(initial=0.0) < -ROUNDING:
            defect = f"weights whose rows and columns sum to between {sums.min():.6g} and {sums.max():.6g}"
            if self.weights.data.min(initial=0.0) < 0:
                defect = f"a weight of {self.weights.data.min():.6g}"
            raise ParameterError(defect, "doubly stochastic weights of at least 0", todo)
        parts = connected_components(self.weights, directed=False)[0]
        if parts > 1:
            todo = "add links: more degree, probability or radius, or another seed"
            raise ParameterError(f"a network in {parts} parts", "a connected one", todo)
        if self.seen.shape != (n_agents,) or not self.seen.any():
            defect = f"{int(np.sum(self.seen))} of {n_agents} agents see the data"
            raise ParameterError(defect, "at least one", "raise seen_by")

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
        """Whether all agents always hold the same dual variable: everyone hears everyone with equal weight."""
        dense = self.weights.nnz == self.n_agents**2
        return bool(dense and np.abs(self.weights.data - 1.0 / self.n_agents).max() <= ROUNDING)


def metropolis(adjacency: sparse.sparray) -> sparse.csr_array:
    """Return a_lk = 1/max(n_l, n_k) for neighbours (n counts the agent itself), the rest to a_kk.

    Parameters
    ----------
    adjacency : sparse array, shape (N, N)
        Symmetric pattern; the diagonal is not looked at.

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
    links = _links(adjacency)
    sizes = np.diff(links.indptr) + 1
    rows = np.repeat(np.arange(links.shape[0]), np.diff(links.indptr))
    links.data = 1.0 / np.maximum(sizes[rows], sizes[links.indices])
    own = 1.0 - np.asarray(links.sum(axis=1)).ravel()
    own[np.abs(own) < ROUNDING] = 0.0
    return _sorted(links + sparse.diags_array(own, format="csr"))


def uniform(adjacency: sparse.sparray) -> sparse.csr_array:
    """Return a_lk = 1/n_k for k and its neighbours: doubly stochastic only if all have equally many.

    `Network` refuses it where they do not.

    Examples
    --------
    >>> from odl.distributed import networks
    >>> networks.uniform(networks.graph("ring", 4, degree=2)).toarray().round(2)[0]
    array([0.33, 0.33, 0.  , 0.33])
    """
    links = _links(adjacency)
    links = sparse.csr_array(links + sparse.eye_array(links.shape[0], format="csr"))
    return _sorted(sparse.csr_array(links @ sparse.diags_array(1.0 / np.diff(links.indptr))))


def _links(adjacency):
    """Return the pattern as a symmetric CSR array of ones with an empty diagonal."""
    links = sparse.csr_array(adjacency, dtype=float)
    links = sparse.csr_array(links + links.T - sparse.diags_array(links.diagonal() * 2.0))
    links.eliminate_zeros()
    links.data[:] = 1.0
    return _sorted(links)


def _sorted(matrix):
    matrix = sparse.csr_array(matrix)
    matrix.sort_indices()
    return matrix


def network(
    name: str,
    n_agents: int,
    *,
    weights: str = "metropolis",
    seen_by: float = 1.0,
    edges: str | os.PathLike | None = None,
    seed: int = 0,
    **settings: Any,
) -> Network:
    """Return the network of a study.

    Parameters
    ----------
    name : str
        As in `odl.distributed.networks.graph`, or "edges".
    weights : {"metropolis", "uniform"}
        The combination rule. On a fully connected graph both are 1/N.
    seen_by : float
        Agents that see the documents: a share up to 1, or a whole number of them above 1. They are spread evenly
        over the numbers of the agents; with 0 only agent 0 sees them.
    edges : path-like, optional
        The edge list for "edges".
    seed, settings
        As in `graph`.

    Returns
    -------
    Network

    Raises
    ------
    ParameterError, DataError
        As in `graph`, `read_edges` and `Network`.

    Examples
    --------
    >>> from odl.distributed import networks
    >>> networks.network("fully_connected", 4, seen_by=2).seen
    array([ True, False,  True, False])
    """
    if weights not in WEIGHTS:
        raise ParameterError(f"the weights {weights!r}", f"one of {', '.join(WEIGHTS)}", "choose one of these")
    if name == "edges":
        if not edges:
            raise ParameterError("network 'edges' without a file", "the path of an edge list", "set edges")
        adjacency = read_edges(edges, n_agents)
    else:
        adjacency = graph(name, n_agents, seed=seed, **settings)
    rule = metropolis if weights == "metropolis" else uniform
    return Network(rule(adjacency), observers(n_agents, seen_by))


def observers(n_agents: int, seen_by: float) -> np.ndarray:
    """Return which agents see the data, as `network` describes `seen_by`.

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
        expected = f"a share from 0 to 1 or a whole number up to {n_agents}"
        raise ParameterError(f"seen_by={seen_by!r} for {n_agents} agents", expected, "correct seen_by")
    count = max(1, int(seen_by) if seen_by > 1.0 else round(seen_by * n_agents))
    seen = np.zeros(n_agents, dtype=bool)
    seen[np.arange(count) * n_agents // count] = True
    return seen
