// The adaptive learner: a document joins an atom or opens a new one, for which two atoms may be merged.
//
// Atom j is the sum S_j of the n_j documents that joined it. Merging two atoms copies no data. The atoms at the start
// of a block and the documents of the block are "pieces"; each piece has an owner, which is an atom. The inner product
// of a document and an atom is the sum over the atom's pieces (inverted_lists.h). ward_merging.h finds the pair to
// merge.
#include <cmath>
#include <vector>

#include "bindings.h"
#include "inverted_lists.h"
#include "ward_merging.h"

namespace odl {

namespace {

using std::int64_t, std::uint32_t;
using Atoms = ward::Merging;

enum { MERGE, JOIN, RETIRE };

// Inverted lists: the list of term i has the entries starts[i]..starts[i + 1] - 1.
struct PackedLists {
    Span<const int64_t> starts;
    Span<const uint32_t> rows;
    Span<const float> values;
    static constexpr auto members() {
        return std::tuple{&PackedLists::starts, &PackedLists::rows, &PackedLists::values};
    }
};

// Documents in CSR form with unit l2 norm, and inverted lists of the atoms and of the documents.
struct Pieces {
    Rows documents;
    Lists atoms;
    PackedLists lists;
    static constexpr auto members() { return std::tuple{&Pieces::documents, &Pieces::atoms, &Pieces::lists}; }
};

// Return the atom with the fewest documents; for ties, the least recently used one.
int64_t find_smallest(int64_t n_atoms, Span<const double> documents, Span<const int64_t> used) {
    int64_t smallest = 0;
    for (int64_t j = 1; j < n_atoms; j++) {
        bool fewer = documents[j] < documents[smallest], equal = documents[j] == documents[smallest];
        if (fewer || (equal && used[j] < used[smallest])) smallest = j;
    }
    return smallest;
}

ODL_AVX2 static void multiply(const double *__restrict factors, const float *__restrict values, int64_t size,
                             double *__restrict products) {
    for (int64_t i = 0; i < size; i++) products[i] = factors[i] * values[i];
}

ODL_AVX2 static void add_multiple(double factor, const double *__restrict values, int64_t size,
                                 float *__restrict sums) {
    for (int64_t i = 0; i < size; i++) sums[i] += static_cast<float>(factor * values[i]);
}

// The slot (atom) that owns each piece. A piece that was an atom at the start of the block usually still owns the slot
// with its own number. `own` contains the weights of these pieces, and 0 for all other slots. `moved` lists the pieces
// that changed their slot, and the documents.
struct Owners {
    Span<int64_t> owner;
    Span<const double> weight;
    Vector<double> own;
    std::vector<int64_t> moved;

    Owners(Span<int64_t> owner, Span<const double> weight, int64_t n_atoms)
        : owner(owner), weight(weight), own(n_atoms) {
        for (int64_t piece = 0; piece < n_atoms; piece++) {
            if (owner[piece] == piece) own[piece] = weight[piece];
            else moved.push_back(piece);
        }
    }

    void add(int64_t piece, int64_t slot) {
        owner[piece] = slot;
        moved.push_back(piece);
    }

    // Move all pieces of a slot to another slot (-1: remove them).
    void reassign(int64_t before, int64_t after) {
        for (int64_t piece : moved)
            if (owner[piece] == before) owner[piece] = after;
        if (before < own.size() && owner[before] == before && own[before] != 0.0) {
            own[before] = 0.0;
            add(before, after);
        }
    }

