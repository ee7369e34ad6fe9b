"""Compiled fixed point of diffusion over a network, found without its iterations (ATC, eqs 31 and 37).

With the combination weights A, shares s, q = 1 - mu c_f/N and a row an agent, the diffusion of a document ends at

    nu = Proj(A (q nu + mu (s x^T - sum_j e_o(j) y_j w_j^T))),    y_j = T(w_j^T nu_o(j))

Where nobody is clipped that is linear, nu_k = r_k x - sum_j M_k,o(j) y_j w_j with M = mu (I - q A)^-1 A and r = M s, so
that the codes are those of a small elastic net: coordinate descent. On a term that may be clipped every agent is free
or at a limit, and given who is it is linear again, with a response of its own; who is, is found by turns.
What comes out is a state as in `odl.kernels.dual_coefficients`, which `odl.kernels.adapt_then_combine` goes on from.
"""

import numpy as np

from odl.kernels.agent_losses import soft
from odl.kernels.compiled import allocating, called, kernel
from odl.kernels.dual_coefficients import fill_gram, more_places, new_places, raise_bounds

SWEEPS, TURNS = 2000, 60
EQUAL = 1e-12  # relative: codes that have ended; distance from a limit that is none


@kernel
def eliminate(matrix, right, size, width):
    """right <- matrix^-1 right, by elimination without pivots: rows must be strictly diagonally dominant."""
    for i in range(size):
        for row in range(i + 1, size):
            factor = matrix[row, i] / matrix[i, i]
            if factor != 0.0:
                for c in range(i + 1, size):
                    matrix[row, c] -= factor * matrix[i, c]
                for c in range(width):
                    right[row, c] -= factor * right[i, c]
    for i in range(size - 1, -1, -1):
        for row in range(i + 1, size):
            if matrix[i, row] != 0.0:
                for c in range(width):
                    right[i, c] -= matrix[i, row] * right[row, c]
        for c in range(width):
            right[i, c] /= matrix[i, i]


@called("MIXING d d -> d[,,]")
@allocating
def spread(mixing, mu, pull):
    """Return M = mu (I - (1 - pull) A)^-1 A and A, as plain matrices: how far a push at one agent moves the others."""
    w_start, w_agent, w_value = mixing
    n_agents = len(w_start) - 1
    both, matrix = np.zeros((2, n_agents, n_agents)), np.eye(n_agents)
    for k in range(n_agents):
        for entry in range(w_start[k], w_start[k + 1]):
            both[1, k, w_agent[entry]] += w_value[entry]
            both[0, k, w_agent[entry]] += mu * w_value[entry]
            matrix[k, w_agent[entry]] -= (1.0 - pull) * w_value[entry]
    eliminate(matrix, both[0], n_agents, n_agents)
    return both


@allocating
def _respond(i, given, owners, entries, state, reach, shares, limits, mu, keep, response):
    """Write what the agents hold on plain term i: response[i] without codes, response[plains + e] for entry e of it.

    `given` is x there, `owners` the agent of each entry, `state` who is at a limit (-1, 1) and who is free (0).
    """
    _, places, _ = entries
    plains, n_agents = len(response) - len(places), len(shares)
    free = np.flatnonzero(state == 0)
    own = np.flatnonzero(places == i)
    if len(free) == n_agents:
        response[i] = reach * given
        for e in own:
            response[plains + e] = limits[0, :, owners[e]]
        return
    response[i] = state
    for e in own:
        response[plains + e] = 0.0
    matrix, right = np.eye(len(free)), np.zeros((len(free), len(own) + 1))
    for row in range(len(free)):
        weights = limits[1, free[row]]
        for c in range(len(free)):
            matrix[row, c] -= keep * weights[free[c]]
        for k in range(n_agents):
            right[row, 0] += weights[k] * (mu * shares[k] * given + keep * state[k])
        for c in range(len(own)):
            right[row, c + 1] = mu * weights[owners[own[c]]]
    eliminate(matrix, right, len(free), len(own) + 1)
    for row in range(len(free)):
        response[i, free[row]] = right[row, 0]
        for c in range(len(own)):
            response[plains + own[c], free[row]] = right[row, c + 1]


@kernel
def _pair(c, kept, agents, entries, held, limits, response, span, pairs):
    """Set how column c moves what each kept atom answers: by M off the plain terms, by the responses on them."""
    start, places, weights = entries
    plains = len(response) - len(places)
    own = span.column[c]
    for position in range(kept):
        k = agents[position]
        total = limits[0, k, agents[own]] * span.gram[position, c]
        for e in range(start[own], start[own + 1]):
            total += weights[e] * held[places[e], position] * response[plains + e, k]
        pairs[position, c] = total


@kernel
def _descend(
    terms, values, atoms, agents, model, kept, columns, entries, held, limits, response, base, pairs, y, span, work
):
    """Solve the codes y (by column) given the responses; return the number of columns."""
    term, weight, count = atoms
    gamma, delta, _, signed = model
    for _ in range(SWEEPS):
        change, largest = 0.0, 0.0
        for position in range(kept):
            c, total = span.number[position], base[position]
            for d in range(1, columns):
                if d != c:
                    total -= pairs[position, d] * y[d]
            value = soft(total, gamma, signed)
            if c == 0:
                if value == 0.0:
                    continue
                c = columns
                span.number[position] = c
                span.column[c] = position
                fill_gram(c, terms, values, term, weight, count, kept, span, work)
                _pair(c, kept, agents, entries, held, limits, response, span, pairs)
                columns += 1
            value /= delta + pairs[position, c]
            change, largest = max(change, abs(value - y[c])), max(largest, abs(value))
            y[c] = value
        if change <= EQUAL * largest:
            break
    return columns


