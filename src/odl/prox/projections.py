"""Projections of dictionary columns on norm balls, and checks of matrices and numbers."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from odl.errors import ParameterError
from odl.kernels import simplex_projection

MatrixLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix
EPSILON = float(np.finfo(np.float64).eps)
COMPRESSED = "indptr", "indices"
MIN_POSITIVE = 1e-300  # smallest accepted value of a positive parameter


def real_matrix(matrix, name, form=sparse.csr_array):
    """Convert a matrix to canonical CSR or CSC with float64 values and int32 indices.

    Parameters
    ----------
    matrix : sparse array or matrix, or array-like, two-dimensional
        It is copied only if necessary.
    name : str
        Name of the matrix in error messages.
    form : {csr_array, csc_array}
        Format of the result.

    Returns
    -------
    csr_array or csc_array
        Finite matrix without duplicate entries and with sorted indices. It may have explicit zeros.

    Raises
    ------
    ParameterError
        If the matrix is not two-dimensional, not real, too large for the kernels, or if it contains
        NaN, infinity or entries outside its shape.
    """
    todo = f"pass {name} as a sparse or dense matrix of real numbers"
    if not sparse.issparse(matrix):
        try:
            matrix = np.asarray(matrix)
        except ValueError as error:
            raise ParameterError(f"{name} is ragged", "a two-dimensional matrix", todo) from error
    if matrix.ndim != 2:
        raise ParameterError(f"{name} has {matrix.ndim} dimensions", "two dimensions", todo)
    if matrix.dtype.kind not in "biuf":
        raise ParameterError(f"{name} is of type {matrix.dtype}", "real numbers", todo)
    if max(matrix.shape) >= np.iinfo(np.int32).max:
        raise ParameterError(
            f"{name} has the shape {matrix.shape}",
            "fewer than 2**31 - 1 rows and columns",
            f"split {name}",
        )
    check_structure(matrix, name)
    matrix = form(matrix, dtype=np.float64)
    # The first check does not cover LIL, DIA and other formats.
    check_structure(matrix, name)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise ParameterError(
            f"{name} contains NaN or infinite values", "finite values", "clean or rescale the input"
        )
    return matrix


def check_structure(matrix, name):
    """Raise ParameterError if a sparse matrix has entries outside its shape.

    Compiled code would otherwise access memory outside its arrays.
    """
    form = getattr(matrix, "format", None)
    names = {"coo": ("row", "col"), "csr": COMPRESSED, "csc": COMPRESSED, "bsr": COMPRESSED}.get(
        form, ()
    )
    try:
        if any(np.asarray(getattr(matrix, part)).dtype.kind not in "iu" for part in names):
            raise ValueError("indices that are not integers")  # SciPy would truncate them
        if form == "coo":
            sparse.coo_array((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)
        elif names:
            rebuilt = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
            rebuilt.check_format()
            # For a matrix without entries, check_format does not check the row pointers.
            if np.diff(matrix.indptr).min(initial=0) < 0:
                raise ValueError("row pointers that decrease")
    except ValueError as error:
        defect = (
            f"{name} is a sparse matrix with entries outside its shape {matrix.shape} "
            "or a damaged index"
        )
        raise ParameterError(
            defect, "indices that fit the shape and the data", f"build {name} again"
        ) from error


def without_zeros(matrix):
    """Return a sparse matrix without explicit zeros: the matrix itself, or else a copy."""
    if np.count_nonzero(matrix.data) < matrix.data.size:
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def check_terms(P, A):
    """Raise ParameterError if documents and a dictionary have different numbers of terms."""
    if P.shape[1] != A.shape[0]:
        defect = f"P has {P.shape[1]} terms and A has {A.shape[0]}"
        raise ParameterError(defect, "equal numbers of terms", "compute P with the vocabulary of A")


def check_signs(matrix, name):
    """Raise ParameterError if a sparse matrix has negative weights."""
    if matrix.data.min(initial=0.0) < 0.0:
        raise ParameterError(
            f"{name} contains negative weights", "weights of at least 0", f"check {name}"
        )


def check_sizes(values, name, limit):
    """Raise ParameterError if the absolute value of an entry exceeds `limit`."""
    if np.abs(values).max(initial=0.0) > limit:
        raise ParameterError(
            f"{name} contains a weight above {limit:g}", "smaller weights", f"rescale {name}"
        )


def number(value, name, minimum=0.0, maximum=np.inf):
    """Convert a real number to float.

    Raises
    ------
    ParameterError
        If the value is not a finite number from `minimum` to `maximum`.
    """
    is_other = isinstance(value, (bool, np.bool_, str, bytes))
    if is_other or not np.isscalar(value) or not np.isreal(value):
        raise ParameterError(f"{name} is {value!r:.60}", "a real number", f"correct {name}")
    if not minimum <= value <= maximum or not np.isfinite(value):
        limits = f"of at least {minimum:g}"
        if np.isfinite(maximum):
            limits = f"from {minimum:g} to {maximum:g}"
        raise ParameterError(f"{name} is {value}", f"a finite number {limits}", f"correct {name}")
    return float(value)


def as_integer(value, name, minimum):
    """Return an integer as int; raise ParameterError if it is smaller than `minimum`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise ParameterError(
            f"{name} is {value!r:.60}", f"an integer of at least {minimum}", f"correct {name}"
        )
    return int(value)


