"""Rows that the learners take from what people pass, and the parameters that they pass with them."""

import numbers
from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from odl.errors import ParameterError


def scaled(X, norm):
    """Return documents as rows of unit norm, without stored zeros.

    Parameters
    ----------
    X : array or sparse matrix, shape (n_documents, n_features)
        Finite.
    norm : {"l1", "l2"}

    Returns
    -------
    csr_array of float64
        A copy; a document without a weight is an empty row.

    Raises
    ------
    ValueError
        If a weight is negative.
    """
    P = sparse.csr_array(X, copy=True)
    P.sum_duplicates()
    if P.nnz and P.data.min() < 0:
        raise ValueError("Negative values in data passed to NoveltyDetector: weights of terms are needed.")
    P.eliminate_zeros()
    if P.nnz and P.data.max() > 1e100:  # by the largest of the row first, so that no sum overflows
        filled = np.diff(P.indptr) > 0
        P.data /= np.repeat(np.maximum.reduceat(P.data, P.indptr[:-1][filled]), np.diff(P.indptr)[filled])
        P.eliminate_zeros()
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    sizes = np.bincount(rows, P.data if norm == "l1" else P.data**2, minlength=P.shape[0])
    P.data /= (sizes if norm == "l1" else np.sqrt(sizes))[rows]
    return P


def seed_of(random_state):
    """Return the seed that a random_state stands for: itself, or a number drawn from it.

    Parameters
    ----------
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
    """
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError as error:
        expected = "a whole number, a RandomState, a Generator or None"
        raise ParameterError(f"random_state is {random_state!r}", expected, "pass a seed") from error


def check_whole(name, value, least):
    """Refuse a parameter that is not a whole number of at least so many."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name} is {value!r}", f"a whole number of at least {least}", f"correct {name}")


@contextmanager
def named(parameters, todo):
    """Say in what the learner refuses which parameters of the detector it comes from."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"{parameters}: {error.given}", error.expected, todo or error.todo) from error
