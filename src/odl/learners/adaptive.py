"""Adaptive dictionary: at most k atoms, spent where the stream is new, merged where it repeats itself.

An atom is the sum of the documents that joined it. A document unlike every atom opens one; when all k are used, the
two atoms that lose least by it become one (agglomerative clustering, online; the merging cost is Ward's with the
root of the harmonic size). So memory and time per document are constant, and what the stream told long ago stays,
in less detail.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from odl.learners import likeness
from odl.learners.base import ArraySpec, Learner, Scores, State, setting
from odl.learners.clusters import AGES, FULL, Clusters, reading, recency_of, with_matches
from odl.learners.sparse_atoms import check_atoms, values_at, widen, with_data

NO_ATOM = 1e-12  # documents of an atom without words


class Explained(NamedTuple):
    """How similar documents are to the atoms nearest to them.

    Attributes
    ----------
    similarity : ndarray, shape (n_documents,)
        Weighted mean of the similarities to the nearest atoms.
    atoms : ndarray of int64, shape (n_documents, n_nearest)
        These atoms; -1 where there are fewer.
    matches : ndarray of int64, shape (n_documents, n_nearest)
        Nearest atoms without recency.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl import learners
    >>> learner = learners.make("adaptive")
    >>> learner.explain(learner.fresh(csc_array(np.eye(3)[:, :2])), csr_array([[0.6, 0.8, 0.0]])).atoms
    array([[1, 0]])
    """

    similarity: np.ndarray
    atoms: np.ndarray
    matches: np.ndarray


@dataclass(frozen=True)
class ClusterLearner(Learner):
    """Common part of `adaptive` and `levels`: atoms are sums of documents; a score is the distance to the nearest.

    Parameters
    ----------
    terms : int
        Heaviest terms that an atom keeps after each batch.
    same : float
        Cosine at which a document joins its nearest atom.
    half_life : int
        Documents after which the weight of a document in its atom has halved; 0 forgets nothing.
    nearest : int
        Atoms that a document is compared with.
    cohesion : float
        Power of the cohesion; 0 takes the plain cosine.
    flatten : float
        Power of an atom's weights in the cosine. Below 1 the terms of some of its documents count nearly as
        much as the terms of all of them.
    recency : float
        Power of the ratio of matches to those expected by chance, for atoms as old as this one. Its similarity is
        multiplied by it (`odl.learners.clusters`); 0 switches recency off.
    context : float
        Share of the score that is taken from the most similar documents of the same batch.
    peers : int
        Number of those documents.

    Examples
    --------
    >>> from odl import learners
    >>> from odl.learners.adaptive import ClusterLearner
    >>> [name for name in learners.LEARNERS if issubclass(learners.learner_class(name), ClusterLearner)]
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


