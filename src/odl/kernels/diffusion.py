"""Compiled inference and learning on sparse documents and atoms.

Functions that call each other share this file and constants are arguments, as in `odl.kernels.exact`.

Atoms lie in the rows of two padded arrays with room to grow: entries of atom j are ``term[j, :count[j]]`` (in any
order) and ``weight[j, :count[j]]``. `eta` is 0 for the squared residual. `signed` tells whether codes and atoms
may be negative; where they may not, nu <= nu of the empty code entry by entry, so an atom with w^T nu <= gamma
there is silent and left out of everything: an exact screen.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

_compiled = njit(cache=True, nogil=True, error_model="numpy")
_plain = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)  # must not allocate


class Work(NamedTuple):
    """Arrays over terms and atoms reused from document to document."""

    rest: np.ndarray  # terms: residual x - W y, zero off the touched terms
    dual: np.ndarray  # terms: nu, zero off the touched terms
    inside: np.ndarray  # terms: 1 for a touched term
    mark: np.ndarray  # terms: scratch, zero between calls
    touched: np.ndarray  # terms where the document or an atom of its code has weight
    kept: np.ndarray  # atoms that pass the screen
    code: np.ndarray  # atoms: y


@_compiled
def _allocate(n_terms, n_atoms):
    return Work(
        np.zeros(n_terms),
        np.zeros(n_terms),
        np.zeros(n_terms, np.int8),
        np.zeros(n_terms, np.int8),
        np.empty(n_terms, np.int32),
        np.empty(n_atoms, np.int64),
        np.zeros(n_atoms),
    )


@_plain
def _clip(value, limit):
    return min(max(value, -limit), limit)


@_plain
def _shrink(value, threshold, signed):
    """Return soft(value, threshold), or its positive part."""
    if value > threshold:
        return value - threshold
    if signed and value < -threshold:
        return value + threshold
    return 0.0


@_plain
def _slope(rest, eta):
    """Return the derivative of the residual loss."""
    return rest if eta == 0.0 else _clip(rest / eta, 1.0)


@_plain
def _loss(rest, eta):
    """Return the residual loss of one term."""
    if eta == 0.0:
        return 0.5 * rest * rest
    size = abs(rest)
    return size * size / (2.0 * eta) if size < eta else size - 0.5 * eta


@_plain
def _agreement(term, weight, count, j, rest, eta):
    """Return w_j^T nu for nu = f'(rest)."""
    total = 0.0
    for entry in range(count[j]):
        total += weight[j, entry] * _slope(rest[term[j, entry]], eta)
    return total


@_plain
def _minimise(term, weight, count, j, start, size, rest, gamma, delta, eta, signed):
    """Return the y_j that minimises the objective with the other codes fixed.

    The derivative is piecewise linear: Newton's method on its pieces, kept inside a bracket.
    """
    if eta == 0.0:
        total = _agreement(term, weight, count, j, rest, eta) + size * start
        return _shrink(total, gamma, signed) / (size + delta)
    at, low, high = start, -math.inf, math.inf
    for _ in range(10):
        moved = at - start
        total, curve = 0.0, 0.0
        for entry in range(count[j]):
            value = weight[j, entry]
            left = rest[term[j, entry]] - value * moved
            if abs(left) < eta:
                curve += value * value
                total += value * left / eta
            else:
                total += math.copysign(value, value * left)
        curve /= eta
        target = _shrink(total + curve * at, gamma, signed) / (curve + delta)
        if abs(target - at) <= 1e-9 * abs(at):
            return target
        if target > at:
            low = at
        else:
            high = at
        at = target if low < target < high else 0.5 * (low + high)
    return at


@_plain
def _move(term, weight, count, j, step, work, touched):
    """Change y_j by `step` in the residual; return the number of touched terms."""
    for entry in range(count[j]):
        i = term[j, entry]
        work.rest[i] -= weight[j, entry] * step
        if work.inside[i] == 0:
            work.inside[i] = 1
            work.touched[touched] = i
            touched += 1
    return touched