def dense(values, name, *dimensions):
    """Convert values to a C-ordered float64 array.

    Parameters
    ----------
    values : array-like
    name : str
        Name of the array in error messages.
    *dimensions : int
        Accepted numbers of dimensions.

    Raises
    ------
    ParameterError
        For another number of dimensions, or if values are not real and finite.
    """
    todo = f"pass {name} as a matrix of real numbers"
    try:
        values = np.asarray(values)
    except ValueError as error:
        raise ParameterError(
            f"{name} is ragged", f"a table of {dimensions[-1]} dimensions", todo
        ) from error
    if values.dtype.kind not in "biuf" or values.ndim not in dimensions:
        defect = f"{name} is of type {values.dtype} with {values.ndim} dimensions"
        expected = f"real numbers with {' or '.join(map(str, dimensions))} dimensions"
        raise ParameterError(defect, expected, todo)
    values = np.require(values, np.float64, "C")
    if not np.isfinite(values).all():
        raise ParameterError(
            f"{name} contains NaN or infinite values", "finite values", "clean or rescale the input"
        )
    return values


def parts(matrix):
    """Return (indptr, indices, data) of a CSR or CSC matrix in the types that kernels accept.

    These are int64, uint32 and float64.
    """
    types = zip(
        (matrix.indptr, matrix.indices, matrix.data), (np.int64, np.int32, np.float64), strict=True
    )
    start, index, value = (np.require(part, kind, "CW") for part, kind in types)
    return start, index.view(np.uint32), value


def project_columns(A: MatrixLike) -> sparse.csc_array:
    """Project every atom on the non-negative part of the unit l1 ball.

    Each column a is replaced by the solution of ``min_u ||u - a||_2`` over ``u >= 0, sum(u) <= 1``.
    This is ``max(a, 0)`` if its sum is at most 1, and otherwise the projection on the simplex,
    ``max(a - theta, 0)``. A column that is feasible up to the rounding of its sum (2.2e-16 per
    entry) is not changed, so a second projection has no effect.

    Equation `projection` of docs/method.md.

    Parameters
    ----------
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary, atoms in columns.

    Returns
    -------
    csc_array of float64, shape (n_terms, n_atoms)
        Matrix without explicit zeros and with sorted indices.

    Raises
    ------
    ParameterError
        If A is not a real, finite matrix.

    References
    ----------
    Duchi, Shalev-Shwartz, Singer, Chandra, ICML 2008, figure 1.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.prox.projections import project_columns
    >>> project_columns(np.array([[0.5, 2.0], [0.2, 1.0], [-1.0, 0.0]])).toarray()
    array([[0.5, 1. ],
           [0.2, 0. ],
           [0. , 0. ]])
    """
    matrix = real_matrix(A, "A", sparse.csc_array)
    start, rows, values = parts(matrix)
    values = values.copy()
    longest = int(np.diff(start).max(initial=0))
    simplex_projection.project_columns(start, values, np.empty(longest), EPSILON)
    nonzero = values != 0.0
    start = np.concatenate(([0], np.cumsum(nonzero)))[start]
    return sparse.csc_array(
        (values[nonzero], rows[nonzero].view(np.int32), start), shape=matrix.shape
    )


def value_columns(A: MatrixLike, tolerance: float = 1e-12) -> float:
    """Return 0 if every column is feasible, else infinity.

    `project_columns` is the proximal operator of this function.

    Parameters
    ----------
    A : sparse or dense, shape (n_terms, n_atoms)
        Dictionary, atoms in columns.
    tolerance : float
        Largest accepted violation of ``a >= 0`` and ``sum(a) <= 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.prox.projections import value_columns
    >>> value_columns(np.array([[0.5], [0.5]])), value_columns(np.array([[0.5], [0.6]]))
    (0.0, inf)
    """
    matrix = real_matrix(A, "A", sparse.csc_array)
    feasible = (matrix.data >= -tolerance).all() and (matrix.sum(axis=0) <= 1.0 + tolerance).all()
    return 0.0 if feasible else np.inf
