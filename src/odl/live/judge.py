"""Answers to documents at arrival, by the dictionary learned from earlier periods.

Documents are read as `odl run` reads them.
"""

import json
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl import learners, novelty
from odl.alerts import calibration, events, periods, reasons
from odl.config import project
from odl.config.sections import Alerts
from odl.config.steps import STEPS
from odl.corpora import collection, fields, jsonrows
from odl.errors import ConfigError, OdlError
from odl.files import agentfiles
from odl.files.documents import NO_TIME
from odl.jobs import runs
from odl.learners.sparse_atoms import with_data
from odl.learners.vectors import VectorMemory
from odl.stream import dense, features
from odl.stream.pieces import BUCKETS
from odl.stream.weighting import Pieces, drop_columns, weigh
from odl.text.stopwords import StopWords

MAX_REASONS = 5  # words in the reasons of an answer
# Columns for new words in the state, so that it is not widened for each group of documents.
SPARE_COLUMNS = 1 << 12
# Time limit in seconds of `vectors.command`. It is short, because the sender of a document waits.
COMMAND_SECONDS = 60.0
# Maximum size of a line in bytes. A line of this size with only different words takes 1.4 CPU s.
DOCUMENT_SIZE = 1 << 20
MAX_AHEAD = 86_400_000  # milliseconds; largest difference of a document's time from the clock


@dataclass
class Arrival:
    """A document that arrived, and the answer to it.

    Attributes
    ----------
    number : hashable
        Identifies the line in its source.
    columns : dict
        Column name -> value.
    identity : str
        Id of the document; empty until `Arrivals.read` has parsed the line.
    time : int
        Unix time in milliseconds. A late document has the begin of the open period instead of its
        own time.
    label : str
        Name of the period that accepts the document.
    sent : str or None
        Original time of a late document, None for other documents.
    dated : bool
        Whether the document came with a time; otherwise `time` is the time of its arrival.
    answer : dict or None
        None until the document is judged.
    parsed : odl.corpora.collection.ParsedRow or None
        Parsed fields and counted words; None until the line is parsed.
    """

    number: object
    columns: dict
    identity: str
    time: int
    label: str = ""
    sent: str | None = None
    dated: bool = True
    answer: dict | None = None
    parsed: collection.ParsedRow | None = None

    @property
    def late(self):
        """Whether the period of the document had ended when it came."""
        return self.sent is not None


class Arrivals:
    """Parser of documents as they arrive; it caches the words of earlier documents.

    Parameters
    ----------
    options : dict
        Settings `options` of the corpus in odl.yaml.
    """

    def __init__(self, options):
        self.columns, self.dates = collection.columns_of(options), options.get("dates")
        self.collection = collection.Collection(options)
        if self.collection.meaning:
            self.collection.meaning.limit = COMMAND_SECONDS
        self.forgotten = {*options.get("forgotten", ())}
        self.texts = [
            name
            for role in ("text", "counts")
            for name in collection.names_of(self.columns.get(role))
        ]

    def identity(self, line):
        """Return the id in a line of input that was refused, "" if the line has no valid id."""
        try:
            identity = jsonrows.flatten_row(json.loads(_text_of(line))).get(self.columns["id"])
            return "" if fields.missing(identity) else fields.parse_id(identity)
        except (ValueError, AttributeError, OverflowError, RecursionError):
            return ""

    def row(self, number, line):
        """Return a line of input as an `Arrival`.

        Raises
        ------
        ValueError, OverflowError, RecursionError
            If the line cannot be read or dated; the message gives the reason.
        """
        if len(line) > DOCUMENT_SIZE and len(line.strip()) > DOCUMENT_SIZE:
            raise ValueError(
                f"it has more than {DOCUMENT_SIZE >> 20} MiB; shorten it, "
                "or put it into a file that odl run reads"
            )
        columns = jsonrows.document_of(json.loads(_text_of(line)), self.texts)
        identity, time_of = (
            collection.value_of(columns, self.columns[role], " ") for role in ("id", "time")
        )
        identity = "" if fields.missing(identity) else fields.parse_id(identity)
        if self.forgotten and collection.forgotten_as(identity) in self.forgotten:
            raise ValueError(
                f"{project.FORGOTTEN} has the digest of this document, which was forgotten"
            )
        moment = fields.parse_time(time_of, self.dates, self.collection.parser.time_formats)
        now, dated = clock(), moment != NO_TIME
        if not dated:
            moment, columns[collection.names_of(self.columns["time"])[0]] = now, iso(now)
        if moment > now + MAX_AHEAD:
            raise ValueError(f"its time {iso(moment)} is in the future")
        for column in self.columns.values():
            for name in collection.names_of(column):
                columns.setdefault(name, None)
        return Arrival(number, columns, identity, moment, dated=dated)

    def read(self, rows):
        """Read documents with distinct ids, and set the attribute `parsed` of their rows.

        Parameters
        ----------
        rows : list of Arrival

        Returns
        -------
        documents : odl.files.documents.Documents
            Documents that can be read and have enough words.
        faults : list of str
            Reason why each row cannot be read; "" if it can.
        """
        collected, faults = self.collection, []
        collected.restart()
        for number, row in enumerate(rows):
            roles = collection.values_by_role(row.columns, self.columns)
            try:
                location = f"line {number + 1}"
                row.parsed = collected.add_row("inbox", location, roles, with_ids=True)
                faults.append("")
            except (ValueError, OverflowError, RecursionError) as error:
                faults.append(fault_of(error))
        documents = collected.documents()
        if collected.meaning and len(documents):
            vectors = dict(zip(documents.ids, documents.vectors, strict=True))
            for row in rows:
                if row.parsed and row.parsed.identity in vectors:
                    row.parsed = row.parsed._replace(vector=vectors[row.parsed.identity])
        return documents, faults


