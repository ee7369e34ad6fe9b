"""Features of a stream: term counts, document frequencies and novelty labels.

There is one feature file per timestep, computed from the batch and the feature file before. It has
the term counts of the documents, and the number of documents with each term *before* the timestep.
A term has the same column in all timesteps. With a bound on the vocabulary (`max_terms`), the
columns are those of the terms that have not been forgotten (`odl.stream.terms`).
"""

import os
import tempfile
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from itertools import compress
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
    """An open feature file: the features of one timestep.

    Parameters
    ----------
    file : h5py.File
        File of kind "features".

    Attributes
    ----------
    t : int
        Timestep; 0 is the initialisation batch.
    counts : odl.stream.terms.Matrix, shape (n_documents, n_terms)
        Term counts, whose rows are read on demand. ``counts[:]`` is the csr_array of all documents.
    frequencies : ndarray of int64, shape (n_terms,)
        Number of documents before this batch that have the term.
    n_before : int
        Number of documents before this batch.
    n_initial : int
        Number of terms of batch 0 that have not been forgotten. They are the first columns, which
        the setting `vocabulary: fixed` uses.
    novel : ndarray of int8, shape (n_documents,)
        Novelty label of each document by all its topics (see `label`).
    novel_dominant : ndarray of int8, shape (n_documents,)
        Novelty label of each document by its dominant topic, compared with earlier dominant topics.
    vocabulary : list of str
        Word of each column: the terms of this and earlier batches that have not been forgotten.
    max_terms : int
        Largest number of terms before a batch; 0 for no bound.
    terms : ndarray of int64, shape (n_terms,), or None
        Ids of the terms, ascending; None without a bound.
    last : ndarray of int64, shape (n_terms,), or None
        Last timestep before this one with each term; None without a bound.
    base : odl.stream.terms.Base, or None
        Earlier feature file that stores the first words of the vocabulary.
    n_numbered : int
        Number of term ids assigned so far.
    n_left : int
        Number of terms forgotten between the batch before and this one.
    ids, times, topics, titles
        See `odl.files.documents.Documents`.
    vectors : ndarray of float64, shape (n_documents, n_dimensions), or None
        Vectors of the documents, centred (`odl.stream.dense`); None for a stream without vectors.
    groups : odl.stream.duplicates.Groups, or None
        Near-duplicates; None if the corpus is read without ``duplicates``.

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
        """Read the small arrays of an open feature file; other arrays are read on demand."""
        self.file = file
        attributes = file.attrs
        self.t, self.n_before, self.n_initial = (
            int(attributes[name]) for name in ("t", "n_before", "n_initial")
        )
        self.frequencies, self.novel, self.novel_dominant = (
            storage.read_array(file, name, "i")
            for name in ("frequencies", "novel", "novel_dominant")
        )
        self.counts = known_terms.Matrix(file, "counts")
        self.max_terms = int(attributes.get("max_terms", 0))
        self.sets: list[np.ndarray] = []  # shingles for the next timestep, if computed here
        self.terms: Any = None
        self.last: Any = None
        self.n_numbered, self.n_left = self.counts.shape[1], 0
        self.base = known_terms.Base.from_file(file)
        if self.max_terms:
            self.n_numbered, self.n_left = (
                int(attributes[name]) for name in ("n_numbered", "n_left")
            )
            self.terms, self.last = (
                storage.read_array(file, name, "i") for name in ("terms", "last")
            )

    @cached_property
    def vocabulary(self) -> list[str]:
        before = self.base.read(blocks.path_of(self.file)) if self.base else []
        return before + storage.read_strings(self.file, "vocabulary")

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Dictionary from each word to its column."""
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
        total = (
            storage.read_array(self.file, "vector_total", "f")
            if self.t
            else dense.total(self.raw_vectors)
        )
        return total / max(1, self.n_before if self.t else len(self.raw_vectors))

    def vector_mean_after(self) -> np.ndarray:
        """Return the mean of all unit vectors up to this batch, which centres the next batch."""
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
        """Return the last timestep with each term, including this one; needs a bound on terms."""
        last = np.array(self.last)
        last[self.counts.arrays["indices"][:]] = self.t
        return last

    def seen_after(self) -> tuple[set[str], set[str]]:
        """Return the set of all topics, and the set of all dominant topics, up to this batch."""
        seen, dominant = (
            set(storage.read_strings(self.file, name)) for name in ("seen", "seen_dominant")
        )
        for names in self.topics:
            seen.update(names)
            dominant.update(names[:1])
        return seen, dominant

    def weighed(
        self, norm: str | None = "l1", corpus: "FeatureFile | None" = None, **settings: Any
    ) -> Weighed:
        """Return the documents with term weights; `settings` are those of `Weighting`."""
        return Weighed(self, Weighting(**settings), norm, corpus)

    def write_names(self, file: Any) -> None:
        """Store ids, titles and topics of the documents."""
        for name in ("ids", "titles", "topics"):
            storage.copy_array(self.file, file, name)


