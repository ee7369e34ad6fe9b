"""NoveltyDetector is a scikit-learn estimator and the same mechanism as the workflow."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from contract import ALL, quick
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

from odl import NoveltyDetector, learners
from odl.errors import OdlError
from odl.evaluation import metrics
from odl.files import checkpoints


def stream(rng, n=120, words=60, new=False):
    counts = np.zeros((n, words))
    for row in range(n):
        topic = 5 if new and row % 4 == 0 else row % 5
        np.add.at(counts[row], rng.integers(0, 10, 15) + 10 * topic, 1.0)
    return sparse.csr_array(counts), np.array([new and row % 4 == 0 for row in range(n)])


@pytest.mark.parametrize("learner", ALL)
def test_scikit_learn_checks(learner):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(NoveltyDetector(learner=learner, n_atoms=2, settings=quick(learner)))


@pytest.mark.parametrize("learner", ALL)
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


@pytest.mark.parametrize("learner", ALL)
def test_saved_detectors_go_on_exactly(tmp_path, rng, learner):
    batches = [stream(rng)[0] for _ in range(3)]
    whole = NoveltyDetector(learner, n_atoms=10).partial_fit(batches[0]).partial_fit(batches[1])
    whole.save(tmp_path / "detector.h5")
    loaded = NoveltyDetector.load(tmp_path / "detector.h5")
    assert loaded.get_params() == whole.get_params() and loaded.n_batches_ == 2
    for detector in (whole, loaded):
        detector.partial_fit(batches[2])
    assert np.array_equal(whole.score_samples(batches[0]), loaded.score_samples(batches[0]))
    (tmp_path / "detector.h5").write_bytes(b"something else")
    with pytest.raises(OdlError, match=r"detector\.h5"):
        NoveltyDetector.load(tmp_path / "detector.h5")


def test_a_file_with_other_arrays_is_refused(tmp_path, rng):
    path = tmp_path / "detector.h5"
    detector = NoveltyDetector("adaptive", n_atoms=10).fit(stream(rng)[0]).set_params(n_atoms=2)
    detector.save(path)
    point = checkpoints.read(path)
    assert NoveltyDetector.load(path).n_atoms == 10  # what it was fitted with
    changes = {"limit": np.array([2**40]), "members": np.ones(3), "history": sparse.csr_array((5, 61))}
    for name, value in changes.items():
        checkpoints.write(path, replace(point, arrays={**point.arrays, name: value}))
        with pytest.raises(OdlError, match=r"detector\.h5"):
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
    with pytest.raises(ValueError, match="a minimum of 121 is required"):
        NoveltyDetector(n_atoms=121).fit(X)
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


def test_settings_are_checked(rng, tmp_path):
    X, _ = stream(rng)
    detector = NoveltyDetector(n_atoms=np.int64(10)).fit(X)
    detector.save(tmp_path / "detector.h5")
    assert NoveltyDetector.load(tmp_path / "detector.h5").n_atoms == 10
    with pytest.raises(ValueError, match="fit again"):
        detector.set_params(learner="online_admm").partial_fit(X)
    for wrong in ({"settings": [1]}, {"random_state": np.random.default_rng(0)}, {"n_atoms": 2.5}):
        with pytest.raises((ValueError, TypeError)):
            NoveltyDetector(**{"n_atoms": 10, **wrong}).fit(X)
