"""Other methods that score a stream: one file each, a class that scores a batch before it learns it.

A class is a rival if it has

    NAME : str                      of its row in tables
    WORDS : str                     the same for people
    NEEDS : str                     what a batch must have: "counts", or "vectors"
    __init__(seed)                  an empty memory
    score(batch) -> ndarray         one number a document, more is newer, 1 for nothing like it; changes nothing
    learn(batch) -> None            take in a batch (`odl.stream.features.Features`); the first is never scored
    rows(batch) -> csr_array        what documents of a batch are compared by, for their context; words without it
    stored -> int                   numbers that are stored: weights, counts, parameters, without their positions

and nothing of a batch is looked at before it is scored. Imports name the rivals, so that a study knows their code.
"""

from odl.papers.rivals.first_story import FirstStory
from odl.papers.rivals.meaning import FusedRanks, NearestMeaning
from odl.papers.rivals.windows import Decaying, LastTenThousand, LastThousand, Recent, TemporalIdf, WholePast

CLASSES = (
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
RIVALS = {one.NAME: one for one in CLASSES}


def names(needs: str = "counts") -> list[str]:
    """Return the names of the rivals that need counts of words, or vectors.

    Examples
    --------
    >>> from odl.papers import rivals
    >>> rivals.names()
    ['nearest5-logtf-past', 'nearest5-logtf-window1000', 'nearest5-logtf-window10000', 'nearest5-logtf-half-life', \
'nearest5-logtf-recency', 'temporal-idf', 'first-story-lsh']
    """
    return [name for name, one in RIVALS.items() if needs == one.NEEDS]
