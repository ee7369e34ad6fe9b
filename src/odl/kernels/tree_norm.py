"""Compiled prox, value and dual norm of the penalty of a tree, sum_g ||v_g|| (see `odl.prox.treeprox`).

A node is an atom, and atoms are in preorder. So the group of node g (with all descendants) is g:end[g], and
reversed(range(nodes)) is children before parents.
"""

import math

import numpy as np

from odl.kernels.compiled import allocating, called, kernel


@kernel
def _prox_l2(v, layout, lam, norm, factor):
    """v <- prox of lam sum_g ||v_g||_2, in place: O(p).

    Bottom up, the group of node g has after the prox of its descendants the squared norm
    n_g = v_g^2 + sum_c (sqrt(n_c) - lam)_+^2; its own prox scales all of it by (1 - lam / sqrt(n_g))_+.
    Top down, an atom is scaled by the product of the factors of its node and all ancestors. A group of one atom needs
    neither root nor quotient, and most are; siblings are summed in a register, not in the place of their parent.
    """
    end, parent = layout
    for g in range(len(parent)):
        norm[g] = 0.0
    above, inside = -1, 0.0
    for g in range(len(parent) - 1, -1, -1):
        if parent[g] != above:  # always so where g itself is above
            if above >= 0:
                norm[above] += inside
            above, inside = parent[g], 0.0
        if end[g] - g == 1:
            rest = max(abs(v[g]) - lam, 0.0)
            v[g] = math.copysign(rest, v[g])
            factor[g] = 1.0
        else:
            length = math.sqrt(norm[g] + v[g] * v[g])
            rest = max(length - lam, 0.0)  # no branch: which groups end up zero is hard to predict
            factor[g] = rest / max(length, 1e-300)
        inside += rest * rest
    for g in range(len(parent)):
        if parent[g] >= 0:
            factor[g] *= factor[parent[g]]
        v[g] = v[g] * factor[g] + 0.0  # + 0.0 turns -0.0 into 0.0


@kernel
def _clip_level(v, first, stop, radius, work):
    """Return theta with sum_i (|v_i| - theta)_+ = radius, at most 0 where sum_i |v_i| <= radius.

    Michelot's method from below; what falls under the level is dropped from the list for good.
    """
    total, largest, count = 0.0, 0.0, 0
    for i in range(first, stop):  # no branches: which entries stay is hard to predict
        size = abs(v[i])
        work[count] = size
        count += size > 0.0
        total += size
        largest = max(largest, size)
    if total <= radius:
        return 0.0
    level = max(largest - radius, (total - radius) / count)
    while True:
        kept, total = 0, 0.0
        for k in range(count):
            size = work[k]
            work[kept] = size
            kept += size > level
            total += size if size > level else 0.0
        if kept == count or kept == 0:
            return level
        count = kept
        level = max(level, (total - radius) / count)


@kernel
def _prox_linf(v, layout, lam, work):
    """v <- prox of lam sum_g ||v_g||_inf, in place: O(p depth).

    Children before parents, v_g <- v_g - Proj(v_g) on the l1 ball of radius lam, which clips v_g at a level.
    """
    for g in range(len(layout.parent) - 1, -1, -1):
        stop = layout.end[g]
        level = abs(v[g]) - lam if stop - g == 1 else _clip_level(v, g, stop, lam, work)
        if level <= 0.0:
            for i in range(g, stop):
                v[i] = 0.0
        else:
            for i in range(g, stop):
                v[i] = min(max(v[i], -level), level)


@kernel
def prox(v, layout, lam, infinity, positive, work, factor):
    if positive:
        for i in range(len(v)):
            v[i] = max(v[i], 0.0)
    if lam == 0.0:
        return
    if infinity:
        _prox_linf(v, layout, lam, work)
    else:
        _prox_l2(v, layout, lam, work, factor)


@kernel
def tree_value(v, layout, infinity, norm):
    """Return sum_g ||v_g||."""
    parent, total = layout.parent, 0.0
    for g in range(len(parent)):
        norm[g] = 0.0
    for g in range(len(parent) - 1, -1, -1):
        inside = max(norm[g], abs(v[g])) if infinity else norm[g] + v[g] * v[g]
        if inside == 0.0:
            continue
        total += inside if infinity else math.sqrt(inside)
        if parent[g] >= 0:
            norm[parent[g]] = max(norm[parent[g]], inside) if infinity else norm[parent[g]] + inside
    return total


@called("d[,] Layout d[] ? ?")
@allocating
def prox_rows(V, layout, lam, infinity, positive):
    """Replace every row of V, atoms in the order of the layout, by its prox with its own lam."""
    work, factor = np.empty(V.shape[1]), np.empty(V.shape[1])
    for row in range(V.shape[0]):
        prox(V[row], layout, lam[row], infinity, positive, work, factor)


@called("d[,] Layout ? -> d[]")
@allocating
def value_rows(V, layout, infinity):
    """Return the penalty of every row of V, atoms in the order of the layout."""
    work, values = np.empty(V.shape[1]), np.empty(V.shape[0])
    for row in range(V.shape[0]):
        values[row] = tree_value(V[row], layout, infinity, work)
    return values


@kernel
def _excess(z, layout, tau, infinity, norm, slope):
    """Return what the prox of tau Omega leaves of z at the roots, and its derivative in tau.

    Zero at the roots means prox = 0, that is Omega's dual norm of z is at most tau. Per group the norm (dual to the
    penalty's) after the prox of its descendants is n_g = (own + sum_c n_c - tau)_+, sums of squares for l2.
    """
    parent = layout.parent
    for g in range(len(parent)):
        norm[g], slope[g] = 0.0, 0.0
    total, change = 0.0, 0.0
    for g in range(len(parent) - 1, -1, -1):
        inside = norm[g] + (abs(z[g]) if infinity else z[g] * z[g])
        if inside == 0.0:
            continue
        length, fall = inside, slope[g]
        if not infinity:
            length = math.sqrt(inside)
            fall /= length
        left, fall = length - tau, fall - 1.0
        if left > 0.0:
            if parent[g] < 0:
                total += left
                change += fall
            elif infinity:
                norm[parent[g]] += left
                slope[parent[g]] += fall
            else:
                norm[parent[g]] += left * left
                slope[parent[g]] += left * fall
    return total, change


@kernel
def dual_norm(z, layout, lam, infinity, norm, slope):
    """Return an upper bound, tight near lam, of max(lam, the dual norm of z): Newton from below, then a margin.

    The excess is convex and falls with tau, so Newton's steps stay below its zero; a step and a twentieth is
    accepted where the excess is zero. Infinite where no finite bound is found.
    """
    tau = lam
    excess, change = _excess(z, layout, tau, infinity, norm, slope)
    if excess == 0.0:
        return tau
    for _ in range(60):
        if not change < 0.0:
            return np.inf
        tau -= excess / change
        above = tau + 0.05 * (tau - lam) + 1e-15 * tau
        excess, change = _excess(z, layout, above, infinity, norm, slope)
        if excess == 0.0:
            return above
        excess, change = _excess(z, layout, tau, infinity, norm, slope)
    return np.inf
