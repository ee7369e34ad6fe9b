"""Codes of the objective over agents and updates of atoms, against a general solver."""

import numpy as np
import pytest
from networked import material
from reference import learned
from scipy.optimize import minimize

from odl.distributed import coding, models
from odl.kernels import agent_descent
from odl.prox.projections import parts


def solve(model, x, W):
    """Return the y of min f(x - W y) + gamma |y|_1 + delta/2 ||y||^2 by L-BFGS-B on y = u - v, u, v >= 0."""
    n, signed = W.shape[1], not model.code.non_negative

    def objective(z):
        y = z[:n] - z[n:]
        slope = model.code.delta * y - W.T @ model.residual.gradient(x - W @ y)
        value = model.residual.value((x - W @ y)[:, None]).sum() + 0.5 * model.code.delta * y @ y
        return value + model.code.gamma * z.sum(), np.concatenate(
            [slope, -slope]
        ) + model.code.gamma

    bounds = [(0.0, None)] * n + [(0.0, None if signed else 0.0)] * n
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000}
    z = minimize(
        objective, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    ).x
    return z[:n] - z[n:]


@pytest.mark.parametrize("name", models.TASKS)
def test_codes_are_those_of_a_general_solver(name, rng):
    model, P, A = material(name, rng, n_documents=3)
    last = P.shape[1], coding.constants(model), 1e-12, 10_000
    codes, (residual, penalty, gap) = agent_descent.code_documents(parts(P), parts(A), *last)
    W = A.toarray()
    expected = [solve(model, x, W) for x in P.toarray()]
    np.testing.assert_allclose(codes, expected, atol=1e-4)
    primal = [model.primal(x, W, y) for x, y in zip(P.toarray(), codes, strict=True)]
    np.testing.assert_allclose(residual + penalty, primal, rtol=1e-12)
    assert (gap <= 1e-12 * np.array(primal)).all() and 0 < np.count_nonzero(codes) < codes.size


@pytest.mark.parametrize("name", models.TASKS)
def test_learning_is_the_update_after_each_document(name, rng):
    model, P, A = material(name, rng, n_documents=3)
    beta, W, given = 0.05 if name == "biclustering" else 0.0, A.toarray(), A.copy()
    last = P.shape[1], coding.constants(model), 1e-12, 10_000, 0.2, beta
    for x in P.toarray():
        y = solve(model, x, W)
        W = learned(
            W, model.residual.gradient(x - W @ y), y, 0.2, beta, not model.code.non_negative
        )
    starts, terms, weights = agent_descent.learn_documents(parts(P), parts(A), *last)
    found = np.zeros_like(W)
    found[terms, np.repeat(np.arange(len(starts) - 1), np.diff(starts))] = weights
    np.testing.assert_allclose(found, W, atol=1e-4)
    assert (given != A).nnz == 0
