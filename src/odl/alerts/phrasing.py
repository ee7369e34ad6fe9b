"""Phrases: words that are adjacent in the texts of a period more often than by chance.

A phrase is spelled as in these texts.
"""

import math
import re
import unicodedata
from collections import Counter
from functools import cache, partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from odl.alerts.excerpts import HANGUL, SPACELESS_RUN, UNSPACED, UNSPACED_RUN, places
from odl.text import scripts
from odl.text.scripts import LETTERED

PHRASE_WORDS = 3  # largest number of words of a phrase
MIN_ASSOCIATION = 0.3  # smallest `association` between the left and right part of a phrase
# Smallest weight of the first and last word of a phrase, relative to the heaviest word in it.
MIN_END_WEIGHT = 0.25
# A run without spaces is cut at a piece whose number of texts, times this factor, is at most that
# of its neighbours.
CUT_RATIO = 1.5
# Smallest number of texts in an association, as a multiple of the texts with one of the phrases.
MIN_TEXTS_RATIO = 4
# A run without spaces is extended by a character that is next to this share of its occurrences.
MIN_NEIGHBOUR_SHARE = 0.8
RUN_CHARACTERS = 24  # characters of the longest run without spaces that is extended
WORD_JOINTS = ("", " ", "-", "'", "\u2019")  # texts between two words of a phrase
HIRAGANA, PARTICLE_LETTERS = "\u3041-\u309f", "はがをにのでともへやな"
# Grammatical particles that are removed from the ends of a phrase. Also removed from its beginning
# are endings of the word before (買った), and the Chinese 的, with which few words begin.
PARTICLE_AT_END = re.compile(
    f"^(?:[{PARTICLE_LETTERS}]+|[いしれっ]?た)(?=[^{HIRAGANA}])|^的(?=[^士确哥姐黎].)"
    f"|(?<=[^{HIRAGANA}])(?:[{PARTICLE_LETTERS}]+|ですが?|でした)$"
)
EMOJI_SIGN = re.compile(f"[{scripts.EMOJI}{scripts.FLAG}]")  # no phrase contains emoji
KATAKANA = "[\u30a1-\u30fa\u30fc]"


class Texts:
    """Texts of documents by row, normalised when they are first read.

    Parameters
    ----------
    texts : list of str
        Text of each document; empty if it is not stored.
    """

    def __init__(self, texts):
        self.stored, self._composed = texts, cache(lambda row: _compose(texts[row]))

    def __call__(self, rows):
        """Return the stored texts of some rows, in NFC with single spaces."""
        rows = map(int, rows)  # NumPy integers would be separate keys of the cache
        return [self._composed(row) for row in rows if self.stored[row]]


class PeriodTexts:
    """Texts of all items in a period, in which phrases are counted.

    Parameters
    ----------
    texts : list of str
        Normalised as by `Texts`; an empty list if texts are not stored.
    n : int
        Number of items.
    holders : dict of str to int
        Number of items that contain each word; by default empty, which means unknown.
    """

    def __init__(self, texts, n, holders=None):
        self.texts = "\n".join(["", *texts, ""]).casefold()
        self.n, self.holders, self.counts = n, holders or {}, {}
        # A cached bound method would keep the period in memory.
        self.neighbours = cache(partial(_count_neighbours, self.texts))

    @classmethod
    def from_counts(cls, texts, X, vocabulary):
        """Create the object from the texts of items and their word counts, the rows of `X`."""
        holders = np.bincount(X.indices)
        terms = np.flatnonzero(holders)
        words = map(vocabulary.__getitem__, terms.tolist())
        return cls(texts, X.shape[0], dict(zip(words, holders[terms].tolist(), strict=True)))

    def count(self, spelled):
        """Return the number of texts that contain a phrase, ignoring case."""
        folded = spelled.casefold()
        if folded not in self.counts:
            count, position = 0, self.texts.find(folded)
            while position >= 0:
                count += 1
                end_of_text = self.texts.find("\n", position)
                position = self.texts.find(folded, end_of_text)
            self.counts[folded] = count
        return self.counts[folded]


def _count_neighbours(texts, run, side):
    """Count the characters next to a run of characters: after the run (side 1) or before it (-1).

    Returns
    -------
    sign : str
        Most frequent of these characters.
    count : int
        Occurrences of the run with this character.
    n : int
        Occurrences of the run.
    """
    signs, position = Counter(), texts.find(run)
    while position >= 0:
        signs[texts[position + (len(run) if side > 0 else -1)]] += 1
        position = texts.find(run, position + 1)
    ((sign, count),) = signs.most_common(1) or [("", 0)]
    return sign, count, signs.total()


