// Codes of the squared loss with the penalty of a tree (tree_norm.h), for each document:
//
//     min_x 1/2 ||p - D x||_2^2 + lam Omega(x)      (optionally subject to x >= 0)
//
// The solver is FISTA with restarts, preceded by ADMM for dense signals with fewer entries than atoms.
#include <cmath>
#include <limits>

#include "bindings.h"
#include "sums.h"
#include "tree_norm.h"

namespace odl {

namespace {

using std::int64_t;

// Parameters of ADMM.
constexpr double THRESHOLD = 0.1;   // lam / rho, in units of ||p|| divided by the norm of the longest atom
constexpr int64_t PATIENCE = 100;   // largest number of iterations; FISTA continues
constexpr double STEEPEST = 1e-9;   // smallest rho divided by the largest eigenvalue of D^T D
constexpr double RELAXATION = 1.7;  // factor of the over-relaxation
constexpr double INFINITE = std::numeric_limits<double>::infinity();

struct StoppingRule {
    bool by_gap;         // whether the duality gap is tested; otherwise the decrease since the last test
    double tolerance;    // largest value at which the solver stops, relative to the objective
    int64_t iterations;  // largest number of iterations
    int64_t every;       // iterations between two tests
    static constexpr auto members() {
        return std::tuple{&StoppingRule::by_gap, &StoppingRule::tolerance, &StoppingRule::iterations,
                          &StoppingRule::every};
    }
};

struct Penalty {
    TreeLayout layout;
    double lam;
    bool infinity;  // whether the norm of a group is l-infinity; otherwise l2
    bool positive;  // whether codes must not be negative
};

struct Result {
    double residual, penalty, gap;
    int64_t iterations;
};

// Work space for one document, with one entry per atom.
struct Vectors {
    explicit Vectors(int64_t n_atoms)
        : x(n_atoms), gx(n_atoms), last(n_atoms), glast(n_atoms), point(n_atoms), dual(n_atoms), work(n_atoms),
          factor(n_atoms) {}

    Vector<double> x;               // code
    Vector<double> gx;              // D^T D x
    Vector<double> last, glast;     // x and D^T D x of the iteration before
    Vector<double> point;           // extrapolated code y
    Vector<double> dual;            // D^T (p - D x)
    Vector<double> work, factor;
};

// The rows of D for the known entries of a document, and the transpose of this matrix.
struct KnownRows {
    Matrix<double> rows, columns;
};

void copy(Span<const double> from, Span<double> to) { std::copy(from.begin(), from.end(), to.begin()); }

Matrix<double> gram_matrix(Table<const double> D) {
    Matrix<double> G(D.columns, D.columns);
    for (int64_t i = 0; i < D.rows; i++)
        for (int64_t j = 0; j < D.columns; j++)
            if (D(i, j) != 0.0) add_multiple(G[j], D(i, j), D[i]);
    return G;
}

// Return an upper bound of the largest eigenvalue of K = C^T C: the fourth root of the largest row sum of |K^4|.
double steepness_of(Table<const double> columns) {
    Matrix<double> K = gram_matrix(gram_matrix(gram_matrix(columns)));
    double bound = 0.0;
    for (int64_t i = 0; i < K.rows; i++) {
        double total = 0.0;
        for (double value : K[i]) total += std::abs(value);
        bound = std::max(bound, total);
    }
    return std::sqrt(std::sqrt(bound));
}

double steepness(Table<const double> gram, int64_t rounds) {
    int64_t size = gram.rows;
    Vector<double> v(size), image(size);
    v.fill(1.0);
    double best = INFINITE;
    for (int64_t round = 0; round < rounds; round++) {
        image.fill(0.0);
        double bound = 0.0, largest = 0.0;
        for (int64_t i = 0; i < size; i++)
            for (int64_t j = 0; j < size; j++) image[j] += v[i] * std::abs(gram(i, j));
        for (int64_t i = 0; i < size; i++) bound = std::max(bound, image[i] / v[i]);
        best = std::min(best, bound);
        for (int64_t i = 0; i < size; i++) {
            v[i] = image[i] + 1e-6 * bound * v[i];
            largest = i == 0 ? v[i] : std::max(largest, v[i]);
        }
        double scale = largest > 0.0 ? largest : 1.0;
        for (double &value : v) value = std::max(value / scale, 1e-12);
    }
    return best;
}

// image <- D x. Zeros of x take no time.
void multiply(Span<const double> x, Table<const double> columns, Span<double> image) {
    image.fill(0.0);
    for (int64_t j = 0; j < x.size(); j++)
        if (x[j] != 0.0) add_multiple(image, x[j], columns[j]);
}

// out <- D^T image. Four rows of D are added at once, so that `out` is read and written less often.
void multiply_back(Table<const double> rows, Span<const double> image, Span<double> out) {
    out.fill(0.0);
    int64_t fours = image.size() - image.size() % 4;
    double *__restrict to = out.data;
    for (int64_t i = 0; i < fours; i += 4) {
        double a = image[i], b = image[i + 1], c = image[i + 2], d = image[i + 3];
        const double *first = rows[i].data, *second = rows[i + 1].data, *third = rows[i + 2].data;
        const double *fourth = rows[i + 3].data;
        for (int64_t j = 0; j < out.size(); j++) to[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j]);
    }
    for (int64_t i = fours; i < image.size(); i++) add_multiple(out, image[i], rows[i]);
}

// The linear map D^T D, given by the Gram matrix or by the known rows of D.
class Normal {
  public:
    explicit Normal(Table<const double> gram) : gram(gram) {}
    explicit Normal(const KnownRows &known) : known(&known), image(known.rows.rows) {}

