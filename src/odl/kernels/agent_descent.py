"""Compiled coordinate descent on the codes of the objective over agents, and learning from them, in one place.

Atoms are padded as in `odl.kernels.agent_losses`; a code is done when its duality gap is small.
"""

import math

import numpy as np

from odl.kernels.agent_losses import (
    agreement,
    allocate,
    clear,
    loss,
    room,
    screen,
    slope_of,
    soft,
    squared_sizes,
    start_document,
    step_atom,
)
from odl.kernels.compiled import allocating, called, kernel


@kernel
def _minimise(term, weight, count, j, start, size, rest, gamma, delta, eta, signed):
    """Return the y_j that minimises the objective with the other codes fixed.

    The derivative is piecewise linear: Newton's method on its pieces, kept inside a bracket.
    """
    if eta == 0.0:
        total = agreement(term, weight, count, j, rest, eta) + size * start
        return soft(total, gamma, signed) / (size + delta)
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
        target = soft(total + curve * at, gamma, signed) / (curve + delta)
        if abs(target - at) <= 1e-9 * abs(at):
            return target
        if target > at:
            low = at
        else:
            high = at
        at = target if low < target < high else 0.5 * (low + high)
    return at


@kernel
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


@kernel
def _values(terms, values, term, weight, count, kept, touched, gamma, delta, eta, signed, work):
    """Return residual loss, penalty and dual value at the code; sets nu on the touched terms."""
    residual, dual = 0.0, 0.0
    for position in range(touched):
        i = work.touched[position]
        residual += loss(work.rest[i], eta)
        work.dual[i] = slope_of(work.rest[i], eta)
        dual -= 0.5 * (1.0 if eta == 0.0 else eta) * work.dual[i] ** 2
    for position in range(len(terms)):
        dual += work.dual[terms[position]] * values[position]
    penalty = 0.0
    for position in range(kept):
        j = work.kept[position]
        penalty += gamma * abs(work.code[j]) + 0.5 * delta * work.code[j] ** 2
        dual -= 0.5 / delta * soft(agreement(term, weight, count, j, work.rest, eta), gamma, signed) ** 2
    return residual, penalty, dual


@kernel
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


@kernel
def _solve(terms, values, term, weight, count, sizes, model, tolerance, sweeps, work):
    """Code one document by coordinate descent until the duality gap is `tolerance` of the objective.

    Returns
    -------
    touched, kept : number of touched terms and of atoms that passed the screen
    residual, penalty, gap : parts of the objective and the duality gap
    """
    gamma, delta, eta, signed = model
    touched = start_document(terms, values, work)
    kept = screen(term, weight, count, gamma, eta, signed, 1.0, work)
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


@called("ROWS ATOMS l MODEL d l -> (d[,] d[,])")
@allocating
def code_documents(indptr, indices, data, atoms, n_terms, model, tolerance, sweeps):
    """Code documents one by one; return codes (dense), residual, penalty and gap."""
    term, weight, count = atoms
    n_documents, n_atoms = len(indptr) - 1, len(count)
    work = allocate(n_terms, n_atoms)
    sizes = squared_sizes(term, weight, count)
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
        clear(touched, work)
    return codes, parts


@kernel
def _sweep_squared(answers, code, gram, names, kept, active, gamma, delta, signed):
    """Minimise over the kept (or the active) atoms in turn, all products known; return the largest move."""
    largest = 0.0
    for position in range(kept):
        j = names[position]
        old = code[j]
        if active and old == 0.0:
            continue
        new = soft(answers[j] + gram[j, j] * old, gamma, signed) / (gram[j, j] + delta)
        if new != old:
            for other in range(kept):
                answers[names[other]] -= gram[j, names[other]] * (new - old)
            code[j] = new
            largest = max(largest, abs(new - old) * math.sqrt(gram[j, j]))
    return largest


@kernel
def _values_squared(product, square, answers, code, names, kept, gamma, delta, signed):
    """Return residual loss, penalty and dual value; answers are w^T nu."""
    explained, left, penalty, silent = 0.0, 0.0, 0.0, 0.0
    for position in range(kept):
        j = names[position]
        explained += code[j] * product[j]
        left += code[j] * answers[j]
        penalty += gamma * abs(code[j]) + 0.5 * delta * code[j] ** 2
        silent += soft(answers[j], gamma, signed) ** 2
    residual = 0.5 * max(square - explained - left, 0.0)
    return residual, penalty, square - explained - residual - 0.5 / delta * silent


@called("d[,] d[] d[,] MODEL d l -> (d[,] d[,])")
@allocating
def code_squared(products, squares, gram, model, tolerance, sweeps):
    """Code documents for the squared residual from products alone: P A, ||p||^2 and A^T A (dense).

    The same iteration as in `code_documents`, whose cost does not depend on the lengths of the atoms.
    """
    gamma, delta, _, signed = model
    n_documents, n_atoms = products.shape
    codes, parts = np.zeros((n_documents, n_atoms)), np.zeros((3, n_documents))
    names = np.empty(n_atoms, np.int64)
    for document in range(n_documents):
        product, code = products[document], codes[document]
        answers, kept = product.copy(), 0
        for j in range(n_atoms):
            if gram[j, j] > 0.0 and (signed or product[j] > gamma):
                names[kept] = j
                kept += 1
        known = (product, squares[document], answers, code, names, kept, gamma, delta, signed)
        residual, penalty, dual = _values_squared(*known)
        used = 0
        while residual + penalty - dual > tolerance * (residual + penalty) and used < sweeps:
            largest = _sweep_squared(answers, code, gram, names, kept, False, gamma, delta, signed)
            used += 1
            begin = largest
            while largest > 0.01 * begin and used < sweeps:
                largest = _sweep_squared(answers, code, gram, names, kept, True, gamma, delta, signed)
                used += 1
            residual, penalty, dual = _values_squared(*known)
        parts[0, document], parts[1, document] = residual, penalty
        parts[2, document] = max(residual + penalty - dual, 0.0)
    return codes, parts


@called("ROWS ATOMS l MODEL d l d d -> (ATOMS d[])")
@allocating
def learn_documents(indptr, indices, data, atoms, n_terms, model, tolerance, sweeps, step, beta):
    """Code and learn documents one by one; return the atoms and the sum of each atom's codes."""
    term, weight, count = atoms
    signed = model[3]
    n_documents, n_atoms = len(indptr) - 1, len(count)
    work = allocate(n_terms, n_atoms)
    sizes = squared_sizes(term, weight, count)
    use = np.zeros(n_atoms)
    for document in range(n_documents):
        terms, values = indices[indptr[document] : indptr[document + 1]], data[indptr[document] : indptr[document + 1]]
        touched, _kept, _, _, _ = _solve(terms, values, term, weight, count, sizes, model, tolerance, sweeps, work)
        for j in range(n_atoms):
            if work.code[j] != 0.0 or beta > 0.0:  # the prox shrinks silent atoms as well
                term, weight = room(term, weight, count[j] + touched)
                sizes[j] = step_atom(term, weight, count, j, step * work.code[j], step * beta, touched, signed, work)
                use[j] += work.code[j]
                work.code[j] = 0.0
        clear(touched, work)
    return (term, weight, count), use
