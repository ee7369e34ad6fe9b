"""Compiled kernels on inverted lists: for each term the rows that have it, and their weights.

The inner products of a document with all rows are sums over the lists of its own terms. Rows are atoms or documents
in compressed form; terms are numbered in the order in which they first occur (`number`), so nothing but `place` has
the size of the vocabulary.
"""

from odl.kernels.compiled import called, kernel

BLOCK = 32  # cells of a side that are mirrored together: two such squares fit the nearest cache


@called("i[] i[] i[] l u[] -> l")
@kernel
def number(terms, place, known, count, local):
    """Number the terms that have no number yet, in the order in which they occur.

    Parameters
    ----------
    terms : ndarray of int32
    place : ndarray of int32, shape (n_terms,), changed
        Number of each term and 1 more; 0 where it has none.
    known : ndarray of int32, changed
        Terms by their numbers.
    count : int
        Numbers given so far.
    local : ndarray of uint32, filled
        Numbers of `terms`.

    Returns
    -------
    int
        Numbers given now.
    """
    for entry in range(len(terms)):
        found = place[terms[entry]]
        if found == 0:
            known[count] = terms[entry]
            count += 1
            found = count
            place[terms[entry]] = found
        local[entry] = found - 1
    return count


@called("l l i[] i[] l u[]")
@kernel
def find(first, last, terms, place, unknown, local):
    """Fill `local` with the numbers of terms first..last-1, `unknown` for those that have none."""
    for entry in range(first, last):
        found = place[terms[entry]]
        local[entry] = found - 1 if found else unknown


@called("l l l[] u[] l[]")
@kernel
def count(first, last, starts, terms, counts):
    """Count how often each term occurs in rows first..last-1; `counts` are zeros."""
    for entry in range(starts[first], starts[last]):
        counts[terms[entry]] += 1


@called("l[,] l[]")
@kernel
def offsets(counts, starts):
    """Find where the list of each term starts, and in it the part of each thread.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_threads, n_terms), changed
        From `count`; then the places at which the threads begin to `fill`.
    starts : ndarray of int64, shape (n_terms + 1,), filled
    """
    free = 0
    for term in range(counts.shape[1]):
        starts[term] = free
        for thread in range(counts.shape[0]):
            begin = free
            free += counts[thread, term]
            counts[thread, term] = begin
    starts[-1] = free


@called("l l l[] u[] d[] l[] u[] d[]")
@kernel
def fill(first, last, starts, terms, weights, places, rows, values):
    """Write rows first..last-1 into the lists, from the places of each term on."""
    for row in range(first, last):
        for entry in range(starts[row], starts[row + 1]):
            free = places[terms[entry]]
            rows[free] = row
            values[free] = weights[entry]
            places[terms[entry]] = free + 1


@kernel
def add(first, last, terms, weights, offsets, rows, values, total):
    """Add the inner products of a document, entries first..last-1, with all rows to `total`."""
    for entry in range(first, last):
        weight, term = weights[entry], terms[entry]
        for place in range(offsets[term], offsets[term + 1]):
            total[rows[place]] += weight * values[place]


@called("l l l[] u[] d[] l[] u[] d[] d[,]")
@kernel
def grams(first, last, starts, terms, weights, offsets, rows, values, gram):
    """Fill a matrix with the inner products of rows first..last-1 and the rows up to each, on both sides."""
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
def largest(total, count, chosen, best):
    """Find the largest positive numbers of `total[:count]`, falling; among equals the first one first.

    Parameters
    ----------
    total : ndarray
    count : int
    chosen, best : ndarray of int64 and float64, shape (m,), filled
        Places and numbers; -1 and 0 where there are fewer.
    """
    most = len(chosen)
    for rank in range(most):
        chosen[rank], best[rank] = -1, 0.0
    for place in range(count):
        if total[place] > best[most - 1]:
            rank = most - 1
            while rank > 0 and total[place] > best[rank - 1]:
                chosen[rank], best[rank] = chosen[rank - 1], best[rank - 1]
                rank -= 1
            chosen[rank], best[rank] = place, total[place]


@called("l l l l[] u[] d[] l[] u[] d[] d[] l[,] d[,]")
@kernel
def nearest(first, last, apart, starts, terms, weights, offsets, rows, values, total, chosen, best):
    """Find the rows of the largest inner products with documents first..last-1, as `largest` does.

    Parameters
    ----------
    first, last : int
    apart : int
        1: the rows are the documents, and none is compared with itself.
    starts, terms, weights : ndarray
        Documents.
    offsets, rows, values : ndarray
        The lists.
    total : ndarray, shape (n_rows,)
        Work space.
    chosen, best : ndarray of int64 and float64, shape (n_documents, m), filled
    """
    for d in range(first, last):
        total[:] = 0.0
        add(starts[d], starts[d + 1], terms, weights, offsets, rows, values, total)
        if apart:
            total[d] = 0.0
        largest(total, len(total), chosen[d], best[d])


@kernel
def _put(row, value, begin, free, place, rows, values):
    """Add an entry to the list that starts at `begin` and ends at `free`; return its end."""
    if row < 0:
        return free
    if place[row] >= begin:
        values[place[row]] += value
        return free
    place[row] = free
    rows[free] = row
    values[free] = value
    return free + 1


@called("l[] u[] d[] l[] u[] d[] l l[] l[] l[] u[] d[]")
@kernel
def combine(offsets, rows, values, new_offsets, new_rows, new_values, before, owner, place, found, to_rows, to_values):
    """Put two families of lists together, with the rows that own theirs now.

    Parameters
    ----------
    offsets, rows, values, new_offsets, new_rows, new_values : ndarray
        The lists of both.
    before : int
        Rows of the first family.
    owner : ndarray of int64
        Row that each of the first and then of the second family is part of now; -1: dropped.
    place : ndarray of int64, shape (n_rows,)
        Work space, -1.
    found, to_rows, to_values : ndarray, filled
        The lists, rows in no order.
    """
    free = 0
    for term in range(len(found) - 1):
        found[term] = free
        for entry in range(offsets[term], offsets[term + 1]):
            free = _put(owner[rows[entry]], values[entry], found[term], free, place, to_rows, to_values)
        for entry in range(new_offsets[term], new_offsets[term + 1]):
            row = owner[before + new_rows[entry]]
            free = _put(row, new_values[entry], found[term], free, place, to_rows, to_values)
    found[-1] = free


@called("l[] i[] l[] u[] d[] l[] i[] d[]")
@kernel
def by_row(order, known, offsets, rows, values, starts, terms, weights):
    """Return lists to compressed rows, terms in the given order of their numbers; entries of 0 are left out.

    Parameters
    ----------
    order : ndarray of int64
        Numbers of all terms.
    known : ndarray of int32
        Terms by their numbers.
    offsets, rows, values : ndarray
        From `combine`.
    starts : ndarray of int64, shape (n_rows + 2,), filled
        Zeros; then starts of the rows and their end.
    terms, weights : ndarray, filled
    """
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
