// The non-negative LARS path (see `odl.coding.lars`).
//
// For one document p, with b = A^T p and G = A^T A, the codes of 1/2 ||p - A x||_2^2 + mu sum(x) over x >= 0 are
// piecewise linear in mu. On a piece with active atoms S and the Cholesky factor L of G_SS:
//
//     x_S = u - mu w,   u = G_SS^-1 b_S,   w = G_SS^-1 1,
//     ||p - A x||_2^2 = c + mu^2 d,   c = ||p||_2^2 - ||L^-1 b_S||_2^2,   d = ||L^-1 1||_2^2,
//     a_j^T (p - A x) = alpha_j + mu beta_j,   beta = G_S^T w,   alpha = b - G_S^T u.
//
// Atom j enters where alpha_j + mu beta_j = mu and leaves where u_j = mu w_j. The code of the objective with a norm
// instead of its square is the point with mu = lam ||p - A x||_2, that is mu^2 (1 - lam^2 d) = lam^2 c. It is unique,
// since ||p - A x||_2 / mu is monotone in mu.
#include <limits>

#include "active_factor.h"
#include "bindings.h"
#include "numbers.h"

namespace odl {

namespace path {

using std::int32_t;

struct Settings {
    double rounding, dependent, cancels, limit;
    static constexpr auto members() {
        return std::tuple{&Settings::rounding, &Settings::dependent, &Settings::cancels, &Settings::limit};
    }
};

struct Event {
    double mu;
    int64_t place, atom;
};

// Return the next event on the path, with its mu: the active atom at `place` leaves, or `atom` enters.
static Event find_event(int64_t count, double current, double level, const Work &work) {
    Event event{0.0, -1, -1};
    for (int64_t j = 0; j < work.alpha.size(); j++) {
        double margin = 1.0 - work.beta[j];
        if (work.alpha[j] > event.mu * margin && margin > level && work.state[j] == 0)
            event.mu = work.alpha[j] / margin, event.atom = j;
    }
    event.mu = std::min(event.mu, current);
    for (int64_t i = 0; i < count; i++)
        if (work.turn[i] < 0.0 && work.fit[i] < 0.0) {
            double leaves = std::min(work.fit[i] / work.turn[i], current);
            if (leaves > 0.0 && leaves >= event.mu) event = {leaves, i, -1};
        }
    return event;
}

struct Point {
    int64_t count;  // active atoms
    double mu, constant, growth;
};

// Follow the path from mu = max b down to the stop; return the point there: active atoms, mu, c, d.
static Point follow(Span<const uint32_t> terms, Span<const double> values, double unit, const Rows &columns,
                    Table<const double> gram, double square, double lam, bool squared, Work &work,
                    const Settings &settings) {
    double rounding = settings.rounding, largest = 0.0, constant = 0.0, growth = 0.0;
    double current = std::numeric_limits<double>::infinity();
    int64_t count = 0, atoms = work.product.size();
    for (int64_t j = 0; j < atoms; j++) {
        work.state[j] = 0;
        largest = std::max(largest, work.product[j]);
    }
    for (int64_t step = 0; step < static_cast<int64_t>(settings.limit) + 4 * atoms; step++) {
        constant = square, growth = 0.0;
        for (int64_t i = 0; i < count; i++) {
            constant -= work.image[i] * work.image[i];
            growth += work.ones[i] * work.ones[i];
        }
        solve_backward(count, work.factor, work.image, work.fit);
        solve_backward(count, work.factor, work.ones, work.turn);
        find_slopes(count, gram, work);
        if (constant < settings.cancels * square) {
            constant = refine(count, terms, values, unit, work, columns);
            if (constant <= 100.0 * rounding * rounding * square) constant = 0.0;
        }
        double stop = lam;
        if (!squared) {
            double left = 1.0 - lam * lam * growth;
            stop = left > 0.0 ? lam * std::sqrt(constant / left) : current;
        }
        auto [mu, place, atom] = find_event(count, current, 10.0 * rounding, work);
        // A code that vanishes together with the residual leaves at mu = 0 up to the rounding of u.
        if (mu <= stop || mu <= (constant == 0.0 ? 1e4 : 1.0) * rounding * largest)
            return {count, std::min(stop, current), constant, growth};
        current = mu;
        if (place >= 0) {
            work.state[work.active[place]] = 0;
            remove(place, count, gram, work);
            count--;
            // Atoms that depended on the active atoms (state 2) may be independent now, and are free to enter (0).
            for (uint8_t &state : static_cast<Span<uint8_t> &>(work.state)) state &= 1;
        } else if (count + 1 < work.active.size() && append(atom, count, gram, work, settings.dependent)) {
            work.state[atom] = 1;
            count++;
        } else {
            work.state[atom] = 2;
        }
    }
    return {count, current, constant, growth};
}

struct Coded {
    double residual, objective, gap;  // residual: ||p - A x||_2
};

// Return the objective and its distance from the dual value of the residual, scaled into the feasible set.
//
// `fitted` is x^T A^T r, `steepest` the largest a_j^T r.
static Coded with_gap(double residual, double mass, double fitted, double steepest, double lam, bool squared) {
    double scale, value, dual;
    if (squared) {
        scale = steepest > lam ? lam / steepest : 1.0;
        value = 0.5 * residual * residual + lam * mass;
        dual = scale * (residual * residual + fitted) - 0.5 * scale * scale * residual * residual;
    } else {
        scale = 1.0 / residual;
        if (steepest * scale > lam) scale = lam / steepest;
        value = residual + lam * mass;
        dual = scale * (residual * residual + fitted);
    }
    return {residual, value, std::max(value - dual, 0.0)};
}

// Write the code of a point of the path.
//
// Without a penalty, scaling does not make a dual point with a_j^T r > 0 feasible. So a_j^T r of at most the length of
// the atom times `noise` counts as zero then.
static Coded read(const Point &point, Table<const double> gram, double noise, double lam, bool squared, Work &work) {
    double mu = point.mu, mass = 0.0, fitted = 0.0, steepest = 0.0, spread = 0.0;
    work.code.fill(0.0);
    for (int64_t i = 0; i < point.count; i++) {
        int64_t j = work.active[i];
        double value = std::max(work.fit[i] - mu * work.turn[i], 0.0);
        work.code[j] = value;
        mass += value;
        fitted += value * (work.alpha[j] + mu * work.beta[j]);
    }
    for (int64_t j = 0; j < work.code.size(); j++) {
        double slope = work.alpha[j] + mu * work.beta[j];
        if (lam > 0.0 || slope > noise * std::sqrt(gram(j, j))) steepest = std::max(steepest, slope);
        spread = std::max(spread, work.beta[j]);
    }
    double residual = std::sqrt(point.constant + mu * mu * point.growth);
    if (residual > 0.0 || squared) return with_gap(residual, mass, fitted, steepest, lam, squared);
    // The residual is zero, so it gives no dual point. The limit of its direction for mu -> 0 is used instead.
    double dual = 0.0;
    for (int64_t i = 0; i < point.count; i++) dual += lam * work.turn[i] * work.product[work.active[i]];
    return {residual, lam * mass, std::max(lam * mass - dual / std::max(1.0, spread), 0.0)};
}

using Codes = std::tuple<Vector<int64_t>, Vector<int32_t>, Vector<double>, Vector<double>, Vector<double>,
                         Vector<double>>;

static Codes code_documents(const Rows &documents, const Rows &by_term, const Rows &by_atom, Table<const double> gram,
                            double lam, bool squared, const Settings &settings) {
    int64_t count = documents.size(), atoms = gram.rows, used = 0;
    Work work(by_term.size(), atoms);
    Vector<int64_t> lengths(count);
    Vector<double> residual(count), objective(count), gaps(count);
    Vector<int32_t> out_atom(atoms + 32 * count);
    Vector<double> out_value(atoms + 32 * count);
    for (int64_t d = 0; d < count; d++) {
        auto terms = documents.indices.part(documents.starts[d], documents.starts[d + 1]);
        auto values = documents.values.part(documents.starts[d], documents.starts[d + 1]);
        double largest = 0.0, square = 0.0;
        for (double value : values) largest = std::fabs(value) <= largest ? largest : std::fabs(value);
        if (largest == 0.0) continue;
        double unit = std::ldexp(1.0, exponent_of(largest)), weight = squared ? lam / unit : lam;
        work.product.fill(0.0);
        for (int64_t position = 0; position < terms.size(); position++) {
            double value = values[position] / unit;
            square += value * value;
            int64_t term = terms[position];
            for (int64_t entry = by_term.starts[term]; entry < by_term.starts[term + 1]; entry++)
                work.product[by_term.indices[entry]] += value * by_term.values[entry];
        }
        double noise = 32.0 * settings.rounding * std::sqrt(square);
        Point end = follow(terms, values, unit, by_atom, gram, square, weight, squared, work, settings);
        Coded coded = read(end, gram, noise, weight, squared, work);
        double scale = squared ? unit * unit : unit;
        residual[d] = coded.residual * unit, objective[d] = coded.objective * scale, gaps[d] = coded.gap * scale;
        if (used + atoms > out_atom.size()) {
            int64_t room = 2 * out_atom.size() + atoms;
            out_atom.lengthen(room), out_value.lengthen(room);
        }
        int64_t first = used;
        for (int64_t j = 0; j < atoms; j++)
            if (work.code[j] > 0.0) {
                out_atom[used] = static_cast<int32_t>(j), out_value[used] = work.code[j] * unit;
                used++;
            }
        lengths[d] = used - first;
        double norm = std::sqrt(square) * unit;
        if (used == first && std::fabs(norm - 1.0) <= (4 + terms.size()) * settings.rounding)
            // Without a code, documents of unit norm up to rounding get exactly equal scores.
            residual[d] = 1.0, objective[d] = squared ? 0.5 : 1.0;
    }
    out_atom.shorten(used), out_value.shorten(used);
    return {std::move(lengths),  std::move(out_atom),  std::move(out_value),
            std::move(residual), std::move(objective), std::move(gaps)};
}

}  // namespace path

void bind_lars_path(nb::module_ &kernels) {
    auto module = kernels.def_submodule("lars_path", "The non-negative LARS path.");
    module.def("code_documents", &path::code_documents, "documents"_a, "by_term"_a, "by_atom"_a, "gram"_a, "lam"_a,
               "squared"_a, "settings"_a, release(),
               R"(Code documents by the non-negative LARS path.

Parameters
----------
documents : tuple of ndarray
    Starts, terms and values of the documents (CSR).
by_term, by_atom : tuple of ndarray
    Starts, indices and values of the dictionary by rows (CSR) and by columns (CSC).
gram : ndarray of float64, shape (n_atoms, n_atoms)
    Inner products of the atoms.
lam : float
    Weight of the l1 norm of codes.
squared : bool
    Whether the loss is half the squared residual norm instead of the residual norm.
settings : tuple of float
    Relative rounding error; smallest squared sine between an atom and the span of the active atoms; share of ||p||^2
    below which c is computed from the residual; largest number of steps in addition to four per atom.

Returns
-------
lengths : ndarray
    Number of non-zero codes of each document.
atoms, values : ndarray
    Atoms and values of the non-zero codes, one document after another.
residual, objective, gap : ndarray of float64, shape (n_documents,)
    Residual norm, objective and duality gap.)");
}

}  // namespace odl
