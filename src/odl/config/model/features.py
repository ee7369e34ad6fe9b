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
        "documents in which document frequencies are counted. `past`: all earlier batches (for "
        "batch 0, batch 0 itself). `corpus`: the entire corpus, including later documents, as in "
        "the papers; every step is then repeated after documents are appended. `none`: no idf",
        enum=["past", "corpus", "none"],
    )
    min_df: int = setting(
        0,
        "terms in fewer earlier documents are ignored (with `idf: corpus`, terms in fewer "
        "documents of the corpus); 0: terms never seen before are used too",
        "documents",
        minimum=0,
    )
    max_share: float = setting(
        1.0,
        "largest document frequency of a term, as a share of the earlier documents. A term with a "
        "larger share that is in at least 30 documents is a stop word of the stream (weight 0). "
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
        "(docs/method.md#pieces-of-words). `odl init` sets a weight above 0 if most new words are "
        "forms of known words",
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
        "memory for the vectors of the most recent documents; each component of a vector takes "
        "one bit",
        "bytes",
        earlier=320_000,
        minimum=1,
    )
    vocabulary: str = setting(
        "growing",
        "vocabulary of the features. `growing`: all terms of the stream so far. `fixed`: only the "
        "terms of batch 0",
        enum=["growing", "fixed"],
    )


@dataclass(frozen=True)
class Features(Weighting):
    """Features of a stream: weighting, and maximum size of the vocabulary that all runs share."""

    max_terms: int = setting(
        0,
        "maximum size of the vocabulary of a stream, for all runs. If a batch makes the "
        "vocabulary larger, the terms not seen for the longest time are removed, rare terms "
        "first. A removed term that returns counts as new "
        "([scaling](../docs/scaling.md#a-bounded-vocabulary)). Not allowed with `idf: corpus` or "
        "`regret.enabled`",
        values="terms; `0`: no limit",
        minimum=0,
    )
