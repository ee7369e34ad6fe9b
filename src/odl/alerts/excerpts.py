"""Excerpt of a text around the words that tell why it is flagged; where words stand in texts, and their phrases."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from odl.text import scripts
from odl.text.words import Words

LONGEST = 300  # characters
STEP = 10  # characters between the excerpts that are compared
MOST = 3  # words of a phrase
USUAL, WHOLE = 0.8, 24  # share of the places of a run without spaces that a character stands beside; characters at most
SPLIT, PAIRS = Words(), Words(hangul="pairs")
BLANKS, CHUNK = re.compile(r"[_\s]+"), re.compile(r"\S+")
HANGUL, UNSPACED = re.compile(f"[{scripts.HANGUL}]"), re.compile(f"[{''.join((*scripts.SPACELESS, scripts.HANGUL))}]")
RUN = re.compile(f"[{''.join(scripts.SPACELESS)}]+")
UNSPACED_RUN = re.compile(f"{UNSPACED.pattern}+")
POINT = re.compile(f"[{scripts.POINTS}]")


def places(text, words):
    """Return where words stand in a text of which NFC is taken, as (first, last, word) in rising order.

    Parameters
    ----------
    text : str
        In NFC.
    words : collection of str
        As they are counted: folded, a ``_`` for a blank of a phrase.

    Returns
    -------
    list of (int, int, str)
        Words as `odl.text.words` cuts the text; those that it does not find so, whole between other letters, but words
        of scripts without spaces anywhere, as a segmenter finds them.

    Examples
    --------
    >>> from odl.alerts.excerpts import places
    >>> places("NASA and iPhones, iPhone", ["nasa", "iphone"])
    [(0, 4, 'nasa'), (18, 24, 'iphone')]
    """
    words, spans = set(words), []
    for chunk in _chunks(text, words):
        counted, (start, end) = _words(chunk[0]), chunk.span()
        if words.isdisjoint(counted) and HANGUL.search(chunk[0]):
            counted = _words(chunk[0], PAIRS)
        between = f"{POINT.pattern}*" if POINT.search(chunk[0]) else ""  # a set that takes 4 ms to compile
        for word in counted if not words.isdisjoint(counted) else ():
            span = _span_of(word, text, start, end, between)
            if span or len(counted) == 1:  # folded to other letters
                first, last = _with_marks(text, *span, chunk) if span else _trimmed(text, start, end)
                start = (span or (first,))[0] if UNSPACED.search(word) else last
                spans += [(first, last, word)] if word in words else []
    folded = BLANKS.sub(" ", text.casefold())
    rest = [word for word in words - {word for *_, word in spans} if BLANKS.sub(" ", word).strip() in folded]
    return sorted(spans + _whole_words(text, rest))


def _chunks(text, words):
    """Return the matches of what stands between blanks; of printable ASCII, where a word of it may be one of these."""
    if not (text.isascii() and text.isprintable()):
        return CHUNK.finditer(text)
    lowered, starts = text.lower(), set()
    for word in filter(str.strip, words):
        place = lowered.find(word)
        while place >= 0:
            starts.add(lowered.rfind(" ", 0, place) + 1)
            place = lowered.find(word, place + 1)
    return filter(None, (CHUNK.match(text, start) for start in sorted(starts)))  # none: a word that begins with a blank


@lru_cache(maxsize=1 << 16)
def _words(chunk, split=SPLIT):
    return tuple(split.of(chunk.encode("utf-8", "surrogatepass")))


def _span_of(word, text, start, end, between):
    """Return where a word stands in a part of a text, whatever its case; None where it is spelled with other letters.

    Between its letters there may be what the pattern `between` fits.
    """
    if word.isascii() and text[start:end].isascii():  # to compile a pattern takes .1 ms
        place = text[start:end].lower().find(word.lower())
        return (start + place, start + place + len(word)) if place >= 0 else None
    match = re.compile(between.join(map(re.escape, word)), re.IGNORECASE).search(text, start, end)
    return match and match.span()


def _with_marks(text, first, last, chunk):
    """Return a span with the marks behind it, vowel signs and points, and with the letter whose mark it begins with."""
    while last < chunk.end() and unicodedata.category(text[last])[0] == "M":
        last += 1
    while first > chunk.start() and unicodedata.category(text[first])[0] == "M":
        first -= 1
    return first, last


def _trimmed(text, first, last):
    """Return a span without the signs at its ends that are no letters, marks or digits."""
    kept = [place for place in range(first, last) if unicodedata.category(text[place])[0] in "LMN"]
    return (kept[0], kept[-1] + 1) if kept else (first, last)


def _whole_words(text, words):
    """Return where words of another tokeniser stand: between signs that are no letters; a blank is one or several.

    Words of a segmenter stand inside of runs without spaces.
    """
    forms = {r"[\W_]+".join(map(re.escape, parts)): word for word in words if (parts := BLANKS.sub(" ", word).split())}
    if not forms:
        return []
    ordered = sorted(forms.items(), key=lambda form: (-len(form[0]), form[0]))
    either = "|".join(f"({form})" if RUN.fullmatch(word) else rf"(?<!\w)({form})(?!\w)" for form, word in ordered)
    matches = re.finditer(either, text, re.IGNORECASE)
    return [(*match.span(), ordered[match.lastindex - 1][1]) for match in matches]


def marks(text, words):
    """Return where words stand in a text of NFC, as spans that rise and do not overlap.

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


