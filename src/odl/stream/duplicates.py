"""Groups of near-duplicates in a stream. Alerts count all documents in a group as one item.

Two documents are near-duplicates if the Jaccard index |A ∩ B| / |A ∪ B| of their shingle sets is at
least `MIN_JACCARD`. The documents in a timestep and in the `COMPARED_TIMESTEPS` before it are the
nodes of a graph whose edges are near-duplicates. A group is a connected component. Its name is the
id of its first document. If a later document connects two groups, both continue under the name of
the older one; earlier files are not changed.

Two documents are compared if a band (a fixed part) of their MinHash signatures is equal (Broder
1997; Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section 3.4). So a reported pair
is always correct, and a pair with index .8 is missed with probability (1 - .8^4)^24 = 3e-6. The
hash functions are constants, so that results do not depend on whether a stream is appended or run
at once.
"""

import hashlib
import os
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from odl.errors import DataError
from odl.files import blocks, storage

MIN_JACCARD = 0.8  # smallest Jaccard index of near-duplicates
N_BANDS, BAND_SIZE = 24, 4  # bands of a signature, and hashes per band
# Smallest estimate of the Jaccard index, from signatures, of pairs whose sets are compared. It is
# five standard deviations below `MIN_JACCARD`.
MIN_ESTIMATE = 0.6
COMPARED_TIMESTEPS = 4  # number of earlier timesteps with which documents are compared
PAIRS_AT_ONCE = 64  # number of pairs whose signatures are compared in one call
MIN_COSINE = 0.9  # smallest cosine of near-duplicates, if documents have no shingles
BLOCK_ROWS = 1000  # number of documents whose cosines are computed in one call
# Parameters of the hash functions (factor x + term) / 2^32 in uint64.
_DRAWN = np.frombuffer(
    hashlib.shake_256(b"odl.alerts.duplicates").digest(16 * N_BANDS * BAND_SIZE), dtype="<u8"
)
MINHASH_FACTORS = _DRAWN[: N_BANDS * BAND_SIZE] | np.uint64(1)
MINHASH_TERMS = _DRAWN[N_BANDS * BAND_SIZE :]
BAND_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Groups:
    """Groups of near-duplicates among the documents in successive timesteps.

    Every document is in one group, which may contain only this document.

    Attributes
    ----------
    t : int
        The last timestep.
    starts : ndarray of int64
        Documents ``starts[i]:starts[i + 1]`` belong to the i-th of these timesteps.
    names : list of str
        Group name of each document.
    born : ndarray of int64, shape (n_documents, 2)
        Timestep and row of the first document in the group of each document.
    """

    t: int
    starts: np.ndarray
    names: list
    born: np.ndarray

    def own(self):
        """Return the group name of each document in timestep t."""
        return self.names[self.starts[-2] :]

    def items(self):
        """Return the items of timestep t; documents in one group are one item.

        Returns
        -------
        items : ndarray of int64
            For each document in timestep t, the row of the first document in its group.
        is_older : ndarray of bool
            Whether the group of each document began before timestep t.
        """
        return _first_rows(self.own()), self.born[self.starts[-2] :, 0] < self.t


def _first_rows(names):
    """Return the row of the first occurrence of each name in a list, as an array of int64."""
    rows = {}
    return np.array([rows.setdefault(name, row) for row, name in enumerate(names)], dtype=np.int64)


NO_GROUPS = Groups(-1, np.zeros(1, dtype=np.int64), [], np.empty((0, 2), dtype=np.int64))


def decide(batch, before):
    """Group the documents in a batch with each other and with documents in earlier timesteps.

    Parameters
    ----------
    batch : h5py.File
        An open batch. Earlier batches are in the same folder, as ``{t}.h5``.
    before : odl.stream.features.FeatureFile or None
        Features of the timestep before; None for timestep 0.

    Returns
    -------
    groups : Groups or None
        Groups of the documents with which the next timestep is compared; those in the batch come
        last. None if the corpus is read without ``duplicates``.
    sets : list of ndarray
        Shingle sets of these documents.
    """
    if "shingles" not in batch:
        if before is not None and before.groups is not None:
            problem = f"{blocks.path_of(batch)} has no shingles"
            raise DataError(
                problem,
                "shingles, as in the batch before",
                "set options.duplicates to true",
            )
        return None, []
    if before and before.groups is None:
        path = blocks.path_of(before.file)
        problem = f"{path} has no near-duplicates, {blocks.path_of(batch)} has shingles"
        todo = f"delete {os.path.dirname(path)} and run the same command again"
        raise DataError(problem, "features of batches with shingles", todo)
    past, earlier = before.groups if before else NO_GROUPS, before.sets if before else []
    if len(earlier) != past.starts[-1]:  # the features were read from a file, which has no sets
        earlier = _earlier_sets(batch, past)
    sets = [*earlier, *_sets(batch)]
    groups = extend_groups(past, sets, storage.read_strings(batch, "ids"))
    return groups, sets[len(sets) - len(groups.names) :]


