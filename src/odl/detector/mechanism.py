"""Base class of `NoveltyDetector`: scale, score, explain and learn rows; save and load the state.

Files are written without pickle.
"""

import json
import os
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from odl import learners, novelty
from odl.alerts import calibration, reasons
from odl.config.chains import earlier_learner
from odl.config.sections import Alerts
from odl.detector.hyperparameters import LearnerSettings, check_integer, naming, seed_of
from odl.errors import OdlError, ParameterError
from odl.files import checkpoints
from odl.prox.projections import MatrixLike, check_structure

# Default `level` of `NoveltyDetector`, a tail probability. The `level` of `odl run` and
# `TextNovelty` has another default (`odl.config.sections.Alerts.level`).
DEFAULT_LEVEL = 0.05


class Mechanism(LearnerSettings):
    """Base class of detectors: the fitted state, and the methods that read and change it.

    The parameters are documented in `odl.detector.NoveltyDetector`.
    """

    level: float
    window: int
    budget: float | None
    _checked = ""  # values of the parameters that passed the last check

    @property
    def components_(self) -> sparse.csr_array:
        """Atoms in rows, shape (n_atoms_, n_features)."""
        check_is_fitted(self, "state_")
        return sparse.csr_array(self.state_.dictionary.T)

    @property
    def n_atoms_(self) -> int:
        """Number of atoms."""
        check_is_fitted(self, "state_")
        return self.state_.dictionary.shape[1]

    def explain(
        self,
        X: MatrixLike,
        *,
        n_words: int | None = None,
        n_atoms: int = 3,
        feature_names: Sequence[str] | None = None,
    ) -> list[reasons.Explanation]:
        """Explain the scores of documents by the shares of words and the most similar atoms.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)
        n_words : int, optional
            Maximum number of words per document. By default all words.
        n_atoms : int, default=3
            Maximum number of atoms per document.
        feature_names : sequence of str, optional
            Word of each column. By default the column names of the fitted data frame, or x0, x1,
            ...

        Returns
        -------
        list of odl.alerts.reasons.Explanation
            The sum of the shares of all words and of `context` is the score. The formulas are in
            docs/method.md.

        Examples
        --------
        >>> from odl import NoveltyDetector
        >>> detector = NoveltyDetector(n_atoms=1).fit([[2, 1, 0], [2, 1, 0], [2, 1, 0], [1, 2, 0]])
        >>> why = detector.explain([[2, 1, 1]], feature_names=["oil", "tanker", "orbit"])[0]
        >>> {word: round(share, 3) for word, share in why.words.items()}
        {'oil': 0.169, 'orbit': 0.167, 'tanker': -0.037}
        >>> round(sum(why.words.values()) + why.context, 3), round(why.score, 3)
        (0.298, 0.298)
        >>> why.atoms[0].number, round(why.atoms[0].cosine, 2)
        (0, 0.9)
        """
        P, scored = self._score_rows(X)
        model = self._model()
        names = self._names(P.shape[1]) if feature_names is None else feature_names
        if len(names) != P.shape[1]:
            raise ParameterError(
                f"{len(names)} feature_names for {P.shape[1]} columns",
                "a name for each column",
                "pass the names of all columns",
            )
        state = model.fit_terms(self.state_, P.shape[1])
        return reasons.explain(model, state, P, scored, names, n_words=n_words, n_atoms=n_atoms)

    def save(self, path: str | os.PathLike) -> None:
        """Write the detector to an HDF5 file, without pickle.

        If `random_state` is not an integer, the seed that was drawn from it is written instead.

        Parameters
        ----------
        path : path-like

        Examples
        --------
        >>> import os, tempfile
        >>> from odl import NoveltyDetector
        >>> folder = tempfile.TemporaryDirectory()
        >>> detector = NoveltyDetector().fit([[1, 2, 0], [0, 1, 2]])
        >>> detector.save(os.path.join(folder.name, "detector.h5"))
        >>> os.listdir(folder.name)
        ['detector.h5']
        """
        check_is_fitted(self, "state_")
        self._save(path, {}, {})

    def _save(self, path, settings, extra_arrays):
        """Write a file, with extra settings and arrays of an enclosing estimator."""
        state, n_features = self.state_, self.n_features_in_
        chain = {
            **self.get_params(deep=False),
            "n_atoms": self.max_atoms_,
            "random_state": self.seed_,
            **settings,
            "n_batches": self.n_batches_,
            "n_features": n_features,
        }
        names = {"words": self.words_, "features": [*getattr(self, "feature_names_in_", ())]}
        arrays = dict(state.arrays)
        if self.history_:
            past = [learners.widen(P, n_columns=n_features) for P in self.history_]
            arrays["history"] = sparse.vstack(past, format="csr")
        arrays |= {"window": self.window_, **extra_arrays, "names": as_bytes(names)}
        no_codes = sparse.csr_array((0, state.dictionary.shape[1]))
        checkpoint = checkpoints.Checkpoint(
            0, chain, state.dictionary, arrays, state.updates, no_codes, 0.0
        )
        checkpoints.write(path, checkpoint)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Read a detector written by `save`.

        Its results are identical to those of the saved detector, also after further batches.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        NoveltyDetector

        Raises
        ------
        StorageError
            If the file is damaged.
        ParameterError
            If the file was not written by `NoveltyDetector.save` of this version.

        Examples
        --------
        >>> import os, tempfile
        >>> from odl import NoveltyDetector
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "detector.h5")
        >>> NoveltyDetector(level=0.1).fit([[1, 2, 0], [0, 1, 2]]).save(path)
        >>> NoveltyDetector.load(path).level
        0.1
        """
        with refusing(path, cls.__name__):
            return cls._read(path)[0]

    @classmethod
    def _read(cls, path, setting=None, array_names=()):
        """Read a detector from a file of `_save`, with extra data of an enclosing estimator.

        Parameters
        ----------
        path : path-like
        setting : str, optional
            Key under which the enclosing estimator stored its settings.
        array_names : sequence of str
            Names of the arrays that the enclosing estimator stored.

        Returns
        -------
        detector : Mechanism
        extra_setting : object
            Settings of the enclosing estimator; None without `setting`.
        extra_arrays : dict of str to ndarray
            Arrays of the enclosing estimator.
        """
        checkpoint = checkpoints.read_checkpoint(Path(path))
        chain, arrays = dict(checkpoint.chain), dict(checkpoint.arrays)
        n_batches, n_features = chain.pop("n_batches"), chain.pop("n_features")
        extra_setting = chain.pop(setting) if setting else None
        extra_arrays = {name: arrays.pop(name) for name in array_names}
        window, names = arrays.pop("window"), json.loads(arrays.pop("names").tobytes())
        detector = cls(**chain)
        detector.n_batches_, detector.n_features_in_ = n_batches, n_features
        detector.learner_, detector.max_atoms_ = detector.learner, detector.n_atoms
        detector.seed_ = detector.random_state
        detector.history_ = [arrays.pop("history")] if "history" in arrays else []
        detector.window_, detector.words_ = window, names["words"]
        if names["features"]:
            detector.feature_names_in_ = np.array(names["features"], dtype=object)
        # A detector that was saved before `recency` became the default lacks its array.
        if getattr(detector._model(), "recency", 0) and "matches" not in arrays:
            detector.settings = earlier_learner(detector.learner) | (detector.settings or {})
        detector.state_ = learners.resume(
            detector._model(),
            replace(checkpoint, arrays=arrays),
            n_features,
            detector.n_atoms,
            path,
        )
        return detector, extra_setting, extra_arrays

    def _fit(self, X):
        """Check and learn the first batch; return the held-out scores that `_begin` returns."""
        model = self._model()
        self._check_parameters()
        return self._begin(self._rows(X, model, reset=True), model)

    def _rename(self):
        """Set `level` from `budget`, its deprecated name, with a warning."""
        if self.budget is not None:
            text = f"budget is called level: type {type(self).__name__}(level={self.budget!r})"
            warnings.warn(text, FutureWarning, stacklevel=4)
            self.level, self.budget = self.budget, None

    def _check_parameters(self):
        """Raise ParameterError for invalid parameters. Unchanged parameters are checked once."""
        self._rename()
        key = repr((self.n_atoms, self.folds, self.level, self.window))
        if key == self._checked:
            return
        for name, minimum in {"n_atoms": 1, "window": 1, "folds": 0}.items():
            check_integer(name, getattr(self, name), minimum)
        Alerts(level=self.level, window=self.window, warm_up=1)
        if self.level < 1 / (1 + self.window):
            raise ParameterError(
                f"level is {self.level!r} with a window of {self.window}, so no document is novel",
                f"a level of at least 1/{1 + self.window}",
                "raise level or window",
            )
        self._checked = key

    def _begin(self, P, model):
        """Learn the first dictionary, and fill the calibration window with held-out scores.

        All fitted attributes except `n_features_in_` are set.

        Returns
        -------
        ndarray
            Score of each document with a dictionary that was learned without it. It is nan for
            empty documents, and for all documents without folds.
        """
        seed = seed_of(self.random_state)
        state = self._start(P, model, seed)
        scores = self._held_out(P, model, seed)
        self.state_, self.seed_ = state, seed
        self.learner_, self.max_atoms_ = model.algorithm, int(self.n_atoms)
        self.history_ = [P] if model.needs_history else []
        self.window_ = scores[~np.isnan(scores)][-self.window :]
        self.words_, self.n_batches_ = {}, 1
        return scores

    def _start(self, P, model, seed):
        """Return the initial state of the learner: at most `n_atoms` atoms, one per document."""
        n_filled = np.count_nonzero(np.diff(P.indptr))
        if not n_filled:
            raise ParameterError(
                f"none of the {P.shape[0]} documents has a weight above 0",
                "at least one document with a weight above 0",
                "pass more documents",
            )
        todo = "change n_atoms or settings, or pass more documents in the first batch"
        with naming(f"n_atoms={self.n_atoms} with {n_filled} documents that have a weight", todo):
            state = model.start(
                P, min(int(self.n_atoms), n_filled), novelty.generator(seed, "start")
            )
        return model.with_room(state, int(self.n_atoms))

    def _held_out(self, P, model, seed):
        """Return the score of each document with a dictionary of the other folds.

        The score is nan for the same documents as in `_begin`.
        """
        scores = np.full(P.shape[0], np.nan)
        folds = min(self.folds, np.count_nonzero(np.diff(P.indptr)))
        fold_of = novelty.generator(seed, "folds").permutation(P.shape[0]) % max(folds, 1)
        for number in range(folds if folds > 1 else 0):
            fold = fold_of == number
            try:
                state = self._start(P[~fold], model, seed)
            except ParameterError:
                # The other folds have too few documents for the learner, for example for a tree of
                # fixed size. The scores of this fold remain nan.
                continue
            scored = novelty.score(model, state, P[fold])
            scores[fold] = np.where(scored.empty, np.nan, scored.score)
        return scores

    def _model_as_fitted(self):
        """Return the learner; raise ParameterError if it is not that of the earlier batches."""
        model = self._model()
        self._check_parameters()
        if model.algorithm != self.learner_:
            raise ParameterError(
                f"learner is {model.algorithm}",
                f"{self.learner_}, the learner of the earlier batches",
                "call fit to start with another learner",
            )
        return model

    def _learn(self, P, model, scored):
        """Learn rows P whose scores are `scored`."""
        state = model.fit_terms(self.state_, P.shape[1])
        state = novelty.learn(model, state, P, scored, self.history_)
        self._take(P, model, scored, state)

    def _take(self, P, model, scored, state):
        """Store the updated state, and append the scores of the batch to the calibration window."""
        self.state_ = state
        if model.needs_history:
            self.history_ = [*self.history_, P]
        self.window_ = calibration.recent_after(self.window_, scored, self.window)
        self.n_features_in_ = P.shape[1]
        self.n_batches_ += 1

    def _scored(self, P, model):
        """Score rows, which may have more columns than earlier batches."""
        return novelty.score(model, model.fit_terms(self.state_, P.shape[1]), P)

    def _score_rows(self, X):
        """Return (input as rows of unit norm, their scores as `odl.novelty.Novelty`)."""
        check_is_fitted(self, "state_")
        model = self._model()
        P = self._rows(X, model, reset=False)
        return P, self._scored(P, model)

    def _rows(self, X, model, reset):
        """Check the input and scale its rows to unit norm.

        With `growing`, X may have more columns than earlier batches.
        """
        checks = {"accept_sparse": "csr", "dtype": np.float64}
        if not reset and self._is_valid(X):
            return scale_rows(X, model.norm)
        if sparse.issparse(X) and X.ndim == 2:
            check_structure(X, "X")
        if self.growing and not reset:
            self._grown_names(X)
            X = check_array(X, **checks)
            if X.shape[1] < self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but NoveltyDetector knows {self.n_features_in_}."
                )
        else:
            X = validate_data(self, X, reset=reset, **checks)
        return scale_rows(X, model.norm)

    def _is_valid(self, X):
        """Return whether X is a valid CSR matrix of the expected types and size.

        scikit-learn's checks can then be skipped. They take as long as learning one document.
        """
        is_csr = isinstance(X, sparse.csr_array | sparse.csr_matrix) and X.ndim == 2
        if not is_csr or X.shape[0] == 0 or hasattr(self, "feature_names_in_"):
            return False
        if (X.dtype, X.indices.dtype) != (np.float64, np.int32):
            return False
        n_new = X.shape[1] - self.n_features_in_
        if n_new < 0 or (n_new > 0 and not self.growing):
            return False
        starts, indices = X.indptr, X.indices.view(np.uint32)  # negative indices become large
        if starts[0] != 0 or not starts[-1] == len(indices) == len(X.data):
            return False
        has_valid_indices = np.diff(starts).min() >= 0 and indices.max(initial=0) < X.shape[1]
        return bool(has_valid_indices and np.isfinite(X.data).all())

    def _grown_names(self, X):
        """Return the column names of a data frame that may have new columns, or None.

        Raises
        ------
        ParameterError
            If the first columns are not those of earlier batches.
        """
        earlier = getattr(self, "feature_names_in_", None)
        if not self.growing or earlier is None or not hasattr(X, "columns"):
            return None
        names = np.asarray(X.columns, dtype=object)
        if names[: len(earlier)].tolist() != earlier.tolist():
            raise ParameterError(
                f"columns {names[:3].tolist()} ...",
                f"first the {len(earlier)} columns of earlier batches, in their order",
                "append new columns on the right",
            )
        return names

    def _names(self, n_features):
        """Return the word or name of each column."""
        given = getattr(self, "feature_names_in_", ())
        names = [*given, *(f"x{column}" for column in range(len(given), n_features))]
        words = {column: word for word, column in self.words_.items()}
        return [words.get(column, name) for column, name in enumerate(names)]


def scale_rows(X, norm):
    """Scale documents to rows of unit norm, without stored zeros.

    Parameters
    ----------
    X : array or sparse matrix, shape (n_documents, n_features)
        Finite weights.
    norm : {"l1", "l2"}

    Returns
    -------
    csr_array of float64
        A copy; a document without weights becomes an empty row.

    Raises
    ------
    ValueError
        If a weight is negative.
    """
    P = sparse.csr_array(X, copy=True)
    P.sum_duplicates()
    if P.nnz and P.data.min() < 0:
        raise ValueError(
            "Negative values in data passed to NoveltyDetector; expected weights of terms."
        )
    P.eliminate_zeros()
    if P.nnz and P.data.max() > 1e100:
        # Divide by the largest weight of each row first, so that no sum overflows.
        sizes = np.diff(P.indptr)
        largest = np.maximum.reduceat(P.data, P.indptr[:-1][sizes > 0])
        P.data /= np.repeat(largest, sizes[sizes > 0])
        P.eliminate_zeros()
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    sums = np.bincount(rows, P.data if norm == "l1" else P.data**2, minlength=P.shape[0])
    P.data /= (sums if norm == "l1" else np.sqrt(sums))[rows]
    return P


@contextmanager
def refusing(path, kind):
    """Convert errors of reading a file into a ParameterError (context manager).

    Errors of this package, for example about a damaged file, are not converted.
    """
    try:
        yield
    except OdlError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ParameterError(
            f"{path} was written by another program or version",
            f"a file of {kind}.save of this version",
            "learn again, and save",
        ) from error


def as_bytes(value):
    """Return a value as JSON in an array of bytes."""
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), dtype=np.uint8)
