// Exact L1 codes (see `odl.coding.exact`, which checks the arrays).
//
// For one document p with support S and the atoms that pass the screen (screening.h),
//
//     min_{x >= 0}  sum_{i in S} |p_i - a_i x| + sum_j d_j x_j,      d_j = c_j - g_j + lam,
//
// with c_j the mass of atom j and g_j its mass on S. This is a simplex method like that of Barrodale and Roberts
// (SIAM J. Numer. Anal. 1973). Along an edge of the current vertex (edge_prices.h), one form that was zero becomes
// non-zero; a piecewise linear line search follows the edge through sign changes of residuals to its lowest point.
#include "bindings.h"
#include "edge_prices.h"

namespace odl {

namespace exact {

constexpr double ACCEPTED = 1e-11;  // largest duality gap of an accepted code, relative to the document

// Follow edges until none descends, 10 + atoms successive steps have length zero (maybe a cycle), or `limit` pivots.
static void descend(int64_t atoms, Work &work, int64_t limit) {
    int64_t idle = 0;
    for (int64_t pivot = 0; pivot < limit && idle <= 10 + atoms; pivot++) {
        set_prices(atoms, work);
        Edge edge = choose_edge(atoms, work);
        if (edge.number < 0) return;
        let_go(edge, work);
        Touched touched = set_speed(atoms, edge.number, edge.direction, work);
        Block block = blocking(atoms, touched, edge.slope, work);
        if (block.step == INFINITE) break;
        advance(atoms, touched.rows, block, edge.slope, work);
        hold(edge.number, block.form, atoms, work);
        idle = block.step <= 0.0 ? idle + 1 : 0;
    }
    set_prices(atoms, work);
}

// Perturb the targets by at most `size` in total, deterministically, so that no two events coincide.
static void shake(int64_t rows, Work &work, double size) {
    int64_t state = 1;
    for (int64_t i = 0; i < rows; i++) {
        state = state * 48271 % 2147483647;
        work.saved[i] = work.target[i];
        work.target[i] += size * (static_cast<double>(state) / 2147483647.0) / static_cast<double>(rows);
    }
}

struct Residual {
    double value, size;
};

// Return (p_i - a_i x, p_i + a_i x).
static Residual residual(int64_t i, const Work &work) {
    double fitted = 0.0;
    for (int64_t entry = work.start[i]; entry < work.start[i + 1]; entry++)
        fitted += work.weight[entry] * work.code[work.atom[entry]];
    return {work.target[i] - fitted, work.target[i] + fitted};
}

// Recompute edges, codes, residuals and gradient of the current vertex from the data.
static void refresh(int64_t rows, int64_t atoms, Work &work, double rounding) {
    clear_edges(atoms, work);
    for (int64_t i = 0; i < rows; i++)
        if (work.tight[i]) {
            see(i, atoms, work);
            int64_t edge = -1;
            double size = 0.0;
            for (int64_t k = 0; k < atoms; k++)
                if (work.form[k] < 0 && work.active[-1 - work.form[k]] && std::fabs(work.image[k]) > size)
                    edge = k, size = std::fabs(work.image[k]);
            if (edge < 0) work.tight[i] = false, work.side[i] = 1.0;
            else exchange(edge, i, atoms, work);
        }
    for (int64_t j = 0; j < atoms; j++) {
        double value = 0.0;
        for (int64_t k = 0; k < atoms; k++)
            if (work.form[k] >= 0) value += work.edges[j * atoms + k] * work.target[work.form[k]];
        work.code[j] = std::max(value, 0.0);
    }
    for (int64_t k = 0; k < atoms; k++)
        if (work.form[k] < 0) {
            work.active[-1 - work.form[k]] = false;
            work.code[-1 - work.form[k]] = 0.0;
        }
    for (int64_t i = 0; i < rows; i++) {
        auto [value, size] = residual(i, work);
        work.residual[i] = std::fabs(value) > rounding * size && !work.tight[i] ? value : 0.0;
        if (work.residual[i] != 0.0) work.side[i] = value > 0.0 ? 1.0 : -1.0;
    }
    set_gradient(rows, atoms, work);
}

struct Certificate {
    double primal, gap;
};

// Return the primal objective of the codes, and its duality gap.
//
// The dual problem is max p^T y - ||p||_1 over 0 <= y <= 2, A^T y <= c + lam. The dual point is y_i = 1 + side_i, or 1
// plus the price of the edge for a residual that is held at zero. It is clipped to [0, 2], then scaled until it is
// feasible.
static Certificate certify(int64_t rows, int64_t atoms, Work &work) {
    for (int64_t k = 0; k < atoms; k++)
        if (work.form[k] >= 0) work.side[work.form[k]] = std::min(std::max(work.price[k], -1.0), 1.0);
    double primal = 0.0, total = 0.0, value = 0.0;
    for (int64_t j = 0; j < atoms; j++) {
        primal += work.cost[j] * work.code[j];
        work.image[j] = 0.0;
    }
    for (int64_t i = 0; i < rows; i++) {
        primal += std::fabs(residual(i, work).value);
        double y = 1.0 + work.side[i];
        total += work.target[i];
        value += work.target[i] * y;
        if (y > 0.0)
            for (int64_t entry = work.start[i]; entry < work.start[i + 1]; entry++)
                work.image[work.atom[entry]] += y * work.weight[entry];
    }
    double shrink = 1.0;
    for (int64_t j = 0; j < atoms; j++)
        if (shrink * work.image[j] > work.bound[j]) shrink = work.bound[j] / work.image[j];
    return {primal, std::max(primal - (shrink * value - total), 0.0)};
}

// Fill `code`; return the objective on the compact rows, and the gap.
//
// The first attempt uses the true targets. If its gap is not accepted, a second one uses perturbed targets to avoid
// cycles, and evaluates the last vertex with the true targets. In both attempts, a gap that is not accepted leads to a
// new descent, after edges and residuals of the last vertex were recomputed from the data.
static Certificate solve(int64_t rows, int64_t atoms, Work &work, int64_t limit, double accepted) {
    Certificate found{INFINITE, INFINITE};
    int64_t steps = limit >= 0 ? limit : 100 + 20 * (rows + atoms);
    for (bool shaken : {false, true}) {
        if (shaken) shake(rows, work, 0.1 * accepted);
        set_origin(rows, atoms, work);
        descend(atoms, work, steps);
        if (shaken) {
            for (int64_t i = 0; i < rows; i++) work.target[i] = work.saved[i];
            refresh(rows, atoms, work, 1000.0 * ROUNDING);
            set_prices(atoms, work);
        }
        found = certify(rows, atoms, work);
        if (found.gap > accepted) {
            refresh(rows, atoms, work, ROUNDING);
            descend(atoms, work, steps);
            found = certify(rows, atoms, work);
        }
        if (found.gap <= accepted) break;
    }
    return found;
}

using Codes = std::tuple<Vector<int64_t>, Vector<int32_t>, Vector<double>, Vector<double>, Vector<double>, Vector<bool>>;

static Codes code_documents(const Rows &batch, const Rows &by_term, const Rows &by_atom, Span<const double> mass,
                            double lam, int64_t limit) {
    auto starts = batch.starts;
    int64_t count = batch.size(), used = 0, most = 0;
    for (int64_t d = 0; d < count; d++)
        most += std::min(starts[d + 1] - starts[d], mass.size());  // a vertex has no more codes than terms
    Vector<int64_t> lengths(count);
    Vector<int32_t> atom(most, Begin::anything);
    Vector<double> value(most, Begin::anything), objective(count), gaps(count);
    Vector<bool> failed(count);
    Work work = allocate(batch, by_term, mass.size());
    for (int64_t j = 0; j < mass.size(); j++) work.scale[j] = power_of_two(mass[j]);
    for (int64_t d = 0; d < count; d++) {
        auto terms = batch.indices.part(starts[d], starts[d + 1]);
        auto values = batch.values.part(starts[d], starts[d + 1]);
        Norm norm = norm_of(values);
        objective[d] = norm.total;
        double unit = power_of_two(norm.largest);
        auto [rows, atoms, rest] = prepare(terms, values, by_term, by_atom, mass, lam, unit, work);
        if (atoms == 0) continue;
        double enough = ACCEPTED * (objective[d] / unit);
        auto [primal, gap] = solve(rows, atoms, work, limit, enough);
        gaps[d] = gap * unit, failed[d] = !(gap <= enough);
        // The objective of the code 0 is in objective[d]. The comparison is negated so that nan is written, too.
        if (!(rest + primal * unit >= objective[d])) {
            objective[d] = rest + primal * unit;
            lengths[d] = write(atoms, unit, work, atom.from(used), value.from(used));
            used += lengths[d];
        }
    }
    atom.shorten(used), value.shorten(used);
    return {std::move(lengths), std::move(atom),  std::move(value),
            std::move(objective), std::move(gaps), std::move(failed)};
}

}  // namespace exact

void bind_edge_following(nb::module_ &kernels) {
    auto module = kernels.def_submodule("edge_following", "Exact L1 codes.");
    module.def("code_documents", &exact::code_documents, "batch"_a, "by_term"_a, "by_atom"_a, "mass"_a, "lam"_a,
               "limit"_a, release(),
               R"(Return the exact codes of documents on a dictionary (terms x atoms).

Parameters
----------
batch : tuple of ndarray
    Starts, terms and values of the documents (CSR).
by_term, by_atom : tuple of ndarray
    Starts, indices and values of the dictionary by rows (CSR) and by columns (CSC).
mass : ndarray of float64, shape (n_atoms,)
    Sum of each atom.
lam : float
    Weight of the l1 norm of codes.
limit : int
    Largest number of pivots of one descent; -1 means 100 + 20 * (rows + atoms) of the reduced document.

Returns
-------
lengths : ndarray of int64, shape (n_documents,)
    Number of non-zero codes of each document.
atoms, values : ndarray
    Atoms and values of the non-zero codes, one document after another.
objective, gaps : ndarray of float64, shape (n_documents,)
    Objective and duality gap.
failed : ndarray of bool, shape (n_documents,)
    Whether the gap exceeds 1e-11 times the l1 norm of the document.)");
}

}  // namespace odl
