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
def _minimise(atoms, j, start, size, rest, model):
    """Return the y_j that minimises the objective with the other codes fixed.

    The derivative is piecewise linear: Newton's method on its pieces, kept inside a bracket.
    """
    gamma, delta, eta, signed = model
    if eta == 0.0:
        total = agreement(atoms, j, rest, eta) + size * start
        return soft(total, gamma, signed) / (size + delta)
    at, low, high = start, -math.inf, math.inf
    for _ in range(10):
        moved = at - start
        total, curve = 0.0, 0.0
        for entry in range(atoms.count[j]):
            value = atoms.weight[j, entry]
            left = rest[atoms.term[j, entry]] - value * moved
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
def _move(atoms, j, step, work, touched):
    """Change y_j by `step` in the residual; return the number of touched terms."""
    for entry in range(atoms.count[j]):
        i = atoms.term[j, entry]
        work.rest[i] -= atoms.weight[j, entry] * step
        if work.inside[i] == 0:
            work.inside[i] = 1
            work.touched[touched] = i
            touched += 1
    return touched


@kernel
def _values(document, atoms, kept, touched, model, work):
    """Return residual loss, penalty and dual value at the code; sets nu on the touched terms."""
    (terms, values), (gamma, delta, eta, signed) = document, model
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
        dual -= 0.5 / delta * soft(agreement(atoms, j, work.rest, eta), gamma, signed) ** 2
    return residual, penalty, dual


@kernel
def _sweep(atoms, sizes, kept, touched, active, model, work):
    """Minimise over every kept (or every active) atom in turn; return touched terms and the largest move."""
    largest = 0.0
    for position in range(kept):
        j = work.kept[position]
        old = work.code[j]
        if active and old == 0.0:
            continue
        new = _minimise(atoms, j, old, sizes[j], work.rest, model)
        if new != old:
            touched = _move(atoms, j, new - old, work, touched)
            work.code[j] = new
            largest = max(largest, abs(new - old) * math.sqrt(sizes[j]))
    return touched, largest


@kernel
def _solve(document, atoms, sizes, model, tolerance, sweeps, work):
    """Code one document by coordinate descent until the duality gap is `tolerance` of the objective.

    Returns
    -------
    touched, kept : number of touched terms and of atoms that passed the screen
    residual, penalty, gap : parts of the objective and the duality gap
    """
    touched = start_document(document, work)
    kept = screen(atoms, model, 1.0, work)
    residual, penalty, dual = _values(document, atoms, kept, touched, model, work)
    used = 0
    while residual + penalty - dual > tolerance * (residual + penalty) and used < sweeps:
        touched, largest = _sweep(atoms, sizes, kept, touched, False, model, work)
        used += 1
        begin = largest
        for _ in range(20):  # the active atoms alone
            if largest <= 0.01 * begin or used >= sweeps:
                break
            touched, largest = _sweep(atoms, sizes, kept, touched, True, model, work)
            used += 1
        residual, penalty, dual = _values(document, atoms, kept, touched, model, work)
    return touched, kept, residual, penalty, max(residual + penalty - dual, 0.0)


@called("(ROWS) Atoms l Model d l d d -> (Atoms d[,] d[,])")
@allocating
def code_documents(documents, atoms, n_terms, model, tolerance, sweeps, step, beta):
    """Code documents one by one; with a step above 0 the atoms learn from each before the next one comes.

    Returns
    -------
    atoms, codes (dense), parts : the last are residual, penalty and gap
    """
    starts, indices, data = documents
    n_documents, n_atoms = len(starts) - 1, len(atoms.count)
    work, sizes = allocate(n_terms, n_atoms), squared_sizes(atoms)
    codes, parts = np.zeros((n_documents, n_atoms)), np.zeros((3, n_documents))
    for d in range(n_documents):
        document = (indices[starts[d] : starts[d + 1]], data[starts[d] : starts[d + 1]])
        touched, kept, parts[0, d], parts[1, d], parts[2, d] = _solve(
            document, atoms, sizes, model, tolerance, sweeps, work
        )
        codes[d] = work.code
        if step > 0.0:
            for j in range(n_atoms):
                if work.code[j] != 0.0 or beta > 0.0:  # the prox shrinks silent atoms as well
                    atoms = room(atoms, atoms.count[j] + touched)
                    shrink = step * beta
                    sizes[j] = step_atom(atoms, j, step * work.code[j], shrink, touched, model.signed, work)
        clear(touched, kept, work)
    return atoms, codes, parts