def _compose(text):
    """Return a text in NFC, with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def association(both, one, other, n):
    """Return the association of two phrases, from -1 to 1.

    The association is the normalised pointwise mutual information of the phrases (Bouma 2009). It
    is multiplied by both / (both + 1), because a few texts are weak evidence (Pantel and Lin 2002).

    Parameters
    ----------
    both : int
        Number of texts in which the phrases are neighbours.
    one, other : int
        Number of texts that have each phrase.
    n : int
        Number of texts; at least `MIN_TEXTS_RATIO` times each count is used, since a word of most
        texts would otherwise have no association with any other.

    Examples
    --------
    >>> from odl.alerts.phrasing import association
    >>> association(3, 3, 3, 100), round(association(2, 10, 20, 100), 6), association(1, 1, 1, 1)
    (0.75, 0.0, 0.5)
    """
    both, n = min(both, one, other), max(n, MIN_TEXTS_RATIO * max(one, other))
    return math.log(n * both / (one * other)) / math.log(n / both) * both / (both + 1)


def phrases(texts, words, min_texts=1, period=None):
    """Group words into phrases, and spell words and phrases as the texts do.

    A phrase has two adjacent words, or three if at least two texts of the period contain all three.
    For each way to cut a phrase in two, the `association` of both parts is at least
    `MIN_ASSOCIATION`. The first and the last word of a phrase have at least `MIN_END_WEIGHT` times
    the weight of its heaviest word. In scripts without spaces, words are overlapping pairs of
    letters, which form a run without spaces. The run is cut at pairs that are `CUT_RATIO` times
    less frequent than their neighbours. If phrases share a word, the phrase with the largest
    (number of words) x (number of texts) is chosen.

    Parameters
    ----------
    texts : sequence of str
    words : sequence of str, or dict of str to float
        Words in the form of `odl.alerts.excerpts.places`, optionally with weights.
    min_texts : int
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
    texts = [_compose(text) for text in texts]
    period = period or PeriodTexts(texts, len(texts))
    candidates = _find_candidates(texts, words, period)
    weights = words if isinstance(words, dict) else dict.fromkeys(words, 1.0)
    chosen = _choose_phrases(candidates, weights, min_texts)
    joined: dict[str, list[str]] = {}
    for word in words:
        phrase = _phrase_of(word, chosen, candidates)
        spelled = _most_usual(candidates.spellings[phrase]) if phrase else word
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


class _Candidates(NamedTuple):
    """Possible phrases in some texts.

    In a script with spaces, each word is a unit of its own. In a script without spaces, the
    overlapping words (pieces) between two cuts of a run of characters are one unit. A candidate is
    a tuple of up to `PHRASE_WORDS` adjacent units. A unit is a tuple of words.

    Attributes
    ----------
    spellings : dict of tuple to dict of str to int
        Candidate -> {spelling: number of texts with this spelling}.
    n_texts : dict of str to int
        Number of texts of the period with each word.
    next_to_cut : dict of str to str
        Piece at a cut, which is in no unit -> a word of the unit next to the cut.
    period : PeriodTexts
        Texts in which occurrences are counted.
    """

    spellings: dict
    n_texts: dict
    next_to_cut: dict
    period: PeriodTexts

    def count(self, candidate):
        """Return the number of texts of the period with a candidate."""
        if len(candidate) == len(candidate[0]) == 1:  # a single word
            return self.n_texts[candidate[0][0]]
        spellings = self.spellings[candidate]
        n_found = sum(spellings.values())
        if n_found >= min(self.n_texts[word] for word in chain(*candidate)):
            return n_found  # no other text of the period has all words
        return max(n_found, self.period.count(_most_usual(spellings)))

    def is_associated(self, candidate):
        """Return whether both parts are associated for each way to cut a candidate in two."""
        n_both = self.count(candidate)
        cuts = ((candidate[:cut], candidate[cut:]) for cut in range(1, len(candidate)))
        return all(
            association(n_both, self.count(left), self.count(right), self.period.n)
            >= MIN_ASSOCIATION
            for left, right in cuts
        )


