"""Evidence that words are more frequent than before: against SciPy's negative binomial, and backgrounds made twice."""

import math

import numpy as np
import pytest
from scipy import sparse, stats

from odl.alerts import surprise


def counts_of(words, titles, n):
    return surprise.Counts(np.array(words), np.array(titles), n)


def t_of(x, n, frequency, n_documents):
    """By SciPy: of a Poisson number whose rate is gamma distributed, as documents before and periods tell it."""
    a = frequency + 0.5 + (n_documents + 1) * surprise.FLOOR
    mean, shape = n * a / (n_documents + 1), 1 / (1 / a + surprise.SPREAD)
    return -stats.nbinom.logsf(x - 1, shape, shape / (shape + mean)) / math.log(10)


def backgrounds(*pairs):
    return tuple(surprise.Background(np.array(words, dtype=float), n) for words, n in pairs)


def test_t_is_the_tail_of_a_negative_binomial():
    texts = backgrounds(([0, 10, 300], 1000), ([0, 10, 300], 1000))
    none = backgrounds(([0, 0, 0], 1000), ([0, 0, 0], 1000))
    found = surprise.evidence(counts_of([4, 5, 60], [0, 0, 0], 100), texts, none)
    np.testing.assert_allclose(
        found.t, [t_of(4, 100, 0, 1000), t_of(5, 100, 10, 1000), t_of(60, 100, 300, 1000)]
    )


def test_the_smaller_t_of_both_backgrounds_counts():
    texts = backgrounds(([2, 2], 5000), ([30, 0], 200))
    none = backgrounds(([0, 0], 5000), ([0, 0], 200))
    found = surprise.evidence(counts_of([6, 6], [0, 0], 60), texts, none)
    assert np.isclose(found.t[0], t_of(6, 60, 30, 200)) and np.isclose(
        found.t[1], t_of(6, 60, 0, 200)
    )
    assert np.isclose(found.t_all[0], t_of(6, 60, 2, 5000)) and found.t_recent[0] == found.t[0]


@pytest.mark.parametrize(("n", "times"), [(surprise.FEW - 1, 2.0), (surprise.FEW, 1.0)])
def test_one_title_is_enough_and_counts_double_in_small_periods(n, times):
    none = backgrounds(([0, 0], 1000), ([0, 0], 1000))
    found = surprise.evidence(counts_of([1, 1], [1, 0], n), none, none)
    assert np.isclose(found.t[0], times * t_of(1, n, 0, 1000)) and found.t[1] == 0
    assert np.isclose(found.t_all[0], t_of(1, n, 0, 1000))


def test_the_background_before_two_periods_is_that_of_the_period_before(rng):
    past = surprise.WordHistory().moved(None, 20)
    for _ in range(6):
        X, titles = (sparse.csr_array(rng.random((10, 20)) < share) for share in (0.4, 0.1))
        before = past.before()
        past = past.after(surprise.Counts.from_documents(X, titles))
    assert past.n == 60 and past.words.sum() > past.last.sum()
    for one, other in zip(before, past.before_last(), strict=True):
        for earlier, later in zip(one, other, strict=True):
            np.testing.assert_allclose(later.words, earlier.words, atol=1e-4)
            assert np.isclose(later.n, earlier.n)


def test_old_documents_weigh_half_after_thirty_periods():
    past = surprise.WordHistory().moved(None, 1).after(counts_of([8], [0], 10))
    for _ in range(surprise.HALF_LIFE):
        past = past.after(counts_of([0], [0], 0))
    assert np.isclose(past.recent[0], 4, rtol=1e-5) and np.isclose(past.n_recent, 5)


def test_terms_that_leave_are_moved():
    past = (
        surprise.WordHistory()
        .moved(None, 3)
        .after(counts_of([1, 2, 3], [0, 1, 0], 5))
        .moved(np.array([-1, 0, 2]), 4)
    )
    assert past.recent.tolist() == past.words.tolist() == [2, 0, 3, 0] and past.titles.tolist() == [
        1,
        0,
        0,
        0,
    ]
