"""Adaptive dictionary: at most k atoms, spent where the stream is new, merged where it repeats itself.

An atom is the sum of the documents that joined it. A document unlike every atom opens one; when all k are used, the
two atoms that lose least by it become one (agglomerative clustering, online; the merging cost is Ward's with the
root of the harmonic size). So memory and time per document are constant, and what the stream told long ago stays,
in less detail.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from odl.kernels import native
from odl.learners.atoms import check_atoms
from odl.learners.base import Learner, Scores, State
from odl.learners.batches import BLOCK, InMemory
from odl.learners.kept import Kept
from odl.learners.matrices import largest_per_row, widen
from odl.learners.shares import entries, with_data

clusters = native.Kernels("clusters")
FULL = {"merge": 0, "join": 1, "retire": 2}  # as in odl.kernels.clusters
SWEEPS = 30  # of coordinate descent over a handful of atoms


@dataclass(frozen=True)
class Adaptive(Learner):
    """Novelty of a document: how far it is from the atoms nearest to it, measured by their own cohesion.

    With the cosine c_j of the document and atom j (its weights raised to `flatten`) and the cohesion
    rho_j = ||S_j|| / n_j, the mean cosine of the atom's own documents, the score is

        1 - sum_r w_r v_(r),   v_j = c_j / rho_j^cohesion,   w_r proportional to 1/r,

    over the `nearest` largest v. A document of a loosely knit topic is never close to the atom's middle: it is
    compared with what is usual there.

    Parameters
    ----------
    terms : int
        Heaviest terms that an atom keeps after each batch.
    same : float
        Cosine from which on a document joins its nearest atom without more ado.
    full : {"merge", "join", "retire"}
        When all atoms are used: merge the two that are cheapest to merge, let every document join its nearest
        atom, or drop the atom of the fewest documents.
    half_life : int
        Documents after which the weight of a document in its atom has halved; 0 forgets nothing.
    nearest : int
        Atoms that a document is compared with.
    cohesion : float
        Power of the cohesion; 0 takes the plain cosine.
    flatten : float
        Power of an atom's weights in the cosine. Below 1 the terms of some of its documents count nearly as
        much as the terms of all of them.
    contrast : float
        Weight of the likeness to other documents of the same batch: what is new, and not alone in it, is a new
        topic rather than an odd document.
    context : float
        Share of the score that is taken from the most similar documents of the same batch.
    peers : int
        Number of those documents.

    Notes
    -----
    With `contrast` or `context` above 0 the score of a document depends on the batch that it comes in. The score is
    scaled by 1/(1 + contrast), so that it stays between 0 and 1.
    """

    terms: int = 300
    same: float = 0.6
    full: str = "merge"
    half_life: int = 20000
    nearest: int = 2
    cohesion: float = 0.5
    flatten: float = 0.6
    contrast: float = 0.0
    context: float = 0.0
    peers: int = 10

    algorithm: ClassVar[str] = "adaptive"
    norm: ClassVar[str] = "l2"
    grows: ClassVar[bool] = True
    choices: ClassVar[dict] = {"full": tuple(FULL)}
    bounds: ClassVar[dict] = {
        "terms": {"minimum": 1},
        "same": {"minimum": 0, "maximum": 1},
        "half_life": {"minimum": 0},
        "nearest": {"minimum": 1},
        "cohesion": {"minimum": 0},
        "flatten": {"exclusiveMinimum": 0},
        "contrast": {"minimum": 0},
        "context": {"minimum": 0, "maximum": 1},
        "peers": {"minimum": 1},
    }

    @property
    def in_batch(self):
        """Whether the score of a document depends on the others of its batch."""
        return self.contrast > 0 or self.context > 0

    def start(self, P, n_atoms, rng):
        """Learn the first batch, from no atom on; at most `n_atoms` are ever made. Nothing is drawn."""
        check_atoms(P, n_atoms)
        nothing = self.fresh(sparse.csc_array((P.shape[1], 0)))
        nothing.arrays["limit"][0] = n_atoms
        return replace(self.learn(nothing, P, None), updates=0)

    @property
    def kept(self):
        """Of each atom n_j, ||S_j||, number in the stream of the first and last document; documents; most atoms."""
        return {
            "members": Kept("dense", ("atoms",)),
            "size": Kept("dense", ("atoms",)),
            "birth": Kept("dense", ("atoms",), np.int64),
            "used": Kept("dense", ("atoms",), np.int64),
            "seen": Kept("dense", (1,), np.int64, between=(0, np.inf)),
            "limit": Kept("dense", (1,), np.int64, between=("atoms", "start")),
        }

    def fresh(self, dictionary):
        """Return the state in which each atom is one document."""
        sizes = np.sqrt(np.asarray(dictionary.multiply(dictionary).sum(axis=0)).ravel())
        scaled = sparse.csc_array(dictionary, copy=True)
        scaled.data = scaled.data / np.repeat(np.where(sizes > 0, sizes, 1.0), np.diff(scaled.indptr))
        state = super().fresh(scaled)
        for name, value in (("members", 1), ("size", 1), ("limit", scaled.shape[1])):
            state.arrays[name][:] = value
        return state

    def score(self, state, P):
        """Compare documents with their nearest atoms; codes are their least-squares weights, not negative.

        Returns
        -------
        Scores
            The residual is the first part of the score, the penalty is the part of `contrast`.
        """
        A = widen(state.dictionary, n_rows=P.shape[1])
        P = sparse.csr_array(P).sorted_indices()
        flat, scale = self._flat(state, A)
        explained, codes = np.zeros(P.shape[0]), []
        for first in range(0, P.shape[0], BLOCK):
            part = P[first : first + BLOCK]
            found, chosen = self._nearest(sparse.csr_array(part @ flat).toarray() * scale)
            explained[first : first + BLOCK] = found
            codes.append(_coded(part, A, chosen))
        residual, penalty = 1.0 - explained, np.zeros(P.shape[0])
        if self.in_batch:
            residual, penalty = in_context(P, residual, self.contrast, self.context, self.peers)
        X = sparse.vstack(codes, format="csr") if codes else sparse.csr_array((0, A.shape[1]))
        return Scores(sparse.csr_array(X), np.maximum(residual, 0.0), penalty, 0.0)

    def shares(self, state, P, scores):
        """Return p_i (p_i - q_i) for each word, q = sum_r w_r a_(r) / rho_(r)^cohesion of the nearest flattened atoms.

        Below 0 for a word that the atoms have more of than the document. Of the batch as context, only the weight of
        the document's own part is counted.
        """
        P = sparse.csr_array(P)
        flat, scale = self._flat(state, widen(state.dictionary, n_rows=P.shape[1]))
        likeness = []
        for first in range(0, P.shape[0], BLOCK):
            values = sparse.csr_array(P[first : first + BLOCK] @ flat).toarray() * scale
            chosen = self._nearest(values)[1]
            rows, ranks = np.nonzero(chosen >= 0)
            atoms = chosen[rows, ranks]
            weights = self._weights[ranks] * scale[atoms]
            likeness.append(sparse.csr_array((weights, (rows, atoms)), shape=values.shape))
        nearest = sparse.csr_array(sparse.vstack(likeness, format="csr") @ flat.T) if likeness else P
        own = (1.0 - self.context) / (1.0 + self.contrast)
        return with_data(P, own * P.data * (P.data - entries(nearest, P)))

    def with_room(self, state, n_atoms):
        """Return the state with a higher limit of atoms."""
        limit = np.maximum(state.arrays["limit"], n_atoms)
        return replace(state, arrays={**state.arrays, "limit": limit})

    def _flat(self, state, A):
        """Return the atoms with their weights raised to `flatten`, of unit norm, and 1 / rho_j^cohesion."""
        flat = sparse.csc_array((A.data**self.flatten, A.indices, A.indptr), shape=A.shape)
        sizes = np.sqrt(np.bincount(_columns(flat), flat.data**2, minlength=A.shape[1]))
        flat.data = flat.data / np.repeat(np.where(sizes > 0, sizes, 1.0), np.diff(flat.indptr))
        cohesion = state.arrays["size"] / np.maximum(state.arrays["members"], 1e-300)
        return flat, np.where(cohesion > 0, 1.0 / np.maximum(cohesion, 1e-12) ** self.cohesion, 0.0)

    @property
    def _weights(self):
        """The weights w_r of the nearest atoms."""
        weights = 1.0 / np.arange(1, self.nearest + 1)
        return weights / weights.sum()

    def _nearest(self, values):
        """Return the weighted mean of the largest values of each row, and the atoms that they belong to."""
        most = min(self.nearest, values.shape[1])
        if most == 0:
            return np.zeros(len(values)), np.zeros((len(values), 0), dtype=np.int64)
        chosen = np.argpartition(-values, most - 1, axis=1)[:, :most]
        largest = np.take_along_axis(values, chosen, axis=1)
        order = np.argsort(-largest, axis=1, kind="stable")
        chosen, largest = np.take_along_axis(chosen, order, axis=1), np.take_along_axis(largest, order, axis=1)
        return largest @ self._weights[:most], np.where(largest > 0, chosen, -1)

    def learn(self, state, P, X, history=()):
        """Let the documents join, open and merge atoms in their order; the codes are not needed."""
        return self.learn_parts(self.fit_terms(state, P.shape[1]), InMemory(sparse.csr_array(P)), history)

    def learn_parts(self, state, batch, history=()):
        """As `learn`: once through the batch for its terms, once to learn."""
        memory = {name: value.copy() for name, value in state.arrays.items()}
        n_atoms, n_slots = state.dictionary.shape[1], int(memory["limit"][0])
        kept = 0.5 ** (batch.shape[0] / self.half_life) if self.half_life else 1.0
        memory["members"] *= kept
        memory["size"] *= kept
        S = state.dictionary.astype(np.float64)
        S.data = S.data * np.repeat(memory["size"], np.diff(S.indptr))
        terms, row_of = _terms(batch)
        slots = {name: _padded(memory[name], n_slots) for name in ("members", "used", "birth")}
        sums = np.zeros((len(terms), n_slots), dtype=np.float32)
        sums[:, :n_atoms] = sparse.csr_array(S)[terms].toarray()
        gram = np.zeros((n_slots, n_slots))
        gram[:n_atoms, :n_atoms] = sparse.csr_array(S.T @ S).toarray()
        owner, seen = np.arange(n_atoms), int(memory["seen"][0])
        pairs, inner = (np.empty(n_slots, dtype=np.int64), np.empty(n_slots)), np.empty(n_slots)
        clusters.partners(n_atoms, gram, slots["members"], *pairs)
        settings = float(self.same), FULL[self.full], inner
        for P, _ in batch.parts():
            documents = P.indptr.astype(np.int64), row_of[P.indices], P.data
            n_atoms = clusters.learn(*documents, sums, gram, *slots.values(), owner, *pairs, n_atoms, seen, *settings)
            seen += P.shape[0]
        S = largest_per_row(_joined(S, terms, sums[:, :n_atoms], owner), self.terms)
        size = np.sqrt(np.bincount(_columns(S), S.data**2, minlength=n_atoms))
        S.data /= np.repeat(np.where(size > 0, size, 1.0), np.diff(S.indptr))
        memory |= {name: value[:n_atoms] for name, value in slots.items()}
        memory |= {"size": size, "seen": memory["seen"] + batch.shape[0]}
        return State(sparse.csc_array(S.T), memory, state.updates + 1)


def _terms(batch):
    """Return the terms that occur in a batch, ascending, and the position of every term among them."""
    occurs = np.zeros(batch.shape[1], dtype=bool)
    for P, _ in batch.parts():
        occurs[P.indices] = True
    return np.flatnonzero(occurs), np.cumsum(occurs) - 1


def in_context(P, scores, contrast, context, peers):
    """Judge documents together with the most similar ones of their batch.

    With b the mean cosine to the `peers` most similar documents of the batch, N those documents and
    u = (s + contrast b) / (1 + contrast), the result is (1 - context) u + context sum_N cos^2 u / sum_N cos^2.

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
    """
    total = P.shape[0]
    most = min(peers, total - 1)
    if most < 1:
        return scores / (1.0 + contrast), np.zeros(total)
    alike, likeness = np.zeros((total, most), dtype=np.int64), np.zeros((total, most))
    transposed = sparse.csr_array(P.T)
    for first in range(0, total, BLOCK):
        cosines = sparse.csr_array(P[first : first + BLOCK] @ transposed).toarray()
        rows = np.arange(len(cosines))
        cosines[rows, first + rows] = -1.0
        best = np.argpartition(-cosines, most - 1, axis=1)[:, :most]
        alike[first : first + BLOCK] = best
        likeness[first : first + BLOCK] = np.maximum(np.take_along_axis(cosines, best, axis=1), 0.0)
    weights = likeness**2
    sums = weights.sum(axis=1)
    share = np.where(sums > 0, context, 0.0)
    weights /= np.where(sums > 0, sums, 1.0)[:, None]
    parts = scores / (1.0 + contrast), contrast / (1.0 + contrast) * likeness.sum(axis=1) / peers
    residual, penalty = ((1.0 - share) * part + share * (weights * part[alike]).sum(axis=1) for part in parts)
    return residual, penalty


def _padded(values, length):
    """Return a copy with zeros up to the length."""
    padded = np.zeros(length, dtype=values.dtype)
    padded[: len(values)] = values
    return padded


def _columns(matrix):
    """Return the number of the compressed row or column of every stored entry."""
    return np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))


def _joined(S, terms, sums, owner):
    """Put the atoms together: changed rows from `sums`, the others moved to the slots that own them now.

    Returns
    -------
    csr_array, shape (n_atoms, n_terms)
    """
    changed = np.zeros(S.shape[0], dtype=bool)
    changed[terms] = True
    alive = owner >= 0
    moves = sparse.csr_array(
        (np.ones(alive.sum()), (owner[alive], np.flatnonzero(alive))), shape=(sums.shape[1], S.shape[1])
    )
    rest = sparse.csr_array(S.T, copy=True)
    rest.data = np.where(changed[rest.indices], 0.0, rest.data)
    rest.eliminate_zeros()
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(sums, axis=0))])
    values, columns = np.empty(ends[-1]), np.empty(ends[-1], dtype=np.int32)
    for atom in range(sums.shape[1]):
        places, span = np.flatnonzero(sums[:, atom]), slice(ends[atom], ends[atom + 1])
        values[span], columns[span] = sums[places, atom], terms[places]
    new = sparse.csr_array((values, columns, ends), shape=(sums.shape[1], S.shape[0]))
    return sparse.csr_array(moves @ rest + new).sorted_indices() if rest.nnz else new


def _coded(P, A, chosen):
    """Return the codes of documents on their chosen atoms, CSR."""
    A = A.sorted_indices()
    most = chosen.shape[1]
    found, work = np.zeros(chosen.shape), (np.zeros(most), np.zeros((most, most)))
    clusters.codes(
        P.indptr.astype(np.int64),
        P.indices.astype(np.int64),
        P.data,
        A.indptr.astype(np.int64),
        A.indices.astype(np.int64),
        A.data,
        chosen.astype(np.int64),
        SWEEPS,
        found,
        *work,
    )
    used = (chosen >= 0) & (found > 0)
    places = (np.nonzero(used)[0], chosen[used])
    return sparse.csr_array((found[used], places), shape=(P.shape[0], A.shape[1]))
