"""Compiled turns of a rank: documents in blocks, iterations and messages, the stopping rule, learning.

`advance` goes on until it is done or needs something: more room, messages that MPI carries, a signal to be handled.
Then it says so, and is called again with the same state, which says where it stopped.
"""

import numpy as np

from odl.kernels.compiled import allocating, called, inlined, kernel
from odl.kernels.rank_messages import plan, take, write
from odl.kernels.rank_span import adapt, answer, combine, open_document, plain, read, sizes
from odl.kernels.ranks import learn
from odl.kernels.shared import (
    ACTIVE,
    AT,
    COLUMNS,
    DONE,
    ENTRIES,
    EXCHANGE,
    EXCHANGES,
    FIRST,
    FLOATS,
    GATHER,
    HEAD,
    HEARD,
    LAST,
    MESSAGES,
    NEED,
    PHASE,
    ROUND,
    SIGNAL,
    USED,
)
from odl.kernels.windows import await_message, gather, put, span

# Phases, in the order in which they follow each other.
OPEN, ADAPT, WRITE, TELL, HEAR, TAKE, LOOK, LISTEN, DECIDE, CLOSE = range(10)


@kernel
def _open(state, documents, atoms, rank, model, columns, active, used):
    """Set a block of documents to where they start; return whether there was room."""
    starts, indices, values = documents
    n = state[LAST] - state[FIRST]
    state[NEED] = starts[state[LAST]] - starts[state[FIRST]]
    if state[NEED] > len(columns.term):
        return False
    columns.filled[0] = 0
    for b in range(n):
        span_of = slice(starts[state[FIRST] + b], starts[state[FIRST] + b + 1])
        open_document(b, indices[span_of], values[span_of], atoms, rank, model, columns)
        active[b], used[b] = b, 0
    state[ACTIVE], state[USED], state[AT] = n, 0, 0
    return True


@inlined
def _adapt(state, atoms, rank, model, columns, active):
    """Let the own agents adapt, from document AT on; return whether there was room for their columns."""
    while state[AT] < state[ACTIVE]:
        b = active[state[AT]]
        new, entries = answer(b, atoms, rank, model, columns)
        state[NEED] = columns.n[b] + new
        if state[NEED] > columns.key.shape[1]:
            return COLUMNS
        state[NEED] = columns.filled[0] + entries
        if state[NEED] > len(columns.term):
            return ENTRIES
        adapt(b, state[USED], atoms, rank, columns)
        state[AT] += 1
    return DONE


@inlined
def _plan(state, rank, columns, active, heads):
    """Set the heads of the messages to the neighbours."""
    longest = 0
    for i in range(len(heads)):
        heads[i, 0], heads[i, 1], heads[i, 2] = HEAD, 0, 0
        for position in range(state[ACTIVE]):
            floats, new, entries = plan(active[position], i, rank, columns)
            heads[i, 0] += floats
            heads[i, 1] = max(heads[i, 1], new)
            heads[i, 2] += entries
        longest = max(longest, heads[i, 0])
    state[NEED] = longest


@inlined
def _write(state, rank, columns, active, heads, out):
    for i in range(len(heads)):
        for place in range(HEAD):
            out[i, place] = heads[i, place]
        at = HEAD
        for position in range(state[ACTIVE]):
            at = write(active[position], i, at, rank, columns, out[i])


@inlined
def _pieces(length, longest):
    return (length + longest - 1) // longest


@inlined
def _more(state, i, longest, out, into):
    """Tell whether this round has a piece of a message to neighbour i, or from it."""
    if state[ROUND] == 0:
        return True
    return state[ROUND] < max(_pieces(int(out[i, 0]), longest), _pieces(int(into[i, 0]), longest))


@inlined
def _tell(state, window, out, into):
    """Put a piece of each message, which may be empty; return whether there was any."""
    memory, longest, _, ends, _ = window
    some = False
    for i in range(len(ends)):
        if _more(state, i, longest, out, into):
            first = min(state[ROUND] * longest, int(out[i, 0]))
            put(memory, ends[i], longest, out[i, first : min(first + longest, int(out[i, 0]))])
            some = True
    return some


