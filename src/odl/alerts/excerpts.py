"""Places of words in texts, and excerpts of texts around given words."""

import re
import unicodedata
from functools import lru_cache

import numpy as np
from scipy import sparse

from odl.files.documents import TITLE_CHARACTERS
from odl.text import scripts
from odl.text.words import EDGES, Words, encode

EXCERPT_CHARACTERS = 300  # characters of the longest excerpt
EXCERPT_STEP = 10  # characters between the starts of excerpts that are compared
CACHED_CHARACTERS = 40  # length of the longest chunk (text without spaces) whose words are cached
CACHED_CHUNKS = 1 << 14  # chunks in the cache
# Number of texts whose word positions are cached: phrases and excerpts need the same positions.
CACHED_TEXTS = 256
CACHED_TEXT_CHARACTERS = 4000  # characters of the longest text that is cached
# Number of words up to which an ASCII text is searched for the words, not split into all its words.
FEW_WORDS = 12
# Splitters of chunks. `SPLIT_PAIRS` also splits Korean chunks, into pairs of syllables.
SPLIT_WORDS, SPLIT_PAIRS = Words(), Words(hangul="pairs")
CHUNK = re.compile(r"\S+")
WORD_ENDS = EDGES + ",;!()[]{}\"'*<>|^`$\\"  # signs at the ends of a chunk that belong to no word
HANGUL = re.compile(f"[{scripts.HANGUL}]")
UNSPACED = re.compile(f"[{''.join((*scripts.SPACELESS, scripts.HANGUL))}]")
SPACELESS_RUN = re.compile(f"[{''.join(scripts.SPACELESS)}]+")
UNSPACED_RUN = re.compile(f"{UNSPACED.pattern}+")
# Vowels of Thai and Lao that are written before and behind their letters.
VOWELS_BEFORE = "\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4"
VOWELS_BEHIND = "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3"
# Signs that make a letter of Thai and Lao mute; ends of English verbs that are words of their own.
MUTE, ELIDED = ("\u0e4c", "\u0ecc"), ("n't", "n\u2019t")
EMOJI_JOINTS = f"[\u200d\ufe0f{scripts.SKIN}]*"  # signs between the parts of an emoji
POINT = re.compile(f"[{scripts.POINTS}]")
# Patterns of the signs that `odl.text.words.encode` replaces by letters.
SIGNS_OF_LETTER = {
    "\u02bc": "['\u2019\u02bc]",
    "\u05f3": "['\u2019\u05f3]",
    "\u05f4": '["\u201d\u05f4]',
}
SIGNS_OF_LETTER |= dict.fromkeys("\u013f\u0140", "(?:\u0140|l\u00b7)")
# Smallest share of documents with a title that lacks words of the text, for title words to count.
OWN_TITLES = 0.1


