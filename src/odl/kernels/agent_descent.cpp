// Coordinate descent on the codes of the objective over agents (agent_losses.h), and the learning step of the atoms, in
// a single process. Descent on a code stops when its relative duality gap is small.
#include <limits>

#include "agent_losses.h"
#include "bindings.h"

namespace odl {

namespace {

using std::int64_t;

struct StoppingRule {
    double tolerance;  // duality gap divided by the objective
    int64_t sweeps;    // largest number of sweeps over the atoms
};

struct Objective {
    double residual, penalty, gap;

    double value() const { return residual + penalty; }
};

class AgentCoder {
  public:
    AgentCoder(const Rows &columns, int64_t n_terms, const AgentModel &model, const StoppingRule &rule)
        : model(model), rule(rule), atoms(read_atoms(columns)), sizes(columns.size()), work(n_terms, columns.size()) {
        for (int64_t j = 0; j < sizes.size(); j++) sizes[j] = squared_size(atoms[j]);
    }

    // Compute the code of a document and return its objective. The code remains in `work` until `clear` is called.
    Objective code(const Entries &document) {
        work.start(document);
        screen_atoms(atoms, model, 1.0, work);
        Objective now = evaluate(document);
        int64_t used = 0;
        while (now.gap > rule.tolerance * now.value() && used < rule.sweeps) {
            double first = sweep(false), largest = first;
            used++;
            for (int round = 0; round < 20; round++) {  // sweeps over the atoms with a non-zero code only
                if (largest <= 0.01 * first || used >= rule.sweeps) break;
                largest = sweep(true);
                used++;
            }
            now = evaluate(document);
        }
        return now;
    }

    // Take a learning step of the atoms on the document that was coded.
    void learn(double step, double beta) {
        for (std::size_t j = 0; j < atoms.size(); j++)
            if (work.code[j] != 0.0 || beta > 0.0)  // the prox also shrinks atoms with a zero code
                sizes[j] = step_atom(atoms[j], step * work.code[j], step * beta, work.touched, model.is_signed, work);
    }

    void clear() { work.clear(); }
    Span<const double> codes() const { return work.code; }
    const Atoms &learned() const { return atoms; }

  private:
    // Return the y_j that minimises the objective with the other codes fixed.
    //
    // The derivative is piecewise linear; its root is found by Newton's method within a bracket.
    double minimise(const Entries &atom, double start, double size) const {
        auto [gamma, delta, eta, is_signed] = model;
        if (eta == 0.0) {
            double total = agreement(atom, work.rest, eta) + size * start;
            return soft(total, gamma, is_signed) / (size + delta);
        }
        double at = start, high = std::numeric_limits<double>::infinity(), low = -high;
        for (int round = 0; round < 10; round++) {
            double moved = at - start, total = 0.0, curve = 0.0;
            for (auto [term, weight] : atom) {
                double left = work.rest[term] - weight * moved;
                if (std::abs(left) < eta) {
                    curve += weight * weight;
                    total += weight * left / eta;
                } else {
                    total += std::copysign(weight, weight * left);
                }
            }
            curve /= eta;
            double target = soft(total + curve * at, gamma, is_signed) / (curve + delta);
            if (std::abs(target - at) <= 1e-9 * std::abs(at)) return target;
            (target > at ? low : high) = at;
            at = low < target && target < high ? target : 0.5 * (low + high);
        }
        return at;
    }

    // Minimise the objective over one code after another: of all candidates, or (`active`) of the non-zero codes.
    // Return the largest change |y_j' - y_j| ||w_j||.
    double sweep(bool active) {
        double largest = 0.0;
        for (int64_t j : work.candidates) {
            double old = work.code[j];
            if (active && old == 0.0) continue;
            double now = minimise(atoms[j], old, sizes[j]);
            if (now == old) continue;
            for (auto [term, weight] : atoms[j]) {
                work.rest[term] -= weight * (now - old);
                work.touch(term);
            }
            work.code[j] = now;
            largest = std::max(largest, std::abs(now - old) * std::sqrt(sizes[j]));
        }
        return largest;
    }

