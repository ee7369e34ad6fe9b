"""Settings of the search for emerging topics."""

from dataclasses import dataclass
from typing import ClassVar

from odl.config.setting import POSITIVE_SHARE, SIZE_ITEMS, Section, setting


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

    share: float = setting(
        0.1,
        "share of the documents of a timestep that are grouped, the most novel ones",
        **POSITIVE_SHARE,
    )
    atoms: int = setting(
        10,
        "maximum number of atoms of the dictionary of emerging topics, and of clusters",
        "atoms",
        minimum=1,
    )
    lam: float = setting(
        0.1,
        "sparsity penalty λ of the dictionary of emerging topics",
        values="at least 0",
        minimum=0,
    )
    start_terms: int = setting(
        5,
        "number of a document's heaviest terms with which an atom starts; 0: all",
        "terms",
        minimum=0,
    )
    rounds: int = setting(
        10, "maximum number of alternations of coding and fitting", "rounds", minimum=1
    )
    min_support: int = setting(
        3, "minimum number of documents of a cluster", "documents", minimum=1
    )
    terms: int = setting(8, "maximum number of words shown for a cluster", "words", minimum=1)


@dataclass(frozen=True)
class Emerging(SmallDictionary):
    """The emerging topics of a study's runs."""

    enabled: bool = setting(True, "whether to search for emerging topics")
    runs: list[str] = setting(
        [],
        "runs whose scores are used; empty: all",
        values="names among `runs`",
        items={"type": "string"},
    )
    sizes: list[int] = setting(
        [], "numbers of atoms of these runs; empty: the largest of each", "atoms", **SIZE_ITEMS
    )
