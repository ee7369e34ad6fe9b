"""The exact coder: against the full linear program, its certificate, degenerate and extreme input, real documents."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import objective, optimum, optimum_by_enumeration
from scipy import sparse
from scipy.io import loadmat

from odl.coding import exact, sparse_code
from odl.errors import OdlError, ParameterError
from odl.prox.projections import project_columns


def real(rng, terms, atoms):
    return rng.random((5, terms)) * (rng.random((5, terms)) < 0.6), rng.random((terms, atoms)) * (
        rng.random((terms, atoms)) < 0.4
    )


def whole(rng, terms, atoms):
    """Small whole numbers: breakpoints, slopes and residuals tie all the time."""
    return rng.integers(0, 3, (5, terms)).astype(float), rng.integers(0, 2, (terms, atoms)).astype(
        float
    )


def span(rng, terms, atoms):
    """Documents inside the span: every residual is zero at the solution."""
    A = rng.random((terms, atoms)) * (rng.random((terms, atoms)) < 0.5)
    return (rng.random((5, atoms)) * (rng.random((5, atoms)) < 0.4)) @ A.T, A


def twins(rng, terms, atoms):
    """Every atom four times, in different scales, and zero atoms."""
    P, A = real(rng, terms, atoms)
    return P, np.repeat(A, 4, axis=1) * np.tile([1.0, 1.0, 0.5, 0.0], atoms)


def documents(rng, terms, atoms):
    """The documents themselves are atoms, twice."""
    P = rng.integers(0, 4, (5, terms)) * (rng.random((5, terms)) < 0.5)
    return P.astype(float), np.hstack([P.T, P.T, (rng.random((terms, atoms)) < 0.3)]).astype(float)


@pytest.mark.parametrize("lam", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("kind", [real, whole, span, twins, documents])
def test_equals_the_linear_program(rng, kind, lam):
    for trial in range(15):
        P, A = kind(rng, *rng.integers(1, 30, 2))
        if trial % 2:
            P, A = (
                P / np.maximum(P.sum(axis=1, keepdims=True), 1e-300),
                A / np.maximum(A.sum(axis=0), 1e-300),
            )
        X, value, gap = exact.codes(P, A, lam, return_gap=True)
        norm = P.sum(axis=1)
        best = np.array([optimum(p, A, lam) for p in P])
        np.testing.assert_allclose(value, best, rtol=0, atol=2e-9 * (1 + norm.max()))
        assert (gap <= 1e-11 * norm).all()
        np.testing.assert_allclose(
            value, objective(P, A, lam, X), rtol=1e-12, atol=1e-13 * norm.max()
        )


@pytest.mark.parametrize("orders", [4, 12, 25, 300])
def test_weights_of_many_orders_of_magnitude(rng, orders):
    """Against exact fractions: a solver of linear programs drops what is below 1e-9."""
    for lam in (0.0, 1e-3, 0.1) * 8:
        P = (
            rng.random((3, 6))
            * 10.0 ** rng.uniform(-orders, 0, (3, 6))
            * (rng.random((3, 6)) < 0.8)
        )
        A = rng.random((6, 2)) * 10.0 ** rng.uniform(-orders / 2, 0, (6, 2))
        value, gap = exact.codes(P, A, lam, return_gap=True)[1:]
        best = np.array([float(optimum_by_enumeration(p, A, lam)) for p in P])
        assert (np.abs(value - best) <= 1e-11 * P.sum(axis=1)).all()
        assert (gap <= 1e-11 * P.sum(axis=1)).all()


small = st.integers(0, 3).map(float)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=150)
def test_any_small_problem(data):
    terms, atoms = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    weights = data.draw(st.sampled_from([small, st.just(0.0) | st.floats(0.01, 2)]))
    P = data.draw(arrays(np.float64, (2, terms), elements=weights))
    A = data.draw(arrays(np.float64, (terms, atoms), elements=weights))
    lam = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]))
    X, value, gap = exact.codes(P, A, lam, return_gap=True)
    np.testing.assert_allclose(value, objective(P, A, lam, X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(value, [optimum(p, A, lam) for p in P], rtol=0, atol=1e-7)
    assert (gap <= 1e-9 * P.sum(axis=1)).all()


def test_weighted_median(rng):
    """One atom: the best x is the median of p_i/a_i with weights a_i and the point 0 with weight c - g + lam."""
    for _ in range(50):
        p, a, lam = rng.random(20) * (rng.random(20) < 0.7), rng.random(20), rng.choice([0.0, 0.1])
        points = np.append(p[p > 0] / a[p > 0], 0.0)
        weights = np.append(a[p > 0], a[p == 0].sum() + lam)
        order = np.argsort(points)
        half = np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)
        X = exact.codes(p[None], a[:, None], lam)[0].toarray()
        assert X[0, 0] == pytest.approx(points[order][half], abs=1e-15)


def test_known_limits():
    P = np.array([[0.5, 0.5, 0.0]])
    X, value = exact.codes(P, np.array([[0.5], [0.5], [0.0]]), 0.1)
    assert X.toarray() == pytest.approx(1.0) and value[0] == pytest.approx(0.1)
    X, value = exact.codes(P, np.array([[0.5], [0.5], [0.0]]), 0.0)
    assert X.toarray() == pytest.approx(1.0) and value[0] == pytest.approx(0.0, abs=1e-16)
    assert exact.codes(P, np.eye(3), 0.0)[0].toarray() == pytest.approx(P)
    assert exact.codes(P, np.eye(3), 1.0)[0].nnz == 0
    assert exact.codes(P, np.array([[0.3], [0.2], [0.5]]), 0.0)[0].nnz == 0, "the screen is strict"


@pytest.mark.parametrize("power", [-300, -290, -100, 0, 100, 290])
def test_scale_of_the_document_does_not_matter(rng, power):
    P, A = real(rng, 30, 12)
    X, value, gap = exact.codes(P, A, 0.1, return_gap=True)
    scale = 2.0 ** round(power / np.log10(2.0))
    Y, scaled, gaps = exact.codes(P * scale, A, 0.1, return_gap=True)
    assert X.nnz and np.array_equal(Y.toarray(), X.toarray() * scale)
    assert np.array_equal(scaled, value * scale) and np.array_equal(gaps, gap * scale)


@pytest.mark.parametrize("power", [-300, -100, 100, 290])
def test_scale_of_the_atoms_does_not_matter_without_penalty(rng, power):
    P, A = real(rng, 30, 12)
    X, value = exact.codes(P, A, 0.0)
    scale = 2.0 ** round(power / np.log10(2.0))
    Y, scaled = exact.codes(P, A * scale, 0.0)
    assert (
        X.nnz and np.array_equal(Y.toarray(), X.toarray() / scale) and np.array_equal(scaled, value)
    )


def test_weights_that_leave_the_numbers_are_refused():
    with pytest.raises(ParameterError, match="codes or objectives overflow"):
        exact.codes(np.array([[1e250]]), np.array([[1e-250]]), 0.0)
    with pytest.raises(ParameterError, match="codes or objectives overflow"):
        exact.codes(np.array([[1e-250]]), np.array([[1e250]]), 0.0)
    mixed = np.array([[1e-300, 1.0, 1e300]])
    value = exact.codes(mixed, np.eye(3), 0.1)[1]
    assert value == pytest.approx(1e299)


def test_what_the_kernel_cannot_prove_is_solved_again(rng, monkeypatch):
    """Without pivots nothing is proved: HiGHS takes over, and codes and certificates are as good."""
    P, A = rng.random((6, 30)), rng.random((30, 12)) * (rng.random((30, 12)) < 0.3)
    P[2] = 0.0
    X, value, _ = exact.codes(P, A, 0.1, return_gap=True)
    Y, again, gap = exact.solve(P, A, 0.1, limit=0)
    np.testing.assert_allclose(again, value, rtol=1e-10)
    np.testing.assert_allclose(Y.toarray(), X.toarray(), atol=1e-8)
    assert (gap <= 1e-9 * P.sum(axis=1)).all() and Y.has_canonical_format
    monkeypatch.setattr(exact, "_solve_by_highs", lambda *_: (None, np.inf, np.inf))
    with pytest.raises(OdlError, match="the code of row 0 of P has a duality gap"):
        exact.solve(P, A, 0.1, limit=0)


@pytest.mark.slow
def test_documents_in_the_span_seldom_need_another_solver(rng, monkeypatch):
    """Every residual is zero at the solution: where zero steps do not end, HiGHS is as good."""
    solve, calls = exact._solve_by_highs, []
    monkeypatch.setattr(exact, "_solve_by_highs", lambda *given: calls.append(1) or solve(*given))
    for lam in (0.0, 0.01):
        for _ in range(12):
            P, A = span(rng, 150, 50)
            gap = exact.codes(P, A, lam, return_gap=True)[2]
            assert (gap <= 1e-10 * P.sum(axis=1)).all()
    assert len(calls) <= 24  # of 120


@pytest.mark.parametrize("kind", [whole, twins, documents])
def test_degenerate_documents_need_no_other_solver(rng, kind, monkeypatch):
    """Zero steps and ties by the hundred: the kernel's own routes get through."""
    monkeypatch.setattr(exact, "_solve_by_highs", lambda *_: pytest.fail("the kernel gave up"))
    for lam in (0.0, 0.01):
        for _ in range(4):
            P, A = kind(rng, 150, 50)
            gap = exact.codes(P, A, lam, return_gap=True)[2]
            assert (gap <= 1e-11 * P.sum(axis=1)).all()


