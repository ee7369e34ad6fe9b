"""The sections of a configuration. Each field has the type, default, limits and description of a setting."""

import math
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from odl.config.schema import closed
from odl.config.setting import Section, is_section, merge, setting
from odl.errors import ParameterError

SHARE: dict[str, Any] = {"exclusiveMinimum": 0, "maximum": 1}
NAMED = r"[a-z0-9\u00aa-\u1fff\u2c00-\ufdff-]+"  # name of a study or a corpus: lower-case ASCII, letters of any script
NAMES: dict[str, Any] = {"items": {"type": "string", "minLength": 1}}
SIZES: dict[str, Any] = {"items": {"type": "integer", "minimum": 1}}


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
        "maximum number of headlines of a period (of documents with `gates: false`); below 1, this share of the "
        "period's documents, at least one",
        values="headlines from 1, or a share",
        exclusiveMinimum=0,
    )
    level: float = setting(
        0.01,
        "largest p of a period with alerts, and of a headline: about one ordinary period in 100 has alerts",
        **SHARE,
    )
    tail: float = setting(
        0.1,
        "with `gates: false`: largest tail probability of an alert",
        values="from 1 / (1 + `window`), at most 1",
        **SHARE,
    )
    certain: float = setting(
        10.0,
        "-log10 of the tail probability at which a headline is an alert by itself, however often the stream has "
        "something new; 0: never",
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
        "number of earlier scores that a period needs to have alerts; with fewer it is shown as unproven",
        "documents",
        minimum=1,
    )
    gates: bool = setting(
        False,
        "`true`: a period has headlines, and only if its words, its volume or a document are unusual at `level`. "
        "`false`: the most novel documents of each period are alerts, by `tail`",
        earlier=False,
    )
    rest: bool = setting(
        False,
        "whether to store the number and the sum of the further words that raise and lower the score of a document",
        earlier=False,
    )

    unseen: int = setting(
        0,
        "number of a period's items that must have a word never seen before for it to be listed; 0: no list. "
        "`odl init` sets 3",
        "items",
        earlier=0,
        minimum=0,
    )
    unseen_sources: int = setting(1, "minimum number of files of these items", "files", earlier=1, minimum=1)

    def check(self) -> None:
        """Refuse a budget that is neither a number nor a share, and settings with which there are never alerts."""
        if self.budget > 1 and self.budget != int(self.budget):
            expected = "items a period (1, 2, ...) or a share below 1"
            raise ParameterError(f"alerts.budget is {self.budget!r}", expected, "correct budget")
        if self.window < self.warm_up:
            fault = f"alerts.window is {self.window} and warm_up {self.warm_up}, so that no period has alerts"
            raise ParameterError(fault, "a window of at least warm_up scores", "raise window or lower warm_up")
        if self.tail < 1 / (1 + self.window):
            fault = f"alerts.tail is {self.tail!r} with a window of {self.window}: nothing can be an alert"
            raise ParameterError(fault, f"a tail of at least 1/{1 + self.window}", "raise tail or window")

    def room(self, n_items: int) -> int:
        """Return the budget of a period as a number of items."""
        if self.budget >= 1:
            return int(self.budget)
        return max(1, math.ceil(round(self.budget * n_items, 9)))  # 0.07 of 100 is 7.000000000000001 in binary


@dataclass(frozen=True)
class FollowedAlerts(Alerts):
    """The alerts of a study, with the run whose scores they use."""

    run: str | None = setting(None, "run whose scores are used; null: no alerts", values="a name among `runs`, or null")
    atoms: int | None = setting(
        None, "number of atoms of this run; null: the largest", values="atoms, or null", minimum=1
    )


