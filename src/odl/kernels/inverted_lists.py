"""Compiled kernels on inverted lists and compressed rows: for each term the rows that have it, and their weights.

The inner products of a document with all rows are sums over the lists of its own terms. Rows are atoms or documents
in compressed form, with numbers of their own for terms (`odl.learners.likeness.Numbers`). Rows themselves are made
flatter, coded on a few atoms, cut to their heaviest terms.
"""

import math

import numpy as np

from odl.kernels.compiled import allocating, called, kernel

BLOCK = 32  # cells of a side that are mirrored together: two such squares fit the nearest cache


@kernel
def add(first, last, terms, weights, lists, total):
    """Add the inner products of a document, entries first..last-1, with all rows to `total`."""
    offsets, rows, values = lists
    for entry in range(first, last):
        weight, term = weights[entry], terms[entry]
        for place in range(offsets[term], offsets[term + 1]):
            total[rows[place]] += weight * values[place]


@called("l l (ROWS) (ROWS) d[,]")
@kernel
def grams(first, last, compressed, lists, gram):
    """Fill a matrix with the inner products of rows first..last-1 and the rows up to each, on both sides."""
    (starts, terms, weights), (offsets, rows, values) = compressed, lists
    for top in range(first, last, BLOCK):
        bottom = min(top + BLOCK, last)
        for row in range(top, bottom):
            line = gram[row]
            for other in range(row + 1):
                line[other] = 0.0
            for entry in range(starts[row], starts[row + 1]):
                weight, term = weights[entry], terms[entry]
                for place in range(offsets[term], offsets[term + 1]):
                    if rows[place] > row:
                        break
                    line[rows[place]] += weight * values[place]
        for left in range(0, bottom, BLOCK):
            for row in range(top, bottom):
                for other in range(left, min(left + BLOCK, row)):
                    gram[other, row] = gram[row, other]


@kernel
def _largest(total, neighbours, best):
    """Find the places of the largest positive numbers, falling, among equals the first; -1 where there are fewer."""
    most = len(neighbours)
    neighbours[:], best[:] = -1, 0.0
    for place in range(len(total)):
        if total[place] > best[most - 1]:
            rank = most - 1
            while rank > 0 and total[place] > best[rank - 1]:
                neighbours[rank], best[rank] = neighbours[rank - 1], best[rank - 1]
                rank -= 1
            neighbours[rank], best[rank] = place, total[place]


@called("l l ? (ROWS) (ROWS) d[] l[,] d[,]")
@kernel
def nearest(first, last, apart, documents, lists, total, neighbours, best):
    """Find the rows of the largest inner products with documents first..last-1, as `_largest` does.

    Parameters
    ----------
    first, last : int
    apart : bool
        The rows are the documents, and none is compared with itself.
    documents, lists : tuple of ndarray
        Compressed rows and inverted lists.
    total : ndarray, shape (n_rows,)
        Work space.
    neighbours, best : ndarray of int64 and float64, shape (n_documents, m), filled
    """
    starts, terms, weights = documents
    for d in range(first, last):
        total[:] = 0.0
        add(starts[d], starts[d + 1], terms, weights, lists, total)
        if apart:
            total[d] = 0.0
        _largest(total, neighbours[d], best[d])


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


@called("l l l[] d[] d d[] d[]")
@kernel
def flatten(first, last, starts, weights, power, scale, values):
    """Fill `values` with the weights of rows first..last-1 raised to a power, in rows of the l2 norms `scale`."""
    for row in range(first, last):
        total = 0.0
        for entry in range(starts[row], starts[row + 1]):
            values[entry] = weights[entry] ** power
            total += values[entry] * values[entry]
        factor = scale[row] / math.sqrt(total) if total > 0.0 else 0.0
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


@called("l l (ROWS) (ROWS) l[,] l d[,] d[] d[,]")
@kernel
def codes(first, last, documents, atoms, neighbours, sweeps, x, dense, gram):
    """Code documents first..last-1 on a few atoms each: min over x >= 0 of ||p - A x||_2^2 / 2.

    Coordinate descent from x = 0.

    Parameters
    ----------
    first, last : int
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
    for d in range(first, last):
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
