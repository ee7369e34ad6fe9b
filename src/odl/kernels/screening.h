// Reduction of a document p to the terms and atoms that its exact l1 code can use.
//
// Only atoms with 2 g_j > c_j + lam can be in the code. c_j is the sum of the entries of atom j, and g_j their sum over
// the terms of p. The remaining terms and atoms are renumbered ("compact" numbers). Their values are divided by powers
// of two, which is exact, so that they are of order one.
#pragma once

#include <cmath>
#include <limits>

#include "arrays.h"
#include "numbers.h"

namespace odl::exact {

using std::int32_t, std::int64_t, std::uint32_t, std::uint8_t;

constexpr double EPSILON = std::numeric_limits<double>::epsilon();
constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double NEGLIGIBLE = 0x1p-66;  // smallest value that is used, after scaling
constexpr double SMALLEST = 0x1p-1000;  // smallest scale

// Work space for one document. i and j are compact numbers of its terms ("rows") and atoms. At a vertex of the
// polyhedron of codes, some forms (residuals r_i or codes x_j) are fixed at zero; each has an edge, along which only
// this form becomes non-zero.
struct Work {
    Vector<int64_t> start;       // the entries of row i are start[i] to start[i + 1] - 1
    Vector<int64_t> atom;        // compact atom of each entry
    Vector<double> weight;       // scaled value of each entry
    // The entries sorted by atom: those of atom j are column[j] to column[j + 1] - 1.
    Vector<int64_t> column;
    Vector<int64_t> position_of; // position of each entry in the document; `compact` replaces it by the row
    Vector<int64_t> atom_of;
    Vector<double> weight_by_atom;
    Vector<int64_t> count;       // entries at each position; in `compact`, number of the next entry of the row
    Vector<int64_t> row;         // position in the document -> row
    Vector<double> target;       // p_i, scaled
    Vector<double> residual;     // r_i = p_i - a_i x
    Vector<double> side;         // sign of r_i; for r_i = 0, 1 or -1
    Vector<double> saved;        // p_i while the targets are perturbed
    Vector<uint8_t> tight;       // 1 if r_i is fixed at zero
    Vector<double> speed;        // derivative of a_i x along the edge
    Vector<double> size;         // sum of the absolute values of the terms of `speed`, for its rounding error
    Vector<int64_t> touched;     // rows with an atom whose code changes along the edge
    Vector<uint8_t> seen;        // 1 if row i is in `touched`
    Vector<double> hit;          // step at which r_i changes sign
    Vector<double> when;         // finite values of `hit`, in any order
    Vector<double> turn;         // change of the slope of the objective at each of them
    Vector<int64_t> names;       // compact atom -> atom
    Vector<double> cost;         // d_j
    Vector<double> bound;        // c_j + lam
    Vector<double> gradient;     // d_j - sum of side_i a_ij over the rows that are not fixed
    Vector<double> code;         // x_j
    Vector<double> move;         // direction of x along the edge
    Vector<double> price;        // derivative of the objective along each edge
    Vector<double> length;       // squared length of each edge, or 1
    Vector<double> image;        // derivative of one form along each edge
    Vector<uint8_t> active;      // 1 if x_j is not fixed at zero
    Vector<int64_t> form;        // fixed form of each edge: i for r_i, -1 - j for x_j
    Vector<int64_t> slot;        // edge of each fixed code
    Vector<double> edges;        // one column per edge; only the part that a document needs is initialised
    Vector<double> scale;        // power of two for each atom of the dictionary
    Vector<double> inside;       // g_j of each atom of the dictionary
    Vector<int32_t> place;       // for each term of the vocabulary, 1 + its position in the document, or 0

