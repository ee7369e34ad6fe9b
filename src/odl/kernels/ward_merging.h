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
// A search visits atoms in the order of their changes. So documents and 1 / ||S_j|| are also stored in that order
// (`in_order`), with 0 documents for an entry whose atom has changed again since.
#pragma once

#include <cmath>
#include <limits>

#include "arrays.h"

namespace odl::ward {

using std::int64_t;

// `counters`: slots in use, time, time at which all of `gram` was up to date, time of the last search of changed atoms.
enum { ATOMS, TIME, START, SEARCHED };
constexpr int64_t BLOCK = 64;       // atoms per entry of `least`
constexpr int64_t LANES = 128;      // atoms whose costs are computed at once
constexpr int64_t CANDIDATES = 4;   // stored partners per atom
constexpr int64_t NOBODY = -1;      // `partner`: there is no other atom
constexpr int64_t UNKNOWN = -2;     // `partner`: must be searched
constexpr int64_t NEVER = int64_t{1} << 62;  // later than any time
constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Atoms that may merge, with one entry or row per atom unless the comment gives another size.
template <class Real> struct Merging {
    Table<Real> gram;             // S_i^T S_j; empty if no atoms will be merged
    Span<Real> documents;         // number of documents, after forgetting
    Span<Real> squares;           // ||S_j||^2
    Span<Real> inverse;           // 1 / ||S_j||
    Span<Real> inner;             // inner products with one document (work space)
    Span<int64_t> stamp;          // time of the last change
    Span<int64_t> recent;         // atoms sorted by the time of their last change
    Table<int64_t> partner;       // cheapest atoms to merge with, or NOBODY or UNKNOWN
    Table<Real> cost;             // squared costs of merging with them
    Span<Real> price;             // smallest squared cost, or a lower bound of it
    Span<Real> least;             // smallest price of each block of atoms
    Span<int64_t> counters;       // see above
    Span<int64_t> places;         // work space
    Span<Real> work;              // documents and 1 / ||S_j|| in the order of `recent`, and work space
    static constexpr auto members() {
        return std::tuple{&Merging::gram,  &Merging::documents, &Merging::squares, &Merging::inverse, &Merging::inner,
                          &Merging::stamp, &Merging::recent,    &Merging::partner, &Merging::cost,    &Merging::price,
                          &Merging::least, &Merging::counters,  &Merging::places,  &Merging::work};
    }
};

// Return the least of some values, none of them NaN.
template <class Real> double least_of(Span<const Real> values) {
    constexpr int64_t WIDTH = 8;
    Real least[WIDTH];
    std::fill(least, least + WIDTH, std::numeric_limits<Real>::infinity());
    int64_t j = 0;
    for (; j + WIDTH <= values.size(); j += WIDTH)
        for (int64_t lane = 0; lane < WIDTH; lane++)
            least[lane] = values.data[j + lane] < least[lane] ? values.data[j + lane] : least[lane];
    for (; j < values.size(); j++) least[0] = values[j] < least[0] ? values[j] : least[0];
    return *std::min_element(least, least + WIDTH);
}

// Set the price of an atom, and the least price of its block.
template <class Real> void set_price(int64_t j, double value, const Merging<Real> &atoms) {
    auto price = atoms.price, least = atoms.least;
    double before = price[j];
    int64_t block = j / BLOCK;
    price[j] = static_cast<Real>(value);
    if (value <= least[block]) {
        least[block] = static_cast<Real>(value);
    } else if (before == least[block]) {
        int64_t first = block * BLOCK;
        Span<const Real> others = price.part(first, std::min(first + BLOCK, price.size()));
        least[block] = static_cast<Real>(least_of(others));
    }
}

// Return the first atom from `first` on that has this price, or -1.
template <class Real> int64_t next_at(double value, int64_t first, const Merging<Real> &atoms) {
    auto price = atoms.price, least = atoms.least;
    for (int64_t block = first / BLOCK; block < least.size(); block++)
        if (least[block] == value)
            for (int64_t j = std::max(first, block * BLOCK); j < std::min((block + 1) * BLOCK, price.size()); j++)
                if (price[j] == value) return j;
    return -1;
}

// Turn products of an atom and those of a block into squared costs of merging, infinite where nothing is.
template <class Real>
void find_costs(Real *__restrict row, Real own, Real inverse, const Real *__restrict documents,
                const Real *__restrict inverses, int64_t size, Real *__restrict least) {
    const Real one = 1, zero = 0, infinite = std::numeric_limits<Real>::infinity();
    for (int64_t i = 0; i < size; i++) {
        Real distance = one - row[i] * (inverse * inverses[i]);
        distance = distance > zero ? distance : zero;
        Real value = distance * distance * (own * documents[i] / (own + documents[i]));
        row[i] = documents[i] > zero ? value : infinite;
        least[i] = row[i] < least[i] ? row[i] : least[i];
    }
}

// Put i among the cheapest ones if it is of them, among those of the same cost by their numbers.
template <class Real> void insert(int64_t i, Real value, Span<int64_t> partner, Span<Real> cost) {
    int64_t rank = CANDIDATES;
    while (rank > 0 && (value < cost[rank - 1] || (value == cost[rank - 1] && i < partner[rank - 1]))) {
        if (rank < CANDIDATES) partner[rank] = partner[rank - 1], cost[rank] = cost[rank - 1];
        rank--;
    }
    if (rank < CANDIDATES) partner[rank] = i, cost[rank] = value;
}

template <class Real> struct InOrder {
    Span<Real> documents, inverses;  // by the time of the change
    Span<Real> products, least;      // work space
};

template <class Real> InOrder<Real> in_order(const Merging<Real> &atoms) {
    Span<Real> rest = atoms.work.from(LANES);
    int64_t room = atoms.recent.size();
    return {rest.part(0, room), rest.part(room, 2 * room), rest.from(2 * room), atoms.work.part(0, LANES)};
}

// Find the atoms that are cheapest to merge with j among those that changed before it; among equals the first.
//
// Of every LANES-th of them, from each of the first ones on, the least cost is found. Only where that is one of the
// least so far these are looked at.
template <class Real> void search(int64_t j, const Merging<Real> &atoms) {
    auto [documents, inverses, work, least] = in_order(atoms);
    Span<Real> row = atoms.gram[j], costs = atoms.cost[j];
    Span<int64_t> partners = atoms.partner[j];
    Real own = atoms.documents[j];
    int64_t size = own > 0 ? atoms.stamp[j] : 0;
    const Real infinite = std::numeric_limits<Real>::infinity();
    partners.fill(NOBODY), costs.fill(infinite), least.fill(infinite);
    for (int64_t time = 0; time < size; time++) work[time] = row[atoms.recent[time]];
    for (int64_t first = 0; first < size; first += LANES)
        find_costs(work.data + first, own, atoms.inverse[j], documents.data + first, inverses.data + first,
                   std::min(LANES, size - first), least.data);
    for (int64_t lane = 0; lane < LANES; lane++)
        if (least[lane] <= costs[CANDIDATES - 1])
            for (int64_t time = lane; time < size; time += LANES)
                if (work[time] <= costs[CANDIDATES - 1]) insert(atoms.recent[time], work[time], partners, costs);
    set_price(j, costs[0], atoms);
}

// Tell whether the price of an atom is that of its partner, or of nothing, rather than a bound.
template <class Real> bool is_right(int64_t j, const Merging<Real> &atoms) {
    int64_t partner = atoms.partner(j, 0);
    return partner == NOBODY || (partner >= 0 && atoms.stamp[partner] < atoms.stamp[j]);
}

// Take the next partner of j that has not changed since, or search.
template <class Real> void renew(int64_t j, const Merging<Real> &atoms) {
    Span<int64_t> partners = atoms.partner[j];
    Span<Real> costs = atoms.cost[j];
    while (partners[0] != UNKNOWN && !is_right(j, atoms)) {
        for (int64_t rank = 1; rank < CANDIDATES; rank++)
            partners[rank - 1] = partners[rank], costs[rank - 1] = costs[rank];
        if (partners[CANDIDATES - 1] != NOBODY) partners[CANDIDATES - 1] = UNKNOWN;
    }
    if (partners[0] == UNKNOWN) search(j, atoms);
    else set_price(j, costs[0], atoms);
}

// Search the rows of atoms that have changed since this was done.
template <class Real> void search_changed(const Merging<Real> &atoms) {
    auto counters = atoms.counters;
    for (int64_t time = counters[SEARCHED]; time < counters[TIME]; time++) {
        int64_t j = atoms.recent[time];
        if (atoms.stamp[j] == time && atoms.partner(j, 0) == UNKNOWN) search(j, atoms);
    }
    counters[SEARCHED] = counters[TIME];
}

// Return an atom of the least price that must be searched again, or of the first pair that has it.
template <class Real> int64_t first_of_equals(int64_t first, const Merging<Real> &atoms) {
    double value = atoms.price[first];
    int64_t best = std::min(first, atoms.partner(first, 0)), other = std::max(first, atoms.partner(first, 0));
    for (int64_t j = next_at(value, first + 1, atoms); j >= 0; j = next_at(value, j + 1, atoms)) {
        if (!is_right(j, atoms)) return j;
        int64_t low = std::min(j, atoms.partner(j, 0)), high = std::max(j, atoms.partner(j, 0));
        if (low < best || (low == best && high < other)) first = j, best = low, other = high;
    }
    return first;
}

// Return the atom whose price is the least; of equal pairs that of the first atom, then of the first other.
template <class Real> int64_t cheapest(const Merging<Real> &atoms) {
    search_changed(atoms);
    while (true) {
        double value = least_of(Span<const Real>(atoms.least));
        int64_t j = next_at(value, 0, atoms);
        if (is_right(j, atoms)) {
            if (value == INFINITE || next_at(value, j + 1, atoms) < 0) return j;
            j = first_of_equals(j, atoms);
            if (is_right(j, atoms)) return j;
        }
        renew(j, atoms);
    }
}

// Take into row j of `gram` what has changed after it.
template <class Real> void complete(int64_t j, const Merging<Real> &atoms) {
    auto stamp = atoms.stamp, recent = atoms.recent, places = atoms.places;
    int64_t count = 0;
    // First which, then what: numbers far from each other are fetched at once only with no choice in between.
    for (int64_t time = std::max(stamp[j] + 1, atoms.counters[START]); time < atoms.counters[TIME]; time++) {
        places[count] = recent[time];
        count += stamp[recent[time]] == time;
    }
    Span<Real> row = atoms.gram[j];
    for (int64_t i = 0; i < count; i++) row[places[i]] = atoms.gram(places[i], j);
}

// Take an atom out of the order, where it may be.
template <class Real> void leave(int64_t j, const Merging<Real> &atoms) {
    if (atoms.stamp[j] != NEVER) {
        in_order(atoms).documents[atoms.stamp[j]] = 0;
        atoms.stamp[j] = NEVER;
    }
}

// Count time from 0 again, without the times of which the atom has changed again, and bring what is in order up to
// date.
template <class Real> void close_up(const Merging<Real> &atoms) {
    auto ordered = in_order(atoms);
    auto counters = atoms.counters;
    int64_t now = 0, start = 0, searched = 0;
    for (int64_t time = 0; time < counters[TIME]; time++) {
        int64_t j = atoms.recent[time];
        if (atoms.stamp[j] == time) {
            atoms.stamp[j] = now, atoms.recent[now] = j;
            ordered.documents[now] = atoms.documents[j], ordered.inverses[now] = atoms.inverse[j];
            now++;
            start += time < counters[START];
            searched += time < counters[SEARCHED];
        }
    }
    counters[TIME] = now, counters[START] = start, counters[SEARCHED] = searched;
}

// Note that row j of `gram` is new.
template <class Real> void note_change(int64_t j, const Merging<Real> &atoms) {
    auto ordered = in_order(atoms);
    leave(j, atoms);
    if (atoms.counters[TIME] == atoms.recent.size()) close_up(atoms);
    int64_t now = atoms.counters[TIME]++;
    atoms.stamp[j] = now, atoms.recent[now] = j, atoms.partner(j, 0) = UNKNOWN;
    ordered.documents[now] = atoms.documents[j], ordered.inverses[now] = atoms.inverse[j];
}

// Add an atom to another one; their rows of `gram` are right.
template <class Real> void merge(int64_t gone, int64_t kept, const Merging<Real> &atoms) {
    Real &square = atoms.squares[kept];
    square = static_cast<Real>(square + (atoms.squares[gone] + 2.0 * atoms.gram(kept, gone)));
    atoms.inverse[kept] = square > 0 ? static_cast<Real>(1.0 / std::sqrt(square)) : Real(0);
    Span<Real> row = atoms.gram[kept], other = atoms.gram[gone];
    for (int64_t i = 0; i < atoms.counters[ATOMS]; i++) row[i] += other[i];
    atoms.documents[kept] += atoms.documents[gone];
    atoms.inner[kept] += atoms.inner[gone];
    note_change(kept, atoms);
}

}  // namespace odl::ward
