"""TF-IDF weights for term counts.

Files store counts only. Weights are computed when a learner reads features, so that each learner
can have its own settings.
"""

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from odl.config.sections import Weighting
from odl.errors import ParameterError
from odl.stream import pieces

if TYPE_CHECKING:
    from odl.text.stopwords import StopWords

MIN_STOP_WORD_DOCUMENTS = 30  # smallest number of documents with a term that `max_share` drops
DEFAULT_WEIGHTING = Weighting()


class Weighed:
    """The documents in a timestep as rows of term weights, with the settings of one learner.

    ``weighed[first:last]`` reads and weighs these rows; ``weighed[:]`` all rows. The result is a
    csr_array.

    Parameters
    ----------
    batch : odl.stream.features.FeatureFile
    weighting : Weighting
    norm : {"l1", "l2", None}
        Norm to which documents are scaled.
    corpus : odl.stream.features.FeatureFile, optional
        The last batch of the stream; required by ``idf="corpus"``.

    Raises
    ------
    ParameterError
        If the norm is unknown, or ``idf="corpus"`` cannot be computed.

    Attributes
    ----------
    n_pieces : int
        Number of columns of pieces of words (`odl.stream.pieces`), which precede those of words.
    pieces : Pieces or None

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

    def __init__(
        self, batch: Any, weighting: Weighting, norm: str | None = "l1", corpus: Any = None
    ) -> None:
        if norm not in ("l1", "l2", None):
            raise ParameterError(f"norm is {norm!r}", "'l1', 'l2' or None", "correct norm")
        self.counts, n_terms = batch.counts, batch.counts.shape[1]
        self.weighting, self.norm = weighting, norm
        self.known = (
            np.arange(n_terms) < batch.n_initial if weighting.vocabulary == "fixed" else None
        )
        self.frequencies, self.n_documents = _frequencies(batch, weighting.idf, corpus)
        self.pieces = None
        if weighting.pieces:
            self.pieces = Pieces(
                batch.vocabulary, self.frequencies, self.n_documents, weighting.pieces
            )
        self.n_pieces = pieces.BUCKETS if self.pieces else 0
        self.shape = (self.counts.shape[0], self.n_pieces + n_terms)
        self.terms = batch.terms
        if self.pieces and batch.terms is not None:
            # The ids of pieces are negative, so that they differ from those of terms.
            self.terms = np.concatenate([np.arange(-self.n_pieces, 0), batch.terms])
        self.stop_words = _stop_words(batch, self.frequencies) if weighting.languages else None

    def __getitem__(self, span):
        return self.weigh(self.counts[span])

    def without_stop_words(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Return counts (columns of the batch) without stop words and too frequent words."""
        return without_stop_words(
            counts, self.frequencies, self.n_documents, self.weighting, self.stop_words
        )

    def weigh(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Weigh counts with the columns of the batch by the term weights of this timestep.

        The rows may be earlier documents.
        """
        return self._weigh(counts, self.weighting, self.norm, self.pieces)

    def weigh_words(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Weigh counts to compare documents by their words (`weigh_for_comparison`)."""
        counts = counts if self.known is None else drop_columns(counts, self.known)
        past = self.frequencies, self.n_documents
        return weigh_for_comparison(counts, *past, self.weighting, stop_words=self.stop_words)

    def _weigh(self, counts, weighting, norm, pieces):
        counts = counts if self.known is None else drop_columns(counts, self.known)
        past = self.frequencies, self.n_documents
        return weigh(counts, *past, weighting, norm, stop_words=self.stop_words, pieces=pieces)


def _frequencies(batch, idf, corpus):
    """Return the document frequency of each term in a batch, and the number of counted documents.

    With idf "corpus", all documents of the stream are counted. The argument `corpus` must then have
    the features of the last timestep; otherwise, ParameterError is raised. With other values of
    idf, the earlier documents are counted, at timestep 0 those of the batch.
    """
    if idf == "corpus":
        if corpus is None:
            raise ParameterError(
                "idf is 'corpus', and no last feature file is given",
                "the features of the last timestep",
                "pass them as corpus",
            )
        if batch.terms is not None:
            problem = (
                "idf is 'corpus' and max_terms is set: the last batch lacks the frequencies of "
                "removed terms"
            )
            raise ParameterError(
                problem, "idf 'past' or 'none'", "change idf, or set max_terms to 0"
            )
        if corpus.t < batch.t:
            problem = f"the argument corpus is of timestep {corpus.t}, before {batch.t}"
            raise ParameterError(
                problem, "the features of the last timestep", "pass them as corpus"
            )
        frequencies = corpus.frequencies_after()[: batch.counts.shape[1]]
        return frequencies, corpus.n_before + corpus.counts.shape[0]
    if batch.t == 0:
        return batch.frequencies_after(), batch.counts.shape[0]
    return batch.frequencies, batch.n_before


def _stop_words(batch, frequencies):
    """Return the `StopWords` for a batch."""
    from odl.text.stopwords import StopWords  # the import reads all lists of stop words

    return StopWords(batch.vocabulary, frequencies)


def drop_columns(matrix, mask):
    """Return a CSR matrix of the same shape with only the entries in the columns of a mask."""
    return select_entries(matrix, mask[matrix.indices])


def select_entries(matrix, mask):
    """Return a CSR matrix of the same shape with only the stored entries that a mask selects."""
    totals = np.concatenate([[0], np.cumsum(mask)])
    indptr = totals[matrix.indptr].astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[mask], matrix.indices[mask], indptr), shape=matrix.shape)


