// Reduction of one document to the terms and atoms that its exact L1 code can use.
//
// Only atoms with 2 g_j > c_j + lam can be in the code (c_j the mass of atom j, g_j its mass on supp(p)). The remaining
// rows are compacted and scaled to order one by powers of two, which is exact.
#pragma once

#include <cmath>
#include <limits>

#include "arrays.h"
#include "numbers.h"

namespace odl::exact {

using std::int32_t, std::int64_t, std::uint32_t, std::uint8_t;

constexpr double EPSILON = std::numeric_limits<double>::epsilon();
constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double NEGLIGIBLE = 0x1p-66;  // smaller weights are dropped, for documents and atoms of order one
constexpr double SMALLEST = 0x1p-1000;  // smallest scale

// Work space, reused for every document; i and j are compact indices of the current document's terms and atoms.
struct Work {
    Vector<int64_t> start;       // entries of row i are start[i]..start[i + 1] - 1
    Vector<int64_t> atom;        // compact atom of an entry
    Vector<double> weight;       // its value, scaled
    Vector<int64_t> column;      // the same by atoms: entries of atom j are column[j]..column[j + 1] - 1
    Vector<int64_t> position_of; // position of an entry in the document, then its row
    Vector<int64_t> atom_of;
    Vector<double> weight_by_atom;
    Vector<int64_t> count;       // entries at a position, then the place of the next one
    Vector<int64_t> row;         // position -> row
    Vector<double> target;       // p_i, scaled
    Vector<double> residual;     // r_i = p_i - a_i x
    Vector<double> side;         // sign of r_i; a free choice where r_i = 0
    Vector<double> saved;        // p_i while the targets are shaken
    Vector<uint8_t> tight;       // r_i is a form held at zero (0 or 1)
    Vector<double> speed;        // growth of a_i x along the edge, in the touched rows
    Vector<double> size;         // the same with all terms positive, to tell rounding from speed
    Vector<int64_t> touched;     // rows of the atoms that move
    Vector<uint8_t> seen;        // row is in the list
    Vector<double> hit;          // step at which r_i changes sign
    Vector<double> when;         // finite hits, in any order
    Vector<double> turn;         // change of slope at each
    Vector<int64_t> names;       // compact atom -> atom
    Vector<double> cost;         // d_j
    Vector<double> bound;        // c_j + lam
    Vector<double> gradient;     // d_j - sum of side_i a_ij over rows not held
    Vector<double> code;         // x_j
    Vector<double> move;         // direction in x
    Vector<double> price;        // gradient along each edge
    Vector<double> length;       // squared length of each edge, or 1
    Vector<double> image;        // a row seen from each edge
    Vector<uint8_t> active;      // x_j is not a form held at zero
    Vector<int64_t> form;        // row i of a held residual, or -1 - j of a held code
    Vector<int64_t> slot;        // edge of a held code
    Vector<double> edges;        // columns, one edge each; only what the document's own atoms need is ever touched
    Vector<double> scale;        // of all atoms: powers of two
    Vector<double> inside;       // of all atoms: mass on the document's terms
    Vector<int32_t> place;       // of all terms: position in the document and 1 more; 0 elsewhere

    Work(int64_t rows, int64_t entries, int64_t atoms, int64_t terms)
        : start(rows + 1), atom(entries), weight(entries), column(atoms + 1), position_of(entries), atom_of(entries),
          weight_by_atom(entries), count(rows), row(rows), target(rows), residual(rows), side(rows), saved(rows),
          tight(rows), speed(rows), size(rows), touched(rows), seen(rows), hit(rows), when(rows), turn(rows),
          names(atoms), cost(atoms), bound(atoms), gradient(atoms), code(atoms), move(atoms), price(atoms),
          length(atoms), image(atoms), active(atoms), form(atoms), slot(atoms),
          edges(atoms * atoms, Begin::anything), scale(atoms), inside(atoms), place(terms) {}
};

// Return arrays that are large enough for every document of a batch.
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

// Sum each atom's mass inside supp(p); list the atoms with 2 g_j > c_j + lam (no other needs to be in a code).
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

// List the entries on supp(p) of the atoms that passed the screen, atom by atom, and count them by position; return
// their number.
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
    double rest;  // mass left out, in the units of the document
};

// Sort the entries listed by rows, in units where atoms and document are of order one.
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

// Return the l1 norm and the largest value; a norm that differs from one by rounding only is one.
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

// Write the positive codes in the given units, infinite if they are not normal numbers; return their number.
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
