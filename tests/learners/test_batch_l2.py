"""L2-BATCH: the dictionary step against a general solver, the alternation, growth, and the learner over a stream."""

import functools
import itertools

import numpy as np
import pytest
from networked import text
from scipy import sparse
from scipy.optimize import minimize

from odl import learners, novelty
from odl.coding import lars
from odl.corpora import read
from odl.errors import ParameterError
from odl.evaluation import metrics
from odl.files import checkpoints
from odl.learners.batch_l2 import fit, update_dictionary
from odl.learners.sparse_atoms import new_atoms
from odl.stream import batching, features

documents = functools.partial(text, n=80, m=40, topics=5, own=8, length=12)


def atoms(rng, m=40, k=6):
    A = rng.random((m, k)) * (rng.random((m, k)) < 0.3)
    return sparse.csc_array(A / np.maximum(np.linalg.norm(A, axis=0), 1.0))


def squared(P, X, A):
    return 0.5 * np.square((P - X @ A.T).toarray()).sum()


@pytest.fixture
def P(rng):
    return documents(rng)


# The dictionary step


def test_many_sweeps_reach_the_constrained_minimum(rng):
    """Against SLSQP on all entries at once."""
    for _ in range(3):
        P, X = sparse.csr_array(rng.random((12, 5))), sparse.csr_array(rng.random((12, 3)) * 2)
        A = update_dictionary(P, X, atoms(rng, 5, 3), sweeps=3000)

        def loss(a, P=P, X=X):
            error = P.toarray() - X.toarray() @ a.reshape(5, 3).T
            return 0.5 * np.square(error).sum(), -(error.T @ X.toarray()).ravel()

        ball = [
            {"type": "ineq", "fun": lambda a, j=j: 1 - np.square(a.reshape(5, 3)[:, j]).sum()}
            for j in range(3)
        ]
        start = np.full(15, 0.3)
        best = minimize(
            loss,
            start,
            jac=True,
            bounds=[(0, None)] * 15,
            constraints=ball,
            options={"ftol": 1e-13},
        )
        assert best.success
        assert abs(squared(P, X, A) - best.fun) <= 1e-6 * best.fun


def test_one_block_is_exact(rng):
    """One atom: the best of many feasible ones, and the formula."""
    P, X = sparse.csr_array(rng.random((9, 4))), sparse.csr_array(rng.random((9, 1)))
    A = update_dictionary(P, X, atoms(rng, 4, 1))
    least = squared(P, X, A)
    for _ in range(300):
        other = np.maximum(A.toarray() + 0.1 * rng.normal(size=(4, 1)), 0.0)
        assert (
            least
            <= squared(P, X, sparse.csc_array(other / max(1.0, np.linalg.norm(other)))) + 1e-12
        )


@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_every_sweep_goes_down_and_stays_feasible(P, rng, size):
    X = sparse.csr_array(size * rng.random((80, 6)) * (rng.random((80, 6)) < 0.3))
    A = atoms(rng)
    losses = [squared(P, X, A)]
    for _ in range(5):
        A = update_dictionary(P, X, A)
        losses.append(squared(P, X, A))
        assert A.data.min() > 0.0 and np.linalg.norm(A.toarray(), axis=0).max() <= 1 + 1e-12
    assert all(after <= before + 1e-12 * losses[0] for before, after in itertools.pairwise(losses))
    assert losses[-1] < losses[0]


def test_atoms_without_documents_stay_and_terms_come_from_documents(P, rng):
    X = sparse.csr_array(
        np.where(np.arange(6) == 2, 0.0, rng.random((80, 6)) * (rng.random((80, 6)) < 0.1))
    )
    A = atoms(rng)
    after = update_dictionary(P, X, A).toarray()
    assert np.array_equal(after[:, 2], A.toarray()[:, 2])
    used = (X.T @ P).toarray().T > 0
    assert not (after[:, [0, 1, 3, 4, 5]] > 0)[~used[:, [0, 1, 3, 4, 5]]].any()


