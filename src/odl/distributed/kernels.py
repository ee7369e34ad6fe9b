"""Compiled inference and learning on sparse documents and atoms.

Functions that call each other share this file and constants are arguments, as in `odl.kernels`.

Atoms lie in the rows of two padded arrays with room to grow: entries of atom j are ``term[j, :count[j]]`` (in any
order) and ``weight[j, :count[j]]``. `eta` is 0 for the squared residual. `signed` tells whether codes and atoms
may be negative; where they may not, nu <= nu of the empty code entry by entry, so an atom with w^T nu <= gamma
there is silent and left out of everything: an exact screen.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

_compiled = njit(cache=True, nogil=True, error_model="numpy")
_plain = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)  # must not allocate


class Work(NamedTuple):
    """Arrays over terms and atoms reused from document to document."""

    rest: np.ndarray  # terms: residual x - W y, zero off the touched terms
    dual: np.ndarray  # terms: nu, zero off the touched terms
    inside: np.ndarray  # terms: 1 for a touched term
    mark: np.ndarray  # terms: scratch, zero between calls
    touched: np.ndarray  # terms where the document or an atom of its code has weight
    kept: np.ndarray  # atoms that pass the screen
    code: np.ndarray  # atoms: y


@_compiled
def _allocate(n_terms, n_atoms):
    return Work(
        np.zeros(n_terms),
        np.zeros(n_terms),
        np.zeros(n_terms, np.int8),
        np.zeros(n_terms, np.int8),
        np.empty(n_terms, np.int32),
        np.empty(n_atoms, np.int64),
        np.zeros(n_atoms),
    )


@_plain
def _clip(value, limit):
    return min(max(value, -limit), limit)


@_plain
def _shrink(value, threshold, signed):
    """Return soft(value, threshold), or its positive part."""
    if value > threshold:
        return value - threshold
    if signed and value < -threshold:
        return value + threshold
    return 0.0


@_plain
def _slope(rest, eta):
    """Return the derivative of the residual loss."""
    return rest if eta == 0.0 else _clip(rest / eta, 1.0)


@_plain
def _loss(rest, eta):
    """Return the residual loss of one term."""
    if eta == 0.0:
        return 0.5 * rest * rest
    size = abs(rest)
    return size * size / (2.0 * eta) if size < eta else size - 0.5 * eta


@_plain
def _agreement(term, weight, count, j, rest, eta):
    """Return w_j^T nu for nu = f'(rest)."""
    total = 0.0
    for entry in range(count[j]):
        total += weight[j, entry] * _slope(rest[term[j, entry]], eta)
    return total


@_plain
def _minimise(term, weight, count, j, start, size, rest, gamma, delta, eta, signed):
    """Return the y_j that minimises the objective with the other codes fixed.

    The derivative is piecewise linear: Newton's method on its pieces, kept inside a bracket.
    """
    if eta == 0.0:
        total = _agreement(term, weight, count, j, rest, eta) + size * start
        return _shrink(total, gamma, signed) / (size + delta)
    at, low, high = start, -math.inf, math.inf
    for _ in range(10):
        moved = at - start
        total, curve = 0.0, 0.0
        for entry in range(count[j]):
            value = weight[j, entry]
            left = rest[term[j, entry]] - value * moved
            if abs(left) < eta:
                curve += value * value
                total += value * left / eta
            else:
                total += math.copysign(value, value * left)
        curve /= eta
        target = _shrink(total + curve * at, gamma, signed) / (curve + delta)
        if abs(target - at) <= 1e-9 * abs(at):
            return target
        if target > at:
            low = at
        else:
            high = at
        at = target if low < target < high else 0.5 * (low + high)
    return at


@_plain
def _move(term, weight, count, j, step, work, touched):
    """Change y_j by `step` in the residual; return the number of touched terms."""
    for entry in range(count[j]):
        i = term[j, entry]
        work.rest[i] -= weight[j, entry] * step
        if work.inside[i] == 0:
            work.inside[i] = 1
            work.touched[touched] = i
            touched += 1
    return touched


@_plain
def _open(terms, values, work):
    """Set the residual of the empty code; return the number of touched terms."""
    for position in range(len(terms)):
        i = terms[position]
        work.rest[i] = values[position]
        work.inside[i] = 1
        work.touched[position] = i
    return len(terms)


@_plain
def _close(touched, work):
    """Return the work arrays to zero."""
    for position in range(touched):
        i = work.touched[position]
        work.rest[i] = 0.0
        work.dual[i] = 0.0
        work.inside[i] = 0


@_plain
def _screen(term, weight, count, gamma, eta, signed, work, scale=1.0):
    """List the atoms that can be active: all, or with nothing negative those with scale w^T nu(0) > gamma."""
    kept = 0
    for j in range(len(count)):
        if count[j] and (signed or scale * _agreement(term, weight, count, j, work.rest, eta) > gamma):
            work.kept[kept] = j
            kept += 1
    return kept


@_plain
def _values(terms, values, term, weight, count, kept, touched, gamma, delta, eta, signed, work):
    """Return residual loss, penalty and dual value at the code; sets nu on the touched terms."""
    residual, dual = 0.0, 0.0
    for position in range(touched):
        i = work.touched[position]
        residual += _loss(work.rest[i], eta)
        work.dual[i] = _slope(work.rest[i], eta)
        dual -= 0.5 * (1.0 if eta == 0.0 else eta) * work.dual[i] ** 2
    for position in range(len(terms)):
        dual += work.dual[terms[position]] * values[position]
    penalty = 0.0
    for position in range(kept):
        j = work.kept[position]
        penalty += gamma * abs(work.code[j]) + 0.5 * delta * work.code[j] ** 2
        dual -= 0.5 / delta * _shrink(_agreement(term, weight, count, j, work.rest, eta), gamma, signed) ** 2
    return residual, penalty, dual


