"""Similarity of documents and atoms by inverted lists; codes of documents, and sums of atoms.

Inverted lists number only the terms that occur in atoms. The only array with an entry for every
term of the vocabulary is the table of these numbers (`TermNumbers`).
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.kernels import inverted_lists

MAX_CODE_SWEEPS = 30  # maximum number of sweeps of coordinate descent for the code of a document
REBUILD_SHARE = 0.15  # share of changed columns from which an index is rebuilt rather than updated
SPARE_SHARE = 1.5  # free space after the entries of an index, relative to their number


class Rows(NamedTuple):
    """Rows of a CSR matrix (documents or atoms); terms are numbered as in an index.

    Row i has the terms ``terms[starts[i]:starts[i + 1]]`` with the same entries of ``weights``.
    """

    starts: np.ndarray
    terms: np.ndarray
    weights: np.ndarray


class FlattenedRows(NamedTuple):
    """Rows of a matrix, or inverted lists, with plain and flattened weights.

    The flattened weights of a row are its weights raised to a power, scaled to unit l2 norm. The
    weights of inverted lists are float32, of rows float64.
    """

    starts: np.ndarray
    terms: np.ndarray
    weights: np.ndarray
    flat: np.ndarray

    def rows(self, flat=False):
        """Return the rows with one set of weights."""
        return Rows(self.starts, self.terms, self.flat if flat else self.weights)


class Columns(NamedTuple):
    """Columns of a matrix, whose entries may lie anywhere in shared arrays, with gaps.

    Parameters
    ----------
    spans : ndarray of int64, shape (n_columns, 2)
        Index of the first entry of each column, and of the entry after its last one.
    terms, weights, flat : ndarray of uint32, float64 and float64
        Term, plain weight and flattened weight of each entry. An entry never changes; a changed
        column gets new entries.
    """

    spans: np.ndarray
    terms: np.ndarray
    weights: np.ndarray
    flat: np.ndarray

    def matrix(self, n_terms):
        """Return the columns as a CSC matrix."""
        rows = compact(self)
        arrays = rows.weights, rows.terms.view(np.int32), narrow(rows.starts)
        return sparse.csc_array(arrays, shape=(n_terms, len(self.spans)))


NOTHING = FlattenedRows(
    np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint32), np.empty(0), np.empty(0)
)
NO_COLUMNS = Columns(np.empty((0, 2), dtype=np.int64), *NOTHING[1:])
NO_LISTS = Rows(NOTHING.starts, NOTHING.terms, np.empty(0, np.float32))


class TermNumbers:
    """Consecutive numbers of the terms in an index, in the order of their first occurrence.

    Parameters
    ----------
    n_terms : int
        Size of the vocabulary.

    Attributes
    ----------
    count : int
        Number of terms that have a number.
    place : ndarray of int32, shape (n_terms,)
        Number of each term; -1 for a term without one.
    """

    def __init__(self, n_terms):
        self.place, self.count = np.full(n_terms, -1, dtype=np.int32), 0

    def widen(self, n_terms):
        """Make room for a larger vocabulary."""
        missing = n_terms - len(self.place)
        if missing > 0:
            self.place = np.concatenate([self.place, np.full(missing, -1, dtype=np.int32)])

    def assign(self, terms, n_terms):
        """Return the number of each term; terms without a number get the next ones.

        `n_terms` is the size of the vocabulary of `terms`.
        """
        self.widen(n_terms)
        numbers = np.empty(len(terms), dtype=np.uint32)
        self.count = inverted_lists.number(terms, self.place, self.count, numbers)
        return numbers


class Index:
    """Columns of a matrix and their inverted lists: for each term, the columns that have it.

    An index changes in place, so only the newest state of a learner has one. A changed column is
    written after all other entries, and its entries in the lists are updated. If many columns
    change or the lists have no space left, all lists are rebuilt. If the columns have no space
    left, they are stored again without gaps.

    Parameters
    ----------
    columns : Columns
    n_terms : int
    lengths : ndarray, shape (n_columns,), optional
        Norms of the flattened weights, if columns are sums of many rows. Only a few rows change at
        a time, so the sums are scaled by powers of two, which leaves most entries unchanged. Only
        columns with entries are pieces. Without `lengths`, columns and their flattened weights have
        unit norm, and all columns are pieces, in their order.

    Attributes
    ----------
    numbers : TermNumbers
    columns : Columns
    owner : ndarray of int64
        Column of each piece. Lists refer to columns by pieces, whose numbers do not change until
        the next rebuild.
    lists : FlattenedRows
        Inverted lists: ``starts`` alternates between the start and the end of each list, ``terms``
        has pieces.
    limits : ndarray of int64
        End of the allocated space of each list.
    n_entries, lists_end : int
        Ends of the used parts of the columns and of the lists.
    readers : list
        One entry for each caller that is reading the lists.
    """

    def __init__(self, columns, n_terms, lengths=None):
        self.readers, self.sums, self.numbers = [], lengths is not None, TermNumbers(n_terms)
        self.columns, self.lengths = columns, lengths if self.sums else np.empty(0)
        self.lists, self.limits = _empty_lists(0, 0)
        self._compact()
        self._rebuild(n_terms)

    def _compact(self, n_more=0):
        """Store the columns without gaps, with room for at least n_more entries after them."""
        size = int((self.columns.spans[:, 1] - self.columns.spans[:, 0]).sum())
        rows = compact(self.columns, max(n_more, int(SPARE_SHARE * size)))
        self.columns, self.n_entries = Columns(spans_of(rows.starts), *rows[1:]), size

    def _rebuild(self, n_terms):
        """Number the terms from 0 and build all lists."""
        spans = self.columns.spans
        self._owners, self._pieces = np.empty(len(spans), np.int64), np.empty(len(spans), np.int64)
        self.numbers.widen(n_terms)
        columns = self.sums, spans, self.columns[1:], self._pieces, self._owners
        counters = np.zeros(3, dtype=np.int64)
        while not inverted_lists.rebuild(
            *columns, self.numbers.place, self.lists, self.limits, counters
        ):
            n_lists, size = 3 * counters[0], int(counters[1] * (1.0 + SPARE_SHARE))
            self.lists, self.limits = _empty_lists(n_lists, size)
        self._store(counters)

    def _store(self, counters):
        """Store the number of terms, the end of the lists and the number of pieces."""
        self.numbers.count, self.lists_end, n_pieces = counters.tolist()
        self.owner = self._owners[:n_pieces]

    def set_sums(self, changed, summands, rows, rule, shape):
        """Replace columns by weighted sums of rows, and return the norms of the sums.

        Parameters
        ----------
        changed : ndarray of int64
            Columns to replace, sorted. New columns that are not in `changed` are empty.
        summands : (ndarray of int64, ndarray of float64, float)
            Position in `changed` of the sum of each row (-1: none), factor of each row of the first
            family, and common factor of the rows of the second family.
        rows : tuple
            Two families of rows, each (spans, terms, weights). Rows of the second family are
            numbered after those of the first.
        rule : (int, float)
            Maximum number of terms of a sum, and the power of flattened weights.
        shape : (int, int)
            Numbers of terms and columns after the change.
        """
        (n_terms, n_columns), sizes, end = shape, np.empty(len(changed)), -1
        lengths = pad_zeros(self.lengths, n_columns) if self.sums else self.lengths
        while end < 0:
            spans = self._spans(n_columns)
            target = n_terms, self.columns[1:], self.n_entries, spans, sizes, lengths
            end = inverted_lists.sums(changed, *summands, rows, *rule, *target)
            if end < 0:  # too little room
                counts = [family[0][:, 1] - family[0][:, 0] for family in rows]
                self._compact(np.concatenate(counts)[summands[0] >= 0].sum())
        self._update(changed, spans, end, n_terms)
        self.lengths = lengths
        return sizes

    def set_columns(self, changed, rows, n_columns, n_terms):
        """Replace columns by given ones.

        Parameters
        ----------
        changed : ndarray of int64
            Columns to replace, as in `set_sums`.
        rows : FlattenedRows
            New columns.
        n_columns, n_terms : int
            Sizes after the change.
        """
        if self.n_entries + len(rows.terms) > len(self.columns.terms):
            self._compact(len(rows.terms))
        spans, end = self._spans(n_columns), self.n_entries + len(rows.terms)
        spans[changed] = self.n_entries + spans_of(rows.starts)
        for array, values in zip(self.columns[1:], rows[1:], strict=True):
            array[self.n_entries : end] = values
        self._update(changed, spans, end, n_terms)

    def _spans(self, n_columns):
        """Return a copy of the spans, extended by empty ones."""
        spans = self.columns.spans
        if len(spans) == n_columns:
            return spans.copy()
        return np.append(spans, np.zeros((n_columns - len(spans), 2), dtype=np.int64), axis=0)

    def _update(self, changed, spans, end, n_terms):
        """Store new spans of changed columns, and update or rebuild the lists.

        The lists are rebuilt if they have no space left or many columns changed.
        """
        earlier = self.columns.spans
        self.columns, self.n_entries = self.columns._replace(spans=spans), end
        many_changed = len(changed) > REBUILD_SHARE * len(spans)
        if many_changed or not self._update_lists(changed, earlier, n_terms):
            self._rebuild(n_terms)

    def _update_lists(self, changed, earlier, n_terms):
        """Replace the entries of changed columns in the lists; return False if space is missing."""
        spans, numbers = self.columns.spans, self.numbers
        missing = len(spans) - len(self._pieces)
        if missing:
            self._pieces = np.append(self._pieces, np.full(missing, -1))
            self._owners = np.append(self._owners, np.empty(missing, np.int64))
        numbers.widen(n_terms)
        counters = np.array([numbers.count, self.lists_end, len(self.owner)])
        columns = self.sums, changed, earlier, spans, self.columns[1:], self._pieces, self._owners
        fits = inverted_lists.exchange(*columns, numbers.place, self.lists, self.limits, counters)
        self._store(counters)
        return fits


def spans_of(starts):
    """Return start and end of each row."""
    spans = np.empty((len(starts) - 1, 2), dtype=np.int64)
    spans[:, 0], spans[:, 1] = starts[:-1], starts[1:]
    return spans


def build_index(A, power, sums=False):
    """Return the index of the columns of a CSC matrix; `sums` for columns of an index of sums."""
    A = A if A.has_sorted_indices else A.sorted_indices()
    starts, terms, weights = as_rows(A)
    lengths = np.empty(A.shape[1]) if sums else None
    flat = flatten_weights(starts, weights, power, lengths)
    return Index(Columns(spans_of(starts), terms, weights, flat), A.shape[0], lengths)


def compact(columns, n_more=0):
    """Return columns without gaps, as `FlattenedRows` with space for n_more entries after them."""
    spans = columns.spans
    size = int((spans[:, 1] - spans[:, 0]).sum()) + int(n_more)
    starts, terms = np.zeros(len(spans) + 1, np.int64), np.empty(size, np.uint32)
    rows = FlattenedRows(starts, terms, np.empty(size), np.empty(size))
    inverted_lists.take(spans, columns[1:], rows)
    return rows


def pad_zeros(values, length):
    """Return a copy with zeros up to the length."""
    longer = np.zeros(length, dtype=values.dtype)
    longer[: len(values)] = values
    return longer


def narrow(starts):
    """Return starts as int32 if they fit, since scipy uses one type for starts and indices."""
    return starts.astype(np.int32) if starts[-1] <= np.iinfo(np.int32).max else starts


def _empty_lists(n_lists, size):
    """Return (inverted lists, ends of their spaces), all empty, with room for `size` entries."""
    weights = np.empty(size, np.float32), np.empty(size, np.float32)
    lists = FlattenedRows(np.zeros(2 * n_lists, np.int64), np.empty(size, np.uint32), *weights)
    return lists, np.zeros(n_lists, np.int64)


def invert_rows(rows, n_terms):
    """Return the inverted lists of rows as `Rows`; each list has its rows ascending."""
    size = rows.starts[-1]
    lists = Rows(
        np.zeros(n_terms + 1, np.int64), np.empty(size, np.uint32), np.empty(size, np.float32)
    )
    inverted_lists.invert(rows, lists)
    return lists


def flatten_weights(starts, weights, power, lengths=None):
    """Return the weights of rows raised to a power, with rows scaled to unit l2 norm.

    If `lengths` is given, rows are not scaled, and their norms are written into `lengths`.
    """
    values = np.empty(len(weights))
    lengths = np.empty(0) if lengths is None else lengths
    inverted_lists.flatten(starts, weights, float(power), values, lengths)
    return values


class Nearest(NamedTuple):
    """Columns most similar to each document, by descending similarity; ties by column number.

    Attributes
    ----------
    columns : ndarray of int64, shape (n_documents, m)
        Numbers of the columns; -1 fills a row with fewer than m similarities above 0.
    similarity : ndarray of float64, shape (n_documents, m)
        Similarity to each of these columns; 0 where the column is -1.
    """

    columns: np.ndarray
    similarity: np.ndarray


def nearest(P, index, most, scale, flat=False):
    """Return the columns most similar to each document, by inner product times scale.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    index : Index
    most : int
        Number of columns per document.
    scale : ndarray, shape (n_pieces,)
        Factor of the products with each piece.
    flat : bool
        Whether the flattened weights of columns are used.

    Returns
    -------
    Nearest
        With min(most, n_columns) columns.
    """
    return _nearest_in(P, index, most, flat, scale)[0]


def nearest_twice(P, index, most, scale, recent_scale):
    """Return the nearest columns without and with recency, both for flattened weights.

    Parameters
    ----------
    P, index, most
        As in `nearest`.
    scale, recent_scale : ndarray, shape (n_pieces,)
        Factors of the products with each piece, without and with recency.

    Returns
    -------
    plain, recent : Nearest
        Columns by the products without and with recency. The similarities of `plain` have single
        precision.
    """
    return _nearest_in(P, index, most, True, scale, recent_scale)


def _nearest_in(P, index, most, flat, *scales):
    """Return (`Nearest` with the first scale, `Nearest` with the second one) for an index.

    Parameters are those of `nearest`, with one or two scales.
    """
    spans, terms, *weights = index.columns
    place = index.numbers.place
    if flat and index.sums:
        scales = [scale / index.lengths[index.owner] for scale in scales]
    compared = index.lists.rows(flat), place, index.owner, (spans, terms, weights[flat])
    n_terms, most = max(P.shape[1], len(place)), min(most, len(spans))
    return _nearest(as_rows(P), compared, n_terms, most, scales)


def nearest_columns(P, A, most, scale, apart=False):
    """Return the columns of a matrix without an index that are most similar to each document.

    The result is that of `nearest`. The inverted lists of the columns are built for this call only.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    A : csc_array, shape (n_terms, n_columns)
    most : int
        Number of columns per document.
    scale : ndarray, shape (n_columns,)
        Factor of the inner products with each column.
    apart : bool
        Whether column i is excluded for document i, because it is the document itself.

    Returns
    -------
    Nearest
        With min(most, n_columns) columns.
    """
    most = min(most, A.shape[1])
    documents, columns = as_rows(P), as_rows(A)
    numbers = TermNumbers(max(P.shape[1], A.shape[0]))
    column_terms = numbers.assign(columns.terms, A.shape[0])
    lists = invert_rows(columns._replace(terms=column_terms), numbers.count)
    lists = lists._replace(starts=spans_of(lists.starts).ravel())
    rows = spans_of(columns.starts), *columns[1:]
    compared = lists, numbers.place, np.arange(A.shape[1]), rows
    return _nearest(documents, compared, len(numbers.place), most, (scale,), apart)[0]


def nearest_among(P, most):
    """Return for each document the most similar other documents of its batch, as a `Nearest`."""
    P = sparse.csr_array(P)
    return nearest_columns(P, P.T, most, np.ones(P.shape[0]), apart=True)


def _nearest(documents, compared, n_terms, most, scales, apart=False):
    """Run the kernel that searches inverted lists; return its results for both scales.

    Parameters
    ----------
    documents : Rows
    compared : tuple
        Inverted lists, number of each term in them, column of each piece, and (spans, terms,
        weights) of the columns.
    n_terms : int
        Size of the vocabulary.
    most : int
        Number of columns per document.
    scales : tuple of one or two ndarray
        Factors of the inner products with each piece.
    apart : bool
        Whether column i is excluded for document i.

    Returns
    -------
    plain, recent : Nearest
        Results with the first and the second scale; without a second scale, `recent` has no rows.
    """
    count = len(documents.starts) - 1
    sizes = (count, most), (count if len(scales) > 1 else 0, most)
    plain, recent = (Nearest(np.full(size, -1), np.zeros(size)) for size in sizes)
    if most:
        rows = documents, compared, scales[0], scales[-1]
        inverted_lists.nearest(apart, *rows, n_terms, *plain, *recent)
    return plain, recent


def codes(P, columns, n_terms, neighbours):
    """Return the codes of documents on a few columns each: min over x >= 0 of ||p - A x||_2^2 / 2.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    columns : Columns
        Columns of A.
    n_terms : int
        Rows of A.
    neighbours : ndarray of int64, shape (n_documents, m)
        Columns that each document is coded on; -1 for none.

    Returns
    -------
    csr_array, shape (n_documents, n_atoms)
    """
    (count, most), weights = neighbours.shape, np.zeros(neighbours.shape)
    starts, *documents = as_rows(P)
    if most:
        rows, n_terms = (spans_of(starts), *documents), max(P.shape[1], n_terms)
        inverted_lists.codes(rows, columns[:3], neighbours, MAX_CODE_SWEEPS, n_terms, weights)
    used = weights > 0
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(used.sum(axis=1), out=starts[1:])
    X = sparse.csr_array(
        (weights[used], neighbours[used], starts), shape=(count, len(columns.spans))
    )
    X.sort_indices()
    return X


def as_rows(matrix):
    """Return the rows of a CSR matrix, or the columns of a CSC matrix, in the kernels' types."""
    terms, weights = (
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float64, copy=False),
    )
    return Rows(matrix.indptr.astype(np.int64, copy=False), terms.view(np.uint32), weights)
