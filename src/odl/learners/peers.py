"""Documents of a batch put in another order by what the most similar documents of the batch have."""

import numpy as np
from scipy import sparse

from odl.learners import likeness

FEWEST = 3  # documents that may tell something of each other
MOST = 0.3  # weight of their likeness, above or below 0


def in_order(
    P: sparse.csr_array, scores: np.ndarray, share: float, peers: int, contrast: float | None = None
) -> np.ndarray:
    """Order the scores of a batch by those of similar documents; the scores of the batch stay what they are.

    With z the ranks of the scores and b the mean cosine to the `peers` most similar documents of the batch, both
    standardised, and r their correlation with its sign turned (likeness to the past against likeness to the batch),

        u = rank of z + max(-.3, min(r |r|, .3)) b,      order by (1 - share) u + share sum_N cos u / sum_N cos

    over those documents N. Where documents that have many like them in the batch have many like them in the past, r
    is large, and a new document with many like it in the batch is remarkable; where it is near 0, b says nothing;
    where it is below 0, one with few like it in the batch is remarkable.

    Equation `levels-context` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        The batch, rows of unit l2 norm.
    scores : ndarray, shape (n_documents,)
    share : float
    peers : int
    contrast : float, optional
        Weight of b in place of max(-.3, min(r |r|, .3)).

    Returns
    -------
    ndarray, shape (n_documents,)
        The smallest score for the document that is first in the new order, and so on; equal ones get their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.peers import in_order
    >>> P = csr_array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.6, 0.8], [0.0, 0.0, 1.0]])
    >>> in_order(P, np.array([0.2, 0.9, 0.4, 0.3]), share=0.9, peers=1)
    array([0.2, 0.9, 0.3, 0.4])
    """
    total = len(scores)
    if total < FEWEST:
        return scores
    most = min(peers, total - 1)
    alike, cosines = likeness.nearest_among(P, most)
    return by_peers(scores, alike, cosines, share, contrast)


def by_peers(
    scores: np.ndarray, alike: np.ndarray, cosines: np.ndarray, share: float, contrast: float | None = None
) -> np.ndarray:
    """Return what `in_order` does, where the most similar documents are known already.

    Parameters
    ----------
    scores : ndarray, shape (n_documents,)
    alike, cosines : ndarray of int64 and float64, shape (n_documents, n_peers)
        Documents of the batch that are most like each, and how much: 0 where they tell nothing.
    share, contrast
        As of `in_order`.

    Returns
    -------
    ndarray, shape (n_documents,)

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners.peers import by_peers
    >>> alike, cosines = np.array([[1], [2], [3], [2]]), np.array([[0.0], [0.6], [0.8], [0.8]])
    >>> by_peers(np.array([0.2, 0.9, 0.4, 0.3]), alike, cosines, share=0.9)
    array([0.2, 0.9, 0.3, 0.4])
    """
    own, near = _standard(_ranks(scores)), _standard(cosines.sum(axis=1))
    related = -(own * near).mean()
    weight = np.clip(related * abs(related), -MOST, MOST) if contrast is None else contrast
    own = _ranks(own + weight * near) / len(scores)
    sums = cosines.sum(axis=1)
    told = (cosines * own[alike]).sum(axis=1) / np.where(sums > 0, sums, 1.0)
    places, counts = _ties((1.0 - share) * own + share * np.where(sums > 0, told, own))
    ends = np.cumsum(counts)
    totals = np.concatenate([[0.0], np.cumsum(np.sort(scores))])
    return ((totals[ends] - totals[ends - counts]) / counts)[places]


def _ties(values):
    """Return the place of each value among the different values, rising, and how often each occurs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return places, counts


def _ranks(values):
    """Return ranks from 1 on; equal values have the mean of theirs."""
    places, counts = _ties(values)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def _standard(values):
    """Return values of mean 0 and standard deviation 1, or all 0."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 0 else np.zeros(len(values))
