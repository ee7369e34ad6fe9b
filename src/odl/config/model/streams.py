"""Settings of streams: the order of the documents, late topics, and batches."""

from dataclasses import dataclass, field
from typing import ClassVar

from odl.config.setting import Section, setting
from odl.errors import ParameterError


@dataclass(frozen=True)
class TopicEntry(Section):
    """Topics that enter the stream late, so that the novel documents are known."""

    place: ClassVar[str] = "topic_entry"

    held_back: float = setting(
        0.0,
        "probability that a topic is held back. Used only with `protocol: topic-entry`",
        values="0 to 1",
        minimum=0,
        maximum=1,
    )
    first: int = setting(1, "first batch in which a topic may enter", "timestep", minimum=1)
    last: int = setting(
        1, "last batch in which a topic may enter, not before `first`", "timestep", minimum=1
    )

    def check(self) -> None:
        """Refuse a range without a batch."""
        if self.first > self.last:
            raise ParameterError(
                f"topic_entry is from {self.first} to {self.last}",
                "first not after last",
                "lower topic_entry.first or raise topic_entry.last",
            )


@dataclass(frozen=True)
class Batches(Section):
    """How a stream is cut into batches."""

    place: ClassVar[str] = "batches"

    by: str = setting(
        "documents",
        "a batch is a number of documents, a calendar period (UTC, weeks from Monday), "
        "or one source file",
        enum=["documents", "period", "file"],
    )
    documents: int = setting(
        500, "size of a batch after the first; for `by: documents`", "documents", minimum=1
    )
    period: str = setting(
        "month",
        "length of a period; for `by: period`. A period without documents is not a batch",
        enum=["day", "week", "month", "quarter", "year"],
    )
    initial: int = setting(
        500,
        "minimum size of the first batch, which starts the dictionary and is not evaluated; "
        "it consists of complete periods or files. For `by: documents` it is the exact size",
        "documents",
        minimum=1,
    )
    flush: bool = setting(
        True,
        "whether to process the last batch, which may still grow; it is processed again when it "
        "has grown",
    )


@dataclass(frozen=True)
class Order(Section):
    """The order of a stream's documents and its batches."""

    protocol: str = setting(
        "by-date",
        "`by-date`: all documents. `topic-entry`: each held-back topic enters at a random batch, "
        "and its earlier documents are dropped, so the novel documents are known",
        enum=["by-date", "topic-entry"],
    )
    topic_entry: TopicEntry = field(default_factory=TopicEntry)
    ties: str = setting(
        "seeded",
        "order of documents with equal or missing times: random by seed and document id, "
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
        "timesteps over which the AUC is averaged; empty: all with at least "
        "`evaluate.min_novel` novel and `evaluate.min_known` known documents",
        values="timesteps, from 1",
        items={"type": "integer", "minimum": 1},
    )
