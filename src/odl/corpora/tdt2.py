"""The reader ``tdt2``: Deng Cai's term counts of the NIST TDT2 corpus, 30 topics, with dates.

The file contains one sparse matrix: counts, then a column with the topic (1 to 30) and one with
month x 100 + day of 1998. There is no word list; terms are named by their column.
"""

from dataclasses import replace

import numpy as np

from odl.corpora.reuters21578_cai import matrices, matrix_documents

READER = "tdt2"
FILES = ("TDT2_with_time.mat",)
OPTIONS = {"min_documents": {"type": "integer", "minimum": 0}}

SHA256 = "077a9f839f7a56efe797c54de7a351f2a46e69161387aef76526aafe7d872576"
DAY_MS = 86_400_000  # milliseconds in a day


def read(sources, options):
    """Read the 9394 documents of TDT2_with_time.mat, in the order of its rows.

    Parameters
    ----------
    sources : list of path-like
        The file.
    options : dict
        ``min_documents`` (default 0): terms that occur in fewer documents of the entire corpus are
        dropped. So the vocabulary depends on later documents too.

    Returns
    -------
    Documents
        The ids are row numbers of the file (``tdt2-00001``), the terms column numbers (``t00001``),
        the topics ``topic01`` to ``topic30``. The time of a document is midnight UTC of its day.

    Raises
    ------
    DataError
        If the sha256 of the file is not that of TDT2_with_time.mat.
    """
    (fea,) = matrices(*sources, *FILES, SHA256, ["fea"])
    return drop_rare_terms(from_matrix(fea), options.get("min_documents", 0))


def drop_rare_terms(documents, min_documents):
    """Return the documents without the terms that occur in fewer than `min_documents` of them."""
    if min_documents == 0:
        return documents
    columns = np.flatnonzero(
        np.bincount(documents.counts.indices, minlength=documents.counts.shape[1]) >= min_documents
    )
    vocabulary = [documents.vocabulary[column] for column in columns]
    return replace(documents, counts=documents.counts[:, columns], vocabulary=vocabulary)


def from_matrix(fea):
    """Return `Documents` from the matrix of the file, of shape (n_documents, n_terms + 2).

    The columns are the counts of the terms, the topic, and the date as month x 100 + day.
    """
    n_terms = fea.shape[1] - 2
    topics, dates = fea[:, n_terms:].toarray().T.tolist()
    days = [np.datetime64(f"1998-{date // 100:02d}-{date % 100:02d}", "D") for date in dates]
    times = np.array(days, dtype="datetime64[D]").astype(np.int64) * DAY_MS
    return matrix_documents(fea[:, :n_terms], topics, times, "tdt2-{:05d}")
