"""NoveltyDetector: the mechanism as a scikit-learn estimator, for use without the workflow."""

import numbers
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from odl import learners, novelty
from odl.errors import ParameterError
from odl.files import checkpoints
from odl.learners.kept import Kept

HISTORY = Kept("csr", ("positions", "terms"))  # documents learned so far, in a file


class NoveltyDetector(TransformerMixin, BaseEstimator):
    """Score documents by how badly a dictionary learned from the earlier ones explains them.

    **High means novel** (scikit-learn's outlier detectors have it the other way round). With the L1
    learners the score of a document p is min_{x >= 0} ||p - A x||_1 + lam ||x||_1: near lam for a
    document of known topics, 1 for one that no atom explains. The others have objectives of their own.

    Parameters
    ----------
    learner : str, default="dual_averaging"
        Algorithm that updates the dictionary, a name of `odl.learners.LEARNERS`, such as "adaptive".
        "batch" and "batch_l2" keep all documents, in memory and in the file of `save`.
    n_atoms : int, default=100
        Size of the dictionary, at the start or at most (see the learner's class); the first batch needs at
        least so many non-empty documents.
    settings : dict, optional
        Hyper-parameters of the learner (see its class in `odl.learners`), e.g. ``{"gamma": 4.0}``.
    growing : bool, default=False
        Whether later batches may have more columns (new terms are appended on the right).
    random_state : int, default=0
        Seed of the documents that the dictionary starts from.

    Attributes
    ----------
    components_ : csr_array, shape (n_atoms, n_features)
        Atoms in rows, non-negative, of mass at most 1.
    state_ : odl.learners.State
        Everything that changes.
    history_ : list of csr_array
        Documents learned so far, for learners that need them (`odl.learners.Learner.needs_history`).
    n_atoms_ : int
        Size of the dictionary that it was fitted with.
    n_features_in_ : int
    n_batches_ : int
        Batches learned from, the first included.

    Notes
    -----
    Input rows are non-negative weights (TF-IDF, counts) and are scaled to the learner's norm here.
    Source: ICASSP 2013, mechanism GENNVL.

    Examples
    --------
    >>> import numpy as np
    >>> from odl import NoveltyDetector
    >>> known = np.random.default_rng(0).poisson(2.0, (60, 8)) * [1, 1, 1, 1, 0, 0, 0, 0]
    >>> detector = NoveltyDetector(n_atoms=2).partial_fit(known).partial_fit(known)
    >>> new = np.array([[1, 2, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 2, 1, 1]])
    >>> detector.score_samples(new).argmax()
    np.int64(1)
    """

    def __init__(self, learner="dual_averaging", n_atoms=100, settings=None, growing=False, random_state=0):
        self.learner = learner
        self.n_atoms = n_atoms
        self.settings = settings
        self.growing = growing
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.requires_fit = True
        return tags

    def fit(self, X, y=None):
        """Forget everything and learn the first dictionary from a batch.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)
        y : ignored

        Returns
        -------
        NoveltyDetector
        """
        model = self._model()
        if not isinstance(self.random_state, numbers.Integral):
            raise ParameterError(f"random_state is {self.random_state!r}", "a whole number", "pass a seed")
        P = self._rows(X, model, reset=True)
        self.state_ = model.start(P, self.n_atoms, novelty.generator(self.random_state, "start"))
        self.learner_, self.n_atoms_ = model.algorithm, self.n_atoms
        self.history_ = [P] if model.needs_history else []
        self.n_batches_ = 1
        return self

    def partial_fit(self, X, y=None):
        """Learn from one more batch; the first call is `fit`.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)
        y : ignored

        Returns
        -------
        NoveltyDetector
        """
        if not hasattr(self, "state_"):
            return self.fit(X)
        model = self._model()
        if model.algorithm != self.learner_:
            expected = f"{self.learner_}, which learned so far"
            raise ParameterError(f"learner is {model.algorithm}", expected, "fit again to change it")
        P = self._rows(X, model, reset=False)
        state = model.fit_terms(self.state_, P.shape[1])
        self.state_ = model.learn(state, P, model.score(state, P).codes, self.history_)
        if model.needs_history:
            self.history_ = [*self.history_, P]
        self.n_features_in_ = P.shape[1]
        self.n_batches_ += 1
        return self

    def score_samples(self, X):
        """Return the novelty score of each document; high means novel, an empty document has 1.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)

        Returns
        -------
        ndarray, shape (n_documents,)
        """
        return self._score(X).score

    def transform(self, X):
        """Return the codes of the documents, shape (n_documents, n_atoms), CSR."""
        return self._score(X).codes

    @property
    def components_(self):
        check_is_fitted(self, "state_")
        return sparse.csr_array(self.state_.dictionary.T)

    def save(self, path):
        """Write the detector to an HDF5 file (nothing is pickled)."""
        check_is_fitted(self, "state_")
        settings = {**self.get_params(), "n_atoms": self.n_atoms_}
        settings |= {"n_batches": self.n_batches_, "n_features": self.n_features_in_}
        state = self.state_
        nothing = sparse.csr_array((0, state.dictionary.shape[1]))
        past = [learners.widen(P, n_columns=self.n_features_in_) for P in self.history_]
        arrays = state.arrays | ({"history": sparse.vstack(past, format="csr")} if past else {})
        point = checkpoints.Checkpoint(0, settings, state.dictionary, arrays, state.updates, nothing, 0.0)
        checkpoints.write(path, point)

    @classmethod
    def load(cls, path):
        """Read a detector written by `save`; it scores and learns on as if it had never stopped.

        Raises
        ------
        StorageError
            If the file is damaged, or not a detector's.
        """
        point = checkpoints.read(Path(path))
        settings = dict(point.chain)
        if not {"n_batches", "n_features", "growing"} <= settings.keys():
            raise ParameterError(f"{path} is a checkpoint of a workflow", "a file of NoveltyDetector.save", "load that")
        n_batches, n_features = settings.pop("n_batches"), settings.pop("n_features")
        arrays = dict(point.arrays)
        past = [arrays.pop("history")] if "history" in arrays else []
        sound = all(isinstance(number, int) for number in (n_features, settings.get("n_atoms")))
        sound &= all(HISTORY.fits(P, {"terms": n_features}) for P in past)
        unknown = settings.keys() - cls().get_params().keys()
        if unknown or not sound or point.dictionary.shape[0] != n_features:
            given = f"{path} has settings or a dictionary of another kind of detector"
            raise ParameterError(given, "a file of NoveltyDetector.save", "save it again with this version")
        detector = cls(**settings)
        detector.n_batches_, detector.n_features_in_ = n_batches, n_features
        detector.learner_, detector.history_, detector.n_atoms_ = detector.learner, past, detector.n_atoms
        held = replace(point, arrays=arrays)
        detector.state_ = learners.resume(detector._model(), held, n_features, detector.n_atoms_, path)
        return detector

    def _model(self):
        if not isinstance(self.settings, dict | None):
            raise ParameterError(f"settings is {self.settings!r}", "a dict of hyper-parameters", "pass a dict")
        return learners.make(self.learner, **(self.settings or {}))

    def _score(self, X):
        check_is_fitted(self, "state_")
        model = self._model()
        P = self._rows(X, model, reset=False)
        return novelty.score(model, model.fit_terms(self.state_, P.shape[1]), P)

    def _rows(self, X, model, reset):
        """Check the input and scale its rows to unit norm; a growing vocabulary may be wider than before."""
        least = self.n_atoms if reset else 1
        checks = {"accept_sparse": "csr", "dtype": np.float64, "ensure_min_samples": least}
        if self.growing and not reset:
            X = check_array(X, **checks)
            if X.shape[1] < self.n_features_in_:
                raise ValueError(f"X has {X.shape[1]} features, but NoveltyDetector knows {self.n_features_in_}.")
        else:
            X = validate_data(self, X, reset=reset, **checks)
        P = sparse.csr_array(X, copy=True)
        if P.nnz and P.data.min() < 0:
            raise ValueError("Negative values in data passed to NoveltyDetector: weights of terms are needed.")
        P.eliminate_zeros()
        if P.nnz and P.data.max() > 1e100:  # by the largest of the row first, so that no sum overflows
            filled = np.diff(P.indptr) > 0
            P.data /= np.repeat(np.maximum.reduceat(P.data, P.indptr[:-1][filled]), np.diff(P.indptr)[filled])
            P.eliminate_zeros()
        rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
        sizes = np.bincount(rows, P.data if model.norm == "l1" else P.data**2, minlength=P.shape[0])
        P.data /= (sizes if model.norm == "l1" else np.sqrt(sizes))[rows]
        return P
