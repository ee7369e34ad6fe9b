"""The learner `adaptive`: online agglomerative clustering of documents into at most k atoms.

An atom is the sum of the documents that joined it. A document that is similar to no atom opens a
new one. When all k atoms are in use, the two with the lowest merging cost are merged; the cost is
Ward's with the square root of the harmonic size. Memory and time per document are constant, and old
topics remain in less detail.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from odl.kernels import atom_clusters
from odl.learners import likeness
from odl.learners.base import ArraySpec, Learner, Scores, State, setting
from odl.learners.clusters import (
    AGE_EDGES,
    AGES,
    BINS,
    FULL_ACTIONS,
    Clusters,
    age_bins,
    reading,
    recency_of,
    with_matches,
)
from odl.learners.sparse_atoms import check_atoms, values_at, widen, with_data

# Number of documents assigned to an atom that has lost all its words, so that it is merged first.
EMPTY_ATOM_DOCUMENTS = 1e-12


class Explained(NamedTuple):
    """Similarity of documents to their nearest atoms.

    Attributes
    ----------
    similarity : ndarray, shape (n_documents,)
        Weighted mean similarity to the nearest atoms.
    atoms : ndarray of int64, shape (n_documents, n_nearest)
        Nearest atoms; -1 if the dictionary has fewer.
    matches : ndarray of int64, shape (n_documents, n_nearest)
        Nearest atoms when recency factors are not applied.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl import learners
    >>> learner = learners.make("adaptive")
    >>> state = learner.fresh(csc_array(np.eye(3)[:, :2]))
    >>> learner.explain(state, csr_array([[0.6, 0.8, 0.0]])).atoms
    array([[1, 0]])
    """

    similarity: np.ndarray
    atoms: np.ndarray
    matches: np.ndarray


@dataclass(frozen=True)
class ClusterLearner(Learner):
    """Base class of `adaptive` and `levels`: clusters of documents, scored by cosine.

    An atom is a sum of documents. The score of a document is its distance to the nearest atoms.

    Parameters
    ----------
    terms : int
        Number of heaviest terms that an atom retains after each batch.
    same : float
        Smallest cosine at which a document joins its nearest atom.
    half_life : int
        Number of documents after which the weight of a document in its atom has halved; 0 disables
        forgetting.
    nearest : int
        Number of nearest atoms in a score.
    cohesion : float
        Exponent of the cohesion of an atom, by which the cosine is divided. With 0, the cosine is
        not divided.
    flatten : float
        Exponent of the weights of an atom in the cosine. Below 1, terms of a few of its documents
        count nearly as much as terms of all of them.
    recency : float
        Exponent of the recency factor of the similarity, which is the number of matches with atoms
        of the same age divided by the number expected by chance (`odl.learners.clusters`). 0
        disables recency.
    context : float
        Share of the score that comes from the most similar documents of the same batch (peers).
    peers : int
        Number of peers of a document.

    Examples
    --------
    >>> from odl.learners.adaptive import ClusterLearner
    >>> from odl.learners import LEARNERS, learner_class
    >>> [name for name in LEARNERS if issubclass(learner_class(name), ClusterLearner)]
    ['adaptive', 'levels']
    """

    terms: int = setting(300, minimum=1)
    same: float = setting(0.6, minimum=0, maximum=1)
    half_life: int = setting(20000, minimum=0)
    nearest: int = setting(2, minimum=1)
    cohesion: float = setting(0.5, minimum=0)
    flatten: float = setting(0.6, exclusiveMinimum=0)
    recency: float = setting(0.0, earlier=0.0, minimum=0)
    context: float = setting(0.0, minimum=0, maximum=1)
    peers: int = setting(10, minimum=1)

    norm: ClassVar[str] = "l2"
    grows: ClassVar[bool] = True
    opens: ClassVar[bool] = True
    uses_codes: ClassVar[bool] = False


@dataclass(frozen=True)
class Adaptive(ClusterLearner):
    """Score documents by their distance to the nearest atoms, relative to the atoms' cohesion.

    The score of a document is

        1 - sum_r w_r v_(r),   v_j = c_j / rho_j^cohesion,   w_r proportional to 1/r,

    where v_(1), v_(2), ... are the `nearest` largest v. c_j is the cosine of the document and atom
    j, whose weights are raised to the power `flatten`. rho_j = ||S_j|| / n_j is the cohesion of
    atom j, the mean cosine of its n_j documents to their sum S_j. Documents of a diverse topic are
    never close to the centre of their atom. Division by the cohesion compares a document with the
    usual distance in its atom.

    Parameters
    ----------
    full : {"merge", "join", "retire"}
        Action if a document needs a new atom and all atoms are in use: merge the two atoms with the
        lowest cost, let the document join its nearest atom, or drop the atom with the fewest
        documents.
    contrast : float
        Weight of the similarity to other documents of the same batch. It raises the scores of
        several similar new documents, a new topic, above those of single odd ones.

    Notes
    -----
    With `contrast` or `context` above 0, the score of a document depends on the other documents of
    its batch. Scores are divided by 1 + contrast, so that they are between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.6, 0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]])
    >>> learner = learners.make("adaptive")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> state = learner.learn(state, P, learner.score(state, P).codes)
    >>> scores = learner.score(state, csr_array([[0.6, 0.8, 0.0, 0.0], [0.0, 0.0, 0.6, 0.8]]))
    >>> (scores.residual + scores.penalty).round(2)
    array([0.33, 1.  ])
    """

    full: str = setting("merge", enum=tuple(FULL_ACTIONS))
    contrast: float = setting(0.0, minimum=0)

    algorithm: ClassVar[str] = "adaptive"

    @property
    def in_batch(self) -> bool:
        """Whether the score of a document depends on the other documents of its batch."""
        return self.contrast > 0 or self.context > 0

    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first batch from an empty dictionary of at most `n_atoms` atoms.

        `rng` is not used.
        """
        check_atoms(P, n_atoms, on_demand=self.opens)
        empty = self.fresh(sparse.csc_array((P.shape[1], 0)))
        empty.arrays["limit"][0] = n_atoms
        return replace(self.learn(empty, P, None), updates=0)

    @property
    def array_specs(self) -> dict[str, ArraySpec]:
        """Specifications of the arrays in the state.

        "members" and "size" contain n_j and ||S_j|| of each atom j. "birth" and "used" contain the
        positions in the stream of its first and last document. "seen" is the number of documents so
        far, "limit" the maximum number of atoms. With `recency`, two arrays count matches by age.
        """
        return (AGES if self.recency else {}) | {
            "members": ArraySpec("dense", ("atoms",)),
            "size": ArraySpec("dense", ("atoms",)),
            "birth": ArraySpec("dense", ("atoms",), np.int64),
            "used": ArraySpec("dense", ("atoms",), np.int64),
            "seen": ArraySpec("dense", (1,), np.int64, between=(0, np.inf)),
            "limit": ArraySpec("dense", (1,), np.int64, between=("atoms", "start")),
        }

    def fresh(self, dictionary: sparse.csc_array) -> State:
        """Return a state in which each atom consists of one document."""
        sizes = np.sqrt(np.asarray(dictionary.multiply(dictionary).sum(axis=0)).ravel())
        scaled = sparse.csc_array(dictionary, copy=True)
        scaled.data = scaled.data / np.repeat(
            np.where(sizes > 0, sizes, 1.0), np.diff(scaled.indptr)
        )
        state = super().fresh(scaled)
        for name, value in (("members", 1), ("size", 1), ("limit", scaled.shape[1])):
            state.arrays[name][:] = value
        return state

    def move_terms(self, state: State, places: np.ndarray, n_terms: int) -> State:
        """Return the state with terms renumbered and dropped.

        Atoms that lose terms are rescaled to unit norm.
        """
        return rescale_atoms(state, super().move_terms(state, places, n_terms))

    def score(self, state: State, P: sparse.csr_array) -> Scores:
        """Score documents by their nearest atoms.

        The codes are non-negative least-squares weights of these atoms.

        Equation `adaptive-score` of docs/method.md.

        Returns
        -------
        Scores
            The residual is the distance to the atoms, the penalty is the part that `contrast` adds.
        """
        explained = self.explain(state, P)
        residual, penalty = 1.0 - explained.similarity, np.zeros(P.shape[0])
        if self.in_batch:
            residual, penalty = combine_with_peers(
                P, residual, self.contrast, self.context, self.peers
            )
        return Scores(
            coding=self.coding(state, P, explained),
            residual=np.maximum(residual, 0.0),
            penalty=penalty,
            gap=0.0,
            nearest=(explained.atoms,),
        )

    def coding(self, state: State, P: sparse.csr_array, found: Explained) -> Callable:
        """Return a function that computes the codes of documents on their nearest atoms.

        The function may be called after later documents were learned, since entries of columns
        never change.
        """
        with reading(state, self.flatten) as index:
            columns = index.columns
        return partial(likeness.codes, P, columns, state.shape[0], found.atoms)

    def explain(self, state: State, P: sparse.csr_array) -> Explained:
        """Return the similarity of documents to their nearest atoms.

        The state caches the result for the last batch P, so that `learn` does not repeat the search
        of `score`.
        """
        batch, explained = state.derived.get(("explained", self), (None, None))
        if batch is P:
            return explained
        with reading(state, self.flatten) as index:
            scale, recent_scale = self._scales(state, index.owner)
            if self.recency:
                without_recency, nearest = likeness.nearest_twice(
                    P, index, self.nearest, scale, recent_scale
                )
            else:
                without_recency = nearest = likeness.nearest(
                    P, index, self.nearest, scale, flat=True
                )
        explained = Explained(self._mean(nearest), nearest.columns, without_recency.columns)
        state.derived["explained", self] = P, explained
        return explained

    def _mean(self, nearest):
        """Return the mean similarity to the nearest atoms, weighted by `_weights`."""
        return (nearest.similarity * self._weights[: nearest.similarity.shape[1]]).sum(axis=1)

    def shares(self, state: State, P: sparse.csr_array, scores: Scores) -> sparse.csr_array:
        """Return the share p_i (p_i - q_i) of each word in the score.

        q = sum_r w_r a_(r) / rho_(r)^cohesion over the nearest atoms, which are flattened. A share
        is negative if the atoms have a larger weight of the word than the document. With `context`
        or `contrast`, shares are scaled by the weight of the document's own distance in its score.

        Equation `adaptive-shares` of docs/method.md.
        """
        P = sparse.csr_array(P)
        atoms = scores.nearest[0] if scores.nearest else self.explain(state, P).atoms
        return with_data(P, self.share_entries(state, P, atoms))

    def share_entries(
        self, state: State, P: sparse.csr_array, neighbours: np.ndarray
    ) -> np.ndarray:
        """Return the share of each entry of P, given the nearest atoms that `explain` returns."""
        order = np.argsort(neighbours, axis=1)  # products are summed in ascending order of atoms
        atoms = np.take_along_axis(neighbours, order, axis=1)
        weights = np.where(atoms >= 0, self._weights[order], 0.0)
        used, atom_positions = np.unique(np.maximum(atoms, 0), return_inverse=True)
        A = sparse.csc_array(state.dictionary[:, used])
        starts, _, weights_of_atoms = likeness.as_rows(A)
        scale = self._scales(state, used)[1]
        data = likeness.flatten_weights(starts, weights_of_atoms, self.flatten) * np.repeat(
            scale, np.diff(starts)
        )
        # atoms x terms
        flattened = sparse.csr_matrix((data, A.indices, A.indptr), shape=A.shape[::-1])
        flattened = widen(flattened, n_columns=P.shape[1])
        rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
        entries = (
            atom_positions.reshape(atoms.shape)[rows].ravel(),
            np.repeat(P.indices, atoms.shape[1]),
        )
        products = weights[rows] * values_at(flattened, *entries).reshape(atoms[rows].shape)
        q = sum(products.T, np.zeros(P.nnz))
        own_weight = (1.0 - self.context) / (1.0 + self.contrast)
        return own_weight * P.data * (P.data - q)

    def with_room(self, state: State, n_atoms: int) -> State:
        """Return the state with a higher limit of atoms."""
        limit = np.maximum(state.arrays["limit"], n_atoms)
        return replace(state, arrays={**state.arrays, "limit": limit})

    def _scales(self, state, which):
        """Return two arrays of factors for the cosines with the atoms `which`.

        The first contains 1 / rho_j^cohesion. The second is the first times the recency factors,
        which are 1 if `recency` is 0.
        """
        arrays, factors = state.arrays, np.ones(BINS)
        if self.recency:
            factors = recency_of(arrays, self.recency)
        ages = arrays["used"], int(arrays["seen"][0]), AGE_EDGES, factors
        cohesion = arrays["size"], arrays["members"], float(self.cohesion)
        return atom_clusters.scales(which, *cohesion, *ages)

    @cached_property
    def _weights(self):
        """Weights w_r of the nearest atoms."""
        weights = 1.0 / np.arange(1, self.nearest + 1)
        return weights / weights.sum()

    def learn(
        self,
        state: State,
        P: sparse.csr_array,
        X: sparse.csr_array,
        history: Sequence[sparse.csr_array] = (),
    ) -> State:
        """Return the state after the documents, in order, joined, opened and merged atoms.

        The codes X are not used.
        """
        return self.clusters(state, P)[0].state(state.updates + 1)

    def clusters(self, state: State, P: sparse.csr_array) -> tuple:
        """Return (clusters after learning a batch, whether forgetting has rescaled all atoms)."""
        state = self.fit_terms(state, P.shape[1])
        arrays, document_weight, halves = dict(state.arrays), 1.0, False
        if self.recency and state.shape[1]:
            bins = age_bins(arrays["seen"] - 1 - arrays["used"])
            matches = self.explain(state, P).matches
            arrays |= with_matches(arrays, bins, arrays["members"], matches)
        # Forgetting: the weight of a new document grows from 1 to 2 in a half-life. Then all atoms
        # are halved, and the weight is 1 again.
        if self.half_life:
            seen = int(arrays["seen"][0])
            halvings_before = seen // self.half_life
            halvings, since_halving = divmod(seen + P.shape[0], self.half_life)
            document_weight = 2.0 ** (since_halving / self.half_life)
            halves = halvings > halvings_before
            if halves:
                factor = 0.5 ** (halvings - halvings_before)
                arrays |= {name: arrays[name] * factor for name in ("members", "size")}
                state.derived.pop("merging", None)
        settings = {name: getattr(self, name) for name in ("terms", "same", "full", "flatten")}
        clusters = Clusters(state.with_arrays(arrays), P.shape[1], settings, document_weight)
        clusters.learn(P)
        return clusters, halves


