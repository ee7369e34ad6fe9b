"""TDT2: Deng Cai's term counts of the NIST TDT2 corpus, 30 topics, with the date of each document.

The file holds one sparse matrix: counts, then the topic (1...30), then month x 100 + day of 1998.
There is no word list; terms are named by their column.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from odl.corpora.checks import FETCH
from odl.corpora.matlab import documents_of, read_corpus, whole_counts
from odl.errors import DataError, check_options

READER = "tdt2"
OPTIONS = {"min_documents": {"type": "integer", "minimum": 0}}

EXPECTED = {"number of documents": 9394, "number of terms": 36771, "sum of counts": 1725683, "number of topics": 30}
DAY_MS = 86_400_000


def read(sources, options):
    """Read TDT2_with_time.mat.

    Parameters
    ----------
    sources : list of path-like
        The one file.
    options : dict
        ``min_documents``: leave out the terms that occur in fewer documents of the file, early or late (default 0).
        This looks ahead, as a vocabulary chosen before the stream does.

    Returns
    -------
    Documents
        9394 documents in the order of the file, ids ``tdt2-00001`` by row, terms ``t00001`` by
        column of the file, topics ``topic01``...; times are midnight UTC of the day.

    Raises
    ------
    DataError
        If the file is not that matrix.
    """
    check_options(READER, options, OPTIONS)
    documents = read_corpus("tdt2", sources, {}, "TDT2_with_time.mat", ["fea"], from_matrix, EXPECTED)
    return frequent(documents, options.get("min_documents", 0))


def frequent(documents, least):
    """Return documents with the terms that occur in at least so many of them, under their names."""
    if least == 0:
        return documents
    kept = np.flatnonzero(np.bincount(documents.counts.indices, minlength=documents.counts.shape[1]) >= least)
    vocabulary = [documents.vocabulary[column] for column in kept]
    return replace(documents, counts=documents.counts[:, kept], vocabulary=vocabulary)


def from_matrix(path, fea):
    """Split the matrix (documents x (terms + 2)) into counts, topics and dates."""
    if not sparse.issparse(fea) or fea.shape[1] < 3:
        raise DataError(f"{path} holds no sparse matrix 'fea' with at least 3 columns", "counts, topic, date", FETCH)
    fea = whole_counts(path, fea)
    n_columns = fea.shape[1]
    topics, dates = fea[:, [n_columns - 2]].toarray().ravel(), fea[:, [n_columns - 1]].toarray().ravel()
    try:
        days = [np.datetime64(f"1998-{date // 100:02d}-{date % 100:02d}", "D") for date in dates.tolist()]
    except ValueError as error:
        raise DataError(
            f"{path} holds a date that is not month x 100 + day ({error})", "days of 1998", FETCH
        ) from error
    if topics.min(initial=1) < 1:
        raise DataError(f"{path} holds a document without a topic", "topics from 1", FETCH)
    times = np.array(days, dtype="datetime64[D]").astype(np.int64) * DAY_MS
    return documents_of(fea[:, : n_columns - 2], topics.tolist(), times, "tdt2-{:05d}")
