"""Compiled fixed point of diffusion over a network (ATC, eqs 31 and 37), solved directly: nothing here iterates ATC.

With the combination weights A, shares s, q = 1 - mu c_f/N and a row an agent, the diffusion of a document ends at

    nu = Proj(A (q nu + mu (s x^T - sum_j e_o(j) y_j w_j^T))),    y_j = T(w_j^T nu_o(j))

Where nobody is clipped that is linear, nu_k = r_k x - sum_j M_k,o(j) y_j w_j with M = mu (I - q A)^-1 A and r = M s, so
that the codes are those of a small elastic net: coordinate descent. On a term that may be clipped every agent is free
or at a limit, and given who is it is linear again, with a response of its own; who is, is found by turns.
What comes out is a state as in `odl.kernels.dual_coefficients`, which `odl.kernels.adapt_then_combine` goes on from.
"""

from typing import NamedTuple

import numpy as np

from odl.kernels.agent_losses import soft
from odl.kernels.compiled import allocating, called, kernel
from odl.kernels.dual_coefficients import Duals, fill_gram, more_places, new_places, raise_bounds

SWEEPS, TURNS = 2000, 60
EQUAL = 1e-12  # relative: codes that have ended; distance from a limit that is none


class Search(NamedTuple):
    """Search for the fixed point of one document; plain terms have numbers, kept atoms positions."""

    agents: np.ndarray  # agent of each kept atom
    values: np.ndarray  # x on each plain term
    state: np.ndarray  # plain terms x agents: at a limit (-1, 1) or free (0)
    entries: tuple  # of the kept atoms on plain terms: starts, places, weights
    owners: np.ndarray  # agent of each entry
    weights: np.ndarray  # plain terms x kept atoms: the entries
    reach: np.ndarray  # r
    response: np.ndarray  # plain terms, then entries, x agents: what agents hold without codes, and for each entry
    pairs: np.ndarray  # kept atoms x columns: how a code moves what an atom answers
    y: np.ndarray  # codes by column
    keep: float  # q


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


@called("d[,] d d -> d[,,]")
@allocating
def spread(weights, mu, pull):
    """Return M = mu (I - (1 - pull) A)^-1 A and A: how far a push at one agent moves the others."""
    n_agents = len(weights)
    both, matrix = np.zeros((2, n_agents, n_agents)), np.eye(n_agents)
    both[1] = weights
    both[0] = mu * weights
    matrix -= (1.0 - pull) * weights
    eliminate(matrix, both[0], n_agents, n_agents)
    return both


@allocating
def _respond(i, search, diffusion):
    """Write what the agents hold on plain term i, given who is at a limit."""
    (_, places, _), state, response, keep = search.entries, search.state[i], search.response, search.keep
    plains, n_agents, value = len(search.state), len(diffusion.shares), search.values[i]
    free = np.flatnonzero(state == 0)
    own = np.flatnonzero(places == i)
    if len(free) == n_agents:
        response[i] = search.reach * value
        for e in own:
            response[plains + e] = diffusion.spread[0, :, search.owners[e]]
        return
    response[i] = state
    for e in own:
        response[plains + e] = 0.0
    matrix, right = np.eye(len(free)), np.zeros((len(free), len(own) + 1))
    for row in range(len(free)):
        weights = diffusion.spread[1, free[row]]
        for c in range(len(free)):
            matrix[row, c] -= keep * weights[free[c]]
        for k in range(n_agents):
            right[row, 0] += weights[k] * (diffusion.mu * diffusion.shares[k] * value + keep * state[k])
        for c in range(len(own)):
            right[row, c + 1] = diffusion.mu * weights[search.owners[own[c]]]
    eliminate(matrix, right, len(free), len(own) + 1)
    for row in range(len(free)):
        response[i, free[row]] = right[row, 0]
        for c in range(len(own)):
            response[plains + own[c], free[row]] = right[row, c + 1]


@kernel
def _pair(c, search, spread, span):
    """Set how column c moves what each kept atom answers: by M off the plain terms, by the responses on them."""
    starts, places, weights = search.entries
    plains, own = len(search.state), span.column[c]
    for position in range(len(search.agents)):
        k = search.agents[position]
        total = spread[0, k, search.agents[own]] * span.gram[position, c]
        for e in range(starts[own], starts[own + 1]):
            total += weights[e] * search.weights[places[e], position] * search.response[plains + e, k]
        search.pairs[position, c] = total


@kernel
def _descend(document, atoms, model, columns, base, search, spread, span, work):
    """Solve the codes y (by column) given the responses; return the number of columns."""
    pairs, y, kept = search.pairs, search.y, len(search.agents)
    for _ in range(SWEEPS):
        change, largest = 0.0, 0.0
        for position in range(kept):
            c, total = span.number[position], base[position]
            for d in range(1, columns):
                if d != c:
                    total -= pairs[position, d] * y[d]
            value = soft(total, model.gamma, model.signed)
            if c == 0:
                if value == 0.0:
                    continue
                c = columns
                span.number[position] = c
                span.column[c] = position
                fill_gram(c, document, atoms, kept, span, work)
                _pair(c, search, spread, span)
                columns += 1
            value /= model.delta + pairs[position, c]
            change, largest = max(change, abs(value - y[c])), max(largest, abs(value))
            y[c] = value
        if change <= EQUAL * largest:
            break
    return columns