    Work(int64_t rows, int64_t entries, int64_t atoms, int64_t terms)
        : start(rows + 1), atom(entries), weight(entries), column(atoms + 1), position_of(entries), atom_of(entries),
          weight_by_atom(entries), count(rows), row(rows), target(rows), residual(rows), side(rows), saved(rows),
          tight(rows), speed(rows), size(rows), touched(rows), seen(rows), hit(rows), when(rows), turn(rows),
          names(atoms), cost(atoms), bound(atoms), gradient(atoms), code(atoms), move(atoms), price(atoms),
          length(atoms), image(atoms), active(atoms), form(atoms), slot(atoms),
          edges(atoms * atoms, Begin::anything), scale(atoms), inside(atoms), place(terms) {}
};

// Return work space that is large enough for every document of a batch.
inline Work allocate(const Rows &batch, const Rows &by_term, int64_t n_atoms) {
    int64_t rows = 0, entries = 0;
    for (int64_t d = 0; d < batch.size(); d++) {
        int64_t size = 0;
        for (int64_t entry = batch.starts[d]; entry < batch.starts[d + 1]; entry++) {
            int64_t term = batch.indices[entry];
            size += by_term.starts[term + 1] - by_term.starts[term];
        }
        rows = std::max(rows, batch.starts[d + 1] - batch.starts[d]), entries = std::max(entries, size);
    }
    return Work(rows, entries, n_atoms, by_term.starts.size());
}

// Return the power of two with value / power in [1, 2), at least SMALLEST.
inline double power_of_two(double value) {
    return std::max(std::ldexp(1.0, exponent_of(value) - 1), SMALLEST);
}

// Compute g_j of each atom, list the atoms with 2 g_j > c_j + lam in work.names, and return their number.
inline int64_t screen(Span<const uint32_t> terms, Span<const double> values, const Rows &by_term,
                      Span<const double> mass, double lam, Work &work) {
    Span<double> inside = work.inside;
    inside.fill(0.0);
    for (int64_t position = 0; position < terms.size(); position++)
        if (values[position] > 0.0) {
            int64_t term = terms[position];
            for (int64_t entry = by_term.starts[term]; entry < by_term.starts[term + 1]; entry++)
                inside[by_term.indices[entry]] += by_term.values[entry];
        }
    int64_t atoms = 0;
    for (int64_t j = 0; j < mass.size(); j++)
        if (2.0 * inside[j] > mass[j] + lam) work.names[atoms++] = j;
    return atoms;
}

// List the entries of the screened atoms at the terms of p, atom by atom, and count them by position. Return their
// number.
inline int64_t collect(Span<const uint32_t> terms, Span<const double> values, const Rows &by_atom, int64_t atoms,
                       Work &work) {
    for (int64_t position = 0; position < terms.size(); position++) {
        work.count[position] = 0;
        work.place[terms[position]] = values[position] > 0.0 ? static_cast<int32_t>(position + 1) : 0;
    }
    int64_t size = 0;
    for (int64_t j = 0; j < atoms; j++) {
        int64_t name = work.names[j];
        double inverse = 1.0 / work.scale[name];
        for (int64_t entry = by_atom.starts[name]; entry < by_atom.starts[name + 1]; entry++) {
            int64_t position = work.place[by_atom.indices[entry]] - 1;
            if (position >= 0 && by_atom.values[entry] * inverse > NEGLIGIBLE) {
                work.position_of[size] = position;
                work.atom_of[size] = j;
                work.weight_by_atom[size] = by_atom.values[entry] * inverse;
                work.count[position]++;
                size++;
            }
        }
        work.column[j + 1] = size;
    }
    for (uint32_t term : terms) work.place[term] = 0;
    return size;
}

struct Compact {
    int64_t rows, atoms;
    double rest;  // sum of the values of p without a row, in the units of the document
};

// Number the terms of p with entries, and sort the listed entries by these rows. Values of p are divided by `unit`.
inline Compact compact(Span<const double> values, double unit, int64_t size, int64_t atoms, Work &work) {
    int64_t rows = 0, total = 0;
    double rest = 0.0;
    for (int64_t position = 0; position < values.size(); position++) {
        if (work.count[position]) {
            double value = values[position] / unit;
            work.target[rows] = value > NEGLIGIBLE ? value : 0.0;
            work.start[rows] = total;
            work.row[position] = rows;
            rows++;
            int64_t count = work.count[position];
            work.count[position] = total;
            total += count;
        } else {
            rest += values[position];
        }
    }
    work.start[rows] = total;
    for (int64_t entry = 0; entry < size; entry++) {
        int64_t position = work.position_of[entry], target = work.count[position]++;
        work.atom[target] = work.atom_of[entry];
        work.weight[target] = work.weight_by_atom[entry];
        work.position_of[entry] = work.row[position];
    }
    return {rows, atoms, rest};
}

struct Norm {
    double total, largest;
};

// Return the l1 norm and the largest value. A norm that differs from one only by rounding is set to one.
inline Norm norm_of(Span<const double> values) {
    double total = 0.0, largest = 0.0;
    for (double value : values) total += value, largest = std::max(largest, value);
    if (std::fabs(total - 1.0) <= (4 + values.size()) * EPSILON) total = 1.0;
    return {total, largest};
}

// Screen and compact one document.
inline Compact prepare(Span<const uint32_t> terms, Span<const double> values, const Rows &by_term,
                       const Rows &by_atom, Span<const double> mass, double lam, double unit, Work &work) {
    int64_t atoms = screen(terms, values, by_term, mass, lam, work);
    if (atoms == 0) return {0, 0, 0.0};
    for (int64_t position = 0; position < atoms; position++) {
        int64_t j = work.names[position];
        work.cost[position] = (std::max(mass[j] - work.inside[j], 0.0) + lam) / work.scale[j];
        work.bound[position] = (mass[j] + lam) / work.scale[j];
    }
    return compact(values, unit, collect(terms, values, by_atom, atoms, work), atoms, work);
}

// Write the positive codes in the given unit, and return their number. A code that is not a normal number is written as
// infinity.
inline int64_t write(int64_t atoms, double unit, const Work &work, Span<int32_t> out_atom, Span<double> out_value) {
    int64_t used = 0;
    for (int64_t j = 0; j < atoms; j++)
        if (work.code[j] > 0.0 && used < out_atom.size()) {
            out_atom[used] = static_cast<int32_t>(work.names[j]);
            double value = work.code[j] * (unit / work.scale[work.names[j]]);
            out_value[used] = value >= 0x1p-1022 ? value : INFINITE;
            used++;
        }
    return used;
}

}  // namespace odl::exact
