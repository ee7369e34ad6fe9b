"""Settings of what is computed from scores: baselines, evaluation, regret, emerging topics."""

from dataclasses import dataclass
from typing import ClassVar

from odl.config.setting import NAME_ITEMS, POSITIVE_SHARE, SIZE_ITEMS, Section, setting


@dataclass(frozen=True)
class Baselines(Section):
    """Scores without a dictionary, to compare with."""

    place: ClassVar[str] = "baselines"

    enabled: bool = setting(
        True, "whether to compute the baselines: nearest neighbours, unknown words, length"
    )
    window: int | None = setting(
        None,
        "number of earlier batches in which neighbours are searched; 0: all, so that the cost "
        "grows with the stream. `null`: all, but the last 10,000 documents after 50,000",
        values="timesteps, `null`",
        minimum=0,
    )


@dataclass(frozen=True)
class Evaluation(Section):
    """How scores are evaluated by topics."""

    place: ClassVar[str] = "evaluate"

    min_novel: int = setting(
        10,
        "minimum number of novel documents of a timestep in the average, if `timesteps` is empty",
        values="documents",
        minimum=1,
    )
    min_known: int = setting(
        10, "minimum number of known documents, likewise", values="documents", minimum=1
    )
    topics: str = setting(
        "all",
        "a document is novel if none of its topics was seen before (`all`), or if its first topic "
        "was not (`dominant`)",
        enum=["all", "dominant"],
    )
    bootstrap: int = setting(
        1000,
        "number of bootstrap resamples for the 95 % confidence intervals; 0: no intervals",
        "resamples",
        minimum=0,
    )
    seed: int = setting(0, "seed of the bootstrap", "a whole number from 0", minimum=0)


@dataclass(frozen=True)
class EvaluatedStream(Evaluation):
    """How the scores of one stream are evaluated."""

    timesteps: list[int] = setting([], items={"type": "integer", "minimum": 1})


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


@dataclass(frozen=True)
class SmallDictionary(Section):
    """The search for emerging topics.

    Examples
    --------
    >>> from odl.config.sections import SmallDictionary
    >>> SmallDictionary(share=0.2).min_support
    3
    """

    place: ClassVar[str] = "emerging"

    share: float = setting(
        0.1,
        "share of the documents of a timestep that are grouped, the most novel ones",
        **POSITIVE_SHARE,
    )
    atoms: int = setting(
        10,
        "maximum number of atoms of the dictionary of emerging topics, and of clusters",
        "atoms",
        minimum=1,
    )
    lam: float = setting(
        0.1,
        "sparsity penalty λ of the dictionary of emerging topics",
        values="at least 0",
        minimum=0,
    )
    start_terms: int = setting(
        5,
        "number of a document's heaviest terms with which an atom starts; 0: all",
        "terms",
        minimum=0,
    )
    rounds: int = setting(
        10, "maximum number of alternations of coding and fitting", "rounds", minimum=1
    )
    min_support: int = setting(
        3, "minimum number of documents of a cluster", "documents", minimum=1
    )
    terms: int = setting(8, "maximum number of words shown for a cluster", "words", minimum=1)


@dataclass(frozen=True)
class Emerging(SmallDictionary):
    """The emerging topics of a study's runs."""

    enabled: bool = setting(True, "whether to search for emerging topics")
    runs: list[str] = setting(
        [],
        "runs whose scores are used; empty: all",
        values="names among `runs`",
        items={"type": "string"},
    )
    sizes: list[int] = setting(
        [], "numbers of atoms of these runs; empty: the largest of each", "atoms", **SIZE_ITEMS
    )
