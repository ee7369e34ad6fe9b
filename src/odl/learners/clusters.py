"""Clustering of documents: documents join, open and merge atoms. Also the recency of matches.

Recency: similarities to old atoms are reduced if documents of this stream match recent ones more
often than chance. The age of a match is the number of documents between it and the batch. For each
bin of ages two counters are stored: the number of matches, and the number expected if ages were
drawn at random from the memory.
"""

from contextlib import contextmanager

import numpy as np

from odl.kernels import atom_clusters, inverted_lists, ward_merging
from odl.kernels.records import Merging
from odl.learners import likeness
from odl.learners.base import ArraySpec, State

LEARN_BLOCK = 1024  # documents learned before atoms are truncated to their heaviest terms
FULL_ACTIONS = {
    "merge": atom_clusters.MERGE,
    "join": atom_clusters.JOIN,
    "retire": atom_clusters.RETIRE,
}
CANDIDATES, UNKNOWN = ward_merging.CANDIDATES, ward_merging.UNKNOWN
NO_LIMIT = 1 << 62  # number of terms that stands for no limit on an atom
# Smallest norm ||S_j|| when atoms merge. Squares of smaller ones are below single precision.
MIN_NORM = 2.0**-50
# Limits of the bins of ages, in documents.
AGE_EDGES = np.array(
    [50, *(round(step * 10**power) for power in range(2, 6) for step in (1, 2, 3.5, 5, 7))]
)
PRIOR = 100.0  # matches added to both counters of each bin
BINS = len(AGE_EDGES) + 1
AGE_BINS = np.searchsorted(AGE_EDGES, np.arange(10001), side="right")  # bin of each age to 10,000
AGES = {name: ArraySpec("dense", (BINS,), between=(0, np.inf)) for name in ("matches", "expected")}


class Clusters:
    """Atoms while a batch is learned.

    Parameters
    ----------
    state : State
        The clusters take over its cached index and products and change them in place.
    n_terms : int
        Size of the vocabulary of the batch.
    settings : dict
        terms, same, full and flatten of `odl.learners.adaptive.Adaptive`.
    worth : float
        Weight of a document in its atom.

    Attributes
    ----------
    changed : ndarray of int64
        Atoms that changed, sorted.
    """

    def __init__(self, state, n_terms, settings, worth):
        self.n_terms, self.arrays = max(n_terms, state.shape[0]), dict(state.arrays)
        self.settings, self.worth = settings, worth
        self.index, self.changed = (
            take_index(state, settings["flatten"]),
            np.empty(0, dtype=np.int64),
        )
        self.atoms = state.derived.pop("merging", None)

    def learn(self, P):
        """Learn documents, rows of unit norm, cut to the number of words that an atom may have.

        Equation `merging` of docs/method.md.
        """
        starts, terms, weights = cut_rows(P, self.settings["terms"])
        for first in range(0, P.shape[0], LEARN_BLOCK):
            ends = starts[first : first + LEARN_BLOCK + 1]
            entries = slice(ends[0], ends[-1])
            self._learn(likeness.Rows(ends - ends[0], terms[entries], weights[entries]))

    def _learn(self, P):
        """Let documents, given as `Rows`, join, open and merge atoms; sum the changed atoms."""
        arrays, index, count = self.arrays, self.index, len(P.starts) - 1
        documents = P._replace(terms=index.numbers.assign(P.terms, self.n_terms))
        k, n_numbers = len(arrays["size"]), index.numbers.count
        # A single document needs no lists: there is no earlier document to compare it with.
        lists_of_documents = (
            likeness.invert_rows(documents, n_numbers) if count > 1 else likeness.NO_LISTS
        )
        if self.atoms is None:
            room = int(arrays["limit"][0])
            merges = self.settings["full"] == "merge" and k + count > room
            self.atoms = to_merging(arrays, index, room, merges)
        room = len(self.atoms.documents)
        used, birth = pad_zeros(arrays["used"], room), pad_zeros(arrays["birth"], room)
        owner = np.arange(k + count)
        weight = np.concatenate([arrays["size"], np.full(count, self.worth)])
        pieces = documents, index.lists.rows(), lists_of_documents
        slots, seen = (self.atoms, used, birth), int(arrays["seen"][0])
        rule = float(self.settings["same"]), FULL_ACTIONS[self.settings["full"]]
        atom_clusters.learn(pieces, owner, merging_size(weight), *slots, seen, *rule)
        n_atoms = int(self.atoms.counters[ward_merging.ATOMS])
        arrays |= {name: slots[:n_atoms] for name, slots in (("used", used), ("birth", birth))}
        arrays |= {"members": self.atoms.documents[:n_atoms].copy(), "seen": arrays["seen"] + count}
        self._sum_changed(owner, weight, P)

    def _sum_changed(self, owner, weight, P):
        """Replace each changed atom by the sum of its pieces, cut to its heaviest terms.

        A piece is an atom before the batch or a document of the batch.
        """
        index, n_atoms = self.index, len(self.arrays["used"])
        k = len(index.columns.spans)
        is_changed = np.zeros(n_atoms + 1, dtype=bool)
        is_changed[owner[owner != np.arange(len(owner))]] = True
        is_changed[owner[k:]] = True
        changed = np.flatnonzero(is_changed[:-1])
        # The last entry of `places` and `is_changed` is for pieces that belong to no atom.
        places = np.full(n_atoms + 1, -1)
        places[changed] = np.arange(len(changed))
        source = np.arange(len(owner))
        rows = index.columns[:3], (likeness.spans_of(P.starts), *P[1:])
        rule, summands = (
            (self.settings["terms"], float(self.settings["flatten"])),
            (places[owner], source, weight),
        )
        sizes = index.set_sums(changed, summands, rows, rule, (self.n_terms, n_atoms))
        self.arrays["size"] = pad_zeros(self.arrays["size"], n_atoms)
        self.arrays["size"][changed] = sizes
        self.changed = np.union1d(self.changed, changed) if len(self.changed) else changed
        self._update_costs(changed)

    def _update_costs(self, changed):
        """Update inner products and merging costs of changed atoms; drop them if slots are free."""
        atoms, size = self.atoms, merging_size(self.arrays["size"])
        room = len(atoms.documents)
        if not len(atoms.gram) or len(size) < room:
            self.atoms = None
            return
        fill_products(size, self.index, changed, atoms.gram)
        atoms.squares[changed] = size[changed] ** 2
        atoms.inverse[changed] = 1.0 / np.where(size[changed] > 0, size[changed], np.inf)
        atom_clusters.settle(changed, atoms)

    def state(self, updates):
        """Return the state after the batch, with its cached index and products."""
        state = State.from_columns(self.index.columns, self.n_terms, self.arrays, updates)
        state.derived["index", self.settings["flatten"]] = self.index
        if self.atoms is not None:
            state.derived["merging"] = self.atoms
        return state


