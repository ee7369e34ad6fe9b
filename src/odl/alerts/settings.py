"""What the alerts of a stream are given, checked."""

from dataclasses import dataclass, fields
from numbers import Real

import numpy as np

from odl.errors import ParameterError

LEAST = {"window": 1, "warm_up": 1, "pool": 1, "support": 2, "silence": 1, "past": 1, "topics": 1, "terms": 1}
SHARES = ("same", "reach", "growth")


@dataclass(frozen=True)
class Settings:
    """How items become alerts, and alerts topics.

    Parameters
    ----------
    budget : int or float
        Items that somebody will read in a period; below 1 a share of its items (at least one).
    level : float
        Largest tail probability of an alert: a period with less that is new has fewer alerts than the budget. At least
        1 / (1 + `window`), the least that a document can have.
    window : int
        Scores before the period that its scores are compared with, at least `warm_up`: no more are kept.
    warm_up : int
        Fewer scores than this before a period: it has no alerts.
    pool : int
        Most novel items of a period that topics are made of, at least twice the budget.
    same : float
        Mean cosine of two groups of items from which on they are one topic.
    support : int
        Fewest items of a topic.
    reach : float
        A document belongs to a topic if its cosine with it is at least this share of what the topic's own
        items have, and at least `same`.
    silence : int
        Periods without a document after which a topic has ended.
    growth : float
        Probability of so many documents under the topic's past rate, from which down it is growing.
    past : int
        Periods of that past.
    topics : int
        Most topics that are remembered; those that ended longest ago are forgotten first.
    terms : int
        Most words of a name.

    Raises
    ------
    ParameterError
        If one is outside its domain, the window ends before the warm-up does, or no document can have the level.
    """

    budget: float = 20
    level: float = 0.1
    window: int = 2000
    warm_up: int = 300
    pool: int = 100
    same: float = 0.12
    support: int = 3
    reach: float = 0.6
    silence: int = 4
    growth: float = 0.001
    past: int = 8
    topics: int = 1000
    terms: int = 5

    def __post_init__(self):
        for name in (entry.name for entry in fields(self)):
            value, whole = getattr(self, name), name in LEAST
            if isinstance(value, bool) or not isinstance(value, int | np.integer if whole else int | float):
                raise _domain(name, value, "a whole number" if whole else "a number")
            if whole and value < LEAST[name]:
                raise _domain(name, value, f"a whole number of at least {LEAST[name]}")
        for name in SHARES:
            if not 0 < getattr(self, name) <= 1:
                raise _domain(name, getattr(self, name), "a number above 0 and at most 1")
        check_budget(self.budget)
        if self.window < self.warm_up:
            given = f"alerts: window is {self.window} and warm_up {self.warm_up}, so that no period has alerts"
            raise ParameterError(given, "a window of at least warm_up scores", "raise window or lower warm_up")
        check_level(self.level, self.window)


def check_budget(budget):
    """Refuse a budget that is neither a whole number of items nor a share.

    Raises
    ------
    ParameterError
    """
    number = isinstance(budget, int | float) and not isinstance(budget, bool)
    if not number or not (0 < budget < 1 or (budget >= 1 and budget == int(budget))):
        raise _domain("budget", budget, "items a period (1, 2, ...) or a share below 1")


def check_level(level, window):
    """Refuse a level that is no share, or that no document can have: tail probabilities are at least 1 / (1 + window).

    Raises
    ------
    ParameterError
    """
    if not isinstance(level, Real) or isinstance(level, bool) or not 0 < level <= 1:
        raise _domain("level", level, "a number above 0 and at most 1")
    if level < 1 / (1 + window):
        given = f"alerts: level is {level!r} with a window of {window} scores, so that nothing can be an alert"
        raise ParameterError(given, f"a level of at least 1/{1 + window}", "raise level or window")


def room(budget, n_items):
    """Return how many items of a period the budget is."""
    # A share such as 0.07 of 100 is 7.000000000000001 in binary.
    return int(budget) if budget >= 1 else max(1, int(np.ceil(round(budget * n_items, 9))))


def _domain(name, value, expected):
    return ParameterError(f"alerts: {name} is {value!r}", expected, f"correct {name}")
