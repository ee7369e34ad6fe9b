"""Non-negative LARS: against scikit-learn's path and coordinate descent, conic solvers, its certificate, limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.optimize import nnls

from odl.coding import lars
from odl.corpora import read
from odl.errors import ParameterError
from odl.stream import batching, features


def positive(rng, terms, atoms):
    return rng.random((4, terms)) * (rng.random((4, terms)) < 0.6), rng.random((terms, atoms)) * (
        rng.random((terms, atoms)) < 0.5
    )


def signed(rng, terms, atoms):
    return rng.normal(size=(4, terms)), rng.normal(size=(terms, atoms))


def whole(rng, terms, atoms):
    """Small whole numbers: atoms tie and are repeated all the time."""
    return rng.integers(0, 3, (4, terms)).astype(float), rng.integers(0, 2, (terms, atoms)).astype(
        float
    )


def span(rng, terms, atoms):
    """Documents in the cone of the atoms: the residual of the norm problem vanishes."""
    A = rng.random((terms, atoms))
    return (rng.random((4, atoms)) * (rng.random((4, atoms)) < 0.4)) @ A.T, A


def twins(rng, terms, atoms):
    """Every atom four times, in different lengths, and zero atoms."""
    P, A = span(rng, terms, atoms)
    return P, np.repeat(A, 4, axis=1) * np.tile([1.0, 1.0, 0.5, 0.0], atoms)


def own(rng, terms, atoms):
    """The documents themselves are atoms, twice."""
    P, A = positive(rng, terms, atoms)
    return P, np.hstack([P.T, A, P.T])


KINDS = [positive, signed, whole, span, twins, own]


def value(P, A, lam, X, loss):
    """Return the objective of each document by definition."""
    residual = np.linalg.norm(P - X @ A.T, axis=1)
    return (residual if loss == "norm" else 0.5 * residual**2) + lam * X.sum(axis=1)


def dual_value(p, A, lam, loss, r):
    """Return the value of the dual point that a residual is scaled to, with no part of the package.

    norm:     max nu^T p                     s.t.  A^T nu <= lam,  ||nu||_2 <= 1
    squared:  max nu^T p - 1/2 ||nu||_2^2    s.t.  A^T nu <= lam
    """
    steepest = max((A.T @ r).max(initial=0.0), 1e-300)
    if loss == "norm":
        return min(1.0 / max(np.linalg.norm(r), 1e-300), lam / steepest) * (r @ p)
    nu = min(1.0, lam / steepest) * r
    return nu @ p - 0.5 * nu @ nu


@pytest.mark.parametrize("loss", lars.LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_objective_is_the_definition_and_the_gap_closes(rng, kind, loss):
    for trial in range(60):
        P, A = kind(rng, *rng.integers(1, 25, 2))
        lam = (0.0, 0.01, 0.1, 0.6, 2.0)[trial % 5]
        found = lars.codes(P, A, lam, loss=loss)
        X, norm = found.X.toarray(), np.linalg.norm(P, axis=1)
        scale = norm if loss == "norm" else norm**2
        assert found.X.data.min(initial=1.0) > 0.0
        assert np.abs(found.objective - value(P, A, lam, X, loss)).max() <= 1e-11 * (
            1 + scale.max()
        )
        assert np.abs(found.residual - np.linalg.norm(P - X @ A.T, axis=1)).max() <= 1e-7 * (
            1 + norm.max()
        )
        assert (found.gap <= 1e-9 * scale).all(), (kind.__name__, lam)


@pytest.mark.parametrize("kind", [positive, signed, own])
def test_the_certificate_is_the_dual(rng, kind):
    """Where the residual does not vanish, its dual value computed here proves the code."""
    for lam in (0.05, 0.3, 1.0):
        P, A = kind(rng, 20, 8)
        for loss in lars.LOSSES:
            found = lars.codes(P, A, lam, loss=loss)
            X = found.X.toarray()
            for row in np.flatnonzero(found.residual > 1e-3):
                r = P[row] - A @ X[row]
                assert found.objective[row] - dual_value(P[row], A, lam, loss, r) <= 1e-10
                # A^T r <= mu with equality where x > 0, mu = lam ||r|| or lam
                mu = lam * (found.residual[row] if loss == "norm" else 1.0)
                assert (A.T @ r).max() <= mu + 1e-10
                assert np.allclose((A.T @ r)[X[row] > 0], mu, rtol=1e-9)


@pytest.mark.parametrize("loss", lars.LOSSES)
def test_the_gap_of_a_path_that_ended_early_is_that_of_its_dual_point(rng, loss, monkeypatch):
    P, A = rng.random((20, 30)), rng.random((30, 12))
    # The kernel takes 4 steps an atom and as many as the setting says: here 3 in all.
    monkeypatch.setattr(lars, "LARS_SETTINGS", (*lars.LARS_SETTINGS[:3], 3.0 - 4 * 12))
    found = lars.codes(P, A, 0.05, loss=loss)
    residuals = P - found.X.toarray() @ A.T
    duals = [dual_value(p, A, 0.05, loss, r) for p, r in zip(P, residuals, strict=True)]
    assert (found.gap > 1e-3).any()
    assert np.allclose(found.gap, found.objective - duals, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_against_conic_solvers(rng, kind):
    cvxpy = pytest.importorskip("cvxpy")
    for lam in (0.02, 0.2, 0.7):
        P, A = kind(rng, 12, 7)
        p, a = cvxpy.Parameter(12), A
        x = cvxpy.Variable(A.shape[1], nonneg=True)
        goals = {
            "norm": cvxpy.norm(p - a @ x) + lam * cvxpy.sum(x),
            "squared": 0.5 * cvxpy.sum_squares(p - a @ x) + lam * cvxpy.sum(x),
        }
        for loss, goal in goals.items():
            problem = cvxpy.Problem(cvxpy.Minimize(goal))
            found = lars.codes(P, A, lam, loss=loss)
            for row in range(2):
                p.value = P[row]
                best = problem.solve(solver=cvxpy.CLARABEL)
                assert problem.status == "optimal"
                assert abs(found.objective[row] - best) <= 2e-7 * (1 + abs(best)), (
                    kind.__name__,
                    loss,
                    lam,
                )


@pytest.mark.parametrize("kind", [positive, signed])
def test_against_the_path_of_scikit_learn(rng, kind):
    """At the middle of each piece but the last, which stops short there (its alphas are divided by the terms)."""
    from sklearn.linear_model import lars_path

    pieces = 0
    for _ in range(6):
        P, A = kind(rng, 30, 12)
        for p in P:
            alphas, _, path = lars_path(A, p, method="lasso", positive=True)
            for at in range(len(alphas) - 2):
                middle = 0.5 * (alphas[at] + alphas[at + 1]) * len(p)
                found = lars.codes(p[None], A, middle, loss="squared")
                expected = 0.5 * (path[:, at] + path[:, at + 1])
                assert np.allclose(found.X.toarray()[0], expected, atol=1e-9)
                # The same point solves the norm problem for lam = mu / ||p - A x||_2.
                same = lars.codes(p[None], A, middle / found.residual[0])
                assert np.allclose(same.X.toarray()[0], expected, atol=1e-8)
                pieces += 1
    assert pieces > 50


def test_against_coordinate_descent_of_scikit_learn(rng):
    """Squared: `Lasso`. Norm: mu = lam ||p - A x||_2 iterated with it."""
    from sklearn.linear_model import Lasso

    P, A = positive(rng, 40, 15)
    for p in P:

        def lasso(mu, p=p):
            model = Lasso(
                alpha=mu / len(p), positive=True, fit_intercept=False, tol=1e-12, max_iter=100_000
            )
            return model.fit(A, p).coef_

        assert np.allclose(
            lars.codes(p[None], A, 0.2, loss="squared").X.toarray()[0], lasso(0.2), atol=1e-6
        )
        mu = 0.3 * np.linalg.norm(p)
        for _ in range(60):
            x = lasso(mu)
            mu = 0.3 * np.linalg.norm(p - A @ x)
        assert np.allclose(lars.codes(p[None], A, 0.3).X.toarray()[0], x, atol=1e-6)


def test_without_penalty_it_is_non_negative_least_squares(rng):
    for kind in KINDS:
        P, A = kind(rng, 15, 6)
        found = lars.codes(P, A, 0.0)
        expected = [nnls(A, p)[1] for p in P]
        assert np.allclose(found.objective, expected, atol=1e-7), kind.__name__


@pytest.mark.slow
@given(st.data())
@settings(max_examples=120)
def test_any_small_problem(data):
    terms, atoms = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    number = data.draw(
        st.sampled_from([st.integers(-2, 2).map(float), st.just(0.0) | st.floats(0.01, 2)])
    )
    P = data.draw(arrays(float, (2, terms), elements=number))
    A = data.draw(arrays(float, (terms, atoms), elements=number))
    lam, loss = data.draw(st.sampled_from([0.0, 0.1, 1.0])), data.draw(st.sampled_from(lars.LOSSES))
    found = lars.codes(P, A, lam, loss=loss)
    norm = np.linalg.norm(P, axis=1)
    assert (found.gap <= 1e-9 * (norm if loss == "norm" else norm**2)).all()
    assert np.allclose(found.objective, value(P, A, lam, found.X.toarray(), loss), atol=1e-10)


def test_atoms_of_nearly_the_same_direction(rng):
    """Rounding may break the path there; the gap is told truly."""
    base = rng.random((30, 4))
    for size in (1e-3, 1e-5, 1e-7, 1e-9, 1e-12):
        A = np.repeat(base, 3, axis=1) + size * rng.random((30, 12))
        P = rng.random((20, 4)) @ base.T + 0.1 * rng.random((20, 30))
        assert np.allclose(lars.codes(P, A, 0.0).objective, [nnls(A, p)[1] for p in P], atol=1e-6)
        for lam in (0.01, 0.3):
            found = lars.codes(P, A, lam)
            assert (found.gap <= 1e-6 * np.linalg.norm(P, axis=1)).all()
            assert np.allclose(
                found.objective, value(P, A, lam, found.X.toarray(), "norm"), atol=1e-10
            )


@pytest.mark.parametrize("loss", lars.LOSSES)
def test_a_large_penalty_gives_zero(rng, loss):
    P, A = positive(rng, 20, 8)
    norm = np.linalg.norm(P, axis=1)
    edge = (P @ A).max(axis=1) / (norm if loss == "norm" else 1.0)
    for row, limit in enumerate(edge):
        none, some = (
            lars.codes(P[[row]], A, limit * factor, loss=loss) for factor in (1 + 1e-9, 1 - 1e-6)
        )
        assert none.X.nnz == 0 and some.X.nnz > 0
        assert none.objective[0] == pytest.approx(
            norm[row] if loss == "norm" else norm[row] ** 2 / 2, rel=1e-14
        )
    unit = sparse.csr_array(P / norm[:, None])
    assert (lars.codes(unit, A, 1e6).objective == 1.0).all()  # so that ties tie


def test_one_atom_has_a_closed_form():
    """p = a cos + b sin of the angle to the atom: r / mu = 1 / lam on the atom's own line."""
    angle, lam = 0.7, 0.2
    p = np.array([[np.cos(angle), np.sin(angle)]])
    x = np.cos(angle) - lam * np.sin(angle) / np.sqrt(1 - lam**2)
    found = lars.codes(p, np.array([[1.0], [0.0]]), lam)
    assert found.X.toarray()[0, 0] == pytest.approx(x, rel=1e-14)
    assert found.objective[0] == pytest.approx(
        np.hypot(np.cos(angle) - x, np.sin(angle)) + lam * x, rel=1e-14
    )


