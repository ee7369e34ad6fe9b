"""What every coder promises."""

import numpy as np
import pytest
from reference import objective, optimum
from scipy import sparse

import odl
from odl.coding import SOLVERS, sparse_code
from odl.errors import ParameterError

pytestmark = pytest.mark.parametrize("solver", list(SOLVERS))


def problem(rng, documents=9, terms=40, atoms=12):
    P = rng.random((documents, terms)) * (rng.random((documents, terms)) < 0.4)
    A = rng.random((terms, atoms)) * (rng.random((terms, atoms)) < 0.15)
    P[3] = 0.0
    A[:, 5] = 0.0
    return sparse.csr_array(P / np.maximum(P.sum(axis=1, keepdims=True), 1e-9)), sparse.csc_array(
        A / np.maximum(A.sum(axis=0), 1e-9)
    )


def test_codes_and_objective(rng, solver):
    P, A = problem(rng)
    X, value, gap = sparse_code(P, A, 0.05, solver, return_gap=True)
    assert isinstance(X, sparse.csr_array) and X.shape == (9, 12) and X.dtype == np.float64
    assert value.shape == gap.shape == (9,) and value.dtype == gap.dtype == np.float64
    assert X.nnz > 0 and (X.data > 0).all() and X.has_canonical_format
    np.testing.assert_allclose(value, objective(P, A, 0.05, X), rtol=1e-13, atol=1e-15)
    best = np.array([optimum(p, A, 0.05) for p in P.toarray()])
    assert (value >= best - 1e-12).all()
    assert (value - gap <= best + 1e-12).all(), "the gap does not bound the excess"
    assert (value <= P.sum(axis=1) * 1.1).all()
    assert value[3] == gap[3] == 0.0 and X[[3]].nnz == 0, "the objective of an empty document is 0"
    assert X[:, [5]].nnz == 0, "a zero atom was used"


def test_inputs_are_left_alone_and_forms_do_not_matter(rng, solver):
    P, A = problem(rng)
    parts = [part for M in (P, A) for part in (M.data, M.indices, M.indptr)]
    copies = [part.copy() for part in parts]
    for part in parts:
        part.flags.writeable = False
    X, value = sparse_code(P, A, solver=solver)
    assert all(np.array_equal(*pair) for pair in zip(parts, copies, strict=True))
    for forms in (
        (P.toarray(), A.toarray()),
        (sparse.csc_matrix(P), sparse.coo_array(A)),
        (P.tolil(), A.tocsr()),
    ):
        again, same = sparse_code(*forms, solver=solver)
        assert np.array_equal(again.toarray(), X.toarray()) and np.array_equal(same, value)
    single = sparse_code(P.astype(np.float32), A.astype(np.float32), solver=solver)[1]
    np.testing.assert_allclose(single, value, atol=1e-5)


def test_unsorted_and_repeated_entries_are_one_matrix(rng, solver):
    P, A = problem(rng)
    flipped = sparse.csr_array(
        (
            np.concatenate([P.data[::-1] / 4, P.data[::-1] * 0.75]),
            np.concatenate([P.indices[::-1]] * 2),
            np.array([0] + [2 * P.nnz] * 9),
        ),
        shape=P.shape,
    )
    whole = sparse.csr_array(P.sum(axis=0)[None, :])
    X, value = sparse_code(flipped, A, solver=solver)
    Y, same = sparse_code(whole, A, solver=solver)
    np.testing.assert_allclose(value[0], same[0], rtol=1e-12)
    assert (value[1:] == 0.0).all() and not X[1:].nnz and Y.nnz


@pytest.mark.parametrize("shape", [(0, 5, 3), (4, 5, 0), (4, 0, 3), (0, 0, 0)])
def test_empty_shapes(shape, solver):
    documents, terms, atoms = shape
    X, value, gap = sparse_code(
        np.full((documents, terms), 0.2), np.ones((terms, atoms)), 0.1, solver, True
    )
    assert X.shape == (documents, atoms) and value.shape == gap.shape == (documents,)
    if atoms == 0:
        assert (value == 1.0).all() and X.nnz == 0


