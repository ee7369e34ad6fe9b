"""The order by verdicts: the dual form against ridge regression on explicit traits, and what no verdict can do."""

import math
from dataclasses import replace

import newpages
import numpy as np
import pytest
from hypothesis import given, strategies

from odl.alerts import ranking, views
from odl.alerts.ranking import RidgeOrder, Traits, reorder, sources_agree

WORDS = ("sync", "account", "login", "cookie", "video", "sound")
SOURCES = ("a.csv", "b.csv", "c.csv")


def random_traits(rng, n):
    return [
        Traits(
            {
                str(word): float(rng.uniform(0.1, 1))
                for word in rng.choice(WORDS, rng.integers(1, 5), replace=False)
            },
            str(rng.choice(SOURCES)),
        )
        for _ in range(n)
    ]


def columns(traits, vocabulary, with_source):
    """Return the traits as a vector."""
    weights = np.array([traits.words.get(word, 0.0) for word in vocabulary])
    words = weights / (np.linalg.norm(weights) or 1.0)
    sources = [with_source * (traits.source == name) for name in SOURCES]
    return np.array([*words, *sources])


def test_a_word_counts_by_the_squared_share_of_the_documents_that_have_it():
    (period, *_) = [one for one in newpages.watch(n_periods=26).periods if one.headlines]
    headline, documents = period.headlines[0], {}
    for row, title, source in ((0, "An Oil spill", "b"), (1, "oil price", "a"), (2, "", "a")):
        documents[row] = replace(
            next(iter(period.documents_of.values())),
            title=title, source=source, opening=("oil",) * (row < 2), reasons=(),
        )  # fmt: skip
    traits = ranking.traits_of(replace(headline, examples=(0, 1, 2, 9)), documents)
    assert traits.words == pytest.approx({"oil": 4 / 9, "spill": 1 / 9, "price": 1 / 9})
    assert traits.source == "a"


@pytest.mark.parametrize("seed", range(5))
def test_moves_are_those_of_ridge_regression_on_columns(seed):
    rng = np.random.default_rng(seed)
    judged, new = random_traits(rng, 15), random_traits(rng, 30)
    values = rng.choice([-1.0, 0.0, 1.0], 15)
    if seed % 2:  # one source is wanted
        values = np.array([1.0 if one.source == "a.csv" else -1.0 for one in judged])
    with_source = sources_agree([one.source for one in judged], values)
    assert with_source or not seed % 2
    vocabulary = sorted(set().union(*(one.words for one in judged)))
    X, Z = (
        np.array([columns(one, vocabulary, with_source) for one in each]) for each in (judged, new)
    )
    y = values - values.sum() / (len(values) + ranking.PRIOR)
    rows = np.vstack([X, math.sqrt(ranking.PENALTY) * np.eye(X.shape[1])])
    b = np.linalg.lstsq(rows, np.concatenate([y, np.zeros(X.shape[1])]))[0]
    places = ranking.MAX_UP * ranking.GAIN * ((Z - X.mean(axis=0)) @ b)
    expected = np.clip(places, -ranking.MAX_DOWN, ranking.MAX_UP)
    model = RidgeOrder(judged, values)
    moves = [model.move(one) for one in new]
    np.testing.assert_allclose([move.places if move else 0 for move in moves], expected, atol=0.51)
    for move in filter(None, moves):
        assert move.parts and all(part * move.places > 0 for _, part in move.parts)


def test_the_order_of_the_verdicts_does_not_matter(rng):
    judged, new = random_traits(rng, 12), random_traits(rng, 20)
    values = rng.choice([-1.0, 1.0], 12)
    order = rng.permutation(12)
    one = RidgeOrder(judged, values)
    other = RidgeOrder([judged[at] for at in order], values[order])
    for traits in new:
        first, second = one.move(traits), other.move(traits)
        assert (first and first.places) == (second and second.places)


def test_a_wanted_source_moves_up_and_an_unwanted_one_down():
    judged = [Traits({f"w{at}": 1.0}, SOURCES[at % 2]) for at in range(20)]
    model = RidgeOrder(judged, [1.0, -1.0] * 10)
    up, down = (model.move(Traits({"x": 1.0}, name)) for name in SOURCES[:2])
    assert up.places == ranking.MAX_UP and down.places == -ranking.MAX_DOWN
    assert {at % 2 for at, _ in up.parts} == {0} and 1 <= len(up.parts) <= ranking.MAX_NAMED


def test_verdicts_that_all_say_no_move_others_up():
    judged = [Traits({"spam": 1.0}, "a.csv")] * 5
    model = RidgeOrder(judged, [-1.0] * 5)
    other, same = Traits({"news": 1.0}, "a.csv"), judged[0]
    assert model.move(other).places > 0 and model.move(same) is None


entries = strategies.lists(
    strategies.tuples(strategies.integers(-5, 50), strategies.booleans()), max_size=60
)


@given(entries)
def test_reorder_is_a_permutation_in_which_protected_entries_come_no_later(entries):
    places, protected = [place for place, _ in entries], [safe for _, safe in entries]
    order = reorder(places, protected)
    assert sorted(order) == [*range(len(entries))]
    for new, old in enumerate(order):
        assert new <= old or not protected[old]
    if not any(places):
        assert order == sorted(order)


@given(strategies.lists(strategies.integers(-5, 50), min_size=12, max_size=12), strategies.data())
def test_no_verdict_hides_a_headline_or_lets_a_rare_or_growing_one_come_later(places, data):
    watch = newpages.watch(n_periods=26)
    periods = [period for period in watch.periods if period.headlines]
    kinds = [{"p": 9e-7}, {"state": "growing"}, {"gate": "certain"}, {"p": 1e-4}]
    shown = []
    for period, move in zip(periods, places, strict=True):
        kind = data.draw(strategies.sampled_from(kinds))
        headline = replace(period.headlines[0], **kind)
        moves = {headline: ranking.Move(move, ())} if move else {}
        shown.append(replace(period, headlines=(headline,), moves=moves))
    plain = [row.headline for row in views.rows_of([replace(one, moves={}) for one in shown])]
    moved = [row.headline for row in views.rows_of(shown)]
    assert sorted(map(hash, moved)) == sorted(map(hash, plain)) and len(moved) == 12
    for at, headline in enumerate(plain):
        if headline.p < 1e-6 or headline.state == "growing" or headline.gate == "certain":
            assert moved.index(headline) <= at
