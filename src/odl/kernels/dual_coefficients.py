"""Compiled dual variables of all agents of one process, held as coefficients of what they are made of.

All agents' dual variables of a document lie in the span of x and of the atoms that have answered (columns), except
where the projection clips. So agent k is held as coefficients ``duals.coefficients[k]`` of the columns on most terms
and as numbers ``duals.plain[k]`` on the few plain terms, which may be clipped (``span.place[i] >= 0``). Nothing is
approximated.
"""

from typing import NamedTuple

import numpy as np

from odl.kernels.compiled import allocating, kernel


class Span(NamedTuple):
    """What the agents' dual variables of one document are made of."""

    column: np.ndarray  # columns 1, 2, ...: position of the atom among the kept ones; column 0 is x
    number: np.ndarray  # kept atom -> its column, 0 if it has never answered
    gram: np.ndarray  # kept atoms x columns: products over the terms without a place
    own: np.ndarray  # [x^T x over those terms]
    bound: np.ndarray  # columns: limit on the coefficients under which no term without a place can be clipped
    place: np.ndarray  # terms: position among the plain terms, or -1


class Duals(NamedTuple):
    """A row of numbers for each agent."""

    coefficients: np.ndarray  # of the columns
    plain: np.ndarray  # values on the plain terms


@kernel
def fill_gram(c, document, atoms, kept, span, work):
    """Set the products of column c with all kept atoms over the terms without a place."""
    (terms, values), (term, weight, count) = document, atoms
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
def new_places(plains, columns, atoms, span, work):
    """Give a place to every term that coefficients up to the bounds could bring to the limit; return their number."""
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(atoms.count[j]):
            if span.place[atoms.term[j, entry]] < 0:
                work.dual[atoms.term[j, entry]] += span.bound[c] * abs(atoms.weight[j, entry])
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(atoms.count[j]):
            i = atoms.term[j, entry]
            if work.dual[i] > 1.0:
                span.place[i] = plains
                plains += 1
            work.dual[i] = 0.0
    return plains


@allocating
def plain_entries(kept, atoms, span, work):
    """Return the entries of the kept atoms on plain terms: starts, places, weights."""
    starts, sizes = np.zeros(kept + 1, np.int64), atoms.count[work.kept[:kept]]
    places, values = np.empty(sizes.sum(), np.int64), np.empty(sizes.sum())
    end = 0
    for position in range(kept):
        j = work.kept[position]
        for entry in range(atoms.count[j]):
            if span.place[atoms.term[j, entry]] >= 0:
                places[end] = span.place[atoms.term[j, entry]]
                values[end] = atoms.weight[j, entry]
                end += 1
        starts[position + 1] = end
    return starts, places[:end], values[:end]


@allocating
def widened(matrix, width):
    """Return the matrix with columns of zeros up to the width."""
    wider = np.zeros((matrix.shape[0], width))
    wider[:, : matrix.shape[1]] = matrix
    return wider


@kernel
def _set_plain(first, document, duals, x_plain, columns, atoms, span, work):
    """Write the values of the plain terms from `first` on, which so far follow from the coefficients."""
    (terms, values), (coefficients, plain) = document, duals
    for position in range(len(terms)):
        i = span.place[terms[position]]
        if i >= first:
            x_plain[i] = values[position]
            for k in range(len(coefficients)):
                plain[k, i] = coefficients[k, 0] * x_plain[i]
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(atoms.count[j]):
            place = span.place[atoms.term[j, entry]]
            if place >= first:
                for k in range(len(coefficients)):
                    plain[k, place] += coefficients[k, c] * atoms.weight[j, entry]


@kernel
def answer(position, k, duals, columns, entries, span):
    """Return w^T nu_k of a kept atom."""
    starts, places, values = entries
    total = 0.0
    for c in range(columns):
        total += duals.coefficients[k, c] * span.gram[position, c]
    for entry in range(starts[position], starts[position + 1]):
        total += duals.plain[k, places[entry]] * values[entry]
    return total


@kernel
def square(k, duals, old, columns, plains, span):
    """Return ||nu_k||^2 and ||nu_k - old nu_k||^2."""
    new, before = duals.coefficients, old.coefficients
    size, moved = 0.0, 0.0
    for c in range(columns):
        for d in range(columns):
            product = span.own[0] if c + d == 0 else span.gram[span.column[max(c, d)], min(c, d)]
            size += new[k, c] * new[k, d] * product
            moved += (new[k, c] - before[k, c]) * (new[k, d] - before[k, d]) * product
    for i in range(plains):
        size += duals.plain[k, i] ** 2
        moved += (duals.plain[k, i] - old.plain[k, i]) ** 2
    return max(size, 0.0), max(moved, 0.0)


@kernel
def raise_bounds(heard, columns, atoms, span, work):
    """Raise the bounds that a coefficient exceeds, well above it; tell whether there were any."""
    grown = False
    for c in range(1, columns):
        largest = 0.0
        for k in range(len(heard)):
            largest = max(largest, abs(heard[k, c]))
        if largest > span.bound[c]:
            j, heaviest = work.kept[span.column[c]], 0.0
            for entry in range(atoms.count[j]):
                heaviest = max(heaviest, abs(atoms.weight[j, entry]))
            span.bound[c] = max(3.0 * largest, 0.3 / heaviest)
            grown = True
    return grown


@kernel
def moved_little(duals, old, columns, plains, limit, span):
    """Tell whether all agents together moved by at most `limit` of their norm."""
    size, moved = 0.0, 0.0
    for k in range(len(duals.coefficients)):
        one, other = square(k, duals, old, columns, plains, span)
        size, moved = size + one, moved + other
    return moved <= limit**2 * size


@kernel
def touch(touched, columns, atoms, span, work):
    """List the terms of the atoms that have answered, beside those of the document; return their number."""
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(atoms.count[j]):
            i = atoms.term[j, entry]
            if work.inside[i] == 0:
                work.inside[i] = 1
                work.touched[touched] = i
                touched += 1
    return touched


@kernel
def agent_dual(k, document, touched, columns, duals, atoms, span, work):
    """Write nu_k to the touched terms of `work.dual`."""
    terms, values = document
    for position in range(touched):
        i = work.touched[position]
        work.dual[i] = duals.plain[k, span.place[i]] if span.place[i] >= 0 else 0.0
    for position in range(len(terms)):
        if span.place[terms[position]] < 0:
            work.dual[terms[position]] += duals.coefficients[k, 0] * values[position]
    for c in range(1, columns):
        j = work.kept[span.column[c]]
        for entry in range(atoms.count[j]):
            if span.place[atoms.term[j, entry]] < 0:
                work.dual[atoms.term[j, entry]] += duals.coefficients[k, c] * atoms.weight[j, entry]


@allocating
def more_places(first, plains, document, atoms, kept, columns, duals, heard, x_plain, span, work):
    """Write what terms from `first` on hold that have become plain; return all of it, wider where it must be."""
    if plains > duals.plain.shape[1]:
        duals = Duals(duals.coefficients, widened(duals.plain, plains + 64))
        heard = Duals(heard.coefficients, widened(heard.plain, plains + 64))
        x_plain = np.append(x_plain, np.zeros(plains + 64 - len(x_plain)))
    duals.plain[:, first:plains] = 0.0
    heard.plain[:, first:plains] = 0.0
    _set_plain(first, document, duals, x_plain, columns, atoms, span, work)
    _set_plain(first, document, heard, x_plain, columns, atoms, span, work)
    for c in range(columns):
        fill_gram(c, document, atoms, kept, span, work)
    return duals, heard, x_plain, plain_entries(kept, atoms, span, work)
