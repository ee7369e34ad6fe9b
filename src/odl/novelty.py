"""The mechanism: score a batch with the dictionary of the past, then learn from it (ICASSP 2013, GENNVL)."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.learners.base import Learner, Scores, State
from odl.learners.sparse_atoms import leading, with_data
from odl.learners.vectors import Memory

EMPTY_SCORE = 1.0  # a document without a known term is unexplained: the largest score
ROUNDING = 1e-12  # parts of a score below this are none


class Novelty(NamedTuple):
    """Novelty scores of a batch.

    Attributes
    ----------
    score : ndarray
        Residual plus penalty; 1 for an empty document.
    residual, penalty : ndarray
        The two parts of the objective.
    codes : csr_array, shape (n_documents, n_atoms)
    empty : ndarray of bool
    uncoded : float
        Share of documents whose code is zero (they tie at the largest score).
    gap : float
        Largest relative excess of a score over the exact objective.
    nearest : tuple
        As of `odl.learners.Scores`.
    meaning : ndarray or None
        The part of vectors in `score`, where a run has them beside words; residual and penalty are then of words alone.

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
    residual: np.ndarray
    penalty: np.ndarray
    codes: sparse.csr_array
    empty: np.ndarray
    uncoded: float
    gap: float
    nearest: tuple = ()
    meaning: np.ndarray | None = None


def generator(seed: int, name: str) -> np.random.Generator:
    """Return the random generator of one named use of a seed.

    Examples
    --------
    >>> from odl import novelty
    >>> novelty.generator(0, "start").integers(100, size=3), novelty.generator(0, "order").integers(100, size=3)
    (array([43, 24, 58]), array([95, 31, 40]))
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
        Documents in rows, of the norm that the learner asks for.

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
    return of(learner.score(state, P), P)


def score_and_learn(
    learner: Learner, state: State, P: sparse.csr_array, history: Sequence[sparse.csr_array] = ()
) -> tuple[Novelty, State]:
    """Score documents by the dictionary of the past, and learn them.

    Parameters
    ----------
    learner : odl.learners.Learner
    state : odl.learners.State
    P : csr_array, shape (n_documents, n_terms)
        As `score` takes them.
    history : sequence of csr_array
        Of a learner that needs it, the documents of the batches before.

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
    return scored, learner.learn(state, P, scored.codes, history)


def of(scores: Scores, P: sparse.csr_array) -> Novelty:
    """Return the novelty of documents that a learner has scored.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> state = learner.start(P, 1, np.random.default_rng(0))
    >>> new = csr_array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> novelty.of(learner.score(state, new), new).empty
    array([False, False])
    """
    empty = np.diff(P.indptr) == 0
    total = np.where(empty, EMPTY_SCORE, scores.residual + scores.penalty)
    residual = np.where(empty, EMPTY_SCORE, scores.residual)
    uncoded = float(np.mean(np.diff(scores.codes.indptr) == 0)) if P.shape[0] else 0.0
    return Novelty(total, residual, scores.penalty, scores.codes, empty, uncoded, scores.gap, scores.nearest)


def beside(scored: Novelty, memory: Memory, apart: np.ndarray, fixed: float | None = None) -> Novelty:
    """Return the scores of documents by words and vectors; those of the first batch stay, as nothing is remembered.

    Parameters
    ----------
    scored : Novelty
        By words.
    memory : odl.learners.vectors.Memory
    apart : ndarray, shape (n_documents,)
        Scores by vectors (`Memory.apart`).
    fixed : float, optional
        Weight of the vectors; by default that of the lengths of documents.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> from odl.learners.vectors import Memory
    >>> P, vectors = csr_array([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]]), np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> learner = learners.make("dual_averaging")
    >>> scored = novelty.score(learner, learner.start(P, 1, np.random.default_rng(0)), P)
    >>> memory = Memory.empty(2).after(np.array([0.1, 0.3]), np.array([0.2, 0.4]), vectors[:1], np.array([2]), 1000)
    >>> found = novelty.beside(scored, memory, memory.apart(vectors), 0.5)
    >>> found.score.round(3), found.meaning.round(3)
    (array([0.25, 0.75]), array([0.125, 0.375]))
    """
    if not len(memory.signs):
        return scored
    words, meaning = memory.joined(scored.score, apart, memory.weight(fixed))
    return scored._replace(score=words + meaning, meaning=meaning)


def unexplained(
    P: sparse.csr_array, dictionary: sparse.csc_array, codes: sparse.csr_array, rows: Iterable[int], most: int = 8
) -> list[list[tuple[int, float]]]:
    """Return, for each of the rows, the terms that the dictionary leaves unexplained.

    Returns
    -------
    list of list of (int, float)
        Per row up to `most` pairs of term and share of the document's mass, largest first.

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
    masses = [documents.data[slice(*documents.indptr[row : row + 2])].sum() for row in range(len(rows))]
    return [
        [(term, float(part / mass)) for term, part in pairs if part > 0]
        for pairs, mass in zip(leading(missing, most), masses, strict=True)
    ]


def top_terms(dictionary: sparse.csc_array, most: int = 10) -> list[list[tuple[int, float]]]:
    """Return, for each atom, up to `most` pairs of term and weight, largest first.

    Examples
    --------
    >>> from scipy.sparse import csc_array
    >>> from odl import novelty
    >>> novelty.top_terms(csc_array([[0.2, 0.0], [0.8, 0.5], [0.0, 0.5]]))
    [[(1, 0.8), (0, 0.2)], [(1, 0.5), (2, 0.5)]]
    """
    return leading(dictionary, most)


def shares(learner: Learner, state: State, P: sparse.csr_array, scored: Novelty) -> tuple[sparse.csr_array, np.ndarray]:
    """Return what each word has in the score of its document, and what no word has.

    Parameters
    ----------
    learner : odl.learners.Learner
    state : odl.learners.State
    P : csr_array, shape (n_documents, n_terms)
    found : Novelty
        Of the documents, by this state.

    Returns
    -------
    words : csr_array, shape (n_documents, n_terms)
        Entries where P has them; the formula is the learner's (docs/method.md, "Shares of the words").
    context : ndarray, shape (n_documents,)
        The rest: what comes from the other documents of the batch, the whole score of an empty document, and what
        lifts a score to 0. A document's words, this and the part of vectors (`Novelty.meaning`) add up to its score.

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
    words = learner.shares(state, P, Scores(scored.codes, scored.residual, scored.penalty, scored.gap, scored.nearest))
    by_words = scored.score
    if scored.meaning is not None:
        own = np.where(scored.empty, EMPTY_SCORE, scored.residual + scored.penalty)
        by_words = scored.score - scored.meaning
        factor = np.divide(by_words, own, out=np.zeros_like(own), where=own > 0)
        words = with_data(words, words.data * np.repeat(factor, np.diff(words.indptr)))
    context = by_words - np.asarray(words.sum(axis=1)).ravel()
    return words, np.where(np.abs(context) < ROUNDING, 0.0, context)