def rescale_atoms(before: State, after: State) -> State:
    """Return the state `after`, in which atoms that lost terms since `before` have unit norm.

    The norms ||S_j|| are reduced accordingly. An atom without terms is merged first, because its
    number of documents becomes `EMPTY_ATOM_DOCUMENTS`.
    """
    A, size, members = after.dictionary, after.arrays["size"], after.arrays["members"]
    lost = np.diff(A.indptr) < np.diff(before.dictionary.indptr)
    columns = np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))
    norms = np.where(lost, np.sqrt(np.bincount(columns, A.data**2, minlength=A.shape[1])), 1.0)
    data = A.data / np.where(norms > 0, norms, 1.0)[columns]
    empty = np.diff(A.indptr) == 0
    arrays = {
        **after.arrays,
        "size": size * norms,
        "members": np.where(empty, np.minimum(members, EMPTY_ATOM_DOCUMENTS), members),
    }
    return replace(
        after,
        dictionary=sparse.csc_array((data, A.indices, A.indptr), shape=A.shape),
        arrays=arrays,
    )


def combine_with_peers(
    P: sparse.csr_array, scores: np.ndarray, contrast: float, context: float, peers: int
) -> tuple[np.ndarray, np.ndarray]:
    """Combine the score of each document with the scores of its peers.

    N are the peers of a document: the `peers` most similar documents in its batch. With b the mean
    cosine to the peers and u = (s + contrast b) / (1 + contrast), the result is

        (1 - context) u + context sum_N cos^2 u / sum_N cos^2.

    Equation `adaptive-context` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        The batch, rows of unit l2 norm.
    scores : ndarray, shape (n_documents,)
        Scores s of the documents alone, at most 1.
    contrast, context : float
    peers : int

    Returns
    -------
    residual, penalty : ndarray, shape (n_documents,)
        Parts of the result that come from s and from b; their sum is the result.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.adaptive import combine_with_peers
    >>> P = csr_array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> s = np.array([0.2, 0.9, 0.4])
    >>> residual, penalty = combine_with_peers(P, s, contrast=0.5, context=0.3, peers=2)
    >>> (residual + penalty).round(3)
    array([0.413, 0.685, 0.53 ])
    """
    n_documents = P.shape[0]
    n_peers = min(peers, n_documents - 1)
    if n_peers < 1:
        return scores / (1.0 + contrast), np.zeros(n_documents)
    peer_documents, cosines = likeness.nearest_among(P, n_peers)
    weights = cosines**2
    sums = weights.sum(axis=1)
    share = np.where(sums > 0, context, 0.0)
    weights /= np.where(sums > 0, sums, 1.0)[:, None]
    parts = scores / (1.0 + contrast), contrast / (1.0 + contrast) * cosines.sum(axis=1) / peers
    residual, penalty = (
        (1.0 - share) * part + share * (weights * part[peer_documents]).sum(axis=1)
        for part in parts
    )
    return residual, penalty
