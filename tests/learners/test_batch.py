"""BATCH-IMPL: falls, keeps its atoms, is what the paper's bookkeeping gives, and ends where it should."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from reference import algorithm_4
from scipy import sparse

from odl import learners, novelty, sparse_code
from odl.coding.admm import objectives
from odl.dictionary.l1 import fit_dictionary
from odl.errors import OdlError
from odl.files import checkpoints
from odl.learners import State, batch, widen
from odl.learners.batch import Batch, new_atoms
from odl.learners.sparse_atoms import make_atoms


def stream(seed, topics, n=60, m=60):
    """Documents of six words out of the ten of their topic and two of their own, rows of unit l1 norm."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((n, m))
    for row in range(n):
        topic = topics[row % len(topics)]
        np.add.at(counts[row], 10 * topic + rng.choice(10, 6, replace=False), rng.integers(1, 4, 6))
        counts[row, rng.choice(m, 2)] += 1
    return sparse.csr_array(counts / counts.sum(axis=1, keepdims=True))


@pytest.fixture
def batches():
    return [stream(0, [0, 1]), stream(1, [0, 1, 2]), stream(2, [1, 3]), stream(3, [0, 2, 4])]


def run(learner, batches, atoms=6, state=None, done=0):
    """Return the states before every batch and after the last."""
    states = [state or learner.start(batches[0], atoms, np.random.default_rng(0))]
    for t in range(max(done, 1), len(batches)):
        current = learner.fit_terms(states[-1], batches[t].shape[1])
        codes = novelty.score(learner, current, batches[t]).codes
        states.append(learner.learn(current, batches[t], codes, batches[:t]))
    return states


def equal(one, two):
    return one.shape == two.shape and (one != two).nnz == 0


@pytest.mark.parametrize("solver", ["exact", "admm"])
def test_the_objective_never_rises(batches, solver):
    learner = Batch(solver=solver, tolerance=0.0, iterations=5)
    P = sparse.csr_array(sparse.vstack(batches, format="csr"))
    A = make_atoms(P[:8], 10)
    found = learner.alternate(P, A, learner.score(State(A), P).codes, 8)
    trace = np.array(found.trace)
    assert (
        len(trace) == 17
        and (np.diff(trace) <= 1e-9 * P.sum()).all()
        and trace[-1] < 0.95 * trace[0]
    )
    assert np.isclose(
        trace[-1], objectives(P, found.dictionary, learner.lam, found.codes).sum(), rtol=1e-12
    )
    assert learner.alternate(P, A, found.codes, 0).trace == [
        objectives(P, A, learner.lam, found.codes).sum()
    ]


def test_a_rising_objective_is_refused(batches, monkeypatch):
    learner = Batch()
    state = learner.start(batches[0], 6, np.random.default_rng(0))

    def worse(P, X, A, **options):
        return fit_dictionary(P, X, 0.5 * A, iterations=0)

    monkeypatch.setattr(batch, "fit_dictionary", worse)
    with pytest.raises(OdlError, match="the objective increases"):
        learner.learn(state, batches[1], learner.score(state, batches[1]).codes, batches[:1])


@pytest.mark.parametrize(("share", "refused"), [(0.5e-9, False), (2e-9, True)])
def test_a_billionth_of_the_norm_is_rounding(batches, monkeypatch, share, refused):
    learner, P = Batch(), batches[0]
    A = learner.start(P, 6, np.random.default_rng(0)).dictionary
    X = learner.score(State(A), P).codes

    def raised(P, X, A, **options):
        fit = fit_dictionary(P, X, A, iterations=0)
        return fit._replace(objective=fit.objective + share * P.sum())

    monkeypatch.setattr(batch, "fit_dictionary", raised)
    if refused:
        with pytest.raises(OdlError, match="the objective increases"):
            learner.alternate(P, A, X, 1)
    else:
        assert len(learner.alternate(P, A, X, 1).trace) == 3


def test_one_batch_without_growth_is_plain_alternation(batches):
    P, learner = (
        batches[1],
        Batch(growth=0, tolerance=0.0, alternations=5, fit_tolerance=1e-6, fit_iterations=500),
    )
    first = learner.start(batches[0], 6, np.random.default_rng(0))
    A, X = first.dictionary, sparse_code(P, first.dictionary, 0.1)[0]
    after = learner.learn(first, P, X)
    for _ in range(5):
        A = fit_dictionary(P, X, A, iterations=500, tolerance=1e-6).dictionary
        X = sparse_code(P, A, 0.1)[0]
    assert equal(after.dictionary, A) and after.updates == first.updates + 1 and not after.arrays