def extend_groups(past, sets, ids):
    """Return earlier groups extended by the documents of a timestep.

    Parameters
    ----------
    past : Groups
        Groups of the timesteps before.
    sets : sequence of ndarray of int32
        Shingle sets of the documents in `past`, then of those of the timestep.
    ids : list of str
        Ids of the documents of the timestep.

    Returns
    -------
    Groups
        Groups in the last `COMPARED_TIMESTEPS` timesteps.
    """
    t, n_new, names = past.t + 1, len(ids), [*past.names, *ids]
    born = np.concatenate([past.born, np.column_stack([np.full(n_new, t), np.arange(n_new)])])
    roots = connect(sets, _first_rows(past.names)).tolist()
    oldest = {}  # root of a component -> (timestep, row, name) of the oldest group in it
    for row, root in enumerate(roots):
        group = (*born[row].tolist(), names[row])
        oldest[root] = min(oldest.get(root, group), group)
    groups = [oldest[root] for root in roots]
    starts = np.append(past.starts, n_new + past.starts[-1])[-COMPARED_TIMESTEPS - 1 :]
    born = np.array([birth for *birth, _ in groups], dtype=np.int64).reshape(-1, 2)
    first = starts[0]
    return Groups(t, starts - first, [name for *_, name in groups[first:]], born[first:])


def _earlier_sets(batch, past):
    """Read the shingle sets of the documents in `past` (`Groups`) from the earlier batches."""
    folder, sets = os.path.dirname(os.path.abspath(blocks.path_of(batch))), []
    for path in storage.earlier(folder, past.t + 1, len(past.starts) - 1):
        with storage.reading(path, "batch") as file:
            sets += _sets(file)
    return sets


def _sets(batch):
    """Return a list with the shingle set (an int array) of each document in an open batch."""
    matrix = storage.read_csr(batch, "shingles")
    return np.split(matrix.indices, matrix.indptr[1:-1])


def write(file, groups):
    """Store groups in the feature file of a timestep; store nothing if `groups` is None."""
    if groups is None:
        return
    group = file.create_group("duplicates")
    group.attrs["window"], group.attrs["alike"] = COMPARED_TIMESTEPS, MIN_JACCARD
    storage.write_array(group, "starts", groups.starts)
    storage.write_strings(group, "names", groups.names)
    storage.write_array(group, "born", groups.born)


def read(file):
    """Return the groups stored in an open feature file."""
    group = file["duplicates"]
    return Groups(
        t=int(file.attrs["t"]),
        starts=storage.read_array(group, "starts", "i"),
        names=storage.read_strings(group, "names"),
        born=storage.read_array(group, "born", "i", ndim=2),
    )


def connect(sets, roots=()):
    """Find the connected components of near-duplicates.

    Parameters
    ----------
    sets : list of ndarray of int32
        Shingles of each document, ascending. A document without shingles has no near-duplicates.
    roots : ndarray of int64
        Roots of the first documents, which have been compared with each other.

    Returns
    -------
    ndarray of int64
        Root of each document: the number of a document that represents its component.
    """
    n_old = len(roots)
    roots = np.append(
        np.asarray(roots, dtype=np.int64), np.arange(n_old, len(sets), dtype=np.int64)
    )
    compared = np.flatnonzero([len(shingles) > 0 for shingles in sets])
    if len(compared):
        compared = compared[share_enough([sets[row] for row in compared])]
    if not len(compared):
        return roots
    signatures = sign([sets[row] for row in compared])
    for bands in np.split(signatures, N_BANDS, axis=1):
        keys = np.zeros(len(compared), dtype=np.uint64)
        for column in bands.T:
            keys = (keys ^ (keys >> np.uint64(29))) * BAND_MULTIPLIER + column
        order = np.argsort(keys, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(keys[order])) + 1, len(order))
        starts = np.append(0, ends[:-1])
        has_pairs = ends - starts > 1
        for first, last in zip(starts[has_pairs].tolist(), ends[has_pairs].tolist(), strict=True):
            bucket = order[first:last]
            _connect_bucket(compared[bucket], signatures[bucket], sets, roots, n_old)
    return roots


