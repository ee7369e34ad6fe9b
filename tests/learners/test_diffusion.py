"""Sparse inference, learning and the learner against the dense versions and general solvers."""

import numpy as np
import pytest
from networked import material, text
from scipy import sparse

from odl import learners
from odl.distributed import coding, models
from odl.distributed.inference import diffuse, share_all
from odl.distributed.networks import network
from odl.errors import ParameterError


def dual_of(model, x, A, y):
    return model.residual.gradient(x - A @ y)


@pytest.mark.parametrize("name", models.TASKS)
def test_the_optimum_is_certified_by_its_dual(name, rng):
    model, P, A = material(name, rng)
    found = coding.centralised(P, A, model, tolerance=1e-12)
    Y, W = found.codes.toarray(), A.toarray()
    for x, y, score, gap in zip(P.toarray(), Y, found.score, found.gap, strict=True):
        nu = dual_of(model, x, W, y)
        assert model.primal(x, W, y) == pytest.approx(score, rel=1e-12)
        assert score - model.dual(x, W, nu) <= 1e-9
        assert gap == pytest.approx(score - model.dual(x, W, nu), abs=1e-12)
    assert 0 < np.count_nonzero(Y) < Y.size
    np.testing.assert_allclose(found.residual + found.penalty, found.score, rtol=1e-14)


def test_the_screen_leaves_no_active_atom_out(rng):
    """A weak penalty on documents with negative weights as well: every kept or dropped atom obeys y = T(w^T nu)."""
    for name in ("nmf", "nmf_huber"):
        model, P, A = material(name, rng)
        P = sparse.csr_array(P.toarray() - 0.3 * (rng.random(P.shape) < 0.2))
        found = coding.centralised(P, A, model, tolerance=1e-13)
        for x, y in zip(P.toarray(), found.codes.toarray(), strict=True):
            np.testing.assert_allclose(
                y, model.codes(A.toarray(), dual_of(model, x, A, y)), atol=1e-5
            )


@pytest.mark.parametrize("name", models.TASKS)
@pytest.mark.parametrize("seen_by", [1.0, 0.0, 3])
@pytest.mark.parametrize("graph", ["ring", "fully_connected"])
def test_sparse_diffusion_is_dense_diffusion(name, seen_by, graph, rng):
    """The span of document and answering atoms, with clipped terms apart, is the same iteration to rounding."""
    model, P, A = material(name, rng, n_documents=3)
    owner = np.array([0, 0, 1, 2, 3, 3, 3, 4, 5])
    made = network(graph, 6, degree=2, seen_by=seen_by)
    share = share_all(model, made, [A.toarray()[:, owner == agent] for agent in range(6)])
    step = coding.safe_step(model, owner, made)
    found = coding.over_network(P, A, model, owner, made, tolerance=1e-4, iterations=1500)
    for row, x in enumerate(P.toarray()):
        dense = diffuse(share, x, step=step, tolerance=1e-4, iterations=1500)
        assert dense.iterations == found.iterations[row]
        np.testing.assert_allclose(
            found.codes.toarray()[row], np.concatenate(dense.codes), atol=1e-11
        )
        np.testing.assert_allclose(found.costs[row].sum(), dense.costs.sum(), atol=1e-10)
        if graph == "ring":
            np.testing.assert_allclose(found.costs[row], dense.costs, atol=1e-10)
            assert np.all(found.floats[row] <= dense.floats)
            assert np.all(found.floats[row] > 0)
    if name == "nmf_huber":
        # The projection acts on terms outside the documents, too: the case that needs terms of
        # their own.
        nu = dense.nu[:, P.toarray()[-1] == 0]
        assert graph != "ring" or np.abs(nu).max() == 1.0


@pytest.mark.parametrize("name", models.TASKS)
def test_fully_connected_diffusion_tends_to_the_optimum(name, rng):
    model, P, A = material(name, rng)
    made = network("fully_connected", 9)
    best = coding.centralised(P, A, model, tolerance=1e-10)
    found = coding.over_network(P, A, model, np.arange(9), made, tolerance=1e-6, iterations=50_000)
    np.testing.assert_allclose(found.score, best.score, rtol=1e-6)
    np.testing.assert_allclose(found.codes.toarray(), best.codes.toarray(), atol=1e-4)
    assert found.costs.shape == (6, 9)


