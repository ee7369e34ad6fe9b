"""Combine the score of a document with the scores of its peers.

The peers of a document are the most similar documents in its batch. Documents of a new topic often
arrive together, so a document whose peers are novel is more likely to be novel. In batches of at
least 100 documents the scores are permuted. In smaller batches each score moves towards the scores
of the peers.
"""

import numpy as np
from scipy import sparse

from odl.learners.likeness import nearest_among

MIN_BATCH_DOCUMENTS = 3  # minimum number of documents in a batch for peers to change scores
MAX_CONTRAST = 0.3  # largest absolute weight of the similarity to the batch
ORDERED = 100  # minimum number of documents in a batch whose scores are permuted
WHOLE_SHARE = 250  # minimum number of documents in a batch for the weight of peers to be `context`
SMALL_SHARE = 0.3  # weight of peers, relative to `context`, in batches below `ORDERED` documents


def share_of_peers(context: float, n_documents: int) -> float:
    """Return the weight of peers in the order of a batch, or in the scores of a small batch.

    With n documents in the batch, the weight is `context` if n >= 250, `context` n / 250 if
    100 <= n < 250, .3 `context` if 3 <= n < 100, and 0 if n < 3.

    Equation `levels-context` of docs/method.md.

    Examples
    --------
    >>> from odl.learners.peers import share_of_peers
    >>> [round(share_of_peers(0.5, n), 3) for n in (2, 50, 100, 250, 1000)]
    [0.0, 0.15, 0.2, 0.5, 0.5]
    """
    if n_documents < MIN_BATCH_DOCUMENTS:
        return 0.0
    if n_documents < ORDERED:
        return context * SMALL_SHARE
    return context * min(1.0, n_documents / WHOLE_SHARE)


def with_peers(P: sparse.csr_array, scores: np.ndarray, context: float, peers: int) -> np.ndarray:
    """Return the scores of a batch, each combined with the scores of its peers.

    In batches of at least 100 documents, `in_order` permutes the scores. In smaller batches the
    score s_i of document i becomes (1 - a) s_i + a (sum_j c_ij s_j) / (sum_j c_ij). Here j runs
    over the peers of i, c_ij is the cosine of documents i and j, and a is the result of
    `share_of_peers`. The score of a document without peers does not change.

    Equation `levels-context` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        The batch, rows of unit l2 norm.
    scores : ndarray, shape (n_documents,)
    context : float
        Share of peers in a batch of at least 250 documents.
    peers : int
        Number of peers of a document.

    Returns
    -------
    ndarray, shape (n_documents,)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.peers import with_peers
    >>> P = csr_array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.6, 0.8], [0.0, 0.0, 1.0]])
    >>> with_peers(P, np.array([0.2, 0.9, 0.4, 0.3]), context=1.0, peers=1).round(2)
    array([0.2 , 0.75, 0.37, 0.33])
    """
    share = share_of_peers(context, len(scores))
    if len(scores) >= ORDERED or not share:
        return in_order(P, scores, share, peers)
    similar, cosines = nearest_among(P, min(peers, len(scores) - 1))
    return (1.0 - share) * scores + share * mean_of_peers(scores, similar, cosines)


