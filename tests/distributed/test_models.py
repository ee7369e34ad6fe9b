"""The parts of the general model against their definitions: brute force, finite differences, strong duality."""

import numpy as np
import pytest
from scipy.optimize import minimize

from odl.distributed import models
from odl.distributed.models import ElasticNet, Huber, Model, Squared
from odl.errors import ParameterError

RESIDUALS = [Squared(), Huber(0.3), Huber(2.0)]
CODES = [ElasticNet(0.2, 0.5), ElasticNet(0.2, 0.5, non_negative=True), ElasticNet(0.0, 2.0)]
GRID = np.linspace(-6.0, 6.0, 24001)


@pytest.mark.parametrize("f", RESIDUALS)
def test_conjugate_of_a_residual_loss_and_where_it_is_attained(f):
    for nu in np.linspace(-0.99, 0.99, 12) * (1.0 if isinstance(f, Huber) else 3.0):
        values = nu * GRID - f.value(GRID[:, None])
        assert f.conjugate(np.array([nu])) == pytest.approx(values.max(), abs=1e-6)
        # Fenchel's inequality is an equality at u = c_f nu, and the gradient of f leads back to nu.
        u = f.curvature * np.array([nu])
        assert u[0] == pytest.approx(GRID[values.argmax()], abs=1e-3)
        assert f.value(u) + f.conjugate(np.array([nu])) == pytest.approx(nu * u[0], abs=1e-12)
        assert f.gradient(u)[0] == pytest.approx(nu, abs=1e-12)


def test_the_domain_of_the_huber_conjugate_is_the_box(rng):
    f = Huber(0.5)
    assert f.conjugate(np.array([0.2, 1.01])) == np.inf
    grid = np.linspace(-1000.0, 1000.0, 2001)
    assert np.max(1.01 * grid - f.value(grid[:, None])) > 9.0  # grows without bound
    nu = rng.normal(size=(50, 4)) * 2
    projected = f.project(nu)
    assert np.isfinite(f.conjugate(projected)).all()
    np.testing.assert_array_equal(f.project(projected), projected)
    feasible = rng.uniform(-1, 1, size=(50, 4))
    assert (
        np.max(np.sum((nu - projected) * (feasible - projected), axis=1)) <= 1e-12
    )  # variational inequality


@pytest.mark.parametrize("h", CODES)
def test_conjugate_and_maximiser_of_a_code_penalty(h):
    grid = GRID[GRID >= 0] if h.non_negative else GRID
    for a in np.linspace(-2.0, 2.0, 17):
        values = a * grid - h.value(grid[:, None])
        assert h.conjugate(np.array([a])) == pytest.approx(values.max(), abs=1e-6)
        assert h.maximiser(np.array([a]))[0] == pytest.approx(grid[values.argmax()], abs=1e-3)


@pytest.mark.parametrize("part", CODES)
def test_the_maximiser_is_the_gradient_of_the_conjugate(part, rng):
    point, step = rng.uniform(-0.9, 0.9, size=5), 1e-6
    for i, unit in enumerate(np.eye(5)):
        slope = (part.conjugate(point + step * unit) - part.conjugate(point - step * unit)) / (
            2 * step
        )
        assert part.maximiser(point)[i] == pytest.approx(slope, abs=1e-6)


def test_values_outside_a_set_are_infinite():
    assert ElasticNet(0.1, 1.0, non_negative=True).value(np.array([0.5, -0.1])) == np.inf


@pytest.mark.parametrize("beta", [0.0, 0.3])
@pytest.mark.parametrize("non_negative", [False, True])
def test_an_update_is_the_prox_of_penalty_and_set(beta, non_negative, rng):
    """The definition: no other column of the set has a lower 1/2 ||v - w||^2 + step h_W(v)."""
    step, model = 0.4, Model(Squared(), ElasticNet(0.1, 1.0, non_negative), beta)
    for _ in range(20):
        w = rng.normal(size=(3, 1)) * rng.choice([0.3, 2.0])
        nearest = model.learn(w, np.zeros(3), np.zeros(1), step)
        lowest = 0.5 * np.sum((nearest - w) ** 2) + step * beta * np.abs(nearest).sum()
        others = model.project(
            np.concatenate(
                [rng.normal(size=(3, 2000)), nearest + 0.05 * rng.normal(size=(3, 2000))], 1
            )
        )
        costs = 0.5 * np.sum((others - w) ** 2, axis=0) + step * beta * np.abs(others).sum(axis=0)
        assert costs.min() >= lowest - 1e-12
        np.testing.assert_array_equal(
            model.project(nearest * 0.5), nearest * 0.5
        )  # a point inside stays


