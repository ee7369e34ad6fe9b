// Inner products of a document with all rows of inverted lists.
#pragma once

#include "arrays.h"

namespace odl {

// Inverted lists: the list of term i has the entries bounds[2 i]..bounds[2 i + 1] - 1.
struct Lists {
    Span<const std::int64_t> bounds;
    Span<const std::uint32_t> rows;
    Span<const float> values;
    static constexpr auto members() { return std::tuple{&Lists::bounds, &Lists::rows, &Lists::values}; }
};

// Add the inner products of a document (entries first..last - 1) with all rows to `total`.
inline void add_products(std::int64_t first, std::int64_t last, Span<const std::uint32_t> terms,
                         Span<const double> weights, const Lists &lists, Span<float> total) {
    constexpr std::int64_t AHEAD = 6;  // number of entries by which the list of a term is prefetched
    auto [bounds, rows, values] = lists;
    std::int64_t n_lists = bounds.size() / 2;
    for (std::int64_t entry = first; entry < last; entry++) {
        std::int64_t later = terms[std::min(entry + 2 * AHEAD, last - 1)];
        if (later < n_lists) __builtin_prefetch(bounds.data + 2 * later, 0, 3);
        auto weight = static_cast<float>(weights[entry]);
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

constexpr std::int64_t SCALED = 64;  // products that are scaled at once

// Multiply `total` by `scale` into `products`; return the number of products that are at least `least`.
template <class Value, class Count>
Count scale_products(const Value *__restrict total, const Value *__restrict scale, std::int64_t size, Value least,
                     Value *__restrict products, Count above) {
    for (std::int64_t piece = 0; piece < size; piece++) {
        Value value = total[piece] * scale[piece];
        products[piece] = value;
        above += value >= least;
    }
    return above;
}

}  // namespace odl
