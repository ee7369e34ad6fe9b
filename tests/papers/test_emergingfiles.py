"""Clusters beside topics: hand-worked cases, and B-cubed by another, dense computation."""

import math

import numpy as np
import pytest

from odl.papers import emergingfiles

# Two clusters: {a, a, b} and {b, b}; one a is in none.
CLUSTERS = [0, 0, 0, 1, 1, -1]
TOPICS = [("a",), ("a",), ("b",), ("b",), ("b",), ("a",)]


def dense(clusters, topics):
    """B-cubed by the definition: every pair of documents looked at."""
    held = [set(names) for names in topics]
    rows = [row for row in range(len(held)) if held[row]]
    precision, recall = [], []
    for i in rows:
        own = [j for j in rows if clusters[j] == clusters[i] >= 0]
        alike = [j for j in rows if held[i] & held[j]]
        recall.append(len(set(own) & set(alike)) / len(alike))
        if clusters[i] >= 0:
            precision.append(len(set(own) & set(alike)) / len(own))
    return (np.mean(precision) if precision else math.nan), (
        np.mean(recall) if recall else math.nan
    )


def test_purity_by_hand():
    assert emergingfiles.purity(CLUSTERS, TOPICS) == pytest.approx((2 + 2) / 5)
    assert emergingfiles.purity([0, 0, 1], [("a",), ("b",), ("c",)]) == pytest.approx(2 / 3)
    assert math.isnan(emergingfiles.purity([-1, -1], [("a",), ("b",)]))
    assert math.isnan(emergingfiles.purity([0], [()]))


def test_b_cubed_by_hand():
    precision, recall, f1 = emergingfiles.b_cubed(CLUSTERS, TOPICS)
    # In cluster 0 the two of a have 2/3 each, b has 1/3; in cluster 1 both have 1.
    assert precision == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1 + 1) / 5)
    # Of the three of a two are together (2/3 each) and one alone (0); of b one is apart (1/3), two
    # together (2/3).
    assert recall == pytest.approx((2 / 3 + 2 / 3 + 0 + 1 / 3 + 2 / 3 + 2 / 3) / 6)
    assert f1 == pytest.approx(2 / (1 / precision + 1 / recall))


def test_limits_of_b_cubed():
    topics = [("a",), ("a",), ("b",), ("b",), ("b",), ("c",)]
    assert emergingfiles.b_cubed([0, 0, 1, 1, 1, 2], topics) == (1, 1, 1)
    together = emergingfiles.b_cubed([0] * 6, topics)
    assert together[1] == 1 and together[0] == pytest.approx((2 * 2 + 3 * 3 + 1) / 36)
    apart = emergingfiles.b_cubed(list(range(6)), topics)
    assert apart[0] == 1 and apart[1] == pytest.approx((1 + 1 + 1) / 6)
    none = emergingfiles.b_cubed([-1] * 6, topics)
    assert none[1] == 0 and math.isnan(none[0]) and math.isnan(none[2])
    assert all(map(math.isnan, emergingfiles.b_cubed([0, 0], [(), ()])))
    assert all(map(math.isnan, emergingfiles.b_cubed([], [])))


def test_several_topics_of_a_document():
    topics = [("a", "b"), ("b",), ("a",), ("c", "a")]
    clusters = [0, 0, 0, 0]
    assert emergingfiles.purity(clusters, topics) == 3 / 4  # a
    assert emergingfiles.majorities(clusters, topics) == {"a"}
    assert (
        emergingfiles.majorities(clusters, [names[:1] for names in topics]) == set()
    )  # two of four are not more than half
    assert emergingfiles.majorities([0, 0, -1, -1], topics) == {"b"}
    assert emergingfiles.counts(clusters, topics) == [(4, {"a": 3, "b": 2, "c": 1})]
    # One overlaps with three others and itself, but b alone with the first only.
    assert emergingfiles.b_cubed(clusters, topics)[0] == pytest.approx((4 + 2 + 3 + 3) / 16)


@pytest.mark.parametrize("seed", range(20))
def test_b_cubed_by_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    clusters = rng.integers(-1, 5, size=n)
    names = np.array(list("abcdef"))
    topics = [
        tuple(rng.choice(names, size=rng.integers(0, 4), replace=False).tolist()) for _ in range(n)
    ]
    found = emergingfiles.b_cubed(clusters, topics)
    assert found[:2] == pytest.approx(dense(clusters, topics), nan_ok=True)
    # The names of clusters and the order of the documents do not count.
    order = rng.permutation(n)
    renamed = np.where(clusters < 0, -1, 7 - clusters)[order]
    assert emergingfiles.b_cubed(renamed, [topics[i] for i in order]) == pytest.approx(
        found, nan_ok=True
    )


def test_documents_without_topics_do_not_count():
    more = ([*CLUSTERS, 0, 1, -1], [*TOPICS, (), (), ()])
    assert emergingfiles.b_cubed(*more) == emergingfiles.b_cubed(CLUSTERS, TOPICS)
    assert emergingfiles.purity(*more) == emergingfiles.purity(CLUSTERS, TOPICS)
