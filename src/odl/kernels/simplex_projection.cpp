// Projection of columns on {a >= 0, sum(a) <= 1}: Proj of NIPS 2012, Algorithm 3.
//
//     min_a ||a - v||_2^2  subject to  a >= 0, sum(a) <= 1,      a = max(v - theta, 0)
#include "bindings.h"

namespace odl {

// Move the value at `place` down in a min-heap until the heap is in order.
static void sink(Span<double> heap, std::int64_t place, std::int64_t length) {
    double value = heap[place];
    while (2 * place + 1 < length) {
        std::int64_t child = 2 * place + 1;
        if (child + 1 < length && heap[child + 1] < heap[child]) child++;
        if (!(heap[child] < value)) break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = value;
}

// Project on {a >= 0, sum(a) = 1}. Distances from the largest value are used instead of values, to limit rounding.
static void project_on_simplex(Span<double> column, Span<double> distance, double largest, double epsilon) {
    std::int64_t length = 0, count = 0;
    for (double value : column)
        if (value > largest - 1.0) distance[length++] = largest - value;
    for (std::int64_t place = length / 2 - 1; place >= 0; place--) sink(distance, place, length);
    double total = 0.0, theta = 0.0;
    while (length > 0) {
        total += distance[0];
        count++;
        double candidate = (1.0 + total) / count;
        length--;
        distance[0] = distance[length];
        sink(distance, 0, length);
        if (length == 0 || distance[0] >= candidate) {
            theta = candidate;
            break;
        }
    }
    for (double &value : column) value = std::max(theta - (largest - value), 0.0);
    while (true) {
        total = 0.0, count = 0;
        std::int64_t top = 0;
        for (std::int64_t i = 0; i < column.size(); i++) {
            total += column[i];
            count += column[i] > 0.0;
            if (column[i] > column[top]) top = i;
        }
        if (total <= 1.0 + count * epsilon) return;
        column[top] -= std::max(total - 1.0, epsilon);
    }
}

static void project_columns(Span<const std::int64_t> start, Span<double> values, Span<double> distance,
                            double epsilon) {
    for (std::int64_t j = 0; j + 1 < start.size(); j++) {
        Span<double> column = values.part(start[j], start[j + 1]);
        double total = 0.0, largest = 0.0;
        std::int64_t count = 0;
        for (double &value : column) {
            if (!(value > 0.0)) value = 0.0;
            total += value;
            largest = std::max(largest, value);
        }
        for (double value : column) count += value > 0.0;
        if (total > 1.0 + count * epsilon) project_on_simplex(column, distance, largest, epsilon);
    }
}

void bind_simplex_projection(nb::module_ &kernels) {
    auto module = kernels.def_submodule("simplex_projection", "Projection of columns on {a >= 0, sum(a) <= 1}.");
    module.def("project_columns", &project_columns, "start"_a, "values"_a, "distance"_a, "epsilon"_a, release(),
               R"(Project each column values[start[j]:start[j + 1]] on {a >= 0, sum(a) <= 1}, in place.

Parameters
----------
start : ndarray of int64
values : ndarray of float64, changed
distance : ndarray of float64
    Work space, as long as the longest column.
epsilon : float
    Relative rounding error. A column of n positive values whose sum is at most 1 + n epsilon is feasible.)");
}

}  // namespace odl
