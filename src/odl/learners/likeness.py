"""Documents and atoms by inverted lists: likeness and codes of documents, merging of atoms, order by peers.

Nothing but one table of numbers has the size of the vocabulary.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.kernels import native

kernels = native.Kernels("inverted_lists")
SWEEPS = 30  # of coordinate descent over a handful of atoms
LATE = 0.25  # share of the early columns that may have changed before all lists are made anew


class Rows(NamedTuple):
    """Documents or atoms in compressed form, with numbers for terms."""

    starts: np.ndarray
    terms: np.ndarray
    weights: np.ndarray


class Columns(NamedTuple):
    """Columns of a matrix, or inverted lists of them, with weights also flattened: to a power, of unit l2 norm.

    Of inverted lists ``starts`` is by terms and ``terms`` has pieces.
    """

    starts: np.ndarray
    terms: np.ndarray
    weights: np.ndarray
    flat: np.ndarray

    def rows(self, flat=False):
        """Return them with one set of weights."""
        return Rows(self.starts, self.terms, self.flat if flat else self.weights)


NOTHING = Columns(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint32), np.empty(0), np.empty(0))


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

    def of(self, terms, n_terms):
        """Return the numbers of terms, of which there are so many in all."""
        more = n_terms + 1 - len(self.place)
        if more > 0:
            self.place = np.concatenate([self.place, np.full(more, -1, dtype=np.int32)])
        numbers = np.empty(len(terms), dtype=np.uint32)
        self.count = kernels.number(terms, self.place, self.count, numbers)
        return numbers

    def known_rows(self, matrix):
        """Return the rows of a CSR matrix; terms without a number have one that no list has."""
        (starts, terms, weights), place = compressed(matrix), self.place
        return Rows(starts, place[np.minimum(terms, len(place) - 1)].view(np.uint32), weights)


class Index(NamedTuple):
    """Inverted lists of the columns of a matrix: early ones, and late ones of those that changed since.

    Parameters
    ----------
    numbers : Numbers
    columns, early, late : Columns
        All columns, and lists.
    owner : ndarray of int64
        Column of each piece, those of the early lists and then of the late ones; -1: there is a late one.
    before : int
        Early pieces.
    """

    numbers: Numbers
    columns: Columns
    early: Columns
    late: Columns
    owner: np.ndarray
    before: int


def indexed(A, power):
    """Return the index of the columns of a CSC matrix that are not empty."""
    return _anew(with_flat(A, power), A.shape[0])


def with_flat(A, power):
    """Return the columns of a CSC matrix."""
    return Columns(*compressed(A), flattened(A, power))


def _anew(columns, n_terms):
    numbers, filled = Numbers(n_terms), np.flatnonzero(np.diff(columns.starts))
    terms, starts = numbers.of(columns.terms, n_terms), columns.starts[[*filled, -1]]
    early = inverted(columns._replace(starts=starts, terms=terms), numbers.count)
    return Index(numbers, columns, early, NOTHING, filled, len(filled))


def exchanged(A, index, changed, columns, power, n_columns=None):
    """Return a CSC matrix with other columns in some places, and its index.

    Parameters
    ----------
    A : csc_array
    index : Index
        Of this matrix.
    changed : ndarray of int64
        Places, rising; all from the end of the matrix on are among them.
    columns : csc_array
    power : float
    n_columns : int, optional
        Columns in all; by default as many as there are.
    """
    source = np.arange(n_columns or A.shape[1])
    source[changed] = A.shape[1] + np.arange(len(changed))
    union, n_terms = taken(source, index.columns, with_flat(columns, power)), columns.shape[0]
    A = sparse.csc_array(
        (union.weights, union.terms.view(np.int32), union.starts.astype(np.int32)), (n_terms, len(source))
    )
    late = np.union1d(index.owner[index.before :], changed)
    if len(late) > LATE * index.before:
        return A, _anew(union, n_terms)
    owner, late = index.owner[: index.before].copy(), late[np.diff(union.starts)[late] > 0]
    owner[np.isin(owner, changed)] = -1
    own = taken(late, union)
    lists = inverted(own._replace(terms=index.numbers.of(own.terms, n_terms)), index.numbers.count)
    return A, Index(index.numbers, union, index.early, lists, np.concatenate([owner, late]), index.before)


def taken(source, early, late=NOTHING):
    """Return some columns of two families; those of the second one are numbered behind the first."""
    size = np.concatenate([np.diff(early.starts), np.diff(late.starts)])[source].sum()
    result = Columns(np.empty(len(source) + 1, dtype=np.int64), np.empty(size, dtype=np.uint32), *np.empty((2, size)))
    kernels.take(source, early, late, result)
    return result


def inverted(rows, n_terms):
    """Return the inverted lists of compressed rows with numbers for terms, rows ascending."""
    size, flat = rows.starts[-1], rows[-1]  # of documents their weights
    lists = Columns(np.zeros(n_terms + 1, dtype=np.int64), np.empty(size, dtype=np.uint32), *np.empty((2, size)))
    kernels.invert((*rows[:3], flat), lists)
    return lists


def flattened(A, power):
    """Return the weights of a CSC matrix raised to a power, columns of unit l2 norm."""
    starts, _, weights = compressed(A)
    values = np.empty(len(weights))
    kernels.flatten(starts, weights, float(power), values)
    return values


def nearest(documents, index, most, scale, flat=False, apart=False):
    """Return the columns of the largest products of document, column and scale, falling; among equals the first one.

    Parameters
    ----------
    documents : Rows
    index : Index
    most : int
        Columns that are looked for.
    scale : ndarray, shape (n_columns,)
        What products with a column are multiplied by.
    flat : bool
        Columns are compared with their weights flattened.
    apart : bool
        The columns are the documents, and none is compared with itself.

    Returns
    -------
    neighbours, best : ndarray of int64 and float64, shape (n_documents, min(most, n_columns))
        -1 and 0 where fewer are above 0.
    """
    count, most = len(documents.starts) - 1, min(most, len(scale))
    neighbours, best = np.full((count, most), -1), np.zeros((count, most))
    lists = index.early.rows(flat), index.late.rows(flat), index.before, index.owner
    scale = np.where(index.owner >= 0, scale[index.owner], 0.0)
    if most:
        kernels.nearest(apart, documents, *lists, scale, np.empty(len(scale)), np.empty(64), neighbours, best)
    return neighbours, best


def nearest_among(P, most):
    """Return the most similar other documents of each document of a batch, and the cosines, as `nearest`."""
    numbers = Numbers(P.shape[1])
    documents = numbers.rows(sparse.csr_array(P))
    lists, count = inverted(documents, numbers.count), P.shape[0]
    index = Index(numbers, NOTHING, lists, NOTHING, np.arange(count), count)
    return nearest(documents, index, most, np.ones(count), apart=True)


def codes(P, A, neighbours):
    """Return the codes of documents on a few columns of a matrix each: min over x >= 0 of ||p - A x||_2^2 / 2.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    A : csc_array
    neighbours : ndarray of int64, shape (n_documents, m)
        Of `nearest`.

    Returns
    -------
    csr_array, shape (n_documents, n_atoms)
    """
    (count, most), weights = neighbours.shape, np.zeros(neighbours.shape)
    documents, atoms = compressed(P), compressed(A)
    if most:
        work = np.zeros(max(P.shape[1], A.shape[0])), np.empty((most + 1, most))
        kernels.codes(documents, atoms, neighbours, SWEEPS, weights, *work)
    order = np.argsort(neighbours, axis=1)
    neighbours, weights = (np.take_along_axis(array, order, axis=1) for array in (neighbours, weights))
    used = (neighbours >= 0) & (weights > 0)
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    return sparse.csr_array((weights[used], neighbours[used], starts), shape=(count, A.shape[1]))


def compressed(matrix):
    """Return the rows of a CSR matrix, or the columns of a CSC matrix, as the kernels take them."""
    terms, weights = matrix.indices.astype(np.int32, copy=False), matrix.data.astype(np.float64, copy=False)
    return Rows(matrix.indptr.astype(np.int64, copy=False), terms.view(np.uint32), weights)


FEWEST = 3  # documents that may tell something of each other
MOST = 0.3  # weight of their likeness, above or below 0
WHOLE = 250  # documents of a batch from which on peers have their whole share


def share_of_peers(context: float, n_documents: int) -> float:
    """Return the share of the order within a batch that comes from peers: less where there are few to be alike.

    Equation `levels-context` of docs/method.md.

    Examples
    --------
    >>> from odl.learners.likeness import share_of_peers
    >>> [share_of_peers(0.5, n) for n in (50, 250, 1000)]
    [0.1, 0.5, 0.5]
    """
    return context * min(1.0, n_documents / WHOLE)


def in_order(
    P: sparse.csr_array, scores: np.ndarray, share: float, peers: int, contrast: float | None = None
) -> np.ndarray:
    """Order the scores of a batch by those of similar documents; the scores of the batch stay what they are.

    With z the ranks of the scores and b the mean cosine to the `peers` most similar documents of the batch, both
    standardised, and r their correlation with its sign turned (likeness to the past against likeness to the batch),

        u = rank of z + max(-.3, min(r |r|, .3)) b,      order by (1 - share) u + share sum_N cos u / sum_N cos

    over those documents N. Where documents that have many like them in the batch have many like them in the past, r
    is large, and a new document with many like it in the batch is remarkable; where it is near 0, b says nothing;
    where it is below 0, one with few like it in the batch is remarkable.

    Equation `levels-context` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        The batch, rows of unit l2 norm.
    scores : ndarray, shape (n_documents,)
    share : float
    peers : int
    contrast : float, optional
        Weight of b in place of max(-.3, min(r |r|, .3)).

    Returns
    -------
    ndarray, shape (n_documents,)
        The smallest score for the document that is first in the new order, and so on; equal ones get their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.likeness import in_order
    >>> P = csr_array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.6, 0.8], [0.0, 0.0, 1.0]])
    >>> in_order(P, np.array([0.2, 0.9, 0.4, 0.3]), share=0.9, peers=1)
    array([0.2, 0.9, 0.3, 0.4])
    """
    total = len(scores)
    if total < FEWEST:
        return scores
    most = min(peers, total - 1)
    alike, cosines = nearest_among(P, most)
    return by_peers(scores, alike, cosines, share, contrast)


def by_peers(
    scores: np.ndarray, alike: np.ndarray, cosines: np.ndarray, share: float, contrast: float | None = None
) -> np.ndarray:
    """Return what `in_order` does, where the most similar documents are known already.

    Parameters
    ----------
    scores : ndarray, shape (n_documents,)
    alike, cosines : ndarray of int64 and float64, shape (n_documents, n_peers)
        Documents of the batch that are most like each, and how much: 0 where they tell nothing.
    share, contrast
        As of `in_order`.

    Returns
    -------
    ndarray, shape (n_documents,)

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners.likeness import by_peers
    >>> alike, cosines = np.array([[1], [2], [3], [2]]), np.array([[0.0], [0.6], [0.8], [0.8]])
    >>> by_peers(np.array([0.2, 0.9, 0.4, 0.3]), alike, cosines, share=0.9)
    array([0.2, 0.9, 0.3, 0.4])
    """
    own, near = _standard(_ranks(scores)), _standard(cosines.sum(axis=1))
    related = -(own * near).mean()
    weight = np.clip(related * abs(related), -MOST, MOST) if contrast is None else contrast
    own = _ranks(own + weight * near) / len(scores)
    sums = cosines.sum(axis=1)
    told = (cosines * own[alike]).sum(axis=1) / np.where(sums > 0, sums, 1.0)
    places, counts = _ties((1.0 - share) * own + share * np.where(sums > 0, told, own))
    ends = np.cumsum(counts)
    totals = np.concatenate([[0.0], np.cumsum(np.sort(scores))])
    return ((totals[ends] - totals[ends - counts]) / counts)[places]


def _ties(values):
    """Return the place of each value among the different values, rising, and how often each occurs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return places, counts


def _ranks(values):
    """Return ranks from 1 on; equal values have the mean of theirs."""
    places, counts = _ties(values)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def _standard(values):
    """Return values of mean 0 and standard deviation 1, or all 0."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 0 else np.zeros(len(values))