    // Fill `inner` with the inner products of a document and the atoms: sums of the products with their pieces.
    void gather(Span<const float> total, Span<double> inner) const {
        int64_t size = std::min(own.size(), inner.size());
        inner.from(size).fill(0.0);
        multiply(own.data, total.data, size, inner.data);
        for (int64_t piece : moved)
            if (owner[piece] >= 0) inner[owner[piece]] += weight[piece] * total[piece];
    }
};

// Free a slot for a document and return its number, or return -1 if the document should join the nearest atom.
//
// `full` chooses the action: MERGE the two atoms with the lowest cost unless joining costs less, JOIN, or RETIRE the
// smallest atom.
int64_t make_room(int64_t nearest, double cosine, double worth, int64_t full, Owners &owners, const Atoms &atoms,
                  Span<int64_t> used, Span<const int64_t> birth) {
    auto documents = atoms.documents;
    if (full == JOIN && nearest >= 0) return -1;
    if (full != MERGE || nearest < 0) {
        int64_t gone = find_smallest(atoms.counters[ward::ATOMS], documents, used);
        owners.reassign(gone, -1);
        return gone;
    }
    int64_t gone = ward::cheapest(atoms);
    double joining = (1.0 - cosine) * (1.0 - cosine) * (documents[nearest] * worth / (documents[nearest] + worth));
    if (!(atoms.price[gone] < static_cast<float>(joining))) return -1;
    int64_t kept = atoms.partner(gone, 0);
    // The merged atom has the number of the atom with more documents; for ties, of the older one.
    if (documents[gone] > documents[kept] || (documents[gone] == documents[kept] && birth[gone] < birth[kept]))
        std::swap(gone, kept);
    ward::complete(gone, atoms);
    ward::complete(kept, atoms);
    Span<float> row = atoms.gram[kept];
    double product = row[gone];
    ward::add_rows(row.data, atoms.gram[gone].data, atoms.counters[ward::ATOMS], row.data);
    atoms.inner[kept] += atoms.inner[gone];
    ward::join(gone, kept, product, atoms);
    used[kept] = std::max(used[kept], used[gone]);
    owners.reassign(gone, kept);
    return gone;
}

// Update the norm and the inner products of an atom that a document has joined or opened.
void place(int64_t slot, bool joined, double worth, double norm, const Atoms &atoms) {
    auto squares = atoms.squares, inner = atoms.inner;
    int64_t n_atoms = atoms.counters[ward::ATOMS];
    squares[slot] = worth * worth * norm + (joined ? squares[slot] + 2.0 * worth * inner[slot] : 0.0);
    atoms.inverse[slot] = squares[slot] > 0.0 ? 1.0 / std::sqrt(squares[slot]) : 0.0;
    if (atoms.gram.rows == 0) return;
    Span<float> row = atoms.gram[slot];
    if (joined) ward::complete(slot, atoms);
    else row.fill(0.0f);
    add_multiple(worth, inner.data, n_atoms, row.data);
    ward::note_change(slot, atoms);
}

// Fill `total` with the inner products of document d and the earlier pieces; return the squared norm of the document.
//
// `ends` has, for each term, the position in its list after the documents before d. The entries of the terms of d
// advance by one. `ends` is empty if the block has one document.
double find_products(int64_t d, const Pieces &pieces, int64_t before, Span<int64_t> ends, Span<float> total) {
    const auto &[starts, terms, weights] = pieces.documents;
    const auto &[offsets, rows, values] = pieces.lists;
    total.part(0, before + d).fill(0.0f);
    add_products(starts[d], starts[d + 1], terms, weights, pieces.atoms, total);
    double norm = 0.0;
    Span<float> others = total.from(before);
    for (int64_t entry = starts[d]; entry < starts[d + 1]; entry++) {
        double weight = weights[entry];
        int64_t term = terms[entry];
        norm += weight * weight;
        if (ends.size() == 0) continue;
        for (int64_t at = offsets[term]; at < ends[term]; at++)
            others.data[rows.data[at]] += static_cast<float>(weight) * values.data[at];
        ends[term]++;
    }
    return norm;
}

struct Nearest {
    int64_t atom;
    double cosine;
};

// Return the largest product of two numbers in the same position, or 0 if all are negative.
ODL_AVX2 static double largest_product(const double *__restrict values, const double *__restrict factors,
                                       int64_t size) {
    constexpr int64_t WIDTH = 8;  // independent maxima, so that several products are compared at once
    double largest[WIDTH] = {};
    int64_t i = 0;
    for (; i + WIDTH <= size; i += WIDTH)
        for (int64_t lane = 0; lane < WIDTH; lane++) {
            double value = values[i + lane] * factors[i + lane];
            largest[lane] = value > largest[lane] ? value : largest[lane];
        }
    for (; i < size; i++) largest[0] = std::max(largest[0], values[i] * factors[i]);
    return *std::max_element(largest, largest + WIDTH);
}

// Return the atom with the largest cosine (for ties, the first one) and that cosine. If no cosine is above 0, it is the
// first atom that is not zero, with a cosine of 0; if all are zero, -1 and -1.
Nearest find_nearest(int64_t n_atoms, const Atoms &atoms) {
    constexpr int64_t BLOCK = 128;
    const double *inner = atoms.inner.data, *inverse = atoms.inverse.data;
    int64_t best = 0;
    double most = 0.0;
    for (int64_t first = 0; first < n_atoms; first += BLOCK) {
        double value = largest_product(inner + first, inverse + first, std::min(BLOCK, n_atoms - first));
        if (value > most) best = first, most = value;
    }
    if (most > 0.0) {
        while (inner[best] * inverse[best] != most) best++;
        return {best, most};
    }
    for (int64_t j = 0; j < n_atoms; j++)
        if (atoms.squares[j] > 0.0) return {j, most};
    return {-1, -1.0};
}

// Return the norm ||S_j|| that merging uses: at least MIN_NORM, unless it is 0. Squares of smaller norms are below single
// precision.
double merging_norm(double size) {
    constexpr double MIN_NORM = 0x1p-50;
    return size > 0.0 ? std::max(size, MIN_NORM) : 0.0;
}

using Change = std::tuple<Vector<int64_t>, Vector<int64_t>>;

// Return the slots whose pieces have changed, sorted, and the position of each piece's slot among them, or -1.
Change find_changes(Span<const int64_t> owner, int64_t before, int64_t n_atoms) {
    Vector<int64_t> position(n_atoms), places(owner.size());
    for (int64_t piece = 0; piece < owner.size(); piece++)
        if (owner[piece] >= 0 && (piece >= before || owner[piece] != piece)) position[owner[piece]] = 1;
    Vector<int64_t> changed(n_atoms);
    int64_t count = 0;
    for (int64_t j = 0; j < n_atoms; j++) {
        bool is_changed = position[j] == 1;
        position[j] = is_changed ? count : -1;
        if (is_changed) changed[count++] = j;
    }
    changed.shorten(count);
    for (int64_t piece = 0; piece < owner.size(); piece++)
        places[piece] = owner[piece] < 0 ? -1 : position[owner[piece]];
    return {std::move(changed), std::move(places)};
}

Change learn(const Pieces &pieces, Span<const double> sizes, double worth, const Atoms &atoms, Span<int64_t> used,
             Span<int64_t> birth, int64_t seen, double same, int64_t full) {
    auto starts = pieces.documents.starts;
    auto documents = atoms.documents, inner = atoms.inner;
    int64_t &n_atoms = atoms.counters[ward::ATOMS], before = sizes.size(), n_documents = pieces.documents.size();
    Vector<int64_t> owner(before + n_documents);
    Vector<double> weight(owner.size());
    for (int64_t j = 0; j < before; j++) owner[j] = j, weight[j] = merging_norm(sizes[j]);
    weight.from(before).fill(worth);
    Owners owners(owner, weight, before);
    Vector<float> total(owner.size());
    Vector<int64_t> ends(n_documents > 1 ? pieces.lists.starts.size() : 0);
    std::copy(pieces.lists.starts.begin(), pieces.lists.starts.begin() + ends.size(), ends.data);
    for (int64_t d = 0; d < n_documents; d++) {
        int64_t piece = before + d;
        owner[piece] = -1;
        if (starts[d] == starts[d + 1]) continue;
        double norm = find_products(d, pieces, before, ends, total);
        owners.gather(total, inner.part(0, n_atoms));
        auto [nearest, cosine] = find_nearest(n_atoms, atoms);
        int64_t slot = -1;
        if (nearest < 0 || cosine < same) {
            if (n_atoms < documents.size()) slot = n_atoms++;
            else slot = make_room(nearest, cosine, worth, full, owners, atoms, used, birth);
        }
        bool joined = slot < 0;
        if (joined) slot = nearest;
        else birth[slot] = seen + d, documents[slot] = 0.0, inner[slot] = 0.0;
        owners.add(piece, slot);
        documents[slot] += worth;
        place(slot, joined, worth, norm, atoms);
        used[slot] = seen + d;
    }
    return find_changes(owner, before, n_atoms);
}

// Multiply cosines with an atom by its norm and those of the other atoms.
ODL_AVX2 static void scale_row(const float *__restrict cosines, double norm, const double *__restrict norms,
                               int64_t count, float *__restrict products) {
    for (int64_t j = 0; j < count; j++) products[j] = static_cast<float>(cosines[j] * (norm * norms[j]));
}

void renew(Span<const int64_t> changed, const SpannedRows &rows, Span<const int32_t> place, const Lists &lists,
           Span<const double> sizes, const Atoms &atoms) {
    constexpr int64_t SHARE = 4;  // `gram` is completed when a quarter of the atoms has changed since the last time
    Vector<double> norms(sizes.size());
    Vector<float> cosines(sizes.size());
    std::vector<uint32_t> numbers;
    for (int64_t j = 0; j < sizes.size(); j++) norms[j] = merging_norm(sizes[j]);
    for (int64_t j : changed) {
        atoms.squares[j] = norms[j] * norms[j];
        atoms.inverse[j] = norms[j] > 0.0 ? 1.0 / norms[j] : 0.0;
        ward::note_change(j, atoms);
        if (atoms.gram.rows == 0) continue;
        int64_t first = rows.spans(j, 0), size = rows.spans(j, 1) - first;
        cosines.fill(0.0f), numbers.clear();
        for (int64_t entry = first; entry < first + size; entry++)
            numbers.push_back(static_cast<uint32_t>(place[rows.terms[entry]]));
        add_products(0, size, {numbers.data(), size}, rows.weights.from(first), lists, cosines);
        scale_row(cosines.data, norms[j], norms.data, norms.size(), atoms.gram[j].data);
    }
    ward::close_up(atoms);
    auto counters = atoms.counters;
    if (atoms.gram.rows && SHARE * (counters[ward::TIME] - counters[ward::START]) > counters[ward::ATOMS])
        ward::complete_all(atoms);
}

using Counts = std::tuple<Vector<double>, Vector<double>>;

Counts count_matches(Span<const int64_t> bins, Span<const double> weights, Table<const int64_t> matches,
                     int64_t n_bins) {
    Vector<double> matched(n_bins), expected(n_bins);
    double n_matches = 0.0, total = 0.0;
    for (int64_t d = 0; d < matches.rows; d++) {
        double count = 0.0, weight = 0.0;
        for (int64_t j : matches[d])
            if (j >= 0) count += 1.0, weight += weights[j];
        n_matches += count;
        double share = count / std::max(weight, 1e-300);
        for (int64_t j : matches[d])
            if (j >= 0) matched[bins[j]] += weights[j] * share;
    }
    for (int64_t j = 0; j < bins.size(); j++) expected[bins[j]] += weights[j], total += weights[j];
    for (double &value : expected) value *= n_matches / total;
    return {std::move(matched), std::move(expected)};
}

Counts scales(Span<const int64_t> owner, Span<const double> sizes, Span<const double> documents, double power,
              Span<const int64_t> used, int64_t seen, Span<const int64_t> edges, Span<const double> factors) {
    Vector<double> plain(owner.size()), recent(owner.size());
    for (int64_t piece = 0; piece < owner.size(); piece++) {
        int64_t j = owner[piece];
        double cohesion = sizes[j] / std::max(documents[j], 1e-300), base = std::max(cohesion, 1e-12);
        double raised = power == 0.5 ? std::sqrt(base) : std::pow(base, power);
        plain[piece] = cohesion > 0.0 ? 1.0 / raised : 0.0;
        int64_t bin = std::upper_bound(edges.begin(), edges.end(), seen - 1 - used[j]) - edges.begin();
        recent[piece] = plain[piece] * factors[bin];
    }
    return {std::move(plain), std::move(recent)};
}

}  // namespace

void bind_atom_clusters(nb::module_ &kernels) {
    auto module = kernels.def_submodule("atom_clusters", "Documents join, open and merge atoms.");
    module.attr("MERGE") = int{MERGE};
    module.attr("JOIN") = int{JOIN};
    module.attr("RETIRE") = int{RETIRE};
    module.def("learn", &learn, "pieces"_a, "sizes"_a, "worth"_a, "atoms"_a, "used"_a, "birth"_a, "seen"_a, "same"_a,
               "full"_a, release(),
               R"(Let the documents of a block join, open and merge atoms, one after another.

A document whose cosine with its nearest atom is at least `same` joins it. Any other opens an atom: in an unused slot,
or, when all are used, in the slot that becomes free by merging the two atoms that are cheapest to merge, unless joining
the nearest atom is cheaper still. Merging costs (1 - cosine) sqrt(n m / (n + m)): large atoms that differ stay apart; a
document that joins is an atom of one.

Parameters
----------
pieces : tuple
    Documents in CSR form, of unit l2 norm, with numbers for terms; inverted lists of atoms, and of the documents (with
    a single document, these are not used).
sizes : ndarray of float64, shape (n_atoms,)
    Norms of the atoms.
worth : float
    Weight of a document in its atom.
atoms : Merging, changed
used, birth : ndarray of int64, shape (n_slots,), changed
    Number of the last document that joined, and of the first.
seen : int
    Documents learned before the block.
same : float
full : int
    What to do when all slots are used: 0 merges, 1 joins the nearest atom, 2 retires the smallest atom.

Returns
-------
changed : ndarray of int64
    Slots whose atom has changed, sorted.
places : ndarray of int64, shape (n_atoms + n_documents,)
    Position in `changed` of the slot that each atom and each document became part of; -1 for none.)");
    module.def("renew", &renew, "changed"_a, "rows"_a, "place"_a, "lists"_a, "sizes"_a, "atoms"_a, release(),
               R"(Update norms and inner products of atoms that have changed.

Parameters
----------
changed : ndarray of int64
rows : tuple of ndarray
    Spans, terms and weights of all atoms, of unit norm.
place : ndarray of int32
    Number of each term.
lists : tuple of ndarray
    Inverted lists of all atoms.
sizes : ndarray of float64, shape (n_atoms,)
    Norms of all atoms.
atoms : Merging, changed)");
    module.def("count_matches", &count_matches, "bins"_a, "weights"_a, "matches"_a, "n_bins"_a, release(),
               R"(Count the matches of documents by the age of the atoms, and those that chance would give.

Parameters
----------
bins : ndarray of int64, shape (n_atoms,)
    Bin of the age of each atom.
weights : ndarray of float64, shape (n_atoms,)
    Number of documents of each atom; the sum is above 0.
matches : ndarray of int64, shape (n_documents, m)
    Atoms that each document matches best, -1 for none. A document counts as m matches, which its atoms share in
    proportion to their weights.
n_bins : int

Returns
-------
matched, expected : ndarray of float64, shape (n_bins,))");
    module.def("scales", &scales, "owner"_a, "sizes"_a, "documents"_a, "power"_a, "used"_a, "seen"_a, "edges"_a,
               "factors"_a, release(),
               R"(Compute the factors of cosines with atoms, without and with recency.

With the norm S and the number n of documents of an atom, its factor is (S / n)^-power, and 0 if S is 0.

Parameters
----------
owner : ndarray of int64, shape (n_pieces,)
    Atoms whose factors are computed.
sizes, documents : ndarray of float64, shape (n_atoms,)
power : float
used : ndarray of int64, shape (n_atoms,)
    Number of the last document of each atom.
seen : int
    Number of documents so far; the age of an atom is ``seen - 1 - used``.
edges : ndarray of int64, shape (n_bins - 1,)
    Edges between the bins of ages.
factors : ndarray of float64, shape (n_bins,)
    Recency factor of each bin.

Returns
-------
plain, recent : ndarray of float64, shape (n_pieces,))");
}

}  // namespace odl