    // Return the objective of the code and its duality gap; write nu to `work.dual` on the touched terms.
    Objective evaluate(const Entries &document) {
        auto [gamma, delta, eta, is_signed] = model;
        double residual = 0.0, penalty = 0.0, dual = 0.0;
        for (auto term : work.touched) {
            residual += loss_of(work.rest[term], eta);
            double nu = slope_of(work.rest[term], eta);
            work.dual[term] = nu;
            dual -= 0.5 * model.curvature() * (nu * nu);
        }
        for (auto [term, value] : document) dual += work.dual[term] * value;
        for (int64_t j : work.candidates) {
            double y = work.code[j];
            double pull = soft(agreement(atoms[j], work.rest, eta), gamma, is_signed);
            penalty += gamma * std::abs(y) + 0.5 * delta * (y * y);
            dual -= 0.5 / delta * (pull * pull);
        }
        return {residual, penalty, residual + penalty - dual};
    }

    const AgentModel model;
    const StoppingRule rule;
    Atoms atoms;
    Vector<double> sizes;  // ||w_j||^2
    AgentWork work;
};

std::tuple<Matrix<double>, Matrix<double>> code_documents(Rows documents, Rows atoms, int64_t n_terms,
                                                          AgentModel model, double tolerance, int64_t sweeps) {
    AgentCoder coder(atoms, n_terms, model, {tolerance, sweeps});
    Matrix<double> codes(documents.size(), atoms.size()), parts(3, documents.size());
    for (int64_t d = 0; d < documents.size(); d++) {
        Objective found = coder.code(entries_of(documents, d));
        parts(0, d) = found.residual, parts(1, d) = found.penalty, parts(2, d) = std::max(found.gap, 0.0);
        std::copy(coder.codes().begin(), coder.codes().end(), codes[d].begin());
        coder.clear();
    }
    return {std::move(codes), std::move(parts)};
}

Columns learn_documents(Rows documents, Rows atoms, int64_t n_terms, AgentModel model, double tolerance,
                        int64_t sweeps, double step, double beta) {
    AgentCoder coder(atoms, n_terms, model, {tolerance, sweeps});
    for (int64_t d = 0; d < documents.size(); d++) {
        coder.code(entries_of(documents, d));
        coder.learn(step, beta);
        coder.clear();
    }
    return write_atoms(coder.learned());
}

}  // namespace

void bind_agent_descent(nb::module_ &kernels) {
    auto module = kernels.def_submodule("agent_descent", "Codes of the objective over agents by coordinate descent.");
    module.def("code_documents", &code_documents, "documents"_a, "atoms"_a, "n_terms"_a, "model"_a, "tolerance"_a,
               "sweeps"_a, release(),
               R"(Code documents one by one.

Parameters
----------
documents : tuple of ndarray
    Starts, terms and values of the rows of a sparse matrix, of int64, uint32 and float64.
atoms : tuple of ndarray
    Starts, terms and weights of the columns of the dictionary, of the same types.
n_terms : int
    Number of rows of the dictionary.
model : odl.kernels.records.AgentModel
tolerance : float
    Relative duality gap (gap divided by objective) at which the descent on a document stops.
sweeps : int
    Largest number of sweeps over the atoms for a document.

Returns
-------
codes : ndarray of float64, shape (n_documents, n_atoms)
parts : ndarray of float64, shape (3, n_documents)
    Residual, penalty and duality gap of each document.)");
    module.def("learn_documents", &learn_documents, "documents"_a, "atoms"_a, "n_terms"_a, "model"_a, "tolerance"_a,
               "sweeps"_a, "step"_a, "beta"_a, release(),
               R"(Code each document, then update the atoms: w_j <- Proj(prox(w_j + step y_j nu)).

Parameters
----------
documents, atoms, n_terms, model, tolerance, sweeps
    As in code_documents.
step : float
    Step size.
beta : float
    Weight of the l1 penalty of the atoms.

Returns
-------
tuple of ndarray
    Starts, terms and weights of the learned atoms. The terms of an atom are not sorted.)");
}

}  // namespace odl
