"""Compiled steps of the agents that one rank owns: plain dual variables on the terms that matter.

A rank knows its own atoms and what other agents' dual variables it is sent, nothing else, so the span of
`odl.kernels.diffusion` is not open to it. Dual variables are rows over the *listed* terms: those of the document,
of the own atoms that have answered, and those that neighbours have sent. ``terms[:listed]`` are their numbers,
``where[term]`` their places (-1: not listed, dual variable 0). Columns that are not listed are zero.

Documents of a block take their steps side by side, so that a message holds what is said of all of them: arrays have a
first axis of places in the block, and ``active`` lists the places whose documents have not ended. ``documents`` are
the columns (starts, terms, values) of the block's documents, empty where none of the own agents sees them.

Sums run in an order that does not depend on who owns an agent (over terms: ascending, over agents: ascending), so
that results are the same bytes for every number of ranks. Atoms lie in padded rows, terms ascending.
"""

import math

import numpy as np

from odl.kernels.compiled import allocating, called, kernel
from odl.kernels.padded import clip, soft
from odl.kernels.windows import await_message, put, span


@kernel
def _answer(term, weight, count, j, k, where, nu):
    """Return w_j^T nu_k."""
    total = 0.0
    for entry in range(count[j]):
        place = where[term[j, entry]]
        if place >= 0:
            total += weight[j, entry] * nu[k, place]
    return total


@kernel
def _open(indices, values, shares, eta, terms, where, nu):
    """List the document's terms and set nu_k to the optimum without atoms, or to 0 where x is not seen."""
    for place in range(len(indices)):
        terms[place] = indices[place]
        where[indices[place]] = place
    for k in range(len(shares)):
        if shares[k] > 0.0:
            for place in range(len(indices)):
                nu[k, place] = values[place] if eta == 0.0 else clip(values[place] / eta, 1.0)
    return len(indices)


@kernel
def screen(values, atoms, own, shares, model, scale, where, kept):
    """List the atoms that may answer; an agent that sees x leaves out those that it proves silent.

    With nothing negative nu is at most that of the empty code, entry by entry, times N/|N_I|.
    """
    term, weight, count = atoms
    gamma, _, eta, signed = model
    found = 0
    for j in range(len(count)):
        total = math.inf
        if not signed and shares[own[j]] > 0.0:
            total = 0.0
            for entry in range(count[j]):
                place = where[term[j, entry]]
                if 0 <= place < len(values):
                    bound = values[place] if eta == 0.0 else clip(values[place] / eta, 1.0)
                    total += weight[j, entry] * (scale * max(bound, 0.0) if scale > 1.0 else bound)
        if count[j] and total > gamma:
            kept[found] = j
            found += 1
    return found


@kernel
def _adapt(values, atoms, own, rows, shares, model, mu, n_agents, kept, listed, terms, where, nu, sent):
    """psi_k = nu_k - mu grad J_k(nu_k) for the own agents, into their rows of `sent`; returns the listed terms."""
    term, weight, count = atoms
    gamma, delta, eta, signed = model
    pull = mu * (1.0 if eta == 0.0 else eta) / n_agents
    for k in range(len(rows)):
        for place in range(listed):
            sent[rows[k], place] = (1.0 - pull) * nu[k, place]
        if shares[k] > 0.0:
            for place in range(len(values)):
                sent[rows[k], place] += mu * shares[k] * values[place]
    for position in range(len(kept)):
        j = kept[position]
        y = soft(_answer(term, weight, count, j, own[j], where, nu), gamma, signed) / delta
        if y == 0.0:
            continue
        row = rows[own[j]]
        for entry in range(count[j]):
            i = term[j, entry]
            if where[i] < 0:
                where[i] = listed
                terms[listed] = i
                listed += 1
            sent[row, where[i]] -= mu * y * weight[j, entry]
    return listed


@called("l[] l[] l[] l[] l[] i[,] d[,,] -> (d[] l[])")
@allocating
def pack(active, starts, rows, told, listed, terms, sent):
    """Return what is said to neighbours, one after the other, and where each message ends.

    A message holds, for each document that has not ended: how many terms are new, their numbers, then psi of the
    agents on all terms named so far. ``rows[starts[i]:starts[i + 1]]`` are the agents that neighbour i is told of.
    """
    room = 0
    for position in range(len(active)):
        b = active[position]
        room += (len(starts) - 1) * (1 + listed[b] - told[b]) + len(rows) * listed[b]
    messages, ends, at = np.empty(room), np.zeros(len(starts), np.int64), 0
    for neighbour in range(len(starts) - 1):
        for position in range(len(active)):
            b = active[position]
            messages[at] = listed[b] - told[b]
            at += 1
            for place in range(told[b], listed[b]):
                messages[at] = terms[b, place]
                at += 1
            for row in rows[starts[neighbour] : starts[neighbour + 1]]:
                for place in range(listed[b]):
                    messages[at + place] = sent[b, row, place]
                at += listed[b]
        ends[neighbour + 1] = at
    for position in range(len(active)):
        told[active[position]] = listed[active[position]]
    return messages, ends


