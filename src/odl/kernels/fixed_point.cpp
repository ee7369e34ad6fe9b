// Fixed point of diffusion over a network (ATC, eqs 31 and 37), computed directly instead of by iterating ATC.
//
// With combination weights A, shares s, q = 1 - mu c_f/N and one row of nu per agent, the fixed point of a document is
//
//     nu = Proj(A (q nu + mu (s x^T - sum_j e_o(j) y_j w_j^T))),    y_j = T(w_j^T nu_o(j))
//
// On terms where no agent is clipped, it is linear in y: nu_k = r_k x - sum_j M_k,o(j) y_j w_j, M = mu (I - q A)^-1 A,
// r = M s. Then y is the code of a small elastic net, which is solved by coordinate descent. On a term that may be
// clipped, each agent is free or at a limit. Given which agents are at a limit, nu is linear in y there too, with other
// coefficients (the response of the term). Solving for y and updating the agents at a limit alternate.
//
// The result is stored as in dual_coefficients.h; adapt_then_combine.cpp iterates from it.
#include "fixed_point.h"

#include "bindings.h"

namespace odl {

namespace {

using std::int64_t, std::int8_t;

constexpr int SWEEPS = 2000;     // largest number of sweeps of coordinate descent
constexpr int TURNS = 60;        // largest number of updates of the agents at a limit
constexpr double EQUAL = 1e-12;  // relative change of converged codes; tolerance at a limit

// right <- matrix^-1 right, by elimination without pivoting; rows must be strictly diagonally dominant.
void eliminate(Table<double> matrix, Table<double> right) {
    for (int64_t i = 0; i < matrix.rows; i++)
        for (int64_t row = i + 1; row < matrix.rows; row++) {
            double factor = matrix(row, i) / matrix(i, i);
            if (factor == 0.0) continue;
            add_multiple(matrix[row].from(i + 1), -factor, matrix[i].from(i + 1));
            add_multiple(right[row], -factor, right[i]);
        }
    for (int64_t i = matrix.rows - 1; i >= 0; i--) {
        for (int64_t row = i + 1; row < matrix.rows; row++)
            if (matrix(i, row) != 0.0) add_multiple(right[i], -matrix(i, row), right[row]);
        for (double &value : right[i]) value /= matrix(i, i);
    }
}

Matrices<double> spread(Table<const double> weights, double mu, double pull) {
    int64_t n_agents = weights.rows;
    Matrices<double> both(2, n_agents, n_agents);
    Matrix<double> matrix(n_agents, n_agents);
    for (int64_t k = 0; k < n_agents; k++)
        for (int64_t other = 0; other < n_agents; other++) {
            both(0, k, other) = mu * weights(k, other);
            both(1, k, other) = weights(k, other);
            matrix(k, other) = (k == other ? 1.0 : 0.0) - (1.0 - pull) * weights(k, other);
        }
    eliminate(matrix, both[0]);
    return both;
}

// Search for the fixed point of one document, given which terms are plain.
class Search {
  public:
    Search(DualBasis &basis, Duals &duals, const AgentModel &model, const Diffusion &diffusion, double pull,
           Table<int8_t> state, Span<double> y)
        : basis(basis), duals(duals), entries(basis.entries), model(model), diffusion(diffusion), keep(1.0 - pull),
          state(state), y(y), agents(basis.n_candidates), owners(entries.size()),
          weights(basis.n_plain, basis.n_candidates), reach(n_agents()),
          response(basis.n_plain + entries.size(), n_agents()), pairs(basis.n_candidates, basis.n_candidates + 1),
          base(basis.n_candidates), push(n_agents()), stale(basis.n_plain) {
        for (int64_t k = 0; k < n_agents(); k++)
            for (int64_t other = 0; other < n_agents(); other++)
                reach[k] += diffusion.spread(0, k, other) * diffusion.shares[other];
        for (int64_t position = 0; position < basis.n_candidates; position++) {
            agents[position] = diffusion.owner[basis.work.candidates[position]];
            for (int64_t e = entries.starts[position]; e < entries.starts[position + 1]; e++) {
                owners[e] = agents[position];
                weights(entries.places[e], position) = entries.weights[e];
            }
        }
        stale.fill(true);
    }