def select_words(counts, mask):
    """Return counts with only the stored entries that a mask selects.

    A document without a selected entry is unchanged, so that no document becomes empty.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_terms)
    mask : ndarray of bool
        Whether each stored entry of `counts` is selected.
    """
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    n_selected = np.bincount(rows, mask, minlength=counts.shape[0])
    return select_entries(counts, mask | (n_selected == 0)[rows])


def without_stop_words(counts, frequencies, n_documents, weighting, stop_words=None):
    """Return counts without stop words and without words that occur in too many documents.

    A word is too frequent if it occurs in more than the share ``weighting.max_share`` of the
    documents and in at least `MIN_STOP_WORD_DOCUMENTS`. For the parameters see `weigh`.
    """
    if weighting.max_share == 1 and stop_words is None:
        return counts
    is_rare = frequencies <= weighting.max_share * n_documents
    is_content = (is_rare | (frequencies < MIN_STOP_WORD_DOCUMENTS))[counts.indices]
    if stop_words is not None:
        is_content = is_content & stop_words.is_content(counts)
    return select_words(counts, is_content)


def weigh(
    counts: sparse.csr_array,
    frequencies: np.ndarray,
    n_documents: int,
    weighting: Weighting = DEFAULT_WEIGHTING,
    norm: str | None = "l1",
    *,
    stop_words: "StopWords | None" = None,
    pieces: "Pieces | None" = None,
) -> sparse.csr_array:
    """Weigh term counts by inverse document frequency and normalise each document.

    ``idf_i = log((1 + n) / (1 + df_i)) + 1``, which is finite for a term that occurs in no earlier
    document. With ``tf="log"`` the term frequency is ``1 + log(count)``.

    Equation `idf` of docs/method.md.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_terms)
        Term counts.
    frequencies : ndarray, shape (n_terms,)
        Document frequency of each term.
    n_documents : int
        Number of documents in which the frequencies were counted.
    weighting : odl.config.sections.Weighting, optional
        Form of tf and idf. Terms in fewer than `min_df` documents are dropped. Terms in more than
        the share `max_share` of the documents are dropped as stop words, unless they are in fewer
        than `MIN_STOP_WORD_DOCUMENTS`, or the document has only stop words: an often repeated log
        line must not become an empty document.
    norm : {"l1", "l2", None}
    stop_words : odl.text.stopwords.StopWords, optional
        Stop words of each document's language, which are dropped in the same way.
    pieces : Pieces, optional
        Weights of pieces of the words, which are added as columns before those of the words.

    Returns
    -------
    csr_array of float64, shape (n_documents, n_terms)
        Rows of unit norm. A document whose terms are all dropped has an empty row.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.stream.weighting import weigh
    >>> weigh(csr_array([[2, 1, 0], [0, 1, 3]]), np.array([9, 1, 0]), 10).toarray().round(2)
    array([[0.45, 0.55, 0.  ],
           [0.  , 0.21, 0.79]])
    """
    if weighting.min_df > 0:
        counts = drop_columns(counts, frequencies >= weighting.min_df)
    counts = without_stop_words(counts, frequencies, n_documents, weighting, stop_words)
    data = counts.data.astype(np.float64)
    if weighting.tf == "log":
        data = 1.0 + np.log(data)
    if weighting.idf != "none":
        data *= (np.log((1.0 + n_documents) / (1.0 + frequencies)) + 1.0)[counts.indices]
    if norm is not None:
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        sizes = np.bincount(rows, data if norm == "l1" else data * data, minlength=counts.shape[0])
        data /= (sizes if norm == "l1" else np.sqrt(sizes))[rows]
    parts = data, counts.indices.copy(), counts.indptr.copy()
    words = sparse.csr_array(parts, shape=counts.shape)
    if pieces is None:
        return words
    return pieces.join_words(words, counts, n_documents, weighting, norm)


