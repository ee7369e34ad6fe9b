"""The adaptive learner against nearest neighbours, a slow twin, conservation laws and planted streams."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

from odl import NoveltyDetector, learners, novelty
from odl.corpora import read
from odl.errors import ParameterError
from odl.evaluation import metrics
from odl.files import checkpoints
from odl.learners.adaptive import combine_with_peers
from odl.stream import batching as streams
from odl.stream import features


def stream(rng, n, topics, m=120, words=12):
    """Documents of few words of their topic, rows of unit l2 norm; topic j has its own words."""
    counts = np.zeros((n, m))
    labels = rng.choice(topics, n)
    for row, topic in enumerate(labels):
        np.add.at(counts[row], topic * 8 + rng.integers(0, 8, words), 1.0)
        np.add.at(counts[row], rng.integers(80, m, words), 1.0)
    return sparse.csr_array(counts / np.linalg.norm(counts, axis=1, keepdims=True)), labels


def adaptive(**settings):
    return learners.make("adaptive", **settings)


def identical(first, second):
    """Tell whether two states are equal bit for bit."""
    arrays = first.arrays.keys() == second.arrays.keys() and all(
        first.arrays[name].dtype == second.arrays[name].dtype
        and first.arrays[name].tobytes() == second.arrays[name].tobytes()
        for name in first.arrays
    )
    one, two = first.dictionary, second.dictionary
    return (
        arrays
        and one.shape == two.shape
        and all(
            np.array_equal(getattr(one, name), getattr(two, name))
            for name in ("data", "indices", "indptr")
        )
    )


def slow(P, k, same):
    """Join, open and merge with everything computed anew at every step; returns the sums and their documents."""
    sums, sizes = [], []

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    for p in P.toarray():
        values = [cosine(p, s) for s in sums]
        near = int(np.argmax(values)) if values else -1
        if values and values[near] >= same:
            sums[near], sizes[near] = sums[near] + p, sizes[near] + 1
            continue
        if len(sums) == k:
            pairs = [(i, j) for i in range(k) for j in range(i)]
            costs = [
                (1 - cosine(sums[i], sums[j]))
                * np.sqrt(sizes[i] * sizes[j] / (sizes[i] + sizes[j]))
                for i, j in pairs
            ]
            if min(costs) >= (1 - values[near]) * np.sqrt(sizes[near] / (sizes[near] + 1)):
                sums[near], sizes[near] = sums[near] + p, sizes[near] + 1
                continue
            i, j = pairs[int(np.argmin(costs))]
            sums[j], sizes[j] = sums[i] + sums[j], sizes[i] + sizes[j]
            sums[i], sizes[i] = p.copy(), 1
            continue
        sums.append(p.copy())
        sizes.append(1)
    return np.array(sums), np.array(sizes)


def sums_of(state):
    return state.dictionary.toarray().T * state.arrays["size"][:, None]


@pytest.mark.parametrize(("k", "same"), [(5, 0.6), (12, 0.9), (12, 0.3), (90, 1.0)])
def test_it_is_the_slow_twin(rng, k, same):
    P, _ = stream(rng, 90, range(6))
    state = adaptive(same=same, half_life=0, terms=120).start(P, k, rng)
    expected, sizes = slow(P, k, same)
    found = sums_of(state)
    # Which number an atom has does not matter here.
    order, other = np.lexsort(found.round(4).T), np.lexsort(expected.round(4).T)
    assert np.allclose(found[order], expected[other], atol=1e-5)
    assert np.array_equal(state.arrays["members"][order], sizes[other])


def test_with_an_atom_for_each_document_it_is_the_nearest_neighbour(rng):
    P, _ = stream(rng, 60, range(5))
    other, _ = stream(rng, 40, range(7))
    state = adaptive(same=1.0, half_life=0, terms=120).start(P, 60, rng)
    assert state.dictionary.shape[1] == 60
    cosines = np.sort((other @ P.T).toarray(), axis=1)
    one = adaptive(nearest=1, cohesion=0.0, flatten=1.0).score(state, other)
    assert np.allclose(one.residual, 1 - cosines[:, -1], atol=1e-6)
    two = adaptive(nearest=2, cohesion=0.0, flatten=1.0).score(state, other)
    assert np.allclose(two.residual, 1 - (2 * cosines[:, -1] + cosines[:, -2]) / 3, atol=1e-6)


def test_score_is_its_formula(rng):
    P, _ = stream(rng, 80, range(6))
    state = adaptive().start(P, 9, rng)
    other, _ = stream(rng, 30, range(8))
    learner = adaptive(nearest=3, cohesion=0.7, flatten=0.5)
    flat = state.dictionary.toarray() ** 0.5
    flat /= np.linalg.norm(flat, axis=0)
    rho = state.arrays["size"] / state.arrays["members"]
    values = -np.sort(-(other.toarray() @ flat) / rho**0.7, axis=1)[:, :3]
    expected = np.maximum(1 - values @ np.array([6, 3, 2]) / 11, 0)
    found = learner.score(state, other)
    assert np.allclose(found.residual, expected) and not found.penalty.any()


def test_cohesion_is_the_mean_cosine_of_the_members(rng):
    P, _ = stream(rng, 50, [2])
    state = adaptive(same=0.0, half_life=0, terms=120).start(P, 4, rng)
    assert state.dictionary.shape[1] == 1
    rho = state.arrays["size"] / state.arrays["members"]
    assert np.allclose(rho, (P @ state.dictionary).mean(), atol=1e-6)


def test_codes_are_least_squares_on_the_chosen_atoms(rng):
    P, _ = stream(rng, 60, range(6))
    state = adaptive().start(P, 8, rng)
    X = adaptive(nearest=3).score(state, P).codes
    A = state.dictionary.toarray()
    assert np.diff(X.indptr).max() <= 3 and X.data.min() > 0
    for row in range(0, 60, 7):
        chosen = X[[row]].indices
        expected, _ = nnls(A[:, chosen], P[[row]].toarray().ravel())
        assert np.allclose(X[[row]].toarray().ravel()[chosen], expected, atol=1e-6)


@pytest.mark.parametrize("full", ["merge", "join", "retire"])
def test_memory_is_bounded_and_nothing_is_lost(rng, full):
    learner = adaptive(full=full, terms=30, same=0.8)
    P, _ = stream(rng, 40, range(6))
    state = learner.start(P, 15, rng)
    entries = []
    for _ in range(12):
        P, _ = stream(rng, 60, range(10))
        state = learner.learn(state, P, None)
        assert state.dictionary.shape == (120, 15)
        assert np.diff(state.dictionary.indptr).max() <= 30
        assert np.allclose(np.sqrt((state.dictionary.toarray() ** 2).sum(axis=0)), 1.0)
        assert state.dictionary.data.min() > 0
        entries.append(sum(value.nbytes for value in state.arrays.values()))
    assert len(set(entries)) == 1 and state.arrays["seen"][0] == 40 + 12 * 60
    if full == "join":
        assert state.arrays["birth"].max() < 40
    else:
        assert state.arrays["birth"].max() > (640 if full == "retire" else 40)
    if full == "retire":
        assert state.arrays["members"].sum() < 40 + 12 * 60


def test_documents_are_conserved(rng):
    learner, total = adaptive(terms=120, half_life=0), np.zeros(120)
    state = None
    for n in (50, 80, 1, 33):
        P, _ = stream(rng, n, range(8))
        state = learner.learn(state, P, None) if state else learner.start(P, 10, rng)
        total += P.sum(axis=0)
        assert np.allclose(sums_of(state).sum(axis=0), total, rtol=1e-5)
    assert state.arrays["members"].sum() == 164


def test_forgetting_halves_the_weight(rng):
    P, _ = stream(rng, 40, [0, 1])
    other, _ = stream(rng, 40, [7])
    state = adaptive(half_life=40, terms=120).start(P, 12, rng)
    before = state.arrays["members"].sum()
    after = adaptive(half_life=40, terms=120).learn(state, other, None)
    assert np.isclose(after.arrays["members"].sum(), before / 2 + 40)
    assert np.allclose(sums_of(after)[:, :16].sum(), sums_of(state)[:, :16].sum() / 2, rtol=1e-5)


def test_forgetting_follows_a_drifting_topic(rng):
    """A topic whose words are replaced one by one: with forgetting its atom is made of the present ones."""

    def batch(shift):
        rows = np.zeros((30, 120))
        for row in rows:
            np.add.at(row, shift + rng.integers(0, 8, 20), 1.0)
        return sparse.csr_array(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def last(half_life):
        learner = adaptive(half_life=half_life, same=0.1)
        state = learner.start(batch(0), 2, rng)
        for shift in range(1, 12):
            state = learner.learn(state, batch(shift), None)
        return (
            state.dictionary.toarray()[12:20].max(axis=0).max()
            / state.dictionary.toarray()[:8].max()
        )

    assert last(30) > 3 * last(0)


def test_numbers_of_atoms_are_stable(rng):
    """The larger of two merged atoms keeps its number; the slot of the other is recorded as a new atom."""
    learner = adaptive(terms=120, half_life=0, same=0.9)
    P, _ = stream(rng, 60, [0, 1, 2])
    state = learner.start(P, 12, rng)
    other, _ = stream(rng, 25, [8])
    after = learner.learn(state, other, None)
    renewed = after.arrays["birth"] >= 60
    assert 0 < renewed.sum() < 12
    kept = ~renewed
    assert np.array_equal(after.arrays["birth"][kept], state.arrays["birth"][kept])
    # What was in a slot is still in it.
    assert np.all(sums_of(after)[kept] >= sums_of(state)[kept] - 1e-5)
    assert after.arrays["members"].sum() == 85


def test_a_resumed_run_is_the_run(rng, tmp_path):
    learner = adaptive(terms=25, contrast=0.3, context=0.5)
    batches = [stream(rng, 50, range(3 + 2 * t))[0] for t in range(4)]
    state = learner.start(batches[0], 10, rng)
    resumed = state
    for t, P in enumerate(batches[1:]):
        path = tmp_path / f"{t}.h5"
        X = learner.score(resumed, P).codes
        checkpoints.write(
            path,
            checkpoints.Checkpoint(
                t, {}, resumed.dictionary, resumed.arrays, resumed.updates, X, 0.0
            ),
        )
        point = checkpoints.read_checkpoint(path)
        resumed = learner.learn(learners.State(point.dictionary, point.arrays, point.updates), P, X)
        state = learner.learn(state, P, None)
        assert identical(state, resumed) and state.updates == t + 1
    assert np.array_equal(
        learner.score(state, batches[1]).residual, learner.score(resumed, batches[1]).residual
    )


def test_new_words_and_empty_documents(rng):
    P, _ = stream(rng, 40, range(4))
    learner = adaptive()
    state = learner.start(P, 10, rng)
    wide = sparse.lil_array((4, 130))
    wide[0, 125] = wide[1, 3] = wide[3, 126] = 1.0
    wide = sparse.csr_array(wide)
    found = novelty.score(learner, state, wide)
    assert found.score[0] == found.score[2] == found.score[3] == 1.0 and found.score[1] < 1.0
    assert np.array_equal(np.diff(found.codes.indptr) > 0, [False, True, False, False])
    after = learner.learn(learner.fit_terms(state, 130), wide, found.codes)
    assert after.dictionary.shape[0] == 130 and after.arrays["seen"][0] == 44
    assert novelty.score(learner, after, wide[[0]]).score[0] < 0.5
    assert identical(learner.learn(state, wide, None), after)


def test_a_planted_topic_is_found(rng):
    learner = adaptive()
    P, _ = stream(rng, 200, range(6))
    state = learner.start(P, 20, rng)
    for _ in range(3):
        P, _ = stream(rng, 200, range(6))
        state = learner.learn(state, P, None)
    P, topics = stream(rng, 300, [0, 1, 2, 3, 4, 5, 6])
    new = (topics == 6).astype(int)
    single = metrics.auc(novelty.score(learner, state, P).score, new)
    assert single > 0.97
    batch = metrics.auc(novelty.score(adaptive(contrast=0.3, context=0.5), state, P).score, new)
    assert batch >= single
    before, after = (
        novelty.score(learner, one, P).score[new == 1]
        for one in (state, learner.learn(state, P, None))
    )
    assert after.mean() < 0.5 * before.mean()


def test_peers_are_those_of_the_batch(rng):
    P, _ = stream(rng, 40, range(4))
    state = adaptive().start(P, 10, rng)
    other, _ = stream(rng, 30, range(6))
    alone = adaptive().score(state, other).residual
    learner = adaptive(contrast=0.4, context=0.3, peers=4)
    found = learner.score(state, other)
    cosines = (other @ other.T).toarray()
    np.fill_diagonal(cosines, -1)
    near = np.argsort(-cosines, axis=1)[:, :4]
    likeness = np.take_along_axis(cosines, near, axis=1)
    penalty = 0.4 * likeness.mean(axis=1)
    weights = likeness**2 / (likeness**2).sum(axis=1, keepdims=True)
    total = 0.7 * (alone + penalty) + 0.3 * (weights * (alone + penalty)[near]).sum(axis=1)
    assert np.allclose(found.residual + found.penalty, total / 1.4)
    single = learner.score(state, other[[3]])
    assert np.allclose(single.residual, alone[3] / 1.4) and single.penalty[0] == 0
    nothing = learner.score(state, other[:0])
    assert nothing.codes.shape == (0, 10) and nothing.residual.shape == (0,)


def test_scores_stay_between_zero_and_one(rng):
    P, _ = stream(rng, 150, range(6))
    for settings in ({}, {"contrast": 0.5, "context": 1.0}, {"cohesion": 2.0}):
        learner = adaptive(**settings)
        state = learner.start(P, 10, rng)
        for batch in (P, stream(rng, 60, range(9))[0]):
            found = novelty.score(learner, state, batch).score
            assert found.min() >= 0 and found.max() <= 1


def test_the_detector_continues_after_loading(rng, tmp_path):
    batches = [stream(rng, 60, range(3 + t))[0] for t in range(4)]
    detector = NoveltyDetector("adaptive", n_atoms=12, settings={"terms": 40})
    for P in batches[:2]:
        detector.partial_fit(P)
    detector.save(tmp_path / "d.h5")
    loaded = NoveltyDetector.load(tmp_path / "d.h5")
    for one in (detector, loaded):
        one.partial_fit(batches[2])
    assert np.array_equal(detector.score_samples(batches[3]), loaded.score_samples(batches[3]))
    assert identical(detector.state_, loaded.state_)


@pytest.mark.parametrize(
    "settings",
    [
        {"terms": 0},
        {"same": 1.5},
        {"context": -0.1},
        {"flatten": 0.0},
        {"nearest": 0},
        {"full": "forget"},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(ParameterError):
        adaptive(**settings)


def test_better_than_a_window_of_neighbours_of_its_memory_on_tdt2(corpora):
    """The first batches of TDT2: 100 atoms of 300 terms against the 250 newest documents, which take as much."""
    whole = read("tdt2", [corpora / "tdt2" / "TDT2_with_time.mat"], {})
    rows = streams.order(whole.ids, whole.times, 0)[:3000]
    chain, batches = None, []
    for part in (rows[:1000], rows[1000:2000], rows[2000:]):
        chain = features.follow(whole.select(part), chain)
        batches.append(chain.weighed(tf="log", norm="l2")[:])
    learner = adaptive()
    state = learner.start(batches[0], 100, np.random.default_rng(0))
    state = learner.learn(state, batches[1], None)
    assert state.dictionary.nnz <= 30_000 < 1.05 * batches[1][-250:].nnz
    score = novelty.score(learner, state, batches[2]).score
    past = learners.widen(batches[1][-250:], n_columns=batches[2].shape[1])
    window = 1 - (batches[2] @ past.T).toarray().max(axis=1)
    assert metrics.auc(score, chain.novel) > metrics.auc(window, chain.novel) + 0.01 > 0.5


def test_shares_of_words_add_up_and_those_of_new_words_are_their_squares(rng):
    learner, (P, _) = adaptive(terms=20, contrast=0.0), stream(rng, 300, np.arange(8))
    state = learner.start(P[:100], 60, None)
    now = P[100:140].toarray()
    now[:, 0] = 0.0  # a word of the past, in place of which there is one that nobody had
    now = np.hstack([now, np.full((40, 1), 0.5)])
    now = sparse.csr_array(now / np.linalg.norm(now, axis=1, keepdims=True))
    state = learner.fit_terms(state, now.shape[1])
    scored = novelty.score(learner, state, now)
    words, context = novelty.shares(learner, state, now, scored)
    np.testing.assert_allclose(words.sum(axis=1) + context, scored.score, atol=1e-12)
    np.testing.assert_allclose(words.toarray()[:, -1], now.toarray()[:, -1] ** 2, atol=1e-12)


def test_an_atom_that_the_last_document_joined_has_age_0(rng):
    P, _ = stream(rng, 30, 5)
    state = adaptive().start(P, 100, None)
    ages = state.arrays["seen"] - 1 - state.arrays["used"]
    assert ages.min() == 0 and ages.max() < 30


def test_a_document_without_peers_has_its_own_score(rng):
    P, _ = stream(rng, 1, 5)
    residual, penalty = combine_with_peers(P, np.array([0.6]), contrast=0.5, context=0.3, peers=2)
    assert residual == pytest.approx([0.4]) and penalty == [0.0]
