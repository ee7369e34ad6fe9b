"""The sections of a configuration, each setting described where it is a field."""

import math
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from odl.config.schema import closed
from odl.config.setting import Section, is_section, merge, setting
from odl.errors import ParameterError

SHARE: dict[str, Any] = {"exclusiveMinimum": 0, "maximum": 1}
NAMED = r"[a-z0-9\u00aa-\u1fff\u2c00-\ufdff-]+"  # of a study or a corpus: ASCII in lower case, letters of any script
NAMES: dict[str, Any] = {"items": {"type": "string", "minLength": 1}}
SIZES: dict[str, Any] = {"items": {"type": "integer", "minimum": 1}}


@dataclass(frozen=True)
class Alerts(Section):
    """How periods come to speak, and what is shown of them.

    Examples
    --------
    >>> from odl.config.sections import Alerts
    >>> Alerts(budget=0.07).room(100)
    7
    """

    place: ClassVar[str] = "alerts"
    removed: ClassVar[dict[str, str]] = dict.fromkeys(
        ("pool", "same", "support", "reach", "silence", "growth", "past", "topics", "terms"),
        "no such key: events have taken the place of topics (docs/alerts.md)",
    )

    budget: float = setting(
        20,
        "headlines of a period at most; with `gates: false` documents; below 1 a share of its documents, at least one",
        values="headlines from 1, or a share",
        exclusiveMinimum=0,
    )
    level: float = setting(0.01, "largest p of a period that speaks, and of a headline", **SHARE)
    tail: float = setting(
        0.1,
        "with `gates: false`: largest tail probability of an alert",
        values="from 1 / (1 + `window`), at most 1",
        **SHARE,
    )
    certain: float = setting(
        10.0,
        "a headline speaks by itself if its words are so unusual against all documents before and against recent "
        "ones: -log10 of the probability; 0: none does",
        values="at least 0",
        minimum=0,
    )
    window: int = setting(
        2000, "scores before a period that its scores are compared with", values="documents, from `warm_up`", minimum=1
    )
    warm_up: int = setting(
        50,
        "fewer scores than this before a period: it is unproven, and has no alerts",
        "documents",
        minimum=1,
    )
    gates: bool = setting(
        False,
        "whether a period has headlines, and only if its words, its volume or a document are unusual at `level`; else "
        "the most novel documents of each period are alerts, by `tail`",
        earlier=False,
    )
    rest: bool = setting(
        False,
        "whether files store how many further words raise and lower the score of a document, and by how much",
        earlier=False,
    )

    unseen: int = setting(
        0,
        "a word that no document before a period has is told where so many of its items have it; 0: none is. "
        "`odl init` sets 3",
        "items",
        earlier=0,
        minimum=0,
    )
    unseen_sources: int = setting(1, "fewest files that these items come from", "files", earlier=1, minimum=1)

    def check(self) -> None:
        """Refuse a budget that is no number of items and no share, and alerts that there never are."""
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