@_plain
def _open(terms, values, work):
    """Set the residual of the empty code; return the number of touched terms."""
    for position in range(len(terms)):
        i = terms[position]
        work.rest[i] = values[position]
        work.inside[i] = 1
        work.touched[position] = i
    return len(terms)


@_plain
def _close(touched, work):
    """Return the work arrays to zero."""
    for position in range(touched):
        i = work.touched[position]
        work.rest[i] = 0.0
        work.dual[i] = 0.0
        work.inside[i] = 0


@_plain
def _screen(term, weight, count, gamma, eta, signed, scale, work):
    """List the atoms that can be active: all, or with nothing negative those with w^T nu > gamma at nu's bound.

    The bound is nu of the empty code, times `scale` where it is positive (1 unless only some agents see x).
    """
    kept = 0
    for j in range(len(count)):
        total = 0.0
        if not signed:
            for entry in range(count[j]):
                slope = _slope(work.rest[term[j, entry]], eta)
                if scale > 1.0:
                    slope = scale * max(slope, 0.0)
                total += weight[j, entry] * slope
        if count[j] and (signed or total > gamma):
            work.kept[kept] = j
            kept += 1
    return kept


@_plain
def _values(terms, values, term, weight, count, kept, touched, gamma, delta, eta, signed, work):
    """Return residual loss, penalty and dual value at the code; sets nu on the touched terms."""
    residual, dual = 0.0, 0.0
    for position in range(touched):
        i = work.touched[position]
        residual += _loss(work.rest[i], eta)
        work.dual[i] = _slope(work.rest[i], eta)
        dual -= 0.5 * (1.0 if eta == 0.0 else eta) * work.dual[i] ** 2
    for position in range(len(terms)):
        dual += work.dual[terms[position]] * values[position]
    penalty = 0.0
    for position in range(kept):
        j = work.kept[position]
        penalty += gamma * abs(work.code[j]) + 0.5 * delta * work.code[j] ** 2
        dual -= 0.5 / delta * _shrink(_agreement(term, weight, count, j, work.rest, eta), gamma, signed) ** 2
    return residual, penalty, dual


@_plain
def _sweep(term, weight, count, sizes, kept, touched, active, gamma, delta, eta, signed, work):
    """Minimise over every kept (or every active) atom in turn; return touched terms and the largest move."""
    largest = 0.0
    for position in range(kept):
        j = work.kept[position]
        old = work.code[j]
        if active and old == 0.0:
            continue
        new = _minimise(term, weight, count, j, old, sizes[j], work.rest, gamma, delta, eta, signed)
        if new != old:
            touched = _move(term, weight, count, j, new - old, work, touched)
            work.code[j] = new
            largest = max(largest, abs(new - old) * math.sqrt(sizes[j]))
    return touched, largest


@_plain
def _solve(terms, values, term, weight, count, sizes, model, tolerance, sweeps, work):
    """Code one document by coordinate descent until the duality gap is `tolerance` of the objective.

    Returns
    -------
    touched, kept : number of touched terms and of atoms that passed the screen
    residual, penalty, gap : parts of the objective and the duality gap
    """
    gamma, delta, eta, signed = model
    touched = _open(terms, values, work)
    kept = _screen(term, weight, count, gamma, eta, signed, 1.0, work)
    residual, penalty, dual = _values(
        terms, values, term, weight, count, kept, touched, gamma, delta, eta, signed, work
    )
    used = 0
    while residual + penalty - dual > tolerance * (residual + penalty) and used < sweeps:
        touched, largest = _sweep(term, weight, count, sizes, kept, touched, False, gamma, delta, eta, signed, work)
        used += 1
        begin = largest
        for _ in range(20):  # the active atoms alone
            if largest <= 0.01 * begin or used >= sweeps:
                break
            touched, largest = _sweep(term, weight, count, sizes, kept, touched, True, gamma, delta, eta, signed, work)
            used += 1
        residual, penalty, dual = _values(
            terms, values, term, weight, count, kept, touched, gamma, delta, eta, signed, work
        )
    return touched, kept, residual, penalty, max(residual + penalty - dual, 0.0)


