"""Codes by FISTA against solvers and certificates; atoms and learning by what they must do; the two learners."""

import functools

import numpy as np
import pytest
from networked import text
from reference import hierarchical_value
from scipy import sparse
from scipy.optimize import nnls

from odl import learners, novelty, trees
from odl.coding import fista
from odl.dictionary import structured, treestart
from odl.errors import ParameterError
from odl.kernels import tree_codes, tree_norm
from odl.prox import treeprox

documents = functools.partial(text, n=90, m=40, topics=5, own=8, length=12)


@pytest.fixture
def P(rng):
    return documents(rng)


@pytest.fixture
def D(rng):
    """A dictionary of unit atoms that are far from orthogonal."""
    D = rng.random((40, 15)) * (rng.random((40, 15)) < 0.5) + 0.1
    return D / np.linalg.norm(D, axis=0)


def objectives(P, D, X, tree, lam, norm):
    P, X = P.toarray() if sparse.issparse(P) else P, X.toarray()
    residual = 0.5 * ((P - X @ D.T) ** 2).sum(axis=1)
    penalty = [lam * hierarchical_value(x, tree.groups(), norm) for x in X]
    return residual, np.array(penalty)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("norm", ["l2", pytest.param("linf", marks=pytest.mark.slow)])
def test_signals_with_fewer_entries_than_atoms(rng, norm, nonnegative, masked):
    """Dense ones go by ADMM; the same ones as sparse documents by FISTA, which has to come to the same objective."""
    tree, D = trees.binary(63), 3.0 * rng.normal(size=(12, 63))
    P = rng.normal(size=(12, 12)) * np.repeat([1e-2, 1.0, 1e2, 0.0], 3)[:, None]
    mask = rng.random(P.shape) < 0.6 if masked else np.ones(P.shape, dtype=bool)
    mask[0] = False
    options = {"norm": norm, "nonnegative": nonnegative, "tolerance": 1e-5, "iterations": 100_000}
    total = {"dense": 0, "sparse": 0}
    for lam in (0.01, 0.3):
        found = fista.codes(P, D, lam, tree, mask=mask, **options)
        value = found.residual + found.penalty
        _, penalty = objectives(P, D, found.X, tree, lam, norm)
        np.testing.assert_allclose(found.penalty, penalty, rtol=1e-12, atol=1e-15)
        assert (found.gap <= 1e-5 * value).all()
        for row, known in enumerate(mask):
            alone = fista.codes(
                sparse.csr_array(P[[row]][:, known]), D[known], lam, tree, **options
            )
            best = alone.residual + alone.penalty
            assert value[row] == pytest.approx(best[0], rel=3e-5, abs=1e-15)
            fit = 0.5 * ((P[row] - D @ found.X.toarray()[row])[known] ** 2).sum()
            assert found.residual[row] == pytest.approx(
                fit, rel=1e-9, abs=1e-12 * np.sum(P[row] ** 2)
            )
            total["sparse"] += int(alone.iterations[0])
        total["dense"] += int(found.iterations.sum())
        again = fista.codes(P, D, lam, tree, mask=mask, start=found.X, **options)
        # Multipliers start from zero again, so a start from the code need not save any.
        assert again.iterations.sum() <= 1.1 * found.iterations.sum()
    assert total["dense"] < 0.5 * total["sparse"]


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("norm", [pytest.param("l2", marks=pytest.mark.slow), "linf"])
def test_codes_against_a_conic_solver(rng, D, norm, nonnegative):
    """Objective, its parts and the gap; the gap bounds the excess."""
    cvxpy = pytest.importorskip("cvxpy")
    tree, lam = trees.binary(15), 0.05
    P = rng.normal(size=(4, 40)) / 5 + (0.0 if not nonnegative else 0.1)
    found = fista.codes(P, D, lam, tree, norm=norm, nonnegative=nonnegative, tolerance=1e-9)
    residual, penalty = objectives(P, D, found.X, tree, lam, norm)
    np.testing.assert_allclose(found.residual, residual, atol=1e-12)
    np.testing.assert_allclose(found.penalty, penalty, atol=1e-12)
    order = {"l2": 2, "linf": "inf"}[norm]
    for p, value, gap in zip(P, residual + penalty, found.gap, strict=True):
        x = cvxpy.Variable(15, nonneg=nonnegative)
        omega = sum(cvxpy.norm(x[group], order) for group in tree.groups())
        best = cvxpy.Problem(
            cvxpy.Minimize(0.5 * cvxpy.sum_squares(p - D @ x) + lam * omega)
        ).solve(solver="CLARABEL")
        assert gap <= 1e-9 * value and value == pytest.approx(best, rel=1e-6)
    assert found.X.nnz < 60  # the penalty bites


