// Lazy Ward merging: find the two atoms that are cheapest to merge.
//
// Merging atoms of n and m documents costs (1 - cosine) sqrt(n m / (n + m)); costs are stored squared. `stamp` is the
// time of an atom's last change. Row j of `gram` is up to date for all atoms that changed before j.
//
// A search of atom j stores the CANDIDATES of these atoms that are cheapest to merge with it: `partner[j]`, and their
// costs `cost[j]`, ascending. `price[j]` is the first cost. It is exact while the first partner has not changed, and a
// lower bound afterwards. Then the next unchanged partner is the cheapest; if there is none, j is searched again. Each
// pair is examined by the atom that changed last, and only when its bound is the smallest of all.
//
// Inner products and costs are in single precision. No ||S_j|| may be so small that its square is not in that range.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "arrays.h"

namespace odl::ward {

using std::int32_t, std::int64_t;

// `counters`: slots in use, time, time at which all of `gram` was up to date, time of the last search of changed atoms.
enum { ATOMS, TIME, START, SEARCHED };
constexpr int64_t BLOCK = 64;       // atoms per entry of `least`
constexpr int64_t LANES = 128;      // atoms whose costs are computed at once
constexpr int64_t CANDIDATES = 4;   // stored partners per atom
constexpr int64_t NOBODY = -1;      // `partner`: there is no other atom
constexpr int64_t UNKNOWN = -2;     // `partner`: must be searched
constexpr int32_t NEVER = std::numeric_limits<int32_t>::max();  // later than any time
constexpr float MIN_COUNT = 1e-12f;  // smallest number of documents in a cost
constexpr float INFINITE = std::numeric_limits<float>::infinity();

// Inner products of a group of atoms and all other groups.
struct GroupRows {
    virtual Span<const float> row(int64_t j) const = 0;

  protected:
    ~GroupRows() = default;
};

// Atoms that may merge, with one entry or row per atom unless the comment gives another size.
struct Merging {
    Table<float> gram;            // S_i^T S_j; empty if no atoms will be merged
    Span<double> documents;       // number of documents, after forgetting
    Span<double> squares;         // ||S_j||^2
    Span<double> inverse;         // 1 / ||S_j||
    Span<double> inner;           // inner products with one document (work space)
    Span<float> counts;           // `documents` in single precision, at least MIN_COUNT, for searches
    Span<float> reciprocal;       // `inverse`, likewise
    Span<int32_t> stamp;          // time of the last change
    Span<int64_t> recent;         // atoms sorted by the time of their last change
    Table<int64_t> partner;       // cheapest atoms to merge with, or NOBODY or UNKNOWN
    Table<float> cost;            // squared costs of merging with them
    Span<float> price;            // smallest squared cost, or a lower bound of it
    Span<float> least;            // smallest price of each block of atoms
    Span<int64_t> counters;       // see above
    Span<int64_t> places;         // work space
    const GroupRows *groups = nullptr;  // rows of groups of atoms, if `group` merges

    Span<const float> row(int64_t j) const;

