"""NoveltyDetector is a scikit-learn estimator and the same mechanism as the workflow."""

import doctest
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from contract import ALL, EACH, quick
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import odl.detector
from odl import NoveltyDetector, learners
from odl.detector import mechanism
from odl.errors import OdlError, ParameterError
from odl.evaluation import metrics
from odl.files import checkpoints


def stream(rng, n=120, words=60, new=False):
    counts = np.zeros((n, words))
    for row in range(n):
        topic = 5 if new and row % 4 == 0 else row % 5
        np.add.at(counts[row], rng.integers(0, 10, 15) + 10 * topic, 1.0)
    return sparse.csr_array(counts), np.array([new and row % 4 == 0 for row in range(n)])


SMALL = [NoveltyDetector(learner=learner, n_atoms=2, settings=quick(learner)) for learner in ALL]
MODULES = sorted(path.stem for path in Path(odl.detector.__file__).parent.glob("[!_]*.py"))


@parametrize_with_checks([NoveltyDetector()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    """No check is expected to fail."""
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(SMALL)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_of_each_learner(estimator, check):
    check(estimator)


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_the_docstrings(module):
    failed, _ = doctest.testmod(import_module(f"odl.detector.{module}"))
    assert failed == 0


@pytest.mark.parametrize("name", odl.detector.__all__)
def test_every_public_method_has_an_example(name):
    face = getattr(odl.detector, name)
    methods = {
        key for one in face.__mro__ if one.__module__.startswith("odl.") for key in vars(one)
    }
    methods = {key for key in methods if not key.startswith("_") and callable(getattr(face, key))}
    assert {"explain", "save", "load", "set_params"} <= methods
    without = {
        key for key in methods - {"save"} if ">>> " not in (getattr(face, key).__doc__ or "")
    }
    assert not without


@pytest.mark.parametrize("learner", EACH)
def test_new_topics_score_high(learner, rng):
    detector = NoveltyDetector(learner=learner, n_atoms=40)
    for _ in range(3):
        detector.partial_fit(stream(rng)[0])
    X, novel = stream(rng, new=True)
    assert metrics.auc(detector.score_samples(X), novel.astype(np.int8)) > 0.95
    atoms = len(detector.components_.toarray())
    assert atoms == 40 or (learners.learner_class(learner).grows and atoms > 5)
    assert detector.components_.shape == (atoms, 60) and detector.transform(X).shape == (120, atoms)
    assert detector.n_batches_ == 3


@pytest.mark.parametrize("learner", EACH)
def test_saved_detectors_go_on_exactly(tmp_path, rng, learner):
    batches = [stream(rng)[0] for _ in range(3)]
    whole = NoveltyDetector(learner, n_atoms=10, level=0.2, window=150)
    whole.partial_fit(batches[0]).partial_fit(batches[1])
    whole.save(tmp_path / "detector.h5")
    loaded = NoveltyDetector.load(tmp_path / "detector.h5")
    assert loaded.get_params() == whole.get_params() and loaded.n_batches_ == 2
    for detector in (whole, loaded):
        detector.partial_fit(batches[2])
    assert np.array_equal(whole.score_samples(batches[0]), loaded.score_samples(batches[0]))
    assert len(whole.window_) == 150 and np.array_equal(whole.window_, loaded.window_)
    assert np.array_equal(whole.decision_function(batches[0]), loaded.decision_function(batches[0]))
    (tmp_path / "detector.h5").write_bytes(b"something else")
    with pytest.raises(OdlError, match=r"detector\.h5"):
        NoveltyDetector.load(tmp_path / "detector.h5")


def test_levels_that_was_saved_before_recency_was_its_default_has_none(tmp_path, rng):
    batches, path = [stream(rng)[0] for _ in range(2)], tmp_path / "detector.h5"
    plain = NoveltyDetector("levels", settings={"recency": 0.0}).fit(batches[0])
    plain.save(path)
    point = checkpoints.read_checkpoint(path)
    checkpoints.write(path, replace(point, chain={**point.chain, "settings": None}))
    loaded = NoveltyDetector.load(path)
    assert loaded.settings == {"recency": 0.0}
    scores = [one.partial_fit(batches[1]).score_samples(batches[0]) for one in (plain, loaded)]
    assert np.array_equal(*scores)
    checkpoints.write(path, replace(point, chain={**point.chain, "settings": {"recency": 0.5}}))
    with pytest.raises(OdlError, match="contains nothing as"):
        NoveltyDetector.load(path)


def test_a_file_with_other_arrays_is_refused(tmp_path, rng):
    path = tmp_path / "detector.h5"
    detector = NoveltyDetector("adaptive", n_atoms=10).fit(stream(rng)[0]).set_params(n_atoms=2)
    detector.save(path)
    point = checkpoints.read_checkpoint(path)
    assert NoveltyDetector.load(path).n_atoms == 10  # what it was fitted with
    changes = {"limit": np.array([2**40]), "members": np.ones(3)}
    changes |= {"names": np.zeros(3, np.uint8)}
    for name, value in changes.items():
        checkpoints.write(path, replace(point, arrays={**point.arrays, name: value}))
        with pytest.raises(OdlError, match=r"detector\.h5"):
            NoveltyDetector.load(path)
    for name in ("window", "names"):
        less = {array: value for array, value in point.arrays.items() if array != name}
        checkpoints.write(path, replace(point, arrays=less))
        with pytest.raises(OdlError, match=r"expected a file of NoveltyDetector\.save"):
            NoveltyDetector.load(path)


def test_the_vocabulary_grows_when_asked(rng):
    X, _ = stream(rng)
    wide = sparse.csr_array(sparse.hstack([X, sparse.csr_array(np.ones((120, 3)))]))
    detector = NoveltyDetector(n_atoms=10, growing=True).partial_fit(X).partial_fit(wide)
    assert detector.components_.shape == (10, 63)
    with pytest.raises(ValueError, match="60 features"):
        NoveltyDetector(n_atoms=10).partial_fit(X).partial_fit(wide)


def test_bad_input_is_refused(rng):
    X, _ = stream(rng)
    with pytest.raises(ValueError, match="none of the 3 documents has a weight above 0"):
        NoveltyDetector().fit(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="did you mean 'dual_averaging'"):
        NoveltyDetector(learner="dual_averagin").fit(X)
    with pytest.raises(ValueError, match="Negative values"):
        NoveltyDetector(n_atoms=5).fit(-X)
    detector = NoveltyDetector(n_atoms=10).fit(X)
    empty = sparse.csr_array((2, 60))
    assert list(detector.score_samples(empty)) == [1.0, 1.0]


def test_a_huge_document_is_scored_as_its_shape(rng):
    detector = NoveltyDetector(n_atoms=10).fit(stream(rng)[0])
    row = np.zeros((2, 60))
    row[0, 5:12], row[1, 5:12] = 1.0, 1e308
    scores = detector.score_samples(row)
    assert np.isclose(scores[0], scores[1]) and scores[0] > 0


def test_scoring_changes_nothing(rng):
    X, _ = stream(rng)
    wide = sparse.csr_array(sparse.hstack([X, sparse.csr_array(np.ones((120, 3)))]))
    detector = NoveltyDetector(n_atoms=10, growing=True).fit(X)
    before = detector.score_samples(X)
    detector.score_samples(wide)
    bad = wide.toarray()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        detector.partial_fit(bad)
    assert detector.n_features_in_ == 60 and np.array_equal(detector.score_samples(X), before)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("growing", [False, True])
def test_entries_outside_of_a_sparse_matrix_are_refused(growing, kind, rng):
    """Compiled code would write there; the detector is what it was."""
    X = kind(stream(rng)[0])
    detector, end = NoveltyDetector(n_atoms=10, growing=growing).fit(X), len(X.indices)
    last = np.arange(end) == end - 1
    expected, whole = detector.score_samples(X), (X.data, X.indices, X.indptr)
    for part, value in (
        (1, np.where(last, max(X.shape), X.indices)),
        (1, np.where(last, -3, X.indices)),
    ):
        damaged = kind((*whole[:part], value.astype(np.int32), *whole[part + 1 :]), shape=X.shape)
        for step in (detector.partial_fit, detector.score_samples, NoveltyDetector(n_atoms=10).fit):
            with pytest.raises(
                ParameterError, match="X is a sparse matrix with entries outside its shape"
            ):
                step(damaged)
    for value in (end + 9, -5):
        starts = np.append(X.indptr[:1], np.append(value, X.indptr[2:])).astype(np.int32)
        with pytest.raises(
            ParameterError, match="X is a sparse matrix with entries outside its shape"
        ):
            detector.partial_fit(kind((X.data, X.indices, starts), shape=X.shape))
    assert np.array_equal(detector.score_samples(X), expected)


@pytest.mark.parametrize("growing", [False, True])
def test_rows_that_need_no_check_are_those_that_pass_it(growing, rng, monkeypatch):
    """Of every other kind scikit-learn decides; scores are the same."""
    X, _ = stream(rng)
    detector, wide = (
        NoveltyDetector(n_atoms=10, growing=growing).fit(X),
        sparse.csr_array(sparse.hstack([X, X])),
    )
    expected, wrong = detector.score_samples(X.toarray()), X.copy()
    wrong.data[3] = np.inf
    monkeypatch.setattr(mechanism, "validate_data" if not growing else "check_array", None)
    for usual in (X, sparse.csr_matrix(X)):
        assert np.array_equal(detector.score_samples(usual), expected)
    assert not growing or len(detector.score_samples(wide)) == 120
    for other in (
        X.toarray(),
        X.tocsc(),
        X.astype(np.float32),
        X[:0],
        wrong,
        *([] if growing else [wide]),
    ):
        with pytest.raises(TypeError, match="NoneType"):
            detector.score_samples(other)


def test_settings_are_checked(rng, tmp_path):
    X, _ = stream(rng)
    detector = NoveltyDetector(n_atoms=np.int64(10)).fit(X)
    detector.save(tmp_path / "detector.h5")
    assert NoveltyDetector.load(tmp_path / "detector.h5").n_atoms == 10
    with pytest.raises(ValueError, match="call fit to start"):
        detector.set_params(learner="online_admm").partial_fit(X)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"settings": [1]}, "settings is"),
        ({"settings": {"lamm": 1}}, "settings={'lamm': 1}.*'lamm' is not known"),
        ({"settings": {"lam": -1.0}}, "settings={'lam': -1.0}.*correct settings"),
        ({"learner": "dual_averagin"}, "learner='dual_averagin'.*did you mean 'dual_averaging'"),
        (
            {"learner": "hierarchical", "settings": {"tree": "10,2"}},
            "n_atoms=10 with 120 documents",
        ),
        ({"random_state": "a"}, "random_state is 'a'"),
        ({"n_atoms": 2.5}, "n_atoms is 2.5"),
        ({"n_atoms": 0}, "n_atoms is 0"),
        ({"n_atoms": True}, "n_atoms is True"),
        ({"level": 0}, "level is 0"),
        ({"level": 1.5}, "level is 1.5"),
        ({"window": 18}, "level is 0.05 with a window of 18.*at least 1/19"),
        ({"window": 0}, "window is 0"),
        ({"folds": -1}, "folds is -1"),
    ],
)
def test_messages_name_the_parameters_of_the_detector(rng, wrong, message):
    with pytest.raises(ValueError, match=message):
        NoveltyDetector(**{"n_atoms": 10, **wrong}).fit(stream(rng)[0])


