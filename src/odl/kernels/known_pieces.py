"""Compiled count of the words of a text by a hash table of the pieces of texts met before (open addressing).

A text is UTF-8 that ends with a sign of the kind `CUT`, and is cut at these. What becomes of a piece depends on the
kinds of its signs:

- letters of one script, edges aside, are a word,
- edges and other signs alone are none,
- scripts without spaces, with ASCII and signs `APART` between, are cut further: each script into overlapping pairs or
  triples, which are words, and the ASCII into pieces,
- any other piece is looked up as a whole.

Pieces and words are numbered as they are met, from 0 on. The table has five arrays:

- `slots`: the number of a piece and 1; 0 is empty,
- `starts`: where each piece begins in the arena,
- `values`: the number of the only word of a piece, `NO_WORD`, or `LIST` less a place in the lists; a caller puts these
  in the place of `NEW` and `NEW_WORD`, which a piece and a word have when they are met first,
- `lists`: how many words a piece has, and their numbers behind,
- `arena`: the bytes of the pieces, a space behind each.
"""

from odl.kernels.compiled import called, inlined, kernel

CUT, EDGE, SIGN, LATIN = range(4)  # kinds of signs; letters of other scripts follow
OTHER, APART, PAIRS = 9, 10, 11  # signs between words, pairs; further scripts without spaces are in triples
NO_WORD, NEW, NEW_WORD, LIST = -1, -2, -3, -4
SIZE, CASE, SEED, N_PIECES = range(4)  # of sizes
PRIME = 0x100000001B3


@inlined
def _kind(text, at, kinds):
    """Return the kind of the sign at a place of UTF-8, and its end; signs of four bytes are `OTHER`."""
    byte = text[at]
    if byte < 0x80:
        return kinds[byte], at + 1
    if byte < 0xE0:
        return kinds[(byte & 31) << 6 | (text[at + 1] & 63)], at + 2
    if byte < 0xF0:
        return kinds[(byte & 15) << 12 | (text[at + 1] & 63) << 6 | (text[at + 2] & 63)], at + 3
    return kinds[0xFFFF], at + 4


@inlined
def _append(first, last, is_word, spans):
    """Append a span; the first entry is their number."""
    place = spans[0]
    spans[place + 1], spans[place + 2], spans[0] = first, last << 1 | is_word, place + 2


@kernel
def _append_piece(text, first, last, kinds, spans):
    """Append a piece: what is between its edges if that is a word, else the whole."""
    begin, end, kind, seen, length = first, last, CUT, 0, 0
    while begin < end and kinds[text[begin]] == EDGE:  # edges are ASCII
        begin += 1
    while begin < end and kinds[text[end - 1]] == EDGE:
        end -= 1
    at = begin
    while at < end:
        kind, at = _kind(text, at, kinds)
        seen, length = seen | 1 << kind, length + 1
    if length > 1 and LATIN <= kind < OTHER and seen == 1 << kind:
        _append(begin, end, 1, spans)
    elif seen >> LATIN:
        _append(first, last, 0, spans)


@kernel
def _append_parts(text, first, last, kinds, spans):
    """Append the parts of a piece, behind which the text is cut; without spaces each sign has three bytes."""
    at, begin, kind, length, size = first, first, CUT, 0, 0
    while at <= last:
        now, end = _kind(text, at, kinds)
        if end == at + 1 and now != CUT:
            now = EDGE  # ASCII
        if now != kind:
            if kind == EDGE:
                _append_piece(text, begin, at, kinds, spans)
            elif kind >= PAIRS and length < size:
                _append(begin, at, 1, spans)
            begin, kind, length, size = at, now, 0, 2 if now == PAIRS else 3
        length, at = length + 1, end
        if kind >= PAIRS and length >= size:
            _append(at - 3 * size, at, 1, spans)


@kernel
def _may_have_address(text, first, last):
    """Tell whether what may begin an address is in a piece: // or ww."""
    for at in range(first + 1, last):
        if text[at] | 32 == text[at - 1] | 32 and (text[at] == 47 or text[at] | 32 == 119):
            return True
    return False


