"""The dictionary step against a linear program, against Algorithm 3 as printed, and in its limiting cases."""

import numpy as np
import pytest
from reference import algorithm_3, best_dictionary, dense, project, project_column
from scipy import sparse

from odl.dictionary import l1
from odl.dictionary.l1 import fit_dictionary
from odl.errors import ParameterError
from odl.kernels import dictionary_step


def loss(P, X, A):
    return float(np.abs(dense(P) - dense(X) @ dense(A).T).sum())


def problem(seed, n=30, m=20, k=4, scale=0.7):
    """Return documents near X A^T with words of their own, codes, and a feasible dictionary."""
    rng = np.random.default_rng(seed)
    A = rng.random((m, k)) * (rng.random((m, k)) < 0.3)
    A /= np.maximum(A.sum(axis=0), 1e-9)
    X = rng.random((n, k)) * (rng.random((n, k)) < 0.6)
    P = (X @ A.T) * (rng.random((n, m)) < 0.8) + 0.1 * rng.random((n, m)) * (
        rng.random((n, m)) < 0.3
    )
    P /= np.maximum(P.sum(axis=1, keepdims=True), 1e-9)
    return P, scale * X, A


@pytest.mark.parametrize("steps", ["pairs", "uniform"])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [0.3, 3.0])  # sums of atoms that bind, and that do not
def test_reaches_the_linear_program(seed, steps, scale):
    P, X, _ = problem(seed, scale=scale)
    best, _ = best_dictionary(P, X)
    fit = fit_dictionary(P, X, steps=steps, iterations=20_000, tolerance=1e-6)
    assert fit.bound - 1e-9 <= best <= fit.objective + 1e-9
    assert fit.objective <= best * (1 + 1e-6) + 1e-9
    assert np.isclose(fit.objective, loss(P, X, fit.dictionary), rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_few_iterations_are_certified(seed):
    P, X, A = problem(seed)
    best, _ = best_dictionary(P, X)
    for iterations in (0, 1, 5, 50):
        fit = fit_dictionary(P, X, A, iterations=iterations, tolerance=0.0)
        assert fit.iterations == iterations and len(fit.trace) == iterations + 1
        assert fit.bound - 1e-9 <= best <= fit.objective + 1e-9
        assert (fit.trace[:, 0] >= best - 1e-9).all() and (fit.trace[:, 1] <= best + 1e-9).all()
        assert fit.objective == fit.trace[:, 0].min() and fit.bound == fit.trace[:, 1].max()


def test_equal_halves_tie():
    """An atom on exactly half of the code mass of a word may leave it out: the value is the same."""
    P, X = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[1.0], [1.0]])
    fit = fit_dictionary(P, X, tolerance=1e-9, iterations=5000)
    assert np.isclose(fit.objective, best_dictionary(P, X)[0], atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_never_worse_than_the_start_and_feasible(seed):
    rng = np.random.default_rng(seed)
    P, X, A = problem(seed)
    start = rng.random(A.shape) * (rng.random(A.shape) < 0.5)
    start /= start.sum(axis=0) * rng.choice([1.0, 2.0], 4)
    for first in (A, start, fit_dictionary(P, X, iterations=5000).dictionary):
        for iterations in (0, 3, 100):
            fit = fit_dictionary(P, X, first, iterations=iterations, tolerance=0.0)
            assert fit.objective <= loss(P, X, first) + 1e-12
            assert fit.dictionary.data.min() > 0 and fit.dictionary.sum(axis=0).max() <= 1 + 1e-12


@pytest.mark.parametrize(("phi", "gamma"), [(5.0, 1.89), (50.0, 1.0)])
def test_is_algorithm_3_where_nothing_can_be_left_out(rng, phi, gamma):
    """Every document has every word and codes are positive: the reductions are void, iterates are the paper's."""
    P, X = rng.random((25, 12)) ** 3 + 1e-3, rng.random((25, 5))
    P /= P.sum(axis=1, keepdims=True)
    start = project(rng.random((12, 5)))
    fit = fit_dictionary(
        P, X, start, steps="uniform", phi=phi, gamma=gamma, iterations=60, tolerance=0.0
    )
    expected = [loss(P, X, A) for A in algorithm_3(P, X, start, phi, gamma, 60)]
    assert len(set(np.round(expected, 6))) > 40
    assert np.allclose(fit.trace[:, 0], expected, rtol=1e-9)


@pytest.mark.slow
def test_agrees_with_algorithm_3_in_the_limit():
    P, X, _ = problem(3)
    *_, A = algorithm_3(P, X, np.zeros((20, 4)), 50.0, 1.0, 4000)
    fit = fit_dictionary(P, X, iterations=20_000, tolerance=1e-6)
    assert np.isclose(loss(P, X, A), fit.objective, rtol=1e-5)


def test_steps_of_pairs_are_safe():
    """Each term's kappa^(1/2) X^T X kappa^(1/2), over its documents and pairs, has eigenvalues of at most 1."""
    P, X, _ = problem(1, n=60)
    X, P = sparse.csr_array(X), sparse.csc_array(P)
    total = np.asarray(X.sum(axis=0))
    found = l1.reduce_problem(P, X, total)
    kappa, largest = l1.pair_steps(found), []
    for term in np.unique(found.term):
        pairs = np.flatnonzero(found.term == term)
        rows = X.toarray()[P.toarray()[:, term] > 0][:, found.atom[pairs]]
        gram = rows.T @ rows * np.sqrt(np.outer(kappa[pairs], kappa[pairs]))
        largest.append(np.linalg.eigvalsh(gram)[-1])
    assert len(largest) > 5 and 0.5 < max(largest) <= 1 + 1e-12


def test_projection_in_a_metric(rng):
    """max(a - theta step, 0) minimises sum (u - a)^2 / step: theta >= 0, and zero unless the sum binds."""
    for _ in range(50):
        count = int(rng.integers(1, 12))
        values, steps = rng.normal(0.2, 0.5, count), 10.0 ** rng.uniform(-2, 2, count)
        found = values.copy()
        dictionary_step.project(np.array([0, count]), np.arange(count), found, steps)
        assert found.min() >= 0 and found.sum() <= 1 + 1e-9
        theta = ((values - found) / steps)[found > 0]
        if np.maximum(values, 0).sum() <= 1:
            assert np.array_equal(found, np.maximum(values, 0))
        else:
            assert np.isclose(found.sum(), 1) and np.allclose(theta, theta[0]) and theta[0] > 0
            assert (values[found == 0] <= theta[0] * steps[found == 0] + 1e-12).all()
        equal = values.copy()
        dictionary_step.project(np.array([0, count]), np.arange(count), equal, np.ones(count))
        assert np.allclose(equal, project_column(values), atol=1e-9)


def test_unused_atoms_stay(rng):
    P, X, A = problem(2)
    X[:, 1] = 0.0
    A[:, 1] = 0.0
    A[[3, 7], 1] = 0.25, 0.5
    fit = fit_dictionary(P, X, A)
    assert np.array_equal(fit.dictionary.toarray()[:, 1], A[:, 1])
    nothing = fit_dictionary(P, np.zeros_like(X), A)
    assert np.array_equal(nothing.dictionary.toarray(), A) and np.isclose(
        nothing.objective, P.sum()
    )
    assert np.isclose(nothing.bound, nothing.objective)


def test_empty_problems():
    for n, m, k in ((0, 5, 2), (4, 0, 2), (4, 5, 0)):
        fit = fit_dictionary(sparse.csr_array((n, m)), sparse.csr_array((n, k)))
        assert fit.dictionary.shape == (m, k) and fit.objective == 0.0 == fit.bound


def test_zeros_that_are_stored_do_not_matter(rng):
    P, X, A = problem(4)
    stored = sparse.csr_array(np.where(P == 0, 1.0, P))
    stored.data[P.ravel() == 0] = 0.0
    one, two = fit_dictionary(P, X, A, iterations=30), fit_dictionary(stored, X, A, iterations=30)
    assert (
        stored.nnz == P.size
        and (one.dictionary != two.dictionary).nnz == 0
        and one.objective == two.objective
    )


def test_order_of_documents_matters_by_rounding_only(rng):
    P, X, _ = problem(5)
    order = rng.permutation(len(P))
    one, two = (
        fit_dictionary(P, X, iterations=50),
        fit_dictionary(P[order], X[order], iterations=50),
    )
    assert np.allclose(one.dictionary.toarray(), two.dictionary.toarray(), atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"P": -np.ones((3, 2))}, "P contains negative"),
        ({"X": -np.ones((3, 2))}, "X contains negative"),
        ({"X": np.ones((4, 2))}, "3 documents and X has 4"),
        ({"P": np.full((3, 2), np.nan)}, "NaN"),
        ({"start": np.ones((3, 2))}, r"expected the shape \(terms, atoms\)"),
        ({"iterations": -1}, "iterations"),
        ({"iterations": 1.5}, "iterations"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"phi": 0.0}, "phi"),
        ({"phi": "5"}, "phi"),
        ({"gamma": np.inf}, "gamma"),
        ({"steps": "none"}, "steps"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    given = {"P": np.ones((3, 2)), "X": np.ones((3, 2)), **change}
    with pytest.raises(ParameterError, match=message):
        fit_dictionary(given.pop("P"), given.pop("X"), **given)
