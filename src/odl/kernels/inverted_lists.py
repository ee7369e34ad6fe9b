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
    offsets, rows, values = lists
    for entry in range(first, last):
        weight, term = weights[entry], terms[entry]
        if term < len(offsets) - 1:
            # Unsigned places: of others each would be checked for whether it counts from the end.
            for place in range(np.uint64(offsets[term]), np.uint64(offsets[term + 1])):
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


@kernel
def _append(term, lists, first, owner, free, place, union):
    """Add the list of a term, of rows that are `first` and on in `owner`, to the union so far; return its end."""
    (offsets, rows, values), (starts, owners, sums) = lists, union
    for entry in range(offsets[term], offsets[term + 1]):
        row = owner[first + rows[entry]]
        if row < 0:
            continue
        if place[row] >= starts[term]:
            sums[place[row]] += values[entry]
        else:
            place[row], owners[free], sums[free] = free, row, values[entry]
            free += 1
    return free


@called("(ROWS) (ROWS) l l[] l[] (ROWS)")
@kernel
def combine(lists, later, before, owner, place, union):
    """Put two families of lists together, with the rows that own theirs now.

    Parameters
    ----------
    lists, later : tuple of ndarray
        The lists of both.
    before : int
        Rows of the first family.
    owner : ndarray of int64
        Row that each of the first and then of the second family is part of now; -1: dropped.
    place : ndarray of int64, shape (n_rows,)
        Work space, -1.
    union : tuple of ndarray, filled
        The lists, rows in no order.
    """
    starts, free = union[0], 0
    for term in range(len(starts) - 1):
        starts[term] = free
        free = _append(term, lists, 0, owner, free, place, union)
        free = _append(term, later, before, owner, free, place, union)
    starts[-1] = free


@called("l[] i[] (ROWS) l[] i[] d[]")
@kernel
def by_row(order, known, lists, starts, terms, weights):
    """Return lists to compressed rows, terms in the given order of their numbers; entries of 0 are left out.

    Parameters
    ----------
    order : ndarray of int64
        Numbers of all terms.
    known : ndarray of int32
        Terms by their numbers.
    lists : tuple of ndarray
        From `combine`.
    starts : ndarray of int64, shape (n_rows + 2,), filled
        Zeros; then starts of the rows and their end.
    terms, weights : ndarray, filled
    """
    offsets, rows, values = lists
    for entry in range(offsets[-1]):
        if values[entry] != 0.0:
            starts[rows[entry] + 2] += 1
    for row in range(2, len(starts)):
        starts[row] += starts[row - 1]
    for number in order:
        for entry in range(offsets[number], offsets[number + 1]):
            if values[entry] != 0.0:
                free = starts[rows[entry] + 1]
                terms[free] = known[number]
                weights[free] = values[entry]
                starts[rows[entry] + 1] = free + 1


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
    starts, terms, weights = compressed
    for entry in range(starts[row], starts[row + 1]):
        dense[terms[entry]] = weights[entry]


@kernel
def _clear(row, compressed, dense):
    starts, terms, _ = compressed
    for entry in range(starts[row], starts[row + 1]):
        dense[terms[entry]] = 0.0


@kernel
def _product(row, compressed, dense):
    starts, terms, weights = compressed
    total = 0.0
    for entry in range(starts[row], starts[row + 1]):
        total += weights[entry] * dense[terms[entry]]
    return total


@called("(ROWS) (ROWS) l[,] l d[,] d[] d[,]")
@kernel
def codes(documents, atoms, neighbours, sweeps, x, dense, gram):
    """Code documents on a few atoms each: min over x >= 0 of ||p - A x||_2^2 / 2.

    Coordinate descent from x = 0.

    Parameters
    ----------
    documents, atoms : tuple of ndarray
        Compressed rows, with the same numbers of terms.
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


@called("l l[] i[] d[] l[] d[]")
@allocating
def heaviest(most, starts, terms, weights, ends, sizes):
    """Cut every row to its `most` largest weights, among equals the first, and scale it to unit l2 norm, in place.

    Parameters
    ----------
    most : int
    starts, terms, weights : ndarray
        Rows of positive weights, changed.
    ends : ndarray of int64, shape (n_rows + 1,), filled
        Where the rows start afterwards, and their end.
    sizes : ndarray, shape (n_rows,), filled
        Norms of the rows that were cut, before they were scaled.
    """
    free = 0
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