@kernel
def _find_spans(text, size, kinds, spans):
    """Find the pieces of a text and the words in those that can be cut further."""
    begin, spans[0] = 0, 0
    while begin < size:
        at, ascii, beyond = begin, 0, 0  # kinds of signs
        kind, end = _kind(text, at, kinds)
        while kind != CUT:
            if end == at + 1:
                ascii |= 1 << kind
            else:
                beyond |= 1 << kind
            at = end
            kind, end = _kind(text, at, kinds)
        apart = beyond != 0 and beyond % (1 << APART) == 0 and ascii < 1 << OTHER
        if apart and not _may_have_address(text, begin, at):
            _append_parts(text, begin, at, kinds, spans)
        else:
            _append_piece(text, begin, at, kinds, spans)
        begin = end


@inlined
def _folded(byte, case):
    """Return a byte of a word, of letters only, with ASCII folded if case is 32."""
    return byte | case if byte < 128 else byte


@inlined
def _find(text, first, last, case, seed, n_pieces, slots, starts, arena):
    """Return the number of a piece; one met first becomes the next."""
    hashed, size = seed, last - first
    for at in range(first, last):
        hashed = (hashed ^ _folded(text[at], case)) * PRIME
    place = (hashed ^ hashed >> 32) & (len(slots) - 1)
    while slots[place] != 0:
        piece, at = slots[place] - 1, 0
        begin = starts[piece]
        if starts[piece + 1] - begin == size + 1:
            while at < size and arena[begin + at] == _folded(text[first + at], case):
                at += 1
            if at == size:
                return piece
        place = (place + 1) & (len(slots) - 1)
    slots[place], begin = n_pieces + 1, starts[n_pieces]
    for at in range(size):
        arena[begin + at] = _folded(text[first + at], case)
    arena[begin + size], starts[n_pieces + 1] = 32, begin + size + 1
    return n_pieces


@inlined
def _count(number, places, words, counts, n_words):
    """Count a word; return how many different ones there are."""
    if places[number] == 0:
        words[n_words], counts[n_words], places[number] = number, 0, n_words + 1
        n_words += 1
    counts[places[number] - 1] += 1
    return n_words


@called("(i[] i[] i[] i[] b[]) (b[] b[] i[] i[] i[] i[]) i[] -> l")
@kernel
def count(table, work, sizes):
    """Count the words of a text; what pieces met first stand for is still to be found.

    Parameters
    ----------
    table : tuple of arrays, changed
        See above.
    work : tuple of arrays
        The text; the kind of each code point below 65536; room for spans; places, a zero for each number of a word, and
        zeros again afterwards; numbers of words, each once, in order; their counts. The last two are put out.
    sizes : ndarray of int32, changed
        Bytes of the text; 32 to fold letters of ASCII in words, else 0; what hashing begins with; pieces met so far.

    Returns
    -------
    int
        How many words are put out.
    """
    slots, starts, values, lists, arena = table
    text, kinds, spans, places, words, counts = work
    n_pieces, n_words = sizes[N_PIECES], 0
    _find_spans(text, sizes[SIZE], kinds, spans)
    for place in range(1, spans[0], 2):
        last, is_word = spans[place + 1] >> 1, spans[place + 1] & 1
        case = sizes[CASE] * is_word
        piece = _find(text, spans[place], last, case, sizes[SEED], n_pieces, slots, starts, arena)
        if piece == n_pieces:
            values[piece] = NEW_WORD if is_word else NEW
            n_pieces += 1
        elif values[piece] >= 0:
            n_words = _count(values[piece], places, words, counts, n_words)
        elif values[piece] <= LIST:
            first = LIST - values[piece]
            for at in range(first + 1, first + 1 + lists[first]):
                n_words = _count(lists[at], places, words, counts, n_words)
    sizes[N_PIECES] = n_pieces
    for place in range(n_words):
        places[words[place]] = 0
    return n_words
