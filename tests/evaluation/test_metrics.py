"""AUC and its intervals against counting pairs one by one."""

import time

import numpy as np
import pytest

from odl.errors import ParameterError
from odl.evaluation import metrics


def brute_auc(scores, labels):
    novel = [score for score, label in zip(scores, labels, strict=True) if label == 1]
    known = [score for score, label in zip(scores, labels, strict=True) if label == 0]
    if not novel or not known:
        return float("nan")
    wins = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in novel for b in known)
    return wins / (len(novel) * len(known))


def tied_sample(rng, n, share=0.2):
    labels = rng.choice([1, 0, -1], p=[share, 0.9 - share, 0.1], size=n)
    return np.round(rng.random(n) + 0.2 * (labels == 1), 1), labels


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 80])
def test_auc_equals_counting_pairs(n):
    rng = np.random.default_rng(n)
    for _ in range(40):
        scores, labels = tied_sample(rng, n)
        np.testing.assert_allclose(
            metrics.auc(scores, labels), brute_auc(scores, labels), rtol=1e-15
        )


def test_auc_of_known_cases():
    assert metrics.auc([1, 2, 3, 4], [0, 0, 1, 1]) == 1.0
    assert metrics.auc([4, 3, 2, 1], [0, 0, 1, 1]) == 0.0
    assert metrics.auc([1, 1, 1, 1], [0, 1, 0, 1]) == 0.5
    assert metrics.auc([0.5, 1.0, 1.0], [0, 0, 1]) == 0.75
    assert metrics.auc([np.inf, 0.0, -np.inf], [1, 0, 0]) == 1.0
    assert np.isnan(metrics.auc([1.0, 2.0], [1, 1]))
    assert np.isnan(metrics.auc([1.0, 2.0], [0, -1]))
    assert metrics.auc([9.0, 1.0, 2.0], [-1, 0, 1]) == 1.0


def test_auc_does_not_depend_on_the_order_of_documents(rng):
    scores, labels = tied_sample(rng, 500)
    order = rng.permutation(500)
    assert metrics.auc(scores, labels) == metrics.auc(scores[order], labels[order])
    assert metrics.auc(-scores, labels) == pytest.approx(1 - metrics.auc(scores, labels), abs=1e-15)


@pytest.mark.parametrize(
    ("scores", "labels", "said"),
    [
        ([1.0, 2.0], [0], "shape"),
        ([1.0, 2.0], [0, 2], "labels"),
        ([np.nan, 2.0], [0, 1], "a score is nan"),
    ],
)
def test_bad_input_is_refused(scores, labels, said):
    with pytest.raises(ParameterError, match=said):
        metrics.auc(scores, labels)


def test_unlabelled_scores_may_be_missing():
    assert metrics.auc([np.nan, 1.0, 2.0], [-1, 0, 1]) == 1.0


def test_every_bootstrap_replicate_is_an_exact_auc(rng):
    scores, labels = tied_sample(rng, 60)
    draws = metrics.bootstrap(scores, labels, replicates=25, seed=7)
    novel, known = scores[labels == 1], scores[labels == 0]
    again = np.random.default_rng(7)
    ones = again.integers(0, len(novel), size=(25, len(novel)))
    zeros = again.integers(0, len(known), size=(25, len(known)))
    truth = np.repeat([1, 0], [len(novel), len(known)])
    for row in range(25):
        sample = np.concatenate([novel[ones[row]], known[zeros[row]]])
        assert draws[row] == pytest.approx(brute_auc(sample, truth), abs=1e-14)