def test_it_ends_where_neither_step_helps(batches):
    """A coordinatewise minimum: the certified optimum for its codes, and these are the certified codes."""
    learner = Batch(tolerance=0.0, fit_tolerance=1e-7, fit_iterations=20_000, rounds=60)
    A = learner.start(batches[0], 6, np.random.default_rng(0)).dictionary
    X, values = sparse_code(batches[0], A, 0.1)
    fit = fit_dictionary(batches[0], X, A, iterations=20_000, tolerance=1e-7)
    assert fit.bound + 0.1 * X.sum() >= values.sum() * (1 - 1e-5)


def test_a_large_penalty_leaves_everything(batches):
    learner = Batch(lam=10.0, growth=2)
    states = run(learner, batches[:2])
    found = novelty.score(learner, states[-1], batches[1])
    assert found.codes.nnz == 0 and (found.score == 1.0).all()
    assert equal(states[-1].dictionary[:, :6], states[0].dictionary)


def test_new_atoms_come_behind_the_old_ones(batches):
    learner = Batch(growth=3, alternations=0)
    states = run(learner, batches)
    assert [state.dictionary.shape[1] for state in states] == [6, 9, 12, 15]
    for before, after in pairwise(states):
        assert equal(after.dictionary[:, : before.dictionary.shape[1]], before.dictionary)
    # In the first dictionary step new atoms have no codes, and stay.
    once = run(replace(learner, alternations=1), batches[:2])
    assert equal(once[1].dictionary[:, 6:], states[1].dictionary[:, 6:])
    assert not equal(once[1].dictionary[:, :6], states[1].dictionary[:, :6])


def test_atoms_keep_their_topics(batches):
    """The number of an atom goes on naming the same words while topics and atoms are added."""
    states = run(Batch(growth=4), batches)
    mass = [
        np.add.reduceat(state.dictionary.toarray(), range(0, 60, 10), axis=0) for state in states
    ]
    used = mass[0].sum(axis=0) > 0.5
    assert used.sum() >= 4
    for later in mass[1:]:
        assert np.array_equal(mass[0].argmax(axis=0)[used], later[:, :6].argmax(axis=0)[used])


def test_the_history_keeps_old_topics(batches):
    """Topic 0 is not in batch 2. What learns from batch 2 alone may forget it; the batch learner does not."""
    learner, P = Batch(growth=4), stream(9, [0])
    states = run(learner, batches[:3])
    codes = learner.score(states[1], batches[2]).codes
    alone = learner.learn(states[1], batches[2], codes, ())
    kept, before = (
        novelty.score(learner, state, P).score.mean() for state in (states[2], states[1])
    )
    assert not equal(alone.dictionary, states[2].dictionary)
    assert kept <= before + 0.01


def test_a_new_topic_is_novel_once(batches):
    learner, P = Batch(growth=4), stream(8, [3])
    states = run(learner, batches[:3])
    before, after = (novelty.score(learner, state, P).score.mean() for state in states[1:])
    known = novelty.score(learner, states[1], stream(8, [0, 1])).score.mean()
    assert before > known + 0.1 and after < before - 0.1


def test_codes_of_the_history_need_not_be_stored(batches):
    """The paper carries X_[t-1] over; coding the history on A_t gives the same codes, bit for bit."""
    learner = Batch(growth=3)
    states = run(learner, batches)
    A, P = states[0].dictionary, batches[0]
    X = learner.alternate(P, A, learner.score(State(A), P).codes, 0).codes
    for t in range(1, 4):
        new = learner.score(State(A), batches[t]).codes
        added = new_atoms(batches[t], objectives(batches[t], A, 0.1, new), 3, 10, 0.1)
        A = sparse.csc_array(sparse.hstack([A, added], format="csc"))
        P = sparse.csr_array(sparse.vstack([P, batches[t]], format="csr"))
        X = widen(sparse.csr_array(sparse.vstack([X, new], format="csr")), n_columns=A.shape[1])
        A, X, _ = learner.alternate(P, A, X, 30)
        assert equal(A, states[t].dictionary) and equal(X, learner.score(states[t], P).codes)


def test_resumes_from_a_checkpoint_bit_for_bit(batches, tmp_path):
    learner = learners.make("batch", growth=3)
    states = run(learner, batches)
    middle = states[2]
    codes = sparse.csr_array((0, middle.dictionary.shape[1]))
    point = checkpoints.Checkpoint(
        2, {"run": "b"}, middle.dictionary, middle.arrays, middle.updates, codes, 0.0
    )
    checkpoints.write(tmp_path / "2.h5", point)
    read = checkpoints.read_checkpoint(tmp_path / "2.h5")
    again = run(learner, batches, state=State(read.dictionary, read.arrays, read.updates), done=3)
    assert (
        equal(again[-1].dictionary, states[-1].dictionary)
        and again[-1].updates == states[-1].updates
    )


