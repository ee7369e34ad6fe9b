"""Vocabulary, document frequencies and TF-IDF over a stream, with nothing taken from the future.

A chain of files, one per timestep, holds term counts under global term ids (given in order of first
appearance, never changed) with the document frequencies *before* the timestep. Weights are computed
on load, so every learner reads the same chain with its own tf form, idf form and norm.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from odl.errors import ParameterError, StorageError
from odl.files import documents as docs
from odl.files import storage

UNLABELLED, KNOWN, NOVEL = -1, 0, 1


@dataclass
class FeatureBatch:
    """One timestep of the feature chain.

    Attributes
    ----------
    t : int
        Timestep; 0 is the initialisation batch.
    counts : csr_array of int, shape (n_documents, n_terms)
        Term counts; column = global term id.
    vocabulary : list of str
        All terms seen up to and including this batch.
    frequencies : ndarray of int64, shape (n_terms,)
        Documents before this batch that hold the term.
    n_before : int
        Documents before this batch.
    n_initial : int
        Terms that occurred in batch 0: ids below it form the fixed vocabulary.
    novel, novel_dominant : ndarray of int8, shape (n_documents,)
        1 if no topic (the dominant topic) of the document occurred in an earlier batch, 0 if one
        did, -1 for a document without topics.
    seen, seen_dominant : set of str
        Topics (dominant topics) of the batches before this one.
    ids, times, topics, titles
        As in `odl.files.documents.Documents`.
    """

    t: int
    counts: sparse.csr_array
    vocabulary: list
    frequencies: np.ndarray
    n_before: int
    n_initial: int
    novel: np.ndarray
    novel_dominant: np.ndarray
    seen: set
    seen_dominant: set
    ids: list
    times: np.ndarray
    topics: list
    titles: list

    def frequencies_after(self):
        """Return the document frequencies including this batch."""
        return self.frequencies + np.bincount(self.counts.indices, minlength=self.counts.shape[1])

    def weigh(self, *, tf="raw", idf="past", norm="l1", min_df=0, vocabulary="growing", corpus=None):
        """Return the TF-IDF matrix of this batch under one learner's settings.

        Parameters
        ----------
        tf, norm, min_df
            As in `weigh`.
        idf : {"past", "corpus", "none"}
            Frequencies of the earlier batches (batch 0: its own), of the whole corpus, or no idf.
        vocabulary : {"growing", "fixed"}
            All terms known so far, or those of batch 0 only.
        corpus : FeatureBatch, optional
            The last batch of the stream; required by ``idf="corpus"``.

        Returns
        -------
        csr_array of float64, shape (n_documents, n_terms)
        """
        settings = {"tf": tf, "idf": idf, "norm": norm, "min_df": min_df, "vocabulary": vocabulary}
        return weighing(self, **settings, corpus=corpus)(self.counts)

    def write_names(self, file):
        """Store ids, titles and topics of the documents."""
        for name in ("ids", "titles"):
            storage.write_strings(file, name, getattr(self, name))
        docs.write_topics(file, self.topics)


def weighing(batch, *, tf="raw", idf="past", norm="l1", min_df=0, vocabulary="growing", corpus=None):
    """Return the function that weighs rows of a batch's counts; see `FeatureBatch.weigh`.

    Parameters
    ----------
    batch : FeatureBatch or odl.stream.featurerows.Stored
    tf, idf, norm, min_df, vocabulary
        As in `FeatureBatch.weigh`.
    corpus : FeatureBatch or odl.stream.featurerows.Stored, optional
    """
    for name, value, allowed in (
        ("tf", tf, ("raw", "log")),
        ("idf", idf, ("past", "corpus", "none")),
        ("norm", norm, ("l1", "l2", None)),
        ("vocabulary", vocabulary, ("growing", "fixed")),
    ):
        if value not in allowed:
            raise ParameterError(f"{name} is {value!r}", f"one of {allowed}", "choose one of these")
    n_terms = batch.counts.shape[1]
    if idf == "corpus":
        if corpus is None:
            raise ParameterError("idf 'corpus' without the last feature file", "the last batch", "pass corpus")
        if corpus.t < batch.t:
            given = f"the last batch is of timestep {corpus.t}, before {batch.t}"
            raise ParameterError(given, "the end of the stream", "pass the last features")
        frequencies, n_documents = corpus.frequencies_after()[:n_terms], corpus.n_before + corpus.counts.shape[0]
    elif batch.t == 0:
        frequencies, n_documents = batch.frequencies_after(), batch.counts.shape[0]
    else:
        frequencies, n_documents = batch.frequencies, batch.n_before
    known = np.arange(n_terms) < batch.n_initial if vocabulary == "fixed" else None
    settings = {"tf": tf, "idf": idf != "none", "norm": norm, "min_df": min_df}

    def weighed(counts):
        counts = counts if known is None else drop_columns(counts, known)
        return weigh(counts, frequencies, n_documents, **settings)

    return weighed


def drop_columns(matrix, keep):
    """Return the CSR matrix with the entries of columns outside the mask `keep` removed; same shape."""
    kept = keep[matrix.indices]
    totals = np.concatenate([[0], np.cumsum(kept)])
    shape, indptr = matrix.shape, totals[matrix.indptr].astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=shape)


def weigh(counts, frequencies, n_documents, *, tf="raw", idf=True, norm="l1", min_df=0):
    """Weigh term counts by inverse document frequency and normalise each document.

    ``idf_i = log((1 + n) / (1 + df_i)) + 1``, so that a term never seen before has the largest,
    finite weight; ``log`` tf is ``1 + log(count)``.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_terms)
        Term counts.
    frequencies : ndarray, shape (n_terms,)
        Document frequency of each term.
    n_documents : int
        Documents that the frequencies were counted in.
    tf : {"raw", "log"}
    idf : bool
    norm : {"l1", "l2", None}
    min_df : int
        Terms in fewer documents than this are not known yet and are dropped.

    Returns
    -------
    csr_array of float64
        Rows of unit norm; a document without a known term is an empty row.
    """
    if min_df > 0:
        counts = drop_columns(counts, frequencies >= min_df)
    data = counts.data.astype(np.float64)
    if tf == "log":
        data = 1.0 + np.log(data)
    if idf:
        data *= (np.log((1.0 + n_documents) / (1.0 + frequencies)) + 1.0)[counts.indices]
    if norm is not None:
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        sizes = np.bincount(rows, data if norm == "l1" else data * data, minlength=counts.shape[0])
        data /= (sizes if norm == "l1" else np.sqrt(sizes))[rows]
    return sparse.csr_array((data, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)


def label(topics, seen):
    """Return whether a document of these topics is novel, known, or neither."""
    return UNLABELLED if not topics else KNOWN if any(name in seen for name in topics) else NOVEL


def _labels(topics, seen):
    return np.array([label(names, seen) for names in topics], dtype=np.int8)


def number_terms(words, vocabulary):
    """Return the global ids of a batch's words; new ones are appended to the vocabulary, in the order given."""
    ids = {word: number for number, word in enumerate(vocabulary)}
    columns = np.empty(len(words), dtype=np.int32)
    # Order of first appearance: by batch, and by spelling inside a batch (the batch's own order).
    for column, word in enumerate(words):
        number = ids.get(word)
        if number is None:
            number = ids[word] = len(vocabulary)
            vocabulary.append(word)
        columns[column] = number
    return columns


