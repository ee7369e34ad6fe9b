"""Documents and atoms by inverted lists: likeness and codes of documents, atoms put together again.

Nothing but one table of numbers has the size of the vocabulary. Documents may be parted among threads, which changes
no bit: each is compared by itself.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.errors import ParameterError
from odl.kernels import native

kernels = native.Kernels("inverted")
rowkernels = native.Kernels("rows")
SWEEPS = 30  # of coordinate descent over a handful of atoms


class Rows(NamedTuple):
    """Documents or atoms in compressed form, with numbers for terms."""

    starts: np.ndarray
    terms: np.ndarray
    weights: np.ndarray


class Lists(NamedTuple):
    """For term i the rows that have it, and their weights: places ``offsets[i]`` to ``offsets[i + 1]``."""

    offsets: np.ndarray
    rows: np.ndarray
    values: np.ndarray


NOTHING = Lists(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint32), np.empty(0))


def with_terms(lists, n_terms):
    """Return lists of more terms, empty ones at the end."""
    more = np.full(n_terms + 1 - len(lists.offsets), lists.offsets[-1])
    return lists._replace(offsets=np.concatenate([lists.offsets, more]))


class Numbers:
    """Numbers of terms, in the order in which they are first asked for.

    Parameters
    ----------
    n_terms : int
    """

    def __init__(self, n_terms):
        self.place, self.known, self.count = np.zeros(n_terms, dtype=np.int32), np.empty(0, dtype=np.int32), 0

    def rows(self, matrix):
        """Return the rows of a CSR matrix, or the columns of a CSC matrix, with numbers for terms."""
        starts, terms, weights = _parts(matrix)
        known = np.empty(min(self.count + len(terms), len(self.place)), dtype=np.int32)
        known[: self.count] = self.known[: self.count]
        local = np.empty(len(terms), dtype=np.uint32)
        self.count, self.known = kernels.number(terms, self.place, known, self.count, local), known
        return Rows(starts, local, weights)

    def known_rows(self, matrix, share):
        """Return the rows of a CSR matrix; terms without a number have that of the next one."""
        starts, terms, weights = _parts(matrix)
        local = np.empty(len(terms), dtype=np.uint32)
        share(lambda first, last, _: kernels.find(first, last, terms, self.place, self.count, local), len(terms))
        return Rows(starts, local, weights)


class Threads:
    """Threads that share out the rows of a matrix; what each writes must not depend on how many there are.

    Parameters
    ----------
    count : int
    """

    def __init__(self, count=1):
        self.count, self.pool = count, ThreadPoolExecutor(count) if count > 1 else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pool:
            self.pool.shutdown()

    def __call__(self, call, size, cuts=None):
        """Call with the first and last of consecutive parts of `size` rows and the number of the thread."""
        cuts = cuts or np.linspace(0, size, self.count + 1).astype(int).tolist()
        parts = zip(cuts[:-1], cuts[1:], range(self.count), strict=True)
        if self.pool:
            parts = list(parts)
            list(self.pool.map(call, *zip(*parts, strict=True)))
        else:
            call(*next(parts))


def n_threads():
    """Return how many threads score and learn documents: ``ODL_THREADS``, or 1.

    Raises
    ------
    ParameterError
        If it is no whole number from 1 to 1024.
    """
    given = os.environ.get("ODL_THREADS") or "1"
    if not (given.isascii() and given.isdigit() and 1 <= int(given[:6]) <= 1024):
        raise ParameterError(f"ODL_THREADS is {given!r}", "a whole number from 1 to 1024", "correct it or leave it out")
    return max(1, int(given) - getattr(_beside, "taken", 0))


_beside = threading.local()


def leave_one():
    """Note that a thread runs beside another, which has one of the threads."""
    _beside.taken = 1


ALONE = Threads()


def inverted(rows, n_terms, share=ALONE):
    """Return the inverted lists of compressed rows, rows ascending."""
    size = len(rows.terms)
    counts, offsets = np.zeros((share.count, n_terms), dtype=np.int64), np.empty(n_terms + 1, dtype=np.int64)
    lists = Lists(offsets, np.empty(size, dtype=np.uint32), np.empty(size))
    count = len(rows.starts) - 1
    share(lambda first, last, thread: kernels.count(first, last, *rows[:2], counts[thread]), count)
    kernels.offsets(counts, offsets)
    share(lambda first, last, thread: kernels.fill(first, last, *rows, counts[thread], *lists[1:]), count)
    return lists


def flattened(rows, power, scale, share=ALONE):
    """Return rows with their weights raised to a power, of the l2 norms `scale`."""
    values = np.empty(len(rows.weights))
    share(
        lambda first, last, _: rowkernels.flatten(first, last, rows.starts, rows.weights, float(power), scale, values),
        len(scale),
    )
    return rows._replace(weights=values)


def nearest(documents, lists, n_rows, most, apart=False, share=ALONE):
    """Return the rows of the largest inner products with each document, falling; among equals the first one first.

    Parameters
    ----------
    documents : Rows
    lists : Lists
        Of the rows.
    n_rows, most : int
        `most` rows are looked for.
    apart : bool
        The rows are the documents, and none is compared with itself.
    share : Threads

    Returns
    -------
    chosen, best : ndarray of int64 and float64, shape (n_documents, min(most, n_rows))
        -1 and 0 where fewer are above 0.
    """
    count, most = len(documents.starts) - 1, min(most, n_rows)
    chosen, best = np.full((count, most), -1), np.zeros((count, most))

    def compare(first, last, _):
        kernels.nearest(first, last, int(apart), *documents, *lists, np.empty(n_rows), chosen, best)

    if most:
        share(compare, count)
    return chosen, best


def nearest_among(P, most):
    """Return the most similar other documents of each document of a batch, and the cosines, as `nearest`."""
    numbers = Numbers(P.shape[1])
    documents = numbers.rows(sparse.csr_array(P))
    lists = inverted(documents, numbers.count)
    with Threads(n_threads()) as share:
        return nearest(documents, lists, P.shape[0], most, apart=True, share=share)


def codes(documents, atoms, n_terms, chosen, share=ALONE):
    """Return the codes of documents on their chosen atoms: min over x >= 0 of ||p - A x||_2^2 / 2.

    Parameters
    ----------
    documents, atoms : Rows
    n_terms : int
        Above all numbers of terms.
    chosen : ndarray of int64, shape (n_documents, m)
        Of `nearest`.
    share : Threads

    Returns
    -------
    csr_array, shape (n_documents, n_atoms)
    """
    (count, most), found = chosen.shape, np.zeros(chosen.shape)

    def code(first, last, _):
        work = np.zeros(n_terms), np.empty((most + 1, most))
        rowkernels.codes(first, last, *documents, *atoms, chosen, SWEEPS, found, *work)

    if most:
        share(code, count)
    order = np.argsort(chosen, axis=1)
    chosen, found = (np.take_along_axis(array, order, axis=1) for array in (chosen, found))
    used = (chosen >= 0) & (found > 0)
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    return sparse.csr_array((found[used], chosen[used], starts), shape=(count, len(atoms.starts) - 1))


def _parts(matrix):
    """Return starts, indices and values of a compressed matrix as the kernels take them."""
    terms, weights = matrix.indices.astype(np.int32, copy=False), matrix.data.astype(np.float64, copy=False)
    return matrix.indptr.astype(np.int64, copy=False), terms, weights


def combine(lists, new, before, owner, n_rows):
    """Return the inverted lists of rows and of new ones (numbers from `before` on) under their owners.

    Parameters
    ----------
    lists, new : Lists
        The second ones have all terms.
    before : int
        Rows that `lists` is of.
    owner : ndarray of int64
        Row that each row and each new one is part of now; -1: dropped.
    n_rows : int

    Returns
    -------
    Lists
        Rows are in no order.
    """
    size, lists = len(lists.rows) + len(new.rows), with_terms(lists, len(new.offsets) - 1)
    to = Lists(np.empty(len(new.offsets), dtype=np.int64), np.empty(size, dtype=np.uint32), np.empty(size))
    kernels.combine(*lists, *new, before, owner, np.full(n_rows, -1), *to)
    return Lists(to.offsets, to.rows[: to.offsets[-1]], to.values[: to.offsets[-1]])


def heaviest(lists, numbers, n_rows, n_terms, most):
    """Return the rows of inverted lists cut to their `most` largest weights, as columns of unit l2 norm.

    Returns
    -------
    csc_array, shape (n_terms, n_rows)
    sizes : ndarray, shape (n_rows,)
        Norms of what is kept.
    """
    size = len(lists.rows)
    order = np.argsort(numbers.known[: numbers.count])
    starts, terms, weights = np.zeros(n_rows + 2, dtype=np.int64), np.empty(size, dtype=np.int32), np.empty(size)
    kernels.by_row(order, numbers.known, *lists, starts, terms, weights)
    ends, sizes = np.empty(n_rows + 1, dtype=np.int64), np.empty(n_rows)
    rowkernels.heaviest(most, starts, terms, weights, ends, sizes, np.empty(int(np.diff(starts).max(initial=0))))
    terms, weights = terms[: ends[-1]].copy(), weights[: ends[-1]].copy()
    return sparse.csc_array((weights, terms, ends.astype(np.int32)), shape=(n_terms, n_rows)), sizes