def _connect_bucket(documents, signatures, sets, roots, n_old):
    """Connect near-duplicates among documents whose signatures are equal in one band.

    Each new document is compared with the documents before it in the bucket. The sets of a pair are
    compared only if it is not connected yet and its signatures agree enough (`MIN_ESTIMATE`).

    Parameters
    ----------
    documents : ndarray of int64
        Numbers of the documents, ascending.
    signatures : ndarray of uint32
        Their signatures.
    sets : list of ndarray
        Shingle set of each document in the stream.
    roots : ndarray of int64
        Root of each document in the stream, as in `connect`; changed in place.
    n_old : int
        Documents below this number have been compared with each other.
    """
    for position in range(np.searchsorted(documents, n_old), len(documents)):
        if (roots[documents] == roots[documents[0]]).all():
            return
        row = documents[position]
        unconnected = np.flatnonzero(roots[documents[:position]] != roots[row])
        while len(unconnected):
            chunk, unconnected = unconnected[:PAIRS_AT_ONCE], unconnected[PAIRS_AT_ONCE:]
            estimates = (signatures[chunk] == signatures[position]).mean(axis=1)
            for other in documents[chunk[estimates >= MIN_ESTIMATE]].tolist():
                if roots[other] != roots[row] and jaccard(sets[other], sets[row]) >= MIN_JACCARD:
                    low, high = sorted((int(roots[other]), int(roots[row])))
                    roots[roots == high] = low
                    unconnected = unconnected[roots[documents[unconnected]] != low]


def share_enough(sets):
    """Return a mask: whether each shingle set may have a near-duplicate.

    At least the share `MIN_JACCARD` of the shingles in a set must occur in other sets. Only the
    last bits of shingles are compared, so the mask is True for every near-duplicate, and for some
    other sets. No signatures are computed for the sets that fail this test, which are most sets in
    a stream. Sets must not be empty.
    """
    flat = np.concatenate(sets)
    # With two to four times as many values as shingles, few different shingles have equal bits.
    n_bits = min(len(flat).bit_length() + 1, 31)
    bits = flat & np.int32((1 << n_bits) - 1)
    is_shared = np.bincount(bits)[bits] > 1
    lengths = np.array([len(shingles) for shingles in sets])
    n_shared = np.add.reduceat(is_shared, np.cumsum(lengths) - lengths, dtype=np.int64)
    return n_shared / lengths >= MIN_JACCARD


def sign(sets):
    """Return the MinHash signatures of non-empty sets, shape (n_sets, N_BANDS * BAND_SIZE)."""
    flat = np.concatenate(sets).astype(np.uint64)
    starts = np.cumsum([0, *map(len, sets[:-1])])
    signatures = np.empty((len(sets), N_BANDS * BAND_SIZE), dtype=np.uint32)
    for column, (factor, term) in enumerate(zip(MINHASH_FACTORS, MINHASH_TERMS, strict=True)):
        signatures[:, column] = np.minimum.reduceat((flat * factor + term) >> np.uint64(32), starts)
    return signatures


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """Return the Jaccard index of two sets, given as ascending arrays.

    Equation `near-duplicates` of docs/method.md.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.stream.duplicates import jaccard
    >>> jaccard(np.array([1, 2, 3]), np.array([2, 3, 4]))
    0.5
    """
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)


def near_duplicates(P: sparse.csr_array) -> np.ndarray:
    """Group near-duplicates in a batch of documents without shingles, by cosine.

    A document joins the group of the first earlier document with a cosine of at least `MIN_COSINE`.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Rows of unit l2 norm.

    Returns
    -------
    ndarray of int64, shape (n_documents,)
        Row of the first document of each document's group.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.stream.duplicates import near_duplicates
    >>> near_duplicates(csr_array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.0]]))
    array([0, 1, 0])
    """
    first, columns = np.arange(P.shape[0]), sparse.csr_array(P.T)
    for start in range(0, P.shape[0], BLOCK_ROWS):
        cosines = sparse.coo_array(P[start : start + BLOCK_ROWS] @ columns)
        similar = (cosines.data >= MIN_COSINE) & (cosines.col < cosines.row + start)
        rows, earlier = cosines.row[similar] + start, cosines.col[similar]
        order = np.lexsort((-earlier, rows))  # the first of several documents is assigned last
        first[rows[order]] = earlier[order]
    # Rows are visited in ascending order, so an earlier document already has its final group.
    for row in np.flatnonzero(first < np.arange(len(first))):
        first[row] = first[first[row]]
    return first
