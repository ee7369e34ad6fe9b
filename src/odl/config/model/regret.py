"""Settings of the regret: the search for the best fixed dictionary, and the runs to compare."""

from dataclasses import dataclass
from typing import ClassVar

from odl.config.setting import NAME_ITEMS, SIZE_ITEMS, Section, setting


@dataclass(frozen=True)
class BestFixed(Section):
    """The search for the best fixed dictionary in hindsight."""

    place: ClassVar[str] = "regret"

    timesteps: int = setting(
        0,
        "number of horizons T for which the best dictionary is fitted, spaced evenly in √T up to "
        "the last timestep; 0: every T",
        "numbers",
        minimum=0,
    )
    tolerance: float = setting(
        0.0001,
        "relative gap between the two bounds on its loss at which a fit stops",
        exclusiveMinimum=0,
    )
    iterations: int = setting(
        2000,
        "maximum number of iterations of a fit; the table has both bounds",
        "iterations",
        minimum=1,
    )


@dataclass(frozen=True)
class Regret(BestFixed):
    """The regret of a study's runs."""

    enabled: bool = setting(
        False, "whether to measure the regret: a table for each run, and `tables/regret.tsv`"
    )
    runs: list[str] = setting(
        [],
        "runs of `dual_averaging`, `projected_gradient` or `online_admm` to measure",
        values="names among `runs`",
        **NAME_ITEMS,
    )
    sizes: list[int] = setting([], "sizes of these runs; empty: all", "atoms", **SIZE_ITEMS)