def test_the_certificate_is_not_empty(rng, monkeypatch):
    """Stopped early, the kernel reports a gap that covers the distance to the optimum, and not zero."""
    P, A = rng.random((30, 50)), rng.random((50, 20)) * (rng.random((50, 20)) < 0.4)
    best = exact.codes(P, A, 0.1)[1]
    # objective, gap and the rows whose gap is too large, as they are before another solver mends
    # them
    left = []
    monkeypatch.setattr(exact, "_repair", lambda *given: left.append(given[5:]) or given[4])
    for limit in (0, 1, 2):
        exact.solve(P, A, 0.1, limit=limit)
        objective_, gap, failed = left.pop()
        assert len(failed) and (objective_ - gap <= best + 1e-10).all()
        assert (gap[failed] > 0).all()


@pytest.fixture(scope="module")
def tdt2(corpora):
    counts = loadmat(corpora / "tdt2" / "TDT2_with_time.mat")["fea"].tocsr()
    order = np.argsort(counts[:, [36772]].toarray().ravel(), kind="stable")
    P = sparse.csr_array(counts[order][:, :36771], dtype=float)
    return sparse.csr_array(sparse.diags_array(1.0 / P.sum(axis=1)) @ P)


def learn(P, A, rounds):
    """Return A after some projected subgradient steps, as a learner takes them."""
    for _ in range(rounds):
        X = exact.codes(P, A, 0.1)[0]
        residual = sparse.csr_array(X @ A.T - P)
        residual.data[np.abs(residual.data) < 1e-14] = 0.0
        A = project_columns(A - 2.0 * sparse.csc_array(residual.sign().T @ X))
    return A