def _find_candidates(texts, words, period):
    """Return the possible phrases of words in texts as `_Candidates`."""
    placed = [places(text, words) for text in texts]
    found = Counter(chain.from_iterable({word for *_, word in spans} for spans in placed))
    n_texts = {word: max(count, period.holders.get(word, 0)) for word, count in found.items()}
    candidates = _Candidates({}, n_texts, {}, period)
    for text, spans in zip(texts, placed, strict=True):
        units = _units(spans, n_texts, candidates.next_to_cut)
        for candidate, spelled in _spell_candidates(text, units).items():
            n_spelled = candidates.spellings.setdefault(candidate, {})
            n_spelled[spelled] = n_spelled.get(spelled, 0) + 1
    return candidates


def _choose_phrases(candidates, weights, min_texts):
    """Choose phrases of several words among candidates; return {word: phrase that contains it}."""
    words_of = {}  # candidate -> its words
    for candidate, spelled in candidates.spellings.items():
        words, n_found = [*chain(*candidate)], sum(spelled.values())
        if len(words) > 1 and n_found >= min_texts and _may_be_phrase(candidate, weights):
            words_of[candidate] = words
    size = {key: len(words) * candidates.count(key) for key, words in words_of.items()}
    chosen: dict[str, tuple] = {}
    for candidate in sorted(words_of, key=lambda key: (-size[key], key)):
        n_needed = min(2, candidates.period.n) if len(candidate) == PHRASE_WORDS else 1
        is_frequent = candidates.count(candidate) >= n_needed
        is_free = chosen.keys().isdisjoint(words_of[candidate])
        if is_frequent and is_free and candidates.is_associated(candidate):
            chosen |= dict.fromkeys(words_of[candidate], candidate)
    return chosen


def _may_be_phrase(candidate, weights):
    """Return whether the ends of a candidate are heavy enough, and no word is an emoji."""
    unit_weights = [sum(weights[word] for word in unit) for unit in candidate]
    end_weight = min(unit_weights[0], unit_weights[-1])
    has_emoji = any(map(EMOJI_SIGN.match, chain(*candidate)))
    return end_weight >= MIN_END_WEIGHT * max(unit_weights) and not has_emoji


def _phrase_of(word, chosen, candidates):
    """Return the candidate by which a word is spelled; None if no text has the word.

    It is the chosen phrase with the word, or the word alone. A piece at a cut is spelled like the
    word next to the cut.
    """
    for part in (word, candidates.next_to_cut.get(word, word)):
        alone = ((part,),)
        if part in chosen or alone in candidates.spellings:
            return chosen.get(part, alone)
    return None


def join_pieces(words):
    """Join overlapping pieces of words in scripts without spaces, if no text spells the words.

    A piece of n characters is joined to a word if its first n - 1 characters end the word, or if
    its last n - 1 characters begin the word. Other words are returned unchanged.

    Examples
    --------
    >>> from odl.alerts.phrasing import join_pieces
    >>> join_pieces(["衛星", "nasa", "気象", "象衛"])
    ['気象衛星', 'nasa']
    """
    runs: list[str] = []
    for word in words:
        joined, target = word, len(runs)
        n_common = len(word) - 1 if is_unspaced(word) else 0  # characters that must overlap
        if n_common:
            for index in reversed(range(len(runs))):
                run = runs[index]
                if run.endswith(joined[:n_common]):
                    joined = run + joined[n_common:]
                elif joined.endswith(run[:n_common]):
                    joined = joined + run[n_common:]
                else:
                    continue
                del runs[index]
                target = index
        runs.insert(target, joined)
    return runs


def is_unspaced(phrase):
    """Return whether all characters of a phrase belong to scripts without spaces."""
    return all(map(UNSPACED.match, phrase))


def _whole_run(texts, run, period):
    """Extend a run without spaces by characters that are nearly always next to it in the period.

    A text must contain the extended run. A single occurrence is not enough, except in Korean, whose
    words end at spaces.
    """
    sides = [1, -1]
    max_characters = RUN_CHARACTERS if not LETTERED(run) else 2 * RUN_CHARACTERS
    while sides and len(run) < max_characters:
        side = sides.pop(0)
        sign, count, n = period.neighbours(run, side)
        several = count > 1 or HANGUL.match(sign)
        longer = run + sign if side > 0 else sign + run
        if (
            several
            and count >= MIN_NEIGHBOUR_SHARE * n
            and is_unspaced(sign)
            and any(longer in text for text in texts)
        ):
            run = longer
            sides.append(side)
    return run


def _whole_katakana(texts, run):
    """Extend a run that begins or ends inside a word of katakana to the complete word."""
    more_katakana = f"{KATAKANA}{{,{RUN_CHARACTERS}}}"
    before = more_katakana if re.match(KATAKANA, run[:1]) else ""
    after = more_katakana if re.match(KATAKANA, run[-1:]) else ""
    if not (before or after):
        return run
    pattern = re.compile(before + re.escape(run) + after)
    counts = Counter(match[0] for text in texts for match in pattern.finditer(text))
    return _most_usual(counts) if counts else run


