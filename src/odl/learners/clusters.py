"""Clusters of documents while they are learned: documents join, open and merge atoms, a block after another.

Recency of matches: what was last seen long ago counts less, as far as documents so far match what is recent. The age
of a match is the number of documents between it and the batch. Two counters for each bin of ages are all that is kept:
how many matches had such an age, and how many would have if ages were drawn from what is remembered.
"""

import numpy as np
from scipy import sparse

from odl.kernels import marshalling, native
from odl.learners import likeness
from odl.learners.base import Kept, State
from odl.learners.sparse_atoms import widen

kernels = native.Kernels("atom_clusters")
lists = native.Kernels("inverted_lists")
BLOCK = 1024  # documents that are learned before atoms are cut
FULL = {"merge": 0, "join": 1, "retire": 2}  # as in odl.kernels.atom_clusters
ATOMS, TIME, START = 0, 1, 2  # counters, as in odl.kernels.ward_merging
PRICES, CANDIDATES, UNKNOWN = 64, 4, -2
NO_LIMIT = 1 << 62
EDGES = np.array([50, *(round(step * 10**power) for power in range(2, 6) for step in (1, 2, 3.5, 5, 7))])
PRIOR = 100.0  # matches of each bin, and as many expected, before there are any
BINS = len(EDGES) + 1
AGES = {name: Kept("dense", (BINS,), between=(0, np.inf)) for name in ("matches", "expected")}


class Clusters:
    """Atoms while a batch is learned.

    Parameters
    ----------
    state : State
        What it derived and what changes is taken from it.
    n_terms : int
        Of the batch.
    settings : dict
        terms, same, full and flatten, as of `odl.learners.adaptive.Adaptive`.
    worth : float
        Of a document in an atom.
    """

    def __init__(self, state, n_terms, settings, worth):
        self.dictionary = widen(state.dictionary, n_rows=n_terms)
        self.arrays = {name: value.copy() for name, value in state.arrays.items()}
        self.settings, self.worth = settings, worth
        self.index, self.changed = index_of(state, settings["flatten"]), np.empty(0, dtype=np.int64)
        self.atoms = state.derived.pop("merging", None)

    def learn(self, P):
        """Learn documents, rows of unit norm, by as many of their heaviest words as an atom keeps.

        Equation `merging` of docs/method.md.
        """
        P = shortened(P, self.settings["terms"])
        for first in range(0, P.shape[0], BLOCK):
            self._learn(P[first : first + BLOCK])

    def _learn(self, P):
        arrays, numbers, count = self.arrays, self.index.numbers, P.shape[0]
        documents = numbers.rows(P)
        new, before = likeness.inverted(documents, numbers.count), len(self.index.owner)
        if self.atoms is None:
            known, room = State(self.dictionary, arrays), int(arrays["limit"][0])
            known.derived["index", self.settings["flatten"]] = self.index
            merges = self.settings["full"] == "merge" and self.dictionary.shape[1] + count > room
            self.atoms = merging(known, self.settings["flatten"], room, merges)
        room, k = len(self.atoms.documents), self.dictionary.shape[1]
        used, birth = padded(arrays["used"], room), padded(arrays["birth"], room)
        owner = np.concatenate([self.index.owner, np.empty(count, dtype=np.int64)])
        weight = np.concatenate([padded(arrays["size"], k + 1)[self.index.owner], np.full(count, self.worth)])
        pieces = documents, self.index.early.rows(), self.index.late.rows(), new.rows()
        places, slots = (self.index.before, before), (self.atoms, used, birth)
        seen, rule = int(arrays["seen"][0]), (float(self.settings["same"]), FULL[self.settings["full"]])
        kernels.learn(pieces, owner, weight, np.empty(len(owner)), *slots, *places, seen, *rule)
        n_atoms = int(self.atoms.counters[ATOMS])
        arrays |= {name: slots[:n_atoms] for name, slots in (("used", used), ("birth", birth))}
        arrays |= {"members": self.atoms.documents[:n_atoms].copy(), "seen": arrays["seen"] + count}
        self._cut(owner, weight, P)

    def _cut(self, owner, weight, P):
        """Put the pieces of every atom that changed together, and cut it to its heaviest terms."""
        before, n_atoms, k = self.index.owner, len(self.arrays["used"]), self.dictionary.shape[1]
        moved = (before >= 0) & (owner[: len(before)] != before)
        changed = np.unique(np.concatenate([owner[: len(before)][moved], owner[len(before) :]]))
        changed = changed[changed >= 0]
        places = np.full(n_atoms + 1, -1)  # the last one: of pieces that are of no atom
        places[changed] = np.arange(len(changed))
        source = np.concatenate([before, k + np.arange(P.shape[0])])
        columns, sizes = sums(places[owner], source, weight, (self.dictionary, P), len(changed), self.settings["terms"])
        self.dictionary, self.index = likeness.exchanged(
            self.dictionary, self.index, changed, columns, self.settings["flatten"], n_atoms
        )
        self.arrays["size"] = padded(self.arrays["size"], n_atoms)
        self.arrays["size"][changed] = sizes
        self.changed = np.union1d(self.changed, changed)
        self._keep(changed)

    def _keep(self, changed):
        """Bring what is known for merging up to date with atoms that were cut, if all slots are used."""
        atoms, size = self.atoms, self.arrays["size"]
        room = len(atoms.documents)
        if not len(atoms.gram) or len(size) < room:
            self.atoms = None
            return
        products(size, self.index, changed, atoms.gram)
        atoms.squares[:], atoms.inverse[:] = size**2, inverse(size)
        times = atoms.counters[TIME] + np.arange(1, len(changed) + 1)
        atoms.stamp[changed], atoms.recent[times % room], atoms.partner[changed, 0] = times, changed, UNKNOWN
        atoms.counters[[TIME, START]] += len(changed)
        atoms.counters[START] = atoms.counters[TIME]

    def state(self, updates):
        """Return the state after the batch; what is derived of it goes with it."""
        state = State(self.dictionary, self.arrays, updates)
        state.derived["index", self.settings["flatten"]] = self.index
        if self.atoms is not None:
            state.derived["merging"] = self.atoms
        return state


