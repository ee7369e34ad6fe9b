"""The learner `levels`: many small atoms, and groups of them, in one memory of fixed size.

The atoms are learned as in `odl.learners.adaptive`, but an atom has fewer words. Agglomerative
clustering puts the atoms into groups, by default one group for five atoms. A group is the sum of
its atoms, so the state stores only the group number of each atom. Small atoms recognise the threads
of a topic. Groups recognise topics that have few words of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse

from odl.errors import ParameterError
from odl.kernels import ward_merging
from odl.learners import likeness
from odl.learners.adaptive import Adaptive, ClusterLearner, rescale_atoms
from odl.learners.base import ArraySpec, Scores, State, setting
from odl.learners.clusters import NO_LIMIT, index_of, reading, to_merging
from odl.learners.peers import ORDERED, share_of_peers, with_peers
from odl.learners.sparse_atoms import check_atoms, with_data

# Numbers stored for each atom in addition to its words: the number of its documents n_j, the norm
# ||S_j||, its first document, its last document, its group.
PER_ATOM = 5
REGROUP = 500  # documents after which atoms are grouped again


@dataclass(frozen=True)
class Levels(ClusterLearner):
    """Score documents by their distance to the nearest atoms and to the nearest group of atoms.

    With v the similarity to the `nearest` atoms as in `adaptive`, and w that to the nearest group,
    the score is 1 - (1 - groups) v - groups w. An atom opened since the last grouping is a group of
    its own. A group is as recent as its youngest atom.

    Parameters
    ----------
    memory : int
        Numbers to store: words of atoms, and five more for each atom.
    merged : int
        Mean number of atoms in a group.
    groups : float
        Weight of the groups in the similarity.
    context : float
        Weight of the most similar documents of the same batch. In batches of at least 100
        documents, they influence the order of the scores, with a weight that is reduced in
        proportion below 250 documents. In smaller batches, a score moves towards their scores, with
        the weight .3 `context` (`odl.learners.peers`).

    Notes
    -----
    The number of atoms follows from `memory` and `terms`; `start` ignores its `n_atoms`. With
    `context` above 0 the score of a document depends on the other documents of its batch.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.6, 0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]])
    >>> learner = learners.make("levels")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes)
    >>> scores = learner.score(state, csr_array([[0.6, 0.8, 0.0, 0.0], [0.0, 0.0, 0.6, 0.8]]))
    >>> (scores.residual + scores.penalty).round(2)
    array([0.23, 1.  ])
    """

    memory: int = setting(150000, minimum=1)
    terms: int = setting(70, minimum=1)
    nearest: int = setting(3, minimum=1)
    merged: int = setting(5, minimum=1)
    groups: float = setting(0.5, minimum=0, maximum=1)
    recency: float = setting(0.5, earlier=0.0, minimum=0)

    algorithm: ClassVar[str] = "levels"
    numbers_per_atom: ClassVar[int] = PER_ATOM

    @property
    def in_batch(self) -> bool:
        """Whether the score of a document depends on the other documents of its batch."""
        return self.context > 0

    @property
    def limit(self) -> int:
        """Largest number of atoms that fits in `memory`.

        Raises
        ------
        ParameterError
            If no atom fits.
        """
        n_atoms = self.memory // (self.terms + PER_ATOM)
        if n_atoms < 1:
            expected = f"at least {self.terms + PER_ATOM}, one atom of {self.terms} terms"
            raise ParameterError(f"memory {self.memory}", expected, "raise memory or lower terms")
        return n_atoms

    @property
    def array_specs(self) -> dict[str, ArraySpec]:
        """Specifications of the arrays in the state.

        The state has the arrays of `adaptive` except "limit", and two others. "group" contains the
        number of the group of each atom, -1 if the atom is a group by itself. "grouped" is the
        number of documents at the time of the last grouping.
        """
        return {name: spec for name, spec in self._atoms.array_specs.items() if name != "limit"} | {
            "group": ArraySpec("dense", ("atoms",), np.int64, between=(-1, "atoms")),
            "grouped": ArraySpec("dense", (1,), np.int64, between=(0, np.inf)),
        }

    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first batch from an empty dictionary.

        `n_atoms` is only checked, and `rng` is not used.
        """
        check_atoms(P, n_atoms, on_demand=True)
        return replace(
            self.learn(self.fresh(sparse.csc_array((P.shape[1], 0))), P, None), updates=0
        )

    def fresh(self, dictionary: sparse.csc_array) -> State:
        """Return a state in which each atom is one document, and each group is one atom."""
        state = self._atoms.fresh(dictionary)
        arrays = super().fresh(dictionary).arrays
        arrays |= {name: value for name, value in state.arrays.items() if name in arrays}
        arrays["group"] = np.arange(dictionary.shape[1])
        return State(state.dictionary, arrays)

    def move_terms(self, state: State, places: np.ndarray, n_terms: int) -> State:
        """Return the state with terms renumbered and dropped.

        Atoms that lose terms are rescaled to unit norm.
        """
        return rescale_atoms(state, super().move_terms(state, places, n_terms))

    def score(self, state: State, P: sparse.csr_array) -> Scores:
        """Score documents by their nearest atoms and groups.

        The codes are non-negative least-squares weights of the atoms.

        Equation `levels-score` of docs/method.md.
        """
        parts = self._parts(state)
        explained = [learner.explain(level_state, P) for _, learner, level_state in parts]
        similarity = sum(
            weight * explained_level.similarity
            for (weight, _, _), explained_level in zip(parts, explained, strict=True)
        )
        residual = np.maximum(1.0 - similarity, 0.0)
        if self.in_batch:
            residual = with_peers(P, residual, self.context, self.peers)
        return Scores(
            coding=self._atoms.coding(state, P, explained[0]),
            residual=residual,
            penalty=np.zeros(P.shape[0]),
            gap=0.0,
            nearest=tuple(explained_level.atoms for explained_level in explained),
        )

    def shares(self, state: State, P: sparse.csr_array, scores: Scores) -> sparse.csr_array:
        """Return the contribution p_i (p_i - q_i) of each word to the score.

        The contribution is defined as in `adaptive`, with q the weighted sum of q over atoms and
        groups. It is negative if the word has a larger weight in the atoms than in the document.
        With `context`, contributions are multiplied by the weight of the document's own score:
        1 - `context`, or 1 - .3 `context` in batches of fewer than 100 documents.
        """
        P, word_shares = sparse.csr_array(P), np.zeros(P.nnz)
        for level, (weight, learner, level_state) in enumerate(self._parts(state)):
            atoms = (
                scores.nearest[level] if scores.nearest else learner.explain(level_state, P).atoms
            )
            word_shares += weight * learner.share_entries(level_state, P, atoms)
        share = share_of_peers(self.context, P.shape[0]) if P.shape[0] < ORDERED else self.context
        return with_data(P, (1.0 - share) * word_shares)

    def learn(
        self,
        state: State,
        P: sparse.csr_array,
        X: sparse.csr_array,
        history: Sequence[sparse.csr_array] = (),
    ) -> State:
        """Return the state after the documents joined, opened and merged atoms.

        The atoms are grouped again if 500 documents or more were learned since the last grouping.
        Until then, a new atom is a group by itself. The codes X are not used.
        """
        state = self._fit_memory(self.fit_terms(state, P.shape[1]))
        before, limit = state.arrays, np.array([self.limit])
        clusters, halved = self._atoms.clusters(state.with_arrays({**before, "limit": limit}), P)
        new = clusters.state(state.updates + 1)
        new.arrays.pop("limit")
        seen, grouped_at = int(new.arrays["seen"][0]), int(before["grouped"][0])
        regroups = grouped_at == 0 or seen - grouped_at >= REGROUP
        if regroups:
            group, grouped_at = self._group_atoms(new), seen
        else:
            group = np.full(new.shape[1], -1)
            group[: len(before["group"])] = before["group"]
            group[new.arrays["birth"] >= before["seen"][0]] = -1
        new.arrays.update(group=group, grouped=np.array([grouped_at]))
        if "groups" in state.derived and not regroups and not halved:
            new.derived["groups"] = self._sum_groups(new, state, clusters.changed)
        return new

    def _fit_memory(self, state):
        """Return the state without data that was cached for another value of `memory`.

        Raises
        ------
        ParameterError
            If the state has more atoms than `memory` allows.
        """
        n_atoms = state.shape[1]
        if n_atoms > self.limit:
            expected = (
                f"at least {n_atoms * (self.terms + PER_ATOM)}, "
                f"as there are {n_atoms} atoms already"
            )
            raise ParameterError(f"memory {self.memory}", expected, "raise memory or start again")
        slots = state.derived["groups"].shape[1] if "groups" in state.derived else 2 * self.limit
        merging_atoms = state.derived.get("merging")
        if slots != 2 * self.limit or (
            merging_atoms and len(merging_atoms.documents) != self.limit
        ):
            for name in ("groups", "merging"):
                state.derived.pop(name, None)
        return state

    @cached_property
    def _atoms(self):
        """Learner `adaptive` with these settings, for the level of atoms."""
        names = ("terms", "same", "half_life", "nearest", "cohesion", "flatten", "recency")
        return Adaptive(**{name: getattr(self, name) for name in names})

    @cached_property
    def _sums(self):
        """Learner `adaptive` for the level of groups, which uses only the nearest group."""
        return replace(self._atoms, nearest=1)

    def _parts(self, state):
        """Return (weight, learner, state) of the level of atoms and, if used, that of groups.

        The state of the second level has the groups as its atoms. It is cached in `state`.
        """
        if self.groups == 0 or not state.shape[1]:
            return [(1.0, self._atoms, state)]
        state = self._fit_memory(state)
        if "groups" not in state.derived:
            state.derived["groups"] = self._sum_groups(state)
        return [
            (1.0 - self.groups, self._atoms, state),
            (self.groups, self._sums, state.derived["groups"]),
        ]

    def _group_atoms(self, state):
        """Group the atoms; return the group of each atom, named by one of the group's atoms."""
        k, target = state.shape[1], max(1, self.limit // self.merged)
        if k <= target:
            return np.arange(k)
        atoms = state.derived.get("merging") or to_merging(
            state.arrays, index_of(state, self.flatten), k
        )
        return merge_groups(atoms, target)

    def _sum_groups(self, state, before=None, changed=None):
        """Return a state whose atoms are the groups.

        Parameters
        ----------
        state : State
        before : State, optional
            Earlier state whose cached groups are updated. Without it all groups are computed.
        changed : ndarray of int64, optional
            Atoms that changed since `before`.
        """
        arrays, n_slots, k = state.arrays, 2 * self.limit, state.shape[1]
        groups = before.derived.get("groups") if before else None
        index = groups.derived.pop(("index", self.flatten), None) if groups else None
        if index is None or index.readers:
            index = likeness.Index(likeness.NO_COLUMNS, state.shape[0], np.empty(0))
            changed, earlier_group = np.arange(k), arrays["group"][:0]
            new = {"members": np.zeros(n_slots), "size": np.zeros(n_slots)}
            new["used"] = np.full(n_slots, -1)
        else:
            earlier_group = before.arrays["group"]
            new = {name: groups.arrays[name].copy() for name in ("members", "size", "used")}
        slots, owner = ward_merging.update_groups(
            arrays["group"], earlier_group, changed, arrays["members"], arrays["used"],
            new["members"], new["used"],
        )  # fmt: skip
        with reading(state, self.flatten) as lists:
            rows = lists.columns[:3], likeness.NO_COLUMNS[:3]
        rule = NO_LIMIT, float(self.flatten)
        new["size"][slots] = index.set_sums(
            slots, (owner, arrays["size"], 0.0), rows, rule, (state.shape[0], n_slots)
        )
        groups = State.from_columns(index.columns, state.shape[0], {**arrays, **new}, 0)
        groups.derived.update({("index", self.flatten): index, "sums": True})
        return groups


def merge_groups(atoms, target):
    """Merge the pair of groups with the lowest merging cost until `target` groups remain.

    Parameters
    ----------
    atoms : odl.kernels.records.Merging
        Missing inner products and merging costs are computed and stored in `atoms`, which is
        otherwise unchanged.
    target : int

    Returns
    -------
    ndarray of int64, shape (k,)
        Group of each atom, named by one of its atoms. When groups merge, the name of the group with
        more documents is used; for ties, the name of the later group.
    """
    ward_merging.prepare(atoms)
    copies = (part.copy() for part in atoms[1:])
    return ward_merging.group(atoms._make((atoms.gram, *copies)), target)