def test_refused(P, rng):
    X, A = sparse.csr_array(np.ones((80, 6))), atoms(rng)
    for arguments, words in [
        *(((*part, A), "shapes") for part in ((P, X[:5]), (P[:, 1:], X), (P, X[:, 1:]))),
        ((P, X, 3 * A), "l2 norm"),
        ((P, X, -A), "negative weights"),
        ((P, -X, A), "X contains negative weights"),
    ]:
        with pytest.raises(ParameterError, match=words):
            update_dictionary(*arguments)
    with pytest.raises(ParameterError, match="sweeps"):
        update_dictionary(P, X, A, sweeps=0)


# The alternation


@pytest.mark.parametrize("lam", [0.0, 0.1, 0.5])
def test_the_objective_never_rises(P, rng, lam):
    found = fit(P, atoms(rng), lam, alternations=40, tolerance=0.0)
    assert len(found.trace) > 3
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(found.trace))
    assert found.trace[-1] < found.trace[0]


def test_the_tolerance_ends_it(P, rng):
    A = atoms(rng)
    trace = fit(P, A, 0.1, alternations=100, tolerance=1e-2).trace
    falls = [(before - after) / before for before, after in itertools.pairwise(trace)]
    assert all(fall > 1e-2 for fall in falls[:-1]) and falls[-1] <= 1e-2
    assert (fit(P, A, 0.1, alternations=0).A != A).nnz == 0


def test_a_large_penalty_leaves_everything_unexplained(P, rng):
    A = atoms(rng)
    found = fit(P, A, 10.0)
    assert found.X.nnz == 0 and (found.A != A).nnz == 0
    assert found.trace == pytest.approx([40.0, 40.0])


def test_reaches_what_scikit_learn_reaches(P, rng):
    """Non-convex: the better of two starts is compared, and ours may be better."""
    from sklearn.decomposition import DictionaryLearning

    values = []
    for seed in range(2):
        model = DictionaryLearning(
            5, alpha=0.1, fit_algorithm="cd", transform_algorithm="lasso_cd", positive_code=True, positive_dict=True,
            random_state=seed, max_iter=200, tol=1e-8, transform_alpha=0.1,
        )  # fmt: skip
        B = model.fit(P.toarray()).components_.T
        values.append(lars.codes(P, B, 0.1, loss="squared").objective.sum())
    ours = []
    for _ in range(2):
        A = learners.sparse_atoms.draw_atoms(P, 5, rng, norm="l2")
        ours.append(fit(P, A, 0.1, alternations=300, tolerance=1e-8).trace[-1])
    assert min(ours) <= 1.02 * min(values)


# New atoms


def test_new_atoms_are_the_worst_of_different_kinds(rng):
    P = sparse.csr_array(
        np.array(
            [[1, 1, 0, 0, 0], [2, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 2.0]]
        )
    )
    score = np.array([0.5, 0.9, 0.9, 1.0, 0.1])

    def share_a_term(P, atom):
        return (P @ atom).toarray().ravel() > 0

    found = new_atoms(P, score, 3, share_a_term, norm="l2").toarray()
    expected = P.toarray()[[1, 2, 4]] / np.linalg.norm(
        P.toarray()[[1, 2, 4]], axis=1, keepdims=True
    )
    assert np.allclose(found.T, expected)  # document 0 is of the kind of 1, document 3 is empty
    filled = new_atoms(P, score, 9, share_a_term, norm="l1", start_terms=1).toarray()
    assert filled.shape == (5, 4) and np.array_equal(filled.argmax(axis=0), [0, 2, 4, 0])
    assert new_atoms(P, score, 0, share_a_term).shape == (5, 0)


# The learner


def test_the_score_is_the_norm_not_squared(P, rng):
    for unit in ("l2", "l1"):
        learner = learners.make("batch_l2", lam=0.07, rounds=2, unit=unit)
        state = learner.start(P, 6, rng)
        found = learner.score(state, P)
        X = found.codes
        size = 1.0 if unit == "l2" else np.asarray(P.sum(axis=1))
        residual = np.linalg.norm((P - X @ state.dictionary.T).toarray(), axis=1)
        assert np.allclose(found.residual * size, residual, atol=1e-12)
        assert np.allclose(found.penalty * size, 0.07 * np.asarray(X.sum(axis=1)))
        assert 0.0 <= found.gap <= 1e-10