@pytest.mark.parametrize("name", models.TASKS)
def test_one_pass_of_learning_is_the_update_rule(name, rng):
    model, P, A = material(name, rng)
    if name == "biclustering":
        model = models.task(name, gamma=0.05, delta=0.3, beta=0.05)
    W = A.toarray()
    for row, x in enumerate(P.toarray()):
        y = coding.centralised(
            P[[row]], sparse.csc_array(W), model, tolerance=1e-12
        ).codes.toarray()[0]
        W = model.learn(W, dual_of(model, x, W, y), y, 0.2)
    found = coding.learn_centralised(P, A, model, 0.2, tolerance=1e-12)
    np.testing.assert_allclose(found.toarray(), W, atol=1e-5)
    assert found.has_sorted_indices and found.nnz == np.count_nonzero(found.data)


@pytest.mark.parametrize("name", models.TASKS)
def test_learning_over_a_network_uses_each_agents_own_dual_variable(name, rng):
    model, P, A = material(name, rng, n_documents=4)
    if name == "biclustering":
        model = models.task(name, gamma=0.05, delta=0.3, beta=0.05)
    made, owner = network("ring", 9, degree=2), np.arange(9)
    W, step = A.toarray(), coding.safe_step(model, owner, made)
    for x in P.toarray():
        found = diffuse(
            share_all(model, made, list(W.T[:, :, None])),
            x,
            step=step,
            iterations=300,
            tolerance=0.0,
        )
        columns = [
            model.learn(W[:, [k]], nu, y, 0.2)
            for k, (nu, y) in enumerate(zip(found.nu, found.codes, strict=True))
        ]
        W = np.concatenate(columns, axis=1)
    learned = coding.learn_over_network(
        P, A, model, 0.2, owner, made, iterations=300, tolerance=0.0
    )
    np.testing.assert_allclose(learned.toarray(), W, atol=1e-10)


def test_silent_atoms_only_shrink():
    """Also one whose terms fill its row of the padded atoms, and the one that lies behind it in memory."""
    model, step = models.task("biclustering", gamma=0.05, delta=0.3, beta=0.05), 0.2
    W = np.zeros((10, 3))
    W[:2, 0], W[2:6, 1], W[6:, 2] = 0.6, [0.4, -0.3, 0.2, 0.1], [0.1, 0.2, -0.3, 0.4]
    P = sparse.csr_array(([1.0, 1.0], ([0, 0], [0, 1])), shape=(1, 10))
    learned = coding.learn_over_network(
        P,
        sparse.csc_array(W),
        model,
        step,
        np.arange(3),
        network("fully_connected", 3),
        iterations=20,
        tolerance=0.0,
    ).toarray()
    assert learned[0, 0] != W[0, 0]
    np.testing.assert_allclose(
        learned[:, 1:], (np.sign(W) * np.maximum(np.abs(W) - step * 0.05, 0))[:, 1:]
    )


def test_atoms_gain_terms_of_documents_only(rng):
    """Sparse stays sparse: without negative entries an atom can only gain terms of documents that it codes."""
    model, P, A = material("nmf", rng)
    P = sparse.csr_array(P.toarray() * (np.arange(60) % 3 > 0))
    learned = coding.learn_centralised(P, A, model, 0.2)
    new = (learned.toarray() != 0) & (A.toarray() == 0)
    assert new.any()
    assert not new[np.arange(60) % 3 == 0].any()


@pytest.mark.parametrize(
    "call",
    [
        lambda P, A, model: coding.centralised(P, sparse.csc_array(-A), model),
        lambda P, A, model: coding.centralised(P[:, :5], A, model),
        lambda P, A, model: coding.owners(3, 4),
        lambda P, A, model: coding.over_network(
            P, A, model, np.arange(9), network("ring", 9), mu=-1.0
        ),
    ],
)
def test_wrong_arguments_are_refused(call, rng):
    model, P, A = material("nmf", rng)
    with pytest.raises(ParameterError):
        call(P, A, model)


