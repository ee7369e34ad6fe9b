"""Compiled diffusion over a network: adapt, then combine (ATC, eqs 31 and 37); every agent learns (eqs 51 to 56).

Dual variables are held as in `odl.kernels.dual_coefficients`, atoms as in `odl.kernels.agent_losses`.
"""

from typing import NamedTuple

import numpy as np

from odl.kernels.agent_losses import allocate, clear, room, screen, slope_of, soft, start_document, step_atom
from odl.kernels.compiled import allocating, called, kernel
from odl.kernels.dual_coefficients import (
    Duals,
    Span,
    agent_dual,
    answer,
    fill_gram,
    more_places,
    moved_little,
    new_places,
    plain_entries,
    raise_bounds,
    square,
    touch,
    widened,
)
from odl.kernels.fixed_point import jump


class End(NamedTuple):
    """What the diffusion of one document ends with."""

    touched: int
    kept: int
    columns: int
    plains: int
    duals: Duals
    entries: tuple
    span: Span
    used: int  # iterations


@kernel
def _mix(diffusion, sent, heard, width):
    """heard_k = sum_l a_lk sent_l."""
    for k in range(len(diffusion.shares)):
        for i in range(width):
            heard[k, i] = 0.0
        for entry in range(diffusion.starts[k], diffusion.starts[k + 1]):
            value, other = diffusion.weights[entry], diffusion.neighbours[entry]
            for i in range(width):
                heard[k, i] += value * sent[other, i]


@kernel
def _fade(fade, diffusion, x_plain, duals, columns, plains, sent):
    """sent_k = fade nu_k + mu [k sees x] x / |N_I|: the part of adapting that needs no atoms."""
    for k in range(len(diffusion.shares)):
        gain = diffusion.mu * diffusion.shares[k]
        for c in range(columns):
            sent.coefficients[k, c] = fade * duals.coefficients[k, c]
        for i in range(plains):
            sent.plain[k, i] = fade * duals.plain[k, i]
        sent.coefficients[k, 0] += gain
        if gain > 0.0:
            for i in range(plains):
                sent.plain[k, i] += gain * x_plain[i]


@kernel
def _subtract(document, atoms, diffusion, model, kept, columns, duals, entries, sent, span, work):
    """sent_k -= mu W_k T(W_k^T nu_k); an atom that answers for the first time gets a column. Returns their number."""
    starts, places, weights = entries
    for position in range(kept):
        k = diffusion.owner[work.kept[position]]
        y = soft(answer(position, k, duals, columns, entries, span), model.gamma, model.signed) / model.delta
        if y == 0.0:
            continue
        if span.number[position] == 0:
            span.number[position] = columns
            span.column[columns] = position
            fill_gram(columns, document, atoms, kept, span, work)
            columns += 1
        sent.coefficients[k, span.number[position]] -= diffusion.mu * y
        for entry in range(starts[position], starts[position + 1]):
            sent.plain[k, places[entry]] -= diffusion.mu * y * weights[entry]
    return columns


@allocating
def _begin(document, atoms, shares, model, few, place, work):
    """Screen the atoms and set every agent to the optimum without atoms, or to 0 if it does not see x.

    With `few` only those terms of the document are plain that x alone could bring to the limit; else all of them, where
    the residual is not squared.
    """
    terms, values = document
    eta, n_agents, seen = model.eta, len(shares), 0
    for k in range(n_agents):
        seen += shares[k] > 0.0
    kept = screen(atoms, model, n_agents / seen, work)
    numbers, gram = (np.zeros(kept + 1, np.int64), np.zeros(kept, np.int64)), np.zeros((kept, kept + 1))
    span = Span(numbers[0], numbers[1], gram, np.zeros(1), np.zeros(kept + 1), place)
    duals, plains = Duals(np.zeros((n_agents, kept + 1)), np.zeros((n_agents, len(terms) + 64))), 0
    x_plain = np.zeros(duals.plain.shape[1])
    for position in range(len(terms) if eta > 0.0 else 0):
        bounded = 0.0 <= values[position] * n_agents / seen < 0.999 * eta  # below 0 the atoms would add to it
        if model.signed or not (few and bounded):
            place[terms[position]], x_plain[plains] = plains, values[position]
            plains += 1
    for k in range(n_agents):
        if shares[k] > 0.0:
            duals.coefficients[k, 0] = 1.0 / eta if eta > 0.0 else 1.0
            for i in range(plains):
                duals.plain[k, i] = slope_of(x_plain[i], eta)
    fill_gram(0, document, atoms, kept, span, work)
    return kept, plains, duals, x_plain, span


