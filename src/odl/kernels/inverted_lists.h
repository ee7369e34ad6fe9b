// Inner products of a document with all rows of inverted lists.
#pragma once

#include "arrays.h"

namespace odl {

constexpr double TINY = 5e-324;  // smallest positive number

// Inverted lists: the list of term i has the entries bounds[2 i]..bounds[2 i + 1] - 1.
struct Lists {
    Span<const std::int64_t> bounds;
    Span<const std::uint32_t> rows;
    Span<const double> values;
    static constexpr auto members() { return std::tuple{&Lists::bounds, &Lists::rows, &Lists::values}; }
};

// Add the inner products of a document (entries first..last - 1) with all rows to `total`.
inline void add_products(std::int64_t first, std::int64_t last, Span<const std::uint32_t> terms,
                         Span<const double> weights, const Lists &lists, Span<double> total) {
    constexpr std::int64_t AHEAD = 6;  // number of entries by which the list of a term is prefetched
    auto [bounds, rows, values] = lists;
    std::int64_t n_lists = bounds.size() / 2;
    for (std::int64_t entry = first; entry < last; entry++) {
        double weight = weights[entry];
        std::int64_t term = terms[entry], soon = terms[std::min(entry + AHEAD, last - 1)];
        if (soon < n_lists) {
            __builtin_prefetch(rows.data + bounds[2 * soon], 0, 3);
            __builtin_prefetch(values.data + bounds[2 * soon], 0, 3);
        }
        if (term < n_lists)
            for (std::int64_t place = bounds[2 * term]; place < bounds[2 * term + 1]; place++)
                total[rows[place]] += weight * values[place];
    }
}

// Multiply `total` by `scale` into `products`; return the number of products that are at least `least`.
inline std::int64_t scale_products(const double *__restrict total, const double *__restrict scale, std::int64_t size,
                                   double least, double *__restrict products) {
    std::int64_t above = 0;
    for (std::int64_t piece = 0; piece < size; piece++) {
        double value = total[piece] * scale[piece];
        products[piece] = value;
        above += value >= least;
    }
    return above;
}

}  // namespace odl