@called("d[] l[] l[] i[,] l[] l[] i[,] i[,] d[,,]")
@kernel
def unpack(message, active, rows, places, known, listed, terms, where, sent):
    """Read a neighbour's message into the rows of its agents; `known` counts the terms that it has named."""
    at = 0
    for position in range(len(active)):
        b = active[position]
        new = int(message[at])
        at += 1
        for _ in range(new):
            i = int(message[at])
            at += 1
            if where[b, i] < 0:
                where[b, i] = listed[b]
                terms[b, listed[b]] = i
                listed[b] += 1
            places[b, known[b]] = where[b, i]
            known[b] += 1
        for row in rows:
            for place in range(known[b]):
                sent[b, row, places[b, place]] = message[at + place]
            at += known[b]


@kernel
def _combine(sent, w_start, w_row, w_value, limit, listed, nu):
    """nu_k = Proj(sum_l a_lk psi_l), summed by ascending l."""
    for k in range(len(w_start) - 1):
        for place in range(listed):
            nu[k, place] = 0.0
        for entry in range(w_start[k], w_start[k + 1]):
            value, row = w_value[entry], w_row[entry]
            for place in range(listed):
                nu[k, place] += value * sent[row, place]
        if limit < math.inf:
            for place in range(listed):
                nu[k, place] = clip(nu[k, place], limit)


@kernel
def _sizes(nu, old, order, found):
    """Set ||nu_k||^2 and ||nu_k - old nu_k||^2, summed by ascending term."""
    for k in range(len(found)):
        size, moved = 0.0, 0.0
        for position in range(len(order)):
            value = nu[k, order[position]]
            size += value * value
            value -= old[k, order[position]]
            moved += value * value
        found[k, 0], found[k, 1] = size, moved


@called("DOCUMENTS ATOMS l[] d[] MODEL d i[,] i[,] d[,,] l[] l[,] l[]")
@kernel
def open_block(documents, atoms, own, shares, model, scale, terms, where, nu, listed, kept, n_kept):
    """Set the dual variables of a block's documents to where they start, and list the atoms that may answer."""
    starts, indices, values = documents
    for b in range(len(starts) - 1):
        span = slice(starts[b], starts[b + 1])
        listed[b] = _open(indices[span], values[span], shares, model[2], terms[b], where[b], nu[b])
        n_kept[b] = screen(values[span], atoms, own, shares, model, scale, where[b], kept[b])


@called("l[] DOCUMENTS ATOMS l[] l[] d[] MODEL d l l[,] l[] l[] i[,] i[,] d[,,] d[,,]")
@kernel
def adapt(
    active, documents, atoms, own, rows, shares, model, mu, n_agents, kept, n_kept, listed, terms, where, nu, sent
):
    """psi_k = nu_k - mu grad J_k(nu_k) for the own agents, into their rows of `sent`."""
    starts, _, values = documents
    for position in range(len(active)):
        b = active[position]
        seen, may = values[starts[b] : starts[b + 1]], kept[b, : n_kept[b]]
        fixed = (seen, atoms, own, rows, shares, model, mu, n_agents, may)
        listed[b] = _adapt(*fixed, listed[b], terms[b], where[b], nu[b], sent[b])


@called("l[] ? d[,,] l[] l[] d[] d l[] d[,,] d[,,]")
@kernel
def combine(active, keep, sent, w_start, w_row, w_value, limit, listed, nu, old):
    """nu_k = Proj(sum_l a_lk psi_l); with `keep` the nu_k before are left in `old`."""
    for position in range(len(active)):
        b = active[position]
        if keep:
            for k in range(nu.shape[1]):
                for place in range(listed[b]):
                    old[b, k, place] = nu[b, k, place]
        _combine(sent[b], w_start, w_row, w_value, limit, listed[b], nu[b])