def in_order(P: sparse.csr_array, scores: np.ndarray, share: float, peers: int) -> np.ndarray:
    """Permute the scores of a batch, so that documents with novel peers move up.

    Let N be the peers of a document, z the ranks of the scores and b the mean cosines to the peers,
    both standardised over the batch, and r the correlation of -z and b. The new order is ascending
    in v:

        u = rank of z + max(-.3, min(r |r|, .3)) b
        v = (1 - share) u + share sum_N cos u / sum_N cos

    The weight of b has the sign of r. If r > 0, documents with similar documents in the batch
    usually have similar documents in the past too, so a novel document with similar documents in
    the batch is remarkable. If r < 0, a document with few similar documents in the batch is
    remarkable. If r is near 0, b has no information.

    Equation `levels-context` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        The batch, rows of unit l2 norm.
    scores : ndarray, shape (n_documents,)
    share : float
        Share of peers in the order; 0 changes nothing.
    peers : int

    Returns
    -------
    ndarray, shape (n_documents,)
        The first document of the new order gets the smallest score, the second one the second
        smallest, and so on. Ties get the mean of their scores.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.learners.peers import in_order
    >>> P = csr_array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.6, 0.8], [0.0, 0.0, 1.0]])
    >>> in_order(P, np.array([0.2, 0.9, 0.4, 0.3]), share=0.9, peers=1)
    array([0.2, 0.9, 0.3, 0.4])
    """
    if len(scores) < MIN_BATCH_DOCUMENTS or not share:
        return scores
    similar, cosines = nearest_among(P, min(peers, len(scores) - 1))
    return by_peers(scores, similar, cosines, share)


def by_peers(
    scores: np.ndarray, similar: np.ndarray, cosines: np.ndarray, share: float
) -> np.ndarray:
    """Permute the scores of a batch as `in_order` does, given the peers and their cosines.

    Parameters
    ----------
    scores : ndarray, shape (n_documents,)
    similar, cosines : ndarray of int64 and float64, shape (n_documents, n_peers)
        Peers of each document and their cosines; a document with a cosine of 0 is no peer.
    share : float
        As in `in_order`.

    Returns
    -------
    ndarray, shape (n_documents,)

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners.peers import by_peers
    >>> similar, cosines = np.array([[1], [2], [3], [2]]), np.array([[0.0], [0.6], [0.8], [0.8]])
    >>> by_peers(np.array([0.2, 0.9, 0.4, 0.3]), similar, cosines, share=0.9)
    array([0.2, 0.9, 0.3, 0.4])
    """
    z, b = _standardise(_ranks(scores)), _standardise(cosines.sum(axis=1))
    r = -(z * b).mean()
    contrast = np.clip(r * abs(r), -MAX_CONTRAST, MAX_CONTRAST)
    u = _ranks(z + contrast * b) / len(scores)
    order = (1.0 - share) * u + share * mean_of_peers(u, similar, cosines)
    return _permute(scores, order)


def mean_of_peers(values: np.ndarray, similar: np.ndarray, cosines: np.ndarray) -> np.ndarray:
    """Return the mean value of the peers of each document, weighted by cosines.

    A document without peers gets its own value.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners.peers import mean_of_peers
    >>> similar = np.array([[1, 2], [0, 2], [0, 1]])
    >>> cosines = np.array([[0.2, 0.6], [0.2, 0.0], [0.0, 0.0]])
    >>> mean_of_peers(np.array([1.0, 2.0, 4.0]), similar, cosines)
    array([3.5, 1. , 4. ])
    """
    totals = cosines.sum(axis=1)
    means = (cosines * values[similar]).sum(axis=1) / np.where(totals > 0, totals, 1.0)
    return np.where(totals > 0, means, values)


def _permute(scores, order):
    """Return the scores permuted so that they ascend with the values of `order`.

    Documents with equal values of `order` get the mean of their scores.
    """
    positions, counts = _ties(order)
    ends = np.cumsum(counts)
    totals = np.concatenate([[0.0], np.cumsum(np.sort(scores))])
    return ((totals[ends] - totals[ends - counts]) / counts)[positions]


def _ties(values):
    """Return (index of each value in the sorted distinct values, counts of these values)."""
    _, positions, counts = np.unique(values, return_inverse=True, return_counts=True)
    return positions, counts


def _ranks(values):
    """Return the ranks of values, from 1. Ties have their mean rank."""
    positions, counts = _ties(values)
    return (np.cumsum(counts) - (counts - 1) / 2)[positions]


def _standardise(values):
    """Return values scaled to mean 0 and standard deviation 1; zeros if all are equal."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 0 else np.zeros(len(values))
