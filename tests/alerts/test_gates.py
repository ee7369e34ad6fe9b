"""Gates of alerts: against SciPy's distributions, silent where nothing enters, open where something does."""

import math
import statistics

import numpy as np
import pytest
from scipy import sparse, stats

from odl.alerts import gates

WORDS, LENGTH, SIZE = 1500, 12, 120
NONE = np.zeros(0, dtype=np.int64)


def items_of(rng, n, weights):
    """Items of words that are drawn alike."""
    rows = [np.unique(rng.choice(len(weights), LENGTH, p=weights)) for _ in range(n)]
    starts = np.cumsum([0, *map(len, rows)])
    words = np.concatenate(rows)
    return sparse.csr_array((np.ones(len(words)), words, starts), shape=(n, len(weights)))


def periods_of(seed, n_periods, enters=None, members=6, recent=500):
    """Periods of a made stream, with the scores before each; in period `enters` some items share three new words."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, WORDS - 2)
    weights = np.append(weights / weights.sum(), np.zeros(3))
    before = items_of(rng, 2000, weights)
    frequencies, n_documents, scores = np.bincount(before.indices, minlength=WORDS), 2000, rng.gamma(4, 0.1, recent)
    for t in range(n_periods):
        X, score, born = items_of(rng, SIZE, weights).tolil(), rng.gamma(4, 0.1, SIZE), np.zeros(SIZE, dtype=np.int64)
        if t == enters:
            X[:members, WORDS - 3 :] = 1.0
            score[:members] = np.quantile(scores, rng.uniform(0.85, 0.99, members))
        X = sparse.csr_array(X)
        pool = np.flatnonzero(score >= np.quantile(scores, 0.8))
        yield gates.Period(X, frequencies, n_documents, score, pool[np.argsort(-score[pool])], born), scores
        frequencies = frequencies + np.bincount(X.indices, minlength=WORDS)
        n_documents, scores = n_documents + SIZE, np.append(scores, score)[-recent:]


def judged(past, period, scores, warm_up=False):
    """What opens in a period, words first, as `odl.alerts.decision` has it."""
    words, past = gates.judge_words(past, period, warm_up)
    more, past = gates.judge(past, period, scores, warm_up)
    return more._replace(words=words.words, terms=words.terms), past


def opened(periods, past=None):
    """What opens in each period."""
    past, told = past or gates.Past(), []
    for period, scores in periods:
        opens, past = judged(past, period, scores)
        told.append(opens)
    return told, past


def excess_of(x, n, frequency, n_documents):
    """By SciPy: of a Poisson number whose rate is gamma distributed, as documents before and periods tell it."""
    a = frequency + 0.5 + (n_documents + 1) / 2000
    mean, shape = n * a / (n_documents + 1), 1 / (1 / a + gates.SPREAD)
    return -stats.nbinom.logsf(x - 1, shape, shape / (shape + mean)) / math.log(10)


def test_excess_is_the_tail_of_a_negative_binomial(rng):
    X = sparse.random_array((30, 40), density=0.3, rng=rng, format="csr")
    frequencies = rng.integers(0, 60, 40)
    x = np.bincount(X.indices, minlength=40)
    expected = np.where(x >= 2, excess_of(x, 30, frequencies, 500), 0.0)
    np.testing.assert_allclose(gates.excess(X, frequencies, 500), expected, rtol=1e-9)


def test_words_of_one_item_say_nothing():
    X = sparse.csr_array(np.eye(5))
    assert not gates.excess(X, np.zeros(5, dtype=int), 1000).any()


def test_the_excess_of_words_of_two_items_of_three_and_of_one():
    """What one item has is no event."""
    X = sparse.csr_array(np.array([[1, 1, 1], [1, 1, 0], [0, 1, 0]]))
    expected = [excess_of(2, 3, 0, 100), excess_of(3, 3, 4, 100), 0.0]
    np.testing.assert_allclose(gates.excess(X, np.array([0, 4, 0]), 100), expected, rtol=1e-9)


@pytest.mark.parametrize("n_documents", [100, 10_000])
def test_with_few_documents_before_common_words_are_no_event(rng, monkeypatch, n_documents):
    """Of 20,000 words that half of all documents have, 1 % at most have an excess of 2, that is, a tail of 1 %."""
    monkeypatch.setattr(gates, "SPREAD", 0.0)
    X = sparse.csr_array(np.arange(100)[:, None] < rng.binomial(100, 0.5, 20_000))
    before = rng.binomial(n_documents, 0.5, 20_000)
    assert 0 < np.mean(gates.excess(X, before, n_documents) >= 2) <= 0.01
    known = stats.poisson.sf(np.bincount(X.indices) - 1, before * 100 / n_documents)
    assert (np.mean(known <= 0.01) > 0.01) == (n_documents == 100)  # as if the rate were known


def test_common_words_whose_rates_vary_between_periods_are_no_event(rng, monkeypatch):
    """Subjects come and go: of 20,000 words with rates that vary by `SPREAD`, 1 % have a tail of 1 %."""
    rates = 0.1 * rng.gamma(1 / gates.SPREAD, gates.SPREAD, 20_000)
    X = sparse.csr_array(np.arange(1000)[:, None] < rng.poisson(1000 * rates))
    before = np.full(20_000, 1000)
    assert 0.005 < np.mean(gates.excess(X, before, 10_000) >= 2) <= 0.0125
    monkeypatch.setattr(gates, "SPREAD", 0.0)
    assert np.mean(gates.excess(X, before, 10_000) >= 2) > 0.05  # as if the rate were the same


@pytest.mark.parametrize("known", [1, 5])
def test_the_least_excess_is_equation_1(rng, known):
    """Written out by the docstring, for few periods, where the scale of tails counts."""
    values, sizes = rng.gumbel(3.0, 0.8, size=7), rng.integers(50, 150, size=7)
    beta = math.sqrt((known / math.log(10) ** 2 + 6 * statistics.variance(values) * 6 / math.pi**2) / (6 + known))
    z = -math.log(-math.log(1 - 0.01))
    quantile = (z - 0.5772156649) * (1 + 3.57 / (6 + known)) + math.log(100 / statistics.mean(sizes.tolist()))
    expected = statistics.mean(values) + beta * quantile
    assert abs(gates.least_excess(np.column_stack([values, sizes]), 100, known=known) - expected) < 1e-9


@pytest.mark.parametrize("n", [40, 100, 400])
@pytest.mark.parametrize("level", [0.01, 0.1])
def test_the_least_excess_of_many_periods_is_a_quantile_of_gumbel(rng, n, level):
    """Of n items the maximum is that of n / n' sets of the usual size."""
    past = np.column_stack([rng.gumbel(2, 0.4, 40_000), rng.integers(80, 120, 40_000)])
    t = gates.least_excess(past, n, level=level)
    beta = past[:, 0].std(ddof=1) * np.sqrt(6) / np.pi
    usual = stats.gumbel_r(past[:, 0].mean() - 0.5772156649 * beta, beta)
    assert np.isclose(1 - usual.cdf(t) ** (n / past[:, 1].mean()), level, rtol=1e-2)