    // out <- D^T D x. Zeros of x take no time.
    void apply(Span<const double> x, Span<double> out) {
        if (known) {
            multiply(x, known->columns, image);
            multiply_back(known->rows, image, out);
        } else {
            multiply(x, gram, out);
        }
    }

  private:
    Table<const double> gram;
    const KnownRows *known = nullptr;
    Vector<double> image;
};

// Return a duality gap: `value`, the objective, minus the dual value at s k. The factor s makes s k feasible.
//
// `inner` is k^T p, `length` is ||k||^2, and `bound` is an upper bound on Omega*(D^T k).
double dual_gap(double value, double inner, double length, double lam, double bound) {
    double most = bound > lam ? lam / bound : 1.0;  // s > 1 may be feasible, but is not better near the optimum
    double scale = length > 0.0 ? std::min(std::max(inner / length, 0.0), most) : 0.0;
    return std::max(value - (scale * inner - 0.5 * scale * scale * length), 0.0);
}

// FISTA (Beck and Teboulle 2009) with the gradient restart of O'Donoghue and Candes 2015. It starts at the code in w.x.
class Fista {
  public:
    Fista(double square, Span<const double> correlation, Normal &normal, const Penalty &penalty, double lipschitz,
          Vectors &w)
        : square(square), correlation(correlation), normal(normal), penalty(penalty), lipschitz(lipschitz), w(w) {}

    Result run(const StoppingRule &rule) {
        double momentum = 1.0, step = 1.0 / lipschitz, speed = 0.0, before = INFINITE;
        normal.apply(w.x, w.gx);
        copy(w.x, w.last), copy(w.gx, w.glast);
        Result result{0.0, 0.0, 0.0, 0};
        for (int64_t done = 0;; done++) {
            bool ended = done == rule.iterations;
            if (done % rule.every == 0 || ended) {
                double value = evaluate(result);
                bool enough = ended || (!rule.by_gap && before - value <= rule.tolerance * value);
                before = value;
                if (rule.by_gap || enough) {
                    result.gap = gap(value);
                    enough = enough || result.gap <= rule.tolerance * value;
                }
                if (enough) {
                    result.iterations = done;
                    return result;
                }
            }
            descend(speed, step);
            tree_prox(w.x, penalty.layout, step * penalty.lam, penalty.infinity, penalty.positive, {w.work, w.factor});
            normal.apply(w.x, w.gx);
            double after = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * momentum * momentum));
            bool steady = uphill() <= 0.0;
            speed = steady ? (momentum - 1.0) / after : 0.0;
            momentum = steady ? after : 1.0;
        }
    }

  private:
    // Set the residual and the penalty of the result; return their sum, the objective.
    double evaluate(Result &result) {
        fit = inner_product(w.x, correlation), energy = inner_product(w.x, w.gx);
        result.penalty = penalty.lam * tree_value(w.x, penalty.layout, penalty.infinity, w.work);
        result.residual = std::max(0.5 * square - fit + 0.5 * energy, 0.0);
        return result.residual + result.penalty;
    }

    // Return the duality gap at the dual point k = p - D x, scaled to be feasible.
    //
    // The dual is max_k k^T p - 1/2 ||k||^2 subject to Omega*(D^T k) <= lam. If codes must not be negative, Omega* is
    // that of the positive part of D^T k.
    double gap(double value) {
        for (int64_t j = 0; j < w.x.size(); j++) {
            w.dual[j] = correlation[j] - w.gx[j];
            if (penalty.positive) w.dual[j] = std::max(w.dual[j], 0.0);
        }
        double bound = tree_dual_norm(w.dual, penalty.layout, penalty.lam, penalty.infinity, {w.work, w.factor});
        return dual_gap(value, square - fit, std::max(square - 2.0 * fit + energy, 0.0), penalty.lam, bound);
    }

    // x <- y - step (D^T D y - D^T p) with the extrapolated code y = x + speed (x - last). `last` and `glast` become
    // the former x and D^T D x.
    void descend(double speed, double step) {
        int64_t n_atoms = w.x.size();  // several short loops, since the compiler does not vectorise a long one
        for (int64_t j = 0; j < n_atoms; j++) w.point[j] = w.x[j] + speed * (w.x[j] - w.last[j]);
        for (int64_t j = 0; j < n_atoms; j++) w.dual[j] = w.gx[j] + speed * (w.gx[j] - w.glast[j]) - correlation[j];
        copy(w.x, w.last), copy(w.gx, w.glast);
        for (int64_t j = 0; j < n_atoms; j++) w.x[j] = w.point[j] - step * w.dual[j];
    }

    // Return (y - x)^T (x - last). If it is positive, the momentum increases the objective, so that FISTA restarts.
    double uphill() const {
        double total = 0.0;
        for (int64_t j = 0; j < w.x.size(); j++) total += (w.point[j] - w.x[j]) * (w.x[j] - w.last[j]);
        return total;
    }

    double square;
    Span<const double> correlation;
    Normal &normal;
    const Penalty &penalty;
    double lipschitz;
    Vectors &w;
    double fit = 0.0, energy = 0.0;  // p^T D x and ||D x||^2
};

