"""Order of headlines that learns from verdicts: ridge regression, whose prediction moves a headline by some places.

With the traits x_i of n judged headlines and their verdicts y_i (yes 1, known 0, no -1; the mean
over users),

    min_b  sum_i (y_i - c - <x_i, b>)^2 + PENALTY |b|^2,    c = sum_i y_i / (n + PRIOR),

has the prediction <x - m, b> = sum_i a_i <x - m, x_i> relative to the mean m of the x_i, with
a = (K + PENALTY I)^-1 (y - c) and K_ij = <x_i, x_j>. So each verdict has a part in it, a_i <x, x_i>.
A headline moves by MAX_UP * GAIN times the prediction, rounded, at most MAX_UP places up and
MAX_DOWN down. Protected headlines (`is_protected`) come no later in
a list than without verdicts. Words, the source, the gate and numbers are traits, the source only if
`sources_agree`.
"""

import math
import re
from bisect import bisect_left
from collections import Counter, deque
from itertools import accumulate
from typing import NamedTuple

import numpy as np

MAX_UP, MAX_DOWN = 50, 5  # places by which verdicts move a headline at most
GAIN = 2.0  # prediction 1 / GAIN moves a headline by MAX_UP places
PENALTY = 0.3
PRIOR = 3.0  # verdicts of value 0 that are added to the mean
GATE_WEIGHT, NUMBER_WEIGHT = 0.1, 0.1  # next to 1 for the words and for the source
EXAMPLES_READ = 3  # stored documents of a headline whose words are traits
TITLE_WORD = re.compile(r"\w{3,}")
MIN_P, P_SCALE = 1e-9, 3.0  # -log10 p counts up to that of MIN_P, and is divided by P_SCALE
PROTECTED_P = 1e-6
NO_SOURCE = "\0"  # source of all headlines if it does not matter; no file has this name
MAX_NAMED = 3  # verdicts that are named for a moved headline


class Traits(NamedTuple):
    """What the model knows of a headline.

    Attributes
    ----------
    words : frozenset of str
        Its words, and words of titles and reasons of its central documents.
    source : str
        File of most of its stored documents.
    gate : str
    numbers : tuple of float
        -log10 of its p, and log10 of its number of documents, scaled.
    """

    words: frozenset
    source: str
    gate: str
    numbers: tuple


class Move(NamedTuple):
    """A move of a headline.

    Attributes
    ----------
    places : int
        Places up in a list; negative: down.
    parts : tuple of (int, float)
        Numbers of the judged headlines that cause most of it, and their parts of the prediction, the
        largest first.
    """

    places: int
    parts: tuple


def traits_of(headline, documents_of):
    """Return the traits of a headline (`Traits`) from stored documents of its period, by row."""
    examples = [documents_of[row] for row in headline.examples if row in documents_of]
    words = {word.casefold() for word in headline.words}
    for document in examples[:EXAMPLES_READ]:
        words |= {reason.word for reason in document.reasons}
        words |= {*TITLE_WORD.findall(document.title.casefold())}
    sources = Counter(document.source for document in examples)
    source = max(sorted(sources), key=sources.__getitem__, default="")
    rarity = -math.log10(max(headline.p, MIN_P)) / P_SCALE
    return Traits(
        frozenset(words), source, headline.gate, (rarity, math.log10(max(headline.size, 1)))
    )


def is_protected(headline):
    """Return whether no verdict lets a headline come later: p < 1e-6, certain, or it grows."""
    return headline.p < PROTECTED_P or headline.gate == "certain" or headline.state == "growing"


