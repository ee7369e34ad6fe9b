"""Settings of streams: order of the documents, late topics, and batches."""

from dataclasses import dataclass, field
from typing import ClassVar

from odl.config.setting import Section, setting
from odl.errors import ParameterError


@dataclass(frozen=True)
class TopicEntry(Section):
    """Topics that are held back, so that their first documents are known to be novel."""

    place: ClassVar[str] = "topic_entry"

    held_back: float = setting(
        0.0,
        "probability that a topic is held back, that is, enters the stream at a later batch; used "
        "only with `protocol: topic-entry`",
        values="0 to 1",
        minimum=0,
        maximum=1,
    )
    first: int = setting(
        1,
        "first batch at which a held-back topic may enter the stream; used only with "
        "`protocol: topic-entry`",
        "timestep",
        minimum=1,
    )
    last: int = setting(
        1,
        "last batch at which a held-back topic may enter the stream, at least `first`; used only "
        "with `protocol: topic-entry`",
        "timestep",
        minimum=1,
    )

    def check(self) -> None:
        """Raise ParameterError for an empty range of batches."""
        if self.first > self.last:
            raise ParameterError(
                f"topic_entry.first is {self.first} and topic_entry.last is {self.last}",
                "a first batch that is not after the last",
                "lower topic_entry.first or raise topic_entry.last",
            )


@dataclass(frozen=True)
class Batches(Section):
    """Division of a stream into batches."""

    place: ClassVar[str] = "batches"

    by: str = setting(
        "documents",
        "content of a batch: a fixed number of documents, a calendar period (UTC; weeks begin on "
        "Monday), or one source file",
        enum=["documents", "period", "file"],
    )
    documents: int = setting(
        500,
        "number of documents in each batch after the first; used with `by: documents`",
        "documents",
        minimum=1,
    )
    period: str = setting(
        "month",
        "length of a period; used with `by: period`. A period without documents is not a batch",
        enum=["day", "week", "month", "quarter", "year"],
    )
    initial: int = setting(
        500,
        "minimum number of documents in the first batch, which initialises the dictionary and is "
        "not evaluated. The batch consists of complete periods or files; with `by: documents` it "
        "has exactly this size",
        "documents",
        minimum=1,
    )
    flush: bool = setting(
        True,
        "whether to process the last batch although more documents may be added to it; the batch "
        "is processed again after documents were added",
    )


@dataclass(frozen=True)
class Order(Section):
    """Order of the documents of a stream, and its batches."""

    protocol: str = setting(
        "by-date",
        "`by-date`: all documents are used. `topic-entry`: each held-back topic enters at a "
        "random batch, and its earlier documents are dropped, so the novel documents are known",
        enum=["by-date", "topic-entry"],
    )
    topic_entry: TopicEntry = field(default_factory=TopicEntry)
    ties: str = setting(
        "seeded",
        "order of documents with equal or missing times: `seeded` is a random order that depends "
        "on the seed and the ids; `source` is the order in the source",
        enum=["seeded", "source"],
    )
    batches: Batches = field(default_factory=Batches)


@dataclass(frozen=True)
class Stream(Order):
    """A stream of a corpus."""

    place: ClassVar[str] = "corpora.{corpus}"

    timesteps: list[int] = setting(
        [],
        "timesteps over which the AUC is averaged; empty: all timesteps with at least "
        "`evaluate.min_novel` novel and `evaluate.min_known` known documents",
        values="timesteps, from 1",
        items={"type": "integer", "minimum": 1},
    )
