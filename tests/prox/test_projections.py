"""The projection of atoms: against bisection, against its definition, and at the edge of rounding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import project_column
from scipy import sparse

from odl.errors import ParameterError
from odl.prox import projections

vectors = arrays(np.float64, st.integers(1, 12), elements=st.floats(-5, 5, allow_subnormal=False))


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("density", [0.02, 0.3, 1.0])
def test_equals_bisection(rng, scale, density):
    A = rng.normal(size=(80, 15)) * scale * (rng.random((80, 15)) < density)
    expected = np.column_stack([project_column(a) for a in A.T])
    np.testing.assert_allclose(
        projections.project_columns(A).toarray(), expected, atol=1e-14 * max(scale, 1.0) ** 0.5
    )


@given(vectors)
@settings(max_examples=200)
def test_definition(a):
    """Variational inequality: <a - u, z - u> <= 0 for the extreme points z of the set, 0 and the unit vectors."""
    u = projections.project_columns(a[:, None]).toarray().ravel()
    assert projections.value_columns(u[:, None]) == 0.0
    gradient = a - u
    assert -gradient @ u <= 1e-12
    assert (gradient - gradient @ u <= 1e-12).all()


@given(vectors)
@settings(max_examples=200)
def test_projected_point_stays_bit_for_bit(a):
    once = projections.project_columns(a[:, None])
    assert (projections.project_columns(once) != once).nnz == 0


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 49, 125, 3000])
def test_feasible_point_stays_bit_for_bit(rng, count):
    """Normalised columns sum to one up to rounding, on either side of it."""
    A = rng.random((count, 200)) ** 3
    A /= A.sum(axis=0)
    given = sparse.csc_array(A)
    result = projections.project_columns(given)
    assert np.array_equal(result.toarray(), A)
    assert np.array_equal(
        projections.project_columns(0.7 * given).toarray(), (0.7 * given).toarray()
    )


def test_large_entries_keep_their_differences():
    a = np.array([1e12 + 0.25, 1e12, 1e11])
    np.testing.assert_allclose(
        projections.project_columns(a[:, None]).toarray().ravel(), [0.625, 0.375, 0.0], atol=1e-15
    )


def test_only_what_is_positive_is_stored_and_the_input_is_left_alone(rng):
    A = sparse.csc_array(rng.normal(size=(40, 10)))
    A.data[::3] = 0.0
    before = A.copy()
    result = projections.project_columns(A)
    assert result.format == "csc" and result.dtype == np.float64 and result.shape == A.shape
    assert (result.data > 0).all() and result.has_sorted_indices
    assert np.array_equal(A.data, before.data) and np.array_equal(A.indices, before.indices)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (4, 2)])
def test_nothing_to_project(shape):
    result = projections.project_columns(sparse.csc_array(shape))
    assert result.shape == shape and result.nnz == 0


def test_duplicate_entries_and_unsorted_rows_are_one_matrix():
    parts = (np.array([0.5, 0.9, 0.2]), np.array([2, 0, 2]), np.array([0, 3]))
    result = projections.project_columns(sparse.csc_array(parts, shape=(3, 1)))
    np.testing.assert_allclose(result.toarray().ravel(), [0.6, 0.0, 0.4], atol=1e-15)


@pytest.mark.parametrize(
    "bad", [np.full((2, 2), np.nan), np.array([[np.inf]]), np.zeros(3), np.array([["a"]]), [[1j]]]
)
def test_refused(bad):
    with pytest.raises(ParameterError, match="A "):
        projections.project_columns(bad)


@pytest.mark.parametrize(
    ("form", "part", "values"),
    [
        *[
            (form, "indices", values)
            for form in ("csr", "csc", "bsr")
            for values in ([0, 1, 99], [0, -1, 2], [0, 1])
        ],
        *[
            ("csr", "indptr", values)
            for values in ([0, 1, 2, 3], [0, 2, 1, 3, 3], [0, 1, 2, 3, 9], [1, 1, 2, 3, 3])
        ],
        ("csr", "indptr", [0, 1, 2, 3, -1]),
        ("csr", "data", [1.0]),
        ("csc", "data", [1.0, 1.0]),
        ("coo", "coords", ([0, 1, 4], [0, 1, 2])),
        ("coo", "coords", ([0, 1, 2], [0, 1, -3])),
        ("coo", "data", [1.0]),
    ],
)
def test_entries_outside_the_shape_are_refused(form, part, values):
    A = sparse.eye_array(4, 3, format=form)
    kind = np.float64 if part == "data" else np.int32
    setattr(A, part, tuple(np.array(values, kind)) if part == "coords" else np.array(values, kind))
    _refused(A)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize("kind", [float, complex, bool, str, object])
def test_places_that_are_no_whole_numbers_are_refused(form, kind):
    for part in ("coords",) if form == "coo" else ("indptr", "indices"):
        A = sparse.eye_array(4, 3, format=form)
        whole = getattr(A, part)
        setattr(
            A,
            part,
            tuple(at.astype(kind) for at in whole) if part == "coords" else whole.astype(kind),
        )
        _refused(A)


def _refused(A):
    for wanted in (sparse.csr_array, sparse.csc_array):
        with pytest.raises(
            ParameterError, match="M is a sparse matrix with entries outside its shape"
        ) as caught:
            projections.real_matrix(A, "M", wanted)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_every_sound_format_is_taken(rng, form):
    A = rng.random((6, 4)) * (rng.random((6, 4)) < 0.5)
    for matrix in (sparse.csr_array(A).asformat(form), sparse.csr_matrix(A).asformat(form)):
        assert np.array_equal(projections.real_matrix(matrix, "M").toarray(), A)


def test_spare_room_behind_the_entries_is_allowed():
    A = sparse.csr_array(np.eye(2))
    A.indices, A.data = np.array([0, 1, 99], np.int32), np.array([1.0, 1.0, np.nan])
    A = projections.real_matrix(A, "M")
    assert np.array_equal(A.toarray(), np.eye(2))


def test_indicator():
    assert projections.value_columns(np.array([[0.5], [0.5]])) == 0.0
    assert projections.value_columns(np.array([[0.6], [0.5]])) == np.inf
    assert projections.value_columns(np.array([[0.5], [-0.1]])) == np.inf


def test_stored_zeros_are_dropped_next_to_negative_values():
    matrix = sparse.csc_array(([-1.0, 0.0, 2.0], [0, 1, 2], [0, 3]), shape=(3, 1))
    without = projections.without_zeros(matrix)
    assert without.nnz == 2 and matrix.nnz == 3 and (without != matrix).nnz == 0
    assert projections.without_zeros(without) is without