def test_older_batches_know_fewer_terms(batches):
    """Terms that the history does not have change nothing for it."""
    learner = Batch(growth=2)
    narrow = [batches[0], batches[1]]
    wide = widen(batches[2], n_columns=75)
    states = run(learner, [*narrow, wide])
    same = run(learner, batches[:3])
    assert states[-1].dictionary.shape == (75, 10)
    assert (
        equal(states[-1].dictionary[:60], same[-1].dictionary)
        and states[-1].dictionary[60:].nnz == 0
    )


def test_two_alternations_at_least(batches):
    """New atoms have no codes in the first dictionary step: only the second can fit them."""
    states = run(Batch(growth=3, tolerance=1.0), batches[:2])
    apart = run(Batch(growth=3, tolerance=0.0, alternations=2), batches[:2], state=states[0])
    assert equal(states[1].dictionary, apart[1].dictionary)


def test_new_atoms_are_the_worst_explained_documents():
    P = np.zeros((6, 12))
    P[0, :4] = P[1, :4] = 0.25  # one topic, twice
    P[2, 4:8] = 0.25
    P[3, 8:] = 0.25
    P[4, [0, 1, 4, 5]] = 0.25  # half of an atom: not enough to enter a code
    P = sparse.csr_array(P)  # the last document is empty
    objective = np.array([1.0, 1.0, 0.8, 0.9, 0.7, 1.0])
    found = new_atoms(P, objective, 4, 0, 0.1).toarray().T
    assert np.array_equal(found, P.toarray()[[0, 3, 2, 4]])
    # Then those passed over, and no more than there are documents with words.
    assert np.array_equal(
        new_atoms(P, objective, 9, 0, 0.1).toarray().T, P.toarray()[[0, 3, 2, 4, 1]]
    )
    assert new_atoms(P, objective, 0, 0, 0.1).shape == (12, 0)
    short = new_atoms(P, objective, 2, 3, 0.1)
    assert np.diff(short.indptr).tolist() == [3, 3] and np.allclose(short.sum(axis=0), 1.0)


def test_a_batch_without_words_adds_nothing(batches):
    learner = Batch(growth=3)
    state = learner.start(batches[0], 6, np.random.default_rng(0))
    nothing = sparse.csr_array((4, 60))
    after = learner.learn(state, nothing, learner.score(state, nothing).codes, [batches[0]])
    assert after.dictionary.shape == (60, 6)


def test_the_start_uses_rounds(batches):
    rough = Batch(rounds=0).start(batches[0], 6, np.random.default_rng(0))
    fine = Batch(rounds=10).start(batches[0], 6, np.random.default_rng(0))
    values = [novelty.score(Batch(), state, batches[0]).score.mean() for state in (rough, fine)]
    assert values[1] < values[0] - 0.02 and rough.updates == fine.updates == 0


@pytest.mark.slow
def test_is_algorithm_4_by_linear_programs(batches):
    """Two timesteps against the paper's pseudo-code, whose two problems a general solver solves on all entries."""
    rng = np.random.default_rng(5)
    first, second = (
        sparse.csr_array(P.toarray()[:9, :24] + 1e-3 * rng.random((9, 24))) for P in batches[1:3]
    )
    first, second = (
        sparse.csr_array(P / P.sum(axis=1, keepdims=True))
        for P in (first.toarray(), second.toarray())
    )
    learner = Batch(
        growth=1, alternations=3, tolerance=0.0, fit_iterations=20_000, fit_tolerance=1e-9
    )
    state = learner.start(first, 3, np.random.default_rng(0))
    past = learner.score(state, first).codes
    A, found = state.dictionary, learner.score(state, second)
    new = new_atoms(second, found.residual + found.penalty, 1, learner.start_terms, learner.lam)
    case = (first.toarray(), past.toarray(), second.toarray(), A.toarray(), new.toarray())
    scores, values, after, codes = algorithm_4(*case, learner.lam, 3)
    np.testing.assert_allclose(found.residual + found.penalty, scores, rtol=1e-9)
    documents = sparse.csr_array(sparse.vstack([first, second], format="csr"))
    X = widen(sparse.csr_array(sparse.vstack([past, found.codes], format="csr")), n_columns=4)
    mine = learner.alternate(
        documents, sparse.csc_array(sparse.hstack([A, new], format="csc")), X, 3
    )
    np.testing.assert_allclose(mine.trace[1:], values, rtol=1e-6)
    assert mine.trace[0] - mine.trace[-1] > 0.01 * mine.trace[0]
    learned = learner.learn(state, second, found.codes, [first]).dictionary.toarray()
    np.testing.assert_allclose(learned, after, atol=1e-4)
    np.testing.assert_allclose(mine.codes.toarray(), codes, atol=1e-4)
