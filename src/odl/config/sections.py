"""The sections of a configuration, each setting described where it is a field."""

import math
from dataclasses import dataclass
from typing import ClassVar

from odl.config.setting import Section, setting
from odl.errors import ParameterError

SHARE = {"exclusiveMinimum": 0, "maximum": 1}
NAMES = {"items": {"type": "string", "minLength": 1}}
SIZES = {"items": {"type": "integer", "minimum": 1}}


@dataclass(frozen=True)
class Alerts(Section):
    """How items become alerts, and alerts topics.

    Examples
    --------
    >>> from odl.config.sections import Alerts
    >>> Alerts(budget=0.07).room(100)
    7
    """

    place: ClassVar[str] = "alerts"

    budget: float = setting(
        20,
        "items that somebody will read in a period; below 1 a share of its items, at least one",
        values="items from 1, or a share",
        exclusiveMinimum=0,
    )
    level: float = setting(
        0.1, "largest tail probability of an alert", values="from 1 / (1 + `window`), at most 1", **SHARE
    )
    window: int = setting(
        2000,
        "scores before a period that its scores are compared with",
        values="documents, from `warm_up`",
        minimum=1,
    )
    warm_up: int = setting(300, "fewer scores than this before a period: no alerts", "documents", minimum=1)
    pool: int = setting(
        100, "most novel items that topics are made of; twice the budget if that is more", "items", minimum=1
    )
    same: float = setting(0.12, "mean cosine from which on two groups of items are one topic", **SHARE)
    support: int = setting(3, "fewest items of a new topic", "items", minimum=2)
    reach: float = setting(
        0.6, "share of its own items' likeness that an item of a topic needs; at least `same` in any case", **SHARE
    )
    silence: int = setting(4, "periods without an item after which a topic has ended", "periods", minimum=1)
    growth: float = setting(
        0.001, "probability of so many items at the past rate from which down a topic is growing", **SHARE
    )
    past: int = setting(8, "periods that this rate is taken from", "periods", minimum=1)
    topics: int = setting(
        1000, "most topics that are remembered; those that ended longest ago go first", "topics", minimum=1
    )
    terms: int = setting(5, "most words of a topic's name", "words", minimum=1)
    gates: bool = setting(
        False, "whether a period has alerts only where words, a new topic or a document pass a level for the period"
    )

    def check(self) -> None:
        """Refuse a budget that is no number of items and no share, and alerts that there never are."""
        if self.budget > 1 and self.budget != int(self.budget):
            expected = "items a period (1, 2, ...) or a share below 1"
            raise ParameterError(f"alerts.budget is {self.budget!r}", expected, "correct budget")
        if self.window < self.warm_up:
            given = f"alerts.window is {self.window} and warm_up {self.warm_up}, so that no period has alerts"
            raise ParameterError(given, "a window of at least warm_up scores", "raise window or lower warm_up")
        if self.level < 1 / (1 + self.window):
            given = f"alerts.level is {self.level!r} with a window of {self.window}: nothing can be an alert"
            raise ParameterError(given, f"a level of at least 1/{1 + self.window}", "raise level or window")

    def room(self, n_items: int) -> int:
        """Return how many items of a period the budget is."""
        if self.budget >= 1:
            return int(self.budget)
        return max(1, math.ceil(round(self.budget * n_items, 9)))  # 0.07 of 100 is 7.000000000000001 in binary


@dataclass(frozen=True)
class FollowedAlerts(Alerts):
    """The alerts of a study: of which run, and how."""

    run: str | None = setting(None, "whose scores are followed; null: none", values="a name among `runs`, or null")
    atoms: int | None = setting(
        None, "number of atoms of that run; null: the largest", values="atoms, or null", minimum=1
    )


def defaults() -> dict:
    """Return what a configuration has where it says nothing else."""
    return {section.place: section.defaults() for section in SECTIONS}


SECTIONS = (FollowedAlerts,)