@pytest.mark.parametrize("positive", [True, False])
def test_without_a_tree_it_is_the_lasso(P, D, positive):
    from sklearn.linear_model import Lasso

    found = fista.codes(P, D, 0.03, nonnegative=positive, tolerance=1e-10)
    lasso = Lasso(
        alpha=0.03 / 40, fit_intercept=False, positive=positive, tol=1e-14, max_iter=100_000
    )
    expected = np.array([lasso.fit(D, p).coef_ for p in P.toarray()[:20]])
    np.testing.assert_allclose(found.X.toarray()[:20], expected, atol=1e-5)
    np.testing.assert_allclose(found.penalty, 0.03 * abs(found.X).sum(axis=1))


def test_without_a_penalty_it_is_least_squares(P, D):
    found = fista.codes(P[:10], D, 0.0, tolerance=0.0, iterations=5000)
    expected = np.array([nnls(D, p)[1] ** 2 / 2 for p in P.toarray()[:10]])
    np.testing.assert_allclose(found.residual, expected, rtol=1e-6)


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("positive", [True, False])
def test_the_gap_bounds_the_error_from_the_first_iteration_on(rng, D, norm, positive):
    P, tree = rng.normal(size=(20, 40)) / 6, trees.balanced((2, 6))
    options = {"norm": norm, "nonnegative": positive, "tolerance": 0.0}
    best = fista.codes(P, D, 0.05, tree, **options, iterations=3000)
    optimum = best.residual + best.penalty
    for iterations in (0, 1, 3, 10, 30):
        found = fista.codes(P, D, 0.05, tree, **options, iterations=iterations)
        excess = found.residual + found.penalty - optimum
        assert (excess <= found.gap + 1e-12).all()
        assert ((found.iterations == iterations) | (found.gap == 0)).all()
    assert best.gap.max() < 1e-9


def test_dual_norm_is_where_the_prox_becomes_zero(rng):
    """The kernel's bound and the prox agree: at the bound the prox is zero, well below it is not."""
    for norm in ("l2", "linf"):
        tree = trees.Tree((-1, 0, 0, 1, -1, 4, 4))
        order, plan = treeprox.layout(tree)
        for _ in range(30):
            z = rng.normal(size=7)
            bound = tree_norm.dual_norm(z[order], plan, 1e-3, norm == "linf")
            assert not treeprox.prox_tree(z, tree, bound, norm=norm).any()
            assert treeprox.prox_tree(z, tree, 0.9 * bound, norm=norm).any()


def test_a_code_uses_an_atom_only_with_its_ancestors(P, D):
    """Signed codes; codes that may not be negative can lack an ancestor that would be."""
    tree = trees.binary(15)
    X = fista.codes(P, D, 0.05, tree, nonnegative=False, tolerance=1e-8).X.toarray() != 0
    assert 0.05 < X.mean() < 0.8
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            assert (X[:, parent] | ~X[:, node]).all()


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_how_documents_are_cut_and_kept_changes_no_bit(P, D, norm, monkeypatch):
    tree = trees.binary(15)
    whole = fista.codes(P, D, 0.02, tree, norm=norm)
    monkeypatch.setattr(fista, "FISTA_BLOCK", 7)
    cut = fista.codes(P, D, 0.02, tree, norm=norm)
    dense = fista.codes(P.toarray(), sparse.csc_array(D), 0.02, tree, norm=norm)
    alone = fista.codes(P[[3]], D, 0.02, tree, norm=norm)
    for other in (cut, dense):
        assert np.array_equal(whole.X.toarray(), other.X.toarray()) and np.array_equal(
            whole.gap, other.gap
        )
    assert np.array_equal(whole.X.toarray()[[3]], alone.X.toarray())


