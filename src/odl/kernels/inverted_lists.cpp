// Inverted lists: for each term, the rows that contain it and their weights. Also operations on the rows themselves:
// flattening, coding on a few atoms, pruning to the largest weights.
//
// The inner products of a document with all rows are sums over the lists of the document's terms. Rows are atoms or
// documents, with consecutive numbers for the terms in use (`odl.learners.likeness.TermNumbers`).
#include "inverted_lists.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "bindings.h"

namespace odl {

namespace {

using std::int32_t, std::int64_t, std::uint32_t, std::uint64_t;

// Terms with their plain and flattened weights.
template <class Term, class Weight> struct Entries {
    Span<Term> terms;
    Span<Weight> weights, flat;
    static constexpr auto members() { return std::tuple{&Entries::terms, &Entries::weights, &Entries::flat}; }
};
using OldEntries = Entries<const uint32_t, const double>;
using NewEntries = Entries<uint32_t, double>;

// Plain and flattened weights, by rows or by terms.
template <class Start, class Row, class Weight> struct FlatRows {
    Span<Start> starts;
    Span<Row> terms;
    Span<Weight> weights, flat;
    static constexpr auto members() {
        return std::tuple{&FlatRows::starts, &FlatRows::terms, &FlatRows::weights, &FlatRows::flat};
    }
};
using NewRows = FlatRows<int64_t, uint32_t, double>;
using NewLists = FlatRows<int64_t, uint32_t, float>;

struct PlainLists {
    Span<int64_t> starts;
    Span<uint32_t> rows;
    Span<float> values;
    static constexpr auto members() {
        return std::tuple{&PlainLists::starts, &PlainLists::rows, &PlainLists::values};
    }
};

struct TwoFamilies {
    SpannedRows early, late;
    static constexpr auto members() { return std::tuple{&TwoFamilies::early, &TwoFamilies::late}; }
};

// `counters`: numbers of terms in use, end of the used part of the lists (in `rebuild`, number of entries), pieces.
enum { NUMBERS, END, PIECES };

double product(int64_t row, const SpannedRows &rows, Span<const double> dense) {
    double total = 0.0;
    for (int64_t entry = rows.spans(row, 0); entry < rows.spans(row, 1); entry++)
        total += rows.weights[entry] * dense[rows.terms[entry]];
    return total;
}

// Return work space of `size` zeros that lives as long as the thread. The caller restores the zeros.
Span<double> zero_buffer(int64_t size) {
    static thread_local std::vector<double> buffer;
    if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(size);
    return {buffer.data(), size};
}

// Rows that documents are compared with: inverted lists of pieces, the number of each term in the lists (`place`), the
// row of each piece (`owner`), and the rows.
struct Compared {
    Lists lists;
    Span<const int32_t> place;
    Span<const int64_t> owner;
    SpannedRows rows;
    static constexpr auto members() {
        return std::tuple{&Compared::lists, &Compared::place, &Compared::owner, &Compared::rows};
    }

    // Set `numbers` to the numbers of terms; a term without a number gets one that is in no list.
    void find_numbers(Span<const uint32_t> terms, std::vector<uint32_t> &numbers) const {
        numbers.resize(terms.size());
        for (int64_t entry = 0; entry < terms.size(); entry++) {
            int64_t term = terms[entry];
            numbers[entry] = static_cast<uint32_t>(term < place.size() ? place[term] : -1);
        }
    }
};

constexpr int64_t SCALED = 64;  // number of products in a block that is scaled at once

// Multiply `total` by `scale` into `products`; return the number of products that are at least `least`.
ODL_AVX2 static int32_t scale_products(const float *__restrict total, const float *__restrict scale, int64_t size,
                                       float least, float *__restrict products) {
    int32_t above = 0;
    for (int64_t piece = 0; piece < size; piece++) {
        float value = total[piece] * scale[piece];
        products[piece] = value;
        above += value >= least;
    }
    return above;
}

// Search for the rows with the largest positive products with a document. Products with pieces are scaled first.
class Largest {
  public:
    Largest(Span<const double> scale, const Compared &compared)
        : scale(scale), compared(compared), single(scale.size()) {
        std::copy(scale.begin(), scale.end(), single.data);
    }

    // Fill `neighbours` with the rows of the largest products, descending; for ties, the first row. All products are in
    // single precision.
    void find(Span<const float> total, Span<int64_t> neighbours, Span<double> products) {
        int64_t most = neighbours.size();
        select(total, most);
        for (int64_t at = 0; at < most; at++) {
            neighbours[at] = pieces[at] < 0 ? -1 : compared.owner[pieces[at]];
            products[at] = best[at];
        }
    }