def test_before_there_are_periods_a_limit_holds(rng):
    past = np.column_stack([rng.gumbel(2, 0.4, 5), np.full(5, 100.0)])
    assert gates.least_excess(past[:1], 100) == gates.EARLY != gates.least_excess(past[:2], 100)


@pytest.mark.parametrize("behind", [2, 5, 10, 40])
def test_one_of_a_hundred_quiet_periods_has_such_words(rng, behind):
    """By the limit that the periods behind it give it, few or many."""
    values, sizes = rng.gumbel(3, 1 / math.log(10), (8000, behind + 1)), np.full(behind, 100.0)
    above = [row[-1] >= gates.least_excess(np.column_stack([row[:-1], sizes]), 100) for row in values]
    assert 0.001 < np.mean(above) < 0.014


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3])
def test_the_tail_is_a_generalised_pareto_of_half_the_shape(rng, shape):
    recent = stats.genpareto(shape, scale=0.2).rvs(40_000, random_state=rng)
    edge = np.quantile(recent, 0.98)
    excesses = recent[recent > edge] - edge
    scores = edge + np.array([0.01, 0.05, 0.1])
    half = stats.genpareto(shape / 2 + 1 / len(excesses), scale=excesses.mean() * (1 - shape / 2))
    np.testing.assert_allclose(gates.pareto_tail(scores, recent), 0.02 * half.sf(scores - edge), rtol=0.25)
    assert gates.pareto_tail(np.array([edge - 0.01]), recent) == 1.0


def test_a_tail_falls_and_ties_at_the_top_are_no_tail(rng):
    recent = rng.gamma(4, 0.1, 300)
    tail = gates.pareto_tail(np.linspace(recent.max(), 3 * recent.max(), 20), recent)
    assert np.all(np.diff(tail) < 0) and 0 < tail[-1] < tail[0] < 0.02
    assert np.array_equal(gates.pareto_tail(np.array([1.0, 1.1]), np.ones(400)), [1.0, 1 / 401])


