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


class Lists(NamedTuple):
    """For term i the rows that have it, and their weights: places ``offsets[i]`` to ``offsets[i + 1]``."""

    offsets: np.ndarray
    rows: np.ndarray
    values: np.ndarray


NOTHING = Lists(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint32), np.empty(0))


class Numbers:
    """Numbers of terms: those that come with the same matrix for the first time follow one another.

    Parameters
    ----------
    n_terms : int
    """

    def __init__(self, n_terms):
        # One place more: of all terms that come later.
        self.place, self.known = np.full(n_terms + 1, -1, dtype=np.int32), np.empty(0, dtype=np.int32)

    @property
    def count(self):
        """How many terms have a number."""
        return len(self.known)

    def rows(self, matrix):
        """Return the rows of a CSR matrix, or the columns of a CSC matrix, with numbers for terms."""
        more = matrix.shape[matrix.format == "csr"] + 1 - len(self.place)
        if more > 0:
            self.place = np.concatenate([self.place, np.full(more, -1, dtype=np.int32)])
        starts, terms, weights = _parts(matrix)
        new = np.zeros(len(self.place), dtype=bool)
        new[terms] = True
        new = np.flatnonzero(new & (self.place < 0)).astype(np.int32)
        self.place[new] = np.arange(self.count, self.count + len(new))
        self.known = np.concatenate([self.known, new])
        return Rows(starts, self.place[terms].view(np.uint32), weights)

    def known_rows(self, matrix):
        """Return the rows of a CSR matrix; terms without a number have one that no list has."""
        (starts, terms, weights), place = _parts(matrix), self.place
        return Rows(starts, place[np.minimum(terms, len(place) - 1)].view(np.uint32), weights)


class Index(NamedTuple):
    """Inverted lists of the columns of a matrix: early ones, and late ones of those that changed since.

    Parameters
    ----------
    numbers : Numbers
    early, late : tuple of Lists
        Plain, and flattened: weights raised to a power, columns of unit l2 norm.
    owner : ndarray of int64
        Column of each piece, those of the early lists and then of the late ones; -1: there is a late one.
    before : int
        Early pieces.
    """

    numbers: Numbers
    early: tuple[Lists, Lists]
    late: tuple[Lists, Lists]
    owner: np.ndarray
    before: int


def indexed(A, power):
    """Return the index of the columns of a CSC matrix that are not empty."""
    numbers, columns = Numbers(A.shape[0]), np.flatnonzero(np.diff(A.indptr))
    early = _both(A if len(columns) == A.shape[1] else A[:, columns], numbers, power)
    return Index(numbers, early, (NOTHING, NOTHING), columns, len(columns))


def renewed(index, A, changed, power):
    """Return the index of a matrix that differs in some columns, rising, from the one that there is an index of."""
    late = np.union1d(index.owner[index.before :], changed)
    if len(late) > LATE * index.before:
        return indexed(A, power)
    owner = index.owner[: index.before].copy()
    owner[np.isin(owner, changed)] = -1
    late = late[np.diff(A.indptr)[late] > 0]
    return index._replace(late=_both(A[:, late], index.numbers, power), owner=np.concatenate([owner, late]))


def _both(A, numbers, power):
    """Return the plain and the flattened lists of columns."""
    rows = numbers.rows(A)
    places = sparse.csr_array((np.arange(A.nnz), rows.terms.view(np.int32), rows.starts), (A.shape[1], numbers.count))
    lists = places.tocsc()
    plain = Lists(lists.indptr.astype(np.int64), lists.indices.astype(np.uint32), rows.weights[lists.data])
    return plain, plain._replace(values=flattened(A, power)[lists.data])


def inverted(rows, n_terms):
    """Return the inverted lists of compressed rows, rows ascending."""
    starts, terms, weights = rows
    lists = sparse.csr_array((weights, terms.view(np.int32), starts), shape=(len(starts) - 1, n_terms)).tocsc()
    return Lists(lists.indptr.astype(np.int64), lists.indices.astype(np.int32, copy=False).view(np.uint32), lists.data)


def flattened(A, power):
    """Return the weights of a CSC matrix raised to a power, columns of unit l2 norm."""
    starts, _, weights = _parts(A)
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
    lists = index.early[flat], index.late[flat], index.before, index.owner
    scale = np.where(index.owner >= 0, scale[index.owner], 0.0)
    if most:
        kernels.nearest(apart, documents, *lists, scale, np.empty(len(scale)), np.empty(64), neighbours, best)
    return neighbours, best


def nearest_among(P, most):
    """Return the most similar other documents of each document of a batch, and the cosines, as `nearest`."""
    numbers = Numbers(P.shape[1])
    documents = numbers.rows(sparse.csr_array(P))
    lists, count = (inverted(documents, numbers.count), NOTHING), P.shape[0]
    index = Index(numbers, lists, (NOTHING, NOTHING), np.arange(count), count)
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
    documents, atoms = (Rows(starts, terms.view(np.uint32), values) for starts, terms, values in map(_parts, (P, A)))
    if most:
        work = np.zeros(max(P.shape[1], A.shape[0])), np.empty((most + 1, most))
        kernels.codes(documents, atoms, neighbours, SWEEPS, weights, *work)
    order = np.argsort(neighbours, axis=1)
    neighbours, weights = (np.take_along_axis(array, order, axis=1) for array in (neighbours, weights))
    used = (neighbours >= 0) & (weights > 0)
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    return sparse.csr_array((weights[used], neighbours[used], starts), shape=(count, A.shape[1]))


def _parts(matrix):
    """Return starts, indices and values of a compressed matrix as the kernels take them."""
    terms, weights = matrix.indices.astype(np.int32, copy=False), matrix.data.astype(np.float64, copy=False)
    return matrix.indptr.astype(np.int64, copy=False), terms, weights


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
