"""Settings of alerts: when a period has alerts, and how many it shows."""

import math
from dataclasses import dataclass
from typing import ClassVar

from odl.config.setting import POSITIVE_SHARE, Section, setting
from odl.errors import ParameterError


@dataclass(frozen=True)
class Alerts(Section):
    """When a period has alerts, and how much of them is shown.

    Examples
    --------
    >>> from odl.config.sections import Alerts
    >>> Alerts(budget=0.07).room(100)
    7
    """

    place: ClassVar[str] = "alerts"
    removed: ClassVar[dict[str, str]] = dict.fromkeys(
        ("pool", "same", "support", "reach", "silence", "growth", "past", "topics", "terms"),
        "this key no longer exists: events replace topics (docs/alerts.md)",
    )

    budget: float = setting(
        20,
        "maximum number of headlines of a period (of documents with `gates: false`); below 1, "
        "this share of the period's documents, at least one",
        values="headlines from 1, or a share",
        exclusiveMinimum=0,
    )
    level: float = setting(
        0.01,
        "largest p of a period with alerts, and of a headline: about one ordinary period in 100 "
        "has alerts",
        **POSITIVE_SHARE,
    )
    tail: float = setting(
        0.1,
        "with `gates: false`: largest tail probability of an alert",
        values="from 1 / (1 + `window`), at most 1",
        **POSITIVE_SHARE,
    )
    certain: float = setting(
        10.0,
        "-log10 of the tail probability at which a headline is an alert by itself, however often "
        "the stream has something new; 0: never",
        values="at least 0",
        minimum=0,
    )
    window: int = setting(
        2000,
        "number of earlier scores with which the scores of a period are compared",
        values="documents, from `warm_up`",
        minimum=1,
    )
    warm_up: int = setting(
        50,
        "number of earlier scores that a period needs to have alerts; with fewer it is shown "
        "as unproven",
        "documents",
        minimum=1,
    )
    gates: bool = setting(
        False,
        "`true`: a period has headlines, and only if its words, its volume or a document are "
        "unusual at `level`. `false`: the most novel documents of each period are alerts, by "
        "`tail`",
        earlier=False,
    )
    rest: bool = setting(
        False,
        "whether to store the number and the sum of the further words that raise and lower the "
        "score of a document",
        earlier=False,
    )

    unseen: int = setting(
        0,
        "number of a period's items that must have a word never seen before for it to be listed; "
        "0: no list. "
        "`odl init` sets 3",
        "items",
        earlier=0,
        minimum=0,
    )
    unseen_sources: int = setting(
        1, "minimum number of files of these items", "files", earlier=1, minimum=1
    )

    def check(self) -> None:
        """Refuse a budget that is neither a number nor a share, and settings without any alert."""
        if self.budget > 1 and self.budget != int(self.budget):
            raise ParameterError(
                f"alerts.budget is {self.budget!r}",
                "items a period (1, 2, ...) or a share below 1",
                "set budget to an integer or to a share below 1",
            )
        if self.window < self.warm_up:
            raise ParameterError(
                f"alerts.window is {self.window} and warm_up {self.warm_up}, "
                "so that no period has alerts",
                "a window of at least warm_up scores",
                "raise window or lower warm_up",
            )
        if self.tail < 1 / (1 + self.window):
            raise ParameterError(
                f"alerts.tail is {self.tail!r} with a window of {self.window}: "
                "nothing can be an alert",
                f"a tail of at least 1/{1 + self.window}",
                "raise tail or window",
            )

    def room(self, n_items: int) -> int:
        """Return the budget of a period as a number of items."""
        if self.budget >= 1:
            return int(self.budget)
        # The product is rounded: 0.07 of 100 is 7.000000000000001 in binary.
        return max(1, math.ceil(round(self.budget * n_items, 9)))


@dataclass(frozen=True)
class FollowedAlerts(Alerts):
    """The alerts of a study, with the run whose scores they use."""

    run: str | None = setting(
        None, "run whose scores are used; null: no alerts", values="a name among `runs`, or null"
    )
    atoms: int | None = setting(
        None, "number of atoms of this run; null: the largest", values="atoms, or null", minimum=1
    )
