// Dual variables of all agents for one document, stored as coefficients of a basis.
//
// Except where the projection clips, every agent's dual variable lies in the span of x and of the atoms with a non-zero
// code so far (the columns). So agent k has one coefficient per column, and explicit values only on the few terms that
// may be clipped (the plain terms). This is exact.
#pragma once

#include <vector>

#include "agent_losses.h"
#include "sums.h"

namespace odl {

// Dual variables, one row per agent.
struct Duals {
    Matrix<double> coefficients;  // coefficients of the columns
    Matrix<double> plain;         // values on the plain terms

    static Duals like(const Duals &other) {
        return {{other.coefficients.rows, other.coefficients.columns}, {other.plain.rows, other.plain.columns}};
    }

    // Append plain terms with value zero until their number is at least `width`.
    void widen(std::int64_t width) {
        if (width <= plain.columns) return;
        Matrix<double> wider(plain.rows, width);
        for (std::int64_t k = 0; k < plain.rows; k++)
            std::copy(plain[k].begin(), plain[k].end(), wider[k].begin());
        plain = std::move(wider);
    }

    void clip_plain(std::int64_t n_plain) const {
        for (std::int64_t k = 0; k < plain.rows; k++)
            for (double &value : plain[k].part(0, n_plain)) value = clip(value, 1.0);
    }
};

// Entries on plain terms of the atoms that passed the screen; the p-th atom has starts[p]..starts[p + 1] - 1.
struct PlainEntries {
    std::vector<std::int64_t> starts, places;
    std::vector<double> weights;

    std::int64_t size() const { return static_cast<std::int64_t>(places.size()); }
};

// Basis of the dual variables of one document. `position` is that of an atom among those that passed the screen.
class DualBasis {
  public:
    DualBasis(const Entries &document, const Atoms &atoms, Span<std::int64_t> place, AgentWork &work)
        : document(document), atoms(atoms), work(work), place(place),
          n_candidates(static_cast<std::int64_t>(work.candidates.size())),
          column(n_candidates + 1), number(n_candidates), gram(n_candidates, n_candidates + 1),
          bound(n_candidates + 1) {}

    const Entries &atom(std::int64_t position) const { return atoms[work.candidates[position]]; }

    // Entries of a column: of the document, or of an atom.
    const Entries &entries_of(std::int64_t c) const { return c == 0 ? document : atom(column[c]); }

    // Add a column for an atom whose code is non-zero for the first time.
    void add_column(std::int64_t position) {
        number[position] = n_columns;
        column[n_columns] = position;
        fill_gram(n_columns++);
    }

    // Make a term plain; its place is the number of plain terms before.
    void add_plain(std::uint32_t term) { place[term] = n_plain++; }

    // Set the inner products of column c with all atoms that passed the screen, over the terms that are not plain.
    void fill_gram(std::int64_t c) {
        for (auto [term, weight] : entries_of(c))
            if (place[term] < 0) work.dual[term] = weight;
        for (std::int64_t position = 0; position < n_candidates; position++) {
            double total = 0.0;
            for (auto [term, weight] : atom(position)) total += weight * work.dual[term];
            gram(position, c) = total;
        }
        if (c == 0) {
            own = 0.0;
            for (auto [term, value] : document) own += work.dual[term] * work.dual[term];
        }
        for (auto [term, weight] : entries_of(c)) work.dual[term] = 0.0;
    }

    // Fill `entries`.
    void list_entries() {
        entries = {{0}, {}, {}};
        for (std::int64_t position = 0; position < n_candidates; position++) {
            for (auto [term, weight] : atom(position))
                if (place[term] >= 0) entries.places.push_back(place[term]), entries.weights.push_back(weight);
            entries.starts.push_back(entries.size());
        }
    }

    // Return w^T nu_k of the candidate at `position`.
    double answer(std::int64_t position, std::int64_t k, const Duals &duals) const {
        double total = 0.0;
        for (std::int64_t c = 0; c < n_columns; c++) total += duals.coefficients(k, c) * gram(position, c);
        for (std::int64_t e = entries.starts[position]; e < entries.starts[position + 1]; e++)
            total += duals.plain(k, entries.places[e]) * entries.weights[e];
        return total;
    }

    // Return ||nu_k||^2 and ||nu_k - old nu_k||^2.
    std::pair<double, double> squares(std::int64_t k, const Duals &duals, const Duals &old) const {
        Span<double> now = duals.coefficients[k], before = old.coefficients[k];
        double size = 0.0, moved = 0.0;
        for (std::int64_t c = 0; c < n_columns; c++)
            for (std::int64_t d = 0; d < n_columns; d++) {
                double product = c + d == 0 ? own : gram(column[std::max(c, d)], std::min(c, d));
                size += now[c] * now[d] * product;
                moved += (now[c] - before[c]) * (now[d] - before[d]) * product;
            }
        for (std::int64_t i = 0; i < n_plain; i++) {
            double value = duals.plain(k, i), change = value - old.plain(k, i);
            size += value * value;
            moved += change * change;
        }
        return {std::max(size, 0.0), std::max(moved, 0.0)};
    }