def spell_remaining(text, words, covering, extend):
    """Spell words as phrases, using only the parts of a text that other words do not cover.

    Parameters
    ----------
    text : str
    words, covering : sequence of str
        Words to spell, and words whose parts of the text are left out (forms of
        `odl.alerts.excerpts.places`).
    extend : bool
        Whether to extend a run without spaces to all characters between the other words; needed if
        the list of words is incomplete.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from odl.alerts.phrasing import spell_remaining
    >>> spell_remaining("气象卫星进入轨道", ["入轨", "星进"], ["气象", "卫星"], extend=True)
    ['进入轨道']
    """
    text = _compose(text)
    covered = {
        position for first, last, _ in places(text, covering) for position in range(first, last)
    }
    runs = "".join("|" if position in covered else letter for position, letter in enumerate(text))
    spelled = []
    for phrase, _ in phrases([runs], words):
        first = runs.find(phrase)
        if is_unspaced(phrase) and phrase in text:
            if first < 0:
                continue
            inside = next(
                run for run in UNSPACED_RUN.finditer(runs) if run.start() <= first < run.end()
            )[0]
            phrase = inside if extend and len(inside) <= RUN_CHARACTERS else phrase
        spelled.append(phrase)
    return [*dict.fromkeys(spelled)]


def _most_usual(spellings):
    """Return the most frequent spelling, the first in alphabetical order among equals."""
    return min(spellings, key=lambda spelled: (-spellings[spelled], spelled))


def _units(spans, n_texts, next_to_cut):
    """Join overlapping spans of words to units (start, end, words), cut at pieces in few texts.

    Parameters
    ----------
    spans : list of (int, int, str)
        Sorted (`odl.alerts.excerpts.places`).
    n_texts : dict of str to int
        Number of texts with each word.
    next_to_cut : dict of str to str
        Changed in place: for each piece at a cut, a word of the unit next to the cut is added.
    """
    units: list[tuple] = []
    cuts: list[str] = []  # pieces at cuts before the first unit of a run
    end, is_after_cut = 0, False
    for index, (first, last, word) in enumerate(spans):
        is_cut = first < end and _is_cut(spans, index, n_texts)
        if is_cut and units and first < units[-1][1]:
            next_to_cut.setdefault(word, units[-1][2][-1])
        elif is_cut:
            cuts.append(word)
        elif is_after_cut or first >= end:
            units.append((first, last, (word,)))
            for piece in cuts:
                next_to_cut.setdefault(piece, word)
            cuts = []
        else:
            start, _, words = units[-1]
            units[-1] = start, last, (*words, word)
        end, is_after_cut = max(end, last), is_cut
    return units


def _is_cut(spans, index, n_texts):
    """Return whether a piece is in few texts, compared with overlapping pieces on both sides."""
    first, last, word = spans[index]
    n_near = len(word) - 1  # pieces on each side that may overlap the piece
    for side in spans[max(index - n_near, 0) : index], spans[index + 1 : index + 1 + n_near]:
        counts = [n_texts[piece] for start, stop, piece in side if start < last and first < stop]
        if max(counts, default=0) < CUT_RATIO * n_texts[word]:
            return False
    return True


def _spell_candidates(text, units):
    """Return {candidate: its first spelling in a text}.

    A candidate has up to `PHRASE_WORDS` adjacent units, and no word twice (`_Candidates`).
    """
    joined = [_are_joined(text, end, start) for (_, end, _), (start, *_) in pairwise(units)]
    spellings: dict[tuple, str] = {}
    for index, (first, *_) in enumerate(units):
        candidate: tuple = ()
        words: tuple = ()
        for after in range(index, min(index + PHRASE_WORDS, len(units))):
            if candidate and not joined[after - 1]:
                break
            _, last, unit = units[after]
            candidate, words = (*candidate, unit), words + unit
            if len(set(words)) < len(words):
                break
            spellings.setdefault(candidate, text[first:last])
    return spellings


def _are_joined(text, end, start):
    """Return whether units that end and start at two positions of a text may be in one phrase."""
    joint = text[end:start]
    # A space next to a character of a script without spaces separates phrases.
    if joint == " ":
        return not SPACELESS_RUN.search(text[end - 1 : start + 1])
    return joint in WORD_JOINTS
