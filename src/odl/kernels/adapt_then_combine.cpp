// Diffusion over a network by adapt-then-combine (ATC; Chen, Towfic and Sayed 2014, eqs 31 and 37), and the learning
// step of every agent (eqs 51 to 56).
//
//     psi_k = nu_k - mu grad J_k(nu_k),     nu_k <- Proj(sum_l a_lk psi_l)
//
// Dual variables are stored as in dual_coefficients.h, atoms as in agent_losses.h.
#include "bindings.h"
#include "fixed_point.h"

namespace odl {

namespace {

using std::int64_t;

// Network of agents that codes one document after another.
class AgentNetwork {
  public:
    AgentNetwork(const Rows &columns, int64_t n_terms, const AgentModel &model, const Diffusion &diffusion)
        : model(model), diffusion(diffusion), pull(diffusion.mu * model.curvature() / diffusion.n_agents()),
          at_fixed_point(!diffusion.spread.empty()), atoms(read_atoms(columns)), work(n_terms, columns.size()),
          place(n_terms) {
        place.fill(-1);
    }

    // Run the diffusion of a document; return the number of iterations. Dual variables remain until `clear` is called.
    int64_t diffuse(const Entries &given) {
        document = given;
        begin();
        if (at_fixed_point) start_at_fixed_point(*basis, duals, model, diffusion, pull);
        Duals sent = Duals::like(duals), heard = Duals::like(duals);
        int64_t used = 0;
        while (used < diffusion.iterations) {
            fade(sent);
            subtract_answers(sent);
            mix(sent.coefficients, heard.coefficients, basis->n_columns);
            mix(sent.plain, heard.plain, basis->n_plain);
            if (model.eta > 0.0) {
                if (int64_t first = basis->find_plain(heard.coefficients); first >= 0) {
                    basis->update_plain(first);
                    basis->set_plain(first, duals), basis->set_plain(first, heard);
                    sent.widen(duals.plain.columns);
                }
                heard.clip_plain(basis->n_plain);
            }
            std::swap(duals, heard);
            used++;
            bool is_tested = used % diffusion.check == 0 || (at_fixed_point && used == 1);
            if (diffusion.tolerance > 0.0 && is_tested &&
                basis->moved_little(duals, heard, diffusion.tolerance * pull))
                break;
        }
        basis->touch();
        return used;
    }

    // Set the codes y_j = T(w_j^T nu_k), and J_k(nu_k) in `costs`.
    void read(Span<double> costs) {
        for (int64_t k = 0; k < diffusion.n_agents(); k++) {
            double size = basis->squares(k, duals, duals).first, share = diffusion.shares[k];
            costs[k] = 0.5 * model.curvature() * size / diffusion.n_agents();
            if (!(share > 0.0)) continue;
            double seen = duals.coefficients(k, 0) * basis->own;
            for (int64_t c = 1; c < basis->n_columns; c++)
                seen += duals.coefficients(k, c) * basis->gram(basis->column[c], 0);
            for (auto [term, value] : document)
                if (place[term] >= 0) seen += duals.plain(k, place[term]) * value;
            costs[k] -= share * seen;
        }
        for (int64_t position = 0; position < basis->n_candidates; position++) {
            int64_t j = work.candidates[position], k = diffusion.owner[j];
            double y = code_of(position, k);
            work.code[j] = y;
            costs[k] += 0.5 * model.delta * y * y;
        }
    }

    // Update the atoms of every agent k by one learning step, from nu_k and y_k.
    void learn(double step, double beta) {
        // The dual variables are combinations of atoms, so all are read before any atom changes.
        std::vector<std::vector<double>> nu(work.candidates.size());
        for (std::size_t position = 0; position < nu.size(); position++) {
            int64_t j = work.candidates[position];
            if (work.code[j] == 0.0) continue;
            basis->write_dual(diffusion.owner[j], duals);
            for (auto term : work.touched) nu[position].push_back(work.dual[term]);
        }
        for (std::size_t position = 0; position < nu.size(); position++) {
            int64_t j = work.candidates[position];
            if (work.code[j] == 0.0) continue;
            for (std::size_t at = 0; at < work.touched.size(); at++) work.dual[work.touched[at]] = nu[position][at];
            step_atom(atoms[j], step * work.code[j], step * beta, work.touched, model.is_signed, work);
        }
        if (beta > 0.0)  // the prox also shrinks atoms with a zero code
            for (std::size_t j = 0; j < atoms.size(); j++)
                if (work.code[j] == 0.0) step_atom(atoms[j], 0.0, step * beta, {}, model.is_signed, work);
    }

