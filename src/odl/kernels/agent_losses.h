// Objective over agents: losses of one document, screening of atoms, and the learning step of an atom.
//
//     min_y sum_i f(x_i - (W y)_i) + sum_j gamma |y_j| + delta/2 y_j^2,    f: squared, or Huber with eta,
//
// with the dual variable nu = f'(x - W y). Chen, Towfic and Sayed 2014, sections III-C to III-G.
//
// Screening: if codes and atoms are non-negative, each entry of nu is at most that of the empty code. So an atom with
// w^T nu <= gamma at the empty code has a zero code and is left out. This is exact.
#pragma once

#include <cmath>
#include <vector>

#include "arrays.h"

namespace odl {

struct Entry {
    std::uint32_t term;
    double weight;
};

// Non-zero entries of a document or an atom, in any order.
using Entries = std::vector<Entry>;
using Atoms = std::vector<Entries>;

struct AgentModel {
    double gamma, delta;
    double eta;      // parameter of the Huber loss; 0: squared loss
    bool is_signed;  // whether codes and atoms may be negative
    static constexpr auto members() {
        return std::tuple{&AgentModel::gamma, &AgentModel::delta, &AgentModel::eta, &AgentModel::is_signed};
    }

    double curvature() const { return eta == 0.0 ? 1.0 : eta; }
};

// Arrays over terms and atoms, reused from document to document.
struct AgentWork {
    AgentWork(std::int64_t n_terms, std::int64_t n_atoms)
        : rest(n_terms), dual(n_terms), inside(n_terms), mark(n_terms), code(n_atoms) {}

    Vector<double> rest;                 // terms: residual x - W y, zero elsewhere than on touched terms
    Vector<double> dual;                 // terms: nu, zero elsewhere than on touched terms
    Vector<bool> inside;                 // terms: touched
    Vector<bool> mark;                   // terms: false between calls
    std::vector<std::uint32_t> touched;  // terms where the document or an atom of its code is not zero
    std::vector<std::int64_t> candidates;      // atoms that pass the screen
    Vector<double> code;                 // atoms: y

    // Set the residual of the empty code.
    void start(const Entries &document) {
        for (auto [term, value] : document) {
            rest[term] = value;
            inside[term] = true;
            touched.push_back(term);
        }
    }

    void touch(std::uint32_t term) {
        if (inside[term]) return;
        inside[term] = true;
        touched.push_back(term);
    }

    // Set all entries to zero again.
    void clear() {
        for (auto term : touched) rest[term] = 0.0, dual[term] = 0.0, inside[term] = false;
        for (auto j : candidates) code[j] = 0.0;
        touched.clear(), candidates.clear();
    }
};

inline Entries entries_of(const Rows &rows, std::int64_t row) {
    Entries entries;
    entries.reserve(static_cast<std::size_t>(rows.starts[row + 1] - rows.starts[row]));
    for (std::int64_t at = rows.starts[row]; at < rows.starts[row + 1]; at++)
        entries.push_back({rows.indices[at], rows.values[at]});
    return entries;
}

inline Atoms read_atoms(const Rows &columns) {
    Atoms atoms;
    for (std::int64_t j = 0; j < columns.size(); j++) atoms.push_back(entries_of(columns, j));
    return atoms;
}

using Columns = std::tuple<Vector<std::int64_t>, Vector<std::uint32_t>, Vector<double>>;

// Return starts, terms and weights of all atoms.
inline Columns write_atoms(const Atoms &atoms) {
    Vector<std::int64_t> starts(static_cast<std::int64_t>(atoms.size()) + 1);
    for (std::int64_t j = 0; j + 1 < starts.size(); j++)
        starts[j + 1] = starts[j] + static_cast<std::int64_t>(atoms[j].size());
    Vector<std::uint32_t> terms(starts[starts.size() - 1]);
    Vector<double> weights(terms.size());
    std::int64_t at = 0;
    for (const Entries &atom : atoms)
        for (auto [term, weight] : atom) terms[at] = term, weights[at++] = weight;
    return {std::move(starts), std::move(terms), std::move(weights)};
}

inline double clip(double value, double limit) { return std::min(std::max(value, -limit), limit); }

// Return soft(value, threshold); without `is_signed`, its positive part.
inline double soft(double value, double threshold, bool is_signed) {
    if (value > threshold) return value - threshold;
    if (is_signed && value < -threshold) return value + threshold;
    return 0.0;
}

// Return the derivative of the residual loss.
inline double slope_of(double rest, double eta) { return eta == 0.0 ? rest : clip(rest / eta, 1.0); }

// Return the residual loss of one term.
inline double loss_of(double rest, double eta) {
    if (eta == 0.0) return 0.5 * rest * rest;
    double size = std::abs(rest);
    return size < eta ? size * size / (2.0 * eta) : size - 0.5 * eta;
}

// Return w^T nu for nu = f'(rest).
inline double agreement(const Entries &atom, Span<const double> rest, double eta) {
    double total = 0.0;
    for (auto [term, weight] : atom) total += weight * slope_of(rest[term], eta);
    return total;
}

inline double squared_size(const Entries &atom) {
    double total = 0.0;
    for (auto [term, weight] : atom) total += weight * weight;
    return total;
}

// List the atoms that can be active: those with w^T nu > gamma at the bound of nu; all if negative entries are allowed.
//
// The bound is nu of the empty code, times `scale` where it is positive (1 unless only some agents see x).
inline void screen_atoms(const Atoms &atoms, const AgentModel &model, double scale, AgentWork &work) {
    for (std::size_t j = 0; j < atoms.size(); j++) {
        double total = 0.0;
        if (!model.is_signed)
            for (auto [term, weight] : atoms[j]) {
                double slope = slope_of(work.rest[term], model.eta);
                if (scale > 1.0) slope = scale * std::max(slope, 0.0);
                total += weight * slope;
            }
        if (!atoms[j].empty() && (model.is_signed || total > model.gamma))
            work.candidates.push_back(static_cast<std::int64_t>(j));
    }
}

// w <- Proj(prox(w + step nu)) for nu = work.dual on the touched terms (eqs 51 to 56). Returns ||w||^2.
inline double step_atom(Entries &atom, double step, double shrink, const std::vector<std::uint32_t> &touched,
                        bool is_signed, AgentWork &work) {
    for (auto &[term, weight] : atom) {
        weight += step * work.dual[term];
        work.mark[term] = true;
    }
    std::size_t old = atom.size();
    for (auto term : touched)
        if (!work.mark[term] && work.dual[term] != 0.0) atom.push_back({term, step * work.dual[term]});
    for (std::size_t entry = 0; entry < old; entry++) work.mark[atom[entry].term] = false;
    std::size_t count = 0;
    double size = 0.0;
    for (auto [term, weight] : atom) {
        double value = soft(weight, shrink, is_signed);
        if (value != 0.0) {
            atom[count++] = {term, value};
            size += value * value;
        }
    }
    atom.resize(count);
    if (size > 1.0) {
        double scale = 1.0 / std::sqrt(size);
        for (Entry &entry : atom) entry.weight *= scale;
        size = 1.0;
    }
    return size;
}

}  // namespace odl