def test_warm_starts_end_at_once(P, D):
    tree = trees.binary(15)
    found = fista.codes(P, D, 0.02, tree, tolerance=1e-8)
    again = fista.codes(P, D, 0.02, tree, tolerance=1e-6, start=found.X)
    assert found.iterations.max() > 0 and (again.iterations == 0).all()
    assert np.array_equal(again.X.toarray(), found.X.toarray())


def test_large_penalties_and_empty_documents_have_zero_codes(D):
    P = sparse.csr_array(np.vstack([np.zeros(40), np.ones(40)]))
    found = fista.codes(P, D, 1e3, trees.binary(15))
    assert found.X.nnz == 0 and np.allclose(found.residual, [0.0, 20.0]) and (found.gap == 0).all()
    assert fista.codes(P[:0], D, 0.1).X.shape == (0, 15)
    assert fista.codes(P, np.zeros((40, 3)), 0.1).X.nnz == 0


def test_the_relative_decrease_stops_too(P, D):
    tight = fista.codes(P, D, 0.02, stop="decrease", tolerance=1e-10)
    loose = fista.codes(P, D, 0.02, stop="decrease", tolerance=1e-2)
    assert loose.iterations.mean() < tight.iterations.mean() < 900
    best = fista.codes(P, D, 0.02, tolerance=1e-10)
    np.testing.assert_allclose(
        tight.residual + tight.penalty, best.residual + best.penalty, rtol=1e-6
    )


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_a_mask_hides_entries_from_signals_and_dictionary(rng, norm):
    """Inpainting codes are those of the rows of D that are known, one signal at a time."""
    D, P, tree = rng.normal(size=(30, 13)), rng.normal(size=(6, 30)), trees.balanced((3, 3))
    mask = rng.random((6, 30)) < 0.4
    mask[5] = False
    options = {"norm": norm, "nonnegative": False, "tolerance": 1e-8}
    found = fista.codes(P, D, 0.3, tree, mask=mask, **options)
    for row in range(5):
        alone = fista.codes(P[[row]][:, mask[row]], D[mask[row]], 0.3, tree, **options)
        np.testing.assert_allclose(found.X.toarray()[[row]], alone.X.toarray(), atol=1e-3)
        assert found.residual[row] + found.penalty[row] == pytest.approx(
            alone.residual[0] + alone.penalty[0], rel=1e-7
        )
    assert not found.X.toarray()[5].any() and 0 < found.X.nnz < 60


@pytest.mark.parametrize("signed", [True, False])
def test_the_bound_of_the_largest_eigenvalue_is_one(rng, signed):
    D = rng.normal(size=(30, 12)) if signed else rng.random((30, 12))
    gram, exact = tree_codes.gram_matrix(D), np.linalg.norm(D, 2) ** 2
    np.testing.assert_allclose(gram, D.T @ D, rtol=1e-12)
    assert exact * (1 - 1e-12) <= fista._lipschitz(gram) <= exact * (1.6 if signed else 1.001)


def test_codes_refuse_bad_arguments(P, D):
    bad = [
        {"lam": -1.0},
        {"lam": 0.1, "norm": "l1"},
        {"lam": 0.1, "stop": "never"},
        {"lam": 0.1, "tolerance": -1},
    ]
    for settings in [
        *bad,
        {"lam": 0.1, "iterations": 2.5},
        {"lam": 0.1, "start": np.zeros((3, 3))},
    ]:
        with pytest.raises(ParameterError):
            fista.codes(P, D, **settings)
    with pytest.raises(ParameterError, match="the tree has 3 atoms and D 15"):
        fista.codes(P, D, 0.1, trees.path(3))
    with pytest.raises(ParameterError, match="P has 40 terms and D 39"):
        fista.codes(P, D[:39], 0.1)
    with pytest.raises(ParameterError, match="mask"):
        fista.codes(P.toarray(), D, 0.1, mask=np.ones((2, 2)))


