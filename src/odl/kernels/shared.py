"""What kernels and those who call them both know: the kinds of arguments that several kernels take.

Nothing here needs numba, so that a caller with a library does not load it.
"""

from typing import Annotated, NamedTuple

import numpy as np

# Arrays by the kind of their entries and the number of their axes, as `odl.kernels.passing` has them.
L1, D1 = Annotated[np.ndarray, "l[]"], Annotated[np.ndarray, "d[]"]

# Arguments of several kernels.
ROWS = "l[] u[] d[]"  # starts, indices, values of a sparse matrix, as `odl.prox.columns.parts` returns them
DOCUMENTS = "(l[] i[] d[])"
ATOMS = "(i[,] d[,] l[])"  # padded: terms, weights, how many (`odl.kernels.padded`)
MODEL = "(d d d ?)"  # gamma, delta, eta, signed
MIXING = "(l[] l[] d[])"  # over a network: starts, agents, weights
TREE_CODES = "Layout d d ? ? (? d l l)"  # lam, lipschitz, infinity, positive, rule (`odl.kernels.tree_codes`)


class Layout(NamedTuple):
    """A tree as the kernels want it."""

    start: L1  # first own atom of a node, and the number of atoms at the end
    end: L1  # end of a node's group
    parent: L1  # -1 for a root
    weight: D1  # w_g
