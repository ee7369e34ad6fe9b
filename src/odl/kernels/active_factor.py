"""Compiled factor of the active atoms on the LARS path: atoms join and leave, u, w and their residual follow.

Names are those of `odl.kernels.lars_path`: L is the Cholesky factor of G_SS, u = G_SS^-1 b_S, w = G_SS^-1 1.
"""

import math
from typing import NamedTuple

import numpy as np

from odl.kernels.compiled import allocating, kernel


class Work(NamedTuple):
    """Arrays reused from document to document."""

    product: np.ndarray  # b
    alpha: np.ndarray
    beta: np.ndarray
    code: np.ndarray  # x, all atoms
    state: np.ndarray  # 0 free to enter, 1 active, 2 dependent on the active atoms
    active: np.ndarray  # S, in the order of the rows of the factor
    factor: np.ndarray  # L
    image: np.ndarray  # L^-1 b_S
    ones: np.ndarray  # L^-1 1
    fit: np.ndarray  # u
    turn: np.ndarray  # w
    change: np.ndarray  # refinement of u
    residual: np.ndarray  # p - A u, all terms; zero between uses


@allocating
def allocate(terms, atoms):
    most = min(terms, atoms) + 1
    real = np.float64
    return Work(
        np.zeros(atoms, real),
        np.zeros(atoms, real),
        np.zeros(atoms, real),
        np.zeros(atoms, real),
        np.zeros(atoms, np.uint8),
        np.zeros(most, np.int64),
        np.zeros((most, most), real),
        np.zeros(most, real),
        np.zeros(most, real),
        np.zeros(most, real),
        np.zeros(most, real),
        np.zeros(most, real),
        np.zeros(terms, real),
    )


@kernel
def append(j, count, gram, work, dependent):
    """Append atom j to the factor; return whether it is independent of the active atoms."""
    factor, pivot = work.factor, gram[j, j]
    image, ones = work.product[j], 1.0
    for i in range(count):
        value = gram[j, work.active[i]]
        for inner in range(i):
            value -= factor[i, inner] * factor[count, inner]
        value /= factor[i, i]
        factor[count, i] = value
        pivot -= value * value
        image -= value * work.image[i]
        ones -= value * work.ones[i]
    if not pivot > dependent * gram[j, j]:
        return False
    root = math.sqrt(pivot)
    factor[count, count] = root
    work.image[count], work.ones[count] = image / root, ones / root
    work.active[count] = j
    return True


@kernel
def remove(place, count, gram, work):
    """Take the atom at a place of the factor out of it: those behind it are appended anew."""
    for row in range(place, count - 1):
        append(work.active[row + 1], row, gram, work, 0.0)


@kernel
def backward(count, factor, right, out):
    """Solve L^T out = right."""
    for i in range(count - 1, -1, -1):
        value = right[i]
        for row in range(i + 1, count):
            value -= factor[row, i] * out[row]
        out[i] = value / factor[i, i]


@kernel
def slopes(count, gram, work):
    """Fill alpha and beta of every atom."""
    alpha, beta = work.alpha, work.beta
    for j in range(len(alpha)):
        alpha[j], beta[j] = work.product[j], 0.0
    for i in range(count):
        fit, turn, row = work.fit[i], work.turn[i], work.active[i]
        for j in range(len(alpha)):
            alpha[j] -= fit * gram[row, j]
            beta[j] += turn * gram[row, j]


@kernel
def _subtract(count, weight, work, columns):
    """Subtract the active atoms times a weight from the residual."""
    start, term, value = columns
    for i in range(count):
        j = work.active[i]
        for entry in range(start[j], start[j + 1]):
            work.residual[term[entry]] -= weight[i] * value[entry]


@kernel
def _correlate(j, work, columns):
    start, term, value = columns
    total = 0.0
    for entry in range(start[j], start[j + 1]):
        total += value[entry] * work.residual[term[entry]]
    return total


@kernel
def refine(count, terms, values, unit, work, columns):
    """Compute c and alpha from the residual itself, where the differences of Gram entries would cancel; return c."""
    for position in range(len(terms)):
        work.residual[terms[position]] += values[position] / unit
    _subtract(count, work.fit, work, columns)
    for i in range(count):  # the right-hand side L^-1 A_S^T residual, into `change`
        value = _correlate(work.active[i], work, columns)
        for inner in range(i):
            value -= work.factor[i, inner] * work.change[inner]
        work.change[i] = value / work.factor[i, i]
    backward(count, work.factor, work.change, work.change)
    _subtract(count, work.change, work, columns)
    for i in range(count):
        work.fit[i] += work.change[i]
    for j in range(len(work.alpha)):
        work.alpha[j] = 0.0 if work.state[j] == 1 else _correlate(j, work, columns)
    total = 0.0
    for term in terms:
        total += work.residual[term] * work.residual[term]
        work.residual[term] = 0.0
    start, row, _ = columns
    for i in range(count):
        j = work.active[i]
        for entry in range(start[j], start[j + 1]):
            total += work.residual[row[entry]] * work.residual[row[entry]]
            work.residual[row[entry]] = 0.0
    return total