def test_n_atoms_is_the_most(rng):
    X, _ = stream(rng)
    assert NoveltyDetector("dual_averaging", n_atoms=500, folds=0).fit(X).n_atoms_ == 120
    few = sparse.vstack([X[:5], sparse.csr_array((3, 60))], format="csr")
    detector = NoveltyDetector().fit(few)
    assert detector.n_atoms_ == 5 and detector.get_params()["n_atoms"] == 100
    grown = NoveltyDetector("adaptive", n_atoms=30, settings={"same": 1.0}).fit(few).partial_fit(X)
    assert grown.n_atoms_ == 30  # it may still grow to what was asked for
    with pytest.raises(NotFittedError):
        _ = NoveltyDetector().n_atoms_


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_any_random_state(rng, kind, tmp_path):
    X, _ = stream(rng)
    drawn = {"learner": "dual_averaging", "n_atoms": 10}  # starts from documents that are drawn
    scores = [
        NoveltyDetector(**drawn, random_state=kind(seed)).fit(X).score_samples(X)
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(scores[0], scores[1]) and not np.array_equal(scores[0], scores[2])
    detector = NoveltyDetector(**drawn, random_state=kind(1)).fit(X)
    detector.save(tmp_path / "detector.h5")
    loaded = NoveltyDetector.load(tmp_path / "detector.h5")
    assert loaded.random_state == detector.seed_ and np.array_equal(
        loaded.score_samples(X), scores[0]
    )
    assert np.array_equal(loaded.fit(X).score_samples(X), scores[0])


def test_no_random_state_draws_from_numpy(rng):
    X, _ = stream(rng)
    seeds = []
    for start in (5, 5, 6):
        np.random.seed(start)
        seeds.append(NoveltyDetector(n_atoms=10, random_state=None).fit(X).seed_)
    assert seeds[0] == seeds[1] != seeds[2]


def test_a_score_at_the_level_is_novel(rng):
    """p of the documents of a window of 19 is a multiple of 1/20, and the level is one of them."""
    known = rng.poisson(2.0, (19, 8)).astype(float) + 0.01
    detector = NoveltyDetector(n_atoms=2, level=0.25).fit(known)
    levels = np.exp(-detector.decision_function(known)) * 0.25
    level = np.sort(levels)[5]
    detector.level = level
    decided = detector.decision_function(known)
    assert (decided == 0.0).any()
    assert detector.predict(known).tolist() == [int(value >= 0.0) for value in decided]
    assert detector.predict(known)[decided == 0.0].all()
