"""Items that belong together: near-duplicates become one item, alike items one candidate topic, which gets a name."""

import numpy as np
from scipy import sparse

from odl.learners.batches import BLOCK

ALIKE = 0.9  # cosine of near-duplicates
SHARED = 0.25  # share of a topic's items that a word of its name is in, two items at least


def near_duplicates(P: sparse.csr_array) -> np.ndarray:
    """Put documents that are nearly the same into one group.

    A document joins the group of the first document before it in the batch whose cosine with it is at least `ALIKE`.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Rows of unit l2 norm.

    Returns
    -------
    ndarray of int64, shape (n_documents,)
        Row of the first document of each document's group.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.alerts.linkage import near_duplicates
    >>> near_duplicates(csr_array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.0]]))
    array([0, 1, 0])
    """
    first, columns = np.arange(P.shape[0]), sparse.csr_array(P.T)
    for start in range(0, P.shape[0], BLOCK):
        cosines = sparse.coo_array(P[start : start + BLOCK] @ columns)
        similar = (cosines.data >= ALIKE) & (cosines.col < cosines.row + start)
        rows, earlier = cosines.row[similar] + start, cosines.col[similar]
        order = np.lexsort((-earlier, rows))  # of several the first one is written last
        first[rows[order]] = earlier[order]
    for row in np.flatnonzero(first < np.arange(len(first))):
        first[row] = first[first[row]]  # rows rise, so that the group of the earlier one is settled
    return first


def alike(cosines: np.ndarray, least: float) -> np.ndarray:
    """Put items together, most alike groups first, as long as their mean cosine is at least `least`.

    Agglomerative clustering by average linkage; of equal pairs the first.

    Parameters
    ----------
    cosines : ndarray, shape (n, n)
        Symmetric.
    least : float

    Returns
    -------
    ndarray of int64, shape (n,)
        First item of each item's group.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.alerts.linkage import alike
    >>> alike(np.array([[1.0, 0.1, 0.8], [0.1, 1.0, 0.2], [0.8, 0.2, 1.0]]), least=0.5)
    array([0, 1, 0])
    """
    means, n = np.array(cosines, dtype=np.float64), len(cosines)
    sizes, owner = np.ones(n), np.arange(n)
    np.fill_diagonal(means, -1.0)
    for _ in range(n - 1):
        one, other = sorted(divmod(int(np.argmax(means)), n))
        if means[one, other] < least:
            break
        joined = (sizes[one] * means[one] + sizes[other] * means[other]) / (sizes[one] + sizes[other])
        means[one], means[:, one] = joined, joined
        means[other], means[:, other], means[one, one] = -1.0, -1.0, -1.0
        sizes[one] += sizes[other]
        owner[owner == other] = one
    return owner


def own_likeness(Q):
    """Return the mean cosine of items of unit norm with the sum of the others."""
    products = np.asarray((Q @ Q.T).toarray())
    np.fill_diagonal(products, 0.0)
    inner = products.sum(axis=1)  # of an item with the sum of the others
    total = products.sum() + Q.shape[0]  # ||S||^2
    sizes = np.sqrt(np.maximum(total - 2.0 * inner - 1.0, 1e-12))
    return float(np.mean(inner / sizes)) if Q.shape[0] > 1 else 0.0


def name(sums, occurrences, items, vocabulary, most):
    """Return the words of a topic's name, the most telling first.

    Parameters
    ----------
    sums : csr_array, shape (1, n_terms)
        Sum of its items.
    occurrences : ndarray
        For each stored term of `sums` the number of items that have it.
    items : int
    vocabulary : list of str
    most : int

    Returns
    -------
    tuple of str
        By the product of weight and items. A word of one item only never stands in it.
    """
    weight = np.where(occurrences >= max(2.0, SHARED * items), sums.data * occurrences, 0.0)
    order = np.lexsort((sums.indices, -weight))[:most]
    return tuple(vocabulary[sums.indices[at]] for at in order if weight[at] > 0)
