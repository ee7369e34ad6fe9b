"""Settings of alerts: the periods that have alerts, and the number of alerts."""

import math
from dataclasses import dataclass
from typing import ClassVar

from odl.config.setting import POSITIVE_SHARE, Section, setting
from odl.errors import ParameterError


@dataclass(frozen=True)
class Alerts(Section):
    """Settings that decide which periods have alerts, and how many.

    Examples
    --------
    >>> from odl.config.sections import Alerts
    >>> Alerts(budget=0.07).room(100)
    7
    """

    place: ClassVar[str] = "alerts"
    removed: ClassVar[dict[str, str]] = dict.fromkeys(
        ("pool", "same", "support", "reach", "silence", "growth", "past", "topics", "terms"),
        "events have replaced topics (docs/alerts.md)",
    )

    budget: float = setting(
        20,
        "maximum number of headlines in a period (with `gates: false`, of alerted documents). A "
        "value below 1 is a share of the period's documents, rounded up",
        values="an integer from 1, or a share",
        exclusiveMinimum=0,
    )
    level: float = setting(
        0.01,
        "significance level: largest p-value of a period with alerts, and of a headline. With "
        "0.01, about one ordinary period in 100 has alerts",
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
        "smallest -log10 of the tail probability at which a headline is always an alert, even in "
        "a stream whose periods often have alerts; 0: no headline is always an alert",
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
        "minimum number of earlier scores before a period can have alerts. A period with fewer "
        "earlier scores is shown as unproven",
        "documents",
        minimum=1,
    )
    gates: bool = setting(
        False,
        "`true`: a period has headlines only if its words, its number of documents or one "
        "document are unusual at `level`. `false`: the most novel documents of each period are "
        "alerts if their tail probability is at most `tail`",
        earlier=False,
    )
    rest: bool = setting(
        False,
        "whether to store, for each alerted document, the number of words that are not listed as "
        "reasons, and the sum of their effects on the score",
        earlier=False,
    )

    unseen: int = setting(
        0,
        "minimum number of items of a period in which a word occurs for the word to be listed as "
        "never seen before; 0: no list. `odl init` sets 3",
        "items",
        earlier=0,
        minimum=0,
    )
    unseen_sources: int = setting(
        1,
        "minimum number of files in which a word occurs for the word to be listed as never seen "
        "before; used if `unseen` is not 0",
        "files",
        earlier=1,
        minimum=1,
    )

    def check(self) -> None:
        """Raise ParameterError for an invalid budget, and for settings that exclude all alerts."""
        if self.budget > 1 and self.budget != int(self.budget):
            raise ParameterError(
                f"alerts.budget is {self.budget!r}",
                "an integer from 1, or a share below 1",
                "change budget",
            )
        if self.window < self.warm_up:
            raise ParameterError(
                f"alerts.window is {self.window} and alerts.warm_up is {self.warm_up}, "
                "so no period can have alerts",
                "a window of at least warm_up scores",
                "raise window or lower warm_up",
            )
        if self.tail < 1 / (1 + self.window):
            raise ParameterError(
                f"alerts.tail is {self.tail!r} with a window of {self.window}, "
                "so no document can be an alert",
                f"a tail of at least 1/{1 + self.window}",
                "raise tail or window",
            )

    def room(self, n_items: int) -> int:
        """Return the maximum number of alerts of a period with `n_items` items."""
        if self.budget >= 1:
            return int(self.budget)
        # Round first: 0.07 * 100 is 7.000000000000001 in floating point.
        return max(1, math.ceil(round(self.budget * n_items, 9)))


@dataclass(frozen=True)
class FollowedAlerts(Alerts):
    """Alerts of a study, computed from the scores of one run."""

    run: str | None = setting(
        None,
        "run whose scores determine the alerts; `null`: the study has no alerts",
        values="a name among `runs`, or `null`",
    )
    atoms: int | None = setting(
        None,
        "number of atoms of the run in `alerts.run`; `null`: the largest number of atoms of that "
        "run",
        values="atoms, or `null`",
        minimum=1,
    )
