"""Places of words in texts, and excerpts of texts around given words."""

import re
import unicodedata
from functools import lru_cache

import numpy as np
from scipy import sparse

from odl.files.documents import TITLE_CHARACTERS
from odl.text import scripts
from odl.text.words import EDGES, Words, encoded

EXCERPT_CHARACTERS = 300  # longest excerpt
EXCERPT_STEP = 10  # characters between the starts of excerpts that are compared
CACHED_CHARACTERS, CACHED_CHUNKS = (
    40,
    1 << 14,
)  # longest chunk whose words are cached; most chunks in the cache
# texts whose places of words are cached, since phrases and excerpts ask for them again; longest one
CACHED_TEXTS, CACHED_TEXT_CHARACTERS = 256, 4000
FEW_WORDS = 12  # so few words are searched in a text in ASCII; for more, all of its words are cut
SPLIT_WORDS, SPLIT_PAIRS = Words(), Words(hangul="pairs")
CHUNK = re.compile(r"\S+")
WORD_ENDS = EDGES + ",;!()[]{}\"'*<>|^`$\\"  # signs beside a word that are no part of it
HANGUL, UNSPACED = (
    re.compile(f"[{scripts.HANGUL}]"),
    re.compile(f"[{''.join((*scripts.SPACELESS, scripts.HANGUL))}]"),
)
SPACELESS_RUN, UNSPACED_RUN = (
    re.compile(f"[{''.join(scripts.SPACELESS)}]+"),
    re.compile(f"{UNSPACED.pattern}+"),
)
# Vowels of Thai and Lao that are written before and behind their letters.
VOWELS_BEFORE = "\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4"
VOWELS_BEHIND = "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3"
MUTE, ELIDED = ("\u0e4c", "\u0ecc"), ("n't", "n\u2019t")
EMOJI_JOINTS = f"[\u200d\ufe0f{scripts.SKIN}]*"  # emoji
POINT = re.compile(f"[{scripts.POINTS}]")
# What letters in the place of signs are in a text (`odl.text.words.encoded`).
SIGNS_OF_LETTER = {
    "\u02bc": "['\u2019\u02bc]",
    "\u05f3": "['\u2019\u05f3]",
    "\u05f4": '["\u201d\u05f4]',
}
SIGNS_OF_LETTER |= dict.fromkeys("\u013f\u0140", "(?:\u0140|l\u00b7)")
# share of the documents with a title that is not all of their text: fewer, and no title counts
OWN_TITLES = 0.1


def places(text, words):
    """Return the places of words in a text as (first, last, word), sorted.

    Parameters
    ----------
    text : str
        Text in NFC.
    words : collection of str
        Words as they are counted: folded, with ``_`` for a space in a phrase.

    Returns
    -------
    list of (int, int, str)
        Places at which `odl.text.words` cuts the text into these words. Other words, of a segmenter
        or another tokeniser, are searched as whole words, and in scripts without spaces anywhere.

    Examples
    --------
    >>> from odl.alerts.excerpts import places
    >>> places("NASA and iPhones, iPhone", ["nasa", "iphone"])
    [(0, 4, 'nasa'), (18, 24, 'iphone')]
    """
    words = set(words)
    if len(words) <= FEW_WORDS and text.isascii() and text.isprintable():
        spans = _literal_places(text, words)
    else:
        spans = [placed for placed in _text_places(text) if placed[2] in words]
    if HANGUL.search(text):
        spans += _pairs_of_hangul(text, words)
    rest = words - {word for *_, word in spans}
    folded = text.casefold() if rest else ""
    spaced = _spaced(folded)
    rest = {word for word in rest if _spaced(word) in spaced}
    return sorted(
        spans + _whole_words(text, [word for word in rest if _may_stand_alone(folded, word)])
    )


def _may_stand_alone(folded, word):
    """Return False for a word of ASCII letters and digits that a folded text has only inside of longer words."""
    if not (word.isascii() and word.isalnum()):
        return True
    place = folded.find(word)
    while place >= 0:
        beside = folded[place - 1 : place] + folded[place + len(word) : place + len(word) + 1]
        if not any(sign.isalnum() or sign == "_" for sign in beside):
            return True
        place = folded.find(word, place + 1)
    return False


def _spaced(text):
    """Return a text with single spaces, also in place of underscores."""
    if text.isalnum():
        return text
    return " ".join(text.replace("_", " ").split())


