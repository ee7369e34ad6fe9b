"""Alerts of a stream for other settings, computed from its stored features and scores."""

import numpy as np

from odl.alerts import decision, reasons
from odl.alerts.model import Document
from odl.jobs import alerts, runs
from odl.text.stopwords import StopWords, mix


def replay(path, run, settings, n_periods, corpus_features=None):
    """Decide the periods of a stream with each of several settings; yield them, oldest first.

    A decision does not depend on later periods, so the alerts equal those of a run with these
    settings. Each file is read once. Documents have no reasons, because reasons are computed from
    checkpoints, which may be pruned.

    Parameters
    ----------
    path : callable
        Called with ``"features"``, ``"scores"`` or ``"batch"`` and a timestep; returns the path of
        the file.
    run : odl.jobs.runs.Run
    settings : sequence of odl.config.sections.Alerts
    n_periods : int
    corpus_features : path-like, optional
        Features of the last timestep; needed for ``idf: corpus``.

    Yields
    ------
    list of odl.alerts.model.Period
        The period for each of `settings`, with headlines, events and p-values as a run stores them;
        shares of words and nearest atoms are empty.
    list of odl.alerts.decision.StreamHistory
        Histories from which the next period resumes.

    Raises
    ------
    StorageError, DataError
        If a file is missing or damaged.
    """
    histories, terms = [decision.StreamHistory.nothing()] * len(settings), None
    for t in range(n_periods):
        step = runs.open_documents(path("features", t), run, corpus_features)
        data, origins = step.data, reasons.origins(path("batch", t), len(step.data.ids))
        scored = alerts.read_novelty(path("scores", t), data)
        stop_words = step.P.stop_words or StopWords(data.vocabulary, step.P.frequencies)
        counts = data.counts[:]
        new_numbers = runs.places_of(terms, data.terms, path("features", t - 1)) if t else None
        documents = alerts.period_documents(step, counts, origins, stop_words, new_numbers)
        terms, languages = data.terms, mix(counts, stop_words)
        periods = []
        for i, alternative in enumerate(settings):
            decided, histories[i] = alerts.decide(documents, scored, histories[i], alternative)
            period = alerts.period_record(run, alternative, data, scored, documents, decided)
            period.languages = languages
            period.documents_of = _documents(period, data, origins)
            period.born = alerts.births(decided, period.documents_of.values())
            periods.append(period)
        yield periods, [*histories]


def _documents(period, data, origins):
    """Return {row: `Document`} for the documents that may be listed.

    Listed documents are the examples and the first document of each headline, and novel documents.
    """
    headlines = (*period.headlines, *period.below)
    rows = {row for headline in headlines for row in (*headline.examples, *headline.rows[:1])}
    documents = {}
    for row in sorted(rows | {*period.novel.tolist()}):
        members = np.flatnonzero(period.item == period.item[row])
        documents[row] = Document(
            **period.facts_of(row), rank=0, id=data.ids[row],
            members=tuple(data.ids[other] for other in members), title=data.titles[row],
            time=int(data.times[row]), source=origins.files[row], url=origins.urls[row], reasons=(),
            nearest=(),
        )  # fmt: skip
    return documents
