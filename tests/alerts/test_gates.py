"""Gates: quantiles against SciPy's distributions, quiet where nothing enters, whatever half of the periods had."""

import re
import statistics

import numpy as np
import pytest
from places import ROOT
from scipy import stats

from odl.alerts import gates


def past_of(values, n=100):
    """The past of words of periods with these T."""
    return np.column_stack([values, values, np.full(len(values), n)])


def test_the_least_t_of_a_level_has_that_p(rng):
    past = past_of(stats.gumbel_r(3, 0.5).rvs(30, random_state=rng))
    for p in (0.001, 0.01, 0.3):
        for double in (False, True):
            least = gates.law_of_largest(past, 120, double).quantile(p)
            assert np.isclose(gates.law_of_largest(past, 120, double).p_value(least), p)


def test_the_least_t_is_a_quantile_of_gumbel_for_many_periods(rng):
    law = stats.gumbel_r(3, 0.6)
    past = past_of(law.rvs(20_000, random_state=rng))
    assert np.isclose(gates.law_of_largest(past, 100).quantile(0.01), law.ppf(0.99), rtol=0.03)
    more = gates.law_of_largest(past, 200).quantile(
        0.01
    )  # of twice as many documents the largest is that of two sets
    assert np.isclose(
        more - gates.law_of_largest(past, 100).quantile(0.01), 0.6 * np.log(2), rtol=0.05
    )


def test_what_the_upper_half_of_the_periods_had_does_not_count(rng):
    quiet = stats.gumbel_r(3, 0.5).rvs(39, random_state=rng)
    busy = quiet.copy()
    busy[quiet > np.median(quiet)] += 20
    assert gates.law_of_largest(past_of(busy), 100).quantile(0.01) == gates.law_of_largest(
        past_of(quiet), 100
    ).quantile(0.01)


@pytest.mark.slow
def test_few_periods_make_the_gate_stricter(rng):
    law, speak = stats.gumbel_r(3, gates.DECIMAL_SCALE), {}
    for n in (2, 5, 40):
        draws = law.rvs((2000, n + 1), random_state=rng)
        speak[n] = np.mean(
            [gates.law_of_largest(past_of(row[:-1]), 100).p_value(row[-1]) <= 0.01 for row in draws]
        )
    assert all(share <= 0.018 for share in speak.values()), speak


def test_what_speaks_is_remembered_by_the_t_from_which_it_does():
    past = past_of([3.0, 3.2, 2.8, 3.1])
    _, p, after = gates.judge_words(past, [30.0, 60.0], 100, False, 0.01)
    assert (
        p < 1e-6
        and np.isclose(after[-1, 0], gates.law_of_largest(past, 100).quantile(0.01))
        and len(after) == 5
    )
    for _ in range(60):
        _, _, after = gates.judge_words(after, [3.0, 3.0], 100, False, 0.01)
    assert len(after) == gates.HISTORY


def test_volume_is_judged_by_median_and_deviation():
    past = gates.GateHistory().volume
    for n in [38, 40, 36, 41, 35, 39, 38, 37, 40, 36]:
        past = gates.remember_volume(past, n, -1, False)
    p, usual = gates.judge_volume(256, past, -1)
    assert usual == 38 and p < 0.0005
    assert gates.judge_volume(45, past, -1)[0] > 0.05
    after = gates.remember_volume(past, 256, -1, True)
    assert after[-1, 0] < 60  # a day that speaks hides nothing that comes later


def test_a_quiet_weekday_is_compared_with_its_own_kind():
    past = gates.GateHistory().volume
    for day in range(7 * gates.WEEKDAY_WEEKS):
        past = gates.remember_volume(
            past, 20 + day % 3 if day % 7 > 4 else 100 + day % 5, day % 7, False
        )
    assert gates.usual_volume(past, 6)[0] < 30 < 90 < gates.usual_volume(past, 2)[0]
    assert gates.judge_volume(100, past, 6)[0] < 0.001 < 0.1 < gates.judge_volume(100, past, 2)[0]


def test_a_weekday_of_a_single_document_is_not_unusual_with_a_few_more():
    past = gates.GateHistory().volume
    for day in range(7 * gates.WEEKDAY_WEEKS):
        past = gates.remember_volume(past, 1 if day % 7 > 4 else 10 + day % 3, day % 7, False)
    p, usual = gates.judge_volume(6, past, 5)
    assert usual < 2 and p > 0.002 > gates.judge_volume(15, past, 5)[0]


