"""Vocabulary, document frequencies and labels over a stream, with nothing taken from the future.

A chain of files, one per timestep, holds term counts under global term ids (by first appearance, never
changed) with the document frequencies *before* the timestep. What is small is read when a file is opened, documents by
ranges of rows; all rows are a slice. With a bound on the vocabulary a file holds the terms still known, and their ids
(`odl.stream.terms`).
"""

import os
import tempfile
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from odl.config import sections
from odl.errors import DataError
from odl.files import blocks, digests, storage
from odl.files import documents as docs
from odl.stream import boilerplate, dense, duplicates
from odl.stream import terms as known_terms
from odl.stream.weighting import Weighed, Weighting

UNLABELLED, KNOWN, NOVEL = -1, 0, 1


class FeatureFile:
    """One timestep of the feature chain: an open feature file.

    Parameters
    ----------
    file : h5py.File
        Of kind "features".

    Attributes
    ----------
    t : int
        Timestep; 0 is the initialisation batch.
    counts : odl.stream.terms.Matrix, shape (n_documents, n_terms)
        Term counts; column = global term id, or its position in `terms`. ``counts[:]`` is the csr_array of all
        documents.
    frequencies : ndarray of int64, shape (n_terms,)
        Documents before this batch that hold the term.
    n_before : int
        Documents before this batch.
    n_initial : int
        Terms that occurred in batch 0 (and have not left): columns below it form the fixed vocabulary.
    novel, novel_dominant : ndarray of int8, shape (n_documents,)
        1 if no topic (the dominant topic) of the document occurred in an earlier batch, 0 if one
        did, -1 for a document without topics.
    vocabulary : list of str
        All terms seen up to and including this batch (that have not left), one a column.
    max_terms : int
        Bound on the terms known after a batch; 0: none.
    terms, last : ndarray of int64, shape (n_terms,), or None
        Where there is a bound: ids, ascending, and the last timestep before this one that had the term.
    base : odl.stream.terms.Base, or None
        The file beside it that holds the words before its own.
    n_numbered, n_left : int
        Where there is a bound: ids assigned so far; terms that left before this batch, of those the last one knew.
    ids, times, topics, titles
        As in `odl.files.documents.Documents`.
    vectors : ndarray of float64, shape (n_documents, n_dimensions), or None
        What the documents mean, centred by the past (`odl.stream.dense`); None where the stream has no vectors.
    groups : odl.stream.duplicates.Groups, or None
        Near-duplicates; None where the corpus is read without ``duplicates``.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(40)))
    >>> batch = features.follow(corpus.select(range(40, 80)), past)
    >>> batch.t, batch.n_before, batch.counts.shape, len(past.vocabulary)
    (1, 40, (40, 1523), 882)
    >>> batch.topics[(batch.novel == 1).argmax()] in {topics for topics in past.topics}
    False
    """

    def __init__(self, file: Any) -> None:
        self.file = file
        facts = file.attrs
        self.t, self.n_before, self.n_initial = (int(facts[name]) for name in ("t", "n_before", "n_initial"))
        self.frequencies, self.novel, self.novel_dominant = (
            storage.read_array(file, name, "i") for name in ("frequencies", "novel", "novel_dominant")
        )
        self.counts = known_terms.Matrix(file, "counts")
        self.max_terms = int(facts.get("max_terms", 0))
        self.sets: list[np.ndarray] = []  # shingles of what the next timestep is compared with, where at hand
        self.terms: Any = None
        self.last: Any = None
        self.n_numbered, self.n_left, self.base = self.counts.shape[1], 0, known_terms.Base.from_file(file)
        if self.max_terms:
            self.n_numbered, self.n_left = (int(facts[name]) for name in ("n_numbered", "n_left"))
            self.terms, self.last = (storage.read_array(file, name, "i") for name in ("terms", "last"))

    @cached_property
    def vocabulary(self) -> list[str]:
        before = self.base.read(blocks.path_of(self.file)) if self.base else []
        return before + storage.read_strings(self.file, "vocabulary")

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Column of each word; the timestep after goes on from it."""
        return {word: number for number, word in enumerate(self.vocabulary)}

    @cached_property
    def ids(self) -> list[str]:
        return storage.read_strings(self.file, "ids")

    @cached_property
    def titles(self) -> list[str]:
        return storage.read_strings(self.file, "titles")

    @cached_property
    def topics(self) -> list[tuple[str, ...]]:
        return docs.read_topics(self.file)

    @cached_property
    def times(self) -> np.ndarray:
        return storage.read_array(self.file, "times", "i")

    @cached_property
    def vectors(self) -> np.ndarray | None:
        return dense.centred(self.raw_vectors, self.vector_mean) if "vectors" in self.file else None

    @cached_property
    def raw_vectors(self) -> np.ndarray:
        return storage.read_array(self.file, "vectors", "f", 2)

    @cached_property
    def vector_mean(self) -> np.ndarray:
        total = storage.read_array(self.file, "vector_total", "f") if self.t else dense.total(self.raw_vectors)
        return total / max(1, self.n_before if self.t else len(self.raw_vectors))

    def vector_mean_after(self) -> np.ndarray:
        """Return the mean of the unit vectors up to and including this batch, by which those that come are centred."""
        return dense.total_after(self.file) / max(1, self.n_before + len(self.raw_vectors))

    @cached_property
    def groups(self) -> duplicates.Groups | None:
        return duplicates.read(self.file) if "duplicates" in self.file else None

    def frequencies_after(self) -> np.ndarray:
        """Return the document frequencies including this batch."""
        total = self.frequencies.copy()
        total += np.bincount(self.counts.arrays["indices"][:], minlength=len(total))
        return total

    def last_after(self) -> np.ndarray:
        """Return the last timestep of each term, this one included; only where there is a bound."""
        last = np.array(self.last)
        last[self.counts.arrays["indices"][:]] = self.t
        return last

    def seen_after(self) -> tuple[set[str], set[str]]:
        """Return the topics, and the dominant topics, of all batches up to and including this one."""
        seen, dominant = (set(storage.read_strings(self.file, name)) for name in ("seen", "seen_dominant"))
        for names in self.topics:
            seen.update(names)
            dominant.update(names[:1])
        return seen, dominant

    def weighed(self, norm: str | None = "l1", corpus: "FeatureFile | None" = None, **settings: Any) -> Weighed:
        """Return the documents (`odl.stream.weighting.Weighed`) under settings of `odl.stream.weighting.Weighting`."""
        return Weighed(self, Weighting(**settings), norm, corpus)

    def write_names(self, file: Any) -> None:
        """Store ids, titles and topics of the documents."""
        for name in ("ids", "titles", "topics"):
            storage.copy_array(self.file, file, name)


def read(path: str | os.PathLike) -> FeatureFile:
    """Open the features of one timestep; the file is closed when nothing refers to it any more.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.

    Examples
    --------
    >>> import os, tempfile
    >>> from odl import corpora
    >>> from odl.stream import features
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "0.h5")
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> _ = features.follow(corpus.select(range(40)), output=path)
    >>> features.read(path).ids[:2]
    ['sim-000001', 'sim-000002']
    """
    with storage.reading(path, "features"):
        return FeatureFile(storage.opened(path))


def advance(output, source, previous=None, max_terms=0, alone=False):
    """Continue the feature chain by one batch, a run of documents at a time.

    Parameters
    ----------
    output : path-like
        Written: features of the timestep.
    source : path-like
        The batch.
    previous : path-like or FeatureFile, optional
        The timestep before; none for batch 0.
    max_terms : int
        Most terms known after a batch; 0: all. Those too many leave before the next one (`odl.stream.terms.staying`).
    alone : bool
        Whether the batches before have no files, so that near-duplicates cannot be told.

    Returns
    -------
    FeatureFile
        Open. Those of the timesteps before have to lie beside the output where the corpus is read for boilerplate, and
        their batches beside the batch where it is read for near-duplicates.

    Raises
    ------
    DataError
        If the batch is not the one that follows.
    """
    before = previous if isinstance(previous, FeatureFile) or previous is None else read(previous)
    wanted = before.t + 1 if before else 0
    with storage.reading(source, "batch") as batch:
        if int(batch.attrs["t"]) != wanted:
            expected = f"timestep {wanted}, after {blocks.path_of(before.file) if before else 'nothing'}"
            problem = f"{source} is of timestep {int(batch.attrs['t'])}"
            raise DataError(problem, expected, "pass the batch that follows")
        sections.Features(max_terms=max_terms)  # refuses what is no bound
        known = known_terms.Known(before, output, max_terms)
        cut = boilerplate.decide(batch, os.path.dirname(os.path.abspath(output)))
        groups, sets = (None, []) if alone else duplicates.decide(batch, before)
        counts, words = storage.read_csr(batch, "counts"), storage.read_strings(batch, "vocabulary")
        used = np.ones(len(words), dtype=bool)
        if cut is not None:
            counts = cut.without(counts)
            used = np.bincount(counts.indices, minlength=len(words)) > 0
        columns = np.zeros(len(words), dtype=np.int32)
        columns[used] = known.columns([word for word, left in zip(words, used.tolist(), strict=True) if left])
        seen, dominant = before.seen_after() if before else (set(), set())
        sizes = {"t": wanted, "n_before": before.n_before + before.counts.shape[0] if before else 0}
        if "shingles" in batch or "passages" in batch:  # decided by more of the past than the features before hold
            past = before.file.attrs["digest"] if before else digests.NO_DIGEST
            sizes |= {"batch": batch.attrs["digest"], "previous": past}
        with storage.writing(output, "features", **sizes, **known.attributes) as file:
            storage.write_csr(file, "counts", known_terms.under(counts, columns, len(known.vocabulary)))
            known.write(file)
            for name in ("ids", "titles"):
                storage.copy_array(batch, file, name)
            storage.write_strings(file, "seen", sorted(seen))
            storage.write_strings(file, "seen_dominant", sorted(dominant))
            storage.write_array(file, "frequencies", known.frequencies)
            _write_labels(file, batch, seen, dominant)
            for name in ("times", "topics"):
                storage.copy_array(batch, file, name)
            boilerplate.write(file, cut, before and before.file)
            duplicates.write(file, groups)
            dense.advance(file, batch, before)
    data = FeatureFile(storage.opened(output))
    data.vocabulary, data.numbers, data.sets = known.vocabulary, known.numbers, sets  # which are not read again
    return data


def follow(
    documents: docs.Documents,
    previous: FeatureFile | None = None,
    output: str | os.PathLike | None = None,
    max_terms: int = 0,
) -> FeatureFile:
    """Continue the feature chain by documents in memory, as `advance` does by a file of them.

    Boilerplate stays, and near-duplicates are not grouped: both are told by files of the timesteps before.

    Parameters
    ----------
    documents : odl.files.documents.Documents
        The batch.
    previous : FeatureFile, optional
        The timestep before; none for batch 0.
    output : path-like, optional
        Written: features of the timestep. Without one their file goes when nothing refers to it any more.
    max_terms : int
        As in `advance`.

    Returns
    -------
    FeatureFile

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(40)))
    >>> batch = features.follow(corpus.select(range(40, 80)), past)
    >>> batch.n_before
    40
    """
    with tempfile.TemporaryDirectory() as folder:
        source, output = os.path.join(folder, "batch.h5"), output or os.path.join(folder, "features.h5")
        alone = replace(documents, passages=None, shingles=None)
        docs.write(source, alone, "batch", t=previous.t + 1 if previous else 0)
        return advance(output, source, previous, max_terms, alone=True)


def label(topics: Collection[str], seen: Collection[str]) -> int:
    """Return whether a document of these topics is novel, known, or neither.

    Examples
    --------
    >>> from odl.stream.features import label
    >>> label(("oil",), {"gas"}), label(("oil", "gas"), {"gas"}), label((), {"gas"})
    (1, 0, -1)
    """
    return UNLABELLED if not topics else KNOWN if any(name in seen for name in topics) else NOVEL


def _write_labels(file, batch, seen, dominant):
    """Store the labels of a batch by all topics, and by the dominant ones, of earlier batches."""
    topics = docs.read_topics(batch)
    for name, most, past in (("novel", None, seen), ("novel_dominant", 1, dominant)):
        storage.write_array(file, name, np.array([label(names[:most], past) for names in topics], dtype=np.int8))
