"""What every learner does behind the detector: it keeps its level, gives reasons that add up, and can be searched."""

import numpy as np
import pandas as pd
import pytest
from contract import ALL, EACH, L1, quick
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from odl import NoveltyDetector, learners, novelty
from odl.alerts.calibration import among, tail_probability
from odl.detector.mechanism import scale_rows
from odl.errors import ParameterError
from odl.learners.base import parameters

# Settings under which a score is put together in another way than by default.
VARIANTS = [
    *((learner, {}) for learner in ALL),
    ("adaptive", {"contrast": 0.3, "context": 0.5}),
    ("adaptive", {"cohesion": 2.0}),
    ("batch_l2", {"unit": "l1"}),
    ("diffusion", {"task": "nmf_huber"}),
    ("diffusion", {"task": "sparse_svd", "relative": False}),
    ("diffusion", {"network": "ring", "iterations": 30}),
    ("dual_averaging", {"solver": "admm", "iterations": 5}),
    ("hierarchical", {"group_norm": "linf"}),
    ("levels", {"context": 0.5}),
    ("levels", {"memory": 500, "terms": 45, "groups": 0.9}),
]


def batch(rng, n=240, new=False):
    """Documents of eight topics with common words; with `new`, every tenth is of a ninth."""
    counts, novel = np.zeros((n, 110)), np.zeros(n, dtype=int)
    for row in range(n):
        novel[row] = new and row % 10 == 0
        words = rng.choice(10, 12, p=np.arange(10, 0, -1) / 55) + 10 * (
            8 if novel[row] else rng.integers(8)
        )
        np.add.at(counts[row], [*words, *rng.integers(90, 110, 4)], 1.0)
    return counts, novel


def fitted(learner, rng, settings=None, **options):
    settings = {**quick(learner), **(settings or {})}
    return NoveltyDetector(learner, n_atoms=60, settings=settings, **options).fit(batch(rng)[0])


@pytest.mark.parametrize("learner", EACH)
@pytest.mark.parametrize("batches", [0, 4])
def test_predict_keeps_the_level(learner, batches, rng):
    """After the first batch, which held-out parts calibrate, and once the scores of others do.

    In between the first steps of dual averaging move its scores by more than the window knows.
    """
    shares = []
    for seed in range(3):
        detector = fitted(learner, rng, random_state=seed, level=0.1)
        for _ in range(batches):
            detector.partial_fit(batch(rng)[0])
        shares.append(detector.predict(batch(rng)[0]).mean())
    assert np.mean(shares) < 0.14


@pytest.mark.parametrize("learner", [learner for learner in ALL if learner not in L1])
def test_what_is_novel_is_found(learner, rng):
    X, novel = batch(rng, new=True)
    detector = fitted(learner, rng)
    assert detector.predict(X)[novel == 1].mean() > 0.9
    assert detector.score(X, novel) > 0.95


@pytest.mark.parametrize("learner", EACH)
def test_decisions_are_tail_probabilities_of_earlier_scores(learner, rng):
    batches = [batch(rng)[0] for _ in range(2)]
    X = batch(rng, new=True)[0]
    detector = fitted(learner, rng, window=300)
    window = detector.window_
    for one in batches:
        window = np.concatenate([window, detector.score_samples(one)])[-300:]
        detector.partial_fit(one)
    assert np.array_equal(detector.window_, window) and len(window) == 300
    decision = detector.decision_function(X)
    assert np.allclose(decision, np.log(0.05 / tail_probability(detector.score_samples(X), window)))
    assert np.array_equal(detector.predict(X), decision >= 0)
    wider = detector.set_params(level=0.5).predict(X)
    assert wider.sum() > (decision >= 0).sum() and np.all(wider >= (decision >= 0))


def test_the_edge_of_the_level_is_within(rng):
    detector = fitted("adaptive", rng, level=0.05)
    X = batch(rng, new=True)[0]
    detector.window_ = np.concatenate([[2.0], np.zeros(38)])  # p = 2/40 for whatever is above 0
    assert (
        np.array_equal(detector.decision_function(X), np.zeros(len(X)))
        and detector.predict(X).all()
    )
    detector.window_ = np.concatenate([[2.0], np.zeros(37)])
    assert not detector.predict(X).any()


