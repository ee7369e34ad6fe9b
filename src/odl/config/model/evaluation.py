"""Settings of the evaluation: baselines, and how scores are evaluated by topics."""

from dataclasses import dataclass
from typing import ClassVar

from odl.config.setting import Section, setting


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
