"""Documents and atoms by inverted lists: likeness and codes of documents, merging of atoms, order by peers.

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
from odl.kernels import marshalling, native

kernels = native.Kernels("inverted_lists")
merges = native.Kernels("ward_merging")
SWEEPS = 30  # of coordinate descent over a handful of atoms
BLOCK, CANDIDATES, UNKNOWN = 64, 4, -2  # as in odl.kernels.ward_merging


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
        starts, terms, weights = _parts(matrix)
        new = np.zeros(len(self.place), dtype=bool)
        new[terms] = True
        new = np.flatnonzero(new & (self.place < 0)).astype(np.int32)
        self.place[new] = np.arange(self.count, self.count + len(new))
        self.known = np.concatenate([self.known, new])
        return Rows(starts, self.place[terms].view(np.uint32), weights)

    def known_rows(self, matrix):
        """Return the rows of a CSR matrix; terms without a number have that of the next one."""
        starts, terms, weights = _parts(matrix)
        numbers = self.place[np.minimum(terms, len(self.place) - 1)]
        numbers[numbers < 0] = self.count
        return Rows(starts, numbers.view(np.uint32), weights)


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
        if not self.pool:
            call(0, size, 0)
            return
        cuts = cuts or np.linspace(0, size, self.count + 1).astype(int).tolist()
        list(self.pool.map(call, cuts[:-1], cuts[1:], range(self.count)))


def n_threads():
    """Return how many threads score and learn documents: ``ODL_THREADS``, or 1.

    Raises
    ------
    ParameterError
        If it is no whole number from 1 to 1024.
    """
    text = os.environ.get("ODL_THREADS") or "1"
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 1024):
        raise ParameterError(f"ODL_THREADS is {text!r}", "a whole number from 1 to 1024", "correct it or leave it out")
    return max(1, int(text) - getattr(_beside, "taken", 0))


_beside = threading.local()


def leave_one():
    """Note that a thread runs beside another, which has one of the threads."""
    _beside.taken = 1


ALONE = Threads()


def summed(dictionary, size, n_terms=0):
    """Return the sums of atoms as compressed rows, from their directions and norms, and the numbers of their terms."""
    numbers = Numbers(max(n_terms, dictionary.shape[0]))
    rows = numbers.rows(dictionary)
    return rows._replace(weights=rows.weights * np.repeat(size, np.diff(rows.starts))), numbers


def inverted(rows, n_terms):
    """Return the inverted lists of compressed rows, rows ascending."""
    starts, terms, weights = rows
    lists = sparse.csr_array((weights, terms.view(np.int32), starts), shape=(len(starts) - 1, n_terms)).tocsc()
    return Lists(lists.indptr.astype(np.int64), lists.indices.astype(np.int32, copy=False).view(np.uint32), lists.data)


def flattened(rows, power, scale, share=ALONE):
    """Return rows with their weights raised to a power, of the l2 norms `scale`."""
    values = np.empty(len(rows.weights))
    share(
        lambda first, last, _: kernels.flatten(first, last, rows.starts, rows.weights, float(power), scale, values),
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
    neighbours, best : ndarray of int64 and float64, shape (n_documents, min(most, n_rows))
        -1 and 0 where fewer are above 0.
    """
    count, most = len(documents.starts) - 1, min(most, n_rows)
    neighbours, best = np.full((count, most), -1), np.zeros((count, most))

    def compare(first, last, _):
        kernels.nearest(first, last, apart, documents, lists, np.empty(n_rows), neighbours, best)

    if most:
        share(compare, count)
    return neighbours, best


def nearest_among(P, most):
    """Return the most similar other documents of each document of a batch, and the cosines, as `nearest`."""
    numbers = Numbers(P.shape[1])
    documents = numbers.rows(sparse.csr_array(P))
    lists = inverted(documents, numbers.count)
    with Threads(n_threads()) as share:
        return nearest(documents, lists, P.shape[0], most, apart=True, share=share)


def codes(documents, atoms, n_terms, neighbours, share=ALONE):
    """Return the codes of documents on a few atoms each: min over x >= 0 of ||p - A x||_2^2 / 2.

    Parameters
    ----------
    documents, atoms : Rows
    n_terms : int
        Above all numbers of terms.
    neighbours : ndarray of int64, shape (n_documents, m)
        Of `nearest`.
    share : Threads

    Returns
    -------
    csr_array, shape (n_documents, n_atoms)
    """
    (count, most), weights = neighbours.shape, np.zeros(neighbours.shape)

    def code(first, last, _):
        work = np.zeros(n_terms), np.empty((most + 1, most))
        kernels.codes(first, last, documents, atoms, neighbours, SWEEPS, weights, *work)

    if most:
        share(code, count)
    order = np.argsort(neighbours, axis=1)
    neighbours, weights = (np.take_along_axis(array, order, axis=1) for array in (neighbours, weights))
    used = (neighbours >= 0) & (weights > 0)
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    return sparse.csr_array((weights[used], neighbours[used], starts), shape=(count, len(atoms.starts) - 1))


