"""Compiled terms of the objective over agents on padded atoms: residual loss, codes' threshold, screen, an atom's step.

Atoms lie in the rows of two padded arrays with room to grow (`odl.kernels.marshalling.Atoms`): entries of atom j are
``term[j, :count[j]]`` (in any order) and ``weight[j, :count[j]]``. A document is a tuple of its terms and their values.
In a model (`odl.kernels.marshalling.Model`) `eta` is 0 for the squared residual, and `signed` tells whether codes and
atoms may be negative; where they may not, nu <= nu of the empty code entry by entry, so an atom with w^T nu <= gamma
there is silent and left out of everything: an exact screen.
"""

import math
from typing import NamedTuple

import numpy as np

from odl.kernels.compiled import allocating, kernel
from odl.kernels.marshalling import Atoms


class Work(NamedTuple):
    """Arrays over terms and atoms reused from document to document."""

    rest: np.ndarray  # terms: residual x - W y, zero off the touched terms
    dual: np.ndarray  # terms: nu, zero off the touched terms
    inside: np.ndarray  # terms: 1 for a touched term
    mark: np.ndarray  # terms: scratch, zero between calls
    touched: np.ndarray  # terms where the document or an atom of its code has weight
    kept: np.ndarray  # atoms that pass the screen
    code: np.ndarray  # atoms: y


@allocating
def allocate(n_terms, n_atoms):
    return Work(
        np.zeros(n_terms),
        np.zeros(n_terms),
        np.zeros(n_terms, np.int8),
        np.zeros(n_terms, np.int8),
        np.empty(n_terms, np.int32),
        np.empty(n_atoms, np.int64),
        np.zeros(n_atoms),
    )


@kernel
def clip(value, limit):
    return min(max(value, -limit), limit)


@kernel
def soft(value, threshold, signed):
    """Return soft(value, threshold), or its positive part."""
    if value > threshold:
        return value - threshold
    if signed and value < -threshold:
        return value + threshold
    return 0.0


@kernel
def slope_of(rest, eta):
    """Return the derivative of the residual loss."""
    return rest if eta == 0.0 else clip(rest / eta, 1.0)


@kernel
def loss(rest, eta):
    """Return the residual loss of one term."""
    if eta == 0.0:
        return 0.5 * rest * rest
    size = abs(rest)
    return size * size / (2.0 * eta) if size < eta else size - 0.5 * eta


@kernel
def agreement(atoms, j, rest, eta):
    """Return w_j^T nu for nu = f'(rest)."""
    total = 0.0
    for entry in range(atoms.count[j]):
        total += atoms.weight[j, entry] * slope_of(rest[atoms.term[j, entry]], eta)
    return total


@kernel
def start_document(document, work):
    """Set the residual of the empty code; return the number of touched terms."""
    terms, values = document
    for position in range(len(terms)):
        i = terms[position]
        work.rest[i] = values[position]
        work.inside[i] = 1
        work.touched[position] = i
    return len(terms)


@kernel
def clear(touched, kept, work):
    """Return the work arrays to zero, the codes of the kept atoms too."""
    for position in range(touched):
        i = work.touched[position]
        work.rest[i] = 0.0
        work.dual[i] = 0.0
        work.inside[i] = 0
    for position in range(kept):
        work.code[work.kept[position]] = 0.0


@kernel
def screen(atoms, model, scale, work):
    """List the atoms that can be active: all, or with nothing negative those with w^T nu > gamma at nu's bound.

    The bound is nu of the empty code, times `scale` where it is positive (1 unless only some agents see x).
    """
    kept = 0
    for j in range(len(atoms.count)):
        total = 0.0
        if not model.signed:
            for entry in range(atoms.count[j]):
                slope = slope_of(work.rest[atoms.term[j, entry]], model.eta)
                if scale > 1.0:
                    slope = scale * max(slope, 0.0)
                total += atoms.weight[j, entry] * slope
        if atoms.count[j] and (model.signed or total > model.gamma):
            work.kept[kept] = j
            kept += 1
    return kept


@allocating
def squared_sizes(atoms):
    sizes = np.zeros(len(atoms.count))
    for j in range(len(atoms.count)):
        for entry in range(atoms.count[j]):
            sizes[j] += atoms.weight[j, entry] ** 2
    return sizes


@kernel
def step_atom(atoms, j, step, shrink, touched, signed, work):
    """W_j <- Proj(prox(W_j + step nu)) for nu = work.dual (eqs 51 to 56); needs room. Returns ||W_j||^2."""
    term, weight, count = atoms
    for entry in range(count[j]):
        i = term[j, entry]
        weight[j, entry] += step * work.dual[i]
        work.mark[i] = 1
    old = count[j]
    filled = old
    for position in range(touched):
        i = work.touched[position]
        if work.mark[i] == 0 and work.dual[i] != 0.0:
            term[j, filled] = i
            weight[j, filled] = step * work.dual[i]
            filled += 1
    for entry in range(old):
        work.mark[term[j, entry]] = 0
    kept, size = 0, 0.0
    for entry in range(filled):
        value = soft(weight[j, entry], shrink, signed)
        if value != 0.0:
            term[j, kept] = term[j, entry]
            weight[j, kept] = value
            size += value * value
            kept += 1
    count[j] = kept
    if size > 1.0:
        scale = 1.0 / math.sqrt(size)
        for entry in range(kept):
            weight[j, entry] *= scale
        size = 1.0
    return size


@allocating
def room(atoms, needed):
    """Return the atoms with at least `needed` places for each."""
    term, weight, count = atoms
    if needed <= term.shape[1]:
        return atoms
    places = max(needed, term.shape[1] + term.shape[1] // 2)
    wider_term = np.zeros((term.shape[0], places), term.dtype)
    wider_weight = np.zeros((term.shape[0], places))
    wider_term[:, : term.shape[1]] = term
    wider_weight[:, : term.shape[1]] = weight
    return Atoms(wider_term, wider_weight, count)