// K <- K^-1 by Gauss-Jordan elimination. K is symmetric and positive definite, so that no pivoting is needed.
void invert(Table<double> K) {
    for (int64_t k = 0; k < K.rows; k++) {
        double pivot = 1.0 / K(k, k);
        K(k, k) = 1.0;
        for (double &value : K[k]) value *= pivot;
        for (int64_t i = 0; i < K.rows; i++) {
            if (i == k) continue;
            double factor = K(i, k);
            K(i, k) = 0.0;
            add_multiple(K[i], -factor, K[k]);
        }
    }
}

// Code one signal with fewer entries than atoms by ADMM, starting at the code in w.x:
//
//     min_{x, z} 1/2 ||p - D x||_2^2 + lam Omega(z)  subject to  x = z
//
// with over-relaxation (Boyd et al. 2011, section 3.4.3). The step in x, (D^T D + rho)^-1 (D^T p + rho (z - u)), is
// z - u + D^T q with q = (rho + D D^T)^-1 (p - D (z - u)). `inverse` is (rho + D D^T)^-1. The iteration stops by the
// duality gap of z and the dual point rho q = p - D x, scaled to be feasible. FISTA is slow here, since D^T D is
// singular.
Result run_admm(Span<const double> signal, const KnownRows &known, Table<const double> inverse, double rho,
                const Penalty &penalty, const StoppingRule &rule, Vectors &w) {
    int64_t n_atoms = w.x.size(), n_entries = signal.size();
    auto &u = w.point, &moved = w.last, &out = w.gx;
    Vector<double> image(n_entries), q(n_entries), rest(n_entries), u_image(n_entries);
    multiply(w.x, known.columns, image);
    u.fill(0.0);
    for (int64_t i = 0; i < n_entries; i++) q[i] = (signal[i] - image[i]) / rho;
    multiply_back(known.rows, q, out);
    for (int64_t done = 0;; done++) {
        if (done % rule.every == 0 || done == rule.iterations) {
            double residual = 0.0, inner = 0.0, length = 0.0;
            for (int64_t i = 0; i < n_entries; i++) {
                double missing = signal[i] - image[i];
                residual += 0.5 * (missing * missing);
                inner += rho * q[i] * signal[i];
                length += rho * q[i] * rho * q[i];
            }
            for (int64_t j = 0; j < n_atoms; j++)
                w.dual[j] = penalty.positive ? std::max(rho * out[j], 0.0) : rho * out[j];
            double omega = penalty.lam * tree_value(w.x, penalty.layout, penalty.infinity, w.work);
            double value = residual + omega;
            double bound = tree_dual_norm(w.dual, penalty.layout, penalty.lam, penalty.infinity, {w.work, w.factor});
            double gap = dual_gap(value, inner, length, penalty.lam, bound);
            if (gap <= rule.tolerance * value || done == rule.iterations) return {residual, omega, gap, done};
        }
        for (int64_t i = 0; i < n_entries; i++) rest[i] = signal[i] - image[i] + u_image[i];
        multiply_back(inverse, rest, q);
        multiply_back(known.rows, q, out);
        for (int64_t j = 0; j < n_atoms; j++) moved[j] = w.x[j] + u[j] + RELAXATION * (out[j] - u[j]);
        copy(moved, w.x);
        tree_prox(w.x, penalty.layout, penalty.lam / rho, penalty.infinity, penalty.positive, {w.work, w.factor});
        for (int64_t j = 0; j < n_atoms; j++) u[j] = moved[j] - w.x[j];
        for (int64_t i = 0; i < n_entries; i++)  // D D^T q = rest - rho q; u_image = D u
            u_image[i] += image[i] + RELAXATION * (rest[i] - rho * q[i] - u_image[i]);
        multiply(w.x, known.columns, image);
        for (int64_t i = 0; i < n_entries; i++) u_image[i] -= image[i];
    }
}