def index_of(state, power):
    """Return the index of the atoms of a state, cached with it."""
    index = state.derived.get(("index", power))
    if index is None:
        index = state.derived["index", power] = likeness.build_index(state.dictionary, power)
    return index


def take_index(state, power):
    """Remove the index from a state and return it for a later state.

    If another thread reads the index, a new one is built instead.
    """
    index = state.derived.pop(("index", power), None)
    return (
        likeness.build_index(state.dictionary, power) if index is None or index.readers else index
    )


@contextmanager
def reading(state, power):
    """Context in which the index of a state does not change.

    It is meant for a thread that scores while another thread learns from the state.
    """
    index = None
    while index is None or state.derived.get(("index", power)) is not index:
        if index:
            index.readers.pop()
        index = index_of(state, power)
        index.readers.append(None)
    try:
        yield index
    finally:
        index.readers.pop()


def pad_zeros(values, length):
    """Return a copy with zeros up to the length."""
    longer = np.zeros(length, dtype=values.dtype)
    longer[: len(values)] = values
    return longer


def merging_size(size):
    """Return the norms ||S_j|| that merging uses: at least `MIN_NORM`, or 0."""
    return np.where(size > 0, np.maximum(size, MIN_NORM), 0.0)


def fill_products(size, index, which, gram):
    """Fill the rows of the atoms in `which` in `gram` with inner products of these and all atoms.

    The atoms have the norms in `size`.
    """
    rows = index.columns.spans[which], *index.columns[1:3]
    inverted_lists.grams(which, rows, index.numbers.place, index.lists.rows(), size, gram)


def to_merging(arrays, index, room, merges=True):
    """Return the atoms of a state as a `Merging` with `room` slots.

    If atoms may merge, it includes their inner products.
    """
    size, k = merging_size(arrays["size"]), len(arrays["size"])
    gram = np.empty((room, room) if merges else (0, 0), dtype=np.float32)
    atoms = new_merging(gram, pad_zeros(arrays["members"], room), pad_zeros(size, room), k)
    if merges:
        fill_products(size, index, np.arange(k), gram)
    return atoms


