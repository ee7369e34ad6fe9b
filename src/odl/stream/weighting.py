"""TF-IDF weights of term counts, computed on load, so that every learner reads the same chain in its own way."""

from typing import Any

import numpy as np
from scipy import sparse

from odl.config.sections import Weighting
from odl.errors import ParameterError

COMMON = 30  # documents of a stop word at least


def _check_choice(name, value, choices):
    if value not in choices:
        raise ParameterError(f"{name} is {value!r}", f"one of {choices}", "choose one of these")


class Weighed:
    """Documents of a timestep as weighed by one learner's settings; ``[first:last]`` reads rows, ``[:]`` all.

    Parameters
    ----------
    batch : odl.stream.features.Features
    weighting : Weighting
    norm : {"l1", "l2", None}
        Of a document.
    corpus : odl.stream.features.Features, optional
        The last batch of the stream; required by ``idf="corpus"``.

    Raises
    ------
    ParameterError
        If the norm is none of these, the end of the stream is missing, or the fixed vocabulary is asked of buckets.

    Examples
    --------
    >>> from odl import corpora
    >>> from odl.stream import features
    >>> corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> past = features.follow(corpus.select(range(40)))
    >>> batch = features.follow(corpus.select(range(40, 80)), past)
    >>> weighed = batch.weighed(norm="l1", tf="log")
    >>> weighed[:].shape, weighed[:5].sum(axis=1).round(6)
    ((40, 1523), array([1., 1., 1., 1., 1.]))
    """

    def __init__(self, batch: Any, weighting: Weighting, norm: str | None = "l1", corpus: Any = None) -> None:
        _check_choice("norm", norm, ("l1", "l2", None))
        if weighting.vocabulary == "fixed" and batch.hash_terms:
            problem = (
                f"vocabulary 'fixed' with hash_terms {batch.hash_terms}, of whose buckets none is the first batch's"
            )
            raise ParameterError(problem, "vocabulary 'growing'", "choose it, or set hash_terms to 0")
        self.counts, self.shape = batch.counts, batch.counts.shape
        self.settings = {"tf": weighting.tf, "idf": weighting.idf != "none", "norm": norm}
        self.settings |= {"min_df": weighting.min_df, "max_share": weighting.max_share}
        self.known = np.arange(self.shape[1]) < batch.n_initial if weighting.vocabulary == "fixed" else None
        self.frequencies, self.n_documents = _frequencies(batch, weighting.idf, corpus)

    def __getitem__(self, span):
        return self._weighed(self.counts[span])

    def take(self, few: np.ndarray) -> sparse.csr_array:
        """Return a few rows, in their order."""
        return self._weighed(self.counts.take(few))

    def _weighed(self, counts):
        counts = counts if self.known is None else drop_columns(counts, self.known)
        return weigh(counts, self.frequencies, self.n_documents, **self.settings)


def _frequencies(batch, idf, corpus):
    """Return the document frequencies of the terms of a batch, and the documents they were counted in."""
    if idf == "corpus":
        if corpus is None:
            raise ParameterError("idf 'corpus' without the last feature file", "the last batch", "pass corpus")
        if batch.terms is not None:
            problem = "idf 'corpus' with max_terms: the last batch has no frequencies of terms that have left"
            raise ParameterError(problem, "idf 'past' or 'none'", "choose one of them, or set max_terms to 0")
        if corpus.t < batch.t:
            problem = f"the last batch is of timestep {corpus.t}, before {batch.t}"
            raise ParameterError(problem, "the end of the stream", "pass the last features")
        return corpus.frequencies_after()[: batch.counts.shape[1]], corpus.n_before + corpus.counts.shape[0]
    if batch.t == 0:
        return batch.frequencies_after(), batch.counts.shape[0]
    return batch.frequencies, batch.n_before


def drop_columns(matrix, keep):
    """Return the CSR matrix with the entries of columns outside the mask `keep` removed; same shape."""
    return _entries(matrix, keep[matrix.indices])


def _entries(matrix, kept):
    """Return the CSR matrix with some of its entries."""
    totals = np.concatenate([[0], np.cumsum(kept)])
    shape, indptr = matrix.shape, totals[matrix.indptr].astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=shape)


def weigh(
    counts: sparse.csr_array,
    frequencies: np.ndarray,
    n_documents: int,
    *,
    tf: str = "raw",
    idf: bool = True,
    norm: str | None = "l1",
    min_df: int = 0,
    max_share: float = 1.0,
) -> sparse.csr_array:
    """Weigh term counts by inverse document frequency and normalise each document.

    ``idf_i = log((1 + n) / (1 + df_i)) + 1``, so that a term never seen before has the largest,
    finite weight; ``log`` tf is ``1 + log(count)``.

    Equation `idf` of docs/method.md.

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
    max_share : float
        Terms in a larger share of the documents, and in `COMMON` at least, are stop words and are dropped, but from
        documents that have no other: a line of a log that came a thousand times is not unexplained.

    Returns
    -------
    csr_array of float64
        Rows of unit norm; a document without a known term is an empty row.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.stream.weighting import weigh
    >>> weigh(csr_array([[2, 1, 0], [0, 1, 3]]), np.array([9, 1, 0]), 10).toarray().round(2)  # the rarer, the heavier
    array([[0.45, 0.55, 0.  ],
           [0.  , 0.21, 0.79]])
    """
    if min_df > 0:
        counts = drop_columns(counts, frequencies >= min_df)
    if max_share < 1:
        counts = _without_common(counts, (frequencies <= max_share * n_documents) | (frequencies < COMMON))
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


def _without_common(counts, rare):
    """Drop the terms that are not rare from the documents that have one that is."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    kept = rare[counts.indices]
    kept |= (np.bincount(rows, kept, minlength=counts.shape[0]) == 0)[rows]
    return _entries(counts, kept)