def test_bootstrap_in_blocks_and_seeded(rng, monkeypatch):
    scores, labels = tied_sample(rng, 100)
    whole = metrics.bootstrap(scores, labels, replicates=50, seed=1)
    assert np.array_equal(whole, metrics.bootstrap(scores, labels, replicates=50, seed=1))
    assert not np.array_equal(whole, metrics.bootstrap(scores, labels, replicates=50, seed=2))
    monkeypatch.setattr(metrics, "RESAMPLED_BLOCK", 700)
    blocked = metrics.bootstrap(scores, labels, replicates=50, seed=1)
    assert len(set(blocked.tolist())) > 10
    assert abs(np.mean(blocked) - np.mean(whole)) < 0.05


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    truth, hits, runs = 0.7602499, 0, 200  # P(N(1, 1) > N(0, 1)) = Phi(1 / sqrt(2))
    labels = np.repeat([1, 0], [40, 120])
    for run in range(runs):
        scores = rng.normal(labels, 1.0)
        low, high = metrics.interval(metrics.bootstrap(scores, labels, replicates=300, seed=run))
        hits += low <= truth <= high
    assert 0.88 <= hits / runs <= 0.99


def test_intervals_are_of_95_percent(rng):
    """Whoever asks for no level gets the 95 % that tables and pages write beside it."""
    draws = rng.random(777)
    assert metrics.interval(draws) == pytest.approx(
        tuple(np.percentile(draws, [2.5, 97.5])), abs=1e-12
    )


def test_undefined_where_a_class_is_missing():
    assert np.isnan(metrics.bootstrap([1.0, 2.0], [0, 0], replicates=5)).all()
    assert np.isnan(metrics.mean_bootstrap([([[1.0, 2.0]], [1, 1])], replicates=3)).all()
    assert all(np.isnan(value) for value in metrics.auc_difference([1.0], [1.0], [1]))
    assert all(np.isnan(value) for value in metrics.pooled_auc([]))


def test_paired_difference_is_narrower_than_unpaired(rng):
    labels = np.repeat([1, 0], [40, 200])
    shared = rng.normal(labels, 1.0)
    better, worse = shared + 0.02 * rng.normal(size=240), shared + 0.02 * rng.normal(size=240)
    value, low, high = metrics.auc_difference(better, worse, labels, seed=3)
    assert value == metrics.auc(better, labels) - metrics.auc(worse, labels)
    assert low <= value <= high
    single_low, single_high = metrics.interval(metrics.bootstrap(better, labels, seed=3))
    assert high - low < 0.5 * (single_high - single_low)
    assert metrics.auc_difference(better, better, labels) == (0.0, 0.0, 0.0)


def test_difference_of_means_is_over_batches(rng):
    labels = np.repeat([1, 0], [20, 100])
    batches = [(rng.normal(labels, 1.0), rng.normal(0.5 * labels, 1.0), labels) for _ in range(4)]
    without = (np.ones(3), np.ones(3), np.zeros(3, dtype=int))
    drawn = metrics.mean_bootstrap(
        [([one, other], labels) for one, other, labels in [*batches, without]]
    )
    low, high = metrics.interval(drawn[0] - drawn[1])
    each = [metrics.auc_difference(*batch) for batch in batches]
    assert low < np.mean([difference for difference, _, _ in each]) < high
    # Four independent batches: half as wide as one.
    assert 0.4 < (high - low) / np.mean([upper - lower for _, lower, upper in each]) < 0.6
    assert metrics.mean_bootstrap([]).size == 0


def test_pooled_counts_pairs_across_batches(rng):
    batches = [tied_sample(rng, 100) for _ in range(3)] + [(np.ones(4), np.zeros(4, dtype=int))]
    value, low, high = metrics.pooled_auc(batches)
    everything = (
        np.concatenate([scores for scores, _ in batches]),
        np.concatenate([labels for _, labels in batches]),
    )
    assert value == pytest.approx(brute_auc(*everything))
    assert low < value < high
    assert high - low < np.diff(metrics.interval(metrics.bootstrap(*batches[0])))[0]


def test_thousand_replicates_of_a_thousand_documents_need_no_sort_each(rng):
    labels = (rng.random(1000) < 0.1).astype(int)
    scores = rng.random(1000) + 0.3 * labels
    start = time.process_time()
    metrics.bootstrap(scores, labels)
    assert time.process_time() - start < 5.0  # a tenth of a second on an idle machine