def phrases(texts, words, least=1):
    """Return words as texts spell them, those that stand together in them as one.

    A phrase is of up to three words side by side, or of pairs of letters that overlap, however many. So many texts
    have it at least, and half of those that have the rarest of its words, of pairs the commonest. Of several that
    share a word, the one with the largest product of words and texts is one.

    Parameters
    ----------
    texts : sequence of str
    words : sequence of str
        As of `places`.
    least : int
        Texts that have a phrase.

    Returns
    -------
    list of (str, list of str)
        A phrase in the spelling of most texts, and its words; in the order of the words.

    Examples
    --------
    >>> from odl.alerts.excerpts import phrases
    >>> phrases(["Duct Tape, says NASA: duct tape"], ["tape", "nasa", "duct"])
    [('Duct Tape', ['tape', 'duct']), ('NASA', ['nasa'])]
    >>> phrases(["気象衛星を打上"], ["衛星", "象衛", "打上"])
    [('象衛星', ['衛星', '象衛']), ('打上', ['打上'])]
    >>> phrases(["気象衛星を打上", "新気象衛星の"], ["象衛"])
    [('気象衛星', ['象衛'])]
    """
    spellings: dict[tuple, Counter] = {}
    texts = [" ".join(unicodedata.normalize("NFC", text).split()) for text in texts]
    for text in texts:
        for inside, spelled in _runs(text, words).items():
            spellings.setdefault(inside, Counter()).update([spelled])
    counts = {inside: spelled.total() for inside, spelled in spellings.items()}
    phrase_of: dict[str, tuple] = {}
    for inside in sorted(counts, key=lambda inside: (len(inside) == 1, -len(inside) * counts[inside], inside)):
        most = (max if RUN.fullmatch("".join(inside)) else min)(counts[word,] for word in inside)
        together = len(inside) == 1 or (counts[inside] >= least and 2 * counts[inside] >= most)
        if together and phrase_of.keys().isdisjoint(inside):
            phrase_of |= dict.fromkeys(inside, inside)
    joined: dict[str, list[str]] = {}
    for word in words:
        inside = phrase_of.get(word, (word,))
        spelled = _most_usual(spellings[inside]) if inside in spellings else word
        joined.setdefault(_whole_run(texts, spelled) if UNSPACED.search(spelled) else spelled, []).append(word)
    return list(joined.items())


def is_unspaced(phrase):
    """Return whether all of a phrase is written without spaces."""
    return all(map(UNSPACED.match, phrase))


def _whole_run(texts, run):
    """Return a run without spaces with what nearly always stands beside it; itself where that has no end.

    One place is too few to tell, but for Korean, whose words end at spaces.
    """
    whole, sides = run, [1, -1]
    while sides and len(whole) <= WHOLE:
        beside: Counter = Counter()
        for text in texts:
            for match in re.finditer(f"(?={re.escape(whole)})", text):
                at = match.start() + (len(whole) if sides[0] > 0 else -1)
                beside[text[at : at + 1]] += 1  # none before the first one
        ((sign, count),) = beside.most_common(1) or [("", 0)]
        several = count > 1 or HANGUL.match(sign)
        if several and count >= USUAL * beside.total() and sign and is_unspaced(sign):
            whole = whole + sign if sides[0] > 0 else sign + whole
        else:
            sides.pop(0)
    return whole if len(whole) <= WHOLE else run


