"""Recency: the counters and factors against their equations, and what `levels` and `adaptive` make of them."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from odl import learners, novelty
from odl.evaluation import metrics
from odl.files import checkpoints
from odl.learners import clusters, likeness
from odl.learners.base import State

SMALL = {"levels": {"memory": 3000, "terms": 20}, "adaptive": {"terms": 20}}


def stories(rng, n, life=60, active=4, m=300):
    """Documents of a few stories at a time, which draw their words from what all stories share; label 1: first day."""
    counts, names, live, count = np.zeros((n, m)), [], [], 0
    for row in range(n):
        while len(live) < active or rng.random() < active / life:
            live = [*live[-active + 1 :], (count, rng.choice(120, 10, replace=False))]
            count += 1
        name, words = live[rng.integers(active)]
        np.add.at(counts[row], rng.choice(words, 6), 1.0)
        np.add.at(counts[row], rng.integers(120, m, 8), 1.0)
        names.append(name)
    return sparse.csr_array(counts / np.linalg.norm(counts, axis=1, keepdims=True)), np.array(names)


def run(learner, P, size):
    """Return states before each batch, and the one after the last."""
    states = [learner.start(P[:size], 150, None)]
    for first in range(size, P.shape[0], size):
        states.append(learner.learn(states[-1], P[first : first + size], None))
    return states


def ratio_of(state):
    matches, expected = (state.arrays[name] for name in ("matches", "expected"))
    return (matches + 100) / (expected + 100)


def bin_of(age):
    return sum(age >= edge for edge in clusters.AGE_EDGES)


def test_edges_rise_in_five_steps_a_decade():
    assert clusters.AGE_EDGES[:12].tolist() == [
        50,
        100,
        200,
        350,
        500,
        700,
        1000,
        2000,
        3500,
        5000,
        7000,
        10000,
    ]
    assert (np.diff(clusters.AGE_EDGES) > 0).all() and clusters.BINS == len(
        clusters.AGE_EDGES
    ) + 1 == 22


def dense_similarity(P, sums, documents):
    """Return c_j / rho_j^(1/2) of documents and atoms that are these sums of so many documents."""
    sizes = np.linalg.norm(sums, axis=0)
    flat = (sums / sizes) ** 0.6
    return P.toarray() @ (flat / np.linalg.norm(flat, axis=0)) / np.sqrt(sizes / documents)


def sums_of(state):
    """Return the sums of all atoms, and the documents of each."""
    return state.dictionary.toarray() * state.arrays["size"], state.arrays["members"]


def sums_of_groups(state):
    """Return the sums of all groups, the documents of each, and the age of its youngest atom."""
    (S, n), group = sums_of(state), state.arrays["group"]
    parts = [np.flatnonzero(group == one) for one in np.unique(group)]
    age = state.arrays["seen"] - 1 - state.arrays["used"]
    documents, youngest = (
        np.array([one(of[part]) for part in parts]) for one, of in ((np.sum, n), (np.min, age))
    )
    return np.stack([S[:, part].sum(axis=1) for part in parts], axis=1), documents, youngest


@pytest.mark.parametrize("name", SMALL)
def test_counters_are_those_of_a_slow_twin(name, rng):
    learner, P = learners.make(name, **SMALL[name], recency=0.5), stories(rng, 700)[0]
    states, matches, expected = (
        run(learner, P, 100),
        np.zeros(clusters.BINS),
        np.zeros(clusters.BINS),
    )
    for number, state in enumerate(states[:-1], start=1):
        age, members = 100 * number - 1 - state.arrays["used"], state.arrays["members"]
        similarity, counted = (
            dense_similarity(P[100 * number : 100 * number + 100], *sums_of(state)),
            0,
        )
        for row in similarity:
            near = [
                atom for atom in np.argsort(-row, kind="stable")[: learner.nearest] if row[atom] > 0
            ]
            for atom in near:
                matches[bin_of(age[atom])] += len(near) * members[atom] / members[near].sum()
            counted += len(near)
        for atom in range(len(age)):
            expected[bin_of(age[atom])] += counted * members[atom] / members.sum()
    # Similarities that are equal but for rounding may change places.
    assert (
        np.abs(states[-1].arrays["matches"] - matches).sum() <= 4 and np.count_nonzero(matches) > 3
    )
    assert np.allclose(states[-1].arrays["expected"], expected)


def test_score_is_its_equation(rng):
    """Densely: v_j = c_j f_j / rho_j^cohesion, and a group has the factor of its youngest atom."""
    learner, (P, _) = learners.make("levels", **SMALL["levels"], recency=0.5), stories(rng, 1000)
    state, P = run(learner, P[:900], 300)[-1], P[900:]
    f = (ratio_of(state) / ratio_of(state).max()) ** 0.5
    f /= np.average(f, weights=state.arrays["matches"]) ** 0.5
    sums, documents, youngest = sums_of_groups(state)
    fine = dense_similarity(P, *sums_of(state)) * f[[*map(bin_of, 899 - state.arrays["used"])]]
    coarse = dense_similarity(P, sums, documents) * f[[*map(bin_of, youngest)]]
    fine = -np.sort(-fine, axis=1)[:, :3] @ np.array([6, 3, 2]) / 11
    scored = learner.score(state, P)
    assert np.allclose(
        scored.residual, np.maximum(1 - 0.5 * fine - 0.5 * coarse.max(axis=1), 0), atol=1e-12
    )
    plain = replace(learner, recency=0.0).score(state, P).residual
    assert np.ptp(f) > 0.1 and (np.abs(scored.residual - plain) > 0.005).mean() > 0.3


def test_learning_takes_up_what_scoring_found(rng, monkeypatch):
    learner, (P, _) = learners.make("levels", **SMALL["levels"], recency=0.5), stories(rng, 400)
    state = run(learner, P[:300], 100)[-1]
    saved, batch, calls = pickle.loads(pickle.dumps(state)), P[300:], []
    look = likeness.nearest_twice
    monkeypatch.setattr(
        likeness, "nearest_twice", lambda *given: calls.append(None) or look(*given)
    )
    learner.score(state, batch)
    after, again = learner.learn(state, batch, None), learner.learn(saved, batch, None)
    assert len(calls) == 3  # both levels for the score, and the atoms for the state that was saved
    for name, value in after.arrays.items():
        assert value.tobytes() == again.arrays[name].tobytes()


@pytest.mark.parametrize("name", SMALL)
def test_shares_add_up(name, rng):
    learner, (P, _) = learners.make(name, **SMALL[name], recency=0.5), stories(rng, 500)
    state = run(learner, P[:400], 100)[-1]
    scored = novelty.score(learner, state, P[400:])
    words, context = novelty.shares(learner, state, P[400:], scored)
    assert np.allclose(words.sum(axis=1) + context, scored.score, atol=1e-12) and np.allclose(
        context, 0
    )


@pytest.mark.parametrize("name", SMALL)
def test_without_learning_a_score_does_not_depend_on_the_cut(name, rng):
    learner, (P, _) = learners.make(name, **SMALL[name], recency=0.5), stories(rng, 400)
    state = run(learner, P[:300], 100)[-1]
    whole = learner.score(state, P[300:]).residual
    for cuts in ([0, 1, 2, 50, 100], range(0, 101, 10)):
        parts = [
            learner.score(state, P[300:][first:last]).residual for first, last in pairwise(cuts)
        ]
        assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.filterwarnings("error")
def test_sizes_below_the_range_count_as_its_lower_end():
    arrays = {"size": np.array([0.0, 5e-324, 4.0]), "members": np.ones(3)}
    index = likeness.build_index(sparse.csc_array(np.eye(3)), 1.0)
    atoms = clusters.to_merging(arrays, index, 3)
    assert atoms.squares.tolist() == [0.0, 2.0**-100, 16.0]
    assert atoms.inverse.tolist() == [0.0, 2.0**50, 0.25]


@pytest.mark.parametrize("name", SMALL)
def test_a_run_resumes_to_the_same_bytes(name, rng, tmp_path):
    learner, (P, _) = learners.make(name, **SMALL[name], recency=0.5), stories(rng, 600)
    states = run(learner, P, 100)
    middle = states[3]
    learned = checkpoints.Checkpoint(
        3, {}, middle.dictionary, middle.arrays, 3, sparse.csr_array((1, 1)), 0.0, ""
    )
    checkpoints.write(tmp_path / "3.h5", learned)
    read = checkpoints.read_checkpoint(tmp_path / "3.h5", {}, 3)
    state = State(read.dictionary, read.arrays, read.updates)
    for first in (400, 500):
        state = learner.learn(state, P[first : first + 100], None)
    assert set(state.arrays) == set(learner.array_specs) >= {"matches", "expected"}
    for key, value in states[-1].arrays.items():
        assert value.tobytes() == state.arrays[key].tobytes()


@pytest.mark.parametrize("name", SMALL)
def test_what_is_long_past_misleads_less(name, rng):
    """Stories are short, and their words come again in others: a whole past knows them all."""
    P, names = stories(rng, 3000)
    seen = {}
    for recent in (0.0, 0.5):
        learner, scores, labels = learners.make(name, **SMALL[name], recency=recent), [], []
        for number, state in enumerate(run(learner, P, 100)[:-1], start=1):
            rows = slice(100 * number, 100 * number + 100)
            scores.append(learner.score(state, P[rows]).residual)
            labels.append(~np.isin(names[rows], names[: 100 * number]))
        seen[recent] = metrics.auc(
            np.concatenate(scores[10:]), np.concatenate(labels[10:]).astype(np.int8)
        )
    assert seen[0.5] > seen[0.0] + 0.02


def test_where_all_ages_match_alike_all_count_alike(rng):
    """A stream in which nothing changes: what factors differ by is chance."""
    P, _ = stories(rng, 3000, life=10**9)
    state = run(learners.make("levels", **SMALL["levels"], recency=0.5), P, 100)[-1]
    age = 2999 - state.arrays["used"]
    f = clusters.recency_of(state.arrays, 0.5)[clusters.age_bins(age)]
    assert 1 < f.max() < 1.1 and f.min() > 0.8 and f.std() < 0.07


def test_few_large_atoms_are_not_older_than_they_are(rng):
    """Most documents join eight atoms; odd ones beside these are nearest as often, but few documents are theirs."""
    counts = np.zeros((2400, 110))
    for row in range(len(counts)):
        own = 10 * rng.integers(8) + rng.choice(10, 12, p=np.arange(10, 0, -1) / 55)
        np.add.at(counts[row], [*own, *rng.integers(90, 110, 4)], 1.0)
    P = sparse.csr_array(counts / np.linalg.norm(counts, axis=1, keepdims=True))
    ratio = ratio_of(run(learners.make("levels", recency=0.5), P, 240)[-1])
    assert np.abs(ratio - 1).max() < 0.2


def test_without_it_the_state_is_as_before(rng):
    P, _ = stories(rng, 300)
    for name, settings in SMALL.items():
        state = run(learners.make(name, **settings, recency=0.0), P, 100)[-1]
        assert not {"matches", "expected"} & set(state.arrays)


def test_starts_of_more_entries_than_int32_counts_stay_as_they_are():
    for n_entries, kind in ((2**31 - 1, np.int32), (2**31, np.int64)):
        starts = likeness.narrow(np.array([0, 7, n_entries]))
        assert starts.dtype == kind and starts[-1] == n_entries