def index_of(state, power):
    """Return the index of the atoms of a state, which is kept with it."""
    if ("index", power) not in state.derived:
        state.derived["index", power] = likeness.indexed(state.dictionary, power)
    return state.derived["index", power]


def padded(values, length):
    """Return a copy with zeros up to the length."""
    return np.pad(values, (0, length - len(values)))


def inverse(size):
    """Return 1 / size, 0 where there is none."""
    return np.where(size > 0, 1.0 / np.maximum(size, 1e-300), 0.0)


def products(size, index, which, gram):
    """Fill rows and columns of a matrix with the inner products of some atoms and all, of these sizes."""
    columns = likeness.taken(which, index.columns)
    rows = columns.starts, index.numbers.of(columns.terms, 0), columns.weights
    pieces = index.early.rows(), index.late.rows(), index.before, index.owner
    lists.grams(which, rows, *pieces, size, np.empty(len(index.owner)), gram)
    if len(which) < len(size):
        lists.mirror(which, gram)


def merging(state, power, room, merges=True):
    """Return the atoms of a state, which may merge, and their inner products if they do; there is room for so many."""
    size, k = state.arrays["size"], state.dictionary.shape[1]
    gram = np.empty((room, room) if merges else (0, 0))
    atoms = mergeable(gram, padded(state.arrays["members"], room), padded(size, room), k)
    if merges:
        products(size, index_of(state, power), np.arange(k), gram)
    return atoms