def _parts(matrix):
    """Return starts, indices and values of a compressed matrix as the kernels take them."""
    terms, weights = matrix.indices.astype(np.int32, copy=False), matrix.data.astype(np.float64, copy=False)
    return matrix.indptr.astype(np.int64, copy=False), terms, weights


def combine(lists, later, before, owner, n_rows):
    """Return the inverted lists of rows and of later ones (numbers from `before` on) under their owners.

    Parameters
    ----------
    lists, later : Lists
        The second ones have all terms.
    before : int
        Rows that `lists` is of.
    owner : ndarray of int64
        Row that each row and each later one is part of now; -1: dropped.
    n_rows : int

    Returns
    -------
    Lists
        Rows are in no order.
    """
    size, lists = len(lists.rows) + len(later.rows), with_terms(lists, len(later.offsets) - 1)
    union = Lists(np.empty(len(later.offsets), dtype=np.int64), np.empty(size, dtype=np.uint32), np.empty(size))
    kernels.combine(lists, later, before, owner, np.full(n_rows, -1), union)
    end = union.offsets[-1]
    return union._replace(rows=union.rows[:end], values=union.values[:end])


def heaviest(lists, numbers, n_rows, n_terms, most):
    """Return the rows of inverted lists cut to their `most` largest weights, as columns of unit l2 norm.

    Returns
    -------
    csc_array, shape (n_terms, n_rows)
    sizes : ndarray, shape (n_rows,)
        Norms of what is kept.
    """
    size = len(lists.rows)
    order = np.argsort(numbers.known)
    starts, terms, weights = np.zeros(n_rows + 2, dtype=np.int64), np.empty(size, dtype=np.int32), np.empty(size)
    kernels.by_row(order, numbers.known, lists, starts, terms, weights)
    ends, sizes = np.empty(n_rows + 1, dtype=np.int64), np.empty(n_rows)
    kernels.heaviest(most, starts, terms, weights, ends, sizes)
    terms, weights = terms[: ends[-1]].copy(), weights[: ends[-1]].copy()
    return sparse.csc_array((weights, terms, ends.astype(np.int32)), shape=(n_terms, n_rows)), sizes


def grams(rows, lists, gram, share=ALONE):
    """Fill the upper left of a matrix with the inner products of compressed rows, of which there are inverted lists."""
    count = len(rows.starts) - 1
    share(lambda first, last, _: kernels.grams(first, last, rows, lists, gram), count, rising(count, share.count))


def merging(gram, documents, squares, n_atoms):
    """Return atoms that may merge, of which nothing has been searched for; there is room for as many as `documents`."""
    k = len(documents)
    times, (recent, places) = np.zeros(k, dtype=np.int64), np.zeros((2, k), dtype=np.int64)
    times[:n_atoms] = np.arange(1, n_atoms + 1)
    inverse = np.where(squares > 0, 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
    partner, cost = np.full((k, CANDIDATES), UNKNOWN), np.empty((k, CANDIDATES))
    prices = np.full(k, np.inf), np.full(k // BLOCK + 1, np.inf)
    counters = np.array([n_atoms, n_atoms, n_atoms, -k])
    return marshalling.Merging(
        *(gram, documents, squares, inverse, np.zeros(k), times, recent, partner, cost, *prices, counters),
        *(places, np.empty(BLOCK)),
    )


def search(atoms, share=ALONE):
    """Search the rows of all atoms, in the order of whose numbers they changed."""
    count = atoms.counters[3] = len(atoms.documents)

    def some(first, last, _):
        merges.search(first, last, atoms._replace(work=np.empty(BLOCK)))

    share(some, count, rising(count, share.count))


def rising(count, parts):
    """Return where to cut rows, each of which is compared with those before it, into parts of like work."""
    cuts = BLOCK * np.round(count * np.sqrt(np.linspace(0, 1, parts + 1)) / BLOCK).astype(int)
    return [*np.minimum(cuts[:-1], count).tolist(), count]


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