class RidgeOrder:
    """Model of the verdicts on headlines.

    Parameters
    ----------
    traits : sequence of Traits
        Of the judged headlines.
    values : sequence of float
        Their verdicts, from -1 (no) to 1 (yes).
    """

    def __init__(self, traits, values):
        self.vocabulary = frozenset().union(*(one.words for one in traits))
        self.traits = [self._with_known_words(one) for one in traits]
        y = np.array(values, dtype=float)
        if not sources_agree([one.source for one in traits], y):
            self.traits = [one._replace(source=NO_SOURCE) for one in self.traits]
        y -= y.sum() / (len(y) + PRIOR)
        K = np.array([self._products(one) for one in self.traits])
        self.means = K.mean(axis=0)
        self.coefficients = np.linalg.solve(K + PENALTY * np.eye(len(y)), y)

    def move(self, traits):
        """Return the `Move` of a headline with some traits, None if it does not move."""
        products = self._products(self._with_known_words(traits))
        prediction = float(self.coefficients @ (products - self.means))
        places = round(max(-MAX_DOWN, min(MAX_UP, MAX_UP * GAIN * prediction)))
        if not places:
            return None
        # verdicts on headlines like it; if these do not explain the move, those on others
        for parts in (self.coefficients * products, self.coefficients * (products - self.means)):
            if named := _largest(parts.tolist(), prediction):
                break
        return Move(places, tuple(named))

    def _with_known_words(self, traits):
        return traits._replace(words=traits.words & self.vocabulary)

    def _products(self, traits):
        """Return <x, x_i> with each judged headline i; the words of a headline have the norm 1."""
        return np.array([_product(traits, other) for other in self.traits])


def _largest(parts, prediction):
    """Return (number, part) of the largest parts with the sign of a prediction that make up half of it."""
    helping = [(at, part) for at, part in enumerate(parts) if part * prediction > 1e-9]
    helping.sort(key=lambda pair: -abs(round(pair[1], 9)))
    totals = [*accumulate(abs(part) for _, part in helping)]
    n_needed = bisect_left(totals, abs(prediction) / 2) + 1
    return helping[: min(n_needed, MAX_NAMED)]


def sources_agree(sources, values):
    """Return whether verdicts on headlines of one source agree more than chance explains.

    With the deviations d_i of the verdicts from their mean, the sum of d_i d_j over the pairs of one
    source has to exceed its standard deviation under independence.

    Examples
    --------
    >>> from odl.alerts.ranking import sources_agree
    >>> sources_agree(["a", "a", "b", "b"], [1, 1, -1, -1]), sources_agree(["a", "a", "b", "b"], [1, -1, 1, -1])
    (True, False)
    """
    deviations = np.asarray(values, dtype=float) - np.mean(values)
    same = np.equal.outer(np.array(sources), np.array(sources)) & ~np.eye(len(sources), dtype=bool)
    products = np.outer(deviations, deviations)[same].sum()
    return bool(products > math.sqrt(2 * same.sum()) * np.mean(deviations**2))


def _product(one, other):
    shared, sizes = len(one.words & other.words), len(one.words) * len(other.words)
    return (
        shared / math.sqrt(sizes or 1)
        + (one.source == other.source != NO_SOURCE)
        + GATE_WEIGHT**2 * (one.gate == other.gate)
        + NUMBER_WEIGHT**2 * sum(a * b for a, b in zip(one.numbers, other.numbers, strict=True))
    )


def reorder(places, protected):
    """Return the order of a list after moves.

    Parameters
    ----------
    places : sequence of int
        Places by which each entry moves up; negative: down.
    protected : sequence of bool
        Entries that come no later than before.

    Returns
    -------
    list of int
        Old places of the entries in their new order.

    Examples
    --------
    >>> from odl.alerts.ranking import reorder
    >>> reorder([0, 0, 2, 0], [False] * 4), reorder([0, 0, 2, 0], [True, False, False, False])
    ([2, 0, 1, 3], [0, 2, 1, 3])
    """
    moves = [max(move, 0) if safe else move for move, safe in zip(places, protected, strict=True)]
    waiting = deque(sorted(range(len(moves)), key=lambda at: (at - moves[at], -moves[at])))
    order: list[int] = []
    placed: set[int] = set()
    for at in range(len(moves)):
        while waiting[0] in placed:
            waiting.popleft()
        entry = at if protected[at] and at not in placed else waiting[0]
        placed.add(entry)
        order.append(entry)
    return order
