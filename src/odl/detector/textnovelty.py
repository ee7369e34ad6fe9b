"""Scores, alerts and reasons for a stream of texts in data frames, as in `odl run`."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from odl import novelty
from odl.alerts import decision, excerpts, hashtags, reasons
from odl.alerts.model import STATES
from odl.config.project import LEARNER
from odl.config.sections import Alerts, Weighting
from odl.corpora.collection import Register, content_of
from odl.corpora.fields import parse_text
from odl.detector import frames, textpast
from odl.detector.estimator import NoveltyDetector
from odl.detector.hyperparameters import LearnerSettings, check_integer
from odl.detector.mechanism import refusing
from odl.detector.textpast import RecentDuplicates
from odl.errors import ParameterError
from odl.files.documents import NO_TIME, one_line
from odl.stream.batching import PERIODS
from odl.stream.terms import number_terms
from odl.stream.weighting import Pieces, weigh, weigh_for_comparison, without_stop_words
from odl.text.scripts import LETTERED
from odl.text.stopwords import StopWords
from odl.text.tokens import count_words, with_words

SPELLING_CHARACTERS = 2000  # characters of a text in which the spelling of words is searched
ALERTS_PER_HEADLINE = 3  # maximum number of documents of a headline that are alerts
DETECTOR_PARAMETERS = ("learner", "n_atoms", "settings", "random_state", "window", "folds")


@dataclass(eq=False, repr=False)
class TextNovelty(LearnerSettings, BaseEstimator):
    """Detector of new topics in a stream of texts.

    `update` scores documents by earlier documents, then learns them. Results equal those of
    `odl run` with its defaults. Pass texts batch by batch, in the order of time.

    Parameters
    ----------
    learner, n_atoms, settings, random_state
        See `NoveltyDetector`.
    budget : int or float, default=20
        Maximum number of alerts in a batch. A value below 1 is a share of its items. An item is a
        document with its near-duplicates, unless it repeats a document of the last four batches.
    level : float, default=0.01
        Largest p-value of a batch that has alerts, and of a headline (`odl.alerts.gates`).
    tail : float, default=0.1
        Largest tail probability of an alert if `gates` is False. It must be at least
        1 / (1 + `window`).
    window : int, default=2000
        Number of earlier scores with which the scores of a batch are compared.
    warm_up : int, default=50
        Minimum number of earlier scores before a batch can have alerts.
    gates : bool, default=True
        Whether a batch has alerts only if it is unusual at `level`, because of the words of several
        items or of one item (`odl.alerts.gates`). Most batches then have no alerts. If False,
        documents are alerts by their `tail` probability.
    folds : int, default=0
        Number of folds of the first batch that are scored to fill the window (see
        `NoveltyDetector`). With 0, as in `odl run`, the window does not contain the first batch.
    text : str, default="text"
        Column of the texts.
    time, id : str, optional
        Columns of times (see `odl.corpora.fields.parse_time`) and ids. By default "time" and "id",
        if the frame has them. Without times, documents are in the order of the frame. Without ids,
        its index is used.
    title : str, optional
        Column of titles, whose words are counted separately (`odl.alerts.surprise`). By default
        "title", if the frame has it.
    author : str, optional
        Column of authors. A word then counts once for each author in a batch. Do not set `author`
        if few people write most documents.
    source : str, optional
        Column of sources, such as the file or the forum of a document. The number of documents of
        each source is compared with its numbers in earlier batches.
    changed : {"keep", "new"}, default="keep"
        Treatment of a row with an earlier id but a changed text or time. "keep" omits the row.
        "new" adds it as a document whose id ends with a digest of the content. Unchanged rows are
        always omitted.
    period : {"day", "week", "month", "quarter", "year"}, optional
        Calendar period of a batch (UTC; weeks begin on Monday). Pass complete periods. By default
        each call is one batch.
    initial : int, default=200
        Minimum number of documents in the first batch if `period` is set. The first batch consists
        of complete periods.
    tokens : dict, optional
        See `odl.text.tokens.token_options`. By default, words of every script.
    tf : {"log", "raw"}, default="log"
        Term frequency: 1 + log(count), or the count.
    idf : bool, default=True
        Whether weights include the inverse document frequency in earlier batches (for the first
        batch, in this batch).
    min_df : int, default=0
        Minimum number of earlier documents with a word for the word to be used.
    max_share : float, default=1.0
        Largest share of earlier documents that may contain a word. A word with a larger share that
        is in at least 30 documents is a stop word: it is counted but has no weight. Use 0.5 with
        ``tokens={"stop_words": None}``.
    languages : bool, default=False
        Whether to detect the language of each document and give no weight to stop words of this
        language (`odl.text.stopwords`). Use True for texts in several languages, with
        ``tokens={"stop_words": None}``.
    pieces : float, default=0
        Weight of the pieces of words (`odl.stream.pieces`), for "levels" and "adaptive".
        `odl.stream.pieces.weight` suggests a value. Reasons are always words.
    n_reasons : int, default=5
        Maximum number of words in the reasons of a document.
    strict : bool, default=False
        Whether to raise an error for a row whose text, time or id is missing or cannot be parsed.
        By default such rows are skipped with a warning and listed in `set_aside_`.

    Attributes
    ----------
    detector_ : NoveltyDetector
        Its attribute `words_` is the vocabulary.
    frequencies_ : ndarray of int64
        Number of documents with each word.
    n_documents_ : int
        Number of documents so far.
    events_ : pandas.DataFrame
        Name, words, state, first batch and number of documents of each event so far.
    left_out_ : odl.files.documents.Repeats
        Numbers of rows that the last `update` omitted (see `changed`).
    set_aside_ : pandas.DataFrame
        Reasons for the rows that the last `update` could not read.
    past_ : odl.alerts.decision.StreamHistory
        Events, and statistics of earlier batches with which the next batch is compared.
    repeats_ : odl.detector.textpast.RecentDuplicates
        Near-duplicates of the last batches.
    register_ : odl.corpora.collection.Register
        Ids of all documents so far, with digests of their contents.

    Examples
    --------
    >>> import pandas as pd
    >>> from odl import TextNovelty
    >>> old = ["tanker carries crude oil", "oil refinery closes", "crude oil falls"] * 20
    >>> new = ["crude oil tanker", "rocket lifts satellite", "satellite reaches orbit"]
    >>> stream = TextNovelty(folds=3, warm_up=60, gates=False)  # so that the first batch calibrates
    >>> first = stream.update(pd.DataFrame({"text": old}))  # no alerts in the first batch
    >>> stream.update(pd.DataFrame({"text": new}))[["alert", "reasons"]].values.tolist()[1]
    [True, 'satellite, lifts, rocket']
    """

    learner: str = LEARNER
    n_atoms: int = 500
    settings: dict[str, Any] | None = None
    random_state: Any = 0
    _: KW_ONLY
    budget: float = Alerts.budget
    level: float = Alerts.level
    tail: float = Alerts.tail
    window: int = Alerts.window
    warm_up: int = Alerts.warm_up
    gates: bool = True
    folds: int = 0
    text: str = "text"
    time: str | None = None
    id: str | None = None
    title: str | None = None
    author: str | None = None
    source: str | None = None
    changed: str = "keep"
    period: str | None = None
    initial: int = 200
    tokens: dict[str, Any] | None = None
    tf: str = "log"
    idf: bool = True
    min_df: int = 0
    max_share: float = 1.0
    languages: bool = False
    pieces: float = 0.0
    n_reasons: int = 5
    strict: bool = False

    def update(self, frame: Any) -> pd.DataFrame:
        """Score documents by earlier documents, then learn them, batch by batch.

        Parameters
        ----------
        frame : pandas.DataFrame or list of str
            Frames of polars or pyarrow are converted to pandas. A list contains the texts.

        Returns
        -------
        pandas.DataFrame
            One row for each document that was neither omitted (see `changed`) nor set aside (see
            `strict`), with the index of the frame and these columns:

            - id, and time (UTC) if the frame has times;
            - batch: number of the batch;
            - item: id of the first of its near-duplicates in the batch;
            - score, and tail: share of recent scores that are at least as large;
            - event: number of its event, 0 for none;
            - alert: whether the document is an alert (with `gates`, at most three per headline);
            - headline: name of its headline;
            - opening: words of the headline in the document, strongest first;
            - reasons: words with the largest shares of the score. Words that no other item has are
              last.

        Notes
        -----
        Words in `opening` and `reasons` are case-folded, and pairs of characters in Chinese,
        whereas `odl new` shows them as they are spelled in the text. The first batch is scored with
        a dictionary that was initialised from it. In this batch and during warm-up, tail is 1 and
        no document is an alert. Documents that are older than learned ones are treated as a later
        batch, whereas `odl run` learns again from their time.

        Examples
        --------
        >>> import pandas as pd
        >>> from odl import TextNovelty
        >>> days = ["2026-01-05", "2026-01-06", "2026-01-14"]
        >>> frame = pd.DataFrame({"day": days, "text": ["oil", "oil", "orbit"]})
        >>> scored = TextNovelty(time="day", period="week", initial=1).update(frame)
        >>> scored[["batch", "tail", "score"]].round(2).values.tolist()
        [[0.0, 1.0, 0.23], [0.0, 1.0, 0.23], [1.0, 1.0, 1.0]]
        """
        options = self._check()
        aside, index, ids, times, documents = self._read_frame(frame)
        register = Register(self.changed)
        if hasattr(self, "detector_"):
            register.contents |= self.register_.contents
        rows = np.arange(len(documents.texts))
        if ids is None:
            ids = index.tolist()
        else:
            rows, ids = _register_rows(register, ids, times, documents.texts)
        initial = 1 if hasattr(self, "detector_") else self.initial
        new_times = None if times is None else times[rows]
        batches = frames.batches(new_times, len(rows), self.period, initial) if len(rows) else []
        parts = [self._step(rows[part], times, documents, options) for part in batches]
        self.register_: Register = register
        self.left_out_, self.set_aside_ = register.repeats(), aside
        return frames.table(index, ids, times, parts)

    def judge(self, frame: Any) -> pd.DataFrame:
        """Score documents as one batch without learning them.

        Documents that occurred before are scored too. A warning reports rows that cannot be read.

        Parameters
        ----------
        frame : pandas.DataFrame or list of str

        Returns
        -------
        pandas.DataFrame
            Columns as in `update`.

        Examples
        --------
        >>> import pandas as pd
        >>> from odl import TextNovelty
        >>> texts = ["oil tanker", "oil refinery", "crude oil"]
        >>> stream = TextNovelty()
        >>> learned = stream.update(pd.DataFrame({"text": texts}))
        >>> stream.judge(pd.DataFrame({"text": ["rocket in orbit"]})).loc[0, "score"]
        np.float64(1.0)
        """
        self._check_learned()
        options = self._check()
        _, index, ids, times, documents = self._read_frame(frame)
        ids, rows = index.tolist() if ids is None else ids, np.arange(len(documents.texts))
        part, *_ = self._decide(rows, times, documents, self._batch(documents.texts), options)
        return frames.table(index, ids, times, [part])

    def _read_frame(self, frame):
        """Read a frame with `odl.detector.frames.read_frame`; warn about unreadable rows."""
        columns = self.text, self.time, self.id, self.strict, self.title, self.author, self.source
        aside, *documents = frames.read_frame(frame, *columns)
        if len(aside):
            n = len(aside) + len(documents[0])
            first = f"row {aside.index[0]!r}: {aside['reason'].iloc[0]}"
            text = f"{len(aside)} of {n} rows cannot be read and are set aside (the first, {first})"
            warnings.warn(text, UserWarning, stacklevel=3)
        return aside, *documents

    @property
    def events_(self) -> pd.DataFrame:
        """Table of all events so far, one row per event, indexed by event number.

        The columns are name, words, state ("new", "ongoing", "growing", "returning" or "ended"),
        birth (number of the first batch) and documents (number of documents so far).
        """
        self._check_learned()
        events = self.past_.events
        columns = {
            "name": [name.replace("\t", ", ") for name in events.names],
            "words": [words.replace("\t", ", ") for words in events.words],
            "state": [STATES[state] for state in events.state],
            "birth": events.birth,
            "documents": events.size,
        }
        return frames.EventTable(columns, index=pd.Index(events.number, name="event"))

    def explain(
        self, texts: Sequence[str], *, n_words: int | None = None, n_atoms: int = 3
    ) -> list[reasons.Explanation]:
        """Explain the scores of texts like `NoveltyDetector.explain`.

        Parameters
        ----------
        texts : list of str
            Texts of one batch.
        n_words, n_atoms : int
            Maximum numbers of words and atoms per text.

        Returns
        -------
        list of odl.alerts.reasons.Explanation

        Examples
        --------
        >>> import pandas as pd
        >>> from odl import TextNovelty
        >>> texts = ["oil tanker", "oil refinery", "crude oil"]
        >>> stream = TextNovelty()
        >>> learned = stream.update(pd.DataFrame({"text": texts}))
        >>> (why,) = stream.explain(["rocket in orbit"])
        >>> {word: round(share, 3) for word, share in why.words.items()}
        {'orbit': 0.5, 'rocket': 0.5}
        """
        self._check_learned()
        self._check()
        if isinstance(texts, str) or not (
            np.iterable(texts) and all(isinstance(text, str) for text in texts)
        ):
            raise ParameterError(
                f"texts is a {type(texts).__name__}",
                "a list of str",
                "pass e.g. the column of a frame",
            )
        batch, model = self._batch([*map(parse_text, texts)]), self._learner()
        scored = self.detector_._scored(batch.P, model)
        state = model.fit_terms(self.detector_.state_, batch.P.shape[1])
        fold = (lambda shares: batch.pieces.folded(shares, batch.counts)) if batch.pieces else None
        return reasons.explain(
            model, state, batch.P, scored, batch.words, n_words=n_words, n_atoms=n_atoms, fold=fold
        )

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted state to an HDF5 file, without pickle.

        Parameters
        ----------
        path : path-like

        Examples
        --------
        >>> import os, tempfile
        >>> import pandas as pd
        >>> from odl import TextNovelty
        >>> folder = tempfile.TemporaryDirectory()
        >>> texts = ["oil tanker", "oil refinery", "crude oil"]
        >>> stream = TextNovelty()
        >>> learned = stream.update(pd.DataFrame({"text": texts}))
        >>> stream.save(os.path.join(folder.name, "stream.h5"))
        >>> os.listdir(folder.name)
        ['stream.h5']
        """
        self._check_learned()
        parameters = {name: getattr(self, name) for name in self._stream_parameters()}
        parameters |= {"n_documents": self.n_documents_, "cut": textpast.WORD_RULES}
        past = textpast.arrays(self.repeats_, self.past_, self.register_)
        arrays = {"frequencies": self.frequencies_, **past}
        self.detector_._save(path, {"text": parameters}, arrays)

    @classmethod
    def _stream_parameters(cls):
        """Return the names of the parameters that `NoveltyDetector` does not have."""
        return [entry.name for entry in fields(cls) if entry.name not in DETECTOR_PARAMETERS]

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Read a file written by `save`.

        Its results are identical to those of the saved object, also after further batches.

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
            If the file was not written by `TextNovelty.save` of this version.

        Warns
        -----
        UserWarning
            If the file is from a version with other rules for words or pieces, so that its words do
            not match those of new texts.

        Examples
        --------
        >>> import os, tempfile
        >>> import pandas as pd
        >>> from odl import TextNovelty
        >>> folder = tempfile.TemporaryDirectory()
        >>> texts = ["oil tanker", "oil refinery", "crude oil"]
        >>> stream, path = TextNovelty(), os.path.join(folder.name, "stream.h5")
        >>> learned = stream.update(pd.DataFrame({"text": texts}))
        >>> stream.save(path)
        >>> TextNovelty.load(path).n_documents_
        3
        """
        with refusing(path, cls.__name__):
            detector, parameters, arrays = NoveltyDetector._read(
                path, "text", ("frequencies", *textpast.ARRAY_NAMES)
            )
            n_documents, word_rules = parameters.pop("n_documents"), parameters.pop("cut", 1)
            of_detector = {name: getattr(detector, name) for name in DETECTOR_PARAMETERS}
            stream = cls(**of_detector, **parameters)
            past = textpast.read(arrays, detector.n_batches_ - 1, stream.changed)
        stream.detector_, stream.n_documents_ = detector, n_documents
        stream.frequencies_ = arrays["frequencies"]
        stream.repeats_, stream.past_, stream.register_ = past
        in_pairs = with_words(stream.tokens).get("tokeniser") == "words" and any(
            map(LETTERED, detector.words_)
        )
        if word_rules < textpast.WORD_RULES and (stream.pieces or in_pairs):
            units = "pieces of words" if stream.pieces else "words of a script without spaces"
            warnings.warn(
                f"{path} has {units} by the rules of an earlier version; learn the texts again",
                UserWarning,
                stacklevel=2,
            )
        return stream

    def _check(self):
        """Check all parameters; return the settings of alerts.

        Parameters that may change between batches are copied to the detector.
        """
        for name, minimum in {"initial": 1, "n_reasons": 0}.items():
            check_integer(name, getattr(self, name), minimum)
        if self.period is not None and self.period not in PERIODS:
            raise ParameterError(
                f"period is {self.period!r}",
                f"one of {', '.join(PERIODS)}, or None",
                "correct period",
            )
        if self.changed not in ("keep", "new"):
            raise ParameterError(
                f"changed is {self.changed!r}", "'keep' or 'new'", "correct changed"
            )
        self._weighting()
        if self.pieces and not self._model().opens:
            raise ParameterError(
                f"pieces is {self.pieces} with the learner {self.learner!r}",
                "pieces only with the learners levels and adaptive",
                "set pieces to 0",
            )
        names = ("budget", "level", "tail", "window", "warm_up", "gates")
        options = Alerts(**{name: getattr(self, name) for name in names})
        if hasattr(self, "detector_"):
            # `n_atoms` and the seed only matter for the first batch.
            names = ("learner", "settings", "window")
            self.detector_.set_params(
                **{name: getattr(self, name) for name in names}, level=options.tail
            )
        return options

    def _weighting(self):
        """Return the checked settings of term weights."""
        options = {name: getattr(self, name) for name in ("tf", "min_df", "max_share", "pieces")}
        return Weighting(**options, idf="past" if self.idf else "none")

    def _check_learned(self):
        """Raise NotFittedError if no batch has been learned."""
        if not hasattr(self, "detector_"):
            raise NotFittedError(
                "This TextNovelty has not learned any documents: call update first."
            )

    def _learner(self):
        """Return the learner with checked hyper-parameters, after the first batch a fitted one."""
        return self.detector_._model_as_fitted() if hasattr(self, "detector_") else self._model()

    def _batch(self, texts):
        """Count and weigh the words of texts as those of the next batch; return a `_Batch`."""
        counts, terms = count_words(texts, with_words(self.tokens))
        is_first = not hasattr(self, "detector_")
        words = [] if is_first else [*self.detector_.words_]
        columns = number_terms(terms, words)  # appends new words to `words`
        counts = sparse.csr_array(
            (counts.data, columns[counts.indices], counts.indptr), (len(texts), len(words))
        ).sorted_indices()
        before = np.zeros(len(words), dtype=np.int64)
        if not is_first:
            before[: len(self.frequencies_)] = self.frequencies_
        after = before + np.bincount(counts.indices, minlength=len(words))
        # Weights are computed from the document frequencies and the number of the documents before
        # the batch. For the first batch, those of the batch itself are used.
        past = (after, len(texts)) if is_first else (before, self.n_documents_)
        stop_words = StopWords(words, past[0]) if self.languages else None
        weighting, norm = self._weighting(), self._learner().norm
        Q = weigh_for_comparison(counts, *past, weighting, stop_words)
        repeats = getattr(self, "repeats_", RecentDuplicates()).after(texts)
        pieces = Pieces(words, *past, self.pieces) if self.pieces else None
        P = weigh(counts, *past, weighting, norm, stop_words=stop_words, pieces=pieces)
        return _Batch(
            P=P,
            Q=Q,
            counts=counts,
            content_counts=without_stop_words(counts, *past, weighting, stop_words),
            words=words,
            before=before,
            after=after,
            repeats=repeats,
            pieces=pieces,
        )

    def _step(self, rows, times, documents, options):
        """Score the documents in `rows` and decide on alerts, then learn them as one batch.

        Returns
        -------
        dict
            Columns of the table of results.
        """
        batch = self._batch([documents.texts[row] for row in rows])
        first = not hasattr(self, "detector_")
        if first:
            parameters = {name: getattr(self, name) for name in DETECTOR_PARAMETERS}
            detector = NoveltyDetector(growing=True, level=options.tail, **parameters)
            detector._check_parameters()
            detector._begin(batch.P, detector._model())
            detector.n_features_in_ = batch.P.shape[1]
            self.detector_, self.n_documents_ = detector, 0
        part, scored, past = self._decide(rows, times, documents, batch, options, first)
        if not first:
            self.detector_._learn(batch.P, self._learner(), scored)
        # In P, the columns of pieces precede those of words.
        n_pieces = batch.P.shape[1] - len(batch.words)
        self.detector_.words_ = {
            word: column for column, word in enumerate(batch.words, start=n_pieces)
        }
        self.frequencies_, self.repeats_, self.past_ = batch.after, batch.repeats, past
        self.n_documents_ += len(rows)
        return part

    def _decide(self, rows, times, documents, batch, options, first=False):
        """Score a batch with the current state, and decide on its alerts.

        The batch has not been learned, unless it is the first one, which initialised the state.

        Returns
        -------
        part : dict
            Columns of the table of results.
        scored : odl.novelty.Novelty
        past : odl.alerts.decision.StreamHistory
            History for the next batch.
        """
        detector, model = self.detector_, self._learner()
        scored = detector._scored(batch.P, model)
        state = model.fit_terms(detector.state_, batch.P.shape[1])
        item, again = batch.repeats.groups.items()
        # The detector already counts the first batch, and the window contains only scores of this
        # batch, with which it must not be compared.
        t = detector.n_batches_ - 1 if first else detector.n_batches_
        window = detector.window_[:0] if first else detector.window_
        past = getattr(self, "past_", decision.StreamHistory.nothing())._replace(recent=window)
        texts = documents.texts
        titles, authors, sources = (
            [names[row] for row in rows] if names else [] for names in documents[1:]
        )
        titled = excerpts.find_title_words(titles, batch.content_counts, batch.words)
        period = decision.PeriodDocuments(
            t=t,
            first=item,
            repeats=again,
            Q=batch.Q,
            counts=batch.content_counts,
            titled=titled,
            vocabulary=batch.words,
            frequencies=batch.before,
            n_before=self.n_documents_,
            times=np.full(len(rows), NO_TIME) if times is None else times[rows],
            sources=sources or [""] * len(rows),
            texts=lambda indices: [
                one_line(texts[row], SPELLING_CHARACTERS) for row in rows[indices]
            ],
            languages=StopWords(batch.words, batch.before).languages(batch.counts),
            authors=authors,
        )
        decided, past = decision.decide(period, scored, past, options)
        shares = reasons.word_shares(
            novelty.shares(model, state, batch.P, scored)[0], batch.counts, batch.pieces
        )
        shared = reasons.shared_terms(batch.before, batch.Q, decided.items)
        terms = [reasons.lead(shares, row, shared, self.n_reasons) for row in range(len(rows))]
        names, opening = _headlines(decided, batch)
        part = {
            "row": rows,
            "batch": t,
            "item": rows[item],
            "score": scored.score,
            "tail": decided.tail,
            "event": decided.event,
            "alert": _alert_mask(decided, options),
            "headline": names,
            "opening": opening,
            "reasons": [", ".join(batch.words[term] for term in leading) for leading in terms],
        }
        return part, scored, past


def _register_rows(register, ids, times, texts):
    """Add documents to the register; return (rows of the new documents, ids of all rows).

    A row whose id occurred before is omitted or gets a new id, depending on
    `TextNovelty.changed`.
    """
    rows, ids = [], list(ids)
    for row, name in enumerate(ids):
        content = content_of(
            {"time": None if times is None else int(times[row]), "text": texts[row]}
        )
        identity = register.name(str(name), content)
        if identity is not None:
            register.enter(identity, content)
            ids[row] = name if identity == str(name) else identity
            rows.append(row)
    return np.array(rows, dtype=np.int64), ids


def _alert_mask(decided, options):
    """Return the mask of documents that are alerts.

    With gates, alerts are the most central documents of each headline, and the budget limits the
    number of headlines. Without gates, alerts are the documents with the smallest tail
    probabilities, and the budget limits the number of documents. An unproven period has no alerts.
    """
    alert = np.zeros(len(decided.tail), dtype=bool)
    max_alerts = 0 if decided.unproven else options.room(len(decided.items))
    if options.gates:
        first = [headline for headline in decided.headlines if not headline.repeated][:max_alerts]
        alert[[row for headline in first for row in headline.examples[:ALERTS_PER_HEADLINE]]] = True
    else:
        novel = decided.novel[decided.tail[decided.novel] <= options.tail]
        alert[novel[:max_alerts]] = True
    return alert


def _headlines(decided, batch):
    """Return the name of the headline of each document, and the words that both have in common.

    Each of the two lists has one text per document, "" for a document without a headline. For a
    document in several headlines, the first headline is used.
    """
    names, opening = [""] * len(decided.tail), [""] * len(decided.tail)
    for headline in reversed(decided.headlines):
        for row in headline.rows if headline.gate != "volume" else ():
            words = hashtags.with_bare(
                {batch.words[term] for term in batch.counts[[row]].indices.tolist()}
            )
            names[row] = ", ".join(headline.name)
            opening[row] = ", ".join(word for word in headline.words if word in words)
    return names, opening


class _Batch(NamedTuple):
    """A batch of n texts over m words.

    Attributes
    ----------
    P : csr_array
        Weights for the learner. If pieces are used, their columns precede those of words.
    Q : csr_array, shape (n, m)
        Weights with which documents are compared with each other.
    counts, content_counts : csr_array, shape (n, m)
        Counts of words, with and without stop words.
    words : list of str
        The vocabulary after this batch.
    before, after : ndarray of int64, shape (m,)
        Number of documents with each word, before and after this batch.
    repeats : RecentDuplicates
    pieces : Pieces or None
    """

    P: sparse.csr_array
    Q: sparse.csr_array
    counts: sparse.csr_array
    content_counts: sparse.csr_array
    words: list
    before: np.ndarray
    after: np.ndarray
    repeats: RecentDuplicates
    pieces: Pieces | None
