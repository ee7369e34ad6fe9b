"""Two levels of one memory: many small atoms, and their groups, which nothing has to be stored for.

The atoms are those of `odl.learners.adaptive`, short and as many as the memory holds. After a batch they are grouped
as documents are (the two that are cheapest to merge first) until a tenth is left. The sum of the atoms of a group is
the group's atom: small atoms tell documents apart where topics are made of threads, groups where stories are tight.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from odl.errors import ParameterError
from odl.kernels import native
from odl.learners import likeness
from odl.learners.adaptive import Adaptive
from odl.learners.atoms import check_atoms
from odl.learners.base import Learner, Scores, State
from odl.learners.batches import InMemory
from odl.learners.kept import Kept
from odl.learners.peers import in_order
from odl.learners.shares import with_data

kernels = native.Kernels("parents")
PER_ATOM = 5  # numbers stored for an atom beside its words: n_j, ||S_j||, first and last document, group
REGROUP = 500  # documents after which atoms are grouped anew
SAMPLE = 500  # documents of a batch that show how likeness depends on length
RECENT = 4000  # half-life, in such documents, of what they showed
ENOUGH = 50  # such documents, for a curve
SHIFT = 0.02  # added to a likeness before its logarithm is taken
USUAL = 2.5  # standard deviations of log length that the curve is used for
OF_ATOMS = ("members", "size", "birth", "used", "seen")  # what `adaptive` keeps too


@dataclass(frozen=True)
class Levels(Learner):
    """Novelty of a document: how far it is from the atoms and the groups of atoms nearest to it, for its length.

    With v the likeness to the `nearest` atoms as in `adaptive`, w that to the nearest group, and g(l) the curve of
    log likeness over log length that documents had when they came, the score is

        1 - [(1 - groups) v + groups w] exp(-length (g(l) - mean g)).

    Parameters
    ----------
    memory : int
        Numbers stored: words of atoms, and five for each atom beside them.
    terms : int
        Heaviest terms that an atom keeps after each batch.
    same, half_life, nearest, cohesion, flatten
        As of `adaptive`.
    merged : int
        Atoms that a group has on average.
    groups : float
        Weight of the groups in the likeness.
    length : float
        Part of the dependence on length that is taken out of the score.
    context : float
        Share of the order within a batch that is taken from the most similar documents of the batch.
    peers : int
        Number of those documents.

    Notes
    -----
    The number of atoms follows from `memory` and `terms`; what a run names as its number of atoms is not used. With
    `context` above 0 the score of a document depends on the batch that it comes in.
    """

    memory: int = 150000
    terms: int = 70
    same: float = 0.6
    half_life: int = 20000
    nearest: int = 3
    cohesion: float = 0.5
    flatten: float = 0.6
    merged: int = 10
    groups: float = 0.5
    length: float = 0.5
    context: float = 0.0
    peers: int = 10

    algorithm: ClassVar[str] = "levels"
    norm: ClassVar[str] = "l2"
    grows: ClassVar[bool] = True
    opens: ClassVar[bool] = True
    bounds: ClassVar[dict] = {
        "memory": {"minimum": 1},
        "terms": {"minimum": 1},
        "same": {"minimum": 0, "maximum": 1},
        "half_life": {"minimum": 0},
        "nearest": {"minimum": 1},
        "cohesion": {"minimum": 0},
        "flatten": {"exclusiveMinimum": 0},
        "merged": {"minimum": 1},
        "groups": {"minimum": 0, "maximum": 1},
        "length": {"minimum": 0, "maximum": 1},
        "context": {"minimum": 0, "maximum": 1},
        "peers": {"minimum": 1},
    }

    @property
    def in_batch(self):
        """Whether the score of a document depends on the others of its batch."""
        return self.context > 0

    @property
    def limit(self):
        """Atoms that the memory holds.

        Raises
        ------
        ParameterError
            If it holds none.
        """
        most = self.memory // (self.terms + PER_ATOM)
        if most < 1:
            expected = f"at least {self.terms + PER_ATOM}, one atom of {self.terms} terms"
            raise ParameterError(f"memory {self.memory}", expected, "raise memory or lower terms")
        return most

    @property
    def kept(self):
        """As of `adaptive`; the group of each atom (-1: none yet), documents when they were grouped, sums for g."""
        return {name: kept for name, kept in self._atoms.kept.items() if name in OF_ATOMS} | {
            "group": Kept("dense", ("atoms",), np.int64, between=(-1, "atoms")),
            "grouped": Kept("dense", (1,), np.int64, between=(0, np.inf)),
            "lengths": Kept("dense", (8,)),
        }

    def start(self, P, n_atoms, rng):
        """Learn the first batch, from no atom on. Nothing is drawn.

        The second half of the batch is also scored by what the first half alone would have taught, so that the
        dependence on length is known from the first timestep on.
        """
        check_atoms(P, n_atoms, on_demand=True)
        P = sparse.csr_array(P)
        nothing = self.fresh(sparse.csc_array((P.shape[1], 0)))
        half = P.shape[0] // 2
        state = replace(self.learn(nothing, P, None), updates=0)
        if half:
            before = self.learn(nothing, P[:half], None)
            state.arrays["lengths"][:] = self._lengths(before, InMemory(P[half:]))
        return state

    def fresh(self, dictionary):
        """Return the state in which each atom is one document."""
        state = self._atoms.fresh(dictionary)
        arrays = super().fresh(dictionary).arrays | {name: state.arrays[name] for name in OF_ATOMS}
        arrays["group"] = np.arange(dictionary.shape[1])
        return State(state.dictionary, arrays)

    def score(self, state, P):
        """Compare documents with their nearest atoms and groups; codes are weights of the atoms, not negative."""
        P = sparse.csr_array(P)
        likeness_of, X = self._likeness(state, P)
        residual = np.maximum(1.0 - likeness_of * self._factor(state, P), 0.0)
        if self.in_batch:
            residual = in_order(P, residual, self.context, self.peers)
        return Scores(X, residual, np.zeros(P.shape[0]), 0.0)

    def shares(self, state, P, scores):
        """Return p_i (p_i - f q_i) for each word, f the factor of the length, q the mean of what both levels have.

        Below 0 for a word that the atoms have more of than the document. With `context` it is the share of the
        document's own score, times 1 - `context`.
        """
        P = sparse.csr_array(P)
        squares, own = P.data**2, np.repeat(self._factor(state, P), np.diff(P.indptr))
        explained = np.zeros(P.nnz)
        for weight, learner, of in self._parts(state):
            explained += weight * (squares - learner.shares(of, P, scores).data)
        return with_data(P, (1.0 - self.context) * (squares - own * explained))

    def learn(self, state, P, X, history=()):
        """Let the documents join, open and merge atoms in their order; the codes are not needed."""
        return self.learn_parts(self.fit_terms(state, P.shape[1]), InMemory(sparse.csr_array(P)), history)

    def learn_parts(self, state, batch, history=()):
        """As `learn`: some documents are scored first, for their likeness at their length."""
        arrays = {name: state.arrays[name] for name in OF_ATOMS} | {"limit": np.array([self.limit])}
        lengths = self._lengths(state, batch) if state.dictionary.shape[1] else state.arrays["lengths"]
        new = self._atoms.learn_parts(State(state.dictionary, arrays, state.updates), batch)
        arrays = {name: new.arrays[name] for name in OF_ATOMS} | {"lengths": lengths}
        before, seen = int(state.arrays["grouped"][0]), int(arrays["seen"][0])
        if before == 0 or seen - before >= REGROUP:
            group, before = self._grouped(new), seen
        else:
            group = np.full(new.dictionary.shape[1], -1)
            group[: len(state.arrays["group"])] = state.arrays["group"]
            group[arrays["birth"] >= int(state.arrays["seen"][0])] = -1
        return State(new.dictionary, arrays | {"group": group, "grouped": np.array([before])}, new.updates)

    @property
    def _atoms(self):
        names = ("terms", "same", "half_life", "nearest", "cohesion", "flatten")
        return Adaptive(**{name: getattr(self, name) for name in names})

    def _parts(self, state):
        """Return weight, learner and state of each level: atoms, and groups as atoms of another state."""
        group = state.arrays["group"]
        inside = group >= 0
        numbers, places = np.unique(group[inside], return_inverse=True)
        if self.groups == 0 or not len(numbers):
            return [(1.0, self._atoms, state)]
        size = np.where(inside, state.arrays["size"], 0.0)
        joins = sparse.csc_array(
            (size[inside], (np.flatnonzero(inside), places)), shape=(len(group), len(numbers))
        )  # fmt: skip
        sums = sparse.csc_array(state.dictionary @ joins).sorted_indices()
        members = np.bincount(places, state.arrays["members"][inside], minlength=len(numbers))
        of_column = np.repeat(np.arange(len(numbers)), np.diff(sums.indptr))
        sizes = np.sqrt(np.bincount(of_column, sums.data**2, minlength=len(numbers)))
        sums.data = sums.data / np.where(sizes > 0, sizes, 1.0)[of_column]
        held = State(sums, {"members": members, "size": sizes})
        return [(1.0 - self.groups, self._atoms, state), (self.groups, replace(self._atoms, nearest=1), held)]

    def _likeness(self, state, P):
        """Return the likeness of documents to what is known, of both levels, and their codes on the atoms."""
        total, codes = np.zeros(P.shape[0]), None
        for weight, learner, of in self._parts(state):
            explained, _, X = learner.explain(of, P, likeness.n_threads())
            total += weight * explained
            codes = X if codes is None else codes
        return total, codes

    def _grouped(self, state):
        """Return the group of each atom: the number of one of its atoms."""
        k = state.dictionary.shape[1]
        owner, documents = np.arange(k), np.maximum(state.arrays["members"], 1e-12)
        target = max(1, self.limit // self.merged)
        if k > target:
            numbers = likeness.Numbers(state.dictionary.shape[0])
            rows = numbers.rows(state.dictionary)
            rows = rows._replace(weights=rows.weights * np.repeat(state.arrays["size"], np.diff(rows.starts)))
            gram = np.empty((k, k))
            likeness.kernels.grams(*rows, *likeness.inverted(rows, numbers.count), gram)
            partner, places = np.empty((2, k), dtype=np.int64)
            kernels.group(gram, documents, target, owner, np.empty(k), partner, np.empty(k), places)
        return owner

    def _lengths(self, state, batch):
        """Return the sums for g with some documents of the batch, as far as the state explains them."""
        every = -(-batch.shape[0] // SAMPLE)
        parts, first = [], 0
        for P, _ in batch.parts():
            rows = np.arange(-first % every, P.shape[0], every)
            parts.append(sparse.csr_array(P)[rows])
            first += P.shape[0]
        P = sparse.csr_array(sparse.vstack(parts, format="csr"))
        P = P[np.flatnonzero(np.diff(P.indptr))]
        x, y = _log_length(P), np.log(self._likeness(state, P)[0] + SHIFT)
        new = [np.ones(len(x)), x, x**2, x**3, x**4, y, x * y, x**2 * y]
        return state.arrays["lengths"] * 0.5 ** (len(x) / RECENT) + np.array([value.sum() for value in new])

    def _factor(self, state, P):
        """Return what the likeness of each document is multiplied by, for its length."""
        sums = state.arrays["lengths"]
        if self.length == 0 or sums[0] < ENOUGH:
            return np.ones(P.shape[0])
        means = sums / sums[0]
        middle, spread = means[1], np.sqrt(max(means[2] - means[1] ** 2, 0.0))
        curve = np.linalg.pinv(means[[[0, 1, 2], [1, 2, 3], [2, 3, 4]]], rcond=1e-9) @ means[5:8]
        x = np.clip(_log_length(P), middle - USUAL * spread, middle + USUAL * spread)
        return np.exp(-self.length * (curve[0] + curve[1] * x + curve[2] * x**2 - means[5]))


def _log_length(P):
    """Return the logarithm of one more than the number of different words of each document."""
    return np.log1p(np.diff(P.indptr))
