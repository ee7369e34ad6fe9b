"""Reuters-21578 as Deng Cai's term counts: ModApte, documents of one topic only, no dates.

Source: http://www.cad.zju.edu.cn/home/dengcai/Data/TextData.html (16 Jan 2008).
"""

import numpy as np

from odl.corpora.checks import FETCH, check_content, check_options, check_sources
from odl.corpora.matlab import load_variable, whole_counts
from odl.errors import DataError
from odl.files.documents import NO_TIME, Documents

READER = "reuters21578-cai"
OPTIONS = {}

EXPECTED = {"number of documents": 8293, "number of terms": 18933, "sum of counts": 560940, "number of topics": 65}


def read(sources, options):
    """Read Reuters21578.mat.

    Parameters
    ----------
    sources : list of path-like
        The one file.
    options : dict
        None is known.

    Returns
    -------
    Documents
        8293 documents in the order of the file (by class), ids ``reuters-cai-0001`` by row, terms
        ``t00001`` by column, topics ``topic01``...; no times.

    Raises
    ------
    DataError
        If the file is not that matrix.
    """
    check_options(READER, options, OPTIONS)
    (path,) = check_sources("reuters21578-cai", sources, ["Reuters21578.mat"])
    documents = from_matrix(path, load_variable(path, "fea"), load_variable(path, "gnd"))
    found = {
        "number of documents": len(documents),
        "number of terms": len(documents.vocabulary),
        "sum of counts": int(documents.counts.sum()),
        "number of topics": len(set(documents.topics)),
    }
    check_content(path, found, EXPECTED)
    return documents


def from_matrix(path, fea, gnd):
    """Make documents of counts (documents x terms) and classes (documents x 1, from 1)."""
    counts, classes = whole_counts(path, fea), whole_counts(path, gnd).toarray().ravel().tolist()
    n_documents, n_terms = counts.shape
    if len(classes) != n_documents:
        raise DataError(f"{path} holds {len(classes)} classes for {n_documents} documents", "one for each", FETCH)
    return Documents(
        counts=counts,
        vocabulary=[f"t{column + 1:05d}" for column in range(n_terms)],
        ids=[f"reuters-cai-{row + 1:04d}" for row in range(n_documents)],
        times=np.full(n_documents, NO_TIME),
        topics=[(f"topic{label:02d}",) for label in classes],
        titles=[""] * n_documents,
    )