def test_scores_in_the_unit_l1_are_those_of_documents_of_unit_l1_norm(P, rng):
    learner = learners.make("batch_l2", rounds=2, unit="l1")
    state = learner.start(P, 6, rng)
    found = learner.score(state, P)
    Q = sparse.csr_array(P.multiply(1.0 / np.asarray(P.sum(axis=1)).reshape(-1, 1)))
    assert np.allclose(
        found.residual + found.penalty, lars.codes(Q, state.dictionary, 0.1).objective, rtol=1e-10
    )


def test_a_score_in_the_unit_l1_is_that_in_the_unit_l2_times_the_norm_of_the_document(P, rng):
    """Derived in docs/method.md; with lam above 1 only the norm is left (`norm-alone` of config/nips2012.yaml)."""
    learners_of = [learners.make("batch_l2", rounds=2, unit=unit) for unit in ("l2", "l1")]
    state = learners_of[0].start(P, 6, rng)
    in_l2, in_l1 = (
        found.residual + found.penalty
        for found in (learner.score(state, P) for learner in learners_of)
    )
    norm = np.linalg.norm(P.toarray() / np.abs(P.toarray()).sum(axis=1, keepdims=True), axis=1)
    assert np.allclose(in_l1, in_l2 * norm, rtol=1e-10)
    assert (
        in_l2.min() < 0.9 and in_l2.min() >= 0.1 and in_l2.max() <= 1.0 + 1e-12
    )  # between lam and 1
    for lam in (1.0, 2.0):
        alone = learners.make("batch_l2", lam=lam, unit="l1", rounds=0, alternations=0, growth=0)
        found = alone.score(alone.learn(alone.start(P, 6, rng), P, None), P)
        assert np.allclose(found.residual + found.penalty, norm, rtol=1e-10) and (
            lam == 1.0 or found.codes.nnz == 0
        )


def test_the_dictionary_grows_and_old_atoms_keep_their_columns(P, rng):
    learner = learners.make("batch_l2", rounds=3, growth=2, alternations=0)
    first = learner.start(P, 6, rng)
    wide = sparse.csr_array(np.hstack([P.toarray()[:50] * 0.6, np.full((50, 4), 0.4)]))
    state = learner.learn(learner.fit_terms(first, 44), wide, None, [P])
    assert state.dictionary.shape == (44, 8) and state.updates == 1
    assert (
        state.dictionary[:40, :6] != first.dictionary
    ).nnz == 0  # no alternation: old atoms untouched
    assert np.allclose(np.linalg.norm(state.dictionary.toarray(), axis=0)[6:], 1.0)
    learned = learners.make("batch_l2", rounds=3, growth=2).learn(
        learner.fit_terms(first, 44), wide, None, [P]
    )
    moved = np.linalg.norm((learned.dictionary[:40, :6] - first.dictionary).toarray(), axis=0)
    assert (moved < 0.9).all()  # an atom at the same place is the same atom


def test_learning_lowers_the_joint_objective_of_the_history(P, rng):
    learner = learners.make("batch_l2", rounds=1, growth=0)
    state = learner.start(P[:30], 6, rng)
    after = learner.learn(state, P[30:], None, [P[:30]])
    before, now = (
        lars.codes(P, s.dictionary, 0.1, loss="squared").objective.sum() for s in (state, after)
    )
    assert now < before


def test_without_growth_one_batch_is_plain_alternation(P, rng):
    learner = learners.make("batch_l2", rounds=4, growth=0)
    state = learner.start(P, 6, rng)
    after = learner.learn(state, P, None, [])
    plain = fit(P, state.dictionary, 0.1, alternations=10, tolerance=1e-3)
    assert (after.dictionary != plain.A).nnz == 0


def test_starts_from_documents(P, rng):
    state = learners.make("batch_l2", rounds=0, start_terms=0).start(P, 6, rng)
    rows = {tuple(row) for row in P.toarray().round(12)}
    assert all(tuple(atom) in rows for atom in state.dictionary.toarray().T.round(12))


