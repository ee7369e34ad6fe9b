"""Sparse coding: solvers of min_{x >= 0} ||p - A x||_1 + lam ||x||_1 for every document p."""

import inspect
from collections.abc import Callable
from typing import Any

from odl.coding import admm, exact
from odl.errors import ParameterError, advice
from odl.prox.projections import MatrixLike

SOLVERS: dict[str, Callable[..., Any]] = {"exact": exact.codes, "admm": admm.codes}
_SHARED = ("P", "A", "lam", "return_gap")


def sparse_code(
    P: MatrixLike,
    A: MatrixLike,
    lam: float = 0.1,
    solver: str = "exact",
    return_gap: bool = False,
    **options: Any,
) -> tuple:
    """Compute the codes of documents with a dictionary.

    Solves ``min_{x >= 0} ||p - A x||_1 + lam ||x||_1`` for every row p of P.

    Parameters
    ----------
    P : sparse or dense, shape (n_documents, n_terms)
        Non-negative documents.
    A : sparse or dense, shape (n_terms, n_atoms)
        Non-negative dictionary, atoms in columns.
    lam : float
        Weight of the penalty, at least 0. An atom whose weights have the sum 1 enters a code only
        if more than (1 + lam)/2 of this sum is on words of the document.
    solver : {"exact", "admm"}
        See `odl.coding.exact.codes` and `odl.coding.admm.codes`.
    return_gap : bool
        Whether to return `gap` too.
    **options
        Options of the solver "admm": iterations, phi, gamma. The solver "exact" has none.

    Returns
    -------
    X : csr_array of float64, shape (n_documents, n_atoms)
        Codes. ``X @ A.T`` approximates P.
    objective : ndarray of float64, shape (n_documents,)
        ``||p - A x||_1 + lam sum(x)``, which is 0 for an empty document.
    gap : ndarray of float64, shape (n_documents,), only with `return_gap`
        Upper bound on the objective minus the optimum.

    Raises
    ------
    ParameterError
        If an argument is outside its domain.

    References
    ----------
    Kasiviswanathan, Wang, Banerjee, Melville, NIPS 2012, equation for X_t in Algorithm 1.

    Examples
    --------
    >>> import numpy as np, odl
    >>> X, objective = odl.sparse_code(np.array([[0.5, 0.5, 0.0]]), np.eye(3)[:, :1], lam=0.1)
    >>> X.toarray().round(3), objective.round(3)
    (array([[0.5]]), array([0.55]))
    """
    if not isinstance(solver, str) or solver not in SOLVERS:
        expected = f"one of {', '.join(map(repr, SOLVERS))}"
        raise ParameterError(f"solver is {solver!r}", expected, advice(solver, SOLVERS))
    names = [name for name in inspect.signature(SOLVERS[solver]).parameters if name not in _SHARED]
    for name in options:
        if name not in names:
            expected = f"options among {', '.join(names)}" if names else "no options"
            raise ParameterError(
                f"the solver {solver!r} has no option {name!r}", expected, f"remove {name!r}"
            )
    return SOLVERS[solver](P, A, lam, return_gap=return_gap, **options)