def test_where_nothing_enters_19_of_20_periods_are_silent():
    told = [opens for seed in range(4) for opens in opened(periods_of(seed, 60))[0]]
    assert sum(len(opens.rows) > 0 for opens in told) <= len(told) / 20


@pytest.mark.parametrize("seed", range(5))
def test_what_enters_speaks_in_its_period(seed):
    (*_, opens), past = opened(periods_of(seed, 31, enters=30))
    assert set(range(6)) <= set(opens.words.tolist()) and len(opens.rows) < 12
    assert set(opens.terms[:3].tolist()) == set(range(WORDS - 3, WORDS))  # the rarest first
    assert len(past.items) == 31
    assert past.items[-1, 0] == gates.least_excess(past.items[:-1], SIZE)  # hides nothing that enters next


def test_the_last_periods_count_and_no_more_are_carried():
    """A stream whose words become more even is not judged by what it was."""
    loud = np.column_stack([np.linspace(30, 60, 40), np.full(40, SIZE)])
    past = gates.Past(loud, loud, np.full(40, 50))
    told, past = opened(periods_of(1, 46, enters=45), past)
    assert len(told[-1].words) >= 6 and not len(told[0].rows)
    assert len(past.pool) == len(past.items) == len(past.births) == 40 and past.items[:, 0].max() < 30


def test_a_new_topic_opens_where_none_was_as_large():
    period, scores = next(periods_of(2, 1))
    rows = period.pool[:5]
    born = period.born.copy()
    born[rows] = 7
    many = np.column_stack([np.full(40, 90.0), np.full(40, SIZE)])
    for births, opens in (([0, 3] * 20, True), ([0, 4] * 20, False), ([0, 3, 0, 3, 0], True), ([0] * 4, False)):
        past = gates.Past(many, many, np.array(births))
        told, after = judged(past, period._replace(born=born), scores)
        assert set(told.topics.tolist()) == (set(rows.tolist()) if opens else set())
        assert after.births[-1] == 5
    assert judged(past, period, scores)[1].births[-1] == 0


@pytest.mark.parametrize("size", [3, 4])
def test_a_new_topic_of_three_opens_nothing(size):
    period, scores = next(periods_of(2, 1))
    born = period.born.copy()
    born[period.pool[:size]] = 7
    told, _ = judged(gates.Past(births=np.zeros(40, dtype=int)), period._replace(born=born), scores)
    assert len(told.topics) == (4 if size == 4 else 0)


def alike(rng, scores, pool):
    """A period whose most novel items are of one template, as log lines are."""
    X = items_of(rng, SIZE, np.full(WORDS, 1 / WORDS)).tolil()
    X[pool, :6] = rng.random((len(pool), 6)) < 0.9
    frequencies = np.full(WORDS, 20)
    frequencies[:6] = 2000 * len(pool) // SIZE  # as often as ever
    born = np.zeros(SIZE, dtype=np.int64)
    score = np.full(SIZE, np.median(scores))
    return gates.Period(sparse.csr_array(X), frequencies, 2000, score, pool, born)


def test_novel_items_that_are_always_alike_say_nothing(rng):
    """Before five pools are known none opens the gate, and these are remembered as they are."""
    scores = rng.gamma(4, 0.1, 500)
    periods = [(alike(rng, scores, rng.choice(SIZE, 20 + t % 3, replace=False)), scores) for t in range(30)]
    told, past = opened(periods)
    assert past.pool[:5, 0].min() > gates.EARLY
    assert sum(len(opens.rows) > 0 for opens in told) <= 1


def test_two_novel_items_are_no_set(rng):
    """After pools of one or two items, in which no word can be in several, a pair that shares words is no event."""
    scores = rng.gamma(4, 0.1, 500)
    told, past = opened((alike(rng, scores, np.arange(1 + t % 2)), scores) for t in range(12))
    assert not len(past.pool) and not any(len(opens.rows) for opens in told)
    _, past = opened((alike(rng, scores, np.arange(3)), scores) for t in range(2))
    assert past.pool[:, 1].tolist() == [3, 3]


@pytest.mark.parametrize(("n", "most"), [(300, 0.045), (5000, 0.018)])
def test_an_item_alone_is_as_rare_as_its_level_says(n, most, rng):
    X, hits = sparse.csr_array((100, 3)), 0
    for _ in range(600):
        recent, score = rng.gamma(4, 0.1, n), rng.gamma(4, 0.1, 100)
        period = gates.Period(X, np.zeros(3), 1000, score, np.argsort(-score)[:20], np.zeros(100, dtype=np.int64))
        hits += len(judged(gates.Past(), period, recent)[0].lone) > 0
    assert 0.005 < hits / 600 <= most
    score[5] = 6.0
    period = period._replace(score=score, pool=np.array([5]))
    told = judged(gates.Past(), period, recent)[0]
    assert told.lone.tolist() == [5]