def mergeable(gram, documents, size, n_atoms):
    """Return atoms that may merge, of which nothing has been searched for; there is room for as many as `documents`."""
    k = len(documents)
    times, (recent, places) = np.zeros(k, dtype=np.int64), np.zeros((2, k), dtype=np.int64)
    times[:n_atoms] = np.arange(1, n_atoms + 1)
    partner, cost = np.full((k, CANDIDATES), UNKNOWN), np.zeros((k, CANDIDATES))
    prices = np.full(k, np.inf), np.full(k // PRICES + 1, np.inf)
    counters = np.array([n_atoms, n_atoms, n_atoms, -k])
    return marshalling.Merging(
        *(gram, documents, size**2, inverse(size), np.zeros(k), times, recent, partner, cost, *prices, counters),
        *(places, np.zeros(PRICES)),
    )


def sums(owner, source, weight, matrices, n_rows, most=NO_LIMIT):
    """Return sums of weighted columns and documents cut to their `most` largest weights, as columns of unit l2 norm.

    Parameters
    ----------
    owner : ndarray of int64
        Sum that each summand is part of, in their order; -1: none.
    source : ndarray of int64
        Column of each, or number of columns and document.
    weight : ndarray of float64
        What each is multiplied by.
    matrices : (csc_array, csr_array)
        The columns, and the documents.
    n_rows : int
        Sums.
    most : int

    Returns
    -------
    csc_array, shape (n_terms, n_rows)
    sizes : ndarray, shape (n_rows,)
        Norms of what is kept.
    """
    (A, P), order = matrices, np.argsort(owner, kind="stable")
    order = order[np.count_nonzero(owner < 0) :]
    first = np.searchsorted(owner[order], np.arange(n_rows + 1))
    source, early, late = source[order], likeness.compressed(A), likeness.compressed(P)
    size = np.concatenate([np.diff(early.starts), np.diff(late.starts)])[source].sum()
    result = np.empty(n_rows + 1, dtype=np.int64), np.empty(size, dtype=np.uint32), np.empty(size)
    lists.add_up(first, source, weight[order], early, late, np.zeros(P.shape[1]), result)
    (weights, terms, ends), sizes = _cut(most, *result)
    return sparse.csc_array((weights, terms, ends), shape=(P.shape[1], n_rows)), sizes


def shortened(P, most):
    """Return documents with no more than their `most` heaviest words, among equals the first."""
    if np.diff(P.indptr).max(initial=0) <= most:
        return P
    starts, terms, weights = likeness.compressed(P)
    (weights, terms, ends), sizes = _cut(most, starts, terms.copy(), weights.copy())
    return sparse.csr_array((weights * np.repeat(sizes, np.diff(ends)), terms, ends), shape=P.shape)


def _cut(most, starts, terms, weights):
    """Cut rows, which change, to their heaviest terms and unit norm; return their parts, and norms before."""
    ends, sizes = np.empty(len(starts), dtype=np.int64), np.empty(len(starts) - 1)
    lists.heaviest(most, (starts, terms, weights), ends, sizes)
    terms = terms[: ends[-1]].copy().view(np.int32)
    return (weights[: ends[-1]].copy(), terms, ends.astype(np.int32)), sizes


def with_matches(
    counters: dict[str, np.ndarray], ages: np.ndarray, weights: np.ndarray, matches: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the counters with the matches of one more batch.

    Equation `recency-counters` of docs/method.md.

    Parameters
    ----------
    counters : dict of str to ndarray
        ``matches`` and ``expected`` so far, of `AGES`.
    ages : ndarray of int64, shape (n,)
        Of all that is remembered.
    weights : ndarray, shape (n,)
        Documents that each stands for, above 0 in sum.
    matches : ndarray of int64, shape (n_documents, m)
        Places in `ages` of the best matches of each document, -1 where there are fewer. Of a document, each counts by
        what it stands for.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import clusters
    >>> none = {"matches": np.zeros(clusters.BINS), "expected": np.zeros(clusters.BINS)}
    >>> ages, documents, matches = np.array([10, 60, 70]), np.array([1.0, 1.0, 2.0]), np.array([[0, -1], [0, 2]])
    >>> after = clusters.with_matches(none, ages, documents, matches)
    >>> after["matches"][:3].round(2), after["expected"][:3]
    (array([1.67, 1.33, 0.  ]), array([0.75, 2.25, 0.  ]))
    """
    bins, there = np.searchsorted(EDGES, ages, side="right"), matches >= 0
    shares, remembered = np.where(there, weights[matches], 0.0), np.bincount(bins, weights, minlength=BINS)
    shares *= (there.sum(axis=1) / np.maximum(shares.sum(axis=1), 1e-300))[:, None]
    return {
        "matches": counters["matches"] + np.bincount(bins[matches[there]], shares[there], minlength=BINS),
        "expected": counters["expected"] + there.sum() * remembered / remembered.sum(),
    }


def recency_of(counters: dict[str, np.ndarray], ages: np.ndarray, power: float) -> np.ndarray:
    """Return what cosines with matches of these ages are multiplied by, more for ages that match more often.

    Half of what that takes from matches on average is given back, so that scores of different batches compare.

    Equation `recency` of docs/method.md.

    Parameters
    ----------
    counters : dict of str to ndarray
        As of `with_matches`.
    ages : ndarray of int64
    power : float

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import clusters
    >>> counters = {"matches": np.full(clusters.BINS, 300.0), "expected": np.full(clusters.BINS, 300.0)}
    >>> counters["matches"][0] = 1500.0
    >>> clusters.recency_of(counters, np.array([0, 49, 50]), power=0.5).round(3)
    array([1.295, 1.295, 0.648])
    """
    matches = counters["matches"]
    ratio = (matches + PRIOR) / (counters["expected"] + PRIOR)
    factor = (ratio / ratio.max()) ** power
    mean = (matches * factor).sum() / matches.sum() if matches.any() else 1.0
    return (factor / mean**0.5)[np.searchsorted(EDGES, ages, side="right")]