def weigh_for_comparison(
    counts, frequencies, n_documents, weighting=DEFAULT_WEIGHTING, stop_words=None
):
    """Weigh term counts with log tf and unit l2 norm, whatever the settings of the learner are.

    The inner product of two rows is the cosine of the documents. For the parameters see `weigh`.
    """
    weighting = replace(weighting, tf="log")
    return weigh(counts, frequencies, n_documents, weighting, "l2", stop_words=stop_words)


class Pieces:
    """Weights for the pieces of words (`odl.stream.pieces`), in addition to weights for words.

    The document frequency of a piece is estimated by the sum of the document frequencies of its
    words, at most the number of documents.

    Parameters
    ----------
    words : sequence of str
    frequencies : ndarray, shape (n_words,)
        Document frequency of each word.
    n_documents : int
        Number of documents in which the frequencies were counted.
    share : float
        Weight of the pieces; that of the words is 1 - `share`.
    """

    def __init__(self, words: Any, frequencies: np.ndarray, n_documents: int, share: float) -> None:
        self.share, self.table = share, pieces.table(words)
        self.frequencies = np.minimum(self.table.T @ frequencies, n_documents)

    def for_words(self, words: Any) -> "Pieces":
        """Return a copy for other words, with the same frequencies of pieces."""
        other = copy(self)
        other.table = pieces.table(words)
        return other

    def join_words(
        self,
        words: sparse.csr_array,
        counts: sparse.csr_array,
        n_documents: int,
        weighting: Weighting,
        norm: str | None,
    ) -> sparse.csr_array:
        """Return a matrix with the weights of the pieces, followed by the weights of the words.

        With the l2 norm, the cosine of two documents is `share` times the cosine of their pieces
        plus 1 - `share` times the cosine of their words.

        Equation `joined-pieces` of docs/method.md.

        Parameters
        ----------
        words, counts : csr_array, shape (n_documents, n_words)
            Weights of the words, and the counts from which they were computed.
        n_documents : int
        weighting : odl.config.sections.Weighting
            Only `tf` and `idf` are used.
        norm : {"l1", "l2", None}
        """
        piece_counts = sparse.csr_array(counts @ self.table).sorted_indices()
        weighting = Weighting(tf=weighting.tf, idf=weighting.idf)
        P = weigh(piece_counts, self.frequencies, n_documents, weighting, norm)
        shares = np.array([self.share, 1.0 - self.share])
        factors = np.sqrt(shares) if norm == "l2" else shares
        return sparse.csr_array(sparse.hstack([P * factors[0], words * factors[1]], format="csr"))

    def folded(self, shares: sparse.csr_array, counts: sparse.csr_array) -> sparse.csr_array:
        """Return values of words to which those of their pieces were added.

        In each document, the value of a piece is divided among the words with this piece, in
        proportion to its occurrences in them.

        Parameters
        ----------
        shares : csr_array, shape (n_documents, `odl.stream.pieces.BUCKETS` + n_words)
            Values with the columns of `join_words`.
        counts : csr_array, shape (n_documents, n_words)
            Term counts of the documents.

        Returns
        -------
        csr_array, shape (n_documents, n_words)
            Has the same row sums as `shares`.
        """
        n_pieces = self.table.shape[1]
        parts, words = (
            sparse.csr_array(shares[:, part]) for part in (slice(n_pieces), slice(n_pieces, None))
        )
        rows = np.repeat(np.arange(words.shape[0]), np.diff(words.indptr))
        times = _entries_at(counts, rows, words.indices)
        # One row of arrays for each piece of each word in each document. `entry` is the position of
        # the word in `words.data`, `positions` that of the piece in `self.table.data`.
        lengths = np.diff(self.table.indptr)[words.indices]
        entry = np.repeat(np.arange(len(rows)), lengths)
        firsts = self.table.indptr[words.indices] - (np.cumsum(lengths) - lengths)
        positions = np.arange(len(entry)) + np.repeat(firsts, lengths)
        occurrences = self.table.data[positions] * times[entry]
        places = rows[entry], self.table.indices[positions]  # documents and pieces
        totals = sparse.csr_array((occurrences, places), shape=parts.shape)
        divided = _entries_at(parts, *places) * occurrences / _entries_at(totals, *places)
        data = words.data + np.bincount(entry, divided, minlength=len(rows))
        return sparse.csr_array((data, words.indices, words.indptr), shape=words.shape)


def _entries_at(matrix, rows, columns):
    """Return the entries of a CSR matrix at some rows and columns; 0 if not stored."""
    return sparse.csr_matrix(matrix)[rows, columns].A1 if len(rows) else np.zeros(0)