@dataclass(frozen=True)
class Weighting(Section):
    """How term counts become weights.

    Examples
    --------
    >>> from odl.config.sections import Weighting
    >>> Weighting(tf="log")  # doctest: +NORMALIZE_WHITESPACE
    Weighting(tf='log', idf='past', min_df=0, max_share=1.0, languages=False, pieces=0.0, meaning=0.0,
              meaning_bytes=320000, vocabulary='growing')
    """

    place: ClassVar[str] = "features"

    tf: str = setting("raw", "form of the term frequency: the count, or 1 + log(count)", enum=["raw", "log"])
    idf: str = setting(
        "past",
        "documents in which document frequencies are counted: earlier batches (for batch 0, itself), or the entire "
        "corpus; or no idf. `corpus` uses later documents, as the papers do; appended documents then change every step",
        enum=["past", "corpus", "none"],
    )
    min_df: int = setting(
        0,
        "number of earlier documents (with `idf: corpus`, of documents) that a term needs to be used; 0: also use "
        "terms never seen before",
        "documents",
        minimum=0,
    )
    max_share: float = setting(
        1.0,
        "largest share of the earlier documents with a term; a term in more of them, and in at least 30, is a stop "
        "word of the stream and has no weight. `odl init` sets .5",
        earlier=1.0,
        **SHARE,
    )
    languages: bool = setting(
        False,
        "whether to give no weight to stop words in the language of each document, which is detected "
        "(docs/method.md#words). `odl init` sets `true`",
        earlier=False,
    )
    pieces: float = setting(
        0.0,
        "weight of pieces of words relative to words, in runs of `levels` and `adaptive`. Pieces are runs of four "
        "characters, which inflected forms share (docs/method.md#pieces-of-words). `odl init` sets it if most new "
        "words are forms of known ones",
        values="from 0, below 1",
        earlier=0.0,
        minimum=0,
        exclusiveMaximum=1,
    )
    meaning: float | None = setting(
        0.0,
        "weight of vectors relative to words, in streams with vectors (docs/method.md#meaning-beside-words). `null`: "
        "16/(16 + n), at most 2/3, where n is the median number of distinct words of a document so far. 0: words only",
        values="0 to 1, or `null`",
        earlier=0.0,
        minimum=0,
        maximum=1,
    )
    meaning_bytes: int = setting(
        320_000,
        "memory for vectors of the last documents, with one bit for each number of a vector",
        "bytes",
        earlier=320_000,
        minimum=1,
    )
    vocabulary: str = setting("growing", "terms used: all so far, or those of batch 0", enum=["growing", "fixed"])


@dataclass(frozen=True)
class Features(Weighting):
    """The features of a stream: weights, and the bound on its vocabulary, which all runs share."""

    max_terms: int = setting(
        0,
        "maximum size of the vocabulary of a stream, for all runs. If it is exceeded after a batch, the terms not seen "
        "for the longest time are removed, rare ones first; a removed term that returns counts as new "
        "([scaling](../docs/scaling.md#a-bounded-vocabulary)). Not allowed with `idf: corpus` or with regret",
        values="terms, `0` keeps all",
        minimum=0,
    )


@dataclass(frozen=True)
class TopicEntry(Section):
    """Topics that enter the stream late, so that the novel documents are known."""

    place: ClassVar[str] = "topic_entry"

    held_back: float = setting(
        0.0,
        "probability that a topic is held back; for `protocol: topic-entry`, like the next two",
        values="0 to 1",
        minimum=0,
        maximum=1,
    )
    first: int = setting(1, "first batch in which a topic may enter", "timestep", minimum=1)
    last: int = setting(1, "last batch in which a topic may enter, not before `first`", "timestep", minimum=1)

    def check(self) -> None:
        """Refuse a range without a batch."""
        if self.first > self.last:
            fault = f"topic_entry is from {self.first} to {self.last}"
            raise ParameterError(fault, "first not after last", "correct it")


@dataclass(frozen=True)
class Batches(Section):
    """How a stream is cut into batches."""

    place: ClassVar[str] = "batches"

    by: str = setting(
        "documents",
        "a batch is a number of documents, a calendar period (UTC, weeks from Monday), or one source file",
        enum=["documents", "period", "file"],
    )
    documents: int = setting(500, "size of a batch after the first; for `by: documents`", "documents", minimum=1)
    period: str = setting(
        "month",
        "length of a period; for `by: period`. A period without documents is not a batch",
        enum=["day", "week", "month", "quarter", "year"],
    )
    initial: int = setting(
        500,
        "minimum size of the first batch, which starts the dictionary and is not evaluated; it consists of complete "
        "periods or files. For `by: documents` it is the exact size",
        "documents",
        minimum=1,
    )
    flush: bool = setting(
        True, "whether to process the last batch, which may still grow; it is processed again when it has grown"
    )