PROBLEMS = {
    "text": structured.Problem(0.02, trees.binary(7), "l2", mu=1.0, tolerance=1e-8),
    "between": structured.Problem(0.02, trees.binary(7), "linf", mu=0.5, tolerance=1e-8),
    "images": structured.Problem(
        0.02, None, mu=0.0, tolerance=1e-8, nonnegative_codes=False, nonnegative_atoms=False
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_learning_lowers_the_objective_and_keeps_the_constraint(name, P, rng):
    problem, start = PROBLEMS[name], np.abs(rng.normal(size=(40, 7)))
    fit = structured.learn_batch(problem, P, start, rounds=8)
    steps = np.diff(fit.objective)
    assert (steps <= 1e-7 * fit.objective[0]).all() and fit.objective[-1] < 0.9 * fit.objective[0]
    assert treeprox.value_atoms(fit.D, problem.mu, nonnegative=problem.nonnegative_atoms) == 0.0
    tree = problem.tree or trees.flat(7)
    parts = objectives(P, fit.D, fit.codes.X, tree, problem.lam, problem.norm)
    assert np.mean(np.add(*parts)) == pytest.approx(fit.objective[-1])


def quadratic(D, statistics):
    A, B = statistics.A.toarray(), statistics.B.toarray()
    return 0.5 * np.trace(D.T @ D @ A) - np.trace(D.T @ B)


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("positive", [True, False])
def test_atoms_are_those_of_a_conic_solver(rng, mu, positive):
    """Many sweeps reach the minimum over all dictionaries of the set; each sweep goes down."""
    cvxpy = pytest.importorskip("cvxpy")
    P, X = rng.normal(size=(30, 6)), rng.normal(size=(30, 3)) * (rng.random((30, 3)) < 0.7)
    statistics = structured.statistics(P, X)
    D = np.full((6, 3), 0.05)
    values = [quadratic(D, statistics)]
    for sweeps in (1, 3, 200):
        problem = structured.Problem(0.1, mu=mu, nonnegative_atoms=positive, sweeps=sweeps)
        values.append(quadratic(problem.update(D, statistics), statistics))
    assert values[0] > values[1] > values[2] >= values[3]
    V = cvxpy.Variable((6, 3), nonneg=positive)
    inside = [
        mu * cvxpy.norm1(V[:, j]) + (1 - mu) * cvxpy.sum_squares(V[:, j]) <= 1 for j in range(3)
    ]
    loss = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(P - X @ V.T)), inside).solve(
        solver="CLARABEL"
    )
    assert values[3] + 0.5 * (P**2).sum() == pytest.approx(loss, rel=1e-6)


def test_an_unused_atom_stays(P, rng):
    problem, start = PROBLEMS["text"], np.abs(rng.normal(size=(40, 7)))
    start = problem.project(start)
    start[:, 6] = 0.0
    X = problem.codes(P, start).X
    assert not X[:, [6]].nnz
    assert np.array_equal(problem.update(start, structured.statistics(P, X))[:, 6], start[:, 6])
    assert not structured.learn_batch(problem, P, start, rounds=3).D[:, 6].any()


def test_statistics_do_not_depend_on_how_the_stream_was_cut(P, rng):
    """With and without forgetting: what a document counts follows from the documents after it alone."""
    X = sparse.random_array((90, 5), density=0.4, rng=rng, format="csr")
    for forgetting in (0.0, 1.0, 2.5):
        total = None
        for first, last in ((0, 10), (10, 55), (55, 90)):
            total = structured.accumulate(
                total, structured.statistics(P[first:last], X[first:last]), forgetting
            )
        weights = np.repeat([10, 55, 90], [10, 45, 35]) / 90
        scaled = sparse.csr_array(X.multiply(weights[:, None] ** forgetting))
        np.testing.assert_allclose(total.A.toarray(), (X.T @ scaled).toarray(), atol=1e-12)
        np.testing.assert_allclose(total.B.toarray(), (P.T @ scaled).toarray(), atol=1e-12)
        assert total.documents == 90


