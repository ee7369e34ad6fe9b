"""Rival methods that score a stream, with which learners are compared.

A method is a class with

    NAME : str                  name in tables
    WORDS : str                 description in words
    NEEDS : str                 data of a batch that the method uses: "counts" or "vectors"
    __init__(seed)              starts with an empty memory
    score(batch) -> ndarray     scores of the documents of a batch; larger scores are more novel
    learn(batch) -> None        learns a batch (`odl.stream.features.FeatureFile`)
    rows(batch) -> csr_array    rows from which similarities are computed (optional; by default
                                weighted words)
    stored -> int               number of stored weights, counts and parameters, without indices

Each batch after the first is scored before it is learned. The classes are imported here by name, so
that the recorded digest of the code of a study covers them.
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
RIVALS = {rival.NAME: rival for rival in RIVAL_CLASSES}


def names(needs: str = "counts") -> list[str]:
    """Return the names of the methods that use counts of words, or vectors.

    Examples
    --------
    >>> from odl.papers import rivals
    >>> rivals.names()[4:]
    ['nearest5-logtf-recency', 'temporal-idf', 'first-story-lsh']
    """
    return [name for name, rival in RIVALS.items() if needs == rival.NEEDS]
