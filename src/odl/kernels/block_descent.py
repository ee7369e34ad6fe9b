"""Compiled block coordinate descent over atoms with mu ||d||_1 + (1 - mu) ||d||_2^2 <= 1, and its projection.

See `odl.dictionary.structured` and `odl.prox.treeprox`.
"""

import math

import numpy as np

from odl.kernels.compiled import allocating, called, kernel


@kernel
def _constraint(d, mu):
    """Return (mu ||d||_1 + (1 - mu) ||d||_2^2, entries that are not zero)."""
    sizes = squares = 0.0
    count = 0
    for value in d:
        sizes += abs(value)
        squares += value * value
        count += value != 0.0
    return mu * sizes + (1.0 - mu) * squares, count


@kernel
def _multiplier(work, count, mu):
    """Return nu > 0 with h(nu) = mu S_1 / c + (1 - mu) S_2 / c^2 - 1 = 0, S_q = sum (|u| - nu mu)_+^q.

    c = 1 + 2 nu (1 - mu). h is convex and falls, so Newton from 0 climbs to the root and what falls under nu mu is
    dropped from the list for good.
    """
    nu = 0.0
    for _ in range(500):
        first = second = 0.0
        kept = 0
        for k in range(count):
            left = work[k] - nu * mu
            if left > 0.0:
                work[kept] = work[k]
                kept += 1
                first += left
                second += left * left
        count = kept
        c = 1.0 + 2.0 * nu * (1.0 - mu)
        h = (mu * first + (1.0 - mu) * second / c) / c - 1.0
        fall = mu * (mu * count + 2.0 * (1.0 - mu) * first / c) / c
        fall += (1.0 - mu) * (2.0 * mu * first + 4.0 * (1.0 - mu) * second / c) / (c * c)
        if not h > 0.0 or nu + h / fall <= nu:
            return nu
        nu += h / fall
    return nu


@kernel
def _level(work, count, largest):
    """Return tau with sum (|u| - (largest - tau))_+ = 1: the simplex, in distances from the largest entry."""
    for k in range(count):
        work[k] = largest - work[k]
    tau = np.inf
    while True:
        kept, total = 0, 0.0
        for k in range(count):
            if work[k] < tau:
                work[kept] = work[k]
                total += work[k]
                kept += 1
        if kept == count and tau < np.inf:
            return tau
        count = kept
        tau = (1.0 + total) / count


@kernel
def _project(d, mu, positive, epsilon, work):
    """d <- its projection on {mu ||d||_1 + (1 - mu) ||d||_2^2 <= 1} (and d >= 0), in place; feasible points stay."""
    count, largest = 0, 0.0
    for i in range(len(d)):
        if positive and d[i] < 0.0:
            d[i] = 0.0
        size = abs(d[i])
        if size > 0.0:
            work[count] = size
            count += 1
            largest = max(largest, size)
    value, _ = _constraint(d, mu)
    if value <= 1.0 + (8 + count) * epsilon:
        return
    if mu == 1.0:
        tau = _level(work, count, largest)
        for i in range(len(d)):
            left = max(tau - (largest - abs(d[i])), 0.0)
            d[i] = math.copysign(left, d[i]) if left > 0.0 else 0.0
    else:
        nu = _multiplier(work, count, mu) if mu > 0.0 else 0.5 * (math.sqrt(value) - 1.0)
        c = 1.0 + 2.0 * nu * (1.0 - mu)
        for i in range(len(d)):
            left = max(abs(d[i]) - nu * mu, 0.0) / c
            d[i] = math.copysign(left, d[i]) if left > 0.0 else 0.0
    value, count = _constraint(d, mu)
    while value > 1.0 + (8 + count) * epsilon:
        shrink = 1.0 - max(value - 1.0, epsilon)
        for i in range(len(d)):
            d[i] *= shrink
        value, count = _constraint(d, mu)


@called("d[,] d ? d")
@allocating
def project_rows(D, mu, positive, epsilon):
    """Project every row of D (atoms x terms), in place."""
    work = np.empty(D.shape[1])
    for j in range(D.shape[0]):
        _project(D[j], mu, positive, epsilon, work)


@called("d[,] d[,] d[,] d ? d l d")
@allocating
def descend(D, R, A, mu, positive, epsilon, sweeps, smallest):
    """Update the atoms (rows of D, atoms x terms) in turn, in place.

    R (terms x atoms) comes in as B and is B - D^T A while the sweeps run:
    d_j <- Proj(d_j + (b_j - D a_j) / A_jj), Mairal et al. 2010, algorithm 2. Atoms with A_jj <= smallest stay.
    """
    atoms, terms = D.shape
    old, work = np.empty(terms), np.empty(terms)
    for j in range(atoms):
        for i in range(terms):
            if D[j, i] != 0.0:
                for k in range(atoms):
                    R[i, k] -= D[j, i] * A[j, k]
    for _ in range(sweeps):
        for j in range(atoms):
            if A[j, j] <= smallest:
                continue
            old[:] = D[j]
            for i in range(terms):
                D[j, i] += R[i, j] / A[j, j]
            _project(D[j], mu, positive, epsilon, work)
            for i in range(terms):
                delta = D[j, i] - old[i]
                if delta != 0.0:
                    for k in range(atoms):
                        R[i, k] -= delta * A[j, k]
