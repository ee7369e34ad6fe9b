"""Documents, atoms and settings as the compiled kernels of a network take them."""

import numpy as np
from scipy import sparse

from odl.distributed.parts import Huber
from odl.errors import ParameterError
from odl.prox.columns import real_matrix


def pack(A):
    """Return the atoms of a dictionary (CSC) as padded rows: terms, weights, and the number of entries of each."""
    count = np.diff(A.indptr).astype(np.int64)
    filled = np.arange(max(int(count.max(initial=0)), 1)) < count[:, None]
    term, weight = np.zeros(filled.shape, dtype=np.int32), np.zeros(filled.shape)
    term[filled], weight[filled] = A.indices, A.data
    return term, weight, count


def unpack(atoms, n_terms):
    """Return padded atoms as a dictionary, shape (n_terms, n_atoms), terms ascending, without zeros."""
    term, weight, count = atoms
    filled = np.arange(term.shape[1]) < count[:, None]
    starts = np.concatenate([[0], np.cumsum(count)])
    A = sparse.csc_array((weight[filled], term[filled], starts), shape=(n_terms, len(count)))
    A.sort_indices()
    A.eliminate_zeros()
    return A


def settings(model):
    """Return gamma, delta, eta (0: squared) and whether codes and atoms are signed, as the kernels take them.

    Raises
    ------
    ParameterError
        If one of codes and atoms is signed and the other not: no kernel has that combination.
    """
    if model.code.non_negative != model.columns.non_negative:
        given = f"{model.code.name} with {type(model.columns).__name__}"
        todo = "change one of the two, or use odl.distributed.inference for dense documents"
        raise ParameterError(given, "codes and atoms that are both signed or both non-negative", todo)
    eta = float(model.residual.eta) if isinstance(model.residual, Huber) else 0.0
    return float(model.code.gamma), float(model.code.delta), eta, not model.code.non_negative


def checked(P, A, model):
    """Return documents and atoms as sparse arrays of floats; refuse what does not fit together or the model."""
    P, A = real_matrix(P, "P"), real_matrix(A, "A", sparse.csc_array)
    if P.shape[1] != A.shape[0]:
        given = f"documents of {P.shape[1]} terms and atoms of {A.shape[0]}"
        raise ParameterError(given, "the same terms", "widen the dictionary by zero rows")
    if not settings(model)[3] and A.data.min(initial=0.0) < 0:
        raise ParameterError(f"an atom with the entry {A.data.min()}", "atoms of at least 0", "project the dictionary")
    return P, A