    // Fill `neighbours` like `find`, but rank the best rows by products that are computed in double precision.
    void find_exactly(Span<const float> total, Span<const double> document, Span<int64_t> neighbours,
                      Span<double> products) {
        // Rows after the `most` best ones in single precision may belong to them in double precision. Up to MORE rows
        // are examined, if their product is at least NEAR times that of the last of the `most` best ones.
        constexpr int64_t MORE = 2;
        constexpr float NEAR = 0.99999f;
        int64_t most = neighbours.size();
        select(total, most + MORE);
        neighbours.fill(-1), products.fill(0.0);
        for (int64_t at = 0; at < most + MORE && pieces[at] >= 0; at++) {
            if (at >= most && best[at] < NEAR * best[most - 1]) break;
            int64_t row = compared.owner[pieces[at]], rank = most;
            double value = product(row, compared.rows, document) * scale[pieces[at]];
            for (; rank > 0 && comes_before(value, row, products[rank - 1], neighbours[rank - 1]); rank--)
                if (rank < most) products[rank] = products[rank - 1], neighbours[rank] = neighbours[rank - 1];
            if (rank < most) products[rank] = value, neighbours[rank] = row;
        }
    }

  private:
    template <class Value> static bool comes_before(Value value, int64_t row, Value other, int64_t other_row) {
        return value > other || (value == other && row < other_row);
    }

    void select(Span<const float> total, int64_t most) {
        float least = std::numeric_limits<float>::min(), products[SCALED];
        pieces.assign(most, -1), best.assign(most, 0.0f);
        for (int64_t first = 0; first < total.size(); first += SCALED) {
            int64_t size = std::min(SCALED, total.size() - first);
            if (!scale_products(total.data + first, single.data + first, size, least, products)) continue;
            for (int64_t piece = 0; piece < size; piece++) {
                float value = products[piece];
                if (value < least) continue;
                int64_t row = compared.owner[first + piece], rank = most;
                for (; rank > 0 && (pieces[rank - 1] < 0 || comes_before(value, row, best[rank - 1],
                                                                         compared.owner[pieces[rank - 1]])); rank--)
                    if (rank < most) pieces[rank] = pieces[rank - 1], best[rank] = best[rank - 1];
                if (rank < most) pieces[rank] = first + piece, best[rank] = value;
                least = std::max(best[most - 1], least);
            }
        }
    }