def _text_of(line):
    """Decode a line, without NUL bytes at its beginning.

    A log begins with NUL bytes if it was truncated while a program wrote to it.
    """
    return line.lstrip(b"\0").decode("utf-8-sig")


def fault_of(error):
    """Return the message of an error about a document, in one line."""
    message = " ".join(str(error).split()) or "it fails"
    is_expected = isinstance(error, ValueError | OverflowError | RecursionError | OdlError)
    return (
        message if is_expected else f"it cannot be judged ({type(error).__name__}: {message[:200]})"
    )


def clock():
    """Return the present Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def iso(moment):
    """Return a Unix time in milliseconds as ISO 8601 text in UTC."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment)).isoformat()


class DocumentWords(NamedTuple):
    """Words that occur in a few documents, sorted by their columns in the matrices of the stream.

    Attributes
    ----------
    names : list of str
        The words.
    terms : ndarray of int32
        Column of each word in the matrices of the stream, ascending.
    frequencies : ndarray of int64
        Number of documents of the stream that contain each word.
    counts : csr_array, shape (n_documents, n_words)
        How often each document contains each word.
    """

    names: list
    terms: np.ndarray
    frequencies: np.ndarray
    counts: sparse.csr_array


class DocumentJudge:
    """Judge of documents, with the dictionary and the statistics learned up to a timestep.

    Parameters
    ----------
    folder : odl.engine.folder.Folder
        The working folder.
    t : int
        The timestep.

    Raises
    ------
    ConfigError
        If inverse document frequencies are those of the entire corpus.
    """

    def __init__(self, folder, t):
        self.run, self.t = runs.parse(folder.chain), t
        weighting = self.run.weighting
        if weighting.idf == "corpus":
            raise ConfigError(
                "idf: corpus", "idf: past or none", "remove features.idf to watch the folder"
            )
        data = features.read(folder.path(STEPS["features"].writes["output"], t))
        self.numbers, self.n_initial = data.numbers, data.n_initial
        self.frequencies = data.frequencies_after()
        self.n_documents = data.n_before + data.counts.shape[0]
        vocabulary, past = data.vocabulary, (self.frequencies, self.n_documents)
        self.pieces = Pieces(vocabulary, *past, weighting.pieces) if weighting.pieces else None
        self.stop_words = StopWords(vocabulary, past[0]) if weighting.languages else None
        self.n_pieces, n_words = BUCKETS if self.pieces else 0, len(self.numbers)
        self.learner = self.run.learner
        if getattr(self.learner, "in_batch", False):
            # A document is judged alone, so other documents of a batch have no effect.
            self.learner = replace(self.learner, context=0.0)
        path = folder.path(STEPS["update"].writes["state"], t)
        checkpoint = agentfiles.read_whole(path, self.run.chain, t)
        n_terms = self.n_pieces + n_words
        self.state = learners.resume(self.learner, checkpoint, n_terms, self.run.atoms, path)
        self.vector_mean, self.meaning, self.n_dimensions = None, None, None
        if data.vectors is not None:
            self.n_dimensions = data.raw_vectors.shape[1]
        if weighting.meaning != 0:
            self.vector_mean = data.vector_mean_after()
            self.meaning = VectorMemory.from_arrays(checkpoint.meaning, len(self.vector_mean), path)
        carried = periods.read_carried(folder.path(STEPS["alerts"].writes["output"], t))
        self.recent, self.memory = carried.past.recent, carried.past.events
        self.settings = Alerts(**carried.settings)
        names = (name.split("\t") for name in self.memory.names)
        self.names = dict(zip(self.memory.number.tolist(), names, strict=True))
        self._make_room(n_words + SPARE_COLUMNS)
        no_documents = sparse.csr_array((0, self.n_pieces + self.n_words))
        # Scoring no documents fills the caches of the state before the first document arrives.
        novelty.score(self.learner, self.state, no_documents)

    def __call__(self, documents):
        """Return the answers to documents, each judged as if it came alone.

        Parameters
        ----------
        documents : odl.files.documents.Documents

        Returns
        -------
        list of dict
            ``dictionary`` (timestep), ``score``, ``tail`` (probability), ``reasons`` (words with
            their shares of the score), and number (``topic``) and name (``topic_name``) of the
            event that the document joins, None if it joins none.
        """
        own = self._words_of(documents)
        pieces = self.pieces.for_words(own.names) if self.pieces else None
        P = self._weigh(own, pieces)
        wide = self._among_all(P, own.terms, self.n_pieces)
        scored = novelty.score(self.learner, self.state, wide)
        if self.meaning is not None:
            vectors = dense.centred(documents.vectors, self.vector_mean)
            scored = novelty.with_vectors(
                scored, self.meaning, self.meaning.distances(vectors), self.run.weighting.meaning
            )
        tail, _ = calibration.tails(scored, self.recent, self.settings.warm_up)
        parts, _ = novelty.shares(self.learner, self.state, wide, scored)
        shares = with_data(P, parts.data)
        shares = pieces.folded(shares, own.counts) if pieces else shares
        shares.data = shares.data.astype(np.float32)
        joins = events.join_events(self.events, self._among_all(own.counts, own.terms))
        answers, shared = [], own.frequencies >= 1
        rows = zip(scored.score.tolist(), tail.tolist(), joins.tolist(), strict=True)
        for row, (score, tail_probability, event) in enumerate(rows):
            share_of = reasons.shares_of(shares, row)
            terms = reasons.lead(shares, row, shared, MAX_REASONS)
            answers.append(
                {
                    "dictionary": self.t,
                    "score": score,
                    "tail": tail_probability,
                    "reasons": [[own.names[term], share_of[term]] for term in terms],
                    "topic": event or None,
                    "topic_name": self.names.get(event),
                }
            )
        return answers

    def _make_room(self, n_words):
        """Widen the learned state to n_words columns, for words of the stream and new ones."""
        self.n_words = n_words
        self.state = self.learner.fit_terms(self.state, self.n_pieces + n_words)
        self.events = events.move_terms(self.memory, None, n_words)

    def _words_of(self, documents):
        """Return the `DocumentWords` of documents; words that are new to the stream come last."""
        names, n_known = np.array(documents.vocabulary, dtype=object), len(self.numbers)
        terms = np.array(
            [self.numbers.get(word, -1) for word in documents.vocabulary], dtype=np.int32
        )
        new = terms < 0
        terms[new] = np.arange(n_known, n_known + new.sum())
        order = np.argsort(terms)
        frequencies = np.zeros(len(terms), dtype=np.int64)
        frequencies[~new] = self.frequencies[terms[~new]]
        if n_known + new.sum() > self.n_words:
            self._make_room(2 * (n_known + int(new.sum())))
        columns = np.argsort(order).astype(np.int32)
        parts = documents.counts.data, columns[documents.counts.indices], documents.counts.indptr
        counts = sparse.csr_array(parts, shape=documents.counts.shape).sorted_indices()
        return DocumentWords(names[order].tolist(), terms[order], frequencies[order], counts)

    def _weigh(self, own, pieces):
        """Return the weighted term matrix of documents; its first columns belong to pieces."""
        counts, weighting = own.counts, self.run.weighting
        if weighting.vocabulary == "fixed":
            counts = drop_columns(counts, own.terms < self.n_initial)
        stop_words = self.stop_words and self.stop_words.for_words(own.names)
        return weigh(
            counts,
            own.frequencies,
            self.n_documents,
            weighting,
            self.learner.norm,
            stop_words=stop_words,
            pieces=pieces,
        )

    def _among_all(self, P, terms, n_pieces=0):
        """Move the columns of a matrix of few words to their positions in the stream.

        Parameters
        ----------
        P : csr_array
            Columns of pieces, then of words.
        terms : ndarray
            Column of each word in the stream.
        n_pieces : int
            Number of columns of pieces, which are the same in the stream.
        """
        columns = np.append(np.arange(n_pieces, dtype=np.int32), n_pieces + terms)
        shape = P.shape[0], n_pieces + self.n_words
        return sparse.csr_array((P.data, columns[P.indices], P.indptr), shape=shape)