def test_the_old_name_of_the_level_warns(rng):
    with pytest.warns(FutureWarning, match=r"type NoveltyDetector\(level=0.3\)"):
        detector = NoveltyDetector(budget=0.3)
    assert (detector.level, detector.get_params()["budget"]) == (0.3, None)
    with pytest.warns(FutureWarning, match="called level"):
        assert NoveltyDetector().set_params(budget=0.3).fit(batch(rng)[0]).level == 0.3


def test_an_empty_document_is_never_novel(rng):
    X = batch(rng)[0]
    X[[5, 7]] = 0
    detector = NoveltyDetector(level=0.3).fit(X)
    assert (
        len(detector.window_) == 238
        and not NoveltyDetector(level=0.01).fit_predict(X)[[5, 7]].any()
    )
    assert (
        detector.score_samples(X)[[5, 7]].tolist() == [1.0, 1.0]
        and not detector.predict(X)[[5, 7]].any()
    )
    assert len(detector.partial_fit(X).window_) == 476


@pytest.mark.parametrize("learner", EACH)
def test_the_first_batch_is_calibrated_by_parts_held_out(learner, rng):
    X = batch(rng)[0]
    settings = quick(learner)
    detector = NoveltyDetector(learner, n_atoms=60, settings=settings, folds=4).fit(X)
    part = novelty.generator(0, "folds").permutation(len(X)) % 4
    expected = np.empty(len(X))
    for number in range(4):
        other = NoveltyDetector(learner, n_atoms=60, settings=settings, folds=0).fit(
            X[part != number]
        )
        expected[part == number] = other.score_samples(X[part == number])
    assert np.array_equal(detector.window_, expected)
    flags = clone(detector).set_params(level=0.1).fit_predict(X)
    assert np.array_equal(flags, among(expected) <= 0.1) and flags.sum() <= 24
    silent = NoveltyDetector(learner, n_atoms=60, settings=settings, folds=0)
    assert (
        not silent.fit_predict(X).any() and not len(silent.window_) and not silent.predict(X).any()
    )


def test_a_tree_of_a_given_size_is_calibrated_by_the_second_batch(rng):
    X = batch(rng, n=22)[0]
    detector = NoveltyDetector(
        "hierarchical", n_atoms=21, settings={"tree": "4,4", "rounds": 1}
    ).fit(X)
    assert detector.n_atoms_ == 21 and not len(detector.window_)
    assert len(detector.partial_fit(X).window_) == 22


@pytest.mark.parametrize(("learner", "settings"), VARIANTS)
def test_shares_of_words_and_context_are_the_score(learner, settings, rng):
    detector = fitted(learner, rng, settings)
    X, _ = batch(rng, new=True)
    X[5] = 0
    scores = detector.score_samples(X)
    explained = detector.explain(X, n_atoms=2)
    context = np.array([why.context for why in explained])
    assert np.allclose([why.score for why in explained], scores, rtol=0, atol=0)
    assert np.allclose(
        [sum(why.words.values()) for why in explained] + context, scores, rtol=0, atol=1e-12
    )
    for row, why in enumerate(explained):
        assert {int(name[1:]) for name in why.words} == set(np.flatnonzero(X[row]))
        assert list(why.words.values()) == sorted(why.words.values(), reverse=True)
    assert context[5] == 1.0 and not explained[5].words and not explained[5].atoms
    of_batch = learners.make(learner, **settings).in_batch
    lifted = scores == 0.0  # the adaptive score ends at 0
    rest = np.delete(context, 5)
    assert np.abs(rest).max() > 0.01 if of_batch else np.all((rest == 0.0) | np.delete(lifted, 5))


@pytest.mark.parametrize("learner", EACH)
def test_unknown_words_have_the_largest_shares(learner, rng):
    detector = fitted(learner, rng)
    X = batch(rng)[0][:20]
    X[:, 84] = 6.0
    leading = [next(iter(why.words)) for why in detector.explain(X, n_words=1)]
    assert leading == ["x84"] * 20


def test_the_l1_shares_by_hand():
    """r = (.1, .1, -.2), x = .5: words outside the document and the penalty are borne by the word explained."""
    learner = learners.make("dual_averaging", lam=0.2)
    A = sparse.csc_array([[0.8], [0.0], [0.2]])
    P = sparse.csr_array([[0.5, 0.5, 0.0]])
    codes, residual = sparse.csr_array([[0.5]]), np.array([0.1 + 0.5 + 0.1])
    found = novelty.from_scores(learners.Scores(codes, residual, np.array([0.1]), 0.0), P)
    words, context = novelty.shares(learner, learner.fresh(A), P, found)
    assert np.allclose(words.toarray(), [[0.1 + 0.1 + 0.1, 0.5, 0.0]]) and context[0] == 0.0


