"""The learner with two levels: its budget, its groups against a slow twin, order within a batch."""

import pickle
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from places import ROOT
from scipy import sparse
from scipy.stats import rankdata

from odl import learners, novelty
from odl.errors import ParameterError
from odl.evaluation import metrics
from odl.learners import clusters, likeness
from odl.learners import levels as levels_module
from odl.learners.adaptive import Adaptive
from odl.learners.base import State
from odl.learners.levels import PER_ATOM, merge_groups
from odl.learners.peers import MAX_CONTRAST, in_order


def stream(rng, n, topics, m=160, words=12):
    """Documents of few words of their topic, rows of unit l2 norm; topic j has its own words."""
    counts, labels = np.zeros((n, m)), rng.choice(topics, n)
    for row, topic in enumerate(labels):
        np.add.at(counts[row], topic * 8 + rng.integers(0, 8, words), 1.0)
        np.add.at(counts[row], rng.integers(80, m, rng.integers(2, 2 * words)), 1.0)
    return sparse.csr_array(counts / np.linalg.norm(counts, axis=1, keepdims=True)), labels


def levels(**settings):
    return learners.make("levels", **settings)


def run(learner, batches):
    state = learner.start(batches[0], 1, None)
    for P in batches[1:]:
        state = learner.learn(learner.fit_terms(state, P.shape[1]), P, None)
    return state


def slow_groups(S, n, target):
    """Merge the cheapest pair, everything computed anew; return the members of each group."""
    groups = [[j] for j in range(len(n))]
    while len(groups) > target:
        sums, sizes = [S[:, g].sum(axis=1) for g in groups], [n[g].sum() for g in groups]
        unit = [v / np.linalg.norm(v) for v in sums]
        costs = {
            (i, j): (1 - unit[i] @ unit[j]) * np.sqrt(sizes[i] * sizes[j] / (sizes[i] + sizes[j]))
            for i in range(len(groups))
            for j in range(i)
        }
        i, j = min(costs, key=costs.get)
        groups[j] += groups.pop(i)
    return {frozenset(g) for g in groups}


def slow_likeness(S, n, P):
    """Cosine of each document and each sum of documents, weights to the power .6, by the root of its cohesion."""
    flat = (S / np.linalg.norm(S, axis=0)) ** 0.6
    return P @ (flat / np.linalg.norm(flat, axis=0)) / np.sqrt(np.linalg.norm(S, axis=0) / n)


def slow_score(state, P, weight=0.5):
    """Densely: the three nearest atoms, and the nearest group, an atom that was not grouped being one."""
    group, n, S = (
        state.arrays["group"],
        state.arrays["members"],
        state.dictionary.toarray() * state.arrays["size"],
    )
    parts = [np.flatnonzero(group == one) for one in set(group.tolist()) - {-1}]
    parts += [np.array([j]) for j in np.flatnonzero(group == -1)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(group)))
    fine = -np.sort(-slow_likeness(S, n, P), axis=1)[:, :3] @ np.array([6, 3, 2]) / 11
    sums = np.stack([S[:, part].sum(axis=1) for part in parts], axis=1)
    coarse = slow_likeness(sums, np.array([n[part].sum() for part in parts]), P).max(axis=1)
    return np.maximum(1 - (1 - weight) * fine - weight * coarse, 0)


def grouped(S, n, target):
    size = np.linalg.norm(S, axis=0)
    index = likeness.build_index(sparse.csc_array(S / size), 0.6)
    return merge_groups(clusters.to_merging({"size": size, "members": n}, index, len(n)), target)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("k", "target"),
    [(30, 1), (30, 4), (30, 11), (30, 29), pytest.param(150, 20, marks=pytest.mark.slow)],
)
def test_groups_are_those_of_a_slow_twin(k, target, rng):
    S, n = (
        rng.random((12, k)) * (rng.random((12, k)) < 0.5) + 0.01,
        rng.integers(1, 6, k).astype(float),
    )
    owner = grouped(S, n, target)
    found = {frozenset(np.flatnonzero(owner == one).tolist()) for one in set(owner.tolist())}
    assert found == slow_groups(S, n, target) and all(owner[owner] == owner)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("least", [-40, -80, -140, -700])
