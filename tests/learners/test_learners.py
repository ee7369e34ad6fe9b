"""One contract for every learner, and each rule against its equation written down densely."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from contract import ALL, L1, quick
from reference import oiadmm, project, subgradient
from scipy import sparse

from odl import learners, novelty
from odl.errors import ConfigError, ParameterError
from odl.learners import base, sparse_atoms
from odl.learners.online_admm import oiadmm_step


def documents(rng, n=80, m=40, topics=5):
    """Documents of a few words from overlapping topics, rows of unit l1 norm."""
    words = [rng.choice(m, 8, replace=False) for _ in range(topics)]
    counts = np.zeros((n, m))
    for row in range(n):
        np.add.at(counts[row], rng.choice(words[row % topics], 12), 1.0)
    return sparse.csr_array(counts / counts.sum(axis=1, keepdims=True))


def make(name, **settings):
    """Return a learner whose number of atoms stays, where that is a setting."""
    fixed = {"growth": 0} if "growth" in base.parameters(learners.learner_class(name)) else {}
    return learners.make(name, **(fixed | settings))


@pytest.fixture
def P(rng):
    return documents(rng)


@pytest.mark.parametrize("name", ALL)
class TestEveryLearner:
    def prepared(self, name, P, rng):
        """Return the learner, its state after the first batch, and the batch in its norm."""
        learner = learners.make(name, **quick(name))
        if learner.norm == "l2":
            sizes = np.sqrt(np.asarray(P.multiply(P).sum(axis=1)))
            P = sparse.csr_array(P.multiply(1.0 / sizes.reshape(-1, 1)))
        return learner, learner.start(P, 6, rng), P

    def test_learning_is_repeatable_and_changes_no_argument(self, name, P, rng):
        learner, state, P = self.prepared(name, P, rng)
        X = learner.score(state, P).codes
        copies = (
            state.dictionary.copy(),
            {key: value.copy() for key, value in state.arrays.items()},
            X.copy(),
        )
        first, second = (learner.learn(state, P, X, [P[:40]]) for _ in range(2))
        assert (copies[0] != state.dictionary).nnz == 0 and (copies[2] != X).nnz == 0
        assert all(same(copies[1][key], state.arrays[key]) for key in copies[1])
        assert (
            same(first.dictionary, second.dictionary)
            and first.updates == second.updates > state.updates
        )
        assert all(same(first.arrays[key], second.arrays[key]) for key in first.arrays)

    def test_scores_are_parts_of_one_objective(self, name, P, rng):
        learner, state, P = self.prepared(name, P, rng)
        found = learner.score(state, P)
        assert found.codes.shape == (80, state.dictionary.shape[1]) and found.codes.format == "csr"
        for part in (found.residual, found.penalty):
            assert part.shape == (80,) and np.isfinite(part).all()

    def test_without_learning_a_score_does_not_depend_on_the_cut(self, name, P, rng):
        learner, state, P = self.prepared(name, P, rng)
        whole = learner.score(state, P)
        for cuts in ([0, 7, 8, 30, 80], range(0, 81, 10)):
            parts = [learner.score(state, P[first:last]) for first, last in pairwise(cuts)]
            scores = np.concatenate([part.residual + part.penalty for part in parts])
            assert np.allclose(scores, whole.residual + whole.penalty, rtol=1e-6, atol=1e-9)

    def test_new_terms_and_small_batches(self, name, P, rng):
        learner, state, P = self.prepared(name, P, rng)
        atoms = state.dictionary.shape[1]
        wide = sparse.csr_array(sparse.hstack([P[:30], sparse.csr_array(np.full((30, 5), 0.1))]))
        state = learner.fit_terms(state, 45)
        assert state.dictionary.shape == (45, atoms) and state.dictionary[40:].nnz == 0
        past = [P]
        for batch in (wide, wide[:1], wide[:7]):
            state = learner.learn(state, batch, learner.score(state, batch).codes, past)
            past.append(batch)
            assert np.isfinite(state.dictionary.data).all()
            if not learner.grows:
                assert state.dictionary.shape == (45, atoms)

    def test_bad_settings_are_refused(self, name, P, rng):
        learner = learners.learner_class(name)
        for key, entry in learners.parameters(learner).items():
            limits = entry.metadata["limits"] if entry.metadata else {}
            low = limits.get("minimum", limits.get("exclusiveMinimum"))
            if low is not None:
                with pytest.raises(ParameterError, match=key):
                    learners.make(name, **{key: low - 1})
            if "enum" in limits:
                with pytest.raises(ParameterError, match="one of"):
                    learners.make(name, **{key: "nonsense"})
                with pytest.raises(ConfigError, match=rf"{learner.__name__}\.{key} is 'nonsense'"):
                    learner.from_map({key: "nonsense"})
        with pytest.raises(ParameterError, match="is not known"):
            learners.make(name, lan=0.1)
        for atoms in ("a", 2.5, True, None, 0):
            with pytest.raises(ParameterError, match="atoms"):
                learners.make(name).start(P, atoms, rng)
        if learner.opens:  # atoms on demand
            P = P[:0]
        with pytest.raises(ParameterError, match=f"81 atoms for {P.shape[0]} documents"):
            learners.make(name).start(P, 81, rng)


def same(first, second):
    """Tell whether two arrays, sparse or not, are equal."""
    if sparse.issparse(first):
        return first.shape == second.shape and (first != second).nnz == 0
    return np.array_equal(first, second)


@pytest.mark.parametrize("name", L1)
class TestL1Learner:
    def test_the_dictionary_stays_feasible(self, name, P, rng):
        learner = make(name, rounds=5)
        state = learner.start(P, 6, rng)
        for _ in range(3):
            A = state.dictionary
            assert A.shape == (40, 6) and A.nnz <= 240
            assert A.data.min(initial=0.0) >= 0
            assert np.asarray(A.sum(axis=0)).max() <= 1 + 1e-12
            state = learner.learn(state, P, learner.score(state, P).codes)

    def test_score_is_the_objective(self, name, P, rng):
        learner = make(name, rounds=2, lam=0.07)
        state = learner.start(P, 6, rng)
        found = learner.score(state, P)
        X, A = found.codes.toarray(), state.dictionary.toarray()
        assert np.allclose(found.residual, np.abs(P.toarray() - X @ A.T).sum(axis=1), atol=1e-12)
        assert np.allclose(found.penalty, 0.07 * X.sum(axis=1))

    def test_new_terms_are_zero_rows(self, name, P, rng):
        learner = make(name, rounds=1)
        state = learner.learn(
            learner.start(P, 6, rng), P, learner.score(learner.start(P, 6, rng), P).codes
        )
        wide = learner.fit_terms(state, 45)
        assert wide.dictionary.shape == (45, 6)
        assert (wide.dictionary[:40] != state.dictionary).nnz == 0 and wide.dictionary[40:].nnz == 0
        more = sparse.csr_array(np.hstack([P.toarray()[:30], np.full((30, 5), 0.1)]))
        assert learner.learn(wide, more, learner.score(wide, more).codes).dictionary.shape == (
            45,
            6,
        )

    def test_blocks_do_not_matter(self, name, P, rng, monkeypatch):
        """Sums run over fixed blocks: cutting the batch finer changes the sums by rounding only."""
        learner = make(name, rounds=1)
        state = learner.start(P, 6, rng)
        X = learner.score(state, P).codes
        whole = learner.learn(state, P, X)
        monkeypatch.setattr(sparse_atoms, "SUM_BLOCK", 7)
        fine = learner.learn(state, P, X)
        assert np.allclose(whole.dictionary.toarray(), fine.dictionary.toarray(), atol=1e-12)

    def test_batches_of_any_size_and_zero_codes(self, name, P, rng):
        learner = make(name, rounds=1)
        state = learner.start(P, 6, rng)
        for size in (80, 3, 50, 1):
            part = P[:size]
            state = learner.learn(state, part, learner.score(state, part).codes)
        nothing = sparse.csr_array((80, 6))
        after = learner.learn(state, P, nothing)
        assert np.isfinite(after.dictionary.data).all()

    def test_starts_from_documents(self, name, P, rng):
        state = make(name, rounds=0, start_terms=0).start(P, 6, rng)
        rows = {tuple(row) for row in P.toarray().round(12)}
        assert all(tuple(atom) in rows for atom in state.dictionary.toarray().T.round(12))
        short = make(name, rounds=0, start_terms=3).start(P, 6, rng).dictionary
        assert np.diff(short.indptr).max() <= 3 and np.allclose(np.asarray(short.sum(axis=0)), 1.0)

    def test_memory_starts_fresh_unless_carried(self, name, P):
        start = [
            make(name, rounds=4, carry=carry).start(P, 6, np.random.default_rng(1))
            for carry in (False, True)
        ]
        assert start[0].updates == 0 and start[1].updates == 4
        assert all(value.nnz == 0 for value in start[0].arrays.values())
        assert (start[0].dictionary != start[1].dictionary).nnz == 0

    def test_the_objective_falls_on_known_topics(self, name, rng):
        P = documents(rng, n=400)
        step = {
            "projected_gradient": {"eta": 0.002},
            "dual_averaging": {"gamma": 0.02},
            "online_admm": {},
        }.get(name, {})
        learner = make(name, **step)
        state = learner.start(P[:200], 5, np.random.default_rng(0))
        before = make(name, rounds=0).start(P[:200], 5, np.random.default_rng(0))
        old, new = (novelty.score(learner, one, P[200:]).score.mean() for one in (before, state))
        assert new < old

    def test_bad_settings_are_refused(self, name, P, rng):
        wrong = [
            {"lam": -1.0},
            {"lam": np.nan},
            {"lam": "x"},
            {"rounds": -1},
            {"rounds": 2.5},
            {"rounds": True},
        ]
        for settings in [
            *wrong,
            {"solver": "exakt"},
            {"solver": None},
            {"start_terms": -1},
            {"carry": "no"},
        ]:
            with pytest.raises(ParameterError):
                make(name, **settings)
        with pytest.raises(ParameterError, match="did you mean 'lam'"):
            learners.make(name, lan=0.1)


def step_of(name, P, rng, **settings):
    """Return a learner, a state two updates old, a batch and its codes."""
    learner = learners.make(name, rounds=1, **settings)
    state = learner.start(P, 6, rng)
    state = learner.learn(state, P, learner.score(state, P).codes)
    other = documents(np.random.default_rng(9))
    return learner, state, other, learner.score(state, other).codes


@pytest.mark.parametrize("per_document", [False, True])
@pytest.mark.parametrize("block", [512, 32])
def test_projected_gradient_is_its_equation(P, rng, monkeypatch, per_document, block):
    monkeypatch.setattr(sparse_atoms, "SUM_BLOCK", block)
    learner, state, other, X = step_of(
        "projected_gradient", P, rng, eta=0.003, per_document=per_document
    )
    gradient = subgradient(other, state.dictionary, X) / (80 if per_document else 1)
    expected = project(state.dictionary.toarray() - 0.003 * gradient)
    assert np.abs(gradient).max() > 0
    assert np.allclose(learner.learn(state, other, X).dictionary.toarray(), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("step", "scale"), [("gamma_over_sqrt_t", 0.2), ("one_over_gamma_sqrt_t", 5.0)]
)
def test_dual_averaging_is_its_equation(P, rng, step, scale):
    learner, state, other, X = step_of("dual_averaging", P, rng, gamma=0.2, step=step)
    total = state.arrays["gradient_sum"].toarray() + subgradient(other, state.dictionary, X)
    expected = project(-scale / np.sqrt(2) * total)
    after = learner.learn(state, other, X)
    assert np.allclose(
        after.dictionary.toarray(), expected, atol=1e-6
    )  # the sum is kept in single precision
    assert np.allclose(after.arrays["gradient_sum"].toarray(), total, rtol=1e-6)


@pytest.mark.parametrize("rows", [80, 50])
def test_online_admm_is_its_equation(P, rng, rows):
    learner, state, other, X = step_of("online_admm", P, rng, beta=30.0)
    other, X = other[:rows], X[:rows]
    pad = np.zeros((80, 40))
    pad[:rows] = other.toarray()
    codes = np.zeros((80, 6))
    codes[:rows] = X.toarray()
    A, D, beta = state.dictionary.toarray(), state.arrays["dual"].toarray(), 30.0
    new, gamma, dual = oiadmm(pad, codes, A, D, beta)
    after = learner.learn(state, other, X)
    assert np.abs(gamma).max() > 0 and np.abs(D).max() > 0
    assert np.allclose(after.dictionary.toarray(), new, atol=1e-9)
    assert np.allclose(after.arrays["dual"].toarray(), dual, atol=1e-5)


def test_online_admm_stays_where_codes_are_zero(P, rng):
    learner, state, other, _ = step_of("online_admm", P, rng)
    after = learner.learn(state, other, sparse.csr_array((80, 6)))
    assert (after.dictionary != state.dictionary).nnz == 0


def test_rounding_noise_is_no_subgradient():
    """A document equal to an atom leaves no residual, whatever the last bits of it are."""
    learner = learners.make("projected_gradient")
    A = sparse.csc_array(np.array([[0.1], [0.2], [0.7]]))
    P = sparse.csr_array(A.T)
    X = sparse.csr_array([[1.0 + 1e-15]])
    gradient = learner.accumulate(base.State(A), P, X)
    assert abs(gradient).sum() == 0


def test_bounds_keep_the_largest(rng):
    matrix = sparse.csr_array(np.array([[3.0, -5.0, 1.0, 4.0], [1.0, 1.0, 1.0, 0.0]]))
    kept = sparse_atoms.largest_per_row(matrix, 2).toarray()
    assert np.array_equal(kept, [[0, -5, 0, 4], [1, 1, 0, 0]])
    assert (sparse_atoms.largest_per_row(matrix, 0) != matrix).nnz == 0
    P = documents(rng)
    learner = learners.make("online_admm", dual_terms=5, rounds=2)
    state = learner.start(P, 6, rng)
    state = learner.learn(state, P, learner.score(state, P).codes)
    assert np.diff(state.arrays["dual"].indptr).max() == 5


def test_the_papers_coder_records_its_gap(P, rng):
    learner = learners.make("projected_gradient", rounds=1, solver="admm", iterations=20)
    state = learner.start(P, 6, rng)
    coarse, fine = (
        learner.score(state, P).gap,
        replace(learner, iterations=2000).score(state, P).gap,
    )
    exact = replace(learner, solver="exact").score(state, P)
    assert exact.gap == 0.0 and coarse > fine >= 0


def test_oiadmm_is_a_plain_function(P, rng):
    """Two steps from no dual are those of the learner with a whole dual."""
    learner = learners.make("online_admm", rounds=1, beta=30.0, tau=0.01, dual_terms=0)
    state = learner.start(P, 6, rng)
    A, dual = state.dictionary, sparse.csr_array((0, 40))
    for batch in (P[:50], P):
        X = learner.score(state, batch).codes
        A, dual = oiadmm_step(batch, X, A, dual, 30.0, 0.01)
        state = learner.learn(state, batch, X)
    assert (state.dictionary != A).nnz == 0 and (dual != state.arrays["dual"]).nnz == 0 and dual.nnz


def sorted_first(matrix, most):
    """What `sparse_atoms.top_entries` gives, by sorting everything."""
    lists = []
    for first, last in pairwise(matrix.indptr.tolist()):
        pairs = zip(
            matrix.indices[first:last].tolist(), matrix.data[first:last].tolist(), strict=True
        )
        lists.append(sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:most])
    return lists


@pytest.mark.parametrize("most", [0, 1, 2, 3, 40])
def test_leading_entries_are_those_of_sorting(rng, most):
    for n_rows, density in ((1, 0.0), (0, 0.5), (60, 0.3), (7, 1.0)):
        matrix = sparse.random_array((n_rows, 30), density=density, rng=rng, format="csr")
        matrix.data = np.round(matrix.data * 5) - 2  # ties, zeros and less
        assert sparse_atoms.top_entries(matrix, most) == sorted_first(matrix, most)
        order = np.concatenate(
            [rng.permutation(np.arange(*span)) for span in pairwise(matrix.indptr)] or [[]]
        )
        order = order.astype(np.int64)
        parts = (
            np.append(matrix.data[order], 9.0),
            np.append(matrix.indices[order], 0),
            matrix.indptr,
        )  # one too many
        shuffled = sparse.csr_array((n_rows, 30))
        shuffled.data, shuffled.indices, shuffled.indptr = parts
        assert sparse_atoms.top_entries(shuffled, most) == sorted_first(matrix, most)
        assert sparse_atoms.top_entries(matrix.T, most) == sorted_first(matrix, most)


@pytest.mark.parametrize("name", ["adaptive", "levels"])
def test_codes_that_are_read_after_learning_are_those_of_the_state_that_scored(name, rng):
    P = sparse.csr_array(rng.random((60, 30)) * (rng.random((60, 30)) < 0.3))
    P = sparse.diags_array(1.0 / np.sqrt(P.power(2).sum(axis=1))) @ P
    learner = learners.make(name, terms=9, **({"memory": 140} if name == "levels" else {}))
    state = learner.start(sparse.csr_array(P[:20]), 10, None)
    batch = sparse.csr_array(P[20:40])
    expected, later = learner.score(state, batch).codes.toarray(), learner.score(state, batch)
    for first in (20, 40):
        state = learner.learn(state, sparse.csr_array(P[first : first + 20]), None)
    assert expected.any() and np.array_equal(later.codes.toarray(), expected)