def _text_places(text):
    """Return the places of all words of a text, (first, last, word); cached for texts of usual length."""
    return _short_text_places(text) if len(text) <= CACHED_TEXT_CHARACTERS else _all_places(text)


def _all_places(text):
    found, end = [], 0
    for chunk in text.split():
        start = text.index(chunk, end)
        end = start + len(chunk)
        found += [(start + first, start + last, word) for first, last, word in _placed(chunk)]
    return found


_short_text_places = lru_cache(CACHED_TEXTS)(_all_places)


def _literal_places(text, words):
    """Return the places of words in a text in printable ASCII; only chunks that contain one of the words are cut."""
    lowered, starts, spans = text.lower(), set(), []
    for word in filter(str.strip, words):
        place = lowered.find(word)
        while place >= 0:
            starts.add(lowered.rfind(" ", 0, place) + 1)
            place = lowered.find(word, place + 1)
    for start in sorted(starts):
        chunk = text[start:].partition(" ")[0]
        spans += [
            (start + first, start + last, word)
            for first, last, word in _placed(chunk)
            if word in words
        ]
    return spans


def _pairs_of_hangul(text, words):
    """Return the places of pairs of Korean syllables in chunks in which no word is one of `words`."""
    spans = []
    for chunk in CHUNK.finditer(text):
        if HANGUL.search(chunk[0]) and not any(word in words for *_, word in _placed(chunk[0])):
            start = chunk.start()
            spans += [
                (start + first, start + last, word)
                for first, last, word in _placed(chunk[0], SPLIT_PAIRS)
                if word in words
            ]
    return spans


def _placed(chunk, split=SPLIT_WORDS):
    """Return the words of a chunk (`_cut`), cached for short chunks."""
    return _cut_short(chunk, split) if len(chunk) <= CACHED_CHARACTERS else _cut(chunk, split)


def _cut(chunk, split):
    """Return the words of a chunk with their places, (first, last, word), without words that it spells differently."""
    word = chunk.strip(WORD_ENDS)
    if len(word) > 1 and word.isascii() and word.isalpha():  # most chunks
        first = chunk.find(word)
        return [(first, first + len(word), word.lower())]
    counted, start, spans = split.split(encoded(chunk)), 0, []
    between = EMOJI_JOINTS if "\u200d" in chunk else ""
    between = (
        f"{POINT.pattern}*" if POINT.search(chunk) else between
    )  # a set that takes 4 ms to compile
    for word in counted:
        span = _span_of(word, chunk, start, between)
        if span or len(counted) == 1:  # folded to other letters
            first, last = _with_marks(chunk, *span) if span else _trimmed(chunk)
            start = (span or (first,))[0] if UNSPACED.search(word) else last
            spans.append((first, last, word))
    return spans


_cut_short = lru_cache(CACHED_CHUNKS)(_cut)


def _span_of(word, chunk, start, between):
    """Return the place of a word in a chunk, ignoring case; None if the chunk spells it with other letters.

    The pattern `between` may match between its letters.
    """
    if not between:  # to compile a pattern takes .1 ms
        lowered = chunk.lower()
        place = lowered.find(word.lower(), start) if len(lowered) == len(chunk) else -1
        if place >= 0:
            return place, place + len(word)
        if UNSPACED_RUN.fullmatch(word) or (word.isascii() and chunk[start:].isascii()):
            return None
    letters = (SIGNS_OF_LETTER.get(letter) or re.escape(letter) for letter in word)
    match = re.compile(between.join(letters), re.IGNORECASE).search(chunk, start)
    return match and match.span()


def _with_marks(chunk, first, last):
    """Return a span extended to whole letters: by the marks behind it, and by the letter of a mark at its start.

    Vowels of Thai and Lao go with their letters, a mute letter with the letter before, and n't with
    its verb.
    """
    while last < len(chunk) and _is_mark(chunk[last]):
        last += 1
    while first and (_is_mark(chunk[first]) or chunk.startswith(MUTE, first + 1)):
        first -= 1
    last += 2 * chunk[last - 1 : last + 2].casefold().startswith(ELIDED)
    first -= first > 0 and chunk[first - 1] in VOWELS_BEFORE
    return first, last - (chunk[last - 1] in VOWELS_BEFORE)


def _is_mark(sign):
    return sign in VOWELS_BEHIND or unicodedata.category(sign)[0] == "M"


def _trimmed(chunk):
    """Return the span of a chunk without signs at its ends that are not letters, marks or digits."""
    kept = [place for place, sign in enumerate(chunk) if unicodedata.category(sign)[0] in "LMN"]
    return (kept[0], kept[-1] + 1) if kept else (0, len(chunk))