def test_a_document_that_is_an_atom(rng):
    P = np.abs(rng.normal(size=(6, 50)))
    P /= np.linalg.norm(P, axis=1, keepdims=True)
    found = lars.codes(P, P.T, 0.1)
    assert np.allclose(found.objective, 0.1, atol=1e-12) and np.allclose(
        found.X.toarray(), np.eye(6), atol=1e-9
    )


def test_empty_things(rng):
    P, A = positive(rng, 10, 4)
    P[1] = 0.0
    found = lars.codes(sparse.csr_array(P), sparse.csc_array(A), 0.1)
    assert found.objective[1] == found.residual[1] == found.gap[1] == 0.0 and found.X[[1]].nnz == 0
    assert lars.codes(P[:0], A, 0.1).X.shape == (0, 4)
    none = lars.codes(P, A[:, :0], 0.1)
    assert none.X.shape == (4, 0) and np.allclose(none.objective, np.linalg.norm(P, axis=1))
    assert lars.codes(P, 0.0 * A, 0.1).X.nnz == 0
    assert lars.codes(np.zeros((2, 0)), np.zeros((0, 3)), 0.1).objective.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scale", [1e-90, 1e-12, 1e12, 1e90])
def test_scales_of_documents_and_atoms(rng, scale):
    """The norm objective is homogeneous: documents times s, codes times s; atoms and lam times s, codes over s."""
    P, A = positive(rng, 20, 8)
    one = lars.codes(P, A, 0.1)
    documents, atoms = lars.codes(P * scale, A, 0.1), lars.codes(P, A * scale, 0.1 * scale)
    assert np.allclose(documents.objective / scale, one.objective, rtol=1e-12)
    assert np.allclose(atoms.objective, one.objective, rtol=1e-12)
    assert np.allclose((atoms.X * scale).toarray(), one.X.toarray(), rtol=1e-9)


