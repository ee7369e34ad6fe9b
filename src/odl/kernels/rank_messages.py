"""Compiled messages between ranks that hold dual variables as `odl.kernels.rank_span` does.

A message is: its length, the most columns that are new in a document, the entries of all new columns; then for each
document that has not ended how many columns are new, these (key, number of entries or -1 where the other has it, terms,
values), and psi of the agents on all columns named so far, in the order in which they were named.
"""

from odl.kernels.compiled import inlined
from odl.kernels.rank_span import HEARD, TOLD, append


@inlined
def plan(b, i, rank, columns):
    """Name the columns that psi of the agents told to neighbour i need; return the floats, new columns and entries."""
    rows = rank.told_rows[rank.told_starts[i] : rank.told_starts[i + 1]]
    columns.fresh[b, i] = columns.n_told[b, i]
    floats, entries = 1, 0
    for c in range(columns.n[b]):
        if columns.known[b, i, c] & TOLD:
            continue
        needed = False
        for row in rows:
            needed |= columns.sent[b, row, c] != 0.0
        if needed:
            floats += 2
            if not columns.known[b, i, c] & HEARD:
                floats += 2 * columns.length[b, c]
                entries += columns.length[b, c]
            columns.told[b, i, columns.n_told[b, i]] = c
            columns.n_told[b, i] += 1
            columns.known[b, i, c] |= TOLD
    new = columns.n_told[b, i] - columns.fresh[b, i]
    return floats + len(rows) * columns.n_told[b, i], new, entries


@inlined
def write(b, i, at, rank, columns, message):
    """Write what neighbour i is told of a document; return where it ends."""
    message[at] = columns.n_told[b, i] - columns.fresh[b, i]
    at += 1
    for index in range(columns.fresh[b, i], columns.n_told[b, i]):
        c = columns.told[b, i, index]
        length = -1 if columns.known[b, i, c] & HEARD else columns.length[b, c]
        message[at], message[at + 1] = columns.key[b, c], length
        at += 2
        first = columns.first[b, c]
        for entry in range(length):
            message[at + entry] = columns.term[first + entry]
            message[at + length + entry] = columns.value[first + entry]
        at += 2 * max(length, 0)
    for row in rank.told_rows[rank.told_starts[i] : rank.told_starts[i + 1]]:
        for index in range(columns.n_told[b, i]):
            message[at + index] = columns.sent[b, row, columns.told[b, i, index]]
        at += columns.n_told[b, i]
    return at


@inlined
def take(b, i, at, atoms, rank, columns, message):
    """Read what neighbour i tells of a document, with room for its columns; return where it ends."""
    new = int(message[at])
    at += 1
    for _ in range(new):
        key, length, c = int(message[at]), int(message[at + 1]), -1
        at += 2
        for d in range(columns.n[b]):
            if columns.key[b, d] == key:
                c = d
        if c < 0:
            first = columns.filled[0]
            for entry in range(length):
                columns.term[first + entry] = int(message[at + entry])
                columns.value[first + entry] = message[at + length + entry]
            c = append(b, key, length, atoms, columns)
        at += 2 * max(length, 0)
        columns.heard[b, i, columns.n_heard[b, i]] = c
        columns.n_heard[b, i] += 1
        columns.known[b, i, c] |= HEARD
    for row in rank.their_rows[rank.their_starts[i] : rank.their_starts[i + 1]]:
        for index in range(columns.n_heard[b, i]):
            columns.sent[b, row, columns.heard[b, i, index]] = message[at + index]
        at += columns.n_heard[b, i]
    return at
