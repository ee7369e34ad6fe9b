// The dictionary step of the l1 objective: NIPS 2012, Algorithm 3 (see `odl.dictionary.l1`, which checks the arrays).
//
// A *pair* is an entry (term, atom) of the dictionary that may be positive. A *cell* is an entry (document, term) of P
// whose term has a pair with an atom of the document's code. Pairs are sorted by term, then atom; cells by term, then
// document. `link` lists the pairs of each cell, `weight` the document's codes of their atoms.
#include <cmath>
#include <limits>

#include "bindings.h"

namespace odl {

namespace {

using std::int32_t, std::int64_t, std::uint32_t;

// Find the atoms that may contain a term, given the documents with this term.
//
// `listed` receives all atoms in the codes of these documents; their number is returned. For each of them, `inside`
// receives the sum of its codes (g_j), and `place` receives 1 if 2 g_j > c_j, else -1.
int64_t find_pairs(Span<const uint32_t> documents, const Rows &codes, Span<const double> total, Span<double> inside,
                   Span<int64_t> listed, Span<int64_t> place) {
    int64_t met = 0;
    for (int64_t document : documents)
        for (int64_t entry = codes.starts[document]; entry < codes.starts[document + 1]; entry++) {
            int64_t atom = codes.indices[entry];
            if (place[atom] == 0) {
                place[atom] = 1;
                inside[atom] = 0.0;
                listed[met++] = atom;
            }
            inside[atom] += codes.values[entry];
        }
    for (int64_t atom : listed.part(0, met)) place[atom] = 2.0 * inside[atom] > total[atom] ? 1 : -1;
    return met;
}

std::tuple<int64_t, int64_t, int64_t> reduce(
    Span<const int64_t> p_start, Span<const uint32_t> p_document, Span<const double> p_value,
    Span<const int64_t> x_start, Span<const uint32_t> x_atom, Span<const double> x_value, Span<const double> total,
    Span<double> inside, Span<int64_t> listed, Span<int64_t> place, Span<int64_t> term_of, Span<int64_t> atom_of,
    Span<double> slope, Span<double> target, Span<int64_t> start, Span<int32_t> link, Span<double> weight) {
    Rows codes{x_start, x_atom, x_value};
    int64_t pair = 0, cell = 0, used = 0;
    for (int64_t term = 0; term + 1 < p_start.size(); term++) {
        auto documents = p_document.part(p_start[term], p_start[term + 1]);
        int64_t met = find_pairs(documents, codes, total, inside, listed, place), first = pair;
        for (int64_t atom : listed.part(0, met))
            if (place[atom] > 0) {  // insertion into the sorted pairs of this term; a term has few pairs
                int64_t at = pair;
                for (; at > first && atom_of[at - 1] > atom; at--) atom_of[at] = atom_of[at - 1];
                atom_of[at] = atom;
                pair++;
            }
        for (int64_t at = first; at < pair; at++) {
            int64_t atom = atom_of[at];
            term_of[at] = term;
            slope[at] = total[atom] - inside[atom];
            place[atom] = at + 1;
        }
        if (pair > first)
            for (int64_t at = p_start[term]; at < p_start[term + 1]; at++) {
                int64_t document = p_document[at], before = used;
                for (int64_t entry = x_start[document]; entry < x_start[document + 1]; entry++)
                    if (int64_t number = place[x_atom[entry]]; number > 0) {
                        link[used] = static_cast<int32_t>(number - 1), weight[used] = x_value[entry];
                        used++;
                    }
                if (used > before) {
                    target[cell++] = p_value[at];
                    start[cell] = used;
                }
            }
        for (int64_t atom : listed.part(0, met)) place[atom] = 0;
    }
    return {pair, cell, used};
}

// Project each column on {a >= 0, sum(a) <= 1} in the metric 1/step: max(a - theta step, 0), by Newton steps.
void project(Span<const int64_t> begin, Span<const int64_t> members, Span<double> values, Span<const double> steps) {
    for (int64_t column = 0; column + 1 < begin.size(); column++) {
        double theta = 0.0;
        while (true) {
            double total = 0.0, speed = 0.0;
            for (int64_t pair : members.part(begin[column], begin[column + 1])) {
                double value = values[pair] - theta * steps[pair];
                if (value > 0.0) {
                    total += value;
                    speed += steps[pair];
                }
            }
            // The sum is convex and decreasing in theta, so Newton's method approaches the root from the left.
            if (!(total > 1.0 + 1e-14) || speed == 0.0) break;
            double further = theta + (total - 1.0) / speed;
            if (!(further > theta)) break;
            theta = further;
        }
        for (int64_t pair : members.part(begin[column], begin[column + 1])) {
            double value = values[pair] - theta * steps[pair];
            values[pair] = value > 0.0 ? value : 0.0;
        }
    }
}

int64_t iterate(Span<const double> target, Span<const int64_t> start, Span<const int32_t> link,
                Span<const double> weight, Span<const double> slope, Span<const int64_t> begin,
                Span<const int64_t> members, Span<const double> steps, Span<double> a, Span<double> dual,
                double constant, Span<const double> settings, Span<double> fit, Span<double> clipped,
                Span<double> gradient, Table<double> trace, Span<double> best, Span<double> bounds) {
    double phi = settings[0], gamma = settings[1], tolerance = settings[2];
    int64_t limit = static_cast<int64_t>(settings[3]), cells = target.size(), pairs = slope.size(), done = 0;
    double lowest = std::numeric_limits<double>::infinity(), bound = -lowest;
    for (int64_t iteration = 0; iteration <= limit; iteration++) {
        double threshold = 1.0 / phi, loss = 0.0, inner = 0.0;
        gradient.fill(0.0);
        for (int64_t cell = 0; cell < cells; cell++) {
            double value = 0.0;
            for (int64_t at = start[cell]; at < start[cell + 1]; at++) value += weight[at] * a[link[at]];
            if (iteration) dual[cell] = (1.0 - gamma) * dual[cell] + gamma * (clipped[cell] + fit[cell] - value);
            fit[cell] = value;
            double residual = target[cell] - value;
            loss += std::fabs(residual);
            double pull = std::min(std::max(residual + dual[cell], -threshold), threshold);
            clipped[cell] = pull;
            inner += pull * target[cell];
            for (int64_t at = start[cell]; at < start[cell + 1]; at++) gradient[link[at]] += weight[at] * pull;
        }
        for (int64_t pair = 0; pair < pairs; pair++) loss += slope[pair] * a[pair];
        double value = phi * inner;
        for (int64_t column = 0; column + 1 < begin.size(); column++) {
            double most = 0.0;
            for (int64_t pair : members.part(begin[column], begin[column + 1]))
                most = std::max(most, phi * gradient[pair] - slope[pair]);
            value -= most;
        }
        bound = std::max(bound, value);
        if (loss < lowest) {
            lowest = loss;
            for (int64_t pair = 0; pair < pairs; pair++) best[pair] = a[pair];
        }
        trace(iteration, 0) = loss + constant, trace(iteration, 1) = value + constant;
        done = iteration;
        if (iteration == limit || lowest - bound <= tolerance * (lowest + constant)) break;
        for (int64_t pair = 0; pair < pairs; pair++)
            a[pair] += steps[pair] * (gradient[pair] - slope[pair] * threshold);
        project(begin, members, a, steps);
    }
    bounds[0] = lowest, bounds[1] = bound;
    return done;
}

}  // namespace

void bind_dictionary_step(nb::module_ &kernels) {
    auto module = kernels.def_submodule("dictionary_step", "The dictionary step: NIPS 2012, Algorithm 3.");
    module.def("reduce", &reduce, "p_start"_a, "p_document"_a, "p_value"_a, "x_start"_a, "x_atom"_a, "x_value"_a,
               "total"_a, "inside"_a, "listed"_a, "place"_a, "term_of"_a, "atom_of"_a, "slope"_a, "target"_a,
               "start"_a, "link"_a, "weight"_a, release(),
               R"(Fill the arrays of the reduced problem: pairs (term, atom, slope d), cells (p, start of links), links (pair, weight).

Returns the numbers of pairs, cells and links, which may be smaller than the lengths of the arrays. ``d = c_j - g_ij``
is the code mass of atom j on documents without term i, and the cost of the pair there.)");
    module.def("project", &project, "begin"_a, "members"_a, "values"_a, "steps"_a, release(),
               R"(Project the values of each column on {a >= 0, sum(a) <= 1} in the metric 1/step, in place.

A column has the entries `members[begin[j]:begin[j + 1]]` of `values`: max(a - theta step, 0), by Newton steps.)");
    module.def("iterate", &iterate, "target"_a, "start"_a, "link"_a, "weight"_a, "slope"_a, "begin"_a, "members"_a,
               "steps"_a, "a"_a, "dual"_a, "constant"_a, "settings"_a, "fit"_a, "clipped"_a, "gradient"_a, "trace"_a,
               "best"_a, "bounds"_a, release(),
               R"(Run Algorithm 3 on the reduced problem, starting at `a`; return the number of iterations.

Writes `trace`, the best `a` to `best`, and its objective and the best lower bound to `bounds`.

With u = rho/phi, fit = X A^T on the cells and C = clip(p - fit + u, -1/phi, 1/phi) (which is p - fit + u - E of the
paper):

    A'  = Proj(A + kappa (C X - d/phi)),   u' = (1 - gamma) u + gamma (C + fit - fit')

phi C is feasible for the dual, so each iteration has a lower bound too.)");
}

}  // namespace odl
