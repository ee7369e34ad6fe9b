"""Answers at arrival: documents judged by the dictionary of the closed periods, before any of them is learned."""

from collections import Counter
from dataclasses import replace

import numpy as np
from scipy import sparse

from odl import learners, novelty
from odl.alerts import calibration, candidates, periods, reasons
from odl.alerts.memory import widened
from odl.config.sections import Alerts
from odl.config.steps import STEPS
from odl.errors import ConfigError
from odl.files import agentfiles
from odl.jobs import runs
from odl.stream import duplicates, features
from odl.stream.pieces import BUCKETS
from odl.stream.weighting import Pieces, drop_columns, weigh
from odl.text.languagemix import StopWords

REASONS = 5  # words of an answer at most
SKETCH = 8  # smallest shingles of a document, one of which a near-duplicate has but for a chance of .2^8
LIKELY = 3  # documents of the most common ones of these that are compared


class Judge:
    """What was learned up to a timestep, for documents that come after it.

    Parameters
    ----------
    folder : odl.engine.folder.Folder
        The working folder.
    t : int
        The timestep.

    Raises
    ------
    ConfigError
        If words are hashed, or weighed by the whole corpus.
    """

    def __init__(self, folder, t):
        self.run, self.t = runs.parse(folder.chain), t
        if self.run.hash_terms or self.run.weighting.idf == "corpus":
            given = "hash_terms, or idf: corpus"
            raise ConfigError(given, "words as they come, idf: past or none", "leave these out to watch the folder")
        data = features.read(folder.path(STEPS["features"].writes["output"], t))
        self.words, self.numbers, self.n_initial = data.stored_words, data.numbers, data.n_initial
        self.frequencies, self.n_documents = data.frequencies_after(), data.n_before + data.counts.shape[0]
        alone = {"context": 0.0} if getattr(self.run.learner, "in_batch", False) else {}  # nobody else is there yet
        self.learner = replace(self.run.learner, **alone)
        path = folder.path(STEPS["update"].writes["state"], t)
        checkpoint = agentfiles.read_whole(path, self.run.chain, t)
        self.n_pieces = BUCKETS if self.run.weighting.pieces else 0
        self.state = learners.resume(self.learner, checkpoint, self.n_pieces + len(self.words), self.run.atoms, path)
        carried = periods.read_carried(folder.path(STEPS["alerts"].writes["output"], t))
        self.recent, self.memory, self.settings = carried.recent, carried.memory, Alerts(**carried.settings)
        self.names = dict(zip(self.memory.number.tolist(), self.memory.names, strict=True))

    def __call__(self, documents):
        """Return what is known of each document on its own, a list of maps: score, tail, reasons, topic."""
        counts, names = self._counts(documents)
        frequencies = np.append(self.frequencies, np.zeros(len(names) - len(self.words), dtype=np.int64))
        share = self.run.weighting.pieces
        pieces = Pieces(names, frequencies, self.n_documents, share) if share else None
        stop_words = StopWords(names) if self.run.weighting.languages else None
        P = self._weighed(counts, frequencies, self.run.weighting.tf, self.learner.norm, stop_words, pieces)
        state = self.learner.fit_terms(self.state, self.n_pieces + len(names))
        scored = novelty.score(self.learner, state, P)
        tail, _ = calibration.tails(scored, self.recent, self.settings.warm_up)
        shares = reasons.word_shares(self.learner, state, P, scored, counts, pieces)
        Q = self._weighed(counts, frequencies, "log", "l2", stop_words)  # as in `odl.jobs.alerts`
        items = candidates.Items(Q, [], None, None, frequencies, self.n_documents)
        topics = candidates.nearest_topics(items, widened(self.memory, len(names)), self.settings)
        answers, shared = [], frequencies >= 1
        for row, (score, part, topic) in enumerate(
            zip(scored.score.tolist(), tail.tolist(), topics.tolist(), strict=True)
        ):
            parts = reasons.shares_of(shares, row)
            why = [[names[term], parts[term]] for term in reasons.lead(shares, row, shared, REASONS)]
            answer = {"dictionary": self.t, "score": score, "tail": part, "reasons": why}
            answers.append({**answer, "topic": topic or None, "topic_name": self.names.get(topic)})
        return answers

    def _counts(self, documents):
        """Return counts under the columns of the stream, and the words of these; new ones come last."""
        names = list(self.words)
        columns = np.empty(len(documents.vocabulary), dtype=np.int32)
        for place, word in enumerate(documents.vocabulary):
            columns[place] = self.numbers.get(word, len(names))
            names += [word] * int(columns[place] == len(names))
        parts = documents.counts.data, columns[documents.counts.indices], documents.counts.indptr
        return sparse.csr_array(parts, shape=(len(documents), len(names))).sorted_indices(), names

    def _weighed(self, counts, frequencies, tf, norm, stop_words, pieces=None):
        weighting = self.run.weighting
        if weighting.vocabulary == "fixed":
            counts = drop_columns(counts, np.arange(counts.shape[1]) < self.n_initial)
        settings = {"min_df": weighting.min_df, "max_share": weighting.max_share, "idf": weighting.idf != "none"}
        settings |= {"tf": tf, "norm": norm, "stop_words": stop_words, "pieces": pieces}
        return weigh(counts, frequencies, self.n_documents, **settings)


class Known:
    """Documents by which near-duplicates that come are told: those of the open period."""

    def __init__(self):
        self.names, self.sets, self.places = [], [], {}

    def find(self, shingles):
        """Return the id of an earlier document that is nearly the same, None for none."""
        met = Counter(place for one in shingles[:SKETCH].tolist() for place in self.places.get(one, ()))
        for place, _ in met.most_common(LIKELY):
            if duplicates.jaccard(self.sets[place], shingles) >= duplicates.ALIKE:
                return self.names[place]
        return None

    def add(self, name, shingles):
        """Take note of a document that is like none before."""
        for one in shingles[:SKETCH].tolist():
            self.places.setdefault(one, []).append(len(self.names))
        self.names.append(name)
        self.sets.append(shingles)
