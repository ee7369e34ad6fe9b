// Word counts of a text, by a hash table (open addressing) of the pieces of earlier texts and their words.
//
// A text is UTF-8 and ends with a character of kind CUT. It is split into pieces at these characters. The words of a
// piece depend on the kinds of its characters:
//
// - Letters of one script, possibly between characters of kind EDGE, are one word.
// - A piece without letters has no words.
// - Scripts without spaces, possibly with ASCII and characters of kind APART in between, are split further: each script
//   into overlapping pairs or triples of characters, which are words, and the ASCII into pieces.
// - Any other piece is looked up in the hash table as it is.
//
// Pieces and words are numbered from 0 in the order of their first occurrence.
#include "bindings.h"

namespace odl {

namespace {

using std::int32_t, std::int64_t, std::uint64_t, std::uint8_t;
using Text = Span<const uint8_t>;
using Kinds = Span<const uint8_t>;
using Spans = Span<int32_t>;

enum Kind { CUT, EDGE, SIGN, LATIN };          // kinds of characters; LATIN to 8: letters of a script
enum { OTHER = 9, APART = 10, PAIRS = 11 };    // scripts without spaces: PAIRS is split into pairs, later into triples
enum { NO_WORD = -1, NEW = -2, NEW_WORD = -3, LIST = -4 };  // values of a piece, see DOC
enum { SIZE, CASE, SEED, N_PIECES };           // places in `sizes`, see DOC

struct PieceTable {
    Span<int32_t> slots;        // hash table: 1 + number of a piece, 0 for an empty slot
    Span<int32_t> starts;       // start of each piece in the arena
    Span<int32_t> values;       // see DOC
    Span<const int32_t> lists;  // lists of words: their number, then the words
    Span<uint8_t> arena;        // bytes of the pieces, each followed by a space
    static constexpr auto members() {
        return std::tuple{&PieceTable::slots, &PieceTable::starts, &PieceTable::values, &PieceTable::lists, &PieceTable::arena};
    }
};

struct Work {
    Text text;
    Kinds kinds;
    Spans spans;
    Span<int32_t> places, words, counts;
    static constexpr auto members() {
        return std::tuple{&Work::text, &Work::kinds, &Work::spans, &Work::places, &Work::words, &Work::counts};
    }
};

struct Sign {
    int kind;
    int64_t end;
};

// Return the kind and the end of the UTF-8 character at `at`; characters of four bytes have the kind of U+FFFF.
inline Sign sign_at(Text text, int64_t at, Kinds kinds) {
    unsigned byte = text[at];
    if (byte < 0x80) return {kinds[byte], at + 1};
    if (byte < 0xE0) return {kinds[(byte & 31) << 6 | (text[at + 1] & 63u)], at + 2};
    if (byte < 0xF0)
        return {kinds[(byte & 15) << 12 | (text[at + 1] & 63u) << 6 | (text[at + 2] & 63u)], at + 3};
    return {kinds[0xFFFF], at + 4};
}

// Append a span to `spans`. Entry 0 is the number of used entries after it, two for each span: its begin, and twice its
// end, plus 1 for a word.
inline void append(int64_t first, int64_t last, bool is_word, Spans spans) {
    int32_t place = spans[0];
    spans[place + 1] = static_cast<int32_t>(first);
    spans[place + 2] = static_cast<int32_t>(last << 1 | is_word);
    spans[0] = place + 2;
}

// Append a piece to `spans`: if it is a word between characters of kind EDGE, only the word; without letters, nothing.
void append_piece(Text text, int64_t first, int64_t last, Kinds kinds, Spans spans) {
    int64_t begin = first, end = last, length = 0;
    int kind = CUT;
    unsigned seen = 0;
    while (begin < end && kinds[text[begin]] == EDGE) begin++;  // characters of kind EDGE are ASCII
    while (begin < end && kinds[text[end - 1]] == EDGE) end--;
    for (int64_t at = begin; at < end; length++) {
        Sign sign = sign_at(text, at, kinds);
        kind = sign.kind, at = sign.end;
        seen |= 1u << kind;
    }
    if (length > 1 && LATIN <= kind && kind < OTHER && seen == 1u << kind)
        append(begin, end, true, spans);
    else if (seen >> LATIN)
        append(first, last, false, spans);
}

// Split a piece, which ends at a character of kind CUT, and append its parts. Characters of scripts without spaces have
// 3 bytes, so a pair or triple of `size` characters has 3 size bytes.
void append_parts(Text text, int64_t first, int64_t last, Kinds kinds, Spans spans) {
    int64_t begin = first, length = 0, size = 0;
    int kind = CUT;
    for (int64_t at = first; at <= last;) {
        Sign sign = sign_at(text, at, kinds);
        int now = sign.end == at + 1 && sign.kind != CUT ? static_cast<int>(EDGE) : sign.kind;  // ASCII
        if (now != kind) {
            if (kind == EDGE) append_piece(text, begin, at, kinds, spans);
            else if (kind >= PAIRS && length < size) append(begin, at, true, spans);
            begin = at, kind = now, length = 0, size = now == PAIRS ? 2 : 3;
        }
        length++, at = sign.end;
        if (kind >= PAIRS && length >= size) append(at - 3 * size, at, true, spans);
    }
}

// Return whether a piece has // or ww: every address has one of them.
bool may_have_address(Text text, int64_t first, int64_t last) {
    for (int64_t at = first + 1; at < last; at++)
        if ((text[at] | 32) == (text[at - 1] | 32) && (text[at] == '/' || (text[at] | 32) == 'w')) return true;
    return false;
}

// List the pieces of a text, and the words of those that are split further.
void find_spans(Text text, int64_t size, Kinds kinds, Spans spans) {
    spans[0] = 0;
    for (int64_t begin = 0; begin < size;) {
        int64_t at = begin;
        unsigned ascii = 0, beyond = 0;  // kinds of signs
        Sign sign = sign_at(text, at, kinds);
        while (sign.kind != CUT) {
            (sign.end == at + 1 ? ascii : beyond) |= 1u << sign.kind;
            at = sign.end;
            sign = sign_at(text, at, kinds);
        }
        bool apart = beyond != 0 && beyond % (1u << APART) == 0 && ascii < 1u << OTHER;
        if (apart && !may_have_address(text, begin, at)) append_parts(text, begin, at, kinds, spans);
        else append_piece(text, begin, at, kinds, spans);
        begin = sign.end;
    }
}

// Return a byte of a word of letters, with ASCII letters in lower case if `fold` is 32.
inline uint8_t folded(uint8_t byte, int32_t fold) { return byte < 128 ? byte | fold : byte; }

// Return the number of a piece; a new piece gets the next number.
int64_t find(Text piece, int32_t fold, int32_t seed, int64_t n_pieces, const PieceTable &table) {
    auto [slots, starts, values, lists, arena] = table;
    uint64_t hashed = static_cast<uint64_t>(int64_t{seed});
    for (uint8_t byte : piece) hashed = (hashed ^ folded(byte, fold)) * 0x100000001B3;
    int64_t last_slot = slots.size() - 1;
    int64_t place = static_cast<int64_t>(hashed ^ static_cast<uint64_t>(static_cast<int64_t>(hashed) >> 32)) & last_slot;
    for (; slots[place] != 0; place = (place + 1) & last_slot) {
        int64_t known = slots[place] - 1, begin = starts[known], at = 0;
        if (starts[known + 1] - begin == piece.size() + 1) {
            while (at < piece.size() && arena[begin + at] == folded(piece[at], fold)) at++;
            if (at == piece.size()) return known;
        }
    }
    slots[place] = static_cast<int32_t>(n_pieces + 1);
    int64_t begin = starts[n_pieces];
    for (int64_t at = 0; at < piece.size(); at++) arena[begin + at] = folded(piece[at], fold);
    arena[begin + piece.size()] = ' ';
    starts[n_pieces + 1] = static_cast<int32_t>(begin + piece.size() + 1);
    return n_pieces;
}

class Counter {
  public:
    Counter(const PieceTable &table, const Work &work, Span<int32_t> sizes) : table(table), work(work), sizes(sizes) {}

