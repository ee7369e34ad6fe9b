"""Reuters-21578 as Deng Cai's term counts: ModApte, documents of one topic only, no dates.

Source: http://www.cad.zju.edu.cn/home/dengcai/Data/TextData.html (16 Jan 2008).
"""

import numpy as np

from odl.corpora.checks import FETCH
from odl.corpora.matlab import documents_of, read_corpus, whole_counts
from odl.errors import DataError
from odl.files.documents import NO_TIME

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
    return read_corpus("reuters21578-cai", sources, options, "Reuters21578.mat", ["fea", "gnd"], from_matrix, EXPECTED)


def from_matrix(path, fea, gnd):
    """Make documents of counts (documents x terms) and classes (documents x 1, from 1)."""
    counts, classes = whole_counts(path, fea), whole_counts(path, gnd).toarray().ravel().tolist()
    n_documents = counts.shape[0]
    if len(classes) != n_documents:
        raise DataError(f"{path} holds {len(classes)} classes for {n_documents} documents", "one for each", FETCH)
    return documents_of(counts, classes, np.full(n_documents, NO_TIME), "reuters-cai-{:04d}")
