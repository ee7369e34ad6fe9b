"""Compiled steps of the agents of one rank, one atom each, squared residual: dual variables as a few coefficients.

Every dual variable of a document is a combination of *columns*: x, and for each agent that has answered its psi_k at
the iteration when it did so first (once more when its code has grown `REFRESH` times, so that nothing cancels). Such a
column is sent as it is, to neighbours whose agents need it and once a document; after that psi_k is a few coefficients.
An agent adds -mu y w = y/y' (column - base), where y' and `base` are its code and the rest of psi_k in that column.

Sums run in an order that does not depend on who owns an agent: over columns by their keys (0 for x, else by iteration,
then agent), over entries as their agent wrote them. So results are the same bytes for every number of ranks.
`odl.kernels.rank_rounds` lets the ranks take turns.
"""

from odl.kernels.compiled import inlined, kernel
from odl.kernels.padded import soft
from odl.kernels.ranks import screen

REFRESH = 16.0
TOLD, HEARD = 1, 2  # of `Columns.known`


@kernel
def _fill(b, c, columns):
    for entry in range(columns.first[b, c], columns.first[b, c] + columns.length[b, c]):
        columns.dense[columns.term[entry]] = columns.value[entry]


@kernel
def _clear(b, c, columns):
    for entry in range(columns.first[b, c], columns.first[b, c] + columns.length[b, c]):
        columns.dense[columns.term[entry]] = 0.0


@inlined
def _dot(term, value, dense):
    """Return sum value dense[term] as four sums side by side: one alone waits for each addition."""
    first = second = third = fourth = 0.0
    whole = len(term) - len(term) % 4
    for entry in range(0, whole, 4):
        first += value[entry] * dense[term[entry]]
        second += value[entry + 1] * dense[term[entry + 1]]
        third += value[entry + 2] * dense[term[entry + 2]]
        fourth += value[entry + 3] * dense[term[entry + 3]]
    for entry in range(whole, len(term)):
        first += value[entry] * dense[term[entry]]
    return (first + second) + (third + fourth)


@inlined
def _product(b, c, columns):
    """Return the product of a column with the dense one, summed over the entries of the column."""
    entries = slice(columns.first[b, c], columns.first[b, c] + columns.length[b, c])
    return _dot(columns.term[entries], columns.value[entries], columns.dense)


@kernel
def append(b, key, length, atoms, columns):
    """Make the next `length` entries a column: its place in the order, products with atoms and columns."""
    term, weight, count = atoms
    c = columns.n[b]
    columns.n[b] += 1
    columns.key[b, c], columns.first[b, c], columns.length[b, c] = key, columns.filled[0], length
    columns.filled[0] += length
    at = c
    while at > 0 and columns.key[b, columns.order[b, at - 1]] > key:
        columns.order[b, at] = columns.order[b, at - 1]
        at -= 1
    columns.order[b, at] = c
    _fill(b, c, columns)
    for position in range(columns.n_kept[b]):
        j = columns.kept[b, position]
        columns.gram[b, position, c] = _dot(term[j, : count[j]], weight[j, : count[j]], columns.dense)
    for d in range(c + 1):
        if columns.key[b, d] <= key:
            columns.products[b, c, d] = columns.products[b, d, c] = _product(b, d, columns)
    _clear(b, c, columns)
    for d in range(c):
        if columns.key[b, d] > key:
            _fill(b, d, columns)
            columns.products[b, c, d] = columns.products[b, d, c] = _product(b, c, columns)
            _clear(b, d, columns)
    return c


@kernel
def open_document(b, terms, values, atoms, rank, model, columns):
    """Forget the document before; list the atoms that may answer; nu_k = x where x is seen, else 0."""
    n = columns.n[b]
    columns.coefficients[b, :, :n] = 0.0
    columns.base[b, :, :n] = 0.0
    columns.sent[b, :, :n] = 0.0
    columns.known[b, :, :n] = 0
    columns.column[b] = -1
    columns.n_told[b] = 0
    columns.n_heard[b] = 0
    columns.n[b] = 0
    for place in range(len(terms)):
        columns.where[terms[place]] = place
    seen = (values, atoms, rank.own, rank.shares, model, rank.scale)
    columns.n_kept[b] = screen(*seen, columns.where, columns.kept[b])
    for place in range(len(terms)):
        columns.where[terms[place]] = -1
        columns.term[columns.filled[0] + place] = terms[place]
        columns.value[columns.filled[0] + place] = values[place]
    if rank.sees:
        append(b, 0, len(terms), atoms, columns)
        for k in range(len(rank.rows)):
            if rank.shares[k] > 0.0:
                columns.coefficients[b, k, 0] = 1.0


@inlined
def answer(b, atoms, rank, model, columns):
    """Set y of the kept atoms; return how many columns they need, and their entries at most."""
    gamma, delta, _, signed = model
    new, entries = 0, 0
    for position in range(columns.n_kept[b]):
        k, total = rank.own[columns.kept[b, position]], 0.0
        for index in range(columns.n[b]):
            c = columns.order[b, index]
            total += columns.coefficients[b, k, c] * columns.gram[b, position, c]
        y = soft(total, gamma, signed) / delta
        columns.answers[b, position] = y
        if y != 0.0 and (columns.column[b, k] < 0 or abs(y) > REFRESH * abs(columns.reference[b, k])):
            new += 1
            entries += atoms[2][columns.kept[b, position]]
    if new:
        held = 0
        for c in range(columns.n[b]):
            held += columns.length[b, c]
        entries += new * held
    return new, entries


