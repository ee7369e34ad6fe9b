"""Phrases: words that are adjacent in the texts of a period more often than by chance, spelled as in these texts."""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from functools import cache, partial
from itertools import chain

import numpy as np

from odl.alerts.excerpts import HANGUL, SPACELESS_RUN, UNSPACED, UNSPACED_RUN, places
from odl.text import scripts
from odl.text.segmenters import LETTERED

PHRASE_WORDS = 3  # most words of a phrase
MIN_ASSOCIATION = 0.3  # smallest `association` of the two parts of a phrase, wherever it is cut
MIN_END_WEIGHT = 0.25  # weight of its first and last word as a share of that of its heaviest word
# a run of overlapping pieces is cut at a piece in this many times fewer texts than its neighbours
CUT_RATIO = 1.5
MIN_TEXTS_RATIO = (
    4  # a word is judged as if there were at least this many times the texts that have it
)
MIN_NEIGHBOUR_SHARE = (
    0.8  # share of the places of a run without spaces at which the same character is next to it
)
RUN_CHARACTERS = 24  # longest run without spaces that is extended
WORD_JOINTS = ("", " ", "-", "'", "\u2019")  # what may be between two words of a phrase
HIRAGANA, PARTICLE_LETTERS = "\u3041-\u309f", "はがをにのでともへやな"
PARTICLE_AT_END = re.compile(  # also endings of the word before (買った), and 的 of Chinese, which begins few words
    f"^(?:[{PARTICLE_LETTERS}]+|[いしれっ]?た)(?=[^{HIRAGANA}])|^的(?=[^士确哥姐黎].)"
    f"|(?<=[^{HIRAGANA}])(?:[{PARTICLE_LETTERS}]+|ですが?|でした)$"
)
EMOJI_SIGN = re.compile(f"[{scripts.EMOJI}{scripts.FLAG}]")  # emoji are in no phrase
GRAMMAR = re.compile(f"[{HIRAGANA}]+")
KATAKANA = "[\u30a1-\u30fa\u30fc]"


class Texts:
    """Texts of documents by row, normalised when they are first read.

    Parameters
    ----------
    texts : list of str
        Text of each document; empty if it is not stored.
    """

    def __init__(self, texts):
        self.stored, self._composed = texts, cache(lambda row: _composed(texts[row]))

    def __call__(self, rows):
        """Return the stored texts of some rows, in NFC with single spaces."""
        rows = map(int, rows)  # NumPy integers would be separate keys of the cache
        return [self._composed(row) for row in rows if self.stored[row]]


class PeriodTexts:
    """Texts of the items of a period, in which occurrences of phrases are counted.

    Parameters
    ----------
    texts : list of str
        Normalised as by `Texts`; an empty list if texts are not stored.
    n : int
        Number of items.
    holders : dict of str to int
        Number of items that contain each word; unknown by default.
    """

    def __init__(self, texts, n, holders=None):
        self.texts = "\n".join(["", *texts, ""]).casefold()
        self.n, self.holders, self.counts = n, holders or {}, {}
        self.neighbours = cache(
            partial(_count_neighbours, self.texts)
        )  # a bound method would keep the period and itself alive

    @classmethod
    def from_counts(cls, texts, X, vocabulary):
        """Return the texts of items whose counts of words are the rows of `X`."""
        held = np.bincount(X.indices)
        terms = np.flatnonzero(held)
        words = map(vocabulary.__getitem__, terms.tolist())
        return cls(texts, X.shape[0], dict(zip(words, held[terms].tolist(), strict=True)))

    def count(self, spelled):
        """Return the number of texts that contain a phrase, ignoring case."""
        folded = spelled.casefold()
        if folded not in self.counts:
            count, place = 0, self.texts.find(folded)
            while place >= 0:
                count, place = count + 1, self.texts.find(folded, self.texts.find("\n", place))
            self.counts[folded] = count
        return self.counts[folded]


