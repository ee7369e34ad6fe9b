"""The fixed point of diffusion, found directly, against iterations and the optimum."""

import numpy as np
import pytest
from networked import material, text
from scipy import sparse

from odl import learners
from odl.distributed import coding, models
from odl.distributed.inference import diffuse, share_all
from odl.distributed.networks import network
from odl.errors import ParameterError
from odl.kernels import fixed_point

MANY = {"tolerance": 0.0, "iterations": 12_000}  # of contractions by .997 or less


@pytest.mark.parametrize("name", models.TASKS)
@pytest.mark.parametrize(
    ("graph", "seen_by"), [("ring", 1.0), ("ring", 0.0), ("erdos_renyi", 4), ("grid", 1.0)]
)
def test_it_is_where_the_iterations_end(name, graph, seen_by, rng):
    model, P, A = material(name, rng)
    made, owner = (
        network(graph, 6, degree=2, probability=0.6, seed=2, seen_by=seen_by),
        coding.owners(9, 6),
    )
    slow = coding.over_network(P, A, model, owner, made, **MANY)
    found = coding.over_network(P, A, model, owner, made, tolerance=1e-9, at_fixed_point=True)
    np.testing.assert_array_equal(found.iterations, 1)  # nothing moved
    np.testing.assert_allclose(found.codes.toarray(), slow.codes.toarray(), atol=1e-9)
    np.testing.assert_allclose(found.costs, slow.costs, atol=1e-9)
    assert 0 < found.codes.nnz < found.codes.shape[0] * 9


@pytest.mark.slow
def test_agents_at_the_limits_are_found(rng):
    """Huber loss, with terms outside the document at -1 and some agents at a limit."""
    model, P, A = material("nmf_huber", rng, n_documents=2)
    made, W = network("ring", 9, degree=2), A.toarray()
    step = coding.safe_step(model, np.arange(9), made)
    found = coding.over_network(
        P, A, model, np.arange(9), made, tolerance=1e-9, at_fixed_point=True
    )
    mixed, below = 0, 0
    for row, x in enumerate(P.toarray()):
        dense = diffuse(share_all(model, made, list(W.T[:, :, None])), x, step=step, **MANY)
        np.testing.assert_allclose(found.costs[row], dense.costs, atol=1e-9)
        at = np.abs(dense.nu) == 1.0
        mixed += np.count_nonzero(at.any(axis=0) & ~at.all(axis=0))
        below += np.count_nonzero(dense.nu[:, x == 0] == -1.0)
    assert mixed > 0 and below > 0
    np.testing.assert_array_equal(found.iterations, 1)


@pytest.mark.parametrize("name", models.TASKS)
def test_learning_from_it_is_learning_from_the_iterations(name, rng):
    model, P, A = material(name, rng, n_documents=4)
    made, owner = network("ring", 9, degree=2), np.arange(9)
    slow = coding.learn_over_network(P, A, model, 0.2, owner, made, **MANY)
    found = coding.learn_over_network(
        P, A, model, 0.2, owner, made, tolerance=1e-9, at_fixed_point=True
    )
    np.testing.assert_allclose(found.toarray(), slow.toarray(), atol=1e-8)
    assert np.abs((found - A).toarray()).max() > 0.01


@pytest.mark.parametrize("name", models.TASKS)
def test_fully_connected_it_is_the_optimum(name, rng):
    model, P, A = material(name, rng)
    best = coding.centralised(P, A, model, tolerance=1e-12)
    for seen_by in (1.0, 0.0):
        made = network("fully_connected", 9, seen_by=seen_by)
        found = coding.over_network(
            P, A, model, np.arange(9), made, tolerance=1e-9, at_fixed_point=True
        )
        np.testing.assert_allclose(found.score, best.score, rtol=1e-9)