    // Return whether the relative change of the dual variables of all agents together is at most `limit`.
    bool moved_little(const Duals &duals, const Duals &old, double limit) const {
        double size = 0.0, moved = 0.0;
        for (std::int64_t k = 0; k < duals.plain.rows; k++) {
            auto [one, other] = squares(k, duals, old);
            size += one, moved += other;
        }
        return moved <= limit * limit * size;
    }

    // Make the terms plain that could be clipped with these coefficients; return the first new place, or -1.
    //
    // While the coefficients of every column are at most its `bound`, no other term can be clipped. A bound that a
    // coefficient exceeds is raised well above it.
    std::int64_t find_plain(Table<const double> coefficients) {
        if (!raise_bounds(coefficients)) return -1;
        std::int64_t first = n_plain;
        for (std::int64_t c = 1; c < n_columns; c++)
            for (auto [term, weight] : entries_of(c))
                if (place[term] < 0) work.dual[term] += bound[c] * std::abs(weight);
        for (std::int64_t c = 1; c < n_columns; c++)
            for (auto [term, weight] : entries_of(c)) {
                if (work.dual[term] > 1.0) add_plain(term);
                work.dual[term] = 0.0;
            }
        return n_plain > first ? first : -1;
    }

    // Update the inner products and lists for new plain terms, from place `first` on.
    void update_plain(std::int64_t first) {
        if (n_plain > x_plain.size()) x_plain.lengthen(n_plain + ROOM);
        for (auto [term, value] : document)
            if (place[term] >= first) x_plain[place[term]] = value;
        for (std::int64_t c = 0; c < n_columns; c++) fill_gram(c);
        list_entries();
    }

    // Write the values of the plain terms from place `first` on, computed from the coefficients.
    void set_plain(std::int64_t first, Duals &duals) const {
        duals.widen(x_plain.size());
        for (std::int64_t k = 0; k < duals.plain.rows; k++) {
            Span<double> plain = duals.plain[k];
            plain.part(first, n_plain).fill(0.0);
            for (std::int64_t c = 0; c < n_columns; c++)
                for (auto [term, weight] : entries_of(c))
                    if (place[term] >= first) plain[place[term]] += duals.coefficients(k, c) * weight;
        }
    }

    // Add the terms of the columns' atoms to the touched terms.
    void touch() const {
        for (std::int64_t c = 1; c < n_columns; c++)
            for (auto [term, weight] : entries_of(c)) work.touch(term);
    }

    // Write nu_k to `work.dual`, on the touched terms.
    void write_dual(std::int64_t k, const Duals &duals) const {
        for (auto term : work.touched) work.dual[term] = place[term] >= 0 ? duals.plain(k, place[term]) : 0.0;
        for (std::int64_t c = 0; c < n_columns; c++)
            for (auto [term, weight] : entries_of(c))
                if (place[term] < 0) work.dual[term] += duals.coefficients(k, c) * weight;
    }

    static constexpr std::int64_t ROOM = 64;  // plain terms for which an array has room before it grows again

    const Entries &document;
    const Atoms &atoms;
    AgentWork &work;
    Span<std::int64_t> place;  // terms: position among the plain terms, or -1
    std::int64_t n_candidates, n_columns = 1, n_plain = 0;
    Vector<std::int64_t> column;  // columns from 1 on: position of the atom; column 0 is x
    Vector<std::int64_t> number;  // candidate -> its column, 0 as long as its code has always been 0
    Matrix<double> gram;          // candidates x columns: inner products over the terms that are not plain
    double own = 0.0;             // x^T x over the terms that are not plain
    Vector<double> bound;         // columns: largest coefficient for which no further term can be clipped (find_plain)
    Vector<double> x_plain;       // x on the plain terms
    PlainEntries entries;

  private:
    // Return whether a coefficient exceeds its bound, which is raised.
    bool raise_bounds(Table<const double> coefficients) {
        bool raised = false;
        for (std::int64_t c = 1; c < n_columns; c++) {
            double largest = 0.0, heaviest = 0.0;
            for (std::int64_t k = 0; k < coefficients.rows; k++)
                largest = std::max(largest, std::abs(coefficients(k, c)));
            if (!(largest > bound[c])) continue;
            for (auto [term, weight] : entries_of(c)) heaviest = std::max(heaviest, std::abs(weight));
            bound[c] = std::max(3.0 * largest, 0.3 / heaviest);
            raised = true;
        }
        return raised;
    }
};

}  // namespace odl