def test_the_adaptive_shares_by_hand():
    """s = 1 - p^T a / rho: word i has p_i (p_i - a_i / rho), below 0 where the atom has more of it."""
    learner = learners.make("adaptive", nearest=1, flatten=1.0, cohesion=1.0)
    state = learner.fresh(sparse.csc_array([[0.6], [0.8], [0.0]]))
    state.arrays["size"][:], state.arrays["members"][:] = 8.0, 10.0  # rho = .8
    P = sparse.csr_array([[0.6, 0.0, 0.8]])
    found = novelty.score(learner, state, P)
    words, context = novelty.shares(learner, state, P, found)
    assert np.allclose(words.toarray(), [[0.6 * (0.6 - 0.75), 0.0, 0.64]]) and context[0] == 0.0
    assert np.isclose(found.score[0], 1 - 0.36 / 0.8)


def test_huber_shares_by_hand():
    """f is u^2/(2 eta) below eta and |u| - eta/2 above, the word that the document lacks is borne."""
    learner = learners.make("diffusion", task="nmf_huber", eta=0.2, relative=False)
    P, A = sparse.csr_array([[0.5, 0.9, 0.0]]), sparse.csc_array([[0.8], [0.0], [0.6]])
    codes = sparse.csr_array([[0.5]])
    losses = np.array([0.1**2 / 0.4, 0.9 - 0.1, 0.3 - 0.1])
    words = learner.shares(
        learner.fresh(A), P, learners.Scores(codes, np.array([losses.sum()]), np.array([0.04]), 0.0)
    )
    assert np.allclose(words.toarray(), [[losses[0] + losses[2] + 0.04, losses[1], 0.0]])


def test_a_price_that_explains_nothing_is_borne_by_all_words():
    """As codes may be that are not optimal: the atom has no word of the document."""
    learner = learners.make("dual_averaging", lam=0.1)
    P, A = sparse.csr_array([[0.75, 0.25, 0.0]]), sparse.csc_array([[0.0], [0.0], [1.0]])
    scores = learners.Scores(sparse.csr_array([[0.4]]), np.array([1.4]), np.array([0.04]), 0.0)
    words = learner.shares(learner.fresh(A), P, scores)
    assert np.allclose(words.toarray(), [[0.75 * 1.44, 0.25 * 1.44, 0.0]])


@pytest.mark.parametrize("learner", EACH)
def test_nearest_atoms_are_by_cosine(learner, rng):
    detector = fitted(learner, rng)
    X = batch(rng)[0][:10]
    P = scale_rows(X, "l2").toarray()
    A = detector.components_.toarray().T
    cosines = P @ (A / np.maximum(np.linalg.norm(A, axis=0), 1e-300))
    codes = detector.transform(X).toarray()
    for row, why in enumerate(detector.explain(X, n_atoms=2)):
        assert np.allclose([atom.cosine for atom in why.atoms], -np.sort(-cosines[row])[:2])
        for atom in why.atoms:
            assert (
                np.isclose(cosines[row, atom.number], atom.cosine)
                and atom.code == codes[row, atom.number]
            )
            assert atom.words[0][1] == A[:, atom.number].max() and len(atom.words) <= 8


def test_names_of_the_words(rng):
    X = pd.DataFrame(batch(rng)[0]).rename(columns="w{}".format)
    detector = NoveltyDetector("adaptive", n_atoms=30).fit(X)
    assert all(name.startswith("w") for name in detector.explain(X[:1])[0].words)
    plain = NoveltyDetector("adaptive", n_atoms=30).fit(X.to_numpy())
    assert all(name.startswith("x") for name in plain.explain(X.to_numpy()[:1])[0].words)
    names = [f"word{number}" for number in range(110)]
    assert set(plain.explain(X.to_numpy()[:1], feature_names=names)[0].words) <= set(names)
    with pytest.raises(ParameterError, match="109 feature_names for 110 columns"):
        plain.explain(X.to_numpy()[:1], feature_names=names[1:])