def test_resumed_from_a_checkpoint_bit_for_bit(P, tmp_path, rng):
    learner = learners.make("batch_l2", rounds=2, growth=3)
    parts = [P[:30], P[30:55], P[55:]]
    state = learner.learn(learner.start(parts[0], 6, rng), parts[1], None, parts[:1])
    run = {
        "corpus": "made",
        "seed": 0,
        "run": "l2",
        "atoms": 6,
        "learner": {"algorithm": "batch_l2"},
        "features": {},
    }
    codes = learner.score(state, parts[1]).codes
    checkpoint = checkpoints.Checkpoint(
        1, run, state.dictionary, state.arrays, state.updates, codes, 0.0, checkpoints.NO_DIGEST
    )
    checkpoints.write(tmp_path / "1.h5", checkpoint)
    stored = checkpoints.read_checkpoint(tmp_path / "1.h5", chain=run, t=1)
    again = learners.State(stored.dictionary, stored.arrays, stored.updates)
    straight, resumed = (learner.learn(s, parts[2], None, parts[:2]) for s in (state, again))
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(straight.dictionary, name), getattr(resumed.dictionary, name))
    assert straight.updates == resumed.updates == 2


def test_a_new_topic_is_novel_once(rng):
    P = documents(rng, n=120, m=60, topics=6)
    known, new = np.arange(120) % 6 < 5, np.arange(120) % 6 == 5
    learner = learners.make("batch_l2", rounds=10, growth=2)
    state = learner.start(P[np.flatnonzero(known)[:50]], 6, rng)
    later = sparse.csr_array(
        sparse.vstack([P[np.flatnonzero(known)[50:]], P[np.flatnonzero(new)]], format="csr")
    )
    truth = np.arange(later.shape[0]) >= 50
    before = novelty.score(learner, state, later).score
    after = novelty.score(
        learner, learner.learn(state, later, None, [P[np.flatnonzero(known)[:50]]]), later
    ).score
    assert metrics.auc(before, truth) > 0.9
    assert after[truth].mean() < before[truth].mean() - 0.2


@pytest.mark.slow
@pytest.mark.corpora
def test_beats_the_published_row_on_tdt2(corpora):
    """Two timesteps of TDT2; NIPS 2012 table 1 has .674 and .586 for them."""
    source = read("tdt2", [corpora / "tdt2" / "TDT2_with_time.mat"])
    rows = batching.order(source.ids, source.times, 0, "seeded")
    batches = []
    for t in range(3):
        part = source.select(rows[1000 * t : 1000 * (t + 1)])
        batches.append(features.follow(part, batches[-1] if batches else None))
    learner = learners.make("batch_l2")
    P = [batch.weighed(norm="l2")[:] for batch in batches]
    state = learner.start(P[0], 200, novelty.generator(0, "start"))
    for t in (1, 2):
        state = learner.fit_terms(state, P[t].shape[1])
        found = novelty.score(learner, state, P[t])
        assert metrics.auc(found.score, batches[t].novel == 1) > 0.9
        state = learner.learn(state, P[t], found.codes, P[:t])
    assert state.dictionary.shape[1] == 220


def test_a_document_enters_where_its_cosine_is_above_lam():
    """Alone, an atom a has a part in the code of p only if a^T p > lam ||p||_2."""
    learner, atom = learners.make("batch_l2", lam=0.5), sparse.csc_array([[0.6], [0.8], [0.0]])
    P = sparse.csr_array([[2.0, 0.0, 0.0], [1.0, 0.0, 2.0], [0.0, 0.1, 0.1], [0.0, 0.0, 1.0]])
    expected = [True, False, True, False]  # cosines 0.6, 0.27, 0.57, 0
    assert learner.enters(P, atom).tolist() == expected
    assert (np.diff(lars.codes(P, atom, 0.5).X.indptr) > 0).tolist() == expected


def test_an_alternation_in_which_nothing_falls_is_the_last():
    assert len(fit(np.eye(2), np.eye(2), lam=0.1, alternations=50, tolerance=0.0).trace) == 2
