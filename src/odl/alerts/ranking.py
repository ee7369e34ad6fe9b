"""Order of headlines learned from verdicts of users by ridge regression.

The traits x_i of n judged headlines have verdicts y_i (yes 1, known 0, no -1; the mean over users).
The regression

    min_b  sum_i (y_i - c - <x_i, b>)^2 + PENALTY |b|^2,    c = sum_i y_i / (n + PRIOR),

predicts <x - m, b> = sum_i a_i <x - m, x_i> for traits x, relative to the mean m of the x_i, with
a = (K + PENALTY I)^-1 (y - c) and K_ij = <x_i, x_j>. Verdict i contributes a_i <x - m, x_i>.

A headline moves by MAX_UP * GAIN times the prediction, rounded, at most MAX_UP places up and
MAX_DOWN places down. Verdicts never move protected headlines (`is_protected`) down. Traits are
words, whose weights have unit norm, and the source if `sources_agree`.
"""

import math
import re
from bisect import bisect_left
from collections import Counter, deque
from itertools import accumulate
from typing import NamedTuple

import numpy as np

MAX_UP, MAX_DOWN = 50, 5  # largest number of places by which verdicts move a headline
GAIN = 2.0  # prediction 1 / GAIN moves a headline by MAX_UP places
PENALTY = 0.3  # penalty of the ridge regression
PRIOR = 3.0  # verdicts of value 0 that are added to the mean
TITLE_WORD = re.compile(r"\w{3,}")
PROTECTED_P = 1e-6  # p below which a headline is protected
MAX_NAMED = 3  # largest number of verdicts that are named as causes of a move


class Traits(NamedTuple):
    """Traits of a headline, from which its verdict is predicted.

    Attributes
    ----------
    words : dict of str to float
        Word -> squared share of the stored documents of the headline that have the word in their
        title, among their reasons, or as a word of the headline. The square gives weight to words
        that the documents share.
    source : str
        File of most of its stored documents.
    """

    words: dict
    source: str


class Move(NamedTuple):
    """A move of a headline in a list.

    Attributes
    ----------
    places : int
        Number of places up; negative: down.
    parts : tuple of (int, float)
        Judged headlines that cause most of the move: index, and contribution to the prediction. The
        largest contribution comes first.
    """

    places: int
    parts: tuple


def traits_of(headline, documents_of):
    """Return the `Traits` of a headline; `documents_of` maps rows to stored documents."""
    documents = [documents_of[row] for row in headline.examples if row in documents_of]
    counts, sources = Counter(), Counter()
    for document in documents:
        words = {*TITLE_WORD.findall(document.title.casefold()), *document.opening}
        counts.update(words.union(reason.word for reason in document.reasons))
        sources[document.source] += 1
    source = max(sorted(sources), key=sources.__getitem__, default="")
    return Traits({word: (n / len(documents)) ** 2 for word, n in counts.items()}, source)


def is_protected(headline):
    """Return whether verdicts must not move a headline down.

    Such headlines have p < `PROTECTED_P`, the gate "certain", or a growing event.
    """
    return headline.p < PROTECTED_P or headline.gate == "certain" or headline.state == "growing"


