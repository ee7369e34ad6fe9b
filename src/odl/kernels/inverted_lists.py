"""Compiled kernels on inverted lists and compressed rows: for each term the rows that have it, and their weights.

The inner products of a document with all rows are sums over the lists of its own terms. Rows are atoms or documents
in compressed form, with numbers of their own for terms (`odl.learners.likeness.Numbers`). Rows themselves are made
flatter, coded on a few atoms, cut to their heaviest terms.
"""

import math

import numpy as np

from odl.kernels.compiled import allocating, called, kernel

BLOCK = 256  # columns that are mirrored together: what is read of them fits the nearest cache
TINY = 5e-324  # the least number above 0


@kernel
def add(first, last, terms, weights, lists, total):
    """Add the inner products of a document, entries first..last-1, of any terms, with all rows to `total`."""
    bounds, rows, values = lists
    for entry in range(first, last):
        weight, term = weights[entry], np.uint64(terms[entry])
        if term < np.uint64(len(bounds) // 2):
            # Unsigned places: of others each would be checked for whether it counts from the end.
            for place in range(np.uint64(bounds[2 * term]), np.uint64(bounds[2 * term + 1])):
                total[rows[place]] += weight * values[place]


@called("l[] (ROWS) (ROWS) (ROWS) l l[] d[] d[] d[,]")
@kernel
def grams(which, compressed, early, late, before, owner, sizes, total, gram):
    """Fill rows `which` of a matrix with the inner products of unit rows of these sizes.

    Parameters
    ----------
    which : ndarray of int64
        Rows that `compressed` is of.
    compressed, early, late, before, owner : as of `nearest`; the owner of a piece that is no row any more is -1
    sizes : ndarray, shape (n,)
    total : ndarray of float64, shape (n_pieces,)
        Work space.
    gram : ndarray of float64, at least n x n, changed
    """
    starts, terms, weights = compressed
    for place in range(len(which)):
        row = which[place]
        gram[row, :], total[:] = 0.0, 0.0
        add(starts[place], starts[place + 1], terms, weights, early, total)
        add(starts[place], starts[place + 1], terms, weights, late, total[before:])
        for piece in range(len(owner)):
            if owner[piece] >= 0:
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
def _scaled(total, scale, size, least, products):
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
        for piece in range(size if _scaled(total[first:], scale[first:], size, least, products) else 0):
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


@called("? (ROWS) (ROWS) (ROWS) l l[] d[] d[] d[] l[,] d[,]")
@kernel
def nearest(apart, documents, early, late, before, owner, scale, total, products, neighbours, best):
    """Find the rows of the largest inner products with each document, as `_largest` does.

    Parameters
    ----------
    apart : bool
        The rows are the documents, and none is compared with itself.
    documents, early, late : tuple of ndarray
        Compressed rows and inverted lists of pieces.
    before : int
        Pieces before the late ones.
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
        add(starts[d], starts[d + 1], terms, weights, early, total)
        add(starts[d], starts[d + 1], terms, weights, late, total[before:])
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
    result : tuple of ndarray, filled
    """
    (source, plain, raised), (starts, terms, weights, flat), free = entries, result, np.uint64(0)
    for row in range(len(spans)):
        starts[row] = free
        for entry in range(np.uint64(spans[row, 0]), np.uint64(spans[row, 1])):
            terms[free], weights[free], flat[free] = source[entry], plain[entry], raised[entry]
            free += np.uint64(1)
    starts[len(spans)] = free


@called("l[] l[,] u[] (FLAT) i[] (FLAT) l[] l -> l")
@kernel
def exchange(rows, spans, before, after, place, lists, limits, free):
    """Take the entries of some rows out of inverted lists and put in others; the order within a list may change.

    Parameters
    ----------
    rows : ndarray of uint32, shape (n,)
    spans : ndarray of int64, shape (n, 2)
        Where the terms of each row lie in `before`.
    before : ndarray of uint32
    after : tuple of ndarray
        Compressed rows, of plain and flattened weights.
    place : ndarray of int32
        Number of each term.
    lists : tuple of ndarray, changed
        First and end of each list, one after the other, then rows and weights.
    limits : ndarray of int64, changed
        Where the room of each list ends.
    free : int
        Where the room behind all lists begins.

    Returns
    -------
    int
        Where that begins now, or -1: there is too little of it, and the lists are of no use any more.
    """
    (starts, terms, weights, flat), (bounds, owners, values, raised) = after, lists
    for i in range(len(rows)):
        row = np.uint32(rows[i])
        for entry in range(spans[i, 0], spans[i, 1]):
            number = place[before[entry]]
            at, last = bounds[2 * number], bounds[2 * number + 1] - 1
            while at < last and owners[at] != row:
                at += 1
            owners[at], values[at], raised[at] = owners[last], values[last], raised[last]
            bounds[2 * number + 1] = last
    for i in range(len(rows)):
        for entry in range(starts[i], starts[i + 1]):
            number = place[terms[entry]]
            first, end = bounds[2 * number], bounds[2 * number + 1]
            if end == limits[number]:
                room = (end - first) * 5 // 4 + 4
                if free + room > len(owners):
                    return -1
                for at in range(first, end):
                    moved = free + at - first
                    owners[moved], values[moved], raised[moved] = owners[at], values[at], raised[at]
                end += free - first
                bounds[2 * number], limits[number] = free, free + room
                free += room
            owners[end], values[end], raised[end] = np.uint32(rows[i]), weights[entry], flat[entry]
            bounds[2 * number + 1] = end + 1
    return free


@called("l[] l[] d[] (l[,] u[] d[]) (l[,] u[] d[]) d[] (ROWS)")
@allocating
def add_up(first, source, factors, early, late, dense, result):
    """Fill compressed rows, terms rising, with sums of rows of two families; what is 0 is left out.

    Parameters
    ----------
    first : ndarray of int64, shape (n_rows + 1,)
        Row i is the sum, in this order, of what `source` has at ``first[i]`` to ``first[i + 1]``.
    source : ndarray of int64
        Row of the first family, or number of these and row of the second one.
    factors : ndarray of float64
        What each of them is multiplied by.
    early, late : tuple of ndarray
        Where the entries of each row lie, as of `take`, then terms, and weights that are not negative.
    dense : ndarray of float64, shape (n_terms,)
        Work space, zeros; zeros again afterwards.
    result : tuple of ndarray, filled
    """
    (starts, terms, weights), before, end = result, len(early[0]), 0
    for row in range(len(first) - 1):
        starts[row], free = end, end
        for place in range(first[row], first[row + 1]):
            own, at = (early, source[place]) if source[place] < before else (late, source[place] - before)
            for entry in range(np.uint64(own[0][at, 0]), np.uint64(own[0][at, 1])):
                term = own[1][entry]
                if dense[term] == 0.0:
                    terms[free] = term
                    free += 1
                dense[term] += own[2][entry] * factors[place]
        terms[end:free].sort()
        for entry in range(end, free):
            term = terms[entry]
            if dense[term] != 0.0:
                terms[end], weights[end], dense[term] = term, dense[term], 0.0
                end += 1
    starts[len(first) - 1] = end


@called("l[] d[] d d[]")
@kernel
def flatten(starts, weights, power, values):
    """Fill `values` with the weights of rows raised to a power, in rows of unit l2 norm."""
    for row in range(len(starts) - 1):
        total = 0.0
        for entry in range(starts[row], starts[row + 1]):
            values[entry] = weights[entry] ** power
            total += values[entry] * values[entry]
        factor = 1.0 / math.sqrt(total) if total > 0.0 else 0.0
        for entry in range(starts[row], starts[row + 1]):
            values[entry] *= factor


@kernel
def _spread(row, compressed, dense):
    spans, terms, weights = compressed
    for entry in range(spans[row, 0], spans[row, 1]):
        dense[terms[entry]] = weights[entry]


@kernel
def _clear(row, compressed, dense):
    spans, terms, _ = compressed
    for entry in range(spans[row, 0], spans[row, 1]):
        dense[terms[entry]] = 0.0


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
        As of `add_up`.
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
        _spread(d, documents, dense)
        for i in range(count):
            target[i] = _product(neighbours[d, i], atoms, dense)
        _clear(d, documents, dense)
        for i in range(count):
            _spread(neighbours[d, i], atoms, dense)
            for j in range(i, count):
                gram[i, j] = _product(neighbours[d, j], atoms, dense)
                gram[j, i] = gram[i, j]
            _clear(neighbours[d, i], atoms, dense)
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
        begin, end, ends[row] = starts[row], starts[row + 1], free
        least, level = 0.0, 0
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
        sizes[row] = math.sqrt(total)
        for entry in range(ends[row], free):
            weights[entry] /= sizes[row]
    ends[-1] = free