def volumes(days, quiet=28, past=None):
    """Go through periods of counts of sources; return those that speak in each, and the past."""
    past, told = past or gates.GateHistory(), []
    for counts in days:
        n = sum(counts.values())
        past = gates.track_sources(past, counts)
        chances = gates.judge_sources(past, counts, n, -1)
        speaking = {row for row, (p, _) in chances.items() if p <= 1e-4}
        told.append({past.sources[row] for row in speaking})
        counts_after, told_after = gates.remember_sources(past, counts, -1, speaking)
        past = past._replace(
            volume=gates.remember_volume(past.volume, n, -1, False),
            source_counts=counts_after,
            told_sources=told_after,
        )
    return told, past


def test_the_volume_of_a_source_is_compared_with_its_own(rng):
    usual = [{"a": int(a), "b": int(b)} for a, b in rng.poisson((60, 6), (40, 2))]
    told, past = volumes([*usual, {"a": 60, "b": 50}, {"a": 60, "b": 6}])
    assert told[:40] == [set()] * 40 and told[40:] == [{"b"}, set()]
    assert past.source_counts[past.sources.index("b"), -2] < 25  # remembered by the .95 quantile


def test_sources_that_come_and_go_are_not_tested(rng):
    files = [{f"{day}.jsonl": int(n), "other": 30} for day, n in enumerate(rng.poisson(60, 40))]
    told, past = volumes(files)
    assert told == [set()] * 40 and len(past.sources) <= gates.MAX_SOURCES
    assert past.source_counts.shape == (len(past.sources), 40)


def test_sources_are_bounded(rng):
    _, past = volumes([{f"{day} {n}": 1 for n in range(30)} for day in range(20)])
    assert len(past.sources) == gates.MAX_SOURCES
    assert not gates.track_sources(past, {str(n): 1 for n in range(gates.MAX_SOURCES + 1)}).sources
    assert not gates.track_sources(gates.GateHistory(), {"alone": 5}).sources


def test_a_document_alone_is_above_all_recent_scores(rng):
    recent = rng.gamma(4, 0.1, 500)
    scores = np.array([recent.max() - 0.01, recent.max() + 2.0])
    chance = gates.judge_lone(scores, recent, gates.GateHistory(), 50)
    assert chance[0] == 1 and chance[1] < 0.001
    higher = gates.GateHistory(highest=np.array([recent.max() + 3.0]))
    assert gates.judge_lone(scores, recent, higher, 50).tolist() == [1, 1]


def test_scores_that_rise_together_are_not_alone(rng):
    """As those of log lines do, of which few templates were learned; some documents that stand alone hide none."""
    recent, period = rng.uniform(0.2, 0.4, 250), rng.uniform(0.2, 0.4, 250)
    level = 0.01 * gates.LEVEL_SHARES["lone"]
    assert gates.judge_lone(period + 0.06, recent, gates.GateHistory(), 250).min() > level
    alone = np.append(period, [0.9, 1.0, 1.1])
    assert np.flatnonzero(
        gates.judge_lone(alone, recent, gates.GateHistory(), 253) <= level
    ).tolist() == [
        250,
        251,
        252,
    ]


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3])
def test_the_tail_is_a_generalised_pareto_of_half_the_shape(rng, shape):
    recent = stats.genpareto(shape, scale=0.2).rvs(40_000, random_state=rng)
    edge = np.quantile(recent, 0.98)
    excesses = recent[recent > edge] - edge
    scores = edge + np.array([0.01, 0.05, 0.1])
    half = stats.genpareto(shape / 2 + 1 / len(excesses), scale=excesses.mean() * (1 - shape / 2))
    np.testing.assert_allclose(
        gates.pareto_tail(scores, recent), 0.02 * half.sf(scores - edge), rtol=0.25
    )
    assert gates.pareto_tail(np.array([edge - 0.01]), recent) == 1.0


def test_a_tail_falls_and_ties_at_the_top_are_no_tail(rng):
    recent = rng.gamma(4, 0.1, 300)
    tail = gates.pareto_tail(np.linspace(recent.max(), 3 * recent.max(), 20), recent)
    assert np.all(np.diff(tail) < 0) and 0 < tail[-1] < tail[0] < 0.02
    assert np.array_equal(gates.pareto_tail(np.array([1.0, 1.1]), np.ones(400)), [1.0, 1 / 401])


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
    assert np.isclose(
        tail, 0.1 * stats.genpareto(0.5 + 1 / 30, scale=excess.mean() * 0.5).sf(1e31), rtol=0.2
    )
    equal = gates.pareto_tail(np.array([0.5, 1.5]), np.repeat([0.0, 1.0], [270, 30]))
    assert 0 < equal[0] < 0.1 and equal[1] == 0


def test_the_guide_has_the_shares_of_the_level():
    text = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    table = re.search(r"\n\| gate \| compares \| share.*?\n\n", text, re.S)[0]
    rows = [line.split("|")[1:-1] for line in table.strip().splitlines()[2:]]
    assert {row[0].strip(): float(row[2]) for row in rows} == gates.LEVEL_SHARES