@pytest.mark.corpora
@pytest.mark.parametrize("lam", [0.1, 0.0])
@pytest.mark.parametrize("rounds", [0, pytest.param(10, marks=pytest.mark.slow)])
def test_every_tdt2_document_is_certified(tdt2, rounds, lam):
    A = learn(tdt2[:1000], sparse.csc_array(tdt2[:1000:5].T), rounds)
    X, value, gap = sparse_code(tdt2, A, lam, return_gap=True)
    assert gap.max() <= 1e-9
    assert X.nnz > 400 and (value <= 1.0).all() and (value >= lam - 1e-12).all()
    some = np.flatnonzero(np.diff(X.indptr) > 1)[::250]
    residual = abs(tdt2[some] - X[some] @ A.T).sum(axis=1) + lam * X[some].sum(axis=1)
    np.testing.assert_allclose(value[some], residual, rtol=1e-12)
    if rounds:
        assert len(some) > 3
        for row in some[:3]:
            document = tdt2[[row]].toarray().ravel()
            near = A.tocsr()[:, np.flatnonzero((A.T @ (document > 0)) > 0.3)]
            used = np.flatnonzero(np.diff(near.indptr) + (document > 0))
            assert near.shape[1] > 2
            assert value[row] == pytest.approx(optimum(document[used], near[used], lam), abs=1e-9)