@called(
    "l[] l[] (DOCUMENTS ATOMS l[] l[] d[] MODEL d l) (l[,] l[] l[] i[,] i[,] d[,,] d[,,]) MIXING d d[,,] l[] "
    "l[,] (l[] l[] l[] l[] i[,,]) WINDOW -> ?"
)
@allocating
def advance(state, active, fixed, held, mixing, limit, old, told, known, names, window):
    """Take some iterations with neighbours that share memory: adapt, exchange, combine. Returns whether all are done.

    ``state`` is how many iterations are left, from which neighbour a message is waited for (-1: none was sent) and how
    many floats were sent; a call that was interrupted is made once more. ``names`` are the rows that neighbours are
    told of, those that they tell, and the places of their terms; messages are those of `pack`.
    """
    starts, rows, their_starts, their_rows, places = names
    memory, longest, moment, out, into = window
    _, _, listed, terms, where, nu, sent = held
    while state[0] > 0:
        if state[1] < 0:
            adapt(active, *fixed, *held)
            messages, ends = pack(active, starts, rows, told, listed, terms, sent)
            for neighbour in range(len(out)):
                put(memory, out[neighbour], longest, messages[ends[neighbour] : ends[neighbour + 1]])
            state[1], state[2] = 0, state[2] + len(messages)
        while state[1] < len(into):
            neighbour = state[1]
            if not await_message(memory, into[neighbour], moment):
                return False
            first, length = span(memory, into[neighbour], longest)
            theirs = their_rows[their_starts[neighbour] : their_starts[neighbour + 1]]
            message = memory[first : first + length]
            unpack(message, active, theirs, places[neighbour], known[neighbour], listed, terms, where, sent)
            state[1] += 1
        combine(active, state[0] == 1, sent, *mixing, limit, listed, nu, old)
        state[0] -= 1
        state[1] = -1
    return True


@called("l[] d[,,] d[,,] i[,] l[] -> d[,,]")
@allocating
def sizes(active, nu, old, terms, listed):
    """Return ||nu_k||^2 and ||nu_k - old nu_k||^2, shape (own, documents, 2)."""
    found = np.empty((nu.shape[1], len(active), 2))
    for position in range(len(active)):
        b = active[position]
        _sizes(nu[b], old[b], np.argsort(terms[b, : listed[b]]), found[:, position])
    return found


@called("d[] ATOMS l[] d[] MODEL l l[] i[] d[,] d[,] d[] d[]")
@kernel
def read(values, atoms, own, shares, model, n_agents, kept, where, nu, norms, codes, costs):
    """Set the codes y_j = T(w_j^T nu_k) and J_k(nu_k) of the own agents."""
    term, weight, count = atoms
    gamma, delta, eta, signed = model
    for k in range(len(costs)):
        costs[k] = 0.5 * (1.0 if eta == 0.0 else eta) * norms[k, 0] / n_agents
        if shares[k] > 0.0:
            seen = 0.0
            for place in range(len(values)):
                seen += nu[k, place] * values[place]
            costs[k] -= shares[k] * seen
    for position in range(len(kept)):
        j = kept[position]
        y = soft(_answer(term, weight, count, j, own[j], where, nu), gamma, signed) / delta
        codes[j] = y
        costs[own[j]] += 0.5 * delta * y * y


@called("ATOMS l[] d[] d d ? l i[] d[,] i[] -> ATOMS")
@allocating
def learn(atoms, own, codes, step, beta, signed, listed, terms, nu, mark):
    """W_j <- Proj(prox(W_j + step nu_k y_j)) for the own atoms (eqs 51 to 56); `mark` is -1 over all terms.

    Returns
    -------
    atoms : in new arrays where they need more room
    """
    term, weight, count = atoms
    needed = listed + count.max()
    if needed > term.shape[1]:
        places = max(needed, term.shape[1] + term.shape[1] // 2)
        wider_term, wider_weight = np.zeros((len(count), places), term.dtype), np.zeros((len(count), places))
        wider_term[:, : term.shape[1]] = term
        wider_weight[:, : term.shape[1]] = weight
        term, weight = wider_term, wider_weight
    for j in range(len(count)):
        y, filled = codes[j], count[j]
        if y == 0.0 and beta == 0.0:
            continue
        if y != 0.0:
            for entry in range(count[j]):
                mark[term[j, entry]] = entry
            for place in range(listed):
                value, at = nu[own[j], place], mark[terms[place]]
                if at >= 0:
                    weight[j, at] += step * y * value
                elif value != 0.0:
                    term[j, filled], weight[j, filled] = terms[place], step * y * value
                    filled += 1
            for entry in range(count[j]):
                mark[term[j, entry]] = -1
        order = np.argsort(term[j, :filled])
        moved_term, moved_weight = term[j, :filled].copy(), weight[j, :filled].copy()
        found, size = 0, 0.0
        for entry in order:
            value = soft(moved_weight[entry], step * beta, signed)
            if value != 0.0:
                term[j, found], weight[j, found] = moved_term[entry], value
                size += value * value
                found += 1
        count[j] = found
        if size > 1.0:
            for entry in range(found):
                weight[j, entry] *= 1.0 / math.sqrt(size)
    return term, weight, count
