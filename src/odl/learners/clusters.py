"""Clustering of documents: documents join, open and merge atoms. Also the recency of matches.

Recency factors reduce the similarity to old atoms if the documents of a stream match recent atoms
more often than expected by chance. The age of an atom is the number of documents since the last
document joined it. Two counters are stored for each bin of ages: the number of matches, and the
number expected if documents matched the atoms in memory at random.
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
NO_LIMIT = 1 << 62  # as a maximum number of terms per atom: no limit
# Edges between the age bins, in documents: 50, 100, 200, 350, 500, 700, 1000, ... 700,000.
AGE_EDGES = np.array(
    [50, *(round(step * 10**power) for power in range(2, 6) for step in (1, 2, 3.5, 5, 7))]
)
# Matches added to both counters of a bin, so that a few matches hardly change their ratio.
PRIOR = 100.0
BINS = len(AGE_EDGES) + 1
AGES = {name: ArraySpec("dense", (BINS,), between=(0, np.inf)) for name in ("matches", "expected")}


class Clusters:
    """Atoms while a batch is learned.

    Parameters
    ----------
    state : State
        State before the batch. Its cached index and inner products are taken out of the cache and
        changed in place.
    n_terms : int
        Size of the vocabulary of the batch.
    settings : dict
        Hyper-parameters terms, same, full and flatten of `odl.learners.adaptive.Adaptive`.
    worth : float
        Weight of a document of the batch in its atom.

    Attributes
    ----------
    changed : ndarray of int64
        Atoms that changed, sorted.
    """

    def __init__(self, state, n_terms, settings, worth):
        self.n_terms, self.arrays = max(n_terms, state.shape[0]), dict(state.arrays)
        self.settings, self.worth = settings, worth
        self.index = take_index(state, settings["flatten"])
        self.changed = np.empty(0, dtype=np.int64)
        self.atoms = state.derived.pop("merging", None)

    def learn(self, P):
        """Learn documents, whose rows have unit norm.

        Only their heaviest words are used, as many as an atom may have.

        Equation `merging` of docs/method.md.
        """
        starts, terms, weights = cut_rows(P, self.settings["terms"])
        for first in range(0, P.shape[0], LEARN_BLOCK):
            ends = starts[first : first + LEARN_BLOCK + 1]
            entries = slice(ends[0], ends[-1])
            self._learn(likeness.Rows(ends - ends[0], terms[entries], weights[entries]))

    def _learn(self, P):
        """Let the documents of a block (`Rows`) join, open and merge atoms; sum changed atoms.

        Updates `arrays`, `index`, `atoms` and `changed`.
        """
        arrays, index, count = self.arrays, self.index, len(P.starts) - 1
        documents = P._replace(terms=index.numbers.assign(P.terms, self.n_terms))
        # A single document needs no lists, since the block has no earlier document.
        lists = (
            likeness.invert_rows(documents, index.numbers.count) if count > 1 else likeness.NO_LISTS
        )
        if self.atoms is None:
            limit = int(arrays["limit"][0])
            merges = self.settings["full"] == "merge" and len(arrays["size"]) + count > limit
            self.atoms = to_merging(arrays, index, limit, merges)
        limit = len(self.atoms.documents)
        used, birth = (likeness.pad_zeros(arrays[name], limit) for name in ("used", "birth"))
        changed, places = atom_clusters.learn(
            (documents, index.lists.rows(), lists),
            arrays["size"],
            self.worth,
            self.atoms,
            used,
            birth,
            int(arrays["seen"][0]),
            float(self.settings["same"]),
            FULL_ACTIONS[self.settings["full"]],
        )
        n_atoms = int(self.atoms.counters[ward_merging.ATOMS])
        rows = index.columns[:3], (likeness.spans_of(P.starts), *P[1:])
        rule = self.settings["terms"], float(self.settings["flatten"])
        size = likeness.pad_zeros(arrays["size"], n_atoms)
        size[changed] = index.set_sums(
            changed, (places, arrays["size"], self.worth), rows, rule, (self.n_terms, n_atoms)
        )
        arrays |= {"used": used[:n_atoms], "birth": birth[:n_atoms], "seen": arrays["seen"] + count}
        arrays |= {"members": self.atoms.documents[:n_atoms].copy(), "size": size}
        self.changed = np.union1d(self.changed, changed) if len(self.changed) else changed
        if len(self.atoms.gram) and n_atoms == limit:
            renew_products(changed, size, index, self.atoms)
        else:  # inner products are needed only for merging, which begins when all slots are in use
            self.atoms = None

    def state(self, updates):
        """Return the state after the batch, with its cached index and products."""
        state = State.from_columns(self.index.columns, self.n_terms, self.arrays, updates)
        state.derived["index", self.settings["flatten"]] = self.index
        if self.atoms is not None:
            state.derived["merging"] = self.atoms
        return state


def index_of(state, power):
    """Return the inverted index of the atoms of a state, from its cache if possible."""
    index = state.derived.get(("index", power))
    if index is None:
        sums = state.derived.get("sums", False)
        index = state.derived["index", power] = likeness.build_index(state.dictionary, power, sums)
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

    A thread can thus score documents while another thread learns from the state.
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


def renew_products(changed, size, index, atoms):
    """Update norms, inner products and merging costs after some atoms have changed.

    `size` has the norms of all atoms.
    """
    rows = index.columns[:3], index.numbers.place, index.lists.rows()
    atom_clusters.renew(changed, *rows, size, atoms)


def to_merging(arrays, index, limit, merges=True):
    """Return the atoms of a state as a `Merging` with `limit` slots.

    If atoms may merge, it includes their inner products.
    """
    k = len(arrays["size"])
    gram = np.empty((limit, limit) if merges else (0, 0), dtype=np.float32)
    atoms = new_merging(gram, likeness.pad_zeros(arrays["members"], limit), k)
    renew_products(np.arange(k), arrays["size"], index, atoms)
    return atoms


def new_merging(gram, documents, n_atoms):
    """Return a `Merging` of `n_atoms` atoms without words; it has as many slots as `documents`."""
    k = len(documents)
    return Merging(
        gram,
        documents,
        squares=np.zeros(k),
        inverse=np.zeros(k),
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


def cut_rows(P, most):
    """Return the `most` heaviest words of each row of P; for ties, the first words."""
    return likeness.Rows(*inverted_lists.heaviest(most, likeness.as_rows(P)))


def with_matches(
    counters: dict[str, np.ndarray], bins: np.ndarray, weights: np.ndarray, matches: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the counters with the matches of one more batch.

    Equation `recency-counters` of docs/method.md.

    Parameters
    ----------
    counters : dict of str to ndarray
        Counters ``matches`` and ``expected`` before the batch; see `AGES`.
    bins : ndarray of int64, shape (n,)
        Bins of the ages of the atoms in memory (`age_bins`).
    weights : ndarray, shape (n,)
        Number of documents of each atom; the sum is above 0.
    matches : ndarray of int64, shape (n_documents, m)
        Atoms that each document matches best, -1 for none. A document counts as m matches, divided
        among its atoms in proportion to their numbers of documents.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import clusters
    >>> none = {"matches": np.zeros(clusters.BINS), "expected": np.zeros(clusters.BINS)}
    >>> bins, documents = clusters.age_bins(np.array([10, 60, 70])), np.array([1.0, 1.0, 2.0])
    >>> after = clusters.with_matches(none, bins, documents, np.array([[0, -1], [0, 2]]))
    >>> after["matches"][:3].round(2), after["expected"][:3]
    (array([1.67, 1.33, 0.  ]), array([0.75, 2.25, 0.  ]))
    """
    matched, expected = atom_clusters.count_matches(bins, weights, matches, BINS)
    return {
        "matches": counters["matches"] + matched,
        "expected": counters["expected"] + expected,
    }


