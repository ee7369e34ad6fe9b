"""Inference over networks against general solvers, on small dense problems."""

import numpy as np
import pytest
from networked import N_TERMS, optimum, problem
from reference import atc, learned

from odl.distributed import models
from odl.distributed.inference import AgentShare, diffuse, share_all
from odl.errors import ParameterError


@pytest.mark.slow
@pytest.mark.parametrize("name", models.TASKS)
@pytest.mark.parametrize("seen_by", [1.0, 0.0, 3])
def test_fully_connected_diffusion_ends_at_the_optimum_wherever_x_is_seen(name, seen_by, rng):
    model, x, blocks, made = problem(name, rng, seen_by=seen_by, graph="fully_connected")
    W = np.concatenate(blocks, axis=1)
    found = diffuse(share_all(model, made, blocks), x, tolerance=1e-9, iterations=20_000)
    best = optimum(model, x, W)
    assert np.ptp(found.nu, axis=0).max() < 1e-14  # all agents hold the same
    assert np.linalg.norm(found.nu[0] - best) < 2e-6
    assert -found.costs.sum() == pytest.approx(model.dual(x, W, best), abs=1e-9)
    y = np.concatenate(found.codes)
    assert model.primal(x, W, y) == pytest.approx(model.dual(x, W, best), abs=1e-8)
    assert found.iterations < 20_000


@pytest.mark.slow
@pytest.mark.parametrize("name", models.TASKS)
def test_the_squared_distance_of_the_fixed_point_falls_as_mu_squared(name, rng):
    model, x, blocks, made = problem(name, rng, sizes=(1,) * 12, seen_by=0.0, gamma=0.02)
    best = optimum(model, x, np.concatenate(blocks, axis=1))
    share = share_all(model, made, blocks)
    largest = model.largest_step(share.norms, 12)
    slow = (
        name == "nmf_huber"
    )  # distances shrink by the curvature, 0.3: fewer iterations at steps twice as long
    steps = np.array([0.4, 0.1, 0.025]) * largest * (2 if slow else 1)
    distances = []
    for step in steps:
        found = diffuse(share, x, step=step, tolerance=1e-4 if slow else 1e-5, iterations=60_000)
        distances.append(np.sum((found.nu - best) ** 2, axis=1).mean())
    slopes = np.diff(np.log(distances)) / np.diff(np.log(steps))
    assert distances[0] > 1e-8
    assert np.all((slopes > 1.6) & (slopes < 2.4)), slopes


def test_the_default_step_is_stable_and_a_far_larger_one_is_not(rng):
    model, x, blocks, made = problem("nmf", rng, gamma=0.0)
    share = share_all(model, made, blocks)
    sizes = []
    for step in (None, 50 * model.largest_step(share.norms, 6)):
        with np.errstate(all="ignore"):
            sizes.append(np.abs(diffuse(share, x, step=step, iterations=3000).nu).max())
    assert sizes[0] < 10.0
    assert not sizes[1] < 10.0


@pytest.mark.parametrize("name", ["sparse_svd", "nmf_huber"])
def test_shares_that_exchange_dual_variables_give_the_whole_to_the_last_bit(name, rng):
    """Three processes by hand: each adapts and combines its own agents; the rest passes through `exchange`."""
    model, x, blocks, made = problem(name, rng)
    step = 0.9 * model.largest_step(share_all(model, made, blocks).norms, 6)
    options = {"step": step, "tolerance": 0.0, "iterations": 40}
    whole = diffuse(share_all(model, made, blocks), x, **options)
    seen = []
    diffuse(
        share_all(model, made, blocks), x, exchange=lambda psi: seen.append(psi) or psi, **options
    )
    for own in ([0, 3], [1, 2, 4], [5]):
        share = AgentShare(model, made, np.array(own), [blocks[k] for k in own])
        part = diffuse(share, x, exchange=Messages(share, seen), **options)
        np.testing.assert_array_equal(part.nu, whole.nu[own])
        for code, k in zip(part.codes, own, strict=True):
            np.testing.assert_array_equal(code, whole.codes[k])


class Messages:
    """Stands for the other processes: gives what the agents a share listens to have sent."""

    def __init__(self, share, sent):
        self.share, self.sent = share, iter(sent)

    def __call__(self, psi):
        everyone = next(self.sent)
        np.testing.assert_array_equal(psi, everyone[self.share.agents])
        return everyone[self.share.senders]


def test_a_shorter_tolerance_comes_nearer_to_the_fixed_point(rng):
    model, x, blocks, made = problem("nmf_huber", rng, graph="ring")
    share = share_all(model, made, blocks)
    fixed = diffuse(share, x, tolerance=1e-9, iterations=20_000).nu
    used = []
    for tolerance in (1e-2, 1e-4, 1e-6):
        found = diffuse(share, x, tolerance=tolerance, iterations=20_000)
        assert np.linalg.norm(found.nu - fixed) <= 1.5 * tolerance * np.linalg.norm(fixed)
        used.append(found.iterations)
    assert used == sorted(used)


def test_floats_sent_are_counted_by_neighbours(rng):
    model, x, blocks, made = problem("nmf", rng, graph="ring")
    found = diffuse(share_all(model, made, blocks), x, iterations=7)
    np.testing.assert_array_equal(found.floats, 4 * 7 * N_TERMS)


@pytest.mark.parametrize(
    "call",
    [
        lambda share, x: diffuse(share, x, step=-1.0),
        lambda share, x: AgentShare(share.model, share.network, np.array([1, 0]), share.blocks[:2]),
        lambda share, x: AgentShare(share.model, share.network, np.array([6]), share.blocks[:1]),
    ],
)
def test_wrong_arguments_are_refused(call, rng):
    model, x, blocks, made = problem("nmf", rng)
    with pytest.raises(ParameterError):
        call(share_all(model, made, blocks), x)


@pytest.mark.parametrize("name", models.TASKS)
@pytest.mark.parametrize(
    ("graph", "seen_by"), [("ring", 1.0), ("erdos_renyi", 2), ("fully_connected", 0.0)]
)
def test_diffusion_is_equations_31_and_37(name, graph, seen_by, rng):
    """Against agents that adapt and combine one by one: dual variables, codes (42) and costs (29)."""
    model, x, blocks, made = problem(name, rng, graph=graph, seen_by=seen_by)
    signed = name in ("sparse_svd", "biclustering")
    step = 0.9 * model.largest_step(share_all(model, made, blocks).norms, 6)
    eta = 0.3 if name == "nmf_huber" else None
    weights = made.weights.toarray()
    nu, codes, costs = atc(
        x, blocks, weights, made.shares, step, 40, gamma=0.1, delta=0.5, eta=eta, signed=signed
    )
    found = diffuse(share_all(model, made, blocks), x, step=step, iterations=40, tolerance=0.0)
    np.testing.assert_allclose(found.nu, nu, atol=1e-13)
    np.testing.assert_allclose(np.concatenate(found.codes), np.concatenate(codes), atol=1e-13)
    np.testing.assert_allclose(found.costs, costs, atol=1e-13)
    for W, dual, y in zip(blocks, nu, codes, strict=True):
        beta = 0.2 if name == "biclustering" else 0.0
        learner = models.task(name, gamma=0.1, delta=0.5, eta=0.3, beta=beta)
        np.testing.assert_allclose(
            learner.learn(W, dual, y, 0.3), learned(W, dual, y, 0.3, beta, signed), atol=1e-13
        )