void write(Span<double> row, const Result &result) {
    row[0] = result.residual, row[1] = result.penalty, row[2] = result.gap;
    row[3] = static_cast<double>(result.iterations);
}

Matrix<double> code_rows(Table<double> X, Span<const double> squares, Table<const double> correlations,
                         Table<const double> gram, TreeLayout layout, double lam, double lipschitz, bool infinity,
                         bool positive, StoppingRule rule) {
    Penalty penalty{layout, lam, infinity, positive};
    Matrix<double> ends(X.rows, 4);
    Vectors w(X.columns);
    Normal normal(gram);
    for (int64_t row = 0; row < X.rows; row++) {
        copy(X[row], w.x);
        write(ends[row], Fista(squares[row], correlations[row], normal, penalty, lipschitz, w).run(rule));
        copy(w.x, X[row]);
    }
    return ends;
}

// Coder of dense signals with unknown entries.
class MaskedCoder {
  public:
    MaskedCoder(Table<const double> D, const Penalty &penalty, double lipschitz, const StoppingRule &rule)
        : D(D), penalty(penalty), lipschitz(lipschitz), rule(rule), w(D.columns) {
        if (rule.by_gap && D.rows < D.columns) prepare_admm();
    }

    Result code(Span<const double> p, Span<const bool> mask, Span<double> x) {
        int64_t n_known = 0;
        for (bool is_known : mask) n_known += is_known;
        bool complete = n_known == D.rows;
        Vector<int64_t> places(n_known);
        for (int64_t i = 0, known = 0; i < mask.size(); i++)
            if (mask[i]) places[known++] = i;
        KnownRows known{{n_known, D.columns}, {D.columns, n_known}};
        Vector<double> signal(n_known), correlation(D.columns);
        double square = 0.0;
        for (int64_t i = 0; i < n_known; i++) {
            signal[i] = p[places[i]];
            square += signal[i] * signal[i];
            for (int64_t j = 0; j < D.columns; j++) {
                known.rows(i, j) = known.columns(j, i) = D(places[i], j);
                correlation[j] += signal[i] * known.rows(i, j);
            }
        }
        copy(x, w.x);
        Result result{0.0, 0.0, 0.0, 0};
        bool ended = false;
        double rho = 0.0;
        // rho is `weight` times a power of two near 1 / ||p||. Complete signals of similar norm share an inverse.
        if (0.0 < square && square < 1e200)
            rho = weight * std::ldexp(1.0, -static_cast<int>(std::nearbyint(0.5 * std::log2(square))));
        if (rho > STEEPEST * lipschitz) {
            if (!complete || inverted != rho) set_inverse(places, rho);
            inverted = complete ? rho : 0.0;
            StoppingRule first{rule.by_gap, rule.tolerance, std::min(rule.iterations, PATIENCE), rule.every};
            result = run_admm(signal, known, inverse, rho, penalty, first, w);
            double limit = rule.tolerance * (result.residual + result.penalty);
            ended = result.iterations == rule.iterations || result.gap <= limit;
        }
        if (!ended) {
            int64_t spent = result.iterations;
            double steep = complete ? lipschitz : std::min(steepness_of(known.columns), lipschitz);
            StoppingRule rest{rule.by_gap, rule.tolerance, rule.iterations - spent, rule.every};
            Normal normal(known);
            result = Fista(square, correlation, normal, penalty, std::max(steep, 1e-300), w).run(rest);
            result.iterations += spent;
        }
        copy(w.x, x);
        return result;
    }