@_plain
def _sweep(term, weight, count, sizes, kept, touched, active, gamma, delta, eta, signed, work):
    """Minimise over every kept (or every active) atom in turn; return touched terms and the largest move."""
    largest = 0.0
    for position in range(kept):
        j = work.kept[position]
        old = work.code[j]
        if active and old == 0.0:
            continue
        new = _minimise(term, weight, count, j, old, sizes[j], work.rest, gamma, delta, eta, signed)
        if new != old:
            touched = _move(term, weight, count, j, new - old, work, touched)
            work.code[j] = new
            largest = max(largest, abs(new - old) * math.sqrt(sizes[j]))
    return touched, largest


@_plain
def _solve(terms, values, term, weight, count, sizes, model, tolerance, sweeps, work):
    """Code one document by coordinate descent until the duality gap is `tolerance` of the objective.

    Returns
    -------
    touched, kept : number of touched terms and of atoms that passed the screen
    residual, penalty, gap : parts of the objective and the duality gap
    """
    gamma, delta, eta, signed = model
    touched = _open(terms, values, work)
    kept = _screen(term, weight, count, gamma, eta, signed, work)
    residual, penalty, dual = _values(
        terms, values, term, weight, count, kept, touched, gamma, delta, eta, signed, work
    )
    used = 0
    while residual + penalty - dual > tolerance * (residual + penalty) and used < sweeps:
        touched, largest = _sweep(term, weight, count, sizes, kept, touched, False, gamma, delta, eta, signed, work)
        used += 1
        begin = largest
        for _ in range(20):  # the active atoms alone
            if largest <= 0.01 * begin or used >= sweeps:
                break
            touched, largest = _sweep(term, weight, count, sizes, kept, touched, True, gamma, delta, eta, signed, work)
            used += 1
        residual, penalty, dual = _values(
            terms, values, term, weight, count, kept, touched, gamma, delta, eta, signed, work
        )
    return touched, kept, residual, penalty, max(residual + penalty - dual, 0.0)


@_compiled
def _squares(term, weight, count):
    sizes = np.zeros(len(count))
    for j in range(len(count)):
        for entry in range(count[j]):
            sizes[j] += weight[j, entry] ** 2
    return sizes


@_compiled
def code_documents(indptr, indices, data, atoms, n_terms, model, tolerance, sweeps):
    """Code documents one by one; return codes (dense), residual, penalty and gap."""
    term, weight, count = atoms
    n_documents, n_atoms = len(indptr) - 1, len(count)
    work = _allocate(n_terms, n_atoms)
    sizes = _squares(term, weight, count)
    codes, parts = np.zeros((n_documents, n_atoms)), np.zeros((3, n_documents))
    for document in range(n_documents):
        terms, values = indices[indptr[document] : indptr[document + 1]], data[indptr[document] : indptr[document + 1]]
        touched, kept, parts[0, document], parts[1, document], parts[2, document] = _solve(
            terms, values, term, weight, count, sizes, model, tolerance, sweeps, work
        )
        for position in range(kept):
            j = work.kept[position]
            codes[document, j] = work.code[j]
            work.code[j] = 0.0
        _close(touched, work)
    return codes, parts


@_plain
def _update(term, weight, count, j, step, shrink, touched, signed, work):
    """W_j <- Proj(prox(W_j + step nu)) for nu = work.dual; needs room for the touched terms. Returns ||W_j||^2."""
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
        value = _shrink(weight[j, entry], shrink, signed)
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


@_compiled
def _room(term, weight, needed):
    """Return the arrays with at least `needed` places for each atom."""
    if needed <= term.shape[1]:
        return term, weight
    places = max(needed, term.shape[1] + term.shape[1] // 2)
    wider_term = np.zeros((term.shape[0], places), term.dtype)
    wider_weight = np.zeros((term.shape[0], places))
    wider_term[:, : term.shape[1]] = term
    wider_weight[:, : term.shape[1]] = weight
    return wider_term, wider_weight


@_compiled
def learn_documents(indptr, indices, data, atoms, n_terms, model, tolerance, sweeps, step, beta):
    """Code and learn documents one by one; return the atoms and the codes that were learned from."""
    term, weight, count = atoms
    _gamma, _delta, _eta, signed = model
    n_documents, n_atoms = len(indptr) - 1, len(count)
    work = _allocate(n_terms, n_atoms)
    sizes = _squares(term, weight, count)
    use = np.zeros(n_atoms)
    for document in range(n_documents):
        terms, values = indices[indptr[document] : indptr[document + 1]], data[indptr[document] : indptr[document + 1]]
        touched, _kept, _, _, _ = _solve(terms, values, term, weight, count, sizes, model, tolerance, sweeps, work)
        for j in range(n_atoms):
            if work.code[j] != 0.0 or beta > 0.0:  # the prox shrinks silent atoms as well
                term, weight = _room(term, weight, count[j] + touched)
                sizes[j] = _update(term, weight, count, j, step * work.code[j], step * beta, touched, signed, work)
                use[j] += work.code[j]
                work.code[j] = 0.0
        _close(touched, work)
    return (term, weight, count), use
