"""Compiled kernels of the dictionary step: NIPS 2012, Algorithm 3 (see `odl.dictionary.l1`, where arrays are checked).

Words used here: a *pair* is an entry (term, atom) of the dictionary that may be positive, a *cell* is an entry
(document, term) of P whose term has a pair with an atom of the document's code. Pairs are ordered by terms, then
atoms; cells by terms, then documents; `link` lists the pairs of a cell, `weight` the document's code of their atoms.
"""

import math

from odl.kernels.compiled import called, kernel


@kernel
def _pairs_of_term(documents, x_start, x_atom, x_value, total, inside, listed, place):
    """Sum the codes of the documents of one term by atom; number the atoms with 2 g_j > c_j in `place` from 1.

    The atoms met are listed in `listed`; returns how many were met.
    """
    met = 0
    for document in documents:
        for entry in range(x_start[document], x_start[document + 1]):
            atom = x_atom[entry]
            if place[atom] == 0:
                place[atom] = 1
                inside[atom] = 0.0
                listed[met] = atom
                met += 1
            inside[atom] += x_value[entry]
    for position in range(met):
        atom = listed[position]
        place[atom] = 1 if 2.0 * inside[atom] > total[atom] else -1
    return met


@called("l[] u[] d[] l[] u[] d[] d[] d[] l[] l[] l[] l[] d[] d[] l[] i[] d[] -> (l l l)")
@kernel
def reduce(
    p_start, p_document, p_value, x_start, x_atom, x_value, total,
    inside, listed, place, term_of, atom_of, slope, target, start, link, weight,
):  # fmt: skip
    """Fill in the reduced problem: pairs (term, atom, slope d), cells (p, start of links), links (pair, weight).

    Returns how many there are of each; there is room for more.

    ``d = c_j - g_ij`` is the code mass of atom j on documents without term i: what the pair costs there.
    """
    pair = cell = used = 0
    for term in range(len(p_start) - 1):
        documents = p_document[p_start[term] : p_start[term + 1]]
        met = _pairs_of_term(documents, x_start, x_atom, x_value, total, inside, listed, place)
        first = pair
        for position in range(met):
            atom = listed[position]
            if place[atom] > 0:  # in its place among those before: few atoms hold a term
                at = pair
                while at > first and atom_of[at - 1] > atom:
                    atom_of[at] = atom_of[at - 1]
                    at -= 1
                atom_of[at] = atom
                pair += 1
        for at in range(first, pair):
            atom = atom_of[at]
            term_of[at] = term
            slope[at] = total[atom] - inside[atom]
            place[atom] = at + 1
        if pair > first:
            for at in range(p_start[term], p_start[term + 1]):
                document, before = p_document[at], used
                for entry in range(x_start[document], x_start[document + 1]):
                    if place[x_atom[entry]] > 0:
                        link[used], weight[used] = place[x_atom[entry]] - 1, x_value[entry]
                        used += 1
                if used > before:
                    target[cell] = p_value[at]
                    cell += 1
                    start[cell] = used
        for position in range(met):
            place[listed[position]] = 0
    return pair, cell, used


@kernel
def _project(begin, members, values, steps):
    """Project each column on {a >= 0, sum(a) <= 1} in the metric 1/step: max(a - theta step, 0), by Newton steps."""
    for column in range(len(begin) - 1):
        theta = 0.0
        while True:
            total = speed = 0.0
            for at in range(begin[column], begin[column + 1]):
                value = values[members[at]] - theta * steps[members[at]]
                if value > 0.0:
                    total += value
                    speed += steps[members[at]]
            # Convex and falling in theta: Newton's method approaches from the left and ends at the breakpoint.
            if not total > 1.0 + 1e-14 or speed == 0.0:
                break
            further = theta + (total - 1.0) / speed
            if not further > theta:
                break
            theta = further
        for at in range(begin[column], begin[column + 1]):
            pair = members[at]
            value = values[pair] - theta * steps[pair]
            values[pair] = value if value > 0.0 else 0.0


@called("d[] l[] i[] d[] d[] l[] l[] d[] d[] d[] d d[] d[] d[] d[] d[,] d[] d[] -> l")
@kernel
def iterate(
    target, start, link, weight, slope, begin, members, steps, a, dual, constant, settings,
    fit, clipped, gradient, trace, best, bounds,
):  # fmt: skip
    """Run Algorithm 3 on the reduced problem from a; return the iterations.

    Filled: `trace`, the best a in `best`, its objective and the best bound in `bounds`.

    With u = rho/phi, fit = X A^T on the cells and C = clip(p - fit + u, -1/phi, 1/phi) (which is
    p - fit + u - E of the paper):

        A'  = Proj(A + kappa (C X - d/phi)),   u' = (1 - gamma) u + gamma (C + fit - fit')

    phi C is feasible for the dual, so each iteration has a lower bound too.
    """
    phi, gamma, tolerance, limit = settings[0], settings[1], settings[2], int(settings[3])
    cells, pairs = len(target), len(slope)
    lowest, bound, done = math.inf, -math.inf, 0
    for iteration in range(limit + 1):
        threshold = 1.0 / phi
        gradient[:] = 0.0
        loss = inner = 0.0
        for cell in range(cells):
            value = 0.0
            for at in range(start[cell], start[cell + 1]):
                value += weight[at] * a[link[at]]
            if iteration:
                dual[cell] = (1.0 - gamma) * dual[cell] + gamma * (clipped[cell] + fit[cell] - value)
            fit[cell] = value
            residual = target[cell] - value
            loss += abs(residual)
            pull = min(max(residual + dual[cell], -threshold), threshold)
            clipped[cell] = pull
            inner += pull * target[cell]
            for at in range(start[cell], start[cell + 1]):
                gradient[link[at]] += weight[at] * pull
        for pair in range(pairs):
            loss += slope[pair] * a[pair]
        value = phi * inner
        for column in range(len(begin) - 1):
            most = 0.0
            for at in range(begin[column], begin[column + 1]):
                most = max(most, phi * gradient[members[at]] - slope[members[at]])
            value -= most
        bound = max(bound, value)
        if loss < lowest:
            lowest = loss
            for pair in range(pairs):
                best[pair] = a[pair]
        trace[iteration, 0], trace[iteration, 1] = loss + constant, value + constant
        done = iteration
        if iteration == limit or lowest - bound <= tolerance * (lowest + constant):
            break
        for pair in range(pairs):
            a[pair] += steps[pair] * (gradient[pair] - slope[pair] * threshold)
        _project(begin, members, a, steps)
    bounds[0], bounds[1] = lowest, bound
    return done
