"""TDT2: Deng Cai's term counts of the NIST TDT2 corpus, 30 topics, with the date of each document.

The file holds one sparse matrix: counts, then the topic (1...30), then month x 100 + day of 1998.
There is no word list; terms are named by their column.
"""

import numpy as np
from scipy import sparse

from odl.corpora.checks import FETCH, check_content, check_options, check_sources
from odl.corpora.matlab import load_variable, whole_counts
from odl.errors import DataError
from odl.files.documents import Documents

READER = "tdt2"
OPTIONS = {}

EXPECTED = {"number of documents": 9394, "number of terms": 36771, "sum of counts": 1725683, "number of topics": 30}
DAY_MS = 86_400_000


def read(sources, options):
    """Read TDT2_with_time.mat.

    Parameters
    ----------
    sources : list of path-like
        The one file.
    options : dict
        None is known.

    Returns
    -------
    Documents
        9394 documents in the order of the file, ids ``tdt2-00001`` by row, terms ``t00001`` by
        column, topics ``topic01``...; times are midnight UTC of the day.

    Raises
    ------
    DataError
        If the file is not that matrix.
    """
    check_options(READER, options, OPTIONS)
    (path,) = check_sources("tdt2", sources, ["TDT2_with_time.mat"])
    documents = from_matrix(path, load_variable(path, "fea"))
    found = {
        "number of documents": len(documents),
        "number of terms": len(documents.vocabulary),
        "sum of counts": int(documents.counts.sum()),
        "number of topics": len(set(documents.topics)),
    }
    check_content(path, found, EXPECTED)
    return documents


def from_matrix(path, fea):
    """Split the matrix (documents x (terms + 2)) into counts, topics and dates."""
    if not sparse.issparse(fea) or fea.shape[1] < 3:
        raise DataError(f"{path} holds no sparse matrix 'fea' with at least 3 columns", "counts, topic, date", FETCH)
    fea = whole_counts(path, fea)
    n_documents, n_columns = fea.shape
    topics, dates = fea[:, [n_columns - 2]].toarray().ravel(), fea[:, [n_columns - 1]].toarray().ravel()
    try:
        days = [np.datetime64(f"1998-{date // 100:02d}-{date % 100:02d}", "D") for date in dates.tolist()]
    except ValueError as error:
        raise DataError(
            f"{path} holds a date that is not month x 100 + day ({error})", "days of 1998", FETCH
        ) from error
    if topics.min(initial=1) < 1:
        raise DataError(f"{path} holds a document without a topic", "topics from 1", FETCH)
    return Documents(
        counts=fea[:, : n_columns - 2],
        vocabulary=[f"t{column + 1:05d}" for column in range(n_columns - 2)],
        ids=[f"tdt2-{row + 1:05d}" for row in range(n_documents)],
        times=np.array(days, dtype="datetime64[D]").astype(np.int64) * DAY_MS,
        topics=[(f"topic{topic:02d}",) for topic in topics.tolist()],
        titles=[""] * n_documents,
    )
