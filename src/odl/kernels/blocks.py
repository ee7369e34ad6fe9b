"""Compiled block coordinate descent over atoms in the unit l2 ball, none negative (see `odl.dictionary.l2`)."""

import numpy as np

from odl.kernels.compiled import allocating, called


@called("(ROWS) d[,] (ROWS) l l -> (l[] i[] d[])")
@allocating
def descend(products, gram, atoms, n_terms, sweeps):
    """Sweep over the atoms; returns lengths, terms and values of the new ones, atom by atom."""
    b_start, b_term, b_value = products
    a_start, a_term, a_value = atoms
    count = len(a_start) - 1
    first, length = np.zeros(count + 1, np.int64), np.zeros(count, np.int64)
    for j in range(count):
        first[j + 1] = first[j] + max(b_start[j + 1] - b_start[j], a_start[j + 1] - a_start[j])
        length[j] = a_start[j + 1] - a_start[j]
    term, value = np.empty(first[count], np.int32), np.empty(first[count])
    for j in range(count):
        for entry in range(length[j]):
            term[first[j] + entry] = a_term[a_start[j] + entry]
            value[first[j] + entry] = a_value[a_start[j] + entry]
    others = np.zeros(n_terms)
    for _ in range(sweeps):
        for j in range(count):
            if not gram[j, j] > 0.0:
                continue
            others[:] = 0.0
            for i in range(count):
                weight = gram[j, i]
                if weight > 0.0 and i != j:
                    for entry in range(first[i], first[i] + length[i]):
                        others[term[entry]] += weight * value[entry]
            at, square = first[j], 0.0
            for entry in range(b_start[j], b_start[j + 1]):
                left = (b_value[entry] - others[b_term[entry]]) / gram[j, j]
                if left > 0.0:
                    term[at], value[at] = b_term[entry], left
                    square += left * left
                    at += 1
            length[j] = at - first[j]
            if square > 1.0:
                scale = 1.0 / np.sqrt(square)
                for entry in range(first[j], at):
                    value[entry] *= scale
    kept = np.zeros(first[count], np.bool_)
    for j in range(count):
        kept[first[j] : first[j] + length[j]] = True
    return length, term[kept], value[kept]