@kernel
def _turn(columns, agents, entries, given, state, shares, limits, mu, keep, plain, y, span, push, stale):
    """Let free agents beyond a limit stop there and others that would leave it go free; mark where, return how many."""
    start, places, weights = entries
    n_agents, turned = len(shares), 0
    for i in range(len(state)):
        stale[i] = False
        for k in range(n_agents):
            push[k] = mu * shares[k] * given[i] + keep * min(max(plain[k, i], -1.0), 1.0)
        for c in range(1, columns):
            position = span.column[c]
            for e in range(start[position], start[position + 1]):
                if places[e] == i:
                    push[agents[position]] -= mu * weights[e] * y[c]
        for k in range(n_agents):
            value = plain[k, i]
            if state[i, k] != 0:
                value = 0.0
                for other in range(n_agents):
                    value += limits[1, k, other] * push[other]
            edge = 1.0 + EQUAL if state[i, k] == 0 else 1.0 - EQUAL
            new = 1 if value > edge else (-1 if value < -edge else 0)
            if new != state[i, k]:
                state[i, k] = new
                stale[i] = True
                turned += 1
    return turned


@kernel
def _place(columns, agents, entries, limits, reach, response, coefficients, plain, y, span):
    """Set the dual variables of all agents from the codes; plain ones may lie beyond the limits."""
    start, places, weights = entries
    plains, n_agents = len(response) - len(places), len(reach)
    for k in range(n_agents):
        coefficients[k, 0] = reach[k]
        for i in range(plains):
            plain[k, i] = response[i, k]
        for c in range(1, columns):
            position = span.column[c]
            coefficients[k, c] = -limits[0, k, agents[position]] * y[c]
            for e in range(start[position], start[position + 1]):
                plain[k, places[e]] -= response[plains + e, k] * weights[e] * y[c]


@allocating
def _settle(
    terms, values, atoms, agents, model, shares, mu, pull, kept, columns, given, state, entries, limits, plain,
    coefficients, y, span, work,
):  # fmt: skip
    """Set the state to the fixed point as far as the places given allow; return the number of columns.

    Parameters
    ----------
    agents : agent of each kept atom
    given : x on each plain term
    state : plain terms x agents, -1, 0 or 1: where the search starts, and ends
    limits : as from `spread`
    y : codes by column, where the search starts, and ends
    """
    start, places, weights = entries
    plains, n_agents = len(given), len(shares)
    response, push = np.zeros((plains + len(places), n_agents)), np.empty(n_agents)
    owners, held = np.empty(len(places), np.int64), np.zeros((plains, kept))
    base, pairs, reach = np.empty(kept), np.zeros((kept, kept + 1)), np.zeros(n_agents)
    stale = np.ones(plains, np.bool_)
    for k in range(n_agents):
        for other in range(n_agents):
            reach[k] += limits[0, k, other] * shares[other]
    for position in range(kept):
        for e in range(start[position], start[position + 1]):
            owners[e] = agents[position]
            held[places[e], position] = weights[e]
    for _ in range(TURNS):
        for i in range(plains):
            if stale[i]:
                _respond(i, given[i], owners, entries, state[i], reach, shares, limits, mu, 1.0 - pull, response)
        for position in range(kept):
            base[position] = reach[agents[position]] * span.gram[position, 0]
            for e in range(start[position], start[position + 1]):
                base[position] += weights[e] * response[places[e], agents[position]]
        for c in range(1, columns):
            _pair(c, kept, agents, entries, held, limits, response, span, pairs)
        columns = _descend(
            *(terms, values, atoms, agents, model, kept, columns, entries, held, limits, response, base, pairs, y),
            *(span, work),
        )
        _place(columns, agents, entries, limits, reach, response, coefficients, plain, y, span)
        keep = 1.0 - pull
        if not _turn(columns, agents, entries, given, state, shares, limits, mu, keep, plain, y, span, push, stale):
            break
    return columns


@allocating
def jump(
    terms, values, atoms, owner, shares, model, mu, pull, limits, kept, plains, coefficients, plain, given, entries,
    span, work,
):  # fmt: skip
    """Start at the fixed point; terms that turn out to be clipped there become plain. Returns the state."""
    term, weight, count = atoms
    agents, y = owner[work.kept[:kept]], np.zeros(kept + 1)
    state, columns = np.zeros((plains, len(shares)), np.int8), 1
    for i in range(plains):
        state[i] = 1 if given[i] > 0.0 else -1
    while True:
        columns = _settle(
            *(terms, values, atoms, agents, model, shares, mu, pull, kept, columns, given[:plains], state),
            *(entries, limits, plain, coefficients, y, span, work),
        )
        if model[2] == 0.0 or not raise_bounds(coefficients, columns, weight, count, span, work):
            break
        first, plains = plains, new_places(plains, columns, term, weight, count, span, work)
        if plains == first:
            break
        plain, _, given, entries = more_places(
            *(first, plains, terms, values, atoms, kept, columns, coefficients, coefficients, plain, plain.copy()),
            *(given, span, work),
        )
        state = np.concatenate((state, np.zeros((plains - first, len(shares)), np.int8)))
    plain[:, :plains] = np.minimum(np.maximum(plain[:, :plains], -1.0), 1.0)
    return columns, plains, plain, given, entries