def advance(documents, previous=None):
    """Continue the feature chain by one batch.

    Parameters
    ----------
    documents : odl.files.documents.Documents
        The batch.
    previous : FeatureBatch, optional
        The timestep before; none for batch 0.

    Returns
    -------
    FeatureBatch
    """
    vocabulary = list(previous.vocabulary) if previous else []
    columns = number_terms(documents.vocabulary, vocabulary)
    counts = sparse.csr_array(
        (documents.counts.data, columns[documents.counts.indices], documents.counts.indptr),
        shape=(len(documents), len(vocabulary)),
    ).sorted_indices()
    frequencies = np.zeros(len(vocabulary), dtype=np.int64)
    seen, seen_dominant = set(), set()
    if previous:
        frequencies[: len(previous.vocabulary)] = previous.frequencies_after()
        seen = previous.seen.union(*previous.topics)
        seen_dominant = previous.seen_dominant | {names[0] for names in previous.topics if names}
    return FeatureBatch(
        t=previous.t + 1 if previous else 0,
        counts=counts,
        vocabulary=vocabulary,
        frequencies=frequencies,
        n_before=previous.n_before + len(previous.ids) if previous else 0,
        n_initial=previous.n_initial if previous else len(vocabulary),
        novel=_labels(documents.topics, seen),
        novel_dominant=_labels([names[:1] for names in documents.topics], seen_dominant),
        seen=seen,
        seen_dominant=seen_dominant,
        ids=documents.ids,
        times=documents.times,
        topics=documents.topics,
        titles=documents.titles,
    )


def write(path, batch):
    """Write one timestep of the chain."""
    sizes = {"t": batch.t, "n_before": batch.n_before, "n_initial": batch.n_initial}
    with storage.writing(path, "features", **sizes) as file:
        storage.write_csr(file, "counts", batch.counts.astype(np.int32))
        for name in ("vocabulary", "ids", "titles"):
            storage.write_strings(file, name, getattr(batch, name))
        for name in ("seen", "seen_dominant"):
            storage.write_strings(file, name, sorted(getattr(batch, name)))
        for name in ("frequencies", "novel", "novel_dominant", "times"):
            storage.write_array(file, name, getattr(batch, name))
        docs.write_topics(file, batch.topics)


def read(path):
    """Read one timestep of the chain.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, "features") as file:
        batch = FeatureBatch(
            **{name: int(file.attrs[name]) for name in ("t", "n_before", "n_initial")},
            counts=storage.read_csr(file, "counts"),
            **{name: storage.read_strings(file, name) for name in ("vocabulary", "ids", "titles")},
            **{name: set(storage.read_strings(file, name)) for name in ("seen", "seen_dominant")},
            **{
                name: storage.read_array(file, name, "i")
                for name in ("frequencies", "novel", "novel_dominant", "times")
            },
            topics=docs.read_topics(file),
        )
        if batch.counts.data.min(initial=1) <= 0:
            raise ValueError("a count is not positive")
    check_fit(batch, map(len, (batch.ids, batch.titles, batch.topics, batch.times)), len(batch.vocabulary), path)
    return batch


def check_fit(batch, named, n_words, path):
    """Refuse a timestep whose parts are not of one size, or whose numbers are not such as are counted.

    Parameters
    ----------
    batch : FeatureBatch or odl.stream.featurerows.Stored
    named : iterable of int
        How many ids, titles, topics and times there are.
    n_words : int
        Size of the vocabulary.
    path : path-like
        The file, for the message.
    """
    n_documents, n_terms = batch.counts.shape
    by_document = {*named, len(batch.novel), len(batch.novel_dominant)}
    if not (
        by_document == {n_documents}
        and len(batch.frequencies) == n_words == n_terms
        and batch.counts.dtype.kind in "iu"
        and (batch.t >= 0 and batch.n_before >= 0 and 0 <= batch.n_initial <= n_terms)
        and 0 <= batch.frequencies.min(initial=0) <= batch.frequencies.max(initial=0) <= batch.n_before
    ):
        raise StorageError(f"{path} does not fit together", "counts that match", f"delete {path} and run again")