@dataclass(frozen=True)
class Order(Section):
    """The order of a stream's documents and its batches."""

    protocol: str = setting(
        "by-date",
        "`by-date`: all documents. `topic-entry`: each held-back topic enters at a random batch, and its earlier "
        "documents are dropped, so the novel documents are known",
        enum=["by-date", "topic-entry"],
    )
    topic_entry: TopicEntry = field(default_factory=TopicEntry)
    ties: str = setting(
        "seeded",
        "order of documents with equal time, or of all documents if they have no time: random by seed and document id, "
        "or as in the source",
        enum=["seeded", "source"],
    )
    batches: Batches = field(default_factory=Batches)


@dataclass(frozen=True)
class Stream(Order):
    """A stream of a corpus."""

    place: ClassVar[str] = "corpora.{corpus}"

    timesteps: list[int] = setting(
        [],
        "timesteps over which the AUC is averaged; empty: all with at least `evaluate.min_novel` novel and "
        "`evaluate.min_known` known documents",
        values="timesteps, from 1",
        items={"type": "integer", "minimum": 1},
    )


@dataclass(frozen=True)
class Baselines(Section):
    """Scores without a dictionary, to compare with."""

    place: ClassVar[str] = "baselines"

    enabled: bool = setting(True, "whether to compute the baselines: nearest neighbours, unknown words, length")
    window: int | None = setting(
        None,
        "number of earlier batches in which neighbours are searched; 0: all, so that the cost grows with the stream. "
        "`null`: all, but the last 10,000 documents after 50,000",
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
    min_known: int = setting(10, "minimum number of known documents, likewise", values="documents", minimum=1)
    topics: str = setting(
        "all",
        "a document is novel if none of its topics was seen before (`all`), or if its first topic was not (`dominant`)",
        enum=["all", "dominant"],
    )
    bootstrap: int = setting(1000, "resamples for the 95 % intervals; 0: no intervals", "resamples", minimum=0)
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
        "number of horizons T for which the best dictionary is fitted, spaced evenly in √T up to the last timestep; 0: "
        "every T",
        "numbers",
        minimum=0,
    )
    tolerance: float = setting(
        0.0001, "relative gap between the two bounds on its loss at which a fit stops", exclusiveMinimum=0
    )
    iterations: int = setting(
        2000, "maximum number of iterations of a fit; the table has both bounds", "iterations", minimum=1
    )


@dataclass(frozen=True)
class Regret(BestFixed):
    """The regret of a study's runs."""

    enabled: bool = setting(False, "whether to measure the regret: a table for each run, and `tables/regret.tsv`")
    runs: list[str] = setting(
        [],
        "runs of `dual_averaging`, `projected_gradient` or `online_admm` to measure",
        values="names among `runs`",
        **NAMES,
    )
    sizes: list[int] = setting([], "sizes of these runs; empty: all", "atoms", **SIZES)


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

    share: float = setting(0.1, "share of the documents of a timestep that are grouped, the most novel ones", **SHARE)
    atoms: int = setting(10, "maximum number of atoms of the small dictionary, and of clusters", "atoms", minimum=1)
    lam: float = setting(0.1, "λ of the small dictionary", values="at least 0", minimum=0)
    start_terms: int = setting(
        5, "number of a document's heaviest terms with which an atom starts; 0: all", "terms", minimum=0
    )
    rounds: int = setting(10, "maximum number of alternations of coding and fitting", "rounds", minimum=1)
    min_support: int = setting(3, "minimum number of documents of a cluster", "documents", minimum=1)
    terms: int = setting(8, "maximum number of words shown for a cluster", "words", minimum=1)


