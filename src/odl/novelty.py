"""Score a batch with the dictionary of earlier documents, then learn it (ICASSP 2013, GENNVL)."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from odl.learners.base import Learner, Scores, State
from odl.learners.sparse_atoms import top_entries, with_data
from odl.learners.vectors import VectorMemory

EMPTY_SCORE = 1.0  # score of a document without a term of the vocabulary: the largest score
SCORE_ROUNDING = 1e-12  # smaller parts of a score are set to 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Novelty(Scores):
    """Novelty scores of a batch.

    Parameters
    ----------
    coding, residual, penalty, gap, nearest
        As in `odl.learners.Scores`.
    score : ndarray
        ``residual + penalty``, plus `meaning` if vectors are used; 1 for an empty document.
    empty : ndarray of bool
        Whether a document contains no term of the vocabulary.
    meaning : ndarray or None
        Part of `score` that comes from vectors of the texts; None without vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> new = csr_array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> found = novelty.score(learner, state, new)
    >>> found.residual.round(2), found.penalty.round(2), found.uncoded
    (array([0., 1.]), array([0.1, 0. ]), 0.5)
    """

    score: np.ndarray
    empty: np.ndarray
    meaning: np.ndarray | None = None

    @property
    def uncoded(self) -> float:
        """Share of documents whose code is zero, because no atom explains any part of them."""
        return float(np.mean(np.diff(self.codes.indptr) == 0)) if len(self.score) else 0.0


def generator(seed: int, name: str) -> np.random.Generator:
    """Return the random generator of a seed for one purpose, such as "start" or "order".

    Examples
    --------
    >>> from odl import novelty
    >>> [novelty.generator(0, name).integers(100, size=3) for name in ("start", "order")]
    [array([43, 24, 58]), array([95, 31, 40])]
    """
    digest = hashlib.sha256(f"{seed}\0{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def score(learner: Learner, state: State, P: sparse.csr_array) -> Novelty:
    """Score documents by how badly the dictionary explains them.

    Parameters
    ----------
    learner : odl.learners.Learner
    state : odl.learners.State
    P : csr_array, shape (n_documents, n_terms)
        Documents in rows, which have unit norm in the norm `learner.norm`.

    Returns
    -------
    Novelty

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> new = csr_array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> novelty.score(learner, state, new).score.round(2)
    array([0.1, 1. ])
    """
    return from_scores(learner.score(state, P), P)


def score_and_learn(
    learner: Learner, state: State, P: sparse.csr_array, history: Sequence[sparse.csr_array] = ()
) -> tuple[Novelty, State]:
    """Score documents with the dictionary of earlier documents, then learn from them.

    Parameters
    ----------
    learner, state, P
        As in `score`.
    history : sequence of csr_array
        Documents of the earlier batches, for learners with `needs_history`.

    Returns
    -------
    Novelty, State

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> P = csr_array([[0.6, 0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]])
    >>> learner = learners.make("levels")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> found, state = novelty.score_and_learn(learner, state, csr_array([[0.0, 0.0, 0.6, 0.8]]))
    >>> found.score, state.dictionary.shape
    (array([1.]), (4, 2))
    """
    scored = score(learner, state, P)
    return scored, learn(learner, state, P, scored, history)


def learn(
    learner: Learner,
    state: State,
    P: sparse.csr_array,
    scored: Novelty,
    history: Sequence[sparse.csr_array] = (),
) -> State:
    """Return the state after learning scored documents.

    Codes are computed only if the learner uses them.

    Parameters
    ----------
    learner, state, P, history
        As in `score_and_learn`.
    scored : Novelty
        Scores of P with this state.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> P = csr_array([[0.6, 0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]])
    >>> learner = learners.make("levels")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> novelty.learn(learner, state, P, novelty.score(learner, state, P)).updates
    1
    """
    codes = scored.codes if learner.uses_codes else None
    return learner.learn(state, P, codes, history)


def from_scores(scores: Scores, P: sparse.csr_array) -> Novelty:
    """Return the novelty of documents from the scores of a learner.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> new = csr_array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> novelty.from_scores(learner.score(state, new), new).empty
    array([False, False])
    """
    empty = np.diff(P.indptr) == 0
    total = np.where(empty, EMPTY_SCORE, scores.residual + scores.penalty)
    residual = np.where(empty, EMPTY_SCORE, scores.residual)
    parts = scores.coding, residual, scores.penalty, scores.gap, scores.nearest
    return Novelty(*parts, score=total, empty=empty)


def with_vectors(
    scored: Novelty, memory: VectorMemory, distances: np.ndarray, fixed: float | None = None
) -> Novelty:
    """Combine the scores of words with scores of vectors.

    If the memory is empty, the scores are unchanged.

    Parameters
    ----------
    scored : Novelty
        Scores of words.
    memory : odl.learners.vectors.VectorMemory
    distances : ndarray, shape (n_documents,)
        Scores of vectors (`VectorMemory.distances`).
    fixed : float, optional
        Weight of the vectors; by default it follows from the lengths of the documents.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> from odl.learners.vectors import VectorMemory
    >>> P = csr_array([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
    >>> vectors = np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> learner = learners.make("dual_averaging")
    >>> scored = novelty.score(learner, learner.start(P, 1, np.random.default_rng(0)), P)
    >>> scores, lengths = (np.array([0.1, 0.3]), np.array([0.2, 0.4])), np.array([2])
    >>> memory = VectorMemory.empty(2).after(*scores, vectors[:1], lengths, 1000)
    >>> found = novelty.with_vectors(scored, memory, memory.distances(vectors), 0.5)
    >>> found.score.round(3), found.meaning.round(3)
    (array([0.25, 0.75]), array([0.125, 0.375]))
    """
    if not len(memory.signs):
        return scored
    words, meaning = memory.combine_scores(scored.score, distances, memory.weight(fixed))
    return replace(scored, score=words + meaning, meaning=meaning)


def unexplained(
    P: sparse.csr_array,
    dictionary: sparse.csc_array,
    codes: sparse.csr_array,
    rows: Iterable[int],
    most: int = 8,
) -> list[list[tuple[int, float]]]:
    """Return the terms of documents that the dictionary does not explain: max(P - X A^T, 0).

    Returns
    -------
    list of list of (int, float)
        For each row at most `most` pairs (term, unexplained weight), the largest weight first.
        Weights are divided by the sum of the document's weights.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> new = csr_array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> found = novelty.score(learner, state, new)
    >>> novelty.unexplained(new, state.dictionary, found.codes, [1])
    [[(2, 0.5), (3, 0.5)]]
    """
    rows = np.asarray(rows, dtype=np.int64)
    documents = P[rows]
    missing = sparse.csr_array(documents - codes[rows] @ dictionary.T)
    missing.data = np.maximum(missing.data, 0.0)
    masses = [
        documents.data[slice(*documents.indptr[row : row + 2])].sum() for row in range(len(rows))
    ]
    return [
        [(term, float(part / mass)) for term, part in pairs if part > 0]
        for pairs, mass in zip(top_entries(missing, most), masses, strict=True)
    ]


def top_terms(dictionary: sparse.csc_array, most: int = 10) -> list[list[tuple[int, float]]]:
    """Return the largest terms of each atom: at most `most` pairs (term, weight), largest first.

    Examples
    --------
    >>> from scipy.sparse import csc_array
    >>> from odl import novelty
    >>> novelty.top_terms(csc_array([[0.2, 0.0], [0.8, 0.5], [0.0, 0.5]]))
    [[(1, 0.8), (0, 0.2)], [(1, 0.5), (2, 0.5)]]
    """
    return top_entries(dictionary, most)


def shares(
    learner: Learner, state: State, P: sparse.csr_array, scored: Novelty
) -> tuple[sparse.csr_array, np.ndarray]:
    """Divide the score of each document among its words.

    Parameters
    ----------
    learner : odl.learners.Learner
    state : odl.learners.State
    P : csr_array, shape (n_documents, n_terms)
    scored : Novelty
        Novelty of these documents with this state.

    Returns
    -------
    words : csr_array, shape (n_documents, n_terms)
        Share of each word, with the entries of P. The formula depends on the learner
        (docs/method.md, "Shares of the words").
    context : ndarray, shape (n_documents,)
        Remainder of each score: the effect of the other documents in the batch, the clipping of a
        negative score to 0, and the score of an empty document. Words, context and
        `Novelty.meaning` add up to the score.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> new = csr_array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> found = novelty.score(learner, state, new)
    >>> words, context = novelty.shares(learner, state, new, found)
    >>> words.toarray().round(2), context.round(2)
    (array([[0.05, 0.05, 0.  , 0.  ],
           [0.  , 0.  , 0.5 , 0.5 ]]), array([0., 0.]))
    """
    words = learner.shares(state, P, scored)
    by_words = scored.score
    if scored.meaning is not None:
        objective = np.where(scored.empty, EMPTY_SCORE, scored.residual + scored.penalty)
        by_words = scored.score - scored.meaning
        factor = np.divide(by_words, objective, out=np.zeros_like(objective), where=objective > 0)
        words = with_data(words, words.data * np.repeat(factor, np.diff(words.indptr)))
    context = by_words - np.asarray(words.sum(axis=1)).ravel()
    return words, np.where(np.abs(context) < SCORE_ROUNDING, 0.0, context)