@inlined
def _hear(state, window, out, into):
    """Await the pieces of this round from neighbour HEARD on; return what is missing."""
    memory, longest, moment, _, ends = window
    while state[HEARD] < len(ends):
        i = state[HEARD]
        if state[AT] == 0 and _more(state, i, longest, out, into):
            if not await_message(memory, ends[i], moment):
                return SIGNAL
            state[AT], state[NEED] = span(memory, ends[i], longest)
            # AT stays until the piece is kept, NEED is its length
        if state[AT]:
            begin, first, length = state[ROUND] * longest, state[AT], state[NEED]
            whole = int(memory[first]) if state[ROUND] == 0 else int(into[i, 0])
            if whole > into.shape[1]:
                return MESSAGES
            for place in range(length):
                into[i, begin + place] = memory[first + place]
            state[AT] = 0
        state[HEARD] += 1
    return DONE


@inlined
def _take(state, atoms, rank, columns, active, into):
    """Read the messages from neighbour HEARD on; return what there is no room for."""
    while state[HEARD] < len(into):
        i, most = state[HEARD], 0
        for position in range(state[ACTIVE]):
            most = max(most, columns.n[active[position]])
        state[NEED] = most + int(into[i, 1])
        if state[NEED] > columns.key.shape[1]:
            return COLUMNS
        state[NEED] = columns.filled[0] + int(into[i, 2])
        if state[NEED] > len(columns.term):
            return ENTRIES
        at = HEAD
        for position in range(state[ACTIVE]):
            at = take(active[position], i, at, atoms, rank, columns, into[i])
        state[HEARD] += 1
    return DONE


@inlined
def _combine(state, look, rank, columns, active, used):
    state[USED] += 1
    state[AT] = 0
    for position in range(state[ACTIVE]):
        combine(active[position], look, rank, columns)
        used[active[position]] = state[USED]


@kernel
def _decide(state, active, everyone, n_agents, limit, used):
    """Let the documents end of which all agents together moved by at most the limit, as in `inference.diffuse`."""
    left, n = 0, state[ACTIVE]
    for position in range(n):
        size, moved = 0.0, 0.0
        for agent in range(n_agents):
            size += everyone[2 * (agent * n + position)]
            moved += everyone[2 * (agent * n + position) + 1]
        used[active[position]] = state[USED]
        if not moved <= limit * limit * size:
            active[left] = active[position]
            left += 1
    state[ACTIVE] = left


@allocating
def _close(state, atoms, rank, model, columns, used, learning, nu, results):
    """Read what a block has come to and, where it is one document, learn from it; return the atoms."""
    codes, costs, norms, iterations = results
    learns, step, beta = learning
    for b in range(state[LAST] - state[FIRST]):
        iterations[state[FIRST] + b] = used[b]
        read(b, state[FIRST] + b, atoms, rank, model, columns, codes, costs, norms)
    if learns:
        mine, (terms, duals, mark) = codes[state[FIRST]], nu
        listed = plain(0, mine, rank, columns, terms, duals)
        atoms = learn(atoms, rank.own, mine, step, beta, model[3], listed, terms, duals, mark)
    return atoms


@inlined
def _exchange(state, rank, columns, active, boxes, near):
    """Tell the neighbours and hear them, or ask for it where MPI carries messages; return what is missing."""
    heads, out, into, _, _ = boxes
    while state[PHASE] != TAKE:
        if state[PHASE] == WRITE:
            if state[NEED] > out.shape[1]:
                return MESSAGES
            _write(state, rank, columns, active, heads, out)
            if near[1] == 0 and len(heads):
                state[PHASE], state[HEARD] = TAKE, 0
                return EXCHANGE
            for i in range(len(heads)):
                state[FLOATS] += heads[i, 0]
            state[EXCHANGES] += len(heads) > 0
            state[PHASE], state[ROUND] = TELL, 0
        elif state[PHASE] == TELL:
            state[HEARD], state[AT] = 0, 0
            state[PHASE] = HEAR if _tell(state, near, out, into) else TAKE
        else:
            need = _hear(state, near, out, into)
            if need != DONE:
                return need
            state[ROUND] += 1
            state[PHASE] = TELL
    return DONE