def test_atoms_that_nothing_came_to_for_long_are_grouped_by_their_words(least, rng):
    topics, scales = np.arange(90) % 3, np.repeat([2.0**least, 2.0 ** (least // 2), 1.0], 30)
    S = (np.eye(3)[topics].repeat(4, axis=1) + 0.1 * rng.random((90, 12))).T * scales
    size = np.linalg.norm(S / scales, axis=0) * scales
    index = likeness.build_index(sparse.csc_array(S / size), 0.6)
    atoms = clusters.to_merging({"size": size, "members": scales}, index, len(scales))
    owner = merge_groups(atoms, 3)
    found = {frozenset(np.flatnonzero(owner == one).tolist()) for one in set(owner.tolist())}
    assert found == {frozenset(np.flatnonzero(topics == one).tolist()) for one in range(3)}


def test_the_larger_atom_names_a_group():
    for n, owned in (([1.0, 3.0], [1, 1]), ([3.0, 1.0], [0, 0]), ([2.0, 2.0], [1, 1])):
        assert grouped(np.eye(2), np.array(n), 1).tolist() == owned


def test_the_budget_is_never_exceeded(rng):
    learner = levels(memory=900, terms=10)
    state = learner.start(stream(rng, 50, 5)[0], 1, None)
    for number in range(4):
        stored = state.dictionary.nnz + PER_ATOM * state.dictionary.shape[1]
        assert stored <= 900 and state.dictionary.shape[1] <= learner.limit == 60
        assert np.diff(state.dictionary.indptr).max() <= 10
        state = learner.learn(state, stream(rng, 50, 3 + number)[0], None)
    assert state.dictionary.shape[1] == 60
    with pytest.raises(ParameterError, match="memory 14"):
        levels(memory=14, terms=10).start(stream(rng, 9, 2)[0], 1, None)


@pytest.mark.parametrize("weight", [0.5, 0.2])
def test_score_is_the_mean_of_atoms_and_their_sums(weight, rng):
    learner = levels(memory=1700, terms=80, merged=10, groups=weight)  # 20 atoms, 2 groups
    state, (P, _) = run(learner, [stream(rng, 600, 6)[0]]), stream(rng, 20, 7)
    group, S = state.arrays["group"], state.dictionary.toarray() * state.arrays["size"]
    assert 1 < len(set(group.tolist())) <= 2
    sums = np.stack([S[:, group == one].sum(axis=1) for one in np.unique(group)], axis=1)
    members = np.array([state.arrays["members"][group == one].sum() for one in np.unique(group)])
    size = np.linalg.norm(sums, axis=0)
    arrays = {"members": members, "size": size, "used": np.zeros(2, int), "seen": np.array([1])}
    held = State(sparse.csc_array(sums / size), arrays)
    fine = 1 - Adaptive(nearest=3).score(state, P).residual
    coarse = 1 - Adaptive(nearest=1).score(held, P).residual
    expected = 1 - (1 - weight) * fine - weight * coarse
    assert np.allclose(learner.score(state, P).residual, expected, atol=1e-12)


def test_shares_in_context_are_those_of_the_own_score(rng):
    settings = {"memory": 1700, "terms": 80, "merged": 10}
    plain, told = levels(**settings), levels(**settings, context=0.4)
    state, (P, _) = run(plain, [stream(rng, 600, 6)[0]]), stream(rng, 120, 7)
    own = plain.shares(state, P, plain.score(state, P)).toarray()
    assert np.allclose(own.sum(axis=1), plain.score(state, P).residual, atol=1e-12)
    assert np.allclose(told.shares(state, P, told.score(state, P)).toarray(), 0.6 * own, atol=1e-15)
    few = P[:20]  # whose scores have a share of .3 x .4 from peers
    assert np.allclose(
        told.shares(state, few, told.score(state, few)).toarray(), 0.88 * own[:20], atol=1e-15
    )


def test_groups_wait_for_enough_documents(rng):
    learner = levels(memory=1700, terms=80)
    state = run(learner, [stream(rng, 600, 6)[0]])
    after = learner.learn(state, stream(rng, 40, 9)[0], None)
    new = after.arrays["birth"] >= 600
    assert (
        new.any() and (after.arrays["group"][new] == -1).all() and after.arrays["grouped"][0] == 600
    )
    assert np.array_equal(after.arrays["group"][~new], state.arrays["group"][~new])
    later = learner.learn(after, stream(rng, 500, 9)[0], None)
    assert later.arrays["grouped"][0] == 1140 and (later.arrays["group"] >= 0).all()


@pytest.mark.parametrize("weight", [0.5, 0.2])
def test_an_atom_without_a_group_is_a_group(weight, rng):
    learner = levels(memory=1700, terms=80, groups=weight, recency=0.0)  # 20 atoms, 4 groups
    state = run(learner, [stream(rng, 600, 4)[0], stream(rng, 60, 9)[0], stream(rng, 60, 9)[0]])
    P, group = stream(rng, 60, 9)[0], state.arrays["group"]
    alone = np.flatnonzero(group == -1)
    found = learner.score(state, P)
    assert len(alone) > 1 and np.allclose(
        found.residual, slow_score(state, P.toarray(), weight), atol=1e-12
    )
    assert np.allclose(learner.shares(state, P, found).sum(axis=1), found.residual, atol=1e-12)
    # The atom that a group was named after may be replaced: the new one does not belong to it.
    named = replace(
        state, arrays=state.arrays | {"group": np.where(group == group.max(), alone[0], group)}
    )
    assert np.allclose(learner.score(named, P).residual, found.residual, atol=1e-12)


def test_batches_of_500_leave_no_atom_without_a_group(rng):
    learner, batches = (
        levels(memory=1700, terms=80, recency=0.0),
        [stream(rng, n, 6 + n % 7)[0] for n in (30, 500, 600, 501)],
    )
    state = run(learner, batches[:1])
    for P in batches[1:]:
        assert (state.arrays["group"] >= 0).all()
        assert np.allclose(
            learner.score(state, P).residual, slow_score(state, P.toarray()), atol=1e-12
        )
        state = learner.learn(state, P, None)
    assert (state.arrays["group"] >= 0).all()


def test_new_topics_score_high_plain_and_in_context(rng):
    past, (P, topics) = [stream(rng, 300, 5)[0] for _ in range(3)], stream(rng, 200, 7)
    state = run(levels(), past)
    plain, context = (novelty.score(levels(context=share), state, P).score for share in (0.0, 0.5))
    new = (topics >= 5).astype(np.int8)
    assert (
        metrics.auc(plain, new) > 0.95
        and metrics.auc(context, new) >= metrics.auc(plain, new) - 0.005
    )
    assert np.allclose(np.sort(plain), np.sort(context))


def test_peers_count_only_where_they_tell_something(rng):
    """r near 0 leaves the order to ranks and neighbours; a related b brings up documents with many like them."""
    P = sparse.csr_array(np.eye(6))
    scores = np.array([0.3, 0.1, 0.2, 0.2, 0.6, 0.5])
    assert np.allclose(
        in_order(P, scores, 0.5, 3), scores
    )  # nothing alike: nothing moves, ties stay ties
    assert np.array_equal(in_order(P[:2], scores[:2], 0.5, 3), scores[:2])
    alone = sparse.csr_array(np.vstack([np.kron(np.eye(2), np.ones((2, 1))), [[0.0, 0.0]]]))
    assert np.isclose(
        in_order(alone, np.array([0.1, 0.2, 0.3, 0.4, 0.25]), 0.9, 1)[4], 0.25
    )  # without any: its own
    pairs = sparse.csr_array(np.kron(np.eye(3), np.ones((2, 1))))
    mixed = in_order(pairs, np.array([0.9, 0.1, 0.5, 0.6, 0.2, 0.3]), 0.5, 1)
    assert np.allclose(mixed[:2], mixed[0]) and np.isclose(mixed.sum(), 2.6)


def test_small_batches_take_less_from_peers(rng):
    state, told = run(levels(), [stream(rng, 300, 5)[0]]), levels(context=0.5)
    for n, share in ((100, 0.2), (250, 0.5), (400, 0.5)):
        P = stream(rng, n, 7)[0]
        plain = levels().score(state, P).residual
        assert np.array_equal(told.score(state, P).residual, in_order(P, plain, share, 10))


@pytest.mark.parametrize("n", [1, 2, 3, 25, 99])
def test_scores_of_small_batches_move_towards_those_of_peers(n, rng):
    """Densely: .85 s + .15 times the mean of the peers; alone, or in pairs, a document keeps its score."""
    state, P = run(levels(), [stream(rng, 300, 5)[0]]), stream(rng, n, 7)[0]
    plain, found = (levels(context=context).score(state, P).residual for context in (0.0, 0.5))
    cosines = P.toarray() @ P.toarray().T
    np.fill_diagonal(cosines, -1.0)
    for row, far in enumerate(np.argsort(-cosines, axis=1, kind="stable")[:, 10:]):
        cosines[row, far] = 0.0
    cosines = np.maximum(cosines, 0.0)
    totals = cosines.sum(axis=1)
    means = np.where(totals > 0, cosines @ plain / np.where(totals > 0, totals, 1.0), plain)
    assert np.allclose(found, plain if n < 3 else 0.85 * plain + 0.15 * means)
    assert np.array_equal(found, plain) == (n < 3)


@pytest.mark.parametrize("related", [1.0, 0.0, -1.0])
def test_order_is_its_equation(related, rng):
    """Densely, with R near 1 (limited to .3), small and below 0."""
    P, _ = stream(rng, 40, 3)
    cosines = P.toarray() @ P.toarray().T
    np.fill_diagonal(cosines, -1.0)
    alike = np.argsort(-cosines, axis=1, kind="stable")[:, :5]
    near = np.take_along_axis(cosines, alike, axis=1)
    b = near.sum(axis=1)
    scores = np.round(0.5 - related * 0.3 * (b - b.mean()) + 0.1 * rng.random(40), 2)

    def standard(values):
        return (values - values.mean()) / values.std()

    r = -np.mean(standard(rankdata(scores)) * standard(b))
    assert abs(r - related) < 0.6 and (abs(r) > 0.6) == (related != 0)
    own = rankdata(standard(rankdata(scores)) + np.clip(r * abs(r), -0.3, 0.3) * standard(b)) / 40
    u = 0.6 * own + 0.4 * (near * own[alike]).sum(axis=1) / b
    found = in_order(P, scores, 0.4, 5)
    assert np.allclose(np.sort(found), np.sort(scores)) and np.allclose(
        found[np.argsort(u)], np.sort(scores)
    )


def test_the_method_has_both_limits_of_the_weight():
    (weight,) = re.findall(
        r"rank\}\\left\(z \+ (.*?)\\, b\\right\)", (ROOT / "docs" / "method.md").read_text()
    )
    assert weight == rf"\max(-{MAX_CONTRAST},\ \min(R\,|R|,\ {MAX_CONTRAST}))"
    assert f"max(-{MAX_CONTRAST:g}".replace("0.", ".") in in_order.__doc__


def test_a_run_resumes_to_the_same_bytes(rng):
    batches = [stream(rng, 120, 5)[0] for _ in range(4)]
    learner = levels(memory=1700, terms=30)
    first, second = run(learner, batches), run(learner, batches[:2])
    for P in batches[2:]:
        arrays = {name: value.copy() for name, value in second.arrays.items()}
        second = learner.learn(State(second.dictionary.copy(), arrays, second.updates), P, None)
    assert all(
        first.arrays[name].tobytes() == second.arrays[name].tobytes() for name in first.arrays
    )
    assert (first.dictionary != second.dictionary).nnz == 0


@pytest.mark.parametrize("name", ["levels", "adaptive"])
@pytest.mark.parametrize("size", [1, 40])
def test_a_state_that_somebody_keeps_stays_what_it_is(name, size, rng):
    """It scores and is saved as before after others were learned from it, and learning from it again is the same."""
    P = [
        stream(rng, 300, 5)[0],
        *(stream(rng, size, 9)[0] for _ in range(30)),
        stream(rng, 90, 9)[0],
    ]
    learner = learners.make(name, terms=30, **({"memory": 1700} if name == "levels" else {}))
    states = [learner.start(P[0], 50, None)]
    expected = []
    for batch in P[1:]:
        expected.append(learner.score(states[-1], P[-1]))
        states.append(learner.learn(states[-1], batch, None))
    for (before, after), batch, scores in zip(pairwise(states), P[1:], expected, strict=True):
        alone = State(before.dictionary, before.arrays, before.updates)
        assert np.array_equal(learner.score(before, P[-1]).residual, scores.residual)
        assert np.array_equal(learner.score(alone, P[-1]).residual, scores.residual)
        for again in (learner.learn(before, batch, None), learner.learn(alone, batch, None)):
            assert all(
                again.arrays[name].tobytes() == after.arrays[name].tobytes()
                for name in after.arrays
            )
            assert (again.dictionary != after.dictionary).nnz == 0


def test_a_state_may_be_learned_from_while_another_thread_scores_by_it(rng):
    """While somebody reads the lists of a state, learning makes others; lists that were taken are not read on."""
    learner, P = levels(memory=1700, terms=30), stream(rng, 60, 9)[0]
    state = learner.start(stream(rng, 300, 5)[0], 50, None)
    expected, after = learner.score(state, P).residual, []
    with clusters.reading(state, learner.flatten) as index:
        after.append(learner.learn(state, P, None))
        near = likeness.nearest(P, index, 3, np.ones(len(index.owner)), flat=True)
    with clusters.reading(State(state.dictionary, state.arrays), learner.flatten) as alone:
        ones = likeness.nearest(P, alone, 3, np.ones(len(alone.owner)), flat=True)
    assert np.array_equal(near.columns, ones.columns) and np.array_equal(
        near.similarity, ones.similarity
    )
    assert not index.readers
    assert clusters.index_of(after[0], learner.flatten) is not index
    again = learner.learn(State(state.dictionary, state.arrays, 0), P, None)
    assert np.array_equal(learner.score(state, P).residual, expected)
    assert np.array_equal(learner.score(again, P).residual, learner.score(after[0], P).residual)


@pytest.mark.parametrize("grouped", [False, True])
def test_lists_that_a_learner_takes_before_they_are_read_are_made_again(grouped, rng, monkeypatch):
    """Also where groups are made of them: what is read is of the state that scores."""
    learner, P, look = (
        levels(memory=1700, terms=30, context=0.0),
        stream(rng, 60, 9)[0],
        clusters.index_of,
    )
    state, taken = learner.start(stream(rng, 300, 5)[0], 50, None), []
    expected = learner.score(State(state.dictionary, state.arrays), P).residual
    if grouped:
        learner.score(state, P)

    def taking(of, power):
        index = look(of, power)
        if of is state and not taken:
            taken.append(index)
            taken.append(learner.learn(state, P, None))
        return index

    for module in [module for module in (clusters, levels_module) if hasattr(module, "index_of")]:
        monkeypatch.setattr(module, "index_of", taking)
    assert np.array_equal(learner.score(state, P).residual, expected)
    assert clusters.index_of(taken[1], learner.flatten) is taken[0]


def test_lists_are_found_though_another_thread_takes_them():
    class Taken(dict):
        def __contains__(self, key):
            return super().__contains__(key) and self.pop(key, None) is not None

    state = levels(memory=1700, terms=30).start(sparse.csr_array(np.eye(4)), 4, None)
    object.__setattr__(state, "derived", Taken())
    assert all(clusters.index_of(state, 0.6).columns.spans.shape == (4, 2) for _ in range(2))


@pytest.mark.parametrize("name", ["levels", "adaptive"])
def test_what_documents_that_come_again_leave_behind_is_taken_away(name, rng):
    """Atoms that change and keep their words do not make lists move, and columns grow no more for that."""
    learner, P = learners.make(name, terms=30), stream(rng, 40, 5)[0]
    state = learner.start(P, 40, None)
    learner.score(state, P)
    for row in np.tile(np.arange(40), 10):
        state = learner.learn(state, P[[row]], None)
    of_groups = [state.derived["groups"]] if name == "levels" else []
    for index in [clusters.index_of(one, learner.flatten) for one in [state, *of_groups]]:
        assert len(index.columns.terms) <= 3 * np.diff(index.columns.spans).sum()


def test_groups_are_as_many_as_the_memory_has_room_for():
    """A fifth of its atoms, however few there are yet."""
    Q = np.eye(12, 24)
    Q[np.arange(12), 12 + np.arange(12) // 6] = 0.5
    P = sparse.csr_array(Q / np.linalg.norm(Q, axis=1, keepdims=True))
    learner = levels(memory=1700, terms=80, merged=10)
    state = learner.start(P, 1, np.random.default_rng(0))
    assert learner.limit == 20 > state.dictionary.shape[1] > 10
    assert len(set(state.arrays["group"].tolist())) == 2  # a tenth of 20, not of those


def test_in_a_fresh_state_each_atom_is_one_document_and_a_group(rng):
    A = sparse.random_array((30, 7), density=0.5, rng=rng, format="csc")
    learner = learners.make("levels")
    state = learner.fresh(A)
    assert state.arrays.keys() == learner.array_specs.keys() and state.arrays["group"].tolist() == [
        *range(7)
    ]
    assert state.arrays["members"].tolist() == state.arrays["size"].tolist() == [1] * 7
    np.testing.assert_allclose((state.dictionary**2).sum(axis=0), 1.0)


def test_no_score_is_below_0(rng):
    """Documents that are atoms have a cosine of 1 but for rounding, also above it."""
    P = sparse.csr_array(
        sparse.kron(np.eye(200), rng.random((1, 5))) @ sparse.diags_array(rng.random(1000))
    )
    P = sparse.csr_array(P / np.sqrt(P.power(2).sum(axis=1))[:, None])
    learner = levels(memory=100_000, terms=80, nearest=1, groups=0.0, cohesion=0.0, flatten=1.0)
    state = learner.start(P, 1, rng)
    residual = learner.score(state, P).residual
    assert state.dictionary.shape[1] == 200 and residual.min() == 0 and residual.max() < 1e-12


@pytest.mark.parametrize("name", ["levels", "adaptive"])
def test_what_a_state_keeps_for_the_next_scores_changes_none(name):
    """Scores of documents one by one, with words that come later, and by other settings, are those of a new state."""
    P, _ = stream(np.random.default_rng(1), 90, 6)
    learner = learners.make(name, terms=20)
    state = learner.start(P[:40, :150].tocsr(), 10, None)
    for begin in (40, 65):
        state = learner.learn(learner.fit_terms(state, P.shape[1]), P[begin : begin + 25], None)
        for other in (learner, replace(learner, flatten=1.0)):
            for row in range(5):
                one = P[[row]].tocsr()
                wide = sparse.csr_array((one.data, one.indices, one.indptr), shape=(1, 200))
                new = other.score(other.fit_terms(State(state.dictionary, state.arrays), 200), wide)
                for again in (
                    other.score(state, one),
                    other.score(other.fit_terms(state, 200), wide),
                ):
                    assert again.residual == new.residual
                    assert np.array_equal(again.codes.toarray(), new.codes.toarray())


def test_what_a_state_keeps_is_not_saved():
    P, _ = stream(np.random.default_rng(1), 40, 6)
    learner = levels(terms=20)
    state = learner.start(P, 1, None)
    learner.score(state, P)
    assert state.derived
    assert not pickle.loads(pickle.dumps(state)).derived


def test_an_atom_that_is_halved_and_doubled_in_one_batch_changes_its_group():
    """By half a batch's forgetting and one document more, n_j of an atom of two documents is what it was."""
    learner = levels(terms=20, half_life=2)
    first, second = (
        sparse.csr_array(np.eye(4)[[0, 0]]),
        sparse.csr_array([[0.8, 0.6, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]),
    )
    kept = learner.start(first, 10, None)
    learner.score(kept, first)  # which makes the groups
    saved = pickle.loads(pickle.dumps(kept))
    kept, saved = (learner.learn(state, second, None) for state in (kept, saved))
    assert kept.arrays["members"][0] == 2.0
    assert np.array_equal(
        learner.score(kept, second).residual, learner.score(saved, second).residual
    )


@pytest.mark.parametrize("saved", [False, True])
def test_another_memory_takes_up_the_atoms_or_is_refused(saved, rng):
    """Work space of one memory is of no use for another; atoms that have no room are told in a sentence."""
    P, _ = stream(rng, 300, 8)
    state = run(levels(memory=750, terms=10, same=0.9), [P[:100], P[100:200]])
    assert state.shape[1] == 50
    state = pickle.loads(pickle.dumps(state)) if saved else state
    smaller, larger = (levels(memory=memory, terms=10, same=0.9) for memory in (600, 1500))
    with pytest.raises(ParameterError, match="at least 750, as there are 50 atoms already"):
        smaller.learn(state, P[200:], None)
    with pytest.raises(ParameterError, match="at least 750, as there are 50 atoms already"):
        smaller.score(state, P[200:])
    larger.score(state, P[200:])
    state = larger.learn(state, P[200:], None)
    assert 50 < state.shape[1] <= 100
    assert np.isfinite(larger.score(state, P).residual).all()
