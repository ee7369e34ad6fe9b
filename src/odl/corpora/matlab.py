"""Count matrices in MATLAB 5 files."""

import numpy as np
from scipy import sparse

from odl.corpora.checks import FETCH, opening
from odl.errors import DataError


def load_variable(path, name):
    """Load one variable of a MATLAB 5 file.

    Raises
    ------
    DataError
        If the file is damaged or does not hold it.
    """
    from scipy.io import loadmat

    with opening(path, "a MATLAB 5 file"):
        variables = loadmat(path, variable_names=[name])
    if name not in variables:
        raise DataError(f"{path} holds no variable {name!r}", f"a matrix {name!r}", FETCH)
    return variables[name]


def whole_counts(path, matrix):
    """Return a matrix as integer counts.

    Raises
    ------
    DataError
        If a value is negative, not whole, or not finite.
    """
    with opening(path, "a matrix of numbers"):
        matrix = sparse.csr_array(matrix).astype(float)
    data = matrix.data
    if not np.all((data >= 0) & (data == np.rint(data)) & (data <= np.iinfo(np.int32).max)):
        raise DataError(f"{path} holds values that are not counts", "whole numbers from 0", FETCH)
    return matrix.astype(np.int32)