def _count_neighbours(texts, run, side):
    """Return the most frequent character after a run (side 1) or before it (-1), its count, and that of the run."""
    signs, place = Counter(), texts.find(run)
    while place >= 0:
        signs[texts[place + (len(run) if side > 0 else -1)]] += 1
        place = texts.find(run, place + 1)
    return *(signs.most_common(1) or [("", 0)])[0], signs.total()


def _composed(text):
    """Return a text in NFC, with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def association(both, one, other, n):
    """Return the association of two phrases, in [-1, 1]: `one` and `other` of n texts have them, `both` as neighbours.

    Normalised pointwise mutual information (Bouma 2009), times both / (both + 1), so that few texts
    count less (Pantel and Lin 2002). n is at least `MIN_TEXTS_RATIO` times each count; otherwise a
    word of most texts would have no association with any other.

    Examples
    --------
    >>> from odl.alerts.phrasing import association
    >>> association(3, 3, 3, 100), round(association(2, 10, 20, 100), 6), association(1, 1, 1, 1)
    (0.75, 0.0, 0.5)
    """
    both, n = min(both, one, other), max(n, MIN_TEXTS_RATIO * max(one, other))
    return math.log(n * both / (one * other)) / math.log(n / both) * both / (both + 1)


def phrases(texts, words, least=1, period=None):
    """Return phrases of words as texts spell them; words that belong together form one phrase.

    A phrase has two adjacent words, or three if at least two texts of the period have it. Wherever
    it is cut in two, the `association` of its parts in the period is at least `MIN_ASSOCIATION`.
    Its first and its last word have at least `MIN_END_WEIGHT` of the weight of its heaviest word.
    Overlapping pairs of letters form one run, which is cut at pairs that are `CUT_RATIO` times less
    frequent than their neighbours. Of phrases that share a word, the one with the largest product
    of words and texts is chosen.

    Parameters
    ----------
    texts : sequence of str
    words : sequence of str, or dict of str to float
        As in `odl.alerts.excerpts.places`, and optionally their weights.
    least : int
        Smallest number of texts with a phrase.
    period : PeriodTexts, optional
        Texts in which occurrences are counted; by default `texts`.

    Returns
    -------
    list of (str, list of str)
        A phrase in its most frequent spelling, and its words, in the order of `words`.

    Examples
    --------
    >>> from odl.alerts.phrasing import phrases
    >>> phrases(["Duct Tape, says NASA: duct tape"], ["tape", "nasa", "duct"])
    [('Duct Tape', ['tape', 'duct']), ('NASA', ['nasa'])]
    >>> phrases(["気象衛星を打上"], ["衛星", "象衛", "打上"])
    [('象衛星', ['衛星', '象衛']), ('打上', ['打上'])]
    >>> phrases(["気象衛星を打上", "新気象衛星の"], ["象衛"])
    [('気象衛星', ['象衛'])]
    """
    if not words:
        return []
    texts = [_composed(text) for text in texts]
    placed = [places(text, words) for text in texts]
    held = Counter(word for found in placed for word in {word for *_, word in found})
    period = period or PeriodTexts(texts, len(texts))
    held = {word: max(count, period.holders.get(word, 0)) for word, count in held.items()}
    spellings: dict[tuple, Counter] = defaultdict(Counter)
    across: dict[str, str] = {}
    for text, found in zip(texts, placed, strict=True):
        for units, spelled in _runs(text, _units(found, held, across)).items():
            spellings[units][spelled] += 1
    chosen = _chosen(spellings, held, words, least, period)
    joined: dict[str, list[str]] = {}
    for word in words:
        beside, alone = across.get(word, word), ((word,),)
        units = chosen.get(word) or (alone in spellings and alone) or chosen.get(beside)
        units = units or (((beside,),) if ((beside,),) in spellings else alone)
        spelled = _most_usual(spellings[units]) if units in spellings else word
        if UNSPACED.search(spelled):
            spelled = _whole_katakana(texts, _whole_run(texts, spelled, period))
        joined.setdefault(spelled, []).append(word)
    for phrase in filter(is_unspaced, list(joined)):
        if longer := [other for other in joined if phrase in other and phrase != other]:
            joined[longer[0]] += joined.pop(phrase)
    trimmed: dict[str, list[str]] = {}
    for phrase, inside in joined.items():
        trimmed.setdefault(PARTICLE_AT_END.sub("", phrase), []).extend(inside)
    return list(trimmed.items())


def _chosen(spellings, held, words, least, period):
    """Return the phrase of each word as a tuple of units (`_units`), chosen among runs of several words."""
    weights = words if isinstance(words, dict) else {}

    @cache
    def count(units):
        if len(units) == len(units[0]) == 1:
            return held[units[0][0]]
        own, most = spellings[units].total(), min(held[word] for word in chain(*units))
        return own if own >= most else max(own, period.count(_most_usual(spellings[units])))

    def may_be(units):
        weight = [sum(weights.get(word, 1.0) for word in unit) for unit in units]
        enough = spellings[units].total() >= least
        enough = enough and not any(map(EMOJI_SIGN.match, chain(*units)))
        return enough and min(weight[0], weight[-1]) >= MIN_END_WEIGHT * max(weight)

    def together(units):
        parts = [(count(units[:cut]), count(units[cut:])) for cut in range(1, len(units))]
        return all(association(count(units), *part, period.n) >= MIN_ASSOCIATION for part in parts)

    chosen: dict[str, tuple] = {}
    several = [units for units in spellings if len(units) > 1 or len(units[0]) > 1]
    inside = {units: [*chain(*units)] for units in filter(may_be, several)}
    order = {units: (-len(words) * count(units), units) for units, words in inside.items()}
    for units in sorted(order, key=order.get):
        enough = len(units) < PHRASE_WORDS or count(units) >= min(2, period.n)
        if enough and chosen.keys().isdisjoint(inside[units]) and together(units):
            chosen |= dict.fromkeys(inside[units], units)
    return chosen


def chained(words):
    """Join overlapping pieces of words in scripts without spaces, if there is no text to spell them.

    Examples
    --------
    >>> from odl.alerts.phrasing import chained
    >>> chained(["衛星", "nasa", "気象", "象衛"])
    ['気象衛星', 'nasa']
    """
    runs: list[str] = []
    for word in words:
        size, at = len(word) - 1 if is_unspaced(word) else 0, len(runs)
        for place in reversed(range(len(runs) * bool(size))):
            after, before = runs[place].endswith(word[:size]), word.endswith(runs[place][:size])
            if after or before:
                run = runs.pop(at := place)
                word = run + word[size:] if after else word + run[size:]
        runs.insert(at, word)
    return runs


def is_unspaced(phrase):
    """Return whether all characters of a phrase belong to scripts without spaces."""
    return all(map(UNSPACED.match, phrase))


def _whole_run(texts, run, period):
    """Extend a run without spaces by the characters that are nearly always next to it in the period.

    A text must contain the extended run. A single occurrence is not enough, except in Korean, whose
    words end at spaces.
    """
    sides = [1, -1]
    most = RUN_CHARACTERS if not LETTERED(run) else 2 * RUN_CHARACTERS
    while sides and len(run) < most:
        side = sides.pop(0)
        sign, count, n = period.neighbours(run, side)
        several = count > 1 or HANGUL.match(sign)
        whole = run + sign if side > 0 else sign + run
        if (
            several
            and count >= MIN_NEIGHBOUR_SHARE * n
            and is_unspaced(sign)
            and any(whole in text for text in texts)
        ):
            run = whole
            sides.append(side)
    return run


def _whole_katakana(texts, run):
    """Extend a run that begins or ends within a word of katakana to the complete word, as most texts spell it."""
    first, last = (
        f"{KATAKANA}{{,{RUN_CHARACTERS}}}" if re.match(KATAKANA, end) else ""
        for end in (run[:1], run[-1:])
    )
    if not (first or last):
        return run
    found = re.compile(first + re.escape(run) + last)
    return _most_usual(
        Counter(match[0] for text in texts for match in found.finditer(text)) or {run: 1}
    )


def spell_remaining(text, words, others, whole):
    """Return words as `phrases` spells them, without the parts of the text that other words cover.

    Parameters
    ----------
    text : str
    words, others : sequence of str
        As in `odl.alerts.excerpts.places`.
    whole : bool
        Whether to extend a run without spaces to all characters between the others; for an
        incomplete list of words.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from odl.alerts.phrasing import spell_remaining
    >>> spell_remaining("气象卫星进入轨道", ["入轨", "星进"], ["气象", "卫星"], whole=True)
    ['进入轨道']
    """
    text = _composed(text)
    taken = {place for first, last, _ in places(text, others) for place in range(first, last)}
    runs = "".join("|" if place in taken else letter for place, letter in enumerate(text))
    told = []
    for phrase, _ in phrases([runs], words):
        first = runs.find(phrase)
        if is_unspaced(phrase) and phrase in text:
            if first < 0:
                continue
            inside = next(
                run for run in UNSPACED_RUN.finditer(runs) if run.start() <= first < run.end()
            )[0]
            phrase = inside if whole and len(inside) <= RUN_CHARACTERS else phrase
        told.append(phrase)
    return [*dict.fromkeys(told)]


def _most_usual(spellings):
    return min(spellings, key=lambda spelled: (-spellings[spelled], spelled))


def _units(found, held, across):
    """Join overlapping places of words to units (first, last, words), cut at pieces that are in few texts.

    A piece at a cut is in no unit; `across` maps it to a word of the unit next to it.
    """
    units: list[tuple] = []
    cuts: list[str] = []  # pieces at cuts before the first unit of a run
    end, gap = -1, True
    for at, (first, last, word) in enumerate(found):
        low = False
        if first < end or (
            at + 1 < len(found) and found[at + 1][0] < last
        ):  # the piece overlaps another one
            sides = [
                [held[piece] for start, stop, piece in side if start < last and first < stop]
                for side in (found[max(at - len(word) + 1, 0) : at], found[at + 1 : at + len(word)])
            ]
            low = all(max(side, default=0) >= CUT_RATIO * held[word] for side in sides)
        if low and units and first < units[-1][1]:
            across.setdefault(word, units[-1][2][-1])
        elif low:
            cuts.append(word)
        elif gap or first >= end:
            units.append((first, last, (word,)))
            across |= {piece: word for piece in cuts if piece not in across}
            cuts = []
        else:
            units[-1] = (units[-1][0], last, (*units[-1][2], word))
        end, gap = max(end, last), low
    return units


def _runs(text, units):
    """Return {adjacent units that may be a phrase: their first spelling in the text}."""
    spellings: dict[tuple, str] = {}
    for start, (first, *_) in enumerate(units):
        run: tuple = ()
        for place, (begin, last, words) in enumerate(units[start : start + PHRASE_WORDS], start):
            between = text[units[place - 1][1] : begin] if run else ""
            beside = text[units[place - 1][1] - 1 : begin + 1] if between == " " else ""
            run = (*run, words)
            inside = [*chain(*run)]
            if (
                between not in WORD_JOINTS
                or SPACELESS_RUN.search(beside)
                or len({*inside}) < len(inside)
            ):
                break
            spellings.setdefault(run, text[first:last])
    return spellings


def name_of(words, texts, most, period=None):
    """Return the phrases of a topic's name, sorted by the sum of the weights of their words, largest first.

    Parameters
    ----------
    words : dict of str to float
        Weight of each word.
    texts : list of str
        Texts of items of the topic; without any, words are printed as they are counted.
    most : int
        No phrase is added once the name has this many words; a run without spaces is one word.
    period : PeriodTexts, optional

    Returns
    -------
    tuple of str
    """
    parts = phrases(texts, words, min(2, len(texts)), period)
    parts = [part for part in parts if not GRAMMAR.fullmatch(part[0])] or parts
    weight = {phrase: sum(map(words.get, inside)) for phrase, inside in parts}
    name: list[str] = []
    for phrase in sorted(weight, key=lambda phrase: -weight[phrase]):
        if sum(len(part.split()) for part in name) < most:
            name.append(phrase)
    return tuple(name)