def test_unexplained_documents_tie_at_one(rng, solver):
    """Rows of unit norm score exactly 1 where x = 0, whatever the rounding of their sum."""
    P = sparse.random_array((500, 300), density=0.3, rng=rng, format="csr")
    P = sparse.csr_array(sparse.diags_array(1.0 / P.sum(axis=1)) @ P)
    assert len(np.unique(P.sum(axis=1))) > 1
    assert (sparse_code(P, np.zeros((300, 4)), solver=solver)[1] == 1.0).all()
    X, value = sparse_code(P, np.full((300, 1), 1 / 300.0), solver=solver)
    assert (value[np.diff(X.indptr) == 0] == 1.0).all()
    assert X.nnz == 0 or solver != "exact"


def test_batches_can_be_split(rng, solver):
    P, A = problem(rng, documents=150)
    X, value = sparse_code(P, A, 0.03, solver)
    cuts = [slice(0, 1), slice(1, 64), slice(64, 150)]
    parts = [sparse_code(P[cut], A, 0.03, solver) for cut in cuts]
    assert np.array_equal(np.concatenate([part[1] for part in parts]), value)
    assert np.array_equal(sparse.vstack([part[0] for part in parts]).toarray(), X.toarray())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"P": np.array([[0.5, -0.1, 0.2]])}, "P contains negative"),
        ({"P": np.array([[0.5, np.nan, 0.2]])}, "P contains NaN"),
        ({"P": np.array([[0.5, np.inf, 0.2]])}, "P contains NaN or infinite"),
        ({"P": np.array([[0.5, 1e301, 0.2]])}, "P contains a weight above"),
        ({"P": np.array([0.5, 0.1, 0.2])}, "P has 1 dimension"),
        ({"P": np.array([["a", "b", "c"]])}, "P is of type"),
        ({"P": [[1.0], [1.0, 2.0]]}, "P is ragged"),
        ({"P": np.ones((1, 4))}, "P has 4 terms and A has 3"),
        ({"A": -np.eye(3)}, "A contains negative"),
        ({"A": np.full((3, 2), np.nan)}, "A contains NaN"),
        ({"A": np.full((3, 2), 9e299)}, "mass of an atom"),
        ({"lam": -0.1}, "lam is -0.1"),
        ({"lam": np.nan}, "lam is nan"),
        ({"lam": np.inf}, "lam is inf"),
        ({"lam": "0.1"}, "lam is '0.1'"),
        ({"lam": None}, "lam is None"),
        ({"lam": True}, "lam is True"),
        ({"speed": 3}, "has no option 'speed'"),
        ({"solver": "exakt"}, "did you mean 'exact'"),
        ({"solver": None}, "solver is None"),
    ],
)
def test_refused_in_one_sentence(change, message, solver):
    arguments = {
        "P": np.array([[0.5, 0.3, 0.2]]),
        "A": np.eye(3),
        "lam": 0.1,
        "solver": solver,
    } | change
    with pytest.raises(ParameterError, match=message) as caught:
        odl.sparse_code(**arguments)
    assert str(caught.value).count("\n") == 0 and str(caught.value).endswith((".", "?"))


def test_indices_out_of_range_are_refused(rng, solver):
    P, A = sparse.csr_array(rng.random((3, 12))), sparse.csr_array(rng.random((12, 4)))
    for name, index in [("P", 99), ("P", 12), ("A", 99), ("A", 4), ("A", -1)]:
        arguments = {"P": P.copy(), "A": A.copy()}
        arguments[name].indices[0] = index
        with pytest.raises(
            ParameterError, match=f"{name} is a sparse matrix with entries outside its shape"
        ):
            odl.sparse_code(**arguments, lam=0.1, solver=solver)


def test_lam_above_one_is_allowed(rng, solver):
    P, A = problem(rng)
    X, value = sparse_code(P, A, 1.5, solver)
    assert X.nnz == 0 and np.array_equal(value, [1.0] * 3 + [0.0] + [1.0] * 5)
