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

// Sparse rows; row i has the entries spans[i, 0]..spans[i, 1] - 1.
struct SpannedRows {
    Table<const std::int64_t> spans;
    Span<const std::uint32_t> terms;
    Span<const double> weights;
    static constexpr auto members() {
        return std::tuple{&SpannedRows::spans, &SpannedRows::terms, &SpannedRows::weights};
    }
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

}  // namespace odl
