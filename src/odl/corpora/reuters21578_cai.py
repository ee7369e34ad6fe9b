"""Reuters-21578 as Deng Cai's term counts: ModApte, documents of one topic only, no dates.

Source: http://www.cad.zju.edu.cn/home/dengcai/Data/TextData.html (16 Jan 2008).
"""

import numpy as np

from odl.corpora.matlab import documents_of, matrices
from odl.errors import check_options
from odl.files.documents import NO_TIME

READER = "reuters21578-cai"
OPTIONS = {}

FILE, SHA256 = "Reuters21578.mat", "2e442026efc64cfbcd3a531b4bc99b21eed6c5463276dbfa69d096f91dd5c245"


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
        If the file is another one.
    """
    check_options(READER, options, OPTIONS)
    counts, classes = matrices(READER, sources, FILE, SHA256, ["fea", "gnd"])
    return from_matrices(counts, classes)


def from_matrices(counts, classes):
    """Make documents of counts (documents x terms) and classes (documents x 1, from 1)."""
    topics = classes.toarray().ravel().tolist()
    return documents_of(counts, topics, np.full(counts.shape[0], NO_TIME), "reuters-cai-{:04d}")
