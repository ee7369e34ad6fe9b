"""Configuration of a study (`Study`). Larger sections are in `odl.config.model`."""

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
# Name of a study or corpus: lower-case ASCII letters, letters of other scripts, digits, hyphens.
NAME_PATTERN = r"[a-z0-9\u00aa-\u1fff\u2c00-\ufdff-]+"


@dataclass(frozen=True)
class Checkpoints(Section):
    """Retention of checkpoints."""

    place: ClassVar[str] = "checkpoints"

    keep: int = setting(
        0,
        "interval between the checkpoints that are retained; 0: all checkpoints are retained. "
        "The last two checkpoints of a chain are always retained. Must be 0 with "
        "`regret.enabled`, because all checkpoints are then read",
        "timesteps",
        minimum=0,
    )


@dataclass(frozen=True)
class Report(Section):
    """Content of the report of a study."""

    place: ClassVar[str] = "report"

    runs: list[str] = setting(
        [],
        "runs that the figures show as lines; empty: the runs with the most numbers of atoms, at "
        "most six",
        values="names among `runs`",
        **NAME_ITEMS,
    )
    run: str | None = setting(
        None,
        "run shown in detail, one of `report.runs`; `null`: the run with the best average AUC",
        values="a name or `null`",
    )
    atoms: int | None = setting(
        None,
        "number of atoms of the run shown in detail; `null`: the number with the best average AUC",
        values="atoms or `null`",
        minimum=1,
    )
    seed: int = setting(
        0, "seed of the run shown in detail and of the alerts, one of `seeds`", "a seed", minimum=0
    )


@dataclass(frozen=True, kw_only=True)
class Chain(Section):
    """Settings of a chain: one run on the batches of one seed."""

    corpus: str = setting()
    seed: int = setting()
    run: str = setting()
    atoms: int = setting()
    learner: dict = setting()
    features: Weighting


@dataclass(frozen=True, kw_only=True)
class Study(Section):
    """Complete configuration, except the settings of readers, learners and experiments."""

    study: str = setting(
        meaning="name of the study; its results are in the folder `{results}/{study}`",
        values="lower-case letters of any script, digits, `-`",
        pattern=NAME_PATTERN,
    )
    results: str = setting(
        "results",
        "folder of all results",
        values="a path without braces, control characters and `://`, which does not begin with "
        "a minus and has no spaces at its ends",
        minLength=1,
    )
    streams: list[str] = setting(
        meaning="corpora of the study. `[]`: the study consists of `experiments` and ignores "
        "`runs`, `atoms`, `baselines`, `regret`, `emerging`, `alerts` and `report`",
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
        meaning="seeds of the study. The seed determines the order of the stream, the batches at "
        "which topics enter, and the initial dictionary",
        values="integers from 0",
        items={"type": "integer", "minimum": 0},
        minItems=1,
    )
    features: Features
    atoms: list[int] = setting(
        meaning="numbers of atoms k of the dictionary; each is a separate chain. With "
        "`batches.by: documents`, k may not exceed `batches.initial`. `adaptive` adds atoms on "
        "demand, up to k. For `levels`, its memory determines k",
        values="atoms",
        minItems=1,
        **SIZE_ITEMS,
    )
    runs: list[str] = setting(
        meaning="learners to run on each stream",
        values="names under `learners`",
        minItems=1,
        **NAME_ITEMS,
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
        "mirror from which files are downloaded first; the environment variable `ODL_MIRROR` "
        "takes precedence",
        values="a folder or a base URL (http, https, file); empty: no mirror",
    )
    evaluate: Evaluation
    regret: Regret
    ranks: dict = setting({}, additionalProperties={"type": "integer", "minimum": 1})
    block: int = setting(
        10,
        "number of timesteps of a chain that are submitted to a cluster as one job "
        "([docs/clusters.md](../docs/clusters.md)). The value affects neither results nor local "
        "runs",
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


# Settings that determine the plan of a study (`odl.config.chains.plan`).
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
    """Set the missing settings of a configuration to their defaults, in place."""
    merge(config, Study.defaults())
    corpora = config.get("corpora")
    for entry in corpora.values() if isinstance(corpora, dict) else ():
        if isinstance(entry, dict):
            merge(entry, {"options": {}, **Stream.defaults()})
