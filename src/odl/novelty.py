"""The mechanism: score a batch with the dictionary of the past, then learn from it (ICASSP 2013, GENNVL)."""

import hashlib
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.learners.base import Scores

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
    """

    score: np.ndarray
    residual: np.ndarray
    penalty: np.ndarray
    codes: sparse.csr_array
    empty: np.ndarray
    uncoded: float
    gap: float


def generator(seed, name):
    """Return the random generator of one named use of a seed."""
    digest = hashlib.sha256(f"{seed}\0{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def score(learner, state, P):
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
    """
    return of(learner.score(state, P), P)


def of(scores: Scores, P):
    """Return the novelty of documents that a learner has scored."""
    empty = np.diff(P.indptr) == 0
    total = np.where(empty, EMPTY_SCORE, scores.residual + scores.penalty)
    residual = np.where(empty, EMPTY_SCORE, scores.residual)
    uncoded = float(np.mean(np.diff(scores.codes.indptr) == 0)) if P.shape[0] else 0.0
    return Novelty(total, residual, scores.penalty, scores.codes, empty, uncoded, scores.gap)


def unexplained(P, dictionary, codes, rows, most=8):
    """Return, for each of the rows, the terms that the dictionary leaves unexplained.

    Returns
    -------
    list of list of (int, float)
        Per row up to `most` pairs of term and share of the document's mass, largest first.
    """
    lists = []
    for row in rows:
        document = P[[row]]
        missing = sparse.csr_array(document - codes[[row]] @ dictionary.T)
        missing.data = np.maximum(missing.data, 0.0)
        mass = document.data.sum()
        # Equal shares in the order of the terms, whatever the storage order.
        order = np.lexsort((missing.indices, -missing.data))[:most]
        lists.append(
            [(int(missing.indices[at]), float(missing.data[at] / mass)) for at in order if missing.data[at] > 0]
        )
    return lists


def top_terms(dictionary, most=10):
    """Return, for each atom, up to `most` pairs of term and weight, largest first."""
    lists = []
    for atom in range(dictionary.shape[1]):
        span = slice(dictionary.indptr[atom], dictionary.indptr[atom + 1])
        terms, weights = dictionary.indices[span], dictionary.data[span]
        order = np.lexsort((terms, -weights))[:most]
        lists.append([(int(terms[at]), float(weights[at])) for at in order])
    return lists


def shares(learner, state, P, found):
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
        lifts a score to 0. A document's words and this add up to its score.
    """
    words = learner.shares(state, P, Scores(found.codes, found.residual, found.penalty, found.gap))
    context = found.score - np.asarray(words.sum(axis=1)).ravel()
    return words, np.where(np.abs(context) < ROUNDING, 0.0, context)
