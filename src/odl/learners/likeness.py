"""Documents and atoms by inverted lists: similarity and codes of documents, sums of atoms.

Nothing but one table of numbers has the size of the vocabulary.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.kernels import inverted_lists

SWEEPS = 30  # of coordinate descent over a handful of atoms
MANY = 0.15  # share of the columns from which on lists are made anew when so many change at once
SPARE = 1.5  # room behind all columns and behind all lists, as a share of what they hold


class Rows(NamedTuple):
    """Documents or atoms in compressed form, with numbers for terms."""

    starts: np.ndarray
    terms: np.ndarray
    weights: np.ndarray


class Flat(NamedTuple):
    """The same, or inverted lists, with weights also flattened: to a power, of unit l2 norm."""

    starts: np.ndarray
    terms: np.ndarray
    weights: np.ndarray
    flat: np.ndarray

    def rows(self, flat=False):
        """Return them with one set of weights."""
        return Rows(self.starts, self.terms, self.flat if flat else self.weights)


class Columns(NamedTuple):
    """Columns of a matrix, with weights also flattened; what lies between them is of other columns, or room.

    Parameters
    ----------
    spans : ndarray of int64, shape (n_columns, 2)
        First entry and end of each column.
    terms, weights, flat : ndarray of uint32, float64 and float64
        Of entries; one that is there never changes.
    """

    spans: np.ndarray
    terms: np.ndarray
    weights: np.ndarray
    flat: np.ndarray

    def matrix(self, n_terms):
        """Return them as a CSC matrix."""
        own = taken(self.spans, self)
        parts = own.weights, own.terms.view(np.int32), narrow(own.starts)
        return sparse.csc_array(parts, shape=(n_terms, len(self.spans)))


NOTHING = Flat(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint32), np.empty(0), np.empty(0))
NO_COLUMNS = Columns(np.empty((0, 2), dtype=np.int64), *NOTHING[1:])


class Numbers:
    """Numbers of terms: those that come with the same matrix for the first time follow one another.

    Parameters
    ----------
    n_terms : int

    Attributes
    ----------
    count : int
        How many terms have a number.
    """

    def __init__(self, n_terms):
        # One place more: of all terms that come later.
        self.place, self.count = np.full(n_terms + 1, -1, dtype=np.int32), 0

    def rows(self, matrix):
        """Return the rows of a CSR matrix with numbers for terms."""
        starts, terms, weights = compressed(matrix)
        return Rows(starts, self.of(terms, matrix.shape[1]), weights)

    def widen(self, n_terms):
        """Let there be so many terms in all."""
        more = n_terms + 1 - len(self.place)
        if more > 0:
            self.place = np.concatenate([self.place, np.full(more, -1, dtype=np.int32)])

    def of(self, terms, n_terms):
        """Return the numbers of terms, of which there are so many in all."""
        self.widen(n_terms)
        numbers = np.empty(len(terms), dtype=np.uint32)
        self.count = inverted_lists.number(terms, self.place, self.count, numbers)
        return numbers

    def known_rows(self, matrix):
        """Return the rows of a CSR matrix; terms without a number have one that no list has."""
        (starts, terms, weights), place = compressed(matrix), self.place
        return Rows(starts, place[np.minimum(terms, len(place) - 1)].view(np.uint32), weights)


class Index:
    """Inverted lists of columns, which change in place; so only the newest state has them.

    Parameters
    ----------
    columns : Columns
    n_terms : int
    filled : bool
        Only columns with entries have a place in the lists, or all have, in their order.

    Attributes
    ----------
    numbers : Numbers
    columns : Columns
    lists : Flat
        Of pieces, which are columns in any order. ``starts`` has first and end of each list, in turn.
    owner : ndarray of int64
        Column of each piece.
    readers : list
        An entry for everyone who reads the lists.
    """

    def __init__(self, columns, n_terms, filled=False):
        self.readers, self.filled, self._zeros = [], filled, np.empty(0)
        self._make(columns, n_terms)

    def _make(self, columns, n_terms):
        """Make columns without gaps, and all lists."""
        self.owner = np.flatnonzero((columns.spans[:, 0] < columns.spans[:, 1]) | (not self.filled))
        self.piece = np.full(len(columns.spans), -1)
        self.piece[self.owner] = np.arange(len(self.owner))
        own, self.numbers = taken(columns.spans, columns, SPARE), Numbers(n_terms)
        self.columns, size = Columns(spans_of(own.starts), *own[1:]), int(own.starts[-1])
        terms, starts = self.numbers.of(own.terms[:size], n_terms), np.append(own.starts[self.owner], own.starts[-1])
        lists = inverted(own._replace(starts=starts, terms=terms), self.numbers.count, SPARE)
        more = np.zeros(2 * self.numbers.count, dtype=np.int64)  # of terms to come
        self.lists = lists._replace(starts=np.append(spans_of(lists.starts), more))
        self.limits = np.append(lists.starts[1:], more[::2])
        self.used, self.free = size, size  # of columns, of lists

    def renew(self, changed, summands, rows, rule, shape):
        """Make columns anew, as sums; return their sizes.

        Parameters
        ----------
        changed : ndarray of int64
            Their places, rising; all from the end of the columns on are among them.
        summands : (ndarray of int64, ndarray of int64, ndarray of float64)
            Place in `changed` of the sum that each is part of, or -1, where it is in `rows`, and its factor.
        rows : tuple
            Two families: where the entries of each lie, terms and weights.
        rule : (int, float)
            How many of the heaviest terms are kept, and the power of flattened weights.
        shape : (int, int)
            Terms and columns.
        """
        (n_terms, n_columns), entries = shape, self.columns[1:]
        spans, sizes, used = self._spans(n_columns), np.empty(len(changed)), -1
        earlier = spans[changed]
        while used < 0:
            target = entries, self.zeros(n_terms), self.used, spans, sizes
            used = inverted_lists.sums(changed, *summands, rows, *rule, *target)
            if used < 0:
                lengths = np.concatenate([one[:, 1] - one[:, 0] for one, _, _ in rows])
                entries = self._longer(lengths[summands[1][summands[0] >= 0]].sum())
        self._take(changed, earlier, Columns(spans, *entries), used, n_terms)
        return sizes

    def exchange(self, changed, fresh, n_columns, n_terms):
        """Take other columns, in compressed form, in some places, as `renew`."""
        spans, used = self._spans(n_columns), self.used + len(fresh.terms)
        entries = self._longer(len(fresh.terms)) if used > len(self.columns.terms) else self.columns[1:]
        earlier, spans[changed] = spans[changed], self.used + spans_of(fresh.starts)
        for one, values in zip(entries, fresh[1:], strict=True):
            one[self.used : used] = values
        self._take(changed, earlier, Columns(spans, *entries), used, n_terms)

    def _spans(self, n_columns):
        spans = np.zeros((n_columns, 2), dtype=np.int64)
        spans[: len(self.columns.spans)] = self.columns.spans
        return spans

    def _longer(self, more):
        return tuple(np.append(one[: self.used], np.empty(more, dtype=one.dtype)) for one in self.columns[1:])

    def _take(self, changed, earlier, columns, used, n_terms):
        """Take other columns, of which some changed; bring the lists up to date, or make all anew, without gaps."""
        outgrown = len(columns.terms) > len(self.columns.terms)
        self.columns, self.used = columns, used
        if outgrown or len(changed) > MANY * len(columns.spans) or not self._follow(changed, earlier, n_terms):
            self._make(columns, n_terms)

    def zeros(self, size):
        """Return so many zeros at least; who changes some makes them 0 again."""
        if len(self._zeros) < size:
            self._zeros = np.zeros(size)
        return self._zeros

    def _follow(self, changed, earlier, n_terms):
        """Bring the lists up to date; return whether there was room."""
        after, numbers = self.columns.spans[changed], self.numbers
        self.piece = np.append(self.piece, np.full(len(self.columns.spans) - len(self.piece), -1))
        new = changed[(self.piece[changed] < 0) & ((after[:, 0] < after[:, 1]) | (not self.filled))]
        self.piece[new] = len(self.owner) + np.arange(len(new))
        self.owner = np.append(self.owner, new)
        numbers.widen(n_terms)
        counters, lists = np.array([numbers.count, self.free]), (self.lists, self.limits)
        rows = self.piece[changed], earlier, after, self.columns[1:], numbers.place
        whole = inverted_lists.exchange(*rows, *lists, counters)
        numbers.count, self.free = counters.tolist()
        return whole


def spans_of(starts):
    """Return first entry and end of each row."""
    spans = np.empty((len(starts) - 1, 2), dtype=np.int64)
    spans[:, 0], spans[:, 1] = starts[:-1], starts[1:]
    return spans


def indexed(A, power):
    """Return the index of the columns of a CSC matrix."""
    A = A if A.has_sorted_indices else A.sorted_indices()
    starts, terms, weights = compressed(A)
    return Index(Columns(spans_of(starts), terms, weights, flattened(starts, weights, power)), A.shape[0])


def taken(spans, columns, spare=0.0):
    """Return columns in compressed form, from where they lie; behind them there is room, as a share of their size."""
    size = int((spans[:, 1] - spans[:, 0]).sum())
    result = _empty(len(spans), int(size * (1.0 + spare)))
    inverted_lists.take(spans, columns[1:], result)
    return result


def narrow(starts):
    """Return starts as int32 where they fit: scipy makes indices as wide as these."""
    return starts.astype(np.int32) if starts[-1] <= np.iinfo(np.int32).max else starts


def _empty(n_rows, size):
    return Flat(np.zeros(n_rows + 1, dtype=np.int64), np.empty(size, dtype=np.uint32), *np.empty((2, size)))


def inverted(rows, n_terms, spare=0.0):
    """Return the inverted lists of compressed rows with numbers for terms, rows ascending; room as in `taken`."""
    lists = _empty(n_terms, int(rows.starts[-1] * (1.0 + spare)))
    inverted_lists.invert((*rows[:3], rows[-1]), lists)  # of documents their weights
    return lists


def flattened(starts, weights, power):
    """Return the weights of compressed rows raised to a power, rows of unit l2 norm."""
    values = np.empty(len(weights))
    inverted_lists.flatten(starts, weights, float(power), values)
    return values


class Nearest(NamedTuple):
    """Columns most similar to each document, falling; among equals the first one.

    Attributes
    ----------
    columns : ndarray of int64, shape (n_documents, m)
        -1 where fewer than m similarities are above 0.
    similarity : ndarray of float64, shape (n_documents, m)
        0 there.
    """

    columns: np.ndarray
    similarity: np.ndarray


def nearest(documents, index, most, scale, flat=False):
    """Return the columns most similar to each document, by inner product times scale.

    Parameters
    ----------
    documents : Rows
    index : Index
    most : int
        Columns that are looked for.
    scale : ndarray, shape (n_pieces,)
        What products with the column of each piece are multiplied by.
    flat : bool
        Columns are compared with their weights flattened.

    Returns
    -------
    Nearest
        With min(most, n_columns) columns.
    """
    most = min(most, len(index.columns.spans))
    return _nearest(documents, index.lists.rows(flat), index.owner, most, scale, apart=False)[0]


def nearest_twice(documents, index, most, scale, recent_scale):
    """Return what `nearest` does with `flat`, by two scales: without and with recency."""
    most = min(most, len(index.columns.spans))
    return _nearest(documents, index.lists.rows(True), index.owner, most, scale, False, recent_scale)


def nearest_among(P, most):
    """Return the most similar other documents of each document of a batch, and the cosines, as `nearest`."""
    numbers, count = Numbers(P.shape[1]), P.shape[0]
    documents = numbers.rows(sparse.csr_array(P))
    lists = inverted(documents, numbers.count)
    lists = lists._replace(starts=spans_of(lists.starts).ravel()).rows()
    return _nearest(documents, lists, np.arange(count), most, np.ones(count), apart=True)[0]


def _nearest(documents, lists, owner, most, scale, apart, recent_scale=None):
    count = len(documents.starts) - 1
    sizes = (count, most), (0 if recent_scale is None else count, most)
    plain, recent = (Nearest(np.full(size, -1), np.zeros(size)) for size in sizes)
    if most:
        scales = scale, np.empty(0) if recent_scale is None else recent_scale
        work = np.empty(len(scale)), np.empty(64)
        inverted_lists.nearest(apart, documents, lists, owner, *scales, *work, *plain, *recent)
    return plain, recent


def codes(P, columns, n_terms, neighbours):
    """Return the codes of documents on a few columns of a matrix each: min over x >= 0 of ||p - A x||_2^2 / 2.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    columns : Columns
        Of the matrix, which has so many terms.
    n_terms : int
    neighbours : ndarray of int64, shape (n_documents, m)
        Of `nearest`.

    Returns
    -------
    csr_array, shape (n_documents, n_atoms)
    """
    (count, most), weights = neighbours.shape, np.zeros(neighbours.shape)
    starts, *documents = compressed(P)
    if most:
        work = np.zeros(max(P.shape[1], n_terms)), np.empty((most + 1, most))
        inverted_lists.codes((spans_of(starts), *documents), columns[:3], neighbours, SWEEPS, weights, *work)
    used = weights > 0
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(used.sum(axis=1), out=starts[1:])
    X = sparse.csr_array((weights[used], neighbours[used], starts), shape=(count, len(columns.spans)))
    X.sort_indices()
    return X


def compressed(matrix):
    """Return the rows of a CSR matrix, or the columns of a CSC matrix, as the kernels take them."""
    terms, weights = matrix.indices.astype(np.int32, copy=False), matrix.data.astype(np.float64, copy=False)
    return Rows(matrix.indptr.astype(np.int64, copy=False), terms.view(np.uint32), weights)
