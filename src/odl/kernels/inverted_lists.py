"""Compiled kernels on inverted lists and compressed rows: for each term the rows that have it, and their weights.

The inner products of a document with all rows are sums over the lists of its own terms. Rows are atoms or documents
in compressed form, with numbers of their own for terms (`odl.learners.likeness.Numbers`). Rows themselves are made
flatter, coded on a few atoms, cut to their heaviest terms.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from odl.kernels.compiled import allocating, called, kernel

BLOCK = 256  # columns that are mirrored together: what is read of them fits the nearest cache
AHEAD = 6  # entries of a document after which the list is needed that is fetched now
TINY = 5e-324  # the least number above 0


@intrinsic
def fetch(typing, array, place):
    """Have an entry of an array fetched from memory, which will be needed soon."""

    def write(context, builder, signature, arguments):
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        entry, word = builder.bitcast(builder.gep(start, arguments[1:]), ir.IntType(8).as_pointer()), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), (entry.type, word, word, word))
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", (entry.type,), kind)
        return builder.call(prefetch, [entry, word(0), word(3), word(1)])

    return types.void(array, types.uint64), write


@kernel
def add(first, last, terms, weights, lists, total):
    """Add the inner products of a document, entries first..last-1, of any terms, with all rows to `total`."""
    bounds, rows, values = lists
    for entry in range(first, last):
        weight, term = weights[entry], np.uint64(terms[entry])
        soon = np.uint64(terms[min(entry + AHEAD, last - 1)])
        if soon < np.uint64(len(bounds) // 2):
            fetch(rows, np.uint64(bounds[2 * soon]))
            fetch(values, np.uint64(bounds[2 * soon]))
        if term < np.uint64(len(bounds) // 2):
            # Unsigned places: of others each would be checked for whether it counts from the end.
            for place in range(np.uint64(bounds[2 * term]), np.uint64(bounds[2 * term + 1])):
                total[rows[place]] += weight * values[place]


@called("l[] (l[,] u[] d[]) i[] (ROWS) l[] d[] d[] u[] d[,]")
@kernel
def grams(which, rows, place, lists, owner, sizes, total, numbers, gram):
    """Fill rows `which` of a matrix with the inner products of unit rows of these sizes.

    Parameters
    ----------
    which : ndarray of int64
        Rows that `rows` is of.
    rows : tuple of ndarray
        As of `take`.
    place : ndarray of int32
        Number of each term.
    lists, owner : as of `nearest`
    sizes : ndarray, shape (n,)
    total, numbers : ndarray of float64, shape (n_pieces,), and of uint32, as long as the longest row
        Work space.
    gram : ndarray of float64, at least n x n, changed
    """
    spans, terms, weights = rows
    for i in range(len(which)):
        row, first = which[i], spans[i, 0]
        gram[row, :], total[:] = 0.0, 0.0
        for entry in range(spans[i, 1] - first):
            numbers[entry] = place[terms[first + entry]]
        add(0, spans[i, 1] - first, numbers, weights[first:], lists, total)
        for piece in range(len(owner)):
            gram[row, owner[piece]] = total[piece] * (sizes[row] * sizes[owner[piece]])


@called("l[] d[,]")
@kernel
def mirror(which, gram):
    """Fill columns `which` with what the rows `which` have there."""
    for begin in range(0, len(which), BLOCK):
        columns = which[begin : begin + BLOCK]
        for row in range(len(gram)):
            line = gram[row]
            for column in columns:
                line[column] = gram[column, row]


@kernel
def scaled(total, scale, size, least, products):
    """Multiply with scales; return how many products are at least `least`."""
    above = 0
    for piece in range(size):
        value = total[piece] * scale[piece]
        products[piece] = value
        above += 1 if value >= least else 0
    return above


@kernel
def _largest(total, scale, owner, products, neighbours, best):
    """Find the pieces of the largest positive products, falling, among equals that of the first owner."""
    most, least = len(neighbours), TINY
    neighbours[:], best[:] = -1, 0.0
    for first in range(0, len(total), len(products)):
        size = min(len(products), len(total) - first)
        # Parts of arrays: with a sum as the place of each number the loop is not made of vector instructions.
        for piece in range(size if scaled(total[first:], scale[first:], size, least, products) else 0):
            value, row, rank = products[piece], owner[first + piece], most
            if value < least:
                continue
            while rank > 0 and (value > best[rank - 1] or (value == best[rank - 1] and row < neighbours[rank - 1])):
                if rank < most:
                    neighbours[rank], best[rank] = neighbours[rank - 1], best[rank - 1]
                rank -= 1
            if rank < most:
                neighbours[rank], best[rank] = row, value
            least = max(best[most - 1], TINY)


@called("? (ROWS) (ROWS) l[] d[] d[] d[] l[,] d[,]")
@kernel
def nearest(apart, documents, lists, owner, scale, total, products, neighbours, best):
    """Find the rows of the largest inner products with each document, as `_largest` does.

    Parameters
    ----------
    apart : bool
        The rows are the documents, and none is compared with itself.
    documents, lists : tuple of ndarray
        Compressed rows, and inverted lists of pieces.
    owner : ndarray of int64, shape (n_pieces,)
        Row of each piece.
    scale : ndarray of float64, shape (n_pieces,)
        What products are multiplied by; 0 for a piece that is no row any more.
    total, products : ndarray, shape (n_pieces,) and of a few
        Work space.
    neighbours, best : ndarray of int64 and float64, shape (n_documents, m), filled
    """
    starts, terms, weights = documents
    for d in range(len(starts) - 1):
        total[:] = 0.0
        add(starts[d], starts[d + 1], terms, weights, lists, total)
        if apart:
            total[d] = 0.0
        _largest(total, scale, owner, products, neighbours[d], best[d])


@called("u[] i[] l u[] -> l")
@kernel
def number(terms, place, count, numbers):
    """Fill `numbers` with those that `place` has of terms, from `count` on of terms without (-1); return the next."""
    for entry in range(len(terms)):
        term = terms[entry]
        if place[term] < 0:
            place[term] = count
            count += 1
        numbers[entry] = place[term]
    return count


@called("(FLAT) (FLAT)")
@kernel
def invert(compressed, lists):
    """Fill the inverted lists of compressed rows, rows ascending, of their weights, plain and flattened.

    Parameters
    ----------
    compressed : tuple of ndarray
    lists : tuple of ndarray, filled
        The first one, offsets, has zeros.
    """
    (starts, terms, weights, flat), (offsets, rows, values, flat_values) = compressed, lists
    for entry in range(starts[0], starts[-1]):
        offsets[terms[entry] + 1] += 1
    for term in range(1, len(offsets)):
        offsets[term] += offsets[term - 1]
    for row in range(len(starts) - 1):
        for entry in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            place = np.uint64(offsets[terms[entry]])
            rows[place], values[place], flat_values[place] = row, weights[entry], flat[entry]
            offsets[terms[entry]] += 1
    for term in range(len(offsets) - 1, 0, -1):  # which are the ends of lists now
        offsets[term] = offsets[term - 1]
    offsets[0] = 0


@called("l[,] (u[] d[] d[]) (FLAT)")
@kernel
def take(spans, entries, result):
    """Fill compressed rows with the entries that lie from spans[i, 0] to spans[i, 1], weights plain and flattened.

    Parameters
    ----------
    spans : ndarray of int64, shape (n_rows, 2)
    entries : tuple of ndarray
        Terms and weights.
    result : tuple of ndarray, filled
    """
    (source, plain, raised), (starts, terms, weights, flat), free = entries, result, np.uint64(0)
    for row in range(len(spans)):
        starts[row] = free
        for entry in range(np.uint64(spans[row, 0]), np.uint64(spans[row, 1])):
            terms[free], weights[free], flat[free] = source[entry], plain[entry], raised[entry]
            free += np.uint64(1)
    starts[len(spans)] = free


@kernel
def _replace(row, number, entry, entries, lists):
    """Put other weights into the list that has a row, or take it out (-1)."""
    (_, weights, flat), (bounds, owners, values, raised) = entries, lists
    at, last = bounds[2 * number], bounds[2 * number + 1] - 1
    while at < last and owners[at] != row:
        at += 1
    if entry >= 0:
        values[at], raised[at] = weights[entry], flat[entry]
    else:
        owners[at], values[at], raised[at] = owners[last], values[last], raised[last]
        bounds[2 * number + 1] = last


@kernel
def _append(row, entry, entries, place, lists, limits, counters):
    """Put a row into the list of a term, which may have to lie elsewhere; tell whether there was room."""
    (terms, weights, flat), (bounds, owners, values, raised) = entries, lists
    if place[terms[entry]] < 0:
        place[terms[entry]] = counters[0]
        counters[0] += 1
    number = place[terms[entry]]
    if number >= len(limits):
        return False
    first, end, free = bounds[2 * number], bounds[2 * number + 1], counters[1]
    if end == limits[number]:
        room = (end - first) * 5 // 4 + 4
        if free + room > len(owners):
            return False
        for at in range(first, end):
            moved = free + at - first
            owners[moved], values[moved], raised[moved] = owners[at], values[at], raised[at]
        end += free - first
        bounds[2 * number], limits[number], counters[1] = free, free + room, free + room
    owners[end], values[end], raised[end] = row, weights[entry], flat[entry]
    bounds[2 * number + 1] = end + 1
    return True


@called("l[] l[,] l[,] (u[] d[] d[]) i[] (FLAT) l[] l[] -> ?")
@kernel
def exchange(rows, before, after, entries, place, lists, limits, counters):
    """Take the entries of some rows out of inverted lists and put in others; the order within a list may change.

    Parameters
    ----------
    rows : ndarray of int64, shape (n,)
    before, after : ndarray of int64, shape (n, 2)
        Where the entries of each row lie, terms rising.
    entries : tuple of ndarray
    place : ndarray of int32, changed
        Number of each term, -1: none yet.
    lists : tuple of ndarray, changed
        First and end of each list, in turn, then rows and weights.
    limits : ndarray of int64, changed
        Where the room of each list ends.
    counters : ndarray of int64, changed
        The next number of a term, and where the room behind all lists begins.

    Returns
    -------
    bool
        Whether there was room; else the lists are of no use any more.
    """
    terms = entries[0]
    for i in range(len(rows)):
        old, new = before[i, 0], after[i, 0]
        while old < before[i, 1] or new < after[i, 1]:
            gone = new == after[i, 1] or (old < before[i, 1] and terms[old] < terms[new])
            if gone or (old < before[i, 1] and terms[old] == terms[new]):
                _replace(rows[i], place[terms[old]], -1 if gone else new, entries, lists)
                old, new = old + 1, new if gone else new + 1
            elif _append(rows[i], new, entries, place, lists, limits, counters):
                new += 1
            else:
                return False
    return True


@allocating
def _add_up(places, source, factors, rows, dense, free, entries):
    """Put the sum of weighted rows behind `free`, terms rising, what is 0 left out; return its end."""
    (early, late), (terms, weights), begin = rows, entries, free
    before = len(early[0])
    for place in places:
        own, at = (early, source[place]) if source[place] < before else (late, source[place] - before)
        for entry in range(np.uint64(own[0][at, 0]), np.uint64(own[0][at, 1])):
            term = own[1][entry]
            if dense[term] == 0.0:
                terms[free] = term
                free += 1
            dense[term] += own[2][entry] * factors[place]
    terms[begin:free].sort()
    end = begin
    for entry in range(begin, free):
        term = terms[entry]
        if dense[term] != 0.0:
            terms[end], weights[end], dense[term] = term, dense[term], 0.0
            end += 1
    return end


@called("l[] l[] l[] d[] ((l[,] u[] d[]) (l[,] u[] d[])) l d (u[] d[] d[]) d[] l l[,] d[] -> l")
@allocating
def sums(changed, owner, source, factors, rows, most, power, entries, dense, free, spans, sizes):
    """Fill columns with sums of weighted rows of two families, cut to their heaviest terms, of unit l2 norm.

    Parameters
    ----------
    changed : ndarray of int64
        The columns.
    owner : ndarray of int64
        Place in `changed` of the sum that each summand is part of, in their order; -1: none.
    source : ndarray of int64
        Row of the first family, or number of these and row of the second one.
    factors : ndarray of float64
        What each is multiplied by.
    rows : tuple
        Two families as of `take`, of weights that are not negative.
    most : int
        Terms that are kept, as of `heaviest`.
    power : float
        Of flattened weights.
    entries : tuple of ndarray, filled from `free` on
    dense : ndarray of float64, shape (n_terms,)
        Work space, zeros; zeros again afterwards.
    free : int
    spans : ndarray of int64, shape (n_columns, 2), changed
        Where the entries of each column lie.
    sizes : ndarray, shape (n,), filled
        Norms of what is kept, before it is scaled.

    Returns
    -------
    int
        The end of the entries, or -1: there was too little room.
    """
    first, (terms, weights, flat) = np.zeros(len(changed) + 1, dtype=np.int64), entries
    for row in owner:
        if row >= 0:
            first[row + 1] += 1
    first = np.cumsum(first)
    order, ends = np.empty(first[-1], dtype=np.int64), first.copy()
    for place in range(len(owner)):
        if owner[place] >= 0:
            order[ends[owner[place]]] = place
            ends[owner[place]] += 1
    for i in range(len(changed)):
        places, most_terms, begin = order[first[i] : first[i + 1]], 0, free
        for place in places:
            at, before = source[place], len(rows[0][0])
            own = rows[0][0][at] if at < before else rows[1][0][at - before]
            most_terms += own[1] - own[0]
        if begin + most_terms > len(terms):
            return -1
        end = _add_up(places, source, factors, rows, dense, begin, (terms, weights))
        free, sizes[i] = _cut(most, begin, end, begin, terms, weights)
        spans[changed[i], 0], spans[changed[i], 1] = begin, free
        _flatten(begin, free, weights, power, flat)
    return free


@kernel
def _flatten(begin, end, weights, power, values):
    total = 0.0
    for entry in range(begin, end):
        values[entry] = weights[entry] ** power
        total += values[entry] * values[entry]
    factor = 1.0 / math.sqrt(total) if total > 0.0 else 0.0
    for entry in range(begin, end):
        values[entry] *= factor


@called("l[] d[] d d[]")
@kernel
def flatten(starts, weights, power, values):
    """Fill `values` with the weights of rows raised to a power, in rows of unit l2 norm."""
    for row in range(len(starts) - 1):
        _flatten(starts[row], starts[row + 1], weights, power, values)


@kernel
def _spread(row, compressed, factor, dense):
    spans, terms, weights = compressed
    for entry in range(spans[row, 0], spans[row, 1]):
        dense[terms[entry]] = weights[entry] * factor


@kernel
def _product(row, compressed, dense):
    spans, terms, weights = compressed
    total = 0.0
    for entry in range(spans[row, 0], spans[row, 1]):
        total += weights[entry] * dense[terms[entry]]
    return total


@called("(l[,] u[] d[]) (l[,] u[] d[]) l[,] l d[,] d[] d[,]")
@kernel
def codes(documents, atoms, neighbours, sweeps, x, dense, gram):
    """Code documents on a few atoms each: min over x >= 0 of ||p - A x||_2^2 / 2.

    Coordinate descent from x = 0.

    Parameters
    ----------
    documents, atoms : tuple of ndarray
        As `rows` of `sums`.
    neighbours : ndarray of int64, shape (n_documents, m)
        Atoms of each document; from the first -1 on there are none.
    sweeps : int
    x : ndarray, shape (n_documents, m), filled
        Zeros.
    dense : ndarray, shape (n_terms,)
        Work space, zeros; zeros again afterwards.
    gram : ndarray, shape (m + 1, m)
        Work space.
    """
    for d in range(len(neighbours)):
        count = 0
        while count < neighbours.shape[1] and neighbours[d, count] >= 0:
            count += 1
        target = gram[count]
        _spread(d, documents, 1.0, dense)
        for i in range(count):
            target[i] = _product(neighbours[d, i], atoms, dense)
        _spread(d, documents, 0.0, dense)
        for i in range(count):
            _spread(neighbours[d, i], atoms, 1.0, dense)
            for j in range(i, count):
                gram[i, j] = _product(neighbours[d, j], atoms, dense)
                gram[j, i] = gram[i, j]
            _spread(neighbours[d, i], atoms, 0.0, dense)
        _descend(count, target, gram, x[d], sweeps)


@kernel
def _descend(count, target, gram, x, sweeps):
    """Minimise x G x / 2 - target x over x >= 0, one coordinate after another; stop where nothing changes."""
    for _ in range(sweeps):
        moved = False
        for i in range(count):
            if gram[i, i] > 0.0:
                slope = target[i]
                for j in range(count):
                    slope -= gram[i, j] * x[j]
                value = max(0.0, x[i] + slope / gram[i, i])
                moved = moved or value != x[i]
                x[i] = value
        if not moved:
            return


@allocating
def _cut(most, begin, end, free, terms, weights):
    """Move the `most` largest weights of a row to `free`, scaled to unit l2 norm; return their end, and the norm."""
    first, least, level = free, 0.0, 0
    if end - begin > most:
        least = np.partition(weights[begin:end], end - begin - most)[end - begin - most]
        level = most
        for entry in range(begin, end):
            level -= weights[entry] > least
    total = 0.0
    for entry in range(begin, end):
        weight = weights[entry]
        if weight == least:
            level -= 1
        if weight > least or (weight == least and level >= 0):
            terms[free], weights[free] = terms[entry], weight
            total += weight * weight
            free += 1
    size = math.sqrt(total)
    for entry in range(first, free):
        weights[entry] /= size
    return free, size


@called("l (ROWS) l[] d[]")
@allocating
def heaviest(most, compressed, ends, sizes):
    """Cut every row to its `most` largest weights, among equals the first, and scale it to unit l2 norm, in place.

    Parameters
    ----------
    most : int
    compressed : tuple of ndarray
        Rows of positive weights, changed.
    ends : ndarray of int64, shape (n_rows + 1,), filled
        Where the rows start afterwards, and their end.
    sizes : ndarray, shape (n_rows,), filled
        Norms of the rows that were cut, before they were scaled.
    """
    (starts, terms, weights), free = compressed, 0
    for row in range(len(sizes)):
        ends[row] = free
        free, sizes[row] = _cut(most, starts[row], starts[row + 1], free, terms, weights)
    ends[-1] = free