@dataclass(frozen=True)
class Adaptive(ClusterLearner):
    """Novelty of a document: how far it is from the atoms nearest to it, measured by their own cohesion.

    With the cosine c_j of the document and atom j (its weights raised to `flatten`) and the cohesion
    rho_j = ||S_j|| / n_j, the mean cosine of the atom's own documents, the score is

        1 - sum_r w_r v_(r),   v_j = c_j / rho_j^cohesion,   w_r proportional to 1/r,

    over the `nearest` largest v. A document of a loosely knit topic is never close to the atom's middle: it is
    compared with what is usual there.

    Parameters
    ----------
    full : {"merge", "join", "retire"}
        When all atoms are used: merge the two that are cheapest to merge, let every document join its nearest
        atom, or drop the atom of the fewest documents.
    contrast : float
        Weight of the likeness to other documents of the same batch: what is new, and not alone in it, is a new
        topic rather than an odd document.

    Notes
    -----
    With `contrast` or `context` above 0 the score of a document depends on the batch that it comes in. The score is
    scaled by 1/(1 + contrast), so that it stays between 0 and 1.

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

    full: str = setting("merge", enum=tuple(FULL))
    contrast: float = setting(0.0, minimum=0)

    algorithm: ClassVar[str] = "adaptive"

    @property
    def in_batch(self) -> bool:
        """Whether the score of a document depends on the others of its batch."""
        return self.contrast > 0 or self.context > 0

    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first batch, from no atom on; at most `n_atoms` are ever made. Nothing is drawn."""
        check_atoms(P, n_atoms, on_demand=self.opens)
        nothing = self.fresh(sparse.csc_array((P.shape[1], 0)))
        nothing.arrays["limit"][0] = n_atoms
        return replace(self.learn(nothing, P, None), updates=0)

    @property
    def array_specs(self) -> dict[str, ArraySpec]:
        """Of atoms n_j, ||S_j||, number in the stream of first and last document; documents; most atoms; by ages."""
        return (AGES if self.recency else {}) | {
            "members": ArraySpec("dense", ("atoms",)),
            "size": ArraySpec("dense", ("atoms",)),
            "birth": ArraySpec("dense", ("atoms",), np.int64),
            "used": ArraySpec("dense", ("atoms",), np.int64),
            "seen": ArraySpec("dense", (1,), np.int64, between=(0, np.inf)),
            "limit": ArraySpec("dense", (1,), np.int64, between=("atoms", "start")),
        }

    def fresh(self, dictionary: sparse.csc_array) -> State:
        """Return the state in which each atom is one document."""
        sizes = np.sqrt(np.asarray(dictionary.multiply(dictionary).sum(axis=0)).ravel())
        scaled = sparse.csc_array(dictionary, copy=True)
        scaled.data = scaled.data / np.repeat(np.where(sizes > 0, sizes, 1.0), np.diff(scaled.indptr))
        state = super().fresh(scaled)
        for name, value in (("members", 1), ("size", 1), ("limit", scaled.shape[1])):
            state.arrays[name][:] = value
        return state

    def move_terms(self, state: State, places: np.ndarray, n_terms: int) -> State:
        """As of every learner; what an atom loses is cut off as by `terms`, and one without words is merged first."""
        return cut(state, super().move_terms(state, places, n_terms))

    def score(self, state: State, P: sparse.csr_array) -> Scores:
        """Compare documents with their nearest atoms; codes are their least-squares weights, not negative.

        Equation `adaptive-score` of docs/method.md.

        Returns
        -------
        Scores
            The residual is the first part of the score, the penalty is the part of `contrast`.
        """
        found = self.explain(state, P)
        residual, penalty = 1.0 - found.similarity, np.zeros(P.shape[0])
        if self.in_batch:
            residual, penalty = in_context(P, residual, self.contrast, self.context, self.peers)
        return Scores(self.code(state, P, found), np.maximum(residual, 0.0), penalty, 0.0, (found.atoms,))

    def code(self, state: State, P: sparse.csr_array, found: Explained) -> sparse.csr_array:
        """Return the codes of documents on their nearest atoms."""
        with reading(state, self.flatten) as index:
            return likeness.codes(P, index.columns, state.shape[0], found.atoms)

    def explain(self, state: State, P: sparse.csr_array) -> Explained:
        """Compare documents with their nearest atoms.

        The result for the last batch is stored with the state, so that `learn` need not repeat what `score` did.
        """
        batch, found = state.derived.get(("explained", self), (None, None))
        if batch is P:
            return found
        with reading(state, self.flatten) as index:
            documents, which = index.numbers.known_rows(sparse.csr_array(P)), index.owner
            scale, recent_scale = self._scales(state, which)
            if self.recency:
                plain, near = likeness.nearest_twice(documents, index, self.nearest, scale, recent_scale)
            else:
                plain = near = likeness.nearest(documents, index, self.nearest, scale, flat=True)
        found = Explained(self._mean(near), near.columns, plain.columns)
        state.derived["explained", self] = P, found
        return found

    def _mean(self, near):
        """Return the weighted mean similarity of documents to their nearest atoms, summed in their order."""
        mean = np.zeros(len(near.columns))
        for weight, values in zip(self._weights, near.similarity.T, strict=False):
            mean += weight * values
        return mean

    def shares(self, state: State, P: sparse.csr_array, scores: Scores) -> sparse.csr_array:
        """Return p_i (p_i - q_i) for each word, q = sum_r w_r a_(r) / rho_(r)^cohesion of the nearest flattened atoms.

        Below 0 for a word that the atoms have more of than the document. Of the batch as context, only the weight of
        the document's own part is counted.

        Equation `adaptive-shares` of docs/method.md.
        """
        P = sparse.csr_array(P)
        near = scores.nearest[0] if scores.nearest else self.explain(state, P).atoms
        return with_data(P, self.words_of(state, P, near))

    def words_of(self, state: State, P: sparse.csr_array, neighbours: np.ndarray) -> np.ndarray:
        """Return the shares of the entries of P by the nearest atoms, as `explain` returns them."""
        order = np.argsort(neighbours, axis=1)  # sums run in the order of the atoms
        atoms = np.take_along_axis(neighbours, order, axis=1)
        weights = np.where(atoms >= 0, self._weights[order], 0.0)
        used, place = np.unique(np.maximum(atoms, 0), return_inverse=True)
        A = sparse.csc_array(state.dictionary[:, used])
        starts, _, plain = likeness.compressed(A)
        scale = self._scales(state, slice(None))[1][used]
        data = likeness.flattened(starts, plain, self.flatten) * np.repeat(scale, np.diff(starts))
        flattened = sparse.csr_matrix((data, A.indices, A.indptr), shape=A.shape[::-1])  # of atoms in rows
        flattened = widen(flattened, n_columns=P.shape[1])
        rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
        each = place.reshape(atoms.shape)[rows].ravel(), np.repeat(P.indices, atoms.shape[1])
        parts = weights[rows] * values_at(flattened, *each).reshape(atoms[rows].shape)
        q = sum(parts.T, np.zeros(P.nnz))
        own = (1.0 - self.context) / (1.0 + self.contrast)
        return own * P.data * (P.data - q)

    def with_room(self, state: State, n_atoms: int) -> State:
        """Return the state with a higher limit of atoms."""
        limit = np.maximum(state.arrays["limit"], n_atoms)
        return replace(state, arrays={**state.arrays, "limit": limit})

    def _scales(self, state, which):
        """Return 1 / rho_j^cohesion of some atoms, and the same times recency factors; the last result is cached."""
        known, scales = state.derived.get(("scales", self), (None, None))
        if known is not which:
            size, members = (state.arrays[name][which] for name in ("size", "members"))
            cohesion = size / np.maximum(members, 1e-300)
            scale = np.where(cohesion > 0, 1.0 / np.maximum(cohesion, 1e-12) ** self.cohesion, 0.0)
            factors = recency_of(state.arrays, ages(state)[which], self.recency) if self.recency else 1.0
            scales = scale, scale * factors
            state.derived["scales", self] = which, scales
        return scales

    @property
    def _weights(self):
        """The weights w_r of the nearest atoms."""
        weights = 1.0 / np.arange(1, self.nearest + 1)
        return weights / weights.sum()

    def learn(
        self, state: State, P: sparse.csr_array, X: sparse.csr_array, history: Sequence[sparse.csr_array] = ()
    ) -> State:
        """Let the documents join, open and merge atoms in their order; the codes are not needed."""
        return self.clusters(state, P)[0].state(state.updates + 1)

    def clusters(self, state: State, P: sparse.csr_array) -> tuple:
        """Return the atoms after learning a batch, and whether all have been halved."""
        state = self.fit_terms(state, P.shape[1])
        arrays, worth, halves = dict(state.arrays), 1.0, False
        if self.recency and state.shape[1]:
            arrays |= with_matches(arrays, ages(state), arrays["members"], self.explain(state, P).matches)
        if self.half_life:
            seen = int(arrays["seen"][0])
            (halvings, _), (after, rest) = (divmod(n, self.half_life) for n in (seen, seen + P.shape[0]))
            worth = 2.0 ** (rest / self.half_life)
            halves = after > halvings
            if halves:
                arrays |= {name: arrays[name] * 0.5 ** (after - halvings) for name in ("members", "size")}
                state.derived.pop("merging", None)
        settings = {name: getattr(self, name) for name in ("terms", "same", "full", "flatten")}
        clusters = Clusters(state.with_arrays(arrays), P.shape[1], settings, worth)
        clusters.learn(P)
        return clusters, halves