@dataclass(frozen=True)
class Weighting(Section):
    """How the counts of a run's documents become weights.

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
        "documents that frequencies are counted in: those of earlier batches (batch 0: its own), the whole corpus, or "
        "no idf. `corpus` looks ahead, as the papers do; appending then runs everything again",
        enum=["past", "corpus", "none"],
    )
    min_df: int = setting(
        0,
        "a term is known from so many earlier documents on (with `idf: corpus`: documents of the whole corpus); 0: "
        "also one that was never seen before",
        "documents",
        minimum=0,
    )
    max_share: float = setting(
        1.0,
        "a term in a larger share of the earlier documents, and in at least 30, is a stop word of the stream: it is "
        "counted and not weighed. `odl init` sets .5",
        earlier=1.0,
        **SHARE,
    )
    languages: bool = setting(
        False,
        "stop words are those of each document's own language, told by its words (docs/method.md#words): they are "
        "counted and not weighed. `odl init` sets it",
        earlier=False,
    )
    pieces: float = setting(
        0.0,
        "weight of the pieces of words beside them, runs of four characters that inflected forms share "
        "(docs/method.md#pieces-of-words); of runs of `levels` and `adaptive`. `odl init` sets it where most new words "
        "are forms of others",
        values="from 0, below 1",
        earlier=0.0,
        minimum=0,
        exclusiveMaximum=1,
    )
    meaning: float | None = setting(
        0.0,
        "weight of vectors beside the words, of streams that have them (docs/method.md#meaning-beside-words); `null`: "
        "16/(16 + n), at most 2/3, n the median number of distinct words of a document so far; 0: words alone",
        values="0 to 1, or `null`",
        earlier=0.0,
        minimum=0,
        maximum=1,
    )
    meaning_bytes: int = setting(
        320_000,
        "what is remembered of vectors: a bit for each of their numbers, of as many of the last documents as fit",
        "bytes",
        earlier=320_000,
        minimum=1,
    )
    vocabulary: str = setting("growing", "all terms so far, or those of batch 0 only", enum=["growing", "fixed"])


@dataclass(frozen=True)
class Features(Weighting):
    """The features of a stream: weights, and the bound on its words that all runs share."""

    max_terms: int = setting(
        0,
        "bound on the vocabulary of a stream, for all runs: where more terms are known after a batch, those unseen for "
        "longest leave, of these the rarest; one that returns is new "
        "([scaling](../docs/scaling.md#a-bounded-vocabulary)). Not with `idf: corpus`, nor with regret",
        values="terms, `0` keeps all",
        minimum=0,
    )


@dataclass(frozen=True)
class TopicEntry(Section):
    """Topics that are held back."""

    place: ClassVar[str] = "topic_entry"

    held_back: float = setting(
        0.0,
        "share of the topics held back, each drawn on its own; used by `topic-entry` only, as are the next two",
        values="0 to 1",
        minimum=0,
        maximum=1,
    )
    first: int = setting(1, "first batch at which a topic may enter", "timestep", minimum=1)
    last: int = setting(1, "last such batch, not before `first`", "timestep", minimum=1)

    def check(self) -> None:
        """Refuse a range without a batch."""
        if self.first > self.last:
            fault = f"topic_entry is from {self.first} to {self.last}"
            raise ParameterError(fault, "first not after last", "correct it")


@dataclass(frozen=True)
class Batches(Section):
    """How a stream is cut."""

    place: ClassVar[str] = "batches"

    by: str = setting(
        "documents",
        "what makes a batch: a number of documents, a calendar period (UTC, weeks from Monday), or one source file",
        enum=["documents", "period", "file"],
    )
    documents: int = setting(500, "size of a batch after the first; for `by: documents`", "documents", minimum=1)
    period: str = setting(
        "month",
        "length of a period; for `by: period`. A period without documents makes no batch",
        enum=["day", "week", "month", "quarter", "year"],
    )
    initial: int = setting(
        500,
        "size of the first batch, which starts the dictionary and is not evaluated; for periods and files, whole ones "
        "until there are at least so many",
        "documents",
        minimum=1,
    )
    flush: bool = setting(
        True, "whether the last batch, which may still grow, is processed; it is made again when it grows"
    )


@dataclass(frozen=True)
class Order(Section):
    """The order of a stream's documents, and its batches."""

    protocol: str = setting(
        "by-date",
        "`by-date`: documents as they come. `topic-entry`: some topics are held back, each until a drawn batch "
        "before which its documents are dropped, so that there is controlled novelty",
        enum=["by-date", "topic-entry"],
    )
    topic_entry: TopicEntry = field(default_factory=TopicEntry)
    ties: str = setting(
        "seeded",
        "order of documents of equal time (all, where there are no times): drawn by seed and document id, or as in the "
        "source",
        enum=["seeded", "source"],
    )
    batches: Batches = field(default_factory=Batches)


@dataclass(frozen=True)
class Stream(Order):
    """A stream of a corpus."""

    place: ClassVar[str] = "corpora.{corpus}"

    timesteps: list[int] = setting(
        [],
        "timesteps that the average AUC is over; empty: all with at least `evaluate.min_novel` novel and "
        "`evaluate.min_known` known documents",
        values="timesteps, from 1",
        items={"type": "integer", "minimum": 1},
    )


@dataclass(frozen=True)
class Baselines(Section):
    """What is scored beside the learners."""

    place: ClassVar[str] = "baselines"

    enabled: bool = setting(True, "whether nearest neighbours, unknown words and length are scored beside the learners")
    window: int | None = setting(
        None,
        "earlier batches that neighbours are looked for in; 0: all, so that cost grows with the stream; `null`: all "
        "while no more than 50,000 documents came before, then the last 10,000 documents",
        values="timesteps, `null`",
        minimum=0,
    )


@dataclass(frozen=True)
class Evaluation(Section):
    """How scores are held to topics."""

    place: ClassVar[str] = "evaluate"

    min_novel: int = setting(
        10,
        "least novel documents of a timestep in the average (where `timesteps` is empty)",
        values="documents",
        minimum=1,
    )
    min_known: int = setting(10, "least known ones", values="documents", minimum=1)
    topics: str = setting(
        "all",
        "a document is novel if none of its topics was seen before, or if its dominant (first) topic was not",
        enum=["all", "dominant"],
    )
    bootstrap: int = setting(1000, "resamples of the 95 % intervals; 0: no intervals", "resamples", minimum=0)
    seed: int = setting(0, "seed of the bootstrap", "a whole number from 0", minimum=0)


@dataclass(frozen=True)
class EvaluatedStream(Evaluation):
    """The same of one stream."""

    timesteps: list[int] = setting([], items={"type": "integer", "minimum": 1})