@_compiled
def _squares(term, weight, count):
    sizes = np.zeros(len(count))
    for j in range(len(count)):
        for entry in range(count[j]):
            sizes[j] += weight[j, entry] ** 2
    return sizes


@_compiled
def code_documents(indptr, indices, data, atoms, n_terms, model, tolerance, sweeps):
    """Code documents one by one; return codes (dense), residual, penalty and gap."""
    term, weight, count = atoms
    n_documents, n_atoms = len(indptr) - 1, len(count)
    work = _allocate(n_terms, n_atoms)
    sizes = _squares(term, weight, count)
    codes, parts = np.zeros((n_documents, n_atoms)), np.zeros((3, n_documents))
    for document in range(n_documents):
        terms, values = indices[indptr[document] : indptr[document + 1]], data[indptr[document] : indptr[document + 1]]
        touched, kept, parts[0, document], parts[1, document], parts[2, document] = _solve(
            terms, values, term, weight, count, sizes, model, tolerance, sweeps, work
        )
        for position in range(kept):
            j = work.kept[position]
            codes[document, j] = work.code[j]
            work.code[j] = 0.0
        _close(touched, work)
    return codes, parts


@_plain
def _sweep_squared(answers, code, gram, names, kept, active, gamma, delta, signed):
    """Minimise over the kept (or the active) atoms in turn, all products known; return the largest move."""
    largest = 0.0
    for position in range(kept):
        j = names[position]
        old = code[j]
        if active and old == 0.0:
            continue
        new = _shrink(answers[j] + gram[j, j] * old, gamma, signed) / (gram[j, j] + delta)
        if new != old:
            for other in range(kept):
                answers[names[other]] -= gram[j, names[other]] * (new - old)
            code[j] = new
            largest = max(largest, abs(new - old) * math.sqrt(gram[j, j]))
    return largest


@_plain
def _values_squared(product, square, answers, code, names, kept, gamma, delta, signed):
    """Return residual loss, penalty and dual value; answers are w^T nu."""
    explained, left, penalty, silent = 0.0, 0.0, 0.0, 0.0
    for position in range(kept):
        j = names[position]
        explained += code[j] * product[j]
        left += code[j] * answers[j]
        penalty += gamma * abs(code[j]) + 0.5 * delta * code[j] ** 2
        silent += _shrink(answers[j], gamma, signed) ** 2
    residual = 0.5 * max(square - explained - left, 0.0)
    return residual, penalty, square - explained - residual - 0.5 / delta * silent


@_compiled
def code_squared(products, squares, gram, model, tolerance, sweeps):
    """Code documents for the squared residual from products alone: P A, ||p||^2 and A^T A (dense).

    The same iteration as in `code_documents`, whose cost does not depend on the lengths of the atoms.
    """
    gamma, delta, _, signed = model
    n_documents, n_atoms = products.shape
    codes, parts = np.zeros((n_documents, n_atoms)), np.zeros((3, n_documents))
    names = np.empty(n_atoms, np.int64)
    for document in range(n_documents):
        product, code = products[document], codes[document]
        answers, kept = product.copy(), 0
        for j in range(n_atoms):
            if gram[j, j] > 0.0 and (signed or product[j] > gamma):
                names[kept] = j
                kept += 1
        known = (product, squares[document], answers, code, names, kept, gamma, delta, signed)
        residual, penalty, dual = _values_squared(*known)
        used = 0
        while residual + penalty - dual > tolerance * (residual + penalty) and used < sweeps:
            largest = _sweep_squared(answers, code, gram, names, kept, False, gamma, delta, signed)
            used += 1
            begin = largest
            while largest > 0.01 * begin and used < sweeps:
                largest = _sweep_squared(answers, code, gram, names, kept, True, gamma, delta, signed)
                used += 1
            residual, penalty, dual = _values_squared(*known)
        parts[0, document], parts[1, document] = residual, penalty
        parts[2, document] = max(residual + penalty - dual, 0.0)
    return codes, parts