    // Set the dual variables to the fixed point, in which only plain terms are clipped.
    void settle() {
        for (int turn = 0; turn < TURNS; turn++) {
            for (int64_t i = 0; i < basis.n_plain; i++)
                if (stale[i]) respond(i);
            for (int64_t position = 0; position < basis.n_candidates; position++) {
                int64_t k = agents[position];
                base[position] = reach[k] * basis.gram(position, 0);
                for (int64_t e = entries.starts[position]; e < entries.starts[position + 1]; e++)
                    base[position] += entries.weights[e] * response(entries.places[e], k);
            }
            for (int64_t c = 1; c < basis.n_columns; c++) set_pairs(c);
            descend();
            set_duals();
            if (!turn_agents()) break;
        }
    }

  private:
    int64_t n_agents() const { return diffusion.n_agents(); }

    // Set the responses of plain term i, given which agents are at a limit there: the dual variables of all agents if
    // all codes are 0, and how much they change with the code of each atom that has the term.
    void respond(int64_t i) {
        std::vector<int64_t> free, own;
        for (int64_t k = 0; k < n_agents(); k++)
            if (state(i, k) == 0) free.push_back(k);
        for (int64_t e = 0; e < entries.size(); e++)
            if (entries.places[e] == i) own.push_back(e);
        auto n_free = static_cast<int64_t>(free.size()), n_own = static_cast<int64_t>(own.size());
        double value = basis.x_plain[i];
        if (n_free == n_agents()) {
            for (int64_t k = 0; k < n_agents(); k++) {
                response(i, k) = reach[k] * value;
                for (int64_t e : own) response(basis.n_plain + e, k) = diffusion.spread(0, k, owners[e]);
            }
            return;
        }
        for (int64_t k = 0; k < n_agents(); k++) response(i, k) = state(i, k);
        for (int64_t e : own) response[basis.n_plain + e].fill(0.0);
        Matrix<double> matrix(n_free, n_free), right(n_free, n_own + 1);
        for (int64_t row = 0; row < n_free; row++) {
            Span<const double> mix = diffusion.spread[1][free[row]];
            for (int64_t c = 0; c < n_free; c++) matrix(row, c) = (row == c ? 1.0 : 0.0) - keep * mix[free[c]];
            for (int64_t k = 0; k < n_agents(); k++)
                right(row, 0) += mix[k] * (diffusion.mu * diffusion.shares[k] * value + keep * state(i, k));
            for (int64_t c = 0; c < n_own; c++) right(row, c + 1) = diffusion.mu * mix[owners[own[c]]];
        }
        eliminate(matrix, right);
        for (int64_t row = 0; row < n_free; row++) {
            response(i, free[row]) = right(row, 0);
            for (int64_t c = 0; c < n_own; c++) response(basis.n_plain + own[c], free[row]) = right(row, c + 1);
        }
    }

    // Set the change of w^T nu of each atom with the code of column c: by M on other terms, by responses on plain ones.
    void set_pairs(int64_t c) {
        int64_t own = basis.column[c];
        for (int64_t position = 0; position < basis.n_candidates; position++) {
            int64_t k = agents[position];
            double total = diffusion.spread(0, k, agents[own]) * basis.gram(position, c);
            for (int64_t e = entries.starts[own]; e < entries.starts[own + 1]; e++)
                total += entries.weights[e] * weights(entries.places[e], position) * response(basis.n_plain + e, k);
            pairs(position, c) = total;
        }
    }

    // Solve the codes y given the responses.
    void descend() {
        for (int sweep = 0; sweep < SWEEPS; sweep++) {
            double change = 0.0, largest = 0.0;
            for (int64_t position = 0; position < basis.n_candidates; position++) {
                int64_t c = basis.number[position];
                double total = base[position];
                for (int64_t d = 1; d < basis.n_columns; d++)
                    if (d != c) total -= pairs(position, d) * y[d];
                double value = soft(total, model.gamma, model.is_signed);
                if (c == 0) {
                    if (value == 0.0) continue;
                    c = basis.n_columns;
                    basis.add_column(position);
                    set_pairs(c);
                }
                value /= model.delta + pairs(position, c);
                change = std::max(change, std::abs(value - y[c]));
                largest = std::max(largest, std::abs(value));
                y[c] = value;
            }
            if (change <= EQUAL * largest) break;
        }
    }

    // Set the dual variables of all agents from the codes. Values on plain terms may lie beyond the limits.
    void set_duals() {
        for (int64_t k = 0; k < n_agents(); k++) {
            duals.coefficients(k, 0) = reach[k];
            for (int64_t i = 0; i < basis.n_plain; i++) duals.plain(k, i) = response(i, k);
            for (int64_t c = 1; c < basis.n_columns; c++) {
                int64_t position = basis.column[c];
                duals.coefficients(k, c) = -diffusion.spread(0, k, agents[position]) * y[c];
                for (int64_t e = entries.starts[position]; e < entries.starts[position + 1]; e++)
                    duals.plain(k, entries.places[e]) -= response(basis.n_plain + e, k) * entries.weights[e] * y[c];
            }
        }
    }

