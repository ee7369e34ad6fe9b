"""The reader ``reuters21578-cai``: Deng Cai's term counts of Reuters-21578.

The documents are those in the ModApte split that have one topic. They have no dates.

Source: http://www.cad.zju.edu.cn/home/dengcai/Data/TextData.html (16 Jan 2008). Only files with a
known sha256 are read, since SciPy's reader of MATLAB files can crash on damaged files.
"""

import numpy as np

from odl.corpora.checks import FETCH, opening
from odl.errors import DataError
from odl.files.documents import NO_TIME, Documents
from odl.files.storage import sha256_of

READER = "reuters21578-cai"
FILES = ("Reuters21578.mat",)
OPTIONS = {}

SHA256 = "2e442026efc64cfbcd3a531b4bc99b21eed6c5463276dbfa69d096f91dd5c245"


def read(sources, options):
    """Read Reuters21578.mat.

    Parameters
    ----------
    sources : list of path-like
        The file.
    options : dict
        Empty.

    Returns
    -------
    Documents
        8293 documents in the order of the file (by class), without times. Ids are row numbers
        (``reuters-cai-0001``), terms are column numbers (``t00001``), topics are class numbers
        (``topic01``).

    Raises
    ------
    DataError
        If the sha256 of the file is not that of Reuters21578.mat.
    """
    counts, classes = matrices(*sources, *FILES, SHA256, ["fea", "gnd"])
    return from_matrices(counts, classes)


def from_matrices(counts, classes):
    """Return `Documents` from counts (n_documents, n_terms) and class numbers (n_documents, 1)."""
    topics = classes.toarray().ravel().tolist()
    return matrix_documents(counts, topics, np.full(counts.shape[0], NO_TIME), "reuters-cai-{:04d}")


def matrices(path, file, sha256, names):
    """Return the matrices `names` in a file with a known sha256, as integers in CSR format.

    Raises
    ------
    DataError
        If the file has another sha256; `file` is the expected name for the message.
    """
    from scipy import sparse
    from scipy.io import loadmat

    if (digest := sha256_of(path)) != sha256:
        raise DataError(
            f"{path} is another file, with sha256 {digest}", f"{file} with sha256 {sha256}", FETCH
        )
    with opening(path, "a MATLAB 5 file with matrices of numbers"):
        content = loadmat(path, variable_names=names)
        return [sparse.csr_array(content[name]).astype("int32") for name in names]


def matrix_documents(counts, classes, times, ids):
    """Return `Documents` from term counts and one topic per document.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_terms)
        The terms are named t00001, t00002, ..., since the words are not known.
    classes : sequence of int
        Number of each document's topic.
    times : ndarray of int64
    ids : str
        Format string that maps the number of a document, from 1, to its id.
    """
    return Documents(
        counts=counts,
        vocabulary=[f"t{column + 1:05d}" for column in range(counts.shape[1])],
        ids=[ids.format(row + 1) for row in range(counts.shape[0])],
        times=times,
        topics=[(f"topic{label:02d}",) for label in classes],
        titles=[""] * counts.shape[0],
    )