@allocating
def _diffuse(document, atoms, model, diffusion, place, work):
    """Run the diffusion of one document and return its end.

    `place` is an array over terms of -1, to be made so again. Where the diffusion has a `spread` it starts where it
    would end, and looks after one iteration whether that is so.
    """
    eta, shares = model.eta, diffusion.shares
    touched = start_document(document, work)
    few, columns = diffusion.spread.size > 0, 1
    kept, plains, duals, x_plain, span = _begin(document, atoms, shares, model, few, place, work)
    entries = plain_entries(kept, atoms, span, work)
    pull = diffusion.mu * (1.0 if eta == 0.0 else eta) / len(shares)
    if few:
        columns, plains, duals, x_plain, entries = jump(
            document, atoms, model, diffusion, pull, kept, plains, duals, x_plain, entries, span, work
        )
    sent = Duals(np.zeros_like(duals.coefficients), np.zeros_like(duals.plain))
    heard = Duals(np.zeros_like(duals.coefficients), np.zeros_like(duals.plain))
    used = 0
    while used < diffusion.iterations:
        _fade(1.0 - pull, diffusion, x_plain, duals, columns, plains, sent)
        columns = _subtract(document, atoms, diffusion, model, kept, columns, duals, entries, sent, span, work)
        _mix(diffusion, sent.coefficients, heard.coefficients, columns)
        _mix(diffusion, sent.plain, heard.plain, plains)
        if eta > 0.0 and raise_bounds(heard.coefficients, columns, atoms, span, work):
            first, plains = plains, new_places(plains, columns, atoms, span, work)
            if plains > first:
                duals, heard, x_plain, entries = more_places(
                    first, plains, document, atoms, kept, columns, duals, heard, x_plain, span, work
                )
                sent = Duals(sent.coefficients, widened(sent.plain, duals.plain.shape[1]))
        if eta > 0.0:
            heard.plain[:, :plains] = np.minimum(np.maximum(heard.plain[:, :plains], -1.0), 1.0)
        duals, heard = heard, duals
        used += 1
        looks = diffusion.tolerance > 0.0 and (used % diffusion.check == 0 or (few and used == 1))
        if looks and moved_little(duals, heard, columns, plains, diffusion.tolerance * pull, span):
            break
    touched = touch(touched, columns, atoms, span, work)
    return End(touched, kept, columns, plains, duals, entries, span, used)


@kernel
def _read(document, model, diffusion, end, costs, work):
    """Set the codes y_j = T(w_j^T nu_k) in the work and J_k(nu_k) in `costs`."""
    (terms, values), duals, span, shares = document, end.duals, end.span, diffusion.shares
    curvature = 1.0 if model.eta == 0.0 else model.eta
    for k in range(len(shares)):
        size, _ = square(k, duals, duals, end.columns, end.plains, span)
        costs[k] = 0.5 * curvature * size / len(shares)
        if shares[k] > 0.0:
            seen = duals.coefficients[k, 0] * span.own[0]
            for c in range(1, end.columns):
                seen += duals.coefficients[k, c] * span.gram[span.column[c], 0]
            for position in range(len(terms)):
                if span.place[terms[position]] >= 0:
                    seen += duals.plain[k, span.place[terms[position]]] * values[position]
            costs[k] -= shares[k] * seen
    for position in range(end.kept):
        j = work.kept[position]
        k = diffusion.owner[j]
        total = answer(position, k, duals, end.columns, end.entries, span)
        y = soft(total, model.gamma, model.signed) / model.delta
        work.code[j] = y
        costs[k] += 0.5 * model.delta * y * y


@allocating
def _learn(document, atoms, owner, signed, step, beta, end, work):
    """Let every agent learn from its own nu_k and y_k; return the atoms, in wider arrays where they must be."""
    # The dual variables are made of the atoms: all are read before any atom moves.
    duals = np.zeros((end.kept, end.touched))
    for position in range(end.kept):
        j = work.kept[position]
        if work.code[j] != 0.0:
            agent_dual(owner[j], document, end.touched, end.columns, end.duals, atoms, end.span, work)
            for at in range(end.touched):
                duals[position, at] = work.dual[work.touched[at]]
    for position in range(end.kept):
        j = work.kept[position]
        if work.code[j] != 0.0:
            for at in range(end.touched):
                work.dual[work.touched[at]] = duals[position, at]
            atoms = room(atoms, atoms.count[j] + end.touched)
            step_atom(atoms, j, step * work.code[j], step * beta, end.touched, signed, work)
    if beta > 0.0:  # the prox shrinks silent atoms as well
        for j in range(len(atoms.count)):
            if work.code[j] == 0.0:
                step_atom(atoms, j, 0.0, step * beta, 0, signed, work)
    return atoms


@called("(ROWS) Atoms l Model Diffusion d d -> (Atoms d[,] d[,] l[] l[])")
@allocating
def diffuse_documents(documents, atoms, n_terms, model, diffusion, step, beta):
    """Run the diffusion of documents one by one; with a step above 0 every agent learns from its own nu_k and y_k.

    Returns
    -------
    atoms, codes (dense), costs of the agents, iterations, number of touched terms
    """
    starts, indices, data = documents
    n_documents, n_atoms = len(starts) - 1, len(atoms.count)
    work, place = allocate(n_terms, n_atoms), np.full(n_terms, -1, np.int64)
    codes, costs = np.zeros((n_documents, n_atoms)), np.zeros((n_documents, len(diffusion.shares)))
    used, reached = np.zeros(n_documents, np.int64), np.zeros(n_documents, np.int64)
    for d in range(n_documents):
        document = (indices[starts[d] : starts[d + 1]], data[starts[d] : starts[d + 1]])
        end = _diffuse(document, atoms, model, diffusion, place, work)
        _read(document, model, diffusion, end, costs[d], work)
        codes[d], used[d], reached[d] = work.code, end.used, end.touched
        if step > 0.0:
            atoms = _learn(document, atoms, diffusion.owner, model.signed, step, beta, end, work)
        for position in range(end.touched):
            place[work.touched[position]] = -1
        clear(end.touched, end.kept, work)
    return atoms, codes, costs, used, reached
