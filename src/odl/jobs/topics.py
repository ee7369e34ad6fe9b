"""One job of emerging topics: read the features and the scores of a timestep, find the clusters, write them."""

from dataclasses import asdict

from odl.alerts import emerging, topics
from odl.errors import DataError
from odl.evaluation.scores import read_scores
from odl.novelty import top_terms
from odl.stream import features


def find(scores, source, *, settings=None, weighting=None, corpus_features=None):
    """Find the emerging topics of one timestep of any learner.

    Parameters
    ----------
    scores : path-like
        Score file of the timestep.
    source : path-like
        Features of the same timestep.
    settings : dict, optional
        Of `odl.alerts.topics.Settings`.
    weighting : dict, optional
        tf, idf, min_df, vocabulary; by default those of the run, which the score file names. The norm is l1,
        whatever the learner's.
    corpus_features : path-like, optional
        Last features of the stream, for ``idf: corpus``.

    Returns
    -------
    Emerging, Scores
        The clusters, and the scores with the documents' names.

    Raises
    ------
    DataError
        If scores and features are of different documents.
    ParameterError, StorageError
        If a setting is out of range, or a file missing or damaged.
    """
    chosen = topics.Settings(**(settings or {}))
    run, batch = emerging.score_run(scores), read_scores(scores)
    data = features.read(source)
    if (data.t, data.ids) != (batch.t, batch.ids):
        given = f"{source} is of timestep {data.t} and {scores} of timestep {batch.t}"
        given = given if data.t != batch.t else f"{source} and {scores} are of different documents"
        raise DataError(given, "features and scores of the same documents", "name files of one timestep and seed")
    whole = features.read(corpus_features) if corpus_features else None
    weighting = emerging.score_weighting(scores) if weighting is None else weighting
    P = data.weighed(**weighting, norm="l1", corpus=whole)[:]
    found = topics.find(P, batch.scores[run["run"]], chosen)
    pairs = top_terms(found.atoms, chosen.terms)
    held = emerging.Emerging(
        t=batch.t,
        run=run,
        settings=asdict(chosen),
        rows=found.rows,
        ids=[batch.ids[row] for row in found.rows],
        cluster=found.cluster,
        residual=found.residual,
        objective=found.objective,
        words=[" ".join(data.vocabulary[term] for term, _ in cluster) for cluster in pairs],
        weights=[" ".join(f"{weight:.3g}" for _, weight in cluster) for cluster in pairs],
        representative=found.representative,
    )
    return held, batch
