"""Compiled dual variables of all agents of one process, held as coefficients of what they are made of.

All agents' dual variables of a document lie in the span of x and of the atoms that have answered (columns), except
where the projection clips. So agent k is held as coefficients ``coefficients[k]`` of the columns on most terms and as
plain numbers ``plain[k]`` on the few terms that may be clipped (``place[i] >= 0``). Nothing is approximated.
"""

from typing import NamedTuple

import numpy as np

from odl.kernels.agent_losses import clear
from odl.kernels.compiled import allocating, kernel


class Span(NamedTuple):
    """What the agents' dual variables of one document are made of."""

    column: np.ndarray  # columns 1, 2, ...: position of the atom among the kept ones; column 0 is x
    number: np.ndarray  # kept atom -> its column, 0 if it has never answered
    gram: np.ndarray  # kept atoms x columns: products over the terms without a place
    own: np.ndarray  # [x^T x over those terms]
    bound: np.ndarray  # columns: limit on the coefficients under which no term without a place can be clipped
    place: np.ndarray  # terms: position among the plain terms, or -1


@kernel
def fill_gram(c, terms, values, term, weight, count, kept, span, work):
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


@kernel
def new_places(plain, columns, term, weight, count, span, work):
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


@allocating
def plain_entries(kept, term, weight, count, span, work):
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


@allocating
def widened(matrix, width):
    """Return the matrix with columns of zeros up to the width."""
    wider = np.zeros((matrix.shape[0], width))
    wider[:, : matrix.shape[1]] = matrix
    return wider


@kernel
def set_plain(first, coefficients, plain, columns, term, weight, count, span, work):
    """Write the values of the plain terms from `first` on, which so far follow from the coefficients."""
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(count[j]):
            place = span.place[term[j, entry]]
            if place >= first:
                for k in range(len(coefficients)):
                    plain[k, place] += coefficients[k, c] * weight[j, entry]


@kernel
def answer(position, k, coefficients, plain, columns, entries, span):
    """Return w^T nu_k of a kept atom."""
    start, places, values = entries
    total = 0.0
    for c in range(columns):
        total += coefficients[k, c] * span.gram[position, c]
    for entry in range(start[position], start[position + 1]):
        total += plain[k, places[entry]] * values[entry]
    return total


@kernel
def square(k, coefficients, old, columns, plain, plain_old, plains, span):
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


@kernel
def raise_bounds(heard, columns, weight, count, span, work):
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


@kernel
def moved_little(coefficients, old, columns, plain, plain_old, plains, limit, span):
    """Tell whether all agents together moved by at most `limit` of their norm."""
    size, moved = 0.0, 0.0
    for k in range(len(coefficients)):
        one, other = square(k, coefficients, old, columns, plain, plain_old, plains, span)
        size, moved = size + one, moved + other
    return moved <= limit**2 * size


@kernel
def touch(touched, columns, term, weight, count, span, work):
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


@kernel
def agent_dual(k, terms, values, touched, columns, coefficients, plain, term, weight, count, span, work):
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


@kernel
def forget(touched, kept, place, work):
    """Return the work arrays to what they are between documents."""
    for position in range(touched):
        place[work.touched[position]] = -1
    for position in range(kept):
        work.code[work.kept[position]] = 0.0
    clear(touched, work)


@allocating
def more_places(
    first, plains, terms, values, atoms, kept, columns, coefficients, heard, plain, plain_heard, given, span, work
):
    """Write what terms from `first` on hold that have become plain; return the arrays, wider where they must be."""
    term, weight, count = atoms
    if plains > plain.shape[1]:
        plain, plain_heard = widened(plain, plains + 64), widened(plain_heard, plains + 64)
        given = np.append(given, np.zeros(plains + 64 - len(given)))
    plain[:, first:plains] = 0.0
    plain_heard[:, first:plains] = 0.0
    for position in range(len(terms)):
        i = span.place[terms[position]]
        if i >= first:
            given[i] = values[position]
            plain[:, i] = coefficients[:, 0] * given[i]
            plain_heard[:, i] = heard[:, 0] * given[i]
    set_plain(first, coefficients, plain, columns, term, weight, count, span, work)
    set_plain(first, heard, plain_heard, columns, term, weight, count, span, work)
    for c in range(columns):
        fill_gram(c, terms, values, term, weight, count, kept, span, work)
    return plain, plain_heard, given, plain_entries(kept, term, weight, count, span, work)