def ages(state: State) -> np.ndarray:
    """Return how many documents there were since the last one of each atom."""
    return state.arrays["seen"] - 1 - state.arrays["used"]


def cut(before: State, after: State) -> State:
    """Return the state in which atoms that lost words have unit norm again, and ||S_j|| of what is left."""
    A, size, members = after.dictionary, after.arrays["size"], after.arrays["members"]
    lost = np.diff(A.indptr) < np.diff(before.dictionary.indptr)
    columns = np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))
    norms = np.where(lost, np.sqrt(np.bincount(columns, A.data**2, minlength=A.shape[1])), 1.0)
    data = A.data / np.where(norms > 0, norms, 1.0)[columns]
    empty = np.diff(A.indptr) == 0
    arrays = {**after.arrays, "size": size * norms, "members": np.where(empty, np.minimum(members, NO_ATOM), members)}
    return replace(after, dictionary=sparse.csc_array((data, A.indices, A.indptr), shape=A.shape), arrays=arrays)


def in_context(
    P: sparse.csr_array, scores: np.ndarray, contrast: float, context: float, peers: int
) -> tuple[np.ndarray, np.ndarray]:
    """Judge documents together with the most similar ones of their batch.

    With b the mean cosine to the `peers` most similar documents of the batch, N those documents and
    u = (s + contrast b) / (1 + contrast), the result is (1 - context) u + context sum_N cos^2 u / sum_N cos^2.

    Equation `adaptive-context` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        The batch, rows of unit l2 norm.
    scores : ndarray, shape (n_documents,)
        Scores s of the single documents, up to 1.
    contrast, context : float
    peers : int

    Returns
    -------
    residual, penalty : ndarray, shape (n_documents,)
        The parts made of s and of b; their sum is the result.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.adaptive import in_context
    >>> P = csr_array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> residual, penalty = in_context(P, np.array([0.2, 0.9, 0.4]), contrast=0.5, context=0.3, peers=2)
    >>> (residual + penalty).round(3)
    array([0.413, 0.685, 0.53 ])
    """
    total = P.shape[0]
    most = min(peers, total - 1)
    if most < 1:
        return scores / (1.0 + contrast), np.zeros(total)
    alike, cosines = likeness.nearest_among(P, most)
    weights = cosines**2
    sums = weights.sum(axis=1)
    share = np.where(sums > 0, context, 0.0)
    weights /= np.where(sums > 0, sums, 1.0)[:, None]
    parts = scores / (1.0 + contrast), contrast / (1.0 + contrast) * cosines.sum(axis=1) / peers
    residual, penalty = ((1.0 - share) * part + share * (weights * part[alike]).sum(axis=1) for part in parts)
    return residual, penalty