    Span<const double> scale;
    const Compared &compared;
    Vector<float> single;  // `scale` in single precision
    std::vector<int64_t> pieces;
    std::vector<float> best;
};

void nearest(bool apart, const Rows &documents, const Compared &compared, Span<const double> scale,
             Span<const double> recent_scale, int64_t n_terms, Table<int64_t> neighbours,
             Table<double> best, Table<int64_t> recent, Table<double> recent_best) {
    Span<double> dense = zero_buffer(n_terms);
    Vector<float> total(compared.owner.size());
    std::vector<uint32_t> numbers;
    Largest plain(scale, compared), lately(recent_scale, compared);
    for (int64_t d = 0; d < documents.size(); d++) {
        int64_t first = documents.starts[d], last = documents.starts[d + 1];
        total.fill(0.0f);
        compared.find_numbers(documents.indices.part(first, last), numbers);
        Span<const uint32_t> terms{numbers.data(), last - first};
        add_products(0, last - first, terms, documents.values.from(first), compared.lists, total);
        if (apart) total[d] = 0.0f;
        for (int64_t entry = first; entry < last; entry++) dense[documents.indices[entry]] = documents.values[entry];
        if (recent.rows) {
            plain.find(total, neighbours[d], best[d]);
            lately.find_exactly(total, dense, recent[d], recent_best[d]);
        } else {
            plain.find_exactly(total, dense, neighbours[d], best[d]);
        }
        for (int64_t entry = first; entry < last; entry++) dense[documents.indices[entry]] = 0.0;
    }
}

int64_t number(Span<const uint32_t> terms, Span<int32_t> place, int64_t count, Span<uint32_t> numbers) {
    for (int64_t entry = 0; entry < terms.size(); entry++) {
        uint32_t term = terms[entry];
        if (place[term] < 0) place[term] = static_cast<int32_t>(count++);
        numbers[entry] = static_cast<uint32_t>(place[term]);
    }
    return count;
}

void invert(const Rows &compressed, const PlainLists &lists) {
    const auto &[starts, terms, weights] = compressed;
    const auto &[offsets, rows, values] = lists;
    for (int64_t entry = starts[0]; entry < starts[starts.size() - 1]; entry++) offsets[int64_t{terms[entry]} + 1]++;
    for (int64_t term = 1; term < offsets.size(); term++) offsets[term] += offsets[term - 1];
    for (int64_t row = 0; row + 1 < starts.size(); row++)
        for (int64_t entry = starts[row]; entry < starts[row + 1]; entry++) {
            int64_t place = offsets[terms[entry]]++;
            rows[place] = static_cast<uint32_t>(row), values[place] = static_cast<float>(weights[entry]);
        }
    // The loop above has moved each offset to the end of its list, which is the start of the next list.
    for (int64_t term = offsets.size() - 1; term > 0; term--) offsets[term] = offsets[term - 1];
    offsets[0] = 0;
}

// Assign the next piece number to a column, unless it has one. With `filled`, empty columns are no pieces.
void add_piece(bool filled, int64_t column, Table<const int64_t> spans, Span<int64_t> piece, Span<int64_t> owner,
               int64_t &n_pieces) {
    if (piece[column] >= 0 || (filled && spans(column, 0) == spans(column, 1))) return;
    piece[column] = n_pieces;
    owner[n_pieces++] = column;
}

bool rebuild(bool filled, Table<const int64_t> spans, const OldEntries &entries, Span<int64_t> piece,
             Span<int64_t> owners, Span<int32_t> place, const NewLists &lists, Span<int64_t> limits,
             Span<int64_t> counters) {
    const auto &[bounds, pieces, values, raised] = lists;
    std::vector<int64_t> sizes;
    int64_t free = 0;
    place.fill(-1), piece.fill(-1);
    counters[PIECES] = 0;
    for (int64_t column = 0; column < spans.rows; column++)
        add_piece(filled, column, spans, piece, owners, counters[PIECES]);
    auto owner = owners.part(0, counters[PIECES]);
    for (int64_t column : owner)
        for (int64_t entry = spans(column, 0); entry < spans(column, 1); entry++) {
            int32_t &number = place[entries.terms[entry]];
            if (number < 0) number = static_cast<int32_t>(sizes.size()), sizes.push_back(0);
            sizes[number]++;
        }
    int64_t count = static_cast<int64_t>(sizes.size());
    for (int64_t size : sizes) free += size;
    counters[NUMBERS] = count, counters[END] = free;
    // At least half of the space must be free for later changes; otherwise the caller allocates more.
    if (2 * count > limits.size() || 2 * free > pieces.size()) return false;
    bounds.fill(0), limits.fill(0);
    free = 0;
    for (int64_t number = 0; number < count; number++) {
        bounds[2 * number] = bounds[2 * number + 1] = free;
        free += sizes[number];
        limits[number] = free;
    }
    for (int64_t piece = 0; piece < owner.size(); piece++)
        for (int64_t entry = spans(owner[piece], 0); entry < spans(owner[piece], 1); entry++) {
            int64_t at = bounds[2 * int64_t{place[entries.terms[entry]]} + 1]++;
            pieces[at] = static_cast<uint32_t>(piece);
            values[at] = static_cast<float>(entries.weights[entry]);
            raised[at] = static_cast<float>(entries.flat[entry]);
        }
    return true;
}

void take(Table<const int64_t> spans, const OldEntries &entries, const NewRows &result) {
    int64_t free = 0;
    for (int64_t row = 0; row < spans.rows; row++) {
        result.starts[row] = free;
        for (int64_t entry = spans(row, 0); entry < spans(row, 1); entry++, free++) {
            result.terms[free] = entries.terms[entry];
            result.weights[free] = entries.weights[entry], result.flat[free] = entries.flat[entry];
        }
    }
    result.starts[spans.rows] = free;
}

// Replace the weights of a row in the list of a term by those of `entry`; if `entry` is -1, remove the row.
void replace(int64_t row, int64_t number, int64_t entry, const OldEntries &entries, const NewLists &lists) {
    const auto &[bounds, owners, values, raised] = lists;
    constexpr int64_t WIDTH = 16;  // number of rows that are compared at once
    int64_t at = bounds[2 * number], last = bounds[2 * number + 1] - 1;
    auto wanted = static_cast<uint32_t>(row);
    for (; at + WIDTH <= last; at += WIDTH) {
        uint32_t equal = 0;
        for (int64_t i = 0; i < WIDTH; i++) equal |= owners.data[at + i] == wanted;
        if (equal) break;
    }
    while (at < last && owners[at] != wanted) at++;
    if (entry >= 0) {
        values[at] = static_cast<float>(entries.weights[entry]);
        raised[at] = static_cast<float>(entries.flat[entry]);
    } else {
        owners[at] = owners[last], values[at] = values[last], raised[at] = raised[last];
        bounds[2 * number + 1] = last;
    }
}

// Append a row to the list of a term. A full list moves to the end of all lists. Return false if there is no room.
bool append(int64_t row, int64_t entry, const OldEntries &entries, Span<int32_t> place, const NewLists &lists,
            Span<int64_t> limits, Span<int64_t> counters) {
    const auto &[bounds, owners, values, raised] = lists;
    uint32_t term = entries.terms[entry];
    if (place[term] < 0) place[term] = static_cast<int32_t>(counters[NUMBERS]++);
    int64_t number = place[term];
    if (number >= limits.size()) return false;
    int64_t first = bounds[2 * number], end = bounds[2 * number + 1], free = counters[END];
    if (end == limits[number]) {
        int64_t room = (end - first) * 5 / 4 + 4;
        if (free + room > owners.size()) return false;
        for (int64_t at = first; at < end; at++) {
            int64_t moved = free + at - first;
            owners[moved] = owners[at], values[moved] = values[at], raised[moved] = raised[at];
        }
        end += free - first;
        bounds[2 * number] = free, limits[number] = free + room, counters[END] = free + room;
    }
    owners[end] = static_cast<uint32_t>(row), values[end] = static_cast<float>(entries.weights[entry]);
    raised[end] = static_cast<float>(entries.flat[entry]);
    bounds[2 * number + 1] = end + 1;
    return true;
}

// Load the bounds of the list of a term, or the first entries of that list, into the cache.
void prefetch_bounds(uint32_t term, Span<const int32_t> place, const NewLists &lists) {
    if (place[term] >= 0) __builtin_prefetch(lists.starts.data + 2 * int64_t{place[term]}, 1, 3);
}
void prefetch_list(uint32_t term, Span<const int32_t> place, const NewLists &lists) {
    if (place[term] < 0 || 2 * int64_t{place[term]} >= lists.starts.size()) return;
    int64_t first = lists.starts[2 * int64_t{place[term]}];
    __builtin_prefetch(lists.terms.data + first, 1, 3);
    __builtin_prefetch(lists.weights.data + first, 1, 3);
    __builtin_prefetch(lists.flat.data + first, 1, 3);
}

// Change of a column: the term of an entry, the new entry (-1: none), and whether the column had the term before.
struct Edit {
    uint32_t term;
    int64_t entry;
    bool known;
};

// Set `edits` to the differences of a column between its old entries and its new ones; terms ascend in both.
void compare(int64_t old_entry, int64_t old_end, int64_t new_entry, int64_t new_end, const OldEntries &entries,
             std::vector<Edit> &edits) {
    const auto &[terms, weights, flat] = entries;
    edits.clear();
    while (old_entry < old_end || new_entry < new_end) {
        if (old_entry == old_end || (new_entry < new_end && terms[new_entry] < terms[old_entry])) {
            edits.push_back({terms[new_entry], new_entry, false});
            new_entry++;
        } else if (new_entry == new_end || terms[old_entry] < terms[new_entry]) {
            edits.push_back({terms[old_entry], -1, true});
            old_entry++;
        } else {
            if (weights[old_entry] != weights[new_entry] || flat[old_entry] != flat[new_entry])
                edits.push_back({terms[new_entry], new_entry, true});
            old_entry++, new_entry++;
        }
    }
}

bool exchange(bool filled, Span<const int64_t> changed, Table<const int64_t> before, Table<const int64_t> after,
              const OldEntries &entries, Span<int64_t> piece, Span<int64_t> owner, Span<int32_t> place,
              const NewLists &lists, Span<int64_t> limits, Span<int64_t> counters) {
    constexpr std::size_t AHEAD = 6;  // number of edits by which the list of a term is prefetched
    std::vector<Edit> edits;
    for (int64_t column : changed) {
        add_piece(filled, column, after, piece, owner, counters[PIECES]);
        bool is_new = column >= before.rows;
        compare(is_new ? 0 : before(column, 0), is_new ? 0 : before(column, 1), after(column, 0), after(column, 1),
                entries, edits);
        for (std::size_t i = 0; i < edits.size(); i++) {
            if (i + 2 * AHEAD < edits.size()) {
                prefetch_bounds(edits[i + 2 * AHEAD].term, place, lists);
                prefetch_list(edits[i + AHEAD].term, place, lists);
            }
            const auto [term, entry, known] = edits[i];
            if (known) replace(piece[column], place[term], entry, entries, lists);
            else if (!append(piece[column], entry, entries, place, lists, limits, counters)) return false;
        }
    }
    return true;
}

// Raise positive normal numbers to a power, as 2^(power log2 x); others become 0. The relative error is below 1e-14.
//
// Only additions, multiplications and divisions are used, so that the loop is vectorised, and results do not depend on
// the mathematical library. Bits of a double: 11 of the exponent, biased by 1023, above 52 of the mantissa.
ODL_AVX2 static void raise(const double *__restrict weights, double power, int64_t size, double *__restrict values) {
    constexpr double LOG2_E = 1.4426950408889634, LN_2 = 0.6931471805599453;
    constexpr double ROUND = 6755399441055744.0;  // 1.5 * 2^52: x + ROUND has the nearest integer of x in its last bits
    constexpr double LARGE = 4503599627370496.0;  // 2^52, whose bits plus n are those of 2^52 + n
    constexpr int64_t ROOT_HALF = 0x3fe6a09e667f3bcd, ONE = 0x3ff0000000000000, MANTISSA = 0x000fffffffffffff;
    for (int64_t i = 0; i < size; i++) {
        int64_t bits, exponent_bits, mantissa_bits;
        uint64_t scale_bits;  // unsigned, since the shift drops bits
        double exponent, mantissa, scale, large = LARGE;
        // x = 2^exponent mantissa, sqrt(1/2) <= mantissa < sqrt(2)
        std::memcpy(&bits, weights + i, 8);
        bits += ONE - ROOT_HALF;
        std::memcpy(&exponent_bits, &large, 8);
        exponent_bits |= static_cast<int64_t>(static_cast<uint64_t>(bits) >> 52);
        std::memcpy(&exponent, &exponent_bits, 8);
        exponent -= LARGE + 1023.0;
        mantissa_bits = (bits & MANTISSA) + ROOT_HALF;
        std::memcpy(&mantissa, &mantissa_bits, 8);
        // ln(mantissa) = 2 (t + t^3/3 + t^5/5 + ...)
        double t = (mantissa - 1.0) / (mantissa + 1.0), s = t * t;
        double series = 1.0 / 21;
        for (int64_t odd = 19; odd > 0; odd -= 2) series = series * s + 1.0 / static_cast<double>(odd);
        double y = power * (exponent + 2.0 * LOG2_E * t * series);
        // 2^y = 2^n exp((y - n) ln 2), n the integer nearest to y
        double shifted = y + ROUND, z = (y - (shifted - ROUND)) * LN_2;
        double result = 1.0;
        for (int64_t degree = 14; degree > 0; degree--) result = 1.0 + result * z * (1.0 / static_cast<double>(degree));
        std::memcpy(&scale_bits, &shifted, 8);
        scale_bits = (scale_bits << 52) + ONE;
        std::memcpy(&scale, &scale_bits, 8);
        values[i] = weights[i] > 1e-300 ? result * scale : 0.0;
    }
}

// Raise the weights of a row to a power; return the l2 norm of the result.
double raise_row(int64_t begin, int64_t end, Span<const double> weights, double power, Span<double> values) {
    if (power == 1.0) std::copy(weights.data + begin, weights.data + end, values.data + begin);
    else raise(weights.data + begin, power, end - begin, values.data + begin);
    double total = 0.0;
    for (int64_t entry = begin; entry < end; entry++) total += values[entry] * values[entry];
    return std::sqrt(total);
}

// Flatten a row, by its number in `lengths`. Without `lengths` the result has unit l2 norm; otherwise its norm is stored.
void flatten_row(int64_t row, int64_t begin, int64_t end, Span<const double> weights, double power,
                 Span<double> values, Span<double> lengths) {
    double norm = raise_row(begin, end, weights, power, values), factor = norm > 0.0 ? 1.0 / norm : 0.0;
    if (lengths.size()) lengths[row] = norm > 0.0 ? norm : 1.0;
    else for (int64_t entry = begin; entry < end; entry++) values[entry] *= factor;
}

void flatten(Span<const int64_t> starts, Span<const double> weights, double power, Span<double> values,
             Span<double> lengths) {
    for (int64_t row = 0; row + 1 < starts.size(); row++)
        flatten_row(row, starts[row], starts[row + 1], weights, power, values, lengths);
}

// A set of terms that is read in ascending order. Bit t of `bits` is set for each term t, in words of 64 bits. Bit i of
// `summary` is set if word i of `bits` is not 0.
class TermSet {
  public:
    void widen(int64_t n_terms) {
        if (n_terms > static_cast<int64_t>(bits.size()) * 64)
            bits.resize(n_terms / 64 + 1), summary.resize(bits.size() / 64 + 1);
    }

