"""Other methods that score a stream, to compare the learners with. Each class scores a batch before it learns it.

A class has

    NAME : str                      name in tables
    WORDS : str                     description in words
    NEEDS : str                     what it uses of a batch: "counts", or "vectors"
    __init__(seed)                  starts with an empty memory
    score(batch) -> ndarray         one score per document, larger is more novel, 1 if nothing is similar
    learn(batch) -> None            learns a batch (`odl.stream.features.FeatureFile`); the first is never scored
    rows(batch) -> csr_array        optional; rows by which documents of a batch are similar; default: words
    stored -> int                   how many numbers are stored (weights, counts, parameters), without indices

The classes are imported here by name, so that the record of a study's code includes them.
"""

from odl.papers.rivals.first_story import FirstStory
from odl.papers.rivals.meaning import FusedRanks, NearestMeaning
from odl.papers.rivals.windows import (
    Decaying,
    LastTenThousand,
    LastThousand,
    Recent,
    TemporalIdf,
    WholePast,
)

RIVAL_CLASSES = (
    WholePast,
    LastThousand,
    LastTenThousand,
    Decaying,
    Recent,
    TemporalIdf,
    FirstStory,
    NearestMeaning,
    FusedRanks,
)
RIVALS = {one.NAME: one for one in RIVAL_CLASSES}


def names(needs: str = "counts") -> list[str]:
    """Return the names of the methods that use counts of words, or vectors.

    Examples
    --------
    >>> from odl.papers import rivals
    >>> rivals.names()
    ['nearest5-logtf-past', 'nearest5-logtf-window1000', 'nearest5-logtf-window10000', 'nearest5-logtf-half-life', \
'nearest5-logtf-recency', 'temporal-idf', 'first-story-lsh']
    """
    return [name for name, one in RIVALS.items() if needs == one.NEEDS]