def read(path: str | os.PathLike) -> FeatureFile:
    """Open the feature file of one timestep. The file is closed when the object is deleted.

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
    """Compute the features of the next batch, and write them.

    The removal of boilerplate reads earlier feature files from the folder of `output`. The search
    for near-duplicates reads earlier batches from the folder of `source`.

    Parameters
    ----------
    output : path-like
        Written: features of the timestep.
    source : path-like
        The batch.
    previous : path-like or FeatureFile, optional
        Features of the timestep before; None for batch 0.
    max_terms : int
        Largest number of terms before a batch; 0 for no bound. Surplus terms are forgotten
        (`odl.stream.terms.staying`).
    alone : bool
        Whether to skip near-duplicates, because the earlier batches have no files.

    Returns
    -------
    FeatureFile

    Raises
    ------
    DataError
        If the batch is not that of the next timestep.
    """
    before = previous if isinstance(previous, FeatureFile) or previous is None else read(previous)
    with storage.reading(source, "batch") as batch:
        attributes = _attributes(batch, before)
        sections.Features(max_terms=max_terms)  # raises an error for an invalid bound
        known = known_terms.Known(before, output, max_terms)
        cut = boilerplate.decide(batch, os.path.dirname(os.path.abspath(output)))
        groups, sets = (None, []) if alone else duplicates.decide(batch, before)
        counts = _counts(batch, cut, known)
        seen, dominant = before.seen_after() if before else (set(), set())
        with storage.writing(output, "features", **attributes, **known.attributes) as file:
            storage.write_csr(file, "counts", counts)
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
    # These values need not be read from the new file.
    data.vocabulary, data.numbers, data.sets = known.vocabulary, known.numbers, sets
    data.groups = groups
    return data


def _attributes(batch, before):
    """Return the attributes of the feature file for an open batch, without those of the terms.

    DataError is raised if the batch is not that of the timestep after `before`.
    """
    t, batch_t = before.t + 1 if before else 0, int(batch.attrs["t"])
    if batch_t != t:
        expected = f"timestep {t}, after {blocks.path_of(before.file) if before else 'nothing'}"
        problem = f"{blocks.path_of(batch)} is of timestep {batch_t}"
        raise DataError(problem, expected, f"pass the batch of timestep {t}")
    attributes = {"t": t, "n_before": before.n_before + before.counts.shape[0] if before else 0}
    if "shingles" in batch or "passages" in batch:  # such features also depend on earlier files
        past = before.file.attrs["digest"] if before else digests.NO_DIGEST
        attributes |= {"batch": batch.attrs["digest"], "previous": past}
    return attributes


def _counts(batch, cut, known):
    """Return the term counts of an open batch, with the columns of the stream.

    `cut` is the boilerplate to remove, or None. The new words of the batch are added to `known`.
    """
    counts, words = storage.read_csr(batch, "counts"), storage.read_strings(batch, "vocabulary")
    used = np.ones(len(words), dtype=bool)
    if cut is not None:
        counts = cut.without(counts)
        used = np.bincount(counts.indices, minlength=len(words)) > 0
    columns = np.zeros(len(words), dtype=np.int32)
    columns[used] = known.columns(list(compress(words, used)))
    return known_terms.under(counts, columns, len(known.vocabulary))


def follow(
    documents: docs.Documents,
    previous: FeatureFile | None = None,
    output: str | os.PathLike | None = None,
    max_terms: int = 0,
) -> FeatureFile:
    """Compute the features of the next batch from documents in memory.

    Unlike in `advance`, boilerplate is not removed and near-duplicates are not grouped, since both
    need the files of earlier timesteps.

    Parameters
    ----------
    documents : odl.files.documents.Documents
        The batch.
    previous : FeatureFile, optional
        Features of the timestep before; None for batch 0.
    output : path-like, optional
        Written: features of the timestep. By default, a temporary file that is deleted.
    max_terms : int
        See `advance`.

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
        source = os.path.join(folder, "batch.h5")
        output = output or os.path.join(folder, "features.h5")
        documents = replace(documents, passages=None, shingles=None)
        docs.write(source, documents, "batch", t=previous.t + 1 if previous else 0)
        return advance(output, source, previous, max_terms, alone=True)


def label(topics: Collection[str], seen: Collection[str]) -> int:
    """Return the novelty label of a document with the given topics.

    The label is 1 (novel) if no topic is in `seen`, 0 if a topic is, -1 without topics.

    Examples
    --------
    >>> from odl.stream.features import label
    >>> label(("oil",), {"gas"}), label(("oil", "gas"), {"gas"}), label((), {"gas"})
    (1, 0, -1)
    """
    if not topics:
        return UNLABELLED
    return KNOWN if any(name in seen for name in topics) else NOVEL


def _write_labels(file, batch, seen, dominant):
    """Store the novelty labels of the documents in a batch, by all and by dominant topics.

    `seen` contains the topics of earlier documents, `dominant` their dominant topics.
    """
    topics = docs.read_topics(batch)
    labels = [label(names, seen) for names in topics]
    dominant_labels = [label(names[:1], dominant) for names in topics]
    storage.write_array(file, "novel", np.array(labels, dtype=np.int8))
    storage.write_array(file, "novel_dominant", np.array(dominant_labels, dtype=np.int8))