    static constexpr auto members() {
        return std::tuple{&Merging::gram,   &Merging::documents, &Merging::squares,    &Merging::inverse,
                          &Merging::inner,  &Merging::counts,    &Merging::reciprocal, &Merging::stamp,
                          &Merging::recent, &Merging::partner,   &Merging::cost,       &Merging::price,
                          &Merging::least,  &Merging::counters,  &Merging::places};
    }
};

inline Span<const float> Merging::row(int64_t j) const { return groups ? groups->row(j) : Span<const float>(gram[j]); }

// Return the smallest of some values; none may be NaN.
inline float least_of(Span<const float> values) {
    constexpr int64_t WIDTH = 8;
    float least[WIDTH];
    std::fill(least, least + WIDTH, INFINITE);
    int64_t j = 0;
    for (; j + WIDTH <= values.size(); j += WIDTH)
        for (int64_t lane = 0; lane < WIDTH; lane++)
            least[lane] = values.data[j + lane] < least[lane] ? values.data[j + lane] : least[lane];
    for (; j < values.size(); j++) least[0] = values[j] < least[0] ? values[j] : least[0];
    return *std::min_element(least, least + WIDTH);
}

// Set the price of an atom, and update the smallest price of its block.
inline void set_price(int64_t j, float value, const Merging &atoms) {
    auto price = atoms.price, least = atoms.least;
    float before = price[j];
    int64_t block = j / BLOCK;
    price[j] = value;
    if (value <= least[block]) {
        least[block] = value;
    } else if (before == least[block]) {
        int64_t first = block * BLOCK;
        Span<const float> others = price.part(first, std::min(first + BLOCK, price.size()));
        least[block] = least_of(others);
    }
}

// Return the first atom with this price, from atom `first` on, or -1.
inline int64_t next_at(float value, int64_t first, const Merging &atoms) {
    auto price = atoms.price, least = atoms.least;
    for (int64_t block = first / BLOCK; block < least.size(); block++)
        if (least[block] == value)
            for (int64_t j = std::max(first, block * BLOCK); j < std::min((block + 1) * BLOCK, price.size()); j++)
                if (price[j] == value) return j;
    return -1;
}

// Atom whose partner is searched. `cost` is the squared cost of merging another atom with it, and infinite if the other
// atom changed later.
struct Searched {
    float documents, inverse;
    int32_t stamp;