    int64_t count() {
        int64_t n_pieces = sizes[N_PIECES];
        n_words = 0;
        find_spans(work.text, sizes[SIZE], work.kinds, work.spans);
        for (int64_t place = 1; place < work.spans[0]; place += 2) {
            int64_t first = work.spans[place], last = work.spans[place + 1] >> 1;
            bool is_word = work.spans[place + 1] & 1;
            int32_t fold = is_word ? sizes[CASE] : 0;
            int64_t piece = find(work.text.part(first, last), fold, sizes[SEED], n_pieces, table);
            if (piece == n_pieces) {
                table.values[piece] = is_word ? NEW_WORD : NEW;
                n_pieces++;
            } else if (int32_t value = table.values[piece]; value >= 0) {
                count_word(value);
            } else if (value <= LIST) {
                int64_t begin = LIST - value;
                for (int32_t word : table.lists.part(begin + 1, begin + 1 + table.lists[begin])) count_word(word);
            }
        }
        sizes[N_PIECES] = static_cast<int32_t>(n_pieces);
        for (int32_t word : work.words.part(0, n_words)) work.places[word] = 0;
        return n_words;
    }

  private:
    void count_word(int32_t number) {
        if (work.places[number] == 0) {
            work.words[n_words] = number, work.counts[n_words] = 0;
            work.places[number] = static_cast<int32_t>(++n_words);
        }
        work.counts[work.places[number] - 1]++;
    }

