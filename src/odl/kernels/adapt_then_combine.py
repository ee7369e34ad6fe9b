"""Compiled diffusion over a network: adapt, then combine (ATC, eqs 31 and 37); every agent learns (eqs 51 to 56).

Dual variables are held as in `odl.kernels.dual_coefficients`, atoms as in `odl.kernels.agent_losses`.
"""

import numpy as np

from odl.kernels.agent_losses import allocate, room, screen, slope_of, soft, start_document, step_atom
from odl.kernels.compiled import allocating, called, kernel
from odl.kernels.dual_coefficients import (
    Span,
    agent_dual,
    answer,
    fill_gram,
    forget,
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


@kernel
def _mix(w_start, w_agent, w_value, sent, heard, width):
    """heard_k = sum_l a_lk sent_l."""
    for k in range(len(w_start) - 1):
        for i in range(width):
            heard[k, i] = 0.0
        for entry in range(w_start[k], w_start[k + 1]):
            value, other = w_value[entry], w_agent[entry]
            for i in range(width):
                heard[k, i] += value * sent[other, i]


@kernel
def _fade(fade, gain, shares, given, coefficients, plain, columns, plains, sent, plain_sent):
    """sent_k = fade nu_k + gain [k sees x] x / |N_I|: the part of adapting that needs no atoms."""
    for k in range(len(shares)):
        for c in range(columns):
            sent[k, c] = fade * coefficients[k, c]
        for i in range(plains):
            plain_sent[k, i] = fade * plain[k, i]
        sent[k, 0] += gain * shares[k]
        if shares[k] > 0.0:
            for i in range(plains):
                plain_sent[k, i] += gain * shares[k] * given[i]


@kernel
def _subtract(
    terms, values, atoms, owner, model, mu, kept, columns, coefficients, plain, entries, sent, plain_sent, span, work
):
    """sent_k -= mu W_k T(W_k^T nu_k); an atom that answers for the first time gets a column. Returns their number."""
    term, weight, count = atoms
    gamma, delta, _, signed = model
    start, places, weights = entries
    for position in range(kept):
        k = owner[work.kept[position]]
        y = soft(answer(position, k, coefficients, plain, columns, entries, span), gamma, signed) / delta
        if y == 0.0:
            continue
        if span.number[position] == 0:
            span.number[position] = columns
            span.column[columns] = position
            fill_gram(columns, terms, values, term, weight, count, kept, span, work)
            columns += 1
        sent[k, span.number[position]] -= mu * y
        for entry in range(start[position], start[position + 1]):
            plain_sent[k, places[entry]] -= mu * y * weights[entry]
    return columns


@allocating
def _begin(terms, values, atoms, shares, model, few, place, work):
    """Screen the atoms and set every agent to the optimum without atoms, or to 0 if it does not see x.

    With `few` only those terms of the document are plain that x alone could bring to the limit; else all of them, where
    the residual is not squared.
    """
    term, weight, count = atoms
    gamma, _, eta, signed = model
    n_agents, seen = len(shares), 0
    for k in range(n_agents):
        seen += shares[k] > 0.0
    kept = screen(term, weight, count, gamma, eta, signed, n_agents / seen, work)
    span = Span(
        np.zeros(kept + 1, np.int64),
        np.zeros(kept, np.int64),
        np.zeros((kept, kept + 1)),
        np.zeros(1),
        np.zeros(kept + 1),
        place,
    )
    plains = 0
    coefficients, plain = np.zeros((n_agents, kept + 1)), np.zeros((n_agents, len(terms) + 64))
    given = np.zeros(plain.shape[1])
    for position in range(len(terms) if eta > 0.0 else 0):
        bounded = 0.0 <= values[position] * n_agents / seen < 0.999 * eta  # below 0 the atoms would add to it
        if signed or not (few and bounded):
            place[terms[position]], given[plains] = plains, values[position]
            plains += 1
    for k in range(n_agents):
        if shares[k] > 0.0:
            coefficients[k, 0] = 1.0 / eta if eta > 0.0 else 1.0
            for i in range(plains):
                plain[k, i] = slope_of(given[i], eta)
    fill_gram(0, terms, values, term, weight, count, kept, span, work)
    return kept, plains, coefficients, plain, given, span


@allocating
def _diffuse(terms, values, atoms, owner, mixing, shares, model, mu, iterations, tolerance, check, limits, place, work):
    """Run the diffusion of one document; return the state, for `_read` and `agent_dual`.

    `place` is an array over terms of -1, returned to that by `forget`. With `limits` (as from `spread`; else empty) it
    starts where it would end, and looks after one iteration whether that is so.
    """
    term, weight, count = atoms
    w_start, w_agent, w_value = mixing
    eta, n_agents = model[2], len(shares)
    touched = start_document(terms, values, work)
    few, columns = limits.size > 0, 1
    kept, plains, coefficients, plain, given, span = _begin(terms, values, atoms, shares, model, few, place, work)
    entries = plain_entries(kept, term, weight, count, span, work)
    pull = mu * (1.0 if eta == 0.0 else eta) / n_agents
    if few:
        columns, plains, plain, given, entries = jump(
            *(terms, values, atoms, owner, shares, model, mu, pull, limits, kept, plains, coefficients, plain),
            *(given, entries, span, work),
        )
    sent, heard = np.zeros_like(coefficients), np.zeros_like(coefficients)
    plain_sent, plain_heard = np.zeros_like(plain), np.zeros_like(plain)
    used = 0
    while used < iterations:
        _fade(1.0 - pull, mu, shares, given, coefficients, plain, columns, plains, sent, plain_sent)
        columns = _subtract(
            *(terms, values, atoms, owner, model, mu, kept, columns, coefficients, plain, entries, sent, plain_sent),
            *(span, work),
        )
        _mix(w_start, w_agent, w_value, sent, heard, columns)
        _mix(w_start, w_agent, w_value, plain_sent, plain_heard, plains)
        if eta > 0.0 and raise_bounds(heard, columns, weight, count, span, work):
            first, plains = plains, new_places(plains, columns, term, weight, count, span, work)
            if plains > first:
                plain, plain_heard, given, entries = more_places(
                    *(first, plains, terms, values, atoms, kept, columns, coefficients, heard, plain, plain_heard),
                    *(given, span, work),
                )
                plain_sent = widened(plain_sent, plain.shape[1])
        if eta > 0.0:
            plain_heard[:, :plains] = np.minimum(np.maximum(plain_heard[:, :plains], -1.0), 1.0)
        coefficients, heard = heard, coefficients
        plain, plain_heard = plain_heard, plain
        used += 1
        if (used % check == 0 or (few and used == 1)) and tolerance > 0.0:
            limit = tolerance * pull
            if moved_little(coefficients, heard, columns, plain, plain_heard, plains, limit, span):
                break
    return touched, kept, columns, plains, coefficients, plain, entries, span, used


@allocating
def _read(terms, values, owner, shares, model, kept, columns, plains, coefficients, plain, entries, span, costs, work):
    """Set the codes y_j = T(w_j^T nu_k) in the work and J_k(nu_k) in `costs`."""
    gamma, delta, eta, signed = model
    n_agents = len(shares)
    curvature = 1.0 if eta == 0.0 else eta
    for k in range(n_agents):
        size, _ = square(k, coefficients, coefficients, columns, plain, plain, plains, span)
        costs[k] = 0.5 * curvature * size / n_agents
        if shares[k] > 0.0:
            seen = coefficients[k, 0] * span.own[0]
            for c in range(1, columns):
                seen += coefficients[k, c] * span.gram[span.column[c], 0]
            for position in range(len(terms)):
                if span.place[terms[position]] >= 0:
                    seen += plain[k, span.place[terms[position]]] * values[position]
            costs[k] -= shares[k] * seen
    for position in range(kept):
        j = work.kept[position]
        y = soft(answer(position, owner[j], coefficients, plain, columns, entries, span), gamma, signed) / delta
        work.code[j] = y
        costs[owner[j]] += 0.5 * delta * y * y


@called("ROWS ATOMS l l[] MIXING d[] MODEL d l d l d[,,] -> (d[,] d[,] l[] l[])")
@allocating
def diffuse_documents(
    indptr, indices, data, atoms, n_terms, owner, mixing, shares, model, mu, iterations, tolerance, check, limits
):
    """Run the diffusion of documents; return codes (dense), costs of the agents, iterations and touched terms."""
    n_documents, n_atoms = len(indptr) - 1, len(atoms[2])
    work = allocate(n_terms, n_atoms)
    place = np.full(n_terms, -1, np.int64)
    codes, costs = np.zeros((n_documents, n_atoms)), np.zeros((n_documents, len(shares)))
    used, reached = np.zeros(n_documents, np.int64), np.zeros(n_documents, np.int64)
    for document in range(n_documents):
        terms, values = indices[indptr[document] : indptr[document + 1]], data[indptr[document] : indptr[document + 1]]
        touched, kept, columns, plains, coefficients, plain, entries, span, used[document] = _diffuse(
            terms, values, atoms, owner, mixing, shares, model, mu, iterations, tolerance, check, limits, place, work
        )
        _read(
            *(terms, values, owner, shares, model, kept, columns, plains, coefficients, plain, entries, span),
            *(costs[document], work),
        )
        touched = touch(touched, columns, atoms[0], atoms[1], atoms[2], span, work)
        reached[document] = touched
        for position in range(kept):
            codes[document, work.kept[position]] = work.code[work.kept[position]]
        forget(touched, kept, place, work)
    return codes, costs, used, reached


@allocating
def _learn(
    terms, values, atoms, owner, signed, step, beta, kept, touched, columns, coefficients, plain, span, use, work
):
    """Let every agent learn from its own nu_k and y_k; return the atoms, in wider arrays where they must be."""
    term, weight, count = atoms
    # The dual variables are made of the atoms: all are read before any atom moves.
    duals = np.zeros((kept, touched))
    for position in range(kept):
        j = work.kept[position]
        if work.code[j] != 0.0:
            agent_dual(owner[j], terms, values, touched, columns, coefficients, plain, term, weight, count, span, work)
            for at in range(touched):
                duals[position, at] = work.dual[work.touched[at]]
    for position in range(kept):
        j = work.kept[position]
        if work.code[j] != 0.0:
            for at in range(touched):
                work.dual[work.touched[at]] = duals[position, at]
            term, weight = room(term, weight, count[j] + touched)
            step_atom(term, weight, count, j, step * work.code[j], step * beta, touched, signed, work)
            use[j] += work.code[j]
    if beta > 0.0:  # the prox shrinks silent atoms as well
        for j in range(len(count)):
            if work.code[j] == 0.0:
                step_atom(term, weight, count, j, 0.0, step * beta, 0, signed, work)
    return term, weight, count


@called("ROWS ATOMS l l[] MIXING d[] MODEL d l d l d[,,] d d -> (ATOMS d[] l)")
@allocating
def diffuse_and_learn(
    indptr, indices, data, atoms, n_terms, owner, mixing, shares, model, mu, iterations, tolerance, check, limits,
    step, beta,
):  # fmt: skip
    """Run the diffusion of documents one by one and let every agent learn from its own nu_k and y_k.

    Returns
    -------
    atoms, use, iterations : as after `learn_documents`, and the iterations in all
    """
    n_documents, n_atoms = len(indptr) - 1, len(atoms[2])
    work = allocate(n_terms, n_atoms)
    place, costs = np.full(n_terms, -1, np.int64), np.zeros(len(shares))
    use, total = np.zeros(n_atoms), 0
    for document in range(n_documents):
        terms, values = indices[indptr[document] : indptr[document + 1]], data[indptr[document] : indptr[document + 1]]
        touched, kept, columns, plains, coefficients, plain, entries, span, used = _diffuse(
            terms, values, atoms, owner, mixing, shares, model, mu, iterations, tolerance, check, limits, place, work
        )
        total += used
        _read(
            terms, values, owner, shares, model, kept, columns, plains, coefficients, plain, entries, span, costs, work
        )
        touched = touch(touched, columns, atoms[0], atoms[1], atoms[2], span, work)
        atoms = _learn(
            *(terms, values, atoms, owner, model[3], step, beta, kept, touched, columns, coefficients, plain, span),
            *(use, work),
        )
        forget(touched, kept, place, work)
    return atoms, use, total