  private:
    void prepare_admm() {
        Matrix<double> transposed(D.columns, D.rows);
        Vector<double> squares(D.columns);
        for (int64_t i = 0; i < D.rows; i++)
            for (int64_t j = 0; j < D.columns; j++) {
                transposed(j, i) = D(i, j);
                squares[j] += D(i, j) * D(i, j);
            }
        outer = gram_matrix(transposed);
        double longest = squares[0];
        for (double square : squares) longest = std::max(longest, square);
        weight = penalty.lam / THRESHOLD * std::sqrt(longest);
    }

    // inverse <- (rho + D D^T)^-1 for the known rows of D, whose numbers are `places`.
    void set_inverse(Span<const int64_t> places, double rho) {
        inverse = Matrix<double>(places.size(), places.size());
        for (int64_t i = 0; i < places.size(); i++) {
            for (int64_t k = 0; k < places.size(); k++) inverse(i, k) = outer(places[i], places[k]);
            inverse(i, i) += rho;
        }
        invert(inverse);
    }

    Table<const double> D;
    const Penalty &penalty;
    double lipschitz;
    const StoppingRule &rule;
    Vectors w;
    Matrix<double> outer, inverse;  // D D^T; (rho + D D^T)^-1 for the known rows
    double weight = 0.0;            // rho ||p||
    double inverted = 0.0;          // rho in `inverse` if all rows are known, else 0
};

Matrix<double> code_masked(Table<double> X, Table<const double> P, Table<const bool> mask, Table<const double> D,
                           TreeLayout layout, double lam, double lipschitz, bool infinity, bool positive,
                           StoppingRule rule) {
    Penalty penalty{layout, lam, infinity, positive};
    MaskedCoder coder(D, penalty, lipschitz, rule);
    Matrix<double> ends(X.rows, 4);
    for (int64_t row = 0; row < X.rows; row++) write(ends[row], coder.code(P[row], mask[row], X[row]));
    return ends;
}

}  // namespace

void bind_tree_codes(nb::module_ &kernels) {
    auto module = kernels.def_submodule("tree_codes", "Codes of the squared loss with the penalty of a tree.");
    module.def("gram_matrix", &gram_matrix, "D"_a, release(),
               "Return D^T D of a dense matrix. Sums run over the rows of D in order; zeros take no time.");
    module.def("steepness", &steepness, "gram"_a, "rounds"_a, release(),
               R"(Return an upper bound of the largest eigenvalue of a Gram matrix G.

For every positive vector v, it is at most max_i (|G| v)_i / v_i (Collatz and Wielandt). Power steps improve v. The
bound is tight for matrices without negative entries.

Parameters
----------
gram : ndarray of float64, shape (n_atoms, n_atoms)
rounds : int
    Number of power steps.)");
    module.def("code_rows", &code_rows, "X"_a, "squares"_a, "correlations"_a, "gram"_a, "layout"_a, "lam"_a,
               "lipschitz"_a, "infinity"_a, "positive"_a, "rule"_a, release(),
               R"(Code documents one by one by FISTA.

Parameters
----------
X : ndarray of float64, shape (n_documents, n_atoms), changed
    On entry the starting point, on exit the codes. Atoms are in the order of the layout.
squares : ndarray of float64, shape (n_documents,)
    ||p||^2.
correlations : ndarray of float64, shape (n_documents, n_atoms)
    P D.
gram : ndarray of float64, shape (n_atoms, n_atoms)
    D^T D.
layout, infinity, positive
    As in tree_norm.prox_rows.
lam : float
    Weight of the penalty.
lipschitz : float
    Upper bound of the largest eigenvalue of D^T D.
rule : tuple
    Whether the stopping rule tests the duality gap (true) or the decrease of the objective; tolerance, relative to the
    objective; largest number of iterations; iterations between two tests.

Returns
-------
ndarray of float64, shape (n_documents, 4)
    Residual, penalty, duality gap and iterations of each document.)");
    module.def("code_masked", &code_masked, "X"_a, "P"_a, "mask"_a, "D"_a, "layout"_a, "lam"_a, "lipschitz"_a,
               "infinity"_a, "positive"_a, "rule"_a, release(),
               R"(Code dense signals with unknown entries.

If D has fewer terms than atoms and the rule tests the gap, a document is coded by ADMM. If this has not converged after
100 iterations, FISTA continues. Otherwise, a document is coded by FISTA.

Parameters
----------
X, layout, lam, lipschitz, infinity, positive, rule
    As in code_rows.
P : ndarray of float64, shape (n_documents, n_terms)
    Signals; unknown entries are zero.
mask : ndarray of bool, shape (n_documents, n_terms)
    Whether each entry is known.
D : ndarray of float64, shape (n_terms, n_atoms)

Returns
-------
ndarray of float64, shape (n_documents, 4)
    As code_rows.)");
}

}  // namespace odl
