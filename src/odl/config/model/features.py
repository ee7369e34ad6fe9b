"""Settings of features: weighting of terms, and size of the vocabulary."""

from dataclasses import dataclass
from typing import ClassVar

from odl.config.setting import POSITIVE_SHARE, Section, setting


@dataclass(frozen=True)
class Weighting(Section):
    """Weighting of term counts.

    Examples
    --------
    >>> from odl.config.sections import Weighting
    >>> Weighting(tf="log")  # doctest: +NORMALIZE_WHITESPACE
    Weighting(tf='log', idf='past', min_df=0, max_share=1.0, languages=False, pieces=0.0,
              meaning=0.0, meaning_bytes=320000, vocabulary='growing')
    """

    place: ClassVar[str] = "features"

    tf: str = setting(
        "raw",
        "term frequency: `raw` is the count, `log` is 1 + log(count)",
        enum=["raw", "log"],
    )
    idf: str = setting(
        "past",
        "documents in which document frequencies are counted. `past`: all earlier batches (batch "
        "0 uses its own documents). `corpus`: the entire corpus, with later documents, as in the "
        "papers; appended documents then change every step. `none`: no idf",
        enum=["past", "corpus", "none"],
    )
    min_df: int = setting(
        0,
        "minimum number of earlier documents (with `idf: corpus`, of all documents) with a term "
        "for the term to be used; 0: terms never seen before are used too",
        "documents",
        minimum=0,
    )
    max_share: float = setting(
        1.0,
        "largest document frequency of a term, as a share of the earlier documents. A term that "
        "exceeds it and is in at least 30 documents is a stop word of the stream (weight 0). "
        "`odl init` sets 0.5",
        earlier=1.0,
        **POSITIVE_SHARE,
    )
    languages: bool = setting(
        False,
        "whether to detect the language of each document and give its stop words weight 0 "
        "(docs/method.md#words). `odl init` sets `true`",
        earlier=False,
    )
    pieces: float = setting(
        0.0,
        "weight of pieces relative to words, for the algorithms `levels` and `adaptive`. A piece "
        "is a sequence of four characters of a word; inflected forms of a word share pieces "
        "(docs/method.md#pieces-of-words). `odl init` sets it if most new words are forms of "
        "known words",
        values="from 0, below 1",
        earlier=0.0,
        minimum=0,
        exclusiveMaximum=1,
    )
    meaning: float | None = setting(
        0.0,
        "weight of vectors relative to words, in streams whose documents have vectors "
        "(docs/method.md#meaning-beside-words). 0: only words are used. `null`: 16/(16 + n), at "
        "most 2/3, where n is the median number of distinct words in the documents so far",
        values="0 to 1, or `null`",
        earlier=0.0,
        minimum=0,
        maximum=1,
    )
    meaning_bytes: int = setting(
        320_000,
        "memory for the vectors of the last documents; each component of a vector takes one bit",
        "bytes",
        earlier=320_000,
        minimum=1,
    )
    vocabulary: str = setting(
        "growing",
        "`growing`: all terms so far are used. `fixed`: only the terms of batch 0 are used",
        enum=["growing", "fixed"],
    )


@dataclass(frozen=True)
class Features(Weighting):
    """Features of a stream: weighting, and maximum size of the vocabulary that all runs share."""

    max_terms: int = setting(
        0,
        "maximum size of the vocabulary of a stream, for all runs. If a batch exceeds it, the "
        "terms not seen for the longest time are removed, rare ones first. A removed term that "
        "returns counts as new ([scaling](../docs/scaling.md#a-bounded-vocabulary)). Not allowed "
        "with `idf: corpus` or with regret",
        values="terms; `0`: no limit",
        minimum=0,
    )
