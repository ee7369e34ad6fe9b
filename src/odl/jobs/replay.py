"""Alerts of a stream for other settings, computed from its stored features and scores."""

from dataclasses import asdict

import numpy as np

from odl.alerts import calibration, decision, reasons
from odl.alerts.model import Document, Period
from odl.files.documents import NO_TIME
from odl.jobs import alerts, runs
from odl.text.stopwords import StopWords, mix


def replay(path, run, settings, n_periods, corpus_features=None):
    """Yield the periods of a stream decided with other settings, oldest first.

    A decision does not depend on later periods, so the alerts equal those that a run with these
    settings stores. Documents have no reasons, because computing these needs checkpoints, which may
    be pruned.

    Parameters
    ----------
    path : callable
        Called with ``"features"``, ``"scores"`` or ``"batch"`` and a timestep; returns the path of
        the file.
    run : odl.jobs.runs.Run
    settings : odl.config.sections.Alerts
    n_periods : int
    corpus_features : path-like, optional
        Features of the last timestep; needed for ``idf: corpus``.

    Yields
    ------
    odl.alerts.model.Period
        Headlines, events and p-values as a run stores them; shares of words and nearest atoms are
        empty.
    odl.alerts.decision.StreamHistory
        History from which the next period resumes.

    Raises
    ------
    StorageError, DataError
        If a file is missing or damaged.
    """
    named = {"corpus": run.corpus, "seed": run.seed, "run": run.run, "atoms": run.atoms}
    named["algorithm"] = run.learner.algorithm
    past, terms = decision.StreamHistory.nothing(), None
    for t in range(n_periods):
        step = runs.open_documents(path("features", t), run, corpus_features)
        data, origins = step.data, reasons.origins(path("batch", t), len(step.data.ids))
        scored = alerts.read_novelty(path("scores", t), data)
        stop_words = step.P.stop_words or StopWords(data.vocabulary, step.P.frequencies)
        counts = data.counts[:]
        places = runs.places_of(terms, data.terms, path("features", t - 1)) if t else None
        documents = alerts.period_documents(step, counts, origins, stop_words, places)
        decided, past = decision.decide(documents, scored, past, settings)
        if t:
            past = past._replace(
                recent=calibration.recent_after(past.recent, scored, settings.window)
            )
        terms = data.terms
        period = _period(named, settings, data, scored, documents, decided)
        period.languages = mix(counts, stop_words)
        period.documents_of = _documents(period, decided, data, origins)
        period.born = alerts.births(decided, period.documents_of.values())
        yield period, past


def _period(named, settings, data, scored, documents, decided):
    """Return the `Period` without the fields that need the dictionary."""
    n = len(scored.score)
    times = data.times[data.times != NO_TIME]
    first, last = (times.min(), times.max()) if len(times) else (NO_TIME, NO_TIME)
    return Period(
        data.t, named, asdict(settings), int(first), int(last), 0.0, any(data.topics), decided.unproven,
        int(scored.empty.sum()), int(documents.repeats[decided.items].sum()), decided.p, decided.usual, scored.score,
        decided.tail, np.zeros(n), documents.first, decided.event, np.full((n, 0), -1), np.zeros((n, 0)),
        decided.novel, headlines=decided.headlines, below=decided.below, gates=decided.gates,
        sizes=sorted(decided.sizes.items()), changes=decided.changes, meaning=scored.meaning,
    )  # fmt: skip


def _documents(period, decided, data, origins):
    """Return {row: `Document`} of the examples and first rows of headlines, and of the most novel documents."""
    rows = {
        row
        for one in (*decided.headlines, *decided.below)
        for row in (*one.examples, *one.rows[:1])
    }
    found = {}
    for row in sorted(rows | {*decided.novel.tolist()}):
        members = np.flatnonzero(period.item == period.item[row])
        found[row] = Document(
            **period.facts_of(row), rank=0, id=data.ids[row], members=tuple(data.ids[other] for other in members),
            title=data.titles[row], time=int(data.times[row]), source=origins.sources[row], url=origins.urls[row],
            reasons=(), nearest=(),
        )  # fmt: skip
    return found