def test_documents_are_independent_and_arguments_unchanged(rng):
    P, A = (sparse.csr_array(matrix) for matrix in positive(rng, 60, 25))
    before = P.copy(), A.copy()
    whole_batch = lars.codes(P, A, 0.1)
    for row in range(P.shape[0]):
        alone = lars.codes(P[[row]], A, 0.1)
        assert np.array_equal(alone.X.toarray()[0], whole_batch.X[[row]].toarray()[0])
        assert alone.objective[0] == whole_batch.objective[row]
    assert all((old != new).nnz == 0 for old, new in zip(before, (P, A), strict=True))


@pytest.mark.slow
@pytest.mark.corpora
def test_real_documents(corpora):
    """TDT2 with 500 documents as atoms, some of them twice: every code is proved."""
    source = read("tdt2", [corpora / "tdt2" / "TDT2_with_time.mat"])
    rows = batching.order(source.ids, source.times, 0, "seeded")
    first = features.follow(source.select(rows[:1000]), None)
    P = first.weighed(norm="l2")[:]
    A = sparse.csc_array(P[np.arange(500) // 2 * 3].T)
    for loss in lars.LOSSES:
        found = lars.codes(P, A, 0.1, loss=loss)
        assert found.gap.max() <= 1e-11
        assert found.X.nnz > 0


@pytest.mark.parametrize(
    ("P", "A", "lam", "loss", "words"),
    [
        (np.ones((2, 3)), np.ones((4, 2)), 0.1, "norm", "P has 3 terms and A has 4"),
        (np.ones((2, 3)), np.ones((3, 2)), -0.1, "norm", "from 0 to 1e\\+100"),
        (np.ones((2, 3)), np.ones((3, 2)), "0.1", "norm", "a real number"),
        (np.ones((2, 3)), np.ones((3, 2)), 0.1, "l1", "one of 'norm', 'squared'"),
        (np.full((2, 3), 1e101), np.ones((3, 2)), 0.1, "norm", "above 1e\\+100"),
        (np.full((2, 3), np.nan), np.ones((3, 2)), 0.1, "norm", "finite"),
    ],
)
def test_refused(P, A, lam, loss, words):
    with pytest.raises(ParameterError, match=words):
        lars.codes(P, A, lam, loss=loss)


def test_without_a_penalty_the_certificate_holds_for_atoms_of_any_length(rng):
    """Documents are in the cone of the atoms, so 0 is the optimum: what is left over is within the gap."""
    for _ in range(40):
        A = rng.random((9, 9)) * (rng.random((9, 9)) < 0.6) * 10.0 ** rng.integers(-6, 6, 9)
        P = rng.random((3, 9)) @ A.T
        coded = lars.codes(P, A, 0.0)
        assert (coded.objective - coded.gap <= 1e-11 * np.linalg.norm(P, axis=1)).all()