@kernel
def _turn(columns, search, diffusion, plain, span, push, stale):
    """Let free agents beyond a limit stop there and others that would leave it go free; mark where, return how many."""
    (starts, places, weights), state, mu = search.entries, search.state, diffusion.mu
    n_agents, turned = len(diffusion.shares), 0
    for i in range(len(state)):
        stale[i] = False
        for k in range(n_agents):
            push[k] = mu * diffusion.shares[k] * search.values[i] + search.keep * min(max(plain[k, i], -1.0), 1.0)
        for c in range(1, columns):
            position = span.column[c]
            for e in range(starts[position], starts[position + 1]):
                if places[e] == i:
                    push[search.agents[position]] -= mu * weights[e] * search.y[c]
        for k in range(n_agents):
            value = plain[k, i]
            if state[i, k] != 0:
                value = 0.0
                for other in range(n_agents):
                    value += diffusion.spread[1, k, other] * push[other]
            edge = 1.0 + EQUAL if state[i, k] == 0 else 1.0 - EQUAL
            new = 1 if value > edge else (-1 if value < -edge else 0)
            if new != state[i, k]:
                state[i, k] = new
                stale[i] = True
                turned += 1
    return turned


@kernel
def _place(columns, search, spread, duals, span):
    """Set the dual variables of all agents from the codes; plain ones may lie beyond the limits."""
    (starts, places, weights), response, y = search.entries, search.response, search.y
    (coefficients, plain), plains = duals, len(search.state)
    for k in range(len(search.reach)):
        coefficients[k, 0] = search.reach[k]
        for i in range(plains):
            plain[k, i] = response[i, k]
        for c in range(1, columns):
            position = span.column[c]
            coefficients[k, c] = -spread[0, k, search.agents[position]] * y[c]
            for e in range(starts[position], starts[position + 1]):
                plain[k, places[e]] -= response[plains + e, k] * weights[e] * y[c]


@allocating
def _begin(agents, values, state, entries, y, diffusion, pull):
    """Return the search from the states and codes at hand."""
    (starts, places, weights), n_agents, kept = entries, len(diffusion.shares), len(agents)
    owners, dense = np.empty(len(places), np.int64), np.zeros((len(values), kept))
    reach, response = np.zeros(n_agents), np.zeros((len(values) + len(places), n_agents))
    for k in range(n_agents):
        for other in range(n_agents):
            reach[k] += diffusion.spread[0, k, other] * diffusion.shares[other]
    for position in range(kept):
        for e in range(starts[position], starts[position + 1]):
            owners[e] = agents[position]
            dense[places[e], position] = weights[e]
    pairs = np.zeros((kept, kept + 1))
    return Search(agents, values, state, entries, owners, dense, reach, response, pairs, y, 1.0 - pull)


@allocating
def _settle(document, atoms, model, diffusion, columns, search, duals, span, work):
    """Set the dual variables to the fixed point as far as the plain terms allow; return the number of columns."""
    (starts, places, weights), kept, spread = search.entries, len(search.agents), diffusion.spread
    base, push, stale = np.empty(kept), np.empty(len(diffusion.shares)), np.ones(len(search.state), np.bool_)
    for _ in range(TURNS):
        for i in range(len(search.state)):
            if stale[i]:
                _respond(i, search, diffusion)
        for position in range(kept):
            k = search.agents[position]
            base[position] = search.reach[k] * span.gram[position, 0]
            for e in range(starts[position], starts[position + 1]):
                base[position] += weights[e] * search.response[places[e], k]
        for c in range(1, columns):
            _pair(c, search, spread, span)
        columns = _descend(document, atoms, model, columns, base, search, spread, span, work)
        _place(columns, search, spread, duals, span)
        if not _turn(columns, search, diffusion, duals.plain, span, push, stale):
            break
    return columns


@allocating
def jump(document, atoms, model, diffusion, pull, kept, plains, duals, x_plain, entries, span, work):
    """Start at the fixed point; terms that turn out to be clipped there become plain. Returns the state."""
    agents, y = diffusion.owner[work.kept[:kept]], np.zeros(kept + 1)
    state, columns = np.zeros((plains, len(diffusion.shares)), np.int8), 1
    for i in range(plains):
        state[i] = 1 if x_plain[i] > 0.0 else -1
    while True:
        search = _begin(agents, x_plain[:plains], state, entries, y, diffusion, pull)
        columns = _settle(document, atoms, model, diffusion, columns, search, duals, span, work)
        if model.eta == 0.0 or not raise_bounds(duals.coefficients, columns, atoms, span, work):
            break
        first, plains = plains, new_places(plains, columns, atoms, span, work)
        if plains == first:
            break
        copy = Duals(duals.coefficients, duals.plain.copy())
        duals, _, x_plain, entries = more_places(
            first, plains, document, atoms, kept, columns, duals, copy, x_plain, span, work
        )
        state = np.concatenate((state, np.zeros((plains - first, len(diffusion.shares)), np.int8)))
    duals.plain[:, :plains] = np.minimum(np.maximum(duals.plain[:, :plains], -1.0), 1.0)
    return columns, plains, duals, x_plain, entries
