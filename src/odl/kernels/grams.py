"""Compiled products D^T D, and bounds of their largest eigenvalues: the step lengths of FISTA and of ADMM."""

import math

import numpy as np

from odl.kernels.compiled import allocating, called


@called("d[,] -> d[,]")
@allocating
def gram_matrix(D):
    """Return D^T D of a dense matrix in C order; zeros cost nothing, sums run down the rows."""
    G = np.zeros((D.shape[1], D.shape[1]))
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            value = D[i, j]
            if value != 0.0:
                for k in range(D.shape[1]):
                    G[j, k] += value * D[i, k]
    return G


@allocating
def steepness_of(columns):
    """Return an upper bound of the largest eigenvalue of C^T C (that of C C^T): the row sums of its fourth power."""
    K = gram_matrix(gram_matrix(gram_matrix(columns)))
    bound = 0.0
    for i in range(len(K)):
        bound = max(bound, np.abs(K[i]).sum())
    return math.sqrt(math.sqrt(bound))


@allocating
def longest_square(D):
    """Return the largest squared l2 norm of a column."""
    squares = np.zeros(D.shape[1])
    for i in range(D.shape[0]):
        squares += D[i] * D[i]
    return squares.max()


@called("d[,] l -> d")
@allocating
def steepness(gram, rounds):
    """Return an upper bound of the largest eigenvalue of a Gram matrix G.

    For every positive vector v it is at most max_i (|G| v)_i / v_i (Collatz and Wielandt); v is improved by power
    steps. Tight for matrices without negative entries.
    """
    v, best = np.ones(len(gram)), np.inf
    for _ in range(rounds):
        image, bound = np.zeros(len(gram)), 0.0
        for i in range(len(gram)):
            for j in range(len(gram)):
                image[j] += v[i] * abs(gram[i, j])
        for i in range(len(gram)):
            bound = max(bound, image[i] / v[i])
        best = min(best, bound)
        v = image + 1e-6 * bound * v
        v /= v.max() if v.max() > 0.0 else 1.0
        v = np.maximum(v, 1e-12)
    return best
