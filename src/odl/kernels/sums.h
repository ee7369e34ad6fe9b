// Sums over rows, used by several kernels.
#pragma once

#include "arrays.h"

namespace odl {

// row += factor * other; the two must not overlap.
inline void add_multiple(Span<double> row, double factor, Span<const double> other) {
    double *__restrict to = row.data;
    const double *__restrict from = other.data;
    check_place(row.size(), other.size() + 1);
    for (std::int64_t i = 0; i < row.size(); i++) to[i] += factor * from[i];
}

inline double inner_product(Span<const double> one, Span<const double> other) {
    double total = 0.0;
    for (std::int64_t i = 0; i < one.size(); i++) total += one[i] * other[i];
    return total;
}

}  // namespace odl