def _whole_words(text, words):
    """Return the places of words of another tokeniser: between non-letters; any signs may stand for a space.

    Words of a segmenter are found inside runs without spaces.
    """
    forms = {
        r"[\W_]+".join(map(re.escape, parts)): word
        for word in words
        if (parts := _spaced(word).split())
    }
    if not forms:
        return []
    ordered = sorted(forms.items(), key=lambda form: (-len(form[0]), form[0]))
    inside = {word: SPACELESS_RUN.fullmatch(word) for _, word in ordered}
    either = "|".join(
        f"({form})" if inside[word] else rf"(?<!\w)({form})(?!\w)" for form, word in ordered
    )
    matches = re.finditer(either, text, re.IGNORECASE)
    return [(*match.span(), ordered[match.lastindex - 1][1]) for match in matches]


def marks(text, words):
    """Return the places of words in a text in NFC, as sorted spans that do not overlap.

    Examples
    --------
    >>> from odl.alerts.excerpts import marks
    >>> marks("Crude oil, OIL and oilseed", ["oil"])
    [(6, 9), (11, 14)]
    """
    spans: list[tuple[int, int]] = []
    for first, last, _ in places(text, words):
        if spans and first < spans[-1][1]:
            spans[-1] = spans[-1][0], max(last, spans[-1][1])
        else:
            spans.append((first, last))
    return spans


def excerpt(text, words, longest=EXCERPT_CHARACTERS):
    """Return the part of a text with the most of some words, the first one of equals; ``…`` marks a cut.

    Examples
    --------
    >>> from odl.alerts.excerpts import excerpt
    >>> excerpt("a long way before " * 3 + "the rocket lifts off " + "and after " * 9, ["rocket", "lifts"], 30)
    '…the rocket lifts off and…'
    """
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    spans = [(first, last, text[first:last].lower()) for first, last in marks(text, words)]
    # An excerpt can have more words than the one a step before only if a word has just come in at
    # its end.
    starts = sorted(
        {0, *(max(-(-(last - longest) // EXCERPT_STEP) * EXCERPT_STEP, 0) for _, last, _ in spans)}
    )

    def words_inside(start):
        inside = [word for first, last, word in spans if start <= first and last <= start + longest]
        return len(set(inside)), len(inside)

    best = max(starts, key=words_inside)
    inside = [span for span in spans if best <= span[0] and span[1] <= best + longest]
    if inside:  # in the middle
        best = min(max((inside[0][0] + inside[-1][1] - longest) // 2, 0), len(text) - longest)
    end = min(best + longest, len(text))
    return ("…" if best else "") + _whole(text, best, end) + ("…" if end < len(text) else "")


def _whole(text, start, end):
    """Return a part of a text without cut words at its ends, unless too little remained."""
    part = text[start:end]
    first = part.find(" ") if start and text[start - 1] != " " else -1
    last = part.rfind(" ") if end < len(text) and text[end] != " " else -1
    short = part[first + 1 : last if last >= 0 else len(part)].strip()
    return short if len(short) > len(part) // 2 else part


def marked(text, words, mark):
    """Return a text with some of its words marked by a function.

    Parameters
    ----------
    text : str
    words : sequence of str
    mark : callable
        Called with each piece of the text and whether it is one of the words; returns a string.
    """
    text, pieces, end = unicodedata.normalize("NFC", text), [], 0
    for first, last in marks(text, words):
        pieces += [mark(text[end:first], False), mark(text[first:last], True)]
        end = last
    return "".join([*pieces, mark(text[end:], False)])


def titled(titles, counts, vocabulary):
    """Return a matrix of the shape of the counts, 1 for the words of documents that are in their titles.

    It is empty if titles are the beginnings of texts, that is, if hardly any title is shorter than
    its text.
    """
    rows, columns, whole = [], [], 0
    for row, title in enumerate(titles):
        terms = counts.indices[counts.indptr[row] : counts.indptr[row + 1]].tolist()
        named = {vocabulary[term]: term for term in terms}
        found = (
            {named[word] for *_, word in places(title, named)}
            if 0 < len(title) < TITLE_CHARACTERS
            else set()
        )
        whole += len(found) == len(terms)
        rows += [row] * len(found)
        columns += sorted(found)
    cut = sum(0 < len(title) < TITLE_CHARACTERS for title in titles) - whole
    if cut < OWN_TITLES * len(titles):
        rows, columns = [], []
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=counts.shape)
