"""Near-duplicates of a stream, a part of the chain of features: which documents are one item.

Two documents are near-duplicates if the Jaccard index of their shingles is `ALIKE` or more. A group holds what is
connected by such pairs among the documents of a timestep and of some timesteps before it; so no two groups of a
timestep hold near-duplicates of each other. Its name is the id of its first document by time. Groups that a later
document connects go on under the name of the older one; files written before stay as they are.

Pairs are found by the bands of MinHash signatures (Broder 1997; Leskovec, Rajaraman and Ullman, Mining of Massive
Datasets, section 3.4) and decided on the shingles themselves: a pair at .8 is missed with probability
(1 - .8^4)^24 = 3e-6, a decided one never wrong. Nothing is drawn, so a stream gives the same files however it came.
"""

import hashlib
import os
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from odl.errors import DataError
from odl.files import blocks, storage

ALIKE = 0.8
BANDS, ROWS = 24, 4
LIKELY = 0.6  # estimated index from which a pair is looked at; five standard deviations below ALIKE
WINDOW = 4  # timesteps
PAIRS_AT_ONCE = 64  # pairs compared in one call
COSINE, BLOCK = 0.9, 1000  # of near-duplicates of documents without shingles; documents that are compared at a time
_DRAWN = np.frombuffer(hashlib.shake_256(b"odl.alerts.duplicates").digest(16 * BANDS * ROWS), dtype="<u8")
FACTORS, TERMS = _DRAWN[: BANDS * ROWS] | np.uint64(1), _DRAWN[BANDS * ROWS :]
MIXER = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Groups:
    """Groups of the documents of some timesteps, the last of which is `t`.

    Attributes
    ----------
    t : int
    starts : ndarray of int64
        The documents of the timesteps are ``starts[0]:starts[1]``, and so on.
    names : list of str
        Group of each document.
    born : ndarray of int64, shape (n_documents, 2)
        Timestep and row of the first document of its group.
    """

    t: int
    starts: np.ndarray
    names: list
    born: np.ndarray

    def own(self):
        """Return the group of each document of timestep t."""
        return self.names[self.starts[-2] :]

    def items(self):
        """Return of each document of timestep t the first of its group there, and whether one came before t."""
        rows = {}
        first = np.array([rows.setdefault(name, row) for row, name in enumerate(self.own())], dtype=np.int64)
        return first, self.born[self.starts[-2] :, 0] < self.t


NO_GROUPS = Groups(-1, np.zeros(1, dtype=np.int64), [], np.empty((0, 2), dtype=np.int64))


def decide(batch, before):
    """Group the documents of a batch with each other and with those of the timesteps before.

    Parameters
    ----------
    batch : h5py.File
        An open batch; those before it lie beside it, as ``{t}.h5``.
    before : odl.stream.features.FeatureFile or None
        Features of the timestep before; none for timestep 0.

    Returns
    -------
    groups : Groups or None
        Of the documents that the next timestep is compared with, those of the batch last. None where the corpus is read
        without ``duplicates``.
    sets : list of ndarray
        Shingles of these documents.
    """
    if "shingles" not in batch:
        if before is not None and before.groups is not None:
            problem = f"{blocks.path_of(batch)} has no shingles"
            raise DataError(problem, "a batch read for near-duplicates, as before", "set options.duplicates to true")
        return None, []
    if before and before.groups is None:
        path = blocks.path_of(before.file)
        problem = f"{path} has no near-duplicates, {blocks.path_of(batch)} has shingles"
        todo = f"delete {os.path.dirname(path)} and run the same command again"
        raise DataError(problem, "features of batches with shingles", todo)
    own, known = _sets(batch), before.groups if before else NO_GROUPS
    earlier = before.sets if before and len(before.sets) == known.starts[-1] else _earlier_sets(batch, known)
    groups = grouped(known, earlier, own, storage.read_strings(batch, "ids"))
    return groups, [*earlier, *own][len(earlier) + len(own) - len(groups.names) :]


def grouped(known, earlier, own, ids):
    """Group the documents of a timestep.

    Parameters
    ----------
    known : Groups
        Of the timesteps before.
    earlier, own : sequence of ndarray of int32
        Shingles of the documents there, and of the timestep's own.
    ids : list of str
        Names of these.

    Returns
    -------
    Groups
    """
    t, sets = known.t + 1, [*earlier, *own]
    names = [*known.names, *ids]
    born = np.concatenate([known.born, np.column_stack([np.full(len(ids), t), np.arange(len(ids))])])
    firsts = {}
    roots = np.array([firsts.setdefault(name, row) for row, name in enumerate(known.names)], dtype=np.int64)
    roots = connect(sets, roots).tolist()
    oldest = {}  # root -> birth and name of the oldest group that it joins
    for row, root in enumerate(roots):
        group = (*born[row].tolist(), names[row])
        oldest[root] = min(oldest.get(root, group), group)
    groups = [oldest[root] for root in roots]
    starts = np.append(known.starts, len(names))[-WINDOW - 1 :]
    born = np.array([birth for *birth, _ in groups], dtype=np.int64).reshape(-1, 2)
    first = starts[0]
    return Groups(t, starts - first, [name for *_, name in groups[first:]], born[first:])