@_plain
def _update(term, weight, count, j, step, shrink, touched, signed, work):
    """W_j <- Proj(prox(W_j + step nu)) for nu = work.dual; needs room for the touched terms. Returns ||W_j||^2."""
    for entry in range(count[j]):
        i = term[j, entry]
        weight[j, entry] += step * work.dual[i]
        work.mark[i] = 1
    old = count[j]
    filled = old
    for position in range(touched):
        i = work.touched[position]
        if work.mark[i] == 0 and work.dual[i] != 0.0:
            term[j, filled] = i
            weight[j, filled] = step * work.dual[i]
            filled += 1
    for entry in range(old):
        work.mark[term[j, entry]] = 0
    kept, size = 0, 0.0
    for entry in range(filled):
        value = _shrink(weight[j, entry], shrink, signed)
        if value != 0.0:
            term[j, kept] = term[j, entry]
            weight[j, kept] = value
            size += value * value
            kept += 1
    count[j] = kept
    if size > 1.0:
        scale = 1.0 / math.sqrt(size)
        for entry in range(kept):
            weight[j, entry] *= scale
        size = 1.0
    return size


@_compiled
def _room(term, weight, needed):
    """Return the arrays with at least `needed` places for each atom."""
    if needed <= term.shape[1]:
        return term, weight
    places = max(needed, term.shape[1] + term.shape[1] // 2)
    wider_term = np.zeros((term.shape[0], places), term.dtype)
    wider_weight = np.zeros((term.shape[0], places))
    wider_term[:, : term.shape[1]] = term
    wider_weight[:, : term.shape[1]] = weight
    return wider_term, wider_weight


@_compiled
def learn_documents(indptr, indices, data, atoms, n_terms, model, tolerance, sweeps, step, beta):
    """Code and learn documents one by one; return the atoms and the sum of each atom's codes."""
    term, weight, count = atoms
    signed = model[3]
    n_documents, n_atoms = len(indptr) - 1, len(count)
    work = _allocate(n_terms, n_atoms)
    sizes = _squares(term, weight, count)
    use = np.zeros(n_atoms)
    for document in range(n_documents):
        terms, values = indices[indptr[document] : indptr[document + 1]], data[indptr[document] : indptr[document + 1]]
        touched, _kept, _, _, _ = _solve(terms, values, term, weight, count, sizes, model, tolerance, sweeps, work)
        for j in range(n_atoms):
            if work.code[j] != 0.0 or beta > 0.0:  # the prox shrinks silent atoms as well
                term, weight = _room(term, weight, count[j] + touched)
                sizes[j] = _update(term, weight, count, j, step * work.code[j], step * beta, touched, signed, work)
                use[j] += work.code[j]
                work.code[j] = 0.0
        _close(touched, work)
    return (term, weight, count), use


# Diffusion over a sparse network. All agents' dual variables of a document lie in the span of x and of the atoms
# that have answered (columns), except where the projection clips. So agent k is held as coefficients
# ``span[k]`` of the columns on most terms and as plain numbers ``plain[k]`` on the few terms that may be clipped
# (``place[i] >= 0``). Nothing is approximated.


class Span(NamedTuple):
    """What the agents' dual variables of one document are made of."""

    column: np.ndarray  # columns 1, 2, ...: position of the atom among the kept ones; column 0 is x
    number: np.ndarray  # kept atom -> its column, 0 if it has never answered
    gram: np.ndarray  # kept atoms x columns: products over the terms without a place
    own: np.ndarray  # [x^T x over those terms]
    bound: np.ndarray  # columns: limit on the coefficients under which no term without a place can be clipped
    place: np.ndarray  # terms: position among the plain terms, or -1


@_plain
def _mix(w_start, w_agent, w_value, sent, heard, width):
    """heard_k = sum_l a_lk sent_l."""
    for k in range(len(w_start) - 1):
        for i in range(width):
            heard[k, i] = 0.0
        for entry in range(w_start[k], w_start[k + 1]):
            value, other = w_value[entry], w_agent[entry]
            for i in range(width):
                heard[k, i] += value * sent[other, i]


@_plain
def _fill_gram(c, terms, values, term, weight, count, kept, span, work):
    """Set the products of column c with all kept atoms over the terms without a place."""
    if c == 0:
        for position in range(len(terms)):
            if span.place[terms[position]] < 0:
                work.dual[terms[position]] = values[position]
    else:
        j = work.kept[span.column[c]]
        for entry in range(count[j]):
            if span.place[term[j, entry]] < 0:
                work.dual[term[j, entry]] = weight[j, entry]
    for position in range(kept):
        j = work.kept[position]
        total = 0.0
        for entry in range(count[j]):
            total += weight[j, entry] * work.dual[term[j, entry]]
        span.gram[position, c] = total
    if c == 0:
        span.own[0] = 0.0
        for position in range(len(terms)):
            span.own[0] += work.dual[terms[position]] ** 2
            work.dual[terms[position]] = 0.0
    else:
        j = work.kept[span.column[c]]
        for entry in range(count[j]):
            work.dual[term[j, entry]] = 0.0


@_plain
def _new_places(plain, columns, term, weight, count, span, work):
    """Give a place to every term that coefficients up to the bounds could bring to the limit; return their number."""
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(count[j]):
            if span.place[term[j, entry]] < 0:
                work.dual[term[j, entry]] += span.bound[c] * abs(weight[j, entry])
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(count[j]):
            i = term[j, entry]
            if work.dual[i] > 1.0:
                span.place[i] = plain
                plain += 1
            work.dual[i] = 0.0
    return plain


@_compiled
def _plain_entries(kept, term, weight, count, span, work):
    """Return the entries of the kept atoms on plain terms: starts, places, weights."""
    start = np.zeros(kept + 1, np.int64)
    for position in range(kept):
        j = work.kept[position]
        found = 0
        for entry in range(count[j]):
            found += span.place[term[j, entry]] >= 0
        start[position + 1] = start[position] + found
    places, values = np.empty(start[kept], np.int64), np.empty(start[kept])
    found = 0
    for position in range(kept):
        j = work.kept[position]
        for entry in range(count[j]):
            if span.place[term[j, entry]] >= 0:
                places[found] = span.place[term[j, entry]]
                values[found] = weight[j, entry]
                found += 1
    return start, places, values


@_compiled
def _widened(matrix, width):
    wider = np.zeros((matrix.shape[0], width))
    wider[:, : matrix.shape[1]] = matrix
    return wider


@_plain
def _set_plain(first, coefficients, plain, columns, term, weight, count, span, work):
    """Write the values of the plain terms from `first` on, which so far follow from the coefficients."""
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(count[j]):
            place = span.place[term[j, entry]]
            if place >= first:
                for k in range(len(coefficients)):
                    plain[k, place] += coefficients[k, c] * weight[j, entry]


@_plain
def _answer(position, k, coefficients, plain, columns, entries, span):
    """Return w^T nu_k of a kept atom."""
    start, places, values = entries
    total = 0.0
    for c in range(columns):
        total += coefficients[k, c] * span.gram[position, c]
    for entry in range(start[position], start[position + 1]):
        total += plain[k, places[entry]] * values[entry]
    return total


@_plain
def _square(k, coefficients, old, columns, plain, plain_old, plains, span):
    """Return ||nu_k||^2 and ||nu_k - old nu_k||^2."""
    size, moved = 0.0, 0.0
    for c in range(columns):
        for d in range(columns):
            product = span.own[0] if c + d == 0 else span.gram[span.column[max(c, d)], min(c, d)]
            size += coefficients[k, c] * coefficients[k, d] * product
            moved += (coefficients[k, c] - old[k, c]) * (coefficients[k, d] - old[k, d]) * product
    for i in range(plains):
        size += plain[k, i] ** 2
        moved += (plain[k, i] - plain_old[k, i]) ** 2
    return max(size, 0.0), max(moved, 0.0)


@_plain
def _fade(fade, gain, shares, values, eta, coefficients, plain, columns, plains, sent, plain_sent):
    """sent_k = fade nu_k + gain [k sees x] x / |N_I|: the part of adapting that needs no atoms."""
    for k in range(len(shares)):
        for c in range(columns):
            sent[k, c] = fade * coefficients[k, c]
        for i in range(plains):
            plain_sent[k, i] = fade * plain[k, i]
        if eta == 0.0:
            sent[k, 0] += gain * shares[k]
        elif shares[k] > 0.0:
            for position in range(len(values)):
                plain_sent[k, position] += gain * shares[k] * values[position]


@_plain
def _subtract(
    terms, values, atoms, owner, model, mu, kept, columns, coefficients, plain, entries, sent, plain_sent, span, work
):
    """sent_k -= mu W_k T(W_k^T nu_k); an atom that answers for the first time gets a column. Returns their number."""
    term, weight, count = atoms
    gamma, delta, _, signed = model
    start, places, weights = entries
    for position in range(kept):
        k = owner[work.kept[position]]
        y = _shrink(_answer(position, k, coefficients, plain, columns, entries, span), gamma, signed) / delta
        if y == 0.0:
            continue
        if span.number[position] == 0:
            span.number[position] = columns
            span.column[columns] = position
            _fill_gram(columns, terms, values, term, weight, count, kept, span, work)
            columns += 1
        sent[k, span.number[position]] -= mu * y
        for entry in range(start[position], start[position + 1]):
            plain_sent[k, places[entry]] -= mu * y * weights[entry]
    return columns


@_plain
def _raise_bounds(heard, columns, weight, count, span, work):
    """Raise the bounds that a coefficient exceeds, well above it; tell whether there were any."""
    grown = False
    for c in range(1, columns):
        largest = 0.0
        for k in range(len(heard)):
            largest = max(largest, abs(heard[k, c]))
        if largest > span.bound[c]:
            j, heaviest = work.kept[span.column[c]], 0.0
            for entry in range(count[j]):
                heaviest = max(heaviest, abs(weight[j, entry]))
            span.bound[c] = max(3.0 * largest, 0.3 / heaviest)
            grown = True
    return grown


@_plain
def _moved_little(coefficients, old, columns, plain, plain_old, plains, limit, span):
    """Tell whether all agents together moved by at most `limit` of their norm."""
    size, moved = 0.0, 0.0
    for k in range(len(coefficients)):
        one, other = _square(k, coefficients, old, columns, plain, plain_old, plains, span)
        size, moved = size + one, moved + other
    return moved <= limit**2 * size


@_compiled
def _begin(terms, values, atoms, shares, model, place, work):
    """Screen the atoms and set every agent to the optimum without atoms, or to 0 if it does not see x."""
    term, weight, count = atoms
    gamma, _, eta, signed = model
    n_agents, seen = len(shares), 0
    for k in range(n_agents):
        seen += shares[k] > 0.0
    kept = _screen(term, weight, count, gamma, eta, signed, n_agents / seen, work)
    span = Span(
        np.zeros(kept + 1, np.int64),
        np.zeros(kept, np.int64),
        np.zeros((kept, kept + 1)),
        np.zeros(1),
        np.zeros(kept + 1),
        place,
    )
    plains = len(terms) if eta > 0.0 else 0
    coefficients, plain = np.zeros((n_agents, kept + 1)), np.zeros((n_agents, plains + 64))
    for position in range(plains):
        place[terms[position]] = position
    for k in range(n_agents):
        if shares[k] > 0.0:
            if eta == 0.0:
                coefficients[k, 0] = 1.0
            for position in range(plains):
                plain[k, position] = _slope(values[position], eta)
    _fill_gram(0, terms, values, term, weight, count, kept, span, work)
    return kept, plains, coefficients, plain, span


@_compiled
def _diffuse(terms, values, atoms, owner, mixing, shares, model, mu, iterations, tolerance, check, place, work):
    """Run the diffusion of one document; return the state, for `_read` and `_agent_dual`.

    `place` is an array over terms of -1, returned to that by `_forget`.
    """
    term, weight, count = atoms
    w_start, w_agent, w_value = mixing
    eta, n_agents = model[2], len(shares)
    touched = _open(terms, values, work)
    kept, plains, coefficients, plain, span = _begin(terms, values, atoms, shares, model, place, work)
    entries = _plain_entries(kept, term, weight, count, span, work)
    sent, heard = np.zeros_like(coefficients), np.zeros_like(coefficients)
    plain_sent, plain_heard = np.zeros_like(plain), np.zeros_like(plain)
    pull = mu * (1.0 if eta == 0.0 else eta) / n_agents
    columns, used = 1, 0
    while used < iterations:
        _fade(1.0 - pull, mu, shares, values, eta, coefficients, plain, columns, plains, sent, plain_sent)
        columns = _subtract(
            terms,
            values,
            atoms,
            owner,
            model,
            mu,
            kept,
            columns,
            coefficients,
            plain,
            entries,
            sent,
            plain_sent,
            span,
            work,
        )
        _mix(w_start, w_agent, w_value, sent, heard, columns)
        _mix(w_start, w_agent, w_value, plain_sent, plain_heard, plains)
        if eta > 0.0 and _raise_bounds(heard, columns, weight, count, span, work):
            first, plains = plains, _new_places(plains, columns, term, weight, count, span, work)
            if plains > plain.shape[1]:
                plain, plain_sent = _widened(plain, plains + 64), _widened(plain_sent, plains + 64)
                plain_heard = _widened(plain_heard, plains + 64)
            if plains > first:
                plain[:, first:plains] = 0.0
                plain_heard[:, first:plains] = 0.0
                _set_plain(first, coefficients, plain, columns, term, weight, count, span, work)
                _set_plain(first, heard, plain_heard, columns, term, weight, count, span, work)
                for c in range(columns):
                    _fill_gram(c, terms, values, term, weight, count, kept, span, work)
                entries = _plain_entries(kept, term, weight, count, span, work)
        if eta > 0.0:
            plain_heard[:, :plains] = np.minimum(np.maximum(plain_heard[:, :plains], -1.0), 1.0)
        coefficients, heard = heard, coefficients
        plain, plain_heard = plain_heard, plain
        used += 1
        if used % check == 0 and tolerance > 0.0:
            limit = tolerance * pull
            if _moved_little(coefficients, heard, columns, plain, plain_heard, plains, limit, span):
                break
    return touched, kept, columns, plains, coefficients, plain, entries, span, used


@_compiled
def _read(terms, values, owner, shares, model, kept, columns, plains, coefficients, plain, entries, span, costs, work):
    """Set the codes y_j = T(w_j^T nu_k) in the work and J_k(nu_k) in `costs`."""
    gamma, delta, eta, signed = model
    n_agents = len(shares)
    curvature = 1.0 if eta == 0.0 else eta
    for k in range(n_agents):
        size, _ = _square(k, coefficients, coefficients, columns, plain, plain, plains, span)
        costs[k] = 0.5 * curvature * size / n_agents
        if shares[k] > 0.0:
            seen = coefficients[k, 0] * span.own[0]
            for c in range(1, columns):
                seen += coefficients[k, c] * span.gram[span.column[c], 0]
            for position in range(len(terms)):
                if span.place[terms[position]] >= 0:
                    seen += plain[k, span.place[terms[position]]] * values[position]
            costs[k] -= shares[k] * seen
    for position in range(kept):
        j = work.kept[position]
        y = _shrink(_answer(position, owner[j], coefficients, plain, columns, entries, span), gamma, signed) / delta
        work.code[j] = y
        costs[owner[j]] += 0.5 * delta * y * y


@_plain
def _touch(touched, columns, term, weight, count, span, work):
    """List the terms of the atoms that have answered, beside those of the document; return their number."""
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(count[j]):
            i = term[j, entry]
            if work.inside[i] == 0:
                work.inside[i] = 1
                work.touched[touched] = i
                touched += 1
    return touched


@_plain
def _agent_dual(k, terms, values, touched, columns, coefficients, plain, term, weight, count, span, work):
    """Write nu_k to the touched terms of `work.dual`."""
    for position in range(touched):
        i = work.touched[position]
        work.dual[i] = plain[k, span.place[i]] if span.place[i] >= 0 else 0.0
    for position in range(len(terms)):
        if span.place[terms[position]] < 0:
            work.dual[terms[position]] += coefficients[k, 0] * values[position]
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(count[j]):
            if span.place[term[j, entry]] < 0:
                work.dual[term[j, entry]] += coefficients[k, c] * weight[j, entry]


@_plain
def _forget(touched, kept, place, work):
    """Return the work arrays to what they are between documents."""
    for position in range(touched):
        place[work.touched[position]] = -1
    for position in range(kept):
        work.code[work.kept[position]] = 0.0
    _close(touched, work)


@_compiled
def diffuse_documents(
    indptr, indices, data, atoms, n_terms, owner, mixing, shares, model, mu, iterations, tolerance, check
):
    """Run the diffusion of documents; return codes (dense), costs of the agents, iterations and touched terms."""
    n_documents, n_atoms = len(indptr) - 1, len(atoms[2])
    work = _allocate(n_terms, n_atoms)
    place = np.full(n_terms, -1, np.int64)
    codes, costs = np.zeros((n_documents, n_atoms)), np.zeros((n_documents, len(shares)))
    used, reached = np.zeros(n_documents, np.int64), np.zeros(n_documents, np.int64)
    for document in range(n_documents):
        terms, values = indices[indptr[document] : indptr[document + 1]], data[indptr[document] : indptr[document + 1]]
        touched, kept, columns, plains, coefficients, plain, entries, span, used[document] = _diffuse(
            terms, values, atoms, owner, mixing, shares, model, mu, iterations, tolerance, check, place, work
        )
        _read(
            terms,
            values,
            owner,
            shares,
            model,
            kept,
            columns,
            plains,
            coefficients,
            plain,
            entries,
            span,
            costs[document],
            work,
        )
        touched = _touch(touched, columns, atoms[0], atoms[1], atoms[2], span, work)
        reached[document] = touched
        for position in range(kept):
            codes[document, work.kept[position]] = work.code[work.kept[position]]
        _forget(touched, kept, place, work)
    return codes, costs, used, reached


@_compiled
def diffuse_and_learn(
    indptr, indices, data, atoms, n_terms, owner, mixing, shares, model, mu, iterations, tolerance, check, step, beta
):
    """Run the diffusion of documents one by one and let every agent learn from its own nu_k and y_k.

    Returns
    -------
    atoms, use, iterations : as after `learn_documents`, and the iterations in all
    """
    term, weight, count = atoms
    signed = model[3]
    n_documents, n_atoms = len(indptr) - 1, len(count)
    work = _allocate(n_terms, n_atoms)
    place, costs = np.full(n_terms, -1, np.int64), np.zeros(len(shares))
    use, total = np.zeros(n_atoms), 0
    for document in range(n_documents):
        terms, values = indices[indptr[document] : indptr[document + 1]], data[indptr[document] : indptr[document + 1]]
        atoms = (term, weight, count)
        touched, kept, columns, plains, coefficients, plain, entries, span, used = _diffuse(
            terms, values, atoms, owner, mixing, shares, model, mu, iterations, tolerance, check, place, work
        )
        total += used
        _read(
            terms, values, owner, shares, model, kept, columns, plains, coefficients, plain, entries, span, costs, work
        )
        touched = _touch(touched, columns, term, weight, count, span, work)
        # The dual variables are made of the atoms: all are read before any atom moves.
        duals = np.zeros((kept, touched))
        for position in range(kept):
            j = work.kept[position]
            if work.code[j] != 0.0:
                _agent_dual(
                    owner[j], terms, values, touched, columns, coefficients, plain, term, weight, count, span, work
                )
                for at in range(touched):
                    duals[position, at] = work.dual[work.touched[at]]
        for position in range(kept):
            j = work.kept[position]
            if work.code[j] != 0.0:
                for at in range(touched):
                    work.dual[work.touched[at]] = duals[position, at]
                term, weight = _room(term, weight, count[j] + touched)
                _update(term, weight, count, j, step * work.code[j], step * beta, touched, signed, work)
                use[j] += work.code[j]
        if beta > 0.0:  # the prox shrinks silent atoms as well
            for j in range(n_atoms):
                if work.code[j] == 0.0:
                    _update(term, weight, count, j, 0.0, step * beta, 0, signed, work)
        _forget(touched, kept, place, work)
    return (term, weight, count), use, total
