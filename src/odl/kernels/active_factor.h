// Cholesky factor L of G_SS for the active atoms S on the LARS path: adding and removing atoms, and the solutions
//
//     u = G_SS^-1 b_S,   w = G_SS^-1 1.
//
// Notation is that of lars_path.cpp.
#pragma once

#include <cmath>

#include "arrays.h"

namespace odl::path {

using std::int64_t, std::uint32_t, std::uint8_t;

// Arrays reused from document to document.
struct Work {
    Vector<double> product;   // b
    Vector<double> alpha, beta;
    Vector<double> code;      // x, all atoms
    Vector<uint8_t> state;    // 0 free to enter, 1 active, 2 dependent on the active atoms
    Vector<int64_t> active;   // S, in the order of the rows of the factor
    Matrix<double> factor;    // L
    Vector<double> image;     // L^-1 b_S
    Vector<double> ones;      // L^-1 1
    Vector<double> fit;       // u
    Vector<double> turn;      // w
    Vector<double> change;    // refinement of u
    Vector<double> residual;  // p - A u, all terms; zero between uses

    Work(int64_t terms, int64_t atoms) : Work(terms, atoms, std::min(terms, atoms) + 1) {}

  private:
    Work(int64_t terms, int64_t atoms, int64_t most)
        : product(atoms), alpha(atoms), beta(atoms), code(atoms), state(atoms), active(most), factor(most, most),
          image(most), ones(most), fit(most), turn(most), change(most), residual(terms) {}
};

// Append atom j to the factor; return whether it is independent of the active atoms.
inline bool append(int64_t j, int64_t count, Table<const double> gram, Work &work, double dependent) {
    Span<double> last = work.factor[count];
    double pivot = gram(j, j), image = work.product[j], ones = 1.0;
    for (int64_t i = 0; i < count; i++) {
        Span<const double> row = work.factor[i];
        double value = gram(j, work.active[i]);
        for (int64_t inner = 0; inner < i; inner++) value -= row[inner] * last[inner];
        value /= row[i];
        last[i] = value;
        pivot -= value * value;
        image -= value * work.image[i];
        ones -= value * work.ones[i];
    }
    if (!(pivot > dependent * gram(j, j))) return false;
    double root = std::sqrt(pivot);
    last[count] = root;
    work.image[count] = image / root, work.ones[count] = ones / root;
    work.active[count] = j;
    return true;
}

// Remove the atom at a place of the factor; the atoms after it are appended again.
inline void remove(int64_t place, int64_t count, Table<const double> gram, Work &work) {
    for (int64_t row = place; row < count - 1; row++) append(work.active[row + 1], row, gram, work, 0.0);
}

// Solve L^T out = right.
inline void solve_backward(int64_t count, Table<const double> factor, Span<const double> right, Span<double> out) {
    for (int64_t i = count - 1; i >= 0; i--) {
        double value = right[i];
        for (int64_t row = i + 1; row < count; row++) value -= factor(row, i) * out[row];
        out[i] = value / factor(i, i);
    }
}

// Fill alpha and beta of every atom.
inline void find_slopes(int64_t count, Table<const double> gram, Work &work) {
    int64_t atoms = work.alpha.size();
    double *__restrict alpha = work.alpha.data, *__restrict beta = work.beta.data;
    for (int64_t j = 0; j < atoms; j++) alpha[j] = work.product[j], beta[j] = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double fit = work.fit[i], turn = work.turn[i];
        const double *__restrict row = gram[work.active[i]].data;
        for (int64_t j = 0; j < atoms; j++) {
            alpha[j] -= fit * row[j];
            beta[j] += turn * row[j];
        }
    }
}

// Subtract the active atoms times a weight from the residual.
inline void subtract(int64_t count, Span<const double> weight, Work &work, const Rows &columns) {
    for (int64_t i = 0; i < count; i++) {
        int64_t j = work.active[i];
        for (int64_t entry = columns.starts[j]; entry < columns.starts[j + 1]; entry++)
            work.residual[columns.indices[entry]] -= weight[i] * columns.values[entry];
    }
}

inline double correlate(int64_t j, const Work &work, const Rows &columns) {
    double total = 0.0;
    for (int64_t entry = columns.starts[j]; entry < columns.starts[j + 1]; entry++)
        total += columns.values[entry] * work.residual[columns.indices[entry]];
    return total;
}

// Compute c and alpha from the residual itself, where the differences of Gram entries would cancel; return c.
inline double refine(int64_t count, Span<const uint32_t> terms, Span<const double> values, double unit, Work &work,
                     const Rows &columns) {
    for (int64_t position = 0; position < terms.size(); position++)
        work.residual[terms[position]] += values[position] / unit;
    subtract(count, work.fit, work, columns);
    for (int64_t i = 0; i < count; i++) {  // the right-hand side L^-1 A_S^T residual, into `change`
        double value = correlate(work.active[i], work, columns);
        for (int64_t inner = 0; inner < i; inner++) value -= work.factor(i, inner) * work.change[inner];
        work.change[i] = value / work.factor(i, i);
    }
    solve_backward(count, work.factor, work.change, work.change);
    subtract(count, work.change, work, columns);
    for (int64_t i = 0; i < count; i++) work.fit[i] += work.change[i];
    for (int64_t j = 0; j < work.alpha.size(); j++)
        work.alpha[j] = work.state[j] == 1 ? 0.0 : correlate(j, work, columns);
    double total = 0.0;
    for (uint32_t term : terms) {
        total += work.residual[term] * work.residual[term];
        work.residual[term] = 0.0;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t j = work.active[i];
        for (int64_t entry = columns.starts[j]; entry < columns.starts[j + 1]; entry++) {
            double &rest = work.residual[columns.indices[entry]];
            total += rest * rest;
            rest = 0.0;
        }
    }
    return total;
}

}  // namespace odl::path