    void clear() {
        for (auto term : work.touched) place[term] = -1;
        work.clear();
    }

    int64_t n_touched() const { return static_cast<int64_t>(work.touched.size()); }
    Span<const double> codes() const { return work.code; }
    const Atoms &learned() const { return atoms; }

  private:
    // Screen the atoms, and set the initial dual variables: the optimum without atoms for agents that see x, else 0.
    //
    // Terms on which the projection may clip are stored as plain terms. With the squared loss there are none. With the
    // Huber loss they are all terms of the document. A start at the fixed point needs only those terms on which x
    // alone, without atoms, could be clipped.
    void begin() {
        int64_t n_agents = diffusion.n_agents(), n_seeing = 0;
        for (double share : diffusion.shares) n_seeing += share > 0.0;
        double scale = static_cast<double>(n_agents) / n_seeing, eta = model.eta;
        work.start(document);
        screen_atoms(atoms, model, scale, work);
        basis = std::make_unique<DualBasis>(document, atoms, place, work);
        basis->x_plain = Vector<double>(static_cast<int64_t>(document.size()) + DualBasis::ROOM);
        duals = {{n_agents, basis->n_candidates + 1}, {n_agents, basis->x_plain.size()}};
        if (eta > 0.0)
            for (auto [term, value] : document) {
                double most = value * n_agents / n_seeing;
                // From 0 to eta, x alone is not clipped; 0.999 allows for rounding. Below 0, atoms would move the value
                // towards the limit -eta.
                bool is_bounded = 0.0 <= most && most < 0.999 * eta;
                if (!model.is_signed && at_fixed_point && is_bounded) continue;
                basis->x_plain[basis->n_plain] = value;
                basis->add_plain(term);
            }
        for (int64_t k = 0; k < n_agents; k++) {
            if (!(diffusion.shares[k] > 0.0)) continue;
            duals.coefficients(k, 0) = 1.0 / model.curvature();
            for (int64_t i = 0; i < basis->n_plain; i++) duals.plain(k, i) = slope_of(basis->x_plain[i], eta);
        }
        basis->fill_gram(0);
        basis->list_entries();
    }

    // sent_k = (1 - mu c_f/N) nu_k + mu [k sees x] x / |N_I|: the part of adapting that needs no atoms.
    void fade(Duals &sent) const {
        for (int64_t k = 0; k < diffusion.n_agents(); k++) {
            double gain = diffusion.mu * diffusion.shares[k];
            for (int64_t c = 0; c < basis->n_columns; c++)
                sent.coefficients(k, c) = (1.0 - pull) * duals.coefficients(k, c);
            for (int64_t i = 0; i < basis->n_plain; i++) sent.plain(k, i) = (1.0 - pull) * duals.plain(k, i);
            sent.coefficients(k, 0) += gain;
            if (gain > 0.0)
                for (int64_t i = 0; i < basis->n_plain; i++) sent.plain(k, i) += gain * basis->x_plain[i];
        }
    }

    // sent_k -= mu W_k T(W_k^T nu_k).
    void subtract_answers(Duals &sent) {
        const PlainEntries &entries = basis->entries;
        for (int64_t position = 0; position < basis->n_candidates; position++) {
            int64_t k = diffusion.owner[work.candidates[position]];
            double y = code_of(position, k);
            if (y == 0.0) continue;
            if (basis->number[position] == 0) basis->add_column(position);
            sent.coefficients(k, basis->number[position]) -= diffusion.mu * y;
            for (int64_t e = entries.starts[position]; e < entries.starts[position + 1]; e++)
                sent.plain(k, entries.places[e]) -= diffusion.mu * y * entries.weights[e];
        }
    }

