"""Named tuples that kernels take: trees, models, iterations over a network, atoms that may merge."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats, Integers = NDArray[np.float64], NDArray[np.int64]


class Layout(NamedTuple):
    """A tree in preorder."""

    end: Integers  # end of a node's group
    parent: Integers  # -1 for a root


class AgentModel(NamedTuple):
    """Objective over agents (`odl.distributed.models`)."""

    gamma: float
    delta: float
    eta: float  # 0: the squared residual
    signed: bool  # codes and atoms may be negative


class NetworkIteration(NamedTuple):
    """Iteration over a network."""

    owner: Integers  # agent of each atom
    starts: Integers  # neighbours of agent k, itself among them, are neighbours[starts[k]:starts[k + 1]]
    neighbours: Integers
    weights: Floats  # of these
    shares: Floats  # 1/|N_I| for an agent that sees the documents, else 0
    mu: float
    iterations: int
    tolerance: float
    check: int  # iterations between two tests of the stopping rule
    spread: Floats  # two tables, from `fixed_point.spread`; empty: iterate from the start


class Merging(NamedTuple):
    """Atoms that may merge: one entry or row for each, unless another size is given; float32 for `group`."""

    gram: NDArray  # inner products of the atoms' sums; empty where nothing will be merged
    documents: NDArray  # of each atom, forgetting included
    squares: NDArray  # ||S_j||^2
    inverse: NDArray  # 1 / ||S_j||
    inner: NDArray  # with one document; work space
    stamp: Integers  # time of the last change
    recent: Integers  # atoms by the time of their change
    partner: Integers  # those that are cheapest to merge with, or why there is none
    cost: NDArray  # of merging with these, squared
    price: NDArray  # the least cost, or a lower bound of it
    least: NDArray  # least price of each block of atoms
    counters: Integers  # slots in use, time, time at which all of `gram` was right, time of the last search
    places: Integers  # work space
    work: NDArray  # atoms in order: documents and 1 over the norms; work space