@pytest.mark.parametrize(("highest", "opens"), [(4.9, True), (5.0, False), (5.1, False)])
def test_an_item_as_odd_as_one_of_the_last_periods_is_not_alone(rng, highest, opens):
    """One in some thousands is odd in many streams, so that recent scores may hold none."""
    period = gates.Period(
        sparse.csr_array((100, 3)), np.zeros(3), 1000, rng.gamma(4, 0.1, 100), np.array([5]), np.zeros(100, dtype=int)
    )
    period.score[5] = 5.0
    past = gates.Past(highest=np.append(np.ones(30), [highest, 1.0]))
    told, after = judged(past, period, rng.gamma(4, 0.1, 2000))
    assert told.lone.tolist() == [5] * opens and after.highest.tolist() == [*past.highest, 5.0]


def test_a_warm_up_is_silent_and_remembers_its_words():
    period, scores = next(periods_of(3, 1, enters=0))
    opens, past = judged(gates.Past(), period._replace(pool=NONE), scores[:50], warm_up=True)
    assert not len(opens.rows) and len(past.items) == 1 and not len(past.pool) and not len(past.births)
    assert past.highest.tolist() == [period.score.max()]


def opening(*terms):
    return gates.Opened(terms=np.array(terms), beside=np.array(terms))


def test_words_of_the_same_items_bring_one_group_together():
    """A word that most items of another one have is of its group; one beside it is a group of its own."""
    X = np.zeros((9, 4))
    X[:5, 0], X[2:6, 1], X[6:, 2] = 1, 1, 1
    X[5, 2] = 1
    none = np.zeros(9, dtype=np.int64)
    period = gates.Period(sparse.csr_array(X), np.array([0, 5, 10, 10]), 1000, none, NONE, none)
    groups = gates.together(period, opening(0, 1, 2))
    assert [group.tolist() for group in groups] == [[0, 1, 2, 3, 4, 5], [5, 6, 7, 8]]
    broad = period._replace(frequencies=np.array([0, 5, 11, 11]))
    assert [len(group) for group in gates.together(broad, opening(0, 1, 2))] == [6]
    assert gates.together(period, gates.Opened()) == []
    half = X.copy()
    half[[0, 1], 3] = half[[7, 8], 3] = 1  # two of four are in the first group
    groups = gates.together(period._replace(X=sparse.csr_array(half)), opening(0, 3))
    assert [group.tolist() for group in groups] == [[0, 1, 2, 3, 4, 7, 8]]
    half[6, 3] = 1
    groups = gates.together(period._replace(X=sparse.csr_array(half)), opening(0, 3))
    assert [group.tolist() for group in groups] == [[0, 1, 2, 3, 4], [0, 1, 6, 7, 8]]


def test_broad_words_bring_items_together_that_have_two_of_them():
    """Where at most 1 % of the documents would have both, if words came independently."""
    X = np.zeros((100, 3))
    X[:5, 0], X[1:6, 1], X[[1, 7], 2] = 1, 1, 1
    none = np.zeros(100, dtype=np.int64)
    period = gates.Period(sparse.csr_array(X), np.array([49, 200, 210]), 1000, none, NONE, none)
    both = gates.together(period, opening(0, 1))
    assert [group.tolist() for group in both] == [[1, 2, 3, 4]]
    every = gates.together(period, opening(0, 1, 2))  # .049 times .21 are more than .01
    assert [group.tolist() for group in every] == [[1, 2, 3, 4]]
    assert gates.together(period._replace(frequencies=np.array([51, 200, 0])), opening(0, 1)) == []
    one = gates.Opened(terms=np.array([0]), beside=np.array([0, 1]))  # the second need not open the gate
    assert [group.tolist() for group in gates.together(period, one)] == [[1, 2, 3, 4]]
    assert gates.together(period, one._replace(beside=one.terms)) == []