@dataclass(frozen=True)
class Emerging(SmallDictionary):
    """The emerging topics of a study's runs."""

    enabled: bool = setting(True, "whether to search for emerging topics")
    runs: list[str] = setting(
        [], "runs whose scores are used; empty: all", values="names among `runs`", items={"type": "string"}
    )
    sizes: list[int] = setting([], "numbers of atoms of these runs; empty: the largest of each", "atoms", **SIZES)


@dataclass(frozen=True)
class Checkpoints(Section):
    """Which checkpoints are retained."""

    place: ClassVar[str] = "checkpoints"

    keep: int = setting(
        0,
        "interval between retained checkpoints; the last two of a chain are always retained; 0: retain all. Not "
        "allowed with `regret.enabled`, which reads all of them",
        "timesteps",
        minimum=0,
    )


@dataclass(frozen=True)
class Report(Section):
    """What the report of a study shows."""

    place: ClassVar[str] = "report"

    runs: list[str] = setting(
        [], "runs drawn as lines; empty: those with the most sizes, at most six", values="names among `runs`", **NAMES
    )
    run: str | None = setting(
        None,
        "the run shown in detail, one of `report.runs`; `null`: the one with the best average AUC",
        values="a name or `null`",
    )
    atoms: int | None = setting(
        None, "number of atoms of the run shown in detail; `null`: the best", values="atoms or `null`", minimum=1
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
        pattern=NAMED,
    )
    results: str = setting(
        "results",
        "folder of all results",
        values="a path, without braces, control characters, `://`, and a minus or spaces at its ends",
        minLength=1,
    )
    streams: list[str] = setting(
        meaning="corpora to run; `[]` for a study of `experiments` only, which ignores `runs`, `atoms`, `baselines`, "
        "`regret`, `emerging`, `alerts` and `report`",
        values="names under `corpora`",
        **NAMES,
    )
    corpora: dict = setting(
        propertyNames={"type": "string", "pattern": NAMED},
        additionalProperties=closed(
            {"reader": {"type": "string"}, "sources": {"type": "array", **NAMES}, **Stream.schema()["properties"]}
        ),
    )
    seeds: list[int] = setting(
        meaning="seeds of the study; each gives another order of the stream, schedule of topics and start",
        values="whole numbers from 0",
        items={"type": "integer", "minimum": 0},
        minItems=1,
    )
    features: Features
    atoms: list[int] = setting(
        meaning="sizes k of the dictionary; each is a separate chain. With `batches.by: documents` a size may not "
        "exceed `batches.initial`. `adaptive` adds atoms on demand, up to k; the memory of `levels` sets its size",
        values="atoms",
        minItems=1,
        **SIZES,
    )
    runs: list[str] = setting(meaning="learners to run", values="names under `learners`", minItems=1, **NAMES)
    learners: dict = setting(
        propertyNames={"type": "string", "pattern": r"[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)*"},
        additionalProperties=closed(
            {
                "algorithm": {"type": "string"},
                "atoms": {"type": "array", "minItems": 1, **SIZES},
                "features": {**Weighting.schema(), "required": []},
            },
            "algorithm",
        ),
    )
    baselines: Baselines
    mirror: str = setting(
        "",
        "where downloads are searched first; the environment variable `ODL_MIRROR` takes precedence",
        values="a folder or a base address (http, https, file); empty: none",
    )
    evaluate: Evaluation
    regret: Regret
    ranks: dict = setting({}, additionalProperties={"type": "integer", "minimum": 1})
    block: int = setting(
        10,
        "timesteps of a chain submitted to a cluster as one job ([docs/clusters.md](../docs/clusters.md)); no effect "
        "on local runs and on results",
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
PLANNED = ("study", "results", "streams", "corpora", "seeds", "features", "atoms", "runs", "learners", "baselines")
SECTIONS = tuple(entry.type for entry in fields(Study) if is_section(entry.type))


def fill(config: dict) -> None:
    """Add default values to a configuration."""
    merge(config, Study.defaults())
    corpora = config.get("corpora")
    for entry in corpora.values() if isinstance(corpora, dict) else ():
        if isinstance(entry, dict):
            merge(entry, {"options": {}, **Stream.defaults()})
