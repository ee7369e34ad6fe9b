"""Graphs that agents are placed on: made by name, or read from a list of links."""

import csv
import os

import numpy as np
from scipy import sparse

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
    >>> from odl.distributed import graphs
    >>> graphs.graph("ring", 5, degree=2).toarray().astype(int)[0]
    array([0, 1, 0, 0, 1])
    """
    if name not in GRAPHS:
        raise ParameterError(f"the network {name!r}", f"one of {', '.join(GRAPHS)}", "choose one of these")
    if n_agents < 1:
        raise ParameterError(f"{n_agents} agents", "at least one", "raise the number of agents")
    if name == "ring" and (degree < 2 or degree % 2):
        raise ParameterError(f"a ring of degree {degree}", "an even degree of at least 2", "correct degree")
    if not 0.0 <= probability <= 1.0 or not radius >= 0.0:
        given = f"probability={probability!r}, radius={radius!r}"
        raise ParameterError(given, "a probability from 0 to 1 and a radius of at least 0", "correct them")
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
    >>> from odl.distributed import graphs
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "edges.csv")
    >>> _ = path.write_text("0,1")
    >>> graphs.read_edges(path).toarray().astype(int)
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
                    given = f"{path}, line {number}: agent {max(links[-1])}"
                    raise DataError(given, f"numbers from 0 to {n_agents - 1}", "correct the line or the agents")
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
