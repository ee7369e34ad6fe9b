"""How well points tell the classes of what they stand for."""

import numpy as np


def recovery(points, classes, starts=20, seed=0):
    """Return how well classes are recovered from points that were found without them.

    Parameters
    ----------
    points : ndarray, shape (n, dimensions)
    classes : sequence of str, length n
    starts, seed : int
        Of k-means.

    Returns
    -------
    dict
        ari, purity: adjusted Rand index and purity of k-means with as many groups as classes; accuracy: share that the
        nearest class mean gets right, each point left out of its mean in turn.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    _, truth = np.unique(np.asarray(classes), return_inverse=True)
    n_classes = int(truth.max()) + 1
    distinct = len(np.unique(points, axis=0))
    groups = KMeans(min(n_classes, distinct), n_init=starts, random_state=seed).fit_predict(points)
    counts = np.zeros((int(groups.max()) + 1, n_classes))
    np.add.at(counts, (groups, truth), 1)
    return {
        "ari": float(adjusted_rand_score(truth, groups)),
        "purity": float(counts.max(axis=1).sum() / len(truth)),
        "accuracy": nearest_mean_accuracy(np.asarray(points), truth),
    }


def nearest_mean_accuracy(points, truth):
    """Return the share of points nearer to the mean of the others of their class than to any other class mean."""
    sums = np.array([points[truth == group].sum(axis=0) for group in range(truth.max() + 1)])
    sizes = np.bincount(truth)
    right = 0
    for point, own in zip(points, truth, strict=True):
        held, number = sums.copy(), sizes.astype(float)
        held[own] -= point
        number[own] -= 1
        distances = np.sum((held / np.maximum(number, 1)[:, None] - point) ** 2, axis=1)
        distances[number == 0] = np.inf
        right += int(np.argmin(distances) == own)
    return right / len(truth)