def test_items_of_a_word_are_those_with_a_second_one_that_goes_with_it_where_half_have_one():
    """X-rays are not of the gamma ray bursters: SciPy's Poisson law tells which words go together."""
    X = np.zeros((200, 4))
    X[:12, 0], X[:6, 1], X[:12, 2] = 1, 1, 1  # ray, bursters, two common words
    X[12:140, 2], X[4:60, 3] = 1, 1
    x = X[:12].sum(axis=0)
    chance = stats.poisson.sf(x - 1, 12 * X.mean(axis=0)) * 4
    assert (chance <= gates.WORDS).tolist() == [True, True, False, False]
    none = np.zeros(200, dtype=np.int64)
    period = gates.Period(sparse.csr_array(X), np.zeros(4, dtype=np.int64), 1000, none, NONE, none)
    opened = gates.Opened(terms=np.array([0]), beside=np.arange(4))
    assert [group.tolist() for group in gates.together(period, opened)] == [list(range(6))]
    fewer = X.copy()
    fewer[5, 1] = 0  # five of twelve: no half
    groups = gates.together(period._replace(X=sparse.csr_array(fewer)), opened)
    assert [group.tolist() for group in groups] == [list(range(12))]
    alone = np.zeros((200, 4))
    alone[:4, 0], alone[:2, 1] = 1, 1  # two items tell nothing, though no chance brings them
    groups = gates.together(period._replace(X=sparse.csr_array(alone)), opened)
    assert [group.tolist() for group in groups] == [list(range(4))]


def test_what_stands_beside_a_word_that_opens_the_gate_is_above_the_usual_excess():
    """Pairs of letters that a name shares are each rather common: one of them opens the gate, the others back it."""
    X = np.zeros((100, 3))
    X[:20, 0], X[:19, 1], X[:6, 2] = 1, 1, 1
    none = np.zeros(100, dtype=np.int64)
    period = gates.Period(sparse.csr_array(X), np.array([30, 30, 60]), 1000, none, NONE, none)
    t = gates.excess(period.X, period.frequencies, 1000)
    usual = t[0] - 0.01 - gates.least_excess(np.tile([0.0, 100.0], (30, 1)), 100)
    past = gates.Past(items=np.tile([usual, 100.0], (30, 1)))
    opens, _ = gates.judge_words(past, period)
    assert opens.terms.tolist() == [0] and opens.beside.tolist() == [0, 1]
    quiet, _ = gates.judge_words(past._replace(items=past.items + np.array([0.1, 0.0])), period)
    assert not len(quiet.terms) and not len(quiet.beside)


@pytest.mark.parametrize("n", [40, 300, 3000])
def test_the_tail_is_equations_2_and_3(rng, n):
    """Written out by the docstring, with SciPy's distribution: k is half of few scores, 30, and 2 % of many."""
    recent = rng.gamma(2, 0.3, n)
    k = {40: 20, 300: 30, 3000: 60}[n]
    ordered = sorted(recent.tolist())
    u, y = ordered[-k - 1], [value - ordered[-k - 1] for value in ordered[-k:]]
    a0 = statistics.mean(y)
    a1 = statistics.mean((1 - (i - 0.35) / k) * value for i, value in enumerate(y, start=1))
    xi = (2 - a0 / (a0 - 2 * a1)) / 2
    law = stats.genpareto(xi + 1 / k, scale=a0 * (1 - xi))
    scores = np.array([u - 0.01, u + 1e-6, u + 0.2, ordered[-1] + 1])
    expected = [1.0, *(k / n * law.sf(scores[1:] - u))]
    np.testing.assert_allclose(gates.pareto_tail(scores, recent), expected, rtol=1e-9)


def test_a_heavy_tail_has_half_the_shape_of_one_at_most(rng):
    """Of excesses whose moments tell of no mean it is nearly .5; equal ones have an end."""
    excess = 10.0 ** np.arange(30)
    tail = gates.pareto_tail(np.array([1e31]), np.append(np.zeros(270), excess))[0]
    assert np.isclose(tail, 0.1 * stats.genpareto(0.5 + 1 / 30, scale=excess.mean() * 0.5).sf(1e31), rtol=0.2)
    equal = gates.pareto_tail(np.array([0.5, 1.5]), np.repeat([0.0, 1.0], [270, 30]))
    assert 0 < equal[0] < 0.1 and equal[1] == 0


def test_limits_where_periods_are_equal_or_without_items():
    beta = math.sqrt(5 / 44) / math.log(10)
    z = (-math.log(-math.log(1 - 0.01)) - 0.5772156649) * (1 + 3.57 / 44)
    same = np.column_stack([np.full(40, 2.0), np.full(40, 100.0)])
    assert math.isclose(gates.least_excess(same, 100), 2 + beta * z)
    same[:, 1] = 0.0
    assert math.isclose(gates.least_excess(same, 3), 2 + beta * (z + math.log(3)))
    most = gates.excess(sparse.csr_array(np.ones((1000, 1))), np.zeros(1, dtype=int), 10**7)
    assert most.tolist() == [300.0]