    // heard_k = sum_l a_lk sent_l, on the first `width` columns.
    void mix(Table<const double> sent, Table<double> heard, int64_t width) const {
        for (int64_t k = 0; k < diffusion.n_agents(); k++) {
            Span<double> row = heard[k].part(0, width);
            row.fill(0.0);
            for (int64_t at = diffusion.starts[k]; at < diffusion.starts[k + 1]; at++)
                add_multiple(row, diffusion.weights[at], sent[diffusion.neighbours[at]].part(0, width));
        }
    }

    double code_of(int64_t position, int64_t k) const {
        return soft(basis->answer(position, k, duals), model.gamma, model.is_signed) / model.delta;
    }

    const AgentModel model;
    const Diffusion diffusion;
    const double pull;  // mu c_f / N
    const bool at_fixed_point;
    Atoms atoms;
    AgentWork work;
    Vector<int64_t> place;  // terms: see DualBasis
    Entries document;
    std::unique_ptr<DualBasis> basis;
    Duals duals;
};

std::tuple<Matrix<double>, Matrix<double>, Vector<int64_t>, Vector<int64_t>> code_documents(
    Rows documents, Rows atoms, int64_t n_terms, AgentModel model, Diffusion diffusion) {
    AgentNetwork network(atoms, n_terms, model, diffusion);
    Matrix<double> codes(documents.size(), atoms.size()), costs(documents.size(), diffusion.n_agents());
    Vector<int64_t> iterations(documents.size()), touched(documents.size());
    for (int64_t d = 0; d < documents.size(); d++) {
        iterations[d] = network.diffuse(entries_of(documents, d));
        touched[d] = network.n_touched();
        network.read(costs[d]);
        std::copy(network.codes().begin(), network.codes().end(), codes[d].begin());
        network.clear();
    }
    return {std::move(codes), std::move(costs), std::move(iterations), std::move(touched)};
}

Columns learn_documents(Rows documents, Rows atoms, int64_t n_terms, AgentModel model, Diffusion diffusion,
                        double step, double beta) {
    AgentNetwork network(atoms, n_terms, model, diffusion);
    Vector<double> costs(diffusion.n_agents());
    for (int64_t d = 0; d < documents.size(); d++) {
        network.diffuse(entries_of(documents, d));
        network.read(costs);
        network.learn(step, beta);
        network.clear();
    }
    return write_atoms(network.learned());
}

}  // namespace

void bind_adapt_then_combine(nb::module_ &kernels) {
    auto module = kernels.def_submodule("adapt_then_combine", "Diffusion over a network: adapt, then combine.");
    module.def("code_documents", &code_documents, "documents"_a, "atoms"_a, "n_terms"_a, "model"_a, "diffusion"_a,
               release(),
               R"(Code documents one by one by diffusion over a network.

Parameters
----------
documents, atoms, n_terms, model
    As in agent_descent.code_documents.
diffusion : odl.kernels.records.NetworkIteration

Returns
-------
codes : ndarray of float64, shape (n_documents, n_atoms)
costs : ndarray of float64, shape (n_documents, n_agents)
    J_k(nu_k) of each agent k.
iterations : ndarray of int64, shape (n_documents,)
touched : ndarray of int64, shape (n_documents,)
    Number of terms of the document and of the atoms whose code was not zero in some iteration.)");
    module.def("learn_documents", &learn_documents, "documents"_a, "atoms"_a, "n_terms"_a, "model"_a, "diffusion"_a,
               "step"_a, "beta"_a, release(),
               R"(Code each document, then let every agent update its atoms from its own dual variable and codes.

Parameters
----------
documents, atoms, n_terms, model, diffusion
    As in code_documents.
step, beta
    As in agent_descent.learn_documents.

Returns
-------
tuple of ndarray
    As agent_descent.learn_documents.)");
}

}  // namespace odl
