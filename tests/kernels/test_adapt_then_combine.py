"""Diffusion on coefficients of sparse columns, against agents with dense vectors."""

import numpy as np
import pytest
from networked import OPTIONS, material
from reference import atc, learned
from scipy import sparse

from odl.distributed import coding, models
from odl.distributed.coding import Iteration
from odl.distributed.networks import network
from odl.kernels import adapt_then_combine
from odl.prox.projections import parts

STEPS = 40


@pytest.mark.parametrize("name", models.TASKS)
@pytest.mark.parametrize("seen_by", [1.0, 2])
def test_codes_and_atoms_are_those_of_agents_one_by_one(name, seen_by, rng):
    """Each agent also learns from its dual variable before the next document."""
    model, P, A = material(name, rng, n_documents=4)
    owner, made = (
        np.array([0, 0, 1, 2, 2, 3, 4, 5, 5]),
        network("ring", 6, degree=2, seen_by=seen_by),
    )
    diffusion = coding._kernel_iteration(
        model, owner, made, Iteration(iterations=STEPS, tolerance=0.0)
    )
    signed, beta = not model.code.non_negative, 0.05 if name == "biclustering" else 0.0
    agents = {"gamma": OPTIONS["gamma"], "delta": OPTIONS["delta"], "signed": signed}
    agents["eta"] = OPTIONS["eta"] if name == "nmf_huber" else None
    constants, W = (P.shape[1], coding.constants(model), diffusion), A.toarray()
    codes, costs, iterations, _ = adapt_then_combine.code_documents(parts(P), parts(A), *constants)
    assert (iterations == STEPS).all() and codes.any()
    for row, x in enumerate(P.toarray()):
        fixed = [A.toarray()[:, owner == k] for k in range(6)]
        _, expected, cost = atc(
            x, fixed, made.weights.toarray(), made.shares, diffusion.mu, STEPS, **agents
        )
        np.testing.assert_allclose(codes[row], np.concatenate(expected), atol=1e-12)
        np.testing.assert_allclose(costs[row], cost, atol=1e-12)
        blocks = [W[:, owner == k] for k in range(6)]
        nu, y, _ = atc(
            x, blocks, made.weights.toarray(), made.shares, diffusion.mu, STEPS, **agents
        )
        blocks = [learned(*each, 0.2, beta, signed) for each in zip(blocks, nu, y, strict=True)]
        W = np.concatenate(blocks, axis=1)
    starts, terms, weights = adapt_then_combine.learn_documents(
        parts(P), parts(A), *constants, 0.2, beta
    )
    found = np.zeros_like(W)
    found[terms, np.repeat(np.arange(9), np.diff(starts))] = weights
    np.testing.assert_allclose(found, W, atol=1e-10)


@pytest.mark.parametrize("at_fixed_point", [False, True])
def test_more_terms_can_be_clipped_than_the_first_arrays_have_room_for(at_fixed_point, rng):
    """Atoms that explain 20 terms of a document have 100 other terms, whose dual values reach -1."""
    n_own, n_terms, n_agents, iterations = 20, 120, 6, 1000
    W = np.zeros((n_terms, n_agents))
    W[:n_own] = rng.uniform(0.15, 0.25, (n_own, n_agents))
    W[n_own:] = rng.uniform(0.02, 0.04, (n_terms - n_own, n_agents))
    x = np.repeat([5.0, 0.0], [n_own, n_terms - n_own])
    model, owner = models.task("nmf_huber", **OPTIONS), np.arange(n_agents)
    ring = network("ring", n_agents, degree=2)
    found = coding.over_network(
        sparse.csr_array(x[None]), sparse.csc_array(W), model, owner, ring,
        iterations=iterations, tolerance=0.0, at_fixed_point=at_fixed_point,
    )  # fmt: skip
    nu, codes, costs = atc(
        x, np.hsplit(W, n_agents), ring.weights.toarray(), ring.shares,
        coding.safe_step(model, owner, ring), iterations, **OPTIONS,
    )  # fmt: skip
    np.testing.assert_allclose(found.codes.toarray()[0], np.concatenate(codes), atol=1e-10)
    np.testing.assert_allclose(found.costs[0], costs, atol=1e-10)
    room = 64  # DualBasis::ROOM
    assert np.count_nonzero(nu.min(axis=0) == -1.0) > room
