// Block coordinate descent over the atoms of a dictionary D, and the projection of an atom on its constraint:
//
//     min_D 1/2 tr(D^T D A) - tr(D^T B)  subject to  mu ||d_j||_1 + (1 - mu) ||d_j||_2^2 <= 1 for every atom
//
// Mairal et al. 2010, algorithm 2; Jenatton et al. 2010, equation (4). In memory, atoms are rows of D.
#include <cmath>
#include <limits>

#include "bindings.h"
#include "sums.h"

namespace odl {

namespace {

using std::int64_t;

// Constraint set of an atom.
struct AtomSet {
    double mu;
    bool nonnegative;  // whether d >= 0 is required too
    double epsilon;    // relative rounding error of a sum, per term
};

struct Constraint {
    double value;   // mu ||d||_1 + (1 - mu) ||d||_2^2
    int64_t count;  // number of non-zero entries
};

Constraint constraint_of(Span<const double> d, double mu) {
    double sizes = 0.0, squares = 0.0;
    int64_t count = 0;
    for (double value : d) {
        sizes += std::abs(value);
        squares += value * value;
        count += value != 0.0;
    }
    return {mu * sizes + (1.0 - mu) * squares, count};
}

// Return the multiplier nu > 0 of the constraint, given the sizes |u| of the non-zero entries. It is the root of
//
//     h(nu) = mu S_1 / c + (1 - mu) S_2 / c^2 - 1,  S_q = sum (|u| - nu mu)_+^q,  c = 1 + 2 nu (1 - mu)
//
// h is convex and decreasing, so that Newton's method from 0 approaches the root from below. Sizes below nu mu are
// removed from the list.
double multiplier(Span<double> sizes, double mu) {
    double nu = 0.0;
    for (int round = 0; round < 500; round++) {
        double first = 0.0, second = 0.0;
        int64_t count = 0;
        for (double size : sizes) {
            double excess = size - nu * mu;
            if (excess > 0.0) {
                sizes[count++] = size;
                first += excess;
                second += excess * excess;
            }
        }
        sizes = sizes.part(0, count);
        double c = 1.0 + 2.0 * nu * (1.0 - mu);
        double h = (mu * first + (1.0 - mu) * second / c) / c - 1.0;
        double slope = mu * (mu * count + 2.0 * (1.0 - mu) * first / c) / c;  // -h'(nu)
        slope += (1.0 - mu) * (2.0 * mu * first + 4.0 * (1.0 - mu) * second / c) / (c * c);
        if (!(h > 0.0) || nu + h / slope <= nu) return nu;
        nu += h / slope;
    }
    return nu;
}

// Return tau with sum (|u| - (largest - tau))_+ = 1, given the sizes |u|: projection on the l1 ball. The sizes are
// replaced by their distances from the largest one, which avoids cancellation.
double simplex_level(Span<double> sizes, double largest) {
    for (double &size : sizes) size = largest - size;
    double tau = std::numeric_limits<double>::infinity();
    while (true) {
        int64_t count = 0;
        double total = 0.0;
        for (double distance : sizes)
            if (distance < tau) {
                sizes[count++] = distance;
                total += distance;
            }
        if (count == sizes.size() && tau < std::numeric_limits<double>::infinity()) return tau;
        sizes = sizes.part(0, count);
        tau = (1.0 + total) / count;
    }
}

// Project an atom on its constraint set, in place. A feasible atom is unchanged. `work` has the length of the atom.
void project(Span<double> d, const AtomSet &set, Span<double> work) {
    auto [mu, nonnegative, epsilon] = set;
    int64_t count = 0;
    double largest = 0.0;
    for (double &value : d) {
        if (nonnegative && value < 0.0) value = 0.0;
        double size = std::abs(value);
        if (size > 0.0) {
            work[count++] = size;
            largest = std::max(largest, size);
        }
    }
    Constraint now = constraint_of(d, mu);
    if (now.value <= 1.0 + (8 + count) * epsilon) return;
    Span<double> sizes = work.part(0, count);
    if (mu == 1.0) {
        double tau = simplex_level(sizes, largest);
        for (double &value : d) {
            double size = std::max(tau - (largest - std::abs(value)), 0.0);
            value = size > 0.0 ? std::copysign(size, value) : 0.0;
        }
    } else {
        double nu = mu > 0.0 ? multiplier(sizes, mu) : 0.5 * (std::sqrt(now.value) - 1.0);
        double c = 1.0 + 2.0 * nu * (1.0 - mu);
        for (double &value : d) {
            double size = std::max(std::abs(value) - nu * mu, 0.0) / c;
            value = size > 0.0 ? std::copysign(size, value) : 0.0;
        }
    }
    now = constraint_of(d, mu);
    while (now.value > 1.0 + (8 + now.count) * epsilon) {
        double scale = 1.0 - std::max(now.value - 1.0, epsilon);
        for (double &value : d) value *= scale;
        now = constraint_of(d, mu);
    }
}

void project_rows(Table<double> D, double mu, bool nonnegative, double epsilon) {
    Vector<double> work(D.columns);
    for (int64_t j = 0; j < D.rows; j++) project(D[j], {mu, nonnegative, epsilon}, work);
}

void descend(Table<double> D, Table<double> R, Table<const double> A, double mu, bool nonnegative, double epsilon,
             int64_t sweeps, double smallest) {
    int64_t n_terms = D.columns;
    Vector<double> old(n_terms), work(n_terms);
    for (int64_t j = 0; j < D.rows; j++)
        for (int64_t i = 0; i < n_terms; i++)
            if (D(j, i) != 0.0) add_multiple(R[i], -D(j, i), A[j]);
    for (int64_t sweep = 0; sweep < sweeps; sweep++)
        for (int64_t j = 0; j < D.rows; j++) {
            Span<double> atom = D[j];
            if (A(j, j) <= smallest) continue;
            std::copy(atom.begin(), atom.end(), old.begin());
            for (int64_t i = 0; i < n_terms; i++) atom[i] += R(i, j) / A(j, j);
            project(atom, {mu, nonnegative, epsilon}, work);
            for (int64_t i = 0; i < n_terms; i++) {
                double change = atom[i] - old[i];
                if (change != 0.0) add_multiple(R[i], -change, A[j]);
            }
        }
}

}  // namespace

void bind_block_descent(nb::module_ &kernels) {
    auto module = kernels.def_submodule("block_descent", "Atoms with mu ||d||_1 + (1 - mu) ||d||_2^2 <= 1.");
    module.def("project_rows", &project_rows, "D"_a, "mu"_a, "nonnegative"_a, "epsilon"_a, release(),
               R"(Project every row d of D on {mu ||d||_1 + (1 - mu) ||d||_2^2 <= 1}, in place.

Parameters
----------
D : ndarray of float64, shape (n_atoms, n_terms), changed
mu : float
    From 0 to 1.
nonnegative : bool
    Whether d >= 0 is also required.
epsilon : float
    Relative rounding error of a sum, per term. An atom that violates the constraint by less is feasible.)");
    module.def("descend", &descend, "D"_a, "R"_a, "A"_a, "mu"_a, "nonnegative"_a, "epsilon"_a, "sweeps"_a,
               "smallest"_a, release(),
               R"(Update the atoms in turn: d_j <- Proj(d_j + (b_j - D a_j) / A_jj), in place.

Parameters
----------
D : ndarray of float64, shape (n_atoms, n_terms), changed
R : ndarray of float64, shape (n_terms, n_atoms), changed
    B on entry, B - D^T A on exit.
A : ndarray of float64, shape (n_atoms, n_atoms)
mu, nonnegative, epsilon
    As in project_rows.
sweeps : int
    Number of updates of each atom.
smallest : float
    Atoms with A_jj <= smallest are not changed.)");
}

}  // namespace odl