def recency_of(counters: dict[str, np.ndarray], power: float) -> np.ndarray:
    """Return for each age bin the factor of cosines with atoms of this age.

    The factor is larger for ages with more matches than expected. All factors are divided by the
    square root of their mean over the matches, so that scores of different batches are comparable.

    Equation `recency` of docs/method.md.

    Parameters
    ----------
    counters : dict of str to ndarray
        Result of `with_matches`.
    power : float

    Returns
    -------
    ndarray, shape (BINS,)

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import clusters
    >>> counters = {name: np.full(clusters.BINS, 300.0) for name in ("matches", "expected")}
    >>> counters["matches"][0] = 1500.0
    >>> clusters.recency_of(counters, power=0.5)[:3].round(3)
    array([1.295, 0.648, 0.648])
    """
    matches = counters["matches"]
    ratio = (matches + PRIOR) / (counters["expected"] + PRIOR)
    factor, total = (ratio / ratio.max()) ** power, matches.sum()
    mean = (matches * factor).sum() / total if total else 1.0
    return factor / mean**0.5


def age_bins(ages: np.ndarray) -> np.ndarray:
    """Return the number of the age bin that contains each age.

    Bin 0 contains ages below ``AGE_EDGES[0]``. Bin i contains ages from ``AGE_EDGES[i - 1]`` up to,
    and without, ``AGE_EDGES[i]``. The last bin has no upper limit.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import clusters
    >>> clusters.age_bins(np.array([0, 49, 50, 100, 700_000]))
    array([ 0,  0,  1,  2, 21])
    """
    return AGE_EDGES.searchsorted(ages, side="right")
