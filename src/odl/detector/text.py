"""TextNovelty: a data frame of texts in, scores, alerts and reasons out, with the stream's own words and weights."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from odl import novelty
from odl.alerts import reasons
from odl.alerts.calibration import among
from odl.corpora import text
from odl.detector import frames, rows
from odl.detector.estimator import NoveltyDetector
from odl.detector.settings import LearnerSettings
from odl.errors import ParameterError
from odl.stream.batching import PERIODS
from odl.stream.terms import number_terms
from odl.stream.weighting import weigh

if TYPE_CHECKING:
    import pandas

OF_DETECTOR = ("learner", "n_atoms", "settings", "random_state", "budget", "window", "folds")
OF_TEXT = ("text", "time", "id", "period", "initial", "tokens", "tf", "idf", "min_df", "n_reasons")


class TextNovelty(LearnerSettings, BaseEstimator):
    """Find what is new in a stream of texts: `update` scores documents by the past, then learns them.

    Words are split, numbered and weighed as in the workflow: the vocabulary grows, and a weight depends on the batches
    before only. Give texts in the order in which they came, batch after batch.

    Parameters
    ----------
    learner, n_atoms, settings, random_state, budget, window, folds
        As of `NoveltyDetector`.
    text : str, default="text"
        Column of the texts.
    time, id : str, optional
        Columns of times (as `odl.corpora.fields.parse_time` reads them) and ids; by default "time" and "id" where
        there are such columns. Without a time the order is that of the frame, without an id its index is taken.
    period : {"day", "week", "month", "year"}, optional
        Calendar period (UTC) of one batch; by default each call is one batch. Pass whole periods.
    initial : int, default=200
        With a period, documents of the first batch at least.
    tokens : dict, optional
        lowercase, pattern, stop_words, as `odl.corpora.text.token_options` has them.
    tf : {"log", "raw"}, default="log"
    idf : bool, default=True
        Inverse frequency in the documents of earlier batches (of the first batch: in itself).
    min_df : int, default=0
        Words of fewer earlier documents are left out.
    n_reasons : int, default=5
        Words that say why at most.

    Attributes
    ----------
    detector_ : NoveltyDetector
        Its `words_` are the vocabulary.
    frequencies_ : ndarray of int64
        Documents so far that hold each word.
    n_documents_ : int

    Examples
    --------
    >>> import pandas as pd
    >>> from odl import TextNovelty
    >>> old = pd.DataFrame({"text": ["tanker carries crude oil", "oil refinery closes", "crude oil falls"] * 20})
    >>> new = pd.DataFrame({"text": ["crude oil tanker", "rocket lifts satellite", "satellite reaches orbit"]})
    >>> stream = TextNovelty(n_atoms=10)
    >>> first = stream.update(old)  # nothing is flagged in the first batch
    >>> stream.update(new)[["alert", "reasons"]].values.tolist()[1]
    [True, 'satellite, lifts, rocket']
    """

    def __init__(
        self,
        learner: str = "adaptive",
        n_atoms: int = 500,
        settings: dict[str, Any] | None = None,
        random_state: Any = 0,
        *,
        budget: float = 0.05,
        window: int = 2000,
        folds: int = 3,
        text: str = "text",
        time: str | None = None,
        id: str | None = None,
        period: str | None = None,
        initial: int = 200,
        tokens: dict[str, Any] | None = None,
        tf: str = "log",
        idf: bool = True,
        min_df: int = 0,
        n_reasons: int = 5,
    ) -> None:
        self.learner = learner
        self.n_atoms = n_atoms
        self.settings = settings
        self.random_state = random_state
        self.budget = budget
        self.window = window
        self.folds = folds
        self.text = text
        self.time = time
        self.id = id
        self.period = period
        self.initial = initial
        self.tokens = tokens
        self.tf = tf
        self.idf = idf
        self.min_df = min_df
        self.n_reasons = n_reasons

    def update(self, frame: Any) -> "pandas.DataFrame":
        """Score documents by those before them, then learn them, batch by batch.

        Parameters
        ----------
        frame : pandas.DataFrame or list of str
            Frames of polars or pyarrow are converted to pandas; of a list, the texts are all that is known.

        Returns
        -------
        pandas.DataFrame
            Index of the frame; columns id, time (milliseconds since 1970, where there are times), batch, score, tail
            (share of recent scores that are at least as large), alert (tail within the budget) and reasons (words with
            the largest shares of the score; those that no other document has come last). In the first batch, documents
            are scored in parts that are held out in turn, tail is among themselves, and nothing is flagged.

        Examples
        --------
        >>> import pandas as pd
        >>> from odl import TextNovelty
        >>> frame = pd.DataFrame({"day": ["2026-01-05", "2026-01-06", "2026-01-14"], "text": ["oil", "oil", "orbit"]})
        >>> TextNovelty(time="day", period="week", initial=1, folds=0).update(frame)[["batch", "score"]].values.tolist()
        [[0.0, nan], [0.0, nan], [1.0, 1.0]]
        """
        self._check()
        index, ids, times, texts = frames.read_frame(frame, self.text, self.time, self.id)
        initial = 0 if hasattr(self, "detector_") else self.initial
        batches = frames.batches(times, len(texts), self.period, initial)
        return frames.table(index, ids, times, [self._step(batch, texts) for batch in batches])

    def judge(self, frame: Any) -> "pandas.DataFrame":
        """Score documents as one batch by what was learned so far, and learn nothing; the frame is as of `update`.

        Parameters
        ----------
        frame : pandas.DataFrame or list of str

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import pandas as pd
        >>> from odl import TextNovelty
        >>> stream = TextNovelty()
        >>> learned = stream.update(pd.DataFrame({"text": ["oil tanker", "oil refinery", "crude oil"]}))
        >>> stream.judge(pd.DataFrame({"text": ["rocket in orbit"]})).loc[0, "score"]
        np.float64(1.0)
        """
        self._check_learned()
        self._check()
        index, ids, times, texts = frames.read_frame(frame, self.text, self.time, self.id)
        P, words, counts = self._weighed(texts)
        found = self._found(np.arange(len(texts)), P, words, counts)[0]
        return frames.table(index, ids, times, [found])

    def explain(
        self, texts: Sequence[str], *, n_words: int | None = None, n_atoms: int = 3
    ) -> list[reasons.Explanation]:
        """Say why texts have their scores, as `NoveltyDetector.explain` does.

        Parameters
        ----------
        texts : list of str
            Scored as one batch.
        n_words, n_atoms : int

        Returns
        -------
        list of odl.alerts.reasons.Explanation

        Examples
        --------
        >>> import pandas as pd
        >>> from odl import TextNovelty
        >>> stream = TextNovelty()
        >>> learned = stream.update(pd.DataFrame({"text": ["oil tanker", "oil refinery", "crude oil"]}))
        >>> {word: round(share, 3) for word, share in stream.explain(["rocket in orbit"])[0].words.items()}
        {'orbit': 0.5, 'rocket': 0.5}
        """
        self._check_learned()
        self._check()
        if isinstance(texts, str) or not all(isinstance(one, str) for one in texts):
            raise ParameterError("texts that are no list of texts", "a list of str", "pass e.g. the column of a frame")
        P, words, _ = self._weighed(list(texts))
        model, detector = self._learner(), self.detector_
        found, state = detector._scored(P, model), model.fit_terms(detector.state_, P.shape[1])
        return reasons.explain(model, state, P, found, words, n_words=n_words, n_atoms=n_atoms)

    def save(self, path: str | os.PathLike) -> None:
        """Write all that was learned, with vocabulary and frequencies, to an HDF5 file (nothing is pickled).

        Parameters
        ----------
        path : path-like

        Examples
        --------
        >>> import os, tempfile
        >>> import pandas as pd
        >>> from odl import TextNovelty
        >>> folder = tempfile.TemporaryDirectory()
        >>> stream = TextNovelty()
        >>> learned = stream.update(pd.DataFrame({"text": ["oil tanker", "oil refinery", "crude oil"]}))
        >>> stream.save(os.path.join(folder.name, "stream.h5"))
        >>> os.listdir(folder.name)
        ['stream.h5']
        """
        self._check_learned()
        own = {name: getattr(self, name) for name in OF_TEXT} | {"n_documents": self.n_documents_}
        self.detector_._save(path, {"text": own}, {"frequencies": self.frequencies_})

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Read what `save` wrote; it goes on as if it had never stopped.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        TextNovelty

        Raises
        ------
        StorageError
            If the file is damaged.
        ParameterError
            If it is not of `TextNovelty.save`.

        Examples
        --------
        >>> import os, tempfile
        >>> import pandas as pd
        >>> from odl import TextNovelty
        >>> folder = tempfile.TemporaryDirectory()
        >>> stream, path = TextNovelty(), os.path.join(folder.name, "stream.h5")
        >>> learned = stream.update(pd.DataFrame({"text": ["oil tanker", "oil refinery", "crude oil"]}))
        >>> stream.save(path)
        >>> TextNovelty.load(path).n_documents_
        3
        """
        detector, own, arrays = NoveltyDetector._read(path, "text", ("frequencies",))
        frequencies = arrays["frequencies"]
        sound = isinstance(own, dict) and own.keys() == {*OF_TEXT, "n_documents"}
        sound = sound and isinstance(own["n_documents"], int) and getattr(frequencies, "dtype", None) == np.int64
        sound = sound and frequencies.shape == (len(detector.words_),) == (detector.n_features_in_,)
        sound = sound and 0 <= frequencies.min(initial=0) <= frequencies.max(initial=0) <= own["n_documents"]
        if not sound:
            raise ParameterError(f"{path} has no words and frequencies", "a file of TextNovelty.save", "load that")
        n_documents = own.pop("n_documents")
        stream = cls(**{name: getattr(detector, name) for name in OF_DETECTOR}, **own)
        stream.detector_, stream.frequencies_, stream.n_documents_ = detector, frequencies, n_documents
        return stream

    def _check(self):
        """Refuse parameters that cannot be, and pass on to the detector what may be changed as it goes."""
        for name, least in {"initial": 1, "min_df": 0, "n_reasons": 0}.items():
            rows.check_whole(name, getattr(self, name), least)
        if self.period is not None and self.period not in PERIODS:
            expected = f"one of {', '.join(PERIODS)}, or None"
            raise ParameterError(f"period is {self.period!r}", expected, "correct period")
        if self.tf not in ("log", "raw"):
            raise ParameterError(f"tf is {self.tf!r}", "'log' or 'raw'", "correct tf")
        rows.check_share("budget", self.budget)
        if hasattr(self, "detector_"):
            held = ("learner", "settings", "budget", "window")  # `n_atoms` and the seed are of the first batch
            self.detector_.set_params(**{name: getattr(self, name) for name in held})

    def _check_learned(self):
        if not hasattr(self, "detector_"):
            raise NotFittedError("This TextNovelty has learned nothing yet: call update with documents first.")

    def _learner(self):
        return self.detector_._model_as_fitted() if hasattr(self, "detector_") else self._model()

    def _weighed(self, texts):
        """Return texts as rows of unit norm, the words of all columns, and their counts."""
        counts, found = text.count_words(texts, self.tokens)
        words = [*self.detector_.words_] if hasattr(self, "detector_") else []
        columns = number_terms(found, words)
        counts = sparse.csr_array((counts.data, columns[counts.indices], counts.indptr), (len(texts), len(words)))
        counts = counts.sorted_indices()
        if hasattr(self, "detector_"):
            frequencies, n_before = self.frequencies_, self.n_documents_
            frequencies = np.pad(frequencies, (0, len(words) - len(frequencies)))
        else:
            frequencies, n_before = _after(np.zeros(0, dtype=np.int64), counts), len(texts)
        options = {"tf": self.tf, "idf": self.idf, "min_df": self.min_df, "norm": self._learner().norm}
        return weigh(counts, frequencies, n_before, **options), words, counts

    def _step(self, batch, texts):
        """Score and learn one batch; return its part of the table."""
        P, words, counts = self._weighed([texts[row] for row in batch])
        if not hasattr(self, "detector_"):
            detector = NoveltyDetector(growing=True, **{name: getattr(self, name) for name in OF_DETECTOR})
            detector._check_parameters()
            score = detector._begin(P, detector._model())
            detector.n_features_in_ = P.shape[1]
            self.detector_, self.frequencies_, self.n_documents_ = detector, np.zeros(0, dtype=np.int64), 0
            part = {"row": batch, "batch": 0, "score": score, "tail": among(score), "alert": np.zeros(len(batch), bool)}
            part["reasons"] = [""] * len(batch)
        else:
            part, found = self._found(batch, P, words, counts)
            self.detector_._learn(P, self._learner(), found)
        self.detector_.words_ = {word: column for column, word in enumerate(words)}
        self.frequencies_ = _after(self.frequencies_, counts)
        self.n_documents_ += len(batch)
        return part

    def _found(self, batch, P, words, counts):
        """Return a batch's part of the table by what was learned before it, and its novelty."""
        detector, model = self.detector_, self._learner()
        found = detector._scored(P, model)
        shares, _ = novelty.shares(model, model.fit_terms(detector.state_, P.shape[1]), P, found)
        shared = _after(self.frequencies_, counts) > 1
        tail = detector._tail(found.score)
        part = {"row": batch, "batch": detector.n_batches_, "score": found.score, "tail": tail}
        part["alert"] = tail <= self.budget
        terms = (reasons.lead(shares, row, shared, self.n_reasons) for row in range(len(batch)))
        part["reasons"] = [", ".join(words[term] for term in some) for some in terms]
        return part, found


def _after(frequencies, counts):
    """Return of each term the number of documents that hold it, with those of a batch, which has all terms."""
    held = np.bincount(counts.indices, minlength=counts.shape[1])
    held[: len(frequencies)] += frequencies
    return held.astype(np.int64)
