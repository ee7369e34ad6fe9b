"""Compiled kernels on inverted lists and compressed rows: for each term the rows that have it, and their weights.

The inner products of a document with all rows are sums over the lists of its own terms. Rows are atoms or documents
in compressed form; terms are numbered in the order in which they first occur (`number`), so nothing but `place` has
the size of the vocabulary. Rows themselves are made flatter, coded on a few atoms, cut to their heaviest terms.
"""

import math

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
def _spread(first, last, terms, weights, dense):
    for entry in range(first, last):
        dense[terms[entry]] = weights[entry]


@kernel
def _clear(first, last, terms, dense):
    for entry in range(first, last):
        dense[terms[entry]] = 0.0


@kernel
def _product(first, last, terms, weights, dense):
    total = 0.0
    for entry in range(first, last):
        total += weights[entry] * dense[terms[entry]]
    return total


@called("l l l[] u[] d[] l[] u[] d[] l[,] l d[,] d[] d[,]")
@kernel
def codes(
    first, last, starts, terms, weights, atom_starts, atom_terms, atom_weights, chosen, sweeps, found, dense, gram
):
    """Code documents first..last-1 on a few chosen atoms: min over x >= 0 of ||p - A x||_2^2 / 2.

    Coordinate descent from x = 0.

    Parameters
    ----------
    first, last : int
    starts, terms, weights : ndarray
        Documents.
    atom_starts, atom_terms, atom_weights : ndarray
        Atoms, with the same numbers of terms.
    chosen : ndarray of int64, shape (n_documents, m)
        Atoms of each document; from the first -1 on there are none.
    sweeps : int
    found : ndarray, shape (n_documents, m), filled
        Zeros.
    dense : ndarray, shape (n_terms,)
        Work space, zeros; zeros again afterwards.
    gram : ndarray, shape (m + 1, m)
        Work space.
    """
    for d in range(first, last):
        count = 0
        while count < chosen.shape[1] and chosen[d, count] >= 0:
            count += 1
        target = gram[count]
        _spread(starts[d], starts[d + 1], terms, weights, dense)
        for i in range(count):
            atom = chosen[d, i]
            target[i] = _product(atom_starts[atom], atom_starts[atom + 1], atom_terms, atom_weights, dense)
        _clear(starts[d], starts[d + 1], terms, dense)
        for i in range(count):
            begin, end = atom_starts[chosen[d, i]], atom_starts[chosen[d, i] + 1]
            _spread(begin, end, atom_terms, atom_weights, dense)
            for j in range(i, count):
                other = chosen[d, j]
                gram[i, j] = _product(atom_starts[other], atom_starts[other + 1], atom_terms, atom_weights, dense)
                gram[j, i] = gram[i, j]
            _clear(begin, end, atom_terms, dense)
        _descend(count, target, gram, found[d], sweeps)


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


@kernel
def _threshold(values, rank):
    """Return the number of the given rank among the largest (0: the largest); the order of `values` is lost."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] > pivot:
                left += 1
            while values[right] < pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if rank <= right:
            high = right
        elif rank >= left:
            low = left
        else:
            break
    return values[rank]


@called("l l[] i[] d[] l[] d[] d[]")
@kernel
def heaviest(most, starts, terms, weights, ends, sizes, work):
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
    work : ndarray
        Work space of the longest row.
    """
    free = 0
    for row in range(len(sizes)):
        begin, end, ends[row] = starts[row], starts[row + 1], free
        least, level = 0.0, 0
        if end - begin > most:
            for entry in range(begin, end):
                work[entry - begin] = weights[entry]
            least = _threshold(work[: end - begin], most - 1)
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