def random_case(rng, model, n_terms=12, n_atoms=5):
    W = model.project(rng.normal(size=(n_terms, n_atoms)))
    return rng.normal(size=n_terms), W


def solve_dual(model, x, W):
    """Maximise the dual with a general solver, then polish by projected gradient steps of half the safe size."""
    bounds = [(-1.0, 1.0) if isinstance(model.residual, Huber) else (None, None)] * len(x)

    def minus(nu):
        return -float(model.dual(x, W, nu)), gradient(nu)

    def gradient(nu):
        return model.gradient(x, W, nu, 1, 1.0)

    nu = minimize(
        minus, np.zeros(len(x)), jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": 1e-12}
    ).x
    step = model.largest_step([np.linalg.norm(W, 2) ** 2], 1)
    for _ in range(4000):
        nu = model.residual.project(nu - step * gradient(nu))
    return nu


@pytest.mark.parametrize("residual", RESIDUALS)
@pytest.mark.parametrize("code", CODES)
def test_strong_duality(residual, code, rng):
    model = Model(residual, code)
    x, W = random_case(rng, model)
    nu = solve_dual(model, x, W)
    y = model.codes(W, nu)
    assert np.isfinite(model.primal(x, W, y))
    assert model.primal(x, W, y) == pytest.approx(model.dual(x, W, nu), abs=1e-9)
    np.testing.assert_allclose(
        residual.gradient(x - W @ y), nu, atol=1e-7
    )  # the residual leads back to nu
    for _ in range(20):  # weak duality elsewhere
        other = residual.project(nu + 0.1 * rng.normal(size=len(nu)))
        assert model.dual(x, W, other) <= model.primal(x, W, model.codes(W, other)) + 1e-12


@pytest.mark.parametrize("name", models.TASKS)
def test_costs_of_the_agents_sum_to_minus_the_dual_and_gradients_are_right(name, rng):
    model = models.task(
        name, gamma=0.2, delta=0.5, eta=0.4, beta=0.1 if name == "biclustering" else 0.0
    )
    x, W = random_case(rng, model, n_atoms=6)
    nu = rng.uniform(-0.9, 0.9, size=12)
    shares, parts = [0.5, 0.0, 0.5], [W[:, :1], W[:, 1:4], W[:, 4:]]
    total = sum(
        model.cost(x, part, nu, 3, share) for part, share in zip(parts, shares, strict=True)
    )
    assert total == pytest.approx(-model.dual(x, W, nu), abs=1e-12)
    slope = model.gradient(x, parts[1], nu, 3, 0.5)
    for i, unit in enumerate(np.eye(12)):
        costs = [model.cost(x, parts[1], nu + sign * 1e-6 * unit, 3, 0.5) for sign in (1, -1)]
        assert slope[i] == pytest.approx((costs[0] - costs[1]) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("name", models.TASKS)
def test_one_update_of_the_dictionary_is_a_descent_step(name, rng):
    """With the codes fixed, the update is the proximal gradient step of f(x - W y) + h_W(W)."""
    model = models.task(
        name, gamma=0.05, delta=0.1, eta=0.4, beta=0.02 if name == "biclustering" else 0.0
    )
    x, W = random_case(rng, model)
    x = np.abs(x)
    nu = solve_dual(model, x, W)
    y = model.codes(W, nu)
    step = 0.5 * getattr(model.residual, "eta", 1.0) / max(y @ y, 1e-12)
    new = model.learn(W, nu, y, step)
    np.testing.assert_array_equal(model.project(new), new)
    costs = [model.residual.value(x - V @ y) + model.beta * np.abs(V).sum() for V in (W, new)]
    assert y.any()
    assert costs[1] < costs[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ElasticNet(0.1, 0.0), "strongly convex"),
        (lambda: models.task("nmf", gamma=0.1, delta=0.0), "strongly convex"),
        (lambda: Huber(0.0), "differentiable"),
        (lambda: ElasticNet(-1.0, 1.0), "at least 0"),
        (lambda: Model(Squared(), ElasticNet(0.1, 1.0), np.nan), "at least 0"),
        (lambda: models.task("nmf_huber", gamma=0.1, delta=0.1), "has no eta"),
        (
            lambda: models.task("nmf", gamma=0.1, delta=0.1, beta=0.5),
            "no penalty on the dictionary",
        ),
        (lambda: models.task("pca", gamma=0.1, delta=0.1), "sparse_svd"),
    ],
)
def test_impossible_combinations_are_refused_in_one_sentence(make, message):
    with pytest.raises(ParameterError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