@inlined
def _look(state, rank, columns, block, boxes, far, starts, ends, limit):
    """Gather how far all agents moved and let documents end; return what is missing. `ends` is scratch."""
    (_, active, used), (_, _, _, mine, everyone) = block, boxes
    n, own = state[ACTIVE], len(rank.rows)
    if state[PHASE] == LOOK:
        for k in range(own):
            for position in range(n):
                at = 2 * (k * n + position)
                mine[at], mine[at + 1] = sizes(active[position], k, columns)
        ranks = len(starts) - 1
        state[PHASE], state[HEARD] = LISTEN, -1
        most = 0
        for rank_of in range(ranks):
            most = max(most, starts[rank_of + 1] - starts[rank_of])
        if ranks > 1 and 2 * n * most > far[1]:
            state[PHASE] = DECIDE
            return GATHER
        state[FLOATS] += 2 * n * own * (ranks - 1)
    if state[PHASE] == LISTEN:
        for place in range(len(starts)):
            ends[place] = 2 * n * starts[place]
        if not gather(state[HEARD : HEARD + 1], far, ends, mine[: 2 * n * own], everyone):
            return SIGNAL
        state[PHASE] = DECIDE
    _decide(state, active, everyone, rank.n_agents, limit, used)
    return DONE


@called(
    "l[] DOCUMENTS ATOMS Rank MODEL Columns (l l[] l[]) (l[,] d[,] d[,] d[] d[]) (WINDOW WINDOW l[]) (l l d) "
    "(? d d) (i[] d[,] i[]) (d[,] d[,] d[,] l[]) -> (l ATOMS)"
)
@allocating
def advance(state, documents, atoms, rank, model, columns, block, boxes, windows, limits, learning, nu, results):
    """Go through the documents; return what is needed and the atoms.

    Parameters
    ----------
    block : (most documents side by side, places of those that have not ended, iterations of each)
    boxes : (heads of the messages, what is told, what is heard: neighbours x floats; sizes: own, of all agents)
    windows : (of the neighbours, of all ranks, starts of the ranks' agents)
        As in `odl.kernels.windows`; without room for a float where MPI carries messages.
    limits : (most iterations, iterations between looks, tolerance mu c_f/N)
    learning : (whether to learn, one document in a block, step, beta)
    """
    (most, active, used), (near, far, starts), (iterations, check, limit) = block, windows, limits
    ends, need = np.empty_like(starts), DONE
    while need == DONE:
        phase = state[PHASE]
        if phase == OPEN:
            if state[FIRST] >= len(documents[0]) - 1:
                break
            state[LAST] = min(state[FIRST] + most, len(documents[0]) - 1)
            if _open(state, documents, atoms, rank, model, columns, active, used):
                state[PHASE] = ADAPT if iterations > 0 else CLOSE
            else:
                need = ENTRIES
        elif phase == ADAPT:
            need = _adapt(state, atoms, rank, model, columns, active)
            if need == DONE:
                _plan(state, rank, columns, active, boxes[0])
                state[PHASE] = WRITE
        elif phase < TAKE:
            need = _exchange(state, rank, columns, active, boxes, near)
        elif phase == TAKE:
            need = _take(state, atoms, rank, columns, active, boxes[2])
            if need == DONE:
                look = (state[USED] + 1) % check == 0 and limit > 0.0
                _combine(state, look, rank, columns, active, used)
                state[PHASE] = LOOK if look else ADAPT if state[USED] < iterations else CLOSE
        elif phase < CLOSE:
            need = _look(state, rank, columns, block, boxes, far, starts, ends, limit)
            if need == DONE:
                state[PHASE] = ADAPT if state[ACTIVE] and state[USED] < iterations else CLOSE
        else:
            atoms = _close(state, atoms, rank, model, columns, used, learning, nu, results)
            state[FIRST] = state[LAST]
            state[PHASE] = OPEN
    return need, atoms