def places(text, words):
    """Return the spans of words in a text as (start, end, word), sorted.

    Parameters
    ----------
    text : str
        Text in NFC.
    words : collection of str
        Words as they are counted: in lower case, with ``_`` for a space in a phrase.

    Returns
    -------
    list of (int, int, str)
        Spans that `odl.text.words` cuts the text into. Words of a segmenter or another tokeniser
        are searched between signs that are no letters; in scripts without spaces, anywhere.

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
    missing = words - {word for *_, word in spans}
    if missing:
        spans += _whole_words(text, _may_occur(text, missing))
    return sorted(spans)


def _may_occur(text, words):
    """Return the words that `_whole_words` may find in a text: a fast test for most words.

    A word of ASCII letters and digits must occur without a letter or digit next to it. Any other
    word must be a substring of the text.
    """
    folded = text.casefold()
    spaced, chosen = _single_spaces(folded), []
    for word in words:
        if word.isascii() and word.isalnum():
            if word in folded and _stands_alone(word, folded):
                chosen.append(word)
        elif _single_spaces(word) in spaced:
            chosen.append(word)
    return chosen


def _stands_alone(word, text):
    """Return whether a word occurs in a text without a letter, digit or "_" next to it."""
    start = text.find(word)
    while start >= 0:
        neighbours = text[start - 1 : start] + text[start + len(word) : start + len(word) + 1]
        if not any(sign.isalnum() or sign == "_" for sign in neighbours):
            return True
        start = text.find(word, start + 1)
    return False


def _single_spaces(text):
    """Return a text with single spaces, also in place of underscores."""
    if text.isalnum():
        return text
    return " ".join(text.replace("_", " ").split())


def _text_places(text):
    """Return (start, end, word) for all words of a text; results for short texts are cached."""
    return _short_text_places(text) if len(text) <= CACHED_TEXT_CHARACTERS else _all_places(text)


def _all_places(text):
    """Return (start, end, word) for all words of a text."""
    spans, end = [], 0
    for chunk in text.split():
        start = text.index(chunk, end)
        end = start + len(chunk)
        for first, last, word in _find_words(chunk):
            spans.append((start + first, start + last, word))
    return spans


_short_text_places = lru_cache(CACHED_TEXTS)(_all_places)


def _literal_places(text, words):
    """Return (start, end, word) for words in a text of printable ASCII.

    Only chunks that contain one of the words are split.
    """
    lowered, starts, spans = text.lower(), set(), []
    for word in filter(str.strip, words):
        position = lowered.find(word)
        while position >= 0:
            starts.add(lowered.rfind(" ", 0, position) + 1)
            position = lowered.find(word, position + 1)
    for start in sorted(starts):
        chunk = text[start:].partition(" ")[0]
        spans += [
            (start + first, start + last, word)
            for first, last, word in _find_words(chunk)
            if word in words
        ]
    return spans


def _pairs_of_hangul(text, words):
    """Return (start, end, word) for pairs of Korean syllables in chunks without any of `words`."""
    spans = []
    for chunk in CHUNK.finditer(text):
        if HANGUL.search(chunk[0]) and not any(word in words for *_, word in _find_words(chunk[0])):
            start = chunk.start()
            spans += [
                (start + first, start + last, word)
                for first, last, word in _find_words(chunk[0], SPLIT_PAIRS)
                if word in words
            ]
    return spans


def _find_words(chunk, split=SPLIT_WORDS):
    """Return (start, end, word) for the words of a chunk (`_cut`), cached for short chunks."""
    return _cut_short(chunk, split) if len(chunk) <= CACHED_CHARACTERS else _cut(chunk, split)


def _cut(chunk, split):
    """Return (start, end, word) for the words of a chunk (a text without spaces).

    A word that `split` spells with other letters than the chunk is omitted, unless it is the only
    word. Then its span is the chunk without the signs at its ends.

    Parameters
    ----------
    chunk : str
    split : odl.text.words.Words
        Splits the chunk into its words as they are counted.
    """
    word = chunk.strip(WORD_ENDS)
    if len(word) > 1 and word.isascii() and word.isalpha():  # a fast path, taken by most chunks
        first = chunk.find(word)
        return [(first, first + len(word), word.lower())]
    words, start, spans = split.split(encode(chunk)), 0, []
    between = EMOJI_JOINTS if "\u200d" in chunk else ""
    if POINT.search(chunk):  # only then, because the pattern below takes 4 ms to compile
        between = f"{POINT.pattern}*"
    for word in words:
        span = _span_of(word, chunk, start, between)
        if span:
            first, last = _with_marks(chunk, *span)
            # Words of scripts without spaces are overlapping pairs, so the next may begin inside.
            start = span[0] if UNSPACED.search(word) else last
            spans.append((first, last, word))
        elif len(words) == 1:
            spans.append((*_trim(chunk), word))
    return spans


_cut_short = lru_cache(CACHED_CHUNKS)(_cut)


def _span_of(word, chunk, start, between):
    """Return the span of a word in a chunk, ignoring case, or None if its letters differ.

    The pattern `between` may match between the letters of the word.
    """
    if not between:  # avoid a pattern if possible: its compilation takes 0.1 ms
        lowered = chunk.lower()
        position = lowered.find(word.lower(), start) if len(lowered) == len(chunk) else -1
        if position >= 0:
            return position, position + len(word)
        if UNSPACED_RUN.fullmatch(word) or (word.isascii() and chunk[start:].isascii()):
            return None
    letters = (SIGNS_OF_LETTER.get(letter) or re.escape(letter) for letter in word)
    match = re.compile(between.join(letters), re.IGNORECASE).search(chunk, start)
    return match and match.span()


def _with_marks(chunk, first, last):
    """Extend the span of a word to complete letters; return the new (first, last).

    Marks after the span are added, and the letter before a mark at its start. Vowels of Thai and
    Lao go with their letters, a mute letter with the letter before, and n't with its verb.
    """
    while last < len(chunk) and _is_mark(chunk[last]):
        last += 1
    while first and (_is_mark(chunk[first]) or chunk.startswith(MUTE, first + 1)):
        first -= 1
    if chunk[last - 1 : last + 2].casefold().startswith(ELIDED):  # the span ends with n of n't
        last += 2
    if first > 0 and chunk[first - 1] in VOWELS_BEFORE:
        first -= 1
    if chunk[last - 1] in VOWELS_BEFORE:  # this vowel belongs to the next letter
        last -= 1
    return first, last


def _is_mark(sign):
    """Return whether a character belongs to the letter before it."""
    return sign in VOWELS_BEHIND or unicodedata.category(sign)[0] == "M"


def _trim(chunk):
    """Return the span of a chunk without signs at its ends; letters, marks and digits remain."""
    positions = [
        position for position, sign in enumerate(chunk) if unicodedata.category(sign)[0] in "LMN"
    ]
    return (positions[0], positions[-1] + 1) if positions else (0, len(chunk))


def _whole_words(text, words):
    """Return (start, end, word) for words that occur in a text, without splitting the text.

    This finds words that `odl.text.words` does not produce, such as words of a user's pattern or of
    a segmenter. No letter, digit or "_" may be next to a match, except for words in scripts without
    spaces. The parts of a word with spaces may be separated by any punctuation.
    """
    forms = {
        r"[\W_]+".join(map(re.escape, parts)): word
        for word in words
        if (parts := _single_spaces(word).split())
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
    """Return the spans of words in a text in NFC, sorted; overlapping spans are merged.

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
    """Return the passage of a text that contains most of the given words.

    The passage has at most `longest` characters, and ``…`` where the text is cut. The passage with
    the most different words is chosen. Among several of them, the passage with the most occurrences
    of words is chosen, then the first.

    Examples
    --------
    >>> from odl.alerts.excerpts import excerpt
    >>> text = "a long way before " * 3 + "the rocket lifts off " + "and after " * 9
    >>> excerpt(text, ["rocket", "lifts"], 30)
    '…the rocket lifts off and…'
    """
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    spans = [(first, last, text[first:last].lower()) for first, last in marks(text, words)]
    # Compare only the starts at which a word enters at the end of the excerpt.
    starts = sorted(
        {0, *(max(-(-(last - longest) // EXCERPT_STEP) * EXCERPT_STEP, 0) for _, last, _ in spans)}
    )

    def words_inside(start):
        inside = [word for first, last, word in spans if start <= first and last <= start + longest]
        return len(set(inside)), len(inside)

    best = max(starts, key=words_inside)
    inside = [span for span in spans if best <= span[0] and span[1] <= best + longest]
    if inside:  # move the passage so that its words are in the middle
        best = min(max((inside[0][0] + inside[-1][1] - longest) // 2, 0), len(text) - longest)
    end = min(best + longest, len(text))
    return (
        ("…" if best else "")
        + _without_cut_words(text, best, end)
        + ("…" if end < len(text) else "")
    )


def _without_cut_words(text, start, end):
    """Return text[start:end] without incomplete words at its ends.

    If this removed half of the characters or more, the words remain incomplete.
    """
    section = text[start:end]
    first, last = 0, len(section)
    if start > 0 and text[start - 1] != " ":  # the first word is incomplete
        first = section.find(" ") + 1
    if end < len(text) and text[end] != " " and " " in section:  # the last word is incomplete
        last = section.rfind(" ")
    complete = section[first:last].strip()
    return complete if len(complete) > len(section) // 2 else section


def mark_words(text, words, mark, other=str):
    """Return a text in which a function has marked the given words.

    Parameters
    ----------
    text : str
    words : sequence of str
    mark, other : callable
        Functions that return the markup of a word, and of the text between two words.
    """
    text, pieces, end = unicodedata.normalize("NFC", text), [], 0
    for first, last in marks(text, words):
        pieces += [other(text[end:first]), mark(text[first:last])]
        end = last
    return "".join([*pieces, other(text[end:])])


def find_title_words(titles, counts, vocabulary):
    """Return a matrix with the shape of `counts` that is 1 for each word in the document's title.

    The matrix is empty if nearly all titles contain all words of their texts, because title words
    are then no separate evidence (`OWN_TITLES`).
    """
    rows, columns, n_complete = [], [], 0
    for row, title in enumerate(titles):
        terms = counts.indices[counts.indptr[row] : counts.indptr[row + 1]].tolist()
        named = {vocabulary[term]: term for term in terms}
        title_terms = (
            {named[word] for *_, word in places(title, named)}
            if 0 < len(title) < TITLE_CHARACTERS
            else set()
        )
        n_complete += len(title_terms) == len(terms)
        rows += [row] * len(title_terms)
        columns += sorted(title_terms)
    n_incomplete = sum(0 < len(title) < TITLE_CHARACTERS for title in titles) - n_complete
    if n_incomplete < OWN_TITLES * len(titles):
        rows, columns = [], []
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=counts.shape)
