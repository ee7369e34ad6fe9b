"""Estimator in the style of scikit-learn that scores documents by a learned dictionary."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from odl import novelty
from odl.alerts import calibration
from odl.config.project import LEARNER
from odl.config.sections import Alerts
from odl.detector.mechanism import DEFAULT_LEVEL, Mechanism
from odl.errors import ParameterError
from odl.evaluation import metrics
from odl.prox.projections import MatrixLike


@dataclass(eq=False, repr=False)
class NoveltyDetector(Mechanism, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Detector of documents that a dictionary of earlier documents does not explain.

    The score of a document is its residual with the dictionary, and documents with rare scores are
    flagged. **High scores are novel.** `predict` returns 1 for novel and 0 for known documents;
    `predict_outliers` returns -1 and 1, like the outlier detectors of scikit-learn. With the L1
    learners, the score of a document p is min_{x >= 0} ||p - A x||_1 + lam ||x||_1. It is near lam
    if the topics of the document are known, and 1 if no atom explains it. Scores of the other
    learners are documented in their classes in `odl.learners`.

    Parameters
    ----------
    learner : str, default="levels"
        Algorithm that updates the dictionary, a name of `odl.learners.LEARNERS`. "batch" and
        "batch_l2" store all documents, in memory and in the file of `save`.
    n_atoms : int, default=100
        Maximum number of atoms of the initial dictionary. The dictionary has fewer (`n_atoms_`) if
        the first batch has fewer documents. Some learners change the number later. "levels" uses
        its hyper-parameter `memory` instead.
    settings : dict, optional
        Hyper-parameters of the learner (see its class in `odl.learners`), e.g. ``{"gamma": 4.0}``.
        A single hyper-parameter is set by ``set_params(settings__gamma=4.0)``, and is named
        "settings__gamma" in a grid search.
    growing : bool, default=False
        Whether later batches may have more columns. New terms are appended on the right.
    random_state : int, RandomState, Generator or None, default=0
        Seed for the choice of the documents that initialise atoms, or a generator from which it is
        drawn. None uses numpy's global state.
    level : float, default=0.05
        Largest tail probability of a novel document, so that at most this share of known documents
        is flagged. `level` must be at least 1 / (1 + `window`), the smallest tail probability.
        `level` may be changed after `fit`.
    window : int, default=2000
        Number of last scores with which a new score is compared. Each of these scores was computed
        before its document was learned.
    folds : int, default=3
        Number of random folds of the first batch. Each fold is scored by a dictionary of the other
        folds, and these scores fill the window. This takes folds - 1 times as long as learning the
        batch. With 0, the window is empty, and no document is flagged before the second batch has
        been scored.
    budget : float, optional
        Deprecated name of `level`.

    Attributes
    ----------
    components_ : csr_array, shape (n_atoms_, n_features)
        Atoms in rows. They are non-negative, with unit l2 norm or l1 norm at most 1, depending on
        the learner.
    n_atoms_ : int
        Number of atoms.
    window_ : ndarray
        Scores of the calibration window, oldest first.
    state_ : odl.learners.State
        State of the learner.
    history_ : list of csr_array
        All documents so far, if the learner needs them (`odl.learners.Learner.needs_history`).
    seed_ : int
        Seed that was used.
    n_features_in_ : int
    n_batches_ : int
        Number of batches learned, including the first.

    Notes
    -----
    Input rows are non-negative weights (TF-IDF or counts), which are scaled to the norm of the
    learner. If known documents are exchangeable with those of the window, at most a share of
    `level` of them is flagged (`odl.alerts.calibration.tail_probability`). They are not
    exchangeable while the dictionary changes fast: the first steps of dual averaging raise all
    scores, and more documents are flagged in one or two batches. Ties count as larger scores, so no
    document is flagged if more than a share of `level` of the window has the largest score. Such
    ties can occur with L1 learners. An empty document has the score 1 and is never flagged. The
    method is the mechanism GENNVL of the ICASSP 2013 paper.

    Examples
    --------
    >>> import numpy as np
    >>> from odl import NoveltyDetector
    >>> known = np.random.default_rng(0).poisson(2.0, (60, 8)) * [1, 1, 1, 1, 0, 0, 0, 0]
    >>> detector = NoveltyDetector(n_atoms=2).partial_fit(known).partial_fit(known)
    >>> new = np.array([[1, 2, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 2, 1, 1]])
    >>> detector.score_samples(new).argmax()
    np.int64(1)
    >>> detector.predict(new)
    array([0, 1])
    """

    learner: str = LEARNER
    n_atoms: int = 100
    settings: dict[str, Any] | None = None
    growing: bool = False
    random_state: Any = 0
    _: KW_ONLY
    level: float = DEFAULT_LEVEL
    window: int = Alerts.window
    folds: int = 3
    budget: float | None = None

    def __post_init__(self):
        self._rename()

    _container = cast("str | None", None)  # argument of `set_output`

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.requires_fit = True
        return tags

    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Self:
        """Learn a new dictionary from a batch, and fill the window with scores of its folds.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)
        y : ignored

        Returns
        -------
        NoveltyDetector

        Examples
        --------
        >>> import numpy as np
        >>> from odl import NoveltyDetector
        >>> NoveltyDetector().fit(np.eye(4)).n_atoms_  # at most one atom per document
        4
        """
        self._fit(X)
        return self

    def partial_fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Self:
        """Score a batch, add its scores to the calibration window, then learn from the batch.

        The first call does the same as `fit`.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)
        y : ignored

        Returns
        -------
        NoveltyDetector

        Examples
        --------
        >>> import numpy as np
        >>> from odl import NoveltyDetector
        >>> NoveltyDetector().partial_fit(np.eye(4)).partial_fit(np.eye(4)).n_batches_
        2
        """
        if not hasattr(self, "state_"):
            return self.fit(X)
        model = self._model_as_fitted()
        names = self._grown_names(X)
        P = self._rows(X, model, reset=False)
        state = model.fit_terms(self.state_, P.shape[1])
        self._take(P, model, *novelty.score_and_learn(model, state, P, self.history_))
        if names is not None:
            self.feature_names_in_ = names
        return self

    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """Return the novelty score of each document. Larger scores are more novel.

        The score of an empty document is 1.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)

        Returns
        -------
        ndarray, shape (n_documents,)

        Examples
        --------
        >>> import numpy as np
        >>> from odl import NoveltyDetector
        >>> detector = NoveltyDetector(n_atoms=1).fit([[2, 1, 0], [2, 1, 0], [2, 1, 0], [1, 2, 0]])
        >>> detector.score_samples([[2, 1, 0], [0, 0, 1]]).round(2)
        array([0.23, 1.  ])
        """
        return self._score_rows(X)[1].score

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return log(level / p), where p is the tail probability of each score.

        The result is at least 0 for novel documents. p is the share of the scores that are at least
        as large as the score of the document, among this score and those of the window
        (`odl.alerts.calibration.tail_probability`). All documents whose scores exceed all scores of
        the window have the same p; `score_samples` ranks them.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)

        Returns
        -------
        ndarray, shape (n_documents,)

        Examples
        --------
        >>> import numpy as np
        >>> from odl import NoveltyDetector
        >>> known = np.random.default_rng(0).poisson(2.0, (60, 8)) * [1, 1, 1, 1, 0, 0, 0, 0]
        >>> detector = NoveltyDetector(n_atoms=2).fit(known)
        >>> (detector.decision_function(known[:1] + [0, 0, 0, 0, 9, 9, 9, 9]) > 0).item()
        True
        """
        self._check_parameters()
        tail, _ = calibration.tails(self._score_rows(X)[1], self.window_)
        return np.log(self.level / tail)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return 1 for each novel document, 0 for each known document.

        A document is novel if its `decision_function` is at least 0.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)

        Returns
        -------
        ndarray of int, shape (n_documents,)

        Examples
        --------
        >>> import numpy as np
        >>> from odl import NoveltyDetector
        >>> known = np.random.default_rng(0).poisson(2.0, (60, 8)) * [1, 1, 1, 1, 0, 0, 0, 0]
        >>> batch = [[0, 0, 0, 0, 1, 2, 1, 1], [1, 2, 1, 1, 0, 0, 0, 0]]
        >>> NoveltyDetector(n_atoms=2).fit(known).predict(batch)
        array([1, 0])
        """
        return (self.decision_function(X) >= 0.0).astype(np.int64)

    def predict_outliers(self, X: MatrixLike) -> np.ndarray:
        """Return -1 for each novel document, 1 for each known document.

        This is the convention of scikit-learn's outlier detectors.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)

        Returns
        -------
        ndarray of int, shape (n_documents,)

        Examples
        --------
        >>> import numpy as np
        >>> from odl import NoveltyDetector
        >>> known = np.random.default_rng(0).poisson(2.0, (60, 8)) * [1, 1, 1, 1, 0, 0, 0, 0]
        >>> batch = [[0, 0, 0, 0, 1, 2, 1, 1], [1, 2, 1, 1, 0, 0, 0, 0]]
        >>> NoveltyDetector(n_atoms=2).fit(known).predict_outliers(batch)
        array([-1,  1])
        """
        return 1 - 2 * self.predict(X)

    def fit_predict(self, X: MatrixLike, y: ArrayLike | None = None) -> np.ndarray:
        """Fit a batch, and return 1 for each novel document in it, 0 for each known document.

        Each document is scored by a dictionary that was learned from the other folds, whereas
        `predict` after `fit` would use a dictionary that was learned from the document. At most a
        share of `level` of the documents is novel. With ``folds=0`` no document is novel.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)
        y : ignored

        Returns
        -------
        ndarray of int, shape (n_documents,)

        Examples
        --------
        >>> import numpy as np
        >>> from odl import NoveltyDetector
        >>> batch = np.random.default_rng(0).poisson(2.0, (60, 8)) * [1, 1, 1, 1, 0, 0, 0, 0]
        >>> batch[7] = [0, 0, 0, 0, 1, 2, 1, 1]
        >>> NoveltyDetector(level=1 / 60).fit_predict(batch).nonzero()[0]
        array([7])
        """
        return (calibration.among(self._fit(X)) <= self.level).astype(np.int64)

    def transform(self, X: MatrixLike) -> Any:
        """Return the codes of the documents, the weight of each atom in each document.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)

        Returns
        -------
        csr_array, shape (n_documents, n_atoms_)
            A data frame after ``set_output(transform="pandas")``.

        Examples
        --------
        >>> from odl import NoveltyDetector
        >>> detector = NoveltyDetector(n_atoms=2).set_output(transform="pandas")
        >>> list(detector.fit([[1, 2, 0], [0, 1, 2]]).transform([[1, 2, 0]]).columns)
        ['noveltydetector0', 'noveltydetector1']
        """
        codes = self._score_rows(X)[1].codes
        container = self._container or get_config()["transform_output"]
        return codes if container == "default" else codes.toarray()

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the output type of `transform`.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            "default" is a sparse matrix, the others are data frames. None changes nothing.

        Returns
        -------
        NoveltyDetector

        Examples
        --------
        >>> from odl import NoveltyDetector
        >>> detector = NoveltyDetector(n_atoms=2).fit([[1, 2, 0], [0, 1, 2]])
        >>> detector.set_output(transform="pandas").transform([[1, 2, 0]]).shape
        (1, 2)
        """
        super().set_output(transform=transform)
        self._container = transform or self._container
        return self

    def __sklearn_clone__(self):
        clone = super().__sklearn_clone__()
        clone._container = self._container
        return clone

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """Return the area under the ROC curve of the scores. Ties count half.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_features)
        y : array-like, shape (n_documents,)
            Values above 0 are novel documents, 0 known documents. Unlabelled documents have values
            below 0 and are ignored.

        Returns
        -------
        float

        Raises
        ------
        ParameterError
            If y is None, or does not have both novel and known documents.

        Examples
        --------
        >>> from odl import NoveltyDetector
        >>> detector = NoveltyDetector(n_atoms=1).fit([[2, 1, 0], [2, 1, 0], [2, 1, 0], [1, 2, 0]])
        >>> detector.score([[2, 1, 0], [0, 0, 1]], [0, 1])
        1.0
        """
        scores = self.score_samples(X)
        if y is None:
            raise ParameterError(
                "y is None", "1 (novel) or 0 (known) for each document", "pass labels as y"
            )
        labels = np.asarray(y)
        value = metrics.auc(scores, np.sign(labels) if labels.dtype.kind in "iuf" else labels)
        if np.isnan(value):
            raise ParameterError(
                f"y has the values {np.unique(labels)[:5].tolist()}",
                "documents with 1 (novel) and with 0 (known)",
                "pass labels of both kinds",
            )
        return value

    @property
    def _n_features_out(self):
        return self.n_atoms_