@pytest.mark.parametrize("task", models.TASKS)
def test_the_three_solvers_agree_when_fully_connected(task, rng):
    P = text(rng)
    settings = {
        "task": task,
        "gamma": 0.3 if task == "nmf_huber" else 0.1,
        "tolerance": 1e-7,
        "iterations": 20_000,
    }
    exact = learners.make("diffusion", **settings)
    state = exact.start(P, 6, np.random.default_rng(1))
    scores = exact.score(state, P)
    other = learners.make("diffusion", solver="diffusion", **settings).score(state, P)
    np.testing.assert_allclose(
        scores.residual + scores.penalty, other.residual + other.penalty, rtol=1e-5
    )
    assert other.gap < 1e-5 and scores.gap <= 1.1e-7
    best = coding.centralised(P, state.dictionary, exact.model, tolerance=1e-7)
    assert scores.gap == pytest.approx(np.max(best.gap / (best.score - best.gap)), rel=1e-12)
    again = learners.make("diffusion", solver="centralised", network="ring", **settings).score(
        state, P
    )
    np.testing.assert_array_equal(scores.residual, again.residual)


def test_scores_over_a_sparse_network_come_nearer_with_smaller_steps(rng):
    P = text(rng)
    exact = learners.make("diffusion", tolerance=1e-6)
    state = exact.start(P, 8, np.random.default_rng(1))
    gaps = []
    for mu in (0.05, 0.0125):
        sparse_network = {"network": "erdos_renyi", "probability": 0.6, "network_seed": 1, "mu": mu}
        learner = learners.make("diffusion", tolerance=1e-4, iterations=20_000, **sparse_network)
        gaps.append(learner.score(state, P).gap)
    assert gaps[1] < 0.5 * gaps[0] < 0.1


@pytest.mark.parametrize(
    "settings", [{}, {"task": "nmf_huber", "gamma": 0.5}, {"network": "ring", "iterations": 50}]
)
def test_documents_that_nothing_explains_score_one(settings, rng):
    P = text(rng)
    learner = learners.make("diffusion", rounds=1, **settings)
    state = learner.start(P[:, :40], 5, np.random.default_rng(1))
    strange = np.zeros((2, 50))
    strange[0, 45], strange[1, 41:45] = 1.0, 0.5
    found = learner.score(learner.fit_terms(state, 50), sparse.csr_array(strange))
    np.testing.assert_allclose(found.residual + found.penalty, 1.0, rtol=1e-12)
    assert found.codes.nnz == 0
    known = learner.score(state, P[:, :40])
    assert np.all(known.residual + known.penalty <= 1.0 + 1e-9)


def test_a_run_cut_in_two_is_the_run(rng):
    """The state is all there is: learning goes on from it bit for bit, entries in the order a file gives them."""
    P = text(rng)
    for settings in ({}, {"network": "ring", "iterations": 60}):
        learner = learners.make("diffusion", **settings)
        state = learner.start(P, 6, np.random.default_rng(1))
        copy = learners.State(
            sparse.csc_array(sparse.csr_array(state.dictionary)), {}, state.updates
        )
        for batch in (P[:30], P[30:]):
            state, copy = learner.learn(state, batch, None), learner.learn(copy, batch, None)
            copy = learners.State(
                sparse.csc_array(sparse.csr_array(copy.dictionary)), {}, copy.updates
            )
        assert state.updates == 2
        np.testing.assert_array_equal(state.dictionary.toarray(), copy.dictionary.toarray())


def test_learning_lowers_the_score_of_the_same_topics(rng):
    P = text(rng)
    for settings in (
        {},
        {"task": "nmf_huber", "gamma": 0.5, "delta": 0.5, "mu_w": 0.05},
        {"task": "sparse_svd"},
    ):
        learner = learners.make("diffusion", rounds=0, **settings)
        state = learner.start(P, 6, np.random.default_rng(3))
        totals = [learner.score(state, P).residual.sum()]
        for _ in range(3):
            state = learner.learn(state, P, None)
            totals.append(learner.score(state, P).residual.sum())
        assert totals[-1] < totals[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": 0.1}, "no penalty on the dictionary"),
        ({"delta": 0.0}, "delta"),
        ({"task": "pca"}, "one of"),
    ],
)
def test_settings_that_do_not_combine_are_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        learners.make("diffusion", **settings)