    float cost(float product, float other, float other_inverse, int32_t other_stamp) const {
        float distance = 1.0f - product * (inverse * other_inverse);
        distance = distance > 0.0f ? distance : 0.0f;
        float value = distance * distance * (documents * other / (documents + other));
        return other_stamp < stamp ? value : INFINITE;
    }
};

// Compute the costs of merging an atom with up to LANES consecutive atoms, and the least cost of each lane.
ODL_AVX2 static void compute_costs(const Searched own, const float *__restrict products,
                                   const float *__restrict counts, const float *__restrict reciprocal,
                                   const int32_t *__restrict stamp, int64_t size, float *__restrict costs,
                                   float *__restrict least) {
    for (int64_t i = 0; i < size; i++) {
        float value = own.cost(products[i], counts[i], reciprocal[i], stamp[i]);
        costs[i] = value;
        least[i] = value < least[i] ? value : least[i];
    }
}

// Return work space for the costs of one search, which lives as long as the thread.
inline Span<float> cost_buffer(int64_t size) {
    static thread_local std::vector<float> buffer;
    if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(size);
    return {buffer.data(), size};
}

// Insert atom i into the list of the cheapest partners if its cost is low enough; for ties, the first atom comes first.
inline void insert(int64_t i, float value, Span<int64_t> partner, Span<float> cost) {
    int64_t rank = CANDIDATES;
    while (rank > 0 && (value < cost[rank - 1] || (value == cost[rank - 1] && i < partner[rank - 1]))) {
        if (rank < CANDIDATES) partner[rank] = partner[rank - 1], cost[rank] = cost[rank - 1];
        rank--;
    }
    if (rank < CANDIDATES) partner[rank] = i, cost[rank] = value;
}

// Find the atoms that are cheapest to merge with j among those that changed before it; for ties, the first one.
//
// Atoms i, i + LANES, i + 2 LANES ... are lane i. The CANDIDATES cheapest atoms are in lanes whose smallest cost is at
// most the CANDIDATES-th of these smallest costs, so only these lanes are examined atom by atom.
inline void search(int64_t j, const Merging &atoms) {
    Searched own{atoms.counts[j], atoms.reciprocal[j], atoms.stamp[j]};
    Span<const float> row = atoms.row(j);
    Span<float> costs = atoms.cost[j];
    Span<int64_t> partners = atoms.partner[j];
    int64_t size = atoms.counters[ATOMS];
    Span<float> all_costs = cost_buffer(size);
    float least[LANES];
    partners.fill(NOBODY), costs.fill(INFINITE), std::fill(least, least + LANES, INFINITE);
    for (int64_t first = 0; first < size; first += LANES)
        compute_costs(own, row.data + first, atoms.counts.data + first, atoms.reciprocal.data + first,
                      atoms.stamp.data + first, std::min(LANES, size - first), all_costs.data + first, least);
    float bounds[CANDIDATES];  // the smallest entries of `least`, ascending
    std::fill(bounds, bounds + CANDIDATES, std::numeric_limits<float>::max());
    for (float value : least)
        for (int64_t rank = CANDIDATES; rank > 0 && value < bounds[rank - 1]; rank--) {
            if (rank < CANDIDATES) bounds[rank] = bounds[rank - 1];
            bounds[rank - 1] = value;
        }
    float bound = bounds[CANDIDATES - 1];
    for (int64_t lane = 0; lane < LANES; lane++)
        if (least[lane] <= bound)
            for (int64_t i = lane; i < size; i += LANES)
                if (all_costs[i] <= bound) insert(i, all_costs[i], partners, costs);
    set_price(j, costs[0], atoms);
}

// Return whether the price of an atom is exact, rather than a lower bound.
inline bool is_right(int64_t j, const Merging &atoms) {
    int64_t partner = atoms.partner(j, 0);
    return partner == NOBODY || (partner >= 0 && atoms.stamp[partner] < atoms.stamp[j]);
}

// Replace the price of j, whose partner has changed, by the cost of the next stored partner that has not changed. If all
// have changed, the cost of the last one is a lower bound of all other costs. It becomes the price if it is larger than
// the price before; otherwise the partners are searched again.
inline void renew(int64_t j, const Merging &atoms) {
    Span<int64_t> partners = atoms.partner[j];
    Span<float> costs = atoms.cost[j];
    float bound = atoms.price[j];
    while (partners[0] != UNKNOWN && !is_right(j, atoms)) {
        bound = costs[0];
        for (int64_t rank = 1; rank < CANDIDATES; rank++)
            partners[rank - 1] = partners[rank], costs[rank - 1] = costs[rank];
        if (partners[CANDIDATES - 1] != NOBODY) partners[CANDIDATES - 1] = UNKNOWN;
    }
    if (partners[0] != UNKNOWN) set_price(j, costs[0], atoms);
    else if (bound > atoms.price[j]) set_price(j, bound, atoms);
    else search(j, atoms);
}

// Search partners for all atoms that have changed since the last call.
inline void search_changed(const Merging &atoms) {
    auto counters = atoms.counters;
    for (int64_t time = counters[SEARCHED]; time < counters[TIME]; time++) {
        int64_t j = atoms.recent[time];
        if (atoms.stamp[j] == time && atoms.partner(j, 0) == UNKNOWN) search(j, atoms);
    }
    counters[SEARCHED] = counters[TIME];
}

// Of the atoms with the smallest price, return one whose price is only a bound; otherwise, one of the first pair.
inline int64_t first_of_equals(int64_t first, const Merging &atoms) {
    float value = atoms.price[first];
    int64_t best = std::min(first, atoms.partner(first, 0)), other = std::max(first, atoms.partner(first, 0));
    for (int64_t j = next_at(value, first + 1, atoms); j >= 0; j = next_at(value, j + 1, atoms)) {
        if (!is_right(j, atoms)) return j;
        int64_t low = std::min(j, atoms.partner(j, 0)), high = std::max(j, atoms.partner(j, 0));
        if (low < best || (low == best && high < other)) first = j, best = low, other = high;
    }
    return first;
}

// Return an atom of the pair with the smallest cost; for ties, of the pair with the smallest numbers.
inline int64_t cheapest(const Merging &atoms) {
    search_changed(atoms);
    while (true) {
        float value = least_of(Span<const float>(atoms.least));
        int64_t j = next_at(value, 0, atoms);
        if (is_right(j, atoms)) {
            if (value == INFINITE || next_at(value, j + 1, atoms) < 0) return j;
            j = first_of_equals(j, atoms);
            if (is_right(j, atoms)) return j;
        }
        renew(j, atoms);
    }
}

// Copy the inner products with atoms that changed after j from their rows into row j.
inline void complete(int64_t j, const Merging &atoms) {
    auto stamp = atoms.stamp;
    auto recent = atoms.recent, places = atoms.places;
    int64_t count = 0;
    // Two loops: distant numbers are loaded in parallel only if no branch lies between the loads.
    for (int64_t time = std::max(int64_t{stamp[j]} + 1, atoms.counters[START]); time < atoms.counters[TIME]; time++) {
        places[count] = recent[time];
        count += stamp[recent[time]] == time;
    }
    Span<float> row = atoms.gram[j];
    for (int64_t i = 0; i < count; i++) row[places[i]] = atoms.gram(places[i], j);
}

// Complete the rows of all atoms.
inline void complete_all(const Merging &atoms) {
    constexpr int64_t ROWS = 16;           // rows per pass: a line of the cache has 16 numbers
    constexpr std::ptrdiff_t AHEAD = 16;   // number of changed atoms by which their rows are prefetched
    auto [gram, stamp, counters] = std::tuple{atoms.gram, atoms.stamp, atoms.counters};
    std::vector<int64_t> changed;
    for (int64_t j = 0; j < counters[ATOMS]; j++)
        if (stamp[j] >= counters[START]) changed.push_back(j);
    for (int64_t first = 0; first < counters[ATOMS]; first += ROWS) {
        int64_t end = std::min(first + ROWS, counters[ATOMS]);
        for (auto later = changed.begin(); later != changed.end(); later++) {
            if (changed.end() - later > AHEAD) __builtin_prefetch(&gram(later[AHEAD], first));
            for (int64_t row = first; row < end; row++)
                if (stamp[row] < stamp[*later]) gram(row, *later) = gram(*later, row);
        }
    }
    counters[START] = counters[TIME];
}

// Renumber times from 0, leaving out times whose atom has changed again later.
inline void close_up(const Merging &atoms) {
    auto counters = atoms.counters;
    int64_t now = 0, start = 0, searched = 0;
    for (int64_t time = 0; time < counters[TIME]; time++) {
        int64_t j = atoms.recent[time];
        if (atoms.stamp[j] == time) {
            atoms.stamp[j] = static_cast<int32_t>(now), atoms.recent[now] = j;
            now++;
            start += time < counters[START];
            searched += time < counters[SEARCHED];
        }
    }
    counters[TIME] = now, counters[START] = start, counters[SEARCHED] = searched;
}

// Record that atom j has changed now; its row is complete.
inline void note_change(int64_t j, const Merging &atoms) {
    atoms.stamp[j] = NEVER;
    if (atoms.counters[TIME] == atoms.recent.size()) close_up(atoms);
    int64_t now = atoms.counters[TIME]++;
    atoms.stamp[j] = static_cast<int32_t>(now), atoms.recent[now] = j, atoms.partner(j, 0) = UNKNOWN;
    atoms.counts[j] = std::max(static_cast<float>(atoms.documents[j]), MIN_COUNT);
    atoms.reciprocal[j] = static_cast<float>(atoms.inverse[j]);
}

ODL_AVX2 static void add_rows(const float *first, const float *second, int64_t size, float *sum) {
    for (int64_t i = 0; i < size; i++) sum[i] = first[i] + second[i];
}

// Add the documents of an atom to another one, given the inner product of both.
inline void join(int64_t gone, int64_t kept, double product, const Merging &atoms) {
    double &square = atoms.squares[kept];
    square += atoms.squares[gone] + 2.0 * product;
    atoms.inverse[kept] = square > 0.0 ? 1.0 / std::sqrt(square) : 0.0;
    atoms.documents[kept] += atoms.documents[gone];
    note_change(kept, atoms);
}

}  // namespace odl::ward
