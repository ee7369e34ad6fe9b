"""What kernels and those who call them both know: named tuples and what is in their fields, places in a state.

Nothing here needs numba, so that a caller with a library does not load it.
"""

from typing import Annotated, NamedTuple

import numpy as np

# Arrays by the kind of their entries and the number of their axes, as `odl.kernels.passing` has them.
I1, L1, L2, L3, D1, D2, D3 = (
    Annotated[np.ndarray, kind] for kind in ("i[]", "l[]", "l[,]", "l[,,]", "d[]", "d[,]", "d[,,]")
)

# Arguments of several kernels.
ROWS = "l[] u[] d[]"  # starts, indices, values of a sparse matrix, as `odl.prox.columns.parts` returns them
DOCUMENTS = "(l[] i[] d[])"
ATOMS = "(i[,] d[,] l[])"  # padded: terms, weights, how many (`odl.kernels.padded`)
MODEL = "(d d d ?)"  # gamma, delta, eta, signed
MIXING = "(l[] l[] d[])"  # over a network: starts, agents, weights
WINDOW = "(d[] l l[] l[] l[])"  # memory, longest, moment, out, into (`odl.kernels.windows`)
TREE_CODES = "Layout d d ? ? (? d l l)"  # lam, lipschitz, infinity, positive, rule (`odl.kernels.tree_codes`)

SLOTS = 12  # floats of a part of `odl.kernels.windows` before its messages
HEAD = 3  # numbers at the head of a message of `odl.kernels.rank_messages`

# Of `odl.kernels.rank_rounds`: what it needs, or that it is done.
DONE, SIGNAL, COLUMNS, ENTRIES, MESSAGES, EXCHANGE, GATHER = range(7)
# Places of its state.
PHASE, FIRST, LAST, USED, ACTIVE, AT, ROUND, HEARD, NEED, FLOATS, EXCHANGES, PLACES = range(12)


class Layout(NamedTuple):
    """A tree as the kernels want it."""

    start: L1  # first own atom of a node, and the number of atoms at the end
    end: L1  # end of a node's group
    parent: L1  # -1 for a root
    weight: D1  # w_g


class Rank(NamedTuple):
    """What a rank is told to do."""

    n_agents: int
    first: int  # number of its first agent
    own: L1  # atoms: the own agent
    rows: L1  # own agents: place among those heard
    shares: D1  # own agents: 1/|N_I| or 0
    sees: bool  # whether any of them sees x
    scale: float  # N/|N_I|
    mu: float
    w_start: L1
    w_row: L1
    w_value: D1
    told_starts: L1  # told_rows[told_starts[i]:told_starts[i + 1]]: whose psi neighbour i is told
    told_rows: L1
    their_starts: L1
    their_rows: L1


class Columns(NamedTuple):
    """Columns of the documents of a block; the first axis is the place in the block, c a column."""

    n: L1  # columns
    key: L2  # c
    order: L2  # columns by key
    first: L2  # c: where its entries begin
    length: L2  # c
    term: I1  # entries of all columns
    value: D1
    filled: L1  # [entries]
    coefficients: D3  # own agents, c: nu_k
    old: D3
    sent: D3  # agents heard, c: psi_k
    kept: L2  # atoms that may answer
    n_kept: L1
    gram: D3  # kept atoms, c
    products: D3  # c, c
    answers: D2  # kept atoms: y
    column: L2  # own agents: the column that it adds to, or -1
    reference: D2  # own agents: y'
    base: D3  # own agents, c
    known: L3  # neighbours, c: TOLD and HEARD
    told: L3  # neighbours: columns in the order in which they are told
    n_told: L2
    fresh: L2  # neighbours: how many had been told before this message
    heard: L3
    n_heard: L2
    dense: D1  # terms, 0 between calls
    where: I1  # terms, -1 between calls
