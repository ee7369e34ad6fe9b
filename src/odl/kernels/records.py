"""Named tuples that kernels take as arguments: trees, models, networks, atoms that may merge."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats, Singles, Integers = NDArray[np.float64], NDArray[np.float32], NDArray[np.int64]


class Layout(NamedTuple):
    """A tree of atoms, numbered in preorder.

    The group of node g consists of the nodes ``g`` to ``end[g] - 1``, which are g and its
    descendants.
    """

    end: Integers  # position after the last descendant of each node
    parent: Integers  # parent of each node, -1 for a root


class AgentModel(NamedTuple):
    """Parameters of the objective over agents (`odl.distributed.models`)."""

    gamma: float  # weight of the l1 norm of codes
    delta: float  # weight of the squared l2 norm of codes, times 1/2
    eta: float  # parameter of the Huber loss; 0: squared loss
    signed: bool  # whether codes and atoms may be negative


class NetworkIteration(NamedTuple):
    """A network of agents and the parameters of diffusion (kernel `adapt_then_combine`)."""

    owner: Integers  # agent of each atom
    starts: Integers  # the neighbours of agent k are neighbours[starts[k]:starts[k + 1]]
    neighbours: Integers  # each agent is also a neighbour of itself
    weights: Floats  # combination weights of the neighbours
    shares: Floats  # 1/|N_I| for the |N_I| agents that observe the documents, 0 for the others
    mu: float  # step size
    iterations: int  # largest number of iterations
    tolerance: float  # relative change of the dual variables at which the iteration stops; 0: never
    check: int  # iterations between two tests of the stopping rule
    spread: Floats  # tables of `fixed_point.spread`, to start at the fixed point; empty: start at 0


class Merging(NamedTuple):
    """Atoms that may merge (ward_merging.h), with S_j the sum of the documents of atom j.

    Arrays have one entry or row per atom unless their comment gives another size.
    """

    gram: Singles  # S_i^T S_j; empty if no atoms will be merged
    documents: Floats  # number of documents, reduced by forgetting
    squares: Floats  # ||S_j||^2
    inverse: Floats  # 1 / ||S_j||
    inner: Floats  # inner products with one document (work space)
    counts: Singles  # `documents` in single precision, at least 1e-12, for searches
    reciprocal: Singles  # `inverse` in single precision, for searches
    stamp: NDArray[np.int32]  # time of the last change
    recent: Integers  # atoms sorted by the time of their last change
    partner: Integers  # cheapest atoms to merge with, or a negative code if there is none
    cost: Singles  # squared costs of merging with them
    price: Singles  # smallest squared cost, or a lower bound on the smallest squared cost
    least: Singles  # smallest price of each block of atoms
    # Number of slots in use, current time, last time at which all of `gram` was up to date, time of
    # the last search.
    counters: Integers
    places: Integers  # work space
