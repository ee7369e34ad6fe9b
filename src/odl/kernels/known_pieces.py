"""Compiled look-up of the pieces of texts among those met before, in a hash table with open addressing.

A text is cut at signs whose kind is `CUT`. Letters of ASCII between edges are words, and so are letters of one script,
those of ASCII among them. What has only ASCII and kinds from `APART` on is cut further: into parts of ASCII, and
overlapping pairs or triples of what is of one kind, which are words. Any other piece is looked up as a whole.

All is in one table, fifteen parts of the same size: slots, which hold the number of a piece, from 1 on, and some bits
of its hash; where each piece begins in the arena, and what stands for it; lists of numbers; what is put out; `COUNTS`
and the text; kinds of code points, a byte each, and spans of pieces; the arena, eight parts. A number from 0 on is that
of the only word of a piece, and `NO_WORD` says that it has none. What is below `UNFOLDED` is where a list begins, with
its length. A piece met first is `NEW_WORD`, or `UNFOLDED` where it is a word once its case is folded, else `NEW`.
"""

import numpy as np

from odl.kernels.compiled import called, inlined, kernel

CUT, LETTER, EDGE, SIGN, OTHER, LATIN = range(6)  # kinds; letters of other scripts follow
APART, PAIRS = 12, 13  # signs between words, scripts in pairs, others in triples
STARTS, VALUES, LISTS, OUT, COUNTS, KINDS, ARENA, PARTS = 1, 2, 3, 4, 5, 6, 7, 15
SIZE, CASE, N_PIECES, N_OUT, N_SLOTS, TEXT = (
    0,
    1,
    2,
    3,
    4,
    8,
)  # of COUNTS; the numbers are put out first, then their counts
NO_WORD, NEW, NEW_WORD, UNFOLDED = -1, -2, -3, -4
PIECE, WORD, SCRIPT, LETTERS = range(4)  # spans: of NEW, NEW_WORD, UNFOLDED; of ASCII, folded here
BITS = 21  # of the number of a piece in a slot
PRIME = 0x100000001B3


@inlined
def _append(first, last, kind, spans):
    """Append a span; the first entry is their number."""
    place = spans[0]
    spans[place + 1], spans[place + 2], spans[0] = first, last << 2 | kind, place + 2


@inlined
def _code(text, at):
    """Return the code point at a place of UTF-8, not of ASCII, and its end."""
    byte = text[at]
    if byte < 0xE0:
        return (byte & 31) << 6 | (text[at + 1] & 63), at + 2
    code = (text[at + 1] & 63) << 6 | (text[at + 2] & 63)
    return ((byte & 15) << 12 | code, at + 3) if byte < 0xF0 else (0xFFFF, at + 4)


@kernel
def _may_have_address(text, first, last):
    """Tell whether what may begin an address is in a piece."""
    for at in range(first + 1, last):
        if text[at] | 32 == text[at - 1] | 32 and (text[at] == 47 or text[at] | 32 == 119):  # "//", "ww"
            return True
    return False


@kernel
def _append_part(text, first, last, kinds, spans):
    """Append a part that is ASCII: letters between edges are words, and without letters there is none."""
    edges, letters, begin, single = 0, 0, first, False
    for at in range(first, last + 1):
        if at == last or kinds[text[at]] != LETTER:
            edges += at < last and kinds[text[at]] == EDGE
            single, begin = single or at == begin + 1, at + 1
        else:
            letters += 1
    if letters and (edges + letters < last - first or (edges and (single or _may_have_address(text, first, last)))):
        _append(first, last, PIECE, spans)
    elif letters > 1:
        begin = first
        for at in range(first, last + 1):
            if at == last or kinds[text[at]] == EDGE:
                if at > begin:
                    _append(begin, at, LETTERS, spans)
                begin = at + 1


@kernel
def _append_script(text, first, last, kinds, spans):
    """Append a piece that is not ASCII: between edges it may be letters of one script."""
    begin, end, script, length = first, last, 0, 0
    while text[begin] < 128 and kinds[text[begin]] == EDGE:
        begin += 1
    while text[end - 1] < 128 and kinds[text[end - 1]] == EDGE:
        end -= 1
    at = begin
    while at < end:
        if text[at] < 128:
            kind, after = LATIN if kinds[text[at]] == LETTER else OTHER, at + 1
        else:
            code, after = _code(text, at)
            kind = kinds[code]
        if not LATIN <= kind < APART or (length and kind != script):
            _append(first, last, PIECE, spans)
            return
        script, length, at = kind, length + 1, after
    if length > 1:
        _append(begin, end, SCRIPT, spans)