class RidgeOrder:
    """Ridge regression that predicts verdicts and moves headlines accordingly.

    Parameters
    ----------
    traits : sequence of Traits
        Traits of the judged headlines.
    values : sequence of float
        Their verdicts, from -1 (no) to 1 (yes).
    """

    def __init__(self, traits, values):
        self.vocabulary = frozenset().union(*(judged.words for judged in traits))
        self.traits = [self._scale_words(judged) for judged in traits]
        y = np.array(values, dtype=float)
        self.uses_source = sources_agree([judged.source for judged in traits], y)
        y -= y.sum() / (len(y) + PRIOR)
        K = np.array([self._products(judged) for judged in self.traits])
        self.means = K.mean(axis=0)
        self.coefficients = np.linalg.solve(K + PENALTY * np.eye(len(y)), y)

    def move(self, traits):
        """Return the `Move` of a headline with the given traits, None if it does not move."""
        products = self._products(self._scale_words(traits))
        prediction = float(self.coefficients @ (products - self.means))
        places = round(max(-MAX_DOWN, min(MAX_UP, MAX_UP * GAIN * prediction)))
        if not places:
            return None
        # Name verdicts on similar headlines; if these do not explain the move, name any verdicts.
        named = _largest(self.coefficients * products, prediction) or _largest(
            self.coefficients * (products - self.means), prediction
        )
        return Move(places, tuple(named))

    def _scale_words(self, traits):
        """Return traits with only the words of judged headlines; their weights have unit norm."""
        words = {word: traits.words[word] for word in traits.words if word in self.vocabulary}
        norm = math.sqrt(math.fsum(weight**2 for weight in words.values()))
        return traits._replace(words={word: weight / norm for word, weight in words.items()})

    def _products(self, traits):
        """Return the inner products of scaled traits with the traits of the judged headlines."""
        products = [_word_product(traits.words, judged.words) for judged in self.traits]
        same_source = [traits.source == judged.source for judged in self.traits]
        return np.array(products) + self.uses_source * np.array(same_source)


def _largest(parts, prediction):
    """Return (index, part) for the largest parts that together are half of a prediction.

    Only parts with the sign of the prediction count.
    """
    numbered = enumerate(parts.tolist())
    helping = [(index, part) for index, part in numbered if part * prediction > 1e-9]
    helping.sort(key=lambda pair: -abs(round(pair[1], 9)))
    totals = [*accumulate(abs(part) for _, part in helping)]
    n_needed = bisect_left(totals, abs(prediction) / 2) + 1
    return helping[: min(n_needed, MAX_NAMED)]


def sources_agree(sources, values):
    """Return whether verdicts on headlines of the same source agree more than by chance.

    Let d_i be the deviation of verdict i from the mean verdict. The verdicts agree if the sum of
    d_i d_j over all pairs with the same source exceeds its standard deviation under independence.

    Examples
    --------
    >>> from odl.alerts.ranking import sources_agree
    >>> sources = ["a", "a", "b", "b"]
    >>> sources_agree(sources, [1, 1, -1, -1]), sources_agree(sources, [1, -1, 1, -1])
    (True, False)
    """
    deviations = np.asarray(values, dtype=float) - np.mean(values)
    same_source = np.equal.outer(np.array(sources), np.array(sources)) & ~np.eye(
        len(sources), dtype=bool
    )
    products = np.outer(deviations, deviations)[same_source].sum()
    return bool(products > math.sqrt(2 * same_source.sum()) * np.mean(deviations**2))


def _word_product(weights, other):
    """Return the inner product of two dicts of word -> weight."""
    return math.fsum(weights[word] * other[word] for word in weights.keys() & other.keys())


def reorder(places, protected):
    """Return the order of a list after moves.

    Parameters
    ----------
    places : sequence of int
        Number of places by which each entry moves up; negative: down.
    protected : sequence of bool
        Whether each entry must not move down.

    Returns
    -------
    list of int
        Old indices of the entries in their new order.

    Examples
    --------
    >>> from odl.alerts.ranking import reorder
    >>> reorder([0, 0, 2, 0], [False] * 4), reorder([0, 0, 2, 0], [True, False, False, False])
    ([2, 0, 1, 3], [0, 2, 1, 3])
    """
    moves = [max(move, 0) if safe else move for move, safe in zip(places, protected, strict=True)]
    waiting = deque(
        sorted(range(len(moves)), key=lambda index: (index - moves[index], -moves[index]))
    )
    order: list[int] = []
    placed: set[int] = set()
    for index in range(len(moves)):
        while waiting[0] in placed:
            waiting.popleft()
        entry = index if protected[index] and index not in placed else waiting[0]
        placed.add(entry)
        order.append(entry)
    return order