    PieceTable table;
    Work work;
    Span<int32_t> sizes;
    int64_t n_words = 0;
};

constexpr const char *DOC = R"(Counter of the words of one text after another.

Parameters
----------
table : tuple of ndarray, changed
    The hash table: slots, starts, values and lists of int32, and arena of uint8. The value of a piece is the number of
    its only word, -1 if it has no word, or -4 - i if it has several; then lists[i] is how many, and their numbers
    follow. A new piece has the value -2, a new word -3, until the caller replaces them.
work : tuple of ndarray
    Input: the text, and the kind of each code point below 65536 (uint8). Work space of int32: spans, and an array of
    zeros with one entry for each word, which `count` leaves as zeros. Output, of int32: the numbers of the words, each
    once, in the order of their first occurrence, and their counts.
sizes : ndarray of int32, changed
    Number of bytes of the text; 32 to fold ASCII letters of words to lower case, else 0; seed of the hash function;
    number of pieces in the table.)";

}  // namespace

void bind_known_pieces(nb::module_ &kernels) {
    auto module = kernels.def_submodule("known_pieces", "Count of the words of a text by pieces of texts met before.");
    for (auto [name, value] : {std::pair{"CUT", int{CUT}}, {"EDGE", EDGE}, {"SIGN", SIGN}, {"LATIN", LATIN},
                               {"OTHER", OTHER}, {"APART", APART}, {"PAIRS", PAIRS}, {"NO_WORD", NO_WORD},
                               {"NEW", NEW}, {"NEW_WORD", NEW_WORD}, {"LIST", LIST}, {"SIZE", SIZE}, {"CASE", CASE},
                               {"SEED", SEED}, {"N_PIECES", N_PIECES}})
        module.attr(name) = value;
    // The arrays live as long as the counter.
    nb::class_<Counter>(module, "Counter", DOC)
        .def(nb::init<PieceTable, Work, Span<int32_t>>(), "table"_a, "work"_a, "sizes"_a, nb::keep_alive<1, 2>(),
             nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
        .def("count", &Counter::count, release(),
             "Count the words of the text; return the number of different words. Words of new pieces are not counted: "
             "the caller has to find them.");
}

}  // namespace odl
