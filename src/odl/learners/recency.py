"""Recency of matches: what was last seen long ago counts less, as far as documents so far match what is recent.

The age of a match is the number of documents between it and the batch. Two counters for each bin of ages are all that
is kept: how many matches had such an age, and how many would have if ages were drawn from what is remembered.
"""

import numpy as np

from odl.learners.base import Kept

EDGES = np.array([50, *(round(step * 10**power) for power in range(2, 6) for step in (1, 2, 3.5, 5, 7))])
PRIOR = 20.0  # matches of each bin, and as many expected, before there are any
BINS = len(EDGES) + 1
KEPT = {name: Kept("dense", (BINS,), between=(0, np.inf)) for name in ("matches", "expected")}


def counted(
    counters: dict[str, np.ndarray], ages: np.ndarray, weights: np.ndarray, matches: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the counters with the matches of one more batch.

    Equation `recency-counters` of docs/method.md.

    Parameters
    ----------
    counters : dict of str to ndarray
        ``matches`` and ``expected`` so far, of `KEPT`.
    ages : ndarray of int64, shape (n,)
        Of all that is remembered.
    weights : ndarray, shape (n,)
        Documents that each stands for, above 0 in sum.
    matches : ndarray of int64
        Places in `ages` of the best matches of the documents, as many as there are.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import recency
    >>> none = {"matches": np.zeros(recency.BINS), "expected": np.zeros(recency.BINS)}
    >>> after = recency.counted(none, np.array([10, 60, 70]), np.array([1.0, 1.0, 2.0]), np.array([0, 0, 1, 2]))
    >>> after["matches"][:3], after["expected"][:3]
    (array([2., 2., 0.]), array([1., 3., 0.]))
    """
    bins = np.searchsorted(EDGES, ages, side="right")
    remembered = np.bincount(bins, weights, minlength=BINS)
    return {
        "matches": counters["matches"] + np.bincount(bins[matches], minlength=BINS),
        "expected": counters["expected"] + len(matches) * remembered / remembered.sum(),
    }


def factors(counters: dict[str, np.ndarray], ages: np.ndarray, power: float) -> np.ndarray:
    """Return what cosines with matches of these ages are multiplied by, 1 for the ages that match most often.

    Equation `recency` of docs/method.md.

    Parameters
    ----------
    counters : dict of str to ndarray
        As of `counted`.
    ages : ndarray of int64
    power : float

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from odl.learners import recency
    >>> counters = {"matches": np.full(recency.BINS, 180.0), "expected": np.full(recency.BINS, 180.0)}
    >>> counters["matches"][0] = 780.0
    >>> recency.factors(counters, np.array([0, 49, 50]), power=0.5)
    array([1. , 1. , 0.5])
    """
    ratio = (counters["matches"] + PRIOR) / (counters["expected"] + PRIOR)
    return ((ratio / ratio.max()) ** power)[np.searchsorted(EDGES, ages, side="right")]
