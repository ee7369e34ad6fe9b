// Edges of the simplex method for exact L1 codes: prices, choice of an edge, line search, and exchange of forms.
//
// A *form* is a residual r_i = p_i - a_i x or a code x_j. A vertex is a point at which n_atoms forms are fixed at zero.
// Column k of `edges` is the direction along which the k-th of these forms grows by one and the others remain zero.
#pragma once

#include "screening.h"

namespace odl::exact {

// Magnitudes that count as zero, for documents and atoms of order one.
constexpr double TOLERANCE = 1e-12;  // slopes
constexpr double ROUNDING = 1e-14;   // residuals
constexpr double NOISE = 1e-10;      // entries of directions

inline void set_gradient(int64_t rows, int64_t atoms, Work &work) {
    for (int64_t j = 0; j < atoms; j++) work.gradient[j] = work.cost[j];
    for (int64_t i = 0; i < rows; i++)
        if (!work.tight[i])
            for (int64_t entry = work.start[i]; entry < work.start[i + 1]; entry++)
                work.gradient[work.atom[entry]] -= work.side[i] * work.weight[entry];
}

inline void add_row(int64_t i, double factor, Work &work) {
    for (int64_t entry = work.start[i]; entry < work.start[i + 1]; entry++)
        work.gradient[work.atom[entry]] += factor * work.weight[entry];
}

inline void clear_edges(int64_t atoms, Work &work) {
    for (int64_t j = 0; j < atoms; j++) {
        for (int64_t k = 0; k < atoms; k++) work.edges[j * atoms + k] = 0.0;
        work.edges[j * atoms + j] = 1.0;
        work.form[j] = -1 - j;
        work.slot[j] = j;
    }
}

// Start at the vertex x = 0, where all codes are zero forms.
inline void set_origin(int64_t rows, int64_t atoms, Work &work) {
    for (int64_t i = 0; i < rows; i++) {
        work.residual[i] = work.target[i];
        work.side[i] = 1.0;
        work.tight[i] = false;
    }
    clear_edges(atoms, work);
    for (int64_t j = 0; j < atoms; j++) {
        work.code[j] = 0.0;
        work.active[j] = false;
    }
    set_gradient(rows, atoms, work);
}

// Fill `price` and, for more than 16 atoms, `length`: the steepest edge needs fewer pivots but takes time to choose.
inline void set_prices(int64_t atoms, Work &work) {
    bool many = atoms > 16;
    for (int64_t k = 0; k < atoms; k++) {
        bool tight_code = work.form[k] < 0;
        work.price[k] = tight_code ? work.gradient[-1 - work.form[k]] : 0.0;
        work.length[k] = many && !tight_code ? 0.0 : 1.0;
    }
    double *__restrict price = work.price.data, *__restrict length = work.length.data;
    for (int64_t j = 0; j < atoms; j++)
        if (work.active[j]) {
            double factor = work.gradient[j];
            const double *__restrict edges = work.edges.data + j * atoms;
            for (int64_t k = 0; k < atoms; k++) price[k] += factor * edges[k];
            if (many)
                for (int64_t k = 0; k < atoms; k++) length[k] += edges[k] * edges[k];
        }
}

struct Edge {
    int64_t number;
    double direction, slope;
};

// Return the edge of steepest descent; its number is -1 if no edge descends.
inline Edge choose_edge(int64_t atoms, const Work &work) {
    double best = 0.0;
    Edge edge{-1, 1.0, 0.0};
    for (int64_t k = 0; k < atoms; k++) {
        double slope = work.price[k], sign = 1.0;
        if (work.form[k] >= 0) {
            sign = slope < 0.0 ? 1.0 : -1.0;
            slope = 1.0 - std::fabs(slope);
        }
        if (slope < -TOLERANCE && slope * slope > best * work.length[k])
            best = slope * slope / work.length[k], edge = {k, sign, slope};
    }
    return edge;
}

struct Touched {
    int64_t rows, hits;
};

// Fill `move`, `speed` and `hit` for the edge; return the number of rows touched and that of finite hits.
//
// The hits are also listed in `when`, `turn`. Moves and speeds that are zero but for rounding become zero: as pivots they
// would ruin the edges.
inline Touched set_speed(int64_t atoms, int64_t edge, double direction, Work &work) {
    double largest = 0.0;
    for (int64_t j = 0; j < atoms; j++) largest = std::max(largest, std::fabs(work.edges[j * atoms + edge]));
    int64_t touched = 0, hits = 0;
    for (int64_t j = 0; j < atoms; j++) {
        double &grows = work.edges[j * atoms + edge];
        if (std::fabs(grows) <= NOISE * largest) grows = 0.0;
        double move = direction * grows;
        work.move[j] = move;
        if (move != 0.0)
            for (int64_t entry = work.column[j]; entry < work.column[j + 1]; entry++) {
                int64_t i = work.position_of[entry];
                if (!work.tight[i]) {
                    if (!work.seen[i]) {
                        work.seen[i] = true, work.speed[i] = 0.0, work.size[i] = 0.0;
                        work.touched[touched++] = i;
                    }
                    double part = work.weight_by_atom[entry] * move;
                    work.speed[i] += part;
                    work.size[i] += std::fabs(part);
                }
            }
    }
    for (int64_t position = 0; position < touched; position++) {
        int64_t i = work.touched[position];
        work.seen[i] = false, work.hit[i] = INFINITE;
        double speed = work.speed[i];
        if (std::fabs(speed) <= NOISE * work.size[i]) {
            work.speed[i] = 0.0;
        } else if (speed * work.side[i] > 0.0) {
            work.hit[i] = work.residual[i] / speed;
            work.when[hits] = work.hit[i];
            work.turn[hits] = 2.0 * std::fabs(speed);
            hits++;
        }
    }
    return {touched, hits};
}

// Return the smallest step at which slope + (the sum of `turn` up to this step) >= 0, infinite if there is none.
//
// This is a weighted selection, by three-way partitions around a middle value: O(count) on average.
inline double lowest_point(Span<double> when, Span<double> turn, int64_t count, double slope) {
    int64_t low = 0, high = count;
    while (low < high) {
        double a = when[low], b = when[(low + high) / 2], c = when[high - 1];
        double pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
        int64_t below = low, position = low, above = high;
        double left = 0.0, middle = 0.0;
        while (position < above) {
            double value = when[position], change = turn[position];
            if (value < pivot) {
                when[position] = when[below], turn[position] = turn[below];
                when[below] = value, turn[below] = change;
                left += change;
                below++, position++;
            } else if (value > pivot) {
                above--;
                when[position] = when[above], turn[position] = turn[above];
                when[above] = value, turn[above] = change;
            } else {
                middle += change;
                position++;
            }
        }
        if (slope + left >= 0.0 && below > low) {
            high = below;
        } else if (slope + left + middle >= 0.0) {
            return pivot;
        } else {
            slope += left + middle;
            low = above;
        }
    }
    return INFINITE;
}

struct Block {
    double step;
    int64_t form;
};

// Return the length of the step along the edge, and the form that becomes zero at its end and is fixed there.
//
// No code may become negative. Of forms that reach zero at the same step, the one that changes fastest is returned,
// because its pivot is the most stable. The step is infinite if rounding errors hide the bound.
inline Block blocking(int64_t atoms, Touched touched, double slope, Work &work) {
    double limit = INFINITE;
    for (int64_t j = 0; j < atoms; j++)
        if (work.active[j] && work.move[j] < 0.0) limit = std::min(limit, work.code[j] / -work.move[j]);
    double step = std::min(limit, lowest_point(work.when, work.turn, touched.hits, slope));
    if (step == INFINITE) return {step, 0};
    double margin = step * ROUNDING, fastest = 0.0;
    int64_t form = 0;
    for (int64_t j = 0; j < atoms; j++)
        if (work.active[j] && work.code[j] / -work.move[j] <= step + margin && -work.move[j] > fastest)
            fastest = -work.move[j], form = -1 - j;
    if (form < 0 && limit <= step) return {step, form};
    fastest = 0.0, form = 0;
    for (int64_t position = 0; position < touched.rows; position++) {
        int64_t i = work.touched[position];
        if (std::fabs(work.hit[i] - step) <= margin && std::fabs(work.speed[i]) > fastest)
            fastest = std::fabs(work.speed[i]), form = i;
    }
    return {step, form};
}

// Move codes and residuals by the step; the sides of residuals that changed sign flip.
inline void advance(int64_t atoms, int64_t touched, Block block, double slope, Work &work) {
    double step = block.step;
    for (int64_t j = 0; j < atoms; j++)
        if (work.move[j] != 0.0) {
            double change = step * work.move[j], value = work.code[j] + change;
            work.code[j] = value > ROUNDING * std::fabs(change) ? value : 0.0;
        }
    int64_t zeros = 0;
    for (int64_t position = 0; position < touched; position++) {
        int64_t i = work.touched[position];
        if (work.speed[i] != 0.0) {
            double change = step * work.speed[i], before = work.residual[i], value = before - change;
            if (std::fabs(value) <= ROUNDING * (work.target[i] + std::fabs(before) + std::fabs(change))) {
                value = 0.0;
                zeros++;
            }
            work.residual[i] = value;
            if (value * work.side[i] < 0.0) {
                slope += 2.0 * std::fabs(work.speed[i]);
                add_row(i, 2.0 * work.side[i], work);
                work.side[i] = -work.side[i];
            }
        }
    }
    if (zeros <= 1) return;
    for (int64_t position = 0; position < touched; position++) {
        int64_t i = work.touched[position];
        if (work.residual[i] == 0.0 && i != block.form && work.side[i] * work.speed[i] > 0.0) {
            double turn = 2.0 * std::fabs(work.speed[i]);
            if (slope + turn <= 0.0) {
                slope += turn;
                add_row(i, 2.0 * work.side[i], work);
                work.side[i] = -work.side[i];
            }
        }
    }
}

// Fill `image`: how much a form grows along each edge.
inline void see(int64_t form, int64_t atoms, Work &work) {
    if (form < 0) {
        int64_t row = (-1 - form) * atoms;
        for (int64_t k = 0; k < atoms; k++) work.image[k] = work.edges[row + k];
        return;
    }
    for (int64_t k = 0; k < atoms; k++) work.image[k] = 0.0;
    double *__restrict image = work.image.data;
    for (int64_t entry = work.start[form]; entry < work.start[form + 1]; entry++) {
        int64_t j = work.atom[entry];
        double factor = work.weight[entry];
        if (work.active[j]) {
            const double *__restrict edges = work.edges.data + j * atoms;
            for (int64_t k = 0; k < atoms; k++) image[k] += factor * edges[k];
        } else {
            work.image[work.slot[j]] += factor;
        }
    }
}

// Fix `form`, whose `image` is set, at zero instead of the form of `edge`: one elimination step on `edges`.
inline void exchange(int64_t edge, int64_t form, int64_t atoms, Work &work) {
    double pivot = work.image[edge];
    const double *__restrict image = work.image.data;
    for (int64_t j = 0; j < atoms; j++) {
        double *__restrict edges = work.edges.data + j * atoms;
        double factor = edges[edge];
        if (factor != 0.0) {
            factor /= pivot;
            for (int64_t k = 0; k < atoms; k++) edges[k] -= factor * image[k];
            edges[edge] = factor;
        }
    }
    work.form[edge] = form;
}

inline void let_go(const Edge &edge, Work &work) {
    int64_t form = work.form[edge.number];
    if (form < 0) {
        work.active[-1 - form] = true;
        return;
    }
    work.tight[form] = false;
    work.residual[form] = 0.0;
    work.side[form] = -edge.direction;
    add_row(form, edge.direction, work);
}

inline void hold(int64_t edge, int64_t form, int64_t atoms, Work &work) {
    see(form, atoms, work);
    exchange(edge, form, atoms, work);
    if (form >= 0) {
        work.tight[form] = true;
        work.residual[form] = 0.0;
        add_row(form, work.side[form], work);
        return;
    }
    int64_t j = -1 - form;
    work.active[j] = false;
    work.slot[j] = edge;
    work.code[j] = 0.0;
    for (int64_t k = 0; k < atoms; k++) work.edges[j * atoms + k] = 0.0;
    work.edges[j * atoms + edge] = 1.0;
}

}  // namespace odl::exact