    void add(uint32_t term) {
        bits[term / 64] |= uint64_t{1} << term % 64;
        summary[term / 4096] |= uint64_t{1} << term / 64 % 64;
    }

    // Call a function with each term, and remove all terms. x & (x - 1) clears the lowest bit of x.
    template <class Function> void drain(Function function) {
        for (std::size_t high = 0; high < summary.size(); high++)
            for (; summary[high]; summary[high] &= summary[high] - 1) {
                std::size_t word = 64 * high + __builtin_ctzll(summary[high]);
                for (; bits[word]; bits[word] &= bits[word] - 1)
                    function(static_cast<uint32_t>(64 * word + __builtin_ctzll(bits[word])));
            }
    }

  private:
    std::vector<uint64_t> bits, summary;
};

// Write the sum of weighted rows to `entries`, from position `free` on: terms ascending, without zeros. Return the
// position after the last entry.
int64_t add_up(Span<const int64_t> places, Span<const double> factors, double late_factor, const TwoFamilies &rows,
               Span<double> dense, TermSet &terms, int64_t free, const NewEntries &entries) {
    int64_t before = rows.early.spans.rows;
    for (int64_t place : places) {
        bool is_early = place < before;
        const SpannedRows &own = is_early ? rows.early : rows.late;
        int64_t at = is_early ? place : place - before;
        double factor = is_early ? factors[place] : late_factor;
        for (int64_t entry = own.spans(at, 0); entry < own.spans(at, 1); entry++) {
            uint32_t term = own.terms[entry];
            terms.add(term);
            dense[term] += own.weights[entry] * factor;
        }
    }
    terms.drain([&](uint32_t term) {
        if (dense[term] == 0.0) return;
        entries.terms[free] = term, entries.weights[free] = dense[term], dense[term] = 0.0;
        free++;
    });
    return free;
}

// Copy the `most` largest weights of a row and their terms to positions from `free` on; for ties, the first ones.
// Return the position after the last copied entry.
int64_t cut(int64_t most, int64_t begin, int64_t end, int64_t free, Span<uint32_t> terms, Span<double> weights) {
    int64_t n_ties = 0;  // number of weights equal to `least` that are copied
    double least = 0.0;
    if (end - begin > most) {
        if (most < 1) throw std::invalid_argument("no entry of a row may remain; expected 1 or more");
        std::vector<double> sorted(weights.data + begin, weights.data + end);
        auto middle = sorted.begin() + (end - begin - most);
        std::nth_element(sorted.begin(), middle, sorted.end());
        least = *middle, n_ties = most;
        for (int64_t entry = begin; entry < end; entry++) n_ties -= weights[entry] > least;
    }
    for (int64_t entry = begin; entry < end; entry++) {
        double weight = weights[entry];
        if (weight > least || (weight == least && n_ties-- > 0)) {
            terms[free] = terms[entry], weights[free] = weight;
            free++;
        }
    }
    return free;
}

// Scale a row to the l2 norm 1 (`unit`), or by a power of two to a norm from 1 to 2. Return the norm before scaling.
double scale_row(bool unit, int64_t begin, int64_t end, Span<double> weights) {
    double total = 0.0;
    for (int64_t entry = begin; entry < end; entry++) total += weights[entry] * weights[entry];
    double norm = std::sqrt(total), divisor = unit || norm == 0.0 ? norm : std::ldexp(1.0, std::ilogb(norm));
    for (int64_t entry = begin; entry < end; entry++) weights[entry] /= divisor;
    return norm;
}

int64_t sums(Span<const int64_t> changed, Span<const int64_t> owner, Span<const double> factors, double late_factor,
             const TwoFamilies &rows, int64_t most, double power, int64_t n_terms, const NewEntries &entries,
             int64_t free, Table<int64_t> spans, Span<double> sizes, Span<double> lengths) {
    static thread_local TermSet terms;
    Span<double> dense = zero_buffer(n_terms);
    terms.widen(n_terms);
    Vector<int64_t> first(changed.size() + 1);
    for (int64_t row : owner)
        if (row >= 0) first[row + 1]++;
    for (int64_t i = 0; i < changed.size(); i++) first[i + 1] += first[i];
    Vector<int64_t> order(first[changed.size()]), ends(first.size());
    std::copy(first.begin(), first.end(), ends.data);
    for (int64_t place = 0; place < owner.size(); place++)
        if (owner[place] >= 0) order[ends[owner[place]]++] = place;
    int64_t before = rows.early.spans.rows;
    for (int64_t i = 0; i < changed.size(); i++) {
        auto places = order.part(first[i], first[i + 1]);
        int64_t most_terms = 0, begin = free;
        for (int64_t place : places) {
            auto own = place < before ? rows.early.spans[place] : rows.late.spans[place - before];
            most_terms += own[1] - own[0];
        }
        if (begin + most_terms > entries.terms.size()) return -1;
        int64_t end = add_up(places, factors, late_factor, rows, dense, terms, begin, entries);
        free = cut(most, begin, end, begin, entries.terms, entries.weights);
        sizes[i] = scale_row(lengths.size() == 0, begin, free, entries.weights);
        spans(changed[i], 0) = begin, spans(changed[i], 1) = free;
        flatten_row(changed[i], begin, free, entries.weights, power, entries.flat, lengths);
    }
    return free;
}

// Write the weights of a row, times a factor, into a dense array.
void spread(int64_t row, const SpannedRows &rows, double factor, Span<double> dense) {
    for (int64_t entry = rows.spans(row, 0); entry < rows.spans(row, 1); entry++)
        dense[rows.terms[entry]] = rows.weights[entry] * factor;
}

// Minimise x G x / 2 - target x over x >= 0 by coordinate descent, until no coordinate changes.
void descend(int64_t count, Span<const double> target, Table<const double> gram, Span<double> x, int64_t sweeps) {
    for (int64_t sweep = 0; sweep < sweeps; sweep++) {
        bool moved = false;
        for (int64_t i = 0; i < count; i++)
            if (gram(i, i) > 0.0) {
                double slope = target[i];
                for (int64_t j = 0; j < count; j++) slope -= gram(i, j) * x[j];
                double value = std::max(0.0, x[i] + slope / gram(i, i));
                moved = moved || value != x[i];
                x[i] = value;
            }
        if (!moved) return;
    }
}

void codes(const SpannedRows &documents, const SpannedRows &atoms, Table<const int64_t> neighbours, int64_t sweeps,
           int64_t n_terms, Table<double> x) {
    Span<double> dense = zero_buffer(n_terms);
    Matrix<double> gram(neighbours.columns + 1, neighbours.columns);
    for (int64_t d = 0; d < neighbours.rows; d++) {
        int64_t count = 0;
        while (count < neighbours.columns && neighbours(d, count) >= 0) count++;
        Span<double> target = gram[count];
        spread(d, documents, 1.0, dense);
        for (int64_t i = 0; i < count; i++) target[i] = product(neighbours(d, i), atoms, dense);
        spread(d, documents, 0.0, dense);
        for (int64_t i = 0; i < count; i++) {
            spread(neighbours(d, i), atoms, 1.0, dense);
            for (int64_t j = i; j < count; j++) {
                gram(i, j) = product(neighbours(d, j), atoms, dense);
                gram(j, i) = gram(i, j);
            }
            spread(neighbours(d, i), atoms, 0.0, dense);
        }
        descend(count, target, gram, x[d], sweeps);
    }
}

using CutRows = std::tuple<Vector<int64_t>, Vector<uint32_t>, Vector<double>>;

CutRows heaviest(int64_t most, const Rows &rows) {
    int64_t size = rows.starts[rows.size()];
    Vector<int64_t> starts(rows.size() + 1);
    Vector<uint32_t> terms(size, Begin::anything);
    Vector<double> weights(size, Begin::anything);
    std::copy(rows.indices.begin(), rows.indices.begin() + size, terms.data);
    std::copy(rows.values.begin(), rows.values.begin() + size, weights.data);
    for (int64_t row = 0; row < rows.size(); row++)
        starts[row + 1] = cut(most, rows.starts[row], rows.starts[row + 1], starts[row], terms, weights);
    terms.shorten(starts[rows.size()]), weights.shorten(starts[rows.size()]);
    return {std::move(starts), std::move(terms), std::move(weights)};
}

}  // namespace

void bind_inverted_lists(nb::module_ &kernels) {
    auto module = kernels.def_submodule("inverted_lists", "Inner products of documents by inverted lists.");
    module.def("nearest", &nearest, "apart"_a, "documents"_a, "compared"_a, "scale"_a, "recent_scale"_a,
               "n_terms"_a, "neighbours"_a, "best"_a, "recent"_a, "recent_best"_a, release(),
               R"(Find the rows with the largest positive inner products with each document; for ties, the first row.

Rows are selected by products in single precision. The returned products are in double precision. Only those without
recency are in single precision if rows with recency are also searched for.

Parameters
----------
apart : bool
    Whether the rows are the documents themselves; then no document is compared with itself.
documents : tuple of ndarray
    Compressed rows.
compared : tuple
    Inverted lists of pieces; the number of each term in the lists, ndarray of int32, -1 for none; the row of each
    piece, ndarray of int64, shape (n_pieces,); and spans, terms and weights of these rows.
scale, recent_scale : ndarray of float64, shape (n_pieces,)
    Factors of the products without and with recency.
n_terms : int
    Terms of the documents and the rows are below it.
neighbours, best : ndarray of int64 and float64, shape (n_documents, m), filled
    Rows and products, descending; -1 and 0 if fewer products are above 0.
recent, recent_best : ndarray of int64 and float64, shape (n_documents, m), filled
    The same with recency. If these arrays have no rows, there is no search with recency.)");
    module.def("number", &number, "terms"_a, "place"_a, "count"_a, "numbers"_a, release(),
               R"(Fill `numbers` with the numbers of terms, which `place` has; return the next number.

A term without a number (-1 in `place`) gets the next one, from `count` on.)");
    module.def("invert", &invert, "compressed"_a, "lists"_a, release(),
               R"(Fill the inverted lists of compressed rows, rows ascending.

Parameters
----------
compressed : tuple of ndarray
    Starts, terms, weights.
lists : tuple of ndarray, filled
    Starts (zeros at first), rows, weights.)");
    module.def("rebuild", &rebuild, "filled"_a, "spans"_a, "entries"_a, "piece"_a, "owner"_a, "place"_a, "lists"_a,
               "limits"_a, "counters"_a, release(),
               R"(Number the terms of some columns in the order of their first occurrence, and fill the inverted lists.

Parameters
----------
filled : bool
    Whether only columns with entries are pieces; otherwise all columns are.
spans : ndarray of int64, shape (n_columns, 2)
    First entry of each column, and the entry after its last one.
entries : tuple of ndarray
    Terms, weights, flattened weights.
piece, owner : ndarray of int64, shape (n_columns,), filled
    Piece of each column, -1 for none, and column of each piece.
place : ndarray of int32, filled
    Number of each term, -1 for a term that no piece has.
lists : tuple of ndarray, filled
    First and end of each list, in turn, then pieces and weights.
limits : ndarray of int64, filled
    End of the space of each list.
counters : ndarray of int64, shape (3,), filled
    Number of terms, number of entries, number of pieces.

Returns
-------
bool
    Whether the lists have room for twice as many terms and entries; otherwise they are not filled.)");
    module.def("take", &take, "spans"_a, "entries"_a, "result"_a, release(),
               R"(Fill compressed rows with the entries from spans[i, 0] to spans[i, 1], weights plain and flattened.

Parameters
----------
spans : ndarray of int64, shape (n_rows, 2)
entries : tuple of ndarray
    Terms, weights, flattened weights.
result : tuple of ndarray, filled
    Starts, terms, weights, flattened weights.)");
    module.def("exchange", &exchange, "filled"_a, "changed"_a, "before"_a, "after"_a, "entries"_a, "piece"_a, "owner"_a,
               "place"_a, "lists"_a, "limits"_a, "counters"_a, release(),
               R"(Replace the entries of some columns in inverted lists; the order within a list may change.

Parameters
----------
filled : bool
    Whether only columns with entries are pieces.
changed : ndarray of int64
    The columns; those without a piece become pieces.
before, after : ndarray of int64, shape (n, 2)
    First entry of each column and the entry after its last one, before and after the change; terms ascend. `before`
    may have fewer columns.
entries : tuple of ndarray
    Terms, weights, flattened weights.
piece, owner : ndarray of int64, shape (n_columns,), changed
    Piece of each column, -1 for none, and column of each piece.
place : ndarray of int32, changed
    Number of each term, -1: none yet.
lists : tuple of ndarray, changed
    First and end of each list, in turn, then pieces and weights.
limits : ndarray of int64, changed
    End of the space of each list.
counters : ndarray of int64, changed
    The next number of a term, the end of the space that lists use, number of pieces.

Returns
-------
bool
    Whether there was room; otherwise the lists are only partly changed and must be rebuilt.)");
    module.def("sums", &sums, "changed"_a, "owner"_a, "factors"_a, "late_factor"_a, "rows"_a, "most"_a,
               "power"_a, "n_terms"_a, "entries"_a, "free"_a, "spans"_a, "sizes"_a, "lengths"_a, release(),
               R"(Fill columns with sums of weighted rows, each cut to its heaviest terms and scaled to unit l2 norm.

With `lengths`, sums are scaled by powers of two instead. The weights of a term then stay the same, to the bit, as long
as the rows with this term do, unless the norm passes a power of two.

Parameters
----------
changed : ndarray of int64
    Columns to fill.
owner : ndarray of int64, shape (n_rows,)
    Position in `changed` of the sum that each row is part of; -1: none.
factors : ndarray of float64
    Factor of each row of the first family.
late_factor : float
    Factor of the rows of the second family.
rows : tuple
    Two families of rows: spans, terms and weights, which are not negative. `owner` numbers the rows of the second
    family after those of the first.
most : int
    Largest number of terms of a sum.
power : float
    Exponent of flattened weights.
n_terms : int
    Terms of the rows are below it.
entries : tuple of ndarray, filled from `free` on
free : int
spans : ndarray of int64, shape (n_columns, 2), changed
    First entry of each column, and the entry after its last one.
sizes : ndarray, shape (n,), filled
    Norms of the cut sums, before they are scaled.
lengths : ndarray, shape (n_columns,) or (0,), changed
    Norms of the flattened weights of the columns; if it is empty, flattened weights have unit norm.

Returns
-------
int
    End of the entries, or -1 if they have too little room.)");
    module.def("flatten", &flatten, "starts"_a, "weights"_a, "power"_a, "values"_a, "lengths"_a, release(),
               R"(Fill `values` with the weights of rows raised to a power.

If `lengths` is empty, each row is scaled to unit l2 norm; otherwise `lengths` is filled with the norms.)");
    module.def("codes", &codes, "documents"_a, "atoms"_a, "neighbours"_a, "sweeps"_a, "n_terms"_a, "x"_a, release(),
               R"(Code documents on a few atoms each: min over x >= 0 of ||p - A x||_2^2 / 2.

Coordinate descent from x = 0.

Parameters
----------
documents, atoms : tuple of ndarray
    As `rows` of `grams`.
neighbours : ndarray of int64, shape (n_documents, m)
    Atoms of each document; -1 after the last one.
sweeps : int
n_terms : int
    Terms of documents and atoms are below it.
x : ndarray, shape (n_documents, m), filled
    Zeros.)");
    module.def("heaviest", &heaviest, "most"_a, "rows"_a, release(),
               R"(Return the `most` largest weights of each row, for ties the first ones, and their terms.

Parameters
----------
most : int
rows : tuple of ndarray
    Starts, terms and weights of rows of positive weights.

Returns
-------
starts, terms, weights : ndarray)");
}

}  // namespace odl