def new_merging(gram, documents, size, n_atoms):
    """Return a `Merging` without known merging costs; it has as many slots as `documents`."""
    k = len(documents)
    atoms = Merging(
        gram,
        documents,
        squares=size**2,
        inverse=1.0 / np.where(size > 0, size, np.inf),
        inner=np.zeros(k),
        counts=np.zeros(k, dtype=np.float32),
        reciprocal=np.zeros(k, dtype=np.float32),
        stamp=np.full(k, ward_merging.NEVER, dtype=np.int32),
        recent=np.zeros(k + k // 4 + 1, dtype=np.int64),
        partner=np.full((k, CANDIDATES), UNKNOWN),
        cost=np.zeros((k, CANDIDATES), dtype=np.float32),
        price=np.full(k, np.inf, dtype=np.float32),
        least=np.full(k // ward_merging.BLOCK + 1, np.inf, dtype=np.float32),
        counters=np.array([n_atoms, 0, 0, 0]),
        places=np.zeros(k, dtype=np.int64),
    )
    atom_clusters.settle(np.arange(n_atoms), atoms)
    return atoms


def cut_rows(P, most):
    """Return the rows of documents with their `most` heaviest words; for ties, the first ones."""
    rows = likeness.as_rows(P)
    if np.diff(rows.starts).max(initial=0) <= most:
        return rows
    terms, weights = rows.terms.copy(), rows.weights.copy()
    starts, sizes = np.empty_like(rows.starts), np.empty(P.shape[0])
    inverted_lists.heaviest(most, (rows.starts, terms, weights), starts, sizes)
    entries = slice(starts[-1])
    return likeness.Rows(
        starts, terms[entries], weights[entries] * np.repeat(sizes, np.diff(starts))
    )


def with_matches(
    counters: dict[str, np.ndarray], ages: np.ndarray, weights: np.ndarray, matches: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the counters with the matches of one more batch.

    Equation `recency-counters` of docs/method.md.

    Parameters
    ----------
    counters : dict of str to ndarray
        Counters ``matches`` and ``expected`` before the batch; see `AGES`.
    ages : ndarray of int64, shape (n,)
        Ages of the atoms in memory.
    weights : ndarray, shape (n,)
        Number of documents of each atom; the sum is above 0.
    matches : ndarray of int64, shape (n_documents, m)
        Atoms that each document matches best, -1 for none. A document counts as m matches, which
        its atoms share in proportion to their number of documents.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import clusters
    >>> none = {"matches": np.zeros(clusters.BINS), "expected": np.zeros(clusters.BINS)}
    >>> ages, documents = np.array([10, 60, 70]), np.array([1.0, 1.0, 2.0])
    >>> after = clusters.with_matches(none, ages, documents, np.array([[0, -1], [0, 2]]))
    >>> after["matches"][:3].round(2), after["expected"][:3]
    (array([1.67, 1.33, 0.  ]), array([0.75, 2.25, 0.  ]))
    """
    bins, is_match = _bins(ages), matches >= 0
    shares, remembered = (
        np.where(is_match, weights[matches], 0.0),
        np.bincount(bins, weights, minlength=BINS),
    )
    shares *= (is_match.sum(axis=1) / np.maximum(shares.sum(axis=1), 1e-300))[:, None]
    return {
        "matches": counters["matches"]
        + np.bincount(bins[matches[is_match]], shares[is_match], minlength=BINS),
        "expected": counters["expected"] + is_match.sum() * remembered / remembered.sum(),
    }


def recency_of(counters: dict[str, np.ndarray], ages: np.ndarray, power: float) -> np.ndarray:
    """Return factors of cosines with atoms of these ages, larger for ages that match more often.

    They are divided by the root of their mean over matches, so that scores of different batches
    compare.

    Equation `recency` of docs/method.md.

    Parameters
    ----------
    counters : dict of str to ndarray
        Result of `with_matches`.
    ages : ndarray of int64
    power : float

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import clusters
    >>> counters = {name: np.full(clusters.BINS, 300.0) for name in ("matches", "expected")}
    >>> counters["matches"][0] = 1500.0
    >>> clusters.recency_of(counters, np.array([0, 49, 50]), power=0.5).round(3)
    array([1.295, 1.295, 0.648])
    """
    matches = counters["matches"]
    ratio = (matches + PRIOR) / (counters["expected"] + PRIOR)
    factor = (ratio / ratio.max()) ** power
    mean = (matches * factor).sum() / matches.sum() if matches.any() else 1.0
    return (factor / mean**0.5)[_bins(ages)]


def _bins(ages):
    """Return the bin of each age."""
    bins = AGE_BINS[np.minimum(ages, len(AGE_BINS) - 1)]
    old = np.flatnonzero(bins == AGE_BINS[-1])
    bins[old] = np.searchsorted(AGE_EDGES, ages[old], side="right")
    return bins
