"""Other methods that score a stream, to compare the learners with.

Each class scores a batch before it learns the batch. A class has

    NAME : str                  name in tables
    WORDS : str                 description in words
    NEEDS : str                 data of a batch that the method uses: "counts" or "vectors"
    __init__(seed)              start with an empty memory
    score(batch) -> ndarray     one score per document; larger is more novel, 1 without neighbours
    learn(batch) -> None        learn a batch (`odl.stream.features.FeatureFile`)
    rows(batch) -> csr_array    optional: rows by which documents are compared; default: word counts
    stored -> int               number of stored weights, counts and parameters, without indices

The first batch is learned but not scored. The classes are imported here by name, so that the digest
of the code that a study records includes them.
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
