"""Count matrices in MATLAB files that Deng Cai published, by SciPy's reader.

Its compiled code ends the process on some damaged files, and believes every size that a file claims. So it is given
files whose sha256 is known, and no others.
"""

from odl.corpora.checks import FETCH, check_sources, opening
from odl.errors import DataError
from odl.files.documents import Documents
from odl.files.storage import sha256_of


def matrices(reader, sources, file, sha256, names):
    """Return the matrices of these names in the one file of a reader, counts as integers by rows.

    Raises
    ------
    DataError
        If there is no file or another one.
    """
    from scipy import sparse
    from scipy.io import loadmat

    (path,) = check_sources(reader, sources, [file])
    if (digest := sha256_of(path)) != sha256:
        raise DataError(f"{path} is another file, with sha256 {digest}", f"{file} with sha256 {sha256}", FETCH)
    with opening(path, "a MATLAB 5 file with matrices of numbers"):
        content = loadmat(path, variable_names=names)
        return [sparse.csr_array(content[name]).astype("int32") for name in names]


def documents_of(counts, classes, times, ids):
    """Return documents of counts (n x terms) and classes (n) without words or titles; `ids` formats a row from 1."""
    return Documents(
        counts=counts,
        vocabulary=[f"t{column + 1:05d}" for column in range(counts.shape[1])],
        ids=[ids.format(row + 1) for row in range(counts.shape[0])],
        times=times,
        topics=[(f"topic{label:02d}",) for label in classes],
        titles=[""] * counts.shape[0],
    )
