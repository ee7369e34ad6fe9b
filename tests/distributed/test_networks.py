"""Networks: known degrees, doubly stochastic weights, refusals."""

import numpy as np
import pytest
from scipy import sparse

from odl.distributed import networks
from odl.distributed.networks import Network, graph, metropolis, network, observers
from odl.errors import ParameterError

SETTINGS = {"erdos_renyi": {"probability": 0.3}}


@pytest.mark.parametrize("name", networks.GRAPHS)
@pytest.mark.parametrize("n_agents", [12, 25])
def test_metropolis_weights_are_doubly_stochastic_and_mix(name, n_agents):
    made = network(name, n_agents, seed=3, **SETTINGS.get(name, {}))
    dense = made.weights.toarray()
    np.testing.assert_allclose(dense.sum(axis=0), 1.0, atol=1e-14)
    np.testing.assert_allclose(dense.sum(axis=1), 1.0, atol=1e-14)
    np.testing.assert_array_equal(dense, dense.T)
    assert dense.min() >= 0.0
    adjacency = graph(name, n_agents, seed=3, **SETTINGS.get(name, {})).toarray()
    assert not dense[(adjacency == 0) & ~np.eye(n_agents, dtype=bool)].any()
    np.testing.assert_array_equal(made.neighbours, adjacency.sum(axis=1))
    # Repeated combination tends to the average: the second largest eigenvalue is below one in size.
    assert np.sort(np.abs(np.linalg.eigvalsh(dense)))[-2] < 1.0 - 1e-6
    assert made.exact == (name == "fully_connected")


def test_known_graphs():
    assert graph("ring", 7, degree=2).sum() == 14
    assert graph("ring", 9, degree=4).toarray()[0].nonzero()[0].tolist() == [1, 2, 7, 8]
    degrees = np.sort(np.asarray(graph("grid", 12).sum(axis=1)))
    assert degrees.tolist() == [2] * 4 + [3] * 6 + [4] * 2  # 3 by 4
    np.testing.assert_allclose(network("fully_connected", 5).weights.toarray(), 0.2)


def test_a_ring_says_its_degree_where_it_is_shown():
    assert networks.shown("ring") == "ring of degree 4" == networks.shown("ring", degree=4)
    assert networks.shown("ring", degree=2) == "ring of degree 2"
    assert networks.shown("fully_connected") == "fully connected"
    assert (np.asarray(graph("ring", 9).sum(axis=1)) == 4).all()


def test_metropolis_by_hand():
    star = sparse.csr_array(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    np.testing.assert_allclose(
        metropolis(star).toarray(), [[1 / 3, 1 / 3, 1 / 3], [1 / 3, 2 / 3, 0], [1 / 3, 0, 2 / 3]]
    )


def test_random_graphs_follow_their_seed():
    first, again, other = (
        graph("erdos_renyi", 20, probability=0.3, seed=seed).toarray() for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_network_in_parts_is_refused():
    with pytest.raises(ParameterError, match=r"has [0-9]+ components"):
        network("erdos_renyi", 20, probability=0.02)
    with pytest.raises(ParameterError, match="the network has 2 components"):
        Network(sparse.csr_array(np.eye(2)), np.ones(2, dtype=bool))


@pytest.mark.parametrize(
    "weights",
    [[[0.5, 0.5], [0.6, 0.4]], [[1.5, -0.5], [-0.5, 1.5]], [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]],
)
def test_weights_that_are_not_doubly_stochastic_are_refused(weights):
    with pytest.raises(ParameterError):
        Network(sparse.csr_array(np.array(weights)), np.ones(len(weights), dtype=bool))


def test_who_sees_the_data():
    assert observers(10, 1.0).all()
    assert observers(10, 0.3).sum() == 3
    assert observers(10, 4).nonzero()[0].tolist() == [0, 2, 5, 7]
    assert observers(10, 0).nonzero()[0].tolist() == [0]
    made = network("ring", 10, seen_by=4)
    np.testing.assert_allclose(made.shares[made.seen], 0.25)
    assert made.shares.sum() == pytest.approx(1.0)
    for wrong in (-0.1, 2.5, 11):
        with pytest.raises(ParameterError, match="seen_by"):
            observers(10, wrong)
    with pytest.raises(ParameterError, match="at least one"):
        Network(network("ring", 5).weights, np.zeros(5, dtype=bool))


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "star", "n_agents": 4},
        {"name": "ring", "n_agents": 0},
        {"name": "ring", "n_agents": 5, "degree": 3},
        {"name": "erdos_renyi", "n_agents": 5, "probability": 1.5},
    ],
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(ParameterError):
        network(**settings)