@pytest.mark.parametrize("make", [np.array, sparse.csc_array])
def test_online_learning_comes_near_the_batch(make, rng):
    P, start = documents(rng, n=400), np.abs(rng.normal(size=(40, 7)))
    problem = PROBLEMS["images"]
    batch = structured.learn_batch(problem, P, start, rounds=40).objective[-1]
    D, past, objective = structured.learn_online(
        problem, P, make(start), np.random.default_rng(1), batch=50, epochs=6, forgetting=1.0
    )
    codes = problem.codes(P, D)
    mean = np.mean(codes.residual + codes.penalty)
    assert mean < 1.1 * batch and mean < objective[0]
    assert (
        past.documents == 2400
        and len(objective) == 48
        and sparse.issparse(D) == (make is not np.array)
    )
    assert (P.toarray() == documents(np.random.default_rng(0), n=400).toarray()).all()


def planted(rng, n=240):
    """Documents of two fields of two topics each; words 0-3 in all, 4-7 and 8-11 of a field, then three of a topic."""
    counts = np.zeros((n, 24))
    for row in range(n):
        topic = row % 4
        field = topic // 2
        np.add.at(counts[row], rng.choice(4, 6), 1.0)
        np.add.at(counts[row], 4 + 4 * field + rng.choice(4, 6), 1.0)
        np.add.at(counts[row], 12 + 3 * topic + rng.choice(3, 6), 1.0)
    return sparse.csr_array(counts / np.linalg.norm(counts, axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(5))
def test_a_start_from_clusters_finds_a_planted_tree(seed):
    """Common words at the root, those of a field below it, those of a topic below its field."""
    P, tree = planted(np.random.default_rng(seed)), trees.balanced((2, 2))
    D = treestart.cluster_atoms(P, tree, np.random.default_rng(seed))
    heaviest = [set(np.argsort(-atom)[:3].tolist()) for atom in D.toarray().T]
    fields = {node: (min(heaviest[node]) - 4) // 4 for node in (1, 2)}
    assert heaviest[0] <= set(range(4)) and set(fields.values()) == {0, 1}
    for node, field in fields.items():
        assert heaviest[node] <= set(range(4 + 4 * field, 8 + 4 * field))
        below = [sorted(heaviest[child]) for child in tree.children[node]]
        assert sorted(below) == [
            [12 + 3 * t, 13 + 3 * t, 14 + 3 * t] for t in (2 * field, 2 * field + 1)
        ]


def test_any_tree_starts_from_clusters(P, rng):
    """Forests, paths, more children than documents; unit atoms, same for a seed."""
    for tree in (trees.flat(9), trees.Tree((-1, 0, 0, -1)), trees.path(30)):
        D = treestart.cluster_atoms(P, tree, np.random.default_rng(3))
        np.testing.assert_allclose(np.linalg.norm(D.toarray(), axis=0), 1.0)
        assert D.shape == (40, tree.n_nodes) and D.data.min() > 0
        assert abs(D - treestart.cluster_atoms(P, tree, np.random.default_rng(3))).nnz == 0
    assert treestart.cluster_atoms(P[:2], trees.balanced((5, 2)), rng).shape == (40, 16)
    with pytest.raises(ParameterError, match="no document has a term of the vocabulary"):
        treestart.cluster_atoms(sparse.csr_array((3, 40)), trees.path(2), rng)


NAMES = ("flat", "hierarchical")


@pytest.mark.parametrize("name", NAMES)
class TestLearners:
    def test_the_dictionary_stays_feasible_and_the_score_is_the_objective(self, name, P, rng):
        learner = learners.make(name, lam=0.02, mu=0.5, rounds=3)
        state = learner.start(P, 7, rng)
        for _ in range(2):
            A = state.dictionary.toarray()
            assert treeprox.value_atoms(A, 0.5, nonnegative=True) == 0.0
            found = novelty.score(learner, state, P)
            tree = trees.binary(7) if name == "hierarchical" else trees.flat(7)
            residual, penalty = objectives(P, A, found.codes, tree, 0.02, "l2")
            np.testing.assert_allclose(found.residual, residual, atol=1e-12)
            np.testing.assert_allclose(found.score, residual + penalty, atol=1e-12)
            assert found.codes.data.min() > 0 and found.gap <= 1e-6 and found.score.max() <= 0.5
            state = learner.learn(state, P, found.codes)

    def test_learning_changes_no_argument(self, name, P, rng):
        learner = learners.make(name, rounds=1)
        state = learner.start(P, 7, rng)
        X = learner.score(state, P).codes
        copies = (
            state.dictionary.copy(),
            {key: value.copy() for key, value in state.arrays.items()},
            X.copy(),
        )
        after = learner.learn(state, P, X)
        assert (copies[0] != state.dictionary).nnz == 0 and (copies[2] != X).nnz == 0
        assert (copies[1]["gram"] != state.arrays["gram"]).nnz == 0
        assert (copies[1]["cross"] != state.arrays["cross"]).nnz == 0
        assert state.arrays["documents"][0] == 90 and after.arrays["documents"][0] == 180
        assert after.updates == state.updates + 1 == 1

    def test_new_terms_are_zero_rows_and_are_learned(self, name, P, rng):
        learner = learners.make(name, rounds=1, lam=0.01)
        state = learner.start(P, 7, rng)
        wide = learner.fit_terms(state, 45)
        assert wide.dictionary.shape == (45, 7) and wide.arrays["cross"].shape == (45, 7)
        assert (wide.dictionary[:40] != state.dictionary).nnz == 0 and wide.dictionary[40:].nnz == 0
        more = sparse.csr_array(np.hstack([P.toarray()[:30], np.full((30, 5), 0.1)]))
        after = learner.learn(wide, more, learner.score(wide, more).codes)
        assert after.dictionary.shape == (45, 7) and after.dictionary[40:].nnz > 0

    def test_blocks_change_the_sums_by_rounding_only(self, name, P, rng, monkeypatch):
        learner = learners.make(name, rounds=1, lam=0.01)
        state = learner.start(P, 7, rng)
        X = learner.score(state, P).codes
        whole = learner.learn(state, P, X)
        monkeypatch.setattr(structured, "STATISTICS_BLOCK", 7)
        fine = learner.learn(state, P, X)
        np.testing.assert_allclose(whole.dictionary.toarray(), fine.dictionary.toarray(), atol=1e-9)

    def test_learned_topics_score_low_and_others_high(self, name, rng):
        P = documents(rng, n=200, m=60)
        learner = learners.make(name, lam=0.01, rounds=10)
        state = learner.start(P[:150], 7, np.random.default_rng(0))
        strange = documents(np.random.default_rng(77), n=50, m=60, topics=3)
        known, other = (novelty.score(learner, state, part).score for part in (P[150:], strange))
        assert np.median(known) < 0.5 * np.median(other)

    def test_batches_of_any_size_empty_documents_and_zero_codes(self, name, P, rng):
        learner = learners.make(name, rounds=1, forgetting=1.0)
        state = learner.start(P, 7, rng)
        for part in (P[:3], P[:50], P[:1], sparse.csr_array((4, 40))):
            state = learner.learn(state, part, learner.score(state, part).codes)
        assert np.isfinite(state.dictionary.data).all() and state.arrays["documents"][0] == 148
        assert (novelty.score(learner, state, sparse.csr_array((2, 40))).score == 1.0).all()

    def test_bad_settings_are_refused(self, name, P, rng):
        for settings in (
            {"lam": -1.0},
            {"mu": 1.5},
            {"mu": -0.1},
            {"sweeps": 0},
            {"tolerance": 0.0},
            {"rounds": 1.5},
        ):
            with pytest.raises(ParameterError):
                learners.make(name, **settings)
        with pytest.raises(ParameterError, match="91 atoms for 90 documents"):
            learners.make(name).start(P, 91, rng)


def test_the_tree_must_have_a_node_for_each_atom(P, rng):
    learner = learners.make("hierarchical", tree="2,3", rounds=1)
    assert learner.start(P, 9, rng).dictionary.shape == (40, 9)
    with pytest.raises(
        ParameterError, match=r"has 9 nodes and the dictionary 10 atoms; .*set atoms to 9"
    ):
        learner.start(P, 10, rng)
    with pytest.raises(ParameterError, match="group_norm"):
        learners.make("hierarchical", group_norm="l3")


def test_a_flat_tree_is_the_flat_learner(P):
    flat = learners.make("flat", rounds=2).start(P, 3, np.random.default_rng(1))
    tree = learners.make("hierarchical", tree="parents -1,-1,-1", rounds=2).start(
        P, 3, np.random.default_rng(1)
    )
    assert (flat.dictionary != tree.dictionary).nnz == 0
