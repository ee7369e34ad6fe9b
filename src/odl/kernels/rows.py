"""Compiled kernels on compressed rows, documents or atoms: weights made flatter, codes on a few atoms, heaviest terms.

Terms are numbers as of `odl.kernels.inverted`, so that work space has the size of those in use.
"""

import math

from odl.kernels.compiled import called, kernel


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
