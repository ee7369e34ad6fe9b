"""Near-duplicates of a stream as a chain of files, one a timestep: which documents are one item.

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

from odl.errors import DataError
from odl.files import rows, storage

KIND = "duplicates"
ALIKE = 0.8
BANDS, ROWS = 24, 4
LIKELY = 0.6  # estimated index from which a pair is looked at; five standard deviations below ALIKE
WINDOW = 4  # timesteps
CHUNK = 64  # pairs that are estimated at a time
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

    def sentence(self):
        """Return how many documents of timestep t repeat others."""
        born, first = self.born[self.starts[-2] :], self.starts[-1] - self.starts[-2]
        before = int((born[:, 0] < self.t).sum())
        inside = int(((born[:, 0] == self.t) & (born[:, 1] != np.arange(first))).sum())
        return f"of {first} documents {inside} repeat one of their timestep and {before} one before it"


def write(path, groups, window):
    """Write the groups of a timestep with those of the documents that the next ones are compared with."""
    with storage.writing(path, KIND, t=groups.t, window=window, alike=ALIKE) as file:
        storage.write_array(file, "starts", groups.starts)
        storage.write_strings(file, "names", groups.names)
        storage.write_array(file, "born", groups.born)


def read(path, window=None):
    """Read what `write` wrote.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    DataError
        If it was made with another window than that given.
    """
    with storage.reading(path, KIND) as file:
        found = Groups(
            t=int(file.attrs["t"]),
            starts=storage.read_array(file, "starts", "i"),
            names=storage.read_strings(file, "names"),
            born=storage.read_array(file, "born", "i", ndim=2),
        )
        held = int(file.attrs["window"])
        ends = found.starts[[0, -1]].tolist() if len(found.starts) > 1 else []
        if (
            ends != [0, len(found.names)]
            or found.born.shape != (len(found.names), 2)
            or (np.diff(found.starts) < 0).any()
        ):
            raise ValueError("documents and groups differ in number")
    if window is not None and held != window:
        raise DataError(f"{path} was made with a window of {held}", f"one of {window}", f"delete {path} and run again")
    return found


def advance(output, batch, previous=None, window=WINDOW):
    """Group the documents of one timestep with each other and with those of the timesteps before.

    Parameters
    ----------
    output : path-like
        Written: the groups.
    batch : path-like
        The batch; those before it lie beside it, as ``{t}.h5``.
    previous : path-like, optional
        What was written for the timestep before; none for timestep 0.
    window : int
        Timesteps before that documents are compared with.

    Returns
    -------
    Groups

    Raises
    ------
    DataError
        If the batch is not the one that follows, or was read without ``duplicates: true``.
    """
    before = read(previous, window) if previous else None
    wanted = before.t + 1 if before else 0
    ids, own, t = _read_batch(batch)
    if t != wanted:
        expected = f"timestep {wanted}, after {previous or 'nothing'}"
        raise DataError(f"{batch} is of timestep {t}", expected, "pass the batch that follows")
    kept = _last(before, window)
    n_steps = len(kept.starts) - 1
    paths = storage.earlier(os.path.dirname(os.path.abspath(batch)), t, n_steps) if n_steps else []
    parts = [_read_batch(path)[1] for path in paths]
    if [len(part) for part in parts] != np.diff(kept.starts).tolist():
        raise DataError(f"{previous} is of other batches", "the batches it was made from", f"delete {previous}")
    names = [*kept.names, *ids]
    born = np.concatenate([kept.born, np.column_stack([np.full(len(ids), t), np.arange(len(ids))])])
    firsts = {}
    roots = np.array([firsts.setdefault(name, row) for row, name in enumerate(kept.names)], dtype=np.int64)
    roots = connect([one for part in parts for one in part] + own, roots)
    oldest = {}  # root -> birth and name of the oldest group that it joins
    for row, root in enumerate(roots.tolist()):
        held = (*born[row].tolist(), names[row])
        oldest[root] = min(oldest.get(root, held), held)
    found = [oldest[root] for root in roots.tolist()]
    starts = np.append(kept.starts, len(names))
    names, born = [name for *_, name in found], np.array([birth for *birth, _ in found], dtype=np.int64).reshape(-1, 2)
    groups = Groups(t, starts, names, born)
    write(output, _last(groups, max(window, 1)), window)
    return groups


def _read_batch(path):
    """Return ids and sets of shingles of a batch, and its timestep."""
    with storage.reading(path, "batch") as file:
        if "shingles" not in file:
            given, todo = f"{path} has no shingles", "set options.duplicates of the corpus to true"
            raise DataError(given, "a batch of a corpus read for near-duplicates", todo)
        matrix, sets = rows.Matrix(file, "shingles"), []
        for _, part in matrix.parts():
            sets += np.split(part.indices, part.indptr[1:-1])
        ids = storage.read_strings(file, "ids")
        if len(ids) != len(sets):
            raise ValueError(f"{len(sets)} sets of shingles for {len(ids)} documents")
        return ids, sets, int(file.attrs["t"])


def _last(groups, n_steps):
    """Return the groups of the last timesteps, of which there may be fewer."""
    if groups is None:
        return Groups(-1, np.zeros(1, dtype=np.int64), [], np.empty((0, 2), dtype=np.int64))
    place = max(0, len(groups.starts) - 1 - n_steps)
    first = groups.starts[place]
    return Groups(groups.t, groups.starts[place:] - first, groups.names[first:], groups.born[first:])


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
            chunk = others[at : at + CHUNK]
            equal = (signatures[members[chunk]] == signatures[members[place]]).mean(axis=1)
            at += len(chunk)
            for other in documents[chunk[equal >= LIKELY]].tolist():
                if roots[other] != roots[row] and jaccard(sets[other], sets[row]) >= ALIKE:
                    low, high = sorted((int(roots[other]), int(roots[row])))
                    roots[roots == high] = low
                    others, at = others[at:][roots[documents[others[at:]]] != low], 0


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
    >>> from odl.alerts.duplicates import jaccard
    >>> jaccard(np.array([1, 2, 3]), np.array([2, 3, 4]))
    0.5
    """
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)
