"""Linear Gaussian estimate of missing pixels: the mean of the missing ones given the known ones.

The best estimate for patches that are Gaussian, with mean and covariance of the training patches; no dictionary, and
nothing to choose. What a dictionary is worth shows beside it.
"""

import numpy as np

from odl.kernels import native

grams = native.Kernels("grams")
RIDGE = 1e-8  # added to variances, as a share of their mean: centred patches have a singular covariance


def moments(X):
    """Return mean and covariance of rows; sums run down the rows, on any number of cores alike."""
    mean = X.mean(axis=0)
    return mean, grams.gram_matrix(np.ascontiguousarray(X - mean)) / len(X)


def estimates(X, known, mean, covariance):
    """Return rows with what is not known replaced by its conditional mean; the known entries stay.

    Equation `gaussian-estimate` of docs/method.md.

    For K the known entries ``mean + C[:, K] (C[K, K] + r I)^-1 (x_K - mean_K)``, r being `RIDGE` of the mean variance.

    Parameters
    ----------
    X : ndarray, shape (n, n_pixels)
        Only entries where `known` is true are read.
    known : ndarray of bool, shape (n, n_pixels)
    mean : ndarray, shape (n_pixels,)
    covariance : ndarray, shape (n_pixels, n_pixels)

    Returns
    -------
    ndarray, shape (n, n_pixels)
    """
    ridge, found = RIDGE * np.trace(covariance) / len(covariance), np.array(X, dtype=np.float64)
    for row, mask in enumerate(known):
        own, rest = np.flatnonzero(mask), np.flatnonzero(~mask)
        inner = covariance[np.ix_(own, own)] + ridge * np.eye(len(own))
        weights = np.linalg.solve(inner, X[row, own] - mean[own])
        found[row, rest] = mean[rest] + covariance[np.ix_(rest, own)] @ weights
    return found


def errors(X, known, mean, covariance):
    """Return the mean square error x 100 of whole patches, and that of their missing pixels alone: here the same."""
    squares = (X - estimates(X, known, mean, covariance)) ** 2
    return 100.0 * float(np.mean(squares.sum(axis=1))), 100.0 * float(np.mean((squares * ~known).sum(axis=1)))
