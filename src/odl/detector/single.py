"""One document at a time, in the manner of river: a dict of words and weights is scored, then learned."""

import numbers
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from odl.detector.mechanism import Mechanism, scaled
from odl.errors import ParameterError


class OneByOne(Mechanism):
    """Methods for one document: it is scored at once, and learned with the others of its batch.

    The learners learn from batches, so documents wait in `pending_` until there are `batch_size` of them. A batch has
    then been scored before it is learned, as by `partial_fit`, and gives the same detector.

    Attributes
    ----------
    pending_ : list of dict
        Documents that wait: column to weight.
    words_ : dict of str to int
        Column of each word, where documents come as words and weights.
    """

    batch_size: int

    def score_one(self, x: Mapping[str, float] | Sequence[float]) -> float:
        """Return the novelty score of one document; nan before a first batch was learned.

        Parameters
        ----------
        x : mapping of str to float, or sequence of float
            Weight of each word, or of each column.

        Returns
        -------
        float

        Examples
        --------
        >>> from odl import NoveltyDetector
        >>> detector = NoveltyDetector(batch_size=2, growing=True)
        >>> for document in ({"oil": 1, "tanker": 2}, {"oil": 2, "tanker": 1}):
        ...     detector = detector.learn_one(document)
        >>> detector.score_one({"rocket": 1})
        1.0
        """
        if not hasattr(self, "state_"):
            return float("nan")
        return float(self._scored_one(x).score[0])

    def predict_one(self, x: Mapping[str, float] | Sequence[float]) -> int:
        """Return 1 if one document is novel at the level, 0 if it is known or nothing was learned yet.

        Parameters
        ----------
        x : mapping of str to float, or sequence of float

        Returns
        -------
        int

        Examples
        --------
        >>> from odl import NoveltyDetector
        >>> NoveltyDetector().predict_one({"rocket": 1})
        0
        """
        level = self._level()
        return int(hasattr(self, "state_") and self._tail(self._scored_one(x))[0] <= level)

    def learn_one(self, x: Mapping[str, float] | Sequence[float]) -> Self:
        """Put one document to those that wait, and learn them once there are `batch_size`.

        Parameters
        ----------
        x : mapping of str to float, or sequence of float
            Words that were not in the first batch need ``growing=True``.

        Returns
        -------
        NoveltyDetector

        Examples
        --------
        >>> from odl import NoveltyDetector
        >>> detector = NoveltyDetector(batch_size=2).learn_one({"oil": 1})
        >>> len(detector.pending_), hasattr(detector, "state_")
        (1, False)
        >>> detector.learn_one({"tanker": 1}).n_batches_
        1
        """
        model = self._model_as_fitted() if hasattr(self, "state_") else self._model()
        self._check_parameters()
        document, new = self._columns(x)
        self.pending_ = [*getattr(self, "pending_", []), document]
        self.words_ = getattr(self, "words_", {})
        self.words_.update(new)
        if len(self.pending_) < self.batch_size:
            return self
        words, P = self.words_, scaled(self._matrix(self.pending_), model.norm)
        if hasattr(self, "state_"):
            self._advance(P, model)
        else:
            self._begin(P, model)
            self.n_features_in_ = P.shape[1]
        self.pending_, self.words_ = [], words
        return self

    def _scored_one(self, x):
        """Return the novelty of one document; what it has of new words is not remembered."""
        check_is_fitted(self, "state_")
        model = self._model()
        return self._scored(scaled(self._matrix([self._columns(x)[0]]), model.norm), model)

    def _columns(self, x):
        """Return a document as column to weight, and the columns of its new words."""
        known, new, width = getattr(self, "words_", {}), {}, getattr(self, "n_features_in_", 0)
        if not isinstance(x, Mapping):
            x = dict(enumerate(np.asarray(x, dtype=np.float64).ravel().tolist()))
        elif not all(isinstance(word, str) for word in x):
            raise ParameterError(
                f"a document with the words {[*x][:3]}", "text as words", "pass a dict of str to float"
            )
        else:
            if not known:
                new = {name: column for column, name in enumerate(getattr(self, "feature_names_in_", ()))}
            end = max(next(reversed(known.values()), -1) + 1, width)  # columns are given in rising order
            for word in x:
                if word not in known and word not in new:
                    new[word], end = end, end + 1
            x = {known.get(word, new.get(word)): weight for word, weight in x.items()}
        fixed = hasattr(self, "state_") and not self.growing
        for column, weight in x.items():
            if not isinstance(weight, numbers.Real) or not 0 <= weight < float("inf"):
                raise ParameterError(f"the weight {weight!r}", "a finite number of at least 0", "correct the document")
            if fixed and column >= width:
                name = next((word for word, place in new.items() if place == column), f"column {column}")
                expected = f"one of the {width} words of the first batch"
                raise ParameterError(f"the new word {name!r}", expected, "drop it, or construct with growing=True")
        return {int(column): float(weight) for column, weight in x.items()}, new

    def _matrix(self, documents):
        """Return documents as rows, as wide as what is known and what they have."""
        width = max((max(one, default=-1) + 1 for one in documents), default=0)
        width = max(width, next(reversed(self.words_.values()), -1) + 1, getattr(self, "n_features_in_", 0))
        ends = np.cumsum([0, *map(len, documents)])
        columns = np.array([column for one in documents for column in one], dtype=np.int32)
        weights = np.array([weight for one in documents for weight in one.values()])
        return sparse.csr_array((weights, columns, ends), shape=(len(documents), width)).sorted_indices()