@dataclass(frozen=True)
class BestFixed(Section):
    """The search for the best fixed dictionary in hindsight."""

    place: ClassVar[str] = "regret"

    timesteps: int = setting(
        0,
        "for how many numbers of timesteps T the best dictionary is fitted, evenly in √T, the last among them; 0: for "
        "all",
        "numbers",
        minimum=0,
    )
    tolerance: float = setting(
        0.0001, "how far apart the two bounds on its loss may be, as a share of it", exclusiveMinimum=0
    )
    iterations: int = setting(
        2000, "iterations of a fit after which it ends even so; the table has both bounds", "iterations", minimum=1
    )


@dataclass(frozen=True)
class Regret(BestFixed):
    """The regret of a study's runs."""

    enabled: bool = setting(False, "whether it is measured: a table of each run, and `tables/regret.tsv`")
    runs: list[str] = setting(
        [],
        "runs it is measured for; of `dual_averaging`, `projected_gradient` or `online_admm`",
        values="names among `runs`",
        **NAMES,
    )
    sizes: list[int] = setting([], "their sizes; empty: all", "atoms", **SIZES)


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

    share: float = setting(0.1, "share of the documents of a timestep that is looked at, the most novel ones", **SHARE)
    atoms: int = setting(10, "most atoms of the small dictionary, so most clusters", "atoms", minimum=1)
    lam: float = setting(0.1, "λ of the small dictionary", values="at least 0", minimum=0)
    start_terms: int = setting(5, "heaviest terms of a document that an atom starts from; 0: all", "terms", minimum=0)
    rounds: int = setting(10, "most alternations of coding and fitting", "rounds", minimum=1)
    min_support: int = setting(3, "fewest documents of a cluster", "documents", minimum=1)
    terms: int = setting(8, "most words that stand for a cluster", "words", minimum=1)


@dataclass(frozen=True)
class Emerging(SmallDictionary):
    """The emerging topics of a study's runs."""

    enabled: bool = setting(True, "whether they are looked for")
    runs: list[str] = setting(
        [], "runs whose scores are used; empty: all", values="names among `runs`", items={"type": "string"}
    )
    sizes: list[int] = setting([], "numbers of atoms of these runs; empty: the largest of each", "atoms", **SIZES)


@dataclass(frozen=True)
class Checkpoints(Section):
    """Which checkpoints stay."""

    place: ClassVar[str] = "checkpoints"

    keep: int = setting(
        0,
        "keep the checkpoint of every so many timesteps and the last two of a chain; 0: all. Not together with "
        "`regret.enabled`, which reads them all",
        "timesteps",
        minimum=0,
    )


@dataclass(frozen=True)
class Report(Section):
    """What the page of a study shows."""

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
        None, "its size, one that the run has; `null`: the best", values="atoms or `null`", minimum=1
    )
    seed: int = setting(0, "its seed, one of `seeds`", "a seed", minimum=0)


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
    """A whole configuration, but for what readers, learners and experiments have of their own."""

    study: str = setting(
        meaning="name of the study; its results lie in `{results}/{study}`",
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
        meaning="the corpora that are run; `[]` in a study of `experiments` only, where `runs`, `atoms`, `baselines`, "
        "`regret`, `emerging`, `alerts` and `report` are not used",
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
        meaning="seeds of the study; each is a stream order, a topic schedule and a start of its own",
        values="whole numbers from 0",
        items={"type": "integer", "minimum": 0},
        minItems=1,
    )
    features: Features
    atoms: list[int] = setting(
        meaning="sizes k of the dictionary, each a chain of its own; none may exceed `batches.initial` where batches "
        "are by documents, but for `adaptive`, which opens atoms on demand; `levels` has as many as its memory holds",
        values="atoms",
        minItems=1,
        **SIZES,
    )
    runs: list[str] = setting(meaning="the runs that are made", values="names under `learners`", minItems=1, **NAMES)
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
        "where downloads are looked for first; the environment variable `ODL_MIRROR` comes before it",
        values="a folder or a base address (http, https, file); empty: none",
    )
    evaluate: Evaluation
    regret: Regret
    ranks: dict = setting({}, additionalProperties={"type": "integer", "minimum": 1})
    block: int = setting(
        10,
        "timesteps of a chain that are submitted to a cluster as one ([docs/clusters.md](../docs/clusters.md)); "
        "locally it does nothing, and it changes no result",
        values="timesteps; 0: every job of a chain alone",
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


# What the list of all that a study runs follows from.
PLANNED = ("study", "results", "streams", "corpora", "seeds", "features", "atoms", "runs", "learners", "baselines")
SECTIONS = tuple(entry.type for entry in fields(Study) if is_section(entry.type))


def fill(config: dict) -> None:
    """Give a configuration what it leaves out."""
    merge(config, Study.defaults())
    corpora = config.get("corpora")
    for entry in corpora.values() if isinstance(corpora, dict) else ():
        if isinstance(entry, dict):
            merge(entry, {"options": {}, **Stream.defaults()})