def test_columns_of_a_data_frame_that_grows(rng):
    X = pd.DataFrame(batch(rng)[0]).rename(columns="w{}".format)
    detector = NoveltyDetector("adaptive", n_atoms=30, growing=True).fit(X)
    wider = X.assign(fresh=1.0)
    detector.partial_fit(wider)
    assert (
        detector.feature_names_in_[-1] == "fresh"
        and "fresh" in detector.explain(wider[:1])[0].words
    )
    with pytest.raises(ParameterError, match="first the 111 columns of earlier batches"):
        detector.score_samples(wider[wider.columns[::-1]])


@pytest.mark.parametrize("learner", EACH)
def test_grid_search_reaches_the_settings(learner, rng):
    known = learners.learner_class(learner)
    settings = NoveltyDetector(learner)._hyperparameters()
    name = next((each for each in ("lam", "gamma", "same") if each in settings), None)
    if name is None:
        pytest.skip("no setting of the learner is tried in this test")
    X, novel = batch(rng, n=120, new=True)
    search = GridSearchCV(
        NoveltyDetector(learner, n_atoms=20, settings=quick(learner), folds=0),
        {f"settings__{name}": [0.01, 0.9]},
        cv=2,
        error_score="raise",
    ).fit(X, novel)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == 2 and search.best_score_ == max(scores)
    best = search.best_estimator_
    assert best.settings == {**quick(learner), name: search.best_params_[f"settings__{name}"]}
    assert isinstance(best._model(), known) and getattr(best._model(), name) == best.settings[name]


@pytest.mark.parametrize("learner", EACH)
def test_clones_have_the_same_parameters(learner):
    detector = NoveltyDetector(learner, settings=quick(learner), level=0.3)
    copy = clone(detector)
    assert copy.get_params() == detector.get_params()
    assert copy.settings is not detector.settings
    deep = {key for key in detector.get_params() if key.startswith("settings__")}
    assert {key.removeprefix("settings__") for key in deep} == set(
        parameters(learners.learner_class(learner))
    )
    again = NoveltyDetector().set_params(**detector.get_params())
    assert again._model() == detector._model()


def test_nested_settings(rng):
    settings = {"terms": 50}
    detector = NoveltyDetector("adaptive", settings=settings)
    detector.set_params(settings__same=0.7)
    assert detector.settings == {"terms": 50, "same": 0.7} and settings == {"terms": 50}
    assert (
        detector.get_params()["settings__terms"] == 50
        and detector.get_params()["settings__nearest"] == 2
    )
    with pytest.raises(
        ValueError, match=r"settings__samee for the learner 'adaptive'.*did you mean 'same'"
    ):
        detector.set_params(settings__samee=0.7)
    # The learner comes first, whatever the order of the arguments.
    assert NoveltyDetector().set_params(settings__same=0.5, learner="adaptive").settings == {
        "same": 0.5
    }
    pipeline = make_pipeline(MaxAbsScaler(), NoveltyDetector("adaptive"))
    pipeline.set_params(noveltydetector__settings__same=0.9).fit(batch(rng)[0])
    assert pipeline[-1].settings == {"same": 0.9}


@pytest.mark.parametrize("learner", EACH)
def test_codes_as_a_data_frame(learner, rng):
    detector = fitted(learner, rng)
    X = batch(rng)[0][:9]
    codes = detector.transform(X)
    frame = (
        clone(detector).set_output(transform="pandas").fit(batch(rng)[0]).transform(pd.DataFrame(X))
    )
    assert isinstance(frame, pd.DataFrame) and len(frame) == 9
    detector.set_output(transform="pandas")
    assert np.array_equal(detector.transform(X).to_numpy(), codes.toarray())
    names = detector.get_feature_names_out()
    assert list(detector.transform(X).columns) == list(names) and len(names) == detector.n_atoms_
    assert sparse.issparse(detector.set_output(transform="default").transform(X))


def test_score_needs_labels_of_both_kinds(rng):
    detector = fitted("adaptive", rng)
    X, novel = batch(rng, new=True)
    with pytest.raises(ParameterError, match="y is None"):
        detector.score(X)
    with pytest.raises(ParameterError, match=r"y has the values \[0.0\].*both kinds"):
        detector.score(X, np.zeros(len(X)))
    with pytest.raises(ParameterError, match="one score and one label"):
        detector.score(X, novel[1:])
    labels = np.where(np.arange(len(X)) < 100, -1, novel)
    assert (
        detector.score(X, labels)
        == detector.score(X[100:], novel[100:])
        == detector.score(X[100:], novel[100:] > 0)
    )
