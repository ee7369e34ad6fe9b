"""Which timesteps count, their mean, and spread over seeds."""

import numpy as np
import pytest

from odl.evaluation import means

LABELS = {
    3: np.array([1, 0, 0, -1]),  # by hand: novel and known documents
    1: np.array([1, 1, 0, 0]),
    2: np.array([0, 0, 0, 0]),
    4: np.array([1, 1, 1, -1]),
    5: np.array([1, 1, 0, 0]),
}


@pytest.mark.parametrize(
    ("timesteps", "rule", "expected"),
    [
        ((), (1, 1), [1, 3, 5]),
        ((), (2, 1), [1, 5]),
        ((), (1, 2), [1, 3, 5]),
        ((), (0, 0), [1, 3, 5]),  # an AUC needs both
        ((), (3, 1), []),
        ((), (1, 3), []),
        ([5, 3, 99], (2, 2), [3, 5]),  # named ones count whatever they hold, in the order of time
        ([2, 4], (0, 0), []),
    ],
)
def test_the_listed_timesteps(timesteps, rule, expected):
    assert means.listed(LABELS, timesteps, min_novel=rule[0], min_known=rule[1]) == expected
    assert means.listed(LABELS, np.array(timesteps), min_novel=rule[0], min_known=rule[1]) == expected


def test_the_average_is_over_the_listed_timesteps_only():
    aucs = {1: 0.5, 2: float("nan"), 3: 0.75, 4: 0.25, 5: 1.0}
    assert means.average_auc(aucs, [1, 3]) == 0.625
    assert means.average_auc(aucs, [1, 2]) == 0.5
    assert np.isnan(means.average_auc(aucs, []))


def test_means_and_spread_leave_out_what_is_undefined():
    spread = means.statistics([1.0, float("nan"), 3.0], "x")
    assert spread == {"x_mean": 2.0, "x_sd": pytest.approx(2**0.5), "x_min": 1.0, "x_max": 3.0}
    assert np.isnan(means.statistics([4.0], "x")["x_sd"]) and means.mean([4.0]) == 4.0
    assert np.isnan(means.mean([])) and np.isnan(means.statistics([float("nan")], "x")["x_max"])
    rows = [{"k": 2, "t": 1}, {"k": 1, "t": 1}, {"k": 2, "t": 2}]
    assert list(means.grouped(rows, ("k",))) == [((2,), [rows[0], rows[2]]), ((1,), [rows[1]])]
