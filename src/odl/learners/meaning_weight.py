"""Weight of the meaning of documents beside their words, chosen from the past, without labels.

Words P and vectors E of unit length are joined to [sqrt(1 - a) P, sqrt(a) E], whose cosines are
(1 - a) cos_words + a cos_vectors. Short texts share few words though they mean the same, long ones share words that
vectors forget: the best weight a is 0 on some streams and above 1/2 on others.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

WEIGHTS = np.round(np.arange(0.0, 1.01, 0.1), 1)
SAMPLE, TOPICS, MEMBERS, OTHERS, NEAREST = 1000, 25, 20, 100, 5
AGREEMENT = 0.55  # 0.5 is chance


def joined(P: sparse.csr_array, E: np.ndarray, weight: float) -> sparse.csr_array:
    """Return [sqrt(1 - a) P, sqrt(a) E] as CSR rows, for words P (CSR) and vectors E (dense).

    Equation `joined-views` of docs/method.md.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.meaning_weight import joined
    >>> joined(csr_array([[1.0, 0.0]]), np.array([[0.6, 0.8]]), weight=0.25).toarray().round(3)
    array([[0.866, 0.   , 0.3  , 0.4  ]])
    """
    return sparse.csr_array(sparse.hstack([np.sqrt(1.0 - weight) * P, np.sqrt(weight) * sparse.csr_array(E)]))


def separation(P: sparse.csr_array, E: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Tell how well each weight finds documents of a pseudo-topic new when the past holds none of it.

    A pseudo-topic is a document drawn from the past and those most like it: in words, in vectors, or by the sum of both
    ranks, which counts twice, so that neither view judges alone. Its `MEMBERS` are compared with the past without
    them, and so are `OTHERS` documents drawn from the rest: the AUC of the mean cosine to the five nearest says how
    well the weight separates the two.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Words of past documents, rows of unit l2 norm; all are compared with all, so give at most `SAMPLE`.
    E : ndarray, shape (n_documents, n_dimensions)
        Their centred vectors, rows of unit l2 norm.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n_weights,)
        Mean AUC for each of `WEIGHTS`; zeros, no opinion, where there are too few documents for a pseudo-topic, or
        where the nearest documents in words are hardly nearer than others in vectors (their mean share of farther
        documents is below `AGREEMENT`): pseudo-topics cannot tell which of two views that contradict each other is
        noise, so that words stay alone.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.meaning_weight import separation
    >>> separation(csr_array(np.eye(5)), np.eye(5), np.random.default_rng(0)).any()  # five documents tell nothing
    np.False_
    """
    n = P.shape[0]
    if n < MEMBERS + 2 * NEAREST:
        return np.zeros(len(WEIGHTS))
    words, meaning = (P @ P.T).toarray(), E @ E.T
    areas = np.zeros(len(WEIGHTS))
    if _agreement(words, meaning) < AGREEMENT:
        return areas
    for share, by in ((0.25, "words"), (0.25, "vectors"), (0.5, "both")):
        for _ in range(TOPICS):
            first = rng.integers(n)
            ranks = {"words": _ranks(words[first]), "vectors": _ranks(meaning[first])}
            ranks["both"] = ranks["words"] + ranks["vectors"]
            members = np.argsort(ranks[by], kind="stable")[:MEMBERS]
            rest = np.setdiff1d(np.arange(n), members)
            rows = np.concatenate([members, rng.choice(rest, min(OTHERS, len(rest)), replace=False)])
            areas += share / TOPICS * _separated(words[rows], meaning[rows], rows, members)
    return areas


def weight_of(separations: Sequence[np.ndarray]) -> float:
    """Return the weight that separates best on the mean over timesteps; 0, words alone, where nothing is known.

    Examples
    --------
    >>> from odl.learners.meaning_weight import WEIGHTS, weight_of
    >>> import numpy as np
    >>> weight_of([]), weight_of([np.arange(len(WEIGHTS)) / 10]) == WEIGHTS[-1]
    (0.0, np.True_)
    """
    return float(WEIGHTS[int(np.argmax(np.mean(separations, axis=0)))]) if len(separations) else 0.0


def _agreement(words, meaning):
    """Return the mean share of documents that are farther in vectors than the nearest in words are."""
    shares = []
    for row in range(len(words)):
        near = np.argsort(-np.delete(words[row], row), kind="stable")[:NEAREST]
        others = np.delete(meaning[row], row)
        ordered = np.sort(others)
        below = np.searchsorted(ordered, others[near], "left") + np.searchsorted(ordered, others[near], "right")
        shares.append(below.mean() / (2 * len(others)))
    return float(np.mean(shares))


def _ranks(likeness):
    """Return the rank of each document, 0 for the most alike."""
    ranks = np.empty(len(likeness), dtype=np.int64)
    ranks[np.argsort(-likeness, kind="stable")] = np.arange(len(likeness))
    return ranks


def _separated(words, meaning, rows, members):
    """Return the AUC of members against others for each weight, neither compared with members nor with themselves."""
    own = np.zeros(words.shape, dtype=bool)
    own[:, members] = True
    own[np.arange(len(rows)), rows] = True
    areas = []
    for weight in WEIGHTS:
        cosines = np.where(own, -np.inf, (1.0 - weight) * words + weight * meaning)
        near = np.partition(cosines, -NEAREST, axis=1)[:, -NEAREST:].mean(axis=1)
        new, known = near[: len(members), None], near[None, len(members) :]
        areas.append(((new < known).sum() + 0.5 * (new == known).sum()) / (new.size * known.size))
    return np.array(areas)