@kernel
def _append_parts(text, first, last, kinds, spans):
    """Append the parts of a piece, behind which the text is cut; of words without spaces each sign has three bytes."""
    at, begin, kind, length, size = first, first, CUT, 0, 0
    while at <= last:
        if text[at] < 128:
            now, end = min(kinds[text[at]], LETTER), at + 1
        else:
            code, end = _code(text, at)
            now = kinds[code]
        if now != kind:
            if kind == LETTER:
                _append_part(text, begin, at, kinds, spans)
            elif kind >= PAIRS and length < size:
                _append(begin, at, WORD, spans)
            begin, kind, length, size = at, now, 0, 2 if now == PAIRS else 3
        length, at = length + 1, end
        if kind >= PAIRS and length >= size:
            _append(at - 3 * size, at, WORD, spans)


@kernel
def _find_spans(text, size, kinds, spans):
    """Find the pieces of a text and the words in those that can be cut further."""
    begin, spans[0] = 0, 0
    while begin < size:
        at, ascii, apart = begin, True, True
        while True:
            if text[at] < 128:
                kind, end = kinds[text[at]], at + 1
                if kind == CUT:
                    break
            else:
                code, end = _code(text, at)
                kind, ascii = kinds[code], False
            apart, at = apart and (kind < OTHER or kind >= APART), end
        if ascii:
            _append_part(text, begin, at, kinds, spans)
        elif apart and not _may_have_address(text, begin, at):
            _append_parts(text, begin, at, kinds, spans)
        else:
            _append_script(text, begin, at, kinds, spans)
        begin = at + 1


@inlined
def _find(text, first, size, case, arena, slots, starts, n_pieces):
    """Return the number of a piece; one met first becomes the next."""
    hashed = 0
    for at in range(first, first + size):
        hashed = (hashed ^ (text[at] | case)) * PRIME
    hashed ^= hashed >> 32
    place, tag = hashed & (len(slots) - 1), (hashed >> 40) & ((1 << (31 - BITS)) - 1)
    while slots[place] != 0:
        piece = (slots[place] & ((1 << BITS) - 1)) - 1
        if slots[place] >> BITS == tag and starts[piece + 1] - starts[piece] == size + 1:
            at = 0
            while at < size and arena[starts[piece] + at] == text[first + at] | case:
                at += 1
            if at == size:
                return piece
        place = (place + 1) & (len(slots) - 1)
    slots[place], begin = tag << BITS | (n_pieces + 1), starts[n_pieces]
    for at in range(size):
        arena[begin + at] = text[first + at] | case
    arena[begin + size], starts[n_pieces + 1] = 32, begin + size + 1
    return n_pieces


@inlined
def _count(number, counts, places, out):
    """Count a word."""
    if places[number] == 0:
        counts[N_OUT] += 1
        places[number] = counts[N_OUT]
        out[counts[N_OUT] - 1], out[len(out) // 2 + counts[N_OUT] - 1] = number, 0
    out[len(out) // 2 + places[number] - 1] += 1


@called("i[] i[]")
@kernel
def count(table, places):
    """Count the words of the text by their numbers, in order; what pieces met first stand for is still to be found.

    Parameters
    ----------
    table : ndarray of int32, changed
        Its text is of `SIZE` bytes, at most an eighth of the further pieces that there is room for, and cut at the last
        one. `CASE` is 32 where letters of ASCII are folded, else 0.
    places : ndarray of int32
        Work space, zeros: one for each number. Zeros again afterwards.
    """
    room = len(table) // PARTS
    counts, slots, starts = table[COUNTS * room :], table[: STARTS * room], table[STARTS * room : VALUES * room]
    values, lists = table[VALUES * room : LISTS * room], table[LISTS * room : OUT * room]
    out, text = table[OUT * room : COUNTS * room], counts[TEXT:room].view(np.uint8)
    kinds, spans = table[KINDS * room :].view(np.uint8), table[KINDS * room + room // 2 : ARENA * room]
    arena, n_pieces, counts[N_OUT] = table[ARENA * room :].view(np.uint8), counts[N_PIECES], 0
    for piece in range(counts[N_SLOTS], n_pieces):  # which a smaller table had
        _find(arena, starts[piece], starts[piece + 1] - starts[piece] - 1, 0, arena, slots, starts, piece)
    _find_spans(text, counts[SIZE], kinds, spans)
    for place in range(1, spans[0], 2):
        first, last, kind = spans[place], spans[place + 1] >> 2, spans[place + 1] & 3
        piece = _find(text, first, last - first, counts[CASE] if kind == LETTERS else 0, arena, slots, starts, n_pieces)
        if piece == n_pieces:
            values[piece] = NEW - kind if kind < LETTERS else NEW_WORD
            n_pieces += 1
        elif values[piece] >= 0:
            _count(values[piece], counts, places, out)
        elif values[piece] < UNFOLDED:
            first = UNFOLDED - values[piece]
            for at in range(first, first + lists[first - 1]):
                _count(lists[at], counts, places, out)
    counts[N_PIECES], counts[N_SLOTS] = n_pieces, n_pieces
    for place in range(counts[N_OUT]):
        places[out[place]] = 0
