"""Score files: HDF5 files with the scores of one batch, which tables, figures and alerts read.

A file of kind "scores" contains the scores of one learner. A file of kind "baselines" contains the
scores of all baselines.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from odl.errors import StorageError
from odl.files import documents, storage

if TYPE_CHECKING:
    from odl.stream.features import FeatureFile


@dataclass
class ScoredBatch:
    """Scores and labels of one batch of n documents.

    Attributes
    ----------
    t : int
        Timestep. Timestep 0 is the batch that initialises dictionaries, and is never evaluated.
    ids, titles : list of str
        Ids and titles of the documents; empty if they were not read.
    times : ndarray of int64, shape (n,)
        Times in ms.
    topics : list
        Topics of each document; empty if they were not read.
    scores : dict of str -> ndarray of float, shape (n,)
        Name of a run or baseline -> its scores.
    novel, novel_dominant : ndarray of int8, shape (n,)
        Labels by all topics and by the dominant topic: 1 novel, 0 known, -1 unlabelled.
    empty : ndarray of uint8, shape (n,)
        1 for documents without a term of the vocabulary.
    uncoded, gap : float
        Share of documents with the code x = 0, and largest relative duality gap of a code. Both are
        nan for baselines.
    window : str
        Window in which nearest neighbours were searched, such as "last10000". It is "" if all
        earlier documents were searched.
    top : list of (int, str)
        Row and unexplained words of each of the most novel documents. Empty for baselines.
    use : list of float
        Sum of the codes of every atom. Empty for baselines.
    atoms : list of str
        Words of every atom with the largest weights. Empty for baselines.

    Examples
    --------
    >>> import os, tempfile
    >>> from odl import corpora
    >>> from odl.evaluation import baselines, scorefiles
    >>> from odl.stream import features
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "1.h5")
    >>> corpus = corpora.read("simulation", options={"documents": 600, "days": 6})
    >>> past = features.follow(corpus.select(range(400)))
    >>> batch = features.follow(corpus.select(range(400, 600)), past)
    >>> scorefiles.write_baselines(path, batch, baselines.score(batch, [past]))
    >>> stored = scorefiles.read_scores(path)
    >>> int((stored.labels() == 1).sum()), int((stored.labels() == 0).sum())
    (22, 178)
    """

    t: int
    ids: list
    times: np.ndarray
    topics: list
    novel: np.ndarray
    novel_dominant: np.ndarray
    empty: np.ndarray
    scores: dict
    uncoded: float = float("nan")
    gap: float = float("nan")
    window: str = ""
    titles: list = field(default_factory=list)
    top: list = field(default_factory=list)
    use: list = field(default_factory=list)
    atoms: list = field(default_factory=list)

    def labels(self, topics: str = "all") -> np.ndarray:
        """Return `novel` (topics "all") or `novel_dominant` ("dominant")."""
        return self.novel_dominant if topics == "dominant" else self.novel


def with_window(name: str, window: str) -> str:
    """Append the window of earlier documents to the name of a nearest-neighbour baseline.

    Other names are returned unchanged.

    Examples
    --------
    >>> from odl.evaluation import scorefiles
    >>> [scorefiles.with_window(name, "last10000") for name in ("nearest-logtf", "length")]
    ['nearest-logtf-last10000', 'length']
    """
    return f"{name}-{window}" if window and name.startswith("nearest") else name


def without_window(name: str) -> str:
    """Return the name of a baseline without the window that `with_window` appended.

    Examples
    --------
    >>> from odl.evaluation import scorefiles
    >>> scorefiles.without_window("nearest-logtf-last10000"), scorefiles.without_window("length")
    ('nearest-logtf', 'length')
    """
    return name.partition("-last")[0]


def words(pairs, vocabulary):
    """Format (term, share) pairs as text, such as ``word:0.034 word:0.021``."""
    return " ".join(f"{vocabulary[term]}:{share:.3f}" for term, share in pairs)


def write_scores(path, batch, novelty, *, top, missing, top_atoms, atom_use, **attributes):
    """Write a score file of one learner, of kind "scores".

    Parameters
    ----------
    path : path-like
    batch : odl.stream.features.FeatureFile
        The documents that were scored.
    novelty : odl.novelty.Novelty
        Scores of these documents.
    top : ndarray of int
        Rows of the most novel documents, most novel first.
    missing : list of list of (int, float)
        For each document of `top`, pairs (term, share in the score) of the terms that the
        dictionary does not explain.
    top_atoms : list of list of (int, float)
        For each atom after learning, pairs (term, weight) of the terms with the largest weights.
        Empty for atoms that are not listed.
    atom_use : ndarray
        Sum of the codes of each atom over the batch.
    **attributes
        Settings that identify the run: run, corpus, seed, atoms, solver, weighting.
    """
    attributes |= {
        "t": batch.t,
        "initialisation": batch.t == 0,
        "uncoded": novelty.uncoded,
        "gap": novelty.gap,
    }
    unexplained = [words(pairs, batch.vocabulary) for pairs in missing]
    atoms = [" ".join(batch.vocabulary[term] for term, _ in pairs) for pairs in top_atoms]
    with storage.writing(path, "scores", **attributes) as file:
        batch.write_names(file)
        for name in ("times", "novel", "novel_dominant"):
            storage.write_array(file, name, getattr(batch, name))
        for name in ("score", "residual", "penalty"):
            storage.write_array(file, name, getattr(novelty, name))
        if novelty.meaning is not None:
            storage.write_array(file, "meaning", novelty.meaning)
        storage.write_array(file, "empty", novelty.empty.astype(np.uint8))
        group = file.create_group("top")
        storage.write_array(group, "rows", top)
        storage.write_strings(group, "words", unexplained)
        group = file.create_group("atoms")
        storage.write_strings(group, "words", atoms)
        weights = [" ".join(f"{weight:.3g}" for _, weight in pairs) for pairs in top_atoms]
        storage.write_strings(group, "weights", weights)
        storage.write_array(group, "use", atom_use)


def write_baselines(
    path: str | os.PathLike,
    batch: "FeatureFile",
    scores: Mapping[str, np.ndarray],
    window: str = "",
) -> None:
    """Write a score file of all baselines, of kind "baselines".

    Documents without a term that occurred in earlier batches are marked as empty. The parameter
    `window` is described in `ScoredBatch`.

    Examples
    --------
    >>> import os, tempfile
    >>> from odl import corpora
    >>> from odl.evaluation import baselines, scorefiles
    >>> from odl.stream import features
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "1.h5")
    >>> corpus = corpora.read("simulation", options={"documents": 600, "days": 6})
    >>> past = features.follow(corpus.select(range(400)))
    >>> batch = features.follow(corpus.select(range(400, 600)), past)
    >>> scorefiles.write_baselines(path, batch, baselines.score(batch, [past]))
    >>> os.listdir(folder.name)
    ['1.h5']
    """
    known = batch.counts[:] @ (np.asarray(batch.frequencies) > 0).astype(np.float64)
    attributes = {"window": window} if window else {}
    with storage.writing(path, "baselines", t=int(batch.t), **attributes) as file:
        storage.write_strings(file, "ids", batch.ids)
        documents.write_topics(file, batch.topics)
        storage.write_array(file, "times", np.asarray(batch.times, dtype=np.int64))
        for name in ("novel", "novel_dominant"):
            storage.write_array(file, name, np.asarray(getattr(batch, name), dtype=np.int8))
        storage.write_array(file, "empty", (known == 0).astype(np.uint8))
        group = file.create_group("scores")
        for name in sorted(scores):
            storage.write_array(group, name, np.asarray(scores[name], dtype=np.float64))


def read_parts(path):
    """Read the arrays (score, residual, penalty, empty, meaning) of a learner's score file.

    `meaning` is None without vectors.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, "scores") as file:
        parts = [storage.read_array(file, name) for name in ("score", "residual", "penalty")]
        meaning = storage.read_array(file, "meaning") if "meaning" in file else None
        return *parts, storage.read_array(file, "empty", "iu").astype(bool), meaning