def _earlier_sets(batch, known):
    """Return the sets of shingles of the documents whose groups are known."""
    folder, sets = os.path.dirname(os.path.abspath(blocks.path_of(batch))), []
    for path in storage.earlier(folder, known.t + 1, len(known.starts) - 1):
        with storage.reading(path, "batch") as file:
            sets += _sets(file)
    return sets


def _sets(batch):
    """Return the set of shingles of each document of an open batch."""
    matrix = storage.read_csr(batch, "shingles")
    return np.split(matrix.indices, matrix.indptr[1:-1])


def write(file, groups):
    """Store in the features of a timestep its groups and those that the next ones need; of None nothing."""
    if groups is None:
        return
    group = file.create_group("duplicates")
    group.attrs["window"], group.attrs["alike"] = WINDOW, ALIKE
    storage.write_array(group, "starts", groups.starts)
    storage.write_strings(group, "names", groups.names)
    storage.write_array(group, "born", groups.born)


def read(file):
    """Load the groups of the features of a timestep."""
    group = file["duplicates"]
    return Groups(
        t=int(file.attrs["t"]),
        starts=storage.read_array(group, "starts", "i"),
        names=storage.read_strings(group, "names"),
        born=storage.read_array(group, "born", "i", ndim=2),
    )


def connect(sets, roots=()):
    """Connect near-duplicates.

    Parameters
    ----------
    sets : list of ndarray of int32
        Shingles of each document, ascending; empty ones are like nothing.
    roots : ndarray of int64
        Root of each document whose pairs are decided already: the first ones.

    Returns
    -------
    ndarray of int64
        A document for each one, the same for those that are connected.
    """
    n_old = len(roots)
    roots = np.append(np.asarray(roots, dtype=np.int64), np.arange(n_old, len(sets), dtype=np.int64))
    filled = np.flatnonzero([len(one) > 0 for one in sets])
    if len(filled):
        filled = filled[share_enough([sets[row] for row in filled])]
    if not len(filled):
        return roots
    signatures = sign([sets[row] for row in filled])
    for band in range(BANDS):
        keys = np.zeros(len(filled), dtype=np.uint64)
        for column in signatures.T[band * ROWS : (band + 1) * ROWS]:
            keys = (keys ^ (keys >> np.uint64(29))) * MIXER + column
        order = np.argsort(keys, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(keys[order])) + 1, len(order))
        starts = np.append(0, ends[:-1])
        for first, last in zip(starts[ends - starts > 1].tolist(), ends[ends - starts > 1].tolist(), strict=True):
            _connect_bucket(order[first:last], filled, sets, signatures, roots, n_old)
    return roots


def _connect_bucket(members, filled, sets, signatures, roots, n_old):
    """Connect the near-duplicates among documents of equal signatures in a band, in place."""
    documents = filled[members]
    for place in range(np.searchsorted(documents, n_old), len(members)):
        if (roots[documents] == roots[documents[0]]).all():
            return
        at, row = 0, documents[place]
        others = np.flatnonzero(roots[documents[:place]] != roots[row])
        while at < len(others):
            chunk = others[at : at + PAIRS_AT_ONCE]
            equal = (signatures[members[chunk]] == signatures[members[place]]).mean(axis=1)
            at += len(chunk)
            for other in documents[chunk[equal >= LIKELY]].tolist():
                if roots[other] != roots[row] and jaccard(sets[other], sets[row]) >= ALIKE:
                    low, high = sorted((int(roots[other]), int(roots[row])))
                    roots[roots == high] = low
                    others, at = others[at:][roots[documents[others[at:]]] != low], 0


def share_enough(sets):
    """Return which sets, none of them empty, share so many shingles with all others that one may be alike.

    Shingles are counted by their last bits, so some more are let through, never fewer; nearly all others need no
    signature then.
    """
    flat = np.concatenate(sets)
    places = flat & np.int32(min((1 << (len(flat).bit_length() + 1)) - 1, np.iinfo(np.int32).max))
    shared = np.bincount(places)[places] > 1
    lengths = np.array([len(one) for one in sets])
    return np.add.reduceat(shared, np.cumsum(lengths) - lengths, dtype=np.int64) / lengths >= ALIKE


def sign(sets):
    """Return the MinHash signatures of sets that are not empty, n × (BANDS ROWS)."""
    flat = np.concatenate(sets).astype(np.uint64)
    starts = np.cumsum([0, *map(len, sets[:-1])])
    signatures = np.empty((len(sets), BANDS * ROWS), dtype=np.uint32)
    for column, (factor, term) in enumerate(zip(FACTORS, TERMS, strict=True)):
        signatures[:, column] = np.minimum.reduceat((flat * factor + term) >> np.uint64(32), starts)
    return signatures


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """Return the Jaccard index of two ascending sets.

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
    """Put documents that are nearly the same into one group.

    A document joins the group of the first document before it in the batch whose cosine with it is at least `COSINE`.

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
    for start in range(0, P.shape[0], BLOCK):
        cosines = sparse.coo_array(P[start : start + BLOCK] @ columns)
        similar = (cosines.data >= COSINE) & (cosines.col < cosines.row + start)
        rows, earlier = cosines.row[similar] + start, cosines.col[similar]
        order = np.lexsort((-earlier, rows))  # of several the first one is written last
        first[rows[order]] = earlier[order]
    for row in np.flatnonzero(first < np.arange(len(first))):
        first[row] = first[first[row]]  # rows rise, so that the group of the earlier one is settled
    return first