@pytest.mark.parametrize("name", models.TASKS)
def test_with_a_small_step_every_score_is_within_a_thousandth(name, rng):
    model, P, A = material(name, rng, n_documents=40)
    made, best = (
        network("erdos_renyi", 9, probability=0.5, seed=1),
        coding.centralised(P, A, model, tolerance=1e-12),
    )
    errors = []
    for mu in (0.02, 0.002, 0.0002):
        found = coding.over_network(
            P, A, model, np.arange(9), made, mu=mu, tolerance=1e-6, at_fixed_point=True
        )
        errors.append(np.abs(found.score / best.score - 1.0).max())
    assert errors[2] < 1e-3 < errors[0]
    assert errors[2] < 0.2 * errors[1] < 0.04 * errors[0]


def test_a_start_that_is_wrong_is_iterated_from(rng, monkeypatch):
    """The iterations converge from a wrong start, with the same stopping rule."""
    model, P, A = material("nmf_huber", rng)
    made, owner = network("ring", 9, degree=2), np.arange(9)
    slow = coding.over_network(P, A, model, owner, made, **MANY)
    right = fixed_point.spread
    monkeypatch.setattr(
        fixed_point, "spread", lambda weights, mu, pull: right(weights, 0.5 * mu, 2.0 * pull)
    )
    near = coding.over_network(
        P, A, model, owner, made, tolerance=1e-9, iterations=12_000, at_fixed_point=True
    )
    assert near.iterations.min() > 10
    np.testing.assert_allclose(near.costs, slow.costs, atol=1e-7)


def test_documents_with_negative_weights(rng):
    """Where nothing else is negative x alone bounds what agents hold only from above."""
    model, P, A = material("nmf_huber", rng)
    P = sparse.csr_array(P.toarray() - 0.19 * (rng.random(P.shape) < 0.4))
    made = network("ring", 9, degree=2)
    slow = coding.over_network(P, A, model, np.arange(9), made, **MANY)
    found = coding.over_network(
        P, A, model, np.arange(9), made, tolerance=1e-9, at_fixed_point=True
    )
    np.testing.assert_allclose(found.costs, slow.costs, atol=1e-9)
    np.testing.assert_array_equal(found.iterations, 1)


def test_too_many_agents_are_refused(rng, monkeypatch):
    model, P, A = material("nmf", rng)
    monkeypatch.setattr(coding, "MAX_AGENTS", 8)
    with pytest.raises(ParameterError, match="solver: diffusion"):
        coding.over_network(P, A, model, np.arange(9), network("ring", 9), at_fixed_point=True)


def test_elimination_solves_and_spreads_what_the_series_spreads(rng):
    made = network("erdos_renyi", 12, probability=0.4, seed=3)
    W = made.weights.toarray()
    found = fixed_point.spread(W, 0.3, 0.1)
    series = sum(0.3 * 0.9**power * np.linalg.matrix_power(W, power + 1) for power in range(400))
    np.testing.assert_allclose(found[0], series, atol=1e-12)
    np.testing.assert_array_equal(found[1], W)


def test_the_learner_takes_it(rng):
    P = text(rng)
    settings = {"network": "ring", "agents": 4, "degree": 2, "mu": 0.01}
    fixed = learners.make("diffusion", solver="fixed_point", **settings)
    state = fixed.start(P, 8, np.random.default_rng(1))
    scores = fixed.score(state, P)
    slow = learners.make(
        "diffusion", solver="diffusion", **{**settings, "iterations": 100_000, "tolerance": 1e-6}
    )
    there = slow.score(state, P)
    np.testing.assert_allclose(
        scores.residual + scores.penalty, there.residual + there.penalty, rtol=1e-5
    )
    assert fixed.central(fixed.agents_of(8)[1]) and not slow.central(slow.agents_of(8)[1])
    np.testing.assert_allclose(
        fixed.learn(state, P, None).dictionary.toarray(),
        slow.learn(state, P, None).dictionary.toarray(),
        atol=1e-3,
    )
    assert sparse.issparse(scores.codes)
