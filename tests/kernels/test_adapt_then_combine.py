"""Diffusion on coefficients of sparse columns against agents that adapt and combine dense vectors one by one."""

import numpy as np
import pytest
from networked import OPTIONS, material
from reference import atc, learned

from odl.distributed import coding, models
from odl.distributed.coding import Iteration
from odl.distributed.networks import network
from odl.kernels import adapt_then_combine
from odl.prox.projections import parts

STEPS = 40


@pytest.mark.parametrize("name", models.TASKS)
@pytest.mark.parametrize("seen_by", [1.0, 2])
def test_codes_and_atoms_are_those_of_agents_one_by_one(name, seen_by, rng):
    """Each agent also learns from its own dual variable before the next document comes."""
    model, P, A = material(name, rng, n_documents=4)
    owner, made = (
        np.array([0, 0, 1, 2, 2, 3, 4, 5, 5]),
        network("ring", 6, degree=2, seen_by=seen_by),
    )
    diffusion = coding._over(model, owner, made, Iteration(iterations=STEPS, tolerance=0.0))
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