def read_scores(path: str | os.PathLike, names: bool = True) -> ScoredBatch:
    """Read a file of kind "scores" or "baselines".

    Parameters
    ----------
    path : path-like
    names : bool
        Whether to read ids, titles, topics and words, which doubles the time. Otherwise these lists
        are empty.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.

    Examples
    --------
    >>> import os, tempfile
    >>> from odl import corpora
    >>> from odl.evaluation import baselines, scorefiles
    >>> from odl.stream import features
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "1.h5")
    >>> corpus = corpora.read("simulation", options={"documents": 600, "days": 6})
    >>> past = features.follow(corpus.select(range(400)))
    >>> batch = features.follow(corpus.select(range(400, 600)), past)
    >>> scorefiles.write_baselines(path, batch, baselines.score(batch, [past]))
    >>> stored = scorefiles.read_scores(path)
    >>> stored.t, len(stored.ids), list(stored.scores)[:2]
    (1, 200, ['length', 'nearest-logtf'])
    """
    kind = storage.kind_of(path) or "scores"  # `storage.reading` reports a file that cannot be read
    if kind not in ("scores", "baselines"):
        raise StorageError(
            f"{path} is of kind '{kind}'",
            "kind 'scores' or 'baselines'",
            "pass the score files of one run",
        )
    with storage.reading(path, kind) as file:
        fields: dict[str, Any] = {"t": int(file.attrs["t"])}
        for name in ("times", "novel", "novel_dominant", "empty"):
            fields[name] = storage.read_array(file, name, "iu")
        fields["ids"] = storage.read_strings(file, "ids") if names else []
        fields["topics"] = documents.read_topics(file) if names else []
        if kind == "baselines":
            group, fields["window"] = file["scores"], str(file.attrs.get("window", ""))
            scores = {name: storage.read_array(group, name) for name in file["scores"]}
        else:
            scores = {str(file.attrs["run"]): storage.read_array(file, "score")}
            fields |= {name: float(file.attrs[name]) for name in ("uncoded", "gap")}
        batch = ScoredBatch(**fields, scores=scores)
        if names and kind == "scores":
            batch.titles, batch.atoms = (
                storage.read_strings(file, name) for name in ("titles", "atoms/words")
            )
            rows = storage.read_array(file, "top/rows", "i").tolist()
            batch.top = list(zip(rows, storage.read_strings(file, "top/words"), strict=True))
            batch.use = storage.read_array(file, "atoms/use").tolist()
        return batch
