"""The configuration of a study (`Study`). Larger sections are in `odl.config.model`."""

from dataclasses import dataclass, fields
from typing import ClassVar

from odl.config.model.alerts import Alerts, FollowedAlerts
from odl.config.model.evaluation import (
    Baselines,
    BestFixed,
    Emerging,
    EvaluatedStream,
    Evaluation,
    Regret,
    SmallDictionary,
)
from odl.config.model.features import Features, Weighting
from odl.config.model.streams import Batches, Order, Stream, TopicEntry
from odl.config.schema import closed
from odl.config.setting import NAME_ITEMS, SIZE_ITEMS, Section, is_section, merge, setting

__all__ = [
    "Alerts", "Baselines", "Batches", "BestFixed", "Chain", "Checkpoints", "Emerging",
    "EvaluatedStream", "Evaluation", "Features", "FollowedAlerts", "Order", "Regret", "Report",
    "SmallDictionary", "Stream", "Study", "TopicEntry", "Weighting",
]  # fmt: skip
# Names of studies and corpora consist of lower-case ASCII letters, letters of other scripts, digits
# and hyphens.
NAME_PATTERN = r"[a-z0-9\u00aa-\u1fff\u2c00-\ufdff-]+"


@dataclass(frozen=True)
class Checkpoints(Section):
    """Which checkpoints are retained."""

    place: ClassVar[str] = "checkpoints"

    keep: int = setting(
        0,
        "interval between retained checkpoints; the last two of a chain are always retained; "
        "0: retain all. Not allowed with `regret.enabled`, which reads all of them",
        "timesteps",
        minimum=0,
    )


@dataclass(frozen=True)
class Report(Section):
    """What the report of a study shows."""

    place: ClassVar[str] = "report"

    runs: list[str] = setting(
        [],
        "runs drawn as lines; empty: those with the most sizes, at most six",
        values="names among `runs`",
        **NAME_ITEMS,
    )
    run: str | None = setting(
        None,
        "the run shown in detail, one of `report.runs`; `null`: the one with the best average AUC",
        values="a name or `null`",
    )
    atoms: int | None = setting(
        None,
        "number of atoms of the run shown in detail; `null`: the best",
        values="atoms or `null`",
        minimum=1,
    )
    seed: int = setting(0, "seed of the run shown in detail, one of `seeds`", "a seed", minimum=0)


@dataclass(frozen=True, kw_only=True)
class Chain(Section):
    """A run on the batches of one seed."""

    corpus: str = setting()
    seed: int = setting()
    run: str = setting()
    atoms: int = setting()
    learner: dict = setting()
    features: Weighting


@dataclass(frozen=True, kw_only=True)
class Study(Section):
    """A complete configuration, except the settings of readers, learners and experiments."""

    study: str = setting(
        meaning="name of the study; its results are in `{results}/{study}`",
        values="lower-case letters of any script, digits, `-`",
        pattern=NAME_PATTERN,
    )
    results: str = setting(
        "results",
        "folder of all results",
        values="a path, without braces, control characters, `://`, and a minus or spaces "
        "at its ends",
        minLength=1,
    )
    streams: list[str] = setting(
        meaning="corpora to run; `[]` for a study of `experiments` only, which ignores `runs`, "
        "`atoms`, `baselines`, `regret`, `emerging`, `alerts` and `report`",
        values="names under `corpora`",
        **NAME_ITEMS,
    )
    corpora: dict = setting(
        propertyNames={"type": "string", "pattern": NAME_PATTERN},
        additionalProperties=closed(
            {
                "reader": {"type": "string"},
                "sources": {"type": "array", **NAME_ITEMS},
                **Stream.schema()["properties"],
            }
        ),
    )
    seeds: list[int] = setting(
        meaning="seeds of the study; each gives another order of the stream, schedule of topics "
        "and start",
        values="whole numbers from 0",
        items={"type": "integer", "minimum": 0},
        minItems=1,
    )
    features: Features
    atoms: list[int] = setting(
        meaning="sizes k of the dictionary; each is a separate chain. With `batches.by: "
        "documents` a size may not exceed `batches.initial`. `adaptive` adds atoms on demand, "
        "up to k; the memory of `levels` sets its size",
        values="atoms",
        minItems=1,
        **SIZE_ITEMS,
    )
    runs: list[str] = setting(
        meaning="learners to run", values="names under `learners`", minItems=1, **NAME_ITEMS
    )
    learners: dict = setting(
        propertyNames={"type": "string", "pattern": r"[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)*"},
        additionalProperties=closed(
            {
                "algorithm": {"type": "string"},
                "atoms": {"type": "array", "minItems": 1, **SIZE_ITEMS},
                "features": {**Weighting.schema(), "required": []},
            },
            "algorithm",
        ),
    )
    baselines: Baselines
    mirror: str = setting(
        "",
        "where downloads are searched first; the environment variable `ODL_MIRROR` takes "
        "precedence",
        values="a folder or a base address (http, https, file); empty: none",
    )
    evaluate: Evaluation
    regret: Regret
    ranks: dict = setting({}, additionalProperties={"type": "integer", "minimum": 1})
    block: int = setting(
        10,
        "timesteps of a chain submitted to a cluster as one job "
        "([docs/clusters.md](../docs/clusters.md)); no effect on local runs and on results",
        values="timesteps; 0: one job per timestep",
        minimum=0,
    )
    checkpoints: Checkpoints
    emerging: Emerging
    alerts: FollowedAlerts
    experiments: dict = setting(
        {},
        propertyNames={"type": "string", "pattern": "[a-z0-9][a-z0-9-]*"},
        additionalProperties=closed({"experiment": {"type": "string"}}, "experiment"),
    )
    report: Report


# Settings that determine the list of a study's runs.
PLANNED = (
    "study",
    "results",
    "streams",
    "corpora",
    "seeds",
    "features",
    "atoms",
    "runs",
    "learners",
    "baselines",
)
SECTIONS = tuple(entry.type for entry in fields(Study) if is_section(entry.type))


def fill(config: dict) -> None:
    """Add default values to a configuration."""
    merge(config, Study.defaults())
    corpora = config.get("corpora")
    for entry in corpora.values() if isinstance(corpora, dict) else ():
        if isinstance(entry, dict):
            merge(entry, {"options": {}, **Stream.defaults()})