    // Set free agents whose value is beyond a limit to that limit, and release agents that would leave their limit.
    // Mark the terms on which an agent changes; return whether there are any.
    bool turn_agents() {
        bool turned = false;
        for (int64_t i = 0; i < basis.n_plain; i++) {
            stale[i] = false;
            set_push(i);
            for (int64_t k = 0; k < n_agents(); k++) {
                double value = duals.plain(k, i), edge = 1.0 + EQUAL;
                if (state(i, k) != 0) {
                    value = 0.0, edge = 1.0 - EQUAL;
                    for (int64_t other = 0; other < n_agents(); other++)
                        value += diffusion.spread(1, k, other) * push[other];
                }
                int8_t now = value > edge ? 1 : value < -edge ? -1 : 0;
                if (now == state(i, k)) continue;
                state(i, k) = now;
                stale[i] = turned = true;
            }
        }
        return turned;
    }

    // Set the value of plain term i that each agent sends to its neighbours.
    void set_push(int64_t i) {
        double mu = diffusion.mu;
        for (int64_t k = 0; k < n_agents(); k++)
            push[k] = mu * diffusion.shares[k] * basis.x_plain[i] + keep * clip(duals.plain(k, i), 1.0);
        for (int64_t c = 1; c < basis.n_columns; c++) {
            int64_t position = basis.column[c];
            for (int64_t e = entries.starts[position]; e < entries.starts[position + 1]; e++)
                if (entries.places[e] == i) push[agents[position]] -= mu * entries.weights[e] * y[c];
        }
    }

    DualBasis &basis;
    Duals &duals;
    const PlainEntries &entries;
    const AgentModel &model;
    const Diffusion &diffusion;
    double keep;              // q
    Table<int8_t> state;      // plain terms x agents: at a limit (-1, 1) or free (0)
    Span<double> y;           // codes by column
    Vector<int64_t> agents;   // agent of each candidate
    Vector<int64_t> owners;   // agent of each entry of `entries`
    Matrix<double> weights;   // plain terms x candidates: entries of the atoms
    Vector<double> reach;     // r
    Matrix<double> response;  // plain terms, then entries, x agents: see respond
    Matrix<double> pairs;     // candidates x columns: see set_pairs
    Vector<double> base;      // candidates: w_j^T nu at the agent of the atom if all codes are 0
    Vector<double> push;      // agents: see set_push
    Vector<bool> stale;       // plain terms whose response has to be computed again
};

}  // namespace

void start_at_fixed_point(DualBasis &basis, Duals &duals, const AgentModel &model, const Diffusion &diffusion,
                          double pull) {
    Vector<double> y(basis.n_candidates + 1);
    Matrix<int8_t> state(basis.n_plain, diffusion.n_agents());
    for (int64_t i = 0; i < basis.n_plain; i++) state[i].fill(basis.x_plain[i] > 0.0 ? 1 : -1);
    while (true) {
        Search(basis, duals, model, diffusion, pull, state, y).settle();
        int64_t first = model.eta == 0.0 ? -1 : basis.find_plain(duals.coefficients);
        if (first < 0) break;
        basis.update_plain(first);
        basis.set_plain(first, duals);
        Matrix<int8_t> longer(basis.n_plain, state.columns);
        for (int64_t i = 0; i < state.rows; i++) std::copy(state[i].begin(), state[i].end(), longer[i].begin());
        state = std::move(longer);
    }
    duals.clip_plain(basis.n_plain);
}

void bind_fixed_point(nb::module_ &kernels) {
    auto module = kernels.def_submodule("fixed_point", "Fixed point of diffusion over a network.");
    module.def("spread", &spread, "weights"_a, "mu"_a, "pull"_a, release(),
               R"(Return M = mu (I - (1 - pull) A)^-1 A and A: how far a push at one agent moves the others.

Parameters
----------
weights : ndarray of float64, shape (n_agents, n_agents)
    Combination weights A.
mu : float
    Step.
pull : float
    mu c_f / N.

Returns
-------
ndarray of float64, shape (2, n_agents, n_agents))");
}

}  // namespace odl