@inlined
def adapt(b, iteration, atoms, rank, columns):
    """psi_k = nu_k - mu grad J_k(nu_k) for the own agents, after `answer`, with room for what it needs."""
    n, fade = columns.n[b], 1.0 - rank.mu / rank.n_agents
    for k in range(len(rank.rows)):
        row = rank.rows[k]
        for c in range(n):
            columns.sent[b, row, c] = fade * columns.coefficients[b, k, c]
        if rank.shares[k] > 0.0:
            columns.sent[b, row, 0] += rank.mu * rank.shares[k]
    for position in range(columns.n_kept[b]):
        y, k = columns.answers[b, position], rank.own[columns.kept[b, position]]
        if y == 0.0:
            continue
        row = rank.rows[k]
        if columns.column[b, k] < 0 or abs(y) > REFRESH * abs(columns.reference[b, k]):
            _take(b, columns.kept[b, position], k, row, -rank.mu * y, iteration, atoms, rank, columns)
            columns.reference[b, k] = y
        else:
            ratio = y / columns.reference[b, k]
            for c in range(n):
                columns.sent[b, row, c] -= ratio * columns.base[b, k, c]
            columns.sent[b, row, columns.column[b, k]] += ratio


@kernel
def _take(b, j, k, row, step, iteration, atoms, rank, columns):
    """Make psi_k a column: its combination of columns and step w_j."""
    term, weight, count = atoms
    begin, listed, n = columns.filled[0], 0, columns.n[b]
    for index in range(n):
        c = columns.order[b, index]
        coefficient = columns.sent[b, row, c]
        if coefficient == 0.0:
            continue
        for entry in range(columns.first[b, c], columns.first[b, c] + columns.length[b, c]):
            listed = _add(columns.term[entry], coefficient * columns.value[entry], begin, listed, columns)
    for entry in range(count[j]):
        listed = _add(term[j, entry], step * weight[j, entry], begin, listed, columns)
    for entry in range(begin, begin + listed):
        columns.where[columns.term[entry]] = -1
    for c in range(n):
        columns.base[b, k, c] = columns.sent[b, row, c]
        columns.sent[b, row, c] = 0.0
    c = append(b, 1 + iteration * rank.n_agents + rank.first + k, listed, atoms, columns)
    columns.column[b, k] = c
    columns.sent[b, row, c] = 1.0


@inlined
def _add(i, value, begin, listed, columns):
    if columns.where[i] < 0:
        columns.where[i] = listed
        columns.term[begin + listed] = i
        columns.value[begin + listed] = 0.0
        listed += 1
    columns.value[begin + columns.where[i]] += value
    return listed


@inlined
def combine(b, keep, rank, columns):
    """nu_k = sum_l a_lk psi_l, summed by ascending l; with `keep` the nu_k before are left in `old`."""
    n = columns.n[b]
    for k in range(len(rank.rows)):
        if keep:
            for c in range(n):
                columns.old[b, k, c] = columns.coefficients[b, k, c]
        for c in range(n):
            columns.coefficients[b, k, c] = 0.0
        for entry in range(rank.w_start[k], rank.w_start[k + 1]):
            value, row = rank.w_value[entry], rank.w_row[entry]
            for c in range(n):
                columns.coefficients[b, k, c] += value * columns.sent[b, row, c]


@inlined
def sizes(b, k, columns):
    """Return ||nu_k||^2 and ||nu_k - old nu_k||^2."""
    size, moved = 0.0, 0.0
    for one in range(columns.n[b]):
        c = columns.order[b, one]
        value = columns.coefficients[b, k, c]
        change = value - columns.old[b, k, c]
        if value == 0.0 and change == 0.0:
            continue
        of_size, of_moved = 0.0, 0.0
        for other in range(columns.n[b]):
            d = columns.order[b, other]
            product = columns.products[b, c, d]
            of_size += columns.coefficients[b, k, d] * product
            of_moved += (columns.coefficients[b, k, d] - columns.old[b, k, d]) * product
        size += value * of_size
        moved += change * of_moved
    return max(size, 0.0), max(moved, 0.0)


@kernel
def read(b, document, atoms, rank, model, columns, codes, costs, norms):
    """Set the codes y_k = T(w_k^T nu_k), J_k(nu_k) and ||nu_k||^2 of the own agents."""
    answer(b, atoms, rank, model, columns)
    for k in range(len(rank.rows)):
        norms[k, document], _ = sizes(b, k, columns)
        costs[k, document] = 0.5 * norms[k, document] / rank.n_agents
        if rank.shares[k] > 0.0:
            seen = 0.0
            for index in range(columns.n[b]):
                c = columns.order[b, index]
                seen += columns.coefficients[b, k, c] * columns.products[b, 0, c]
            costs[k, document] -= rank.shares[k] * seen
    for position in range(columns.n_kept[b]):
        y, j = columns.answers[b, position], columns.kept[b, position]
        codes[document, j] = y
        costs[rank.own[j], document] += 0.5 * model[1] * y * y


@kernel
def plain(b, codes, rank, columns, terms, nu):
    """Write nu_k of the agents that answered, over the terms that they touch; return how many these are."""
    listed = 0
    for j in range(len(codes)):
        if codes[j] != 0.0:
            k = rank.own[j]
            for index in range(columns.n[b]):
                c = columns.order[b, index]
                coefficient = columns.coefficients[b, k, c]
                if coefficient != 0.0:
                    for entry in range(columns.first[b, c], columns.first[b, c] + columns.length[b, c]):
                        i = columns.term[entry]
                        if columns.where[i] < 0:
                            columns.where[i] = listed
                            terms[listed] = i
                            nu[:, listed] = 0.0
                            listed += 1
                        nu[k, columns.where[i]] += coefficient * columns.value[entry]
    for place in range(listed):
        columns.where[terms[place]] = -1
    return listed
