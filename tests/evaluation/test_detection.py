"""Quality of alerts against brute force and limiting cases."""

import numpy as np
import pytest

from odl.errors import ParameterError
from odl.evaluation import detection


def test_precision_is_the_mean_over_orders_of_ties(rng):
    for _ in range(20):
        scores, labels = rng.integers(0, 4, 12) / 3.0, rng.integers(-1, 2, 12)
        kept = labels != -1
        room = max(1, int(np.ceil(0.3 * kept.sum() - 1e-9)))
        values = []
        for _ in range(3000):
            order = rng.permutation(kept.sum())
            top = order[np.argsort(-scores[kept][order], kind="stable")][:room]
            values.append(np.mean(labels[kept][top] == 1))
        assert abs(detection.precision_at(scores, labels, 0.3) - np.mean(values)) < 0.03


def test_precision_limits():
    assert detection.precision_at([3, 2, 1, 0], [1, 1, 0, 0], 0.5) == 1.0
    assert detection.precision_at([3, 2, 1, 0], [0, 0, 1, 1], 0.5) == 0.0
    assert detection.precision_at([3, 2, 1, 0], [1, 0, 0, 0], 1.0) == 0.25
    assert detection.precision_at(np.arange(100), np.arange(100) >= 93, 0.07) == 1.0
    assert detection.precision_at([5.0, 1.0], [1, 0], 0.01) == 1.0
    assert np.isnan(detection.precision_at([1.0], [-1], 0.5))
    for budget in (0, 1.5, -0.1):
        with pytest.raises(ParameterError, match="budget"):
            detection.precision_at([1.0], [1], budget)


def test_delays_of_new_topics():
    topics = [[("a",), ("b",)], [("c",), ("a",), ("c",), ("d", "a")], [("c",), ("d",), ("e",), ()]]
    flags = [[True, True], [False, True, True, False], [True, False, False, True]]
    found = {delay.topic: delay for delay in detection.detection_delays(flags, topics)}
    assert list(found) == ["c", "d", "e"]
    assert found["c"] == ("c", 1, 3, 1, 3)
    assert found["d"] == ("d", 1, 2, 2, -1)
    assert found["e"] == ("e", 2, 1, 1, -1)
    with pytest.raises(ParameterError, match="timestep 1"):
        detection.detection_delays([[True, False], [True]], topics[:2])


def test_detection_cost_by_enumeration(rng):
    for _ in range(10):
        scores, labels = rng.integers(0, 6, 40) / 5.0, np.r_[np.ones(8), np.zeros(32)].astype(int)

        def cost(threshold, scores=scores, labels=labels):
            flagged = scores >= threshold
            return (0.02 * np.mean(~flagged[labels == 1]) + 0.098 * np.mean(flagged[labels == 0])) / 0.02

        assert np.isclose(detection.detection_cost(scores, labels, 0.4), cost(0.4))
        best = min(cost(threshold) for threshold in [*np.arange(-1, 7) / 5.0])
        assert np.isclose(detection.detection_cost(scores, labels), best)
        assert detection.detection_cost(scores, labels) <= 1.0
    assert detection.detection_cost([1, 2, 9], [0, 0, 1]) == 0.0
    assert np.isclose(detection.detection_cost([1, 2, 9], [0, 0, 1], 100.0), 1.0)
    assert np.isnan(detection.detection_cost([1.0], [1]))


def test_drift_finds_the_trend(rng):
    batches = []
    for t in range(30):
        labels = rng.integers(-1, 2, 400)
        batches.append((0.5 - 0.004 * t + 0.1 * rng.standard_normal(400) + 5.0 * (labels == 1), labels))
    found = detection.drift(batches)
    assert abs(found.slope + 0.004) < 0.0005 and abs(found.spread - 0.1) < 0.01
    assert np.isclose(found.means[3], batches[3][0][batches[3][1] == 0].mean())
    assert np.isnan(detection.drift([([1.0], [1]), ([1.0, 2.0], [0, 0])]).means[0])
    assert np.isnan(detection.drift([([1.0], [0])]).slope)


def test_lists_that_do_not_fit_are_refused():
    for call in (
        lambda: detection.precision_at([1.0, 2.0], [1], 0.1),
        lambda: detection.detection_cost([1.0, np.nan], [1, 0]),
    ):
        with pytest.raises(ParameterError):
            call()
