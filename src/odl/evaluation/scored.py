"""Read what a run said about one batch: files of kind "scores" (learners) and "baselines"."""

from dataclasses import dataclass, field

import h5py
import numpy as np

from odl.errors import StorageError
from odl.evaluation import baselines
from odl.files import documents, storage


@dataclass
class Scored:
    """Scores and labels of one batch of n documents.

    Attributes
    ----------
    t : int
        Timestep; 0 is the initialisation batch.
    initialisation : bool
        Whether the batch only started the dictionary: never evaluated.
    scores : dict of str -> ndarray of float, shape (n,)
        By name of the run; one entry for a learner, one per baseline otherwise.
    novel, novel_dominant : ndarray of int8, shape (n,)
        1 novel, 0 known, -1 unlabelled.
    empty : ndarray of uint8, shape (n,)
        Documents without a known term.
    uncoded, gap : float
        Share of documents with x = 0 and largest relative gap of a code; nan for baselines.
    top : list of (row, words)
        The most novel documents with their unexplained words; empty for baselines.
    atoms : list of (words, weights, use)
        Top words of every atom; empty for baselines.
    """

    t: int
    initialisation: bool
    ids: list
    times: np.ndarray
    topics: list
    novel: np.ndarray
    novel_dominant: np.ndarray
    empty: np.ndarray
    scores: dict
    uncoded: float = float("nan")
    gap: float = float("nan")
    titles: list = field(default_factory=list)
    top: list = field(default_factory=list)
    atoms: list = field(default_factory=list)

    def labels(self, topics="all"):
        """Labels by all topics of a document, or by its dominant topic only."""
        return self.novel_dominant if topics == "dominant" else self.novel


def _read_learner(path):
    with storage.reading(path, "scores") as file:
        score = storage.read_array(file, "score")
        words = storage.read_strings(file, "top/words")
        atoms = zip(
            storage.read_strings(file, "atoms/words"),
            storage.read_strings(file, "atoms/weights"),
            storage.read_array(file, "atoms/use").tolist(),
            strict=True,
        )
        scored = Scored(
            t=int(file.attrs["t"]),
            initialisation=bool(file.attrs["initialisation"]),
            **{name: storage.read_strings(file, name) for name in ("ids", "titles")},
            topics=documents.read_topics(file),
            **{name: storage.read_array(file, name, "iu") for name in ("times", "novel", "novel_dominant", "empty")},
            scores={str(file.attrs["run"]): score},
            uncoded=float(file.attrs["uncoded"]),
            gap=float(file.attrs["gap"]),
            top=list(zip(storage.read_array(file, "top/rows", "i").tolist(), words, strict=True)),
            atoms=list(atoms),
        )
        parts = (scored.ids, scored.titles, scored.topics, scored.novel, scored.novel_dominant, scored.empty, score)
        if {len(part) for part in parts} != {len(scored.times)}:
            raise ValueError("scores, labels and documents differ in number")
        if not all(0 <= row < len(score) for row, _ in scored.top):
            raise ValueError("the most novel documents are none of its documents")
        return scored


def read(path):
    """Read a score file of a learner or a file of baselines, whichever it is.

    Raises
    ------
    StorageError
        If the file is missing, damaged, or neither.
    """
    try:
        with h5py.File(path, "r", locking=False) as file:
            kind = str(file.attrs.get("kind"))
    except (OSError, ValueError, TypeError, RuntimeError, LookupError):
        kind = "scores"  # `_read_learner` says what is wrong with it
    if kind == "baselines":
        held = vars(baselines.read(path))
        return Scored(initialisation=held["t"] == 0, **held)
    if kind == "scores":
        return _read_learner(path)
    raise StorageError(f"{path} is of kind '{kind}'", "kind 'scores' or 'baselines'", "give the files of one run")
