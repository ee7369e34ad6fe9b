"""Settings of features: how term counts become weights, and the size of the vocabulary."""

from dataclasses import dataclass
from typing import ClassVar

from odl.config.setting import POSITIVE_SHARE, Section, setting


@dataclass(frozen=True)
class Weighting(Section):
    """How term counts become weights.

    Examples
    --------
    >>> from odl.config.sections import Weighting
    >>> Weighting(tf="log")  # doctest: +NORMALIZE_WHITESPACE
    Weighting(tf='log', idf='past', min_df=0, max_share=1.0, languages=False, pieces=0.0,
              meaning=0.0, meaning_bytes=320000, vocabulary='growing')
    """

    place: ClassVar[str] = "features"

    tf: str = setting(
        "raw", "form of the term frequency: the count, or 1 + log(count)", enum=["raw", "log"]
    )
    idf: str = setting(
        "past",
        "documents in which document frequencies are counted: earlier batches (for batch 0, "
        "itself), or the entire corpus; or no idf. `corpus` uses later documents, as the papers "
        "do; appended documents then change every step",
        enum=["past", "corpus", "none"],
    )
    min_df: int = setting(
        0,
        "number of earlier documents (with `idf: corpus`, of documents) that a term needs to be "
        "used; 0: also use terms never seen before",
        "documents",
        minimum=0,
    )
    max_share: float = setting(
        1.0,
        "maximum document frequency of a term, as a share of the earlier documents. A term above "
        "it that is in at least 30 documents is a stop word of the stream (weight 0). "
        "`odl init` sets .5",
        earlier=1.0,
        **POSITIVE_SHARE,
    )
    languages: bool = setting(
        False,
        "whether to give no weight to stop words in the language of each document, which is "
        "detected (docs/method.md#words). `odl init` sets `true`",
        earlier=False,
    )
    pieces: float = setting(
        0.0,
        "weight of pieces of words relative to words, in runs of `levels` and `adaptive`. Pieces "
        "are runs of four characters, which inflected forms share "
        "(docs/method.md#pieces-of-words). `odl init` sets it if most new words are forms of "
        "known ones",
        values="from 0, below 1",
        earlier=0.0,
        minimum=0,
        exclusiveMaximum=1,
    )
    meaning: float | None = setting(
        0.0,
        "weight of vectors relative to words, in streams with vectors "
        "(docs/method.md#meaning-beside-words). `null`: 16/(16 + n), at most 2/3, where n is the "
        "median number of distinct words of a document so far. 0: words only",
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
    vocabulary: str = setting(
        "growing", "terms used: all so far, or those of batch 0", enum=["growing", "fixed"]
    )


@dataclass(frozen=True)
class Features(Weighting):
    """The features of a stream: weights, and the bound on its vocabulary, which all runs share."""

    max_terms: int = setting(
        0,
        "maximum size of the vocabulary of a stream, for all runs. If it is exceeded after a "
        "batch, the terms not seen for the longest time are removed, rare ones first; a removed "
        "term that returns counts as new "
        "([scaling](../docs/scaling.md#a-bounded-vocabulary)). Not allowed with `idf: corpus` or "
        "with regret",
        values="terms, `0` keeps all",
        minimum=0,
    )
