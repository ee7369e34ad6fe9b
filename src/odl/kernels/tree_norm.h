// Penalty of a tree, its prox and its dual norm, for one vector v:
//
//     Omega(v) = sum_g ||v_g||,     prox = argmin_u 1/2 ||u - v||_2^2 + lam Omega(u)
//
// Each node is an atom. The group of node g contains g and all its descendants. Atoms are in preorder, so the group is
// g..end[g] - 1, and a loop from the last atom to the first visits children before parents. Jenatton et al. 2010.
#pragma once

#include <cmath>
#include <limits>

#include "arrays.h"

namespace odl {

struct TreeLayout {
    Span<const std::int64_t> end;     // end of each node's group
    Span<const std::int64_t> parent;  // parent of each node, -1 for a root
    static constexpr auto members() { return std::tuple{&TreeLayout::end, &TreeLayout::parent}; }

    std::int64_t size() const { return parent.size(); }
};

// Work space, with two numbers per atom.
struct TreeWork {
    Span<double> norm, factor;
};

// v <- prox with the l2 norm, in place, in O(p).
//
// Bottom up: after the prox of its descendants, the group of node g has the squared norm
// n_g = v_g^2 + sum_c (sqrt(n_c) - lam)_+^2. Its own prox scales the group by (1 - lam / sqrt(n_g))_+.
// Top down: each atom is scaled by the product of the factors of its node and all ancestors. For speed, groups of one
// atom (most groups) avoid the square root and the division, and sums over siblings stay in a register.
inline void prox_l2(Span<double> v, const TreeLayout &layout, double lam, TreeWork work) {
    auto [end, parent] = layout;
    auto [norm, factor] = work;
    for (std::int64_t g = 0; g < parent.size(); g++) norm[g] = 0.0;
    std::int64_t above = -1;
    double inside = 0.0;
    for (std::int64_t g = parent.size() - 1; g >= 0; g--) {
        if (parent[g] != above) {  // always so if g itself is above
            if (above >= 0) norm[above] += inside;
            above = parent[g], inside = 0.0;
        }
        double rest;
        if (end[g] - g == 1) {
            rest = std::max(std::abs(v[g]) - lam, 0.0);
            v[g] = std::copysign(rest, v[g]);
            factor[g] = 1.0;
        } else {
            double length = std::sqrt(norm[g] + v[g] * v[g]);
            rest = std::max(length - lam, 0.0);  // no branch: which groups end up zero is hard to predict
            factor[g] = rest / std::max(length, 1e-300);
        }
        inside += rest * rest;
    }
    for (std::int64_t g = 0; g < parent.size(); g++) {
        if (parent[g] >= 0) factor[g] *= factor[parent[g]];
        v[g] = v[g] * factor[g] + 0.0;  // + 0.0 turns -0.0 into 0.0
    }
}

// Return theta with sum_i (|v_i| - theta)_+ = radius, at most 0 if sum_i |v_i| <= radius.
//
// Michelot's method: theta increases, and a size |v_i| below it is removed from the list.
inline double clip_level(Span<const double> v, double radius, Span<double> sizes) {
    double total = 0.0, largest = 0.0;
    std::int64_t count = 0;
    for (double value : v) {  // no branches: which entries stay is hard to predict
        double size = std::abs(value);
        sizes[count] = size;
        count += size > 0.0;
        total += size;
        largest = std::max(largest, size);
    }
    if (total <= radius) return 0.0;
    double level = std::max(largest - radius, (total - radius) / count);
    while (true) {
        std::int64_t above = 0;
        total = 0.0;
        for (std::int64_t k = 0; k < count; k++) {
            double size = sizes[k];
            sizes[above] = size;
            above += size > level;
            total += size > level ? size : 0.0;
        }
        if (above == count || above == 0) return level;
        count = above;
        level = std::max(level, (total - radius) / count);
    }
}

// v <- prox with the l-infinity norm, in place: O(p depth).
//
// Children before parents, v_g <- v_g - Proj(v_g) on the l1 ball of radius lam, which clips v_g at a level.
inline void prox_linf(Span<double> v, const TreeLayout &layout, double lam, Span<double> work) {
    for (std::int64_t g = layout.size() - 1; g >= 0; g--) {
        Span<double> group = v.part(g, layout.end[g]);
        double level = group.size() == 1 ? std::abs(v[g]) - lam : clip_level(group, lam, work);
        if (level <= 0.0) group.fill(0.0);
        else
            for (double &value : group) value = std::min(std::max(value, -level), level);
    }
}

// v <- prox, in place. With `positive`, the minimum is over u >= 0.
inline void tree_prox(Span<double> v, const TreeLayout &layout, double lam, bool infinity, bool positive,
                      TreeWork work) {
    if (positive)
        for (double &value : v) value = std::max(value, 0.0);
    if (lam == 0.0) return;
    if (infinity) prox_linf(v, layout, lam, work.norm);
    else prox_l2(v, layout, lam, work);
}

// Return Omega(v).
inline double tree_value(Span<const double> v, const TreeLayout &layout, bool infinity, Span<double> norm) {
    auto parent = layout.parent;
    double total = 0.0;
    for (std::int64_t g = 0; g < parent.size(); g++) norm[g] = 0.0;
    for (std::int64_t g = parent.size() - 1; g >= 0; g--) {
        double inside = infinity ? std::max(norm[g], std::abs(v[g])) : norm[g] + v[g] * v[g];
        if (inside == 0.0) continue;
        total += infinity ? inside : std::sqrt(inside);
        if (parent[g] >= 0) {
            double &above = norm[parent[g]];
            above = infinity ? std::max(above, inside) : above + inside;
        }
    }
    return total;
}

struct Excess {
    double value, derivative;
};

// Return the excess, the sum of the norms of the roots' groups after the prox of tau Omega, and its derivative in tau.
//
// If it is zero, the prox of z is 0: the dual norm of z is at most tau. The norm (dual to that of the penalty) of a
// group after the prox of its descendants c is n_g = (n(z_g) + sum_c n_c - tau)_+, with sums of squares for l2.
inline Excess excess_at(double tau, Span<const double> z, const TreeLayout &layout, bool infinity, TreeWork work) {
    auto parent = layout.parent;
    auto [norm, slope] = work;
    for (std::int64_t g = 0; g < parent.size(); g++) norm[g] = 0.0, slope[g] = 0.0;
    Excess excess{0.0, 0.0};
    for (std::int64_t g = parent.size() - 1; g >= 0; g--) {
        double inside = norm[g] + (infinity ? std::abs(z[g]) : z[g] * z[g]);
        if (inside == 0.0) continue;
        double length = inside, derivative = slope[g];
        if (!infinity) {
            length = std::sqrt(inside);
            derivative /= length;
        }
        double left = length - tau;
        derivative -= 1.0;
        if (!(left > 0.0)) continue;
        if (parent[g] < 0) {
            excess.value += left;
            excess.derivative += derivative;
        } else {
            norm[parent[g]] += infinity ? left : left * left;
            slope[parent[g]] += infinity ? derivative : left * derivative;
        }
    }
    return excess;
}

// Return an upper bound, tight near lam, of max(lam, the dual norm of z): Newton's method from below, then a margin.
//
// The excess is convex and decreasing in tau, so Newton's steps stay below its zero; a step and a twentieth is accepted
// if the excess is zero there. Infinite if no finite bound is found.
inline double tree_dual_norm(Span<const double> z, const TreeLayout &layout, double lam, bool infinity, TreeWork work) {
    double tau = lam;
    Excess excess = excess_at(tau, z, layout, infinity, work);
    if (excess.value == 0.0) return tau;
    for (int step = 0; step < 60; step++) {
        if (!(excess.derivative < 0.0)) break;
        tau -= excess.value / excess.derivative;
        double above = tau + 0.05 * (tau - lam) + 1e-15 * tau;
        if (excess_at(above, z, layout, infinity, work).value == 0.0) return above;
        excess = excess_at(tau, z, layout, infinity, work);
    }
    return std::numeric_limits<double>::infinity();
}

}  // namespace odl