def apart(text, words, others, whole):
    """Return words as `phrases` spells them, apart from others: pairs of letters that overlap one are left out.

    Parameters
    ----------
    text : str
    words, others : sequence of str
        As of `places`.
    whole : bool
        Whether a run without spaces is all that stands between the others, where not all words are known.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from odl.alerts.excerpts import apart
    >>> apart("气象卫星进入轨道", ["入轨", "星进"], ["气象", "卫星"], whole=True)
    ['进入轨道']
    """
    text = " ".join(unicodedata.normalize("NFC", text).split())
    taken = {place for first, last, _ in places(text, others) for place in range(first, last)}
    runs = "".join(" " if place in taken else letter for place, letter in enumerate(text))
    told = []
    for phrase, _ in phrases([text], words):
        first = runs.find(phrase)
        if is_unspaced(phrase) and phrase in text:
            if first < 0:
                continue
            inside = next(run for run in UNSPACED_RUN.finditer(runs) if run.start() <= first < run.end())[0]
            phrase = inside if whole and len(inside) <= WHOLE else phrase
        told.append(phrase)
    return [*dict.fromkeys(told)]


def _most_usual(spellings):
    return min(spellings, key=lambda spelled: (-spellings[spelled], spelled))


def _runs(text, words):
    """Return the words of a text, and all runs of them that may be a phrase, with the first spelling of each."""
    runs: list[list] = [[]]
    for place in places(text, words):
        last = runs[-1][-1][1] if runs[-1] else -1
        if not (place[0] < last or text[last : place[0]] in (" ", "-")):
            runs.append([])
        runs[-1].append(place)
    spellings: dict[tuple, str] = {}
    for run in runs:
        for start in range(len(run)):
            for end in range(start + 1, len(run) + 1):
                spelled = text[run[start][0] : max(last for _, last, _ in run[start:end])]
                inside = tuple(word for *_, word in run[start:end])
                if len({*inside}) < len(inside) or (len(inside) > MOST and " " in spelled):
                    break
                spellings.setdefault(inside, spelled)
    return spellings


def name_of(words, texts, most):
    """Return the parts of a topic's name: phrases as the texts spell them, by the sum of the weights of their words.

    Parameters
    ----------
    words : dict of str to float
        `odl.alerts.memory.name_words`.
    texts : list of str
        Of items of the topic; where there are none, words stand as they are counted.
    most : int
        Words from which on there is no further part; a run of a script without spaces is one.

    Returns
    -------
    tuple of str
    """
    parts = phrases(texts, list(words), min(2, len(texts)))
    weight = {phrase: sum(map(words.get, inside)) for phrase, inside in parts}
    name: list[str] = []
    for phrase in sorted(weight, key=lambda phrase: -weight[phrase]):
        if sum(len(part.split()) for part in name) < most:
            name.append(phrase)
    return tuple(name)


def excerpt(text, words, longest=LONGEST):
    """Return the part of a text that has most of the words, of several the first; ``…`` where something is cut off.

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
    starts = range(0, len(text) - longest + STEP, STEP)

    def told(start):
        inside = [word for first, last, word in spans if start <= first and last <= start + longest]
        return len(set(inside)), len(inside)

    best = max(starts, key=told)
    inside = [span for span in spans if best <= span[0] and span[1] <= best + longest]
    if inside:  # in the middle
        best = min(max((inside[0][0] + inside[-1][1] - longest) // 2, 0), len(text) - longest)
    end = min(best + longest, len(text))
    return ("…" if best else "") + _whole(text, best, end) + ("…" if end < len(text) else "")


def _whole(text, start, end):
    """Return a part of a text without the words that are cut at its ends, where that leaves enough."""
    part = text[start:end]
    first = part.find(" ") if start and text[start - 1] != " " else -1
    last = part.rfind(" ") if end < len(text) and text[end] != " " else -1
    short = part[first + 1 : last if last >= 0 else len(part)].strip()
    return short if len(short) > len(part) // 2 else part


def marked(text, words, mark):
    """Return a text whose words went through `mark`, everything else through ``mark(text, False)``.

    Parameters
    ----------
    text : str
    words : sequence of str
    mark : callable
        Of a piece of the text, and whether it is one of the words; returns a string.
    """
    text, pieces, end = unicodedata.normalize("NFC", text), [], 0
    for first, last in marks(text, words):
        pieces += [mark(text[end:first], False), mark(text[first:last], True)]
        end = last
    return "".join([*pieces, mark(text[end:], False)])
