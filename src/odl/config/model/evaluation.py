"""Settings of baselines, evaluation, regret and emerging topics."""

from dataclasses import dataclass
from typing import ClassVar

from odl.config.setting import NAME_ITEMS, POSITIVE_SHARE, SIZE_ITEMS, Section, setting


@dataclass(frozen=True)
class Baselines(Section):
    """Scores of methods without a dictionary, for comparison."""

    place: ClassVar[str] = "baselines"

    enabled: bool = setting(
        True,
        "whether to compute the scores of the baselines: nearest neighbours, unknown words, and "
        "document length",
    )
    window: int | None = setting(
        None,
        "number of earlier batches that the baselines search for nearest neighbours. 0: all "
        "batches, so the cost of a batch grows with the stream. `null`: all earlier documents if "
        "there are at most 50,000, otherwise the last 10,000",
        values="timesteps, `null`",
        minimum=0,
    )


@dataclass(frozen=True)
class Evaluation(Section):
    """Evaluation of scores by topics."""

    place: ClassVar[str] = "evaluate"

    min_novel: int = setting(
        10,
        "minimum number of novel documents for a timestep to enter the average AUC, if "
        "`timesteps` is empty",
        values="documents",
        minimum=1,
    )
    min_known: int = setting(
        10,
        "minimum number of known documents for a timestep to enter the average AUC, if "
        "`timesteps` is empty",
        values="documents",
        minimum=1,
    )
    topics: str = setting(
        "all",
        "`all`: a document is novel if none of its topics was seen before. `dominant`: it is "
        "novel if its first topic was not seen before",
        enum=["all", "dominant"],
    )
    bootstrap: int = setting(
        1000,
        "number of bootstrap resamples for the 95 % confidence intervals; 0: no intervals",
        "resamples",
        minimum=0,
    )
    seed: int = setting(0, "seed of the bootstrap", "an integer from 0", minimum=0)


@dataclass(frozen=True)
class EvaluatedStream(Evaluation):
    """Evaluation of the scores of one stream."""

    timesteps: list[int] = setting([], items={"type": "integer", "minimum": 1})


@dataclass(frozen=True)
class BestFixed(Section):
    """Search for the best fixed dictionary in hindsight."""

    place: ClassVar[str] = "regret"

    timesteps: int = setting(
        0,
        "number of horizons T for which the best dictionary is fitted. They are evenly spaced "
        "in √T up to the last timestep. 0: all timesteps",
        "horizons",
        minimum=0,
    )
    tolerance: float = setting(
        0.0001,
        "tolerance of the fit of a best fixed dictionary: it stops if the relative gap between "
        "the upper and the lower bound on its loss is at most this value",
        exclusiveMinimum=0,
    )
    iterations: int = setting(
        2000,
        "maximum number of iterations of the fit of a best fixed dictionary. The regret table "
        "contains the lower and the upper bound on the loss",
        "iterations",
        minimum=1,
    )


@dataclass(frozen=True)
class Regret(BestFixed):
    """Regret of the runs of a study."""

    enabled: bool = setting(
        False,
        "whether to measure the regret of `regret.runs`; it is written to a table for each run "
        "and to `tables/regret.tsv`",
    )
    runs: list[str] = setting(
        [],
        "runs whose regret is measured. Their algorithm must be `dual_averaging`, "
        "`projected_gradient` or `online_admm`",
        values="names among `runs`",
        **NAME_ITEMS,
    )
    sizes: list[int] = setting(
        [],
        "numbers of atoms for which the regret of `regret.runs` is measured; empty: all",
        "atoms",
        **SIZE_ITEMS,
    )


@dataclass(frozen=True)
class SmallDictionary(Section):
    """Search for emerging topics.

    Examples
    --------
    >>> from odl.config.sections import SmallDictionary
    >>> SmallDictionary(share=0.2).min_support
    3
    """

    place: ClassVar[str] = "emerging"

    share: float = setting(
        0.1,
        "share of a timestep's documents, the most novel ones, that are clustered",
        **POSITIVE_SHARE,
    )
    atoms: int = setting(
        10,
        "maximum number of clusters, and of atoms in the dictionary of emerging topics",
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
        "number of terms of a document, those with the largest weights, that form an initial atom "
        "of the dictionary of emerging topics; 0: all terms of the document",
        "terms",
        minimum=0,
    )
    rounds: int = setting(
        10,
        "maximum number of rounds of the search for emerging topics; a round computes the codes, "
        "then the dictionary",
        "rounds",
        minimum=1,
    )
    min_support: int = setting(
        3, "minimum number of documents in a cluster", "documents", minimum=1
    )
    terms: int = setting(8, "maximum number of words shown for a cluster", "words", minimum=1)


@dataclass(frozen=True)
class Emerging(SmallDictionary):
    """Emerging topics of the runs of a study."""

    enabled: bool = setting(True, "whether to search for emerging topics")
    runs: list[str] = setting(
        [],
        "runs whose most novel documents are clustered; empty: all runs",
        values="names among `runs`",
        items={"type": "string"},
    )
    sizes: list[int] = setting(
        [],
        "numbers of atoms with which `emerging.runs` are searched for emerging topics; empty: the "
        "largest number of each run",
        "atoms",
        **SIZE_ITEMS,
    )
